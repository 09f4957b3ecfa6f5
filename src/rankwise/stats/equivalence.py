"""Equivalence, non-inferiority, and power: how many users a claim needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.stats.bounded_means import BoundedMean, bounded_interval_of, bounded_lift, bounded_p
from rankwise.stats.clusters import UserClusters
from rankwise.stats.data_sets import of_clusters
from rankwise.stats.differences import (
    LEAST,
    Differences,
    Interval,
    Missing,
    PairStatistics,
    check_above_zero,
    check_level,
    column,
    differences,
    never_zero,
    root_of,
    t_is_valid,
    t_quantile,
)
from rankwise.stats.paired_tests import t_interval_of


@dataclass(frozen=True)
class Equivalence:
    """The result of `equivalence`: whether a mean difference is within the margin.

    Attributes
    ----------
    difference : float
        The mean difference.
    margin : float
        The largest negligible difference.
    p : float
        The p-value of the hypothesis that the difference exceeds the margin.
    interval : Interval
        The t interval of confidence 1 − 2 alpha.
    equivalent : bool
        Whether p < alpha.
    method : str
        ``"two one-sided tests of a bounded mean"``, or ``"two one-sided t tests"``.
    """

    difference: float
    margin: float
    p: float
    interval: Interval
    equivalent: bool
    method: str


def equivalence(
    x: Any,
    y: Any = None,
    *,
    margin: float,
    alpha: float = 0.05,
    largest: float = math.inf,
    missing: Missing = "error",
) -> Equivalence:
    r"""Test the equivalence of two means: whether they differ by less than a margin.

    Uses two one-sided tests (TOST). If ``largest`` is finite, they are those of Gaffke's limit,
    which holds for any distribution of differences up to ``largest``: a rare large difference that
    was not drawn is allowed for. Otherwise they are t tests, if at least 30 pairs differ and there
    are enough of them for their skewness (:math:`n \ge 25 \, (\gamma + 2 \sqrt{6 / n})^2`).

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    margin : float
        The largest negligible difference, above 0.
    alpha : float, default=0.05
        The significance level.
    largest : float, default=inf
        The largest possible difference, 1 for values between 0 and 1. If it is not given, the test
        is by t, which says nothing about rare differences that were not drawn.

    Returns
    -------
    Equivalence

    See Also
    --------
    non_inferiority : The one-sided question: whether x is not worse than y by the margin.

    Examples
    --------
    >>> one = [0.5, 0.25, 0.75, 0.5] * 25
    >>> other = [0.5, 0.5, 0.5, 0.5] * 25
    >>> equivalence(one, other, margin=0.1).equivalent
    True
    >>> equivalence([0.0] * 30, [0.0] * 30, margin=0.05, largest=1.0).p  # no user was hit at all
    0.2146
    """
    check_above_zero("margin", margin)
    check_above_zero("largest", largest)
    pairs = differences(x, y, missing=missing)
    return equivalence_of(pairs, margin=Margin(margin), alpha=alpha, bounds=(0.0, largest))


Bounds: TypeAlias = tuple[float, float]
"""The smallest and the largest possible value of one user."""
UNBOUNDED: Bounds = (-math.inf, math.inf)


@dataclass(frozen=True)
class Margin:
    """The largest difference that does not matter.

    Attributes
    ----------
    size : float
        A difference of means, or with ``relative`` a share of the mean of y.
    relative : bool, default=False
        Whether the margin grows with the mean of y, which is itself estimated: what is tested is
        the mean of x − (1 ± size) y over users (Laster & Johnson 2003, Statistics in Medicine 22).
    """

    size: float
    relative: bool = False

    @property
    def limit(self) -> float:
        """The limit of the tested mean difference: 0 for a relative margin, else the size."""
        return 0.0 if self.relative else self.size

    def factor(self, side: int, mean: float) -> float:
        """Return the factor of y on one side of a relative margin, given the mean of y."""
        return 1 + side * math.copysign(self.size, mean) if self.relative else 1.0

    def claim(self, pairs: PairStatistics, bounds: Bounds, side: int) -> MarginClaim:
        """Return the claim that the mean of x − y is below the margin (1) or above −margin (-1)."""
        low, high = bounds
        factor = self.factor(side, pairs.means[1])
        ends = (factor * low, factor * high)
        most = high - min(ends) if side > 0 else max(ends) - low
        return MarginClaim(pairs.scaled(factor) if self.relative else pairs, side, self.limit, most)

    def is_none(self, pairs: PairStatistics) -> bool:
        """Return whether the margin is a share of a mean of 0, and so no margin."""
        return self.relative and not pairs.means[1]


@dataclass(frozen=True)
class MarginClaim:
    """The claim that ``side`` times a mean difference is below a limit.

    Attributes
    ----------
    pairs : PairStatistics
        The differences, those of a relative margin of x and the scaled y.
    side : int
        1, or -1 for the opposite sign.
    limit : float
        What the mean is shown to be below.
    most : float
        The largest possible difference of this sign; infinite if there is no bound.
    """

    pairs: PairStatistics
    side: int
    limit: float
    most: float

    @property
    def bounded(self) -> bool:
        """Whether the claim can rest on the bound of the values."""
        return math.isfinite(self.most) and isinstance(self.pairs, Differences)

    @property
    def gap(self) -> float:
        """How far the observed mean is below the limit."""
        return self.limit - self.side * self.pairs.mean

    @cached_property
    def _mean(self) -> BoundedMean:
        assert isinstance(self.pairs, Differences)
        return BoundedMean.of_pairs(self.pairs, self.most, self.side)

    def p(self, clusters: UserClusters | None = None) -> float:
        """Return the one-sided p-value of the claim; 1 if neither the bound nor t is valid."""
        from scipy.special import stdtr

        if self.pairs.n < 2:
            return math.nan
        if clusters is not None:
            assert isinstance(self.pairs, Differences)
            return self._p_of_clusters(self.pairs, clusters)
        if self.bounded:
            return self._mean.p(self.limit)
        if not t_is_valid(self.pairs):
            return 1.0
        return never_zero(
            stdtr(self.pairs.n - 1, self.side * skewed_t(self.pairs, self.side * self.limit))
        )

    def _p_of_clusters(self, pairs: Differences, clusters: UserClusters) -> float:
        """Return the p-value for users in clusters, from the sums of these over the limit."""
        from scipy.special import stdtr

        distance = self.side * pairs.d
        if self.bounded:
            return bounded_p(distance, self.most, clusters, self.limit)
        excess = differences(clusters.totals(distance - self.limit))
        if not t_is_valid(of_clusters(pairs, clusters)) or not excess.deviation:
            return 1.0
        return never_zero(stdtr(excess.n - 1, skewed_t(excess, 0.0)))

    def p_by_t(self) -> float:
        """Return the one-sided p-value of the claim by t; 1 where t is not valid."""
        from scipy.special import stdtr

        if self.pairs.n < 2:
            return math.nan
        if not self.pairs.deviation:
            return LEAST if self.gap > 0 else 1.0
        if not t_is_valid(self.pairs):
            return 1.0
        t = self.side * skewed_t(self.pairs, self.side * self.limit)
        return never_zero(stdtr(self.pairs.n - 1, t))

    def largest_loss(self, level: float) -> float:
        """Return the largest change of an unseen user that the claim bears; NaN if it bears none."""
        return self._mean.largest_loss(level, self.limit)

    def users(self, alpha: float, *, power: float = 0.8) -> int | None:
        """Return the users needed to show the claim, by this sample; None if no number does."""
        if self.bounded and self.pairs.n:
            return self._mean.users(self.gap, alpha=alpha, power=power)
        return users_to_show(self.gap, self.pairs.deviation, alpha, power=power)


def equivalence_of(
    pairs: PairStatistics,
    *,
    margin: Margin,
    alpha: float,
    bounds: Bounds = UNBOUNDED,
    clusters: UserClusters | None = None,
) -> Equivalence:
    """Test whether two means differ by less than a margin, from pairs or their sums.

    A share of a mean of 0 is no margin: p is NaN.
    """
    check_level("alpha", alpha)
    if alpha >= 0.5:
        raise ParameterError("alpha must lie below 0.5", found=parameter("alpha", alpha))
    claims = [margin.claim(pairs, bounds, side) for side in (1, -1)]
    p = math.nan if margin.is_none(pairs) else max(claim.p(clusters) for claim in claims)
    if claims[0].bounded and isinstance(pairs, Differences):
        method = "two one-sided tests of a bounded mean"
        interval = bounded_interval_of(
            pairs, bounds[1] - bounds[0], confidence=1 - 2 * alpha, clusters=clusters
        )
    else:
        method, interval = "two one-sided t tests", t_interval_of(pairs, confidence=1 - 2 * alpha)
    return Equivalence(pairs.mean, float(margin.size), p, interval, bool(p < alpha), method)


def margin_limits(
    pairs: PairStatistics,
    bounds: Bounds,
    *,
    confidence: float,
    clusters: UserClusters | None = None,
) -> tuple[float, float, float, float]:
    """Return the limits of the difference and of the relative lift, by inverting margin tests.

    Each limit is one-sided: a margin outside the limits of confidence 1 − 2 alpha is shown at
    alpha, and no other is. NaN where no margin can be shown.
    """
    tail = (1 - confidence) / 2
    if pairs.n < 2 or not math.isfinite(pairs.mean):
        return math.nan, math.nan, math.nan, math.nan
    if math.isfinite(bounds[1] - bounds[0]) and isinstance(pairs, Differences):
        interval = bounded_interval_of(
            pairs, bounds[1] - bounds[0], confidence=confidence, clusters=clusters
        )
        _, *lift = bounded_lift(pairs, bounds, confidence=confidence, clusters=clusters)
        return interval.low, interval.high, lift[0], lift[1]

    def p_of_size(size: float, side: int) -> float:
        return MarginClaim(pairs, side, side * size, math.inf).p(clusters)

    def p_of_ratio(ratio: float, side: int) -> float:
        return MarginClaim(pairs.scaled(ratio), side, 0.0, math.inf).p(clusters)

    after, before = pairs.means
    low, high = _where_p_is(p_of_size, pairs.mean, pairs.error, tail)
    lift_low, lift_high = ratio_limits(p_of_ratio, after, before, pairs.error, tail)
    return low, high, lift_low, lift_high


def ratio_limits(
    p: Callable[[float, int], float], after: float, before: float, error: float, tail: float
) -> tuple[float, float]:
    """Return the limits of a relative lift, by inverting one-sided tests of a ratio of means.

    ``p`` takes a ratio and a side: 1 for this ratio of means or more, -1 for this ratio or less.
    NaN where the mean of the baseline is not above 0, or the ratio has no bound.
    """
    if not before > 0:
        return math.nan, math.nan
    low, high = _where_p_is(p, after / before, error / before, tail)
    return low - 1, high - 1


_FARTHEST = 40  # doublings of a standard error


def _where_p_is(
    p: Callable[[float, int], float], centre: float, step: float, tail: float
) -> tuple[float, float]:
    """Return the values below and above a centre with a one-sided p of ``tail``; NaN if none."""
    limits: list[float] = []
    for side in (-1, 1):
        near, far = centre, centre + side * step
        for _ in range(_FARTHEST):
            if not p(far, side) > tail:
                break
            near, far = far, centre + 2 * (far - centre)
        if not step > 0 or not p(near, side) > tail >= p(far, side):
            return math.nan, math.nan
        limits.append(_root_of_p(p, side, near, far, tail))
    return limits[0], limits[1]


def _root_of_p(
    p: Callable[[float, int], float], side: int, near: float, far: float, tail: float
) -> float:
    """Return the value between near and far at which a one-sided p-value falls to ``tail``."""

    def spare(value: float) -> float:
        return side * (tail - p(value, side))

    low, high = (near, far) if side > 0 else (far, near)
    return root_of(spare, low, high, 1e-12 * abs(high - low))


def skewed_t(pairs: PairStatistics, hypothesis: float) -> float:
    r"""Return t of a one-sided hypothesis about the mean, corrected for skewness.

    .. math:: t_1 = \frac{\bar d - \mu + \gamma s / (6 n) + \gamma (\bar d - \mu)^2 / (3 s)}
        {s / \sqrt n}

    The plain t is too sure on the side of the long tail (Johnson 1978, Modified t tests and
    confidence intervals for asymmetrical populations, JASA 73).
    """
    gap, deviation, skew = pairs.mean - hypothesis, pairs.deviation, pairs.skewness
    correction = skew * deviation / (6 * pairs.n) + skew * gap**2 / (3 * deviation)
    # Beyond its turning point the correction would reverse: it is kept at that.
    if skew and abs(gap) > 1.5 * deviation / abs(skew):
        correction = math.copysign(0.5 * abs(gap), skew)
    return (gap + correction) / pairs.error


_MOST = 2**53  # users: there are fewer people


@dataclass(frozen=True)
class NonInferiority:
    """The result of `non_inferiority`: whether a mean difference is above −margin.

    Attributes
    ----------
    difference : float
        The mean difference.
    margin : float
        The largest loss that does not matter.
    p : float
        The one-sided p-value of the hypothesis that the loss is the margin or more.
    shown : bool
        Whether p < alpha.
    users_needed : int or None
        Number of users with which it would be shown with probability 0.8 if the true difference
        is the observed one; None if that is not above −margin, does not vary, or is based on too
        few users.
    """

    difference: float
    margin: float
    p: float
    shown: bool
    users_needed: int | None


def non_inferiority(
    x: Any,
    y: Any = None,
    *,
    margin: float,
    alpha: float = 0.05,
    largest: float = math.inf,
    missing: Missing = "error",
) -> NonInferiority:
    """Test non-inferiority: whether x is worse than y by less than a margin; higher is better.

    If ``largest`` is finite, the test is that of Gaffke's limit, which holds for any distribution
    of differences up to ``largest``: a rare large loss that was not drawn is allowed for.
    Otherwise it is a one-sided t test, corrected for skewness, if at least 30 pairs differ and
    there are enough of them for their skewness.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    margin : float
        The largest loss that does not matter, above 0.
    alpha : float, default=0.05
        The significance level.
    largest : float, default=inf
        The largest possible difference, 1 for values between 0 and 1. If it is not given, the test
        is by t, which says nothing about rare losses that were not drawn.

    Returns
    -------
    NonInferiority

    See Also
    --------
    equivalence : The two-sided question: whether x and y differ by less than the margin.

    Examples
    --------
    >>> new, old = [0.5, 0.25, 0.75, 0.5] * 50, [0.5, 0.5, 0.5, 0.5] * 50
    >>> non_inferiority(new, old, margin=0.05).shown
    True
    >>> test = non_inferiority(new, old, margin=0.02)
    >>> test.shown, test.users_needed
    (False, 486)
    """
    check_above_zero("margin", margin)
    check_above_zero("largest", largest)
    pairs = differences(x, y, missing=missing)
    return non_inferiority_of(pairs, margin=Margin(margin), alpha=alpha, bounds=(0.0, largest))


def non_inferiority_of(
    pairs: PairStatistics,
    *,
    margin: Margin,
    alpha: float,
    bounds: Bounds = UNBOUNDED,
    higher_is_better: bool = True,
    clusters: UserClusters | None = None,
) -> NonInferiority:
    """Test non-inferiority from pairs or their sums, in the direction of ``higher_is_better``.

    A share of a mean of 0 is no margin: p is NaN.
    """
    check_level("alpha", alpha)
    claim = margin.claim(pairs, bounds, -1 if higher_is_better else 1)
    p = math.nan if margin.is_none(pairs) else claim.p(clusters)
    needed = None if clusters is not None or margin.is_none(pairs) else claim.users(alpha)
    if needed is not None and needed <= pairs.n and not p < alpha:
        needed = None  # the estimate rests on too little
    return NonInferiority(pairs.mean, float(margin.size), p, bool(p < alpha), needed)


def users_to_show(gap: float, deviation: float, alpha: float, *, power: float = 0.8) -> int | None:
    """Return how many users show a gap above 0; None if no number of them does, or none varies."""
    from scipy.special import ndtri

    if not gap > 0 or not deviation > 0:
        return None
    needed = float(((ndtri(1 - alpha) + ndtri(power)) * deviation / gap) ** 2)
    return math.ceil(needed) if needed < _MOST else None


def power_of(
    n: int,
    effect: float,
    alpha: float = 0.05,
    *,
    margin: float | None = None,
    equivalence: bool = False,
) -> float:
    """Return the power of a paired t test with n users: two-sided, or about a margin.

    Parameters
    ----------
    n : int
        The number of users.
    effect : float
        The true effect size d_z: the mean difference over the standard deviation of the
        differences.
    alpha : float, default=0.05
        The significance level.
    margin : float, optional
        The largest loss that does not matter, over the same standard deviation: the power of
        `non_inferiority` then. A loss is an effect below 0.
    equivalence : bool, default=False
        With a margin: the power of `equivalence`, by its lower bound, which is less than the power
        only where that is low.

    Returns
    -------
    float
        The probability of a significant result, from the noncentral t distribution.

    Examples
    --------
    >>> power_of(34, 0.5)
    0.8078
    >>> power_of(34, 0.0, margin=0.5), power_of(34, 0.0, margin=0.5, equivalence=True)
    (0.8869, 0.7737)
    """
    check_positive(least=0, n=n)
    check_level("alpha", alpha)
    if n < 2 or math.isnan(effect):
        return math.nan
    gaps, sides = _gaps(effect, margin, equivalence=equivalence), 2 if margin is None else 1
    powers = [power_of_t(n, gap, alpha, sides=sides) for gap in gaps]
    return max(sum(powers) - (len(powers) - 1), 0.0)


def _gaps(effect: float, margin: float | None, *, equivalence: bool) -> list[float]:
    """Return the distance of an effect from each hypothesis that a test has to reject."""
    if margin is None:
        if equivalence:
            raise ParameterError("equivalence needs a margin", found=parameter("margin", None))
        return [abs(effect)]
    check_above_zero("margin", margin)
    return [margin + effect, margin - effect] if equivalence else [margin + effect]


def power_of_t(n: int, gap: float, alpha: float, *, sides: int) -> float:
    """Return the power of a t test against a hypothesis ``gap`` standard deviations away."""
    from scipy.stats import nct, norm, t

    limit, shift = t.ppf(1 - alpha / sides, n - 1), gap * math.sqrt(n)
    if shift > limit + 9:  # the power differs from 1 by less than 10**-18
        return 1.0
    opposite = (
        nct.cdf(-limit, n - 1, shift) if sides == 2 and shift < 5 else 0.0
    )  # SciPy may give NaN beyond
    power = float(nct.sf(limit, n - 1, shift) + opposite)
    # SciPy gives NaN for some large parameters, where the shifted normal is as good.
    return float(norm.sf(limit - shift)) if math.isnan(power) else power


def users_needed(
    effect: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    margin: float | None = None,
    equivalence: bool = False,
) -> int:
    """Return the number of users that a paired t test needs for its power.

    Parameters
    ----------
    effect, alpha, margin, equivalence
        As for `power_of`.
    power : float, default=0.8
        The power to reach.

    Returns
    -------
    int

    Examples
    --------
    >>> users_needed(0.5), users_needed(0.01)
    (34, 78491)
    >>> users_needed(0.0, margin=0.01), users_needed(0.0, margin=0.01, equivalence=True)
    (61827, 85640)
    """
    check_level("power", power)
    check_level("alpha", alpha)
    gap = min(_gaps(effect, margin, equivalence=equivalence))
    if margin is None and (not effect or not math.isfinite(effect)):
        raise ParameterError(
            "an effect is a number other than 0", found=parameter("effect", effect)
        )
    if not 0 < gap < math.inf:
        raise ParameterError(
            "a loss of the margin or more is never shown to be within it",
            found=f"{parameter('effect', effect)}, {parameter('margin', margin)}",
        )
    if power <= alpha and not equivalence:
        return 2
    if gap < 1e-6:
        raise ParameterError(
            "an effect this small needs 10**12 users or more", found=parameter("effect", effect)
        )
    return fewest_users(
        lambda n: power_of(n, effect, alpha, margin=margin, equivalence=equivalence), power
    )


def fewest_users(power_at: Callable[[int], float], power: float) -> int:
    """Return the smallest number of users, at least 2, with a power that grows with them."""
    low, high = 1, 2
    while power_at(high) < power:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high


POWER_0_8 = 0.8416
"""The normal quantile of a power of 0.8."""


def minimum_detectable(n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the minimum detectable effect: the smallest d_z detected with the given power.

    Parameters
    ----------
    n : int
        The number of users.
    power : float, default=0.8
        The power to reach.
    alpha : float, default=0.05
        The significance level of the paired t test.

    Returns
    -------
    float

    Examples
    --------
    >>> minimum_detectable(50), minimum_detectable(138_493)
    (0.4042, 0.0075)
    """
    check_level("power", power)
    check_level("alpha", alpha)
    if n < 2:
        return math.nan
    if power <= alpha:  # a test has this power without any difference
        return 0.0
    if n > 1000:  # the noncentral t is nearly a shifted t there, and the root has a closed form
        return (t_quantile(1 - alpha / 2, n - 1) + t_quantile(power, n - 1)) / math.sqrt(n)
    high = 1.0
    while power_of(n, high, alpha) < power and high < 1e6:
        high *= 2
    return root_of(lambda effect: power_of(n, effect, alpha) - power, 0.0, high)


