"""Rows of scores and labels give the values that lists and ground truth of the same rows give."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.blocks import rank_rows as ranking
from rankwise.core import kernels
from rankwise.errors import InputError, MetricError, ParameterError, ScoreError
from rankwise.rankers import RankerTruth, evaluate_rows

METRICS = [
    "ndcg@3",
    "ndcg(gain=exponential,without_relevant=one)@2",
    "map(without_relevant=one)@5",
    "mrr",
    "precision(denominator=length)@2",
    "recall(without_relevant=one)@3",
    "err(max_relevance=4)@3",
    "rbp",
    "complete@2",
    "list_auc",
    "list_auc(one_class=zero,pairs=graded)",
    "bpref",
    "xauc",
    "xauc(average=pairs)",
    "mae",
    "cg(denominator=length)@3",
]


@st.composite
def rows(draw):
    """Draw sizes of groups, and scores with ties and grades of their rows."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    n = sum(sizes)
    scores = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return sizes, [score / 4 for score in scores], labels


def as_lists(sizes, scores, labels):
    lists, truth, start = {}, {}, 0
    for query, size in enumerate(sizes):
        own = range(start, start + size)
        lists[query] = [(row, scores[row]) for row in own]
        truth[query] = {row: labels[row] for row in own}
        start += size
    return lists, truth


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value == theirs[name] or (math.isnan(value) and math.isnan(theirs[name])), name


@pytest.mark.parametrize("kernels_used", [True, False])
@pytest.mark.parametrize("ties", [None, "input", "item", "item_desc", "optimistic", "pessimistic"])
@given(data=rows())
def test_values_are_those_of_lists_to_the_last_bit(ties, kernels_used, data):
    sizes, scores, labels = data
    lists, truth = as_lists(*data)
    options = {"population": "judged", "undefined": "zero"} | (
        {} if ties is None else {"ties": ties}
    )
    expected = rw.evaluate(lists, truth, METRICS, **options)
    prepared = RankerTruth(labels, group=sizes)
    if kernels_used:
        values, result = prepared.values(scores, METRICS, **options), None
        result = prepared.evaluate(scores, METRICS, **options)
    else:
        with kernels.without_library():
            values = prepared.values(scores, METRICS, **options)
            result = prepared.evaluate(scores, METRICS, **options)
    same(values, expected.values)
    same(result.values, expected.values)
    assert result.counts["users"] == expected.counts["users"]
    for count in ("tied_rows", "rows", "lists", "truth_rows", "hits", "users_without_list"):
        assert result.counts.get(count) == expected.counts.get(count), count
    assert result.counts == expected.counts
    for name in METRICS:
        ours, theirs = result.per_user[name].to_list(), expected.per_user[name].to_list()
        assert np.array_equal(ours, theirs, equal_nan=True), name


@given(rows(), st.integers(1, 12), st.integers(0, 2**30))
def test_compiled_ranks_are_those_of_a_sort(data, deepest, seed):
    sizes, scores, _ = data
    starts = np.concatenate([[0], np.cumsum(sizes)])
    wanted = np.random.default_rng(seed).random(len(scores)) < 0.7
    ours = ranking.rank_rows(np.array(scores), starts, wanted, deepest, slice(0, len(sizes)))
    with kernels.without_library():
        theirs = ranking.rank_rows(np.array(scores), starts, wanted, deepest, slice(0, len(sizes)))
    for column, other in zip(ours[0], theirs[0], strict=True):
        assert column.tolist() == other.tolist()
    assert ours[1] == theirs[1]


@pytest.mark.parametrize("size", [15, 16, 17, 40, 200, 1000])
def test_long_groups_are_ranked_as_numpy_ranks_them(size):
    rng = np.random.default_rng(size)
    scores = np.concatenate([np.round(rng.normal(size=size), 1), [0.0, -0.0, 1e308]])
    starts, wanted = np.array([0, len(scores)]), np.ones(len(scores), dtype=bool)
    for deepest in (5, 64, 65, 1 << 62):
        ours = ranking.rank_rows(scores, starts, wanted, deepest, slice(0, 1))
        with kernels.without_library():
            theirs = ranking.rank_rows(scores, starts, wanted, deepest, slice(0, 1))
        for column, other in zip(ours[0], theirs[0], strict=True):
            assert column.tolist() == other.tolist()
        assert ours[1] == theirs[1]


