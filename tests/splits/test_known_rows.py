"""What a user had before a part: the same rows for masks, warm users, histories and the audit."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import splits
from rankwise.errors import InputError, ParameterError
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings

TABLE = pl.DataFrame(
    {
        "user": [1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3],
        "item": [1, 2, 3, 4, 5, 6, 1, 2, 7, 2, 9],
        "timestamp": [1, 2, 3, 10, 11, 12, 1, 2, 11, 10, 12],
    }
)
RULE = splits.GlobalTime(at=10, target="last", validation=splits.LeaveOut(1))
KNOWN = {1: {1, 2, 3, 4, 5}, 2: {1, 2}, 3: {2}}


@pytest.fixture(scope="module")
def split():
    return RULE.split(TABLE)


def by_user(frame):
    return {user: set(items) for user, items in frame.group_by("user").agg("item").iter_rows()}


def test_what_is_known_before_each_part(split, tmp_path):
    assert by_user(split.known()) == KNOWN
    assert by_user(split.known("validation")) == {1: {1, 2}, 2: {1}}
    assert split.card["known"] == {
        "test": ["train", "validation", "history"],
        "validation": ["train"],
    }
    assert by_user(splits.read(split.save(tmp_path / "out")).known()) == KNOWN
    assert type(RULE.split(TABLE.to_pandas()).known()).__module__.startswith("pandas")
    with pytest.raises(ParameterError, match="no part 'validation'"):
        splits.LeaveOut(1).split(TABLE).known("validation")
    with pytest.raises(ParameterError, match="part must be one of test, validation"):
        split.known("train")


def test_the_history_of_validation_users_is_known_before_both(split):
    rule = splits.Holdout(
        0.2, seed=3, validation=splits.UserHoldout(0.5, fold_in=splits.LeaveOut(1, "random"))
    )
    table = pl.DataFrame({"user": np.repeat(range(6), 8), "item": np.tile(range(8), 6)})
    made = rule.split(table)
    parts = {name: set(made.part(name).rows()) for name in made.masks}
    assert parts["validation_history"]
    assert set(made.known("validation").rows()) == parts["train"] | parts["validation_history"]
    assert set(made.known().rows()) == set(table.rows()) - parts["test"]


def test_known_items_are_masked(split):
    everything = rw.rank(np.ones((3, 10)), k=10, exclude=split, user_ids=[1, 2, 3])
    assert by_user(everything.frame) == {
        user: set(range(10)) - items for user, items in KNOWN.items()
    }
    lists = {1: [1, 3, 4, 6], 2: [2, 7], 3: [2, 9]}
    for source in ({"truth": split}, {"truth": split.test, "train": split}):
        result = rw.evaluate(lists, metrics="recall@1", exclude_seen=True, **source)
        assert result["recall@1"] == 1.0
        assert result.counts["seen_items_taken_out"] == 5

    class Model:
        def predict(self, users):
            return np.tile(-np.arange(10.0), (len(users), 1))

    best = rw.evaluate_model(Model(), split, "hit_rate@2", exclude_seen=True)
    assert best.per_user["hit_rate@2"].to_list() == [1.0, 0.0, 0.0]  # user 1 is left with 0 and 6
    candidates = rw.candidates.sampled(split.test, 4, seed=1, items=range(10), train=split)
    assert dict(candidates.eligible.iter_rows()) == {1: 4, 2: 7, 3: 8}
    assert not any(KNOWN[user] & items for user, items in by_user(candidates.frame).items())


def test_jobs_and_evaluators_know_as_much(split):
    """What users had travels with a job, and serves lists that come in pieces."""
    names, lists = ["novelty@2", "repeated@2", "coverage@2"], {1: [3, 4], 2: [1, 8]}
    whole = rw.evaluate(lists, split, names)
    evaluator = rw.Evaluator(names, truth=split.test, train=split)
    for user, items in lists.items():
        evaluator.update({user: items})
    assert evaluator.result().values == whole.values
    settings = Settings.read(names, {})
    job = pickle.loads(pickle.dumps(prepare(settings, read_inputs(settings, truth=split))))
    assert (
        finish(job, [work(job, read_inputs(settings, recommendations=lists))]).values
        == whole.values
    )
    assert whole.per_user["repeated@2"].to_list()[:2] == [1.0, 0.5]


def test_exact_ranks_leave_known_items_out(split):
    scores = np.tile(np.arange(10.0, 0.0, -1.0), (3, 1))
    ranks = rw.rank_relevant(scores, truth=split, exclude=split, user_ids=[1, 2, 3])
    assert dict(ranks.frame.select("user", "first").rows()) == {1: 2, 2: 6, 3: 9}
    assert dict(ranks.lengths.iter_rows()) == {
        user: 10 - len(items) for user, items in KNOWN.items()
    }


def test_items_are_counted_in_training_alone(split):
    truth, lists = split.test, {1: [6, 2], 2: [7, 2], 3: [9, 1]}
    both = [
        rw.evaluate(lists, truth, ["novelty@2", "coverage@2"], train=train)
        for train in (split, split.train)
    ]
    assert both[0].values == both[1].values
    again = rw.evaluate(lists, split, ["novelty@2", "recall@2"], by=["history", "item:cold"])
    assert again.slices.filter(by="history")["group"].to_list() == ["warm"]
    assert again.slices.filter(by="item:cold")["group"].to_list() == ["cold"]
    assert set(split.items.filter(history="cold")["item"]) == {6, 7, 9}
    drawn = rw.candidates.sampled({4: {1}}, 1, seed=1, train=split, by="popularity")
    assert set(drawn.frame["item"]) == {1, 2}
    negatives = {
        item
        for seed in range(9)
        for item in rw.candidates.sampled({4: {1}}, 1, seed=seed, train=split).frame["item"]
    }
    assert negatives == {1, 2}


def test_histories_and_slices_by_activity_know_all_rows(split):
    lists = {1: [3, 4], 2: [1, 7], 3: [8, 9]}
    result = rw.evaluate(lists, split, "repeated@2", by="activity")
    assert result.per_user["repeated@2"].to_list() == [1.0, 0.5, 0.0]
    values = dict(result.slices.select("group", "repeated@2").rows())  # of 5, 2 and 1 known items
    assert values == {"high": 1.0, "middle": 0.5, "low": 0.0}


def test_warm_users_have_any_known_row():
    """User 2 comes in validation, user 3 in the history, user 4 in the test part alone."""
    table = pl.DataFrame(
        {
            "user": [1, 1, 2, 1, 2, 3, 3, 4],
            "item": [1, 2, 1, 3, 2, 1, 2, 2],
            "timestamp": [1, 2, 5, 10, 10, 10, 11, 11],
        }
    )
    rule = {"at": 10, "target": "last", "validation": splits.GlobalTime(at=5)}
    split = splits.GlobalTime(**rule).split(table)
    assert dict(split.users.select("user", "history").rows()) == {
        1: "warm",
        2: "warm",
        3: "warm",
        4: "cold",
    }
    assert split.card["cold"]["test"]["users"] == 1
    assert split.card["cold"]["validation"]["users"] == 1
    alone = splits.GlobalTime(**rule, cold_users="only").split(
        pl.concat([table, table[6:7].with_columns(user=pl.lit(5, pl.Int64))])
    )
    assert set(alone.test["user"]) == {4, 5}
    assert "users 25.00%" in rw.audit(split)["L11"].said


def test_rows_that_repeat_validation_or_history_are_seen():
    table = pl.DataFrame(
        {
            "user": [1, 1, 1, 1, 2, 2, 2],
            "item": [1, 2, 2, 3, 1, 3, 3],
            "timestamp": [1, 5, 10, 11, 1, 10, 11],
        }
    )
    rule = {"at": 10, "validation": splits.GlobalTime(at=5), "target": "last"}
    split = splits.GlobalTime(**rule).split(table)
    assert rw.audit(split)["L1"].status == "fail"
    assert rw.audit(split).rows("L1").select("user", "item").rows() == [(2, 3)]
    tables = rw.audit(split.train, table[2:3], split.validation)
    assert tables["L1"].value == 1
    assert "among 2 training and 1 validation rows" in tables["L1"].said
    dropped = splits.GlobalTime(**rule, seen="drop").split(table)
    assert dropped.test.rows() == [(1, 3, 11)]
    assert dropped.found["test_rows_seen_dropped"] == 1


def test_what_is_known_before_test_is_not_for_validation(split):
    lists = {1: [3, 8], 2: [2, 8]}
    with pytest.raises(
        InputError, match="every ground truth row is a training interaction"
    ) as caught:
        rw.evaluate(lists, split.validation, "recall@1", train=split, exclude_seen=True)
    assert 'as train what is known before it: split.known("validation")' in caught.value.hint
    right = rw.evaluate(
        lists, split.validation, "recall@1", train=split.known("validation"), exclude_seen=True
    )
    assert right["recall@1"] == 1.0
