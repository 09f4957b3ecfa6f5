"""Measures from labels and scores: one user's candidates as two arrays of the same length.

``y_true`` holds the relevance of every candidate, ``y_score`` what the model says. Candidates are
ranked by falling score. Equal scores are averaged over all orders, as scikit-learn's
``ndcg_score`` does, by going through the orders of each tied group one by one where no formula is
shorter.
"""

from __future__ import annotations

import math
from itertools import combinations, groupby, product
from typing import TYPE_CHECKING

from rankwise.errors import ParameterError, ScoreError
from rankwise.functional import lists
from rankwise.functional.lists import GainKind, gain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "average_precision_score",
    "dcg_score",
    "hit_rate_score",
    "ndcg_score",
    "precision_score",
    "recall_score",
    "reciprocal_rank_score",
]

_ORDERS = 50_000


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


def _over_orders(
    y_true: Sequence[float],
    y_score: Sequence[float],
    measure: Callable[[list[int], set[int]], float],
) -> float:
    """Return the mean of a measure over all orders of tied candidates."""
    groups = _ranked(y_true, y_score)
    orders = math.prod(math.comb(len(g), sum(label > 0 for label in g)) for g in groups)
    if orders > _ORDERS:
        raise ParameterError(
            "too many orders of tied candidates to go through",
            found=f"{orders:,} orders",
            hint='rankwise.evaluate(…, ties="expected") has formulas for them',
        )
    values = []
    for arrangement in product(*(_arrangements(group) for group in groups)):
        labels = [label for group in arrangement for label in group]
        relevant = {place for place, label in enumerate(labels) if label}
        values.append(measure(list(range(len(labels))), relevant))
    return sum(values) / len(values)


def _arrangements(group: list[float]) -> Iterator[list[bool]]:
    """Go through the ways in which the relevant candidates of a group can be placed."""
    places = range(len(group))
    for chosen in combinations(places, sum(label > 0 for label in group)):
        yield [place in chosen for place in places]


def precision_score(y_true: Sequence[float], y_score: Sequence[float], *, k: int) -> float:
    """Precision at k.

    >>> precision_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    return _over_orders(y_true, y_score, lambda items, r: lists.precision_at_k(items, r, k))


def recall_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Recall at k.

    >>> recall_score([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    return _over_orders(y_true, y_score, lambda items, r: lists.recall_at_k(items, r, k))


def hit_rate_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Whether a relevant candidate is in the top k.

    >>> hit_rate_score([0, 1], [0.5, 0.5], k=1)
    0.5
    """
    return _over_orders(y_true, y_score, lambda items, r: lists.hit_rate_at_k(items, r, k))


def reciprocal_rank_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """One over the rank of the first relevant candidate.

    >>> reciprocal_rank_score([0, 1], [0.5, 0.5])
    0.75
    """
    return _over_orders(y_true, y_score, lambda items, r: lists.reciprocal_rank_at_k(items, r, k))


def average_precision_score(
    y_true: Sequence[float], y_score: Sequence[float], *, k: int | None = None
) -> float:
    """Mean of the precision at the rank of every relevant candidate.

    >>> average_precision_score([1, 0, 1, 0], [0.9, 0.8, 0.5, 0.1], k=4)
    0.8333333333333333
    """
    return _over_orders(y_true, y_score, lambda items, r: lists.average_precision_at_k(items, r, k))
