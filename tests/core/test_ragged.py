from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core import kernels, ragged
from rankwise.core.ragged import (
    UserItems,
    are_distinct,
    are_small,
    batches_by_length,
    counting_sort,
    expand_runs,
    group,
    offsets,
    padded_rows,
    positions,
    ragged_rows,
    rows_of_groups,
    runs,
    segments_of,
    sort_segments,
    user_runs,
)
from rankwise.core.vocabularies import IntegerVocabulary, vocabulary_for


@given(st.lists(st.integers(0, 9)))
def test_bucket_is_a_stable_sort(codes):
    starts, order = counting_sort(np.array(codes, dtype=np.int64), 10)
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert np.diff(starts).tolist() == [codes.count(code) for code in range(10)]


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=0, max_size=9)),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
)
def test_reorder_is_a_sort_of_each_segment(segments, use_breaker, descending, threads):
    starts = offsets(np.array([len(s) for s in segments], dtype=np.int64))
    keys = np.array([key for s in segments for key in s], dtype=np.float64)
    tie = np.random.default_rng(0).permutation(len(keys))
    rows = np.arange(len(keys))
    breaker = (lambda rows: tie[rows]) if use_breaker else None
    ours, ordered = sort_segments(
        starts, keys, [rows, keys], breaker=breaker, descending=descending, threads=threads
    )
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
    parts = batches_by_length(np.array([0, 0, 1, 1, 3]), 100)
    assert [part.tolist() for part in parts] == [[1], [3]]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])  # compiled loops take 64-bit items
@pytest.mark.parametrize("low", [0, -5])
@pytest.mark.parametrize("has_largest", [False, True])
def test_rows_are_grouped_by_user_in_their_order(threads, dtype, low, has_largest, monkeypatch):
    monkeypatch.setattr(ragged, "_STEP", 50)  # several shares of few rows
    rng = np.random.default_rng(0)
    codes, items, score = (
        rng.integers(0, 7, 900),
        rng.integers(low, 40, 900).astype(dtype),
        rng.random(900),
    )
    if has_largest:
        items[5] = np.iinfo(dtype).max
    groups, moved, ordered = ragged.group_scored_items(codes, 9, items, score, threads)
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
        assert kernels.load() is None
        return
    users, starts, placed = ragged.place_by_rank(
        counts, codes[order], rank[order], items[order], threads, base
    )
    assert (users.tolist(), starts.tolist()) == ([0, 2, 3], [0, 200, 201, 351])
    assert placed.tolist() == items.tolist()
    twice, beyond = rank.copy(), rank.copy()
    twice[5], beyond[199] = twice[4], base + 200
    for wrong in (twice, beyond):
        assert (
            ragged.place_by_rank(counts, codes[order], wrong[order], items[order], threads, base)
            is None
        )
    assert (
        ragged.place_by_rank(counts, codes[order], rank[order], items[order], threads, 1 - base)
        is None
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_rows_whose_id_is_not_that_before(dtype):
    ids = np.array([3, 3, 5, 5, 5, 3, 4], dtype=dtype)
    for first, stop in ((1, 7), (3, 6), (2, 2)):
        rows = kernels.changes(ids, first, stop)
        assert (rows is None) == (kernels.load() is None)  # without compiled loops NumPy finds them
        assert rows is None or rows.tolist() == [at for at in (2, 5, 6) if first <= at < stop]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [2, 2, 2], [2, 0, 3, 1], [0, 3]])
def test_every_row_has_its_segment_and_its_position_there(lengths):
    starts = offsets(np.array(lengths, dtype=np.int64))
    expected = [(segment, at) for segment, length in enumerate(lengths) for at in range(length)]
    assert starts.tolist() == [0, *np.cumsum(lengths, dtype=int).tolist()]
    rows = np.arange(len(expected))
    assert (
        list(zip(segments_of(starts, rows).tolist(), positions(starts).tolist(), strict=True))
        == expected
    )
    assert segments_of(starts, rows[::-1]).tolist() == [segment for segment, _ in expected[::-1]]


@pytest.mark.parametrize(
    ("keys", "starts"),
    [
        ([[]], [0]),
        ([[7]], [0, 1]),
        ([[7, 7]], [0, 2]),
        ([[7, 8]], [0, 1, 2]),
        ([[1, 1, 2, 2, 1], [3, 3, 3, 4, 4]], [0, 2, 3, 4, 5]),
        ([[1, 1, 1], [2, 2, 2], [5, 6, 6]], [0, 1, 3]),
    ],
)
def test_a_run_ends_where_any_key_changes(keys, starts):
    assert runs(*(np.array(key, dtype=np.int64) for key in keys)).tolist() == starts


