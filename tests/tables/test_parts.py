"""Folders and lists of Parquet files, and datasets of PyArrow, as one table."""

from __future__ import annotations

import polars as pl
import pyarrow.dataset
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, FileError
from rankwise.tables.files import table_hash
from rankwise.tables.read import read_table

TRUTH = pl.DataFrame({"user": [1, 1, 2, 3], "item": [5, 6, 8, 5]})
FIRST = pl.DataFrame({"user": [1, 1], "item": [6, 7], "score": [0.9, 0.8], "note": ["a", "b"]})
SECOND = pl.DataFrame({"user": [2, 3], "item": [7, 5], "score": [0.7, 0.3], "note": ["c", "d"]})
WHOLE = pl.concat([FIRST, SECOND])


@pytest.fixture
def folder(tmp_path):
    """A folder as Spark writes it."""
    path = tmp_path / "lists.parquet"
    path.mkdir()
    FIRST.write_parquet(path / "part-00000.snappy.parquet")
    SECOND.write_parquet(path / "part-00001.snappy.parquet")
    (path / "_SUCCESS").touch()
    (path / ".part-00000.snappy.parquet.crc").write_bytes(b"crc")
    return path


def paths(folder):
    return sorted(folder.glob("*.parquet"))


def test_a_folder_a_list_and_a_dataset_are_the_table_that_they_hold(folder):
    value = rw.evaluate(WHOLE, TRUTH, "ndcg@2").values
    dataset = pyarrow.dataset.dataset(folder)
    for source in (
        folder,
        str(folder),
        paths(folder),
        [str(path) for path in paths(folder)],
        dataset,
    ):
        result = rw.evaluate(source, TRUTH, "ndcg@2")
        assert result.values == value
        assert "note" in read_table(source, "recommendations").unread


@pytest.mark.parametrize(
    "role", ["recommendations", "truth", "train", "items", "users", "reference", "interactions"]
)
def test_every_table_may_be_a_folder_or_a_list(folder, role):
    frame = read_table(WHOLE, role).frame
    for source in (folder, paths(folder), tuple(paths(folder)), pyarrow.dataset.dataset(folder)):
        assert read_table(source, role).frame.equals(frame)


def test_a_truth_in_a_folder_is_evaluated(tmp_path):
    (tmp_path / "truth").mkdir()
    TRUTH[:2].write_parquet(tmp_path / "truth" / "part-0.parquet")
    TRUTH[2:].write_parquet(tmp_path / "truth" / "part-1.parquet")
    result = rw.evaluate(WHOLE, tmp_path / "truth", "ndcg@2")
    assert result.values == rw.evaluate(WHOLE, TRUTH, "ndcg@2").values


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 3, 50])
def test_a_folder_in_chunks_is_the_folder(folder, rows):
    SECOND[:0].write_parquet(folder / "part-00002.parquet")
    for source in (folder, str(folder), paths(folder)):
        at_once, chunked = (
            rw.evaluate(source, TRUTH, "ndcg@2", chunk_rows=n) for n in (None, rows)
        )
        assert chunked.values == at_once.values
        assert chunked.provenance["inputs"] == at_once.provenance["inputs"]
        assert {table.sha256 for table in rw.read_chunks(source, rows)} == {table_hash(source)}
    assert len(list(rw.read_chunks(folder, 50))) == 1


def test_users_across_the_files_of_a_folder_are_in_one_chunk(tmp_path):
    for at, zone in enumerate(("a", "b", "c")):
        (tmp_path / f"zone={zone}").mkdir()
        part = pl.DataFrame({"item": [5 + at, 8 + at]})
        part.write_parquet(tmp_path / f"zone={zone}" / "0.parquet")
    chunks = list(rw.read_chunks(tmp_path, 1, columns={"user": "zone"}))
    assert [table.frame["user"].to_list() for table in chunks] == [["a"] * 2, ["b"] * 2, ["c"] * 2]
    rows = WHOLE.filter(pl.col("user") == 1)
    for at in range(2):
        (tmp_path / "lists").mkdir(exist_ok=True)
        rows[at : at + 1].write_parquet(tmp_path / "lists" / f"{at}.parquet")
    (table,) = rw.read_chunks(tmp_path / "lists", 1)
    assert table.frame["item"].to_list() == [6, 7]


def test_a_folder_that_is_no_table_is_refused_in_chunks(tmp_path, folder):
    SECOND.drop("score").write_parquet(paths(folder)[1])
    with pytest.raises(ColumnError, match="do not have the same columns"):
        rw.evaluate(folder, TRUTH, "ndcg@2", chunk_rows=2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="no files in this folder"):
        rw.evaluate(tmp_path / "empty", TRUTH, "ndcg@2", chunk_rows=2)


def test_text_for_items_stays_their_ids():
    assert read_table(["a", "b"], "items").frame["item"].to_list() == ["a", "b"]


def test_the_hash_does_not_depend_on_the_order_of_the_list(folder):
    cards = [
        rw.evaluate(source, TRUTH, "ndcg@2").provenance["inputs"]["recommendations"]["sha256"]
        for source in (folder, paths(folder), paths(folder)[::-1])
    ]
    assert cards[0] == cards[1] == cards[2] == table_hash(folder)
    SECOND.reverse().write_parquet(paths(folder)[1])
    assert table_hash(folder) != cards[0]


