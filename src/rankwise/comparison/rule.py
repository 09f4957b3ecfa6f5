"""The rule of a decision: which metrics decide, with their margins, between which systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rankwise.comparison.design import independent_users
from rankwise.core.arguments import Missing, Test, check_choice, check_count, check_positive
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.margins import (
    LargestLoss,
    check_margin,
    check_within_range,
    largest_losses_by_cell,
)
from rankwise.messages import call, parameter
from rankwise.results.result import Result
from rankwise.stats.differences import check_level


@dataclass(frozen=True)
class Rule:
    """Which metrics decide, with their margins, and between which results."""

    success: list[str]
    guardrails: dict[str, float | str]
    deterioration: list[str]
    slices: list[str]
    min_slice_size: int
    alpha: float
    missing: Missing
    baseline: str
    system: str
    test: Test = "auto"
    n_resamples: int | None = None
    seed: int = 0
    earlier: int = 0
    largest_loss: dict[str, float] = field(default_factory=dict)
    largest_cluster: int | None = None

    @classmethod
    def from_names(
        cls,
        pair: tuple[str, str],
        *,
        success: str | Sequence[str],
        guardrails: Mapping[str, float | str] | None,
        deterioration: str | Sequence[str],
        slices: str | Sequence[str],
        min_slice_size: int,
        alpha: float,
        missing: Missing,
    ) -> Rule:
        """Return the rule of a pair of baseline and system, checked."""
        check_level("alpha", alpha)
        check_count(least=2, min_slice_size=min_slice_size)
        check_choice("missing", missing, Missing)
        if not isinstance(guardrails, Mapping | None):
            raise ParameterError(
                "guardrails map metrics to margins",
                found=repr(guardrails)[:80],
                hint=f"pass {parameter('guardrails', {'recall@10': '1%'})}",
            )
        chosen = _names("success", success)
        if not chosen:
            raise ParameterError(
                "a decision needs a metric of success", found=parameter("success", [])
            )
        return cls(
            chosen,
            {name: check_margin(margin) for name, margin in (guardrails or {}).items()},
            _names("deterioration", deterioration),
            list(dict.fromkeys(_names("slices", slices))),
            int(min_slice_size),
            float(alpha),
            missing,
            *pair,
        )

    def canonical(self, result: Result) -> Rule:
        """Return the rule with the canonical names of metrics."""
        cells = {
            name: deciding_cell(result, name)
            for name in (*self.success, *self.guardrails, *self.deterioration)
        }
        for name, margin in self.guardrails.items():
            check_within_range(margin, cells[name], result)
        twice = [
            n for n in self.guardrails if [cells[m] for m in self.guardrails].count(cells[n]) > 1
        ]
        if twice:
            raise ParameterError("duplicate guardrail", found=", ".join(twice))
        return replace(
            self,
            success=[cells[n] for n in self.success],
            guardrails={cells[n]: m for n, m in self.guardrails.items()},
            deterioration=[cells[n] for n in self.deterioration],
        )

    @property
    def metrics(self) -> list[str]:
        """The metrics that the rule names, each once."""
        return list(dict.fromkeys([*self.success, *self.guardrails, *self.deterioration]))


def deciding_cell(result: Result, name: str) -> str:
    """Return the key of a value, given any name of its metric.

    Raises
    ------
    MetricError
        If the result does not have it, or it cannot decide.
    """
    cell = result.cell(name)
    if result.direction(cell) is None:
        raise MetricError(f"{name} has no better direction, so it cannot decide")
    jackknifed = result.replicates is not None and cell in result.replicates.columns
    if not result.is_mean_of_users(cell) and not jackknifed and not result.per_user.is_empty():
        raise MetricError(
            f"{name} is not a mean over users, so it needs the jackknife to decide",
            hint=f"{call('evaluate', jackknife=64)} computes it without each of 64 groups of users",
        )
    return cell


def rule_for(
    results: Mapping[str, Result],
    *,
    success: str | Sequence[str],
    guardrails: Mapping[str, float | str] | None = None,
    deterioration: str | Sequence[str] = (),
    slices: str | Sequence[str] = (),
    min_slice_size: int = 100,
    alpha: float = 0.05,
    missing: Missing = "error",
    test: Test = "auto",
    n_resamples: int | None = None,
    seed: int = 0,
    earlier: int = 0,
    largest_loss: LargestLoss = None,
    largest_cluster: int | None = None,
    baseline: str | None = None,
    system: str | None = None,
) -> Rule:
    """Return the checked rule of a decision; parameters as in `decide` and `rankwise.compare`."""
    pair = choose_pair(list(results), baseline, system)
    rule = Rule.from_names(
        pair,
        success=success,
        guardrails=guardrails,
        deterioration=deterioration,
        slices=slices,
        min_slice_size=min_slice_size,
        alpha=alpha,
        missing=missing,
    )
    rule = replace(rule, test=test, n_resamples=n_resamples, seed=seed, earlier=earlier)
    rule = rule.canonical(results[pair[0]])
    check_positive(largest_cluster=largest_cluster)
    if largest_cluster is not None and results[pair[0]].sampling_unit.clusters is None:
        raise independent_users(largest_cluster)
    stated = largest_losses_by_cell(largest_loss, results[pair[0]], rule.metrics)
    return replace(rule, largest_loss=stated, largest_cluster=largest_cluster)


def _names(option: str, names: str | Sequence[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ParameterError(f"{option} is a name, or a list of names", found=repr(names)[:80])
    return list(listed)


def choose_pair(names: Sequence[str], baseline: str | None, system: str | None) -> tuple[str, str]:
    """Return the names of baseline and system."""
    for name in (baseline, system):
        if name is not None and name not in names:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(names))
    if len(names) < 2:
        raise ParameterError("a decision needs two results", found=", ".join(names) or "none")
    first = names[0] if baseline is None else baseline
    rest = [name for name in names if name != first]
    if system is None and len(rest) > 1:
        raise ParameterError(
            "a decision is about one system",
            found=", ".join(rest),
            hint=f"say which: {parameter('system')}",
        )
    if system == first:
        raise ParameterError(
            "a decision compares two systems, and both names are those of one", found=repr(first)
        )
    return first, rest[0] if system is None else system
