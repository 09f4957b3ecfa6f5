"""Codes to a block: everything that measures asked to see of some users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise.core.block import Block, Ideal, Judged, Listed, Rows, Shared
from rankwise.core.hits import Hits, expect, resolve
from rankwise.core.match import Matches, match
from rankwise.core.segments import Ints, offsets, owners, positions, ragged_rows, runs

if TYPE_CHECKING:
    from rankwise.core.engine import Setting
    from rankwise.core.facts import UserItems
    from rankwise.core.lists import Lists, Ties
    from rankwise.core.truth import Truth

__all__ = ["Cut", "assemble", "tied_groups"]


@dataclass(frozen=True)
class Cut:
    """Some lists, what they match, and who of their users counts."""

    part: Lists
    groups: Ints
    """Each list's group in the truth, -1 for none."""
    found: Matches
    """Rows of ``part`` that are judged; ``judged`` are rows of the whole truth."""
    number: Ints
    """Each list's number in the block, -1 if its user does not count."""

    @property
    def counted(self) -> Ints:
        """Whether each list's user counts."""
        return self.number >= 0


def tied_groups(part: Lists, rows: Ints) -> tuple[Ints, Ints, int] | None:
    """Return the first and last row of the tied group of some rows, and how many rows tie.

    None if no rows do.
    """
    if part.places is not None:
        first, last = part.places.first[rows], part.places.last[rows]
        tied = last > first
        before = part.starts[owners(part.starts, rows)] - 1  # as rows of a list from there
        return (first + before, last + before, int(tied.sum())) if tied.any() else None
    if not part.has_ties or part.scores is None:
        return None
    edge = np.ones(len(part.items), dtype=bool)
    np.not_equal(part.scores[1:], part.scores[:-1], out=edge[1:])
    edge[part.starts[:-1]] = True
    if edge.all():
        return None
    bounds = np.append(np.flatnonzero(edge), len(edge))
    sizes = np.diff(bounds)
    of = np.searchsorted(bounds, rows, side="right") - 1
    return bounds[of], bounds[of + 1] - 1, int(sizes[sizes > 1].sum())


def assemble(setting: Setting, cut: Cut, tied: tuple[Ints, Ints, int] | None = None) -> Block:
    """Assemble a block."""
    truth, part, needs = setting.truth, cut.part, setting.needs
    counted, rows, judged_rows = cut.counted, cut.found.rows, cut.found.judged
    lists = owners(part.starts, rows)
    kept = cut.groups[counted]
    gain = np.ones(len(rows)) if truth.relevance is None else truth.relevance[judged_rows]
    mine = counted[lists]
    relevant = mine if truth.relevant is None else mine & truth.relevant[judged_rows]
    user, first = cut.number[lists], part.starts[lists]
    rank = rows - first + 1 if part.places is None else part.places.first[rows]
    item = part.items[rows]
    edges = None if tied is None else tuple((edge - first + 1)[relevant] for edge in tied[:2])
    hits = _hits(
        user[relevant], rank[relevant], gain[relevant], item[relevant], edges, setting.ties
    )
    judged = None
    if part.limit is not None:
        mine = mine & (rank <= part.limit)  # as any list of what is tied with its last item
    if "judged" in needs:
        score = None if part.scores is None else part.scores[rows[mine]]
        label = relevant[mine].astype(np.float64)
        tie = None if tied is None else (tied[0] - first + 1)[mine]
        judged = Judged(user[mine], rank[mine], item[mine], gain[mine], label, score, tie)
    dropped = np.zeros(len(part.user), dtype=np.int64) if part.dropped is None else part.dropped
    return Block(
        list_length=part.length[counted],
        n_candidates=None if part.places is None else part.length[counted],
        n_relevant=_count(truth.n_relevant, kept),
        n_judged=_count(np.diff(truth.starts), kept),
        n_dropped=dropped[counted],
        user=part.user[counted],
        hits=hits,
        n_items=setting.n_items,
        ties=setting.ties,
        ideal=_ideal(truth, kept) if "ideal" in needs and truth.graded else None,
        judged=judged,
        listed=_listed(cut, setting, rows[relevant]) if "listed" in needs else None,
        relevant=_relevant(truth, kept) if "relevant" in needs else None,
        profile=_profile(setting, part.user[counted]) if "profile" in needs else None,
        repeats=_shared(setting.history, cut, truth) if "repeats" in needs else None,
        baseline=_shared(setting.baseline, cut, truth) if "baseline" in needs else None,
        facts=setting.facts,
        limit=part.limit,
    )


