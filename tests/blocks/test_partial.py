"""Blocks put together: in their places, whichever comes first, with a type that holds all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest

from rankwise.blocks.partial import BlockCollector, BlockValues


def block(users, values, tied):
    return BlockValues(
        user=np.array(users),
        columns={"ndcg@3": np.array(values)},
        item_sums={"item": np.array([len(users), 1])},
        counts={"tied_rows": tied},
    )


BLOCKS = [
    block([4, 7], [1, 0], 2),  # whole numbers, where others have fractions
    block([2], [0.25], np.int64(3)),
    block([], [], 0),
    block([9, 1, 3], [0.5, float("nan"), 1.0], 0),
]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_any_order(order):
    whole = BlockCollector([0, 2, 3, 3, 6])
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda at: whole.add(BLOCKS[at], at), order))
    joined = whole.collect()
    assert joined.user.tolist() == [4, 7, 2, 9, 1, 3]
    values = joined.columns["ndcg@3"]
    assert values.dtype == np.float64
    assert np.array_equal(values, [1, 0, 0.25, 0.5, np.nan, 1], equal_nan=True)
    assert joined.item_sums["item"].tolist() == [6, 4]
    assert joined.counts == {"tied_rows": 5}
