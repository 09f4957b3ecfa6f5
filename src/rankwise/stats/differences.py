"""Paired differences, checked and described; intervals and test results, which all tests share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from rankwise.errors import InputError, ParameterError
from rankwise.stats.moments import DIGITS, Moments, moments_of_pairs, paired_differences
from rankwise.stats.values import Floats, Side, column

__all__ = [
    "LEAST",
    "MANY",
    "UNVARIED",
    "Differences",
    "Floats",
    "Interval",
    "Missing",
    "PairStatistics",
    "TestResult",
    "caveats",
    "differences",
    "fewest_for_t",
    "never_zero",
    "standardised",
    "t_around",
    "t_is_valid",
    "t_quantile",
    "too_skewed",
]

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
    """A confidence interval; it unpacks to its limits, and ``x in interval`` tests a value.

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


@dataclass(frozen=True, eq=False)
class Differences:
    """Paired differences x − y; ``omitted`` pairs were dropped because a value was missing.

    ``paired`` is False if x alone was given; ``known`` are the moments, and ``sides`` x and y with
    what other pairs have asked of them, if they were computed for many pairs at once.
    """

    x: Floats
    y: Floats
    omitted: int = 0
    sides: tuple[Side, Side] | None = None
    known: Moments | None = None
    paired: bool = True

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        return self.sides or (Side(self.x), Side(self.y))

    @cached_property
    def _moments(self) -> Moments:
        return self.known or moments_of_pairs(self._sides, [(0, 1)])[0]

    @cached_property
    def d(self) -> Floats:
        """The differences; those within rounding error are 0."""
        return paired_differences(self.x, self.y)

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
    def error(self) -> float:
        """The standard error of the mean difference."""
        return self.deviation / self.n**0.5 if self.n else float("nan")

    @property
    def nonzero(self) -> int:
        """Number of pairs that differ."""
        return self.wins + self.losses

    @property
    def wins(self) -> int:
        """Number of pairs in which x is larger."""
        return self._moments.wins

    @property
    def losses(self) -> int:
        """Number of pairs in which y is larger."""
        return self._moments.losses

    @property
    def d_z(self) -> float:
        """The mean difference in standard deviations: 0 if all agree, NaN if they do not vary."""
        return standardised(self)

    @cached_property
    def means(self) -> tuple[float, float]:
        """The means of x and of y; NaN without pairs."""
        if not self.n:
            return float("nan"), float("nan")
        return self._sides[0].mean, self._sides[1].mean

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of x and y (n − 1), from their variances and that of x − y."""
        of_x, of_y = (side.variance for side in self._sides)
        both = (of_x + of_y - self.deviation**2) / 2
        return np.array([[of_x, both], [both, of_y]])

    @property
    def not_zero(self) -> int:
        """Number of pairs that are not both 0."""
        return self._moments.not_zero

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Caveats about these pairs."""
        return caveats(self)


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
    @property
    def flags(self) -> tuple[str, ...]: ...  # noqa: D102


def standardised(pairs: PairStatistics) -> float:
    """Return the mean difference in standard deviations."""
    if pairs.n > 1 and not pairs.nonzero:
        return 0.0
    return pairs.mean / pairs.deviation if pairs.n > 1 and pairs.deviation else float("nan")


def caveats(pairs: PairStatistics) -> tuple[str, ...]:
    """Return the caveats of a test of these pairs."""
    flags = []
    if pairs.omitted:
        flags.append(f"{pairs.omitted} {'pairs with a missing value' if pairs.paired else 'missing values'} omitted")
    if pairs.n < 2:
        flags.append("fewer than two pairs" if pairs.paired else "fewer than two values")
    elif not pairs.nonzero:
        flags.append("identical")
    elif not pairs.deviation:
        flags.append("zero variance")
    elif pairs.nonzero < FEW:
        flags.append(f"only {pairs.nonzero} {'pairs differ' if pairs.paired else 'values are not 0'}")
    if too_skewed(pairs):
        skewed = "pairs for the skewness of differences" if pairs.paired else "values for their skewness"
        flags.append(f"too few {skewed}: p and interval approximate")
    return tuple(flags)


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
        raise ParameterError("missing must be one of error, omit", found=f"missing={missing!r}")
    if missing == "error":
        raise InputError(
            "a value is NaN",
            where=f"pair {int(np.flatnonzero(gaps)[0])}",
            found=f"{int(gaps.sum())} such pairs of {len(gaps)}",
            hint='missing="omit" drops them, and adds a flag',
        )
    return Differences(first[~gaps], second[~gaps], int(gaps.sum()), paired=paired)


def never_zero(p: Any) -> float:
    """Return a p-value, or the smallest positive float where it underflowed to 0.

    >>> never_zero(0.0) > 0, never_zero(0.5)
    (True, 0.5)
    """
    return max(float(p), LEAST)


@lru_cache(maxsize=1024)
def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t: a comparison asks for the same ones for every pair."""
    from scipy.stats import t

    return float(t.ppf(probability, freedom))


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
