r"""Popularity bias: how much of what is recommended is what everybody has already.

:math:`n_i` is the number of training users of item i. The short head are the most popular items
that together hold ``pop_ratio`` of the training interactions, up to and including the one at which
their sum first exceeds that share; the long tail T is the rest. Items of equal popularity are in
order of their ids.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankwise.core.backend import bincount, namespace
from rankwise.core.facts import Fact, Groups, Popularity
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import divide, listed_denominator, or_nan
from rankwise.measures.kinds import Accumulated, Labelled, PerUser, Pooled, rates_of_items
from rankwise.measures.measure import measure
from rankwise.measures.tallies import Hits, ItemSums, Recommended, Relevant, Repeated, Seen, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs

__all__ = ["ACLT", "APLT", "ARP", "PopREO", "PopRSP", "PopularityLift"]

_POPULARITY = Fact("popularity")
_LISTED: Needs = frozenset({"listed"})


def _check_ratio(name: str, pop_ratio: float) -> None:
    if not 0 < pop_ratio < 1:
        raise ParameterError(f"{name}: pop_ratio lies in (0, 1)", found=f"pop_ratio={pop_ratio}")


@measure("arp", "average_recommendation_popularity", range=(0, math.inf), higher_is_better=None,
         needs=_LISTED)  # fmt: skip
class ARP(PerUser):
    r"""Mean popularity of the items in the top k, in training users.

    .. math:: \frac{1}{k} \sum_{i \in L_u^k} n_i

    Range [0, inf); it describes, and judges nothing. Needs ``train``.

    Parameters
    ----------
    denominator : {"k", "length"}
        What divides: k (the list's length without a cut-off), or the number of items in the top k.

    References
    ----------
    Yin et al. 2012, Challenging the Long Tail Recommendation, VLDB.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, "arp@2", train=train)["arp@2"]
    2.0
    """

    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    denominator: Literal["k", "length"] = "k"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def values(self, block: Block, k: Array) -> Array:
        """Return mean popularity, shape (U, n_k)."""
        count = namespace(k).take(
            block.fact(_POPULARITY, Popularity).count, block.rows("listed").item
        )
        kind = self.denominator if self.k else "length"
        return divide(block.sum_listed(count, k), listed_denominator(block, k, kind))


class _LongTail(PerUser):
    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    pop_ratio: float = 0.8

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        _check_ratio(self.name, self.pop_ratio)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def _count(self, block: Block, k: Array) -> Array:
        """Count items of the long tail, shape (U, n_k)."""
        tail = block.fact(_POPULARITY, Popularity).is_tail(self.pop_ratio)
        xp = namespace(tail)
        return block.sum_listed(xp.astype(xp.take(tail, block.rows("listed").item), xp.float64), k)


@measure("aclt", "average_coverage_of_long_tail", range=(0, math.inf), higher_is_better=True,
         needs=_LISTED)  # fmt: skip
class ACLT(_LongTail):
    r"""Mean number of long-tail items in the top k.

    .. math:: |L_u^k \cap T|

    Range [0, inf), at most k; higher is less biased. Needs ``train``.

    Parameters
    ----------
    pop_ratio : float
        The share of the training interactions that the short head holds.

    References
    ----------
    Abdollahpouri, Burke & Mobasher 2019, Managing Popularity Bias in Recommender Systems with
    Personalized Re-Ranking, FLAIRS.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> name = "aclt(pop_ratio=0.5)@2"
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, name, train=train)[name]
    1.0
    """

    pop_ratio: float = 0.8

    def values(self, block: Block, k: Array) -> Array:
        """Return numbers of long-tail items, shape (U, n_k)."""
        return self._count(block, k)


@measure("aplt", "average_percentage_of_long_tail", range=(0, 1), higher_is_better=True,
         needs=_LISTED)  # fmt: skip
class APLT(_LongTail):
    r"""Mean share of long-tail items in the top k.

    .. math:: |L_u^k \cap T| / k

    Range [0, 1]; higher is less biased. Needs ``train``.

    Parameters
    ----------
    pop_ratio : float
        The share of the training interactions that the short head holds.
    denominator : {"k", "length"}
        What divides: k (the list's length without a cut-off), or the number of items in the top k.

    References
    ----------
    Abdollahpouri, Burke & Mobasher 2019, Managing Popularity Bias in Recommender Systems with
    Personalized Re-Ranking, FLAIRS.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> name = "aplt(pop_ratio=0.5)@2"
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, name, train=train)[name]
    0.5
    """

    pop_ratio: float = 0.8
    denominator: Literal["k", "length"] = "k"

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of long-tail items, shape (U, n_k)."""
        kind = self.denominator if self.k else "length"
        return divide(self._count(block, k), listed_denominator(block, k, kind))


