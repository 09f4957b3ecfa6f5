"""Bootstrap intervals of a mean: percentile, basic, BCa, studentised; many columns at once."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import (
    MANY,
    Floats,
    Interval,
    Missing,
    check_level,
    differences,
    numbers,
)
from rankwise.stats.paired import t_interval
from rankwise.stats.resampling import projections

__all__ = ["BootstrapMethod", "bootstrap", "bootstrap_means", "usual_interval"]

BootstrapMethod: TypeAlias = Literal["percentile", "basic", "bca", "studentised"]


def bootstrap_means(
    columns: Any,
    n_resamples: int = 1000,
    *,
    seed: int = 0,
    threads: int | None = None,
    batch: int | None = None,
) -> Floats:
    """Return bootstrap means of every column, shape (n_resamples, m): all from the same draws.

    Users are drawn again for all columns alike, so differences of columns are paired.

    Parameters
    ----------
    columns : array, shape (n, m)
        A row a user.
    n_resamples, seed, threads, batch
        As for `rankwise.stats.resampling.sums`.

    Examples
    --------
    >>> means = bootstrap_means(np.arange(10.0).reshape(5, 2), 100)
    >>> bool(np.allclose(means[:, 1] - means[:, 0], 1.0))
    True
    """
    data = numbers("columns", columns)
    if data.ndim != 2 or not len(data):
        raise InputError("columns have a row a user", found=f"shape {data.shape}")
    if not np.isfinite(data).all():
        raise InputError("columns hold NaN or infinite values")
    counted = np.column_stack([np.ones(len(data)), data])
    found = projections(
        counted, n_resamples, kind="weights", seed=seed, threads=threads, batch=batch
    )
    means: Floats = found[:, 1:] / found[:, :1]
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
    """Return a bootstrap interval of a mean, or of a mean difference.

    Parameters
    ----------
    x, y : array, shape (n,)
        Values, or pairs of values.
    method : {"bca", "percentile", "basic", "studentised"}
        Bias-corrected and accelerated (the acceleration of a mean has a closed form, no jackknife);
        quantiles of the bootstrap means; the same mirrored; quantiles of their t.
    confidence : float
        The share of such intervals that are to hold the mean.
    n_resamples, seed, threads
        As for `rankwise.stats.resampling.sums`.
    missing : {"error", "omit"}
        What to do with NaN.

    Examples
    --------
    >>> found = bootstrap([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0], method="percentile")
    >>> found.low, found.high
    (0.125, 0.75)
    """
    check_choice("method", method, BootstrapMethod)
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    own = differences(x, y, missing=missing)
    name = f"bootstrap ({method})"
    if own.n < 2 or not own.deviation:  # nothing varies, so no draw is another
        end = math.nan if own.n < 2 else own.mean
        return Interval(own.mean, end, end, confidence, name, own.n, own.flags)
    centred = own.d - own.mean
    columns = np.stack([np.ones(own.n), centred, centred**2], axis=1)
    found = projections(columns, n_resamples, kind="weights", seed=seed, threads=threads)
    means = found[:, 1] / found[:, 0]
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        tails = _bca(means, centred, tails)
    if method == "studentised":
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.maximum(found[:, 2] / found[:, 0] - means**2, 0) / found[:, 0])
            scores = np.where(spread > 0, means / spread, np.sign(means) * np.inf)
        low, high = np.quantile(scores, tails, method="inverted_cdf")
        own_error = float(np.sqrt((centred**2).mean() / own.n))
        ends = (-high * own_error, -low * own_error)
    else:
        low, high = np.quantile(means, tails)
        ends = (-high, -low) if method == "basic" else (low, high)
    return Interval(
        own.mean, float(own.mean + ends[0]), float(own.mean + ends[1]), confidence, name, own.n,
        own.flags,
    )  # fmt: skip


def usual_interval(
    x: Any, y: Any = None, *, confidence: float, n_resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the t interval from 1,000 values, BCa below."""
    if len(x) >= MANY:
        return t_interval(x, y, confidence=confidence)
    return bootstrap(x, y, confidence=confidence, n_resamples=n_resamples, seed=seed)


def _bca(means: Floats, centred: Floats, tails: Floats) -> Floats:
    """Return which quantiles bias and acceleration make of these."""
    from scipy.special import ndtr, ndtri

    tiny = 1e-12 * float(np.abs(centred).max())
    below = ((means < -tiny).mean() + (means <= tiny).mean()) / 2
    bias = float(ndtri(np.clip(below, 1 / (2 * len(means)), 1 - 1 / (2 * len(means)))))
    acceleration = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    z = bias + ndtri(tails)
    moved: Floats = ndtr(bias + z / (1 - acceleration * z))
    return moved
