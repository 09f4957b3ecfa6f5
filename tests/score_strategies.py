"""Random score matrices for Hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def worlds_of_scores(draw):
    """Draw scores with many ties, what was seen, and a graded truth that is no part of it."""
    users, items = draw(st.integers(1, 4)), draw(st.integers(3, 12))
    levels = draw(st.sampled_from([2, 5, 1000]))
    cells = st.integers(0, levels)
    scores = np.array([[draw(cells) for _ in range(items)] for _ in range(users)], dtype=float)
    item = st.integers(0, items - 1)
    truth = {
        u: draw(st.dictionaries(item, st.integers(0, 3), min_size=1, max_size=6))
        for u in range(users)
    }
    truth[0] = {**truth[0], 0: 1}
    seen = {u: draw(st.lists(item, max_size=4)) for u in range(users)}
    seen = {u: [i for i in own if i not in truth[u]] for u, own in seen.items()}
    # Nobody is left without a candidate that is not relevant: items - 6 - 4 may be none.
    seen = {u: own for u, own in seen.items() if own} or {99: [0]}
    return scores, seen, truth
