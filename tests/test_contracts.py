"""Functions that the toolkit was asked for by name run as written: arguments, rules, worked values.

No later change of a default may move them: a test that fails here is a contract that is broken.
"""

from __future__ import annotations

import logging
import math

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array, issparse
from scipy.stats import ttest_rel

import rankwise as rw
from rankwise import functional as fn
from rankwise.splits import leave_one_out_cv, time_based_split
from rankwise.stats import bootstrap_confidence_interval, paired_t_test

LIST, RELEVANT = [1, 3, 5, 7, 9], {1, 5, 10}
LISTS = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
GRADES = {1: 3, 2: 2, 3: 3, 4: 1, 5: 2}


@pytest.mark.parametrize(
    ("function", "value", "nothing"),
    [(fn.precision_at_k, 0.4, 0.0), (fn.recall_at_k, 2 / 3, 0.0), (fn.f1_at_k, 0.5, 0.0)],
)
def test_sets(function, value, nothing):
    assert function(LIST, RELEVANT, 5) == pytest.approx(value)
    assert function(LIST, RELEVANT, k=5) == pytest.approx(value)
    assert function(recommended=LIST, relevant=RELEVANT, k=5) == pytest.approx(value)
    assert function(LIST, set(), 5) == nothing
    assert function(LIST, {10}, 5) == 0.0
    assert function([], RELEVANT, 5) == 0.0


def test_precision_divides_by_k_and_recall_by_the_relevant_items():
    assert fn.precision_at_k([1, 5], RELEVANT, 4) == 0.5
    assert fn.recall_at_k([1, 5], RELEVANT, 1) == pytest.approx(1 / 3)


def test_average_precision():
    expected = (1 + 2 / 3 + 3 / 5) / 3
    assert fn.average_precision_at_k([1, 2, 3, 4, 5], {1, 3, 5}, 5) == pytest.approx(expected)
    assert fn.average_precision_at_k(
        recommended=[1, 2, 3, 4, 5], relevant={1, 3, 5}, k=5
    ) == pytest.approx(expected)
    assert fn.average_precision_at_k([1, 2], {1, 3, 5}, 2) == 0.5  # over min(relevant, k)


def test_mean_average_precision_of_users_who_are_in_both():
    lists, truth = {1: [5, 6], 2: [7], 4: [5]}, {1: {6}, 2: {7}, 3: {6}}
    assert fn.mean_average_precision_at_k(lists, truth, 2) == pytest.approx((1 / 2 + 1) / 2)
    assert fn.mean_average_precision_at_k(recommendations=lists, ground_truth=truth, k=1) == 0.5
    assert fn.mean_average_precision_at_k({1: [5]}, {2: {5}}, 1) == 0.0
    assert fn.mean_average_precision_at_k({}, {}, 1) == 0.0


def test_discounted_gains():
    dcg = (
        3 / math.log2(2) + 3 / math.log2(3) + 2 / math.log2(4) + 2 / math.log2(5) + 1 / math.log2(6)
    )
    assert fn.dcg_at_k([3, 1, 5, 2, 4], GRADES, 5) == pytest.approx(dcg)
    assert fn.dcg_at_k(recommended=[3, 1, 5, 2, 4], relevance_scores=GRADES, k=5) == pytest.approx(
        dcg
    )
    assert fn.ndcg_at_k([3, 1, 5, 2, 4], GRADES, 5) == 1.0
    assert fn.ndcg_at_k(recommended=[3, 1, 5, 2, 4], relevance_scores=GRADES, k=5) == 1.0
    assert fn.ndcg_at_k([4], GRADES, 1) == pytest.approx(1 / 3)  # the ideal is of all relevances
    assert fn.ndcg_at_k([1, 2], {1: 0, 2: 0}, 2) == 0.0
    assert fn.ndcg_at_k([1, 2], {}, 2) == 0.0


