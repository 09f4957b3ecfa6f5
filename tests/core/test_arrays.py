"""Sums by index, exact sums and thresholds, with numbers worked by hand."""

from __future__ import annotations

import math
import sys
import types
from fractions import Fraction

import numpy as np
import pytest

from rankwise.core import arrays, kernels
from rankwise.core.arrays import (
    EXACT_PARTS,
    LARGEST,
    ExactTotal,
    SortedValues,
    at_least,
    bincount,
    count,
    exact_sums,
    is_masked,
    namespace,
    read_sums,
    sum_whole,
)
from rankwise.errors import ScoreError


def test_sums_by_index_have_a_place_for_every_index():
    index = np.array([0, 2, 0])
    found = [
        bincount(index, np.array([1.0, 2.0, 3.5]), 4),
        sum_whole(index, np.array([1.0, 2.0, 3.0]), 4),
        count(index, 4),
    ]
    assert [sums.tolist() for sums in found] == [[4.5, 0.0, 2.0, 0.0], [4, 0, 2, 0], [2, 0, 1, 0]]
    assert [sums.dtype for sums in found] == [np.float64, np.int64, np.int64]


def test_sums_of_no_rows_are_zeros_of_their_type():
    nothing = np.empty(0, dtype=np.int64)
    assert bincount(nothing, np.empty(0), 2).dtype == np.float64
    assert bincount(nothing, np.empty(0), 2).tolist() == [0.0, 0.0]
    assert sum_whole(nothing, nothing, 2).dtype == np.int64
    assert count(nothing, 2).tolist() == [0, 0]


def test_arrays_of_numpy_belong_to_numpy_itself():
    assert namespace(np.zeros(1), np.zeros(2)) is np


@pytest.mark.parametrize(
    "value", [0.1, -0.1, 1 / 3, 2.0**30, -(2.0**30), 5.0, 2.0**-26, 3 * 2.0**-52, 2.0**-54]
)
def test_parts_of_a_sum_are_whole_numbers_that_miss_at_most_half_a_unit(value):
    parts = exact_sums(np.array([1]), np.array([value]), 2)
    assert tuple(parts) == EXACT_PARTS == ("whole", "middle", "low")
    whole, middle, low = (int(part[1]) for part in parts.values())
    exact = Fraction(whole) + Fraction(middle, 2**26) + Fraction(low, 2**52)
    assert abs(exact - Fraction(value)) <= Fraction(1, 2**53)
    assert whole == round(value)
    assert abs(middle) <= 2**25
    assert abs(low) <= 2**25
    assert read_sums(parts)[1] == pytest.approx(value, abs=2.0**-53)
    assert [int(part[0]) for part in parts.values()] == [0, 0, 0]


def test_values_within_a_billion_of_0_are_added_up_and_no_others():
    beyond = np.nextafter(LARGEST, math.inf)
    assert LARGEST == 1_073_741_824
    for sign in (1, -1):
        assert read_sums(exact_sums(np.zeros(2, dtype=int), np.full(2, sign * LARGEST), 1)) == [
            2 * sign * LARGEST
        ]
        with pytest.raises(ScoreError, match="too large") as caught:
            exact_sums(np.zeros(2, dtype=int), np.array([1.0, sign * beyond]), 1)
        assert caught.value.found == "1.07374e+09, at most 1.07374e+09"


def test_a_total_counts_the_smallest_float_once():
    assert ExactTotal.of([5e-324]) == ExactTotal(1, 0.0)
    assert ExactTotal.of([1.0]).units == 2**1074
    assert ExactTotal.of([0.5, 0.25]).exact == Fraction(3, 4)
    assert ExactTotal(-3).value == -1.5e-323


@pytest.mark.parametrize("compiled", [True, False])
def test_known_numbers_are_summed_and_counted(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(kernels, "_off", [True])
    values = np.tile([0.1, np.nan, 2.0], 50)
    total, n = ExactTotal.of_known(values)
    assert (total.exact, n) == (50 * (Fraction(0.1) + 2), 100)
    total, n = ExactTotal.of_known(np.full(100, 0.1))
    assert (total.exact, n) == (100 * Fraction(0.1), 100)
    total, n = ExactTotal.of_known(np.array([np.inf, np.nan, 1.0]))
    assert (total.value, total.units, n) == (math.inf, 2**1074, 2)
    assert ExactTotal.of_known(np.array([np.nan])) == (ExactTotal(), 0)


def test_a_total_does_not_depend_on_its_steps(monkeypatch):
    values = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50)
    whole = ExactTotal.of(values)
    monkeypatch.setattr(kernels, "_off", [True])
    monkeypatch.setattr(arrays, "_CHUNK", 3)
    assert ExactTotal.of(values) == whole
    assert whole.exact == sum(map(Fraction, values.tolist()))


def test_a_product_has_both_of_its_halves():
    left, right = np.array([1e8 + 1, -0.1]), np.array([1e8 - 1, 0.3])
    exact = Fraction(10**16 - 1) + Fraction(-0.1) * Fraction(0.3)
    assert ExactTotal.of_products(left, right).exact == exact
    assert ExactTotal.of_products(left[:0], right[:0]) == ExactTotal()


@pytest.mark.parametrize(
    ("relevance", "threshold", "expected"),
    [
        (0.7, 0.7, True),
        (np.float32(0.7), 0.7, True),  # 0.69999999 as a double
        (np.nextafter(np.float64(np.float32(0.7)), 0), 0.7, False),
        (np.nextafter(np.float64(np.float32(0.7)), 1), 0.7, False),
        (0.1, 0.1, True),
        (np.float32(0.1), 0.1, True),  # above 0.1
        (np.nextafter(0.1, 0), 0.1, False),
        (3.0, 3, True),
        (2.9999, 3, False),
        (0.0, 1e-60, False),  # 0 in single precision
        (1e-60, 1e-60, True),
        (np.inf, 1e300, True),  # infinite in single precision
        (1e299, 1e300, False),
        (0.0, 0.0, True),
        (-0.7, -0.7, True),
        (np.float32(-0.3), -0.3, True),  # -0.30000001 as a double
        (np.inf, -np.inf, True),
        (-np.inf, -1e300, False),
    ],
)
def test_a_relevance_reaches_a_threshold_in_double_or_single_precision(
    relevance, threshold, expected
):
    assert at_least(np.array([relevance], dtype=np.float64), threshold).tolist() == [expected]


def test_values_in_any_order_and_shares_are_sorted():
    values = SortedValues((np.array([2.0, 1.0]),)) + SortedValues((np.array([0.5, 3.0]),))
    assert values.ascending.tolist() == [0.5, 1.0, 2.0, 3.0]
    assert (SortedValues() + SortedValues()).ascending.tolist() == []


def test_a_module_that_is_being_loaded_has_no_masked_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert not is_masked([1])
