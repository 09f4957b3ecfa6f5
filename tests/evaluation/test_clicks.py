"""Clicks and their probabilities: what a click is, which rows count, and several impressions of one pair."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ColumnError, DuplicateError, EmptyError, MetricError, ParameterError

NAMES = ["log_loss", "brier", "ece", "calibration_ratio", "normalised_entropy"]
TOLD = [*NAMES, "classification"]


def shown(seed=4, n=240, people=60, rate=0.12):
    """Return rows of calibrated probabilities, where most people never click."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2 / rate, n)
    label = (rng.random(n) < p).astype(int)
    return pl.DataFrame(
        {
            "user": np.arange(n) % people,
            "item": np.arange(n) // people,
            "prediction": p,
            "label": label,
        }
    )


def parts(table):
    """Return the same rows as lists and as ground truth."""
    lists = table.select("user", "item", score="prediction")
    return lists, table.filter(pl.col("label") > 0).select("user", "item")


def test_every_row_counts_whoever_clicked():
    table = shown()
    p, y = table["prediction"].to_numpy(), table["label"].to_numpy()
    lists, clicks = parts(table)
    assert len(clicks["user"].unique()) < 40  # of 60
    result = rw.evaluate(lists, clicks, NAMES)
    assert result["log_loss"] == pytest.approx(-np.where(y == 1, np.log(p), np.log1p(-p)).mean())
    assert result["calibration_ratio"] == pytest.approx(p.sum() / y.sum())
    assert result["brier"] == pytest.approx(((p - y) ** 2).mean())
    rated = rw.evaluate_ratings(table, NAMES)
    assert dict(result.values) == dict(rated.values)
    assert "60 users with a list" in repr(result)


@pytest.mark.parametrize(
    "population", ["truth", "both", "recommended", "judged", "judged_both", "all"]
)
@pytest.mark.parametrize("beside", ["ndcg@3", "coverage@3"])
def test_neither_population_nor_neighbours_move_them(population, beside):
    lists, clicks = parts(shown())
    alone = rw.evaluate(lists, clicks, TOLD)
    other = rw.evaluate(lists, clicks, beside, population=population)
    both = rw.evaluate(lists, clicks, [*TOLD, beside], population=population)
    assert dict(both.values) == dict(alone.values) | dict(other.values)
    users = {"user": range(60), "half": ["a", "b"] * 30}
    groups = rw.evaluate(lists, clicks, TOLD, population=population, users=users, by="half").slices
    same = rw.evaluate(lists, clicks, TOLD, users=users, by="half").slices
    assert groups.equals(same)


def test_pieces_and_tensors_give_the_same_bits_or_say_no():
    torch = pytest.importorskip("torch")
    from rankwise.torch import Collection

    table = shown()
    lists, clicks = parts(table)
    whole = rw.evaluate(lists, clicks, [*TOLD, "ndcg@3"])
    evaluator = rw.Evaluator([*TOLD, "ndcg@3"], truth=clicks)
    for half in (0, 1):
        evaluator.update(lists.filter(pl.col("user") % 2 == half))
    assert dict(evaluator.result().values) == dict(whole.values)
    ordered = table.sort("user", "item")
    tensors = [
        torch.tensor(ordered[name].to_numpy(), dtype=torch.float64).reshape(60, 4)
        for name in ("prediction", "label")
    ]
    metrics = Collection(TOLD)
    metrics.update(*tensors)
    assert dict(metrics.result().values) == {name: whole[name] for name in metrics.result().values}
    refused = rw.Evaluator(["log_loss", "recall@2"], truth=clicks, population="both")
    assert dict(refused.update(lists).result().values) == dict(
        rw.evaluate(lists, clicks, ["log_loss", "recall@2"], population="both").values
    )
    with pytest.raises(MetricError, match="other users") as error:
        rw.Evaluator(["log_loss", "coverage@2"], truth=clicks)
    assert 'population="all"' in error.value.hint
    together = (
        rw.Evaluator(["log_loss", "coverage@2"], truth=clicks, population="all")
        .update(lists)
        .result()
    )
    assert together["log_loss"] == whole["log_loss"]


