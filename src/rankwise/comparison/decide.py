"""Ship, hold or stop: evidence first, then the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rankwise.comparison.checks import (
    check_deterioration,
    check_guardrails,
    check_success,
    open_checks,
)
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decision import Check, Decision, Outcome
from rankwise.comparison.evidence import LoggedRewards, read_evidence
from rankwise.comparison.reasons import explain_outcome
from rankwise.core import __version__
from rankwise.core.arguments import Missing
from rankwise.core.terminal import json_safe
from rankwise.findings.columns import table_of
from rankwise.findings.margins import LargestLoss
from rankwise.results.display import plan_statements
from rankwise.results.result import Result


def decide(
    results: Comparison | Mapping[str, Result] | LoggedRewards | Mapping[str, LoggedRewards],
    *,
    success: str | Sequence[str],
    guardrails: Mapping[str, float | str] | None = None,
    deterioration: str | Sequence[str] = (),
    slices: str | Sequence[str] = (),
    min_slice_size: int = 100,
    alpha: float | None = None,
    largest_loss: LargestLoss = None,
    largest_cluster: int | None = None,
    missing: Missing | None = None,
    baseline: str | None = None,
    system: str | None = None,
) -> Decision:
    """Decide whether to ship a system: success, guardrails, and no deterioration.

    * **Ship** if at least one success metric is significantly better (Holm over the success
      metrics), and every guardrail is non-inferior: shown to lose less than its margin, over all
      users and in every slice that is large enough.
    * **Stop** if any success, guardrail or deterioration metric is significantly worse, over all
      users or in a slice (Holm over all of these tests), unless a guardrail is shown to lose less
      than its margin there.
    * **Hold** otherwise: the data show neither.

    Guardrails are not corrected for their number, because all of them have to hold. The number of
    users that they need is for a power of 1 − 0.2 / number of guardrails, so that a harmless system
    passes all of them with probability 0.8.

    Parameters
    ----------
    results : Comparison, OffPolicy, or mapping of str to Result or OffPolicy
        Results by name, or a comparison of them, whose test, seed, resamples and ``earlier`` pairs
        the decision has as well. Of policies on logged requests the result of
        `rankwise.off_policy`, whose metric is called ``"reward"``, or the results of several
        rewards by the name of the reward. Where a log supports a policy weakly or not at all,
        nothing is shown: the decision is hold.
    success : str or list of str
        Success metrics: at least one of them has to improve.
    guardrails : mapping of metric to margin, optional
        Guardrail metrics, each with the loss that it must not reach: a number, or a share of the
        baseline such as ``"1%"``. Values that are not means over users (coverage, Gini) need
        ``evaluate(…, jackknife=64)``, and are checked over all users alone. On logged requests the
        margin is that of ``off_policy(…, margin=…)``.
    deterioration : str or list of str, optional
        Further metrics that must not get significantly worse.
    slices : str or list of str, optional
        Columns of user groups, in each of which guardrails and deterioration are checked as well.
        Results need ``evaluate(…, by=…)``.
    min_slice_size : int, default=100
        Groups with fewer users are not checked; the decision lists them.
    alpha : float, optional
        The significance level; by default that of the comparison or the log, 0.05 for results.
    largest_loss : float, or mapping of metric to float, optional
        The largest change of one user that is taken to be possible, as for `rankwise.compare`; by
        default as the comparison stated it, else the range of the metric. A metric without a bound
        is shown to be better under a stated loss alone.
    largest_cluster : int, optional
        The largest number of requests of one user that is taken to be possible, as for
        `rankwise.compare`; by default as the comparison stated it, else the mean number.
    missing : {"error", "zero", "common"}, optional
        What to do with users who have a value in one result only, as for `rankwise.compare`; by
        default as the comparison did, ``"error"`` for results.
    baseline, system : str, optional
        The names of the two results; by default the first is the baseline, the second the system.

    Returns
    -------
    Decision

    Raises
    ------
    ParameterError, MetricError
        If a name is unknown, or a metric has no better direction or no per-user values.

    See Also
    --------
    compare : All pairs and metrics, without a decision.

    References
    ----------
    Schultzberg, Ankargren & Frånberg 2024, Risk-aware product decisions in A/B tests with multiple
    metrics, arXiv:2402.11609.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {user % 7, 9} for user in range(700)}
    >>> old = rw.evaluate({u: [9, 8] for u in truth}, truth, ["recall@2", "mrr@2"])
    >>> new = rw.evaluate({u: [9, u % 7] for u in truth}, truth, ["recall@2", "mrr@2"])
    >>> decision = rw.decide({"old": old, "new": new}, success="recall@2", guardrails={"mrr@2": "1%"})
    >>> decision.outcome, decision.exit_code
    ('ship', 0)
    """
    evidence = read_evidence(results)
    rule = evidence.settle_rule(
        success=success,
        guardrails=guardrails,
        deterioration=deterioration,
        slices=slices,
        min_slice_size=min_slice_size,
        alpha=alpha,
        largest_loss=largest_loss,
        largest_cluster=largest_cluster,
        missing=missing,
        baseline=baseline,
        system=system,
    )
    found = evidence.collect(rule)
    checks = [*check_success(found.rows, rule), *check_guardrails(found.rows, rule)]
    checks += check_deterioration(found.rows, rule, checks)
    outcome = choose_outcome(checks)
    reasons = explain_outcome(
        outcome, checks, rule, found.unguarded, found.small_slices, found.unit
    )
    table = table_of(checks, Check)
    record = {
        "rankwise": __version__,
        "rule": asdict(rule),
        "outcome": outcome,
        "reasons": reasons,
        "small_slices": found.small_slices,
        "checks": json_safe(table.to_dicts()),
        "unguarded": found.unguarded,
        "lower_is_better": found.lower_is_better,
        "inputs": found.inputs,
    }
    decision = Decision(outcome, reasons, table, found.small_slices, record)
    return held_to_plan(decision, found.plans)


def choose_outcome(checks: Sequence[Check]) -> Outcome:
    """Return stop if a check failed, ship if a success metric is better and all else holds."""
    if any(check.outcome == "failed" for check in checks):
        return "stop"
    better = any(check.role == "success" and check.outcome == "passed" for check in checks)
    return "ship" if better and not open_checks(checks) else "hold"


def held_to_plan(decision: Decision, plans: Sequence[Mapping[str, Any]]) -> Decision:
    """Add the plans of the results to a decision; a ship from a run not as planned becomes hold.

    ``plans`` are what `rankwise.experiments.plan.check_plan` returned for each result.
    """
    if not plans:
        return decision

    record = decision.record | {"plans": plan_statements([{"plan": plan} for plan in plans])}
    outcome, reasons = decision.outcome, decision.reasons
    if outcome == "ship" and any(plan["differences"] for plan in plans):
        pair = record["rule"]
        gain = (
            f"Do not replace {pair['baseline']} with {pair['system']} yet: the run was not as "
            "planned."
        )
        outcome, reasons = "hold", [gain, *reasons[1:]]
    return replace(
        decision,
        outcome=outcome,
        reasons=reasons,
        record=record | {"outcome": outcome, "reasons": reasons},
    )
