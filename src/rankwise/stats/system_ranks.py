"""Ranks of many systems with confidence intervals, and which of them may be the best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.errors import InputError
from rankwise.stats.all_pairs import paired_t_of_all
from rankwise.stats.differences import MANY, Floats
from rankwise.stats.multiple import adjust
from rankwise.stats.paired import smallest_p
from rankwise.stats.resampling import sums
from rankwise.stats.values import check_level, numbers, significant_digits

__all__ = ["SystemRanks", "max_t_quantile", "pairwise_p", "rank_systems", "ranks_of"]

_FEWEST = 6  # users below which deviations say too little of their distribution


@dataclass(frozen=True, eq=False)
class SystemRanks:
    """The ranks of k systems with confidence intervals; rank 1 is the best.

    Attributes
    ----------
    rank : array, shape (k,)
        The rank of each observed mean; equal means share the smallest.
    low, high : array, shape (k,)
        The simultaneous confidence intervals of the true ranks.
    p_better : array, shape (k, k)
        Adjusted p-value of the claim that the system of the row is better than that of the column.
    confidence : float
        The confidence level.
    """

    rank: Any
    low: Any
    high: Any
    p_better: Floats
    confidence: float

    @property
    def may_be_best(self) -> Any:
        """Mask of the systems that may be the best: no other is shown to be better."""
        return self.low == 1


def rank_systems(
    values: Any, *, higher_is_better: bool = True, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> SystemRanks:
    r"""Return the ranks of systems with simultaneous confidence intervals.

    The claim "i is better than j" is tested for all ordered pairs by its t statistic, against the
    largest t of all pairs that are not decided yet (the step-down procedure of Westfall and Young,
    on the hypotheses of Mogstad et al.). The rank of a system lies between 1 plus the number of
    systems that are shown to be better, and k minus the number of systems that are shown to be
    worse. With fewer than 6 users nothing is shown. From 1,000 users the null distribution of t is
    drawn from the normal distribution with the covariance of the systems; with fewer, by flipping
    the signs of all users' deviations from the means.

    Parameters
    ----------
    values : array, shape (n, k)
        One row per user, one column per system, without NaN; at least 2 of each.
    higher_is_better : bool, default=True
        Whether rank 1 is the largest mean.
    confidence : float, default=0.95
        The probability that all intervals together contain the true ranks.
    n_resamples : int, default=10000
        Number of random draws.
    seed : int, default=0
        Random seed.

    Returns
    -------
    SystemRanks

    Raises
    ------
    InputError
        If a value is NaN, or there are fewer than 2 users or systems.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries, Review of Economic Studies 91.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal([0.3, 0.28, 0.1], 0.2, (500, 3))
    >>> found = rank_systems(values)
    >>> found.low.tolist(), found.high.tolist(), found.may_be_best.tolist()
    ([1, 1, 3], [2, 2, 3], [True, True, False])
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    check_positive(least=0, seed=seed)
    x = numbers("values", values)
    if x.ndim != 2 or min(x.shape, default=0) < 2 or not np.isfinite(x).all():
        raise InputError(
            "ranks need a value of every user for every system, two or more of each",
            found=f"shape {x.shape}, {int(np.isnan(x).sum())} NaN",
        )
    x = x if higher_is_better else -x
    tests = paired_t_of_all(x)
    p = np.ones((x.shape[1],) * 2)
    if len(x) >= _FEWEST:
        p = _step_down(x, tests.difference, tests.error, n_resamples, seed)
    return ranks_of(p, x.mean(axis=0), confidence=confidence)


def ranks_of(p_better: Floats, means: Floats, *, confidence: float) -> SystemRanks:
    """Return the ranks that adjusted p-values of "row better than column" allow.

    Large means are good.
    """
    shown = p_better < 1 - confidence
    k, means = len(means), significant_digits(means)  # equal up to rounding is equal
    rank = 1 + (means[None, :] > means[:, None]).sum(axis=1)
    return SystemRanks(rank, 1 + shown.sum(axis=0), k - shown.sum(axis=1), p_better, confidence)


