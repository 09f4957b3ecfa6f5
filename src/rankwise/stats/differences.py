"""Paired differences, checked and described; intervals and test results, which all tests share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from rankwise.core import kernels
from rankwise.core.arrays import ExactTotal, is_masked
from rankwise.core.kernels import default_threads, map_threads, split_range
from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def numbers(name: str, values: Any) -> Floats:
    """Return values as an array of floats; raise if they are anything else."""
    if is_masked(values):
        raise InputError(
            f"{name} is a masked array, and its mask would be ignored",
            hint="pass the values that are not masked: x.compressed()",
        )
    try:
        if np.asarray(values).dtype.kind != "c":  # their imaginary parts would be dropped
            return np.asarray(values, dtype=np.float64)
        raise TypeError("complex numbers")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} holds no numbers", found=repr(values)[:80]) from error


def column(name: str, values: Any) -> Floats:
    """Return values as an array of floats, shape (n,); raise if they are anything else."""
    out = numbers(name, values)
    if out.ndim != 1:
        raise InputError(f"{name} has one number per user", found=f"shape {out.shape}")
    if np.isinf(out).any():
        raise InputError(f"{name} holds an infinite value")
    return out


def significant_digits(values: Floats, digits: int = 12) -> Floats:
    """Round to significant digits, so that values that differ only by rounding become equal.

    >>> bool(significant_digits(np.array([0.1 + 0.2]))[0] == 0.3)
    True
    """
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(np.abs(values)))
    exponents = np.where(np.isfinite(exponents), np.clip(exponents, -280, 280), 0)
    scale = 10.0 ** (digits - 1 - exponents)
    out: Floats = np.round(values * scale) / scale
    return out


def check_level(name: str, level: object) -> None:
    """Raise unless a level lies between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1:  # type: ignore[operator]
        raise ParameterError(f"{name} must lie between 0 and 1", found=f"{name}={level!r}")


def check_above_zero(name: str, value: object) -> None:
    """Raise unless a value is a number above 0."""
    if not isinstance(value, Real) or not float(value) > 0:
        raise ParameterError(f"{name} must be above 0", found=f"{name}={value!r}")


@dataclass(frozen=True, eq=False)
class SortedColumn:
    """The values of one system; quantities that all its pairs share are computed once."""

    values: Floats

    @cached_property
    def total(self) -> ExactTotal:
        """The sum, which is not rounded."""
        return ExactTotal.of(self.values)

    @cached_property
    def mean(self) -> float:
        """The mean, of which the sum is rounded once, as in results."""
        return self.total.value / len(self.values)

    @cached_property
    def variance(self) -> float:
        """The sample variance (n − 1)."""
        return float(self.values.var(ddof=1))


DIGITS = 1e-12
"""Differences smaller than this, relative to the values, are rounding errors."""
BINS = 2**13
"""Values up to which the distinct ones are counted; more are put into so many bins."""
LANES, _BLOCK = 16, 2048  # in which numbers are summed, as the kernel has it
_LEAST_EXPONENT = -1000
_WORTH_A_THREAD = 500_000  # values


@dataclass(frozen=True, slots=True)
class Moments:
    """Counts and moments of the differences of one pair of columns.

    Attributes
    ----------
    wins, losses, not_zero : int
        Number of positive and of negative differences, and of pairs that are not both 0.
    mean, deviation, skewness : float
        The mean, NaN without pairs; the sample standard deviation (n − 1), NaN below two pairs and
        0 if within rounding error; the skewness, 0 if the differences are symmetric or do not vary.
    least, most : float
        The smallest and the largest difference, NaN without pairs.
    """

    wins: int
    losses: int
    not_zero: int
    mean: float
    deviation: float
    skewness: float
    least: float
    most: float


def paired_differences(x: Floats, y: Floats) -> Floats:
    """Return x − y; differences within rounding error are 0.

    >>> paired_differences(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5])).tolist()
    [0.0, 0.5]
    """
    d = x - y
    d[np.abs(d) <= DIGITS * np.maximum(np.abs(x), np.abs(y))] = 0.0
    return d


