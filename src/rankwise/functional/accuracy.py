"""Metrics of one user's recommendation list.

``recommended`` is a list of distinct items, best first; ``relevant`` a set of items;
``relevance_scores`` a dict of item to relevance, where items above 0 are relevant. Each of the two
may be given for the other: a set gives its items the relevance 1. ``k=None`` is the whole list. The
value is NaN for a user without relevant items.

``judged`` is a collection of the user's judged items, or a dict of item to relevance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from rankwise.errors import DuplicateError, InputError, ParameterError, ScoreError
from rankwise.messages import parameter

__all__ = [
    "arhr_at_k",
    "average_precision",
    "average_recall_at_k",
    "cg_at_k",
    "complement",
    "complete_at_k",
    "condensed",
    "dcg",
    "err_at_k",
    "f1_at_k",
    "hit_rate",
    "interpolated_precision_at_k",
    "judged_at_k",
    "mean_precision_at_k",
    "mean_recall_at_k",
    "ncrr_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "r_precision",
    "ratio",
    "rbp",
    "recall_at_k",
    "reciprocal_rank",
]

Items: TypeAlias = Sequence[Hashable]
Relevant: TypeAlias = Collection[Hashable]
Relevances: TypeAlias = Mapping[Hashable, float]
Judged: TypeAlias = Relevant | Relevances
Lists: TypeAlias = Mapping[Hashable, Items]
Sets: TypeAlias = Mapping[Hashable, Relevant]


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 1, Python's or NumPy's."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and bool(1 <= value < 2**63)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, Real) and bool(abs(value) < math.inf)  # type: ignore[operator]


def as_written(share: float) -> Fraction:
    """Return a share as an exact fraction of its decimal digits: 0.29 of 50 is exactly 14.5."""
    return Fraction(repr(float(share))).limit_denominator(10**11)


def check_k(k: int | None) -> None:
    """Raise unless the cut-off is a whole number from 1, or None."""
    if k is not None and not is_count(k):
        raise ParameterError("k must be a whole number from 1", found=parameter("k", k))


def leaves_no_top(k: Any) -> bool:
    """Return whether a cut-off is a whole number below 1, which leaves every top k empty."""
    is_integer = isinstance(k, Integral) and not isinstance(k, bool)
    return is_integer and bool(k < 1)


def check_option(name: str, value: object, *options: str) -> None:
    """Raise unless the value of an option is among the known values."""
    if value not in options:
        raise ParameterError(
            f"{name} must be one of {', '.join(options)}", found=parameter(name, value)
        )


def check_fraction(name: str, value: object) -> None:
    """Raise unless a number lies between 0 and 1, both excluded."""
    if not (is_number(value) and 0 < value < 1):  # type: ignore[operator]
        raise ParameterError(f"{name} must lie between 0 and 1", found=parameter(name, value))


def relevances(judged: Judged) -> Mapping[Hashable, float]:
    """Return the relevance of each judged item: as given, or 1 for each item of a set."""
    if isinstance(judged, Mapping):
        for item, relevance in judged.items():
            if not is_number(relevance):
                raise ScoreError(
                    "a relevance is not a finite number",
                    where=f"item {item!r}",
                    found=repr(relevance)[:60],
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
    """Return the relevant items: all items whose relevance is above 0, each once."""
    return {item for item, relevance in relevances(judged).items() if relevance > 0}


def top(recommended: Items, k: int | None) -> list[Hashable]:
    """Return the first k items, after checking the list and the cut-off."""
    check_k(k)
    try:
        if isinstance(recommended, str | bytes):  # one item for a list, as {user: item} has it
            raise TypeError
        repeated = len(recommended) - len(set(recommended))
    except TypeError:
        raise InputError(
            "a recommendation list holds items, best first", found=repr(recommended)[:60]
        ) from None
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
            "scores must have one entry per item of the list",
            found=f"{len(values)} scores, {len(recommended)} items",
        )
    if not all(map(is_number, values)):
        raise ScoreError("a score is not a finite number", found=repr(values)[:60])
    if values != sorted(values, reverse=True):
        raise ScoreError(
            "scores must not increase along the list, which has the best item first",
            found=repr(values)[:60],
        )
    return values


WithoutRelevant: TypeAlias = Literal["undefined", "zero", "one"]
_WITHOUT_RELEVANT = {"undefined": math.nan, "zero": 0.0, "one": 1.0}
"""The value of a user without relevant items."""


def precision_at_k(
    recommended: Items, relevant: Relevant, k: int, *, denominator: Literal["k", "length"] = "k"
) -> float:
    """Precision: share of the top k that is relevant.

    ``denominator="length"`` divides by the number of items in the top k instead of k, which does
    not penalise short lists. Without relevant items, or with k below 1, the value is 0.

    >>> precision_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.4
    """
    if leaves_no_top(k):
        return 0.0
    hits = hits_of(recommended, relevant_items(relevant), k)
    n = k if denominator == "k" else len(hits)
    return sum(hits) / n if n else 0.0


def recall_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    denominator: Literal["relevant", "capped", "min_length"] = "relevant",
) -> float:
    """Recall: share of the relevant items that is in the top k.

    ``denominator="capped"`` divides by min(k, number of relevant items) instead of the number of
    relevant items; ``"min_length"`` by the smaller of this number and the number of items in the
    top k. Without relevant items, or with k below 1, the value is 0.

    >>> round(recall_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5), 4)
    0.6667
    """
    if leaves_no_top(k):
        return 0.0
    relevant = relevant_items(relevant)
    n = len(relevant)
    if denominator == "capped" and k is not None:
        n = min(k, n)
    if denominator == "min_length":
        n = min(len(top(recommended, k)), n)
    hits = sum(hits_of(recommended, relevant, k))
    return hits / n if n else 0.0


def f1_at_k(recommended: Items, relevant: Relevant, k: int, *, beta: float = 1.0) -> float:
    """F-metric: harmonic mean of precision and recall, where recall weighs beta times as much.

    It is 0 if both are 0, as they are without relevant items or with k below 1.

    >>> f1_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 5)
    0.5
    """
    precision = precision_at_k(recommended, relevant, k)
    recall = recall_at_k(recommended, relevant, k)
    if precision == recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def hit_rate(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Hit rate of one user: 1 if a relevant item is in the top k, else 0.

    >>> hit_rate([1, 3, 5], {5}, 2)
    0.0
    """
    relevant = relevant_items(relevant)
    return float(any(hits_of(recommended, relevant, k))) if relevant else math.nan


