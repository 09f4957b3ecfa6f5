from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.splits.filters import k_core
from rankwise.splits.temporal import time_based_split

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), min_size=2)


@given(ROWS, st.floats(0.05, 0.95), st.randoms())
def test_split_by_time(rows, ratio, shuffled):
    table = pl.DataFrame(rows, schema=["user", "item", "timestamp"], orient="row")
    if table["timestamp"].n_unique() == 1:
        with pytest.raises(rw.RankwiseError, match="is empty"):
            time_based_split(table, test_ratio=ratio)
        return
    try:
        train, test = time_based_split(table, test_ratio=ratio)
    except rw.RankwiseError as error:
        assert "training side" in str(error)
        return
    assert len(train) + len(test) == len(table)
    assert train["timestamp"].max() < test["timestamp"].min()
    assert len(test) >= int(ratio * len(table))
    order = shuffled.sample(range(len(table)), len(table))
    other, _ = time_based_split(table[order], test_ratio=ratio)
    assert other.sort(pl.all()).equals(train.sort(pl.all()))


@pytest.mark.parametrize(
    ("table", "ratio", "said"),
    [
        (pl.DataFrame({"timestamp": [1, 2]}), 1.0, "between 0 and 1"),
        (pl.DataFrame({"time": [1, 2]}), 0.5, "no column 'timestamp'"),
        (pl.DataFrame({"timestamp": [1, None]}), 0.5, "without nulls"),
        (pl.DataFrame({"timestamp": ["a", "b"]}), 0.5, "numbers or dates"),
    ],
)
def test_what_cannot_be_split(table, ratio, said):
    with pytest.raises(rw.RankwiseError, match=said):
        time_based_split(table, test_ratio=ratio)


@given(ROWS, st.integers(1, 3))
def test_k_core(rows, k):
    table = pl.DataFrame(rows, schema=["user", "item", "timestamp"], orient="row")
    try:
        core = k_core(table, k)
    except rw.RankwiseError as error:
        assert "core is empty" in str(error)
        return
    for column in ("user", "item"):
        assert core.group_by(column).len()["len"].min() >= k
    assert core.equals(k_core(core, k))
