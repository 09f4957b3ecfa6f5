"""Metrics under every convention: the same numbers as one evaluation each, and whose they are."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.convention.convention import Convention
from rankwise.errors import EmptyError, ParameterError, RankwiseError
from rankwise.evaluation import across_conventions
from rankwise.evaluation.across_conventions import Definition
from strategies import fewer

USERS = st.sampled_from([f"u{number}" for number in range(6)])
ITEMS = st.sampled_from(["1", "2", "3", "9", "10", "11"])
SCORES = st.sampled_from([0.25, 0.5, 1.0, 1.0 + 1e-9])
RUNS = st.dictionaries(USERS, st.dictionaries(ITEMS, SCORES, min_size=1), min_size=1)
TRUTHS = st.dictionaries(USERS, st.dictionaries(ITEMS, st.integers(0, 3), min_size=1), min_size=1)
TRAIN = pl.DataFrame({"user": ["u0", "u1", "u1", "u2"], "item": ["1", "1", "2", "9"]})
METRICS = ["ndcg@2", "map@3", "precision@2", "mrr", "gini@2", "novelty@2", "bpref", "rmse"]


@fewer(8)
@given(RUNS, TRUTHS, st.sampled_from(METRICS))
def test_the_same_bits_as_one_evaluation_each(run, truth, metric):
    """Each time another metric, because one metric is as many evaluations as there are conventions."""
    table = rw.across_conventions(run, truth, METRICS, train=TRAIN).table
    assert {*table["convention"]} == {*rw.conventions()}
    for row in table.filter(pl.col("metric") == metric).to_dicts():
        try:
            alone = rw.evaluate(
                run, truth, row["metric"], train=TRAIN, convention=row["convention"]
            )
        except RankwiseError:
            continue
        value = alone[row["metric"]]
        same = value == row["value"] or (row["value"] is not None and math.isnan(value))
        assert same, (row, value)
        if row["users"] is not None:
            cell = alone.cell(row["metric"])
            assert row["users"] == alone.per_user[cell].is_not_nan().sum()


@given(RUNS, TRUTHS, st.sampled_from(METRICS))
def test_conventions_agree_wherever_their_choices_agree(run, truth, metric):
    values: dict[Definition, set[float]] = {}
    for row in rw.across_conventions(run, truth, metric, train=TRAIN).table.to_dicts():
        if row["value"] is not None and not math.isnan(row["value"]):
            convention = Convention.resolve(row["convention"])
            values.setdefault(Definition.from_name(metric, convention), set()).add(row["value"])
    assert all(len(some) == 1 for some in values.values())


@pytest.fixture
def evaluations(monkeypatch):
    """The metrics of every evaluation that is made, in order."""
    made = []
    original = across_conventions.evaluate_tables
    monkeypatch.setattr(
        across_conventions,
        "evaluate_tables",
        lambda settings, tables: made.append(settings) or original(settings, tables),
    )
    return made


def test_conventions_with_the_same_options_share_one_evaluation(evaluations):
    run, truth = (
        {"u": {"a": 2.0, "b": 1.0}, "v": {"b": 1.0, "c": 1.0}},
        {"u": {"b": 1, "c": 0}, "v": {"c": 2}},
    )
    for metrics, most in ((["ndcg@2"], 24), (["ndcg@2", "recall@2", "map@2", "mrr@2"], 28)):
        evaluations.clear()
        table = rw.across_conventions(run, truth, metrics).table
        options = {replace(settings, metrics=()) for settings in evaluations}
        assert (
            len(evaluations)
            == len(options)
            <= most
            < len(table.filter(pl.col("definition").is_not_null()))
        )
    evaluations.clear()
    same = [
        rw.Convention(name, metrics={"ndcg": gain})
        for name, gain in (("a", "ndcg"), ("b", "ndcg(gain=binary)"))
    ]
    rw.across_conventions(run, truth, ["ndcg@2", "map@2"], conventions=["default", *same])
    assert [len(settings.metrics) for settings in evaluations] == [
        3
    ]  # of the same options, each metric once


def test_what_one_metric_lacks_is_singled_out_by_halves(evaluations):
    metrics = (
        [f"recall@{k}" for k in range(1, 8)] + ["novelty@3"] + [f"ndcg@{k}" for k in range(1, 9)]
    )
    table = rw.across_conventions(
        {"u": ["a", "b"]}, {"u": {"b"}}, metrics, conventions=["default"]
    ).table
    assert table.filter(pl.col("value").is_null())["metric"].to_list() == ["novelty@3"]
    assert (
        len(evaluations) == 9
    )  # of 16, 8, 4, 2 and 1 metrics with novelty, and the halves without it


def test_a_library_that_has_no_such_metric_is_left_out_and_a_refused_name_says_why():
    across = rw.across_conventions({"u": ["a"]}, {"u": {"a"}}, ["map@1", "gini@1", "bpref"])
    assert "surprise" not in across.table["convention"]
    ranx = across.table.filter(
        (pl.col("metric") == "bpref") & (pl.col("convention") == "ranx")
    ).row(0, named=True)
    assert ranx["value"] is None
    assert "changes the values of other users" in ranx["why"]
    assert "map@1: 1.0000 to 1.0000" in repr(across)
    assert across.spread.filter(pl.col("metric") == "map@1").row(0)[1:] == (1.0, 1.0, 1)
    assert "convention,value" in across.export("csv")
    assert "<table" in across._repr_html_()


def test_whose_number_it_is():
    run = {"u": ["a", "b", "c"], "v": ["d", "e", "f"]}
    truth = {"u": {"c", "x", "y", "z"}, "v": {"d"}}
    ranx = rw.evaluate(run, truth, "map@3", convention="ranx")["map@3"]
    text = f"{ranx:.4f}"
    found = rw.convention_of(text, run, truth, "map").table
    assert ("map@3", "ranx") in found.select("metric", "convention").rows()
    assert ("map@3", "recbole") not in found.select("metric", "convention").rows()
    percent = f"{100 * ranx:.2f}%"
    assert rw.convention_of(percent, run, truth, "map").table.equals(found)
    assert rw.convention_of(text, run, truth, "map@1").table.is_empty()
    assert "no convention gives this number" in repr(rw.convention_of("0.99999", run, truth, "map"))
    for wrong in ("about 0.3", "nan", "inf", ""):
        with pytest.raises(ParameterError, match="not a number"):
            rw.convention_of(wrong, run, truth, "map")


def test_some_conventions_and_one_of_your_own():
    mine = rw.Convention("mine", metrics={"recall": "recall(denominator=capped)"})
    run, truth = {"u": ["a", "b"]}, {"u": {"a", "x", "y"}}
    table = rw.across_conventions(run, truth, "recall@2", conventions=["default", mine]).table
    assert table.select("convention", "value").rows() == [("default", 1 / 3), ("mine", 0.5)]


def test_a_metric_that_lacks_a_table_leaves_the_others_alone():
    run, truth = {"u": ["a", "b"]}, {"u": {"a"}}
    metrics = ["item_coverage@3", "reo@3", "novelty@3", "ndcg@3"]
    table = rw.across_conventions(run, truth, metrics, conventions=["default"]).table
    assert table["value"].to_list() == [2.0, None, None, 1.0]
    assert table["why"][1].startswith("reo@3 needs a table of items")
    assert table["why"][2].startswith("novelty@3 needs training interactions")


def test_a_metric_that_lacks_scores_leaves_the_others_alone():
    table = rw.across_conventions(
        {"u": ["a", "b"]}, {"u": {"a"}}, ["f1@1", "rmse"], conventions=["default"]
    ).table
    assert table.select("value", "why").rows() == [
        (1.0, None),
        (None, "rmse needs predicted scores"),
    ]
    assert "mean_score needs predicted scores" in {
        *rw.across_conventions({"u": ["a", "b"]}, {"u": {"a"}}, "mean_score@2").table["why"]
    }


def test_conventions_that_need_an_order_of_ties_have_no_value_of_exact_ranks():
    truth = {"u": {"a"}}
    ranks = rw.rank_relevant(
        [[0.5, 0.5, 0.1]], truth=truth, user_ids=["u"], item_ids=["a", "b", "c"]
    )
    table = rw.across_conventions(ranks, truth, "mrr", conventions=["default", "ranx"]).table
    assert table.select("value", "why").rows() == [
        (0.75, None),
        (None, "exact ranks do not break ties between scores"),
    ]


def test_ids_of_two_types_match_as_text():
    run, truth = {1: [(10, 1.0), (9, 1.0)]}, {"1": {"9": 1}}
    conventions = ["ranx", "trec_eval"]
    table = rw.across_conventions(run, truth, "mrr", conventions=conventions).table
    assert table["value"].to_list() == [0.5, 1.0]
    run |= {2: [(7, 2.0), (8, 1.0)]}
    table = rw.across_conventions(run, truth, "mrr", conventions=conventions).table
    assert table["value"].to_list() == [0.5, 1.0]
    truth |= {"2": {"8": 1}}
    table = rw.across_conventions(run, truth, "mrr", conventions=conventions).table
    assert table["value"].to_list() == [0.5, 0.75]


def test_metrics_by_name():
    run, truth = {"u": ["a", "b"]}, {"u": {"a"}}
    text = "recall@1,2, f(first=map,second=ndcg(gain=binary))@2"
    table = rw.across_conventions(run, truth, text, conventions=["default"]).table
    assert len(table) == 3
    for wrong, message in (
        ([], "no metric"),
        ([rw.NDCG() @ 3], "must be text here"),
        ("ndgc@3", "no metric called 'ndgc'"),
    ):
        with pytest.raises(RankwiseError, match=message):
            rw.across_conventions(run, truth, wrong)
    with pytest.raises(RankwiseError, match="no metric called 'ndgc'"):
        rw.convention_of("0.5", run, truth, "ndgc")
    found = rw.convention_of("0.5", {"u": [("a", 0.5)]}, {"u": {"a": 1}}, "rmse").table
    assert ("rmse", "default") in found.select("metric", "convention").rows()
    with pytest.raises(ParameterError, match="the same name"):
        rw.across_conventions(run, truth, "mrr", conventions=["ranx", "ranx"])


def test_nobody_who_counts_has_a_list():
    lists, truth = {"u": ["a"]}, {"v": {"a": 1}, "u": {"a": 0}}
    row = rw.across_conventions(lists, truth, "mrr", conventions=["default"]).table.to_dicts()[0]
    assert row["value"] is None
    assert row["why"] == "no evaluated user has a recommendation list"


def test_the_ground_truth_has_nothing_relevant():
    across = rw.across_conventions(
        {"u": ["a"]}, {"u": {"a": 0}}, ["mrr", "list_auc"], conventions=["default", "sklearn"]
    )
    assert {*across.table["why"]} == {"no item is relevant"}
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.evaluate({"u": ["a"]}, {"u": {"a": 0}}, "mrr")
