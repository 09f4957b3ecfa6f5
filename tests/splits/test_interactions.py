"""Moments, lengths of time, and rows by user, with numbers worked by hand."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import splits
from rankwise.errors import ColumnError, ParameterError
from rankwise.splits import interactions
from rankwise.splits.interactions import (
    Codes,
    Grouped,
    check_seed,
    check_share,
    numbered,
    read_rows,
    rounded,
    spread,
)
from rankwise.tables import dates
from rankwise.tables import times as times_module
from rankwise.tables.dates import read_compact, shared_format
from rankwise.tables.times import Duration, Times


def times(values, unit="s", *, is_date=False, source="given", time_format=None):
    return Times(np.array(values), unit, is_date, source, "rows, column 'time'", time_format)


DATES = times([0, 86_400_000_000], "us", is_date=True, source="dates")


@pytest.mark.parametrize(
    ("unit", "per_second"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)]
)
def test_moments_are_ticks_since_1970_in_utc(unit, per_second):
    clock = times([10**15], unit)
    assert clock.per_second == per_second
    east = timezone(timedelta(hours=2))
    for moment in (
        "1970-01-02",
        "1970-01-02T02:00:00+02:00",
        date(1970, 1, 2),
        datetime(1970, 1, 2),
        datetime(1970, 1, 2, tzinfo=UTC),
        datetime(1970, 1, 2, 2, tzinfo=east),
        np.datetime64("1970-01-02"),
    ):
        assert clock.moment("at", moment) == 86_400 * per_second
    assert clock.moment("at", datetime(1969, 12, 31, 23, 59, 59)) == -per_second
    assert clock.moment("at", 17) == 17
    assert clock.moment("at", 17.5) == 17.5
    assert clock.seconds(3 * per_second) == 3.0


def test_half_a_second_is_half_a_tick_of_seconds():
    half = datetime(1970, 1, 1, 0, 0, 0, 500_000)
    assert times([10**9]).moment("at", half) == 0.5
    assert times([10**9], "ms").moment("at", half) == 500
    assert type(times([10**9], "ms").moment("at", half)) is int


@pytest.mark.parametrize("value", [True, None, "soon", [1], 2**62, -(2**62), float("nan")])
def test_what_is_no_moment_is_refused(value):
    with pytest.raises(ParameterError, match="until is not a moment"):
        times([10**9]).moment("until", value)


def test_numbers_are_no_moments_of_dates_and_count_within_62_bits():
    with pytest.raises(ParameterError) as caught:
        DATES.moment("at", 5)
    assert caught.value.hint == "rows, column 'time' holds dates"
    assert times([1]).moment("at", 2**61) == 2**61
    with pytest.raises(ParameterError) as caught:
        times([1]).moment("at", None)
    assert caught.value.hint == "rows, column 'time' holds numbers"


def test_whole_numbers_name_days_where_the_column_has_such_days():
    compact = times([0], "us", is_date=True, source="dates", time_format="%Y%m%d")
    assert compact.moment("at", 19700103) == 2 * 86_400 * 10**6
    with pytest.raises(ParameterError):
        compact.moment("at", 19701303)


@pytest.mark.parametrize(
    ("length", "earlier"),
    [
        (Duration(), "2020-03-31"),
        (Duration(1), "2020-02-29"),
        (Duration(13), "2019-02-28"),
        (Duration(1, 86_400_000_000), "2020-02-28"),
        (Duration(0, 86_400_000_000), "2020-03-30"),
    ],
)
def test_months_are_taken_away_before_days(length, earlier):
    for clock in (DATES, times([10**10]), times([10**13], "ms"), times([10**19], "ns")):
        start, end = (clock.moment("at", text) for text in ("2020-03-31", earlier))
        assert clock.earlier(start, length) == end


def test_lengths_of_dates_have_a_unit_and_those_of_numbers_need_none():
    with pytest.raises(ParameterError, match="for dates a length of time needs a unit"):
        DATES.earlier(5, Duration(ticks=1))
    assert times([7]).earlier(5, Duration(ticks=2)) == 3
    assert times([0.5]).earlier(5.0, Duration(ticks=0.5)) == 4.5
    assert times([10**9]).earlier(5, Duration(0, 1_500_000, 2)) == 1.5
    with pytest.raises(ParameterError, match="out of range"):
        DATES.earlier(0, Duration(1_200_001))


@pytest.mark.parametrize(("largest", "is_refused"), [(99_999, True), (100_000, False)])
def test_the_calendar_is_for_numbers_of_a_day_of_seconds_or_more(largest, is_refused):
    for values in ([0, largest], [-largest, 0]):
        clock = times(values, source=times_module.GUESSED)
        asked = [
            lambda clock=clock: clock.moment("at", "1970-01-02"),
            lambda clock=clock: clock.earlier(0, Duration(1)),
            lambda clock=clock: clock.earlier(0, Duration(0, 1)),
            lambda clock=clock: clock.end_of(0, "day"),
        ]
        for ask in asked:
            if is_refused:
                with pytest.raises(ParameterError, match="hardly seconds since 1970") as caught:
                    ask()
                assert caught.value.found == f"numbers from {values[0]} to {values[1]}"
            else:
                ask()
        assert clock.earlier(5, Duration(ticks=2)) == 3
    assert times([1]).moment("at", "1970-01-02") == 86_400  # its unit was given
    assert times([], source=times_module.GUESSED).moment("at", "1970-01-02") == 86_400


@pytest.mark.parametrize(
    ("align", "end"),
    [
        ("hour", "2020-05-14T11:00"),
        ("day", "2020-05-15"),
        ("week", "2020-05-18"),
        ("month", "2020-06-01"),
        ("quarter", "2020-07-01"),
        ("year", "2021-01-01"),
    ],
)
def test_a_period_of_the_calendar_ends_where_the_next_begins(align, end):
    for clock in (DATES, times([10**10]), times([10**19], "ns")):
        for moment in ("2020-05-14T10:30", "2020-05-14T10:00"):
            assert clock.end_of(clock.moment("at", moment), align) == clock.moment("at", end)


def test_the_next_moment_is_a_tick_later_or_the_next_float():
    assert times([3]).after(3) == 4
    assert times([3.5]).after(3.5) == math.nextafter(3.5, math.inf)


@pytest.mark.parametrize(
    ("clock", "moment", "shown"),
    [
        (times([3]), np.int64(3), 3),
        (times([3]), 3.5, 3.5),
        (times([3.5]), 3.0, 3.0),
        (DATES, 86_400_000_000, "1970-01-02T00:00:00"),
        (DATES, 1, "1970-01-01T00:00:00.000001"),
        (times([0], "ns", is_date=True), 1_500, "1970-01-01T00:00:00.000001"),
    ],
)
def test_moments_are_shown_as_the_column_has_them(clock, moment, shown):
    found = clock.show(moment)
    assert (found, type(found)) == (shown, type(shown))


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (5, Duration(ticks=5)),
        (0.5, Duration(ticks=0.5)),
        (0, Duration()),
        (timedelta(days=1, microseconds=1), Duration(microseconds=86_400_000_001)),
        (np.timedelta64(2, "h"), Duration(microseconds=7_200_000_000)),
        ("0d", Duration()),
    ],
)
def test_lengths_of_numbers_and_of_python(length, expected):
    assert Duration.read("gap", length) == expected
    assert bool(expected) == (str(length) not in ("0", "0d"))


@pytest.mark.parametrize(
    "length", ["", "5", "d", "5 d", "-5d", "5d ", "5D", "1.5d", "1" * 19 + "d", None, True, [1]]
)
def test_what_is_no_length_is_refused(length):
    with pytest.raises(ParameterError, match="gap is a length of time") as caught:
        Duration.read("gap", length)
    assert caught.value.found == f"gap={length!r}"


@pytest.mark.parametrize("length", [-1, -0.5, timedelta(microseconds=-1)])
def test_lengths_are_not_negative(length):
    with pytest.raises(ParameterError, match="gap cannot be negative"):
        Duration.read("gap", length)


def test_lengths_are_added_and_multiplied_part_by_part():
    length = Duration(1, 20, 3.5)
    assert length * 3 == Duration(3, 60, 10.5)
    assert length + Duration(2, 5, 1) == Duration(3, 25, 4.5)
    assert [bool(Duration(*parts)) for parts in ((0, 0, 0), (1,), (0, 1), (0, 0, 0.5))] == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("numbers", "are_dates"),
    [
        ([20200914, 20210101], True),
        ([20200914.0], True),
        ([20200914.5], False),
        ([20200914.0, math.nan], False),
        ([20200914.0, math.inf], False),
        ([20201301], False),
        ([20200914] * 1001 + [20200932], False),
        ([19000101, 21001231], True),
        ([18991231], False),
        ([21010101], False),
        ([], False),
    ],
)
def test_whole_numbers_are_dates_if_every_one_is(numbers, are_dates):
    found = read_compact(pl.Series(numbers, dtype=None if numbers else pl.Int64))
    assert (found is not None) == are_dates
    if are_dates:
        text = [str(int(number)) for number in numbers]
        assert found.dt.to_string("%Y%m%d").to_list() == text


def test_years_from_1000_on_are_of_four_digits():
    parsed = dates._in_format(pl.Series(["1 Jan 1000", "1 Jan 0999", "1 Jan 20"]), "%d %b %Y")
    assert parsed.to_list() == [datetime(1000, 1, 1), None, None]


def test_a_format_is_shared_by_columns_of_which_one_shows_it():
    ambiguous, day_first, month_first = (
        pl.Series([text]) for text in ("01/02/2020", "13/02/2020", "01/13/2020")
    )
    assert shared_format([ambiguous, day_first]) == "%d/%m/%Y"
    assert shared_format([month_first, ambiguous, pl.Series([5])]) == "%m/%d/%Y"
    assert shared_format([day_first, month_first]) is None
    assert shared_format([ambiguous]) is None  # either would do
    assert shared_format([pl.Series(["2020-01-02"]), pl.Series([1])]) is None
    assert shared_format([pl.Series([None, " 13.2.2020 "])]) == "%d.%m.%Y"


@pytest.mark.parametrize(
    ("share", "n", "expected"),
    [
        (0.5, 1, 1),
        (0.5, 3, 2),
        (0.1, 4, 0),
        (0.1, 5, 1),
        (0.29, 50, 15),
        (0.29, 49, 14),
        (1 / 3, 3, 1),
        (2 / 3, 3, 2),
        (0.2, 0, 0),
        (0.999, 1000, 999),
    ],
)
def test_a_share_of_rows_is_rounded_half_up(share, n, expected):
    assert rounded(share, n) == expected
    assert rounded(share, np.array([n, n])).tolist() == [expected, expected]


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.1, True, "0.5", None, math.nan])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(ParameterError, match="share must lie between 0 and 1"):
        check_share("share", share)
    check_share("share", 1e-9)
    check_share("share", np.float32(0.999))


def test_a_seed_has_at_most_64_bits():
    for seed in (0, -(2**63), 2**64 - 1, np.int64(3)):
        check_seed("seed", seed)
    for seed in (-(2**63) - 1, 2**64):
        with pytest.raises(ParameterError, match="at most 64 bits"):
            check_seed("seed", seed)
    for seed in (True, 1.0, None):
        with pytest.raises(ParameterError, match="a seed is a whole number"):
            check_seed("seed", seed)


def test_folds_are_two_or_more_and_draws_one_or_more():
    for rule, least in (
        (splits.KFold, 2),
        (splits.UserKFold, 2),
        (lambda n: splits.LeavePOut(1, n), 1),
    ):
        rule(least)
        rule(1_000_000)
        for wrong in (least - 1, 1_000_001):
            with pytest.raises(
                ParameterError, match=f"whole number from {least}|must be at most 1,000,000"
            ):
                rule(wrong)


ROWS = pl.DataFrame(
    {
        "user": [5, 2, 5, 2, 5, 9],
        "item": [1, 1, 2, 3, 1, 2],
        "timestamp": [30, 10, 20, 40, 50, 60],
        "note": ["a", "b", "c", "d", "e", "f"],
    }
)


def rows_of(table=ROWS):
    return read_rows(table, None, None, None)


@pytest.mark.parametrize("chunk", [1, 4, 1 << 22])
def test_chunks_change_no_number(chunk, monkeypatch):
    whole = splits.GlobalTime(at=40).split(ROWS).card
    monkeypatch.setattr(interactions, "_CHUNK", chunk)
    assert splits.GlobalTime(at=40).split(ROWS).card == whole
    rows = rows_of()
    assert rows.user.count().tolist() == [0, 0, 2, 0, 0, 3, 0, 0, 0, 1]
    mask = np.array([True, False, True, True, False, False])
    assert rows.user.count(mask).tolist() == [0, 0, 1, 0, 0, 2, 0, 0, 0, 0]
    late = np.array([False, False, False, True, True, True])
    assert rows.pairs_in(late, ~late).tolist() == [False, False, False, False, True, False]
    assert rows.pairs_in(~late, late).tolist() == [True, False, False, False, False, False]
    assert not rows.pairs_in(late & ~late, late).any()
    assert rows.count_pairs(late) == 3
    assert rows.count_pairs(late | True) == 5


def test_rows_of_a_user_are_in_time_and_positions_count_from_0():
    by_user = rows_of().in_time()
    assert by_user.lengths.tolist() == [0, 0, 2, 0, 0, 3, 0, 0, 0, 1]
    assert by_user.order.tolist() == [1, 3, 2, 0, 4, 5]
    assert by_user.positions().tolist() == [1, 0, 0, 1, 2, 0]
    last = by_user.tail(np.minimum(by_user.lengths, 1))
    assert last.tolist() == [False, False, False, True, True, True]
    assert not by_user.tail(by_user.lengths * 0).any()
    assert by_user.tail(by_user.lengths).all()


def test_the_last_rows_of_a_group_are_at_its_end():
    groups = Grouped(np.array([0, 3, 3, 5]), np.array([4, 0, 2, 1, 3]))
    assert groups.tail(np.array([2, 0, 1])).tolist() == [True, False, True, True, False]
    assert groups.positions().tolist() == [1, 0, 2, 1, 0]


def test_selected_rows_keep_their_times_and_their_unit():
    rows = rows_of()
    assert rows.time.unit == "s"
    mask = np.array([True, False, False, True, False, True])
    chosen = rows.select(mask)
    assert (len(chosen), chosen.time.values.tolist(), chosen.time.unit) == (3, [30, 40, 60], "s")
    assert chosen.table.frame["note"].to_list() == ["a", "d", "f"]
    assert rows_of(ROWS.drop("timestamp")).has_times is False
    assert np.shares_memory(chosen.time.values, chosen.table.frame["timestamp"].to_numpy())
    fresh = rows_of().select(mask)  # its times were not read before
    assert fresh.time.values.tolist() == [30, 40, 60]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (
            [20200914, 20200101],
            [1_600_041_600_000_000, 1_577_836_800_000_000],
        ),  # written as whole numbers
        ([7.0, 5.0], [7, 5]),
        ([7.5, 5.0], [7.5, 5.0]),
    ],
)
def test_selected_times_are_those_that_were_read(times, expected):
    rows = rows_of(pl.DataFrame({"user": [1, 2], "item": [1, 1], "timestamp": times}))
    assert rows.time.values.tolist() == expected
    second = rows.select(np.array([False, True])).time.values
    assert (second.tolist(), second.dtype) == (expected[1:], rows.time.values.dtype)


def test_equal_rows_are_numbered_and_the_first_keeps_its_hash():
    key = np.array([7, 7, 7, 9], dtype=np.uint64)
    found = numbered(key, np.array([0, 1, 2, 0]))
    assert (found[0], found[3]) == (7, 9)
    assert len(set(found.tolist())) == 4
    assert found[1] == numbered(key[:1], np.array([1]))[0]


def test_draws_of_equal_rows_differ_and_do_not_depend_on_the_order_of_rows():
    equal = pl.DataFrame(
        {"user": [1] * 4 + [2], "item": [3] * 5, "note": ["d", "a", "c", "b", "a"]}
    )
    draws = rows_of(equal).draw(3)
    assert len(set(draws.tolist())) == 5
    again = rows_of(equal[[3, 1, 4, 0, 2]]).draw(3)
    assert again.tolist() == draws[[3, 1, 4, 0, 2]].tolist()
    (key,) = set(rows_of(equal).key(3)[:4].tolist())
    assert draws.tolist().count(key) == 1  # one of the four keeps it
    assert rows_of(equal).draw(4).tolist() != draws.tolist()


def test_a_mask_of_kept_rows_is_spread_over_all():
    kept = np.array([True, False, True, True])
    assert spread(kept, np.array([False, True, True])).tolist() == [False, False, True, True]


def test_ids_in_random_order_are_those_that_have_rows():
    codes = Codes.of(pl.Series([7, 3, 7, 900]))
    assert codes.size == 901
    assert sorted(codes.at_random(0).tolist()) == [3, 7, 900]
    orders = {tuple(codes.at_random(seed).tolist()) for seed in range(40)}
    assert len(orders) == 6
    text = Codes.of(pl.Series(["7", "3", "7", "900"]))
    assert text.vocabulary.decode(text.at_random(1)).to_list() == [
        str(code) for code in codes.at_random(1).tolist()
    ]


def test_nanoseconds_of_dates_decide_which_rows_are_drawn():
    base = pl.DataFrame({"user": [1] * 2, "item": [1] * 2, "timestamp": [1_000, 1_001]})
    fine = base.with_columns(pl.col("timestamp").cast(pl.Datetime("ns")))
    one, other = rows_of(fine).key(0).tolist()
    assert one != other
    coarse = fine.with_columns(pl.col("timestamp").cast(pl.Datetime("us")))
    same, again = rows_of(coarse).key(0).tolist()
    assert same == again


def test_timestamps_are_numbers_or_dates():
    table = ROWS.with_columns(timestamp=pl.lit([1]))
    with pytest.raises(ColumnError, match="timestamps are numbers or dates"):
        _ = rows_of(table).time
    with pytest.raises(ColumnError, match="no column for the timestamp"):
        _ = rows_of(ROWS.drop("timestamp")).time
    wide = rows_of(ROWS.with_columns(pl.col("timestamp").cast(pl.Int128))).time
    assert (wide.values.dtype, wide.values.tolist()) == (np.int64, ROWS["timestamp"].to_list())


DAYS = pl.Series("timestamp", [date(1970, 1, 2), date(1970, 1, 1)])


@pytest.mark.parametrize(
    ("column", "unit", "values"),
    [
        (DAYS, "us", [86_400 * 10**6, 0]),
        (DAYS.cast(pl.Datetime("ms")), "us", [86_400 * 10**6, 0]),
        (DAYS.cast(pl.Datetime("ns")), "us", [86_400 * 10**6, 0]),
        (
            (DAYS.cast(pl.Int64) * 86_400 * 10**9 + 1000).cast(pl.Datetime("ns")),
            "us",
            [86_400 * 10**6 + 1, 1],
        ),
        (
            (DAYS.cast(pl.Int64) * 86_400 * 10**9 + 7).cast(pl.Datetime("ns")),
            "ns",
            [86_400 * 10**9 + 7, 7],
        ),
        (
            (DAYS.cast(pl.Int64) * 86_400 * 10**9 + 7)
            .cast(pl.Datetime("ns"))
            .dt.replace_time_zone("Etc/GMT+2"),
            "ns",
            [(86_400 + 7200) * 10**9 + 7, 7200 * 10**9 + 7],
        ),
        (
            DAYS.cast(pl.Datetime("us")).dt.replace_time_zone("Etc/GMT+2"),
            "us",
            [(86_400 + 7200) * 10**6, 7200 * 10**6],
        ),
    ],
)
def test_dates_are_microseconds_in_utc_unless_they_have_nanoseconds(column, unit, values):
    times = rows_of(pl.DataFrame({"user": [1, 2], "item": [1, 1], "timestamp": column})).time
    assert (times.unit, times.values.tolist(), times.is_date, times.unit_source) == (
        unit,
        values,
        True,
        "dates",
    )


def test_a_pandas_series_is_split_as_it_is_fitted():
    index = pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1), (2, 3)], names=["user", "item"])
    split = splits.Holdout(0.5, per="user").split(pd.Series([5, 4, 3, 2], index=index))
    assert (len(split.train), len(split.test)) == (2, 2)
