"""The users who are evaluated: five populations, on every road, and the users without a list."""

from __future__ import annotations

import math
import pickle
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.core.populations import PopulationName
from rankwise.errors import EmptyError, ParameterError
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.metrics import registry
from strategies import fewer, worlds

POPULATIONS = get_args(PopulationName)
CELLS = [
    "ndcg@3",
    "recall@3",
    "tn@3",
    "rmse",
    "gini@3",
    "novelty@3",
    "num_retrieved@3",
    "group_gap(recall)@3",
    "reo@3",
]
RULES = {
    "population": st.sampled_from(POPULATIONS),
    "undefined": st.sampled_from(["skip", "zero", "nan"]),
    "relevance_threshold": st.sampled_from([None, 2]),
}

WHO = {
    "truth": "with a relevant item",
    "both": "with a relevant item and a list",
    "recommended": "with a list",
    "judged": "in the ground truth",
    "judged_both": "in the ground truth, with or without a relevant item, and with a list",
    "all": "with a relevant item or a list",
}


def same(ours, theirs):
    assert repr(ours.values) == repr(theirs.values)
    assert ours.counts == theirs.counts
    assert ours.per_user.equals(theirs.per_user)
    assert (ours.slices is None) == (theirs.slices is None)
    assert ours.slices is None or ours.slices.equals(theirs.slices)


LISTS = {"ann": ["x", "y"], "bob": ["y", "z"], "cyd": ["x", "z"]}
TRUTH = {"ann": {"x": 5}, "bob": {"y": 2}, "dan": {"x": 1, "z": 2}, "eve": {"z": 4}}


@pytest.mark.parametrize(
    ("population", "users"),
    [
        ("truth", ["ann", "eve"]),
        ("both", ["ann"]),
        ("recommended", ["ann", "bob", "cyd"]),
        ("judged", ["ann", "bob", "dan", "eve"]),
        ("judged_both", ["ann", "bob"]),
        ("all", ["ann", "bob", "cyd", "eve"]),
    ],
)
def test_who_is_evaluated_beside_a_threshold(population, users):
    result = rw.evaluate(
        LISTS, TRUTH, ["recall@2", "duplicate_rate"], population=population, threshold=4
    )
    assert result.per_user["user"].to_list() == users
    without = [user for user in users if user in ("bob", "cyd", "dan")]
    assert result.counts["users_without_relevant_items"] == len(without)
    assert result.per_user["recall@2"].is_nan().sum() == len(without)
    assert result.notes[-3].startswith(f"{len(users)} user")
    assert WHO[population] in result.notes[-3]


def test_judged_users_without_a_relevant_item_have_the_value_that_undefined_says():
    def recall(undefined):
        options = {"population": "judged", "threshold": 4, "undefined": undefined}
        return rw.evaluate(LISTS, TRUTH, "recall@2", **options)["recall@2"]

    assert recall("skip") == 1 / 2  # ann 1, eve 0 (no list)
    assert recall("zero") == 1 / 4  # bob and dan 0
    assert math.isnan(recall("nan"))


def test_zero_is_counted_for_fallout_alone_where_it_is_the_best_value():
    """As the page on tables and the docstring of fall-out say."""
    lists, truth = {1: [5, 6], 2: [7, 8], 4: [8, 9]}, {1: {5: 1}, 2: {9: 0}, 3: {5: 1}}
    result = rw.evaluate(
        lists, truth, "fallout@2", items=range(5, 10), population="judged", undefined="zero"
    )
    assert result.per_user["fallout@2"].to_list() == [0.25, 0.0, 0.0]
    skipped = rw.evaluate(lists, truth, "fallout@2", items=range(5, 10), population="judged")
    assert skipped.per_user["fallout@2"].is_nan().to_list() == [False, True, False]
    assert (
        rw.evaluate(lists, truth, "fallout@2", items=range(5, 10), population="both")["fallout@2"]
        == 0.25
    )
    made = [
        cls() if cls.cutoff == "none" else cls(3)
        for cls in registry.all_metrics()
        if cls.family != "rating"
    ]
    lower = [
        m
        for m in made
        if getattr(m, "defined_for", "") == "relevance" and m.higher_is_better is False
    ]
    assert {type(metric).name for metric in lower if metric.family == "accuracy"} == {"fallout"}


def test_judged_without_anything_relevant():
    judged = {"ann": {"x": 0}, "bob": {"y": 0}, "dan": {"x": 0}}
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.evaluate(LISTS, judged, "recall@2", population="judged")
    zero = rw.evaluate(LISTS, judged, "recall@2", population="judged", undefined="zero")
    assert (zero["recall@2"], zero.counts["users"]) == (0.0, 3)
    with pytest.raises(ParameterError, match="without a ground truth there are no relevant"):
        rw.evaluate(LISTS, None, "gini@2", population="judged")


def test_a_model_is_asked_for_the_lists_of_judged_users():
    asked = []

    class Model:
        def recommend(self, user_id, n):
            asked.append(user_id)
            return LISTS.get(user_id, [])[:n]

    result = rw.evaluate_model(Model(), TRUTH, "recall@2", threshold=4, population="judged")
    assert sorted(asked) == sorted(TRUTH) == result.per_user["user"].to_list()


@fewer(12)
@given(worlds(judged=True), st.fixed_dictionaries(RULES))
def test_pieces_with_and_without_their_truth_add_up(world, rules):
    options = {**rules, "by": "group"}
    try:
        whole = rw.evaluate(scored(world.lists), world.truth, CELLS, **world.around, **options)
    except EmptyError:
        return
    shared = rw.Evaluator(CELLS, truth=world.truth, **world.around, **options)
    for user, items in scored(world.lists).items():
        shared.update({user: items})
    same(shared.result(), whole)
    settings = Settings.read(CELLS, options)
    job = prepare(settings, read_inputs(settings, truth=world.truth, **world.around))
    there = pickle.loads(pickle.dumps(job))
    pieces = [
        read_inputs(settings, recommendations={user: items})
        for user, items in scored(world.lists).items()
    ]
    same(finish(job, [work(there, piece) for piece in pieces[::-1]]), whole)


def scored(lists):
    return {
        user: {item: 1 - at / 10 for at, item in enumerate(items)} for user, items in lists.items()
    }


@given(worlds(judged=True), st.sampled_from(["recommended", "judged", "all"]))
def test_truth_that_comes_with_pieces(world, population):
    rules = {"population": population, "undefined": "zero"}  # pieces may have no relevant item
    lists = scored(world.lists)
    truth = {**{user: {world.catalogue[0]: 0} for user in lists}, **world.truth}
    lonely = {user: own for user, own in truth.items() if user not in lists}
    evaluator = rw.Evaluator(CELLS, **world.around, **rules)
    for at, (user, items) in enumerate(lists.items()):
        evaluator.update({user: items}, {user: truth[user]} | ({} if at else lonely))
    ours, whole = evaluator.result(), rw.evaluate(lists, truth, CELLS, **world.around, **rules)
    assert repr(ours.values) == repr(whole.values)
    assert ours.per_user.equals(whole.per_user)
