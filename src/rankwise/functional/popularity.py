"""Popularity bias and debiased accuracy, from the number of training users of each item."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from rankwise.functional.lists import top

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from rankwise.functional.lists import Items, Relevant

__all__ = [
    "aclt_at_k",
    "aplt_at_k",
    "arp_at_k",
    "ips_dcg_at_k",
    "ips_recall_at_k",
    "popularity_lift_at_k",
    "popularity_order",
    "popularity_propensities",
    "short_head",
    "stratified_weights",
    "weighted_sum",
]


def popularity_order(popularity: Mapping[Any, int]) -> list[Any]:
    """Items by falling popularity, ties in order of id.

    >>> popularity_order({3: 1, 2: 5, 1: 1})
    [2, 1, 3]
    """
    return sorted(popularity, key=lambda item: (-popularity[item], item))


def short_head(popularity: Mapping[Any, int], pop_ratio: float = 0.8) -> set[Any]:
    """Return the most popular items, up to where they hold more than a share of interactions.

    >>> sorted(short_head({1: 6, 2: 3, 3: 1}, 0.8))
    [1, 2]
    """
    total, held, head = sum(popularity.values()), 0, set()
    for item in popularity_order(popularity):
        head.add(item)
        held += popularity[item]
        if held / total > pop_ratio:
            break
    return head


def arp_at_k(
    recommended: Items,
    k: int,
    *,
    popularity: Mapping[Hashable, int],
    denominator: Literal["k", "length"] = "k",
) -> float:
    """Mean popularity of the top k.

    >>> arp_at_k([8, 7], 2, popularity={7: 3, 8: 1})
    2.0
    """
    own = top(recommended, k)
    if not own:
        return math.nan
    return sum(popularity.get(item, 0) for item in own) / (k if denominator == "k" else len(own))


def aclt_at_k(recommended: Items, k: int, *, head: Collection[Hashable]) -> float:
    """Return the number of items of the top k that are not in the short head.

    >>> aclt_at_k([8, 7], 2, head={7})
    1
    """
    own = top(recommended, k)
    return sum(item not in head for item in own) if own else math.nan


def aplt_at_k(
    recommended: Items,
    k: int,
    *,
    head: Collection[Hashable],
    denominator: Literal["k", "length"] = "k",
) -> float:
    """Share of the top k that is not in the short head.

    >>> aplt_at_k([8, 7], 2, head={7})
    0.5
    """
    own = top(recommended, k)
    return (
        aclt_at_k(own, k, head=head) / (k if denominator == "k" else len(own)) if own else math.nan
    )


def popularity_lift_at_k(
    recommendations: Mapping[Hashable, Items],
    histories: Mapping[Hashable, Collection[Hashable]],
    k: int,
    *,
    popularity: Mapping[Hashable, int],
) -> float:
    """How much more popular lists are than histories, over users who have both.

    >>> popularity_lift_at_k({1: [7, 9]}, {1: [7, 8]}, 1, popularity={7: 3, 8: 1})
    0.5
    """
    lists, pasts = 0.0, 0.0
    for user, items in recommendations.items():
        past = histories.get(user, ())
        if items and past:
            lists += arp_at_k(items, k, popularity=popularity, denominator="length")
            pasts += sum(popularity.get(item, 0) for item in past) / len(past)
    return lists / pasts - 1 if pasts else math.nan


def popularity_propensities(
    popularity: Mapping[Hashable, int],
    items: Iterable[Hashable],
    *,
    power: float = 0.5,
    clip: float = 0.1,
) -> dict[Hashable, float]:
    """Return the chance that an interaction is observed, from training counts.

    >>> popularity_propensities({7: 4, 8: 1}, [7, 8, 9])
    {7: 1.0, 8: 0.5, 9: 0.1}
    """
    most = max(popularity.values())
    return {item: max((popularity.get(item, 0) / most) ** power, clip) for item in items}


def stratified_weights(
    popularity: Mapping[Hashable, int], items: Iterable[Hashable], *, gamma: float = 1.0
) -> dict[Hashable, float]:
    """Return the weights of stratified recall; use their inverse as propensities.

    >>> stratified_weights({7: 4, 8: 1}, [7, 8])
    {7: 0.5, 8: 1.0}
    """
    return {item: max(popularity.get(item, 0), 1) ** (-gamma / (gamma + 1)) for item in items}


def ips_recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    propensities: Mapping[Hashable, float],
    normalised: bool = False,
) -> float:
    """Recall in which every hit counts one over its propensity; normalised by all such weights.

    >>> ips_recall_at_k([8, 9], {8, 7}, 2, propensities={7: 1.0, 8: 0.5})
    1.0
    """
    if not relevant:
        return math.nan
    hits = sum(1 / propensities[item] for item in top(recommended, k) if item in relevant)
    whole = sum(1 / propensities[item] for item in relevant) if normalised else len(relevant)
    return hits / whole


def ips_dcg_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    propensities: Mapping[Hashable, float],
    normalised: bool = False,
) -> float:
    """Discounted hits over propensities; normalised by all weights, which are not discounted.

    >>> ips_dcg_at_k([8, 9], {8, 7}, 2, propensities={7: 1.0, 8: 0.5})
    2.0
    """
    if not relevant:
        return math.nan
    hits = sum(
        1 / propensities[item] / math.log2(rank + 1)
        for rank, item in enumerate(top(recommended, k), start=1)
        if item in relevant
    )
    return hits / sum(1 / propensities[item] for item in relevant) if normalised else hits


def weighted_sum(
    contributions: Mapping[Hashable, float],
    propensities: Mapping[Hashable, float],
    *,
    normalised: bool = False,
) -> float:
    """Sum what each relevant item contributes to a measure, over its propensity.

    Normalised, the weights of the user's relevant items have the mean 1.

    >>> recall = {7: 0.5, 8: 0.0}
    >>> weighted_sum(recall, {7: 0.5, 8: 1.0}, normalised=True)
    0.6666666666666666
    """
    if not contributions:
        return math.nan
    total = sum(share / propensities[item] for item, share in contributions.items())
    weights = sum(1 / propensities[item] for item in contributions)
    return total * len(contributions) / weights if normalised else total
