"""Descriptions of one user's recommendation list: diversity, categories, and list hygiene.

``recommended`` is a list of items, best first. Shares are NaN for an empty list.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias

from rankwise.errors import InputError, ParameterError
from rankwise.functional.accuracy import (
    Items,
    Lists,
    Relevant,
    check_fraction,
    check_k,
    check_option,
    is_number,
    relevant_items,
    top,
)
from rankwise.messages import parameter

__all__ = [
    "alpha_ndcg_at_k",
    "calibration_error_at_k",
    "category_count_at_k",
    "category_entropy_at_k",
    "cold_item_share_at_k",
    "duplicate_rate",
    "intra_list_diversity",
    "mean_score_at_k",
    "num_retrieved_at_k",
    "overlap_at_k",
    "personalization_at_k",
    "rbo_at_k",
    "repeated_at_k",
    "subtopic_recall_at_k",
    "unsatisfied_at_k",
    "user_coverage_at_k",
    "user_coverage_at_n",
    "validity_at_k",
]


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    norms = math.hypot(*first) * math.hypot(*second)
    return 1 - product / norms if norms else 1.0


def _jaccard(first: Collection[Hashable], second: Collection[Hashable]) -> float:
    union = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(union) if union else 0.0


def _hamming(first: Sequence[float], second: Sequence[float]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


_DISTANCES: dict[str, Callable[..., float]] = {
    "cosine": _cosine,
    "euclidean": math.dist,
    "hamming": _hamming,
    "jaccard": _jaccard,
}
Features: TypeAlias = Mapping[Hashable, Any] | Sequence[Sequence[float]]


def intra_list_diversity(
    recommended: Items,
    item_features: Features,
    k: int | None = None,
    *,
    distance: Literal["cosine", "jaccard", "euclidean", "hamming"]
    | Callable[..., float] = "cosine",
    single: Literal["zero", "one", "skip"] = "zero",
) -> float:
    """Mean distance between the items of the top k, over all pairs.

    ``item_features`` maps each item to a vector (cosine, euclidean, hamming: the number of features
    that differ) or to a set of categories (jaccard); or it is a matrix with one row per item, for
    items that are numbers from 0. ``distance`` may also be a function of the features of two items.
    ``single`` is the value of a list with one item: 0, 1, or NaN (``"skip"``). The value of an
    empty list is 0 with ``single="zero"``, else NaN, and that of several items without any category
    is NaN.

    >>> intra_list_diversity([0, 2], [[1, 0], [1, 1], [0, 1]])
    1.0
    >>> intra_list_diversity(["a", "b"], {"a": {"war"}, "b": {"war", "drama"}}, distance="jaccard")
    0.5
    """
    check_option("single", single, "zero", "one", "skip")
    if isinstance(distance, str) and distance not in _DISTANCES:
        raise ParameterError(
            f"distance must be one of {', '.join(_DISTANCES)}, or a callable",
            found=parameter("distance", distance),
        )
    if distance == "jaccard" and not isinstance(item_features, Mapping):
        raise ParameterError(
            f"{parameter('distance', 'jaccard')} compares sets of categories, not vectors",
            hint="pass {item: {categories}}",
        )
    distance_of = _DISTANCES[distance] if isinstance(distance, str) else distance
    items = top(recommended, k)
    if len(items) < 2:
        return {"zero": 0.0, "one": 1.0 if items else math.nan, "skip": math.nan}[single]
    features = [_features_of(item, item_features) for item in items]
    if distance == "jaccard" and not any(features):
        return math.nan
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
    """Return the features of an item; raise if the item has none."""
    if isinstance(features, Mapping):
        if item in features:
            return features[item]
    elif not _is_matrix(features):
        raise InputError(
            "item_features is a dense matrix, or a dict by item", found=type(features).__name__
        )
    elif isinstance(item, Integral) and 0 <= int(item) < len(features):  # -1 would be the last row
        return features[int(item)]
    raise ParameterError("an item has no features", found=repr(item))


def _is_matrix(features: object) -> bool:
    """Return whether features are rows of numbers; tables have columns, sparse matrices neither."""
    array = hasattr(features, "__array__") and not hasattr(features, "columns")
    return isinstance(features, list | tuple) or (array and getattr(features, "ndim", 0) == 2)


def num_retrieved_at_k(
    recommended: Items, k: int | None = None, *, as_share: bool = False
) -> float:
    """Return the number of items in the top k; with ``as_share``, divided by k.

    >>> num_retrieved_at_k([1, 3, 5], 5), num_retrieved_at_k([1, 3, 5], 5, as_share=True)
    (3, 0.6)
    """
    n = len(top(recommended, k))
    if not as_share:
        return n
    if k is None:
        raise ParameterError(f"{parameter('as_share', True)} needs a k", found=parameter("k", None))
    return n / k


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


def cold_item_share_at_k(
    recommended: Items, training_items: Collection[Hashable], k: int | None = None
) -> float:
    """Share of cold-start items in the top k: items without training interactions.

    >>> cold_item_share_at_k([1, 3, 5, 7], {1, 3, 5}, 4)
    0.25
    """
    items = top(recommended, k)
    return sum(item not in training_items for item in items) / len(items) if items else math.nan


def validity_at_k(
    recommended: Items, catalogue: Collection[Hashable], k: int | None = None
) -> float:
    """Share of the top k that is in the catalogue: ids of items that exist.

    >>> validity_at_k([1, 3, 5, "the matrix (1998)"], {1, 3, 5}, 4)
    0.75
    """
    items = top(recommended, k)
    return sum(item in catalogue for item in items) / len(items) if items else math.nan


def overlap_at_k(
    recommended: Items,
    reference: Items,
    k: int,
    *,
    denominator: Literal["length", "k", "union"] = "length",
) -> float:
    """Share of the top k that is also in the top k of a reference list.

    The denominator is the number of items in the top k, k, or the number of items in at least one
    of the two (``"union"``). NaN without a reference list.

    >>> overlap_at_k([1, 3, 5, 7], [3, 9, 1], 2), overlap_at_k([1, 3], [3], 2, denominator="union")
    (0.5, 0.5)
    """
    items, reference_items = top(recommended, k), set(top(reference, k))
    if not items or not reference_items:
        return math.nan
    among = {"length": len(items), "k": k, "union": len(reference_items.union(items))}[denominator]
    return len(reference_items.intersection(items)) / among


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


Categories: TypeAlias = Mapping[Any, Collection[str]]


def _categories_of(items: Iterable[Hashable], categories: Categories) -> set[str]:
    return {category for item in items for category in categories.get(item, ())}


def subtopic_recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    categories: Categories,
    of: Literal["list", "hits"] = "list",
    over: Literal["relevant", "all"] = "relevant",
) -> float:
    """Subtopic recall: share of the categories of the relevant items that the top k covers.

    ``of="hits"`` counts only the categories of relevant items in the top k as covered;
    ``over="all"`` returns the share of the categories of all items.

    >>> subtopic_recall_at_k([1, 2], {3}, 2, categories={1: {"war"}, 3: {"war", "comedy"}})
    0.5
    """
    relevant = relevant_items(relevant)
    target = _categories_of(relevant if over == "relevant" else categories, categories)
    items = top(recommended, k)
    counted = items if of == "list" else [item for item in items if item in relevant]
    covered = _categories_of(counted, categories) & target
    return len(covered) / len(target) if relevant and target else math.nan


def _alpha_gains(items: Iterable[Hashable], categories: Categories, alpha: float) -> list[float]:
    """Return the undiscounted gain of every item, given the earlier items."""
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
    best = sum(
        gain / math.log2(rank + 1)
        for rank, gain in enumerate(_alpha_gains(ideal, categories, alpha), start=1)
    )
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
    recommended: Items,
    history: Collection[Hashable],
    k: int,
    *,
    categories: Categories,
    alpha: float = 0.01,
) -> float:
    """Calibration error: Kullback-Leibler divergence of list categories from history, in nats.

    ``alpha`` is the weight of the history's distribution in its mixture with that of the top k.

    >>> calibration_error_at_k([3], {1}, 1, categories={1: {"war"}, 3: {"war"}})
    0.0
    """
    p, q = _shares(history, categories), _shares(top(recommended, k), categories)
    if not p or not q:
        return math.nan
    total = sum(
        share * math.log(share / ((1 - alpha) * q.get(name, 0.0) + alpha * share))
        for name, share in p.items()
    )
    return max(total, 0.0)


def category_entropy_at_k(
    recommended: Items,
    categories: Categories,
    k: int | None = None,
    *,
    log_base: float | None = None,
    weight: Literal["equal", "geometric"] = "equal",
    patience: float = 0.5,
    smoothing: float = 0.0,
) -> float:
    """Entropy of the category distribution of the top k, in nats or to the base ``log_base``.

    An item counts in equal shares for its categories, and not at all if it has none; NaN if no item
    has a category. With ``weight="geometric"``, the item at rank i counts ``patience`` to the power
    of i - 1. ``smoothing`` is added to the total of each category of all items.

    >>> categories = {1: {"war"}, 2: {"war", "drama"}, 3: {"drama"}}
    >>> category_entropy_at_k([1, 2, 3, 4], categories, log_base=2)
    1.0
    """
    if log_base is not None and not (is_number(log_base) and log_base > 1):
        raise ParameterError("log_base must be above 1", found=parameter("log_base", log_base))
    items = top(recommended, k)
    if not any(categories.get(item) for item in items):
        return math.nan
    totals = dict.fromkeys(_categories_of(categories, categories), smoothing)
    for rank, item in enumerate(items, start=1):
        for name in categories.get(item, ()):
            counted = patience ** (rank - 1) if weight == "geometric" else 1.0
            totals[name] += counted / len(categories[item])
    shares = [total / sum(totals.values()) for total in totals.values() if total > 0]
    nats = max(0.0, sum(share * math.log(1 / share) for share in shares))
    return nats if log_base is None else nats / math.log(log_base)


def category_count_at_k(
    recommended: Items, categories: Categories, k: int | None = None, *, as_share: bool = False
) -> float:
    """Return the number of distinct categories in the top k; with ``as_share`` divided by k.

    >>> category_count_at_k([1, 2, 4], {1: {"war"}, 2: {"war", "drama"}, 3: {"comedy"}})
    2.0
    >>> category_count_at_k([1, 2], {1: {"war"}, 2: {"war"}}, 2, as_share=True)
    0.5
    """
    items = top(recommended, k)
    n = (k or len(items)) if as_share else 1
    return len(_categories_of(items, categories)) / n if items else math.nan


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
