"""The findings of a comparison: their columns, and how they are made of users' differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from rankwise.comparison.claims import Claim
from rankwise.core.arguments import CorrectionMethod
from rankwise.findings.columns import column, columns_of
from rankwise.findings.conclude import Family, conclude
from rankwise.findings.finding import (
    NO_LIMITS,
    EffectSizes,
    Finding,
    Limits,
    LimitsOf,
    MarginTests,
    Means,
    TestOutcome,
)
from rankwise.findings.margins import margin_flags, size_of
from rankwise.findings.tables import columns_for_readers
from rankwise.stats.bounded_means import BOUNDED
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import MANY, PairStatistics, TestResult
from rankwise.stats.equivalence import (
    POWER_0_8,
    Bounds,
    Margin,
    equivalence_of,
    margin_limits,
    minimum_detectable,
    non_inferiority_of,
)
from rankwise.stats.paired_tests import smallest_p


@dataclass(frozen=True)
class Seeds:
    """Seeds: their numbers, standard deviations, and share in the variance of the difference."""

    seeds_baseline: int | None = None
    seeds_system: int | None = None
    deviation_baseline: float = math.nan
    deviation_system: float = column(math.nan, in_systems=" ± {}")
    share_of_seeds: float = math.nan
    seeds_to_halve: int | None = None


@dataclass(frozen=True)
class Clusters:
    """The number of clusters of users."""

    clusters: int | None = None


@dataclass(frozen=True)
class DataSets:
    """The number of data sets, and the standard deviation of true differences between them."""

    data_sets: int | None = None
    tau: float = math.nan


@dataclass(frozen=True, kw_only=True)
class PairFinding(Finding):
    """A finding of a comparison, with its seeds, clusters and data sets."""

    seeds: Seeds = Seeds()
    clusters: Clusters = Clusters()
    data_sets: DataSets = DataSets()


_DECLARED = columns_of(PairFinding)
COLUMNS: dict[str, Any] = {name: column.dtype for name, column in _DECLARED.items()}
"""The data type of each column of a comparison."""
IN_PAIR_TABLE = columns_for_readers(PairFinding)
"""The columns of pairs for readers."""
IN_SYSTEM_TABLE = {
    name.removesuffix("_system"): column.in_systems
    for name, column in _DECLARED.items()
    if column.in_systems
}
"""The formats of values of each system, by the name without its side."""


def make_pair_finding(
    cell: str,
    pair: tuple[str, str],
    pairs: PairStatistics,
    tested: TestResult,
    limits_of: LimitsOf,
    *,
    alpha: float,
    margin: Margin | None,
    better: bool | None,
    together: int,
    tests: int,
    dropped: tuple[int, str],
    bounds: Bounds,
    claim: Claim | None = None,
    difference_limits_of: LimitsOf | None = None,
    clusters: UserClusters | None = None,
    delta: float = math.nan,
    interval_flags: Sequence[str] = (),
) -> PairFinding:
    """Return the row of a pair in a family of ``tests``; x is the system, y the baseline.

    ``limits_of`` has the limits at any level, which is first that of the pair alone, and that of
    all ``together`` pairs of the family; ``difference_limits_of`` has them without those of the
    lift, which take longer. ``dropped`` has the number of users that any result has,
    and why some were left out; ``delta`` is Cliff's, which sums do not tell, as is the ``claim``
    about unseen users; ``bounds`` are those of a user's value, ``clusters`` those of users.
    """
    n, (after, before), largest = pairs.n, pairs.means, bounds[1] - bounds[0]
    claim, limits_alone = claim or Claim(), difference_limits_of or limits_of
    alone = limits_alone(alpha)
    wide = alone if together == 1 else limits_alone(alpha / together)
    wins, losses = (pairs.losses, pairs.wins) if better is False else (pairs.wins, pairs.losses)

    def margin_limits_of(level: float) -> Limits:
        return Limits(*margin_limits(pairs, bounds, confidence=1 - level, clusters=clusters))

    baseline, system = pair
    return PairFinding(
        metric=cell,
        baseline=baseline,
        system=system,
        higher_is_better=better,
        means=means_of_pair((before, after), pairs.mean, alone, wide, 1 - alpha),
        test=TestOutcome(tested.test, tested.p, p_design=claim.p_design),
        unseen=claim.unseen,
        effect=EffectSizes(
            pairs.d_z,
            delta,
            wins=wins,
            ties=n - pairs.nonzero,
            losses=losses,
            users=n,
            users_dropped=dropped[0] - n,
            dropped_because=dropped[1],
            users_not_zero=pairs.not_zero,
            # Nothing is shown where a user broke what was stated: nothing was detectable either.
            minimum_detectable=math.nan
            if claim.is_broken
            else _detectable(pairs, tested.test, alpha / tests, largest, limits_alone),
        ),
        margin=_margin_tests(
            pairs,
            margin,
            alpha,
            bounds,
            better,
            clusters,
            margin_limits_of,
            has_condition=clusters is None and not math.isnan(claim.p_design),
            is_broken=claim.is_broken,
        ),
        flags=tuple(dict.fromkeys((*tested.flags, *interval_flags))),
        std_error=pairs.error,
        bounds=bounds,
        limits_of=cache(limits_of),
        margin_limits_of=margin_limits_of,
        largest_loss_of=claim.largest_loss_of,
        least_condition=claim.least_condition,
        users_for_any_of=claim.users_for_any_of,
        is_conditional=claim.is_conditional,
        p_any=claim.p_any,
    )


def means_of_pair(
    means: tuple[float, float],
    difference: float,
    alone: Limits,
    together: Limits,
    confidence: float,
) -> Means:
    """Return the means of a pair, the baseline first, with their difference, lift and limits."""
    before, after = means
    return Means(
        before,
        after,
        difference,
        low=alone.low,
        high=alone.high,
        confidence=confidence,
        low_alone=alone.low,
        high_alone=alone.high,
        low_together=together.low,
        high_together=together.high,
        lift=difference / abs(before) if before else math.nan,
        lift_low=alone.lift_low,
        lift_high=alone.lift_high,
    )


def _margin_tests(
    pairs: PairStatistics,
    margin: Margin | None,
    alpha: float,
    bounds: Bounds,
    better: bool | None,
    clusters: UserClusters | None,
    limits_of: LimitsOf,
    *,
    has_condition: bool,
    is_broken: bool,
) -> MarginTests:
    """Return the tests of a margin from the users' values; none is shown by a broken statement."""
    if margin is None:
        return MarginTests()
    if is_broken:
        return MarginTests(p_equivalence=1.0, p_non_inferior=math.nan if better is None else 1.0)
    same = equivalence_of(pairs, margin=margin, alpha=alpha, bounds=bounds, clusters=clusters)
    tests = MarginTests(p_equivalence=same.p).with_limits(limits_of(2 * alpha))
    if has_condition and not margin.is_none(pairs):
        tests = _with_condition(tests, pairs, margin, bounds)
    if better is None:
        return tests
    no_worse = non_inferiority_of(
        pairs, margin=margin, alpha=alpha, bounds=bounds, higher_is_better=better, clusters=clusters
    )
    return replace(tests, p_non_inferior=no_worse.p, users_needed=no_worse.users_needed)


