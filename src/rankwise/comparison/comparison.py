"""The result of a comparison (one row per pair and metric), its margins and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rankwise.comparison.design import Design, SystemRank
from rankwise.comparison.methods_text import methods
from rankwise.comparison.movers import Movers, find_movers
from rankwise.comparison.paper import Layout, PaperOptions, Width, latex_table, paper_view
from rankwise.comparison.storage import read_comparison, write_comparison
from rankwise.comparison.view import comparison_views
from rankwise.core.arguments import check_choice, check_count, check_path
from rankwise.core.terminal import (
    Detail,
    DetailedDisplay,
    Format,
    TableView,
    export,
    json_safe,
)
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.columns import table_of
from rankwise.messages import parameter
from rankwise.metrics.base import parse
from rankwise.results.methods import comparison_plots, report_comparison
from rankwise.results.result import Result

_OF_PAGES = ("columns", "label")  # what Markdown does not know
_OF_SYSTEMS = (
    "digits",
    "percent",
)  # what pairs do not have: their differences have the decimals of the means


def _check_options(form: str, options: PaperOptions) -> None:
    """Raise if an option is passed that a format, or the layout of pairs, does not know."""
    default = PaperOptions()
    changed = [
        entry.name
        for entry in fields(options)
        if getattr(options, entry.name) != getattr(default, entry.name)
    ]
    if form not in ("latex", "markdown"):
        unused, where = changed, f"the format {form!r}"
    elif form == "markdown" and (pages := [name for name in changed if name in _OF_PAGES]):
        unused, where = pages, "the format 'markdown'"
    else:
        pairs = options.layout == "pairs"
        unused, where = (
            [name for name in changed if pairs and name in _OF_SYSTEMS],
            "the layout 'pairs'",
        )
    if unused:
        value = getattr(options, unused[0])
        raise ParameterError(
            f"{unused[0]} is no option of {where}",
            found=f"{unused[0]}={value!r}",
            hint=f"leave {unused[0]} out, or export as 'latex'"
            + (" in the layout 'systems'" * (form == "latex")),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(DetailedDisplay):
    """The result of `rankwise.compare`: one row per metric, group of users and pair of systems.

    Attributes
    ----------
    table : polars.DataFrame
        One row per metric, group of users (null without ``by``) and pair. The columns:

        - both means, and the ``difference`` (system minus baseline)
        - its interval ``low`` to ``high``, of the test and the level of the verdict: it excludes 0
          exactly where a difference is shown for any users. ``confidence`` is its level after
          correction: with Bonferroni that of alpha over the number of pairs, with Holm and Hochberg
          that of the last step that rejects, with Benjamini–Hochberg that of a false coverage rate,
          beside "equivalent" that of the two one-sided tests
        - further intervals: of this pair alone, without correction (``low_alone``,
          ``high_alone``); of all pairs of the primary metric together, by Bonferroni
          (``low_together``, ``high_together``); the one-sided limits that a margin is tested
          against (``margin_low``, ``margin_high``); of the relative ``lift`` (``lift_low``,
          ``lift_high``, by Fieller). Tests of the median have no interval of the mean, and call no
          system better where median and mean are on different sides of 0
        - the test, its p-value and ``p_adjusted``, which hold for any users; ``p_design`` and
          ``p_design_adjusted``, those of the test of the design, which knows nothing of users who
          were not sampled; the ``verdict`` (better, worse, different, equivalent, not shown) with
          the ``error_rate`` that it controls, and ``within_margin``
        - ``largest_loss``, the largest loss of one unseen user that the difference bears, beside
          ``loss_seen``, ``gain_seen``, ``loss_possible`` (the range) and ``loss_stated``; the
          ``condition`` of a verdict that ends with "if" (better if, worse if, different if,
          equivalent if); the users who would show it for any users, ``users_for_any_low`` for the
          observed gain (too few, probably) to ``users_for_any_high`` for its lower 80 % limit
        - with a margin: ``p_non_inferior``, and the ``users_needed`` to show non-inferiority
        - effect sizes d_z and Cliff's delta; wins, ties and losses; the number of users compared,
          left out (and why), and with values that are not both 0; the ``minimum_detectable``
          difference (power 0.8), infinite if no difference within the range of the metric would be
          detected; flags
        - with several seeds: their number (``seeds_baseline``, ``seeds_system``), the standard
          deviation of the values between seeds (``deviation_baseline``, ``deviation_system``), the
          ``share_of_seeds`` in the variance of the difference, and ``seeds_to_halve``, the number
          of further seeds of each system that halves the interval
        - with clusters of users: their number, ``clusters``
        - over data sets, in the rows without a group: the number of ``data_sets``, which wins, ties
          and losses then count, and ``tau``, the standard deviation of the true differences
          between data sets
    values : polars.DataFrame
        One row per value that any result has, one column per system and data set: means over
        seeds. If candidates were sampled, column names carry the label.
    design : Design
        How the comparison was made: baseline, primary metric, level, test, correction, margin, …;
        and what was noted beside its table, such as ``design.not_compared``, the reason for each
        metric that was left out.
    results : mapping of str to Result
        The results that were compared, those of several seeds or data sets as ``"b, seed 1"`` or
        ``"b, data set"``; empty if the comparison was read from a file.
    """

    table: pl.DataFrame
    values: pl.DataFrame
    design: Design
    results: Mapping[str, Result] = field(default_factory=dict)

    @property
    def ranks(self) -> pl.DataFrame:
        """The ranks of three or more systems on the primary metric, the best first.

        ``system``, ``mean``, ``rank`` (1 is the best observed mean), the confidence interval of the
        true rank, ``rank_low`` to ``rank_high``, and ``may_be_best``: no other system is shown to
        be better. All intervals hold together with confidence 1 − alpha, as does the claim that the
        best system is among those that may be the best. Empty for groups of users, for a metric
        without a better direction, and if only some pairs were tested (several seeds or data sets,
        or values that are not per-user means, against a baseline).

        Against a baseline, a system that is better ranks above one that is worse. If all pairs with
        the baseline are decided, the remaining pairs are tested as a second family, which keeps the
        error rate of the first; otherwise systems on the same side of the baseline share their
        ranks.

        Examples
        --------
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> lists = {"a": [3, 4], "b": [1, 3], "c": [4, 2]}
        >>> results = {
        ...     name: rw.evaluate(dict.fromkeys(truth, items), truth, "recall@2")
        ...     for name, items in lists.items()
        ... }
        >>> rw.compare(results).ranks.select("system", "rank_low", "rank_high").rows()
        [('b', 1, 2), ('c', 1, 2), ('a', 3, 3)]
        """
        return table_of(self.design.ranks, SystemRank)

    def __getitem__(self, key: str | tuple[str, ...]) -> dict[str, Any]:
        """Return one row: ``comparison["ndcg@10", "b"]``, or ``["b"]`` for the primary metric.

        ``["ndcg@10"]`` is enough for a single pair of systems; of a comparison of groups,
        ``["ndcg@10", "b", "women"]``; of several data sets, ``["ndcg@10", "b", "films"]`` for one
        of them, ``["ndcg@10", "b"]`` for all together.
        """
        names = key if isinstance(key, tuple) else (self.design.primary, key)
        if isinstance(key, str) and key not in self.table["system"]:
            names = (key,)
        columns = ("metric", "system", "group")
        if not all(isinstance(name, str) for name in names):
            raise MetricError("rows are found by names", found=repr(key))
        rows = self.table.filter(
            *(pl.col(column) == name for column, name in zip(columns, names, strict=False))
        )
        if self.design.data_sets and len(names) < len(columns):
            rows = rows.filter(pl.col("group").is_null())
        if len(rows) != 1:
            raise MetricError(
                f"there is no single row of {' and '.join(map(str, names))}",
                found=f"{len(rows)} rows; metrics {', '.join(self.table['metric'].unique())}",
                hint="filter the table: comparison.table",
            )
        return rows.row(0, named=True)

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Read a comparison that `save`, or ``rankwise run``, wrote.

        Raises
        ------
        FileError
            If the folder holds no comparison, or one of its results cannot be read.
        """
        return cls(*read_comparison(check_path("folder", folder)))

    def save(self, folder: str | Path) -> Path:
        """Write ``comparison.json`` and every result, in ``results/``, into a folder.

        Raises
        ------
        OutputError
            If the folder cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> a = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> b = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rw.Comparison.load(rw.compare(a, b).save(folder))["B"]["difference"]
        0.5
        """
        path = check_path("folder", folder)
        write_comparison(path, self.to_dict(), self.results)
        return path

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON: NaN is None, infinity is text."""
        data: dict[str, Any] = json_safe(
            {
                "design": self.design.to_dict(),
                "pairs": self.table.to_dicts(),
                "values": self.values.to_dicts(),
            }
        )
        return data

    def export(
        self,
        format: Format | Literal["methods"],  # noqa: A002
        *,
        metrics: Sequence[str] | None = None,
        digits: int = 3,
        percent: bool = False,
        columns: Width = "page",
        label: str = "rankwise-comparison",
        caption: bool = True,
        layout: Layout = "systems",
    ) -> str:
        r"""Return the comparison as text; the options apply to tables in LaTeX and Markdown.

        Markdown and LaTeX are tables of systems by metrics, the baseline first and then the best:
        the best value in bold, the second underlined, raised + and − (against a baseline) or
        letters (of all pairs) for what is shown, ± for standard deviations between seeds, and a
        caption with the test, the correction, the users, the rules and the version. Groups of users
        and data sets are blocks of columns.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex", "methods"}
            JSON also holds design and values; LaTeX needs the package booktabs. ``"methods"`` is
            a paragraph on the method, of which every clause comes from the record; what is not
            known stands there as ``[not recorded: …]``.
        metrics : list of str, optional
            The metrics of the table, in this order; by default all.
        digits : int, default=3
            Significant digits of values, in the layout of systems.
        percent : bool, default=False
            Values times 100, in the layout of systems.
        columns : {"page", "column"}, default="page"
            ``table*`` over both columns of a page, or ``table``; of LaTeX alone.
        label : str, default="rankwise-comparison"
            The label, after ``tab:``; of LaTeX alone.
        caption : bool, default=True
            Whether there is a caption.
        layout : {"systems", "pairs"}, default="systems"
            Systems by metrics, or one row per pair with difference, interval, p and verdict.

        Raises
        ------
        ParameterError
            If an option is passed that the format, or the layout of pairs, does not know.
        MetricError
            If a metric was not compared.

        Examples
        --------
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> a = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> b = rw.evaluate({user: [1, 2] if user % 2 else [1, 3] for user in truth}, truth, "recall@2")
        >>> text = rw.compare({"a": a, "b": b}, baseline="a").export("latex", columns="column", caption=False)
        >>> print(text)
        \begin{table}
        \centering\small\setlength{\tabcolsep}{4pt}
        \label{tab:rankwise-comparison}
        \begin{tabular}{@{}l*{1}{l}@{}}
        \toprule
        System & Recall@2 \\
        \midrule
        a & \underline{.500} \\
        \addlinespace
        b & \textbf{.750}$^{+}$ \\
        \bottomrule
        \end{tabular}
        \end{table}
        <BLANKLINE>
        """
        check_choice("columns", columns, Width)
        check_choice("layout", layout, Layout)
        check_count(least=1, digits=digits)
        names = None if metrics is None else [self._compared(name) for name in metrics]
        options = PaperOptions(names, digits, percent, columns, label, caption, layout)
        _check_options(format, options)
        if format == "methods":
            return methods(self.table, self.design, self.results)
        if format == "latex":
            return latex_table(self.table, self.design, self.results, options)
        return export(
            format,
            self.to_dict,
            table=self._csv_table,
            views=lambda: [paper_view(self.table, self.design, self.results, options)],
        )

    def movers(
        self,
        system: str | None = None,
        metric: str | None = None,
        *,
        baseline: str | None = None,
        n: int = 10,
        lists: Mapping[str, Any] | None = None,
        truth: Any = None,
        noise: Any = None,
    ) -> Movers:
        """Return the users that moved most: the largest losses, and the largest gains.

        Nothing is inferred about single users: one list has no distribution, and of two noisy runs
        the extremes return to the middle.

        Parameters
        ----------
        system : str, optional
            The system; needed where there are more than two.
        metric : str, optional
            A metric that is a mean over users; by default the primary one.
        baseline : str, optional
            The system to compare with; by default the baseline of the comparison, else the other
            system.
        n : int, default=10
            How many losses, and how many gains.
        lists : mapping of str to table or path, optional
            The recommendation lists of both systems by name: the ranks of relevant items are then
            in the table, with ``truth``.
        truth : table or path, optional
            The ground truth.
        noise : Stability, optional
            Several runs of one system, from `rankwise.stability`: how many users would lose as much
            without a change.

        Returns
        -------
        Movers

        Raises
        ------
        ParameterError
            If nothing says which two systems are meant, or ranks need another table.

        Examples
        --------
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> a = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> b = rw.evaluate({user: [1, 2] if user < 3 else [1, 3] for user in truth}, truth, "recall@2")
        >>> found = rw.compare({"a": a, "b": b}).movers("b")
        >>> found.gains, found.counts["unchanged"]
        ([0, 1, 2], 37)
        """
        pair = self._pair_of(system, baseline)
        cell = self.design.primary if metric is None else self._compared(metric)
        asked = {"n": n, "missing": self.design.missing, "lists": lists, "truth": truth}
        return find_movers(self.results, pair, cell, noise=noise, **asked)

    def _pair_of(self, system: str | None, baseline: str | None) -> tuple[str, str]:
        """Return the baseline and the system that are meant."""
        self.design.check_is_plain("a list of users", over_requests=True, with_noise=True)
        names = list(self.results)
        unknown = [name for name in (system, baseline) if name is not None and name not in names]
        if unknown:
            raise ParameterError(f"there is no result {unknown[0]!r}", found=", ".join(names))
        baseline = self.design.baseline if baseline is None else baseline
        if baseline is None and len(names) == 2:
            baseline = next(name for name in names if name != system) if system else names[0]
        others = [name for name in names if name != baseline]
        if system is None and baseline is not None and len(others) == 1:
            system = others[0]
        if system is None or baseline is None or system == baseline:
            raise ParameterError(
                "nothing says which two systems are meant",
                found=", ".join(names),
                hint=f"pass the system, and {parameter('baseline')}",
            )
        return baseline, system

    def _compared(self, name: str) -> str:
        """Return the canonical name of a metric that was compared."""
        return name if name in self.table["metric"] else str(parse(name))

    def _csv_table(self) -> pl.DataFrame:
        """Return the table with lists as text, and with the source of each metric's definition."""
        names = self.table["metric"].unique().to_list()
        by_name = {
            name: [result.definition_of(name) for result in self.results.values()] for name in names
        }
        whose = {
            name: next(filter(None, definitions), None) for name, definitions in by_name.items()
        }
        definition = (
            pl.col("metric").replace_strict(whose, return_dtype=pl.String).alias("definition_of")
        )
        return self.table.with_columns(pl.col(pl.List(pl.String)).list.join("; "), definition)

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the verdict alone, the verdict with a table, or every column of every pair.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}
            How much is shown.
        """
        return comparison_views(self.table, self.design, detail)

    plot = cached_property(comparison_plots)
    report = report_comparison
