r"""Fairness between groups of users: how much the quality of their recommendations differs.

The groups are any column of ``users``, named by ``user_group``; users without a group are left out
and counted. The cells of these measures are the group means :math:`m_a`.
"""

from __future__ import annotations

import math

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.measures.arithmetic import Gain, mean_difference
from rankwise.measures.graded import NDCG
from rankwise.measures.hygiene import MeanScore
from rankwise.measures.kinds import Grouped, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["GroupGap", "GroupRatio", "UserMADRanking", "UserMADRating"]


class _MeanDifference(Grouped):
    """Mean absolute difference over pairs of groups."""

    def of_means(self, means: Array) -> float:
        """Return the mean absolute difference over pairs of means."""
        return mean_difference(map(float, means))


@measure("user_mad_ranking", range=(0, 1), higher_is_better=False, family="fairness", plain=plain.mean_difference)
class UserMADRanking(_MeanDifference):
    r"""Mean absolute difference between groups of users in nDCG.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad m_a = \mathrm{mean}_{u \in a} nDCG_u@k

    :math:`m_a` is the mean nDCG of user group a; the outer mean is over all pairs of groups. The
    cells are :math:`m_a`. Range [0, 1]; lower is more equal. NaN for fewer than two groups. Needs a
    column of groups in ``users``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1`.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

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
    def parts(self) -> tuple[Measure, ...]:
        """The nDCG."""
        return (NDCG(gain=self.gain) @ self.k,)


@measure("user_mad_rating", range=(0, math.inf), higher_is_better=False, family="fairness", plain=plain.mean_difference)
class UserMADRating(_MeanDifference):
    r"""Mean absolute difference between groups of users in the scores of recommended items.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{u \in a} \, \mathrm{mean}_{i \in L_u^k} s_{ui}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`s_{ui}` the score of
    item i, :math:`m_a` the mean of user group a; the outer mean is over all pairs of groups. The
    cells are :math:`m_a`. Range [0, inf), in the unit of the scores; lower is more equal. NaN for
    fewer than two groups. Needs a column of groups in ``users``, and scores.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

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
    def parts(self) -> tuple[Measure, ...]:
        """The mean score."""
        return (MeanScore() @ self.k,)


class _AnyMeasure(Grouped):
    measure: Measure = NDCG()

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure that is compared, at these cut-offs."""
        return (at_cutoffs(self.measure, self.k),)


@measure("group_gap", range=(0, math.inf), higher_is_better=False, family="fairness", plain=plain.group_means)
class GroupGap(_AnyMeasure):
    r"""Difference between the highest and the lowest mean of a measure over groups of users.

    .. math:: \max_a m_a - \min_a m_a

    :math:`m_a` is the mean of the measure over the users of group a; these means are the cells.
    Range [0, inf); lower is more equal. NaN for fewer than two groups. Needs a column of groups in
    ``users``.

    Parameters
    ----------
    measure : measure, default=ndcg
        Any measure that has a value for each user: ``group_gap(recall)@10``.

    References
    ----------
    Ekstrand et al. 2018, All the Cool Kids, How Do They Fit In? Popularity and Demographic Biases
    in Recommender Evaluation and Effectiveness, FAT*.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations, truth = {"ann": [1, 2], "bob": [1, 2]}, {"ann": {1}, "bob": {1, 3}}
    >>> name = "group_gap(recall)@2"
    >>> rw.evaluate(recommendations, truth, name, users=users)[name]
    0.5
    """

    measure: Measure = NDCG()

    def of_means(self, means: Array) -> float:
        """Return the highest minus the lowest mean."""
        return float(means.max() - means.min())


@measure("group_ratio", range=(0, 1), higher_is_better=True, family="fairness", plain=plain.group_means)
class GroupRatio(_AnyMeasure):
    r"""Ratio of the lowest to the highest mean of a measure over groups of users.

    .. math:: \min_a m_a / \max_a m_a

    :math:`m_a` is the mean of the measure over the users of group a; these means are the cells.
    Range [0, 1] for measures without negative values; higher is more equal. NaN where no group mean
    is above 0, and for fewer than two groups. Needs a column of groups in ``users``.

    Parameters
    ----------
    measure : measure, default=ndcg
        Any measure that has a value for each user: ``group_ratio(recall)@10``.

    References
    ----------
    Ekstrand et al. 2018, All the Cool Kids, How Do They Fit In? Popularity and Demographic Biases
    in Recommender Evaluation and Effectiveness, FAT*.

    Examples
    --------
    >>> import rankwise as rw
    >>> users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    >>> recommendations, truth = {"ann": [1, 2], "bob": [1, 2]}, {"ann": {1}, "bob": {1, 3}}
    >>> name = "group_ratio(recall)@2"
    >>> rw.evaluate(recommendations, truth, name, users=users)[name]
    0.5
    """

    measure: Measure = NDCG()

    def of_means(self, means: Array) -> float:
        """Return the lowest mean over the highest."""
        return float(means.min() / means.max()) if means.max() else math.nan
