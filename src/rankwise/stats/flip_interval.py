"""The confidence interval of the sign-flip test: the differences that it does not reject."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.stats.differences import Differences, Floats, Interval, Missing, differences
from rankwise.stats.paired import sign_flip
from rankwise.stats.resampling import projections
from rankwise.stats.values import check_level

__all__ = ["flip_interval", "flip_interval_of"]

_DOUBLINGS = 12  # 8,000 standard errors: no difference is rejected there with so few pairs
_CLOSE = 1e-7  # of a standard error


def flip_interval(
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
    >>> interval = flip_interval(d)
    >>> interval.low > 0, interval.high
    (True, 0.5833)
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    pairs = differences(x, y, missing=missing)
    return flip_interval_of(pairs, confidence=confidence, n_resamples=n_resamples, seed=seed, threads=threads)


def flip_interval_of(
    pairs: Differences,
    *,
    confidence: float,
    n_resamples: int,
    seed: int,
    threads: int | None = None,
    p: float | None = None,
) -> Interval:
    """Return the interval of checked pairs; ``p`` is that of the test, if it is known."""
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
    if p >= level:
        low, high = min(low, 0.0), max(high, 0.0)
    elif mean > 0:
        low = max(low, math.ulp(0.0))
    else:
        high = min(high, -math.ulp(0.0))
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
