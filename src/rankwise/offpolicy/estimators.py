r"""Estimators of a policy's value, as plain functions of arrays with one entry per request.

``w`` is the weight :math:`\pi(a|x) / p`, ``r`` the reward, ``q`` the prediction of the reward of
the logged item, and ``dm`` the expected prediction under the target,
:math:`\sum_a \pi(a|x) q(x, a)`. `rankwise.off_policy` prints `snips` and `sndr`, on request `ips`,
`beta_ips` and `dr`; all others are for sensitivity analyses, because their bias is unknown and no
interval covers it. Clipped values are those of ``np.minimum(w, clip)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def ips(w: Any, r: Any) -> float:
    r"""Return inverse propensity scoring: :math:`\frac1n \sum w r`.

    >>> ips(np.array([2.0, 0.0]), np.array([1.0, 1.0]))
    1.0
    """
    return float(np.mean(w * r))


def snips(w: Any, r: Any) -> float:
    r"""Return the self-normalised IPS estimate, :math:`\sum w r / \sum w`; NaN without weight.

    >>> snips(np.array([3.0, 1.0]), np.array([1.0, 0.0]))
    0.75
    """
    total = float(np.sum(w))
    return float(np.sum(w * r)) / total if total > 0 else math.nan


def beta_ips(w: Any, r: Any, user: Any = None) -> float:
    r"""Return IPS with the control variate :math:`w - 1`.

    The formula is :math:`\overline{w r} - \beta (\bar w - 1)`, with the regression coefficient β of
    the sums of :math:`w r` on those of w over users, or over rows.

    >>> beta_ips(np.array([2.0, 0.0]), np.array([1.0, 1.0]))
    1.0
    """
    a, b = w * r, np.asarray(w, dtype=np.float64)
    sums = (a, b) if user is None else (np.bincount(user, a), np.bincount(user, b))
    return float(a.mean() - regression(*sums) * (b.mean() - 1.0))


def regression(y: Any, x: Any) -> float:
    """Return the regression coefficient of y on x; 0 if x does not vary."""
    centred = x - np.mean(x)
    variance = float((centred * centred).sum())  # products of BLAS depend on its threads
    return float((centred * (y - np.mean(y))).sum()) / variance if variance > 0 else 0.0


def dr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Return doubly robust: :math:`\frac1n \sum (\mathrm{dm} + w (r - q))`.

    >>> dr(np.array([2.0, 0.0]), np.array([1.0, 1.0]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    1.0
    """
    return float(np.mean(dm + w * (r - q)))


def sndr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Return the doubly robust estimate with self-normalised weights; NaN without weight.

    The formula is :math:`\overline{\mathrm{dm}} + \sum w (r - q) / \sum w`.

    >>> sndr(np.array([3.0, 1.0]), np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    0.75
    """
    return float(np.mean(dm)) + snips(w, r - q)


def switch_dr(w: Any, r: Any, q: Any, dm: Any, threshold: float) -> float:
    """Return DR without the correction of requests whose weight is above ``threshold``.

    >>> switch_dr(np.array([4.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2), np.zeros(2), 2.0)
    0.5
    """
    return dr(_switched(w, threshold), r, q, dm)


def _switched(w: Any, threshold: float) -> Any:
    return np.where(w <= threshold, w, 0.0)


def shrinkage_dr(w: Any, r: Any, q: Any, dm: Any, strength: float) -> float:
    r"""Return DR with the optimistic shrinkage :math:`\lambda w / (w^2 + \lambda)` of the weights.

    >>> shrinkage_dr(np.array([1.0]), np.array([1.0]), np.zeros(1), np.zeros(1), 1.0)
    0.5
    """
    return dr(_shrunk(w, strength), r, q, dm)


def _shrunk(w: Any, strength: float) -> Any:
    return strength * w / (w * w + strength)


MODEL_BASED: dict[tuple[str, float | None], tuple[Callable[..., Any], float]] = {
    ("dm", None): (lambda w, _: 0.0 * w, 0.0),
    **{("switch", limit): (_switched, limit) for limit in (2, 5, 10)},
    **{("shrink", strength): (_shrunk, strength) for strength in (1, 10, 100)},
}
"""For sensitivity analyses with predictions, by name and parameter: how DR changes the weights."""
