"""The metric of LightGBM against LightGBM: its own numbers in every round, and early stopping."""

import runpy
from pathlib import Path

import lightgbm as lgb
import pytest
from ranked_rows import rows

from rankwise.rankers import LightGBMMetric, evaluate_rows

PARAMETERS = {"objective": "lambdarank", "verbose": -1, "seed": 1, "num_leaves": 7}


def train(metric, **more):
    history = {}
    features, labels, sizes = rows("train")
    train_set = lgb.Dataset(features, label=labels, group=sizes)
    features, labels, sizes = rows("valid")
    valid_set = lgb.Dataset(features, label=labels, group=sizes, reference=train_set)
    callbacks = [lgb.record_evaluation(history), *more.pop("callbacks", [])]
    booster = lgb.train(
        PARAMETERS | {"metric": metric, "eval_at": [3, 10]},
        train_set,
        20,
        valid_sets=[valid_set],
        valid_names=["valid"],
        callbacks=callbacks,
        **more,
    )
    return booster, history["valid"]


def test_every_round_has_lightgbms_own_numbers():
    feval = LightGBMMetric(["ndcg@3,10", "map@3,10"], convention="lightgbm")
    _, history = train(["ndcg", "map"], feval=feval)
    for own, ours in zip(["ndcg@3", "ndcg@10", "map@3", "map@10"], feval.names, strict=True):
        assert history[ours] == pytest.approx(history[own], abs=1e-9)
        assert len(history[ours]) == 20


def test_the_result_of_the_last_round_is_that_of_evaluate_rows():
    booster, history = train("None", feval=LightGBMMetric("ndcg@10"))
    features, labels, sizes = rows("valid")
    result = evaluate_rows(booster.predict(features), labels, "ndcg@10", group=sizes)
    assert result.values["ndcg@10"] == pytest.approx(history["ndcg@10"][-1], abs=1e-12)


def test_early_stopping_follows_the_metric():
    stop = lgb.early_stopping(3, verbose=False)
    booster, history = train("None", feval=LightGBMMetric("mrr@3"), callbacks=[stop])
    best = max(history["mrr@3"])
    assert history["mrr@3"][booster.best_iteration - 1] == best
    assert len(history["mrr@3"]) < 20


def test_the_scikit_learn_api():
    feval = LightGBMMetric(["ndcg@3", "mrr"], convention="lightgbm")
    features, labels, sizes = rows("train")
    valid, valid_labels, valid_sizes = rows("valid")
    ranker = lgb.LGBMRanker(n_estimators=5, verbose=-1, num_leaves=7)
    ranker.fit(
        features,
        labels,
        group=sizes,
        eval_set=[(valid, valid_labels)],
        eval_group=[valid_sizes],
        eval_at=[3],
        eval_metric=feval.eval_metric,
    )
    history = next(iter(ranker.evals_result_.values()))
    assert history[feval.names[0]] == pytest.approx(history["ndcg@3"], abs=1e-9)


ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "movietweetings-100k"


def test_the_example_of_a_search(capsys):
    runpy.run_path(str(ROOT / "examples" / "tune_ranker.py"))["main"]()
    said = capsys.readouterr().out
    assert "corrected for 11 pairs that were compared earlier on this test set" in said
    assert "tuned beats default" in said


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared/data")
def test_the_example_of_two_stages(capsys):
    runpy.run_path(str(ROOT / "examples" / "two_stage_ranker.py"))["main"](DATA)
    said = capsys.readouterr().out
    assert "The candidates lack 62 % of a user's relevant items" in said
    assert "SHIP  Replace neighbours with ranker" in said
