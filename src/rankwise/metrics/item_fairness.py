r"""Fairness between groups of items: exposure, exposure given relevance, and gains.

Fairness between groups of items, by the gains or the scores of their recommended items.

The groups are any column of ``items``, named by ``item_group``. The cells of these metrics are the
group means :math:`m_a`.

Fairness over groups of items: exposure, and exposure given relevance.

The groups are a column of ``items``, named by ``item_group``; items without a group do not count.
Each of these metrics has one cell per group: ``reo@10[item_group=a]``. :math:`L_u^k` is the top k
of user u's recommendation list, :math:`R_u` the user's relevant items in the ground truth.

Fair exposure of groups of items: attention decreases down the list and is shared by groups.

Attention at rank i is :math:`\gamma^{i - 1}`, where :math:`\gamma` is the patience of users, or
:math:`1 / \log_2(i + 1)`. The groups are a column of ``items``, named by ``item_group``; items
without a group do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import Block, Groups, JudgedRows, Needs
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.metrics.arithmetic import (
    BETWEEN_0_AND_1,
    Gain,
    at_least_one,
    discount,
    divide,
    gain_of,
    geometric_discount,
    mean_difference,
    or_nan,
)
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.inputs import (
    CatalogueSums,
    HitCount,
    Input,
    ItemSum,
    ItemTerms,
    RecommendationCount,
    RelevantCount,
    cells_of_items,
)
from rankwise.metrics.kinds import (
    AvailableCount,
    GroupRates,
    ItemNumber,
    ListedUsers,
    OverItemGroups,
    PerUser,
    Pooled,
    Sums,
)
from rankwise.metrics.states import CellValues

__all__ = [
    "AWRF",
    "REO",
    "RSP",
    "ExpectedExposureDisparity",
    "ExpectedExposureLoss",
    "ExpectedExposureRelevance",
    "ItemMADRanking",
    "ItemMADRating",
]


class _HitsInOrder(ItemSum):
    """How often each item is a hit in the top k; tied items in the order of the list."""

    name: ClassVar[str] = "found"
    reads_truth: ClassVar[bool] = True
    needs: ClassVar[Needs] = frozenset({"judged"})

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the hits in the top k."""
        judged = block.judged
        hit = (judged.rank <= k) & (judged.relevant > 0)
        return ItemTerms(judged.user, judged.item, self._terms(judged), hit)

    def _terms(self, judged: JudgedRows) -> Array | None:
        return None


class _HitScores(_HitsInOrder):
    """The scores of these hits, summed for each item."""

    name: ClassVar[str] = "scores"
    needs: ClassVar[Needs] = frozenset({"judged", "scores"})
    whole: ClassVar[bool] = False

    def _terms(self, judged: JudgedRows) -> Array | None:
        return judged.score


@dataclass(frozen=True)
class _HitGains(_HitsInOrder):
    """The gains of these hits, discounted by rank or not, summed for each item."""

    gain: Gain = "linear"
    discounted: bool = True

    name: ClassVar[str] = "gains"
    whole: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """The name that distinguishes this sum from other item sums."""
        return f"gains({self.gain},{'log' if self.discounted else 'none'})"

    def _terms(self, judged: JudgedRows) -> Array | None:
        # Only relevant items have a gain: the others may have a negative relevance.
        gain = gain_of(
            self.gain, namespace(judged.truth).where(judged.relevant > 0, judged.truth, 0.0)
        )
        return gain * discount(judged.rank) if self.discounted else gain


class _GroupMeans(OverItemGroups):
    """Group means of the items' means.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.
    """

    @property
    def term_sums(self) -> tuple[ItemSum, ItemSum]:
        """The terms of each item, summed over users, and their number."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The groups, and both sums."""
        return (*super().inputs, *self.term_sums)

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the mean absolute difference, and each group's mean."""
        total, count = (items.sum(item_sum, k) for item_sum in self.term_sums)
        groups = self.groups(items)
        counted = count > 0
        mean = np.where(counted, total / np.where(counted, count, 1), 0.0)
        sums, sizes = groups.sum(mean), groups.sum(counted)
        means = [s / n if n else math.nan for s, n in zip(sums, sizes, strict=True)]
        cells = cells_of_items(groups.names, means)
        return CellValues(mean_difference(cells.values()), cells)


