"""Tests of paired differences: t, sign-flip, Wilcoxon, sign, bootstrap, equivalence.

All are two-sided tests that the mean of x − y is 0, but Wilcoxon and sign, which are about the
middle and not about the mean. Where a library has a test SciPy's is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.arguments import check_positive
from rankwise.errors import ParameterError
from rankwise.stats.differences import (
    LEAST,
    MANY,
    Differences,
    Floats,
    Interval,
    Missing,
    TestResult,
    check_level,
    differences,
    never_zero,
    significant_digits,
    t_around,
)
from rankwise.stats.resampling import sums

__all__ = ["Equivalence", "bootstrap_test", "equivalence", "exact_sign_flip", "flip_count",
           "paired_t", "sign", "sign_flip", "t_interval", "wilcoxon"]  # fmt: skip

EXACT = 20  # pairs that differ, up to which all signs are gone through
_MIDDLE = (
    "tests the middle of the differences, not their mean: where differences are skewed and there "
    "are many pairs it calls systems of equal means different nearly always"
)


def smallest_p(n: int) -> float:
    """Return the p of the sign-flip test of pairs that all differ by the same: 2 / 2**n."""
    return 2.0 ** (1 - n) if n < 1075 else LEAST


def paired_t(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    r"""Test whether two means differ, by Student's t of the differences.

    .. math:: t = \bar d / (s_d / \sqrt n), \quad n - 1 \text{ degrees of freedom.}

    Parameters
    ----------
    x, y : array, shape (n,)
        Values of both for the same users in the same order; without y, x are differences.
    missing : {"error", "omit"}
        What to do with NaN.

    Returns
    -------
    TestResult
        p is 1 if all values are the same on both sides, and that of the sign-flip test, 2 / 2**n,
        if all differences are the same and not 0, where t would divide by 0.

    Examples
    --------
    >>> paired_t([0.5, 0.25, 1.0], [0.0, 0.0, 0.5]).p
    0.0377
    """
    from scipy.stats import t

    own = differences(x, y, missing=missing)
    if own.n < 2 or not own.nonzero:
        statistic, p = (math.nan, math.nan) if own.n < 2 else (0.0, 1.0)
    elif not own.deviation:
        statistic, p = math.copysign(math.inf, own.mean), smallest_p(own.n)
    else:
        statistic = own.mean / own.error
        p = never_zero(2 * t.sf(abs(statistic), own.n - 1))
    return TestResult("paired t", own.mean, statistic, p, own.n, own.flags)


def t_interval(
    x: Any, y: Any = None, *, confidence: float = 0.95, missing: Missing = "error"
) -> Interval:
    """Return the t interval of a mean difference, or of a mean.

    Examples
    --------
    >>> found = t_interval([1.0, 2.0, 3.0])
    >>> found.low, found.high
    (-0.4841, 4.4841)
    """
    check_level("confidence", confidence)
    own = differences(x, y, missing=missing)
    return t_around(
        own.mean, own.error, own.n - 1, confidence=confidence, method="t", n=own.n, flags=own.flags
    )


def sign_flip(
    x: Any,
    y: Any = None,
    *,
    n_resamples: int = 10_000,
    seed: int = 0,
    missing: Missing = "error",
    threads: int | None = None,
) -> TestResult:
    """Test whether two means differ, by flipping the signs of the differences at random.

    If systems do not differ, each difference could as well have the other sign. Up to 20 pairs that
    differ all signs are gone through; else p = (1 + number at least as far out) / (1 + resamples).

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    n_resamples : int
        Random signs to draw; the smallest p is 1 / (n_resamples + 1).
    seed : int
        Decides the signs.
    threads : int, optional
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> sign_flip([0.5, 0.25, 1.0, 0.5], [0.0, 0.0, 0.5, 1.0]).p  # 10 of 16 signs are as far out
    0.625
    """
    own = differences(x, y, missing=missing)
    check_positive(n_resamples=n_resamples)
    total = float(own.d.sum())
    if own.n < 1:
        return TestResult("sign-flip", own.mean, math.nan, math.nan, own.n, own.flags)
    if own.nonzero <= EXACT:
        p = exact_sign_flip(own.d)
        return TestResult("exact sign-flip", own.mean, total / own.n, p, own.n, own.flags)
    count = flip_count(own, n_resamples, seed, threads)
    p = (1 + count) / (1 + n_resamples)
    return TestResult("sign-flip", own.mean, own.mean, p, own.n, own.flags, n_resamples)


def exact_sign_flip(d: Floats) -> float:
    """Return the share of all signs whose sum is at least as far out."""
    sums_of_signs = np.zeros(1)
    for value in d[d != 0]:
        sums_of_signs = np.concatenate([sums_of_signs + value, sums_of_signs - value])
    limit = abs(float(d.sum())) - _rounding(d)
    return float((np.abs(sums_of_signs) >= limit).mean())


def flip_count(own: Differences, n_resamples: int, seed: int, threads: int | None) -> int:
    """Count random signs whose sum is at least as far out."""
    limit = abs(float(own.d.sum())) - _rounding(own.d)
    panels = sums(own.d[:, None], n_resamples, kind="signs", seed=seed, threads=threads)
    return sum(int((np.abs(panel) >= limit).sum()) for panel in panels)


def _rounding(d: Floats) -> float:
    """Return by how much equal sums may differ because they were added up otherwise."""
    return 1e-12 * float(np.abs(d).sum())


def wilcoxon(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    """Test by Wilcoxon's signed ranks whether differences lie evenly about 0.

    Zeros are left out, ties take their mean rank (SciPy's test). With 1,000 pairs or more a flag
    says why not to use it: it is not a test of the mean.
    """
    from scipy.stats import wilcoxon as test

    own = differences(x, y, missing=missing)
    flags = (*own.flags, *([_MIDDLE] if own.n >= MANY else []))
    if own.n < 1 or not own.nonzero:
        p = math.nan if own.n < 1 else 1.0
        return TestResult("Wilcoxon", own.mean, 0.0, p, own.n, flags)
    rounded = _rounded(own)
    found = test(rounded[rounded != 0])
    p = never_zero(found.pvalue)
    return TestResult("Wilcoxon", own.mean, float(found.statistic), p, own.n, flags)


def _rounded(own: Differences) -> Floats:
    """Round differences to 12 digits of their values: what rounding alone tells apart is tied."""
    top = np.maximum(np.abs(own.x), np.abs(own.y))
    scale = 10.0 ** np.floor(np.log10(np.where(top > 0, top, 1.0)))
    out: Floats = significant_digits(np.round(own.d / scale, 12) * scale)
    return out


def sign(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    """Test by counting wins and losses whether one side wins more often than the other.

    Ties are left out (the binomial test). With 1,000 pairs or more a flag says why not to use it.
    """
    from scipy.stats import binomtest

    own = differences(x, y, missing=missing)
    flags = (*own.flags, *([_MIDDLE] if own.n >= MANY else []))
    if not own.nonzero:
        p = math.nan if own.n < 1 else 1.0
        return TestResult("sign", own.mean, 0.0, p, own.n, flags)
    p = never_zero(binomtest(own.wins, own.nonzero).pvalue)
    return TestResult("sign", own.mean, float(own.wins), p, own.n, flags)


def bootstrap_test(
    x: Any,
    y: Any = None,
    *,
    n_resamples: int = 10_000,
    seed: int = 0,
    missing: Missing = "error",
    threads: int | None = None,
) -> TestResult:
    """Test whether two means differ, by the bootstrap of the studentised difference.

    Users are drawn again from differences whose mean was moved to 0, and t is worked out anew:
    p = (1 + number of |t*| at least |t|) / (1 + resamples).
    """
    own = differences(x, y, missing=missing)
    plain = paired_t(own.x, own.y)
    if own.n < 2 or not own.deviation:
        return TestResult("bootstrap t", own.mean, plain.statistic, plain.p, own.n, own.flags)
    centred = own.d - own.mean
    columns = np.stack([np.ones(own.n), centred, centred**2], axis=1)
    count = 0
    for panel in sums(columns, n_resamples, kind="weights", seed=seed, threads=threads):
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, square = panel[:, 1] / panel[:, 0], panel[:, 2] / panel[:, 0]
            spread = np.sqrt(np.maximum(square - mean**2, 0) / (panel[:, 0] - 1))
            far = np.abs(mean / spread) >= abs(plain.statistic) * (1 - 1e-12)
        count += int((far | ~(spread > 0)).sum())  # a draw without spread is as far out as can be
    p = (1 + count) / (1 + n_resamples)
    return TestResult("bootstrap t", own.mean, plain.statistic, p, own.n, own.flags, n_resamples)


@dataclass(frozen=True)
class Equivalence:
    """Whether a mean difference is small enough not to matter.

    Attributes
    ----------
    difference : float
        The mean difference.
    margin : float
        What is still small enough.
    p : float
        The larger p of the two one-sided t tests that the difference is beyond the margin.
    interval : Interval
        The t interval of confidence 1 − 2 alpha: inside the margin exactly if p < alpha.
    equivalent : bool
        Whether p < alpha.
    """

    difference: float
    margin: float
    p: float
    interval: Interval
    equivalent: bool


def equivalence(
    x: Any, y: Any = None, *, margin: float, alpha: float = 0.05, missing: Missing = "error"
) -> Equivalence:
    """Test whether two means differ by less than a margin, by two one-sided t tests (TOST).

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    margin : float
        The largest difference that does not matter, above 0.
    alpha : float
        The level.

    Examples
    --------
    >>> equivalence([0.5, 0.4, 0.6, 0.5], [0.5, 0.5, 0.5, 0.5], margin=0.3).equivalent
    True
    """
    from scipy.stats import t

    check_level("alpha", alpha)
    if alpha >= 0.5:
        raise ParameterError("alpha must lie below 0.5", found=f"alpha={alpha}")
    if not isinstance(margin, int | float | np.number) or not margin > 0:
        raise ParameterError("margin must be above 0", found=f"margin={margin!r}")
    own = differences(x, y, missing=missing)
    if own.n < 2:
        p = math.nan
    elif not own.deviation:
        p = 0.0 if abs(own.mean) < margin else 1.0
        p = max(p, smallest_p(own.n))
    else:
        nearest = (margin - abs(own.mean)) / own.error
        p = never_zero(t.sf(nearest, own.n - 1))
    interval = t_interval(own.x, own.y, confidence=1 - 2 * alpha)
    return Equivalence(own.mean, float(margin), p, interval, bool(p < alpha))
