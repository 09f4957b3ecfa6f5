"""Clusters, populations, folds, the jackknife and separate groups: definitions, and edges of what is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import kruskal, mannwhitneyu, t

from rankwise import stats
from rankwise.errors import InputError, ParameterError
from rankwise.stats.data_sets import cluster_error, groups_of, jackknife_error
from rankwise.stats.many_systems import adjust

NAN = pytest.approx(math.nan, nan_ok=True)


def test_clusters_are_those_of_the_definition():
    values = np.array([0.1, 0.5, 0.9, 0.3, 0.2, 0.8, 0.7])
    cluster = np.array(["b", "a", "a", "c", "b", "b", "d"])
    theta, spread = values.mean(), 0.0
    for name in "abcd":
        inside = cluster == name
        spread += (values[inside].sum() - theta * inside.sum()) ** 2 / (1 - inside.sum() / 7)
    interval = stats.clustered(values, cluster, confidence=0.9)
    error, freedom = cluster_error(values, np.unique(cluster, return_inverse=True)[1])
    assert error == pytest.approx(math.sqrt(spread) / 7)
    half = t.ppf(0.95, freedom) * error
    assert tuple(interval) == pytest.approx((theta - half, theta + half))
    assert (interval.n, interval.method, interval.flags) == (4, "clustered t", ())


@pytest.mark.parametrize(("inside", "known"), [(8, True), (9, False)])
def test_a_cluster_of_more_than_eighty_percent_has_no_interval(inside, known):
    values, cluster = np.linspace(0, 1, 10), np.r_[np.zeros(inside), np.arange(1, 11 - inside)]
    interval = stats.clustered(values, cluster)
    assert math.isfinite(interval.low) == known
    assert interval.flags == (() if known else ("one cluster has most rows: no interval",))


def test_few_or_constant_clusters():
    one = stats.clustered([0.5, 1.0], [7, 7])
    assert (one.estimate, one.low, one.n, one.flags) == (0.75, NAN, 1, ("fewer than two clusters",))
    none = stats.clustered([], [])
    assert (none.estimate, none.n, none.flags) == (NAN, 0, ("fewer than two clusters",))
    flat = stats.clustered([0.5, 0.5, 0.5], [1, 2, 2])
    assert (flat.estimate, flat.low, flat.flags) == (
        0.5,
        NAN,
        ("no variation: the interval is not known",),
    )


def test_rows_without_a_group_are_counted():
    for values, said in (
        ([1.0, math.nan, math.nan], "2 such rows"),
        (["a", None, "b"], "1 such rows"),
    ):
        with pytest.raises(InputError, match=said):
            groups_of("cluster", values, 3)
    with pytest.raises(InputError, match="3 values, clusters of shape"):
        groups_of("cluster", [[1], [2], [3]], 3)
    with pytest.raises(InputError, match="1 such rows"):
        stats.clustered([0.5, math.nan], [1, 2])


def test_a_sample_of_a_population_by_the_formula():
    values = np.array([0.2, 0.5, 0.9, 0.4])
    interval = stats.finite_population(values, 10, confidence=0.9)
    half = t.ppf(0.95, 3) * values.std(ddof=1) / 2 * math.sqrt(0.6)
    assert tuple(interval) == pytest.approx((0.5 - half, 0.5 + half))
    flags = ("valid for these users, not for future ones",)
    assert (interval.n, interval.method, interval.flags) == (4, "finite population t", flags)
    every = stats.finite_population(values, 4)
    assert (tuple(every), every.flags) == ((0.5, 0.5), flags)
    assert stats.finite_population([0.5, 0.5], 3).low == NAN
    for refused, population in (([0.5], 3), (values, 3), ([0.5, math.nan], 3)):
        with pytest.raises(InputError, match=f"{len(refused)} values"):
            stats.finite_population(refused, population)


@pytest.mark.parametrize(
    ("replicates", "g", "flags"),
    [
        ([1.9, 2.0, 2.1, 2.0], 4, ()),
        ([1.9, math.nan, 2.2], 2, ("1 groups without which there is no value",)),
        ([math.nan, 2.0], 1, ("1 groups without which there is no value", "fewer than two groups")),
        ([2.0, 2.0], 2, ("no variation: the interval is not known",)),
        ([], 0, ("fewer than two groups",)),
    ],
)
def test_the_jackknife_counts_groups_that_have_a_value(replicates, g, flags):
    interval = stats.jackknife(2.0, replicates, confidence=0.8)
    assert (interval.n, interval.flags, interval.estimate, interval.method) == (
        g,
        flags,
        2.0,
        "jackknife",
    )
    defined = np.array([value for value in replicates if value == value])
    error, count = jackknife_error(np.array(replicates))
    assert count == g
    if g >= 2:
        assert error == pytest.approx(math.sqrt((g - 1) ** 2 / g * defined.var(ddof=1)))
    if g >= 2 and error:
        assert interval.high == pytest.approx(2.0 + t.ppf(0.9, g - 1) * error)
    else:
        assert math.isnan(interval.high)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_folds_by_the_formula(share):
    d = np.array([0.1, 0.3, -0.1, 0.2, 0.25])
    test = stats.corrected_resampled_t(d, test_share=share)
    statistic = d.mean() / math.sqrt(d.var(ddof=1) * (1 / 5 + share / (1 - share)))
    assert (test.statistic, test.p) == pytest.approx((statistic, 2 * t.sf(statistic, 4)))
    assert stats.corrected_resampled_t(-d, test_share=share).p == pytest.approx(test.p)
    assert (test.n, test.difference, test.test) == (5, pytest.approx(0.15), "corrected resampled t")


def test_folds_that_do_not_vary():
    assert stats.corrected_resampled_t([0.5], test_share=0.2).p == NAN
    same = stats.corrected_resampled_t([0.0, 0.0], test_share=0.2)
    assert (same.p, same.statistic) == (1.0, NAN)
    assert stats.corrected_resampled_t([0.5, 0.5, 0.5], test_share=0.2).p == 0.25
    assert 0 < stats.corrected_resampled_t([0.5, 0.4], test_share=0.2).p < 1


def test_separate_groups_are_those_of_scipy():
    x, y, z = [0.1, 0.5, 0.5, 0.9], [0.2, 0.3, 0.5], [0.8, 0.9]
    test = stats.mann_whitney(x, y, same_users=False)
    expected = mannwhitneyu(x, y)
    assert (test.statistic, test.p) == (expected.statistic, expected.pvalue)
    assert (test.n, test.difference, test.test) == (7, pytest.approx(0.5 - 1 / 3), "Mann-Whitney")
    many, expected = stats.kruskal_wallis(x, y, z, same_users=False), kruskal(x, y, z)
    assert (many.statistic, many.p) == (expected.statistic, expected.pvalue)
    assert (many.n, many.difference, many.test) == (
        9,
        pytest.approx(0.85 - 1 / 3),
        "Kruskal-Wallis",
    )
    same = stats.kruskal_wallis([0.5], [0.5, 0.5], same_users=False)
    assert (same.difference, same.statistic, same.p, same.n, same.flags) == (
        0,
        0,
        1,
        3,
        ("identical",),
    )
    two = stats.kruskal_wallis([0.5], [0.5, 0.6], same_users=False)
    assert (two.n, two.flags) == (3, ())
    with pytest.raises(InputError, match="at least two"):
        stats.kruskal_wallis([0.5, 0.6], same_users=False)
    for group in ([], [0.5, math.nan]):
        with pytest.raises(
            InputError,
            match=f"group 1 is empty or holds NaN.*{len(group)} values|{len(group)} values",
        ):
            stats.kruskal_wallis([0.5], group, same_users=False)


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm"])
def test_pairs_of_data_sets_are_wilcoxon_tests_with_their_correction(correction):
    values = np.random.default_rng(2).random((7, 4))
    test = stats.friedman(values, correction=correction)
    pairs = list(itertools.combinations(range(4), 2))
    expected = adjust([stats.wilcoxon(values[:, i], values[:, j]).p for i, j in pairs], correction)
    for (i, j), p in zip(pairs, expected, strict=True):
        assert test.pairs[i, j] == test.pairs[j, i] == pytest.approx(p)


def test_data_sets_on_which_all_agree():
    same = stats.friedman(np.full((2, 3), 0.5))
    assert (same.statistic, same.p, same.ranks.tolist()) == (0.0, 1.0, [2.0, 2.0, 2.0])
    rows = stats.friedman([[0.1, 0.1, 0.1], [0.5, 0.5, 0.6]])
    assert rows.p < 1
    for shape in ((1, 3), (2, 2)):
        with pytest.raises(InputError, match="3 systems or more on 2 data sets"):
            stats.friedman(np.random.default_rng(0).random(shape))


def test_regions_of_the_signed_ranks():
    """Half of the width of the region counts on either side, and a tie is shared."""
    for d, rope, expected in (
        ([0.5] * 12, 0.1, (0.0, 0.0, 1.0)),
        ([-0.5] * 12, 0.1, (0.0, 0.0, 1.0)[::-1]),
        ([0.05] * 12, 0.1, (0.0, 1.0, 0.0)),
        ([0.1] * 12, 0.1, (0.0, 1.0, 0.0)),  # a mean on the edge is inside
        ([-0.1] * 12, 0.1, (0.0, 1.0, 0.0)),
        ([0.0] * 12, 0.0, (0.0, 1.0, 0.0)),
    ):
        test = stats.bayesian_signed_rank(d, rope=rope, n_draws=2000)
        assert (test.left, test.rope, test.right) == pytest.approx(expected, abs=0.01)
        assert test.left + test.rope + test.right == pytest.approx(1)
        assert test.draws == 2000
    one, same, other = (
        stats.bayesian_signed_rank([0.1, -0.2, 0.3], rope=0.05, n_draws=500, seed=s)
        for s in (0, 0, 1)
    )
    assert one == same != other
    assert stats.bayesian_signed_rank([0.1, -0.2, 0.3], rope=0.05, n_draws=500) == one
    assert stats.bayesian_signed_rank([0.1], [0.1], rope=0.05).draws == 50_000
    with pytest.raises(InputError, match="no pairs"):
        stats.bayesian_signed_rank([], rope=0.1)
    for rope in (-0.1, math.nan, "0.1"):
        with pytest.raises(ParameterError, match="rope"):
            stats.bayesian_signed_rank([0.1], rope=rope)