@metric(
    "item_mad_ranking",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.item_mad_ranking,
)
class ItemMADRanking(_GroupMeans):
    r"""Mean absolute difference between groups of items in the gain of a recommendation.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \;
              \mathrm{mean}_{u : i \in L_u^k} \frac{g_{ui}}{\log_2(rank_{ui} + 1)}

    :math:`m_a` is the mean of item group a over its recommended items, each with the mean over the
    users who have it in the top k :math:`L_u^k`; :math:`g_{ui}` is the gain of the item, 0 if it is
    not relevant, :math:`rank_{ui}` its rank. The outer mean is over all pairs of groups. Items
    never recommended are left out. The cells are :math:`m_a`. Tied items are taken in order of item
    id. NaN for fewer than two groups. Needs a column of groups in ``items``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1` (as in WarpRec).
    discount : {"log", "none"}, default="log"
        Whether gains are divided by the logarithm; ``"none"``: they are not (as in WarpRec).

    Notes
    -----
    Use it for whether a recommendation of one group of items gains as much as one of another. Do
    not use it where many items are recommended once: they weigh as much as those recommended
    always.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2], "group": ["a", "b"]}
    >>> recommendations, truth = {"ann": [1, 2], "bob": [1, 2]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate(recommendations, truth, "item_mad_ranking@2", items=items)["item_mad_ranking@2"]
    1.0
    """

    gain: Gain = "linear"
    discount: Literal["log", "none"] = "log"

    @property
    def term_sums(self) -> tuple[ItemSum, ItemSum]:
        """Gains of hits, and recommendations."""
        return (_HitGains(gain=self.gain, discounted=self.discount == "log"), RecommendationCount())


@metric(
    "item_mad_rating",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.item_mad_rating,
)
class ItemMADRating(_GroupMeans):
    r"""Mean absolute difference between groups of items in the scores of their hits.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \; \mathrm{mean}_{u : i \in L_u^k \cap R_u} s_{ui}

    :math:`m_a` is the mean of item group a over its items with a hit, each with the mean score
    :math:`s_{ui}` over the users u for whom it is a hit: relevant (in :math:`R_u`) and in the top k
    :math:`L_u^k`. The outer mean is over all pairs of groups. The value is in the unit of the
    scores. The cells are :math:`m_a`. Tied items are taken in order of item id. NaN for fewer than
    two groups. Needs a column of groups in ``items``, and scores.

    Parameters
    ----------
    misses : {"skip", "zero"}, default="skip"
        How recommendations that are no hits count: not at all, or as a score of 0 (as in Elliot).

    Notes
    -----
    Use it for whether hits of groups of items are scored alike. Do not compare it between models
    with different scales of scores.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2], "group": ["a", "b"]}
    >>> recommendations = {"ann": {1: 5.0, 2: 3.0}}
    >>> result = rw.evaluate(recommendations, {"ann": {1, 2}}, "item_mad_rating@2", items=items)
    >>> result["item_mad_rating@2"]
    2.0
    """

    misses: Literal["skip", "zero"] = "skip"

    @property
    def term_sums(self) -> tuple[ItemSum, ItemSum]:
        """Scores of hits, and hits or recommendations."""
        return (_HitScores(), _HitsInOrder() if self.misses == "skip" else RecommendationCount())


