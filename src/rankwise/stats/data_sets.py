"""Samples that are not independent users: clusters, several data sets, folds, and the jackknife."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rankwise.core.arguments import check_count, check_positive
from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import (
    Differences,
    Floats,
    Interval,
    Missing,
    TestResult,
    check_level,
    column,
    differences,
    never_zero,
    numbers,
    t_around,
    two_sided_t,
)
from rankwise.stats.many_systems import Correction, adjust
from rankwise.stats.paired_tests import smallest_p, wilcoxon

MOST_ROWS = 0.8
"""The share of the rows in one cluster above which intervals cover far less than they say."""


def clustered(values: Any, cluster: Any, *, confidence: float = 0.95) -> Interval:
    r"""Return the cluster-robust confidence interval of a mean over rows, with users as clusters.

    With :math:`a_u` the sum of the values of user u, :math:`m_u` the number of rows of user u and M
    that of all rows, :math:`\theta = \sum a_u / M` has the bias-reduced standard error (CR2)

    .. math:: \frac{1}{M} \sqrt{\sum_u \frac{(a_u - \theta m_u)^2}{1 - m_u / M}}

    and Satterthwaite's degrees of freedom for rows that are equal within users. If cluster sizes
    differ much, the usual n − 1 degrees of freedom make intervals too narrow: at a nominal 95 %
    they cover the mean in 76 to 91 % of samples.

    Parameters
    ----------
    values : array, shape (rows,)
        One value per row.
    cluster : array, shape (rows,)
        The user of each row.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        ``n`` is the number of clusters. The limits are NaN if clusters do not vary, are fewer than
        two, or one has more than 80 % of the rows.

    References
    ----------
    Bell & McCaffrey 2002, Bias reduction in standard errors for linear regression with multi-stage
    samples, Survey Methodology 28.

    Examples
    --------
    >>> interval = clustered([1.0, 1.0, 0.0, 0.0, 1.0, 0.0], [1, 1, 2, 2, 3, 3])
    >>> interval.estimate, interval.n
    (0.5, 3)
    """
    check_level("confidence", confidence)
    data = column("values", values)
    distinct, codes = groups_of("cluster", cluster, len(data))
    if gaps := int(np.isnan(data).sum()):
        raise InputError("values hold NaN", found=f"{gaps} such rows")
    n = len(distinct)
    mean = float(data.mean()) if n else math.nan
    if n < 2:
        return Interval(
            mean, math.nan, math.nan, confidence, "clustered t", n, ("fewer than two clusters",)
        )
    error, freedom = cluster_error(data, codes)
    interval = t_around(mean, error, freedom, confidence=confidence, method="clustered t", n=n)
    flags = ("one cluster has most rows: no interval",) if math.isnan(error) else interval.flags
    return replace(interval, flags=flags)


def groups_of(name: str, values: Any, rows: int) -> tuple[Any, Any]:
    """Return the distinct groups and the group number of each row; raise if a row has none."""
    if np.shape(values) != (rows,):
        raise InputError(
            f"each value has a {name}", found=f"{rows} values, {name}s of shape {np.shape(values)}"
        )
    ids = pl.Series(values, strict=False)
    gaps = ids.null_count() + (int(ids.is_nan().sum()) if ids.dtype.is_float() else 0)
    if gaps:
        raise InputError(f"a row has no {name}", found=f"{gaps} such rows")
    distinct, codes = np.unique(ids.to_numpy(), return_inverse=True)
    return distinct, codes


def cluster_error(values: Floats, codes: Any) -> tuple[float, float]:
    """Return the CR2 standard error of the mean of values, and its degrees of freedom.

    ``codes`` number the cluster of each value from 0; there are two or more. NaN if one cluster has
    more than 80 % of the rows: the others say too little about it.
    """
    total, size = np.bincount(codes, values), np.bincount(codes)
    rows = float(size.sum())
    if size.max() > MOST_ROWS * rows:
        return math.nan, 0.0
    spread = (total - float(total.sum()) / rows * size) ** 2 / (1 - size / rows)
    return math.sqrt(float(spread.sum())) / rows, satterthwaite(size.astype(np.float64))


def of_clusters(pairs: Differences, clusters: UserClusters) -> Differences:
    """Sum the pairs of each cluster, with the number, signs and skewness of the cluster sample."""
    return Differences(clusters.totals(pairs.x), clusters.totals(pairs.y))


def cluster_values(values: Floats, codes: Any) -> Floats:
    r"""Return one value per cluster; their mean is the mean of all rows, their spread its error.

    With sums :math:`a_u`, sizes :math:`m_u`, their mean :math:`\bar m` and the mean :math:`\theta`
    of all rows it is :math:`\theta + (a_u - \theta m_u) / \bar m`: the mean of the cluster, if all
    are of one size.

    >>> cluster_values(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 0, 1])).tolist()
    [0.75, 0.25]
    """
    total, size = np.bincount(codes, values), np.bincount(codes)
    mean = float(values.mean())
    distances: Floats = (total - mean * size) / size.mean()
    return mean + distances


def satterthwaite(size: Floats) -> float:
    r"""Return the degrees of freedom of CR2 for a mean, if the rows of a cluster are all equal.

    With :math:`p = m / M`, :math:`q = m^2`, :math:`Q = \sum q` and :math:`w = 1 / (1 - p)` the
    matrix :math:`K_{uv} = \sqrt{w_u w_v} (\delta_{uv} q_u - q_u p_v - p_u q_v + Q p_u p_v)` gives
    :math:`\operatorname{tr}(K)^2 / \operatorname{tr}(K^2)`; its square has a closed sum.
    """
    share, square = size / size.sum(), size**2
    weight, total = 1 / (1 - share), float(square.sum())
    cross = total * share**2 - 2 * square * share  # the diagonal without q
    trace = float((weight * (square + cross)).sum())
    a, b, c = (float((weight * x).sum()) for x in (square**2, share**2, square * share))
    outer = 2 * a * b + 2 * c**2 + total**2 * b**2 - 4 * total * b * c
    diagonal = float((weight**2 * ((square + cross) ** 2 - cross**2)).sum())
    return max(trace**2 / (outer + diagonal), 1.0)


def finite_population(values: Any, population: int, *, confidence: float = 0.95) -> Interval:
    r"""Return the confidence interval of the mean over N known users, from a sample of n of them.

    The t interval with the finite population correction, :math:`s / \sqrt n \cdot
    \sqrt{1 - n / N}`. It is valid for *these* N users, for example if a sample of all logged users
    was evaluated, and too narrow for future users.

    Parameters
    ----------
    values : array, shape (n,)
        One value per evaluated user.
    population : int
        The number of users N, evaluated or not.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        Its limits are NaN if the values do not vary, unless all N users were evaluated: the mean is
        known then, and both limits are the mean.
    """
    check_level("confidence", confidence)
    check_count(population=population)
    data = column("values", values)
    n = len(data)
    if np.isnan(data).any() or n < 2 or population < n:
        raise InputError(
            "a population holds at least the users who were evaluated, two or more, none NaN",
            found=f"{n} values, {int(np.isnan(data).sum())} NaN, population {population}",
        )
    method, flags = "finite population t", ("valid for these users, not for future ones",)
    mean = float(data.mean())
    if n == population:
        return Interval(mean, mean, mean, confidence, method, n, flags)
    error = float(data.std(ddof=1)) / math.sqrt(n) * math.sqrt(1 - n / population)
    return t_around(mean, error, n - 1, confidence=confidence, method=method, n=n, flags=flags)


def jackknife(estimate: float, replicates: Any, *, confidence: float = 0.95) -> Interval:
    r"""Return the jackknife confidence interval of a metric, from its values without each group.

    .. math:: se^2 = \tfrac{G - 1}{G} \sum_g (\theta_{(g)} - \bar\theta)^2

    for G groups of users, with t quantiles of G − 1 degrees of freedom. It is also valid for
    metrics that are not per-user means, such as coverage or Gini. For these the bias of the
    bootstrap is larger than its interval, because each resample omits 37 % of the users.

    Parameters
    ----------
    estimate : float
        The value over all users.
    replicates : array, shape (G,)
        The value without each group; groups are random and of about equal size.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Interval
        ``n`` is the number of groups. The limits are NaN if the value is the same without any
        group.

    Examples
    --------
    >>> interval = jackknife(2.0, [1.9, 2.0, 2.1, 2.0])
    >>> interval.high - interval.estimate
    0.3898
    """
    check_level("confidence", confidence)
    data = column("replicates", replicates)
    error, g = jackknife_error(data)
    flags = [f"{len(data) - g} groups without which there is no value"] if g < len(data) else []
    flags += ["fewer than two groups"] if g < 2 else []
    return t_around(
        estimate, error, g - 1, confidence=confidence, method="jackknife", n=g, flags=tuple(flags)
    )


def jackknife_error(replicates: Floats) -> tuple[float, int]:
    """Return the jackknife standard error, and the number of groups without which there is a value.

    >>> jackknife_error(np.array([1.9, 2.0, 2.1, 2.0]))
    (0.1225, 4)
    """
    defined = replicates[~np.isnan(replicates)]
    g = len(defined)
    if g < 2:
        return math.nan, g
    return math.sqrt((g - 1) / g * float(((defined - defined.mean()) ** 2).sum())), g


@dataclass(frozen=True, eq=False)
class Friedman:
    """The result of `friedman`: whether systems differ over data sets, and which pairs do.

    Attributes
    ----------
    statistic, p : float
        Friedman's chi-squared and its p-value.
    ranks : array, shape (k,)
        The mean rank of each system; 1 is the largest value.
    pairs : array, shape (k, k)
        Adjusted p-value of each pair by Wilcoxon's signed ranks over data sets.
    critical_difference : float
        Nemenyi's critical difference: mean ranks that are further apart differ at level 0.05. It is
        for critical difference diagrams; unlike ``pairs``, its verdict on two systems depends on
        the other systems.
    """

    statistic: float
    p: float
    ranks: Floats
    pairs: Floats
    critical_difference: float


def friedman(values: Any, *, correction: Correction = "holm") -> Friedman:
    """Test whether k systems differ over N data sets (Friedman), and all pairs (Wilcoxon).

    Values have one row per data set, not per user: over users, compare means by the paired t test.

    Parameters
    ----------
    values : array, shape (N, k)
        One row per data set, one column per system; at least 3 systems.
    correction : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}, default="holm"
        The correction for the number of pairs; see `adjust`.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> test = friedman([[0.3, 0.2, 0.1], [0.5, 0.4, 0.1], [0.6, 0.3, 0.2], [0.4, 0.3, 0.2]])
    >>> test.p, test.ranks.tolist()
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
    statistic, p = (0.0, 1.0) if same else friedmanchisquare(*x.T)
    upper = np.triu_indices(k, 1)
    pairs = np.ones((k, k))
    pairs[upper] = adjust(
        [wilcoxon(x[:, i], x[:, j]).p for i, j in zip(*upper, strict=True)], correction
    )
    pairs.T[upper] = pairs[upper]
    quantile = float(studentized_range.ppf(0.95, k, math.inf)) / math.sqrt(2)
    critical = quantile * math.sqrt(k * (k + 1) / (6 * n))
    return Friedman(float(statistic), never_zero(p), ranks, pairs, critical)


