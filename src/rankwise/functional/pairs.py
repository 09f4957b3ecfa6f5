"""How often relevant items stand above the others, for one user's list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from rankwise.functional.lists import Items, Relevances, Relevant

__all__ = ["auc", "bpref", "limited_auc_at_k", "partial_auc_at_k"]


def bpref(
    recommended: Items,
    relevance_scores: Relevances,
    *,
    without_judged: Literal["one", "undefined"] = "one",
) -> float:
    """Binary preference: judged items that are not relevant, above those that are.

    >>> bpref([1, 2, 3, 4], {1: 1, 2: 0, 3: 1, 9: 0})
    0.75
    """
    relevant = [item for item, score in relevance_scores.items() if score > 0]
    wrong = len(relevance_scores) - len(relevant)
    if not relevant or (not wrong and without_judged == "undefined"):
        return math.nan
    total, above = 0.0, 0
    for item in recommended:
        if item in relevant:
            total += 1 - min(above, len(relevant)) / min(wrong, len(relevant)) if wrong else 1
        elif item in relevance_scores:
            above += 1
    return total / len(relevant)


def _shares(
    recommended: Items, relevant: Relevant, candidates: Collection[Hashable], *, one_more: bool
) -> tuple[list[float], float]:
    """Return the share of irrelevant candidates below each hit, and below the rest."""
    wrong = len(set(candidates) - set(relevant)) + one_more
    above, listed = 0, []
    for item in recommended:
        if item in relevant:
            listed.append((wrong - above) / wrong if wrong else math.nan)
        else:
            above += 1
    return listed, 0.5 * (wrong - above) / wrong if wrong else math.nan


def auc(
    recommended: Items,
    relevant: Relevant,
    candidates: Collection[Hashable],
    *,
    negatives: Literal["exact", "one_more"] = "exact",
) -> float:
    """Area under the ROC curve; candidates that are not in the list count as tied after it.

    >>> auc([1, 2, 3], {1, 3}, range(6))
    0.875
    """
    if not relevant or not recommended:
        return 0.0 if relevant else math.nan
    listed, other = _shares(recommended, relevant, candidates, one_more=negatives == "one_more")
    return (sum(listed) + other * (len(relevant) - len(listed))) / len(relevant)


def limited_auc_at_k(
    recommended: Items,
    relevant: Relevant,
    candidates: Collection[Hashable],
    k: int,
    *,
    negatives: Literal["exact", "one_more"] = "exact",
) -> float:
    """Area of the relevant items in the top k alone.

    >>> limited_auc_at_k([1, 2, 3], {1, 3}, range(6), 2)
    0.5
    """
    if not relevant or not recommended:
        return 0.0 if relevant else math.nan
    top, wanted = recommended[:k], set(candidates)
    listed, _ = _shares(top, relevant, wanted, one_more=negatives == "one_more")
    nothing = not (wanted - set(relevant)) and negatives == "exact"
    return math.nan if nothing else sum(listed) / min(k, len(relevant))


def partial_auc_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int,
    *,
    positives: Literal["all", "top"] = "all",
) -> float:
    """Area up to the first k items that are not relevant.

    >>> partial_auc_at_k([1, 2, 3], {1, 3}, 2)
    0.75
    """
    if not relevant:
        return math.nan
    shares, above = [], 0
    for item in recommended:
        if item in relevant:
            shares.append(max(0, k - above) / k)
        else:
            above += 1
    if positives == "all":
        return sum(shares) / len(relevant)
    return sum(shares[:k]) / min(k, len(relevant))
