"""Metrics of one user from labels and scores: confusion matrix, pairs, and rating errors.

``catalog_size`` is the number of items of the catalogue, |I|. The metrics, not the matrix, are NaN
for a user without relevant items.

``y_true`` holds the relevance of every candidate, ``y_score`` the scores of the model. Candidates
are ranked by descending score. Ties are averaged over all orders, as in scikit-learn's
``ndcg_score``: in a group of n tied candidates, r of them relevant, each rank holds a relevant one
with probability r/n (McSherry & Najork 2008).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from rankwise.errors import ParameterError, ScoreError
from rankwise.functional.accuracy import (
    GainKind,
    Items,
    Judged,
    Relevances,
    Relevant,
    check_k,
    check_option,
    gain_of,
    hits_of,
    is_count,
    relevances,
    relevant_items,
    scores_of,
    top,
)
from rankwise.messages import parameter

__all__ = [
    "accuracy_at_k",
    "auc",
    "average_precision_score",
    "bpref",
    "classification",
    "confusion_at_k",
    "dcg_score",
    "explained_variance",
    "extended_auc",
    "fallout_at_k",
    "fraction_of_concordant_pairs",
    "hit_rate_score",
    "limited_auc_at_k",
    "list_auc",
    "mcc_at_k",
    "mean_absolute_error",
    "mean_squared_error",
    "ndcg_score",
    "partial_auc_at_k",
    "precision_score",
    "r2",
    "recall_score",
    "reciprocal_rank_score",
    "root_mean_squared_error",
]

Pairs: TypeAlias = Sequence[tuple[float, float]]


def _mean(values: Iterable[float]) -> float:
    terms = list(values)
    return sum(terms) / len(terms) if terms else math.nan


def mean_absolute_error(pairs: Pairs) -> float:
    """Mean of the absolute errors.

    >>> mean_absolute_error([(4, 5), (3, 3)])
    0.5
    """
    return _mean(abs(predicted - true) for predicted, true in pairs)


def mean_squared_error(pairs: Pairs) -> float:
    """Mean of the squared errors.

    >>> mean_squared_error([(4, 6), (3, 3)])
    2.0
    """
    return _mean((predicted - true) ** 2 for predicted, true in pairs)


def root_mean_squared_error(pairs: Pairs) -> float:
    """Square root of the mean squared error.

    >>> root_mean_squared_error([(4, 6), (1, 3)])
    2.0
    """
    return math.sqrt(mean_squared_error(pairs))


def r2(pairs: Pairs) -> float:
    """Coefficient of determination: 1 − squared error over squared deviation from the mean rating.

    >>> r2([(4, 5), (3, 3)])
    0.5
    """
    mean = _mean(true for _, true in pairs)
    spread = sum((true - mean) ** 2 for _, true in pairs)
    error = sum((predicted - true) ** 2 for predicted, true in pairs)
    return 1 - error / spread if spread else math.nan


def explained_variance(pairs: Pairs) -> float:
    """Explained variance: 1 − variance of the error over the variance of the true ratings.

    >>> explained_variance([(4, 5), (3, 4), (2, 2.5)]) > 0.9
    True
    """
    mean = _mean(true for _, true in pairs)
    bias = _mean(true - predicted for predicted, true in pairs)
    spread = sum((true - mean) ** 2 for _, true in pairs)
    residual = sum((true - predicted - bias) ** 2 for predicted, true in pairs)
    return 1 - residual / spread if spread else math.nan


Statistic: TypeAlias = Literal[
    "accuracy",
    "balanced_accuracy",
    "f1",
    "fowlkes_mallows",
    "informedness",
    "jaccard",
    "markedness",
    "mcc",
    "negative_predictive_value",
    "precision",
    "recall",
    "specificity",
]


def classification(
    pairs: Pairs, *, statistic: Statistic = "f1", threshold: float | None = 0.5
) -> float:
    """Return a statistic of the confusion matrix of (score, label) pairs.

    A pair is classified as positive if its score is at least the threshold; without a threshold,
    the score is the probability that it is.

    >>> classification([(0.9, 1), (0.6, 0), (0.2, 0)], statistic="precision")
    0.5
    >>> classification([(0.9, 1), (0.6, 0), (0.2, 0)], statistic="recall", threshold=None)
    0.9
    """
    positive = [
        (score if threshold is None else float(score >= threshold), label) for score, label in pairs
    ]
    tp = sum(p for p, label in positive if label)
    fp = sum(p for p, label in positive if not label)
    fn = sum(1 - p for p, label in positive if label)
    tn = sum(1 - p for p, label in positive if not label)
    return _of_confusion(statistic, tp, fp, fn, tn)


def _of_confusion(statistic: Statistic, tp: float, fp: float, fn: float, tn: float) -> float:
    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    precision, recall = share(tp, tp + fp), share(tp, tp + fn)
    specificity, negative = share(tn, tn + fp), share(tn, tn + fn)
    values = {
        "accuracy": share(tp + tn, tp + fp + fn + tn),
        "balanced_accuracy": (recall + specificity) / 2,
        "f1": share(2 * tp, 2 * tp + fp + fn),
        "fowlkes_mallows": math.sqrt(precision * recall),
        "informedness": recall + specificity - 1,
        "jaccard": share(tp, tp + fp + fn),
        "markedness": precision + negative - 1,
        "mcc": share(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
        "negative_predictive_value": negative,
        "precision": precision,
        "recall": recall,
        "specificity": specificity,
    }
    check_option("statistic", statistic, *values)
    return values[statistic] if tp + fp + fn + tn else math.nan


def fraction_of_concordant_pairs(
    users: Mapping[Any, Pairs], *, average: Literal["pairs", "users"] = "pairs"
) -> float:
    """Fraction of concordant pairs: item pairs of a user in the correct order, over all users.

    With ``average="users"``, the mean number of concordant pairs of the users who have one, over
    the sum of this mean and that of discordant pairs (as in Surprise).

    >>> fraction_of_concordant_pairs({"ann": [(4, 5), (3, 3), (3.5, 2)]})
    0.6666666666666666
    """
    counts = []  # of each user: concordant and discordant pairs
    for pairs in users.values():
        ordered = [
            predicted > other
            for predicted, true in pairs
            for other, other_true in pairs
            if true > other_true
        ]
        counts.append((sum(ordered), len(ordered) - sum(ordered)))
    concordant, discordant = (
        sum(numbers) / (max(1, sum(number > 0 for number in numbers)) if average == "users" else 1)
        for numbers in (zip(*counts, strict=True) if counts else [(), ()])
    )
    n = concordant + discordant
    return concordant / n if n else math.nan


def extended_auc(
    users: Mapping[Any, Pairs], *, average: Literal["users", "rows", "pairs"] = "users"
) -> float:
    """Probability that predictions order two rows of a user as their true values, ties one half.

    The mean over users with a pair of different values; with ``average="rows"`` a user has the
    weight of the number of rows, with ``average="pairs"`` that of the number of pairs.

    >>> extended_auc({"ann": [(40, 60), (9, 20), (9, 5)]})
    0.8333333333333334
    """
    check_option("average", average, "users", "rows", "pairs")
    weighted = []  # of each user: weight and value
    for pairs in users.values():
        ordered = [
            (predicted > other) + 0.5 * (predicted == other)
            for predicted, true in pairs
            for other, other_true in pairs
            if true > other_true
        ]
        weight = {"users": 1, "rows": len(pairs), "pairs": len(ordered)}[average]
        weighted += [(weight, sum(ordered) / len(ordered))] if ordered else []
    total = sum(weight for weight, _ in weighted)
    return sum(weight * value for weight, value in weighted) / total if total else math.nan


ShortLists: TypeAlias = Literal["as_given", "filled"]
"""What a list shorter than k is: as it was given, or filled up to k with irrelevant items."""


def confusion_at_k(
    recommended: Items, relevant: Relevant, k: int | None = None, *, catalog_size: int
) -> dict[str, int]:
    """Return the confusion matrix of the top k: true and false positives and negatives.

    >>> confusion_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20)
    {'tp': 2, 'fp': 1, 'fn': 1, 'tn': 16}
    """
    return _confusion(recommended, relevant, k, catalog_size, "as_given")


def _confusion(
    recommended: Items,
    relevant: Relevant,
    k: int | None,
    catalog_size: int,
    short_lists: ShortLists,
) -> dict[str, int]:
    """Return the confusion matrix of the top k, in which filled places are false positives."""
    check_option("short_lists", short_lists, "as_given", "filled")
    relevant = relevant_items(relevant)
    n, hits = len(top(recommended, k)), sum(hits_of(recommended, relevant, k))
    missed = len(relevant) - hits
    if not is_count(catalog_size) or catalog_size < n + missed:
        raise ParameterError(
            "the catalogue has fewer items than are recommended or relevant",
            found=f"{catalog_size!r} < {n + missed}",
        )

    if short_lists == "filled" and k is not None:
        n = k
    return {"tp": hits, "fp": n - hits, "fn": missed, "tn": catalog_size - n - missed}


def accuracy_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    catalog_size: int,
    short_lists: ShortLists = "as_given",
) -> float:
    """Share of the catalogue that is classified correctly: (TP + TN) / ``|I|``.

    With ``short_lists="filled"``, the missing items of a list shorter than k are false positives.

    >>> accuracy_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20)
    0.9
    """
    cells = _confusion(recommended, relevant, k, catalog_size, short_lists)
    if not relevant_items(relevant):
        return math.nan
    return (cells["tp"] + cells["tn"]) / catalog_size


def mcc_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    catalog_size: int,
    short_lists: ShortLists = "as_given",
) -> float:
    """Matthews correlation coefficient of being recommended and being relevant.

    With ``short_lists="filled"``, the missing items of a list shorter than k are false positives. 0
    where a factor of the denominator is 0, as in scikit-learn's ``matthews_corrcoef``.

    >>> round(mcc_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20), 4)
    0.6078
    """
    cells = _confusion(recommended, relevant, k, catalog_size, short_lists)
    if not relevant_items(relevant):
        return math.nan
    tp, fp, fn, tn = (cells[name] for name in ("tp", "fp", "fn", "tn"))
    squared = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(squared) if squared else 0.0


def fallout_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    catalog_size: int | None = None,
    negatives: Literal["catalogue", "listed"] = "catalogue",
    without_irrelevant: Literal["undefined", "one"] = "undefined",
) -> float:
    """Fall-out: share of the irrelevant items that is in the top k (false positive rate).

    ``negatives="catalogue"`` counts all irrelevant items of the catalogue; ``"listed"`` only the
    irrelevant items of the whole list. NaN without irrelevant or without relevant items; with
    ``without_irrelevant="one"`` 1 without irrelevant items, and defined without relevant items (as
    in TorchMetrics).

    >>> fallout_at_k([1, 3, 5], {1, 5}, 3, catalog_size=12)
    0.1
    >>> fallout_at_k([1, 3, 5, 7], {1, 5}, 3, negatives="listed")
    0.5
    """
    check_option("negatives", negatives, "catalogue", "listed")
    relevant = relevant_items(relevant)
    if negatives == "catalogue":
        if catalog_size is None:
            raise ParameterError(
                f"{parameter('negatives', 'catalogue')} needs the size of the catalogue",
                found=parameter("catalog_size", None),
            )
        cells = confusion_at_k(recommended, relevant, k, catalog_size=catalog_size)
        false_positives, n = cells["fp"], cells["fp"] + cells["tn"]
    else:
        false_positives = hits_of(recommended, relevant, k).count(0)
        n = hits_of(recommended, relevant, None).count(0)
    if without_irrelevant == "one":
        return false_positives / n if n else 1.0
    return false_positives / n if n and relevant else math.nan


def bpref(
    recommended: Items,
    relevance_scores: Relevances,
    *,
    without_judged: Literal["one", "undefined"] = "one",
    negative_grades: Literal["irrelevant", "unjudged"] = "irrelevant",
) -> float:
    """Binary preference: how rarely items judged irrelevant rank above relevant items.

    ``relevance_scores`` has all judged items; items of relevance 0 or less are irrelevant. For a
    user without judged irrelevant items, each recommended relevant item counts 1; with
    ``without_judged="undefined"`` the value is NaN. With ``negative_grades="unjudged"`` items of
    relevance below 0 are not judged.

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
    if not irrelevant and without_judged == "undefined":
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
    irrelevant = set(candidates) - relevant
    hits, _ = _shares(recommended[:k], relevant, irrelevant, one_more=negatives == "one_more")
    undefined = not irrelevant and negatives == "exact"
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


