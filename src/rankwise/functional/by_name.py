"""Functions that courses and notebooks know by name: 0 wherever a metric of rankwise has no value.

A user without relevant items has the value 0, and counts as 0 in means; at a cut-off below 1 every
value is 0. The definitions of the metrics (`rankwise.functional.accuracy`) are undefined for such a
user, whom an evaluation leaves out and counts.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

from rankwise.errors import EmptyError, InputError, ParameterError, ScoreError, nearest
from rankwise.functional import labels as ratings
from rankwise.functional.accuracy import (
    Discount,
    GainKind,
    Items,
    Judged,
    Lists,
    Relevant,
    average_precision,
    dcg,
    hit_rate,
    is_count,
    is_number,
    leaves_no_top,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
    relevant_items,
    top,
)
from rankwise.functional.groups import catalog_coverage, gini_coefficient, mean_of_defined
from rankwise.functional.labels import hit_rate_score, ndcg_score, precision_score, recall_score
from rankwise.messages import parameter

__all__ = [
    "RecommenderEvaluator",
    "average_precision_at_k",
    "compute_metrics",
    "dcg_at_k",
    "hit_rate_at_k",
    "hits_at_k",
    "mean_average_precision_at_k",
    "mean_ndcg_at_k",
    "reciprocal_rank_at_k",
]


def hits_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> int:
    """Hits: number of relevant items in the top k, the ``user_intersection`` of courses.

    >>> hits_at_k([1, 3, 5, 7, 9], {1, 5, 10}, 3)
    2
    """
    if leaves_no_top(k):
        return 0
    relevant = relevant_items(relevant)
    return sum(item in relevant for item in top(recommended, k))


def hit_rate_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Hit rate of one user: 1 if a relevant item is in the top k, else 0.

    >>> hit_rate_at_k([1, 3, 5], {5}, 3), hit_rate_at_k([1, 3, 5], {5}, 2), hit_rate_at_k([1, 3, 5], set(), 2)
    (1.0, 0.0, 0.0)
    """
    return 0.0 if leaves_no_top(k) else _defined_or_0(hit_rate(recommended, relevant, k))


def reciprocal_rank_at_k(recommended: Items, relevant: Relevant, k: int | None = None) -> float:
    """Reciprocal rank: 1 / rank of the first relevant item in the top k, 0 if there is none.

    >>> reciprocal_rank_at_k([1, 3, 5], {5, 3}, 3), reciprocal_rank_at_k([1, 3, 5], set(), 3)
    (0.5, 0.0)
    """
    return 0.0 if leaves_no_top(k) else _defined_or_0(reciprocal_rank(recommended, relevant, k))


def average_precision_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min",
) -> float:
    """Average precision: sum of the precision at the rank of each hit, over the normaliser.

    ``normaliser`` is as for `average_precision`; by default it is min(relevant items, k). Without
    relevant items, or with k below 1, the value is 0.

    >>> round(average_precision_at_k([1, 2, 3, 4, 5], {1, 3, 5}, 5), 4)
    0.7556
    >>> average_precision_at_k([1, 2], set(), 2)
    0.0
    """
    if leaves_no_top(k):
        return 0.0
    return _defined_or_0(average_precision(recommended, relevant, k, normaliser=normaliser))


def mean_average_precision_at_k(
    recommendations: Lists,
    ground_truth: Truth,
    k: int | None = None,
    *,
    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min",
) -> float:
    """Mean of `average_precision_at_k` over the users who are in both dicts; 0 if nobody is.

    Users without a list are left out, so that a model is not penalised for serving few users;
    `rankwise.evaluate` counts them as 0 unless ``population="both"``. A user without relevant
    items, or with an empty list, counts as 0.

    >>> mean_average_precision_at_k({1: [5, 6], 2: [7]}, {1: {5}, 2: {6}, 3: {6}}, 2)
    0.5
    """
    return _mean_over_lists(
        recommendations,
        ground_truth,
        lambda items, relevant: average_precision_at_k(items, relevant, k, normaliser=normaliser),
    )


