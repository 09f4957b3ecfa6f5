"""Precision and recall over all ranks of one user's list; NaN without relevant items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import Items, Relevant, check_option, hits_of, is_number, relevant_items, scores_of

__all__ = ["average_precision_at_k", "average_recall_at_k", "interpolated_precision_at_k"]


def average_precision_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min",
    ties: Literal["expected", "blocks"] = "expected",
    without_relevant: Literal["undefined", "one"] = "undefined",
    scores: Sequence[float] | None = None,
) -> float:
    """Average precision: sum of the precision at the rank of each hit, over the normaliser.

    ``normaliser`` is ``"min"``: min(relevant items, k); ``"k"``; ``"relevant"``: the number of
    relevant items; ``"hits"``: the number of hits in the top k; ``"length"``: the number of items
    in the top k; or ``"min_length"``: the smaller of this number and the number of relevant items.

    With the ``scores`` of the list, items with equal scores form a tied block. The value is then
    the mean over all orders of the tied items; with ``ties="blocks"``, each hit in the top k has
    the precision at the last rank of its block, even if that is below k (as in scikit-learn's
    ``average_precision_score`` and ``label_ranking_average_precision_score``).

    For a user without relevant items the value is NaN, or 1 with ``without_relevant="one"``.

    >>> round(average_precision_at_k([1, 2, 3, 4, 5], {1, 3, 5}, 5), 4)
    0.7556
    >>> average_precision_at_k([1, 2], {1}, scores=[0.5, 0.5])
    0.75
    >>> average_precision_at_k([1, 2], {1}, ties="blocks", scores=[0.5, 0.5])
    0.5
    """
    check_option("ties", ties, "expected", "blocks")
    check_option("without_relevant", without_relevant, "undefined", "one")
    if ties == "blocks" and scores is None:
        raise ParameterError("ties='blocks' needs the scores of the list", found="scores=None")
    relevant = relevant_items(relevant)
    if not relevant:
        return 1.0 if without_relevant == "one" else math.nan
    top_k = hits_of(recommended, relevant, k)
    if scores is None:
        hits = [(float(hit), sum(top_k[:rank]) / rank) for rank, hit in enumerate(top_k, start=1)]
    else:
        flags = hits_of(recommended, relevant, None)
        hits = _tied_hits(flags, scores_of(recommended, scores), ties)[:k]
    total = sum(hit * precision for hit, precision in hits)
    n = {
        "min": len(relevant) if k is None else min(len(relevant), k),
        "k": k,
        "relevant": len(relevant),
        "hits": sum(hit for hit, _ in hits),
        "length": len(hits),
        "min_length": min(len(relevant), len(hits)),
    }[normaliser]
    if n is None:
        raise ParameterError("normaliser='k' needs a k", found="k=None")
    return total / n if n else 0.0


def _tied_hits(flags: Sequence[int], scores: Sequence[float], ties: str) -> list[tuple[float, float]]:
    """Return the probability that each rank is a hit, and the expected precision there if it is.

    In a block of n tied items, r of them relevant, each rank is a hit with probability r/n. Above a
    hit at position i of the block, counted from 0, there are i(r - 1)/(n - 1) expected hits of the
    block.
    """
    out: list[tuple[float, float]] = []
    above = 0  # hits above the block
    for _, block in groupby(zip(scores, flags, strict=True), key=lambda pair: pair[0]):
        hits = [hit for _, hit in block]
        n, r, start = len(hits), sum(hits), len(out)
        for i, hit in enumerate(hits):
            if ties == "blocks":
                out.append((hit, (above + r) / (start + n)))
            else:
                before = above + i * (r - 1) / max(n - 1, 1)
                out.append((r / n, (before + 1) / (start + i + 1)))
        above += r
    return out


def average_recall_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Average recall: sum of the recall at the rank of each hit, over min(relevant items, k).

    >>> average_recall_at_k([1, 2, 3], {1, 3}, 3)
    0.75
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    total = sum(sum(hits[:rank]) for rank, hit in enumerate(hits, start=1) if hit)
    return total / len(relevant) / (len(relevant) if k is None else min(len(relevant), k))


def interpolated_precision_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    level: float | None = None,
    rounding: Literal["exact", "trec_eval"] = "exact",
) -> float:
    """Interpolated precision: largest precision at a rank whose recall is at least ``level``.

    Only the first k ranks count; the value is 0 if the recall at k is below the level. Without a
    level, the value is the mean over the 11 levels 0, 0.1, …, 1, as trec_eval's ``11pt_avg``; with
    a level, it is trec_eval's ``iprec_at_recall``. With ``rounding="trec_eval"``, a level requires
    floor(level · R + 0.9) hits, where R is the number of relevant items. For multiples of 0.1 this
    is the same rule, except for rounding errors: at level 0.7 and R = 3, trec_eval requires 2 hits
    instead of 3.

    >>> interpolated_precision_at_k([1, 2, 3, 4], {1, 4}, level=0.5)
    1.0
    >>> round(interpolated_precision_at_k([1, 2, 3, 4], {1, 4}), 4)
    0.7727
    """
    relevant = relevant_items(relevant)
    if level is not None and not (is_number(level) and 0 <= level <= 1):
        raise ParameterError("level must lie in [0, 1]", found=f"level={level!r}")
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)

    def reached(found: int, wanted: float) -> bool:
        if rounding == "exact":
            return found / len(relevant) >= wanted
        return found >= math.floor(wanted * len(relevant) + 0.9)

    curve = [(sum(hits[:rank]), sum(hits[:rank]) / rank) for rank in range(1, len(hits) + 1)]
    levels = [i / 10 for i in range(11)] if level is None else [level]
    best = [max((precision for found, precision in curve if reached(found, wanted)), default=0.0) for wanted in levels]
    return sum(best) / len(levels)
