"""``result.plot`` and ``comparison.plot``: charts for notebooks and papers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankwise.comparison.compare import compare_groups
from rankwise.comparison.decision import Decision
from rankwise.comparison.design import Design
from rankwise.comparison.sentences import verdict_sentences
from rankwise.core import __version__
from rankwise.core.arguments import check_choice
from rankwise.core.terminal import change, count_of, level_text
from rankwise.errors import MetricError, ParameterError, UsageError, nearest
from rankwise.findings.words import VERDICT_MARKS, natural_key, verdict_tone, verdict_words
from rankwise.messages import parameter
from rankwise.metrics.base import parse
from rankwise.reporting.chart_data import (
    MOST_GROUPS,
    Estimates,
    curve_frame,
    curves_of,
    decision_frame,
    difference_frame,
    gains,
    groups_of,
    histogram_frame,
    pareto_frame,
    reliability_frame,
    reliability_name,
    slice_difference_frame,
    slice_frame,
    stack_frame,
    tidy_frame,
)
from rankwise.results.result import Result

if TYPE_CHECKING:
    from rankwise.reporting.charts import Chart, Size, Theme


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
        frame = slice_difference_frame(rows, design.alpha, design.unit)
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
        frame = tidy_frame(rows, "metric", "system", "shown", "tone")
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
