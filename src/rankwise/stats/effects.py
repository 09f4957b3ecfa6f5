"""How large a difference is, in units that do not depend on the number of users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.stats.differences import Differences, Missing, column, differences, significant_digits

__all__ = ["Effect", "cliffs_delta", "effect", "lift_interval", "magnitude"]

_LIMITS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))


@dataclass(frozen=True)
class Effect:
    """Effect sizes of paired values, x against y.

    Attributes
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences: what power depends on.
        NaN where they do not vary.
    d_av : float
        The mean difference over the root mean of both variances: what compares between studies.
    hedges_g : float
        d_z less its bias in small samples.
    dominance : float
        The share of users for whom x is larger less that for whom y is.
    cliffs_delta : float
        The chance that x of any user is larger than y of any user less the chance of the opposite.
    rank_biserial : float
        Of the ranks of the differences, the share on the side of x less that on the side of y.
    wins, ties, losses : int
        Users for whom x is larger, equal, smaller.
    """

    d_z: float
    d_av: float
    hedges_g: float
    dominance: float
    cliffs_delta: float
    rank_biserial: float
    wins: int
    ties: int
    losses: int


def effect(x: Any, y: Any, *, missing: Missing = "error") -> Effect:
    """Return all effect sizes of paired values.

    Examples
    --------
    >>> found = effect([1.0, 0.5, 0.0, 0.5], [0.5, 0.5, 0.5, 0.0])
    >>> found.wins, found.ties, found.losses, found.dominance
    (2, 1, 1, 0.25)
    """
    own = differences(x, y, missing=missing)
    wins, losses, d_z = own.wins, own.losses, own.d_z
    both = math.sqrt((own.x.var(ddof=1) + own.y.var(ddof=1)) / 2) if own.n > 1 else 0.0
    return Effect(
        d_z=d_z,
        d_av=own.mean / both if both > 0 else (0.0 if own.n > 1 and not own.nonzero else math.nan),
        hedges_g=d_z * _small_sample(own.n - 1) if own.n > 2 else math.nan,
        dominance=(wins - losses) / own.n if own.n else math.nan,
        cliffs_delta=cliffs_delta(own.x, own.y),
        rank_biserial=_rank_biserial(own),
        wins=wins,
        ties=own.n - wins - losses,
        losses=losses,
    )


def _small_sample(freedom: int) -> float:
    from scipy.special import gammaln

    logs = gammaln(freedom / 2) - gammaln((freedom - 1) / 2)
    return float(np.exp(logs) / math.sqrt(freedom / 2))


def cliffs_delta(x: Any, y: Any) -> float:
    """Return how much more often x is above y than below, over all pairs of users, in O(n log n).

    Examples
    --------
    >>> cliffs_delta([1, 2, 3], [1, 1, 2])  # above in 5 of 9 pairs, below in 1
    0.4444
    """
    # Both sorted: neighbours then look in places that the cache still holds.
    first, second = (np.sort(significant_digits(column(*own))) for own in (("x", x), ("y", y)))
    if np.isnan(first).any() or np.isnan(second).any():
        raise InputError("a value is NaN", hint="leave users without a value out first")
    if not len(first) or not len(second):
        return math.nan
    below = np.searchsorted(second, first, side="left").sum()
    above = (len(second) - np.searchsorted(second, first, side="right")).sum()
    return float((below - above) / (len(first) * len(second)))


def _rank_biserial(own: Differences) -> float:
    from scipy.stats import rankdata

    d = own.d[own.d != 0]
    if not len(d):
        return 0.0 if own.n else math.nan
    ranks = rankdata(np.abs(d))
    return float((ranks * np.sign(d)).sum() / ranks.sum())


def magnitude(d: float) -> str:
    """Say how large a standardised difference is called, after Cohen (0.2, 0.5, 0.8).

    >>> magnitude(0.1), magnitude(-0.6), magnitude(1.2)
    ('negligible', 'medium', 'large')
    """
    if math.isnan(d):
        return "undefined"
    return next((word for limit, word in _LIMITS if abs(d) < limit), "large")


def lift_interval(own: Differences, *, confidence: float) -> tuple[float, float, float]:
    r"""Return the relative lift x̄ / ȳ − 1 and its interval, by Fieller's theorem.

    .. math:: (\bar x - R \bar y)^2 \le q^2 (s_x^2 - 2 R s_{xy} + R^2 s_y^2) / n

    holds for an interval of R if ȳ is surely not 0; where it may be, both ends are NaN.
    """
    from scipy.stats import t

    if own.n < 2 or not own.y.mean():
        return math.nan, math.nan, math.nan
    quantile = float(t.ppf((1 + confidence) / 2, own.n - 1))
    x, y = float(own.x.mean()), float(own.y.mean())
    lift = own.mean / y
    covariance = np.cov(own.x, own.y, ddof=1) * quantile**2 / own.n
    a = y**2 - covariance[1, 1]
    b = x * y - covariance[0, 1]
    c = x**2 - covariance[0, 0]
    root = b**2 - a * c
    if a <= 0:
        return lift, math.nan, math.nan
    half = math.sqrt(max(root, 0.0))
    return lift, float((b - half) / a - 1), float((b + half) / a - 1)
