"""A block: what measures know about some users, as plain arrays of NumPy or of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

from rankwise.core.arrays import Array, bincount, is_tensor, namespace, whole_numbers_like
from rankwise.core.choices import Ties
from rankwise.core.facts import Fact, Facts
from rankwise.core.hits import Hits

__all__ = [
    "Block", "Cutoffs", "Ideal", "ItemRows", "JudgedRows", "Needs", "Overlap", "RecommendedRows",
]  # fmt: skip

Needs: TypeAlias = frozenset[
    Literal[
        "ideal",
        "judged",
        "recommended",
        "scores",
        "relevant",
        "history",
        "overlap_history",
        "overlap_baseline",
    ]
]
"""What a block must hold beyond hits: sets of rows, and the scores of the lists."""

Cutoffs: TypeAlias = tuple[int, ...]
"""The cut-offs of a measure: Python's numbers, so that none has to be read from an array."""

_F = TypeVar("_F")


@dataclass(frozen=True)
class Ideal:
    """The relevant items of every user in decreasing gain: the best possible list."""

    user: Array
    rank: Array
    gain: Array


@dataclass(frozen=True)
class JudgedRows:
    """Recommended items that are in the ground truth, relevant or not, in order of user and rank.

    Unlike hits they are in the order of the list even where scores tie.
    """

    user: Array
    rank: Array
    item: Array
    truth: Array
    relevant: Array
    """1 where the item is relevant, else 0."""
    score: Array | None = None
    tie: Array | None = None
    """The first rank of the tied group of each item; None if ties do not matter."""


@dataclass(frozen=True)
class RecommendedRows:
    """All rows of the lists; scores and labels (1 if relevant) where lists have scores."""

    user: Array
    rank: Array
    item: Array
    n_items: int
    score: Array | None = None
    label: Array | None = None


@dataclass(frozen=True)
class ItemRows:
    """Items of users apart from their lists: relevant items, or training interactions."""

    user: Array
    item: Array
    gain: Array


@dataclass(frozen=True)
class Overlap:
    """Items of the lists that are also in another set of items of the same user.

    Attributes
    ----------
    user, rank, item : array of int
        The user, the rank and the code of each such item.
    rank_there : array of int
        Its position in the other set, from 1.
    length : array of int, shape (U,)
        The size of the other set.
    n_elsewhere : array of int, shape (U,)
        How many items of the other set are neither in the list nor relevant.
    """

    user: Array
    rank: Array
    item: Array
    rank_there: Array
    length: Array
    n_elsewhere: Array


