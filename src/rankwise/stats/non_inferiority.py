"""Non-inferiority: whether a system loses less than a margin, and how many users show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rankwise.stats.differences import Missing, PairStatistics, differences, never_zero, t_is_valid
from rankwise.stats.equivalence import exact_p, skewed_t
from rankwise.stats.values import check_above_zero, check_level

__all__ = ["NonInferiority", "non_inferiority", "non_inferiority_of", "users_to_show"]

_MOST = 2**53  # users: there are fewer people


@dataclass(frozen=True)
class NonInferiority:
    """The result of `non_inferiority`: whether a mean difference is above −margin.

    Attributes
    ----------
    difference : float
        The mean difference.
    margin : float
        The largest loss that does not matter.
    p : float
        The one-sided p-value of the hypothesis that the loss is the margin or more.
    shown : bool
        Whether p < alpha.
    users_needed : int or None
        Number of users with which it would be shown with probability 0.8 if the true difference
        is the observed one; None if that is not above −margin, does not vary, or is based on too
        few users.
    """

    difference: float
    margin: float
    p: float
    shown: bool
    users_needed: int | None


def non_inferiority(
    x: Any, y: Any = None, *, margin: float, alpha: float = 0.05, largest: float = math.inf, missing: Missing = "error"
) -> NonInferiority:
    """Test non-inferiority: whether x is worse than y by less than a margin; higher is better.

    Uses a one-sided t test, corrected for skewness. If fewer than 30 pairs differ, or they are too
    skewed for t, the number of losses is used: if a share q of the users lose at most ``largest``
    each, the mean falls by at most q times ``largest``.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    margin : float
        The largest loss that does not matter, above 0.
    alpha : float, default=0.05
        The significance level.
    largest : float, default=inf
        The largest possible difference, 1 for values between 0 and 1. If it is not given,
        non-inferiority cannot be shown where t is not valid.

    Returns
    -------
    NonInferiority

    See Also
    --------
    equivalence : The two-sided question: whether x and y differ by less than the margin.

    Examples
    --------
    >>> new, old = [0.5, 0.25, 0.75, 0.5] * 50, [0.5, 0.5, 0.5, 0.5] * 50
    >>> non_inferiority(new, old, margin=0.05).shown
    True
    >>> found = non_inferiority(new, old, margin=0.02)
    >>> found.shown, found.users_needed
    (False, 486)
    """
    check_above_zero("margin", margin)
    pairs = differences(x, y, missing=missing)
    return non_inferiority_of(pairs, margin=margin, alpha=alpha, largest=largest)


def non_inferiority_of(
    pairs: PairStatistics, *, margin: float, alpha: float, largest: float = math.inf, higher_is_better: bool = True
) -> NonInferiority:
    """Test it for pairs or their sums; small values may be the good ones.

    With a margin of 0, which is a share of a baseline of 0, it is shown of better systems only.
    """
    from scipy.stats import t

    check_level("alpha", alpha)
    side = 1 if higher_is_better else -1
    if pairs.n < 2:
        p = math.nan
    elif t_is_valid(pairs):
        statistic = side * skewed_t(pairs, -side * margin)
        p = never_zero(t.sf(statistic, pairs.n - 1))
    else:
        losses = pairs.losses if higher_is_better else pairs.wins
        p = exact_p(losses, pairs.n, margin, largest)
    needed = users_to_show(side * pairs.mean + margin, pairs.deviation, alpha)
    if needed is not None and needed <= pairs.n and not p < alpha:
        needed = None  # t would have shown it, but is not valid yet
    return NonInferiority(pairs.mean, float(margin), p, bool(p < alpha), needed)


def users_to_show(gap: float, deviation: float, alpha: float, *, power: float = 0.8) -> int | None:
    """Return how many users show a gap above 0; None if no number of them does, or none varies."""
    from scipy.stats import norm

    if not gap > 0 or not deviation > 0:
        return None
    needed = float(((norm.ppf(1 - alpha) + norm.ppf(power)) * deviation / gap) ** 2)
    return math.ceil(needed) if needed < _MOST else None
