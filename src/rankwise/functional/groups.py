"""Metrics over all users: catalogue, exposure and fairness of groups, statistics of users.

Recommendation lists, relevant items and histories are mappings from user; groups are mappings from
item or user to the name of its group.

Exposure of item groups: the attention that users give to the ranks of their items.

``groups`` maps each item to the name of its group; items without a group do not count. The weight
of rank i is patience^(i − 1), or 1 / log2(i + 1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import (
    GainKind,
    Items,
    Lists,
    Relevances,
    Sets,
    as_written,
    check_fraction,
    check_option,
    gain_of,
    is_number,
    leaves_no_top,
    relevant_items,
    top,
)
from rankwise.messages import parameter

__all__ = [
    "awrf_at_k",
    "bias_disparity",
    "catalog_coverage",
    "euclidean_distance",
    "expected_exposure_at_k",
    "geometric_mean_of_users",
    "gini_coefficient",
    "group_means",
    "herfindahl_index",
    "hypervolume",
    "item_counts_at_k",
    "item_mad_ranking",
    "item_mad_rating",
    "mean_difference",
    "micro",
    "preference_ratios",
    "quantile_of_users",
    "relative_spread",
    "reo_at_k",
    "rsp_at_k",
    "shannon_entropy",
    "worst_share",
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
    return {group: sum(defined) / len(defined) for group, defined in sorted(members.items())}


def _rates(numerators: Counter[str], denominators: Counter[str]) -> dict[str, float]:
    return {
        group: numerators[group] / denominators[group]
        for group in sorted(denominators)
        if denominators[group]
    }


def reo_at_k(
    recommendations: Lists,
    relevant: Sets,
    k: int,
    *,
    groups: Groups,
    of: Literal["hits", "recommended"] = "hits",
) -> dict[str, float]:
    """Return the recall of each item group: the share of its relevant items that is recommended.

    ``of="recommended"`` counts all recommended items of the group, relevant or not. The metric is
    the `relative_spread` of these values.

    >>> reo_at_k({1: [1, 3]}, {1: {1, 2}}, 2, groups={1: "a", 2: "b", 3: "b"})
    {'a': 1.0, 'b': 0.0}
    """
    numerators, denominators = Counter[str](), Counter[str]()
    for user, items in relevant.items():
        denominators.update(groups[item] for item in items if item in groups)
        for item in top(recommendations.get(user, []), k):
            if item in groups and (of == "recommended" or item in items):
                numerators[groups[item]] += 1
    return _rates(numerators, denominators)


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
            f"{parameter('seen', 'excluded')} needs the training history of users",
            hint=f"pass {parameter('history')}, or {parameter('seen', 'included')}",
        )
    numerators, denominators = Counter[str](), Counter[str]()
    for user, items in recommendations.items():
        if items:
            numerators.update(groups[item] for item in top(items, k) if item in groups)
            past = set((history or {}).get(user, ())) - set(items) if seen == "excluded" else ()
            denominators.update(group for item, group in groups.items() if item not in past)
    return _rates(numerators, denominators)


def preference_ratios(
    interactions: Mapping[Hashable, Iterable[Hashable]],
    *,
    user_groups: Groups,
    item_groups: Groups,
    catalog_size: int,
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
    return {
        cell: value / source[cell] - 1 if source[cell] > 0 else math.nan
        for cell, value in recommended.items()
    }


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

    ``gain`` is as for `dcg`; ``discount="log"`` divides gains by log2(rank + 1).

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
    scores: Mapping[Hashable, Sequence[tuple[Any, float]]],
    relevant: Sets,
    k: int,
    *,
    groups: Groups,
    misses: Literal["skip", "zero"] = "skip",
) -> dict[str, float]:
    """Return each item group's mean score over hits; their `mean_difference` is the metric.

    With ``misses="zero"``, the means are over all recommendations, with 0 in place of the score of
    an irrelevant item.

    >>> item_mad_rating({1: [(1, 5.0), (2, 3.0)]}, {1: {1, 2}}, 2, groups={1: "a", 2: "b"})
    {'a': 5.0, 'b': 3.0}
    """
    hits: dict[Hashable, list[float]] = {}
    for user, pairs in scores.items():
        for item, score in pairs[:k]:
            is_hit = item in relevant.get(user, ())
            if is_hit or misses == "zero":
                hits.setdefault(item, []).append(score if is_hit else 0.0)
    return group_means({item: sum(values) / len(values) for item, values in hits.items()}, groups)


def euclidean_distance(values: Sequence[float], utopia: Sequence[float]) -> float:
    """Euclidean distance of metric values from the utopia point, the best value of each.

    >>> euclidean_distance([0.5, 1.0], [1.0, 1.0])
    0.5
    """
    return math.sqrt(sum((value - best) ** 2 for value, best in zip(values, utopia, strict=True)))


def hypervolume(
    values: Sequence[float], nadir: Sequence[float], higher_is_better: Sequence[bool]
) -> float:
    """Volume of the box between metric values and the nadir point, the worst acceptable values.

    >>> hypervolume([0.5, 0.25], [0.0, 1.0], [True, False])
    0.375
    """
    sides = [
        value - worst if higher else worst - value
        for value, worst, higher in zip(values, nadir, higher_is_better, strict=True)
    ]
    return math.prod(0.0 if side < 0 else side for side in sides)


def _defined(values: Iterable[float]) -> list[float]:
    """Return the values that are not NaN, in ascending order."""
    return sorted(value for value in values if not math.isnan(value))


def micro(values: Sequence[tuple[float, float]]) -> float:
    """Micro-average: sum of the users' numerators over the sum of their denominators.

    ``values`` has a pair (numerator, denominator) for each user; pairs with NaN are left out. With
    hits over min(k, relevant items), this is the precision of the library implicit.

    >>> micro([(1, 2), (0, 6)])
    0.125
    """
    defined = [pair for pair in values if not any(map(math.isnan, pair))]
    total = sum(denominator for _, denominator in defined)
    return sum(numerator for numerator, _ in defined) / total if total else math.nan


def quantile_of_users(values: Iterable[float], q: float = 0.1) -> float:
    """Return a quantile of the users' values, with linear interpolation, the default of NumPy.

    >>> quantile_of_users([0.0, 1.0, 0.5, math.nan], 0.25)
    0.25
    """
    if not (is_number(q) and 0 <= q <= 1):
        raise ParameterError("q must lie in [0, 1]", found=parameter("q", q))
    defined = _defined(values)
    if not defined:
        return math.nan
    place = (len(defined) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(defined) - 1)
    part = place - below
    return (1 - part) * defined[below] + part * defined[above] if part else defined[below]


def worst_share(
    values: Iterable[float], share: float = 0.1, *, higher_is_better: bool = True
) -> float:
    """Mean of the worst-served share of users: ceil(share · n) of the n users with a value.

    These have the lowest values, or the highest with ``higher_is_better=False``.

    >>> worst_share([0.5, 0.0, 1.0, 0.75], 0.5)
    0.25
    """
    if not (is_number(share) and 0 < share <= 1):
        raise ParameterError("share must lie in (0, 1]", found=parameter("share", share))
    defined = _defined(values)
    if not defined:
        return math.nan
    n = max(1, math.ceil(as_written(share) * len(defined)))
    worst = defined[:n] if higher_is_better else defined[-n:]
    return sum(worst) / n


def geometric_mean_of_users(values: Iterable[float], floor: float = 1e-5) -> float:
    """Geometric mean of the users' values; values below ``floor`` are raised to it.

    For average precisions, this is gm_map of trec_eval.

    >>> round(geometric_mean_of_users([1.0, 0.25]), 6)
    0.5
    """
    if not (is_number(floor) and floor > 0):
        raise ParameterError("floor must be a number above 0", found=parameter("floor", floor))
    defined = _defined(values)
    if not defined:
        return math.nan
    return math.exp(sum(math.log(max(value, floor)) for value in defined) / len(defined))


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN if all are."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


def item_counts_at_k(recommendations: Lists, k: int | None = None) -> Counter[Hashable]:
    """Return the number of users with each item in the top k.

    >>> item_counts_at_k({1: ["a", "b"], 2: ["a"]}, 1)
    Counter({'a': 2})
    """
    return Counter(item for listed in recommendations.values() for item in top(listed, k))


def _exposures(
    recommendations: Lists, k: int | None, weight: Callable[[int], float]
) -> dict[Hashable, float]:
    """Return the exposure of each item: the sum over users of its rank's weight in the top k."""
    exposures: dict[Hashable, float] = {}
    for listed in recommendations.values():
        for rank, item in enumerate(top(listed, k), start=1):
            exposures[item] = exposures.get(item, 0.0) + weight(rank)
    return exposures


