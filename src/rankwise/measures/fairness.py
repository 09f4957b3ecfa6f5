r"""Fairness over groups of items: who is shown, and who is found where it is relevant.

The groups are a column of ``items``, any column, named by ``item_group``; items without a group
are left out of the groups. Groups of users are a column of ``users``, named by ``user_group``.
Each of these measures has cells: ``reo@10[item_group=a]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankwise.core.backend import namespace
from rankwise.core.exact import LARGEST
from rankwise.core.facts import Fact, Groups, Source
from rankwise.errors import ScoreError
from rankwise.measures.arithmetic import Gain, discount, gain_of, mean_difference, spread
from rankwise.measures.kinds import Accumulated, Labelled, label
from rankwise.measures.measure import measure
from rankwise.measures.tallies import Hits, ItemSums, Recommended, Relevant, Seen, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs

__all__ = [
    "REO",
    "RSP",
    "BiasDisparity",
    "BiasDisparityRecommendation",
    "BiasDisparitySource",
    "ItemMADRanking",
    "ItemMADRating",
]


class _OverItemGroups(Accumulated):
    item_group: str = "group"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The groups of items."""
        return (Fact("item_group", self.item_group),)

    def _groups(self, items: ItemSums) -> Groups:
        return items.fact(Fact("item_group", self.item_group), Groups)


class _Rates(_OverItemGroups):
    """How unequal a rate is over item groups."""

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the spread of the rates, and each group's."""
        groups = self._groups(items)
        part, whole = (groups.sum(one) for one in self._part_and_whole(items, k))
        rates = [p / w if w > 0 else math.nan for p, w in zip(part, whole, strict=True)]
        cells = {
            label(item_group=name): float(rate)
            for name, rate in zip(groups.names, rates, strict=True)
        }
        return {"": spread(rates), **cells}

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        raise NotImplementedError


@measure("reo", "ranking_based_equal_opportunity", range=(0, math.inf), higher_is_better=False)
class REO(_Rates):
    r"""Ranking-based equal opportunity: how unequally relevant items of the groups are found.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap R_u \cap a|}{\sum_u |R_u \cap a|}

    Population standard deviation over the item groups a that have relevant items. Range [0, inf);
    lower is more equal. The cells are :math:`P_a`. Needs a group in ``items``.

    Parameters
    ----------
    item_group : str
        The column of ``items`` with the groups.

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

    item_group: str = "group"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Hits and relevant items."""
        return (Hits(), Relevant())

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        return items.sum(Hits(), k), items.sum(Relevant(), k)


@measure("rsp", "ranking_based_statistical_parity", range=(0, math.inf), higher_is_better=False)
class RSP(_Rates):
    r"""Ranking-based statistical parity: how unequally items of the groups are recommended.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap a|}{\sum_u |a \setminus H_u|}

    over users with a list; :math:`H_u` is what the user has seen in training. Population standard
    deviation over item groups. Range [0, inf); lower is more equal. The cells are :math:`P_a`.
    Needs a group in ``items``.

    Parameters
    ----------
    item_group : str
        The column of ``items`` with the groups.
    seen : {"excluded", "included"}
        Whether items seen in training could have been recommended; ``"excluded"`` needs ``train``.

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

    item_group: str = "group"
    seen: Literal["excluded", "included"] = "excluded"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Recommendations, and what was seen."""
        return (Recommended(), *((Seen(),) if self.seen == "excluded" else ()))

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        seen = items.sum(Seen(), k) if self.seen == "excluded" else 0
        return items.sum(Recommended(), k), np.full(items.size, items.n_listed) - seen


class _Disparity(_OverItemGroups):
    """A share of some rows, user group by item group, over the item group's share of items."""

    user_group: str = "group"
    interactions: Literal["train", "truth"] = "train"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Both groups, and what users of each group used in training."""
        source = (Fact("source", self.user_group),) if self.interactions == "train" else ()
        return (*super().facts, Fact("user_group", self.user_group), *source)

    def _source(self, items: ItemSums) -> Labelled:
        if self.interactions == "truth":
            return self._over_share(items, items.parts(Relevant(self.user_group), 0))
        source = items.fact(Fact("source", self.user_group), Source)
        return self._over_share(
            items, {name: source.count[:, at] for at, name in enumerate(source.names)}
        )

    def _recommended(self, items: ItemSums, k: int) -> Labelled:
        return self._over_share(items, items.parts(Recommended(self.user_group), k))

    def _over_share(self, items: ItemSums, counts: dict[str, Any]) -> Labelled:
        groups = self._groups(items)
        share = groups.sum(np.ones(items.size)) / items.size
        out = {}
        for user_group, count in counts.items():
            total = float(np.sum(count))
            for item_group, part, of in zip(groups.names, groups.sum(count), share, strict=True):
                name = label(user_group=user_group, item_group=item_group)
                out[name] = float(part / total / of) if total and of else math.nan
        return out


@measure("bias_disparity_source", "bias_disparity_bs", range=(0, math.inf), higher_is_better=None,
         cutoff="none")  # fmt: skip
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
         higher_is_better=None)  # fmt: skip
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


@measure("bias_disparity", "bias_disparity_bd", range=(-1, math.inf), higher_is_better=None)
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
        score, xp = rows.score[near], namespace(rows.score)
        if score.shape[0] and float(xp.max(xp.abs(score))) > LARGEST:
            raise ScoreError(
                "item_mad_rating adds up scores exactly, and one is too large for that",
                found=f"{float(xp.max(xp.abs(score))):g}, at most {LARGEST:g}",
                hint="divide all scores by a power of two",
            )
        return rows.user[near], rows.item[near], score


@dataclass(frozen=True)
class _Gains(_FoundInOrder):
    """The gains of the same rows, less the further down they are."""

    gain: Gain = "linear"
    discounted: bool = True

    name: ClassVar[str] = "gains"
    whole: ClassVar[bool] = False

    def column(self, k: int) -> str:
        """Return the name of its columns at a cut-off, less the part."""
        return f"gains({self.gain},{'log' if self.discounted else 'none'})@{k}"

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant rows of the lists with their gains."""
        rows = block.rows("judged")
        near = (rows.rank <= k) & (rows.relevant > 0)
        gain = gain_of(self.gain, rows.truth[near])
        gain = gain * discount(rows.rank[near]) if self.discounted else gain
        return rows.user[near], rows.item[near], gain


class _MeansOfItems(_OverItemGroups):
    """A mean for each item, the mean of these for each group, and how far groups are apart."""

    def _apart(self, items: ItemSums, total: Any, count: Any) -> Labelled:
        groups = self._groups(items)
        shown = count > 0
        mean = np.where(shown, total / np.where(shown, count, 1), 0.0)
        sums, sizes = groups.sum(mean), groups.sum(shown)
        means = [s / n if n else math.nan for s, n in zip(sums, sizes, strict=True)]
        cells = {
            label(item_group=name): float(value)
            for name, value in zip(groups.names, means, strict=True)
        }
        return {"": mean_difference(cells.values()), **cells}


@measure("item_mad_ranking", range=(0, math.inf), higher_is_better=False)
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


@measure("item_mad_rating", range=(0, math.inf), higher_is_better=False)
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
