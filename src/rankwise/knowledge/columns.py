"""Columns of the tables of items and users, in any of the forms that they come in.

Everything here is in the order of the table's rows; nothing is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, MeasureError, ScoreError, nearest
from rankwise.io.columns import KNOWN, choose, known_column

if TYPE_CHECKING:
    from rankwise.core.facts import Fact
    from rankwise.io.columns import Columns, Kind
    from rankwise.io.tables import Table

__all__ = ["Found", "Matrix", "Named", "find", "read_categories", "read_features", "read_groups"]

_SEPARATORS = "|;,"
_ROLE_OF = {"item_group": "group", "user_group": "group"}


@dataclass(frozen=True)
class Found:
    """The columns of a fact; ``several`` if there is one for each category or number."""

    names: tuple[str, ...]
    several: bool = False


@dataclass(frozen=True)
class Named:
    """Numbers of names, row by row: ``starts`` where each row's are; one each if it is None."""

    code: np.ndarray[tuple[int], np.dtype[np.int64]]
    names: tuple[str, ...]
    starts: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    said: str = ""

    @cached_property
    def signatures(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """A number for each distinct set of names of a row, in order; the empty set has 0."""
        assert self.starts is not None
        n = len(self.starts) - 1
        owner = np.repeat(np.arange(n), np.diff(self.starts))
        pairs = pl.DataFrame({"row": owner, "code": self.code}).sort("row", "code")
        sets = pairs.group_by("row", maintain_order=True).agg(
            pl.col("code").cast(pl.String).str.zfill(9).str.join("|")
        )
        out = np.zeros(n, dtype=np.int64)
        out[sets["row"].to_numpy()] = sets["code"].rank("dense").to_numpy()
        return out


@dataclass(frozen=True)
class Matrix:
    """A vector a row; rows without one hold zeros and are not known."""

    vector: np.ndarray[tuple[int, int], np.dtype[np.float64]]
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    said: str = ""


def find(table: Table, fact: Fact, measure: object, columns: Columns | None) -> Found:
    """Find the columns of a fact; several where categories or features are one column each.

    Raises
    ------
    MeasureError
        If there is none.
    """
    kind: Kind = "users" if fact.kind == "user_group" else "items"
    role = _ROLE_OF.get(fact.kind, fact.kind)
    names = [name for name in table.frame.columns if name != kind[:-1]]
    wanted: str | None = fact.column
    if wanted == role and wanted in KNOWN[kind]:
        wanted = known_column(names, kind, role, choose(columns, kind), table.source)
        named = choose(columns, kind).get(role)
        if named is not None and named not in names and not named.endswith("*"):
            raise ColumnError(
                f"there is no column {named!r} for the {role}",
                where=table.source,
                found="columns " + ", ".join(map(repr, table.frame.columns)),
                hint=nearest(named, names),
            )
    if wanted is not None and wanted.endswith("*"):
        several = [name for name in names if name.startswith(wanted[:-1])]
        if several:
            return Found(tuple(several), several=True)
    if wanted in names:
        return Found((wanted,))
    what = {"item_group": "groups of items", "user_group": "groups of users"}
    raise MeasureError(
        f"{measure} needs the {what.get(fact.kind, f'{fact.kind} of items')}, and there is no such "
        f"column in the table of {kind}",
        where=table.source,
        found="columns " + ", ".join(map(repr, table.frame.columns)),
        hint=nearest(fact.column, names)
        or f'say which: columns={{"{kind}.{role}": "…"}}, or in the measure',
    )


def read_groups(table: Table, column: str) -> Named:
    """Read a column of groups: one a row, -1 where it is null."""
    values = table.frame[column]
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise ColumnError(
            f"column {column!r} does not hold one group a row",
            where=table.source,
            found=str(values.dtype),
        )
    ordered = values.drop_nulls().unique().sort()
    names = ordered.cast(pl.String)
    if not len(names):
        raise ColumnError(f"column {column!r} holds no group", where=table.source)
    codes = values.replace_strict(
        ordered, np.arange(len(ordered)), default=-1, return_dtype=pl.Int64
    )
    return Named(codes.fill_null(-1).to_numpy(), tuple(names), said=f"column {column!r}")


def _number(table: Table, name: str) -> pl.Series:
    """Read a column of numbers, or of true and false, nulls as they are."""
    column = table.frame[name]
    if column.dtype == pl.String:
        text = column.str.strip_chars().str.to_lowercase()
        column = text.replace({"true": "1", "false": "0", "": None})
    number = None if column.dtype.is_nested() else column.cast(pl.Float64, strict=False)
    if number is None or number.null_count() > column.null_count():
        raise ColumnError(
            f"column {name!r} does not hold numbers, or true and false",
            where=table.source,
            found=str(table.frame.schema[name]),
        )
    return number


def read_categories(table: Table, found: Found) -> Named:
    """Read categories: a column of lists, of delimited text, or a column for each category."""
    columns, frame = found.names, table.frame.select(found.names)
    if found.several:
        shared = _common_prefix(columns)
        held = [(_number(table, name) > 0).fill_null(value=False) for name in columns]
        matrix = np.stack([one.to_numpy() for one in held], axis=1)
        names = tuple(name.removeprefix(shared) for name in columns)
        order = sorted(range(len(names)), key=lambda at: names[at])
        row, code = np.nonzero(matrix[:, order])
        starts = np.searchsorted(row, np.arange(len(matrix) + 1))
        said = f"{len(columns)} columns {shared}…"
        return Named(code, tuple(names[at] for at in order), starts, said)
    values, said = frame[columns[0]], f"column {columns[0]!r}"
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        filled = values.fill_null("")
        separator = next((s for s in _SEPARATORS if filled.str.contains(s, literal=True).any()), "")
        said += f", split at {separator!r}" if separator else ""
        lists = filled.str.split(separator) if separator else filled.reshape((-1, 1)).arr.to_list()
        lists = lists.list.eval(pl.element().str.strip_chars())
        lists = lists.list.eval(pl.element().filter(pl.element() != ""))
    elif isinstance(values.dtype, pl.List | pl.Array):
        if values.dtype.inner.is_nested():
            raise ColumnError(
                f"column {columns[0]!r} does not hold lists of categories",
                where=table.source,
                found=str(values.dtype),
            )
        lists = values.cast(pl.List(pl.String)).list.eval(pl.element().drop_nulls())
    else:
        lists = values.cast(pl.String).reshape((-1, 1)).arr.to_list()
        lists = lists.list.eval(pl.element().drop_nulls())
    lists = lists.list.unique(maintain_order=True).fill_null([])
    starts = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())]).astype(np.int64)
    flat = lists.explode(empty_as_null=False)
    ordered = flat.unique().sort()
    if not len(ordered):
        raise ColumnError(f"column {columns[0]!r} holds no category", where=table.source)
    codes = flat.replace_strict(ordered, np.arange(len(ordered)), return_dtype=pl.Int64)
    return Named(codes.to_numpy(), tuple(ordered), starts, said)


