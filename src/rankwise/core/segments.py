"""Rows that belong together: runs, buckets and orders inside them, without a full sort."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ints", "bucket", "offsets", "order_within", "positions", "ragged_rows"]

Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]


def offsets(lengths: Ints) -> Ints:
    """Return where each segment starts, and after them where the last ends.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    out = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def positions(starts: Ints) -> Ints:
    """Return the place of every row in its segment, from 0.

    >>> positions(np.array([0, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    places: Ints = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return places


def ragged_rows(starts: Ints, lengths: Ints) -> Ints:
    """Return the row numbers of several ranges, one after the other.

    >>> ragged_rows(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Ints = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return rows


def bucket(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Group rows by code in linear time, keeping their order inside each group.

    A counting sort: reading a one-row sparse matrix by its columns is exactly that, and SciPy
    does it in C.

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
    from scipy.sparse import csr_array

    small = max(len(codes), size) < np.iinfo(np.int32).max
    index: type[Any] = np.int32 if small else np.int64
    end = np.array([0, len(codes)], dtype=index)
    row = (np.arange(len(codes), dtype=index), codes.astype(index, copy=False), end)
    grouped = csr_array(row, shape=(1, size)).tocsc()
    return grouped.indptr.astype(np.int64), grouped.data


def order_within(starts: Ints, keys: Ints, breaker: Callable[[Ints], Ints] | None = None) -> Ints:
    """Order the rows inside each segment by ascending key, without sorting across segments.

    Segments are handled in classes of similar length, each as one padded matrix that is sorted
    along its rows.

    Parameters
    ----------
    starts : array of int, shape (n_segments + 1,)
        Where each segment starts.
    keys : array, shape (n,)
        What to order by; finite.
    breaker : callable, optional
        What decides between equal keys: row numbers in, numbers to order by out. Without it rows
        keep their order.

    Returns
    -------
    array of int, shape (n,)
        Row numbers, segment by segment.

    Examples
    --------
    >>> order_within(np.array([0, 3, 5]), np.array([3., 1., 2., 9., 8.])).tolist()
    [1, 2, 0, 4, 3]
    """
    lengths = np.diff(starts)
    out = np.arange(starts[-1], dtype=np.int32 if starts[-1] < 2**31 else np.int64)
    sizes = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    sizes[lengths < 2] = -1  # nothing to order
    for size in np.unique(sizes[sizes >= 0]).tolist():
        members = np.flatnonzero(sizes == size)
        step = max(1, (1 << 20) >> size)
        for first in range(0, len(members), step):
            chosen = members[first : first + step]
            width, own = int(lengths[chosen].max()), lengths[chosen]
            rows = starts[chosen, None] + np.arange(width)
            if own.min() == width:
                order = _order_rows(keys[rows], rows, breaker)
                out[rows] = np.take_along_axis(rows, order, axis=1)
                continue
            real = np.arange(width) < own[:, None]
            padded = np.where(real, keys.take(rows, mode="clip"), np.inf)
            order = _order_rows(padded, rows.clip(max=starts[-1] - 1), breaker)
            out[rows[real]] = np.take_along_axis(rows, order, axis=1)[real]
    return out


def _order_rows(keys: Ints, rows: Ints, breaker: Callable[[Ints], Ints] | None) -> Ints:
    """Argsort each row; a fast unstable sort first, a stable one for the rows that have ties."""
    order = np.argsort(keys, axis=1)
    ordered = np.take_along_axis(keys, order, axis=1)
    equal = (ordered[:, 1:] == ordered[:, :-1]) & np.isfinite(ordered[:, 1:])  # padding is inf
    tied = np.flatnonzero(equal.any(axis=1))
    if len(tied):
        if breaker is None:
            order[tied] = np.argsort(keys[tied], axis=1, kind="stable")
        else:
            first = np.argsort(breaker(rows[tied]), axis=1, kind="stable")
            again = np.take_along_axis(keys[tied], first, axis=1)
            second = np.argsort(again, axis=1, kind="stable")
            order[tied] = np.take_along_axis(first, second, axis=1)
    return order
