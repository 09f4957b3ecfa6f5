"""Definitions of popularity, diversity, exposure and of statistics over users, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwise import functional as fn
from rankwise.errors import InputError, ParameterError

COUNTS = {1: 6, 2: 3, 3: 3, 4: 1, 5: 0}
LOG3 = math.log2(3)


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True)


def test_popularity_quantiles_by_hand():
    # Ascending: 4, then 2 and 3 tied at the ranks 2 and 3, then 1.
    for item, quantile in ((4, 0.25), (2, 0.625), (3, 0.625), (1, 1.0), (5, 0.0), (99, 0.0)):
        assert fn.popularity_quantile_at_k([item], COUNTS) == quantile
    assert fn.popularity_quantile_at_k([1, 5, 4], COUNTS, 2) == 0.5
    assert fn.popularity_quantile_at_k([1], {}) == 0.0


@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 4)),
    st.permutations(range(12)),
    st.integers(1, 12),
)
def test_popularity_quantiles_are_those_of_lenskit(popularity, items, k):
    """LensKit's MeanPopRank ranks the positive counts with pandas."""
    counts = pd.Series(popularity, dtype=float)
    positive = counts[counts > 0]
    ranks = (positive.rank(method="average") / max(len(positive), 1)).reindex(items[:k])
    ours = fn.popularity_quantile_at_k(items, popularity, k)
    assert ours == close(ranks.fillna(0.0).mean())


def test_short_head_of_items():
    assert fn.short_head(COUNTS, 0.5, of="items") == {1, 2}
    assert fn.short_head(COUNTS, 0.01, of="items") == {1}
    assert fn.short_head(COUNTS, 0.62, of="items") == {1, 2}  # 2.48 items
    assert fn.short_head(COUNTS, 0.625, of="items") == {1, 2, 3}  # 2.5 items, rounded up
    assert fn.short_head(COUNTS, 1.0, of="items") == {1, 2, 3, 4}
    assert fn.short_head({5: 0}, of="items") == set()
    head = fn.short_head(dict.fromkeys(range(50), 1), 0.29, of="items")
    assert head == set(range(15))  # 14.5 items, although 0.29 is slightly smaller in binary
    assert fn.aplt_at_k([1, 4], 2, head=fn.short_head(COUNTS, 0.5, of="items")) == 0.5


def test_gini_of_exposure():
    lists = {"ann": [1, 2], "bob": [1, 3]}
    low, high = 1 / LOG3, 2.0
    over = (-2 * low + 0 * low + 2 * high) / (3 * (2 * low + high))
    assert fn.gini_coefficient(lists, over="recommended", exposure="log") == close(over)
    catalogue = (-1 * low + 1 * low + 3 * high) / (3 * (2 * low + high))
    assert fn.gini_coefficient(lists, catalog_size=4, exposure="log") == close(catalogue)
    assert fn.gini_coefficient(lists, 1, catalog_size=4, exposure="log") == 1.0
    assert math.isnan(fn.gini_coefficient({}, catalog_size=4, exposure="log"))


def test_categories_of_a_list():
    categories = {1: {"a"}, 2: {"a", "b"}, 3: {"c"}, 4: set()}
    shares = [1.5 / 3, 0.5 / 3, 1 / 3]
    assert fn.category_entropy_at_k([1, 2, 3, 4, 9], categories) == close(stats.entropy(shares))
    assert fn.category_entropy_at_k([1, 2, 3], categories, 2, log_base=4) == close(
        stats.entropy([0.75, 0.25], base=4)
    )
    alone = fn.category_entropy_at_k([1], categories)
    assert math.copysign(1, alone) == 1.0  # 0, and not -0
    assert alone == 0.0
    assert math.isnan(fn.category_entropy_at_k([4, 9], categories))
    assert fn.category_count_at_k([1, 2, 3], categories) == 3
    assert fn.category_count_at_k([1, 2, 3], categories, 2) == 2
    assert fn.category_count_at_k([4, 9], categories) == 0


