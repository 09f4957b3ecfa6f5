"""A seeded data set with the traits that make evaluation hard: a long tail, tastes, drift.

Films come out over two years and lose interest as they age; tastes come in clusters, and every
user has a mixture of them that slowly moves; a few users do most of the watching. Nothing in it
is taken from a real data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import ParameterError

__all__ = ["Dataset", "synthetic"]

_GENRES = ("drama", "comedy", "thriller", "documentary", "animation", "horror", "romance", "war")
_MONTHS = 24
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Dataset:
    """Interactions, and what is known about items and users.

    Attributes
    ----------
    interactions : polars.DataFrame
        ``user``, ``item``, ``rating`` (1 to 5), ``timestamp`` (Unix seconds).
    items : polars.DataFrame
        ``item``, ``categories`` (separated by ``|``), ``studio``.
    users : polars.DataFrame
        ``user``, ``activity`` (light, medium, heavy), ``age``.
    """

    interactions: pl.DataFrame
    items: pl.DataFrame
    users: pl.DataFrame


def synthetic(n_users: int = 1500, n_items: int = 800, *, seed: int = 0) -> Dataset:
    """Make the data set; the same seed gives the same rows.

    Parameters
    ----------
    n_users, n_items : int
        At least 10 of each.
    seed : int
        For everything that is random.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = synthetic(50, 40)
    >>> data.interactions.columns
    ['user', 'item', 'rating', 'timestamp']
    """
    if n_users < 10 or n_items < 10:
        raise ParameterError(
            "the data set needs at least 10 users and 10 items", found=f"{n_users}, {n_items}"
        )
    rng = np.random.default_rng(seed)
    clusters = len(_GENRES)
    main = rng.integers(0, clusters, n_items)
    second = rng.integers(0, clusters, n_items)
    kind = np.zeros((n_items, clusters))
    kind[np.arange(n_items), second] += 0.35
    kind[np.arange(n_items), main] += 0.65
    appeal = rng.permutation(1.0 / np.arange(1, n_items + 1) ** 0.8)
    quality = rng.normal(0, 0.5, n_items)
    release = rng.integers(-18, _MONTHS - 2, n_items)
    activity = np.minimum(rng.lognormal(3.2, 0.9, n_users), n_items / 4)
    taste = rng.dirichlet(np.full(clusters, 0.25), n_users)
    later = 0.6 * taste + 0.4 * rng.dirichlet(np.full(clusters, 0.25), n_users)
    parts, seen = [], np.zeros((n_users, n_items), dtype=bool)
    for month in range(_MONTHS):
        share = month / (_MONTHS - 1)
        liking = ((1 - share) * taste + share * later) @ kind.T
        age = month - release
        fresh = np.where(age >= 0, np.exp(-np.maximum(age, 0) / 8.0) + 0.08, 0.0)
        weight = liking**1.5 * (appeal * fresh)
        parts.append(_month(rng, month, weight, seen, rng.poisson(activity / _MONTHS)))
    user, item, second_of = (np.concatenate(column) for column in zip(*parts, strict=True))
    fit = (taste @ kind.T)[user, item]
    raw = 3.0 + quality[item] + 2.2 * (fit - fit.mean()) + rng.normal(0, 0.7, len(user))
    rating = np.clip(np.round(raw), 1, 5).astype(np.int64)
    users = np.array([f"u{number:05d}" for number in range(n_users)])
    items = np.array([f"f{number:04d}" for number in range(n_items)])
    interactions = pl.DataFrame(
        {"user": users[user], "item": items[item], "rating": rating, "timestamp": second_of}
    ).sort("timestamp", "user", "item")
    return Dataset(interactions, _items(rng, items, main, second), _users(rng, users, activity))


def _month(rng: Any, month: int, weight: Any, seen: Any, wanted: Any) -> tuple[Any, Any, Any]:
    """Draw each user's films of a month, without repetition, by the Gumbel trick."""
    with np.errstate(divide="ignore"):
        keys = np.where(seen, -np.inf, np.log(weight) + rng.gumbel(size=weight.shape))
    most = max(1, min(int(wanted.max()), keys.shape[1]))
    best = np.argsort(-keys, axis=1, kind="stable")[:, :most]
    taken = np.arange(most) < wanted[:, None]
    taken &= np.isfinite(np.take_along_axis(keys, best, axis=1))
    user, place = np.nonzero(taken)
    item = best[user, place]
    seen[user, item] = True
    begin = _START + timedelta(days=30.4375 * month)
    second = int(begin.timestamp()) + rng.integers(0, int(30.4375 * 86400), len(user))
    return user, item, second


def _items(rng: Any, items: Any, main: Any, second: Any) -> pl.DataFrame:
    names = np.array(_GENRES)
    both = [a if a == b else f"{a}|{b}" for a, b in zip(names[main], names[second], strict=True)]
    studio = np.array(["north", "south", "independent"])[
        rng.choice(3, len(items), p=[0.5, 0.35, 0.15])
    ]
    return pl.DataFrame({"item": items, "categories": both, "studio": studio})


def _users(rng: Any, users: Any, activity: Any) -> pl.DataFrame:
    group = np.array(["light", "medium", "heavy"])[
        np.searchsorted(np.quantile(activity, [1 / 3, 2 / 3]), activity)
    ]
    age = np.array(["under 30", "30 to 49", "50 and over"])[rng.choice(3, len(users))]
    return pl.DataFrame({"user": users, "activity": group, "age": age})
