"""A block: the data of some users that measures read, as arrays of NumPy or PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

from rankwise.core import kernels
from rankwise.core.arrays import Array, bincount, is_tensor, namespace
from rankwise.core.choices import Ties
from rankwise.core.facts import Fact, Facts
from rankwise.core.hits import Hits
from rankwise.core.row_sets import ItemRows, JudgedRows, Overlap, RecommendedRows, RowSet, RowSets
from rankwise.errors import MeasureError

__all__ = ["Block", "Cutoffs"]

Cutoffs: TypeAlias = tuple[int, ...]
"""The cut-offs of a measure: Python's numbers, so that none has to be read from an array."""

_F = TypeVar("_F")


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
    n_item_codes : int or None
        The number of item codes; None where items have no numbers because no measure counts or
        knows anything by item.
    ties : str
        How tied items are dealt with.
    row_sets : RowSets
        What some measure declared beyond the hits: read by the properties of the same names, which
        raise if no measure did.
    n_tied_rows : int, or array of one
        The number of rows with tied scores.
    facts : mapping of Fact to object
        What is known about items and users.
    limit : int or None
        The rank at which lists end, if rows that tie with their last item are there too.
    weight : array of float, shape (n_items,), or None
        How much each relevant item counts; None: all equally. ``user_weight``, shape (U,),
        multiplies it.
    """

    list_length: Array
    n_relevant: Array
    n_judged: Array
    n_dropped: Array
    user: Array
    hits: Hits
    n_item_codes: int | None = None
    ties: Ties = "input"
    n_candidates: Array | None = None
    row_sets: RowSets = field(default_factory=RowSets)
    n_tied_rows: Array = 0
    facts: Facts = field(default_factory=dict)
    limit: int | None = None
    weight: Array | None = None
    user_weight: Array | None = None
    # What was found in these rows: `replace` starts anew with these, as other rows may be meant.
    _sums: dict[Cutoffs, tuple[Array, list[Array]]] = field(default_factory=dict, init=False, repr=False)
    _rows: dict[tuple[str, int], tuple[Array | None, Array]] = field(default_factory=dict, init=False, repr=False)
    _ends: dict[tuple[int, ...], Array | None] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, fact: Fact[_F]) -> _F:
        """Return a fact about items or users that a measure declared among its inputs."""
        if fact not in self.facts:
            raise _undeclared(f"the fact {fact}")
        return cast(_F, self.facts[fact])

    @property
    def judged(self) -> JudgedRows:
        """The judged items of the lists."""
        return cast(JudgedRows, self._declared("judged"))

    @property
    def recommended(self) -> RecommendedRows:
        """All rows of the lists."""
        return cast(RecommendedRows, self._declared("recommended"))

    @property
    def relevant(self) -> ItemRows:
        """All relevant items, recommended or not."""
        return cast(ItemRows, self._declared("relevant"))

    @property
    def history(self) -> ItemRows:
        """The training interactions."""
        return cast(ItemRows, self._declared("history"))

    @property
    def overlap_history(self) -> Overlap:
        """What lists have in common with the training interactions."""
        return cast(Overlap, self._declared("overlap_history"))

    @property
    def overlap_baseline(self) -> Overlap:
        """What lists have in common with the lists of the baseline."""
        return cast(Overlap, self._declared("overlap_baseline"))

    @property
    def n_items(self) -> int:
        """The number of item codes: the length of counts by item."""
        if self.n_item_codes is None:
            raise _undeclared("the number of items")
        return self.n_item_codes

    def _declared(self, name: RowSet) -> Any:
        rows = getattr(self.row_sets, name)
        if rows is None:
            raise _undeclared(f"the rows {name!r}")
        return rows

    @cached_property
    def xp(self) -> Any:
        """The namespace of the array library, NumPy's or PyTorch's."""
        return namespace(self.list_length)

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

    def top_length(self, k: int) -> Array:
        """Return min(k, list length) for every user, shape (U,)."""
        return self.xp.clip(self.list_length, max=k)

    def relevant_in_reach(self, k: int) -> Array:
        """Return min(k, number of relevant items) for every user, shape (U,)."""
        return self.xp.clip(self.n_relevant, max=k)

    def weighted(self, weight: Array, per_user: Array) -> Block:
        """Return the block with weights of relevant items: per item code, times one per user."""
        hits, xp = self.hits, self.xp
        hit_weight = xp.take(weight, hits.item) * xp.take(per_user, hits.owner)
        return replace(self, hits=hits.weighted(hit_weight), weight=weight, user_weight=per_user)

    def item_weight(self, user: Array, item: Array) -> Array:
        """Return the weight of each of some relevant items, shape (n,)."""
        xp = namespace(user)
        if self.weight is None or self.user_weight is None:
            return xp.ones(user.shape[0], dtype=xp.float64)
        return xp.take(self.weight, item) * xp.take(self.user_weight, user)

    def sum_hits(self, values: Array, k: int) -> Array:
        """Return the sum of a value of every hit over each user's first k ranks, shape (U,).

        Parameters
        ----------
        values : array of float, shape (n,)
            One value per row of ``hits``.
        k : int
            The cut-off.
        """
        return self.sum_hits_at(values, (k,))[0]

    def sum_hits_at(self, values: Array, cutoffs: Cutoffs) -> list[Array]:
        """Return the sum of a value of every hit over each user's first ranks, by cut-off."""
        if not is_tensor(values):
            if cutoffs in self._sums and self._sums[cutoffs][0] is values:  # of another measure
                return self._sums[cutoffs][1]
            last = [self._last_rank(cutoff) for cutoff in cutoffs]
            ascending = sorted(set(last))
            ends = self._ends_at(tuple(ascending))
            found = None if ends is None else kernels.sums(self.hits.user, values, ends)
            if found is None:
                sums = [self._sum("hits", self.hits, values, cutoff) for cutoff in cutoffs]
            else:
                sums = [found[ascending.index(cutoff)] for cutoff in last]
            self._sums[cutoffs] = values, sums
            return sums
        return [self._sum("hits", self.hits, values, cutoff) for cutoff in cutoffs]

    def sum_recommended(self, values: Array, k: int) -> Array:
        """Return the same sum of a value of every row of ``recommended``, shape (U,)."""
        return self._sum("recommended", self.recommended, values, k)

    def sum_judged(self, values: Array, k: int) -> Array:
        """Return the same sum of a value of every row of ``judged``, shape (U,)."""
        return self._sum("judged", self.judged, values, k)

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

    def count_overlap(self, overlap: Overlap, k: int, *, both: bool = False) -> Array:
        """Return the number of common items in the first k of the list, or of both, shape (U,)."""
        within = overlap.rank <= k
        within = within & (overlap.rank_there <= k) if both else within
        return bincount(overlap.user, self.xp.astype(within, self.xp.float64), self.n_users)

    def _sum(self, name: str, rows: Any, values: Array, k: int) -> Array:
        if is_tensor(values):
            near = rows.rank <= self._last_rank(k)
            # a selection would wait
            return bincount(rows.user, self.xp.where(near, values, self.xp.zeros_like(values)), self.n_users)
        within, users = self._within(name, rows, k)
        return bincount(users, values if within is None else values[within], self.n_users)

    def _ends_at(self, ranks: tuple[int, ...]) -> Array | None:
        """Return where each user's hits up to some ranks end, once for all measures."""
        if ranks not in self._ends:
            self._ends[ranks] = kernels.ends(self.hits.user, self.hits.rank, ranks, self.n_users)
        return self._ends[ranks]

    def _last_rank(self, cutoff: int) -> int:
        return cutoff if self.limit is None else min(cutoff, self.limit)

    def sum_ideal(self, gain: Callable[[Array], Array], discount: Callable[[Array], Array], k: int) -> Array:
        """Return the ideal DCG: gain times discount over the best possible first k ranks, (U,)."""
        xp, ideal = self.xp, self._declared("ideal")
        if ideal == "ones":
            # All gains are 1: the sum depends only on the number of ranks that are filled.
            ranks = xp.arange(1, self.most_relevant + 1, dtype=xp.float64)
            terms = gain(xp.ones_like(ranks)) * discount(ranks)
            sums = xp.concat([xp.zeros(1, dtype=xp.float64), xp.cumulative_sum(terms)])
            return xp.take(sums, self.relevant_in_reach(k))
        terms = gain(ideal.gain) * discount(xp.astype(ideal.rank, xp.float64))
        near = ideal.rank <= k
        if is_tensor(terms):
            within = xp.where(near, terms, xp.zeros_like(terms))
            return bincount(ideal.user, within, self.n_users)
        return bincount(ideal.user[near], terms[near], self.n_users)

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


def _undeclared(what: str) -> MeasureError:
    return MeasureError(
        f"a measure reads {what} of a block, which it does not declare among its inputs",
        hint="add it to inputs of the measure",
    )
