r"""Debiasing by weights, for any measure that is a sum over relevant items.

Recall, nDCG, average precision or AUC of user u is a sum over the relevant items,
:math:`\sum_{i \in R_u} c_{ui}`. Its weighted form is :math:`\sum_{i \in R_u} \omega_{ui} c_{ui}`.
The normalisation inside :math:`c_{ui}`, for example by the ideal DCG, stays unweighted: values
exceed 1 if items of large weight rank high.
Self-normalised weights have the mean 1 for every user:
:math:`\omega_{ui} = |R_u| \, w_i / \sum_{j \in R_u} w_j`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.errors import ParameterError
from rankwise.measures.accuracy import Recall
from rankwise.measures.kinds import OfMeasure, PerUser, Pooled, Sums, Weightable
from rankwise.measures.measure import Measure, ValueKind, measure
from rankwise.measures.weights import ByPropensity, ByStratum, ByWeight

__all__ = ["IPS", "SNIPS", "Stratified"]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Reweighted(ByWeight, OfMeasure, Pooled):
    """A measure whose relevant items are weighted.

    Parameters
    ----------
    of : measure, default=recall
        The measure to weight.
    """

    normalised: ClassVar[bool] = True
    done: ClassVar[str] = "weighted"
    mean_of_users = True
    of: Measure

    def _check_of(self) -> None:
        if not (isinstance(self.of, Weightable) and isinstance(self.of, PerUser | Pooled)):
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over relevant items",
                found=str(self.of),
                hint="recall, precision, ndcg, map, rbp, auc and related metrics are",
            )

    @property
    def value_kind(self) -> ValueKind:
        """As the weighted measure, whose users may have weights."""
        weighted = isinstance(self.of, Pooled) and self.of.value_kind == "weighted mean"
        return "weighted mean" if weighted else super().value_kind

    @property
    def counts_candidates(self) -> bool:  # type: ignore[override]
        """As the weighted measure."""
        return self.of.counts_candidates

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """As the weighted measure."""
        assert isinstance(self.of, PerUser | Pooled)
        return self.of.defined_for

    @property
    def reads_below_k(self) -> bool:  # type: ignore[override]
        """As the weighted measure."""
        return self.of.reads_below_k

    def sums(self, block: Block, k: int) -> Sums:
        """Return each user's total weight of relevant items, and the weighted measure's sums."""
        xp, rows = block.xp, block.relevant
        weight = self.weight(block)
        total = block.sum_rows(rows, self.checked(xp.take(weight, rows.item)))
        scale = xp.ones(block.n_users, dtype=xp.float64)
        if self.normalised:
            relevant = xp.astype(block.n_relevant, xp.float64)
            scale = relevant / xp.where(total > 0, total, scale)
        weighted = block.weighted(weight, scale)
        if isinstance(self.of, PerUser):
            return total, *self.of.values(weighted, (k,))
        assert isinstance(self.of, Pooled)
        return total, *self.of.sums(weighted, k)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the weighted measure's value for its sums."""
        if isinstance(self.of, PerUser):
            return sums[1]
        assert isinstance(self.of, Pooled)
        return self.of.pool(sums[1:], catalogue_size)

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users as the measure does, with total weights in place of item counts."""
        if isinstance(self.of, Pooled) and self.of.user_weights(sums[1:]) is not None:
            return sums[0] if self.normalised else self.of.user_weights(sums[1:])
        return None


@measure("ips", range=(0, math.inf), higher_is_better=True, family="debiased", plain=plain.weighted_sum)
class IPS(ByPropensity, _Reweighted):
    r"""Inverse propensity scoring (IPS) of a measure: relevant items count 1 / propensity.

    .. math:: \sum_{i \in R_u} \frac{c_{ui}}{\max(p_i, clip)}

    The unweighted measure is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items of user
    u (recall, precision, ndcg, map, rbp, auc, …). Propensities are
    :math:`p_i = (n_i / \max_j n_j)^{power}`, with :math:`n_i` the number of training users of item
    i, or given. ``result.diagnostics`` shows how much the value depends on few weights. Range
    [0, inf); higher is better. Needs ``train``, or propensities in ``items``.

    References
    ----------
    Schnabel et al. 2016, Recommendations as Treatments, ICML.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "ips(of=ndcg)@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, name, train=train)[name]
    2.0
    """

    normalised = False
    of: Measure = Recall()


@measure("snips", range=(0, math.inf), higher_is_better=True, family="debiased", plain=plain.weighted_sum)
class SNIPS(ByPropensity, _Reweighted):
    r"""Self-normalised inverse propensity scoring (SNIPS) of a measure.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = \frac{1}{\max(p_i, clip)}

    The unweighted measure is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items
    :math:`R_u` of user u; :math:`p_i` is the propensity of item i. The weights of a user have the
    mean 1: equal propensities change nothing. For ``auc``, which weights users by their number of
    relevant items, users are weighted by the total weight of these items. Range [0, inf), [0, 1]
    for recall; higher is better. Needs ``train``, or propensities in ``items``.

    References
    ----------
    Swaminathan & Joachims 2015, The Self-Normalized Estimator for Counterfactual Learning, NIPS;
    Yang et al. 2018, Unbiased Offline Recommender Evaluation for Missing-Not-At-Random Implicit
    Feedback, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "snips(of=map)@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """

    of: Measure = Recall()


@measure("stratified", range=(0, math.inf), higher_is_better=True, family="debiased", plain=plain.weighted_sum)
class Stratified(ByStratum, _Reweighted):
    r"""Popularity-stratified form of a measure: popular items have smaller weights.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = n_i^{-\gamma / (\gamma + 1)}

    The unweighted measure is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items
    :math:`R_u` of user u; :math:`n_i` is the number of training users of item i, at least 1. Range
    [0, inf), [0, 1] for recall; higher is better. Needs ``train``.

    Parameters
    ----------
    average : {"users", "weights"}, default="users"
        The mean over users: unweighted, or weighted by the total weight of their relevant items.

    References
    ----------
    Steck 2011, Item Popularity and Recommendation Accuracy, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "stratified(of=recall)@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """

    of: Measure = Recall()
    average: Literal["users", "weights"] = "users"

    @property
    def value_kind(self) -> ValueKind:
        """A weighted mean with ``average="weights"``, else as the weighted measure."""
        return "weighted mean" if self.average == "weights" else super().value_kind

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users by their relevant items with ``average="weights"``."""
        return sums[0] if self.average == "weights" else super().user_weights(sums)
