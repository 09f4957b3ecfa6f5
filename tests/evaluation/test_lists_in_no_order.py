"""Lists whose rows are put in no order give the bits of lists that are put in order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.blocks import matching
from rankwise.errors import DuplicateError
from strategies import fewer

HITS = [
    "ndcg@[1,4,50]",
    "map@4",
    "mrr",
    "recall@4",
    "rbp",
    "ndcg(gain=exponential)@4",
    "err(max_relevance=4)@4",
    "bpref",
    "partial_auc@4",
    "iprec",
    "condensed(ndcg)@4",
    "judged@4",
]
TIES = ["expected", "optimistic", "pessimistic", "item", "item_desc", "input"]


def tables(seed, levels, *, text):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 500))
    users = rng.integers(0, int(rng.integers(1, 40)), n)
    lists = pl.DataFrame({"user": users, "item": rng.integers(0, 60, n)}).unique(
        maintain_order=True
    )
    scores = rng.integers(0, levels, len(lists)) / 3 - 5
    lists = lists.with_columns(score=pl.Series(scores, dtype=pl.Float64))
    truth = pl.DataFrame({"user": rng.integers(0, 40, 150), "item": rng.integers(0, 60, 150)})
    truth = pl.concat([truth, lists.select("user", "item")[:1]]).unique(maintain_order=True)
    grades = rng.integers(0, 4, len(truth)) + (np.arange(len(truth)) == len(truth) - 1)
    truth = truth.with_columns(relevance=pl.Series(grades * 1.0))
    if text:
        names = pl.format("item {}", pl.col("item"))
        lists, truth = lists.with_columns(item=names), truth.with_columns(item=names)
    return lists, truth


def same(mine, theirs):
    assert mine.per_user.equals(theirs.per_user.select(mine.per_user.columns), null_equal=True)
    for name in ("tied_rows", "hits", "users", "rows", "lists"):
        assert mine.counts.get(name) == theirs.counts.get(name)


@fewer(25)
@given(
    ties=st.sampled_from(TIES),
    seed=st.integers(0, 2**32),
    levels=st.sampled_from([1, 3, 20, 10**6]),
    text=st.booleans(),
    users_at_a_time=st.sampled_from([None, 7]),
)
def test_the_bits_of_lists_in_order(ties, seed, levels, text, users_at_a_time):
    lists, truth = tables(seed, levels, text=text)
    options = {"ties": ties, "block_size": users_at_a_time}
    # The number of distinct items in all lists needs lists in order; hits alone do not.
    in_order = rw.evaluate(lists, truth, [*HITS, "catalog_coverage@4"], **options)
    same(rw.evaluate(lists, truth, HITS, **options), in_order)
    by_user = lists.sort("user", maintain_order=True)
    same(rw.evaluate(by_user, truth, HITS, **options), in_order)


@fewer(25)
@given(ties=st.sampled_from(TIES), seed=st.integers(0, 2**32))
def test_ties_that_are_counted_and_ties_that_are_put_in_order(ties, seed):
    lists, truth = tables(seed, 2, text=False)
    ours = rw.evaluate(lists, truth, HITS, ties=ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_LOOKS", 0)
        same(ours, rw.evaluate(lists, truth, HITS, ties=ties))


@given(seed=st.integers(0, 2**32))
def test_matrices_of_few_rows(seed):
    lists, truth = tables(seed, 4, text=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_SORTED_ROWS", 8)
        ours = rw.evaluate(lists, truth, HITS)
    same(ours, rw.evaluate(lists, truth, HITS))


def test_an_item_that_stands_twice_is_found():
    lists = pl.DataFrame(
        {"user": [1, 2, 1, 2], "item": [5, 6, 7, 6], "score": [0.1, 0.2, 0.3, 0.4]}
    )
    with pytest.raises(DuplicateError, match="item 6 more than once"):
        rw.evaluate(lists, {1: {5}}, "ndcg@2")


@fewer(25)
@given(ties=st.sampled_from(TIES), seed=st.integers(0, 2**32), ragged=st.booleans())
def test_scores_that_are_infinite_in_32_bits(ties, seed, ragged):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, 20) if ragged else np.full(20, 6)
    user = np.repeat(np.arange(20), lengths)
    item = np.concatenate([rng.permutation(12)[:n] for n in lengths])
    huge = rng.choice([1e39, 2e39, -1e39, -2e39, 5.0, 4.0], len(user))
    lists = pl.DataFrame({"user": user, "item": item, "score": huge})[rng.permutation(len(user))]
    truth = pl.DataFrame({"user": np.repeat(np.arange(20), 3), "item": np.tile([0, 1, 2], 20)})
    options = {"ties": ties, "score_precision": "float32"}
    ours = rw.evaluate(lists, truth, HITS, **options)
    same(ours, rw.evaluate(lists, truth, [*HITS, "catalog_coverage@4"], **options))
    # The same order among finite scores.
    finite = lists.with_columns(pl.col("score").clip(-1e38, 1e38))
    same(ours, rw.evaluate(finite, truth, HITS, **options))


def test_the_largest_score_ties_with_nothing_above_it():
    most = np.finfo(np.float64).max
    lists = pl.DataFrame({"user": [1] * 3, "item": [1, 2, 3], "score": [1.0, 1.0, most]})
    assert rw.evaluate(lists, {1: [3]}, "mrr")["mrr"] == 1.0
