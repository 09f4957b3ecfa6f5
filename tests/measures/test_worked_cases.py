"""Cases worked by hand, each small enough to check with a pencil."""

from __future__ import annotations

import math

import pytest

import rankwise as rw

THREE = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
ANY = {0: {1: 1}, 1: {2: 1}, 2: {5: 1}}


def value(recommended, relevant, name, **options):
    return rw.evaluate({"u": recommended}, {"u": relevant}, name, **options)[name]


@pytest.mark.parametrize(
    ("recommended", "relevant", "name", "expected"),
    [
        ([1, 3, 5, 7, 9], {1, 5, 10}, "precision@5", 0.4),
        ([1, 3, 5, 7, 9], {1, 5, 10}, "recall@5", 2 / 3),
        ([1, 3, 5, 7, 9], {1, 5, 10}, "f1@5", 0.5),
        ([1, 2], {1, 5, 6}, "precision@10", 0.1),
        ([1, 2], {1, 5, 6}, "precision(denominator=length)@10", 0.5),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "recall(denominator=capped)@3", 2 / 3),
        ([1, 2, 3, 4, 5], {1, 3, 5}, "map@5", (1 + 2 / 3 + 3 / 5) / 3),
        ([1, 2, 3, 4, 5], {1, 3, 5}, "map(normaliser=hits)@5", (1 + 2 / 3 + 3 / 5) / 3),
        ([1, 2, 3, 4, 5, 6], {1, 4}, "map@6", 0.75),
        ([1, 2, 3, 4, 5, 6], {1, 4}, "map@3", 0.5),
        ([1, 2, 3, 4, 5, 6], {1, 4}, "map(normaliser=relevant)@3", 0.5),
        ([1, 2, 3], {1}, "map(normaliser=k)@3", 1 / 3),
        ([2, 3, 1], {1}, "map(normaliser=k)@3", 1 / 9),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "map@3", (1 + 2 / 3) / 3),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "map(normaliser=relevant)@3", (1 + 2 / 3) / 5),
        ([1, 2, 3], {1, 3}, "mar@3", (1 / 2 + 1) / 2),
        ([1, 2, 3], {1, 3}, "dcg@3", 1.5),
        ([1, 2, 3], {1, 3}, "ndcg@3", 1.5 / 1.63093),
        ([1, 2, 3], {1}, "ndcg(ideal=full)@3", 1 / (1 + 1 / math.log2(3) + 0.5)),
        ([3, 1, 5, 2, 4], {1: 3, 2: 2, 3: 3, 4: 1, 5: 2}, "ndcg@5", 1.0),
        ([1, 2, 3, 4, 5, 6], {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}, "dcg(gain=exponential)@6", 13.8483),
        ([1, 2, 3, 4, 5, 6], {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}, "ndcg(gain=exponential)@6", 0.94881),
        ([1, 2, 3, 4, 5, 6], {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}, "ndcg(gain=exponential)@3", 0.95945),
        ([1, 2, 3, 4, 5, 6], {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}, "ndcg@6", 0.96081),
        ([1, 2, 3, 4, 5, 6], {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}, "ndcg_binary@6", 0.97469),
        ([1, 2, 3], {1: 3, 3: 2}, "cg@3", 5.0),
        ([1, 2, 3], {1, 3, 5}, "r_precision", 2 / 3),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "r_precision", 0.4),
        ([1, 2, 3], {1, 3}, "rbp", 0.2 * (1 + 0.64)),
        ([1, 2, 3], {1, 3}, "rbp(p=0.5)", 0.5 * 1.25),
        ([2, 1], {1: 3, 2: 2}, "err(max_relevance=4)@2", 3 / 16 + 13 / 16 * 7 / 16 / 2),
        ([1, 2], {2}, "err", 0.25),
        ([5, 6], {7}, "mrr@2", 0.0),
    ],
)
def test_one_user(recommended, relevant, name, expected):
    assert value(recommended, relevant, name) == pytest.approx(expected, abs=6e-5)


