"""Rows that belong together: runs, buckets and orders inside them, without a full sort.

`offsets` and `runs` also take tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rankwise.core import kernels
from rankwise.core.arrays import namespace
from rankwise.core.threads import each

__all__ = [
    "Ints",
    "UserItems",
    "bucket",
    "offsets",
    "owners",
    "padded",
    "positions",
    "ragged_rows",
    "reorder",
    "rows_of_groups",
    "runs",
    "similar",
]

Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]


def offsets(lengths: Ints) -> Ints:
    """Return where each segment starts, and after them where the last ends.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    xp = namespace(lengths)
    first: Ints = xp.zeros(1, dtype=xp.int64)
    return xp.concat([first, xp.cumulative_sum(lengths, dtype=xp.int64)])  # type: ignore[no-any-return]


def positions(starts: Ints) -> Ints:
    """Return the position of every row in its segment, from 0.

    >>> positions(np.array([0, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    out: Ints = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return out


def runs(*keys: Ints) -> Ints:
    """Return where each run of rows with equal keys starts, and after them where the last ends.

    >>> runs(np.array([4, 4, 7, 7]), np.array([0.5, 0.5, 0.5, 0.1])).tolist()
    [0, 2, 3, 4]
    """
    xp = namespace(*keys)
    is_first = xp.ones(keys[0].shape[0] + 1, dtype=xp.bool)
    if keys[0].shape[0] > 1:
        is_first[1:-1] = keys[0][1:] != keys[0][:-1]
        for key in keys[1:]:
            is_first[1:-1] |= key[1:] != key[:-1]
    elif not keys[0].shape[0]:
        return xp.zeros(1, dtype=xp.int64)  # type: ignore[no-any-return]
    return xp.nonzero(is_first)[0]  # type: ignore[no-any-return]


def owners(starts: Ints, rows: Ints) -> Ints:
    """Return the segment of each row.

    >>> owners(np.array([0, 2, 5]), np.array([1, 2, 4])).tolist()
    [0, 1, 1]
    """
    lengths = np.diff(starts)
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        segments: Ints = rows // lengths[0]
        return segments
    return np.searchsorted(starts, rows, side="right") - 1


def ragged_rows(starts: Ints, lengths: Ints) -> Ints:
    """Return the row numbers of several ranges, one after the other.

    >>> ragged_rows(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Ints = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return rows


def rows_of_groups(starts: Ints, groups: Ints) -> tuple[Ints | slice, Ints]:
    """Return the rows of some groups one after the other, and where each group starts.

    The rows are a slice if they are adjacent; group -1 has none.

    >>> rows, starts = rows_of_groups(np.array([0, 2, 3]), np.array([1, -1, 0]))
    >>> rows.tolist(), starts.tolist()
    ([2, 0, 1], [0, 1, 1, 3])
    """
    if len(groups) and groups[0] >= 0 and bool(np.all(np.diff(groups) == 1)):
        edges = starts[groups[0] : groups[-1] + 2]
        return slice(int(edges[0]), int(edges[-1])), edges - edges[0]
    lengths = np.where(groups >= 0, np.diff(starts).take(groups, mode="clip"), 0)
    return ragged_rows(starts.take(groups, mode="clip"), lengths), offsets(lengths)


def bucket(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Return rows grouped by code, in linear time, in their order inside each group.

    This is a counting sort. Where it is not compiled, SciPy does it when a sparse matrix of one row
    is read by columns.

    Parameters
    ----------
    codes : array of int, shape (n,)
        The group of every row.
    size : int
        The number of groups.

    Returns
    -------
    starts : array of int, shape (size + 1,)
        Where each group starts in ``order``.
    order : array of int, shape (n,)
        Row numbers, group by group.

    Examples
    --------
    >>> starts, order = bucket(np.array([1, 0, 1]), 2)
    >>> starts.tolist(), order.tolist()
    ([0, 1, 3], [1, 0, 2])
    """
    if len(codes) and bool(np.all(codes[1:] >= codes[:-1])):
        return np.searchsorted(codes, np.arange(size + 1)).astype(np.int64), np.arange(len(codes))
    wide = codes.astype(np.int64, copy=False)
    counts = kernels.count(wide, 0, len(wide), size)
    if counts is not None:
        starts = offsets(counts)
        return starts, kernels.bucket(wide, starts)
    from scipy.sparse import csr_array

    small = max(len(codes), size) < np.iinfo(np.int32).max
    index: type[Any] = np.int32 if small else np.int64
    end = np.array([0, len(codes)], dtype=index)
    row = (np.arange(len(codes), dtype=index), codes.astype(index, copy=False), end)
    grouped = csr_array(row, shape=(1, size)).tocsc()
    return grouped.indptr.astype(np.int64), grouped.data


def similar(starts: Ints, most: int) -> Iterator[Ints]:
    """Yield segments of similar length, up to twice the shortest, with at most some rows together.

    >>> [part.tolist() for part in similar(np.array([0, 4, 5, 8, 9]), 100)]
    [[1, 3], [0, 2]]
    """
    lengths = np.diff(starts)
    bits = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    bits[lengths == 0] = -1
    for bit in np.unique(bits[bits >= 0]).tolist():
        of_length, step = np.flatnonzero(bits == bit), max(1, most >> bit)
        for first in range(0, len(of_length), step):
            yield of_length[first : first + step]


def padded(starts: Ints, segments: Ints) -> tuple[Ints, Ints | None]:
    """Return the row numbers of some segments as a matrix, and which of them belong to these.

    The second is None if all do: the segments are of one length. Other numbers are of any rows.

    >>> rows, filled = padded(np.array([0, 2, 3]), np.array([0, 1]))
    >>> rows.tolist(), filled.tolist()
    ([[0, 1], [2, 2]], [[True, True], [True, False]])
    """
    sizes = (starts[1:] - starts[:-1])[segments]
    width = int(sizes.max())
    rows: Ints = starts[segments, None] + np.arange(width)
    if sizes.min() == width:
        return rows, None
    return np.minimum(rows, starts[-1] - 1), np.arange(width) < sizes[:, None]


def reorder(
    starts: Ints,
    keys: Ints,
    columns: Sequence[Ints],
    *,
    breaker: Callable[[Ints], Ints] | None = None,
    descending: bool = False,
    in_place: bool = False,
    threads: int = 1,
) -> list[Ints]:
    """Return columns whose rows are in order of a key inside each segment.

    Segments of similar length form a padded matrix, which is sorted along its rows: no sort goes
    across segments.

    Parameters
    ----------
    starts : array of int, shape (n_segments + 1,)
        Where each segment starts.
    keys : array, shape (n,)
        Finite sort keys; they may be one of the columns.
    columns : sequence of arrays, shape (n,)
        The columns to put in order.
    breaker : callable, optional
        Breaks ties between keys: takes row numbers, returns numbers to order by, always
        ascending. Without it rows of equal keys keep their order.
    descending : bool, default=False
        Largest key first.
    in_place : bool, default=False
        Write into ``columns`` themselves.
    threads : int, default=1
        Threads to use.

    Returns
    -------
    list of arrays
        The columns in order.

    Examples
    --------
    >>> keys = np.array([3.0, 1.0, 2.0, 9.0, 8.0])
    >>> reorder(np.array([0, 3, 5]), keys, [keys])[0].tolist()
    [1.0, 2.0, 3.0, 8.0, 9.0]
    """
    out = list(columns) if in_place else [np.array(column) for column in columns]

    def work(segments: Ints) -> None:
        rows, filled = padded(starts, segments)
        if rows[0].size < 2:  # nothing to order
            return
        matrix = np.negative(keys[rows], dtype=np.float64) if descending else keys[rows]
        matrix = matrix if filled is None else np.where(filled, matrix, _padding(matrix.dtype))
        order = np.take_along_axis(rows, _order_rows(matrix, rows, breaker, filled), axis=1)
        target = rows if filled is None else rows[filled]
        order = order if filled is None else order[filled]
        for values, column in zip([column[order] for column in columns], out, strict=True):
            column[target] = values

    for _ in each(work, similar(starts, 1 << 19), threads):
        pass
    return out


def _padding(dtype: np.dtype[Any]) -> Any:
    """Return a value that sorts after every key: the padding of short rows."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def _order_rows(keys: Ints, rows: Ints, breaker: Callable[[Ints], Ints] | None, filled: Ints | None) -> Ints:
    """Return the order of each row: by a fast unstable sort, by a stable one where keys tie.

    ``filled`` says which keys are no padding; padding stays behind, even behind infinite keys.
    """
    order = np.argsort(keys, axis=1)
    ordered = np.take_along_axis(keys, order, axis=1)
    equal = ordered[:, 1:] == ordered[:, :-1]
    like_padding = np.zeros(len(keys), dtype=bool)
    if filled is not None:
        equal &= ordered[:, 1:] != _padding(keys.dtype)
        like_padding = ((keys == _padding(keys.dtype)) & filled).any(axis=1)
    tied = np.flatnonzero(equal.any(axis=1) | like_padding)
    if len(tied):
        if breaker is None:
            order[tied] = np.argsort(keys[tied], axis=1, kind="stable")
        else:
            first = np.argsort(breaker(rows[tied]), axis=1, kind="stable")
            again = np.take_along_axis(keys[tied], first, axis=1)
            second = np.argsort(again, axis=1, kind="stable")
            order[tied] = np.take_along_axis(first, second, axis=1)
    if filled is not None and like_padding.any():
        some = order[like_padding]
        is_padding = ~np.take_along_axis(filled[like_padding], some, axis=1)
        last = np.argsort(is_padding, axis=1, kind="stable")
        order[like_padding] = np.take_along_axis(some, last, axis=1)
    return order


@dataclass(frozen=True)
class UserItems:
    """Items of users, by code, one user after the other."""

    starts: Ints
    items: Ints

    def rows_of(self, users: Ints) -> tuple[Ints, Ints]:
        """Return the rows of some users one after the other, and where each user starts."""
        known = users < len(self.starts) - 1
        lengths = np.where(known, np.diff(self.starts).take(users, mode="clip"), 0)
        first = self.starts[:-1].take(users, mode="clip")
        return ragged_rows(first, lengths), offsets(lengths)
