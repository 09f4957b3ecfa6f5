"""``result.plot`` and ``comparison.plot``: charts for notebooks and papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.errors import MeasureError, ParameterError, UsageError, nearest
from rankwise.measures.read import parse
from rankwise.results.plots.chart_data import (
    curve_frame,
    curves_of,
    difference_frame,
    gains,
    groups_of,
    histogram_frame,
    pareto_frame,
    slice_frame,
)
from rankwise.results.plots.estimates import Estimates
from rankwise.results.result import Result

if TYPE_CHECKING:
    from rankwise.results.plots.charts import Chart

__all__ = ["MOST_GROUPS", "ComparisonPlots", "ResultPlots", "charts"]

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
        import rankwise.results.plots.charts as charts
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

    def curve(self, *measures: str) -> Chart:
        """Draw metrics against the cut-off k, with 95 % confidence bands.

        Parameters
        ----------
        *measures : str
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
        return _curve(self._estimates, measures)

    def per_user(self, measure: str) -> Chart:
        """Draw a histogram of the per-user values of a metric, such as ``"ndcg@10"``."""
        cell = self._result.cell(measure)
        if cell not in self._result.per_user.columns:
            raise MeasureError(f"{cell} has no per-user values")
        values = self._result.per_user[cell].drop_nans().to_numpy()
        frame = histogram_frame({self._name: values})
        chart: Chart = charts().histogram_chart(frame, cell)
        return chart

    def slices(self, measure: str, by: str | None = None) -> Chart:
        """Draw a metric within groups of users or items, with 95 % confidence intervals.

        Parameters
        ----------
        measure : str
            The metric, ``"ndcg@10"``.
        by : str, optional
            The column of the groups; required if ``by`` had several columns. The 20 largest groups
            are shown.
        """
        known = groups_of({self._name: self._result})
        if not known or (by is None and len(known) > 1) or (by is not None and by not in known):
            raise ParameterError(
                "there are no such groups" if known else "the result has no groups",
                found=f"by={by!r}; groups by {', '.join(known) or 'nothing'}",
                hint=nearest(str(by), known) or "evaluate with users= and by=",
            )
        by = next(iter(known)) if by is None else by
        cell, groups = self._result.cell(measure), known[by][:MOST_GROUPS]
        frame = slice_frame(self._estimates, cell, by, groups)
        chart: Chart = charts().slice_chart(frame, cell)
        return chart


class ComparisonPlots:
    """Charts of a comparison, as Altair charts: show them in a notebook, or ``save`` them."""

    def __init__(self, table: pl.DataFrame, primary: str, results: Mapping[str, Result]) -> None:
        self._table, self._primary, self._results = table, primary, results

    def differences(self, *measures: str) -> Chart:
        """Draw paired differences with their confidence intervals; by default of all metrics."""
        known = self._table["measure"].unique(maintain_order=True).to_list()
        names = [name if name in known else str(parse(name)) for name in measures] or known
        rows = self._table.filter(pl.col("measure").is_in(names))
        if rows.is_empty():
            raise MeasureError("none of these measures was compared", found=", ".join(names))
        chart: Chart = charts().difference_chart(difference_frame(rows))
        return chart

    def gains(self, system: str, baseline: str, measure: str | None = None) -> Chart:
        """Draw a histogram of the per-user differences between ``system`` and ``baseline``.

        Users whose values do not differ are left out.

        Parameters
        ----------
        system, baseline : str
            Names of two results.
        measure : str, optional
            The metric; by default the primary one.
        """
        one, other = (self._needed()[self._known(name)] for name in (system, baseline))
        cell = one.cell(measure or self._primary)
        values = {f"{system} − {baseline}": gains(one.per_user, other.per_user, cell)}
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

    def curve(self, *measures: str) -> Chart:
        """Draw metrics of all systems against the cut-off k, with 95 % confidence bands."""
        return _curve(Estimates(self._needed()), measures)

    def _needed(self) -> Mapping[str, Result]:
        if not self._results:
            raise UsageError(
                "this comparison was read from a file, which holds no results",
                hint="compare the results again: rw.compare({name: rw.load(folder), …})",
            )
        return self._results

    def _known(self, name: str) -> str:
        if name not in self._results:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(self._results))
        return name


def _curve(estimates: Estimates, measures: Sequence[str]) -> Chart:
    known = curves_of(estimates.results)
    names = [str(parse(name) @ ()) for name in measures] or list(known)
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise MeasureError(
            f"a curve of {', '.join(missing) or 'a measure'} needs two cut-offs or more",
            found=", ".join(known) or "no curve",
            hint='evaluate with "ndcg@[1,5,10,20]"',
        )
    frame = curve_frame(estimates, {name: known[name] for name in names})
    chart: Chart = charts().curve_chart(frame)
    return chart
