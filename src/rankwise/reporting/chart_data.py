"""The data of charts: tidy frames, made without a plotting library.

Every frame has a column ``text``: what a reader sees of a mark that is pointed at, and what a screen
reader says of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.decision import Decision
from rankwise.comparison.design import Design
from rankwise.core.terminal import brief, change, format_number, percent, signed
from rankwise.errors import MetricError, RankwiseError
from rankwise.findings.words import (
    deciding_p,
    group_name,
    interval_text,
    is_missing,
    margin_level,
    margin_mark,
    named_p,
    places,
    verdict_tone,
    verdict_words,
)
from rankwise.messages import printable
from rankwise.metrics.base import parse
from rankwise.metrics.inputs import label
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.differences import Floats

_ALPHA = 0.05  # of the intervals of a result alone: a comparison has a level of its own


@dataclass(frozen=True)
class Estimate:
    """A value and its confidence interval; ``missing`` says why there is no interval."""

    value: float
    low: float = math.nan
    high: float = math.nan
    users: int | None = None
    missing: str = ""

    def __str__(self) -> str:
        if math.isnan(self.low):
            return format_number(self.value)
        return (
            f"{format_number(self.value)} [{format_number(self.low)}, {format_number(self.high)}]"
        )


class Estimates:
    """Estimates of several results at one level, cached when first requested."""

    def __init__(self, results: Mapping[str, Result], alpha: float = _ALPHA) -> None:
        self.results, self.alpha = results, alpha
        self._estimates: dict[tuple[object, ...], Estimate] = {}
        self._slices: dict[str, dict[tuple[object, object], dict[str, Any]]] = {}

    def only(self, systems: Iterable[str]) -> Estimates:
        """Return the estimates of a subset of systems, with a shared cache."""
        subset = Estimates({name: self.results[name] for name in systems}, self.alpha)
        subset._estimates, subset._slices = self._estimates, self._slices
        return subset

    @property
    def systems(self) -> list[str]:
        """The names of the results."""
        return list(self.results)

    @property
    def cells(self) -> list[str]:
        """Every value that any result has."""
        return list(dict.fromkeys(cell for r in self.results.values() for cell in r.values))

    def of(
        self, system: str, cell: str, by: str | None = None, group: str | None = None
    ) -> Estimate:
        """Return a system's value, over all users or in one group."""
        key = (system, cell, by, group)
        if key not in self._estimates:
            self._estimates[key] = self._estimate(system, cell, by, group)
        return self._estimates[key]

    def _estimate(self, system: str, cell: str, by: str | None, group: str | None) -> Estimate:
        result = self.results[system]
        if cell not in result.values:
            return Estimate(math.nan, missing="not evaluated")
        value = result.values[cell] if by is None else self._of_group(system, cell, by, group)
        try:
            interval = result.interval(cell, confidence=1 - self.alpha, by=by, group=group)
        except RankwiseError as error:
            return Estimate(value, missing=error.what)
        if math.isnan(interval.low):
            why = "; ".join(interval.flags) or "too few users for an interval"
            return Estimate(value, users=interval.n, missing=why)
        return Estimate(value, interval.low, interval.high, interval.n)

    def _of_group(self, system: str, cell: str, by: str, group: str | None) -> float:
        """Return the value of a group of users or items, from the table of slices."""
        if system not in self._slices:
            slices = self.results[system].slices
            rows = [] if slices is None else slices.to_dicts()
            self._slices[system] = {(row["by"], row["group"]): row for row in rows}
        value = self._slices[system].get((by, group), {}).get(cell)
        return math.nan if value is None else float(value)


_BINS = 31  # odd, so that one bin of a symmetric histogram lies around 0
_POINTS = 200  # of a Lorenz curve, whatever the size of the catalogue


def tidy_frame(rows: Sequence[Mapping[str, Any]], /, *texts: str, **numbers: Any) -> pl.DataFrame:
    """Return rows with columns of text, ``text`` the last of these, and columns of numbers."""
    schema = dict.fromkeys((*texts, "text"), pl.String) | numbers
    return pl.DataFrame(list(rows), schema=schema, orient="row", strict=False)


def limits(estimate: Estimate) -> dict[str, Any]:
    """Return value and limits for a chart, which has no NaN."""
    values = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


_LIMITS = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
SLICES: dict[str, Any] = {
    "group": pl.String,
    "system": pl.String,
    "text": pl.String,
    "users": pl.Int64,
    **_LIMITS,
}
"""The columns of a metric within groups."""


