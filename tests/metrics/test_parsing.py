from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError
from rankwise.metrics import registry
from rankwise.metrics.base import parse, parse_all


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ndcg@10", "ndcg@10"),
        (" nDCG @ 10 ", "ndcg@10"),
        ("HR@5", "hit_rate@5"),
        ("hit-rate@5", "hit_rate@5"),
        ("MAP", "map"),
        ("recall@[5,10,20]", "recall@[5,10,20]"),
        ("recall@5,10,20", "recall@[5,10,20]"),
        ("ndcg(gain=exponential)@10", "ndcg(gain=exponential)@10"),
        ("ndcg(gain='exponential', log_base=2)@10", "ndcg(gain=exponential)@10"),
        ("ndcg(gain=linear)@10", "ndcg@10"),
        ("nDCGRendle2020@10", "ndcg_binary@10"),
        ("F1@10", "f@10"),
        (
            "f(first=ndcg,second=map(normaliser=k),beta=0.5)@10",
            "f(beta=0.5,first=ndcg,second=map(normaliser=k))@10",
        ),
        ("user_coverage(as_share=true)@10", "user_coverage(as_share=true)@10"),
        ("err(max_relevance=1)", "err"),
        ("rbp", "rbp"),
    ],
)
def test_text_and_back(text, canonical):
    metric = parse(text)
    assert str(metric) == canonical
    assert parse(str(metric)) == metric
    assert hash(parse(str(metric))) == hash(metric)
    assert eval(repr(metric), {n: getattr(rw.metrics, n) for n in dir(rw.metrics)}) == metric


def test_objects_and_text_agree():
    assert rw.NDCG(gain="exponential") @ [5, 10] == parse("ndcg(gain=exponential)@[5,10]")
    assert parse_all([rw.NDCG, rw.Recall() @ 3, "map@2, mrr@4"]) == (
        rw.NDCG(),
        rw.Recall() @ 3,
        rw.AveragePrecision() @ 2,
        rw.ReciprocalRank() @ 4,
    )


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("ndgc@10", MetricError, "did you mean 'ndcg'?"),
        ("ndcg@0", ParameterError, "whole number from 1"),
        ("ndcg@-3", ParameterError, "whole number from 1"),
        ("ndcg@1.5", MetricError, "not the text of a metric"),
        ("ndcg@[5,5]", ParameterError, "duplicate cut-off"),
        ("ndcg(gian=exponential)@10", ParameterError, "did you mean 'gain'?"),
        ("ndcg(gain=cubic)@10", ParameterError, "one of linear, exponential, binary"),
        ("ndcg(log_base=1)@10", ParameterError, "log_base must be above 1"),
        ("rbp(p=1)", ParameterError, "between 0 and 1"),
        ("precision", MetricError, "needs a cut-off"),
        ("f(first=precision,second=recall)", MetricError, "needs a cut-off"),
        ("map(normaliser=k)", MetricError, "needs a cut-off"),
        ("ndcg(ideal=full)", MetricError, "needs a cut-off"),
        ("novelty(denominator=k)", MetricError, "novelty(denominator=k) needs a cut-off"),
        ("surprisal(denominator=k)", MetricError, "surprisal(denominator=k) needs a cut-off"),
        (
            "unexpectedness(denominator=k)",
            MetricError,
            "unexpectedness(denominator=k) needs a cut-off",
        ),
        ("overlap(denominator=k)", MetricError, "overlap(denominator=k) needs a cut-off"),
        (
            "num_retrieved(as_share=true)",
            MetricError,
            "num_retrieved(as_share=true) needs a cut-off",
        ),
        (
            "category_count(as_share=true)",
            MetricError,
            "category_count(as_share=true) needs a cut-off",
        ),
        ("rmse@10", ParameterError, "has no cut-off"),
        ("__import__('os').system('true')", MetricError, "not the text of a metric"),
        ("ndcg@10 + map@10", MetricError, "not the text of a metric"),
        ("ndcg[0]", MetricError, "not the text of a metric"),
        ("", MetricError, "not the text of a metric"),
        ("ndcg@(", MetricError, "not the text of a metric"),
        ("user_coverage(as_share=3)", ParameterError, "true or false"),
    ],
)
def test_what_does_not_read(text, error, said):
    with pytest.raises(error) as caught:
        parse_all([text])
    assert said in str(caught.value)


def test_what_is_divided_by_the_length_of_a_list_needs_no_cut_off():
    names = [
        "novelty",
        "surprisal",
        "unexpectedness",
        "overlap(denominator=union)",
        "num_retrieved",
        "category_count",
    ]
    assert [str(metric) for metric in parse_all(names)] == names


