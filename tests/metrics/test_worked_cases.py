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
        ("shannon_entropy@3", -(2 / 9 * math.log(1 / 9) + 4 / 9 * math.log(2 / 9) + math.log(1 / 3) / 3)),
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
    expected = {"r2": 1 - 5 / spread, "explained_variance": 1 - (5 - 9 / 4) / spread}.get(name, expected)
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
    result = rw.evaluate({"a": [5], "b": [7]}, {"a": {5, 6}, "b": {5}}, "group_gap(metric=bpref)@[1,2]", users=users)
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
        ({"u": [8, 7]}, {"u": {8}}, "novelty(popularity=interactions)@2", (math.log2(5) + math.log2(5 / 4)) / 2),
        ({"u": [8, 7]}, {"u": {8}}, "novelty(denominator=k)@4", 2 / 4),
        ({"u": [7, 8]}, {"u": {8}}, "novelty(discount=log)@2", 2 / math.log2(3) / 1.63093),
        ({"u": [8, 7]}, {"u": {8}}, "surprisal@2", 0.5),
        ({"u": [7, 8]}, {"u": {8}}, "efd@2", 2 / math.log2(3) / 1.63093),
        ({"u": [7, 8]}, {"u": {8: 2}}, "efd(relevance=discounted)@2", 3 * 2 / math.log2(3) / 1.63093),
        ({"u": [7, 8]}, {"u": {8: 2}}, "efd(relevance=discounted_plus_one)@2", 7 * 2 / math.log2(3) / 1.63093),
        ({"u": [8, 9]}, {"u": {9}}, "epc@2", 1 / math.log2(3) / 1.63093),
        # Seven items: 8 was expected second and stands first; 9 was expected nowhere.
        ({"u": [8, 9]}, {"u": {8}}, "serendipity@2", (2 - 1) / 7 / 2),
        ({"u": [8, 9]}, {"u": {9}}, "serendipity@2", (7 + 1 - 2) / 7 / 2),
        # b has had 7 and 8; their columns of users have cosine 1/2.
        ({"b": [8]}, {"b": {8}}, "serendipity(form=history)@1", 1 - (1 / 2 + 1) / 2),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild@3", (1 + 2 * (1 - math.sqrt(0.5))) / 3),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild(distance=euclidean)@3", (math.sqrt(2) + 2) / 3),
        ({"u": [1, 2, 3]}, {"u": {1}}, "ild(distance=jaccard)@3", (0.5 + 1 + 0.5) / 3),
        ({"u": [4]}, {"u": {1}}, "ild@1", 0.0),
        ({"u": [1, 4]}, {"u": {2}}, "srecall@2", 0.5),
        ({"u": [1, 4]}, {"u": {2}}, "srecall(of=hits)@2", 0.0),
        # War twice, then noir: 1 + 0.5/log2(3) against noir+war first (2), then war (0.5).
        ({"u": [1, 7, 2]}, {"u": {1, 7, 2}}, "alpha_ndcg@2", (1 + 0.5 / math.log2(3)) / (2 + 0.5 / math.log2(3))),
        # Half war, half noir in the history; all war in the list.
        (
            {"b": [1]},
            {"b": {1}},
            "calibration_error@1",
            0.5 * math.log(0.5 / (0.99 + 0.005)) + 0.5 * math.log(0.5 / 0.005),
        ),
        ({"u": [1, 2], "v": [1, 3], "w": [1, 2]}, {"u": {1}, "v": {1}, "w": {1}}, "personalization@2", 1 / 3),
        ({"u": [1, 2], "v": [1, 3]}, {"u": {1}, "v": {1}}, "personalization@2", 1 / 2),
        ({"u": [7, 8]}, {"u": {8}}, "arp@4", 5 / 4),
        ({"u": [7, 8]}, {"u": {8}}, "arp(denominator=length)@4", 5 / 2),
        # 7 alone holds 4/5 of the interactions: no more than 0.8, so 8 is in the head too.
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt@3", 1.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aclt(pop_ratio=0.7)@3", 2.0),
        ({"u": [7, 8, 9]}, {"u": {8}}, "aplt(pop_ratio=0.7)@4", 0.5),
        # Head {7}: one recommendation over one item; tail: two over the six others.
        ({"u": [7, 8, 9]}, {"u": {8}}, "pop_rsp(pop_ratio=0.7)@3", (1 - 1 / 3) / (1 + 1 / 3)),
        ({"u": [7, 8]}, {"u": {7, 8, 9}}, "pop_reo(pop_ratio=0.7)@2", (1 - 1 / 2) / (1 + 1 / 2)),
        # b's history has mean popularity (4 + 1) / 2, the list (4 + 0) / 2.
        ({"b": [7, 9]}, {"b": {7}}, "popularity_lift@2", 2 / 2.5 - 1),
        # Propensities (1/4)^0.5 and 1.
        ({"u": [8]}, {"u": {8, 7}}, "ips_recall@1", 2 / 2),
        ({"u": [8]}, {"u": {8, 7}}, "snips_recall@1", 2 / 3),
        ({"u": [7, 8]}, {"u": {8, 7}}, "ips_dcg@2", 1 + 2 / math.log2(3)),
        ({"u": [7, 8]}, {"u": {8, 7}}, "snips_dcg@2", (1 + 2 / math.log2(3)) / 3),
        ({"u": [7]}, {"u": {7, 1}}, "ips_recall(propensity=given)@1", 10 / 2),
        ({"u": [8]}, {"u": {8, 7}}, "stratified_recall@1", 1 / 1.5),
        ({"u": [1, 3]}, {"u": {1, 2, 3}}, "reo@2", (1 - 0.5) / (1 + 0.5)),
        ({"u": [1, 3]}, {"u": {1}}, "rsp@2", 0.0),
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
    assert found == pytest.approx(expected, abs=2e-5)
