"""Popularity bias and novelty: how popular, and how unfamiliar, the recommended items are.

:math:`n_i` is the number of training users of item i, :math:`N` the sum of these numbers,
:math:`|U|` the number of training users. Inside logarithms a cold item, never seen in training,
counts as seen by one user; the result counts the recommendations of cold items.

The most popular items are the short head (`_HeadAndTail` says how many), all others the long tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import POPULARITY, Block, Groups
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.metrics.arithmetic import (
    IN_OPEN_0_1,
    discount,
    divide,
    gain_of,
    listed_denominator,
    mean_of_top,
    need_cutoff,
    or_nan,
    running_sum,
    shared_with_reference,
)
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.inputs import (
    CatalogueSums,
    HitCount,
    Input,
    ItemSum,
    RecommendationCount,
    RelevantCount,
)
from rankwise.metrics.kinds import (
    AvailableCount,
    GroupRates,
    HitSum,
    ItemNumber,
    One,
    PerUser,
    Pooled,
    Sums,
)

__all__ = [
    "ACLT",
    "APLT",
    "ARP",
    "EFD",
    "EPC",
    "Novelty",
    "PopREO",
    "PopRSP",
    "PopularityLift",
    "PopularityQuantile",
    "Surprisal",
    "Unexpectedness",
]

Cold: TypeAlias = Literal["rarest", "skip", "zero"]


def _probability(
    block: Block, popularity: Literal["users", "interactions"], *, min_count: float
) -> Array:
    """Return :math:`p_i`, the share of training users or interactions that each item has."""
    training = block[POPULARITY]
    total = training.n_users if popularity == "users" else training.n_interactions
    return namespace(training.count).clip(training.count, min=min_count) / total


@dataclass(frozen=True, kw_only=True, repr=False)
class _NovelHits(HitSum):
    r"""The discounted novelty of the hits, as a share of the largest sum of discounts.

    Parameters
    ----------
    popularity : {"users", "interactions"}, default="users"
        :math:`p_i` is the number of training users of item i over the number of training users, or
        over the number of training interactions (as in WarpRec and Elliot).
    relevance : {"binary", "discounted", "discounted_plus_one"}, default="binary"
        A relevant item counts 1, :math:`2^{rel} - 1`, or :math:`2^{rel + 1} - 1` (as in WarpRec).

    References
    ----------
    Vargas & Castells 2011, Rank and Relevance in Novelty and Diversity Metrics for Recommender
    Systems, RecSys.
    """

    inputs = (POPULARITY,)
    popularity: Literal["users", "interactions"] = "users"
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary"

    def terms(self, block: Block) -> Array:
        """Return the discounted novelty of each hit."""
        hits, xp = block.hits, block.xp
        novelty = xp.take(self._novelty(block), hits.item)
        if self.relevance != "binary":
            plus_one = self.relevance == "discounted_plus_one"
            gain = gain_of("exponential_plus_one" if plus_one else "exponential", hits.gain)
            novelty = novelty * gain
        return hits.probability * hits.to_rows(novelty) * discount(hits.rank)

    def scale(self, k: Array) -> Array:
        """Return the sum of the discounts of the first k ranks."""
        return running_sum(discount, k)

    def _novelty(self, block: Block) -> Array:
        """Return the novelty of every item."""
        raise NotImplementedError


@metric(
    "efd",
    range=(0, math.inf),
    higher_is_better=True,
    cutoff="required",
    plain=plain.efd_at_k,
    family="novelty",
)
class EFD(_NovelHits):
    r"""Expected free discovery: self-information of the relevant items in the top k, in bits.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (-\log_2 p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the share of
    training users who have it. An item never seen in training counts as seen by one user. Needs
    ``train``.

    Notes
    -----
    Use it to reward hits on little-known items, in bits. Do not use it as novelty apart from
    accuracy: only hits count, so it moves with accuracy. State whether popularity counts users or
    interactions.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, "efd@1", train=train)["efd@1"]
    2.0
    """

    def _novelty(self, block: Block) -> Array:
        probability = _probability(block, self.popularity, min_count=1.0)
        return -namespace(probability).log2(probability)


@metric(
    "epc",
    range=(0, math.inf),
    higher_is_better=True,
    cutoff="required",
    plain=plain.epc_at_k,
    family="novelty",
)
class EPC(_NovelHits):
    r"""Expected popularity complement: how unpopular the relevant items in the top k are.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (1 - p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the share of
    training users who have it. Values are in [0, 1] for ``relevance="binary"``. Needs ``train``.

    Notes
    -----
    Use it to reward hits on little-known items, as a share. Do not use it as novelty apart from
    accuracy: only hits count. State whether popularity counts users or interactions.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, "epc@1", train=train)["epc@1"]
    0.75
    """

    def _novelty(self, block: Block) -> Array:
        return 1.0 - _probability(block, self.popularity, min_count=0.0)


class _ListMean(PerUser):
    """A mean over the top k.

    Parameters
    ----------
    denominator : {"length", "k"}, default="length"
        The divisor: the number of items in the top k, or k.
    cold : {"rarest", "skip", "zero"}, default="rarest"
        How an item without training users counts: as if it had one; not at all, neither in the sum
        nor in the divisor; or as 0.

    References
    ----------
    Zhou et al. 2010, Solving the Apparent Diversity-Accuracy Dilemma of Recommender Systems, PNAS
    107(10).
    """

    defined_for = "list"
    denominator: Literal["length", "k"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is to be divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", setting="denominator=k")


def _self_information(block: Block, popularity: Literal["users", "interactions"]) -> Array:
    """Return the self-information of every row of the lists, in bits; cold items are the rarest."""
    probability = _probability(block, popularity, min_count=1.0)
    return block.xp.take(-block.xp.log2(probability), block.recommended.item)


def _mean_of_bits(
    block: Block,
    bits: Array,
    k: int,
    denominator: Literal["length", "k"],
    cold: Cold,
    *,
    discounted: bool,
) -> Array:
    """Return the mean of a value of every row of the top k, weighted by rank if discounted."""
    rows, xp = block.recommended, block.xp
    if not discounted:
        total = listed_denominator(block, k, denominator)
    elif denominator == "k":
        total = xp.full((block.n_users,), float(running_sum(discount, k)), dtype=xp.float64)
    else:
        total = block.sum_recommended(discount(rows.rank), k)
    terms = bits * discount(rows.rank) if discounted else bits
    if cold == "rarest":
        return divide(block.sum_recommended(terms, k), total)
    warm = xp.astype(xp.take(block[POPULARITY].count, rows.item) > 0, xp.float64)
    value = block.sum_recommended(terms * warm, k)
    if cold == "zero":
        return divide(value, total)
    weight = discount(rows.rank) if discounted else xp.ones_like(bits)
    left = block.sum_recommended(weight * warm, k)
    if denominator == "k":
        left = total - block.sum_recommended(weight * (1.0 - warm), k)
    return or_nan(divide(value, left), block.sum_recommended(warm, k) > 0)


@metric(
    "novelty",
    "miuf",
    "self_information",
    range=(0, math.inf),
    higher_is_better=True,
    plain=plain.novelty_at_k,
    family="novelty",
)
class Novelty(_ListMean):
    r"""Mean self-information of the items in the top k, in bits.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} -\log_2 \frac{n_i}{|U|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i, :math:`|U|` the number of all training users. Needs ``train``.

    Parameters
    ----------
    popularity : {"users", "interactions"}, default="users"
        The probability of an item: :math:`n_i / |U|`, or :math:`n_i / N` with N the number of
        training interactions.
    discount : {"none", "log"}, default="none"
        ``"log"`` weights the item at rank i by :math:`1 / \log_2(i + 1)`.
    denominator : {"length", "k"}, default="length"
        The divisor: the number of items in the top k, or k. With a discount, it is the sum of the
        discounts of these ranks.

    Notes
    -----
    Use it for how little known the recommended items are, in bits. Do not use it without accuracy
    beside it: items that nobody has interacted with are the most novel.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, "novelty@2", train=train)["novelty@2"]
    1.0
    """

    inputs = ("recommended", POPULARITY)
    popularity: Literal["users", "interactions"] = "users"
    discount: Literal["none", "log"] = "none"
    denominator: Literal["length", "k"] = "length"
    cold: Cold = "rarest"

    def value(self, block: Block, k: int) -> Array:
        """Return mean self-information, shape (U,)."""
        bits = _self_information(block, self.popularity)
        logs = self.discount == "log"
        return _mean_of_bits(block, bits, k, self.denominator, self.cold, discounted=logs)


@metric(
    "surprisal", range=(0, 1), higher_is_better=True, plain=plain.surprisal_at_k, family="novelty"
)
class Surprisal(_ListMean):
    r"""Mean self-information of the items in the top k, as a share of the largest possible.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} \frac{-\log_2 (n_i / |U|)}{\log_2 |U|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i, :math:`|U|` the number of all training users. Needs ``train``.

    Notes
    -----
    Use it for how little known the recommended items are, between 0 and 1. Do not compare it
    between data sets: the logarithm of the number of training users is its unit.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, "surprisal@2", train=train)["surprisal@2"]
    0.5
    """

    inputs = ("recommended", POPULARITY)
    denominator: Literal["length", "k"] = "length"
    cold: Cold = "rarest"

    def value(self, block: Block, k: int) -> Array:
        """Return mean surprisal, shape (U,)."""
        bits, most = _self_information(block, "users"), math.log2(block[POPULARITY].n_users)
        share = bits / most if most else block.xp.zeros_like(bits)
        return _mean_of_bits(block, share, k, self.denominator, self.cold, discounted=False)


@metric(
    "unexpectedness",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.unexpectedness_at_k,
    family="novelty",
)
class Unexpectedness(_ListMean):
    r"""Share of the top k that is not in the top k of a reference list.

    .. math:: 1 - |L_u^k \cap B_u^k| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`B_u^k` the top k of the
    user's list in ``reference``. Users without a reference list have no value. Needs ``reference``.

    Notes
    -----
    Use it for how much a system differs from another, such as popularity. Do not use it as quality,
    or without naming the reference lists: random lists are the most unexpected.

    References
    ----------
    Murakami, Mori & Orihara 2008, Metrics for Evaluating the Serendipity of Recommendation Lists,
    JSAI 2007.

    Examples
    --------
    >>> import rankwise as rw
    >>> popular = {"ann": [1, 2, 3]}
    >>> name = "unexpectedness@3"
    >>> rw.evaluate({"ann": [1, 8, 9]}, {"ann": {8}}, name, reference=popular)[name]
    0.6667
    """

    inputs = ("overlap_reference",)
    denominator: Literal["length", "k"] = "length"

    def value(self, block: Block, k: int) -> Array:
        """Return the share of unexpected items, shape (U,)."""
        return 1.0 - shared_with_reference(block, k, self.denominator)


@dataclass(frozen=True, kw_only=True, repr=False)
class _HeadAndTail(Metric):
    """A metric with a short head and a long tail of items.

    Parameters
    ----------
    pop_ratio : float, default=0.8
        The size of the short head, in (0, 1).
    ratio_of : {"interactions", "items", "rarest_items"}, default="interactions"
        ``"interactions"``: the short head are the most popular items, up to and including the one
        at which their share of the training interactions first exceeds ``pop_ratio``. ``"items"``:
        they are a share ``pop_ratio`` of the items that occur in training, rounded half up, at
        least one. Equally popular items are in order of item id; all other items are the long tail.
        ``"rarest_items"``: the long tail is a share 1 - ``pop_ratio`` of the items that occur in
        training, rounded down, at least one: the least popular, in order of item id where equally
        popular; all other items are the short head (as in RecBole).
    """

    pop_ratio: Annotated[float, IN_OPEN_0_1] = 0.8
    ratio_of: Literal["interactions", "items", "rarest_items"] = "interactions"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """How popular items are in training."""
        return (*super().inputs, POPULARITY)


@metric(
    "arp",
    "average_recommendation_popularity",
    range=(0, math.inf),
    higher_is_better=None,
    plain=plain.arp_at_k,
)
class ARP(PerUser):
    r"""Mean popularity of the items in the top k: their number of training users.

    .. math:: \frac{1}{k} \sum_{i \in L_u^k} n_i

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i. Needs ``train``.

    Parameters
    ----------
    denominator : {"k", "length"}, default="k"
        k (without a cut-off, the list length), or the number of items in the top k.
    as_share : bool, default=False
        Divide by the number of training interactions as well (as in RecTools with
        ``normalize=True``).

    Notes
    -----
    Use it for how popular the recommended items are, in training users. Do not take less for
    better: popular items may be right. Compare with the users' own histories (``popularity_lift``).

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

    inputs = ("recommended", POPULARITY)
    defined_for = "list"
    denominator: Literal["k", "length"] = "k"
    as_share: bool = False

    def value(self, block: Block, k: int) -> Array:
        """Return mean popularity, shape (U,)."""
        popularity = block[POPULARITY]
        count = block.xp.take(popularity.count, block.recommended.item)
        mean = mean_of_top(block, count, k, self.denominator if self.k else "length")
        return mean / popularity.n_interactions if self.as_share else mean


