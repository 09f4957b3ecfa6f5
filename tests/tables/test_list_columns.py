"""Rows of whole lists: what each number is of, one list per user, and where a value is wrong."""

from __future__ import annotations

import json
from collections import namedtuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, IdError, InputError, ScoreError

TRUTH = {3: {8}, 4: {6}}


def in_every_container(columns, folder):
    """The same columns as Polars, pandas, Arrow, a dict, records, Parquet, JSON and JSON lines."""
    frame = pl.DataFrame(columns)
    records = frame.to_dicts()
    (folder / "run.json").write_text(json.dumps(records))
    (folder / "run.jsonl").write_text("\n".join(map(json.dumps, records)))
    frame.write_parquet(folder / "run.parquet")
    return {
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": pd.DataFrame(columns),
        "arrow": pa.table(columns),
        "dict": columns,
        "records": records,
        "parquet": folder / "run.parquet",
        "json": folder / "run.json",
        "json lines": folder / "run.jsonl",
    }


@pytest.mark.parametrize("name", ["score", "confidence", "rank"])
def test_one_number_per_list_is_no_number_of_its_items(name, tmp_path):
    columns = {"user": [3, 4], "items": [[7, 8], [6]], name: [2, 1]}
    column = "rank" if name == "rank" else "score"
    for source in in_every_container(columns, tmp_path).values():
        with pytest.raises(ColumnError, match=f"column '{name}' has one number per list") as raised:
            rw.evaluate(source, TRUTH, "mrr")
        assert f'columns={{"recommendations.{column}": None}}' in raised.value.hint
        in_order = rw.evaluate(source, TRUTH, "mrr", columns={f"recommendations.{column}": None})
        assert in_order["mrr"] == 0.75
        assert name in in_order.provenance["inputs"]["recommendations"]["unread"]


def test_one_relevance_per_list_is_none_of_its_items():
    truth = pl.DataFrame({"user": [3, 4], "items": [[8, 7], [6]], "rating": [1.0, 5.0]})
    with pytest.raises(
        ColumnError, match="column 'rating' has one number per list, which is no relevance"
    ):
        rw.evaluate({3: [7, 8], 4: [6]}, truth, "recall@1", threshold=4)
    every = rw.evaluate({3: [7, 8], 4: [6]}, truth, "recall@1", columns={"truth.relevance": None})
    assert every["recall@1"] == 0.75


def test_a_time_per_list_is_that_of_every_item():
    truth = pl.DataFrame({"user": [3], "items": [[8, 7]], "timestamp": [5]})
    assert rw.evaluate({3: [7, 9]}, truth, "recall@2")["recall@2"] == 0.5


def test_an_unknown_number_per_list_cannot_order_it():
    run = pl.DataFrame({"user": [3, 4], "items": [[7, 8], [6]], "latency": [12.5, 3.0]})
    result = rw.evaluate(run, TRUTH, "mrr")
    assert result["mrr"] == 0.75
    assert result.provenance["inputs"]["recommendations"]["unread"] == ["latency"]


def test_an_unknown_list_of_numbers_may_order_the_items():
    run = pl.DataFrame({"user": [3], "items": [[7, 8]], "affinity": [[0.1, 0.9]]})
    with pytest.raises(ColumnError, match="'affinity' could be it"):
        rw.evaluate(run, {3: {8}}, "mrr")
    assert (
        rw.evaluate(run, {3: {8}}, "mrr", columns={"recommendations.score": "affinity"})["mrr"]
        == 1.0
    )


