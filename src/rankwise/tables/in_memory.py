"""Plain Python and NumPy objects to frames."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import IdError, InputError
from rankwise.tables.columns import ROLES, TableRole, plain_name

__all__ = ["from_array", "from_mapping", "from_sparse"]


def _number_column(role: TableRole) -> str:
    return "score" if role in ("recommendations", "baseline") else "relevance"


def from_mapping(source: Mapping[Any, Any], role: TableRole) -> tuple[pl.DataFrame, str]:
    """Return a mapping as a frame, and its layout.

    Layouts are ``{user: [items]}``, ``{user: [(item, number)]}`` and ``{user: {item: number}}``;
    for users also ``{user: number}``, their weights, and for users and items columns by name,
    ``{"item": [...], "genres": [...]}``. A number is a recommendation's score, else a relevance.
    """
    as_columns = _columns(source, role)
    if as_columns is not None:
        return as_columns, "columns"
    if role == "users":
        weights = list(source.values())
        if not all(isinstance(weight, Real) for weight in weights):
            raise InputError(
                "users: a mapping holds a weight for each user, or columns by name",
                found=f"{next(w for w in weights if not isinstance(w, Real))!r}",
                hint='pass {user: weight}, {"user": [...], "group": [...]}, or a table',
            )
        ids, values = _series("user", list(source), role), _series("weight", weights, role)
        return pl.DataFrame({"user": ids, "weight": values.cast(pl.Float64)}), "weights"
    users, items, numbers = list(source), list(source.values()), None
    lengths = [_length(user, value, role) for user, value in source.items()]
    first = next((value for value, n in zip(items, lengths, strict=True) if n), None)
    for user, value, n in zip(users, items, lengths, strict=True):
        if role in ("recommendations", "baseline") and isinstance(value, set | frozenset):
            raise InputError(
                f"{role}: a set has no order",
                where=f"user {user!r}",
                hint="pass a list, best first, or (item, score) pairs",
            )
        if n and isinstance(value, Mapping) != isinstance(first, Mapping):
            raise InputError(
                f"{role}: users have lists, or dicts of item to number, not both",
                where=f"user {user!r}",
                found=type(value).__name__,
            )
    layout = "{user: [items]}"
    flat = list(chain.from_iterable(items))
    if isinstance(first, Mapping):
        layout = "{user: {item: number}}"
        numbers = list(chain.from_iterable(value.values() for value in items))
    elif flat and isinstance(flat[0], tuple | list):
        layout = "{user: [(item, number)]}"
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in flat):
            raise InputError(
                f"{role}: lists hold items or (item, number) pairs, not both",
                found=repr(next(p for p in flat if not isinstance(p, tuple) or len(p) != 2)),
            )
        numbers = [pair[1] for pair in flat]
        flat = [pair[0] for pair in flat]
    owner = np.repeat(np.arange(len(users)), lengths)
    ids = _series("user", users, role).gather(owner)
    frame = pl.DataFrame({"user": ids, "item": _series("item", flat, role)})
    if numbers is not None:
        column = _number_column(role)
        try:
            values = pl.Series(column, numbers, dtype=pl.Float64)
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{role}: the {column} of an item must be a number") from error
        frame = frame.with_columns(values)
    return frame, layout


def _columns(source: Mapping[Any, Any], role: TableRole) -> pl.DataFrame | None:
    """Return ``{name: values}`` of users or items as a frame; None if it is not of this layout."""
    if role not in ("users", "items"):
        return None
    known = ROLES[role][role[:-1]]
    ids = [name for name in source if isinstance(name, str) and plain_name(name) in known]
    if not ids or isinstance(source[ids[0]], str) or not hasattr(source[ids[0]], "__len__"):
        if role == "items":
            raise InputError(
                "items: a mapping is read as columns by name, one of them the item",
                found=f"keys {', '.join(map(repr, list(source)[:5]))}",
                hint='pass {"item": [...], "genres": [...]}, a table, or the ids of the catalogue',
            )
        return None
    columns = {
        name: [sorted(v, key=str) if isinstance(v, set | frozenset) else v for v in values]
        if isinstance(values, list | tuple)
        else values
        for name, values in source.items()
    }
    try:
        return pl.DataFrame(columns, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{role}: these columns do not make a table", found=str(error).splitlines()[0]
        ) from error


def _length(user: object, value: Any, role: TableRole) -> int:
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise InputError(
            f"{role}: each user needs a list of items",
            where=f"user {user!r}",
            found=f"{value!r} ({type(value).__name__})",
        )
    return len(value)


def _series(column: str, values: list[Any], role: TableRole) -> pl.Series:
    try:
        return pl.Series(column, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        types = sorted({type(value).__name__ for value in values})
        raise IdError(
            "ids are integers or strings, and all of one kind",
            where=f"{role}, {column}",
            found=" and ".join(types),
        ) from None


def from_array(source: Any, role: TableRole) -> tuple[pl.DataFrame, int]:
    """Return item ids, one row per user, as a frame, and the number of padding entries (-1)."""
    try:
        array = np.asarray(source)
    except ValueError as error:  # rows of different lengths
        raise _ragged(role) from error
    if array.dtype == object:
        raise _ragged(role)
    if array.ndim != 2:
        raise InputError(
            f"{role}: a dense array has a row a user",
            found=f"an array of shape {array.shape}",
            hint="pass item ids of shape (users, k)",
        )
    if array.dtype.kind not in "iuU":
        raise IdError(
            "a dense array holds item ids, best first",
            where=role,
            found=f"{array.dtype} values",
            hint="scores go into a table with user, item and score",
        )
    users = np.repeat(np.arange(array.shape[0], dtype=np.int64), array.shape[1])
    frame = pl.DataFrame({"user": users, "item": array.ravel()})
    if array.dtype.kind == "U":
        return frame, 0
    padding = int((array == -1).sum())
    return (frame.filter(pl.col("item") != -1) if padding else frame), padding


def _ragged(role: TableRole) -> InputError:
    return InputError(
        f"{role}: the rows of the array have different lengths",
        hint="pass {user: [items]} instead, or fill short rows up with -1",
    )


def from_sparse(source: Any, role: TableRole) -> pl.DataFrame:
    """Return a SciPy sparse matrix of scores or relevances, users by items, as a frame."""
    matrix = source.tocoo()
    if matrix.ndim != 2:
        raise InputError(f"{role}: a sparse matrix has users and items", found=str(matrix.shape))
    return pl.DataFrame(
        {
            "user": matrix.coords[0].astype(np.int64),
            "item": matrix.coords[1].astype(np.int64),
            _number_column(role): matrix.data.astype(np.float64),
        }
    )
