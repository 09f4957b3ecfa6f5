"""Metrics from predicted and true ratings: rated items, ranked by predicted rating."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankwise.errors import EmptyError, ParameterError, ScoreError, nearest
from rankwise.functional import rating as ratings
from rankwise.functional.accuracy import is_count, is_number
from rankwise.functional.catalogue import mean_of_defined
from rankwise.functional.labels import hit_rate_score, ndcg_score, precision_score, recall_score

__all__ = ["compute_metrics"]

_LOG = logging.getLogger("rankwise")
_OVER_ROWS: dict[str, Callable[[list[tuple[float, float]]], float]] = {
    "rmse": ratings.root_mean_squared_error,
    "mse": ratings.mean_squared_error,
    "mae": ratings.mean_absolute_error,
}
_OVER_USERS = ("precision", "recall", "hit_rate", "ndcg")


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
        The cut-off. Precision divides by it.
    threshold : float, default=3.5
        The rating threshold: items with a true rating of at least this are relevant.

    Returns
    -------
    dict of str to float
        Means over users. Users without relevant items are excluded from recall and ndcg, where they
        have no value, and their number is logged; their precision and hit rate are 0. Tied
        predictions are averaged over all orders. rmse, mse and mae are over all rows.

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
            found=f"{type(user_pred_true).__name__}, threshold={threshold!r}",
        )
    if not is_count(k):
        raise ParameterError("k must be a whole number from 1", found=f"k={k!r}")
    users = {user: _checked(user, rows) for user, rows in user_pred_true.items()}
    rows = [pair for pairs in users.values() for pair in pairs]
    if not rows:
        raise EmptyError("there are no ratings", where="user_pred_true")
    per_user = [_metrics_of_user(pairs, k, threshold) for pairs in users.values() if pairs]
    excluded = sum(math.isnan(values["recall"]) for values in per_user)
    if excluded:
        _LOG.info("%d of %d users have no relevant item: left out of recall and ndcg", excluded, len(per_user))
    return {
        name: _OVER_ROWS[name](rows) if name in _OVER_ROWS else mean_of_defined(values[name] for values in per_user)
        for name in names
    }


def _names(metrics: object) -> list[str]:
    """Return the names of the metrics as a list; raise if one is unknown."""
    names = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else metrics
    known = [*_OVER_USERS, *_OVER_ROWS]
    checked = []
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise ParameterError(
                f"there is no metric {name!r} of ratings"[:100],
                found=", ".join(known),
                hint=nearest(str(name)[:100], known),
            )
        checked.append(name)
    return checked


def _metrics_of_user(pairs: Sequence[tuple[float, float]], k: int, threshold: float) -> dict[str, float]:
    """Return the list metrics of one user; recall and ndcg are NaN without relevant items."""
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
            raise ScoreError("ratings come as (predicted, true), both numbers", where=f"user {user!r}", found=repr(row))
        out.append((predicted, true))
    return out
