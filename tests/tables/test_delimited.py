"""Columns of numbers in text, and lines that are malformed, case by case."""

from __future__ import annotations

import io

import polars as pl
import pytest

from rankwise.core import kernels
from rankwise.errors import FileError
from rankwise.tables import delimited
from rankwise.tables.delimited import (
    expected_types,
    is_plain,
    locate,
    look_at,
    malformed_line_error,
    read_delimited,
    read_numbers,
)
from rankwise.tables.formats import Format

needs_kernels = pytest.mark.skipif(
    kernels.load() is None, reason=f"no compiled loops here: {kernels.implementation()}"
)
NAMES = ["user", "item", "score"]


def types(text, names=NAMES, *, separator=",", header=True, scores=("score",)):
    head = ",".join(names) + "\n" if header is True else header or ""
    found = expected_types(
        (head + text).encode(), separator, names, lambda names: scores, has_header=bool(header)
    )
    return {name: str(kind) for name, kind in found.items()}


@needs_kernels
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,0.5\n", {"user": "Int64", "item": "Int64", "score": "Float64"}),
        ("1,2,3\n", {"user": "Int64", "item": "Int64", "score": "Int64"}),
        ("1,02,1e3\n", {"user": "Int64", "score": "Float64"}),
        ("1,+2,.5\n", {"user": "Int64", "score": "Float64"}),
        ("-1,-0,-5.\n", {"user": "Int64", "score": "Float64"}),
        ("0,a,x\n", {"user": "Int64"}),
        ("1,2,0.5\na,2,0.5\n", {"item": "Int64", "score": "Float64"}),
        (
            "1,2,0.5\n1,2",
            {"user": "Int64", "item": "Int64", "score": "Float64"},
        ),  # half a line tells nothing
        ("1,2,0.5\n1,2\n", {}),
        ("1,2,0.5,\n", {}),
        ("", {}),
        ('1,"2",0.5\n', {}),
        ("123456789012345678,1234567890123456789,0\n", {"user": "Int64", "score": "Int64"}),
        ("1,2,0.5\r\n3,4,5\r\n", {"user": "Int64", "item": "Int64", "score": "Float64"}),
    ],
)
def test_columns_are_numbers_if_the_first_lines_are(text, expected):
    assert types(text) == expected


@needs_kernels
def test_only_scores_are_decimal_numbers_and_names_must_be_those_of_the_first_line():
    assert types("1,0.5,x\n") == {"user": "Int64"}
    assert types("1,2,0.5\n", scores=()) == {"user": "Int64", "item": "Int64"}
    assert types("1,2,0.5\n", header="user, item,score\n") == {}
    assert (
        types("1,2,0.5\n", header="user,item,score\r\n")
        == types("1,2,0.5\n", header="user,item,score\n")
        != {}
    )
    assert types("1,2,0.5\n", header=None) == {"user": "Int64", "item": "Int64", "score": "Float64"}
    assert types("1,2\n", ["user", "user"]) == {}
    assert types("1\n", ["user"]) == {}
    assert types("1::2::3\n", separator="::", header=None) == {}


@needs_kernels
@pytest.mark.parametrize(("n", "known"), [(2, True), (60, True), (61, False)])
def test_there_is_a_bit_for_each_of_sixty_columns(n, known):
    names = [f"c{at}" for at in range(n)]
    assert (len(types(",".join("1" * n) + "\n", names)) == n) == known


@needs_kernels
def test_a_hundred_lines_are_looked_at():
    for good, expected in ((99, {"item": "Int64"}), (100, {"user": "Int64", "item": "Int64"})):
        assert types("1,2,x\n" * good + "a,2,x\n") == expected


def test_without_compiled_loops_only_scores_are_read_as_numbers():
    with kernels.without_library():
        assert types("1,2,0.5\n") == {"score": "Float64"}


def seen(text, names=NAMES, *, header=False, columns=("user", "item")):
    kinds = dict.fromkeys(columns, pl.Int64) | {"score": pl.Float64}
    return look_at(io.BytesIO(text.encode()), ",", names, kinds, has_header=header)


