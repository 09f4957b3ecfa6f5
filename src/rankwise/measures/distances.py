"""Sums of the distances between the items of a list: cosine, Euclidean, Jaccard, or custom.

A distance first prepares the vectors of all items, then sums over the ordered pairs of items of
many lists of equal length. Each sum depends on its own list alone, not on those summed with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from rankwise.core.arrays import Array, is_tensor, namespace
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import unit_vectors

__all__ = ["NAMED", "CosineDistance", "CustomDistance", "Distance", "EuclideanDistance", "JaccardDistance"]

_STRIP = 24  # rows of a strip: a multiple of 4, 8 and 12, which BLAS multiplies fastest
_NEAR = 2.0**-20  # squared distances below this share of the squared lengths have lost digits
_ROUNDING = 2.0**-46  # those below this one have none left


class Distance(ABC):
    """A distance between two items, each of which is described by a vector."""

    def prepare(self, vectors: Array) -> Array:
        """Return what `sum` needs of each item, (n_items, d) to (n_items, e)."""
        return vectors

    @abstractmethod
    def sum(self, items: Array) -> Array:
        """Sum the distances over ordered pairs of the n items of each list, (u, n, e) to (u,)."""

    def work_size(self, n: int, width: int) -> int:
        """Return the size of the largest work array for a list of n items, ``width`` = e."""
        return n * max(width, 2 * _STRIP)


class CosineDistance(Distance):
    """1 minus the cosine of the angle between two vectors; 1 if one of them is zero."""

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
        between BLAS libraries; there the difference x - y itself is squared. Tensors would have
        to wait for the number of such pairs: there a distance of nothing but rounding is 0.
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


class CustomDistance(Distance):
    """A function from the vectors of n items, (n, d), to their distances, (n, n)."""

    def __init__(self, function: Callable[[Array], Array], name: str) -> None:
        self._function, self._name = function, name

    def sum(self, items: Array) -> Array:
        """Sum the distances of one list after the other."""
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
        """Yield the first row of each strip, and the first row after it."""
        return zip(self._edges, self._edges[1:], strict=False)

    def sum(self, strip: Array) -> Array:
        """Sum twice what is right of the diagonal, in a strip of each list, (u, r, c) to (u,)."""
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
