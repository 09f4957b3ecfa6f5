"""Groups taken together: groups of users with one another and with slices of relevant items."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl
from evaluations import kind
from hypothesis import strategies as st
from kinds import Comparison
from slice_worlds import CUTS, Sliced, of_slices, sliced

import rankwise as rw

GROUPS = ["team", "activity", "popularity", "history"]
BY = st.lists(
    st.sampled_from([*GROUPS, *sorted(CUTS), "item:popularity"]),
    min_size=2,
    max_size=3,
    unique=True,
)
SMALL = st.sampled_from([1, 2, 30])
worlds = st.tuples(BY, SMALL).flatmap(
    lambda drawn: sliced({"by": drawn[0], "cross": True, "min_size": drawn[1]})
)


def plain(world: Sliced, result: rw.Result) -> Iterator[Comparison]:
    """Yield the mean of each combination beside the mean of restricted ground truth."""
    by = world.options["by"]
    if not {*by} <= {"team", *CUTS} or {*by} <= {"team"}:
        return
    assert result.slices is not None
    names = {
        " × ".join(map(written, each)): each for each in world.names_of(by) if None not in each
    }
    yield from of_slices(world, by, names, result.slices.filter(pl.col("group").is_not_null()))


def written(name: str | None) -> str:
    """Return a name as it stands in a combination: in quotation marks where it could be misread."""
    text = str(name)
    is_quoted = "×" in text or text.startswith('"')
    return json.dumps(text, ensure_ascii=False) if is_quoted else text


KIND = kind("crossed", worlds, plain)