def test_two_lists_of_one_user(tmp_path):
    columns = {"user": [3, 3, 4], "part": [1, 2, 3], "items": [[7, 8], [8, 5], [6]]}
    for source in in_every_container(columns, tmp_path).values():
        with pytest.raises(InputError, match="a user has several rows of lists") as raised:
            rw.evaluate(source, TRUTH, "mrr")
        assert raised.value.where.endswith("user 3")
        by_request = {1: {8}, 2: {8}, 3: {6}}
        each = rw.evaluate(source, by_request, "mrr", columns={"recommendations.user": "part"})
        assert each["mrr"] == pytest.approx((0.5 + 1 + 1) / 3)
        named = rw.evaluate(source, {3: {8}, 4: {6}}, "mrr", columns={"request": "part"})
        assert named.per_user.select("user", "request", "mrr").rows() == [
            (3, 1, 0.5),
            (3, 2, 1.0),
            (4, 3, 1.0),
        ]
    with pytest.raises(InputError, match="several rows of lists"):
        rw.evaluate({3: [7, 8]}, pl.DataFrame(columns), "mrr")


def test_a_series_with_two_lists_of_one_user():
    run = pd.Series([[7, 8], [8, 5]], index=pd.Index([3, 3], name="user"))
    with pytest.raises(InputError, match="several rows of lists"):
        rw.evaluate(run, {3: {8}}, "mrr")


def test_an_item_that_is_null_is_named_by_the_row_of_its_list():
    run = pl.DataFrame({"user": [3, 4], "items": [[7, 8, 9], [6, None]]})
    with pytest.raises(IdError, match="an item id is null") as raised:
        rw.evaluate(run, TRUTH, "mrr")
    assert raised.value.where == "recommendations, column 'items', row 2"
    with pytest.raises(InputError, match="a list is null") as raised:
        rw.evaluate(pl.DataFrame({"user": [3, 4], "items": [[7, 8, 9], None]}), TRUTH, "mrr")
    assert raised.value.where == "recommendations, column 'items', row 2"
    assert (
        rw.evaluate(pl.DataFrame({"user": [3, 4], "items": [[7, 8], []]}), TRUTH, "mrr")["mrr"]
        == 0.25
    )


def test_a_score_that_is_nan_is_named_by_the_row_of_its_list():
    run = pl.DataFrame(
        {"user": [3, 4], "items": [[7, 8, 9], [6]], "scores": [[3.0, 2, 1], [float("nan")]]}
    )
    with pytest.raises(ScoreError, match="a score is null, NaN or infinite") as raised:
        rw.evaluate(run, TRUTH, "mrr")
    assert raised.value.where == "recommendations, column 'scores', row 2"


class Row(tuple):
    """Like Spark's: a tuple whose fields have names."""

    def __new__(cls, **fields):
        row = super().__new__(cls, fields.values())
        row.fields = fields
        return row

    def asDict(self):  # noqa: N802
        return self.fields


Scored = namedtuple("Scored", ["item", "rating"])


@pytest.mark.parametrize("kind", [Row, Scored])
def test_lists_of_named_records(kind):
    top = [[kind(item=7, rating=1), kind(item=8, rating=2.5)], None, [kind(item=6, rating=0.25)]]
    for make in (pd.DataFrame, dict):
        run = make({"user": [3, 5, 4], "recommendations": top})
        with pytest.raises(InputError, match="a list is null"):
            rw.evaluate(run, TRUTH, "mrr")
        run = make({"user": [3, 4], "recommendations": top[::2]})
        assert rw.evaluate(run, TRUTH, "mrr")["mrr"] == 1.0


def test_lists_in_chunks_of_a_file(tmp_path):
    pl.DataFrame({"user": [3, 4], "items": [[7, 8], [6]]}).write_parquet(tmp_path / "run.parquet")
    assert rw.evaluate(tmp_path / "run.parquet", TRUTH, "mrr", chunk_rows=1)["mrr"] == 0.75


@pytest.mark.parametrize("field", ["item", "movieId"])
def test_lists_of_records(field, tmp_path):
    pairs = [[(7, 1), (8, 2.5)], [(6, 0.25)]]
    records = [[{field: item, "rating": rating} for item, rating in pair] for pair in pairs]
    columns = {"user": [3, 4], "recommendations": records}
    frame = pl.DataFrame({"user": [3, 4], "recommendations": pl.Series(records, strict=False)})
    frame.write_parquet(tmp_path / "run.parquet")
    rows = [
        {"user": user, "recommendations": one} for user, one in zip((3, 4), records, strict=True)
    ]
    (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "run.json").write_text(json.dumps(rows))
    sources = [columns, rows, pd.DataFrame(columns), frame, frame.to_arrow()]
    for source in [
        *sources,
        *(tmp_path / f"run.{suffix}" for suffix in ("parquet", "jsonl", "json")),
    ]:
        result = rw.evaluate(source, {3: {8}, 4: {6}}, "mrr")
        assert result["mrr"] == 1.0
        assert result.provenance["inputs"]["recommendations"]["columns"]["item"] == field


