"""Metrics of one user's list whose hits count by relevance and rank; NaN without relevant items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from rankwise.errors import ParameterError, ScoreError
from rankwise.functional.accuracy import Items, Judged, check_option, is_number, relevances, relevant_items, top

__all__ = ["cg_at_k", "dcg_at_k", "err_at_k", "ndcg_at_k", "rbp"]

GainKind: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]
Discount: TypeAlias = Literal["log_plus_one", "log"]


_LONGEST = 10_000_000
"""The largest k at which a full ideal list is summed: above it, the sum takes minutes."""


def gain_of(relevance: float, gain: GainKind) -> float:
    """Return the gain of an item with this relevance; 0 if it is not relevant."""
    if relevance <= 0:
        return 0.0
    if gain == "exponential":
        return float(2.0**relevance - 1)
    if gain == "exponential_plus_one":
        return float(2.0 ** (relevance + 1) - 1)
    return 1.0 if gain == "binary" else relevance


def _gains(recommended: Items, scores: Judged, k: int | None, gain: GainKind) -> list[float]:
    relevance = relevances(scores)
    return [gain_of(relevance.get(item, 0), gain) for item in top(recommended, k)]


def cg_at_k(recommended: Items, relevance_scores: Judged, k: int | None = None, *, gain: GainKind = "linear") -> float:
    """Cumulative gain: sum of the gains in the top k; ``gain`` is as for `dcg_at_k`.

    >>> cg_at_k([1, 2, 3], {1: 3, 3: 2}, 3)
    5.0
    """
    if not relevant_items(relevance_scores):
        return math.nan
    return float(sum(_gains(recommended, relevance_scores, k, gain)))


def _discounted(gains: Sequence[float], log_base: float, discount: Discount) -> float:
    ranked = enumerate(gains, start=1)
    if discount == "log":
        return sum(gain / max(1, math.log(rank, log_base)) for rank, gain in ranked)
    return sum(gain / math.log(rank + 1, log_base) for rank, gain in ranked)


def dcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    log_base: float = 2.0,
    discount: Discount = "log_plus_one",
) -> float:
    """Discounted cumulative gain: sum of the gains in the top k, each over log(rank + 1).

    ``gain`` is ``"linear"``: the relevance; ``"exponential"``: 2^relevance − 1; ``"binary"``: 1; or
    ``"exponential_plus_one"``: 2^(relevance + 1) − 1. ``log_base`` is the base of the logarithm.
    With ``discount="log"``, gains are divided by max(1, log(rank)), which discounts nothing down to
    the rank ``log_base`` (Järvelin & Kekäläinen 2002).

    >>> dcg_at_k([1, 2, 3], {1: 1, 3: 1}, 3)
    1.5
    >>> dcg_at_k([1, 2, 3, 4], {1: 1, 2: 1, 4: 1}, 4, discount="log")
    2.5
    """
    check_option("discount", discount, "log_plus_one", "log")
    if not relevant_items(relevance_scores):
        return math.nan
    return _discounted(_gains(recommended, relevance_scores, k, gain), log_base, discount)


def ndcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    log_base: float = 2.0,
    ideal: Literal["relevant", "full"] = "relevant",
    discount: Discount = "log_plus_one",
) -> float:
    """Normalised DCG: DCG divided by the ideal DCG, the DCG of the ideal list.

    The ideal list has the relevant items in decreasing gain, cut at k; with ``ideal="full"``, k
    items with the largest gain. The other parameters are as for `dcg_at_k`. Without relevant items
    the value is 0.

    >>> ndcg_at_k([3, 1, 5, 2, 4], {1: 3, 2: 2, 3: 3, 4: 1, 5: 2}, 5)
    1.0
    """
    dcg = dcg_at_k(recommended, relevance_scores, k, gain=gain, log_base=log_base, discount=discount)
    if math.isnan(dcg):
        return 0.0
    gains = (gain_of(relevance, gain) for relevance in relevances(relevance_scores).values())
    best = sorted(gains, reverse=True)
    if ideal == "full":
        if k is None or k > _LONGEST:
            raise ParameterError(f"ideal='full' needs a k, of at most {_LONGEST:,}", found=f"k={k}")
        best = best[:1] * k
    return dcg / _discounted(best[:k], log_base, discount)


def check_grades(judged: Judged, max_relevance: float) -> None:
    """Raise if a relevance is above the largest grade of the scale."""
    largest = max(relevances(judged).values())
    if largest > max_relevance:
        raise ScoreError(
            "a relevance is above the largest grade",
            found=f"{largest:g} > {max_relevance:g}",
            hint="pass max_relevance=5 for a scale that ends at 5",
        )


def rbp(
    recommended: Items,
    relevant: Judged,
    k: int | None = None,
    *,
    p: float = 0.8,
    normaliser: Literal["none", "ideal"] = "none",
    max_relevance: float | None = None,
) -> float:
    """Rank-biased precision, for a user who reads on after each item with probability p.

    Relevance is binary by default. With ``max_relevance``, the largest grade of the rating scale,
    the gain of an item is relevance / max_relevance, and a larger relevance raises. With
    ``normaliser="ideal"``, the value is divided by that of the ideal list, with the relevant items
    in decreasing gain.

    >>> round(rbp([1, 2, 3], {1, 3}), 3), round(rbp([1, 2, 3], {1, 3}, normaliser="ideal"), 3)
    (0.328, 0.911)
    >>> rbp([1, 2, 3], {1: 5, 3: 2.5}, p=0.5, max_relevance=5)
    0.5625
    """
    if not relevant_items(relevant):
        return math.nan
    gain: GainKind = "binary" if max_relevance is None else "linear"
    largest = 1.0 if max_relevance is None else max_relevance
    if not is_number(largest) or largest <= 0:
        raise ParameterError("max_relevance must be a number above 0", found=f"max_relevance={max_relevance!r}")
    if gain == "linear":
        check_grades(relevant, largest)
    gains = _gains(recommended, relevant, k, gain)
    value = sum(g / largest * p**i for i, g in enumerate(gains))
    if normaliser == "none":
        return (1 - p) * value
    best = sorted((gain_of(x, gain) for x in relevances(relevant).values()), reverse=True)
    return value / sum(g / largest * p**i for i, g in enumerate(best[:k]))


def err_at_k(
    recommended: Items, relevance_scores: Judged, k: int | None = None, *, max_relevance: float = 1.0
) -> float:
    """Return the expected reciprocal rank of the item at which the user stops.

    ``max_relevance`` is the largest grade of the rating scale; a larger relevance raises.

    >>> round(err_at_k([2, 1], {1: 3, 2: 2}, 2, max_relevance=4), 5)
    0.36523
    """
    if not relevant_items(relevance_scores):
        return math.nan
    check_grades(relevance_scores, max_relevance)
    total, reached = 0.0, 1.0  # reached: the probability that the user sees this rank
    for rank, gain in enumerate(_gains(recommended, relevance_scores, k, "exponential"), start=1):
        stops = gain / 2.0**max_relevance
        total += reached * stops / rank
        reached *= 1 - stops
    return total
