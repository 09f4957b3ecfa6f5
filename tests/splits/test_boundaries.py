"""What a second reader broke, each as a case."""

from __future__ import annotations

import itertools
import json
import pickle
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise as rw
from rankwise import splits
from rankwise.errors import (
    ColumnError,
    FileError,
    InputError,
    OutputError,
    ParameterError,
    RankwiseError,
    ScoreError,
)

ROWS = {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 4], "timestamp": [1, 5, 9, 15, 20, 31]}
TABLE = pl.DataFrame(ROWS)
DAYS = TABLE.with_columns(
    timestamp=pl.Series([datetime(2020, 1, day) for day in ROWS["timestamp"]])
)


def daily(count, start=datetime(2019, 6, 1)):
    times = [start + timedelta(days=day) for day in range(count)]
    return pl.DataFrame({"user": [1] * count, "item": range(count), "timestamp": times})


def test_dates_do_not_overflow():
    split = splits.GlobalTime(last="14d").split(DAYS)
    assert split.found["moment"] == "2020-01-17T00:00:00.000001"


@pytest.mark.parametrize("days", [305, 306, 307, 457])  # the last row on any day of a month
def test_windows_of_months_leave_no_day_out(days):
    table = daily(days)
    folds = splits.TimeWindows("1mo", 6).split(table)
    windows = [split.found["window"] for split in folds]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(windows))
    assert folds[-1].masks["test"][-1]
    tested = np.sum([split.masks["test"] for split in folds], axis=0)
    assert tested.max() == 1
    assert (np.diff(tested) >= 0).all()  # from the first window on every day


def test_users_held_out_whole_come_back_from_their_card():
    rule = splits.UserHoldout(0.3, fold_in=None)
    assert splits.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    assert "fold_in=None" in repr(rule)


@pytest.mark.parametrize(
    "rule", [splits.GlobalTime(share=0.4, target="last"), splits.SuccessiveTargets(share=0.4)]
)
def test_our_own_splits_in_time_pass_their_audit(rule):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"user": rng.integers(0, 9, 99), "item": range(99), "timestamp": range(99)}
    )
    split = rule.split(table)
    split = split[1] if isinstance(split, splits.Folds) else split
    found = rw.audit(split)
    assert {found[code].status for code in ("L1", "L2", "L3", "L8")} == {"pass"}


def test_the_future_does_not_decide_what_is_validated():
    table = pl.DataFrame(
        {
            "user": [1] * 6 + [2] * 4,
            "item": [1, 2, 3, 3, 5, 6, 1, 2, 4, 7],
            "timestamp": [1, 2, 3, 10, 11, 12, 1, 2, 3, 13],
        }
    )
    rule = splits.GlobalTime(at=10, target="last", seen="drop", validation=splits.LeaveOut(1))
    found = rule.split(table).found
    assert found["validation_rows_seen_dropped"] == 0
    assert found["test_rows_seen_dropped"] == 0


def test_rule_and_card_agree_on_who_is_cold():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"user": np.arange(80) % 10, "item": rng.integers(0, 30, 80)})
    fold_in = splits.Holdout(0.5, per="user", seed=1)
    split = splits.UserHoldout(0.5, fold_in=fold_in, seed=1).split(table)
    cold = split.card["cold"]["test"]
    assert cold["users"] == 0  # they have a history
    items = set(split.test["item"]) - set(split.train["item"])
    assert cold["items"] == len(items) > 0
    assert set(split.users["history"]) == {"warm"}
    dropped = splits.UserHoldout(0.5, fold_in=fold_in, seed=1, cold_items="drop").split(table)
    rows = int(split.test["item"].is_in(list(items)).sum())
    assert dropped.found["test_rows_of_cold_items_dropped"] == rows


@pytest.mark.parametrize(
    "extra",
    [
        [3, 1, 2, 7],
        [0.5, 1.0, 2.5, 3.0],
        [True, False, True, False],
        [9, None, 3, 1],
        ["b", "a", "007", "d"],
    ],
)
def test_other_columns_decide_alike_in_a_file(tmp_path, extra):
    table = pl.DataFrame({"user": [1] * 4, "item": [2] * 4, "timestamp": [3] * 4, "extra": extra})
    table.write_csv(tmp_path / "rows.csv")
    for rule in (splits.LeaveOut(1), splits.LeaveOut(1, "random"), splits.Holdout(0.5)):
        mask = rule.split(table).masks["test"]
        assert (rule.split(tmp_path / "rows.csv").masks["test"] == mask).all()
        other = table.select("extra", "timestamp", "item", "user")
        assert (rule.split(other).masks["test"] == mask).all()
        assert (rule.split(table.to_pandas()).masks["test"] == mask).all()


