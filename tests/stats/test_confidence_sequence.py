"""Looking at growing data again and again: the sequence stays valid, a usual interval does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise import stats
from rankwise.errors import ParameterError

LOOKS = range(500, 10_001, 500)


def hits(n, rng):
    """Differences of two hit rates, of which a quarter are not 0; their mean is 0."""
    return rng.choice([-1.0, 0.0, 1.0], n, p=[0.125, 0.75, 0.125])


def ever_wrong(interval, runs):
    """Return how often an interval excludes the truth at one of twenty looks or more."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(runs):
        d = hits(LOOKS[-1], rng)
        wrong += any(not found.low <= 0 <= found.high for found in map(interval, looks(d)))
    return wrong / runs


def looks(d):
    return (d[:n] for n in LOOKS)


@pytest.mark.deep
def test_false_alarms_over_twenty_looks():
    runs = 200
    sequence = ever_wrong(lambda d: stats.confidence_sequence(d, planned=2000), runs)
    usual = ever_wrong(stats.t_interval, runs)
    assert sequence <= 0.05
    assert usual >= 0.15  # 0.05 is what it claims


def test_its_formula():
    d = np.array([1.0, 0.0, -1.0, 0.5] * 250)
    found = stats.confidence_sequence(d, planned=3000, confidence=0.9)
    n, alpha = 1000, 0.1
    rho = math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / 3000)
    inner = 2 * (n * rho**2 + 1) / (n**2 * rho**2) * math.log(math.sqrt(n * rho**2 + 1) / alpha)
    half = d.std(ddof=1) * math.sqrt(inner)
    assert (found.low, found.high) == pytest.approx((d.mean() - half, d.mean() + half))


def test_it_is_narrowest_near_the_planned_number():
    """Relative to the interval for a single look."""
    rng = np.random.default_rng(2)
    d = rng.normal(0, 1, 100_000)

    def ratio(n):
        one, many = stats.t_interval(d[:n]), stats.confidence_sequence(d[:n], planned=5000)
        return (many.high - many.low) / (one.high - one.low)

    assert ratio(5000) < min(ratio(200), ratio(100_000))
    assert 1.3 < ratio(5000) < 1.7


@pytest.mark.parametrize("d", [[0.5, -0.5] * 20, [0.0] * 500, [1.0] * 3 + [0.0] * 400])
def test_it_says_nothing_before_the_central_limit_theorem_does(d):
    assert stats.confidence_sequence(d, planned=1000).high == math.inf


def test_what_it_refuses():
    for options in ({"planned": 0}, {"planned": 5, "confidence": 1.0}):
        with pytest.raises(ParameterError):
            stats.confidence_sequence([1.0, 2.0], **options)