def test_mean_ndcg_of_users_who_are_in_both():
    lists, truth = {1: [5, 6], 2: [7], 4: [5]}, {1: {6: 2}, 2: {7: 1}, 3: {6: 1}}
    expected = (1 / math.log2(3) + 1) / 2
    assert fn.mean_ndcg_at_k(lists, truth, 2) == pytest.approx(expected)
    assert fn.mean_ndcg_at_k(recommendations=lists, relevance_scores=truth, k=2) == pytest.approx(
        expected
    )
    assert fn.mean_ndcg_at_k({1: [5]}, {2: {5: 1}}, 1) == 0.0


def test_coverage_and_gini():
    assert fn.catalog_coverage(LISTS, 100, 3) == 0.05
    assert fn.catalog_coverage(recommendations=LISTS, catalog_size=100, k=3) == 0.05
    recs = {0: [1, 2], 1: [1, 3]}
    assert fn.gini_coefficient(recs, 2) == pytest.approx(1 / 6)
    assert fn.gini_coefficient(recommendations=recs, k=2) == pytest.approx(1 / 6)
    assert fn.gini_coefficient(recs, 1) == 0.0
    assert fn.gini_coefficient({}, 2) == fn.gini_coefficient({0: []}, 2) == 0.0
    counts = np.sort([1, 2, 3, 2, 1])
    n, rank = len(counts), np.arange(1, 6)
    by_formula = 2 * (rank * counts).sum() / (n * counts.sum()) - (n + 1) / n
    assert fn.gini_coefficient(LISTS, 3) == pytest.approx(by_formula)


def test_diversity():
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert fn.intra_list_diversity([0, 1, 2], features) == pytest.approx(2 / 3)
    assert fn.intra_list_diversity(recommended=[0, 2], item_features=features) == pytest.approx(1.0)
    assert fn.intra_list_diversity([0], features) == fn.intra_list_diversity([], features) == 0.0


def test_metrics_of_ratings():
    pairs = {1: [(4.5, 5), (4, 3)], 2: [(3, 4), (2, 2)]}
    values = fn.compute_metrics(
        user_pred_true=pairs, metrics=["precision", "recall", "ndcg", "rmse"], k=2, threshold=3.5
    )
    assert values == pytest.approx({"precision": 0.5, "recall": 1.0, "ndcg": 1.0, "rmse": 0.75})
    assert fn.compute_metrics(pairs, ["precision"], 10, 3.5) == pytest.approx({"precision": 0.1})


class Model:
    def recommend(self, user_id, n):
        if user_id == "gone":
            raise KeyError(user_id)
        return [(item, 1.0 / item) for item in {"ann": [1, 2, 3], "bob": [2, 4]}[user_id]][:n]


def test_the_evaluator_of_a_model(caplog):
    test_data = {"ann": {1, 3}, "bob": {9}, "gone": {1}}
    with caplog.at_level(logging.WARNING, "rankwise"):
        values = fn.RecommenderEvaluator(k_values=[1, 2]).evaluate(
            model=Model(), test_data=test_data, catalog_size=10
        )
    assert "gone" in caplog.text
    names = ("precision", "recall", "f1", "coverage", "gini")
    assert set(values) == {f"{name}@{k}" for name in names for k in (1, 2)}
    assert (values["precision@2"], values["recall@2"]) == (0.25, 0.25)
    assert values["f1@2"] == pytest.approx(0.25)  # of the two means
    assert values["coverage@2"] == pytest.approx(0.3)
    assert values["gini@2"] == pytest.approx(1 / 6)
    assert fn.RecommenderEvaluator().k_values == [5, 10, 20]


NO_HITS = [
    lambda relevant, k: fn.precision_at_k(LIST, relevant, k),
    lambda relevant, k: fn.recall_at_k(LIST, relevant, k),
    lambda relevant, k: fn.f1_at_k(LIST, relevant, k),
    lambda relevant, k: fn.hit_rate_at_k(LIST, relevant, k),
    lambda relevant, k: fn.reciprocal_rank_at_k(LIST, relevant, k),
    lambda relevant, k: fn.average_precision_at_k(LIST, relevant, k),
    lambda relevant, k: fn.average_precision_at_k(LIST, relevant, k, normaliser="relevant"),
    lambda relevant, k: fn.dcg_at_k(LIST, dict.fromkeys(relevant, 2), k),
    lambda relevant, k: fn.ndcg_at_k(LIST, dict.fromkeys(relevant, 2), k),
    lambda relevant, k: fn.mean_average_precision_at_k({7: LIST}, {7: relevant}, k),
    lambda relevant, k: fn.mean_ndcg_at_k({7: LIST}, {7: dict.fromkeys(relevant, 1)}, k),
    lambda relevant, k: fn.hits_at_k(LIST, relevant, k),
]


