"""The same lists and truth from every source give the same values."""

from __future__ import annotations

import gzip
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import rankwise as rw
from rankwise.errors import FileError
from rankwise.tables.read import read_chunks, read_table, read_tables

RANKED = {1: [3, 1], 2: [2]}
SCORED = {1: [(3, 0.9), (1, 0.2)], 2: [(2, 0.5)]}
TRUTH = {1: {1: 2.0}, 2: {2: 1.0, 3: 3.0}}
CELLS = ["ndcg@2", "recall@2", "cg@2", "gini@2"]
FRAME = pl.DataFrame({"user": [1, 1, 2], "item": [3, 1, 2], "score": [0.9, 0.2, 0.5]})
JUDGED = pl.DataFrame({"user": [1, 2, 2], "item": [1, 2, 3], "relevance": [2.0, 1.0, 3.0]})


@pytest.fixture
def expected():
    return rw.evaluate(RANKED, TRUTH, CELLS).values


def matrix(frame, values, kind=sparse.csr_array):
    return kind((frame[values].to_numpy(), (frame["user"].to_numpy(), frame["item"].to_numpy())))


LISTS = {
    "scored pairs": SCORED,
    "scored dict": {user: dict(own) for user, own in SCORED.items()},
    "tuples": {user: tuple(own) for user, own in RANKED.items()},
    "polars": FRAME,
    "lazy polars": FRAME.lazy(),
    "pandas": pd.DataFrame(FRAME.to_dict(as_series=False)),
    "pyarrow": pa.table(FRAME.to_dict(as_series=False)),
    "duckdb": duckdb.sql(
        "select * from (values (1, 3, .9), (1, 1, .2), (2, 2, .5)) t(user_id, item_id, score)"
    ),
    "csr": matrix(FRAME, "score"),
    "csc matrix": matrix(FRAME, "score", sparse.csc_matrix),
    "coo": matrix(FRAME, "score", sparse.coo_array),
    "other names": FRAME.rename({"user": "userId", "item": "movieId", "score": "prediction"}),
    "dense with padding": np.array([[-1, -1], [3, 1], [2, -1]]),
    "list of lists": [[-1, -1], [3, 1], [2, -1]],
}


@pytest.mark.parametrize("name", LISTS)
def test_recommendations(name, expected):
    assert rw.evaluate(LISTS[name], TRUTH, CELLS).values == expected


@pytest.mark.parametrize(
    "truth",
    [
        JUDGED,
        {1: [(1, 2.0)], 2: [(2, 1.0), (3, 3.0)]},
        pd.DataFrame(JUDGED.to_dict(as_series=False)),
        matrix(JUDGED, "relevance"),
        JUDGED.rename({"relevance": "rating"}),
    ],
)
def test_truth(truth, expected):
    assert rw.evaluate(RANKED, truth, CELLS).values == expected


def test_sets_and_categoricals():
    lists = pl.DataFrame({"user": ["a"], "item": ["x"]}, schema_overrides={"item": pl.Categorical})
    assert rw.evaluate(lists, {"a": {"x", "y"}}, "recall@1")["recall@1"] == 0.5


def test_columns_by_hand(expected):
    lists = FRAME.rename({"user": "who", "item": "what", "score": "how"})
    columns = {"recommendations.user": "who", "recommendations.item": "what", "score": "how"}
    result = rw.evaluate(lists, TRUTH, CELLS, columns=columns)
    assert result.values == expected
    assert result.provenance["inputs"]["recommendations"]["columns"] == {
        "user": "who",
        "item": "what",
        "score": "how",
    }


def test_a_column_left_unused():
    lists = FRAME.with_columns(rank=pl.Series([2, 1, 1]))
    assert rw.evaluate(lists, TRUTH, "mrr")["mrr"] == 1.0
    assert rw.evaluate(lists, TRUTH, "mrr", columns={"rank": None})["mrr"] == 0.75


TEXT = {
    "run.csv": "user_id,item_id,score\n1,3,0.9\n1,1,0.2\n2,2,0.5\n",
    "run.tsv": "user\titem\trank\n1\t1\t2\n1\t3\t1\n2\t2\t1\n",
    "run.txt": "uid;movie;pred\n1;3;0.9\n1;1;0.2\n2;2;0.5\n",
    "bom.csv": "\ufeffuser,item,score\n1,3,0.9\n1,1,0.2\n2,2,0.5\n",
    "quoted.csv": 'user,item,score\n"1","3",0.9\n1,1,0.2\n2,2,0.5\n',
    "run.dat": "1::3::9::1\n1::1::2::2\n2::2::5::3\n",
    "u.data": "1\t3\t9\t1\n1\t1\t2\t2\n2\t2\t5\t3\n",
    "run.inter": "user_id:token\titem_id:token\trating:float\n1\t3\t9\n1\t1\t2\n2\t2\t5\n",
    "run.trec": "1 Q0 3 1 0.9 me\n1 Q0 1 2 0.2 me\n2  Q0\t2 1 0.5 me\n",
    "run": "1 Q0 3 1 0.9 me\n1 Q0 1 2 0.2 me\n2 Q0 2 1 0.5 me\n",
    "rows.jsonl": "".join(json.dumps(row) + "\n" for row in FRAME.to_dicts()),
    "lists.jsonl": '{"user": 1, "items": [3, 1]}\n{"user": 2, "items": [2]}\n',
    "scores.ndjson": '{"user": 1, "items": [1, 3], "scores": [0.2, 0.9]}\n{"user": 2, "items": [2], "scores": [1]}\n',
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXT)
def test_text_files(name, packed, tmp_path, expected):
    data = TEXT[name].encode()
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    result = rw.evaluate(path, TRUTH, CELLS)
    assert result.values == expected
    assert len(result.provenance["inputs"]["recommendations"]["sha256"]) == 64


