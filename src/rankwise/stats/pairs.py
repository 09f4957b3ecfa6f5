"""All pairs of many systems at once: paired t by one Gram matrix, max-T, Tukey."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import LEAST, numbers
from rankwise.stats.paired import smallest_p
from rankwise.stats.resampling import sums

if TYPE_CHECKING:
    from rankwise.stats.differences import Floats

__all__ = ["PairTests", "TukeyMethod", "max_t", "paired_t_of_all", "sign_flip_of_all", "tukey"]

TukeyMethod: TypeAlias = Literal["randomised", "blocked"]
_NEAR = 1e-6  # of the variances: where less is left, the difference is worked out itself


@dataclass(frozen=True, eq=False)
class PairTests:
    """Paired t tests of all pairs of systems, each a matrix of shape (k, k): row less column.

    Attributes
    ----------
    difference, error, t, p : array, shape (k, k)
        Mean difference, its standard error, t, and p (1 where all pairs agree).
    users : array, shape (k, k)
        Users with a value in both.
    """

    difference: Floats
    error: Floats
    t: Floats
    p: Floats
    users: Floats


def paired_t_of_all(values: Any) -> PairTests:
    """Test every pair of systems by the paired t test, at the cost of one matrix product.

    Parameters
    ----------
    values : array, shape (n, k)
        A row a user, a column a system. NaN: no value; each pair then rests on the users who have
        both.

    Examples
    --------
    >>> found = paired_t_of_all([[0.5, 0.0], [0.25, 0.0], [1.0, 0.5]])
    >>> float(found.p[0, 1])
    0.0377
    """
    from scipy.stats import t

    x = _table(values)
    gaps = np.isnan(x)
    if gaps.any():
        means, squares, n = _with_gaps(x, gaps)
    else:
        n = np.full((x.shape[1],) * 2, float(len(x)))
        centre = x.mean(axis=0)
        centred = x - centre
        gram = centred.T @ centred
        own = np.diagonal(gram)
        squares = own[:, None] + own[None, :] - 2 * gram
        means = centre[:, None] - centre[None, :]
        near = squares <= _NEAR * (own[:, None] + own[None, :])
        _recompute(x, near, means, squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.maximum(squares, 0) / (n - 1) / n)
        statistic = np.where(means == 0, 0.0, means / error)
        p = np.maximum(2 * t.sf(np.abs(statistic), n - 1), LEAST)
    constant = (error == 0) & (means != 0)
    p[constant] = np.maximum(p[constant], [smallest_p(int(own)) for own in n[constant]])
    p[(error == 0) & (means == 0)] = 1.0
    few = n < 2
    for matrix in (error, statistic, p):
        matrix[few] = np.nan
    return PairTests(means, error, statistic, p, n)


def _recompute(x: Floats, near: Any, means: Floats, squares: Floats) -> None:
    """Work out nearly equal systems by their differences, which Gram's subtraction would lose."""
    for i, j in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        d = x[:, i] - x[:, j]
        scale = np.maximum(np.abs(x[:, i]), np.abs(x[:, j]))
        d[np.abs(d) <= 1e-12 * scale] = 0.0
        mean = float(d.mean())
        square = float(((d - mean) ** 2).sum())
        square = 0.0 if square <= 1e-24 * float((d**2).sum()) else square
        means[i, j], means[j, i] = mean, -mean
        squares[i, j] = squares[j, i] = square
    np.fill_diagonal(squares, 0.0)


