"""What a file holds before it is a table: beginnings, JSON, folders and keys, case by case."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rankwise.errors import ColumnError, FileError
from rankwise.tables import files, storage
from rankwise.tables.files import (
    folder_of_list,
    is_list_of_paths,
    is_table_folder,
    read_file,
    read_parts,
    scan_parquet,
    table_hash,
)
from rankwise.tables.storage import file_hash, file_state, is_folder, is_parquet, polars_path


@pytest.mark.parametrize(
    ("data", "n"),
    [
        (b"a\n" + b"b" * 2**17, 2**16),
        (b"a" * 2**17 + b"\nb", 2**17),
        (b"a" * 2**17, 2**16),
        (b"a\nb", 3),
    ],
)
def test_the_beginning_of_a_file_has_its_first_line(data, n):
    assert files._head(data) == data[:n]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa\n", b"a\n"),
        ("a\nb".encode("utf-16"), b"a\nb"),
        ("é".encode("utf-16-be").join([b"\xfe\xff", b""]), "é".encode()),
        (b"a\rb\r", b"a\nb\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"PAR1\0", b"PAR1\0"),
        (b"", b""),
    ],
)
def test_text_is_utf8_with_lines(data, text):
    assert files._plain_text(data, "a file") == text


@pytest.mark.parametrize(
    ("data", "said", "found"),
    [
        (b"a\0b", "neither text nor Parquet", "a NUL byte at position 1"),
        (b"\xff\xfea", "not UTF-16", None),
        (b"a\xe9\n", "not in UTF-8", "'a\\\\xe9'"),
    ],
)
def test_what_is_no_text_is_refused(data, said, found):
    with pytest.raises(FileError, match=said) as caught:
        files._plain_text(data, "a file")
    assert caught.value.found == found


@pytest.mark.parametrize(
    ("line", "depth"),
    [
        (b"{}", 1),
        (b"[[], {}]", 2),
        (b'{"a": "[[[["}', 1),
        (b'{"\\"[": [1]}', 2),
        (b"1", 0),
        (b"", 0),
    ],
)
def test_the_depth_of_a_line_counts_what_is_open_outside_of_text(line, depth):
    assert files._depth(line) == depth


def test_lines_of_json_are_nested_to_64_levels():
    for levels, refused in ((63, False), (64, True)):
        line = (
            json.dumps({"user": 1}) + "\n" + '{"user": 2, "x": ' + "[" * levels + "]" * levels + "}"
        )
        if refused:
            with pytest.raises(FileError, match="nested too deeply") as caught:
                files._json_lines(line.encode(), "a file")
            assert caught.value.where == "a file, line 2"
        else:
            assert files._json_lines(line.encode(), "a file")["user"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("text", "said", "where"),
    [
        ('{"a": 1}\n{"a": }', "not JSON", "a file, line 2"),
        ('{"a": 1}\n{"a": 2, "a": 3}', "duplicate key 'a'", "a file, line 2"),
        ('{"a": 1}\n{"a": NaN}', "not JSON", "a file, line 2"),
    ],
)
def test_a_line_that_is_no_json_is_named(text, said, where):
    with pytest.raises(FileError, match=said) as caught:
        files._json_lines(text.encode(), "a file")
    assert caught.value.where == where


def test_text_that_looks_like_a_repeated_key_is_none():
    frame = files._json_lines(b'{"a": "a", "b": "\\"a\\""}\n{"a": "x", "b": "y"}', "a file")
    assert frame.rows() == [("a", '"a"'), ("x", "y")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,', "this is not JSON"),
        ('{"a": 1, "a": 2}', "duplicate key"),
        ("[" * 10**5, "nested too deeply"),
        ("5", "does not hold a table"),
        ("[]", "does not hold a table"),
    ],
)
def test_documents_that_hold_no_table_are_refused(text, said):
    with pytest.raises(FileError, match=said):
        files._json(text.encode(), "a file")


def test_several_documents_are_lines():
    frame, form = files._json(b'{"user": 1, "item": 2}\n{"user": 3, "item": 4}', "a file")
    assert (frame.rows(), form.name) == ([(1, 2), (3, 4)], "json lines")
    frame, form = files._json(b'[{"user": 1, "item": 2}]', "a file")
    assert (frame.rows(), form.name) == ([(1, 2)], "json")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], [1, None]),
        (["1", "02"], ["1", "02"]),
        (["1", "a"], ["1", "a"]),
        (["9" * 18], [10**18 - 1]),
        (["9" * 19], ["9" * 19]),
        (["__HIVE_DEFAULT_PARTITION__"], [None]),
    ],
)
def test_keys_of_folders_are_whole_numbers_if_all_are(texts, values):
    assert files._typed("key", texts).to_list() == values


def test_folders_are_named_for_columns():
    assert files._values(["a", "year=2020", "x%3D1=b%20c", "d==e"]) == {
        "year": "2020",
        "x=1": "b c",
        "d": "=e",
    }


@pytest.fixture
def folder(tmp_path):
    """A folder of two files, each in a folder of its own that is named for the year."""
    for year in (2021, 2020):
        (tmp_path / "rows" / f"year={year}").mkdir(parents=True)
        frame = pl.DataFrame({"user": [year % 10], "item": [7], "x": ["a"]})
        frame.write_parquet(tmp_path / "rows" / f"year={year}" / "part.parquet")
    (tmp_path / "rows" / "_SUCCESS").write_text("")
    return tmp_path / "rows"


def test_files_of_a_table_are_read_in_the_order_of_their_paths(folder):
    raw = read_parts(folder)
    assert raw.frame.rows() == [(0, 7, "a", 2020), (1, 7, "a", 2021)]
    assert raw.names == ("user", "item", "x", "year")
    paths = [folder / "year=2021" / "part.parquet", folder / "year=2020" / "part.parquet"]
    listed = read_parts(paths)
    assert (listed.frame.equals(raw.frame), listed.sha256) == (True, raw.sha256)
    assert raw.sha256 == table_hash(folder) == table_hash(paths) != table_hash(paths[:1])
    assert table_hash(paths[0]) == file_hash(paths[0])
    assert listed.name == f"2 files in {folder}"
    assert folder_of_list(listed.name) == folder
    assert [folder_of_list(name) for name in (str(folder), "x files in y", "2 files in ")] == [
        None
    ] * 3
    some = read_parts(folder, projection=lambda schema: ["item", "year"])
    assert some.frame.rows() == [(7, 2020), (7, 2021)]
    assert read_parts(folder, projection=lambda schema: ["year"]).frame["year"].to_list() == [
        2020,
        2021,
    ]


def test_folders_that_are_no_table(folder, tmp_path):
    assert is_table_folder(folder)
    assert not is_table_folder(folder / "year=2020" / "part.parquet")
    assert not is_table_folder(tmp_path / "nothing")
    (tmp_path / "text").mkdir()
    assert not is_table_folder(tmp_path / "text")
    (tmp_path / "text" / "a.csv").write_text("user,item\n")
    assert not is_table_folder(tmp_path / "text")
    for name, said in (
        ("result.json", "a saved result"),
        ("_delta_log", "a Delta table"),
        ("split.json", "a split"),
    ):
        (folder / name).write_text("")
        assert not is_table_folder(folder)
        with pytest.raises(FileError, match=said):
            read_parts(folder)
        (folder / name).unlink()
    (folder / "0").mkdir()
    with pytest.raises(FileError, match="a split"):
        read_parts(folder)
    (folder / "0").rename(folder / "x")
    with pytest.raises(FileError, match="is not named key=value") as caught:
        read_parts(folder)
    assert caught.value.found == "x"


def test_files_of_one_table_have_the_same_columns(folder):
    odd = folder / "year=2022"
    odd.mkdir()
    for frame, said, found in (
        (pl.DataFrame({"user": [1], "item": [7]}), "do not have the same columns", "no column 'x'"),
        (
            pl.DataFrame({"user": [1], "item": ["7"], "x": ["a"]}),
            "columns of different types",
            f"'item' is String, and Int64 in {folder / 'year=2020' / 'part.parquet'}",
        ),
        (
            pl.DataFrame({"user": [1], "item": [7], "x": ["a"], "y": [1]}),
            "do not have the same",
            "no column 'y'",
        ),
    ):
        frame.write_parquet(odd / "part.parquet")
        with pytest.raises(ColumnError, match=said) as caught:
            read_parts(folder)
        assert caught.value.found == found
    pl.DataFrame({"user": [1], "item": [7], "x": ["a"], "year": [1]}).write_parquet(
        odd / "part.parquet"
    )
    with pytest.raises(ColumnError, match="in this file and in the name of its folder"):
        read_parts(folder)


def test_lists_of_paths_are_told_from_lists_of_ids(folder, tmp_path):
    path = folder / "year=2020" / "part.parquet"
    assert is_list_of_paths([str(path)], "truth")
    assert is_list_of_paths([path, "x"], "items")
    assert is_list_of_paths(["a.parquet", "b.pq"], "items")
    assert not is_list_of_paths(["a.parquet", "b"], "items")
    (tmp_path / "a").write_text("")
    assert is_list_of_paths([str(tmp_path / "a")], "truth")
    assert not is_list_of_paths([str(tmp_path / "a")], "items")
    for source in ([], "a.parquet", [1], [("a", "b")]):
        assert not is_list_of_paths(source, "truth")


def test_columns_of_a_parquet_file_are_those_of_the_projection(folder):
    path = folder / "year=2020" / "part.parquet"
    scan, names = scan_parquet(path, lambda schema: ["x", "user"])
    assert (scan.collect().columns, names) == (["user", "x"], ("user", "item", "x"))
    assert scan_parquet(path, None)[0].collect().columns == ["user", "item", "x"]


def test_states_and_kinds_of_files(folder, tmp_path):
    path = folder / "year=2020" / "part.parquet"
    state = file_state(path)
    assert state == (path.stat().st_ino, path.stat().st_size, path.stat().st_mtime_ns)
    for other in (folder, tmp_path / "nothing", Path("a\0b")):
        assert file_state(other) is None
    assert is_folder(folder)
    assert not is_folder("x" * 9999)
    plain = path.rename(folder / "data")
    assert is_parquet(plain)
    (folder / "text").write_text("PAR")
    assert not is_parquet(folder / "text")
    assert not is_parquet(folder / "nothing")
    assert is_parquet(folder / "nothing.pq")
    assert polars_path(Path("~/a")) == str(Path.cwd() / "~" / "a")
    assert polars_path(Path("a\udcff")) is None


def test_what_is_written_last_is_what_is_read(tmp_path):
    storage.write_text(tmp_path / "a.txt", "x\udcff")
    assert (tmp_path / "a.txt").read_text() == "x\\udcff"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_without_text_is_empty(tmp_path):
    for data in (b"", b" \n\t"):
        (tmp_path / "a.csv").write_bytes(data)
        with pytest.raises(FileError, match="the file is empty"):
            read_file(tmp_path / "a.csv")
