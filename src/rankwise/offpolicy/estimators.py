r"""Estimators of the value of a policy, each as a plain function of arrays with one entry per request.

``w`` is the weight :math:`\pi(a|x) / p`, ``r`` the reward, ``q`` the prediction of the reward of the logged item, and
``dm`` the expected prediction under the target, :math:`\sum_a \pi(a|x) q(x, a)`. `rankwise.off_policy` prints
`snips` and `sndr`, on request `ips`, `beta_ips` and `dr`; all others are for sensitivity analyses, because their bias
is unknown and no interval covers it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "beta_ips",
    "clipped_ips",
    "clipped_snips",
    "dm",
    "dr",
    "ips",
    "mips",
    "replay",
    "shrinkage_dr",
    "sndr",
    "snips",
    "sub_gaussian_ips",
    "switch_dr",
    "switch_ips",
]


def ips(w: Any, r: Any) -> float:
    r"""Return inverse propensity scoring: :math:`\frac1n \sum w r`.

    >>> ips(np.array([2.0, 0.0]), np.array([1.0, 1.0]))
    1.0
    """
    return float(np.mean(w * r))


def snips(w: Any, r: Any) -> float:
    r"""Return self-normalised inverse propensity scoring: :math:`\sum w r / \sum w`; NaN without weight.

    >>> snips(np.array([3.0, 1.0]), np.array([1.0, 0.0]))
    0.75
    """
    total = float(np.sum(w))
    return float(np.sum(w * r)) / total if total > 0 else math.nan


def beta_ips(w: Any, r: Any, user: Any = None) -> float:
    r"""Return IPS with the control variate :math:`w - 1`.

    The formula is :math:`\overline{w r} - \beta (\bar w - 1)`, with the regression coefficient β of the sums of
    :math:`w r` on those of w over users, or over rows.

    >>> beta_ips(np.array([2.0, 0.0]), np.array([1.0, 1.0]))
    1.0
    """
    a, b = w * r, np.asarray(w, dtype=np.float64)
    sums = (a, b) if user is None else (np.bincount(user, a), np.bincount(user, b))
    return float(a.mean() - regression(*sums) * (b.mean() - 1.0))


def regression(y: Any, x: Any) -> float:
    """Return the regression coefficient of y on x; 0 if x does not vary."""
    centred = x - np.mean(x)
    variance = float(centred @ centred)
    return float(centred @ (y - np.mean(y))) / variance if variance > 0 else 0.0


def dm(expected: Any) -> float:
    r"""Return the direct method: the mean of :math:`\sum_a \pi(a|x) q(x, a)` over requests.

    >>> dm(np.array([0.25, 0.75]))
    0.5
    """
    return float(np.mean(expected))


def dr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Return doubly robust: :math:`\frac1n \sum (\mathrm{dm} + w (r - q))`.

    >>> dr(np.array([2.0, 0.0]), np.array([1.0, 1.0]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    1.0
    """
    return float(np.mean(dm + w * (r - q)))


def sndr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Return doubly robust with normalised weights: :math:`\overline{\mathrm{dm}} + \sum w (r - q) / \sum w`.

    >>> sndr(np.array([3.0, 1.0]), np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    0.75
    """
    return float(np.mean(dm)) + snips(w, r - q)


def replay(pi: Any, r: Any) -> float:
    """Return the mean reward where a deterministic policy agrees with a uniform log; NaN without matches.

    >>> replay(np.array([1.0, 0.0]), np.array([0.5, 1.0])), replay(np.zeros(2), np.ones(2))
    (0.5, nan)
    """
    matches = np.asarray(r)[np.asarray(pi) == 1]
    return float(matches.mean()) if len(matches) else math.nan


def clipped_ips(w: Any, r: Any, clip: float) -> float:
    """Return IPS with weights of at most ``clip``.

    >>> clipped_ips(np.array([4.0, 0.0]), np.array([1.0, 1.0]), 2.0)
    1.0
    """
    return ips(np.minimum(w, clip), r)


def clipped_snips(w: Any, r: Any, clip: float) -> float:
    """Return SNIPS with weights of at most ``clip``.

    >>> clipped_snips(np.array([9.0, 1.0]), np.array([1.0, 0.0]), 3.0)
    0.75
    """
    return snips(np.minimum(w, clip), r)


def switch_dr(w: Any, r: Any, q: Any, dm: Any, threshold: float) -> float:
    """Return DR without the correction of requests whose weight is above ``threshold``.

    >>> switch_dr(np.array([4.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2), np.zeros(2), 2.0)
    0.5
    """
    return dr(np.where(w <= threshold, w, 0.0), r, q, dm)


def switch_ips(w: Any, r: Any, rest: Any, threshold: float) -> float:
    """Return IPS up to a weight of ``threshold``, and predictions of all items above it.

    ``rest`` is the expected prediction over the items whose weight is above the threshold.

    >>> switch_ips(np.array([4.0, 1.0]), np.array([1.0, 1.0]), np.array([0.5, 0.0]), 2.0)
    0.75
    """
    return float(np.mean(np.where(w <= threshold, w, 0.0) * r + rest))


def shrinkage_dr(w: Any, r: Any, q: Any, dm: Any, strength: float) -> float:
    r"""Return DR with the optimistic shrinkage :math:`\lambda w / (w^2 + \lambda)` of the weights.

    >>> shrinkage_dr(np.array([1.0]), np.array([1.0]), np.zeros(1), np.zeros(1), 1.0)
    0.5
    """
    return dr(strength * w / (w * w + strength), r, q, dm)


def sub_gaussian_ips(w: Any, r: Any, strength: float) -> float:
    r"""Return IPS with the weights :math:`w / (1 - \lambda + \lambda w)`.

    >>> sub_gaussian_ips(np.array([3.0]), np.array([1.0]), 0.5)
    1.5
    """
    return ips(w / (1.0 - strength + strength * w), r)


def mips(target: Any, logging: Any, r: Any) -> float:
    """Return IPS with the probabilities of groups of items under both policies (marginalised IPS).

    >>> mips(np.array([0.5]), np.array([0.25]), np.array([1.0]))
    2.0
    """
    return ips(np.asarray(target) / np.asarray(logging), r)
