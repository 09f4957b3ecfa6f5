"""Differences of means over independent users, with one result per system."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.claims import (
    FEWEST_PLANNED,
    FEWEST_SKEWED,
    Claim,
    broken_statement,
    claim_of_users,
)
from rankwise.comparison.family import OF_MEDIAN, PairFamily
from rankwise.comparison.rows import PairFinding
from rankwise.findings.finding import NO_LIMITS, Limits
from rankwise.stats.bounded_means import BOUNDED, BoundedMean, sign_of
from rankwise.stats.bounds_of_pairs import BoundedPairs, bounded_lifts
from rankwise.stats.differences import MANY, Differences, TestResult, too_skewed
from rankwise.stats.effect_sizes import lift_by_quantile, rank_biserial
from rankwise.stats.equivalence import UNBOUNDED, Bounds
from rankwise.stats.intervals import interval_of_test, lift_of_test
from rankwise.stats.paired_tests import t_test


@dataclass(frozen=True, eq=False)
class UserMeans:
    """The pairs of a family on one metric, whose values are means over independent users."""

    family: PairFamily
    cell: str
    aligned: AlignedUsers

    def findings(self) -> list[PairFinding]:
        """Return one finding per pair, before any correction."""
        return [_UserPair(self, at).finding() for at in range(len(self.pairs))]

    @cached_property
    def pairs(self) -> list[Differences]:
        """The differences of each pair."""
        return self.aligned.differences(self.family.columns)

    @cached_property
    def deltas(self) -> list[float]:
        """Cliff's delta of each pair."""
        return self.aligned.deltas(self.family.columns)

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds of a user's value, where all values are finite."""
        finite = bool(np.isfinite(self.aligned.values).all())
        return self.family.bounds(self.cell) if finite else UNBOUNDED

    @property
    def largest(self) -> float:
        """The largest difference that is possible."""
        return self.bounds[1] - self.bounds[0]

    @property
    def is_bounded(self) -> bool:
        """Whether the metric has a range, which limits what unseen users can lose."""
        return math.isfinite(self.largest)

    @cached_property
    def bounded_pairs(self) -> BoundedPairs:
        """The pairs with the bound of their differences, which p-values need; else with none."""
        return BoundedPairs.of(self.pairs, self.largest)

    @cached_property
    def limits_of_all(self) -> Any:
        """The function that returns the limits of all pairs at a level, each level once."""
        return cache(self.bounded_pairs.limits)

    @cached_property
    def lifts_of_all(self) -> Any:
        """The function that returns the limits of all lifts at a level, each level once."""

        @cache
        def at(level: float) -> Any:
            return bounded_lifts(self.pairs, self.bounds, level)

        return at

    @cached_property
    def largest_losses_of_all(self) -> Any:
        """The function that returns the largest losses of all pairs at a level, each level once."""

        @cache
        def at(level: float) -> Any:
            return self.bounded_pairs.largest_losses(np.full(len(self.pairs), level))

        return at


