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
    MetricError,
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
    found = rw.correct(ranks, truth, ["hit_rate@50", "ndcg@50", "auc"])
    hit, gain = alone(scores, truth, 50)
    sampled, corrected = found["sampled"].to_list(), found["corrected"].to_list()
    assert abs(corrected[0] - hit) < 0.03 < abs(sampled[0] - hit)
    assert abs(corrected[1] - gain) < 0.06
    for row, exact in enumerate((hit, gain)):
        assert found["low"][row] < exact < found["high"][row]
    # The area is a share of what was drawn already: there is nothing to correct.
    assert corrected[2] == pytest.approx(sampled[2], abs=1e-3)
    assert found["label"].unique().to_list() == [ranks.protocol.label]


@pytest.fixture(scope="module")
def few_negatives(world):
    scores, truth = world
    frozen = rw.candidates.sampled(truth, 20, seed=4, items=range(ITEMS))
    return rw.rank_relevant(scores, truth=truth, candidates=frozen), truth


def test_the_same_seed_gives_the_same_intervals(few_negatives):
    ranks, truth = few_negatives
    first, again, other = (rw.correct(ranks, truth, "mrr", seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_order_of_rows_and_other_metrics_do_not_matter(few_negatives):
    ranks, truth = few_negatives
    one = rw.correct(ranks, truth, "mrr")
    rows = pl.DataFrame(
        [(user, item) for user, items in truth.items() for item in items],
        schema=["user", "item"],
        orient="row",
    )
    other = rw.correct(ranks, rows.sample(fraction=1, shuffle=True, seed=1), ["hit_rate@9", "mrr"])
    limits = ["low", "high", "unresolved"]
    assert other.select(limits).row(1) == one.select(limits).row(0)
    assert other["corrected"][1] == pytest.approx(one["corrected"][0], abs=1e-12)


def test_one_interval_for_all_methods(few_negatives):
    ranks, truth = few_negatives
    em, bv = (rw.correct(ranks, truth, "hit_rate@50", method=method) for method in ("em", "bv"))
    limits = ["low", "high", "unresolved"]
    assert em.select(limits).equals(bv.select(limits))
    wider = rw.correct(ranks, truth, "hit_rate@50", confidence=0.99)
    assert wider["high"].item() > em["high"].item()
    outside = "corrected value outside its interval"
    assert [outside in found["flags"].to_list()[0] for found in (em, bv)] == [False, True]


def test_flags_say_which_ranks_are_not_resolved(few_negatives):
    ranks, truth = few_negatives
    found = rw.correct(ranks, truth, ["hit_rate@[50,99,100,200]", "mrr", "ndcg@100", "auc"])
    flagged = {row["metric"]: row["flags"] for row in found.iter_rows(named=True) if row["flags"]}
    # 2,000 items and 20 negatives: one sampled rank stands for 100 true ones.
    assert flagged.keys() == {"hit_rate@50", "hit_rate@99", "mrr", "ndcg@100"}
    assert flagged["mrr"] == ["true ranks 1 to 100 look alike in the sample"]


def test_decreasing_ranks_are_an_assumption_that_rows_name(few_negatives):
    ranks, truth = few_negatives
    free, assumed = (
        rw.correct(ranks, truth, "hit_rate@50", decreasing=decreasing)
        for decreasing in (False, True)
    )
    assert "assumes ranks of decreasing probability" in assumed["flags"].to_list()[0]
    assert "assumes ranks of decreasing probability" not in free["flags"].to_list()[0]
    width = [(found["high"] - found["low"]).item() for found in (free, assumed)]
    assert width[1] < 0.6 * width[0]


def test_items_without_a_rank_have_the_value_0(few_negatives):
    ranks, truth = few_negatives
    more = truth | {USERS + user: {0} for user in range(USERS)}  # none of them has scores
    found, half = (rw.correct(ranks, each, "auc") for each in (truth, more))
    assert half["corrected"].item() == pytest.approx(found["corrected"].item() / 2)
    assert half["low"].item() < half["corrected"].item() < half["high"].item()
    # Users without a rank are sampled like all others: half of them have the value 0.
    width, mean = (half["high"] - half["low"]).item(), found["corrected"].item()
    assert 1 < width / (2 * 1.96 * mean / 2 / (2 * USERS) ** 0.5) < 1.3
    assert half["flags"].to_list()[0] == ["50.0% of relevance is of items without a rank: value 0"]


def test_catalogues_of_different_sizes_are_named():
    truth = {user: {user} for user in range(40)}
    train = {user: range(50, 50 + user) for user in range(40)}
    scores = np.random.default_rng(3).normal(size=(40, 100))
    frozen = rw.candidates.sampled(truth, 9, seed=0, items=range(100), train=train)
    found = rw.correct(rw.rank_relevant(scores, truth=truth, candidates=frozen), truth, "auc")
    assert found["flags"].to_list()[0] == ["users have 60 to 99 items: approximate"]


def test_impossible_ranks_have_no_interval():
    # Every item ranks in the middle of 99 of 999 negatives: chance would spread it.
    truth = {user: {0} for user in range(300)}
    frozen = rw.candidates.sampled(truth, 99, seed=0, items=range(1000))
    scores = np.zeros((300, 1000))
    for user, (_, rows) in enumerate(frozen.frame.group_by("user", maintain_order=True)):
        scores[user, [item for item in rows["item"] if item != 0][:50]] = 1.0
        scores[user, 0] = 0.5
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "hit_rate@500")
    assert found.select("low", "high", "unresolved").row(0) == pytest.approx(
        (np.nan,) * 3, nan_ok=True
    )
    assert found["flags"].to_list()[0] == [
        "limits cross: hardly any distribution of true ranks explains the sample"
    ]


def test_by_hand():
    # One negative of two others: a relevant item of rank 2 stands above it half the time.
    scores = np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 0.0], [5.0, 1.0, 1.0]])
    truth = {0: {0}, 1: {0}, 2: {0}, 7: {0}}
    frozen = rw.candidates.sampled(truth, 1, seed=0, items=range(3))
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "recall@1", method="rank")
    above = ranks.frame["first"].to_list()
    # User 7 has no scores, and counts 0.
    assert found["sampled"].item() == pytest.approx(above.count(1) / 4)


