"""Asymptotic confidence sequences: intervals that are valid at any number of looks."""

from __future__ import annotations

import math
from typing import Any

from rankwise.core.arguments import check_count
from rankwise.stats.differences import Interval, Missing, PairStatistics, differences, too_skewed
from rankwise.stats.values import check_level

__all__ = ["confidence_sequence", "confidence_sequence_of"]

FEWEST = 100
"""Pairs below which the sequence says nothing: it rests on the central limit theorem."""


def confidence_sequence(
    x: Any, y: Any = None, *, planned: int, confidence: float = 0.95, missing: Missing = "error"
) -> Interval:
    r"""Return the current interval of an asymptotic confidence sequence of a mean difference.

    An ordinary confidence interval is valid for a single look at the data. If ``planned`` is the
    same at every look, the intervals of this sequence contain the true difference at *all* looks
    together with the given confidence, whatever their number and the stopping rule:

    .. math:: \bar d \pm s_d \sqrt{\frac{2 (n \rho^2 + 1)}{n^2 \rho^2}
        \log \frac{\sqrt{n \rho^2 + 1}}{\alpha}}

    where :math:`\rho^2 = (-2 \log \alpha + \log(1 - 2 \log \alpha)) / planned` makes it narrowest
    at the planned number of users. It is some 1.5 times as wide as the interval for a single look.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`. Each look includes the users of all earlier looks.
    planned : int
        The number of users at which the interval is to be narrowest; fixed before the first look.
    confidence : float, default=0.95
        The confidence level, over all looks.

    Returns
    -------
    Interval
        With infinite limits below 100 pairs, or if there are too few for their skewness.

    References
    ----------
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, Time-uniform central limit theory and
    asymptotic confidence sequences, Annals of Statistics 52.

    Examples
    --------
    >>> d = [0.5, -0.25, 0.25, 0.0] * 100
    >>> interval = confidence_sequence(d, planned=400)
    >>> interval.low, interval.high
    (0.0825, 0.1675)
    """
    pairs = differences(x, y, missing=missing)
    return confidence_sequence_of(pairs, planned=planned, confidence=confidence)


def confidence_sequence_of(pairs: PairStatistics, *, planned: int, confidence: float) -> Interval:
    """Return the interval of pairs or their sums."""
    check_level("confidence", confidence)
    check_count(planned=planned)
    n, alpha = pairs.n, 1 - confidence
    if n < FEWEST or not pairs.deviation or too_skewed(pairs):
        half = math.inf
    else:
        rho = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / planned
        inflated = n * rho + 1
        width = 2 * inflated / (n**2 * rho) * math.log(math.sqrt(inflated) / alpha)
        half = pairs.deviation * math.sqrt(width)
    mean = pairs.mean
    return Interval(mean, mean - half, mean + half, confidence, "confidence sequence", n, pairs.flags)