def test_ranges_of_rows_stand_one_after_the_other():
    assert ragged_rows(np.array([5, 9, 0]), np.array([2, 0, 3])).tolist() == [5, 6, 0, 1, 2]
    assert ragged_rows(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize(
    ("groups", "rows", "edges"),
    [
        ([], [], [0]),
        ([0], [0, 1, 2], [0, 3]),
        ([-1], [], [0, 0]),
        ([-1, 0], [0, 1, 2], [0, 0, 3]),
        ([0, -1, 3], [0, 1, 2, 4, 5], [0, 3, 3, 5]),
        ([1, 0], [3, 0, 1, 2], [0, 1, 4]),
        ([0, 1, 3], [0, 1, 2, 3, 4, 5], [0, 3, 4, 6]),
    ],
)
def test_rows_of_groups_in_any_order(groups, rows, edges):
    found, starts = rows_of_groups(np.array([0, 3, 4, 4, 6]), np.array(groups, dtype=np.int64))
    found = np.arange(6)[found]
    assert (found.tolist(), starts.tolist()) == (rows, edges)


def test_segments_are_similar_up_to_twice_the_shortest_and_few_rows_together():
    starts = offsets(np.array([1, 2, 3, 4, 5, 0, 8, 9]))
    assert [part.tolist() for part in batches_by_length(starts, 100)] == [
        [0],
        [1],
        [2, 3],
        [4, 6],
        [7],
    ]
    assert [part.tolist() for part in batches_by_length(starts, 8)] == [
        [0],
        [1],
        [2, 3],
        [4],
        [6],
        [7],
    ]
    assert [part.tolist() for part in batches_by_length(np.arange(6), 2)] == [[0, 1], [2, 3], [4]]
    assert [part.tolist() for part in batches_by_length(np.arange(4), 0)] == [[0], [1], [2]]


def test_segments_of_one_length_are_a_matrix_without_padding():
    starts = np.array([0, 2, 3, 5])
    rows, filled = padded_rows(starts, np.array([2, 0]))
    assert (rows.tolist(), filled) == ([[3, 4], [0, 1]], None)
    rows, filled = padded_rows(starts, np.array([1, 2]))
    assert filled.tolist() == [[True, False], [True, True]]
    assert rows[filled].tolist() == [2, 3, 4]
    assert rows.max() <= 4


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_largest_keys_stay_before_padding(descending, dtype, in_place):
    top = np.inf if dtype is np.float64 else np.iinfo(np.int64).max
    if descending and dtype is np.int64:
        top = 2**40
    keys = np.array([top, 1, top, 5, top, 2, 2], dtype=dtype)
    starts, rows = np.array([0, 3, 4, 7]), np.arange(7)
    (order,) = sort_segments(starts, keys, [rows], descending=descending, in_place=in_place)
    assert order.tolist() == ([0, 2, 1, 3, 4, 5, 6] if descending else [1, 0, 2, 3, 5, 6, 4])
    assert (order is rows) == in_place
    assert rows.tolist() == (order.tolist() if in_place else list(range(7)))


def test_the_breaker_orders_equal_keys_upwards_beside_padding():
    keys = np.array([np.inf, 1.0, np.inf, 5.0, 5.0])
    tie = np.array([9, 8, 3, 2, 1])
    for descending, expected in ((False, [1, 2, 0, 4, 3]), (True, [2, 0, 1, 4, 3])):
        (order,) = sort_segments(
            np.array([0, 3, 5]),
            keys,
            [np.arange(5)],
            breaker=lambda rows: tie[rows],
            descending=descending,
        )
        assert order.tolist() == expected


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_codes_are_bucketed_in_order_and_out_of_it(compiled, dtype):
    for codes in ([], [0], [2], [0, 0, 2], [2, 0, 2, 1], [1, 0]):
        with nullcontext() if compiled else kernels.without_library():
            starts, order = counting_sort(np.array(codes, dtype=dtype), 4)
        assert starts.tolist() == [0, *np.cumsum([codes.count(code) for code in range(4)]).tolist()]
        assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
        assert starts.dtype == np.int64


@pytest.mark.parametrize(
    ("codes", "size", "distinct"),
    [
        ([], 0, True),
        ([], 3, True),
        ([2], 3, True),
        ([0, 2], 3, True),
        ([2, 0], 3, True),
        ([2, 0, 1], 3, True),
        ([2, 0, 2], 3, False),
        ([0, 0], 3, False),
        ([0, 1, 0, 2], 3, False),
    ],
)
def test_codes_are_distinct_if_none_comes_twice(codes, size, distinct):
    assert are_distinct(np.array(codes, dtype=np.int64), size) is distinct


@pytest.mark.parametrize(
    ("items", "dtype", "small"),
    [
        ([], np.int64, True),
        ([2**31 - 1, 0], np.int64, True),
        ([2**31, 0], np.int64, False),
        ([-1], np.int64, False),
        ([2**31 - 1], np.int32, True),
        ([-1], np.int32, False),
        ([2**31 - 1], np.uint32, True),
        ([2**31], np.uint32, False),
        ([2**64 - 1], np.uint64, False),
        ([127], np.int8, True),
        ([-1], np.int8, False),
        ([255], np.uint8, True),
    ],
)
def test_small_items_are_from_0_and_fit_31_bits(items, dtype, small):
    assert are_small(np.array(items, dtype=dtype)) is small


def test_users_beyond_the_last_have_no_items_and_users_may_repeat():
    held = UserItems(np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    rows, starts = held.rows_of(np.array([2, 5, 0, 3]))
    assert (rows.tolist(), starts.tolist()) == ([2, 0, 1], [0, 1, 1, 3, 3])
    again = held.of(np.array([0, 1, 0, 2]))
    assert (again.starts.tolist(), again.items.tolist()) == ([0, 2, 2, 4, 5], [7, 8, 7, 8, 9])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "ids", [[3, 3, 3, 5, 5, 3, 3, 3], [3] * 8, [3, 5, 3, 5, 3], [3], [], [3, 4]]
)
def test_runs_of_users_are_found_unless_nearly_every_row_is_one(compiled, ids):
    users = pl.Series(ids, dtype=pl.Int64)
    heads = [at for at, user in enumerate(ids) if not at or user != ids[at - 1]]
    for column in (users, users.cast(pl.String)):
        vocabulary = vocabulary_for([column], dense=True)
        with nullcontext() if compiled else kernels.without_library():
            starts, codes = user_runs(column, vocabulary, 2)
        hardly_grouped = len(ids) > 1 and len(heads) - 1 > (len(ids) - 1) // 2
        assert (starts is None) == hardly_grouped
        assert vocabulary.decode(codes).cast(pl.Int64).to_list() == (
            ids if hardly_grouped else [ids[at] for at in heads]
        )
        assert starts is None or starts.tolist() == [*heads, len(ids)]
        assert expand_runs(codes, starts, len(ids)).tolist() == vocabulary.encode(column).tolist()


@pytest.mark.parametrize("ids", [[4, 4, 2, 2, 2], [4, 2, 4], [4, 4, 2, 4], [2, 2, 2], [], [1]])
def test_rows_of_a_user_are_one_group_wherever_they_stand(ids):
    groups = group(pl.Series(ids, dtype=pl.Int64), IntegerVocabulary(10))
    order = np.arange(len(ids)) if groups.order is None else groups.order
    bounds = zip(
        groups.user.tolist(), groups.starts[:-1].tolist(), groups.starts[1:].tolist(), strict=True
    )
    found = {user: order[first:stop].tolist() for user, first, stop in bounds}
    assert found == {
        user: [row for row, other in enumerate(ids) if other == user] for user in set(ids)
    }
    assert (groups.order is None) == (
        len(set(ids)) == sum(a != b for a, b in zip(ids, [None, *ids], strict=False))
    )
    assert groups.starts.dtype == np.int64


def test_counts_are_of_items_that_compiled_loops_take():
    codes = np.array([1, 0, 1])
    for items in (
        np.array([5, 2**31, 1]),
        np.array([5, -1, 1]),
        np.array([5, 6, 1], dtype=np.int32),
    ):
        assert ragged.Counts.of(codes, 3, items, 2) is None
    with kernels.without_library():
        assert ragged.Counts.of(codes, 3, np.array([5, 6, 1]), 2) is None
    counts = ragged.Counts.of(codes, 3, np.array([5, 6, 1]), 2)
    if kernels.load() is not None:
        assert counts.starts.tolist() == [0, 1, 3, 3]
        assert (counts.groups.user.tolist(), counts.groups.starts.tolist()) == ([0, 1], [0, 1, 3])
        assert counts.shares == [(0, 3)]  # few rows are for one thread
