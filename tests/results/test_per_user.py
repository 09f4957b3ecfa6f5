"""Tables of per-user values: as other tools write them, and as an evaluation wrote them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, MetricError
from rankwise.results.storage import open_result
from rankwise.tables.table import INFERRED, Protocol

TRUTH = {user: {user % 7, 9} for user in range(60)}
LISTS = {user: [9, user % 7] if user % 3 else [user % 5, 9] for user in TRUTH}
WEIGHTS = {user: 0.1 + (user * 37 % 11) for user in TRUTH}


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_weights_come_back_with_the_values(tmp_path, form):
    weighted = rw.evaluate(LISTS, TRUTH, ["ndcg@2", "recall@1"], weights=WEIGHTS)
    path = tmp_path / f"users.{form}"
    getattr(weighted.per_user, f"write_{form}")(path)
    back = open_result(path)
    assert dict(back) == dict(weighted)
    assert set(back.kinds.values()) == {"weighted mean"}
    assert any("users weighted by column 'weight'" in note for note in back.notes)
    assert dict(rw.evaluate(LISTS, TRUTH, "ndcg@2")) != dict(back)


def test_users_without_a_value_have_no_weight():
    table = pl.DataFrame(
        {"user": ["a", "b", "c"], "ndcg@5": [1.0, 0.0, None], "weight": [1.0, 3.0, 100.0]}
    )
    assert rw.from_per_user(table)["ndcg@5"] == 0.25


@pytest.mark.parametrize("weight", [[1.0, -2.0], [1.0, None], [1.0, float("inf")], ["x", "y"]])
def test_a_weight_is_a_number_of_0_or_more(weight):
    with pytest.raises(ColumnError, match="weight"):
        rw.from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@5": [0.5, 1.0], "weight": weight}))


def test_a_request_without_a_weight_is_named():
    table = pl.DataFrame(
        {"user": [1, 1], "request": [1, 2], "ndcg@5": [0.5, 1.0], "weight": [1.0, None]}
    )
    with pytest.raises(ColumnError, match="user 1, request 2") as caught:
        rw.from_per_user(table)
    assert caught.value.found == "None (1 such requests)"


def test_a_sum_over_users_comes_back_as_a_sum():
    result = rw.evaluate(LISTS, TRUTH, "true_positives@2")
    back = rw.from_per_user(result.per_user)
    assert (dict(back), back.kinds) == (dict(result), result.kinds)


def test_a_metric_that_is_no_mean_over_users_is_named():
    scores = {user: {item: 3.0 + item % 2 for item in (1, 2, 3)} for user in range(9)}
    ratings = {
        user: {item: 1 + (user + item) % 5 for item in (1, 2, 3)[: 1 + user % 3]}
        for user in range(9)
    }
    result = rw.evaluate(scores, ratings, "rmse")
    back = rw.from_per_user(result.per_user)
    assert back["rmse"] != result["rmse"]
    assert [note for note in back.notes if note.startswith("check: ") and "rmse" in note]


def test_the_label_of_sampled_candidates_comes_back():
    table = pl.DataFrame(
        {"user": [1, 2], "ndcg@5": [0.5, 1.0], "label": ["sampled (m=100, seed=42)"] * 2}
    )
    back = rw.from_per_user(table)
    assert back.label == "sampled (m=100, seed=42)"
    assert "sampled (m=100, seed=42)" in repr(back)
    with pytest.raises(ColumnError, match="one label"):
        rw.from_per_user(
            table.with_columns(pl.Series("label", ["sampled (m=100)", "sampled (m=50)"]))
        )


def test_results_without_a_common_metric_are_told_apart_from_weighted_ones():
    at_3, at_5 = (rw.evaluate(LISTS, TRUTH, f"ndcg@{k}") for k in (3, 5))
    with pytest.raises(MetricError, match="no metric in common") as error:
        rw.compare(at_3, at_5)
    assert "cut-offs and parameters" in str(error.value)
    assert "jackknife" not in str(error.value)
    weighted = rw.evaluate(LISTS, TRUTH, "ndcg@5", weights=WEIGHTS)
    with pytest.raises(MetricError, match="can be compared") as error:
        rw.compare(weighted, weighted)
    assert "its mean is weighted (evaluate with jackknife=64)" in str(error.value)
    other = {user: [9] for user in TRUTH}
    pair = [
        rw.evaluate(lists, TRUTH, "ndcg@5", weights=WEIGHTS, jackknife=16)
        for lists in (LISTS, other)
    ]
    row = rw.compare(*pair).table.row(0, named=True)  # as the hint says
    assert np.isfinite([row["low"], row["high"]]).all()


VALUES = pd.DataFrame({"user": [7, 5, 9], "ndcg@10": [0.5, 1.0, 0.25]})


def saved(folder):
    """Return the table in every form in which pandas writes its index."""
    VALUES.to_csv(folder / "a.csv")
    VALUES.to_csv(folder / "b.csv", index_label="index")
    VALUES.reset_index().to_parquet(folder / "c.parquet")
    VALUES[VALUES["ndcg@10"] < 1].pipe(lambda frame: pd.concat([VALUES.iloc[[1]], frame])).to_csv(
        folder / "d.csv"
    )
    pd.read_csv(folder / "a.csv").to_csv(folder / "e.csv", index=False)
    VALUES.reset_index().to_json(folder / "f.json", orient="records")
    pl.from_pandas(VALUES).with_row_index().write_csv(folder / "g.tsv", separator="\t")
    return sorted(folder.iterdir())


def test_numbers_of_rows_are_no_metric(tmp_path):
    for path in saved(tmp_path):
        result = rw.from_per_user(path)
        assert dict(result.values) == {"ndcg@10": pytest.approx(1.75 / 3)}, path.name
        assert "not read: " in result.notes[-1]
    comparison = rw.compare(
        {path.name: rw.from_per_user(path) for path in tmp_path.iterdir()}, force=True
    )
    assert {row["metric"] for row in comparison.table.to_dicts()} == {"ndcg@10"}


def test_a_column_of_values_without_a_name_is_refused(tmp_path):
    VALUES.rename(columns={"ndcg@10": ""}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ColumnError, match="has no name"):
        rw.from_per_user(tmp_path / "a.csv")


def test_a_metric_called_index_that_repeats_is_a_metric():
    assert rw.from_per_user(pl.DataFrame({"user": [1, 2], "index": [0.5, 0.5]}))["index"] == 0.5


@pytest.mark.parametrize("power", [1.0, 0.75, 2.5, 1e-05])
@pytest.mark.parametrize("replacement", [True, False])
def test_every_part_of_a_label_is_read(power, replacement):
    protocol = Protocol("sampled", 100, 42, "popularity", replacement, power=power)
    assert Protocol.of_label(protocol.label) == protocol


@pytest.mark.parametrize(
    ("label", "protocol"),
    [
        ("sampled (m=7)", Protocol("sampled", 7)),
        ("sampled (m=7, seed=0)", Protocol("sampled", 7, 0)),
        ("sampled (m=7, by popularity)", Protocol("sampled", 7, by="popularity")),
        ("looks sampled (m=7)", Protocol(INFERRED, 7)),
        ("", Protocol("catalogue")),
    ],
)
def test_a_label_says_what_is_known_of_a_sample_alone(label, protocol):
    assert protocol.label == label
    assert Protocol.of_label(label) == (protocol if label else None)


@pytest.mark.parametrize("beside", [{}, {"ndcg@10": [0.5, 0.25, 0.0]}])
def test_a_column_that_names_no_metric_is_shown_exported_and_loaded(beside, tmp_path):
    table = pl.DataFrame({"user": [1, 2, 3], "clicks": [0.25, 0.5, 0.75]} | beside)
    result = rw.from_per_user(table)
    assert re.search(r"^clicks +0\.5000", repr(result), flags=re.MULTILINE)
    assert result.scores.filter(metric="clicks").select("value", "users").row(0) == (0.5, 3)
    assert "clicks,,,0.5,3" in result.export("csv")
    assert "clicks" in result.export("markdown")
    assert "clicks" in result.export("latex")

    loaded = rw.load(result.save(tmp_path / "saved"))
    assert repr(loaded) == repr(result)
    other = rw.from_per_user(table.with_columns(clicks=pl.col("clicks") / 2))
    compared = rw.compare({"a": result, "b": other}, metrics="clicks")
    again = rw.Comparison.load(compared.save(tmp_path / "compared"))
    assert again.table.equals(compared.table, null_equal=True)
