"""Measures from text: ``ndcg@10``, ``recall@[5,10,20]``, ``ndcg(gain=exponential)@10``.

The text is read with Python's own grammar and then walked node by node; nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from rankwise.errors import MeasureError, ParameterError, UsageError, nearest
from rankwise.measures import registry
from rankwise.measures.measure import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MeasureLike", "parse", "parse_all"]

MeasureLike: TypeAlias = "str | Measure | type[Measure]"


def parse(text: str) -> Measure:
    """Read one measure.

    Examples
    --------
    >>> parse("nDCG(gain=exponential) @ 10")
    NDCG(gain='exponential') @ 10
    >>> str(parse("R@5,10"))
    'recall@[5,10]'
    """
    found = _parse(text)
    if len(found) != 1:
        raise MeasureError("this names several measures", found=text, hint="pass them as a list")
    return found[0]


def parse_all(
    measures: MeasureLike | Iterable[MeasureLike], *, cutoffs: bool = True
) -> tuple[Measure, ...]:
    """Read measures given as text, objects or classes, in a list or alone.

    Without ``cutoffs`` those that need a cut-off may be without one.

    Examples
    --------
    >>> [str(m) for m in parse_all(["ndcg@10", "recall@5,10"])]
    ['ndcg@10', 'recall@[5,10]']
    """
    alone = isinstance(measures, str | Measure | type) or not hasattr(measures, "__iter__")
    given: list[Any] = [measures] if alone else list(measures)  # type: ignore[arg-type]
    out: list[Measure] = []
    for entry in given:
        if isinstance(entry, str):
            out += _parse(entry)
        elif isinstance(entry, type) and issubclass(entry, Measure):
            out.append(entry())
        elif isinstance(entry, Measure):
            out.append(entry)
        else:
            raise MeasureError(
                "a measure is text or a measure object",
                found=f"{entry!r} ({type(entry).__name__})",
                hint='write "ndcg@10" or rankwise.NDCG() @ 10',
            )
    if not out:
        raise MeasureError("no measure was asked for", hint='pass measures=["ndcg@10"], say')
    cells: set[str] = set()
    for one in out:
        if cutoffs:
            one.require_cutoff()
        twice = cells.intersection(one.cells)
        if twice:
            raise MeasureError("a measure was asked for twice", found=min(twice))
        cells.update(one.cells)
    return tuple(out)


def _parse(text: str) -> list[Measure]:
    # Names like hit-rate are one word to people, a subtraction to Python.
    # What stands in quotes is left alone.
    joined = re.sub(
        r"""('[^']*'|"[^"]*")|(?<=[A-Za-z])-(?=[A-Za-z])""",
        lambda found: found[1] or "_",
        text.strip(),
    )
    try:
        node = ast.parse(joined, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _unreadable(text) from error
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    out: list[Measure] = []
    for part in nodes:
        number = _number(part)
        if number is None:
            out.append(_measure(part, text))
        elif out and out[-1].k:  # recall@5,10: another cut-off of the same measure
            out[-1] = out[-1] @ (*out[-1].k, number)
        else:
            raise _unreadable(text)
    return out


def _measure(node: ast.expr, text: str) -> Measure:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return _measure(node.left, text) @ _cutoffs(node.right, text)
    if isinstance(node, ast.Name):
        return registry.find(node.id)()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) < 2:
        cls = registry.find(node.func.id)
        given = {word.arg or "": _value(word.value, text) for word in node.keywords}
        if node.args:  # group_gap(ndcg): the measure that it is made of needs no name
            name = next((name for name, kind in _defaults(cls).items() if _made_of(kind)), None)
            if name is None or name in given:
                raise _unreadable(text)
            given[name] = _value(node.args[0], text)
        return make(cls, given)
    raise _unreadable(text)


def make(cls: type[Measure], given: dict[str, Any]) -> Measure:
    """Make a measure from parameters by name, saying which is unknown."""
    known = _defaults(cls)
    for name in given:
        if name not in known:
            raise ParameterError(
                f"{cls.name} has no parameter {name!r}",
                found=f"its parameters: {', '.join(known) or 'none'}",
                hint=nearest(name, known),
            )
    values: dict[str, Any] = {}
    for name, value in given.items():
        none = value is None and isinstance(known[name], str)  # discount=none is a word there
        values[name] = "none" if none else value
    return cls(**values)


def _defaults(cls: type[Measure]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(cls) if field.name != "k"}


def _made_of(default: Any) -> bool:
    """Whether a parameter takes a measure, or several, as its default shows."""
    first = default[0] if isinstance(default, tuple) and default else default
    return isinstance(first, Measure)


def _cutoffs(node: ast.expr, text: str) -> tuple[int, ...]:
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    numbers = [_number(part) for part in nodes]
    if not numbers or any(number is None for number in numbers):
        raise _unreadable(text)
    return tuple(number for number in numbers if number is not None)


def _number(node: ast.expr) -> int | None:
    value = _literal(node)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return -inner if isinstance(inner, int | float) else None
    return None


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "none": None}.get(node.id.lower(), node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(entry, text) for entry in node.elts)
    literal = _literal(node)
    return literal if literal is not None else _measure(node, text)


def _unreadable(text: str) -> UsageError:
    return MeasureError(
        "this does not read as a measure",
        found=text,
        hint="write name@k, name@[5,10] or name(parameter=value)@k",
    )
