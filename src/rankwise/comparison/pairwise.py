"""Families of pairs of systems tested together: independent users, clusters, seeds, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.alignment import AlignedUsers, align_users
from rankwise.comparison.design import SystemRank
from rankwise.comparison.rows import (
    JOINT,
    Clusters,
    DataSets,
    PairFinding,
    Seeds,
    detectable,
    make_jackknife_finding,
    make_pair_finding,
    means_of_pair,
    with_joint_p,
    with_margin_limits,
    with_margin_size,
)
from rankwise.core.arguments import CorrectionMethod, Missing, Test
from rankwise.core.terminal import percent
from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.findings.finding import NO_LIMITS, EffectSizes, Limits, MarginTests, TestOutcome
from rankwise.findings.margins import Margin, margin_flags, margin_of, margin_test
from rankwise.metrics.base import GroupsCompared
from rankwise.results.intervals import (
    group_column,
    groups_compared,
    groups_of_users,
    jackknife_caveats,
    range_of,
    values_by_group,
)
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.bounded_means import (
    BOUNDED,
    bounded_interval_of,
    bounded_lift,
    bounded_p_of_all,
    bounded_test_of,
)
from rankwise.stats.data_sets import cluster_error, cluster_values, jackknife_error, of_clusters
from rankwise.stats.differences import (
    LEAST,
    MANY,
    Differences,
    Floats,
    TestResult,
    differences,
    paired_differences,
    significant_digits,
    t_around,
    t_is_valid,
    too_skewed,
    two_sided_t,
)
from rankwise.stats.effect_sizes import cliffs_delta, fieller, lift_by_quantile, rank_biserial
from rankwise.stats.equivalence import UNBOUNDED, Bounds, minimum_detectable, ratio_limits
from rankwise.stats.equivalence import Margin as MarginSize
from rankwise.stats.group_means import compare_groups
from rankwise.stats.intervals import constant_interval, interval_of_test, lift_of_test
from rankwise.stats.many_systems import (
    SystemRanks,
    max_t,
    max_t_quantile,
    pairwise_p,
    rank_systems,
    ranks_of,
    tukey,
    tukey_width,
)
from rankwise.stats.paired_tests import (
    bootstrap_test,
    sign,
    sign_flip,
    smallest_p,
    t_test,
    wilcoxon,
)
from rankwise.stats.variance_components import (
    VarianceComponents,
    deviation_of,
    over_data_sets,
    seed_variance,
    variance_of_means,
)

_TESTS = {"wilcoxon": wilcoxon, "sign": sign}


@dataclass(frozen=True, kw_only=True)
class PairwiseTests:
    """Pairs of results, (baseline, system), over one group of users or all of them.

    ``tests`` is the number of pairs that are corrected together, over all groups;
    ``exploratory_tests`` that of the rows of the exploratory metrics, which are corrected together.
    ``main`` is the primary metric, empty if these rows are exploratory in all metrics. ``clusters``
    is the column of users' groups that are not independent of each other, if there are any.
    ``earlier`` is the number of pairs that were compared before on the same users.
    """

    results: Mapping[str, Result]
    by: str | None = None
    group: str | None
    pairs: list[tuple[str, str]]
    main: str
    tests: int
    alpha: float
    test: Test
    correction: CorrectionMethod
    margin: Margin
    missing: Missing
    n_resamples: int | None
    seed: int
    exploratory_tests: int = 1
    clusters: str | None = None
    earlier: int = 0

    @property
    def users(self) -> int:
        """The number of users, or requests, of the first result."""
        return len(next(iter(self.results.values())).per_user)

    @property
    def unit(self) -> SamplingUnit:
        """The sampling unit of the values, within ``clusters``."""
        return next(iter(self.results.values())).sampling_unit.within(self.clusters)

    @property
    def joint_alpha(self) -> float:
        """The level of claims about all pairs together, beside pairs that were compared earlier."""
        return self.alpha * len(self.pairs) / (len(self.pairs) + self.earlier)

    def rows(self, cell: str) -> list[PairFinding]:
        """Return the rows of one metric, adjusted if one test is of all pairs together."""
        main, aligned, margin = cell == self.main, self.aligned(cell), margin_of(self.margin, cell)
        if aligned is None:
            rows = [self._row_of_all_lists(cell, pair) for pair in self.pairs]
        else:
            rows = self._rows_of_means(cell, aligned)
        for at, row in enumerate(rows):
            if aligned is not None:
                bounded = math.isfinite(row.largest)
                caveats = margin_flags(margin, row.means.mean_baseline, bounded=bounded)
            else:
                caveats = margin_flags(margin, row.means.mean_baseline)
                caveats += [] if margin is None or caveats else ["margin tested by the jackknife"]
            rows[at] = replace(
                row,
                by=self.by,
                group=self.group,
                primary=main,
                margin=with_margin_size(row.margin, margin, row.means.mean_baseline),
                flags=(*row.flags, *caveats),
            )
        if main and aligned is not None and self.correction in JOINT:
            return self._jointly(rows, aligned)
        return rows

    def _jointly(self, rows: list[PairFinding], aligned: AlignedUsers) -> list[PairFinding]:
        """Return rows with joint p-values and intervals of all pairs, by Tukey or the largest t."""
        values, confidence = aligned.values.T, 1 - self.joint_alpha
        if self.correction == "tukey":
            matrix = significant_digits(aligned.values)
            of_pair = tukey(matrix)
            p = [of_pair[baseline, system] for system, baseline in self._columns]
            halves = np.full(len(rows), tukey_width(matrix, confidence))
        else:
            d = np.stack(
                [paired_differences(values[x], values[y]) for x, y in self._columns], axis=1
            )
            p = max_t(d, n_resamples=self.resamples(), seed=self.seed).tolist()
            halves = np.full(len(rows), math.nan)
            if len(d) > 1:
                options: dict[str, Any] = {"n_resamples": self.resamples(), "seed": self.seed}
                halves = max_t_quantile(d, confidence=confidence, **options) * np.array(
                    [row.std_error for row in rows]
                )
        pairs = aligned.differences(self._columns)
        joint = (
            replace(
                row,
                joint=_joint_limits(row, pair, float(half), self.joint_alpha),
                joint_confidence=confidence,
            )
            for row, pair, half in zip(rows, pairs, halves, strict=True)
        )
        return with_joint_p(list(joint), p)

    def _margin(self, cell: str) -> MarginSize | None:
        """Return the margin of a metric."""
        return margin_test(margin_of(self.margin, cell))

    def better(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        return next(iter(self.results.values())).direction(cell)

    def _tests(self, cell: str) -> tuple[int, int]:
        """Return how many pairs have intervals that hold together, and are corrected together."""
        return (self.tests, self.tests) if cell == self.main else (1, self.exploratory_tests)

    def _rows_of_means(self, cell: str, aligned: AlignedUsers) -> list[PairFinding]:
        """Return the rows of all pairs of means over users."""
        finite = bool(np.isfinite(aligned.values).all())
        bounds = bounds_of(self.results, cell) if finite else UNBOUNDED
        largest = bounds[1] - bounds[0]
        deltas, rows = aligned.deltas(self._columns), []
        pairs, make = aligned.differences(self._columns), self._row_maker(cell, aligned, bounds)
        tests = [self._tested(d, largest) for d in pairs]
        p_bound = [tested.p for tested in tests]
        if not tests or any(tested.test != BOUNDED for tested in tests):
            p_bound = (
                bounded_p_of_all(pairs, largest)
                if math.isfinite(largest)
                else [math.nan] * len(pairs)
            )
        for pair, d, tested, delta, p in zip(
            self.pairs, pairs, tests, deltas, p_bound, strict=True
        ):
            rows.append(self._row_of_means(make, pair, d, tested, bounds, delta=delta, p_bound=p))
        return rows

    def _row_of_means(
        self,
        make: Callable[..., PairFinding],
        pair: tuple[str, str],
        d: Differences,
        tested: TestResult,
        bounds: Bounds,
        **more: float,
    ) -> PairFinding:
        """Return the row of one pair of means, with its intervals at any level."""
        largest = bounds[1] - bounds[0]
        test, constant = self._test(d, largest), d.n > 1 and not d.deviation
        options: dict[str, Any] = {
            "seed": self.seed,
            "n_resamples": self.resamples(),
            "p": tested.p,
        }

        def limits_of(level: float) -> Limits:
            interval = interval_of_test(d, test, confidence=1 - level, largest=largest, **options)
            _, *lift = lift_of_test(d, test, interval, bounds, **options)
            return Limits(interval.low, interval.high, *lift)

        interval = interval_of_test(d, test, confidence=1 - self.alpha, largest=largest, **options)
        row = make(pair, d, tested, limits_of, interval_flags=interval.flags, **more)
        if test not in _TESTS or constant:
            return row
        # The interval is that of the mean, and the test is of the median: it stands beside no
        # verdict.
        side = float(rank_biserial(d) if test == "wilcoxon" else d.wins - d.losses)
        means = replace(row.means, low_together=math.nan, high_together=math.nan)
        return replace(row, means=means, limits_of=_without_limits, side=side)

    def _row_maker(
        self, cell: str, aligned: AlignedUsers, bounds: Bounds
    ) -> Callable[..., PairFinding]:
        """Return `make_pair_finding` with the arguments shared by all pairs of a metric."""
        together, corrected = self._tests(cell)
        return partial(
            make_pair_finding,
            cell,
            alpha=self.alpha,
            margin=self._margin(cell),
            better=self.better(cell),
            together=together,
            tests=corrected,
            dropped=(aligned.users, aligned.reasons),
            bounds=bounds,
            cluster=aligned.cluster,
        )

    def _row_of_all_lists(self, cell: str, pair: tuple[str, str]) -> PairFinding:
        """Return the row of one pair of values that are not means over users, by the jackknife."""
        baseline, system = self.results[pair[0]], self.results[pair[1]]
        compared = groups_compared(system.metrics, cell)
        if compared is not None:
            return self._row_of_groups(cell, pair, compared)
        assert baseline.replicates is not None
        assert system.replicates is not None
        _check_groups_left_out(cell, {name: self.results[name] for name in pair})
        before, after = baseline.values[cell], system.values[cell]
        difference = after - before
        y, x = baseline.replicates[cell].to_numpy(), system.replicates[cell].to_numpy()

        def scaled(factor: float) -> tuple[float, VarianceComponents]:
            error, groups = jackknife_error(x - factor * y)
            return after - factor * before, VarianceComponents((error**2, groups - 1.0))

        error, groups = jackknife_error(x - y)
        left = len(system.replicates) - groups
        flags = [f"{left} groups without which there is no value"] if left else []
        p = math.nan
        if groups < 2:
            flags.append("fewer than two groups")
        elif error > 0:
            p = two_sided_t(difference / error, groups - 1)
        else:
            p = 1.0 if difference == 0 else math.nan
            flags.append("identical" if difference == 0 else "zero variance")
        flags += jackknife_caveats(system.metrics, cell)
        tested = TestResult("jackknife t", difference, math.nan, p, groups, tuple(flags))
        users, better = len(baseline.per_user), self.better(cell)

        def limits_of(level: float) -> Limits:
            interval = t_around(
                difference, error, groups - 1, confidence=1 - level, method="jackknife", n=groups
            )
            lift = _scaled_lift(scaled, (before, after), error, level)
            return Limits(interval.low, interval.high, *lift)

        row = make_jackknife_finding(
            cell,
            pair,
            (before, after),
            users,
            tested,
            limits_of,
            alpha=self.alpha,
            error=error,
            better=better,
        )
        claims = _margin_tests(
            self._margin(cell), before, better, scaled, limits_of(2 * self.alpha)
        )
        return replace(row, margin=claims)

    def _row_of_groups(
        self, cell: str, pair: tuple[str, str], compared: GroupsCompared
    ) -> PairFinding:
        """Return the row of a gap between groups of users, from intervals of all group pairs."""
        baseline, system = (self.results[name] for name in pair)
        before, after = (
            values_by_group(compared, cell, result.per_user) for result in (baseline, system)
        )
        users = before.join(after, on=["user", "group"], suffix=" after", maintain_order="left")
        if not len(users) == len(before) == len(after):
            rows = self.unit.rows
            raise ParameterError(
                f"{cell} is compared over the same {rows} in the same groups",
                found=f"{pair[0]}: {len(before)} {rows}, {pair[1]}: {len(after)}, the same in "
                f"both: {len(users)}",
                hint="evaluate both on the same truth with the same table of users",
            )
        test = partial(
            compare_groups,
            users["value after"].to_numpy(),
            users["value"].to_numpy(),
            users["group"].to_numpy(),
            compared.statistic,
            cluster=users["cluster"].to_numpy() if "cluster" in users.columns else None,
            n_resamples=self.resamples(),
            seed=self.seed,
        )
        interval, p = test(confidence=1 - self.alpha)

        def limits_of(level: float) -> Limits:
            found = interval if level == self.alpha else test(confidence=1 - level)[0]
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
            alpha=self.alpha,
            error=math.nan,
            better=self.better(cell),
        )

    def aligned(self, cell: str) -> AlignedUsers | None:
        """Return the users' values; None if the value is not a mean over users."""
        return self._main_aligned if cell == self.main else self._align(cell)

    @cached_property
    def _main_aligned(self) -> AlignedUsers | None:
        """The users' values of the primary metric, which rows and ranks are made from."""
        return self._align(self.main)

    def _align(self, cell: str) -> AlignedUsers | None:
        unknown = any(
            r.kinds.get(cell) == "mean" and cell not in r.per_user.columns
            for r in self.results.values()
        )
        if unknown:
            raise MetricError(
                f"{cell} describes lists, and has no value in a slice of the relevant items"
            )
        if not all(result.is_mean_of_users(cell) for result in self.results.values()):
            return None
        check_zero(cell, self.missing, self.better(cell))
        return align_users(self.results, cell, self.missing, self._clusters)

    @cached_property
    def _clusters(self) -> pl.DataFrame | None:
        if self.clusters is None:
            return None
        tables = {name: result.per_user for name, result in self.results.items()}
        return groups_of_users(tables, self.clusters)

    @cached_property
    def _at(self) -> dict[str, int]:
        """The column of each result in aligned values."""
        return {name: at for at, name in enumerate(self.results)}

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The columns of the system and the baseline of each pair in aligned values."""
        return [(self._at[system], self._at[baseline]) for baseline, system in self.pairs]

    def resamples(self) -> int:
        """Return the number of resamples: by default enough for a family of so many tests."""
        return self.n_resamples or max(10_000, math.ceil(4 * self.tests / self.alpha))

    def _test(self, pairs: Differences, largest: float) -> str:
        """Return the test of a pair; ``"auto"``: t from 1,000 users, else bounded or sign flips."""
        bounded = math.isfinite(largest)
        if self.test == "auto" or (self.test == "bounded" and not bounded):
            return "t" if pairs.n >= MANY else "bounded" if bounded else "sign_flip"
        return self.test

    def _tested(self, pairs: Differences, largest: float) -> TestResult:
        test = self._test(pairs, largest)
        # Where all users differ alike, the interval is that of the bound, and so is the test.
        constant = pairs.n > 1 and pairs.nonzero > 0 and not pairs.deviation
        if test == "bounded" or (constant and math.isfinite(largest)):
            return bounded_test_of(pairs, largest)
        if test == "t":
            return t_test(pairs)
        if test in _TESTS:
            return _TESTS[test](pairs.x, pairs.y)
        draw = sign_flip if test == "sign_flip" else bootstrap_test
        count = self.resamples()
        tested = draw(pairs.x, pairs.y, n_resamples=count, seed=self.seed)
        if tested.resamples and self.tests / (1 + count) > self.alpha:
            few = f"{count} resamples are too few for {self.tests} pairs"
            tested = replace(tested, flags=(*tested.flags, few))
        return tested


def _of_clusters(values: Floats, cluster: Any) -> Floats:
    """Return one column per cluster, of values with one row per seed."""
    return np.stack([cluster_values(of_seed, cluster) for of_seed in values])


def bounds_of(results: Mapping[str, Result], cell: str) -> Bounds:
    """Return the smallest and the largest value of a user that a metric allows."""
    low, high = range_of((m for r in results.values() for m in r.metrics), cell)
    return float(low), float(high)


def check_zero(cell: str, missing: Missing, better: bool | None) -> None:
    """Raise if a missing value would be taken for the best one."""
    if missing == "zero" and better is False:
        raise ParameterError(
            f"0 is the best value of {cell}, and would reward lists that are missing",
            found='missing="zero"',
            hint='missing="common" compares the users who have all values',
        )


def _check_groups_left_out(cell: str, results: Mapping[str, Result]) -> None:
    """Raise unless the jackknife left the same groups of users out of all results."""
    if len({str(result.provenance.get("jackknife")) for result in results.values()}) > 1:
        groups = {n: 0 if r.replicates is None else len(r.replicates) for n, r in results.items()}
        sizes = (f"{n}: {len(r.per_user)} users in {groups[n]} groups" for n, r in results.items())
        raise ParameterError(
            f"{cell} is compared by the jackknife, which needs the same users in the same groups",
            found=", ".join(sizes),
            hint="evaluate both on the same truth with the same jackknife=",
        )


_FEW = 5
"""Seeds below which the variance between them is hardly known."""
_TEST = "two-level t"


@dataclass(frozen=True, kw_only=True)
class ClusteredPairwiseTests(PairwiseTests):
    """Pairs of systems with several seeds each, over users that may come in clusters.

    Attributes
    ----------
    seeds : mapping of str to sequence of str
        The names of the results of each system, one per seed; empty if each has one result.
    paired : bool
        Whether seed i of two systems belongs together.
    """

    seeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    paired: bool = False

    def _rows_of_means(self, cell: str, aligned: AlignedUsers) -> list[PairFinding]:
        if not self.seeds and self.clusters is None:
            return super()._rows_of_means(cell, aligned)
        return [self._row(cell, pair, aligned) for pair in self.pairs]

    def _row(self, cell: str, pair: tuple[str, str], aligned: AlignedUsers) -> PairFinding:
        if not len(aligned.values):
            raise MetricError("no user has a value in every result", found=cell)
        if np.isinf(aligned.values).any():
            raise InputError(f"{cell} is infinite for some users", found=" and ".join(pair))
        y, x = (self._values(side, aligned) for side in pair)
        d = Differences(x.mean(axis=0), y.mean(axis=0))
        variance = self._variance(d.d, [x - y] if self.paired else [x, y], aligned)
        corrected, bounds = self._tests(cell)[1], bounds_of(self.results, cell)
        largest = bounds[1] - bounds[0]
        if variance.total != 0:  # NaN for a single user or cluster: nothing is shown then
            name = _TEST if self.seeds else "clustered t"
            flags = d.flags if aligned.cluster is None else of_clusters(d, aligned.cluster).flags
            tested = TestResult(
                name, d.mean, d.mean / variance.error, variance.p(d.mean), d.n, flags
            )
        else:  # all users, or all clusters, differ alike, whatever the seed
            tested = self._constant(d, aligned, largest)
        sample = aligned.n_clusters if self.clusters is not None else d.n
        with_bound = (
            sample > 1 and (sample < MANY or self.test == "bounded") and math.isfinite(largest)
        )

        def limits_of(level: float) -> Limits:
            confidence = 1 - level
            limits = self._limits_of_variance(d, (x, y), variance, aligned, largest, confidence)
            if not with_bound:
                return limits
            interval = bounded_interval_of(
                d, largest, confidence=confidence, cluster=aligned.cluster
            )
            _, *lift = bounded_lift(d, bounds, confidence=confidence, cluster=aligned.cluster)
            return limits.wider(Limits(interval.low, interval.high, *lift))

        p_bound = (
            bounded_test_of(d, largest, aligned.cluster).p if math.isfinite(largest) else math.nan
        )
        make, delta = self._row_maker(cell, aligned, bounds), cliffs_delta(d.x, d.y)
        flags = self._flags_of_constant(d, aligned, largest) if variance.total == 0 else ()
        row = make(pair, d, tested, limits_of, delta=delta, p_bound=p_bound, interval_flags=flags)
        if self.seeds:
            row = self._with_seeds(row, variance, (y.mean(axis=1), x.mean(axis=1)))
        if self.clusters is not None:
            flags = (*row.flags, *self.unit.flags(aligned.n_clusters))
            flags = (*flags, self.unit.untested_flag) if math.isnan(variance.total) else flags
            row = replace(row, clusters=Clusters(aligned.n_clusters), flags=flags)
        if variance.total != 0:
            row = self._with_variance(row, variance, (x, y), aligned, self.alpha / corrected)
        elif (
            aligned.cluster is not None
        ):  # rows vary, and clusters do not: nothing says what would be found
            row = replace(row, effect=replace(row.effect, minimum_detectable=math.nan))
        return self._with_bound(row, d, aligned) if with_bound else row

    def _limits_of_variance(
        self,
        d: Differences,
        systems: tuple[Floats, Floats],
        variance: VarianceComponents,
        aligned: AlignedUsers,
        largest: float,
        confidence: float,
    ) -> Limits:
        """Return the limits of a mean difference over seeds and clusters.

        A constant difference gets the limits that unseen values could reach.
        """
        if variance.total != 0:
            interval = variance.interval(d.mean, confidence=confidence, n=d.n)
            return Limits(
                interval.low,
                interval.high,
                *self._lift(d, systems, variance, aligned, confidence)[1:],
            )
        if aligned.cluster is None:
            options: dict[str, Any] = {
                "seed": self.seed,
                "n_resamples": self.resamples(),
                "largest": largest,
            }
            interval = interval_of_test(d, self._test(d, largest), confidence=confidence, **options)
        else:
            interval = constant_interval(
                d.mean, aligned.n_clusters, -largest, largest, confidence=confidence
            )
        return Limits(interval.low, interval.high)

    def _with_bound(self, row: PairFinding, d: Differences, aligned: AlignedUsers) -> PairFinding:
        """Return a row with the larger p-value of its own test and the bounded mean."""
        test, means = row.test, row.means
        flags = row.flags
        if aligned.cluster is not None:
            flags = (*flags, self.unit.largest_flag(int(np.bincount(aligned.cluster).max())))
        together = bounded_interval_of(
            d,
            row.largest,
            confidence=1 - self.alpha / self._tests(row.metric)[0],
            cluster=aligned.cluster,
        )
        half = max(d.mean - together.low, together.high - d.mean)
        wide = max(
            row.effect.minimum_detectable, detectable(half + 0.8416 * row.std_error, row.largest)
        )
        test = replace(
            test, test=f"{test.test}, {BOUNDED}", p=float(np.maximum(test.p, test.p_bound))
        )
        effect = replace(row.effect, minimum_detectable=wide)
        return replace(row, means=means, test=test, effect=effect, flags=flags)

    def _constant(self, d: Differences, aligned: AlignedUsers, largest: float) -> TestResult:
        """Return the test of a difference without variance: by its signs, or the bound."""
        if aligned.cluster is None:
            return self._tested(d, largest)
        p = smallest_p(aligned.n_clusters) if d.mean else 1.0
        flags = of_clusters(d, aligned.cluster).sample_flags
        flags = (*flags, self.unit.unvaried_flag) if d.nonzero else flags
        return TestResult("sign-flip of clusters", d.mean, math.nan, p, d.n, flags)

    def _flags_of_constant(
        self, d: Differences, aligned: AlignedUsers, largest: float
    ) -> tuple[str, ...]:
        """Return the caveats of the interval of a difference without variance."""
        count = d.n if aligned.cluster is None else aligned.n_clusters
        if count < 2 and aligned.cluster is None:
            return ()
        return constant_interval(d.mean, count, -largest, largest, confidence=1 - self.alpha).flags

    def _values(self, system: str, aligned: AlignedUsers) -> Floats:
        """Return the values of a system, one row per seed and one column per user."""
        columns = [self._at[name] for name in self.seeds.get(system, [system])]
        return np.ascontiguousarray(aligned.values[:, columns].T)

    def _variance(
        self, users: Floats, seeds: Sequence[Floats], aligned: AlignedUsers
    ) -> VarianceComponents:
        """Return the variance of a mean over users and seeds."""
        if aligned.cluster is None:
            return variance_of_means(users, seeds)
        several = aligned.n_clusters > 1
        # What users and seeds have of each other is alike in all rows of a cluster, which count
        # once.
        seeds = [
            _of_clusters(values, aligned.cluster) if len(values) > 1 else values for values in seeds
        ]
        error, freedom = cluster_error(users, aligned.cluster) if several else (math.nan, 0.0)
        return variance_of_means(users, seeds, (error**2, freedom))

    def _with_variance(
        self,
        row: PairFinding,
        variance: VarianceComponents,
        systems: tuple[Floats, Floats],
        aligned: AlignedUsers,
        level: float,
    ) -> PairFinding:
        """Return a row over seeds and clusters: no claim is stronger than that over users."""
        wide = (variance.quantile(level / 2) + variance.quantile(0.2)) * variance.error
        # Of fewer seeds the variance is known too badly to say what would be found.
        unknown = any(freedom < _FEW - 1 for _, freedom in variance.seeds)
        effect = replace(
            row.effect, minimum_detectable=math.nan if unknown else detectable(wide, row.largest)
        )
        x, y = systems

        def scaled(factor: float) -> tuple[float, VarianceComponents]:
            d = Differences(x.mean(axis=0), factor * y.mean(axis=0))
            return d.mean, self._variance(
                d.d, [x - factor * y] if self.paired else [x, factor * y], aligned
            )

        of_variance = _margin_tests(
            self._margin(row.metric), row.means.mean_baseline, row.higher_is_better, scaled
        )
        claims = replace(
            row.margin,
            users_needed=None,
            p_equivalence=float(np.maximum(row.margin.p_equivalence, of_variance.p_equivalence)),
            p_non_inferior=float(np.maximum(row.margin.p_non_inferior, of_variance.p_non_inferior)),
        )
        of_users = row.margin_limits_of

        def margin_limits_of(level: float) -> Limits:
            assert of_users is not None
            difference, before, after = (
                row.means.difference,
                row.means.mean_baseline,
                row.means.mean_system,
            )
            interval = variance.interval(difference, confidence=1 - level, n=row.effect.users or 0)
            lift = _scaled_lift(scaled, (before, after), variance.error, level)
            return of_users(level).wider(Limits(interval.low, interval.high, *lift))

        if self._margin(row.metric) is not None:
            claims = with_margin_limits(claims, margin_limits_of(2 * self.alpha))
        return replace(
            row,
            effect=effect,
            margin=claims,
            std_error=variance.error,
            margin_limits_of=margin_limits_of,
        )

    def _with_seeds(
        self, row: PairFinding, variance: VarianceComponents, means: tuple[Floats, Floats]
    ) -> PairFinding:
        """Return a row with its seeds; ``means`` has the seeds' means of baseline and system."""
        total, notes = variance.total, []
        share = variance.of_seeds / total if total > 0 else math.nan
        more = variance.seeds_to_halve(1 - self.alpha) if total > 0 else None
        for system, values in zip((row.baseline, row.system), means, strict=True):
            count = len(values)
            if count == 1:
                notes.append(f"one seed of {system}: treated as a system without seeds")
            elif not np.ptp(values):
                notes.append(f"all {count} seeds of {system} have the same mean")
            elif len(np.unique(values)) < count:
                notes.append(f"some of {count} seeds of {system} have the same mean: given twice?")
            elif count < _FEW:
                notes.append(f"{count} seeds of {system} tell little about the variance of seeds")
        if share > 0.5:
            halve = (
                f"{more} more of each system halve the interval"
                if more
                else "no number of them halves the interval"
            )
            notes.append(f"seeds make up {percent(share)} of the variance: {halve}")
        before, after = (
            float(values.std(ddof=1)) if len(values) > 1 else math.nan for values in means
        )
        seeds = Seeds(len(means[0]), len(means[1]), before, after, share, more)
        return replace(row, seeds=seeds, flags=(*row.flags, *notes))

    def _lift(
        self,
        d: Differences,
        systems: tuple[Floats, Floats],
        variance: VarianceComponents,
        aligned: AlignedUsers,
        confidence: float,
    ) -> tuple[float, float, float]:
        """Return the relative lift and its interval, from the variances of both means."""
        of_x, of_y = (
            self._variance(mean, [values], aligned).total
            for mean, values in zip((d.x, d.y), systems, strict=True)
        )
        both = (of_x + of_y - variance.total) / 2  # of a difference: var x + var y − 2 cov
        covariance = np.array([[of_x, both], [both, of_y]])
        return fieller(
            d.means, d.means[0] - d.means[1], covariance, variance.quantile((1 - confidence) / 2)
        )

    def _row_of_all_lists(self, cell: str, pair: tuple[str, str]) -> PairFinding:
        """Return the row of values that are not means over users: the jackknife is over users."""
        if not self.seeds:
            row = super()._row_of_all_lists(cell, pair)
            return replace(
                row, clusters=self._users_of_requests(pair[0]), flags=(*row.flags, *self._ignored())
            )
        sides = [[self.results[name] for name in self.seeds[system]] for system in pair]
        if groups_compared(sides[1][0].metrics, cell) is not None:
            raise MetricError(
                f"{cell} is compared for one result per system, not for several seeds"
            )
        _check_groups_left_out(
            cell, {n: self.results[n] for system in pair for n in self.seeds[system]}
        )
        y, x = (np.array([result.values[cell] for result in results]) for results in sides)
        of_y, of_x = (
            np.mean([result.replicates[cell].to_numpy() for result in results], axis=0)  # type: ignore[index]
            for results in sides
        )

        def scaled(factor: float) -> tuple[float, VarianceComponents]:
            error, groups = jackknife_error(of_x - factor * of_y)
            seeds = [x - factor * y] if self.paired else [x, factor * y]
            parts = (
                part for part, _ in (seed_variance(v[:, None]) for v in seeds) if part is not None
            )
            users = (error**2, float(groups - 1))
            return float(x.mean() - factor * y.mean()), VarianceComponents(users, tuple(parts))

        difference, variance = scaled(1.0)
        groups = int(variance.users[1]) + 1
        p = 1.0 if variance.total == difference == 0 else variance.p(difference)
        flags = (*jackknife_caveats(sides[1][0].metrics, cell), *self._ignored())
        tested = TestResult(f"jackknife {_TEST}", difference, math.nan, p, groups, flags)
        means = (float(y.mean()), float(x.mean()))
        error = variance.error if variance.total > 0 else math.nan

        def limits_of(level: float) -> Limits:
            interval = variance.interval(difference, confidence=1 - level, n=groups)
            return Limits(interval.low, interval.high, *_scaled_lift(scaled, means, error, level))

        row = make_jackknife_finding(
            cell,
            pair,
            means,
            len(sides[0][0].per_user),
            tested,
            limits_of,
            alpha=self.alpha,
            error=error,
            better=self.better(cell),
        )
        claims = _margin_tests(
            self._margin(cell), means[0], row.higher_is_better, scaled, limits_of(2 * self.alpha)
        )
        row = replace(row, margin=claims, clusters=self._users_of_requests(self.seeds[pair[0]][0]))
        return self._with_seeds(row, variance, (y, x))

    def _users_of_requests(self, result: str) -> Clusters:
        """Return the number of users of a result over requests; none for a result over users."""
        if not self.unit.is_of_requests:
            return Clusters()
        return Clusters(self.results[result].per_user[group_column("user")].n_unique())

    def _ignored(self) -> list[str]:
        if (
            self.clusters is None or self.unit.is_of_requests
        ):  # jackknife groups have all requests of a user
            return []
        return [f"users are treated as independent, without clusters by {self.clusters}"]


