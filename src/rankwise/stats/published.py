r"""What published means can support: intervals and p-values over all samples that print them.

A printed mean of n users says that the sum of their values lies within rounding of n times it. Of
hits (values of 0 and 1) the number of users with a hit is one of few whole numbers; of graded
values in [0, 1] with mean m the variance is at most :math:`m (1 - m) \, n / (n - 1)`. A difference
of two means of the same users has a variance of at most
:math:`(\min(m + m_0, 2 - m - m_0) - \delta^2) \, n / (n - 1)`, which users of 0 and 1 reach that
overlap least.

Reference: Chernoff 1952, A measure of asymptotic efficiency, Annals of Mathematical Statistics 23.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankwise.stats.differences import root_of, t_quantile, two_sided_t

_TINY = 1e-9
"""Units of the last digit by which a printed value may miss a number that prints so."""


@dataclass(frozen=True)
class PrintedValue:
    """A printed number: all values from ``low`` to ``high`` print so.

    Attributes
    ----------
    text : str
        The text.
    value : float
        The number as printed.
    low, high : float
        The smallest and the largest number that print so.
    """

    text: str
    value: float
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether the number is known to all digits."""
        return self.low == self.high

    def counts(self, of: int) -> list[int]:
        """Return the whole numbers whose share of ``of`` prints so.

        >>> PrintedValue("0.333", 0.333, 0.3325, 0.3335).counts(31)
        []
        """
        slack = _TINY * max(self.high - self.low, 1e-12)
        first = math.ceil((self.low - slack) * of - _TINY)
        last = math.floor((self.high + slack) * of + _TINY)
        return list(range(max(first, 0), min(last, of) + 1))


@dataclass(frozen=True)
class MeanClaim:
    """What one printed mean of users in [0, 1] says about other users.

    Attributes
    ----------
    low, high : float
        The interval of the mean whatever the users' values are.
    t_low, t_high : float
        The widest t interval that values with this mean allow; no bound of the mean.
    sd_most : float
        The largest standard deviation of the users' values.
    """

    low: float
    high: float
    t_low: float
    t_high: float
    sd_most: float


def graded_mean(printed: PrintedValue, users: int, alpha: float) -> MeanClaim:
    """Return what a printed mean of graded values in [0, 1] says.

    >>> found = graded_mean(PrintedValue("1.00", 1.0, 0.995, 1.0), 25, 0.05)
    >>> found.low, found.sd_most
    (0.8431, 0.072)
    """
    middle = min(max(0.5, printed.low), printed.high)  # where the variance is the largest
    sd_most = _largest_deviation(middle, users)
    half = t_quantile(1 - alpha / 2, users - 1) * sd_most / math.sqrt(users)
    return MeanClaim(
        low=_chernoff(printed.low, users, alpha, side=-1),
        high=_chernoff(printed.high, users, alpha, side=1),
        t_low=max(printed.value - half, 0.0),
        t_high=min(printed.value + half, 1.0),
        sd_most=sd_most,
    )


def hits_interval(count: int, users: int, alpha: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of the share of users with a hit.

    >>> hits_interval(10, 10, 0.05)
    (0.6915, 1.0)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(count, users - count + 1, alpha / 2)) if count else 0.0
    high = float(betaincinv(count + 1, users - count, 1 - alpha / 2)) if count < users else 1.0
    return low, high


def _largest_deviation(mean: float, users: int) -> float:
    return math.sqrt(max(mean * (1 - mean), 0.0) * users / (users - 1))


def _chernoff(mean: float, users: int, alpha: float, *, side: int) -> float:
    """Return the farthest mean on one side that Chernoff's bound does not exclude."""
    end = 1.0 if side > 0 else 0.0
    most = math.log(2 / alpha) / users

    def excess(other: float) -> float:
        return _divergence(mean, other) - most

    if mean == end or excess(end - side * 1e-15) <= 0:
        return end
    return float(root_of(excess, mean, end - side * 1e-15))


def _divergence(mean: float, other: float) -> float:
    """Return the Kullback–Leibler divergence of two shares."""
    parts = ((mean, other), (1 - mean, 1 - other))
    return sum(p * math.log(p / q) for p, q in parts if p > 0)


