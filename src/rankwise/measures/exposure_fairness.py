r"""Fair exposure of groups of items: attention decreases down the list and is shared by groups.

Attention at rank i is :math:`\gamma^{i - 1}`, where :math:`\gamma` is the patience of users, or
:math:`1 / \log_2(i + 1)`. The groups are a column of ``items``, named by ``item_group``; items
without a group do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount
from rankwise.core.block import Block
from rankwise.core.facts import Groups
from rankwise.measures.arithmetic import at_least_one, check_parameter, discount, divide, or_nan
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import PerUser, Pooled, Sums
from rankwise.measures.measure import Measure, measure

__all__ = ["AWRF", "ExpectedExposureDisparity", "ExpectedExposureLoss", "ExpectedExposureRelevance"]


@dataclass(frozen=True, kw_only=True, repr=False)
class _OverGroups(Measure):
    r"""A function of the exposure of groups of items.

    Parameters
    ----------
    patience : float, default=0.5
        The probability :math:`\gamma` that a user reads on after each item, in (0, 1).
    item_group : str, default="group"
        The column of ``items`` with the groups.
    """

    patience: float = 0.5
    item_group: str = "group"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "patience", 0 < self.patience < 1, "must lie between 0 and 1")

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
    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists, the relevant items, and the groups."""
        return (*super().inputs, "relevant")

    def sums(self, block: Block, k: int) -> Sums:
        """Return 1 for users who count, then each group's exposure and its target, shape (U,)."""
        xp, patience = block.xp, float(self.patience)
        counts = xp.astype((block.list_length > 0) & (block.n_relevant > 0), xp.float64)
        attention = patience ** (xp.astype(block.recommended.rank, xp.float64) - 1.0)
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


@measure(
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
    users with a list and relevant items. Range [0, inf); lower is fairer. Needs a column of groups
    in ``items``.

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


@measure(
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
    Range [0, inf); lower is more equal. Needs a column of groups in ``items``.

    References
    ----------
    Diaz et al. 2020, Evaluating Stochastic Rankings with Expected Exposure, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> items, truth = {"item": [1, 2], "group": ["a", "b"]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "ee_d@2", items=items)["ee_d@2"]
    1.125
    """

    def _of_group(self, exposure: Array, target: Array) -> Array:
        return exposure**2


@measure(
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
    report twice this value.) Range [0, inf); higher is better. Needs a column of groups in
    ``items``.

    References
    ----------
    Diaz et al. 2020, Evaluating Stochastic Rankings with Expected Exposure, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> items, truth = {"item": [1, 2], "group": ["a", "b"]}, {"ann": {1}, "bob": {1}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "ee_r@2", items=items)["ee_r@2"]
    0.75
    """

    def _of_group(self, exposure: Array, target: Array) -> Array:
        return exposure * target


@measure(
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
    The mean over users with a list; users without an item that has a group have no value. Range
    [0, 1]; higher is fairer. Needs a column of groups in ``items``.

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
        rank = xp.astype(block.recommended.rank, xp.float64)
        log = self.weight == "log"
        attention = discount(rank) if log else float(self.patience) ** (rank - 1.0)
        exposure = self.exposure(block, attention, k)
        total = sum(exposure, start=xp.zeros(block.n_users, dtype=xp.float64))
        distance = xp.zeros(block.n_users, dtype=xp.float64)
        for number, attended in enumerate(exposure):
            target = 1.0 / len(exposure)
            if self.target == "catalogue":
                sizes = (groups.code == number, groups.code >= 0)
                part, whole = (xp.sum(xp.astype(size, xp.float64)) for size in sizes)
                target = part / whole
            difference = divide(attended, total) - target
            absolute = self.distance == "absolute"
            distance = distance + (xp.abs(difference) if absolute else difference**2) / 2.0
        return or_nan(xp.clip(1.0 - distance, min=0.0), total > 0)
