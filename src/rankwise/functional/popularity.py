"""Popularity bias and debiased accuracy, from the number of training users of each item."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import (
    Items,
    Lists,
    Relevant,
    Sets,
    as_written,
    check_option,
    is_number,
    relevant_items,
    top,
)

__all__ = [
    "aclt_at_k",
    "aplt_at_k",
    "arp_at_k",
    "ips_dcg_at_k",
    "ips_recall_at_k",
    "popularity_lift_at_k",
    "popularity_order",
    "popularity_propensities",
    "popularity_quantile_at_k",
    "short_head",
    "stratified_weights",
    "weighted_sum",
]


Counts: TypeAlias = Mapping[Hashable, int]
Values: TypeAlias = Mapping[Hashable, float]


def popularity_order(popularity: Mapping[Any, int]) -> list[Any]:
    """Return the items by descending popularity, ties in order of id.

    >>> popularity_order({3: 1, 2: 5, 1: 1})
    [2, 1, 3]
    """
    return sorted(popularity, key=lambda item: (-popularity[item], item))


def short_head(
    popularity: Mapping[Any, int], pop_ratio: float = 0.8, *, of: Literal["interactions", "items"] = "interactions"
) -> set[Any]:
    """Return the short head: the most popular items, all others being the long tail.

    They are taken up to and including the item at which their share of the training interactions
    first exceeds ``pop_ratio``; with ``of="items"``, they are a share ``pop_ratio`` of the items
    that have training interactions, rounded half up, at least one. Equally popular items are in
    order of id.

    >>> sorted(short_head({1: 6, 2: 3, 3: 1}, 0.8))
    [1, 2]
    >>> short_head({1: 6, 2: 3, 3: 1, 4: 0}, 0.4, of="items")
    {1}
    """
    check_option("of", of, "interactions", "items")
    if not (is_number(pop_ratio) and 0 <= pop_ratio <= 1):
        raise ParameterError("pop_ratio must lie in [0, 1]", found=f"pop_ratio={pop_ratio!r}")
    if of == "items":
        warm = [item for item in popularity_order(popularity) if popularity[item] > 0]
        return set(warm[: max(1, math.floor(as_written(pop_ratio) * len(warm) + Fraction(1, 2)))])
    total, held, head = sum(popularity.values()), 0, set()
    for item in popularity_order(popularity):
        head.add(item)
        held += popularity[item]
        if held / total > pop_ratio:
            break
    return head


def popularity_quantile_at_k(recommended: Items, popularity: Counts, k: int | None = None) -> float:
    """Mean popularity quantile of the top k: near 0 for the least popular items, 1 for the most.

    The quantile of an item is its rank by ascending popularity over the number of items that have
    training interactions; equally popular items share their mean rank. It is 0 for an item without
    training interactions (as in LensKit's ``MeanPopRank``).

    >>> popularity_quantile_at_k([7, 9], {5: 1, 6: 1, 7: 3, 8: 2})
    0.5
    >>> popularity_quantile_at_k([5], {5: 1, 6: 1, 7: 3, 8: 2})
    0.375
    """
    counts = [count for count in popularity.values() if count > 0]

    def quantile(item: Hashable) -> float:
        own = popularity.get(item, 0)
        if own <= 0:
            return 0.0
        below = sum(count < own for count in counts)
        return (below + (counts.count(own) + 1) / 2) / len(counts)

    items = top(recommended, k)
    return sum(map(quantile, items)) / len(items) if items else math.nan


def arp_at_k(recommended: Items, k: int, *, popularity: Counts, denominator: Literal["k", "length"] = "k") -> float:
    """Average recommendation popularity: mean popularity of the items in the top k.

    ``denominator="length"`` divides by the number of items in the top k instead of k.

    >>> arp_at_k([8, 7], 2, popularity={7: 3, 8: 1})
    2.0
    """
    items = top(recommended, k)
    if not items:
        return math.nan
    total = sum(popularity.get(item, 0) for item in items)
    return total / (k if denominator == "k" else len(items))


def aclt_at_k(recommended: Items, k: int, *, head: Collection[Hashable]) -> float:
    """Return the number of long-tail items in the top k: items outside the short ``head``.

    >>> aclt_at_k([8, 7], 2, head={7})
    1
    """
    items = top(recommended, k)
    return sum(item not in head for item in items) if items else math.nan


def aplt_at_k(
    recommended: Items, k: int, *, head: Collection[Hashable], denominator: Literal["k", "length"] = "k"
) -> float:
    """Share of long-tail items in the top k: items outside the short ``head``.

    ``denominator="length"`` divides by the number of items in the top k instead of k.

    >>> aplt_at_k([8, 7], 2, head={7})
    0.5
    """
    items = top(recommended, k)
    n = k if denominator == "k" else len(items)
    return aclt_at_k(items, k, head=head) / n if items else math.nan


def popularity_lift_at_k(recommendations: Lists, histories: Sets, k: int, *, popularity: Counts) -> float:
    """Popularity lift: relative increase in mean popularity from histories to lists.

    Only users with a list and a training history count.

    >>> popularity_lift_at_k({1: [7, 9]}, {1: [7, 8]}, 1, popularity={7: 3, 8: 1})
    0.5
    """
    of_lists, of_histories = 0.0, 0.0
    for user, items in recommendations.items():
        history = histories.get(user, ())
        if items and history:
            of_lists += arp_at_k(items, k, popularity=popularity, denominator="length")
            of_histories += sum(popularity.get(item, 0) for item in history) / len(history)
    return of_lists / of_histories - 1 if of_histories else math.nan


def popularity_propensities(
    popularity: Counts, items: Iterable[Hashable], *, power: float = 0.5, clip: float = 0.1
) -> dict[Hashable, float]:
    """Return the propensity of each item, the probability that an interaction is observed.

    It is (popularity / largest popularity)^``power``, at least ``clip``.

    >>> popularity_propensities({7: 4, 8: 1}, [7, 8, 9])
    {7: 1.0, 8: 0.5, 9: 0.1}
    """
    most = max(popularity.values())
    return {item: max((popularity.get(item, 0) / most) ** power, clip) for item in items}


def stratified_weights(popularity: Counts, items: Iterable[Hashable], *, gamma: float = 1.0) -> dict[Hashable, float]:
    """Return the weight of each item in stratified recall, popularity^(−gamma / (gamma + 1)).

    Items without training users count as having one. The inverse of a weight is a propensity.

    >>> stratified_weights({7: 4, 8: 1}, [7, 8])
    {7: 0.5, 8: 1.0}
    """
    return {item: max(popularity.get(item, 0), 1) ** (-gamma / (gamma + 1)) for item in items}


def ips_recall_at_k(
    recommended: Items, relevant: Relevant, k: int, *, propensities: Values, normalised: bool = False
) -> float:
    """Recall with hits weighted by 1 / propensity (IPS recall).

    ``normalised=True`` divides by the summed weights of the relevant items instead of their number
    (SNIPS recall).

    >>> ips_recall_at_k([8, 9], {8, 7}, 2, propensities={7: 1.0, 8: 0.5})
    1.0
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = sum(1 / propensities[item] for item in top(recommended, k) if item in relevant)
    norm = sum(1 / propensities[item] for item in relevant) if normalised else len(relevant)
    return hits / norm


def ips_dcg_at_k(
    recommended: Items, relevant: Relevant, k: int, *, propensities: Values, normalised: bool = False
) -> float:
    """DCG with hits weighted by 1 / propensity (IPS DCG).

    ``normalised=True`` divides by the summed weights of the relevant items, without discounts
    (SNIPS DCG).

    >>> ips_dcg_at_k([8, 9], {8, 7}, 2, propensities={7: 1.0, 8: 0.5})
    2.0
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = sum(
        1 / propensities[item] / math.log2(rank + 1)
        for rank, item in enumerate(top(recommended, k), start=1)
        if item in relevant
    )
    return hits / sum(1 / propensities[item] for item in relevant) if normalised else hits


def weighted_sum(contributions: Values, propensities: Values, *, normalised: bool = False) -> float:
    """Sum of the contributions of the relevant items to a metric, weighted by 1 / propensity.

    With ``normalised=True``, weights are scaled to have the mean 1 over the user's relevant items.

    >>> recall = {7: 0.5, 8: 0.0}
    >>> weighted_sum(recall, {7: 0.5, 8: 1.0}, normalised=True)
    0.6666666666666666
    """
    if not contributions:
        return math.nan
    total = sum(share / propensities[item] for item, share in contributions.items())
    weights = sum(1 / propensities[item] for item in contributions)
    return total * len(contributions) / weights if normalised else total