@pytest.mark.parametrize("value", NO_HITS)
@pytest.mark.parametrize(
    ("relevant", "k"), [(set(), 3), ({3}, 0), ({3, 9}, -2), (set(), 0), ({3}, np.int64(0))]
)
def test_no_relevant_items_and_no_top_are_0(value, relevant, k):
    assert value(relevant, k) == 0.0
    assert value({3}, 3) > 0.0


def test_relevances_of_0_are_no_relevant_items():
    assert fn.dcg_at_k([4, 6], {4: 0, 6: 0}, 2) == 0.0
    assert fn.ndcg_at_k([4, 6], {4: 0, 6: 0}, 2) == 0.0


def test_users_without_relevant_items_count_0_in_means():
    lists = {1: [5, 6], 2: [7], 3: [8]}
    assert fn.mean_average_precision_at_k(lists, {1: {6}, 2: set(), 9: {1}}, 2) == pytest.approx(
        1 / 4
    )
    graded = {1: {5: 2}, 2: {7: 0}, 3: {}}
    assert fn.mean_ndcg_at_k(lists, graded, 2) == pytest.approx(1 / 3)


def test_no_top_of_a_catalogue_is_0():
    assert fn.catalog_coverage(LISTS, 100, 0) == fn.catalog_coverage(LISTS, 100, -1) == 0.0
    assert fn.gini_coefficient(LISTS, 0) == fn.gini_coefficient(LISTS, -3) == 0.0
    names = ["precision", "recall", "hit_rate", "ndcg"]
    assert fn.compute_metrics({1: [(4.5, 5), (4, 3)]}, names, k=0) == dict.fromkeys(names, 0.0)
    assert fn.compute_metrics({1: [(4.5, 2), (4, 3)]}, names, k=2) == dict.fromkeys(names, 0.0)
    values = fn.RecommenderEvaluator(k_values=[0]).evaluate(Model(), {"ann": {1}}, catalog_size=4)
    assert set(values.values()) == {0.0}


def test_the_plain_definitions_of_metrics_stay_undefined():
    undefined = [fn.hit_rate, fn.reciprocal_rank, fn.average_precision, fn.dcg]
    assert all(math.isnan(definition([1, 2], set(), 2)) for definition in undefined)


def test_the_split_by_time():
    rows = np.array([[1, 10, 50], [1, 11, 20], [2, 10, 40], [2, 12, 10], [3, 11, 30]])
    train, test = time_based_split(rows, 2, test_ratio=0.3)
    assert train[:, 2].tolist() == [10, 20, 30]  # int(5 * 0.7) rows, in order of time
    assert test[:, 2].tolist() == [40, 50]
    train, test = time_based_split(interactions=rows, timestamp_col=2)
    assert len(train) == 4
    table = pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")
    for same in (table, table.to_pandas(), table.to_arrow()):
        train, test = time_based_split(same, "time", 0.3)
        assert type(train) is type(test) is type(same)
        assert pl.DataFrame(train)["time"].to_list() == [10, 20, 30]
        assert pl.DataFrame(test)["time"].to_list() == [40, 50]


def test_the_split_by_time_counts_rows_also_among_equal_times():
    rows = np.array([[1, 4, 7], [2, 5, 7], [3, 6, 7], [4, 7, 2]])
    train, test = time_based_split(rows, 2, test_ratio=0.5)
    assert train[:, 0].tolist() == [4, 1]
    assert test[:, 0].tolist() == [2, 3]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_leaving_one_out(kind):
    dense = np.array([[1, 2, 0], [0, 0, 3], [4, 0, 5]])
    pairs = list(leave_one_out_cv(user_item_matrix=kind(dense)))
    assert len(pairs) == 2  # users with two interactions or more
    for (train, test), user in zip(pairs, (0, 2), strict=True):
        assert issparse(train) == issparse(test) == (kind is csr_array)
        assert test.nonzero()[0].tolist() == [user]
        whole = train + test
        assert np.array_equal(whole.toarray() if issparse(whole) else whole, dense)


