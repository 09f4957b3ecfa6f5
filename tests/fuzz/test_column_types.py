"""A column of any type in the place of any other: a value, or an error of rankwise."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import RankwiseError

LISTS, TRUTH = {1: [1, 2], 2: [2, 3]}, pl.DataFrame({"user": [1, 2], "item": [1, 3]})
VALUES = {
    "integers": [1, 2, 3],
    "narrow integers": pl.Series([1, 2, 127], dtype=pl.Int8),
    "floats": [0.5, float("nan"), None],
    "truth values": [True, False, None],
    "text": ["a", " b ", ""],
    "text of numbers": ["1", "2", "3"],
    "categories": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
    "an enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
    "decimals": [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")],
    "dates": [date(2026, 1, 1), date(2026, 1, 2), None],
    "moments": [datetime(2026, 1, 1), datetime(2026, 1, 2), None],
    "times": [time(1), time(2), None],
    "durations": [timedelta(1), timedelta(2), None],
    "bytes": [b"a", b"b", None],
    "nothing": [None, None, None],
    "lists of text": [["a"], ["a", "b"], []],
    "lists of numbers": [[1.0], [2.0], [3.0]],
    "lists of lists": [[["a"]], [["b"]], [[]]],
    "lists of durations": [[timedelta(1)], [], None],
    "lists of bytes": [[b"a"], [], None],
    "lists of records": [[{"a": 1}], [], None],
    "arrays": pl.Series([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=pl.Array(pl.Float64, 2)),
    "records": [{"a": 1}, {"a": 2}, {"a": 3}],
    "objects": pl.Series([object(), object(), object()], dtype=pl.Object),
}


def with_items(values):
    return pl.DataFrame([pl.Series("item", [1, 2, 3]), pl.Series("x", values)])


def with_users(values):
    return pl.DataFrame([pl.Series("user", [1, 2]), pl.Series("x", values).head(2)])


def with_truth(values):
    return TRUTH.with_columns(pl.Series("x", values).head(2))


READERS = {
    "weights": lambda x: rw.evaluate(LISTS, TRUTH, "recall@2", users=with_users(x), weights="x"),
    "user groups": lambda x: rw.evaluate(
        LISTS, TRUTH, "group_gap(recall,user_group=x)@2", users=with_users(x)
    ),
    "item groups": lambda x: rw.evaluate(LISTS, TRUTH, "reo(item_group=x)@2", items=with_items(x)),
    "categories": lambda x: rw.evaluate(
        LISTS, TRUTH, "category_count(categories=x)@2", items=with_items(x)
    ),
    "features": lambda x: rw.evaluate(
        LISTS, TRUTH, "intra_list_diversity@2", items=with_items(x), columns={"items.features": "x"}
    ),
    "propensities": lambda x: rw.evaluate(
        LISTS, TRUTH, "ips(recall)@2", items=with_items(x), columns={"items.propensity": "x"}
    ),
    "codes": lambda x: rw.evaluate(
        {1: ["a", "b"], 2: ["c"]}, TRUTH, "recall@2", items=with_items(x), codes="x"
    ),
    "titles": lambda x: rw.evaluate(
        {1: ["a", "b"], 2: ["c"]}, TRUTH, "recall@2", items=with_items(x), titles="x"
    ),
    "events": lambda x: rw.evaluate(
        LISTS, with_truth(x), "ndcg@2", relevance={"a": 1, "b": 2}, columns={"truth:event": "x"}
    ),
    "relevance": lambda x: rw.evaluate(
        LISTS, with_truth(x), "ndcg@2", columns={"truth.relevance": "x"}
    ),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("reader", READERS)
def test_a_column_of_any_type_is_read_or_refused(reader, values):
    try:
        result = READERS[reader](VALUES[values])
    except RankwiseError as error:
        assert str(error)
    else:
        assert len(result.values)
