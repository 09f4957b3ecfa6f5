r"""Debiased accuracy: inverse propensity weights correct for exposure bias in the ground truth.

Weights of relevant items, shared by all debiased metrics.

A weighted metric defines the weight of every item and reports how much its value depends on few of
them: the effective sample size :math:`(\sum w)^2 / \sum w^2` of the weights of all relevant items,
the share of the largest weight, the clip, and the share of relevant items with a clipped
propensity.

Debiasing by weights, for any metric that is a sum over relevant items.

Recall, nDCG, average precision or AUC of user u is a sum over the relevant items,
:math:`\sum_{i \in R_u} c_{ui}`. Its weighted form is :math:`\sum_{i \in R_u} \omega_{ui} c_{ui}`.
The normalisation inside :math:`c_{ui}`, for example by the ideal DCG, stays unweighted: values
exceed 1 if items of large weight rank high. Self-normalised weights have the mean 1 for every user:
:math:`\omega_{ui} = |R_u| \, w_i / \sum_{j \in R_u} w_j`.

:math:`p_i` is the propensity of item i: the probability that an interaction with it is observed. It
comes from the number of training users :math:`n_i` of each item, as
:math:`\max(clip, (n_i / \max_j n_j)^{power})`, or from a column of ``items``. For each of these
metrics the result reports the effective sample size of the weights of all relevant items, the share
of the largest weight, the clip, and the share of relevant items with a clipped propensity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import POPULARITY, PROPENSITY, Block
from rankwise.core.arrays import Array, check_none, namespace
from rankwise.errors import ParameterError, ScoreError
from rankwise.metrics.accuracy import Recall
from rankwise.metrics.arithmetic import IN_LEFT_OPEN_0_1, NOT_NEGATIVE, discount
from rankwise.metrics.base import Metric, ValueKind, metric, preset
from rankwise.metrics.composite_kinds import DerivedMetric
from rankwise.metrics.graded import DCG
from rankwise.metrics.inputs import CatalogueSums, Input, RelevantCount
from rankwise.metrics.kinds import Pooled, RunningSum, Sums, Weightable

__all__ = [
    "IPS",
    "IPSDCG",
    "SNIPS",
    "SNIPSDCG",
    "ByPropensity",
    "ByStratum",
    "ByWeight",
    "IPSRecall",
    "SNIPSRecall",
    "Stratified",
    "StratifiedRecall",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class ByWeight(Metric):
    """A metric whose relevant items are weighted."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The relevant items, also counted for the diagnostics of their weights."""
        return (*super().inputs, "relevant", RelevantCount())

    def weight(self, items: Block | CatalogueSums) -> Array:
        """Return the weight of every item."""
        raise NotImplementedError

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights."""
        count = items.sum(RelevantCount(), 0)
        relevant = count > 0
        weight, count = np.asarray(self.weight(items))[relevant], count[relevant]
        total = float(np.sum(count * weight))
        square = float(np.sum(count * weight**2))
        return {
            "relevant_items": float(np.sum(count)),
            "effective_sample_size": total**2 / square if square else math.nan,
            "largest_weight_share": float(weight.max()) / total if total else math.nan,
        }

    def checked(self, weight: Array) -> Array:
        """Return the weights of relevant items; raise if one has none."""
        xp = namespace(weight)
        missing = xp.isnan(weight)
        check_none(
            missing,
            lambda: ScoreError(
                f"{self.name}: a relevant item has no propensity",
                where="items",
                found=f"{int(xp.sum(xp.astype(missing, xp.int64)))} such rows",
                hint="give every ground truth item a propensity, or use propensity=popularity",
            ),
        )
        return weight


@dataclass(frozen=True, kw_only=True, repr=False)
class ByPropensity(ByWeight):
    """Relevant items count 1 / propensity: 1 over the probability that they are observed.

    Parameters
    ----------
    propensity : {"popularity", "given"}, default="popularity"
        Where propensities come from: estimated as (training users of the item / the largest such
        number) to the power of ``power``, or given in the column ``propensity`` of ``items``.
    power : float, default=0.5
        The exponent of the estimate, 0 or more; 0 gives all items the same propensity.
    clip : float, default=0.1
        The smallest propensity, in (0, 1]; smaller values are raised to it.
    """

    propensity: Literal["popularity", "given"] = "popularity"
    power: Annotated[float, NOT_NEGATIVE] = 0.5
    clip: Annotated[float, IN_LEFT_OPEN_0_1] = 0.1

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The popularity in training, or the column of propensities."""
        source: Input = PROPENSITY if self.propensity == "given" else POPULARITY
        return (*super().inputs, source)

    def weight(self, items: Block | CatalogueSums) -> Array:
        """Return 1 / clipped propensity of every item."""
        propensity = self._propensity(items)
        return 1.0 / namespace(propensity).clip(propensity, min=float(self.clip))

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights, and on the clip."""
        count = items.sum(RelevantCount(), 0)
        below = np.asarray(self._propensity(items)) < self.clip
        total = float(np.sum(count))
        clipped = float(np.sum(count[below])) / total if total else math.nan
        return {**super().diagnose(items), "clip": float(self.clip), "clipped_share": clipped}

    def _propensity(self, items: Block | CatalogueSums) -> Array:
        if self.propensity == "given":
            return items[PROPENSITY].probability
        training = items[POPULARITY]
        return (training.count / training.most) ** float(self.power)


@dataclass(frozen=True, kw_only=True, repr=False)
class ByStratum(ByWeight):
    """Popular items count less.

    Parameters
    ----------
    gamma : float, default=1.0
        How strongly the probability that an interaction is observed grows with popularity, 0 or
        more; 0 weights all items alike.
    """

    gamma: Annotated[float, NOT_NEGATIVE] = 1.0

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The popularity in training."""
        return (*super().inputs, POPULARITY)

    def weight(self, items: Block | CatalogueSums) -> Array:
        """Return the weight of every item; items never seen in training count as seen once."""
        training = items[POPULARITY]
        count = namespace(training.count).clip(training.count, min=1.0)
        return count ** (-float(self.gamma) / (float(self.gamma) + 1.0))


