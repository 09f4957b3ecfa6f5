r"""Confidence limits, tests and plans for bounded means, valid for any distribution of values.

The upper confidence limit of a bounded mean that holds for few and for rare values is Gaffke's: one
observation at the largest possible value is added to the n that were seen, and the limit is the
quantile of :math:`\sum_i w_i x_i` with weights uniform on the simplex. For values of 0 and 1 it is
the Clopper-Pearson limit; for many values it is that of the t interval, corrected for skewness. No
distribution is known for which it covers less than it says.

The quantile has no closed form for other values. It is computed by the saddle point of
Lugannani and Rice, so that there are no random weights. Its relative error of a tail probability
near .025 is -4.6 to +2.6 % (against the exact inversion of the characteristic function, over sizes
from 10 to 100,000); limits differ by less than .0015 of the range from 10 values on.

Read the other way round, the same probability says how much one unseen value could lose before a
difference is no longer shown: `BoundedMean.largest_loss`.

References: Gaffke 2005, Mathematical Methods of Statistics 14; Learned-Miller & Thomas 2019,
arXiv:1905.06208; Lugannani & Rice 1980, Advances in Applied Probability 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.core import kernels
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import (
    LANES,
    LEAST,
    Differences,
    Floats,
    Interval,
    Missing,
    TestResult,
    check_above_zero,
    check_level,
    differences,
    distribution_of,
    in_bins,
    never_zero,
    normal_probability,
    root_of,
    total_in_lanes,
)

BOUNDED = "bounded mean"
"""The name of the test and the interval in tables."""
_COARSE = 2**10  # bins that are enough for a plan
_CLOSE = 1e-10  # the slope of K at the saddle point, relative to its scale


def bounded_mean_limit(values: Floats, largest: float, confidence: float) -> float:
    """Return the upper confidence limit of the mean of values that are at most ``largest``.

    >>> round(bounded_mean_limit(np.zeros(30), 1.0, 0.975), 3)  # 30 users without a hit
    0.116
    """
    return BoundedMean.of(values, largest).limit(confidence)


@dataclass(frozen=True, eq=False)
class BoundedMean:
    """The upper limit, tests and plans of the mean of values that are at most ``largest``.

    Attributes
    ----------
    values : array
        Distinct values; beyond 8,192 values the means of as many bins of the same width.
    count : array
        How many users have each value.
    largest : float
        The largest possible value.
    """

    values: Floats
    count: Floats
    largest: float

    @classmethod
    def of(cls, values: Floats, largest: float) -> BoundedMean:
        """Return the mean of one value per user; a value above ``largest`` raises that."""
        return cls._of(*distribution_of(values), largest)

    @classmethod
    def of_pairs(cls, pairs: Differences, largest: float, side: int = 1) -> BoundedMean:
        """Return the mean of the differences of pairs, or of their negatives (-1)."""
        values, count = pairs.distribution
        return (
            cls._of(values, count, largest)
            if side > 0
            else cls._of(-values[::-1], count[::-1], largest)
        )

    @classmethod
    def _of(cls, values: Floats, count: Floats, largest: float) -> BoundedMean:
        return cls(values, count, max(largest, float(values.max(initial=-math.inf))))

    @cached_property
    def _sample(self) -> tuple[Floats, Floats, float]:
        """Distances below ``largest`` in units of the greatest, their counts, and the unit."""
        distance = np.append(self.largest - self.values, 0.0)
        scale = float(distance.max())
        return distance / scale if scale > 0 else distance, np.append(self.count, 1.0), scale

    @cached_property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.average(self.values, weights=self.count))

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the values (n)."""
        return float(np.sqrt(np.average((self.values - self.mean) ** 2, weights=self.count)))

    @cached_property
    def n(self) -> float:
        """The number of values."""
        return float(self.count.sum())

    def limit(self, confidence: float) -> float:
        """Return the upper confidence limit of the mean."""
        distance, count, scale = self._sample
        if scale <= 0:
            return self.largest

        def excess(log_offset: float) -> float:
            return _quantile(distance, count, np.exp(log_offset))[1] - confidence

        # From weights on the added value alone to nearly equal weights, where the probability is
        # 1/2.
        first, last = _LOWEST_LOG, _equal_weights(distance, count)
        log_offset = last if excess(last) >= 0 else root_of(excess, first, last, 1e-9)
        return float(self.largest - scale * _quantile(distance, count, np.exp(log_offset))[0])

    def p(self, hypothesis: float) -> float:
        """Return the one-sided p-value of the hypothesis that the mean is ``hypothesis`` or larger.

        >>> BoundedMean.of(np.zeros(300), 1.0).p(0.01)  # 0.99 ** 300
        0.049
        """
        if not self.n or self.largest < hypothesis:
            return math.nan if not self.n else never_zero(0.0)
        x, count = (
            np.append(self.values - hypothesis, self.largest - hypothesis),
            np.append(self.count, 1.0),
        )
        if len(x) == 2 and x[0] < 0:  # of one value the probability has a closed form
            return never_zero((x[1] / (x[1] - x[0])) ** count[0])
        return never_zero(probability_above(x, count=count)[0])

    def largest_loss(self, level: float, hypothesis: float = 0.0) -> float:
        r"""Return the largest value of one unseen user that leaves the hypothesis rejected.

        The values are losses. The p-value of the hypothesis grows with the value L of the user who
        is added, and stays below the level up to this one. With the losses u over the hypothesis
        and :math:`A(s) = -\sum u_i / (1 - s u_i)`, the saddle point s belongs to the value
        :math:`L(s) = 1 / (s + 1 / A(s))`, so that one search finds both.

        Parameters
        ----------
        level : float
            The one-sided level, below 1/2.
        hypothesis : float, default=0.0
            The mean loss that is to be rejected.

        Returns
        -------
        float
            It may be above the range of the values. NaN if the level is not reached: the mean is no
            gain, or too much was lost by users who were seen.

        Examples
        --------
        >>> BoundedMean.of(np.full(100, -0.03), 1.0).largest_loss(0.025)  # 100 users gain 0.03
        0.7983
        """
        losses = self.values - hypothesis
        scale = float(np.abs(losses).max(initial=0.0))
        if not scale > 0 or not float(self.count @ losses) < 0:
            return math.nan
        if len(losses) == 1:  # of one value the probability has a closed form
            return scale / math.expm1(-math.log(level) / self.n) + hypothesis
        found = _largest_loss(losses / scale, self.count, level)
        return scale * found + hypothesis if found > max(losses.max() / scale, 0.0) else math.nan

    @cached_property
    def _coarse(self) -> BoundedMean:
        """The same mean of few distinct values, for plans."""
        if len(self.values) <= _COARSE:
            return self
        values, count = in_bins(self.values, self.count, _COARSE)
        return replace(self, values=values, count=count)

    def width(self, n: float, confidence: float) -> float:
        """Return the upper limit minus the mean, for n values of the same distribution."""
        sample = self._coarse
        return replace(sample, count=sample.count * (n / self.n)).limit(confidence) - sample.mean

    def detectable(self, n: float, *, alpha: float, power: float = 0.8) -> float:
        """Return the smallest gap below a hypothesis that n values detect with this power."""
        from scipy.special import ndtri

        return self.width(n, 1 - alpha) + float(ndtri(power)) * self.deviation / math.sqrt(n)

    def power(self, n: float, gap: float, *, alpha: float) -> float:
        """Return the power of n values against a hypothesis ``gap`` above the true mean."""
        spare = gap - self.width(n, 1 - alpha)
        return (
            normal_probability(spare * math.sqrt(n) / self.deviation)
            if self.deviation > 0
            else float(spare >= 0)
        )

    def users(self, gap: float, *, alpha: float, power: float = 0.8) -> int | None:
        """Return the sample size that detects ``gap`` with this power; None if none is enough."""
        from scipy.special import ndtri

        if not gap > 0:
            return None
        by_t = (
            (ndtri(1 - alpha) + ndtri(power)) * self.deviation / gap
        ) ** 2  # the bound needs more
        low, high = 1, max(2, int(min(by_t, _MOST)))
        while self.detectable(high, alpha=alpha, power=power) > gap:
            low, high = high, 2 * high
            if high > _MOST:
                return None
        while high - low > max(1, low // 1000):
            middle = (low + high) // 2
            enough = self.detectable(middle, alpha=alpha, power=power) <= gap
            low, high = (low, middle) if enough else (middle, high)
        return high


_LOWEST_LOG = -60.0
_MOST = 2**53  # users: there are fewer people


def bounded_p(
    values: Floats, largest: float, clusters: UserClusters | None = None, hypothesis: float = 0.0
) -> float:
    """Return the one-sided p-value that a mean, of users or clusters, is the hypothesis or more.

    All users of the added cluster, which was not sampled, have the largest value.
    """
    if clusters is None:
        return BoundedMean.of(values, largest).p(hypothesis)
    most = max(largest, float(values.max(initial=-math.inf))) - hypothesis
    totals = clusters.totals(values - hypothesis)
    return BoundedMean.of(totals, clusters.unseen_size * most).p(0.0)


def bounded_upper(
    values: Floats, largest: float, confidence: float, clusters: UserClusters | None = None
) -> float:
    """Return the upper confidence limit of a mean of users, or of users in clusters."""
    if clusters is None:
        return bounded_mean_limit(values, largest, confidence)
    most = max(largest, float(values.max()))

    def excess(hypothesis: float) -> float:
        return bounded_p(values, most, clusters, hypothesis) - (1 - confidence)

    mean = float(values.mean())
    return most if mean >= most else root_of(excess, mean, most)


def bounded_test(
    x: Any, y: Any = None, *, largest: float, missing: Missing = "error"
) -> TestResult:
    """Test whether two means differ, for values whose differences are at most ``largest``.

    The p-value is twice the smaller one of both sides by Gaffke's limit. It holds for any
    distribution: also where a rare large difference was not drawn, which t tests and sign flips
    do not allow for.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    largest : float
        The largest possible difference: 1 for values between 0 and 1.

    Returns
    -------
    TestResult

    See Also
    --------
    bounded_interval : The interval that goes with this test.

    Examples
    --------
    >>> d = [0.1] * 30 + [0.0] * 70
    >>> bounded_test(d, largest=1.0).p  # one user of 100 who loses 1 would be enough
    0.1156
    """
    check_above_zero("largest", largest)
    return bounded_test_of(differences(x, y, missing=missing), largest)


def bounded_test_of(
    pairs: Differences, largest: float, clusters: UserClusters | None = None
) -> TestResult:
    """Apply `bounded_test` to checked pairs, with or without clusters of users."""
    if pairs.n < 2:
        return TestResult(BOUNDED, pairs.mean, math.nan, math.nan, pairs.n, pairs.sample_flags)
    if clusters is None:
        side = int(sign_of(pairs))
        p = BoundedMean.of_pairs(pairs, largest, side).p(0.0)
        if p > 0.5:  # else that of the other side is larger: both are at least 1 together
            p = min(p, BoundedMean.of_pairs(pairs, largest, -side).p(0.0))
    else:
        p = min(bounded_p(values, largest, clusters) for values in (pairs.d, -pairs.d))
    return TestResult(BOUNDED, pairs.mean, pairs.mean, min(2 * p, 1.0), pairs.n, pairs.sample_flags)


def sign_of(pairs: Differences) -> float:
    """Return the side (1 or −1) with the smaller p-value, if that p-value is below 1/2."""
    return -1.0 if pairs.mean > 0 else 1.0


def bounded_interval(
    x: Any, y: Any = None, *, largest: float, confidence: float = 0.95, missing: Missing = "error"
) -> Interval:
    """Return the interval of a mean difference, valid for any distribution of bounded values.

    Parameters
    ----------
    x, y, largest, missing
        As for `bounded_test`.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        Its limits are NaN with fewer than two pairs.

    Examples
    --------
    >>> interval = bounded_interval([0.1] * 30 + [0.0] * 70, largest=1.0)
    >>> interval.low, interval.high
    (-0.0084, 0.0663)
    """
    check_above_zero("largest", largest)
    check_level("confidence", confidence)
    return bounded_interval_of(differences(x, y, missing=missing), largest, confidence=confidence)


def bounded_mean_interval(
    values: Any, *, bounds: tuple[float, float], confidence: float = 0.95
) -> Interval:
    """Return the interval of a mean of users, valid for any distribution between two bounds.

    Parameters
    ----------
    values : array, shape (n,)
        One value per user.
    bounds : tuple of float
        The smallest and the largest possible value.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        Its limits are NaN with fewer than two users. For values of 0 and 1 it is Clopper and
        Pearson's.

    Examples
    --------
    >>> interval = bounded_mean_interval([1.0] * 3 + [0.0] * 57, bounds=(0, 1))
    >>> interval.low, interval.high
    (0.0104, 0.1392)
    """
    check_level("confidence", confidence)
    data, level = differences(values), (1 + confidence) / 2
    low = high = math.nan
    if data.n > 1:
        low = -bounded_mean_limit(-data.d, -bounds[0], level)
        high = bounded_mean_limit(data.d, bounds[1], level)
    return Interval(data.mean, low, high, confidence, BOUNDED, data.n, data.sample_flags)


def bounded_interval_of(
    pairs: Differences, largest: float, *, confidence: float, clusters: UserClusters | None = None
) -> Interval:
    """Return the interval of checked pairs, also of users in clusters."""
    low = high = math.nan
    if pairs.n > 1:
        level = (1 + confidence) / 2
        low, high = (
            side * bounded_upper(side * pairs.d, largest, level, clusters) for side in (-1, 1)
        )
    return Interval(pairs.mean, low, high, confidence, BOUNDED, pairs.n, pairs.sample_flags)


def bounded_lift(
    pairs: Differences,
    bounds: tuple[float, float],
    *,
    confidence: float,
    clusters: UserClusters | None = None,
) -> tuple[float, float, float]:
    """Return the relative difference and its interval, by inverting tests of the mean of x − r y.

    NaN limits where the baseline's mean may be 0 or less, or the system's may be below 0.
    """
    after, before = pairs.means
    if not (pairs.n > 1 and after >= 0 and before > 0 and math.isfinite(bounds[1] - bounds[0])):
        return (pairs.mean / abs(before) if before else math.nan), math.nan, math.nan
    ratio, tail = after / before, (1 - confidence) / 2
    low = min(bounds[0], float(pairs.x.min()), float(pairs.y.min()))
    high = max(bounds[1], float(pairs.x.max()), float(pairs.y.max()))

    def below(r: float) -> float:  # p of the hypothesis that the ratio is r or less
        return bounded_p(r * pairs.y - pairs.x, r * high - low, clusters) - tail

    def above(inverse: float) -> float:  # of 1 / r or more
        return bounded_p(inverse * pairs.x - pairs.y, inverse * high - low, clusters) - tail

    least = _root(below, ratio) if ratio > 0 else 0.0
    most = 1 / _root(above, 1 / ratio if ratio > 0 else 1.0)
    if math.isnan(least + most):
        return pairs.mean / before, math.nan, math.nan
    return pairs.mean / before, least - 1, most - 1


def _root(excess: Callable[[float], float], start: float) -> float:
    """Return the positive root of an increasing function; NaN if not below 0 at 0."""
    if excess(0.0) >= 0:
        return math.nan
    while excess(start) <= 0:
        start *= 2
    return root_of(excess, 0.0, start, 1e-12 * start)


def _equal_weights(distance: Floats, count: Floats) -> float:
    """Return the logarithm of an offset at which the weights are nearly equal."""
    mean = np.average(distance, weights=count)
    deviation = np.sqrt(np.average((distance - mean) ** 2, weights=count))
    return float(np.log(100 * deviation * np.sqrt(count.sum())))


def _quantile(distance: Floats, count: Floats, offset: float) -> tuple[float, float]:
    r"""Return a mean distance, and the probability that the weighted mean distance is larger.

    The saddle point for the mean distance has weights :math:`\propto 1 / (c + z_i)`, with the
    offset c and the distances z: every c belongs to one mean, which spares a search within.
    """
    weights = 1.0 / (offset + distance)
    level = float(count @ weights) / count.sum()
    mean = float((count * weights) @ distance / (count @ weights))
    # The logarithm of level / weights, which is nearly 1 of very many values, and nearly 0 of the
    # largest one.
    ratio, beyond = level / weights, level * (distance - mean)
    logs = np.where(ratio < 0.5, np.log(ratio), np.log1p(np.maximum(beyond, -0.5)))
    root = np.sqrt(max(2.0 * (count @ logs), 0.0))
    curvature = np.sqrt(count @ ((mean - distance) * weights) ** 2)
    density = np.exp(-(root**2) / 2.0) / np.sqrt(2.0 * np.pi)
    correction = density * (1.0 / root - 1.0 / curvature)
    return mean, normal_probability(root) + float(correction)


def probability_above(
    x: Floats, start: float = 0.0, count: Floats | None = None
) -> tuple[float, float]:
    r"""Return :math:`P(\sum_i E_i x_i \ge 0)` for independent exponential E, and the saddle point.

    The saddle point s minimises the convex :math:`K(s) = -\sum \log(1 - s x_i)`: Newton steps,
    which bisection keeps inside. The tail is that of Lugannani and Rice. With a ``count`` a value
    stands for so many.

    >>> probability_above(np.array([1.0, -1.0, -1.0, -1.0]))[0]  # exactly 1 / 8
    0.127
    """
    if float(x.max()) <= 0:
        return 0.0 if float(x.min()) < 0 else 1.0, 0.0
    if float(x.min()) >= 0:
        return 1.0, 0.0
    s, *sums = saddle_of(x / np.abs(x).max(), np.ones(len(x)) if count is None else count, start)
    return tail_of_saddle(s, *sums), s


def _largest_loss(losses: Floats, count: Floats, level: float) -> float:
    """Return the largest loss that leaves the mean loss below 0 at a level; NaN if none does.

    The search is along the saddle point, from 0 to where the added loss would be 0.
    """

    def at(s: float) -> tuple[float, float]:
        """Return the logarithm of p over the level, and the loss that belongs to the saddle point."""
        terms = losses / (1.0 - s * losses)
        gain = -total_in_lanes(count * terms)
        if gain <= 0:
            return -math.inf, 0.0
        p = tail_of_saddle(
            s,
            total_in_lanes(count * terms * terms) + gain * gain,
            total_in_lanes(count * terms * terms * terms) + gain * gain * gain,
            total_in_lanes(count * log_of_one_plus(-s * losses)) - math.log1p(s * gain),
        )
        return math.log(max(p, LEAST) / level), 1.0 / (s + 1.0 / gain)

    if float(losses.max()) > 0:
        last = saddle_of(losses, count, 0.0)[0] * (1.0 - 1e-12)
    else:
        last = 1.0 / math.sqrt(total_in_lanes(count * losses * losses))
        while at(last)[0] >= 0:
            last *= 2.0
    if not last > 0 or at(last)[0] >= 0:
        return math.nan
    return at(root_of(lambda s: at(s)[0], 0.0, last, 0.0))[1]


def tail_of_saddle(s: float, curvature: float, third: float, exponent: float) -> float:
    """Return the probability above 0 from the saddle point s, K'' and K''' / 2 at s, and −K(s)."""
    root = math.copysign(math.sqrt(max(2.0 * exponent, 0.0)), s)
    u = s * math.sqrt(curvature)
    if abs(root) < 1e-4:  # the two terms cancel; their limit is the skewness
        skewness = 2.0 * third / (curvature * math.sqrt(curvature))
        return 0.5 - skewness / (6.0 * math.sqrt(2.0 * math.pi)) - root / math.sqrt(2.0 * math.pi)
    density = math.exp(-root * root / 2.0) / math.sqrt(2.0 * math.pi)
    return min(max(normal_probability(-root) + density * (1.0 / u - 1.0 / root), 0.0), 1.0)


def saddle_of(x: Floats, count: Floats, start: float) -> tuple[float, float, float, float]:
    """Return the arguments of `tail_of_saddle` for scaled values, with the same bits as the kernel."""
    library, found = kernels.load(), np.zeros(4)
    if library is not None:
        room = np.zeros((2, -(-len(x) // LANES) * LANES))
        room[:, : len(x)] = x, count
        library.rw_saddle(*room, room.shape[1], start, found)
        saddle, curvature, third, exponent = found.tolist()
        return saddle, curvature, third, exponent
    low, high = 1.0 / float(x.min()), 1.0 / float(x.max())
    s = start if low < start < high else 0.0
    for _ in range(200):
        terms = x / (1.0 - s * x)
        slope, curvature = total_in_lanes(count * terms), total_in_lanes(count * terms * terms)
        if abs(slope) <= _CLOSE * math.sqrt(curvature):
            break
        low, high = (low, s) if slope > 0 else (s, high)
        step = s - slope / curvature
        s = step if low < step < high else (low + high) / 2.0
    return (
        s,
        curvature,
        total_in_lanes(count * terms * terms * terms),
        total_in_lanes(count * log_of_one_plus(-s * x)),
    )


def log_of_one_plus(u: Floats) -> Floats:
    """Return log(1 + u), with the bits of the kernel on every platform."""
    return log_of(1.0 + u, u)


def log_of(total: Floats, u: Floats) -> Floats:
    """Return the logarithm of a total 1 + u, with the bits of the kernel on every platform."""
    mantissa, exponent = np.frexp(total)
    low = mantissa < math.sqrt(0.5)
    mantissa, exponent = (
        np.where(low, 2.0 * mantissa, mantissa),
        (exponent - low).astype(np.float64),
    )
    above = np.where(exponent != 0, mantissa - 1.0, u)
    t = above / (2.0 + above)
    square, series = t * t, np.full(len(t), 1.0 / 23.0)
    for odd in range(21, 0, -2):
        series = series * square + 1.0 / odd
    out: Floats = exponent * 0.6931471805599453 + 2.0 * t * series
    return out