def test_novelty_of_cold_items():
    asked = {"popularity": {7: 4, 8: 1, 9: 0}, "total": 4}
    items = [8, 9, 7, 6]  # 2 bits, cold, 0 bits, cold
    for denominator, cold, expected in (
        ("length", "rarest", (2 + 2 + 0 + 2) / 4),
        ("length", "zero", 2 / 4),
        ("length", "skip", 1),
        ("k", "rarest", 6 / 5),
        ("k", "zero", 2 / 5),
        ("k", "skip", 2 / 3),
    ):
        options = {"denominator": denominator, "cold": cold}
        assert fn.novelty_at_k(items, 5, **asked, **options) == close(expected)
        surprisal = fn.surprisal_at_k(items, 5, popularity={7: 4, 8: 1}, n_users=4, **options)
        assert surprisal == close(expected / 2)
    # With a discount the ranks of skipped items go, and the other ranks keep their weights.
    weights = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    for denominator, norm in (("length", [0, 2]), ("k", [0, 2, 4])):
        ours = fn.novelty_at_k(
            items, 5, **asked, discount="log", denominator=denominator, cold="skip"
        )
        assert ours == close(2 * weights[0] / sum(weights[i] for i in norm))
    for denominator in ("length", "k"):
        assert math.isnan(fn.novelty_at_k([6, 9], 3, **asked, denominator=denominator, cold="skip"))


def test_diversity_of_a_single_item():
    features = {1: [1.0, 0.0], 2: [0.0, 1.0]}
    assert fn.intra_list_diversity([1, 2], features, 1, single="zero") == 0.0
    assert fn.intra_list_diversity([1, 2], features, 1, single="one") == 1.0
    assert math.isnan(fn.intra_list_diversity([1, 2], features, 1, single="skip"))
    for single in ("zero", "one", "skip"):
        assert fn.intra_list_diversity([1, 2], features, single=single) == 1.0
        empty = fn.intra_list_diversity([], features, single=single)
        assert empty == 0.0 if single == "zero" else math.isnan(empty)


def test_expected_exposure_by_hand():
    lists = {"ann": [1, 2, 3], "bob": [9, 3], "cyd": [], "dan": [1], "eve": [1]}
    relevant = {"ann": {2, 3, 8}, "bob": {3: 1.0, 1: 0.0}, "cyd": {1}, "dan": set()}
    groups = {1: "a", 2: "a", 3: "b", 8: "b"}
    # System: ann a 1.5, b 0.25; bob b 0.5. Target: ann 1.75/3 each of 2, 3 and 8; bob b 1.
    e = {"a": 1.5 / 2, "b": (0.25 + 0.5) / 2}
    t = {"a": 1.75 / 3 / 2, "b": (2 * 1.75 / 3 + 1) / 2}
    found = fn.expected_exposure_at_k(lists, relevant, groups)
    assert found["disparity"] == close(sum(value**2 for value in e.values()))
    assert found["relevance"] == close(sum(e[group] * t[group] for group in e))
    assert found["loss"] == close(sum((e[group] - t[group]) ** 2 for group in e))
    # At k = 1 the three relevant items of ann share the first position.
    e, t = {"a": 0.5, "b": 0.0}, {"a": 1 / 3 / 2, "b": (2 / 3 + 1) / 2}
    found = fn.expected_exposure_at_k(lists, relevant, groups, 1, patience=0.9)
    assert found["loss"] == close(sum((e[group] - t[group]) ** 2 for group in e))
    assert found["relevance"] == close(0.5 / 6)


LISTS = st.dictionaries(st.integers(0, 4), st.lists(st.integers(0, 7), unique=True), min_size=1)
TRUTH = st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 7)))
GROUPS = st.dictionaries(st.integers(0, 7), st.sampled_from("abc"))


