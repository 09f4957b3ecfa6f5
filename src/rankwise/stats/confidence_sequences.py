r"""Confidence sequences: intervals of a bounded mean that hold jointly at all looks at the data.

Someone bets that the mean exceeds m. Each value multiplies the capital by
:math:`1 + f (x / m - 1)`, where values are scaled to lie between 0 and 1, and f is the fraction of
the capital that is at stake. If the mean is m, the capital is a fair game, and by Ville's
inequality it ever reaches :math:`1 / \alpha` with probability :math:`\alpha` at most, whatever the
distribution of the values, from the first one on, and whatever rule stops it. The lower limit is
the smallest m against which the capital stays below that, the upper one its mirror image.

The capital is divided among fixed fractions, each half of the one before. With predictable plug-in
bets, the other choice of Waudby-Smith and Ramdas, the limits are about as wide, but depend on the
order of the users. Results store no order of arrival: with fixed fractions the limits of a look
depend on no order among its users, and on no planned number of them.

References: Waudby-Smith & Ramdas 2024, Estimating means of bounded random variables by betting,
Journal of the Royal Statistical Society B 86; Ville 1939.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwise.errors import InputError, ParameterError
from rankwise.stats.differences import Floats, Interval, Missing, check_level, differences, root_of

_FRACTIONS = 0.99 * 0.5 ** np.arange(
    12
)  # from nearly everything to what suits some 10 million users


def confidence_sequence(
    x: Any,
    y: Any = None,
    *,
    lowest: float,
    highest: float,
    confidence: float = 0.95,
    missing: Missing = "error",
) -> Interval:
    r"""Return the current interval of a confidence sequence of a bounded mean or mean difference.

    An ordinary confidence interval is valid for a single look at the data. The intervals of this
    sequence contain the true mean at *all* looks together with the given confidence, whatever their
    number, the stopping rule and the distribution of the values. Each look includes the users of
    all earlier looks, with the same values; their order within a look does not matter. Each side
    alone holds with :math:`1 - \alpha / 2`.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`.
    lowest, highest : float
        The range of the values, 0 and 1 for most metrics. With y, differences lie between
        ``lowest - highest`` and ``highest - lowest``.
    confidence : float, default=0.95
        The confidence level, over all looks.

    Returns
    -------
    Interval

    Raises
    ------
    ParameterError
        If the range is not finite: without it no such sequence is valid.
    InputError
        If a value lies outside the range.

    References
    ----------
    Waudby-Smith & Ramdas 2024, Estimating means of bounded random variables by betting, Journal of
    the Royal Statistical Society B 86.

    Examples
    --------
    >>> d = [0.5, -0.25, 0.25, 0.0] * 100
    >>> interval = confidence_sequence(d, lowest=-1.0, highest=1.0)
    >>> interval.low, interval.high
    (0.0761, 0.173)
    """
    check_level("confidence", confidence)
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise ParameterError(
            "a confidence sequence needs the finite range of the values",
            found=f"{lowest:g} to {highest:g}",
        )
    pairs = differences(x, y, missing=missing)
    if y is not None:
        lowest, highest = lowest - highest, highest - lowest
    scaled = (pairs.d - lowest) / (highest - lowest)
    if len(scaled) and not (scaled.min() > -1e-9 and scaled.max() < 1 + 1e-9):
        raise InputError(
            f"a value lies outside {lowest:g} to {highest:g}",
            found=f"{pairs.d.min():g} to {pairs.d.max():g}",
        )
    values, counts = np.unique(np.clip(scaled, 0.0, 1.0), return_counts=True)
    alpha = (1 - confidence) / 2
    low, high = _lower_limit(values, counts, alpha), 1 - _lower_limit(1 - values, counts, alpha)
    low, high = (lowest + limit * (highest - lowest) for limit in (low, high))
    return Interval(pairs.mean, low, high, confidence, "confidence sequence", pairs.n, pairs.flags)


def log_capital(values: Floats, counts: Any, mean: float) -> Any:
    """Return the logarithm of the capital of bets that the mean is larger, of 1 at first.

    ``counts`` has how often each of the values between 0 and 1 occurred, along its last axis.

    >>> float(log_capital(np.array([0.0, 1.0]), np.array([0, 8]), 0.5)) > 2  # eight hits in a row
    True
    """
    from scipy.special import logsumexp

    stakes = np.log1p(np.outer(values / mean - 1, _FRACTIONS))
    return logsumexp(counts @ stakes, axis=-1) - math.log(len(_FRACTIONS))


def _lower_limit(values: Floats, counts: Any, alpha: float) -> float:
    """Return the smallest mean against which the capital stays below 1 / alpha."""

    def excess(mean: float) -> float:
        return float(log_capital(values, counts, mean)) + math.log(alpha)

    mean = float(np.average(values, weights=counts)) if len(values) else 0.0
    least = 1e-9 * mean
    if not mean or excess(least) <= 0:
        return 0.0
    return root_of(excess, least, mean)
