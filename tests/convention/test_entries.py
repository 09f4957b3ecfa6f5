"""Edges of conventions: pieces, entries that share a metric, no ground truth, wrong arguments."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError

LISTS = {
    "ann": [("a", 0.9), ("b", 0.7), ("c", 0.7)],
    "bob": [("d", 0.8), ("a", 0.4)],
    "cyd": [("e", 0.6)],
}
TRUTH = {"ann": {"b": 5, "f": 3, "g": 1}, "bob": {"a": 4}, "dan": {"e": 2}, "cyd": {"e": 0}}


@pytest.mark.parametrize("name", rw.conventions())
def test_an_evaluator_orders_ties_as_the_convention_does(name):
    run, truth = {"u": [("b", 1.0), ("a", 1.0)]}, {"u": {"a"}}
    pieces = rw.Evaluator("mrr", truth=truth, convention=name).update(run).result()
    assert pieces["mrr"] == rw.evaluate(run, truth, "mrr", convention=name)["mrr"]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("lenskit", "precision@1"),
        ("recommenders", "ndcg@1"),
        ("rectools", "novelty@1"),
        ("warprec-1.4", "f@1"),
    ],
)
def test_files_in_chunks_keep_the_rules_of_metrics(tmp_path, name, metric):
    path, truth = tmp_path / "lists.parquet", {"u": {"b": 1}, "w": {"c": 1}}
    pl.DataFrame({"user": ["u", "v"], "item": ["b", "c"], "score": [1.0, 1.0]}).write_parquet(path)
    options = {"train": {"u": ["b", "c"], "v": ["c"]}, "convention": name}
    chunks = rw.evaluate(path, truth, metric, chunk_rows=1, **options)
    assert chunks.values == rw.evaluate(path, truth, metric, **options).values


def test_names_of_one_metric_have_the_same_choices():
    mine = rw.Convention(
        "m", base="recbole", metrics={"hit": {"metric": "hit_rate", "population": "both"}}
    )
    for name in ("hit@2", "hit_rate@2"):
        assert rw.evaluate(LISTS, TRUTH, name, convention=mine)[name] == pytest.approx(2.5 / 3)
    other = {"metric": "ndcg", "population": "all"}
    with pytest.raises(ParameterError, match="two names of ndcg have different choices"):
        rw.Convention("x", metrics={"a": "ndcg", "b": other})
    with pytest.raises(ParameterError, match="the same at every cut-off"):
        rw.Convention("c", metrics={"mrr@k": {"metric": "mrr", "population": "all"}})


def test_choices_alone_keep_the_metric_of_the_base():
    mine = rw.Convention("z", base="lenskit", metrics={"NDCG": {"population": "truth"}})
    assert str(mine.parse("ndcg")) == "ndcg(gain=binary,discount=log)"
    assert mine.choices_of(mine.parse("ndcg"))["population"] == "truth"


@pytest.mark.parametrize(
    ("choices", "metric"),
    [
        ({"undefined": "nan", "population": "all"}, "ndcg@2"),
        ({"ids": "text"}, "arp@1"),
        ({"score_precision": "float32"}, "rmse"),
        ({"undefined": "zero", "population": "judged"}, "quantile(of=ndcg)@2"),
    ],
)
def test_many_conventions_give_what_each_gives(choices, metric):
    mine = rw.Convention("mine", **choices)
    lists = pl.DataFrame({"user": [1, 1, 1, 2, 2, 2], "item": [9, 10, 2] * 2, "score": [0.1] * 6})
    truth = pl.DataFrame({"user": [1, 2, 3], "item": [9, 9, 2], "relevance": [2, 0, 1]})
    train = pl.DataFrame({"user": [1, 2, 3, 3], "item": [9, 9, 9, 10]})
    across = rw.across_conventions(
        lists, truth, metric, conventions=["default", mine, "trec_eval"], train=train
    )
    found = across.table.filter(pl.col("convention") == "mine")["value"][0]
    alone = rw.evaluate(lists, truth, metric, convention=mine, train=train)[metric]
    assert found == pytest.approx(alone, rel=0, abs=0, nan_ok=True)


def test_what_users_add_to_sums_and_to_functions_of_sums():
    total = rw.explain(LISTS, TRUTH, "tp@2", "trec_eval", "recbole")
    assert total.users["contribution"].sum() == total.difference == 1.5
    pooled = rw.explain(LISTS, TRUTH, "rmse", "warprec", "recbole")
    assert pooled.users["contribution"].null_count() == len(pooled.users)
    assert "carr" not in repr(pooled)


def test_metrics_whose_parts_have_other_rules_are_evaluated_apart():
    metrics = ["precision@2", "recall@2", "f@2"]
    result = rw.evaluate(LISTS, TRUTH, metrics, convention="warprec-1.4")
    assert list(result) == metrics
    for name in metrics:
        alone = rw.evaluate(LISTS, TRUTH, name, convention="warprec-1.4")
        assert result[name] == alone[name]


def test_default_metrics_are_those_that_the_library_has():
    mine = rw.Convention("mine", metrics={"map": {"refused": "something else"}})
    names = list(rw.evaluate(LISTS, TRUTH, convention=mine))
    assert len(names) == 5
    assert not any(name.startswith("map") for name in names)


@pytest.mark.parametrize("name", ["elliot", "warprec", "lenskit", "trec_eval"])
def test_lists_without_ground_truth(name):
    result = rw.evaluate(LISTS, None, "item_coverage@2", convention=name, train={"q": ["a"]})
    assert result["item_coverage@2"] >= 1


def test_a_jackknife_over_two_populations():
    users = {f"u{number}": [number % 5, 7] for number in range(12)}
    truth = {user: {items[0]: 1} for user, items in users.items()} | {"v": {1: 0}}
    result = rw.evaluate(
        users | {"v": [1]},
        truth,
        ["auc", "gini@2"],
        convention="warprec",
        train={"q": list(range(10))},
        jackknife=4,
    )
    assert result.replicates.columns == ["group", "auc(negatives=one_more)", "gini@2"]
    assert result.interval("gini@2").n > 0


def test_a_saved_result_has_its_metrics_in_order(tmp_path):
    metrics = ["recall@2", "ndcg_at_k(score_type=raw)@2", "precision@2"]
    result = rw.evaluate(LISTS, TRUTH, metrics, convention="recommenders")
    assert str(rw.load(result.save(tmp_path / "kept"))) == str(result)
    assert list(result) == ["recall@2", "ndcg@2", "precision@2"]


def test_ratings_take_the_population_of_the_convention():
    rated = pl.DataFrame(
        {
            "user": ["a", "a", "b"],
            "item": [1, 2, 3],
            "prediction": [4.0, 3.0, 5.0],
            "rating": [5, 2, 1],
        }
    )
    result = rw.evaluate_ratings(rated, "recall@2", convention="lenskit")
    assert result.provenance["settings"]["population"] == "both"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rw.Convention("x", base=3),
        lambda: rw.Convention("x", metrics={3: "ndcg"}),
        lambda: rw.Convention("x", ties=["a"]),
        lambda: rw.evaluate(LISTS, TRUTH, "mrr", convention=3),
        lambda: rw.across_conventions(LISTS, TRUTH, "mrr", conventions=3),
        lambda: rw.across_conventions(LISTS, TRUTH, "mrr", conventions=[]),
        lambda: rw.convention_of("0.1", LISTS, TRUTH, "map", cutoffs=3),
        lambda: rw.convention_of("0.1", LISTS, TRUTH, "map", cutoffs="abc"),
        lambda: rw.convention_of("0.1", LISTS, TRUTH, "map", cutoffs=[]),
    ],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ParameterError):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rw.explain(LISTS, TRUTH, None, "default", "recbole"),
        lambda: rw.across_conventions(LISTS, TRUTH, None),
        lambda: rw.convention_of("0.1", LISTS, TRUTH, ["map"]),
    ],
)
def test_metrics_that_are_no_text(wrong):
    with pytest.raises(MetricError, match="text here"):
        wrong()


def test_one_convention_need_not_be_a_list():
    assert len(rw.across_conventions(LISTS, TRUTH, "mrr", conventions="recbole").table) == 1
