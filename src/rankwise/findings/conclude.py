"""What tests show, corrected for their number: one rule for all kinds of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rankwise.findings.finding import Finding, Limits, MarginTests, Means, TestOutcome, within_sign
from rankwise.stats.many_systems import Correction, adjust, level_left

NO_TEST = "no test"
"""Why nothing was concluded, where no p-value could be computed."""
_RATES = {
    "none": "per comparison",
    "bonferroni": "family-wise",
    "holm": "family-wise",
    "hochberg": "family-wise",
    "bh": "false discovery rate",
    "by": "false discovery rate",
}
_F = TypeVar("_F", bound=Finding)


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the findings of a family are corrected together.

    Attributes
    ----------
    method : str
        The correction of p-values.
    alpha : float
        The significance level.
    earlier : int, default=0
        Earlier tests that count among them, none of which was significant.
    is_joint : bool, default=False
        Whether p-values are adjusted already, by one test of all findings together.
    margin_is_one_sided : bool, default=False
        Whether a difference that loses less than the margin has a verdict, ``"not worse"``, and not
        only one that is smaller than the margin on both sides, ``"equivalent"``.
    """

    method: Correction
    alpha: float
    earlier: int = 0
    is_joint: bool = False
    margin_is_one_sided: bool = False

    @property
    def error_rate(self) -> str:
        """The error rate that the correction controls."""
        return _RATES[self.method]

    @property
    def is_family_wise(self) -> bool:
        """Whether all claims of the family hold together."""
        return self.is_joint or self.error_rate == "family-wise"

    def adjust(self, p: Sequence[float]) -> tuple[list[float], float]:
        """Return p-values adjusted with the earlier tests, and the level left to each test."""
        if not p:
            return [], self.alpha
        together = [*p, *[1.0] * self.earlier]
        adjusted: list[float] = adjust(together, self.method)[: len(p)].tolist()
        return adjusted, level_left(together, self.method, self.alpha)

    def adjust_joint(self, p: Sequence[float]) -> list[float]:
        """Return joint p-values with the earlier tests."""
        more = 1 + self.earlier / max(len(p), 1)
        return [min(value * more, 1.0) for value in p]


@dataclass(frozen=True)
class _Adjusted:
    """The adjusted p-values of one finding, and the levels of the intervals that match them."""

    difference: float
    level: float
    equivalence: float
    equivalence_level: float
    not_worse: float
    not_worse_level: float


def conclude(findings: Sequence[_F], family: Family) -> list[_F]:
    """Return the findings of one family with adjusted p-values, verdicts and their intervals."""
    differences, level = family.adjust([finding.test.p for finding in findings])
    if family.is_joint:
        differences = family.adjust_joint([finding.test.p_adjusted for finding in findings])
    margins = [finding.margin for finding in findings]
    equivalence, equivalence_level = family.adjust([tests.p_equivalence for tests in margins])
    not_worse, not_worse_level = [math.nan] * len(findings), family.alpha
    if family.margin_is_one_sided:
        not_worse, not_worse_level = family.adjust([tests.p_non_inferior for tests in margins])
    return [
        _conclude(
            finding, _Adjusted(p, level, same, equivalence_level, other, not_worse_level), family
        )
        for finding, p, same, other in zip(
            findings, differences, equivalence, not_worse, strict=True
        )
    ]


def _conclude(finding: _F, adjusted: _Adjusted, family: Family) -> _F:
    verdict = _verdict(finding, adjusted, family.alpha)
    why = finding.why
    if verdict == "not checked" and not why:
        why = NO_TEST
    concluded = replace(
        finding,
        test=replace(
            finding.test,
            p_adjusted=adjusted.difference,
            error_rate=family.error_rate,
            verdict=verdict,
        ),
        margin=_margin_tests(finding.margin, adjusted, family.alpha),
        why=why,
        flags=(
            *finding.flags,
            *_unbounded_flags(finding.test, verdict, family.alpha),
            *_opposite_flags(finding, shown=adjusted.difference < family.alpha),
        ),
    )
    return replace(concluded, means=_means(concluded, adjusted, family))


def _margin_tests(tests: MarginTests, adjusted: _Adjusted, alpha: float) -> MarginTests:
    is_known = not math.isnan(adjusted.equivalence)
    return replace(
        tests,
        p_equivalence_adjusted=adjusted.equivalence,
        p_non_inferior_adjusted=adjusted.not_worse,
        within_margin=adjusted.equivalence < alpha if is_known else None,
    )


def _verdict(finding: Finding, adjusted: _Adjusted, alpha: float) -> str:
    """Return the word of a finding.

    A significant difference is never hidden: within the margin it is still better or worse. Where
    the median is on the other side of 0 than the mean, neither system is called better.
    """
    if finding.why:
        return "not checked"
    if adjusted.difference < alpha:
        if finding.higher_is_better is None or finding.is_opposed:
            return "different"
        return "better" if finding.is_gain else "worse"
    if adjusted.equivalence < alpha:
        return "equivalent"
    if adjusted.not_worse < alpha:
        return "not worse"
    return "not checked" if math.isnan(adjusted.difference) else "not shown"


def _means(finding: Finding, adjusted: _Adjusted, family: Family) -> Means:
    """Return the means with the intervals of the test and the level of the verdict."""
    means = finding.means
    if finding.limits_of is None:
        return means
    if finding.joint is None:
        confidence, limits = 1 - adjusted.level, finding.limits_of(adjusted.level)
    else:
        confidence, limits = finding.joint_confidence, finding.joint
    shown = adjusted.difference < family.alpha
    limits = within_sign(limits, means.difference, shown=shown)

    together = limits
    if family.is_family_wise and finding.joint is None and not math.isnan(means.low_together):
        of_all = Limits(means.low_together, means.high_together)
        together = within_sign(of_all, means.difference, shown=shown)

    margin_level = {
        "equivalent": adjusted.equivalence_level,
        "not worse": adjusted.not_worse_level,
    }.get(finding.test.verdict or "")
    if margin_level is not None and finding.margin_limits_of is not None:
        confidence = 1 - 2 * margin_level
        limits = finding.margin_limits_of(2 * margin_level)
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


def _opposite_flags(finding: Finding, *, shown: bool) -> tuple[str, ...]:
    if not shown or not finding.is_opposed:
        return ()
    return (f"{finding.test.test}: most differences are on the other side of 0 than their mean",)


def _unbounded_flags(test: TestOutcome, verdict: str, alpha: float) -> tuple[str, ...]:
    """Return the caveat of a significant difference that the range of the metric does not carry."""
    if verdict not in ("better", "worse", "different") or not test.p_bound >= alpha:
        return ()
    caveat = "a rare large difference that was not drawn is not excluded"
    return (f"{verdict} by {test.test} alone: {caveat}",)
