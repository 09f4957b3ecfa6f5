"""How often tests are wrong, and intervals right, on data like ours: zeros, skew and ties."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import stats
from tools import deep

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def differences(n, rng):
    """Skewed differences of mean 0: 70 % ties, a few large losses, many small wins."""
    d = np.zeros(n)
    moved = rng.random(n) < 0.3
    small = rng.random(n) < 0.8
    d[moved & small] = 0.1
    d[moved & ~small] = -0.4
    return d  # 0.8 * 0.1 = 0.2 * 0.4


def scores(n, rng):
    """Zero-inflated scores of two equal systems that share their users."""
    user = rng.random(n)
    return [np.round((rng.random(n) < 0.5 * user) * rng.random(n), 1) for _ in range(2)]


def rate(test, n, runs, make):
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(runs):
        own = make(n, rng)
        found += test(*own if isinstance(own, list) else (own,)).p < 0.05
    return found / runs


RIGHT = {
    "t": stats.paired_t,
    "sign-flip": lambda *values: stats.sign_flip(*values, n_resamples=499),
    "bootstrap t": lambda *values: stats.bootstrap_test(*values, n_resamples=499),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(("n", "most"), [(200, 0.085), *deep((1000, 0.075))])
def test_type_one_error_of_tests_of_means(name, n, most):
    assert rate(RIGHT[name], n, 600, differences) <= most
    assert rate(RIGHT[name], n, 600, scores) <= most


def test_tests_of_the_middle_are_wrong_about_means():
    """Equal means, skewed differences: Wilcoxon and sign find what is not there."""
    assert rate(stats.wilcoxon, 1000, 200, differences) > 0.3
    assert rate(stats.sign, 1000, 200, differences) > 0.9


@pytest.mark.deep
def test_type_one_error_of_families():
    """No false finding in 95 of 100 families of six pairs."""
    rng = np.random.default_rng(2)
    errors = {"holm": 0, "max-T": 0, "Tukey": 0, "blocked Tukey": 0}
    for _ in range(300):
        user = rng.random((400, 1))
        values = np.round((rng.random((400, 4)) < 0.5 * user) * rng.random((400, 4)), 1)
        upper = np.triu_indices(4, 1)
        p = stats.paired_t_of_all(values).p[upper]
        d = np.stack([values[:, j] - values[:, i] for i, j in zip(*upper, strict=True)], axis=1)
        errors["holm"] += stats.adjust(p).min() < 0.05
        errors["max-T"] += stats.max_t(d, n_resamples=399).min() < 0.05
        errors["Tukey"] += stats.tukey(values).min() < 0.05
        errors["blocked Tukey"] += stats.tukey(values, method="blocked").min() < 0.05
    assert all(count <= 25 for count in errors.values()), errors


def held(make_interval, n, runs, truth, make):
    rng = np.random.default_rng(3)
    count = 0
    for _ in range(runs):
        found = make_interval(make(n, rng))
        count += found.low <= truth <= found.high
    return count / runs


def hits(n, rng):
    return (rng.random(n) < 0.05) * 1.0


@pytest.mark.parametrize("runs", [150, *deep(400)])
@pytest.mark.parametrize(
    ("make", "least", "most"),
    [
        (stats.t_interval, 0.92, 0.98),
        (lambda x: stats.bootstrap(x, method="bca", n_resamples=600), 0.91, 0.98),
        (lambda x: stats.bootstrap(x, method="studentised", n_resamples=600), 0.92, 0.99),
        *deep(
            (lambda x: stats.bootstrap(x, method="percentile", n_resamples=600), 0.91, 0.98),
            (lambda x: stats.bootstrap(x, method="basic", n_resamples=600), 0.90, 0.98),
        ),
    ],
    ids=["t", "bca", "studentised", "percentile", "basic"],
)
def test_intervals_of_rare_hits(make, least, most, runs):
    assert least <= held(make, 1000, runs, 0.05, hits) <= most


def test_rows_of_one_user_are_not_independent():
    """Ten rows a user, half of the variance between users: §1.3 of the protocols."""
    cluster = np.repeat(np.arange(60), 10)

    def rows(n, rng):
        return np.repeat(rng.normal(0, 1, 60), 10) + rng.normal(0, 1, 600)

    assert held(stats.t_interval, 600, 400, 0, rows) < 0.75
    assert held(lambda x: stats.clustered(x, cluster), 600, 400, 0, rows) >= 0.92


def test_a_sample_of_half_of_the_users():
    rng = np.random.default_rng(4)
    whole = rng.random(400) ** 3
    naive = corrected = 0
    for _ in range(500):
        own = rng.choice(whole, 200, replace=False)
        plain, finite = stats.t_interval(own), stats.finite_population(own, 400)
        naive += plain.low <= whole.mean() <= plain.high
        corrected += finite.low <= whole.mean() <= finite.high
    assert naive > 0.98 * 500
    assert 0.92 * 500 <= corrected <= 0.98 * 500


def test_seeds_and_users_both_count():
    rng = np.random.default_rng(5)
    both = users_only = 0
    for _ in range(300):
        values = rng.normal(0, 1, 200) + rng.normal(0, 0.15, (6, 1)) + rng.normal(0, 0.5, (6, 200))
        found = stats.two_level(values).interval
        plain = stats.t_interval(values.mean(axis=0))
        both += found.low <= 0 <= found.high
        users_only += plain.low <= 0 <= plain.high
    assert both / 300 >= 0.92
    assert users_only / 300 < 0.9


def test_folds_are_not_independent():
    """Ten-fold means share nine tenths of training: the plain t test over folds finds too much."""
    rng = np.random.default_rng(6)
    plain = corrected = 0
    for _ in range(400):
        shared, own = rng.normal(0, 1), rng.normal(0, 1, 10)
        d = np.sqrt(0.1) * shared + np.sqrt(0.9) * own  # correlated like test share 0.1
        plain += stats.paired_t(d).p < 0.05
        corrected += stats.corrected_resampled_t(d, test_share=0.1).p < 0.05
    assert plain / 400 > 0.1
    assert corrected / 400 <= 0.075
