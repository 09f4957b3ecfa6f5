"""Slices of random worlds against plain Python that shares no code with the package."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw

SEEDS = st.integers(0, 2**32 - 1)
TOP = 2**63 - 1
IDS = {
    "small": lambda n: list(range(n)),
    "limits": lambda n: [TOP - i if i % 2 else i - TOP for i in range(n)],
    "billions": lambda n: [1_700_000_000 + 3 * i for i in range(n)],
    "text": lambda n: [f"{'_-. '[i % 4]}x{i}" for i in range(n)],
    "digits": lambda n: [f"{i:03d}" for i in range(n)],
}
GENRES = ("war", "film × noir", '"quoted"', "below 5", "x to y", "7", "[REC]")
TOWNS = ("AT", "B × C", '"', "5 to 10", None)
METRICS = ["recall@3", "log_loss", "rmse"]


class World:
    """Lists with probabilities, a ground truth with labels, and attributes of items and users."""

    def __init__(self, seed, user_kind, item_kind):
        rng = np.random.default_rng(seed)
        self.users, self.items = IDS[user_kind](6), IDS[item_kind](9)
        self.lists, self.truth = {}, {}
        for user in self.users[:5]:
            shown = rng.permutation(9)[: int(rng.integers(1, 6))]
            scores = sorted(rng.uniform(0.05, 0.95, len(shown)).tolist(), reverse=True)
            self.lists[user] = [
                (self.items[at], score) for at, score in zip(shown, scores, strict=True)
            ]
        for user in self.users[1:]:
            labelled = rng.permutation(9)[: int(rng.integers(1, 5))]
            self.truth[user] = {self.items[at]: float(rng.integers(2)) for at in labelled}
        self.genres = {
            item: rng.permutation(GENRES)[: int(rng.integers(0, 3))].tolist() for item in self.items
        }
        start = int(rng.choice([5, 1_200_000, 1_700_000_000, 2**60]))
        prices = [start + int(step) for step in rng.integers(0, 9, 9)]
        self.price = dict(zip(self.items, prices, strict=True))
        if rng.integers(2):
            self.price[self.items[0]] = None
        self.edges = sorted({start + int(step) for step in rng.integers(1, 8, 3)})
        self.size = {
            item: float(rng.choice([-math.inf, 0.5, 2.25, 7.0, math.inf, math.nan]))
            for item in self.items
        }
        self.town = {user: TOWNS[int(rng.integers(len(TOWNS)))] for user in self.users}
        self.known = {(self.users[u], self.items[i]) for u, i in rng.integers(0, 6, (8, 2))}
        self.as_lists = bool(rng.integers(2))

    def tables(self):
        """Return the tables as the package takes them; genres as lists or as text with blanks."""
        lists = [(user, item, score) for user, rows in self.lists.items() for item, score in rows]
        truth = [
            (user, item, label) for user, rows in self.truth.items() for item, label in rows.items()
        ]
        genres = [self.genres[item] for item in self.items]
        written = (
            genres if self.as_lists else [f" {' | '.join(own)} " if own else "" for own in genres]
        )
        items = {
            "item": self.items,
            "genre": pl.Series(written, dtype=pl.List(pl.String) if self.as_lists else pl.String),
            "price": [self.price[item] for item in self.items],
            "size": [self.size[item] for item in self.items],
        }
        users = {"user": self.users, "town": [self.town[user] for user in self.users]}
        user, item = zip(*sorted(self.known), strict=True)
        return {
            "recommendations": pl.DataFrame(lists, schema=["user", "item", "score"], orient="row"),
            "truth": pl.DataFrame(truth, schema=["user", "item", "relevance"], orient="row"),
            "items": pl.DataFrame(items),
            "users": pl.DataFrame(users),
            "train": pl.DataFrame({"user": user, "item": item}),
        }

    def slices_of(self, by, user, item):
        """Return the names of the slices of a row; None where nothing is known."""
        if by == "item:genre":
            return {*self.genres[item]} or {None}
        if by == "town":
            return {self.town[user]}
        if by == "repeat":
            return {"repeat" if (user, item) in self.known else "new"}
        if by == "item:cold":
            return {"warm" if item in {one for _, one in self.known} else "cold"}
        value, edges = (
            (self.size[item], [1, 5.5])
            if by == "item:size[1,5.5]"
            else (self.price[item], self.edges)
        )
        if value is None or math.isnan(value):
            return {None}
        bounds = [None, *edges, None]
        low, high = next(
            (low, high)
            for low, high in pairwise(bounds)
            if (low is None or value >= low) and (high is None or value < high)
        )
        return {
            f"below {high}"
            if low is None
            else f"{low} and above"
            if high is None
            else f"{low} to {high}"
        }

    def row_is_in(self, by, name, user, item):
        """Return whether a row is in a slice, which is a tuple of names of each grouping."""
        if None in name:
            return any(None in self.slices_of(one, user, item) for one in by)
        return all(
            part in self.slices_of(one, user, item) for one, part in zip(by, name, strict=True)
        )

    def values(self, by, name):
        """Return users, recall@3, log loss and RMSE of one slice, and the share of the lists in it."""
        shown = {
            u: [(i, p) for i, p in rows if self.row_is_in(by, name, u, i)]
            for u, rows in self.lists.items()
        }
        judged = {
            u: {i: y for i, y in rows.items() if self.row_is_in(by, name, u, i)}
            for u, rows in self.truth.items()
        }
        relevant = {
            u: inside
            for u, rows in judged.items()
            if (inside := {i for i, y in rows.items() if y > 0})
        }
        recalls = []
        for user, items in relevant.items():
            top = [item for item, _ in self.lists.get(user, [])[:3]]
            recalls.append(len(items.intersection(top)) / len(items))
        losses, errors = [], []
        for user, rows in shown.items():
            for item, p in rows:
                label = judged.get(user, {}).get(item)
                losses.append(-math.log(p) if label else -math.log(1 - p))
                errors += [] if label is None else [(p - label) ** 2]
        rows = sum(map(len, self.lists.values()))
        return {
            "users": len({*relevant, *(user for user, own in shown.items() if own)}),
            "recall@3": np.mean(recalls) if recalls else math.nan,
            "log_loss": np.mean(losses) if losses else math.nan,
            "rmse": math.sqrt(np.mean(errors)) if errors else math.nan,
            "recommended_share": sum(map(len, shown.values())) / rows,
        }

    def names(self, by):
        """Return every slice that a row of lists or ground truth is in."""
        rows = [(user, item) for user, own in self.lists.items() for item, _ in own]
        rows += [(user, item) for user, own in self.truth.items() for item in own]
        every = {
            name
            for user, item in rows
            for name in product(*(self.slices_of(one, user, item) for one in by))
        }
        return {name if None not in name else (None,) * len(by) for name in every}


def check(world, by, rows):
    names = world.names(by)
    assert len(rows) == len(names)
    assert len({row["group"] for row in rows}) == len(rows)  # no two slices share a name
    expected = sorted((world.values(by, name) for name in names), key=_in_order)
    found = sorted(({key: row[key] for key in expected[0]} for row in rows), key=_in_order)
    for row, values in zip(found, expected, strict=True):
        assert row == pytest.approx(values, nan_ok=True)


def _in_order(row):
    return [(value != value, 0 if value != value else round(value, 9)) for value in row.values()]


@given(SEEDS, st.sampled_from([*IDS]), st.sampled_from([*IDS]))
def test_slices_agree_with_plain_python(seed, user_kind, item_kind):
    world = World(seed, user_kind, item_kind)
    if not any(label for rows in world.truth.values() for label in rows.values()):
        return
    priced = f"item:price[{','.join(map(str, world.edges))}]"
    by = ["item:genre", priced, "item:size[1,5.5]", "repeat", "item:cold"]
    result = rw.evaluate(**world.tables(), metrics=METRICS, by=by, population="all")
    for one in by:
        rows = result.slices.filter(pl.col("by") == one).to_dicts()
        check(world, [one], rows)
        single = {row["group"] for row in rows}
        assert single == {name for (name,) in world.names([one])}


@given(SEEDS, st.sampled_from([*IDS]), st.sampled_from([*IDS]))
def test_crossed_slices_agree_with_plain_python(seed, user_kind, item_kind):
    world = World(seed, user_kind, item_kind)
    if not any(label for rows in world.truth.values() for label in rows.values()):
        return
    for by in (
        ["town", "item:genre"],
        ["item:genre", "repeat"],
        ["town", f"item:price[{world.edges[0]}]"],
    ):
        whole = World(seed, user_kind, item_kind)
        whole.edges = world.edges[:1]
        result = rw.evaluate(**whole.tables(), metrics=METRICS, by=by, cross=True, population="all")
        check(whole, by, result.slices.to_dicts())


@given(SEEDS, st.sampled_from(["truth", "both", "recommended", "all"]), st.sampled_from([*IDS]))
def test_disjoint_slices_of_probabilities_add_up_to_the_whole(seed, population, kind):
    world = World(seed, kind, kind)
    tables = world.tables()
    shown = tables["recommendations"]
    try:
        result = rw.evaluate(
            **tables, metrics=["log_loss"], by=["repeat", "item:cold"], population=population
        )
    except rw.errors.EmptyError:
        return
    for by in ("repeat", "item:cold"):
        rows = result.slices.filter(pl.col("by") == by)
        if population == "all":  # of which the share counts every row
            weights = [share * len(shown) for share in rows["recommended_share"]]
        else:
            weights = [
                result.sliced.filter(pl.col("by") == by, pl.col("group") == group)[
                    "list_length"
                ].sum()
                for group in rows["group"]
            ]
        values = [value for value in rows["log_loss"] if value == value]
        weights = [weight for weight in weights if weight]
        assert np.average(values, weights=weights) == pytest.approx(result["log_loss"])


@given(SEEDS, st.sampled_from([*IDS]))
def test_digests_are_those_of_the_slices(seed, kind):
    world = World(seed, kind, kind)
    tables = world.tables()
    by = ["item:genre", "repeat", "item:cold"]

    def digests(**changed):
        try:
            result = rw.evaluate(
                **{**tables, **changed}, metrics="recall@3", by=by, population="all"
            )
        except rw.errors.EmptyError:
            return None
        return result.provenance["slice_digests"]

    first = digests()
    if first is None:
        return
    assert {*first} == {*by}
    turned = {name: frame.reverse() for name, frame in tables.items() if name != "recommendations"}
    assert digests(**turned) == first
    if kind != "digits":
        as_text = pl.col("item").cast(pl.String)
        texts = {
            name: frame.with_columns(as_text) for name, frame in tables.items() if name != "users"
        }
        assert digests(**texts) == first
    unseen = pl.lit("unseen" if kind in ("text", "digits") else -5).cast(
        tables["items"].schema["item"]
    )
    more = pl.concat([tables["items"], tables["items"].head(1).with_columns(item=unseen)])
    assert digests(items=more) == first

    # The genre of an item of the ground truth is another one.
    judged = {item for rows in world.truth.values() for item in rows}
    moved = [["other"] if item in judged else world.genres[item] for item in world.items]
    items = tables["items"].with_columns(genre=pl.Series(moved, dtype=pl.List(pl.String)))
    changed = digests(items=items)
    assert changed["item:genre"] != first["item:genre"]
    assert changed["repeat"] == first["repeat"]