def list_auc(
    recommended: Items,
    judged: Judged,
    k: int | None = None,
    *,
    scores: Sequence[float] | None = None,
    one_class: Literal["undefined", "zero", "by_class"] = "undefined",
    pairs: Literal["relevant", "graded"] = "relevant",
) -> float:
    """Area under the ROC curve within the top k: other items do not count.

    It is the probability that a relevant item of the top k ranks above an irrelevant one; with the
    ``scores`` of the list, pairs with equal scores count one half. NaN if the top k has only
    relevant or only irrelevant items; 0 with ``one_class="zero"``; 1 if all are relevant, else 0,
    with ``one_class="by_class"``. With ``pairs="graded"``, all pairs of judged items of different
    relevance are compared, and items without a relevance are in no pair.

    >>> list_auc([1, 2, 3, 4], {1, 3, 9})
    0.75
    >>> list_auc([1, 2, 3, 4], {1, 3, 9}, 3)
    0.5
    >>> list_auc([1, 2, 3, 4], {1, 3, 9}, scores=[0.9, 0.5, 0.5, 0.1])
    0.875
    """
    check_option("one_class", one_class, "undefined", "zero", "by_class")
    check_option("pairs", pairs, "relevant", "graded")
    if pairs == "graded":
        return _graded_list_auc(recommended, judged, k, scores, one_class)
    flags = hits_of(recommended, relevant_items(judged), k)
    ranked = (
        [-i for i in range(len(flags))]
        if scores is None
        else scores_of(recommended, scores)[: len(flags)]
    )
    hits = [score for score, flag in zip(ranked, flags, strict=True) if flag]
    misses = [score for score, flag in zip(ranked, flags, strict=True) if not flag]
    won = sum((hit > other) + 0.5 * (hit == other) for hit in hits for other in misses)
    if hits and misses:
        return won / (len(hits) * len(misses))
    return math.nan if one_class == "undefined" else float(one_class == "by_class" and bool(hits))