@metric(
    "reo",
    "ranking_based_equal_opportunity",
    range=(0, math.inf),
    higher_is_better=False,
    plain=plain.reo_at_k,
    family="fairness",
)
class REO(OverItemGroups, GroupRates):
    r"""Ranking-based equal opportunity: inequality of recall over item groups.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap R_u \cap a|}{\sum_u |R_u \cap a|}

    :math:`P_a` is the recall of item group a, :math:`L_u^k` the top k of the recommendation list of
    user u, :math:`R_u` are the user's relevant items. std is the population standard deviation over
    the groups that have relevant items. NaN for fewer than two groups. The cells are :math:`P_a`.
    Needs a column of groups in ``items``.

    Notes
    -----
    Use it for whether relevant items of all groups are found alike. Do not use it without the
    values of the groups: it does not say which one loses.

    References
    ----------
    Zhu, Wang & Caverlee 2020, Measuring and Mitigating Item Under-Recommendation Bias in
    Personalized Ranking Systems, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "group": ["a", "b", "b"]}
    >>> truth = {"ann": {1, 2}, "bob": {1, 3}}
    >>> result = rw.evaluate({"ann": [1, 3], "bob": [1, 3]}, truth, "reo@2", items=items)
    >>> result["reo@2"], result["reo@2[item_group=b]"]
    (0.3333, 0.5)
    """

    part, whole = HitCount(), RelevantCount()


@metric(
    "rsp",
    "ranking_based_statistical_parity",
    range=(0, math.inf),
    higher_is_better=False,
    plain=plain.rsp_at_k,
    family="fairness",
)
class RSP(OverItemGroups, GroupRates):
    r"""Ranking-based statistical parity: inequality of recommendation rates over item groups.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap a|}{\sum_u |a \setminus H_u|}

    :math:`P_a` is the probability that a candidate of item group a is recommended; the sums are
    over users with a list. :math:`L_u^k` is the top k of the recommendation list of user u,
    :math:`H_u` the user's training history, except items in the list. std is the population
    standard deviation over groups. NaN for fewer than two groups. The cells are :math:`P_a`. Needs
    a column of groups in ``items``.

    Parameters
    ----------
    seen : {"excluded", "included"}, default="excluded"
        Whether items of the user's training history are excluded from the candidates, and thereby
        from the denominator, or included. ``"excluded"`` needs ``train``.

    Notes
    -----
    Use it for whether items of all groups are recommended equally often. Do not use it where groups
    are wanted differently: parity ignores relevance (``reo``). Read the values of the groups.

    References
    ----------
    Zhu, Wang & Caverlee 2020, Measuring and Mitigating Item Under-Recommendation Bias in
    Personalized Ranking Systems, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "group": ["a", "b", "b"]}
    >>> name = "rsp(seen=included)@1"
    >>> result = rw.evaluate({"ann": [1], "bob": [3]}, {"ann": {1}, "bob": {2}}, name, items=items)
    >>> result[name], result[name + "[item_group=b]"]
    (0.3333, 0.25)
    """

    seen: Literal["excluded", "included"] = "excluded"

    part = RecommendationCount()

    @property
    def whole(self) -> ItemNumber:
        """The users to whom each item could have been recommended."""
        return AvailableCount() if self.seen == "excluded" else ListedUsers()


@dataclass(frozen=True, kw_only=True, repr=False)
class _OverGroups(Metric):
    r"""A function of the exposure of groups of items.

    Parameters
    ----------
    patience : float, default=0.5
        The probability :math:`\gamma` that a user reads on after each item, in (0, 1).
    item_group : str, default="group"
        The column of ``items`` with the groups.
    """

    patience: Annotated[float, BETWEEN_0_AND_1] = 0.5
    item_group: str = "group"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists and the groups of items."""
        return (*super().inputs, "recommended", Groups.of_items(self.item_group))

    def exposure(self, block: Block, attention: Array, k: int) -> list[Array]:
        """Return the attention that each group has in each user's top k, arrays of shape (U,)."""
        rows = block.recommended
        group = block.xp.take(block[Groups.of_items(self.item_group)].code, rows.item)
        return [
            block.sum_recommended(attention * (group == number), k)
            for number in range(len(block[Groups.of_items(self.item_group)].names))
        ]


