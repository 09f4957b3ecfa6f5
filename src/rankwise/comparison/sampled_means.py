"""Differences of means over users in clusters, and over several seeds of each system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.claims import Claim, broken_statement, claim_of_users
from rankwise.comparison.family import PairFamily
from rankwise.comparison.noise import RunNoise
from rankwise.comparison.rows import Clusters, PairFinding, Seeds, detectable
from rankwise.comparison.scaled_difference import ScaledDifference
from rankwise.core.terminal import percent
from rankwise.errors import MetricError
from rankwise.findings.finding import Limits, MarginTests
from rankwise.stats.bounded_means import (
    BOUNDED,
    BoundedMean,
    bounded_interval_of,
    bounded_lift,
    bounded_test_of,
    sign_of,
)
from rankwise.stats.clusters import UserClusters
from rankwise.stats.data_sets import cluster_error, cluster_values, of_clusters
from rankwise.stats.differences import Differences, Floats, TestResult
from rankwise.stats.effect_sizes import cliffs_delta, fieller
from rankwise.stats.equivalence import POWER_0_8, Bounds
from rankwise.stats.intervals import constant_interval, interval_of_test
from rankwise.stats.paired_tests import smallest_p
from rankwise.stats.variance_components import VarianceComponents, variance_of_means

TWO_LEVEL = "two-level t"
"""The test of means over users and seeds."""
_FEW = 5  # seeds below which the variance between them is hardly known
_INFORMATIVE = 3.0  # t of the correlation of gains and sizes


@dataclass(frozen=True, eq=False)
class SampledMeans:
    """The pairs of a family on one metric, whose means are over clusters or seeds besides users."""

    family: PairFamily
    cell: str
    aligned: AlignedUsers

    def findings(self) -> list[PairFinding]:
        """Return one finding per pair, before any correction."""
        if not len(self.aligned.values):
            raise MetricError("no user has a value in every result", found=self.cell)
        return [
            _SampledPair(self.family, self.cell, self.aligned, pair).finding()
            for pair in self.family.pairs
        ]


@dataclass(frozen=True, eq=False)
class _SampledPair:
    """A pair's values for the same users, one row per seed, whose users may come in clusters."""

    family: PairFamily
    cell: str
    aligned: AlignedUsers
    pair: tuple[str, str]

    def finding(self) -> PairFinding:
        """Return the finding; each step adds what one kind of sample says."""
        finding = self._finding_of_users()
        if self.family.seeds:
            finding = with_seeds(
                finding,
                self.variance,
                (self.baseline.mean(axis=1), self.system.mean(axis=1)),
                alpha=self.family.alpha,
            )
        if self.family.clusters is not None:
            finding = self._with_clusters(finding)
        if self.varies:
            finding = self._with_variance(finding)
        elif self.clusters is not None:
            # Users vary, and clusters do not: nothing says what would be found.
            effect = replace(finding.effect, minimum_detectable=math.nan)
            finding = replace(finding, effect=effect)
        return self._with_bound(finding) if self.has_bound else finding

    @property
    def clusters(self) -> UserClusters | None:
        """The clusters of users; None if users are independent."""
        return self.aligned.clusters

    @cached_property
    def baseline(self) -> Floats:
        """The values of the baseline, shape (seeds, users)."""
        return self._values_of(self.pair[0])

    @cached_property
    def system(self) -> Floats:
        """The values of the system, shape (seeds, users)."""
        return self._values_of(self.pair[1])

    @cached_property
    def differences(self) -> Differences:
        """Each user's values, averaged over seeds."""
        return Differences(self.system.mean(axis=0), self.baseline.mean(axis=0))

    @cached_property
    def variance(self) -> VarianceComponents:
        """The variance of the mean difference over users, clusters and seeds."""
        return self._with_noise(self._variance_of(self.differences.d, self._seeds_apart(1.0)), 1.0)

    @cached_property
    def noise(self) -> RunNoise | None:
        """The noise between runs of systems with one run; None if it is not known."""
        return self.family.noise_between_runs(self.cell, self.pair)

    def _with_noise(self, variance: VarianceComponents, factor: float) -> VarianceComponents:
        """Return a variance with the noise between runs; ``factor`` scales the baseline."""
        return variance if self.noise is None else self.noise.added_to(variance, factor)

    @property
    def varies(self) -> bool:
        """Whether the difference varies; NaN for a single user or cluster counts as varying."""
        return self.variance.total != 0

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds of a user's value."""
        return self.family.bounds(self.cell)

    @property
    def largest(self) -> float:
        """The largest difference that the bounds allow."""
        return self.bounds[1] - self.bounds[0]

    @property
    def n_independent(self) -> int:
        """The number of independent units: clusters, or users."""
        clustered = self.family.clusters is not None
        return self.aligned.n_clusters if clustered else self.differences.n

    @property
    def has_bound(self) -> bool:
        """Whether the bound of a difference limits what is claimed."""
        by_bound = self.family.test in ("auto", "bounded")
        return self.n_independent > 1 and by_bound and math.isfinite(self.largest)

    @cached_property
    def scaled(self) -> ScaledDifference:
        """The difference at any factor of the baseline."""

        def at(factor: float) -> tuple[float, VarianceComponents]:
            d = Differences(self.system.mean(axis=0), factor * self.baseline.mean(axis=0))
            variance = self._variance_of(d.d, self._seeds_apart(factor))
            return d.mean, self._with_noise(variance, factor)

        system, baseline = self.differences.means
        return ScaledDifference(baseline, system, self.variance.error, at)

    def limits_of(self, level: float) -> Limits:
        """Return the limits at a level, never narrower than those of the bound where it counts."""
        limits = self._limits_of_variance(level) if self.varies else self._limits_of_constant(level)
        if not self.has_bound:
            return limits
        options: dict[str, Any] = {"confidence": 1 - level, "clusters": self.clusters}
        interval = bounded_interval_of(self.differences, self.largest, **options)
        _, *lift = bounded_lift(self.differences, self.bounds, **options)
        return limits.wider(Limits(interval.low, interval.high, *lift))

    def _values_of(self, system: str) -> Floats:
        columns = [self.family.column_of(name) for name in self.family.names_of(system)]
        return np.ascontiguousarray(self.aligned.values[:, columns].T)

    def _seeds_apart(self, factor: float) -> list[Floats]:
        """Return what seeds vary by: pairs of seeds, or the seeds of each system."""
        baseline = factor * self.baseline
        return [self.system - baseline] if self.family.paired else [self.system, baseline]

    def _variance_of(self, users: Floats, seeds: Sequence[Floats]) -> VarianceComponents:
        """Return the variance of a mean over users and seeds."""
        if self.clusters is None:
            return variance_of_means(users, seeds)
        codes = self.clusters.codes
        # What users and seeds have of each other is alike in all rows of a cluster, which count
        # once.
        seeds = [_of_clusters(values, codes) if len(values) > 1 else values for values in seeds]
        several = self.clusters.count > 1
        error, freedom = cluster_error(users, codes) if several else (math.nan, 0.0)
        return variance_of_means(users, seeds, (error**2, freedom))

    def _finding_of_users(self) -> PairFinding:
        """Return the finding of the mean difference with its test and limits."""
        d, family = self.differences, self.family
        tested = self._test_of_variance() if self.varies else self._test_of_constant()
        return family.make_finding(
            self.cell,
            self.pair,
            self.aligned,
            d,
            tested,
            self.limits_of,
            bounds=self.bounds,
            delta=cliffs_delta(d.x, d.y),
            claim=self._claim(tested.p),
            interval_flags=() if self.varies else self._flags_of_constant(),
        )

    def _claim(self, p_design: float) -> Claim:
        """Return what the pair says of users, or clusters of users, who were not sampled."""
        losses, is_bounded = self._losses, math.isfinite(self.largest)
        if len(losses) < 2 or not math.isfinite(self.differences.mean):
            return Claim()
        possible = self._unseen_size * self.largest / self._worth if is_bounded else math.inf

        def largest_loss_of(level: float) -> float:
            return BoundedMean.of(losses, possible if is_bounded else 0.0).largest_loss(level)

        return claim_of_users(
            (-float(losses.max()), -float(losses.min())),
            1.0,
            possible,
            p_any=float(np.maximum(p_design, self._p_of_bound)),
            p_design=p_design if self.family.test == "auto" else math.nan,
            largest_loss_of=largest_loss_of,
            stated=self.family.stated_loss(self.cell),
            is_broken=bool(self._broken_statement),
        )

    @cached_property
    def _broken_statement(self) -> tuple[str, ...]:
        """The caveats that a user changed by more, or a cluster is larger, than was stated."""
        most = float(np.abs(self.differences.d).max())
        broken = broken_statement(most, self.family.stated_loss(self.cell))
        clusters = self.clusters
        if clusters is not None and clusters.stated_size is not None and clusters.is_broken:
            flag = self.family.unit.broken_size_flag(clusters.largest_size, clusters.stated_size)
            broken = (*broken, flag)
        return broken

    @cached_property
    def _p_of_bound(self) -> float:
        """The two-sided p-value by the bound of users, or of clusters; NaN without a bound."""
        if not math.isfinite(self.largest):
            return math.nan
        if self._broken_statement:
            return 1.0
        return bounded_test_of(self.differences, self.largest, self.clusters).p

    @cached_property
    def _losses(self) -> Floats:
        """The losses of users, or of clusters in users' worth, against the mean difference."""
        d = self.differences
        values: Floats = d.d
        if self.clusters is not None:
            values = self.clusters.totals(d.d)
        losses: Floats = sign_of(d) * values / self._worth
        return losses

    @property
    def _worth(self) -> float:
        """The unit of losses: of clusters it is one user who loses the whole range."""
        is_range = self.clusters is not None and math.isfinite(self.largest)
        return self.largest if is_range else 1.0

    @property
    def _unseen_size(self) -> float:
        """The number of users in a cluster that was not sampled; 1 if users are independent."""
        return 1.0 if self.clusters is None else self.clusters.unseen_size

    def _test_of_variance(self) -> TestResult:
        d, variance = self.differences, self.variance
        name = TWO_LEVEL if self.family.seeds or self.noise is not None else "clustered t"
        flags = d.flags if self.clusters is None else of_clusters(d, self.clusters).flags
        return TestResult(name, d.mean, d.mean / variance.error, variance.p(d.mean), d.n, flags)

    def _test_of_constant(self) -> TestResult:
        """Test a difference that is alike for all units, whatever the seed: by signs or bound."""
        d = self.differences
        if self.clusters is None:
            return self._test_of_users()
        p = smallest_p(self.aligned.n_clusters) if d.mean else 1.0
        flags = of_clusters(d, self.clusters).sample_flags
        flags = (*flags, self.family.unit.unvaried_flag) if d.nonzero else flags
        return TestResult("sign-flip of clusters", d.mean, math.nan, p, d.n, flags)

    def _test_of_users(self) -> TestResult:
        """Test users whose values do not depend on the seed."""
        d = self.differences
        if self.family.is_tested_by_bound(d, self.largest):
            return bounded_test_of(d, self.largest)
        return self.family.test_users(d, self.family.choose_test(self.largest))

    def _limits_of_variance(self, level: float) -> Limits:
        """Return the limits of the mean difference, and of its lift from both means' variances."""
        d, variance = self.differences, self.variance
        interval = variance.interval(d.mean, confidence=1 - level, n=d.n)
        of_x, of_y = (
            self._variance_of(mean, [values]).total
            for mean, values in zip((d.x, d.y), (self.system, self.baseline), strict=True)
        )
        if self.noise is not None:
            more_x, more_y = self.noise.of_each
            of_x, of_y = of_x + more_x, of_y + more_y
        both = (of_x + of_y - variance.total) / 2  # of a difference: var x + var y − 2 cov
        covariance = np.array([[of_x, both], [both, of_y]])
        confidence = 1 - level
        quantile = variance.quantile((1 - confidence) / 2)
        _, *lift = fieller(d.means, d.means[0] - d.means[1], covariance, quantile)
        return Limits(interval.low, interval.high, *lift)

    def _limits_of_constant(self, level: float) -> Limits:
        """Return the limits that unseen values could reach, where no value differs from others."""
        d, largest = self.differences, self.largest
        if self.clusters is None:
            interval = interval_of_test(
                d,
                self.family.choose_test(largest),
                confidence=1 - level,
                largest=largest,
                seed=self.family.seed,
                n_resamples=self.family.resamples,
            )
        else:
            interval = constant_interval(
                d.mean, self.aligned.n_clusters, -largest, largest, confidence=1 - level
            )
        return Limits(interval.low, interval.high)

    def _flags_of_constant(self) -> tuple[str, ...]:
        """Return the caveats of the interval of a difference without variance."""
        d, largest = self.differences, self.largest
        count = d.n if self.clusters is None else self.aligned.n_clusters
        if count < 2 and self.clusters is None:
            return ()
        confidence = 1 - self.family.alpha
        return constant_interval(d.mean, count, -largest, largest, confidence=confidence).flags

    def _with_clusters(self, finding: PairFinding) -> PairFinding:
        """Return a finding with its clusters and their caveats."""
        unit = self.family.unit
        flags = (*finding.flags, *unit.flags(self.aligned.n_clusters))
        if math.isnan(self.variance.total):
            flags = (*flags, unit.untested_flag)
        return replace(finding, clusters=Clusters(self.aligned.n_clusters), flags=flags)

    def _with_variance(self, finding: PairFinding) -> PairFinding:
        """Return a finding over seeds and clusters: no claim is stronger than that over users."""
        variance = self.variance
        alpha = self.family.alpha / self.family.n_corrected(self.cell)
        wide = (variance.quantile(alpha / 2) + variance.quantile(0.2)) * variance.error
        # Of fewer seeds the variance is known too badly to say what would be found.
        unknown = any(freedom < _FEW - 1 for _, freedom in variance.seeds)
        found = math.nan if unknown else detectable(wide, finding.largest)

        of_users = finding.margin_limits_of
        assert of_users is not None

        def margin_limits_of(level: float) -> Limits:
            difference, n = finding.means.difference, finding.effect.users or 0
            interval = variance.interval(difference, confidence=1 - level, n=n)
            lift = self.scaled.lift_limits(level)
            return of_users(level).wider(Limits(interval.low, interval.high, *lift))

        claims = self._margin_tests(finding)
        if self.family.margin_test(self.cell) is not None:
            claims = claims.with_limits(margin_limits_of(2 * self.family.alpha))
        return replace(
            finding,
            effect=replace(finding.effect, minimum_detectable=found),
            margin=claims,
            std_error=variance.error,
            margin_limits_of=margin_limits_of,
        )

    def _margin_tests(self, finding: PairFinding) -> MarginTests:
        """Return the larger p-values of a margin: over users alone, and over all that varies."""
        of_users = finding.margin
        of_variance = self.scaled.margin_tests(
            self.family.margin_test(self.cell), finding.higher_is_better
        )
        return replace(
            of_users,
            users_needed=None,
            p_equivalence=float(np.maximum(of_users.p_equivalence, of_variance.p_equivalence)),
            p_non_inferior=float(np.maximum(of_users.p_non_inferior, of_variance.p_non_inferior)),
        )

    def _with_bound(self, finding: PairFinding) -> PairFinding:
        """Return a finding with the larger p-value of its own test and the bounded mean."""
        d, test = self.differences, finding.test
        flags = (*finding.flags, *self._broken_statement)
        if self.clusters is not None:
            flags = (*flags, *self._flags_of_sizes())

        together = bounded_interval_of(
            d,
            finding.largest,
            confidence=1 - self.family.alpha / self.family.n_together(self.cell),
            clusters=self.clusters,
        )
        half = max(d.mean - together.low, together.high - d.mean)
        found = detectable(half + POWER_0_8 * finding.std_error, finding.largest)
        wide = max(finding.effect.minimum_detectable, found)
        p = float(np.maximum(test.p, self._p_of_bound))
        return replace(
            finding,
            test=replace(test, test=f"{test.test}, {BOUNDED}", p=p),
            effect=replace(finding.effect, minimum_detectable=wide),
            flags=flags,
        )

    def _flags_of_sizes(self) -> list[str]:
        """Return the caveats of clusters' sizes."""
        clusters = self.clusters
        assert clusters is not None
        flags = []
        if np.ptp(clusters.sizes) and clusters.stated_size is None:
            unseen, largest = clusters.unseen_size, clusters.largest_size
            flags.append(self.family.unit.unseen_flag(unseen, largest))
        mean_gains = clusters.totals(self.differences.d) / clusters.sizes
        if _depends_on_size(mean_gains, clusters.sizes):
            flags.append(self.family.unit.informative_flag)
        return flags


