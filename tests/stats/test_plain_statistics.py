"""Numbers beside p-values and intervals, against plain definitions and published tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import rankdata, skew

from rankwise import stats
from rankwise.stats.differences import (
    SortedColumn,
    differences,
    moments_of_pairs,
    normal_probability,
    root_of,
    too_skewed,
)


def skewness(d):
    """The third central moment, in units of the deviation with n − 1."""
    return float(skew(d)) * (1 - 1 / len(d)) ** 1.5


GRADES = st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=60)


@given(GRADES, st.data())
def test_moments_of_pairs_are_those_of_their_differences(x, data):
    y = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(x), max_size=len(x)))
    (found,) = moments_of_pairs([SortedColumn(np.array(x)), SortedColumn(np.array(y))], [(0, 1)])
    d = np.array(x) - np.array(y)
    counts = ((d > 0).sum(), (d < 0).sum(), (np.array(x) + np.array(y) != 0).sum())
    assert (found.wins, found.losses, found.not_zero) == counts
    spread = d.std(ddof=1)
    third = skewness(d) if spread > 0 else 0.0
    expected = pytest.approx([d.mean(), spread, third], abs=1e-9)
    assert [found.mean, found.deviation, found.skewness] == expected


def test_nobody_has_no_moments():
    (found,) = moments_of_pairs([SortedColumn(np.empty(0))] * 2, [(0, 1)])
    assert (found.wins, found.losses, found.not_zero, found.skewness) == (0, 0, 0, 0.0)
    assert math.isnan(found.mean)
    assert math.isnan(found.deviation)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_pairs_are_too_skewed_below_25_times_their_squared_skewness(share):
    """Cochran's rule, with two standard errors of sqrt(6 / n) more: at which n it ends depends on the share."""
    found = []
    for n in range(40, 4000, 20):
        d = (np.arange(n) < round(share * n)) * 1.0
        needed = 25 * (abs(skewness(d)) + 2 * math.sqrt(6 / n)) ** 2
        assert too_skewed(differences(d)) == (n < needed), n
        found.append(n < needed)
    assert found[0]
    assert not found[-1]
    assert not too_skewed(differences(np.ones(40)))


# Demšar (2006), table 5(a): critical values of the Nemenyi test at 0.05.
NEMENYI = {3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 10: 3.164}


@pytest.mark.parametrize("k", NEMENYI)
@pytest.mark.parametrize("n", [5, 14])
def test_mean_ranks_and_their_critical_difference_are_those_of_the_literature(k, n):
    values = np.random.default_rng(k).random((n, k))
    found = stats.friedman(values)
    assert found.critical_difference == pytest.approx(
        NEMENYI[k] * math.sqrt(k * (k + 1) / (6 * n)), rel=2e-3
    )
    assert found.ranks == pytest.approx(np.mean([rankdata(-row) for row in values], axis=0))
    assert found.pairs.diagonal().tolist() == [1.0] * k
    assert found.pairs == pytest.approx(found.pairs.T)
    assert found.pairs[0, 1] >= stats.wilcoxon(values[:, 0], values[:, 1]).p


@given(GRADES, st.data())
def test_covariances_are_those_of_both_sides(x, data):
    y = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(x), max_size=len(x)))
    assert differences(x, y).covariance == pytest.approx(np.cov(x, y), abs=1e-12)


@given(
    root=st.floats(-3, 3),
    shape=st.sampled_from(
        [lambda d: d**3 + 0.1 * d, lambda d: math.expm1(3 * d), lambda d: math.atan(50 * d)]
    ),
    low=st.floats(-9, -4),
    high=st.floats(4, 9),
)
def test_a_root_is_found_from_both_ends(root, shape, low, high):
    for ends in ((low, high), (high, low)):
        assert root_of(lambda x: shape(x - root), *ends) == pytest.approx(root, abs=1e-11)


def test_a_root_at_an_end_or_after_an_infinite_value_is_found():
    assert root_of(lambda x: x, 0.0, 5.0) == root_of(lambda x: x, -5.0, 0.0) == 0.0
    assert root_of(lambda x: math.log(x) if x else -math.inf, 0.0, 9.0) == pytest.approx(
        1.0, abs=1e-11
    )
    with pytest.raises(ValueError, match="one sign"):
        root_of(lambda x: x * x + 1, -1.0, 2.0)


@given(z=st.floats(-37, 9))
def test_normal_probabilities_are_those_of_scipy(z):
    assert normal_probability(z) == pytest.approx(float(ndtr(z)), rel=1e-13)
