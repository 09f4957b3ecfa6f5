"""Intervals of weighted values by user, which allow for one unseen request of the largest weight.

An `Estimate` is described by user sums that have mean 0 at the true value. Its interval is the
wider of two: empirical likelihood with one more value (Gaffke's limit), and CR2 with
Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankwise.stats.bounded_means import probability_above
from rankwise.stats.data_sets import satterthwaite
from rankwise.stats.differences import Floats, root_of, t_quantile

METHOD = "by user, with one unobserved request"
_MOST = 0.8
"""The largest share of one user in the sizes for which CR2 is defined, as `stats.clustered` has it."""
_DIGITS = 1e-12
"""Sums smaller than this, relative to the range of values, are rounding errors."""


class Limits(NamedTuple):
    """The two limits of an interval."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate with user sums ``base − value · slope`` that have mean 0 at the true value.

    Attributes
    ----------
    value : float
        The estimate.
    base, slope : array, shape (users,)
        The user sums, as a line in the value.
    upper, lower : tuple of float
        Base and slope of the request that would raise, or lower, the estimate most if it came once
        more.
    sizes : array, shape (users,)
        The sizes of the users for CR2: their shares of the weight.
    low, high : float
        The range of possible values.
    """

    value: float
    base: Floats
    slope: Floats
    upper: tuple[float, float]
    lower: tuple[float, float]
    sizes: Floats
    low: float
    high: float

    @cached_property
    def residuals(self) -> Floats:
        """The user sums at the estimate."""
        out: Floats = self.base - self.value * self.slope
        return out

    @cached_property
    def error(self) -> float:
        """The standard error by user, with the small-sample factor of equal users."""
        n = len(self.base)
        if n < 2:
            return math.nan
        return math.sqrt(float((self.residuals**2).sum()) * n / (n - 1)) / float(self.slope.sum())

    @cached_property
    def cr2(self) -> tuple[float, float]:
        """The CR2 error and Satterthwaite's degrees of freedom; NaN if one user has nearly all."""
        sizes = self.sizes if self.sizes.sum() > 0 else np.ones_like(self.base)
        total = float(sizes.sum())
        if len(sizes) < 2 or float(sizes.max()) > _MOST * total:
            return math.nan, 1.0
        spread = float((self.residuals**2 / (1.0 - sizes / total)).sum())
        return math.sqrt(spread) / float(self.slope.sum()), satterthwaite(sizes)

    @property
    def is_constant(self) -> bool:
        """Whether nothing varies, as in the difference of two equal policies."""
        least = _DIGITS * (self.high - self.low)
        upper, lower = (
            abs(base - self.value * slope) / slope for base, slope in (self.upper, self.lower)
        )
        users = np.abs(self.residuals).max(initial=0.0) / float(self.slope.max(initial=1.0))
        return bool(max(upper, lower, users) <= least)

    def tail(self, value: float, side: int, start: float = 0.0) -> tuple[float, float]:
        """Return the p-value of a value on one side (1 above, −1 below), and the saddle point."""
        base, slope = self.upper if side > 0 else self.lower
        x = side * (self.base - value * self.slope)
        unseen = side * (base - value * slope)
        return probability_above(np.append(x, max(float(x.max()), unseen)), start)

    def unseen(self, alpha: float) -> Limits:
        """Return the limits of empirical likelihood with one more value."""
        return Limits(self._limit(alpha / 2, -1), self._limit(alpha / 2, 1))

    def _limit(self, level: float, side: int) -> float:
        end = self.high if side > 0 else self.low
        point = [0.0]

        def excess(value: float) -> float:
            p, point[0] = self.tail(value, side, point[0])
            return p - level

        room = abs(end - self.value)
        step = max(self.error, 1e-9 * room) if math.isfinite(self.error) else room
        near, far = self.value, self.value + side * 2.0 * step
        while side * (end - far) > 0 and excess(far) > 0:
            near, far = far, self.value + 2.0 * (far - self.value)
        if side * (end - far) <= 0:
            far = end
            if excess(far) > 0:
                return end
        if near == far:
            return end
        point[0] = 0.0
        return root_of(excess, near, far, 1e-12 * abs(self.value) + 1e-15)

    def student(self, alpha: float) -> Limits:
        """Return the CR2 limits; infinite if there are none."""
        error, freedom = self.cr2
        if math.isnan(error):
            return Limits(-math.inf, math.inf)
        half = float(t_quantile(1 - alpha / 2, freedom) * error)
        return Limits(self.value - half, self.value + half)

    def limits(self, alpha: float) -> Limits:
        """Return the wider of both intervals, within the possible range."""
        if self.is_constant:
            return Limits(self.value, self.value)
        one, other = self.unseen(alpha), self.student(alpha)
        return Limits(
            max(self.low, min(one.low, other.low)), min(self.high, max(one.high, other.high))
        )

    def p(self, value: float) -> float:
        """Return the p-value of a value: the larger of both tests."""
        if self.is_constant:
            return 1.0 if abs(self.value - value) <= _DIGITS * (self.high - self.low) else 0.0
        return min(1.0, 2.0 * min(self._one_sided(value, side) for side in (1, -1)))

    def p_above(self, value: float) -> float:
        """Return the larger of both one-sided p-values that the true value is above ``value``."""
        if self.is_constant:
            return 0.0 if self.value > value else 1.0
        return self._one_sided(value, -1)

    def p_below(self, value: float) -> float:
        """Return the larger of both one-sided p-values that the true value is below ``value``."""
        if self.is_constant:
            return 0.0 if self.value < value else 1.0
        return self._one_sided(value, 1)

    def _one_sided(self, value: float, side: int) -> float:
        """Return the larger one-sided p-value of a value above (1) or below (−1) the estimate."""
        from scipy.special import stdtr

        error, freedom = self.cr2
        student = (
            1.0 if not error > 0 else float(stdtr(freedom, -side * (value - self.value) / error))
        )
        return max(self.tail(value, side)[0], student)
