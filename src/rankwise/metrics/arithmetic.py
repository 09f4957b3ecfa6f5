"""Arithmetic that metrics share: gains, discounts, guarded division, divergences and distances.

A distance first prepares the vectors of all items, then sums over the ordered pairs of items of
many lists of equal length. Each sum depends on its own list alone, not on those summed with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.blocks.block import Block, Categories
from rankwise.core.arrays import Array, bincount, check_none, is_tensor, namespace
from rankwise.errors import MetricError, ParameterError, ScoreError
from rankwise.metrics.base import Metric

__all__ = [
    "ABOVE_0",
    "ABOVE_1",
    "BETWEEN_0_AND_1",
    "IN_CLOSED_0_1",
    "IN_LEFT_OPEN_0_1",
    "IN_OPEN_0_1",
    "NAMED",
    "NOT_NEGATIVE",
    "CosineDistance",
    "CustomDistance",
    "Distance",
    "EuclideanDistance",
    "Gain",
    "JaccardDistance",
    "Limits",
    "at_least_one",
    "batches",
    "category_shares",
    "coefficient_of_variation",
    "discount",
    "divide",
    "gain_of",
    "geometric_discount",
    "kullback_leibler",
    "listed_denominator",
    "matthews_correlation",
    "mean_difference",
    "mean_of_top",
    "n_in_top",
    "need_cutoff",
    "or_nan",
    "ratio",
    "running_count",
    "running_sum",
    "shared_with_reference",
    "sums_by_user",
    "unit_vectors",
]

Gain: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]


def divide(numerator: Array, denominator: Array) -> Array:
    """Divide; 0 where there is nothing to divide by."""
    xp = namespace(numerator)
    denominator = xp.astype(denominator, xp.float64, copy=False)
    if is_tensor(denominator):
        return xp.where(denominator > 0, numerator / denominator, xp.zeros_like(denominator))
    if bool(xp.all(denominator > 0)):
        return numerator / denominator
    # Not array-api-extra's apply_where: gathering what is divided takes three times as long.
    safe = xp.where(denominator > 0, denominator, xp.ones_like(denominator))
    return xp.where(denominator > 0, numerator / safe, xp.zeros_like(numerator))


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide; NaN where there is nothing to divide by."""
    return or_nan(divide(numerator, denominator), denominator > 0)


def at_least_one(number: Array) -> Array:
    """Return a count as a divisor of at least 1; the numerator is 0 or NaN where the count is 0."""
    return namespace(number).clip(number, min=1.0)


def or_nan(value: Array, defined: Array) -> Array:
    """Return the values where ``defined`` is true, else NaN."""
    xp = namespace(value)
    return xp.where(defined, value, xp.full_like(value, math.nan))


def gain_of(kind: Gain, relevance: Array) -> Array:
    """Return the gains of relevant items, given their relevance."""
    xp = namespace(relevance)
    if kind != "binary":
        check_none(
            relevance < 0,
            lambda: ScoreError(
                "an item of negative relevance counts as relevant, but has no gain",
                where="truth",
                found=f"{float(xp.min(relevance)):g}",
                hint="raise the threshold to 0, shift the scale, or use gain=binary",
            ),
        )
    if kind.startswith("exponential"):
        check_none(
            relevance > 1000,
            lambda: ScoreError(
                "a relevance is too large for an exponential gain",
                where="truth",
                found=f"{float(xp.max(relevance)):g}",
                hint="is this the right column? gain=linear takes any relevance",
            ),
        )
    if kind == "exponential":
        return 2.0**relevance - 1.0
    if kind == "exponential_plus_one":
        return 2.0 ** (relevance + 1.0) - 1.0
    return xp.ones_like(relevance) if kind == "binary" else relevance


def discount(rank: Array, log_base: float = 2.0) -> Array:
    """Return the logarithmic discount of a rank, 1 / log(rank + 1)."""
    xp = namespace(rank)
    return math.log2(log_base) / xp.log2(xp.astype(rank, xp.float64) + 1.0)


def geometric_discount(rank: Array, patience: float) -> Array:
    """Return patience^(rank - 1): the probability that a user reads as far as the rank."""
    xp = namespace(rank)
    return patience ** (xp.astype(rank, xp.float64) - 1.0)