def _margin_tests(
    margin: MarginSize | None,
    mean_baseline: float,
    better: bool | None,
    scaled: Callable[[float], tuple[float, VarianceComponents]],
    limits: Limits = NO_LIMITS,
) -> MarginTests:
    """Return the margin tests of an estimate with a variance, with their one-sided limits.

    ``scaled`` returns the system minus the baseline times a factor, and its variance.
    """
    if margin is None or (margin.relative and not mean_baseline):
        return MarginTests()
    ps = {}
    for side in (1, -1):
        difference, variance = scaled(margin.factor(side, mean_baseline))
        gap = margin.limit - side * difference
        ps[side] = (LEAST if gap > 0 else 1.0) if variance.total == 0 else variance.p_above(gap)
    no_worse = math.nan if better is None else ps[-1 if better else 1]
    tests = MarginTests(p_equivalence=float(np.maximum(ps[1], ps[-1])), p_non_inferior=no_worse)
    return with_margin_limits(tests, limits)


def _scaled_lift(
    scaled: Callable[[float], tuple[float, VarianceComponents]],
    means: tuple[float, float],
    error: float,
    level: float,
) -> tuple[float, float]:
    """Return the limits of the relative lift of two means, baseline first, as in margin tests."""
    before, after = means
    if not error > 0 or not math.isfinite(error):
        return math.nan, math.nan

    def p(ratio: float, side: int) -> float:
        difference, variance = scaled(ratio)
        gap = -side * difference
        return (LEAST if gap > 0 else 1.0) if variance.total == 0 else variance.p_above(gap)

    return ratio_limits(p, after, before, error, level / 2)


