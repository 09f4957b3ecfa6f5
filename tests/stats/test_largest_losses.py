"""The largest loss of an unseen user that a difference bears, against an exact inversion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core import kernels
from rankwise.stats.bounded_means import BoundedMean, bounded_lift
from rankwise.stats.bounds_of_pairs import BoundedPairs, Histogram, bounded_lifts
from rankwise.stats.differences import differences


def exact_p(losses, unseen):
    """P(Σ E u + E L ≥ 0) by partial fractions of distinct exponential rates, in exact order.

    The sum of positive parts against that of negative ones: with distinct values the probability is
    a sum over the positive values, ∏ u_i / (u_i − u_j) over the others.
    """
    values = np.append(losses, unseen)
    total = 0.0
    for i, own in enumerate(values):
        if own > 0:
            others = np.delete(values, i)
            total += float(np.prod(own / (own - others)))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_loss_is_where_p_reaches_the_level(seed):
    rng = np.random.default_rng(seed)
    losses = rng.permutation(np.linspace(-0.3, 0.04, 8)) + 1e-3 * rng.random(8)
    for level in (0.025, 0.1):
        found = BoundedMean.of(losses, 1.0).largest_loss(level)
        least = max(float(losses.max()), 0.0)
        if math.isnan(found):
            assert exact_p(losses, max(least, 1e-9)) > 0.9 * level
            continue
        assert found > least
        assert exact_p(losses, found) == pytest.approx(level, rel=0.1)


def test_of_one_value_it_has_a_closed_form():
    for n, gain, level in ((100, 0.03, 0.025), (1000, 0.03, 0.025), (2, 0.5, 0.025)):
        found = BoundedMean.of(np.full(n, -gain), 1.0).largest_loss(level)
        assert found == pytest.approx(gain / (level ** (-1 / n) - 1), rel=1e-12)
    # Identical systems and a margin of 0.01: the loss that is possible, from 299 users on.
    same = [BoundedMean.of(np.zeros(n), 1.0).largest_loss(0.05, 0.01) for n in (298, 299)]
    assert same[0] < 1 < same[1]


def test_without_a_gain_or_with_too_large_a_loss_there_is_none():
    assert math.isnan(BoundedMean.of(np.zeros(30), 1.0).largest_loss(0.025))
    assert math.isnan(BoundedMean.of(np.full(30, 0.1), 1.0).largest_loss(0.025))
    losses = np.repeat([-1.0, 1.0, 0.0], [12, 4, 84])
    assert BoundedMean.of(losses, 1.0).p(0.0) > 0.025
    assert math.isnan(BoundedMean.of(losses, 1.0).largest_loss(0.025))


def sample(n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, n)) * (rng.random((2, n)) < 0.3)
    return differences(np.clip(x + 0.05, 0, 1), y)


@pytest.mark.parametrize("n", [12, 300, 20_000])
def test_many_pairs_at_once_have_the_numbers_of_each(n):
    pairs = [sample(n, seed) for seed in range(5)]
    of_all = BoundedPairs.of(pairs, 1.0)
    low, high = of_all.limits(0.05)
    losses = of_all.largest_losses(np.full(5, 0.025))
    for at, pair in enumerate(pairs):
        gains, own = (BoundedMean.of_pairs(pair, 1.0, side) for side in (1, -1))
        assert high[at] == pytest.approx(gains.limit(0.975), abs=1e-6)
        assert low[at] == pytest.approx(-own.limit(0.975), abs=1e-6)
        side = own if pair.mean > 0 else gains
        assert losses[at] == pytest.approx(side.largest_loss(0.025), rel=1e-4, nan_ok=True)
        assert of_all.p[at] == pytest.approx(min(2 * side.p(0.0), 1.0), rel=1e-9)


@given(
    values=st.lists(st.floats(-1, 1), min_size=2, max_size=30),
    levels=st.tuples(st.floats(1e-4, 0.2), st.floats(1e-4, 0.2)),
)
def test_it_grows_with_the_level_and_agrees_with_p(values, levels):
    losses = BoundedMean.of(np.array(values), 1.0)
    strict, loose = (losses.largest_loss(level) for level in sorted(levels))
    assert math.isnan(strict) or loose >= strict * (1 - 1e-9)
    if not math.isnan(strict):
        at_it = BoundedMean.of(np.array(values), strict).p(0.0)
        assert at_it == pytest.approx(min(levels), rel=1e-3)


def test_lifts_of_many_pairs_are_those_of_each_with_and_without_kernels():
    pairs = [sample(60, seed) for seed in range(6)]
    each = np.array([bounded_lift(pair, (0.0, 1.0), confidence=0.95)[1:] for pair in pairs])
    together = np.array(bounded_lifts(pairs, (0.0, 1.0), 0.05)).T
    with kernels.without_library():
        plain = np.array(bounded_lifts(pairs, (0.0, 1.0), 0.05)).T
    assert together == pytest.approx(each, rel=1e-5, nan_ok=True)
    assert plain == pytest.approx(together, rel=1e-9, nan_ok=True)


def test_histograms_of_parts_add_up_to_the_whole():
    whole = sample(3000, 1)
    parts = [
        Histogram.of(differences(whole.x[rows], whole.y[rows]), 1.0)
        for rows in (slice(0, 700), slice(700, 3000))
    ]
    added = (parts[0] + parts[1]).pairs()
    exact = BoundedPairs.of([whole], 1.0)
    assert added.counts.sum() == 3000
    assert added.p[0] == pytest.approx(exact.p[0], rel=0.01)
    assert np.array(added.limits(0.05)) == pytest.approx(np.array(exact.limits(0.05)), abs=1e-4)
