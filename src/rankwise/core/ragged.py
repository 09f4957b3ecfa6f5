"""Rows that belong together: offsets, runs, groups by user, and orders in them, without full sorts.

`offsets`, `runs` and `order_within` also take tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.kernels import map_threads, split_range
from rankwise.core.texts import string_views
from rankwise.core.vocabularies import Codes, Vocabulary

Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
TiedPairs: TypeAlias = Literal["right", "half", "wrong"]
"""How pairs count whose order is open, because both have the same place."""


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


def order_within(segment: Array, key: Array) -> Array:
    """Return the order of rows by segment, then by rising key; rows of equal keys keep their order.

    >>> order_within(np.array([1, 0, 1, 1]), np.array([0.5, 0.2, 0.1, 0.5])).tolist()
    [1, 2, 0, 3]
    """
    xp = namespace(key)
    by_key = xp.argsort(key, stable=True)
    return xp.take(by_key, xp.argsort(xp.take(segment, by_key), stable=True))


def count_rises(segment: Array, value: Array, n_segments: int) -> Array:
    """Return per segment the number of pairs of rows of which the later has the larger value.

    Rows are in order of segment. Values are compared bit by bit of their dense rank, the highest
    first: a pair is counted at the first bit in which it differs, so that the work is n log n and
    does not depend on the number of pairs.

    >>> count_rises(np.array([0, 0, 0, 1, 1]), np.array([1.0, 3.0, 2.0, 5.0, 5.0]), 2).tolist()
    [2.0, 0.0]
    """
    xp = namespace(value)
    rises = xp.zeros(n_segments, dtype=xp.float64)
    if not value.shape[0]:
        return rises

    _, rank = xp.unique_inverse(value)
    group = segment
    for bit in reversed(range(int(xp.max(rank)).bit_length())):
        is_high = (rank >> bit) & 1
        low = xp.astype(1 - is_high, xp.float64)
        lows_above = xp.cumulative_sum(low) - low
        first = xp.searchsorted(group, group)  # the first row of each row's group
        lows_above = lows_above - xp.take(lows_above, first)
        rises = rises + bincount(segment, lows_above * is_high, n_segments)

        order = order_within(group, is_high)
        rank, segment = xp.take(rank, order), xp.take(segment, order)
        pair = 2 * group + xp.take(is_high, order)  # groups keep their places
        group = xp.cumulative_sum(xp.astype(xp.diff(pair, prepend=pair[:1]) != 0, xp.int64))
    return rises


def count_wrong_pairs(
    segment: Array, place: Array, grade: Array, n_segments: int, *, tied: TiedPairs
) -> Array:
    """Return per segment the number of pairs of rows of which the later place has the larger grade.

    Rows are in order of segment. Pairs of equal grades are never wrong; those of equal places are
    ``"right"``, ``"wrong"``, or ``"half"`` of them wrong.

    >>> users, places, grades = np.zeros(3, int), np.array([1, 2, 2]), np.array([0.0, 3.0, 1.0])
    >>> [float(count_wrong_pairs(users, places, grades, 1, tied=tied)[0])
    ...  for tied in ("right", "half", "wrong")]
    [2.0, 2.5, 3.0]
    """
    if tied == "half":
        least, most = (
            count_wrong_pairs(segment, place, grade, n_segments, tied=end)
            for end in ("right", "wrong")
        )
        return (least + most) / 2.0

    xp = namespace(grade)
    by_grade = order_within(segment, grade if tied == "wrong" else -grade)
    order = xp.take(by_grade, order_within(segment, xp.take(place, by_grade)))
    return count_rises(segment, xp.take(grade, order), n_segments)


def segments_of(starts: Ints, rows: Ints) -> Ints:
    """Return the segment of each row.

    >>> segments_of(np.array([0, 2, 5]), np.array([1, 2, 4])).tolist()
    [0, 1, 1]
    """
    lengths = np.diff(starts)
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        segments: Ints = rows // lengths[0]
        return segments
    return np.searchsorted(starts, rows, side="right") - 1


def ragged_rows(starts: Ints, lengths: Ints) -> Ints:
    """Return the row numbers of several ranges, concatenated.

    >>> ragged_rows(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Ints = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return rows


def rows_of_groups(starts: Ints, groups: Ints) -> tuple[Ints | slice, Ints]:
    """Return the rows of groups, concatenated, and where each group starts.

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


def counting_sort(codes: Ints, size: int) -> tuple[Ints, Ints]:
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
    >>> starts, order = counting_sort(np.array([1, 0, 1]), 2)
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


def batches_by_length(starts: Ints, most: int) -> Iterator[Ints]:
    """Yield batches of segments of similar length (factor two), with at most ``most`` rows.

    >>> [part.tolist() for part in batches_by_length(np.array([0, 4, 5, 8, 9]), 100)]
    [[1, 3], [0, 2]]
    """
    lengths = np.diff(starts)
    bits = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    bits[lengths == 0] = -1
    for bit in np.unique(bits[bits >= 0]).tolist():
        of_length, step = np.flatnonzero(bits == bit), max(1, most >> bit)
        for first in range(0, len(of_length), step):
            yield of_length[first : first + step]


def padded_rows(starts: Ints, segments: Ints) -> tuple[Ints, Ints | None]:
    """Return the row numbers of segments as a padded matrix, and a mask of the actual rows.

    The second is None if all do: the segments are of one length. Other numbers are of any rows.

    >>> rows, filled = padded_rows(np.array([0, 2, 3]), np.array([0, 1]))
    >>> rows.tolist(), filled.tolist()
    ([[0, 1], [2, 2]], [[True, True], [True, False]])
    """
    sizes = (starts[1:] - starts[:-1])[segments]
    width = int(sizes.max())
    rows: Ints = starts[segments, None] + np.arange(width)
    if sizes.min() == width:
        return rows, None
    return np.minimum(rows, starts[-1] - 1), np.arange(width) < sizes[:, None]


def sort_segments(
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
    >>> sort_segments(np.array([0, 3, 5]), keys, [keys])[0].tolist()
    [1.0, 2.0, 3.0, 8.0, 9.0]
    """
    out = list(columns) if in_place else [np.array(column) for column in columns]

    def work(segments: Ints) -> None:
        rows, filled = padded_rows(starts, segments)
        if rows[0].size < 2:  # nothing to order
            return
        matrix = np.negative(keys[rows], dtype=np.float64) if descending else keys[rows]
        matrix = matrix if filled is None else np.where(filled, matrix, _padding(matrix.dtype))
        order = np.take_along_axis(rows, _order_rows(matrix, rows, breaker, filled), axis=1)
        target = rows if filled is None else rows[filled]
        order = order if filled is None else order[filled]
        for values, column in zip([column[order] for column in columns], out, strict=True):
            column[target] = values

    for _ in map_threads(work, batches_by_length(starts, 1 << 19), threads):
        pass
    return out


def _padding(dtype: np.dtype[Any]) -> Any:
    """Return a value that sorts after every key: the padding of short rows."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def _order_rows(
    keys: Ints, rows: Ints, breaker: Callable[[Ints], Ints] | None, filled: Ints | None
) -> Ints:
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
        padded = order[like_padding]
        is_padding = ~np.take_along_axis(filled[like_padding], padded, axis=1)
        last = np.argsort(is_padding, axis=1, kind="stable")
        order[like_padding] = np.take_along_axis(padded, last, axis=1)
    return order


@dataclass(frozen=True, eq=False, repr=False)
class UserItems:
    """Items of users, by code, concatenated."""

    starts: Ints
    items: Ints

    def rows_of(self, users: Ints) -> tuple[Ints, Ints]:
        """Return the rows of users, concatenated, and where each user starts."""
        has_items = users < len(self.starts) - 1
        lengths = np.where(has_items, np.diff(self.starts).take(users, mode="clip"), 0)
        first = self.starts[:-1].take(users, mode="clip")
        return ragged_rows(first, lengths), offsets(lengths)

    def of(self, users: Ints) -> UserItems:
        """Return the items of users in the given order; users may repeat."""
        rows, starts = self.rows_of(users)
        return UserItems(starts, self.items[rows])


_STEP = 1 << 17  # rows per step where a temporary array of a whole column would cost memory
_MOST = 1 << 23  # rows per step where such an array is of single bytes


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Rows grouped by user: the user and the start of each group, and the order of the rows."""

    user: Codes
    starts: Ints
    order: Ints | None = None
    """Row numbers, group by group; None where the rows already are in this order."""

    @classmethod
    def of_runs(cls, codes: Codes, starts: Ints | None) -> Self:
        """Return the groups of rows that are grouped already, as `user_runs` found them."""
        starts = np.arange(len(codes) + 1) if starts is None else starts
        return cls(codes, starts.astype(np.int64, copy=False))

    @classmethod
    def of_lengths(cls, lengths: Ints, order: Ints | None = None) -> Self:
        """Return the groups of the codes that have rows, given how many each code has."""
        user = np.flatnonzero(lengths)
        return cls(user, offsets(lengths[user]), order)


def group(users: pl.Series, vocabulary: Vocabulary) -> Groups:
    """Return rows grouped by user: as they are if grouped, else bucketed in linear time."""
    starts, codes = user_runs(users, vocabulary, threads=1)
    if are_distinct(codes, vocabulary.size):
        return Groups.of_runs(codes, starts)
    return group_by_code(expand_runs(codes, starts, len(users)), vocabulary.size)


def user_runs(users: pl.Series, vocabulary: Vocabulary, threads: int) -> tuple[Ints | None, Codes]:
    """Return where runs of one user start, and the code of each run: few ids to encode.

    In place of the starts None, if every row is taken for a run.
    """
    n = len(users)
    if not n:
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
    with _changes_of(users) as changes:
        sample = min(_STEP, n - 1)
        if n > 1 and len(changes((0, sample))) > sample // 2:  # hardly grouped: one run per row
            return None, vocabulary.encode(users, threads=threads)
        # Few jobs: handing one to a thread takes as long as looking through thousands of rows.
        jobs = split_range(n - 1, max(-(-n // _MOST), min(2 * threads, -(-n // _STEP))))
        starts = np.concatenate([[0], *map_threads(changes, jobs, threads), [n]])
    heads, text = starts[:-1], users.dtype == pl.String
    ids = users.gather(heads) if text else pl.Series(users.to_numpy()[heads])
    return starts, vocabulary.encode(ids)


@contextmanager
def _changes_of(users: pl.Series) -> Iterator[Callable[[tuple[int, int]], Ints]]:
    """Yield a function that finds the rows of a share whose user differs from the row before.

    A share does not have its first row, and has the one after its last.
    """
    text = users.dtype == pl.String
    values: Any = users if text else users.to_numpy()
    with string_views(users) as texts:

        def changes(share: tuple[int, int]) -> Ints:
            first, stop = share
            compiled: Ints | None = None
            if texts is not None:
                compiled = texts.changes(first + 1, stop + 1)
            elif not text:
                compiled = kernels.changes(values, first + 1, stop + 1)
            if compiled is not None:
                return compiled
            differ = values[first + 1 : stop + 1] != values[first:stop]
            rows = differ.arg_true().to_numpy() if text else np.flatnonzero(differ)
            return rows.astype(np.int64, copy=False) + (first + 1)

        yield changes


def expand_runs(codes: Codes, starts: Ints | None, n: int) -> Codes:
    """Expand codes of runs to codes of rows."""
    return codes if starts is None or len(codes) == n else np.repeat(codes, np.diff(starts))


def are_distinct(codes: Codes, size: int) -> bool:
    """Whether no code occurs twice: every user has one run of rows."""
    if len(codes) > size:
        return False
    if bool(np.all(codes[1:] > codes[:-1])):
        return True
    return bool(np.bincount(codes, minlength=size).max(initial=0) <= 1)


def are_small(items: Codes) -> bool:
    """Whether codes of items are from 0 to 2^31, so that half the memory holds them."""
    if not len(items):
        return True
    # As unsigned integers, negative codes are above all others.
    return bool(items.view(f"u{items.dtype.itemsize}").max() < 2 ** min(31, _bits(items)))


def _bits(items: Codes) -> int:
    """Return how many bits of a code are not its sign."""
    return 8 * items.dtype.itemsize - (items.dtype.kind == "i")


def group_by_code(codes: Codes, size: int) -> Groups:
    """Return rows grouped by code, with the order that they have then."""
    starts, order = counting_sort(codes, size)
    return Groups.of_lengths(np.diff(starts), order)


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """How often each code occurs, in shares of the rows that threads take."""

    shares: list[tuple[int, int]]
    of_share: list[Ints]

    @classmethod
    def of(cls, codes: Codes, size: int, items: Codes, threads: int) -> Counts | None:
        """Count codes; None if they, or the items of these rows, are not for compiled loops."""
        if items.dtype != np.int64 or not are_small(items):
            return None
        most = len(codes) // max(_STEP, 4 * size)  # shares: each has a count of every code
        jobs = split_range(len(codes), max(1, min(threads, most)))
        counted = map_threads(lambda share: kernels.count(codes, *share, size), jobs, threads)
        of_share = [counts for counts in counted if counts is not None]
        return cls(jobs, of_share) if len(of_share) == len(jobs) else None

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each code start, when they are put together."""
        return offsets(np.sum(self.of_share, axis=0))

    @property
    def groups(self) -> Groups:
        """The rows put together, of codes that have any."""
        return Groups.of_lengths(np.diff(self.starts))


def group_scored_items(
    codes: Codes,
    size: int,
    items: Codes,
    score: np.ndarray[tuple[int], np.dtype[np.float64]],
    threads: int,
) -> tuple[Groups, Codes, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return items and scores grouped by user, in their order inside each group."""
    counts = Counts.of(codes, size, items, threads)
    if counts is None or score.dtype != np.float64:
        return _grouped_by_scipy(codes, size, items, score)
    out = np.empty(len(items), dtype=np.int32), np.empty(len(items))
    # A share writes behind all earlier ones: rows of a user keep their order.
    places = counts.starts[:-1] + np.cumsum([np.zeros(size, np.int64), *counts.of_share[:-1]], 0)

    def move(share: int) -> None:
        kernels.scatter(codes, items, score, counts.shares[share], places[share], out)

    list(map_threads(move, range(len(counts.shares)), threads))
    return counts.groups, *out


def place_by_rank(
    counts: Counts, codes: Codes, rank: Ints, items: Codes, threads: int, base: int
) -> tuple[Codes, Ints, Codes] | None:
    """Return users, starts and items of lists whose ranks count up from ``base``, if all do."""
    out = np.full(len(items), -1, dtype=np.int32)
    fits = map_threads(
        lambda share: kernels.place(codes, rank, items, share, counts.starts, out, base),
        counts.shares,
        threads,
    )
    if not all(fits) or out.min() < 0:  # a rank that stands twice leaves a place empty
        return None
    return counts.groups.user, counts.groups.starts, out


def _grouped_by_scipy(
    codes: Codes, size: int, items: Codes, score: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[Groups, Codes, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Group rows like `group_scored_items`, by the conversion of a sparse matrix in SciPy."""
    from scipy.sparse import coo_array

    largest = np.iinfo(np.int64).max  # the last column of a matrix that SciPy can count
    if not are_small(items) and (items.min() < 0 or items.max() == largest):
        # These items are no columns of a matrix: rows are moved instead.
        groups, moved, score = _grouped_by_scipy(codes, size, np.arange(len(items)), score)
        return groups, items[moved], score
    n_items = int(items.max()) + 1
    index = np.int32 if max(len(items), size, n_items) < np.iinfo(np.int32).max else np.int64
    where: Any = codes.astype(index, copy=False), items.astype(index, copy=False)
    rows = coo_array((score, where), shape=(size, n_items))
    rows.has_canonical_format = True  # an item that stands twice for a user is not added up
    by_user = rows.tocsr()
    lengths = np.diff(by_user.indptr).astype(np.int64, copy=False)
    return Groups.of_lengths(lengths), by_user.indices, by_user.data