def _without_limits(level: float) -> Limits:  # noqa: ARG001
    """Return that a test has no interval of the mean."""
    return NO_LIMITS


def _joint_limits(row: PairFinding, pairs: Differences, half: float, level: float) -> Limits:
    """Return the joint limits of a pair, never narrower than its bounded limits at this level."""
    assert row.limits_of is not None
    alone = row.limits_of(level)
    if not row.std_error > 0 or math.isnan(
        half
    ):  # no user differs: the interval is that of unseen ones
        return alone
    means = row.means
    _, *lift = lift_by_quantile(pairs, half / row.std_error)
    limits = Limits(means.difference - half, means.difference + half, *lift)
    return limits.wider(alone) if row.test.test == BOUNDED else limits


def combine_data_sets(
    rows: Sequence[PairFinding], sets: int, main: str, alpha: float, margin: Margin, pairs: int
) -> list[PairFinding]:
    """Return one row per metric and pair that all data sets have a row of.

    Those of the primary metric ``main`` are a family of ``pairs``.
    """
    by_pair: dict[tuple[str, str, str], list[PairFinding]] = {}
    for row in rows:
        by_pair.setdefault((row.metric, row.baseline, row.system), []).append(row)
    metrics = len({metric for metric, _, _ in by_pair})
    exploratory = max(pairs * ((metrics - 1) + sets * metrics), 1)
    return [
        _row_over_data_sets(
            rows_of_pair,
            alpha,
            margin_of(margin, metric),
            main=metric == main,
            tests=pairs if metric == main else exploratory,
        )
        for (metric, _, _), rows_of_pair in by_pair.items()
        if len(rows_of_pair) == sets
    ]


