"""Differences of means over independent users, with one result per system."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.family import OF_MEDIAN, PairFamily
from rankwise.comparison.rows import PairFinding
from rankwise.findings.finding import NO_LIMITS, Limits
from rankwise.stats.bounded_means import BOUNDED, bounded_p_of_all
from rankwise.stats.differences import Differences, TestResult
from rankwise.stats.effect_sizes import rank_biserial
from rankwise.stats.equivalence import UNBOUNDED, Bounds
from rankwise.stats.intervals import interval_of_test, lift_of_test


@dataclass(frozen=True, eq=False)
class UserMeans:
    """The pairs of a family on one metric, whose values are means over independent users."""

    family: PairFamily
    cell: str
    aligned: AlignedUsers

    def findings(self) -> list[PairFinding]:
        """Return one finding per pair, before any correction."""
        pairs = self.aligned.differences(self.family.columns)
        tests = [self.family.test_users(d, self._largest) for d in pairs]
        deltas = self.aligned.deltas(self.family.columns)
        bounds = self._p_of_bounds(pairs, tests)
        return [
            self._finding(*each)
            for each in zip(self.family.pairs, pairs, tests, deltas, bounds, strict=True)
        ]

    @cached_property
    def _bounds(self) -> Bounds:
        """The bounds of a user's value, where all values are finite."""
        finite = bool(np.isfinite(self.aligned.values).all())
        return self.family.bounds(self.cell) if finite else UNBOUNDED

    @property
    def _largest(self) -> float:
        return self._bounds[1] - self._bounds[0]

    def _p_of_bounds(self, pairs: list[Differences], tests: list[TestResult]) -> list[float]:
        """Return the p-value of each pair by the bound of its differences; NaN without a bound."""
        if tests and all(tested.test == BOUNDED for tested in tests):
            return [tested.p for tested in tests]
        if math.isfinite(self._largest):
            return bounded_p_of_all(pairs, self._largest)
        return [math.nan] * len(pairs)

    def _finding(
        self,
        pair: tuple[str, str],
        d: Differences,
        tested: TestResult,
        delta: float,
        p_bound: float,
    ) -> PairFinding:
        """Return the finding of one pair, with its intervals at any level."""
        family, bounds, largest = self.family, self._bounds, self._largest
        test = family.choose_test(d, largest)
        options: dict[str, Any] = {
            "seed": family.seed,
            "n_resamples": family.resamples,
            "p": tested.p,
        }

        def limits_of(level: float) -> Limits:
            interval = interval_of_test(d, test, confidence=1 - level, largest=largest, **options)
            _, *lift = lift_of_test(d, test, interval, bounds, **options)
            return Limits(interval.low, interval.high, *lift)

        interval = interval_of_test(
            d, test, confidence=1 - family.alpha, largest=largest, **options
        )
        finding = family.make_finding(
            self.cell,
            pair,
            self.aligned,
            d,
            tested,
            limits_of,
            bounds=bounds,
            delta=delta,
            p_bound=p_bound,
            interval_flags=interval.flags,
        )
        is_constant = d.n > 1 and not d.deviation
        return finding if test not in OF_MEDIAN or is_constant else _of_median(finding, test, d)


def _of_median(finding: PairFinding, test: str, d: Differences) -> PairFinding:
    """Return a finding whose test is of the median, and has no interval of the mean."""
    side = float(rank_biserial(d) if test == "wilcoxon" else d.wins - d.losses)
    means = replace(finding.means, low_together=math.nan, high_together=math.nan)
    return replace(finding, means=means, limits_of=_without_limits, side=side)


def _without_limits(level: float) -> Limits:  # noqa: ARG001
    """Return that a test has no interval of the mean."""
    return NO_LIMITS
