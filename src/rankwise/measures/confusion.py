r"""Confusion counts: totals over users of what was and was not recommended, and relevant or not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import namespace
from rankwise.measures.arithmetic import retrieved
from rankwise.measures.kinds import PerUser, Pooled
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["FN", "FP", "TN", "TP"]


class _Count(PerUser):
    about: ClassVar[Literal["relevance", "list", "user"]] = "user"

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """Counts are totals."""
        return "sum"


@measure("tp", "true_positives", range=(0, math.inf), higher_is_better=True)
class TP(_Count):
    r"""Number of recommended and relevant items, over all users.

    .. math:: \sum_u |L_u^k \cap R_u|

    Range [0, inf); higher is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "tp@3")["tp@3"]
    2.0
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return hits, shape (U, n_k)."""
        return block.sum_hits(block.hits.chance, k)


@measure("fp", "false_positives", range=(0, math.inf), higher_is_better=False)
class FP(_Count):
    r"""Number of recommended items that are not relevant, over all users.

    .. math:: \sum_u |L_u^k \setminus R_u|

    Range [0, inf); lower is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fp@3")["fp@3"]
    1.0
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return misses in the list, shape (U, n_k)."""
        return retrieved(block, k) - block.sum_hits(block.hits.chance, k)


@measure("fn", "false_negatives", range=(0, math.inf), higher_is_better=False)
class FN(_Count):
    r"""Number of relevant items that were not recommended, over all users.

    .. math:: \sum_u |R_u \setminus L_u^k|

    Range [0, inf); lower is better.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fn@3")["fn@3"]
    1.0
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return relevant items missed, shape (U, n_k)."""
        xp = namespace(block.n_relevant)
        relevant = xp.astype(block.n_relevant, xp.float64)
        return relevant[:, None] - block.sum_hits(block.hits.chance, k)


@measure("tn", "true_negatives", range=(0, math.inf), higher_is_better=True)
class TN(Pooled):
    r"""Number of items neither recommended nor relevant, over all users.

    .. math:: \sum_u |I \setminus (L_u^k \cup R_u)|

    I is the catalogue. Range [0, inf); higher is better.

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

    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "whole"

    def sums(self, block: Block, k: Array) -> Array:
        """Return users and items that are recommended or relevant, shape (U, n_k, 2)."""
        xp = namespace(block.n_relevant)
        relevant = xp.astype(block.n_relevant, xp.float64)[:, None]
        taken = retrieved(block, k) + relevant - block.sum_hits(block.hits.chance, k)
        return xp.stack([xp.ones_like(taken), taken], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return what is left of the catalogue."""
        return sums[..., 0] * catalogue_size - sums[..., 1]