def distribution_of(values: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values in ascending order, and how many there are of each.

    More than 8,192 values are put into as many bins, each with its mean.
    """
    if len(values) > BINS:
        return in_bins(values, np.ones(len(values)), BINS)
    distinct, count = np.unique(values, return_counts=True)
    return distinct, count.astype(np.float64)


def in_bins(values: Floats, count: Floats, bins: int) -> tuple[Floats, Floats]:
    """Return the means of values in bins of one width, and how many there are of each."""
    low, high = float(values.min()), float(values.max())
    width = (high - low) / bins
    places = (
        np.minimum(((values - low) / width).astype(np.int64), bins - 1)
        if width > 0
        else np.zeros(len(values), int)
    )
    sizes, totals = (
        np.bincount(places, weight, bins).astype(np.float64) for weight in (count, values * count)
    )
    return _means_of_bins(sizes, totals, low, high)


def _means_of_bins(sizes: Floats, totals: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    kept = sizes > 0
    return np.clip(totals[kept] / sizes[kept], low, high), sizes[kept]


def moments_of_pairs(
    sides: Sequence[SortedColumn], pairs: Sequence[tuple[int, int]]
) -> list[Moments]:
    """Return the moments of the differences of each pair of sides, the first minus the second.

    A mean difference is that of the exact sums of both sides, so that it is the difference of two
    published means up to one rounding.

    >>> sides = [SortedColumn(np.array(values)) for values in ([0.5, 1.0, 0.0], [0.5, 0.25, 0.5])]
    >>> moments = moments_of_pairs(sides, [(0, 1)])[0]
    >>> moments.wins, moments.losses, moments.not_zero, moments.mean
    (1, 1, 3, 0.0833)
    """
    n, places = len(sides[0].values), np.array(pairs, dtype=np.int64).reshape(-1, 2)
    sums, library = np.zeros((len(places), 9)), kernels.load()
    if not n:
        return [Moments(0, 0, 0, math.nan, math.nan, 0.0, math.nan, math.nan)] * len(pairs)
    columns = [np.ascontiguousarray(side.values) for side in sides]
    means = np.array([_mean(sides[x], sides[y]) for x, y in pairs])

    def work(first: int, stop: int) -> None:
        if library is None:
            for at in range(first, stop):
                x, y = (columns[side] for side in places[at])
                sums[at] = _sums(x, y, means[at])
        else:
            library.rw_differences(columns, n, places, means, first, stop, sums)

    pairs_by_thread(work, len(places), n)
    return _moments(n, sums)


def _mean(x: SortedColumn, y: SortedColumn) -> float:
    """Return the mean difference; 0 if within rounding error of the means."""
    mean = (x.total - y.total).value / len(x.values)
    return 0.0 if abs(mean) <= DIGITS * max(abs(x.mean), abs(y.mean)) else mean


def pairs_by_thread(work: Callable[[int, int], None], n_pairs: int, n_users: int) -> None:
    """Call a function for shares of the pairs, on several threads if there is enough work."""
    threads = default_threads() if n_pairs * n_users > _WORTH_A_THREAD else 1
    for _ in map_threads(lambda share: work(*share), split_range(n_pairs, threads), threads):
        pass


def _moments(n: int, sums: Floats) -> list[Moments]:
    """Return moments from the sums of the kernel, shape (pairs, 9)."""
    wins, losses, not_zero, mean, least, most, exponent, squares, cubes = sums.T
    largest, exponent = np.maximum(most, -least), exponent.astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(squares / (n - 1))
        spread[spread <= DIGITS * np.ldexp(largest, -exponent)] = 0.0
        skewness = np.where(spread > 0, cubes / n / (spread * spread * spread), 0.0)
        deviation = np.ldexp(spread, exponent)
    if n < 2:
        deviation[:], skewness[:] = math.nan, 0.0
    counts = (column.astype(np.int64).tolist() for column in (wins, losses, not_zero))
    numbers = (column.tolist() for column in (mean, deviation, skewness, least, most))
    return list(map(Moments, *counts, *numbers))


def _sums(x: Floats, y: Floats, mean: float) -> list[float]:
    """Return the kernel's sums of one pair, with the same bits."""
    d = paired_differences(x, y)
    least, most = float(d.min()), float(d.max())
    mean = min(max(mean, least), most)
    largest = max(most, -least)
    exponent = max(math.frexp(largest)[1], _LEAST_EXPONENT)
    deviations = (d - mean) * math.ldexp(1.0, -exponent)
    squares = deviations * deviations
    return [
        *(float(np.count_nonzero(which)) for which in (d > 0, d < 0, (x != 0) | (y != 0))),
        mean,
        least,
        most,
        exponent,
        total_in_lanes(squares),
        total_in_lanes(squares * deviations),
    ]


def total_in_lanes(values: Floats) -> float:
    """Return the sum of values in lanes, and of each block for itself, in the kernel's order."""
    blocks = np.zeros(
        (-(-len(values) // _BLOCK), min(-(-len(values) // LANES), _BLOCK // LANES), LANES)
    )
    blocks.reshape(-1)[: len(values)] = values
    lanes = blocks.sum(axis=1).sum(axis=0)
    return float(np.cumsum(lanes)[-1])  # in order: from Python 3.12 on `sum` compensates errors


Missing: TypeAlias = Literal["error", "omit"]

LEAST = 5e-324
"""The smallest positive float: no p-value is 0."""
FEW = 30
"""Pairs that differ below which the spread of differences is not known well enough for t."""
MANY = 1000
"""Pairs from which t is as good as resampling, and tests of the median mislead about the mean."""
UNVARIED = "no variation: the interval is not known"
SKEWED = 25
"""Tests of means need more than so many times the squared skewness of pairs (Cochran's rule)."""
_ROOM = 1.4
"""Pairs to plan for, over those that the rules need on average: samples differ (simulated)."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval, which unpacks to its limits; ``x in interval`` tests a value.

    Attributes
    ----------
    estimate : float
        The point estimate.
    low, high : float
        The limits; NaN if the data allow none.
    confidence : float
        The confidence level: the share of such intervals that contain the true value.
    method : str
        How it was computed.
    n : int
        Number of values, pairs or clusters.
    flags : tuple of str
        Caveats.

    Examples
    --------
    >>> from rankwise import stats
    >>> lower, upper = interval = stats.t_interval([0.25, 0.5, 0.75])
    >>> lower == interval.low, upper == interval.high, interval.estimate in interval
    (True, True, True)
    """

    estimate: float
    low: float
    high: float
    confidence: float
    method: str
    n: int
    flags: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        # By default ``in`` would compare the value with the two limits alone.
        return self.low <= value <= self.high


@dataclass(frozen=True)
class TestResult:
    """The result of a significance test.

    Attributes
    ----------
    test : str
        Name of the test.
    difference : float
        The mean difference, or another quantity that the test is about.
    statistic : float
        The test statistic.
    p : float
        Two-sided p-value: the probability, if there is no difference, of a statistic at least as
        extreme; never 0. NaN if the data allow no test.
    n : int
        Number of pairs.
    flags : tuple of str
        Caveats: ``identical``, ``zero variance``, ``fewer than two``, ….
    resamples : int or None, default=None
        Number of resamples; None for a test without resampling.
    """

    test: str
    difference: float
    statistic: float
    p: float
    n: int
    flags: tuple[str, ...] = ()
    resamples: int | None = None

    __test__ = False  # pytest collects classes called Test…


class PairStatistics(Protocol):
    """The interface of pairs for tests: of `Differences`, or of the sums in `PairSums`."""

    @property
    def paired(self) -> bool: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def omitted(self) -> int: ...  # noqa: D102
    @property
    def wins(self) -> int: ...  # noqa: D102
    @property
    def losses(self) -> int: ...  # noqa: D102
    @property
    def nonzero(self) -> int: ...  # noqa: D102
    @property
    def not_zero(self) -> int: ...  # noqa: D102
    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def means(self) -> tuple[float, float]: ...  # noqa: D102
    @property
    def deviation(self) -> float: ...  # noqa: D102
    @property
    def skewness(self) -> float: ...  # noqa: D102
    @property
    def error(self) -> float: ...  # noqa: D102
    @property
    def covariance(self) -> Floats: ...  # noqa: D102
    @property
    def d_z(self) -> float: ...  # noqa: D102
    def scaled(self, factor: float) -> PairStatistics: ...  # noqa: D102
    @property
    def sample_flags(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def flags(self) -> tuple[str, ...]: ...  # noqa: D102


class DerivedStatistics:
    """Statistics derived from the counts, the mean and the deviation of pairs."""

    @property
    def nonzero(self: PairStatistics) -> int:
        """Number of pairs that differ."""
        return self.wins + self.losses

    @property
    def error(self: PairStatistics) -> float:
        """The standard error of the mean difference."""
        return self.deviation / self.n**0.5 if self.n else float("nan")

    @property
    def d_z(self: PairStatistics) -> float:
        """The mean difference in standard deviations: 0 if all agree, NaN if they do not vary."""
        if self.n > 1 and not self.nonzero:
            return 0.0
        return self.mean / self.deviation if self.n > 1 and self.deviation else float("nan")

    @property
    def sample_flags(self: PairStatistics) -> tuple[str, ...]:
        """Caveats about the sample, for every test and statistic."""
        flags = []
        if self.omitted:
            flags.append(
                f"{self.omitted} "
                f"{'pairs with a missing value' if self.paired else 'missing values'} omitted"
            )
        if self.n < 2:
            flags.append("fewer than two pairs" if self.paired else "fewer than two values")
        elif not self.nonzero:
            flags.append("identical")
        elif not self.deviation:
            flags.append("zero variance")
        elif self.nonzero < FEW:
            one = ("pair differs", "value is not 0")
            several = ("pairs differ", "values are not 0")
            flags.append(
                f"only {self.nonzero} {(one if self.nonzero == 1 else several)[not self.paired]}"
            )
        return tuple(flags)

    @property
    def flags(self: PairStatistics) -> tuple[str, ...]:
        """Caveats about these pairs, for tests by t or by resampling."""
        if not too_skewed(self):
            return self.sample_flags
        skewed = (
            "pairs for the skewness of differences" if self.paired else "values for their skewness"
        )
        return (*self.sample_flags, f"too few {skewed}: p and interval approximate")


@dataclass(frozen=True, eq=False)
class Differences(DerivedStatistics):
    """Paired differences x − y; ``omitted`` pairs were dropped because a value was missing.

    ``paired`` is False if x alone was given; ``moments``, and ``columns`` x and y with what all
    their pairs share, come with them if they were computed for many pairs at once.
    """

    x: Floats
    y: Floats
    omitted: int = 0
    columns: tuple[SortedColumn, SortedColumn] | None = None
    moments: Moments | None = None
    paired: bool = True

    @cached_property
    def _columns(self) -> tuple[SortedColumn, SortedColumn]:
        return self.columns or (SortedColumn(self.x), SortedColumn(self.y))

    @cached_property
    def _moments(self) -> Moments:
        return self.moments or moments_of_pairs(self._columns, [(0, 1)])[0]

    @cached_property
    def d(self) -> Floats:
        """The differences, with 0 in place of rounding errors."""
        return paired_differences(self.x, self.y)

    @cached_property
    def distribution(self) -> tuple[Floats, Floats]:
        """`distribution_of` the differences."""
        library = kernels.load()
        if library is None or self.n <= BINS:
            return distribution_of(self.d)
        cells, limits = np.zeros((BINS, 2)), self.limits
        x, y = map(np.ascontiguousarray, (self.x, self.y))
        library.rw_bins(x, y, self.n, BINS, *limits, cells)
        return _means_of_bins(cells[:, 0], cells[:, 1], *limits)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest difference; NaN without pairs."""
        return self._moments.least, self._moments.most

    def scaled(self, factor: float) -> Differences:
        """Return the differences of x and y times a factor."""
        return Differences(self.x, self.y * factor)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.x)

    @property
    def mean(self) -> float:
        """The mean difference; NaN without pairs."""
        return self._moments.mean

    @property
    def deviation(self) -> float:
        """Sample standard deviation of the differences (n − 1); 0 if within rounding error."""
        return self._moments.deviation

    @property
    def skewness(self) -> float:
        """The skewness of the differences: 0 if they are symmetric, or do not vary."""
        return self._moments.skewness

    @property
    def wins(self) -> int:
        """Number of pairs in which x is larger."""
        return self._moments.wins

    @property
    def losses(self) -> int:
        """Number of pairs in which y is larger."""
        return self._moments.losses

    @cached_property
    def means(self) -> tuple[float, float]:
        """The means of x and of y; NaN without pairs."""
        if not self.n:
            return float("nan"), float("nan")
        return self._columns[0].mean, self._columns[1].mean

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of x and y (n − 1), from the variances of x, y and x − y."""
        of_x, of_y = (side.variance for side in self._columns)
        both = (of_x + of_y - self.deviation**2) / 2
        return np.array([[of_x, both], [both, of_y]])

    @property
    def not_zero(self) -> int:
        """Number of pairs that are not both 0."""
        return self._moments.not_zero


def too_skewed(pairs: PairStatistics) -> bool:
    """Return whether the pairs are too few for their skewness, by Cochran's rule.

    A small sample has rarely seen the tail: two standard errors are added to its skewness.
    """
    if pairs.n < 2 or not pairs.deviation:
        return False
    return bool(pairs.n < SKEWED * (abs(pairs.skewness) + 2 * (6 / pairs.n) ** 0.5) ** 2)


def t_is_valid(pairs: PairStatistics) -> bool:
    """Return whether enough pairs differ, and are not too skewed, for a one-sided t test."""
    return pairs.nonzero >= FEW and bool(pairs.deviation) and not too_skewed(pairs)


def fewest_for_t(share: float, skewness: float) -> int:
    """Return the number of pairs from which `t_is_valid` in 8 of 10 samples.

    ``share`` is that of the pairs that differ.

    >>> fewest_for_t(1.0, 0.0), fewest_for_t(0.02, 0.0), fewest_for_t(1.0, 4.0)
    (42, 2100, 627)
    """
    skewed = math.sqrt(SKEWED) * abs(skewness)
    unskewed = ((skewed + math.sqrt(skewed**2 + 8 * math.sqrt(6 * SKEWED))) / 2) ** 2
    return math.ceil(_ROOM * max(FEW / share, unskewed))


def differences(x: Any, y: Any = None, *, missing: Missing = "error") -> Differences:
    """Return checked paired differences; without y, x are differences.

    A pair with a NaN raises or is dropped; dropped pairs are counted in the flags.

    >>> differences([1.0, 0.5], [0.5, 0.5]).d.tolist()
    [0.5, 0.0]
    """
    first = column("x", x)
    second = np.zeros_like(first) if y is None else column("y", y)
    if len(first) != len(second):
        raise InputError(
            "both sides of the pairs need the same number of values",
            found=f"{len(first)} and {len(second)}",
            hint="align both by user first",
        )
    gaps = np.isnan(first) | np.isnan(second)
    paired = y is not None
    if not gaps.any():
        return Differences(first, second, paired=paired)
    if missing not in ("error", "omit"):
        raise ParameterError(
            "missing must be one of error, omit", found=parameter("missing", missing)
        )
    if missing == "error":
        raise InputError(
            "a value is NaN",
            where=f"pair {int(np.flatnonzero(gaps)[0])}",
            found=f"{int(gaps.sum())} such pairs of {len(gaps)}",
            hint=f"{parameter('missing', 'omit')} drops them, and adds a flag",
        )
    return Differences(first[~gaps], second[~gaps], int(gaps.sum()), paired=paired)


def never_zero(p: Any) -> float:
    """Return a p-value, or the smallest positive float in place of an underflow to 0.

    >>> never_zero(0.0) > 0, never_zero(0.5)
    (True, 0.5)
    """
    return max(float(p), LEAST)


@lru_cache(maxsize=1024)
def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t: a comparison asks for the same ones for every pair."""
    from scipy.special import (
        stdtrit,
    )  # what scipy.stats calls as well, which takes much longer to load

    return float(stdtrit(freedom, probability))


def normal_probability(z: float) -> float:
    """Return the probability that a standard normal variable is at most z."""
    return math.erfc(-z / math.sqrt(2.0)) / 2.0


def root_of(
    function: Callable[[float], float], low: float, high: float, close: float = 1e-12
) -> float:
    """Return the root of a continuous function with opposite signs at both ends, within ``close``.

    Chandrupatla's method: inverse quadratic interpolation where three values allow it, else
    bisection. (To load `scipy.optimize` takes a quarter of the time of a small evaluation.)

    References
    ----------
    T. R. Chandrupatla, *A new hybrid quadratic/bisection algorithm for finding the zero of a
    nonlinear function without using derivatives*, Advances in Engineering Software 28, 1997.

    >>> root_of(lambda x: x * x - 2.0, 0.0, 2.0)
    1.4142
    """
    x, y = (
        [high, low, high],
        [function(high), function(low), math.nan],
    )  # the newest, the other side, the one before
    if not y[0]:
        return high
    if y[0] * y[1] > 0:
        raise ValueError(f"a function has one sign at {low} and {high}: {y[1]} and {y[0]}")
    share = 0.5
    for _ in range(200):
        new = x[0] + share * (x[1] - x[0])
        value = function(new)
        same_side = (value > 0) == (y[0] > 0)
        x, y = (
            ([new, x[1], x[0]], [value, y[1], y[0]])
            if same_side
            else ([new, x[0], x[1]], [value, y[0], y[1]])
        )
        best = int(abs(y[1]) < abs(y[0]))
        least = (close + 4e-16 * abs(x[best])) / abs(x[1] - x[0]) if x[1] != x[0] else 1.0
        if least > 0.5 or y[best] == 0:
            break
        share = min(max(_interpolated(x, y), least), 1.0 - least)
    return x[best]


def _interpolated(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the root's share of the way from the first point to the second; 1/2 to bisect."""
    if y[2] == y[1] or not all(map(math.isfinite, y)):
        return 0.5
    xi, phi = (x[0] - x[1]) / (x[2] - x[1]), (y[0] - y[1]) / (y[2] - y[1])
    if not (phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    first = y[0] / (y[1] - y[0]) * y[2] / (y[1] - y[2])
    return first + (x[2] - x[0]) / (x[1] - x[0]) * y[0] / (y[2] - y[0]) * y[1] / (y[2] - y[1])


def two_sided_t(statistic: float, freedom: float) -> float:
    """Return the two-sided p-value of a t statistic, above 0."""
    from scipy.special import stdtr

    return never_zero(2 * stdtr(freedom, -abs(statistic)))


def t_around(
    estimate: float,
    error: float,
    freedom: float,
    *,
    confidence: float,
    method: str,
    n: int,
    flags: tuple[str, ...] = (),
) -> Interval:
    """Return the t interval of an estimate; NaN limits without degrees of freedom, or variation.

    A sample that does not vary says nothing about the spread of unseen values: its interval is not
    [estimate, estimate], but unknown.
    """
    half = t_quantile((1 + confidence) / 2, freedom) * error if freedom > 0 else float("nan")
    if freedom > 0 and error <= DIGITS * abs(estimate):
        half, flags = float("nan"), (*flags, UNVARIED)
    return Interval(estimate, estimate - half, estimate + half, confidence, method, n, flags)