def catalog_coverage(
    recommendations: Lists, catalog_size: int, k: int | None = None, *, padding: int = 0
) -> float:
    """Catalogue coverage: share of the catalogue that is in the top k of at least one user.

    ``padding`` is a number of never recommended items to add to the catalogue. With k below 1 the
    value is 0.

    >>> catalog_coverage({0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}, 100, 3)
    0.05
    """
    if catalog_size < 1:
        raise ParameterError("a catalogue has at least one item", found=str(catalog_size))
    if leaves_no_top(k):
        return 0.0
    return len(item_counts_at_k(recommendations, k)) / (catalog_size + padding)


def gini_coefficient(
    recommendations: Lists,
    k: int | None = None,
    *,
    over: Literal["recommended", "catalogue"] | None = None,
    catalog_size: int | None = None,
    exposure: Literal["count", "log", "geometric"] = "count",
    patience: float = 0.5,
    corrected: bool = True,
    padding: int = 0,
) -> float:
    """Gini index of the recommendation counts of items: 0 if all are equal, 1 for a single item.

    ``over="catalogue"`` counts all ``catalog_size`` items of the catalogue and ``padding`` more,
    ``over="recommended"`` only items recommended at least once. By default it is the catalogue if
    ``catalog_size`` is given, else the recommended items. Without any recommendation the value is 0
    over the recommended items, and NaN over the catalogue; with k below 1 it is 0. With
    ``exposure="log"``, an item at rank i adds 1 / log2(i + 1) instead of 1, with
    ``exposure="geometric"`` ``patience`` to the power of i - 1. Over a catalogue of n items the
    largest value is 1, or 1 - 1/n with ``corrected=False``.

    >>> lists = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> round(gini_coefficient(lists, 3, catalog_size=10), 4)
    0.679
    >>> round(gini_coefficient(lists, 3), 4)
    0.2222
    >>> round(gini_coefficient({0: [1, 2]}, over="recommended", exposure="log"), 4)
    0.1131
    """
    check_option("exposure", exposure, "count", "log", "geometric")
    if leaves_no_top(k):
        return 0.0
    over = over or ("recommended" if catalog_size is None else "catalogue")
    check_option("over", over, "recommended", "catalogue")
    weights: dict[str, Callable[[int], float]] = {
        "count": lambda _: 1,
        "log": lambda rank: 1 / math.log2(rank + 1),
        "geometric": lambda rank: patience ** (rank - 1),
    }
    counts = sorted(_exposures(recommendations, k, weights[exposure]).values())
    if not counts:
        return 0.0 if over == "recommended" else math.nan
    n = m = len(counts)
    if over == "catalogue":
        if catalog_size is None or catalog_size < len(counts):
            raise ParameterError(
                f"{parameter('over', 'catalogue')} needs the size of the catalogue",
                found=f"{catalog_size}",
            )
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


