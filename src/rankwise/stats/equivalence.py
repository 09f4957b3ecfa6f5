"""Equivalence: whether a difference is negligible, also if too few pairs differ for t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rankwise.errors import ParameterError
from rankwise.stats.differences import Interval, Missing, PairStatistics, differences, never_zero, t_is_valid
from rankwise.stats.paired import t_interval_of
from rankwise.stats.values import check_above_zero, check_level

__all__ = ["Equivalence", "equivalence", "equivalence_of", "exact_p", "skewed_t"]


@dataclass(frozen=True)
class Equivalence:
    """The result of `equivalence`: whether a mean difference is within the margin.

    Attributes
    ----------
    difference : float
        The mean difference.
    margin : float
        The largest negligible difference.
    p : float
        The p-value of the hypothesis that the difference exceeds the margin.
    interval : Interval
        The t interval of confidence 1 − 2 alpha.
    equivalent : bool
        Whether p < alpha.
    method : str
        ``"two one-sided t tests"``, or ``"share of pairs that differ"``.
    """

    difference: float
    margin: float
    p: float
    interval: Interval
    equivalent: bool
    method: str


def equivalence(
    x: Any, y: Any = None, *, margin: float, alpha: float = 0.05, largest: float = math.inf, missing: Missing = "error"
) -> Equivalence:
    r"""Test the equivalence of two means: whether they differ by less than a margin.

    Uses two one-sided t tests (TOST) if at least 30 pairs differ and there are enough of them for
    their skewness (:math:`n \ge 25 \, (\gamma + 2 \sqrt{6 / n})^2`). With fewer pairs t would
    claim equivalence because rare large differences have not been seen yet. The exact bound
    :math:`|E[d]| \le P(d \ne 0) \cdot \text{largest}` is then used: the p-value is the binomial
    probability of at most the observed number of differing pairs, if a share of margin / largest
    differs.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    margin : float
        The largest negligible difference, above 0.
    alpha : float, default=0.05
        The significance level.
    largest : float, default=inf
        The largest possible difference, 1 for values between 0 and 1. If it is not given,
        equivalence cannot be shown where t is not valid.

    Returns
    -------
    Equivalence

    See Also
    --------
    non_inferiority : The one-sided question: whether x is not worse than y by the margin.

    Examples
    --------
    >>> one = [0.5, 0.25, 0.75, 0.5] * 25
    >>> other = [0.5, 0.5, 0.5, 0.5] * 25
    >>> equivalence(one, other, margin=0.1).equivalent
    True
    >>> equivalence([0.0] * 30, [0.0] * 30, margin=0.05, largest=1.0).p  # no user was hit at all
    0.2146
    """
    check_above_zero("margin", margin)
    return equivalence_of(differences(x, y, missing=missing), margin=margin, alpha=alpha, largest=largest)


def equivalence_of(pairs: PairStatistics, *, margin: float, alpha: float, largest: float = math.inf) -> Equivalence:
    """Test whether two means differ by less than a margin, from pairs or their sums.

    A margin of 0, which is a share of a baseline of 0, is never shown.
    """
    from scipy.stats import t

    check_level("alpha", alpha)
    if alpha >= 0.5:
        raise ParameterError("alpha must lie below 0.5", found=f"alpha={alpha}")
    method = "two one-sided t tests"
    if pairs.n < 2:
        p = math.nan
    elif t_is_valid(pairs):
        above, below = (skewed_t(pairs, side * margin) for side in (1, -1))
        p = never_zero(max(t.cdf(above, pairs.n - 1), t.sf(below, pairs.n - 1)))
    else:
        method = "share of pairs that differ"
        p = exact_p(pairs.nonzero, pairs.n, margin, largest)
    interval = t_interval_of(pairs, confidence=1 - 2 * alpha)
    return Equivalence(pairs.mean, float(margin), p, interval, bool(p < alpha), method)


def exact_p(count: int, n: int, margin: float, largest: float) -> float:
    """Return the p-value of a mean beyond the margin, if ``count`` of n pairs may move it.

    It is the binomial probability of so few of them if a share of margin / largest had to.
    """
    from scipy.stats import binom

    share = min(margin / largest, 1.0)
    return never_zero(binom.cdf(count, n, share)) if share > 0 else 1.0


def skewed_t(pairs: PairStatistics, hypothesis: float) -> float:
    r"""Return t of a one-sided hypothesis about the mean, corrected for skewness.

    .. math:: t_1 = \frac{\bar d - \mu + \gamma s / (6 n) + \gamma (\bar d - \mu)^2 / (3 s)}
        {s / \sqrt n}

    The plain t is too sure on the side of the long tail (Johnson 1978, Modified t tests and
    confidence intervals for asymmetrical populations, JASA 73).
    """
    gap, deviation, skew = pairs.mean - hypothesis, pairs.deviation, pairs.skewness
    correction = skew * deviation / (6 * pairs.n) + skew * gap**2 / (3 * deviation)
    # Beyond its turning point the correction would reverse: it is kept at that.
    if skew and abs(gap) > 1.5 * deviation / abs(skew):
        correction = math.copysign(0.5 * abs(gap), skew)
    return (gap + correction) / pairs.error
