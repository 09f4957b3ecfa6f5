"""Bounded means of many pairs at once: p-values, limits, lifts, and the largest losses they bear.

What `bounded_means` computes for one mean is computed here for all pairs of a metric together: one
pass of the kernel over their distributions serves every pair, and a comparison has thousands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from rankwise.core import kernels
from rankwise.stats.bounded_means import (
    bounded_test_of,
    log_of,
    log_of_one_plus,
    saddle_of,
    sign_of,
    tail_of_saddle,
)
from rankwise.stats.differences import (
    BINS,
    LANES,
    LEAST,
    Differences,
    Floats,
    in_bins,
    pairs_by_thread,
    total_in_lanes,
)

_WIDE = 2**10
"""Bins of a distribution whose limits are asked for: more move them by less than 1e-4 of a width."""
_CLOSE = 1e-10  # of the arguments and the values of functions whose roots are found
_FAR = 60.0  # the largest logarithm of an offset, in units of the largest distance
_TURNS = 80
_LEAST_LEVEL = 1e-300
_BATCH = 64  # pairs whose full distributions are in memory at once


@dataclass(frozen=True, eq=False)
class BoundedPairs:
    """The differences of pairs of the same users, none of which can be above ``largest``.

    Attributes
    ----------
    values, counts : array, shape (pairs, K)
        The distinct differences of each pair, or the means of bins, in ascending order, and how
        many users have each; filled up with values that no user has.
    largest : float
        The largest possible difference; infinite if the values have no bound.
    p : sequence of float
        The two-sided p-value of each pair, as `bounded_test_of` one; NaN without a bound.
    """

    values: Floats
    counts: Floats
    largest: float
    p: Sequence[float]

    @classmethod
    def of(cls, pairs: Sequence[Differences], largest: float) -> BoundedPairs:
        """Return the distributions and p-values of pairs of the same users."""
        is_bounded = math.isfinite(largest)
        if kernels.load() is not None and pairs and pairs[0].n > BINS:
            sides, rows = _sides_of_many(pairs, largest if is_bounded else 0.0)
        else:
            distributions = [pair.distribution for pair in pairs]
            rows = _rows_of([_coarse(*each) for each in distributions])
            sides = [math.nan] * len(pairs)
            if is_bounded:
                sides = _sides_of_few(distributions, pairs, largest)
        if not is_bounded:
            return cls(*rows, largest, [math.nan] * len(pairs))
        # Above 1/2 the other side may be smaller: both are at least 1 together.
        p = [
            2 * side if side <= 0.5 else bounded_test_of(pair, largest).p
            for side, pair in zip(sides, pairs, strict=True)
        ]
        return cls(*rows, largest, p)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Return the lower and the upper limits of all mean differences, at a two-sided level."""
        rows = self.counts, self.largest, 1 - level / 2
        return -_upper_limits(-self.values, *rows), _upper_limits(self.values, *rows)

    def largest_losses(self, levels: Floats) -> Floats:
        """Return the largest loss of an unseen user that each difference bears, at its level.

        Levels are one-sided; losses are on the other side of 0 than the mean difference.
        """
        signs = np.where((self.counts * self.values).sum(axis=1) > 0, -1.0, 1.0)
        return _largest_losses(signs[:, None] * self.values, self.counts, levels)


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often differences of a pair lie in bins, so that parts of the users can be added up.

    Attributes
    ----------
    cells : array, shape (1024, 2)
        The number of differences in each bin between −largest and largest, and their sum.
    least, most : float
        The smallest and the largest difference.
    largest : float
        The largest possible difference.
    """

    cells: Floats
    least: float
    most: float
    largest: float

    @classmethod
    def of(cls, pairs: Differences, largest: float) -> Histogram:
        """Return the histogram of differences; those beyond ``largest`` are in the last bins."""
        d = pairs.d
        places = np.floor((d + largest) / (2 * largest) * _WIDE).astype(np.int64)
        places = np.clip(places, 0, _WIDE - 1)
        counts, sums = (np.bincount(places, weights, _WIDE) for weights in (np.ones(len(d)), d))
        ends = (float(d.min()), float(d.max())) if len(d) else (math.inf, -math.inf)
        return cls(np.stack([counts, sums], axis=1).astype(np.float64), *ends, largest)

    def __add__(self, other: Histogram) -> Histogram:
        """Return the histogram of the differences of both."""
        ends = min(self.least, other.least), max(self.most, other.most)
        return Histogram(self.cells + other.cells, *ends, self.largest)

    def pairs(self) -> BoundedPairs:
        """Return the one pair of this distribution."""
        values, counts = _means_of_bins(self.cells[None], self.least, self.most)
        largest = np.full(1, self.largest)
        sides = [float(_p_of_rows(side * values, counts, largest)[0]) for side in (-1.0, 1.0)]
        return BoundedPairs(values, counts, self.largest, [min(2 * min(sides), 1.0)])


def bounded_lifts(
    pairs: Sequence[Differences], bounds: tuple[float, float], level: float
) -> tuple[Floats, Floats]:
    """Return the lower and the upper limits of the lifts of few users, as `bounded_lift` of one.

    NaN where the baseline's mean may be 0 or less, or the system's may be below 0.
    """
    x, y = (np.stack([getattr(pair, name) for pair in pairs]) for name in "xy")
    after, before = x.mean(axis=1), y.mean(axis=1)
    low = np.minimum(bounds[0], np.minimum(x.min(axis=1), y.min(axis=1)))
    high = np.maximum(bounds[1], np.maximum(x.max(axis=1), y.max(axis=1)))
    is_known = (after >= 0) & (before > 0) & np.isfinite(high - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(is_known, after / before, 1.0)
        inverses = np.where(ratios > 0, 1.0 / ratios, 1.0)
    least = _smallest_ratios(x, y, low, high, ratios, is_known & (ratios > 0), level / 2)
    least = np.where(is_known & (ratios <= 0), 0.0, least)
    most = 1.0 / _smallest_ratios(y, x, low, high, inverses, is_known, level / 2)
    is_known &= ~np.isnan(least + most)
    return np.where(is_known, least - 1.0, math.nan), np.where(is_known, most - 1.0, math.nan)


def _smallest_ratios(
    x: Floats, y: Floats, low: Floats, high: Floats, start: Floats, is_open: Any, level: float
) -> Floats:
    """Return the smallest ratios of the means of rows x and y that are not rejected at a level."""
    from scipy.special import ndtri

    error = np.maximum((x - start[:, None] * y).std(axis=1), 1e-12) / math.sqrt(x.shape[1])
    slope = np.maximum(y.mean(axis=1), 1e-12) / error
    goal = -float(ndtri(level))

    def at(ratios: Floats) -> tuple[Floats, Floats]:
        unseen = np.maximum(ratios * high - low, 0.0)
        p = _p_of_rows(ratios[:, None] * y - x, np.ones(x.shape), unseen)
        return goal + ndtri(np.clip(p, 1e-300, 1.0)), ratios

    first = np.maximum(start - goal / slope, start / 8)
    ends = np.zeros(len(start)), np.full(len(start), math.inf)
    found = _solve(at, first, slope, ends, is_open)
    return np.where(found > 0, found, math.nan)


_Rows: TypeAlias = tuple[Floats, Floats]
"""Values and their counts, in rows of one width: a whole number of lanes."""


def _coarse(values: Floats, count: Floats) -> tuple[Floats, Floats]:
    return (values, count) if len(values) <= _WIDE else in_bins(values, count, _WIDE)


def _rows_of(distributions: Sequence[tuple[Floats, Floats]]) -> _Rows:
    """Return distributions as rows of one width."""
    longest = max((len(values) for values, _ in distributions), default=0)
    width = -(-longest // LANES) * LANES
    rows, counts = np.zeros((2, len(distributions), width))
    for row, counted, (values, count) in zip(rows, counts, distributions, strict=True):
        row[: len(values)], counted[: len(values)] = values, count
        row[len(values) :] = values[0] if len(values) else 0.0
    return rows, counts


def _sides_of_few(
    distributions: Sequence[tuple[Floats, Floats]], pairs: Sequence[Differences], largest: float
) -> list[float]:
    """Return the one-sided p-values of pairs, a batch after the other."""
    sides: list[float] = []
    for first in range(0, len(pairs), _BATCH):
        batch = slice(first, first + _BATCH)
        values, counts = _rows_of(distributions[batch])
        signs = np.array([sign_of(pair) for pair in pairs[batch]])
        p = _p_of_rows(signs[:, None] * values, counts, np.full(len(values), largest))
        sides += np.where(counts.sum(axis=1) >= 2, p, math.nan).tolist()
    return sides


def _p_of_rows(values: Floats, counts: Floats, unseen: Floats) -> Floats:
    """Return the one-sided p-values that the means of rows are 0 or more, with one value more.

    It is ``unseen``, or the largest value of the row if that is larger.
    """
    below = np.where(counts > 0, values, math.inf).min(axis=1, initial=math.inf)
    above = np.where(counts > 0, values, -math.inf).max(axis=1, initial=-math.inf)
    most = np.maximum(above, unseen)
    more = np.zeros((len(values), LANES - values.shape[1] % LANES))
    x, counted = np.hstack([values, more]), np.hstack([counts, more])
    x[:, values.shape[1]], counted[:, values.shape[1]] = most, 1.0
    scale = np.abs(x).max(axis=1)
    x = np.ascontiguousarray(x / np.where(scale > 0, scale, 1.0)[:, None])
    tails = _tails(_saddles_of_rows(x, np.ascontiguousarray(counted)))
    tails = np.where(np.isnan(tails), 1.0, tails)

    # Of one value the probability has a closed form.
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.maximum((most / (most - below)) ** counts.sum(axis=1), LEAST)
    p: Floats = np.where((below == above) & (below < 0), exact, tails)
    return np.where(most < 0, LEAST, p)


def _saddles_of_rows(x: Floats, counts: Floats) -> Floats:
    """Return the arguments of `tail_of_saddle` for rows; NaN where values have one sign."""
    found, library = np.full((len(x), 4), math.nan), kernels.load()
    if library is None:
        for row, values, count in zip(found, x, counts, strict=True):
            if values.min() < 0 < values.max():
                row[:] = saddle_of(values, count, 0.0)
        return found

    def work(first: int, stop: int) -> None:
        library.rw_saddle_rows(x, counts, x.shape[1], first, stop, found)

    pairs_by_thread(work, len(x), x.shape[1])
    return found


def _sides_of_many(pairs: Sequence[Differences], largest: float) -> tuple[list[float], _Rows]:
    """Return the one-sided p-values of many users' differences, and their coarse distributions."""
    library = kernels.load()
    assert library is not None
    columns = [
        np.ascontiguousarray(values) for name in "xy" for values in map(attrgetter(name), pairs)
    ]
    limits = np.array([pair.limits for pair in pairs])
    signs = np.array([sign_of(pair) for pair in pairs])
    saddles = np.full((len(pairs), 4), math.nan)
    coarse = np.zeros((len(pairs), _WIDE, 2))

    def work(first: int, stop: int) -> None:
        counts = pairs[0].n, len(pairs)
        room = np.empty(4 * BINS + 2 * LANES)
        library.rw_saddles(
            columns,
            *counts,
            limits,
            signs,
            largest,
            BINS,
            _WIDE,
            first,
            stop,
            room,
            saddles,
            coarse,
        )

    pairs_by_thread(work, len(pairs), pairs[0].n)
    rows = _means_of_bins(_pack(coarse), limits[:, :1], limits[:, 1:])
    return _tails(saddles).tolist(), rows


