r"""Fairness over groups of users: whose recommendations are better, and by how much.

The groups are a column of ``users``, any column, named by ``user_group``; users without a group
are left out and counted. The cells of these measures are the groups' means, :math:`m_a`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankwise.measures.arithmetic import Gain, mean_difference
from rankwise.measures.graded import NDCG
from rankwise.measures.hygiene import MeanScore
from rankwise.measures.kinds import Grouped, at_cutoffs
from rankwise.measures.measure import Measure, measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array

__all__ = ["GroupGap", "GroupRatio", "UserMADRanking", "UserMADRating"]


class _Apart(Grouped):
    """How far groups are apart."""

    def of_means(self, means: Array) -> float:
        """Return the mean difference of pairs."""
        return mean_difference(map(float, means))


@measure("user_mad_ranking", range=(0, 1), higher_is_better=False, family="fairness")
class UserMADRanking(_Apart):
    r"""How far groups of users are apart in their nDCG.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad m_a = \mathrm{mean}_{u \in a} nDCG_u@k

    Range [0, 1]; lower is more equal. NaN for less than two groups. Needs a group in ``users``.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}
        The gain of nDCG.
    user_group : str
        The column of ``users`` with the groups.

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
    user_group: str = "group"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The nDCG."""
        return (NDCG(gain=self.gain) @ self.k,)


@measure("user_mad_rating", range=(0, math.inf), higher_is_better=False, family="fairness")
class UserMADRating(_Apart):
    r"""How far groups of users are apart in the scores of what they are recommended.

    .. math:: \mathrm{mean}_{a < b} |m_a - m_b|, \quad
              m_a = \mathrm{mean}_{u \in a} \, \mathrm{mean}_{i \in L_u^k} s_{ui}

    Range [0, inf), in the unit of the scores; lower is more equal. NaN for less than two groups.
    Needs a group in ``users``, and scores.

    Parameters
    ----------
    user_group : str
        The column of ``users`` with the groups.

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

    user_group: str = "group"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The mean score."""
        return (MeanScore() @ self.k,)


class _OfAnyMeasure(Grouped):
    measure: Measure = NDCG()

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure at the cut-offs of this one."""
        return (at_cutoffs(self.measure, self.k),)


@measure("group_gap", range=(0, math.inf), higher_is_better=False, family="fairness")
class GroupGap(_OfAnyMeasure):
    r"""Difference between the groups of users that a measure is highest and lowest for.

    .. math:: \max_a m_a - \min_a m_a

    Range [0, inf); lower is more equal. NaN for less than two groups. Needs a group in ``users``.

    Parameters
    ----------
    measure : measure
        Any measure that has a value for each user: ``group_gap(recall)@10``.
    user_group : str
        The column of ``users`` with the groups.

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
    user_group: str = "group"

    def of_means(self, means: Array) -> float:
        """Return the range of the means."""
        return float(means.max() - means.min())


@measure("group_ratio", range=(0, 1), higher_is_better=True, family="fairness")
class GroupRatio(_OfAnyMeasure):
    r"""Lowest over highest mean of the groups of users.

    .. math:: \min_a m_a / \max_a m_a

    Range [0, 1] for measures that are not negative; higher is more equal. NaN where no group has
    more than 0, and for less than two groups. Needs a group in ``users``.

    Parameters
    ----------
    measure : measure
        Any measure that has a value for each user: ``group_ratio(recall)@10``.
    user_group : str
        The column of ``users`` with the groups.

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
    user_group: str = "group"

    def of_means(self, means: Array) -> float:
        """Return the lowest over the highest mean."""
        return float(means.min() / means.max()) if means.max() else math.nan