def _row_over_data_sets(
    rows: Sequence[PairFinding], alpha: float, margin: float | str | None, *, main: bool, tests: int
) -> PairFinding:
    first, k = rows[0], len(rows)
    gaps, errors = [row.means.difference for row in rows], [row.std_error for row in rows]
    combined = over_data_sets(
        gaps, None if any(map(math.isnan, errors)) else errors, confidence=1 - alpha
    )
    difference = combined.interval.estimate
    before = math.fsum(row.means.mean_baseline for row in rows) / k
    after = math.fsum(row.means.mean_system for row in rows) / k
    deviation = deviation_of(np.array(gaps))
    flags = [
        *combined.interval.flags,
        *margin_flags(margin, before),
    ]

    def scaled(factor: float) -> tuple[float, VarianceComponents]:
        d = np.array([row.means.mean_system - factor * row.means.mean_baseline for row in rows])
        return float(d.mean()), VarianceComponents((deviation_of(d) ** 2 / k, k - 1.0))

    def limits_of(level: float) -> Limits:
        interval = over_data_sets(gaps, confidence=1 - level).interval
        error = deviation / math.sqrt(k) if deviation else math.nan
        return Limits(
            interval.low, interval.high, *_scaled_lift(scaled, (before, after), error, level)
        )

    claims = MarginTests()
    if margin is not None and t_is_valid(differences(gaps)):
        claims = _margin_tests(
            margin_test(margin), before, first.higher_is_better, scaled, limits_of(2 * alpha)
        )
    elif margin is not None:  # rare losses on other data sets have not been seen
        flags.append("margin not tested over so few data sets")
    wide = minimum_detectable(k, alpha=alpha / tests) * (deviation or math.nan)
    alone, together = limits_of(alpha), limits_of(alpha / (tests if main else 1))
    up = -1 if first.higher_is_better is False else 1
    return PairFinding(
        metric=first.metric,
        by=first.by,
        baseline=first.baseline,
        system=first.system,
        higher_is_better=first.higher_is_better,
        primary=main,
        means=means_of_pair((before, after), difference, alone, together, 1 - alpha),
        test=TestOutcome("t over data sets", combined.p),
        effect=EffectSizes(
            difference / deviation if deviation else math.nan,
            wins=sum(up * d > 0 for d in gaps),
            ties=sum(d == 0 for d in gaps),
            losses=sum(up * d < 0 for d in gaps),
            users=sum(row.effect.users or 0 for row in rows),
            users_dropped=sum(row.effect.users_dropped or 0 for row in rows),
            dropped_because="",
            minimum_detectable=detectable(wide, first.largest),
        ),
        margin=with_margin_size(claims, margin, before),
        data_sets=DataSets(k, combined.tau),
        flags=tuple(flags),
        limits_of=limits_of,
        margin_limits_of=limits_of,
    )


