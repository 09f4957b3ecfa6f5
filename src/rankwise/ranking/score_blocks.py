"""Blocks of scores: some users by all items, or some users with their candidates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl

from rankwise.core.progress import progress_bar
from rankwise.core.ragged import Ints, UserItems, offsets
from rankwise.core.threads import each, one_blas_thread
from rankwise.errors import ScoreError
from rankwise.ranking.pool import Pool
from rankwise.ranking.scores import ROWS, Floats, rounded_up

__all__ = ["CandidateScores", "check_scores", "is_in", "map_blocks", "pair_keys"]

_CELLS = 1 << 23  # cells per block: BLAS arranges the items anew for every block
_APART = 16  # cells between rows: rows a power of two apart would share few lines of the caches
_BYTES = 1 << 29  # limit for all buffers together
_PAIRS = 1 << 20  # user-item pairs per block where every user has a candidate set
_T = TypeVar("_T")


@dataclass(frozen=True)
class CandidateScores:
    """Some users, and the scores of the candidates of each, user by user."""

    users: Ints
    starts: Ints
    items: Ints
    scores: Floats


def map_blocks(
    pool: Pool,
    of_all_items: Callable[[Ints, Floats], _T],
    of_candidates: Callable[[CandidateScores], _T],
    *,
    groups: int,
    threads: int,
    progress: bool | None,
) -> Iterator[_T]:
    """Yield the result for each block of users: of ``of_candidates`` if there are candidate sets.

    Else of ``of_all_items``, which takes B users and their scores, shape (B, width), with minus
    infinity for non-candidates; ``groups`` divides ``width``. It may overwrite the scores: they are
    in one buffer per thread.
    """
    if pool.candidates is None:
        work, blocks, most_threads = _dense_blocks(pool, of_all_items, groups)
        threads = min(threads, most_threads)
    else:
        work, blocks = _candidate_blocks(pool, pool.candidates, of_candidates)
    with one_blas_thread(), progress_bar(len(pool.ranked_users), "users", shown=progress) as bar:
        for users, result in zip(blocks, each(work, blocks, threads), strict=True):
            bar.update(len(users))
            yield result


def _dense_blocks(
    pool: Pool, of_all_items: Callable[[Ints, Floats], _T], groups: int
) -> tuple[Callable[[Ints], _T], list[Ints], int]:
    """Return the work on a block of users, the blocks, and the largest number of threads."""
    scores, width = pool.scores, rounded_up(pool.scores.n_items, groups)
    stride = width + _APART
    rows = max(ROWS, _CELLS // stride // ROWS * ROWS)
    rows = min(rows, rounded_up(len(pool.ranked_users), ROWS))
    while rows > 1 and rows * stride * scores.dtype.itemsize > _BYTES // 2:
        rows //= 2
    buffers = threading.local()

    def work(users: Ints) -> _T:
        if not hasattr(buffers, "scores"):
            buffers.scores = np.empty((rows, stride), dtype=scores.dtype)
        cells, buffer = buffers.scores.ravel(), buffers.scores[:, :width]
        scores.fill(users, buffer)
        buffer[:, scores.n_items :] = -np.inf
        if pool.excluded is not None:
            cells[pair_keys(pool.excluded, users, stride)] = -np.inf
        return of_all_items(users, buffer[: len(users)])

    starts = range(0, len(pool.ranked_users), rows)
    blocks = [pool.ranked_users[first : first + rows] for first in starts]
    return work, blocks, max(1, _BYTES // (rows * stride * scores.dtype.itemsize))


def pair_keys(items: UserItems, users: Ints, width: int) -> Ints:
    """Return the key of each user-item pair: the user's position in ``users`` * width + item."""
    rows, starts = items.rows_of(users)
    out: Ints = np.repeat(np.arange(len(users)) * width, np.diff(starts))
    out += items.items[rows]
    return out


def is_in(keys: Ints, others: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which keys are among others: by hashing, in a tenth of the time of `numpy.isin`."""
    return pl.Series(keys).is_in(pl.Series(others).implode()).to_numpy()


def _candidate_blocks(
    pool: Pool, candidates: UserItems, of_candidates: Callable[[CandidateScores], _T]
) -> tuple[Callable[[Ints], _T], list[Ints]]:
    """Return the work on a block of users, and the blocks."""

    def work(users: Ints) -> _T:
        rows, starts = candidates.rows_of(users)
        items = candidates.items[rows]
        if pool.excluded is not None:
            starts, items = _without(starts, items, pool.excluded, users)
        scores = pool.scores.pairs(np.repeat(users, np.diff(starts)), items)
        bad = np.isnan(scores) | (scores == np.inf)
        if bad.any():
            row = int(np.argmax(bad))
            user = int(users[int(np.searchsorted(starts, row, side="right")) - 1])
            raise _bad_score(pool, user, int(items[row]), scores[row])
        kept = scores > -np.inf
        if not kept.all():
            starts, items, scores = offsets(kept)[starts], items[kept], scores[kept]
        return of_candidates(CandidateScores(users, starts, items, scores))

    ends = offsets(np.diff(candidates.starts)[pool.ranked_users])
    blocks, first = [], 0
    while first < len(pool.ranked_users):
        stop = int(np.searchsorted(ends, ends[first] + _PAIRS, side="right")) - 1
        stop = min(max(stop, first + 1), len(pool.ranked_users))
        blocks.append(pool.ranked_users[first:stop])
        first = stop
    return work, blocks


def _without(starts: Ints, items: Ints, excluded: UserItems, users: Ints) -> tuple[Ints, Ints]:
    """Return candidates without the excluded items; a candidate may be repeated."""
    width = max(int(items.max(initial=0)), int(excluded.items.max(initial=0))) + 1
    pairs = np.repeat(np.arange(len(users)), np.diff(starts)) * width + items
    keep = ~is_in(pairs, pair_keys(excluded, users, width))
    return offsets(keep)[starts], items[keep]


def check_scores(pool: Pool, users: Ints, scores: Floats, largest: Floats) -> None:
    """Raise if a score is NaN or infinity: a maximum over part of its row then is, too.

    ``scores`` has shape (B, I), ``largest`` shape (B, n): the maxima of parts of its rows.
    """
    bad = (np.isnan(largest) | (largest == np.inf)).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        item = int(np.argmax(np.isnan(scores[row]) | (scores[row] == np.inf)))
        raise _bad_score(pool, int(users[row]), item, scores[row, item])


def _bad_score(pool: Pool, user: int, item: int, value: Any) -> ScoreError:
    """Return the error that names the user and the item of a NaN or infinite score."""
    return ScoreError(
        "a score is NaN or infinite",
        where=f"scores, user {pool.users.ids[user]!r}, item {pool.items.ids[item]!r}",
        found=str(value),
        hint="find out why the model gives no number; minus infinity excludes an item from the candidate set",
    )
