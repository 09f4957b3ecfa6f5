"""Bounded means: the tail that they rest on, against exact values, and the users that a plan asks for."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

import rankwise as rw
from rankwise import stats
from rankwise.core import kernels
from rankwise.stats.bounded_means import (
    BoundedMean,
    bounded_interval_of,
    bounded_lift,
    bounded_mean_limit,
    bounded_p,
    bounded_test_of,
    bounded_upper,
    log_of_one_plus,
    probability_above,
)
from rankwise.stats.bounds_of_pairs import BoundedPairs
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import differences, in_bins


@given(
    below=st.lists(st.floats(0.2, 3.0), min_size=3, max_size=8),
    shift=st.sampled_from([0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4, 0.1, -0.1, 0.5]),
)
def test_the_tail_is_that_of_exponential_sums(below, shift):
    """Of one value above 0: P = Π a / (a + b_i); where the mean is 0, two terms cancel and their limit is used."""
    above = sum(below) * (1 + shift)
    exact = math.prod(above / (above + each) for each in below)
    found, _ = probability_above(np.array([above, *(-each for each in below)]))
    assert found == pytest.approx(exact, rel=0.04)
    counted, _ = probability_above(
        np.array([above, *(-each for each in below)]), 0.0, np.ones(len(below) + 1)
    )
    assert counted == pytest.approx(found)


def test_the_tail_has_no_step_where_its_two_terms_cancel():
    below = np.array([-1.0, -1.0, -1.0])
    shares = [
        probability_above(np.array([3.0 + shift, *below]))[0]
        for shift in np.linspace(-3e-3, 3e-3, 41)
    ]
    steps = np.diff(shares)
    assert steps.min() > 0
    assert steps.max() < 1.5 * steps.min()


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=30),
    st.floats(0.01, 1.9),
    st.sampled_from([0.01, 0.05]),
)
def test_a_plan_asks_for_the_fewest_users(values, gap, alpha):
    mean = BoundedMean.of(np.array(values), 1.0)
    users = mean.users(gap, alpha=alpha)
    if users is None:
        assert mean.detectable(1e9, alpha=alpha) > gap
        return
    assert users >= 2
    assert mean.detectable(users, alpha=alpha) <= gap
    fewer = users - max(1, users // 500)
    assert fewer < 2 or mean.detectable(fewer, alpha=alpha) > gap


def test_a_plan_asks_for_two_users_at_least():
    """One without a hit would do: of a mean of 0.99, that is 0.01."""
    mean = BoundedMean.of(np.zeros(30), 1.0)
    assert mean.detectable(1, alpha=0.05) < 0.99
    assert mean.users(0.99, alpha=0.05) == 2


def test_users_grow_with_the_square_of_ever_smaller_gaps():
    mean = BoundedMean.of(np.array([-1.0, 0.0, 1.0]), 1.0)
    products = [mean.users(gap, alpha=0.05) * gap**2 for gap in 10.0 ** -np.arange(3, 8)]
    assert products == pytest.approx([products[0]] * 5, rel=1e-3)
    assert mean.users(1e-9, alpha=0.05) is None
    assert mean.users(0.0, alpha=0.05) is None


def test_a_margin_just_above_the_loss_has_a_plan_or_none():
    """The numbers of such plans are beyond what a sum of logarithms tells apart."""
    values = np.random.default_rng(0).random((300, 2)).round(2)
    results = [
        rw.from_per_user(pl.DataFrame({"user": range(300), "recall@5": v})) for v in values.T
    ]
    loss = abs(rw.compare(*results)["B"]["difference"])
    plans = [rw.compare(*results, margin=loss + 10.0**-digits) for digits in range(4, 14)]
    users = [plan["B"]["users_needed"] or math.inf for plan in plans]
    assert users == sorted(users)


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (1, 12), (6, 12), (11, 12), (12, 12), (3, 200)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_of_hits_and_misses_limits_are_those_of_clopper_and_pearson(hits, n, confidence):
    values = np.r_[np.ones(hits), np.zeros(n - hits)]
    interval = stats.bounded_mean_interval(values, bounds=(0, 1), confidence=confidence)
    exact = binomtest(hits, n).proportion_ci(confidence)
    assert tuple(interval) == pytest.approx(tuple(exact), abs=3e-3)
    assert (interval.estimate, interval.n, interval.confidence) == (hits / n, n, confidence)
    scaled = stats.bounded_mean_interval(2 * values - 1, bounds=(-1, 1), confidence=confidence)
    assert tuple(scaled) == pytest.approx([2 * limit - 1 for limit in interval])


def test_p_is_the_probability_of_random_weights():
    values = np.array([-0.6, -0.2, 0.0, 0.0, 0.1, 0.3, 0.3, 0.8])
    weights = np.random.default_rng(0).dirichlet(np.ones(9), 200_000)
    means = weights @ np.r_[values, 1.0]
    bounded = BoundedMean.of(values, 1.0)
    for hypothesis in (0.1, 0.2, 0.3, 0.5):
        share = (means >= hypothesis).mean()  # of means that would be at least as large
        assert bounded.p(hypothesis) == pytest.approx(share, rel=0.03)
    for confidence in (0.9, 0.975):
        limit = bounded.limit(confidence)
        assert limit == pytest.approx(np.quantile(means, confidence), rel=0.02)
        assert bounded.p(limit) == pytest.approx(1 - confidence, rel=1e-3)


def test_p_at_its_ends():
    some = BoundedMean.of(np.array([0.0, 0.5]), 1.0)
    assert math.isnan(BoundedMean.of(np.empty(0), 1.0).p(0.5))
    assert some.p(1.5) == 5e-324
    assert some.p(-0.5) == 1
    full = BoundedMean.of(np.ones(5), 1.0)
    assert (full.p(1.0), full.p(0.5), full.limit(0.9)) == (1.0, 1.0, 1.0)
    assert BoundedMean.of(np.array([0.5, 2.0]), 1.0).largest == 2.0


def test_bins_keep_the_number_and_the_total():
    means, sizes = in_bins(np.array([0.0, 1.0, 1.5, 3.0, 4.0]), np.array([2.0, 1, 3, 1, 1]), 4)
    assert means.tolist() == [0.0, pytest.approx(5.5 / 4), 3.5]
    assert sizes.tolist() == [2.0, 4.0, 2.0]
    assert [part.tolist() for part in in_bins(np.array([2.0, 2.0]), np.ones(2), 4)] == [
        [2.0],
        [2.0],
    ]


def test_many_values_are_binned_and_have_nearly_the_same_limit():
    values = np.random.default_rng(0).beta(0.5, 2, 8193)
    exact, binned = (BoundedMean.of(values[:n], 1.0) for n in (8192, 8193))
    assert (len(exact.values), exact.n, binned.n) == (8192, 8192, 8193)
    assert len(binned.values) < 8192
    plain = BoundedMean(*np.unique(values, return_counts=True), 1.0)
    assert binned.limit(0.95) == pytest.approx(plain.limit(0.95), abs=1e-6)
    assert binned.mean == pytest.approx(values.mean(), abs=1e-12)
    assert (exact.deviation, exact.mean) == pytest.approx(
        (values[:8192].std(), values[:8192].mean())
    )


def test_a_plan_repeats_the_sample():
    values = np.array([-0.4, 0.0, 0.0, 0.1, 0.2])
    mean = BoundedMean.of(values, 1.0)
    width = BoundedMean.of(np.tile(values, 40), 1.0).limit(0.95) - values.mean()
    assert mean.width(200, 0.95) == pytest.approx(width)
    deviation = values.std()
    assert mean.detectable(200, alpha=0.05) == pytest.approx(
        width + norm.ppf(0.8) * deviation / math.sqrt(200)
    )
    assert mean.detectable(200, alpha=0.05, power=0.6) == pytest.approx(
        width + norm.ppf(0.6) * deviation / math.sqrt(200)
    )
    power = mean.power(200, 0.05, alpha=0.05)
    assert power == pytest.approx(norm.cdf((0.05 - width) * math.sqrt(200) / deviation))
    assert mean.power(200, mean.detectable(200, alpha=0.05), alpha=0.05) == pytest.approx(0.8)
    constant = BoundedMean.of(np.zeros(30), 1.0)
    width = constant.limit(0.95)
    assert width == pytest.approx(1 - 0.05 ** (1 / 30), rel=1e-2)
    assert [constant.power(30, gap, alpha=0.05) for gap in (width - 1e-6, width + 1e-6)] == [0, 1]


CODES = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 5])
CLUSTERS = UserClusters(CODES)
OF_USERS = np.array([0.1, -0.2, 0.0, 0.3, 0.1, -0.4, 0.2, 0.0, 0.1, -0.1])


@pytest.mark.parametrize("hypothesis", [0.0, 0.1, 0.3])
def test_clusters_are_totals_over_the_hypothesis_and_one_of_mean_size_more(hypothesis):
    totals = np.array(
        [OF_USERS[c == CODES].sum() - hypothesis * (c == CODES).sum() for c in range(6)]
    )
    expected = BoundedMean.of(totals, 10 / 6 * (1 - hypothesis)).p(0.0)
    assert bounded_p(OF_USERS, 1.0, CLUSTERS, hypothesis) == pytest.approx(expected)
    assert bounded_p(OF_USERS, 1.0, None, hypothesis) == BoundedMean.of(OF_USERS, 1.0).p(hypothesis)
    alone = bounded_p(OF_USERS, 1.0, UserClusters(np.arange(10)), hypothesis)
    assert alone == pytest.approx(BoundedMean.of(OF_USERS, 1.0).p(hypothesis), rel=1e-6)


def test_limits_of_clusters_are_hypotheses_whose_p_is_the_level():
    limit = bounded_upper(OF_USERS, 1.0, 0.95, CLUSTERS)
    assert bounded_p(OF_USERS, 1.0, CLUSTERS, limit) == pytest.approx(0.05)
    assert bounded_upper(OF_USERS, 1.0, 0.95) == bounded_mean_limit(OF_USERS, 1.0, 0.95)
    assert bounded_upper(np.ones(4), 1.0, 0.95, UserClusters(np.array([0, 0, 1, 1]))) == 1.0
    assert (
        bounded_upper(np.r_[OF_USERS, 2.0], 1.0, 0.95, UserClusters(np.r_[CODES, 6]))
        > OF_USERS.mean()
    )
    pairs = differences(OF_USERS)
    interval = bounded_interval_of(pairs, 1.0, confidence=0.9, clusters=CLUSTERS)
    assert tuple(interval) == pytest.approx((-bounded_upper(-OF_USERS, 1.0, 0.95, CLUSTERS), limit))
    test = bounded_test_of(pairs, 1.0, CLUSTERS)
    sides = [bounded_p(side * OF_USERS, 1.0, CLUSTERS) for side in (-1, 1)]
    assert test.p == pytest.approx(min(1.0, 2 * min(sides)))
    assert (test.test, test.statistic, test.n) == ("bounded mean", pytest.approx(0.01), 10)


def test_one_pair_shows_nothing():
    test = stats.bounded_test([0.5], largest=1.0)
    assert (test.difference, test.n, test.flags) == (0.5, 1, ("fewer than two values",))
    assert math.isnan(test.p)
    assert math.isnan(test.statistic)
    for interval in (
        stats.bounded_interval([0.5], largest=1.0),
        stats.bounded_mean_interval([0.5], bounds=(0, 1)),
    ):
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)
    two = stats.bounded_mean_interval([0.5, 0.5], bounds=(0, 1))
    assert 0 <= two.low < 0.5 < two.high <= 1
    assert not math.isnan(stats.bounded_test([0.5, 0.5], largest=1.0).p)


@pytest.mark.parametrize("clusters", [None, CLUSTERS])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_relative_difference_is_the_set_of_ratios_that_are_not_rejected(clusters, confidence):
    x, y = 0.5 + OF_USERS, 0.4 + OF_USERS[::-1] / 2
    lift, low, high = bounded_lift(
        differences(x, y), (0.0, 1.0), confidence=confidence, clusters=clusters
    )
    assert lift == pytest.approx(x.mean() / y.mean() - 1)
    assert -1 < low < lift < high
    tail = (1 - confidence) / 2
    assert bounded_p((low + 1) * y - x, low + 1, clusters) == pytest.approx(tail, rel=1e-4)
    assert bounded_p(x / (high + 1) - y, 1 / (high + 1), clusters) == pytest.approx(tail, rel=1e-4)
    wider = bounded_lift(differences(x, y), (-0.5, 1.0), confidence=confidence, clusters=clusters)
    assert math.isnan(wider[1]) or (wider[1] < low and wider[2] > high)


def test_relative_differences_that_are_not_known():
    pairs = differences([0.5, 0.4, 0.6], [0.4, 0.5, 0.3])
    for bounds in ((0.0, math.inf), (-math.inf, 1.0)):
        lift, low, high = bounded_lift(pairs, bounds, confidence=0.95)
        assert lift == pytest.approx(0.25)
        assert math.isnan(low)
        assert math.isnan(high)
    assert all(
        map(math.isnan, bounded_lift(differences([0.5, 0.4], [0.0, 0.0]), (0, 1), confidence=0.95))
    )
    negative = bounded_lift(differences([0.5, 0.4], [-0.2, -0.1]), (-1, 1), confidence=0.95)
    assert (negative[0], math.isnan(negative[1])) == (
        pytest.approx(4.0),
        True,
    )  # a gain has its sign
    nothing = bounded_lift(
        differences(np.zeros(200), np.full(200, 0.5)), (0.0, 1.0), confidence=0.95
    )
    assert nothing[:2] == (-1.0, -1.0)
    assert -1 < nothing[2] < -0.9


def test_the_tail_where_all_are_on_one_side():
    assert probability_above(np.array([-1.0, 0.0]))[0] == 0
    assert probability_above(np.zeros(3))[0] == 1
    assert probability_above(np.array([0.0, 1.0]))[0] == 1
    one, point = probability_above(np.array([1.0, -0.5, -0.5, -0.5]))
    again, same = probability_above(np.array([1.0, -0.5, -0.5, -0.5]), point)
    assert (again, same) == pytest.approx((one, point))
    counted, _ = probability_above(np.array([1.0, -0.5]), 0.0, np.array([1.0, 3.0]))
    assert counted == pytest.approx(one)


@pytest.mark.parametrize("mean", [-0.02, -0.3])
def test_a_system_below_0_has_no_relative_limits(mean):
    x = mean + np.tile([0.3, -0.3, 0.1, -0.1, 0.0], 20)
    lift, low, high = bounded_lift(differences(x, np.full(100, 0.4)), (-1.0, 1.0), confidence=0.95)
    assert lift == pytest.approx(mean / 0.4 - 1)
    assert math.isnan(low)
    assert math.isnan(high)


@pytest.mark.parametrize("n", [8193, 30_000])
def test_pairs_are_binned_alike_with_and_without_kernels_and_from_both_sides(n):
    rng = np.random.default_rng(n)
    x, y = rng.random(n), rng.random(n) * (rng.random(n) < 0.5)
    compiled = differences(x, y).distribution
    with kernels.without_library():
        plain = differences(x, y).distribution
    assert [part.tolist() for part in compiled] == [part.tolist() for part in plain]
    assert float(compiled[0] @ compiled[1]) == pytest.approx((x - y).sum())
    (_, p), (_, mirrored) = (
        (pairs, bounded_test_of(pairs, 1.0).p) for pairs in (differences(x, y), differences(y, x))
    )
    assert p == pytest.approx(mirrored)
    slight = differences(x - x.mean() + 0.5, np.full(n, 0.5))
    assert bounded_test_of(slight, 1.0).p == pytest.approx(
        min(1.0, 2 * min(bounded_p(slight.d, 1.0), bounded_p(-slight.d, 1.0)))
    )


@pytest.mark.parametrize("n", [100, 3000, 8193, 30_000])
def test_p_of_all_pairs_has_the_bits_of_each_with_and_without_kernels(n):
    rng = np.random.default_rng(n)
    x, y = rng.random((2, n)) * (rng.random((2, n)) < 0.2)
    pairs = [
        differences(*sides)
        for sides in ((x, y), (y, x), (x, x), (x, x / 2), (x / 2, x), (x + 1, x))
    ]
    compiled = BoundedPairs.of(pairs, 1.0)
    with kernels.without_library():
        plain = BoundedPairs.of(pairs, 1.0)
    assert list(compiled.p) == pytest.approx(list(plain.p), rel=1e-9)
    assert list(compiled.p) == pytest.approx(
        [bounded_test_of(pair, 1.0).p for pair in pairs], rel=1e-9
    )
    assert compiled.p[2] == 1.0
    for level in (0.05, 0.001):
        assert np.array(compiled.limits(level)) == pytest.approx(
            np.array(plain.limits(level)), abs=1e-6
        )
        losses = np.full(len(pairs), level)
        assert compiled.largest_losses(losses) == pytest.approx(
            plain.largest_losses(losses), rel=1e-4, nan_ok=True
        )


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=40), st.floats(-0.9, 0.9))
def test_tails_have_the_bits_of_the_kernel(values, start):
    compiled = probability_above(np.array(values), start)
    with kernels.without_library():
        assert probability_above(np.array(values), start) == compiled


@given(st.one_of(st.floats(-0.999, 1e6), st.floats(-1e-3, 1e-3)))
def test_logarithms_are_those_of_the_library_to_four_roundings(u):
    assert log_of_one_plus(np.array([u]))[0] == pytest.approx(math.log1p(u), rel=1e-15, abs=1e-322)


def test_p_has_no_step_where_a_hypothesis_is_the_mean():
    mean = BoundedMean.of(np.random.default_rng(0).random(500) - 0.5, 1.0)
    centre = (mean.values @ mean.count + 1.0) / 501
    steps = -np.diff([mean.p(centre + gap) for gap in np.linspace(-1e-3, 1e-3, 41)])
    assert 0 < steps.min() < steps.max() < 1.5 * steps.min()
