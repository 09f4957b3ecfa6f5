"""Hits: the relevant items that were recommended, as flat rows in order of user and rank.

Every accuracy measure is a sum over these rows. Where equal scores leave the order of some items
open, a tied item is spread over the ranks that it may take, so that the same sums become
expectations over all orders (McSherry & Najork 2008): a row then stands for a rank of the tied
group, with the chance that a relevant item stands there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankwise.core.backend import Array, bincount, namespace
from rankwise.core.segments import Ints, bucket, offsets, positions, ragged_rows, runs

if TYPE_CHECKING:
    from rankwise.core.ids import Codes
    from rankwise.core.lists import Ties

__all__ = ["Hits", "TiedGroups", "expect", "resolve"]


@dataclass(frozen=True)
class TiedGroups:
    """Groups of equal scores that hold relevant items; an untied hit is a group of one."""

    starts: Ints
    """Where each group's rows start: one row for each rank that the group covers."""
    hits: Ints
    """The group of every relevant item."""
    depth: Ints
    """How many groups of the same user come before."""


@dataclass(frozen=True)
class Hits:
    """Rows in order of user and rank; one row a hit unless ties spread it.

    Attributes
    ----------
    user : array of int, shape (n,)
        The user's number in the block.
    rank : array of int, shape (n,)
        1 for the top of the list.
    chance : array of float, shape (n,)
        The chance that a relevant item stands at this rank; 1 without ties.
    nth : array of float, shape (n,)
        Which hit of the user it is, from 1: how many relevant items stand at or above this
        rank, given that one stands here.
    gain : array of float, shape (m,)
        The relevance of each relevant item; ``m == n`` without ties. `mean` turns what is
        computed from it into one value a row, `each` goes the other way.
    item : array of int, shape (m,)
        The code of each relevant item.
    groups : TiedGroups or None
        None without ties.
    weight : array of float, shape (m,), or None
        How much each relevant item counts; None: all the same. ``chance`` has it in it, ``found``
        is the chance without.
    """

    user: Array
    rank: Array
    chance: Array
    nth: Array
    gain: Array
    item: Array
    groups: TiedGroups | None = None
    weight: Array | None = None
    found: Array | None = None

    @property
    def plain(self) -> Array:
        """The chance of each row without weights, shape (n,)."""
        return self.chance if self.found is None else self.found

    def weighted(self, weight: Array) -> Hits:
        """Let each relevant item count by a weight, shape (m,), in all that is summed over rows.

        ``chance`` becomes the expected weight at a rank, and `mean` a weighted mean, so that their
        product is the expectation of weight times value also where items of unlike weight tie.
        """
        return replace(self, chance=self.chance * self.mean(weight), weight=weight,
                       found=self.chance)  # fmt: skip

    def mean(self, values: Array) -> Array:
        """Turn one value a relevant item into one value a row: the mean over tied items."""
        if self.groups is None:
            return values
        size = len(self.groups.starts) - 1
        weight = np.ones(len(values)) if self.weight is None else self.weight
        count = bincount(self.groups.hits, weight, size)
        means = bincount(self.groups.hits, weight * values, size) / count
        return np.repeat(means, np.diff(self.groups.starts))

    def each(self, values: Array) -> Array:
        """Turn one value a row into one value a relevant item: the mean over its ranks."""
        if self.groups is None:
            return values
        sizes = np.diff(self.groups.starts)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return (bincount(owner, values, len(sizes)) / sizes)[self.groups.hits]

    @property
    def owner(self) -> Array:
        """The user's number of each relevant item, shape (m,)."""
        if self.groups is None:
            return self.user
        return self.user[self.groups.starts[self.groups.hits]]

    def first(self) -> Array:
        """Return for each row the chance that the user's first relevant item stands here."""
        if self.groups is not None:
            return self._tied_first(self.groups)
        xp = namespace(self.nth)
        return xp.astype(self.nth == 1, xp.float64)

    def cascade(self, stop: Array) -> Array:
        """Return for each row the chance that a user who reads from the top stops here.

        Parameters
        ----------
        stop : array of float, shape (m,)
            The chance that each relevant item stops a user who sees it.

        Returns
        -------
        array of float, shape (n,)
        """
        if self.groups is not None:
            return self._tied_cascade(self.groups, stop)
        xp = namespace(stop)
        alive = xp.ones_like(stop)
        # Everyone's second hits together, then everyone's third, ….
        order = xp.argsort(self.nth, stable=True)
        depth = xp.take(self.nth, order)
        deepest = int(depth[-1]) if depth.shape[0] else 0
        edges = xp.searchsorted(depth, xp.arange(1, deepest + 2, dtype=depth.dtype))
        for nth in range(1, deepest):
            rows = order[int(edges[nth]) : int(edges[nth + 1])]
            alive[rows] = alive[rows - 1] * (1 - stop[rows - 1])
        return alive * stop

    def _tied_first(self, groups: TiedGroups) -> Array:
        # Only a user's first group can hold the first relevant item. Of n items, r relevant, the
        # first q - 1 being none of them, the next is one with chance r / (n - q + 1).
        sizes = np.diff(groups.starts)
        hits_in = np.bincount(groups.hits, minlength=len(sizes))
        place = positions(groups.starts)
        n, r = np.repeat(sizes, sizes), np.repeat(hits_in, sizes)
        hazard = np.minimum(r / (n - place), 1.0)
        alive = np.repeat((groups.depth == 0).astype(np.float64), sizes)
        starts, order = bucket(place, int(sizes.max(initial=0)))
        for q in range(1, len(starts) - 1):
            rows = order[starts[q] : starts[q + 1]]
            alive[rows] = alive[rows - 1] * (1 - hazard[rows - 1])
        return alive * hazard

    def _tied_cascade(self, groups: TiedGroups, stop: Array) -> Array:
        # pass_[m]: the expected product of (1 - stop) over m items drawn from the group, built by
        # adding one relevant item at a time to those that never stop anyone. An item added to
        # t - 1 others is among the m drawn with chance m / t.
        sizes = np.diff(groups.starts)
        hits_in = np.bincount(groups.hits, minlength=len(sizes))
        place = positions(groups.starts) + 1
        owner = np.repeat(np.arange(len(sizes)), sizes)
        hit_starts = offsets(hits_in)
        pass_ = np.ones(len(owner))
        for added in range(int(hits_in.max(initial=0))):
            rows = np.flatnonzero(hits_in[owner] > added)
            total = sizes[owner[rows]] - hits_in[owner[rows]] + added + 1
            drawn = np.minimum(place[rows] / total, 1.0)
            before = np.where(place[rows] == 1, 1.0, pass_[np.maximum(rows - 1, 0)])
            through = 1 - stop[hit_starts[owner[rows]] + added]
            pass_[rows] = (1 - drawn) * pass_[rows] + drawn * through * before
        before = np.where(place == 1, 1.0, np.roll(pass_, 1))
        alive = np.ones(len(sizes))
        last = groups.starts[1:] - 1
        for depth in range(1, int(groups.depth.max(initial=0)) + 1):
            here = np.flatnonzero(groups.depth == depth)
            alive[here] = alive[here - 1] * pass_[last[here - 1]]
        return (before - pass_) * alive[owner]


