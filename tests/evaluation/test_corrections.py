"""Corrected values of sampled evaluations, against the exact ones of the same scores."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import (
    DuplicateError,
    EmptyError,
    IdError,
    InputError,
    MeasureError,
    ParameterError,
)

USERS, ITEMS = 1500, 2000


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, ITEMS))
    truth = {u: set(rng.choice(ITEMS, 1 + u % 2, replace=False).tolist()) for u in range(USERS)}
    for user, items in truth.items():
        for item in items:
            scores[user, item] += rng.choice([0.0, 3.5], p=[0.5, 0.5])
    return scores, truth


def alone(scores, truth, k):
    """Hit rate and nDCG of each relevant item by itself, the mean over items, then users."""
    hits, gains = [], []
    for user, items in truth.items():
        others = np.delete(scores[user], list(items))
        ranks = np.array([1 + (others > scores[user, item]).sum() for item in items])
        hits.append(np.mean(ranks <= k))
        gains.append(np.mean(np.where(ranks <= k, 1 / np.log2(ranks + 1), 0)))
    return np.mean(hits), np.mean(gains)


@pytest.mark.parametrize("replacement", [False, True])
def test_corrected_values_come_near_the_exact_ones(world, replacement):
    scores, truth = world
    frozen = rw.candidates.sampled(truth, 100, seed=4, items=range(ITEMS), replacement=replacement)
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, ["hit_rate@50", "ndcg@50", "auc"], bootstrap=60)
    hit, gain = alone(scores, truth, 50)
    sampled, corrected = found["sampled"].to_list(), found["corrected"].to_list()
    assert abs(corrected[0] - hit) < 0.03 < abs(sampled[0] - hit)
    assert abs(corrected[1] - gain) < 0.06
    assert found["low"][0] < hit < found["high"][0]
    # The area is a share of what was drawn already: there is nothing to correct.
    assert corrected[2] == pytest.approx(sampled[2], abs=1e-3)
    assert found["label"].unique().to_list() == [ranks.protocol.label]


def test_the_same_seed_gives_the_same_intervals(world):
    scores, truth = world
    frozen = rw.candidates.sampled(truth, 20, seed=4, items=range(ITEMS))
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    first, again, other = (
        rw.correct(ranks, truth, "mrr", method="bv", bootstrap=20, seed=seed) for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)
    assert rw.correct(ranks, truth, "mrr", bootstrap=0)["low"].is_nan().all()


def test_by_hand():
    # One negative of two others: a relevant item of rank 2 stands above it half the time.
    scores = np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 0.0], [5.0, 1.0, 1.0]])
    truth = {0: {0}, 1: {0}, 2: {0}, 7: {0}}
    frozen = rw.candidates.sampled(truth, 1, seed=0, items=range(3))
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "recall@1", method="rank", bootstrap=0)
    above = ranks.frame["first"].to_list()
    # User 7 has no scores, and counts 0.
    assert found["sampled"].item() == pytest.approx(above.count(1) / 4)


def test_ties_are_spread():
    truth = {u: {0} for u in range(30)}
    frozen = rw.candidates.sampled(truth, 9, seed=0, items=range(100))
    ranks = rw.rank_relevant(np.zeros((30, 100)), truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "hit_rate@5", bootstrap=0)
    assert found["sampled"].item() == pytest.approx(0.5)
    assert found["corrected"].item() == pytest.approx(0.05, abs=0.003)


def test_other_relevant_items_do_not_stand_in_the_way():
    truth = {0: {0, 1, 2}}
    scores = np.array([[9.0, 8.0, 7.0, *np.zeros(40)]])
    frozen = rw.candidates.sampled(truth, 10, seed=0, items=range(43))
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    assert ranks.frame["first"].to_list() == [1, 2, 3]
    assert rw.correct(ranks, truth, "recall@1", bootstrap=0)["sampled"].item() == 1.0


def test_bad_input(world):
    scores, truth = world
    exact = rw.rank_relevant(scores[:5], truth={0: {1}})
    with pytest.raises(ParameterError, match="sampled negatives"):
        rw.correct(exact, {0: {1}}, "mrr")

    def ranks(**options):
        given = {"n": 20, "seed": 1, "items": range(ITEMS), **options}
        frozen = rw.candidates.sampled(truth, given.pop("n"), **given)
        return rw.rank_relevant(scores, truth=truth, candidates=frozen)

    with pytest.raises(ParameterError, match="popularity"):
        rw.correct(ranks(by="popularity", train={9: [1, 2]}, n=1), truth, "mrr")
    with pytest.raises(InputError, match="fewer"):
        rw.correct(ranks(n=ITEMS - 1), truth, "mrr")
    good = ranks()
    for options in ({"method": "magic"}, {"gamma": 1.0}, {"gamma": 0.0}, {"level": 1.0}, {"bootstrap": -1},
                    {"n_items": 20}, {"n_items": 10**8}, {"n_items": 300.5}, {"seed": -1},
                    {"bootstrap": 1.5}, {"level": "high"}):  # fmt: skip
        with pytest.raises(ParameterError):
            rw.correct(good, truth, "mrr", **options)
    for measure in ("gini@3", "novelty@3", "bpref"):
        with pytest.raises(MeasureError):
            rw.correct(good, truth, measure)
    with pytest.raises(EmptyError):
        rw.correct(good, {0: {ITEMS - 1: 0.0, 3: 0.0}}, "mrr")
    with pytest.raises(DuplicateError):
        rw.correct(good, pl.DataFrame({"user": [0, 0], "item": [1, 1]}), "mrr")
    with pytest.raises(IdError):
        rw.correct(good, {0: {"a"}}, "mrr")
    frozen = rw.candidates.sampled(truth, 20, seed=1, items=range(ITEMS))
    seen = {user: range(ITEMS // 2) for user in truth}
    fewer = rw.rank_relevant(scores, truth=truth, candidates=frozen, exclude=seen)
    with pytest.raises(InputError, match="all of the negatives"):
        rw.correct(fewer, truth, "mrr")


def test_what_was_relevant_when_negatives_were_drawn_is_relevant():
    truth = {user: {user: 5.0, user + 1: 1.0} for user in range(20)}
    scores = np.random.default_rng(3).normal(size=(20, 60))
    frozen = rw.candidates.sampled(truth, 10, seed=1, items=range(60), relevance_threshold=4)
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "hit_rate@3", bootstrap=0)
    for options in ({}, {"relevance_threshold": 3}):
        with pytest.raises(ParameterError, match="another threshold"):
            rw.evaluate(ranks, truth, "hit_rate@3", **options)
        with pytest.raises(ParameterError, match="another threshold"):
            rw.curve(ranks, truth, "recall", **options)
    result = rw.evaluate(ranks, truth, "hit_rate@3", relevance_threshold=4)
    assert found["sampled"].item() == pytest.approx(result["hit_rate@3"])
