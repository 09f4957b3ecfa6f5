"""Confidence intervals of a mean: bootstrap and sign flips."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice, check_count, check_positive
from rankwise.errors import InputError
from rankwise.stats.bounded_means import bounded_interval_of, bounded_lift
from rankwise.stats.differences import (
    MANY,
    UNVARIED,
    Differences,
    Floats,
    Interval,
    Missing,
    PairStatistics,
    check_level,
    differences,
    numbers,
)
from rankwise.stats.effect_sizes import lift_by_quantile, lift_interval
from rankwise.stats.paired_tests import bootstrap_t_interval, projections, sign_flip, t_interval_of

_DOUBLINGS = 12  # 8,000 standard errors: no difference is rejected there with so few pairs
_CLOSE = 1e-7  # of a standard error


def sign_flip_interval(
    x: Any,
    y: Any = None,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    missing: Missing = "error",
    threads: int | None = None,
) -> Interval:
    r"""Return the confidence interval of a mean difference by inverting the sign-flip test.

    It consists of all :math:`\delta` for which the sign-flip test of :math:`d_i - \delta` does not
    reject, so that the interval and `sign_flip` with the same seed never contradict each other.

    Parameters
    ----------
    x : array, shape (n,)
    y : array, shape (n,), optional
        Values of two systems for the same users in the same order; without y, x are differences.
    confidence : float, default=0.95
        The confidence level.
    n_resamples, seed, threads : int, default=10000, 0, None
        As for `sign_flip`.
    missing : {"error", "omit"}, default="error"
        Whether a pair with a NaN raises or is dropped.

    Returns
    -------
    Interval
        Its limits are infinite if too few pairs differ for any difference to be rejected, and NaN
        with fewer than two pairs or if all differences are equal.

    References
    ----------
    Garthwaite 1996, Confidence intervals from randomization tests, Biometrics 52.

    Examples
    --------
    >>> d = [0.5, 0.25, 0.5, 0.0, 0.25, 0.75, 0.5, 0.25]
    >>> interval = sign_flip_interval(d)
    >>> interval.low > 0, interval.high
    (True, 0.5833)
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    pairs = differences(x, y, missing=missing)
    return flip_interval_of(
        pairs, confidence=confidence, n_resamples=n_resamples, seed=seed, threads=threads
    )


def flip_interval_of(
    pairs: Differences,
    *,
    confidence: float,
    n_resamples: int,
    seed: int,
    threads: int | None = None,
    p: float | None = None,
) -> Interval:
    """Return the sign-flip interval of checked pairs; ``p`` is the test's p-value, if known."""
    n, mean, flags = pairs.n, pairs.mean, pairs.flags
    if n < 2 or not pairs.deviation:
        return Interval(mean, math.nan, math.nan, confidence, "sign-flip", n, flags)
    if p is None:
        p = sign_flip(pairs.x, pairs.y, n_resamples=n_resamples, seed=seed, threads=threads).p
    columns = np.stack([pairs.d, np.ones(n)], axis=1)
    drawn = projections(columns, n_resamples, kind="signs", seed=seed, threads=threads)
    slack = 1e-12 * float(np.abs(pairs.d).sum())  # sums in another order round differently
    flips = _Flips(drawn[:, 0], drawn[:, 1], float(pairs.d.sum()), n, slack)
    level = 1 - confidence - 1e-12  # 1 - 0.95 is a little more than 0.05
    low, high = (_limit(flips, mean, side * pairs.error, level) for side in (-1, 1))
    # Where many differences are 0, p jumps at 0: the interval holds 0 exactly if the test does.
    low, high = _at_zero(low, high, mean, shown=p < level)
    return Interval(mean, low, high, confidence, "sign-flip", n, flags)


@dataclass(frozen=True)
class _Flips:
    """Sums of differences under random signs, and the sums of these signs.

    With both, the sums of differences less any δ follow without drawing again.
    """

    sums: Floats
    signs: Floats
    total: float
    n: int
    slack: float

    def p(self, delta: float) -> float:
        """Return the two-sided p-value of the hypothesis that the mean difference is δ."""
        limit = abs(self.total - self.n * delta) - self.slack - 1e-12 * self.n * abs(delta)
        count = int((np.abs(self.sums - delta * self.signs) >= limit).sum())
        return (1 + count) / (1 + len(self.sums))


