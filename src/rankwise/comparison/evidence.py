"""What a decision rests on: the findings of users' lists, or of logged impressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol

import polars as pl

from rankwise.comparison.comparability import without_force
from rankwise.comparison.compare import Compared, compare_systems
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.design import CompareOptions, Design
from rankwise.comparison.rows import PairFinding
from rankwise.comparison.rule import Rule, choose_pair, rule_for
from rankwise.comparison.systems import systems_of
from rankwise.core.arguments import Missing
from rankwise.core.hashing import digest_of_values
from rankwise.core.terminal import json_safe
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.columns import values_of
from rankwise.findings.finding import REWARD, EffectSizes, Finding
from rankwise.findings.margins import LargestLoss, Margin, check_margin, margin_test
from rankwise.findings.words import NO_LIST, group_name
from rankwise.messages import call, parameter
from rankwise.results.intervals import group_column, groups_of_users, is_truth_slice
from rankwise.results.result import Result, knows_lists
from rankwise.results.sampling_unit import USERS, SamplingUnit


class LoggedRewards(Protocol):
    """The rewards of policies on logged requests, as `rankwise.off_policy` estimates them."""

    @property
    def settings(self) -> dict[str, Any]:
        """The options of the estimate."""

    def findings(self, baseline: str, system: str) -> Sequence[Finding]:
        """Return the findings of a pair: all requests first, then each group."""

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the estimate, and the hash of the users' values."""


@dataclass(frozen=True)
class EvidenceRow:
    """A finding that a decision rests on, over everybody or in a slice.

    Attributes
    ----------
    finding : Finding
        The finding.
    users : int
        The number of users, whose requests count once.
    why : str
        Why it cannot decide: weak support, or no list from either system; empty if it can.
    """

    finding: Finding
    users: int
    why: str = ""

    @property
    def metric(self) -> str:
        """The metric."""
        return self.finding.metric

    @property
    def by(self) -> str | None:
        """The grouping; None over everybody."""
        return self.finding.by

    @property
    def group(self) -> str | None:
        """The slice."""
        return self.finding.group

    @property
    def has_values(self) -> bool:
        """Whether there is a value to be checked."""
        return self.users > 0 and self.why != NO_LIST

    def p(self, p: float) -> float:
        """Return a p-value of the finding; NaN where support is too weak for any test."""
        return math.nan if self.why and self.why != NO_LIST else p


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a decision is made of, and recorded with.

    Attributes
    ----------
    rows : list of EvidenceRow
        The findings of the metrics of the rule, over everybody and in slices.
    small_slices : list of str
        Slices with too few users to be checked.
    unguarded : list of dict
        Findings of other metrics that are worse, the largest loss first.
    inputs : dict
        The inputs with their hashes, by system or reward.
    lower_is_better : list of str
        Metrics of the rule of which lower values are better.
    plans : list of dict
        The plans that the results were held to.
    unit : SamplingUnit
        What one value is of.
    """

    rows: list[EvidenceRow]
    small_slices: list[str]
    unguarded: list[dict[str, Any]]
    inputs: dict[str, Any]
    lower_is_better: list[str] = field(default_factory=list)
    plans: list[Mapping[str, Any]] = field(default_factory=list)
    unit: SamplingUnit = USERS


def read_evidence(results: Any) -> ListEvidence | LogEvidence:
    """Return what a decision was given: results by name, a comparison of them, or logs.

    Raises
    ------
    ParameterError
        If it is neither, or both.
    """
    rewards = _rewards_of(results)
    if rewards is not None:
        return LogEvidence(rewards)
    design = results.design if isinstance(results, Comparison) else Design()
    by_name = results.results if isinstance(results, Comparison) else results
    design.check_is_plain("a decision", over_requests=True)
    if not isinstance(by_name, Mapping):
        raise ParameterError(
            "results come by name",
            found=type(results).__name__,
            hint="pass {name: result, …}, or a comparison",
        )
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in by_name.items() if not isinstance(r, Result)]
    if wrong:
        raise ParameterError("a decision is about one result per system", found=", ".join(wrong))
    return ListEvidence(dict(by_name), design)


def _rewards_of(results: Any) -> dict[str, LoggedRewards] | None:
    """Return the rewards of logged requests by name; None if the results are of users' lists."""
    if _is_logged(results):
        return {REWARD: results}
    values = list(results.values()) if isinstance(results, Mapping) else []
    if not any(map(_is_logged, values)):
        return None
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in results.items() if not _is_logged(r)]
    if wrong:
        raise ParameterError(
            "a decision is about users' lists or about logged requests", found=", ".join(wrong)
        )
    return dict(results)


def _is_logged(result: Any) -> bool:
    return hasattr(result, "findings") and hasattr(result, "policies")


