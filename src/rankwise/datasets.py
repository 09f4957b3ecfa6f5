"""A seeded synthetic data set with the long tail, clustered tastes and drift of real data.

Films are released over two years and lose popularity as they age; every user has a mixture of
genre tastes that slowly changes; a few users account for most interactions. No part of it is taken
from a real data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import ParameterError
from rankwise.messages import parameter

__all__ = ["Dataset", "LoggedData", "logged", "synthetic"]

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
        raise ParameterError(
            "the data set needs at least 10 users and 10 items", found=f"{n_users}, {n_items}"
        )
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
    categories = [
        a if a == b else f"{a}|{b}" for a, b in zip(names[main], names[second], strict=True)
    ]
    studio = np.array(["north", "south", "independent"])[
        rng.choice(3, len(items), p=[0.5, 0.35, 0.15])
    ]
    return pl.DataFrame({"item": items, "categories": categories, "studio": studio})


def _users(rng: Any, users: Any, activity: Any) -> pl.DataFrame:
    group = np.array(["light", "medium", "heavy"])[
        np.searchsorted(np.quantile(activity, [1 / 3, 2 / 3]), activity)
    ]
    age = np.array(["under 30", "30 to 49", "50 and over"])[rng.choice(3, len(users))]
    return pl.DataFrame({"user": users, "usage": group, "age": age})


@dataclass(frozen=True)
class LoggedData:
    """Logged requests of a policy, another policy, and the true values of both.

    Attributes
    ----------
    exposures : polars.DataFrame
        ``request``, ``user``, ``segment``, ``position`` (with several), ``item``, ``click``, and
        the probability of the item, after those above it, under the logging policy (``propensity``)
        and the target (``p_new``).
    policies : polars.DataFrame
        ``segment``, ``item``, ``propensity`` and ``p_new``; with several positions the weights of
        Plackett–Luce.
    truth : mapping of str to float
        The expected reward per request of the policies ``logged`` and ``new``.
    """

    exposures: pl.DataFrame
    policies: pl.DataFrame
    truth: Mapping[str, float]


_SEGMENTS = 5


def logged(
    users: int = 400,
    *,
    requests: int = 5,
    items: int = 20,
    positions: int = 1,
    base: float = -2.0,
    sharpness: float = 1.2,
    shock: float = 0.35,
    interaction: float = 0.0,
    trust: float = 0.0,
    world: int = 0,
    seed: int = 0,
) -> LoggedData:
    """Return a synthetic log of impressions of which the values of two policies are known.

    Parameters
    ----------
    users : int, default=400
        Number of users, each in one of five segments.
    requests : int, default=5
        Largest number of requests of a user; each has 1 to this many.
    items : int, default=20
        Number of items; at most 8 with several positions, of which every list is enumerated for the
        true value.
    positions : int, default=1
        Number of items that a request shows, without replacement (Plackett–Luce).
    base : float, default=-2.0
        The logit of a click on an item of relevance 0; -5 makes rewards rare.
    sharpness : float, default=1.2
        How strongly the target prefers relevant items; 3 makes weights heavy.
    shock : float, default=0.35
        Standard deviation of what users have in common over their requests, on the logit.
    interaction : float, default=0.0
        How much the relevance of the item above changes the logit of a click.
    trust : float, default=0.0
        Share of clicks that the first position gets whatever it shows, falling by position.
    world : int, default=0
        Seed of relevances and policies.
    seed : int, default=0
        Seed of users, lists and clicks.

    Returns
    -------
    LoggedData

    Raises
    ------
    ParameterError
        If there are too few users, or too many lists to enumerate.

    Examples
    --------
    >>> log = logged(users=50, seed=1)
    >>> log.exposures.columns
    ['request', 'user', 'segment', 'item', 'click', 'propensity', 'p_new']
    """
    if (
        users < _SEGMENTS
        or requests < 1
        or not 1 <= positions <= items
        or (positions > 1 and items > 8)
    ):
        raise ParameterError(
            "a log has at least five users, and with several positions at most eight items",
            found=", ".join(
                [
                    parameter("users", users),
                    parameter("requests", requests),
                    parameter("items", items),
                    parameter("positions", positions),
                ]
            ),
        )
    rng = np.random.default_rng([world, 7])
    relevance = rng.normal(size=(_SEGMENTS, items))
    noise = rng.normal(size=(_SEGMENTS, items))
    old = 0.8 * _softmax(0.2 * relevance + 0.7 * noise) + 0.2 / items
    new = 0.95 * _softmax(sharpness * relevance) + 0.05 / items
    lists = np.array(list(permutations(range(items), positions)))
    chances = [_plackett_luce(weights, lists) for weights in (old, new)]
    logit = base + 0.9 * relevance[:, lists]
    logit[:, :, 1:] += interaction * relevance[:, lists[:, :-1]]
    nodes, mass = np.polynomial.hermite_e.hermegauss(31)
    gain = trust / np.arange(1, positions + 1)
    clicks: Any = sum(
        m * (gain + (1 - gain) / (1 + np.exp(-logit - shock * x)))
        for x, m in zip(nodes, mass / mass.sum(), strict=True)
    )
    share = np.bincount(np.arange(users) % _SEGMENTS, minlength=_SEGMENTS) / users
    truth = [float(share @ (chance.prod(2) * clicks.sum(2)).sum(1)) for chance in chances]
    frame = _draw(
        np.random.default_rng([world, seed, 8]), users, requests, lists, chances, logit, shock, gain
    )
    table = {
        "segment": np.repeat(np.arange(_SEGMENTS), items),
        "item": np.tile(np.arange(items), _SEGMENTS),
    }
    policies = pl.DataFrame(table | {"propensity": old.ravel(), "p_new": new.ravel()})
    return LoggedData(frame, policies, dict(zip(("logged", "new"), truth, strict=True)))


def _softmax(scores: Any) -> Any:
    power = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def _plackett_luce(weights: Any, lists: Any) -> Any:
    """Return per segment and list the probability of each item, given the items above."""
    chosen = weights[:, lists]
    above = np.cumsum(chosen, axis=2) - chosen
    return chosen / (1.0 - above)


def _draw(
    rng: Any,
    users: int,
    requests: int,
    lists: Any,
    chances: Any,
    logit: Any,
    shock: float,
    gain: Any,
) -> pl.DataFrame:
    """Return the rows of a log: a list for each request, by the first policy, and its clicks."""
    user = np.repeat(np.arange(users), rng.integers(1, requests + 1, users))
    segment = user % _SEGMENTS
    edges = np.cumsum(chances[0].prod(2), axis=1)
    drawn = np.array(
        [
            np.searchsorted(edges[s], u * edges[s, -1])
            for s, u in zip(segment, rng.random(len(user)), strict=True)
        ]
    )
    common = rng.normal(0.0, shock, users)[user]
    p = gain + (1 - gain) / (1 + np.exp(-logit[segment, drawn] - common[:, None]))
    positions = lists.shape[1]
    columns = {
        "request": np.repeat(np.arange(len(user)), positions),
        "user": np.repeat(user, positions),
        "segment": np.repeat(segment, positions),
        "position": np.tile(np.arange(1, positions + 1), len(user)),
        "item": lists[drawn].ravel(),
        "click": (rng.random(p.shape) < p).astype(np.int64).ravel(),
        "propensity": chances[0][segment, drawn].ravel(),
        "p_new": chances[1][segment, drawn].ravel(),
    }
    if positions == 1:
        del columns["position"]
    return pl.DataFrame(columns)
