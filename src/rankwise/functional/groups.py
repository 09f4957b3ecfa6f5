"""Fairness over groups of items or users, and several objectives in one number.

Recommendation lists, relevant items and histories are mappings from user; groups are mappings from
item or user to the name of its group.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import Lists, Relevances, Sets, top
from rankwise.functional.graded import GainKind, gain_of

__all__ = [
    "bias_disparity",
    "euclidean_distance",
    "group_means",
    "hypervolume",
    "item_mad_ranking",
    "item_mad_rating",
    "mean_difference",
    "preference_ratios",
    "relative_spread",
    "reo_at_k",
    "rsp_at_k",
]


Groups: TypeAlias = Mapping[Hashable, str]


def relative_spread(values: Iterable[float]) -> float:
    """Return the population standard deviation over the mean, of the values that are not NaN.

    >>> relative_spread([1, 3])
    0.5
    """
    defined = [value for value in values if not math.isnan(value)]
    mean = sum(defined) / len(defined) if len(defined) > 1 else 0
    if not mean:
        return math.nan
    return math.sqrt(sum((value - mean) ** 2 for value in defined) / len(defined)) / mean


def mean_difference(values: Iterable[float]) -> float:
    """Mean absolute difference over all pairs of the values that are not NaN.

    >>> mean_difference([1, 2, 4])
    2.0
    """
    pairs = list(combinations([value for value in values if not math.isnan(value)], 2))
    return sum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else math.nan


def group_means(values: Mapping[Hashable, float], groups: Groups) -> dict[str, float]:
    """Return the mean of each group, over its members whose value is not NaN.

    >>> group_means({1: 0.5, 2: 1.0, 3: 0.0}, {1: "a", 2: "a", 3: "b"})
    {'a': 0.75, 'b': 0.0}
    """
    members: dict[str, list[float]] = {}
    for member, value in values.items():
        if member in groups and not math.isnan(value):
            members.setdefault(groups[member], []).append(value)
    return {group: sum(known) / len(known) for group, known in sorted(members.items())}


def _rates(part: Counter[str], whole: Counter[str]) -> dict[str, float]:
    return {group: part[group] / whole[group] for group in sorted(whole) if whole[group]}


def reo_at_k(
    recommendations: Lists, relevant: Sets, k: int, *, groups: Groups, of: Literal["hits", "recommended"] = "hits"
) -> dict[str, float]:
    """Return the recall of each item group: the share of its relevant items that is recommended.

    ``of="recommended"`` counts all recommended items of the group, relevant or not. The metric is
    the `relative_spread` of these values.

    >>> reo_at_k({1: [1, 3]}, {1: {1, 2}}, 2, groups={1: "a", 2: "b", 3: "b"})
    {'a': 1.0, 'b': 0.0}
    """
    part, whole = Counter[str](), Counter[str]()
    for user, items in relevant.items():
        whole.update(groups[item] for item in items if item in groups)
        for item in top(recommendations.get(user, []), k):
            if item in groups and (of == "recommended" or item in items):
                part[groups[item]] += 1
    return _rates(part, whole)


def rsp_at_k(
    recommendations: Lists,
    k: int,
    *,
    groups: Groups,
    history: Sets | None = None,
    seen: Literal["excluded", "included"] = "excluded",
) -> dict[str, float]:
    """Return the probability that a candidate of each item group is recommended.

    Items of a user's training history are not candidates, unless they are in the list; with
    ``seen="included"``, all items are candidates. The metric is the `relative_spread` of these
    values.

    >>> groups = {1: "a", 2: "b", 3: "b"}
    >>> rsp_at_k({1: [1], 2: [3]}, 1, groups=groups, history={1: {2}})
    {'a': 0.5, 'b': 0.3333333333333333}
    >>> rsp_at_k({1: [1], 2: [3]}, 1, groups=groups, seen="included")
    {'a': 0.5, 'b': 0.25}
    """
    if seen == "excluded" and history is None:
        raise ParameterError(
            "seen='excluded' needs the training history of users", hint="pass history={user: items}, or seen='included'"
        )
    part, whole = Counter[str](), Counter[str]()
    for user, items in recommendations.items():
        if items:
            part.update(groups[item] for item in top(items, k) if item in groups)
            past = set((history or {}).get(user, ())) - set(items) if seen == "excluded" else ()
            whole.update(group for item, group in groups.items() if item not in past)
    return _rates(part, whole)


def preference_ratios(
    interactions: Mapping[Hashable, Iterable[Hashable]], *, user_groups: Groups, item_groups: Groups, catalog_size: int
) -> dict[tuple[str, str], float]:
    """Return the preference ratio of each pair of a user group and an item group.

    It is the share of the user group's interactions that are in the item group, over the item
    group's share of the catalogue.

    >>> preference_ratios({1: [1, 2]}, user_groups={1: "x"}, item_groups={1: "a", 2: "a"},
    ...                   catalog_size=4)
    {('x', 'a'): 2.0}
    """
    cells, totals = Counter[tuple[str, str]](), Counter[str]()
    for user, items in interactions.items():
        if user in user_groups:
            for item in items:
                totals[user_groups[user]] += 1
                if item in item_groups:
                    cells[user_groups[user], item_groups[item]] += 1
    sizes = Counter(item_groups.values())
    return {
        (u, c): cells[u, c] / totals[u] / (sizes[c] / catalog_size) if totals[u] else math.nan
        for u in sorted(set(user_groups.values()))
        for c in sorted(sizes)
    }


def bias_disparity(
    recommended: Mapping[tuple[str, str], float], source: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Bias disparity: relative change of each preference ratio from source to recommendations.

    >>> bias_disparity({("x", "a"): 2.0}, {("x", "a"): 1.0})
    {('x', 'a'): 1.0}
    """
    return {cell: value / source[cell] - 1 if source[cell] > 0 else math.nan for cell, value in recommended.items()}


