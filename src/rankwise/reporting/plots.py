"""``result.plot`` and ``comparison.plot``: charts for notebooks and papers, and the data of each.

The data of a chart are a tidy frame, made without a plotting library. Every frame has a column
``text``: what a reader sees of a mark that is pointed at, and what a screen reader says of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankwise.comparison.compare import compare_groups
from rankwise.comparison.decision import Decision
from rankwise.comparison.design import Design
from rankwise.comparison.view import verdict_sentences
from rankwise.core import __version__
from rankwise.core.arguments import check_choice
from rankwise.core.terminal import (
    brief,
    change,
    count_of,
    format_number,
    level_text,
    percent,
    signed,
)
from rankwise.errors import (
    MetricError,
    ParameterError,
    RankwiseError,
    UsageError,
    nearest,
)
from rankwise.findings.words import (
    VERDICT_MARKS,
    deciding_p,
    group_name,
    interval_text,
    is_missing,
    margin_level,
    margin_mark,
    named_p,
    natural_key,
    places,
    verdict_tone,
    verdict_words,
)
from rankwise.messages import parameter, printable
from rankwise.metrics.base import parse
from rankwise.metrics.inputs import label
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.differences import Floats

if TYPE_CHECKING:
    from rankwise.reporting.charts import Chart, Size, Theme

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


def _frame(rows: Sequence[Mapping[str, Any]], /, *texts: str, **numbers: Any) -> pl.DataFrame:
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
    return _frame(rows, "metric", "system", k=pl.Int64, **_LIMITS)


def pareto_frame(estimates: Estimates, y: str, xs: Sequence[str]) -> pl.DataFrame:
    """Return one row per system and metric of ``xs``, each with its value of ``y`` as well."""
    rows = []
    for x in xs:
        for system in estimates.systems:
            across, up = estimates.of(system, x), estimates.of(system, y)
            text = f"{system}: {x} = {across}, {y} = {up}"
            sides = {f"x_{name}": value for name, value in limits(across).items()}
            rows.append({"metric": x, "system": system, "text": text} | sides | limits(up))
    return _frame(
        rows, "metric", "system", **{f"x_{name}": pl.Float64 for name in _LIMITS}, **_LIMITS
    )


def groups_of(results: Mapping[str, Result]) -> dict[str, list[tuple[str | None, int]]]:
    """Return the groups of users and items that results have slices of, the largest first."""
    sizes: dict[str, dict[str | None, int]] = {}
    for result in results.values():
        for row in [] if result.slices is None else result.slices.iter_rows(named=True):
            sizes.setdefault(row["by"], {}).setdefault(row["group"], row["users"])
    return {by: sorted(groups.items(), key=lambda g: -g[1]) for by, groups in sizes.items()}


def _by_of(columns: Collection[str], by: str | None, no_groups: str) -> str:
    """Return the column of groups to draw: ``by``, or the only column; raise if ambiguous."""
    if not columns or (by is None and len(columns) > 1) or (by is not None and by not in columns):
        raise ParameterError(
            "there are no such groups" if columns else no_groups,
            found=f"{parameter('by', by)}; groups by {', '.join(columns) or 'nothing'}",
            hint=nearest(str(by), columns)
            or f"evaluate with {parameter('users')} and {parameter('by')}",
        )
    return next(iter(columns)) if by is None else by


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
    return _frame(rows, "metric", "name", "verdict", "tone", "right", **numbers)


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
    return _frame(rows, "system", items=pl.Float64, recommendations=pl.Float64)


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
    return _frame(rows, "system", predicted=pl.Float64, rows=pl.Float64, **_LIMITS)


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


def charts() -> Any:
    """Return the module that draws.

    Raises
    ------
    UsageError
        If Altair is not installed.
    """
    try:
        import rankwise.reporting.charts as charts
    except ImportError as error:
        raise UsageError(
            "charts are drawn with Altair", found=str(error), hint='pip install "rankwise[plot]"'
        ) from error
    return charts


def _subtitle(text: str, alpha: float, sample: str = "") -> str:
    """Return the lines below a title: the content, the sample, the level and the version."""
    who = f", {sample}" if sample else ""
    return f"{text}{who}, {level_text(1 - alpha)} intervals\nrankwise {__version__}"


class ResultPlots:
    """Charts of one result, as Altair charts: show them in a notebook, or ``save`` them.

    Each takes ``size``: ``"web"``, ``"slide"``, or ``"column"`` and ``"page"`` of a paper, which
    have no title, because their caption has it; and ``theme``: ``"light"`` or ``"dark"``.
    """

    def __init__(self, result: Result, name: str = "result") -> None:
        self._estimates = Estimates({name: result})
        self._name, self._result = name, result

    def curve(self, *metrics: str, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw metrics against the cut-off k, with 95 % confidence bands.

        Parameters
        ----------
        *metrics : str
            Metrics without a cut-off, ``"ndcg"``; by default all that were evaluated at two or
            more cut-offs.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.

        Returns
        -------
        altair.LayerChart

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3, user % 5 + 3] for user in range(30)}
        >>> result = rw.evaluate(lists, {user: {0, 4} for user in lists}, "recall@[1,2]")
        >>> result.plot.curve("recall").to_dict()["title"]["text"]
        ['recall@k']
        """
        return _curve(self._estimates, metrics, size, theme)

    def per_user(self, metric: str, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw a histogram of a metric's per-user values; users at 0 are counted in the subtitle.

        Parameters
        ----------
        metric : str
            The metric, ``"ndcg@10"``.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        cell = self._result.cell(metric)
        if cell not in self._result.per_user.columns:
            raise MetricError(f"{cell} has no per-user values")
        values = self._result.per_user[cell].drop_nans().to_numpy()
        rest = values[values != 0]
        zeros = len(values) - len(rest)
        frame = histogram_frame({self._name: rest if len(rest) else values})
        text = (
            f"{zeros:,} of {len(values):,} users have 0, and are not drawn"
            if zeros and len(rest)
            else "All users"
        )
        look = charts().look_of(size, theme)
        chart: Chart = charts().histogram_chart(
            frame,
            cell,
            look=look,
            title=f"{cell} of {len(values):,} users",
            subtitle=f"{text}\nrankwise {__version__}",
        )
        return chart

    def slices(
        self, metric: str, by: str | None = None, *, size: Size = "web", theme: Theme = "light"
    ) -> Chart:
        """Draw a metric within groups of users or items, with 95 % confidence intervals.

        Parameters
        ----------
        metric : str
            The metric, ``"ndcg@10"``.
        by : str, optional
            The column of the groups; required if ``by`` had several columns. The 20 largest groups
            are shown, in their natural order.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        columns = groups_of({self._name: self._result})
        by = _by_of(columns, by, "the result has no groups")
        cell, groups = self._result.cell(metric), _largest(columns[by])
        frame = slice_frame(self._estimates, cell, by, groups).with_columns(
            group=pl.format("{} ({})", "group", "users")
        )
        few = (
            f"; the {MOST_GROUPS} largest of {len(columns[by]):,}"
            if len(columns[by]) > MOST_GROUPS
            else ""
        )
        look = charts().look_of(size, theme)
        subtitle = _subtitle(
            f"Mean {cell}, number of users in brackets{few}", self._estimates.alpha
        )
        chart: Chart = charts().slice_chart(frame, f"{cell} by {by}", look=look, subtitle=subtitle)
        return chart

    def reliability(
        self,
        metric: str | None = None,
        *,
        by: str | None = None,
        size: Size = "web",
        theme: Theme = "light",
    ) -> Chart:
        """Draw predicted against observed click rates; the diagonal is perfect calibration.

        Intervals of the observed rates are drawn if the result was evaluated with ``jackknife``.

        Parameters
        ----------
        metric : str, optional
            A curve with parameters, ``"reliability_curve(bins=equal_mass)"``; by default the first
            that was evaluated.
        by : str, optional
            A column of groups of users: one curve per group.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.

        Returns
        -------
        altair.LayerChart
        """
        name = reliability_name(self._estimates.results, metric)
        frame, look = reliability_frame(self._estimates, name, by), charts().look_of(size, theme)
        chart: Chart = charts().reliability_chart(
            frame, look=look, title="Observed against predicted rates", subtitle=name
        )
        return chart


def _largest(groups: Sequence[tuple[str | None, int]]) -> list[tuple[str | None, int]]:
    """Return the largest groups in their natural order."""
    largest = sorted(groups, key=lambda group: -group[1])[:MOST_GROUPS]
    return sorted(largest, key=lambda group: natural_key(group[0]))


class ComparisonPlots:
    """Charts of a comparison, as Altair charts: show them in a notebook, or ``save`` them.

    Each takes ``size``: ``"web"``, ``"slide"``, or ``"column"`` and ``"page"`` of a paper, which
    have no title, because their caption has it; and ``theme``: ``"light"`` or ``"dark"``.
    """

    def __init__(self, table: pl.DataFrame, design: Design, results: Mapping[str, Result]) -> None:
        self._table, self._design, self._results = table, design, results
        self._primary: str = design.primary
        self._estimates = Estimates(results, design.alpha)

    def differences(self, *metrics: str, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw paired differences with confidence intervals; by default of the primary metric.

        The thick interval is of one pair alone, the thin one at the level that the correction left
        to it: the verdict follows the thin one.

        Parameters
        ----------
        *metrics : str
            Metrics, ``"ndcg@10"``; several are panels.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        compared = self._table["metric"].unique(maintain_order=True).to_list()
        names = [name if name in compared else str(parse(name)) for name in metrics] or [
            self._primary
        ]
        rows = self._table.filter(pl.col("metric").is_in(names))
        if rows.is_empty():
            raise MetricError("none of these metrics was compared", found=", ".join(names))
        unit = self._design.unit
        base, alpha = self._design.baseline, self._design.alpha
        name, baseline = (
            names[0] if len(names) == 1 else "several metrics",
            f" from {base}" if base else "",
        )
        title = (
            verdict_sentences(self._table, self._design)[0]
            if names == [self._primary]
            else f"Difference{baseline}"
        )
        frame = difference_frame(rows.to_dicts(), self._design)
        chart: Chart = charts().interval_chart(
            frame,
            look=charts().look_of(size, theme),
            axis=f"difference in mean {name}{baseline}",
            title=title,
            subtitle=_subtitle(
                f"Difference in mean {name}{baseline}",
                alpha,
                unit.counted_in(rows.row(0, named=True)) if rows["users"].n_unique() == 1 else "",
            ),
            panel="metric" if len(names) > 1 else None,
        )
        return chart

    def slices(
        self,
        metric: str | None = None,
        by: str | None = None,
        *,
        size: Size = "web",
        theme: Theme = "light",
    ) -> Chart:
        """Draw the differences from the baseline within groups of users, a panel per system.

        Parameters
        ----------
        metric : str, optional
            The metric; by default the primary one.
        by : str, optional
            The column of the groups, with which the results were evaluated; required if there are
            several.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.

        Examples
        --------
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(60)}
        >>> users = {"user": range(60), "country": ["AT", "DE"] * 30}
        >>> lists = {"a": [1, 3], "b": [1, 2]}
        >>> results = {
        ...     name: rw.evaluate(dict.fromkeys(truth, items), truth, "recall@2", users=users, by="country")
        ...     for name, items in lists.items()
        ... }
        >>> chart = rw.compare(results, baseline="a").plot.slices("recall@2")
        >>> chart.to_dict()["title"]["text"]
        ['Difference in recall@2 from a by country']
        """
        results, design = self._needed(), self._design
        columns = groups_of(results)
        by = _by_of(columns, by, "the results have no groups")
        baseline = design.baseline or next(iter(results))
        cell = next(iter(results.values())).cell(metric or self._primary)
        made = compare_groups(
            results, design, by, baseline=baseline, metric=cell, force=design.forced
        )
        groups = dict(_largest(columns[by]))
        table = made.table.filter(
            pl.col("group").is_in([g for g in groups if g is not None]) | pl.col("group").is_null()
        )
        order = {group: at for at, group in enumerate(groups)}
        rows = sorted(table.to_dicts(), key=lambda row: order.get(row["group"], len(order)))
        frame = _slice_differences(rows, design.alpha, design.unit)
        name = f"Difference in {cell} from {baseline} by {by}"
        chart: Chart = charts().interval_chart(
            frame,
            look=charts().look_of(size, theme),
            axis=f"difference in mean {cell}",
            title=name,
            subtitle=_subtitle(
                "Number of users in brackets; verdicts corrected over groups", design.alpha
            ),
            panel="system",
        )
        return chart

    def overview(self, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw the change of every metric in per cent of the baseline, with its verdict.

        Parameters
        ----------
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        rows = []
        for row in self._table.filter(pl.col("group").is_null()).iter_rows(named=True):
            base = self._design.baseline
            name = row["system"] if base is not None else f"{row['system']} − {row['baseline']}"
            shown = f"{change(row['lift'])} {VERDICT_MARKS.get(row['verdict'], '·')}"
            text = f"{name}: {row['metric']} {shown}, {verdict_words(row)}"
            tone = verdict_tone(row["verdict"])
            rows.append(
                {
                    "metric": row["metric"],
                    "system": name,
                    "shown": shown,
                    "tone": tone,
                    "text": text,
                }
            )
        if not rows:
            raise MetricError("nothing was compared over all users")
        frame = _frame(rows, "metric", "system", "shown", "tone")
        baseline = self._design.baseline
        title = f"Change against {baseline}" if baseline else "Change between systems"
        subtitle = (
            f"▲ better, ▼ worse, · not shown; all but {self._primary} exploratory\nrankwise "
            f"{__version__}"
        )
        look = charts().look_of(size, theme)
        chart: Chart = charts().overview_chart(frame, look=look, title=title, subtitle=subtitle)
        return chart

    def decision(self, decision: Decision, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw a decision: each check in per cent of the baseline, with disallowed ranges shaded.

        Parameters
        ----------
        decision : Decision
            The decision, from `rankwise.decide`.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        frame = decision_frame(decision)
        chart: Chart = charts().interval_chart(
            frame,
            look=charts().look_of(size, theme),
            axis=f"change in % of {decision.record['rule']['baseline']}",
            title=decision.verdict,
            subtitle=_subtitle("Shaded: not allowed", decision.record["rule"]["alpha"]),
            percent=True,
            limit=True,
        )
        return chart

    def gains(
        self,
        system: str,
        baseline: str,
        metric: str | None = None,
        *,
        kind: Literal["bar", "histogram"] = "bar",
        size: Size = "web",
        theme: Theme = "light",
    ) -> Chart:
        """Draw how many users gain, and how many lose, with ``system`` in place of ``baseline``.

        Parameters
        ----------
        system, baseline : str
            Names of two results.
        metric : str, optional
            The metric; by default the primary one.
        kind : {"bar", "histogram"}, default="bar"
            One bar of all users, or a histogram of the differences that are not 0.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        check_choice("kind", kind, Literal["bar", "histogram"])
        one, other = (self._result(name) for name in (system, baseline))
        cell = one.cell(metric or self._primary)
        changed, up = gains(one.units, other.units, cell), one.direction(cell)
        pair, look = f"{system} − {baseline}", charts().look_of(size, theme)
        same = len(_both(one.units, other.units, cell)) - len(changed)
        who = "Requests that" if one.has_requests else "Users who"
        title = f"{who} gain and lose with {system} in place of {baseline}"
        if kind == "bar":
            sides = (int((changed < 0).sum()), same, int((changed > 0).sum()))
            frame = stack_frame(
                {pair: sides if up is not False else sides[::-1]}, one.sampling_unit.rows
            )
            bar: Chart = charts().stack_chart(
                frame,
                one.sampling_unit.rows,
                look=look,
                title=title,
                subtitle=f"{cell}\nrankwise {__version__}",
            )
            return bar
        frame = histogram_frame({pair: changed}, symmetric=True)
        rest = f"{count_of(same, one.sampling_unit.row)} without a difference not drawn"
        text = f"Difference in {cell}; {rest}\nrankwise {__version__}"
        chart: Chart = charts().histogram_chart(
            frame,
            f"difference in {cell}",
            signed=True,
            better=up,
            look=look,
            title=title,
            subtitle=text,
        )
        return chart

    def pareto(
        self, x: str, y: str | None = None, *, size: Size = "web", theme: Theme = "light"
    ) -> Chart:
        """Draw the trade-off of two metrics, with intervals on both axes; upper right is better.

        Parameters
        ----------
        x : str
            A metric such as ``"catalog_coverage@10"``.
        y : str, optional
            The other metric; by default the primary one.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        first = next(iter(self._needed().values()))
        up, across = first.cell(y or self._primary), first.cell(x)
        frame = pareto_frame(self._estimates, up, [across])
        chart: Chart = charts().pareto_chart(
            frame,
            y=up,
            up=first.direction(up),
            right=first.direction(across),
            baseline=self._design.baseline,
            look=charts().look_of(size, theme),
            subtitle=_subtitle(
                "The dashed line joins the systems that no other beats on both",
                self._design.alpha,
            ),
        )
        return chart

    def reliability(
        self, metric: str | None = None, *, size: Size = "web", theme: Theme = "light"
    ) -> Chart:
        """Draw observed against predicted rates; the diagonal is perfect calibration.

        Parameters
        ----------
        metric : str, optional
            A curve with parameters, ``"reliability_curve(bins=equal_mass)"``; by default the first
            that was evaluated.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        results = self._needed()
        name = reliability_name(results, metric)
        frame, look = reliability_frame(self._estimates, name), charts().look_of(size, theme)
        chart: Chart = charts().reliability_chart(
            frame, look=look, title="Observed against predicted rates", subtitle=name
        )
        return chart

    def curve(self, *metrics: str, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw metrics against the cut-off k, with bands for the baseline and the best system.

        Parameters
        ----------
        *metrics : str
            Metrics without a cut-off, ``"ndcg"``; by default all with two or more cut-offs.
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        results = self._needed()
        best = max(results, key=lambda name: results[name].values.get(self._primary, -math.inf))
        marked = [name for name in dict.fromkeys((self._design.baseline, best)) if name is not None]
        return _curve(self._estimates, metrics, size, theme, marked)

    def _needed(self) -> Mapping[str, Result]:
        if not self._results:
            raise UsageError(
                "this comparison was read from a file, which holds no results",
                hint="compare the results again: rw.compare({name: rw.load(folder), …})",
            )
        return self._results

    def _result(self, name: str) -> Result:
        results = self._needed()
        if name not in results:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(results))
        return results[name]


