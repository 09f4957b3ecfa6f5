r"""Fairness over groups of items: who is shown, and who is found where it is relevant.

The groups are a column of ``items``, any column, named by ``item_group``; items without a group
are left out of the groups. Groups of users are a column of ``users``, named by ``user_group``.
Each of these measures has cells: ``reo@10[item_group=a]``.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from rankwise.measures.kinds import Labelled, OverItemGroups, rates_of_items
from rankwise.measures.measure import measure
from rankwise.measures.tallies import Hits, ItemSums, Recommended, Relevant, Repeated, Seen, Tally

__all__ = ["REO", "RSP"]


class _Rates(OverItemGroups):
    """How unequal a rate is over item groups."""

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the spread of the rates, and each group's."""
        return rates_of_items(self.groups(items), *self._part_and_whole(items, k))

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        raise NotImplementedError


@measure("reo", "ranking_based_equal_opportunity", range=(0, math.inf), higher_is_better=False)
class REO(_Rates):
    r"""Ranking-based equal opportunity: how unequally relevant items of the groups are found.

    .. math:: \frac{\mathrm{std}_a(P_a)}{\mathrm{mean}_a(P_a)},
              \quad P_a = \frac{\sum_u |L_u^k \cap R_u \cap a|}{\sum_u |R_u \cap a|}

    Population standard deviation over the item groups a that have relevant items. Range [0, inf);
    lower is more equal; NaN for less than two groups. The cells are :math:`P_a`. Needs a group in
    ``items``.

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

    over users with a list; :math:`H_u` is what the user has seen in training, less what the list
    holds all the same. Population standard deviation over item groups. Range [0, inf); lower is
    more equal; NaN for less than two groups. The cells are :math:`P_a`. Needs a group in ``items``.

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
        return (Recommended(), *((Seen(), Repeated()) if self.seen == "excluded" else ()))

    def _part_and_whole(self, items: ItemSums, k: int) -> tuple[Any, Any]:
        everyone = np.full(items.size, items.n_listed)
        whole = items.available() if self.seen == "excluded" else everyone
        return items.sum(Recommended(), k), whole
