"""Fairness between groups of users: quality of their recommendations, and bias disparity.

For bias disparity, whether recommendations move a group of users towards a group of items, the
groups are columns of ``users`` and ``items``, named by ``user_group`` and ``item_group``. There is
one cell per pair of groups: ``bias_disparity@10[user_group=a,item_group=b]``.

For the other metrics the groups are any column of ``users``, named by ``user_group``; users without
a group are left out and counted. The cells of these metrics are the group means :math:`m_a`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import Groups, Source
from rankwise.core.arrays import Array
from rankwise.metrics.arithmetic import Gain, mean_difference
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.composite_kinds import Grouped
from rankwise.metrics.coverage import MeanScore
from rankwise.metrics.graded import NDCG
from rankwise.metrics.inputs import CatalogueSums, Input, RecommendationCount, RelevantCount, label
from rankwise.metrics.kinds import OverItemGroups, at_cutoffs
from rankwise.metrics.states import CellValues

__all__ = [
    "BiasDisparity",
    "BiasDisparityRecommendation",
    "BiasDisparitySource",
    "GroupGap",
    "GroupRatio",
    "UserMADRanking",
    "UserMADRating",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Disparity(OverItemGroups):
    """Cells, by user group and item group: share of the interactions over share of the items.

    Parameters
    ----------
    user_group : str, default="group"
        The column of ``users`` with the groups.

    References
    ----------
    Tsintzou, Pitoura & Tsaparas 2018, Bias Disparity in Recommendation Systems, arXiv:1811.01461.
    """

    cells_only = True
    user_group: str = "group"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Both groups."""
        return (*super().inputs, Groups.of_users(self.user_group))

    def _recommended(self, items: CatalogueSums, k: int) -> dict[str, float]:
        """Return the bias of the recommendations, B_R."""
        return self._bias(items, items.by_group(RecommendationCount(self.user_group), k))

    def _bias(self, items: CatalogueSums, counts: dict[str, Any]) -> dict[str, float]:
        """Return the bias of item counts by user group, as cells."""
        groups = self.groups(items)
        item_shares = groups.sum(np.ones(items.size)) / items.size
        cells = {}
        for user_group, count in counts.items():
            total = float(np.sum(count))
            rows = zip(groups.names, groups.sum(count), item_shares, strict=True)
            for item_group, part, item_share in rows:
                cell = label(user_group=user_group, item_group=item_group)
                defined = total and item_share
                cells[cell] = float(part / total / item_share) if defined else math.nan
        return cells


@dataclass(frozen=True, kw_only=True, repr=False)
class _WithSource(_Disparity):
    r"""Cells that also depend on the users' interactions.

    Parameters
    ----------
    interactions : {"train", "truth"}, default="train"
        The interactions that :math:`B_S` counts: the training interactions, or the relevant items
        of the ground truth (as in WarpRec before 2.0).
    """

    interactions: Literal["train", "truth"] = "train"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Both groups, and the training interactions or relevant items of each user group."""
        if self.interactions == "truth":
            return (*super().inputs, RelevantCount(self.user_group))
        return (*super().inputs, Source.fact(self.user_group))

    def _source(self, items: CatalogueSums) -> dict[str, float]:
        """Return the bias of the users' interactions, B_S."""
        if self.interactions == "truth":
            return self._bias(items, items.by_group(RelevantCount(self.user_group), 0))
        source = items[Source.fact(self.user_group)]
        return self._bias(items, {name: source.count[:, j] for j, name in enumerate(source.names)})


@metric(
    "bias_disparity_source",
    "bias_disparity_bs",
    range=(0, math.inf),
    higher_is_better=None,
    cutoff="none",
    family="fairness",
    plain=plain.preference_ratios,
)
class BiasDisparitySource(_WithSource):
    r"""Bias of users' interactions: how strongly a user group prefers an item group.

    .. math:: B_S(G, C) = \frac{\text{share of the interactions of } G \text{ that are in } C}
              {|C| / |I|}

    One cell per user group G and item group C; :math:`I` is the catalogue. Above 1, G prefers C.
    Needs ``train`` and a column of groups in both ``items`` and ``users``.

    Notes
    -----
    Use it to read ``bias_disparity``: it is what users preferred before. Do not use it to compare
    systems: it does not depend on the lists.

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

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the cells, by user group and item group."""
        return CellValues(cells=self._source(items))


