"""The exact total is the correctly rounded sum, whatever the order and the shares."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.arrays import ExactTotal, exact_bincount

FLOATS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50)


@given(FLOATS)
def test_it_is_the_correctly_rounded_sum(values):
    try:
        expected = math.fsum(values)
    except OverflowError:
        return
    assert ExactTotal.of(values).value == expected


@given(FLOATS, st.integers(0, 50))
def test_shares_add_up(values, at):
    first, second = ExactTotal.of(values[:at]), ExactTotal.of(values[at:])
    assert first + second == ExactTotal.of(values[::-1])


@given(st.lists(st.tuples(*[st.floats(-1e9, 1e9).map(lambda value: value + 0.1)] * 2), max_size=20))
def test_products_are_not_rounded(pairs):
    left, right = np.array(pairs).reshape(-1, 2).T
    total = ExactTotal.of_products(left, right)
    assert total.exact == sum(Fraction(a) * Fraction(b) for a, b in pairs)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e290, 1e305])
def test_many_values_of_every_size(scale):
    rng = np.random.default_rng(7)
    values = rng.normal(size=40_000) * scale * 10.0 ** -rng.integers(0, 30, 40_000)
    assert ExactTotal.of(values).value == math.fsum(values)


def test_a_sum_without_terms_changes_no_sum():
    for values in ([0.1, -3.5], [5e-324], [math.inf], []):
        total = ExactTotal.of(values)
        assert ExactTotal() + total == total + ExactTotal() == total - ExactTotal() == total
    assert ExactTotal() == ExactTotal.of([])


@given(FLOATS, st.integers(0, 50))
def test_a_share_that_is_subtracted_leaves_the_others(values, at):
    whole, first = ExactTotal.of(values), ExactTotal.of(values[:at])
    assert whole - first == ExactTotal.of(values[at:])


def test_beyond_the_floats():
    assert ExactTotal.of([1e308, 1e308]).value == math.inf
    assert ExactTotal.of([-1e308, -1e308]).value == -math.inf
    assert ExactTotal.of([1e308, 1e308, -1e308]).value == 1e308
    assert ExactTotal.of([1.0, math.inf]).value == math.inf
    assert math.isnan((ExactTotal.of([math.inf]) + ExactTotal.of([-math.inf])).value)
    assert (ExactTotal.of([math.inf]) - ExactTotal.of([-math.inf])).value == math.inf
    assert math.isnan(ExactTotal.of([1.0, math.nan]).value)
    assert ExactTotal.of([]).value == 0.0


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(width=64)), max_size=50))
def test_the_sums_of_groups_are_the_totals_of_their_rows(rows):
    index, values = (
        np.array([i for i, _ in rows], dtype=np.int64),
        np.array([value for _, value in rows]),
    )
    totals = [ExactTotal.of(values[index == group]).value for group in range(6)]
    np.testing.assert_array_equal(exact_bincount(index, values, 6), totals)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e290, 1e305])
@pytest.mark.parametrize("decades", [1, 30])
def test_the_sums_of_groups_of_many_values_of_every_size(scale, decades):
    rng = np.random.default_rng(7)
    values = rng.normal(size=40_000) * scale * 10.0 ** -rng.integers(0, decades, 40_000)
    index = rng.integers(0, 7, 40_000)
    totals = [math.fsum(values[index == group]) for group in range(7)]
    assert exact_bincount(index, values, 7).tolist() == totals
