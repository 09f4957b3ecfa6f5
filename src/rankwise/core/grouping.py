"""Rows grouped by user: as they are if they stand so, else moved in linear time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.ragged import Ints, bucket, offsets
from rankwise.core.threads import each
from rankwise.core.vocabulary import Codes, Vocabulary

__all__ = ["Groups", "are_distinct", "bucketed", "group", "grouped", "spread", "user_runs"]

_STEP = 1 << 17  # rows per step where a temporary array of a whole column would cost memory


@dataclass(frozen=True)
class Groups:
    """Rows grouped by user: the user and the start of each group, and the order of the rows."""

    user: Codes
    starts: Ints
    order: Ints | None
    """Row numbers, group by group; None where the rows already are in this order."""


def group(users: pl.Series, vocabulary: Vocabulary) -> Groups:
    """Return rows grouped by user: as they are if grouped, else bucketed in linear time."""
    starts, codes = user_runs(users, vocabulary, threads=1)
    if are_distinct(codes, vocabulary.size):
        return Groups(codes, starts.astype(np.int64, copy=False), None)
    return bucketed(spread(codes, starts, len(users)), vocabulary.size)


def user_runs(users: pl.Series, vocabulary: Vocabulary, threads: int) -> tuple[Ints, Codes]:
    """Return where runs of one user start, and the code of each run: few ids to encode."""
    n = len(users)
    if not n:
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
    text = users.dtype == pl.String
    values: Any = users if text else users.to_numpy()

    def changes(first: int) -> Ints:
        stop = min(first + _STEP, n - 1)
        found = None if text else kernels.changes(values, first + 1, stop + 1)
        if found is not None:
            return found
        differ = values[first + 1 : stop + 1] != values[first:stop]
        return np.flatnonzero(differ.to_numpy() if text else differ) + (first + 1)

    jobs = range(0, n - 1, _STEP)
    if n > 1 and len(changes(0)) > min(_STEP, n - 1) // 2:  # hardly grouped: one run per row
        rows = np.arange(n + 1, dtype=np.int32 if n < 2**31 - 1 else np.int64)
        return rows, vocabulary.encode(users)
    starts = np.concatenate([[0], *each(changes, jobs, threads), [n]])
    return starts, vocabulary.encode(users.gather(starts[:-1]))


def spread(codes: Codes, starts: Ints, n: int) -> Codes:
    """Return the code of each row from that of its run."""
    return codes if len(codes) == n else np.repeat(codes, np.diff(starts))


def are_distinct(codes: Codes, size: int) -> bool:
    """Whether no code occurs twice: every user has one run of rows."""
    if len(codes) > size:
        return False
    return bool(np.bincount(codes, minlength=size).max(initial=0) <= 1)


def bucketed(codes: Codes, size: int) -> Groups:
    """Return rows grouped by code, with the order that they have then."""
    starts, order = bucket(codes, size)
    lengths = np.diff(starts)
    user = np.flatnonzero(lengths)
    return Groups(user, offsets(lengths[user]), order)


def grouped(
    codes: Codes, size: int, items: Codes, score: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[Groups, Codes, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return items and scores grouped by user, in their order inside each group.

    SciPy moves both in one pass when a sparse matrix is put in order of rows.
    """
    from scipy.sparse import coo_array

    n_items = int(items.max()) + 1
    index = np.int32 if max(len(items), size, n_items) < np.iinfo(np.int32).max else np.int64
    where: Any = codes.astype(index, copy=False), items.astype(index, copy=False)
    rows = coo_array((score, where), shape=(size, n_items))
    rows.has_canonical_format = True  # an item that stands twice for a user is not added up
    by_user = rows.tocsr()
    lengths = np.diff(by_user.indptr)
    user = np.flatnonzero(lengths)
    starts = offsets(lengths[user].astype(np.int64, copy=False))
    return Groups(user, starts, None), by_user.indices, by_user.data