@dataclass(frozen=True)
class ListEvidence:
    """Results of users' lists by name, and the design of the comparison of them, if there is one."""

    results: dict[str, Result]
    design: Design

    def settle_rule(
        self,
        *,
        alpha: float | None,
        missing: Missing | None,
        baseline: str | None,
        largest_loss: LargestLoss,
        largest_cluster: int | None,
        **rule: Any,
    ) -> Rule:
        """Return the checked rule; what it does not say is that of the comparison."""
        design = self.design
        return rule_for(
            self.results,
            baseline=design.baseline if baseline is None else baseline,
            alpha=design.alpha if alpha is None else alpha,
            missing=design.missing if missing is None else missing,
            test=design.test,
            n_resamples=design.n_resamples,
            seed=design.seed,
            earlier=design.earlier,
            largest_loss=design.largest_loss if largest_loss is None else largest_loss,
            largest_cluster=design.largest_cluster if largest_cluster is None else largest_cluster,
            **rule,
        )

    def collect(self, rule: Rule) -> Evidence:
        """Compare the two systems over everybody, on all metrics, and within every slice."""
        results = {name: self.results[name] for name in (rule.baseline, rule.system)}
        first = results[rule.baseline]
        everybody = _compare(results, rule)
        rows = [_row(everybody, rule, metric) for metric in rule.metrics]
        small: list[str] = []
        for by in rule.slices:
            inside, too_small = _rows_within(results, rule, by)
            rows += inside
            small += too_small
        return Evidence(
            rows=rows,
            small_slices=small,
            unguarded=_unguarded(everybody, rule),
            inputs={name: _inputs(result) for name, result in results.items()},
            lower_is_better=[m for m in rule.metrics if first.direction(m) is False],
            plans=[r.provenance["plan"] for r in results.values() if "plan" in r.provenance],
            unit=everybody.plan.unit,
        )


def _compare(results: Mapping[str, Result], rule: Rule, **options: Any) -> Compared:
    asked = CompareOptions(
        baseline=rule.baseline,
        alpha=rule.alpha,
        test=rule.test,
        margin=rule.guardrails or None,
        largest_loss=rule.largest_loss or None,
        largest_cluster=rule.largest_cluster,
        missing=rule.missing,
        n_resamples=rule.n_resamples,
        seed=rule.seed,
        earlier=rule.earlier,
        **{"primary": rule.success[0], **options},
    )
    with without_force():
        return compare_systems(systems_of((results,)), asked, required=rule.metrics)


def _row(
    compared: Compared, rule: Rule, metric: str, by: str | None = None, group: str | None = None
) -> EvidenceRow:
    """Return the finding of a metric; one without values if there is none."""
    finding = next(
        (row for row in compared.rows if row.metric == metric and row.group == group),
        PairFinding(
            metric=metric,
            by=by,
            group=group,
            baseline=rule.baseline,
            system=rule.system,
            effect=EffectSizes(users=0),
        ),
    )
    return EvidenceRow(finding, compared.plan.unit.users_in(values_of(finding)))


def _rows_within(
    results: Mapping[str, Result], rule: Rule, by: str
) -> tuple[list[EvidenceRow], list[str]]:
    """Return the findings of every slice that is large enough, and the names of the others."""
    first = results[rule.baseline]
    means = [metric for metric in rule.metrics if first.is_mean_of_users(metric)]
    if not means:  # only means are compared in groups
        return [], []
    compared = _compare(results, rule, metrics=means, by=by, primary=None, correction="none")
    rows, small = [], []
    for group, size in _sizes(results, by).items():
        if size < rule.min_slice_size:
            small.append(f"{by} {group_name(group)}")
            continue
        why = NO_LIST if _without_lists(results, by, group) else ""
        rows += [replace(_row(compared, rule, metric, by, group), why=why) for metric in means]
    return rows, small


def _unguarded(compared: Compared, rule: Rule) -> list[dict[str, Any]]:
    """Return metrics outside the rule that are worse in exploratory tests, largest loss first."""
    worse = [
        row
        for row in compared.rows
        if row.test.verdict == "worse" and row.metric not in rule.metrics
    ]
    worse.sort(key=lambda row: 0.0 if math.isnan(row.means.lift) else -abs(row.means.lift))
    names = ("metric", "mean_baseline", "mean_system", "difference", "low", "high", "lift")
    losses = []
    for row in worse:
        values = values_of(row)
        users = compared.plan.unit.users_in(values)
        losses.append(json_safe({name: values[name] for name in names} | {"users": users}))
    return losses


def _without_lists(results: Mapping[str, Result], by: str, group: str | None) -> bool:
    """Return whether no system has a list for any user of a group; False if lists are unknown."""
    if is_truth_slice(by) or not all(map(knows_lists, results.values())):
        return False
    inside = (
        result.per_user.filter(pl.col(group_column(by)).eq_missing(group))
        for result in results.values()
    )
    return not any(users["list_length"].sum() for users in inside)


