"""From predicted and true ratings: each user's rated items, ranked by what was predicted."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankwise.errors import EmptyError, ParameterError, ScoreError, nearest
from rankwise.functional import ratings
from rankwise.functional.catalogue import mean_of_defined
from rankwise.functional.labels import (
    hit_rate_score,
    ndcg_score,
    precision_score,
    recall_score,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    """Rank each user's rated items by predicted rating, and measure the lists and the ratings.

    Parameters
    ----------
    user_pred_true : dict
        ``{user: [(predicted, true), …]}``.
    metrics : iterable of str
        Some of precision, recall, hit_rate, ndcg (gains are the true ratings of relevant items),
        rmse, mse and mae.
    k : int
        The cut-off. Precision divides by it.
    threshold : float
        Items with a true rating of at least this are relevant.

    Returns
    -------
    dict of str to float
        Means over users. Users without relevant items are left out of recall and ndcg; how many is
        logged. Equal predictions are averaged over their orders. Errors run over all rows.

    Examples
    --------
    >>> rated = {"ann": [(4.5, 5), (4, 2), (3, 4)], "bob": [(2, 1), (3, 3)]}
    >>> compute_metrics(rated, ["precision", "recall", "rmse"], k=2)
    {'precision': 0.25, 'recall': 0.5, 'rmse': 1.1180339887498949}
    """
    wanted = [metrics] if isinstance(metrics, str) else list(metrics or ())
    if not isinstance(user_pred_true, Mapping) or not isinstance(threshold, int | float):
        raise ParameterError(
            "ratings come as {user: [(predicted, true), …]}, and the threshold is a number",
            found=f"{type(user_pred_true).__name__}, threshold={threshold!r}",
        )
    for name in wanted:
        if name not in (*_OVER_ROWS, *_OVER_USERS):
            known = [*_OVER_USERS, *_OVER_ROWS]
            raise ParameterError(f"there is no metric {name!r} of ratings",
                                 found=", ".join(known), hint=nearest(name, known))  # fmt: skip
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError("k must be a whole number from 1", found=f"k={k!r}")
    users = {user: _checked(user, rows) for user, rows in user_pred_true.items()}
    rows = [pair for pairs in users.values() for pair in pairs]
    if not rows:
        raise EmptyError("there are no ratings", where="user_pred_true")
    each = [_of_user(pairs, k, threshold) for pairs in users.values() if pairs]
    without = sum(math.isnan(own["recall"]) for own in each)
    if without:
        _LOG.info("%d of %d users have no relevant item: left out of recall and ndcg",
                  without, len(each))  # fmt: skip
    return {
        name: _OVER_ROWS[name](rows)
        if name in _OVER_ROWS
        else mean_of_defined(own[name] for own in each)
        for name in wanted
    }


def _of_user(pairs: Sequence[tuple[float, float]], k: int, threshold: float) -> dict[str, float]:
    """Measure one user's items."""
    predicted = [own for own, _ in pairs]
    # A rating is its own gain; relevant items of no gain leave nothing to be gained.
    gains = [max(true, 0.0) if true >= threshold else 0.0 for _, true in pairs]
    relevant = [float(true >= threshold) for _, true in pairs]
    wanted = any(relevant)  # without, nothing can be hit; recall and ndcg are then NaN
    return {
        "precision": precision_score(relevant, predicted, k=k) if wanted else 0.0,
        "recall": recall_score(relevant, predicted, k=k),
        "hit_rate": hit_rate_score(relevant, predicted, k=k) if wanted else 0.0,
        "ndcg": ndcg_score(gains, predicted, k=k),
    }


def _checked(user: object, rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
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
