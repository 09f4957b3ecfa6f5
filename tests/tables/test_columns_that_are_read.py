"""``columns=`` is honoured or refused: a name for a table or a column that a call does not read is an error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.candidates import of_truth, per_user, sampled, these
from rankwise.errors import ParameterError
from rankwise.models.recommenders import Popularity
from rankwise.splits import KCore, LeaveOut

LISTS, TRUTH = {"eva": [4, 5]}, {"eva": {5}}
ROWS = pl.DataFrame({"user": [1, 1, 2, 2], "item": [4, 5, 4, 6], "timestamp": [1, 2, 3, 4]})
RATINGS = pl.DataFrame({"user": [1, 1], "item": [4, 5], "prediction": [3.0, 4.0], "rating": [4, 5]})
SCORES = np.array([[0.2, 0.7, 0.1]])
LOG = pl.DataFrame({"request": [1, 2], "item": [4, 5], "propensity": [0.5, 0.5], "click": [1, 0]})


class Model:
    def recommend(self, user, n):
        return [4, 5][:n]


CALLS = {
    "evaluate, a table that is not passed": lambda: rw.evaluate(
        LISTS, TRUTH, "mrr", columns={"train.item": "movie"}
    ),
    "evaluate, a column of no table": lambda: rw.evaluate(
        LISTS, TRUTH, "mrr", columns={"categories": "genres"}
    ),
    "evaluator": lambda: rw.Evaluator("mrr", columns={"users.user": "uid"}),
    "model": lambda: rw.evaluate_model(
        Model(), TRUTH, "mrr", k=2, columns={"recommendations.item": "x"}
    ),
    "ratings": lambda: rw.evaluate_ratings(RATINGS, "rmse", columns={"categories": "genres"}),
    "ratings, a table that is not passed": lambda: rw.evaluate_ratings(
        RATINGS, "rmse", columns={"items.item": "x"}
    ),
    "split": lambda: LeaveOut(1).split(ROWS, columns={"train.timestamp": "when"}),
    "filter": lambda: KCore(1).apply(ROWS, columns={"truth.user": "who"}),
    "audit": lambda: rw.audit(ROWS.head(2), ROWS.tail(2), columns={"recommendations.user": "who"}),
    "rank": lambda: rw.rank(SCORES, 1, columns={"train.user": "who"}),
    "rank_relevant": lambda: rw.rank_relevant(
        SCORES, truth={0: {1}}, columns={"train.user": "who"}
    ),
    "candidates of the truth": lambda: of_truth(TRUTH, columns={"train.item": "x"}),
    "given candidates": lambda: these([1, 2], columns={"truth.item": "x"}),
    "candidates by user": lambda: per_user({1: [2]}, columns={"items.item": "x"}),
    "sampled candidates": lambda: sampled(
        TRUTH, 1, seed=1, items=[4, 5, 6], columns={"train.item": "x"}
    ),
    "baseline": lambda: Popularity().fit(ROWS, columns={"items.item": "x"}),
    "off_policy": lambda: rw.off_policy(
        LOG, targets={"a": "uniform"}, columns={"outcomes.reward": "x"}
    ),
    "interleaving": lambda: rw.interleaving(
        {"credit_a": [1], "credit_b": [0]}, columns={"predictions.item": "x"}
    ),
    "report": lambda: rw.report(rw.evaluate(LISTS, TRUTH, "mrr"), columns={"users.user": "x"}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_column_that_is_not_read_is_refused(call):
    with pytest.raises(ParameterError, match="a column of a table that is not read here") as raised:
        call()
    assert "leave" in str(raised.value.hint)


def test_exact_ranks_read_the_truth_alone():
    ranks = rw.rank_relevant(SCORES, truth={0: {1}})
    with pytest.raises(ParameterError, match="not read here"):
        rw.curve(ranks, {0: {1}}, "recall", columns={"items.item": "x"})


def test_columns_of_tables_that_come_with_the_chunks():
    lists = pl.DataFrame({"who": [1, 1], "item": [4, 5]})
    evaluator = rw.Evaluator("mrr", columns={"recommendations.user": "who", "truth.user": "person"})
    truth = pl.DataFrame({"person": [1], "item": [5]})
    assert evaluator.update(lists, truth).result()["mrr"] == 0.5


def test_ratings_honour_names_that_all_tables_have():
    ratings = RATINGS.rename({"user": "who"})
    users = pl.DataFrame({"who": [1], "plan": ["free"]})
    result = rw.evaluate_ratings(ratings, "rmse", users=users, by="plan", columns={"user": "who"})
    assert result.slices["group"].to_list() == ["free"]


def test_hint_that_is_followed_works():
    train = pl.DataFrame({"user": ["eva"], "movie": [4]})
    columns = {"train.item": "movie"}
    with pytest.raises(ParameterError, match="pass train="):
        rw.evaluate(LISTS, TRUTH, "novelty@2", columns=columns)
    rw.evaluate(LISTS, TRUTH, "novelty@2", train=train, columns=columns)


def test_only_tables_that_a_call_takes_are_asked_for():
    for key, hint in (
        ("train.user", "leave 'train.user'"),
        ("items.item", "pass items=, or leave 'items.item'"),
    ):
        with pytest.raises(ParameterError) as raised:
            rw.off_policy(LOG, targets={"a": "uniform"}, columns={key: "x"})
        assert raised.value.hint.startswith(hint)
    with pytest.raises(ParameterError) as raised:
        rw.evaluate(LISTS, TRUTH, "mrr", columns={"train.user": "x"})
    assert raised.value.hint.startswith("pass train=, or leave")