def dcg_at_k(
    recommended: Items,
    relevance_scores: Judged,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
    gains: Sequence[float] = (),
    log_base: float = 2.0,
    discount: Discount = "log_plus_one",
) -> float:
    """Discounted cumulative gain: sum of the gains in the top k, each over log2(rank + 1).

    The keyword parameters are as for `dcg`. Without relevant items, or with k below 1, the value is
    0.

    >>> dcg_at_k([1, 2, 3], {1: 1, 3: 1}, 3), dcg_at_k([1, 2, 3], {1: 0}, 3)
    (1.5, 0.0)
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
    return _defined_or_0(value)


def mean_ndcg_at_k(
    recommendations: Lists,
    relevance_scores: Truth,
    k: int | None = None,
    *,
    gain: GainKind = "linear",
) -> float:
    """Mean of `ndcg_at_k` over the users who are in both dicts; 0 if nobody is.

    ``relevance_scores`` maps each user to a set of relevant items, or to a dict of item to
    relevance; ``gain`` is as for `dcg`. A user without relevant items counts as 0; users without a
    list are left out, as in `mean_average_precision_at_k`.

    >>> mean_ndcg_at_k({1: [5, 6], 2: [7]}, {1: {5: 3}, 2: {6: 1}, 3: {6: 1}}, 2)
    0.5
    >>> mean_ndcg_at_k({1: [5, 6], 2: [7]}, {1: {5}, 2: set()}, 2)
    0.5
    """
    return _mean_over_lists(
        recommendations,
        relevance_scores,
        lambda items, scores: ndcg_at_k(items, scores, k, gain=gain),
    )


Truth: TypeAlias = Mapping[Hashable, Judged]


def _defined_or_0(value: float) -> float:
    """Return a value, or 0 where a metric is undefined."""
    return 0.0 if math.isnan(value) else value


def _mean_over_lists(
    recommendations: Lists, truth: Truth, value: Callable[[Items, Judged], float]
) -> float:
    """Return the mean over users who are in both dicts; 0 if nobody is."""
    for name, by_user in (("recommendations", recommendations), ("the ground truth", truth)):
        if not isinstance(by_user, Mapping):
            raise InputError(
                f"{name} must be a dict by user",
                found=type(by_user).__name__,
                hint="pass {user: [items]} and {user: {items}}",
            )
    values = [value(items, truth[user]) for user, items in recommendations.items() if user in truth]
    return _mean(values)


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values; 0 without values."""
    return sum(values) / len(values) if values else 0.0


_LONGEST = 1_000_000  # items of one list: a model that yields more may never end


