"""What tests show, corrected for their number: one rule for all kinds of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rankwise.findings.finding import (
    Finding,
    Limits,
    MarginTests,
    Means,
    UnseenLosses,
    within_sign,
)
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

    def level_of_rest(self, adjusted: Sequence[float]) -> float:
        r"""Return the level of each test that is not significant, given those that are.

        It is for claims about these tests that are made besides, each under a condition of its own.
        With m tests, of which r are significant: :math:`\alpha / (m - r)` after Holm or Hochberg,
        :math:`\alpha / m` after Bonferroni, :math:`(r + 1) \alpha / m` after Benjamini and
        Hochberg.
        """
        known = [p for p in adjusted if not math.isnan(p)]
        m, shown = len(known) + self.earlier, sum(p < self.alpha for p in known)
        if self.method in ("holm", "hochberg"):
            return self.alpha / max(m - shown, 1)
        if self.method == "bonferroni":
            return self.alpha / max(m, 1)
        if self.method == "none":
            return self.alpha
        share = 1.0 if self.method == "bh" else sum(1 / k for k in range(1, m + 1))
        return self.alpha * min(shown + 1, m) / max(m, 1) / max(share, 1.0)

    def adjust_joint(self, p: Sequence[float]) -> list[float]:
        """Return joint p-values with the earlier tests."""
        more = 1 + self.earlier / max(len(p), 1)
        return [min(value * more, 1.0) for value in p]


@dataclass(frozen=True)
class _Adjusted:
    """The adjusted p-values of one finding, and the levels of the intervals that match them."""

    difference: float
    level: float
    design: float
    level_of_rest: float
    equivalence: float
    equivalence_design: float
    equivalence_level_of_rest: float
    equivalence_level: float
    not_worse: float
    not_worse_level: float


def conclude(findings: Sequence[_F], family: Family) -> list[_F]:
    """Return the findings of one family with adjusted p-values, verdicts and their intervals."""
    differences, level = family.adjust([_p_for_any_users(finding) for finding in findings])
    designs, design_level = family.adjust([finding.test.p_design for finding in findings])
    if family.is_joint:
        differences = family.adjust_joint([finding.test.p_adjusted for finding in findings])
        designs = family.adjust_joint([finding.test.p_design_adjusted for finding in findings])
    level_of_rest = family.level_of_rest(differences)
    margins = [finding.margin for finding in findings]
    equivalence, equivalence_level = family.adjust([tests.p_equivalence for tests in margins])
    by_design, _ = family.adjust([tests.p_design for tests in margins])
    margin_level_of_rest = family.level_of_rest(equivalence)
    not_worse, not_worse_level = [math.nan] * len(findings), family.alpha
    if family.margin_is_one_sided:
        not_worse, not_worse_level = family.adjust([tests.p_non_inferior for tests in margins])
    return [
        _conclude(
            finding,
            _Adjusted(
                difference=design if finding.is_conditional else p,
                level=design_level if finding.is_conditional else level,
                design=design,
                level_of_rest=level_of_rest,
                equivalence=same,
                equivalence_design=same_by_design,
                equivalence_level_of_rest=margin_level_of_rest,
                equivalence_level=equivalence_level,
                not_worse=other,
                not_worse_level=not_worse_level,
            ),
            family,
        )
        for finding, p, design, same, same_by_design, other in zip(
            findings, differences, designs, equivalence, by_design, not_worse, strict=True
        )
    ]


def _p_for_any_users(finding: Finding) -> float:
    """Return the p-value of the verdict without a condition; 1 where no such verdict is possible."""
    return 1.0 if finding.is_conditional else finding.test.p


def _conclude(finding: _F, adjusted: _Adjusted, family: Family) -> _F:
    unseen = _unseen(finding, adjusted, family.alpha)
    verdict = _verdict(finding, adjusted, unseen, family.alpha)
    why = finding.why
    if verdict == "not checked" and not why:
        why = NO_TEST
    return replace(
        finding,
        means=_means(finding, verdict, adjusted, family),
        test=replace(
            finding.test,
            p_adjusted=adjusted.difference,
            p_design_adjusted=adjusted.design,
            error_rate=family.error_rate,
            verdict=verdict,
        ),
        unseen=unseen,
        margin=_margin_tests(finding.margin, adjusted, family.alpha),
        why=why,
        flags=(
            *finding.flags,
            *_unbounded_flags(finding, unseen, verdict),
            *_opposite_flags(finding, shown=adjusted.difference < family.alpha),
        ),
    )


def _margin_tests(tests: MarginTests, adjusted: _Adjusted, alpha: float) -> MarginTests:
    is_known = not math.isnan(adjusted.equivalence)
    return replace(
        tests,
        p_equivalence_adjusted=adjusted.equivalence,
        p_non_inferior_adjusted=adjusted.not_worse,
        within_margin=adjusted.equivalence < alpha if is_known else None,
    )


def _unseen(finding: Finding, adjusted: _Adjusted, alpha: float) -> UnseenLosses:
    """Return the largest loss at the level of the verdict, and the condition if it has one."""
    unseen = finding.unseen
    if finding.largest_loss_of is None:
        return unseen
    shown = adjusted.difference < alpha and not finding.is_conditional
    level = adjusted.level if shown else adjusted.level_of_rest
    if finding.joint_level < 1:
        level = finding.joint_level
    largest_loss = finding.largest_loss_of(level / 2)
    unseen = replace(unseen, largest_loss=largest_loss)
    if shown:
        return unseen
    conditional = condition_of(finding, adjusted.design, level, alpha)
    if conditional is None:
        return replace(unseen, **_condition_of_equivalence(finding, adjusted, alpha))
    return conditional


def _condition_of_equivalence(
    finding: Finding, adjusted: _Adjusted, alpha: float
) -> dict[str, Any]:
    """Return the condition under which a difference is within the margin; nothing if it is not."""
    tests, unseen = finding.margin, finding.unseen
    if tests.largest_loss_of is None or adjusted.equivalence < alpha:
        return {}
    if not adjusted.equivalence_design < alpha:
        return {}
    largest_change = tests.largest_loss_of(adjusted.equivalence_level_of_rest)
    if not largest_change >= max(finding.least_condition, unseen.gain_seen):
        return {}
    return {"condition": largest_change, "is_of_margin": True}


def condition_of(
    finding: Finding, p_design: float, level: float, alpha: float
) -> UnseenLosses | None:
    """Return the condition under which a difference is shown; None if it is not shown so.

    The test of the design has to show it (``p_design``, corrected), and the largest loss of an
    unseen user at the level has to be as large as what was seen, and a fifth of what is possible.
    """
    if finding.largest_loss_of is None or not p_design < alpha:
        return None
    largest_loss = finding.largest_loss_of(level / 2)
    if not largest_loss >= finding.least_condition:
        return None
    low, high = None, None
    if finding.users_for_any_of is not None:
        low, high = finding.users_for_any_of(level / 2)
    return replace(
        finding.unseen,
        largest_loss=largest_loss,
        condition=largest_loss,
        users_for_any_low=low,
        users_for_any_high=high,
    )


def _verdict(finding: Finding, adjusted: _Adjusted, unseen: UnseenLosses, alpha: float) -> str:
    """Return the word of a finding.

    A significant difference is never hidden: within the margin it is still better or worse. Where
    the median is on the other side of 0 than the mean, neither system is called better.
    """
    if finding.why:
        return "not checked"
    if not math.isnan(unseen.condition):
        if unseen.is_of_margin:
            return "equivalent if"
        if finding.higher_is_better is None:
            return "different if"
        return "better if" if finding.is_gain else "worse if"
    if adjusted.difference < alpha and not finding.is_conditional:
        if finding.higher_is_better is None or finding.is_opposed:
            return "different"
        return "better" if finding.is_gain else "worse"
    if adjusted.equivalence < alpha:
        return "equivalent"
    if adjusted.not_worse < alpha:
        return "not worse"
    return "not checked" if math.isnan(adjusted.difference) else "not shown"


def _means(finding: Finding, verdict: str, adjusted: _Adjusted, family: Family) -> Means:
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
    }.get(verdict)
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


def _unbounded_flags(finding: Finding, unseen: UnseenLosses, verdict: str) -> tuple[str, ...]:
    """Return the caveat of a verdict by a test that the range of the metric does not carry."""
    if verdict not in ("better", "worse", "different") or finding.largest_loss_of is None:
        return ()
    if unseen.largest_loss >= max(unseen.loss_possible, unseen.loss_seen):
        return ()
    caveat = "a rare large difference that was not drawn is not excluded"
    return (f"{verdict} by {finding.test.test} alone: {caveat}",)
