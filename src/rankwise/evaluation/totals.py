"""Merged columns to values: those of every user, of all users, and of a group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.choices import Undefined
from rankwise.core.facts import Groups
from rankwise.core.partial_columns import UserSum
from rankwise.measures.item_sums import CatalogueSums
from rankwise.measures.kinds import (
    Accumulated,
    Composed,
    Grouped,
    PerUser,
    Pooled,
    Values,
    label,
)
from rankwise.measures.measure import Measure, ValueKind

__all__ = ["UserColumns", "kinds_of_values", "totals", "values_of_users"]

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class UserColumns:
    """Some users: their columns, weights (None: all the same), and groups by column."""

    users: pl.DataFrame
    weights: Floats | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    catalogue_size: int = 0
    undefined: Undefined = "skip"

    def select(self, mask: Any) -> UserColumns:
        """Return some of the users."""
        return replace(
            self,
            users=self.users.filter(mask),
            weights=None if self.weights is None else self.weights[mask],
            groups={
                column: replace(groups, code=groups.code[mask])
                for column, groups in self.groups.items()
            },
        )

    @property
    def without_relevant(self) -> Any:
        """Whether each user has no relevant item."""
        return self.users["n_relevant"].to_numpy() == 0

    def column(self, name: str) -> Floats:
        """Return a column as an array."""
        return self.users[name].to_numpy()

    def sums(self, measure: Pooled, at: int) -> Floats:
        """Return what each user adds to a measure's sums, shape (U, n_sums)."""
        columns: list[Floats] = []
        while (name := str(UserSum(measure.cells[at], len(columns)))) in self.users.columns:
            columns.append(self.column(name))
        stacked: Floats = np.stack(columns, axis=-1)
        return stacked

    def reduce(
        self,
        values: Floats,
        how: Literal["mean", "sum"] = "mean",
        *,
        judges: bool,
        weights: Floats | None = None,
    ) -> float:
        """Reduce users' values in the order of the users, so that no digit depends on the road."""
        weights = self.weights if weights is None else weights
        if judges and self.undefined == "nan" and self.without_relevant.any():
            return math.nan
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


def totals(
    measures: tuple[Measure, ...], users: UserColumns, items: CatalogueSums | None
) -> dict[str, float]:
    """Return the value of every measure at every cut-off, and of their cells.

    Without ``items`` measures that sum over items have no value and are left out.
    """
    out: dict[str, float] = {}
    for measure in measures:
        for at, name in enumerate(measure.cells):
            values = _total(measure, at, users, items)
            if values is not None:
                out |= {} if values.value is None else {name: values.value}
                out |= {f"{name}[{cell}]": value for cell, value in values.cells.items()}
    return out


def values_of_users(measures: tuple[Measure, ...], users: UserColumns) -> dict[str, Floats]:
    """Return every user's value of every measure, where a user has one at all."""
    out: dict[str, Floats] = {}
    for measure in measures:
        for at, cell in enumerate(measure.cells):
            values = _of_users(measure, at, users)
            if values is not None:
                out[cell] = values
    return out


def kinds_of_values(measures: tuple[Measure, ...], users: UserColumns) -> dict[str, ValueKind]:
    """Return what the value of every cell is: a mean over users, pooled, of all lists, …."""
    kinds: dict[str, ValueKind] = {}
    for measure in measures:
        for at, cell in enumerate(measure.cells):
            weighted = users.weights is not None or _weights(measure, at, users) is not None
            mean = measure.value_kind == "mean"
            kinds[cell] = "weighted mean" if mean and weighted else measure.value_kind
    return kinds


def _weights(measure: Measure, at: int, users: UserColumns) -> Floats | None:
    """Return the weights that the measure itself gives to users."""
    if not isinstance(measure, Pooled) or not measure.mean_of_users:
        return None
    return measure.user_weights(users.sums(measure, at))


def _of_users(measure: Measure, at: int, users: UserColumns) -> Floats | None:
    at = min(at, len(measure.cells) - 1)  # a part without cut-off is the same at all of them
    if isinstance(measure, PerUser):
        return users.column(measure.cells[at])
    if isinstance(measure, Pooled):
        values: Floats = measure.pool(users.sums(measure, at), users.catalogue_size)
        if measure.defined_for == "relevance":
            nothing = 0.0 if users.undefined == "zero" else math.nan
            values = np.where(users.without_relevant, nothing, values)
        return values
    if isinstance(measure, Composed) and measure.of == "users":
        parts = [_of_users(part, at, users) for part in measure.parts]
        combined: Floats = measure.combine(*parts)
        return combined
    return None


def _total(
    measure: Measure, at: int, users: UserColumns, items: CatalogueSums | None
) -> Values | None:
    at = min(at, len(measure.cells) - 1)
    if isinstance(measure, Accumulated):
        if items is None or (items.is_part and not measure.has_groups):
            return None
        return measure.of_items(items, measure.ks[at])
    if isinstance(measure, Grouped):
        return _grouped(measure, at, users)
    if isinstance(measure, Pooled) and not measure.mean_of_users:
        return Values(float(measure.pool(_pooled(measure, at, users), users.catalogue_size)))
    if isinstance(measure, Composed) and measure.of == "means":
        parts = [_total(part, at, users, items) for part in measure.parts]
        if any(part is None for part in parts):
            return None
        means = [np.asarray(part.value) for part in parts if part is not None]
        return Values(float(measure.combine(*means)))
    values = _of_users(measure, at, users)
    assert values is not None
    how = measure.aggregate if isinstance(measure, PerUser) else "mean"
    weights = _weights(measure, at, users)
    if weights is not None and users.weights is not None:
        weights = weights * users.weights
    return Values(users.reduce(values, how, judges=_judges(measure), weights=weights))


def _judges(measure: Measure) -> bool:
    """Whether a user without relevant items leaves the measure undefined."""
    if isinstance(measure, Composed):
        return any(_judges(part) for part in measure.parts)
    return isinstance(measure, PerUser | Pooled) and measure.defined_for == "relevance"


def _grouped(measure: Grouped, at: int, users: UserColumns) -> Values:
    (part,) = measure.parts
    values = _of_users(part, at, users)
    assert values is not None
    groups = users.groups[measure.user_group]
    cells: dict[str, float] = {}
    for code, name in enumerate(groups.names):
        inside = groups.code == code
        if inside.any():
            mean = users.select(inside).reduce(values[inside], judges=_judges(part))
            cells[label(user_group=name)] = mean
    means = [mean for mean in cells.values() if users.undefined == "nan" or not math.isnan(mean)]
    return Values(measure.of_means(np.array(means)) if len(means) > 1 else math.nan, cells)


def _pooled(measure: Pooled, at: int, users: UserColumns) -> Floats:
    sums = users.sums(measure, at)
    if users.weights is not None:
        sums = sums * users.weights[:, None]
    total: Floats = np.sum(np.ascontiguousarray(sums.T), axis=1)
    return total
