"""Rows grouped by user: used as they are if already grouped, else moved in linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.ragged import Ints, bucket, offsets
from rankwise.core.texts import texts_of
from rankwise.core.threads import each, shares
from rankwise.core.vocabulary import Codes, Vocabulary

__all__ = [
    "Counts",
    "Groups",
    "are_distinct",
    "are_small",
    "bucketed",
    "group",
    "grouped",
    "placed",
    "spread",
    "user_runs",
]

_STEP = 1 << 17  # rows per step where a temporary array of a whole column would cost memory
_MOST = 1 << 23  # rows per step where such an array is of single bytes


@dataclass(frozen=True)
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
    return bucketed(spread(codes, starts, len(users)), vocabulary.size)


def user_runs(users: pl.Series, vocabulary: Vocabulary, threads: int) -> tuple[Ints | None, Codes]:
    """Return where runs of one user start, and the code of each run: few ids to encode.

    In place of the starts None, if every row is taken for a run.
    """
    n = len(users)
    if not n:
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
    with _changes_of(users) as changes:
        some = min(_STEP, n - 1)
        if n > 1 and len(changes((0, some))) > some // 2:  # hardly grouped: one run per row
            return None, vocabulary.encode(users)
        # Few jobs: handing one to a thread takes as long as looking through thousands of rows.
        jobs = shares(n - 1, max(-(-n // _MOST), min(2 * threads, -(-n // _STEP))))
        starts = np.concatenate([[0], *each(changes, jobs, threads), [n]])
    heads, text = starts[:-1], users.dtype == pl.String
    ids = users.gather(heads) if text else pl.Series(users.to_numpy()[heads])
    return starts, vocabulary.encode(ids)


@contextmanager
def _changes_of(users: pl.Series) -> Iterator[Callable[[tuple[int, int]], Ints]]:
    """Lend what finds the rows of a share whose user is not that of the row before.

    A share does not have its first row, and has the one after its last.
    """
    text = users.dtype == pl.String
    values: Any = users if text else users.to_numpy()
    with texts_of(users) as texts:

        def changes(share: tuple[int, int]) -> Ints:
            first, stop = share
            found: Ints | None = None
            if texts is not None:
                found = texts.changes(first + 1, stop + 1)
            elif not text:
                found = kernels.changes(values, first + 1, stop + 1)
            if found is not None:
                return found
            differ = values[first + 1 : stop + 1] != values[first:stop]
            rows = differ.arg_true().to_numpy() if text else np.flatnonzero(differ)
            return rows.astype(np.int64, copy=False) + (first + 1)

        yield changes


def spread(codes: Codes, starts: Ints | None, n: int) -> Codes:
    """Return the code of each row from that of its run."""
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


def bucketed(codes: Codes, size: int) -> Groups:
    """Return rows grouped by code, with the order that they have then."""
    starts, order = bucket(codes, size)
    return Groups.of_lengths(np.diff(starts), order)


@dataclass(frozen=True)
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
        jobs = shares(len(codes), max(1, min(threads, most)))
        found = each(lambda share: kernels.count(codes, *share, size), jobs, threads)
        of_share = [counts for counts in found if counts is not None]
        return cls(jobs, of_share) if len(of_share) == len(jobs) else None

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each code start, when they are put together."""
        return offsets(np.sum(self.of_share, axis=0))

    @property
    def groups(self) -> Groups:
        """The rows put together, of codes that have any."""
        return Groups.of_lengths(np.diff(self.starts))


def grouped(
    codes: Codes, size: int, items: Codes, score: np.ndarray[tuple[int], np.dtype[np.float64]], threads: int
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

    list(each(move, range(len(counts.shares)), threads))
    return counts.groups, *out


def placed(
    counts: Counts, codes: Codes, rank: Ints, items: Codes, threads: int, base: int
) -> tuple[Codes, Ints, Codes] | None:
    """Return users, starts and items of lists whose ranks count up from ``base``, if all do."""
    out = np.full(len(items), -1, dtype=np.int32)
    fits = each(
        lambda share: kernels.place(codes, rank, items, share, counts.starts, out, base), counts.shares, threads
    )
    if not all(fits) or out.min() < 0:  # a rank that stands twice leaves a place empty
        return None
    return counts.groups.user, counts.groups.starts, out


def _grouped_by_scipy(
    codes: Codes, size: int, items: Codes, score: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[Groups, Codes, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return what `grouped` does: SciPy moves both when a sparse matrix is put in order of rows."""
    from scipy.sparse import coo_array

    if not are_small(items) and items.min() < 0:  # no column of a matrix: rows are moved instead
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
