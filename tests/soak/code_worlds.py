"""Lists of codes (semantic ids) or titles in place of items: shared, unknown, truncated and repeated ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from typing import Any

import polars as pl
from evaluations import Evaluation, kind
from hypothesis import strategies as st
from kinds import Comparison
from world_tables import Lists, Relevances, relevances, score, table, types_of

import rankwise as rw
from metrics.test_against_functional import PER_USER, plain_value
from road_worlds import World
from strategies import NAMES, ids

METRICS = ("recall@3", "ndcg@3", "mrr@4", "map@5", "precision@2", "hit_rate@1", "coverage@3")
UNKNOWN = ("9,9", "9", "1", "invented", "not, known", "?")
"""Names of no item; some are the beginning of a code."""


MANY_ORDERS = 500
"""The largest number of orders that is enumerated."""


@dataclass(frozen=True)
class Coded:
    """Lists of names, the items that they stand for, and ground truth of items.

    Attributes
    ----------
    lists : dict
        The names in the list of each user, some of which no item has.
    truth : dict
        The relevances of each user.
    names : dict
        The name of each item; several items may share one.
    types : dict
        The type of each column of ids.
    option : str
        ``"codes"`` or ``"titles"``.
    is_mapping : bool
        Whether the option is a mapping of names to items, and not a column of the items.
    order : str
        The column that orders lists: ``"rank"``, ``"score"``, or ``"ties"`` for scores of pairs.
    metrics : tuple of str
        With their cut-offs.
    more : mapping
        Further options of `rankwise.evaluate`.
    """

    lists: Lists
    truth: Relevances
    names: dict[Any, str]
    types: dict[str, Any]
    option: str
    is_mapping: bool
    order: str
    metrics: tuple[str, ...]
    more: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.evaluation)

    @property
    def items_of(self) -> dict[str, list[Any]]:
        """The items of each name."""
        out: dict[str, list[Any]] = {}
        for item, name in self.names.items():
            out.setdefault(name, []).append(item)
        return out

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}
        by = "rank" if self.order == "rank" else "score"
        lists = [
            (one, name, rank if by == "rank" else score(rank, has_ties=self.order == "ties"))
            for one, own in self.lists.items()
            for rank, name in enumerate(own, 1)
        ]
        truth = [
            (one, other, value) for one, own in self.truth.items() for other, value in own.items()
        ]
        place = {by: pl.Int64 if by == "rank" else pl.Float64}
        tables = {
            "recommendations": table(lists, user | {"item": pl.String} | place),
            "truth": table(truth, user | item | {"relevance": pl.Float64}),
            "items": table([*self.names.items()], item | {"name": pl.String}),
        }
        value = self.items_of if self.is_mapping else "name"
        options = {self.option: value, **self.more}
        return Evaluation(World("codes", tables), self.metrics, options)


@st.composite
def worlds(draw: st.DrawFn) -> Coded:
    """Draw lists of names."""
    users, items = draw(ids(draw(st.integers(1, 4)))), draw(ids(8))
    codes = st.tuples(st.integers(1, 2), st.integers(1, 3)).map(lambda pair: f"{pair[0]},{pair[1]}")
    option = draw(st.sampled_from(["codes", "titles"]))
    simple = (
        codes if option == "codes" else st.sampled_from(["Heat", "Jaws (1975)", "alien", "ä b"])
    )
    pool = draw(st.sampled_from([simple, st.sampled_from(NAMES)]))
    names = {item: draw(pool) for item in items}
    listed = st.lists(
        st.one_of(st.sampled_from(sorted({*names.values()})), st.sampled_from(UNKNOWN)),
        min_size=1,
        max_size=6,
    )
    more: dict[str, Any] = {"population": draw(st.sampled_from(["truth", "both", "all"]))}
    order = draw(st.sampled_from(["rank", "score", "ties"]))
    if draw(st.booleans()) and order != "rank":
        more["ties"] = draw(st.sampled_from(["expected", "item", "item_desc", "pessimistic"]))
    return Coded(
        {user: draw(listed) for user in users},
        draw(relevances(users, items)),
        names,
        draw(types_of(user=users, item=items)),
        option,
        draw(st.booleans()),
        order,
        tuple(draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True))),
        more,
    )


def plain(world: Coded, result: rw.Result) -> Iterator[Comparison]:
    """Yield means beside the plain definitions, over all orders of the items of one code."""
    if world.option == "titles" or world.order == "ties" or "ties" in world.more:
        return
    needs_list = world.more["population"] == "both"
    users = [
        user
        for user, own in world.truth.items()
        if any(own.values()) and (user in world.lists or not needs_list)
    ]
    orders = {user: orders_of(world.lists.get(user, []), world.items_of) for user in users}
    if max(map(len, orders.values()), default=0) > MANY_ORDERS:
        return
    for metric in world.metrics:
        name, _, k = metric.partition("@")
        if name in PER_USER:
            means = [
                math.fsum(
                    plain_value(PER_USER[name], items, world.truth[user], int(k), len(world.names))
                    for items in orders[user]
                )
                / len(orders[user])
                for user in users
            ]
            yield metric, result[metric], math.fsum(means) / len(means)


def orders_of(names: list[str], items_of: Mapping[str, list[Any]]) -> list[list[Any]]:
    """Return a list of names as lists of items, one for each order of the items of each name."""
    groups: list[list[Any]] = []
    for place, name in enumerate(names):
        known = {item for group in groups for item in group}
        group = [item for item in items_of.get(name, [("no item", place)]) if item not in known]
        groups.append(group)
    n_orders = math.prod(math.factorial(len(group)) for group in groups)
    if n_orders > MANY_ORDERS:
        return [[]] * n_orders
    each = product(*(permutations(group) for group in groups))
    return [[item for group in order for item in group] for order in each]


KIND = kind("codes", worlds(), plain)
