"""Blocks of scores: some users by all items in one buffer a thread, used again and again."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankwise.core.parallel import each, one_blas_thread
from rankwise.core.segments import Ints, offsets
from rankwise.errors import ScoreError
from rankwise.progress import Progress
from rankwise.ranking.scores import ROWS, Floats, rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.core.facts import UserItems
    from rankwise.ranking.pool import Pool

__all__ = ["Offered", "check_scores", "dense_blocks", "offered_blocks"]

_CELLS = 1 << 22  # cells of a block: a few times the last cache, so that products are worth it
_BYTES = 1 << 29  # of all buffers together
_PAIRS = 1 << 20  # users and candidates scored at a time where each user has its own
_T = TypeVar("_T")


def dense_blocks(
    pool: Pool,
    work: Callable[[Ints, Floats], _T],
    *,
    groups: int,
    threads: int,
    progress: bool | None,
) -> Iterator[_T]:
    """Work on the scores of some users over all items, minus infinity where not a candidate.

    ``work`` gets codes of users and their scores, shape (B, width), which it may change.
    """
    scores, width = pool.scores, rounded_up(pool.scores.n_items, groups)
    rows = max(ROWS, _CELLS // width // ROWS * ROWS)
    while rows > 1 and rows * width * scores.dtype.itemsize > _BYTES // 2:
        rows //= 2
    fitting = _BYTES // (rows * width * scores.dtype.itemsize)
    buffers = threading.local()

    def block(first: int) -> tuple[int, _T]:
        if not hasattr(buffers, "own"):
            buffers.own = np.empty((rows, width), dtype=scores.dtype)
        users, own = pool.ranked[first : first + rows], buffers.own
        scores.fill(users, own)
        own[:, scores.n_items :] = -np.inf
        if pool.excluded is not None:
            own.ravel()[_cells(pool.excluded, users, width)] = -np.inf
        return len(users), work(users, own[: len(users)])

    jobs = range(0, len(pool.ranked), rows)
    with one_blas_thread(), Progress(len(pool.ranked), "users", shown=progress) as bar:
        for done, out in each(block, jobs, max(1, min(threads, fitting))):
            bar.advance(done)
            yield out


def _cells(items: UserItems, users: Ints, width: int) -> Ints:
    """Return the cells of a block that some users' items are in, counted row by row."""
    rows, starts = items.rows_of(users)
    cells: Ints = np.repeat(np.arange(len(users)) * width, np.diff(starts))
    cells += items.items[rows]
    return cells


@dataclass(frozen=True)
class Offered:
    """Some users, and the scores of each one's own candidates, user by user."""

    users: Ints
    starts: Ints
    items: Ints
    scores: Floats


def offered_blocks(
    pool: Pool, work: Callable[[Offered], _T], *, threads: int, progress: bool | None
) -> Iterator[_T]:
    """Work on the scores of some users, each over its own candidates."""
    offered = pool.offered
    assert offered is not None
    ends = offsets(np.diff(offered.starts)[pool.ranked])

    def block(chosen: slice) -> tuple[int, _T]:
        users = pool.ranked[chosen]
        rows, starts = offered.rows_of(users)
        items = offered.items[rows]
        if pool.excluded is not None:
            starts, items = _less(starts, items, pool.excluded, users)
        found = pool.scores.pairs(np.repeat(users, np.diff(starts)), items)
        bad = np.isnan(found) | (found == np.inf)
        if bad.any():
            at = int(np.argmax(bad))
            owner = int(np.searchsorted(starts, at, side="right")) - 1
            raise _bad_score(pool, int(users[owner]), int(items[at]), found[at])
        kept = found > -np.inf
        if not kept.all():
            starts, items, found = offsets(kept)[starts], items[kept], found[kept]
        return len(users), work(Offered(users, starts, items, found))

    jobs, first = [], 0
    while first < len(pool.ranked):
        stop = int(np.searchsorted(ends, ends[first] + _PAIRS, side="right")) - 1
        stop = min(max(stop, first + 1), len(pool.ranked))
        jobs.append(slice(first, stop))
        first = stop
    with one_blas_thread(), Progress(len(pool.ranked), "users", shown=progress) as bar:
        for done, out in each(block, jobs, threads):
            bar.advance(done)
            yield out


def _less(starts: Ints, items: Ints, excluded: UserItems, users: Ints) -> tuple[Ints, Ints]:
    """Take excluded items out of candidates; a candidate may stand there more than once."""
    gone, edges = excluded.rows_of(users)
    width = max(int(items.max(initial=0)), int(excluded.items.max(initial=0))) + 1
    own = np.repeat(np.arange(len(users)), np.diff(starts)) * width + items
    out = np.repeat(np.arange(len(users)), np.diff(edges)) * width + excluded.items[gone]
    keep = ~np.isin(own, out)
    return offsets(keep)[starts], items[keep]


def check_scores(pool: Pool, users: Ints, scores: Floats, largest: Floats) -> None:
    """Raise if a score is NaN or infinite: the largest of any of a user's then is.

    ``scores`` has shape (B, I), and ``largest`` (B, n) the maxima of parts of its rows.
    """
    bad = (np.isnan(largest) | (largest == np.inf)).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        item = int(np.argmax(np.isnan(scores[row]) | (scores[row] == np.inf)))
        raise _bad_score(pool, int(users[row]), item, scores[row, item])


def _bad_score(pool: Pool, user: int, item: int, value: Any) -> ScoreError:
    """Name the user and the item of a score that is no number."""
    return ScoreError(
        "a score is NaN or infinite",
        where=f"scores, user {pool.users.ids[user]!r}, item {pool.items.ids[item]!r}",
        found=str(value),
        hint="find out why the model gives no number; minus infinity marks what is no candidate",
    )
