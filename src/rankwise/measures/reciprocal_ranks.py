r"""Reciprocal ranks: one over the rank of the first hit, or of every hit.

Notation: :math:`R_u` are the relevant items of user u, :math:`rel_i` is 1 if the item at rank i is
relevant, else 0. Users without relevant items have no value.
"""

from __future__ import annotations

import math

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.measures.hit_sums import HitSum, RunningSum
from rankwise.measures.measure import measure

__all__ = ["ARHR", "NCRR", "ReciprocalRank"]


@measure(
    "mrr",
    "rr",
    "reciprocal_rank",
    "recip_rank",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.reciprocal_rank_at_k,
)
class ReciprocalRank(RunningSum):
    r"""One over the rank of the first relevant item.

    .. math:: RR@k = 1 / \min\{i \le k : rel_i = 1\}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0. The value is 0 if no relevant item
    is in the top k. Range [0, 1]; higher is better.

    References
    ----------
    Voorhees 1999, The TREC-8 Question Answering Track Report.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {"ann": [1, 2, 3], "bob": [1, 2, 3], "cyd": [1, 2, 3]}
    >>> rw.evaluate(recommendations, {"ann": {1}, "bob": {3}, "cyd": {9}}, "mrr@3")["mrr@3"]
    0.4444
    """

    def terms(self, block: Block) -> Array:
        """Return one over the rank of the first hit of each user, 0 for other hits."""
        return block.hits.first() / block.hits.rank


@measure("arhr", "rhr", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.arhr_at_k)
class ARHR(HitSum):
    r"""Average reciprocal hit rank: the sum of one over the rank of every hit in the top k.

    .. math:: ARHR@k = \sum_{i \le k} rel_i / i

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0. The same as ``mrr`` for users with
    one relevant item. Range [0, inf); higher is better.

    References
    ----------
    Deshpande & Karypis 2004, Item-Based Top-N Recommendation Algorithms, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, "arhr@4")["arhr@4"]
    1.25
    """

    def terms(self, block: Block) -> Array:
        """Return one over the rank of each hit."""
        return block.hits.probability / block.hits.rank


@measure("ncrr", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.ncrr_at_k)
class NCRR(ARHR):
    r"""Normalised cumulative reciprocal rank: ARHR divided by that of the ideal list.

    .. math:: NCRR@k = \frac{\sum_{i \le k} rel_i / i}{\sum_{i \le \min(k, |R_u|)} 1 / i}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`|R_u|` is the number of
    relevant items of user u. Equal to nDCG with binary relevance and the discount 1 / i. Range
    [0, 1]; higher is better.

    References
    ----------
    Salah, Truong & Lauw 2020, Cornac: A Comparative Framework for Multimodal Recommender Systems,
    JMLR 21(95), whose ideal list is no longer than the list itself.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, "ncrr@4")["ncrr@4"]
    0.83333
    """

    inputs = ("ideal",)

    def norm(self, block: Block, k: int) -> Array:
        """Return the sum of one over the rank for the ideal list."""
        return block.sum_ideal(block.xp.ones_like, lambda rank: 1.0 / rank, k)