def test_records_whose_fields_are_columns_already():
    run = pl.DataFrame({"user": [3], "score": [1.0], "top": [[{"item": 7, "score": 0.5}]]})
    with pytest.raises(
        ColumnError, match="there is a column 'score', and the records in column 'top'"
    ):
        rw.evaluate(run, {3: {7}}, "mrr")
    assert rw.evaluate(run.drop("score"), {3: {7}}, "mrr")["mrr"] == 1.0


CODES = [(4, 1, 2), (4, 1, 3)]


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"user": [3, 3], "item": CODES}),
        pd.DataFrame({"user": [3, 4], "item": CODES}),
        pd.DataFrame({"user": [3, 4], "code": [None, (1, 2)]}),
        {"user": [3, 4], "item": CODES},
        [{"user": 3, "item": CODES[0]}, {"user": 4, "item": CODES[1]}],
        [(3, CODES[0]), (4, CODES[1])],
        {3: CODES},
        {(3, 1): [5, 6]},
        pl.DataFrame({"user": [3, 3], "item": [list(code) for code in CODES]}),
        pl.DataFrame({"user": [3], "item": [{"a": 1, "b": 2}]}),
    ],
)
def test_ids_of_several_parts(source):
    columns = {"recommendations.item": "code"} if "code" in source else None
    with pytest.raises(
        InputError, match=r"ids are integers or strings|several rows of lists"
    ) as raised:
        rw.evaluate(source, {3: {"4-1-3"}}, "mrr", columns=columns)
    assert "join" in raised.value.hint
    with pytest.raises(InputError):
        rw.evaluate(
            {3: ["4-1-2"]}, source, "mrr", columns={"truth.item": "code"} if columns else None
        )


def test_codes_that_are_joined():
    run = pd.DataFrame({"user": [3, 3], "item": CODES})
    run["item"] = run["item"].map(lambda codes: "-".join(map(str, codes)))
    assert rw.evaluate(run, {3: {"4-1-3"}}, "mrr")["mrr"] == 0.5


def test_lists_of_whole_and_decimal_numbers_keep_their_fractions():
    """Polars alone takes the type of the first list for all, and cuts off the fractions of the others."""
    run = {"user": [3, 4], "items": [[7, 8], [6, 5]], "scores": [[2, 3], [0.25, 0.75]]}
    assert rw.evaluate(run, {3: {8}, 4: {6}}, "mrr")["mrr"] == 0.75
    rows = [{"user": u, "items": i, "scores": s} for u, i, s in zip(*run.values(), strict=True)]
    assert rw.evaluate(rows, {3: {8}, 4: {6}}, "mrr")["mrr"] == 0.75


@pytest.mark.parametrize("first", [[1, 0], [1, 0.5]])
def test_vectors_of_whole_and_decimal_numbers(first):
    vectors = [first, [0.5, 1], [0, 0.25]]
    kinds = [
        {"item": [7, 8, 9], "features": vectors},
        pd.DataFrame({"item": [7, 8, 9], "features": vectors}),
    ]
    floats = pl.DataFrame(
        {"item": [7, 8, 9], "features": [[float(x) for x in vector] for vector in vectors]}
    )
    expected = rw.evaluate({3: [7, 8, 9]}, {3: {8}}, "ild@3", items=floats)["ild@3"]
    assert [
        rw.evaluate({3: [7, 8, 9]}, {3: {8}}, "ild@3", items=kind)["ild@3"] for kind in kinds
    ] == [expected] * 2
