"""The difference of two means with its variance, for tests that scale the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.findings.finding import NO_LIMITS, Limits, MarginTests
from rankwise.stats.differences import LEAST
from rankwise.stats.equivalence import Margin as MarginSize
from rankwise.stats.equivalence import ratio_limits
from rankwise.stats.variance_components import VarianceComponents


@dataclass(frozen=True, eq=False)
class ScaledDifference:
    """A system's mean minus a factor times the baseline's: how far both are apart at any factor.

    Attributes
    ----------
    baseline, system : float
        Both means.
    error : float
        The standard error of the plain difference; NaN if it is not known.
    at : callable
        Returns the difference and its variance at a factor of the baseline.
    """

    baseline: float
    system: float
    error: float
    at: Callable[[float], tuple[float, VarianceComponents]]

    def p_above(self, factor: float, side: int, limit: float) -> float:
        """Return the one-sided p-value that the difference is below ``limit`` on one side."""
        difference, variance = self.at(factor)
        gap = limit - side * difference
        if variance.total == 0:
            return LEAST if gap > 0 else 1.0
        return variance.p_above(gap)

    def lift_limits(self, level: float) -> tuple[float, float]:
        """Return the limits of the relative lift, where no ratio in between is rejected."""
        if not self.error > 0 or not math.isfinite(self.error):
            return math.nan, math.nan
        return ratio_limits(self._p_of_ratio, self.system, self.baseline, self.error, level / 2)

    def _p_of_ratio(self, ratio: float, side: int) -> float:
        return self.p_above(ratio, side, 0.0)

    def margin_tests(
        self, margin: MarginSize | None, better: bool | None, limits: Limits = NO_LIMITS
    ) -> MarginTests:
        """Return the tests of a margin, with their one-sided ``limits``."""
        if margin is None or (margin.relative and not self.baseline):
            return MarginTests()
        up, down = (
            self.p_above(margin.factor(side, self.baseline), side, margin.limit) for side in (1, -1)
        )
        no_worse = math.nan if better is None else down if better else up
        tests = MarginTests(p_equivalence=float(np.maximum(up, down)), p_non_inferior=no_worse)
        return tests.with_limits(limits)
