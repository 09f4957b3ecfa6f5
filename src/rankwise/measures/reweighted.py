r"""Any measure that is a sum over relevant items, with a weight for each of them.

Let a measure of user u be :math:`\sum_{i \in R_u} c_{ui}`, as recall, nDCG, average precision or
AUC are. Weighted, it is :math:`\sum_{i \in R_u} \omega_{ui} c_{ui}`; what normalises it, such as
the ideal gain, stays as it is, so that values can exceed 1 where heavy items stand above others.
Self-normalised weights have the mean 1 for every user:
:math:`\omega_{ui} = |R_u| \, w_i / \sum_{j \in R_u} w_j`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import namespace
from rankwise.errors import ParameterError
from rankwise.measures.accuracy import Recall
from rankwise.measures.kinds import PerUser, Pooled, at_cutoffs
from rankwise.measures.measure import Measure, measure
from rankwise.measures.weights import ByPropensity, ByStratum, ByWeight

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs
    from rankwise.core.facts import Fact
    from rankwise.measures.tallies import Tally

__all__ = ["IPS", "SNIPS", "Stratified"]


class _Reweighted(ByWeight, Pooled):
    """A measure whose relevant items count by weight."""

    normalised: ClassVar[bool] = True
    of: Measure

    def __post_init__(self) -> None:
        """Check what is weighted."""
        super().__post_init__()
        if self.of.k:
            raise ParameterError(
                f"{self.name}: what is weighted takes its own cut-off",
                found=str(self.of),
                hint=f"write {self.name}(…)@10",
            )
        if not (self.of.additive and isinstance(self.of, PerUser | Pooled)):
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over relevant items",
                found=str(self.of),
                hint="recall, precision, ndcg, map, rbp, auc and their kin are",
            )
        if self.k and self.of.cutoff == "none":
            raise ParameterError(f"{self.name}: {self.of.name} has no cut-off", found=str(self))

    @property
    def needs_catalogue(self) -> Literal["", "counted", "whole"]:  # type: ignore[override]
        """What the measure needs of it, and the relevant items."""
        return self.of.needs_catalogue or "counted"

    @property
    def ranks_candidates(self) -> bool:  # type: ignore[override]
        """As the measure says."""
        return self.of.ranks_candidates

    @property
    def requires(self) -> Needs:
        """What the measure needs, and the relevant items."""
        return super().requires | self.of.requires | {"relevant"}

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the weights are made of, and what the measure knows."""
        return tuple(dict.fromkeys((*super().facts, *self.of.facts)))

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The relevant items, and what the measure adds up."""
        return tuple(dict.fromkeys((*super().tallies, *self.of.tallies)))

    @property
    def about(self) -> Literal["relevance", "list", "user"]:
        """Whom the measure is about."""
        assert isinstance(self.of, PerUser | Pooled)
        return self.of.about

    @property
    def mean_of_users(self) -> bool:
        """Every user has a value."""
        return True

    @property
    def beyond_cut(self) -> bool:  # type: ignore[override]
        """As the measure says."""
        return self.of.beyond_cut

    def require_cutoff(self) -> None:
        """Raise if the measure needs a cut-off."""
        at_cutoffs(self.of, self.k).require_cutoff()

    def sums(self, block: Block, k: Array) -> Array:
        """Return the weights of the user's relevant items, and the measure over weighted hits."""
        xp, rows = namespace(block.list_length), block.rows("relevant")
        weight = self.weight(block.facts)
        total = block.sum_rows(rows, self.known(xp.take(weight, rows.item)))
        one = xp.ones(block.n_users, dtype=xp.float64)
        each = one
        if self.normalised:
            relevant = xp.astype(block.n_relevant, xp.float64)
            each = relevant / xp.where(total > 0, total, one)
        own = block.weighted(weight, each)
        if isinstance(self.of, PerUser):
            found = self.of.values(own, k)[:, :, None]
        else:
            assert isinstance(self.of, Pooled)
            found = self.of.sums(own, k)
        totals = xp.broadcast_to(total[:, None, None], (*found.shape[:2], 1))
        return xp.concat([totals, found], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return what the measure makes of the sums."""
        if isinstance(self.of, PerUser):
            return sums[..., 1]
        assert isinstance(self.of, Pooled)
        return self.of.pool(sums[..., 1:], catalogue_size)

    def weigh(self, sums: Array) -> Array | None:
        """Weigh users as the measure does: by the weight of their relevant items, if by these."""
        if isinstance(self.of, Pooled) and self.of.weigh(sums[..., 1:]) is not None:
            return sums[..., 0] if self.normalised else self.of.weigh(sums[..., 1:])
        return None


@measure("ips", range=(0, math.inf), higher_is_better=True, family="debiased")
class IPS(ByPropensity, _Reweighted):
    r"""A measure in which every relevant item counts one over its propensity.

    .. math:: \sum_{i \in R_u} \frac{c_{ui}}{\max(p_i, clip)}

    :math:`\sum_i c_{ui}` is the measure: any that is a sum over relevant items (recall, precision,
    ndcg, map, rbp, auc, …). Propensities are
    :math:`p_i = (n_i / \max_j n_j)^{power}`, from training counts, or given. What rests on few
    weights is in ``result.diagnostics``. Range [0, inf); higher is better. Needs ``train``, or
    propensities in ``items``.

    Parameters
    ----------
    of : Measure
        What is weighted.
    propensity : {"popularity", "given"}
        From training counts, or from the column ``propensity`` of ``items``.
    power : float
        The exponent of the training counts.
    clip : float
        The smallest propensity: those below are raised to it. In (0, 1].

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

    normalised: ClassVar[bool] = False
    of: Measure = Recall()
    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1


@measure("snips", range=(0, math.inf), higher_is_better=True, family="debiased")
class SNIPS(ByPropensity, _Reweighted):
    r"""A measure in which every relevant item counts one over its propensity, self-normalised.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = \frac{1}{\max(p_i, clip)}

    :math:`\sum_i c_{ui}` is the measure: any that is a sum over relevant items. Its scale is kept:
    equal propensities change nothing. Where the measure weighs users by their relevant items, as
    auc does, they are weighed by the weight of these. Range [0, inf), that of recall [0, 1];
    higher is better. Needs ``train``, or propensities in ``items``.

    Parameters
    ----------
    of : Measure
        What is weighted.
    propensity : {"popularity", "given"}
        From training counts, or from the column ``propensity`` of ``items``.
    power : float
        The exponent of the training counts.
    clip : float
        The smallest propensity: those below are raised to it. In (0, 1].

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
    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1


@measure("stratified", range=(0, math.inf), higher_is_better=True, family="debiased")
class Stratified(ByStratum, _Reweighted):
    r"""A measure in which popular items count less.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = n_i^{-\gamma / (\gamma + 1)}

    :math:`\sum_i c_{ui}` is the measure: any that is a sum over relevant items. Items never seen in
    training count as seen once. Range [0, inf), that of recall [0, 1]; higher is better. Needs
    ``train``.

    Parameters
    ----------
    of : Measure
        What is weighted.
    gamma : float
        How much more likely popular items are to be observed; 0 changes nothing.
    average : {"users", "weights"}
        The mean over users, all alike or each by the weight of its relevant items.

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
    gamma: float = 1.0
    average: Literal["users", "weights"] = "users"

    def weigh(self, sums: Array) -> Array | None:
        """Weigh users by their relevant items, where that is asked for."""
        return sums[..., 0] if self.average == "weights" else super().weigh(sums)
