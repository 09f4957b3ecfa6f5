"""A decision: its outcome, its checks, and a record with a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.view import Cell, Marked, TableView, html, number, plain
from rankwise.results.display.p_values import p_value
from rankwise.tables.atomic_files import output_errors, write_text

__all__ = ["CHECKS", "Decision", "Outcome"]

Outcome: TypeAlias = Literal["ship", "hold", "stop"]
_CODES: Mapping[Outcome, int] = {"ship": 0, "stop": 1, "hold": 5}  # 2 is wrong usage
CHECKS: dict[str, Any] = {
    "role": pl.String,
    "measure": pl.String,
    "by": pl.String,
    "group": pl.String,
    "users": pl.Int64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "margin": pl.Float64,
    "p": pl.Float64,
    "outcome": pl.String,
    "shown": pl.String,
    "users_needed": pl.Int64,
}


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """The result of `rankwise.decide`: ship, hold or stop, with every check behind it.

    Attributes
    ----------
    outcome : {"ship", "hold", "stop"}
        Ship: a success metric is better, and every guardrail holds. Stop: a metric is worse.
        Hold: neither is shown.
    reasons : list of str
        The reasons, one sentence each.
    checks : polars.DataFrame
        One row per check: its ``role`` (success, guardrail, deterioration), metric, slice, users,
        difference with its interval, margin, the p-value that decides, ``outcome`` (passed,
        failed, not shown), what that p-value has ``shown`` (better, within margin, worse; null if
        nothing), and for guardrails the number of users needed.
    small_slices : list of str
        Slices with too few users to be checked.
    record : dict
        The rule, the inputs with their hashes, the checks and the outcome, as plain values.
    """

    outcome: Outcome
    reasons: list[str]
    checks: pl.DataFrame
    small_slices: list[str]
    record: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """The exit code of ``rankwise decide``: ship 0, stop 1, hold 5 (2 is wrong usage)."""
        return _CODES[self.outcome]

    @cached_property
    def text(self) -> str:
        """The record as canonical JSON: sorted keys, no whitespace, with a digest of the rest."""
        digest = hashlib.sha256(_canonical(self.record).encode()).hexdigest()
        return _canonical({**self.record, "sha256": digest}) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the record as canonical JSON.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        file = check_path("path", path)
        with output_errors(file):
            write_text(file, self.text)
        return file

    @property
    def view(self) -> TableView:
        """The checks as a table."""
        head = ["check", "slice", "users", "difference", "interval", "margin", "p", "outcome"]
        rows: list[list[Cell]] = [
            [
                f"{row['role']}: {row['measure']}",
                _slice(row),
                f"{row['users']:,}",
                f"{row['difference']:+.4f}" if row["users"] else "–",
                f"{number(row['low'])} to {number(row['high'])}",
                number(row["margin"]),
                p_value(row["p"]),
                Marked(_outcome(row), "bold" if row["outcome"] == "failed" else ""),
            ]
            for row in self.checks.iter_rows(named=True)
        ]
        notes, rule = [*self.reasons], self.record["rule"]
        if self.small_slices:
            notes.append(f"too small to be checked: {', '.join(self.small_slices)}")
        return TableView(
            head,
            rows,
            notes,
            caption=f"Decision: {self.outcome}. {rule['system']} in place of {rule['baseline']}.",
            left=(0, 1, 7),
        )

    def __repr__(self) -> str:
        return plain(self.view)

    def _repr_html_(self) -> str:
        return html(self.view)


def _outcome(row: Mapping[str, Any]) -> str:
    """Return the outcome of a check, with what its p-value has shown."""
    return row["outcome"] if row["shown"] is None else f"{row['outcome']}: {row['shown']}"


def _slice(row: Mapping[str, Any]) -> str:
    if row["by"] is None:
        return "all users"
    return f"{row['by']}={'–' if row['group'] is None else row['group']}"


def _canonical(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