@metric(
    "popularity_quantile",
    "mean_pop_rank",
    range=(0, 1),
    higher_is_better=None,
    plain=plain.popularity_quantile_at_k,
)
class PopularityQuantile(PerUser):
    r"""Mean popularity quantile of the items in the top k: 1 for the most popular item.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} \frac{r_i}{|\{j : n_j > 0\}|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_j` the number of
    training users of item j, :math:`r_i` the rank of item i by ascending popularity among the items
    that occur in training: equally popular items share their mean rank, other items count 0. Needs
    ``train``.

    Notes
    -----
    Use it for popularity on a scale that a few very popular items do not dominate. Do not take less
    for better: popular items may be right.

    References
    ----------
    Ekstrand 2020, LensKit for Python: Next-Generation Software for Recommender Systems Experiments,
    CIKM (``MeanPopRank``).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, train = "popularity_quantile@2", {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, name, train=train)[name]
    0.75
    """

    inputs = ("recommended", POPULARITY)
    defined_for = "list"

    def value(self, block: Block, k: int) -> Array:
        """Return the mean quantile, shape (U,)."""
        quantile = block.xp.take(block[POPULARITY].quantile, block.recommended.item)
        return mean_of_top(block, quantile, k)


class _LongTail(_HeadAndTail, PerUser):
    """A number of long-tail items, or their share.

    References
    ----------
    Abdollahpouri, Burke & Mobasher 2019, Managing Popularity Bias in Recommender Systems with
    Personalized Re-Ranking, FLAIRS.
    """

    defined_for = "list"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists, and how popular items are in training."""
        return (*super().inputs, "recommended")

    def _count(self, block: Block, k: int) -> Array:
        """Count the long-tail items in the top k, shape (U,)."""
        tail, xp = block[POPULARITY].is_tail(self.pop_ratio, self.ratio_of), block.xp
        is_tail = xp.take(tail, block.recommended.item)
        return block.sum_recommended(xp.astype(is_tail, xp.float64), k)


@metric(
    "aclt",
    "average_coverage_of_long_tail",
    range=(0, math.inf),
    higher_is_better=True,
    plain=plain.aclt_at_k,
)
class ACLT(_LongTail):
    r"""Mean number of long-tail items in the top k.

    .. math:: |L_u^k \cap T|

    :math:`L_u^k` is the top k of the recommendation list of user u, T the long tail. The value is
    at most k. Needs ``train``.

    Notes
    -----
    Use it for how many long-tail items a list has. Do not compare it at different k, and state
    ``pop_ratio``: at 0.8 of the interactions most of the catalogue may be long tail.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> name = "aclt(pop_ratio=0.5)@2"
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, name, train=train)[name]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of long-tail items, shape (U,)."""
        return self._count(block, k)


@metric(
    "aplt",
    "average_percentage_of_long_tail",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.aplt_at_k,
)
class APLT(_LongTail):
    r"""Mean share of long-tail items in the top k.

    .. math:: |L_u^k \cap T| / k

    :math:`L_u^k` is the top k of the recommendation list of user u, T the long tail. Needs
    ``train``.

    Parameters
    ----------
    denominator : {"k", "length"}, default="k"
        k (without a cut-off, the list length), or the number of items in the top k.

    Notes
    -----
    Use it for the share of long-tail items in lists. Do not compare it without the definition of
    the tail: a share of interactions and a share of items (``ratio_of=items``) differ widely.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7]}
    >>> name = "aplt(pop_ratio=0.5)@2"
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, name, train=train)[name]
    0.5
    """

    denominator: Literal["k", "length"] = "k"

    def value(self, block: Block, k: int) -> Array:
        """Return the share of long-tail items, shape (U,)."""
        kind = self.denominator if self.k else "length"
        return divide(self._count(block, k), listed_denominator(block, k, kind))


class _HeadTailRates(_HeadAndTail, GroupRates):
    """How unequal a rate is between short head and long tail."""

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the short head and the long tail as groups."""
        tail = items[POPULARITY].is_tail(self.pop_ratio, self.ratio_of)
        return Groups(tail.astype(np.int64), ("short_head", "long_tail"))


