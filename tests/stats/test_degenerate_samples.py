"""The edge cases of protocols.md §1.5, what other toolkits get wrong, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as t_quantile

from rankwise import stats
from rankwise.errors import InputError, ParameterError
from rankwise.stats.differences import differences, significant_digits
from rankwise.stats.effect_sizes import lift_interval
from rankwise.stats.equivalence import users_to_show
from rankwise.stats.paired_tests import projections

TESTS = [stats.paired_t, stats.sign_flip, stats.wilcoxon, stats.sign, stats.bootstrap_test]
X = np.array([0.2, 0.5, 0.1, 0.9, 0.4])


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [2, 40, 60, 5000])
def test_identical_systems(test, n):
    x = np.linspace(0, 1, n)
    found = test(x, x.copy())
    assert (found.difference, found.p) == (0.0, 1.0)
    assert "identical" in found.flags


@pytest.mark.parametrize("family", [False, True])
def test_systems_that_are_0_for_all_users_agree(family):
    values = np.stack([np.zeros(25), np.arange(25.0), np.zeros(25)], axis=1)
    p = stats.sign_flip_of_all(values, family=family, n_resamples=99)
    assert (p[0, 2], p[0, 1]) == (1.0, 0.01)


def test_identical_systems_have_no_effect_and_no_known_interval():
    for interval in (stats.t_interval(X, X), stats.bootstrap(X, X)):
        assert np.isnan([*interval]).all()
        assert "no variation: the interval is not known" in interval.flags
    assert stats.effect(X, X).d_z == 0
    assert stats.paired_t_of_all(np.stack([X, X], axis=1)).p[0, 1] == 1
    assert (stats.tukey(np.stack([X, X, X], axis=1)) == 1).all()
    assert stats.friedman(np.stack([X, X, X], axis=1)).p == 1


@pytest.mark.parametrize("shift", [0.5, 0.1, 0.1 + 1e-17])
@pytest.mark.parametrize("n", [3, 10, 200])
def test_a_constant_shift(shift, n):
    """SciPy divides by 0, or by what rounding leaves: p of 0, or of 1e-32."""
    x = np.linspace(0, 1, n)
    for found in (stats.paired_t(x + shift, x), stats.bootstrap_test(x + shift, x)):
        assert found.p == max(2.0 ** (1 - n), 5e-324)
        assert "zero variance" in found.flags
    expected = 2.0 ** (1 - n) if n <= 20 else 1 / 10_001
    assert stats.sign_flip(x + shift, x).p == pytest.approx(expected)
    assert math.isnan(stats.effect(x + shift, x).d_z)
    assert stats.paired_t_of_all(np.stack([x, x + shift], axis=1)).p[0, 1] > 0


def test_fewer_than_thirty_pairs_that_differ_are_flagged():
    d = np.tile([-1.0, 1.0], 15) + np.linspace(0, 0.5, 30)
    assert stats.paired_t(np.append(d[:29], [0.0, 0.0])).flags == ("only 29 values are not 0",)
    assert stats.paired_t(np.append(d, [0.0, 0.0])).flags == ()


def test_values_are_equal_by_their_first_twelve_digits():
    values = np.array(
        [1.234567890124, 1.234567890123, -98765.4321001, -98765.43210012, 1e-250, 0.0]
    )
    rounded = significant_digits(values)
    assert rounded.tolist() == [
        1.23456789012,
        1.23456789012,
        -98765.4321001,
        -98765.4321001,
        1e-250,
        0.0,
    ]


@pytest.mark.parametrize("test", [stats.paired_t, stats.bootstrap_test])
def test_one_pair_and_none(test):
    one = test([0.5], [0.2])
    assert one.difference == pytest.approx(0.3)
    assert math.isnan(one.p)
    assert "fewer than two pairs" in one.flags
    assert math.isnan(stats.t_interval([0.5]).low)
    assert math.isnan(test([], []).difference)
    assert math.isnan(stats.bootstrap([0.5]).low)
    assert math.isnan(stats.cliffs_delta([], [1.0]))
    assert math.isnan(stats.effect([0.5], [0.2]).d_z)


def test_nan_is_an_error_unless_said():
    with_gap = np.array([0.2, np.nan, 0.1, 0.9, 0.4])
    for test in TESTS:
        with pytest.raises(InputError, match="a value is NaN") as caught:
            test(X, with_gap)
        assert "pair 1" in str(caught.value)
        found = test(X, with_gap, missing="omit")
        assert found.n == 4
        assert "1 pairs with a missing value omitted" in found.flags


def test_ties_by_rounding_are_ties():
    x = np.array([0.1 + 0.2, 0.8, 0.5, 0.4, 0.7])
    y = np.array([0.3, 0.7, 0.4, 0.5, 0.6])
    assert stats.effect(x, y).ties == 1
    exact = stats.wilcoxon([1.0, 1.0, -1.0, 1.0])
    assert stats.wilcoxon(x, y).p == exact.p  # 0.8 − 0.7 is a little more than 0.5 − 0.4


def test_intervals_of_constants():
    for method in ("percentile", "basic", "bca", "studentised"):
        found = stats.bootstrap(np.full(30, 0.7), method=method)
        assert np.isnan([*found]).all()
    ones, cluster = np.full(30, 0.7), np.arange(30) // 3
    others = [
        stats.t_interval(ones),
        stats.clustered(ones, cluster),
        stats.finite_population(ones, 90),
    ]
    others += [stats.jackknife(0.7, ones), stats.two_level(np.full((3, 9), 0.7)).interval]
    for found in others:
        assert np.isnan([*found]).all(), found.method
        assert "no variation: the interval is not known" in found.flags
    census = stats.finite_population([0.5, 1.0, 0.0], 3)  # the mean of all users is known
    assert (census.low, census.high) == (0.5, 0.5)


def test_effects_without_variance():
    """Values that do not vary at all: no difference is an effect of 0, and any other has no unit."""
    same, other = np.full(4, 0.5), np.full(4, 0.7)
    assert (stats.effect(same, same).d_av, stats.effect(same, same).d_z) == (0.0, 0.0)
    assert math.isnan(stats.effect(other, same).d_av)
    assert math.isnan(stats.effect([0.5], [0.5]).d_av)


def test_p_is_never_0():
    x = np.random.default_rng(0).normal(5, 1, 5000)
    for test in TESTS:
        assert test(x, np.zeros(5000)).p > 0
    assert stats.max_t(x[:, None], n_resamples=99)[0] == 0.01
    assert (stats.tukey(np.stack([x, x * 0, x * 0], axis=1)) > 0).all()


@pytest.mark.parametrize("test", TESTS)
def test_p_does_not_depend_on_the_unit(test):
    d = np.random.default_rng(8).normal(0.12, 0.5, 70)
    p = test(d).p
    assert test(d / 2**60).p == pytest.approx(p, rel=1e-12)
    assert 0.0001 < p < 0.5


def test_p_of_the_bootstrap_test_is_near_that_of_t():
    d = np.random.default_rng(8).normal(0.1, 0.5, 150)
    assert stats.bootstrap_test(d).p == pytest.approx(stats.paired_t(d).p, abs=0.02)


def test_p_of_random_signs_counts_the_observed_ones():
    """No draw is as extreme as 40 equal differences: p is 1 over the number of draws and one more."""
    assert stats.sign_flip(np.full(40, 0.25), n_resamples=49).p == 0.02


@pytest.mark.parametrize("kind", ["signs", "weights"])
@pytest.mark.parametrize("users", [100, 5000])
def test_the_same_bits_on_any_threads_and_in_any_batch(kind, users):
    data = np.random.default_rng(0).random((users, 3))
    first = projections(data, 300, kind=kind, seed=4, threads=1)
    for threads, batch in ((2, None), (3, 1), (3, 200), (2, 256)):
        again = projections(data, 300, kind=kind, seed=4, threads=threads, batch=batch)
        assert (again == first).all()
    assert (projections(data, 100, kind=kind, seed=4) == first[:100]).all()
    assert (projections(data, 300, kind=kind, seed=5) != first).any()


def test_signs_and_weights_are_fair():
    signs = projections(np.eye(50), 2000, kind="signs", seed=0)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.02
    few = projections(np.eye(50), 2000, kind="weights", seed=0)
    assert (few.sum(axis=1) == 50).all()
    many = projections(np.eye(2100)[:, :40], 5000, kind="weights", seed=0)
    assert many.mean() == pytest.approx(1, abs=0.01)
    assert many.var() == pytest.approx(1, abs=0.02)


# What other toolkits get wrong (protocols.md §1.1).


def test_benjamini_hochberg_steps_up():
    """WarpRec compares each p with its own limit alone, and rejects three."""
    assert (stats.adjust([0.010, 0.027, 0.028, 0.030], "bh") <= 0.05).sum() == 4


def test_holm_stops_at_the_first_that_fails():
    """WarpRec goes on after it, and rejects three."""
    assert (stats.adjust([0.010, 0.020, 0.024, 0.040], "holm") <= 0.05).sum() == 1


def test_nan_does_not_count_in_the_family():
    """statsmodels' holm counts it, and its fdr_bh returns NaN for all."""
    found = stats.adjust([0.01, float("nan"), 0.02], "holm")
    assert found[[0, 2]] == pytest.approx([0.02, 0.02])
    assert stats.adjust([0.01, float("nan"), 0.02], "bh")[0] == pytest.approx(0.02)