def _depends_on_size(gains: Floats, size: Any) -> bool:
    """Return whether the mean gains of clusters are correlated with their sizes, by t above 3."""
    if len(size) < 3 or not np.ptp(size) or not np.ptp(gains):
        return False
    r = float(np.corrcoef(gains, size)[0, 1])
    return r * r * (len(size) - 2) > _INFORMATIVE**2 * (1 - r * r)


def _of_clusters(values: Floats, cluster: Any) -> Floats:
    """Return one column per cluster, of values with one row per seed."""
    return np.stack([cluster_values(of_seed, cluster) for of_seed in values])


def with_seeds(
    finding: PairFinding,
    variance: VarianceComponents,
    means: tuple[Floats, Floats],
    *,
    alpha: float,
) -> PairFinding:
    """Return a finding with its seeds; ``means`` has the seeds' means of baseline and system."""
    total = variance.total
    share = variance.of_seeds / total if total > 0 else math.nan
    more = variance.seeds_to_halve(1 - alpha) if total > 0 else None
    before, after = (float(m.std(ddof=1)) if len(m) > 1 else math.nan for m in means)

    notes = [
        note
        for system, of_system in zip((finding.baseline, finding.system), means, strict=True)
        if (note := _note_of_seeds(system, of_system))
    ]
    if share > 0.5:
        halve = (
            f"{more} more of each system halve the interval"
            if more
            else "no number of them halves the interval"
        )
        notes.append(f"seeds make up {percent(share)} of the variance: {halve}")
    seeds = Seeds(len(means[0]), len(means[1]), before, after, share, more)
    return replace(finding, seeds=seeds, flags=(*finding.flags, *notes))


def _note_of_seeds(system: str, means: Floats) -> str:
    """Return what is to be known about the seeds of a system; empty if they are enough."""
    count = len(means)
    if count == 1:
        return f"one seed of {system}: treated as a system without seeds"
    if not np.ptp(means):
        return f"all {count} seeds of {system} have the same mean"
    if len(np.unique(means)) < count:
        return f"some of {count} seeds of {system} have the same mean: given twice?"
    return f"{count} seeds of {system} tell little about the variance of seeds" * (count < _FEW)
