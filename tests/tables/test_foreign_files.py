"""Files that are no tables of text or Parquet, missing files, pipes that nobody writes to, and too many columns."""

import os
import pickle
import threading

import numpy as np
import pytest

import rankwise as rw
from rankwise.errors import FileError
from rankwise.tables import formats
from rankwise.tables.files import read_file

RATINGS = "1::10::5::978300760\n2::11::4::978300761\n"


def test_files_of_movielens_are_in_latin_1(tmp_path):
    (tmp_path / "movies.dat").write_bytes(
        "10::Misérables, Les (1995)::Drama\n11::Heat::Action|Crime\n".encode("latin-1")
    )
    (tmp_path / "ratings.dat").write_text(RATINGS)
    frame = read_file(tmp_path / "movies.dat").frame
    assert frame["title"][0] == "Misérables, Les (1995)"
    lists = {1: [10, 11], 2: [11, 10]}
    items = tmp_path / "movies.dat"
    result = rw.evaluate(lists, tmp_path / "ratings.dat", "category_count@2", items=items)
    assert result["category_count@2"] == 3


def test_other_text_in_latin_1_is_refused_with_a_way_to_read_it(tmp_path):
    (tmp_path / "a.csv").write_bytes("user,item\n1,é\n".encode("latin-1"))
    with pytest.raises(FileError, match="not in UTF-8") as error:
        rw.evaluate({1: ["é"]}, tmp_path / "a.csv", "mrr")
    assert 'encoding="latin1"' in str(error.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pickle.dumps({"user": [1]}), "a pickle"),
        (b"ARROW1\0\0rest", "an Arrow or Feather file"),
        (b"\x89HDF\r\n\x1a\nrest", "an HDF5 file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of Excel"),
    ],
)
def test_files_of_other_programs_are_named(tmp_path, data, said):
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(FileError, match=f"this file is {said}") as error:
        rw.evaluate({1: [2]}, tmp_path / "a.bin", "mrr")
    assert "pass the table" in str(error.value)


def test_an_array_of_numpy_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6))
    with pytest.raises(FileError, match="an array of NumPy"):
        read_file(tmp_path / "a.npy")


def test_a_missing_file_is_answered_with_a_near_name(tmp_path):
    (tmp_path / "neighbours.csv").write_text("user,item\n1,2\n")
    with pytest.raises(FileError, match="there is no such file") as error:
        rw.evaluate(tmp_path / "neighbors.csv", {1: {2}}, "mrr")
    assert error.value.hint == f"did you mean {str(tmp_path / 'neighbours.csv')!r}?"
    with pytest.raises(FileError, match="no folder") as error:
        rw.evaluate(tmp_path / "there" / "a.csv", {1: {2}}, "mrr")
    assert "relative paths" in str(error.value)


def test_too_many_columns_are_refused_at_once(tmp_path):
    names = ",".join(f"c{number}" for number in range(formats._MOST_COLUMNS))
    (tmp_path / "a.csv").write_text(f"user,{names}\n")
    with pytest.raises(FileError, match="too many columns") as error:
        read_file(tmp_path / "a.csv")
    assert "20,001 columns" in str(error.value)


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="nothing was written to this pipe"):
        rw.evaluate({1: [2]}, tmp_path / "pipe.csv", "mrr")


@pytest.mark.parametrize("rows", [1, 30_000])
def test_a_pipe_is_read_to_its_end(tmp_path, rows):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    text = "user,item\n" + "".join(f"{row},{row}\n" for row in range(rows))
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert len(read_file(pipe).frame) == rows
    writer.join()