class RecommenderEvaluator:
    """Evaluate a model that has ``recommend(user_id, n)``, in plain Python.

    `rankwise.evaluate_model` does the same for every metric, at any scale, with per-user values;
    this is the short form that many code bases have.

    Parameters
    ----------
    k_values : iterable of int, default=(5, 10, 20)
        Cut-offs. At a cut-off below 1 every value is 0.

    Attributes
    ----------
    failed : dict
        After `evaluate`: the users for whom the model raised, with the exceptions.
    skipped : int
        After `evaluate`: the number of users without relevant items, who are not evaluated.

    Examples
    --------
    >>> class Model:
    ...     def recommend(self, user_id, n):
    ...         return [("a", 0.9), ("b", 0.5), ("c", 0.1)][:n]
    >>> evaluator = RecommenderEvaluator(k_values=[2])
    >>> values = evaluator.evaluate(Model(), {"ann": {"a"}, "bob": {"c", "b"}}, catalog_size=4)
    >>> values["precision@2"], values["recall@2"], values["coverage@2"]
    (0.5, 0.75, 0.5)
    """

    def __init__(self, k_values: Iterable[int] = (5, 10, 20)) -> None:
        cutoffs = list(k_values) if hasattr(k_values, "__iter__") else []
        if not cutoffs or not all(is_count(k) or leaves_no_top(k) for k in cutoffs):
            raise ParameterError("k_values are whole numbers", found=repr(k_values))
        self.k_values = sorted({int(k) for k in cutoffs})
        self.failed: dict[Hashable, Exception] = {}
        self.skipped = 0

    def evaluate(
        self, model: Any, test_data: Mapping[Any, Collection[Any]], catalog_size: int
    ) -> dict[str, float]:
        """Return precision, recall, F1, coverage and Gini index at every cut-off.

        Parameters
        ----------
        model : object
            ``model.recommend(user_id, n)`` returns items, or (item, score) pairs, best first.
        test_data : dict of user to set of items
            The ground truth: the relevant items of each user.
        catalog_size : int
            The number of items that can be recommended, for coverage.

        Returns
        -------
        dict of str to float
            Means over users; F1 is computed from the mean precision and recall, Gini over the items
            recommended at least once. A user for whom the model raises is logged, stored in
            ``failed`` and excluded. Of a list that is longer than the largest cut-off the first
            items count; a repeated item counts once.

        Raises
        ------
        EmptyError
            If the model failed for every user.
        """
        if not is_count(catalog_size):
            raise ParameterError("a catalogue has at least one item", found=repr(catalog_size))
        for user, items in test_data.items():
            if isinstance(items, str) or not hasattr(items, "__len__"):
                raise InputError(
                    "test_data holds a set of items for each user",
                    where=f"user {user!r}",
                    found=repr(items),
                )

        truth = {user: set(items) for user, items in test_data.items() if items}
        self.skipped = len(test_data) - len(truth)
        lists = self._lists(model, truth)

        values: dict[str, float] = {}
        for k in self.k_values:
            precision = _mean([precision_at_k(lists[user], truth[user], k) for user in lists])
            recall = _mean([recall_at_k(lists[user], truth[user], k) for user in lists])
            both = precision + recall
            values |= {
                f"precision@{k}": precision,
                f"recall@{k}": recall,
                f"f1@{k}": 2 * precision * recall / both if both else 0.0,
                f"coverage@{k}": catalog_coverage(lists, catalog_size, k),
                f"gini@{k}": gini_coefficient(lists, k, over="recommended"),
            }
        return values

    def _lists(self, model: Any, users: Iterable[Any]) -> dict[Any, list[Any]]:
        """Return the model's lists; users for whom it raises go to ``failed``."""
        self.failed = {}
        lists = {}
        n = max(self.k_values[-1], 0)
        for user in users:
            try:
                lists[user] = _recommended(model, user, n)
            except Exception as error:  # noqa: BLE001 - whatever a model does, the run goes on
                self.failed[user] = error
                _LOG.warning("the model failed for user %r: %r", user, error)
        if not lists:
            found = f"{len(self.failed)} users failed"
            if self.failed:
                found += f", the first with {next(iter(self.failed.values()))!r}"
            raise EmptyError("the model returned no recommendations for any user", found=found)
        return lists


_LOG = logging.getLogger("rankwise")
_OVER_ROWS: dict[str, Callable[[list[tuple[float, float]]], float]] = {
    "rmse": ratings.root_mean_squared_error,
    "mse": ratings.mean_squared_error,
    "mae": ratings.mean_absolute_error,
}
_OVER_USERS = ("precision", "recall", "hit_rate", "ndcg")


def _recommended(model: Any, user: Any, n: int) -> list[Any]:
    """Return the first n items that a model recommends to a user, each once."""
    rows = list(islice(model.recommend(user, n), min(n, _LONGEST + 1)))
    if len(rows) > _LONGEST:
        raise InputError(f"a list has more than {_LONGEST:,} items")
    items = [row[0] if isinstance(row, tuple | list) else row for row in rows]
    return list(dict.fromkeys(items))


