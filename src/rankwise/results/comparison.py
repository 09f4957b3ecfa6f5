"""The result of a comparison: one row per pair of systems and measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.view import Format, export, finite, html, plain
from rankwise.errors import MeasureError, ParameterError
from rankwise.results.align_users import Aligned
from rankwise.results.comparison_folder import read_comparison, write_comparison
from rankwise.results.display.comparison_view import pair_view, system_view
from rankwise.results.plots.plots import ComparisonPlots
from rankwise.results.report.make import make_report
from rankwise.results.report.page import Report
from rankwise.results.result import Result
from rankwise.stats.clusters import jackknife
from rankwise.stats.differences import (
    MANY,
    Differences,
    Interval,
    PairStatistics,
    TestResult,
    never_zero,
)
from rankwise.stats.effects import cliffs_delta, lift_interval
from rankwise.stats.equivalence import equivalence_of
from rankwise.stats.non_inferiority import non_inferiority_of
from rankwise.stats.paired import smallest_p
from rankwise.stats.power import minimum_detectable

__all__ = ["Comparison", "jackknife_row", "make_row", "row_of", "verdict"]

_COLUMNS: dict[str, Any] = {
    "measure": pl.String, "group": pl.String, "baseline": pl.String, "system": pl.String,
    "primary": pl.Boolean,
    "mean_baseline": pl.Float64, "mean_system": pl.Float64, "difference": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "low_together": pl.Float64,
    "high_together": pl.Float64, "lift": pl.Float64, "lift_low": pl.Float64,
    "lift_high": pl.Float64, "test": pl.String, "p": pl.Float64, "p_adjusted": pl.Float64,
    "verdict": pl.String, "error_rate": pl.String, "d_z": pl.Float64, "cliffs_delta": pl.Float64,
    "wins": pl.Int64, "ties": pl.Int64, "losses": pl.Int64, "users": pl.Int64,
    "users_dropped": pl.Int64, "dropped_because": pl.String, "users_not_zero": pl.Int64,
    "minimum_detectable": pl.Float64, "p_equivalence": pl.Float64,
    "p_equivalence_adjusted": pl.Float64, "within_margin": pl.Boolean,
    "p_non_inferior": pl.Float64, "users_needed": pl.Int64, "flags": pl.List(pl.String),
}  # fmt: skip


def make_row(
    cell: str, pair: tuple[str, str], differences: Differences, tested: TestResult,
    aligned: Aligned, intervals: tuple[Interval, Interval], *, alpha: float, margin: float | None,
    better: bool | None, tests: int, largest: float,
) -> dict[str, Any]:  # fmt: skip
    """Return the row of one pair of a family of ``tests``; x is the system, y the baseline.

    ``intervals`` are that of the pair alone and that of all pairs of the family together.
    """
    return row_of(
        cell, pair, differences, tested, intervals, alpha=alpha, margin=margin, better=better,
        tests=tests, dropped=(aligned.users, aligned.reasons), largest=largest,
        delta=cliffs_delta(differences.x, differences.y),
    )  # fmt: skip


def row_of(
    cell: str, pair: tuple[str, str], pairs: PairStatistics, tested: TestResult,
    intervals: tuple[Interval, Interval], *, alpha: float, margin: float | None,
    better: bool | None, tests: int, dropped: tuple[int, str], largest: float,
    delta: float = math.nan,
) -> dict[str, Any]:  # fmt: skip
    """Return the row of one pair, from pairs or their sums.

    ``dropped`` has the number of users that any result has, and why some were left out; ``delta``
    is Cliff's, which sums do not tell; ``largest`` the largest difference that is possible.
    """
    n, (baseline_mean, system_mean) = pairs.n, pairs.means[::-1]
    interval, together = intervals
    lift, lift_low, lift_high = lift_interval(pairs, confidence=1 - alpha)
    same = (
        None if margin is None
        else equivalence_of(pairs, margin=margin, alpha=alpha, largest=largest)
    )  # fmt: skip
    no_worse = (
        None if margin is None or better is None
        else non_inferiority_of(
            pairs, margin=margin, alpha=alpha, largest=largest, higher_is_better=better
        )
    )  # fmt: skip
    flags = [*tested.flags, *(flag for flag in interval.flags if flag not in tested.flags)]
    return {
        "measure": cell, "baseline": pair[0], "system": pair[1],
        "mean_baseline": baseline_mean, "mean_system": system_mean, "difference": pairs.mean,
        "low": interval.low, "high": interval.high,
        "low_together": together.low, "high_together": together.high,
        "lift": lift, "lift_low": lift_low, "lift_high": lift_high,
        "test": tested.test, "p": tested.p,
        "d_z": pairs.d_z, "cliffs_delta": delta,
        "wins": pairs.wins, "ties": n - pairs.nonzero, "losses": pairs.losses,
        "users": n, "users_dropped": dropped[0] - n, "dropped_because": dropped[1],
        "users_not_zero": pairs.not_zero,
        "minimum_detectable": _detectable(pairs, alpha / tests),
        "p_equivalence": math.nan if same is None else same.p,
        "p_non_inferior": math.nan if no_worse is None else no_worse.p,
        "users_needed": None if no_worse is None else no_worse.users_needed,
        "flags": flags, "_better": better,
    }  # fmt: skip


def _detectable(pairs: PairStatistics, alpha: float) -> float:
    """Return the difference found with power 0.8; NaN if too few pairs differ for any outcome."""
    if pairs.n < MANY and smallest_p(pairs.nonzero) >= alpha:
        return math.nan
    return minimum_detectable(pairs.n, alpha=alpha) * pairs.deviation


def jackknife_row(
    results: Mapping[str, Result], cell: str, pair: tuple[str, str], alpha: float,
    better: bool | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the row of one pair of values that are not per-user means, from their jackknife."""
    from scipy.stats import t

    baseline, system = results[pair[0]], results[pair[1]]
    assert baseline.replicates is not None
    assert system.replicates is not None
    if baseline.provenance.get("jackknife") != system.provenance.get("jackknife"):
        raise ParameterError(
            f"{cell} compares by the jackknife, over the same users in the same groups",
            found=f"{len(baseline.per_user)} users in {len(baseline.replicates)} groups, "
            f"{len(system.per_user)} in {len(system.replicates)}",
            hint="evaluate both on the same truth with the same jackknife=",
        )
    before, after = baseline.values[cell], system.values[cell]
    difference = after - before
    replicates = (system.replicates[cell] - baseline.replicates[cell]).to_numpy()
    interval = jackknife(difference, replicates, confidence=1 - alpha)
    flags, p = list(interval.flags), math.nan
    if interval.n > 1:
        freedom = interval.n - 1
        error = (interval.high - interval.low) / 2 / float(t.ppf(1 - alpha / 2, freedom))
        if error > 0:
            p = never_zero(2 * t.sf(abs(difference) / error, freedom))
        else:
            p = 1.0 if difference == 0 else math.nan
            flags.append("identical" if difference == 0 else "zero variance")
    undefined = dict.fromkeys(("wins", "ties", "losses", "users_not_zero", "users_needed"))
    return dict.fromkeys(_COLUMNS, math.nan) | undefined | {
        "measure": cell, "baseline": pair[0], "system": pair[1],
        "mean_baseline": before, "mean_system": after, "difference": difference,
        "low": interval.low, "high": interval.high,
        "lift": difference / before if before else math.nan, "test": "jackknife t", "p": p,
        "users": len(baseline.per_user), "users_dropped": 0, "dropped_because": "",
        "flags": [*flags, "of all lists together"], "_better": better,
    }  # fmt: skip