def test_files_of_data_with_three_columns_have_a_head(tmp_path):
    path = tmp_path / "clicks.data"
    path.write_text("user\titem\trating\n1\t3\t9\n2\t2\t5\n", "utf-8")
    assert read_table(path, "truth").frame.select("user", "item").rows() == [(1, 3), (2, 2)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("truth.qrels", "1 0 1 2\n2 0 2 1\n2 0 3 3\n"),
        ("qrels.txt", "1 0 1 2\n2 0 2 1\n2 0 3 3\n"),
        ("truth.dat", "1::1::2::5\n2::2::1::5\n2::3::3::5\n"),
        ("truth.csv", "user,item,rating\n1,1,2\n2,2,1\n2,3,3\n"),
    ],
)
def test_truth_files(name, content, tmp_path, expected):
    (tmp_path / name).write_text(content)
    assert rw.evaluate(RANKED, tmp_path / name, CELLS).values == expected


def test_parquet_whole_and_in_pieces(tmp_path, expected):
    FRAME.write_parquet(tmp_path / "run.parquet", row_group_size=1)
    assert rw.evaluate(tmp_path / "run.parquet", TRUTH, CELLS).values == expected
    for rows in (1, 2, 3, 100):
        result = rw.evaluate(tmp_path / "run.parquet", TRUTH, CELLS, chunk_rows=rows)
        assert result.values == expected
        assert result.counts["rows"] == 3


def test_text_ids_keep_leading_zeros(tmp_path):
    (tmp_path / "run.dat").write_text("1::007::9::1\n1::7::8::2\n")
    (tmp_path / "truth.dat").write_text("1::7::9::1\n")
    assert rw.evaluate(tmp_path / "run.dat", tmp_path / "truth.dat", "mrr")["mrr"] == 0.5


def test_text_of_integers_beside_text_of_strings(tmp_path):
    (tmp_path / "run.csv").write_text("user,item\n1,5\n2,6\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,5\nann,6\n")
    result = rw.evaluate(tmp_path / "run.csv", tmp_path / "truth.csv", "recall@1")
    assert result.per_user["user"].to_list() == ["1", "ann"]
    assert result["recall@1"] == 0.5


def test_the_tables_of_an_evaluation_are_in_one_piece():
    lists = pl.DataFrame({"user": [1, 2], "item": [3, 4]})
    many = pl.concat([lists, lists.with_columns(pl.col("user") + 2)], rechunk=False)
    assert many.n_chunks() == 2
    tables = read_tables(None, recommendations=many, truth=lists)
    assert tables.recommendations.frame.n_chunks("all") == [1, 1]
    assert tables.recommendations.frame.equals(many)


def test_files_are_read_at_the_same_time_and_the_first_error_is_told(tmp_path):
    lists = pl.DataFrame({"user": [1, 2], "item": [3, 4], "score": [0.5, 0.25]})
    names = [tmp_path / name for name in ("run.parquet", "truth.csv", "train.csv")]
    lists.write_parquet(names[0])
    lists.drop("score").write_csv(names[1])
    lists.drop("score").write_csv(names[2])
    roles = dict(zip(("recommendations", "truth", "train"), names, strict=True))
    tables = read_tables(None, **roles, items=[3, 4, 5])
    for role, path in roles.items():
        alone = read_table(path, role)
        assert getattr(tables, role).card == alone.card
        assert getattr(tables, role).frame.equals(alone.frame)
    assert tables.items.frame["item"].to_list() == [3, 4, 5]
    names[1].write_text("user,item\n1,\n")
    names[2].write_text("user\n1\n")
    for _ in range(5):
        with pytest.raises(FileError, match="column 'item' is empty"):
            read_tables(None, **roles)


def test_columns_that_are_not_read_are_named_once_in_the_order_of_the_file(tmp_path):
    rows = pl.DataFrame(
        {"note": ["a"], "user": [1], "at": ["b"], "item": [2], "score": [0.5], "time": [3]}
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_csv(tmp_path / "rows.csv")
    for source in (
        rows,
        tmp_path / "rows.parquet",
        tmp_path / "rows.csv",
        [tmp_path / "rows.parquet"],
    ):
        assert read_table(source, "recommendations").unread == ("note", "at", "time")
    (chunk,) = read_chunks(tmp_path / "rows.parquet", 10)
    assert chunk.unread == ("note", "at", "time")


def test_fields_of_records_that_are_not_read_are_named_after_the_columns_of_the_file(tmp_path):
    rows = pl.DataFrame(
        {"user": [1], "recs": [[{"item": 5, "score": 0.5, "why": "x"}]], "note": ["a"]}
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", "recommendations")
    assert (table.frame.rows(), table.unread) == ([(1, 5, 0.5)], ("note", "why"))
