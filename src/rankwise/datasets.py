"""A seeded synthetic data set with the long tail, clustered tastes and drift of real data.

Films are released over two years and lose popularity as they age; every user has a mixture of
genre tastes that slowly changes; a few users account for most interactions. No part of it is taken
from a real data set.
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
    """Interactions, with item and user features.

    Attributes
    ----------
    interactions : polars.DataFrame
        ``user``, ``item``, ``rating`` (1 to 5), ``timestamp`` (Unix seconds).
    items : polars.DataFrame
        ``item``, ``categories`` (separated by ``|``), ``studio``.
    users : polars.DataFrame
        ``user``, ``usage`` (light, medium, heavy), ``age``.
    """

    interactions: pl.DataFrame
    items: pl.DataFrame
    users: pl.DataFrame


def synthetic(n_users: int = 1500, n_items: int = 800, *, seed: int = 0) -> Dataset:
    """Return a synthetic data set of ratings; the same seed gives the same rows.

    Parameters
    ----------
    n_users, n_items : int, default=1500, 800
        Number of users and items, at least 10 each.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    Dataset
        Interactions, with item and user features.

    Raises
    ------
    ParameterError
        If there are fewer than 10 users or items.

    Examples
    --------
    >>> data = synthetic(50, 40)
    >>> data.interactions.columns
    ['user', 'item', 'rating', 'timestamp']
    """
    if n_users < 10 or n_items < 10:
        raise ParameterError("the data set needs at least 10 users and 10 items", found=f"{n_users}, {n_items}")
    rng = np.random.default_rng(seed)
    n_genres = len(_GENRES)
    main = rng.integers(0, n_genres, n_items)
    second = rng.integers(0, n_genres, n_items)
    genres = np.zeros((n_items, n_genres))
    genres[np.arange(n_items), second] += 0.35
    genres[np.arange(n_items), main] += 0.65
    appeal = rng.permutation(1.0 / np.arange(1, n_items + 1) ** 0.8)
    quality = rng.normal(0, 0.5, n_items)
    release = rng.integers(-18, _MONTHS - 2, n_items)
    activity = np.minimum(rng.lognormal(3.2, 0.9, n_users), n_items / 4)
    taste = rng.dirichlet(np.full(n_genres, 0.25), n_users)
    final_taste = 0.6 * taste + 0.4 * rng.dirichlet(np.full(n_genres, 0.25), n_users)
    months, seen = [], np.zeros((n_users, n_items), dtype=bool)
    for month in range(_MONTHS):
        share = month / (_MONTHS - 1)
        affinity = ((1 - share) * taste + share * final_taste) @ genres.T
        age = month - release
        freshness = np.where(age >= 0, np.exp(-np.maximum(age, 0) / 8.0) + 0.08, 0.0)
        weight = affinity**1.5 * (appeal * freshness)
        months.append(_month(rng, month, weight, seen, rng.poisson(activity / _MONTHS)))
    user, item, timestamp = (np.concatenate(column) for column in zip(*months, strict=True))
    affinity = (taste @ genres.T)[user, item]
    raw = 3.0 + quality[item] + 2.2 * (affinity - affinity.mean()) + rng.normal(0, 0.7, len(user))
    rating = np.clip(np.round(raw), 1, 5).astype(np.int64)
    users = np.array([f"u{number:05d}" for number in range(n_users)])
    items = np.array([f"f{number:04d}" for number in range(n_items)])
    interactions = pl.DataFrame(
        {"user": users[user], "item": items[item], "rating": rating, "timestamp": timestamp}
    ).sort("timestamp", "user", "item")
    return Dataset(interactions, _items(rng, items, main, second), _users(rng, users, activity))


def _month(rng: Any, month: int, weight: Any, seen: Any, n_films: Any) -> tuple[Any, Any, Any]:
    """Draw the films that users watch in a month, without repetition, by the Gumbel trick."""
    with np.errstate(divide="ignore"):
        keys = np.where(seen, -np.inf, np.log(weight) + rng.gumbel(size=weight.shape))
    most = max(1, min(int(n_films.max()), keys.shape[1]))
    ranked = np.argsort(-keys, axis=1, kind="stable")[:, :most]
    drawn = np.arange(most) < n_films[:, None]
    drawn &= np.isfinite(np.take_along_axis(keys, ranked, axis=1))
    user, rank = np.nonzero(drawn)
    item = ranked[user, rank]
    seen[user, item] = True
    start = _START + timedelta(days=30.4375 * month)
    timestamp = int(start.timestamp()) + rng.integers(0, int(30.4375 * 86400), len(user))
    return user, item, timestamp


def _items(rng: Any, items: Any, main: Any, second: Any) -> pl.DataFrame:
    names = np.array(_GENRES)
    categories = [a if a == b else f"{a}|{b}" for a, b in zip(names[main], names[second], strict=True)]
    studio = np.array(["north", "south", "independent"])[rng.choice(3, len(items), p=[0.5, 0.35, 0.15])]
    return pl.DataFrame({"item": items, "categories": categories, "studio": studio})


def _users(rng: Any, users: Any, activity: Any) -> pl.DataFrame:
    group = np.array(["light", "medium", "heavy"])[np.searchsorted(np.quantile(activity, [1 / 3, 2 / 3]), activity)]
    age = np.array(["under 30", "30 to 49", "50 and over"])[rng.choice(3, len(users))]
    return pl.DataFrame({"user": users, "usage": group, "age": age})
