"""What tests show, corrected for their number: one rule for all kinds of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankwise.core.arguments import Family
from rankwise.findings.finding import Finding, Limits, Means, TestOutcome, within_sign
from rankwise.stats.many_systems import adjust, level_left


@dataclass(frozen=True)
class Corrected:
    """The correction of one test: the adjusted p-value, and the level of the matching interval.

    ``family_wise`` says whether the correction controls the family-wise error rate over several
    tests.
    """

    p: float
    level: float
    p_equivalence: float
    equivalence_level: float
    error_rate: str
    family_wise: bool = False


def with_verdict(row: Finding, corrected: Corrected, alpha: float) -> Finding:
    """Return a row with its adjusted p-values, verdict, error rate and adjusted intervals."""
    p, p_equivalence = corrected.p, corrected.p_equivalence
    verdict = _verdict(row, p, p_equivalence, alpha)
    row = replace(
        row,
        test=replace(row.test, p_adjusted=p, error_rate=corrected.error_rate, verdict=verdict),
        equivalence=replace(
            row.equivalence,
            p_equivalence_adjusted=p_equivalence,
            within_margin=p_equivalence < alpha,
        ),
        flags=(
            *row.flags,
            *_unbounded_flags(row.test, verdict, alpha),
            *_opposite_flags(row, p, alpha),
        ),
    )
    return replace(row, means=_decided(row, corrected, verdict, shown=p < alpha))


def _decided(row: Finding, corrected: Corrected, verdict: str, *, shown: bool) -> Means:
    """Return the means of a row with the intervals of the test and the level of its verdict."""
    means = row.means
    if row.limits_of is None:
        return means
    confidence = 1 - corrected.level
    if row.joint is not None:
        confidence, limits = row.joint_confidence, row.joint
    else:
        limits = row.limits_of(confidence)
    limits = within_sign(limits, means.difference, shown=shown)
    together = Limits(means.low_together, means.high_together)
    together = (
        within_sign(together, means.difference, shown=shown) if corrected.family_wise else limits
    )
    if row.joint is not None or math.isnan(means.low_together):
        together = limits
    if verdict == "equivalent" and row.margin_limits_of is not None:
        confidence = 1 - 2 * corrected.equivalence_level
        limits = row.margin_limits_of(confidence)
    return replace(
        means,
        low=limits.low,
        high=limits.high,
        confidence=confidence,
        low_together=together.low,
        high_together=together.high,
        lift_low=limits.lift_low,
        lift_high=limits.lift_high,
    )


def _verdict(row: Finding, p: float, p_equivalence: float, alpha: float) -> str:
    """Return the verdict of a row: better, worse, different, equivalent or not shown.

    A significant difference is never hidden: within the margin it is still better or worse. Where
    the median is on the other side of 0 than the mean, neither system is called better.
    """
    if not p < alpha:
        return "equivalent" if p_equivalence < alpha else "not shown"
    if row.better is None or _is_opposite(row):
        return "different"
    return "better" if (row.means.difference > 0) == row.better else "worse"


def _is_opposite(row: Finding) -> bool:
    """Return whether a test of the median and the mean difference disagree in sign."""
    return not math.isnan(row.side) and not row.side * row.means.difference > 0


def _opposite_flags(row: Finding, p: float, alpha: float) -> tuple[str, ...]:
    if not p < alpha or not _is_opposite(row):
        return ()
    return (f"{row.test.test}: most differences are on the other side of 0 than their mean",)


def _unbounded_flags(test: TestOutcome, verdict: str, alpha: float) -> tuple[str, ...]:
    """Return the caveat of a significant difference that the range of the metric does not carry."""
    if verdict not in ("better", "worse", "different") or not test.p_bound >= alpha:
        return ()
    return (
        (
            f"{verdict} by {test.test} alone: a rare large difference that was not drawn is not "
            "excluded"
        ),
    )


_RATES = {"none": "per comparison", "bh": "false discovery rate", "by": "false discovery rate"}


_RATES |= dict.fromkeys(("bonferroni", "holm", "hochberg"), "family-wise")


def correct_rows(
    rows: Sequence[Finding],
    correction: Family,
    alpha: float,
    *,
    joint: bool = False,
    earlier: Sequence[int] = (0, 0),
) -> list[Finding]:
    """Adjust the p-values, verdicts and intervals of rows for multiple comparisons.

    Of the primary metric they are corrected over pairs and groups, of all others together. Holm
    stands in for tests of all pairs together where there are no per-user values. ``earlier`` tests
    of the primary metric, and of the others, count as tests that were not significant.
    """
    corrected: dict[int, Finding] = {}
    for primary, before in zip((True, False), earlier, strict=True):
        places = [at for at, row in enumerate(rows) if row.primary is primary]
        family = [rows[at] for at in places]
        method: Any = ("holm" if correction in JOINT else correction) if primary else "bh"
        adjusted, level = _adjusted([row.test.p for row in family], method, before, alpha)
        if primary and joint:  # adjusted for these pairs already
            more = 1 + before / max(len(family), 1)
            adjusted = [min(row.test.p_adjusted * more, 1.0) for row in family]
        of_margins = [row.equivalence.p_equivalence for row in family]
        equivalent, margin_level = _adjusted(of_margins, method, before, alpha)
        together = primary and (joint or _RATES[method] == "family-wise")
        for at, row, p, p_equivalence in zip(places, family, adjusted, equivalent, strict=True):
            made = Corrected(p, level, p_equivalence, margin_level, _RATES[method], together)
            corrected[at] = with_verdict(row, made, alpha)
    return [corrected[at] for at in range(len(rows))]


def _adjusted(p: list[float], method: Any, earlier: int, alpha: float) -> tuple[list[float], float]:
    """Return p-values adjusted together with non-significant earlier tests, and the level left."""
    if not p:
        return [], alpha
    together = [*p, *[1.0] * earlier]
    adjusted: list[float] = adjust(together, method)[: len(p)].tolist()
    return adjusted, level_left(together, method, alpha)


JOINT = ("max_t", "tukey")
"""The corrections that test all pairs together, from their users' values."""