def test_reciprocal_rank_of_three_users():
    lists = {1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 2, 3]}
    result = rw.evaluate(lists, {1: {1}, 2: {3}, 3: {9}}, "mrr")
    assert result["mrr"] == pytest.approx(0.4444, abs=5e-5)


def test_f_of_means_is_not_the_mean_of_f():
    lists = {1: [1, 2, 3], 2: [1, 8, 9]}
    truth = {1: {1, 2, 3, 4, 5}, 2: {1}}
    result = rw.evaluate(lists, truth, ["f@3", "f(of=means)@3", "f(beta=2)@3"])
    assert result["f@3"] == pytest.approx(0.625)
    assert result["f(of=means)@3"] == pytest.approx(2 * (2 / 3) * 0.8 / (2 / 3 + 0.8))
    assert result["f(beta=2)@3"] == pytest.approx((5 * 0.6 / 4.6 + 5 / 3 / (4 / 3 + 1)) / 2)


def test_f_of_any_two_measures():
    name = "f(first=ndcg,second=map(normaliser=relevant),beta=0.5)@3"
    result = rw.evaluate(THREE, ANY, [name, "ndcg@3", "map(normaliser=relevant)@3"])
    first = result.per_user["ndcg@3"]
    second = result.per_user["map(normaliser=relevant)@3"]
    by_hand = 1.25 * first * second / (0.25 * first + second)
    assert result[name] == pytest.approx(by_hand.mean())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("item_coverage@3", 5),
        ("catalog_coverage@3", 0.05),
        ("gini(over=recommended)@3", 0.2222),
        ("gini@3", 0.97082),
        (
            "shannon_entropy@3",
            -(2 / 9 * math.log(1 / 9) + 4 / 9 * math.log(2 / 9) + math.log(1 / 3) / 3),
        ),
        ("shannon_entropy(normalised=true)@3", 1.5230 / math.log(100)),
        ("user_coverage@3", 3),
        ("user_coverage(as_share=true)@3", 1),
        ("num_retrieved@5", 3),
        ("user_coverage_at_n@4", 0),
        ("tp@2", 2),
        ("fp@2", 4),
        ("fn@2", 1),
        ("tn@2", 3 * 100 - 7),
    ],
)
def test_over_users(name, expected):
    result = rw.evaluate(THREE, ANY, name, items=range(100))
    assert result[name] == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mae", 3 / 4),
        ("mse", 5 / 4),
        ("rmse", math.sqrt(5 / 4)),
        ("mae(average=users)", (1 / 3 + 2) / 2),
        ("rmse(average=users)", (math.sqrt(1 / 3) + 2) / 2),
        ("r2", 1 - 5 / 6.75),
        ("explained_variance", 1 - (5 - 1 / 4) / 6.75),
        ("fcp", 3 / 3),
    ],
)
def test_rating_error(name, expected):
    predicted = {"a": {1: 4.0, 2: 3.0, 3: 1.0}, "b": {1: 2.0}}
    truth = {"a": {1: 5, 2: 3, 3: 1}, "b": {1: 4, 2: 5}}
    true = [5, 3, 1, 4]
    assert sum((t - 3.25) ** 2 for t in true) == 8.75
    result = rw.evaluate(predicted, truth, name)
    spread = 8.75
    expected = {
        "r2": 1 - 5 / spread,
        "explained_variance": 1 - (5 - 9 / 4) / spread,
    }.get(name, expected)
    assert result[name] == pytest.approx(expected)
    assert result.counts["truth_rows_without_score"] == 1


def test_fcp_counts_tied_predictions_as_wrong():
    predicted = {"a": {1: 1.0, 2: 1.0}, "b": {1: 2.0, 2: 1.0, 3: 0.5}}
    truth = {"a": {1: 5, 2: 3}, "b": {1: 5, 2: 4, 3: 4}}
    assert rw.evaluate(predicted, truth, "fcp")["fcp"] == pytest.approx(2 / 3)