def test_strata_of_a_file_are_numbers(tmp_path):
    ages = [9, 10, 20, 100] * 5
    table = pl.DataFrame({"user": range(20), "item": [1] * 20, "age": ages})
    table.write_csv(tmp_path / "rows.csv")
    for mine, other in zip(
        splits.StratifiedKFold(5, by="age").split(table),
        splits.StratifiedKFold(5, by="age").split(tmp_path / "rows.csv"),
        strict=True,
    ):
        assert (mine.masks["test"] == other.masks["test"]).all()


def test_text_that_is_a_number_in_a_file(tmp_path):
    table = TABLE.with_columns(pl.col("user", "item").cast(pl.String))
    table.write_csv(tmp_path / "rows.csv")
    rule = splits.Holdout(0.5, seed=2)
    assert rule.split(tmp_path / "rows.csv").card["id"] == rule.split(table).card["id"]


def test_nanoseconds_count():
    times = pl.Series([1, 2, 3, 4]).cast(pl.Datetime("ns"))
    table = pl.DataFrame({"user": [1] * 4, "item": [1] * 4, "timestamp": times})
    for rule in (splits.LeaveOut(1, "random"), splits.Holdout(0.5)):
        test = rule.split(table).test
        assert test.sort("timestamp").equals(rule.split(table.reverse()).test.sort("timestamp"))
    ids = {splits.Holdout(0.5, seed=seed).split(table).card["id"] for seed in range(9)}
    assert len(ids) > 1


def test_audit_reads_numbers_in_files(tmp_path):
    train, test = TABLE.filter(pl.col("timestamp") < 15), TABLE.filter(pl.col("timestamp") >= 15)
    counts = TABLE.group_by("item").len("raters")
    counts.write_csv(tmp_path / "items.csv")
    assert rw.audit(train, test, items=tmp_path / "items.csv")["L13"].status == "fail"
    pl.DataFrame({"item": [1, 4], "timestamp": [99, 1], "first": [10**9, 0]}).write_csv(
        tmp_path / "features.csv"
    )
    found = rw.audit(train, test, features=tmp_path / "features.csv")
    assert (found["L13"].status, found["L13"].value) == ("fail", 1)


@pytest.mark.parametrize("vocabulary", [{"users": [1]}, {}, [1, 2], {"user": [1, "a"]}])
def test_a_vocabulary_that_says_nothing(vocabulary):
    with pytest.raises(ParameterError):
        rw.audit(TABLE, TABLE, vocabulary=vocabulary)


def test_units_go_along(tmp_path):
    split = splits.GlobalTime(share=0.34).split(TABLE, time_unit="ms")
    assert "span 0.011 s" in rw.audit(split)["L9"].said
    again = splits.read(split.save(tmp_path / "split"))
    assert again.rows.time.unit == "ms"
    features = pl.DataFrame({"item": [1], "time": [14]})
    found = rw.audit(split, features=features, time_unit="ms")
    assert found["L13"].status == "pass"
    fine = TABLE.with_columns(pl.col("timestamp").cast(pl.Datetime("ns")))
    whole = fine.with_columns(
        timestamp=(pl.col("timestamp").cast(pl.Int64) * 1000).cast(pl.Datetime("ns"))
    )
    assert rw.audit(fine.head(3), whole.tail(3), claim="time")["L3"].status == "pass"


def test_parts_with_different_clocks(tmp_path):
    TABLE.write_parquet(tmp_path / "train.parquet")
    DAYS.write_parquet(tmp_path / "test.parquet")
    with pytest.raises(FileError, match="measure time in different ways"):
        splits.read(tmp_path)


def test_what_is_said_is_what_was_used():
    assert splits.GlobalTime(at=8.5).split(TABLE).found["moment"] == 8.5
    with pytest.raises(ParameterError, match="has its own test part"):
        rw.audit(splits.LeaveOut(1).split(TABLE), TABLE)
    from rankwise.splits.interactions import rounded

    assert rounded(4e-7, 10_000_000) == 4
    assert rounded(0.9999997, 10_000_000) == 9_999_997
    drawn = [
        [
            split.masks["test"].tolist()
            for split in splits.LeavePOut(2, draws=5, seed=seed).split(TABLE)
        ]
        for seed in (1, -1)
    ]
    assert drawn[0] != drawn[1]


