"""Exact ranks of relevant items, against whole lists of everything."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import EmptyError, IdError, InputError, MetricError, ParameterError, ScoreError
from rankwise.ranking import rank
from score_strategies import worlds_of_scores

METRICS = [
    "auc",
    "gauc",
    "lauc@3",
    "mrr",
    "mrr@2",
    "ndcg@[1,5]",
    "ndcg",
    "recall@[1,4]",
    "map@4",
    "map(normaliser=relevant)",
    "mar@3",
    "err(max_relevance=3)@5",
    "rbp",
    "hit_rate@2",
    "partial_auc@2",
    "r_precision",
    "precision@3",
    "bpref",
    "dcg@3",
    "rmse",
    "fcp",
    "xauc",
    "f@3",
    "user_coverage@2",
]


@given(worlds_of_scores(), st.sampled_from(["expected", "optimistic", "pessimistic"]))
def test_exact_ranks_give_what_whole_lists_give(world, ties):
    scores, seen, truth = world
    ranks = rw.rank_relevant(scores, truth=truth, exclude=seen)
    whole = rw.rank(scores, k=scores.shape[1], exclude=seen)
    catalogue = range(scores.shape[1])
    ours = rw.evaluate(ranks, truth, METRICS, ties=ties)
    theirs = rw.evaluate(whole, truth, METRICS, ties=ties, train=seen, items=catalogue)
    assert ours.values == pytest.approx(theirs.values, rel=1e-11, abs=1e-12, nan_ok=True)
    for name in ours.per_user.columns[1:]:
        mine, other = ours.per_user[name].to_list(), theirs.per_user[name].to_list()
        assert mine == pytest.approx(other, rel=1e-11, abs=1e-12, nan_ok=True), name


@given(worlds_of_scores())
def test_sorting_and_counting_agree(world):
    scores, seen, truth = world
    counted = rw.rank_relevant(scores, truth=truth, exclude=seen)
    few, rank._FEW = rank._FEW, 0
    try:
        assert rw.rank_relevant(scores, truth=truth, exclude=seen).frame.equals(counted.frame)
    finally:
        rank._FEW = few


@given(worlds_of_scores())
def test_candidates_of_each_user_and_of_all_agree(world):
    scores, seen, truth = world
    everything = {u: list(range(scores.shape[1])) for u in range(len(scores))}
    own = rw.candidates.per_user(everything)
    ours = rw.rank_relevant(scores, truth=truth, exclude=seen, candidates=own)
    theirs = rw.rank_relevant(scores, truth=truth, exclude=seen)
    assert ours.frame.equals(theirs.frame)
    assert ours.lengths.equals(theirs.lengths)


def test_relevant_items_that_are_no_candidates_are_never_found():
    scores = np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    truth = {0: {0, 2}, 1: {1, 77}, 5: {0}}
    ranks = rw.rank_relevant(scores, truth=truth, exclude={0: [0]})
    assert ranks.unranked.rows() == [(0, 0), (1, 77)]
    result = rw.evaluate(ranks, truth, ["recall@2", "gauc"])
    assert result.per_user["recall@2"].to_list() == [0.5, 0.5, 0.0]
    # Of user 0 item 2 is below the one other candidate, of user 1 item 1 is below one of two.
    assert result.per_user["gauc"].to_list() == [0.0, 0.25, 0.0]
    assert result.counts["truth_rows_that_are_no_candidates"] == 2
    assert result.counts["users_without_scores"] == 1


def test_nothing_relevant_is_a_candidate():
    ranks = rw.rank_relevant(np.eye(3), truth={0: {99}, 1: {0}}, exclude={1: [0]})
    result = rw.evaluate(ranks, {0: {99}, 1: {0}}, ["recall@2", "gauc"])
    assert result.values == {"recall@2": 0.0, "gauc": 0.0}
    assert rw.curve(ranks, {0: {99}, 1: {0}}, "recall")["recall"].to_list() == [0.0, 0.0, 0.0]


def test_pieces_and_merges():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 30))
    truth = {u: {u, u + 1} for u in range(6)}
    whole = rw.evaluate(rw.rank_relevant(scores, truth=truth), truth, ["gauc", "ndcg@5"])
    parts = [
        rw.Evaluator(["gauc", "ndcg@5"], exact=True).update(
            rw.rank_relevant(scores, truth=own), own
        )
        for own in ({u: truth[u] for u in (5, 1, 3)}, {u: truth[u] for u in (0, 4, 2)})
    ]
    assert parts[0].merge(parts[1]).result().values == whole.values


def test_groups_weights_and_a_threshold():
    scores = np.random.default_rng(2).normal(size=(4, 20))
    truth = {u: {u: 5.0, u + 3: 1.0} for u in range(4)}
    users = {"user": [0, 1, 2, 3], "group": ["a", "a", "b", "b"], "w": [1.0, 0.0, 2.0, 1.0]}
    ranks = rw.rank_relevant(scores, truth=truth)
    options = {
        "users": pl.DataFrame(users),
        "by": "group",
        "weights": "w",
        "relevance_threshold": 3,
    }
    ours = rw.evaluate(ranks, truth, ["mrr", "ndcg@5"], **options)
    theirs = rw.evaluate(rw.rank(scores, k=20), truth, ["mrr", "ndcg@5"], **options)
    assert ours.values == pytest.approx(theirs.values)
    assert ours.slices["mrr"].to_list() == pytest.approx(theirs.slices["mrr"].to_list())


def test_weights_over_exact_ranks():
    scores = np.random.default_rng(4).integers(0, 4, (5, 12)).astype(float)
    truth = {u: {u, u + 2, u + 4} for u in range(5)}
    train = {9: [0, 1, 2], 8: [2, 3], 7: [2, 4, 5, 6]}
    cells = ["ips(gauc)", "snips(ndcg)@3", "stratified(auc)", "stratified_recall@3"]
    ours = rw.evaluate(rw.rank_relevant(scores, truth=truth), truth, cells, train=train)
    theirs = rw.evaluate(rw.rank(scores, k=12), truth, cells, train=train, items=range(12))
    assert ours.values == pytest.approx(theirs.values)
    assert ours.diagnostics == theirs.diagnostics


SCORES = np.eye(3)
TRUTH = {0: {0}, 1: {2}}


def test_bad_input():
    ranks = rw.rank_relevant(SCORES, truth=TRUTH)
    for metric in ("gini@2", "ild@2", "novelty@2", "repeated@2", "overlap@2"):
        around = {"train": TRUTH, "reference": TRUTH, "items": np.eye(3)}
        around["reference"] = {0: [1]}
        with pytest.raises(MetricError, match="whole lists"):
            rw.evaluate(ranks, TRUTH, metric, **around)
    with pytest.raises(MetricError, match="catalogue"):
        rw.evaluate(ranks, TRUTH, "tn@2")
    slack = rw.rank_relevant(np.eye(3), truth={0: {1, 99}, 1: {2}})
    with pytest.raises(InputError, match="another ground truth"):  # as many rows, but others
        rw.evaluate(slack, {0: {0}, 1: {2}}, "mrr")
    with pytest.raises(IdError):
        rw.rank_relevant(np.eye(3), truth={0: {"x"}})
    with pytest.raises(ParameterError, match="ties"):
        rw.evaluate(ranks, TRUTH, "mrr", ties="item")
    with pytest.raises(InputError, match="another ground truth"):
        rw.evaluate(ranks, {0: {0, 1}}, "mrr")
    with pytest.raises(ParameterError, match="exact"):
        rw.Evaluator("mrr", truth=TRUTH).update(ranks)
    with pytest.raises(ParameterError, match="exact"):
        rw.Evaluator("mrr", truth=TRUTH, exact=True).update({0: [1]})
    with pytest.raises(InputError, match="exact ranks"):
        rw.evaluate(ranks, TRUTH, "mrr", train=TRUTH, exclude_seen=True)
    with pytest.raises(ScoreError):
        rw.rank_relevant(np.array([[0.1, np.nan]]), truth={0: {0}})
    with pytest.raises(EmptyError):
        rw.rank_relevant(SCORES, truth={7: {0}})
    with pytest.raises(EmptyError):
        rw.rank_relevant(SCORES, truth={0: {0}}, exclude={0: [0, 1, 2]})
