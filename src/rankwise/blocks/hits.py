"""Hits: the relevant items that were recommended, as flat rows in order of user and rank.

Every accuracy metric is a sum over these rows. Where equal scores leave the order of some items
open, a tied item is spread over the ranks that it may take, so that the same sums become
expectations over all orders (McSherry & Najork 2008): a row then stands for a rank of the tied
group, with the probability that a relevant item occupies it.

In a weighted block ``probability`` holds the expected weight, so metrics that sum over hits are
weighted without further code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from rankwise.core import kernels
from rankwise.core.arrays import Array, bincount, count, is_tensor, namespace
from rankwise.core.ragged import offsets, order_within, runs
from rankwise.options import Ties


@dataclass(frozen=True, eq=False, repr=False)
class TiedGroups:
    """Groups of equal scores that hold relevant items; an untied hit is a group of one."""

    starts: Array
    """Where each group's rows start: one row for each rank that the group covers, down to the end
    of the list."""
    hits: Array
    """The group of every relevant item."""
    depth: Array
    """How many groups of the same user come before."""
    sizes: Array
    """The number of ranks that each group covers, also below the end of the list."""

    @cached_property
    def rows(self) -> Array:
        """The group of each row."""
        xp = namespace(self.starts)
        return xp.repeat(xp.arange(self.sizes.shape[0]), xp.diff(self.starts))

    @cached_property
    def position(self) -> Array:
        """The position of each row in its group, from 0."""
        xp = namespace(self.starts)
        return xp.arange(self.rows.shape[0]) - xp.take(self.starts, self.rows)

    @cached_property
    def largest(self) -> tuple[int, int, int]:
        """The most rows and the most relevant items of a group, and the largest depth."""
        n_hits = count(self.hits, self.sizes.shape[0])
        n_rows = namespace(self.starts).diff(self.starts)
        return _largest(n_rows), _largest(n_hits), _largest(self.depth)


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """Rows in order of user and rank: one row per hit, or several where ties spread a hit.

    Attributes
    ----------
    user : array of int, shape (n,)
        The user's number in the block.
    rank : array of int, shape (n,)
        1 for the top of the list.
    probability : array of float, shape (n,)
        The probability that a relevant item has this rank; 1 without ties.
    position : array of float, shape (n,)
        Which hit of the user it is, from 1: the expected number of relevant items at or above
        this rank, given that one has it.
    gain : array of float, shape (m,)
        The relevance of each relevant item; ``m == n`` without ties. `to_rows` turns what is
        computed from it into one value per row, `to_items` goes the other way.
    item : array of int, shape (m,)
        The code of each relevant item.
    groups : TiedGroups or None
        None without ties.
    weight : array of float, shape (m,), or None
        How much each relevant item counts; None: all equally. ``probability`` then includes it;
        ``unweighted_probability`` is the probability without weights.
    """

    user: Array
    rank: Array
    probability: Array
    position: Array
    gain: Array
    item: Array
    groups: TiedGroups | None = None
    weight: Array | None = None
    unweighted_probability: Array | None = None

    @property
    def tie_probability(self) -> Array:
        """The probability of each row without weights, shape (n,)."""
        without_weights = self.unweighted_probability
        return self.probability if without_weights is None else without_weights

    @property
    def irrelevant_above(self) -> Array:
        """The number of irrelevant items above each row; its expectation where scores tie."""
        return namespace(self.rank).astype(self.rank, self.position.dtype) - self.position

    def with_weights(self, weight: Array) -> Hits:
        """Let each relevant item count by a weight, shape (m,), in all that is summed over rows.

        ``probability`` becomes the expected weight at a rank, and `to_rows` a weighted mean, so
        that their product is the expectation of weight times value even if items of different
        weights tie.
        """
        return replace(
            self,
            probability=self.probability * self.to_rows(weight),
            weight=weight,
            unweighted_probability=self.probability,
        )

    def to_rows(self, values: Array) -> Array:
        """Return one value per row, from one per relevant item: the mean over tied items."""
        if self.groups is None:
            return values
        xp, groups = namespace(values), self.groups
        n_groups = groups.sizes.shape[0]
        weight = xp.ones_like(values, dtype=xp.float64) if self.weight is None else self.weight
        total = bincount(groups.hits, weight, n_groups)
        means = bincount(groups.hits, weight * values, n_groups) / total
        return xp.take(means, groups.rows)

    def to_items(self, values: Array) -> Array:
        """Return one value per relevant item, from one per row: the mean over its ranks."""
        if self.groups is None:
            return values
        sizes = self.groups.sizes
        means = bincount(self.groups.rows, values, sizes.shape[0]) / sizes
        return namespace(values).take(means, self.groups.hits)

    def tied_group_ends(self, groups: TiedGroups) -> tuple[Array, Array]:
        """Return for each row the hits and the items down to the end of its tied group."""
        xp, heads = namespace(self.position), groups.starts[:-1]
        n_hits = count(groups.hits, groups.sizes.shape[0])
        position = self.position[heads] - 1.0 + n_hits
        rank = self.rank[heads] + groups.sizes - 1
        return xp.take(position, groups.rows), xp.take(rank, groups.rows)

    def groups_within(self, last: int) -> Array:
        """Return the probability that all relevant items of a tied group rank at ``last`` or above.

        Of n items, r relevant, q have such a rank: the product of (q - j) / (n - j) over j < r.
        Shape (n_groups,).
        """
        assert self.groups is not None
        xp, groups = namespace(self.rank), self.groups
        n = xp.astype(groups.sizes, xp.float64)
        n_hits = count(groups.hits, groups.sizes.shape[0])
        first = self.rank[groups.starts[:-1]]
        q = xp.astype(xp.clip(xp.minimum(last - first + 1, groups.sizes), min=0), xp.float64)
        within = xp.ones_like(n)
        for j in range(groups.largest[1]):
            share = xp.clip(q - j, min=0.0) / xp.clip(n - j, min=1.0)
            within = xp.where(n_hits > j, within * share, within)
        return within

    @property
    def owner(self) -> Array:
        """The user's number of each relevant item, shape (m,)."""
        if self.groups is None:
            return self.user
        return self.user[self.groups.starts[self.groups.hits]]

    def first(self) -> Array:
        """Return for each row the probability that the user's first relevant item has its rank."""
        return self._first

    @cached_property
    def _first(self) -> Array:
        if self.groups is not None:
            return self._tied_first(self.groups)
        xp = namespace(self.position)
        return xp.astype(self.position == 1, xp.float64)

    def cascade(self, stop: Array, last: int) -> Array:
        """Return for each row the probability that a user who reads from the top stops there.

        Parameters
        ----------
        stop : array of float, shape (m,)
            The probability that each relevant item stops a user who sees it.
        last : int
            The last rank that is asked for; below it the probabilities of tied rows are undefined.

        Returns
        -------
        array of float, shape (n,)
        """
        if self.groups is not None:
            return self._tied_cascade(self.groups, stop, last)
        xp = namespace(stop)
        reached = xp.ones_like(stop)
        # The second hits of all users together, then the third hits, ….
        order = xp.argsort(self.position, stable=True)
        position = xp.take(self.position, order)
        most = int(position[-1]) if position.shape[0] else 0
        edges = xp.searchsorted(position, xp.arange(1, most + 2, dtype=position.dtype)).tolist()
        for index in range(1, most):
            rows = order[edges[index] : edges[index + 1]]
            reached[rows] = reached[rows - 1] * (1 - stop[rows - 1])
        return reached * stop

    def _tied_first(self, groups: TiedGroups) -> Array:
        # Only a user's first group can hold the first relevant item. Of n items, r relevant, the
        # first q being irrelevant, the next is relevant with probability r / (n - q).
        xp, n_hits = namespace(groups.starts), count(groups.hits, groups.sizes.shape[0])
        if not is_tensor(n_hits):
            first = kernels.tied_first(groups.depth, groups.sizes, n_hits, groups.starts)
            if first is not None:
                return first
        group = groups.rows
        n, r = xp.take(groups.sizes, group), xp.take(n_hits, group)
        position = groups.position
        hazard = xp.clip(xp.astype(r, xp.float64) / (n - position), max=1.0)
        # The product of (1 - hazard) over the rows of the group above: of one row, then of up to
        # two, four, …. In steps of doubling, because a group may have every item of the catalogue.
        reached = xp.where(position == 0, 1.0, xp.roll(1 - hazard, 1))
        step = 1
        while step < groups.largest[0]:
            reached = xp.where(position >= step, reached * xp.roll(reached, step), reached)
            step *= 2
        return xp.where(xp.take(groups.depth, group) == 0, reached * hazard, 0.0)

    def _tied_cascade(self, groups: TiedGroups, stop: Array, last: int) -> Array:
        # passed[q]: the expected product of (1 - stop) over the first q + 1 items of the group in
        # random order, built by adding one relevant item at a time to those that never stop
        # anyone. An item added to t - 1 others is among q + 1 drawn with probability (q + 1) / t.
        xp = namespace(stop)
        sizes = groups.sizes
        n_hits = count(groups.hits, sizes.shape[0])
        hit_starts = xp.cumulative_sum(n_hits) - n_hits
        rank = groups.position + 1  # in the group
        group = groups.rows
        passed = xp.ones(group.shape[0], dtype=xp.float64)
        (left,) = xp.nonzero(self.rank <= last)
        for added in range(groups.largest[1]):
            rows = left = left[n_hits[group[left]] > added]
            total = sizes[group[rows]] - n_hits[group[rows]] + added + 1
            drawn = xp.clip(xp.astype(rank[rows], xp.float64) / total, max=1.0)
            before = xp.where(rank[rows] == 1, 1.0, passed[rows - 1])
            through = 1 - stop[hit_starts[group[rows]] + added]
            passed[rows] = (1 - drawn) * passed[rows] + drawn * through * before
        before = xp.where(rank == 1, 1.0, xp.roll(passed, 1))
        reached = xp.ones(sizes.shape[0], dtype=xp.float64)
        end = groups.starts[1:] - 1
        for depth in range(1, groups.largest[2] + 1):
            (here,) = xp.nonzero(groups.depth == depth)
            reached[here] = reached[here - 1] * passed[end[here - 1]]
        return (before - passed) * reached[group]


