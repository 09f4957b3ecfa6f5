"""Metrics of one user's recommendation list.

``recommended`` is a list of distinct items, best first; ``relevant`` a set of items;
``relevance_scores`` a dict of item to relevance, where items above 0 are relevant. Each of the two
may be given for the other: a set gives its items the relevance 1. ``k=None`` is the whole list.
The value is NaN for a user without relevant items.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from rankwise.errors import DuplicateError, InputError, ParameterError, ScoreError

__all__ = [
    "average_precision_at_k", "average_recall_at_k", "cg_at_k", "confusion_at_k", "dcg_at_k",
    "err_at_k", "f1_at_k", "hit_rate_at_k", "ndcg_at_k", "precision_at_k", "r_precision", "rbp",
    "recall_at_k",
]  # fmt: skip

Items: TypeAlias = Sequence[Hashable]
Relevant: TypeAlias = Collection[Hashable]
Relevances: TypeAlias = Mapping[Hashable, float]
Judged: TypeAlias = Relevant | Relevances
Lists: TypeAlias = Mapping[Hashable, Items]
Sets: TypeAlias = Mapping[Hashable, Relevant]
GainKind: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]


_LONGEST = 10_000_000
"""The largest k at which a full ideal list is summed: above it, the sum takes minutes."""


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 1, Python's or NumPy's."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and bool(1 <= value < 2**63)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, Real) and bool(abs(value) < math.inf)  # type: ignore[operator]


def check_k(k: int | None) -> None:
    """Raise unless the cut-off is a whole number from 1, or None."""
    if k is not None and not is_count(k):
        raise ParameterError("k must be a whole number from 1", found=f"k={k!r}")


def relevances(judged: Judged) -> Mapping[Hashable, float]:
    """Return the relevance of each judged item: as given, or 1 for each item of a set."""
    if isinstance(judged, Mapping):
        for item, relevance in judged.items():
            if not is_number(relevance):
                raise ScoreError("a relevance is not a finite number", where=f"item {item!r}",
                                 found=repr(relevance)[:60])  # fmt: skip
        return judged
    try:
        if isinstance(judged, str | bytes):
            raise TypeError
        return dict.fromkeys(judged, 1.0)
    except TypeError:
        raise InputError("relevant items come as a set, or as a dict of item to relevance",
                         found=repr(judged)[:60]) from None  # fmt: skip


def relevant_items(judged: Judged) -> set[Hashable]:
    """Return the relevant items: those whose relevance is above 0, each of them once."""
    return {item for item, relevance in relevances(judged).items() if relevance > 0}


def top(recommended: Items, k: int | None) -> list[Hashable]:
    """Return the first k items, after checking the list and the cut-off."""
    check_k(k)
    try:
        if isinstance(recommended, str | bytes):  # one item for a list, as {user: item} has it
            raise TypeError
        repeated = len(recommended) - len(set(recommended))
    except TypeError:
        raise InputError("a recommendation list holds items, best first",
                         found=repr(recommended)[:60]) from None  # fmt: skip
    if repeated:
        raise DuplicateError("an item stands twice in the list", found=repr(list(recommended)))
    return list(recommended)[:k]


def hits_of(recommended: Items, relevant: set[Hashable], k: int | None) -> list[int]:
    """Return 1 for each relevant item of the top k, else 0."""
    return [1 if item in relevant else 0 for item in top(recommended, k)]


def precision_at_k(
    recommended: Items, relevant: Relevant, k: int, *, denominator: Literal["k", "length"] = "k"
) -> float:
    """Share of the top k that is relevant.

    >>> precision_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.4
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    n = k if denominator == "k" else len(hits)
    return sum(hits) / n if n else 0.0


def recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    denominator: Literal["relevant", "capped"] = "relevant",
) -> float:
    """Share of the relevant items that is in the top k.

    >>> round(recall_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5), 4)
    0.6667
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    n = len(relevant)
    if denominator == "capped" and k is not None:
        n = min(k, n)
    return sum(hits_of(recommended, relevant, k)) / n


def f1_at_k(recommended: Items, relevant: Relevant, k: int, *, beta: float = 1.0) -> float:
    """Harmonic mean of precision and recall, where recall counts beta times as much.

    >>> f1_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.5
    """
    precision = precision_at_k(recommended, relevant, k)
    recall = recall_at_k(recommended, relevant, k)
    if precision == recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def hit_rate_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """1 if a relevant item is in the top k, else 0.

    >>> hit_rate_at_k([1, 3, 5], {5}, 2)
    0.0
    """
    relevant = relevant_items(relevant)
    return float(any(hits_of(recommended, relevant, k))) if relevant else math.nan


def average_precision_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min",
) -> float:
    """Average precision: sum of precision at the rank of each hit, over the normaliser.

    >>> round(average_precision_at_k([1, 2, 3, 4, 5], {1, 3, 5}, 5), 4)
    0.7556
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    total = sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit)
    n = {
        "min": len(relevant) if k is None else min(len(relevant), k),
        "k": k,
        "relevant": len(relevant),
        "hits": sum(hits),
        "length": len(hits),
        "min_length": min(len(relevant), len(hits)),
    }[normaliser]
    if n is None:
        raise ParameterError("normaliser='k' needs a k", found="k=None")
    return total / n if n else 0.0


