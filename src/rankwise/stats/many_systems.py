"""Many systems at once: all pairs, ranks with intervals, and corrections for multiple testing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import (
    LEAST,
    MANY,
    Floats,
    check_level,
    numbers,
    paired_differences,
    significant_digits,
)
from rankwise.stats.paired_tests import smallest_p, sums

TukeyMethod: TypeAlias = Literal["randomised", "blocked"]
_NEAR = 1e-6  # relative to the variances: below, cancellation spoils the Gram matrix


@dataclass(frozen=True, eq=False)
class PairTests:
    """Paired t tests of all pairs of systems, as matrices of shape (k, k): row minus column.

    Attributes
    ----------
    difference, error, t, p : array, shape (k, k)
        Mean difference, its standard error, t, and p (1 if two systems agree for every user).
    users : array, shape (k, k)
        Number of users with a value in both.
    """

    difference: Floats
    error: Floats
    t: Floats
    p: Floats
    users: Floats


def paired_t_of_all(values: Any) -> PairTests:
    """Test every pair of systems by the paired t test, at the cost of one matrix product.

    P-values are not corrected for the number of pairs; see `adjust`, `max_t` and `tukey`.

    Parameters
    ----------
    values : array, shape (n, k)
        One row per user, one column per system. NaN marks a missing value; each pair is tested on
        the users who have both values.

    Returns
    -------
    PairTests

    Examples
    --------
    >>> tests = paired_t_of_all([[0.5, 0.0], [0.25, 0.0], [1.0, 0.5]])
    >>> float(tests.p[0, 1])
    0.0377
    """
    from scipy.special import stdtr

    x = _table(values)
    gaps = np.isnan(x)
    if gaps.any():
        means, squares, n, near = _with_gaps(x, gaps)
    else:
        n = np.full((x.shape[1],) * 2, float(len(x)))
        centre = x.mean(axis=0)
        centred = x - centre
        gram = centred.T @ centred
        diagonal = np.diagonal(gram)
        squares = diagonal[:, None] + diagonal[None, :] - 2 * gram
        means = centre[:, None] - centre[None, :]
        near = squares <= _NEAR * (diagonal[:, None] + diagonal[None, :])
    _recompute(x, gaps, near, means, squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.maximum(squares, 0) / (n - 1) / n)
        statistic = np.where(means == 0, 0.0, means / error)
        p = np.maximum(2 * stdtr(n - 1, -np.abs(statistic)), LEAST)
    constant = (error == 0) & (means != 0)
    p[constant] = np.maximum(p[constant], [smallest_p(int(users)) for users in n[constant]])
    p[(error == 0) & (means == 0)] = 1.0
    few = n < 2
    for matrix in (error, statistic, p):
        matrix[few] = np.nan
    return PairTests(means, error, statistic, p, n)


def _recompute(x: Floats, gaps: Any, near: Any, means: Floats, squares: Floats) -> None:
    """Compute nearly equal systems from their differences, as the Gram matrix cancels digits."""
    for i, j in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        both = ~gaps[:, i] & ~gaps[:, j]
        first, second = x[both, i], x[both, j]
        d = paired_differences(first, second)
        mean = float(d.mean())
        square = float(((d - mean) ** 2).sum())
        square = 0.0 if square <= 1e-24 * float((d**2).sum()) else square
        means[i, j], means[j, i] = mean, -mean
        squares[i, j] = squares[j, i] = square
    np.fill_diagonal(squares, 0.0)


def _with_gaps(x: Floats, gaps: Any) -> tuple[Floats, Floats, Floats, Any]:
    """Return means and centred sums of squares of the differences, users, and nearly equal pairs.

    Each pair of systems rests on the users who have both values.
    """
    present = (~gaps).astype(np.float64)
    centre = np.nan_to_num(np.nanmean(np.where(gaps.all(axis=0), 0.0, x), axis=0))
    filled = np.where(gaps, 0.0, x - centre)
    n = present.T @ present
    total = filled.T @ present  # of column i over the users who have both
    square = (filled**2).T @ present
    cross = filled.T @ filled
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = (total - total.T) / n
        squares = square + square.T - 2 * cross - n * shift**2
    means = shift + centre[:, None] - centre[None, :]
    near = (squares <= _NEAR * (square + square.T)) & (n > 1)
    return means, squares, n, near


def max_t(
    differences: Any, *, n_resamples: int = 10_000, seed: int = 0, threads: int | None = None
) -> Floats:
    """Return p-values adjusted for all tests together by sign flips: the max-T procedure.

    The single-step procedure of Westfall and Young (1993), which controls the family-wise error
    rate. All columns share the same signs, so that the dependence of the tests is taken into
    account; p = (1 + number of resamples whose largest ``|t*|`` is at least ``|t|``) /
    (1 + resamples).

    Parameters
    ----------
    differences : array, shape (n, m)
        Differences of n users in m comparisons, without NaN.
    n_resamples, seed, threads : int, default=10000, 0, None
        As for `sign_flip`.

    Returns
    -------
    array, shape (m,)
        Adjusted p-values; 1 for a column of zeros.

    Examples
    --------
    >>> d = np.random.default_rng(0).normal([0.0, 1.0], 1.0, (100, 2))
    >>> p = max_t(d, n_resamples=999)
    >>> bool(p[1] == 0.001), bool(p[0] > 0.05)
    (True, True)
    """
    d = _table(differences)
    check_positive(n_resamples=n_resamples)
    if np.isnan(d).any():
        raise InputError("max-T needs a value of every user in every comparison", found="NaN")
    scale = np.sqrt((d**2).sum(axis=0))  # the same under all signs
    nonzero = scale > 0
    observed = np.zeros(d.shape[1])
    observed[nonzero] = np.abs(d[:, nonzero].sum(axis=0)) / scale[nonzero]
    counts = np.zeros(d.shape[1])
    for panel in sums(d, n_resamples, kind="signs", seed=seed, threads=threads):
        largest = (np.abs(panel[:, nonzero]) / scale[nonzero]).max(axis=1, initial=0.0)
        counts += (largest[:, None] >= observed - 1e-9).sum(axis=0)
    p: Floats = (1 + counts) / (1 + n_resamples)
    p[~nonzero] = 1.0
    return p


def sign_flip_of_all(
    values: Any,
    *,
    family: bool = False,
    n_resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    batch: int | None = None,
) -> Floats:
    """Return sign-flip p-values of every pair of systems, for one metric or several.

    All pairs share the same random signs: flipping the signs of a user's values flips those of all
    differences, so one matrix product of signs and values serves all pairs.

    Parameters
    ----------
    values : array, shape (n, k) or (n, m, k)
        n users, m metrics and k systems; without NaN.
    family : bool, default=False
        Adjust for all pairs of a metric together, by the largest ``|t|`` of every resample (max-T).
    n_resamples, seed, threads, batch : int, default=1000, 0, None, None
        As for `bootstrap_means`.

    Returns
    -------
    array, shape (k, k) or (m, k, k)
        p = (1 + number at least as extreme) / (1 + resamples); 1 if two systems agree.

    Examples
    --------
    >>> values = np.random.default_rng(0).random((50, 2)) + [0.0, 1.0]
    >>> float(sign_flip_of_all(values, n_resamples=99)[0, 1])
    0.01
    """
    x = numbers("values", values)
    if x.ndim not in (2, 3) or not x.size or not np.isfinite(x).all():
        raise InputError(
            "values have one row per user, one column per system, and no NaN",
            found=f"shape {x.shape}",
        )
    check_positive(n_resamples=n_resamples)
    cube = x[:, None, :] if x.ndim == 2 else x
    n, m, k = cube.shape
    i, j = np.triu_indices(k, 1)
    total = cube.sum(axis=0)
    observed = np.abs(total[:, i] - total[:, j])
    products = np.einsum("nmk,nml->mkl", cube, cube)
    squares = np.diagonal(products, axis1=1, axis2=2)
    scale = np.sqrt(np.maximum(squares[:, i] + squares[:, j] - 2 * products[:, i, j], 0))
    equal = scale <= 1e-9 * np.sqrt(squares[:, i] + squares[:, j])  # up to rounding errors
    unit = np.where(equal, np.inf, scale) if family else np.ones_like(scale)
    limit = (observed - 1e-12 * np.abs(cube).sum(axis=0).max(axis=1)[:, None]) / unit
    counts = np.zeros(observed.shape)
    for panel in sums(
        cube.reshape(n, m * k), n_resamples, kind="signs", seed=seed, threads=threads, batch=batch
    ):
        for metric in range(m):
            drawn = panel[:, metric * k : (metric + 1) * k]
            statistic = np.abs(drawn[:, i] - drawn[:, j]) / unit[metric]
            if family:
                statistic = statistic.max(axis=1, keepdims=True)
            counts[metric] += (statistic >= limit[metric]).sum(axis=0)
    same = equal & (observed <= 1e-9 * squares[:, i].max(initial=1.0))
    p = np.ones((m, k, k))
    p[:, i, j] = p[:, j, i] = np.where(same, 1.0, (1 + counts) / (1 + n_resamples))
    return p[0] if x.ndim == 2 else p


def tukey(values: Any, *, method: TukeyMethod = "randomised") -> Floats:
    r"""Return p-values of all pairs of systems by Tukey's HSD test, with users as blocks.

    .. math:: p_{ij} = P(q_{k, \nu} \ge |\bar x_i - \bar x_j| / \sqrt{s^2 / n})

    ``"randomised"`` is the limit for many users of permuting the systems within each user
    (Carterette 2012, Sakai 2018): :math:`s^2` is the mean over users of the variance among systems,
    and :math:`\nu = \infty`. It assumes equal variances of the systems, and has too many false
    positives if all systems but one are nearly the same: then use `max_t`. ``"blocked"`` is the
    two-way analysis of variance: :math:`s^2` is its residual mean square, and
    :math:`\nu = (n - 1)(k - 1)`, under the same assumption. SciPy's ``tukey_hsd`` is for
    independent groups, not for systems evaluated on the same users.

    Parameters
    ----------
    values : array, shape (n, k)
        One row per user, one column per system, without NaN.
    method : {"randomised", "blocked"}, default="randomised"
        The variance to use.

    Returns
    -------
    array, shape (k, k)
        P-values adjusted for all pairs; 1 on the diagonal.
    """
    from scipy.stats import studentized_range

    check_choice("method", method, TukeyMethod)
    x = _table(values)
    n, k = x.shape
    if np.isnan(x).any() or n < 2 or k < 2:
        raise InputError(
            "Tukey's test needs a value of every user for every system",
            found=f"{n} users, {k} systems, {int(np.isnan(x).sum())} NaN",
        )
    means = x.mean(axis=0)
    if method == "randomised":
        variance, freedom = float(x.var(axis=1, ddof=1).mean()), math.inf
    else:
        residual = x - x.mean(axis=1, keepdims=True) - means + x.mean()
        freedom = float((n - 1) * (k - 1))
        variance = float((residual**2).sum()) / freedom
    upper = np.triu_indices(k, 1)
    differences = np.abs(means[:, None] - means[None, :])[upper]
    p = np.ones((k, k))
    if variance <= 0:
        p[upper] = np.where(differences > 0, smallest_p(n), 1.0)
    else:
        q = differences / math.sqrt(variance / n)
        p[upper] = np.clip(studentized_range.sf(q, k, freedom), LEAST, 1.0)
    p.T[upper] = p[upper]
    return p


def tukey_width(values: Any, confidence: float) -> float:
    """Return the half-width of the intervals that `tukey` inverts, the same for all pairs."""
    from scipy.stats import studentized_range

    x = _table(values)
    n, k = x.shape
    variance = float(x.var(axis=1, ddof=1).mean())
    return float(studentized_range.ppf(confidence, k, math.inf)) * math.sqrt(variance / n)


def _table(values: Any) -> Floats:
    """Return values as an array of floats, shape (n, k), NaN allowed; raise otherwise."""
    x = numbers("values", values)
    if x.ndim != 2 or not x.size:
        raise InputError(
            "values have one row per user, one column per system", found=f"shape {x.shape}"
        )
    if np.isinf(x).any():
        raise InputError("a value is infinite")
    return x


Correction: TypeAlias = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]


def adjust(p: Any, method: Correction = "holm") -> Floats:
    r"""Return p-values adjusted for multiple testing, to be compared with alpha itself.

    With m tests, and p sorted in ascending order:

    * bonferroni: :math:`m p`
    * holm: the running maximum of :math:`(m - j + 1) p_{(j)}` (step-down)
    * hochberg: the running minimum of the same from the largest (step-up)
    * bh (Benjamini and Hochberg): the running minimum of :math:`m p_{(j)} / j` from the largest
    * by (Benjamini and Yekutieli): bh times :math:`\sum_{j \le m} 1 / j`

    Bonferroni and Holm control the family-wise error rate under any dependence, Hochberg only if
    the tests are independent or positively dependent. ``"bh"`` controls the false discovery rate
    under that same condition, ``"by"`` under any dependence.

    Parameters
    ----------
    p : array, any shape
        P-values. NaN marks a test that could not be made: it stays NaN, and is not counted in m.
    method : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}, default="holm"
        The correction.

    Returns
    -------
    array, shape of p

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    check_choice("method", method, Correction)
    values = numbers("p", p)
    out = values.copy()
    defined = ~np.isnan(values)
    family = values[defined]
    outside = (family < 0) | (family > 1)
    if outside.any():
        raise InputError("a p-value lies between 0 and 1", found=str(family[outside][0]))
    if not len(family) or method == "none":
        return out
    m = len(family)
    order = np.argsort(family, kind="stable")
    rank = np.arange(1, m + 1)
    ordered = family[order]
    if method == "bonferroni":
        adjusted = ordered * m
    elif method == "holm":
        adjusted = np.maximum.accumulate(ordered * (m - rank + 1))
    else:
        factor = (1 / rank).sum() if method == "by" else 1.0
        bounds = ordered * (m - rank + 1) if method == "hochberg" else ordered * m / rank * factor
        adjusted = np.minimum.accumulate(bounds[::-1])[::-1]
    family[order] = np.minimum(adjusted, 1.0)  # back in the order of the tests
    out[defined] = family
    return out