def running_sum(of_rank: Callable[[Array], Array], k: Array) -> Array:
    """Return the sum of a function of the first k ranks, for a number k or for several."""
    sums = np.cumsum(of_rank(np.arange(1, int(np.max(k)) + 1)))
    return sums[k - 1]


@dataclass(frozen=True)
class Limits:
    """The numbers that a parameter may have, in its annotation: ``p: Annotated[float, Limits(…)]``.

    Parameters
    ----------
    rule : str
        The end of the message for other numbers: ``"must be above 1"``.
    allow : callable
        Returns whether a number is allowed.
    """

    rule: str
    allow: Callable[[float], bool]

    def check(self, metric: Metric, name: str, value: float | None) -> None:
        """Raise unless the value of a parameter is allowed, or None."""
        if value is not None and not self.allow(value):
            raise ParameterError(f"{metric.name}: {name} {self.rule}", found=f"{name}={value}")


ABOVE_0 = Limits("must be above 0", lambda x: x > 0)
ABOVE_1 = Limits("must be above 1", lambda x: x > 1)
NOT_NEGATIVE = Limits("must be 0 or more", lambda x: x >= 0)
BETWEEN_0_AND_1 = Limits("must lie between 0 and 1", lambda x: 0 < x < 1)
IN_OPEN_0_1 = Limits("must lie in (0, 1)", lambda x: 0 < x < 1)
IN_LEFT_OPEN_0_1 = Limits("must lie in (0, 1]", lambda x: 0 < x <= 1)
IN_CLOSED_0_1 = Limits("must lie in [0, 1]", lambda x: 0 <= x <= 1)


def n_in_top(block: Block, k: int) -> Array:
    """Return the number of items in the top k, min(k, list length), as floats, shape (U,)."""
    return block.xp.astype(block.top_length(k), block.xp.float64)


def listed_denominator(block: Block, k: int, kind: Literal["length", "k"]) -> Array:
    """Return the denominator of a mean over the top k: its length or k, shape (U,)."""
    length = n_in_top(block, k)
    return length if kind == "length" else block.xp.zeros_like(length) + k


def mean_of_top(
    block: Block, values: Array, k: int, denominator: Literal["length", "k"] = "length"
) -> Array:
    """Return the mean of ``values`` over the top k, or their sum divided by k, shape (U,)."""
    return divide(block.sum_recommended(values, k), listed_denominator(block, k, denominator))


def rows_above(user: Array) -> Array:
    """Return how many rows of the same user precede each row; users are in order."""
    xp = namespace(user)
    return xp.arange(user.shape[0]) - xp.searchsorted(user, user)


def running_count(user: Array, counted: Array, n_users: int) -> Array:
    """Return the running sum of ``counted`` per user, each row included; users are in order.

    >>> running_count(np.array([0, 0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 0.0, 1.0]), 2).tolist()
    [1.0, 1.0, 2.0, 0.0, 1.0]
    """
    xp = namespace(counted)
    per_user = bincount(user, counted, n_users)
    before = xp.cumulative_sum(per_user) - per_user  # those of users before this one
    return xp.cumulative_sum(counted) - xp.take(before, user)


def sums_by_user(block: Block, user: Array, *columns: Array) -> tuple[Array, ...]:
    """Return the sum of each column over the rows of each user, arrays of shape (U,)."""
    return tuple(bincount(user, column, block.n_users) for column in columns)


def need_cutoff(metric: Metric, *, where: bool, setting: str) -> None:
    """Raise if a setting of the metric needs a cut-off k and the metric has none."""
    if where and not metric.k:
        raise MetricError(
            f"{metric.name}({setting}) needs a cut-off",
            found=str(metric),
            hint=f"write {metric}@10",
        )


def unit_vectors(vectors: Array) -> Array:
    """Return vectors scaled to length 1, shape (n, d); zero vectors stay zero."""
    xp = namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=1, keepdims=True)
    one = xp.ones_like(largest)
    # Squares of such values would overflow or vanish; powers of two change no digit of a result.
    factor = xp.where(
        largest > 2.0**500, one * 2.0**-600, xp.where(largest < 2.0**-500, one * 2.0**600, one)
    )
    vectors = vectors * factor
    length = xp.sqrt(xp.sum(vectors * vectors, axis=1, keepdims=True))
    return vectors / xp.where(length > 0, length, 1.0)