@metric(
    "pop_rsp",
    "popularity_ranking_based_statistical_parity",
    range=(0, 1),
    higher_is_better=False,
    plain=plain.rsp_at_k,
)
class PopRSP(_HeadTailRates):
    r"""Inequality of recommendation rates between short-head and long-tail items.

    .. math:: \frac{\mathrm{std}(P_{head}, P_{tail})}{\mathrm{mean}(P_{head}, P_{tail})},
              \quad P_g = \frac{\sum_u |L_u^k \cap g|}{|g|}

    :math:`P_g` is the number of recommendations per item of group g, :math:`L_u^k` the top k of the
    list of user u; std is the population standard deviation. The two rates are the cells
    ``item_group=short_head`` and ``item_group=long_tail``. Needs ``train``.

    Parameters
    ----------
    denominator : {"items", "available"}, default="items"
        The divisor of :math:`P_g`: the number of items of the group, or of pairs of a user with a
        list and an item of the group outside the user's training history (as in WarpRec from 2.0).

    Notes
    -----
    Use it for whether popular and long-tail items are recommended equally often. Do not use it
    where popular items are wanted more: parity ignores relevance (``pop_reo``). WarpRec changed its
    meaning between versions.

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

    denominator: Literal["items", "available"] = "items"

    part = RecommendationCount()

    @property
    def whole(self) -> ItemNumber:
        """The items, or the users to whom each could have been recommended."""
        return AvailableCount() if self.denominator == "available" else One()


@metric(
    "pop_reo",
    "popularity_ranking_based_equal_opportunity",
    range=(0, 1),
    higher_is_better=False,
    plain=plain.reo_at_k,
)
class PopREO(_HeadTailRates):
    r"""Inequality of recall between short-head and long-tail items.

    .. math:: \frac{\mathrm{std}(P^+_{head}, P^+_{tail})}{\mathrm{mean}(P^+_{head}, P^+_{tail})},
              \quad P^+_g = \frac{\sum_u |L_u^k \cap R_u \cap g|}{\sum_u |R_u \cap g|}

    :math:`P^+_g` is the recall of group g, :math:`L_u^k` the top k of the list of user u,
    :math:`R_u` are the user's relevant items; std is the population standard deviation. The two
    rates are the cells ``item_group=short_head`` and ``item_group=long_tail``. Needs ``train``.

    Parameters
    ----------
    of : {"hits", "recommended"}, default="hits"
        ``"recommended"`` counts all recommended items of a group, relevant or not (as in WarpRec
        before 2.0): the rates are then not probabilities.

    Notes
    -----
    Use it for whether relevant long-tail items are found as often as relevant popular ones. Do not
    use it with few hits in the tail: one of them moves it far. WarpRec changed its meaning between
    versions.

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

    of: Literal["hits", "recommended"] = "hits"

    whole = RelevantCount()

    @property
    def part(self) -> ItemSum:
        """The hits, or all recommendations."""
        return HitCount() if self.of == "hits" else RecommendationCount()


