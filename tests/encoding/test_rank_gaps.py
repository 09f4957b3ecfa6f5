"""Gaps between ranks are closed and counted, or kept."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError, ScoreError

LISTS = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 7, 8], "rank": [2, 4, 1, 2]})
TRUTH = {1: {6}, 2: {8}}
CELLS = ["ndcg@4", "mrr", "precision@4", "recall@3", "map"]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_ranks_are_kept(text, shuffled):
    lists, truth = LISTS.reverse() if shuffled else LISTS, TRUTH
    if text:
        lists = lists.with_columns(pl.col("item").cast(pl.String))
        truth = {user: set(map(str, items)) for user, items in TRUTH.items()}
    result = rw.evaluate(lists, truth, CELLS, ranks="keep")
    discount = (1 / math.log2(5) + 1 / math.log2(3)) / 2
    assert list(result.values.values()) == pytest.approx([discount, 0.375, 0.25, 0.5, 0.375])
    assert result.counts["lists_with_rank_gaps"] == 1
    assert result.counts["ranks_without_item"] == 2
    closed = rw.evaluate(lists, truth, CELLS)
    assert closed["mrr"] == 0.5
    assert closed.counts["lists_with_rank_gaps"] == 1
    assert rw.evaluate(lists, truth, "mrr", ranks="keep", block_size=1)["mrr"] == 0.375


def test_lists_without_gaps_are_the_same():
    whole = LISTS.with_columns(rank=pl.Series([1, 2, 1, 2]))
    kept = rw.evaluate(whole, TRUTH, CELLS, ranks="keep")
    assert kept.values == rw.evaluate(whole, TRUTH, CELLS).values
    assert "lists_with_rank_gaps" not in kept.counts


@pytest.mark.parametrize(
    ("lists", "metric", "error"),
    [
        (LISTS, "gini@2", MetricError),
        (LISTS, "num_retrieved", None),
        (LISTS.drop("rank"), "mrr", ParameterError),
        (LISTS.with_columns(rank=pl.Series([0, 1, 1, 2])), "mrr", ScoreError),
        (LISTS.with_columns(rank=pl.Series([1, 2**40, 1, 2])), "mrr", ScoreError),
    ],
)
def test_what_cannot_be_kept(lists, metric, error):
    if error is None:
        assert rw.evaluate(lists, TRUTH, metric, ranks="keep")[metric] > 0
        return
    with pytest.raises(error):
        rw.evaluate(lists, TRUTH, metric, ranks="keep")
