"""Parquet files: the columns that are needed, in one piece, whatever is in the others."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal

import rankwise as rw
from rankwise.errors import ColumnError, FileError, IdError
from rankwise.tables import files
from rankwise.tables.files import read_parquet
from rankwise.tables.read import Chunks, read_table
from tools import deep

RNG = np.random.default_rng(7)
N = 1_000


def table(**more):
    columns = {
        "whole": RNG.integers(-(2**60), 2**60, N),
        "small": RNG.integers(0, 200, N).astype(np.uint8),
        "unsigned": RNG.integers(2**63, 2**64, N, dtype=np.uint64),
        "float": RNG.random(N).astype(np.float32),
        "text": RNG.integers(0, 30, N).astype(str),
        "truth": RNG.random(N) < 0.5,
        "gaps": [None if n % 97 == 5 else n for n in range(N)],
        "lists": [[n, n + 1] for n in range(N)],
        "times": pl.Series(range(N)).cast(pl.Datetime),
        "nan": np.where(RNG.random(N) < 0.1, np.nan, 1.0),
    }
    return pl.DataFrame(columns | more)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 100, 999, *deep(7, 1000, 5000)])
@pytest.mark.parametrize("group", [64, *deep(1, 1000)])
def test_parts_make_the_whole(tmp_path, monkeypatch, rows, group):
    monkeypatch.setattr(files, "_ROWS", rows)
    whole = table()
    whole.write_parquet(tmp_path / "table.parquet", row_group_size=group)
    for source in (
        tmp_path / "table.parquet",
        io.BytesIO((tmp_path / "table.parquet").read_bytes()),
    ):
        found, names = read_parquet(source, "table")
        assert_frame_equal(found, whole)
        assert names == tuple(whole.columns)
        assert max(found.n_chunks("all")) == 1


def test_no_rows_and_no_columns(tmp_path):
    for whole in (table().head(0), pl.DataFrame()):
        whole.write_parquet(tmp_path / "table.parquet")
        assert_frame_equal(read_parquet(tmp_path / "table.parquet", "table")[0], whole)


WIDE = pl.DataFrame(
    {
        "title": ["x"] * 4,
        "user_id": [1, 1, 2, 2],
        "note": [None] * 4,
        "item": [3, 4, 3, 5],
        "score": [0.9, 0.4, 0.8, 0.1],
        "vector": [[1.0], [2.0], [3.0], [4.0]],
    }
)


def test_columns_that_are_not_needed_are_not_read(tmp_path, monkeypatch):
    wide = WIDE.drop("vector")
    wide.write_parquet(tmp_path / "run.parquet")
    read = []
    monkeypatch.setattr(
        files.pl,
        "scan_parquet",
        lambda *args, scan=pl.scan_parquet, **options: (
            read.append(scan(*args, **options)) or read[-1]
        ),
    )
    got = read_table(tmp_path / "run.parquet", "recommendations")
    assert got.frame.columns == ["user", "item", "score"]
    assert got.unread == ("title", "note")
    in_memory = read_table(wide, "recommendations")
    assert in_memory.unread == got.unread
    assert_frame_equal(in_memory.frame, got.frame)
    found, names = read_parquet(tmp_path / "run.parquet", "", lambda _: ["item"])
    assert found.columns == ["item"]
    assert names == ("title", "user_id", "note", "item", "score")
    assert len(read) == 2


@pytest.mark.parametrize(
    "source", ["file", "list of files", "dataset", "chunks", "chunks of several files"]
)
def test_damage_in_a_column_that_is_not_needed_does_no_harm(tmp_path, source):
    path = tmp_path / "run.parquet"
    WIDE.drop("vector").write_parquet(path, compression="uncompressed", statistics=False)
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 16 + content[20:])  # where the first column starts
    with pytest.raises(pl.exceptions.ComputeError, match="bad data"):
        pl.read_parquet(path, columns=["title"])
    read = {
        "file": lambda: [read_table(path, "recommendations")],
        "list of files": lambda: [read_table([path], "recommendations")],
        "dataset": lambda: [read_table(pyarrow.dataset.dataset(path), "recommendations")],
        "chunks": lambda: Chunks(path, 2, None),
        "chunks of several files": lambda: Chunks([path], 2, None),
    }
    rows = [row for table in read[source]() for row in table.frame.rows()]
    assert rows == WIDE.select("user_id", "item", "score").rows()


@pytest.mark.parametrize(
    "role", ["recommendations", "truth", "train", "reference", "items", "users", "interactions"]
)
@pytest.mark.parametrize(
    "names",
    [
        {},
        {"score": "pred"},
        {"score": "x1"},
        {"item": "items"},
        {"user_id": "who"},
        {"note": "rating"},
        {"score": "rating", "title": "score"},
        {"note": "timestamp", "title": "weight"},
        {"score": "^x$"},
        {"score": "*"},
        {"title": "^x$", "note": "*"},
        {"title": ""},
        {"score": ""},
        {"title": "column_0", "note": ""},
        {"user_id": "^who$"},
        {"title": "^.*$"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "columns", [None, {"user": "who"}, {"recommendations.score": None}], ids=str
)
def test_a_file_is_read_like_the_table_in_it(tmp_path, role, names, columns):
    """The same table, unread columns and errors, wherever names are recognised, or not."""
    frame = WIDE.drop("vector").rename(names)
    frame.write_parquet(tmp_path / "run.parquet")

    def outcome(source):
        try:
            got = read_table(source, role, columns)
        except ColumnError as error:
            return error.args[0].split("\n")[0], error.found, error.hint
        return got.frame.rows(), got.frame.schema, got.columns, got.unread

    assert outcome(tmp_path / "run.parquet") == outcome(frame)


@pytest.mark.parametrize("name", ["^x$", "*", ""])
def test_names_that_are_patterns_elsewhere(tmp_path, name, monkeypatch):
    """Nothing is dropped because its name means several columns to Polars, or none."""
    monkeypatch.setattr(files, "_ROWS", 2)
    items = pl.DataFrame({name: [0.5, 0.25, 1.0], "item": [3, 4, 5], "x": ["a", "b", "c"]})
    items.write_parquet(tmp_path / "items.parquet")
    items.write_csv(tmp_path / "items.csv")
    found = read_table(tmp_path / "items.parquet", "items").frame
    assert {column.name: column.to_list() for column in found} == items.to_dict(as_series=False)
    assert {*read_table(tmp_path / "items.csv", "items").frame.columns} == {*items.columns}
    lists = pl.DataFrame({"user": [1, 1], "item": [3, 4], name: [0.5, 0.25]})
    lists.write_parquet(tmp_path / "run.parquet")
    for rows in (None, 1):
        if name:  # numbers of rows have no name
            with pytest.raises(ColumnError, match="could be it"):
                rw.evaluate(tmp_path / "run.parquet", {1: {4}}, "mrr", chunk_rows=rows)
        ordered = {"recommendations.score": name}
        result = rw.evaluate(
            tmp_path / "run.parquet", {1: {4}}, "mrr", columns=ordered, chunk_rows=rows
        )
        assert result["mrr"] == 0.5


def test_chunks_read_what_a_whole_file_reads(tmp_path):
    path = tmp_path / "run.parquet"
    WIDE.drop("vector").write_parquet(path)
    truth = {1: {3}, 2: {5}}
    chunks = Chunks(path, 2, None)
    assert {tuple(chunk.frame.columns) for chunk in chunks} == {("user", "item", "score")}
    cards = [
        rw.evaluate(path, truth, "mrr", chunk_rows=rows).provenance["inputs"]["recommendations"]
        for rows in (None, 2)
    ]
    assert cards[0]["unread"] == cards[1]["unread"] == ["title", "note"]


def test_unsigned_ids_with_a_null(tmp_path):
    lists = pl.DataFrame({"user": pl.Series([1, None], dtype=pl.UInt64), "item": [1, 2]})
    lists.write_parquet(tmp_path / "run.parquet")
    with pytest.raises(IdError, match="a user id is null"):
        read_table(tmp_path / "run.parquet", "recommendations")


def test_null_ids_in_a_later_part(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS", 10)
    lists = pl.DataFrame({"user": [*range(95), None], "item": range(96)})
    lists.write_parquet(tmp_path / "run.parquet")
    with pytest.raises(IdError, match="a user id is null") as error:
        read_table(tmp_path / "run.parquet", "recommendations")
    assert "row 96" in str(error.value)


def test_a_part_that_is_shorter_than_the_file_says(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS", 10)
    pl.DataFrame({"user": range(25), "item": range(25)}).write_parquet(tmp_path / "run.parquet")
    cut = pl.LazyFrame.slice
    monkeypatch.setattr(
        pl.LazyFrame, "slice", lambda file, first, n=None: cut(file, first, n and n - 1)
    )
    with pytest.raises(FileError, match="damaged or cut short"):
        read_table(tmp_path / "run.parquet", "recommendations")


@pytest.mark.parametrize("name", ["run.parquet", "run.csv"])
def test_a_progress_bar_while_a_file_is_read(tmp_path, monkeypatch, capsys, name):
    monkeypatch.setattr(files, "_ROWS", 10)
    monkeypatch.setattr("rankwise.core.terminal._PATIENCE", 0)
    lists = pl.DataFrame({"user": range(99), "item": range(99)})
    (lists.write_csv if name == "run.csv" else lists.write_parquet)(tmp_path / name)
    read_table(tmp_path / name, "recommendations", progress=True)
    assert ("rows" if name == "run.parquet" else "bytes") in capsys.readouterr().err
    for progress in (False, None):  # stderr is no terminal here
        read_table(tmp_path / name, "recommendations", progress=progress)
        assert capsys.readouterr().err == ""
