"""Any source to one table: ids with their ranks, scores or relevances."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arguments import bounded
from rankwise.core.threads import check_not_forked
from rankwise.core.vocabulary import WHOLE_NUMBER
from rankwise.errors import ColumnError, IdError, InputError, ParameterError, ScoreError
from rankwise.tables.by_position import from_array, from_sparse
from rankwise.tables.cards import card_beside
from rankwise.tables.columns import Columns, TableRole, choose, recognise
from rankwise.tables.files import RawFile, malformed, read_file
from rankwise.tables.frames import (
    KEEP_OTHERS,
    as_table,
    from_arrow,
    from_frame,
    is_truth_values,
    series_as_frame,
    whole,
)
from rankwise.tables.in_memory import from_mapping, from_rows, rows_of
from rankwise.tables.table import Recommendations, Table, Tables
from rankwise.tables.typed_columns import Numbers
from rankwise.tables.validation import EXACT, check_exact, check_finite, checked_ids, empty_table

__all__ = ["from_file", "read_table", "read_tables"]

_IDS = ("user", "item")
_NUMBERS = ("rank", "score", "relevance", "weight")


def read_table(source: Any, role: TableRole, columns: Columns | None = None) -> Table:
    """Return a table read from any supported source.

    Parameters
    ----------
    source : object
        A `Ranking` or `Ranks`, a path (``-`` for standard input), any table with the Arrow
        PyCapsule interface (Polars, pandas, PyArrow, DuckDB), rows or whole lists, a mapping by
        user, a list of (user, item) or (user, item, number) tuples or of records, a pandas Series
        by user, ranx's Run or Qrels, a dense array with one row per user, or a SciPy sparse
        matrix. For items also any iterable of ids.
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
    check_not_forked()
    table: Table
    if isinstance(source, Table) or hasattr(source, "as_table"):  # checked when it was made
        table = source if isinstance(source, Table) else source.as_table(role)
        exact = isinstance(table, Recommendations) and table.is_exact
        if table.frame.is_empty() and not exact:
            raise empty_table(table)
        return table
    given = choose(columns, role)
    table = _load(source, role, given)
    if table.is_positional:
        table = _without_columns(table, given, columns)
    for column in _IDS:
        if column in table.frame.columns:
            table = table.with_ids(column, checked_ids(table.frame[column], column, table))
    if table.frame.is_empty():
        raise empty_table(table)
    for column in _NUMBERS:
        if column in table.frame.columns and column in table.columns:  # else only called so
            check_finite(table.frame[column], column, table)
    if "rank" in table.columns:
        rank = table.frame["rank"]
        if rank.dtype.is_integer() or bool((rank == rank.round()).all()):
            table = table.with_frame(table.frame.with_columns(_whole_ranks(rank, table)))
    return table


def _without_columns(
    table: Table, given: Mapping[str, str | None], columns: Columns | None
) -> Table:
    """Return a table of a source that names no columns, without those that are to be left out."""
    asked = [
        key for key, name in (columns or {}).items() if name and key.startswith(f"{table.role}.")
    ]
    if asked:
        raise ParameterError(
            f"columns= names a column of {table.role}, but this source has no column names",
            found=f"{asked[0]!r}, {table.format}",
            hint="pass a table, or omit the name",
        )
    numbers = ("score", "relevance")
    left_out = [name for name in numbers if name in table.columns and given.get(name, name) is None]
    names = {role: name for role, name in table.columns.items() if role not in left_out}
    return replace(table, frame=table.frame.drop(left_out), columns=names)


def _whole_ranks(rank: pl.Series, table: Table) -> pl.Series:
    try:
        return rank.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError as error:
        raise ScoreError(
            "a rank is larger than any list", where=table.source, found=str(rank.max())
        ) from error


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


def _load(source: Any, role: TableRole, given: Mapping[str, str | None]) -> Table:
    if isinstance(source, str | Path):
        raw = read_file(source, numbers=None if role in KEEP_OTHERS else _numbers_of(role, given))
        table = from_file(raw, role, given)
        return replace(table, split=card_beside(source, raw.sha256)) if role == "truth" else table
    if isinstance(source, RawFile):
        return from_file(source, role, given)
    library = type(source).__module__.split(".")[0].lstrip("_")
    if type(source).__name__ == "Series" and library == "pandas":
        source = source.to_list() if role == "items" else series_as_frame(source, role)
    if library == "ranx" and hasattr(source, "to_dict"):  # Run and Qrels
        source = source.to_dict()
    if isinstance(source, pl.LazyFrame) or hasattr(source, "__arrow_c_stream__"):
        return from_frame(from_arrow(source, role), role, given, role, f"{library} table")
    if isinstance(source, Mapping):
        frame, layout = from_mapping(source, role)
        if layout == "columns":
            return from_frame(frame, role, given, role, layout)
        return as_table(frame, role, role, layout)
    if role != "items" and isinstance(source, list | tuple) and rows_of(source):
        frame, layout = from_rows(source, role)
        if layout == "records":
            return from_frame(frame, role, given, role, layout)
        return as_table(frame, role, role, layout)
    return _from_numbers(source, role)


def _numbers_of(role: TableRole, given: Mapping[str, str | None]) -> Numbers:
    """Return what says which columns hold numbers, for a file with a table of some role."""

    def numbers(names: Sequence[str]) -> list[str]:
        with contextlib.suppress(ColumnError):  # raised again when the table is made
            found = recognise(names, role, given, "")
            return [name for column, name in found.items() if column in _NUMBERS]
        return []

    return numbers