def curves_of(results: Mapping[str, Result]) -> dict[str, dict[int, str]]:
    """Return the metrics that any result has at two cut-offs or more: ``{name: {k: cell}}``."""
    curves: dict[str, dict[int, str]] = {}
    for result in results.values():
        for metric in result.metrics:
            for k, cell in zip(metric.k, metric.cells, strict=False):
                if cell in result.values:
                    curves.setdefault(str(metric @ ()), {})[k] = cell
    return {name: dict(sorted(cells.items())) for name, cells in curves.items() if len(cells) > 1}


def curve_frame(estimates: Estimates, curves: Mapping[str, Mapping[int, str]]) -> pl.DataFrame:
    """Return metrics at their cut-offs, one row per metric, system and k."""
    rows = []
    for metric, cells in curves.items():
        for system in estimates.systems:
            for k, cell in cells.items():
                estimate = estimates.of(system, cell)
                text = f"{system}: {cell} = {estimate}"
                rows.append(
                    {"metric": metric, "system": system, "k": k, "text": text} | limits(estimate)
                )
    return tidy_frame(rows, "metric", "system", k=pl.Int64, **_LIMITS)


def pareto_frame(estimates: Estimates, y: str, xs: Sequence[str]) -> pl.DataFrame:
    """Return one row per system and metric of ``xs``, each with its value of ``y`` as well."""
    rows = []
    for x in xs:
        for system in estimates.systems:
            across, up = estimates.of(system, x), estimates.of(system, y)
            text = f"{system}: {x} = {across}, {y} = {up}"
            sides = {f"x_{name}": value for name, value in limits(across).items()}
            rows.append({"metric": x, "system": system, "text": text} | sides | limits(up))
    return tidy_frame(
        rows, "metric", "system", **{f"x_{name}": pl.Float64 for name in _LIMITS}, **_LIMITS
    )


def groups_of(results: Mapping[str, Result]) -> dict[str, list[tuple[str | None, int]]]:
    """Return the groups of users and items that results have slices of, the largest first."""
    sizes: dict[str, dict[str | None, int]] = {}
    for result in results.values():
        for row in [] if result.slices is None else result.slices.iter_rows(named=True):
            sizes.setdefault(row["by"], {}).setdefault(row["group"], row["users"])
    return {by: sorted(groups.items(), key=lambda g: -g[1]) for by, groups in sizes.items()}


def slice_frame(
    estimates: Estimates, cell: str, by: str, groups: Sequence[tuple[str | None, int]]
) -> pl.DataFrame:
    """Return a metric within groups, one row per group and system."""
    rows = []
    for group, users in groups:
        name = "–" if group is None else printable(group)
        for system in estimates.systems:
            estimate = estimates.of(system, cell, by, group)
            text = f"{system}, {by} = {name} ({users:,} users): {cell} = {estimate}"
            rows.append(
                {"group": name, "users": users, "system": system, "text": text} | limits(estimate)
            )
    return pl.DataFrame(rows, schema=SLICES)


def difference_frame(pairs: Sequence[Mapping[str, Any]], design: Design) -> pl.DataFrame:
    """Return paired differences with their intervals, from rows of a comparison, the best first.

    Thick is the interval of a pair alone, thin that of the level of its verdict, where it is
    another one.
    """
    rows = []
    baseline = design.baseline
    for row in sorted(pairs, key=lambda row: (row["metric"], -row["difference"])):
        pair = (
            str(row["system"]) if baseline is not None else f"{row['system']} − {row['baseline']}"
        )
        pair += "" if row["group"] is None else f" ({row['group']})"
        estimate = Estimate(row["difference"], row["low_alone"], row["high_alone"])
        deciding = deciding_p(row)
        p = (
            ""
            if is_missing(deciding)
            else f", {named_p('p', deciding, design.alpha)}{margin_mark(row)}"
        )
        value = signed(row["difference"], places(row))
        text = (
            f"{pair}: {row['metric']} {value} "
            f"({interval_text(row, signed)}{margin_level(row)}){p}, {verdict_words(row)}"
        )
        low, high = decided_limits(row) or (math.nan, math.nan)
        wide = {
            "thin_low": low if math.isfinite(low) else None,
            "thin_high": high if math.isfinite(high) else None,
        }
        said = verdict_words(row)
        looks = {
            "tone": verdict_tone(row["verdict"]),
            "right": f"{value}  {said}",
            "verdict": row["verdict"],
        }
        names = {"metric": row["metric"], "name": pair, "text": text}
        rows.append(names | looks | wide | limits(estimate))
    numbers = {**_LIMITS, "thin_low": pl.Float64, "thin_high": pl.Float64}
    return tidy_frame(rows, "metric", "name", "verdict", "tone", "right", **numbers)