_FEWEST = 5
"""Values below which their kurtosis, and with it the spread of their variance, is not known."""


def variance_interval(values: Any, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Return the confidence limits of the variance of values that need not be normal.

    .. math:: \exp\left(\ln(c s^2) \pm z c \sqrt{(\gamma - (n - 3) / n) / (n - 1)}\right), \quad
        c = n / (n - z)

    with the kurtosis :math:`\gamma` about a trimmed mean (Bonett 2006, Approximate confidence
    interval for standard deviation of nonnormal distributions, Computational Statistics & Data
    Analysis 50). NaN where values do not vary, or are fewer than 5.

    Examples
    --------
    >>> variance_interval([0.1, 0.4, 0.3, 0.9, 0.5, 0.2, 0.4, 0.6, 0.8, 0.7])
    (0.0341, 0.2078)
    """
    from scipy.stats import norm, trim_mean

    check_level("confidence", confidence)
    x = column("values", values)
    n, z = len(x), float(norm.ppf((1 + confidence) / 2))
    variance = float(x.var(ddof=1)) if n >= _FEWEST else 0.0
    if not variance > 0 or n <= z:
        return math.nan, math.nan
    centre = trim_mean(x, min(0.5, 1 / (2 * math.sqrt(n - 4))))
    kurtosis = n * float(((x - centre) ** 4).sum()) / float(((x - x.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    wide = z * c * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    middle = math.log(c * variance)
    return tuple(float(limit) for limit in np.exp([middle - wide, middle + wide]))  # type: ignore[return-value]