def shared_with_reference(
    block: Block, k: int, denominator: Literal["length", "k", "union"]
) -> Array:
    """Return the share of the top k in the reference's top k, (U,); NaN without a reference."""
    reference, xp = block.overlap_reference, block.xp
    common = block.count_overlap(reference, k, both=True)
    if denominator == "union":
        total = (
            n_in_top(block, k) + xp.astype(xp.clip(reference.length, max=k), xp.float64) - common
        )
    else:
        total = listed_denominator(block, k, denominator)
    return or_nan(divide(common, total), reference.length > 0)


def coefficient_of_variation(values: Any) -> float:
    """Return population std / mean of the defined values; NaN for fewer than two or a mean of 0."""
    defined = np.asarray([value for value in values if not math.isnan(value)], dtype=np.float64)
    mean = float(np.mean(defined)) if len(defined) > 1 else 0.0
    return float(np.std(defined)) / mean if mean else math.nan


def mean_difference(values: Iterable[float]) -> float:
    """Return the mean absolute difference over all pairs of values; NaN without a pair."""
    ordered = np.sort([value for value in values if not math.isnan(value)])
    n = len(ordered)
    if n < 2:
        return math.nan
    # Ascending: value j (from 0) is added in its j pairs with smaller values, else subtracted.
    return float(np.sum((2 * np.arange(n) - n + 1) * ordered)) / (n * (n - 1) / 2)


