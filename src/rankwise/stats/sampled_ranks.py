r"""What ranks among sampled negatives say of ranks among all candidates.

A relevant item of true rank r among N stands above each of m negatives drawn with replacement with
the same chance, so its sampled rank :math:`\tilde r` has
:math:`\tilde r - 1 \sim \mathrm{Bin}(m, (r - 1) / (N - 1))`; without replacement it is
hypergeometric. A measure of one relevant item is a function M of its rank. Three estimates of the
mean of M over all relevant items, from how often each sampled rank was seen:

* ``rank``: M of :math:`1 + (N - 1)(\tilde r - 1) / m`, the unbiased estimate of the rank.
* ``bv``: the function of the sampled rank whose expectation comes nearest to M, weighing squared
  bias by :math:`1 - \gamma` and variance by :math:`\gamma` (Krichene & Rendle 2020).
* ``em``: the distribution of true ranks that makes what was seen most likely, and the mean of M
  under it (Jin et al. 2021).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

__all__ = ["Method", "bias_variance", "estimate", "interpolated", "rank_chances",
           "rank_distribution"]  # fmt: skip

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Method: TypeAlias = Literal["em", "bv", "rank"]


def rank_chances(n_items: int, n_negatives: int, *, replacement: bool) -> Floats:
    """Return the chance of every sampled rank given every true rank, shape (N, m + 1).

    >>> rank_chances(3, 1, replacement=False).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    def choose(n: Any, k: Any) -> Any:
        """Return the logarithm of n over k."""
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    m, others = n_negatives, n_items - 1
    above, seen = np.arange(n_items)[:, None], np.arange(m + 1)[None, :]
    if replacement:
        share = above / others
        logs = choose(m, seen) + xlogy(seen, share) + xlog1py(m - seen, -share)
        return np.asarray(np.exp(logs))
    possible = (seen <= above) & (m - seen <= others - above)
    up, down = np.where(possible, above, m), np.where(possible, others - above, m)
    logs = choose(up, seen) + choose(down, m - seen) - choose(others, m)
    return np.where(possible, np.exp(logs), 0.0)


def interpolated(values: Floats, n_negatives: int) -> Floats:
    """Return M at the unbiased estimate of the rank, for every sampled rank, shape (m + 1, ...).

    Between whole ranks M is a straight line.

    >>> interpolated(np.array([1.0, 0.5, 0.0]), 2).tolist()
    [1.0, 0.5, 0.0]
    """
    last = len(values) - 1
    place = np.arange(n_negatives + 1) * last / n_negatives
    low = np.minimum(place.astype(np.int64), last - 1)
    part = (place - low).reshape(-1, *[1] * (values.ndim - 1))
    out: Floats = values[low] * (1 - part) + values[low + 1] * part
    return out


def bias_variance(chances: Floats, values: Floats, gamma: float) -> Floats:
    r"""Return the function of the sampled rank that stands in for M, shape (m + 1, ...).

    .. math:: \hat M = ((1 - \gamma) A^T D A + \gamma \, \mathrm{diag}(A^T p))^{-1} A^T D M

    with the uniform distribution of true ranks p, D = diag(p). ``gamma=0`` minimises the bias
    alone.
    """
    n = len(chances)
    right = chances.T @ values / n
    if gamma == 0:
        return np.asarray(np.linalg.lstsq(chances, values, rcond=None)[0])
    left = (1 - gamma) * (chances.T @ chances) / n + gamma * np.diag(chances.sum(axis=0) / n)
    return np.asarray(np.linalg.solve(left, right))


def rank_distribution(chances: Floats, counts: Floats, *, rounds: int = 200) -> Floats:
    """Return the distribution of true ranks that makes counts of sampled ranks most likely.

    Expectation maximisation from the uniform distribution. It is stopped after a number of rounds:
    the likelihood is nearly flat by then, and going on fits the noise of the sample.

    Parameters
    ----------
    chances : array, shape (N, m + 1)
        From `rank_chances`.
    counts : array, shape (m + 1,) or (m + 1, n)
        How often each sampled rank was seen; columns are replicates.
    rounds : int
        Rounds of expectation maximisation.

    Returns
    -------
    array, shape (N,) or (N, n)
    """
    seen = counts / counts.sum(axis=0)
    found = np.full((len(chances), *counts.shape[1:]), 1.0 / len(chances))
    for _ in range(rounds):
        expected = chances.T @ found
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=seen > 0)
        found = found * (chances @ ratio)
    return found


def estimate(
    method: Method, chances: Floats, values: Floats, counts: Floats, *, gamma: float = 0.01
) -> Floats:
    """Estimate the mean of measures over all relevant items from counts of sampled ranks.

    Parameters
    ----------
    method : {"em", "bv", "rank"}
        How.
    chances : array, shape (N, m + 1)
        From `rank_chances`.
    values : array, shape (N, n_measures)
        Each measure of one relevant item, at every true rank.
    counts : array, shape (m + 1, n)
        How often each sampled rank was seen; columns are replicates.
    gamma : float
        What variance weighs against bias, for ``"bv"``.

    Returns
    -------
    array, shape (n, n_measures)
    """
    seen = counts / counts.sum(axis=0)
    m = chances.shape[1] - 1
    if method == "em":
        found: Floats = rank_distribution(chances, counts).T @ values
    elif method == "rank":
        found = seen.T @ interpolated(values, m)
    else:
        found = seen.T @ bias_variance(chances, values, gamma)
    return found
