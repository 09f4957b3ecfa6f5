"""A user may come in one chunk: checked when the chunk comes, and nothing is changed by what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import DuplicateError, RankwiseError
from strategies import ids

TRUTH = {"eva": {4}, "leo": {5}, "mia": {6}}


def evaluator():
    return rw.Evaluator("mrr", truth=TRUTH).update({"eva": [4, 5], "leo": [6, 5]})


def test_second_update_of_a_user_changes_nothing():
    ours = evaluator()
    with pytest.raises(DuplicateError, match="rows of a user came in two chunks") as raised:
        ours.update({"mia": [6], "leo": [5]})
    assert "leo" in str(raised.value)
    assert ours.result()["mrr"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert ours.update({"mia": [6]}).result()["mrr"] == pytest.approx((1 + 1 / 2 + 1) / 3)


def test_merging_an_evaluator_with_itself_changes_nothing():
    ours = evaluator()
    with pytest.raises(DuplicateError):
        ours.merge(ours)
    assert ours.result()["mrr"] == pytest.approx((1 + 1 / 2) / 3)


def test_merging_two_evaluators_with_a_user_in_common_changes_nothing():
    ours, theirs = evaluator(), rw.Evaluator("mrr", truth=TRUTH).update({"mia": [6], "eva": [4]})
    with pytest.raises(DuplicateError, match="eva"):
        ours.merge(theirs.partial())
    assert ours.partial().users["user"].to_list() == ["eva", "leo"]


def test_user_with_a_ground_truth_in_one_chunk_and_none_in_another():
    ours = rw.Evaluator("mrr").update({"eva": [4]}, {"eva": {4}})
    with pytest.raises(DuplicateError, match="eva"):
        ours.update({"eva": [5], "leo": [5]}, {"leo": {5}})


def test_refused_requests_leave_an_evaluator_of_users():
    ours = rw.Evaluator("mrr", truth=TRUTH)
    lists = pl.DataFrame(
        {"user": ["eva", "eva"], "request": [1, 1], "item": [4, 4], "rank": [1, 2]}
    )
    with pytest.raises(RankwiseError):
        ours.update(lists)
    assert ours.update({"eva": [4]}).result()["mrr"] == pytest.approx(1 / 3)


def test_one_request_in_two_chunks():
    lists = pl.DataFrame(
        {"user": ["eva", "eva"], "request": [1, 2], "item": [4, 5], "rank": [1, 1]}
    )
    ours = rw.Evaluator("mrr", truth=TRUTH).update(lists)
    with pytest.raises(DuplicateError, match="eva, request 2"):
        ours.update(lists.filter(pl.col("request") == 2))


@given(st.lists(st.sets(st.integers(0, 40), min_size=1), min_size=1, max_size=8), ids(41))
def test_users_are_refused_exactly_if_they_came_before(chunks, names):
    ours, seen = rw.Evaluator("hit_rate@1"), set()
    chunks = [{names[user] for user in users} for users in chunks]
    for users in chunks:
        lists = {user: [user] for user in users}
        truth = {user: {user} for user in users}
        if users & seen:
            with pytest.raises(DuplicateError):
                ours.update(lists, truth)
            continue
        seen |= users
        ours.update(lists, truth)
    assert set(ours.result().per_user["user"].to_list()) == seen
    assert np.isclose(ours.result()["hit_rate@1"], 1)
