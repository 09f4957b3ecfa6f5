"""`compute_metrics` and `RecommenderEvaluator`, by hand and against the engine."""

from __future__ import annotations

import itertools
import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import EmptyError, InputError, ParameterError, ScoreError

RATED = {"ann": [(4.5, 5.0), (4.0, 2.0), (3.0, 4.0), (1.0, 1.0)], "bob": [(2.0, 1.0), (5.0, 3.0)]}


def test_by_hand(caplog):
    with caplog.at_level(logging.INFO, logger="rankwise"):
        found = rw.compute_metrics(RATED, k=2)
    assert list(found) == ["precision", "recall", "hit_rate", "ndcg", "rmse"]
    assert found["precision"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["recall"] == pytest.approx(1 / 2)  # bob has nothing relevant: left out
    assert found["hit_rate"] == pytest.approx(1 / 2)
    assert found["ndcg"] == pytest.approx(1 / (1 + 1 / math.log2(3)))  # ratings 5 and 4 gain 1
    assert found["rmse"] == pytest.approx(math.sqrt((0.25 + 4 + 1 + 0 + 1 + 4) / 6))
    assert "1 of 2 users" in caplog.text


@given(
    st.dictionaries(
        st.integers(0, 5),
        st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1, max_size=7),
        min_size=1,
    ),
    st.integers(1, 5),
)
def test_against_the_engine(rated, k):
    if not any(true >= 3.5 for pairs in rated.values() for _, true in pairs):
        return
    found = rw.compute_metrics(rated, ["precision", "recall", "hit_rate", "ndcg", "rmse", "mae"], k)
    cells = {
        "recall": f"recall@{k}",
        "ndcg": f"ndcg(gain=binary)@{k}",
        "rmse": "rmse",
        "precision": f"precision@{k}",
        "hit_rate": f"hit_rate@{k}",
        "mae": "mae",
    }
    result = rw.evaluate_ratings(rated, list(cells.values()))
    zero = rw.evaluate_ratings(rated, list(cells.values()), undefined="zero")
    for name, cell in cells.items():
        # Precision and hit rate of users without relevant items are 0, recall and ndcg are not.
        theirs = (zero if name in ("precision", "hit_rate") else result)[cell]
        assert found[name] == pytest.approx(theirs, rel=1e-12), name


@pytest.mark.parametrize(
    ("error", "rated", "options"),
    [
        (EmptyError, {}, {}),
        (EmptyError, {"ann": []}, {}),
        (ScoreError, {"ann": [(1.0, float("nan"))]}, {}),
        (ScoreError, {"ann": [(1.0, 2.0, 3.0)]}, {}),
        (ScoreError, {"ann": [("x", 2)]}, {}),
        (ScoreError, {"ann": [(None, 2)]}, {}),
        (ScoreError, {"ann": [5]}, {}),
        (ScoreError, {"ann": None}, {}),
        (ParameterError, [(1.0, 2.0)], {}),
        (ParameterError, RATED, {"threshold": "high"}),
        (ParameterError, RATED, {"threshold": math.nan}),
        (ParameterError, RATED, {"k": None}),
        (ParameterError, RATED, {"k": 10**400}),
        (ParameterError, RATED, {"metrics": 5}),
        (ParameterError, RATED, {"metrics": [["ndcg"]]}),
        (ParameterError, RATED, {"metrics": ["presicion"]}),
        (ParameterError, RATED, {"k": 0.5}),
    ],
)
def test_bad_ratings(error, rated, options):
    with pytest.raises(error):
        rw.compute_metrics(rated, **options)


def test_numbers_of_numpy():
    expected = rw.compute_metrics(RATED, k=2, threshold=4)
    assert rw.compute_metrics(RATED, k=np.int64(2), threshold=np.float32(4)) == expected


LISTS = {"ann": [("a", 3.0), ("b", 2.0), ("c", 1.0)], "bob": ["c", "c", "d"]}


class Model:
    def recommend(self, user_id, n):
        return LISTS[user_id][:n]


TRUTH = {"ann": {"a", "c", "z"}, "bob": {"d"}, "cyd": {"a"}, "dan": set()}


def test_a_model_in_plain_python(caplog):
    evaluator = rw.RecommenderEvaluator(k_values=[3, 1])
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        found = evaluator.evaluate(Model(), TRUTH, catalog_size=10)
    assert sorted(found) == sorted(
        f"{name}@{k}" for name in ("precision", "recall", "f1", "coverage", "gini") for k in (1, 3)
    )
    precision, recall = (2 / 3 + 1 / 3) / 2, (2 / 3 + 1) / 2
    assert found["precision@3"] == pytest.approx(precision)
    assert found["recall@3"] == pytest.approx(recall)
    assert found["f1@3"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["coverage@3"] == 0.4
    assert found["coverage@1"] == 0.2
    assert found["gini@1"] == 0.0
    assert list(evaluator.failed) == ["cyd"]
    assert evaluator.skipped == 1
    assert "cyd" in caplog.text


def test_it_says_what_the_engine_says():
    found = rw.RecommenderEvaluator([2]).evaluate(Model(), TRUTH, catalog_size=10)
    result = rw.evaluate_model(
        Model(),
        TRUTH,
        ["precision@2", "recall@2", "f(of=means)@2", "gini(over=recommended)@2"],
        failed="leave_out",
    )
    assert list(found.values())[:3] == pytest.approx(list(result.values.values())[:3])
    assert found["gini@2"] == pytest.approx(result["gini(over=recommended)@2"])


def test_lists_without_end():
    class Endless:
        def recommend(self, user_id, n):
            return itertools.cycle(["a", "b"])

    evaluator = rw.RecommenderEvaluator(np.array([2, 3]))
    found = evaluator.evaluate(Endless(), {"ann": {"b"}}, catalog_size=np.int64(4))
    assert (found["recall@2"], found["precision@2"], found["coverage@3"]) == (1.0, 0.5, 0.5)
    with pytest.raises(EmptyError, match="more than 1,000,000 items"):
        rw.RecommenderEvaluator([10**15]).evaluate(Endless(), {"ann": {"b"}}, catalog_size=4)


def test_bad_models():
    with pytest.raises(ParameterError):
        rw.RecommenderEvaluator(k_values=[])
    for odd in ([0.5], 5, [1, "a"]):
        with pytest.raises(ParameterError):
            rw.RecommenderEvaluator(k_values=odd)
    with pytest.raises(ParameterError, match="catalogue"):
        rw.RecommenderEvaluator().evaluate(Model(), TRUTH, None)
    with pytest.raises(InputError, match="set of items"):
        rw.RecommenderEvaluator().evaluate(Model(), {"ann": 5}, 4)
    with pytest.raises(EmptyError, match="no recommendations for any user"):
        rw.RecommenderEvaluator().evaluate(Model(), {"cyd": {"a"}}, 5)
