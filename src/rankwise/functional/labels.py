"""Measures from labels and scores: one user's candidates as two arrays of the same length.

``y_true`` holds the relevance of every candidate, ``y_score`` what the model says. Candidates are
ranked by falling score. Equal scores are averaged over all orders, as scikit-learn's
``ndcg_score`` does: of a group of n candidates with one score, r of them relevant, each place is
held by a relevant one with chance r/n (McSherry & Najork 2008).
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rankwise.errors import ParameterError, ScoreError
from rankwise.functional.lists import GainKind, gain_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "average_precision_score",
    "dcg_score",
    "hit_rate_score",
    "ndcg_score",
    "precision_score",
    "recall_score",
    "reciprocal_rank_score",
]


def _ranked(y_true: Sequence[float], y_score: Sequence[float]) -> list[list[float]]:
    """Return the labels in groups of equal score, best group first."""
    if len(y_true) != len(y_score):
        raise ParameterError(
            "labels and scores must be of one length", found=f"{len(y_true)} and {len(y_score)}"
        )
    if not all(math.isfinite(score) for score in y_score):
        raise ScoreError("a score is NaN or infinite", found=repr(list(y_score)))
    pairs = sorted(zip(y_score, y_true, strict=True), key=lambda pair: -pair[0])
    return [[float(true) for _, true in rows] for _, rows in groupby(pairs, key=lambda p: p[0])]


def dcg_score(
    y_true: Sequence[float],
    y_score: Sequence[float],
    *,
    k: int | None = None,
    gain: GainKind = "linear",
    log_base: float = 2.0,
) -> float:
    """Discounted cumulative gain; tied candidates share the mean of their gains.

    >>> dcg_score([1, 0, 1], [0.9, 0.8, 0.7])
    1.5
    """
    if k is not None and k < 1:
        raise ParameterError("k must be a whole number from 1", found=f"k={k}")
    total, rank = 0.0, 0
    for group in _ranked(y_true, y_score):
        mean = sum(gain_of(label, gain) for label in group) / len(group)
        for _ in group:
            rank += 1
            if k is None or rank <= k:
                total += mean / math.log(rank + 1, log_base)
    return total


def ndcg_score(
    y_true: Sequence[float],
    y_score: Sequence[float],
    *,
    k: int | None = None,
    gain: GainKind = "linear",
    log_base: float = 2.0,
) -> float:
    """Discounted cumulative gain as a share of the best; NaN if nothing is relevant.

    >>> round(ndcg_score([3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1], gain="exponential"), 5)
    0.94881
    >>> round(ndcg_score([1, 0, 0], [0.5, 0.5, 0.5]), 4)
    0.7103
    """
    if not any(label > 0 for label in y_true):
        return math.nan
    best = dcg_score(y_true, y_true, k=k, gain=gain, log_base=log_base)
    return dcg_score(y_true, y_score, k=k, gain=gain, log_base=log_base) / best


class _Group(NamedTuple):
    """Candidates of one score."""

    above: int
    """How many candidates score more."""
    found: int
    """How many of those are relevant."""
    size: int
    relevant: int
    inside: int
    """How many of the group's places are in the top k."""


def _groups(y_true: Sequence[float], y_score: Sequence[float], k: int | None) -> Iterator[_Group]:
    if k is not None and k < 1:
        raise ParameterError("k must be a whole number from 1", found=f"k={k}")
    above = found = 0
    for labels in _ranked(y_true, y_score):
        size, relevant = len(labels), sum(label > 0 for label in labels)
        inside = size if k is None else min(size, max(0, k - above))
        yield _Group(above, found, size, relevant, inside)
        above, found = above + size, found + relevant


def precision_score(y_true: Sequence[float], y_score: Sequence[float], *, k: int) -> float:
    """Precision at k.

    >>> precision_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    hits = sum(g.relevant * g.inside / g.size for g in groups)
    return hits / k if any(g.relevant for g in groups) else math.nan


def recall_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Recall at k.

    >>> recall_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    total = sum(g.relevant for g in groups)
    hits = sum(g.relevant * g.inside / g.size for g in groups)
    return hits / total if total else math.nan


def hit_rate_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Whether a relevant candidate is in the top k.

    >>> hit_rate_score([0, 1], [0.5, 0.5], k=1)
    0.5
    """
    groups = list(_groups(y_true, y_score, k))
    if not any(g.relevant for g in groups):
        return math.nan
    none = (math.comb(g.size - g.relevant, g.inside) / math.comb(g.size, g.inside) for g in groups)
    return 1.0 - math.prod(none)


def reciprocal_rank_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """One over the rank of the first relevant candidate.

    >>> reciprocal_rank_score([0, 1], [0.5, 0.5])
    0.75
    """
    first = next((g for g in _groups(y_true, y_score, k) if g.relevant), None)
    if first is None:
        return math.nan
    n, r = first.size, first.relevant
    # The first of r relevant candidates stands at place i if the others are among those after it.
    return sum(
        math.comb(n - i, r - 1) / math.comb(n, r) / (first.above + i)
        for i in range(1, min(first.inside, n - r + 1) + 1)
    )


def average_precision_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Mean of the precision at the rank of every relevant candidate.

    >>> average_precision_score([1, 0, 1, 0], [0.9, 0.8, 0.5, 0.1], k=4)
    0.8333333333333333
    """
    groups = list(_groups(y_true, y_score, k))
    total = sum(g.relevant for g in groups)
    if not total:
        return math.nan
    # At place i of its group a relevant candidate has (i - 1)(r - 1)/(n - 1) of the others above.
    sums = sum(
        g.relevant / g.size * (g.found + 1 + i * (g.relevant - 1) / max(g.size - 1, 1))
        / (g.above + i + 1)
        for g in groups
        if g.relevant
        for i in range(g.inside)
    )  # fmt: skip
    return sums / (total if k is None else min(total, k))
