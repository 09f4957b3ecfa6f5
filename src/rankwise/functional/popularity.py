"""Popularity bias, novelty and debiased accuracy, from the number of training users of each item.

``popularity`` maps each item to its number of training users; an absent item has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import (
    Items,
    Lists,
    Relevances,
    Relevant,
    Sets,
    as_written,
    check_option,
    gain_of,
    is_number,
    relevant_items,
    top,
)
from rankwise.messages import parameter

__all__ = [
    "aclt_at_k",
    "aplt_at_k",
    "arp_at_k",
    "efd_at_k",
    "epc_at_k",
    "ips_dcg_at_k",
    "ips_recall_at_k",
    "novelty_at_k",
    "popularity_lift_at_k",
    "popularity_order",
    "popularity_propensities",
    "popularity_quantile_at_k",
    "serendipity_at_k",
    "short_head",
    "stratified_weights",
    "surprisal_at_k",
    "unexpectedness_at_k",
    "unlikeness_at_k",
    "weighted_sum",
]

Cold: TypeAlias = Literal["rarest", "skip", "zero"]


def _information(item: Hashable, popularity: Counts, total: int) -> float:
    """Return the self-information of an item in bits."""
    return -math.log2(max(popularity.get(item, 0), 1) / total)


def _discounts(n: int) -> list[float]:
    return [1 / math.log2(rank + 1) for rank in range(1, n + 1)]


def _novelty_of_hits(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    relevance: str,
    novelty: Callable[[Hashable], float],
) -> float:
    """Return the discounted mean over the top k of gain times novelty."""
    gains = {"binary": "binary", "discounted": "exponential"}
    gain = gains.get(relevance, "exponential_plus_one")
    total = 0.0
    for item, weight in zip(recommended, _discounts(k), strict=False):
        if relevance_scores.get(item, 0) > 0:
            total += weight * gain_of(relevance_scores[item], gain) * novelty(item)  # type: ignore[arg-type]
    return total / sum(_discounts(k))


def efd_at_k(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    *,
    popularity: Counts,
    total: int,
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary",
) -> float:
    """Return expected free discovery: discounted self-information of the hits, in bits.

    ``total`` is the number of training users (or interactions), which divides ``popularity``. A hit
    counts 1, 2^relevance − 1 with ``relevance="discounted"``, or 2^(relevance + 1) − 1 with
    ``"discounted_plus_one"``.

    >>> efd_at_k([8, 9], {8: 1}, 1, popularity={7: 4, 8: 1}, total=4)
    2.0
    """
    return _novelty_of_hits(
        recommended,
        relevance_scores,
        k,
        relevance,
        lambda item: _information(item, popularity, total),
    )


def epc_at_k(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    *,
    popularity: Counts,
    total: int,
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary",
) -> float:
    """Return expected popularity complement: discounted unpopularity of the hits in the top k.

    ``total`` and ``relevance`` are as for `efd_at_k`.

    >>> epc_at_k([8, 9], {8: 1}, 1, popularity={7: 4, 8: 1}, total=4)
    0.75
    """
    return _novelty_of_hits(
        recommended,
        relevance_scores,
        k,
        relevance,
        lambda item: 1 - popularity.get(item, 0) / total,
    )


def novelty_at_k(
    recommended: Items,
    k: int,
    *,
    popularity: Counts,
    total: int,
    discount: Literal["none", "log"] = "none",
    denominator: Literal["length", "k"] = "length",
    cold: Cold = "rarest",
) -> float:
    """Novelty: mean self-information of the items in the top k, in bits.

    ``total`` is as for `efd_at_k`. ``discount="log"`` weights rank i by 1 / log2(i + 1);
    ``denominator="k"`` divides by k instead of the number of items. An item without training
    interactions counts as if one user had interacted with it (``cold="rarest"``), as 0
    (``"zero"``), or not at all, neither in the sum nor in the denominator (``"skip"``). NaN if all
    items are skipped.

    >>> novelty_at_k([8, 7], 2, popularity={7: 4, 8: 1}, total=4)
    1.0
    >>> novelty_at_k([8, 7, 9], 3, popularity={7: 4, 8: 1}, total=4, cold="skip")
    1.0
    """
    check_option("cold", cold, "rarest", "skip", "zero")
    items = top(recommended, k)
    weights = _discounts(k) if discount == "log" else [1.0] * k
    if denominator == "length":
        weights = weights[: len(items)]
    if cold == "skip":
        skipped = [popularity.get(item, 0) == 0 for item in items]
        weights = [
            weight for weight, out in zip_longest(weights, skipped, fillvalue=False) if not out
        ]
        items = [item for item, out in zip(items, skipped, strict=True) if not out]
    if not items:
        return math.nan
    bits = [
        0.0
        if cold == "zero" and popularity.get(item, 0) == 0
        else _information(item, popularity, total)
        for item in items
    ]
    return sum(weight * bit for weight, bit in zip(weights, bits, strict=False)) / sum(weights)


def surprisal_at_k(
    recommended: Items,
    k: int,
    *,
    popularity: Counts,
    n_users: int,
    denominator: Literal["length", "k"] = "length",
    cold: Cold = "rarest",
) -> float:
    """Surprisal: mean self-information of the items in the top k, over the largest possible.

    ``n_users`` is the number of training users; ``denominator`` and ``cold`` are as for
    `novelty_at_k`.

    >>> surprisal_at_k([8, 7], 2, popularity={7: 4, 8: 1}, n_users=4)
    0.5
    """
    bits = novelty_at_k(
        recommended, k, popularity=popularity, total=n_users, denominator=denominator, cold=cold
    )
    return bits / math.log2(n_users) if n_users > 1 else 0 * bits


def unexpectedness_at_k(
    recommended: Items, reference: Items, k: int, *, denominator: Literal["length", "k"] = "length"
) -> float:
    """Unexpectedness: share of the top k that is not in the top k of a reference list.

    ``denominator="k"`` divides by k instead of the number of items. NaN without a reference list.

    >>> unexpectedness_at_k([1, 8, 9, 4], [1, 2], 4)
    0.75
    """
    items = top(recommended, k)
    if not items or not reference:
        return math.nan
    common = len(set(items) & set(top(reference, k)))
    return 1 - common / (len(items) if denominator == "length" else k)


def serendipity_at_k(
    recommended: Items, relevant: Relevant, k: int, *, popularity: Counts, catalog_size: int
) -> float:
    """Serendipity: mean over the top k of how far hits are ranked above their popularity rank.

    Differences of ranks are divided by ``catalog_size``; items that are not relevant count 0.

    An item without training users has the popularity rank ``catalog_size`` + 1.

    >>> serendipity_at_k([8, 9], {8}, 2, popularity={7: 3, 8: 1}, catalog_size=4)
    0.125
    """
    relevant = relevant_items(relevant)
    items = top(recommended, k)
    counts = sorted(set(popularity.values()), reverse=True)
    popularity_rank = {item: counts.index(count) + 1 for item, count in popularity.items()}
    gains = [
        max(popularity_rank.get(item, catalog_size + 1) - rank, 0) / catalog_size
        for rank, item in enumerate(items, start=1)
        if item in relevant
    ]
    return sum(gains) / len(items) if items else math.nan


def unlikeness_at_k(
    recommended: Items,
    history: Collection[Hashable],
    k: int,
    *,
    similarity: Callable[[Hashable, Hashable], float],
    relevant: Relevant | None = None,
) -> float:
    """Unlikeness to the history: 1 − mean similarity to its items, averaged over the top k.

    With a set of ``relevant`` items, all other items count 0.

    >>> unlikeness_at_k([8, 9], {7}, 2, similarity=lambda a, b: 0.5 if a == 8 else 0.0)
    0.75
    """
    items = top(recommended, k)
    if not items or not history:
        return math.nan
    counted = items if relevant is None else relevant_items(relevant)
    total = 0.0
    for item in items:
        if item in counted:
            total += 1 - sum(similarity(item, past) for past in history) / len(history)
    return total / len(items)


Counts: TypeAlias = Mapping[Hashable, int]
Values: TypeAlias = Mapping[Hashable, float]


def popularity_order(popularity: Mapping[Any, int]) -> list[Any]:
    """Return the items by descending popularity, ties in order of id.

    >>> popularity_order({3: 1, 2: 5, 1: 1})
    [2, 1, 3]
    """
    return sorted(popularity, key=lambda item: (-popularity[item], item))


def short_head(
    popularity: Mapping[Any, int],
    pop_ratio: float = 0.8,
    *,
    of: Literal["interactions", "items", "rarest_items"] = "interactions",
) -> set[Any]:
    """Return the short head: the most popular items, all others being the long tail.

    They are taken up to and including the item at which their share of the training interactions
    first exceeds ``pop_ratio``; with ``of="items"``, they are a share ``pop_ratio`` of the items
    that have training interactions, rounded half up, at least one. Equally popular items are in
    order of id. With ``of="rarest_items"``, the long tail is a share 1 - ``pop_ratio`` of these
    items, rounded down, at least one: the least popular, in order of id where equally popular; the
    head is all others.

    >>> sorted(short_head({1: 6, 2: 3, 3: 1}, 0.8))
    [1, 2]
    >>> short_head({1: 6, 2: 3, 3: 1, 4: 0}, 0.4, of="items")
    {1}
    >>> sorted(short_head({1: 1, 2: 1, 3: 2}, 0.6, of="rarest_items"))
    [2, 3]
    """
    check_option("of", of, "interactions", "items", "rarest_items")
    if not (is_number(pop_ratio) and 0 <= pop_ratio <= 1):
        raise ParameterError(
            "pop_ratio must lie in [0, 1]", found=parameter("pop_ratio", pop_ratio)
        )
    if of == "items":
        warm = [item for item in popularity_order(popularity) if popularity[item] > 0]
        return set(warm[: max(1, math.floor(as_written(pop_ratio) * len(warm) + Fraction(1, 2)))])
    if of == "rarest_items":
        warm = sorted(
            (item for item in popularity if popularity[item] > 0),
            key=lambda item: (popularity[item], item),
        )
        tail = warm[: max(1, math.floor((1 - as_written(pop_ratio)) * len(warm)))]
        return {*popularity} - {*tail}
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
        n_users_of_item = popularity.get(item, 0)
        if n_users_of_item <= 0:
            return 0.0
        below = sum(count < n_users_of_item for count in counts)
        return (below + (counts.count(n_users_of_item) + 1) / 2) / len(counts)

    items = top(recommended, k)
    return sum(map(quantile, items)) / len(items) if items else math.nan


def arp_at_k(
    recommended: Items,
    k: int,
    *,
    popularity: Counts,
    denominator: Literal["k", "length"] = "k",
    as_share: bool = False,
) -> float:
    """Average recommendation popularity: mean popularity of the items in the top k.

    ``denominator="length"`` divides by the number of items in the top k instead of k, ``as_share``
    also by the number of training interactions.

    >>> arp_at_k([8, 7], 2, popularity={7: 3, 8: 1})
    2.0
    """
    items = top(recommended, k)
    if not items:
        return math.nan
    total = sum(popularity.get(item, 0) for item in items) / (
        sum(popularity.values()) if as_share else 1
    )
    return total / (k if denominator == "k" else len(items))


def aclt_at_k(recommended: Items, k: int, *, head: Collection[Hashable]) -> float:
    """Return the number of long-tail items in the top k: items outside the short ``head``.

    >>> aclt_at_k([8, 7], 2, head={7})
    1
    """
    items = top(recommended, k)
    return sum(item not in head for item in items) if items else math.nan


def aplt_at_k(
    recommended: Items,
    k: int,
    *,
    head: Collection[Hashable],
    denominator: Literal["k", "length"] = "k",
) -> float:
    """Share of long-tail items in the top k: items outside the short ``head``.

    ``denominator="length"`` divides by the number of items in the top k instead of k.

    >>> aplt_at_k([8, 7], 2, head={7})
    0.5
    """
    items = top(recommended, k)
    n = k if denominator == "k" else len(items)
    return aclt_at_k(items, k, head=head) / n if items else math.nan


def popularity_lift_at_k(
    recommendations: Lists, histories: Sets, k: int, *, popularity: Counts
) -> float:
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


def stratified_weights(
    popularity: Counts, items: Iterable[Hashable], *, gamma: float = 1.0
) -> dict[Hashable, float]:
    """Return the weight of each item in stratified recall, popularity^(−gamma / (gamma + 1)).

    Items without training users count as having one. The inverse of a weight is a propensity.

    >>> stratified_weights({7: 4, 8: 1}, [7, 8])
    {7: 0.5, 8: 1.0}
    """
    return {item: max(popularity.get(item, 0), 1) ** (-gamma / (gamma + 1)) for item in items}


def ips_recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    propensities: Values,
    normalised: bool = False,
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
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    propensities: Values,
    normalised: bool = False,
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
