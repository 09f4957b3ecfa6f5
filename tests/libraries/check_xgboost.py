"""The metric of XGBoost against XGBoost: its own numbers in every round, and early stopping."""

import numpy as np
import pytest
import xgboost as xgb
from ranked_rows import queries, rows

from rankwise.rankers import RankerTruth, XGBoostMetric

PARAMETERS = {"objective": "rank:ndcg", "max_depth": 3, "seed": 1}


def matrix(name):
    features, labels, sizes = rows(name)
    data = xgb.DMatrix(features, label=labels)
    data.set_group(sizes)
    return data


def train(metric, own, **more):
    history = {}
    booster = xgb.train(
        PARAMETERS | {"eval_metric": own},
        matrix("train"),
        20,
        evals=[(matrix("valid"), "valid")],
        custom_metric=metric,
        evals_result=history,
        verbose_eval=False,
        **more,
    )
    return booster, history["valid"]


@pytest.mark.parametrize("name", ["ndcg@3", "ndcg@10-", "ndcg"])
def test_every_round_has_xgboosts_own_numbers(name):
    metric = XGBoostMetric(name, convention="xgboost")
    _, history = train(metric, name)
    assert history[metric.name] == pytest.approx(history[name], abs=2e-6)  # six digits
    assert len(history[metric.name]) == 20


def test_early_stopping_follows_the_metric():
    metric = XGBoostMetric("mrr@3")
    stop = xgb.callback.EarlyStopping(
        rounds=3, metric_name=metric.name, data_name="valid", maximize=metric.higher_is_better
    )
    booster, history = train(metric, "ndcg@3", callbacks=[stop])
    assert history[metric.name][booster.best_iteration] == max(history[metric.name])


def test_the_scikit_learn_api_calls_the_metric_query_by_query():
    features, labels, sizes = rows("train")
    valid, valid_labels, valid_sizes = rows("valid")
    metric = XGBoostMetric("ndcg@3", convention="xgboost")
    ranker = xgb.XGBRanker(n_estimators=5, max_depth=3, eval_metric=metric)
    ranker.fit(
        features,
        labels,
        qid=queries(sizes),
        eval_set=[(valid, valid_labels)],
        eval_qid=[queries(valid_sizes)],
        verbose=False,
    )
    history = next(iter(ranker.evals_result().values()))
    truth = RankerTruth(valid_labels, group=valid_sizes)
    result = truth.evaluate(ranker.predict(valid), "ndcg@3", convention="xgboost")
    by_rows = np.average(result.per_user[metric.name], weights=valid_sizes)  # XGBoost's mean
    assert history[metric.name][-1] == pytest.approx(by_rows, abs=2e-6)
    assert history[metric.name][-1] != pytest.approx(result.values[metric.name], abs=2e-6)