def test_numpy_numbers_are_numbers():
    assert len(splits.KFold(np.int64(2)).split(TABLE)[0].test) == 3
    splits.Holdout(0.5, seed=np.uint8(3)).split(TABLE)
    splits.LeavePOut(2, draws=3, seed=np.int64(3)).split(TABLE)
    next(splits.leave_one_out_cv(np.ones((2, 2)), seed=np.int64(3)))
    assert (
        splits.GlobalTime(last=np.timedelta64(10, "D"))
        .split(DAYS)
        .found["moment"]
        .startswith("2020-01-21")
    )


def reader(_):
    return pa.RecordBatchReader.from_batches(TABLE.to_arrow().schema, TABLE.to_arrow().to_batches())


def test_a_stream_is_read_once():
    split = splits.LeaveOut(1).split(reader(None))
    assert len(split.train) + len(split.test) == 6


@pytest.mark.parametrize(
    "go",
    [
        lambda: splits.GlobalTime(at=float("nan")).split(TABLE),
        lambda: splits.GlobalTime(at=float("inf")).split(TABLE),
        lambda: splits.GlobalTime(at=9, until=float("nan")).split(TABLE),
        lambda: splits.GlobalTime(last=float("inf")).split(TABLE),
        lambda: splits.GlobalTime(last="99999999999y").split(TABLE),
        lambda: splits.GlobalTime(share=0.3, gap="99999999mo").split(TABLE),
        lambda: splits.GlobalTime(last="99999999999999999d").split(DAYS),
        lambda: splits.LeaveOut(filters=splits.KCore(2)),
        lambda: splits.LeaveOut(filters=["x"]),
        lambda: splits.StratifiedKFold(by=None),
        lambda: splits.from_dict(None),
        lambda: splits.from_dict({"rule": "LeaveOut", "filters": ["KCore"]}),
        lambda: splits.from_dict({"rule": "LeaveOut", "filters": 5}),
        lambda: splits.from_dict({"rule": "LeaveOut", "filters": [{"filter": "MinRating"}]}),
        lambda: splits.from_dict({"rule": ["KFold"]}),
        lambda: splits.LeaveOut(1).split(pd.DataFrame({"user": [1], "item": [2], "time": [None]})),
        lambda: splits.LeaveOut(1).split(
            pd.DataFrame({"user": [1, 2], "item": [2, 2], "time": [1, "a"]})
        ),
        lambda: splits.GlobalTime(last="1mo").split(TABLE.with_columns(timestamp=pl.lit(1e300))),
        lambda: splits.leave_one_out_cv([[1, 1], [1]]),
        lambda: splits.time_based_split(TABLE, None),
        lambda: rw.audit(TABLE, TABLE, features=5),
        lambda: rw.audit(TABLE, TABLE, stages=[TABLE]),
        lambda: rw.audit(TABLE, TABLE, limits={"cold_rows": 1}),
        lambda: rw.audit(TABLE, TABLE, runs={"run": [1], "part": [1, 2]}),
    ],
)
def test_errors_are_our_own(go):
    with pytest.raises(RankwiseError):
        go()


def test_odd_columns_are_split_too():
    table = TABLE.with_columns(
        user=pl.lit(1),
        item=pl.lit(1),
        timestamp=pl.lit(1),
        length=pl.Series([timedelta(days=day) for day in range(6)]),
        tags=pl.Series([[str(day)] for day in range(6)]),
    )
    test = splits.LeaveOut(2).split(table).test
    assert test.sort("length").equals(splits.LeaveOut(2).split(table.reverse()).test.sort("length"))
    wide = TABLE.with_columns(pl.col("user").cast(pl.Int128))
    assert len(splits.LeaveOut(1).split(wide).test) == 2


def test_what_text_would_not_give_back(tmp_path):
    for user in (" a", "", "a\tb", 'a"b'):
        table = TABLE.with_columns(user=pl.lit(user))
        split = splits.Holdout(0.5).split(table)
        plain = user.strip() == user != ""  # CSV quotes tabs and quotation marks
        for form in ("recbole", "elliot", "warprec") if plain else ("csv", "recbole", "elliot"):
            with pytest.raises(OutputError, match="cannot be written as text"):
                split.save(tmp_path / "out", format=form)
            assert not (tmp_path / "out").exists()
    tags = TABLE.with_columns(tags=pl.Series([["a"]] * 6))
    with pytest.raises(OutputError, match="'tags' cannot be written as text"):
        splits.LeaveOut(1).split(tags).save(tmp_path / "out", format="csv")