def average_recall_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Average recall: sum of recall at the rank of each hit, over min(relevant, k).

    >>> average_recall_at_k([1, 2, 3], {1, 3}, 3)
    0.75
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    total = sum(sum(hits[:rank]) for rank, hit in enumerate(hits, start=1) if hit)
    return total / len(relevant) / (len(relevant) if k is None else min(len(relevant), k))


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


def cg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
) -> float:
    """Cumulative gain: sum of the gains in the top k.

    >>> cg_at_k([1, 2, 3], {1: 3, 3: 2}, 3)
    5.0
    """
    if not relevant_items(relevance_scores):
        return math.nan
    return float(sum(_gains(recommended, relevance_scores, k, gain)))


def _discounted(gains: Sequence[float], log_base: float) -> float:
    return sum(gain / math.log(rank + 1, log_base) for rank, gain in enumerate(gains, start=1))


def dcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    log_base: float = 2.0,
) -> float:
    """Discounted cumulative gain: sum of the gains in the top k, each over log(rank + 1).

    >>> dcg_at_k([1, 2, 3], {1: 1, 3: 1}, 3)
    1.5
    """
    if not relevant_items(relevance_scores):
        return math.nan
    return _discounted(_gains(recommended, relevance_scores, k, gain), log_base)


def ndcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    log_base: float = 2.0,
    ideal: Literal["relevant", "full"] = "relevant",
) -> float:
    """Normalised DCG: DCG divided by the ideal DCG.

    >>> ndcg_at_k([3, 1, 5, 2, 4], {1: 3, 2: 2, 3: 3, 4: 1, 5: 2}, 5)
    1.0
    """
    dcg = dcg_at_k(recommended, relevance_scores, k, gain=gain, log_base=log_base)
    if math.isnan(dcg):
        return math.nan
    gains = (gain_of(relevance, gain) for relevance in relevances(relevance_scores).values())
    best = sorted(gains, reverse=True)
    if ideal == "full":
        if k is None or k > _LONGEST:
            raise ParameterError(f"ideal='full' needs a k, of at most {_LONGEST:,}",
                                 found=f"k={k}")  # fmt: skip
        best = best[:1] * k
    return dcg / _discounted(best[:k], log_base)


def r_precision(recommended: Items, relevant: Relevant) -> float:
    """Precision at the number of relevant items.

    >>> r_precision([1, 2, 3], {1, 3})
    0.5
    """
    relevant = relevant_items(relevant)
    return precision_at_k(recommended, relevant, len(relevant)) if relevant else math.nan


def rbp(
    recommended: Items, relevant: Relevant, k: int | None = None, *, p: float = 0.8,
    normaliser: Literal["none", "ideal"] = "none",
) -> float:  # fmt: skip
    """Rank-biased precision of a user who goes on to the next rank with probability p.

    With ``normaliser="ideal"`` divided by that of a list with the relevant items first.

    >>> round(rbp([1, 2, 3], {1, 3}), 3), round(rbp([1, 2, 3], {1, 3}, normaliser="ideal"), 3)
    (0.328, 0.911)
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    value = (1 - p) * sum(hit * p**i for i, hit in enumerate(hits))
    n = len(relevant) if k is None else min(k, len(relevant))
    return value / (1 - p**n) if normaliser == "ideal" else value


def err_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    max_relevance: float = 1.0,
) -> float:
    """Return the expected reciprocal rank of the item at which the user stops.

    ``max_relevance`` is the largest relevance of the scale: a larger one raises.

    >>> round(err_at_k([2, 1], {1: 3, 2: 2}, 2, max_relevance=4), 5)
    0.36523
    """
    if not relevant_items(relevance_scores):
        return math.nan
    largest = max(relevances(relevance_scores).values())
    if largest > max_relevance:
        raise ScoreError("a relevance is above the largest grade",
                         found=f"{largest:g} > {max_relevance:g}",
                         hint="pass max_relevance=5 for a scale that ends at 5")  # fmt: skip
    total, reached = 0.0, 1.0  # reached: the probability that the user sees this rank
    for rank, gain in enumerate(_gains(recommended, relevance_scores, k, "exponential"), start=1):
        stops = gain / 2.0**max_relevance
        total += reached * stops / rank
        reached *= 1 - stops
    return total


def confusion_at_k(
    recommended: Items, relevant: Relevant, k: int | None = None, *, catalog_size: int
) -> dict[str, int]:
    """Return the confusion matrix of recommended and relevant items.

    >>> confusion_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20)
    {'tp': 2, 'fp': 1, 'fn': 1, 'tn': 16}
    """
    relevant = relevant_items(relevant)
    n, hits = len(top(recommended, k)), sum(hits_of(recommended, relevant, k))
    missed = len(relevant) - hits
    return {"tp": hits, "fp": n - hits, "fn": missed, "tn": catalog_size - n - missed}
