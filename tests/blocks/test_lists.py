"""Rows to lists: used as they lie where they can be, put in order where they cannot."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.blocks import lists as module
from rankwise.blocks.lists import group_lists
from rankwise.core.vocabularies import IntegerVocabulary

USERS = pl.Series([4, 4, 2, 2, 2])
ITEMS = np.array([7, 1, 3, 9, 5])


def as_dict(arranged):
    return {
        int(user): arranged.items[a:b].tolist()
        for user, a, b in zip(arranged.user, arranged.starts[:-1], arranged.starts[1:], strict=True)
    }


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"rank": np.array([1, 2, 1, 2, 3])},
        {"rank": np.array([0, 1, 0, 1, 2])},
        {"score": np.array([0.9, 0.1, 3.0, 2.0, 1.0])},
        {"score": np.array([0.9, 0.1, 3.0, 2.0, 2.0]), "ties": "input"},
    ],
)
def test_rows_in_order_are_used_as_they_lie(how):
    arranged = group_lists(USERS, ITEMS, vocabulary=IntegerVocabulary(10), **how)
    assert arranged.items is ITEMS
    assert arranged.user.tolist() == [4, 2]
    assert as_dict(arranged) == {4: [7, 1], 2: [3, 9, 5]}


@pytest.mark.parametrize("base", [0, 1])
def test_rows_with_ranks_are_put_straight_in_their_places(monkeypatch, base):
    def never(*_, **__):
        raise AssertionError("a table with ranks 1, 2, 3, … needs no ordering")

    monkeypatch.setattr(module, "sort_segments", never)
    monkeypatch.setattr(module, "group_by_code", never)
    order = [3, 0, 4, 1, 2]
    arranged = group_lists(
        USERS[order],
        ITEMS[order],
        vocabulary=IntegerVocabulary(10),
        rank=np.array([0, 1, 0, 1, 2])[order] + base,
    )
    assert as_dict(arranged) == {4: [7, 1], 2: [3, 9, 5]}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(0, 3)), min_size=1),
    st.sampled_from(["rank", "score", "nothing"]),
    st.integers(1, 3),
)
def test_any_rows(rows, by, threads):
    users, ranks, scores = (np.array(column) for column in zip(*rows, strict=True))
    items = np.arange(len(rows))
    if by == "rank":  # every rank once in a list
        ranks = ranks + 10 * items
    how = {"rank": {"rank": ranks}, "score": {"score": scores * 1.0}, "nothing": {}}[by]
    arranged = group_lists(
        pl.Series(users), items, vocabulary=IntegerVocabulary(6), threads=threads, **how
    )
    key = {"rank": lambda r: ranks[r], "score": lambda r: -scores[r], "nothing": lambda r: r}[by]
    expected = {
        int(user): sorted(np.flatnonzero(users == user).tolist(), key=key)
        for user in np.unique(users)
    }
    assert as_dict(arranged) == expected


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 0, 2, 1, 3]])
def test_ranks_from_0_in_one_list_and_from_1_in_another_have_a_gap(order):
    arranged = group_lists(
        USERS[order],
        ITEMS[order],
        vocabulary=IntegerVocabulary(10),
        rank=np.array([0, 1, 1, 2, 3])[order],
    )
    assert as_dict(arranged) == {4: [7, 1], 2: [3, 9, 5]}
    assert arranged.gaps == 1


def test_ranks_that_spill_into_the_next_list_are_not_places():
    # User 0 has ranks 1 and 3, user 1 rank 1 and 2: four places, but one claimed twice.
    arranged = group_lists(
        pl.Series([0, 1, 0, 1]),
        np.array([5, 6, 7, 8]),
        vocabulary=IntegerVocabulary(2),
        rank=np.array([3, 2, 1, 1]),
    )
    assert as_dict(arranged) == {0: [7, 5], 1: [8, 6]}
    assert arranged.gaps == 1