@dataclass(frozen=True, eq=False)
class _UserPair:
    """One pair of the means of a metric, at its place among all pairs."""

    of_all: UserMeans
    at: int

    @property
    def pairs(self) -> Differences:
        """The differences of users."""
        return self.of_all.pairs[self.at]

    @cached_property
    def test(self) -> str:
        """The test of the pair."""
        return self.of_all.family.choose_test(self.of_all.largest)

    @cached_property
    def test_result(self) -> TestResult:
        """The result of the test."""
        d = self.pairs
        if self.of_all.family.is_tested_by_bound(d, self.of_all.largest):
            flags = (*d.sample_flags, *self.broken_statement)
            return TestResult(BOUNDED, d.mean, d.mean, self.p_any, d.n, flags)
        return self.of_all.family.test_users(d, self.test)

    def finding(self) -> PairFinding:
        """Return the finding of the pair, with its intervals at any level."""
        family, d = self.of_all.family, self.pairs
        finding = family.make_finding(
            self.of_all.cell,
            family.pairs[self.at],
            self.of_all.aligned,
            d,
            self.test_result,
            self.limits_of,
            difference_limits_of=self.difference_limits_of,
            bounds=self.of_all.bounds,
            delta=self.of_all.deltas[self.at],
            claim=self.claim,
            interval_flags=self.interval_flags,
        )
        is_constant = d.n > 1 and not d.deviation
        if self.test not in OF_MEDIAN or is_constant:
            return finding
        return _of_median(finding, self.test, d)

    @property
    def p_any(self) -> float:
        """The p-value for any users; 1 if a user lost more than was stated to be possible."""
        return 1.0 if self.broken_statement else min(self.of_all.bounded_pairs.p[self.at], 1.0)

    @cached_property
    def broken_statement(self) -> tuple[str, ...]:
        """The caveat that a user changed by more than was stated to be possible."""
        most = max(map(abs, self.pairs.limits)) if self.pairs.n else 0.0
        return broken_statement(most, self.of_all.family.stated_loss(self.of_all.cell))

    @property
    def claim(self) -> Claim:
        """What the pair says of users who were not sampled."""
        d, of_all = self.pairs, self.of_all
        if d.n < 2 or not math.isfinite(d.mean):
            return Claim()
        return claim_of_users(
            d.limits,
            d.mean,
            of_all.largest,
            p_any=self.p_any,
            p_design=t_test(d).p if of_all.family.test == "auto" else math.nan,
            largest_loss_of=self._largest_loss_at,
            users_for_any_of=self._users_for_any,
            stated=of_all.family.stated_loss(of_all.cell),
            is_broken=bool(self.broken_statement),
            is_skewed=d.n < FEWEST_SKEWED and too_skewed(d),
        )

    def _largest_loss_at(self, level: float) -> float:
        return float(self.of_all.largest_losses_of_all(level)[self.at])

    def _users_for_any(self, level: float) -> tuple[int | None, int | None]:
        """Return a range of users in all that would show the difference for any users.

        The gain that was seen is likely too large, because it was shown: the range goes from the
        users for this gain to those for the lower limit that it has with a confidence of 0.8.
        """
        d = self.pairs
        if d.n < FEWEST_PLANNED:
            return None, None
        losses = BoundedMean.of_pairs(d, self.of_all.largest, int(sign_of(d)))
        gain = abs(d.mean)
        return losses.users(gain, alpha=level), losses.users(gain - 0.84 * d.error, alpha=level)

    def limits_of(self, level: float) -> Limits:
        """Return the limits of the difference and of its lift, by the test at a level."""
        if not self.is_by_bound:
            return self._limits_of_test(level)
        limits = self.difference_limits_of(level)
        d, of_all = self.pairs, self.of_all
        if d.n < MANY:
            lift = (float(limits[self.at]) for limits in of_all.lifts_of_all(level))
            return Limits(limits.low, limits.high, *lift)
        # Of many users the lift has limits as many standard errors away as the difference has.
        _, lift_low, _ = lift_by_quantile(d, (d.mean - limits.low) / d.error)
        _, _, lift_high = lift_by_quantile(d, (limits.high - d.mean) / d.error)
        return Limits(limits.low, limits.high, lift_low, lift_high)

    def difference_limits_of(self, level: float) -> Limits:
        """Return the limits of the difference alone, whose lift takes longer."""
        if not self.is_by_bound:
            return self._limits_of_test(level)
        low, high = (float(limits[self.at]) for limits in self.of_all.limits_of_all(level))
        return Limits(low, high)

    @property
    def is_by_bound(self) -> bool:
        """Whether limits are those of the bound."""
        return self.test == "bounded" and self.pairs.deviation > 0 and self.pairs.n > 1

    def _limits_of_test(self, level: float) -> Limits:
        interval = interval_of_test(self.pairs, self.test, confidence=1 - level, **self._options)
        options = {name: self._options[name] for name in ("seed", "n_resamples", "p")}
        _, *lift = lift_of_test(self.pairs, self.test, interval, self.of_all.bounds, **options)
        return Limits(interval.low, interval.high, *lift)

    @property
    def interval_flags(self) -> tuple[str, ...]:
        """The caveats of the interval."""
        if self.is_by_bound:
            return ()
        level = 1 - self.of_all.family.alpha
        return interval_of_test(self.pairs, self.test, confidence=level, **self._options).flags

    @property
    def _options(self) -> dict[str, Any]:
        family = self.of_all.family
        return {
            "seed": family.seed,
            "n_resamples": family.resamples,
            "p": self.test_result.p,
            "largest": self.of_all.largest,
        }


def _of_median(finding: PairFinding, test: str, d: Differences) -> PairFinding:
    """Return a finding whose test is of the median, and has no interval of the mean."""
    side = float(rank_biserial(d) if test == "wilcoxon" else d.wins - d.losses)
    means = replace(finding.means, low_together=math.nan, high_together=math.nan)
    return replace(finding, means=means, limits_of=_without_limits, side=side)


def _without_limits(level: float) -> Limits:  # noqa: ARG001
    """Return that a test has no interval of the mean."""
    return NO_LIMITS