def item_mad_ranking(
    recommendations: Lists,
    relevance_scores: Mapping[Hashable, Relevances],
    k: int,
    *,
    groups: Groups,
    gain: GainKind = "linear",
    discount: Literal["log", "none"] = "log",
) -> dict[str, float]:
    """Return each item group's mean gain when recommended; their `mean_difference` is the metric.

    ``gain`` is as for `dcg_at_k`; ``discount="log"`` divides gains by log2(rank + 1).

    >>> item_mad_ranking({1: [1, 2]}, {1: {1: 1}}, 2, groups={1: "a", 2: "b"})
    {'a': 1.0, 'b': 0.0}
    """
    gains: dict[Hashable, list[float]] = {}
    for user, items in recommendations.items():
        for rank, item in enumerate(top(items, k), start=1):
            value = gain_of(relevance_scores.get(user, {}).get(item, 0), gain)
            if discount == "log":
                value /= math.log2(rank + 1)
            gains.setdefault(item, []).append(value)
    return group_means({item: sum(values) / len(values) for item, values in gains.items()}, groups)


def item_mad_rating(
    scores: Mapping[Hashable, Sequence[tuple[Any, float]]], relevant: Sets, k: int, *, groups: Groups
) -> dict[str, float]:
    """Return each item group's mean score over hits; their `mean_difference` is the metric.

    >>> item_mad_rating({1: [(1, 5.0), (2, 3.0)]}, {1: {1, 2}}, 2, groups={1: "a", 2: "b"})
    {'a': 5.0, 'b': 3.0}
    """
    hits: dict[Hashable, list[float]] = {}
    for user, pairs in scores.items():
        for item, score in pairs[:k]:
            if item in relevant.get(user, ()):
                hits.setdefault(item, []).append(score)
    return group_means({item: sum(values) / len(values) for item, values in hits.items()}, groups)


def euclidean_distance(values: Sequence[float], utopia: Sequence[float]) -> float:
    """Euclidean distance of metric values from the utopia point, the best value of each.

    >>> euclidean_distance([0.5, 1.0], [1.0, 1.0])
    0.5
    """
    return math.sqrt(sum((value - best) ** 2 for value, best in zip(values, utopia, strict=True)))


def hypervolume(values: Sequence[float], nadir: Sequence[float], higher_is_better: Sequence[bool]) -> float:
    """Volume of the box between metric values and the nadir point, the worst acceptable values.

    >>> hypervolume([0.5, 0.25], [0.0, 1.0], [True, False])
    0.375
    """
    sides = [
        value - worst if higher else worst - value
        for value, worst, higher in zip(values, nadir, higher_is_better, strict=True)
    ]
    return math.prod(0.0 if side < 0 else side for side in sides)