def matthews_correlation(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    """Return the Matthews correlation from the confusion matrix; 0 where a class is empty."""
    squared = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return divide(tp * tn - fp * fn, namespace(tp).sqrt(squared))


def category_shares(
    categories: Categories,
    user: Array,
    item: Array,
    n_users: int,
    *,
    weight: Array | None = None,
    smoothing: float = 0.0,
) -> tuple[Array, Array]:
    """Return the share of every category among each user's items, and which users have any.

    An item counts in equal shares for its categories, times its weight; items without categories
    are left out. ``smoothing`` is added to the total of every category.

    Returns
    -------
    shares : array of float, shape (U, n_categories)
    defined : array of bool, shape (U,)
    """
    xp = namespace(item)
    width, (owner, cell) = len(categories.names), categories.cells(user, item)
    size = bincount(owner, xp.ones(owner.shape[0], dtype=xp.float64), item.shape[0])
    whole = 2.0**40 if weight is None else 2.0**40 * xp.take(weight, owner)
    # Multiples of 2^-40, whose sums do not depend on the order of a user's items.
    part = xp.round(whole / xp.take(size, owner)) / 2.0**40
    sums = xp.reshape(bincount(cell, part, n_users * width), (n_users, width))
    defined = xp.sum(sums, axis=1) > 0
    sums = sums + smoothing if smoothing else sums
    total = xp.sum(sums, axis=1)
    return sums / xp.where(defined, total, 1.0)[:, None], defined


def kullback_leibler(p: Array, q: Array) -> Array:
    """Return the Kullback-Leibler divergence of each row of q from the same row of p, in nats.

    q is positive wherever p is.

    Parameters
    ----------
    p, q : array of float, shape (U, n)
        Distributions, one per row.

    Returns
    -------
    array of float, shape (U,)

    Examples
    --------
    >>> import numpy as np
    >>> kullback_leibler(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])).round(4)
    array([0.6931])
    """
    xp = namespace(p)
    ratio = p / xp.where(p > 0, q, 1.0)
    terms = p * xp.log(xp.where(p > 0, ratio, 1.0))
    return xp.clip(xp.sum(terms, axis=1), min=0.0)


_STRIP = 24  # rows of a strip: a multiple of 4, 8 and 12, which BLAS multiplies fastest
_NEAR = 2.0**-20  # squared distances below this share of the squared lengths have lost digits
_ROUNDING = 2.0**-46  # those below this one have none left


class Distance(ABC):
    """A distance between two items, each of which is described by a vector."""

    def prepare(self, vectors: Array) -> Array:
        """Return the vectors in the form that `sum` needs, (n_items, d) to (n_items, e)."""
        return vectors

    @abstractmethod
    def sum(self, items: Array) -> Array:
        """Sum the distances over ordered pairs of the n items of each list, (u, n, e) to (u,)."""

    def work_size(self, n: int, width: int) -> int:
        """Return the size of the largest work array for a list of n items, ``width`` = e."""
        return n * max(width, 2 * _STRIP)


class CosineDistance(Distance):
    """1 minus the cosine of the angle between two vectors; 1 if either vector is zero."""

    def prepare(self, vectors: Array) -> Array:
        """Return unit vectors."""
        return unit_vectors(vectors)

    def sum(self, items: Array) -> Array:
        """Sum without going through pairs: the squared sum of all vectors holds every product."""
        xp = namespace(items)
        n = items.shape[1]
        total = xp.sum(items, axis=1)
        squares = xp.sum(total * total, axis=1)
        diagonal = xp.sum(xp.sum(items * items, axis=2), axis=1)
        return n * (n - 1.0) - (squares - diagonal)

    def work_size(self, n: int, width: int) -> int:
        """Return the size of the vectors of a list."""
        return n * width


class EuclideanDistance(Distance):
    """Length of the difference of two vectors."""

    def prepare(self, vectors: Array) -> Array:
        """Return (x, 1, |x|²) for each vector x."""
        xp = namespace(vectors)
        size = xp.vecdot(vectors, vectors)[:, None]
        return xp.concat([vectors, xp.ones_like(size), size], axis=1)

    def sum(self, items: Array) -> Array:
        """Sum roots of (-2x, |x|², 1) · (y, 1, |y|²), which is the squared distance of x and y.

        This cancels where x and y are nearly equal, and what is left of equal vectors differs
        between BLAS libraries; there the difference x - y itself is squared. Tensors would have to
        wait for the number of such pairs: there a distance of nothing but rounding is 0.
        """
        xp = namespace(items)
        size = items[:, :, -1]
        least = 2.0 * _NEAR * xp.max(size, axis=1, keepdims=True)
        columns = xp.matrix_transpose(items)
        total = xp.zeros_like(size[:, 0])
        strips = _Strips(items.shape[1], size)
        for first, last in strips:
            rows = -2.0 * items[:, first:last, :]
            rows[:, :, -2] = size[:, first:last]
            rows[:, :, -1] = 1.0
            squared = rows @ columns[:, :, first:]
            width = squared.shape[2]
            flat = xp.reshape(squared, (-1, squared.shape[1] * width))
            flat[:, :: width + 1] = least  # the diagonal
            if is_tensor(squared):
                near = _near(squared, size[:, first:], _ROUNDING)
                squared = xp.where(near, xp.zeros_like(squared), squared)
            elif bool(xp.any(xp.min(flat, axis=1, keepdims=True) < least)):
                near = _near(squared, size[:, first:], _NEAR)
                squared[near] = _squared_differences(near, items[:, first:, :-2])
            squared **= 0.5  # in place
            total += strips.sum(squared)
        return total


class JaccardDistance(Distance):
    """1 minus the share of common categories in all categories of two items; 0 if both have none.

    A vector holds 1 for each category of the item, else 0.
    """

    def sum(self, items: Array) -> Array:
        """Sum the shares of common categories, and subtract them from the number of pairs."""
        xp = namespace(items)
        n = items.shape[1]
        size = xp.vecdot(items, items)
        empty = xp.sum(xp.astype(size == 0, xp.float64), axis=1)
        size = xp.clip(size, min=1.0)  # not 0 / 0: an item without categories shares none
        columns = xp.matrix_transpose(items)
        shared = xp.zeros_like(size[:, 0])
        strips = _Strips(n, size)
        for first, last in strips:
            common = items[:, first:last, :] @ columns[:, :, first:]
            union = size[:, first:last, None] + size[:, None, first:]
            union -= common
            common /= union
            shared += strips.sum(common)
        return n * (n - 1.0) - empty * (empty - 1.0) - shared


class HammingDistance(Distance):
    """Number of features in which two vectors differ."""

    def sum(self, items: Array) -> Array:
        """Compare each item with the item 1, 2, … places below, which finds every pair once."""
        xp = namespace(items)
        total = xp.zeros_like(items[:, 0, 0])
        for places in range(1, items.shape[1]):
            differs = xp.astype(items[:, places:, :] != items[:, :-places, :], xp.float64)
            total = total + 2.0 * xp.sum(xp.sum(differs, axis=2), axis=1)
        return total

    def work_size(self, n: int, width: int) -> int:
        """Return the size of the vectors of a list."""
        return n * width


class CustomDistance(Distance):
    """A function from the vectors of n items, (n, d), to their distances, (n, n)."""

    def __init__(self, function: Callable[[Array], Array], name: str) -> None:
        self._function, self._name = function, name

    def sum(self, items: Array) -> Array:
        """Sum the distances of the lists, one list at a time."""
        xp = namespace(items)
        n, totals = items.shape[1], []
        for index in range(items.shape[0]):
            matrix = xp.asarray(self._function(items[index, ...]), dtype=xp.float64)
            if matrix.shape != (n, n):
                raise ParameterError(
                    f"{self._name}: a distance takes n vectors, shape (n, d), and returns (n, n)",
                    found=f"shape {tuple(matrix.shape)} for n = {n}",
                )
            totals.append(xp.sum(matrix) - xp.sum(xp.linalg.diagonal(matrix)))
        return xp.stack(totals)

    def work_size(self, n: int, width: int) -> int:
        """Return the size of the vectors or of the distances."""
        return n * max(n, width)


NAMED: dict[str, type[Distance]] = {
    "cosine": CosineDistance,
    "jaccard": JaccardDistance,
    "euclidean": EuclideanDistance,
    "hamming": HammingDistance,
}


class _Strips:
    """Strips of rows of a symmetric matrix (n, n) that hold each pair of items once.

    A strip starts at the diagonal: what is left of it is in earlier strips. Each strip is small
    enough for the cache, and together they have little more than half of the matrix.
    """

    def __init__(self, n: int, like: Array) -> None:
        self._xp = xp = namespace(like)
        self._edges = [*range(0, max(n - _STRIP + 1, 1), _STRIP), n]  # the last strip is longest
        row, column = xp.arange(n - self._edges[-2])[:, None], xp.arange(n)[None, :]
        self._weight = 2.0 * xp.astype(column > row, like.dtype)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the first row of each strip, and the first row after the strip."""
        return zip(self._edges, self._edges[1:], strict=False)

    def sum(self, strip: Array) -> Array:
        """Return twice the sum right of the diagonal in a strip of each list, (u, r, c) to (u,)."""
        _, rows, columns = strip.shape
        weight = self._xp.reshape(self._weight[:rows, :columns], (-1,))
        return self._xp.vecdot(self._xp.reshape(strip, (-1, rows * columns)), weight)


def _near(squared: Array, size: Array, share: float) -> Array:
    """Whether squared distances, (u, r, c), are below a share of the squared lengths, (u, c)."""
    return squared < share * (size[:, : squared.shape[1], None] + size[:, None, :])


def _squared_differences(pairs: Array, vectors: Array) -> Array:
    """Return the squared distance of each pair that is true, (u, r, c), of vectors (u, c, d)."""
    xp = namespace(vectors)
    at, row, column = xp.nonzero(pairs)
    difference = vectors[at, row, :] - vectors[at, column, :]
    return xp.sum(difference * difference, axis=1)


_CELLS = 1 << 18  # numbers in one work array: small enough for the cache


def batches(
    block: Block, rows: Array, cutoff: int, work_size: Callable[[int], int]
) -> Iterator[tuple[Array, Array]]:
    """Yield batches of users with equally many items in the top k, at least two.

    Parameters
    ----------
    block : Block
        The users and the lengths of their lists.
    rows : array
        A value for each row of all lists.
    cutoff : int
        The cut-off k.
    work_size : callable
        Returns the size of the work array that a list of n items needs.

    Yields
    ------
    users : array of int, shape (u,)
        The users.
    values : array, shape (u, n)
        The values of the rows of their top k.
    """
    xp = namespace(block.list_length)
    starts = xp.cumulative_sum(block.list_length) - block.list_length
    length = xp.clip(block.list_length, max=cutoff)
    lengths = sorted({min(n, cutoff) for n in block.list_lengths})
    for n in lengths:
        if n < 2:
            continue
        users = xp.nonzero(length == n)[0] if len(lengths) > 1 else xp.arange(block.n_users)
        step = max(1, _CELLS // work_size(n))
        for first in range(0, users.shape[0], step):
            batch = users[first : first + step]
            index = xp.take(starts, batch)[:, None] + xp.arange(n)[None, :]
            yield batch, xp.reshape(xp.take(rows, xp.reshape(index, (-1,))), (-1, n))