@given(LISTS, TRUTH, GROUPS, st.integers(1, 8), st.sampled_from([0.1, 0.5, 0.85]))
def test_loss_is_disparity_and_relevance_and_the_exposure_of_the_target(
    lists, truth, groups, k, patience
):
    found = fn.expected_exposure_at_k(lists, truth, groups, k, patience=patience)
    served = [user for user in lists if lists[user] and truth.get(user)]
    if not served or not groups:
        assert all(map(math.isnan, found.values()))
        return
    target = dict.fromkeys(groups.values(), 0.0)
    for user in served:  # the mean over the ideal rankings of each relevant item's weight
        m = len(truth[user])
        for item in truth[user]:
            if item in groups:
                each = sum(patience**i for i in range(min(m, k))) / m
                target[groups[item]] += each / len(served)
    constant = sum(value**2 for value in target.values())
    expected = found["disparity"] - 2 * found["relevance"] + constant
    assert found["loss"] == pytest.approx(expected, abs=1e-12)


def test_attention_weighted_rank_fairness_by_hand():
    groups = {1: "a", 2: "a", 3: "b"}
    even = {"a": 0.5, "b": 0.5}
    total = 1 + 1 / LOG3 + 1 / 2
    a = (1 + 1 / 2) / total
    assert fn.awrf_at_k([1, 3, 2], groups, even) == close(1 - abs(a - 0.5))
    assert fn.awrf_at_k([1, 3, 2], groups, even, distance="squared") == close(1 - (a - 0.5) ** 2)
    # Item 9 has no group: its position does not count. Weights 1 and 0.25.
    geometric = fn.awrf_at_k([1, 9, 3], groups, even, weight="geometric")
    assert geometric == close(1 - (0.8 - 0.5))
    assert fn.awrf_at_k([1, 3], groups, even, 1) == 0.5
    assert fn.awrf_at_k([1], groups, {"b": 1.0}) == 0.0
    assert fn.awrf_at_k([1], groups, {"b": 1.0}, distance="squared") == 0.0
    assert fn.awrf_at_k([1, 2], groups, {"a": 1.0, "c": 0.0}) == 1.0
    assert fn.awrf_at_k([1, 2], groups, {"a": 0.75, "c": 0.25}) == 0.75
    assert math.isnan(fn.awrf_at_k([9], groups, even))


@given(
    st.permutations(range(8)),
    GROUPS,
    st.integers(1, 8),
    st.sampled_from(["log", "geometric"]),
    st.sampled_from(["absolute", "squared"]),
)
def test_attention_weighted_rank_fairness_lies_between_0_and_1(items, groups, k, weight, distance):
    target = {"a": 0.2, "b": 0.3, "d": 0.5}
    value = fn.awrf_at_k(items, groups, target, k, weight=weight, distance=distance)
    assert math.isnan(value) or 0 <= value <= 1


@given(st.lists(st.one_of(st.floats(-5, 5), st.just(math.nan)), max_size=12), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values, q):
    defined = [value for value in values if not math.isnan(value)]
    expected = np.quantile(defined, q) if defined else math.nan
    assert fn.quantile_of_users(values, q) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_worst_served_users():
    values = [0.5, math.nan, 0.0, 1.0, 0.25]
    assert fn.worst_share(values) == 0.0
    assert fn.worst_share(values, 0.5) == 0.125
    assert fn.worst_share(values, 0.51) == 0.25  # 2.04 users are 3
    assert fn.worst_share(values, 1) == 0.4375
    assert fn.worst_share(values, 1e-15) == 0.0
    assert fn.worst_share(values, 0.5, higher_is_better=False) == 0.75
    assert fn.worst_share(range(100), 0.07) == 3.0  # 7 users, although 0.07 * 100 > 7


