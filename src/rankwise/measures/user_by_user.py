"""Measures with only a plain definition, which is called user by user, on any engine.

A plain definition takes a recommendation list, best first, and, if it compares the list with the
ground truth, the relevant items with their relevance; then the cut-off and the parameters of the
measure by name. Items are codes, which can only be compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rankwise.core.arrays import Array
from rankwise.errors import MeasureError

if TYPE_CHECKING:
    from rankwise.core.block import Block
    from rankwise.measures.input_kinds import Input
    from rankwise.measures.measure import Measure

__all__ = ["plain_inputs", "plain_values"]


def plain_inputs(measure: Measure) -> tuple[Input, ...]:
    """Return the inputs of a plain definition: lists and, if it takes them, relevant items."""
    assert measure.plain is not None
    return ("recommended", "relevant") if _signature(measure.plain).judges else ("recommended",)


def plain_values(measure: Measure, block: Block, k: int) -> Array:
    """Return the plain definition's value of every user at a cut-off, shape (U,).

    It is not called for users without a defined value; their value is 0 here.
    """
    assert measure.plain is not None
    signature = _signature(measure.plain)
    options = {n: v for n, v in measure.parameters.items() if n in signature.options}
    if signature.has_cutoff:
        options["k"] = k if measure.k else None
    lists = _by_user(block.recommended.user, (block.recommended.item,), block.n_users)
    relevant: Sequence[list[Any]] = [[]] * block.n_users
    if signature.judges:
        rows = block.relevant
        relevant = _by_user(rows.user, (rows.item, rows.gain), block.n_users)
    values = []
    for rows_of_list, rows_of_truth in zip(lists, relevant, strict=True):
        items = [item for (item,) in rows_of_list]
        wanted = rows_of_truth if signature.judges else items
        data = (items, dict(rows_of_truth)) if signature.judges else (items,)
        values.append(float(measure.plain(*data, **options)) if wanted else 0.0)
    return block.xp.asarray(values, dtype=block.xp.float64)


class _Signature:
    """The parameters of a plain definition."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters
        data = [
            name
            for name, parameter in parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY and name != "k"
        ]
        if not 1 <= len(data) <= 2:
            raise MeasureError(
                "a plain definition must take a list, or a list and the relevant items",
                found=f"{function.__name__}({', '.join(data)})",
                hint="def my_measure(recommended, relevant, k=None, *, …)",
            )
        self.judges = len(data) == 2
        self.has_cutoff = "k" in parameters
        self.options = {name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}


@cache
def _signature(function: Callable[..., Any]) -> _Signature:
    return _Signature(function)


def _by_user(user: Array, columns: tuple[Array, ...], n_users: int) -> list[list[tuple[Any, ...]]]:
    """Return the rows of every user, in the order in which they come."""
    out: list[list[tuple[Any, ...]]] = [[] for _ in range(n_users)]
    for number, *row in zip(user.tolist(), *(c.tolist() for c in columns), strict=True):
        out[number].append(tuple(row))
    return out
