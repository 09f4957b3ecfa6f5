"""Agreement with SciPy and statsmodels where they are right."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from rankwise import stats
from rankwise.stats.equivalence import variance_interval

NUMBERS = st.floats(-5, 5).map(lambda value: round(value, 3))
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=40).map(np.array)


def scores(n, systems=2, seed=0, hit=0.3):
    """Zero-inflated, skewed, tied scores of n users, related among systems."""
    rng = np.random.default_rng(seed)
    user = rng.random((n, 1))
    out = (rng.random((n, systems)) < hit * (0.5 + user)) * np.round(rng.random((n, systems)), 1)
    return out + 0.0


def differ(pairs):
    d = pairs[:, 0] - pairs[:, 1]
    return d.std() > 1e-6


@given(PAIRS.filter(differ))
def test_paired_t(pairs):
    x, y = pairs.T
    ours, theirs = stats.paired_t(x, y), scipy.ttest_rel(x, y)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-6)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6)
    interval, low_high = stats.t_interval(x, y), theirs.confidence_interval()
    assert (interval.low, interval.high) == pytest.approx(tuple(low_high), rel=1e-6, abs=1e-9)


@given(PAIRS.filter(lambda pairs: len(pairs) <= 10))
def test_exact_sign_flip_goes_through_all_signs(pairs):
    x, y = pairs.T
    d = np.where(np.abs(x - y) <= 1e-12 * np.maximum(abs(x), abs(y)), 0, x - y)
    sums = np.array([np.dot(signs, d) for signs in product([1, -1], repeat=len(d))])
    expected = (np.abs(sums) >= abs(d.sum()) - 1e-12 * np.abs(d).sum()).mean()
    assert stats.sign_flip(x, y).p == pytest.approx(expected)


@pytest.mark.slow
def test_sign_flip_near_exact_and_near_t():
    x, y = scores(22, seed=3).T + np.array([[0.0], [0.05]])
    sums = np.zeros(1)
    for d in x - y:  # of all 2^22 vectors of signs
        sums = np.concatenate([sums + d, sums - d])
    exact = np.mean(np.abs(sums) >= abs((x - y).sum()) - 1e-9)
    drawn = stats.sign_flip(x, y, n_resamples=100_000)
    assert drawn.p == pytest.approx(exact, abs=0.006)
    x, y = scores(3000, seed=4).T
    assert stats.sign_flip(x, y, n_resamples=20_000).p == pytest.approx(
        stats.paired_t(x, y).p, abs=0.02
    )


@given(PAIRS.filter(differ))
def test_wilcoxon_and_sign(pairs):
    x, y = pairs.T
    d = np.round(x - y, 9)
    if not (d != 0).any():
        return
    theirs = scipy.wilcoxon(d[d != 0])
    assert stats.wilcoxon(x, y).p == pytest.approx(theirs.pvalue, rel=1e-9)
    wins, all_ = int((d > 0).sum()), int((d != 0).sum())
    assert stats.sign(x, y).p == pytest.approx(scipy.binomtest(wins, all_).pvalue)


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)
THEIRS = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "bh": "fdr_bh",
    "by": "fdr_by",
}


@given(P_VALUES, st.sampled_from(list(THEIRS)))
def test_corrections(p, method):
    expected = multipletests(p, method=THEIRS[method])[1]
    assert stats.adjust(p, method) == pytest.approx(expected, abs=1e-12)
    with_gaps = [value for each in p for value in (each, float("nan"))]
    found = stats.adjust(with_gaps, method)
    assert found[::2] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(found[1::2]).all()


@given(
    st.lists(st.floats(0.01, 1), min_size=15, max_size=40), st.floats(-0.2, 0.2), st.floats(0.01, 3)
)
def test_equivalence(values, shift, margin):
    """Of differences without skew it is the textbook's pair of one-sided t tests."""
    d = np.array([*values, *(-v for v in values)]) + shift
    x, y = d, np.zeros(len(d))
    found = stats.equivalence(x, y, margin=margin)
    if found.method == "two one-sided t tests":  # else some difference is 0
        expected = ttost_paired(x, y, -margin, margin)[0]
        assert found.p == pytest.approx(expected, rel=1e-5, abs=1e-9)
        inside = -margin < found.interval.low and found.interval.high < margin
        assert found.equivalent == inside or found.p == pytest.approx(0.05, rel=1e-5)


def test_a_wider_margin_is_shown_with_a_smaller_p():
    """Skewed differences: beyond its turning point the correction for skewness would reverse."""
    rng = np.random.default_rng(3)
    d = 1 - rng.exponential(1, 300)
    p = [stats.non_inferiority(d, margin=margin).p for margin in np.linspace(0.05, 1.5, 30)]
    assert p[-1] < 1e-20
    assert p == sorted(p, reverse=True)


