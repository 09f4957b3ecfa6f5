"""A plan: what a list of measures asks of every block, and what it makes of the merged columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankwise.core.block import Block, item_counts
from rankwise.measures.measure import Catalogue, Composed, Measure, PerUser, Pooled

if TYPE_CHECKING:
    import polars as pl

    from rankwise.core.engine import Needs

__all__ = ["Floats", "Plan", "Undefined", "Weighted"]

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Undefined: TypeAlias = Literal["skip", "zero", "nan"]


@dataclass(frozen=True)
class Weighted:
    """Some users' columns, and the weight of each user (None: all the same)."""

    users: pl.DataFrame
    weights: Floats | None = None

    def column(self, name: str) -> Floats:
        """Return a column as an array."""
        return self.users[name].to_numpy()


@dataclass(frozen=True)
class Plan:
    """Measures in the order asked for, and the simple ones that they are made of."""

    measures: tuple[Measure, ...]
    undefined: Undefined = "skip"

    @cached_property
    def leaves(self) -> list[Measure]:
        """The measures that are worked out on blocks, each once."""
        found: dict[Measure, None] = {}

        def visit(measure: Measure) -> None:
            for part in measure.parts:
                visit(part)
            if not isinstance(measure, Composed):
                found[measure] = None

        for measure in self.measures:
            visit(measure)
        return list(found)

    @property
    def needs(self) -> Needs:
        """What blocks must hold."""
        return frozenset().union(*(leaf.needs for leaf in self.leaves))

    @property
    def needs_catalogue(self) -> bool:
        """Whether some measure needs the size of the catalogue."""
        return any(leaf.needs_catalogue != "" for leaf in self.leaves)

    @property
    def catalogue_ks(self) -> list[int]:
        """The cut-offs at which items are counted."""
        return sorted({k for leaf in self.leaves if isinstance(leaf, Catalogue) for k in leaf.ks})

    def columns(self, block: Block) -> dict[str, Floats]:
        """Work out the columns of a block's users: values, and sums to be pooled."""
        out: dict[str, Floats] = {}
        for leaf in self.leaves:
            k = np.array(leaf.ks, dtype=np.int64)
            if isinstance(leaf, PerUser):
                values = self._defined(leaf, block, leaf.values(block, k))
                out |= {cell: values[:, at] for at, cell in enumerate(leaf.cells)}
            elif isinstance(leaf, Pooled):
                sums = leaf.sums(block, k)
                for at, cell in enumerate(leaf.cells):
                    out |= {f"{cell}#{j}": sums[:, at, j] for j in range(sums.shape[2])}
        return {name: np.ascontiguousarray(values) for name, values in out.items()}

    def counts(self, block: Block) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Count items at every cut-off that some measure asks for."""
        counts: np.ndarray[tuple[int, int], np.dtype[np.int64]] = item_counts(
            block, np.array(self.catalogue_ks, dtype=np.int64)
        )
        return counts

    def _defined(self, leaf: PerUser, block: Block, values: Floats) -> Floats:
        if leaf.about == "user":
            return values
        has_value = block.list_length > 0 if leaf.about == "list" else block.n_relevant > 0
        if has_value.all():
            return values
        zero = leaf.about == "relevance" and self.undefined == "zero"
        return np.where(has_value[:, None], values, 0.0 if zero else math.nan)

    def totals(
        self, some: Weighted, items: pl.DataFrame | None, catalogue_size: int
    ) -> dict[str, float]:
        """Return the value of every cell over some users.

        Without ``items`` measures over the catalogue have no value and are left out.
        """
        out: dict[str, float] = {}
        for measure in self.measures:
            values = self._total(measure, some, items, catalogue_size)
            out |= dict(zip(measure.cells, values, strict=True)) if values else {}
        return out

    def per_user(self, users: pl.DataFrame, catalogue_size: int) -> dict[str, Floats]:
        """Return every cell's value for every user, where a user has one at all."""
        out: dict[str, Floats] = {}
        for measure in self.measures:
            for at, cell in enumerate(measure.cells):
                values = self._each(measure, at, Weighted(users), catalogue_size)
                if values is not None:
                    out[cell] = values
        return out

    def _each(
        self, measure: Measure, at: int, some: Weighted, catalogue_size: int
    ) -> Floats | None:
        if isinstance(measure, PerUser):
            return some.column(measure.cells[at])
        if isinstance(measure, Pooled):
            values: Floats = measure.pool(_sums(measure, at, some), catalogue_size)
            return values
        if isinstance(measure, Composed) and measure.of == "users":
            parts = [self._each(part, at, some, catalogue_size) for part in measure.parts]
            combined: Floats = measure.combine(*parts)
            return combined
        return None

    def _total(
        self, measure: Measure, some: Weighted, items: pl.DataFrame | None, catalogue_size: int
    ) -> list[float]:
        if isinstance(measure, Catalogue):
            if items is None:
                return []
            return [
                measure.of_counts(items[f"count@{k}"].to_numpy(), catalogue_size)
                for k in measure.ks
            ]
        out = []
        for at in range(len(measure.cells)):
            if isinstance(measure, PerUser):
                values = some.column(measure.cells[at])
                judges = measure.about == "relevance"
                out.append(self._reduce(values, some.weights, measure.aggregate, judges=judges))
            elif isinstance(measure, Pooled) and not measure.mean_of_users:
                out.append(float(measure.pool(_pooled(measure, at, some), catalogue_size)))
            elif isinstance(measure, Composed) and measure.of == "means":
                parts = [
                    self._total(part, some, items, catalogue_size)[at] for part in measure.parts
                ]
                out.append(float(measure.combine(*map(np.asarray, parts))))
            else:
                each = self._each(measure, at, some, catalogue_size)
                assert each is not None
                judges = all(getattr(part, "about", "") == "relevance" for part in measure.parts)
                judges = judges and isinstance(measure, Composed)
                out.append(self._reduce(each, some.weights, "mean", judges=judges))
        return out

    def _reduce(
        self, values: Floats, weights: Floats | None, how: Literal["mean", "sum"], *, judges: bool
    ) -> float:
        """Reduce users' values in the order of the users: the same digits however they came."""
        if not (judges and self.undefined == "nan"):
            defined = ~np.isnan(values)
            if not defined.all():
                values = values[defined]
                weights = None if weights is None else weights[defined]
        if weights is not None:
            total, size = float(np.sum(values * weights)), float(np.sum(weights))
        else:
            total, size = float(np.sum(values)), float(len(values))
        if how == "sum":
            return total
        return total / size if size else math.nan


def _sums(measure: Pooled, at: int, some: Weighted) -> Floats:
    cell = measure.cells[at]
    names = [name for name in some.users.columns if name.rpartition("#")[0] == cell]
    sums: Floats = np.stack([some.column(name) for name in names], axis=-1)
    return sums


def _pooled(measure: Pooled, at: int, some: Weighted) -> Floats:
    sums = _sums(measure, at, some)
    if some.weights is not None:
        sums = sums * some.weights[:, None]
    total: Floats = np.sum(np.ascontiguousarray(sums.T), axis=1)
    return total
