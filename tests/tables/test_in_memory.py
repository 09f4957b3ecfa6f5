"""What people have goes in; what has two meanings is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import rankwise as rw
from rankwise.errors import InputError, ScoreError
from rankwise.tables.memory import from_mapping

CELLS = ["ndcg@2", "recall@2", "cg@2"]
LISTS = {"a": ["x", "y"], "b": ["z"]}
SCORED = {"a": [("x", 2.0), ("y", 1.0)], "b": [("z", 1.0)]}
TRUTH = {"a": {"y": 2.0}, "b": {"z": 1.0, "x": 3.0}}
TRIPLES = [("a", "x", 2), ("a", "y", 1.5), ("b", "z", 1)]  # whole and decimal numbers together
FRAME = pd.DataFrame(TRIPLES, columns=["user", "item", "score"])


class Run:
    """Like ranx's: what it holds is told by to_dict."""

    def to_dict(self):
        return {user: dict(items) for user, items in SCORED.items()}


Run.__module__ = "ranx.data_structures.run"

CONTAINERS = {
    "tuples": TRIPLES,
    "tuple of tuples": tuple(TRIPLES),
    "records": FRAME.to_dict("records"),
    "records by user": {
        user: rows.to_dict("records")
        for user, rows in FRAME.drop(columns="user").groupby(FRAME["user"])
    },
    "columns": FRAME.to_dict("list"),
    "pandas' JSON": FRAME.to_dict(),
    "series of lists": pd.Series(LISTS),
    "grouped": FRAME.groupby("user")["item"].apply(list),
    "series by user and item": FRAME.set_index(["user", "item"])["score"],
    "unnamed series": pd.Series([2.0, 1.5, 1.0], index=FRAME.set_index(["user", "item"]).index),
    "frame of lists": pl.DataFrame({"user": list(LISTS), "items": list(LISTS.values())}),
    "frame of lists and scores": pl.DataFrame(
        {"user": ["a", "b"], "item": [["y", "x"], ["z"]], "scores": [[1.5, 2.0], [1.0]]}
    ),
    "pandas frame of lists": pd.DataFrame({"user": list(LISTS), "items": list(LISTS.values())}),
    "pandas frame, filtered": FRAME[FRAME["score"] > 0].sort_values("score"),
    "ranx run": Run(),
    "pandas frame with users as its index": FRAME.set_index("user"),
    "pandas frame with users and items as its index": FRAME.set_index(["user", "item"]),
    "columns of objects": {
        "user": np.array(["a", "a", "b"], dtype=object),
        "item": ["x", "y", "z"],
        "score": np.array([Decimal(2), Decimal(1), Decimal(1)]),
    },
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_recommendations(name):
    assert (
        rw.evaluate(CONTAINERS[name], TRUTH, CELLS).values
        == rw.evaluate(LISTS, TRUTH, CELLS).values
    )


JUDGED = [("a", "y", 2), ("b", "z", 1.0), ("b", "x", 3)]


@pytest.mark.parametrize(
    "truth",
    [
        JUDGED,
        pd.DataFrame(JUDGED, columns=["user", "item", "weight"]),
        pl.DataFrame(
            {"user": ["a", "b"], "items": [["y"], ["z", "x"]], "ratings": [[2.0], [1, 3]]}
        ),
        pd.DataFrame(JUDGED, columns=["user", "item", "x"])
        .set_index(["user", "item"])["x"]
        .rename("rating"),
        {"user": ["a", "b", "b"], "item": ["y", "z", "x"], "relevance": [2, 1, 3]},
    ],
)
def test_truth(truth):
    assert rw.evaluate(LISTS, truth, CELLS).values == rw.evaluate(LISTS, TRUTH, CELLS).values


def test_one_item_for_each_user():
    by_user = {"a": "y", "b": "z"}
    assert rw.evaluate(LISTS, by_user, "mrr")["mrr"] == 0.75
    assert rw.evaluate(LISTS, pd.Series(by_user), "mrr")["mrr"] == 0.75
    assert rw.evaluate({1: 5, 2: 6}, {1: 5, 2: np.int64(7)}, "mrr")["mrr"] == 0.5
    assert rw.evaluate(LISTS, list(by_user.items()), "mrr")["mrr"] == 0.75


def test_columns_by_name_are_not_users_called_user_and_item():
    train = {"user": ["a", "a", "b"], "item": ["x", "y", "x"]}
    frame = rw.evaluate(LISTS, TRUTH, "arp@2", train=pl.DataFrame(train))["arp@2"]
    assert rw.evaluate(LISTS, TRUTH, "arp@2", train=train)["arp@2"] == frame
    with pytest.raises(InputError, match="columns by name, which have one length; or as users"):
        rw.evaluate(LISTS, TRUTH, "arp@2", train={"user": ["a", "b"], "item": ["x"]})


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ([(1, 2), (1, 2, 3.0)], "all of one length"),
        ([(1, 2, 3, 4)], "all of one length"),
        ([(1, 2), {"user": 1}], "all of one length"),
        ({1: 2.5}, "needs an item or a list of items"),
        ({1: None}, "needs an item or a list of items"),
        ({1: b"x"}, "needs an item or a list of items"),
        (np.ma.masked_array([[1, 2]], mask=[[False, True]]), "the mask of a masked array"),
        ({1: np.ma.masked_array([1, 2], mask=[False, True])}, "the mask of a masked array"),
        (np.array([[0.5, 0.1]]), "item ids, best first"),
        (np.array([[1j, 2]]), "item ids, best first"),
        (np.array([[1, "a"], [2, "b"]], dtype=object), "item ids of one type"),
        (np.array([[1, 5], [1, 6], [2, 5], [3, 9]]), "user and item, or an ordered list"),
        (np.array([[3, 5, 1], [3, 6, 1], [1, 5, 1], [1, 9, 1]]), "user and item, or an ordered"),
        (sparse.csr_array(np.array([[1j, 2]])), "not a matrix of real numbers"),
        ({2**70: [1]}, "must fit 64 bits"),
        ({2**63: [1]}, "must fit 64 bits"),
        ({1: [5, 2**63]}, "must fit 64 bits"),
        ({-1: [1], 2**64 - 1: [1]}, "must fit 64 bits"),
        ([(1, 5), (1, 2**64)], "must fit 64 bits"),
        ({2**200: [1]}, "ids are integers or strings"),
        (pl.DataFrame({"user": [1], "item": pl.Series([2**63], dtype=pl.UInt64)}), "64 bits"),
        ({1: [None, 2]}, "an item id is null"),
        ({"user": [1, 1], "item": [1, "2"]}, "column .item. holds values of several types"),
        (
            [{"user": 1, "item": 1}, {"user": 1, "item": "2"}],
            "column .item. holds values of several types",
        ),
        ({"\ud800": [1]}, "ids are integers or strings"),
        ({1: [(5, "x")]}, "the score must be a number"),
        (
            {1: [{"item": 5}], 2: [6]},
            "items, .item, number. pairs or records, and these hold several",
        ),
        ({1: [{"user": 2, "item": 5}]}, "records by user have a user of their own"),
        ({1: [{"item": (5, 6)}]}, "this is a tuple"),
        ({1: [{"thing": 5}]}, "there is no column for the item"),
        (pl.DataFrame({"user": [1], "item": [[1, 2]], "scores": [[0.5]]}), "different lengths"),
        (pl.DataFrame({"user": [1], "item": [1], "items": [[1, 2]]}), "could be the item"),
        (5, "not understood"),
    ],
)
def test_refused(source, match):
    with pytest.raises(InputError, match=match):
        rw.evaluate(source, {1: {2}})


