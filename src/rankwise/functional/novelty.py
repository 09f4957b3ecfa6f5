"""How unknown the items of one user's list are.

``popularity`` gives the number of training users of each item; items that are not in it have none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rankwise.functional.lists import gain_of, top

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from rankwise.functional.lists import Items, Relevances, Relevant

__all__ = [
    "efd_at_k",
    "epc_at_k",
    "novelty_at_k",
    "serendipity_at_k",
    "surprisal_at_k",
    "unexpectedness_at_k",
    "unlikeness_at_k",
]


def _discounts(n: int) -> list[float]:
    return [1 / math.log2(rank + 1) for rank in range(1, n + 1)]


def _found(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    relevance: str,
    worth: Callable[[Hashable], float],
) -> float:
    gains = {"binary": "binary", "discounted": "exponential"}
    gain = gains.get(relevance, "exponential_plus_one")
    total = 0.0
    for item, weight in zip(recommended, _discounts(k), strict=False):
        if relevance_scores.get(item, 0) > 0:
            total += weight * gain_of(relevance_scores[item], gain) * worth(item)  # type: ignore[arg-type]
    return total / sum(_discounts(k))


def efd_at_k(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    *,
    popularity: Mapping[Hashable, int],
    total: int,
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary",
) -> float:
    """Return expected free discovery; ``total`` training users, or interactions.

    >>> efd_at_k([8, 9], {8: 1}, 1, popularity={7: 4, 8: 1}, total=4)
    2.0
    """
    return _found(
        recommended,
        relevance_scores,
        k,
        relevance,
        lambda item: -math.log2(max(popularity.get(item, 0), 1) / total),
    )


def epc_at_k(
    recommended: Items,
    relevance_scores: Relevances,
    k: int,
    *,
    popularity: Mapping[Hashable, int],
    total: int,
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary",
) -> float:
    """Return the expected popularity complement; ``total`` training users, or interactions.

    >>> epc_at_k([8, 9], {8: 1}, 1, popularity={7: 4, 8: 1}, total=4)
    0.75
    """
    return _found(
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
    popularity: Mapping[Hashable, int],
    total: int,
    discount: Literal["none", "log"] = "none",
    denominator: Literal["length", "k"] = "length",
) -> float:
    """Mean self-information in bits; ``total`` training users, or interactions.

    >>> novelty_at_k([8, 7], 2, popularity={7: 4, 8: 1}, total=4)
    1.0
    """
    bits = [-math.log2(max(popularity.get(item, 0), 1) / total) for item in top(recommended, k)]
    if not bits:
        return math.nan
    weights = _discounts(k) if discount == "log" else [1.0] * k
    whole = sum(weights[: len(bits)]) if denominator == "length" else sum(weights)
    return sum(weight * one for weight, one in zip(weights, bits, strict=False)) / whole


def surprisal_at_k(
    recommended: Items,
    k: int,
    *,
    popularity: Mapping[Hashable, int],
    n_users: int,
    denominator: Literal["length", "k"] = "length",
) -> float:
    """Mean self-information as a share of the largest possible.

    >>> surprisal_at_k([8, 7], 2, popularity={7: 4, 8: 1}, n_users=4)
    0.5
    """
    bits = novelty_at_k(
        recommended, k, popularity=popularity, total=n_users, denominator=denominator
    )
    return bits / math.log2(n_users) if n_users > 1 else 0 * bits


def unexpectedness_at_k(
    recommended: Items,
    baseline: Items,
    k: int,
    *,
    denominator: Literal["length", "k"] = "length",
) -> float:
    """Share of the top k that is not in the top k of another list.

    >>> unexpectedness_at_k([1, 8, 9, 4], [1, 2], 4)
    0.75
    """
    own = top(recommended, k)
    if not own or not baseline:
        return math.nan
    common = len(set(own) & set(top(baseline, k)))
    return 1 - common / (len(own) if denominator == "length" else k)


def serendipity_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    popularity: Mapping[Hashable, int],
    catalog_size: int,
) -> float:
    """Relevant items above their place by popularity; items that have none had no place at all.

    >>> serendipity_at_k([8, 9], {8}, 2, popularity={7: 3, 8: 1}, catalog_size=4)
    0.125
    """
    own = top(recommended, k)
    known = sorted(set(popularity.values()), reverse=True)
    place = {item: known.index(count) + 1 for item, count in popularity.items()}
    ahead = [
        max(place.get(item, catalog_size + 1) - rank, 0) / catalog_size
        for rank, item in enumerate(own, start=1)
        if item in relevant
    ]
    return sum(ahead) / len(own) if own else math.nan


def unlikeness_at_k(
    recommended: Items,
    history: Collection[Hashable],
    k: int,
    *,
    similarity: Callable[[Hashable, Hashable], float],
    relevant: Relevant | None = None,
) -> float:
    """One less each item's mean similarity to the history, mean over the top k.

    With ``relevant``, other items count 0.

    >>> unlikeness_at_k([8, 9], {7}, 2, similarity=lambda a, b: 0.5 if a == 8 else 0.0)
    0.75
    """
    own = top(recommended, k)
    if not own or not history:
        return math.nan
    total = 0.0
    for item in own:
        if relevant is None or item in relevant:
            total += 1 - sum(similarity(item, past) for past in history) / len(history)
    return total / len(own)