def _graded_list_auc(
    recommended: Items,
    judged: Judged,
    k: int | None,
    scores: Sequence[float] | None,
    one_class: str,
) -> float:
    """Return the share of pairs of judged items of different grades in the right order."""
    grades, items = relevances(judged), top(recommended, k)
    ranked = (
        [-float(i) for i in range(len(items))] if scores is None else scores_of(recommended, scores)
    )
    rows = [
        (grades[item], score) for item, score in zip(items, ranked, strict=False) if item in grades
    ]
    pairs = [
        (score > other) + 0.5 * (score == other)
        for grade, score in rows
        for lower, other in rows
        if grade > lower
    ]
    if pairs:
        return sum(pairs) / len(pairs)
    all_relevant = bool(rows) and all(grade > 0 for grade, _ in rows)
    return math.nan if one_class == "undefined" else float(one_class == "by_class" and all_relevant)


Values: TypeAlias = Sequence[float]


def _ranked(y_true: Values, y_score: Values, k: int | None) -> list[list[float]]:
    """Return the labels in groups of equal score, best group first, after checking the input."""
    check_k(k)
    if len(y_true) != len(y_score):
        raise ParameterError(
            "labels and scores must have the same length", found=f"{len(y_true)} and {len(y_score)}"
        )
    if not all(math.isfinite(score) for score in y_score):
        raise ScoreError("a score is NaN or infinite", found=repr(list(y_score)))
    pairs = sorted(zip(y_score, y_true, strict=True), key=lambda pair: -pair[0])
    return [[float(true) for _, true in rows] for _, rows in groupby(pairs, key=lambda p: p[0])]


def dcg_score(
    y_true: Values,
    y_score: Values,
    *,
    k: int | None = None,
    gain: GainKind = "linear",
    log_base: float = 2.0,
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
    y_true: Values,
    y_score: Values,
    *,
    k: int | None = None,
    gain: GainKind = "linear",
    log_base: float = 2.0,
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
        g.relevant
        / g.size
        * (g.relevant_above + 1 + i * (g.relevant - 1) / max(g.size - 1, 1))
        / (g.above + i + 1)
        for g in groups
        if g.relevant
        for i in range(g.inside)
    )
    return sums / (total if k is None else min(total, k))
