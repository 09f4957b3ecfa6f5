r"""Debiased accuracy: relevant items count by how unlikely it was that they were observed.

:math:`p_i` is the propensity of item i, the chance that an interaction with it is observed. It
comes from training counts as :math:`\max(c, (n_i / \max_j n_j)^{power})` or from a column of
``items``. The result carries, for each of these measures, the effective sample size of the weights
of all relevant items, :math:`(\sum w)^2 / \sum w^2`, the share of the largest weight, the level of
the clip and the share of the relevant items that it touched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankwise.core.backend import namespace
from rankwise.core.facts import Fact, Popularity, Propensity
from rankwise.errors import ParameterError, ScoreError
from rankwise.measures.arithmetic import discount, divide
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure
from rankwise.measures.tallies import ItemSums, Relevant, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.facts import Facts

__all__ = ["IPSDCG", "SNIPSDCG", "IPSRecall", "SNIPSRecall", "StratifiedRecall"]


class _Weighted(PerUser):
    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "counted"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The relevant items, to say what their weights come to."""
        return (Relevant(),)

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item."""
        raise NotImplementedError

    def diagnose(self, items: ItemSums) -> dict[str, float]:
        """Say how much rests on few weights."""
        count = items.sum(Relevant(), 0)
        known = count > 0
        weight, number = np.asarray(self.weight(items.facts))[known], count[known]
        total = float(np.sum(number * weight))
        square = float(np.sum(number * weight**2))
        return {
            "relevant_items": float(np.sum(number)),
            "effective_sample_size": total**2 / square if square else math.nan,
            "largest_weight_share": float(weight.max()) / total if total else math.nan,
        }

    def _of_hits(self, block: Block, k: Array, *, discounted: bool) -> Array:
        hits, xp = block.hits, namespace(block.list_length)
        weights = self.weight(block.facts)
        self._known(xp.take(weights, block.rows("relevant").item))  # found or not
        weight = hits.mean(xp.take(weights, hits.item))
        terms = hits.chance * weight
        return block.sum_hits(terms * discount(hits.rank) if discounted else terms, k)

    def _of_relevant(self, block: Block) -> Array:
        rows = block.rows("relevant")
        weight = namespace(rows.item).take(self.weight(block.facts), rows.item)
        return block.sum_rows(rows, self._known(weight))[:, None]

    def _known(self, weight: Array) -> Array:
        xp = namespace(weight)
        missing = xp.isnan(weight)
        if bool(xp.any(missing)):
            raise ScoreError(
                f"{self.name}: a relevant item has no propensity",
                where="items",
                found=f"{int(xp.sum(xp.astype(missing, xp.int64)))} such rows",
                hint="give every item of the truth a propensity, or take those of training counts",
            )
        return weight


class _Propensities(_Weighted):
    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 < self.clip <= 1:
            raise ParameterError(f"{self.name}: clip lies in (0, 1]", found=f"clip={self.clip}")
        if not 0 <= self.power < math.inf:
            raise ParameterError(f"{self.name}: power is 0 or more", found=f"power={self.power}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training, or the column of propensities."""
        if self.propensity == "given":
            return (Fact("propensity", "propensity"),)
        return (Fact("popularity"),)

    def weight(self, facts: Facts) -> Array:
        """Return one over the clipped propensity of every item."""
        chance = self._chance(facts)
        return 1.0 / namespace(chance).clip(chance, min=float(self.clip))

    def diagnose(self, items: ItemSums) -> dict[str, float]:
        """Say how much rests on few weights, and on the clip."""
        count = items.sum(Relevant(), 0)
        below = np.asarray(self._chance(items.facts)) < self.clip
        total = float(np.sum(count))
        clipped = float(np.sum(count[below])) / total if total else math.nan
        return {**super().diagnose(items), "clip": float(self.clip), "clipped_share": clipped}

    def _chance(self, facts: Facts) -> Array:
        found = facts[self.facts[0]]
        if isinstance(found, Propensity):
            return found.chance
        assert isinstance(found, Popularity)
        return (found.count / found.most) ** float(self.power)


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
class StratifiedRecall(_Weighted):
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

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 <= self.gamma < math.inf:
            raise ParameterError(
                "stratified_recall: gamma is 0 or more", found=f"gamma={self.gamma}"
            )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (Fact("popularity"),)

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item."""
        known = facts[Fact("popularity")]
        assert isinstance(known, Popularity)
        count = namespace(known.count).clip(known.count, min=1.0)
        return count ** (-float(self.gamma) / (float(self.gamma) + 1.0))

    def values(self, block: Block, k: Array) -> Array:
        """Return stratified recall, shape (U, n_k)."""
        return divide(self._of_hits(block, k, discounted=False), self._of_relevant(block))
