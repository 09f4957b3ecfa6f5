"""Metrics with a plain definition alone: right on every engine, user by user."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.errors import MetricError, ParameterError
from rankwise.metrics import registry
from rankwise.metrics.base import metric
from rankwise.metrics.kinds import PerUser
from strategies import worlds


@pytest.fixture(scope="module", autouse=True)
def plain_only(own_metrics_of_module):
    """Metrics of the registry once more, by their plain definitions alone."""

    def define(name, base, plain, **attributes):
        of = registry.find(base)
        annotations = {"gain": str} if "gain" in attributes else {}
        cls = type(name, (PerUser,), {"__annotations__": annotations, **attributes})
        metric(name, range=of.range, higher_is_better=True, cutoff=of.cutoff, plain=plain)(cls)

    define("plain_recall", "recall", fn.recall_at_k)
    define("plain_ndcg", "ndcg", fn.ndcg_at_k, gain="exponential")
    define("plain_r_precision", "r_precision", fn.r_precision)
    define("plain_retrieved", "num_retrieved", fn.num_retrieved_at_k, defined_for="list")


PAIRS = {
    "plain_recall": "recall",
    "plain_recall@2": "recall@2",
    "plain_ndcg@3": "ndcg(gain=exponential)@3",
    "plain_ndcg(gain=linear)@[1,4]": "ndcg@[1,4]",
    "plain_r_precision": "r_precision",
}


@given(worlds(judged=True), st.sampled_from(["truth", "all"]))
def test_it_equals_the_metric_with_arrays(world, population):
    cells = [*PAIRS, *PAIRS.values(), "plain_retrieved@2"]
    result = rw.evaluate(world.lists, world.truth, cells, population=population)
    for plain, fast in PAIRS.items():
        for mine, theirs in zip(rw.parse(plain).cells, rw.parse(fast).cells, strict=True):
            assert result.per_user[mine].to_list() == pytest.approx(
                result.per_user[theirs].to_list(), rel=1e-12, nan_ok=True
            )
            assert result[mine] == pytest.approx(result[theirs], rel=1e-12, nan_ok=True)


def test_it_describes_lists():
    result = rw.evaluate(
        {"ann": [1, 2], "bob": [3]}, {"ann": {1}, "cyd": {2}}, "plain_retrieved", population="all"
    )
    values = dict(result.per_user.select("user", "plain_retrieved").iter_rows())
    assert values["ann"] == 2.0
    assert values["bob"] == 1.0
    assert math.isnan(values["cyd"])


def test_a_group_of_it_and_a_weighting_that_it_does_not_have():
    users = {"user": ["ann", "bob"], "group": ["x", "y"]}
    lists, truth = {"ann": [1], "bob": [2]}, {"ann": {1}, "bob": {1}}
    name = "group_gap(plain_recall)@1"
    assert rw.evaluate(lists, truth, name, users=users)[name] == 1.0
    with pytest.raises(ParameterError, match="not a sum"):
        rw.evaluate(lists, truth, "ips(plain_recall)@1", train={"ann": [1]})


def test_a_definition_that_cannot_be_called():
    metric("of_three", range=(0, 1), higher_is_better=True, plain=lambda a, b, c: 0.0)(
        type("OfThree", (PerUser,), {})
    )
    with pytest.raises(MetricError, match="a list and the relevant items"):
        rw.evaluate({"ann": [1]}, {"ann": {1}}, "of_three")


def test_a_metric_that_defines_nothing():
    metric("empty", range=(0, 1), higher_is_better=True)(type("Empty", (PerUser,), {}))
    with pytest.raises(MetricError, match="does not define its value"):
        rw.evaluate({"ann": [1]}, {"ann": {1}}, "empty")
