r"""Accuracy with graded relevance: gains that grow with the relevance of the recommended items.

Notation: :math:`g_i` is the gain of the item at rank i, computed from its relevance, 0 if the item
is not relevant; :math:`rel_i` is 1 if it is relevant, else 0. Users without relevant items in the
ground truth have no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace, refuse
from rankwise.core.block import Block, Cutoffs
from rankwise.errors import ScoreError
from rankwise.measures.arithmetic import (
    Gain,
    check_parameter,
    discount,
    divide,
    gain_of,
    need_cutoff,
)
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["CG", "DCG", "ERR", "NDCG", "RBP", "NDCGBinary"]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Gained(PerUser):
    r"""A sum of gains.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The relevance itself, :math:`2^{rel} - 1`, 1 for all relevant items, or
        :math:`2^{rel + 1} - 1` (as in WarpRec).
    """

    additive = True
    gain: Gain = "linear"


@dataclass(frozen=True, kw_only=True, repr=False)
class _Discounted(_Gained):
    """A sum of gains that are discounted by rank.

    Parameters
    ----------
    log_base : float, default=2.0
        The base b of the logarithm, above 1. In nDCG it cancels out, except for rounding.
    """

    log_base: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "log_base", not self.log_base <= 1, "must be above 1")


@measure("cg", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.cg_at_k)
class CG(_Gained):
    r"""Cumulative gain: the sum of the gains in the top k.

    .. math:: CG@k = \sum_{i \le k} g_i

    Range [0, inf); higher is better.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 3, 3: 2}}, "cg@3")["cg@3"]
    5.0
    """

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return cumulative gain, shape (U, n_k)."""
        hits = block.hits
        return block.sum_hits(hits.probability * hits.to_rows(gain_of(self.gain, hits.gain)), k)


@measure("dcg", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.dcg_at_k)
class DCG(_Discounted):
    r"""Discounted cumulative gain: the sum of the gains in the top k, discounted by rank.

    .. math:: DCG@k = \sum_{i \le k} g_i / \log_b(i + 1)

    Range [0, inf); higher is better.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).
    Burges et al. 2005, Learning to Rank using Gradient Descent, ICML (exponential gain).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "dcg@3")["dcg@3"]
    1.5
    """

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return DCG, shape (U, n_k)."""
        hits = block.hits
        gains = hits.to_rows(gain_of(self.gain, hits.gain))
        return block.sum_hits(hits.probability * gains * discount(hits.rank, self.log_base), k)


@measure("ndcg", "ndcg_cut", range=(0, 1), higher_is_better=True, needs=frozenset({"ideal"}),
         family="accuracy", plain=plain.ndcg_at_k)  # fmt: skip
class NDCG(_Discounted):
    r"""Normalised DCG: the discounted cumulative gain divided by that of the ideal list.

    .. math:: nDCG@k = DCG@k / IDCG@k

    IDCG is the ideal DCG: that of the user's relevant items in decreasing gain, at the same
    cut-off k. Range [0, 1]; higher is better.

    Parameters
    ----------
    ideal : {"relevant", "full"}, default="relevant"
        ``"full"`` fills all k ranks of the ideal list with the user's largest gain, whether or not
        the user has that many relevant items; it needs a cut-off.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}}
    >>> measures = ["ndcg@6", "ndcg(gain=exponential)@6"]
    >>> result = rw.evaluate({"ann": [1, 2, 3, 4, 5, 6]}, truth, measures)
    >>> result["ndcg@6"], result["ndcg(gain=exponential)@6"]
    (0.96081, 0.94881)
    """

    ideal: Literal["relevant", "full"] = "relevant"

    def require_cutoff(self) -> None:
        """Raise if the ideal list fills all k ranks and there is no k."""
        need_cutoff(self, where=self.ideal == "full", setting="ideal=full")

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return nDCG, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        gains_of = partial(gain_of, self.gain)
        discount_of = partial(discount, log_base=self.log_base)
        gains = hits.to_rows(gains_of(hits.gain))
        dcg = block.sum_hits(hits.probability * gains * discount_of(hits.rank), k)
        if self.ideal == "relevant":
            return divide(dcg, block.sum_ideal(gains_of, discount_of, k))
        largest_gain = block.sum_ideal(gains_of, xp.ones_like, (1,))
        full = [xp.sum(discount_of(xp.arange(1, cutoff + 1))) for cutoff in k]
        return divide(dcg, largest_gain * xp.stack(full)[None, :])


@measure("ndcg_binary", "ndcg_rendle_2020", range=(0, 1), higher_is_better=True,
         needs=frozenset({"ideal"}), family="accuracy", plain=plain.ndcg_at_k)  # fmt: skip
class NDCGBinary(PerUser):
    r"""Normalised DCG with binary relevance: the gain of each relevant item is 1.

    .. math:: \frac{\sum_{i \le k} rel_i / \log_2(i + 1)}
              {\sum_{i \le \min(k, |R_u|)} 1 / \log_2(i + 1)}

    The same as ``ndcg(gain=binary)``. Range [0, 1]; higher is better.

    References
    ----------
    Krichene & Rendle 2020, On Sampled Metrics for Item Recommendation, KDD.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 5, 3: 1}}, "ndcg_binary@3")["ndcg_binary@3"]
    0.91972
    """

    additive = True

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return binary nDCG, shape (U, n_k)."""
        return NDCG(gain="binary").values(block, k)


