"""Novelty: how unfamiliar the items of one user's recommendation list are.

``popularity`` maps each item to its number of training users; an absent item has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from itertools import zip_longest
from typing import Literal, TypeAlias

from rankwise.functional.accuracy import Items, Relevances, Relevant, check_option, relevant_items, top
from rankwise.functional.graded import gain_of

__all__ = [
    "efd_at_k",
    "epc_at_k",
    "novelty_at_k",
    "serendipity_at_k",
    "surprisal_at_k",
    "unexpectedness_at_k",
    "unlikeness_at_k",
]


Counts: TypeAlias = Mapping[Hashable, int]
Cold: TypeAlias = Literal["rarest", "skip", "zero"]


def _information(item: Hashable, popularity: Counts, total: int) -> float:
    """Return the self-information of an item in bits."""
    return -math.log2(max(popularity.get(item, 0), 1) / total)


def _discounts(n: int) -> list[float]:
    return [1 / math.log2(rank + 1) for rank in range(1, n + 1)]


def _novelty_of_hits(
    recommended: Items, relevance_scores: Relevances, k: int, relevance: str, novelty: Callable[[Hashable], float]
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

    ``total`` is the number of training users (or interactions), which divides ``popularity``.
    A hit counts 1, 2^relevance − 1 with ``relevance="discounted"``, or 2^(relevance + 1) − 1 with
    ``"discounted_plus_one"``.

    >>> efd_at_k([8, 9], {8: 1}, 1, popularity={7: 4, 8: 1}, total=4)
    2.0
    """
    return _novelty_of_hits(
        recommended, relevance_scores, k, relevance, lambda item: _information(item, popularity, total)
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
        recommended, relevance_scores, k, relevance, lambda item: 1 - popularity.get(item, 0) / total
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
        weights = [weight for weight, out in zip_longest(weights, skipped, fillvalue=False) if not out]
        items = [item for item, out in zip(items, skipped, strict=True) if not out]
    if not items:
        return math.nan
    bits = [
        0.0 if cold == "zero" and popularity.get(item, 0) == 0 else _information(item, popularity, total)
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
    bits = novelty_at_k(recommended, k, popularity=popularity, total=n_users, denominator=denominator, cold=cold)
    return bits / math.log2(n_users) if n_users > 1 else 0 * bits


def unexpectedness_at_k(
    recommended: Items, baseline: Items, k: int, *, denominator: Literal["length", "k"] = "length"
) -> float:
    """Unexpectedness: share of the top k that is not in the top k of a baseline list.

    ``denominator="k"`` divides by k instead of the number of items. NaN without a baseline list.

    >>> unexpectedness_at_k([1, 8, 9, 4], [1, 2], 4)
    0.75
    """
    items = top(recommended, k)
    if not items or not baseline:
        return math.nan
    common = len(set(items) & set(top(baseline, k)))
    return 1 - common / (len(items) if denominator == "length" else k)


def serendipity_at_k(recommended: Items, relevant: Relevant, k: int, *, popularity: Counts, catalog_size: int) -> float:
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
