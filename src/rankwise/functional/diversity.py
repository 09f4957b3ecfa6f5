"""Diversity within one user's recommendation list, from item features."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias

from rankwise.errors import InputError, ParameterError
from rankwise.functional.accuracy import Items, check_option, top

__all__ = ["intra_list_diversity"]


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    norms = math.hypot(*first) * math.hypot(*second)
    return 1 - product / norms if norms else 1.0


def _jaccard(first: Collection[Hashable], second: Collection[Hashable]) -> float:
    union = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(union) if union else 0.0


_DISTANCES: dict[str, Callable[..., float]] = {"cosine": _cosine, "euclidean": math.dist, "jaccard": _jaccard}
Features: TypeAlias = Mapping[Hashable, Any] | Sequence[Sequence[float]]


def intra_list_diversity(
    recommended: Items,
    item_features: Features,
    k: int | None = None,
    *,
    distance: Literal["cosine", "jaccard", "euclidean"] | Callable[..., float] = "cosine",
    single: Literal["zero", "one", "skip"] = "zero",
) -> float:
    """Mean distance between the items of the top k, over all pairs.

    ``item_features`` maps each item to a vector (cosine, euclidean) or to a set of categories
    (jaccard); or it is a matrix with one row per item, for items that are numbers from 0.
    ``distance`` may also be a function of the features of two items. ``single`` is the value of a
    list with one item: 0, 1, or NaN (``"skip"``). The value of an empty list is 0 with
    ``single="zero"``, else NaN.

    >>> intra_list_diversity([0, 2], [[1, 0], [1, 1], [0, 1]])
    1.0
    >>> intra_list_diversity(["a", "b"], {"a": {"war"}, "b": {"war", "drama"}}, distance="jaccard")
    0.5
    """
    check_option("single", single, "zero", "one", "skip")
    if isinstance(distance, str) and distance not in _DISTANCES:
        raise ParameterError(
            f"distance must be one of {', '.join(_DISTANCES)}, or a callable", found=f"distance={distance!r}"
        )
    if distance == "jaccard" and not isinstance(item_features, Mapping):
        raise ParameterError(
            "distance='jaccard' compares sets of categories, not vectors", hint="pass {item: {categories}}"
        )
    distance_of = _DISTANCES[distance] if isinstance(distance, str) else distance
    items = top(recommended, k)
    if len(items) < 2:
        return {"zero": 0.0, "one": 1.0 if items else math.nan, "skip": math.nan}[single]
    features = [_features_of(item, item_features) for item in items]
    pairs = [(a, b) for i, a in enumerate(features) for b in features[:i]]
    try:
        return float(sum(distance_of(a, b) for a, b in pairs)) / len(pairs)
    except (TypeError, ValueError) as error:
        raise InputError(
            "the distance of two items cannot be computed from their features",
            found=str(error),
            hint="vectors hold numbers, and all have one length",
        ) from error


def _features_of(item: object, features: Features) -> Any:
    """Return the features of an item; raise if it has none."""
    if isinstance(features, Mapping):
        if item in features:
            return features[item]
    elif not _is_matrix(features):
        raise InputError("item_features is a dense matrix, or a dict by item", found=type(features).__name__)
    elif isinstance(item, Integral) and 0 <= int(item) < len(features):  # -1 would be the last row
        return features[int(item)]
    raise ParameterError("an item has no features", found=repr(item))


def _is_matrix(features: object) -> bool:
    """Return whether features are rows of numbers; tables have columns, sparse matrices neither."""
    array = hasattr(features, "__array__") and not hasattr(features, "columns")
    return isinstance(features, list | tuple) or (array and getattr(features, "ndim", 0) == 2)