def _largest(numbers: Array) -> int:
    """Return the largest number; 0 without numbers."""
    return int(namespace(numbers).max(numbers)) if numbers.shape[0] else 0


def resolve(
    user: Array, gain: Array, item: Array, low: Array, high: Array, ties: Ties
) -> tuple[Array, Array, Array]:
    """Return ranks, gains and codes of relevant items that come first or last in their ties.

    Parameters
    ----------
    user, gain, item : array, shape (n,)
        Hits in order of user and ``low``.
    low, high : array of int, shape (n,)
        The first and last rank of the tied group of every hit.
    ties : {"optimistic", "pessimistic"}
        Relevant items first, the largest gain on top; or last, the smallest gain on top.
    """
    xp = namespace(gain)
    sign: Literal[1, -1] = -1 if ties == "optimistic" else 1
    starts = runs(user, low)
    n_hits = xp.diff(starts)
    tied = xp.repeat(xp.arange(n_hits.shape[0]), n_hits)
    order = order_within(tied, sign * gain)
    gain, item = xp.take(gain, order), xp.take(item, order)
    position = xp.arange(tied.shape[0]) - xp.take(starts, tied)
    if ties == "optimistic":
        return low + position, gain, item
    return high - xp.take(n_hits, tied) + 1 + position, gain, item


