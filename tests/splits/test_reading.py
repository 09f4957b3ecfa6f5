"""Which file is which part, and how its times were written, case by case."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankwise as rw
from rankwise import splits
from rankwise.errors import FileError, ParameterError
from rankwise.splits.reading import _part_of, _saved_clock, _without_header
from rankwise.tables.table import Table


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("train.parquet", "train"),
        ("train.pq", "train"),
        ("ml-1m.train.inter", "train"),
        ("a.b.test.csv", "test"),
        ("valid.tsv", "validation"),
        ("val.jsonl", "validation"),
        ("dev.ndjson.gz", "validation"),
        ("validation.txt", "validation"),
        ("ranker_train.dat", "ranker_train"),
        ("train", None),
        ("train.xlsx", None),
        ("train-1.csv", None),
        ("split.json", None),
    ],
)
def test_a_file_is_the_part_that_it_is_called(name, part):
    assert _part_of(name) == part


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("1\t2", ("user", "item")),
        ("1\t2\t3.5", ("user", "item", "rating")),
        ("1\t2\t3.5\t99\r", ("user", "item", "rating", "timestamp")),
        ("1", None),
        ("1\t2\t3\t4\t5", None),
        ("user\titem\trating", None),
        ("\ufeffuser_id\titem_id", None),
        ("user\tb\tc", ("user", "item", "rating")),  # names no item
    ],
)
def test_files_of_elliot_have_no_header(line, columns, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(f"{line}\n1\t2\n", encoding="utf-8")
    found = _without_header(path)
    assert (None if found is None else found.columns) == columns
    if found is not None:
        assert (found.name, found.separator, found.has_header) == ("csv", "\t", False)
    assert _without_header(path.rename(tmp_path / "train.csv")) is None
    assert _without_header(tmp_path / "nothing.tsv") is None


def clock(values, unit="us", known_as="dates", **card):
    table = Table(
        pl.DataFrame({} if values is None else {"timestamp": values}), "interactions", "a", "b", {}
    )
    return _saved_clock({"unit": unit, "unit_known_as": known_as, **card}, table)


def test_the_clock_of_a_card_is_that_of_the_file():
    day = pl.Series(["2020-01-01"]).str.to_datetime()
    assert clock(day) == ("us", None)
    assert clock([5], "ms", "given") == ("ms", None)
    assert clock([5], "ms", "guessed from the size of the numbers") == ("ms", None)
    assert clock([1_577_836_800]) == ("s", None)  # other libraries have dates as seconds
    assert clock(["2020-01-01"]) == (None, None)
    assert clock(["01.02.2020"], known_as="dates written %d.%m.%Y", format="%d.%m.%Y") == (
        None,
        "%d.%m.%Y",
    )
    assert clock([20200101], known_as="dates written %Y%m%d", format="%Y%m%d") == (None, "%Y%m%d")
    assert clock([1_577_836_800], known_as="dates written %Y%m%d", format="%Y%m%d") == ("s", None)
    assert clock([20200101.0], known_as="dates written %Y%m%d", format="%Y%m%d") == ("s", None)
    assert clock(None) == ("us", None)


def write(folder: Path, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


ROWS = "user,item,timestamp\n"


def test_files_of_outer_folders_are_part_of_every_fold(tmp_path):
    for fold in ("0", "1", "10", "2"):
        write(tmp_path / fold, train=f"{ROWS}{fold},1,1\n")
    write(tmp_path, test=f"{ROWS}9,1,9\n")
    write(tmp_path / "x", train=f"{ROWS}7,1,1\n")  # no number: no fold
    folds = splits.read(tmp_path)
    assert [split.train["user"].to_list() for split in folds] == [[0], [1], [2], [10]]
    assert all(split.test["user"].to_list() == [9] for split in folds)
    assert folds[0].rule == {"rule": "read", "files": ["test.csv", "train.csv"]}
    one = write(tmp_path / "0", test=f"{ROWS}8,1,9\n")
    assert splits.read(one).test["user"].to_list() == [8]
    assert isinstance(splits.read(one), splits.Split)


def test_folds_are_two_folders_deep_and_no_deeper(tmp_path):
    write(tmp_path, test=f"{ROWS}9,1,9\n")
    write(tmp_path / "0" / "0", train=f"{ROWS}1,1,1\n")
    assert len(splits.read(tmp_path).train) == 1
    write(tmp_path / "1" / "0" / "0", train=f"{ROWS}1,1,1\n")
    with pytest.raises(FileError, match="no file of the train part") as caught:
        splits.read(tmp_path)
    assert caught.value.where == str(tmp_path / "1" / "0")


def test_missing_parts_are_named(tmp_path):
    with pytest.raises(FileError, match="no file of the train and the test part") as caught:
        splits.read(tmp_path)
    assert caught.value.found == "an empty folder"
    write(tmp_path, train=f"{ROWS}1,1,1\n", notes="x")
    with pytest.raises(FileError, match="no file of the test part") as caught:
        splits.read(tmp_path)
    assert caught.value.found == "notes.csv, train.csv"


def test_parts_measure_time_in_one_way(tmp_path):
    write(tmp_path, train=f"{ROWS}1,1,1\n", test="user,item\n1,2\n")
    with pytest.raises(FileError, match="not every part has a timestamp") as caught:
        splits.read(tmp_path)
    assert caught.value.found == "test.csv: user, item; train.csv: user, item, timestamp"
    pl.DataFrame({"user": [1], "item": [2], "timestamp": ["2020-01-01"]}).with_columns(
        pl.col("timestamp").str.to_datetime()
    ).write_parquet(tmp_path / "test.parquet")
    (tmp_path / "test.csv").unlink()
    (tmp_path / "train.csv").unlink()
    pl.DataFrame({"user": [1], "item": [2], "timestamp": [5]}).write_parquet(
        tmp_path / "train.parquet"
    )
    with pytest.raises(FileError, match="measure time in different ways") as caught:
        splits.read(tmp_path)
    assert caught.value.found == "test: dates; train: numbers"


def test_a_rule_is_a_mapping_with_its_name(tmp_path):
    for rule, said in (
        (None, "a rule is written as a mapping"),
        ({}, "there is no rule None"),
        ({"rule": "LeaveOut", "filters": {}}, "filters is a list"),
        ({"rule": "LeaveOut", "filters": [1]}, "a filter is written as a mapping"),
        ({"rule": "LeaveOut", "filters": [{}]}, "there is no filter None"),
        ({"rule": "LeaveOut", "m": 1}, "LeaveOut has no parameter 'm'"),
        (
            {"rule": "LeaveOut", "filters": [{"filter": "MinRating"}]},
            "MinRating cannot be made of this",
        ),
    ):
        with pytest.raises(ParameterError, match=said):
            splits.from_dict(rule)
    filters = [{"filter": "KCore", "k": 2}, {"filter": "MinRows", "users": 3}]
    rule = splits.from_dict(
        {"rule": "UserHoldout", "fold_in": {"rule": "LeaveOut", "n": 2}, "filters": filters}
    )
    assert rule == splits.UserHoldout(
        fold_in=splits.LeaveOut(2), filters=[splits.KCore(2), splits.MinRows(3)]
    )


def test_a_card_without_a_file_for_an_empty_part_gives_it_back(tmp_path):
    table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": [1, 5, 5]})
    folder = splits.GlobalTime(at=5, target="first").split(table).save(tmp_path / "out")
    assert sorted(json.loads((folder / "split.json").read_text())["files"]) == [
        "test.parquet",
        "train.parquet",
    ]
    again = splits.read(folder)
    assert [*again.masks] == ["train", "history", "test"]
    assert len(again.history) == 0


@pytest.mark.parametrize("form", ["csv", "recbole"])
def test_text_of_whole_numbers_meets_text_ids(tmp_path, form):
    log = pl.DataFrame(
        {"user": ["1", "1", "2", "2"], "item": ["10", "11", "10", "12"], "timestamp": range(4)}
    )
    lists = {"1": ["11", "12"], "2": ["11", "12"]}
    split = splits.LeaveOut(1).split(log)
    folder = split.save(tmp_path / "parts", format=form)
    assert rw.evaluate(lists, folder, "recall@1")["recall@1"] == 0.5
    assert rw.evaluate(lists, split, "recall@1")["recall@1"] == 0.5
