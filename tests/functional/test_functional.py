"""The readable definitions at their edges; what they agree with is in ``tests/metrics``."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankwise import functional as fn
from rankwise.errors import DuplicateError, InputError, ParameterError, ScoreError


def test_all_is_exact_and_documented():
    assert fn.__all__ == sorted(fn.__all__)
    for name in fn.__all__:
        assert ">>> " in inspect.getdoc(getattr(fn, name))


@pytest.mark.parametrize(
    "value",
    [
        fn.hit_rate([1], set()),
        fn.reciprocal_rank([1], set()),
        fn.average_precision([1], set()),
        fn.average_recall_at_k([1], set()),
        fn.cg_at_k([1], {1: 0}),
        fn.dcg([1], {}),
        fn.err_at_k([1], {}),
        fn.rbp([1], set()),
        fn.r_precision([1], set()),
        fn.gini_coefficient({}, catalog_size=3),
        fn.shannon_entropy({}),
        fn.intra_list_diversity([], {}, single="one"),
        fn.mean_absolute_error([]),
        fn.r2([(1, 2), (3, 2)]),
    ],
)
def test_nothing_to_say_is_nan(value):
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fn.precision_at_k([1, 1], {1}, 2), DuplicateError),
        (lambda: fn.hit_rate([1], {1}, 0), ParameterError),
        (lambda: fn.average_precision([1], {1}, normaliser="k"), ParameterError),
        (lambda: fn.ndcg_at_k([1], {1: 1}, ideal="full"), ParameterError),
        (lambda: fn.ndcg_score([1, 0], [0.5]), ParameterError),
        (lambda: fn.ndcg_score([1, 0], [0.5, math.nan]), ScoreError),
        (lambda: fn.precision_score([1, 0], [0.5, 0.5], k=0), ParameterError),
        (lambda: fn.catalog_coverage({1: [1]}, 0), ParameterError),
        (lambda: fn.gini_coefficient({1: [1]}, over="catalogue"), ParameterError),
        (lambda: fn.precision_at_k([1], {1}, 1.5), ParameterError),
        (lambda: fn.precision_at_k(["ab"], "ab", 1), InputError),
        (lambda: fn.ndcg_at_k([1], 1), InputError),
        (lambda: fn.ndcg_at_k([1], {1: math.nan}), ScoreError),
        (lambda: fn.recall_at_k([1], {1: "high"}), ScoreError),
        (lambda: fn.recall_at_k([[1]], {1}), InputError),
        (lambda: fn.mean_ndcg_at_k({1: "ab"}, {1: {"a"}}), InputError),
        (lambda: fn.mean_average_precision_at_k({1: None}, {1: {1}}), InputError),
        (lambda: fn.precision_at_k([1], {1}, 10**400), ParameterError),
        (lambda: fn.ndcg_at_k([1], {1: 1}, 10**12, ideal="full"), ParameterError),
        (lambda: fn.mean_average_precision_at_k([[1]], [{1}], 1), InputError),
        (lambda: fn.mean_ndcg_at_k({1: [1]}, [{1}], 1), InputError),
        (lambda: fn.intra_list_diversity([1, 2], {1: [1.0]}), ParameterError),
        (lambda: fn.intra_list_diversity([0, 2], np.eye(2)), ParameterError),
        (lambda: fn.intra_list_diversity([0, -1], np.eye(2)), ParameterError),
        (lambda: fn.intra_list_diversity(["0", "1"], np.eye(2)), ParameterError),
        (lambda: fn.intra_list_diversity([0, 1], np.eye(2), distance="jaccard"), ParameterError),
        (lambda: fn.intra_list_diversity([0, 1], np.eye(2), distance="cos"), ParameterError),
        (lambda: fn.intra_list_diversity([0, 1], [[1.0], [1.0, 2.0]]), InputError),
        (lambda: fn.intra_list_diversity([0, 1], np.ones(2)), InputError),
        (lambda: fn.intra_list_diversity([0, 1], pl.DataFrame(np.eye(2))), InputError),
        (lambda: fn.intra_list_diversity([0, 1], csr_array(np.eye(2))), InputError),
    ],
)
def test_what_makes_no_sense(call, error):
    with pytest.raises(error):
        call()


def test_intra_list_diversity():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
    near = 1 - 1 / math.sqrt(2)
    assert fn.intra_list_diversity(list("abc"), vectors) == pytest.approx((1 + near + near) / 3)
    assert fn.intra_list_diversity(list("abc"), vectors, 1) == 0.0
    assert fn.intra_list_diversity(["a", "b"], vectors, distance="euclidean") == math.sqrt(2)
    assert fn.intra_list_diversity(["a", "b"], vectors, distance=lambda x, y: x[0] - y[0]) == -1.0


def test_features_are_a_matrix_or_a_dict():
    features = np.random.default_rng(0).random((6, 3))
    by_item = dict(enumerate(features.tolist()))
    for items in ([4, 0, 5], np.array([4, 0, 5])):
        for distance in ("cosine", "euclidean"):
            found = fn.intra_list_diversity(items, features, distance=distance)
            assert found == pytest.approx(
                fn.intra_list_diversity([4, 0, 5], by_item, distance=distance)
            )
            assert type(found) is float


@pytest.mark.parametrize(
    ("value", "judged"),
    [
        (lambda judged: fn.precision_at_k([1, 2, 3], judged, 3), {1, 3}),
        (lambda judged: fn.recall_at_k([1, 2], judged), {1, 3}),
        (lambda judged: fn.hit_rate([2], judged), {1, 3}),
        (lambda judged: fn.average_precision([2, 1], judged), {1, 3}),
        (lambda judged: fn.r_precision([2, 1], judged), {1, 3}),
        (lambda judged: fn.ndcg_at_k([2, 1], judged), {1, 3}),
        (lambda judged: fn.mean_ndcg_at_k({"ann": [2, 1]}, {"ann": judged}), {1, 3}),
    ],
)
def test_relevant_items_in_any_form(value, judged):
    """An item judged 0 is not relevant, and an item that is named twice is one item."""
    once = value(judged)
    assert once == value([1, 3, 3]) == value({1: 1, 3: 1, 2: 0})
    assert once == value(np.array([1, 3]))


def test_means_are_over_users_who_are_in_both_dicts():
    lists = {"ann": [1, 2], "bob": [3, 4], "cyd": [5], "dan": [6], "eve": []}
    truth = {"ann": {2}, "bob": {9}, "dan": set(), "eve": {1}, "fay": {1}}
    # ann, bob, dan and eve: cyd is not in the truth, fay has no list; dan, who has nothing relevant, counts as 0.
    assert fn.mean_average_precision_at_k(lists, truth, 2) == pytest.approx((1 / 2 + 0 + 0 + 0) / 4)
    assert fn.mean_ndcg_at_k(lists, truth, 2) == pytest.approx(1 / math.log2(3) / 4)
    assert fn.mean_average_precision_at_k({"ann": [1]}, {"bob": {1}}, 1) == 0.0


def test_items_that_nobody_gets_cost_nothing():
    lists = {1: ["a", "b"], 2: ["a"]}
    few = fn.gini_coefficient(lists, over="catalogue", catalog_size=4)
    assert few == pytest.approx((1 * 1 + 3 * 2) / (3 * 3))  # counts 0, 0, 1, 2
    assert 0.99 < fn.gini_coefficient(lists, over="catalogue", catalog_size=10**15) <= 1


def test_ratings():
    assert fn.explained_variance([(1, 2), (2, 3), (4, 5)]) == 1.0
    assert math.isnan(fn.fraction_of_concordant_pairs({1: [(1, 2)]}))
    assert fn.log_loss([(1.0, 0)]) == pytest.approx(-math.log(1e-15), rel=1e-3)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(1, 7)),
)
def test_labels_and_scores_are_the_mean_over_all_orders(pairs, k):
    labels, scores = [label for label, _ in pairs], [score for _, score in pairs]
    orders = [
        [pairs[at][0] for at in order]
        for order in permutations(range(len(pairs)))
        if all(pairs[a][1] >= pairs[b][1] for a, b in pairwise(order))
    ]

    def mean(metric):
        values = []
        for order in orders:
            relevant = {place for place, label in enumerate(order) if label}
            values.append(metric(list(range(len(order))), relevant, k))
        return pytest.approx(sum(values) / len(values), rel=1e-12, nan_ok=True)

    assert fn.hit_rate_score(labels, scores, k=k) == mean(fn.hit_rate)
    assert fn.reciprocal_rank_score(labels, scores, k=k) == mean(fn.reciprocal_rank)
    assert fn.average_precision_score(labels, scores, k=k) == mean(fn.average_precision)
    if not any(labels):  # of labels and scores it is undefined, of a list it is 0
        assert math.isnan(fn.recall_score(labels, scores, k=k))
        return
    assert fn.recall_score(labels, scores, k=k) == mean(fn.recall_at_k)
    if k is not None:
        assert fn.precision_score(labels, scores, k=k) == mean(fn.precision_at_k)


def test_many_ties_have_a_formula():
    labels, scores = [1, 0] * 500, [0.5] * 1000
    assert fn.precision_score(labels, scores, k=10) == pytest.approx(0.5)
    assert fn.hit_rate_score(labels, scores, k=1) == pytest.approx(0.5)
    assert 0.5 < fn.reciprocal_rank_score(labels, scores) < 1


def test_relevance_0_is_not_relevant_wherever_relevant_items_are_asked_for():
    """A dict of relevances in place of the set: the items above 0."""
    items = range(10)
    given = {
        "recommended": [1, 2, 3, 4],
        "k": 3,
        "candidates": items,
        "catalog_size": 10,
        "popularity": {item: item + 1 for item in items},
        "history": {7},
        "propensities": dict.fromkeys(items, 0.5),
        "similarity": lambda a, b: 1 / (a + b),
        "categories": {item: {f"c{item % 3}"} for item in items},
    }
    asked = 0
    for name in dir(fn):
        function = getattr(fn, name)
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        needed = {one for one, kind in parameters.items() if kind.default is kind.empty}
        needed |= {"catalog_size"} & set(parameters)
        if "relevant" not in parameters or needed - {"relevant"} - set(given):
            continue
        asked += 1
        arguments = {one: given[one] for one in needed - {"relevant"}}
        relevant = function(**arguments, relevant={1, 3, 9})
        assert function(**arguments, relevant={1: 1, 3: 2, 9: 1, 2: 0, 4: 0}) == relevant, name
    assert asked > 20
