"""Predicted and true ratings from every source."""

from __future__ import annotations

from collections import namedtuple

import pandas as pd
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, EmptyError, InputError, RankwiseError, ScoreError

Prediction = namedtuple("Prediction", ["uid", "iid", "r_ui", "est", "details"])
ROWS = [("ann", 1, 4.5, 5.0), ("ann", 2, 4.0, 2.0), ("ann", 3, 3.0, 4.0), ("bob", 1, 2.0, 1.0)]
FRAME = pl.DataFrame(ROWS, schema=["userId", "movieId", "prediction", "rating"], orient="row")
CELLS = ["rmse", "mae", "recall@1", "precision@2"]


def file(tmp_path, frame):
    frame.write_csv(tmp_path / "rated.csv")
    return tmp_path / "rated.csv"


@pytest.mark.parametrize(
    "source",
    [
        lambda _: FRAME,
        lambda _: FRAME.lazy(),
        lambda _: pd.DataFrame(FRAME.to_dicts()),
        lambda _: FRAME.to_dict(as_series=False),
        lambda _: [Prediction(u, i, true, est, {}) for u, i, est, true in ROWS],
        lambda _: ((u, i, true, est) for u, i, est, true in ROWS),
        lambda _: {"ann": [(4.5, 5.0), (4.0, 2.0), (3.0, 4.0)], "bob": [(2.0, 1.0)]},
        lambda folder: file(folder, FRAME),
        lambda folder: str(file(folder, FRAME)),
    ],
)
def test_every_source(source, tmp_path):
    result = rw.evaluate_ratings(source(tmp_path), CELLS)
    assert result["mae"] == pytest.approx((0.5 + 2 + 1 + 1) / 4)
    assert result["recall@1"] == 0.5
    assert result["precision@2"] == 0.5
    assert result.counts["users_without_relevant_items"] == 1


def test_columns_named_by_the_caller():
    frame = FRAME.rename({"prediction": "yhat", "rating": "y"})
    result = rw.evaluate_ratings(frame, CELLS, columns={"score": "yhat", "relevance": "y"})
    assert result["mae"] == pytest.approx(4.5 / 4)
    with pytest.raises(ColumnError, match="predicted"):
        rw.evaluate_ratings(frame)


def test_errors_need_nothing_relevant():
    low = FRAME.with_columns(pl.col("rating") / 10)
    assert rw.evaluate_ratings(low, ["rmse", "mae"])["mae"] > 0
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.evaluate_ratings(low, ["rmse", "ndcg@2"])


def test_a_file_with_a_word_for_a_number(tmp_path):
    (tmp_path / "rated.csv").write_text("user,item,prediction,rating\n1,2,3.5,4\n1,3,high,2\n")
    with pytest.raises(InputError, match="not a number") as raised:
        rw.evaluate_ratings(tmp_path / "rated.csv")
    assert "line 3" in str(raised.value)


def test_groups():
    users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    result = rw.evaluate_ratings(FRAME, "mae", users=users, by="group")
    assert result.slices["mae"].to_list() == pytest.approx([3.5 / 3, 1.0])


@pytest.mark.parametrize(
    ("error", "source"),
    [
        (InputError, 5),
        (InputError, [(1, 2)]),
        (InputError, [Prediction("ann", 1, None, 3.0, {})]),
        (InputError, {"ann": [3.0]}),
        (InputError, {"ann": [("x", 3.0)]}),
        (InputError, {"ann": [(1.0, 3.0)], "bob": []}),
        (InputError, {"ann": None}),
        (InputError, {"ann": 5}),
        (InputError, {"user": [1, 2], "item": [1], "prediction": [1.0], "rating": [2.0]}),
        (
            InputError,
            pd.DataFrame(
                {"user": [1, "a"], "item": [1, 1], "est": [1.0, 2.0], "rating": [1.0, 2.0]}
            ),
        ),
        (EmptyError, []),
        (EmptyError, {}),
        (ColumnError, FRAME.drop("rating")),
        (ColumnError, FRAME.with_columns(est=1.0)),
        (ScoreError, FRAME.with_columns(prediction=float("nan"))),
        (InputError, FRAME.with_columns(rating=pl.lit("high"))),
        (RankwiseError, pl.concat([FRAME, FRAME])),
    ],
)
def test_bad_input(error, source):
    with pytest.raises(error):
        rw.evaluate_ratings(source)


@pytest.mark.parametrize("metric", ["rmse", "precision@1", "log_loss"])
def test_a_table_without_rows_is_said_to_be_empty(metric):
    columns = {"user": pl.Int64, "item": pl.Int64, "prediction": pl.Float64, "rating": pl.Float64}
    with pytest.raises(EmptyError, match="is empty"):
        rw.evaluate_ratings(pl.DataFrame(schema=columns), metric)