@pytest.mark.parametrize("change", [{"card_version": 99}, {"rule": "LeaveOut"}, {"found": None}])
def test_cards_that_are_none(tmp_path, change):
    folder = splits.LeaveOut(1).split(TABLE).save(tmp_path / "out")
    card = json.loads((folder / "split.json").read_text())
    (folder / "split.json").write_text(json.dumps(card | change))
    with pytest.raises(FileError):
        splits.read(folder)


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ((TABLE, TABLE.head(0)), "test part"),
        ((TABLE.head(0), TABLE), "train part"),
        ((TABLE, TABLE, TABLE.head(0)), "validation part"),
        ((TABLE, TABLE, None, TABLE.head(0)), "recommendations"),
        ((TABLE, TABLE.rename({"user": "who"})), "test part"),
        (
            (TABLE, TABLE, TABLE.with_columns(user=pl.lit(None, pl.Int64))),
            "validation part, column 'user', row 1",
        ),
        (
            (TABLE, TABLE.with_columns(timestamp=pl.lit("soon"))),
            "test part, column 'timestamp', row 1",
        ),
    ],
)
def test_errors_of_an_audit_name_the_part(parts, where):
    with pytest.raises(InputError) as caught:
        rw.audit(*parts)
    assert caught.value.where == where


def test_errors_of_an_audit_name_the_file_of_a_part(tmp_path):
    TABLE.rename({"user": "who"}).write_csv(tmp_path / "test.csv")
    with pytest.raises(InputError) as caught:
        rw.audit(TABLE, tmp_path / "test.csv")
    assert caught.value.where == str(tmp_path / "test.csv")


@pytest.mark.parametrize(
    ("times", "row", "value"),
    [
        (["1", "2", "NA", "4"], 3, "NA"),
        (["2020-01-01", "2020-01-02T10:00:00", "n/a", "n/a"], 3, "n/a"),
        (["2020-01-01", "2020-01-02", "2020-01-03", "soon"], 4, "soon"),
        ([" 17.5", "18", "18.5", ""], 4, ""),
    ],
)
def test_the_row_whose_time_is_none_is_named(times, row, value):
    table = pl.DataFrame({"user": [1] * 4, "item": range(4), "timestamp": times})
    with pytest.raises(ColumnError, match="neither a number nor a date") as caught:
        splits.LeaveOut(1).split(table)
    assert caught.value.where == f"interactions, column 'timestamp', row {row}"
    assert repr(value) in caught.value.found


def test_missing_ratings_stop_filters_alone(tmp_path):
    table = TABLE.with_columns(rating=pl.Series([1.0, float("nan"), 3.0, None, 5.0, 4.0]))
    files = {
        "rows.csv": "user,item,timestamp,rating\n1,1,1,1\n1,2,5,\n1,3,9,nan\n",
        "rows.parquet": None,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text) if text else table.write_parquet(tmp_path / name)
    for source in (
        table,
        table.to_pandas(),
        table.to_arrow(),
        *(tmp_path / name for name in files),
    ):
        split = splits.GlobalTime(share=0.3).split(source)
        assert len(split.train)
        assert rw.audit(split)["L1"].value == 0
        for rule in (splits.MinRating(2), splits.Deduplicate("highest")):
            with pytest.raises(
                ScoreError, match="a rating is null, NaN or infinite, and this filter"
            ) as caught:
                rule.apply(source)
            assert "column 'rating', user 1" in caught.value.where
        splits.Deduplicate("first").apply(source)
    strata = splits.StratifiedKFold(2, "rating").split(table)
    assert sum(len(split.test) for split in strata) == 6
    known = rw.evaluate({2: [4]}, splits.GlobalTime(at=31).split(table), "recall@1")
    assert known["recall@1"] == 1.0
    with pytest.raises(ScoreError, match="relevance is null"):  # the relevance of test rows is read
        rw.evaluate({2: [1]}, splits.GlobalTime(at=15).split(table), "recall@1")
    (tmp_path / "text.csv").write_text("user,item,timestamp,rating\n1,1,1,\n1,2,5,good\n")
    with pytest.raises(FileError, match="not a number") as caught:
        splits.LeaveOut(1).split(tmp_path / "text.csv")
    assert "line 3" in caught.value.where


