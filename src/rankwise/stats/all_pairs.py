"""All pairs of many systems at once: paired t by one Gram matrix, max-T, Tukey."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import LEAST, Floats
from rankwise.stats.moments import paired_differences
from rankwise.stats.paired import smallest_p
from rankwise.stats.resampling import sums
from rankwise.stats.values import numbers

__all__ = ["PairTests", "TukeyMethod", "max_t", "paired_t_of_all", "sign_flip_of_all", "tukey"]

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
    from scipy.stats import t

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
        p = np.maximum(2 * t.sf(np.abs(statistic), n - 1), LEAST)
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


def max_t(differences: Any, *, n_resamples: int = 10_000, seed: int = 0, threads: int | None = None) -> Floats:
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
        raise InputError("values have one row per user, one column per system, and no NaN", found=f"shape {x.shape}")
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
    for panel in sums(cube.reshape(n, m * k), n_resamples, kind="signs", seed=seed, threads=threads, batch=batch):
        for measure in range(m):
            drawn = panel[:, measure * k : (measure + 1) * k]
            statistic = np.abs(drawn[:, i] - drawn[:, j]) / unit[measure]
            if family:
                statistic = statistic.max(axis=1, keepdims=True)
            counts[measure] += (statistic >= limit[measure]).sum(axis=0)
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


def _table(values: Any) -> Floats:
    """Return values as an array of floats, shape (n, k), NaN allowed; raise otherwise."""
    x = numbers("values", values)
    if x.ndim != 2 or not x.size:
        raise InputError("values have one row per user, one column per system", found=f"shape {x.shape}")
    if np.isinf(x).any():
        raise InputError("a value is infinite")
    return x
