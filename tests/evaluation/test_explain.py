"""Explanations: effects add up, and interactions are shared as Shapley's rule shares them."""

from __future__ import annotations

import itertools
import math
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.convention.convention import Convention
from rankwise.errors import MetricError, ParameterError
from rankwise.evaluation import explain as module
from rankwise.evaluation.across_conventions import Definition
from strategies import with_ids

USERS = st.integers(0, 5)
ITEMS = st.integers(0, 6)
RUNS = st.dictionaries(
    USERS, st.dictionaries(ITEMS, st.sampled_from([0.25, 0.5, 1.0]), min_size=1), min_size=2
)
TRUTHS = st.dictionaries(USERS, st.dictionaries(ITEMS, st.integers(0, 3), min_size=1), min_size=2)
WORLDS = with_ids(RUNS, TRUTHS, users=6, items=7)
NAMES = [name for name in rw.conventions() if name not in ("surprise", "rexmex")]


def evaluable(run, truth):
    """Whether every population has a user with a list and a relevant item."""
    return any(any(grades.values()) and user in run for user, grades in truth.items())


@given(WORLDS, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_effects_add_up_to_the_difference(world, first, second):
    run, truth = world
    if not evaluable(run, truth):
        return
    explanation = rw.explain(run, truth, "ndcg@3", first, second)
    values = [
        rw.evaluate(run, truth, "ndcg@3", convention=name)["ndcg@3"] for name in (first, second)
    ]
    assert (explanation.first, explanation.second) == tuple(values)
    assert explanation.difference == pytest.approx(explanation.choices["effect"].sum(), abs=1e-12)
    if len(explanation.choices):
        assert explanation.choices["value"][-1] == pytest.approx(explanation.second, abs=1e-12)
    assert explanation.difference == pytest.approx(
        explanation.users["contribution"].sum(), abs=1e-12
    )


@pytest.mark.slow
def test_effects_are_the_mean_over_all_orders():
    run = {"a": {9: 1.0, 10: 1.0, 1: 0.5}, "b": {2: 1.0}, "c": {3: 1.0, 1: 0.5}}
    truth = {"a": {9: 2, 1: 1, 7: 1, 8: 1, 5: 1}, "b": {3: 1}, "d": {1: 1}, "c": {1: 0}}
    ends = [Convention.resolve(name) for name in ("default", "trec_eval")]
    first, second = (Definition.from_name("ndcg@3", one) for one in ends)
    explanation = rw.explain(run, truth, "ndcg@3", "default", "trec_eval")
    names = list(first.differences(second))
    job = module._Mixtures(first, second, *tables(run, truth))
    total = dict.fromkeys(names, 0.0)
    for order in itertools.permutations(names):
        for place, name in enumerate(order):
            total[name] += job.value(order[: place + 1]) - job.value(order[:place])
    n = math.factorial(len(names))
    effects = dict(explanation.choices.select("choice", "effect").rows())
    assert effects == pytest.approx({name: moved / n for name, moved in total.items()}, abs=1e-12)


def tables(run, truth):
    from rankwise.evaluation.evaluate import read_inputs
    from rankwise.evaluation.settings import Settings

    settings = Settings(metrics=())
    return read_inputs(settings, recommendations=run, truth=truth), {}


@pytest.mark.slow
def test_many_choices_are_switched_in_orders_that_are_drawn(monkeypatch):
    run = {"a": {9: 1.0, 10: 1.0, 1: 0.5}, "b": {2: 1.0}, "c": {3: 1.0, 1: 0.5}}
    truth = {"a": {9: 2, 1: 1, 7: 1}, "b": {3: 1}, "d": {1: 1}, "c": {1: 0}}
    exact = rw.explain(run, truth, "ndcg@3", "rectools", "trec_eval")
    monkeypatch.setattr(module, "_EXACT", 0)
    drawn = rw.explain(run, truth, "ndcg@3", "rectools", "trec_eval")
    assert drawn.choices["effect"].sum() == pytest.approx(exact.difference, abs=1e-12)
    assert dict(drawn.choices.select("choice", "effect").rows()) == pytest.approx(
        dict(exact.choices.select("choice", "effect").rows()), abs=0.02
    )
    again = rw.explain(run, truth, "ndcg@3", "rectools", "trec_eval")
    assert again.choices.equals(drawn.choices)


def test_who_counts_explains_a_number_of_pytrec_eval():
    """The 0.0300 that pytrec_eval prints where a score-matrix library prints 0.0487."""
    run = {user: {1: 1.0} for user in range(10)}
    truth = {user: {1 if user == 0 else 2: 1} for user in range(20)}
    explanation = rw.explain(run, truth, "recall@1", "default", "trec_eval")
    assert (explanation.first, explanation.second) == (0.05, 0.1)
    top = explanation.choices.row(0, named=True)
    assert (top["choice"], top["effect"], top["users"]) == ("population", 0.05, 10)
    assert re.search(r"population +truth +judged_both +\+0\.0500", repr(explanation))
    assert explanation.users.row(0)[:3] == ("0", 1.0, 1.0)


def test_metrics_of_all_lists():
    run = {"a": {1: 1.0, 2: 0.5}, "b": {1: 1.0}}
    explanation = rw.explain(
        run, {"a": {1}, "b": {2}}, "gini@2", "default", "elliot", train={"c": [1, 2, 3]}
    )
    assert explanation.choices["choice"][0] == "metric"
    assert explanation.choices["users"][0] is None
    assert explanation.users.is_empty()
    assert repr(explanation)


def test_the_same_convention_twice():
    explanation = rw.explain({"a": {1: 1.0}}, {"a": {1}}, "ndcg@1", "recbole", "recbole")
    assert explanation.choices.is_empty()
    assert explanation.difference == 0


def test_exports():
    explanation = rw.explain({"a": {1: 1.0}}, {"a": {1}, "b": {2}}, "mrr", "default", "lenskit")
    assert '"effect": 0.5' in explanation.export("json")
    assert "| population" in explanation.export("markdown")
    assert explanation.export("csv").startswith("choice,first,second,effect,value,users")
    assert r"\begin{table}" in explanation.export("latex")
    assert "<table" in explanation._repr_html_()


def test_mistakes():
    with pytest.raises(ParameterError, match="one metric at one cut-off"):
        rw.explain({"a": {1: 1.0}}, {"a": {1}}, "ndcg@[1,2]", "default", "recbole")
    with pytest.raises(MetricError, match="not computed here"):
        rw.explain({"a": {1: 1.0}}, {"a": {1}}, "bpref", "default", "ranx")
    with pytest.raises(ParameterError, match="no such convention"):
        rw.explain({"a": {1: 1.0}}, {"a": {1}}, "map@5", "default", "nobody")


def test_tables_with_names_of_their_own():
    lists = pl.DataFrame({"user": ["a"], "item": ["x"], "points": [1.0]})
    truth = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "stars": [5, 5]})
    columns = {"recommendations.score": "points", "truth.relevance": "stars"}
    explanation = rw.explain(
        lists, truth, "recall@1", "default", "trec_eval", columns=columns, threshold=4
    )
    assert (explanation.first, explanation.second) == (0.5, 1.0)