@metric(
    "bias_disparity_recommendation",
    "bias_disparity_br",
    range=(0, math.inf),
    higher_is_better=None,
    family="fairness",
    plain=plain.preference_ratios,
)
class BiasDisparityRecommendation(_Disparity):
    r"""Bias of recommendations: how strongly a user group is recommended an item group.

    .. math:: B_R(G, C) = \frac{\text{share of the top } k \text{ of } G \text{ that is in } C}
              {|C| / |I|}

    One cell per user group G and item group C; :math:`I` is the catalogue. Above 1, G is
    recommended C more often than by random recommendations. Needs a column of groups in both
    ``items`` and ``users``.

    Notes
    -----
    Use it to read ``bias_disparity``: it is one of its two parts. Do not use it as bias by itself:
    users may prefer the group.

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

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Both groups, and the number of recommendations by user group."""
        return (*super().inputs, RecommendationCount(self.user_group))

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the cells, by user group and item group."""
        return CellValues(cells=self._recommended(items, k))


@metric(
    "bias_disparity",
    "bias_disparity_bd",
    range=(-1, math.inf),
    higher_is_better=None,
    family="fairness",
    plain=plain.bias_disparity,
)
class BiasDisparity(_WithSource):
    r"""Bias disparity: how far recommendations move a user group towards an item group.

    .. math:: \frac{B_R(G, C) - B_S(G, C)}{B_S(G, C)}

    The relative change from :math:`B_S`, ``bias_disparity_source``, to :math:`B_R`,
    ``bias_disparity_recommendation``. One cell per user group G and item group C; NaN where
    :math:`B_S` is 0. A value of 0 keeps the preference of the users. Needs ``train`` and a column
    of groups in both ``items`` and ``users``.

    Notes
    -----
    Use it for whether recommendations exaggerate what groups of users prefer. Do not use it for
    pairs of groups with few interactions: it is a ratio, and explodes.

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

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of both biases."""
        return (*super().inputs, RecommendationCount(self.user_group))

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the cells, by user group and item group."""
        source, recommended = self._source(items), self._recommended(items, k)
        cells = {
            cell: recommended[cell] / source[cell] - 1.0 if source[cell] > 0 else math.nan
            for cell in recommended
        }
        return CellValues(cells=cells)


class _MeanDifference(Grouped):
    """Mean absolute difference over pairs of groups.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.
    """

    group_statistic = "mean_difference"

    def value_from_means(self, means: Array) -> float:
        """Return the mean absolute difference over pairs of means."""
        return mean_difference(map(float, means))


