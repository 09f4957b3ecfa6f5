"""The checks of a decision: success, guardrails, and that nothing gets worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankwise.comparison.decision import Check
from rankwise.comparison.evidence import EvidenceRow
from rankwise.comparison.rule import Rule
from rankwise.findings.conclude import Family, condition_of
from rankwise.findings.finding import Finding, Limits, MarginTests, UnseenLosses, within_sign
from rankwise.findings.margins import size_of
from rankwise.findings.words import OPEN_VERDICTS
from rankwise.stats.equivalence import users_to_show


@dataclass(frozen=True, kw_only=True)
class _Deciding:
    """The test that decides a check: its p-value, and the limits that agree with it."""

    p: float
    p_name: str
    limits: Limits
    confidence: float


def check_success(rows: Sequence[EvidenceRow], rule: Rule) -> list[Check]:
    """Return the checks of success over all users, corrected for the number of metrics.

    A p-value holds for any users, or for all as stated; the interval is of the same test. A metric
    that is better under a condition alone is not shown to be.
    """
    chosen = [row for row in rows if row.by is None and row.metric in rule.success]
    adjusted, level = _correct([_p_for_any_users(row.finding) for row in chosen], rule)
    conditions = _conditions(chosen, adjusted, rule)
    checks = []
    for row, p, condition in zip(chosen, adjusted, conditions, strict=True):
        by_bound = row.finding.p_any > row.finding.test.p
        limits = _limits(row.finding, level, rule.alpha, shown=p < rule.alpha, by_bound=by_bound)
        deciding = _Deciding(p=p, p_name=_p_name(chosen, rule), limits=limits, confidence=1 - level)
        # Where the median is on the other side of 0 than the mean, neither system is better.
        is_different = p < rule.alpha
        is_better = is_different and row.finding.is_gain and not row.finding.is_opposed
        outcome, shown = ("passed", "better") if is_better else ("not shown", None)
        if is_different and row.finding.is_opposed:
            shown = "different"
        elif not is_better and condition is not None and row.finding.is_gain:
            shown = "better if"
        check = _check(row, "success", outcome, deciding, shown=shown)
        checks.append(_under(check, condition) if shown == "better if" else check)
    return checks


def _p_for_any_users(finding: Finding) -> float:
    """Return the p-value of a difference for any users; 1 where a metric has no bound."""
    if finding.is_conditional:
        return 1.0
    return finding.test.p if math.isnan(finding.p_any) else max(finding.test.p, finding.p_any)


def _conditions(
    rows: Sequence[EvidenceRow], adjusted: Sequence[float], rule: Rule
) -> list[UnseenLosses | None]:
    """Return the condition of each difference that is shown under one alone."""
    designs, _ = _correct([row.p(row.finding.test.p_design) for row in rows], rule)
    family = Family(method="holm", alpha=rule.alpha, earlier=rule.earlier * len(rows))
    level = family.level_of_rest(adjusted)
    return [
        condition_of(row.finding, design, level, rule.alpha)
        if not p < rule.alpha and row.has_values
        else None
        for row, p, design in zip(rows, adjusted, designs, strict=True)
    ]


def _under(check: Check, unseen: UnseenLosses | None) -> Check:
    """Return a check with the condition under which its difference is shown."""
    assert unseen is not None
    return replace(
        check,
        condition=unseen.condition,
        users_for_any_low=unseen.users_for_any_low,
        users_for_any_high=unseen.users_for_any_high,
    )


def check_guardrails(rows: Sequence[EvidenceRow], rule: Rule) -> list[Check]:
    """Return the checks of guardrails, over all users and in slices."""
    checks = []
    for row in rows:
        if row.metric not in rule.guardrails:
            continue
        tests = row.finding.margin
        holds = row.p(tests.p_non_inferior) < rule.alpha
        deciding = _Deciding(
            p=row.p(tests.p_non_inferior),
            p_name="one-sided",
            limits=Limits(
                tests.margin_low, tests.margin_high, tests.margin_lift_low, tests.margin_lift_high
            ),
            confidence=1 - 2 * rule.alpha,
        )
        checks.append(
            _check(
                row,
                "guardrail",
                "passed" if holds else "not shown",
                deciding,
                shown="not worse" if holds else None,
                margin=size_of(rule.guardrails[row.metric], row.finding.means.mean_baseline),
                users_needed=None if holds else _needed(tests, rule),
            )
        )
    return checks


def check_deterioration(
    rows: Sequence[EvidenceRow], rule: Rule, checks: Sequence[Check]
) -> list[Check]:
    """Return the checks that nothing is significantly worse, anywhere; corrected together.

    A loss that its guardrail, one of ``checks``, is shown to allow is no failure.
    """
    harmless = {
        (check.metric, check.by, check.group)
        for check in checks
        if check.role == "guardrail" and check.outcome == "passed"
    }
    adjusted, level = _correct([row.p(_p_for_any_users(row.finding)) for row in rows], rule)
    conditions = _conditions(rows, adjusted, rule)
    found = []
    for row, p, condition in zip(rows, adjusted, conditions, strict=True):
        is_allowed = (row.metric, row.by, row.group) in harmless
        shown = _shown_loss(row.finding, p, None if is_allowed else condition, rule)
        if (shown is None or is_allowed) and row.metric not in rule.deterioration:
            continue

        outcome = "not shown"
        if shown == "worse":
            outcome = "passed" if is_allowed else "failed"
        elif shown is None and not math.isnan(p) and row.users > 1:
            outcome = "no loss shown"
        deciding = _Deciding(
            p=p,
            p_name=_p_name(rows, rule),
            limits=_limits(row.finding, level, rule.alpha, shown=p < rule.alpha),
            confidence=1 - level,
        )
        check = _check(row, "deterioration", outcome, deciding, shown=shown)
        found.append(_under(check, condition) if shown == "worse if" else check)
    return found


def _shown_loss(
    finding: Finding, p: float, condition: UnseenLosses | None, rule: Rule
) -> str | None:
    """Return whether a loss is shown: for any users, under a condition, or not at all."""
    if finding.is_gain or finding.is_opposed:
        return None
    if p < rule.alpha:
        return "worse"
    return None if condition is None else "worse if"


def open_checks(checks: Sequence[Check]) -> list[Check]:
    """Return the checks besides success that show neither outcome."""
    return [check for check in checks if check.role != "success" and check.outcome in OPEN_VERDICTS]


def _check(
    row: EvidenceRow,
    role: str,
    outcome: str,
    deciding: _Deciding,
    *,
    shown: str | None,
    margin: float | None = None,
    users_needed: int | None = None,
) -> Check:
    """Return the check of a finding, with the limits of the deciding test and level."""
    finding, means = row.finding, row.finding.means
    if outcome == "not shown" and not row.has_values:
        outcome = "not checked"
    return Check(
        role=role,
        metric=finding.metric,
        by=finding.by,
        group=finding.group,
        users=row.users,
        mean_baseline=means.mean_baseline,
        mean_system=means.mean_system,
        difference=means.difference,
        low=deciding.limits.low,
        high=deciding.limits.high,
        confidence=deciding.confidence,
        change=means.difference / abs(means.mean_baseline) if means.mean_baseline else math.nan,
        change_low=deciding.limits.lift_low,
        change_high=deciding.limits.lift_high,
        margin=margin,
        p=deciding.p,
        p_name=deciding.p_name,
        outcome=outcome,
        shown=shown,
        users_needed=users_needed,
        flags=(row.why, *finding.flags) if row.why else finding.flags,
    )


def _correct(p: Sequence[float], rule: Rule) -> tuple[list[float], float]:
    """Return Holm-adjusted p-values (with earlier tests), and the level left to each."""
    return Family(method="holm", alpha=rule.alpha, earlier=rule.earlier * len(p)).adjust(p)


def _p_name(rows: Sequence[EvidenceRow], rule: Rule) -> str:
    """Return the label of a family's p-values: ``Holm``, or empty text for a single test."""
    return "Holm" if len(rows) * (1 + rule.earlier) > 1 else ""


def _limits(
    finding: Finding, level: float, alpha: float, *, shown: bool, by_bound: bool = False
) -> Limits:
    """Return the limits of a finding at the deciding level, by the bound if that test decides.

    Of a log, only the limits at the level of its estimate are known.
    """
    limits_of = finding.margin_limits_of if by_bound else finding.limits_of
    if limits_of is not None:
        return within_sign(limits_of(level), finding.means.difference, shown=shown)
    is_known = math.isclose(level, alpha)
    return Limits(finding.means.low_alone, finding.means.high_alone) if is_known else Limits()


def _needed(tests: MarginTests, rule: Rule) -> int | None:
    """Return the users that show a guardrail, with a power shared among all guardrails."""
    if tests.users_needed is None:
        return None
    power = 1 - 0.2 / len(rule.guardrails)
    shared, alone = (users_to_show(1.0, 1e3, rule.alpha, power=each) or 0 for each in (power, 0.8))
    return math.ceil(int(tests.users_needed) * shared / alone)
