"""Training interactions that are taken out of lists."""

from __future__ import annotations

import pytest

from rankwise.errors import EmptyError
from rankwise.tables.read import read_table
from rankwise.tables.training import take_out_seen

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
