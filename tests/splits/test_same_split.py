"""The same data in another order of rows, library, type or file gives the same split."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import split_reference as plain
from rankwise import splits
from rankwise.errors import EmptyError, RankwiseError

RULES = [
    splits.GlobalTime(share=0.3),
    splits.GlobalTime(at="best"),
    splits.GlobalTime(share=0.5, target="random", seed=3),
    splits.GlobalTime(share=0.3, validation=splits.LeaveOut(1)),
    splits.GlobalTime(share=0.3, filters=[splits.KCore(2), splits.Deduplicate("highest")]),
    splits.Holdout(0.3, seed=1),
    splits.Holdout(0.3, "user", seed=1),
    splits.Holdout(0.3, "user", "last"),
    splits.LeaveOut(1),
    splits.LeaveOut(2, "random", seed=5),
    splits.UserHoldout(0.4, seed=2),
    splits.ItemHoldout(0.4, seed=2),
    splits.TwoStage(share=0.3, inner_share=0.4, validation_share=0.5),
]
FOLDS = [
    splits.KFold(2),
    splits.KFold(2, per_user=True),
    splits.StratifiedKFold(2, "rating"),
    splits.LeavePOut(2, draws=3),
    splits.UserKFold(2),
    splits.TimeWindows(3, 2),
    splits.SuccessiveTargets(share=0.5),
]


def rows_of(rule, table):
    """All parts of all folds as multisets of rows; or what the error says."""
    try:
        made = rule.split(table)
        made = list(made) if isinstance(made, splits.Folds) else [made]
    except RankwiseError as error:
        return error.what
    return [
        {name: plain.held(table, mask) for name, mask in split.masks.items()}
        | {"id": split.card["id"]}
        for split in made
    ]


@pytest.mark.parametrize("rule", RULES + FOLDS, ids=repr)
@given(table=plain.tables(min_size=6), order=st.randoms())
def test_order_of_rows(rule, table, order):
    shuffled = table[order.sample(range(len(table)), len(table))]
    assert rows_of(rule, shuffled) == rows_of(rule, table)


RNG = np.random.default_rng(0)
TABLE = pl.DataFrame(
    {
        "user": RNG.integers(0, 9, 60),
        "item": RNG.integers(0, 20, 60),
        "timestamp": RNG.integers(1_000_000, 1_000_030, 60),
        "rating": RNG.integers(1, 6, 60).astype(float),
    }
)
DATES = TABLE.with_columns(pl.from_epoch("timestamp", time_unit="s"))


def test_order_of_rows_of_equal_ids_and_time():
    """Rows that differ in other columns alone are told apart by these."""
    table = pl.DataFrame(
        {"user": [1] * 6, "item": [2] * 6, "timestamp": [3] * 6, "note": list("abcdef")}
    )
    for rule in (splits.LeaveOut(2), splits.LeaveOut(2, "random"), splits.Holdout(0.4)):
        assert (
            rule.split(table)
            .test.sort("note")
            .equals(rule.split(table.reverse()).test.sort("note"))
        )


@pytest.mark.parametrize("rule", RULES + FOLDS, ids=repr)
def test_libraries(rule):
    expected = rows_of(rule, TABLE)
    others = {
        "pandas": TABLE.to_pandas(),
        "pandas with an odd index": TABLE.to_pandas().set_index(pd.Index(range(60, 120))),
        "pyarrow": TABLE.to_arrow(),
        "lazy": TABLE.lazy(),
        "duckdb": duckdb.from_arrow(TABLE.to_arrow()),
        "smaller types": TABLE.cast({"user": pl.Int16, "item": pl.UInt32, "timestamp": pl.Float64}),
    }
    for name, other in others.items():
        made = rule.split(other)
        made = list(made) if isinstance(made, splits.Folds) else [made]
        found = [
            {part: plain.held(TABLE, mask) for part, mask in split.masks.items()}
            | {"id": split.card["id"]}
            for split in made
        ]
        assert found == expected, name


def test_parts_come_back_in_their_own_library():
    rule = splits.LeaveOut(1)
    expected = rule.split(TABLE).test
    frame = TABLE.to_pandas().set_index(pd.Index(range(60, 120)))
    test = rule.split(frame).test
    assert isinstance(test, pd.DataFrame)
    assert pl.DataFrame(test.reset_index(drop=True)).equals(expected)
    assert test.index.min() >= 60
    assert pl.DataFrame(rule.split(TABLE.to_arrow()).test).equals(expected)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_dates_in_any_unit_and_zone(unit):
    rule = splits.GlobalTime(last="10s", gap="2s", validation=splits.LeaveOut(1))
    expected = rows_of(rule, DATES)
    kind = pl.Datetime(unit)
    for column in (
        pl.col("timestamp").cast(kind),
        pl.col("timestamp").cast(kind).dt.replace_time_zone("UTC"),
        pl.col("timestamp")
        .cast(kind)
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone("Asia/Tokyo"),
    ):
        other = rule.split(DATES.with_columns(column))
        found = {name: plain.held(DATES, mask) for name, mask in other.masks.items()}
        assert [found | {"id": other.card["id"]}] == expected


def test_numbers_of_any_unit():
    rule = splits.GlobalTime(last="10s")
    expected = {name: mask.tolist() for name, mask in rule.split(TABLE).masks.items()}
    late = TABLE.with_columns(pl.col("timestamp") + 1_400_000_000)
    for unit, factor in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        scaled = late.with_columns(pl.col("timestamp") * factor)
        split = rule.split(scaled)
        assert split.card["time"]["unit"] == unit
        assert {name: mask.tolist() for name, mask in split.masks.items()} == expected
    split = rule.split(TABLE.with_columns(pl.col("timestamp") * 1000), time_unit="ms")
    assert {name: mask.tolist() for name, mask in split.masks.items()} == expected
    assert split.card["time"]["unit_known_as"] == "given"


def test_text_files_and_text_dates(tmp_path):
    rule = splits.GlobalTime(share=0.3, validation=splits.Holdout(0.2, "user"))
    expected = rule.split(TABLE)
    TABLE.write_csv(tmp_path / "rows.csv")
    TABLE.write_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        split = rule.split(tmp_path / name)
        assert split.card["id"] == expected.card["id"]
        assert set(split.test.columns) == set(TABLE.columns)
    DATES.write_csv(tmp_path / "dates.csv")
    dates = rule.split(DATES)
    assert rule.split(tmp_path / "dates.csv").card["id"] == dates.card["id"]


def test_moments_may_be_said_in_any_way():
    moment = datetime.fromtimestamp(1_000_015, UTC)
    numbers = [
        splits.GlobalTime(at=at).split(TABLE).card["id"]
        for at in (1_000_015, 1_000_015.0, moment, "1970-01-12T13:46:55")
    ]
    dates = [
        splits.GlobalTime(at=at).split(DATES).card["id"]
        for at in (moment, moment.replace(tzinfo=None), "1970-01-12T13:46:55Z")
    ]
    assert len(set(numbers)) == len(set(dates)) == 1
    with pytest.raises(RankwiseError, match="at is not a moment"):
        splits.GlobalTime(at=1_000_015).split(DATES)


@given(plain.tables(min_size=10, max_size=60), st.integers(0, 50))
def test_seeds_decide_and_nothing_else(table, seed):
    rule = splits.Holdout(0.5, seed=seed)
    try:
        first = rule.split(table)
    except EmptyError:
        return
    assert (first.masks["test"] == rule.split(table).masks["test"]).all()


def test_other_seeds_give_other_splits():
    ids = {splits.Holdout(0.3, seed=seed).split(TABLE).card["id"] for seed in range(20)}
    assert len(ids) == 20


def test_chance_is_even():
    """Of many seeds every row is tested about equally often."""
    times = sum(
        splits.Holdout(0.3, seed=seed).split(TABLE).masks["test"].astype(int) for seed in range(400)
    )
    assert times.mean() == pytest.approx(120)
    assert abs(times - 120).max() < 5 * (400 * 0.3 * 0.7) ** 0.5