def _limit(flips: _Flips, mean: float, step: float, level: float) -> float:
    """Return the δ on one side of the mean at which the test begins to reject."""
    near, far = mean, mean + 2 * step
    for _ in range(_DOUBLINGS):
        if flips.p(far) < level:
            break
        near, far = far, mean + 2 * (far - mean)
    else:
        return math.copysign(math.inf, step)
    while abs(far - near) > _CLOSE * abs(step):
        middle = (near + far) / 2
        near, far = (middle, far) if flips.p(middle) >= level else (near, middle)
    return near


def flip_lift(
    pairs: Differences, *, confidence: float, n_resamples: int, seed: int, p: float | None = None
) -> tuple[float, float, float]:
    """Return the relative lift and its limits: ratios r that sign flips of x − r y do not reject.

    NaN limits where the ratio has no bound.
    """
    after, before = pairs.means if pairs.n else (math.nan, math.nan)
    lift = pairs.mean / abs(before) if before else math.nan
    if pairs.n < 2 or not pairs.deviation or not before > 0:
        return lift, math.nan, math.nan
    if p is None:
        p = sign_flip(pairs.x, pairs.y, n_resamples=n_resamples, seed=seed).p
    drawn = projections(np.stack([pairs.x, pairs.y], axis=1), n_resamples, kind="signs", seed=seed)
    totals, size = (
        (float(pairs.x.sum()), float(pairs.y.sum())),
        float(np.abs(pairs.x).sum() + np.abs(pairs.y).sum()),
    )
    level = 1 - confidence - 1e-12

    def rejects(ratio: float) -> bool:
        limit = abs(totals[0] - ratio * totals[1]) - 1e-12 * size * max(1.0, abs(ratio))
        count = int((np.abs(drawn[:, 0] - ratio * drawn[:, 1]) >= limit).sum())
        return (1 + count) / (1 + n_resamples) < level

    step = max(pairs.error / before, _CLOSE)
    low, high = (_edge(rejects, after / before, side * step) - 1 for side in (-1, 1))
    if not (math.isfinite(low) and math.isfinite(high)):
        return lift, math.nan, math.nan
    low, high = _at_zero(low, high, pairs.mean, shown=p < level)
    return lift, low, high


def _edge(rejects: Callable[[float], bool], centre: float, step: float) -> float:
    """Return where a test begins to reject, beside an accepted centre; infinite if nowhere."""
    near, far = centre, centre + 2 * step
    for _ in range(_DOUBLINGS):
        if rejects(far):
            break
        near, far = far, centre + 2 * (far - centre)
    else:
        return math.copysign(math.inf, step)
    while abs(far - near) > _CLOSE * abs(step):
        middle = (near + far) / 2
        near, far = (near, middle) if rejects(middle) else (middle, far)
    return near


def _at_zero(low: float, high: float, mean: float, *, shown: bool) -> tuple[float, float]:
    """Adjust limits at 0, where p may jump: they enclose 0 exactly if the test does not reject."""
    if not shown:
        return min(low, 0.0), max(high, 0.0)
    return (max(low, math.ulp(0.0)), high) if mean > 0 else (low, min(high, -math.ulp(0.0)))


def lift_of_test(
    pairs: PairStatistics,
    test: str,
    interval: Interval,
    bounds: tuple[float, float],
    *,
    n_resamples: int,
    seed: int,
    p: float | None = None,
) -> tuple[float, float, float]:
    """Return the relative lift and limits of a test, in agreement with its difference interval."""
    if isinstance(pairs, Differences) and pairs.deviation:
        if test == "bounded":
            return bounded_lift(pairs, bounds, confidence=interval.confidence)
        if test == "sign_flip":
            return flip_lift(
                pairs, confidence=interval.confidence, n_resamples=n_resamples, seed=seed, p=p
            )
        if test == "bootstrap":  # the interval is so many standard errors wide
            return lift_by_quantile(pairs, (interval.high - interval.estimate) / pairs.error)
    return lift_interval(pairs, confidence=interval.confidence)


