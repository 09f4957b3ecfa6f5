"""Score matrices as frames: the labels of rows and columns are the ids of users and items."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import polars as pl

from rankwise.errors import InputError
from rankwise.tables.columns import names_of, plain_name
from rankwise.tables.frames import whole

__all__ = ["Labelled", "read_factor_labels", "read_labels"]


class Labelled(NamedTuple):
    """A score matrix, and the ids of its rows and columns; None where they are numbered."""

    scores: Any
    user_ids: Any = None
    item_ids: Any = None


def read_labels(scores: Any, user_ids: Any, item_ids: Any) -> Labelled:
    """Return scores with the ids that label them, unless the caller names ids.

    A frame of Polars or pandas has one column per item, called by its id; users are a column called
    like one, or the index of pandas.
    """
    library = _library(scores)
    if library is None:
        return Labelled(scores, user_ids, item_ids)
    names = list(scores.columns)
    users = _id_columns(scores, "user")
    if users and _id_columns(scores, "item"):
        raise InputError(
            "scores: this table has one row per user and item, and is not a score matrix",
            found=f"columns {', '.join(map(repr, names[:5]))}",
            hint="pass it to rw.evaluate as it is, or a frame with one column per item here",
        )
    scores, rows = read_factor_labels(scores, None, "user", as_array=False)
    columns: Any = list(scores.columns)
    if library == "polars":  # its names are text, also where ids are numbers
        ids = whole(pl.DataFrame({"item": pl.Series(columns, dtype=pl.String)}), ["item"])
        columns = None if _placeholder(columns) else ids["item"]
    elif _counts_rows(scores.columns):
        columns = None
    return Labelled(
        scores.to_numpy(), rows if user_ids is None else user_ids, columns if item_ids is None else item_ids
    )


def read_factor_labels(
    factors: Any, ids: Any, role: Literal["user", "item"], *, as_array: bool = True
) -> tuple[Any, Any]:
    """Return factors, one row per user or item, without their labels; and the ids that label rows.

    Labels are a column called like the ids, or the index of pandas; ids that are given come first.
    """
    library = _library(factors)
    if library is None:
        return factors, ids
    rows: Any = None
    named = _id_columns(factors, role)
    if named:
        rows = list(factors[named[0]])
        factors = factors.drop(named[0]) if library == "polars" else factors.drop(columns=named[0])
    elif library == "pandas" and not _counts_rows(factors.index):
        rows = list(factors.index)
    return factors.to_numpy() if as_array else factors, rows if ids is None else ids


def _library(source: Any) -> str | None:
    """Return the library of a frame; None for anything else."""
    library = type(source).__module__.split(".")[0]
    frame = type(source).__name__ == "DataFrame" and library in ("polars", "pandas")
    return library if frame else None


def _id_columns(frame: Any, role: Literal["user", "item"]) -> list[str]:
    """Return the columns called like ids; a name of one or two letters is that of an item."""
    names = [name for name in frame.columns if isinstance(name, str) and len(plain_name(name)) > 2]
    return names_of(names, "users" if role == "user" else "items", role)


def _counts_rows(index: Any) -> bool:
    """Return whether labels of pandas are the numbers from 0."""
    return list(index) == list(range(len(index)))


def _placeholder(names: list[str]) -> bool:
    """Return whether Polars made up the names of columns."""
    return names == [f"column_{number}" for number in range(len(names))]