class _HeadAndTail(Accumulated):
    """How evenly something is spread over short head and long tail."""

    pop_ratio: float = 0.8

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        _check_ratio(self.name, self.pop_ratio)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the spread of the two, and each of them."""
        tail = items.fact(_POPULARITY, Popularity).is_tail(self.pop_ratio)
        groups = Groups(tail.astype(np.int64), ("short_head", "long_tail"))
        return rates_of_items(groups, *self._part_and_whole(items, k))

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        raise NotImplementedError


@measure("pop_rsp", "popularity_ranking_based_statistical_parity", range=(0, 1),
         higher_is_better=False)  # fmt: skip
class PopRSP(_HeadAndTail):
    r"""How unequally head and tail items are recommended, whether or not they are relevant.

    .. math:: \frac{\mathrm{std}(P_{head}, P_{tail})}{\mathrm{mean}(P_{head}, P_{tail})},
              \quad P_g = \frac{\sum_u |L_u^k \cap g|}{|g|}

    Population standard deviation. Range [0, 1]; lower is more equal. The two P are the cells
    ``item_group=short_head`` and ``long_tail``. Needs ``train``.

    Parameters
    ----------
    pop_ratio : float
        The share of the training interactions that the short head holds.
    denominator : {"items", "available"}
        What divides: the number of items of the group, or the pairs of a user with a list and an
        item of the group that the user has not seen in training (as WarpRec has it from 2.0 on).

    References
    ----------
    Zhu, Wang & Caverlee 2020, Measuring and Mitigating Item Under-Recommendation Bias in
    Personalized Ranking Systems, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> result = rw.evaluate({"ann": [7], "bob": [7], "cyd": [8]}, {"ann": {8}, "bob": {7},
    ...                      "cyd": {8}}, "pop_rsp(pop_ratio=0.5)@1", train=train)
    >>> result["pop_rsp(pop_ratio=0.5)@1"]
    0.33333
    """

    pop_ratio: float = 0.8
    denominator: Literal["items", "available"] = "items"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Recommendations, and what was seen."""
        return (Recommended(), *((Seen(), Repeated()) if self.denominator == "available" else ()))

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        whole = np.ones(items.size)
        if self.denominator == "available":
            whole = items.available()
        return items.sum(Recommended(), k), whole


@measure("pop_reo", "popularity_ranking_based_equal_opportunity", range=(0, 1),
         higher_is_better=False)  # fmt: skip
class PopREO(_HeadAndTail):
    r"""How unequally relevant head and tail items are found.

    .. math:: \frac{\mathrm{std}(P^+_{head}, P^+_{tail})}{\mathrm{mean}(P^+_{head}, P^+_{tail})},
              \quad P^+_g = \frac{\sum_u |L_u^k \cap R_u \cap g|}{\sum_u |R_u \cap g|}

    Population standard deviation. Range [0, 1]; lower is more equal. The two P are the cells
    ``item_group=short_head`` and ``long_tail``. Needs ``train``.

    Parameters
    ----------
    pop_ratio : float
        The share of the training interactions that the short head holds.
    of : {"hits", "recommended"}
        ``"recommended"`` counts all recommended items of a group, relevant or not (as WarpRec
        before 2.0 does): what it gives is no probability.

    References
    ----------
    Zhu et al. 2021, Popularity-Opportunity Bias in Collaborative Filtering, WSDM.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> truth = {"ann": {8}, "bob": {7}, "cyd": {8}}
    >>> name = "pop_reo(pop_ratio=0.5)@1"
    >>> rw.evaluate({"ann": [7], "bob": [7], "cyd": [8]}, truth, name, train=train)[name]
    0.33333
    """

    pop_ratio: float = 0.8
    of: Literal["hits", "recommended"] = "hits"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Hits, or recommendations, and relevant items."""
        return (self._part(), Relevant())

    def _part(self) -> Tally:
        return Hits() if self.of == "hits" else Recommended()

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        return items.sum(self._part(), k), items.sum(Relevant(), k)


@measure("popularity_lift", range=(-1, math.inf), higher_is_better=None,
         needs=frozenset({"listed", "profile"}))  # fmt: skip
class PopularityLift(Pooled):
    r"""How much more popular the lists are than the users' histories.

    .. math:: \frac{\sum_u \mathrm{mean}_{i \in L_u^k} n_i}
              {\sum_u \mathrm{mean}_{i \in H_u} n_i} - 1

    Over users with a list and a history; for one user, of that user. Range [-1, inf): above 0 the
    lists are more popular; nothing is better in itself. Needs ``train``.

    References
    ----------
    Abdollahpouri et al. 2019, The Unfairness of Popularity Bias in Recommendation, RMSE at RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7, 8], "bob": [7], "cyd": [7]}
    >>> rw.evaluate({"ann": [7, 9]}, {"ann": {9}}, "popularity_lift@1", train=train)[
    ...     "popularity_lift@1"]
    0.5
    """

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def sums(self, block: Block, k: Array) -> Array:
        """Return mean popularity of lists and of histories, shape (U, n_k, 2)."""
        count = block.fact(_POPULARITY, Popularity).count
        xp, past = namespace(count), block.rows("profile")
        length = block.count_rows(past)
        total = bincount(past.user, xp.take(count, past.item), block.n_users)  # of whole numbers
        own = divide(total, length)[:, None]
        listed = block.sum_listed(xp.take(count, block.rows("listed").item), k)
        lists = divide(listed, listed_denominator(block, k, "length"))
        both = xp.astype((length > 0) & (block.list_length > 0), xp.float64)[:, None]
        return xp.stack([lists * both, (own + xp.zeros_like(lists)) * both], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the lift; NaN without histories."""
        return or_nan(divide(sums[..., 0], sums[..., 1]) - 1.0, sums[..., 1] > 0)