_FEWEST = 3  # of two systems the pair says all


def ranks_of_users(
    aligned: AlignedUsers,
    largest: float,
    *,
    better: bool,
    alpha: float,
    n_resamples: int,
    seed: int,
) -> SystemRanks:
    """Return the ranks of systems from their values for the same users, all pairs tested together.

    Below 1,000 users, where a difference has a bound ``largest``, pairs are tested as
    `PairwiseTests` tests one, and corrected by Holm; else by the largest t of all pairs.
    """
    if not _has_limit(aligned, largest):
        return rank_systems(
            aligned.values,
            higher_is_better=better,
            confidence=1 - alpha,
            n_resamples=n_resamples,
            seed=seed,
        )
    pairs = _all_pairs(aligned)
    tests = [(d.mean, bounded_test_of(d, largest).p) for d in aligned.differences(pairs)]
    return _ranks_by_holm(aligned.values.mean(axis=0), pairs, tests, alpha, better=better)


def _largest(family: PairwiseTests, cell: str) -> float:
    """Return the bound of a difference if the family's test uses the bound; else infinity."""
    low, high = bounds_of(family.results, cell)
    return high - low if family.test in ("auto", "bounded") else math.inf


def _has_limit(aligned: AlignedUsers, largest: float) -> bool:
    """Return whether ranks rest on distribution-free limits, as the tests of pairs do."""
    return (
        len(aligned.values) < MANY
        and math.isfinite(largest)
        and bool(np.isfinite(aligned.values).all())
    )