def _hits(
    user: Ints,
    rank: Ints,
    gain: Ints,
    item: Ints,
    edges: tuple[Ints, ...] | None,
    ties: Ties,
) -> Hits:
    if edges is not None:
        low, high = edges
        if ties == "expected":
            return expect(user, gain, item, low, high)
        rank, gain, item = resolve(user, gain, item, low, high, ties)
    nth = _places(user) + 1.0
    return Hits(user, rank, np.ones(len(user)), nth, gain, item)


def _places(user: Ints) -> Ints:
    """Return how many rows of the same user stand before each row; users are in order."""
    return positions(runs(user))


def _listed(cut: Cut, setting: Setting, relevant: Ints) -> Listed:
    part, number, n_items = cut.part, cut.number, setting.n_items
    user = np.repeat(number, np.diff(part.starts))
    rank = positions(part.starts) + 1
    if part.limit is not None:
        user = np.where(rank <= part.limit, user, -1)  # the tail was not recommended
    label = None
    if part.scores is not None:
        label = np.zeros(len(rank))
        label[relevant] = 1.0
    if user.size == 0 or user.min() >= 0:
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


def _truth_rows(truth: Truth, groups: Ints) -> tuple[Ints, Ints]:
    """Return the relevant rows of some groups, and where each group starts."""
    chosen, starts = truth.rows_of(groups)
    rows = np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen
    if truth.relevant is None:
        return rows, starts
    keep = truth.relevant[rows]
    return rows[keep], offsets(keep)[starts]


def _relevant(truth: Truth, groups: Ints) -> Rows:
    rows, starts = _truth_rows(truth, groups)
    user = np.repeat(np.arange(len(groups)), np.diff(starts))
    gain = np.ones(len(rows)) if truth.relevance is None else truth.relevance[rows]
    return Rows(user, truth.items[rows], gain)


def _profile(setting: Setting, users: Ints) -> Rows:
    assert setting.history is not None  # whoever asks for it is told to pass train
    rows, starts = setting.history.rows_of(users)
    user = np.repeat(np.arange(len(users)), np.diff(starts))
    return Rows(user, setting.history.items[rows], np.ones(len(rows)))


def _shared(other: UserItems | None, cut: Cut, truth: Truth) -> Shared:
    assert other is not None  # whoever asks for it is told what to pass
    rows, starts = other.rows_of(cut.part.user)
    items = other.items[rows]
    found = match(cut.part.items, cut.part.starts, items, starts)
    apart = np.ones(len(items), dtype=bool)
    apart[found.judged] = False
    relevant, edges = _truth_rows(truth, cut.groups)
    apart[match(items, starts, truth.items[relevant], edges).rows] = False
    lists = owners(cut.part.starts, found.rows)
    mine = cut.counted[lists]
    if cut.part.limit is not None:
        mine = mine & (found.rows - cut.part.starts[lists] < cut.part.limit)
    return Shared(
        user=cut.number[lists][mine],
        rank=(found.rows - cut.part.starts[lists] + 1)[mine],
        item=cut.part.items[found.rows[mine]],
        other_rank=(found.judged - starts[lists] + 1)[mine],
        length=np.diff(starts)[cut.counted],
        apart=np.diff(offsets(apart)[starts])[cut.counted],
    )