def _sizes(results: Mapping[str, Result], by: str) -> dict[str | None, int]:
    """Return the number of users of each group."""
    if is_truth_slice(by):
        slices = next(iter(results.values())).slices
        return (
            {}
            if slices is None
            else dict(slices.filter(pl.col("by") == by).select("group", "users").rows())
        )
    users = groups_of_users({name: result.per_user for name, result in results.items()}, by)
    counts = users.group_by(group_column(by)).len().sort(group_column(by), nulls_last=True)
    return dict(counts.rows())


@dataclass(frozen=True)
class LogEvidence:
    """Rewards of policies on logged requests, by the name of the reward."""

    rewards: Mapping[str, LoggedRewards]

    def settle_rule(
        self,
        *,
        alpha: float | None,
        missing: Missing | None,
        baseline: str | None,
        system: str | None,
        largest_loss: LargestLoss,
        largest_cluster: int | None,
        **rule: Any,
    ) -> Rule:
        """Return the rule, checked to be that at which the rewards were estimated."""
        stated = {"largest_loss": largest_loss, "largest_cluster": largest_cluster}
        for name, value in stated.items():
            if value is not None:
                raise ParameterError(
                    f"{name} is stated for lists of users, and these are logged requests",
                    found=parameter(name, value),
                    hint=f"{call('off_policy')} takes {parameter('reward_range')}",
                )
        first = next(iter(self.rewards.values()))
        pair = choose_pair(
            first.policies, first.settings["baseline"] if baseline is None else baseline, system
        )
        level = first.settings["alpha"] if alpha is None else alpha
        settled = Rule.from_names(pair, alpha=level, missing=missing or "error", **rule)
        for name in settled.metrics:
            if name not in self.rewards:
                raise MetricError(f"there is no reward {name!r}", found=", ".join(self.rewards))
        for name in settled.metrics:
            self._check_level(name, settled.alpha)
        for name, margin in settled.guardrails.items():
            self._check_margin(name, margin)
        return settled

    def _check_level(self, name: str, alpha: float) -> None:
        estimated = self.rewards[name].settings["alpha"]
        if estimated != alpha:
            raise ParameterError(
                f"{name} was not estimated at the level of the decision",
                found=f"{parameter('alpha', alpha)}, and {parameter('alpha', estimated)} of the "
                "estimate",
                hint=call("off_policy", alpha=alpha),
            )

    def _check_margin(self, name: str, margin: float | str) -> None:
        estimated = self.rewards[name].settings["margin"]
        if not _same_margin(estimated, margin):
            raise ParameterError(
                f"{name} was not estimated with the margin of its guardrail",
                found=f"{margin}, and {parameter('margin', estimated)} of the estimate",
                hint=call("off_policy", margin=margin),
            )

    def collect(self, rule: Rule) -> Evidence:
        """Return the findings of the rule's rewards, over all requests and in large slices."""
        known = {
            name: [
                replace(finding, metric=name)
                for finding in rewards.findings(rule.baseline, rule.system)
            ]
            for name, rewards in self.rewards.items()
        }
        _check_slices(rule, known)

        rows: list[EvidenceRow] = []
        small: dict[str, None] = {}
        for finding in chain.from_iterable(known[name] for name in rule.metrics):
            if finding.by is not None and finding.by not in rule.slices:
                continue
            users = finding.effect.users or 0
            if finding.by is not None and users < rule.min_slice_size:
                small[f"{finding.by} {group_name(finding.group)}"] = None
            else:
                rows.append(EvidenceRow(finding, users, finding.why))

        others = [known[name][0] for name in self.rewards if name not in rule.metrics]
        return Evidence(
            rows=rows,
            small_slices=list(small),
            unguarded=[_loss_of(other) for other in others if other.test.verdict == "worse"],
            inputs={name: rewards.inputs for name, rewards in self.rewards.items()},
        )


def _check_slices(rule: Rule, known: Mapping[str, Sequence[Finding]]) -> None:
    """Raise if a reward was not estimated in the slices of the rule."""
    for name in rule.metrics:
        for by in {*rule.slices} - {finding.by for finding in known[name]}:
            raise ParameterError(f"{name} has no slices by {by}", hint=call("off_policy", by=by))


def _loss_of(finding: Finding) -> dict[str, Any]:
    """Return the values of a loss that no rule guards, as a record holds them."""
    names = ("metric", "users", "mean_baseline", "mean_system", "difference", "low", "high")
    values = values_of(finding)
    loss: dict[str, Any] = json_safe({name: values[name] for name in names})
    return loss


def _same_margin(one: Margin, other: float | str) -> bool:
    """Return whether two margins are the same, however they are written."""
    return isinstance(one, int | float | str) and margin_test(check_margin(one)) == margin_test(
        other
    )


def _inputs(result: Result) -> dict[str, Any]:
    """Return the hashes of a result's input tables and per-user values, and its settings."""
    cards = result.provenance.get("inputs", {})
    return {
        "tables": {role: card.get("sha256") for role, card in cards.items()},
        "settings": json_safe(result.provenance.get("settings", {})),
        "per_user": digest_of_values(result.per_user),
    }
