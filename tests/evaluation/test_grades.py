"""Grades of events, wherever the rows of a ground truth come in pieces or in another form."""

from __future__ import annotations

import pickle

import polars as pl
import pytest
import yaml

import rankwise as rw
from rankwise.errors import ColumnError, ParameterError
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.resolved import resolved
from rankwise.experiments.run import execute

GRADES = {"look": 0, "keep": 2, "buy": 5}
LISTS = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 3, 3], "item": [7, 8, 9, 9, 7, 8, 7], "rank": [1, 2, 3, 1, 2, 1, 2]}
)
EVENTS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3, 3],
        "item": [8, 8, 9, 7, 9, 8, 7],
        "event": ["keep", "buy", "look", "buy", "keep", "look", "keep"],
    }
)
METRICS = ["ndcg@2", "recall@2", "mrr"]


def whole():
    return rw.evaluate(LISTS, EVENTS, METRICS, relevance=GRADES)


def test_grades_of_whole_tables_by_hand():
    result = whole()
    relevant = {1: {8}, 2: {7, 9}, 3: {7}}  # a look has the grade 0
    assert result.per_user["n_relevant"].to_list() == [len(relevant[user]) for user in (1, 2, 3)]
    assert result["mrr"] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert result.counts["truth_rows_merged"] == 1


def test_pieces_that_bring_their_events():
    evaluator = rw.Evaluator(METRICS, relevance=GRADES)
    for users in ([1, 3], [2]):
        own = pl.col("user").is_in(users)
        evaluator.update(LISTS.filter(own), EVENTS.filter(own))
    result = evaluator.result()
    assert (result.values, result.counts) == (whole().values, whole().counts)
    assert result.per_user.equals(whole().per_user)


def test_pieces_of_requests():
    lists = pl.concat(
        [
            LISTS.with_columns(request=pl.lit(1)),
            LISTS.with_columns(request=pl.lit(2), rank=4 - pl.col("rank")),
        ]
    )
    together = rw.evaluate(lists, EVENTS, METRICS, relevance=GRADES)
    evaluator = rw.Evaluator(METRICS, truth=EVENTS, relevance=GRADES)
    for user in (2, 1, 3):
        evaluator.update(lists.filter(pl.col("user") == user))
    assert evaluator.result().values == together.values
    assert evaluator.result().counts["truth_rows_merged"] == together.counts["truth_rows_merged"]


def test_job_that_is_sent_counts_merged_rows():
    settings = Settings.read(METRICS, {"relevance": GRADES})
    job = prepare(settings, read_inputs(settings, truth=EVENTS))
    job = pickle.loads(pickle.dumps(job))
    piece = read_inputs(settings.of((), None, {}), recommendations=LISTS)
    assert finish(job, [work(job, piece)]).counts == whole().counts


def test_pieces_without_a_ground_truth_have_no_events():
    evaluator = rw.Evaluator("coverage@2", relevance=GRADES, population="recommended")
    with pytest.raises(ParameterError, match="grades are of the events of a ground truth"):
        evaluator.update(LISTS)


def test_event_without_a_grade_in_one_piece():
    evaluator = rw.Evaluator(METRICS, relevance=GRADES)
    with pytest.raises(ColumnError, match="every event needs a grade"):
        evaluator.update(LISTS, EVENTS.with_columns(event=pl.lit("share")))


@pytest.mark.parametrize("more", [{}, {"convention": "ranx"}], ids=["default", "convention"])
def test_configuration_says_the_grades_and_uses_them(more, tmp_path):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    EVENTS.write_parquet(tmp_path / "events.parquet")
    config = {
        "data": {"truth": "events.parquet"},
        "systems": {"ours": "lists.parquet"},
        "evaluation": {"metrics": METRICS, "relevance": GRADES, **more},
        "output": {"report": False},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    experiment = read_experiment(tmp_path / "config.yaml")
    assert resolved(experiment, tmp_path)["evaluation"]["relevance"] == {
        event: float(g) for event, g in GRADES.items()
    }
    result = execute(experiment).results["ours"]
    assert result.values == rw.evaluate(LISTS, EVENTS, METRICS, relevance=GRADES, **more).values


def test_configuration_draws_negatives_for_items_with_a_grade(tmp_path):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    EVENTS.write_parquet(tmp_path / "events.parquet")
    pl.DataFrame({"item": range(6, 30)}).write_parquet(tmp_path / "items.parquet")
    config = {
        "data": {"truth": "events.parquet", "items": "items.parquet"},
        "systems": {"ours": "lists.parquet"},
        "evaluation": {
            "metrics": ["recall@2"],
            "relevance": GRADES,
            "strategy": "sampled",
            "num_negatives": 3,
        },
        "output": {"report": False},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    result = execute(read_experiment(tmp_path / "config.yaml")).results["ours"]
    assert result.counts["users"] == 3
