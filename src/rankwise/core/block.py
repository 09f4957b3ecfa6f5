"""A block: what measures see of some users. Plain arrays, of NumPy or of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rankwise.core.backend import Array, bincount, namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.facts import Fact, Facts
    from rankwise.core.hits import Hits
    from rankwise.core.lists import Ties

__all__ = ["Block", "Ideal", "Judged", "Listed", "Rows", "Shared"]

_F = TypeVar("_F")


@dataclass(frozen=True)
class Ideal:
    """The relevant items of every user in decreasing gain: the list that could not be better."""

    user: Array
    rank: Array
    gain: Array


@dataclass(frozen=True)
class Judged:
    """Recommended items that have a truth row, relevant or not, in order of user and rank.

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
    """The first rank of the group that each item is tied in; None if ties do not matter."""


@dataclass(frozen=True)
class Listed:
    """Every row of every list; scores and labels (1 if relevant) where lists have scores."""

    user: Array
    rank: Array
    item: Array
    n_items: int
    score: Array | None = None
    label: Array | None = None


@dataclass(frozen=True)
class Rows:
    """Items of users beside their lists: those that are relevant, or those of their history."""

    user: Array
    item: Array
    gain: Array


@dataclass(frozen=True)
class Shared:
    """Items of the lists that are also in another set of items of the same user.

    Attributes
    ----------
    user, rank, item : array of int
        The user, the rank and the code of each such item.
    other_rank : array of int
        Its place in the other set, from 1.
    length : array of int, shape (U,)
        The size of the other set.
    apart : array of int, shape (U,)
        How many of it are neither in the list nor relevant.
    """

    user: Array
    rank: Array
    item: Array
    other_rank: Array
    length: Array
    apart: Array