def test_folders_named_for_values_are_columns(tmp_path):
    table = tmp_path / "users"
    for country, year, users in (("at", "2024", [1, 2]), ("S%C3%A3o", "2025", [3])):
        inner = table / f"country={country}" / f"year={year}"
        inner.mkdir(parents=True)
        pl.DataFrame({"user": users}).write_parquet(inner / "part-0.parquet")
    inner = table / "country=__HIVE_DEFAULT_PARTITION__" / "year=2024"
    inner.mkdir(parents=True)
    pl.DataFrame({"user": [4]}).write_parquet(inner / "part-0.parquet")
    frame = read_table(table, "users").frame.sort("user")
    assert frame.to_dict(as_series=False) == {
        "user": [1, 2, 3, 4],
        "country": ["at", "at", "São", None],
        "year": [2024, 2024, 2025, 2024],
    }
    files = sorted(table.rglob("*.parquet"))
    assert read_table(files, "users").frame.sort("user").equals(frame)


def test_the_users_of_a_table_may_be_named_by_its_folders(tmp_path):
    for user, items in ((1, [6, 7]), (2, [7])):
        (tmp_path / f"user={user}").mkdir()
        pl.DataFrame({"item": items, "rank": range(1, len(items) + 1)}).write_parquet(
            tmp_path / f"user={user}" / "part-0.parquet"
        )
    assert read_table(tmp_path, "recommendations").frame["user"].to_list() == [1, 1, 2]


def test_numbers_with_leading_zeros_stay_text(tmp_path):
    for zone in ("01", "10"):
        (tmp_path / f"zone={zone}").mkdir()
        pl.DataFrame({"user": [int(zone)]}).write_parquet(tmp_path / f"zone={zone}" / "a.parquet")
    assert read_table(tmp_path, "users").frame["zone"].to_list() == ["01", "10"]


def test_a_saved_split_stays_a_split_and_is_no_table(tmp_path):
    rows = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 6], "timestamp": [1, 4, 2, 5]})
    rw.splits.GlobalTime(share=0.5).split(rows).save(tmp_path / "split")
    lists = {1: [6], 2: [6]}
    assert rw.evaluate(lists, tmp_path / "split", "hit_rate@1").values
    with pytest.raises(FileError, match="holds a split"):
        rw.evaluate(tmp_path / "split", {1: [6]}, "hit_rate@1")


def test_a_saved_result_is_no_table(tmp_path):
    rw.evaluate(WHOLE, TRUTH, "ndcg@2").save(tmp_path / "result")
    with pytest.raises(FileError, match="holds a saved result"):
        rw.evaluate(tmp_path / "result", TRUTH, "ndcg@2")


def test_a_folder_that_is_not_one_table_is_refused(tmp_path, folder):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "_SUCCESS").touch()
    with pytest.raises(FileError, match="no files in this folder"):
        rw.evaluate(empty, TRUTH, "ndcg@2")
    texts = tmp_path / "texts"
    texts.mkdir()
    FIRST.write_csv(texts / "part-0.csv")
    with pytest.raises(FileError, match="only Parquet"):
        rw.evaluate(texts, TRUTH, "ndcg@2")
    with pytest.raises(FileError, match="there is no such file"):
        rw.evaluate([*paths(folder), tmp_path / "none.parquet"], TRUTH, "ndcg@2")
    with pytest.raises(FileError, match="a file is listed twice"):
        rw.evaluate([*paths(folder), *paths(folder)], TRUTH, "ndcg@2")
    (folder / "_delta_log").mkdir()
    with pytest.raises(FileError, match="Delta"):
        rw.evaluate(folder, TRUTH, "ndcg@2")


def test_files_of_several_formats_or_folders_are_refused(folder):
    FIRST.write_csv(folder / "more.csv")
    with pytest.raises(FileError, match="several formats"):
        rw.evaluate(folder, TRUTH, "ndcg@2")
    (folder / "more.csv").unlink()
    (folder / "country=at").mkdir()
    FIRST.write_parquet(folder / "country=at" / "a.parquet")
    with pytest.raises(FileError, match="not named for the same columns"):
        rw.evaluate(folder, TRUTH, "ndcg@2")
    (folder / "deeper").mkdir()
    with pytest.raises(FileError, match="not named key=value"):
        rw.evaluate(folder, TRUTH, "ndcg@2")


def test_files_with_other_columns_are_refused(folder, tmp_path):
    SECOND.drop("score").write_parquet(paths(folder)[1])
    with pytest.raises(ColumnError, match="do not have the same columns"):
        rw.evaluate(folder, TRUTH, "ndcg@2")
    SECOND.cast({"item": pl.String}).write_parquet(paths(folder)[1])
    with pytest.raises(ColumnError, match="different types"):
        rw.evaluate(folder, TRUTH, "ndcg@2")
    (tmp_path / "both" / "user=1").mkdir(parents=True)
    FIRST.write_parquet(tmp_path / "both" / "user=1" / "a.parquet")
    with pytest.raises(ColumnError, match="in the name of its folder"):
        rw.evaluate(tmp_path / "both", TRUTH, "ndcg@2")
