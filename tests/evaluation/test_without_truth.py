"""Metrics that describe lists need no ground truth, and say so."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ConfigError, EmptyError, MetricError, ParameterError
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute
from rankwise.metrics import registry

LISTS = {1: [5, 6], 2: [7, 5]}
TRAIN = {1: [5, 7], 2: [6, 5], 3: [8, 5, 7]}
ITEMS = {
    "item": [5, 6, 7, 8],
    "genres": ["a", "a|b", "b", "c"],
    "features": [[0.0, 1.0], [1.0, 0.5], [0.3, 0.3], [1.0, 1.0]],
    "group": ["x", "x", "y", "y"],
    "propensity": [0.5, 0.5, 0.2, 0.1],
}
USERS = {"user": [1, 2, 3], "group": ["m", "n", "m"]}
KNOWN = {"train": TRAIN, "items": ITEMS, "users": USERS, "reference": {1: [5], 2: [6, 5]}}
SCORED = {
    user: [(item, 0.9 - n / 2) for n, item in enumerate(items)] for user, items in LISTS.items()
}


def every_metric():
    for cls in registry.all_metrics():
        if cls.__module__.startswith("rankwise."):
            yield cls() if cls.cutoff == "none" else cls(2)


@pytest.mark.parametrize("metric", list(every_metric()), ids=str)
def test_reads_truth_is_true(metric):
    """A metric that reads no truth has one value under any, and has it without one."""

    def value(truth):
        options = {"population": "recommended", "undefined": "zero"}
        return rw.evaluate(SCORED, truth, metric, **KNOWN, **options).values

    truths = [
        {1: {5: 1.0}, 2: {8: 1.0}},
        {1: {6: 1.0, 5: 0.0}, 2: {7: 0.2}},
        {1: {7: 1.0, 6: 0.5, 8: 2.0}},
    ]
    truths.append({1: {5: 1.0, 6: 1.0}, 2: {5: 1.0}})
    found = [{cell: repr(v) for cell, v in value(truth).items()} for truth in truths]
    if metric.reads_truth:
        assert any(values != found[0] for values in found)
        with pytest.raises(MetricError, match="needs a ground truth"):
            rw.evaluate(SCORED, None, metric, **KNOWN)
        return
    alone = rw.evaluate(SCORED, None, metric, **KNOWN)
    assert all({cell: repr(v) for cell, v in alone.values.items()} == values for values in found)
    assert alone.provenance["settings"]["population"] == "recommended"
    assert "truth" not in alone.provenance["inputs"]


def test_a_result_without_truth_is_like_any_other(tmp_path):
    result = rw.evaluate(
        LISTS, metrics=["gini@2", "novelty@2"], train=TRAIN, users=USERS, by="group"
    )
    shown = repr(result)
    assert "2 users with a list" in shown
    assert "relevant" not in shown
    assert rw.load(result.save(tmp_path / "out")).values == result.values
    jackknifed = rw.evaluate(
        LISTS | {3: [5, 8], 4: [5, 6], 5: [6, 5]}, metrics="gini@2", jackknife=3
    )
    assert jackknifed.interval("gini@2").low < 1
    rest = rw.evaluate(LISTS, metrics="num_retrieved", train=TRAIN, exclude_seen=True)
    assert rest.counts["seen_items_taken_out"] == 2


def test_training_interactions_of_a_split(tmp_path):
    rows = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 7, 6, 5], "timestamp": [1, 2, 1, 2]})
    split = rw.splits.LeaveOut(1).split(rows)
    split.save(tmp_path / "split")
    for train in (split, tmp_path / "split", str(tmp_path / "split")):
        result = rw.evaluate(LISTS, metrics="novelty@2", train=train)
        assert (
            result.values == rw.evaluate(LISTS, metrics="novelty@2", train={1: [5], 2: [6]}).values
        )


def test_in_pieces():
    evaluator = rw.Evaluator("coverage@2", population="recommended", items=range(5, 9))
    for user, items in LISTS.items():
        evaluator.update({user: items})
    assert evaluator.result()["coverage@2"] == 0.75
    frame = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 7, 5]})
    assert rw.evaluate(frame, None, "coverage@2", items=range(5, 9))["coverage@2"] == 0.75


@pytest.mark.parametrize(
    "options",
    [{"relevance_threshold": 3}, {"population": "both"}, {"by": "item:cold", "train": TRAIN}],
)
def test_what_makes_no_sense_without_truth(options):
    with pytest.raises(ParameterError):
        rw.evaluate(LISTS, None, "gini@2", **options)


def test_nobody_has_a_relevant_item():
    judged = {1: {5: 0.0}, 2: {7: 0.0}}
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.evaluate(LISTS, judged, "recall@2")
    zero = rw.evaluate(LISTS, judged, "recall@2", population="recommended", undefined="zero")
    assert zero["recall@2"] == 0.0


@pytest.mark.parametrize("population", ["truth", "both", "judged", "judged_both"])
@pytest.mark.parametrize("convention", [None, "ranx"])
def test_population_of_a_ground_truth_needs_one(population, convention):
    with pytest.raises(
        ParameterError, match="without a ground truth there are no relevant items"
    ) as raised:
        rw.evaluate({"eva": [4]}, None, "coverage@1", population=population, convention=convention)
    assert f'population="{population}"' in str(raised.value)
    assert rw.evaluate({"eva": [4]}, None, "coverage@1", convention=convention).counts["users"] == 1


def test_configuration_without_truth_says_who_is_evaluated(tmp_path):
    pl.DataFrame({"user": [1, 2], "item": [4, 5]}).write_csv(tmp_path / "lists.csv")
    path = tmp_path / "config.yaml"
    path.write_text(
        "systems: {ours: lists.csv}\nevaluation: {metrics: [coverage@1]}\noutput: {report: false}\n"
    )
    first = execute(read_experiment(path))
    assert "population: recommended" in (first.folder / "config.yaml").read_text()
    again = execute(read_experiment(first.folder / "config.yaml"))
    assert again.results["ours"].values == first.results["ours"].values
    path.write_text(path.read_text().replace("[coverage@1]", "[coverage@1], population: truth"))
    with pytest.raises(ConfigError, match="without a ground truth"):
        read_experiment(path)