def _pack(cells: Floats) -> Floats:
    """Return the bins of each pair that are not empty, in order; all where few are empty.

    Differences of few kinds leave most bins empty, and every bin costs a logarithm at every step.
    """
    is_filled = cells[:, :, 0] > 0
    places = is_filled.cumsum(axis=1)
    width = -(-int(places[:, -1].max(initial=0)) // LANES) * LANES
    if 2 * width > cells.shape[1]:
        return cells
    packed = np.zeros((len(cells), width, 2))
    rows, bins = is_filled.nonzero()
    packed[rows, places[rows, bins] - 1] = cells[rows, bins]
    return packed


def _means_of_bins(cells: Floats, least: Any, most: Any) -> _Rows:
    """Return the mean of each bin and its count, from counts and sums; empty bins have ``least``.

    Rounding takes no mean out of the range of the row, ``least`` to ``most``.
    """
    counts = np.ascontiguousarray(cells[:, :, 0])
    means = cells[:, :, 1] / np.maximum(counts, 1.0)
    return np.where(counts > 0, np.clip(means, least, most), least), counts


def _tails(saddles: Floats) -> Floats:
    """Return the tail probabilities of saddle points; NaN where there is none."""
    return np.array(
        [
            math.nan if math.isnan(saddle[1]) else max(tail_of_saddle(*saddle), LEAST)
            for saddle in saddles.tolist()
        ]
    )


def _upper_limits(values: Floats, counts: Floats, largest: float, confidence: float) -> Floats:
    """Return the upper limits of the means of rows of values, by Gaffke's bound; NaN below two.

    The weights of the saddle point are proportional to 1 / (c + z), with an offset c and the
    distances z below the largest value.
    """
    from scipy.special import ndtri

    most = np.where(counts > 0, values, -math.inf).max(axis=1, initial=largest)
    unseen = np.zeros((len(values), LANES))
    distances = np.hstack([np.where(counts > 0, most[:, None] - values, 0.0), unseen])
    unseen[:, 0] = 1.0  # one user more, at the largest value
    counted = np.ascontiguousarray(np.hstack([counts, unseen]))
    scale = distances.max(axis=1, initial=0.0)
    distances = np.ascontiguousarray(distances / np.where(scale > 0, scale, 1.0)[:, None])

    goal = math.log(float(ndtri(confidence)))
    start = _first_offsets(distances, counted, goal)
    ends = np.full(len(start), -_FAR), np.full(len(start), _FAR)

    def at(logs: Floats) -> tuple[Floats, Floats]:
        means, scores = _weigh(distances, counted, np.exp(logs))
        return goal - np.log(scores), means

    reached = _solve(at, start, np.ones(len(start)), ends, scale > 0)
    return np.where(counts.sum(axis=1) >= 2, most - scale * reached, math.nan)


def _first_offsets(distances: Floats, counts: Floats, goal: float) -> Floats:
    """Return the logarithms of offsets that would be right for normal values."""
    n = counts.sum(axis=1)
    means = (counts * distances).sum(axis=1) / n
    spreads = np.sqrt((counts * (distances - means[:, None]) ** 2).sum(axis=1))
    least = np.maximum(1e-3 * means, 1e-9)
    offsets: Floats = np.log(np.maximum(spreads / math.exp(goal) - means, least))
    return offsets


def _weigh(distances: Floats, counts: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Return the mean of weighted distances, and the normal quantile of its being a limit."""
    from scipy.special import ndtr, ndtri

    found, library = np.zeros((len(offsets), 3)), kernels.load()
    if library is None:
        for row, values, count, offset in zip(found, distances, counts, offsets, strict=True):
            row[:] = _weighted(values, count, offset)
    else:
        width = distances.shape[1]

        def work(first: int, stop: int) -> None:
            library.rw_weights(distances, counts, width, offsets, first, stop, found)

        pairs_by_thread(work, len(offsets), width)
    means, logs, squares = found.T
    root, curvature = np.sqrt(np.maximum(2.0 * logs, 1e-300)), np.sqrt(squares)
    density = np.exp(-(root**2) / 2.0) / math.sqrt(2.0 * math.pi)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows that have no limit
        beyond = ndtr(-root) - density * (1.0 / root - 1.0 / curvature)
    return means, np.maximum(-ndtri(np.clip(beyond, 1e-300, 1.0)), 1e-12)


def _weighted(distances: Floats, counts: Floats, offset: float) -> tuple[float, float, float]:
    """Return what the kernel ``rw_weights`` finds of one row, with the same bits."""
    weighted = counts / (offset + distances)
    total = total_in_lanes(weighted)
    level, mean = total / total_in_lanes(counts), total_in_lanes(weighted * distances) / total
    ratio, beyond = level * (offset + distances), level * (distances - mean)
    far = ratio < 0.5
    logs = log_of(np.where(far, ratio, 1.0 + beyond), np.where(far, ratio - 1.0, beyond))
    apart = (mean - distances) / (offset + distances)
    return mean, total_in_lanes(counts * logs), total_in_lanes(counts * apart * apart)


def _largest_losses(losses: Floats, counts: Floats, levels: Floats) -> Floats:
    """Return `BoundedMean.largest_loss` of rows of losses; levels are below 1/2."""
    from scipy.special import ndtri

    scale = np.where(counts > 0, np.abs(losses), 0.0).max(axis=1, initial=0.0)
    is_gain = (scale > 0) & ((counts * losses).sum(axis=1) < 0)
    unit = np.ascontiguousarray(losses / np.where(scale > 0, scale, 1.0)[:, None])
    most = np.where(counts > 0, unit, -1.0).max(axis=1, initial=-1.0)
    levels = np.maximum(levels, _LEAST_LEVEL)
    goals = -ndtri(levels)

    with np.errstate(divide="ignore"):
        last = np.where(most > 0, 1.0 / np.maximum(most, 0.0), math.inf)
    square = (counts * unit**2).sum(axis=1)
    spread = np.sqrt(np.where(square > 0, square, 1.0))

    def at_gain(points: Floats) -> tuple[Floats, Floats]:
        return -_score_losses(unit, counts, points)[0], points

    # Where the difference is small it may bear no loss: the score without any loss tells.
    nothing, mean = np.zeros(len(goals)), -(counts * unit).sum(axis=1)
    is_small = is_gain & (most > 0) & (mean < goals * spread)
    start = np.minimum(mean / spread**2, last / 2)
    farthest = _solve(at_gain, start, spread**2, (nothing, last), is_small)
    _, scores = _score_losses(unit, counts, farthest)
    is_borne = is_gain & (~is_small | (scores > goals))
    last = np.where(is_small, farthest, last)

    def at(points: Floats) -> tuple[Floats, Floats]:
        gains, scores = _score_losses(unit, counts, points)
        with np.errstate(divide="ignore"):
            found = np.where(gains > 0, 1.0 / (points + 1.0 / np.maximum(gains, 0.0)), 0.0)
        return np.where(gains > 0, scores, math.inf) - goals, found

    start = np.minimum(goals / spread, last / 2)
    found = _solve(at, start, spread, (nothing, last), is_borne)
    is_alike = (counts > 0).sum(axis=1) == 1  # of one value the probability has a closed form
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = 1.0 / np.expm1(-np.log(levels) / counts.sum(axis=1))
    found = np.where(is_alike, exact, found)
    return np.where(is_gain & (found > np.maximum(most, 0.0)), scale * found, math.nan)


def _score_losses(losses: Floats, counts: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return the gain A at saddle points, and the normal quantile of the p-value that belongs to it.

    Where no added loss has this saddle point the gain is not above 0, and p is that of no loss.
    """
    from scipy.special import ndtr, ndtri

    found, library = np.zeros((len(points), 4)), kernels.load()
    if library is None:
        for row, values, count, s in zip(found, losses, counts, points, strict=True):
            terms = values / (1.0 - s * values)
            once, twice = count * terms, count * terms * terms
            logs = count * log_of_one_plus(-s * values)
            row[:] = [*map(total_in_lanes, (once, twice, twice * terms, logs))]
    else:
        width = losses.shape[1]

        def work(first: int, stop: int) -> None:
            library.rw_losses(losses, counts, width, points, first, stop, found)

        pairs_by_thread(work, len(points), width)
    gains = -found[:, 0]
    added = np.maximum(gains, 0.0)
    exponent = found[:, 3] - np.log1p(points * added)
    root = np.sqrt(np.maximum(2.0 * exponent, 0.0))
    u = points * np.sqrt(found[:, 1] + added * added)
    density = np.exp(-(root**2) / 2.0) / math.sqrt(2.0 * math.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = ndtr(-root) + density * (1.0 / u - 1.0 / root)
    tails = np.where(root < 1e-4, 0.5, tails)
    return gains, -ndtri(np.clip(tails, 1e-300, 1.0))


def _solve(
    at: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    slope: Floats,
    ends: tuple[Floats, Floats],
    is_open: Any,
) -> Floats:
    """Return what functions of rows have at the roots of increasing, nearly linear functions.

    ``at`` returns the functions' values at points and what belongs to these points. Secants, the
    first of a ``slope``, find the roots, and bisection keeps them inside; rows that are not open
    have 0.
    """
    points, (low, high) = start, ends
    before, value_before = np.full(len(points), math.nan), np.full(len(points), math.nan)
    reached, is_open = np.zeros(len(points)), np.array(is_open)
    for _ in range(_TURNS):
        if not is_open.any():
            break
        values, found = at(points)
        reached = np.where(is_open, found, reached)
        low, high = np.where(values < 0, points, low), np.where(values < 0, high, points)
        far = high - low > _CLOSE * np.maximum(np.abs(low), 1.0)
        is_open &= (np.abs(values) > _CLOSE) & far

        with np.errstate(divide="ignore", invalid="ignore"):
            secant = (points - before) / (values - value_before)
        step = points - values * np.where(np.isfinite(secant) & (secant > 0), secant, 1 / slope)
        half = np.where(np.isfinite(high), (low + high) / 2, 2 * points)
        inside = np.where((step > low) & (step < high), step, half)
        before, value_before = points, values
        points = np.where(is_open, inside, points)
    return reached
