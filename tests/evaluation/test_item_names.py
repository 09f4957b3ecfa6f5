"""Codes and titles in place of items, and ids that are no items: all of them counted, none dropped."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.blocks.partial import Partial
from rankwise.errors import ColumnError, IdError, MetricError, ParameterError
from strategies import ids

CODES = {(1, 1): "heat", (1, 2): ["jaws", "alien"], (2, 1): "brazil"}
TRUTH = {"ann": {"jaws"}, "bob": {"brazil"}}
CATALOGUE = ["heat", "jaws", "alien", "brazil"]


def said(result):
    """Return the printed result on one line."""
    return " ".join(repr(result).split())


@pytest.mark.parametrize(
    ("ties", "value"), [("expected", 0.5), ("optimistic", 1.0), ("pessimistic", 0.0)]
)
def test_a_code_of_two_items_is_a_tie_among_them(ties, value):
    result = rw.evaluate(
        {"ann": [(1, 2), (1, 1)]}, {"ann": {"jaws"}}, "hit_rate@1", codes=CODES, ties=ties
    )
    assert result["hit_rate@1"] == value
    assert result.counts["codes_shared"] == 1


def test_unknown_truncated_and_repeated_codes_are_counted_and_keep_places():
    lists = {"ann": [(9, 9), (1,), (1, 2), (1, 2)], "bob": [(2, 1)]}
    result = rw.evaluate(lists, TRUTH, ["mrr@4", "recall@2"], codes=CODES, items=CATALOGUE)
    # Two codes of no item come first: jaws has rank 3 or 4, with the same chance.
    assert result.per_user["mrr@4"].to_list() == pytest.approx([(1 / 3 + 1 / 4) / 2, 1.0])
    assert result.per_user["recall@2"].to_list() == [0.0, 1.0]
    counts = ("codes_unknown", "codes_truncated", "codes_shared", "codes_repeated")
    assert [result.counts[name] for name in counts] == [1, 1, 2, 1]
    assert result.counts["recommendations_outside_catalogue"] == 2
    assert "of no item, such as '9,9', '1'" in said(result)
    assert "outside the catalogue" not in said(result)  # the same rows, told once


def test_items_of_a_code_that_a_list_has_already_are_dropped():
    codes = {"a": [1, 2], "b": [2, 3]}
    result = rw.evaluate({"ann": ["a", "b"]}, {"ann": {3}}, ["recall@3", "recall@2"], codes=codes)
    assert (result["recall@3"], result["recall@2"]) == (1.0, 0.0)  # 1 and 2 tie, 3 comes third
    assert result.counts["codes_repeated"] == 1


@pytest.mark.parametrize("form", ["text", "tuples", "polars", "pandas", "whole lists", "scored"])
def test_codes_in_every_form(form):
    lists = {
        "text": {"ann": ["1,2", "1,1"], "bob": ["2,1"]},
        "tuples": {"ann": [(1, 2), (1, 1)], "bob": [(2, 1)]},
        "scored": {"ann": [((1, 1), -1.0), ((1, 2), -0.5)], "bob": [((2, 1), 0.0)]},
        "whole lists": pl.DataFrame({"user": ["ann", "bob"], "item": [[[1, 2], [1, 1]], [[2, 1]]]}),
    }
    rows = pl.DataFrame(
        {"user": ["ann", "ann", "bob"], "item": [[1, 2], [1, 1], [2, 1]], "rank": [1, 2, 1]}
    )
    lists |= {"polars": rows, "pandas": rows.to_pandas()}
    result = rw.evaluate(lists[form], TRUTH, ["hit_rate@1", "hit_rate@2"], codes=CODES)
    assert (result["hit_rate@1"], result["hit_rate@2"]) == (0.75, 1.0)


def test_titles_are_compared_without_case_blanks_and_quotes():
    items = {"item": [1, 2, 3, 4], "title": ["Heat (1995)", "Alien", "Hamlet", "Hamlet"]}
    lists = {"ann": ['"HEAT  (1995)"', " alien.", "Heat"], "bob": ["hamlet"]}
    result = rw.evaluate(
        lists, {"ann": {2}, "bob": {3}}, "precision@1", titles="title", items=items
    )
    assert result.per_user["precision@1"].to_list() == [0.0, 0.5]
    assert (result.counts["titles_unknown"], result.counts["titles_shared"]) == (1, 1)
    assert result.provenance["unknown_names"] == ["Heat"]
    assert "lists of titles (column 'title' of the items)" in said(result)
    mapping = dict(zip(["Heat (1995)", "Alien"], [1, 2], strict=True))
    assert (
        rw.evaluate({"ann": ["ALIEN"]}, {"ann": {2}}, "recall@1", titles=mapping)["recall@1"] == 1.0
    )


def test_pieces_give_the_values_and_counts_of_the_whole():
    lists = {"ann": [(9, 9), (1,), (1, 2), (1, 2)], "bob": [(2, 1), (9, 9)]}
    whole = rw.evaluate(lists, TRUTH, ["mrr@4", "coverage@2"], codes=CODES, items=[*CATALOGUE])
    evaluator = rw.Evaluator(["mrr@4", "coverage@2"], truth=TRUTH, codes=CODES, items=[*CATALOGUE])
    for user, codes in lists.items():
        evaluator.update({user: codes})
    again = rw.Evaluator(["mrr@4", "coverage@2"], truth=TRUTH, codes=CODES, items=[*CATALOGUE])
    again.merge(Partial.from_bytes(evaluator.partial().to_bytes()))
    for pieces in (evaluator.result(), again.result()):
        assert dict(pieces) == dict(whole)
        assert pieces.counts == whole.counts
    assert (
        whole.counts["recommended_items_outside_catalogue"] == 2
    )  # "9,9" and "1", whoever has them


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"codes": []}, ParameterError, "a mapping of each name to its item or items"),
        ({"codes": {}}, ParameterError, "a mapping of each name"),
        ({"codes": "sid"}, ParameterError, "is by a column of the items"),
        (
            {"codes": "sid", "items": {"item": [1], "s_id": ["a"]}},
            ColumnError,
            "there is no column 'sid'",
        ),
        ({"codes": CODES, "titles": CODES}, ParameterError, "codes or titles in place of items"),
        ({"codes": CODES, "ranks": "keep"}, ParameterError, "lists of codes have no gaps to keep"),
        ({"codes": {"a": 0.5}}, IdError, "the items of codes are no ids"),
        ({"codes": {"a": [1, "x"]}}, IdError, "of several types"),
        ({"codes": CODES, "metrics": "ece"}, MetricError, "needs predicted scores"),
    ],
)
def test_what_names_no_items_is_refused(options, error, message):
    options = dict(options)
    with pytest.raises(error, match=message):
        rw.evaluate(
            {"ann": ["a"]}, {"ann": {"jaws"}}, options.pop("metrics", "recall@1"), **options
        )


def test_a_code_of_no_item_is_named_as_it_is_written():
    reversed_map = {1: "1,1", 2: "1,2"}
    with pytest.raises(IdError, match="integers in one table and strings in another") as error:
        rw.evaluate(
            {1: [(9, 9), (1, 1)]}, {1: {1}}, "mrr", items={"item": [1, 2]}, codes=reversed_map
        )
    assert error.value.found == "Int64 beside String, such as '9,9'"


def test_exact_ranks_have_no_codes():
    ranks = rw.rank_relevant(scores=np.eye(2), truth={0: {0}, 1: {1}})
    with pytest.raises(ParameterError, match="exact ranks are of items, and not of codes"):
        rw.evaluate(ranks, {0: {0}, 1: {1}}, "recall@1", codes={"a": 0})


@pytest.mark.parametrize("metric", ["recall@2", "ndcg@1", "coverage@2", "validity@2"])
def test_every_result_counts_ids_outside_the_catalogue(metric):
    lists = {"ann": [1, 99], "bob": [98, 99, 2], "cyd": [1]}
    result = rw.evaluate(lists, {user: {1} for user in lists}, metric, items=[1, 2, 3])
    names = ("recommendations", "lists_with_items", "recommended_items")
    assert [result.counts[f"{name}_outside_catalogue"] for name in names] == [3, 2, 2]
    assert "3 recommendations outside the catalogue (2 distinct items, 2 lists)" in said(result)


def test_without_items_the_catalogue_is_training_and_ground_truth():
    lists, truth = {"ann": [1, 2, 3]}, {"ann": {2}}
    counts = rw.evaluate(lists, truth, "recall@2", train={"bob": [1]}).counts
    assert counts["recommendations_outside_catalogue"] == 1
    assert "recommendations_outside_catalogue" not in rw.evaluate(lists, truth, "recall@2").counts
    counts = rw.evaluate(lists, truth, "recall@2", train={"bob": [1]}, catalogue="train").counts
    assert counts["recommendations_outside_catalogue"] == 2


@given(
    st.lists(st.integers(0, 15), min_size=1, max_size=12, unique=True),
    st.lists(st.integers(0, 15), min_size=1, max_size=12),
    ids(16),
)
def test_counts_outside_are_those_of_sets(listed, catalogue, names):
    lists = {"ann": [names[item] for item in listed], "bob": [names[item] for item in listed[:1]]}
    truth = {"ann": {lists["ann"][0]}}
    items = [names[item] for item in {*catalogue}]
    counts = rw.evaluate(lists, truth, "recall@3", items=items).counts
    outside = {*listed} - {*catalogue}
    rows = len(outside) + (listed[0] in outside)
    assert counts.get("recommendations_outside_catalogue", 0) == rows
    assert counts.get("recommended_items_outside_catalogue", 0) == len(outside)


def test_codes_on_the_command_line_and_in_a_saved_result(tmp_path):
    (tmp_path / "items.csv").write_text("item,sid\nheat,a\njaws,b\nalien,b\n")
    (tmp_path / "run.csv").write_text("user,item,rank\nann,b,1\nann,a,2\n")
    (tmp_path / "truth.csv").write_text("user,item\nann,jaws\n")
    paths = [str(tmp_path / name) for name in ("run.csv", "truth.csv")]
    result = rw.evaluate(*paths, "hit_rate@1", items=str(tmp_path / "items.csv"), codes="sid")
    saved = rw.load(result.save(tmp_path / "out"))
    assert saved["hit_rate@1"] == 0.5
    assert (
        json.loads((tmp_path / "out" / "result.json").read_text())["provenance"]["settings"][
            "codes"
        ]
        == "sid"
    )
