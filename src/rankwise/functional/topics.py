"""Diversity and calibration over item categories; ``categories`` maps each item to a set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import Items, Lists, Relevant, is_number, relevant_items, top

__all__ = [
    "alpha_ndcg_at_k",
    "calibration_error_at_k",
    "category_count_at_k",
    "category_entropy_at_k",
    "personalization_at_k",
    "subtopic_recall_at_k",
]


Categories: TypeAlias = Mapping[Any, Collection[str]]


def _categories_of(items: Iterable[Hashable], categories: Categories) -> set[str]:
    return {category for item in items for category in categories.get(item, ())}


def subtopic_recall_at_k(
    recommended: Items, relevant: Relevant, k: int, *, categories: Categories, of: Literal["list", "hits"] = "list"
) -> float:
    """Subtopic recall: share of the categories of the relevant items that the top k covers.

    ``of="hits"`` counts only the categories of relevant items in the top k as covered.

    >>> subtopic_recall_at_k([1, 2], {3}, 2, categories={1: {"war"}, 3: {"war", "comedy"}})
    0.5
    """
    relevant = relevant_items(relevant)
    of_relevant = _categories_of(relevant, categories)
    items = top(recommended, k)
    counted = items if of == "list" else [item for item in items if item in relevant]
    covered = _categories_of(counted, categories) & of_relevant
    return len(covered) / len(of_relevant) if of_relevant else math.nan


def _alpha_gains(items: Iterable[Hashable], categories: Categories, alpha: float) -> list[float]:
    """Return the undiscounted gain of every item, given the items before it."""
    seen = Counter[str]()
    gains = []
    for item in items:
        names = sorted(categories.get(item, ()))
        gains.append(sum((1 - alpha) ** seen[name] for name in names))
        seen.update(names)
    return gains


def alpha_ndcg_at_k(
    recommended: Items, relevant: Relevant, k: int, *, categories: Categories, alpha: float = 0.5
) -> float:
    """Alpha-nDCG: nDCG in which a category loses the share ``alpha`` of its gain when repeated.

    The ideal list is built greedily from the relevant items.

    >>> categories = {1: {"war"}, 2: {"war"}, 3: {"drama"}}
    >>> round(alpha_ndcg_at_k([1, 2, 3], {1, 2, 3}, 2, categories=categories), 5)
    0.80657
    """
    relevant = relevant_items(relevant)
    ideal: list[Hashable] = []
    left = sorted(relevant, key=lambda item: sorted(categories.get(item, ())))
    while left and len(ideal) < k:
        chosen = max(left, key=lambda item: _alpha_gains([*ideal, item], categories, alpha)[-1])
        ideal.append(chosen)
        left.remove(chosen)
    hits = [(rank, item) for rank, item in enumerate(top(recommended, k), 1) if item in relevant]
    gains = _alpha_gains([item for _, item in hits], categories, alpha)
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(_alpha_gains(ideal, categories, alpha), start=1))
    dcg = sum(gain / math.log2(rank + 1) for gain, (rank, _) in zip(gains, hits, strict=True))
    return min(dcg / best, 1.0) if best else math.nan


def _shares(items: Iterable[Hashable], categories: Categories) -> dict[str, float]:
    """Return the distribution of items over categories; the weight of an item is split equally."""
    categorised = [item for item in items if categories.get(item)]
    shares: dict[str, float] = {}
    for item in categorised:
        for name in categories[item]:
            shares[name] = shares.get(name, 0.0) + 1 / len(categories[item]) / len(categorised)
    return shares


def calibration_error_at_k(
    recommended: Items, history: Collection[Hashable], k: int, *, categories: Categories, alpha: float = 0.01
) -> float:
    """Calibration error: Kullback-Leibler divergence of list categories from history, in nats.

    ``alpha`` is the weight of the history's distribution in its mixture with that of the top k.

    >>> calibration_error_at_k([3], {1}, 1, categories={1: {"war"}, 3: {"war"}})
    0.0
    """
    p, q = _shares(history, categories), _shares(top(recommended, k), categories)
    if not p or not q:
        return math.nan
    total = sum(share * math.log(share / ((1 - alpha) * q.get(name, 0.0) + alpha * share)) for name, share in p.items())
    return max(total, 0.0)


def category_entropy_at_k(
    recommended: Items, categories: Categories, k: int | None = None, *, log_base: float | None = None
) -> float:
    """Entropy of the category distribution of the top k, in nats or to the base ``log_base``.

    An item counts in equal shares for its categories, and not at all if it has none; NaN if no item
    has a category.

    >>> categories = {1: {"war"}, 2: {"war", "drama"}, 3: {"drama"}}
    >>> category_entropy_at_k([1, 2, 3, 4], categories, log_base=2)
    1.0
    """
    if log_base is not None and not (is_number(log_base) and log_base > 1):
        raise ParameterError("log_base must be above 1", found=f"log_base={log_base!r}")
    shares = _shares(top(recommended, k), categories).values()
    if not shares:
        return math.nan
    nats = max(0.0, sum(share * math.log(1 / share) for share in shares))
    return nats if log_base is None else nats / math.log(log_base)


def category_count_at_k(recommended: Items, categories: Categories, k: int | None = None) -> float:
    """Return the number of distinct categories in the top k.

    >>> category_count_at_k([1, 2, 4], {1: {"war"}, 2: {"war", "drama"}, 3: {"comedy"}})
    2
    """
    items = top(recommended, k)
    return len(_categories_of(items, categories)) if items else math.nan


def personalization_at_k(recommendations: Lists, k: int) -> float:
    """Personalisation: 1 − mean cosine similarity of the top k of two users, over all pairs.

    >>> round(personalization_at_k({0: [1, 2], 1: [1, 3], 2: [1, 2]}, 2), 4)
    0.3333
    """
    lists = [set(top(items, k)) for items in recommendations.values() if items]
    pairs = [(a, b) for i, a in enumerate(lists) for b in lists[:i]]
    if not pairs:
        return math.nan
    return 1 - sum(len(a & b) / math.sqrt(len(a) * len(b)) for a, b in pairs) / len(pairs)