def test_ties_are_spread():
    truth = {u: {0} for u in range(30)}
    frozen = rw.candidates.sampled(truth, 9, seed=0, items=range(100))
    ranks = rw.rank_relevant(np.zeros((30, 100)), truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "hit_rate@5")
    assert found["sampled"].item() == pytest.approx(0.5)
    assert found["corrected"].item() == pytest.approx(0.05, abs=0.003)


def test_other_relevant_items_do_not_stand_in_the_way():
    truth = {0: {0, 1, 2}}
    scores = np.array([[9.0, 8.0, 7.0, *np.zeros(40)]])
    frozen = rw.candidates.sampled(truth, 10, seed=0, items=range(43))
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    assert ranks.frame["first"].to_list() == [1, 2, 3]
    assert rw.correct(ranks, truth, "recall@1")["sampled"].item() == 1.0


@pytest.mark.slow
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
    for options in (
        {"method": "magic"},
        {"gamma": 1.0},
        {"gamma": 0.0},
        {"confidence": 1.0},
        {"confidence": "high"},
        {"n_items": 20},
        {"n_items": 10**8},
        {"n_items": 300.5},
        {"seed": -1},
        {"decreasing": "yes"},
    ):
        with pytest.raises(ParameterError):
            rw.correct(good, truth, "mrr", **options)
    for metric in ("gini@3", "novelty@3", "bpref"):
        with pytest.raises(MetricError):
            rw.correct(good, truth, metric)
    with pytest.raises(EmptyError):
        rw.correct(good, {0: {ITEMS - 1: 0.0, 3: 0.0}}, "mrr")
    with pytest.raises(DuplicateError):
        rw.correct(good, pl.DataFrame({"user": [0, 0], "item": [1, 1]}), "mrr")
    with pytest.raises(IdError):
        rw.correct(good, {0: {"a"}}, "mrr")
    frozen = rw.candidates.sampled(truth, 20, seed=1, items=range(ITEMS))
    seen = {user: range(ITEMS // 2) for user in truth}
    fewer = rw.rank_relevant(scores, truth=truth, candidates=frozen, exclude=seen)
    with pytest.raises(InputError, match="all negatives"):
        rw.correct(fewer, truth, "mrr")


def test_what_was_relevant_when_negatives_were_drawn_is_relevant():
    truth = {user: {user: 5.0, user + 1: 1.0} for user in range(20)}
    scores = np.random.default_rng(3).normal(size=(20, 60))
    frozen = rw.candidates.sampled(truth, 10, seed=1, items=range(60), relevance_threshold=4)
    ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    found = rw.correct(ranks, truth, "hit_rate@3")
    for options in ({}, {"relevance_threshold": 3}):
        with pytest.raises(ParameterError, match="another rating threshold"):
            rw.evaluate(ranks, truth, "hit_rate@3", **options)
        with pytest.raises(ParameterError, match="another rating threshold"):
            rw.curve(ranks, truth, "recall", **options)
    result = rw.evaluate(ranks, truth, "hit_rate@3", relevance_threshold=4)
    assert found["sampled"].item() == pytest.approx(result["hit_rate@3"])
