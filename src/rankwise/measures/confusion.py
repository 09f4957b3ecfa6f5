r"""Confusion counts over all users: items recommended or not, by relevant or not.

Notation: :math:`L_u^k` is the top k of user u's recommendation list, :math:`R_u` the user's
relevant items in the ground truth.
"""

from __future__ import annotations

import math

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.measures.arithmetic import retrieved
from rankwise.measures.kinds import PerUser, Pooled, Sums
from rankwise.measures.measure import measure

__all__ = ["FN", "FP", "TN", "TP"]


class _Count(PerUser):
    defined_for = "user"
    aggregate = "sum"


@measure("tp", "true_positives", range=(0, math.inf), higher_is_better=True, plain=plain.confusion_at_k)
class TP(_Count):
    r"""Number of recommended and relevant items, over all users.

    .. math:: \sum_u |L_u^k \cap R_u|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. Range [0, inf); higher is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "tp@3")["tp@3"]
    2.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of hits, shape (U,)."""
        return block.sum_hits(block.hits.probability, k)


@measure("fp", "false_positives", range=(0, math.inf), higher_is_better=False, plain=plain.confusion_at_k)
class FP(_Count):
    r"""Number of recommended items that are not relevant, over all users.

    .. math:: \sum_u |L_u^k \setminus R_u|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. Range [0, inf); lower is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fp@3")["fp@3"]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of misses in the top k, shape (U,)."""
        return retrieved(block, k) - block.sum_hits(block.hits.probability, k)


@measure("fn", "false_negatives", range=(0, math.inf), higher_is_better=False, plain=plain.confusion_at_k)
class FN(_Count):
    r"""Number of relevant items that were not recommended, over all users.

    .. math:: \sum_u |R_u \setminus L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. Range [0, inf); lower is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fn@3")["fn@3"]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of relevant items outside the top k, shape (U,)."""
        return block.n_relevant - block.sum_hits(block.hits.probability, k)


@measure("tn", "true_negatives", range=(0, math.inf), higher_is_better=True, plain=plain.confusion_at_k)
class TN(Pooled):
    r"""Number of items neither recommended nor relevant, over all users.

    .. math:: \sum_u |I \setminus (L_u^k \cup R_u)|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. Range [0, inf); higher is better. The catalogue :math:`I` is ``items``, or by
    default all items seen.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "tn@3", items=range(20))
    >>> result["tn@3"]
    16.0
    """

    inputs = ("whole_catalogue",)

    def sums(self, block: Block, k: int) -> Sums:
        """Return 1 and the number of recommended or relevant items, shape (U,) both."""
        hits = block.sum_hits(block.hits.probability, k)
        n_either = retrieved(block, k) + block.n_relevant - hits
        return block.xp.ones_like(n_either), n_either

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return users times catalogue size, minus the recommended or relevant items."""
        n_users, n_either = sums
        return n_users * catalogue_size - n_either
