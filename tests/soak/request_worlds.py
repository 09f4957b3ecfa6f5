"""Requests of users: lists by request, ground truth by request or by user, means over either."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import polars as pl
from evaluations import Evaluation, kind
from hypothesis import strategies as st
from kinds import Comparison
from world_tables import (
    KINDS,
    Lists,
    Relevances,
    chosen_lists,
    key,
    population,
    relevances,
    table,
    types_of,
)
from world_tables import score as score_at

import rankwise as rw
from metrics.test_against_functional import PER_USER, plain_value
from rankwise.core.populations import PopulationName
from rankwise.options import Undefined, WithoutList
from road_worlds import World
from strategies import ids

COLUMNS = ("request", "request_id", "session_id", "query_id", "impression_id")
METRICS = (
    "ndcg@3",
    "recall@2",
    "mrr@4",
    "precision@3",
    "hit_rate@1",
    "map@5",
    "catalog_coverage@3",
    "gini@3",
    "novelty@2",
    "repeated@3",
    "quantile(of=recall,q=0.5)@2",
)


@dataclass(frozen=True)
class Requests:
    """Requests of users, and how they are evaluated.

    Attributes
    ----------
    lists : dict
        The items of each user and request.
    truth : dict
        The relevances of each user and request, or of each user.
    train : dict
        The training items of each user.
    users : dict
        The group and the weight of each user.
    items : list
        All items.
    types : dict
        The type of each column of ids.
    column : str
        The name of the column of requests.
    order : str
        The column that orders lists: ``"rank"``, ``"score"``, or ``"ties"`` for scores of pairs.
    metrics : tuple of str
        With their cut-offs.
    options : mapping
        Options of `rankwise.evaluate`.
    """

    lists: Lists
    truth: Relevances
    train: Lists
    users: dict[Any, tuple[Any, float]]
    items: list[Any]
    types: dict[str, Any]
    column: str
    order: str
    metrics: tuple[str, ...]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.evaluation)

    @property
    def is_by_user(self) -> bool:
        """Whether the ground truth of a user holds for all requests."""
        return not any(isinstance(unit, tuple) for unit in self.truth)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        unit = {"user": self.types["user"], self.column: self.types["request"]}
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}
        by = "rank" if self.order == "rank" else "score"

        def place(rank: int) -> float:
            return rank if by == "rank" else score_at(rank, has_ties=self.order == "ties")

        lists = [
            (*pair, one, place(rank))
            for pair, own in self.lists.items()
            for rank, one in enumerate(own, 1)
        ]
        truth = [
            (*key(unit), one, value)
            for unit, own in self.truth.items()
            for one, value in own.items()
        ]
        train = [(one, other) for one, own in self.train.items() for other in own]
        users = [(one, *facts) for one, facts in self.users.items()]
        judged = user if self.is_by_user else unit
        tables = {
            "recommendations": table(lists, unit | item | {by: pl.Float64}),
            "truth": table(truth, judged | item | {"relevance": pl.Float64}),
            "train": table(train, user | item),
            "items": table([(one,) for one in self.items], item),
            "users": table(users, user | {"team": pl.String, "weight": pl.Float64}),
        }
        if by == "rank":
            tables["recommendations"] = tables["recommendations"].cast({"rank": pl.Int64})
        return Evaluation(World("requests", tables), self.metrics, self.options)

    def relevances_of(self, unit: tuple[Any, Any]) -> dict[Any, float]:
        """Return the relevances that hold for a request."""
        return self.truth.get(unit[0] if self.is_by_user else unit, {})

    def units(self) -> set[tuple[Any, Any]]:
        """Return the requests of the population; a user without one is a request without a name."""
        judged = {unit for unit in self.lists if self.relevances_of(unit)}
        listed_users = {user for user, _ in self.lists}
        if self.is_by_user:
            judged |= {(user, None) for user in self.truth if user not in listed_users}
        else:
            judged |= {*self.truth}
        relevant = {unit for unit in judged if any(self.relevances_of(unit).values())}
        return population(
            self.options["population"], relevant=relevant, judged=judged, listed={*self.lists}
        )


@st.composite
def worlds(draw: st.DrawFn) -> Requests:
    """Draw requests of up to four users."""
    users, items = draw(ids(draw(st.integers(1, 4)))), draw(ids(10))
    requests = draw(ids(3))
    pairs = [(user, request) for user in users for request in requests]
    options: dict[str, Any] = {
        name: draw(st.sampled_from(get_args(kind)))
        for name, kind in (
            ("population", PopulationName),
            ("undefined", Undefined),
            ("without_list", WithoutList),
        )
    }
    sometimes: dict[str, list[Any]] = {
        "mean_over": ["users", "requests"],
        "by": ["team", "activity"],
        "weights": ["weight"],
        "jackknife": [2],
        "exclude_seen": [True],
    }
    for name, values in sometimes.items():
        if draw(st.integers(0, 3)) == 3:
            options[name] = draw(st.sampled_from(values))
    groups = st.tuples(st.sampled_from(KINDS), st.sampled_from([0.25, 1.0, 2.0]))
    return Requests(
        draw(chosen_lists(pairs, items)),
        draw(relevances(users if draw(st.booleans()) else pairs, items)),
        draw(chosen_lists(users, items)),
        {user: draw(groups) for user in users},
        items,
        draw(types_of(user=users, request=requests, item=items)),
        draw(st.sampled_from(COLUMNS)),
        draw(st.sampled_from(["rank", "score", "ties"])),
        tuple(draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True))),
        options,
    )


def plain(world: Requests, result: rw.Result) -> Iterator[Comparison]:
    """Yield the values of each request and their means beside their plain definitions."""
    if world.order == "ties" or "exclude_seen" in world.options:
        return
    units = sorted(world.units(), key=repr)
    keys = result.per_user.select("user", "request").rows()
    yield "requests", sorted(keys, key=repr), units
    for metric in world.metrics:
        name, _, k = metric.partition("@")
        if name not in PER_USER:
            continue
        expected = {unit: _value(world, unit, name, int(k)) for unit in units}
        for unit, value in zip(keys, result.per_user[metric], strict=True):
            yield f"{metric} of request {unit}", value, expected[unit]
        if world.options["undefined"] != "nan":
            yield metric, result[metric], _mean(world, expected)


def _value(world: Requests, unit: tuple[Any, Any], name: str, k: int) -> float:
    """Return the value of a request; NaN for none."""
    truth = world.relevances_of(unit)
    if not any(truth.values()):
        return 0.0 if world.options["undefined"] == "zero" else math.nan
    items = world.lists.get(unit, [])
    return float(plain_value(PER_USER[name], items, truth, k, len(world.items)))


def _mean(world: Requests, values: Mapping[tuple[Any, Any], float]) -> float:
    """Return the weighted mean over requests, or over users of their means."""
    of_user: dict[Any, list[float]] = {}
    for (user, _), value in values.items():
        if not math.isnan(value):
            of_user.setdefault(user, []).append(value)
    weights = {user: world.users[user][1] for user in of_user}
    if "weights" not in world.options:
        weights = dict.fromkeys(of_user, 1.0)
    if world.options.get("mean_over") == "users":
        of_user = {user: [math.fsum(own) / len(own)] for user, own in of_user.items()}
    total = math.fsum(weights[user] * len(own) for user, own in of_user.items())
    if not total:
        return math.nan
    return (
        math.fsum(weights[user] * value for user, own in of_user.items() for value in own) / total
    )


KIND = kind("requests", worlds(), plain)
