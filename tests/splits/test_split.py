"""What a card says of times and cold rows, and what files of other programs hold, worked by hand."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from rankwise import splits
from rankwise.errors import OutputError, ParameterError
from rankwise.splits import split as module
from rankwise.splits.split import _four_columns, future_shares, plain, torn_users

TABLE = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 3], "item": [5, 6, 7, 5, 8, 9], "timestamp": [10, 20, 40, 20, 50, 60]}
)
RULE = splits.GlobalTime(at=40)


def test_times_of_a_card_are_in_seconds():
    expected = {
        "gap_seconds": 20,
        "test_span_seconds": 20,
        "train_span_seconds": 10,
        "target_after_train_seconds": {"median": 30, "p95": 39},
        "leak_index": {"mean": 0, "max": 0},
        "share_of_users_cut_between_equal_times": 0,
    }
    card = RULE.split(TABLE, time_unit="s").card["time"]
    assert card == {"unit": "s", "unit_known_as": "given", **expected}
    dates = TABLE.with_columns(pl.from_epoch("timestamp", time_unit="s"))
    of_dates = splits.GlobalTime(at=datetime(1970, 1, 1, 0, 0, 40)).split(dates).card["time"]
    assert of_dates == {"unit": "us", "unit_known_as": "dates", **expected}


def test_a_card_counts_cold_users_items_and_rows():
    cold = RULE.split(TABLE).card["cold"]
    assert cold == {
        "test": {
            "users": 1,
            "share_of_users": 1 / 3,
            "items": 3,
            "share_of_items": 1.0,
            "rows": 3,
            "share_of_rows": 1.0,
        }
    }
    parts = RULE.split(TABLE).card["parts"]
    assert parts["train"] | {"digest": ""} == {
        "rows": 3,
        "users": 2,
        "items": 2,
        "density": 3 / 4,
        "digest": "",
        "first": 10,
        "last": 20,
    }
    assert len(parts["train"]["digest"]) == 32


def test_a_card_counts_rows_in_no_part():
    card = splits.GlobalTime(at=40, gap=25).split(TABLE).card
    assert card["input"]["rows"] == 6
    assert card["input"]["rows_unused"] == 2
    assert card["found"] == {"moment": 40, "training_ends": 15, "rows_in_gap": 2}
    assert card["known"] == {"test": ["train"]}
    both = splits.GlobalTime(at=40, validation=splits.LeaveOut(1)).split(TABLE).card
    assert both["known"] == {"test": ["train", "validation"], "validation": ["train"]}


def test_future_shares_count_training_rows_after_each_test_row():
    train = np.array([4, 1, 3, 2])
    assert future_shares(train, np.array([3, 0, 5])).tolist() == [1.0, 0.25, 0.0]
    assert future_shares(train, np.array([4, 4])).tolist() == [0.0, 0.0]
    assert future_shares(train, np.array([3, 4])).tolist() == [0.25, 0.0]


def test_users_are_torn_whose_last_training_time_is_their_first_test_time():
    table = pl.DataFrame(
        {"user": [1, 1, 2, 2, 3, 3], "item": range(6), "timestamp": [1, 1, 1, 2, -5, -5]}
    )
    train = np.array([True, False, True, False, True, False])
    for rows in (table, table.with_columns(pl.col("timestamp") + 0.5)):
        split = splits.Split(rows, splits.Holdout(0.5).split(rows).rows, {}, {})
        assert torn_users(split.rows, train, ~train) == 2 / 3
        assert torn_users(split.rows, train, ~train & (np.arange(6) > 1)) == 1 / 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.datetime64("2020-01-02"), "2020-01-02T00:00:00"),
        (np.timedelta64(2, "s"), "2000000us"),
        (timedelta(days=1), "86400000000us"),
        (date(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3), "2020-01-02T03:00:00"),
        ("a", "a"),
        (None, None),
    ],
)
def test_values_of_cards_are_plain(value, text):
    found = plain(value)
    assert (found, type(found)) == (text, type(text))


def test_files_of_other_programs_have_four_columns():
    dates = TABLE.with_columns(
        pl.from_epoch("timestamp", time_unit="s"), rating=pl.Series([1, 2, 3, 4, 5, 6])
    )
    frame = _four_columns(splits.LeaveOut(1).split(dates).rows)
    assert frame.columns == ["user", "item", "rating", "timestamp"]
    assert frame["timestamp"].to_list() == TABLE["timestamp"].to_list()
    assert frame["timestamp"].dtype == pl.Int64
    half = dates.with_columns(pl.col("timestamp") + timedelta(milliseconds=500))
    assert _four_columns(splits.LeaveOut(1).split(half).rows)["timestamp"].to_list()[0] == 10.5
    numbers = _four_columns(splits.LeaveOut(1).split(TABLE).rows)
    assert (numbers["timestamp"].to_list(), numbers["rating"].to_list()) == (
        TABLE["timestamp"].to_list(),
        [1.0] * 6,
    )
    assert _four_columns(splits.Holdout(0.5).split(TABLE.drop("timestamp")).rows).columns == [
        "user",
        "item",
        "rating",
    ]


@pytest.mark.parametrize("form", ["recbole", "elliot", "warprec"])
def test_parts_of_two_stages_have_no_files_of_other_programs(form, tmp_path):
    split = splits.TwoStage(at=40, inner_at=20, validation_share=0.5, warm_only=False).split(TABLE)
    with pytest.raises(ParameterError, match=f"{form} has no files for these parts") as caught:
        split.save(tmp_path / "out", format=form)
    assert caught.value.found == "candidate_train, ranker_train, ranker_validation"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("user", "form", "is_written"),
    [
        ("a b", "csv", True),
        ("a\tb", "csv", True),
        ('a"b', "csv", True),
        ("a\tb", "recbole", False),
        ("a\nb", "warprec", False),
        ('a"b', "elliot", False),
        (" a", "csv", False),
        ("a ", "recbole", False),
        ("", "csv", False),
    ],
)
def test_ids_that_text_would_not_give_back_are_refused(user, form, is_written, tmp_path):
    split = splits.GlobalTime(at=40).split(TABLE.with_columns(user=pl.lit(user)))
    if is_written:
        again = splits.read(split.save(tmp_path / "out", format=form))
        assert set(again.train["user"]) == {user}
        return
    with pytest.raises(OutputError, match="an id cannot be written as text") as caught:
        split.save(tmp_path / "out", format=form)
    assert caught.value.found == repr(user)


def test_users_and_items_are_warm_or_cold():
    split = RULE.split(TABLE)
    assert split.users.rows() == [(1, "warm", 2, 1), (2, "warm", 1, 1), (3, "cold", 0, 1)]
    assert split.items.rows() == [
        (5, "warm", 2, 0),
        (6, "warm", 1, 0),
        (7, "cold", 0, 1),
        (8, "cold", 0, 1),
        (9, "cold", 0, 1),
    ]


def test_parts_that_are_not_there_are_named():
    split = RULE.split(TABLE)
    for ask in (lambda: split.validation, lambda: split.known("validation")):
        with pytest.raises(ParameterError, match="no part 'validation'") as caught:
            ask()
        assert (caught.value.found, caught.value.hint) == (
            "train, test",
            "give the rule validation=",
        )
    with pytest.raises(ParameterError, match="part must be one of"):
        split.known("train")


def test_a_split_is_shown_with_its_sizes_and_what_was_found():
    assert repr(splits.GlobalTime(at=40, gap=25).split(TABLE)).splitlines() == [
        "GlobalTime(at=40, gap=25, target='all', seed=0)",
        "  train: 1 rows, 1 users, 1 items",
        "  test: 3 rows, 3 users, 3 items",
        "  moment: 40",
        "  training_ends: 15",
        "  rows_in_gap: 2",
    ]


def test_folds_are_indexed_from_both_ends(monkeypatch):
    folds = splits.KFold(3).split(TABLE)
    tests = [split.masks["test"].tolist() for split in folds]
    assert [folds[at].masks["test"].tolist() for at in (-3, -1)] == [tests[0], tests[2]]
    assert [split.masks["test"].tolist() for split in folds[::-2]] == [tests[2], tests[0]]
    for at in (3, -4):
        with pytest.raises(IndexError, match="there are 3 folds"):
            folds[at]
    assert repr(folds) == "3 folds"
    monkeypatch.setattr(module, "_MOST_FOLDS", 3)
    assert "of 3 folds" not in folds._repr_html_()
    monkeypatch.setattr(module, "_MOST_FOLDS", 2)
    assert "the first 2 of 3 folds" in folds._repr_html_()


@pytest.mark.parametrize(("n", "is_cut"), [(10, False), (11, True)])
def test_ten_folds_are_shown(n, is_cut):
    folds = splits.KFold(n).split(pl.DataFrame({"user": range(12), "item": range(12)}))
    assert (f"the first 10 of {n} folds" in folds._repr_html_()) is is_cut


def test_a_split_is_the_truth_or_what_is_known_before_it():
    split = splits.GlobalTime(at=50, validation=splits.GlobalTime(at=40)).split(TABLE)
    truth, train = split.as_table(), split.as_table("train")
    assert truth.frame["item"].to_list() == [8, 9]
    assert (truth.source, truth.split["id"]) == ("test part of interactions", split.card["id"])
    assert train.frame["item"].to_list() == [5, 6, 7, 5]
    assert train.frame["trained"].to_list() == [True, True, False, True]
    assert (train.source, train.split) == ("rows known before the test part of interactions", None)
    plain_train = RULE.split(TABLE).as_table("train")
    assert (plain_train.source, plain_train.frame.columns) == (
        "train part of interactions",
        ["user", "item", "timestamp"],
    )
