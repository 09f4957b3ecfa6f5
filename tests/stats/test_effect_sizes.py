"""Effect sizes, lifts and the sentence of a test, against plain definitions and at their edges."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gamma
from scipy.stats import t, ttest_rel

from rankwise import stats
from rankwise.core import kernels
from rankwise.errors import InputError
from rankwise.stats.differences import differences
from rankwise.stats.effect_sizes import deltas_of_pairs, fieller, lift_interval, magnitude

X = np.array([0.9, 0.4, 0.5, 0.7, 0.2, 0.6, 0.3, 0.8])
Y = np.array([0.6, 0.5, 0.5, 0.3, 0.2, 0.1, 0.4, 0.6])


def test_effects_are_those_of_their_definitions():
    sizes, d = stats.effect(X, Y), (X - Y).round(12)
    assert sizes.d_z == pytest.approx(d.mean() / d.std(ddof=1))
    assert sizes.d_av == pytest.approx(d.mean() / math.sqrt((X.var(ddof=1) + Y.var(ddof=1)) / 2))
    assert sizes.hedges_g == pytest.approx(sizes.d_z * gamma(3.5) / gamma(3) / math.sqrt(3.5))
    assert (sizes.wins, sizes.ties, sizes.losses, sizes.dominance) == (4, 2, 2, 0.25)
    pairs = list(itertools.product(X, Y))
    assert sizes.cliffs_delta == pytest.approx(sum(np.sign(x - y) for x, y in pairs) / 64)
    # |d|: 0.1 twice (ranks 1.5, lost), 0.2 (3), 0.3 (4), 0.4 (5), 0.5 (6)
    assert sizes.rank_biserial == pytest.approx((3 + 4 + 5 + 6 - 1.5 - 1.5) / 21)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_effects_of_few_pairs(n):
    sizes = stats.effect(X[:n], Y[:n])
    assert math.isnan(sizes.d_z) == (n < 2)
    assert math.isnan(sizes.d_av) == (n < 2)
    assert math.isnan(sizes.hedges_g) == (n < 3)
    assert math.isnan(sizes.dominance) == (n < 1)
    assert math.isnan(sizes.rank_biserial) == (n < 1)
    if n == 3:
        assert sizes.hedges_g == pytest.approx(sizes.d_z * gamma(1) / gamma(0.5))


def test_effects_without_variance():
    same, shifted = stats.effect([0.5, 0.5], [0.5, 0.5]), stats.effect([0.5, 0.5], [0.25, 0.25])
    assert (same.d_z, same.d_av, same.rank_biserial, same.cliffs_delta, same.ties) == (
        0,
        0,
        0,
        0,
        2,
    )
    assert math.isnan(shifted.d_av)
    assert math.isnan(shifted.d_z)
    assert (shifted.rank_biserial, shifted.dominance) == (1, 1)


WORDS = {
    math.nan: "undefined",
    0.0: "negligible",
    0.1999: "negligible",
    0.2: "small",
    -0.4999: "small",
    0.5: "medium",
}


@pytest.mark.parametrize(
    ("d", "word"), (WORDS | {0.7999: "medium", -0.8: "large", 3.0: "large"}).items()
)
def test_words_begin_at_their_limits(d, word):
    assert magnitude(d) == word


VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.25, 0.5, -1.0, math.inf]),
    st.floats(-3, 3).map(lambda v: round(v, 3)),
)


@given(st.lists(st.lists(VALUES, min_size=1, max_size=9), min_size=2, max_size=5))
def test_deltas_of_pairs_are_those_of_each_pair(columns):
    columns = [np.array(column) for column in columns]
    pairs = list(itertools.product(range(len(columns)), repeat=2))

    def plain(x, y):
        return ((x > y[:, None]).sum() - (x < y[:, None]).sum()) / (len(x) * len(y))

    expected = [plain(columns[a], columns[b]) for a, b in pairs]
    assert deltas_of_pairs(columns, pairs) == pytest.approx(expected)
    with kernels.without_library():
        assert deltas_of_pairs(columns, pairs) == pytest.approx(expected)


def test_values_that_differ_by_rounding_are_equal_and_nan_has_no_place():
    for road in (nullcontext, kernels.without_library):
        with road():
            assert deltas_of_pairs(
                [np.array([0.1 + 0.2, -0.0]), np.array([0.3, 0.0])], [(0, 1)]
            ) == [0.0]
            assert deltas_of_pairs(
                [np.array([-0.0, -5e-324]), np.array([2.0**-1062, 5e-324])], [(0, 1)]
            ) == [0.0]
            assert deltas_of_pairs([np.array([0.3 + 1e-11]), np.array([0.3])], [(0, 1)]) == [1.0]
            assert math.isnan(deltas_of_pairs([np.array([1.0]), np.empty(0)], [(0, 1)])[0])
    with pytest.raises(InputError, match="NaN"):
        deltas_of_pairs([np.array([0.5, math.nan]), np.array([0.5])], [(0, 1)])


def test_more_columns_than_a_key_can_number_are_compared_in_pairs():
    columns = [np.array([float(at), 1.0]) for at in range(4097)]
    assert deltas_of_pairs(columns, [(4096, 0), (0, 1)]) == deltas_of_pairs(
        [columns[4096], *columns[:2]], [(0, 1), (1, 2)]
    )


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_lift_is_the_set_of_ratios_that_a_t_test_does_not_reject(confidence):
    x, y = X + 0.2, Y + 0.3
    lift, low, high = lift_interval(differences(x, y), confidence=confidence)
    assert lift == pytest.approx(x.mean() / y.mean() - 1)
    quantile = t.ppf((1 + confidence) / 2, 7)
    for limit, side in ((low, 1), (high, -1)):
        z = x - (1 + limit) * y
        assert z.mean() / (z.std(ddof=1) / math.sqrt(8)) == pytest.approx(side * quantile)
    assert low < lift < high


def test_lifts_that_are_not_known():
    nan = pytest.approx(math.nan, nan_ok=True)
    assert lift_interval(differences([0.5], [0.4]), confidence=0.95) == (nan, nan, nan)
    assert lift_interval(differences([0.5, 0.5], [0.25, 0.25]), confidence=0.95) == (1.0, nan, nan)
    assert lift_interval(differences([0.5, 0.5], [0.0, 0.0]), confidence=0.95) == (nan, nan, nan)
    assert lift_interval(differences([0.5, 0.4], [0.1, -0.1]), confidence=0.95) == (nan, nan, nan)
    square = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert fieller((3.0, 2.0), 1.0, square, 2.0) == (0.5, nan, nan)  # y is q standard errors from 0
    _, low, high = fieller((3.0, 2.0), 1.0, square, 1.99)
    assert low < 0.5 < high
    assert fieller((3.0, 0.0), 3.0, square, 2.0) == (nan, nan, nan)


def test_the_interpretation_of_a_test():
    higher = X + 0.3 + Y / 10
    assert stats.paired_t_test(X, higher).interpretation == "significant"
    assert stats.paired_t_test(higher, X).interpretation == "significant"
    assert stats.paired_t_test(X, Y).interpretation == "not significant"
    assert (
        stats.paired_t_test([0.5], [0.25]).interpretation == "not significant"
    )  # one user has no p
    p = ttest_rel(Y, X).pvalue
    for alpha in (p * 1.001, p):  # significant is below the level
        test = stats.paired_t_test(X, Y, alpha)
        assert test.significant == (alpha > p)
        assert test.interpretation == ("significant" if alpha > test.p_value else "not significant")
