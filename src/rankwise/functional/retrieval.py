"""Metrics of information retrieval, as trec_eval defines them, of one user's recommendation list.

``relevance_scores`` is a dict of item to grade: above 0 the item is relevant, 0 is judged not
relevant, and below 0 the item was selected for judgement (it is in the pool) but not judged.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import accumulate

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import (
    GainKind,
    Items,
    Judged,
    Relevances,
    Relevant,
    check_fraction,
    gains_of,
    hits_of,
    ideal_gains,
    is_count,
    ratio_or_0,
    relevances,
    relevant_items,
    top,
)
from rankwise.messages import parameter

__all__ = [
    "grade_at_k",
    "hole_at_k",
    "inferred_average_precision",
    "logit_average_precision",
    "ndcg_at_levels",
    "ndcg_at_relevant",
    "normalised_gain",
    "num_judged_irrelevant_at_k",
    "num_relevant",
    "num_users",
    "rbp_residual",
    "unjudged_at_k",
    "utility_at_k",
]


def num_users(recommended: Items) -> float:
    """Return 1 for a user, with or without a list.

    >>> num_users([])
    1.0
    """
    top(recommended, None)
    return 1.0


def num_relevant(recommended: Items, relevant: Relevant) -> float:
    """Return the number of relevant items, recommended or not.

    >>> num_relevant([1, 3, 5], {1, 5, 10})
    3.0
    """
    top(recommended, None)
    return float(len(relevant_items(relevant)))


def num_judged_irrelevant_at_k(
    recommended: Items, relevance_scores: Relevances, k: int | None = None
) -> float:
    """Return the number of items in the top k that are judged not relevant: of grade 0.

    >>> num_judged_irrelevant_at_k([1, 3, 5, 7], {1: 2, 3: 0, 5: -1})
    1.0
    """
    grades = relevances(relevance_scores)
    return float(sum(grades.get(item) == 0 for item in top(recommended, k)))


def unjudged_at_k(recommended: Items, relevance_scores: Relevances, k: int) -> float:
    """Share of k items that are recommended and have no grade of 0 or more.

    >>> unjudged_at_k([1, 3, 5, 7], {1: 2, 3: 0, 5: -1}, 4)
    0.5
    """
    items = top(recommended, k)
    return _n_unjudged(items, relevance_scores) / k if items else math.nan


def hole_at_k(recommended: Items, judged_anywhere: Collection[Hashable], k: int) -> float:
    """Return the number of items in the top k that are judged for nobody, divided by k.

    ``judged_anywhere`` holds the items with a judgement for any user.

    >>> hole_at_k([1, 2, 3, 4], {1, 2, 5}, 4)
    0.5
    """
    return sum(item not in judged_anywhere for item in top(recommended, k)) / k


def _n_unjudged(items: Items, grades: Judged) -> int:
    return sum(relevances(grades).get(item, -1) < 0 for item in items)


def grade_at_k(recommended: Items, relevance_scores: Relevances, k: int) -> float:
    """Grade of the item at rank k; NaN if it is not in the ground truth.

    >>> grade_at_k([1, 3], {1: 2, 3: 0}, 2), grade_at_k([1, 3], {1: 2}, 2)
    (0.0, nan)
    """
    item = top(recommended, k)[k - 1 :]
    return float(relevances(relevance_scores).get(item[0], math.nan)) if item else math.nan


def rbp_residual(
    recommended: Items,
    relevance_scores: Relevances,
    k: int | None = None,
    *,
    p: float = 0.8,
    tail: bool = True,
) -> float:
    """Residual of rank-biased precision: its increase if all unjudged items were relevant.

    Without ``tail``, the value is 0 if all recommended items are judged, as in trec_eval.

    >>> round(rbp_residual([1, 2, 3], {1: 1, 2: 0}, p=0.5), 4)
    0.25
    """
    check_fraction("p", p)
    grades, items = relevances(relevance_scores), top(recommended, k)
    if not items or (not tail and not _n_unjudged(items, grades)):
        return 0.0 if items else math.nan
    return 1 - sum((1 - p) * p**i for i, item in enumerate(items) if grades.get(item, -1) >= 0)


def logit_average_precision(recommended: Items, relevant: Relevant) -> float:
    """Logit of average precision, smoothed: log of (1 + s) / (1 + R − s).

    s is the sum of the precision at the rank of each relevant item, R the number of relevant items.

    >>> round(logit_average_precision([1, 2, 3], {1, 3}), 4)
    0.6931
    """
    relevant = relevant_items(relevant)
    hits = hits_of(recommended, relevant, None)
    total = sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit)
    return math.log((1 + total) / (1 + len(relevant) - total)) if relevant else math.nan


def inferred_average_precision(
    recommended: Items, relevance_scores: Relevances, *, epsilon: float = 1e-5
) -> float:
    """Average precision inferred from a sample of the pool.

    Items of a grade below 0 are in the pool, but not judged.

    >>> round(inferred_average_precision([1, 2, 3, 4], {1: -1, 2: 0, 4: 1, 9: 1}), 4)
    0.125
    """
    grades = relevances(relevance_scores)
    relevant = relevant_items(grades)
    if not relevant:
        return math.nan
    total, above, irrelevant, pooled = (
        0.0,
        0,
        0,
        0,
    )  # above: relevant items; pooled: those that are not judged
    for rank, item in enumerate(top(recommended, None), start=1):
        if item in relevant:
            in_pool = above + irrelevant + pooled
            inferred = (above + epsilon) / (above + irrelevant + 2 * epsilon)
            total += (1 + in_pool * inferred) / rank
            above += 1
        elif item in grades:
            irrelevant += grades[item] >= 0
            pooled += grades[item] < 0
    return total / len(relevant)


def utility_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    catalog_size: int,
    weights: Sequence[float] = (1.0, -1.0, 0.0, 0.0),
) -> float:
    """Weighted sum of the true positives, false positives, false negatives and true negatives.

    >>> utility_at_k([1, 3, 5, 7], {1, 10}, catalog_size=20, weights=[2, -1, -0.5, 0])
    -1.5
    """
    if len(weights) != 4:
        raise ParameterError(
            "utility has four weights: of TP, FP, FN and TN", found=f"{len(weights)} weights"
        )
    if not is_count(catalog_size + 1):
        raise ParameterError(
            "catalog_size must be a whole number from 0",
            found=parameter("catalog_size", catalog_size),
        )
    relevant, items = relevant_items(relevant), top(recommended, k)
    tp = sum(item in relevant for item in items)
    cells = (
        tp,
        len(items) - tp,
        len(relevant) - tp,
        catalog_size + tp - len(items) - len(relevant),
    )
    return float(sum(weight * cell for weight, cell in zip(weights, cells, strict=True)))


def normalised_gain(
    recommended: Items,
    relevance_scores: Judged,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
) -> float:
    """Gain of the items, discounted by the gain missed above them, over the gain possible.

    The discount is a logarithm of the gain missed so far.

    >>> round(normalised_gain([1, 2, 3], {1: 2, 3: 1}), 4)
    0.877
    """
    if not relevant_items(relevance_scores):
        return math.nan
    best = ideal_gains(relevance_scores, gain, gains)
    total = possible = received = 0.0
    for i, value in enumerate(gains_of(recommended, relevance_scores, None, gain, gains)):
        received += value
        possible += max(1.0, best[i] if i < len(best) else 0.0)
        total += value / math.log2(2 + possible - received)
    return ratio_or_0(total, sum(best))


def ndcg_at_relevant(
    recommended: Items,
    relevance_scores: Judged,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
) -> float:
    """Mean of nDCG at the rank of each relevant item, or of the whole list if not recommended.

    >>> round(ndcg_at_relevant([1, 2, 3], {1, 3}), 4)
    0.9599
    """
    if not relevant_items(relevance_scores):
        return math.nan
    values = gains_of(recommended, relevance_scores, None, gain, gains)
    best = [value for value in ideal_gains(relevance_scores, gain, gains) if value > 0]
    ranks = [rank for rank, value in enumerate(values, start=1) if value > 0]
    ranks += [max(len(values), len(best))] * (len(best) - len(ranks))
    return ratio_or_0(sum(_ndcg_at(ranks, values, best)), len(best))


def ndcg_at_levels(
    recommended: Items,
    relevance_scores: Judged,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
) -> float:
    """Mean of nDCG at the ranks where the gain of the ideal list falls.

    The end of a list that is longer than the ideal list by two or more items is a further rank.

    >>> round(ndcg_at_levels([1, 2, 3, 4, 5], {1: 2, 3: 1}), 4)
    0.9035
    """
    if not relevant_items(relevance_scores):
        return math.nan
    values = gains_of(recommended, relevance_scores, None, gain, gains)
    best = [value for value in ideal_gains(relevance_scores, gain, gains) if value > 0]
    ranks = [rank for rank, value in enumerate(best, start=1) if [*best, 0.0][rank] != value]
    ranks += [len(values)] if len(values) > len(best) + 1 else []
    return ratio_or_0(sum(_ndcg_at(ranks, values, best)), len(ranks))


def _ndcg_at(
    ranks: Sequence[int], gains: Sequence[float], best: Sequence[float]
) -> Iterator[float]:
    """Yield nDCG at each of these ranks."""
    dcg, ideal = _dcg_by_rank(gains), _dcg_by_rank(best)
    return (dcg[min(rank, len(gains))] / ideal[min(rank, len(best))] for rank in ranks)


def _dcg_by_rank(gains: Sequence[float]) -> list[float]:
    """Return DCG at every rank from 0."""
    return [
        0.0,
        *accumulate(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1)),
    ]
