"""Diversity inside one user's list, from what is known about the items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rankwise.errors import ParameterError
from rankwise.functional.lists import top

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from rankwise.functional.lists import Items

__all__ = ["intra_list_diversity"]


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    lengths = math.hypot(*first) * math.hypot(*second)
    return 1 - product / lengths if lengths else 1.0


def _euclidean(first: Sequence[float], second: Sequence[float]) -> float:
    return math.dist(first, second)


def _jaccard(first: Collection[Hashable], second: Collection[Hashable]) -> float:
    either = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(either) if either else 0.0


_DISTANCES: dict[str, Callable[..., float]] = {
    "cosine": _cosine,
    "euclidean": _euclidean,
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

    ``item_features`` gives each item a vector (cosine, euclidean) or a set (jaccard). A list of
    one item has distance 0; an empty list has no value.

    >>> intra_list_diversity(["a", "b"], {"a": [1, 0], "b": [0, 1]})
    1.0
    >>> intra_list_diversity(["a", "b"], {"a": {"war"}, "b": {"war", "drama"}}, distance="jaccard")
    0.5
    """
    measure = _DISTANCES[distance] if isinstance(distance, str) else distance
    items = top(recommended, k)
    if len(items) < 2:
        return 0.0 if items else math.nan
    for item in items:
        if item not in item_features:
            raise ParameterError("an item has no features", found=repr(item))
    pairs = [(a, b) for place, a in enumerate(items) for b in items[:place]]
    return sum(measure(item_features[a], item_features[b]) for a, b in pairs) / len(pairs)
