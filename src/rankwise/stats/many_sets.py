"""Several data sets, folds or groups: Friedman, Bayesian signed ranks, corrected resampled t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np

from rankwise.arguments import check_positive
from rankwise.errors import InputError, ParameterError
from rankwise.stats.differences import (
    Floats,
    Missing,
    TestResult,
    check_level,
    column,
    differences,
    never_zero,
    numbers,
)
from rankwise.stats.multiple import Correction, adjust
from rankwise.stats.paired import smallest_p, wilcoxon

__all__ = ["Bayesian", "Friedman", "bayesian_signed_rank", "corrected_resampled_t", "friedman",
           "kruskal_wallis", "mann_whitney"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Friedman:
    """Whether systems differ over data sets, and which.

    Attributes
    ----------
    statistic, p : float
        Friedman's chi-squared and its p.
    ranks : array, shape (k,)
        The mean rank of each system, 1 the largest value.
    pairs : array, shape (k, k)
        P of each pair by Wilcoxon's signed ranks over data sets, adjusted.
    critical_difference : float
        Nemenyi's: mean ranks further apart differ at 0.05. For the diagram that people know; its
        verdict on two systems depends on which others are there, which that of ``pairs`` does not.
    """

    statistic: float
    p: float
    ranks: Floats
    pairs: Floats
    critical_difference: float


def friedman(values: Any, *, correction: Correction = "holm") -> Friedman:
    """Test whether k systems differ over N data sets, with all pairs afterwards.

    A row is a data set, not a user: over users test means, with the paired t test.

    Parameters
    ----------
    values : array, shape (N, k)
        A row a data set, a column a system; at least 3 systems.
    correction : str
        For the pairs.

    Examples
    --------
    >>> found = friedman([[0.3, 0.2, 0.1], [0.5, 0.4, 0.1], [0.6, 0.3, 0.2], [0.4, 0.3, 0.2]])
    >>> found.p, found.ranks.tolist()
    (0.0183, [1.0, 2.0, 3.0])
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    x = numbers("values", values)
    if x.ndim != 2 or x.shape[1] < 3 or len(x) < 2 or not np.isfinite(x).all():
        raise InputError(
            "Friedman's test needs a number for each of 3 systems or more on 2 data sets or more",
            found=f"shape {x.shape}",
        )
    n, k = x.shape
    ranks = rankdata(-x, axis=1).mean(axis=0)
    same = bool((x == x[:, :1]).all())
    found = (0.0, 1.0) if same else friedmanchisquare(*x.T)
    upper = np.triu_indices(k, 1)
    p = np.ones((k, k))
    p[upper] = adjust(
        [wilcoxon(x[:, i], x[:, j]).p for i, j in zip(*upper, strict=True)], correction
    )
    p.T[upper] = p[upper]
    quantile = float(studentized_range.ppf(0.95, k, math.inf)) / math.sqrt(2)
    critical = quantile * math.sqrt(k * (k + 1) / (6 * n))
    return Friedman(float(found[0]), never_zero(found[1]), ranks, p, critical)


@dataclass(frozen=True)
class Bayesian:
    """Chances, after the data, that one system is practically better.

    Attributes
    ----------
    left, rope, right : float
        The chance that the middle of the differences lies below the region of practical
        equivalence, in it, or above it.
    draws : int
        How many draws they rest on.
    """

    left: float
    rope: float
    right: float
    draws: int


