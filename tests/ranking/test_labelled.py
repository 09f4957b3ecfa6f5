"""Frames of scores: rows and columns have the ids that label them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import InputError, RankwiseError, ScoreError

SCORES = np.array([[0.1, 0.9, 0.5], [0.8, 0.2, 0.4]])
TRUTH = {"ann": {20}, "bob": {10}}
FRAMES = {
    "pandas": pd.DataFrame(SCORES, index=["ann", "bob"], columns=[10, 20, 30]),
    "pandas with a user column": pd.DataFrame(SCORES, columns=[10, 20, 30]).assign(
        user_id=["ann", "bob"]
    ),
    "polars": pl.DataFrame(SCORES, schema=["10", "20", "30"]).with_columns(
        user=pl.Series(["ann", "bob"])
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_perfect_model_is_perfect(name):
    assert rw.evaluate(rw.rank(FRAMES[name], 1), TRUTH, "recall@1")["recall@1"] == 1.0
    ranks = rw.rank_relevant(FRAMES[name], truth=TRUTH)
    assert rw.evaluate(ranks, TRUTH, "mrr")["mrr"] == 1.0


def test_without_labels_rows_and_columns_are_numbered():
    expected = rw.rank(SCORES, 2).frame
    for frame in (pd.DataFrame(SCORES), pl.DataFrame(SCORES)):
        assert rw.rank(frame, 2).frame.equals(expected)
    named = rw.rank(FRAMES["pandas"], 2, user_ids=[0, 1], item_ids=[0, 1, 2]).frame
    assert named.equals(expected)


def test_a_table_of_rows_is_no_matrix():
    rows = pl.DataFrame({"user": [1], "item": [2], "score": [0.5]})
    for frame in (rows, rows.to_pandas()):
        with pytest.raises(InputError, match="is not a score matrix"):
            rw.rank(frame, 1)


def test_labels_of_factors():
    users = pd.DataFrame([[1, 0.0], [0, 1], [0.5, 0.4]], index=[2, 1, 0])
    items = pd.DataFrame([[1, 0.0], [0, 1], [0.3, 0.3]], index=[1, 2, 0])
    truth = {2: {1}, 1: {2}, 0: {1}}
    assert rw.evaluate(rw.rank(users=users, items=items, k=1), truth, "mrr")["mrr"] == 1.0
    named = pl.from_pandas(users).with_columns(user_id=pl.Series([2, 1, 0]))
    listed = rw.rank(users=named, items=items, k=1)
    assert rw.evaluate(listed, truth, "mrr")["mrr"] == 1.0
    plain = rw.rank(users=users, items=items, k=1, user_ids=[0, 1, 2], item_ids=[0, 1, 2])
    assert plain.frame["item"].to_list() == [0, 1, 0]


def test_an_item_of_one_letter_is_no_column_of_users():
    frame = pd.DataFrame([[3, 9], [5, 2]], index=["x", "y"], columns=["t", "u"])
    assert rw.rank(frame, 1).frame["item"].to_list() == ["u", "t"]


def test_scores_beyond_the_floats():
    scores = np.array([[2**53, 2**53 + 1]])
    with pytest.raises(InputError, match="too large to be told apart"):
        rw.rank(scores, 1)
    assert rw.rank(np.array([[2**53, 2**60]]), 1).frame["item"].to_list() == [1]


@pytest.mark.parametrize("kind", ["float64", "Float64", "double[pyarrow]"])
def test_floats_of_any_kind_of_pandas_are_scores_and_factors(kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    scores = pd.DataFrame([[0.9, 0.1, 0.3], [0.2, 0.8, 0.5]]).astype(kind)
    truth = {0: {0}, 1: {2}}
    assert rw.evaluate(rw.rank(scores, 2), truth, "mrr@2")["mrr@2"] == 0.75
    scores[1] = pd.Series([None, 0.8], dtype=kind)
    with pytest.raises(ScoreError, match="a score is NaN or infinite"):
        rw.rank(scores, 2)
    with pytest.raises(RankwiseError, match="numbers"):
        rw.rank(scores.astype(object).fillna("none"), 2)
