"""Dates as text and as whole numbers: what each format means, and what only the caller can tell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise import splits
from rankwise.errors import ColumnError, ParameterError
from rankwise.splits import GlobalTime, LeaveOut
from rankwise.tables.dates import check_time_format
from rankwise.tables.read import read_table
from rankwise.tables.times import read_times

EITHER = ["02/11/2020", "03/10/2020", "07/12/2020", "08/01/2020"]
"""Dates that two formats fit, under which other rows are the last ones of their users."""


def table(dates):
    return pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "date": dates})


def items_tested(dates, **options):
    return sorted(LeaveOut(1).split(table(dates), **options).test["item"].to_list())


CONTAINERS = {
    "polars": lambda frame, folder: frame,
    "pandas": lambda frame, folder: frame.to_pandas(),
    "arrow": lambda frame, folder: frame.to_arrow(),
    "dict of columns": lambda frame, folder: frame.to_dict(as_series=False),
    "csv": lambda frame, folder: written(frame, folder / "rows.csv"),
    "tsv": lambda frame, folder: written(frame, folder / "rows.tsv"),
    "parquet": lambda frame, folder: written(frame, folder / "rows.parquet"),
    "json lines": lambda frame, folder: written(frame, folder / "rows.jsonl"),
}


def written(frame, path):
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_date_that_two_formats_fit_is_refused_until_one_is_given(container, tmp_path):
    source = CONTAINERS[container](table(EITHER), tmp_path)
    with pytest.raises(ColumnError) as caught:
        LeaveOut(1).split(source).card  # noqa: B018 - sources of files are read when they are needed
    assert "'02/11/2020' is 2020-11-02 as %d/%m/%Y, 2020-02-11 as %m/%d/%Y" in caught.value.found
    assert caught.value.hint == 'say which: time_format="%d/%m/%Y" or time_format="%m/%d/%Y"'
    for time_format, items in {"%d/%m/%Y": [5, 5], "%m/%d/%Y": [6, 7]}.items():
        split = LeaveOut(1).split(source, time_format=time_format)
        assert sorted(pl.DataFrame(split.test)["item"].to_list()) == items
        assert split.card["time"]["format"] == time_format


def test_the_day_comes_first_where_it_cannot_be_the_month():
    assert items_tested(["02/11/2020", "03/10/2020", "07/12/2020", "13/01/2020"]) == [5, 5]


def test_the_month_comes_first_where_it_cannot_be_the_day():
    assert items_tested(["02.11.2020", "03.10.2020", "07.12.2020", "08.13.2020 10:30"]) == [6, 7]


def test_dates_that_are_the_same_either_way_are_read():
    assert items_tested(["02/02/2020", "03/03/2020", "07/07/2020", "06/06/2020"]) == [5, 6]


@pytest.mark.parametrize(
    ("dates", "hint"),
    [
        (
            ["02/11/20", "03/10/20", "07/12/20", "08/01/20"],
            '"%d/%m/%y" or time_format="%m/%d/%y" or time_format="%y/',
        ),
        (["25/11/45", "03/10/45", "07/12/45", "08/01/45"], 'time_format="%d/%m/%y"'),
        (
            ["2/3/2020 1:05 PM", "2/4/2020 2:05 AM", "1/2/2020 1:00 AM", "1/3/2020 1:00 AM"],
            '"%d/%m/%Y %I:%M %p" or',
        ),
    ],
)
def test_hints_name_formats_that_fit_every_row(dates, hint):
    with pytest.raises(ColumnError) as caught:
        items_tested(dates)
    assert hint in caught.value.hint
    for part in caught.value.hint.split('time_format="')[1:]:
        assert len(items_tested(dates, time_format=part.partition('"')[0])) == 2


@pytest.mark.parametrize(
    "dates",
    [
        ["2 Feb 2020", "11 Mar 2020", "1 Jul 2020", "3 May 2020"],
        ["Feb 2, 2020 10:00", "Mar 11, 2020 9:00", "Jul 1, 2020 8:00", "May 3, 2020 7:00"],
        ["2/20/2020 11:59 PM", "2/21/2020 12:01 AM", "2/21/2020 1:00 PM", "2/21/2020 11:00 AM"],
        ["20200202", "20200311", "20200701", "20200503"],
        [20200202, 20200311, 20200701, 20200503],
        [20200202.0, 20200311.0, 20200701.0, 20200503.0],
    ],
)
def test_dates_with_one_meaning_are_read(dates):
    assert items_tested(dates) == [5, 6]


def test_rows_of_two_orders_are_an_error_with_the_row():
    with pytest.raises(ColumnError, match="row 2") as caught:
        items_tested(["13/11/2020", "11/13/2020", "01/01/2020", "02/01/2020"])
    assert "11/13/2020" in caught.value.found


@pytest.mark.parametrize("time_format", ["%d-%m-%Y", "%d/%m/%y"])
def test_a_format_that_does_not_fit_is_an_error(time_format):
    with pytest.raises(ColumnError, match="no date in the format"):
        items_tested(EITHER, time_format=time_format)


@pytest.mark.parametrize("time_format", ["day first", "%Q", "%d/%m/%Y %H", 3])
def test_what_is_no_format_is_an_error(time_format):
    with pytest.raises(ParameterError, match="time_format"):
        items_tested(EITHER, time_format=time_format)


def test_formats_may_have_zones():
    dates = [
        "2020-02-11 10:00 +0100",
        "2020-02-11 10:00 +0000",
        "2020-02-11 01:00 -0500",
        "2020-02-11 05:30 +0000",
    ]
    assert items_tested(dates, time_format="%Y-%m-%d %H:%M %z") == [5, 6]


def test_whole_numbers_that_are_dates_have_days_and_moments():
    days = table([20200228, 20200301, 20200229, 20200310])
    split = GlobalTime(last="10d").split(days)
    assert split.test["date"].to_list() == [20200301, 20200310]
    assert split.card["time"]["unit_known_as"] == "dates written %Y%m%d"
    for moment in (20200301, "2020-03-01", "20200301"):
        assert len(GlobalTime(at=moment).split(days).test) == 2
    assert GlobalTime(at=20200301).split(days, time_unit="s").card["time"]["unit"] == "s"
    assert (
        len(GlobalTime(at=20201301).split(table([20200228, 20201301, 20200229, 20201301])).test)
        == 2
    )


def test_an_index_of_dates_is_the_time():
    frame = table(EITHER).drop("date").to_pandas()
    for name in (None, "date"):
        frame.index = pd.DatetimeIndex(
            ["2020-01-04", "2020-01-02", "2020-01-01", "2020-01-03"], name=name
        )
        assert LeaveOut(1).split(frame).test["item"].to_list() == [5, 7]


@pytest.mark.slow
def test_a_saved_split_keeps_its_format(tmp_path):
    for form in ("parquet", "csv", "recbole", "elliot", "warprec"):
        for dates in (EITHER, [20200202, 20200311, 20200701, 20200503]):
            time_format = "%m/%d/%Y" if dates is EITHER else None
            split = LeaveOut(1).split(table(dates), time_format=time_format)
            folder = split.save(tmp_path / f"{form}-{time_format is None}", format=form)
            again = splits.read(folder)
            assert again.card["time"] == split.card["time"]
            assert again.rows.time.seconds(again.rows.time.values.max()) == (
                split.rows.time.seconds(split.rows.time.values.max())
            )
            assert rw.audit(folder)["L3"].value == rw.audit(split)["L3"].value


def test_an_audit_reads_all_parts_in_one_format():
    train, test = (
        pl.DataFrame({"user": [1, 2], "item": items, "date": dates})
        for items, dates in (
            ([5, 6], ["02/11/2020", "13/11/2020"]),
            ([7, 8], ["01/12/2020", "05/12/2020"]),
        )
    )
    assert rw.audit(train, test, claim="time")["L3"].status == "pass"
    with pytest.raises(ColumnError, match="more than one way"):
        rw.audit(train[:1], test)
    assert rw.audit(train[:1], test, claim="time", time_format="%m/%d/%Y")["L3"].status == "fail"


def test_the_command_and_the_configuration_take_a_format(tmp_path):
    rows = [
        (user, user + item, f"{2 + item % 9:02d}/{1 + item:02d}/2020")
        for user in range(6)
        for item in range(8)
    ]
    pl.DataFrame(rows, schema=["user", "item", "date"], orient="row").write_csv(
        tmp_path / "rows.csv"
    )
    split = ("split", "rows.csv", "--by", "last", "-o", "out")
    refused = rankwise_here(tmp_path, *split)
    assert refused.returncode
    assert "say which: --time-format %d/%m/%Y or --time-format %m/%d/%Y" in refused.stderr
    done = rankwise_here(tmp_path, *split, "--time-format", "%m/%d/%Y")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "split.json").read_text())["time"]["format"] == "%m/%d/%Y"
    assert "not run: L3" not in rankwise_here(tmp_path, "audit", "out").stdout
    (tmp_path / "c.yaml").write_text(
        "data: {interactions: rows.csv}\n"
        "split: {rule: LeaveOut, n: 1, time_format: '%d/%m/%Y'}\n"
        "systems: {popular: {model: Popularity}}\n"
        "evaluation: {metrics: [recall@2]}\n"
        "output: {report: false}\n"
    )
    run = rankwise_here(tmp_path, "run", "c.yaml")
    assert run.returncode == 0, run.stderr
    assert "no audit" not in run.stdout + run.stderr
    assert (
        "time_format: '%d/%m/%Y'"
        in next((tmp_path / "rankwise-results").glob("*.yaml")).read_text()
    )


def test_arrow_strings_of_every_kind_are_text():
    for kind in (pa.string(), pa.large_string()):
        columns = {"user": [1, 1], "item": [5, 6], "date": pa.array(EITHER[:2], kind)}
        assert LeaveOut(1).split(pa.table(columns), time_format="%m/%d/%Y").test[
            "item"
        ].to_pylist() == [6]


@pytest.mark.parametrize(
    "numbers", [[2018, 2019, 2020, 2021], [18500, 18503, 18505, 18510], [1, 2, 3, 4]]
)
def test_small_numbers_have_no_calendar_until_their_unit_is_given(numbers):
    rows = table(numbers)
    for rule in (
        GlobalTime(last="1d"),
        GlobalTime(at="2019-06-01"),
        GlobalTime(share=0.5, gap="2d"),
    ):
        with pytest.raises(ParameterError, match="hardly seconds since 1970") as caught:
            rule.split(rows)
        assert f"numbers from {numbers[0]} to {numbers[-1]}" in caught.value.found
    assert len(GlobalTime(at=numbers[2]).split(rows).test) == 2
    assert len(GlobalTime(last=numbers[3] - numbers[2]).split(rows).test) == 1
    assert GlobalTime(share=0.5, gap="1s").split(rows, time_unit="s").card["time"]["unit"] == "s"


def test_years_are_read_as_dates_by_their_format():
    split = GlobalTime(at="2020-01-01").split(table([2018, 2019, 2020, 2021]), time_format="%Y")
    assert split.test["date"].to_list() == [2020, 2021]


def test_a_format_with_half_a_time_is_refused():
    table = pl.DataFrame(
        {"user": [4, 4], "item": [5, 6], "timestamp": ["02/11/2020 10", "03/11/2020 11"]}
    )
    with pytest.raises(ParameterError, match="time_format is the format of dates"):
        LeaveOut(1).split(table, time_format="%d/%m/%Y %H")


@pytest.mark.parametrize(
    ("last", "whole"),
    [
        (2.0**53 - 1, True),
        (2.0**52 + 1, True),
        (2.0**53, False),
        (1000.5, False),
        (-(2.0**53), False),
    ],
)
def test_whole_fractions_are_integers_as_far_as_all_of_these_are_floats(last, whole):
    frame = pl.DataFrame({"user": [1, 1], "item": [5, 6], "timestamp": [1.0, last]})
    ticks = read_times(read_table(frame, "interactions"), "ns").values
    assert ticks.dtype == (np.int64 if whole else np.float64)
    assert ticks.tolist() == [1, last]


def test_times_beyond_62_bits_are_refused():
    for number in (2**62, -(2**62)):
        with pytest.raises(ColumnError, match="out of range"):
            LeaveOut(1).split({"user": [1, 1], "item": [5, 6], "timestamp": [1, number]})
    assert (
        len(
            LeaveOut(1)
            .split({"user": [1, 1], "item": [5, 6], "timestamp": [1, 2**62 - 1]}, time_unit="ns")
            .test
        )
        == 1
    )


@pytest.mark.parametrize(("largest", "unit"), [(1e11, "s"), (1e14, "ms"), (1e17, "us")])
def test_units_are_told_by_magnitude(largest, unit):
    units = ["s", "ms", "us", "ns"]

    def told(number):
        frame = pl.DataFrame({"user": [1, 1], "item": [5, 6], "timestamp": [-int(number), 1]})
        return read_times(read_table(frame, "interactions"), None).unit

    assert told(0.999 * largest) == unit
    assert told(largest) == units[units.index(unit) + 1]


@pytest.mark.parametrize(
    ("values", "integers"),
    [
        ([1.0, 2.0**53 - 1], True),
        ([1.0, 2.0**53], False),
        ([-(2.0**53), 1.0], False),
        ([1.5, 2.0], False),
    ],
)
def test_floats_are_whole_ticks_below_2_to_the_53(values, integers):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "timestamp": values})
    times = read_times(read_table(frame, "interactions", None), "s")
    assert (times.values.dtype.kind == "i") == integers


@pytest.mark.parametrize("time_format", ["%d/%m/%Y", "%Y%m%d", "%m %d %Y %I:%M %p", None])
def test_a_format_has_a_whole_date(time_format):
    check_time_format(time_format)


@pytest.mark.parametrize("time_format", ["%I:%M", "%Y-%m-%d %I:%M", "plain", "", 3])
def test_half_a_time_or_text_is_no_format(time_format):
    with pytest.raises(ParameterError, match="time_format is the format of dates"):
        check_time_format(time_format)
