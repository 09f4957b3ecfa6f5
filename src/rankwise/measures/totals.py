"""Merged columns to values: every user's, everyone's, and a group's."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankwise.measures.kinds import (
    Accumulated,
    Composed,
    Grouped,
    Labelled,
    PerUser,
    Pooled,
    label,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rankwise.core.facts import Groups
    from rankwise.measures.measure import Measure
    from rankwise.measures.plan import Floats, Undefined
    from rankwise.measures.tallies import ItemSums

__all__ = ["Some", "each_user", "totals"]


@dataclass(frozen=True)
class Some:
    """Some users: their columns, weights (None: all the same), and groups by column."""

    users: pl.DataFrame
    weights: Floats | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    catalogue_size: int = 0
    undefined: Undefined = "skip"

    @property
    def unjudged(self) -> Any:
        """Whether each user has nothing relevant."""
        return self.users["n_relevant"].to_numpy() == 0

    def column(self, name: str) -> Floats:
        """Return a column as an array."""
        return self.users[name].to_numpy()

    def sums(self, measure: Pooled, at: int) -> Floats:
        """Return what each user adds to a measure's sums, shape (U, n_sums)."""
        cell = measure.cells[at]
        names = [name for name in self.users.columns if name.rpartition("#")[0] == cell]
        stacked: Floats = np.stack([self.column(name) for name in names], axis=-1)
        return stacked

    def reduce(
        self,
        values: Floats,
        how: Literal["mean", "sum"] = "mean",
        *,
        judges: bool,
        weights: Floats | None = None,
    ) -> float:
        """Reduce users' values in the order of the users: the same digits however they came."""
        weights = self.weights if weights is None else weights
        if judges and self.undefined == "nan" and self.unjudged.any():
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


def totals(measures: tuple[Measure, ...], some: Some, items: ItemSums | None) -> dict[str, float]:
    """Return the value of every measure at every cut-off, and of their cells.

    Without ``items`` measures of what was added up for items have no value and are left out.
    """
    out: dict[str, float] = {}
    for measure in measures:
        for at, cell in enumerate(measure.cells):
            found = _total(measure, at, some, items)
            if found is not None:
                out |= {f"{cell}[{of}]" if of else cell: value for of, value in found.items()}
    return out


def each_user(measures: tuple[Measure, ...], some: Some) -> dict[str, Floats]:
    """Return every user's value of every measure, where a user has one at all."""
    out: dict[str, Floats] = {}
    for measure in measures:
        for at, cell in enumerate(measure.cells):
            values = _each(measure, at, some)
            if values is not None:
                out[cell] = values
    return out


def _each(measure: Measure, at: int, some: Some) -> Floats | None:
    at = min(at, len(measure.cells) - 1)  # a part without cut-off is the same at all of them
    if isinstance(measure, PerUser):
        return some.column(measure.cells[at])
    if isinstance(measure, Pooled):
        values: Floats = measure.pool(some.sums(measure, at), some.catalogue_size)
        if measure.about == "relevance":
            nothing = 0.0 if some.undefined == "zero" else math.nan
            values = np.where(some.unjudged, nothing, values)
        return values
    if isinstance(measure, Composed) and measure.of == "users":
        parts = [_each(part, at, some) for part in measure.parts]
        combined: Floats = measure.combine(*parts)
        return combined
    return None


def _total(measure: Measure, at: int, some: Some, items: ItemSums | None) -> Labelled | None:
    at = min(at, len(measure.cells) - 1)
    if isinstance(measure, Accumulated):
        if items is None or (items.is_part and not measure.has_groups):
            return None
        return measure.of_items(items, measure.ks[at])
    if isinstance(measure, Grouped):
        return _grouped(measure, at, some)
    if isinstance(measure, Pooled) and not measure.mean_of_users:
        return {"": float(measure.pool(_pooled(measure, at, some), some.catalogue_size))}
    if isinstance(measure, Composed) and measure.of == "means":
        parts = [_total(part, at, some, items) for part in measure.parts]
        if any(part is None for part in parts):
            return None
        means = [np.asarray(part[""]) for part in parts if part is not None]
        return {"": float(measure.combine(*means))}
    each = _each(measure, at, some)
    assert each is not None
    how = measure.aggregate if isinstance(measure, PerUser) else "mean"
    weights = measure.weigh(some.sums(measure, at)) if isinstance(measure, Pooled) else None
    if weights is not None and some.weights is not None:
        weights = weights * some.weights
    return {"": some.reduce(each, how, judges=_judges(measure), weights=weights)}


def _judges(measure: Measure) -> bool:
    """Whether a user without relevant items leaves the measure undefined."""
    if isinstance(measure, Composed):
        return any(_judges(part) for part in measure.parts)
    return isinstance(measure, PerUser | Pooled) and measure.about == "relevance"


def _grouped(measure: Grouped, at: int, some: Some) -> Labelled:
    (part,) = measure.parts
    each = _each(part, at, some)
    assert each is not None
    groups = some.groups[measure.user_group]
    out, means = {}, []
    for code, name in enumerate(groups.names):
        own = groups.code == code
        if own.any():
            weights = None if some.weights is None else some.weights[own]
            inside = replace(some, users=some.users.filter(own), weights=weights)
            mean = inside.reduce(each[own], judges=_judges(part))
            out[label(user_group=name)] = mean
            means.append(mean)
    if some.undefined != "nan":
        means = [mean for mean in means if not math.isnan(mean)]
    apart = measure.of_means(np.array(means)) if len(means) > 1 else math.nan
    return {"": apart, **out}


def _pooled(measure: Pooled, at: int, some: Some) -> Floats:
    sums = some.sums(measure, at)
    if some.weights is not None:
        sums = sums * some.weights[:, None]
    total: Floats = np.sum(np.ascontiguousarray(sums.T), axis=1)
    return total