def interval_of_test(
    pairs: PairStatistics,
    test: str,
    *,
    confidence: float,
    n_resamples: int,
    seed: int,
    largest: float = math.inf,
    p: float | None = None,
) -> Interval:
    """Return the interval of a mean difference for a test of `rankwise.compare`.

    Tests of the median (Wilcoxon, sign) have none: theirs is the interval of the mean that would
    be chosen without them. ``largest`` is the largest difference that is possible, ``p`` the
    p-value of the test if it is known.
    """
    if pairs.n > 1 and not pairs.deviation:
        return constant_interval(
            pairs.mean, pairs.n, -largest, largest, confidence=confidence, flags=pairs.flags
        )
    by_t = test == "t" or (test not in ("bounded", "sign_flip", "bootstrap") and pairs.n >= MANY)
    if by_t or not isinstance(pairs, Differences):  # of sums alone t is all that is known
        return t_interval_of(pairs, confidence=confidence)
    if test == "bounded":
        return bounded_interval_of(pairs, largest, confidence=confidence)
    if test == "bootstrap":
        return bootstrap_t_interval(
            pairs, confidence=confidence, n_resamples=n_resamples, seed=seed
        )
    return flip_interval_of(
        pairs,
        confidence=confidence,
        n_resamples=n_resamples,
        seed=seed,
        p=p if test == "sign_flip" else None,
    )


def constant_interval(
    value: float,
    n: int,
    lowest: float,
    highest: float,
    *,
    confidence: float,
    flags: tuple[str, ...] = (),
) -> Interval:
    r"""Return the interval of the mean of n equal values.

    A share q of others may have been missed: :math:`(1 - q)^n \ge \alpha / 2`. They can move the
    mean as far as the range of the values allows; NaN limits if that is not known.

    >>> interval = constant_interval(0.0, 30, 0.0, 1.0, confidence=0.95)  # 30 users without a hit
    >>> interval.low, interval.high
    (0.0, 0.1157)
    """
    missed = 1 - ((1 - confidence) / 2) ** (1 / n)
    low, high = value - missed * (value - lowest), value + missed * (highest - value)
    unknown = "no values differ, and their range is not bounded: the interval is not known"
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high, flags = math.nan, math.nan, (*flags, unknown)
    return Interval(value, low, high, confidence, "bound of unseen values", n, flags)


BootstrapMethod: TypeAlias = Literal["percentile", "basic", "bca", "studentised"]


def bootstrap_means(
    columns: Any,
    n_resamples: int = 1000,
    *,
    seed: int = 0,
    threads: int | None = None,
    batch: int | None = None,
) -> Floats:
    """Return the mean of every column in every bootstrap resample of users.

    All columns share the same resamples, so differences of columns are paired.

    Parameters
    ----------
    columns : array, shape (n, m)
        One row per user.
    n_resamples, seed, threads : int, default=1000, 0, None
        As for `sign_flip`.
    batch : int, default=None
        Resamples computed at a time, None for 128 per thread; the result does not depend on it.

    Returns
    -------
    array, shape (n_resamples, m)

    Examples
    --------
    >>> means = bootstrap_means(np.arange(10.0).reshape(5, 2), 100)
    >>> bool(np.allclose(means[:, 1] - means[:, 0], 1.0))
    True
    """
    data = numbers("columns", columns)
    if data.ndim != 2 or not len(data):
        raise InputError("columns have one row per user", found=f"shape {data.shape}")
    if not np.isfinite(data).all():
        raise InputError("columns hold NaN or infinite values")
    with_counts = np.column_stack([np.ones(len(data)), data])
    totals = projections(
        with_counts, n_resamples, kind="weights", seed=seed, threads=threads, batch=batch
    )
    means: Floats = totals[:, 1:] / totals[:, :1]
    return means


