"""The upper limit of a bounded mean: against closed forms, and how often it holds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, t

from rankwise.stats.bounded_means import bounded_mean_limit


@pytest.mark.parametrize(("n", "ones"), [(1, 0), (5, 0), (5, 3), (40, 1), (300, 12), (5000, 4000)])
@pytest.mark.parametrize("confidence", [0.9, 0.975, 0.999])
def test_binary_values_have_the_clopper_pearson_limit(n, ones, confidence):
    values = np.arange(n) < ones
    found = bounded_mean_limit(values.astype(float), 1.0, confidence)
    exact = beta.ppf(confidence, ones + 1, n - ones)
    assert 1 - found == pytest.approx(1 - exact, rel=0.1 if n == 1 else 0.02)


def test_many_values_have_the_limit_of_the_t_interval():
    values = np.random.default_rng(0).random(20_000)
    error = values.std(ddof=1) / np.sqrt(len(values))
    expected = values.mean() + t.ppf(0.975, len(values) - 1) * error
    assert bounded_mean_limit(values, 1.0, 0.975) == pytest.approx(expected, abs=0.03 * error)


def test_units_order_and_bounds():
    values = np.random.default_rng(1).random(50)
    found = bounded_mean_limit(values, 1.0, 0.975)
    assert bounded_mean_limit(values[::-1], 1.0, 0.975) == found
    assert bounded_mean_limit(7 * values - 3, 4.0, 0.975) == pytest.approx(7 * found - 3)
    assert bounded_mean_limit(values, 2.0, 0.975) > found
    assert bounded_mean_limit(np.full(9, 2.0), 2.0, 0.975) == 2.0
    limits = [bounded_mean_limit(values, 1.0, level) for level in (0.501, 0.6, 0.9, 0.99, 0.999999)]
    assert limits == sorted(limits)
    assert values.mean() < limits[0]
    assert limits[-1] < 1


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.005, 0.05, 0.5])
def test_rare_values_are_allowed_for(share):
    """Where most samples of 60 have none of the rare values, the t limit says that none exist.

    2,000 samples: the Monte-Carlo standard error of 0.975 is 0.0035.
    """
    rng = np.random.default_rng(2)
    held = by_t = 0
    for _ in range(2000):
        values = (rng.random(60) < share) * rng.choice([0.5, 1.0], 60)
        held += bounded_mean_limit(values, 1.0, 0.975) >= 0.75 * share
        limit = values.mean() + t.ppf(0.975, 59) * values.std(ddof=1) / np.sqrt(60)
        by_t += limit >= 0.75 * share
    assert held >= 2000 * (0.975 - 3 * 0.0035)
    assert share == 0.5 or by_t < 2000 * 0.95
