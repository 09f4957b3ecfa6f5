from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core import kernels, ragged
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


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])  # compiled loops take 64-bit items
@pytest.mark.parametrize("low", [0, -5])
def test_rows_are_grouped_by_user_in_their_order(threads, dtype, low, monkeypatch):
    monkeypatch.setattr(ragged, "_STEP", 50)  # several shares of few rows
    rng = np.random.default_rng(0)
    codes, items, score = rng.integers(0, 7, 900), rng.integers(low, 40, 900).astype(dtype), rng.random(900)
    groups, moved, ordered = ragged.grouped(codes, 9, items, score, threads)
    order = sorted(range(900), key=lambda row: codes[row])
    assert moved.tolist() == items[order].tolist()
    assert ordered.tolist() == score[order].tolist()
    assert groups.user.tolist() == list(range(7))
    assert groups.starts.tolist() == [0, *np.cumsum(np.bincount(codes)).tolist()]


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("threads", [1, 3])
def test_ranks_that_count_up_place_the_items(base, threads, monkeypatch):
    monkeypatch.setattr(ragged, "_STEP", 20)
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 2, 3], [200, 1, 150])
    rank = np.concatenate([np.arange(n) + base for n in (200, 1, 150)])
    items, order = rng.permutation(351), rng.permutation(351)
    counts = ragged.Counts.of(codes[order], 5, items[order], threads)
    if counts is None:  # without compiled loops
        assert kernels.loaded() is None
        return
    users, starts, placed = ragged.placed(counts, codes[order], rank[order], items[order], threads, base)
    assert (users.tolist(), starts.tolist()) == ([0, 2, 3], [0, 200, 201, 351])
    assert placed.tolist() == items.tolist()
    twice, beyond = rank.copy(), rank.copy()
    twice[5], beyond[199] = twice[4], base + 200
    for wrong in (twice, beyond):
        assert ragged.placed(counts, codes[order], wrong[order], items[order], threads, base) is None
    assert ragged.placed(counts, codes[order], rank[order], items[order], threads, 1 - base) is None


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_rows_whose_id_is_not_that_before(dtype):
    ids = np.array([3, 3, 5, 5, 5, 3, 4], dtype=dtype)
    for first, stop in ((1, 7), (3, 6), (2, 2)):
        rows = kernels.changes(ids, first, stop)
        assert (rows is None) == (kernels.loaded() is None)  # without compiled loops NumPy finds them
        assert rows is None or rows.tolist() == [at for at in (2, 5, 6) if first <= at < stop]
