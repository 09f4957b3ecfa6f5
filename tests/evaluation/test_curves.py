"""Curves over all cut-offs, against evaluating every cut-off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import rankwise as rw
from rankwise.errors import MetricError, ParameterError
from score_strategies import worlds_of_scores
from strategies import fewer

METRICS = [
    "recall",
    "recall(denominator=capped)",
    "precision",
    "hit_rate",
    "mrr",
    "map",
    "map(normaliser=relevant)",
    "dcg",
    "dcg(gain=binary)",
    "ndcg",
    "ndcg(gain=exponential)",
    "ndcg(log_base=3.0)",
    "ndcg_binary",
    "ndcg(ideal=full)",
    "map(normaliser=k)",
    "mar",
    "arhr",
    "ncrr",
    "cg",
    "rbp",
    "rbp(normaliser=ideal)",
]


@fewer(12)
@given(worlds_of_scores())
def test_against_every_cutoff(world):
    scores, seen, truth = world
    ranks = rw.rank_relevant(scores, truth=truth, exclude=seen)
    drawn = rw.curve(ranks, truth, METRICS)
    ks = drawn["k"].to_list()
    for name in METRICS:
        metric = rw.parse(name)
        each = rw.evaluate(ranks, truth, metric @ ks)
        expected = [each[str(metric @ k)] for k in ks]
        assert drawn[str(metric)].to_list() == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_up_to_and_a_threshold():
    scores = np.array([[0.9, 0.5, 0.1]])
    truth = {0: {1: 5, 2: 1}}
    ranks = rw.rank_relevant(scores, truth=truth)
    drawn = rw.curve(ranks, truth, rw.Recall(), upto=2, relevance_threshold=3)
    assert drawn.rows() == [(1, 0.0), (2, 1.0)]


def test_a_sample_is_named():
    frozen = rw.candidates.sampled({0: {1}}, 2, seed=1, items=range(5))
    ranks = rw.rank_relevant(np.zeros((1, 5)), truth={0: {1}}, candidates=frozen)
    assert rw.curve(ranks, {0: {1}}, "recall").columns == ["k", "recall, sampled (m=2, seed=1)"]


@pytest.mark.parametrize(
    ("error", "metrics"),
    [
        (MetricError, "err"),
        (MetricError, "gini"),
        (MetricError, "ips(recall)"),
        (MetricError, "snips_dcg"),
        (MetricError, "precision(denominator=length)"),
        (MetricError, "map(normaliser=length)"),
        (MetricError, "map(normaliser=hits)"),
        (ParameterError, "recall@5"),
        (MetricError, ["recall", "r(denominator=relevant)"]),
        (MetricError, []),
        (MetricError, None),
        (MetricError, ["recall", 3]),
    ],
)
def test_bad_input(error, metrics):
    ranks = rw.rank_relevant(np.eye(2), truth={0: {0}})
    with pytest.raises(error):
        rw.curve(ranks, {0: {0}}, metrics)
    for upto in (0, 2.5, "3"):
        with pytest.raises(ParameterError, match="upto"):
            rw.curve(ranks, {0: {0}}, "recall", upto=upto)
    with pytest.raises(ParameterError, match="exact ranks"):
        rw.curve({0: [0]}, {0: {0}}, "recall")
