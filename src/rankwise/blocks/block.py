"""Data of a block of users for metrics: hits, row sets and side information, in NumPy or PyTorch.

A metric declares the sets of rows that it reads beyond hits, and the facts: data about items and
users beyond lists and ground truth, as arrays by code. Blocks hold what is declared alone. Item
facts have one row per item code, user facts one per user code; unknown items and users have the
empty value described below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from rankwise.blocks.hits import Hits
from rankwise.core import kernels
from rankwise.core.arrays import Array, bincount, count, is_tensor, namespace
from rankwise.core.ragged import order_within
from rankwise.errors import MetricError
from rankwise.options import Ties

RowSet: TypeAlias = Literal[
    "ideal", "judged", "recommended", "relevant", "history", "overlap_history", "overlap_reference"
]
"""The sets of rows that a block can hold."""

Needs: TypeAlias = frozenset[RowSet | Literal["scores"]]
"""What a block must hold beyond hits: sets of rows, and the scores of the lists."""

WHOLE_LIST = 2**62
"""The cut-off in place of none: larger than any list, small enough to add numbers to."""
WHOLE_LISTS: Needs = frozenset({"recommended", "overlap_history", "overlap_reference"})
"""The sets for which every row of a list is read, in the order of the list."""


@dataclass(frozen=True)
class Ideal:
    """The relevant items of every user in decreasing gain: the best possible list."""

    user: Array
    rank: Array
    gain: Array


@dataclass(frozen=True, eq=False, repr=False)
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
    n_negative: Array
    """The number of ground truth rows of each user with a negative grade that are not relevant,
    recommended or not, shape (U,)."""
    score: Array = None
    """None where lists have no scores: metrics that read them declare ``"scores"``."""
    tie: Array | None = None
    """The first rank of the tied group of each item; None if ties do not matter."""


@dataclass(frozen=True, eq=False, repr=False)
class RecommendedRows:
    """All rows of the lists; scores and labels (1 if relevant) where lists have scores, else None.

    Metrics that read these declare ``"scores"``.
    """

    user: Array
    rank: Array
    item: Array
    score: Array = None
    label: Array = None


@dataclass(frozen=True, eq=False, repr=False)
class ItemRows:
    """Items of users apart from their lists: relevant items, or training interactions."""

    user: Array
    item: Array
    gain: Array


@dataclass(frozen=True, eq=False, repr=False)
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


@dataclass(frozen=True, eq=False, repr=False)
class RowSets:
    """The sets of rows that a block holds; None for sets that no metric declared.

    Attributes
    ----------
    ideal : Ideal, "ones" or None
        The best possible lists; ``"ones"`` if all gains are 1, so that no rows are needed.
    judged, recommended : rows
        Judged items of the lists, and all rows of the lists.
    relevant, history : ItemRows
        All relevant items, and the training interactions.
    overlap_history, overlap_reference : Overlap
        What lists have in common with the training interactions, and with reference lists.
    """

    ideal: Ideal | Literal["ones"] | None = None
    judged: JudgedRows | None = None
    recommended: RecommendedRows | None = None
    relevant: ItemRows | None = None
    history: ItemRows | None = None
    overlap_history: Overlap | None = None
    overlap_reference: Overlap | None = None


_K = TypeVar("_K")


@dataclass(frozen=True, order=True)
class Fact(Generic[_K]):
    """The name of a fact: its kind, and the column of the facts that are read from one.

    Each kind has a reader (`rankwise.encoding.side_information.Reader`).
    ``block[fact]`` is what is known, as the type that stands in brackets: `POPULARITY` is a
    ``Fact[Popularity]``.
    """

    kind: str
    column: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.column})" if self.column else self.kind


@dataclass(frozen=True, eq=False, repr=False)
class Popularity:
    """How often each item occurs in training interactions.

    Attributes
    ----------
    count : array of float, shape (n_items,)
        Distinct training users of every item; 0 for items without any.
    above : array of float, shape (n_items,)
        The interactions of all more popular items. Ties are in order of item id, and items
        without interactions come last.
    popularity_rank : array of float, shape (n_items,)
        The dense rank of the item's popularity, 1 for the most popular items.
    n_users : int
        Training users.
    n_interactions : int
        The sum of the counts.
    most : float
        The largest count.
    """

    count: Array
    above: Array
    popularity_rank: Array
    n_users: int
    n_interactions: int
    most: float

    def is_tail(
        self, ratio: float, of: Literal["interactions", "items", "rarest_items"] = "interactions"
    ) -> Array:
        """Whether each item is in the long tail: past the top ``ratio`` of interactions, or items.

        Of items: past the top ``ratio`` of those with interactions, rounded half up, at least one.
        Of the rarest items: among the first 1 - ``ratio`` of those with interactions, least popular
        first, rounded down, at least one.
        """
        if of == "interactions":
            return self.above / self.n_interactions > ratio
        if of == "rarest_items":
            return self._is_rare(1.0 - ratio)
        xp = namespace(self.above)
        n_warm = xp.sum(xp.astype(self.count > 0, xp.float64))
        # A share is meant as it is written: 0.15 of 10 is 1.5, whatever its float.
        n_head = xp.clip(xp.floor(ratio * n_warm + 0.5 + 1e-9), min=1.0)
        last = xp.take(xp.sort(self.above), xp.reshape(xp.astype(n_head, xp.int64) - 1, (1,)))
        return self.above > last

    def _is_rare(self, share: float) -> Array:
        """Return whether each item is in the least popular ``share`` of items with interactions."""
        xp = namespace(self.above)
        order = order_within(self.count, self.above)  # by id where counts are equal
        n_cold = xp.sum(xp.astype(self.count == 0, xp.int64))
        n_warm = self.count.shape[0] - n_cold
        n_rare = xp.clip(xp.floor(share * xp.astype(n_warm, xp.float64) + 1e-9), min=1.0)
        place = xp.argsort(order, stable=True)  # of each item among all
        return (place >= n_cold) & (place < n_cold + n_rare)

    @property
    def quantile(self) -> Array:
        """The rank of each item by ascending count over the number of items with interactions.

        Equal counts share their mean rank; 0 for items without interactions.
        """
        xp = namespace(self.count)
        ordered = xp.sort(self.count)
        n_cold = xp.sum(xp.astype(self.count == 0, xp.float64))
        below = xp.astype(xp.searchsorted(ordered, self.count, side="left"), xp.float64)
        to = xp.astype(xp.searchsorted(ordered, self.count, side="right"), xp.float64)
        rank = (below + 1.0 + to) / 2.0 - n_cold
        return xp.where(self.count > 0, rank / (self.count.shape[0] - n_cold), 0.0)


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of every item or user: a number in [0, n), or -1 for none."""

    code: Array
    names: tuple[str, ...]

    @staticmethod
    def of_items(column: str) -> Fact[Groups]:
        """Return the fact that has the groups of a column of ``items``."""
        return Fact("item_group", column)

    @staticmethod
    def of_users(column: str) -> Fact[Groups]:
        """Return the fact that has the groups of a column of ``users``."""
        return Fact("user_group", column)

    def sum(self, values: Array) -> Array:
        """Return the sum of a value of every row of ``code`` over each group, shape (n,)."""
        xp = namespace(self.code)
        inside = self.code >= 0
        weights = xp.astype(values[inside], xp.float64)
        return bincount(self.code[inside], weights, len(self.names))


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of every item, item by item.

    Attributes
    ----------
    starts : array of int, shape (n_items + 1,)
        Where each item's categories start in ``code``.
    code : array of int
        Numbers of categories, which are in order of name.
    signature : array of int, shape (n_items,)
        A number for each distinct set of categories, in order: it decides between items
        independently of their ids. 0 is the empty set.
    names : tuple of str
        The categories.
    """

    starts: Array
    code: Array
    signature: Array
    names: tuple[str, ...]

    @staticmethod
    def fact(column: str) -> Fact[Categories]:
        """Return the fact that has the categories of a column of ``items``."""
        return Fact("categories", column)

    def of(self, items: Array) -> tuple[Array, Array]:
        """Return one row per item and category: which of ``items``, which category."""
        xp = namespace(items)
        first = xp.take(self.starts, items)
        lengths = xp.take(self.starts[1:], items) - first  # items may be the largest of their type
        ends = xp.cumulative_sum(lengths)
        owner = xp.repeat(xp.arange(items.shape[0]), lengths)
        position = xp.arange(owner.shape[0]) - xp.take(ends - lengths, owner)
        return owner, xp.take(self.code, xp.take(first, owner) + position)

    def cells(self, user: Array, items: Array) -> tuple[Array, Array]:
        """Return the index in ``items`` and the cell of (U, n_categories) per item and category."""
        owner, category = self.of(items)
        return owner, namespace(items).take(user, owner) * len(self.names) + category

    def matrix(self, items: Array) -> Array:
        """Return 1.0 for each category of each of ``items``, else 0.0, shape (n, n_categories)."""
        xp = namespace(items)
        owner, category = self.of(items)
        n, width = items.shape[0], len(self.names)
        member = count(owner * width + category, n * width)
        return xp.reshape(xp.astype(member, xp.float64), (n, width))

    def count(self, user: Array, items: Array, n_users: int) -> Array:
        """Return the number of each user's items in every category, shape (U, n_categories)."""
        xp, width = namespace(items), len(self.names)
        _, cell = self.cells(user, items)
        counts = bincount(cell, xp.ones(cell.shape[0], dtype=xp.float64), n_users * width)
        return xp.reshape(counts, (n_users, width))