def test_tukey_knows_that_users_are_the_same():
    """For independent groups (ranx's "tukey") the variance among users drowns the difference."""
    from scipy.stats import tukey_hsd

    rng = np.random.default_rng(1)
    user = rng.random((300, 1))
    values = user + rng.normal(0, 0.05, (300, 3)) + [0.0, 0.0, 0.02]
    assert tukey_hsd(*values.T).pvalue[0, 2] > 0.3
    assert stats.tukey(values)[0, 2] < 0.001
    assert stats.tukey(values, method="blocked")[0, 2] < 0.001


def test_the_same_seed_gives_the_same_p():
    """ranx's randomisation test gave five values for one seed."""
    x, y = np.random.default_rng(2).random((2, 500))
    assert len({stats.sign_flip(x, y, seed=3).p for _ in range(5)}) == 1


def test_two_sided_tests_stay_two_sided():
    """autorank tests one-sided in the direction that it saw, at twice the level."""
    x, y = np.random.default_rng(3).random((2, 40))
    assert stats.paired_t(x, y).p == stats.paired_t(y, x).p
    assert stats.sign_flip(x, y).p == stats.sign_flip(y, x).p


def test_rank_biserial_has_its_factor():
    """All differences on one side are a correlation of 1 (bnnr's was half)."""
    assert stats.effect([1.0, 2.0, 3.0], [0.0, 0.5, 1.0]).rank_biserial == 1


