"""Lists and truth to blocks, and blocks to columns: the middle of the road."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankwise.core.block import Block, Ideal, Judged, Listed
from rankwise.core.hits import Hits, expect, resolve
from rankwise.core.ids import HashCollision
from rankwise.core.match import Matches, match
from rankwise.core.segments import Ints, offsets, owners, positions, ragged_rows
from rankwise.errors import DuplicateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from rankwise.core.ids import Vocabulary
    from rankwise.core.lists import Lists, Ties
    from rankwise.core.truth import Truth

__all__ = ["Confirm", "Needs", "Setting", "Slab", "slabs", "unlisted"]

Needs: TypeAlias = frozenset[Literal["ideal", "judged", "listed", "scores"]]
_ROWS = 1 << 22  # rows of a block: large enough to keep Python idle, small beside the input


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

    def is_counted(self, codes: Ints) -> Ints:
        """Whether each of these users counts."""
        return self.counted.take(codes, mode="clip") & (codes < len(self.counted))


@dataclass(frozen=True)
class Slab:
    """A block, the users it speaks of, and how many of its rows were tied."""

    users: Ints
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
            stop = min(max(stop, first + 1), last)
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
    )
    nothing = Matches(none, none, none)
    groups = setting.truth.groups_of(users)
    return Slab(users, _block(setting, empty, groups, none, nothing, np.arange(len(users))))


def _slab(setting: Setting, chosen: slice) -> Slab:
    lists = setting.lists
    a, b = int(lists.starts[chosen.start]), int(lists.starts[chosen.stop])
    part = replace(
        lists,
        user=lists.user[chosen],
        starts=lists.starts[chosen.start : chosen.stop + 1] - a,
        items=lists.items[a:b],
        scores=None if lists.scores is None else lists.scores[a:b],
    )
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
    found = Matches(found.rows, own, found.repeated)
    block, tied = _block_and_ties(setting, part, groups, found, number)
    return Slab(part.user[counted], block, tied)


def _block_and_ties(
    setting: Setting, part: Lists, groups: Ints, found: Matches, number: Ints
) -> tuple[Block, int]:
    low = high = None
    tied = 0
    if part.has_ties and part.scores is not None:
        edge = np.ones(len(part.items), dtype=bool)
        np.not_equal(part.scores[1:], part.scores[:-1], out=edge[1:])
        edge[part.starts[:-1]] = True
        if not edge.all():
            bounds = np.append(np.flatnonzero(edge), len(edge))
            sizes = np.diff(bounds)
            tied = int(sizes[sizes > 1].sum())
            of = np.searchsorted(bounds, found.rows, side="right") - 1
            low, high = bounds[of], bounds[of + 1] - 1
    return _block(setting, part, groups, found.rows, found, number, low, high), tied


def _block(
    setting: Setting,
    part: Lists,
    groups: Ints,
    rows: Ints,
    found: Matches,
    number: Ints,
    low: Ints | None = None,
    high: Ints | None = None,
) -> Block:
    """Assemble a block; ``number`` gives each list its user's number in it, -1 if not counted."""
    truth, counted = setting.truth, number >= 0
    lists = owners(part.starts, rows)
    kept = groups[counted]
    relevance = truth.relevance
    gain = np.ones(len(rows)) if relevance is None else relevance[found.judged]
    mine = counted[lists]
    relevant = mine if truth.relevant is None else mine & truth.relevant[found.judged]
    user, first = number[lists], part.starts[lists]
    rank = rows - first + 1
    hits = _hits(
        user[relevant],
        rank[relevant],
        gain[relevant],
        None if low is None else (low - first + 1)[relevant],
        None if high is None else (high - first + 1)[relevant],
        setting.ties,
    )
    judged = listed = None
    if "judged" in setting.needs and part.scores is not None:
        judged = Judged(user[mine], part.scores[rows[mine]], gain[mine])
    if "listed" in setting.needs:
        listed = _listed(part, number, setting.items.size, rows[relevant])
    return Block(
        list_length=np.diff(part.starts)[counted],
        n_relevant=_count(truth.n_relevant, kept),
        n_judged=_count(np.diff(truth.starts), kept),
        hits=hits,
        ideal=_ideal(truth, kept) if "ideal" in setting.needs and truth.graded else None,
        judged=judged,
        listed=listed,
    )


def _hits(
    user: Ints, rank: Ints, gain: Ints, low: Ints | None, high: Ints | None, ties: Ties
) -> Hits:
    if low is not None and high is not None:
        if ties == "expected":
            return expect(user, gain, low, high)
        rank, gain = resolve(user, gain, low, high, ties)
    nth = _places(user) + 1.0
    return Hits(user, rank, np.ones(len(user)), nth, gain)


def _places(user: Ints) -> Ints:
    """Return how many rows of the same user stand before each row; users are in order."""
    rows = np.arange(len(user))
    first = np.ones(len(user), dtype=bool)
    first[1:] = user[1:] != user[:-1]
    return rows - np.maximum.accumulate(np.where(first, rows, 0))


def _listed(part: Lists, number: Ints, n_items: int, relevant: Ints) -> Listed:
    lengths = np.diff(part.starts)
    user = np.repeat(number, lengths)
    rank = positions(part.starts) + 1
    label = None
    if part.scores is not None:
        label = np.zeros(len(rank))
        label[relevant] = 1.0
    if number.size == 0 or number.min() >= 0:
        return Listed(user, rank, part.items, n_items, part.scores, label)
    kept = np.flatnonzero(user >= 0)
    score = None if part.scores is None else part.scores[kept]
    label = None if label is None else label[kept]
    return Listed(user[kept], rank[kept], part.items[kept], n_items, score, label)


def _count(per_group: Ints, groups: Ints) -> Ints:
    if not len(per_group):
        return np.zeros(len(groups), dtype=np.int64)
    return np.where(groups >= 0, per_group.take(groups, mode="clip"), 0)


def _ideal(truth: Truth, groups: Ints) -> Ideal:
    starts, gains = truth.ideal
    lengths = _count(np.diff(starts), groups)
    rows = ragged_rows(starts.take(groups, mode="clip"), lengths)
    user = np.repeat(np.arange(len(groups)), lengths)
    return Ideal(user, positions(offsets(lengths)) + 1, gains[rows])


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