def test_short_lists_that_are_alike_are_lists():
    """A popularity baseline recommends the same two items to everybody."""
    assert rw.evaluate(np.array([[7, 9]] * 9), {0: {7}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(np.array([[7, 9], [8, 9], [7, 8], [9, 7]]), {0: {7}}, "mrr")["mrr"] == 1.0


def test_a_damaged_sparse_matrix():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[0] = 77
    with pytest.raises(InputError, match="corrupt sparse matrix"):
        rw.evaluate(matrix, {0: {0}})


@pytest.mark.parametrize(
    "lists",
    [
        pl.DataFrame({"user": [1, 1], "item": [5, 6], "score": [2**53, 2**53 + 1]}),
        {"user": [1, 1, 1], "item": [5, 6, 7], "score": [2**53, 2**53 + 1, 0.5]},
        {1: [(5, 2**53), (6, 2**53 + 1)]},
        [(1, 5, 2**53), (1, 6, 2**53 + 1)],
        sparse.csr_array(np.array([[0, 0], [2**53, 2**53 + 1]])),
        pl.DataFrame(
            {
                "user": [1, 1],
                "item": [5, 6],
                "score": pl.Series(["0.1000000000000000000", "0.1000000000000000001"]).cast(
                    pl.Decimal(38, 19)
                ),
            }
        ),
    ],
)
def test_numbers_with_more_digits_than_floats_are_refused_where_they_become_equal(lists):
    with pytest.raises(ScoreError, match="too many digits to be told apart"):
        rw.evaluate(lists, {1: {6}})


def test_large_whole_numbers_keep_their_order():
    lists = {1: [(5, 2**53), (6, 2**54 + 2)]}
    assert rw.evaluate(lists, {1: {6}}, "mrr")["mrr"] == 1.0


def test_weights_of_whole_and_decimal_numbers():
    result = rw.evaluate(LISTS, TRUTH, "recall", weights={"a": 1, "b": 0.5})
    assert result["recall"] == pytest.approx((1 + 0.5 * 0.5) / 1.5)
    with pytest.raises(InputError, match="too large for a float"):
        rw.evaluate(LISTS, TRUTH, "recall", weights={"a": 1e308, "b": 1e308})


def test_ids_of_users_tables_are_compared_as_they_are_written():
    users = pl.DataFrame({"user": ["01", "+2", "1"], "group": ["a", "b", "c"]})
    result = rw.evaluate({1: [5], 2: [5]}, {1: {5}, 2: {6}}, "recall", users=users, by="group")
    assert dict(result.slices.select("group", "recall").rows()) == {"c": 1.0, None: 0.0}


@pytest.mark.parametrize("first", [(5, 3.5), (3.5, 4), (4, 4)])
def test_ratings_may_be_whole_or_decimal_in_any_order(first):
    source = {"ann": [first, (3.5, 4), (5, 3.5)]}
    assert rw.evaluate_ratings(source, "mae")["mae"] == pytest.approx(
        (abs(first[0] - first[1]) + 0.5 + 1.5) / 3
    )
    predictions = [("u", n, true, est, {}) for n, (est, true) in enumerate(source["ann"])]
    assert rw.evaluate_ratings(predictions, "mae")["mae"] > 0


def test_pandas_without_pyarrow(monkeypatch):
    """pandas keeps text in its own way then, and exports it with PyArrow only."""

    def missing(self, requested_schema=None):
        raise ImportError("pyarrow>=14.0 is required")

    monkeypatch.setattr(pd.DataFrame, "__arrow_c_stream__", missing, raising=False)
    monkeypatch.setattr(pl, "DataFrame", _needs_pyarrow(pl.DataFrame))
    assert rw.evaluate(FRAME, TRUTH, "recall@2")["recall@2"] == 0.75


def _needs_pyarrow(make):
    class Frame(make):
        def __new__(cls, data=None, *args, **kwargs):
            if isinstance(data, pd.DataFrame):
                raise ImportError("pyarrow is required")
            return make(data, *args, **kwargs)

    return Frame


def test_what_fails_when_it_is_collected():
    lazy = pl.LazyFrame({"user": [1], "item": ["x"]}).with_columns(pl.col("item").cast(pl.Int64))
    with pytest.raises(InputError, match="this query fails when it runs"):
        rw.evaluate(lazy, {1: {2}})
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 1 as user, cast(t.x as int) as item from (values ('z')) t(x)")
    with pytest.raises(InputError, match="this query fails when it runs"):
        rw.evaluate(relation, {1: {2}})


def test_text_is_filled_up_with_empty_text():
    result = rw.evaluate(np.array([["6", "5"], ["7", ""]]), {0: {"5"}}, ["mrr", "coverage@2"])
    assert result.counts["padding"] == 1
    assert result.counts["catalogue_items"] == 3


def test_a_catalogue_as_a_series():
    items = pd.Series([5, 6, 7, 8], index=[9, 8, 7, 6])
    assert rw.evaluate({1: [5]}, {1: {5}}, "coverage@1", items=items)["coverage@1"] == 0.25


def test_a_series_with_one_row_per_interaction():
    by_user = FRAME.set_index("user")["item"]
    assert rw.evaluate(by_user, TRUTH, CELLS).values == rw.evaluate(LISTS, TRUTH, CELLS).values
    truth = pd.DataFrame(JUDGED, columns=["user", "item", "x"]).set_index("user")["item"]
    assert rw.evaluate(LISTS, truth, "recall@2").counts["truth_rows"] == 3


def test_fields_of_records_by_user_are_columns():
    lists = {
        "a": [{"asin": "y", "place": 2}, {"asin": "x", "place": 1}],
        "b": [{"asin": "z", "place": 1}],
        "c": [],
    }
    result = rw.evaluate(lists, TRUTH, CELLS, columns={"recommendations.rank": "place"})
    assert result.values == rw.evaluate(LISTS, TRUTH, CELLS).values
    assert "recommendations: records by user (user, item=asin, rank=place)" in result.notes[-1]
    stars = {
        "a": [{"item": "x", "stars": 5}, {"item": "y", "stars": 2}],
        "b": [{"item": "z", "stars": 4}],
    }
    assert rw.evaluate(LISTS, stars, "recall@2", threshold=4).per_user["n_relevant"].to_list() == [
        1,
        1,
    ]


def test_records_by_user_have_the_user_before_their_fields_in_their_order():
    lists = {
        "a": [{"item": "y", "score": 2.0, "shelf": 1}],
        "b": [{"item": "z", "score": 1.0, "shelf": 3}],
    }
    frame, layout = from_mapping(lists, "recommendations")
    assert layout == "records by user"
    assert frame.columns == ["user", "item", "score", "shelf"]
    assert frame.rows() == [("a", "y", 2.0, 1), ("b", "z", 1.0, 3)]


def test_named_tuples_are_read_by_name():
    rows = list(FRAME.itertuples())  # with pandas' row numbers first
    assert rw.evaluate(rows, TRUTH, CELLS).values == rw.evaluate(LISTS, TRUTH, CELLS).values
    swapped = list(FRAME[["item", "user", "score"]].itertuples(index=False))
    assert rw.evaluate(swapped, TRUTH, CELLS).values == rw.evaluate(LISTS, TRUTH, CELLS).values


@pytest.mark.parametrize("rows", [[[1, 5], [2, 6]], np.array([[1, 5], [2, 6], [3, 7], [4, 8]])])
def test_arrays_are_lists_and_no_ground_truth(rows):
    for role in ({"truth": rows}, {"truth": {1: {5}}, "train": rows}):
        with pytest.raises(InputError, match="does not say which user has which items"):
            rw.evaluate({1: [5]}, metrics="arp@1", **role)


def test_masked_rows():
    mask = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    with pytest.raises(InputError, match="the mask of a masked array"):
        rw.evaluate([mask[0], mask[1]], {0: {1}})


def test_decimals_are_ranks():
    """Databases number rows so; they are numbers as any others are, and as scores are."""
    ranked = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "rank": [2, 1, 1]})
    truth = {1: [6], 2: [9]}
    for kind in (pl.Decimal(10, 0), pl.Decimal(38, 2)):
        decimals = ranked.cast({"rank": kind})
        for source in (decimals, decimals.to_arrow()):
            assert rw.evaluate(source, truth, "mrr")["mrr"] == 0.5
    rank = pl.Series("rank", ["9007199254740993", "9007199254740992", "1"]).cast(pl.Decimal(20, 0))
    with pytest.raises(ScoreError, match="too many digits"):
        rw.evaluate(ranked.with_columns(rank), truth, "mrr")
