"""Metrics from labels and scores: one user's candidate set as two arrays of the same length.

``y_true`` holds the relevance of every candidate, ``y_score`` the scores of the model. Candidates
are ranked by descending score. Ties are averaged over all orders, as in scikit-learn's
``ndcg_score``: in a group of n tied candidates, r of them relevant, each rank holds a relevant one
with probability r/n (McSherry & Najork 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from rankwise.errors import ParameterError, ScoreError
from rankwise.functional.accuracy import check_k
from rankwise.functional.graded import GainKind, gain_of

__all__ = [
    "average_precision_score",
    "dcg_score",
    "hit_rate_score",
    "ndcg_score",
    "precision_score",
    "recall_score",
    "reciprocal_rank_score",
]


Values: TypeAlias = Sequence[float]


def _ranked(y_true: Values, y_score: Values, k: int | None) -> list[list[float]]:
    """Return the labels in groups of equal score, best group first, after checking the input."""
    check_k(k)
    if len(y_true) != len(y_score):
        raise ParameterError("labels and scores must have the same length", found=f"{len(y_true)} and {len(y_score)}")
    if not all(math.isfinite(score) for score in y_score):
        raise ScoreError("a score is NaN or infinite", found=repr(list(y_score)))
    pairs = sorted(zip(y_score, y_true, strict=True), key=lambda pair: -pair[0])
    return [[float(true) for _, true in rows] for _, rows in groupby(pairs, key=lambda p: p[0])]


def dcg_score(
    y_true: Values, y_score: Values, *, k: int | None = None, gain: GainKind = "linear", log_base: float = 2.0
) -> float:
    """Discounted cumulative gain; tied candidates get the mean of their gains.

    >>> dcg_score([1, 0, 1], [0.9, 0.8, 0.7])
    1.5
    """
    total, rank = 0.0, 0
    for group in _ranked(y_true, y_score, k):
        mean = sum(gain_of(label, gain) for label in group) / len(group)
        for _ in group:
            rank += 1
            if k is None or rank <= k:
                total += mean / math.log(rank + 1, log_base)
    return total


def ndcg_score(
    y_true: Values, y_score: Values, *, k: int | None = None, gain: GainKind = "linear", log_base: float = 2.0
) -> float:
    """Normalised DCG: DCG divided by the ideal DCG; NaN if no candidate is relevant.

    >>> round(ndcg_score([3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1], gain="exponential"), 5)
    0.94881
    >>> round(ndcg_score([1, 0, 0], [0.5, 0.5, 0.5]), 4)
    0.7103
    """
    if not any(label > 0 for label in y_true):
        return math.nan
    ideal = dcg_score(y_true, y_true, k=k, gain=gain, log_base=log_base)
    return dcg_score(y_true, y_score, k=k, gain=gain, log_base=log_base) / ideal


class _Group(NamedTuple):
    """Candidates with the same score."""

    above: int  # candidates with a higher score
    relevant_above: int
    size: int
    relevant: int
    inside: int  # ranks of the group that are in the top k


def _groups(y_true: Values, y_score: Values, k: int | None) -> Iterator[_Group]:
    above = relevant_above = 0
    for labels in _ranked(y_true, y_score, k):
        size, relevant = len(labels), sum(label > 0 for label in labels)
        inside = size if k is None else min(size, max(0, k - above))
        yield _Group(above, relevant_above, size, relevant, inside)
        above, relevant_above = above + size, relevant_above + relevant


def precision_score(y_true: Values, y_score: Values, *, k: int) -> float:
    """Precision at k: expected share of relevant candidates in the top k.

    >>> precision_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    hits = sum(g.relevant * g.inside / g.size for g in groups)
    return hits / k if any(g.relevant for g in groups) else math.nan


def recall_score(y_true: Values, y_score: Values, *, k: int | None = None) -> float:
    """Recall at k: expected share of the relevant candidates that is in the top k.

    >>> recall_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    total = sum(g.relevant for g in groups)
    hits = sum(g.relevant * g.inside / g.size for g in groups)
    return hits / total if total else math.nan


def hit_rate_score(y_true: Values, y_score: Values, *, k: int | None = None) -> float:
    """Hit rate: probability that a relevant candidate is in the top k; 0 or 1 without ties.

    >>> hit_rate_score([0, 1], [0.5, 0.5], k=1)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    if not any(g.relevant for g in groups):
        return math.nan
    miss = (math.comb(g.size - g.relevant, g.inside) / math.comb(g.size, g.inside) for g in groups)
    return 1.0 - math.prod(miss)


def reciprocal_rank_score(y_true: Values, y_score: Values, *, k: int | None = None) -> float:
    """Reciprocal rank: 1 / rank of the first relevant candidate in the top k, 0 without one.

    >>> reciprocal_rank_score([0, 1], [0.5, 0.5])
    0.75
    """
    first = next((g for g in _groups(y_true, y_score, k) if g.relevant), None)
    if first is None:
        return math.nan
    n, r = first.size, first.relevant
    # The first of r relevant candidates is at position i if the others are among those after it.
    return sum(
        math.comb(n - i, r - 1) / math.comb(n, r) / (first.above + i)
        for i in range(1, min(first.inside, n - r + 1) + 1)
    )


def average_precision_score(y_true: Values, y_score: Values, *, k: int | None = None) -> float:
    """Average precision: sum of the precision at each hit's rank, over min(relevant items, k).

    >>> average_precision_score([1, 0, 1, 0], [0.9, 0.8, 0.5, 0.1], k=4)
    0.8333333333333333
    """
    groups = list(_groups(y_true, y_score, k))
    total = sum(g.relevant for g in groups)
    if not total:
        return math.nan
    # A relevant candidate at position i of its group has (i - 1)(r - 1)/(n - 1) others above it.
    sums = sum(
        g.relevant / g.size * (g.relevant_above + 1 + i * (g.relevant - 1) / max(g.size - 1, 1)) / (g.above + i + 1)
        for g in groups
        if g.relevant
        for i in range(g.inside)
    )
    return sums / (total if k is None else min(total, k))
