"""Tests of paired differences: t, sign-flip, Wilcoxon, sign, bootstrap.

Random signs and bootstrap weights are matrix products. Replicates are computed in panels and users
in blocks, both of fixed size, and every panel and block has its own stream of random numbers. So a
seed gives the same bits whatever the number of threads and of panels at a time, and nothing larger
than a panel times a block is held in memory.

All are two-sided tests that the mean of x − y is 0, except Wilcoxon and sign, which are about the
median. SciPy's tests are used where it has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.core.kernels import default_threads, one_blas_thread
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.stats.differences import (
    LEAST,
    MANY,
    Differences,
    Floats,
    Interval,
    Missing,
    PairStatistics,
    TestResult,
    check_level,
    differences,
    never_zero,
    significant_digits,
    t_around,
)

Kind: TypeAlias = Literal["signs", "weights"]

_PANEL = 128  # replicates
_BLOCK = 4096  # users
_MOST = 10_000_000  # replicates: more would take hours, and change no digit that is shown
_THREADED = 1000  # users below which a second thread costs more than it saves
_EXACT_WEIGHTS = 2048  # users up to which bootstrap weights are exactly multinomial


@cache
def _poisson_table() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return 65,536 draws, as close to Poisson(1) as 16 bits allow, with mean exactly 1."""
    from scipy.stats import poisson

    counts = np.round(poisson.pmf(np.arange(9), 1) * 65536).astype(np.int64)
    from_two = counts[2:]
    counts[1] = 65536 - int((from_two * np.arange(2, 9)).sum())  # makes the mean 1
    counts[0] = 65536 - int(from_two.sum()) - counts[1]
    return np.repeat(np.arange(9, dtype=np.uint8), counts)


def _draw(kind: Kind, seed: int, panel: int, block: int, users: int) -> Floats:
    """Draw a panel of replicates for a block of users, shape (_PANEL, users)."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel, block])))
    if kind == "signs":
        packed = np.frombuffer(stream.bytes(_PANEL * ((users + 7) // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(_PANEL, -1), axis=1, count=users)
        signs: Floats = bits.astype(np.float64) * 2 - 1
        return signs
    indices = np.frombuffer(stream.bytes(_PANEL * users * 2), dtype=np.uint16)
    weights: Floats = _poisson_table()[indices].reshape(_PANEL, users).astype(np.float64)
    return weights


def _draw_exact(seed: int, panel: int, users: int) -> Floats:
    """Draw multinomial bootstrap weights: each replicate draws as many users as there are."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel])))
    drawn = stream.integers(0, users, (_PANEL, users)) + np.arange(_PANEL)[:, None] * users
    counts = np.bincount(drawn.ravel(), minlength=_PANEL * users)
    return counts.reshape(_PANEL, users).astype(np.float64)