def complete_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Return 1 if all relevant items are in the top k, else 0.

    >>> complete_at_k([1, 2, 3], {1, 3}, 3), complete_at_k([1, 2, 3], {1, 3}, 2)
    (1.0, 0.0)
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    return float(relevant <= set(top(recommended, k)))


def r_precision(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    multiple: float = 1.0,
    without_hit: Literal["zero", "undefined"] = "zero",
) -> float:
    """R-precision: precision at a cut-off equal to the number of relevant items R.

    With ``multiple``, the cut-off is floor(multiple · R + 0.9), as in trec_eval's ``Rprec_mult``.
    With k, only hits in the top k count. With ``without_hit="undefined"``, the value is NaN without
    a hit.

    >>> r_precision([1, 2, 3], {1, 3})
    0.5
    >>> r_precision([1, 2, 3], {1, 3}, multiple=0.5)
    1.0
    >>> r_precision([1, 2, 3], {2, 3}, 1), r_precision([1, 2, 3], {2, 3}, 1, without_hit="undefined")
    (0.0, nan)
    """
    check_option("without_hit", without_hit, "zero", "undefined")
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    depth = math.floor(multiple * len(relevant) + 0.9)
    hits = sum(hits_of(top(recommended, k), relevant, depth)) if depth else 0
    if not hits:
        return 0.0 if without_hit == "zero" else math.nan
    return hits / depth


