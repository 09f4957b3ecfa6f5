"""Diversity over categories, for one user's list. ``categories`` gives each item a set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from rankwise.functional.lists import top

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from rankwise.functional.lists import Items, Relevant

__all__ = [
    "alpha_ndcg_at_k",
    "calibration_error_at_k",
    "personalization_at_k",
    "subtopic_recall_at_k",
]


def _all(items: Iterable[Hashable], categories: Mapping[Any, Collection[str]]) -> set[str]:
    return {category for item in items for category in categories.get(item, ())}


def subtopic_recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    categories: Mapping[Any, Collection[str]],
    of: Literal["list", "hits"] = "list",
) -> float:
    """Share of the categories of the relevant items that the top k covers.

    >>> subtopic_recall_at_k([1, 2], {3}, 2, categories={1: {"war"}, 3: {"war", "comedy"}})
    0.5
    """
    wanted = _all(relevant, categories)
    own = top(recommended, k)
    counted = own if of == "list" else [item for item in own if item in relevant]
    return len(_all(counted, categories) & wanted) / len(wanted) if wanted else math.nan


def _alpha_dcg(
    items: Iterable[Hashable], categories: Mapping[Any, Collection[str]], alpha: float
) -> list[float]:
    """Return the undiscounted gain of every item, each after those before it."""
    seen: dict[str, int] = {}
    gains = []
    for item in items:
        gains.append(
            sum((1 - alpha) ** seen.get(one, 0) for one in sorted(categories.get(item, ())))
        )
        for one in categories.get(item, ()):
            seen[one] = seen.get(one, 0) + 1
    return gains


def alpha_ndcg_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    categories: Mapping[Any, Collection[str]],
    alpha: float = 0.5,
) -> float:
    """Return nDCG in which a category loses worth every time; the ideal list is built greedily.

    >>> categories = {1: {"war"}, 2: {"war"}, 3: {"drama"}}
    >>> round(alpha_ndcg_at_k([1, 2, 3], {1, 2, 3}, 2, categories=categories), 5)
    0.80657
    """
    ideal: list[Hashable] = []
    left = sorted(relevant, key=lambda item: sorted(categories.get(item, ())))
    while left and len(ideal) < k:
        best = max(left, key=lambda item: _alpha_dcg([*ideal, item], categories, alpha)[-1])
        ideal.append(best)
        left.remove(best)
    hits = [(rank, item) for rank, item in enumerate(top(recommended, k), 1) if item in relevant]
    found = _alpha_dcg([item for _, item in hits], categories, alpha)
    whole = sum(
        gain / math.log2(rank + 1)
        for rank, gain in enumerate(_alpha_dcg(ideal, categories, alpha), start=1)
    )
    total = sum(g / math.log2(rank + 1) for g, (rank, _) in zip(found, hits, strict=True))
    return min(total / whole, 1.0) if whole else math.nan


def _shares(
    items: Iterable[Hashable], categories: Mapping[Any, Collection[str]]
) -> dict[str, float]:
    having = [item for item in items if categories.get(item)]
    shares: dict[str, float] = {}
    for item in having:
        for one in categories[item]:
            shares[one] = shares.get(one, 0.0) + 1 / len(categories[item]) / len(having)
    return shares


def calibration_error_at_k(
    recommended: Items,
    history: Collection[Hashable],
    k: int,
    *,
    categories: Mapping[Any, Collection[str]],
    alpha: float = 0.01,
) -> float:
    """Divergence of the list's categories from those of the history, in nats.

    >>> calibration_error_at_k([3], {1}, 1, categories={1: {"war"}, 3: {"war"}})
    0.0
    """
    p, q = _shares(history, categories), _shares(top(recommended, k), categories)
    if not p or not q:
        return math.nan
    total = sum(
        share * math.log(share / ((1 - alpha) * q.get(one, 0.0) + alpha * share))
        for one, share in p.items()
    )
    return max(total, 0.0)


def personalization_at_k(recommendations: Mapping[Hashable, Items], k: int) -> float:
    """One less the mean cosine of the top k of two users, over all pairs.

    >>> round(personalization_at_k({0: [1, 2], 1: [1, 3], 2: [1, 2]}, 2), 4)
    0.3333
    """
    lists = [set(top(items, k)) for items in recommendations.values() if items]
    pairs = [(a, b) for at, a in enumerate(lists) for b in lists[:at]]
    if not pairs:
        return math.nan
    return 1 - sum(len(a & b) / math.sqrt(len(a) * len(b)) for a, b in pairs) / len(pairs)
