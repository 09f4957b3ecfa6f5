from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.arrays import LARGEST, exact_sums, read_sums
from rankwise.errors import ScoreError

VALUES = st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=60)


@given(VALUES, st.randoms())
def test_the_order_does_not_matter_and_the_sum_is_right(values, shuffled):
    def total(numbers, parts):
        pieces = np.array_split(np.array(numbers), parts)
        sums = [exact_sums(np.zeros(len(piece), dtype=np.int64), piece, 1) for piece in pieces]
        added = {part: sum(own[part] for own in sums) for part in sums[0]}
        return float(read_sums(added)[0])

    once = total(values, 1)
    mixed = list(values)
    shuffled.shuffle(mixed)
    assert total(mixed, 3) == once
    assert abs(once - float(sum(map(Fraction, values)))) <= len(values) * 2.0**-53 + math.ulp(once)


def test_the_largest_values_add_up():
    many = np.full(1000, LARGEST)
    parts = exact_sums(np.zeros(1000, dtype=np.int64), many, 2)
    assert read_sums(parts).tolist() == [1000 * LARGEST, 0.0]


def test_what_is_too_large_is_refused():
    with pytest.raises(ScoreError, match="too large to be added up exactly"):
        exact_sums(np.zeros(1, dtype=np.int64), np.array([2 * LARGEST]), 1)
