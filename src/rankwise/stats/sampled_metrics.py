r"""Estimate metrics over all candidates from ranks among sampled negatives.

Confidence intervals (`rank_bounds`) hold whatever the true ranks are. A sample of m negatives does
not determine the distribution of true ranks: distributions with very different hit rates at 10 give
the same sampled ranks. So the interval spans all of them.

Let :math:`P(j \mid r)` be the probability of sampled rank j at true rank r, and M(r) the metric of
one relevant item at rank r. A function u of the sampled rank with

.. math:: \sum_j P(j \mid r) \, u(j) \ge M(r) \quad \text{for every true rank } r

has an expectation of at least the true mean of M, for any distribution of true ranks. An upper
confidence limit of the mean of u over users is therefore one of the true value. The lower limit
is the same for −M. Neither depends on an estimator of the distribution.

The functions are chosen by linear programming: smallest mean plus one standard error for each step
that they take. Each user's functions are chosen by the other folds of users (cross-fitting), so
that the choice does not bias the limit: it only decides how wide the interval is. Without folds,
intervals of 95 % cover the true value in 86 % of simulated samples at worst.

Estimates (`estimate`): a relevant item of true rank r among N ranks above each of m negatives drawn
with replacement with the same probability, so its sampled rank :math:`\tilde r` has
:math:`\tilde r - 1 \sim \mathrm{Bin}(m, (r - 1) / (N - 1))`; without replacement it is
hypergeometric. A metric of one relevant item is a function M of its rank. Three estimators of the
mean of M over all relevant items, from the counts of the sampled ranks:

* ``rank``: M of :math:`1 + (N - 1)(\tilde r - 1) / m`, the unbiased estimate of the rank. It is
  biased for every M that is not linear in the rank, and most of all for hit rate, nDCG and MRR:
  each item above its whole sample counts as rank 1.
* ``bv``: the function of the sampled rank whose expectation is closest to M, weighting squared
  bias by :math:`1 - \gamma` and variance by :math:`\gamma` (Krichene & Rendle 2020).
* ``em``: the mean of M under the maximum-likelihood distribution of true ranks (Jin et al. 2021).

None of them is unbiased where :math:`k < N / m`; the intervals hold there as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rankwise.stats.bounded_means import bounded_mean_limit
from rankwise.stats.differences import Floats

Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Counts: TypeAlias = Any  # (n_users, m + 1): an array, or a sparse array of SciPy
_FOLDS = 5
_LARGEST = 3.0  # bounding function, in ranges of the metric; larger ones are hardly ever narrower
_TINY = 1e-6  # probabilities that the linear program takes for 0
_SOLVERS = (
    ("highs", False),
    ("highs-ipm", False),
    ("highs", True),
)  # each with its presolver or without, in turn
_JUMP = 0.05  # of a metric from one rank to the next, in ranges of it: a cut-off


class RankBounds(NamedTuple):
    """Limits of each metric, shape (n_metrics,).

    ``unresolved`` is the part of ``high - low`` that is not sampling noise: the distance between
    the means of the two bounding functions. Where no linear program was solved, these functions are
    constant: the largest value of the metric, and the smallest. All three are NaN for a metric
    whose limits cross, because hardly any distribution of true ranks explains the sampled ranks.
    """

    low: Floats
    high: Floats
    unresolved: Floats


def rank_bounds(
    probabilities: Floats,
    values: Floats,
    counts: Counts,
    *,
    confidence: float = 0.95,
    decreasing: bool = False,
    seed: int = 0,
) -> RankBounds:
    """Return confidence intervals of the mean of metrics over users.

    Parameters
    ----------
    probabilities : array, shape (N, m + 1)
        The probability of every sampled rank at every true rank.
    values : array, shape (N, n_metrics)
        Each metric of one relevant item at every true rank.
    counts : array or sparse array, shape (n_users, m + 1)
        Sampled ranks of each user, with weights of 1 in all. Less than 1 leaves relevant items that
        were not ranked, and have the value 0.
    confidence : float, default=0.95
        Confidence level, in (0, 1).
    decreasing : bool, default=False
        Assume that no true rank is more probable than the one before it. Such a distribution mixes
        uniform distributions over the first s ranks, so means over these replace single ranks.
    seed : int, default=0
        Random seed of the assignment of users to folds.

    Examples
    --------
    >>> from rankwise.stats.sampled_metrics import rank_probabilities
    >>> hit = (np.arange(500) < 10).astype(float)[:, None]  # at 10, of 500 items
    >>> among = np.arange(200) ** 2 // 800  # sampled ranks (from 0) of 200 users, 50 negatives
    >>> given_rank = rank_probabilities(500, 50, replacement=False)
    >>> bounds = rank_bounds(given_rank, hit, np.eye(51)[among])
    >>> bounds.low.round(2).item(), bounds.high.round(2).item()
    (0.03, 0.33)
    """
    if decreasing:
        until = np.arange(1, len(values) + 1)[:, None]
        probabilities = np.cumsum(probabilities, axis=0) / until
        values = np.cumsum(values, axis=0) / until
    n = counts.shape[0]
    fold = np.random.default_rng(seed).permutation(n) % _FOLDS
    tail = (1.0 - confidence) / 2.0
    limits = []
    for metric in values.T:
        functions = _bounding_functions(probabilities, metric)
        upper = _upper(functions, metric, counts, fold, tail)
        lower = _upper(functions, -metric, counts, fold, tail)
        limits.append((-lower[0], upper[0], max(0.0, upper[1] + lower[1])))
    low, high, unresolved = np.array(limits).reshape(-1, 3).T
    crossed = low > high
    return RankBounds(*(np.where(crossed, np.nan, part) for part in (low, high, unresolved)))


def _upper(
    functions: _BoundingFunctions, metric: Floats, counts: Counts, fold: Integers, tail: float
) -> tuple[float, float]:
    """Return the upper limit of the mean of a metric, and the mean of its bounding functions."""
    values, total = np.empty(len(fold)), counts.sum(axis=0)
    ceiling, largest = metric.max(), -np.inf
    for each in np.unique(fold):
        inside = fold == each
        function = functions.above(
            metric, total - counts[inside].sum(axis=0), len(fold) - int(inside.sum())
        )
        values[inside] = counts[inside] @ function
        largest = max(largest, function.max())
    if total.sum() < len(fold) - 1e-6:  # what was not ranked has the value 0
        ceiling, largest = max(ceiling, 0.0), max(largest, 0.0)
    limit = bounded_mean_limit(values, max(largest, values.max()), 1.0 - tail)
    return min(limit, ceiling), min(float(values.mean()), ceiling)


@dataclass(frozen=True)
class _BoundingFunctions:
    """Functions of the sampled rank that are linear between the ranks in ``steps``.

    ``basis`` (m + 1, q) are the functions that are 1 at one of these and 0 at the others, and
    ``expected`` (N, q) their expectations at every true rank. ``steps`` are where they may bend.
    """

    steps: Integers
    basis: Floats
    expected: Floats

    def above(self, metric: Floats, counts: Floats, n: int) -> Floats:
        """Return a function whose expectation is at least the metric at every true rank, (m + 1,).

        Of these it is the one whose mean for n users with these counts is the smallest, after one
        standard error for each of its steps: an upper bound of its own standard error.
        """
        from scipy.optimize import linprog

        lowest, span = metric.min(), np.ptp(metric)
        if span == 0:
            return np.full(len(self.basis), lowest)
        scaled = (metric - lowest) / span
        rows = _some_ranks(scaled)
        step = np.diff(np.eye(len(self.steps)), axis=0)
        size = np.eye(len(step))
        # Tiny coefficients, and a presolver that meets them, make a solver fail now and then.
        expected = np.where(np.abs(self.expected[rows]) < _TINY, 0.0, self.expected[rows])
        solve = partial(
            linprog,
            self._costs(counts, n),
            A_ub=np.block(
                [[-expected, np.zeros((len(rows), len(step)))], [step, -size], [-step, -size]]
            ),
            b_ub=np.concatenate([-scaled[rows], np.zeros(2 * len(step))]),
            bounds=[(-_LARGEST, _LARGEST)] * len(self.steps) + [(0, None)] * len(step),
        )
        solutions = (
            solve(method=method, options={"presolve": presolve}).x for method, presolve in _SOLVERS
        )
        solution = next((x for x in solutions if x is not None), None)
        if solution is None:  # the largest value bounds the metric at every true rank
            return np.full(len(self.basis), metric.max())
        at_steps = solution[: len(self.steps)]
        # Ranks between those of the program, and its tolerance: a constant raises the function
        # by what is missing, because probabilities add up to 1.
        short = max(0.0, float((scaled - self.expected @ at_steps).max()))
        out: Floats = lowest + span * (self.basis @ at_steps + short)
        return out

    def _costs(self, counts: Floats, n: int) -> Floats:
        """Return the costs of a function's values and step sizes in the objective.

        One user more, of a uniformly distributed rank, keeps unseen ranks from being free.
        """
        share = (counts + 1.0 / len(counts)) / (n + 1.0)
        below = np.cumsum(share)[:-1]
        error = np.sqrt(np.clip(below * (1.0 - below), 0.0, None) / (n + 1.0))
        of_steps = np.add.reduceat(error, self.steps[:-1]) / np.diff(self.steps)
        return np.concatenate([share @ self.basis, of_steps])


def _bounding_functions(probabilities: Floats, metric: Floats) -> _BoundingFunctions:
    """Return functions that may bend at the first ranks, sparser later ranks, and jumps of M."""
    n, m = len(metric), probabilities.shape[1] - 1
    jumps = np.flatnonzero(np.abs(np.diff(metric)) > _JUMP * np.ptp(metric))
    beside = np.concatenate([jumps, jumps + 1]) * m / max(n - 1, 1)
    beside = np.concatenate([np.floor(beside), np.ceil(beside)]).astype(np.int64)
    steps = np.union1d(_thinned(m + 1, 24, 1.15), beside)
    where = np.arange(m + 1)
    basis = np.stack([np.interp(where, steps, one) for one in np.eye(len(steps))], axis=1)
    return _BoundingFunctions(steps, basis, probabilities @ basis)


def _some_ranks(scaled: Floats) -> Integers:
    """Return true ranks (from 0) that stand for all: a grid, and where the metric changes."""
    changes = np.flatnonzero(np.diff(np.floor(100.0 * scaled)))
    return np.unique(np.concatenate([_thinned(len(scaled), 32, 1.04), changes, changes + 1]))


def _thinned(size: int, single: int, ratio: float) -> Integers:
    """Return numbers below ``size``: the first ones, then at growing distances, and the last."""
    if size <= single:
        return np.arange(size)
    more = int(np.ceil(np.log(size / single) / np.log(ratio))) + 1
    later = np.geomspace(single, size, more).round().astype(np.int64) - 1
    return np.unique(np.concatenate([np.arange(single), later]))


Method: TypeAlias = Literal["em", "bv", "rank"]


def rank_probabilities(n_items: int, n_negatives: int, *, replacement: bool) -> Floats:
    """Return the probability of every sampled rank given every true rank, shape (N, m + 1).

    >>> rank_probabilities(3, 1, replacement=False).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    def log_choose(n: Any, k: Any) -> Any:
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    m, rest = n_negatives, n_items - 1
    above, sampled = np.arange(n_items)[:, None], np.arange(m + 1)[None, :]
    if replacement:
        share = above / rest
        logs = log_choose(m, sampled) + xlogy(sampled, share) + xlog1py(m - sampled, -share)
        return np.asarray(np.exp(logs))
    possible = (sampled <= above) & (m - sampled <= rest - above)
    up, down = np.where(possible, above, m), np.where(possible, rest - above, m)
    logs = log_choose(up, sampled) + log_choose(down, m - sampled) - log_choose(rest, m)
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


def estimate(
    method: Method, probabilities: Floats, values: Floats, counts: Floats, *, gamma: float = 0.01
) -> Floats:
    """Return the estimated mean of metrics over all relevant items, shape (n_metrics,).

    ``values`` has each metric of one relevant item at every true rank, shape (N, n_metrics), and
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
