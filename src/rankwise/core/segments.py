"""Rows that belong together: runs, buckets and orders inside them, without a full sort."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise.core.parallel import each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Ints", "bucket", "offsets", "owners", "positions", "ragged_rows", "reorder", "runs"]

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


def runs(*keys: Ints) -> Ints:
    """Return where each run of rows with equal keys starts, and after them where the last ends.

    >>> runs(np.array([4, 4, 7, 7]), np.array([0.5, 0.5, 0.5, 0.1])).tolist()
    [0, 2, 3, 4]
    """
    new = np.ones(len(keys[0]), dtype=bool)
    new[1:] = False
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.append(np.flatnonzero(new), len(new))


def owners(starts: Ints, rows: Ints) -> Ints:
    """Return the segment that each row stands in.

    >>> owners(np.array([0, 2, 5]), np.array([1, 2, 4])).tolist()
    [0, 1, 1]
    """
    lengths = np.diff(starts)
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        of: Ints = rows // lengths[0]
        return of
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
    """Put the rows of each segment in order of a key, without sorting across segments.

    Segments are handled in classes of similar length, each as one padded matrix that is sorted
    along its rows.

    Parameters
    ----------
    starts : array of int, shape (n_segments + 1,)
        Where each segment starts.
    keys : array, shape (n,)
        What to order by; finite. It may be one of the columns.
    columns : sequence of arrays, shape (n,)
        What to put in order.
    breaker : callable, optional
        What decides between equal keys: row numbers in, numbers to order by out, always
        ascending. Without it rows of equal keys keep their order.
    descending : bool
        Largest key first.
    in_place : bool
        Write into ``columns`` themselves.
    threads : int
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
    lengths = np.diff(starts)
    sizes = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    sizes[lengths < 2] = -1  # nothing to order
    jobs = [
        members[first : first + (max(1, (1 << 19) >> size))]
        for size in np.unique(sizes[sizes >= 0]).tolist()
        for members in [np.flatnonzero(sizes == size)]
        for first in range(0, len(members), max(1, (1 << 19) >> size))
    ]

    def work(chosen: Ints) -> None:
        own = lengths[chosen]
        width = int(own.max())
        rows = starts[chosen, None] + np.arange(width)
        real = None if own.min() == width else np.arange(width) < own[:, None]
        rows = rows if real is None else np.minimum(rows, starts[-1] - 1)
        own_keys = np.negative(keys[rows], dtype=np.float64) if descending else keys[rows]
        own_keys = own_keys if real is None else np.where(real, own_keys, _last(own_keys.dtype))
        order = np.take_along_axis(rows, _order_rows(own_keys, rows, breaker), axis=1)
        into = rows if real is None else rows[real]
        order = order if real is None else order[real]
        for column, target in zip([column[order] for column in columns], out, strict=True):
            target[into] = column

    for _ in each(work, jobs, threads):
        pass
    return out


def _last(kind: np.dtype[Any]) -> Any:
    """Return what stands after every key: the padding of rows that are shorter than others."""
    return kind.type(np.inf if kind.kind == "f" else np.iinfo(kind).max)


def _order_rows(keys: Ints, rows: Ints, breaker: Callable[[Ints], Ints] | None) -> Ints:
    """Argsort each row; a fast unstable sort first, a stable one for the rows that have ties."""
    order = np.argsort(keys, axis=1)
    ordered = np.take_along_axis(keys, order, axis=1)
    equal = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != _last(keys.dtype))
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
