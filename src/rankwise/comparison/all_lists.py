"""Differences of values that are of all lists together, and no means over users."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from rankwise.comparison.family import PairFamily
from rankwise.comparison.rows import Clusters, PairFinding, make_jackknife_finding
from rankwise.comparison.sampled_means import TWO_LEVEL, with_seeds
from rankwise.comparison.scaled_difference import ScaledDifference
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.finding import Limits
from rankwise.messages import parameter
from rankwise.metrics.base import GroupsCompared
from rankwise.results.intervals import (
    group_column,
    groups_compared,
    jackknife_caveats,
    values_by_group,
)
from rankwise.results.result import Result
from rankwise.stats.data_sets import jackknife_error
from rankwise.stats.differences import Floats, Interval, TestResult, t_around, two_sided_t
from rankwise.stats.group_means import compare_groups
from rankwise.stats.variance_components import VarianceComponents, seed_variance


@dataclass(frozen=True, eq=False)
class ValuesOfAllLists:
    """The pairs of a family on one metric, whose values are of all lists together.

    They are compared by the jackknife over groups of users, and gaps between groups of users by the
    largest of all their t statistics.
    """

    family: PairFamily
    cell: str

    def findings(self) -> list[PairFinding]:
        """Return one finding per pair, before any correction."""
        return [self._finding(pair) for pair in self.family.pairs]

    def _finding(self, pair: tuple[str, str]) -> PairFinding:
        family, cell = self.family, self.cell
        baseline, system = (
            [family.results[name] for name in family.names_of(side)] for side in pair
        )
        groups = groups_compared(system[0].metrics, cell)
        if groups is None:
            finding = _JackknifePair(family, cell, pair, baseline, system).finding()
        elif family.seeds:
            raise MetricError(
                f"{cell} is compared for one result per system, not for several seeds"
            )
        else:
            finding = _finding_of_groups(family, cell, pair, groups)
        return self._with_clusters(finding, baseline[0])

    def _with_clusters(self, finding: PairFinding, baseline: Result) -> PairFinding:
        """Return a finding with the users of requests, or with clusters that are not heeded."""
        if self.family.unit.is_of_requests:  # groups of the jackknife have all requests of a user
            users = baseline.per_user[group_column("user")].n_unique()
            return replace(finding, clusters=Clusters(users))
        if self.family.clusters is None:
            return finding
        note = f"users are treated as independent, without clusters by {self.family.clusters}"
        return replace(finding, flags=(*finding.flags, note))


@dataclass(frozen=True, eq=False)
class _JackknifePair:
    """A pair of values, each of one result or of several seeds, without each group of users."""

    family: PairFamily
    cell: str
    pair: tuple[str, str]
    baseline: Sequence[Result]
    system: Sequence[Result]

    def finding(self) -> PairFinding:
        """Return the finding of the pair."""
        family = self.family
        _check_same_groups(
            self.cell,
            {name: family.results[name] for side in self.pair for name in family.names_of(side)},
        )
        finding = make_jackknife_finding(
            self.cell,
            self.pair,
            (self.scaled.baseline, self.scaled.system),
            len(self.baseline[0].per_user),
            self._tested(),
            self.limits_of,
            alpha=family.alpha,
            error=self.error,
            better=family.direction(self.cell),
        )
        claims = self.scaled.margin_tests(
            family.margin_test(self.cell),
            finding.higher_is_better,
            self.limits_of(2 * family.alpha),
        )
        finding = replace(finding, margin=claims)
        if not family.seeds:
            return finding
        return with_seeds(finding, self._variance, self._values, alpha=family.alpha)

    @cached_property
    def _values(self) -> tuple[Floats, Floats]:
        """The values of the baseline and of the system, one per seed."""
        before, after = (
            np.array([result.values[self.cell] for result in side])
            for side in (self.baseline, self.system)
        )
        return before, after

    @cached_property
    def _replicates(self) -> tuple[Floats, Floats]:
        """The values without each group of users, averaged over seeds, of both sides."""
        before, after = (
            np.mean([_replicates_of(result, self.cell) for result in side], axis=0)
            for side in (self.baseline, self.system)
        )
        return before, after

    @cached_property
    def _users_apart(self) -> tuple[float, int]:
        """The jackknife error of the difference, and the number of groups with a value."""
        before, after = self._replicates
        return jackknife_error(after - before)

    @property
    def _variance(self) -> VarianceComponents:
        return self._difference[1]

    @cached_property
    def _difference(self) -> tuple[float, VarianceComponents]:
        return self._at(1.0)

    @cached_property
    def scaled(self) -> ScaledDifference:
        """The difference at any factor of the baseline."""
        before, after = (float(values.mean()) for values in self._values)
        return ScaledDifference(before, after, self.error, self._at)

    @property
    def error(self) -> float:
        """The standard error of the difference: over groups of users, and seeds if any."""
        return self._variance.error if self._variance.seeds else self._users_apart[0]

    def limits_of(self, level: float) -> Limits:
        """Return the limits of the difference and of its lift."""
        interval = self._interval(1 - level)
        return Limits(interval.low, interval.high, *self.scaled.lift_limits(level))

    def _interval(self, confidence: float) -> Interval:
        difference, variance = self._difference
        error, groups = self._users_apart
        if variance.seeds:
            return variance.interval(difference, confidence=confidence, n=groups)
        return t_around(
            difference, error, groups - 1, confidence=confidence, method="jackknife", n=groups
        )

    def _at(self, factor: float) -> tuple[float, VarianceComponents]:
        """Return the system minus a factor times the baseline, and its variance."""
        before, after = self._values
        replicates_before, replicates_after = self._replicates
        error, groups = jackknife_error(replicates_after - factor * replicates_before)
        seeds = [after - factor * before] if self.family.paired else [after, factor * before]
        parts = (seed_variance(values[:, None])[0] for values in seeds)
        variance = VarianceComponents(
            (error**2, groups - 1.0), tuple(part for part in parts if part is not None)
        )
        return float(after.mean() - factor * before.mean()), variance

    def _tested(self) -> TestResult:
        """Test whether the difference is 0, and note what the jackknife could not see."""
        difference, variance = self._difference
        error, groups = self._users_apart
        left = len(self._replicates[0]) - groups
        flags = [f"{left} groups without which there is no value"] if left else []
        if groups < 2:
            flags.append("fewer than two groups")
        elif variance.total == 0:
            flags.append("identical" if difference == 0 else "zero variance")
        flags += jackknife_caveats(self.system[0].metrics, self.cell)

        if variance.total > 0:
            p = (
                variance.p(difference)
                if variance.seeds
                else two_sided_t(difference / error, groups - 1)
            )
        else:
            p = 1.0 if variance.total == difference == 0 else math.nan
        name = f"jackknife {TWO_LEVEL}" if self.family.seeds else "jackknife t"
        return TestResult(name, difference, math.nan, p, groups, tuple(flags))


def _replicates_of(result: Result, cell: str) -> Floats:
    """Return the values of a metric without each group of users."""
    assert result.replicates is not None
    return result.replicates[cell].to_numpy()


def _check_same_groups(cell: str, results: Mapping[str, Result]) -> None:
    """Raise unless the jackknife left the same groups of users out of all results."""
    if len({str(result.provenance.get("jackknife")) for result in results.values()}) > 1:
        groups = {n: 0 if r.replicates is None else len(r.replicates) for n, r in results.items()}
        sizes = (f"{n}: {len(r.per_user)} users in {groups[n]} groups" for n, r in results.items())
        raise ParameterError(
            f"{cell} is compared by the jackknife, which needs the same users in the same groups",
            found=", ".join(sizes),
            hint=f"evaluate both on the same truth with the same {parameter('jackknife')}",
        )


def _finding_of_groups(
    family: PairFamily, cell: str, pair: tuple[str, str], compared: GroupsCompared
) -> PairFinding:
    """Return the finding of a gap between groups of users, by intervals of all group pairs."""
    baseline, system = (family.results[name] for name in pair)
    users = _users_in_groups(family, cell, pair, compared)
    test = partial(
        compare_groups,
        users["value after"].to_numpy(),
        users["value"].to_numpy(),
        users["group"].to_numpy(),
        compared.statistic,
        cluster=users["cluster"].to_numpy() if "cluster" in users.columns else None,
        n_resamples=family.resamples,
        seed=family.seed,
    )
    interval, p = test(confidence=1 - family.alpha)

    def limits_of(level: float) -> Limits:
        found = interval if level == family.alpha else test(confidence=1 - level)[0]
        return Limits(found.low, found.high)

    values = baseline.values[cell], system.values[cell]
    tested = TestResult(
        "max-T of groups", values[1] - values[0], math.nan, p, len(users), interval.flags
    )
    return make_jackknife_finding(
        cell,
        pair,
        values,
        len(users),
        tested,
        limits_of,
        alpha=family.alpha,
        error=math.nan,
        better=family.direction(cell),
    )


def _users_in_groups(
    family: PairFamily, cell: str, pair: tuple[str, str], compared: GroupsCompared
) -> pl.DataFrame:
    """Return the values of both systems for the same users in the same groups."""
    before, after = (
        values_by_group(compared, cell, family.results[name].per_user) for name in pair
    )
    users = before.join(after, on=["user", "group"], suffix=" after", maintain_order="left")
    if not len(users) == len(before) == len(after):
        rows = family.unit.rows
        raise ParameterError(
            f"{cell} is compared over the same {rows} in the same groups",
            found=f"{pair[0]}: {len(before)} {rows}, {pair[1]}: {len(after)}, the same in "
            f"both: {len(users)}",
            hint="evaluate both on the same truth with the same table of users",
        )
    return users