def reciprocal_rank(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Reciprocal rank: 1 / rank of the first relevant item in the top k, 0 if there is none.

    >>> reciprocal_rank([1, 3, 5], {5, 3}, 3)
    0.5
    """
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    for rank, hit in enumerate(hits_of(recommended, relevant, k), start=1):
        if hit:
            return 1 / rank
    return 0.0


def arhr_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    normaliser: Literal["none", "relevant", "hits"] = "none",
) -> float:
    """Average reciprocal hit rank: sum of one over the rank of every hit.

    With ``normaliser="relevant"``, the sum is divided by the number of relevant items, with
    ``normaliser="hits"`` by the number of hits in the top k.

    >>> arhr_at_k([1, 2, 3, 4], {1, 4}, 4)
    1.25
    >>> arhr_at_k([1, 2, 3, 4], {1, 4}, 4, normaliser="relevant")
    0.625
    """
    check_option("normaliser", normaliser, "none", "relevant", "hits")
    relevant = relevant_items(relevant)
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)
    total = sum(hit / rank for rank, hit in enumerate(hits, start=1))
    if normaliser == "hits":
        return ratio_or_0(total, sum(hits))
    return total / (len(relevant) if normaliser == "relevant" else 1)


def ncrr_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Normalised cumulative reciprocal rank: ARHR divided by that of the ideal list.

    >>> round(ncrr_at_k([1, 2, 3, 4], {1, 4}, 4), 4)
    0.8333
    """
    n = len(relevant_items(relevant))
    ideal = sum(1 / rank for rank in range(1, min(n, n if k is None else k) + 1))
    return arhr_at_k(recommended, relevant, k) / ideal if n else math.nan


def average_precision(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min",
    ties: Literal["expected", "blocks"] = "expected",
    without_relevant: WithoutRelevant = "undefined",
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

    For a user without relevant items the value is NaN, or with ``without_relevant`` 0 or 1.

    >>> round(average_precision([1, 2, 3, 4, 5], {1, 3, 5}, 5), 4)
    0.7556
    >>> average_precision([1, 2], {1}, scores=[0.5, 0.5])
    0.75
    >>> average_precision([1, 2], {1}, ties="blocks", scores=[0.5, 0.5])
    0.5
    """
    check_option("ties", ties, "expected", "blocks")
    check_option("without_relevant", without_relevant, *_WITHOUT_RELEVANT)
    if ties == "blocks" and scores is None:
        raise ParameterError(
            f"{parameter('ties', 'blocks')} needs the scores of the list",
            found=parameter("scores", None),
        )
    relevant = relevant_items(relevant)
    if not relevant:
        return _WITHOUT_RELEVANT[without_relevant]
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
        raise ParameterError(
            f"{parameter('normaliser', 'k')} needs a k", found=parameter("k", None)
        )
    return total / n if n else 0.0


def _tied_hits(
    flags: Sequence[int], scores: Sequence[float], ties: str
) -> list[tuple[float, float]]:
    """Return the probability that each rank is a hit, and the expected precision at a hit.

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


def mean_precision_at_k(recommended: Items, relevant: Relevant, k: int) -> float:
    """Mean of the precision at every rank from 1 to k (Elliot's ``MAP``).

    >>> mean_precision_at_k([1, 2], {1}, 2)
    0.75
    """
    check_k(k)
    if not relevant_items(relevant):
        return math.nan
    return sum(precision_at_k(recommended, relevant, rank) for rank in range(1, k + 1)) / k


def mean_recall_at_k(recommended: Items, relevant: Relevant, k: int) -> float:
    """Mean of the recall at every rank from 1 to k (Elliot's ``MAR``).

    >>> mean_recall_at_k([1, 2], {2, 3}, 2)
    0.25
    """
    check_k(k)
    if not relevant_items(relevant):
        return math.nan
    return sum(recall_at_k(recommended, relevant, rank) for rank in range(1, k + 1)) / k


ELEVEN_LEVELS = tuple(i / 10 for i in range(11))
"""The recall levels 0, 0.1, …, 1."""


def interpolated_precision_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    level: float | None = None,
    levels: Sequence[float] = ELEVEN_LEVELS,
    rounding: Literal["exact", "trec_eval", "nearest"] = "exact",
) -> float:
    """Interpolated precision: largest precision at a rank whose recall is at least ``level``.

    Only the first k ranks count; the value is 0 if the recall at k is below the level. Without a
    level, the value is the mean over ``levels``, as trec_eval's ``11pt_avg``; with a level, it is
    trec_eval's ``iprec_at_recall``. A level requires level · R hits, where R is the number of
    relevant items; rounded to the nearest whole number with ``rounding="nearest"`` (trec_eval 10),
    or floor(level · R + 0.9) with ``rounding="trec_eval"`` (up to version 9). For multiples of 0.1
    the latter is the exact rule, except for rounding errors: at level 0.7 and R = 3, 2 hits are
    enough instead of 3.

    >>> interpolated_precision_at_k([1, 2, 3, 4], {1, 4}, level=0.5)
    1.0
    >>> round(interpolated_precision_at_k([1, 2, 3, 4], {1, 4}), 4)
    0.7727
    """
    relevant = relevant_items(relevant)
    if level is not None and not (is_number(level) and 0 <= level <= 1):
        raise ParameterError("level must lie in [0, 1]", found=parameter("level", level))
    if not relevant:
        return math.nan
    hits = hits_of(recommended, relevant, k)

    def reached(n_hits: int, recall: float) -> bool:
        if rounding == "exact":
            return n_hits / len(relevant) >= recall
        return n_hits >= math.floor(
            recall * len(relevant) + (0.9 if rounding == "trec_eval" else 0.5)
        )

    curve = [(sum(hits[:rank]), sum(hits[:rank]) / rank) for rank in range(1, len(hits) + 1)]
    recalls = levels if level is None else [level]
    best = [
        max((precision for n_hits, precision in curve if reached(n_hits, recall)), default=0.0)
        for recall in recalls
    ]
    return sum(best) / len(recalls)


def judged_at_k(recommended: Items, judged: Judged, k: int | None = None) -> float:
    """Share of the items in the top k that are judged, relevant or not.

    >>> judged_at_k([1, 2, 3, 4], {1: 1, 2: 0, 9: 1}, 4)
    0.5
    """
    items, judged = top(recommended, k), relevances(judged)
    return sum(item in judged for item in items) / len(items) if items else math.nan


def condensed(recommended: Items, judged: Judged) -> list[Hashable]:
    """Return the condensed list: without its unjudged items (Sakai 2007).

    >>> condensed([1, 2, 3, 4], {4: 1, 2: 0, 9: 1})
    [2, 4]
    """
    judged = relevances(judged)
    return [item for item in top(recommended, None) if item in judged]


def complement(value: float) -> float:
    """Complement: one minus a value.

    >>> complement(0.25)
    0.75
    """
    return 1.0 - value


def ratio(first: float, second: float) -> float:
    """Ratio: one value divided by another; NaN if the other is 0.

    >>> ratio(1.0, 4.0), ratio(1.0, 0.0)
    (0.25, nan)
    """
    return first / second if second else math.nan


GainKind: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]
Discount: TypeAlias = Literal["log_plus_one", "log", "rank"]