@dataclass(frozen=True, eq=False)
class Features:
    """A feature vector per item: zeros for items that are not ``known`` to have one."""

    vector: Array
    known: Array

    @staticmethod
    def fact(column: str) -> Fact[Features]:
        """Return the fact that has the feature vectors of a column of ``items``."""
        return Fact("features", column)


@dataclass(frozen=True, eq=False, repr=False)
class Propensity:
    """The probability that each item is observed at all, in (0, 1]."""

    probability: Array


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """Whether each item is in a set: the catalogue that was passed, or the items judged for anyone."""

    inside: Array


@dataclass(frozen=True, eq=False, repr=False)
class Similarity:
    """The similarity of every two items: the cosine of their columns of training users.

    ``row`` is each item code's row of ``cosine``; items without any share the last, of zeros.
    """

    row: Array
    cosine: Array


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Distinct training users of every item per group of users, shape (n_items, n_groups)."""

    count: Array
    names: tuple[str, ...]

    @staticmethod
    def fact(column: str) -> Fact[Source]:
        """Return the fact that has the training users of every item per group of a column."""
        return Fact("source", column)


Facts: TypeAlias = "Mapping[Fact[Any], object]"

JUDGED_ANYWHERE: Fact[Membership] = Fact("judged_anywhere")
"""Whether each item has a row in the ground truth of any user."""
POPULARITY: Fact[Popularity] = Fact("popularity")
"""How often each item occurs in training."""
PROPENSITY: Fact[Propensity] = Fact("propensity", "propensity")
"""The probability that each item is observed, from the column of that name."""
IN_CATALOGUE: Fact[Membership] = Fact("membership")
"""Whether each item is among ``items``."""
SIMILARITY: Fact[Similarity] = Fact("similarity")
"""The cosine of every two items' training users."""
HISTORY: Fact[object] = Fact("history")
"""The training interactions: read as rows of a block, not as a fact."""
REFERENCE: Fact[object] = Fact("reference")
"""The reference lists: read as rows of a block, not as a fact."""


