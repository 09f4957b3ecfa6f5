"""What an evaluated user without a recommendation list counts in metrics of lists."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import EmptyError, ParameterError
from rankwise.metrics import registry
from strategies import fewer, worlds

LISTS = {"ann": ["x", "y"], "bob": ["y", "z"]}
TRUTH = {"ann": {"x"}, "bob": {"x"}, "dan": {"z"}, "eve": {"y"}}
TRAIN = {"ann": ["z"], "bob": ["x"], "fay": ["x", "y"]}
ITEMS = {
    "item": ["x", "y", "z"],
    "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
    "categories": ["a", "b", "a|b"],
}
CELLS = [
    "arp@2",
    "novelty@2",
    "intra_list_diversity(distance=jaccard)@2",
    "overlap@2",
    "serendipity(form=history,relevance=none,similarity=features)@2",
    "serendipity(relevance=none)@2",
]


def result(without_list="skip", cells=CELLS, **options):
    return rw.evaluate(
        LISTS,
        TRUTH,
        cells,
        train=TRAIN,
        items=ITEMS,
        reference=LISTS,
        without_list=without_list,
        **options,
    )


def test_by_hand():
    skip, zero = result(), result("zero")
    # x has 2 training users, y and z 1 each: ann's list 1.5 on average, bob's 1.
    assert skip["arp@2"] == (1.5 + 1) / 2
    assert zero["arp@2"] == (1.5 + 1 + 0 + 0) / 4
    assert skip["overlap@2"] == 1.0
    assert zero["overlap@2"] == 0.5
    for cell in CELLS:
        own, other = (found.per_user[cell].to_list() for found in (skip, zero))
        assert own[:2] == other[:2]
        assert [math.isnan(value) for value in own] == [False, False, True, True], cell
        assert other[2:] == [0.0, 0.0], cell
        assert zero[cell] == pytest.approx(skip[cell] / 2)


def test_other_metrics_are_as_they_were():
    cells = ["recall@2", "ndcg@2", "gini@2", "num_retrieved@2", "serendipity(relevance=binary)@2"]
    skip, zero = (result(rule, cells, undefined="skip") for rule in ("skip", "zero"))
    assert repr(skip.values) == repr(zero.values)


def test_a_list_without_a_value_stays_without_one():
    """Bob has a list and no reference list; dan has no list."""
    found = rw.evaluate(
        {"ann": ["x"], "bob": ["y"]},
        {"ann": {"x"}, "bob": {"y"}, "dan": {"x"}},
        "overlap@1",
        reference={"ann": ["x"], "eve": ["y"]},
        without_list="zero",
    ).per_user["overlap@1"]
    assert math.isnan(found[1])
    assert found[2] == 0.0


def test_users_without_a_list_of_whom_no_history_is_known():
    """In serendipity their sums are NaN twice over, and they count 0 all the same."""
    cell = "serendipity(form=history,relevance=none,similarity=features)@2"
    assert result("zero").per_user[cell].to_list()[2:] == [0.0, 0.0]


@pytest.mark.parametrize("metric", ["calibration_error@2", "duplicate_rate", "repeated@2"])
def test_a_missing_list_is_no_perfect_one(metric):
    with pytest.raises(ParameterError, match="0 is the best value") as error:
        result("zero", ["arp@2", metric])
    assert f"evaluate {metric.partition('@')[0]}" in str(error.value)
    alone = result("skip", [metric])  # as the hint says
    assert alone.per_user[metric].is_nan().to_list() == [False, False, True, True]
    with pytest.raises(ParameterError, match="0 is the best value"):
        rw.Evaluator(metric, truth=TRUTH, train=TRAIN, items=ITEMS, without_list="zero")


def test_it_is_carried_and_compared():
    assert result("zero").provenance["settings"]["without_list"] == "zero"
    with pytest.raises(ParameterError, match="different settings of without_list"):
        rw.compare({"a": result(), "b": result("zero")})
    with pytest.raises(ParameterError, match="without_list must be one of skip, zero"):
        result("nan")


EVERY = [
    str(cls() if cls.cutoff == "none" else cls(3))
    for cls in registry.all_metrics()
    if getattr(cls, "defined_for", None) == "list" and cls.higher_is_better is not False
]


@fewer(12)
@given(worlds(scores=True, judged=True), st.sampled_from(["truth", "judged", "all"]))
def test_zero_is_skip_with_zeros_and_pieces_add_up(world, population):
    cells = [*EVERY, "serendipity(form=history,relevance=none,similarity=features)@3"]
    options = {"population": population, **world.around}
    try:
        skip = rw.evaluate(world.lists, world.truth, cells, **options)
    except EmptyError:
        return
    zero = rw.evaluate(world.lists, world.truth, cells, without_list="zero", **options)
    listed = skip.per_user["list_length"] > 0
    for cell in cells:
        own = [v if has else 0.0 for v, has in zip(skip.per_user[cell], listed, strict=True)]
        assert repr(zero.per_user[cell].to_list()) == repr(own), cell
    evaluator = rw.Evaluator(cells, truth=world.truth, without_list="zero", **options)
    for user, items in world.lists.items():
        evaluator.update({user: items})
    assert repr(evaluator.result().values) == repr(zero.values)