_LONGEST = 10_000_000
"""The largest k at which a full ideal list is summed: above it, the sum takes minutes."""


def gain_of(relevance: float, gain: GainKind, gains: Sequence[float] = ()) -> float:
    """Return the gain of an item with this relevance; 0 for an irrelevant item."""
    if relevance <= 0:
        return 0.0
    if relevance in range(1, len(gains) + 1):
        return gains[int(relevance) - 1]
    if gain == "exponential":
        return float(2.0**relevance - 1)
    if gain == "exponential_plus_one":
        return float(2.0 ** (relevance + 1) - 1)
    return 1.0 if gain == "binary" else relevance


def gains_of(
    recommended: Items, scores: Judged, k: int | None, gain: GainKind, gains: Sequence[float] = ()
) -> list[float]:
    """Return the gain of each item of the top k."""
    relevance = relevances(scores)
    return [gain_of(relevance.get(item, 0), gain, gains) for item in top(recommended, k)]


def ideal_gains(scores: Judged, gain: GainKind, gains: Sequence[float] = ()) -> list[float]:
    """Return the gains of the ideal list: of all judged items, in decreasing order."""
    return sorted(
        (gain_of(relevance, gain, gains) for relevance in relevances(scores).values()), reverse=True
    )


def cg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
    denominator: Literal["none", "length"] = "none",
) -> float:
    """Cumulative gain: sum of the gains in the top k; ``gain`` and ``gains`` are as for `dcg`.

    With ``denominator="length"``, the sum is divided by the number of items in the top k.

    >>> cg_at_k([1, 2, 3], {1: 3, 3: 2}, 3)
    5.0
    >>> cg_at_k([1, 2], {1: 3, 3: 2}, 3, denominator="length")
    1.5
    """
    check_option("denominator", denominator, "none", "length")
    if not relevant_items(relevance_scores):
        return math.nan
    shown = gains_of(recommended, relevance_scores, k, gain, gains)
    return ratio_or_0(sum(shown), len(shown)) if denominator == "length" else float(sum(shown))