def bootstrap(
    x: Any,
    y: Any = None,
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    missing: Missing = "error",
    threads: int | None = None,
) -> Interval:
    """Return a bootstrap confidence interval of a mean, or of a mean paired difference.

    Parameters
    ----------
    x : array, shape (n,)
        One value per user.
    y : array, shape (n,), optional
        Values of another system for the same users; the interval is then that of the mean of x − y.
    method : {"bca", "percentile", "basic", "studentised"}, default="bca"
        ``"bca"``: bias-corrected and accelerated (for a mean the acceleration has a closed form);
        ``"percentile"``: quantiles of the bootstrap means; ``"basic"``: these mirrored at the
        estimate; ``"studentised"``: from quantiles of t in the resamples.
    confidence : float, default=0.95
        The confidence level.
    n_resamples, seed, threads : int, default=10000, 0, None
        As for `sign_flip`.
    missing : {"error", "omit"}, default="error"
        Whether a NaN raises or is dropped.

    Returns
    -------
    Interval
        Its limits are NaN if the values do not vary, or are fewer than two.

    See Also
    --------
    t_interval : Faster, and as good from about 1,000 users.
    jackknife : For metrics that are not per-user means.

    Examples
    --------
    >>> interval = bootstrap([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0], method="percentile")
    >>> interval.low, interval.high
    (0.125, 0.75)
    """
    check_choice("method", method, BootstrapMethod)
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    pairs = differences(x, y, missing=missing)
    n, mean, flags, name = pairs.n, pairs.mean, pairs.flags, f"bootstrap ({method})"
    if n < 2 or not pairs.deviation:  # nothing varies: all resamples are equal
        unvaried = () if n < 2 else (UNVARIED,)
        return Interval(mean, math.nan, math.nan, confidence, name, n, (*flags, *unvaried))
    centred = pairs.d - mean
    columns = np.stack([np.ones(n), centred, centred**2], axis=1)
    totals = projections(columns, n_resamples, kind="weights", seed=seed, threads=threads)
    means = totals[:, 1] / totals[:, 0]
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        tails = _bca(means, centred, tails)
    if method == "studentised":
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.sqrt(np.maximum(totals[:, 2] / totals[:, 0] - means**2, 0) / totals[:, 0])
            t = np.where(errors > 0, means / errors, np.sign(means) * np.inf)
        low, high = np.quantile(t, tails, method="inverted_cdf")
        error = float(np.sqrt((centred**2).mean() / n))
        limits = (-high * error, -low * error)
    else:
        low, high = np.quantile(means, tails)
        limits = (-high, -low) if method == "basic" else (low, high)
    low, high = (float(mean + limit) for limit in limits)
    return Interval(mean, low, high, confidence, name, n, flags)


def _bca(means: Floats, centred: Floats, tails: Floats) -> Floats:
    """Return the probabilities of the quantiles, corrected for bias and acceleration."""
    from scipy.special import ndtr, ndtri

    tiny = 1e-12 * float(np.abs(centred).max())
    below = ((means < -tiny).mean() + (means <= tiny).mean()) / 2
    bias = float(ndtri(np.clip(below, 1 / (2 * len(means)), 1 - 1 / (2 * len(means)))))
    acceleration = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    z = bias + ndtri(tails)
    corrected: Floats = ndtr(bias + z / (1 - acceleration * z))
    return corrected


def bootstrap_confidence_interval(
    metric_values: Any, n_bootstrap: int = 1000, confidence: float = 0.95, seed: int | None = None
) -> Interval:
    """Return the bootstrap confidence interval of a mean over users (BCa).

    Parameters
    ----------
    metric_values : array, shape (n,)
        One value per user.
    n_bootstrap : int, default=1000
        Number of resamples.
    confidence : float, default=0.95
        The confidence level.
    seed : int, default=None
        Random seed; None means 0, so that the same values always give the same interval.

    Returns
    -------
    Interval
        Unpacks to the lower and the upper limit. Of equal values both are that value: no resample
        has another mean.

    Examples
    --------
    >>> interval = bootstrap_confidence_interval([0.1, 0.4, 0.2, 0.8, 0.5, 0.3], seed=1)
    >>> lower, upper = interval
    >>> lower < interval.estimate < upper
    True
    """
    seed = 0 if seed is None else seed
    check_count(n_bootstrap=n_bootstrap)
    check_count(least=0, seed=seed)
    interval = bootstrap(
        metric_values, n_resamples=int(n_bootstrap), confidence=confidence, seed=int(seed)
    )
    if math.isnan(interval.low):  # all values are equal
        interval = replace(interval, low=interval.estimate, high=interval.estimate)
    return interval