def verdict(row: Mapping[str, Any], alpha: float) -> str:
    """Return what a row shows: better, worse, different, equivalent or undecided.

    A significant difference is never hidden: within the margin it is better or worse all the same.
    """
    if not row["p_adjusted"] < alpha:
        return "equivalent" if row["p_equivalence_adjusted"] < alpha else "undecided"
    if row["_better"] is None:
        return "different"
    return "better" if (row["difference"] > 0) == row["_better"] else "worse"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `rankwise.compare`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per measure, group of users (null without ``by``) and pair: both means,
        ``difference`` (system minus baseline) with its
        confidence interval, relative ``lift`` with its interval (Fieller), test, p-value,
        ``p_adjusted``, ``verdict`` (better, worse, different, equivalent, undecided) with the
        ``error_rate`` that it controls, ``within_margin``, the interval of all pairs of the primary
        measure together (``low_together``, ``high_together``, by Bonferroni), with a margin
        ``p_non_inferior`` and the ``users_needed`` to show that nothing is lost, effect sizes
        d_z and Cliff's delta, wins, ties and losses, users compared, users left out and why, users
        whose values are not both 0, the minimum detectable difference (power 0.8), and flags.
    values : polars.DataFrame
        One row per value that any result has, one column per result. Where candidates were
        sampled, the column's name carries the label.
    settings : dict
        Baseline, primary measure, significance level, test, correction, margin, …; and
        ``not_compared``, which says of each measure that was left out why.
    results : mapping of str to Result
        The results that were compared; empty if the comparison was read from a file.
    """

    table: pl.DataFrame
    values: pl.DataFrame
    settings: dict[str, Any]
    results: Mapping[str, Result] = field(default_factory=dict)

    @classmethod
    def make(
        cls, results: Mapping[str, Result], rows: list[dict[str, Any]], settings: dict[str, Any]
    ) -> Comparison:
        """Return the comparison of results from its rows."""
        cells = dict.fromkeys(cell for result in results.values() for cell in result.values)
        columns: dict[str, list[str] | list[float | None]] = {"measure": list(cells)}
        for name, result in results.items():
            column = f"{name}, {result.label}" if result.label else name
            if column in columns:
                raise ParameterError("two columns would have one name", found=repr(column),
                                     hint="call the result something else")  # fmt: skip
            columns[column] = [result.values.get(cell) for cell in cells]
        settings = {**settings, "labels": {name: r.label for name, r in results.items()}}
        table = pl.DataFrame([[row[name] for name in _COLUMNS] for row in rows],
                             schema=_COLUMNS, orient="row")  # fmt: skip
        return cls(table, pl.DataFrame(columns, strict=False), settings, dict(results))

    @property
    def plot(self) -> ComparisonPlots:
        """Charts: ``comparison.plot.differences()``, ``.gains(…)``, ``.pareto(…)``, ``.curve(…)``.

        They need the extra ``plot`` (Altair).
        """
        return ComparisonPlots(self.table, self.settings["primary"], self.results)

    def __getitem__(self, key: str | tuple[str, ...]) -> dict[str, Any]:
        """Return one row: ``comparison["ndcg@10", "b"]``, or ``["b"]`` for the primary measure.

        ``["ndcg@10"]`` is enough for a single pair of systems; of a comparison of groups,
        ``["ndcg@10", "b", "women"]``.
        """
        names = key if isinstance(key, tuple) else (self.settings["primary"], key)
        if isinstance(key, str) and key not in self.table["system"]:
            names = (key,)
        columns = ("measure", "system", "group")
        rows = self.table.filter(
            *(pl.col(column) == name for column, name in zip(columns, names, strict=False))
        )
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
        return cls(*read_comparison(check_path("folder", folder), _COLUMNS))

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
        """Return everything as plain values, ready for JSON: NaN as None, infinity as text."""
        data: dict[str, Any] = finite({
            "settings": self.settings,
            "pairs": self.table.to_dicts(),
            "values": self.values.to_dicts(),
        })  # fmt: skip
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the comparison as text.

        Markdown and LaTeX are tables of systems by measures: the best in bold, the second
        underlined, marks for significance, and a caption that explains them.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON holds settings and values as well; LaTeX needs the package booktabs.
        """
        return export(
            format, self.to_dict,
            table=lambda: self.table.with_columns(pl.col("flags").list.join("; ")),
            views=lambda: [system_view(self.table, self.settings)],
        )  # fmt: skip

    def report(
        self, *, title: str | None = None, recommendations: Mapping[str, Any] | None = None,
        truth: Any = None, train: Any = None, items: Any = None, audit: Any = None,
    ) -> Report:  # fmt: skip
        """Return a page about this comparison; the parameters are those of `rankwise.report`."""
        given = {"truth": truth, "train": train, "items": items}
        return make_report(self.results, (self.table, self.settings), title=title,
                           runs=recommendations, given=given, audit=audit)  # fmt: skip

    def __repr__(self) -> str:
        return plain(pair_view(self.table, self.settings))

    def _repr_html_(self) -> str:
        return html(pair_view(self.table, self.settings))
