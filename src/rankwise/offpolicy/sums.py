"""User sums of a log: all that values, intervals and diagnostics need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import ExactTotal
from rankwise.offpolicy.exposures import Log
from rankwise.offpolicy.policies import Kind, running
from rankwise.stats.differences import Floats

__all__ = ["CLIPS", "PolicySums", "Rows", "Sums", "sums_of", "weights_of"]

CLIPS = np.array(
    [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000, 1e4, 1e6], dtype=np.float64
)
"""The clips of the sensitivity curve."""
_HEAVIEST = 64
"""Number of requests with the largest, and with the smallest, weight that are kept for each policy."""


@dataclass(frozen=True)
class Rows:
    """The rows of a log as one policy sees them.

    Attributes
    ----------
    weight : array, shape (rows,)
        The weight of each row: of the item, or of the list up to it.
    before : array, shape (rows,)
        The weight of the list above each row, 1 for the first.
    predicted, expected : array, shape (rows,)
        The prediction of the reward of the row's item, and its mean over the policy's items; 0 without predictions.
    """

    weight: Floats
    before: Floats
    predicted: Floats
    expected: Floats

    def filter(self, kept: Any) -> Rows:
        """Return the rows of a mask."""
        return Rows(*(getattr(self, each.name)[kept] for each in fields(self)))


def weights_of(probability: Floats, propensity: Floats, log: Log, kind: Kind, slates: str) -> tuple[Floats, Floats]:
    """Return the weight of each row, and of the list above it; 1 where a policy does as the log (NaN)."""
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isnan(probability), 1.0, probability / propensity)
    if not log.is_slate or slates == "independent" or kind in ("list", "marginal"):
        return ratio, np.ones_like(ratio)
    weight = running(np.multiply, ratio, log) if kind == "conditional" else ratio
    before = np.ones_like(weight)
    later = np.flatnonzero(log.place > 0)
    before[later] = weight[later - 1]
    return weight, before


@dataclass(frozen=True)
class PolicySums:
    """The sums of one policy; arrays of users by position, and of the kept requests by position.

    Attributes
    ----------
    weight, reward, expected, before : array, shape (users, positions)
        Σ w, Σ w (r − q), Σ w' dm and Σ w', where w' is the weight of the list above.
    kept : array, shape (4, requests, positions)
        Weight, prediction, weight above and expected prediction of the kept requests; 0 at positions they lack.
    clips : array, shape (4, clips, positions)
        Number of rows, Σ w r, Σ w and Σ r of the rows in each interval of weights.
    largest : float
        The largest weight.
    squares : ExactTotal
        Σ w² of all rows.
    unused : int
        Number of requests of weight 0.
    """

    weight: Floats
    reward: Floats
    expected: Floats
    before: Floats
    kept: Floats
    clips: Floats
    largest: float
    squares: ExactTotal
    entropy: ExactTotal
    unused: int
    tail: Floats


@dataclass(frozen=True)
class Sums:
    """The sums of a log.

    Attributes
    ----------
    users : polars.Series
        The users, in order.
    requests : array, shape (users,)
        Number of requests.
    rows, reward : array, shape (users, positions)
        Number of rows and sum of rewards.
    policies : mapping of str to PolicySums
        The sums of each policy.
    present : array of bool, shape (requests, positions)
        Which positions the kept requests have.
    reward_range : tuple of float
        The smallest and the largest reward.
    shown : polars.DataFrame
        ``item``, ``place``, ``inverse`` (1 / propensity) and ``rows``, for the calibration of items.
    """

    users: pl.Series
    requests: Floats
    rows: Floats
    reward: Floats
    policies: dict[str, PolicySums]
    present: Any
    reward_range: tuple[float, float]
    shown: pl.DataFrame

    @property
    def n(self) -> int:
        """The number of requests."""
        return int(self.requests.sum())


def sums_of(log: Log, rows: Mapping[str, Rows], propensity: Floats) -> Sums:
    """Return the sums of a log under several policies."""
    place = log.place if log.is_slate else np.zeros(log.rows, dtype=np.int64)
    user, width = log.user, int(place.max(initial=0)) + 1
    n_users = int(user[-1]) + 1
    cell = user * width + place

    def by_user(values: Any) -> Any:
        return np.bincount(cell, values, n_users * width).reshape(n_users, width)

    first = np.flatnonzero(place == 0) if log.is_slate else np.arange(log.rows)
    kept = _kept_requests(rows, log, first)
    return Sums(
        log.frame["user"].gather(np.flatnonzero(np.diff(user, prepend=-1)))
        if "user" in log.frame.columns
        else pl.Series("user", np.arange(n_users)),
        np.bincount(user[first], minlength=n_users).astype(np.float64),
        by_user(np.ones(log.rows)),
        by_user(log.reward),
        {name: _policy_sums(each, log, place, first, by_user, kept) for name, each in rows.items()},
        _by_request(np.ones(log.rows), log, place, kept) > 0,
        (float(log.reward.min()), float(log.reward.max())),
        _shown(log, place, propensity),
    )


def _kept_requests(rows: Mapping[str, Rows], log: Log, first: Any) -> Any:
    """Return the requests that may be the heaviest: those with the largest and smallest weights of each policy."""
    kept = []
    for each in rows.values():
        weight = np.maximum.reduceat(each.weight, first) if log.is_slate else each.weight
        if len(weight) <= 2 * _HEAVIEST:
            return np.arange(len(weight))
        kept += [np.argpartition(weight, -_HEAVIEST)[-_HEAVIEST:], np.argpartition(weight, _HEAVIEST)[:_HEAVIEST]]
    return np.unique(np.concatenate(kept))


def _by_request(values: Any, log: Log, place: Any, kept: Any) -> Floats:
    """Return values of the kept requests, shape (requests, positions)."""
    out = np.zeros((len(kept), int(place.max(initial=0)) + 1))
    if not log.is_slate:
        out[:, 0] = values[kept]
        return out
    chosen = np.full(int(log.request[-1]) + 1, -1)
    chosen[kept] = np.arange(len(kept))
    inside = np.flatnonzero(chosen[log.request] >= 0)
    out[chosen[log.request[inside]], place[inside]] = values[inside]
    return out


def _policy_sums(rows: Rows, log: Log, place: Any, first: Any, by_user: Any, kept: Any) -> PolicySums:
    weight = rows.weight
    columns = (weight, rows.predicted, rows.before, rows.expected)
    heaviest = np.maximum.reduceat(weight, first) if log.is_slate else weight
    positive = weight[weight > 0]
    return PolicySums(
        weight=by_user(weight),
        reward=by_user(weight * (log.reward - rows.predicted)),
        expected=by_user(rows.before * rows.expected),
        before=by_user(rows.before),
        kept=np.stack([_by_request(values, log, place, kept) for values in columns]),
        clips=_clip_sums(weight, log.reward, place),
        largest=float(weight.max()),
        squares=ExactTotal.of(weight * weight),
        entropy=ExactTotal.of(positive * np.log(positive)),
        unused=int((heaviest == 0).sum()),
        tail=np.sort(weight)[-_tail_length(len(weight)) - 1 :],
    )


def _tail_length(n: int) -> int:
    """Return the number of weights of the Pareto tail: min(0.2 n, 3 √n), rounded up."""
    return int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))


def _clip_sums(weight: Any, reward: Any, place: Any) -> Floats:
    """Return the number of rows, Σ w r, Σ w and Σ r by interval of weights and position."""
    width = int(place.max(initial=0)) + 1
    cell = np.searchsorted(CLIPS, weight) * width + place
    size = (len(CLIPS) + 1) * width
    parts = [np.bincount(cell, values, size) for values in (None, weight * reward, weight, reward)]
    return np.stack(parts).reshape(4, len(CLIPS) + 1, width).astype(np.float64)


def _shown(log: Log, place: Any, propensity: Any) -> pl.DataFrame:
    """Return how often each item was shown at each place with each propensity."""
    at = log.frame["position"] if "position" in log.frame.columns else pl.Series(place)
    inverse = pl.Series(1.0 / propensity).round_sig_figs(4)  # few distinct values; the error is far below that of shows
    frame = pl.DataFrame({"item": log.frame["item"], "place": at.cast(pl.Int64), "inverse": inverse})
    return frame.group_by("item", "place", "inverse").agg(pl.len().alias("rows")).sort("item", "place", "inverse")
