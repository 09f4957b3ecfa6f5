"""Looking at growing data again and again: the sequence stays valid, a usual interval does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise import stats
from rankwise.errors import InputError, ParameterError
from rankwise.stats.confidence_sequences import log_capital
from tools import deep

LOOKS = (5, 20, 50, 100, 200, 400, 800)


def rare_loss(n, rng):
    """Frequent small gains and a rare total loss, of mean 0: a sample without the loss looks like a gain."""
    return rng.choice([0.02, 0.0, -1.0], n, p=[0.5, 0.49, 0.01])


def hits(n, rng):
    """Differences of two hit rates, of which a quarter are not 0; their mean is 0."""
    return rng.choice([-1.0, 0.0, 1.0], n, p=[0.125, 0.75, 0.125])


def ever_wrong(draw, interval, runs):
    """Return how often an interval excludes the mean of 0 at one of the looks."""
    rng = np.random.default_rng(1)
    samples = (draw(LOOKS[-1], rng) for _ in range(runs))
    return np.mean([any(0 not in interval(d[:n]) for n in LOOKS) for d in samples])


@pytest.mark.slow
@pytest.mark.parametrize("runs", [60, *deep(400)])
@pytest.mark.parametrize("draw", [rare_loss, hits])
def test_false_alarms_stay_below_the_level_over_all_looks(draw, runs):
    assert (
        ever_wrong(draw, lambda d: stats.confidence_sequence(d, lowest=-1, highest=1), runs) <= 0.05
    )
    assert ever_wrong(draw, stats.t_interval, runs) >= 0.15  # 0.05 is what it claims


def test_limits_are_means_against_which_the_capital_reaches_the_level():
    d = np.array([1.0, 0.0, -1.0, 0.5] * 250)
    low, high = stats.confidence_sequence(d, lowest=-1, highest=1, confidence=0.9)
    for limit, values in ((low, d), (-high, -d)):
        fractions = 0.99 / 2 ** np.arange(12)
        growth = [np.prod(1 + f * ((values + 1) / (limit + 1) - 1)) for f in fractions]
        assert np.mean(growth) == pytest.approx(20)


def test_the_capital_is_a_fair_game():
    """Its mean over all samples of four hits or misses is 1, if the probability of a hit is that of the bet."""
    hits = np.arange(5)
    counts = np.stack([4 - hits, hits], axis=1)
    chance = np.array([math.comb(4, int(k)) * 0.3**k * 0.7 ** (4 - k) for k in hits])
    assert chance @ np.exp(log_capital(np.array([0.0, 1.0]), counts, 0.3)) == pytest.approx(1)


def test_order_does_not_matter_and_sides_are_mirrored():
    d = rare_loss(300, np.random.default_rng(3))
    one = stats.confidence_sequence(d, lowest=-1, highest=1)
    assert tuple(stats.confidence_sequence(np.sort(d), lowest=-1, highest=1)) == tuple(one)
    turned = stats.confidence_sequence(-d, lowest=-1, highest=1)
    assert (-turned.high, -turned.low) == pytest.approx(tuple(one))


def test_differences_have_the_range_of_both_values():
    x, y = [1.0, 0.5, 0.0, 1.0] * 20, [0.0, 0.5, 0.5, 0.0] * 20
    both = stats.confidence_sequence(x, y, lowest=0, highest=1)
    assert tuple(both) == tuple(stats.confidence_sequence(np.subtract(x, y), lowest=-1, highest=1))


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_values_that_do_not_vary_leave_room_for_unseen_ones(value):
    interval = stats.confidence_sequence([value] * 50, lowest=0, highest=1)
    assert interval.low <= value <= interval.high
    assert 0.05 < interval.high - interval.low < 0.4
    none = stats.confidence_sequence([], lowest=0, highest=1)
    assert tuple(none) == (0, 1)


def test_width_is_about_twice_that_of_a_t_interval():
    d = np.random.default_rng(2).uniform(-0.5, 0.5, 20_000)
    for n in (500, 20_000):
        one, many = stats.t_interval(d[:n]), stats.confidence_sequence(d[:n], lowest=-1, highest=1)
        assert 1.4 < (many.high - many.low) / (one.high - one.low) < 2.1


def test_what_it_refuses():
    for options in (
        {"lowest": 0, "highest": math.inf},
        {"lowest": 1, "highest": 1},
        {"confidence": 1.0},
    ):
        with pytest.raises(ParameterError):
            stats.confidence_sequence([0.5, 1.0], **({"lowest": 0, "highest": 1} | options))
    with pytest.raises(InputError, match="outside 0 to 1"):
        stats.confidence_sequence([0.5, 1.5], lowest=0, highest=1)