def expect(
    user: Array, gain: Array, item: Array, low: Array, high: Array, *, limit: int | None = None
) -> Hits:
    """Return hits spread over their tied groups, so that sums over rows are expectations.

    Parameters
    ----------
    user, gain, item : array, shape (n,)
        Hits in order of user and rank.
    low, high : array of int, shape (n,)
        The first and last rank of the tied group of every hit.
    limit : int, optional
        The length of the lists, below which no rank is looked at: constant scores would make a row
        for every item of the catalogue.
    """
    xp = namespace(gain)
    hit_starts = runs(user, low)
    heads, n_hits = hit_starts[:-1], xp.diff(hit_starts)
    owner, first = xp.take(user, heads), xp.take(low, heads)
    size = xp.take(high, heads) - first + 1
    n_rows = size if limit is None else xp.minimum(size, xp.clip(limit - first + 1, min=1))
    starts = offsets(n_rows)
    first_group = xp.searchsorted(owner, owner)  # of the same user
    depth = xp.arange(owner.shape[0]) - first_group
    above = heads - xp.take(heads, first_group)  # hits of the same user in the groups before
    numbers = xp.arange(size.shape[0])
    groups = TiedGroups(starts, xp.repeat(numbers, n_hits), depth, size)
    if not is_tensor(low):
        rows = kernels.tied_rows(owner, first, above, size, n_hits, starts)
        if rows is not None:
            return Hits(*rows, gain, item, groups)
    n, r = xp.take(size, groups.rows), xp.take(n_hits, groups.rows)
    share = xp.astype(groups.position * (r - 1), xp.float64) / xp.clip(n - 1, min=1)
    position = xp.astype(xp.take(above, groups.rows), xp.float64) + 1.0 + share
    rank = xp.take(first, groups.rows) + groups.position
    probability = xp.astype(r, xp.float64) / n
    return Hits(xp.take(owner, groups.rows), rank, probability, position, gain, item, groups)