@needs_kernels
@pytest.mark.parametrize("block", [8, 16, 1 << 19])
def test_fields_are_looked_at_in_blocks_of_any_size(block, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", block)
    plain = "1,2,x\n" * 9
    assert seen(plain) == {"user", "item"}
    assert seen("1,2,x\n" * 5 + "1,2,x") == {"user", "item"}  # a last line without an end
    assert seen("u,i,s\n" + plain, header=True) == {"user", "item"}
    assert seen("u,007,s\n" + plain, header=True) == {"user", "item"}
    assert seen(plain + "01,2,x\n" + plain) == {"item"}
    assert seen("1,02,x\n" + plain) == {"user"}
    assert seen(plain + "1,2,a\0\n") is None
    assert seen(plain + '1,2,"\n' + plain) is None
    assert seen("") == {"user", "item"}
    assert seen("1,2,x\n", columns=()) == set()
    assert seen('1,2,"\n', columns=()) is None


@needs_kernels
def test_a_line_that_is_longer_than_a_block_is_not_plain(monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 8)
    assert seen("1,2,xxx\n") == {"user", "item"}
    assert seen("1,2,xxxx\n") is None


@pytest.mark.parametrize(
    ("head", "plain"),
    [
        (b"a,b\n1,2", True),
        (b"\n", True),
        (b"a,b", False),
        (b"", False),
        (b"a\0,b\n", False),
        (b"a\n\0", True),
        (b"\xe9\n", False),
        ("é\n".encode(), True),
        (b"\xef\xbb\xbfa\n", False),
        (b"\xff\xfea\n", False),
        (b"\xfe\xffa\n", False),
    ],
)
def test_a_plain_text_begins_with_a_line_of_utf8(head, plain):
    assert is_plain(head) is plain


@needs_kernels
@pytest.mark.parametrize(
    ("score", "is_read"),
    [
        ("0.5", True),
        ("9007199254740991", True),
        ("9007199254740992", False),  # 2^53: whole numbers lose digits from there on
        ("-9007199254740991.0", True),
        ("-9007199254740992.0", False),
        ("inf", False),
        ("", False),
    ],
)
def test_numbers_that_lose_no_digits_are_read_as_such(score, is_read, tmp_path):
    layout, path = Format("csv", ",", tuple(NAMES), has_header=True), tmp_path / "lists.csv"
    text = f"user,item,score\n7,8,0.5\n7,9,{score}\n".encode()
    path.write_bytes(text)
    found = read_numbers(str(path), text[:24], layout, lambda names: ["score"])
    assert (found is not None) == is_read
    if found is not None:
        assert found[0].rows() == [(7, 8, 0.5), (7, 9, float(score))]
    frame = read_delimited(text, layout, "a file", lambda names: ["score"])
    if is_read:
        assert frame.rows() == [(7, 8, 0.5), (7, 9, float(score))]
    elif score:
        assert frame["score"].to_list() == ["0.5", score]


def test_lines_are_counted_from_the_first():
    layout = Format("csv", ",", ("a", "b"), has_header=True)
    short = [lambda fields: len(fields) < 2]
    for text, expected in (
        (b"a,b\n1,2\n3\n", (3, "3")),
        (b"a\n1,2\n", (0, "")),  # the head is no row
        (b"a,b\n\n \n3", (4, "3")),
        (b'a,b\n"1\n1",2\n3\n', (4, "3")),
        (b"a,b\n1,2", (0, "")),
    ):
        assert locate(text, layout, *short) == expected
    without = Format("movielens", "::", ("a", "b"))
    assert locate(b"1::2\n3\n", without, *short) == (2, "3")
    assert locate(b"3\n", without, *short) == (1, "3")
    run = Format("trec qrels", "", ("a", "b"))
    assert locate(b"# note\n1 2\n3\n", run, *short) == (3, "3")


def test_a_malformed_line_is_shown_up_to_120_letters():
    error = malformed_line_error("what", "a file", 7, "x" * 121, "a hint")
    assert (error.where, error.found, error.hint) == ("a file, line 7", repr("x" * 120), "a hint")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"u,i\n1,2\n3\n", 3),
        (b"u,i\n1,2,3\n", 2),
        (b'u,"i\n1,2\n', 1),
        (b'u,i\n1,a"b\n', 2),
        (b"u,i\n1,\xe9\n", 2),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text, line):
    with pytest.raises(FileError, match="a line is malformed") as caught:
        read_delimited(text, Format("csv", ",", ("u", "i"), has_header=True), "a file")
    assert caught.value.where == f"a file, line {line}"


def test_blanks_and_comments_are_not_fields_of_trec():
    layout = Format("trec qrels", "", ("user", "iteration", "item", "relevance"))
    text = b"# all of it\n 1 \t 0 d1  2 # why\n\t1 0 d2 0\t\n"
    assert read_delimited(text, layout, "a file").rows() == [
        ("1", "0", "d1", "2"),
        ("1", "0", "d2", "0"),
    ]
    run = Format("trec run", "", ("user", "q0", "item", "rank", "score", "tag"))
    frame = read_delimited(b"1 Q0 d1 1 0.5 my own run\n", run, "a file")
    assert frame.select("user", "item", "rank", "score").rows() == [("1", "d1", "1", "0.5")]


@pytest.mark.parametrize(
    "text", [b'u,"i"\n1,2\n', b'\n\n"u","i"\r\n1,2', b'"u",i\n"1",2\n', b'u,"i"\n1,"a ""b"""\n']
)
def test_a_first_line_may_end_with_a_quoted_name(text):
    frame = read_delimited(text, Format("csv", ",", ("u", "i"), has_header=True), "a file")
    assert frame.rows() == [("1", 'a "b"' if b"b" in text else "2")]
    head = text.strip().splitlines()[0]  # alone, and without an end
    assert len(read_delimited(head, Format("csv", ",", ("u", "i"), has_header=True), "a file")) == 0


@pytest.mark.parametrize("text", [b'u,"i\n1,2\n', b'\n"u,i\n1,"2\n', b'u,"i'])
def test_a_first_line_with_half_a_quotation_is_named(text):
    with pytest.raises(FileError, match="a quotation mark inside a field") as caught:
        read_delimited(text, Format("csv", ",", ("u", "i"), has_header=True), "a file")
    assert caught.value.where == f"a file, line {1 + text.startswith(bytes([10]))}"