@dataclass(frozen=True)
class DifferenceClaim:
    """What two printed means of the same users say of their difference.

    Attributes
    ----------
    low, high : float
        The smallest and the largest difference that print so.
    p_least, p_most : float
        The smallest and the largest p-value of the paired t test.
    exact_least, exact_most : float
        Those of the exact sign test of hits; NaN for graded values.
    differ_least, differ_most : int or None
        Of hits, how many users differ.
    sd_critical, sd_most : float
        Of graded values, the standard deviation of differences below which t is significant, and
        the largest one, at the printed values; NaN for hits.
    """

    low: float
    high: float
    p_least: float
    p_most: float
    exact_least: float = math.nan
    exact_most: float = math.nan
    differ_least: int | None = None
    differ_most: int | None = None
    sd_critical: float = math.nan
    sd_most: float = math.nan


def hits_difference(
    printed: PrintedValue, baseline: PrintedValue, users: int
) -> DifferenceClaim | None:
    """Return what two printed hit rates say; None if no numbers of users print so.

    >>> one, other = PrintedValue(".90", 0.9, 0.895, 0.905), PrintedValue(".80", 0.8, 0.795, 0.805)
    >>> found = hits_difference(one, other, 100)
    >>> found.differ_least, found.differ_most, found.p_least, found.p_most
    (10, 30, 0.0013, 0.0676)
    """
    pairs = [(count, other) for count in printed.counts(users) for other in baseline.counts(users)]
    if not pairs:
        return None
    least: list[tuple[int, float, float]] = []
    most: list[tuple[int, float, float]] = []
    for count, other in pairs:
        ends = [max(0, count - other), min(count, users - other)]  # users whom the system gains
        for gained, found in zip(ends, (least, most), strict=True):
            lost = gained - (count - other)
            found.append((gained + lost, *_p_of_hits(gained, lost, users)))
    return DifferenceClaim(
        low=min(count - other for count, other in pairs) / users,
        high=max(count - other for count, other in pairs) / users,
        p_least=min(p for _, _, p in least),
        p_most=max(p for _, _, p in most),
        exact_least=min(p for _, p, _ in least),
        exact_most=max(p for _, p, _ in most),
        differ_least=min(differ for differ, _, _ in least),
        differ_most=max(differ for differ, _, _ in most),
    )


def _p_of_hits(gained: int, lost: int, users: int) -> tuple[float, float]:
    """Return the two-sided p-values of the exact sign test and of the paired t test."""
    from scipy.special import betainc

    differ, larger = gained + lost, max(gained, lost)
    # P(X ≥ larger) of a fair coin is the regularised incomplete beta function.
    exact = min(1.0, 2 * float(betainc(larger, differ - larger + 1, 0.5))) if larger else 1.0
    mean = (gained - lost) / users
    if not mean:
        return exact, 1.0
    variance = (differ - users * mean**2) / (users - 1)
    return exact, _p_of_t(mean, math.sqrt(max(variance, 0.0)), users)


def _p_of_t(difference: float, deviation: float, users: int) -> float:
    if not difference:
        return 1.0
    if not deviation > 0:
        return 0.0
    return float(two_sided_t(difference / deviation * math.sqrt(users), users - 1))


def graded_difference(
    printed: PrintedValue,
    baseline: PrintedValue,
    users: int,
    alpha: float,
    deviation: float = math.inf,
) -> DifferenceClaim:
    """Return what two printed means of graded values in [0, 1] say.

    With a standard deviation of the users' values, that of their differences is at most its double.

    >>> one, other = PrintedValue(".31", 0.31, 0.305, 0.315), PrintedValue(".29", 0.29, 0.285, 0.295)
    >>> found = graded_difference(one, other, 943, 0.05)
    >>> found.sd_critical, found.sd_most
    (0.3129, 0.7747)
    """
    if printed.value < baseline.value:
        turned = graded_difference(baseline, printed, users, alpha, deviation)
        return DifferenceClaim(
            -turned.high,
            -turned.low,
            turned.p_least,
            turned.p_most,
            sd_critical=turned.sd_critical,
            sd_most=turned.sd_most,
        )
    low, high = printed.low - baseline.high, printed.high - baseline.low
    nearest = min(_widest_of_difference(printed.low, baseline.high, users), 2 * deviation)
    gap = printed.value - baseline.value
    return DifferenceClaim(
        low=low,
        high=high,
        p_least=0.0 if high > 0 else 1.0,
        p_most=_p_of_t(low, nearest, users) if low > 0 else 1.0,
        sd_critical=gap * math.sqrt(users) / t_quantile(1 - alpha / 2, users - 1),
        sd_most=min(_widest_of_difference(printed.value, baseline.value, users), 2 * deviation),
    )