@dataclass(frozen=True, kw_only=True, repr=False)
class _Reweighted(ByWeight, DerivedMetric, Pooled):
    """A metric whose relevant items are weighted.

    Parameters
    ----------
    of : metric, default=recall
        The metric to weight.
    """

    normalised: ClassVar[bool] = False
    done: ClassVar[str] = "weighted"
    mean_of_users = True
    of: Metric = Recall()  # noqa: RUF009 - frozen, so that all may share it

    def _check_of(self) -> None:
        if not isinstance(self.of, Weightable):
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over relevant items",
                found=str(self.of),
                hint="recall, precision, ndcg, map, rbp, auc and related metrics are",
            )

    @property
    def value_kind(self) -> ValueKind:
        """As the weighted metric, whose users may have weights."""
        return "weighted mean" if self.of.value_kind == "weighted mean" else super().value_kind

    @property
    def _weighted(self) -> Weightable:
        assert isinstance(self.of, Weightable)  # checked when the metric was made
        return self.of

    @property
    def counts_candidates(self) -> bool:  # type: ignore[override]
        """As the weighted metric."""
        return self.of.counts_candidates

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """As the weighted metric."""
        return self.of.defined_for

    @property
    def reads_below_k(self) -> bool:  # type: ignore[override]
        """As the weighted metric."""
        return self.of.reads_below_k

    def sums(self, block: Block, k: int) -> Sums:
        """Return each user's total weight of relevant items, and the weighted metric's sums."""
        xp, rows = block.xp, block.relevant
        weight = self.weight(block)
        total = block.sum_rows(rows, self.checked(xp.take(weight, rows.item)))
        scale = xp.ones(block.n_users, dtype=xp.float64)
        if self.normalised:
            relevant = xp.astype(block.n_relevant, xp.float64)
            scale = relevant / xp.where(total > 0, total, scale)
        return total, *self._weighted.sums(block.with_weights(weight, scale), k)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the weighted metric's value for its sums."""
        return self._weighted.pool(sums[1:], catalogue_size)

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users as the weighted metric does."""
        return self._weighted.user_weights(sums[1:])


@dataclass(frozen=True, kw_only=True, repr=False)
class _SelfNormalised(_Reweighted):
    """A metric whose weights have the mean 1 for every user.

    Parameters
    ----------
    average : {"users", "weights"}, default="users"
        The mean over users: unweighted, or weighted by the total weight of their relevant items.
        The latter divides by one sum of weights over all users, which estimates the mean over all
        relevant items (Hájek), observed or not.
    """

    normalised = True
    average: Literal["users", "weights"] = "users"

    @property
    def value_kind(self) -> ValueKind:
        """A weighted mean with ``average="weights"``, else as the weighted metric."""
        return "weighted mean" if self.average == "weights" else super().value_kind

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users by the total weight of their relevant items if users are weighted at all."""
        return None if self.average == "users" and super().user_weights(sums) is None else sums[0]


