r"""Fairness over groups of items in what they gain, or in the scores that they get.

The groups are a column of ``items``, any column, named by ``item_group``. The cells of these
measures are the groups' means, :math:`m_a`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankwise.measures.arithmetic import Gain, discount, gain_of, mean_difference
from rankwise.measures.kinds import Labelled, OverItemGroups, cells_of_items
from rankwise.measures.measure import measure
from rankwise.measures.tallies import ItemSums, Recommended, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs

__all__ = ["ItemMADRanking", "ItemMADRating"]


class _FoundInOrder(Tally):
    """How often each item is relevant in the first k; tied items in the order of the list."""

    name: ClassVar[str] = "found"
    needs: ClassVar[Needs] = frozenset({"judged"})

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant rows of the lists."""
        rows = block.rows("judged")
        near = (rows.rank <= k) & (rows.relevant > 0)
        return rows.user[near], rows.item[near], None


class _Scores(_FoundInOrder):
    """The scores of the same rows."""

    name: ClassVar[str] = "scores"
    needs: ClassVar[Needs] = frozenset({"judged", "scores"})
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant rows of the lists with their scores."""
        rows = block.rows("judged")
        near = (rows.rank <= k) & (rows.relevant > 0)
        return rows.user[near], rows.item[near], rows.score[near]


@dataclass(frozen=True)
class _Gains(_FoundInOrder):
    """The gains of the same rows, less the further down they are."""

    gain: Gain = "linear"
    discounted: bool = True

    name: ClassVar[str] = "gains"
    whole: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """What tells it from other tallies."""
        return f"gains({self.gain},{'log' if self.discounted else 'none'})"

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant rows of the lists with their gains."""
        rows = block.rows("judged")
        near = (rows.rank <= k) & (rows.relevant > 0)
        gain = gain_of(self.gain, rows.truth[near])
        gain = gain * discount(rows.rank[near]) if self.discounted else gain
        return rows.user[near], rows.item[near], gain


class _MeansOfItems(OverItemGroups):
    """A mean for each item, the mean of these for each group, and how far groups are apart."""

    def _apart(self, items: ItemSums, total: Any, count: Any) -> Labelled:
        groups = self.groups(items)
        shown = count > 0
        mean = np.where(shown, total / np.where(shown, count, 1), 0.0)
        sums, sizes = groups.sum(mean), groups.sum(shown)
        means = [s / n if n else math.nan for s, n in zip(sums, sizes, strict=True)]
        cells = cells_of_items(groups.names, means)
        return {"": mean_difference(cells.values()), **cells}


@measure("item_mad_ranking", range=(0, math.inf), higher_is_better=False, family="fairness")
class ItemMADRanking(_MeansOfItems):
    r"""How far groups of items are apart in what they gain when they are recommended.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \;
              \mathrm{mean}_{u : i \in L_u^k} \frac{g_{ui}}{\log_2(rank_{ui} + 1)}

    The gain is 0 where the item is not relevant; items never recommended are left out. Range
    [0, inf); lower is more equal. The cells are :math:`m_a`. Tied items are taken in order of item
    id. NaN for less than two groups. Needs a group in ``items``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}
        The relevance itself, :math:`2^{rel} - 1`, 1, or :math:`2^{rel + 1} - 1` (WarpRec).
    discount : {"log", "none"}
        ``"none"`` leaves the logarithm out (WarpRec).
    item_group : str
        The column of ``items`` with the groups.

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
    item_group: str = "group"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Gains and recommendations."""
        return (self._gains(), Recommended())

    def _gains(self) -> Tally:
        return _Gains(gain=self.gain, discounted=self.discount == "log")

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the mean difference, and each group's mean."""
        return self._apart(items, items.sum(self._gains(), k), items.sum(Recommended(), k))


@measure("item_mad_rating", range=(0, math.inf), higher_is_better=False, family="fairness")
class ItemMADRating(_MeansOfItems):
    r"""How far groups of items are apart in the scores that they are recommended with.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{i \in a} \; \mathrm{mean}_{u : i \in L_u^k \cap R_u} s_{ui}

    Over recommended items that are relevant, with their scores. Range [0, inf), in the unit of the
    scores; lower is more equal. The cells are :math:`m_a`. Tied items are taken in order of item
    id. NaN for less than two groups. Needs a group in ``items``, and scores.

    Parameters
    ----------
    item_group : str
        The column of ``items`` with the groups.

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

    item_group: str = "group"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Scores, and their number."""
        return (_Scores(), _FoundInOrder())

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the mean difference, and each group's mean."""
        return self._apart(items, items.sum(_Scores(), k), items.sum(_FoundInOrder(), k))
