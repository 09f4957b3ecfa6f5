r"""An upper confidence limit of a bounded mean that holds for few and for rare values.

Gaffke's limit: one observation at the largest possible value is added to the n that were seen, and
the limit is the quantile of :math:`\sum_i w_i x_i` with weights uniform on the simplex. For values
of 0 and 1 it is the Clopper-Pearson limit; for many values it is that of the t interval, corrected
for skewness. No distribution is known for which it covers less than it says.

The quantile has no closed form for other values. It is computed by the saddle point of
Lugannani and Rice (relative error of the tail probability about 1 % for one value, less for more),
so that there are no random weights.

References: Gaffke 2005, Mathematical Methods of Statistics 14; Learned-Miller & Thomas 2019,
arXiv:1905.06208; Lugannani & Rice 1980, Advances in Applied Probability 12.
"""

from __future__ import annotations

import numpy as np

from rankwise.stats.differences import Floats

__all__ = ["mean_limit"]


def mean_limit(values: Floats, largest: float, confidence: float) -> float:
    """Return the upper confidence limit of the mean of values that are at most ``largest``.

    >>> round(mean_limit(np.zeros(30), 1.0, 0.975), 3)  # 30 users without a hit
    0.116
    """
    from scipy.optimize import brentq

    seen, often = np.unique(values, return_counts=True)
    distance = np.append(largest - seen, 0.0)
    count = np.append(often, 1).astype(np.float64)
    scale = distance.max()
    if scale <= 0:
        return largest
    distance /= scale
    mean = np.average(distance, weights=count)
    deviation = np.sqrt(np.average((distance - mean) ** 2, weights=count))

    def excess(log_offset: float) -> float:
        return _quantile(distance, count, np.exp(log_offset))[1] - confidence

    # From weights on the added value alone to nearly equal weights, where the probability is 1/2.
    first, last = -60.0, float(np.log(100 * deviation * np.sqrt(count.sum())))
    log_offset = last if excess(last) >= 0 else brentq(excess, first, last, xtol=1e-9)
    return float(largest - scale * _quantile(distance, count, np.exp(log_offset))[0])


def _quantile(distance: Floats, count: Floats, offset: float) -> tuple[float, float]:
    r"""Return a mean distance, and the probability that the weighted mean distance is larger.

    The saddle point for the mean distance has weights :math:`\propto 1 / (c + z_i)`, with the
    offset c and the distances z: every c belongs to one mean, which spares a search within.
    """
    from scipy.special import ndtr

    weights = 1.0 / (offset + distance)
    level = float(count @ weights) / count.sum()
    mean = 1.0 / level - offset
    root = np.sqrt(2.0 * (count @ np.log(level / weights)))
    curvature = np.sqrt(count @ ((mean - distance) * weights) ** 2)
    density = np.exp(-(root**2) / 2.0) / np.sqrt(2.0 * np.pi)
    return mean, float(ndtr(root) + density * (1.0 / root - 1.0 / curvature))
