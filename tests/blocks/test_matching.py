"""The hot loop against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.blocks.matching import match
from rankwise.core.ragged import offsets, segments_of


def by_dictionary(items, starts, judged, judged_starts):
    rows, found, repeated = [], [], 0
    for at in range(len(starts) - 1):
        own = {int(judged[j]): j for j in range(judged_starts[at], judged_starts[at + 1])}
        seen = set()
        for row in range(starts[at], starts[at + 1]):
            item = int(items[row])
            repeated += item in seen
            seen.add(item)
            if item in own:
                rows.append(row)
                found.append(own[item])
    return rows, found, repeated


def draw(generator, n_lists, catalogue, longest, *, uniform=False):
    lengths = np.full(n_lists, longest) if uniform else generator.integers(1, longest + 1, n_lists)
    items = [generator.choice(catalogue, n, replace=False) for n in lengths]
    judged = [
        np.unique(np.concatenate([own[: generator.integers(0, 4)], generator.choice(catalogue, 3)]))
        if generator.random() < 0.8
        else own[:0]
        for own in items
    ]
    return (
        np.concatenate(items),
        offsets(lengths),
        np.concatenate(judged),
        offsets(np.array([len(own) for own in judged])),
    )


@pytest.mark.parametrize("catalogue", [15, 1000, 2**33])
@given(seed=st.integers(0, 2**32), n_lists=st.integers(1, 60), uniform=st.booleans())
def test_random_lists(catalogue, seed, n_lists, uniform):
    generator = np.random.default_rng(seed)
    pool = np.arange(15) if catalogue == 15 else np.unique(generator.integers(0, catalogue, 400))
    data = draw(generator, n_lists, pool, 9, uniform=uniform)
    rows, found, _ = by_dictionary(*data)
    ours = match(*data)
    assert ours.rows.tolist() == rows
    assert ours.judged.tolist() == found
    assert ours.lists.tolist() == segments_of(data[1], ours.rows).tolist()
    assert len(ours.repeated) == 0


def test_many_rows_that_share_places():
    # Enough rows that thousands lose their place in the table and are settled in further rounds.
    generator = np.random.default_rng(3)
    data = draw(generator, 12_000, np.arange(300), 20)
    rows, found, _ = by_dictionary(*data)
    ours = match(*data)
    assert ours.rows.tolist() == rows
    assert ours.judged.tolist() == found


def test_items_that_differ_by_the_size_of_the_table():
    # The first round's places depend on the item modulo the table: all of these collide.
    items = np.arange(50, dtype=np.int64) << 20
    ours = match(items, np.array([0, 50]), items[::-1].copy(), np.array([0, 50]))
    assert ours.rows.tolist() == list(range(50))
    assert ours.judged.tolist() == list(range(49, -1, -1))


def test_a_list_longer_than_a_part():
    items = np.random.default_rng(0).permutation(200_000)
    ours = match(items, np.array([0, 200_000]), np.array([items[-1], items[0]]), np.array([0, 2]))
    assert ours.rows.tolist() == [0, 199_999]
    assert ours.judged.tolist() == [1, 0]


@given(seed=st.integers(0, 2**32))
def test_repetitions_are_found(seed):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 8, 40)
    items, starts = generator.integers(0, 10, lengths.sum()), offsets(lengths)
    none = np.empty(0, dtype=np.int64)
    ours = match(items, starts, none, np.zeros(41, dtype=np.int64))
    assert len(ours.repeated) == by_dictionary(items, starts, none, np.zeros(41, dtype=int))[2]


def test_no_lists():
    none = np.empty(0, dtype=np.int64)
    assert len(match(none, np.array([0]), none, np.array([0])).rows) == 0


def test_lists_whose_judged_items_are_elsewhere():
    items, starts = np.array([5, 3, 9, 7, 8]), np.array([0, 2, 3, 5])
    judged, judged_starts = np.array([8, 3, 7, 1, 5]), np.array([0, 3, 5])
    for groups, rows, found in (
        ([1, -1, 0], [0, 3, 4], [4, 2, 0]),
        ([0, 1, -1], [1], [1]),
        ([-1, -1, -1], [], []),
    ):
        ours = match(items, starts, judged, judged_starts, np.array(groups))
        assert (ours.rows.tolist(), ours.judged.tolist()) == (rows, found)


@pytest.mark.parametrize("n_lists", [5, 2**20 + 5, 2**21 + 5])
def test_a_row_after_many_empty_lists(n_lists):
    """Each list has a judged item, and only the last has a row."""
    starts = np.zeros(n_lists + 1, dtype=np.int64)
    starts[-1] = 1
    item = np.array([3])
    found = match(item, starts, item.repeat(n_lists), np.arange(n_lists + 1))
    assert (found.rows.tolist(), found.judged.tolist()) == ([0], [n_lists - 1])
    assert (found.lists.tolist(), found.repeated.tolist()) == ([n_lists - 1], [])