def decided_limits(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return a pair's interval at its verdict's level; None if equal to the pair's own interval."""
    low, high = row["low"], row["high"]
    if is_missing(low) or is_missing(high) or (low, high) == (row["low_alone"], row["high_alone"]):
        return None
    return low, high


def gains(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> Floats:
    """Return the differences of the users whose values in two results are not the same.

    Users without a difference, often nine in ten, would hide all others in a histogram.
    """
    differences = changed_users(system, baseline, cell)["difference"].to_numpy()
    if not len(differences):
        raise MetricError(f"{cell} is the same in both systems for every user")
    return differences


def paired_users(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> pl.DataFrame:
    """Return the users of both systems: ``user``, ``value``, ``baseline``, ``difference``."""
    if not {cell} <= {*system.columns} & {*baseline.columns}:
        raise MetricError(f"{cell} has no per-user values")
    one = system.select(pl.col("user").cast(pl.String), value=cell)
    other = baseline.select(pl.col("user").cast(pl.String), baseline=cell)
    joined = one.join(other, on="user")
    return joined.with_columns(difference=pl.col("value") - pl.col("baseline"))


def changed_users(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> pl.DataFrame:
    """Return the users whose values differ, with the columns of `paired_users`."""
    paired = paired_users(system, baseline, cell)
    return paired.filter(pl.col("difference").is_not_nan() & (pl.col("difference") != 0))


def histogram_frame(values: Mapping[str, Floats], *, symmetric: bool = False) -> pl.DataFrame:
    """Return how many users have values in each of equal bins, over the same bins for all names.

    Bins of differences are symmetric around 0, so that gains and losses can be compared.
    """
    every = np.concatenate([np.empty(0), *values.values()])
    every = every[np.isfinite(every)]
    if not len(every):
        raise MetricError("no user has a value")
    low, high = float(every.min()), float(every.max())
    if symmetric:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    rows = []
    for name, one in values.items():
        counts, _ = np.histogram(one[np.isfinite(one)], edges)
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
            text = (
                f"{name}: {int(count):,} users from {format_number(left)} to {format_number(right)}"
            )
            rows.append(
                {
                    "name": name,
                    "text": text,
                    "left": float(left),
                    "right": float(right),
                    "users": int(count),
                }
            )
    return tidy_frame(rows, "name", left=pl.Float64, right=pl.Float64, users=pl.Int64)


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
            text = f"{system}: the least recommended {percent(across, 1)} of the items get "
            text += f"{percent(shares[index], 1)} of the recommendations"
            rows.append(
                {
                    "system": system,
                    "text": text,
                    "items": across,
                    "recommendations": float(shares[index]),
                }
            )
    return tidy_frame(rows, "system", items=pl.Float64, recommendations=pl.Float64)


def reliability_frame(estimates: Estimates, name: str, by: str | None = None) -> pl.DataFrame:
    """Return reliability curves: one row per non-empty bin, of a system or a group of users.

    ``low`` and ``high`` are the limits of ``observed`` where the result has jackknife replicates.
    """
    rows = []
    for system, result in estimates.results.items():
        for row in result.table(name, by=by).filter(pl.col("rows") > 0).to_dicts():
            group = row.get("group")
            curve = system if by is None else "–" if group is None else printable(group)
            cell = f"{name}[{label(bin=row['bin'], of='observed')}]"
            observed = estimates.of(system, cell) if by is None else Estimate(row["observed"])
            text = (
                f"{curve}, {format_number(row['low'])} to {format_number(row['high'])} ({row['rows']:,.0f} "
                "rows): predicted "
            )
            text += f"{format_number(row['predicted'])}, observed {observed}"
            numbers = {"predicted": row["predicted"], "rows": row["rows"]}
            rows.append({"system": curve, "text": text} | numbers | limits(observed))
    return tidy_frame(rows, "system", predicted=pl.Float64, rows=pl.Float64, **_LIMITS)


def reliability_name(results: Mapping[str, Result], metric: str | None) -> str:
    """Return the reliability curve to draw: ``metric``, or the first that all results have."""
    if metric is not None:
        return str(parse(metric))
    names = [
        str(m)
        for m in next(iter(results.values())).metrics
        if m.name == "reliability_curve" and all(m in result.metrics for result in results.values())
    ]
    if not names:
        raise MetricError(
            "no reliability curve was evaluated", hint='evaluate "reliability_curve" as well'
        )
    return names[0]


FEWEST_USERS = 30
"""Users of a group below which it has no interval."""
MOST_GROUPS = 20
"""Groups that a chart shows: the largest ones."""


def slice_difference_frame(
    rows: Sequence[Mapping[str, Any]], alpha: float, unit: SamplingUnit
) -> pl.DataFrame:
    """Return differences within groups, one row per system and group."""
    drawn = []
    for row in rows:
        users = unit.users_in(row)
        name = f"{group_name(row['group'])} ({users:,})"
        value = signed(row["difference"], places(row))
        few = users < FEWEST_USERS
        estimate = (
            Estimate(row["difference"])
            if few
            else Estimate(row["difference"], row["low"], row["high"])
        )
        said = f"{users} users: no interval" if few else verdict_words(row)
        tone = "" if few else verdict_tone(row["verdict"])
        p = (
            ""
            if few or is_missing(row["p_adjusted"])
            else f", {named_p('p', row['p_adjusted'], alpha)}"
        )
        text = f"{row['system']}, {name}: {value}, {said}{p}"
        names = {
            "system": row["system"],
            "name": name,
            "tone": tone,
            "right": f"{value}  {said}",
            "text": text,
        }
        drawn.append(names | limits(estimate))
    return tidy_frame(drawn, "system", "name", "tone", "right", **_LIMITS)


def decision_frame(decision: Decision) -> pl.DataFrame:
    """Return the checks of a decision in shares of the baseline, one row per metric and slice."""
    lower_is_better = decision.record["lower_is_better"]
    is_up = [row["metric"] not in lower_is_better for row in decision.rows]
    rows = [_drawn_check(row, up=up) for row, up in zip(decision.rows, is_up, strict=True)]
    frame = tidy_frame(rows, "name", "tone", "right", allowed=pl.Float64, **_LIMITS)

    low = frame.select(pl.min_horizontal(pl.col("low", "allowed").min())).item() or 0.0
    high = frame.select(pl.max_horizontal(pl.col("high", "allowed").max())).item() or 0.0
    pad = 0.08 * (high - low) or 0.01
    ends = [min(low, 0.0) - pad if up else max(high, 0.0) + pad for up in is_up]
    return frame.with_columns(bound=pl.Series(ends, dtype=pl.Float64))


def _drawn_check(row: Mapping[str, Any], *, up: bool) -> dict[str, Any]:
    """Return the row of a check; its margin lies below 0 if a higher value is better."""
    name, mean = row["metric"], row["mean_baseline"]
    if row["by"] is not None:
        name = f"{name}, {row['by']} {group_name(row['group'])}"
    margin = row["margin"] / abs(mean) if row["margin"] and mean else None
    allowed: float | None = 0.0
    if row["role"] == "guardrail":
        allowed = margin and (-margin if up else margin)
    means = f"{brief(mean)} → {brief(row['mean_system'])}"
    return {
        "name": f"{name} ({row['users']:,})",
        "tone": {"✓": "better", "✕": "worse"}.get(row["said"][0], ""),
        "right": row["said"],
        "text": f"{name}: {change(row['change'])}, {means}, {row['said']}",
        "allowed": allowed,
        **limits(Estimate(row["change"], row["change_low"], row["change_high"])),
    }


def stack_frame(sides: Mapping[str, tuple[int, int, int]], noun: str = "users") -> pl.DataFrame:
    """Return users or requests that lose, see no difference and gain, one row per pair and side."""
    rows = [
        {
            "name": name,
            "side": side,
            "place": place,
            "users": count,
            "text": f"{name}: {count:,} {noun} {said}",
        }
        for name, counts in sides.items()
        for place, (side, said, count) in enumerate(
            zip(
                ("lose", "no difference", "gain"),
                ("lose", "see no difference", "gain"),
                counts,
                strict=True,
            )
        )
    ]
    return tidy_frame(rows, "name", "side", place=pl.Int64, users=pl.Int64)