def test_many_queries_are_evaluated_by_several_threads():
    rng = np.random.default_rng(3)
    n = 600_000
    labels, scores = rng.integers(0, 3, n), rng.normal(size=n)
    truth = RankerTruth(labels, group=[10] * (n // 10))
    one, two = (truth.values(scores, METRICS[:4], threads=threads) for threads in (1, 2))
    assert one == two


def test_rows_of_a_query_need_not_stand_together():
    qid = ["b", "a", "b", "a", "b"]
    labels, scores = [1, 0, 0, 2, 0], [0.1, 0.7, 0.3, 0.9, 0.2]
    result = evaluate_rows(scores, labels, "ndcg@3", qid=qid)
    assert result.per_user["user"].to_list() == ["b", "a"]
    assert result.per_user["ndcg@3"].to_list() == [0.5, 1.0]
    frame = pl.DataFrame({"qid": qid})
    assert evaluate_rows(scores, labels, "ndcg@3", qid=frame["qid"]).values == result.values


@pytest.mark.parametrize("weights", [[3.0, 1.0], [3.0, 3.0, 1.0, 1.0, 1.0]])
def test_weights_are_of_queries(weights):
    truth = RankerTruth([0, 1, 0, 1, 0], group=[2, 3], weights=weights)
    scores = [0.9, 0.1, 0.3, 0.2, 0.1]
    expected = (3 * 0.5 + 1 * 0.5) / 4
    assert truth.values(scores, "mrr") == {"mrr": expected}
    assert truth.evaluate(scores, "mrr")["mrr"] == expected


def test_results_of_the_same_rows_are_compared():
    rng = np.random.default_rng(0)
    labels, sizes = rng.integers(0, 3, 400), [8] * 50
    truth = RankerTruth(labels, group=sizes)
    new, old = (truth.evaluate(labels + rng.normal(size=400) * w, "ndcg@5") for w in (0.5, 4))
    comparison = rw.compare({"old": old, "new": new})
    assert comparison["new"]["difference"] > 0
    other = RankerTruth(labels[::-1].copy(), group=sizes).evaluate(labels, "ndcg@5")
    with pytest.raises(ParameterError):
        rw.compare({"old": old, "other": other})


def test_a_threshold_and_single_precision():
    truth = RankerTruth([0.2, 0.6, 0.9], group=[3])
    scores = [1.0, 1.0 + 1e-9, 0.5]
    assert truth.values(scores, "precision@1", relevance_threshold=0.5) == {"precision@1": 1.0}
    single = truth.values(scores, "precision@1", threshold=0.5, score_precision="float32")
    assert single == {"precision@1": 0.5}


def test_conventions_with_several_orders_of_ties_are_evaluated_together():
    labels, scores = [1, 0, 0, 1, 0], [0.5, 0.5, 0.1, 0.4, 0.4]
    truth = RankerTruth(labels, group=[3, 2])
    names = ["NDCG:top=1;type=Base", "QueryAUC"]
    result = truth.evaluate(scores, names, convention="catboost")
    values = truth.values(scores, names, convention="catboost")
    assert values == dict(result.values)
    assert [*values.values()] == [0.0, (0.75 + 0.5) / 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "by the sizes of groups or by an id"),
        ({"group": [2, 1], "qid": [0, 0, 1]}, "by the sizes of groups or by an id"),
    ],
)
def test_queries_are_said_in_one_way(options, message):
    with pytest.raises(ParameterError, match=message):
        RankerTruth([1, 0, 1], **options)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([1, 0, 1], {"group": [2, 2]}, "do not add up"),
        ([1, 0, 1], {"group": [3, 0]}, "a whole number of 1 or more"),
        ([1, 0, 1], {"group": [1.5, 1.5]}, "a whole number of 1 or more"),
        ([1, 0, 1], {"qid": [0, 0]}, "one query id per row"),
        ([1, 0, 1], {"qid": ["a", None, "b"]}, "one query id per row"),
        ([1, float("nan"), 1], {"group": [3]}, "labels are finite"),
        (["x", "y"], {"group": [2]}, "labels are numbers"),
        ([1, 0, 1], {"group": [3], "weights": [1, 2]}, "one weight per query"),
        ([1, 0, 1], {"group": [3], "weights": [1, 2, 1]}, "different weights"),
        ([1, 0, 1], {"group": [2, 1], "weights": [1, -1]}, "0 or more"),
    ],
)
def test_bad_rows_are_refused(labels, options, message):
    with pytest.raises(InputError, match=message):
        RankerTruth(labels, **options)


def test_bad_scores_and_metrics_are_refused():
    truth = RankerTruth([1, 0, 1], group=[3])
    with pytest.raises(InputError, match="one number per row"):
        truth.values([0.1, 0.2], "ndcg@2")
    with pytest.raises(ScoreError, match="scores are finite"):
        truth.values([0.1, math.inf, 0.2], "ndcg@2")
    with pytest.raises(MetricError, match="reads more than the judged rows"):
        truth.values([0.1, 0.2, 0.3], "coverage@2")
    with pytest.raises(MetricError, match="reads more than the judged rows"):
        truth.evaluate([0.1, 0.2, 0.3], "auc")
    with pytest.raises(ParameterError, match="have no option 'exclude_seen'"):
        truth.values([0.1, 0.2, 0.3], "ndcg@2", exclude_seen=True)