def bayesian_signed_rank(
    x: Any, y: Any = None, *, rope: float, n_draws: int = 50_000, seed: int = 0,
    missing: Missing = "error",
) -> Bayesian:  # fmt: skip
    """Weigh a practical difference over data sets (Benavoli et al. 2014), in O(n) a draw.

    Each draw weighs the differences, and a pseudo-difference of 0 of weight 0.5, by a Dirichlet
    law; the weight of pairs whose mean is above, within and below the region decides the draw.

    Parameters
    ----------
    x, y : array, shape (n,)
        Values of two systems on n data sets.
    rope : float
        Half the width of the region of practical equivalence, 0 or more.
    n_draws, seed : int
        How many draws, and what decides them.

    Examples
    --------
    >>> found = bayesian_signed_rank([0.5, 0.6, 0.4, 0.7], [0.1, 0.3, 0.2, 0.3], rope=0.01)
    >>> found.right > 0.9
    True
    """
    check_positive(n_draws=n_draws)
    if not isinstance(rope, int | float | np.number) or not rope >= 0:
        raise ParameterError("rope must be 0 or more", found=f"rope={rope!r}")
    own = differences(x, y, missing=missing)
    if not own.n:
        raise InputError("there are no pairs")
    z = np.concatenate([[0.0], own.d])
    order = np.argsort(z, kind="stable")
    z, weight = z[order], np.concatenate([[0.5], np.ones(own.n)])[order]
    above = np.searchsorted(z, 2 * rope - z, side="right")
    below = np.searchsorted(z, -2 * rope - z, side="left")
    chance = np.random.default_rng(seed)
    counts = np.zeros(3)
    step = max(1, 2_000_000 // len(z))
    for first in range(0, n_draws, step):
        w = chance.dirichlet(weight, min(step, n_draws - first))
        c = np.concatenate([np.zeros((len(w), 1)), np.cumsum(w, axis=1)], axis=1)
        right = (w * (1 - c[:, above])).sum(axis=1)
        left = (w * c[:, below]).sum(axis=1)
        shares = np.stack([left, 1 - left - right, right], axis=1)
        best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
        counts += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    left, middle, right = (float(count) / n_draws for count in counts)
    return Bayesian(left, middle, right, n_draws)


def corrected_resampled_t(
    x: Any, y: Any = None, *, test_share: float, missing: Missing = "error"
) -> TestResult:
    r"""Test means over folds or repeated holdouts, whose training parts overlap.

    .. math:: t = \bar d / \sqrt{s^2 (1 / J + n_{test} / n_{train})}, \quad J - 1
        \text{ degrees of freedom}

    (Nadeau and Bengio 2003). The t test over folds takes them for independent, and finds too much.

    Parameters
    ----------
    x, y : array, shape (J,)
        A value a fold.
    test_share : float
        The share of rows that a fold tests: 0.2 for five folds.

    Examples
    --------
    >>> corrected_resampled_t([0.3, 0.4, 0.35, 0.5, 0.45], [0.2] * 5, test_share=0.2).p
    0.0196
    """
    from scipy.stats import t

    check_level("test_share", test_share)
    own = differences(x, y, missing=missing)
    name = "corrected resampled t"
    if own.n < 2 or not own.deviation:
        p = math.nan if own.n < 2 else (1.0 if not own.nonzero else smallest_p(own.n))
        return TestResult(name, own.mean, math.nan, p, own.n, own.flags)
    error = own.deviation * math.sqrt(1 / own.n + test_share / (1 - test_share))
    statistic = own.mean / error
    p = never_zero(2 * t.sf(abs(statistic), own.n - 1))
    return TestResult(name, own.mean, statistic, p, own.n, own.flags)


def mann_whitney(x: Any, y: Any, *, same_users: Literal[False]) -> TestResult:
    """Test whether values of two separate groups of users, as in an A/B test, lie alike.

    ``same_users=False`` has to be said: values of two systems for the same users are pairs.
    """
    from scipy.stats import mannwhitneyu

    if same_users is not False:
        _refuse_pairs("Mann-Whitney")
    first, second = _group("x", x), _group("y", y)
    found = mannwhitneyu(first, second)
    apart = float(first.mean() - second.mean())
    n = len(first) + len(second)
    return TestResult("Mann-Whitney", apart, float(found.statistic), never_zero(found.pvalue), n)


def kruskal_wallis(*groups: Any, same_users: Literal[False]) -> TestResult:
    """Test whether values of several separate groups of users lie alike; see `mann_whitney`."""
    from scipy.stats import kruskal

    if same_users is not False:
        _refuse_pairs("Kruskal-Wallis")
    own = [_group(f"group {at}", group) for at, group in enumerate(groups)]
    if len(own) < 2:
        raise InputError("groups are at least two", found=str(len(own)))
    n = sum(map(len, own))
    if len(np.unique(np.concatenate(own))) == 1:
        return TestResult("Kruskal-Wallis", 0.0, 0.0, 1.0, n, ("identical",))
    found = kruskal(*own)
    means = [float(group.mean()) for group in own]
    return TestResult("Kruskal-Wallis", max(means) - min(means), float(found.statistic),
                      never_zero(found.pvalue), n)  # fmt: skip


def _refuse_pairs(test: str) -> NoReturn:
    raise ParameterError(
        f"{test} is for separate groups of users",
        found="systems evaluated on the same users",
        hint="values of the same users are pairs, and vary together: use paired_t or sign_flip; "
        "for an A/B test with separate users say same_users=False",
    )


def _group(name: str, values: Any) -> Floats:
    own = column(name, values)
    if not len(own) or np.isnan(own).any():
        raise InputError(f"{name} is empty or holds NaN", found=f"{len(own)} values")
    return own
