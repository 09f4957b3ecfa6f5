"""The confidence interval that belongs to a test, so that p-value and interval never disagree."""

from __future__ import annotations

import math

from rankwise.stats.differences import MANY, Differences, Interval, PairStatistics
from rankwise.stats.flip_interval import flip_interval_of
from rankwise.stats.paired import bootstrap_t_interval, t_interval_of

__all__ = ["constant_interval", "matching_interval"]


def matching_interval(
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
        return constant_interval(pairs.mean, pairs.n, -largest, largest, confidence=confidence, flags=pairs.flags)
    by_t = test == "t" or (test not in ("sign_flip", "bootstrap") and pairs.n >= MANY)
    if by_t or not isinstance(pairs, Differences):  # of sums alone t is all that is known
        return t_interval_of(pairs, confidence=confidence)
    if test == "bootstrap":
        return bootstrap_t_interval(pairs, confidence=confidence, n_resamples=n_resamples, seed=seed)
    return flip_interval_of(
        pairs, confidence=confidence, n_resamples=n_resamples, seed=seed, p=p if test == "sign_flip" else None
    )


def constant_interval(
    value: float, n: int, lowest: float, highest: float, *, confidence: float, flags: tuple[str, ...] = ()
) -> Interval:
    r"""Return the interval of a mean of which every one of n values is the same.

    A share q of others may have been missed: :math:`(1 - q)^n \ge \alpha / 2`. They can move the
    mean as far as the range of the values allows; NaN limits if that is not known.

    >>> found = constant_interval(0.0, 30, 0.0, 1.0, confidence=0.95)  # 30 users without a hit
    >>> found.low, found.high
    (0.0, 0.1157)
    """
    missed = 1 - ((1 - confidence) / 2) ** (1 / n)
    low, high = value - missed * (value - lowest), value + missed * (highest - value)
    unknown = "no values differ, and their range is not bounded: the interval is not known"
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high, flags = math.nan, math.nan, (*flags, unknown)
    return Interval(value, low, high, confidence, "bound of unseen values", n, flags)