def shannon_entropy(
    recommendations: Lists, k: int | None = None, *, log_base: float | None = None
) -> float:
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


def _by_group(weights: Iterable[tuple[Hashable, float]], groups: Groups) -> dict[str, float]:
    """Return the summed weights of the items of each group with any item."""
    sums: dict[str, float] = {}
    for item, weight in weights:
        if item in groups:
            sums[groups[item]] = sums.get(groups[item], 0.0) + weight
    return sums


def expected_exposure_at_k(
    recommendations: Lists,
    relevant: Sets,
    groups: Groups,
    k: int | None = None,
    *,
    patience: float = 0.5,
) -> dict[str, float]:
    """Return loss, disparity and relevance of the expected exposure of item groups.

    Diaz et al. 2020, in the group form of Raj & Ekstrand 2022. The exposure e of a group is the
    mean over users of the summed weights patience^(rank − 1) of its items in the top k. Its target
    t is the same for ideal rankings, in which the m relevant items of a user share the first m
    positions equally, cut at k, and no other item has exposure. Only users with a list and relevant
    items count.

    - loss, EE-L: Σ (e − t)² over the groups
    - disparity, EE-D: Σ e²
    - relevance, EE-R: Σ e · t. Raj & Ekstrand report twice this, so that loss is disparity −
      relevance + a constant.

    All are NaN without groups, or without such users.

    >>> lists, relevant = {"ann": [1, 2], "bob": [2, 1]}, {"ann": {1}, "bob": {1}}
    >>> expected_exposure_at_k(lists, relevant, {1: "a", 2: "b"})
    {'loss': 0.625, 'disparity': 1.125, 'relevance': 0.75}
    """
    check_fraction("patience", patience)
    pairs = [
        (top(items, k), relevant_items(relevant[user]))
        for user, items in recommendations.items()
        if user in relevant
    ]
    users = [(items, ideal_items) for items, ideal_items in pairs if items and ideal_items]
    if not users or not groups:
        return dict.fromkeys(("loss", "disparity", "relevance"), math.nan)

    exposure = dict.fromkeys(groups.values(), 0.0)
    target = dict.fromkeys(groups.values(), 0.0)
    for items, ideal_items in users:
        share = _ideal_exposure(len(ideal_items), k, patience)
        shown = [(item, patience**i) for i, item in enumerate(items)]
        _add_exposure(exposure, shown, groups, len(users))
        _add_exposure(target, [(item, share) for item in ideal_items], groups, len(users))

    e = [exposure[group] for group in sorted(exposure)]
    t = [target[group] for group in sorted(exposure)]
    return {
        "loss": sum((a - b) ** 2 for a, b in zip(e, t, strict=True)),
        "disparity": sum(a**2 for a in e),
        "relevance": sum(a * b for a, b in zip(e, t, strict=True)),
    }