def pairwise_p(two_sided: Floats, differences: Floats) -> Floats:
    """Return Holm-adjusted one-sided p-values of all ordered pairs, from their two-sided ones.

    ``differences`` are row minus column, and large values are good; NaN is no claim.
    """
    k = len(two_sided)
    one_sided = np.where(differences > 0, two_sided / 2, 1 - two_sided / 2)
    pairs = ~np.eye(k, dtype=bool)
    out = np.ones((k, k))
    out[pairs] = np.nan_to_num(adjust(np.nan_to_num(one_sided[pairs], nan=1.0), "holm"), nan=1.0)
    return out


def _step_down(x: Floats, difference: Floats, error: Floats, n_resamples: int, seed: int) -> Floats:
    """Return adjusted p-values of all ordered pairs, shape (k, k), 1 on the diagonal."""
    n, k = x.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0, 0.0, difference / error)
    t[np.isinf(t) & (smallest_p(n) * k * (k - 1) > 0.01)] = 0.0  # a few equal gains show nothing
    rows, columns = np.nonzero(~np.eye(k, dtype=bool))
    order = np.argsort(-t[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    observed, unit = t[rows, columns], error[rows, columns]
    means = np.ascontiguousarray(np.concatenate(list(_draws(x, n_resamples, seed))).T)
    largest, counts = np.full(n_resamples, -np.inf), np.zeros(len(order))
    for at in reversed(range(len(order))):  # of each pair and all pairs less decided
        drawn = _t(means[rows[at]] - means[columns[at]], unit[at], n)
        np.maximum(largest, drawn, out=largest)
        counts[at] = np.count_nonzero(largest >= observed[at] - 1e-9)
    p = np.maximum.accumulate((1 + counts) / (1 + n_resamples))
    out = np.ones((k, k))
    out[rows, columns] = p
    return out


def _draws(x: Floats, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield means of systems as they are drawn if all true means are equal, shape (draws, k)."""
    n = len(x)
    centred = x - x.mean(axis=0)
    if n < MANY:
        for panel in sums(centred, n_resamples, kind="signs", seed=seed):
            yield panel / n
        return
    variances, axes = np.linalg.eigh(centred.T @ centred / (n - 1) / n)
    scaled = axes * np.sqrt(np.maximum(variances, 0.0))
    yield np.random.default_rng(seed).standard_normal((n_resamples, x.shape[1])) @ scaled.T


def _t(drawn: Floats, error: Floats, n: int) -> Floats:
    """Return t of drawn mean differences; ``error`` is the standard error of the observed ones.

    Signs keep the squares of the deviations, so that a draw has a standard error of its own:
    without it t would be too small for few users.
    """
    square = error**2
    if n < MANY:
        square = np.maximum(square - drawn**2 / (n - 1), 1e-12 * square)
    out: Floats = drawn / np.sqrt(np.where(square > 0, square, np.inf))
    return out


def max_t_quantile(differences: Floats, *, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0) -> float:
    """Return the max-T quantile: the half-width of simultaneous intervals, in standard errors.

    It is the quantile of the largest ``|t|`` of all columns, so that their dependence is taken into
    account.

    Parameters
    ----------
    differences : array, shape (n, m)
        Differences of n users in m comparisons, without NaN.
    confidence, n_resamples, seed : float, int, int, default=0.95, 10000, 0
        As for `rank_systems`.

    Returns
    -------
    float

    Examples
    --------
    >>> d = np.random.default_rng(0).normal(size=(2000, 1)) + np.zeros((1, 20))
    >>> round(max_t_quantile(d), 1)  # twenty times the same comparison is one comparison
    2.0
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    check_positive(least=0, seed=seed)
    d = numbers("differences", differences)
    if d.ndim != 2 or d.shape[1] < 1 or len(d) < 2 or not np.isfinite(d).all():
        raise InputError("max-T needs a number for two users or more, in every comparison", found=f"shape {d.shape}")
    error = d.std(axis=0, ddof=1) / math.sqrt(len(d))
    largest = np.concatenate([np.abs(_t(means, error, len(d))).max(axis=1) for means in _draws(d, n_resamples, seed)])
    at = min(math.ceil(confidence * (n_resamples + 1)), n_resamples) - 1
    return float(np.sort(largest)[at])
