"""Metrics over all users: means of per-user metrics, and counts of recommended items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Literal, TypeAlias

from rankwise.errors import InputError, ParameterError
from rankwise.functional.accuracy import Items, Judged, Lists, check_option, relevant_items, top
from rankwise.functional.average_precision import average_precision_at_k
from rankwise.functional.graded import GainKind, ndcg_at_k

__all__ = [
    "catalog_coverage",
    "gini_coefficient",
    "herfindahl_index",
    "item_counts_at_k",
    "mean_average_precision_at_k",
    "mean_ndcg_at_k",
    "shannon_entropy",
]


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN if all are."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


Truth: TypeAlias = Mapping[Hashable, Judged]


def _mean_over_lists(recommendations: Lists, truth: Truth, value: Callable[[Items, Judged], float]) -> float:
    """Return the mean over users who have a list and relevant items; 0 if nobody has both."""
    for name, by_user in (("recommendations", recommendations), ("the ground truth", truth)):
        if not isinstance(by_user, Mapping):
            raise InputError(
                f"{name} must be a dict by user",
                found=type(by_user).__name__,
                hint="pass {user: [items]} and {user: {items}}",
            )
    values = [
        value(listed, truth[user])
        for user, listed in recommendations.items()
        if user in truth and relevant_items(truth[user])
    ]
    return sum(values) / len(values) if values else 0.0


def mean_average_precision_at_k(
    recommendations: Lists,
    ground_truth: Truth,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits"] = "min",
) -> float:
    """Mean of `average_precision_at_k` over the users who have a list and relevant items; 0 without any.

    Users without a list are left out, so a model that serves few users is not penalised;
    `rankwise.evaluate` counts them as 0 unless ``population="both"``. An empty list counts as 0.
    ``normaliser`` is as for `average_precision_at_k`.

    >>> mean_average_precision_at_k({1: [5, 6], 2: [7]}, {1: {5}, 2: {6}, 3: {6}}, 2)
    0.5
    """
    return _mean_over_lists(
        recommendations,
        ground_truth,
        lambda listed, relevant: average_precision_at_k(listed, relevant, k, normaliser=normaliser),
    )


def mean_ndcg_at_k(
    recommendations: Lists, relevance_scores: Truth, k: int | None = None, *, gain: GainKind = "linear"
) -> float:
    """Mean of `ndcg_at_k` over the users who have a list and relevant items; 0 without any.

    ``relevance_scores`` maps each user to a set of relevant items, or to a dict of item to
    relevance; ``gain`` is as for `dcg_at_k`. Users without a list are left out, as in
    `mean_average_precision_at_k`.

    >>> mean_ndcg_at_k({1: [5, 6], 2: [7]}, {1: {5: 3}, 2: {6: 1}, 3: {6: 1}}, 2)
    0.5
    >>> mean_ndcg_at_k({1: [5, 6]}, {1: {5}}, 2)
    1.0
    """
    return _mean_over_lists(
        recommendations, relevance_scores, lambda listed, scores: ndcg_at_k(listed, scores, k, gain=gain)
    )


def item_counts_at_k(recommendations: Lists, k: int | None = None) -> Counter[Hashable]:
    """Return the number of users with each item in the top k.

    >>> item_counts_at_k({1: ["a", "b"], 2: ["a"]}, 1)
    Counter({'a': 2})
    """
    return Counter(item for listed in recommendations.values() for item in top(listed, k))


def _exposures(recommendations: Lists, k: int | None) -> dict[Hashable, float]:
    """Return the exposure of each item: the sum over users of 1 / log2(rank + 1) in the top k."""
    exposures: dict[Hashable, float] = {}
    for listed in recommendations.values():
        for rank, item in enumerate(top(listed, k), start=1):
            exposures[item] = exposures.get(item, 0.0) + 1 / math.log2(rank + 1)
    return exposures


def catalog_coverage(recommendations: Lists, catalog_size: int, k: int | None = None, *, padding: int = 0) -> float:
    """Catalogue coverage: share of the catalogue that is in the top k of at least one user.

    ``padding`` is a number of never recommended items to add to the catalogue.

    >>> catalog_coverage({0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}, 100, 3)
    0.05
    """
    if catalog_size < 1:
        raise ParameterError("a catalogue has at least one item", found=str(catalog_size))
    return len(item_counts_at_k(recommendations, k)) / (catalog_size + padding)


def gini_coefficient(
    recommendations: Lists,
    k: int | None = None,
    *,
    over: Literal["recommended", "catalogue"] | None = None,
    catalog_size: int | None = None,
    exposure: Literal["count", "log"] = "count",
    corrected: bool = True,
    padding: int = 0,
) -> float:
    """Gini index of the recommendation counts of items: 0 if all are equal, 1 for a single item.

    ``over="catalogue"`` counts all ``catalog_size`` items of the catalogue and ``padding`` more,
    ``over="recommended"`` only items recommended at least once. By default it is the catalogue if
    ``catalog_size`` is given, else the recommended items. Without any recommendation the value is 0
    over the recommended items, and NaN over the catalogue. With ``exposure="log"``, an item at
    rank i adds 1 / log2(i + 1) instead of 1. Over a catalogue of n items the largest value is 1, or
    1 - 1/n with ``corrected=False``.

    >>> lists = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> round(gini_coefficient(lists, 3, catalog_size=10), 4)
    0.679
    >>> round(gini_coefficient(lists, 3), 4)
    0.2222
    >>> round(gini_coefficient({0: [1, 2]}, over="recommended", exposure="log"), 4)
    0.1131
    """
    check_option("exposure", exposure, "count", "log")
    over = over or ("recommended" if catalog_size is None else "catalogue")
    check_option("over", over, "recommended", "catalogue")
    exposures = item_counts_at_k(recommendations, k) if exposure == "count" else _exposures(recommendations, k)
    counts = sorted(exposures.values())
    if not counts:
        return 0.0 if over == "recommended" else math.nan
    n = m = len(counts)
    if over == "catalogue":
        if catalog_size is None or catalog_size < len(counts):
            raise ParameterError("over='catalogue' needs the size of the catalogue", found=f"{catalog_size}")
        n = catalog_size + padding
        m = n - 1 if corrected else n
    if m == 0:
        return 0.0
    first = n - len(counts) + 1  # items that are never recommended have the ranks before
    weighted = sum((2 * rank - n - 1) * count for rank, count in enumerate(counts, first))
    return weighted / (m * sum(counts))


def herfindahl_index(recommendations: Lists, k: int | None = None) -> float:
    """Herfindahl index: sum of the squared shares of the items in all recommendations.

    >>> herfindahl_index({0: [1, 2], 1: [1, 3]}, 2)
    0.375
    """
    counts = item_counts_at_k(recommendations, k).values()
    total = sum(counts)
    return sum((count / total) ** 2 for count in counts) if total else math.nan


def shannon_entropy(recommendations: Lists, k: int | None = None, *, log_base: float | None = None) -> float:
    """Shannon entropy of the distribution of recommendations over items, in nats by default.

    >>> shannon_entropy({1: [1, 2], 2: [3, 4]}, 2, log_base=2)
    2.0
    """
    counts = item_counts_at_k(recommendations, k)
    if not counts:
        return math.nan
    total = sum(counts.values())
    nats = -sum(count / total * math.log(count / total) for count in counts.values())
    return nats if log_base is None else nats / math.log(log_base)
