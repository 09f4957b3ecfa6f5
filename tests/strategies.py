"""Random evaluations for Hypothesis: ragged lists, graded truth, users missing on either side."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

ITEMS = list(range(12))


@st.composite
def evaluations(draw, *, graded=True, scores=False, judged=False):
    """Draw ``(recommendations, truth)`` as dicts of lists and of relevances.

    With ``scores`` lists are dicts of item to score, few distinct values so that ties are common.
    With ``judged`` relevances may be 0: judged and not relevant.
    """
    users = draw(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True))
    grades = st.integers(0 if judged else 1, 4) if graded else st.just(1)
    listed, truth = {}, {}
    for user in users:
        items = draw(st.lists(st.sampled_from(ITEMS), max_size=9, unique=True))
        if scores:
            listed[user] = {item: float(draw(st.integers(0, 3))) for item in items}
        else:
            listed[user] = items
        truth[user] = draw(st.dictionaries(st.sampled_from(ITEMS), grades, max_size=6))
    listed = {user: items for user, items in listed.items() if items}
    truth = {user: items for user, items in truth.items() if items}
    if not listed:
        listed = {users[0]: {0: 1.0} if scores else [0]}
    if not any(value > 0 for items in truth.values() for value in items.values()):
        truth[users[0]] = {0: 1}
    relevant = [u for u, items in truth.items() if any(value > 0 for value in items.values())]
    if not set(relevant) & set(listed):  # nobody in common is an error, tested elsewhere
        listed[relevant[0]] = {0: 1.0} if scores else [0]
    return listed, truth


def as_frame(lists):
    """Turn ``{user: [items]}`` into a table with ranks."""
    rows = [
        (user, item, rank)
        for user, items in lists.items()
        for rank, item in enumerate(items, start=1)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def truth_frame(truth):
    """Turn ``{user: {item: relevance}}`` into a table."""
    rows = [
        (user, item, float(value)) for user, own in truth.items() for item, value in own.items()
    ]
    return pl.DataFrame(rows, schema=["user", "item", "relevance"], orient="row")