def resolve(
    user: Ints, gain: Array, item: Codes, low: Ints, high: Ints, ties: Ties
) -> tuple[Ints, Array, Codes]:
    """Put relevant items first or last in their tied groups; return their ranks, gains and codes.

    Parameters
    ----------
    user, gain, item : array, shape (n,)
        Hits in order of user and rank.
    low, high : array of int, shape (n,)
        The first and last rank of the tied group of every hit.
    ties : {"optimistic", "pessimistic"}
        Relevant items first, the largest gain on top; or last, the smallest gain on top.
    """
    side: Literal[1, -1] = -1 if ties == "optimistic" else 1
    order = np.lexsort((side * gain, low, user))
    gain, item, low, high = gain[order], item[order], low[order], high[order]
    starts, sizes = _tie_starts(user, low)
    place = positions(starts)
    if ties == "optimistic":
        return low + place, gain, item
    return high - np.repeat(sizes, sizes) + 1 + place, gain, item


def expect(user: Ints, gain: Array, item: Codes, low: Ints, high: Ints) -> Hits:
    """Spread hits over their tied groups, so that sums over rows are expectations.

    Parameters
    ----------
    user, gain, item : array, shape (n,)
        Hits in order of user and rank.
    low, high : array of int, shape (n,)
        The first and last rank of the tied group of every hit.
    """
    hit_starts, relevant = _tie_starts(user, low)
    heads = hit_starts[:-1]
    owner, first = user[heads], low[heads]
    size = high[heads] - first + 1
    starts = offsets(size)
    place = positions(starts)
    n, r = np.repeat(size, size), np.repeat(relevant, size)
    groups_of_user = np.searchsorted(owner, owner)
    depth = np.arange(len(owner)) - groups_of_user
    above = heads - heads[groups_of_user]  # hits of the same user in the groups before
    nth = np.repeat(above, size) + 1.0 + place * (r - 1) / np.maximum(n - 1, 1)
    groups = TiedGroups(starts, np.repeat(np.arange(len(size)), relevant), depth)
    rank = ragged_rows(first, size)
    return Hits(np.repeat(owner, size), rank, r / n, nth, gain, item, groups)


def _tie_starts(user: Ints, low: Ints) -> tuple[Ints, Ints]:
    starts = runs(user, low)
    return starts, np.diff(starts)
