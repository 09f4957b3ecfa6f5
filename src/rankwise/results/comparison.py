"""The result of a comparison: one row per pair of systems and measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.view import Format, export, finite, html, plain
from rankwise.errors import MeasureError
from rankwise.results.comparison_folder import read_comparison, write_comparison
from rankwise.results.display.comparison_view import pair_view, system_view
from rankwise.results.methods import comparison_plots, report_comparison
from rankwise.results.pair_rows import COLUMNS
from rankwise.results.ranks import RANKS
from rankwise.results.result import Result
from rankwise.results.systems import Systems

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `rankwise.compare`: one row per metric, group of users and pair of systems.

    Attributes
    ----------
    table : polars.DataFrame
        One row per metric, group of users (null without ``by``) and pair. The columns:

        - both means; the ``difference`` (system minus baseline) with its confidence interval, and
          the interval that holds for all pairs of the primary metric together (``low_together``,
          ``high_together``, by Bonferroni); the relative ``lift`` with its interval (Fieller)
        - the test, its p-value and ``p_adjusted``; the ``verdict`` (better, worse, different,
          equivalent, undecided) with the ``error_rate`` that it controls, and ``within_margin``
        - with a margin: ``p_non_inferior``, and the ``users_needed`` to show non-inferiority
        - effect sizes d_z and Cliff's delta; wins, ties and losses; the number of users compared,
          left out (and why), and with values that are not both 0; the minimum detectable
          difference (power 0.8); flags
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
    settings : dict
        Baseline, primary metric, significance level, test, correction, margin, …; and
        ``not_compared``, the reason for each metric that was left out.
    results : mapping of str to Result
        The results that were compared, those of several seeds or data sets as ``"b, seed 1"`` or
        ``"b, data set"``; empty if the comparison was read from a file.
    """

    table: pl.DataFrame
    values: pl.DataFrame
    settings: dict[str, Any]
    results: Mapping[str, Result] = field(default_factory=dict)

    @classmethod
    def make(cls, systems: Systems, rows: list[dict[str, Any]], settings: dict[str, Any]) -> Comparison:
        """Return the comparison of systems from its rows."""
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        table = pl.DataFrame(columns, schema=COLUMNS)
        return cls(table, systems.values(), {**settings, "labels": systems.labels}, dict(systems.results))

    @property
    def ranks(self) -> pl.DataFrame:
        """The ranks of three or more systems on the primary metric, the best first.

        ``system``, ``mean``, ``rank`` (1 is the best observed mean), the confidence interval of the
        true rank, ``rank_low`` to ``rank_high``, and ``may_be_best``: no other system is shown to
        be better. All intervals hold together with confidence 1 − alpha, as does the claim that the
        best system is among those that may be the best. Empty for groups of users, for a metric
        without a better direction, and if only some pairs were tested (several seeds or data sets,
        or values that are not per-user means, against a baseline).

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
        return pl.DataFrame(self.settings["ranks"], schema=RANKS)

    def __getitem__(self, key: str | tuple[str, ...]) -> dict[str, Any]:
        """Return one row: ``comparison["ndcg@10", "b"]``, or ``["b"]`` for the primary measure.

        ``["ndcg@10"]`` is enough for a single pair of systems; of a comparison of groups,
        ``["ndcg@10", "b", "women"]``; of several data sets, ``["ndcg@10", "b", "films"]`` for one
        of them, ``["ndcg@10", "b"]`` for all together.
        """
        names = key if isinstance(key, tuple) else (self.settings["primary"], key)
        if isinstance(key, str) and key not in self.table["system"]:
            names = (key,)
        columns = ("measure", "system", "group")
        if not all(isinstance(name, str) for name in names):
            raise MeasureError("rows are found by names", found=repr(key))
        rows = self.table.filter(*(pl.col(column) == name for column, name in zip(columns, names, strict=False)))
        if self.settings["data_sets"] and len(names) < len(columns):
            rows = rows.filter(pl.col("group").is_null())
        if len(rows) != 1:
            raise MeasureError(
                f"there is no single row of {' and '.join(map(str, names))}",
                found=f"{len(rows)} rows; measures {', '.join(self.table['measure'].unique())}",
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
        return cls(*read_comparison(check_path("folder", folder), COLUMNS))

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
        data: dict[str, Any] = finite(
            {"settings": self.settings, "pairs": self.table.to_dicts(), "values": self.values.to_dicts()}
        )
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the comparison as text.

        Markdown and LaTeX are tables of systems by metrics, with the best in bold, the second
        underlined, marks for significance, and a caption that explains them.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON also holds settings and values; LaTeX needs the package booktabs.
        """
        return export(
            format, self.to_dict, table=self._csv_table, views=lambda: [system_view(self.table, self.settings)]
        )

    def _csv_table(self) -> pl.DataFrame:
        """Return the table with text for lists, and whose definition each metric follows, as `Result.export` has it."""
        names = self.table["measure"].unique().to_list()
        by_name = {name: [result.definition_of(name) for result in self.results.values()] for name in names}
        whose = {name: next(filter(None, definitions), None) for name, definitions in by_name.items()}
        definition = pl.col("measure").replace_strict(whose, return_dtype=pl.String).alias("definition_of")
        return self.table.with_columns(pl.col("flags").list.join("; "), definition)

    def __repr__(self) -> str:
        return plain(pair_view(self.table, self.settings))

    def _repr_html_(self) -> str:
        return html(pair_view(self.table, self.settings))

    plot = cached_property(comparison_plots)
    report = report_comparison