@dataclass(frozen=True)
class Bayesian:
    """Posterior probabilities that one system is better, worse, or practically equivalent.

    Attributes
    ----------
    left, rope, right : float
        The probability that the median of x − y lies below the region of practical equivalence
        (ROPE), in it, or above it.
    draws : int
        Number of posterior draws.
    """

    left: float
    rope: float
    right: float
    draws: int


def bayesian_signed_rank(
    x: Any,
    y: Any = None,
    *,
    rope: float,
    n_draws: int = 50_000,
    seed: int = 0,
    missing: Missing = "error",
) -> Bayesian:
    """Return the Bayesian signed-rank test over data sets (Benavoli et al. 2014), O(n) per draw.

    Each posterior draw gives Dirichlet weights to the differences, and to a pseudo-difference of 0
    with prior weight 0.5. It counts for the region (below, within or above the region of practical
    equivalence) in which the pairwise means of differences have the largest weight.

    Parameters
    ----------
    x : array, shape (n,)
    y : array, shape (n,), optional
        Values of two systems on n data sets.
    rope : float
        Half the width of the region of practical equivalence, 0 or more.
    n_draws : int, default=50000
        Number of posterior draws.
    seed : int, default=0
        Seed of the random numbers.
    missing : {"error", "omit"}, default="error"
        Whether a pair with a NaN raises or is dropped.

    Returns
    -------
    Bayesian

    Examples
    --------
    >>> test = bayesian_signed_rank([0.5, 0.6, 0.4, 0.7], [0.1, 0.3, 0.2, 0.3], rope=0.01)
    >>> test.right > 0.9
    True
    """
    check_positive(n_draws=n_draws)
    check_positive(least=0, seed=seed)
    if not isinstance(rope, int | float | np.number) or not rope >= 0:
        raise ParameterError("rope must be 0 or more", found=parameter("rope", rope))
    pairs = differences(x, y, missing=missing)
    if not pairs.n:
        raise InputError("there are no pairs")
    z = np.concatenate([[0.0], pairs.d])
    order = np.argsort(z, kind="stable")
    z, prior = z[order], np.concatenate([[0.5], np.ones(pairs.n)])[order]
    above = np.searchsorted(z, 2 * rope - z, side="right")
    below = np.searchsorted(z, -2 * rope - z, side="left")
    rng = np.random.default_rng(seed)
    counts = np.zeros(3)
    step = max(1, 2_000_000 // len(z))
    for first in range(0, n_draws, step):
        w = rng.dirichlet(prior, min(step, n_draws - first))
        c = np.concatenate([np.zeros((len(w), 1)), np.cumsum(w, axis=1)], axis=1)
        right = (w * (1 - c[:, above])).sum(axis=1)
        left = (w * c[:, below]).sum(axis=1)
        shares = np.stack([left, 1 - left - right, right], axis=1)
        best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
        counts += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    lower, within, upper = (float(count) / n_draws for count in counts)
    return Bayesian(lower, within, upper, n_draws)


def corrected_resampled_t(
    x: Any, y: Any = None, *, test_share: float, missing: Missing = "error"
) -> TestResult:
    r"""Test whether two means over cross-validation folds differ: the corrected resampled t test.

    .. math:: t = \bar d / \sqrt{s^2 (1 / J + n_{test} / n_{train})}, \quad J - 1
        \text{ degrees of freedom}

    (Nadeau and Bengio 2003). The training parts of folds and repeated holdouts overlap; the plain
    t test treats them as independent, and has too many false positives.

    Parameters
    ----------
    x : array, shape (J,)
    y : array, shape (J,), optional
        One value per fold; without y, x are differences.
    test_share : float
        The share of rows in the test part of a fold: 0.2 for five folds.
    missing : {"error", "omit"}, default="error"
        Whether a pair with a NaN raises or is dropped.

    Returns
    -------
    TestResult

    Examples
    --------
    >>> corrected_resampled_t([0.3, 0.4, 0.35, 0.5, 0.45], [0.2] * 5, test_share=0.2).p
    0.0196
    """
    check_level("test_share", test_share)
    pairs = differences(x, y, missing=missing)
    n, mean, statistic = pairs.n, pairs.mean, math.nan
    if n < 2 or not pairs.deviation:
        p = math.nan if n < 2 else (1.0 if not pairs.nonzero else smallest_p(n))
    else:
        statistic = mean / (pairs.deviation * math.sqrt(1 / n + test_share / (1 - test_share)))
        p = two_sided_t(statistic, n - 1)
    return TestResult("corrected resampled t", mean, statistic, p, n, pairs.flags)


def mann_whitney(x: Any, y: Any, *, same_users: Literal[False]) -> TestResult:
    """Test whether two separate groups of users have the same distribution (Mann-Whitney U).

    Parameters
    ----------
    x, y : array, shapes (n,) and (m,)
        One value per user of each group, as in an A/B test.
    same_users : False
        Required, as a reminder: values of two systems for the same users are pairs, for which
        `paired_t` and `sign_flip` are valid.

    Returns
    -------
    TestResult
    """
    from scipy.stats import mannwhitneyu

    _check_separate("Mann-Whitney", same_users)
    first, second = _group("x", x), _group("y", y)
    test = mannwhitneyu(first, second)
    difference = float(first.mean() - second.mean())
    n = len(first) + len(second)
    return TestResult("Mann-Whitney", difference, float(test.statistic), never_zero(test.pvalue), n)


def kruskal_wallis(*groups: Any, same_users: Literal[False]) -> TestResult:
    """Test whether separate groups of users have the same distribution (Kruskal-Wallis H).

    Parameters
    ----------
    *groups : array
        One value per user of each group.
    same_users : False
        Required, as for `mann_whitney`.

    Returns
    -------
    TestResult
    """
    from scipy.stats import kruskal

    _check_separate("Kruskal-Wallis", same_users)
    samples = [_group(f"group {i}", group) for i, group in enumerate(groups)]
    if len(samples) < 2:
        raise InputError("groups are at least two", found=str(len(samples)))
    n = sum(map(len, samples))
    if len(np.unique(np.concatenate(samples))) == 1:
        return TestResult("Kruskal-Wallis", 0.0, 0.0, 1.0, n, ("identical",))
    test = kruskal(*samples)
    means = [float(sample.mean()) for sample in samples]
    return TestResult(
        "Kruskal-Wallis", max(means) - min(means), float(test.statistic), never_zero(test.pvalue), n
    )


def _check_separate(test: str, same_users: object) -> None:
    if same_users is not False:
        raise ParameterError(
            f"{test} is for separate groups of users",
            found="systems evaluated on the same users",
            hint="values of the same users are pairs, and vary together: use paired_t or "
            f"sign_flip; for an A/B test with separate users say {parameter('same_users', False)}",
        )


def _group(name: str, values: Any) -> Floats:
    """Return a group's values as an array; raise if the group is empty or holds NaN."""
    data = column(name, values)
    if not len(data) or np.isnan(data).any():
        raise InputError(f"{name} is empty or holds NaN", found=f"{len(data)} values")
    return data
