"""Plain Python and NumPy objects to frames."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.errors import IdError, InputError
from rankwise.io.columns import ROLES, plain_name

if TYPE_CHECKING:
    from rankwise.io.columns import Kind

__all__ = ["from_array", "from_mapping", "from_sparse"]


def _number_role(kind: Kind) -> str:
    return "score" if kind in ("recommendations", "baseline") else "relevance"


def from_mapping(source: Mapping[Any, Any], kind: Kind) -> tuple[pl.DataFrame, str]:
    """Read ``{user: [items]}``, ``{user: [(item, number)]}`` or ``{user: {item: number}}``.

    For users also ``{user: number}``, their weights, and for users and items columns by name,
    ``{"item": [...], "genres": [...]}``. The number is the score of a
    recommendation, the relevance of a truth row.
    """
    as_columns = _columns(source, kind)
    if as_columns is not None:
        return as_columns, "columns"
    if kind == "users":
        weights = list(source.values())
        if not all(isinstance(weight, Real) for weight in weights):
            raise InputError(
                "users: a mapping holds a weight for each user, or columns by name",
                found=f"{next(w for w in weights if not isinstance(w, Real))!r}",
                hint='pass {user: weight}, {"user": [...], "group": [...]}, or a table',
            )
        return _frame({"user": list(source), "weight": weights}, kind), "weights"
    users, items, numbers = list(source), list(source.values()), None
    lengths = [_length(user, value, kind) for user, value in source.items()]
    first = next((value for value, n in zip(items, lengths, strict=True) if n), None)
    for user, value, n in zip(users, items, lengths, strict=True):
        if kind in ("recommendations", "baseline") and isinstance(value, set | frozenset):
            raise InputError(
                f"{kind}: a set has no order",
                where=f"user {user!r}",
                hint="pass a list, best first, or (item, score) pairs",
            )
        if n and isinstance(value, Mapping) != isinstance(first, Mapping):
            raise InputError(
                f"{kind}: users have lists, or dicts of item to number, not both",
                where=f"user {user!r}",
                found=type(value).__name__,
            )
    form = "{user: [items]}"
    if isinstance(first, Mapping):
        form = "{user: {item: number}}"
        numbers = list(chain.from_iterable(value.values() for value in items))
        flat = list(chain.from_iterable(items))
    else:
        flat = list(chain.from_iterable(items))
        if flat and isinstance(flat[0], tuple | list):
            form = "{user: [(item, number)]}"
            if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in flat):
                raise InputError(
                    f"{kind}: lists hold items or (item, number) pairs, not both",
                    found=repr(next(p for p in flat if not isinstance(p, tuple) or len(p) != 2)),
                )
            numbers = [pair[1] for pair in flat]
            flat = [pair[0] for pair in flat]
    owner = np.repeat(np.arange(len(users)), lengths)
    ids = _series("user", users, kind).gather(owner)
    frame = pl.DataFrame({"user": ids, "item": _series("item", flat, kind)})
    if numbers is not None:
        role = _number_role(kind)
        try:
            column = pl.Series(role, numbers, dtype=pl.Float64)
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{kind}: the {role} of an item must be a number") from error
        frame = frame.with_columns(column)
    return frame, form


def _columns(source: Mapping[Any, Any], kind: Kind) -> pl.DataFrame | None:
    """Read ``{column: values}``, which tables of users and items may be; None if it is not that."""
    if kind not in ("users", "items"):
        return None
    known = ROLES[kind][kind[:-1]]
    ids = [name for name in source if isinstance(name, str) and plain_name(name) in known]
    if not ids or isinstance(source[ids[0]], str) or not hasattr(source[ids[0]], "__len__"):
        if kind == "items":
            raise InputError(
                "items: a mapping is read as columns by name, one of them the item",
                found=f"keys {', '.join(map(repr, list(source)[:5]))}",
                hint='pass {"item": [...], "genres": [...]}, a table, or the ids of the catalogue',
            )
        return None
    plain = {
        name: [sorted(v, key=str) if isinstance(v, set | frozenset) else v for v in values]
        if isinstance(values, list | tuple)
        else values
        for name, values in source.items()
    }
    try:
        return pl.DataFrame(plain, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{kind}: these columns do not make a table", found=str(error).splitlines()[0]
        ) from error


def _length(user: object, value: Any, kind: Kind) -> int:
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise InputError(
            f"{kind}: each user needs a list of items",
            where=f"user {user!r}",
            found=f"{value!r} ({type(value).__name__})",
        )
    return len(value)


def _series(role: str, values: list[Any], kind: Kind) -> pl.Series:
    try:
        out = pl.Series(role, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        kinds = sorted({type(value).__name__ for value in values})
        raise IdError(
            "ids are integers or strings, and all of one kind",
            where=f"{kind}, {role}",
            found=" and ".join(kinds),
        ) from None
    return out


def _frame(columns: dict[str, list[Any]], kind: Kind) -> pl.DataFrame:
    ids = {name: _series(name, values, kind) for name, values in columns.items()}
    frame = pl.DataFrame(ids)
    return frame.with_columns(pl.col("weight").cast(pl.Float64))


def from_array(source: Any, kind: Kind) -> tuple[pl.DataFrame, int]:
    """Read a dense array of item ids, a row a user, users numbered from 0; -1 is no item."""
    try:
        array = np.asarray(source)
    except ValueError as error:  # NumPy's word for rows of different lengths
        raise _ragged(kind) from error
    if array.dtype == object:
        raise _ragged(kind)
    if array.ndim != 2:
        raise InputError(
            f"{kind}: a dense array has a row a user",
            found=f"an array of shape {array.shape}",
            hint="pass item ids of shape (users, k)",
        )
    if array.dtype.kind not in "iuU":
        raise IdError(
            "a dense array holds item ids, best first",
            where=kind,
            found=f"{array.dtype} values",
            hint="scores go into a table with user, item and score",
        )
    users = np.repeat(np.arange(array.shape[0], dtype=np.int64), array.shape[1])
    frame = pl.DataFrame({"user": users, "item": array.ravel()})
    if array.dtype.kind == "U":
        return frame, 0
    padding = int((array == -1).sum())
    return (frame.filter(pl.col("item") != -1) if padding else frame), padding


def _ragged(kind: Kind) -> InputError:
    return InputError(
        f"{kind}: the rows of the array have different lengths",
        hint="pass {user: [items]} instead, or fill short rows up with -1",
    )


def from_sparse(source: Any, kind: Kind) -> pl.DataFrame:
    """Read a SciPy sparse matrix, users by items, its values scores or relevances."""
    matrix = source.tocoo()
    if matrix.ndim != 2:
        raise InputError(f"{kind}: a sparse matrix has users and items", found=str(matrix.shape))
    return pl.DataFrame(
        {
            "user": matrix.coords[0].astype(np.int64),
            "item": matrix.coords[1].astype(np.int64),
            _number_role(kind): matrix.data.astype(np.float64),
        }
    )