def _widest_of_difference(mean: float, baseline: float, users: int) -> float:
    """Return the largest standard deviation of users' differences."""
    spread = min(mean + baseline, 2 - mean - baseline) - (mean - baseline) ** 2
    return math.sqrt(max(spread, 0.0) * users / (users - 1))


def unpaired_p(
    printed: PrintedValue, baseline: PrintedValue, users: int, deviation: float | None = None
) -> tuple[float, float]:
    """Return the smallest and largest p-value by Welch's test of two means over different users.

    A standard deviation of the users' values leaves only the printed digits open.

    >>> one, other = PrintedValue(".31", 0.31, 0.305, 0.315), PrintedValue(".29", 0.29, 0.285, 0.295)
    >>> unpaired_p(one, other, 943)[0], [round(p, 3) for p in unpaired_p(one, other, 943, 0.2)]
    (0.0, [0.001, 0.278])
    """
    low, high = sorted((printed, baseline), key=lambda one: one.value)
    gap, widest = high.low - low.high, high.high - low.low
    if deviation is None:
        variances = [_largest_deviation(end, users) ** 2 / users for end in (high.low, low.high)]
        least = 0.0
    else:
        variances = [deviation**2 / users] * 2
        least = _welch_p(widest, variances, users)
    return least, _welch_p(gap, variances, users) if gap > 0 else 1.0


def unpaired_p_of_hits(
    printed: PrintedValue, baseline: PrintedValue, users: int
) -> tuple[float, float]:
    """Return the smallest and largest p-value by Welch's test of two shares of different users.

    A number of hits tells every value, so that only the printed digits leave anything open. Some
    number of hits must print so.

    >>> third, fifth = PrintedValue("0.33", 0.33, 0.325, 0.335), PrintedValue("0.20", 0.2, 0.195, 0.205)
    >>> [round(p, 4) for p in unpaired_p_of_hits(third, fifth, 100)]
    [0.0375, 0.0375]
    """
    ends = [[counts[0], counts[-1]] for counts in (printed.counts(users), baseline.counts(users))]
    p = [_p_of_shares(a, b, users) for a in ends[0] for b in ends[1]]
    return min(p), max(p)


def _p_of_shares(a: int, b: int, users: int) -> float:
    """Return the p-value of two numbers of hits, of as many other users each."""
    shares = [count / users for count in (a, b)]
    variances = [share * (1 - share) / (users - 1) for share in shares]
    return _welch_p((a - b) / users, variances, users)


def _welch_p(gap: float, variances: Sequence[float], users: int) -> float:
    """Return the p-value of a difference of two means, whose variances are given."""
    total = sum(variances)
    if not gap or not total > 0:
        return 0.0 if gap else 1.0
    freedom = total**2 / sum(variance**2 / (users - 1) for variance in variances)
    return float(two_sided_t(gap / math.sqrt(total), freedom))


def users_at_widest(difference: float, deviation: float, alpha: float, power: float = 0.8) -> int:
    """Return the users that find a difference, if its standard deviation is as large as it can be.

    >>> users_at_widest(0.02, 0.7747, 0.05)
    11777
    """
    from scipy.special import ndtri

    quantiles = float(ndtri(1 - alpha / 2) + ndtri(power))
    return math.ceil((quantiles * deviation / difference) ** 2)


def possible_users(values: list[PrintedValue], most: int, per: int = 1) -> list[int]:
    """Return the numbers of users for which every value is a whole number over users times ``per``.

    >>> possible_users([PrintedValue("0.4545", 0.4545, 0.45445, 0.45455)], 40)
    [11, 22, 33]
    """
    return [users for users in range(1, most + 1) if all(one.counts(users * per) for one in values)]
