"""What is kept between rounds is known by its content, and weights and queries count as given."""

from __future__ import annotations

import pytest

import rankwise as rw
from rankwise.rankers import (
    CatBoostMetric,
    LightGBMMetric,
    RankerTruth,
    XGBoostMetric,
    evaluate_rows,
)

LABELS, SCORES = [1, 0, 0, 3, 0, 2], [0.5, 0.7, 0.1, 0.9, 0.2, 0.95]


def test_two_conventions_of_one_name_are_two():
    linear = rw.Convention("ours", metrics={"ndcg": "ndcg"})
    exponential = rw.Convention("ours", metrics={"ndcg": "ndcg(gain=exponential)"})
    truth = RankerTruth(LABELS, group=[3, 3])
    first = truth.values(SCORES, "ndcg@3", convention=linear)
    second = truth.values(SCORES, "ndcg@3", convention=exponential)
    alone = RankerTruth(LABELS, group=[3, 3]).values(SCORES, "ndcg@3", convention=exponential)
    assert second == alone
    assert first.values() != second.values()


def test_metrics_may_come_from_a_generator():
    truth = RankerTruth(LABELS, group=[3, 3])
    for name in ("ndcg@3", "recall@1", "map@2"):
        assert truth.values(SCORES, (each for each in [name])).keys() == {name}
    found = evaluate_rows(SCORES, LABELS, (each for each in ["ndcg@3"]), group=[3, 3])
    assert found["ndcg@3"] == truth.evaluate(SCORES, "ndcg@3")["ndcg@3"]


def test_weights_of_catboost_count_as_those_of_lightgbm():
    labels, scores, weights = [1, 0, 1, 0], [0.1, 0.9, 0.9, 0.1], [0, 0, 1, 1]
    metric = CatBoostMetric("ndcg@2", groups=[[2, 2]])
    assert metric.evaluate([scores], labels, weights)[0] == 1.0
    assert metric.evaluate([scores], labels, None)[0] == pytest.approx(0.8154648767857288)
    assert LightGBMMetric("ndcg@2").eval_metric(labels, scores, weights, [2, 2])[0][1] == 1.0


def test_a_query_without_a_positive_has_the_value_that_was_chosen():
    assert XGBoostMetric("ndcg(without_relevant=one)@10")([0, 0], [0.2, 0.3]) == 1.0
    assert XGBoostMetric("mrr@10", undefined="zero")([0, 0], [0.2, 0.3]) == 0.0
    truth, scores = RankerTruth([1, 0, 0, 0], group=[2, 2]), [0.1, 0.9, 0.2, 0.3]
    name = "ndcg(gain=exponential,without_relevant=one)@2"
    (of_library,) = truth.values(scores, "ndcg@2", convention="lightgbm").values()
    judged = truth.values(scores, name, ties="input", population="judged")[name]
    assert judged == of_library
