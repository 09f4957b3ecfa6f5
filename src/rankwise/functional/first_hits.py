"""Reciprocal ranks of one user's list: of the first hit, or of all; NaN without relevant items."""

from __future__ import annotations

import math

from rankwise.functional.accuracy import Items, Relevant, hits_of, relevant_items

__all__ = ["arhr_at_k", "ncrr_at_k", "reciprocal_rank_at_k"]


def reciprocal_rank_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Reciprocal rank: 1 / rank of the first relevant item in the top k, 0 if there is none.

    >>> reciprocal_rank_at_k([1, 3, 5], {5, 3}, 3)
    0.5
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    for rank, hit in enumerate(hits_of(recommended, relevant, k), start=1):
        if hit:
            return 1 / rank
    return 0.0


def arhr_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Average reciprocal hit rank: sum of one over the rank of every hit.

    >>> arhr_at_k([1, 2, 3, 4], {1, 4}, 4)
    1.25
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    return sum(hit / rank for rank, hit in enumerate(hits_of(recommended, relevant, k), start=1))


def ncrr_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Normalised cumulative reciprocal rank: ARHR divided by that of the ideal list.

    >>> round(ncrr_at_k([1, 2, 3, 4], {1, 4}, 4), 4)
    0.8333
    """
    n = len(relevant_items(relevant))
    ideal = sum(1 / rank for rank in range(1, min(n, n if k is None else k) + 1))
    return arhr_at_k(recommended, relevant, k) / ideal if n else math.nan
