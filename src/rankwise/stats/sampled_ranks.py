r"""Estimate metrics over all candidates from ranks among sampled negatives.

A relevant item of true rank r among N ranks above each of m negatives drawn with replacement with
the same probability, so its sampled rank :math:`\tilde r` has
:math:`\tilde r - 1 \sim \mathrm{Bin}(m, (r - 1) / (N - 1))`; without replacement it is
hypergeometric. A metric of one relevant item is a function M of its rank. Three estimators of the
mean of M over all relevant items, from the counts of the sampled ranks:

* ``rank``: M of :math:`1 + (N - 1)(\tilde r - 1) / m`, the unbiased estimate of the rank. It is
  biased for every M that is not linear in the rank, and most of all for hit rate, nDCG and MRR:
  each item above its whole sample counts as rank 1.
* ``bv``: the function of the sampled rank whose expectation is closest to M, weighting squared
  bias by :math:`1 - \gamma` and variance by :math:`\gamma` (Krichene & Rendle 2020).
* ``em``: the mean of M under the maximum-likelihood distribution of true ranks (Jin et al. 2021).

None of them is unbiased where :math:`k < N / m`; `rankwise.stats.rank_bounds` has intervals that
hold whatever the distribution of true ranks is.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.stats.differences import Floats

__all__ = ["Method", "bias_variance", "estimate", "interpolated", "rank_distribution", "rank_probabilities"]

Method: TypeAlias = Literal["em", "bv", "rank"]


def rank_probabilities(n_items: int, n_negatives: int, *, replacement: bool) -> Floats:
    """Return the probability of every sampled rank given every true rank, shape (N, m + 1).

    >>> rank_probabilities(3, 1, replacement=False).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    def log_choose(n: Any, k: Any) -> Any:
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    m, others = n_negatives, n_items - 1
    above, sampled = np.arange(n_items)[:, None], np.arange(m + 1)[None, :]
    if replacement:
        share = above / others
        logs = log_choose(m, sampled) + xlogy(sampled, share) + xlog1py(m - sampled, -share)
        return np.asarray(np.exp(logs))
    possible = (sampled <= above) & (m - sampled <= others - above)
    up, down = np.where(possible, above, m), np.where(possible, others - above, m)
    logs = log_choose(up, sampled) + log_choose(down, m - sampled) - log_choose(others, m)
    return np.exp(np.where(possible, logs, -np.inf))


def interpolated(values: Floats, n_negatives: int) -> Floats:
    """Return M at the unbiased estimate of the rank, for every sampled rank, shape (m + 1, ...).

    M is interpolated linearly between integer ranks.

    >>> interpolated(np.array([1.0, 0.5, 0.0]), 2).tolist()
    [1.0, 0.5, 0.0]
    """
    last = len(values) - 1
    position = np.arange(n_negatives + 1) * last / n_negatives
    low = np.minimum(position.astype(np.int64), last - 1)
    fraction = (position - low).reshape(-1, *[1] * (values.ndim - 1))
    out: Floats = values[low] * (1 - fraction) + values[low + 1] * fraction
    return out


def bias_variance(probabilities: Floats, values: Floats, gamma: float) -> Floats:
    r"""Return the function of the sampled rank that replaces M, shape (m + 1, ...).

    .. math:: \hat M = ((1 - \gamma) A^T D A + \gamma \, \mathrm{diag}(A^T p))^{-1} A^T D M

    with the uniform distribution of true ranks p, D = diag(p). ``gamma=0`` minimises the bias
    alone.
    """
    n = len(probabilities)
    right = probabilities.T @ values / n
    if gamma == 0:
        return np.asarray(np.linalg.lstsq(probabilities, values, rcond=None)[0])
    share = probabilities.sum(axis=0) / n
    left = (1 - gamma) * (probabilities.T @ probabilities) / n + gamma * np.diag(share)
    return np.asarray(np.linalg.solve(left, right))


def rank_distribution(probabilities: Floats, counts: Floats, *, rounds: int = 200) -> Floats:
    """Return the maximum-likelihood distribution of true ranks, shape (N,).

    ``counts`` has the number of relevant items at every sampled rank, shape (m + 1,). Expectation
    maximisation starts from the uniform distribution and stops after some rounds: the likelihood
    is nearly flat by then, and more rounds would fit the noise of the sample.
    """
    observed = counts / counts.sum()
    ranks = np.full(len(probabilities), 1.0 / len(probabilities))
    for _ in range(rounds):
        expected = ranks @ probabilities
        ratio = np.divide(observed, expected, out=np.zeros_like(observed), where=observed > 0)
        ranks = ranks * (probabilities @ ratio)
    return ranks


def estimate(method: Method, probabilities: Floats, values: Floats, counts: Floats, *, gamma: float = 0.01) -> Floats:
    """Return the estimated mean of metrics over all relevant items, shape (n_measures,).

    ``values`` has each metric of one relevant item at every true rank, shape (N, n_measures), and
    ``counts`` the number of relevant items at every sampled rank, shape (m + 1,). ``gamma`` weights
    variance against bias, for ``"bv"``.
    """
    if method == "em":
        return rank_distribution(probabilities, counts) @ values
    if method == "rank":
        function = interpolated(values, probabilities.shape[1] - 1)
    else:
        function = bias_variance(probabilities, values, gamma)
    return np.asarray((counts / counts.sum()) @ function)