def test_tests_for_separate_groups_refuse_pairs():
    for call in (
        lambda: stats.mann_whitney(X, X, same_users=True),
        lambda: stats.kruskal_wallis(X, X, same_users=True),
    ):
        with pytest.raises(ParameterError, match="separate groups of users") as caught:
            call()
        assert "paired_t" in str(caught.value)


def test_wilcoxon_and_sign_warn_of_many_users():
    d = np.r_[np.full(1000, 0.1), np.full(100, -1.0)]  # mean 0, most users better
    for test in (stats.wilcoxon, stats.sign):
        found = test(d)
        assert found.p < 1e-6
        assert any("not their mean" in flag for flag in found.flags)
        assert not any("not their mean" in flag for flag in test(d[:500]).flags)
    assert stats.paired_t(d).p > 0.5
    assert stats.sign_flip(d).p > 0.5


def test_paired_t_test_by_hand():
    found = stats.paired_t_test([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 4.0, 4.5])
    # b − a = 0.5, 0, 1, 0.5: mean 0.5, s = sqrt(1/6), and t of a − b is −0.5 / (s / 2) = −sqrt(6)
    assert found.mean_improvement == 0.5
    assert found.t_statistic == pytest.approx(-(6**0.5))
    assert found.cohens_d == pytest.approx(0.5 * 6**0.5)
    assert not found.significant
    assert found.p_value == pytest.approx(0.0917, abs=1e-4)
    assert found.interpretation == "not significant"
    with pytest.raises(InputError, match="the same number of values"):
        stats.paired_t_test([1.0, 2.0], [1.0])
    with pytest.raises(ParameterError, match="alpha"):
        stats.paired_t_test([1.0, 2.0], [1.0, 3.0], alpha=5)
    worse = stats.paired_t_test(np.arange(9) + 1.0, np.arange(9) * 0.9)
    assert worse.interpretation == "significant"
    assert worse.mean_improvement < 0 < worse.t_statistic


