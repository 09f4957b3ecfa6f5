"""What tests ask of paired differences: mean, deviation, skewness, wins and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.core import kernels
from rankwise.core.threads import default_threads, each, shares
from rankwise.stats.values import Floats, Side

__all__ = ["DIGITS", "Moments", "moments_of_pairs", "paired_differences", "pairs_by_thread"]

DIGITS = 1e-12
"""Differences smaller than this, relative to the values, are rounding errors."""
_LANES, _BLOCK = 16, 2048  # in which numbers are summed, as the kernel has it
_LEAST_EXPONENT = -1000
_WORTH_A_THREAD = 500_000  # values


@dataclass(frozen=True, slots=True)
class Moments:
    """What tests ask of the differences of one pair of columns.

    Attributes
    ----------
    wins, losses, not_zero : int
        Number of positive and of negative differences, and of pairs that are not both 0.
    mean, deviation, skewness : float
        The mean, NaN without pairs; the sample standard deviation (n − 1), NaN below two pairs and
        0 if within rounding error; the skewness, 0 if the differences are symmetric or do not vary.
    """

    wins: int
    losses: int
    not_zero: int
    mean: float
    deviation: float
    skewness: float


def paired_differences(x: Floats, y: Floats) -> Floats:
    """Return x − y; differences within rounding error are 0.

    >>> paired_differences(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5])).tolist()
    [0.0, 0.5]
    """
    d = x - y
    d[np.abs(d) <= DIGITS * np.maximum(np.abs(x), np.abs(y))] = 0.0
    return d


def moments_of_pairs(sides: Sequence[Side], pairs: Sequence[tuple[int, int]]) -> list[Moments]:
    """Return what tests ask of the differences of each pair of sides, the first minus the second.

    A mean difference is that of the exact sums of both sides, so that it is the difference of two
    published means up to one rounding.

    >>> sides = [Side(np.array(values)) for values in ([0.5, 1.0, 0.0], [0.5, 0.25, 0.5])]
    >>> found = moments_of_pairs(sides, [(0, 1)])[0]
    >>> found.wins, found.losses, found.not_zero, found.mean
    (1, 1, 3, 0.0833)
    """
    n, asked = len(sides[0].values), np.array(pairs, dtype=np.int64).reshape(-1, 2)
    found, library = np.zeros((len(asked), 8)), kernels.loaded()
    if not n:
        return [Moments(0, 0, 0, math.nan, math.nan, 0.0)] * len(pairs)
    columns = [np.ascontiguousarray(side.values) for side in sides]
    means = np.array([_mean(sides[x], sides[y]) for x, y in pairs])

    def work(first: int, stop: int) -> None:
        if library is None:
            for at in range(first, stop):
                x, y = (columns[side] for side in asked[at])
                found[at] = _sums(x, y, means[at])
        else:
            library.rw_differences(columns, n, asked, means, first, stop, found)

    pairs_by_thread(work, len(asked), n)
    return _moments(n, found)


def _mean(x: Side, y: Side) -> float:
    """Return the mean difference; 0 if within rounding error of the means."""
    mean = (x.total - y.total).value / len(x.values)
    return 0.0 if abs(mean) <= DIGITS * max(abs(x.mean), abs(y.mean)) else mean


def pairs_by_thread(work: Callable[[int, int], None], n_pairs: int, n_users: int) -> None:
    """Call a function for shares of the pairs, on several threads if they are worth it."""
    threads = default_threads() if n_pairs * n_users > _WORTH_A_THREAD else 1
    for _ in each(lambda share: work(*share), shares(n_pairs, threads), threads):
        pass


def _moments(n: int, found: Floats) -> list[Moments]:
    """Return moments from the numbers that the kernel found, shape (pairs, 8)."""
    wins, losses, not_zero, mean, largest, exponent, squares, cubes = found.T
    exponent = exponent.astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(squares / (n - 1))
        spread[spread <= DIGITS * np.ldexp(largest, -exponent)] = 0.0
        skewness = np.where(spread > 0, cubes / n / (spread * spread * spread), 0.0)
        deviation = np.ldexp(spread, exponent)
    if n < 2:
        deviation[:], skewness[:] = math.nan, 0.0
    counts = (column.astype(np.int64).tolist() for column in (wins, losses, not_zero))
    numbers = (column.tolist() for column in (mean, deviation, skewness))
    return list(map(Moments, *counts, *numbers))


def _sums(x: Floats, y: Floats, mean: float) -> list[float]:
    """Return what the kernel finds of one pair, with the same bits."""
    d = paired_differences(x, y)
    least, most = float(d.min()), float(d.max())
    mean = min(max(mean, least), most)
    largest = max(most, -least)
    exponent = max(math.frexp(largest)[1], _LEAST_EXPONENT)
    deviations = (d - mean) * math.ldexp(1.0, -exponent)
    squares = deviations * deviations
    return [
        *(float(np.count_nonzero(which)) for which in (d > 0, d < 0, (x != 0) | (y != 0))),
        mean,
        largest,
        exponent,
        _total(squares),
        _total(squares * deviations),
    ]


def _total(values: Floats) -> float:
    """Return the sum of values in lanes, and of each block for itself, in the kernel's order."""
    blocks = np.zeros((-(-len(values) // _BLOCK), _BLOCK // _LANES, _LANES))
    blocks.reshape(-1)[: len(values)] = values
    lanes = blocks.sum(axis=1).sum(axis=0)
    return float(sum(lanes.tolist()))