def test_the_paired_test():
    a, b = [0.1, 0.2, 0.3, 0.2], [0.3, 0.3, 0.6, 0.4]
    test = paired_t_test(a, b, alpha=0.05)
    differences = np.subtract(b, a)
    assert set(test) == {
        "mean_improvement",
        "p_value",
        "significant",
        "t_statistic",
        "cohens_d",
        "interpretation",
    }
    assert test["mean_improvement"] == pytest.approx(0.2)
    assert test["cohens_d"] == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert test["t_statistic"] == pytest.approx(-2 * test["cohens_d"])
    assert (test["t_statistic"], test["p_value"]) == pytest.approx(tuple(ttest_rel(a, b)))
    assert test["significant"] == (test["p_value"] < 0.05)
    assert test["interpretation"] == "significant"
    assert paired_t_test(a, b, alpha=0.001)["interpretation"] == "not significant"
    assert paired_t_test(metrics_a=a, metrics_b=b)["significant"]
    with pytest.raises(ValueError, match="values"):
        paired_t_test(a, b[:3])


def test_the_bootstrap_interval():
    values = [0.1, 0.4, 0.2, 0.8, 0.5, 0.3]
    lower, upper = bootstrap_confidence_interval(values, 1000, 0.95)
    assert lower < np.mean(values) < upper
    assert (lower, upper) == tuple(
        bootstrap_confidence_interval(metric_values=values, n_bootstrap=1000, confidence=0.95)
    )


def test_the_bootstrap_interval_of_equal_values_is_that_value_twice():
    assert tuple(bootstrap_confidence_interval([0.3, 0.3, 0.3])) == (0.3, 0.3)
    assert tuple(bootstrap_confidence_interval([0.7])) == (0.7, 0.7)


def test_names_of_courses_and_notebooks():
    """What the page of these names shows, with values of its own."""
    y_rel, y_rec = [1, 4, 7], [1, 2, 7, 3, 5]
    assert fn.hits_at_k(y_rec, set(y_rel), 3) == 2
    assert fn.hit_rate_at_k(y_rec, set(y_rel), 3) == 1.0
    assert (
        fn.precision_at_k(y_rec, set(y_rel), 3)
        == fn.recall_at_k(y_rec, set(y_rel), 3)
        == pytest.approx(2 / 3)
    )
    assert fn.average_precision_at_k(y_rec, set(y_rel), 4, normaliser="k") == pytest.approx(
        (1 + 2 / 3) / 4
    )
    assert fn.reciprocal_rank_at_k(y_rec, {7, 3}, 5) == pytest.approx(1 / 3)
    assert fn.ndcg_at_k(y_rec, {7}, 5, gain="binary") == pytest.approx(
        0.5
    )  # an ideal of min(relevant, k) items
    relevance, scores = [3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1]
    assert fn.cg_at_k(range(6), dict(enumerate(relevance))) == 11
    assert fn.dcg_score(relevance, scores, gain="exponential") == pytest.approx(13.848, abs=5e-4)
    assert fn.dcg_score(relevance, relevance, gain="exponential") == pytest.approx(14.595, abs=5e-4)
    assert fn.ndcg_score(relevance, scores, gain="exponential") == pytest.approx(0.949, abs=5e-4)
    assert fn.reciprocal_rank_score([0, 0, 1], [3, 2, 1]) == pytest.approx(1 / 3)
    lists = {1: ["a", "b", "c"], 2: ["b", "c", "a"], 3: ["b", "c", "d"]}
    assert rw.evaluate(lists, {key: {"a"} for key in lists}, "mrr")["mrr"] == pytest.approx(
        0.444, abs=5e-4
    )
    result = rw.evaluate({1: [1, 2, 3, 4, 5, 6]}, {1: {1, 4}}, "map@[3,6]")
    assert (result["map@6"], result["map@3"]) == (0.75, 0.5)