def test_sessions_of_two_types_and_runs_without_a_purpose():
    train = TABLE.with_columns(session=pl.lit(1))
    test = TABLE.with_columns(session=pl.lit("1"))
    assert rw.audit(train, test)["L6"].status == "fail"
    runs = pl.DataFrame({"run": [1, 2], "part": ["test", "test"], "purpose": ["report", None]})
    assert rw.audit(train, test, runs=runs)["L14"].value == 1


def test_other_columns_may_be_called_like_roles_of_other_tables():
    table = TABLE.with_columns(weight=pl.lit("heavy"), rank=pl.lit(None, pl.Int64))
    assert splits.LeaveOut(1).split(table).test.columns == table.columns


def test_a_split_stands_for_its_training_where_training_is_asked_for():
    split = splits.GlobalTime(at=15).split(TABLE)
    lists = {2: [1, 3]}
    by_hand = rw.evaluate(lists, split.test, "novelty@2", train=split.train)
    assert rw.evaluate(lists, split.test, "novelty@2", train=split).values == by_hand.values
    scores = np.ones((3, 5))
    assert rw.rank(scores, k=4, exclude=split).frame.equals(
        rw.rank(scores, k=4, exclude=split.train).frame
    )
    with pytest.raises(ParameterError, match="a split can be passed as truth or train"):
        rw.evaluate(split, split.test, "novelty@2", train=split)


def test_files_of_text_are_saved_as_they_were(tmp_path):
    tweets = [10**18 + at for at in range(6)]
    table = TABLE.with_columns(
        tweet=pl.Series(tweets), version=pl.lit("1.10"), phone=pl.lit("+49170"), odd=pl.lit("1e500")
    )
    table.write_csv(tmp_path / "rows.csv")
    split = splits.LeaveOut(1).split(tmp_path / "rows.csv")
    saved = pl.read_parquet(split.save(tmp_path / "out") / "train.parquet")
    assert saved["tweet"].to_list() == [
        str(tweets[at]) for at in np.flatnonzero(split.masks["train"])
    ]
    assert set(saved["version"]) == {"1.10"}
    assert set(saved["phone"]) == {"+49170"}


@pytest.mark.parametrize(
    "extra",
    [
        [datetime(2020, 1, day) for day in (4, 2, 3, 1)],
        ["0.5", "-0", "1e3", "x"],
        [10**18 + 7, 5, 10**18 + 6, 4],
    ],
)
def test_ties_are_told_apart_alike_in_a_file(tmp_path, extra):
    table = pl.DataFrame({"user": [1] * 4, "item": [2] * 4, "timestamp": [3] * 4, "extra": extra})
    table.write_csv(tmp_path / "rows.csv")
    table.to_pandas().to_csv(tmp_path / "pandas.csv", index=False)
    mask = splits.LeaveOut(2).split(table).masks["test"]
    for name in ("rows.csv", "pandas.csv"):
        assert (splits.LeaveOut(2).split(tmp_path / name).masks["test"] == mask).all()


def test_long_integer_ids_in_a_file(tmp_path):
    table = TABLE.with_columns(user=pl.col("user") + 10**18)
    table.write_csv(tmp_path / "rows.csv")
    mine, other = (splits.Holdout(0.4, seed=3).split(own) for own in (table, tmp_path / "rows.csv"))
    assert mine.card["id"] == other.card["id"]
    assert other.test["user"].dtype == pl.Int64


def test_counts_over_all_three_parts_are_found():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "user": rng.integers(0, 20, 200),
            "item": rng.integers(0, 9, 200),
            "timestamp": range(200),
            "rating": rng.integers(1, 6, 200),
        }
    )
    split = splits.GlobalTime(share=0.2, validation=splits.GlobalTime(share=0.2)).split(table)
    means = table.group_by("item").agg(mean=pl.col("rating").mean().round(2).cast(pl.Float32))
    for items in (table.group_by("item").len("pop"), means):
        assert rw.audit(split, items=items)["L13"].status == "fail"
    fair = split.train.group_by("item").agg(mean=pl.col("rating").mean().round(2), pop=pl.len())
    assert rw.audit(split, items=fair)["L13"].status == "pass"


