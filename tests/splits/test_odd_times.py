"""Times of which one stands for an unknown time, or of which some are dates written as numbers."""

from datetime import date, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ColumnError, ParameterError
from rankwise.splits import GlobalTime, LeaveOut

DAYS = [20180305, 20180601, 20190212, 20190401]
SECONDS = [1_500_000_000, 1_510_000_000, 1_520_000_000, 1_530_000_000]


def table(times):
    return {"user": [1] * len(times), "item": [*range(len(times))], "timestamp": times}


@pytest.mark.parametrize("odd", [0, -1, 99999999, 201801011200, 20181399])
@pytest.mark.parametrize(
    "rule", [GlobalTime(last="60d"), GlobalTime(share=0.4, gap=3600), LeaveOut(1)]
)
def test_dates_as_numbers_with_one_other_number_are_refused(odd, rule):
    with pytest.raises(ColumnError, match="most of these timestamps read as dates") as error:
        rule.split(table([*DAYS, odd]))
    assert f"4 dates, and 1 other numbers, such as {odd}" in str(error.value)


def test_the_ways_out_of_dates_among_other_numbers_are_open():
    assert GlobalTime(last="60d").split(table(DAYS)).test["item"].to_list() == [2, 3]
    card = GlobalTime(share=0.4).split(table([*DAYS, 0]), time_unit="s").card
    assert card["time"]["unit"] == "s"


@pytest.mark.parametrize(
    ("odd", "times"),
    [
        (0, SECONDS),
        (-1, SECONDS),
        (9999999999, SECONDS),
        (0, [1000 * second for second in SECONDS]),
        (253402214400000, [1000 * second for second in SECONDS]),
        (253402300799 * 10**6, [10**6 * second for second in SECONDS]),
        (datetime(1970, 1, 1), [datetime(2018, 1, day) for day in range(1, 5)]),
        (date(9999, 12, 31), [date(2018, 1, day) for day in range(1, 5)]),
        ("1900-01-01", [f"2018-01-0{day}" for day in range(1, 5)]),
    ],
)
def test_a_time_that_stands_for_an_unknown_one_is_refused_unless_the_unit_is_said(odd, times):
    with pytest.raises(ColumnError, match="stands for an unknown time") as error:
        GlobalTime(share=0.2).split(table([*times, odd]))
    assert "1 such rows" in str(error.value)
    unit = str(error.value).rpartition('time_unit="')[2].partition('"')[0]
    assert len(GlobalTime(share=0.2).split(table([*times, odd]), time_unit=unit).test) == 1


@settings(max_examples=25)
@given(st.lists(st.integers(1_400_000_000, 1_700_000_000), min_size=2, max_size=20, unique=True))
def test_times_without_such_a_number_are_split_as_before(times):
    ordered = sorted(times)
    test = LeaveOut(1).split(table(times)).test
    assert test["timestamp"].to_list() == [ordered[-1]]
    steps = [time - ordered[0] for time in times]  # 0 is the first of steps
    assert LeaveOut(1).split(table(steps)).test["timestamp"].to_list() == [ordered[-1] - ordered[0]]


def test_a_unit_that_the_largest_number_alone_suggests_is_not_taken():
    times = [*SECONDS, 1_540_000_000_000]
    with pytest.raises(ParameterError, match="unit of these timestamps is not clear"):
        GlobalTime(last="30d").split(table(times))
    assert len(LeaveOut(1).split(table(times)).test) == 1  # no calendar, no unit


@pytest.mark.parametrize("make", [Decimal, str, lambda number: f" {number} ", float])
def test_decimals_and_numbers_in_text_are_times(make):
    shuffled = [SECONDS[2], SECONDS[0], SECONDS[3], SECONDS[1]]
    split = LeaveOut(1).split(table([make(second) for second in shuffled]))
    assert split.test["item"].to_list() == [2]
    plain = LeaveOut(1).split(table(shuffled))
    assert split.card["time"] == plain.card["time"]


def test_fractions_of_seconds_in_text_are_times():
    assert LeaveOut(1).split(table(["12.75", "12.5", "12.625"])).test["item"].to_list() == [0]


def test_two_times_that_nothing_reads_are_no_error():
    truth = pl.DataFrame(
        {"user": [1, 2], "item": [5, 6], "date": ["2020-01-01", "2020-02-01"], "timestamp": [3, 4]}
    )
    lists = {1: [7, 5], 2: [6, 7]}
    assert rw.evaluate(lists, truth, "mrr")["mrr"] == 0.75
    assert (
        rw.evaluate(lists, truth, "mrr", train=truth.with_columns(item=pl.Series([7, 7])))["mrr"]
        == 0.75
    )
    with pytest.raises(ColumnError, match="two columns could be the timestamp"):
        LeaveOut(1).split(truth)
