"""Any source to one table: ids with their ranks, scores or relevances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.vocabulary import WHOLE_NUMBER
from rankwise.errors import ColumnError, EmptyError, FileError, IdError, InputError
from rankwise.tables.cards import card_beside
from rankwise.tables.columns import Columns, TableRole, choose, recognise
from rankwise.tables.files import RawFile, malformed, read_file
from rankwise.tables.in_memory import from_array, from_mapping, from_sparse
from rankwise.tables.table import Recommendations, Table, Tables
from rankwise.tables.validation import check_finite, checked_ids

__all__ = ["from_arrow", "from_file", "read_table", "read_tables", "typed", "whole"]

_IDS = ("user", "item")
_NUMBERS = ("rank", "score", "relevance", "weight")
_KEEP_OTHERS = ("users", "items", "interactions")
"""Roles of tables that keep their other columns: groups, categories, sessions, …."""


def read_table(source: Any, role: TableRole, columns: Columns | None = None) -> Table:
    """Return a table read from any supported source.

    Parameters
    ----------
    source : object
        A `Ranking` or `Ranks`, a path (``-`` for standard input), any table with the Arrow
        PyCapsule interface (Polars, pandas, PyArrow, DuckDB), a mapping by user, a dense array with
        one row per user, or a SciPy sparse matrix. For items also any iterable of ids.
    role : {"recommendations", "truth", "train", "items", "users", "baseline", "interactions"}
        What the table is for: decides which columns are looked for.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised, ``{"user": "uid"}``; with a dot for one table
        only, ``{"truth.relevance": "stars"}``; None for a column not to be used.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If it cannot be read, or lacks a column that its role needs.

    Examples
    --------
    >>> table = read_table({"ann": [3, 1], "bob": [2]}, "recommendations")
    >>> table.frame["item"].to_list()
    [3, 1, 2]
    """
    table: Table
    if isinstance(source, Table) or hasattr(source, "as_table"):  # checked when it was made
        table = source if isinstance(source, Table) else source.as_table(role)
        exact = isinstance(table, Recommendations) and table.is_exact
        if table.frame.is_empty() and not exact:
            raise EmptyError(f"the table of {role} is empty", where=table.source, found="0 rows")
        return table
    table = _load(source, role, choose(columns, role))
    for column in _IDS:
        if column in table.frame.columns:
            table = table.with_ids(column, checked_ids(table.frame[column], column, table))
    if table.frame.is_empty():
        raise EmptyError(f"the table of {role} is empty", where=table.source, found="0 rows")
    for column in _NUMBERS:
        if column in table.frame.columns and column in table.columns:  # else only called so
            check_finite(table.frame[column], column, table)
    if "rank" in table.columns:
        rank = table.frame["rank"]
        if rank.dtype.is_integer() or bool((rank == rank.round()).all()):
            table = table.with_frame(table.frame.with_columns(rank.cast(pl.Int64)))
    return table


def read_tables(columns: Columns | None, *, required: Sequence[str] = (), **sources: Any) -> Tables:
    """Return the tables of an evaluation; a source that is None has no table.

    For a role that is ``required`` None is an error like any other source that is no table.
    """
    return Tables(
        **{
            role: read_table(source, role, columns)  # type: ignore[arg-type]
            for role, source in sources.items()
            if source is not None or role in required
        }
    )


def _table(
    frame: pl.DataFrame,
    role: TableRole,
    source: str,
    layout: str,
    columns: dict[str, str],
    counts: Mapping[str, int] | None = None,
) -> Table:
    if role == "recommendations":
        return Recommendations(frame, role, source, layout, columns, counts=counts or {})
    return Table(frame, role, source, layout, columns)


def _load(source: Any, role: TableRole, given: Mapping[str, str | None]) -> Table:
    if isinstance(source, str | Path):
        raw = read_file(source)
        table = from_file(raw, role, given)
        return replace(table, split=card_beside(source, raw.sha256)) if role == "truth" else table
    if isinstance(source, RawFile):
        return from_file(source, role, given)
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        frame = from_arrow(source, role)
        library = type(source).__module__.split(".")[0].lstrip("_")
        return _from_frame(frame, role, given, role, f"{library} table")
    if isinstance(source, Mapping):
        frame, layout = from_mapping(source, role)
        if layout == "columns":
            return _from_frame(frame, role, given, role, layout)
        return _table(frame, role, role, layout, {name: name for name in frame.columns})
    if role == "items" and hasattr(source, "toarray"):
        source = source.toarray()  # a sparse matrix of features
    if hasattr(source, "tocoo"):
        frame = from_sparse(source, role)
        return _table(frame, role, role, "sparse matrix", {name: name for name in frame.columns})
    if role == "items" and isinstance(source, np.ndarray) and source.ndim == 2:
        if source.dtype.kind not in "iufb":
            raise InputError(
                "items: a matrix holds the features of items, as numbers",
                found=f"{source.dtype} values",
                hint="pass a table with the ids and what is known about them",
            )
        vectors = source.astype(np.float64)
        frame = pl.DataFrame({"item": np.arange(len(source)), "features": vectors})
        return Table(frame, role, role, "feature matrix", {"item": "item"})
    if role == "items" and isinstance(source, Iterable):
        return Table(_catalogue(source), role, role, "ids", {"item": "item"})
    if isinstance(source, np.ndarray | list | tuple) or hasattr(source, "__array__"):
        frame, padding = from_array(source, role)
        columns = {name: name for name in frame.columns}
        counts = {"padding": padding}
        return _table(frame, role, role, "dense array", columns, counts)
    raise InputError(
        f"the {role} are of a type that is not understood",
        found=type(source).__name__,
        hint="pass a path, a table (Polars, pandas, PyArrow, DuckDB), {user: [items]}, a dense "
        "array with a row a user, or a SciPy sparse matrix",
    )


def from_arrow(source: Any, name: str) -> pl.DataFrame:
    """Return a table of any library with the Arrow PyCapsule interface as a Polars table."""
    if isinstance(source, pl.DataFrame):
        return source
    try:
        return pl.DataFrame(source)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            "a column of this table holds values of several types",
            where=name,
            found=str(error).splitlines()[0],
            hint="give each column one type",
        ) from error


def whole(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are integers, if all values are written as integers."""
    for name in names:
        if frame.schema[name] == pl.String and frame[name].str.contains(WHOLE_NUMBER).all():
            number = frame[name].cast(pl.Int64, strict=False)
            frame = frame if number.null_count() else frame.with_columns(number)
    return frame


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are numbers, if all values are numbers."""
    for name in names:
        column = frame[name]
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count():
            frame = frame.with_columns(number)
    return frame


def _catalogue(ids: Iterable[Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame({"item": pl.Series(list(ids))})
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise IdError("items are integers or strings, not both", where="items") from error


def _from_frame(
    frame: pl.DataFrame, role: TableRole, given: Mapping[str, str | None], source: str, layout: str
) -> Table:
    columns = recognise(frame.columns, role, given, source)
    chosen = [pl.col(name).alias(column) for column, name in columns.items()]
    if role in _KEEP_OTHERS:
        others = [name for name in frame.columns if name not in columns.values()]
        taken = next((name for name in others if name in columns), None)
        if taken is not None:
            raise ColumnError(
                f"column {columns[taken]!r} is the {taken}, and another is called {taken!r}",
                where=source,
                hint=f"rename column {taken!r}",
            )
        chosen += [pl.col(name) for name in others]
    out = frame.select(chosen)
    for column in _NUMBERS:
        if column in columns and column != "rank" and out[column].dtype != pl.String:
            out = out.with_columns(_as_float(out[column], columns[column], source))
    return _table(out, role, source, layout, columns)


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(
            f"column {name!r} does not hold numbers", where=source, found=str(column.dtype)
        )
    return column.cast(pl.Float64)


def from_file(raw: RawFile, role: TableRole, given: Mapping[str, str | None]) -> Table:
    """Return the table with one role that a file holds."""
    frame = raw.frame
    if raw.format.name == "json lines":
        frame = _exploded(frame)
    table = _from_frame(frame, role, given, raw.name, str(raw.format))
    table = replace(table, sha256=raw.sha256, is_text=raw.is_text)
    if not raw.is_text:
        return table
    out = table.frame
    if any(out[column].null_count() for column in _IDS if column in out.columns):
        out = out.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for column, name in table.columns.items():
        if column in _IDS:
            out = out.with_columns(out[column].str.strip_chars())
            _no_nulls(raw, out[column], name)
            out = whole(out, [column])
        elif column in _NUMBERS:
            out = out.with_columns(_numbers(raw, out[column], name))
        elif column == "timestamp":  # a number, or a date as text, which splits can read
            for dtype in (pl.Int64, pl.Float64):
                times = out[column].cast(dtype, strict=False)
                if not times.null_count():
                    out = out.with_columns(times)
                    break
    return replace(table, frame=out)


_LISTS = {"items": "item", "scores": "score", "relevances": "relevance", "ratings": "rating"}


def _exploded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per item of lines that hold whole lists; other lists are kept."""
    lists = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.List) and (name in _LISTS or name in _LISTS.values())
    ]
    if not lists:
        return frame
    try:
        frame = frame.explode(lists, empty_as_null=False)
    except pl.exceptions.PolarsError as error:
        raise FileError(
            "the lists of one line are of different lengths", found=", ".join(lists)
        ) from error
    return frame.rename({name: _LISTS[name] for name in lists if name in _LISTS})


def _numbers(raw: RawFile, column: pl.Series, name: str) -> pl.Series:
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count():
        index = raw.frame.columns.index(name)
        line = raw.locate(lambda fields: not _is_number(fields[index]))
        raise malformed(f"column {name!r} is not a number", raw.name, *line)
    return numbers


def _is_number(text: str) -> bool:
    try:
        float(text.strip())
    except ValueError:
        return False
    return True


def _no_nulls(raw: RawFile, column: pl.Series, name: str) -> None:
    if column.null_count():
        index = raw.frame.columns.index(name)
        line = raw.locate(lambda fields: not fields[index].strip())
        raise malformed(f"column {name!r} is empty", raw.name, *line)
