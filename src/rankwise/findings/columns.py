"""Tables of dataclasses: a column is a field that declares its type, head and text.

A new column is a field of one section and what computes it: the table, files, text for readers and
the report have it then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import polars as pl

from rankwise.core.terminal import Cell, brief

_Row = TypeVar("_Row")
_TYPES: dict[str, Any] = {
    "str": pl.String,
    "bool": pl.Boolean,
    "int": pl.Int64,
    "float": pl.Float64,
    "tuple[str, ...]": pl.List(pl.String),
}


@dataclass(frozen=True)
class Column:
    """A column of a table, as declared by a field.

    Attributes
    ----------
    dtype : polars data type
        Derived from the annotation of the field.
    head : str
        The head in tables of pairs for readers: text, HTML, the report; empty if the column is not
        in them.
    text : callable
        The cell of these tables, from the row.
    leaves : int
        When the column leaves a terminal that is too narrow, the largest number first; 0 stays.
    in_systems : str
        The format in the cells of tables of systems (Markdown, LaTeX), for ``name_baseline`` and
        ``name_system`` declared at the second one; empty if the column is not in them.
    """

    dtype: Any
    head: str
    text: Callable[[Mapping[str, Any]], Cell]
    leaves: int
    in_systems: str


def column(
    default: Any = None,
    head: str = "",
    text: Callable[..., Cell] | None = None,
    *,
    leaves: int = 10,
    in_systems: str = "",
) -> Any:
    """Declare a column for readers, in tables of pairs or systems; the rest are plain fields."""
    metadata = {"head": head, "text": text, "leaves": leaves, "in_systems": in_systems}
    return field(default=default, metadata=metadata)


HIDDEN = {"hidden": True}
"""The metadata of a field for later computations that is not a column."""


def hidden(default: Any) -> Any:
    """Declare a field for later computations that is not a column."""
    return field(default=default, metadata=HIDDEN)


def columns_of(row: type) -> dict[str, Column]:
    """Return the columns of a dataclass of rows by name, with the columns of sections in place."""
    columns: dict[str, Column] = {}
    for entry in fields(row):
        if is_dataclass(entry.default):
            columns |= columns_of(type(entry.default))
        elif "hidden" not in entry.metadata:
            dtype = _TYPES[str(entry.type).removesuffix(" | None")]
            text = entry.metadata.get("text") or _plain_text(entry.name)
            more = entry.metadata.get
            columns[entry.name] = Column(
                dtype, more("head", ""), text, more("leaves", 10), more("in_systems", "")
            )
    return columns


def _plain_text(name: str) -> Callable[[Mapping[str, Any]], str]:
    """Return the default text of a column: numbers as `brief` writes them, counts with commas."""

    def text(row: Mapping[str, Any]) -> str:
        value = row[name]
        if value is None or isinstance(value, float):
            return brief(value)
        return f"{value:,}" if type(value) is int else str(value)

    return text


@cache
def _paths(row: Any) -> dict[str, str]:
    """Return the attributes that lead from a row to each of its columns, by name."""
    paths: dict[str, str] = {}
    for entry in fields(row):
        if is_dataclass(entry.default):
            section: Any = type(entry.default)
            paths |= {name: f"{entry.name}.{path}" for name, path in _paths(section).items()}
        elif "hidden" not in entry.metadata:
            paths[entry.name] = entry.name
    return paths


def values_of(row: Any) -> dict[str, Any]:
    """Return the value of each column of a row."""
    kind: Any = type(row)
    paths = _paths(kind)
    return dict(zip(paths, attrgetter(*paths.values())(row), strict=True))


def table_of(rows: Sequence[Any], row: type) -> pl.DataFrame:
    """Return rows of one dataclass as a table."""
    schema = {name: column.dtype for name, column in columns_of(row).items()}
    columns = {name: list(map(attrgetter(path), rows)) for name, path in _paths(row).items()}
    return pl.DataFrame(columns, schema=schema)


def rows_of(table: pl.DataFrame, row: type[_Row]) -> list[_Row]:
    """Return the rows of a table that `table_of` made; fields that are no columns have defaults."""
    return [_read_row(values, row) for values in table.iter_rows(named=True)]


def _read_row(values: Mapping[str, Any], row: type[_Row]) -> _Row:
    read: dict[str, Any] = {}
    for entry in fields(row):  # type: ignore[arg-type]
        if is_dataclass(entry.default):
            section: Any = type(entry.default)
            read[entry.name] = _read_row(values, section)
        elif "hidden" not in entry.metadata:
            value = values[entry.name]
            read[entry.name] = tuple(value) if isinstance(value, list) else value
    return row(**read)
