"""Users and seeds as crossed samples, and sums of pairs: each number against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t

from rankwise import stats
from rankwise.errors import InputError
from rankwise.stats.differences import DIGITS, differences
from rankwise.stats.variance_components import (
    PairSums,
    VarianceComponents,
    deviation_of,
    over_data_sets,
    seed_variance,
    variance_of_means,
)

NAN = pytest.approx(math.nan, nan_ok=True)
SEEDS = np.array([[0.1, 0.5, 0.3, 0.9], [0.2, 0.4, 0.5, 0.8], [0.0, 0.6, 0.2, 0.7]])
OTHER = np.array([[0.2, 0.3, 0.3, 0.5], [0.1, 0.4, 0.2, 0.6]])
PARTS = VarianceComponents((0.004, 9.0), ((0.003, 2.0), (0.001, 4.0)))


@pytest.mark.parametrize("tail", [0.001, 0.025, 0.3])
def test_quantiles_weight_those_of_the_parts_by_their_variance(tail):
    assert PARTS.total == pytest.approx(0.008)
    assert PARTS.of_seeds == pytest.approx(0.004)
    assert PARTS.error == pytest.approx(math.sqrt(0.008))
    expected = (4 * t.isf(tail, 9) + 3 * t.isf(tail, 2) + t.isf(tail, 4)) / 8
    assert PARTS.quantile(tail) == pytest.approx(expected)
    assert PARTS.p_above(expected * PARTS.error) == pytest.approx(tail)
    assert PARTS.p_above(-expected * PARTS.error) == pytest.approx(1 - tail)
    assert (
        PARTS.p(expected * PARTS.error)
        == PARTS.p(-expected * PARTS.error)
        == pytest.approx(2 * tail)
    )
    interval = PARTS.interval(0.3, confidence=1 - 2 * tail, n=10)
    assert tuple(interval) == pytest.approx(
        (0.3 - expected * PARTS.error, 0.3 + expected * PARTS.error)
    )
    assert (interval.n, interval.method, interval.confidence) == (10, "two-level t", 1 - 2 * tail)


def test_a_part_of_0_counts_for_nothing():
    users = VarianceComponents((0.004, 9.0), ((0.0, 1.0),))
    assert users.quantile(0.025) == pytest.approx(t.isf(0.025, 9))
    none = VarianceComponents((0.0, 9.0), ((0.0, 1.0),))
    assert (none.quantile(0.025), none.p_above(0.1), none.p(0.1)) == (NAN, NAN, NAN)
    assert (PARTS.p_above(0.0), PARTS.p(0.0), PARTS.p_above(math.nan)) == (0.5, 1.0, NAN)
    assert VarianceComponents((1e-12, 1e9)).p_above(1.0) == 5e-324


def test_more_seeds_divide_their_part():
    more = PARTS.with_more(3)
    assert more.users == PARTS.users
    assert more.seeds == ((pytest.approx(0.003 * 3 / 6), 5.0), (pytest.approx(0.001 * 5 / 8), 7.0))
    for parts in (
        PARTS,
        VarianceComponents((0.0001, 50.0), ((0.01, 1.0),)),
        VarianceComponents((0.0, 5.0), ((1.0, 1.0),)),
    ):
        widths = [parts.with_more(m).quantile(0.025) * parts.with_more(m).error for m in range(40)]
        fewest = next((m for m, width in enumerate(widths) if width <= widths[0] / 2), None)
        assert parts.seeds_to_halve() == fewest
    assert VarianceComponents((0.01, 9.0), ((0.0, 1.0),)).seeds_to_halve() is None
    assert VarianceComponents((0.01, 9.0), ((1e-6, 9.0),)).seeds_to_halve() is None


def test_the_part_of_seeds_and_what_users_keep_are_those_of_the_analysis_of_variance():
    part, residual = seed_variance(SEEDS)
    m, n = SEEDS.shape
    rest = SEEDS - SEEDS.mean(axis=0) - SEEDS.mean(axis=1)[:, None] + SEEDS.mean()
    assert part == (pytest.approx(SEEDS.mean(axis=1).var(ddof=1) / m), m - 1)
    assert residual == pytest.approx((rest**2).sum() / ((m - 1) * (n - 1)) / (m * n))
    assert seed_variance(SEEDS[:1]) == (None, 0.0)
    assert seed_variance(SEEDS[:2, :1]) == ((pytest.approx(0.1**2 / 2 / 2), 1.0), 0.0)


@pytest.mark.parametrize("paired", [False, True])
def test_two_levels_are_the_sum_of_their_parts(paired):
    x, y = SEEDS[:2] if paired else SEEDS, OTHER
    systems = [x - y] if paired else [x, y]
    result = stats.two_level(x, y, paired=paired, confidence=0.9)
    users = x.mean(axis=0) - y.mean(axis=0)
    parts, residuals = zip(*map(seed_variance, systems), strict=True)
    of_seeds = sum(variance for variance, _ in parts)
    of_users = max(users.var(ddof=1) / 4 - sum(residuals), 0.0)
    assert result.variance_of_seeds == pytest.approx(of_seeds)
    assert result.variance_of_users == pytest.approx(of_users)
    whole = VarianceComponents((of_users, 3.0), parts)
    assert tuple(result.interval) == pytest.approx(
        tuple(whole.interval(users.mean(), confidence=0.9, n=4))
    )
    assert result.p == pytest.approx(whole.p(users.mean()))
    assert result.seeds_to_halve == whole.seeds_to_halve(0.9)
    one = stats.two_level(SEEDS)
    assert one.interval.estimate == pytest.approx(SEEDS.mean())
    assert one.variance_of_users == pytest.approx(
        SEEDS.mean(axis=0).var(ddof=1) / 4 - seed_variance(SEEDS)[1]
    )


def test_users_who_vary_less_than_the_residual_have_no_part():
    values = np.array([[1.0, 0.0], [0.0, 1.0]])
    result = stats.two_level(values + np.array([[0.1], [0.0]]))
    assert result.variance_of_users == 0
    assert result.variance_of_seeds == pytest.approx(0.1**2 / 2 / 2)
    known = variance_of_means(np.array([0.5, 0.7]), [values], part=(0.3, 7.0))
    assert known.users == (pytest.approx(0.3 - seed_variance(values)[1]), 7.0)
    flat = stats.two_level(np.full((2, 3), 0.25))
    assert (flat.p, flat.interval.low, flat.seeds_to_halve, flat.interval.estimate) == (
        NAN,
        NAN,
        None,
        0.25,
    )
    assert flat.interval.flags == ("zero variance", "no variation: the interval is not known")
    assert stats.two_level(np.zeros((2, 3))).p == 1.0


@pytest.mark.parametrize("largest", [1.0, 0.25])
def test_a_variance_of_users_up_to_that_of_rounding_is_none(largest):
    seeds, rounding = (
        [np.array([[-largest, 0.0]]), np.array([[largest / 2, 0.0]])],
        (DIGITS * largest) ** 2,
    )
    for variance, kept in (
        (rounding, 0.0),
        (rounding * (1 + 1e-9), rounding * (1 + 1e-9)),
        (-1.0, 0.0),
    ):
        assert variance_of_means(np.zeros(2), seeds, part=(variance, 7.0)).users == (kept, 7.0)


def test_a_variance_of_seeds_up_to_that_of_rounding_is_none():
    for value, kept in ((DIGITS, 0.0), (2 * DIGITS, (2 * DIGITS) ** 2)):
        seeds = [np.ones((2, 1)), np.array([[value], [-value]])]
        assert variance_of_means(np.zeros(2), seeds).seeds == (
            (0.0, 1.0),
            (pytest.approx(kept, rel=1e-9, abs=0), 1.0),
        )


def test_seeds_and_users_that_are_refused():
    for arrays, options, said in (
        ((SEEDS, OTHER[:, :3]), {}, r"\(3, 4\) and \(2, 3\)"),
        ((SEEDS[:, :1],), {}, "two or more"),
        ((SEEDS, OTHER), {"paired": True}, "3 and 2"),
        ((SEEDS[:1], OTHER[:1]), {}, "one seed"),
        ((SEEDS[0],), {}, "x has one row per seed"),
        ((SEEDS, OTHER[0]), {}, "y has one row per seed"),
        ((np.full((2, 2), math.nan),), {}, "no NaN"),
    ):
        with pytest.raises(InputError, match=said):
            stats.two_level(*arrays, **options)
    assert stats.two_level(SEEDS, OTHER[:1]).interval.n == 4


X, Y = np.array([0.9, 0.4, 0.0, 0.7, 0.2]), np.array([0.6, 0.5, 0.0, 0.3, 0.2])


@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_sums_of_pairs_have_the_numbers_of_the_pairs(factor):
    first, second = (
        differences(X[:2], Y[:2]),
        differences(np.r_[X[2:], math.nan], np.r_[Y[2:], 1.0], missing="omit"),
    )
    sums, pairs = PairSums.of(first) + PairSums.of(second), differences(X, factor * Y)
    plain = differences(X, Y)
    assert (sums.n, sums.wins, sums.losses, sums.not_zero, sums.omitted) == (5, 2, 1, 4, 1)
    assert sums.largest == pytest.approx(0.4)
    sums = sums.scaled(factor)
    assert sums.means == pytest.approx(pairs.means)
    assert sums.mean == pytest.approx(pairs.mean)
    assert sums.deviation == pytest.approx(pairs.deviation)
    assert sums.covariance == pytest.approx(np.cov(X, factor * Y))
    assert sums.skewness == pytest.approx(plain.skewness)
    assert (sums.error, sums.d_z) == pytest.approx((pairs.error, pairs.d_z))
    assert sums.scaled(2.0).means[1] == pytest.approx(2 * factor * Y.mean())


def test_sums_of_nobody_and_of_what_does_not_vary():
    nobody = PairSums.of(differences([], []))
    assert (nobody.n, nobody.largest, nobody.mean, nobody.means, nobody.deviation) == (
        0,
        0,
        NAN,
        (NAN, NAN),
        NAN,
    )
    assert nobody.skewness == 0
    one = PairSums.of(differences([0.5], [0.25]))
    assert (one.mean, one.deviation, one.skewness) == (0.25, NAN, 0)
    same = PairSums.of(differences([0.1, 0.2, 0.7], [0.0, 0.1, 0.6]))
    assert (same.deviation, same.skewness) == (0, 0)
    assert PairSums.of(differences([0.1, 0.3], [0.0, 0.1])).skewness == pytest.approx(0)


@pytest.mark.parametrize(
    ("k", "few"),
    [(1, "a single data set"), (2, "five"), (4, "five"), (5, "20"), (19, "20"), (20, "")],
)
def test_data_sets_are_a_t_test_and_few_are_said(k, few):
    flags = (f"fewer than {few} data sets" if few in ("five", "20") else few,) if few else ()
    d = np.random.default_rng(k).normal(0.1, 0.2, k)
    over = over_data_sets(d, np.full(k, 0.05), confidence=0.9)
    assert (over.interval.flags, over.interval.n, over.interval.method) == (
        flags,
        k,
        "t over data sets",
    )
    if k == 1:
        assert (over.p, over.tau, over.interval.low) == (NAN, NAN, NAN)
        return
    error = d.std(ddof=1) / math.sqrt(k)
    assert over.p == pytest.approx(2 * t.sf(abs(d.mean()) / error, k - 1))
    assert over.interval.high == pytest.approx(d.mean() + t.ppf(0.95, k - 1) * error)
    assert over.tau == pytest.approx(math.sqrt(max(d.var(ddof=1) - 0.05**2, 0)))
    assert over_data_sets(d).tau == NAN
    assert over_data_sets(d, np.full(k, 9.0)).tau == 0


def test_data_sets_that_do_not_vary_and_that_are_refused():
    same = over_data_sets([0.5] * 4)
    assert (same.p, same.interval.low, same.tau) == (2 / 2**4, NAN, NAN)
    assert same.interval.flags == ("fewer than five data sets", "data sets do not vary")
    assert over_data_sets([0.0] * 3, [0.1] * 3).p == 1
    assert (
        deviation_of(np.array([1.0, 1.0 + 1e-11])) == 0 < deviation_of(np.array([1.0, 1.0 + 1e-9]))
    )
    assert deviation_of(np.array([0.5])) == NAN
    for arrays, said in (
        (([],), "0 differences"),
        (([0.1, math.nan],), "1 of them NaN, 0 errors"),
        (([0.1, 0.2], [0.1]), "1 errors"),
    ):
        with pytest.raises(InputError, match=said):
            over_data_sets(*arrays)


@pytest.mark.parametrize(("needed", "named"), [(1000, 1000), (1001, None)])
def test_a_thousand_seeds_are_worth_naming_and_more_are_not(needed, named):
    def parts(users):
        return VarianceComponents((users, 50.0), ((1.0, 9.0),))

    def spare(users, seeds):
        more = parts(users).with_more(seeds)
        return (
            more.quantile(0.025) * more.error
            - parts(users).quantile(0.025) * parts(users).error / 2
        )

    # Between the parts of users with which one seed less, and with which so many, just halve the interval.
    low, high = (
        brentq(lambda users, n=n: spare(users, n), 1e-6, 1.0, xtol=1e-15)
        for n in (needed - 1, needed)
    )
    assert parts((low + high) / 2).seeds_to_halve() == named


def test_seeds_that_vary_little_vary():
    values = np.array([[0.2, 0.4, 0.6], [0.2, 0.4, 0.6 + 3e-7]])
    assert stats.two_level(values).variance_of_seeds == pytest.approx(1e-14 / 4, rel=1e-6, abs=0)
    assert stats.two_level(np.array([[0.2, 0.4, 0.6]] * 2) + 1e-14 * values).variance_of_seeds == 0