def _with_condition(
    tests: MarginTests, pairs: PairStatistics, margin: Margin, bounds: Bounds
) -> MarginTests:
    """Return the tests of a margin with what a conditional verdict of equivalence needs.

    The largest change of a user is that of x − y: of a relative margin below the baseline it is
    scaled, as the baseline is.
    """
    up, down = (margin.claim(pairs, bounds, side) for side in (1, -1))
    if not up.bounded:
        return tests
    share = min(margin.factor(-1, pairs.means[1]), 1.0)

    def largest_change_of(level: float) -> float:
        return float(np.minimum(up.largest_loss(level), down.largest_loss(level) / share))

    p_design = float(np.maximum(up.p_by_t(), down.p_by_t()))
    return replace(tests, p_design=p_design, largest_loss_of=largest_change_of)


def with_margin(finding: PairFinding, margin: float | str | None, *, bounded: bool) -> PairFinding:
    """Return a finding with its margin as a number, and the caveats of the margin's tests.

    ``bounded`` says whether these tests know the range of the metric.
    """
    before = finding.means.mean_baseline
    return replace(
        finding,
        margin=finding.margin.with_size(size_of(margin, before)),
        flags=(*finding.flags, *margin_flags(margin, before, bounded=bounded)),
    )


def _detectable(
    pairs: PairStatistics, test: str, alpha: float, largest: float, limits_of: LimitsOf
) -> float:
    """Return the difference found with power 0.8; NaN if differences do not vary.

    It is infinite if nothing can be detected: too few pairs differ for any outcome to be
    significant, or the difference is larger than the range of the values allows.
    """
    if not pairs.deviation > 0:
        return math.nan
    if test == BOUNDED:
        limits = limits_of(alpha)
        half = max(pairs.mean - limits.low, limits.high - pairs.mean)
        return detectable(half + POWER_0_8 * pairs.error, largest)
    if pairs.n < MANY and smallest_p(pairs.nonzero) >= alpha:
        return math.inf
    return detectable(minimum_detectable(pairs.n, alpha=alpha) * pairs.deviation, largest)


