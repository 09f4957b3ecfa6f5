"""The format of a file by its name and first line, case by case."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rankwise.errors import FileError, ParameterError
from rankwise.tables import formats
from rankwise.tables.formats import Declared, Format, plain_stem, sniff

RUN = Format("trec run", "", ("user", "q0", "item", "rank", "score", "tag"))
QRELS = Format("trec qrels", "", ("user", "iteration", "item", "relevance"))


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("a.parquet", "", Format("parquet")),
        ("a.PQ", "user,item", Format("parquet")),
        ("a.txt", "PAR1", Format("parquet")),
        ("a.jsonl", "{}", Format("json lines")),
        ("a.ndjson.gz", "{}", Format("json lines")),
        ("a.json", "", Format("json")),
        ("a.txt", "  [1]", Format("json")),
        ("a", '{"a": 1}', Format("json")),
        (
            "ratings.dat",
            "1::2::3::4",
            Format("movielens", "::", ("user", "item", "rating", "timestamp")),
        ),
        ("movies.dat", "1::a::b", Format("movielens", "::", ("item", "title", "genres"))),
        (
            "users.dat",
            "1::F::1::2::3",
            Format("movielens", "::", ("user", "gender", "age", "occupation", "zip")),
        ),
        (
            "u.data",
            "1\t2\t3\t4",
            Format("movielens", "\t", ("user", "item", "rating", "timestamp")),
        ),
        (
            "a.data",
            "user\titem\tscore",
            Format("csv", "\t", ("user", "item", "score"), has_header=True),
        ),
        ("a.run", "1 Q0 d 1 0.5 bm25", RUN),
        ("a.txt", "1 q0 d 1 0.5 bm25", RUN),
        ("a.run", "1 x d 1 0.5 bm25", RUN),
        ("a.trec", "1 x d 1 0.5 bm 25", RUN),
        ("a.run", "# comment\n1 Q0 d 1 0.5 bm25", RUN),
        ("a.run", "1 Q0 d 1 0.5 bm25 # note", RUN),
        ("a.txt", "1 0 d 2", QRELS),
        ("a", "1 Q0 d 2", QRELS),
        ("my.qrels", "1 x d 2", QRELS),
        ("qrels/a.qrels", "1 0 d 2 # note", QRELS),
        ("a.csv", "user,item", Format("csv", ",", ("user", "item"), has_header=True)),
        ("a.csv", "user;item;x,y", Format("csv", ";", ("user", "item", "x,y"), has_header=True)),
        ("a.csv", "user|item", Format("csv", "|", ("user", "item"), has_header=True)),
        ("a.csv", "user\titem", Format("csv", "\t", ("user", "item"), has_header=True)),
        ("a.tsv", "user,item", Format("csv", "\t", ("user,item",), has_header=True)),
        ("a.csv", "user", Format("csv", ",", ("user",), has_header=True)),
        ("a.csv", '"user, id" , item', Format("csv", ",", ("user, id", "item"), has_header=True)),
        ("a.csv", "1,2,user", Format("csv", ",", ("1", "2", "user"), has_header=True)),
        ("a.csv", "\r\n\nuser,item", Format("csv", ",", ("user", "item"), has_header=True)),
        ("a.csv", "1 0 d 2", Format("csv", ",", ("1 0 d 2",), has_header=True)),
        ("a.csv", "a,b 0 c d", Format("csv", ",", ("a", "b 0 c d"), has_header=True)),
        (
            "a.csv",
            "a b,c d,e f,g h",
            Format("csv", ",", ("a b", "c d", "e f", "g h"), has_header=True),
        ),
        (
            "a.inter",
            "u:token\ti:token_seq\tr:float",
            Format("recbole", "\t", ("u:token", "i:token_seq", "r:float"), has_header=True),
        ),
        ("a.inter", "u:token\ti", Format("csv", "\t", ("u:token", "i"), has_header=True)),
    ],
)
def test_a_format_is_told_by_name_and_first_line(name, line, expected):
    assert sniff(name, line.encode()) == expected


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("a.txt", "user", "the format of this file was not recognised"),
        ("a.txt", "1 2 3", "the format of this file was not recognised"),
        ("a.csv", "1,2.5,-3", "the first line holds numbers"),
        ("a.csv", "1,1", "the first line holds numbers"),
        ("a.csv", "user,user", "two columns of this file have the same name"),
        ("a.csv", "1,1,x", "seems to have no header"),
        ("a.csv", "sep=;", "says how fields are separated"),
        ("a.csv", '"sep=,"', "says how fields are separated"),
        ("a.dat", "1::2", "a MovieLens file has 3, 4 or 5 fields"),
        ("a.dat", "1::2::3::4::5::6", "a MovieLens file has 3, 4 or 5 fields"),
    ],
)
def test_first_lines_that_tell_no_format_are_refused(name, line, said):
    with pytest.raises(FileError, match=said):
        sniff(name, line.encode())


@pytest.mark.parametrize(
    ("declared", "line", "expected"),
    [
        (Declared("parquet"), "", Format("parquet")),
        (Declared("json lines", ";"), "", Format("json lines")),
        (Declared("trec qrels"), "a b c d", QRELS),
        (Declared("trec run"), "", RUN),
        (Declared("movielens"), "1::2::3", Format("movielens", "::", ("item", "title", "genres"))),
        (
            Declared("movielens", "%%"),
            "1%%2%%3",
            Format("movielens", "%%", ("item", "title", "genres")),
        ),
        (Declared("movielens", None, ("u", "i")), "1::2", Format("movielens", "::", ("u", "i"))),
        (Declared("csv"), "a;b;c,d", Format("csv", ";", ("a", "b", "c,d"), has_header=True)),
        (Declared("csv"), "a\tb;c;d", Format("csv", "\t", ("a", "b;c;d"), has_header=True)),
        (Declared("csv", " "), "a b\r\nc d", Format("csv", " ", ("a", "b"), has_header=True)),
        (Declared("csv", None, ("u", "i")), "1|2", Format("csv", "|", ("u", "i"))),
        (Declared("recbole"), "a:token", Format("recbole", ",", ("a:token",), has_header=True)),
    ],
)
def test_what_is_said_of_a_file_goes_before_what_it_looks_like(declared, line, expected):
    assert declared.resolve("a.txt", line.encode()) == expected


@pytest.mark.parametrize("separator", ["", "::", "é", "\r", "\n", '"'])
def test_a_separator_of_csv_is_one_ascii_character(separator):
    with pytest.raises(ParameterError, match="one ASCII character") as caught:
        Declared("csv", separator).resolve("a.csv", b"a,b")
    assert caught.value.found == repr(separator)


@pytest.mark.parametrize(
    ("separator", "name"),
    [(",", "comma"), ("\t", "tab"), (";", "semicolon"), ("|", "bar"), (" ", "blank"), ("~", "~")],
)
def test_a_format_of_text_names_its_separator(separator, name):
    assert str(Format("csv", separator)) == f"csv ({name})"
    assert str(Format("recbole", separator)) == "recbole"


def test_the_name_of_a_file_has_no_folders_and_no_suffixes():
    assert [plain_stem(path) for path in ("a/b/bpr.csv.gz", "bpr", ".hidden", "a/")] == [
        "bpr",
        "bpr",
        ".hidden",
        "a",
    ]


def test_a_stream_may_have_as_many_bytes_as_allowed(monkeypatch):
    monkeypatch.setattr(formats, "_STEP", 4)
    for data in (b"", b"ab", b"abcd", b"abcdefghij"):
        assert formats._bounded(io.BytesIO(data), 10, "a file") == data
    with pytest.raises(FileError, match="too large to be read") as caught:
        formats._bounded(io.BytesIO(b"abcdefghijk"), 10, "a file")
    assert caught.value.found == "over 10 bytes"


def test_a_file_as_large_as_the_memory_fits_it(monkeypatch, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    for memory, fits in ((2, False), (3, True), (4, True)):
        monkeypatch.setattr(formats, "_memory", lambda memory=memory: memory)
        assert formats.fits_memory(Path(path)) is fits