@dataclass(frozen=True)
class Block:
    """Some users, their recommendation lists and what is relevant to them.

    Attributes
    ----------
    list_length : array of int, shape (U,)
        The number of items recommended to each user; 0 without a list.
    n_relevant : array of int, shape (U,)
        The number of relevant items of each user.
    n_judged : array of int, shape (U,)
        The number of ground truth rows of each user, relevant or not.
    n_dropped : array of int, shape (U,)
        The number of repeated items that were dropped from each list.
    user : array of int, shape (U,)
        The code of each user: its row in user facts.
    n_candidates : array of int, shape (U,), or None
        The size of each candidate set; None where lists do not say.
    hits : Hits
        Relevant items that were recommended.
    n_items : int
        The number of item codes: the length of counts by item.
    ties : str
        How tied items are dealt with.
    ideal, judged, recommended, relevant, history : rows or None
        What some measure needs beyond the hits. ``ideal`` is also None if all gains are 1.
        ``recommended`` has all rows of the lists, ``relevant`` all relevant items, ``history``
        the training interactions.
    overlap : mapping of str to Overlap
        What lists have in common with the ``"history"`` and with the lists of a ``"baseline"``.
    n_tied_rows : int, or array of one
        The number of rows with tied scores.
    facts : mapping of Fact to object
        What is known about items and users.
    limit : int or None
        The rank at which lists end, if rows that tie with their last item are there too.
    weight : array of float, shape (n_items,), or None
        How much each relevant item counts; None: all the same. ``user_weight``, shape (U,),
        multiplies it.
    """

    list_length: Array
    n_relevant: Array
    n_judged: Array
    n_dropped: Array
    user: Array
    hits: Hits
    n_items: int = 0
    ties: Ties = "input"
    n_candidates: Array | None = None
    ideal: Ideal | None = None
    judged: JudgedRows | None = None
    recommended: RecommendedRows | None = None
    relevant: ItemRows | None = None
    history: ItemRows | None = None
    overlap: Mapping[str, Overlap] = field(default_factory=dict)
    n_tied_rows: Array = 0
    facts: Facts = field(default_factory=dict)
    limit: int | None = None
    weight: Array | None = None
    user_weight: Array | None = None
    _rows: dict[tuple[str, int], tuple[Array | None, Array]] = field(
        default_factory=dict, repr=False
    )
    _cutoffs: dict[Cutoffs, Array] = field(default_factory=dict, repr=False)

    @property
    def n_users(self) -> int:
        """The number of users, U."""
        return int(self.list_length.shape[0])

    @cached_property
    def most_relevant(self) -> int:
        """The largest number of relevant items of a user."""
        return int(namespace(self.n_relevant).max(self.n_relevant)) if self.n_users else 0

    @cached_property
    def list_lengths(self) -> tuple[int, ...]:
        """The lengths that lists have, in ascending order."""
        return tuple(namespace(self.list_length).unique_values(self.list_length).tolist())

    def cutoffs(self, k: Cutoffs) -> Array:
        """Return cut-offs as an array beside those of the block, shape (1, n_k).

        Kept, because what goes to an accelerator waits there for its turn.
        """
        if k not in self._cutoffs:
            self._cutoffs[k] = whole_numbers_like(self.list_length, k)[None, :]
        return self._cutoffs[k]

    def top_length(self, k: Cutoffs) -> Array:
        """Return min(k, list length) for every user and cut-off, shape (U, n_k)."""
        length = self.list_length[:, None]
        return namespace(length).minimum(length, self.cutoffs(k))

    def relevant_in_reach(self, k: Cutoffs) -> Array:
        """Return min(k, number of relevant items) for every user and cut-off, shape (U, n_k)."""
        n_relevant = self.n_relevant[:, None]
        return namespace(n_relevant).minimum(n_relevant, self.cutoffs(k))

    def weighted(self, weight: Array, per_user: Array) -> Block:
        """Return the block with weights of relevant items: per item code, times one per user."""
        hits, xp = self.hits, namespace(weight)
        hit_weight = xp.take(weight, hits.item) * xp.take(per_user, hits.owner)
        return replace(
            self, hits=hits.weighted(hit_weight), weight=weight, user_weight=per_user, _rows={}
        )

    def item_weight(self, user: Array, item: Array) -> Array:
        """Return the weight of each of some relevant items, shape (n,)."""
        xp = namespace(user)
        if self.weight is None or self.user_weight is None:
            return xp.ones(user.shape[0], dtype=xp.float64)
        return xp.take(self.weight, item) * xp.take(self.user_weight, user)

    def sum_hits(self, values: Array, k: Cutoffs) -> Array:
        """Return the sum of a value of every hit over each user's first k ranks.

        Each sum is taken down the list by itself, so its last digit does not depend on other
        cut-offs.

        Parameters
        ----------
        values : array of float, shape (n,)
            One value per row of ``hits``.
        k : tuple of int
            Cut-offs.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        return self._sum("hits", self.hits, values, k)

    def sum_recommended(self, values: Array, k: Cutoffs) -> Array:
        """Return the same sum of a value of every row of ``recommended``, shape (U, n_k)."""
        return self._sum("recommended", self.rows("recommended"), values, k)

    def sum_judged(self, values: Array, k: Cutoffs) -> Array:
        """Return the same sum of a value of every row of ``judged``, shape (U, n_k)."""
        return self._sum("judged", self.rows("judged"), values, k)

    def sum_rows(self, rows: ItemRows, values: Array) -> Array:
        """Return the sum of a value of every row over each user, shape (U,).

        These rows are in no order, so values are added up from the smallest: the sum then depends
        on the values alone.
        """
        xp = namespace(values)
        order = xp.argsort(values, stable=True)
        order = xp.take(order, xp.argsort(xp.take(rows.user, order), stable=True))
        return bincount(xp.take(rows.user, order), xp.take(values, order), self.n_users)

    def count_rows(self, rows: ItemRows) -> Array:
        """Return the number of rows of each user, as floats, shape (U,)."""
        return bincount(rows.user, namespace(rows.gain).ones_like(rows.gain), self.n_users)

    def count_overlap(self, overlap: Overlap, k: Cutoffs, *, both: bool = False) -> Array:
        """Return the number of common items in the first k of the list, or of both, (U, n_k)."""
        xp = namespace(overlap.rank)
        columns = []
        for cutoff in k:
            within = overlap.rank <= cutoff
            within = within & (overlap.rank_there <= cutoff) if both else within
            columns.append(bincount(overlap.user, xp.astype(within, xp.float64), self.n_users))
        return xp.stack(columns, axis=0).T

    def rows(self, name: Literal["judged", "recommended", "relevant", "history"]) -> Any:
        """Return a set of rows that a measure declared as needed."""
        rows = getattr(self, name)
        assert rows is not None, name  # the plan asks for what measures need
        return rows

    def fact(self, fact: Fact, kind: type[_F]) -> _F:
        """Return a fact that a measure declared as needed."""
        value = self.facts[fact]
        assert isinstance(value, kind)
        return value

    def _sum(self, name: str, rows: Any, values: Array, k: Cutoffs) -> Array:
        xp = namespace(values)
        columns = []
        for cutoff in k:
            if is_tensor(values):
                near = rows.rank <= self._last_rank(cutoff)
                terms = xp.where(near, values, xp.zeros_like(values))  # a selection would wait
                columns.append(bincount(rows.user, terms, self.n_users))
                continue
            within, users = self._within(name, rows, cutoff)
            columns.append(
                bincount(users, values if within is None else values[within], self.n_users)
            )
        return xp.stack(columns, axis=0).T  # each cut-off's values side by side in memory

    def _last_rank(self, cutoff: int) -> int:
        return cutoff if self.limit is None else min(cutoff, self.limit)

    def sum_ideal(
        self, gain: Callable[[Array], Array], discount: Callable[[Array], Array], k: Array
    ) -> Array:
        """Return the ideal DCG: gain times discount, summed over the best possible first k ranks.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        xp = namespace(self.n_relevant)
        if self.ideal is None:
            # All gains are 1: the sum depends only on the number of ranks that are filled.
            ranks = xp.arange(1, self.most_relevant + 1, dtype=xp.float64)
            terms = gain(xp.ones_like(ranks)) * discount(ranks)
            sums = xp.concat([xp.zeros(1, dtype=xp.float64), xp.cumulative_sum(terms)])
            filled = self.relevant_in_reach(k)
            return xp.reshape(xp.take(sums, xp.reshape(filled, (-1,))), filled.shape)
        terms = gain(self.ideal.gain) * discount(xp.astype(self.ideal.rank, xp.float64))
        columns = []
        for cutoff in k:
            near = self.ideal.rank <= cutoff
            if is_tensor(terms):
                within = xp.where(near, terms, xp.zeros_like(terms))
                columns.append(bincount(self.ideal.user, within, self.n_users))
            else:
                columns.append(bincount(self.ideal.user[near], terms[near], self.n_users))
        return xp.stack(columns, axis=0).T

    def _within(self, name: str, rows: Any, cutoff: int) -> tuple[Array | None, Array]:
        """Return the rows within a cut-off (None: all) and their users, once for all measures."""
        key = name, cutoff
        if key not in self._rows:
            xp = namespace(rows.rank)
            is_within = rows.rank <= self._last_rank(cutoff)
            if bool(xp.all(is_within)):
                self._rows[key] = None, rows.user
            else:
                (within,) = xp.nonzero(is_within)
                self._rows[key] = within, rows.user[within]
        return self._rows[key]
