"""Score matrices as frames: the labels of rows and columns are the ids of users and items."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from rankwise.errors import InputError
from rankwise.tables.columns import names_of
from rankwise.tables.frames import whole

__all__ = ["Labelled", "read_labels"]


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
    library = type(scores).__module__.split(".")[0]
    if type(scores).__name__ != "DataFrame" or library not in ("polars", "pandas"):
        return Labelled(scores, user_ids, item_ids)
    names = list(scores.columns)
    texts = [name for name in names if isinstance(name, str)]
    users = names_of(texts, "users", "user")
    if users and names_of(texts, "items", "item"):
        raise InputError(
            "scores: this table has users and items in its rows, and is no matrix",
            found=f"columns {', '.join(map(repr, names[:5]))}",
            hint="pass it to rw.evaluate as it is, or a frame with one column per item here",
        )
    rows: Any = None
    if users:
        rows = list(scores[users[0]])
        scores = scores.drop(users[0]) if library == "polars" else scores.drop(columns=users[0])
        names.remove(users[0])
    elif library == "pandas" and not _counts_rows(scores.index):
        rows = list(scores.index)
    columns: Any = names
    if library == "polars":  # its names are text, also where ids are numbers
        ids = whole(pl.DataFrame({"item": pl.Series(names, dtype=pl.String)}), ["item"])
        columns = None if _placeholder(names) else ids["item"]
    elif _counts_rows(scores.columns):
        columns = None
    return Labelled(
        scores.to_numpy(),
        rows if user_ids is None else user_ids,
        columns if item_ids is None else item_ids,
    )


def _counts_rows(index: Any) -> bool:
    """Return whether labels of pandas are the numbers from 0."""
    return list(index) == list(range(len(index)))


def _placeholder(names: list[str]) -> bool:
    """Return whether Polars made up the names of columns."""
    return names == [f"column_{number}" for number in range(len(names))]
