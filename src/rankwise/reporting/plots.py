"""``result.plot`` and ``comparison.plot``: charts for notebooks and papers, and the data of each.

The data of a chart are a tidy frame, made without a plotting library. Every frame has a column
``text``: what a reader sees of a mark that is pointed at, and what a screen reader says of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.comparison.rows import is_missing, named_p
from rankwise.core.terminal import number
from rankwise.errors import MetricError, ParameterError, UsageError, nearest, printable
from rankwise.metrics.base import parse
from rankwise.metrics.inputs import label
from rankwise.results.result import Result
from rankwise.stats.differences import Floats

if TYPE_CHECKING:
    from rankwise.reporting.charts import Chart

__all__ = [
    "MOST_GROUPS",
    "SLICES",
    "ComparisonPlots",
    "Estimate",
    "Estimates",
    "ResultPlots",
    "changed_users",
    "charts",
    "curve_frame",
    "curves_of",
    "difference_frame",
    "gains",
    "groups_of",
    "histogram_frame",
    "limits",
    "lorenz_frame",
    "pareto_frame",
    "reliability_frame",
    "reliability_name",
    "slice_frame",
]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % confidence interval; ``missing`` says why there is no interval."""

    value: float
    low: float = math.nan
    high: float = math.nan
    users: int | None = None
    missing: str = ""

    def __str__(self) -> str:
        if math.isnan(self.low):
            return number(self.value)
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"


