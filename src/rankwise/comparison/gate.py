"""The gate of a comparison: whether each system holds against a baseline, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rankwise.comparison.comparison import Comparison
from rankwise.comparison.looks import record_interim_analysis
from rankwise.core.terminal import brief, change, level_text, signed
from rankwise.findings.margins import margin_of, margin_text, size_of
from rankwise.findings.words import interval_text, loss_text, places
from rankwise.messages import Message, mention, printable
from rankwise.results.sampling_unit import SamplingUnit

GateWord: TypeAlias = Literal["PASS", "FAIL", "OPEN"]
NotShown: TypeAlias = Literal["fail", "pass"]
_WORDS: Mapping[str, GateWord] = {"passed": "PASS", "failed": "FAIL", "not shown": "OPEN"}
_SEVERITY: Sequence[GateWord] = ("FAIL", "OPEN", "PASS")


@dataclass(frozen=True)
class GateOutcome:
    """The outcome of one system at a gate, as a gate prints it.

    Attributes
    ----------
    word : {"PASS", "FAIL", "OPEN"}
        Whether the system holds, is worse, or too few users show either.
    system : str
        The system.
    sentence : str
        What is shown of system and baseline.
    numbers : str
        Both means, the difference with its interval, the margin, the users, and caveats.
    hint : str, default=""
        What to pass, where a margin would help.
    """

    word: GateWord
    system: str
    sentence: str
    numbers: str
    hint: str = ""

    @property
    def head(self) -> str:
        """The first line: the word and the sentence."""
        return printable(f"{self.word}  {self.sentence}")

    @property
    def reason(self) -> Message:
        """The second line: the numbers, and what to pass."""
        return Message(printable(Message("; ".join(filter(None, (self.numbers, self.hint))))))

    def __str__(self) -> str:
        return f"{self.head}\n      {self.reason}"


def gate_outcomes(comparison: Comparison) -> list[GateOutcome]:
    """Return the outcome of each system against the baseline, on the primary metric."""
    rows = comparison.table.filter("primary").iter_rows(named=True)
    return [_outcome_of(row, comparison) for row in rows]


def interim_gate_outcomes(comparison: Comparison, file: Path) -> list[GateOutcome]:
    """Return the outcome of each system in this look, valid at all looks, and record the look."""
    said = {
        "passed": "is not inferior to",
        "failed": "is worse than",
        "not shown": "is not shown to be non-inferior to",
    }
    return [
        GateOutcome(
            _WORDS[look.outcome],
            look.system,
            f"{look.system} {said[look.outcome]} {look.baseline} on {look.metric}.",
            look.why,
        )
        for look in record_interim_analysis(comparison, file)
    ]


def gravest_first(outcomes: Sequence[GateOutcome]) -> list[GateOutcome]:
    """Return outcomes with the failures first, then the open ones."""
    return sorted(outcomes, key=lambda outcome: _SEVERITY.index(outcome.word))


def holding_back(outcomes: Sequence[GateOutcome], not_shown: NotShown) -> list[GateOutcome]:
    """Return the outcomes that close a gate, the failures first.

    An open outcome closes it unless ``not_shown`` is ``"pass"``.
    """
    closing = ("FAIL", "OPEN") if not_shown == "fail" else ("FAIL",)
    return [outcome for outcome in gravest_first(outcomes) if outcome.word in closing]


def _outcome_of(row: dict[str, Any], comparison: Comparison) -> GateOutcome:
    """Return the outcome of one row of a comparison."""
    design = comparison.design
    up = design.directions.get(row["metric"])
    verdict = _verdict(row, design.alpha, design.unit, has_direction=up is not None)
    margin = margin_of(design.margin, row["metric"])
    allowed = size_of(margin, row["mean_baseline"])

    group = "" if design.by is None else f" for {design.by} {row['group']}"
    means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
    numbers = [
        f"{means}, {_size_text(row, verdict.outcome, design.alpha)}",
        "" if allowed is None else f"allowed {_margin_words(margin, allowed)}",
        design.unit.counted_in(row),
        verdict.why,
        *row["flags"],
    ]
    return GateOutcome(
        _WORDS[verdict.outcome],
        row["system"],
        f"{row['system']} {verdict.said} {row['baseline']} on {row['metric']}{group}.",
        "; ".join(filter(None, numbers)),
        verdict.hint,
    )


def _margin_words(margin: float | str | None, size: float) -> str:
    """Return a margin as text; a share is followed by its size: ``1 % (0.000867)``."""
    return f"{margin_text(margin)} ({brief(size)})" if isinstance(margin, str) else brief(size)


def _size_text(row: dict[str, Any], outcome: str, alpha: float) -> str:
    """Return the difference and relative change, with intervals of the deciding test and level.

    A margin is tested one-sided at alpha, so that its interval has the level 1 − 2 alpha.
    """
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


@dataclass(frozen=True)
class _Verdict:
    """What a row shows: its outcome, the words between system and baseline, the reason, a hint."""

    outcome: str
    said: str
    why: str = ""
    hint: str = ""


def _verdict(
    row: dict[str, Any], alpha: float, unit: SamplingUnit, *, has_direction: bool
) -> _Verdict:
    """Return the verdict of a row at a significance level."""
    p = row["p_non_inferior"]
    if row["p"] != row["p"] or unit.users_in(row) < 2:
        why = "fewer than two users, or no variance"
        return _Verdict("not shown", "could not be tested against", why)

    if row["verdict"] in ("different", "different if"):
        why = "the median of the differences is on the other side of 0 than their mean"
        why = why if has_direction else "for this metric neither direction is better"
        return _Verdict("failed", "differs from", why)

    is_within = p == p and p < alpha
    if row["verdict"] == "better" and (p != p or is_within) and _holds_for_any_users(row):
        return _Verdict("passed", "is better than")
    if is_within:
        return _Verdict("passed", "loses less than the margin against")
    if row["verdict"] == "worse":
        return _Verdict("failed", "is worse than")
    return _open_verdict(row, unit)


def _open_verdict(row: dict[str, Any], unit: SamplingUnit) -> _Verdict:
    """Return the open verdict of a row, with the missing evidence."""
    if row["verdict"] in ("better if", "worse if"):
        condition = unit.condition(loss_text(row["condition"]))
        word = row["verdict"].removesuffix(" if")
        said = f"is not shown to be {word} for any {unit.rows} than"
        return _Verdict("not shown", said, f"only if {condition}")

    if row["p_non_inferior"] != row["p_non_inferior"]:
        hint = f"pass {mention('margin')}, the largest loss that does not matter"
        return _Verdict("not shown", "is not shown to be better than", hint=hint)

    needed = row["users_needed"]
    why = (
        ""
        if needed is None
        else f"about {needed:,} users would show it if this is the true difference"
    )
    return _Verdict("not shown", "is not shown to lose less than the margin against", why)


def _holds_for_any_users(row: dict[str, Any]) -> bool:
    """Return whether a difference bears what an unseen user could lose, where that is limited."""
    possible = row["loss_possible"]
    return bool(possible != possible or row["largest_loss"] >= max(possible, row["loss_seen"]))
