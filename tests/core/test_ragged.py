from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.ragged import bucket, offsets, reorder


@given(st.lists(st.integers(0, 9)))
def test_bucket_is_a_stable_sort(codes):
    starts, order = bucket(np.array(codes, dtype=np.int64), 10)
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert np.diff(starts).tolist() == [codes.count(code) for code in range(10)]


@given(st.lists(st.lists(st.integers(-3, 3), min_size=0, max_size=9)), st.booleans(), st.booleans(), st.integers(1, 3))
def test_reorder_is_a_sort_of_each_segment(segments, use_breaker, descending, threads):
    starts = offsets(np.array([len(s) for s in segments], dtype=np.int64))
    keys = np.array([key for s in segments for key in s], dtype=np.float64)
    tie = np.random.default_rng(0).permutation(len(keys))
    rows = np.arange(len(keys))
    breaker = (lambda rows: tie[rows]) if use_breaker else None
    ours, ordered = reorder(starts, keys, [rows, keys], breaker=breaker, descending=descending, threads=threads)
    sign = -1 if descending else 1
    expected = []
    for at in range(len(segments)):
        own = range(starts[at], starts[at + 1])
        expected += sorted(own, key=lambda r: (sign * keys[r], tie[r] if use_breaker else r))
    assert ours.tolist() == expected
    assert ordered.tolist() == keys[expected].tolist()
    assert rows.tolist() == list(range(len(keys)))