class Estimates:
    """The estimates of several results, kept after the first time they are asked for."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = results
        self._estimates: dict[tuple[object, ...], Estimate] = {}
        self._slices: dict[str, dict[tuple[object, object], dict[str, Any]]] = {}

    def only(self, systems: Iterable[str]) -> Estimates:
        """Return the estimates of some systems; what one of the two knows, the other knows."""
        subset = Estimates({name: self.results[name] for name in systems})
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

    def of(self, system: str, cell: str, by: str | None = None, group: str | None = None) -> Estimate:
        """Return the value of a system, over all users or those of one group."""
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
            interval = result.interval(cell, by=by, group=group)
        except UsageError as error:
            return Estimate(value, missing=error.what)
        if math.isnan(interval.low):
            why = "; ".join(interval.flags) or "too few users for an interval"
            return Estimate(value, users=interval.n, missing=why)
        return Estimate(value, interval.low, interval.high, interval.n)

    def _of_group(self, system: str, cell: str, by: str, group: str | None) -> float:
        """Return the value of a group of users or items, as the table of slices has it."""
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
SLICES: dict[str, Any] = {"group": pl.String, "system": pl.String, "text": pl.String, "users": pl.Int64, **_LIMITS}
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
                rows.append({"metric": metric, "system": system, "k": k, "text": text} | limits(estimate))
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
    return _frame(rows, "metric", "system", **{f"x_{name}": pl.Float64 for name in _LIMITS}, **_LIMITS)


def groups_of(results: Mapping[str, Result]) -> dict[str, list[tuple[str | None, int]]]:
    """Return the groups of users and items that results have slices of, the largest first."""
    sizes: dict[str, dict[str | None, int]] = {}
    for result in results.values():
        for row in [] if result.slices is None else result.slices.iter_rows(named=True):
            sizes.setdefault(row["by"], {}).setdefault(row["group"], row["users"])
    return {by: sorted(groups.items(), key=lambda g: -g[1]) for by, groups in sizes.items()}


def slice_frame(estimates: Estimates, cell: str, by: str, groups: Sequence[tuple[str | None, int]]) -> pl.DataFrame:
    """Return a metric within groups, one row per group and system."""
    rows = []
    for group, users in groups:
        name = "–" if group is None else printable(group)
        for system in estimates.systems:
            estimate = estimates.of(system, cell, by, group)
            text = f"{system}, {by} = {name} ({users:,} users): {cell} = {estimate}"
            rows.append({"group": name, "users": users, "system": system, "text": text} | limits(estimate))
    return pl.DataFrame(rows, schema=SLICES)


def difference_frame(table: pl.DataFrame) -> pl.DataFrame:
    """Return paired differences with their intervals, from the table of a comparison."""
    rows = []
    for row in table.iter_rows(named=True):
        pair = f"{row['system']} − {row['baseline']}"
        pair += "" if row["group"] is None else f" ({row['group']})"
        estimate = Estimate(row["difference"], row["low"], row["high"])
        p = "" if is_missing(row["p_adjusted"]) else f", {named_p('adjusted p', row['p_adjusted'])}"
        text = f"{pair}: {row['metric']} {row['difference']:+.4f}"
        text += f" [{number(row['low'])}, {number(row['high'])}]{p}, {row['verdict']}"
        rows.append({"metric": row["metric"], "pair": pair, "verdict": row["verdict"], "text": text} | limits(estimate))
    return _frame(rows, "metric", "pair", "verdict", **_LIMITS)


def gains(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> Floats:
    """Return the differences of the users whose values in two results are not the same.

    Users without a difference, often nine in ten, would hide all others in a histogram.
    """
    differences = changed_users(system, baseline, cell)["difference"].to_numpy()
    if not len(differences):
        raise MetricError(f"{cell} is the same in both systems for every user")
    return differences


def changed_users(system: pl.DataFrame, baseline: pl.DataFrame, cell: str) -> pl.DataFrame:
    """Return the users whose values differ: ``user``, ``value``, ``baseline``, ``difference``."""
    if not {cell} <= {*system.columns} & {*baseline.columns}:
        raise MetricError(f"{cell} has no per-user values")
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


def reliability_frame(estimates: Estimates, name: str, by: str | None = None) -> pl.DataFrame:
    """Return reliability curves: one row per system, or group of users by a column, and bin with rows.

    ``low`` and ``high`` are the limits of ``observed`` where the result has jackknife replicates.
    """
    rows = []
    for system, result in estimates.results.items():
        for row in result.table(name, by=by).filter(pl.col("rows") > 0).to_dicts():
            group = row.get("group")
            curve = system if by is None else "–" if group is None else printable(group)
            cell = f"{name}[{label(bin=row['bin'], of='observed')}]"
            observed = estimates.of(system, cell) if by is None else Estimate(row["observed"])
            text = f"{curve}, {number(row['low'])} to {number(row['high'])} ({row['rows']:,.0f} rows): predicted "
            text += f"{number(row['predicted'])}, observed {observed}"
            numbers = {"predicted": row["predicted"], "rows": row["rows"]}
            rows.append({"system": curve, "text": text} | numbers | limits(observed))
    return _frame(rows, "system", predicted=pl.Float64, rows=pl.Float64, **_LIMITS)


def reliability_name(results: Mapping[str, Result], metric: str | None) -> str:
    """Return the reliability curve to draw: the one that is asked for, or the first that all results have."""
    if metric is not None:
        return str(parse(metric))
    names = [
        str(m)
        for m in next(iter(results.values())).metrics
        if m.name == "reliability_curve" and all(m in result.metrics for result in results.values())
    ]
    if not names:
        raise MetricError("no reliability curve was evaluated", hint='evaluate "reliability_curve" as well')
    return names[0]


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


class ResultPlots:
    """Charts of one result, as Altair charts: show them in a notebook, or ``save`` them."""

    def __init__(self, result: Result, name: str = "result") -> None:
        self._estimates = Estimates({name: result})
        self._name, self._result = name, result

    def curve(self, *metrics: str) -> Chart:
        """Draw metrics against the cut-off k, with 95 % confidence bands.

        Parameters
        ----------
        *metrics : str
            Metrics without a cut-off, ``"ndcg"``; by default all that were evaluated at two or
            more cut-offs.

        Returns
        -------
        altair.FacetChart

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3, user % 5 + 3] for user in range(30)}
        >>> result = rw.evaluate(lists, {user: {0, 4} for user in lists}, "recall@[1,2]")
        >>> result.plot.curve("recall").to_dict()["data"]["name"][:4]
        'data'
        """
        return _curve(self._estimates, metrics)

    def per_user(self, metric: str) -> Chart:
        """Draw a histogram of the per-user values of a metric, such as ``"ndcg@10"``."""
        cell = self._result.cell(metric)
        if cell not in self._result.per_user.columns:
            raise MetricError(f"{cell} has no per-user values")
        values = self._result.per_user[cell].drop_nans().to_numpy()
        frame = histogram_frame({self._name: values})
        chart: Chart = charts().histogram_chart(frame, cell)
        return chart

    def slices(self, metric: str, by: str | None = None) -> Chart:
        """Draw a metric within groups of users or items, with 95 % confidence intervals.

        Parameters
        ----------
        metric : str
            The metric, ``"ndcg@10"``.
        by : str, optional
            The column of the groups; required if ``by`` had several columns. The 20 largest groups
            are shown.
        """
        columns = groups_of({self._name: self._result})
        if not columns or (by is None and len(columns) > 1) or (by is not None and by not in columns):
            raise ParameterError(
                "there are no such groups" if columns else "the result has no groups",
                found=f"by={by!r}; groups by {', '.join(columns) or 'nothing'}",
                hint=nearest(str(by), columns) or "evaluate with users= and by=",
            )
        by = next(iter(columns)) if by is None else by
        cell, groups = self._result.cell(metric), columns[by][:MOST_GROUPS]
        frame = slice_frame(self._estimates, cell, by, groups)
        chart: Chart = charts().slice_chart(frame, cell)
        return chart

    def reliability(self, metric: str | None = None, *, by: str | None = None) -> Chart:
        """Draw predicted against observed click rates; the diagonal is perfect calibration.

        Intervals of the observed rates are drawn if the result was evaluated with ``jackknife``.

        Parameters
        ----------
        metric : str, optional
            A curve with parameters, ``"reliability_curve(bins=equal_mass)"``; by default the first that was evaluated.
        by : str, optional
            A column of groups of users: one curve per group.

        Returns
        -------
        altair.LayerChart
        """
        name = reliability_name(self._estimates.results, metric)
        chart: Chart = charts().reliability_chart(reliability_frame(self._estimates, name, by))
        return chart


class ComparisonPlots:
    """Charts of a comparison, as Altair charts: show them in a notebook, or ``save`` them."""

    def __init__(self, table: pl.DataFrame, primary: str, results: Mapping[str, Result]) -> None:
        self._table, self._primary, self._results = table, primary, results

    def differences(self, *metrics: str) -> Chart:
        """Draw paired differences with their confidence intervals; by default of all metrics."""
        compared = self._table["metric"].unique(maintain_order=True).to_list()
        names = [name if name in compared else str(parse(name)) for name in metrics] or compared
        rows = self._table.filter(pl.col("metric").is_in(names))
        if rows.is_empty():
            raise MetricError("none of these metrics was compared", found=", ".join(names))
        chart: Chart = charts().difference_chart(difference_frame(rows))
        return chart

    def gains(self, system: str, baseline: str, metric: str | None = None) -> Chart:
        """Draw a histogram of the per-user differences between ``system`` and ``baseline``.

        Users whose values do not differ are left out.

        Parameters
        ----------
        system, baseline : str
            Names of two results.
        metric : str, optional
            The metric; by default the primary one.
        """
        one, other = (self._result(name) for name in (system, baseline))
        cell = one.cell(metric or self._primary)
        values = {f"{system} − {baseline}": gains(one.units, other.units, cell)}
        frame = histogram_frame(values, symmetric=True)
        chart: Chart = charts().histogram_chart(frame, f"difference in {cell}", signed=True, better=one.direction(cell))
        return chart

    def pareto(self, x: str, y: str | None = None) -> Chart:
        """Draw the trade-off of two metrics: one point per system, with intervals on both axes.

        Parameters
        ----------
        x : str
            A metric such as ``"catalog_coverage@10"``.
        y : str, optional
            The other metric; by default the primary one.
        """
        first = next(iter(self._needed().values()))
        up = first.cell(y or self._primary)
        frame = pareto_frame(Estimates(self._results), up, [first.cell(x)])
        chart: Chart = charts().pareto_chart(frame, up)
        return chart

    def reliability(self, metric: str | None = None) -> Chart:
        """Draw predicted against observed click rates of all systems; the diagonal is perfect calibration."""
        results = self._needed()
        frame = reliability_frame(Estimates(results), reliability_name(results, metric))
        chart: Chart = charts().reliability_chart(frame)
        return chart

    def curve(self, *metrics: str) -> Chart:
        """Draw metrics of all systems against the cut-off k, with 95 % confidence bands."""
        return _curve(Estimates(self._needed()), metrics)

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


def _curve(estimates: Estimates, metrics: Sequence[str]) -> Chart:
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
    chart: Chart = charts().curve_chart(frame)
    return chart
