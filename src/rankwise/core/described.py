"""Descriptions of parameters that functions share, filled into their docstrings at import."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["described"]

_F = TypeVar("_F", bound="Callable[..., Any]")


def described(**texts: str) -> Callable[[_F], _F]:
    """Return a decorator: a docstring's line ``%(name)s`` becomes the text of that name."""

    def fill(function: _F) -> _F:
        if function.__doc__:  # None under python -OO
            document = inspect.cleandoc(function.__doc__)
            for name, text in texts.items():
                document = document.replace(f"%({name})s", text)
            function.__doc__ = document
        return function

    return fill
