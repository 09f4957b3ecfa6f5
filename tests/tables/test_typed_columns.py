"""Columns that are read as numbers at once give the table, or the error, of columns of text."""

from __future__ import annotations

import io
import itertools
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core import kernels
from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import ParameterError, RankwiseError
from rankwise.tables import delimited, files
from rankwise.tables import delimited as typed_columns
from rankwise.tables.delimited import expected_types, is_odd, look_at
from rankwise.tables.formats import Declared
from rankwise.tables.read import read_table

PLAIN = [str(number) for number in (0, 1, 7, 10, -3, 123456789, 999999999999999999)]
ODD = [
    "007",
    "+7",
    "-0",
    " 8",
    "8 ",
    "",
    "x",
    "1.5",
    "1e3",
    ".5",
    "5.",
    "nan",
    "inf",
    "true",
    "9007199254740993",
    "1234567890123456789",
    "9999999999999999999",
    '"9"',
    "1,5",
    "é",
    "1_0",
    "0x1",
]


def field(*, odd):
    return st.sampled_from([*PLAIN * 4, *ODD]) if odd else st.sampled_from(PLAIN)


@st.composite
def texts(draw):
    header = draw(st.sampled_from(["user,item,score", "user,item,rank,score", "user,item, score"]))
    width, odd = header.count(",") + 1, draw(st.booleans())
    lines = draw(st.lists(st.lists(field(odd=odd), min_size=width, max_size=width), min_size=1))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from(["", end, end * 2]))
    return end.join([header, *map(",".join, lines)]) + last


def outcome(path):
    try:
        table = read_table(path, "recommendations")
    except RankwiseError as error:
        return str(error)
    return table.frame.schema, table.frame.rows(), table.card


@given(texts())
def test_the_same_table_or_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("typed") / "run.csv"
    path.write_bytes(text.encode())
    ours = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "expected_types", lambda *_, **__: {})
        as_text = outcome(path)
    assert repr(ours) == repr(as_text)  # NaN is not equal to itself


needs_kernels = pytest.mark.skipif(
    kernels.implementation() != "compiled", reason=kernels.implementation()
)
NAMES = ["user", "item", "note"]


def whole(text, block=1 << 19):
    data = text.encode()
    types = expected_types(data[: 1 << 16], ",", NAMES, lambda _: [], has_header=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed_columns, "_BLOCK", block)
        return look_at(io.BytesIO(data), ",", NAMES, types, has_header=True)


@needs_kernels
@given(
    st.lists(st.tuples(field(odd=True), field(odd=True), st.text("ab1. -", max_size=4)), min_size=1)
)
def test_whole_columns_are_those_in_which_every_field_is(rows):
    rows = [tuple(part.replace('"', "").replace(",", "") for part in row) for row in rows]
    text = "user,item,note\n" + "".join(",".join(row) + "\n" for row in rows)
    expected = {
        name
        for name, column in zip(NAMES, zip(*rows, strict=True), strict=True)
        if all(re.fullmatch(WHOLE_NUMBER, one) and len(one.lstrip("-")) < 19 for one in column)
    }
    assert whole(text) == expected


@needs_kernels
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [30, 100, 1 << 16, 1 << 19])
def test_a_look_in_blocks_of_lines(block, end):
    lines = [f"{number},{number * 7},x" for number in range(2_000)]

    def seen():
        return whole(end.join(["user,item,note", *lines]), block)

    assert seen() == {"user", "item"}
    lines[1_500] = "1500,01,x"
    assert seen() == {"user"}
    lines[1_900] = '1900,2,"x"'
    assert seen() is None
    lines[1_900] = "1900,2,\0"
    assert seen() is None
    lines[1_900] = "1900,2," + "x" * block  # a line that is longer than a block
    assert seen() is None
    lines[1_900] = "1900,2"
    assert seen() == set()


@needs_kernels
@pytest.mark.parametrize(
    "odd", ["01", "+1", "-0", " 1", "1 ", "1\t", "1\r", '"1"', "x", "1234567890123456789"]
)
def test_behind_the_sample(tmp_path, odd):
    lines = ["user,item,score", *(f"{number},{number % 7},0.5" for number in range(200))]
    for at in (1, 2, 3, 150, 199, 200):
        path = tmp_path / "run.csv"
        path.write_text("\n".join([*lines[:at], f"{odd},8,-0.5", *lines[at + 1 :]]))
        ours = outcome(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "expected_types", lambda *_, **__: {})
            assert repr(outcome(path)) == repr(ours)