def _common_prefix(names: tuple[str, ...]) -> str:
    """Return what the names share; up to the last ``_`` if there is only one."""
    if len(names) == 1:
        return names[0][: names[0].rfind("_") + 1]
    low, high = min(names), max(names)
    at = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    return low[:at]


def read_features(table: Table, found: Found) -> Matrix:
    """Read vectors: a column of lists or arrays of numbers, or several columns of numbers."""
    columns = found.names
    if found.several:
        numbers = pl.DataFrame({name: _number(table, name) for name in columns})
        values = numbers.select(pl.concat_list(pl.all()).alias("vector"))["vector"]
    else:
        values = table.frame[columns[0]]
    dtype = values.dtype
    if not isinstance(dtype, pl.List | pl.Array) or not (
        dtype.inner.is_numeric() or dtype.inner == pl.Boolean or dtype.inner == pl.Null
    ):
        raise ColumnError(
            f"column {columns[0]!r} does not hold vectors",
            where=table.source,
            found=str(values.dtype),
            hint="features are a column of lists or arrays of numbers, or several columns of "
            "numbers, named by what they have in common: features='f_*'",
        )
    lists = values.cast(pl.List(pl.Float64))
    lengths = lists.list.len()
    known = lists.is_not_null().to_numpy()
    sizes = lengths.filter(pl.Series(known)).unique()
    if len(sizes) != 1 or sizes[0] == 0:
        raise ColumnError(
            "features must be vectors of one length",
            where=f"{table.source}, column {columns[0]!r}",
            found=f"lengths {', '.join(map(str, sizes.sort()[:5]))}",
        )
    vector = np.zeros((len(lists), int(sizes[0])))
    vector[known] = lists.filter(pl.Series(known)).explode().to_numpy().reshape(-1, int(sizes[0]))
    bad = ~np.isfinite(vector).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ScoreError(
            "a feature is null, NaN or infinite",
            where=f"{table.source}, column {columns[0]!r}, item {table.frame['item'][row]!r}",
            found=f"{int(bad.sum())} such items",
        )
    return Matrix(
        vector, known, f"column {columns[0]!r}" if not found.several else f"{len(columns)} columns"
    )
