"""The gate of ``rankwise compare --no-regression``: whether systems hold against a baseline."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import coloured
from rankwise.comparison.comparison import Comparison
from rankwise.messages import printable
from rankwise.results.sampling_unit import SamplingUnit

_OUTCOMES = {"passed": "PASS", "failed": "FAIL", "not shown": "OPEN"}


def without_company(comparison: Comparison) -> Comparison:
    """Return a comparison without the record of systems that are saved in the same place.

    The systems of a gate do not compete with systems that are saved beside them.
    """
    return replace(comparison, design=replace(comparison.design, test_set={}))


def tell_gate(outcomes: list[tuple[str, str, str]], not_shown: str) -> int:
    """Print each system's outcome, and return exit code 0 (passed), 1 (failed) or 5 (not shown)."""
    for outcome, head, below in outcomes:
        line = printable(f"{outcome}  {head}")
        click.echo(click.style(line, bold=True) if coloured(sys.stderr) else line, err=True)
        click.echo(printable(f"      {below}"), err=True)

    words = {outcome for outcome, _, _ in outcomes}
    if "FAIL" in words:
        return 1
    return 5 if "OPEN" in words and not_shown == "fail" else 0


def interim_outcomes(comparison: Comparison, file: Path) -> list[tuple[str, str, str]]:
    """Return the outcome of each system in this look, valid at all looks, with its numbers."""
    from rankwise.comparison.looks import record_interim_analysis

    said = {
        "passed": "is not inferior to",
        "failed": "is worse than",
        "not shown": "is not shown to be non-inferior to",
    }
    return [
        (
            _OUTCOMES[look.outcome],
            f"{look.system} {said[look.outcome]} {look.baseline} on {look.metric}.",
            look.why,
        )
        for look in record_interim_analysis(comparison, file)
    ]


def gate_outcomes(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the outcome of each system against the baseline, as a sentence with its numbers."""
    from rankwise.core.terminal import brief
    from rankwise.findings.margins import margin_of, size_of

    outcomes, by, margin = [], comparison.design.by, comparison.design.margin
    unit = comparison.design.unit
    for row in comparison.table.filter("primary").iter_rows(named=True):
        up = comparison.design.directions.get(row["metric"])
        outcome, said, *why = _outcome(
            row, comparison.design.alpha, unit, has_direction=up is not None
        )
        group = "" if by is None else f" for {by} {row['group']}"
        means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
        sizes = f"{means}, {_size_text(row, outcome, comparison.design.alpha)}"
        allowed = size_of(margin_of(margin, row["metric"]), row["mean_baseline"])
        limit = (
            []
            if allowed is None
            else [f"allowed {_allowed(margin_of(margin, row['metric']), allowed)}"]
        )
        head = f"{row['system']} {said} {row['baseline']} on {row['metric']}{group}."
        outcomes.append(
            (
                _OUTCOMES[outcome],
                head,
                "; ".join([sizes, *limit, unit.counted_in(row), *why, *row["flags"]]),
            )
        )
    return outcomes


def _allowed(margin: float | str | None, size: float) -> str:
    """Return a margin as text; a share is followed by its size: ``1 % (0.000867)``."""
    from rankwise.core.terminal import brief
    from rankwise.findings.margins import margin_text

    return f"{margin_text(margin)} ({brief(size)})" if isinstance(margin, str) else brief(size)


def _size_text(row: dict[str, Any], outcome: str, alpha: float) -> str:
    """Return the difference and relative change, with intervals of the deciding test and level.

    A margin is tested one-sided at alpha, so that its interval has the level 1 − 2 alpha.
    """
    from rankwise.core.terminal import change, level_text, signed
    from rankwise.findings.words import interval_text, places

    of_word = outcome == "failed" or row["p_non_inferior"] != row["p_non_inferior"]
    of_word = of_word or (row["verdict"] == "better" and row["p_non_inferior"] >= alpha)
    prefix = "" if of_word else "margin_"
    shown = {**row, "low": row[f"{prefix}low"], "high": row[f"{prefix}high"]}
    level = level_text(row["confidence"] if of_word else 1 - 2 * alpha)
    limits = interval_text(shown, signed)
    size = f"{signed(row['difference'], places(row))} ({level} interval {limits})"
    ends = [row[f"{prefix}lift_low"], row[f"{prefix}lift_high"]]
    if limits == "–" or any(end is None or end != end for end in ends):
        return size
    return (
        f"{size}, {change(row['lift'])} ({change(ends[0], unit='')} to {change(ends[1], unit='')})"
    )


def _holds_for_any_users(row: dict[str, Any]) -> bool:
    """Return whether a difference bears what an unseen user could lose, where that is limited."""
    possible = row["loss_possible"]
    return bool(possible != possible or row["largest_loss"] >= max(possible, row["loss_seen"]))


def _outcome(
    row: dict[str, Any], alpha: float, unit: SamplingUnit, *, has_direction: bool = True
) -> tuple[str, ...]:
    """Return the outcome of a system, its words, and a reason or the number of users needed."""
    p = row["p_non_inferior"]
    if row["p"] != row["p"] or unit.users_in(row) < 2:
        return "not shown", "could not be tested against", "fewer than two users, or no variance"
    if row["verdict"] in ("different", "different if"):
        why = "the median of the differences is on the other side of 0 than their mean"
        return (
            "failed",
            "differs from",
            why if has_direction else "for this metric neither direction is better",
        )
    if row["verdict"] == "better" and (p != p or p < alpha) and _holds_for_any_users(row):
        return "passed", "is better than"
    if p == p and p < alpha:
        return "passed", "loses less than the margin against"
    if row["verdict"] == "worse":
        return "failed", "is worse than"
    if row["verdict"] in ("better if", "worse if"):
        from rankwise.findings.words import loss_text

        condition = unit.condition(loss_text(row["condition"]))
        word = row["verdict"].removesuffix(" if")
        return (
            "not shown",
            f"is not shown to be {word} for any {unit.rows} than",
            f"only if {condition}",
        )
    if p != p:
        return (
            "not shown",
            "is not shown to be better than",
            "pass --margin, the largest loss that does not matter",
        )
    needed = row["users_needed"]
    return (
        "not shown",
        "is not shown to lose less than the margin against",
        *(
            []
            if needed is None
            else [f"about {needed:,} users would show it if this is the true difference"]
        ),
    )
