"""The interface of a kind of random worlds: how they are drawn, and what each road says of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hypothesis.strategies import SearchStrategy

import rankwise as rw
from tools import installed, java

Values: TypeAlias = Mapping[str, Any]
Comparison: TypeAlias = tuple[str, Any, Any]
"""A name, the value on a road, and the value that it should have."""
PLAIN, SPARK, TORCH = "plain", "spark", "torch"
COMMANDS = ("cli_parquet", "cli_csv", "yaml")
"""Roads that write files first."""
HAS_SPARK = installed("pyspark") and java() is not None
HAS_TORCH = installed("torch") and installed("torchmetrics")


def is_same(value: Any, expected: Any, tolerance: float) -> bool:
    """Return whether two values are equal, or near enough."""
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(
            is_same(a, b, tolerance) for a, b in zip(value, expected, strict=True)
        )
    if isinstance(value, float) and isinstance(expected, int | float):
        return bool(
            np.isclose(value, expected, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
        )
    return bool(value == expected)


def numbers_of(result: rw.Result) -> Values:
    """Return everything numeric of a result, by name."""
    what: dict[str, Any] = {**result.values, "counts": result.counts}
    for name in ("per_user", "slices", "replicates"):
        table = getattr(result, name)
        what[f"columns of {name}"] = None if table is None else table.columns
        if table is not None:
            what |= {f"{column} of {name}": table[column].to_list() for column in table.columns}
    return what


def _refuses_nothing(_world: Any, _road: str) -> bool:
    return False


@dataclass(frozen=True)
class Kind:
    """A kind of random worlds.

    Attributes
    ----------
    name : str
        Its name on the command line.
    worlds : SearchStrategy
        The worlds.
    call : callable
        The result of one call in Python for a world, with which roads are compared.
    say : callable
        Everything that roads must agree on, by name, from a result.
    roads : mapping of str to callable
        What a road says of a world, written in a folder where it needs files; None where it cannot
        be taken.
    beside : mapping of str to callable
        Roads that say only a part, such as the plain definitions: each yields its comparisons.
    refuses : callable
        Whether a road declares that it refuses a world.
    """

    name: str
    worlds: SearchStrategy[Any]
    call: Callable[[Any], Any]
    say: Callable[[Any], Values]
    roads: Mapping[str, Callable[[Any, Path], Values | None]]
    beside: Mapping[str, Callable[[Any, Any], Iterator[Comparison]]] = field(default_factory=dict)
    refuses: Callable[[Any, str], bool] = _refuses_nothing

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all roads."""
        return (*self.roads, *self.beside)

    def compare(self, road: str, world: Any, result: Any, folder: Path) -> Iterator[Comparison]:
        """Yield the values of a road beside those of the call; none where it cannot be taken."""
        if road in self.beside:
            yield from self.beside[road](world, result)
            return
        values = self.roads[road](world, folder)
        if values is None:
            return
        expected = self.say(result)
        for name in {**values, **expected}:
            yield name, values.get(name, "none"), expected.get(name, "none")
