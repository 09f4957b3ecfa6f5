"""A relevance reaches the threshold in the precision that it was stored in, whatever holds the table."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import candidates, splits
from rankwise.core.arrays import at_least

LISTS = {0: [4, 3], 1: [5, 3]}


def ratings(dtype):
    grades = np.array([0.1, 0.9, 0.7, 0.4], dtype)
    return pd.DataFrame({"user": [0, 0, 1, 1], "item": [3, 4, 3, 5], "rating": grades})


def by_user(table):
    return {
        user: dict(zip(rows["item"], rows["rating"], strict=True))
        for user, rows in table.groupby("user")
    }


def parquet(table, folder):
    table.to_parquet(folder / "ratings.parquet")
    return folder / "ratings.parquet"


def csv(table, folder):
    table.to_csv(folder / "ratings.csv", index=False)
    return folder / "ratings.csv"


def json_lines(table, folder):
    pl.from_pandas(table).write_ndjson(folder / "ratings.jsonl")
    return folder / "ratings.jsonl"


CONTAINERS = {
    "pandas": lambda table, _: table,
    "pandas, widened": lambda table, _: table.astype({"rating": "f8"}),
    "Series": lambda table, _: table.set_index(["user", "item"])["rating"],
    "polars": lambda table, _: pl.from_pandas(table),
    "arrow": lambda table, _: pa.Table.from_pandas(table),
    "duckdb": lambda table, _: duckdb.from_df(table),
    "csr": lambda table, _: sp.csr_array(
        (table["rating"].to_numpy(), (table["user"], table["item"]))
    ),
    "dict": lambda table, _: by_user(table),
    "tuples": lambda table, _: list(table.itertuples(index=False, name=None)),
    "parquet": parquet,
    "csv": csv,
    "json lines": json_lines,
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_float32_and_float64_have_the_same_relevant_items(container, dtype, tmp_path):
    truth = CONTAINERS[container](ratings(dtype), tmp_path)
    for threshold, recall in (
        (0.7, [1.0, 0.0]),
        (0.1, [0.5, 0.5]),
        (0.4, [1.0, 0.5]),
        (0.9, [1.0]),
    ):
        result = rw.evaluate(LISTS, truth, "recall@1", threshold=threshold)
        assert result.per_user["recall@1"].to_list() == recall


def test_half_precision_means_the_decimal_number_that_it_writes():
    table = pl.DataFrame(
        {
            "user": [1, 2, 2],
            "item": [5, 7, 8],
            "rating": pl.Series([0.1, 0.9, 0.05], dtype=pl.Float16),
        }
    )
    assert rw.evaluate({1: [5], 2: [8]}, table, "recall@1", threshold=0.1)["recall@1"] == 0.5


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_a_filter_by_rating_keeps_the_same_rows(dtype):
    table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 3], "rating": [0.7, 0.6, 0.9]}).cast(
        {"rating": dtype}
    )
    assert splits.MinRating(0.7).apply(table)["item"].to_list() == [1, 3]
    assert splits.MinRating(0.9).apply(table)["item"].to_list() == [3]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_sampled_candidates_have_the_same_positives(dtype):
    truth = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 3], "rating": [0.7, 0.6, 0.9]}).cast(
        {"rating": dtype}
    )
    drawn = candidates.sampled(truth, n=2, items=range(9), seed=0, relevance_threshold=0.7)
    assert sorted(drawn.frame["user"].unique()) == [1, 2]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_single_precision_compares_as_in_its_own_type(value, threshold):
    single = np.float32(value)
    if np.float32(threshold) != 0 or threshold == 0:  # else 0 would reach a threshold above it
        assert at_least(np.float64(single), threshold) == (single >= np.float32(threshold))
    if value != float(np.float32(threshold)):
        assert at_least(np.float64(value), threshold) == (value >= threshold)


def test_thresholds_beyond_single_precision_are_compared_as_they_are():
    assert at_least(np.array([1e300, 1e299]), 1e300).tolist() == [True, False]
    assert at_least(np.array([5e-324, 0.0]), 5e-324).tolist() == [True, False]