ODD_BYTES = re.compile(  # a field that starts oddly; blanks, marks and controls; a carriage return inside a line
    rb"(?:^|(?<=[,\n]))(?:\+|0[0-9]|-0(?!\.))|[\0-\x09\x0b\x0c\x0e-\x22]|\r(?!\n|\Z)"
)


@needs_kernels
@given(st.lists(st.sampled_from([*b'0017+-.,,\n\n\r \t"x\xff']), min_size=1), st.data())
def test_odd_text_is_found_wherever_it_is(letters, data):
    around = data.draw(st.sampled_from([b"", b"12,3\n" * 4000]))
    text = around + bytes(letters) + around
    middle = data.draw(st.integers(0, len(text)))
    parts = (0, middle), (middle, len(text))
    found = any(is_odd(text, *part, ",") for part in parts)
    assert found == bool(ODD_BYTES.search(text))


LETTERS = [*"017+-.e_x '\t\r\v\f/", "\xa0", "\u0660"]


@needs_kernels
def test_what_polars_reads_as_a_whole_number_is_written_as_one_or_is_odd():
    fields = ["".join(some) for n in (1, 2, 3) for some in itertools.product(LETTERS, repeat=n)]
    read = pl.read_csv(
        io.BytesIO("".join(f"{field};1\n" for field in fields).encode()),
        separator=";",
        has_header=False,
        schema={"id": pl.Int64, "one": pl.Int64},
        ignore_errors=True,
    )["id"].to_list()
    assert len(read) == len(fields)
    for field, number in zip(fields, read, strict=True):
        text = f"\n{field};1\n".encode()
        assert number is None or str(number) == field or is_odd(text, 1, len(text), ";")
    assert {"17", "-7"} < {field for field, number in zip(fields, read, strict=True) if number}


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (",item,score,\n007,1,.5,5\n7,3,.3,6\n", {"user": ""}, [("007", 1, 0.5), ("7", 3, 0.3)]),
        ("user,item,score\r\r\n1,2,0.5\r\n", None, [(1, 2, 0.5)]),
        ("user,item,rank\n1,1,9007199254740993\n", None, [(1, 1, 9007199254740993)]),
        ("user,item,rank\r\n1,2,1\r\n1,3,2\r", None, [(1, 2, 1), (1, 3, 2)]),
    ],
    ids=[
        "names that repeat",
        "two carriage returns",
        "more digits than floats have",
        "a last line without its line feed",
    ],
)
def test_odd_files_on_both_roads(tmp_path, text, columns, rows):
    (tmp_path / "run.csv").write_bytes(text.encode())
    assert read_table(tmp_path / "run.csv", "recommendations", columns).frame.rows() == rows
    with kernels.without_library():
        assert read_table(tmp_path / "run.csv", "recommendations", columns).frame.rows() == rows


def test_without_kernels_ids_are_text_at_first(tmp_path):
    (tmp_path / "run.csv").write_text("user,item,score\n1,2,0.5\n")
    with kernels.without_library():
        raw = files.read_file(tmp_path / "run.csv", numbers=lambda _: ["score"])
        table = read_table(tmp_path / "run.csv", "recommendations")
    assert [str(kind) for kind in raw.frame.dtypes] == ["String", "String", "Float64"]
    assert table.frame.rows() == [(1, 2, 0.5)]


@pytest.mark.parametrize("separator", ["§", "::", "ab", "\r", '"'])
def test_a_separator_is_one_character(tmp_path, separator):
    (tmp_path / "run.csv").write_text("user,item\n1,2\n")
    with pytest.raises(ParameterError, match="one ASCII character"):
        files.read_file(tmp_path / "run.csv", Declared("csv", separator))


@needs_kernels
@pytest.mark.parametrize(
    ("first", "last", "reads"),
    [("1,2,0.5", "3,4,0.5", 1), ('1,2,"x"', "3,4,0.5", 1), ("1,2,0.5", '3,4,"0.5"', 2)],
    ids=["numbers", "marks at the beginning", "marks at the end"],
)
def test_text_is_parsed_as_numbers_once(tmp_path, monkeypatch, first, last, reads):
    path, parsed = tmp_path / "run.csv", []
    middle = "".join(f"{n},7,0.25\n" for n in range(10_000))  # more than the first 64 KiB
    path.write_text(f"user,item,score\n{first}\n{middle}{last}\n")
    read = pl.read_csv
    monkeypatch.setattr(
        delimited.pl,
        "read_csv",
        lambda *args, **options: parsed.append(1) or read(*args, **options),
    )
    outcome(path)
    assert len(parsed) == reads