def level_left(p: Any, method: Correction, alpha: float) -> float:
    r"""Return the level left to each test: p is below this level if the adjusted p is below alpha.

    It is the level of an interval that agrees with the corrected test. With m tests, of which R are
    significant after correction (at least 1 counts):

    * none: :math:`\alpha`; bonferroni: :math:`\alpha / m`
    * holm, hochberg: :math:`\alpha / (m - R + 1)`, that of the last step that rejects
    * bh: :math:`R \alpha / m`, for which intervals of the significant tests keep the false coverage
      rate (Benjamini & Yekutieli 2005, JASA 100); by: the same over :math:`\sum_{j \le m} 1 / j`

    Examples
    --------
    >>> level_left([0.01, 0.02, 0.4], "holm", 0.05), level_left([0.01, 0.02, 0.4], "bonferroni", 0.05)
    (0.025, 0.0167)
    """
    adjusted = adjust(p, method)
    m = int(np.count_nonzero(~np.isnan(adjusted)))
    rejected = max(int(np.count_nonzero(adjusted < alpha)), 1)
    if not m or method == "none":
        return float(alpha)
    if method == "bonferroni":
        return float(alpha) / m
    if method in ("holm", "hochberg"):
        return float(alpha) / (m - rejected + 1)
    share = 1.0 if method == "bh" else float((1 / np.arange(1, m + 1)).sum())
    return float(alpha) * rejected / m / share


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
        """Mask of the systems that may be the best: no system is shown to be better."""
        return self.low == 1


def rank_systems(
    values: Any,
    *,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
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
    >>> ranks = rank_systems(values)
    >>> ranks.low.tolist(), ranks.high.tolist(), ranks.may_be_best.tolist()
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


def max_t_quantile(
    differences: Floats, *, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> float:
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
        raise InputError(
            "max-T needs a number for two users or more, in every comparison",
            found=f"shape {d.shape}",
        )
    error = d.std(axis=0, ddof=1) / math.sqrt(len(d))
    largest = np.concatenate(
        [np.abs(_t(means, error, len(d))).max(axis=1) for means in _draws(d, n_resamples, seed)]
    )
    return quantile_of_draws(np.sort(largest), confidence)


def quantile_of_draws(draws: Floats, confidence: float) -> float:
    """Return the quantile of ascending draws at rank ⌈confidence · (n + 1)⌉, or the largest draw.

    The value of the sample counts as one more draw, so that a test at this limit keeps its level.

    >>> quantile_of_draws(np.arange(1.0, 20.0), 0.95)
    19.0
    """
    n = len(draws)
    return float(draws[min(math.ceil(confidence * (n + 1)), n) - 1])