@metric(
    "popularity_lift", range=(-1, math.inf), higher_is_better=None, plain=plain.popularity_lift_at_k
)
class PopularityLift(Pooled):
    r"""Relative difference in mean popularity between recommendation lists and user histories.

    .. math:: \frac{\sum_u \mathrm{mean}_{i \in L_u^k} n_i}
              {\sum_u \mathrm{mean}_{i \in H_u} n_i} - 1

    :math:`n_i` is the number of training users of item i, :math:`L_u^k` the top k of the list of
    user u, :math:`H_u` the user's training history; the sums are over users with both. Above 0,
    lists are more popular than histories. Needs ``train``.

    Notes
    -----
    Use it for whether lists are more popular than what users had chosen before. Do not use it for
    users without a history: they are left out, whatever they are recommended.

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

    reads_truth = False
    inputs = ("recommended", "history", POPULARITY)

    def sums(self, block: Block, k: int) -> Sums:
        """Return the mean popularity of each list and of each history, shape (U,) both."""
        count, xp, history = block[POPULARITY].count, block.xp, block.history
        length = block.count_rows(history)
        total = bincount(history.user, xp.take(count, history.item), block.n_users)  # integers
        of_history = divide(total, length)
        of_list = mean_of_top(block, xp.take(count, block.recommended.item), k)
        both = xp.astype((length > 0) & (block.list_length > 0), xp.float64)
        return of_list * both, of_history * both

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the lift; NaN without histories."""
        of_lists, of_histories = sums
        return or_nan(divide(of_lists, of_histories) - 1.0, of_histories > 0)
