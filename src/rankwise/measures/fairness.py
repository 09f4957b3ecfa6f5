r"""Fairness over groups of items: exposure, and exposure given relevance.

The groups are a column of ``items``, named by ``item_group``; items without a group do not count.
Each of these measures has one cell per group: ``reo@10[item_group=a]``. :math:`L_u^k` is the top k
of user u's recommendation list, :math:`R_u` the user's relevant items in the ground truth.
"""

from __future__ import annotations

import math
from typing import Literal

from rankwise import functional as plain
from rankwise.measures.group_rates import AvailableCount, GroupRates, ItemNumber, ListedUsers, OverItemGroups
from rankwise.measures.item_sums import HitCount, RecommendationCount, RelevantCount
from rankwise.measures.measure import measure

__all__ = ["REO", "RSP"]


@measure("reo", "ranking_based_equal_opportunity", range=(0, math.inf), higher_is_better=False, plain=plain.reo_at_k)
class REO(OverItemGroups, GroupRates):
    r"""Ranking-based equal opportunity: inequality of recall over item groups.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap R_u \cap a|}{\sum_u |R_u \cap a|}

    :math:`P_a` is the recall of item group a, :math:`L_u^k` the top k of the recommendation list of
    user u, :math:`R_u` are the user's relevant items. std is the population standard deviation over
    the groups that have relevant items. Range [0, inf); lower is more equal; NaN for fewer than two
    groups. The cells are :math:`P_a`. Needs a column of groups in ``items``.

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


@measure("rsp", "ranking_based_statistical_parity", range=(0, math.inf), higher_is_better=False, plain=plain.rsp_at_k)
class RSP(OverItemGroups, GroupRates):
    r"""Ranking-based statistical parity: inequality of recommendation rates over item groups.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap a|}{\sum_u |a \setminus H_u|}

    :math:`P_a` is the probability that a candidate of item group a is recommended; the sums are
    over users with a list. :math:`L_u^k` is the top k of the recommendation list of user u,
    :math:`H_u` the user's training history, except items in the list. std is the population
    standard deviation over groups. Range [0, inf); lower is more equal; NaN for fewer than two
    groups. The cells are :math:`P_a`. Needs a column of groups in ``items``.

    Parameters
    ----------
    seen : {"excluded", "included"}, default="excluded"
        Whether items of the user's training history are excluded from the candidates, and thereby
        from the denominator, or included. ``"excluded"`` needs ``train``.

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