@pytest.mark.parametrize(
    ("n", "effect", "margin"), [(12, 0.0, 0.6), (90, -0.1, 0.3), (90, 0.2, 0.1), (400, -0.4, 0.1)]
)
def test_power_of_a_margin(n, effect, margin):
    solver = TTestPower()
    one_sided = [
        solver.power(margin + side * effect, n, 0.05, alternative="larger") for side in (1, -1)
    ]
    assert stats.power_of(n, effect, margin=margin) == pytest.approx(one_sided[0], abs=1e-9)
    both = stats.power_of(n, effect, margin=margin, equivalence=True)
    assert both == pytest.approx(max(sum(one_sided) - 1, 0), abs=1e-9)
    if margin + effect > 0:
        needed = stats.users_needed(effect, margin=margin, power=0.9)
        assert needed == int(
            np.ceil(
                solver.solve_power(margin + effect, power=0.9, alpha=0.05, alternative="larger")
            )
        )


@pytest.mark.parametrize("n", [10, 50, 300])
@pytest.mark.parametrize("effect", [0.1, 0.4, 1.0])
def test_power(n, effect):
    solver = TTestPower()
    assert stats.power_of(n, effect) == pytest.approx(
        solver.power(effect, n, 0.05, alternative="two-sided"), abs=1e-9
    )
    needed = stats.users_needed(effect)
    assert needed == int(np.ceil(solver.solve_power(effect, power=0.8, alpha=0.05)))
    # The power there, as the effect that statsmodels finds is off by 3e-6 with older SciPy.
    found = stats.minimum_detectable(n)
    assert solver.power(found, n, 0.05, alternative="two-sided") == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_bootstrap(method):
    values = scores(300, 1, seed=5).ravel()
    ours = stats.bootstrap(values, method=method, n_resamples=20_000)
    theirs = scipy.bootstrap(
        (values,), np.mean, method={"bca": "BCa"}.get(method, method), n_resamples=20_000, rng=1
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.03 * width)


def test_studentised_bootstrap():
    """Against the t of resamples that NumPy draws: skewed values, each resample with a standard error of its own."""
    rng = np.random.default_rng(9)
    values = rng.exponential(1, 40)
    ours = stats.bootstrap(values, method="studentised", n_resamples=20_000)
    drawn = values[rng.integers(0, 40, (20_000, 40))]
    low, high = np.quantile(
        (drawn.mean(axis=1) - values.mean()) / drawn.std(axis=1), [0.025, 0.975]
    )
    expected = values.mean() - np.array([high, low]) * values.std()
    assert (ours.low, ours.high) == pytest.approx(
        tuple(expected), abs=0.04 * (expected[1] - expected[0])
    )


def test_bias_counts_half_of_the_resamples_that_tie_with_the_mean():
    values = np.array(
        [1.0] * 6 + [0.0] * 14
    )  # a fifth of the resamples have the mean of the values
    ours = stats.bootstrap(values, method="bca", n_resamples=20_000)
    theirs = scipy.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=20_000, rng=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_variance_of_corrected_folds():
    """The t test over folds with 1 / J + n_test / n_train in place of 1 / J."""
    d = np.array([0.03, 0.11, -0.02, 0.06, 0.09, 0.01])
    ours = stats.corrected_resampled_t(d, test_share=0.25)
    wider = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 6 + 1 / 3))
    assert ours.statistic == pytest.approx(wider)
    assert ours.p == pytest.approx(2 * scipy.t.sf(wider, 5))


def test_variance_interval_of_small_samples():
    """Bonett's formula, by hand, for six values: the kurtosis is corrected by (n − 3) / n."""
    values = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 9.0])
    n, z = 6, scipy.norm.ppf(0.95)
    centre = scipy.trim_mean(values, 1 / (2 * np.sqrt(2)))
    kurtosis = n * ((values - centre) ** 4).sum() / ((values - 3.5) ** 2).sum() ** 2
    c = n / (n - z)
    width = z * c * np.sqrt((kurtosis - 0.5) / 5)
    expected = c * values.var(ddof=1) * np.exp([-width, width])
    assert variance_interval(values, confidence=0.9) == pytest.approx(tuple(expected))


def test_weights_of_many_users_are_as_good_as_exact_ones():
    values = scores(2100, 1, seed=6)  # Poisson weights; 2,048 users would have exact ones
    drawn = stats.bootstrap_means(values, 20_000, seed=1)
    assert drawn.std() == pytest.approx(values.std() / 2100**0.5, rel=0.03)
    assert drawn.mean() == pytest.approx(values.mean(), abs=3 * values.std() / 2100**0.5 / 141)


@given(st.lists(st.tuples(*[NUMBERS] * 4), min_size=3, max_size=30).map(np.array), st.data())
def test_all_pairs_at_once(values, data):
    if data.draw(st.booleans()):
        gaps = np.array(
            data.draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size))
        )
        values = np.where(gaps.reshape(values.shape), np.nan, values)
    found = stats.paired_t_of_all(values)
    for i, j in product(range(4), repeat=2):
        both = ~np.isnan(values[:, i]) & ~np.isnan(values[:, j])
        one = stats.paired_t(values[both, i], values[both, j])
        assert found.users[i, j] == both.sum()
        if both.sum():
            assert found.difference[i, j] == pytest.approx(one.difference, abs=1e-9)
        assert found.p[i, j] == pytest.approx(one.p, rel=1e-6, abs=1e-12, nan_ok=True)