def sums(
    columns: Floats,
    n_resamples: int,
    *,
    kind: Kind,
    seed: int,
    threads: int | None = None,
    batch: int | None = None,
) -> Iterator[Floats]:
    """Yield weighted sums of columns over users, one panel of replicates at a time, shape (128, m).

    ``columns`` has one row per user. ``kind`` weights users by random signs, or by how often a
    bootstrap resample contains them: exactly n draws for up to 2,048 users, independent Poisson(1)
    counts above. Replicates are computed ``batch`` at a time, by default 128 per thread.
    """
    check_positive(n_resamples=n_resamples, threads=threads, batch=batch)
    if n_resamples > _MOST:
        raise ParameterError(
            f"at most {_MOST:,} resamples are drawn", found=parameter("n_resamples", n_resamples)
        )
    check_positive(least=0, seed=seed)
    at_once = threads or (default_threads() if len(columns) >= _THREADED else 1)
    at_once = max(1, min(at_once, -(-(batch or _PANEL * at_once) // _PANEL)))
    data = np.ascontiguousarray(columns, dtype=np.float64)
    users = len(data)

    def work(panel: int) -> Floats:
        if kind == "weights" and users <= _EXACT_WEIGHTS:
            return _draw_exact(seed, panel, users) @ data
        out = np.zeros((_PANEL, data.shape[1]))
        for block, first in enumerate(range(0, users, _BLOCK)):
            rows = data[first : first + _BLOCK]
            out += _draw(kind, seed, panel, block, len(rows)) @ rows
        return out

    n_panels = -(-n_resamples // _PANEL)
    with (
        one_blas_thread(),
        ThreadPoolExecutor(at_once) as pool,
    ):  # which starts no thread before its first task
        for first in range(0, n_panels, at_once):  # these are yielded before the next ones start
            panels = range(first, min(first + at_once, n_panels))
            done = map(work, panels) if at_once == 1 else pool.map(work, panels)
            for panel, replicates in zip(panels, done, strict=True):
                yield replicates[: n_resamples - panel * _PANEL]


def projections(
    columns: Floats,
    n_resamples: int,
    *,
    kind: Kind,
    seed: int,
    threads: int | None = None,
    batch: int | None = None,
) -> Floats:
    """Return all weighted sums at once, shape (n_resamples, m); see `sums`.

    Examples
    --------
    >>> ones = np.ones((10, 1))
    >>> projections(ones, 3, kind="weights", seed=0).ravel().tolist()
    [10.0, 10.0, 10.0]
    """
    panels = sums(columns, n_resamples, kind=kind, seed=seed, threads=threads, batch=batch)
    return np.concatenate(list(panels))


_EXACT_SIGNS = 20  # non-zero differences up to which all signs are enumerated
_MEDIAN = (
    "tests the median of the differences, not their mean: with many pairs and skewed differences, "
    "systems of equal means nearly always differ significantly"
)


def smallest_p(n: int) -> float:
    """Return 2 / 2**n, the p-value of the sign-flip test if all n differences are equal."""
    return 2.0 ** (1 - n) if n < 1075 else LEAST


def paired_t(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    r"""Test whether two means differ, by the paired t test.

    .. math:: t = \bar d / (s_d / \sqrt n), \quad n - 1 \text{ degrees of freedom.}

    Parameters
    ----------
    x : array, shape (n,)
    y : array, shape (n,), optional
        Values of two systems for the same users in the same order; without y, x are differences.
    missing : {"error", "omit"}, default="error"
        Whether a pair with a NaN raises or is dropped.

    Returns
    -------
    TestResult
        p is 1 if both systems agree for every user. If all differences are equal and not 0, t is
        undefined, and p is that of the sign-flip test, 2 / 2**n.

    See Also
    --------
    sign_flip : Without assumptions about the distribution, for fewer than about 1,000 users.
    paired_t_of_all : All pairs of many systems at once.

    Examples
    --------
    >>> paired_t([0.5, 0.25, 1.0], [0.0, 0.0, 0.5]).p
    0.0377
    """
    return t_test(differences(x, y, missing=missing))


def t_test(pairs: PairStatistics) -> TestResult:
    """Test whether two means differ, from pairs or their sums; see `paired_t`."""
    from scipy.special import stdtr

    if pairs.n < 2 or not pairs.nonzero:
        statistic, p = (math.nan, math.nan) if pairs.n < 2 else (0.0, 1.0)
    elif not pairs.deviation:
        statistic, p = math.copysign(math.inf, pairs.mean), smallest_p(pairs.n)
    else:
        statistic = pairs.mean / pairs.error
        p = never_zero(2 * stdtr(pairs.n - 1, -abs(statistic)))
    return TestResult("paired t", pairs.mean, statistic, p, pairs.n, pairs.flags)


def t_interval(
    x: Any, y: Any = None, *, confidence: float = 0.95, missing: Missing = "error"
) -> Interval:
    """Return the t confidence interval of a mean difference, or of a mean.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`; without y, the interval is that of the mean of x.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        Its limits are NaN if the values do not vary, or are fewer than two.

    Examples
    --------
    >>> interval = t_interval([1.0, 2.0, 3.0])
    >>> interval.low, interval.high
    (-0.4841, 4.4841)
    """
    check_level("confidence", confidence)
    return t_interval_of(differences(x, y, missing=missing), confidence=confidence)


def t_interval_of(pairs: PairStatistics, *, confidence: float) -> Interval:
    """Return the t interval of a mean difference, from pairs or their sums."""
    return t_around(
        pairs.mean,
        pairs.error,
        pairs.n - 1,
        confidence=confidence,
        method="t",
        n=pairs.n,
        flags=pairs.flags,
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

    This is the paired permutation test: if the systems do not differ, each difference is equally
    likely to have the opposite sign. Up to 20 non-zero differences all signs are enumerated; beyond
    that, p = (1 + number at least as extreme) / (1 + resamples).

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    n_resamples : int, default=10000
        Number of random draws of signs; the smallest p is 1 / (n_resamples + 1).
    seed : int, default=0
        Seed of the random numbers.
    threads : int, default=None
        Number of threads, None for all processors; the result does not depend on it.

    Returns
    -------
    TestResult

    See Also
    --------
    sign_flip_interval : The confidence interval that goes with this test.
    max_t : Several comparisons, with family-wise error control.

    Examples
    --------
    >>> sign_flip([0.5, 0.25, 1.0, 0.5], [0.0, 0.0, 0.5, 1.0]).p  # 10 of 16 are as extreme
    0.625
    """
    pairs = differences(x, y, missing=missing)
    check_positive(n_resamples=n_resamples)
    n, mean, flags, d = pairs.n, pairs.mean, pairs.flags, pairs.d
    if n < 1:
        return TestResult("sign-flip", mean, math.nan, math.nan, n, flags)
    total = float(d.sum())
    limit = abs(total) - 1e-12 * float(np.abs(d).sum())  # sums in another order round differently
    if pairs.nonzero <= _EXACT_SIGNS:
        signed_sums = np.zeros(1)
        for value in d[d != 0]:
            signed_sums = np.concatenate([signed_sums + value, signed_sums - value])
        p = float((np.abs(signed_sums) >= limit).mean())
        return TestResult("exact sign-flip", mean, total / n, p, n, flags)
    panels = sums(d[:, None], n_resamples, kind="signs", seed=seed, threads=threads)
    count = sum(int((np.abs(panel) >= limit).sum()) for panel in panels)
    p = (1 + count) / (1 + n_resamples)
    return TestResult("sign-flip", mean, mean, p, n, flags, n_resamples)


def wilcoxon(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    """Test whether differences are symmetric about 0, by Wilcoxon's signed-rank test.

    Zeros are dropped, ties get their mean rank (SciPy's test). It does not test the mean: from
    1,000 pairs a flag warns that systems of equal means may differ significantly.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.

    Returns
    -------
    TestResult
    """
    from scipy.stats import wilcoxon as signed_ranks

    pairs = differences(x, y, missing=missing)
    if not pairs.nonzero:
        return _median_test("Wilcoxon", pairs, 0.0, 1.0 if pairs.n else math.nan)
    rounded = _rounded(pairs)
    tested = signed_ranks(rounded[rounded != 0])
    return _median_test("Wilcoxon", pairs, tested.statistic, tested.pvalue)


def _rounded(pairs: Differences) -> Floats:
    """Round differences to 12 digits of their values, so that rounding errors break no ties."""
    larger = np.maximum(np.abs(pairs.x), np.abs(pairs.y))
    scale = 10.0 ** np.floor(np.log10(np.where(larger > 0, larger, 1.0)))
    out: Floats = significant_digits(np.round(pairs.d / scale, 12) * scale)
    return out


def sign(x: Any, y: Any = None, *, missing: Missing = "error") -> TestResult:
    """Test whether x wins more often than y, by the sign test.

    This is the binomial test of wins and losses; ties are dropped. It does not test the mean: from
    1,000 pairs a flag warns that systems of equal means may differ significantly.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.

    Returns
    -------
    TestResult
    """
    from scipy.stats import binomtest

    pairs = differences(x, y, missing=missing)
    if not pairs.nonzero:
        return _median_test("sign", pairs, 0.0, 1.0 if pairs.n else math.nan)
    p = binomtest(pairs.wins, pairs.nonzero).pvalue
    return _median_test("sign", pairs, pairs.wins, p)


def _median_test(name: str, pairs: Differences, statistic: Any, p: Any) -> TestResult:
    """Return the result of a test of the median; from 1,000 pairs with a warning."""
    flags = (*pairs.flags, *([_MEDIAN] if pairs.n >= MANY else []))
    return TestResult(name, pairs.mean, float(statistic), never_zero(p), pairs.n, flags)


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

    Users are resampled from differences that are shifted to mean 0, and t is computed for every
    resample: p = (1 + number of ``|t*|`` at least ``|t|``) / (1 + resamples).

    Parameters
    ----------
    x, y, n_resamples, seed, missing, threads
        As for `sign_flip`.

    Returns
    -------
    TestResult
    """
    pairs = differences(x, y, missing=missing)
    n, mean, flags, t_test = pairs.n, pairs.mean, pairs.flags, paired_t(pairs.x, pairs.y)
    if n < 2 or not pairs.deviation:
        return TestResult("bootstrap t", mean, t_test.statistic, t_test.p, n, flags)
    drawn = _bootstrap_t(pairs, n_resamples, seed, threads)
    count = int((drawn >= abs(t_test.statistic) * (1 - 1e-12)).sum())
    p = (1 + count) / (1 + n_resamples)
    return TestResult("bootstrap t", mean, t_test.statistic, p, n, flags, n_resamples)


def bootstrap_t_interval(
    pairs: Differences, *, confidence: float, n_resamples: int, seed: int
) -> Interval:
    """Return the interval of the differences that `bootstrap_test` does not reject."""
    n, mean, name = pairs.n, pairs.mean, "bootstrap t"
    if n < 2 or not pairs.deviation:
        return Interval(mean, math.nan, math.nan, confidence, name, n, pairs.flags)
    drawn = np.sort(_bootstrap_t(pairs, n_resamples, seed, None))[::-1]
    # p is at least the level while at least so many of the drawn |t| are as large.
    needed = math.ceil((1 - confidence) * (1 + n_resamples) - 1e-9) - 1
    half = math.inf if needed < 1 else float(drawn[needed - 1]) * pairs.error
    return Interval(mean, mean - half, mean + half, confidence, name, n, pairs.flags)


def _bootstrap_t(pairs: Differences, n_resamples: int, seed: int, threads: int | None) -> Floats:
    """Return |t| of resamples of differences shifted to mean 0; infinite where they are equal."""
    centred = pairs.d - pairs.mean
    columns = np.stack([np.ones(pairs.n), centred, centred**2], axis=1)
    drawn = []
    for panel in sums(columns, n_resamples, kind="weights", seed=seed, threads=threads):
        with np.errstate(divide="ignore", invalid="ignore"):
            means, squares = panel[:, 1] / panel[:, 0], panel[:, 2] / panel[:, 0]
            errors = np.sqrt(np.maximum(squares - means**2, 0) / (panel[:, 0] - 1))
            drawn.append(np.where(errors > 0, np.abs(means / errors), np.inf))
    return np.concatenate(drawn)
