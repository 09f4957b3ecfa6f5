"""Lists and truth to blocks, and blocks to columns: the middle of the road."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankwise.core.assemble import Cut, assemble, tied_groups
from rankwise.core.facts import Categories
from rankwise.core.ids import HashCollision, HashedStrings
from rankwise.core.lists import Places
from rankwise.core.match import Matches, match
from rankwise.core.segments import Ints, owners
from rankwise.errors import DuplicateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from rankwise.core.block import Block
    from rankwise.core.facts import Facts, UserItems
    from rankwise.core.ids import Vocabulary
    from rankwise.core.lists import Lists, Ties
    from rankwise.core.truth import Truth

__all__ = ["Confirm", "Needs", "Setting", "Slab", "slabs", "unlisted"]

Needs: TypeAlias = frozenset[
    Literal["ideal", "judged", "listed", "scores", "relevant", "profile", "repeats", "baseline"]
]
"""What blocks must hold beyond hits: parts of a `Block`, and scores in the lists."""
_ROWS = 1 << 22  # rows of a block: large enough to keep Python idle, small beside the input
_CELLS = 1 << 24  # users times categories of a block: measures hold a few such matrices


@dataclass(frozen=True)
class Confirm:
    """Strings beside their hashes: rows are those of lists and truth.

    Raises `HashCollision` where hashes say what strings deny.
    """

    listed: pl.Series
    truth: pl.Series
    origin: Ints | None
    truth_origin: Ints | None

    def matches(self, rows: Ints, judged: Ints) -> None:
        """Confirm that rows of lists and of truth name the same items."""
        left, right = (
            _gather(self.listed, self.origin, rows),
            _gather(self.truth, self.truth_origin, judged),
        )
        if (left != right).any():
            raise HashCollision

    def repeated(self, row: int, rows: Ints) -> None:
        """Confirm that the item of a row stands in some of these rows twice."""
        ids = _gather(self.listed, self.origin, rows)
        if (ids == _gather(self.listed, self.origin, np.array([row]))[0]).sum() < 2:
            raise HashCollision


def _gather(ids: pl.Series, origin: Ints | None, rows: Ints) -> pl.Series:
    return ids.gather(rows if origin is None else origin[rows])


@dataclass(frozen=True)
class Setting:
    """What blocks are cut from, and how."""

    lists: Lists
    truth: Truth
    counted: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Whether each user code counts."""
    ties: Ties
    needs: Needs
    users: Vocabulary
    items: Vocabulary
    block_size: int | None = None
    confirm: Confirm | None = None
    """Holds what codes say against the ids themselves, where codes are hashes."""
    facts: Facts = field(default_factory=dict)
    history: UserItems | None = None
    baseline: UserItems | None = None

    @cached_property
    def n_items(self) -> int:
        """The number of item codes; 0 where items are only compared."""
        return 0 if isinstance(self.items, HashedStrings) else self.items.size

    @cached_property
    def most_users(self) -> int:
        """The most users that a block may have, whatever their rows."""
        sizes = [len(f.names) for f in self.facts.values() if isinstance(f, Categories)]
        return max(1, _CELLS // max(sizes)) if sizes else 1 << 62

    def is_counted(self, codes: Ints) -> Ints:
        """Whether each of these users counts."""
        return self.counted.take(codes, mode="clip") & (codes < len(self.counted))


@dataclass(frozen=True)
class Slab:
    """A block, and how many of its rows were tied."""

    block: Block
    tied_rows: int = 0


def slabs(setting: Setting) -> Iterator[Callable[[], Slab]]:
    """Cut the lists into blocks, each made when it is called for."""
    starts = setting.lists.starts
    first, last = 0, len(starts) - 1
    while first < last:
        if setting.block_size is not None:
            stop = min(first + setting.block_size, last)
        else:
            stop = int(np.searchsorted(starts, starts[first] + _ROWS, side="right")) - 1
            stop = min(max(stop, first + 1), first + setting.most_users, last)
        yield lambda chosen=slice(first, stop): _slab(setting, chosen)  # type: ignore[misc]
        first = stop


def unlisted(setting: Setting, users: Ints) -> Slab:
    """Make the block of counted users who have no list."""
    none = np.empty(0, dtype=np.int64)
    empty = replace(
        setting.lists,
        user=users,
        starts=np.zeros(len(users) + 1, dtype=np.int64),
        items=none,
        scores=None if setting.lists.scores is None else np.empty(0),
        dropped=None,
        places=None if setting.lists.places is None else Places(none, none, 0 * users),
    )
    groups = setting.truth.groups_of(users)
    cut = Cut(empty, groups, Matches(none, none, none), np.arange(len(users)))
    return Slab(assemble(setting, cut))


def _slab(setting: Setting, chosen: slice) -> Slab:
    lists = setting.lists
    a = int(lists.starts[chosen.start])
    part = lists.part(chosen)
    groups = setting.truth.groups_of(part.user)
    rows, edges = setting.truth.rows_of(groups)
    judged = setting.truth.items[rows]
    found = match(part.items, part.starts, judged, edges)
    if len(found.repeated):
        raise _duplicate(setting, a + int(found.repeated.min()))
    counted = setting.is_counted(part.user)
    number = np.where(counted, np.cumsum(counted) - 1, -1)
    own = found.judged + rows.start if isinstance(rows, slice) else rows[found.judged]
    if setting.confirm is not None:
        setting.confirm.matches(found.rows + a, own)
    cut = Cut(part, groups, Matches(found.rows, own, found.repeated), number)
    tied = tied_groups(part, found.rows)
    block = assemble(setting, cut, tied)
    return Slab(block, 0 if tied is None else tied[2])


def _duplicate(setting: Setting, row: int) -> DuplicateError:
    lists = setting.lists
    owner = owners(lists.starts, np.array([row]))
    if setting.confirm is not None:
        first, last = lists.starts[owner[0]], lists.starts[owner[0] + 1]
        setting.confirm.repeated(row, np.arange(first, last))
    user = setting.users.decode(lists.user[owner])[0]
    item = setting.items.decode(lists.items[[row]])[0]
    return DuplicateError(
        "an item stands twice in one list",
        where=f"recommendations, user {user!r}",
        found=f"item {item!r} more than once",
        hint='drop the repetition, or keep the best-ranked with duplicates="first"',
    )
