"""Records, labelled series and frames of other libraries: read by name, or refused with the call that helps."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from contextlib import closing

import duckdb
import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rankwise as rw
from rankwise.errors import ColumnError, IdError, InputError
from rankwise.tables.read import read_table
from strategies import fewer

Scored = namedtuple("Scored", "score item")


class Row(tuple):
    """A row of Spark: a tuple of values, whose names are in the order in which they were passed."""

    def __new__(cls, **fields):
        row = super().__new__(cls, fields.values())
        row.__fields__ = [*fields]
        return row

    def asDict(self):  # noqa: N802 - Spark's name
        if not hasattr(self, "__fields__"):
            raise TypeError("Cannot convert a Row class into dict")
        return dict(zip(self.__fields__, self, strict=True))


def rows_of(source, role="recommendations"):
    frame = read_table(source, role).frame
    number = [name for name in ("score", "relevance") if name in frame.columns]
    return frame.select("user", "item", *number).sort("user", "item").rows()


PAIRS = [("ann", 4, 0.25), ("ann", 9, 0.75), ("bob", 3, 0.5)]


@pytest.mark.parametrize(
    "source",
    [
        [Row(item=item, score=score, user=user) for user, item, score in PAIRS],
        [
            Row(user="ann", recs=[Row(rating=0.25, item=4), Row(rating=0.75, item=9)]),
            Row(user="bob", recs=[Row(rating=0.5, item=3)]),
        ],
        {
            "ann": [Row(score=0.25, item=4), Row(score=0.75, item=9)],
            "bob": [Row(score=0.5, item=3)],
        },
        {"ann": [Scored(0.25, 4), Scored(0.75, 9)], "bob": [Scored(0.5, 3)]},
        {"ann": pd.Series([0.25, 0.75], index=[4, 9]), "bob": pd.Series([0.5], index=[3])},
        pd.DataFrame({"user": ["ann", "bob"], "top": [{4: 0.25, 9: 0.75}, {3: 0.5}]}),
        pl.DataFrame(
            {
                "user": ["ann", "bob"],
                "top": [
                    [{"key": 4, "value": 0.25}, {"key": 9, "value": 0.75}],
                    [{"key": 3, "value": 0.5}],
                ],
            }
        ),
        pa.table(
            {
                "user": ["ann", "bob"],
                "top": pa.array(
                    [[(4, 0.25), (9, 0.75)], [(3, 0.5)]], pa.map_(pa.int32(), pa.float64())
                ),
            }
        ),
        np.array(
            [(score, item, user) for user, item, score in PAIRS],
            [("score", "f8"), ("item", "i4"), ("user", "U3")],
        ),
        narwhals.from_native(pd.DataFrame(PAIRS, columns=["user", "item", "score"])),
        {"user": ["ann", "bob"], "items": [[4, 9], [3]], "scores": [[0.25, 0.75], [0.5]]},
    ],
)
def test_one_table_in_any_container_is_read_by_its_names(source):
    assert rows_of(source) == PAIRS


def test_maps_of_duckdb_and_of_text_are_read():
    relation = duckdb.sql("select 'ann' as \"user\", map {4: 0.25::double, 9: 0.75::double} as top")
    assert rows_of(relation) == PAIRS[:2]
    texts = pd.DataFrame({"user": [1, 2], "seen": [{"x": 2, "y": 5}, {"z": 1}]})
    assert rows_of(texts, "truth") == [(1, "x", 2.0), (1, "y", 5.0), (2, "z", 1.0)]
    maps = pl.DataFrame({"user": [1], "a": [{"x": 2.0}], "b": [{"y": 1.0}]})
    with pytest.raises(ColumnError, match="two columns could be the map of items"):
        rows_of(maps)


def test_rows_of_sqlite_are_read_by_name():
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        query = "select 4 as item, 'ann' as user union all select 9, 'ann'"
        rows = database.execute(query).fetchall()
    assert rows_of(rows) == [("ann", 4), ("ann", 9)]


def test_rows_without_names_are_tuples():
    row = Row(user=1, item=4)
    del row.__fields__
    assert rows_of([row]) == [(1, 4)]
    with pytest.raises(InputError, match="each user needs an item or a list of items"):
        rows_of({1: Row(item=5, rating=3)})
    with pytest.raises(InputError, match="hold several of them"):
        rows_of({1: [Scored(0.5, 4), (7, 0.2)]})


LABELLED = {
    "whole numbers": (pd.Series([5, 1], index=[7, 8]), None),
    "text beside text": (pd.Series(["x", "y"], index=["a", "b"]), None),
    "named as items": (pd.Series([5, 1], index=[7, 8], name="item_id"), [5, 1]),
    "labels named as items": (pd.Series([5, 1], index=pd.Index([7, 8], name="item")), {7: 5, 8: 1}),
    "numbers of rows": (pd.Series([5, 1]), [5, 1]),
    "text beside rows of a frame": (pd.Series(["x", "y"], index=[3, 9]), ["x", "y"]),
    "floats": (pd.Series([0.5, 2.0], index=["x", "y"]), {"x": 0.5, "y": 2.0}),
}


@pytest.mark.parametrize("name", LABELLED)
def test_labels_of_a_series_are_used_or_refused(name):
    series, meaning = LABELLED[name]
    if meaning is None:
        with pytest.raises(InputError, match="labels of this series may be its items"):
            rows_of({"ann": series}, "truth")
        assert rows_of({"ann": series.to_list()}, "truth") == [
            ("ann", item) for item in sorted(series)
        ]  # the hint
    else:
        assert rows_of({"ann": series}, "truth") == rows_of({"ann": meaning}, "truth")


def test_labels_of_items_are_their_ids():
    prices = pd.Series([2.5, 7.0], index=[40, 30], name="price")
    table = read_table(prices, "items").frame
    assert table.rows() == [(40, 2.5), (30, 7.0)]
    assert table.columns == ["item", "price"]
    with pytest.raises(InputError, match="labels of this series may be its items"):
        read_table(pd.Series([2, 7], index=["x", "y"]), "items")
    for series in (
        pd.Series([2, 7], index=[40, 30]),
        pd.Series(["2", "7"], index=["x", "y"], name="item"),
    ):
        assert read_table(series, "items").frame["item"].to_list() == series.to_list()
    counts = pd.Series([40, 40, 30], name="item").value_counts()
    assert read_table(counts, "items").frame.rows() == [(40, 2), (30, 1)]


def test_two_lists_of_a_user_may_be_columns_or_pairs():
    for value in (
        ([4, 6], [2, 9]),
        (["x", "y", "z"], [0.5, 0.1, 0.2]),
        (np.array([4, 6]), np.array([0.5, 0.25])),
    ):
        with pytest.raises(InputError, match="the items and their numbers, or two"):
            rows_of({"ann": value})
    items, numbers = [4, 6], [2, 9]
    assert rows_of({"ann": list(zip(items, numbers, strict=True))}) == [
        ("ann", 4, 2.0),
        ("ann", 6, 9.0),
    ]  # the hint
    assert rows_of({"ann": [[4, 2], [6, 9]]}) == [("ann", 4, 2.0), ("ann", 6, 9.0)]


class Lazy:
    """A frame of a library that computes late, and looks like an array."""

    columns = ("user", "item")

    def __init__(self, method="compute"):
        self.frame = pd.DataFrame({"user": [0, 0], "item": [5, 6]})

    def compute(self):
        return self.frame

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy()

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return 2


@pytest.mark.parametrize(
    "role", ["recommendations", "truth", "train", "items", "users", "reference", "interactions"]
)
def test_frames_of_unknown_libraries_are_refused_with_the_way_out(role):
    with pytest.raises(InputError, match=r"compute it first: source\.compute\(\)"):
        read_table(Lazy(), role)
    lazy = narwhals.from_native(pl.LazyFrame({"user": [1], "item": [2]}))
    with pytest.raises(InputError, match=r"source\.collect\(\)"):
        read_table(lazy, role)
    assert len(read_table(lazy.collect(), role).frame) == 1


def test_frames_beside_scores_and_users_are_refused():
    with pytest.raises(InputError, match="compute it first"):
        rw.rank(Lazy(), 1)
    with pytest.raises(InputError, match="compute it first"):
        rw.evaluate_ratings(Lazy())
    with pytest.raises(InputError, match=r"pl\.DataFrame\(source\)"):
        rw.rank(pa.table({"x": [0.5], "y": [0.25]}), 1)
    with pytest.raises(InputError, match="labels of a series"):
        rw.rank(users=np.eye(2), items=np.eye(2), bias=pd.Series([1.0, 2.0], index=["b", "a"]), k=1)
    for frame, hint in (
        (pd.DataFrame({"item": [4]}), "pd.concat"),
        (pl.DataFrame({"item": [4]}), "pl.concat"),
    ):
        with pytest.raises(InputError, match="and this one a frame") as caught:
            rows_of({"ann": frame})
        assert hint in caught.value.hint
    for rows in (
        [*pd.DataFrame({"user": [1], "item": [2]}).iterrows()],
        [pd.Series([1, 2], index=["user", "item"])],
    ):
        with pytest.raises(InputError, match=r"rows of (a frame|an array)"):
            rows_of(rows)


def test_levels_that_stand_twice_are_read_once():
    index = pd.MultiIndex.from_tuples(
        [("ann", 4), ("ann", 9), ("ann", 2), ("bob", 3)], names=["user", "item"]
    )
    scores = pd.Series([0.25, 0.75, 0.1, 0.5], index=index, name="score")
    best = scores.groupby("user").nlargest(2)
    assert rows_of(best) == rows_of(best.to_frame()) == PAIRS
    odd = scores.copy()
    odd.index = odd.index.set_names(["user", "user"])
    with pytest.raises(ColumnError, match="two levels of the index are called 'user', and differ"):
        rows_of(odd)
    with pytest.raises(ColumnError, match="a level of the index and the values"):
        rows_of(scores.rename("item"))


def test_lists_written_as_text_are_refused_with_what_reads_them():
    for text in ("[4, 9]", "['4', '9']", "[4 9]", '["4", "9"]'):
        frame = pd.DataFrame({"user": ["ann", "bob"], "item": text})
        with pytest.raises(ColumnError, match="lists that are written as text") as caught:
            rows_of(frame)
        assert 'columns={"item": "item"}' in caught.value.hint
        assert read_table(frame, "recommendations", {"item": "item"}).frame["item"].cast(
            str
        ).to_list() == [*"4949"]
    assert rows_of({"user": ["ann", "ann"], "item": ["[a]", "[b]"]}) == [
        ("ann", "[a]"),
        ("ann", "[b]"),
    ]


def test_a_column_that_is_a_matrix_has_a_list_in_each_row():
    assert rows_of({"user": ["ann", "bob"], "items": np.array([[4, 9], [3, 7]])}) == rows_of(
        {"ann": [4, 9], "bob": [3, 7]}
    )
    with pytest.raises(InputError, match="-1 is no item"):
        rows_of({"user": ["ann", "bob"], "items": np.array([[4, 9], [3, -1]])})


def test_structured_arrays_have_one_row_per_record():
    with pytest.raises(InputError, match="one row per record"):
        rows_of(np.zeros((2, 2), [("user", "i4"), ("item", "i4")]))


SCORES = np.array([[0.9, 0.8, 0.7], [0.1, 0.2, 0.3]])
SEEN = csr_array(np.array([[1, 0, 0], [0, 0, 1]]))


@fewer(10)
@given(users=st.permutations(range(2)), items=st.permutations(range(1, 4)))
def test_a_matrix_of_the_shape_of_labelled_scores_has_their_labels(users, items):
    ranked = rw.rank(SCORES, 3, user_ids=users, item_ids=items, exclude=SEEN)
    seen = {users[0]: [items[0]], users[1]: [items[2]]}
    assert ranked.frame.equals(
        rw.rank(SCORES, 3, user_ids=users, item_ids=items, exclude=seen).frame
    )
    with pytest.raises(IdError, match="those of the scores have ids"):
        rw.rank_relevant(SCORES, truth=SEEN, user_ids=users, item_ids=items)
    with pytest.raises(IdError, match="the lists were ranked with ids"):
        rw.evaluate(ranked, SEEN)
    with pytest.raises(IdError, match="found: a sparse matrix"):
        rw.rank(SCORES, 1, user_ids=users, candidates=rw.candidates.per_user(SEEN))
    with pytest.raises(IdError, match="shape"):
        rw.rank(SCORES, 1, user_ids=users, exclude=SEEN[:, :2])


def test_ratings_in_rows_are_read_by_name():
    rows = [
        Row(rating=4, user=1, item=5, prediction=3.0),
        Row(rating=2, user=1, item=6, prediction=2.0),
    ]
    by_name = rw.evaluate_ratings([row.asDict() for row in rows], "mae")["mae"]
    assert rw.evaluate_ratings(rows, "mae")["mae"] == by_name == 0.5
