"""What a comparison found: a row a pair and measure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankwise.errors import MeasureError, ParameterError
from rankwise.stats.bootstrap import usual_interval
from rankwise.stats.clusters import jackknife
from rankwise.stats.differences import never_zero
from rankwise.stats.effects import cliffs_delta, lift_interval
from rankwise.stats.paired import equivalence
from rankwise.stats.power import minimum_detectable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.aligned import Aligned
    from rankwise.result import Result
    from rankwise.stats.differences import Differences, TestResult

__all__ = ["Comparison", "jackknife_row", "make_row", "verdict"]

_COLUMNS: dict[str, Any] = {
    "measure": pl.String, "baseline": pl.String, "system": pl.String, "primary": pl.Boolean,
    "mean_baseline": pl.Float64, "mean_system": pl.Float64, "difference": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "lift": pl.Float64, "lift_low": pl.Float64,
    "lift_high": pl.Float64, "test": pl.String, "p": pl.Float64, "p_adjusted": pl.Float64,
    "verdict": pl.String, "d_z": pl.Float64, "cliffs_delta": pl.Float64, "wins": pl.Int64,
    "ties": pl.Int64, "losses": pl.Int64, "users": pl.Int64, "users_dropped": pl.Int64,
    "dropped_because": pl.String, "users_not_zero": pl.Int64,
    "minimum_detectable": pl.Float64, "p_equivalence": pl.Float64, "flags": pl.List(pl.String),
}  # fmt: skip


def make_row(
    cell: str,
    pair: tuple[str, str],
    own: Differences,
    tested: TestResult,
    aligned: Aligned,
    *,
    alpha: float,
    margin: float | None,
    better: bool | None,
    tests: int,
    seed: int,
) -> dict[str, Any]:
    """Describe one pair of a family of ``tests``: x of ``own`` is the system, y the baseline."""
    interval = usual_interval(own.x, own.y, confidence=1 - alpha, seed=seed)
    lift, lift_low, lift_high = lift_interval(own, confidence=1 - alpha)
    same = None if margin is None else equivalence(own.x, own.y, margin=margin, alpha=alpha)
    return {
        "measure": cell, "baseline": pair[0], "system": pair[1],
        "mean_baseline": _mean(own.y), "mean_system": _mean(own.x), "difference": own.mean,
        "low": interval.low, "high": interval.high,
        "lift": lift, "lift_low": lift_low, "lift_high": lift_high,
        "test": tested.test, "p": tested.p,
        "d_z": own.d_z,
        "cliffs_delta": cliffs_delta(own.x, own.y),
        "wins": own.wins, "ties": own.n - own.nonzero, "losses": own.losses,
        "users": own.n, "users_dropped": aligned.users - own.n, "dropped_because": aligned.reasons,
        "users_not_zero": int(((own.x != 0) | (own.y != 0)).sum()),
        "minimum_detectable": minimum_detectable(own.n, alpha=alpha / tests) * own.deviation,
        "p_equivalence": math.nan if same is None else same.p,
        "flags": list(tested.flags),
        "_better": better,
    }  # fmt: skip


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan


def jackknife_row(
    results: Mapping[str, Result], cell: str, pair: tuple[str, str], alpha: float,
    better: bool | None,
) -> dict[str, Any]:  # fmt: skip
    """Describe one pair of values that are no means of users, by their jackknife."""
    from scipy.stats import t

    base, system = results[pair[0]], results[pair[1]]
    assert base.replicates is not None
    assert system.replicates is not None
    if base.provenance.get("jackknife") != system.provenance.get("jackknife"):
        raise ParameterError(
            f"{cell} compares by the jackknife, over the same users in the same groups",
            found=f"{len(base.per_user)} users in {len(base.replicates)} groups, "
            f"{len(system.per_user)} in {len(system.replicates)}",
            hint="evaluate both on the same truth with the same jackknife=",
        )
    apart = system.values[cell] - base.values[cell]
    replicates = (system.replicates[cell] - base.replicates[cell]).to_numpy()
    found = jackknife(apart, replicates, confidence=1 - alpha)
    flags, p = list(found.flags), math.nan
    if found.n > 1:
        error = (found.high - found.low) / 2 / float(t.ppf(1 - alpha / 2, found.n - 1))
        if error > 0:
            p = never_zero(2 * t.sf(abs(apart) / error, found.n - 1))
        else:
            p = 1.0 if apart == 0 else math.nan
            flags.append("identical" if apart == 0 else "zero variance")
    nothing = math.nan
    return {
        "measure": cell, "baseline": pair[0], "system": pair[1],
        "mean_baseline": base.values[cell], "mean_system": system.values[cell],
        "difference": apart, "low": found.low, "high": found.high,
        "lift": apart / base.values[cell] if base.values[cell] else nothing,
        "lift_low": nothing, "lift_high": nothing, "test": "jackknife t", "p": p, "d_z": nothing,
        "cliffs_delta": nothing, "wins": None, "ties": None, "losses": None,
        "users": len(base.per_user), "users_dropped": 0, "dropped_because": "",
        "users_not_zero": None, "minimum_detectable": nothing, "p_equivalence": nothing,
        "flags": [*flags, "of all lists together"], "_better": better,
    }  # fmt: skip


def verdict(row: Mapping[str, Any], alpha: float) -> str:
    """Say what a row shows: better, worse, different, equivalent or undecided."""
    if row["p_equivalence"] < alpha:
        return "equivalent"
    if not row["p_adjusted"] < alpha:
        return "undecided"
    if row["_better"] is None:
        return "different"
    return "better" if (row["difference"] > 0) == row["_better"] else "worse"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `rankwise.compare` found.

    Attributes
    ----------
    table : polars.DataFrame
        A row a measure and pair: means, ``difference`` (system less baseline) with its interval,
        relative ``lift`` with its interval (Fieller), test, p, ``p_adjusted``, ``verdict`` (better,
        worse, different, equivalent, undecided), d_z, Cliff's delta, wins, ties and losses,
        users compared and left out and why, users whose values are not both 0, the smallest
        difference that so many users show with a power of 0.8, and flags.
    values : polars.DataFrame
        A row a value that any result has, a column a result. Where candidates were sampled, the
        column's name carries the label.
    settings : dict
        Baseline, primary measure, level, test, correction, margin, ….
    """

    table: pl.DataFrame
    values: pl.DataFrame
    settings: dict[str, Any]

    @classmethod
    def make(
        cls,
        results: Mapping[str, Result],
        rows: list[dict[str, Any]],
        settings: dict[str, Any],
    ) -> Comparison:
        """Put rows and values into tables."""
        cells = dict.fromkeys(cell for result in results.values() for cell in result.values)
        columns: dict[str, list[str] | list[float | None]] = {"measure": list(cells)}
        for name, result in results.items():
            shown = f"{name}, {result.label}" if result.label else name
            if shown in columns:
                raise ParameterError("two columns would have one name", found=repr(shown),
                                     hint="call the result something else")  # fmt: skip
            columns[shown] = [result.values.get(cell) for cell in cells]
        settings = {**settings, "labels": {name: own.label for name, own in results.items()}}
        table = pl.DataFrame([[row[name] for name in _COLUMNS] for row in rows],
                             schema=_COLUMNS, orient="row")  # fmt: skip
        return cls(table, pl.DataFrame(columns, strict=False), settings)

    def __getitem__(self, key: str | tuple[str, str]) -> dict[str, Any]:
        """Return one row: ``found["ndcg@10", "b"]``, or ``found["b"]`` for the primary measure."""
        measure, system = (self.settings["primary"], key) if isinstance(key, str) else key
        rows = self.table.filter(pl.col("measure") == measure, pl.col("system") == system)
        if len(rows) != 1:
            raise MeasureError(
                f"there is no single row of {measure} for {system}",
                found=f"{len(rows)} rows; measures {', '.join(self.table['measure'].unique())}",
                hint="filter the table: found.table",
            )
        return rows.row(0, named=True)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON; what is not a number becomes None."""
        rows = [
            {name: None if _no_number(value) else value for name, value in row.items()}
            for row in self.table.to_dicts()
        ]
        return {"settings": self.settings, "pairs": rows, "values": self.values.to_dicts()}

    def export(
        self,
        format: Literal["json", "csv", "markdown", "latex"],  # noqa: A002
    ) -> str:
        """Write the comparison as text.

        Markdown and LaTeX are tables of systems by measures: the best in bold, the second
        underlined, marks for significance, and a caption that explains them.
        """
        from rankwise.report import comparisons

        if format == "json":
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        writers = {"csv": comparisons.csv, "markdown": comparisons.markdown,
                   "latex": comparisons.latex}  # fmt: skip
        if format not in writers:
            raise ParameterError(
                "format must be one of json, csv, markdown, latex", found=f"format={format!r}"
            )
        return writers[format](self)

    def __repr__(self) -> str:
        from rankwise.report.comparisons import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from rankwise.report.comparisons import html

        return html(self)


def _no_number(value: object) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
