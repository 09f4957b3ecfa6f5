r"""Debiased accuracy: inverse propensity weights correct for exposure bias in the ground truth.

:math:`p_i` is the propensity of item i: the probability that an interaction with it is observed. It
comes from the number of training users :math:`n_i` of each item, as
:math:`\max(clip, (n_i / \max_j n_j)^{power})`, or from a column of ``items``. For each of these
measures the result reports the effective sample size of the weights of all relevant items, the
share of the largest weight, the clip, and the share of relevant items with a clipped propensity.
"""

from __future__ import annotations

import math

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block, Cutoffs
from rankwise.measures.arithmetic import discount, divide
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure
from rankwise.measures.weights import ByPropensity, ByStratum, ByWeight

__all__ = ["IPSDCG", "SNIPSDCG", "IPSRecall", "SNIPSRecall", "StratifiedRecall"]


class _Weighted(ByWeight, PerUser):
    def _sum_hits(self, block: Block, k: Cutoffs, *, discounted: bool) -> Array:
        """Return the weight of the hits in the top k, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        weights = self.weight(block.facts)
        self.checked(xp.take(weights, block.rows("relevant").item))  # recommended or not
        terms = hits.weighted(xp.take(weights, hits.item)).probability
        return block.sum_hits(terms * discount(hits.rank) if discounted else terms, k)

    def _sum_relevant(self, block: Block) -> Array:
        """Return the weight of all relevant items, shape (U, 1)."""
        rows = block.rows("relevant")
        weight = namespace(rows.item).take(self.weight(block.facts), rows.item)
        return block.sum_rows(rows, self.checked(weight))[:, None]


@measure("ips_recall", range=(0, math.inf), higher_is_better=True, plain=plain.ips_recall_at_k)
class IPSRecall(ByPropensity, _Weighted):
    r"""Recall with inverse propensity weights (IPS): each hit counts 1 / propensity.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u^k \cap R_u} \frac{1}{p_i}

    Range [0, inf); higher is better. Needs ``train``, or propensities in ``items``.

    References
    ----------
    Schnabel et al. 2016, Recommendations as Treatments, ICML;
    Saito et al. 2020, Unbiased Recommender Learning from Missing-Not-At-Random Feedback, WSDM.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, "ips_recall@2", train=train)["ips_recall@2"]
    1.0
    """

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return IPS recall, shape (U, n_k)."""
        return divide(self._sum_hits(block, k, discounted=False), block.n_relevant[:, None])


@measure("snips_recall", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}),
         plain=plain.ips_recall_at_k)  # fmt: skip
class SNIPSRecall(ByPropensity, _Weighted):
    r"""Self-normalised IPS recall: each relevant item, found or not, counts 1 / propensity.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} 1 / p_i}{\sum_{i \in R_u} 1 / p_i}

    Range [0, 1]; higher is better. Needs ``train``, or propensities in ``items``.

    References
    ----------
    Swaminathan & Joachims 2015, The Self-Normalized Estimator for Counterfactual Learning, NIPS;
    Yang et al. 2018, Unbiased Offline Recommender Evaluation for Missing-Not-At-Random Implicit
    Feedback, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "snips_recall@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return self-normalised IPS recall, shape (U, n_k)."""
        return divide(self._sum_hits(block, k, discounted=False), self._sum_relevant(block))


@measure("ips_dcg", range=(0, math.inf), higher_is_better=True, plain=plain.ips_dcg_at_k)
class IPSDCG(ByPropensity, _Weighted):
    r"""DCG with inverse propensity weights (IPS): each hit gains 1 / propensity.

    .. math:: \sum_{i \le k} \frac{rel_i}{p_i \log_2(i + 1)}

    Range [0, inf); higher is better. Needs ``train``, or propensities in ``items``.

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

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return IPS DCG, shape (U, n_k)."""
        return self._sum_hits(block, k, discounted=True)


@measure("snips_dcg", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}),
         plain=plain.ips_dcg_at_k)  # fmt: skip
class SNIPSDCG(ByPropensity, _Weighted):
    r"""Self-normalised IPS DCG: IPS DCG divided by the inverse propensities of relevant items.

    .. math:: \frac{\sum_{i \le k} rel_i / (p_i \log_2(i + 1))}{\sum_{i \in R_u} 1 / p_i}

    Range [0, 1]; higher is better. An ideal list of more than one relevant item scores less than
    1, because the denominator is not discounted. Needs ``train``, or propensities in ``items``.

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

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return self-normalised IPS DCG, shape (U, n_k)."""
        return divide(self._sum_hits(block, k, discounted=True), self._sum_relevant(block))


@measure("stratified_recall", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}),
         plain=plain.ips_recall_at_k)  # fmt: skip
class StratifiedRecall(ByStratum, _Weighted):
    r"""Popularity-stratified recall: the more popular a relevant item, the less it counts.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} w_i}{\sum_{i \in R_u} w_i},
              \quad w_i = n_i^{-\gamma / (\gamma + 1)}

    :math:`n_i` is the number of training users of item i, at least 1. Range [0, 1]; higher is
    better. Needs ``train``.

    References
    ----------
    Steck 2011, Item Popularity and Recommendation Accuracy, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> name = "stratified_recall@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return stratified recall, shape (U, n_k)."""
        return divide(self._sum_hits(block, k, discounted=False), self._sum_relevant(block))
