r"""Accuracy with graded relevance: gains that grow with the relevance of what is found.

Notation: :math:`g_i` is the gain of the item at rank i, made from its relevance; 0 where the item
is not relevant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import namespace
from rankwise.errors import MeasureError, ParameterError, ScoreError
from rankwise.measures.arithmetic import Gain, check_base, discount, divide, gain_of
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["CG", "DCG", "ERR", "NDCG", "RBP", "NDCGBinary"]


@measure("cg", range=(0, math.inf), higher_is_better=True, family="accuracy")
class CG(PerUser):
    r"""Cumulative gain: the sum of the gains in the top k.

    .. math:: CG@k = \sum_{i \le k} g_i

    Range [0, inf); higher is better.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}
        The relevance itself, :math:`2^{rel} - 1`, 1 for every relevant item, or
        :math:`2^{rel + 1} - 1` (as WarpRec has it).

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 3, 3: 2}}, "cg@3")["cg@3"]
    5.0
    """

    additive: ClassVar[bool] = True
    gain: Gain = "linear"

    def values(self, block: Block, k: Array) -> Array:
        """Return cumulative gain, shape (U, n_k)."""
        hits = block.hits
        return block.sum_hits(hits.chance * hits.mean(gain_of(self.gain, hits.gain)), k)


@measure("dcg", range=(0, math.inf), higher_is_better=True, family="accuracy")
class DCG(PerUser):
    r"""Discounted cumulative gain: gains count less further down.

    .. math:: DCG@k = \sum_{i \le k} g_i / \log_b(i + 1)

    Range [0, inf); higher is better.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}
        The relevance itself, :math:`2^{rel} - 1`, 1 for every relevant item, or
        :math:`2^{rel + 1} - 1` (as WarpRec has it).
    log_base : float
        The base b of the logarithm.

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

    additive: ClassVar[bool] = True
    gain: Gain = "linear"
    log_base: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_base(self.name, self.log_base)

    def values(self, block: Block, k: Array) -> Array:
        """Return discounted cumulative gain, shape (U, n_k)."""
        hits = block.hits
        gains = hits.mean(gain_of(self.gain, hits.gain))
        return block.sum_hits(hits.chance * gains * discount(hits.rank, self.log_base), k)


@measure("ndcg", range=(0, 1), higher_is_better=True, needs=frozenset({"ideal"}), family="accuracy")
class NDCG(PerUser):
    r"""Discounted cumulative gain as a share of the best that was possible.

    .. math:: nDCG@k = DCG@k / IDCG@k

    IDCG is the same sum over the user's relevant items in decreasing gain, cut at k. Range
    [0, 1]; higher is better.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}
        The relevance itself, :math:`2^{rel} - 1`, 1 for every relevant item, or
        :math:`2^{rel + 1} - 1` (as WarpRec has it).
    log_base : float
        The base of the logarithm; it cancels out, but for rounding.
    ideal : {"relevant", "full"}
        ``"full"`` fills all k ranks with the user's largest gain, whether or not the user has
        that many relevant items; it needs a cut-off.

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

    additive: ClassVar[bool] = True
    gain: Gain = "linear"
    log_base: float = 2.0
    ideal: Literal["relevant", "full"] = "relevant"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_base(self.name, self.log_base)

    def require_cutoff(self) -> None:
        """Raise if all k ranks are to be filled and there is no k."""
        if self.ideal == "full" and not self.k:
            raise MeasureError(
                "ndcg(ideal=full) needs a cut-off", found=str(self), hint=f"write {self}@10"
            )

    def values(self, block: Block, k: Array) -> Array:
        """Return normalised discounted cumulative gain, shape (U, n_k)."""
        return _ndcg(block, k, self.gain, self.log_base, self.ideal)


@measure(
    "ndcg_binary",
    "ndcg_rendle_2020",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"ideal"}),
    family="accuracy",
)
class NDCGBinary(PerUser):
    r"""Normalised discounted cumulative gain in which every relevant item gains 1.

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

    additive: ClassVar[bool] = True

    def values(self, block: Block, k: Array) -> Array:
        """Return binary normalised discounted cumulative gain, shape (U, n_k)."""
        return _ndcg(block, k, "binary", 2.0, "relevant")


def _ndcg(block: Block, k: Array, gain: Gain, log_base: float, ideal: str) -> Array:
    hits, xp = block.hits, namespace(block.list_length)
    gains = hits.mean(gain_of(gain, hits.gain))
    found = block.sum_hits(hits.chance * gains * discount(hits.rank, log_base), k)
    if ideal == "relevant":
        best = block.sum_ideal(
            lambda relevance: gain_of(gain, relevance), lambda rank: discount(rank, log_base), k
        )
    else:
        top = block.sum_ideal(
            lambda relevance: gain_of(gain, relevance), xp.ones_like, k[:1] * 0 + 1
        )
        full = [xp.sum(discount(xp.arange(1, int(cutoff) + 1), log_base)) for cutoff in k]
        best = top * xp.stack(full)[None, :]
    return divide(found, best)


@measure("rbp", range=(0, 1), higher_is_better=True, family="accuracy")
class RBP(PerUser):
    r"""Rank-biased precision: a user reads on with chance p after every item.

    .. math:: RBP = (1 - p) \sum_i rel_i \, p^{i - 1}

    Range [0, 1]; higher is better. Relevance counts as 0 or 1.

    Parameters
    ----------
    p : float
        Persistence, in (0, 1).

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

    additive: ClassVar[bool] = True
    p: float = 0.8

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 < self.p < 1:
            raise ParameterError("rbp: p must lie between 0 and 1", found=f"p={self.p}")

    def values(self, block: Block, k: Array) -> Array:
        """Return rank-biased precision, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        weight = (1.0 - self.p) * self.p ** (xp.astype(hits.rank, xp.float64) - 1.0)
        return block.sum_hits(hits.chance * weight, k)


@measure("err", range=(0, 1), higher_is_better=True, family="accuracy")
class ERR(PerUser):
    r"""Expected reciprocal rank: one over the rank at which a user is satisfied and stops.

    .. math:: ERR@k = \sum_{i \le k} \frac{S_i}{i} \prod_{j < i} (1 - S_j),
              \quad S_i = \frac{2^{g_i} - 1}{2^{g_{max}}}

    Range [0, 1]; higher is better.

    Parameters
    ----------
    max_relevance : float or None
        :math:`g_{max}`, the largest grade of the scale. It must be given unless relevance is
        binary (then 1), because the largest grade in the data need not be the scale's.

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

    max_relevance: float | None = None

    def values(self, block: Block, k: Array) -> Array:
        """Return expected reciprocal rank, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        largest = 1.0 if self.max_relevance is None else float(self.max_relevance)
        if hits.gain.shape[0] and float(xp.max(hits.gain)) > largest:
            raise ScoreError(
                "err: a relevance is above the largest grade",
                where="truth",
                found=f"{float(xp.max(hits.gain)):g} > {largest:g}",
                hint="write err(max_relevance=5)@10 for a scale that ends at 5",
            )
        stop = gain_of("exponential", hits.gain) / 2.0**largest
        return block.sum_hits(hits.cascade(stop) / hits.rank, k)