def test_paired_t_test_is_a_mapping_too():
    """Code written for a dict of results takes the same values by name."""
    found = stats.paired_t_test(np.array([0.1, 0.2, 0.3, 0.2]), np.array([0.3, 0.3, 0.6, 0.4]))
    names = [
        "mean_improvement",
        "p_value",
        "significant",
        "t_statistic",
        "cohens_d",
        "interpretation",
    ]
    assert list(found) == names
    assert dict(found) == found == {name: getattr(found, name) for name in names}
    assert json.loads(json.dumps(dict(found))) == found
    assert [type(value) for value in found.values()] == [float, float, bool, float, float, str]
    assert found["significant"] is True
    assert "p_value" in found
    assert "pvalue" not in found
    assert found.get("pvalue") is None
    with pytest.raises(KeyError):
        found["items"]  # an attribute of every mapping, and no value


def test_intervals_unpack_to_their_limits():
    values = np.random.default_rng(0).random(200)
    lower, upper = found = stats.bootstrap_confidence_interval(values)
    assert (lower, upper) == (found.low, found.high)
    assert type(lower) is type(upper) is float
    assert lower < values.mean() < upper
    assert [at in found for at in (lower, values.mean(), upper, 0.0)] == [True, True, True, False]


def test_bootstrap_confidence_interval():
    values = np.random.default_rng(0).random(200)
    found = stats.bootstrap_confidence_interval(values, n_bootstrap=2000, confidence=0.9, seed=7)
    assert found == stats.bootstrap_confidence_interval(values, 2000, 0.9, 7)
    half = 1.645 * values.std(ddof=1) / 200**0.5
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.confidence == 0.9


def test_clusters_by_hand():
    values, cluster = [1.0, 0.0, 1.0, 1.0], ["a", "a", "b", "c"]
    found = stats.clustered(values, cluster)
    residuals = np.array([1 - 0.75 * 2, 1 - 0.75, 1 - 0.75])
    error = (residuals**2 / (1 - np.array([0.5, 0.25, 0.25]))).sum() ** 0.5 / 4
    freedom = (16 / 3) ** 2 / (160 / 9)  # tr(K)² / tr(K²), of K = [3, …], [7/6, -1/6], … by hand
    assert found.estimate == 0.75
    assert found.high - found.estimate == pytest.approx(
        t_quantile.ppf(0.975, freedom) * error, rel=1e-5
    )


def test_a_sample_of_a_known_whole():
    values = np.random.default_rng(0).random(50)
    whole, half = stats.finite_population(values, 50), stats.finite_population(values, 100)
    assert whole.low == whole.high == values.mean()
    plain = stats.t_interval(values)
    assert (half.high - half.low) == pytest.approx((plain.high - plain.low) * 0.5**0.5)