@dataclass(frozen=True)
class Block:
    """Some users, their lists and what is relevant to them.

    Attributes
    ----------
    list_length : array of int, shape (U,)
        The number of items recommended to each user; 0 without a list.
    n_relevant : array of int, shape (U,)
        The number of relevant items of each user.
    n_judged : array of int, shape (U,)
        The number of truth rows of each user, relevant or not.
    n_dropped : array of int, shape (U,)
        The number of repetitions that were dropped from each list.
    user : array of int, shape (U,)
        The code of each user: where user facts have their row.
    n_candidates : array of int, shape (U,), or None
        How many items were ranked for each user; None where lists do not say.
    hits : Hits
        Relevant items that were recommended.
    n_items : int
        The number of item codes: the length of what is counted by item.
    ties : str
        How tied items are dealt with.
    ideal, judged, listed, relevant, profile, repeats, baseline
        What some measure needs beyond that, else None. ``ideal`` is None, too, where every gain
        is 1. ``relevant`` are all relevant items, ``profile`` the items of the history,
        ``repeats`` and ``baseline`` what lists share with the history and with another run.
    facts : mapping of Fact to object
        What is known about items and users.
    limit : int or None
        The rank at which lists end, where what ties with their last item is there too.
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
    judged: Judged | None = None
    listed: Listed | None = None
    relevant: Rows | None = None
    profile: Rows | None = None
    repeats: Shared | None = None
    baseline: Shared | None = None
    facts: Facts = field(default_factory=dict)
    limit: int | None = None
    weight: Array | None = None
    user_weight: Array | None = None
    _rows: dict[tuple[str, int], tuple[Array | None, Array]] = field(
        default_factory=dict, repr=False
    )

    @property
    def n_users(self) -> int:
        """The number of users, U."""
        return int(self.list_length.shape[0])

    def weighted(self, weight: Array, per_user: Array) -> Block:
        """Let relevant items count by weight: by item code, times one number for each user."""
        hits, xp = self.hits, namespace(weight)
        own = xp.take(weight, hits.item) * xp.take(per_user, hits.owner)
        return replace(self, hits=hits.weighted(own), weight=weight, user_weight=per_user, _rows={})

    def worth(self, user: Array, item: Array) -> Array:
        """Return how much each of some relevant items counts, shape (n,)."""
        xp = namespace(user)
        if self.weight is None or self.user_weight is None:
            return xp.ones(user.shape[0], dtype=xp.float64)
        return xp.take(self.weight, item) * xp.take(self.user_weight, user)

    def sum_hits(self, values: Array, k: Array) -> Array:
        """Sum a value of every hit over each user's first k ranks.

        Every sum is taken down the list, on its own: asking for another cut-off beside it does
        not change its last digit.

        Parameters
        ----------
        values : array of float, shape (n,)
            One value a row of ``hits``.
        k : array of int, shape (n_k,)
            Cut-offs.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        return self._sum("hits", self.hits, values, k)

    def sum_listed(self, values: Array, k: Array) -> Array:
        """Sum a value of every row of ``listed`` over each user's first k ranks, (U, n_k)."""
        return self._sum("listed", self.rows("listed"), values, k)

    def sum_judged(self, values: Array, k: Array) -> Array:
        """Sum a value of every row of ``judged`` over each user's first k ranks, (U, n_k)."""
        return self._sum("judged", self.rows("judged"), values, k)

    def sum_rows(self, rows: Rows, values: Array) -> Array:
        """Sum a value of every row over each user, shape (U,).

        These rows are in no order, so values are added up from the smallest: the sum then depends
        on nothing but the values.
        """
        xp = namespace(values)
        order = xp.argsort(values, stable=True)
        order = xp.take(order, xp.argsort(xp.take(rows.user, order), stable=True))
        return bincount(xp.take(rows.user, order), xp.take(values, order), self.n_users)

    def count_rows(self, rows: Rows) -> Array:
        """Count the rows of each user, as floats, shape (U,)."""
        return bincount(rows.user, namespace(rows.gain).ones_like(rows.gain), self.n_users)

    def count_shared(self, shared: Shared, k: Array, *, other: bool = False) -> Array:
        """Count the shared items in the first k of the list, and of the other set, (U, n_k)."""
        xp = namespace(shared.rank)
        columns = []
        for cutoff in k:
            near = shared.rank <= cutoff
            near = near & (shared.other_rank <= cutoff) if other else near
            columns.append(bincount(shared.user, xp.astype(near, xp.float64), self.n_users))
        return xp.stack(columns, axis=0).T

    def rows(self, name: Literal["judged", "listed", "relevant", "profile"]) -> Any:
        """Return some rows that a measure said it needs."""
        found = getattr(self, name)
        assert found is not None, name  # the plan sees to it
        return found

    def fact(self, fact: Fact, kind: type[_F]) -> _F:
        """Return a fact that a measure said it needs."""
        found = self.facts[fact]
        assert isinstance(found, kind)
        return found

    def _sum(self, name: str, rows: Any, values: Array, k: Array) -> Array:
        xp = namespace(values)
        columns = []
        for cutoff in k:
            chosen, users = self._within(name, rows, int(cutoff))
            columns.append(
                bincount(users, values if chosen is None else values[chosen], self.n_users)
            )
        return xp.stack(columns, axis=0).T  # each cut-off's values side by side in memory

    def sum_ideal(
        self, gain: Callable[[Array], Array], discount: Callable[[Array], Array], k: Array
    ) -> Array:
        """Sum gain times discount over the k best ranks that each user could have.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        xp = namespace(self.n_relevant)
        if self.ideal is None:
            # Every gain is 1: the sum depends on how many ranks are filled and on nothing else.
            longest = int(xp.max(self.n_relevant)) if self.n_users else 0
            ranks = xp.arange(1, longest + 1, dtype=xp.float64)
            terms = gain(xp.ones_like(ranks)) * discount(ranks)
            sums = xp.concat([xp.zeros(1, dtype=xp.float64), xp.cumulative_sum(terms)])
            filled = xp.minimum(self.n_relevant[:, None], k[None, :])
            return xp.reshape(xp.take(sums, xp.reshape(filled, (-1,))), filled.shape)
        terms = gain(self.ideal.gain) * discount(xp.astype(self.ideal.rank, xp.float64))
        columns = []
        for cutoff in k:
            rows = self.ideal.rank <= cutoff
            columns.append(bincount(self.ideal.user[rows], terms[rows], self.n_users))
        return xp.stack(columns, axis=0).T

    def _within(self, name: str, rows: Any, cutoff: int) -> tuple[Array | None, Array]:
        """Return the rows within a cut-off (None: all) and their users.

        Worked out once for all measures.
        """
        key = name, cutoff
        if key not in self._rows:
            xp = namespace(rows.rank)
            near = rows.rank <= (cutoff if self.limit is None else min(cutoff, self.limit))
            if bool(xp.all(near)):
                self._rows[key] = None, rows.user
            else:
                (chosen,) = xp.nonzero(near)
                self._rows[key] = chosen, rows.user[chosen]
        return self._rows[key]
