"""The data of each chart as a tidy frame, without a plotting library.

Every frame has a column ``text``: what a reader sees of a mark that is pointed at, and what a
screen reader says of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.view import number
from rankwise.errors import MeasureError, printable
from rankwise.results.display.p_values import named_p
from rankwise.results.plots.estimates import Estimate, Estimates
from rankwise.results.result import Result
from rankwise.stats.differences import Floats

__all__ = [
    "SLICES",
    "changed_users",
    "curve_frame",
    "curves_of",
    "difference_frame",
    "gains",
    "groups_of",
    "histogram_frame",
    "limits",
    "lorenz_frame",
    "pareto_frame",
    "slice_frame",
]

_BINS = 31  # odd, so that one bin of a symmetric histogram lies around 0
_POINTS = 200  # of a Lorenz curve, whatever the size of the catalogue


def _frame(rows: Sequence[Mapping[str, Any]], *texts: str, **numbers: Any) -> pl.DataFrame:
    schema = dict.fromkeys((*texts, "text"), pl.String) | numbers
    return pl.DataFrame(list(rows), schema=schema, orient="row", strict=False)


def limits(estimate: Estimate) -> dict[str, Any]:
    """Return value and limits for a chart, which has no NaN."""
    values = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


_LIMITS = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
SLICES: dict[str, Any] = {"group": pl.String, "system": pl.String, "text": pl.String, "users": pl.Int64, **_LIMITS}
"""The columns of a measure within groups."""


def curves_of(results: Mapping[str, Result]) -> dict[str, dict[int, str]]:
    """Return the measures that any result has at two cut-offs or more: ``{name: {k: cell}}``."""
    curves: dict[str, dict[int, str]] = {}
    for result in results.values():
        for measure in result.measures:
            for k, cell in zip(measure.k, measure.cells, strict=False):
                if cell in result.values:
                    curves.setdefault(str(measure @ ()), {})[k] = cell
    return {name: dict(sorted(cells.items())) for name, cells in curves.items() if len(cells) > 1}


def curve_frame(estimates: Estimates, curves: Mapping[str, Mapping[int, str]]) -> pl.DataFrame:
    """Return measures at their cut-offs, one row per measure, system and k."""
    rows = []
    for measure, cells in curves.items():
        for system in estimates.systems:
            for k, cell in cells.items():
                found = estimates.of(system, cell)
                text = f"{system}: {cell} = {found}"
                rows.append({"measure": measure, "system": system, "k": k, "text": text} | limits(found))
    return _frame(rows, "measure", "system", k=pl.Int64, **_LIMITS)


def pareto_frame(estimates: Estimates, y: str, xs: Sequence[str]) -> pl.DataFrame:
    """Return one row per system and measure of ``xs``, each with its value of ``y`` as well."""
    rows = []
    for x in xs:
        for system in estimates.systems:
            across, up = estimates.of(system, x), estimates.of(system, y)
            text = f"{system}: {x} = {across}, {y} = {up}"
            sides = {f"x_{name}": value for name, value in limits(across).items()}
            rows.append({"measure": x, "system": system, "text": text} | sides | limits(up))
    return _frame(rows, "measure", "system", **{f"x_{name}": pl.Float64 for name in _LIMITS}, **_LIMITS)


def groups_of(results: Mapping[str, Result]) -> dict[str, list[tuple[str | None, int]]]:
    """Return the groups of users and items that results have slices of, the largest first."""
    sizes: dict[str, dict[str | None, int]] = {}
    for result in results.values():
        for row in [] if result.slices is None else result.slices.iter_rows(named=True):
            sizes.setdefault(row["by"], {}).setdefault(row["group"], row["users"])
    return {by: sorted(groups.items(), key=lambda g: -g[1]) for by, groups in sizes.items()}


def slice_frame(estimates: Estimates, cell: str, by: str, groups: Sequence[tuple[str | None, int]]) -> pl.DataFrame:
    """Return a measure within groups, one row per group and system."""
    rows = []
    for group, users in groups:
        name = "–" if group is None else printable(group)
        for system in estimates.systems:
            found = estimates.of(system, cell, by, group)
            text = f"{system}, {by} = {name} ({users:,} users): {cell} = {found}"
            rows.append({"group": name, "users": users, "system": system, "text": text} | limits(found))
    return pl.DataFrame(rows, schema=SLICES)


def difference_frame(table: pl.DataFrame) -> pl.DataFrame:
    """Return paired differences with their intervals, from the table of a comparison."""
    rows = []
    for row in table.iter_rows(named=True):
        pair = f"{row['system']} − {row['baseline']}"
        pair += "" if row["group"] is None else f" ({row['group']})"
        found = Estimate(row["difference"], row["low"], row["high"])
        text = f"{pair}: {row['measure']} {row['difference']:+.4f}"
        text += f" [{number(row['low'])}, {number(row['high'])}]{_p(row)}, {row['verdict']}"
        rows.append({"measure": row["measure"], "pair": pair, "verdict": row["verdict"], "text": text} | limits(found))
    return _frame(rows, "measure", "pair", "verdict", **_LIMITS)


def _p(row: Mapping[str, Any]) -> str:
    p = row["p_adjusted"]
    if p is None or math.isnan(p):
        return ""
    return f", {named_p('adjusted p', p)}"


def gains(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> Floats:
    """Return the differences of the users whose values in two results are not the same.

    Users without a difference, often nine in ten, would hide all others in a histogram.
    """
    found = changed_users(system, baseline, cell)["difference"].to_numpy()
    if not len(found):
        raise MeasureError(f"{cell} is the same in both systems for every user")
    return found


def changed_users(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> pl.DataFrame:
    """Return the users whose values differ: ``user``, ``value``, ``baseline``, ``difference``."""
    if not {cell} <= {*system.columns} & {*baseline.columns}:
        raise MeasureError(f"{cell} has no per-user values")
    one = system.select(pl.col("user").cast(pl.String), value=cell)
    other = baseline.select(pl.col("user").cast(pl.String), baseline=cell)
    joined = one.join(other, on="user")
    joined = joined.with_columns(difference=pl.col("value") - pl.col("baseline"))
    return joined.filter(pl.col("difference").is_not_nan() & (pl.col("difference") != 0))


def histogram_frame(values: Mapping[str, Floats], *, symmetric: bool = False) -> pl.DataFrame:
    """Return how many users have values in each of equal bins, over the same bins for all names.

    Bins of differences are symmetric around 0, so that gains and losses can be compared.
    """
    every = np.concatenate([np.empty(0), *values.values()])
    every = every[np.isfinite(every)]
    if not len(every):
        raise MeasureError("no user has a value")
    low, high = float(every.min()), float(every.max())
    if symmetric:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    rows = []
    for name, one in values.items():
        counts, _ = np.histogram(one[np.isfinite(one)], edges)
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
            text = f"{name}: {int(count):,} users from {number(left)} to {number(right)}"
            rows.append({"name": name, "text": text, "left": float(left), "right": float(right), "users": int(count)})
    return _frame(rows, "name", left=pl.Float64, right=pl.Float64, users=pl.Int64)


def lorenz_frame(exposures: Mapping[str, Floats]) -> pl.DataFrame:
    """Return Lorenz curves: the share of recommendations of the least recommended items.

    ``exposures`` are the numbers of recommendations of every item of the catalogue.
    """
    rows = []
    for system, counts in exposures.items():
        ordered = np.sort(counts)
        total = float(ordered.sum())
        shares = np.concatenate([[0.0], np.cumsum(ordered) / total]) if total else np.zeros(1)
        at = np.unique(np.linspace(0, len(shares) - 1, _POINTS).round().astype(int))
        for index in at:
            across = float(index / max(len(shares) - 1, 1))
            text = f"{system}: the least recommended {across:.1%} of the items get "
            text += f"{shares[index]:.1%} of the recommendations"
            rows.append({"system": system, "text": text, "items": across, "recommendations": float(shares[index])})
    return _frame(rows, "system", items=pl.Float64, recommendations=pl.Float64)