def test_two_levels_split_the_variance():
    rng = np.random.default_rng(0)
    users, seeds = rng.normal(0, 1, 400), rng.normal(0, 0.3, 8)
    found = stats.two_level(users + seeds[:, None] + rng.normal(0, 0.1, (8, 400)))
    assert found.variance_of_seeds == pytest.approx(seeds.var(ddof=1) / 8, rel=0.1)
    assert found.variance_of_users == pytest.approx(users.var(ddof=1) / 400, rel=0.1)


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (lambda: stats.paired_t([1.0, np.inf], [0.0, 0.0]), "infinite"),
        (lambda: stats.paired_t([[1.0]], [[2.0]]), "one number per user"),
        (lambda: stats.paired_t(["a"], ["b"]), "no numbers"),
        (lambda: stats.paired_t(X * 1j, X), "x holds no numbers"),
        (lambda: stats.paired_t_test([10**400], [1]), "no numbers"),
        (lambda: stats.bootstrap_confidence_interval(np.ma.array(X, mask=X > 0.4)), "mask"),
        (lambda: stats.bootstrap_confidence_interval(X, n_bootstrap=10**12), "at most 10,000,000"),
        (lambda: stats.bootstrap_confidence_interval(X, n_bootstrap=None), "n_bootstrap must be"),
        (lambda: stats.bootstrap_confidence_interval(X, seed=X), "seed must be"),
        (lambda: stats.t_interval([1.0, 2.0], confidence=95), "between 0 and 1"),
        (lambda: stats.sign_flip(X, X * 0, n_resamples=0), "n_resamples"),
        (lambda: stats.bootstrap(X, method="magic"), "method must be one of"),
        (lambda: stats.equivalence(X, X, margin=0), "margin must be above 0"),
        (lambda: stats.adjust([1.5]), "between 0 and 1"),
        (lambda: stats.adjust([0.5], "bonf"), "method must be one of"),
        (lambda: stats.max_t([[np.nan, 1.0]]), "max-T needs"),
        (lambda: stats.tukey([[1.0, np.nan]]), "Tukey's test needs"),
        (lambda: stats.friedman([[1.0, 2.0]]), "Friedman's test needs"),
        (lambda: stats.users_needed(0.0), "other than 0"),
        (
            lambda: stats.users_needed(-0.2, margin=0.2),
            "a loss of the margin or more is never shown",
        ),
        (lambda: stats.users_needed(0.3, margin=0.2, equivalence=True), "never shown"),
        (lambda: stats.power_of(50, 0.0, margin=-0.1), "margin must be above 0"),
        (lambda: stats.power_of(50, 0.1, equivalence=True), "equivalence needs a margin"),
        (lambda: stats.corrected_resampled_t(X, X, test_share=2), "test_share"),
        (lambda: stats.clustered([1.0], [1, 2]), "each value has a cluster"),
        (lambda: stats.two_level([[1.0, 2.0]]), "two seeds or more"),
    ],
)
def test_what_is_refused(go, said):
    with pytest.raises((InputError, ParameterError), match=said):
        go()


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.sampled_from(["bonferroni", "holm", "hochberg", "bh", "by"]),
)
def test_adjusted_p_values_keep_their_order(p, method):
    found = stats.adjust(p, method)
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= -1e-15).all()
    assert (found >= np.array(p) - 1e-15).all()
    assert (found <= 1).all()


def test_what_a_second_reader_broke():
    assert stats.mann_whitney(np.arange(1e5), np.arange(1e5) + 2e5, same_users=False).p > 0
    assert stats.friedman(np.arange(6000.0).reshape(2000, 3)).p > 0
    assert stats.minimum_detectable(50, power=0.05) == 0
    found = stats.wilcoxon([1e13, -1e13, 1e13 + 2, 0.5, 0.4, 0.3, -0.2, 0.6, 0.7, 0.8])
    assert found.p == pytest.approx(0.075, abs=0.012)
    for go in (
        lambda: stats.cliffs_delta([np.nan, 1], [2, 1]),
        lambda: stats.clustered([1, 2, 3], [1, np.nan, np.nan]),
        lambda: stats.finite_population([1.0, 2.0], "a"),
        lambda: stats.users_needed(1e-9),
        lambda: stats.adjust(["a"]),
        lambda: stats.two_level([["a"]]),
        lambda: stats.bootstrap_means([["a"]]),
        lambda: stats.friedman([["a"]]),
    ):
        with pytest.raises((InputError, ParameterError)):
            go()


def test_lift_of_values_that_do_not_vary_has_its_digits():
    """Products of means that cancel each other would leave half of the digits."""
    pairs = differences(np.full(40, 0.1 + 0.2), np.full(40, 0.1))
    lift, *limits = lift_interval(pairs, confidence=0.95)
    assert lift == pytest.approx(2.0, rel=1e-14)
    assert np.isnan(limits).all()  # differences that do not vary say nothing about unseen ones


def test_more_users_than_there_are_people_are_none():
    assert users_to_show(1e-18, 1.0, 0.05) is None
    assert users_to_show(1e-3, 1.0, 0.05) == 6182558
