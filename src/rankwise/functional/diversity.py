"""Diversity within one user's recommendation list, from item features."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Literal

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import Items, top

__all__ = ["intra_list_diversity"]


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    norms = math.hypot(*first) * math.hypot(*second)
    return 1 - product / norms if norms else 1.0


def _jaccard(first: Collection[Hashable], second: Collection[Hashable]) -> float:
    union = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(union) if union else 0.0


_DISTANCES: dict[str, Callable[..., float]] = {
    "cosine": _cosine,
    "euclidean": math.dist,
    "jaccard": _jaccard,
}


def intra_list_diversity(
    recommended: Items,
    item_features: Mapping[Hashable, Sequence[float]] | Mapping[Hashable, Collection[Hashable]],
    k: int | None = None,
    *,
    distance: Literal["cosine", "jaccard", "euclidean"] | Callable[..., float] = "cosine",
) -> float:
    """Mean distance between the items of the top k, over all pairs.

    ``item_features`` maps each item to a vector (cosine, euclidean) or a set (jaccard). The value
    is 0 for a list of one item, and NaN for an empty list.

    >>> intra_list_diversity(["a", "b"], {"a": [1, 0], "b": [0, 1]})
    1.0
    >>> intra_list_diversity(["a", "b"], {"a": {"war"}, "b": {"war", "drama"}}, distance="jaccard")
    0.5
    """
    distance_of = _DISTANCES[distance] if isinstance(distance, str) else distance
    items = top(recommended, k)
    if len(items) < 2:
        return 0.0 if items else math.nan
    for item in items:
        if item not in item_features:
            raise ParameterError("an item has no features", found=repr(item))
    pairs = [(a, b) for i, a in enumerate(items) for b in items[:i]]
    return sum(distance_of(item_features[a], item_features[b]) for a, b in pairs) / len(pairs)
