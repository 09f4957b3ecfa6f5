"""Callbacks, called as the training tools call them; `scripts/check-libraries` trains with the tools."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.rankers import (
    CatBoostMetric,
    LightGBMMetric,
    RankerTruth,
    SklearnMetric,
    XGBoostMetric,
)

LABELS = np.array([1, 0, 0, 2, 0], dtype=np.float32)
SCORES = np.array([0.5, 0.7, 0.1, 0.9, 0.2])
GROUPS = [3, 2]


class Dataset:
    """What LightGBM passes."""

    def __init__(self, group=GROUPS, weight=None):
        self._group, self._weight = group, weight
        self.asked = 0

    def get_label(self):
        self.asked += 1
        return LABELS

    def get_group(self):
        return None if self._group is None else np.array(self._group, dtype=np.int32)

    def get_weight(self):
        return self._weight


class DMatrix:
    """What XGBoost passes."""

    def __init__(self, offsets=(0, 3, 5), weight=()):
        self._offsets, self._weight = offsets, weight

    def get_label(self):
        return LABELS

    def get_uint_info(self, name):
        assert name == "group_ptr"
        return np.array(self._offsets, dtype=np.uint32)

    def get_weight(self):
        return np.array(self._weight, dtype=np.float32)


EXPECTED = RankerTruth(LABELS, group=GROUPS).values(SCORES, ["ndcg@3", "mrr"])


def test_lightgbm_gets_name_value_and_direction_of_several_metrics():
    feval, data = LightGBMMetric(["ndcg@3", "mrr"]), Dataset()
    rows = [feval(SCORES, data) for _ in range(3)]
    assert rows[0] == [("ndcg@3", EXPECTED["ndcg@3"], True), ("mrr", EXPECTED["mrr"], True)]
    assert rows[1] == rows[2] == rows[0]
    assert data.asked == 1  # the ground truth is prepared once
    assert feval.eval_metric(LABELS, SCORES, None, np.array(GROUPS)) == rows[0]


def test_lightgbm_weights_are_of_rows():
    weighted = Dataset(weight=np.array([3, 3, 3, 1, 1], dtype=np.float32))
    ((_, value, _),) = LightGBMMetric("mrr")(SCORES, weighted)
    assert value == (3 * 0.5 + 1) / 4


def test_xgboost_gets_one_value():
    metric = XGBoostMetric("ndcg@3")
    assert metric(SCORES, DMatrix()) == ("ndcg@3", EXPECTED["ndcg@3"])
    assert metric(SCORES, DMatrix(weight=(3, 1)))[1] != EXPECTED["ndcg@3"]
    assert metric.__name__ == "ndcg@3"
    with pytest.raises(ParameterError, match="one value per call"):
        XGBoostMetric(["ndcg@3", "mrr"])


def test_xgbranker_passes_one_query_at_a_time():
    metric = XGBoostMetric("mrr")
    assert metric(LABELS[:3], SCORES[:3]) == 0.5
    assert metric(LABELS[3:], SCORES[3:]) == 1.0
    with pytest.raises(MetricError, match="has no value for one"):
        metric(np.zeros(2), np.array([0.1, 0.2]))
    assert (
        XGBoostMetric("mrr", undefined="zero", population="judged")(
            np.zeros(2), np.array([0.1, 0.2])
        )
        == 0.0
    )


def test_catboost_has_its_groups_from_the_constructor():
    metric = CatBoostMetric("ndcg@3", groups=[[4, 2], GROUPS])
    assert metric.is_max_optimal()
    assert metric.evaluate([SCORES], LABELS, None) == (EXPECTED["ndcg@3"], 1.0)
    assert metric.get_final_error(0.5, 1.0) == 0.5
    with pytest.raises(InputError, match="no groups were given for a set of so many rows"):
        metric.evaluate([SCORES[:3]], LABELS[:3], None)
    with pytest.raises(ParameterError, match="two sets have as many rows"):
        CatBoostMetric("ndcg@3", groups=[[3, 2], [2, 3]])


def test_data_without_groups_are_refused():
    with pytest.raises(InputError, match="no groups"):
        LightGBMMetric("ndcg@3")(SCORES, Dataset(group=None))
    with pytest.raises(InputError, match="no groups"):
        XGBoostMetric("ndcg@3")(SCORES, DMatrix(offsets=()))


@pytest.mark.parametrize("make", [LightGBMMetric, XGBoostMetric, SklearnMetric])
def test_a_metric_without_a_better_direction_is_refused(make):
    with pytest.raises(MetricError, match="better direction"):
        make("judged@3")


def test_a_score_function_takes_the_query_of_each_row():
    metric = SklearnMetric("ndcg@3")
    assert metric.higher_is_better
    assert metric(LABELS, SCORES, qid=np.array([7, 7, 7, 9, 9])) == EXPECTED["ndcg@3"]
    assert metric(LABELS, SCORES, qid=["a", "a", "a", "b", "b"]) == EXPECTED["ndcg@3"]
    with pytest.raises(ParameterError, match="one value"):
        SklearnMetric("ndcg@[3,5]")