@given(st.integers(2, 9), st.integers(0, 30))
def test_a_click_is_a_label_above_0_whatever_the_largest(largest, at):
    table = shown()
    row = int(table["label"].arg_max())
    odd = table.with_columns(
        label=pl.when(pl.int_range(pl.len()) == row).then(largest).otherwise("label")
    )
    assert dict(rw.evaluate_ratings(odd, NAMES).values) == dict(
        rw.evaluate_ratings(table, NAMES).values
    )
    shares = table.with_columns(label=pl.col("label") * (at + 1) / 31)
    result = rw.evaluate_ratings(shares, NAMES)
    assert dict(result.values) == dict(rw.evaluate_ratings(table, NAMES).values)
    assert ("every label above 0 is a click" in repr(result)) == (at != 30)


def test_rankings_beside_clicks_read_the_same_labels_or_ask():
    table = shown()
    both = rw.evaluate_ratings(table, ["log_loss", "ndcg@3"])
    assert both["log_loss"] == rw.evaluate_ratings(table, "log_loss")["log_loss"]
    assert both["ndcg@3"] == rw.evaluate_ratings(table, "ndcg@3", threshold=1)["ndcg@3"]
    with pytest.raises(EmptyError):
        rw.evaluate_ratings(table, "ndcg@3")
    stars = table.with_columns(label=pl.col("label") * (2 + 3 * (pl.col("item") % 2)))
    with pytest.raises(ParameterError, match="click") as error:
        rw.evaluate_ratings(stars, ["log_loss", "ndcg@3"])
    assert "threshold" in error.value.hint
    high = rw.evaluate_ratings(stars, ["log_loss", "ndcg@3"], threshold=5)
    assert high["ndcg@3"] == rw.evaluate_ratings(stars, "ndcg@3")["ndcg@3"]


def test_impressions_of_one_ad_to_one_person_are_rows():
    rows = {
        "user": [3, 3, 3, 8],
        "item": [1, 1, 1, 2],
        "prediction": [0.8, 0.3, 0.4, 0.5],
        "label": [0, 1, 0, 1],
    }
    with pytest.raises(DuplicateError, match="rated twice") as error:
        rw.evaluate_ratings(rows, "log_loss")
    assert "highest prediction" in error.value.hint
    right = -sum(map(math.log, (0.2, 0.3, 0.6, 0.5))) / 4
    for name in ("impression_id", "visit"):
        result = rw.evaluate_ratings({**rows, name: [1, 2, 3, 4]}, "log_loss")
        assert result["log_loss"] == pytest.approx(right)
    result = rw.evaluate_ratings(
        {**rows, "page": [1, 2, 3, 1]}, "log_loss", columns={"request": "page"}
    )
    assert result["log_loss"] == pytest.approx(right)
    assert "column 'page'" in repr(result)
    with pytest.raises(ColumnError, match="for the request"):
        rw.evaluate_ratings(rows, "log_loss", columns={"request": "page"})


def test_rankings_of_rated_rows_are_of_requests(tmp_path):
    rows = pl.DataFrame(
        {
            "user": [5] * 6,
            "impression_id": [1, 1, 2, 2, 3, 3],
            "item": range(6),
            "prediction": [0.9, 0.7, 0.6, 0.2, 0.1, 0.3],
            "label": [1, 0, 1, 0, 1, 0],
        }
    )
    whole = rw.evaluate_ratings(rows, "list_auc", threshold=1)
    assert whole["list_auc"] == pytest.approx(2 / 3)
    rows.write_csv(tmp_path / "rows.csv")
    assert (
        rw.evaluate_ratings(tmp_path / "rows.csv", "list_auc", threshold=1)["list_auc"]
        == whole["list_auc"]
    )
    assert rw.evaluate_ratings(rows, "list_auc", threshold=1, columns={"request": None})[
        "list_auc"
    ] == pytest.approx(5 / 9)
    users = rw.evaluate_ratings(rows, "list_auc", threshold=1, mean_over="users")
    assert len(users.units) == 1
