"""Cases worked by hand, each small enough to check with a pencil."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.metrics.base import metric, parse_all

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
        ([1, 2, 3], {2, 3, 5}, "r_precision@2", 1 / 3),
        ([1, 2, 3], {2, 3}, "r_precision(without_hit=undefined)@1", math.nan),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "mean_precision@3", (1 + 1 / 2 + 2 / 3) / 3),
        ([1, 2], {1, 5, 6}, "mean_precision@10", 0.29290),
        ([1, 2, 3], {1, 3, 5, 6, 7}, "mean_recall@3", (1 / 5 + 1 / 5 + 2 / 5) / 3),
        ([1, 2], {1, 5, 6}, "mean_recall@10", 1 / 3),
        ([1, 2, 3, 4], {1, 4, 9}, "arhr(normaliser=relevant)", 1.25 / 3),
        ([1, 2, 3, 4], {1, 3}, "list_auc@3", 0.5),
        ([1, 2, 3, 4], {1, 3}, "list_auc(one_class=by_class)@1", 1.0),
        ([1, 2, 3, 4], {3}, "list_auc(one_class=by_class)@2", 0.0),
        ([1, 2, 3, 4], {1, 3}, "list_auc(one_class=zero)@1", 0.0),
        ([1, 2, 3], {1: 3, 3: 2}, "rbp(p=0.5,top_grade=none)", 0.5 * (3 + 2 / 4)),
        ([1, 2, 3], {1, 3}, "rbp", 0.2 * (1 + 0.64)),
        ([1, 2, 3], {1, 3}, "rbp(p=0.5)", 0.5 * 1.25),
        ([2, 1], {1: 3, 2: 2}, "err(max_relevance=4)@2", 3 / 16 + 13 / 16 * 7 / 16 / 2),
        ([1, 2], {2}, "err", 0.25),
        ([5, 6], {7}, "mrr@2", 0.0),
    ],
)
def test_one_user(recommended, relevant, name, expected):
    assert value(recommended, relevant, name) == pytest.approx(expected, abs=6e-5, nan_ok=True)


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


def test_f_of_any_two_metrics():
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
    expected = {"r2": 1 - 5 / spread, "explained_variance": 1 - (5 - 9 / 4) / spread}.get(
        name, expected
    )
    assert result[name] == pytest.approx(expected)
    assert result.counts["truth_rows_without_score"] == 1


def test_fcp_counts_tied_predictions_as_wrong():
    predicted = {"a": {1: 1.0, 2: 1.0}, "b": {1: 2.0, 2: 1.0, 3: 0.5}}
    truth = {"a": {1: 5, 2: 3}, "b": {1: 5, 2: 4, 3: 4}}
    assert rw.evaluate(predicted, truth, "fcp")["fcp"] == pytest.approx(2 / 3)


def test_one_group_has_no_gap():
    users = {"user": ["a", "b"], "group": ["x", "x"]}
    name = "group_gap(metric=recall)@1"
    result = rw.evaluate({"a": [5], "b": [5]}, {"a": {5}, "b": {6}}, name, users=users)
    assert result[f"{name}[user_group=x]"] == 0.5
    assert math.isnan(result[name])


def test_a_part_without_cut_offs_is_the_same_at_all_of_them():
    users = {"user": ["a", "b"], "group": ["x", "y"]}
    result = rw.evaluate(
        {"a": [5], "b": [7]}, {"a": {5, 6}, "b": {5}}, "group_gap(metric=bpref)@[1,2]", users=users
    )
    assert [*result.values.values()].count(0.5) == 4  # the gap, and the mean of x; that of y is 0


# What is known in the cases below: 7 is popular, 8 known to one user, 9 to nobody.
TRAIN = {"a": [7], "b": [7, 8], "c": [7], "d": [7]}
ITEMS = {
    "item": [1, 2, 3, 4, 7, 8, 9],
    "genres": ["war", "war|noir", "noir", "", "war", "noir", "drama"],
    "group": ["x", "x", "y", "y", "x", "y", None],
    "features": [[1, 0], [0, 1], [1, 1], [0, 0], [2, 0], [1, 0], [1, 0]],
    "propensity": [0.5, 0.25, 1.0, 1.0, 0.05, 1.0, 1.0],
}


@pytest.mark.parametrize(
    ("lists", "truth", "name", "expected"),
    [
        # 2 bits for an item known to one of four users, 0 for one known to all; 9 counts as one.
        ({"u": [8, 7, 9]}, {"u": {8}}, "novelty@3", (2 + 0 + 2) / 3),
        (
            {"u": [8, 7]},
            {"u": {8}},
            "novelty(popularity=interactions)@2",
            (math.log2(5) + math.log2(5 / 4)) / 2,
        ),
        ({"u": [8, 7]}, {"u": {8}}, "novelty(denominator=k)@4", 2 / 4),
        ({"u": [7, 8]}, {"u": {8}}, "novelty(discount=log)@2", 2 / math.log2(3) / 1.63093),
        # Two of four items are cold: skipped, the others are divided by what is left of length or k, or of its discounts.
        ({"u": [8, 9, 7, 1]}, {"u": {8}}, "novelty(cold=zero)@4", 2 / 4),
        ({"u": [8, 9, 7, 1]}, {"u": {8}}, "novelty(cold=skip)@4", 2 / 2),
        ({"u": [8, 9, 7, 1]}, {"u": {8}}, "novelty(cold=skip,denominator=k)@5", 2 / (5 - 2)),
        ({"u": [8, 9, 7, 1]}, {"u": {8}}, "novelty(cold=skip,discount=log)@4", 2 / (1 + 1 / 2)),
        (
            {"u": [8, 9, 7, 1]},
            {"u": {8}},
            "novelty(cold=skip,discount=log,denominator=k)@5",
            2 / (1 + 1 / 2 + 1 / math.log2(6)),
        ),
        ({"u": [9, 1, 8]}, {"u": {8}}, "novelty(cold=skip)@2", math.nan),
        ({"u": [9, 8]}, {"u": {8}}, "novelty(cold=skip)@2", 2.0),
        (
            {"u": [7, 8]},
            {"u": {8}},
            "novelty(discount=log,denominator=k)@3",
            2 / math.log2(3) / (1.63093 + 1 / 2),
        ),
        ({"u": [8, 7]}, {"u": {8}}, "surprisal@2", 0.5),
        ({"u": [8, 7]}, {"u": {8}}, "surprisal(denominator=k)@4", 1 / 4),
        ({"u": [8, 9, 7, 1]}, {"u": {8}}, "surprisal(cold=skip)@4", 1 / 2),
        ({"u": [7, 8]}, {"u": {8}}, "efd@2", 2 / math.log2(3) / 1.63093),
        (
            {"u": [7, 8]},
            {"u": {8: 2}},
            "efd(relevance=discounted)@2",
            3 * 2 / math.log2(3) / 1.63093,
        ),
        (
            {"u": [7, 8]},
            {"u": {8: 2}},
            "efd(relevance=discounted_plus_one)@2",
            7 * 2 / math.log2(3) / 1.63093,
        ),
        (
            {"u": [7, 8]},
            {"u": {8}},
            "efd(popularity=interactions)@2",
            math.log2(5) / math.log2(3) / 1.63093,
        ),
        ({"u": [8, 9]}, {"u": {9}}, "epc@2", 1 / math.log2(3) / 1.63093),
        (
            {"u": [7, 8]},
            {"u": {8}},
            "epc(popularity=interactions)@2",
            4 / 5 / math.log2(3) / 1.63093,
        ),
        (
            {"u": [7, 8]},
            {"u": {8: 2}},
            "epc(relevance=discounted)@2",
            3 * 3 / 4 / math.log2(3) / 1.63093,
        ),
        # Seven items: 8 was expected second and stands first; 9 was expected nowhere.
        ({"u": [8, 9]}, {"u": {8}}, "serendipity@2", (2 - 1) / 7 / 2),
        ({"u": [8, 9]}, {"u": {9}}, "serendipity@2", (7 + 1 - 2) / 7 / 2),
        ({"u": [8, 9]}, {"u": {9}}, "serendipity(relevance=none)@2", (1 + 6) / 7 / 2),
        ({"u": [7, 8]}, {"u": {7, 8}}, "serendipity@2", 0.0),
        (
            {"u": [8, 7]},
            {"u": {7, 8}},
            "serendipity@2",
            1 / 7 / 2,
        ),  # 7 stands below its place: no more than 0
        ({"u": [8, 9], "v": [8]}, {"u": {8}, "v": {8}}, "serendipity@2", (1 / 7 / 2 + 1 / 7) / 2),
        ({"a": [8]}, {"a": {8}}, "serendipity(form=history)@1", 1 / 2),
        (
            {"b": [3]},
            {"b": {3}},
            "serendipity(form=history,similarity=features)@1",
            1 - math.sqrt(0.5),
        ),
        # b has had 7 and 8; their columns of users have cosine 1/2.
        ({"b": [8]}, {"b": {8}}, "serendipity(form=history)@1", 1 - (1 / 2 + 1) / 2),
        (
            {"u": [8], "b": [8]},
            {"u": {8}, "b": {8}},
            "serendipity(form=history)@1",
            1 / 4,
        ),  # u has no history
        (
            {"b": [2, 3]},
            {"b": {2, 3}},
            "serendipity(form=history,similarity=features)@2",
            (1 + 1 - math.sqrt(0.5)) / 2,
        ),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild@3", (1 + 2 * (1 - math.sqrt(0.5))) / 3),
        ({"u": [7, 8, 9]}, {"u": {1}}, "ild(distance=cooccurrence)@3", (1 / 2 + 1 + 1) / 3),
        ({"u": [7, 8]}, {"u": {1}}, "ild(distance=cooccurrence)@2", 1 / 2),
        ({"u": [9, 8]}, {"u": {1}}, "ild(distance=cooccurrence)@2", 1.0),
        ({"u": [4], "v": [1, 2]}, {"u": {1}, "v": {1}}, "ild(single=one)@2", (1 + 1) / 2),
        ({"u": [4], "v": [1, 3]}, {"u": {1}, "v": {1}}, "ild(single=skip)@2", 1 - math.sqrt(0.5)),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild(distance=euclidean)@3", (math.sqrt(2) + 2) / 3),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild(distance=hamming)@3", (1 + 2 + 1) / 3),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild(distance=jaccard)@3", (0.5 + 1 + 0.5) / 3),
        ({"u": [4]}, {"u": {1}}, "ild@1", 0.0),
        ({"u": [1, 4]}, {"u": {2}}, "srecall@2", 0.5),
        ({"u": [1, 4]}, {"u": {2}}, "srecall(of=hits)@2", 0.0),
        ({"u": [1, 3]}, {"u": {1, 2}}, "srecall(of=hits)@2", 1 / 2),
        ({"u": [3, 1]}, {"u": {1, 2}}, "srecall(of=hits)@1", 0.0),
        (
            {"u": [3, 1]},
            {"u": {1: 1, 2: 1, 3: 0}},
            "srecall(of=hits)@2",
            1 / 2,
        ),  # 3 is judged, and no hit
        ({"u": [4, 1, 3]}, {"u": {2}}, "srecall@2", 1 / 2),
        ({"u": [1, 4]}, {"u": {2}}, "srecall(over=all)@2", 1 / 3),
        ({"u": [1, 4]}, {"u": {4}}, "srecall@2", math.nan),
        # War twice, then noir: 1 + 0.5/log2(3) against noir+war first (2), then war (0.5).
        (
            {"u": [1, 7, 2]},
            {"u": {1, 7, 2}},
            "alpha_ndcg@2",
            (1 + 0.5 / math.log2(3)) / (2 + 0.5 / math.log2(3)),
        ),
        ({"u": [1, 7, 2]}, {"u": {1, 7, 2}}, "alpha_ndcg@1", 1 / 2),
        ({"u": [1, 7, 2]}, {"u": {1, 7, 2}}, "alpha_ndcg(alpha=1)@2", 1 / 2),
        (
            {"u": [1, 7, 2]},
            {"u": {1, 7, 2}},
            "alpha_ndcg(alpha=0)@2",
            1.63093 / (2 + 1 / math.log2(3)),
        ),
        ({"u": [9, 3, 1]}, {"u": {3, 1}}, "alpha_ndcg@3", (1 / math.log2(3) + 1 / 2) / 1.63093),
        ({"u": [4]}, {"u": {4}}, "alpha_ndcg@1", math.nan),
        ({"u": [1]}, {"u": {1}}, "alpha_ndcg@1", 1.0),
        ({"u": [3, 1]}, {"u": {1: 1, 3: 0}}, "alpha_ndcg@2", 1 / math.log2(3)),
        # War and noir one and a half times each; by rank war 1 + 1/4 and noir 1/4 + 1/4, of 7/4.
        ({"u": [1, 2, 3, 4, 9]}, {"u": {1}}, "category_entropy@4", math.log(2)),
        ({"u": [1, 2, 3]}, {"u": {1}}, "category_entropy(log_base=4)@3", 1 / 2),
        (
            {"u": [1, 2, 3]},
            {"u": {1}},
            "category_entropy(weight=geometric)@3",
            5 / 7 * math.log(7 / 5) + 2 / 7 * math.log(7 / 2),
        ),
        (
            {"u": [1, 2, 3]},
            {"u": {1}},
            "category_entropy(smoothing=1)@3",
            2 * 5 / 12 * math.log(12 / 5) + 1 / 6 * math.log(6),
        ),
        ({"u": [4], "v": [1]}, {"u": {1}, "v": {1}}, "category_entropy@1", 0.0),
        ({"u": [2, 4, 9]}, {"u": {1}}, "category_count@2", 2.0),
        ({"u": [4, 2, 9]}, {"u": {1}}, "category_count@2", 2.0),
        ({"u": [2, 4, 9]}, {"u": {1}}, "category_count(as_share=true)@5", 3 / 5),
        # Half war, half noir in the history; all war in the list.
        (
            {"b": [1]},
            {"b": {1}},
            "calibration_error@1",
            0.5 * math.log(0.5 / (0.99 + 0.005)) + 0.5 * math.log(0.5 / 0.005),
        ),
        ({"u": [1]}, {"u": {1}}, "calibration_error@1", math.nan),  # without a history
        ({"b": [4]}, {"b": {1}}, "calibration_error@1", math.nan),
        (
            {"u": [1, 2], "v": [1, 3], "w": [1, 2]},
            {"u": {1}, "v": {1}, "w": {1}},
            "personalization@2",
            1 / 3,
        ),
        ({"u": [1, 2], "v": [1, 3]}, {"u": {1}, "v": {1}}, "personalization@2", 1 / 2),
        ({"u": [7, 8]}, {"u": {8}}, "arp@4", 5 / 4),
        ({"u": [7, 8]}, {"u": {8}}, "arp(denominator=length)@4", 5 / 2),
        ({"u": [7, 8]}, {"u": {8}}, "arp", 5 / 2),
        ({"u": [7, 8]}, {"u": {8}}, "arp(as_share=true)@4", 5 / 4 / 5),
        ({"u": [7, 8, 9]}, {"u": {8}}, "popularity_quantile@3", (1 + 1 / 2 + 0) / 3),
        # 7 alone holds 4/5 of the interactions: no more than 0.8, so 8 is in the head too.
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt@3", 1.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt(pop_ratio=0.7)@3", 2.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt(pop_ratio=0.7)@2", 1.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aplt(pop_ratio=0.7)@4", 0.5),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aplt(pop_ratio=0.7)", 2 / 3),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aplt(pop_ratio=0.7,denominator=length)@4", 2 / 3),
        # Of the two items in training 8 is the rarer half; 9 is cold: past the head of items, not among the rarest.
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt(ratio_of=items,pop_ratio=0.5)@3", 2.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt(ratio_of=rarest_items,pop_ratio=0.5)@3", 1.0),
        # Head {7}: one recommendation over one item; tail: two over the six others.
        ({"u": [7, 8, 9]}, {"u": {8}}, "pop_rsp(pop_ratio=0.7)@3", (1 - 1 / 3) / (1 + 1 / 3)),
        # b has had both: one place for 7, which is listed again, and five for the others.
        (
            {"b": [7, 1]},
            {"b": {1}},
            "pop_rsp(pop_ratio=0.7,denominator=available)@2",
            (1 - 1 / 5) / (1 + 1 / 5),
        ),
        ({"b": [7, 1]}, {"b": {1}}, "pop_rsp(pop_ratio=0.7)@2", (1 - 1 / 6) / (1 + 1 / 6)),
        ({"u": [7, 8]}, {"u": {7, 8, 9}}, "pop_reo(pop_ratio=0.7)@2", (1 - 1 / 2) / (1 + 1 / 2)),
        ({"u": [7, 1]}, {"u": {7, 8, 9}}, "pop_reo(pop_ratio=0.7)@2", 1.0),
        (
            {"u": [7, 1]},
            {"u": {7, 8, 9}},
            "pop_reo(pop_ratio=0.7,of=recommended)@2",
            (1 - 1 / 2) / (1 + 1 / 2),
        ),
        # b's history has mean popularity (4 + 1) / 2, the list (4 + 0) / 2.
        ({"b": [7, 9]}, {"b": {7}}, "popularity_lift@2", 2 / 2.5 - 1),
        (
            {"b": [7, 9], "a": [8], "u": [7]},
            {"b": {7}, "a": {7}, "u": {7}},
            "popularity_lift@2",
            (2 + 1) / (2.5 + 4) - 1,
        ),
        ({"u": [7, 9]}, {"u": {7}}, "popularity_lift@2", math.nan),  # without a history
        ({"b": [7, 9]}, {"b": {7}, "a": {8}}, "popularity_lift@2", 2 / 2.5 - 1),  # a has no list
        # Propensities (1/4)^0.5 and 1.
        ({"u": [8]}, {"u": {8, 7}}, "ips_recall@1", 2 / 2),
        ({"u": [8]}, {"u": {8, 7}}, "snips_recall@1", 2 / 3),
        ({"u": [7, 8]}, {"u": {8, 7}}, "ips_dcg@2", 1 + 2 / math.log2(3)),
        ({"u": [7, 8]}, {"u": {8, 7}}, "snips_dcg@2", (1 + 2 / math.log2(3)) / 3),
        ({"u": [7]}, {"u": {7, 1}}, "ips_recall(propensity=given)@1", 10 / 2),
        ({"u": [8]}, {"u": {8, 7}}, "stratified_recall@1", 1 / 1.5),
        ({"u": [1, 3]}, {"u": {1, 2, 3}}, "reo@2", (1 - 0.5) / (1 + 0.5)),
        ({"u": [1, 3]}, {"u": {1}}, "rsp@2", 0.0),
        # b has had 7 (x) and 8 (y): of three places each x has all, as 7 is listed again, and y two.
        ({"b": [7, 3]}, {"b": {3}}, "rsp@2", (1 / 2 - 1 / 3) / (1 / 2 + 1 / 3)),
        ({"b": [7, 3]}, {"b": {3}}, "rsp(seen=included)@2", 0.0),
        # x is read with 1 and y with 1/2; two relevant items share 3/2.
        ({"u": [1, 3]}, {"u": {1, 3}}, "ee_d@2", 1 + 1 / 4),
        ({"u": [1, 3]}, {"u": {1, 3}}, "ee_r@2", 3 / 4 * (1 + 1 / 2)),
        ({"u": [1, 3]}, {"u": {1, 3}}, "ee_l@2", 2 / 16),
        ({"u": [1, 3]}, {"u": {1, 3}}, "ee_l(patience=0.9)@1", 1 / 2),
        ({"u": [1, 9, 3]}, {"u": {1}}, "awrf@3", 1 - (1 / 1.5 - 1 / 2)),
        (
            {"u": [1, 3]},
            {"u": {1}},
            "awrf(weight=geometric,distance=squared)@2",
            1 - (2 / 3 - 1 / 2) ** 2,
        ),
        ({"u": [9]}, {"u": {1}}, "awrf@1", math.nan),
        # Gains: 1 for item 1 (x), 1/log2(3) for item 3 (y).
        ({"u": [1, 3]}, {"u": {1, 3}}, "item_mad_ranking@2", 1 - 1 / math.log2(3)),
        ({"u": [1, 3]}, {"u": {1, 3}}, "item_mad_ranking(discount=none)@2", 0.0),
        ({"u": [1, 2, 3, 4]}, {"u": {1: 1, 2: 0, 3: 1, 9: 0}}, "bpref", 0.75),
        # Seven candidates, two relevant: of five others one stands above 3, and 4 is unlisted.
        ({"u": [1, 2, 3]}, {"u": {1, 3}}, "gauc", (1 + 4 / 5) / 2),
        ({"u": [1, 2]}, {"u": {1, 3}}, "gauc", (1 + 0.5 * 4 / 5) / 2),
        ({"b": [1]}, {"b": {3}}, "gauc(seen=included)", 0.5 * 5 / 6),
        ({"b": [1]}, {"b": {3}}, "gauc", 0.5 * 3 / 4),
        ({"u": [1, 2, 3]}, {"u": {1, 3}}, "gauc(negatives=one_more)", (1 + 5 / 6) / 2),
        ({"u": [1, 2, 3]}, {"u": {1, 3}}, "lauc@2", 1 / 2),
        ({"u": [1, 2, 3]}, {"u": {1, 3}}, "partial_auc@2", (1 + 0.5) / 2),
        ({"u": [2, 4, 1, 3]}, {"u": {1, 3, 9}}, "partial_auc(positives=top)@3", 2 * (1 / 3) / 3),
        ({"b": [7, 1]}, {"b": {1}}, "repeated@2", 0.5),
        ({"b": [7, 1, 9]}, {"b": {1}}, "cold_item_share@3", 2 / 3),
        ({"b": [7, 99, 1, 98]}, {"b": {1}}, "validity@3", 2 / 3),
        ({"b": [99], "c": [1]}, {"b": {1}, "c": {1}}, "validity@3", 1 / 2),
        ({"u": [1]}, {"u": {1}, "v": {1}}, "unsatisfied@2", 2.0),
    ],
)
def test_what_is_known(lists, truth, name, expected):
    found = rw.evaluate(lists, truth, name, train=TRAIN, items=ITEMS)[name]
    assert found == pytest.approx(expected, abs=2e-5, nan_ok=True)


def test_exposure_is_compared_with_the_shares_of_the_groups_in_the_catalogue():
    items = {"item": [1, 2, 3, 4, 5], "group": ["x", "x", "x", "y", None]}
    names = [
        "awrf@2",
        "awrf(target=equal)@2",
        "awrf(distance=squared)@2",
        "awrf(target=equal,distance=squared)@2",
    ]
    result = rw.evaluate({"u": [1, 2], "v": [4, 5]}, {"u": {1}, "v": {1}}, names, items=items)
    # All of it goes to x, or to y, whose targets are 3/4 and 1/4, or 1/2 each.
    assert [result.per_user[name].to_list() for name in names] == [
        pytest.approx([3 / 4, 1 / 4]),
        [1 / 2, 1 / 2],
        pytest.approx([1 - 1 / 16, 1 - 9 / 16]),
        [3 / 4, 3 / 4],
    ]


def test_a_history_that_nobody_else_has_is_compared_with_as_any_other():
    train = {"u": [7], "v": [8], "w": [8]}
    assert (
        rw.evaluate({"u": [8, 7]}, {"u": {8}}, "popularity_lift@2", train=train)[
            "popularity_lift@2"
        ]
        == 1.5 / 1 - 1
    )


@pytest.mark.parametrize(
    ("name", "u", "v"),
    [
        ("unexpectedness@2", 1 / 2, 1.0),
        ("unexpectedness(denominator=k)@4", 1 - 2 / 4, 1.0),
        ("overlap@2", 1 / 2, 0.0),
        ("overlap(denominator=k)@4", 2 / 4, 0.0),
        ("overlap(denominator=union)@2", 1 / 3, 0.0),
        ("overlap(denominator=union)", 2 / 4, 0.0),
    ],
)
def test_lists_are_compared_with_those_of_another_system(name, u, v):
    lists, reference = {"u": [1, 2, 3], "v": [4], "w": [1]}, {"u": [5, 1, 2], "v": [1]}
    result = rw.evaluate(lists, {user: {1} for user in "uvw"}, name, reference=reference)
    assert result.per_user[name].to_list() == pytest.approx([u, v, math.nan], nan_ok=True)


def test_a_list_that_beats_the_greedy_one_has_an_alpha_ndcg_of_1():
    items = {"item": [1, 2, 3], "genres": ["a|b|c|d", "a|b|e", "c|d|f"]}
    names, truth = (
        ["alpha_ndcg(alpha=1)@1", "alpha_ndcg(alpha=1)@2"],
        {user: {1, 2, 3} for user in "uvw"},
    )
    result = rw.evaluate(
        {"u": [2, 3], "v": [1, 2], "w": [1]}, truth, "alpha_ndcg(alpha=1)@[1,2]", items=items
    )
    # 2 and 3 have 3 + 3 / log2(3) new categories, 1 and then one of them 4 + 1 / log2(3), which is less.
    by_hand = [3 / 4, 1.0, 1.0], [1.0, 1.0, pytest.approx(4 / (4 + 1 / math.log2(3)))]
    assert [result.per_user[name].to_list() for name in names] == [*by_hand]


def test_a_list_of_one_category_has_an_entropy_of_0_without_a_sign():
    (value,) = rw.evaluate({"u": [1, 7]}, {"u": {1}}, "category_entropy", items=ITEMS).per_user[
        "category_entropy"
    ]
    assert (value, math.copysign(1, value)) == (0.0, 1.0)


def test_expected_exposure_of_users_with_a_list_and_relevant_items():
    items = {"item": [1, 2, 3, 8, 9], "group": ["x", "x", "y", "y", None]}
    lists = {"ann": [1, 2, 3], "bob": [9, 3], "dan": [1], "eve": [1]}
    truth = {"ann": {2: 1, 3: 1, 8: 1}, "bob": {3: 1, 1: 0}, "cyd": {1: 1}, "dan": {1: 0}}
    names = ["ee_l", "ee_d", "ee_r"]
    result = rw.evaluate(lists, truth, names, items=items, population="all")
    # Ann reads x with 3/2 and y with 1/4, and bob y with 1/2. Ann's three items share 7/4, and bob's has 1.
    x, y, of_x, of_y = 3 / 2 / 2, (1 / 4 + 1 / 2) / 2, 7 / 12 / 2, (2 * 7 / 12 + 1) / 2
    by_hand = [(x - of_x) ** 2 + (y - of_y) ** 2, x**2 + y**2, x * of_x + y * of_y]
    assert [result[name] for name in names] == pytest.approx(by_hand)
    nobody = rw.evaluate(
        {"dan": [1]}, {"dan": {1: 0}, "cyd": {1: 1}}, names, items=items, population="all"
    )
    assert [nobody[name] for name in names] == pytest.approx([math.nan] * 3, nan_ok=True)
    one = {"item": [1, 2], "group": ["x", "x"]}
    alone = rw.evaluate({"ann": [1]}, {"ann": {2}}, names, items=one)
    assert [alone[name] for name in names] == [0.0, 1.0, 1.0]


def test_gains_of_groups_of_items_are_those_of_relevant_ones():
    items = {"item": [1, 2, 3, 4], "group": ["x", "x", "y", None]}
    lists, truth = {"a": [1, 3, 2], "b": [3, 4]}, {"a": {1: 2, 2: 0, 3: -1}, "b": {3: 1}}
    names = ["item_mad_ranking@3", "item_mad_ranking(discount=none)@3"]
    names += [
        "item_mad_ranking(gain=exponential_plus_one)@3",
        "item_mad_ranking(gain=binary,discount=none)@3",
    ]
    result = rw.evaluate(lists, truth, names, items=items)
    # x: the gain of 1, and none of 2; y: 3 gains with b, at rank 1, and not with a.
    for name, gains in zip(names, ((2, 1), (2, 1), (7, 3), (1, 1)), strict=True):
        means = gains[0] / 2, gains[1] / 2
        assert (result[f"{name}[item_group=x]"], result[f"{name}[item_group=y]"]) == pytest.approx(
            means
        )
        assert result[name] == pytest.approx(abs(means[0] - means[1]))


def test_surprisal_of_what_a_single_user_has_had_is_0():
    result = rw.evaluate({"u": [7, 9]}, {"u": {9}}, ["surprisal@2", "novelty@2"], train={"u": [7]})
    assert [*result.values.values()] == [0.0, 0.0]


GINI = (
    2 + 4 + 2 * 6,
    4,
)  # of seven items 8 and 9 occur once, at the positions 5 and 6, and 7 twice


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gini", GINI[0] / (6 * GINI[1])),
        ("gini(corrected=false)", GINI[0] / (7 * GINI[1])),
        ("gini(padding=1)", (3 + 5 + 2 * 7) / (7 * 4)),
        ("gini(over=recommended)", (-2 + 0 + 2 * 2) / (3 * 4)),
        ("gini(exposure=log)", ((2 + 4) / math.log2(3) + 6 * 2) / (6 * (2 + 2 / math.log2(3)))),
        ("gini(exposure=geometric,patience=0.25)", ((2 + 4) / 4 + 6 * 2) / (6 * (2 + 2 / 4))),
        ("herfindahl", 1 / 4 + 2 / 16),
        ("shannon_entropy", 1.5 * math.log(2)),
        ("shannon_entropy(log_base=4)", 0.75),
        ("shannon_entropy(normalised=true)", 1.5 * math.log(2) / math.log(7)),
        ("personalization", 1 / 2),
        ("catalog_coverage(padding=2)", 3 / 9),
        ("num_retrieved(total=true)", 4.0),
        ("num_retrieved(as_share=true)", 1.0),
    ],
)
def test_two_lists_that_share_their_first_item(name, expected):
    name = f"{name}@2"
    found = rw.evaluate({"u": [7, 8, 1], "v": [7, 9]}, {"u": {1}, "v": {1}}, name, items=ITEMS)[
        name
    ]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "counts", "n_items", "expected"),
    [
        (rw.metrics.Gini(), [1, 2000, 1], 7, (2 + 4 + 6 * 2000) / (6 * 2002)),
        (rw.metrics.Gini(), [9000, 0, 2, 9000], 3, (-2 * 2 + 0 * 9000 + 2 * 9000) / (2 * 18_002)),
        (rw.metrics.Gini(), [3], 1, 0.0),
        (rw.metrics.Gini(), [3], 2, 1.0),
        (rw.metrics.Gini(corrected=False), [3], 1, 0.0),
        (rw.metrics.Gini(over="recommended"), [3, 0], 9, 0.0),
        (rw.metrics.Gini(), [0, 0], 9, math.nan),
        (rw.metrics.Herfindahl(), [0, 3, 1], 9, 9 / 16 + 1 / 16),
        (rw.metrics.Herfindahl(), [0, 0], 9, math.nan),
        (rw.metrics.ShannonEntropy(), [0, 0], 9, math.nan),
        (rw.metrics.ShannonEntropy(normalised=True), [0, 0], 9, math.nan),
        (rw.metrics.ShannonEntropy(normalised=True), [2, 2], 2, 1.0),
        (rw.metrics.ShannonEntropy(normalised=True), [2], 1, 0.0),
    ],
)
def test_counts_of_recommendations(metric, counts, n_items, expected):
    assert metric.value_from_counts(np.array(counts), n_items) == pytest.approx(
        expected, rel=1e-12, nan_ok=True
    )


@pytest.mark.parametrize(
    "name", ["gini", "gini(over=recommended)", "gini(corrected=false,padding=2)", "coverage"]
)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=7), st.integers(7, 9))
def test_counts_give_the_value_of_their_histogram(name, counts, n_items):
    (metric,) = parse_all(name, cutoffs=False)
    values = metric.values_from_histograms(np.bincount(counts, minlength=12)[None], n_items)
    far = [1000 * count for count in counts]  # so few items and so large counts have no histogram
    found = [metric.value_from_counts(np.array(each), n_items) for each in (counts, far)]
    np.testing.assert_allclose(found, [*values, *values], rtol=1e-12)


@pytest.mark.parametrize("name", ["gini@2", "catalog_coverage@2"])
def test_a_group_has_the_value_of_its_lists_alone(name):
    lists = {"a": [1, 2], "b": [1, 3], "c": [1], "d": [4, 1], "e": [4]}
    truth, towns = (
        {user: {1} for user in lists},
        {"user": ["a", "b", "c", "x"], "town": ["x", "y", "x", "z"]},
    )
    result = rw.evaluate(lists, truth, name, users=towns, by="town", items=ITEMS)
    groups = {"x": "ac", "y": "b", None: "de"}
    alone = {
        town: rw.evaluate(
            *({user: of[user] for user in users} for of in (lists, truth)), name, items=ITEMS
        )[name]
        for town, users in groups.items()
    }
    assert dict(result.slices.select("group", name).iter_rows()) == alone


def by_town(name, **options):
    lists, users = (
        {"a": [1, 2], "b": [1], "c": [3]},
        {"user": ["a", "b", "c"], "town": ["x", "x", "y"]},
    )
    return rw.evaluate(
        lists, {user: {1} for user in lists}, name, users=users, by="town", items=ITEMS, **options
    )


@pytest.mark.usefixtures("own_metrics")
def test_a_group_has_the_value_of_counts_that_a_subclass_defines():
    @metric("odd_coverage", range=(0, np.inf), higher_is_better=True, family="coverage")
    class OddCoverage(rw.metrics.CatalogCoverage):
        """The number of items that were recommended an odd number of times."""

        def value_from_counts(self, counts, catalogue_size):
            return float((counts % 2).sum())

    result = by_town("odd_coverage@2", jackknife=2)
    assert result["odd_coverage@2"] == 2.0
    assert result.slices["odd_coverage@2"].to_list() == [1.0, 1.0]


@pytest.mark.usefixtures("own_metrics")
def test_a_group_has_the_value_that_a_subclass_makes_of_its_parents():
    @metric("twice_the_items", range=(0, np.inf), higher_is_better=True, family="coverage")
    class TwiceTheItems(rw.metrics.ItemCoverage):
        """Two for every item that was recommended."""

        def finalise(self, aggregates, at):
            value = super().finalise(aggregates, at)
            return value and type(value)(value.value * 2)

    result = by_town("twice_the_items@2", jackknife=3)
    assert result["twice_the_items@2"] == 6.0
    assert result.slices["twice_the_items@2"].to_list() == [4.0, 2.0]
    assert sorted(result.replicates["twice_the_items@2"]) == [4.0, 4.0, 6.0]


@pytest.mark.parametrize("name", ["coverage", "gini"])
def test_replicates_have_every_cutoff_where_counts_of_one_are_too_large_for_a_histogram(name):
    lists, truth = {user: [user % 4, 4] for user in range(100)}, {user: [0] for user in range(100)}
    together = rw.evaluate(
        lists, truth, f"{name}@[1,2]", items=list(range(6)), jackknife=5
    ).replicates
    apart = rw.evaluate(
        lists, truth, [f"{name}@1", f"{name}@2"], items=list(range(6)), jackknife=5
    ).replicates
    assert together.equals(apart)
    assert together.width == 3


def test_exposures_of_several_kinds_do_not_mix():
    names = [
        "gini(exposure=log)@2",
        "gini(exposure=geometric)@2",
        "gini(exposure=geometric,patience=0.25)@2",
    ]
    lists, truth = {"u": [7, 8], "v": [7, 9]}, {"u": {7}, "v": {7}}
    together = rw.evaluate(lists, truth, names, items=ITEMS)
    weights = [1 / math.log2(3), 1 / 2, 1 / 4]
    assert [together[name] for name in names] == pytest.approx(
        [(6 * w + 12) / (6 * (2 + 2 * w)) for w in weights]
    )


@pytest.mark.parametrize("n", range(1, 13))
def test_personalization_of_equal_lists_is_0_and_of_disjoint_ones_1_to_the_bit(n):
    truth = {user: {0} for user in range(7)}
    name = f"personalization@{n}"
    same = rw.evaluate({user: list(range(n)) for user in truth}, truth, name)[name]
    apart = rw.evaluate({user: list(range(n * user, n * user + n)) for user in truth}, truth, name)[
        name
    ]
    assert 0 <= same < 1e-12
    assert 1 - 1e-12 < apart <= 1
    assert math.isnan(rw.evaluate({0: list(range(n))}, {0: {0}}, name)[name])


@pytest.mark.parametrize("n", range(2, 13))
def test_equal_items_have_no_negative_diversity(n):
    items = {"item": range(n), "features": [[0.1 * n, 0.7, 0.3 / n]] * n}
    assert (
        0
        <= rw.evaluate({0: list(range(n))}, {0: {0}}, "ild", items=items)["intra_list_diversity"]
        < 1e-12
    )


def test_serendipity_of_hits_is_known_of_users_with_relevant_items():
    names = ["serendipity@1", "serendipity(relevance=none)@1"]
    result = rw.evaluate(
        {"u": [8], "v": [8]}, {"u": {8: 1}, "v": {8: 0}}, names, train=TRAIN, population="all"
    )
    by_hand = {names[0]: [1 / 2, math.nan], names[1]: [1 / 2, 1 / 2]}
    for name in names:
        assert result.per_user[name].to_list() == pytest.approx(by_hand[name], nan_ok=True)


def test_many_users_have_the_serendipity_that_each_has_alone():
    users = range(300)  # more than are compared at a time
    train = {user: [user % 7, 7 + user % 3] for user in users}
    lists, truth = (
        {user: [user % 5, 7 + user % 2] for user in users},
        {user: {user % 5} for user in users},
    )
    name = "serendipity(form=history,relevance=none)@2"
    found = rw.evaluate(lists, truth, name, train=train).per_user[name].to_list()
    for user in (0, 1, 254, 255, 256, 257, 299):
        alone = rw.evaluate({user: lists[user]}, {user: truth[user]}, name, train=train)
        assert found[user] == alone[name]


def test_a_large_catalogue_has_the_diversity_of_categories_that_a_small_one_has(monkeypatch):
    name, lists, truth = (
        "ild(distance=jaccard)@3",
        {"u": [1, 2, 3], "v": [3, 9]},
        {"u": {1}, "v": {1}},
    )
    expected = rw.evaluate(lists, truth, name, items=ITEMS)[name]
    assert expected == pytest.approx((2 / 3 + 1) / 2)
    monkeypatch.setattr("rankwise.metrics.diversity._DENSE", 0)
    assert rw.evaluate(lists, truth, name, items=ITEMS)[name] == expected


@pytest.mark.parametrize("distance", ["manhattan", 3, None, ["cosine"]])
def test_a_distance_is_a_known_name_or_a_function(distance):
    with pytest.raises(
        rw.errors.ParameterError,
        match="distance must be one of cosine, jaccard, euclidean, hamming, cooccur",
    ):
        rw.IntraListDiversity(distance=distance)
    assert rw.IntraListDiversity(distance=lambda x: x @ x.T).single == "zero"
    with pytest.raises(rw.errors.ParameterError, match="single must be one of"):
        rw.IntraListDiversity(single="two")
    of_first = rw.IntraListDiversity(distance=lambda x: abs(x[:, :1] - x[:, :1].T)) @ 3
    result = rw.evaluate({"u": [1, 2, 7]}, {"u": {1}}, of_first, items=ITEMS)
    assert [*result.values.values()] == [pytest.approx((1 + 1 + 2) / 3)]
    named = rw.IntraListDiversity(distance="numpy:outer") @ 2
    with pytest.raises(rw.errors.ParameterError, match="a distance named in text is never run"):
        rw.evaluate({"u": [1, 2]}, {"u": {1}}, named, items=ITEMS)


@pytest.mark.parametrize(
    ("needs_truth", "needs_none"),
    [
        ("serendipity@2", "serendipity(relevance=none)@2"),
        ("item_mad_ranking@2", "rsp@2"),
        ("bias_disparity_source(interactions=truth)", "bias_disparity_source"),
        ("bias_disparity(interactions=truth)@2", "bias_disparity@2"),
        ("efd@2", "popularity_lift@2"),
        ("srecall@2", "category_count@2"),
    ],
)
def test_lists_alone_have_the_values_that_need_no_ground_truth(needs_truth, needs_none):
    around = {"train": TRAIN, "items": ITEMS, "users": {"user": ["a", "b"], "group": ["m", "w"]}}
    lists = {"a": [7, 1], "b": [8, 3]}
    expected = rw.evaluate(lists, {"a": {1}, "b": {1}}, needs_none, **around).values
    assert rw.evaluate(lists, metrics=needs_none, **around).values == expected
    with pytest.raises(rw.errors.MetricError, match="ground truth"):
        rw.evaluate(lists, metrics=needs_truth, **around)


def test_each_disparity_needs_what_it_reads_alone():
    around = {"items": ITEMS, "users": {"user": ["a", "b"], "group": ["m", "w"]}}
    lists, truth = {"a": [7, 1], "b": [8, 3]}, {"a": {1, 2}, "b": {3}}
    for name in (
        "bias_disparity_source(interactions=truth)",
        "bias_disparity(interactions=truth)@2",
    ):
        assert len(rw.evaluate(lists, truth, name, **around).values) == 4
    for name in ("bias_disparity_source", "bias_disparity@2"):
        with pytest.raises(rw.errors.MetricError, match="train"):
            rw.evaluate(lists, truth, name, **around)


def test_groups_of_users_differ_in_their_mean_scores():
    users = {"user": ["a", "b", "c"], "group": ["m", "m", "w"]}
    lists = {"a": {1: 5.0, 2: 4.0, 3: 1.0}, "b": {1: 2.0}, "c": {2: 1.0, 1: 0.0}}
    name = "user_mad_rating@2"
    result = rw.evaluate(lists, {user: {1} for user in "abc"}, name, users=users)
    assert [result[f"{name}[user_group={group}]"] for group in "mw"] == [(4.5 + 2) / 2, 1 / 2]
    assert result[name] == (4.5 + 2) / 2 - 1 / 2


def test_bias_of_groups_of_users_towards_groups_of_items():
    items = {"item": range(1, 9), "group": ["x", "x", "y", "y", "x", "y", None, "x"]}
    users = {"user": ["a", "b", "c", "d"], "group": ["m", "m", "w", None]}
    lists = {"a": [1, 3, 4], "b": [2, 7], "c": [3, 4], "d": [3, 4]}
    truth = {"a": {1}, "b": {3}, "c": {3, 4}, "d": {1}}
    train = {"a": [1, 2, 3], "b": [7, 8], "d": [3]}
    names = ["bias_disparity_source", "bias_disparity_source(interactions=truth)"]
    names += [
        "bias_disparity_recommendation@2",
        "bias_disparity@2",
        "bias_disparity(interactions=truth)@2",
    ]
    result = rw.evaluate(lists, truth, names, items=items, users=users, train=train)
    x, y, nan = 4 / 8, 3 / 8, math.nan  # the shares of the catalogue; w has no training
    by_hand = {  # for m and x, m and y, w and x, w and y
        names[0]: [3 / 5 / x, 1 / 5 / y, nan, nan],
        names[1]: [1 / 2 / x, 1 / 2 / y, 0.0, 1 / y],
        names[2]: [2 / 4 / x, 1 / 4 / y, 0.0, 1 / y],
        names[3]: [(2 / 4) / (3 / 5) - 1, (1 / 4) / (1 / 5) - 1, nan, nan],
        names[4]: [0.0, -1 / 2, nan, 0.0],
    }
    cells = [f"user_group={user},item_group={item}" for user in "mw" for item in "xy"]
    assert [*result.values] == [f"{name}[{cell}]" for name in names for cell in cells]
    found = {name: [result[f"{name}[{cell}]"] for cell in cells] for name in names}
    for name in names:
        assert found[name] == pytest.approx(by_hand[name], abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("name", ["quantile(bias_disparity_source)", "worst(bias_disparity)@2"])
def test_a_metric_with_values_of_groups_alone_is_no_part_of_another(name):
    with pytest.raises(rw.errors.ParameterError, match="has only values of groups"):
        rw.parse(name)


def test_gaps_and_ratios_of_three_groups_of_users():
    lists = {user: [1, 2] for user in "abcdef"}
    truth = {"a": {1}, "b": {2}, "c": {1, 2}, "d": {9}, "e": {1, 9}, "f": {1, 2}}
    users = {"user": list("abcdef"), "group": ["x", "x", "y", "y", "z", None]}
    names = [
        "group_gap(metric=precision)@2",
        "group_ratio(metric=precision)@2",
        "user_mad_ranking@1",
    ]
    result = rw.evaluate(lists, truth, names, users=users)
    # Precision at 2 is 1/2, 1/2; 1, 0; 1/2, and equal in all groups. nDCG at 1 is 1, 0; 1, 0; 1.
    assert [result[name] for name in names] == [0.0, 1.0, pytest.approx((0 + 1 / 2 + 1 / 2) / 3)]
    truth |= {"b": {1, 2}, "c": {9}}
    result = rw.evaluate(lists, truth, names, users=users)
    # Now 3/4, 0 and 1/2; nDCG 1, 0 and 1.
    assert [result[name] for name in names] == [3 / 4, 0.0, pytest.approx(2 / 3)]
    result = rw.evaluate(lists, {user: {9} for user in "abcde"}, names, users=users)
    assert [result[name] for name in names] == pytest.approx([0.0, math.nan, 0.0], nan_ok=True)


def test_groups_of_items_differ_in_the_scores_of_their_hits():
    items = {"item": [1, 2, 3, 4], "group": ["x", "x", "y", None]}
    lists = {"a": {1: 5.0, 3: 4.0, 4: 3.0, 2: 1.0}, "b": {1: 3.0, 3: 2.0, 2: 1.0}}
    truth = {"a": {1: 1, 2: 1, 3: 0, 4: 1}, "b": {1: 1, 3: 1}}
    names = ["item_mad_rating@3", "item_mad_rating(misses=zero)@3"]
    result = rw.evaluate(lists, truth, names, items=items)
    # Of x only 1 is hit, with 5 and 3; 2 is listed once among the first three. Of y 3 is hit once of twice, with 2.
    of_groups = {names[0]: (4.0, 2.0), names[1]: ((4.0 + 0.0) / 2, 1.0)}
    for name, (x, y) in of_groups.items():
        assert (result[f"{name}[item_group=x]"], result[f"{name}[item_group=y]"]) == (x, y)
        assert result[name] == x - y
