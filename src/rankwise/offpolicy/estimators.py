r"""Estimators of a policy's value, as plain functions of arrays.

Without positions, arrays have one entry per request: ``w`` is the weight :math:`\pi(a|x) / p`,
``r`` the reward, ``q`` the prediction of the reward of the logged item, and ``dm`` the expected
prediction under the target, :math:`\sum_a \pi(a|x) q(x, a)`. For requests with several rows, arrays
have one row per request and one column per position, and ``w`` is the weight of the item at its
position.

`rankwise.off_policy` prints `snips` and `sndr`, on request `ips`, `beta_ips` and `dr`, and of
requests with several rows `interaction`, `independent` and `cascade_dr`. All others are for
sensitivity analyses, because their bias is unknown and no interval covers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def snips(w: Any, r: Any) -> float:
    r"""Compute self-normalised inverse propensity scoring; NaN without weight.

    .. math:: \hat V = \frac{\sum_i w_i r_i}{\sum_i w_i}

    Notes
    -----
    **Assumes** that propensities are those of the requests, and that the log can show whatever the
    target shows. The bias is then of order 1/n.

    **Use it** by default. It stays within the range of the rewards, a constant added to all rewards
    is added to the value, and user sums of :math:`w r` and :math:`w` suffice for every interval.

    **It fails** where few users carry the weight: the value is then close to what these few did.
    The support rule checks that.

    References
    ----------
    Swaminathan & Joachims 2015, The Self-Normalized Estimator for Counterfactual Learning, NeurIPS.

    Examples
    --------
    Three requests, and the same rewards plus 1:

    >>> w, r = np.array([3.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
    >>> snips(w, r), snips(w, r + 1)
    (0.75, 1.75)
    """
    total = float(np.sum(w))
    return float(np.sum(w * r)) / total if total > 0 else math.nan


def sndr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Compute the doubly robust estimate with self-normalised weights; NaN without weight.

    .. math:: \hat V = \frac1n \sum_i \mathrm{dm}_i + \frac{\sum_i w_i (r_i - q_i)}{\sum_i w_i}

    Notes
    -----
    **Assumes** that propensities are right, or that predictions are: one of the two is enough.

    **Use it** if you have predictions of the reward, from other data or cross-fitted by user. It is
    the default with ``predictions=``. Good predictions narrow the interval; bad ones cost little.

    **It fails** with predictions that were fitted on the same rows: they contain the noise of these
    rewards, and the interval is too narrow. A regressor passed to `rankwise.off_policy` is
    cross-fitted in five folds of users.

    References
    ----------
    Dudík, Langford & Li 2011, Doubly Robust Policy Evaluation and Learning, ICML; weights
    normalised as in Thomas & Brunskill 2016, Data-Efficient Off-Policy Policy Evaluation for
    Reinforcement Learning, ICML.

    Examples
    --------
    Without predictions it is `snips`. Predictions that repeat the rewards leave no residual:

    >>> w, r = np.array([3.0, 1.0]), np.array([1.0, 0.0])
    >>> sndr(w, r, np.zeros(2), np.zeros(2)), sndr(w, r, r, np.array([0.4, 0.4]))
    (0.75, 0.4)
    """
    return float(np.mean(dm)) + snips(w, r - q)


def ips(w: Any, r: Any) -> float:
    r"""Compute inverse propensity scoring, the mean of the weighted rewards.

    .. math:: \hat V = \frac1n \sum_i w_i r_i

    Notes
    -----
    **Assumes** that propensities are right.

    **Use it** to reproduce another tool's number, or beside the default: the gap between the two,
    in ``result.sensitivity``, is large where the mean weight is far from 1.

    **It fails** by leaving the range of the rewards, and by moving with their origin.

    References
    ----------
    Horvitz & Thompson 1952, A Generalization of Sampling Without Replacement From a Finite
    Universe, JASA 47.

    Examples
    --------
    If every reward is 1, every policy is worth 1, but IPS gives the mean weight:

    >>> ips(np.array([1.5, 0.4]), np.array([1.0, 1.0]))
    0.95
    """
    return float(np.mean(w * r))


def beta_ips(w: Any, r: Any, user: Any = None) -> float:
    r"""Compute IPS with the control variate :math:`w - 1`.

    .. math::

        \hat V = \overline{w r} - \beta\, (\bar w - 1), \qquad
        \beta = \frac{\operatorname{Cov}(w r, w)}{\operatorname{Var}(w)}
        \text{ of sums over users, or of rows}

    The mean weight is known to be 1. Its deviation from 1 tells how far the mean of :math:`w r`
    deviates.

    Notes
    -----
    **Assumes** that propensities are right, and many users, because β is estimated.

    **Use it** in large logs, where it varies a little less than `snips`.

    **It fails** in small logs: it is not bounded by the rewards, and its error is underestimated.
    Requests of several rows are refused.

    References
    ----------
    Gupta et al. 2024, Optimal Baseline Corrections for Off-Policy Contextual Bandits, RecSys.

    Examples
    --------
    Two requests with the rewards 1 and 0 give a value above 1:

    >>> round(beta_ips(np.array([0.9, 0.5]), np.array([1.0, 0.0])), 3)
    1.125
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
    r"""Compute the doubly robust estimate.

    .. math:: \hat V = \frac1n \sum_i \bigl( \mathrm{dm}_i + w_i (r_i - q_i) \bigr)

    Notes
    -----
    **Assumes** that propensities are right, or that predictions are.

    **Use it** to reproduce another tool's number. `sndr` needs the same and has normalised weights.

    **It fails** with heavy weights: the residual of one request counts with its full weight, so
    that the value can leave the range of the rewards.

    References
    ----------
    Dudík, Langford & Li 2011, Doubly Robust Policy Evaluation and Learning, ICML.

    Examples
    --------
    One heavy request, and rewards from 0 to 1:

    >>> w, r = np.array([30.0, 0.5, 0.5, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> q = dm = np.full(4, 0.4)
    >>> round(dr(w, r, q, dm), 3), round(sndr(w, r, q, dm), 3)
    (4.925, 0.984)
    """
    return float(np.mean(dm + w * (r - q)))


def interaction(w: Any, r: Any) -> float:
    r"""Compute the estimate for lists whose items affect the clicks on items below.

    .. math::

        \hat V = \sum_k \frac{\sum_i w_{i,1:k} r_{ik}}{\sum_i w_{i,1:k}}, \qquad
        w_{i,1:k} = \prod_{j \le k} w_{ij}

    Values are normalised at each position.

    Notes
    -----
    **Assumes** that the reward of a position depends on its item and those above it, and not on
    those below.

    **Use it** for lists that people read from the top, with ``propensities="conditional"`` (of each
    item after those above it) or ``"prefix"`` (of the list down to it). It is the default.

    **It fails** if people see the full page at once, as in carousels and grids: items below then
    matter. `standard` does not assume this, but has a much larger variance.

    References
    ----------
    McInerney et al. 2020, Counterfactual Evaluation of Slate Recommendations with Sequential Reward
    Interactions, KDD.

    Examples
    --------
    The second item is clicked only after the first item of the first two lists, which the target
    shows with probability 0.9 instead of 0.5. The true value is 0.9 · 0.8:

    >>> w = np.array([[1.8, 1.0], [1.8, 1.0], [0.2, 1.0], [0.2, 1.0]])
    >>> r = np.array([[0.0, 0.8], [0.0, 0.8], [0.0, 0.0], [0.0, 0.0]])
    >>> round(interaction(w, r), 2), round(independent(w, r), 2)
    (0.72, 0.4)
    """
    return _by_position(np.cumprod(w, axis=1), r)


def cascade_dr(w: Any, r: Any, q: Any, dm: Any) -> float:
    r"""Compute the doubly robust estimate for lists that are read from the top.

    .. math::

        \hat V = \sum_k \left( \frac{\sum_i w_{i,1:k-1} \mathrm{dm}_{ik}}{\sum_i w_{i,1:k-1}}
        + \frac{\sum_i w_{i,1:k} (r_{ik} - q_{ik})}{\sum_i w_{i,1:k}} \right), \qquad
        \mathrm{dm}_{ik} = \sum_a \pi(a \mid a_{i1}, \ldots, a_{i,k-1})\, q_k(a)

    Notes
    -----
    **Assumes** what `interaction` assumes. With right predictions it is unbiased also with wrong
    propensities at the last position.

    **Use it** with predictions by position, with which it is the default: good ones narrow the
    interval.

    **It fails** if a target does not tell the probabilities of all items after those above:
    predictions then cannot be averaged, and it is refused. Pass targets as tables of probabilities
    by position.

    References
    ----------
    Kiyohara et al. 2022, Doubly Robust Off-Policy Evaluation for Ranking Policies under the Cascade
    Behavior Model, WSDM.

    Examples
    --------
    Without predictions it is `interaction`:

    >>> w, r = np.array([[1.8, 1.0], [0.2, 1.0]]), np.array([[0.0, 0.8], [0.0, 0.0]])
    >>> round(cascade_dr(w, r, np.zeros((2, 2)), np.zeros((2, 2))), 2)
    0.72
    """
    prefix = np.cumprod(w, axis=1)
    above = np.column_stack([np.ones(len(prefix)), prefix[:, :-1]])
    return _by_position(above, dm) + _by_position(prefix, r - q)


def independent(w: Any, r: Any) -> float:
    r"""Compute the estimate for lists whose positions do not affect each other.

    .. math:: \hat V = \sum_k \frac{\sum_i w_{ik} r_{ik}}{\sum_i w_{ik}}

    Notes
    -----
    **Assumes** that the reward of a position depends on its own item and position alone.

    **Use it** if the log has only the propensity of each item at its position
    (``propensities="marginal"``). The assumption cannot be checked with these propensities, so
    support is weak at best, and there is no verdict.

    **It fails** if items above matter: duplicates tire people, and a good first item takes the
    clicks of the second. The example of `interaction` shows it.

    References
    ----------
    Li et al. 2018, Offline Evaluation of Ranking Policies with Click Models, KDD.

    Examples
    --------
    >>> independent(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    1.5
    """
    return _by_position(w, r)


def standard(w: Any, r: Any) -> float:
    r"""Compute the estimate with the weights of full lists.

    .. math::

        \hat V = \sum_k \frac{\sum_i w_i r_{ik}}{\sum_i w_i}, \qquad w_i = \prod_j w_{ij}

    Notes
    -----
    **Assumes** only that propensities are right.

    **Use it** if the log has one propensity for the full list (``propensities="list"``), or to
    check the assumption of `interaction`: its value is in ``result.sensitivity``.

    **It fails** by its variance: the weight of a list of ten items is a product of ten ratios.

    References
    ----------
    Precup, Sutton & Singh 2000, Eligibility Traces for Off-Policy Policy Evaluation, ICML.

    Examples
    --------
    The second item takes all weight, and with it the clicks on the first items of the other lists:

    >>> w = np.array([[1.0, 3.0], [1.0, 0.0], [1.0, 0.0]])
    >>> r = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> standard(w, r), round(interaction(w, r), 3)
    (1.0, 0.333)
    """
    return _by_position(np.prod(w, axis=1, keepdims=True) * np.ones_like(w), r)


def _by_position(w: Any, r: Any) -> float:
    """Return the sum over positions of the self-normalised estimates."""
    return sum(snips(w[:, k], r[:, k]) for k in range(w.shape[1]))


def switch_dr(w: Any, r: Any, q: Any, dm: Any, threshold: float) -> float:
    """Compute DR without the correction of requests whose weight is above ``threshold``.

    References
    ----------
    Wang, Agarwal & Dudík 2017, Optimal and Adaptive Off-policy Evaluation in Contextual Bandits,
    ICML.

    Examples
    --------
    >>> switch_dr(np.array([4.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2), np.zeros(2), 2.0)
    0.5
    """
    return dr(_switched(w, threshold), r, q, dm)


def _switched(w: Any, threshold: float) -> Any:
    return np.where(w <= threshold, w, 0.0)


def shrinkage_dr(w: Any, r: Any, q: Any, dm: Any, strength: float) -> float:
    r"""Compute DR with the weights :math:`\lambda w / (w^2 + \lambda)`; λ is the strength.

    References
    ----------
    Su et al. 2020, Doubly Robust Off-Policy Evaluation with Shrinkage, ICML.

    Examples
    --------
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