Cutoffs: TypeAlias = tuple[int, ...]
"""The cut-offs of a metric: Python's numbers, so that none has to be read from an array."""

_F = TypeVar("_F")


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A block of users, with their recommendation lists and relevant items.

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
        The number of item codes; None where items have no numbers because no metric counts or
        knows anything by item.
    ties : str
        How tied items are dealt with.
    row_sets : RowSets
        What some metric declared beyond the hits: read by the properties of the same names, which
        raise if no metric did.
    n_tied_rows : int, or array of one
        The number of rows with tied scores.
    n_hits : int, or array of one
        The number of relevant items in the lists; `hits` lack those below all cut-offs.
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
    n_hits: Array = 0
    facts: Facts = field(default_factory=dict)
    limit: int | None = None
    weight: Array | None = None
    user_weight: Array | None = None
    # What was found in these rows: `replace` starts anew with these, as other rows may be meant.
    _sums: dict[Cutoffs, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)
    _places: dict[Cutoffs, tuple[Array, Array]] = field(
        default_factory=dict, init=False, repr=False
    )
    _ideal: dict[tuple[Any, Any], Array] = field(default_factory=dict, init=False, repr=False)
    _rows: dict[tuple[str, int], tuple[Array | None, Array]] = field(
        default_factory=dict, init=False, repr=False
    )
    _ends: dict[tuple[int, ...], Array | None] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, fact: Fact[_F]) -> _F:
        """Return a fact about items or users that a metric declared among its inputs."""
        if fact not in self.facts:
            raise _undeclared(f"the fact {fact}")
        return cast("_F", self.facts[fact])

    @property
    def judged(self) -> JudgedRows:
        """The judged items of the lists."""
        return cast("JudgedRows", self._declared("judged"))

    @property
    def recommended(self) -> RecommendedRows:
        """All rows of the lists."""
        return cast("RecommendedRows", self._declared("recommended"))

    @property
    def relevant(self) -> ItemRows:
        """All relevant items, recommended or not."""
        return cast("ItemRows", self._declared("relevant"))

    @property
    def history(self) -> ItemRows:
        """The training interactions."""
        return cast("ItemRows", self._declared("history"))

    @property
    def overlap_history(self) -> Overlap:
        """The overlap of lists and training interactions."""
        return cast("Overlap", self._declared("overlap_history"))

    @property
    def overlap_reference(self) -> Overlap:
        """The overlap of lists and reference lists."""
        return cast("Overlap", self._declared("overlap_reference"))

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

    def relevant_in_reach(self, k: int | Array) -> Array:
        """Return min(k, number of relevant items) for every user, shape (U,)."""
        if isinstance(k, int):
            return self.xp.clip(self.n_relevant, max=k)
        return self.xp.minimum(self.n_relevant, k)

    def with_weights(self, weight: Array, per_user: Array) -> Block:
        """Return the block with weights of relevant items: per item code, times one per user."""
        hits, xp = self.hits, self.xp
        hit_weight = xp.take(weight, hits.item) * xp.take(per_user, hits.owner)
        return replace(
            self, hits=hits.with_weights(hit_weight), weight=weight, user_weight=per_user
        )

    def item_weight(self, user: Array, item: Array) -> Array:
        """Return the weight of each relevant item, shape (n,)."""
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

    def sum_hits_at(self, values: Array, cutoffs: Cutoffs) -> Array:
        """Return the sum of a value of every hit over each user's first ranks, by cut-off.

        An array of shape (U,) for each cut-off; of tensors one tensor, shape (C, U).
        """
        if cutoffs in self._sums and self._sums[cutoffs][0] is values:  # of another metric
            return self._sums[cutoffs][1]
        sums = (
            self._sum_tensor(values, cutoffs)
            if is_tensor(values)
            else self._sum_array(values, cutoffs)
        )
        self._sums[cutoffs] = values, sums
        return sums

    def _sum_array(self, values: Array, cutoffs: Cutoffs) -> list[Array]:
        """Return sums over hits by cut-off, in one pass where there are compiled loops."""
        last = [self._last_rank(cutoff) for cutoff in cutoffs]
        ascending = sorted(set(last))
        ends = self._ends_at(tuple(ascending))
        compiled = None if ends is None else kernels.sums(self.hits.user, values, ends)
        if compiled is None:
            return [self._sum("hits", self.hits, values, cutoff) for cutoff in cutoffs]
        return [compiled[ascending.index(cutoff)] for cutoff in last]

    def _sum_tensor(self, values: Array, cutoffs: Cutoffs) -> Array:
        """Return sums over hits, shape (C, U): each operation is for all cut-offs."""
        xp, hits, size = self.xp, self.hits, len(cutoffs) * self.n_users
        if cutoffs not in self._places:
            near = xp.stack([hits.rank <= self._last_rank(cutoff) for cutoff in cutoffs])
            first = self.n_users * xp.arange(len(cutoffs))
            self._places[cutoffs] = near, (first[:, None] + hits.user).ravel()
        near, places = self._places[cutoffs]
        # a selection of near rows would wait for their number
        within = xp.where(near, values, xp.zeros_like(values))
        return bincount(places, within.ravel(), size).reshape(len(cutoffs), self.n_users)

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
        xp, order = namespace(values), order_within(rows.user, values)
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
            return bincount(
                rows.user, self.xp.where(near, values, self.xp.zeros_like(values)), self.n_users
            )
        within, users = self._within(name, rows, k)
        return bincount(users, values if within is None else values[within], self.n_users)

    def _ends_at(self, ranks: tuple[int, ...]) -> Array | None:
        """Return the ends of each user's hits up to the given ranks, cached for all metrics."""
        if ranks not in self._ends:
            self._ends[ranks] = kernels.ends(self.hits.user, self.hits.rank, ranks, self.n_users)
        return self._ends[ranks]

    def _last_rank(self, cutoff: int) -> int:
        return cutoff if self.limit is None else min(cutoff, self.limit)

    def sum_ideal(
        self, gain: Callable[[Array], Array], discount: Callable[[Array], Array], k: int | Array
    ) -> Array:
        """Return the ideal DCG: gain times discount over the best possible first k ranks, (U,).

        ``k`` is one cut-off, or one per user, shape (U,).
        """
        xp, ideal = self.xp, self._declared("ideal")
        if (gain, discount) not in self._ideal:
            self._ideal[gain, discount] = self._ideal_terms(gain, discount)
        terms = self._ideal[gain, discount]
        if ideal == "ones":
            return xp.take(terms, self.relevant_in_reach(k))
        near = ideal.rank <= (k if isinstance(k, int) else xp.take(k, ideal.user))
        if is_tensor(terms):
            within = xp.where(near, terms, xp.zeros_like(terms))
            return bincount(ideal.user, within, self.n_users)
        return bincount(ideal.user[near], terms[near], self.n_users)

    def _ideal_terms(
        self, gain: Callable[[Array], Array], discount: Callable[[Array], Array]
    ) -> Array:
        """Return gain times discount of each row of the ideal lists.

        Where all gains are 1, the sums depend only on the number of ranks that are filled: they
        are returned in place of rows.
        """
        xp, ideal = self.xp, self._declared("ideal")
        if ideal != "ones":
            return gain(ideal.gain) * discount(xp.astype(ideal.rank, xp.float64))
        ranks = xp.arange(1, self.most_relevant + 1, dtype=xp.float64)
        terms = gain(xp.ones_like(ranks)) * discount(ranks)
        return xp.concat([xp.zeros(1, dtype=xp.float64), xp.cumulative_sum(terms)])

    def _within(self, name: str, rows: Any, cutoff: int) -> tuple[Array | None, Array]:
        """Return the rows within a cut-off (None: all) and their users, once for all metrics."""
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


def _undeclared(what: str) -> MetricError:
    return MetricError(
        f"a metric reads {what} of a block, which it does not declare among its inputs",
        hint="add it to inputs of the metric",
    )
