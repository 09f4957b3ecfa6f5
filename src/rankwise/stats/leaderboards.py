r"""Ranks of systems on a board of tasks: which of them are ties.

Each task gives each system one number. For a pair with the differences d over the tasks
:math:`z = \sum d / \sqrt{\sum d^2}`, and all pairs share random signs of the tasks,
:math:`z^* = \sum s d / \sqrt{\sum d^2}`: under the hypothesis that a difference is as often positive
as negative, in the same sizes, the test is exact for any number of tasks. The p-value of a pair is
the share of signs whose largest :math:`z^*` over this and all less decided pairs reaches z
(step-down of Westfall & Young 1993), so that all claims hold together.

Raw differences are flipped, not deviations from their means: with few tasks these are too liberal
for ranks within tasks, and blind where a pair has no variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.arguments import check_count, check_positive
from rankwise.errors import InputError
from rankwise.stats.differences import Floats, check_level, numbers, significant_digits
from rankwise.stats.many_systems import SystemRanks, ranks_of

_SLACK = 1e-9  # of z: equal up to rounding is equal


def borda(values: Any) -> Floats:
    """Return the share of the other systems that each system beats on each task; ties count half.

    Parameters
    ----------
    values : array, shape (T, k)
        One row per task, one column per system; large values are good.

    Returns
    -------
    numpy.ndarray, shape (T, k)

    Examples
    --------
    >>> borda([[0.9, 0.2, 0.2], [0.1, 0.5, 0.3]]).tolist()
    [[1.0, 0.25, 0.25], [0.0, 1.0, 0.5]]
    """
    board = np.vstack([significant_digits(row) for row in _board(values)])
    k = board.shape[1]
    points = np.zeros(board.shape)
    for column in range(k):
        other = board[:, column, None]
        points += (board > other) + 0.5 * (board == other)
    shares: Floats = (points - 0.5) / (k - 1)
    return shares


def rank_on_tasks(
    values: Any, *, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> SystemRanks:
    """Return the ranks of systems by their means over tasks, with simultaneous intervals.

    Parameters
    ----------
    values : array, shape (T, k)
        One row per task, one column per system; large values are good.
    confidence : float, default=0.95
        The confidence level of all intervals together.
    n_resamples : int, default=10_000
        Number of draws of the signs; all of them where there are fewer.
    seed : int, default=0
        Random seed.

    Returns
    -------
    SystemRanks

    Raises
    ------
    InputError
        With fewer than two tasks or systems, or values that are missing or infinite.

    Examples
    --------
    >>> board = [[0.9, 0.6, 0.1], [0.7, 0.5, 0.2], [0.8, 0.4, 0.3]] * 3
    >>> ranks = rank_on_tasks(board)
    >>> ranks.rank.tolist(), ranks.low.tolist(), ranks.high.tolist()
    ([1, 2, 3], [1, 2, 3], [1, 2, 3])
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    check_count(least=0, seed=seed)
    board = _board(values)
    if len(board) < 2:
        raise InputError("ranks over tasks need two tasks or more", found=f"{len(board)}")
    tasks, is_exact = len(board), 2 ** len(board) <= n_resamples
    signs = _all_signs(tasks) if is_exact else _random_signs(tasks, n_resamples, seed)
    apart = board[:, :, None] - board[:, None, :]
    size = np.sqrt((apart**2).sum(axis=0))
    p = step_down(board.sum(axis=0), size, signs @ board, is_exact=is_exact)
    return ranks_of(p, board.mean(axis=0), confidence=confidence)


def rank_by_covariance(
    means: Any,
    covariance: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SystemRanks:
    """Return the ranks of systems by means whose covariance is known, from normal draws.

    Parameters
    ----------
    means : array, shape (k,)
        The mean of each system; large means are good.
    covariance : array, shape (k, k)
        The covariance matrix of the means.
    confidence, n_resamples, seed
        As for `rank_on_tasks`.

    Returns
    -------
    SystemRanks

    Examples
    --------
    >>> rank_by_covariance([0.5, 0.4, 0.1], 0.0001 * np.eye(3)).low.tolist()
    [1, 2, 3]
    """
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples)
    check_count(least=0, seed=seed)
    centre, spread = numbers("means", means), numbers("covariance", covariance)
    if centre.ndim != 1 or spread.shape != (len(centre), len(centre)) or len(centre) < 2:
        raise InputError(
            "covariance has one row and column per mean, of two systems or more",
            found=f"{centre.shape} and {spread.shape}",
        )
    if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
        raise InputError("means and covariance hold NaN or infinite values")
    variances, axes = np.linalg.eigh(spread)
    scaled = axes * np.sqrt(np.maximum(variances, 0.0))
    draws = np.random.default_rng(seed).standard_normal((n_resamples, len(centre))) @ scaled.T
    diagonal = np.diag(spread)
    size = np.sqrt(np.maximum(diagonal[:, None] + diagonal[None, :] - 2 * spread, 0.0))
    p = step_down(centre, size, draws, is_exact=False)
    return ranks_of(p, centre, confidence=confidence)


def step_down(totals: Floats, size: Floats, draws: Floats, *, is_exact: bool) -> Floats:
    """Return adjusted p-values of "row better than column", shape (k, k), 1 on the diagonal.

    Parameters
    ----------
    totals : array, shape (k,)
        What is compared; the difference of two in units of ``size`` is z.
    size : array, shape (k, k)
        The unit of each pair; a pair whose unit is 0 never differs.
    draws : array, shape (n, k)
        The totals as they are drawn under the hypothesis.
    is_exact : bool
        Whether these are all draws that there are.
    """
    k = len(totals)
    rows, columns = np.nonzero(~np.eye(k, dtype=bool))
    unit = size[rows, columns]
    gaps = totals[rows] - totals[columns]
    z = np.where(unit > _SLACK * np.abs(totals).max(initial=0.0), gaps / np.where(unit, unit, 1), 0)
    order = np.argsort(z, kind="stable")  # the least decided pair first
    drawn = np.ascontiguousarray(draws.T)
    largest, counts = np.full(len(draws), -np.inf), np.zeros(len(order))
    for at in order.tolist():
        row, column = rows[at], columns[at]
        if z[at] or unit[at] > 0:
            np.maximum(largest, (drawn[row] - drawn[column]) / max(unit[at], 1e-300), out=largest)
        counts[at] = np.count_nonzero(largest >= z[at] - _SLACK)
    p = counts / len(draws) if is_exact else (1 + counts) / (1 + len(draws))
    p[np.flatnonzero(z == 0)] = 1.0
    falling = order[::-1]
    p[falling] = np.maximum.accumulate(p[falling])
    out = np.ones((k, k))
    out[rows, columns] = p
    return out


def _board(values: Any) -> Floats:
    """Return a checked board."""
    board = numbers("values", values)
    if board.ndim != 2 or board.shape[1] < 2 or not len(board):
        raise InputError(
            "a board has one row per task and a column for each of two systems or more",
            found=f"shape {board.shape}",
        )
    if not np.isfinite(board).all():
        raise InputError("values hold NaN or infinite values")
    return board


def _all_signs(tasks: int) -> Floats:
    """Return all signs of so many tasks, one row each."""
    numbers_of_all = np.arange(2**tasks)[:, None] >> np.arange(tasks)
    return np.where(numbers_of_all & 1, -1.0, 1.0)


def _random_signs(tasks: int, n_resamples: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_resamples, tasks)) < 0.5, -1.0, 1.0)
