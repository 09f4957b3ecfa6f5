"""Tests and intervals by resampling, computed again from their signs and weights one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from rankwise import stats
from rankwise.errors import InputError, ParameterError
from rankwise.stats.differences import differences
from rankwise.stats.intervals import constant_interval, flip_interval_of, interval_of_test
from rankwise.stats.many_systems import (
    max_t,
    max_t_quantile,
    pairwise_p,
    rank_systems,
    ranks_of,
    sign_flip_of_all,
)
from rankwise.stats.paired_tests import bootstrap_t_interval, projections, smallest_p

NAN = pytest.approx(math.nan, nan_ok=True)
RNG = np.random.default_rng(21)
VALUES = RNG.normal([0.5, 0.45, 0.2, 0.5], 0.3, (40, 4))
PAIRS = list(itertools.permutations(range(4), 2))


def signs(n, resamples, seed=0):
    return projections(np.eye(n), resamples, kind="signs", seed=seed)


def weights(n, resamples, seed=0):
    return projections(np.eye(n), resamples, kind="weights", seed=seed)


def test_max_t_counts_resamples_whose_largest_t_is_as_large():
    d = np.column_stack([VALUES[:, 0] - VALUES[:, 1], VALUES[:, 0] - VALUES[:, 2], np.zeros(40)])
    scale = np.sqrt((d**2).sum(axis=0))[:2]
    drawn = np.abs(signs(40, 300, seed=3) @ d[:, :2]) / scale
    observed = np.abs(d[:, :2].sum(axis=0)) / scale
    expected = [(1 + (drawn.max(axis=1) >= t).sum()) / 301 for t in observed]
    assert max_t(d, n_resamples=300, seed=3).tolist() == pytest.approx([*expected, 1.0])
    assert max_t(d, n_resamples=300).tolist() == max_t(d, n_resamples=300, seed=0).tolist()
    with pytest.raises(InputError, match="NaN"):
        max_t([[0.1, math.nan]])


@pytest.mark.parametrize("family", [False, True])
def test_signs_of_all_pairs_are_those_of_each_pair(family):
    cube = np.stack(
        [VALUES[:, :3], VALUES[:, [3, 3, 0]]], axis=1
    )  # of two metrics; in one, two systems are the same
    p = sign_flip_of_all(cube, family=family, n_resamples=200, seed=5)
    drawn = signs(40, 200, seed=5)
    for metric, pairs in ((0, [(0, 1), (0, 2), (1, 2)]), (1, [(0, 2), (1, 2)])):
        d = {pair: cube[:, metric, pair[0]] - cube[:, metric, pair[1]] for pair in pairs}
        scale = {
            pair: math.sqrt((values**2).sum()) if family else 1.0 for pair, values in d.items()
        }
        t = {pair: np.abs(drawn @ values) / scale[pair] for pair, values in d.items()}
        for pair, values in d.items():
            largest = np.max(list(t.values()), axis=0) if family else t[pair]
            count = (largest >= abs(values.sum()) / scale[pair] - 1e-9).sum()
            assert p[metric][pair] == p[metric][pair[::-1]] == pytest.approx((1 + count) / 201)
    assert p[1][0, 1] == 1
    assert np.diagonal(p, axis1=1, axis2=2).tolist() == [[1.0] * 3] * 2
    assert (
        sign_flip_of_all(cube[:, 0], family=family, n_resamples=200, seed=5) == p[0]
    ).all() or family
    for refused in (VALUES[:, 0], np.empty((0, 2)), [[0.1, math.nan]]):
        with pytest.raises(InputError, match="one row per user"):
            sign_flip_of_all(refused)


def step_down(x, resamples, seed):
    """Return adjusted p-values of all ordered pairs, from the most to the least decided."""
    n = len(x)
    d = {(i, j): x[:, i] - x[:, j] for i, j in PAIRS}
    observed = {
        pair: values.mean() / (values.std(ddof=1) / math.sqrt(n)) for pair, values in d.items()
    }
    drawn = {}
    for pair, values in d.items():
        deviations = values - values.mean()
        means = signs(n, resamples, seed) @ deviations / n
        square = deviations.var(ddof=1) / n
        drawn[pair] = means / np.sqrt(square - means**2 / (n - 1))
    p, least = {}, 0.0
    order = sorted(PAIRS, key=lambda pair: -observed[pair])
    for at, pair in enumerate(order):
        largest = np.max([drawn[other] for other in order[at:]], axis=0)
        least = max(least, (1 + (largest >= observed[pair]).sum()) / (1 + resamples))
        p[pair] = least
    return p


@pytest.mark.parametrize("seed", [0, 4])
def test_ranks_step_down_from_the_most_decided_pair(seed):
    ranks = rank_systems(VALUES, n_resamples=250, seed=seed, confidence=0.9)
    p = step_down(VALUES, 250, seed)
    for pair in PAIRS:
        assert ranks.p_better[pair] == pytest.approx(p[pair])
    shown = np.array([[i != j and p[i, j] < 0.1 for j in range(4)] for i in range(4)])
    assert ranks.low.tolist() == (1 + shown.sum(axis=0)).tolist()
    assert ranks.high.tolist() == (4 - shown.sum(axis=1)).tolist()
    assert ranks.may_be_best.tolist() == (ranks.low == 1).tolist()
    turned = rank_systems(
        -VALUES, n_resamples=250, seed=seed, confidence=0.9, higher_is_better=False
    )
    assert (turned.p_better == ranks.p_better).all()
    assert rank_systems(VALUES, n_resamples=250).confidence == 0.95


def test_ranks_need_six_users_and_many_users_are_drawn_from_the_normal_distribution():
    clear = np.array([[1.0, 0.0]] * 5) + np.random.default_rng(0).normal(0, 0.01, (5, 2))
    assert rank_systems(clear, n_resamples=99).high.tolist() == [2, 2]
    clear = np.array([[1.0, 0.0]] * 6) + np.random.default_rng(0).normal(0, 0.01, (6, 2))
    assert rank_systems(clear, n_resamples=99, confidence=0.9).p_better[0, 1] < 0.1
    many = np.random.default_rng(1).normal([0.05, 0.0], 1.0, (1000, 2))
    p = rank_systems(many, n_resamples=20_000).p_better
    d = many[:, 0] - many[:, 1]
    t = d.mean() / d.std(ddof=1) * math.sqrt(1000)
    # two hypotheses, of which one is decided: the larger of t and -t, then the other alone
    assert p[0, 1] == pytest.approx(2 * norm.sf(t), abs=0.01)
    assert p[1, 0] == pytest.approx(norm.sf(-t), abs=0.01)


def test_equal_means_share_the_smallest_rank():
    ranks = ranks_of(np.ones((3, 3)), np.array([0.1 + 0.2, 0.3, 0.5]), confidence=0.95)
    assert (ranks.rank.tolist(), ranks.low.tolist(), ranks.high.tolist()) == (
        [2, 2, 1],
        [1, 1, 1],
        [3, 3, 3],
    )
    edge = np.ones((2, 2))
    edge[0, 1] = 0.5  # of a confidence of 0.5 a p-value of the level shows nothing
    assert ranks_of(edge, np.array([1.0, 0.0]), confidence=0.5).high.tolist() == [2, 2]
    edge[0, 1] = 0.49
    assert ranks_of(edge, np.array([1.0, 0.0]), confidence=0.5).high.tolist() == [1, 2]


def test_one_sided_p_of_ordered_pairs_are_corrected_together():
    two_sided = np.array([[1.0, 0.02, math.nan], [0.02, 1.0, 0.5], [math.nan, 0.5, 1.0]])
    d = np.array([[0.0, 0.3, math.nan], [-0.3, 0.0, 0.1], [math.nan, -0.1, 0.0]])
    p = pairwise_p(two_sided, d)
    assert p[0, 1] == pytest.approx(6 * 0.01)
    assert p[1, 2] == pytest.approx(1.0)  # 5 * 0.25
    assert (p[1, 0], p[0, 2], p[2, 0]) == (1, 1, 1)
    assert pairwise_p(np.full((2, 2), 0.1), np.array([[0, 0.2], [-0.2, 0]]))[0, 1] == pytest.approx(
        0.1
    )


def test_the_quantile_of_the_largest_t():
    d = VALUES[:, :1] - VALUES[:, 1:]
    deviations = d - d.mean(axis=0)
    means = signs(40, 199) @ deviations / 40
    t = np.abs(means) / np.sqrt(deviations.var(axis=0, ddof=1) / 40 - means**2 / 39)
    largest = np.sort(t.max(axis=1))
    for confidence, at in ((0.5, 100), (0.95, 190), (0.999, 199)):
        assert max_t_quantile(d, confidence=confidence, n_resamples=199) == pytest.approx(
            largest[at - 1]
        )
    assert max_t_quantile(d, n_resamples=199) == max_t_quantile(
        d, confidence=0.95, n_resamples=199, seed=0
    )
    for refused in (d[:1], d[:, 0], np.empty((3, 0)), [[0.1], [math.nan]]):
        with pytest.raises(InputError, match="max-T needs a number"):
            max_t_quantile(refused)


D = np.round(VALUES[:30, 0] - VALUES[:30, 1], 2)


def test_the_sign_flip_counts_sums_as_extreme():
    drawn = np.abs(signs(30, 500, seed=2) @ D)
    test = stats.sign_flip(D, n_resamples=500, seed=2)
    assert test.p == (1 + (drawn >= abs(D.sum()) - 1e-9).sum()) / 501
    assert (test.test, test.resamples, test.n) == ("sign-flip", 500, 30)
    assert test.statistic == test.difference == pytest.approx(D.mean())
    exact = stats.sign_flip(np.r_[D[:20], 0.0])
    assert (exact.test, exact.resamples, exact.statistic) == (
        "exact sign-flip",
        None,
        pytest.approx(D[:20].sum() / 21),
    )
    assert stats.sign_flip(D[:21], n_resamples=9).test == "sign-flip"
    assert stats.sign_flip([]).p == NAN
    assert [smallest_p(n) for n in (1, 3, 1074, 1075)] == [1.0, 0.25, 2.0**-1073, 5e-324]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_of_sign_flips_holds_what_they_do_not_reject(confidence):
    interval = stats.sign_flip_interval(D, confidence=confidence, n_resamples=399, seed=1)
    drawn = signs(30, 399, seed=1)

    def p(delta):
        d = D - delta
        return (1 + (np.abs(drawn @ d) >= abs(d.sum()) - 1e-9).sum()) / 400

    step = 1e-5
    for limit, outwards in ((interval.low, -step), (interval.high, step)):
        assert p(limit - outwards) >= 1 - confidence - 1e-9 > p(limit + outwards)
    assert (interval.method, interval.n, interval.estimate) == (
        "sign-flip",
        30,
        pytest.approx(D.mean()),
    )
    assert (
        flip_interval_of(differences(D), confidence=confidence, n_resamples=399, seed=1) == interval
    )


def test_the_interval_of_sign_flips_agrees_with_the_test_at_0():
    for shift in (0.0, 0.07, -0.2):
        d = np.where(np.arange(30) % 3, 0.0, D + shift)
        for confidence in (0.7, 0.95):
            interval = stats.sign_flip_interval(d, confidence=confidence, n_resamples=199)
            assert (0 in interval) == (
                stats.sign_flip(d, n_resamples=199).p >= 1 - confidence - 1e-12
            )
    shown = flip_interval_of(differences(D), confidence=0.95, n_resamples=199, seed=0, p=0.001)
    assert 0 not in shown
    hidden = flip_interval_of(differences(D + 5), confidence=0.95, n_resamples=199, seed=0, p=0.5)
    assert hidden.low == 0
    few = stats.sign_flip_interval([0.1, 0.2, 0.3], n_resamples=199)
    assert (few.low, few.high) == (-math.inf, math.inf)
    assert [stats.sign_flip_interval(d).low for d in ([0.1], [0.1, 0.1])] == [NAN, NAN]


def bootstrap_t(d, resamples, seed):
    """Return t of the resamples, each of n users with their weights."""
    drawn = weights(len(d), resamples, seed)
    deviations = d - d.mean()
    means = drawn @ deviations / len(d)
    variances = (drawn * (deviations - means[:, None]) ** 2).sum(axis=1) / (len(d) - 1)
    return means / np.sqrt(variances / len(d))


def test_the_bootstrap_test_and_its_interval_by_hand():
    t = np.abs(bootstrap_t(D, 300, 1))
    observed = abs(D.mean()) / (D.std(ddof=1) / math.sqrt(30))
    test = stats.bootstrap_test(D, n_resamples=300, seed=1)
    assert test.p == pytest.approx((1 + (t >= observed).sum()) / 301)
    assert (test.resamples, test.test, test.n) == (300, "bootstrap t", 30)
    assert test.statistic == pytest.approx(D.mean() / (D.std(ddof=1) / math.sqrt(30)))
    interval = bootstrap_t_interval(differences(D), confidence=0.9, n_resamples=300, seed=1)
    largest = np.sort(t)[::-1]
    half = largest[math.ceil(0.1 * 301) - 2] * D.std(ddof=1) / math.sqrt(30)
    assert tuple(interval) == pytest.approx((D.mean() - half, D.mean() + half))
    none = bootstrap_t_interval(differences(D), confidence=0.99, n_resamples=99, seed=1)
    assert (none.low, none.high) == (-math.inf, math.inf)
    for n in (1, 0):
        assert stats.bootstrap_test(D[:n]).p == NAN
    assert stats.bootstrap_test([0.5, 0.5]).p == 0.5
    assert (
        bootstrap_t_interval(differences([0.5, 0.5]), confidence=0.9, n_resamples=9, seed=1).low
        == NAN
    )


def test_a_resample_of_one_value_is_as_extreme_as_can_be():
    """Of 0, 1 and 2 a resample may have one of them alone: its t is infinite, also that of the mean itself."""
    drawn = weights(3, 300, 2)
    alone = (drawn == 3).any(axis=1)
    assert (drawn[:, 1] == 3).any()
    means = drawn @ [-1.0, 0.0, 1.0] / 3
    variances = (drawn * (np.array([-1.0, 0.0, 1.0]) - means[:, None]) ** 2).sum(axis=1) / 2
    t = np.abs(means[~alone]) / np.sqrt(variances[~alone] / 3)
    observed = 1 / math.sqrt(1 / 3)
    test = stats.bootstrap_test([0.0, 1.0, 2.0], n_resamples=300, seed=2)
    assert test.p == (1 + alone.sum() + (t >= observed * (1 - 1e-12)).sum()) / 301


@pytest.mark.parametrize("method", ["percentile", "basic", "studentised", "bca"])
def test_bootstrap_intervals_by_hand(method):
    drawn, n = weights(30, 400, seed=6), 30
    deviations = D - D.mean()
    means = drawn @ deviations / n
    tails = [0.1, 0.9]
    if method == "bca":
        below = ((means < 0).mean() + (means <= 0).mean()) / 2
        bias = norm.ppf(below)
        acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
        z = bias + norm.ppf(tails)
        tails = norm.cdf(bias + z / (1 - acceleration * z))
    if method == "studentised":
        spread = np.sqrt((drawn * (deviations - means[:, None]) ** 2).sum(axis=1) / n / n)
        low, high = np.quantile(means / spread, tails, method="inverted_cdf")
        error = D.std() / math.sqrt(n)
        low, high = -high * error, -low * error
    else:
        low, high = np.quantile(means, tails)
        low, high = (-high, -low) if method == "basic" else (low, high)
    interval = stats.bootstrap(D, method=method, confidence=0.8, n_resamples=400, seed=6)
    assert tuple(interval) == pytest.approx((D.mean() + low, D.mean() + high))
    assert (interval.method, interval.n, interval.confidence) == (f"bootstrap ({method})", 30, 0.8)
    flat = stats.bootstrap([0.5, 0.5], method=method)
    assert (flat.low, flat.flags[-1]) == (NAN, "no variation: the interval is not known")
    assert stats.bootstrap([0.5], method=method).flags == ("fewer than two values",)


def test_weights_are_exact_up_to_2048_users():
    for users, exact in ((2048, True), (2049, False)):
        totals = projections(np.ones((users, 1)), 128, kind="weights", seed=0)
        assert (totals == users).all() == exact
    with pytest.raises(ParameterError, match="10,000,000"):
        projections(np.ones((2, 1)), 10_000_001, kind="signs", seed=0)
    assert projections(np.ones((5, 1)), 130, kind="signs", seed=0).shape == (130, 1)


def test_the_interval_of_each_test():
    pairs, one = differences(D), {"confidence": 0.9, "n_resamples": 99, "seed": 1}
    methods = {
        test: interval_of_test(pairs, test, largest=1.0, **one).method
        for test in ("t", "bounded", "bootstrap", "sign")
    }
    assert methods == {
        "t": "t",
        "bounded": "bounded mean",
        "bootstrap": "bootstrap t",
        "sign": "sign-flip",
    }
    for n, method in ((999, "sign-flip"), (1000, "t")):
        many = differences(np.resize(D, n))
        assert interval_of_test(many, "wilcoxon", **one).method == method
        assert interval_of_test(many, "sign_flip", **one).method == "sign-flip"
    flat = interval_of_test(differences([0.25] * 8), "t", largest=1.0, **one)
    assert flat == constant_interval(0.25, 8, -1.0, 1.0, confidence=0.9, flags=("zero variance",))
    missed = 1 - 0.05 ** (1 / 8)
    assert tuple(flat) == pytest.approx((0.25 - missed * 1.25, 0.25 + missed * 0.75))
    assert (flat.method, flat.n) == ("bound of unseen values", 8)
    unknown = constant_interval(0.25, 8, 0.0, math.inf, confidence=0.9, flags=("a",))
    assert (unknown.low, unknown.high) == (NAN, NAN)
    assert unknown.flags == (
        "a",
        "no values differ, and their range is not bounded: the interval is not known",
    )
    assert interval_of_test(pairs, "sign_flip", p=0.9, **one).low <= 0


@pytest.mark.parametrize(("n", "warns"), [(999, False), (1000, True)])
def test_tests_of_the_median_warn_from_a_thousand_pairs(n, warns):
    d = np.tile([0.2, -0.1, 0.05], 334)[:n]
    for test in (stats.wilcoxon, stats.sign):
        assert any("median" in flag for flag in test(d).flags) == warns