@metric(
    "ips", range=(0, math.inf), higher_is_better=True, family="debiased", plain=plain.weighted_sum
)
class IPS(ByPropensity, _Reweighted):
    r"""Inverse propensity scoring (IPS) of a metric: relevant items count 1 / propensity.

    .. math:: \sum_{i \in R_u} \frac{c_{ui}}{\max(p_i, clip)}

    The unweighted metric is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items of user
    u (recall, precision, ndcg, map, rbp, auc, …). Propensities are
    :math:`p_i = (n_i / \max_j n_j)^{power}`, with :math:`n_i` the number of training users of item
    i, or given. ``result.diagnostics`` shows how much the value depends on few weights. Needs
    ``train``, or propensities in ``items``.

    It estimates a sum over all relevant items, and no share of them: the c of recall or nDCG divide
    by what was observed of the user. With known propensities, a recall of 0.10 and 5, 20 or 60
    relevant items per user of whom a few are observed, ``ips(recall)`` is 1.14, 0.94 and 0.91; use
    ``snips(of=recall,average=weights)``.

    Notes
    -----
    Use it for the accuracy that data without exposure bias would show, where propensities are
    known. Do not use it as a share, which it is not, or with guessed propensities. Read the
    effective sample size beside it.

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


@metric(
    "snips", range=(0, math.inf), higher_is_better=True, family="debiased", plain=plain.weighted_sum
)
class SNIPS(ByPropensity, _SelfNormalised):
    r"""Self-normalised inverse propensity scoring (SNIPS) of a metric.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = \frac{1}{\max(p_i, clip)}

    The unweighted metric is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items
    :math:`R_u` of user u; :math:`p_i` is the propensity of item i. The weights of a user have the
    mean 1: equal propensities change nothing. For ``auc``, which weights users by their number of
    relevant items, users are weighted by the total weight of these items. Values are in [0, 1] for
    recall. Needs ``train``, or propensities in ``items``.

    The mean over users is biased towards plain recall where few items of a user are observed: a
    recall of 0.10 is estimated as 0.16, 0.12 and 0.10 with 5, 20 and 60 relevant items per user;
    plain recall is 0.16, 0.14 and 0.13. With ``average="weights"``, one sum of weights over all
    users, it is 0.12, 0.10 and 0.09.

    Notes
    -----
    Use it as ``ips``, with less variance, for values that stay in the range of the metric. Do not
    use it where few items per user are observed: it is biased towards the plain metric
    (``average=weights`` is less so).

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


@metric(
    "stratified",
    range=(0, math.inf),
    higher_is_better=True,
    family="debiased",
    plain=plain.weighted_sum,
)
class Stratified(ByStratum, _SelfNormalised):
    r"""Popularity-stratified form of a metric: popular items have smaller weights.

    .. math:: \frac{|R_u|}{\sum_{i \in R_u} w_i} \sum_{i \in R_u} w_i \, c_{ui}, \quad
              w_i = n_i^{-\gamma / (\gamma + 1)}

    The unweighted metric is :math:`\sum_{i \in R_u} c_{ui}`, a sum over the relevant items
    :math:`R_u` of user u; :math:`n_i` is the number of training users of item i, at least 1. Values
    are in [0, 1] for recall. Needs ``train``.

    Notes
    -----
    Use it where popular items are observed more often, and only popularity is known of the
    exposure. Do not use it where other things decide what is seen, such as position: the weights
    know popularity alone.

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


@preset("ips_recall", fixed={"of": Recall()}, family="debiased", plain=plain.ips_recall_at_k)
class IPSRecall(IPS):
    r"""Recall with inverse propensity weights (IPS), ``ips(recall)``: hits count 1 / propensity.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u^k \cap R_u} \frac{1}{p_i}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`p_i` is the propensity of item i: the probability that an interaction
    with it is observed, clipped. Needs ``train``, or propensities in ``items``.

    Notes
    -----
    Use it for hits without exposure bias, where propensities are known. Do not use it as a share:
    it exceeds 1. A few rare items may carry all of it; read the effective sample size.

    References
    ----------
    Schnabel et al. 2016, Recommendations as Treatments, ICML; Saito et al. 2020, Unbiased
    Recommender Learning from Missing-Not-At-Random Feedback, WSDM.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, "ips_recall@2", train=train)["ips_recall@2"]
    1.0
    """


@preset(
    "snips_recall",
    fixed={"of": Recall()},
    range=(0, 1),
    family="debiased",
    plain=plain.ips_recall_at_k,
)
class SNIPSRecall(SNIPS):
    r"""Self-normalised IPS recall, ``snips(recall)``: each relevant item counts 1 / propensity.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} 1 / p_i}{\sum_{i \in R_u} 1 / p_i}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`p_i` is the propensity of item i: the probability that an interaction
    with it is observed, clipped. Needs ``train``, or propensities in ``items``.

    Notes
    -----
    Use it for recall without exposure bias that stays between 0 and 1. Do not use it where few
    items per user are observed: it is biased towards plain recall (``average=weights`` is less so).

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "snips_recall@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """


@preset("ips_dcg", fixed={"of": DCG(gain="binary")}, family="debiased", plain=plain.ips_dcg_at_k)
class IPSDCG(IPS):
    r"""Binary DCG with inverse propensity weights (IPS), ``ips(dcg(gain=binary))``.

    .. math:: \sum_{i \le k} \frac{rel_i}{p_i \log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the propensity of
    that item: the probability that an interaction with it is observed, clipped. Needs ``train``, or
    propensities in ``items``.

    Notes
    -----
    Use it for DCG without exposure bias, where propensities are known. Do not use it as a share, or
    with guessed propensities: a few rare items may carry all of it.

    References
    ----------
    Saito et al. 2020, Unbiased Recommender Learning from Missing-Not-At-Random Feedback, WSDM.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, "ips_dcg@2", train=train)["ips_dcg@2"]
    2.0
    """


@metric("snips_dcg", range=(0, 1), higher_is_better=True, plain=plain.ips_dcg_at_k)
class SNIPSDCG(ByPropensity, RunningSum):
    r"""Self-normalised IPS DCG: IPS DCG divided by the inverse propensities of relevant items.

    .. math:: \frac{\sum_{i \le k} rel_i / (p_i \log_2(i + 1))}{\sum_{i \in R_u} 1 / p_i}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`R_u` are the relevant items
    of user u; :math:`p_i` is the propensity of an item: the probability that an interaction with it
    is observed, clipped. An ideal list of more than one relevant item scores less than 1, because
    the denominator is not discounted. Needs ``train``, or propensities in ``items``.

    Notes
    -----
    Use it to get the self-normalised DCG of the literature. Do not read it as a share of an ideal
    list, which scores less than 1: ``snips(ndcg)`` is one.

    References
    ----------
    Yang et al. 2018, Unbiased Offline Recommender Evaluation for Missing-Not-At-Random Implicit
    Feedback, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, "snips_dcg@2", train=train)["snips_dcg@2"]
    0.66667
    """

    def terms(self, block: Block) -> Array:
        """Return the discounted weight of each hit."""
        hits = block.hits
        weights = block.xp.take(self.weight(block), hits.item)
        return hits.with_weights(weights).probability * discount(hits.rank)

    def norm(self, block: Block, k: int) -> Array:
        """Return the total weight of the relevant items, recommended or not."""
        rows = block.relevant
        return block.sum_rows(rows, self.checked(block.xp.take(self.weight(block), rows.item)))


@preset(
    "stratified_recall",
    fixed={"of": Recall()},
    range=(0, 1),
    family="debiased",
    plain=plain.ips_recall_at_k,
)
class StratifiedRecall(Stratified):
    r"""Popularity-stratified recall, ``stratified(recall)``: popular items have smaller weights.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} w_i}{\sum_{i \in R_u} w_i},
              \quad w_i = n_i^{-\gamma / (\gamma + 1)}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`n_i` is the number of training users of item i, at least 1. Needs
    ``train``.

    Notes
    -----
    Use it for recall where popular items are observed more often. Do not use it where other things
    decide what is seen, such as position: the weights know popularity alone.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "stratified_recall@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """
