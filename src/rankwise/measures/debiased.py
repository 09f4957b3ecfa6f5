r"""Debiased accuracy: relevant items count by how unlikely it was that they were observed.

:math:`p_i` is the propensity of item i, the chance that an interaction with it is observed. It
comes from training counts as :math:`\max(c, (n_i / \max_j n_j)^{power})` or from a column of
``items``. The result carries, for each of these measures, the effective sample size of the weights
of all relevant items, :math:`(\sum w)^2 / \sum w^2`, the share of the largest weight, the level of
the clip and the share of the relevant items that it touched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rankwise.core.backend import namespace
from rankwise.measures.arithmetic import discount, divide
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure
from rankwise.measures.weights import ByPropensity, ByStratum, ByWeight

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["IPSDCG", "SNIPSDCG", "IPSRecall", "SNIPSRecall", "StratifiedRecall"]


class _Weighted(ByWeight, PerUser):
    def _of_hits(self, block: Block, k: Array, *, discounted: bool) -> Array:
        hits, xp = block.hits, namespace(block.list_length)
        weights = self.weight(block.facts)
        self.known(xp.take(weights, block.rows("relevant").item))  # found or not
        terms = hits.weighted(xp.take(weights, hits.item)).chance
        return block.sum_hits(terms * discount(hits.rank) if discounted else terms, k)

    def _of_relevant(self, block: Block) -> Array:
        rows = block.rows("relevant")
        weight = namespace(rows.item).take(self.weight(block.facts), rows.item)
        return block.sum_rows(rows, self.known(weight))[:, None]


class _Propensities(ByPropensity, _Weighted):
    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1


@measure("ips_recall", range=(0, math.inf), higher_is_better=True)
class IPSRecall(_Propensities):
    r"""Recall in which every hit counts one over its propensity.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u^k \cap R_u} \frac{1}{p_i}

    Range [0, inf); higher is better. Needs ``train``, or propensities in ``items``.

    Parameters
    ----------
    propensity : {"popularity", "given"}
        From training counts, or from the column ``propensity`` of ``items``.
    power : float
        The exponent of the training counts.
    clip : float
        The smallest propensity: those below are raised to it. In (0, 1].

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

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def values(self, block: Block, k: Array) -> Array:
        """Return weighted recall, shape (U, n_k)."""
        return divide(self._of_hits(block, k, discounted=False), block.n_relevant[:, None])


@measure("snips_recall", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}))
class SNIPSRecall(_Propensities):
    r"""Recall in which every relevant item counts one over its propensity.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} 1 / p_i}{\sum_{i \in R_u} 1 / p_i}

    Range [0, 1]; higher is better. Needs ``train``, or propensities in ``items``.

    Parameters
    ----------
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
    >>> name = "snips_recall@2"
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8, 7}}, name, train=train)[name]
    0.66667
    """

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def values(self, block: Block, k: Array) -> Array:
        """Return self-normalised recall, shape (U, n_k)."""
        return divide(self._of_hits(block, k, discounted=False), self._of_relevant(block))


@measure("ips_dcg", range=(0, math.inf), higher_is_better=True)
class IPSDCG(_Propensities):
    r"""Discounted cumulative gain in which every hit counts one over its propensity.

    .. math:: \sum_{i \le k} \frac{rel_i}{p_i \log_2(i + 1)}

    Range [0, inf); higher is better. Needs ``train``, or propensities in ``items``.

    Parameters
    ----------
    propensity : {"popularity", "given"}
        From training counts, or from the column ``propensity`` of ``items``.
    power : float
        The exponent of the training counts.
    clip : float
        The smallest propensity: those below are raised to it. In (0, 1].

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

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def values(self, block: Block, k: Array) -> Array:
        """Return weighted gains, shape (U, n_k)."""
        return self._of_hits(block, k, discounted=True)


@measure("snips_dcg", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}))
class SNIPSDCG(_Propensities):
    r"""Discounted cumulative gain over propensities, as a share of all that could be gained.

    .. math:: \frac{\sum_{i \le k} rel_i / (p_i \log_2(i + 1))}{\sum_{i \in R_u} 1 / p_i}

    Range [0, 1]; higher is better. A perfect list of more than one relevant item scores less than
    1, because what divides is not discounted. Needs ``train``, or propensities in ``items``.

    Parameters
    ----------
    propensity : {"popularity", "given"}
        From training counts, or from the column ``propensity`` of ``items``.
    power : float
        The exponent of the training counts.
    clip : float
        The smallest propensity: those below are raised to it. In (0, 1].

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

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def values(self, block: Block, k: Array) -> Array:
        """Return self-normalised gains, shape (U, n_k)."""
        return divide(self._of_hits(block, k, discounted=True), self._of_relevant(block))


@measure("stratified_recall", range=(0, 1), higher_is_better=True, needs=frozenset({"relevant"}))
class StratifiedRecall(ByStratum, _Weighted):
    r"""Recall in which popular items count less.

    .. math:: \frac{\sum_{i \in L_u^k \cap R_u} w_i}{\sum_{i \in R_u} w_i},
              \quad w_i = n_i^{-\gamma / (\gamma + 1)}

    Items never seen in training count as seen once. Range [0, 1]; higher is better. Needs
    ``train``.

    Parameters
    ----------
    gamma : float
        How much more likely popular items are to be observed; 0 gives recall.

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

    gamma: float = 1.0

    def values(self, block: Block, k: Array) -> Array:
        """Return stratified recall, shape (U, n_k)."""
        return divide(self._of_hits(block, k, discounted=False), self._of_relevant(block))
