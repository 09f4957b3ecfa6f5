"""Parts of random worlds: recommendation lists, ground truth and training of units, and their tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import polars as pl
from hypothesis import strategies as st

from strategies import id_type

_Unit = TypeVar("_Unit")
Lists: TypeAlias = dict[Any, list[Any]]
Relevances: TypeAlias = dict[Any, dict[Any, float]]
KINDS = ("x", "y z", "5 to 10", "below 5", "film × noir", '"quoted"', "a, b", "ä", None)
"""Values of a column of groups: some look like the names of bins, of crossed groups or of lists."""


@st.composite
def chosen_lists(draw: st.DrawFn, units: Sequence[Hashable], items: Sequence[Hashable]) -> Lists:
    """Draw lists of up to six items for some units."""
    listed = draw(st.lists(st.sampled_from(units), min_size=1, max_size=8, unique=True))
    some = st.lists(st.sampled_from(items), min_size=1, max_size=6, unique=True)
    return {unit: draw(some) for unit in listed}


@st.composite
def relevances(draw: st.DrawFn, units: Sequence[Hashable], items: Sequence[Hashable]) -> Relevances:
    """Draw relevances from 0 to 3 of some units; the first has a relevant item."""
    judged = draw(st.lists(st.sampled_from(units), max_size=8, unique=True))
    some = st.dictionaries(
        st.sampled_from(items), st.integers(0, 3).map(float), min_size=1, max_size=5
    )
    truth = {unit: draw(some) for unit in judged}
    return {**truth, units[0]: {**truth.get(units[0], {}), items[0]: 1.0}}


@st.composite
def types_of(draw: st.DrawFn, **values: Sequence[Any]) -> dict[str, Any]:
    """Draw the type of each column of ids, the usual one or the smallest that holds its values."""
    return {name: id_type(own, narrow=draw(st.booleans())) for name, own in values.items()}


def table(rows: Sequence[tuple[Any, ...]], types: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows as a table of typed columns."""
    return pl.DataFrame(rows, schema=dict(types), orient="row")


def key(unit: Any) -> tuple[Any, ...]:
    """Return the values of a unit in a table: those of a tuple, or one id."""
    return unit if isinstance(unit, tuple) else (unit,)


def score(rank: int, *, has_ties: bool) -> float:
    """Return a score that falls with the rank, in pairs where there are ties."""
    return 1.0 - (rank // 2 if has_ties else rank) / 16


def population(
    name: str, *, relevant: set[_Unit], judged: set[_Unit], listed: set[_Unit]
) -> set[_Unit]:
    """Return the units of a population, from those with relevant items, judged items and lists."""
    return {
        "truth": relevant,
        "both": relevant & listed,
        "recommended": listed,
        "judged": judged,
        "judged_both": judged & listed,
        "all": relevant | listed,
    }[name]