def _all_pairs(aligned: AlignedUsers) -> list[tuple[int, int]]:
    """Return the columns of all pairs of systems."""
    return list(combinations(range(aligned.values.shape[1]), 2))


def ranks_are_approximate(family: PairwiseTests, cell: str) -> bool:
    """Return whether joint ranks rest on t with too few users for the skewness of a pair."""
    aligned = family.aligned(cell)
    if aligned is None or _has_limit(aligned, _largest(family, cell)):
        return False
    return any(map(too_skewed, aligned.differences(_all_pairs(aligned))))


def ranks_of_pairs(
    rows: Sequence[PairFinding],
    alpha: float,
    *,
    better: bool | None,
    further: Sequence[PairFinding] = (),
) -> list[SystemRank]:
    """Return the ranks that the verdicts of pairs allow, the best first.

    A system ranks below those that are shown to be better, and above those that are shown to be
    worse. Where every pair has a common baseline, what is better than it is better than what is
    worse than it; ``further`` are the rows of the other pairs, if these were tested. Empty for
    fewer than three systems.
    """
    means = {row.baseline: row.means.mean_baseline for row in rows}
    means |= {row.system: row.means.mean_system for row in rows}
    systems, k = list(means), len(means)
    if better is None or k < _FEWEST:
        return []
    p = np.ones((k, k))
    for row in (*rows, *further):
        if row.test.verdict in ("better", "worse"):
            i, j = systems.index(row.system), systems.index(row.baseline)
            p[(i, j) if row.test.verdict == "better" else (j, i)] = 0.0
    if len(rows) < k * (k - 1) // 2:  # through the baseline
        p = np.minimum(p, np.maximum(p[:, :, None], p[None, :, :]).min(axis=1))
    side = 1 if better else -1
    ranks = ranks_of(p, side * np.array([*means.values()]), confidence=1 - alpha)
    return _ordered(systems, list(means.values()), ranks)


def _ranks_by_holm(
    means: Floats,
    pairs: Sequence[tuple[int, int]],
    tests: Sequence[tuple[float, float]],
    alpha: float,
    *,
    better: bool,
) -> SystemRanks:
    """Return ranks from each pair's difference (first minus second) and two-sided p-value."""
    side, k = 1 if better else -1, len(means)
    p, gain = np.full((k, k), math.nan), np.zeros((k, k))
    for (i, j), (difference, two_sided) in zip(pairs, tests, strict=True):
        p[i, j] = p[j, i] = two_sided
        gain[i, j] = side * difference
        gain[j, i] = -gain[i, j]
    return ranks_of(pairwise_p(p, gain), side * means, confidence=1 - alpha)


def _ordered(
    systems: Sequence[str], means: Sequence[float], ranks: SystemRanks
) -> list[SystemRank]:
    """Return the rank of each system, the best first."""
    columns = (
        ranks.rank.tolist(),
        ranks.low.tolist(),
        ranks.high.tolist(),
        ranks.may_be_best.tolist(),
    )
    return sorted(map(SystemRank, systems, means, *columns), key=lambda system: system.rank)
