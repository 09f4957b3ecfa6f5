"""Descriptions of one user's recommendation list that need no ground truth.

``recommended`` is a list of items, best first. Shares are NaN for an empty list.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import Literal

from rankwise.functional.accuracy import Items, check_fraction, check_k, check_option, top

__all__ = [
    "cold_item_share_at_k",
    "duplicate_rate",
    "mean_score_at_k",
    "num_retrieved_at_k",
    "overlap_at_k",
    "rbo_at_k",
    "repeated_at_k",
    "unsatisfied_at_k",
    "user_coverage_at_k",
    "user_coverage_at_n",
]


def num_retrieved_at_k(recommended: Items, k: int | None = None) -> int:
    """Return the number of items in the top k.

    >>> num_retrieved_at_k([1, 3, 5], 5)
    3
    """
    return len(top(recommended, k))


def user_coverage_at_k(recommended: Items, k: int | None = None) -> int:
    """1 for a user with at least one item in the top k, else 0.

    >>> user_coverage_at_k([1, 3], 5), user_coverage_at_k([], 5)
    (1, 0)
    """
    return int(num_retrieved_at_k(recommended, k) > 0)


def user_coverage_at_n(recommended: Items, k: int) -> int:
    """1 for a user with k items or more, else 0.

    >>> user_coverage_at_n([1, 3], 2), user_coverage_at_n([1, 3], 3)
    (1, 0)
    """
    return int(num_retrieved_at_k(recommended, k) == k)


def unsatisfied_at_k(recommended: Items, k: int) -> int:
    """1 for a user with fewer than k items, else 0.

    >>> unsatisfied_at_k([1, 3], 2), unsatisfied_at_k([1, 3], 3)
    (0, 1)
    """
    return 1 - user_coverage_at_n(recommended, k)


def duplicate_rate(recommended: Items) -> float:
    """Share of the list that repeats an item from a higher rank.

    >>> duplicate_rate([1, 2, 1, 1])
    0.5
    """
    if not recommended:
        return math.nan
    return (len(recommended) - len(set(recommended))) / len(recommended)


def repeated_at_k(recommended: Items, history: Collection[Hashable], k: int | None = None) -> float:
    """Share of the top k that is in the user's training history.

    >>> repeated_at_k([1, 3, 5, 7], {3}, 2)
    0.5
    """
    items = top(recommended, k)
    return sum(item in history for item in items) / len(items) if items else math.nan


def cold_item_share_at_k(recommended: Items, training_items: Collection[Hashable], k: int | None = None) -> float:
    """Share of cold-start items in the top k: items without training interactions.

    >>> cold_item_share_at_k([1, 3, 5, 7], {1, 3, 5}, 4)
    0.25
    """
    items = top(recommended, k)
    return sum(item not in training_items for item in items) / len(items) if items else math.nan


def overlap_at_k(
    recommended: Items, baseline: Items, k: int, *, denominator: Literal["length", "k", "union"] = "length"
) -> float:
    """Share of the top k that is also in the top k of a baseline list.

    The denominator is the number of items in the top k, k, or the number of items in at least one
    of the two (``"union"``). NaN without a baseline list.

    >>> overlap_at_k([1, 3, 5, 7], [3, 9, 1], 2), overlap_at_k([1, 3], [3], 2, denominator="union")
    (0.5, 0.5)
    """
    items, others = top(recommended, k), set(top(baseline, k))
    if not items or not others:
        return math.nan
    among = {"length": len(items), "k": k, "union": len(others.union(items))}[denominator]
    return len(others.intersection(items)) / among


def rbo_at_k(
    recommended: Items,
    other: Items,
    k: int | None = None,
    *,
    p: float = 0.9,
    form: Literal["extrapolated", "lower"] = "extrapolated",
) -> float:
    """Rank-biased overlap of the top k of two lists (Webber, Moffat & Zobel 2010).

    ``form="lower"`` is (1 − p) Σ p^(d − 1) X_d / d over the depths d up to the length of the longer
    list, where X_d is the number of items that are in the top d of both. ``"extrapolated"`` is
    RBO_ext, equation 32 of the paper, which assumes that the agreement at the end of each list
    continues below it. NaN if a list is empty.

    >>> rbo_at_k([1, 2], [2, 1], p=0.5), rbo_at_k([1, 2], [2, 1], p=0.5, form="lower")
    (0.5, 0.25)
    >>> rbo_at_k([1, 2, 3], [1], p=0.5)
    1.0
    """
    check_option("form", form, "extrapolated", "lower")
    check_fraction("p", p)
    short, long = sorted((top(recommended, k), top(other, k)), key=len)
    s, n = len(short), len(long)
    if not s:
        return math.nan
    common = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    lower = (1 - p) * sum(p ** (d - 1) * common[d] / d for d in range(1, n + 1))
    if form == "lower":
        return lower
    continued = sum(p ** (d - 1) * common[s] * (d - s) / (s * d) for d in range(s + 1, n + 1))
    at_end = (common[n] - common[s]) / n + common[s] / s
    return lower + (1 - p) * continued + at_end * p**n


def mean_score_at_k(scores: Sequence[float], k: int | None = None) -> float:
    """Mean score of the top k, from the scores of the list, best first.

    >>> mean_score_at_k([0.75, 0.25, 0.0], 2)
    0.5
    """
    check_k(k)
    first = list(scores)[:k]
    return math.fsum(first) / len(first) if first else math.nan
