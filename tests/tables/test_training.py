"""Training interactions that are taken out of lists."""

from __future__ import annotations

import polars as pl
import pytest

from rankwise.errors import EmptyError, InputError
from rankwise.tables.read import read_table
from rankwise.tables.training import take_out_seen, with_user_column

LISTS = read_table({1: [5, 6], 2: [7]}, "recommendations")
TRUTH = read_table({1: {6}, 2: {7, 8}}, "truth")


def test_a_chunk_of_seen_items_is_empty_and_counted():
    """Of other chunks some item may remain; without them it is an error."""
    train = read_table({1: [5, 6], 2: [7, 8]}, "train")
    lists = take_out_seen(LISTS, train, TRUTH, required=False)
    assert lists.frame.is_empty()
    assert (lists.counts["seen_items_taken_out"], lists.counts["truth_rows_seen_in_training"]) == (3, 3)
    with pytest.raises(EmptyError, match="every recommended item was seen"):
        take_out_seen(LISTS, train, TRUTH)


@pytest.mark.parametrize("users", [None, {"user": [2, 3], "team": ["x", "y"]}])
def test_a_column_of_users_is_made_of_all_ids(users):
    """Those of other tables come first; what a table of users says is kept."""
    table = None if users is None else read_table(pl.DataFrame(users), "users")
    made = with_user_column(table, [LISTS, TRUTH], "odd", "odd", lambda ids: ids % 2 == 1).frame
    assert made["user"].to_list() == ([1, 2] if users is None else [1, 2, 3])
    assert made["odd"].to_list() == [True, False, True][: len(made)]
    assert users is None or made["team"].to_list() == [None, "x", "y"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_ground_truth_of_training_interactions_alone_is_refused(n):
    truth = read_table({1: {5, 6} if n == 2 else {6}}, "truth")
    train = read_table({1: [6] if n == 1 else [5, 6]}, "train")
    lists = read_table({1: [5, 6, 7]}, "recommendations")
    with pytest.raises(InputError, match="leaves no hit") as error:
        take_out_seen(lists, train, truth)
    assert error.value.found == f"{n} such rows"
    counts = take_out_seen(lists, train, read_table({1: {6, 9}}, "truth")).counts
    assert (counts["truth_rows_seen_in_training"], counts["seen_items_taken_out"]) == (1, n)
