"""The reasons of a decision, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.comparison.checks import open_checks
from rankwise.comparison.claims import stated_condition
from rankwise.comparison.decision import Check, Outcome
from rankwise.comparison.rule import Rule
from rankwise.core.terminal import brief, change, count_of, float_of
from rankwise.findings.margins import margin_flags, margin_text
from rankwise.findings.words import listing, loss_text, rounded
from rankwise.results.sampling_unit import SamplingUnit


def explain_outcome(
    outcome: Outcome,
    checks: Sequence[Check],
    rule: Rule,
    unguarded: Sequence[Mapping[str, Any]],
    small: Sequence[str],
    unit: SamplingUnit,
) -> list[str]:
    """Return the verdict in a sentence, further reasons, and the largest unguarded loss."""
    if outcome == "stop":
        reasons = _losses([check for check in checks if check.outcome == "failed"], rule)
    elif outcome == "ship":
        reasons = _explain_ship(checks, rule, small, unit)
    else:
        reasons = _explain_hold(checks, rule, unit)
    if unguarded:
        reasons.append(_unguarded_loss(unguarded))
    return reasons


def _explain_ship(
    checks: Sequence[Check], rule: Rule, small: Sequence[str], unit: SamplingUnit
) -> list[str]:
    """Return the gains and the guardrails that hold, then the caveats of the guardrails."""
    better = listing(_better_metrics(checks), "metrics")
    gain = f"Replace {rule.baseline} with {rule.system}: better on {better}"
    stated = stated_condition(unit, rule.largest_loss, rule.largest_cluster)
    if stated:
        gain += f", as long as {stated} (stated)"

    holds = "; nothing else is guarded"
    if rule.guardrails:
        holds = f", and {_where_rails_hold(checks, rule, small)}"
    caveats = _caveats_of_rails([check for check in checks if check.role == "guardrail"])
    return [f"{gain}{holds}.", *caveats]


def _better_metrics(checks: Sequence[Check]) -> list[str]:
    """Return the metrics of success that are shown to be better."""
    return [
        check.metric for check in checks if check.role == "success" and check.outcome == "passed"
    ]


def _explain_hold(checks: Sequence[Check], rule: Rule, unit: SamplingUnit) -> list[str]:
    """Return the reasons to hold: the evidence of success, and each open check."""
    better = _better_metrics(checks)
    metrics = better or rule.success
    are = "are" if len(metrics) > 1 else "is"
    gaps = [_gap(check, rule, unit) for check in open_checks(checks)]
    if better:
        why = f"{listing(metrics, 'metrics')} {are} better, but {gaps.pop(0)}"
    else:
        conditional = [check for check in checks if check.shown == "better if"]
        why = "; ".join(_under_condition(check, unit) for check in conditional)
        why = why or f"{listing(metrics, 'metrics')} {are} not shown to be better"
    return [
        f"Do not replace {rule.baseline} with {rule.system} yet: {why}.",
        *(f"{gap[0].upper()}{gap[1:]}." for gap in gaps),
    ]


def _unguarded_loss(unguarded: Sequence[Mapping[str, Any]]) -> str:
    """Return the first metric that is worse without a rule that guards it."""
    row, more = unguarded[0], len(unguarded) - 1
    others = f", and {more} other metric{'s' * (more > 1)}" if more else ""
    means = f"{brief(float_of(row['mean_baseline']))} → {brief(float_of(row['mean_system']))}"
    return f"No rule guards {row['metric']}, which is worse: {means}{others}."


def _under_condition(check: Check, unit: SamplingUnit) -> str:
    """Return that a metric is better, or worse, under a condition, and what would lift it."""
    word = (check.shown or "").removesuffix(" if")
    assert check.condition is not None
    said = f"{check.metric} is {word} only if {unit.condition(loss_text(check.condition))}"
    low, high = check.users_for_any_low, check.users_for_any_high
    if low is None or high is None:
        return said
    return f"{said}; about {rounded(low):,} to {rounded(high):,} {unit.rows} would show it for any {unit.rows}"


def _caveats_of_rails(rails: Sequence[Check]) -> list[str]:
    """Return the caveats of guardrails, each once; of one that holds in slices alone, in which."""
    places: dict[tuple[str, str], list[Check]] = {}
    for check in rails:
        for flag in check.flags:
            places.setdefault((check.metric, flag), []).append(check)
    caveats = []
    for (metric, flag), inside in places.items():
        slices = (
            [] if any(check.by is None for check in inside) else [check.where for check in inside]
        )
        where = f" for {listing(slices, 'slices')}" if slices else ""
        caveats.append(f"{metric}{where}: {flag}.")
    return caveats


def _where_rails_hold(checks: Sequence[Check], rule: Rule, small: Sequence[str]) -> str:
    """Return which guardrails hold, and in how many of the slices: only a checked slice is one."""
    passed = [check for check in checks if check.role == "guardrail" and check.outcome == "passed"]
    places: dict[str, list[str]] = {}
    for metric in rule.guardrails:
        inside = sum(check.metric == metric and check.by is not None for check in passed)
        every = inside + len(small)
        where = (
            f" in {inside} of {every} slices, the others being too small"
            if small
            else " in every slice"
        )
        where = where if inside else " over all users alone"
        places.setdefault(where if rule.slices else "", []).append(metric)
    named = ((listing(names, "guardrails"), len(names), where) for where, names in places.items())
    return ", and ".join(
        f"{names} {'holds' if count == 1 else 'hold'}{where}" for names, count, where in named
    )


_NAMED_LOSSES = 6


def _losses(worse: Sequence[Check], rule: Rule) -> list[str]:
    """Return sentences on losses: over all users first, success metrics first, then by size."""
    order = sorted(
        worse,
        key=lambda check: (
            check.by is not None,
            check.metric not in rule.success,
            -_relative(check),
        ),
    )
    first, others = order[0], order[1:]
    within = [f"{check.metric} for {check.where}" for check in others if check.by is not None]
    if len(within) > _NAMED_LOSSES:
        within = [*within[:_NAMED_LOSSES], count_of(len(within) - _NAMED_LOSSES, "more slice")]
    return [
        f"Keep {rule.baseline}: {rule.system} {_loss(first, rule)}.",
        *(f"It {_loss(check, rule, also='also ')}." for check in others if check.by is None),
        *([f"Worse as well: {listing(within, named=len(within))}."] if within else []),
    ]


def _relative(check: Check) -> float:
    return abs(check.difference / check.mean_baseline) if check.mean_baseline else 0.0


def _loss(check: Check, rule: Rule, also: str = "") -> str:
    """Describe the loss of a metric, with the allowed margin of a guardrail."""
    inside = "" if check.by is None else f" for {check.where}"
    share = (
        change(_relative(check)).removeprefix("+")
        if check.mean_baseline
        else brief(abs(check.difference))
    )
    if check.metric in rule.guardrails:
        verb = (
            f"loses {share} of {check.metric}"
            if check.difference < 0
            else f"raises {check.metric} by {share}"
        )
        return f"{also}{verb}{inside}; {margin_text(rule.guardrails[check.metric])} is allowed"
    means = f"{brief(check.mean_baseline)} → {brief(check.mean_system)}"
    return f"is {also}worse on {check.metric}{inside}: {means}"


def _gap(check: Check, rule: Rule, unit: SamplingUnit) -> str:
    """Describe a check that is not shown or not checked, with the number of users needed."""
    inside = "" if check.by is None else f" for {check.where}"
    if check.outcome == "not checked":
        return (
            f"{check.metric} is not checked{inside} ({check.users:,} users): "
            f"{(*check.flags, 'no value')[0]}"
        )
    if check.shown == "worse if":
        return f"{_under_condition(check, unit)}{inside}"
    what = "to hold" if check.role == "guardrail" else "to be no worse"
    needed = "" if check.users_needed is None else f"; about {check.users_needed:,} needed"
    no_margin = "".join(f"; {flag}" for flag in _no_margin(check, rule))
    return f"{check.metric} is not shown {what}{inside} ({check.users:,} users{needed}{no_margin})"


def _no_margin(check: Check, rule: Rule) -> list[str]:
    """Return why the margin of a guardrail is none: a share of a baseline of 0."""
    margin = rule.guardrails.get(check.metric) if check.role == "guardrail" else None
    return margin_flags(margin, check.mean_baseline) if check.mean_baseline == 0 else []
