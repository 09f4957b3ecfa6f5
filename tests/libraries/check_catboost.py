"""The metric of CatBoost against CatBoost: its own numbers in every round."""

import catboost
import numpy as np
import pytest
from ranked_rows import queries, rows

from rankwise.rankers import CatBoostMetric


def pool(name):
    features, labels, sizes = rows(name)
    return catboost.Pool(features, labels, group_id=queries(sizes)), sizes


@pytest.mark.parametrize("name", ["NDCG:top=3;type=Base", "MRR:top=10", "PrecisionAt:top=3"])
def test_every_round_has_catboosts_own_numbers(name):
    (train, sizes), (valid, valid_sizes) = pool("train"), pool("valid")
    metric = CatBoostMetric(name, groups=[sizes, valid_sizes], convention="catboost")
    ranker = catboost.CatBoostRanker(
        iterations=8,
        depth=3,
        loss_function="YetiRank",
        eval_metric=metric,
        custom_metric=[name],
        random_seed=1,
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
    )
    ranker.fit(train, eval_set=valid)
    history = ranker.get_evals_result()["validation"]
    own = history[name]
    ours = history["CatBoostMetric"]
    assert len(ours) == 8
    assert ours == pytest.approx(own, abs=1e-9)
    assert np.ptp(ours) > 0


def test_early_stopping_follows_the_metric():
    (train, sizes), (valid, valid_sizes) = pool("train"), pool("valid")
    metric = CatBoostMetric("mrr@3", groups=[sizes, valid_sizes])
    ranker = catboost.CatBoostRanker(
        iterations=40,
        depth=3,
        loss_function="YetiRank",
        eval_metric=metric,
        random_seed=1,
        verbose=False,
        allow_writing_files=False,
        early_stopping_rounds=3,
        use_best_model=True,
    )
    ranker.fit(train, eval_set=valid)
    history = ranker.get_evals_result()["validation"]["CatBoostMetric"]
    assert history[ranker.get_best_iteration()] == max(history)