@measure("rbp", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.rbp)
class RBP(PerUser):
    r"""Rank-biased precision: after each item, the user reads on with probability p.

    .. math:: RBP = (1 - p) \sum_i rel_i \, p^{i - 1}

    Range [0, 1]; higher is better. Relevance is binary. No finite list of relevant items reaches 1,
    unless it is divided by the value of the ideal list.

    Parameters
    ----------
    p : float, default=0.8
        The persistence of the user, in (0, 1).
    normaliser : {"none", "ideal"}, default="none"
        ``"ideal"`` divides by the value of a list with the relevant items first,
        :math:`1 - p^{\min(k, |R_u|)}`.

    References
    ----------
    Moffat & Zobel 2008, Rank-Biased Precision for Measurement of Retrieval Effectiveness,
    ACM TOIS 27(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "rbp")["rbp"]
    0.328
    """

    additive = True
    p: float = 0.8
    normaliser: Literal["none", "ideal"] = "none"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "p", 0 < self.p < 1, "must lie between 0 and 1")

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return rank-biased precision, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        weight = (1.0 - self.p) * self.p ** (xp.astype(hits.rank, xp.float64) - 1.0)
        value = block.sum_hits(hits.probability * weight, k)
        if self.normaliser == "none":
            return value
        return divide(value, 1.0 - self.p ** xp.astype(block.relevant_in_reach(k), xp.float64))


@measure("err", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.err_at_k)
class ERR(PerUser):
    r"""Expected reciprocal rank of the item that satisfies the user, who then stops.

    .. math:: ERR@k = \sum_{i \le k} \frac{S_i}{i} \prod_{j < i} (1 - S_j),
              \quad S_i = \frac{2^{g_i} - 1}{2^{g_{max}}}

    :math:`g_i` is the relevance itself. Range [0, 1]; higher is better.

    Parameters
    ----------
    max_relevance : float, default=1.0
        :math:`g_{max}`, the largest grade of the rating scale, which need not occur in the data.
        The default is that of binary relevance; graded relevance needs it.

    References
    ----------
    Chapelle et al. 2009, Expected Reciprocal Rank for Graded Relevance, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 3, 2: 2}}
    >>> rw.evaluate({"ann": [2, 1]}, truth, "err(max_relevance=4)@2")["err(max_relevance=4)@2"]
    0.36523
    """

    max_relevance: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(
            self, "max_relevance", 0 < self.max_relevance <= 1000, "must lie between 0 and 1000"
        )

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return expected reciprocal rank, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        largest = float(self.max_relevance)
        refuse(
            hits.gain > largest,
            lambda: ScoreError(
                "err: a relevance is above the largest grade",
                where="truth",
                found=f"{float(xp.max(hits.gain)):g} > {largest:g}",
                hint="write err(max_relevance=5)@10 for a scale that ends at 5",
            ),
        )
        stop = gain_of("exponential", hits.gain) / 2.0**largest
        return block.sum_hits(hits.cascade(stop, max(k)) / hits.rank, k)