def _from_numbers(source: Any, role: TableRole) -> Table:
    """Return the table of an array, a sparse matrix, or the ids of a catalogue."""
    if role == "items" and hasattr(source, "toarray"):
        source = source.toarray()  # a sparse matrix of features
    if hasattr(source, "tocoo"):
        return as_table(from_sparse(source, role), role, role, "sparse matrix")
    if role == "items" and isinstance(source, np.ndarray) and source.ndim == 2:
        if source.dtype.kind not in "iufb":
            raise InputError(
                "items: a matrix holds the features of items, as numbers",
                found=f"{source.dtype} values",
                hint="pass a table with item ids and their features",
            )
        vectors = source.astype(np.float64)
        frame = pl.DataFrame({"item": np.arange(len(source)), "features": vectors})
        return Table(frame, role, role, "feature matrix", {"item": "item"})
    if role == "items" and isinstance(source, Iterable):
        return Table(_catalogue(source), role, role, "ids", {"item": "item"})
    if isinstance(source, np.ndarray | list | tuple) or hasattr(source, "__array__"):
        frame, padding = from_array(source, role)
        layout = "list of lists" if isinstance(source, list | tuple) else "dense array"
        return as_table(frame, role, role, layout, counts={"padding": padding})
    raise InputError(
        f"{role}: a table of this type is not understood",
        found=type(source).__name__,
        hint="pass a path, a table (Polars, pandas, PyArrow, DuckDB), {user: [items]}, a list of "
        "(user, item) tuples, a dense array with one row per user, or a SciPy sparse matrix",
    )


def _catalogue(ids: Iterable[Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame({"item": pl.Series(bounded("items", ids))})
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise IdError("items are integers or strings, not both", where="items") from error


def from_file(raw: RawFile, role: TableRole, given: Mapping[str, str | None]) -> Table:
    """Return the table with one role that a file holds."""
    table = from_frame(raw.frame, role, given, raw.name, str(raw.format))
    table = replace(table, sha256=raw.sha256, is_text=raw.is_text)
    return _from_text(table, raw) if raw.is_text else table


def _from_text(table: Table, raw: RawFile) -> Table:
    """Return the table of a file in which ids and numbers are text."""
    out, trimmed = table.frame, 0
    if any(out[column].null_count() for column in _IDS if column in out.columns):
        out = out.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for column, name in table.columns.items():
        if out.schema[column] != pl.String:
            continue  # JSON has numbers too
        if column in _IDS:
            ids, blanks = _trimmed(out[column], raw, name)
            trimmed += blanks
            out = whole(out.with_columns(ids), [column])
        elif column in _NUMBERS:
            out = whole(out, ["rank"]) if column == "rank" else out  # more digits than floats have
            if out.schema[column] == pl.String:
                out = out.with_columns(_numbers(raw, out[column], name))
        elif column == "timestamp":  # a number, or a date as text, which splits can read
            for dtype in (pl.Int64, pl.Float64):
                times = out[column].cast(dtype, strict=False)
                if not times.null_count():
                    out = out.with_columns(times)
                    break
    return replace(table, frame=out, trimmed=trimmed)


def _trimmed(ids: pl.Series, raw: RawFile, name: str) -> tuple[pl.Series, int]:
    """Return ids without the blanks around them, and how many had some.

    Raises
    ------
    IdError
        If two ids differ by nothing else.
    """
    plain = ids.str.strip_chars()
    _no_nulls(raw, plain, name)
    blanks = int((plain != ids).sum())
    if blanks and plain.n_unique() < ids.n_unique():
        groups = pl.DataFrame({"id": ids, "plain": plain}).unique(maintain_order=True)
        twice = groups.filter(pl.col("plain").is_duplicated())["id"]
        raise IdError(
            "two ids differ only by blanks around them",
            where=f"{raw.name}, column {name!r}",
            found=f"{twice[0]!r} and {twice[1]!r}",
            hint="write them alike, or store the table as Parquet, which keeps ids as they are",
        )
    return plain, blanks


def _numbers(raw: RawFile, column: pl.Series, name: str) -> pl.Series:
    text, numbers = column, column.cast(pl.Float64, strict=False)
    if numbers.null_count():
        text = column.str.strip_chars()
        if is_truth_values(text):
            return (text.str.to_lowercase() == "true").cast(pl.Float64)
        numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count():
        raise _malformed(raw, column, numbers.is_null(), name, "is not a number")
    largest = float(numbers.abs().max() or 0)  # type: ignore[arg-type]
    if largest >= EXACT:
        whole_ones = text.str.contains(WHOLE_NUMBER)
        exact = text.filter(whole_ones).cast(pl.Int128)
        check_exact(exact, numbers.filter(whole_ones), name, raw.name)
    return numbers


def _no_nulls(raw: RawFile, column: pl.Series, name: str) -> None:
    empty = column.is_null() | (column == "").fill_null(value=True)
    if empty.any():
        raise _malformed(raw, column, empty, name, "is empty")


def _malformed(
    raw: RawFile, column: pl.Series, bad: pl.Series, name: str, problem: str
) -> InputError:
    """Return the error of the first bad value, with its line where rows are lines."""
    if raw.has_lines and name in raw.frame.columns:
        index = raw.frame.columns.index(name)
        is_bad = _is_empty if problem == "is empty" else _is_no_number
        number, line = raw.locate(lambda fields: len(fields) > index and is_bad(fields[index]))
        if number:
            return malformed(f"column {name!r} {problem}", raw.name, number, line)
    row = int(bad.arg_true()[0])
    return InputError(
        f"column {name!r} {problem}", where=f"{raw.name}, row {row + 1}", found=repr(column[row])
    )


def _is_empty(text: str) -> bool:
    return not text.strip()


def _is_no_number(text: str) -> bool:
    """Return whether text is no number as Polars reads it, which knows no ``1_0``."""
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)",
                        text.strip(), re.IGNORECASE) is None  # fmt: skip
