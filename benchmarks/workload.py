"""Seeded work to measure with: lists and truth of the shape of MovieLens-20M, and of any other.

Everything is made with whole-array operations from one seed, so that every run on every machine
metrics the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Workload", "movielens", "scored", "shuffled", "strings", "uniform"]

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

MOVIELENS_USERS = 138_493
MOVIELENS_ITEMS = 26_744
MOVIELENS_TRUTH = 2_000_000
LIST_LENGTH = 100
SKEW = 0.9

_USERS_AT_ONCE = 1 << 14
_SPREAD = 4  # truth of uniform work is drawn from this many times the list: a quarter is hit


@dataclass(frozen=True)
class Workload:
    """Recommendations and truth.

    Attributes
    ----------
    recs : polars.DataFrame
        ``user``, ``item``, and ``rank`` or ``score``: a row a recommended item.
    truth : polars.DataFrame
        ``user``, ``item``: a row a relevant item.
    """

    recs: pl.DataFrame
    truth: pl.DataFrame

    @property
    def rows(self) -> int:
        """Rows of both tables."""
        return len(self.recs) + len(self.truth)


def movielens(users: int = MOVIELENS_USERS, *, seed: int = 20) -> Workload:
    """Make lists of 100 items and 2,000,000 truth rows, with popular items in most of them.

    The popularity of items falls like a power of their place, and their ids are permuted, so that
    the size of an id says nothing about its popularity. Rows are grouped by user, lists ranked.

    Parameters
    ----------
    users : int
        How many users; the number of truth rows keeps its proportion.
    seed : int
        Where the random numbers start.
    """
    rng = np.random.default_rng(seed)
    popularity = np.cumsum(np.arange(1, MOVIELENS_ITEMS + 1) ** -SKEW)
    popularity /= popularity[-1]
    ids = rng.permutation(MOVIELENS_ITEMS)

    def draw(shape: tuple[int, ...]) -> Ints:
        return np.searchsorted(popularity, rng.random(shape), side="right").astype(np.int64)

    parts = [
        _distinct_rows(draw, min(_USERS_AT_ONCE, users - first), LIST_LENGTH)
        for first in range(0, users, _USERS_AT_ONCE)
    ]
    n_truth = round(MOVIELENS_TRUTH * users / MOVIELENS_USERS)
    pairs = np.empty(0, dtype=np.int64)
    while len(pairs) < n_truth:
        size = (n_truth + n_truth // 8,)
        more = rng.integers(users, size=size) * MOVIELENS_ITEMS + draw(size)
        pairs = np.unique(np.concatenate([pairs, more]))
    pairs = np.sort(rng.choice(pairs, n_truth, replace=False))
    truth = {"user": pairs // MOVIELENS_ITEMS, "item": ids[pairs % MOVIELENS_ITEMS]}
    return Workload(_ranked(ids[np.concatenate(parts)]), pl.DataFrame(truth))


def uniform(n_users: int, k: int, n_items: int, n_truth: int, *, seed: int = 20) -> Workload:
    """Make work of any size, with every item as likely as any other.

    The items of a list are an arithmetic progression from a random start with a random stride,
    too short to meet itself again; the truth of its user is a part of the same progression
    carried on, so that about a quarter of it is hit.

    Parameters
    ----------
    n_users, k : int
        Users, and the length of each list.
    n_items : int
        Size of the catalogue, at least 4 k.
    n_truth : int
        Truth rows, divided evenly among the users; at least one and at most 4 k each.
    seed : int
        Where the random numbers start.
    """
    each = n_truth // n_users
    if n_items < _SPREAD * k or not 1 <= each <= _SPREAD * k:
        raise ValueError("a list needs a catalogue of 4 k items, a user 1 to 4 k truth rows")
    rng = np.random.default_rng(seed)
    start = rng.integers(n_items, size=(n_users, 1))
    stride = rng.integers(1, n_items // (_SPREAD * k) + 1, size=(n_users, 1))
    gap = _SPREAD * k // each
    place = rng.integers(gap, size=(n_users, 1)) + gap * np.arange(each)
    truth = {
        "user": np.repeat(np.arange(n_users), each),
        "item": ((start + stride * place) % n_items).ravel(),
    }
    return Workload(_ranked((start + stride * np.arange(k)) % n_items), pl.DataFrame(truth))


def shuffled(work: Workload, *, seed: int = 21) -> Workload:
    """Put the rows of the recommendations in random order; their columns stay."""
    order = np.random.default_rng(seed).permutation(len(work.recs))
    return Workload(work.recs[order], work.truth)


def scored(work: Workload, *, seed: int = 22) -> Workload:
    """Replace the ranks by scores that fall strictly down each list."""
    noise = pl.Series(np.random.default_rng(seed).random(len(work.recs)))
    score = (0.9 * noise - work.recs["rank"]).alias("score")
    return Workload(work.recs.drop("rank").with_columns(score), work.truth)


def strings(work: Workload) -> Workload:
    """Write ids as text: ``user_123``, ``item_45``."""
    names = [pl.format(f"{role}_{{}}", pl.col(role)).alias(role) for role in ("user", "item")]
    return Workload(work.recs.with_columns(names), work.truth.with_columns(names))


def _ranked(items: Ints) -> pl.DataFrame:
    """Make a table of lists, one a row of ``items``, best first."""
    n_users, k = items.shape
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(n_users), k),
            "item": items.ravel(),
            "rank": np.tile(np.arange(1, k + 1), n_users),
        }
    )


def _distinct_rows(
    draw: Callable[[tuple[int, ...]], Ints], n: int, k: int, width: int | None = None
) -> Ints:
    """Draw k distinct codes a row, in the order in which each was drawn first.

    Every row is drawn ``width`` times at once; what falls short is drawn again, twice as wide.
    """
    width = width or 2 * k
    place = np.arange(width)
    # Codes with their places below them: sorted, repetitions stand behind the first.
    packed = np.sort(draw((n, width)) * width + place, axis=1)
    code, at = np.divmod(packed, width)
    again = np.zeros(code.shape, dtype=bool)
    again[:, 1:] = code[:, 1:] == code[:, :-1]
    at[again] = width  # behind all others
    size = int(code.max(initial=0)) + 1
    rows = np.sort(at * size + code, axis=1)[:, :k] % size
    short = np.flatnonzero(width - again.sum(axis=1) < k)
    if len(short):
        rows[short] = _distinct_rows(draw, len(short), k, 2 * width)
    return rows