def ratio_or_0(part: float, total: float) -> float:
    """Return a part over a total; 0 if there is nothing to divide by."""
    return part / total if total else 0.0


def _discounted(gains: Sequence[float], log_base: float, discount: Discount) -> float:
    ranked = enumerate(gains, start=1)
    if discount == "rank":
        return sum(gain / rank for rank, gain in ranked)
    if discount == "log":
        return sum(gain / max(1, math.log(rank, log_base)) for rank, gain in ranked)
    return sum(gain / math.log(rank + 1, log_base) for rank, gain in ranked)


def dcg(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
    log_base: float = 2.0,
    discount: Discount = "log_plus_one",
) -> float:
    """Discounted cumulative gain: sum of the gains in the top k, each over log(rank + 1).

    ``gain`` is ``"linear"``: the relevance; ``"exponential"``: 2^relevance − 1; ``"binary"``: 1; or
    ``"exponential_plus_one"``: 2^(relevance + 1) − 1. ``gains`` has other gains for the grades 1,
    2, …. ``log_base`` is the base of the logarithm. With ``discount="log"``, gains are divided by
    max(1, log(rank)), which discounts nothing down to the rank ``log_base`` (Järvelin & Kekäläinen
    2002); with ``discount="rank"`` by the rank itself.

    >>> dcg([1, 2, 3], {1: 1, 3: 1}, 3)
    1.5
    >>> dcg([1, 2, 3, 4], {1: 1, 2: 1, 4: 1}, 4, discount="log")
    2.5
    """
    check_option("discount", discount, "log_plus_one", "log", "rank")
    if not relevant_items(relevance_scores):
        return math.nan
    return _discounted(gains_of(recommended, relevance_scores, k, gain, gains), log_base, discount)


def ndcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
    log_base: float = 2.0,
    ideal: Literal["relevant", "full", "length", "uncut"] = "relevant",
    discount: Discount = "log_plus_one",
) -> float:
    """Normalised DCG: DCG divided by the ideal DCG, the DCG of the ideal list.

    The ideal list has the relevant items in decreasing gain, cut at k; with ``ideal="full"``, k
    items with the largest gain; with ``ideal="length"``, no more items than the top k of the list;
    with ``ideal="uncut"``, all of them. The other parameters are as for `dcg`. Without relevant
    items, or with k below 1, the value is 0.

    >>> ndcg_at_k([3, 1, 5, 2, 4], {1: 3, 2: 2, 3: 3, 4: 1, 5: 2}, 5)
    1.0
    """
    if leaves_no_top(k):
        return 0.0
    value = dcg(
        recommended,
        relevance_scores,
        k,
        gain=gain,
        gains=gains,
        log_base=log_base,
        discount=discount,
    )
    if math.isnan(value):
        return 0.0
    best = ideal_gains(relevance_scores, gain, gains)
    if ideal == "full":
        if k is None or k > _LONGEST:
            raise ParameterError(
                f"{parameter('ideal', 'full')} needs a k, of at most {_LONGEST:,}",
                found=parameter("k", k),
            )
        best = best[:1] * k
    if ideal == "length":
        k = len(top(recommended, k))
    if ideal == "uncut":
        k = None
    return ratio_or_0(value, _discounted(best[:k], log_base, discount))


