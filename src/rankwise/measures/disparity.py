r"""Bias disparity: whether recommendations move a group of users towards a group of items.

Groups are any columns of ``users`` and ``items``, named by ``user_group`` and ``item_group``; a
value is a cell for each pair of them: ``bias_disparity@10[user_group=a,item_group=b]``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.core.facts import Fact, Source
from rankwise.measures.kinds import Labelled, OverItemGroups, label
from rankwise.measures.measure import measure
from rankwise.measures.tallies import ItemSums, Recommended, Relevant, Tally

__all__ = ["BiasDisparity", "BiasDisparityRecommendation", "BiasDisparitySource"]


class _Disparity(OverItemGroups):
    """A share of some rows, user group by item group, over the item group's share of items."""

    only_cells: ClassVar[bool] = True

    user_group: str = "group"
    interactions: Literal["train", "truth"] = "train"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Both groups, and what users of each group used in training."""
        source = (Fact("source", self.user_group),) if self.interactions == "train" else ()
        return (*super().facts, Fact("user_group", self.user_group), *source)

    def _source(self, items: ItemSums) -> Labelled:
        if self.interactions == "truth":
            return self._over_share(items, items.by_group(Relevant(self.user_group), 0))
        source = items.fact(Fact("source", self.user_group), Source)
        return self._over_share(
            items, {name: source.count[:, at] for at, name in enumerate(source.names)}
        )

    def _recommended(self, items: ItemSums, k: int) -> Labelled:
        return self._over_share(items, items.by_group(Recommended(self.user_group), k))

    def _over_share(self, items: ItemSums, counts: dict[str, Any]) -> Labelled:
        groups = self.groups(items)
        share = groups.sum(np.ones(items.size)) / items.size
        out = {}
        for user_group, count in counts.items():
            total = float(np.sum(count))
            for item_group, part, of in zip(groups.names, groups.sum(count), share, strict=True):
                name = label(user_group=user_group, item_group=item_group)
                out[name] = float(part / total / of) if total and of else math.nan
        return out


@measure("bias_disparity_source", "bias_disparity_bs", range=(0, math.inf), higher_is_better=None,
         cutoff="none", family="fairness")  # fmt: skip
class BiasDisparitySource(_Disparity):
    r"""How much more a group of users likes a group of items than the catalogue would suggest.

    .. math:: B_S(G, C) = \frac{\text{share of the interactions of } G \text{ that are in } C}
              {|C| / |I|}

    A cell for every user group G and item group C. Range [0, inf): above 1 the group prefers these
    items; nothing is better in itself. Needs ``train``, and a group in ``items`` and ``users``.

    Parameters
    ----------
    item_group, user_group : str
        The columns of ``items`` and of ``users`` with the groups.
    interactions : {"train", "truth"}
        Whose interactions: those of training, or the relevant items of the truth (as WarpRec
        before 2.0 counts).

    References
    ----------
    Tsintzou, Pitoura & Tsaparas 2018, Bias Disparity in Recommendation Systems, arXiv:1811.01461.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3, 4], "group": ["a", "a", "b", "b"]}
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> train = {"ann": [1, 2, 3, 4], "bob": [1]}
    >>> result = rw.evaluate({"ann": [1]}, {"ann": {1}}, "bias_disparity_source", train=train,
    ...                      items=items, users=users)
    >>> result["bias_disparity_source[user_group=y,item_group=a]"]
    2.0
    """

    item_group: str = "group"
    user_group: str = "group"
    interactions: Literal["train", "truth"] = "train"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The relevant items of each group of users, if these are asked for."""
        return (Relevant(self.user_group),) if self.interactions == "truth" else ()

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the cells."""
        return self._source(items)


@measure("bias_disparity_recommendation", "bias_disparity_br", range=(0, math.inf),
         higher_is_better=None, family="fairness")  # fmt: skip
class BiasDisparityRecommendation(_Disparity):
    r"""How much more a group of users is shown a group of items than the catalogue would suggest.

    .. math:: B_R(G, C) = \frac{\text{share of the top } k \text{ of } G \text{ that is in } C}
              {|C| / |I|}

    A cell for every user group G and item group C. Range [0, inf): above 1 the group is shown more
    of these items; nothing is better in itself. Needs a group in ``items`` and ``users``.

    Parameters
    ----------
    item_group, user_group : str
        The columns of ``items`` and of ``users`` with the groups.

    References
    ----------
    Tsintzou, Pitoura & Tsaparas 2018, Bias Disparity in Recommendation Systems, arXiv:1811.01461.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3, 4], "group": ["a", "a", "b", "b"]}
    >>> users = {"user": ["ann"], "group": ["x"]}
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, "bias_disparity_recommendation@2",
    ...                      items=items, users=users)
    >>> result["bias_disparity_recommendation@2[user_group=x,item_group=a]"]
    2.0
    """

    item_group: str = "group"
    user_group: str = "group"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Both groups."""
        return (Fact("item_group", self.item_group), Fact("user_group", self.user_group))

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What each group of users is shown."""
        return (Recommended(self.user_group),)

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the cells."""
        return self._recommended(items, k)


@measure(
    "bias_disparity",
    "bias_disparity_bd",
    range=(-1, math.inf),
    higher_is_better=None,
    family="fairness",
)
class BiasDisparity(_Disparity):
    r"""How far the recommendations move a group of users towards a group of items.

    .. math:: \frac{B_R(G, C) - B_S(G, C)}{B_S(G, C)}

    of ``bias_disparity_recommendation`` and ``bias_disparity_source``. A cell for every user group
    G and item group C; NaN where the source is 0. Range [-1, inf): 0 keeps the group's taste;
    nothing is better in itself. Needs ``train``, and a group in ``items`` and ``users``.

    Parameters
    ----------
    item_group, user_group : str
        The columns of ``items`` and of ``users`` with the groups.
    interactions : {"train", "truth"}
        Whose interactions are the source: those of training, or the relevant items of the truth
        (as WarpRec before 2.0 counts).

    References
    ----------
    Tsintzou, Pitoura & Tsaparas 2018, Bias Disparity in Recommendation Systems, arXiv:1811.01461.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3, 4], "group": ["a", "a", "b", "b"]}
    >>> users = {"user": ["ann"], "group": ["x"]}
    >>> train = {"ann": [1, 2, 3, 4]}
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, "bias_disparity@2", train=train,
    ...                      items=items, users=users)
    >>> result["bias_disparity@2[user_group=x,item_group=b]"]
    -1.0
    """

    item_group: str = "group"
    user_group: str = "group"
    interactions: Literal["train", "truth"] = "train"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What each group of users is shown, and what is relevant to it if that is the source."""
        source = (Relevant(self.user_group),) if self.interactions == "truth" else ()
        return (Recommended(self.user_group), *source)

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the cells."""
        source, shown = self._source(items), self._recommended(items, k)
        return {
            name: shown[name] / source[name] - 1.0 if source[name] > 0 else math.nan
            for name in shown
        }