def test_geometric_mean_is_gm_map_of_trec_eval():
    truth = {"ann": {"a": 1}, "bob": {"b": 1}, "cyd": {"c": 1}}
    run = {"ann": {"a": 1.0}, "bob": {"x": 2.0, "b": 1.0}, "cyd": {"x": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"gm_map"}).evaluate(run)
    logs = [values["gm_map"] for values in theirs.values()]  # the logarithms, over users
    ours = fn.geometric_mean_of_users([1.0, 0.5, 0.0, math.nan])
    assert ours == close(math.exp(sum(logs) / len(logs)))
    assert ours == close((1.0 * 0.5 * 1e-5) ** (1 / 3))
    assert fn.geometric_mean_of_users([0.0, 4.0], floor=1.0) == close(2.0)


def test_micro_average():
    # Hits over min(k, relevant): 2 of 2, 0 of 5.
    assert fn.micro([(2, 2), (0, 5), (math.nan, 1), (0, 0)]) == close(2 / 7)
    assert math.isnan(fn.micro([(0, 0)]))


def test_judged_items():
    judged = {1: 1.0, 2: 0.0, 9: 1.0}
    assert fn.judged_at_k([1, 3, 2, 4], judged) == 0.5
    assert fn.judged_at_k([3, 1, 2], judged, 1) == 0.0
    assert fn.judged_at_k([1, 2], judged, 5) == 1.0
    assert fn.judged_at_k([1], {}) == 0.0
    assert fn.judged_at_k([1, 3], [1, 1, 2]) == 0.5
    assert fn.condensed([4, 2, 1], judged) == [2, 1]
    assert fn.condensed([4, 2, 1], {1}) == [1]
    assert fn.condensed([], judged) == []


@pytest.mark.parametrize(
    "value",
    [
        fn.popularity_quantile_at_k([], {1: 1}),
        fn.category_entropy_at_k([], {}),
        fn.category_count_at_k([], {}),
        fn.awrf_at_k([], {1: "a"}, {"a": 1.0}),
        fn.judged_at_k([], {1}),
        fn.quantile_of_users([math.nan]),
        fn.worst_share([]),
        fn.geometric_mean_of_users([]),
        fn.micro([]),
        fn.expected_exposure_at_k({}, {}, {1: "a"})["loss"],
    ],
)
def test_no_value(value):
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fn.popularity_quantile_at_k([1], {}, 0), ParameterError),
        (lambda: fn.short_head({1: 1}, of="users"), ParameterError),
        (lambda: fn.short_head({1: 1}, 1.5), ParameterError),
        (lambda: fn.gini_coefficient({1: [1]}, catalog_size=2, exposure="linear"), ParameterError),
        (lambda: fn.category_entropy_at_k([1], {}, log_base=1), ParameterError),
        (lambda: fn.novelty_at_k([1], 1, popularity={}, total=1, cold="drop"), ParameterError),
        (lambda: fn.surprisal_at_k([1], 1, popularity={}, n_users=1, cold=None), ParameterError),
        (lambda: fn.intra_list_diversity([1], {}, single="nan"), ParameterError),
        (lambda: fn.expected_exposure_at_k({}, {}, {}, patience=1), ParameterError),
        (lambda: fn.awrf_at_k([1], {}, {"a": 0.5}), ParameterError),
        (lambda: fn.awrf_at_k([1], {}, {"a": 1.5, "b": -0.5}), ParameterError),
        (lambda: fn.awrf_at_k([1], {}, {"a": 1.0}, weight="none"), ParameterError),
        (lambda: fn.awrf_at_k([1], {}, {"a": 1.0}, distance="kl"), ParameterError),
        (lambda: fn.awrf_at_k([1], {}, {"a": 1.0}, patience=0), ParameterError),
        (lambda: fn.quantile_of_users([1.0], 1.1), ParameterError),
        (lambda: fn.worst_share([1.0], 0), ParameterError),
        (lambda: fn.geometric_mean_of_users([1.0], 0), ParameterError),
        (lambda: fn.judged_at_k([1], "ab"), InputError),
        (lambda: fn.condensed("ab", {1}), InputError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()