def test_asking_twice_is_an_error():
    with pytest.raises(MetricError, match="duplicate metric"):
        parse_all(["ndcg@[5,10]", "nDCG@10"])


@pytest.mark.usefixtures("own_metrics")
def test_a_metric_from_outside_is_found_everywhere():
    from rankwise.metrics.base import metric
    from rankwise.metrics.kinds import PerUser

    @metric("first_is_hit", range=(0, 1), higher_is_better=True)
    class FirstIsHit(PerUser):
        """Whether the first item is relevant."""

        def value(self, block, k):
            return block.sum_hits(block.hits.probability * (block.hits.rank == 1), k)

    assert rw.evaluate({1: [5, 6]}, {1: {5}}, "first_is_hit")["first_is_hit"] == 1.0
    assert "first_is_hit" in registry.names()
    with pytest.raises(ParameterError, match="two metrics are called"):

        @metric("ndcg", range=(0, 1), higher_is_better=True)
        class Another(PerUser):
            """Not the real one."""


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ndcg_10", "ndcg@10"),
        ("P_5", "precision@5"),
        ("ndcg_cut_10", "ndcg@10"),
        ("map_cut_5", "map(normaliser=relevant)@5"),
        ("map_cut@5", "map(normaliser=relevant)@5"),
        ("recip_rank", "mrr"),
        ("success_1", "hit_rate@1"),
        ("f1_5", "f@5"),
        ("r2", "r2"),
        ("ndcg_binary_3", "ndcg_binary@3"),
    ],
)
def test_texts_of_other_libraries(text, canonical):
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("text", ["hits@5", "Hits", "complement(hits)@3"])
def test_a_name_with_two_meanings_is_refused_with_both(text):
    with pytest.raises(MetricError, match="two meanings") as caught:
        parse(text)
    assert "hit_rate@k" in caught.value.hint
    assert "tp@k" in caught.value.hint


@pytest.mark.parametrize(
    "made", [rw.NDCG(10), rw.NDCG(k=10), rw.NDCG() @ 10, rw.NDCG((10,)), rw.NDCG(np.int64(10))]
)
def test_cut_offs_are_given_in_any_way(made):
    assert made == parse("ndcg@10")
    assert made.k == (10,)


@pytest.mark.parametrize("k", [0, -1, 2**63, 10**9, True, 2.0, "5", None, [5, 5]])
def test_cut_offs_that_make_no_sense(k):
    with pytest.raises(ParameterError):
        rw.NDCG(k)


def test_a_cut_off_may_be_ten_million_and_above_it_the_whole_list_is_named():
    assert (rw.NDCG(1).k, rw.NDCG(10_000_000).k) == ((1,), (10_000_000,))
    for metric, k, hint in (
        (rw.NDCG, 10_000_001, "without a cut-off, ndcg is computed on the whole list"),
        (rw.NDCG, [5, 10_000_001], "without a cut-off, ndcg is computed on the whole list"),
        (rw.NDCG, 0, None),
        (rw.NDCG, 1e9, None),
        (rw.metrics.EFD, 10_000_001, None),
    ):
        with pytest.raises(ParameterError, match="a whole number from 1 to 10,000,000") as raised:
            metric(k)
        assert raised.value.hint == hint


@pytest.mark.parametrize(
    "text",
    [
        "ndcg@5@5",
        "ndcg" + "@5" * 3000,
        "-" * 9000 + "1",
        "f(first=" * 500,
        "x" * 10**6,
        "ndcg@9" * 2,
    ],
)
def test_text_that_would_exhaust_the_stack_or_means_two_things(text):
    with pytest.raises(MetricError) as raised:
        parse(text)
    assert len(str(raised.value)) < 2000


def test_a_hint_names_a_metric_as_people_write_it():
    with pytest.raises(MetricError, match="did you mean 'hit_rate'"):
        parse("hit_rat@5")


@pytest.mark.parametrize(
    "text",
    ["err(max_relevance=1e308)@5", "f(beta=1e308)@5", "ndcg(log_base=1e999)@5", "rbp(p=1e999)"],
)
def test_numbers_that_overflow_are_refused(text):
    with pytest.raises(ParameterError):
        parse(text)


def test_the_lowest_number_is_finite():
    with pytest.raises(ParameterError, match="beta must lie between 0 and 1e100"):
        rw.metrics.F(beta=-sys.float_info.max)
    with pytest.raises(ParameterError, match="beta must be a finite number"):
        rw.metrics.F(beta=-math.inf)


def test_text_imports_nothing(monkeypatch):
    import importlib

    parse("ild@5")  # loads the module of the metric
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"imported {name}"))
    assert (
        str(parse("ild(distance='os:system')@5")) == "intra_list_diversity(distance='os:system')@5"
    )
