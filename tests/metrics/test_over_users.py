"""Quantiles, worst-served users and geometric means over users, against their plain definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.errors import MetricError, ParameterError
from strategies import worlds

STATISTICS = {
    "quantile(of={},q=0.1)@{}": lambda v: fn.quantile_of_users(v, 0.1),
    "quantile(of={},q=0.5)@{}": lambda v: fn.quantile_of_users(v, 0.5),
    "worst(of={},share=0.3)@{}": lambda v: fn.worst_share(v, 0.3),
    "geometric_mean(of={})@{}": fn.geometric_mean_of_users,
}


@given(
    worlds(judged=True),
    st.integers(1, 4),
    st.sampled_from(["ndcg", "map", "f"]),
    st.sampled_from(["skip", "zero"]),
)
def test_against_the_definitions(world, k, of, undefined):
    names = [name.format(of, k) for name in STATISTICS]
    cells = [str(rw.parse(name)) for name in names]
    options = {"population": "all", "undefined": undefined, **world.around}
    result = rw.evaluate(world.lists, world.truth, [*names, f"{of}@{k}"], by="group", **options)
    values = result.per_user[f"{of}@{k}"].to_list()
    for cell, statistic in zip(cells, STATISTICS.values(), strict=True):
        expected = statistic(values)
        assert result[cell] == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
        assert result.kinds[cell] == "distribution"
        assert cell not in result.per_user.columns
    users = result.per_user["user"].to_list()
    for row in result.slices.to_dicts():
        own = [
            v
            for u, v in zip(users, values, strict=True)
            if world.user_groups.get(u) == row["group"]
        ]
        for cell, statistic in zip(cells, STATISTICS.values(), strict=True):
            assert row[cell] == pytest.approx(statistic(own), rel=1e-12, abs=1e-15, nan_ok=True)


def test_the_worst_of_a_metric_where_lower_is_better():
    lists, truth = {u: [1, 2] for u in range(4)}, {u: {u} for u in range(4)}
    name = "worst(of=repeated,share=0.25)@2"
    assert rw.evaluate(lists, truth, name, train={0: [1, 2], 1: [1]})[name] == 1.0
    assert rw.parse(name).higher_is_better is False
    assert rw.parse("worst(ndcg)@2").higher_is_better is True


def test_a_user_without_a_value_leaves_none():
    name = "quantile(ndcg)@1"
    result = rw.evaluate({1: [1], 2: [2]}, {1: {1}}, name, population="all", undefined="nan")
    assert math.isnan(result["quantile@1"])


def test_gm_map_is_that_of_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    lists = {"q1": ["a", "b", "c"], "q2": ["c", "b", "a"], "q3": ["b"]}
    truth = {"q1": {"a", "c"}, "q2": {"a"}, "q3": {"z"}}
    runs = {q: {i: float(-at) for at, i in enumerate(own)} for q, own in lists.items()}
    qrels = {q: dict.fromkeys(own, 1) for q, own in truth.items()}
    found = pytrec_eval.RelevanceEvaluator(qrels, {"gm_map"}).evaluate(runs)
    theirs = pytrec_eval.compute_aggregated_measure("gm_map", [v["gm_map"] for v in found.values()])
    ours = rw.evaluate(lists, truth, "geometric_mean(map(normaliser=relevant))")
    assert next(iter(ours.values.values())) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "quantile(q=2)",
        "worst(share=0)",
        "geometric_mean(floor=0)",
        "quantile(gini)@3",
        "worst(ndcg@3)@3",
    ],
)
def test_bad_parameters(name):
    with pytest.raises(ParameterError):
        rw.parse(name)


def test_weights_of_users_are_refused():
    with pytest.raises(MetricError, match="cannot be weighted by user"):
        rw.evaluate({1: [1]}, {1: {1}}, "quantile@1", weights={1: 2.0})


def test_metrics_that_weights_do_not_change_are_named():
    lists, truth = {1: [1, 3], 2: [4]}, {1: {1, 2}, 2: {1}}
    cells = ["ndcg@2", "gini@2", "catalog_coverage@2"]
    weighted, plain = (
        rw.evaluate(lists, truth, cells, weights=w) for w in ({1: 1.0, 2: 3.0}, None)
    )
    assert [weighted[cell] == plain[cell] for cell in cells] == [False, True, True]
    assert "users weighted, except in gini@2, catalog_coverage@2" in weighted.notes[-2]
    assert "weighted" not in plain.notes[-2]


def test_an_interval_says_where_it_is_too_narrow():
    lists = {u: [*range(1, 1 + u), 0] for u in range(40)}
    truth = {u: {0} for u in range(40)}
    result = rw.evaluate(lists, truth, ["worst(ndcg)@40", "geometric_mean(ndcg)@40"], jackknife=8)
    assert "too narrow" in result.interval("worst@40").flags[0]
    assert not result.interval("geometric_mean@40").flags
