"""Signatures and docstrings of functions that take the options of an evaluation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import MISSING
from typing import Any, Literal, TypeVar, get_args, get_origin

from rankwise.core.described import described
from rankwise.evaluation.option_sets import option_types
from rankwise.evaluation.settings import option_fields

__all__ = ["options_text", "takes_options"]

_F = TypeVar("_F", bound="Callable[..., Any]")
_SHORTHANDS = {
    "k": "k : int or list of int, optional\n"
    "    Cut-offs of metrics that are given without one: with ``k=10``, ``ndcg`` is ``ndcg@10``.",
    "threshold": "threshold : float, optional\n    Alias of ``relevance_threshold``.",
}
"""Options that other libraries have under these names; they end up in measures and settings."""


def _description(name: str, default: Any) -> str:
    """Describe an option as numpydoc does: name, type and default, and the text below."""
    entry, kind = option_fields()[name], option_types()[name]
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    named = entry.metadata.get("type") or (
        "{" + ", ".join(f'"{choice}"' for choice in choices) + "}"
        if choices
        else " or ".join(arg.__name__ for arg in get_args(kind) or (kind,) if arg is not type(None))
    )
    shown = f'"{default}"' if isinstance(default, str) else default
    ending = "optional" if default is None else f"default={shown}"
    text = textwrap.fill(entry.metadata["text"], 91)
    return f"{name} : {named}, {ending}\n{textwrap.indent(text, '    ')}"


def options_text(known: type, **defaults: Any) -> str:
    """Return the description of every option that a typed dictionary has, as numpydoc does."""
    names = [name for name in option_fields() if name in known.__annotations__]
    values = {name: _default(name) for name in names} | defaults
    short = [_SHORTHANDS[name] for name in _SHORTHANDS if name in known.__annotations__]
    return "\n".join([*short, *(_description(name, values[name]) for name in names)])


def takes_options(known: type, **defaults: Any) -> Callable[[_F], _F]:
    """Give a function with ``**options`` the signature and the description of every option.

    Parameters
    ----------
    known : type
        The typed dictionary that ``**options`` unpacks.
    **defaults : object
        Defaults of the function, where they differ from those of `Settings`.

    Returns
    -------
    callable
        A decorator: a line ``%(options)s`` in the docstring becomes the descriptions.
    """

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        given = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = [name for name in option_fields() if name in known.__annotations__]
        names = [name for name in names if name not in signature.parameters]
        values = {name: _default(name) for name in names} | defaults
        short = [name for name in _SHORTHANDS if name in known.__annotations__]
        values |= dict.fromkeys(short)
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=values[name],
                annotation=known.__annotations__[name].__forward_arg__,
            )
            for name in (*short, *names)
        ]
        function.__signature__ = signature.replace(parameters=[*given, *added])  # type: ignore[attr-defined]
        return described(options=options_text(known, **defaults))(function)

    return decorate


def _default(name: str) -> Any:
    default = option_fields()[name].default
    assert default is not MISSING
    return default
