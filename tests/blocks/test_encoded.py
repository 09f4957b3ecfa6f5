"""How users are cut into blocks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.blocks import encoded as cut


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(9, 50), st.integers(1, 4))
def test_blocks_have_all_users_and_equally_many_rows(lengths, most, threads):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    encoded = SimpleNamespace(
        lists=SimpleNamespace(starts=starts),
        unlisted=np.empty(0, dtype=np.int64),
        most_users=99,
        most_rows=most,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "_FEW", 20)
        blocks = list(cut.plan_blocks(encoded, threads=threads))
    assert [user for part in blocks for user in range(part.start, part.stop)] == [
        *range(len(lengths))
    ]
    rows = [int(starts[part.stop] - starts[part.start]) for part in blocks]
    fewest = max(1, -(-sum(lengths) // most), min(threads, -(-sum(lengths) // 20)))
    fewest = fewest if fewest <= threads else -(-fewest // threads) * threads
    assert sum(count > 0 for count in rows) <= fewest
    assert max(rows) < sum(lengths) / fewest + 1 + max(lengths)
