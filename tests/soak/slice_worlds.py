"""Slices of relevant items: by columns of items and of the ground truth, cold items, repeats, popularity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, get_args

import polars as pl
from evaluations import Evaluation, kind
from hypothesis import strategies as st
from kinds import Comparison
from world_tables import KINDS, Lists, Relevances, chosen_lists, relevances, table, types_of

import rankwise as rw
from metrics.test_against_functional import PER_USER, plain_value
from rankwise.core.populations import PopulationName
from road_worlds import World
from strategies import ids

GENRES = ("war", "film × noir", '"quoted"', "below 5", "x to y", "7", "[REC]", "a/b", "ä")
METRICS = ("recall@3", "ndcg@3", "mrr@4", "map@5", "precision@2", "hit_rate@1", "gini@3")
PRICES = (None, -1.0, 0.0, 2.5, 5.0, 7.0, 1e9)
PRICED = "item:price[0,5]"
CUTS = {"item:genre", PRICED, "item:cold", "repeat", "truth:channel"}
"""Slicings with a plain definition."""


@dataclass(frozen=True)
class Sliced:
    """Users' lists and ground truth, with facts about items, users and rows of the ground truth.

    Attributes
    ----------
    lists, train : dict
        The recommended and the training items of each user.
    truth : dict
        The relevances of each user.
    channels : dict
        The channel of each user and item of the ground truth.
    genres : dict
        The genres of each item.
    prices : dict
        The price of each item.
    teams : dict
        The team of each user.
    types : dict
        The type of each column of ids.
    are_texts : bool
        Whether genres are text with separators, and not lists.
    metrics : tuple of str
        With their cut-offs.
    options : mapping
        Options of `rankwise.evaluate`.
    """

    lists: Lists
    truth: Relevances
    train: Lists
    channels: dict[tuple[Any, Any], Any]
    genres: dict[Any, list[str]]
    prices: dict[Any, float | None]
    teams: dict[Any, Any]
    types: dict[str, Any]
    are_texts: bool
    metrics: tuple[str, ...]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.evaluation)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}
        lists = [
            (one, other, rank)
            for one, own in self.lists.items()
            for rank, other in enumerate(own, 1)
        ]
        truth = [
            (one, other, value, self.channels[one, other])
            for one, own in self.truth.items()
            for other, value in own.items()
        ]
        train = [(one, other) for one, own in self.train.items() for other in own]
        genre: Any = pl.String if self.are_texts else pl.List(pl.String)
        items = [
            (one, " | ".join(own) if self.are_texts else own, self.prices[one])
            for one, own in self.genres.items()
        ]
        tables = {
            "recommendations": table(lists, user | item | {"rank": pl.Int64}),
            "truth": table(truth, user | item | {"relevance": pl.Float64, "channel": pl.String}),
            "train": table(train, user | item),
            "items": table(items, item | {"genre": genre, "price": pl.Float64}),
            "users": table([*self.teams.items()], user | {"team": pl.String}),
        }
        return Evaluation(World("slices", tables), self.metrics, self.options)

    def slices_of(self, by: str, user: Any, item: Any) -> set[str | None]:
        """Return the names of the slices of a row; None where nothing is known."""
        if by == "team":
            return {self.teams[user]}
        if by == "item:genre":
            return {*self.genres[item]} or {None}
        if by == "repeat":
            return {"repeat" if item in self.train.get(user, []) else "new"}
        if by == "item:cold":
            is_warm = any(item in own for own in self.train.values())
            return {"warm" if is_warm else "cold"}
        if by == "truth:channel":
            return {self.channels.get((user, item))}
        return {_bin(self.prices[item], [0, 5])}

    def row_is_in(
        self, by: Sequence[str], names: Sequence[str | None], user: Any, item: Any
    ) -> bool:
        """Return whether a row is in a slice, named by each of several groupings."""
        if None in names:
            return any(None in self.slices_of(one, user, item) for one in by)
        return all(
            name in self.slices_of(one, user, item) for one, name in zip(by, names, strict=True)
        )

    def names_of(self, by: Sequence[str]) -> set[tuple[str | None, ...]]:
        """Return the slices that a row of the lists or the ground truth is in."""
        rows = [
            (user, item) for own in (self.lists, self.truth) for user in own for item in own[user]
        ]
        names = {
            name
            for user, item in rows
            for name in product(*(self.slices_of(one, user, item) for one in by))
        }
        return {(None,) * len(by) if None in name else name for name in names}

    def mean_in(self, by: Sequence[str], names: Sequence[str | None], name: str, k: int) -> float:
        """Return the mean of a metric over the users with a relevant item in a slice."""
        needs_list = self.options["population"] in ("both", "recommended", "judged_both")
        values = []
        for user, own in self.truth.items():
            if needs_list and user not in self.lists:
                continue
            inside = {
                item: value
                for item, value in own.items()
                if value > 0 and self.row_is_in(by, names, user, item)
            }
            if inside:
                items = self.lists.get(user, [])
                values.append(plain_value(PER_USER[name], items, inside, k, len(self.genres)))
        return math.fsum(values) / len(values) if values else math.nan


def _bin(value: float | None, edges: Sequence[int]) -> str | None:
    """Return the name of the bin of a number."""
    if value is None:
        return None
    if value < edges[0]:
        return f"below {edges[0]}"
    inner = [f"{low} to {high}" for low, high in pairwise(edges) if low <= value < high]
    return inner[0] if inner else f"{edges[-1]} and above"


@st.composite
def sliced(draw: st.DrawFn, options: Mapping[str, Any]) -> Sliced:
    """Draw users, lists and facts for an evaluation with options."""
    users, items = draw(ids(draw(st.integers(1, 5)))), draw(ids(9))
    truth = draw(relevances(users, items))
    some = st.lists(st.sampled_from(GENRES), max_size=2, unique=True)
    rows = [(user, item) for user, own in truth.items() for item in own]
    more = {"population": draw(st.sampled_from(get_args(PopulationName)))}
    if draw(st.booleans()):
        more["jackknife"] = 2
    return Sliced(
        draw(chosen_lists(users, items)),
        truth,
        draw(chosen_lists(users, items)),
        {row: draw(st.sampled_from(["app", "web shop", "5 to 10"])) for row in rows},
        {item: draw(some) for item in items},
        {item: draw(st.sampled_from(PRICES)) for item in items},
        {user: draw(st.sampled_from(KINDS)) for user in users},
        draw(types_of(user=users, item=items)),
        draw(st.booleans()),
        tuple(draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True))),
        {**options, **more},
    )


BY = st.lists(
    st.sampled_from(
        [*sorted(CUTS), "item:popularity", "item:price", "team", "activity", "history"]
    ),
    min_size=1,
    max_size=3,
    unique=True,
)
worlds = BY.flatmap(lambda by: sliced({"by": by}))


def plain(world: Sliced, result: rw.Result) -> Iterator[Comparison]:
    """Yield the mean of each slice beside the mean of restricted ground truth."""
    assert result.slices is not None
    for by in world.options["by"]:
        if by in CUTS:
            rows = result.slices.filter(pl.col("by") == by)
            names = {name: (name,) for (name,) in world.names_of([by])}
            yield from of_slices(world, [by], names, rows)


def of_slices(
    world: Sliced,
    by: Sequence[str],
    names: Mapping[str | None, Sequence[str | None]],
    rows: pl.DataFrame,
) -> Iterator[Comparison]:
    """Yield the values of slices beside their plain definitions, which names have by their text."""
    for metric in world.metrics:
        name, _, k = metric.partition("@")
        if name not in PER_USER:
            continue
        means = {text: world.mean_in(by, each, name, int(k)) for text, each in names.items()}
        values = dict(rows.select("group", metric).iter_rows())
        for group in sorted({*means, *values}, key=str):
            value, mean = values.get(group, math.nan), means.get(group, math.nan)
            yield f"{metric} of {by} {group!r}", value, mean


KIND = kind("slices", worlds, plain)
