"""Bootstrap confidence intervals of a mean: percentile, basic, BCa, studentised."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import MANY, UNVARIED, Floats, Interval, Missing, differences
from rankwise.stats.paired import t_interval
from rankwise.stats.resampling import projections
from rankwise.stats.values import check_level, numbers

__all__ = ["BootstrapMethod", "bootstrap", "bootstrap_means", "usual_interval"]

BootstrapMethod: TypeAlias = Literal["percentile", "basic", "bca", "studentised"]


def bootstrap_means(
    columns: Any, n_resamples: int = 1000, *, seed: int = 0, threads: int | None = None, batch: int | None = None
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
    totals = projections(with_counts, n_resamples, kind="weights", seed=seed, threads=threads, batch=batch)
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


def usual_interval(x: Any, y: Any = None, *, confidence: float, n_resamples: int = 10_000, seed: int = 0) -> Interval:
    """Return the t interval from 1,000 values, the BCa bootstrap interval below."""
    if len(x) >= MANY:
        return t_interval(x, y, confidence=confidence)
    return bootstrap(x, y, confidence=confidence, n_resamples=n_resamples, seed=seed)


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