def _with_gaps(x: Floats, gaps: Any) -> tuple[Floats, Floats, Floats]:
    """Return means and centred sums of squares of the differences, pair by pair."""
    there = (~gaps).astype(np.float64)
    centre = np.nan_to_num(np.nanmean(np.where(gaps.all(axis=0), 0.0, x), axis=0))
    filled = np.where(gaps, 0.0, x - centre)
    n = there.T @ there
    first = filled.T @ there  # of column i over the users who have both
    square = (filled**2).T @ there
    cross = filled.T @ filled
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = (first - first.T) / n
        squares = square + square.T - 2 * cross - n * shift**2
    means = shift + centre[:, None] - centre[None, :]
    near = (squares <= _NEAR * (square + square.T)) & (n > 1)
    for i, j in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        both = ~gaps[:, i] & ~gaps[:, j]
        own_means, own_squares = np.zeros((2, 2)), np.zeros((2, 2))
        _recompute(x[both][:, [i, j]], np.ones((2, 2), dtype=bool), own_means, own_squares)
        means[i, j], means[j, i] = own_means[0, 1], own_means[1, 0]
        squares[i, j] = squares[j, i] = own_squares[0, 1]
    np.fill_diagonal(squares, 0.0)
    return means, squares, n


def max_t(
    differences: Any,
    *,
    n_resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> Floats:
    """Return p-values adjusted for all tests together, by the largest of all sign-flipped t.

    The single-step procedure of Westfall and Young (1993): the same signs for all columns, so that
    what depends on one another counts once; p = (1 + number of draws whose largest |t*| is at
    least |t|) / (1 + resamples). It keeps the chance of any false finding at the level.

    Parameters
    ----------
    differences : array, shape (n, m)
        Differences of n users in m comparisons, without NaN.
    n_resamples, seed, threads
        As for `rankwise.stats.sign_flip`.

    Returns
    -------
    array, shape (m,)
        Adjusted p; 1 for a column of zeros.

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
    scale = np.sqrt((d**2).sum(axis=0))  # the same under every sign
    used = scale > 0
    own = np.zeros(d.shape[1])
    own[used] = np.abs(d[:, used].sum(axis=0)) / scale[used]
    counts = np.zeros(d.shape[1])
    for panel in sums(d, n_resamples, kind="signs", seed=seed, threads=threads):
        largest = (np.abs(panel[:, used]) / scale[used]).max(axis=1, initial=0.0)
        counts += (largest[:, None] >= own - 1e-9).sum(axis=0)
    p: Floats = (1 + counts) / (1 + n_resamples)
    p[~used] = 1.0
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
    """Test every pair of systems, for many measures, by the same random signs: one product.

    Flipping the sign of every user's values flips that of every difference, so one product of signs
    and values serves all pairs of columns.

    Parameters
    ----------
    values : array, shape (n, k) or (n, m, k)
        A row a user, a column a system; in between, measures. No NaN.
    family : bool
        Adjust for all pairs of a measure together, by the largest t of every draw (max-T).
    n_resamples, seed, threads, batch
        As for `rankwise.stats.resampling.sums`.

    Returns
    -------
    array, shape (k, k) or (m, k, k)
        p = (1 + number at least as far out) / (1 + resamples); 1 where two systems agree.

    Examples
    --------
    >>> values = np.random.default_rng(0).random((50, 2)) + [0.0, 1.0]
    >>> float(sign_flip_of_all(values, n_resamples=99)[0, 1])
    0.01
    """
    x = numbers("values", values)
    if x.ndim not in (2, 3) or not x.size or not np.isfinite(x).all():
        raise InputError("values have a row a user, a column a system, and no NaN",
                         found=f"shape {x.shape}")  # fmt: skip
    check_positive(n_resamples=n_resamples)
    cube = x[:, None, :] if x.ndim == 2 else x
    n, m, k = cube.shape
    i, j = np.triu_indices(k, 1)
    total = cube.sum(axis=0)
    apart = np.abs(total[:, i] - total[:, j])
    squares = np.einsum("nmk,nml->mkl", cube, cube)
    own = np.diagonal(squares, axis1=1, axis2=2)
    scale = np.sqrt(np.maximum(own[:, i] + own[:, j] - 2 * squares[:, i, j], 0))
    alike = scale <= 1e-9 * np.sqrt(own[:, i] + own[:, j])  # of which rounding is all
    limit = apart - 1e-12 * np.abs(cube).sum(axis=0).max(axis=1)[:, None]
    unit = np.where(alike, np.inf, scale) if family else 1.0
    counts = np.zeros(apart.shape)
    for panel in sums(cube.reshape(n, m * k), n_resamples, kind="signs", seed=seed,
                      threads=threads, batch=batch):  # fmt: skip
        for at in range(m):
            drawn = panel[:, at * k : (at + 1) * k]
            far = np.abs(drawn[:, i] - drawn[:, j])
            if family:
                far = np.broadcast_to((far / unit[at]).max(axis=1, keepdims=True), far.shape)  # type: ignore[index]
                counts[at] += (far >= limit[at] / unit[at]).sum(axis=0)  # type: ignore[index]
            else:
                counts[at] += (far >= limit[at]).sum(axis=0)
    p = np.ones((m, k, k))
    found = np.where(alike & (apart <= 1e-9 * own[:, i].max(initial=1.0)), 1.0,
                     (1 + counts) / (1 + n_resamples))  # fmt: skip
    p[:, i, j] = p[:, j, i] = found
    return p[0] if x.ndim == 2 else p


def tukey(values: Any, *, method: TukeyMethod = "randomised") -> Floats:
    r"""Return p-values of all pairs of systems, adjusted for all pairs: Tukey's HSD for blocks.

    .. math:: p_{ij} = P(q_{k, \nu} \ge |\bar x_i - \bar x_j| / \sqrt{s^2 / n})

    ``randomised``: the limit for many users of permuting the systems inside each user (Carterette
    2012, Sakai 2018): :math:`s^2` is the mean over users of the variance among systems, and
    :math:`\nu = \infty`. It assumes that systems vary alike, and finds too much where most of
    them are nearly the same and one is not: then use `max_t`. ``blocked``: the two-way analysis of
    variance, :math:`s^2` its residual mean square, :math:`\nu = (n - 1)(k - 1)`, under the same
    assumption. SciPy's ``tukey_hsd`` is for independent groups, and not for systems on the same
    users.

    Parameters
    ----------
    values : array, shape (n, k)
        A row a user, a column a system, without NaN.
    method : {"randomised", "blocked"}
        Which variance.

    Returns
    -------
    array, shape (k, k)
        Adjusted p; 1 on the diagonal.
    """
    from scipy.stats import studentized_range

    check_choice("method", method, TukeyMethod)
    x = _table(values)
    n, k = x.shape
    if np.isnan(x).any() or n < 2 or k < 2:
        raise InputError("Tukey's test needs a value of every user for every system",
                         found=f"{n} users, {k} systems, {int(np.isnan(x).sum())} NaN")  # fmt: skip
    means = x.mean(axis=0)
    if method == "randomised":
        spread, freedom = float(x.var(axis=1, ddof=1).mean()), math.inf
    else:
        rest = x - x.mean(axis=1, keepdims=True) - means + x.mean()
        freedom = float((n - 1) * (k - 1))
        spread = float((rest**2).sum()) / freedom
    apart = np.abs(means[:, None] - means[None, :])
    p = np.ones((k, k))
    upper = np.triu_indices(k, 1)
    if spread <= 0:
        p[upper] = np.where(apart[upper] > 0, smallest_p(n), 1.0)
    else:
        q = apart[upper] / math.sqrt(spread / n)
        p[upper] = np.clip(studentized_range.sf(q, k, freedom), LEAST, 1.0)
    p.T[upper] = p[upper]
    return p


def _table(values: Any) -> Floats:
    x = numbers("values", values)
    if x.ndim != 2 or not x.size:
        raise InputError("values have a row a user, a column a system", found=f"shape {x.shape}")
    if np.isinf(x).any():
        raise InputError("a value is infinite")
    return x