def test_odd_ids_in_any_column_order(tmp_path):
    table = TABLE.select(
        "timestamp", pl.lit('a "title"').alias("title"), "item", user=pl.lit(" ann ")
    )
    with pytest.raises(OutputError, match="column 'user'"):
        splits.Holdout(0.5).split(table).save(tmp_path / "out", format="csv")
    fine = table.with_columns(user=pl.col("user").str.strip_chars())
    again = splits.read(splits.Holdout(0.5).split(fine).save(tmp_path / "out", format="csv"))
    assert set(again.train["title"]) == {'a "title"'}


def test_empty_parts_come_back(tmp_path):
    split = splits.GlobalTime(at=15, target="first").split(TABLE)
    for form in ("parquet", "csv"):
        again = splits.read(split.save(tmp_path / form, format=form))
        assert len(again.history) == 0
        assert list(again.masks) == list(split.masks)
        assert not rw.audit(tmp_path / form).failed


def test_columns_of_any_name_come_back(tmp_path):
    table = TABLE.rename({"user": "who", "item": "what"})
    columns = {"user": "who", "item": "what"}
    split = splits.LeaveOut(1).split(table, columns=columns)
    again = splits.read(split.save(tmp_path / "out"))
    assert again.train.columns == ["who", "what", "timestamp"]
    assert not rw.audit(tmp_path / "out").failed
    assert rw.evaluate({1: [3]}, tmp_path / "out", "recall@1").split["id"] == split.card["id"]
    (tmp_path / "out" / "split.json").unlink()
    assert rw.audit(tmp_path / "out", columns=columns)["L1"].value == 0


def test_cards_of_numpy_parameters_are_written(tmp_path):
    folds = splits.KFold(np.int64(3)).split(TABLE)
    folds.save(tmp_path / "folds")
    rules = [
        splits.LeaveOut(1, filters=[splits.KCore(np.int64(1))]),
        splits.GlobalTime(last=np.timedelta64(12, "D")),
        splits.GlobalTime(at=np.datetime64("2020-01-15")),
    ]
    for at, rule in enumerate(rules):
        split = rule.split(DAYS)
        split.save(tmp_path / str(at))
        again = splits.from_dict(
            json.loads((tmp_path / str(at) / "split.json").read_text())["rule"]
        )
        assert again.split(DAYS).card["id"] == split.card["id"]


def test_folds_go_to_other_processes(tmp_path):
    folds = splits.KFold(3).split(TABLE)
    again = pickle.loads(pickle.dumps(folds))
    assert [split.card for split in again] == [split.card for split in folds]
    read = splits.read(folds.save(tmp_path / "folds"))
    assert len(pickle.loads(pickle.dumps(read))) == 3


def test_filters_of_one_kind_are_all_counted():
    filters = [splits.MinRows(items=2), splits.MinRows(users=2)]
    split = splits.GlobalTime(at=31, filters=filters).split(TABLE)
    assert split.found["rows_filtered(MinRows)"] == split.card["input"]["rows_unused"]


@pytest.mark.parametrize(
    "go",
    [
        lambda: splits.LeaveOut(n=None),
        lambda: splits.KFold(k=None),
        lambda: splits.LeavePOut(p=None),
        lambda: splits.TimeWindows(10, None),
        lambda: splits.KCore(None),
        lambda: splits.MinRating(None),
        lambda: splits.GlobalTime(at=pd.NaT).split(DAYS),
        lambda: splits.GlobalTime(at=10**40).split(TABLE),
        lambda: splits.GlobalTime(last=10**40).split(TABLE),
        lambda: splits.GlobalTime(share=0.2, target=np.array(["first", "last"])),
        lambda: splits.KFold(per_user="no"),
        lambda: splits.UserHoldout(strong="no"),
        lambda: splits.TwoStage(share=0.2, warm_only=1),
    ],
)
def test_parameters_of_other_types(go):
    with pytest.raises(ParameterError):
        go()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.999])
def test_a_share_of_many_rows_is_exact(share):
    """Of few rows a partial sort sorts them all, and any row beyond the limit would do for it."""
    rows = pl.DataFrame({"user": np.arange(5000) % 40, "item": np.arange(5000)})
    split = splits.Holdout(share, seed=3).split(rows)
    assert len(split.test) == round(5000 * share)
    assert len(split.train) == 5000 - len(split.test)