def detectable(difference: float, largest: float) -> float:
    """Return a minimum detectable difference; infinite if larger than the values allow."""
    return math.inf if difference > largest else difference


def make_jackknife_finding(
    cell: str,
    pair: tuple[str, str],
    values: tuple[float, float],
    users: int,
    tested: TestResult,
    limits_of: LimitsOf,
    *,
    alpha: float,
    error: float,
    better: bool | None,
) -> PairFinding:
    """Return the row of a pair of ``values`` that are not means over users, the baseline first."""
    alone = limits_of(alpha)
    means = means_of_pair(values, tested.difference, alone, NO_LIMITS, 1 - alpha)
    baseline, system = pair
    return PairFinding(
        metric=cell,
        baseline=baseline,
        system=system,
        higher_is_better=better,
        means=means,
        test=TestOutcome(tested.test, tested.p),
        effect=EffectSizes(users=users, users_dropped=0, dropped_because=""),
        flags=tested.flags,
        std_error=error,
        limits_of=cache(limits_of),
        margin_limits_of=limits_of,
    )


def with_joint_p(row: PairFinding, joint: float, alpha: float) -> PairFinding:
    """Return a row with its joint p-value, never below that of the bound at the level of the pair.

    The p-value of the bound is scaled so that it is ``alpha`` where it is at the level that the
    joint test leaves to the pair.
    """
    p = joint
    if row.test.test == BOUNDED:
        p = max(p, min(row.test.p * alpha / row.joint_level, 1.0))
    design = joint if not math.isnan(row.test.p_design) else math.nan
    return replace(row, test=replace(row.test, p_adjusted=p, p_design_adjusted=design))


JOINT = ("max_t", "tukey")
"""The corrections that test all pairs together, from their users' values."""


def conclude_pairs(
    rows: Sequence[PairFinding],
    correction: CorrectionMethod,
    alpha: float,
    *,
    joint: bool = False,
    earlier: Sequence[int] = (0, 0),
) -> list[PairFinding]:
    """Conclude the findings of a comparison, those of the primary metric apart from all others.

    Of the primary metric they are corrected over pairs and groups, of all others together. Holm
    stands in for tests of all pairs together where there are no per-user values. ``earlier`` tests
    of the primary metric, and of the others, count as tests that were not significant.
    """
    of_pairs: Any = "holm" if correction in JOINT else correction
    families = {
        True: Family(method=of_pairs, alpha=alpha, earlier=earlier[0], is_joint=joint),
        False: Family(method="bh", alpha=alpha, earlier=earlier[1]),
    }
    concluded: dict[int, PairFinding] = {}
    for primary, family in families.items():
        places = [at for at, row in enumerate(rows) if row.primary is primary]
        concluded |= zip(places, conclude([rows[at] for at in places], family), strict=True)
    return [concluded[at] for at in range(len(rows))]
