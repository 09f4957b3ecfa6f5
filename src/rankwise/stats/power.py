"""Power analysis: the number of users for an effect size, and the smallest effect for n users."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.errors import ParameterError
from rankwise.stats.differences import t_quantile
from rankwise.stats.values import check_above_zero, check_level, column

__all__ = ["minimum_detectable", "power_of", "users_needed", "variance_interval"]


def power_of(
    n: int, effect: float, alpha: float = 0.05, *, margin: float | None = None, equivalence: bool = False
) -> float:
    """Return the power of a paired t test with n users: two-sided, or about a margin.

    Parameters
    ----------
    n : int
        The number of users.
    effect : float
        The true effect size d_z: the mean difference over the standard deviation of the
        differences.
    alpha : float, default=0.05
        The significance level.
    margin : float, optional
        The largest loss that does not matter, over the same standard deviation: the power of
        `non_inferiority` then. A loss is an effect below 0.
    equivalence : bool, default=False
        With a margin: the power of `equivalence`, by its lower bound, which is less than the power
        only where that is low.

    Returns
    -------
    float
        The probability of a significant result, from the noncentral t distribution.

    Examples
    --------
    >>> power_of(34, 0.5)
    0.8078
    >>> power_of(34, 0.0, margin=0.5), power_of(34, 0.0, margin=0.5, equivalence=True)
    (0.8869, 0.7737)
    """
    check_positive(least=0, n=n)
    check_level("alpha", alpha)
    if n < 2 or math.isnan(effect):
        return math.nan
    gaps, sides = _gaps(effect, margin, equivalence=equivalence), 2 if margin is None else 1
    powers = [_power_of_t(n, gap, alpha, sides=sides) for gap in gaps]
    return max(sum(powers) - (len(powers) - 1), 0.0)


def _gaps(effect: float, margin: float | None, *, equivalence: bool) -> list[float]:
    """Return the distance of an effect from each hypothesis that a test has to reject."""
    if margin is None:
        if equivalence:
            raise ParameterError("equivalence needs a margin", found="margin=None")
        return [abs(effect)]
    check_above_zero("margin", margin)
    return [margin + effect, margin - effect] if equivalence else [margin + effect]


def _power_of_t(n: int, gap: float, alpha: float, *, sides: int) -> float:
    """Return the power of a t test against a hypothesis that is ``gap`` standard deviations away."""
    from scipy.stats import nct, norm, t

    limit, shift = t.ppf(1 - alpha / sides, n - 1), gap * math.sqrt(n)
    if shift > limit + 9:  # the power differs from 1 by less than 10**-18
        return 1.0
    opposite = nct.cdf(-limit, n - 1, shift) if sides == 2 and shift < 5 else 0.0  # SciPy may give NaN beyond
    found = float(nct.sf(limit, n - 1, shift) + opposite)
    # SciPy gives NaN for some large parameters, where the shifted normal is as good.
    return float(norm.sf(limit - shift)) if math.isnan(found) else found


def users_needed(
    effect: float, *, power: float = 0.8, alpha: float = 0.05, margin: float | None = None, equivalence: bool = False
) -> int:
    """Return the number of users that a paired t test needs for its power.

    Parameters
    ----------
    effect, alpha, margin, equivalence
        As for `power_of`.
    power : float, default=0.8
        The power to reach.

    Returns
    -------
    int

    Examples
    --------
    >>> users_needed(0.5), users_needed(0.01)
    (34, 78491)
    >>> users_needed(0.0, margin=0.01), users_needed(0.0, margin=0.01, equivalence=True)
    (61827, 85640)
    """
    check_level("power", power)
    check_level("alpha", alpha)
    gap = min(_gaps(effect, margin, equivalence=equivalence))
    if margin is None and (not effect or not math.isfinite(effect)):
        raise ParameterError("an effect is a number other than 0", found=f"effect={effect!r}")
    if not 0 < gap < math.inf:
        raise ParameterError(
            "a loss of the margin or more is never shown to be within it", found=f"{effect=}, {margin=}"
        )
    if power <= alpha and not equivalence:
        return 2
    if gap < 1e-6:
        raise ParameterError("an effect this small needs 10**12 users or more", found=f"effect={effect!r}")
    low, high = 1, 2
    while power_of(high, effect, alpha, margin=margin, equivalence=equivalence) < power:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        reached = power_of(middle, effect, alpha, margin=margin, equivalence=equivalence) >= power
        low, high = (low, middle) if reached else (middle, high)
    return high


def minimum_detectable(n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the minimum detectable effect: the smallest d_z detected with the given power.

    Parameters
    ----------
    n : int
        The number of users.
    power : float, default=0.8
        The power to reach.
    alpha : float, default=0.05
        The significance level of the paired t test.

    Returns
    -------
    float

    Examples
    --------
    >>> minimum_detectable(50), minimum_detectable(138_493)
    (0.4042, 0.0075)
    """
    from scipy.optimize import brentq

    check_level("power", power)
    check_level("alpha", alpha)
    if n < 2:
        return math.nan
    if power <= alpha:  # a test has this power without any difference
        return 0.0
    if n > 1000:  # the noncentral t is nearly a shifted t there, and the root has a closed form
        return (t_quantile(1 - alpha / 2, n - 1) + t_quantile(power, n - 1)) / math.sqrt(n)
    high = 1.0
    while power_of(n, high, alpha) < power and high < 1e6:
        high *= 2
    return float(brentq(lambda effect: power_of(n, effect, alpha) - power, 0.0, high, xtol=1e-12))


_FEWEST = 5
"""Values below which their kurtosis, and with it the spread of their variance, is not known."""


def variance_interval(values: Any, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Return the confidence limits of the variance of values that need not be normal.

    .. math:: \exp\left(\ln(c s^2) \pm z c \sqrt{(\gamma - (n - 3) / n) / (n - 1)}\right), \quad
        c = n / (n - z)

    with the kurtosis :math:`\gamma` about a trimmed mean (Bonett 2006, Approximate confidence
    interval for standard deviation of nonnormal distributions, Computational Statistics & Data
    Analysis 50). NaN where values do not vary, or are fewer than 5.

    Examples
    --------
    >>> variance_interval([0.1, 0.4, 0.3, 0.9, 0.5, 0.2, 0.4, 0.6, 0.8, 0.7])
    (0.0341, 0.2078)
    """
    from scipy.stats import norm, trim_mean

    check_level("confidence", confidence)
    x = column("values", values)
    n, z = len(x), float(norm.ppf((1 + confidence) / 2))
    variance = float(x.var(ddof=1)) if n >= _FEWEST else 0.0
    if not variance > 0 or n <= z:
        return math.nan, math.nan
    centre = trim_mean(x, min(0.5, 1 / (2 * math.sqrt(n - 4))))
    kurtosis = n * float(((x - centre) ** 4).sum()) / float(((x - x.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    wide = z * c * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    middle = math.log(c * variance)
    return tuple(float(limit) for limit in np.exp([middle - wide, middle + wide]))  # type: ignore[return-value]