def _ideal_exposure(m: int, k: int | None, patience: float) -> float:
    """Return the exposure of each of m relevant items that share the first m positions."""
    positions = m if k is None else min(m, k)
    return sum(patience**i for i in range(positions)) / m


def _add_exposure(
    sums: dict[str, float], weights: Iterable[tuple[Any, float]], groups: Groups, n_users: int
) -> None:
    for group, weight in _by_group(weights, groups).items():
        sums[group] += weight / n_users


def awrf_at_k(
    recommended: Items,
    groups: Groups,
    target: Mapping[str, float],
    k: int | None = None,
    *,
    weight: Literal["log", "geometric"] = "log",
    patience: float = 0.5,
    distance: Literal["absolute", "squared"] = "absolute",
) -> float:
    """Attention-weighted rank fairness: 1 − distance of the groups' exposure shares from a target.

    Sapiezynski et al. 2019, Raj & Ekstrand 2022. The exposure share of a group is its share of the
    rank weights in the top k, over items that have a group; NaN if no item has one. The weight of
    rank i is 1 / log2(i + 1), or patience^(i − 1) with ``weight="geometric"``. ``target`` maps each
    group to its target share, by default 0. ``distance="absolute"`` is half the sum of the absolute
    differences (total variation), ``"squared"`` half the sum of their squares: the value lies in
    [0, 1].

    >>> groups = {1: "a", 2: "a", 3: "b", 4: "b"}
    >>> round(awrf_at_k([1, 3], groups, {"a": 0.5, "b": 0.5}), 4)
    0.8869
    >>> awrf_at_k([1, 3, 9], groups, {"a": 1.0}, weight="geometric", distance="squared")
    0.8888888888888888
    """
    check_option("weight", weight, "log", "geometric")
    check_option("distance", distance, "absolute", "squared")
    check_fraction("patience", patience)
    shares = list(target.values())
    if not all(is_number(share) and share >= 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise ParameterError(
            "the target shares of the groups must add up to 1", found=repr(dict(target))[:60]
        )
    weights = (
        (item, 1 / math.log2(rank + 1) if weight == "log" else patience ** (rank - 1))
        for rank, item in enumerate(top(recommended, k), start=1)
    )
    exposure = _by_group(weights, groups)
    total = sum(exposure.values())
    if not total:
        return math.nan
    differences = [
        exposure.get(group, 0.0) / total - target.get(group, 0.0)
        for group in sorted(exposure.keys() | target.keys())
    ]
    if distance == "absolute":
        return max(0.0, 1 - sum(map(abs, differences)) / 2)
    return max(0.0, 1 - sum(difference**2 for difference in differences) / 2)