def test_nearly_equal_systems_are_not_lost_in_rounding():
    rng = np.random.default_rng(0)
    base = rng.random(5000) * 1e3
    values = np.stack([base, base + rng.normal(1e-6, 1e-5, 5000)], axis=1)
    assert stats.paired_t_of_all(values).p[1, 0] == pytest.approx(
        scipy.ttest_rel(values[:, 1], values[:, 0]).pvalue, rel=1e-6
    )


def test_blocked_and_randomised_tukey():
    values = scores(1000, 3, seed=7) + np.array([0.0, 0.02, 0.05])
    n, k = values.shape
    rest = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
    square = (rest**2).sum() / ((n - 1) * (k - 1))
    q = abs(values[:, 0].mean() - values[:, 2].mean()) / np.sqrt(square / n)
    blocked = stats.tukey(values, method="blocked")
    assert blocked[0, 2] == pytest.approx(scipy.studentized_range.sf(q, k, (n - 1) * (k - 1)))
    rng = np.random.default_rng(0)
    largest = np.array([np.ptp(rng.permuted(values, axis=1).mean(axis=0)) for _ in range(4000)])
    found = stats.tukey(values)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        apart = abs(values[:, i].mean() - values[:, j].mean())
        assert found[i, j] == pytest.approx((largest >= apart).mean(), abs=0.03)


@pytest.mark.slow
def test_friedman_and_groups():
    values = scores(12, 4, seed=8) + np.arange(4) * 0.2
    theirs = scipy.friedmanchisquare(*values.T)
    assert stats.friedman(values).p == pytest.approx(theirs.pvalue)
    x, y, z = values.T[:3]
    assert stats.mann_whitney(x, y, same_users=False).p == scipy.mannwhitneyu(x, y).pvalue
    assert stats.kruskal_wallis(x, y, z, same_users=False).p == scipy.kruskal(x, y, z).pvalue


@given(st.lists(NUMBERS, min_size=1, max_size=15), st.lists(NUMBERS, min_size=1, max_size=15))
def test_cliffs_delta(x, y):
    pairs = [np.sign(a - b) for a in x for b in y]
    assert stats.cliffs_delta(x, y) == pytest.approx(np.mean(pairs))


@given(PAIRS.filter(differ))
def test_effects(pairs):
    x, y = pairs.T
    d = x - y
    found = stats.effect(x, y)
    assert found.d_z == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-6, abs=1e-9)
    assert found.wins + found.ties + found.losses == len(d)
    ranks = scipy.rankdata(np.abs(np.round(d[np.abs(d) > 1e-9], 9)))
    signs = np.sign(d[np.abs(d) > 1e-9])
    assert found.rank_biserial == pytest.approx((ranks * signs).sum() / ranks.sum(), abs=1e-9)


def test_bayesian_signed_rank_by_brute_force():
    """The same draws weighed pair by pair, as the definition says."""
    d, rope = np.array([0.3, -0.1, 0.2, 0.05, 0.4, 0.0]), 0.06
    z = np.concatenate([[0.0], d])
    order = np.argsort(z, kind="stable")
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.concatenate([[0.5], np.ones(6)])[order], 4000)
    middle = (z[order][:, None] + z[order][None, :]) / 2
    right = np.einsum("bi,bj,ij->b", weights, weights, middle > rope)
    left = np.einsum("bi,bj,ij->b", weights, weights, middle < -rope)
    shares = np.stack([left, 1 - left - right, right], axis=1)
    expected = (shares == shares.max(axis=1, keepdims=True)).mean(axis=0)
    found = stats.bayesian_signed_rank(d, rope=rope, n_draws=4000, seed=5)
    assert (found.left, found.rope, found.right) == pytest.approx(tuple(expected), abs=1e-12)


def test_all_pairs_by_the_same_signs():
    values = np.stack([scores(800, 4, seed=9), scores(800, 4, seed=10)], axis=1)
    values[:, 1, 3] = values[:, 1, 2]
    found = stats.sign_flip_of_all(values, n_resamples=700, seed=3)
    together = stats.sign_flip_of_all(values, family=True, n_resamples=700, seed=3)
    upper = list(zip(*np.triu_indices(4, 1), strict=True))
    for at in range(2):
        for i, j in upper:
            one = stats.sign_flip(values[:, at, i], values[:, at, j], n_resamples=700, seed=3)
            assert found[at, i, j] == found[at, j, i] == pytest.approx(one.p)
        d = np.stack([values[:, at, i] - values[:, at, j] for i, j in upper], axis=1)
        assert [together[at, i, j] for i, j in upper] == pytest.approx(
            stats.max_t(d, n_resamples=700, seed=3)
        )
    assert (stats.sign_flip_of_all(values[:, 0], n_resamples=700, seed=3) == found[0]).all()
