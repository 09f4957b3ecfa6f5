"""Tables that may be other ones than they are taken for are refused, or said in the result."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import InputError

LISTS = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "score": [0.9, 0.1, 0.8, 0.3]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [6, 7], "rating": [4.0, 5.0]})


def said(*tables, **options):
    result = rw.evaluate(*tables, "recall@2", **options)
    doubts = result.provenance["doubts"]
    assert all(f"check: {doubt}" in result.views[-1].notes for doubt in doubts)
    return " ".join(doubts)


def test_nothing_is_said_of_tables_in_their_place():
    assert said(LISTS, TRUTH, train=TRUTH[:1]) == ""
    assert said({1: [5, 6]}, {1: {6}}) == ""
    unordered = LISTS.drop("score")
    assert said(unordered, TRUTH.drop("rating")) == ""


@pytest.mark.parametrize("order", ["score", "rank", "prediction"])
@pytest.mark.parametrize("as_files", [False, True])
def test_swapped_tables(order, as_files, tmp_path):
    lists = LISTS.rename({"score": order})
    if order == "rank":
        lists = lists.with_columns(rank=pl.Series([1, 2, 1, 2]))
    tables = [TRUTH, lists]
    if as_files:
        tables = [tmp_path / "truth.csv", tmp_path / "run.csv"]
        TRUTH.write_csv(tables[0])
        lists.write_csv(tables[1])
    if order != "score":  # a column of that name is no relevance; numbers are asked for
        with pytest.raises(InputError, match=f"'{order}' could be it"):
            rw.evaluate(*tables)
        tables.append({"truth.relevance": None})
        assert "may be swapped" in said(*tables[:2], columns=tables[2])
    else:
        assert "may be swapped" in said(*tables)


def test_the_same_table_twice(tmp_path):
    TRUTH.write_csv(tmp_path / "a.csv")
    shuffled = TRUTH.reverse()
    for run, truth in ((TRUTH, shuffled), (tmp_path / "a.csv", tmp_path / "a.csv")):
        assert "the recommendations are the user-item pairs of the ground truth" in said(run, truth)
    assert "the training interactions are" in said(LISTS, TRUTH, train=shuffled)
    text = TRUTH.with_columns(pl.col("user", "item").cast(pl.String))
    assert "pairs of the ground truth" in said(tmp_path / "a.csv", text)


def test_what_is_said_of_pieces_and_of_users_without_lists(tmp_path):
    LISTS.write_parquet(tmp_path / "run.parquet")
    same = rw.evaluate(tmp_path / "run.parquet", tmp_path / "run.parquet", "mrr", chunk_rows=2)
    assert "pairs of the ground truth" in same.provenance["doubts"][-1]
    few = rw.evaluate({1: [5]}, {user: {5} for user in range(9)}, "mrr")
    assert few.provenance["doubts"][0].startswith("most users have no list")
    rated = rw.evaluate_ratings({"ann": [(3, 4), (1, 2)]})
    assert rated.provenance["doubts"] == []


def test_an_array_as_wide_as_the_catalogue_has_two_meanings():
    scores = np.array([[3, 1, 2, 0], [0, 3, 2, 1]])
    for source in (scores, scores.astype(np.uint8)):
        with pytest.raises(InputError, match="item ids, best first, or a score for every item"):
            rw.evaluate(source, {0: {0}, 1: {1}})
    for given, later in (({"truth": {0: {0}, 1: {1}}}, None), ({}, {0: {0}, 1: {1}})):
        with pytest.raises(InputError, match="item ids, best first, or a score for every item"):
            rw.Evaluator("mrr", **given).update(scores, later)
    assert rw.evaluate(rw.rank(scores, 2), {0: {0}, 1: {1}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(dict(enumerate(scores.tolist())), {0: {3}, 1: {0}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(scores[:, :2], {0: {3}, 1: {0}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(scores, {0: {3}, 1: {0}}, "mrr", items=range(9))["mrr"] == 1.0
    assert rw.evaluate(scores, {0: {3}, 1: {0}}, "mrr", train={0: [8]})["mrr"] == 1.0


def test_a_list_that_begins_below_the_first_rank_has_a_gap():
    ranks = [4, 5, 1, 2]
    lists = LISTS.drop("score").with_columns(rank=pl.Series(ranks))
    assert rw.evaluate(lists, TRUTH, "mrr").counts["lists_with_rank_gaps"] == 1
    assert rw.evaluate(lists[2:], TRUTH, "mrr").counts.get("lists_with_rank_gaps", 0) == 0


def test_exact_ranks_are_always_of_the_pairs_of_the_ground_truth():
    scores = np.array([[0.1, 0.5, 0.3], [0.4, 0.2, 0.9]])
    truth = {0: [1], 1: [0, 2]}
    ranks = rw.rank_relevant(scores, truth=truth)
    result = rw.evaluate(ranks, truth, "mrr")
    assert result.provenance["doubts"] == []