class _ExpectedExposure(_OverGroups, Pooled):
    """A function of the exposure of groups and of its target.

    References
    ----------
    Diaz et al. 2020, Evaluating Stochastic Rankings with Expected Exposure, CIKM.
    """

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists, the relevant items, and the groups."""
        return (*super().inputs, "relevant")

    def sums(self, block: Block, k: int) -> Sums:
        """Return 1 for users who count, then each group's exposure and its target, shape (U,)."""
        xp, patience = block.xp, float(self.patience)
        counts = xp.astype((block.list_length > 0) & (block.n_relevant > 0), xp.float64)
        attention = geometric_discount(block.recommended.rank, patience)
        system = self.exposure(block, attention, k)
        # The relevant items of a user share the first positions, as many as they are, equally.
        reach = xp.astype(block.relevant_in_reach(k), xp.float64)
        share = (1.0 - patience**reach) / (1.0 - patience) / at_least_one(block.n_relevant)
        groups, rows = block[Groups.of_items(self.item_group)], block.relevant
        group = xp.take(groups.code, rows.item)
        target = [
            share * bincount(rows.user, xp.astype(group == g, xp.float64), block.n_users)
            for g in range(len(groups.names))
        ]
        return counts, *(counts * one for one in (*system, *target))

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the value for mean exposures of groups; NaN without users who count."""
        n, n_groups = sums[0], len(sums) // 2
        means = [divide(one, n) for one in sums[1:]]
        value = sum(map(self._of_group, means[:n_groups], means[n_groups:]), start=n * 0.0)
        return or_nan(value, (n > 0) & (n_groups > 0))

    def _of_group(self, exposure: Array, target: Array) -> Array:
        raise NotImplementedError


@metric(
    "ee_l",
    "expected_exposure_loss",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.expected_exposure_at_k,
)
class ExpectedExposureLoss(_ExpectedExposure):
    r"""Expected exposure loss (EE-L) of item groups: squared distance of exposure from its target.

    .. math:: \sum_a (\epsilon_a - \epsilon^*_a)^2

    :math:`\epsilon_a` is the exposure of group a: the mean over users of
    :math:`\sum_{i \in a} \gamma^{rank_i - 1}` over the items of the group in the top k.
    :math:`\epsilon^*_a` is the exposure of the group in ideal lists, where the user's relevant
    items :math:`R_u` share the first :math:`\min(k, |R_u|)` positions equally. Both are means over
    users with a list and relevant items. Needs a column of groups in ``items``.

    Notes
    -----
    Use it for whether groups of items are exposed as much as their relevance deserves. Do not
    compare values of different ``patience`` or k, and read ``ee_d`` and ``ee_r`` beside it.

    References
    ----------
    Diaz et al. 2020, Evaluating Stochastic Rankings with Expected Exposure, CIKM; for groups: Raj &
    Ekstrand 2022, Measuring Fairness in Ranked Results, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items, truth = {"item": [1, 2], "group": ["a", "b"]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "ee_l@2", items=items)["ee_l@2"]
    0.625
    """

    def _of_group(self, exposure: Array, target: Array) -> Array:
        return (exposure - target) ** 2


@metric(
    "ee_d",
    "expected_exposure_disparity",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.expected_exposure_at_k,
)
class ExpectedExposureDisparity(_ExpectedExposure):
    r"""Expected exposure disparity (EE-D) of item groups: how unequally exposure is spread.

    .. math:: \sum_a \epsilon_a^2

    :math:`\epsilon_a` is the exposure of group a: the mean over users with a list and relevant
    items of :math:`\sum_{i \in a} \gamma^{rank_i - 1}` over the items of the group in the top k.
    Needs a column of groups in ``items``.

    Notes
    -----
    Use it for how unequally groups of items are exposed, over all lists. Do not use it alone: equal
    exposure of groups that users do not want costs accuracy. Compare only at the same ``patience``.

    Examples
    --------
    >>> import rankwise as rw
    >>> items, truth = {"item": [1, 2], "group": ["a", "b"]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "ee_d@2", items=items)["ee_d@2"]
    1.125
    """

    def _of_group(self, exposure: Array, target: Array) -> Array:
        return exposure**2


@metric(
    "ee_r",
    "expected_exposure_relevance",
    range=(0, math.inf),
    higher_is_better=True,
    family="fairness",
    plain=plain.expected_exposure_at_k,
)
class ExpectedExposureRelevance(_ExpectedExposure):
    r"""Expected exposure relevance (EE-R) of item groups: exposure that follows relevance.

    .. math:: \sum_a \epsilon_a \, \epsilon^*_a

    :math:`\epsilon_a` is the exposure of group a, :math:`\epsilon^*_a` its exposure in ideal lists,
    both as for ``ee_l``: EE-L is EE-D minus twice EE-R plus a constant of the data. (Raj & Ekstrand
    report twice this value.) Needs a column of groups in ``items``.

    Notes
    -----
    Use it for how far exposure follows relevance. Do not use it alone: exposing one group only can
    raise it. Compare only at the same ``patience``.

    Examples
    --------
    >>> import rankwise as rw
    >>> items, truth = {"item": [1, 2], "group": ["a", "b"]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "ee_r@2", items=items)["ee_r@2"]
    0.75
    """

    def _of_group(self, exposure: Array, target: Array) -> Array:
        return exposure * target


@metric(
    "awrf",
    "attention_weighted_rank_fairness",
    range=(0, 1),
    higher_is_better=True,
    family="fairness",
    plain=plain.awrf_at_k,
)
class AWRF(_OverGroups, PerUser):
    r"""Attention-weighted rank fairness: how close groups' shares of attention are to a target.

    .. math:: 1 - \Delta(d, \hat p), \quad
              d_a = \frac{\sum_{i \in L_u^k \cap a} w_i}{\sum_b \sum_{i \in L_u^k \cap b} w_i}

    :math:`d_a` is the share of group a in the attention of the top k :math:`L_u^k`, :math:`w_i` the
    attention at the rank of item i, :math:`\hat p` the target shares, :math:`\Delta` a distance.
    Users without an item that has a group have no value. Needs a column of groups in ``items``.

    Parameters
    ----------
    target : {"catalogue", "equal"}, default="catalogue"
        The target share of a group: its share of the catalogue's items that have a group, or the
        same share for all groups.
    weight : {"log", "geometric"}, default="log"
        Attention at rank i: :math:`1 / \log_2(i + 1)`, or :math:`\gamma^{i - 1}`.
    distance : {"absolute", "squared"}, default="absolute"
        :math:`\Delta`: half the sum of the absolute differences of the shares, or half the sum of
        their squares.

    Notes
    -----
    Use it for whether groups of items get their share of attention, list by list. Do not compare
    values of different ``weight`` or ``patience``: how fast attention falls decides them.

    References
    ----------
    Sapiezynski et al. 2019, Quantifying the Impact of User Attention on Fair Group Representation
    in Ranked Lists, WWW Companion; Raj & Ekstrand 2022, Measuring Fairness in Ranked Results,
    SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3, 4], "group": ["a", "a", "b", "b"]}
    >>> rw.evaluate({"ann": [1, 3]}, {"ann": {1}}, "awrf@2", items=items)["awrf@2"]
    0.88685
    """

    defined_for = "list"
    target: Literal["catalogue", "equal"] = "catalogue"
    weight: Literal["log", "geometric"] = "log"
    distance: Literal["absolute", "squared"] = "absolute"

    def value(self, block: Block, k: int) -> Array:
        """Return the fairness of each list, shape (U,)."""
        xp, groups = block.xp, block[Groups.of_items(self.item_group)]
        rank, log = block.recommended.rank, self.weight == "log"
        attention = discount(rank) if log else geometric_discount(rank, float(self.patience))
        exposure = self.exposure(block, attention, k)
        total = sum(exposure, start=xp.zeros(block.n_users, dtype=xp.float64))
        distance = xp.zeros(block.n_users, dtype=xp.float64)
        for number, attended in enumerate(exposure):
            target = 1.0 / len(exposure)
            if self.target == "catalogue":
                sizes = (groups.code == number, groups.code >= 0)
                n_group, n_items = (xp.sum(xp.astype(size, xp.float64)) for size in sizes)
                target = n_group / n_items
            difference = divide(attended, total) - target
            absolute = self.distance == "absolute"
            distance = distance + (xp.abs(difference) if absolute else difference**2) / 2.0
        return or_nan(xp.clip(1.0 - distance, min=0.0), total > 0)
