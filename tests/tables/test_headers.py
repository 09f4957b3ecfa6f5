"""Headers of text files: repeated below the first line, or missing where a row stands in their place."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import FileError

LISTS = {7: [30, 31], 8: [31, 32]}
TRUTH = {7: {31}, 8: {31}}


def _write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.inter"])
@pytest.mark.parametrize("role", ["recommendations", "truth", "train"])
def test_a_header_that_a_later_line_repeats_is_refused(tmp_path, name, role):
    header = "user:token\titem:token" if name.endswith("inter") else "user\titem"
    lines = [header, "7\t31", "8\t31", header, "9\t32"]
    text = "\n".join(lines) + "\n"
    path = _write(tmp_path / name, text if "csv" not in name else text.replace("\t", ","))
    tables = {"recommendations": LISTS, "truth": TRUTH, role: path}
    with pytest.raises(FileError, match="a line repeats the header") as error:
        rw.evaluate(metrics="mrr", **tables)
    assert "line 4" in str(error.value)
    assert "1 such lines" in str(error.value)


def test_a_header_that_is_repeated_in_other_letters_is_refused(tmp_path):
    path = _write(tmp_path / "a.csv", "user,item\n1,5\nUser,ITEM\n3,5\n")
    with pytest.raises(FileError, match="a line repeats the header") as error:
        rw.evaluate({1: [5]}, path, "mrr")
    assert "line 3" in str(error.value)
    assert "'User,ITEM'" in str(error.value)


def test_a_row_that_has_one_name_of_a_column_is_a_row(tmp_path):
    path = _write(tmp_path / "a.csv", "user,item\nuser,a\nann,item\n")
    assert rw.evaluate({"user": ["a"], "ann": ["b"]}, path, "recall")["recall"] == 0.5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "K10,P7\nK11,P8\nK12,P7\n"),
        ("a.tsv", "K10\tP7\nK11\tP8\nK12\tP7\n"),
        ("a.csv", "ann,31\nbob,32\nann,33\n"),  # ann is a user of another row
        ("a.tsv", "u_3\t2011-02-03T04:05:06Z\tx-1\nu_4\t2011-02-03T04:07:06Z\tx-9\n"),
        ("u.item", "1|A (1995)|01-Jan-1995|0|0\n2|B (1996)|02-Jan-1996|0|1\n"),
    ],
)
def test_a_first_line_that_reads_like_a_row_is_no_header(tmp_path, name, text):
    with pytest.raises(FileError, match="seems to have no header") as error:
        rw.evaluate(LISTS, _write(tmp_path / name, text), "mrr")
    assert "has_header=False" in str(error.value)


def test_a_first_line_that_reads_like_a_row_is_no_header_where_its_values_are_named_as_columns(
    tmp_path,
):
    path = _write(tmp_path / "a.csv", "K10,P7\nK11,P8\nK12,P7\n")
    columns = {"truth.user": "K10", "truth.item": "P7"}
    with pytest.raises(FileError, match="seems to have no header"):
        rw.evaluate({"K10": ["P7"]}, path, "mrr", columns=columns)

    path = _write(tmp_path / "b.csv", "user,item\nK10,P7\nK11,P8\nK12,P7\n")  # what the hint says
    assert rw.evaluate({"K10": ["P7"], "K11": ["P8"], "K12": ["P8"]}, path, "mrr")["mrr"] == 2 / 3


def test_names_of_columns_that_look_like_no_value_of_theirs_are_a_header(tmp_path):
    path = _write(tmp_path / "a.csv", "kunde,p1\nann,x\nbob,y\n")
    columns = {"truth.user": "kunde", "truth.item": "p1"}
    assert rw.evaluate({"ann": ["x"], "bob": ["x"]}, path, "mrr", columns=columns)["mrr"] == 0.5


@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=8, unique=True
    ),
    data=st.data(),
)
def test_a_repeated_header_is_refused_wherever_it_is(tmp_path_factory, rows, data):
    lines = [f"{user},{item}" for user, item in rows]
    at = data.draw(st.integers(0, len(lines)))
    text = "\n".join(["user,item", *lines[:at], "user,item", *lines[at:]])
    with pytest.raises(FileError, match="a line repeats the header") as error:
        rw.evaluate(LISTS, _write(tmp_path_factory.mktemp("h") / "a.csv", text), "mrr")
    assert f"line {at + 2}" in str(error.value)
