r"""Fairness between groups of items, by the gains or the scores of their recommended items.

The groups are any column of ``items``, named by ``item_group``. The cells of these measures are
the group means :math:`m_a`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block
from rankwise.core.row_sets import JudgedRows, Needs
from rankwise.measures.arithmetic import Gain, discount, gain_of, mean_difference
from rankwise.measures.cell_labels import cells_of_items
from rankwise.measures.group_rates import OverItemGroups
from rankwise.measures.input_kinds import Input
from rankwise.measures.item_sums import CatalogueSums, ItemSum, ItemTerms, RecommendationCount
from rankwise.measures.kinds import Values
from rankwise.measures.measure import measure

__all__ = ["ItemMADRanking", "ItemMADRating"]


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
        """The name that distinguishes it from other item sums."""
        return f"gains({self.gain},{'log' if self.discounted else 'none'})"

    def _terms(self, judged: JudgedRows) -> Array | None:
        # Only relevant items have a gain: the others may have a negative relevance.
        gain = gain_of(self.gain, namespace(judged.truth).where(judged.relevant > 0, judged.truth, 0.0))
        return gain * discount(judged.rank) if self.discounted else gain


class _GroupMeans(OverItemGroups):
    """Group means of the items' means."""

    @property
    def term_sums(self) -> tuple[ItemSum, ItemSum]:
        """The terms of each item, summed over users, and their number."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The groups, and both sums."""
        return (*super().inputs, *self.term_sums)

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the mean absolute difference, and each group's mean."""
        total, count = (items.sum(item_sum, k) for item_sum in self.term_sums)
        groups = self.groups(items)
        counted = count > 0
        mean = np.where(counted, total / np.where(counted, count, 1), 0.0)
        sums, sizes = groups.sum(mean), groups.sum(counted)
        means = [s / n if n else math.nan for s, n in zip(sums, sizes, strict=True)]
        cells = cells_of_items(groups.names, means)
        return Values(mean_difference(cells.values()), cells)


@measure(
    "item_mad_ranking", range=(0, math.inf), higher_is_better=False, family="fairness", plain=plain.item_mad_ranking
)
class ItemMADRanking(_GroupMeans):
    r"""Mean absolute difference between groups of items in the gain of a recommendation.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \;
              \mathrm{mean}_{u : i \in L_u^k} \frac{g_{ui}}{\log_2(rank_{ui} + 1)}

    :math:`m_a` is the mean of item group a over its recommended items, each with the mean over the
    users who have it in the top k :math:`L_u^k`; :math:`g_{ui}` is the gain of the item, 0 if it is
    not relevant, :math:`rank_{ui}` its rank. The outer mean is over all pairs of groups. Items
    never recommended are left out. Range [0, inf); lower is more equal. The cells are :math:`m_a`.
    Tied items are taken in order of item id. NaN for fewer than two groups. Needs a column of
    groups in ``items``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1` (as in WarpRec).
    discount : {"log", "none"}, default="log"
        Whether gains are divided by the logarithm; ``"none"``: they are not (as in WarpRec).

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

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


@measure("item_mad_rating", range=(0, math.inf), higher_is_better=False, family="fairness", plain=plain.item_mad_rating)
class ItemMADRating(_GroupMeans):
    r"""Mean absolute difference between groups of items in the scores of their hits.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \; \mathrm{mean}_{u : i \in L_u^k \cap R_u} s_{ui}

    :math:`m_a` is the mean of item group a over its items with a hit, each with the mean score
    :math:`s_{ui}` over the users u for whom it is a hit: relevant (in :math:`R_u`) and in the top k
    :math:`L_u^k`. The outer mean is over all pairs of groups. Range [0, inf), in the unit of the
    scores; lower is more equal. The cells are :math:`m_a`. Tied items are taken in order of item
    id. NaN for fewer than two groups. Needs a column of groups in ``items``, and scores.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2], "group": ["a", "b"]}
    >>> recommendations = {"ann": {1: 5.0, 2: 3.0}}
    >>> result = rw.evaluate(recommendations, {"ann": {1, 2}}, "item_mad_rating@2", items=items)
    >>> result["item_mad_rating@2"]
    2.0
    """

    term_sums = (_HitScores(), _HitsInOrder())
