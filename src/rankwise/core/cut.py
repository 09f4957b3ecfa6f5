"""`Encoded` to blocks: users are cut into pieces of a size that suits the processor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from rankwise.core.assemble import MatchedLists, assemble
from rankwise.core.block import Block
from rankwise.core.encoded import Encoded
from rankwise.core.lists import RankRange
from rankwise.core.match import Matches, match
from rankwise.core.matched_ranks import Ranks, ranks_of
from rankwise.core.ragged import Ints, owners
from rankwise.errors import DuplicateError

__all__ = ["Part", "blocks", "cut", "parts"]

Part: TypeAlias = slice | Ints
"""The users of a block: consecutive lists, or codes of users without a list."""
_FEW = 1 << 20  # rows that no thread is started for


def blocks(encoded: Encoded, size: int | None = None) -> Iterator[Block]:
    """Cut everything into blocks, one after the other.

    Parameters
    ----------
    encoded : Encoded
        Lists and ground truth.
    size : int, optional
        Users per block; by default chosen from the number of rows.
    """
    for part in parts(encoded, size):
        yield cut(encoded, part)


def parts(encoded: Encoded, size: int | None = None, threads: int = 1) -> Iterator[Part]:
    """Say which users each block has, so that blocks can be cut on several threads.

    Blocks have equally many rows, up to a list, and threads equally many blocks, so that they end
    together.
    """
    starts = encoded.lists.starts
    first, last = 0, len(starts) - 1
    n_rows = max(int(starts[-1]), 1)
    n_blocks = max(math.ceil(n_rows / encoded.most_rows), min(threads, math.ceil(n_rows / _FEW)))
    if n_blocks > threads:
        n_blocks = math.ceil(n_blocks / threads) * threads
    rows = math.ceil(n_rows / n_blocks)
    while first < last:
        if size is not None:
            stop = min(first + size, last)
        else:
            stop = int(np.searchsorted(starts, starts[first] + rows))
            stop = min(max(stop, first + 1), first + encoded.most_users, last)
        yield slice(first, stop)
        first = stop
    unlisted = encoded.unlisted
    step = min(encoded.most_users, max(len(unlisted), 1))
    # Without any list there is one block without users: results have their columns all the same.
    for first in range(0, len(unlisted) if last else max(len(unlisted), 1), step):
        yield unlisted[first : first + step]


def cut(encoded: Encoded, part: Part) -> Block:
    """Make the block of some users.

    Raises
    ------
    DuplicateError
        If an item stands twice in a list.
    """
    return _listed(encoded, part) if isinstance(part, slice) else _unlisted(encoded, part)


def _listed(encoded: Encoded, chosen: slice) -> Block:
    """Match consecutive lists with the ground truth, and make their block."""
    lists, truth = encoded.lists.part(chosen), encoded.truth
    first_row = int(encoded.lists.starts[chosen.start])
    groups = truth.groups_of(lists.user)
    matches = match(lists.items, lists.starts, truth.items, truth.starts, groups)
    if len(matches.repeated):
        raise _duplicate(encoded, first_row + int(matches.repeated.min()))
    if encoded.confirm is not None:
        encoded.confirm.matches(matches.rows + first_row, matches.judged)
    counted = encoded.is_counted(lists.user)
    number = np.arange(len(counted))
    if not counted.all():
        number = np.where(counted, np.cumsum(counted) - 1, -1)
    ranks = ranks_of(lists, matches, exactly="judged" in encoded.needs)
    if ranks.order is not None:
        matches = matches.reordered(ranks.order)
    return assemble(encoded, MatchedLists(lists, groups, matches, ranks, number))


def _unlisted(encoded: Encoded, users: Ints) -> Block:
    none, zeros = np.empty(0, dtype=np.int64), np.zeros(len(users), dtype=np.int64)
    empty = replace(
        encoded.lists,
        user=users,
        starts=np.zeros(len(users) + 1, dtype=np.int64),
        items=none,
        scores=None if encoded.lists.scores is None else np.empty(0),
        dropped=None,
        rank_range=None if encoded.lists.rank_range is None else RankRange(none, none, zeros),
    )
    groups = encoded.truth.groups_of(users)
    nothing = Matches(none, none, none, none)
    numbers = np.arange(len(users))
    return assemble(encoded, MatchedLists(empty, groups, nothing, Ranks(None, none), numbers))


def _duplicate(encoded: Encoded, row: int) -> DuplicateError:
    lists = encoded.lists
    owner = owners(lists.starts, np.array([row]))
    if encoded.confirm is not None:
        first, last = lists.starts[owner[0]], lists.starts[owner[0] + 1]
        encoded.confirm.repeated(row, np.arange(first, last))
    user = encoded.users.decode(lists.user[owner])[0]
    item = encoded.items.decode(lists.items[[row]])[0]
    return DuplicateError(
        "duplicate item in a recommendation list",
        where=f"recommendations, user {user!r}",
        found=f"item {item!r} more than once",
        hint='drop the duplicate, or keep the best-ranked with duplicates="first"',
    )
