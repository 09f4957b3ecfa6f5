"""Ids at the ends of their types, and compressed files at the limit of what they may unpack to."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile

import polars as pl
import pytest

from rankwise.errors import ColumnError, FileError, IdError
from rankwise.tables import formats
from rankwise.tables.columns import check_ids, missing_column_error, quoted_columns
from rankwise.tables.delimited import _stray_quote
from rankwise.tables.read import read_table

TABLE = read_table(pl.DataFrame({"user": ["a", "b"], "item": [1, 2]}), "interactions", None)


@pytest.mark.parametrize(
    "ids",
    [
        pl.Series([2**63 - 1, 0], dtype=pl.UInt64),
        pl.Series([-(2**63), 2**63 - 1], dtype=pl.Int128),
        pl.Series([0, 2**63 - 1], dtype=pl.UInt128),
        pl.Series([], dtype=pl.UInt64),
        pl.Series([], dtype=pl.Float64),
        pl.Series(["a", ""]),
        pl.Series([1, 2], dtype=pl.Int8),
    ],
)
def test_ids_that_fit_are_as_they_were(ids):
    found = check_ids(ids, "item", TABLE)
    assert found.to_list() == ids.to_list()
    assert found.dtype == (pl.Int64 if ids.dtype in (pl.Int128, pl.UInt128) else ids.dtype)


@pytest.mark.parametrize(
    ("ids", "what", "found", "hint"),
    [
        (
            pl.Series([0, 2**63], dtype=pl.UInt64),
            "integer ids must fit 64 bits with a sign",
            str(2**63),
            "cast the column to strings in every table",
        ),
        (
            pl.Series([0, 2**64], dtype=pl.Int128),
            "integer ids must fit 64 bits with a sign",
            str(2**64),
            "cast the column to strings in every table",
        ),
        (
            pl.Series([1, None, None]),
            "an item id is null",
            "2 null ids",
            "drop those rows or give them an id",
        ),
        (
            pl.Series([1.0, 2.5]),
            "ids are integers or strings",
            "Float64",
            "cast the column to integers or strings (a column with gaps becomes float in pandas: drop or fill the gaps first)",
        ),
        (
            pl.Series([[1], [2]]),
            "ids are integers or strings",
            "List(Int64)",
            "join the parts of an id into one text; several items of a user are one row each",
        ),
        (
            pl.Series([True, False]),
            "ids are integers or strings",
            "Boolean",
            "cast the column to integers or strings",
        ),
    ],
)
def test_ids_that_do_not_fit_are_told(ids, what, found, hint):
    with pytest.raises(IdError) as error:
        check_ids(ids, "item", TABLE)
    assert (error.value.what, error.value.found, error.value.hint) == (what, found, hint)
    assert "column 'item'" in error.value.where
    assert (", row 2" in error.value.where) == ("null" in what)


def test_columns_are_quoted():
    assert quoted_columns(["a", "b'"]) == "columns 'a', \"b'\""
    assert quoted_columns([]) == "no columns"
    error = missing_column_error("no rating", "rating", TABLE)
    assert isinstance(error, ColumnError)
    assert (error.what, error.found, error.hint) == (
        "no rating",
        "columns 'user', 'item'",
        'say which: columns={"rating": "…"}',
    )


def packed_zip(data, *others):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("t.csv", *others):
            archive.writestr(name, data)
    return out.getvalue()


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zip": packed_zip}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_what_unpacks_to_the_limit_is_read_and_one_byte_more_is_not(pack, monkeypatch):
    data = b"user,item\n1,2\n" * 100
    small = pack(data)
    assert formats.is_packed(small)
    for size, ratio in ((len(data), 0), (0, 10_000)):
        monkeypatch.setattr(formats, "_SMALL", size)
        monkeypatch.setattr(formats, "_RATIO", ratio)
        assert formats.unpacked(small, "t") == data
    monkeypatch.setattr(formats, "_SMALL", len(data) - 1)
    monkeypatch.setattr(formats, "_RATIO", 0)
    with pytest.raises(FileError, match="it unpacks to far more") as error:
        formats.unpacked(small, "t")
    assert error.value.found == f"over {len(data) - 1:,} bytes"
    assert error.value.hint == "unpack it first, if it is what it should be"
    with pytest.raises(FileError, match="damaged or cut short"):
        formats.unpacked(small[: len(small) // 2], "t")


def test_plain_data_is_not_packed():
    assert formats.unpacked(b"user,item\n", "t") == b"user,item\n"
    assert not formats.is_packed(b"user")
    assert formats._RATIO * 5 * 2**20 < formats._SMALL < formats._RATIO * 6 * 2**20


def test_an_archive_holds_one_table_beside_hidden_files():
    assert formats.unpacked(packed_zip(b"x", "__MACOSX/t.csv", ".DS_Store", "folder/"), "t") == b"x"
    with pytest.raises(FileError, match="holds one table") as error:
        formats.unpacked(packed_zip(b"x", *"bcdefg"), "t")
    assert error.value.found == "7 files: t.csv, b, c, d, e"
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    assert (
        formats.unpacked(empty.getvalue(), "t") == empty.getvalue()
    )  # it does not begin as one with files


@pytest.mark.parametrize("size", [0, 1, 2**24, 2**24 + 1, 2**25 + 7])
def test_a_stream_is_read_in_steps(size):
    data = bytes(size)
    assert formats._bounded(io.BytesIO(data), size, "t") == data
    if size:
        with pytest.raises(FileError, match="too large to be read") as error:
            formats._bounded(io.BytesIO(data), size - 1, "t")
        assert error.value.hint == "write it as Parquet, which is read in pieces with chunk_rows"


def test_the_memory_is_that_of_the_system_or_64_gib(tmp_path, monkeypatch):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert formats._memory() == memory

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert formats._memory() == 64 * 2**30
    (tmp_path / "t").write_bytes(b"12345")
    for limit, fits in ((5, True), (4, False)):
        monkeypatch.setattr(formats, "_memory", lambda limit=limit: limit)
        assert formats.fits_memory(tmp_path / "t") == fits


def test_training_rows_are_those_that_are_marked():
    frame = pl.DataFrame({"user": [1, 2, 3], "item": [4, 5, 6], "trained": [True, False, True]})
    table = TABLE.with_frame(frame)
    assert table.trained.frame.to_dicts() == [{"user": 1, "item": 4}, {"user": 3, "item": 6}]
    assert TABLE.trained is TABLE
    assert TABLE.with_ids("item", pl.Series([7, 8])).frame["item"].to_list() == [7, 8]


@pytest.mark.parametrize(
    ("line", "stray"),
    [
        ('"a",b', False),
        ('"a""b",c', False),
        ('""', False),
        ('a,""', False),
        (' "a" ,b', False),
        ('a"b,c', True),
        ('"a"b",c', True),
        ('"a,b', True),
        ('a",b', True),
        ('"', True),
    ],
)
def test_a_quote_that_is_neither_around_a_field_nor_doubled_is_stray(line, stray):
    data = f"user,item\n{line}\n".encode()
    assert _stray_quote(data, formats.Format("csv", separator=",")) == (
        (2, line) if stray else (0, "")
    )