@metric(
    "user_mad_ranking",
    range=(0, 1),
    higher_is_better=False,
    family="fairness",
    plain=plain.mean_difference,
)
class UserMADRanking(_MeanDifference):
    r"""Mean absolute difference between groups of users in nDCG.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad m_a = \mathrm{mean}_{u \in a} nDCG_u@k

    :math:`m_a` is the mean nDCG of user group a; the outer mean is over all pairs of groups. The
    cells are :math:`m_a`. NaN for fewer than two groups. Needs a column of groups in ``users``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1`.

    Notes
    -----
    Use it for how differently groups of users are served, over all pairs of groups. Do not use it
    for small groups: means of few users differ by chance.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations, truth = {"ann": [1], "bob": [2]}, {"ann": {1}, "bob": {1}}
    >>> result = rw.evaluate(recommendations, truth, "user_mad_ranking@1", users=users)
    >>> result["user_mad_ranking@1"], result["user_mad_ranking@1[user_group=x]"]
    (1.0, 1.0)
    """

    gain: Gain = "linear"

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The nDCG."""
        return (NDCG(gain=self.gain) @ self.k,)


@metric(
    "user_mad_rating",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.mean_difference,
)
class UserMADRating(_MeanDifference):
    r"""Mean absolute difference between groups of users in the scores of recommended items.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{u \in a} \, \mathrm{mean}_{i \in L_u^k} s_{ui}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`s_{ui}` the score of
    item i, :math:`m_a` the mean of user group a; the outer mean is over all pairs of groups. The
    cells are :math:`m_a`. The value is in the unit of the scores. NaN for fewer than two groups.
    Needs a column of groups in ``users``, and scores.

    Notes
    -----
    Use it for whether groups of users are given scores of one height. Do not use it as quality:
    scores are predictions, not outcomes.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations = {"ann": {1: 5.0}, "bob": {2: 3.0}}
    >>> result = rw.evaluate(recommendations, {"ann": {1}, "bob": {1}}, "user_mad_rating@1",
    ...                      users=users)
    >>> result["user_mad_rating@1"]
    2.0
    """

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The mean score."""
        return (MeanScore() @ self.k,)


@dataclass(frozen=True, kw_only=True, repr=False)
class _AnyMetric(Grouped):
    """A function of the means that any metric has over groups of users.

    Parameters
    ----------
    metric : metric, default=ndcg
        Any metric that has a value for each user, such as ``recall``.

    References
    ----------
    Ekstrand et al. 2018, All the Cool Kids, How Do They Fit In? Popularity and Demographic Biases
    in Recommender Evaluation and Effectiveness, FAT*.
    """

    metric: Metric = NDCG()  # noqa: RUF009 - frozen, so that all may share it

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metric that is compared, at these cut-offs."""
        return (at_cutoffs(self.metric, self.k),)


@metric(
    "group_gap",
    range=(0, math.inf),
    higher_is_better=False,
    family="fairness",
    plain=plain.group_means,
)
class GroupGap(_AnyMetric):
    r"""Difference between the highest and the lowest mean of a metric over groups of users.

    .. math:: \max_a m_a - \min_a m_a

    :math:`m_a` is the mean of the metric over the users of group a; these means are the cells. NaN
    for fewer than two groups. Needs a column of groups in ``users``.

    Notes
    -----
    Use it for how differently groups of users are served. Do not use it for many small groups: the
    highest minus the lowest of noisy means is large by chance. Read the means.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations, truth = {"ann": [1, 2], "bob": [1, 2]}, {"ann": {1}, "bob": {1, 3}}
    >>> name = "group_gap(recall)@2"
    >>> rw.evaluate(recommendations, truth, name, users=users)[name]
    0.5
    """

    group_statistic = "gap"

    def value_from_means(self, means: Array) -> float:
        """Return the highest minus the lowest mean."""
        return float(means.max() - means.min())


@metric(
    "group_ratio", range=(0, 1), higher_is_better=True, family="fairness", plain=plain.group_means
)
class GroupRatio(_AnyMetric):
    r"""Ratio of the lowest to the highest mean of a metric over groups of users.

    .. math:: \min_a m_a / \max_a m_a

    :math:`m_a` is the mean of the metric over the users of group a; these means are the cells. The
    range holds for metrics without negative values. NaN where no group mean is above 0, and for
    fewer than two groups. Needs a column of groups in ``users``.

    Notes
    -----
    Use it for how differently groups of users are served, in proportion. Do not use it for small
    groups, or where a mean is near 0: chance decides it.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations, truth = {"ann": [1, 2], "bob": [1, 2]}, {"ann": {1}, "bob": {1, 3}}
    >>> name = "group_ratio(recall)@2"
    >>> rw.evaluate(recommendations, truth, name, users=users)[name]
    0.5
    """

    group_statistic = "ratio"

    def value_from_means(self, means: Array) -> float:
        """Return the lowest mean over the highest."""
        return float(means.min() / means.max()) if means.max() else math.nan
