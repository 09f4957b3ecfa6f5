"""Random evaluations for Hypothesis: ragged lists, graded truth, users missing on either side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

ITEMS = list(range(12))
_LARGEST = 2**63 - 1
STARTS = {
    "small": lambda size: 0,
    "int8": lambda size: 2**7 - size,
    "least of int8": lambda size: -(2**7),
    "beyond int8": lambda size: 2**7 - size // 2,
    "uint8": lambda size: 2**8 - size,
    "int16": lambda size: 2**15 - size,
    "uint16": lambda size: 2**16 - size,
    "int32": lambda size: 2**31 - size,
    "least of int32": lambda size: -(2**31),
    "beyond int32": lambda size: 2**31 - size // 2,
    "uint32": lambda size: 2**32 - size // 2,
    "ten digits": lambda size: 10**10 - size,
    "beyond exact floats": lambda size: 2**53 - size // 2,
    "least of int64": lambda size: -(2**63),
    "int64": lambda size: 2**63 - size,
}
"""The first of consecutive integers at the limit of a type, by the number of ids."""
UNSIGNED = {
    "beyond int64": lambda size: 2**63 - size // 2,
    "uint64": lambda size: 2**64 - size,
}
"""The first of integers that a signed id of 64 bits cannot hold: every call refuses them."""
NAMES = [
    "tab\tin",
    "comma, in",
    'quote"in',
    "'quoted'",
    '"quoted"',
    "line\nin",
    "a::b",
    "a/b",
    "a|b",
    "a; b",
    "blank in",
    "a\\b",
    "a=b",
    "a × b",
    "in [brackets]",
    "{braces}",
    "#hash",
    "-",
    "é",
    "e\u0301",
    "日本語",
    "😀",
    "\u200b",
    "nan",
    "NaN",
    "null",
    "None",
    "NA",
    "inf",
    "true",
    "0x10",
    "1e3",
    "1_0",
    "01",
]
"""Names with separators, quotes and signs that formats use, and names that look empty or like numbers."""


@st.composite
def ids(draw, size):
    """Draw ``size`` ids of one type in ascending order: integers at limits of types, or names.

    The simplest are the integers from 0. Those of ``UNSIGNED`` are not among them.
    """
    kind = draw(st.sampled_from([*STARTS, "both ends", "digits", "names"]))
    if kind == "both ends":
        return [*range(size // 2), *range(_LARGEST - size + size // 2 + 1, _LARGEST + 1)]
    if kind == "digits":  # text that is written as integers of more than 64 bits
        return [str(10**20 + number) for number in range(size)]
    if kind == "names":
        chosen = draw(st.lists(st.sampled_from(NAMES), max_size=size, unique=True))
        plain = (f"name {number:04}" for number in range(size - len(chosen)))
        return sorted([*chosen, *plain])
    start = STARTS[kind](size)
    return [*range(start, start + size)]


def id_type(values, *, narrow=False):
    """Return the type of a column of ids, with ``narrow`` the smallest that holds them."""
    if any(isinstance(value, str) for value in values):
        return pl.String
    types = [pl.Int64, pl.UInt64]
    if narrow:
        types = [pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Int32, pl.UInt32, *types]
    least, largest = min(values, default=0), max(values, default=0)
    return next(
        one
        for one in types
        if pl.select(one.min()).item() <= least and largest <= pl.select(one.max()).item()
    )


def examples(n):
    """Return settings of ``n`` examples of 25: a third of them in a check, fewer in a quick one, more in a deep one."""
    return settings(max_examples=max(1, n * settings().max_examples // 25))


def fewer(n):
    """Return settings of ``n`` examples of 25, a third of them in a check, and all in a deep one."""
    most = settings().max_examples
    return settings(max_examples=most if most > 25 else max(1, n * most // 25))


@st.composite
def evaluations(draw, *, graded=True, scores=False, judged=False):
    """Draw ``(recommendations, truth)`` as dicts of lists and of relevances, with ids of any type.

    With ``scores`` lists are dicts of item to score, few distinct values so that ties are common.
    With ``judged`` relevances may be 0 or -1: judged and not relevant.
    """
    listed, truth = draw(numbered_evaluations(graded=graded, scores=scores, judged=judged))
    users, items = draw(ids(31)), draw(ids(len(ITEMS)))
    return tuple(_renamed(table, users, items) for table in (listed, truth))


def with_ids(*tables, users, items):
    """Draw tables of so many numbered users and items, with ids of any type in place of numbers."""
    return st.tuples(st.tuples(*tables), ids(users), ids(items)).map(
        lambda drawn: tuple(_renamed(table, *drawn[1:]) for table in drawn[0])
    )


def _renamed(table, users, items):
    """Return lists, sets or relevances with ids in place of numbers."""

    def renamed(own):
        if isinstance(own, dict):
            return {items[item]: value for item, value in own.items()}
        return type(own)(items[item] for item in own)

    return {users[user]: renamed(own) for user, own in table.items()}


def frames_with_ids(frame, **sizes):
    """Draw a table whose numbers in some columns, below so many, are ids of any type."""

    def renamed(drawn):
        table, *columns = drawn
        for name, values in zip(sizes, columns, strict=True):
            kept = pl.Series(name, [values[number] for number in table[name]], id_type(values))
            table = table.with_columns(kept)
        return table

    return st.tuples(frame, *map(ids, sizes.values())).map(renamed)


@st.composite
def numbered_evaluations(draw, *, graded=True, scores=False, judged=False):
    """Draw evaluations whose users and items are small numbers; options are those of `evaluations`."""
    users = draw(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True))
    grades = st.integers(-1 if judged else 1, 4) if graded else st.just(1)
    listed, truth = {}, {}
    for user in users:
        items = draw(st.lists(st.sampled_from(ITEMS), max_size=9, unique=True))
        if scores:
            listed[user] = {item: float(draw(st.integers(0, 3))) for item in items}
        else:
            listed[user] = items
        truth[user] = draw(st.dictionaries(st.sampled_from(ITEMS), grades, max_size=6))
    listed = {user: items for user, items in listed.items() if items}
    truth = {user: items for user, items in truth.items() if items}
    if not listed:
        listed = {users[0]: {0: 1.0} if scores else [0]}
    if not any(value > 0 for items in truth.values() for value in items.values()):
        truth[users[0]] = {0: 1}
    relevant = [u for u, items in truth.items() if any(value > 0 for value in items.values())]
    if not set(relevant) & set(listed):  # nobody in common is an error, tested elsewhere
        listed[relevant[0]] = {0: 1.0} if scores else [0]
    return listed, truth


def catalogue_of(*tables):
    """Return twelve items, those of the tables among them."""
    items = {item for table in tables for own in table.values() for item in own}
    is_text = any(isinstance(item, str) for item in items)
    others = (f"other {number}" if is_text else number for number in range(24))
    missing = (item for item in others if item not in items)
    return [*items, *islice(missing, len(ITEMS) - len(items))]


def as_frame(lists):
    """Turn ``{user: [items]}`` into a table with ranks."""
    rows = [
        (user, item, rank)
        for user, items in lists.items()
        for rank, item in enumerate(items, start=1)
    ]
    return pl.DataFrame(rows, schema=_types(rows) | {"rank": pl.Int64}, orient="row")


def truth_frame(truth):
    """Turn ``{user: {item: relevance}}`` into a table."""
    rows = [
        (user, item, float(value)) for user, own in truth.items() for item, value in own.items()
    ]
    return pl.DataFrame(rows, schema=_types(rows) | {"relevance": pl.Float64}, orient="row")


def _types(rows):
    """Return the types of the columns of users and items of rows."""
    return {name: id_type([row[at] for row in rows]) for at, name in enumerate(("user", "item"))}


@dataclass(frozen=True)
class World:
    """An evaluation with everything that a metric may want to know besides."""

    lists: dict
    truth: dict
    train: dict
    genres: dict
    features: dict
    item_groups: dict
    user_groups: dict
    reference: dict
    propensity: dict

    @property
    def around(self):
        """The tables beside recommendations and truth, as `rankwise.evaluate` takes them."""
        items = self.catalogue
        return {
            "train": self.train,
            "items": {
                "item": items,
                "genres": [sorted(self.genres[i]) for i in items],
                "features": [self.features[i] for i in items],
                "group": [self.item_groups.get(i) for i in items],
                "propensity": [self.propensity[i] for i in items],
            },
            "users": {
                "user": sorted(self.user_groups),
                "group": [self.user_groups[u] for u in sorted(self.user_groups)],
            },
            "reference": self.reference,
        }

    def renamed(self, user, item):
        """The same world with other ids; the functions give them and must keep their order."""

        def of_users(table):
            return {user(u): own for u, own in table.items()}

        def items_in(own):
            return (
                {item(i): v for i, v in own.items()} if isinstance(own, dict) else [*map(item, own)]
            )

        return World(
            *(
                {user(u): items_in(own) for u, own in table.items()}
                for table in (self.lists, self.truth, self.train)
            ),
            *(
                {item(i): v for i, v in table.items()}
                for table in (self.genres, self.features, self.item_groups)
            ),
            of_users(self.user_groups),
            {user(u): items_in(own) for u, own in self.reference.items()},
            {item(i): v for i, v in self.propensity.items()},
        )

    @property
    def catalogue(self):
        """Every item, in order."""
        return sorted(self.genres)

    @property
    def place(self):
        """The number of every item in this order."""
        return {item: number for number, item in enumerate(self.catalogue)}

    @property
    def popularity(self):
        """Training users of every item that has any."""
        return dict(Counter(item for own in self.train.values() for item in own))

    @property
    def relevant(self):
        """The relevant items of every user."""
        return {u: {i for i, v in own.items() if v > 0} for u, own in self.truth.items()}


@st.composite
def worlds(draw, **options):
    """Draw a `World` with ids of any type; options are those of `evaluations`."""
    world, users, items = draw(numbered_worlds(**options)), draw(ids(42)), draw(ids(len(ITEMS)))
    return world.renamed(users.__getitem__, items.__getitem__)


@st.composite
def numbered_worlds(draw, **options):
    """Draw a `World` whose users and items are small numbers, such as the rows of a matrix."""
    lists, truth = draw(numbered_evaluations(**options))
    users = sorted({*lists, *truth})
    some = st.lists(st.sampled_from(ITEMS), max_size=6, unique=True)
    train = {user: draw(some) for user in [*users, 40, 41]}
    train = {user: own for user, own in train.items() if own} or {40: [3, 4]}
    names = st.lists(st.sampled_from(["war", "drama", "noir", "spoof"]), max_size=3, unique=True)
    genres = {item: set(draw(names)) for item in ITEMS}
    genres[0] = genres[0] or {"war"}
    number = st.integers(-2, 2).map(float)
    reference = {user: draw(some) for user in users}
    return World(
        lists,
        truth,
        train,
        genres,
        {item: [draw(number) for _ in range(3)] for item in ITEMS},
        {item: g for item in ITEMS if (g := draw(st.sampled_from(["a", "b", "c", None])))}
        or {0: "a"},
        {user: draw(st.sampled_from(["x", "y"])) for user in [*users, 40]},
        {user: own for user, own in reference.items() if own} or {users[0]: [1, 2]},
        {item: draw(st.sampled_from([0.05, 0.2, 0.5, 1.0])) for item in ITEMS},
    )
