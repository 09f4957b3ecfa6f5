"""Pairwise metrics of one user's list: how often relevant items rank above irrelevant ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import Literal

from rankwise.functional.accuracy import Items, Relevances, Relevant, check_option, hits_of, relevant_items, scores_of

__all__ = ["auc", "bpref", "limited_auc_at_k", "list_auc", "partial_auc_at_k"]


def bpref(
    recommended: Items,
    relevance_scores: Relevances,
    *,
    without_judged: Literal["one", "undefined"] = "one",
    negative_grades: Literal["irrelevant", "unjudged"] = "irrelevant",
) -> float:
    """Binary preference: how rarely items judged irrelevant rank above relevant items.

    ``relevance_scores`` has all judged items; items of relevance 0 or less are irrelevant. For a
    user without judged irrelevant items, each recommended relevant item counts 1, or the value is
    NaN with ``without_judged="undefined"``. With ``negative_grades="unjudged"`` items of relevance
    below 0 are not judged.

    >>> bpref([1, 2, 3, 4], {1: 1, 2: 0, 3: 1, 9: 0})
    0.75
    >>> bpref([1, 2], {1: -1, 2: 1}), bpref([1, 2], {1: -1, 2: 1}, negative_grades="unjudged")
    (0.0, 1.0)
    """
    check_option("negative_grades", negative_grades, "irrelevant", "unjudged")
    lowest = 0 if negative_grades == "unjudged" else -math.inf
    judged = {item: score for item, score in relevance_scores.items() if score >= lowest}
    relevant = {item for item, score in judged.items() if score > 0}
    irrelevant = len(judged) - len(relevant)
    if not relevant:
        return math.nan
    total, above = 0.0, 0
    for item in recommended:
        if item in relevant:
            limit = min(irrelevant, len(relevant))
            total += 1 - min(above, len(relevant)) / limit if limit else 1
        elif item in judged:
            above += 1
    if not irrelevant and without_judged == "undefined" and total:
        return math.nan
    return total / len(relevant)


def _shares(
    recommended: Items, relevant: set[Hashable], candidates: Collection[Hashable], *, one_more: bool
) -> tuple[list[float], float]:
    """Return the share of non-relevant candidates below each hit, and below an unlisted item."""
    n = len(set(candidates) - relevant) + one_more
    above, shares = 0, []
    for item in recommended:
        if item in relevant:
            shares.append((n - above) / n if n else math.nan)
        else:
            above += 1
    return shares, 0.5 * (n - above) / n if n else math.nan


def auc(
    recommended: Items,
    relevant: Relevant,
    candidates: Collection[Hashable],
    *,
    negatives: Literal["exact", "one_more"] = "exact",
) -> float:
    """Area under the ROC curve: share of irrelevant candidates below a relevant one, averaged.

    Candidates outside the list count as tied below it, and a tied pair counts one half.
    ``negatives="one_more"`` adds 1 to the number of irrelevant candidates.

    >>> auc([1, 2, 3], {1, 3}, range(6))
    0.875
    """
    relevant = relevant_items(relevant)
    if not relevant or not recommended:
        return 0.0 if relevant else math.nan
    hits, unlisted = _shares(recommended, relevant, candidates, one_more=negatives == "one_more")
    return (sum(hits) + unlisted * (len(relevant) - len(hits))) / len(relevant)


def limited_auc_at_k(
    recommended: Items,
    relevant: Relevant,
    candidates: Collection[Hashable],
    k: int,
    *,
    negatives: Literal["exact", "one_more"] = "exact",
) -> float:
    """Limited area under the ROC curve: only the relevant items in the top k count.

    ``negatives`` is as for `auc`.

    >>> limited_auc_at_k([1, 2, 3], {1, 3}, range(6), 2)
    0.5
    """
    relevant = relevant_items(relevant)
    if not relevant or not recommended:
        return 0.0 if relevant else math.nan
    others = set(candidates) - relevant
    hits, _ = _shares(recommended[:k], relevant, others, one_more=negatives == "one_more")
    undefined = not others and negatives == "exact"
    return math.nan if undefined else sum(hits) / min(k, len(relevant))


def partial_auc_at_k(
    recommended: Items, relevant: Relevant, k: int, *, positives: Literal["all", "top"] = "all"
) -> float:
    """Partial area under the ROC curve, up to the first k irrelevant items.

    ``positives="top"`` counts only the first k relevant items of the list.

    >>> partial_auc_at_k([1, 2, 3], {1, 3}, 2)
    0.75
    """
    relevant = relevant_items(relevant)
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


def list_auc(recommended: Items, relevant: Relevant, *, scores: Sequence[float] | None = None) -> float:
    """Area under the ROC curve within the list: items outside the list do not count.

    It is the probability that a relevant item of the list ranks above an irrelevant one; with the
    ``scores`` of the list, pairs with equal scores count one half. NaN if the list has only
    relevant or only irrelevant items.

    >>> list_auc([1, 2, 3, 4], {1, 3, 9})
    0.75
    >>> list_auc([1, 2, 3, 4], {1, 3, 9}, scores=[0.9, 0.5, 0.5, 0.1])
    0.875
    """
    flags = hits_of(recommended, relevant_items(relevant), None)
    ranked = [-i for i in range(len(flags))] if scores is None else scores_of(recommended, scores)
    hits = [score for score, flag in zip(ranked, flags, strict=True) if flag]
    others = [score for score, flag in zip(ranked, flags, strict=True) if not flag]
    won = sum((hit > other) + 0.5 * (hit == other) for hit in hits for other in others)
    return won / (len(hits) * len(others)) if hits and others else math.nan
