from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.ragged import bucket, offsets, reorder, rows_of_groups, similar


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


def test_rows_of_adjacent_groups_are_a_slice_and_a_group_may_come_twice():
    starts = np.array([0, 3, 4, 4, 6])
    rows, edges = rows_of_groups(starts, np.array([1, 2, 3]))
    assert (rows, edges.tolist()) == (slice(3, 6), [0, 1, 1, 3])
    rows, edges = rows_of_groups(starts, np.array([3, 3]))
    assert (rows.tolist(), edges.tolist()) == ([4, 5, 4, 5], [0, 2, 4])


def test_segments_without_rows_are_in_no_part():
    parts = similar(np.array([0, 0, 1, 1, 3]), 100)
    assert [part.tolist() for part in parts] == [[1], [3]]