def _slice_differences(
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
    return _frame(drawn, "system", "name", "tone", "right", **_LIMITS)


def decision_frame(decision: Decision) -> pl.DataFrame:
    """Return the checks of a decision in shares of the baseline, one row per metric and slice."""
    lower_is_better = decision.record["lower_is_better"]
    is_up = [row["metric"] not in lower_is_better for row in decision.rows]
    rows = [_drawn_check(row, up=up) for row, up in zip(decision.rows, is_up, strict=True)]
    frame = _frame(rows, "name", "tone", "right", allowed=pl.Float64, **_LIMITS)

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
    return _frame(rows, "name", "side", place=pl.Int64, users=pl.Int64)


def _both(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> pl.DataFrame:
    """Return the users who have a value in both systems."""
    one = system.filter(pl.col(cell).is_not_nan()).select(pl.col("user").cast(pl.String))
    return one.join(
        baseline.filter(pl.col(cell).is_not_nan()).select(pl.col("user").cast(pl.String)), on="user"
    )


def _curve(
    estimates: Estimates,
    metrics: Sequence[str],
    size: Size,
    theme: Theme,
    banded: Sequence[str] = (),
) -> Chart:
    curves = curves_of(estimates.results)
    names = [str(parse(name) @ ()) for name in metrics] or list(curves)
    missing = [name for name in names if name not in curves]
    if missing or not names:
        raise MetricError(
            f"a curve of {', '.join(missing) or 'a metric'} needs two cut-offs or more",
            found=", ".join(curves) or "no curve",
            hint='evaluate with "ndcg@[1,5,10,20]"',
        )
    frame = curve_frame(estimates, {name: curves[name] for name in names})
    who = f"Bands: {' and '.join(banded)}" if banded else "Mean over users"
    look = charts().look_of(size, theme)
    chart: Chart = charts().curve_chart(
        frame, look=look, banded=banded, subtitle=_subtitle(who, estimates.alpha)
    )
    return chart