def check_grades(judged: Judged, max_relevance: float) -> None:
    """Raise if a relevance is above the largest grade of the scale."""
    largest = max(relevances(judged).values())
    if largest > max_relevance:
        raise ScoreError(
            "a relevance is above the largest grade",
            found=f"{largest:g} > {max_relevance:g}",
            hint=f"pass {parameter('max_relevance', 5)} for a scale that ends at 5",
        )


def rbp(
    recommended: Items,
    relevant: Judged,
    k: int | None = None,
    *,
    p: float = 0.8,
    normaliser: Literal["none", "ideal"] = "none",
    max_relevance: float | None = None,
    top_grade: Literal["max_relevance", "largest", "none"] = "max_relevance",
) -> float:
    """Rank-biased precision, for a user who reads on after each item with probability p.

    Relevance is binary by default. With ``top_grade="largest"``, the gain of an item is its
    relevance, divided by the user's largest relevance if that is above 1; with
    ``top_grade="none"``, it is its relevance (as in ranx). With ``max_relevance``, the largest
    grade of the rating scale, the gain of an item is relevance / max_relevance, and a larger
    relevance raises. With ``normaliser="ideal"``, the value is divided by that of the ideal list,
    with the relevant items in decreasing gain.

    >>> round(rbp([1, 2, 3], {1, 3}), 3), round(rbp([1, 2, 3], {1, 3}, normaliser="ideal"), 3)
    (0.328, 0.911)
    >>> rbp([1, 2, 3], {1: 5, 3: 2.5}, p=0.5, max_relevance=5)
    0.5625
    """
    if not relevant_items(relevant):
        return math.nan
    check_option("top_grade", top_grade, "max_relevance", "largest", "none")
    if top_grade == "largest":
        max_relevance = max(1.0, *relevances(relevant).values())
    gain: GainKind = "binary" if max_relevance is None and top_grade != "none" else "linear"
    largest = 1.0 if max_relevance is None or top_grade == "none" else max_relevance
    if not is_number(largest) or largest <= 0:
        raise ParameterError(
            "max_relevance must be a number above 0",
            found=parameter("max_relevance", max_relevance),
        )
    if gain == "linear" and top_grade != "none":
        check_grades(relevant, largest)
    gains = gains_of(recommended, relevant, k, gain)
    value = sum(g / largest * p**i for i, g in enumerate(gains))
    if normaliser == "none":
        return (1 - p) * value
    best = ideal_gains(relevant, gain)
    return value / sum(g / largest * p**i for i, g in enumerate(best[:k]))


def err_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    max_relevance: float = 1.0,
    stop: Literal["grade", "relevance"] = "grade",
    decay: float | None = None,
) -> float:
    """Return the expected reciprocal rank of the item at which the user stops.

    ``max_relevance`` is the largest grade of the rating scale; a larger relevance raises. With
    ``stop="relevance"``, the relevance itself is the probability to stop, and one above 1 raises.
    With a ``decay`` d, the item at rank i counts d^(i − 1) in place of 1 / i.

    >>> round(err_at_k([2, 1], {1: 3, 2: 2}, 2, max_relevance=4), 5)
    0.36523
    >>> round(err_at_k([2, 1], {1: 0.4, 2: 0.5}, stop="relevance", decay=0.85), 5)
    0.67
    """
    check_option("stop", stop, "grade", "relevance")
    if not relevant_items(relevance_scores):
        return math.nan
    is_grade = stop == "grade"
    check_grades(relevance_scores, max_relevance if is_grade else 1.0)
    gains = gains_of(recommended, relevance_scores, k, "exponential" if is_grade else "linear")
    total, reached = 0.0, 1.0  # reached: the probability that the user sees this rank
    for rank, gain in enumerate(gains, start=1):
        stops = gain / 2.0**max_relevance if is_grade else gain
        total += reached * stops * (1 / rank if decay is None else decay ** (rank - 1))
        reached *= 1 - stops
    return total
