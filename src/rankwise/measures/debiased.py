r"""Debiased accuracy: inverse propensity weights correct for exposure bias in the ground truth.

:math:`p_i` is the propensity of item i: the probability that an interaction with it is observed. It
comes from the number of training users :math:`n_i` of each item, as
:math:`\max(clip, (n_i / \max_j n_j)^{power})`, or from a column of ``items``. For each of these
measures the result reports the effective sample size of the weights of all relevant items, the
share of the largest weight, the clip, and the share of relevant items with a clipped propensity.
"""

from __future__ import annotations

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.measures.accuracy import Recall
from rankwise.measures.arithmetic import discount
from rankwise.measures.graded import DCG
from rankwise.measures.hit_sums import RunningSum
from rankwise.measures.measure import measure
from rankwise.measures.presets import preset
from rankwise.measures.reweighted import IPS, SNIPS, Stratified
from rankwise.measures.weights import ByPropensity

__all__ = ["IPSDCG", "SNIPSDCG", "IPSRecall", "SNIPSRecall", "StratifiedRecall"]


@preset("ips_recall", fixed={"of": Recall()}, family="debiased", plain=plain.ips_recall_at_k)
class IPSRecall(IPS):
    r"""Recall with inverse propensity weights (IPS), ``ips(recall)``: hits count 1 / propensity.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u^k \cap R_u} \frac{1}{p_i}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`p_i` is the propensity of item i: the probability that an interaction
    with it is observed, clipped. Range [0, inf); higher is better. Needs ``train``, or propensities
    in ``items``.

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


@preset("snips_recall", fixed={"of": Recall()}, range=(0, 1), family="debiased", plain=plain.ips_recall_at_k)
class SNIPSRecall(SNIPS):
    r"""Self-normalised IPS recall, ``snips(recall)``: each relevant item counts 1 / propensity.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} 1 / p_i}{\sum_{i \in R_u} 1 / p_i}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`p_i` is the propensity of item i: the probability that an interaction
    with it is observed, clipped. Range [0, 1]; higher is better. Needs ``train``, or propensities
    in ``items``.

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


@preset("ips_dcg", fixed={"of": DCG(gain="binary")}, family="debiased", plain=plain.ips_dcg_at_k)
class IPSDCG(IPS):
    r"""Binary DCG with inverse propensity weights (IPS), ``ips(dcg(gain=binary))``.

    .. math:: \sum_{i \le k} \frac{rel_i}{p_i \log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the propensity of
    that item: the probability that an interaction with it is observed, clipped. Range [0, inf);
    higher is better. Needs ``train``, or propensities in ``items``.

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


@measure("snips_dcg", range=(0, 1), higher_is_better=True, plain=plain.ips_dcg_at_k)
class SNIPSDCG(ByPropensity, RunningSum):
    r"""Self-normalised IPS DCG: IPS DCG divided by the inverse propensities of relevant items.

    .. math:: \frac{\sum_{i \le k} rel_i / (p_i \log_2(i + 1))}{\sum_{i \in R_u} 1 / p_i}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`R_u` are the relevant items
    of user u; :math:`p_i` is the propensity of an item: the probability that an interaction with it
    is observed, clipped. Range [0, 1]; higher is better. An ideal list of more than one relevant
    item scores less than 1, because the denominator is not discounted. Needs ``train``, or
    propensities in ``items``.

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
        return hits.weighted(weights).probability * discount(hits.rank)

    def norm(self, block: Block, k: int) -> Array:
        """Return the total weight of the relevant items, recommended or not."""
        rows = block.relevant
        return block.sum_rows(rows, self.checked(block.xp.take(self.weight(block), rows.item)))


@preset("stratified_recall", fixed={"of": Recall()}, range=(0, 1), family="debiased", plain=plain.ips_recall_at_k)
class StratifiedRecall(Stratified):
    r"""Popularity-stratified recall, ``stratified(recall)``: popular items have smaller weights.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} w_i}{\sum_{i \in R_u} w_i},
              \quad w_i = n_i^{-\gamma / (\gamma + 1)}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`n_i` is the number of training users of item i, at least 1. Range [0, 1];
    higher is better. Needs ``train``.

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
