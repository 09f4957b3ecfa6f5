"""Places of lists that hold no item: missing ranks, repetitions, evidence that came before, no row.

Such a place has an id that no item has, so that matching, ranks and lengths need not know of it.
Each reason has its own ids: a list may have a missing rank and a repetition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import polars as pl

from rankwise.core.units import unit_keys
from rankwise.tables.ids import NO_ITEM
from rankwise.tables.table import Recommendations

Reason: TypeAlias = Literal["missing", "repeated", "alternative", "empty"]
_PREFIX = NO_ITEM + NO_ITEM
_LOWEST = -(2**62)
_SPAN = 2**34  # more than are made (ten for each row), and few of the ids that hashes make


def place_ids(number: pl.Expr, reason: Reason, kind: pl.DataType) -> pl.Expr:
    """Return the ids of numbered places in lists whose items are of a type.

    >>> frame = pl.DataFrame({"number": [0, 1]})
    >>> frame.select(place_ids(pl.col("number"), "missing", pl.Int64()))["number"].to_list()
    [-4611686018427387904, -4611686018427387903]
    """
    if kind == pl.String:
        return pl.concat_str(pl.lit(_PREFIX + reason), number.cast(pl.String))
    return number.cast(pl.Int64) + (_LOWEST + get_args(Reason).index(reason) * _SPAN)


def are_places(ids: pl.Series) -> pl.Series:
    """Return which ids are those of places without an item."""
    if ids.dtype == pl.String:
        return ids.str.starts_with(_PREFIX)
    if ids.dtype != pl.Int64:  # narrow types have no room for places
        return pl.repeat(False, len(ids), dtype=pl.Boolean, eager=True)
    return ids.is_between(_LOWEST, _LOWEST + len(get_args(Reason)) * _SPAN, closed="left")


def settle_empty_lists(lists: Recommendations, *, present: bool) -> Recommendations:
    """Count lists that are there and have no item; where they are present, each has one place."""
    empty = lists.empty_lists
    if empty is None or empty.is_empty():
        return lists
    counts = {**lists.counts, "empty_lists": len(empty)}
    if not present:
        return replace(lists, counts=counts)

    frame = lists.frame
    kind = frame.schema["item"]
    if kind != pl.String:
        frame = frame.with_columns(pl.col("item").cast(pl.Int64))

    owners = empty.select(pl.col(name).cast(frame.schema[name]) for name in unit_keys(frame))
    places = owners.with_columns(item=place_ids(pl.lit(0), "empty", kind))
    first = {name: pl.lit(value) for name, value in {"rank": 1, "score": 0.0}.items()}
    places = places.with_columns(
        value.cast(frame.schema[name]).alias(name)
        for name, value in first.items()
        if name in frame.columns
    )
    together = pl.concat([frame, places], how="diagonal")
    return replace(lists, frame=together, empty_lists=None, counts=counts)
