"""Names of items and what stands for them, and ids that no catalogue has."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, IdError, ParameterError
from rankwise.tables import catalogue
from rankwise.tables.catalogue import (
    ItemNames,
    codes_as_text,
    item_column,
    named_items,
    outside_catalogue,
)
from rankwise.tables.table import Recommendations, Table


def lists_of(rows, **columns):
    frame = pl.DataFrame(rows, ["user", "item"], orient="row").with_columns(**columns)
    return Recommendations(frame, "recommendations", "lists", "table", {})


def translated(names, rows, kind="codes", **columns):
    lists, unknown = ItemNames.of(kind, named_items(kind, names), None).translated(
        lists_of(rows, **columns)
    )
    return lists, unknown


NAMES = {"1,2": 10, "1,3": [11, 12], "4": 13}


def test_items_of_one_name_tie_and_unknown_names_keep_their_place():
    lists, unknown = translated(NAMES, [(1, "1,3"), (1, " 4 "), (1, "9"), (1, "1")])
    known = lists.frame.filter(pl.col("item") >= 0)
    assert known.select("user", "item", "score").rows() == [
        (1, 11, 0.0),
        (1, 12, 0.0),
        (1, 13, -1.0),
    ]
    strangers = lists.frame.filter(pl.col("item") < 0)
    assert strangers["score"].to_list() == [-2.0, -3.0]
    assert strangers["item"].n_unique() == 2
    assert lists.counts == {"codes_shared": 1, "codes_unknown": 1, "codes_truncated": 1}
    assert unknown == ["9", "1"]
    assert lists.frame.columns == ["user", "item", "score"]


def test_the_first_of_a_repeated_item_is_kept_and_names_are_counted():
    lists, _ = translated(NAMES, [(1, "4"), (1, "1,3"), (1, "4"), (2, "4"), (1, "1,3")])
    assert lists.frame.select("user", "item").rows() == [(1, 13), (1, 11), (1, 12), (2, 13)]
    assert lists.counts == {"codes_shared": 2, "codes_repeated": 2}
    scored, _ = translated(
        NAMES, [(1, "4"), (1, "1,2"), (1, "4")], score=pl.Series([0.1, 0.2, 0.3])
    )
    assert scored.frame.rows() == [(1, 10, 0.2), (1, 13, 0.3)]


def test_ranks_and_scores_order_the_items():
    ranked, _ = translated(NAMES, [(1, "4"), (1, "1,2")], rank=pl.Series([2, 1]))
    assert ranked.frame.rows() == [(1, 13, -2.0), (1, 10, -1.0)]
    scored, _ = translated(NAMES, [(1, "4"), (1, "1,2")], score=pl.Series([0.25, 0.5]))
    assert scored.frame.rows() == [(1, 13, 0.25), (1, 10, 0.5)]


def test_placeholders_of_text_are_text_and_five_unknown_names_are_told():
    lists, unknown = translated(
        {"a": "x"}, [(1, "a"), *((1, f"n{at}") for at in range(7)), (2, "n0")]
    )
    assert lists.frame["item"].to_list() == ["x", *(f"\0n{at}" for at in range(7)), "\0n0"]
    assert unknown == ["n0", "n1", "n2", "n3", "n4"]
    assert lists.counts == {"codes_unknown": 8}


def test_titles_are_compared_without_case_blanks_and_quotes():
    rows = [(1, "  The  MATRIX."), (1, "“heat”"), (1, "ﬁlm"), (1, "He")]
    lists, unknown = translated({"the matrix": 1, "Heat": 2, "film": 3}, rows, "titles")
    assert lists.frame["item"].to_list()[:3] == [1, 2, 3]
    assert (lists.counts, unknown) == ({"titles_unknown": 1}, ["He"])


def test_what_names_are_given_as():
    assert named_items("codes", None) is None
    assert named_items("codes", "column") == "column"
    assert named_items("codes", {(3, 5): 1, "7": (1, 2), 8: {3}}) == {
        "3,5": [1],
        "7": [1, 2],
        "8": [3],
    }
    assert named_items("titles", {"a": frozenset([1]), ("b",): [2]}) == {"a": [1], "b": [2]}
    for given in ({}, 5, ["a"]):
        with pytest.raises(ParameterError, match="codes is the name of a column"):
            named_items("codes", given)
    for values, said in (({"a": [1, "b"]}, "several types"), ({"a": [1.5]}, "are no ids")):
        with pytest.raises(IdError, match=said):
            ItemNames.of("codes", values, None)


def test_a_name_of_no_item_keeps_its_place_every_time():
    wrong = [(1, "9"), (1, "9"), (1, "4"), (1, "9"), (2, "9"), (1, "4")]
    lists, unknown = translated(NAMES, wrong)
    assert lists.frame["score"].to_list() == [0.0, -1.0, -2.0, -3.0, -4.0]
    assert lists.frame.select("user", "item").n_unique() == 5
    assert lists.counts == {"codes_unknown": 4, "codes_repeated": 1}
    assert unknown == ["9"]
    beams = {"ann": [*["7,7"] * 10, "1,2"]}
    assert rw.evaluate(beams, {"ann": {10}}, "mrr", codes=NAMES)["mrr"] == 1 / 11


def test_codes_that_are_arrays_or_have_whole_scores_become_text():
    codes = {
        1: [np.array([3, 5]), (np.array([3, 7]), 2), ((4, 6), 1)],
        2: np.array([[3, 5], [4, 6]]),
    }
    assert codes_as_text(codes) == {1: ["3,5", ("3,7", 2), ("4,6", 1)], 2: ["3,5", "4,6"]}


@pytest.mark.parametrize(
    "values", [[timedelta(1)], [b"x"], [{"a": 1}], [[{"a": 1}]], [[timedelta(1)]]]
)
def test_values_without_a_text_are_no_codes(values):
    table = ITEMS.with_frame(pl.DataFrame({"item": [1], "code": values}))
    with pytest.raises(ColumnError, match="does not hold codes"):
        ItemNames.of("codes", "code", table)


def test_codes_that_are_tuples_become_text():
    assert codes_as_text({1: [(3, 5), ((3, 7), -0.5), ["a", "b"], "9", (4, 2.5)], 2: "x"}) == {
        1: ["3,5", ("3,7", -0.5), "a,b", "9", ("4", 2.5)],
        2: "x",
    }
    assert codes_as_text([1, 2]) == [1, 2]
    rows = pl.DataFrame({"user": [1, 1], "item": [[3, 5], [4, 6]]})
    assert codes_as_text(rows)["item"].to_list() == ["3,5", "4,6"]
    whole = pl.DataFrame({"user": [1, 2], "item": [[3, 5], [4, 6]]})
    assert codes_as_text(whole)["item"].to_list() == [[3, 5], [4, 6]]
    deep = pl.DataFrame({"user": [1, 2], "item": [[[3, 5], [4]], [[6]]]})
    assert codes_as_text(deep)["item"].to_list() == [["3,5", "4"], ["6"]]


ITEMS = Table(
    pl.DataFrame({"item": [1, 2, 3], "code": ["a", None, "c"]}), "items", "items", "table", {}
)


def test_names_in_a_column_of_the_items():
    names = ItemNames.of("codes", "code", replace(ITEMS, is_text=True))
    assert (names.pairs.rows(), names.is_text) == ([("a", 1), ("c", 3)], True)
    assert item_column(ITEMS, "code", "x")[1].to_list() == ["a", None, "c"]
    with pytest.raises(ParameterError, match="x is by a column of the items"):
        item_column(None, "code", "x")
    with pytest.raises(ColumnError, match="no column 'codes'") as caught:
        item_column(ITEMS, "codes", "x")
    assert caught.value.found == "'code'"


@pytest.mark.parametrize("first_rows", [1, 1 << 17])
def test_ids_outside_the_catalogue_are_told_once(first_rows, monkeypatch):
    monkeypatch.setattr(catalogue, "_FIRST_ROWS", first_rows)
    tables = [ITEMS, ITEMS.with_frame(pl.DataFrame({"item": [7, 8, 9, 7, 10, 11, 12]}))]
    for rows, expected in (
        ([(1, 1), (1, 5), (2, 5), (2, 12)], [5]),
        ([(1, -4), (1, 2**40), (1, 3)], [-4, 2**40]),
        ([(1, 0), (1, 10)], [0]),
        ([(1, 1), (1, 12), (2, 11)], []),
    ):
        assert sorted(outside_catalogue(lists_of(rows), tables).to_list()) == expected
    assert outside_catalogue(lists_of([(1, 5)]), []).to_list() == [5]
    text = ITEMS.with_frame(pl.DataFrame({"item": ["a", "b"]}))
    assert sorted(
        outside_catalogue(lists_of([(1, "a"), (1, "z"), (2, "z")]), [text]).to_list()
    ) == ["z"]