def compute_metrics(
    user_pred_true: Mapping[Any, Sequence[tuple[float, float]]],
    metrics: Iterable[str] = ("precision", "recall", "hit_rate", "ndcg", "rmse"),
    k: int = 10,
    threshold: float = 3.5,
) -> dict[str, float]:
    """Return metrics of ratings, and of each user's rated items ranked by predicted rating.

    Parameters
    ----------
    user_pred_true : dict
        ``{user: [(predicted, true), …]}``.
    metrics : iterable of str, default=("precision", "recall", "hit_rate", "ndcg", "rmse")
        Any of these, mse and mae. Relevance is binary: the gain of ndcg is 1 for a relevant item.
    k : int, default=10
        The cut-off. Precision divides by it. Below 1, metrics of lists are 0.
    threshold : float, default=3.5
        The rating threshold: items with a true rating of at least this are relevant.

    Returns
    -------
    dict of str to float
        Means over users. Users without relevant items are excluded from recall and ndcg, and their
        number is logged; their precision and hit rate are 0. If no user has a relevant item, every
        metric of lists is 0. Tied predictions are averaged over all orders. rmse, mse and mae are
        over all rows.

    Notes
    -----
    `rankwise.evaluate_ratings` gives the same values, with two differences of default. Its ``ndcg``
    takes the true ratings as gains: this one is ``ndcg(gain=binary)``. It excludes users without
    relevant items from every metric of the ranking: with ``undefined="zero"`` their precision and
    hit rate are 0 as here.

    Examples
    --------
    >>> rated = {"ann": [(4.5, 5), (4, 2), (3, 4)], "bob": [(2, 1), (3, 3)]}
    >>> compute_metrics(rated, ["precision", "recall", "rmse"], k=2)
    {'precision': 0.25, 'recall': 0.5, 'rmse': 1.1180339887498949}
    """
    names = _names(metrics)
    if not isinstance(user_pred_true, Mapping) or not is_number(threshold):
        raise ParameterError(
            "ratings come as {user: [(predicted, true), …]}, and the threshold is a number",
            found=f"{type(user_pred_true).__name__}, {parameter('threshold', threshold)}",
        )
    if not is_count(k) and not leaves_no_top(k):
        raise ParameterError("k must be a whole number", found=parameter("k", k))
    users = {user: _checked(user, rows) for user, rows in user_pred_true.items()}
    rows = [pair for pairs in users.values() for pair in pairs]
    if not rows:
        raise EmptyError("there are no ratings", where="user_pred_true")

    values = {name: over_rows(rows) for name, over_rows in _OVER_ROWS.items() if name in names}
    values |= _means_of_lists([pairs for pairs in users.values() if pairs], k, threshold)
    return {name: values[name] for name in names}


def _means_of_lists(
    users: Sequence[Sequence[tuple[float, float]]], k: int, threshold: float
) -> dict[str, float]:
    """Return the means over users of the metrics of lists; log users without relevant items."""
    per_user = [_metrics_of_user(pairs, k, threshold) for pairs in users]
    excluded = sum(math.isnan(values["recall"]) for values in per_user)
    if excluded:
        _LOG.info(
            "%d of %d users have no relevant item: left out of recall and ndcg",
            excluded,
            len(per_user),
        )
    return {
        name: _defined_or_0(mean_of_defined(values[name] for values in per_user))
        for name in _OVER_USERS
    }


def _names(metrics: object) -> list[str]:
    """Return the names of the metrics as a list; raise if one is unknown."""
    names = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else metrics
    options = [*_OVER_USERS, *_OVER_ROWS]
    checked = []
    for name in names:
        if not isinstance(name, str) or name not in options:
            raise ParameterError(
                f"there is no metric {name!r} of ratings"[:100],
                found=", ".join(options),
                hint=nearest(str(name)[:100], options),
            )
        checked.append(name)
    return checked


def _metrics_of_user(
    pairs: Sequence[tuple[float, float]], k: int, threshold: float
) -> dict[str, float]:
    """Return the list metrics of one user; recall and ndcg are NaN without relevant items."""
    if leaves_no_top(k):
        return dict.fromkeys(_OVER_USERS, 0.0)
    predicted = [rating for rating, _ in pairs]
    relevant = [float(true >= threshold) for _, true in pairs]
    has_relevant = any(relevant)
    return {
        "precision": precision_score(relevant, predicted, k=k) if has_relevant else 0.0,
        "recall": recall_score(relevant, predicted, k=k),
        "hit_rate": hit_rate_score(relevant, predicted, k=k) if has_relevant else 0.0,
        "ndcg": ndcg_score(relevant, predicted, k=k),
    }


def _checked(user: object, rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a user's (predicted, true) pairs as floats; raise if a value is not finite."""
    out = []
    for row in rows if isinstance(rows, list | tuple) else [rows]:
        try:
            predicted, true = map(float, row)
        except (TypeError, ValueError):
            predicted = true = math.nan
        if not (math.isfinite(predicted) and math.isfinite(true)):
            raise ScoreError(
                "ratings come as (predicted, true), both numbers",
                where=f"user {user!r}",
                found=repr(row),
            )
        out.append((predicted, true))
    return out
