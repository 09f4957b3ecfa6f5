"""Metrics of one user's recommendation list.

``recommended`` is a list of distinct items, best first; ``relevant`` a set of items;
``relevance_scores`` a dict of item to relevance, where items above 0 are relevant. Each of the two
may be given for the other: a set gives its items the relevance 1. ``k=None`` is the whole list.
The value is NaN for a user without relevant items.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from rankwise.errors import DuplicateError, InputError, ParameterError, ScoreError

__all__ = ["f1_at_k", "hit_rate_at_k", "precision_at_k", "r_precision", "recall_at_k"]

Items: TypeAlias = Sequence[Hashable]
Relevant: TypeAlias = Collection[Hashable]
Relevances: TypeAlias = Mapping[Hashable, float]
Judged: TypeAlias = Relevant | Relevances
Lists: TypeAlias = Mapping[Hashable, Items]
Sets: TypeAlias = Mapping[Hashable, Relevant]


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 1, Python's or NumPy's."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and bool(1 <= value < 2**63)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, Real) and bool(abs(value) < math.inf)  # type: ignore[operator]


def as_written(share: float) -> Fraction:
    """Return a share as an exact fraction of its decimal digits: 0.29 of 50 is exactly 14.5."""
    return Fraction(repr(float(share))).limit_denominator(10**11)


def check_k(k: int | None) -> None:
    """Raise unless the cut-off is a whole number from 1, or None."""
    if k is not None and not is_count(k):
        raise ParameterError("k must be a whole number from 1", found=f"k={k!r}")


def check_option(name: str, value: object, *known: str) -> None:
    """Raise unless the value of an option is one of the known ones."""
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}", found=f"{name}={value!r}")


def check_fraction(name: str, value: object) -> None:
    """Raise unless a number lies between 0 and 1, both excluded."""
    if not (is_number(value) and 0 < value < 1):  # type: ignore[operator]
        raise ParameterError(f"{name} must lie between 0 and 1", found=f"{name}={value!r}")


def relevances(judged: Judged) -> Mapping[Hashable, float]:
    """Return the relevance of each judged item: as given, or 1 for each item of a set."""
    if isinstance(judged, Mapping):
        for item, relevance in judged.items():
            if not is_number(relevance):
                raise ScoreError(
                    "a relevance is not a finite number", where=f"item {item!r}", found=repr(relevance)[:60]
                )
        return judged
    try:
        if isinstance(judged, str | bytes):
            raise TypeError
        return dict.fromkeys(judged, 1.0)
    except TypeError:
        raise InputError(
            "relevant items must be a set, or a dict of item to relevance", found=repr(judged)[:60]
        ) from None


def relevant_items(judged: Judged) -> set[Hashable]:
    """Return the relevant items: those whose relevance is above 0, each of them once."""
    return {item for item, relevance in relevances(judged).items() if relevance > 0}


def top(recommended: Items, k: int | None) -> list[Hashable]:
    """Return the first k items, after checking the list and the cut-off."""
    check_k(k)
    try:
        if isinstance(recommended, str | bytes):  # one item for a list, as {user: item} has it
            raise TypeError
        repeated = len(recommended) - len(set(recommended))
    except TypeError:
        raise InputError("a recommendation list holds items, best first", found=repr(recommended)[:60]) from None
    if repeated:
        raise DuplicateError("duplicate item in the list", found=repr(list(recommended)))
    return list(recommended)[:k]


def hits_of(recommended: Items, relevant: set[Hashable], k: int | None) -> list[int]:
    """Return 1 for each relevant item of the top k, else 0."""
    return [1 if item in relevant else 0 for item in top(recommended, k)]


def scores_of(recommended: Items, scores: Sequence[float]) -> list[float]:
    """Return the scores of the list, after checking that they are finite and in its order."""
    values = list(scores)
    if len(values) != len(recommended):
        raise ParameterError(
            "scores must have one entry per item of the list", found=f"{len(values)} scores, {len(recommended)} items"
        )
    if not all(map(is_number, values)):
        raise ScoreError("a score is not a finite number", found=repr(values)[:60])
    if values != sorted(values, reverse=True):
        raise ScoreError(
            "scores must not increase along the list, which has the best item first", found=repr(values)[:60]
        )
    return values


def precision_at_k(
    recommended: Items, relevant: Relevant, k: int, *, denominator: Literal["k", "length"] = "k"
) -> float:
    """Precision: share of the top k that is relevant.

    ``denominator="length"`` divides by the number of items in the top k instead of k, which does
    not penalise short lists. Without relevant items the value is 0.

    >>> precision_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.4
    """
    hits = hits_of(recommended, relevant_items(relevant), k)
    n = k if denominator == "k" else len(hits)
    return sum(hits) / n if n else 0.0


def recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    denominator: Literal["relevant", "capped"] = "relevant",
) -> float:
    """Recall: share of the relevant items that is in the top k.

    ``denominator="capped"`` divides by min(k, number of relevant items) instead of the number of
    relevant items. Without relevant items the value is 0.

    >>> round(recall_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5), 4)
    0.6667
    """
    relevant = relevant_items(relevant)
    n = len(relevant)
    if denominator == "capped" and k is not None:
        n = min(k, n)
    hits = sum(hits_of(recommended, relevant, k))
    return hits / n if n else 0.0


def f1_at_k(recommended: Items, relevant: Relevant, k: int, *, beta: float = 1.0) -> float:
    """F-measure: harmonic mean of precision and recall, where recall weighs beta times as much.

    It is 0 if both are 0, as they are without relevant items.

    >>> f1_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.5
    """
    precision = precision_at_k(recommended, relevant, k)
    recall = recall_at_k(recommended, relevant, k)
    if precision == recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def hit_rate_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Hit rate of one user: 1 if a relevant item is in the top k, else 0.

    >>> hit_rate_at_k([1, 3, 5], {5}, 2)
    0.0
    """
    relevant = relevant_items(relevant)
    return float(any(hits_of(recommended, relevant, k))) if relevant else math.nan


def r_precision(recommended: Items, relevant: Relevant) -> float:
    """R-precision: precision at a cut-off equal to the number of relevant items.

    >>> r_precision([1, 2, 3], {1, 3})
    0.5
    """
    relevant = relevant_items(relevant)
    return precision_at_k(recommended, relevant, len(relevant)) if relevant else math.nan
