"""Any source to one table: ids with their ranks, scores or relevances."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arguments import bounded
from rankwise.core.threads import check_not_forked
from rankwise.errors import ColumnError, IdError, InputError, ParameterError, ScoreError
from rankwise.tables.by_position import RANKED, from_array, from_sparse
from rankwise.tables.cards import card_beside
from rankwise.tables.columns import Columns, TableRole, choose, could_decide, recognise
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.frames import (
    KEEP_OTHERS,
    NUMBERS,
    as_table,
    from_frame,
    holds_qrels,
    holds_run,
    in_one_piece,
    readable_columns,
    series_as_frame,
)
from rankwise.tables.in_memory import columns_of, from_mapping, from_rows, refuse_tuples, rows_of
from rankwise.tables.on_disk import file_state, is_folder
from rankwise.tables.parquet import Wanted
from rankwise.tables.parts import is_list_of_paths, read_parts
from rankwise.tables.table import Recommendations, Table, Tables, names_no_columns
from rankwise.tables.text_columns import IDS, from_text
from rankwise.tables.typed_columns import Numbers
from rankwise.tables.validation import (
    check_finite,
    check_numeric,
    check_ranks,
    checked_ids,
    empty_table,
    may_be_missing,
)

__all__ = ["from_file", "read_table", "read_tables", "unread_of", "wanted_by"]


def read_table(source: Any, role: TableRole, columns: Columns | None = None, *, progress: bool | None = None) -> Table:
    """Return a table read from any supported source.

    Parameters
    ----------
    source : object
        A `Ranking` or `Ranks`, a path (``-`` for standard input), a folder or list of paths of
        Parquet files, a dataset of PyArrow, any table with the Arrow
        PyCapsule interface (Polars, pandas, PyArrow, DuckDB), rows or whole lists, a mapping by
        user, a list of (user, item) or (user, item, number) tuples or of records, a pandas Series
        by user, ranx's Run or Qrels, a dense array with one row per user, or a SciPy sparse
        matrix. For items also any iterable of ids.
    role : {"recommendations", "truth", "train", "items", "users", "baseline", "interactions"}
        What the table is for: decides which columns are looked for.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised, ``{"user": "uid"}``; with a dot for one table
        only, ``{"truth.relevance": "stars"}``; None for a column not to be used.
    progress : bool or None, default=None
        Whether a progress bar is shown while a file is read: by default after a second, on a
        terminal.

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
    table = _load(source, role, given, progress)
    if table.is_positional:
        table = _without_columns(table, given, columns)
    for column in IDS:
        if column in table.frame.columns:
            ids = table.frame[column]
            checked = checked_ids(ids, column, table)
            table = table if checked is ids else table.with_ids(column, checked)
    if table.frame.is_empty():
        raise empty_table(table)
    for column in NUMBERS:
        if column not in table.frame.columns or column not in table.columns:
            continue  # only called so
        values = table.frame[column]
        if not may_be_missing(table.role, column):
            check_finite(values, column, table)
        elif values.dtype != pl.Null:  # splits and training need no ratings; filters that do check them
            check_numeric(values, column, table)
    if "rank" in table.columns:
        rank = table.frame["rank"]
        check_ranks(rank, table)
        whole = rank.dtype.is_integer() or bool((rank == rank.round()).all())
        if whole and rank.dtype != pl.Int64:
            table = table.with_frame(table.frame.with_columns(_whole_ranks(rank, table)))
    return table


def _without_columns(table: Table, given: Mapping[str, str | None], columns: Columns | None) -> Table:
    """Return a table of a source that names no columns, without those that are to be left out."""
    asked = [key for key, name in (columns or {}).items() if name and key.startswith(f"{table.role}.")]
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
        raise ScoreError("a rank is larger than any list", where=table.source, found=str(rank.max())) from error


def read_tables(
    columns: Columns | None, *, required: Sequence[str] = (), progress: bool | None = None, **sources: Any
) -> Tables:
    """Return the tables of an evaluation; a source that is None has no table.

    For a role that is ``required`` None is an error like any other source that is no table. A
    progress bar is shown, or not, by ``progress``. Columns are in one piece of memory each. Files
    are read at the same time.
    """
    given: dict[Any, Any] = {role: source for role, source in sources.items() if source is not None or role in required}

    def read(role: TableRole) -> Table:
        table = read_table(given[role], role, columns, progress=progress)
        frame = in_one_piece(table.frame)
        return table if frame is table.frame else table.with_frame(frame)

    # Only files: a pipe is read once, and a database, say, may serve one thread alone.
    files = [
        role
        for role, source in given.items()
        if isinstance(source, str | Path) and str(source) != "-" and file_state(Path(source))
    ]
    with ThreadPoolExecutor(len(files) or 1) as pool:
        begun = {role: pool.submit(read, role) for role in files if len(files) > 1}
        tables = {role: begun[role].result() if role in begun else read(role) for role in given}
    return Tables(**tables)  # type: ignore[arg-type]


def _load(source: Any, role: TableRole, given: Mapping[str, str | None], progress: bool | None) -> Table:
    wanted = None if role in KEEP_OTHERS else wanted_by(role, given)
    if is_list_of_paths(source, role) or (isinstance(source, str | Path) and is_folder(source)):
        return from_file(read_parts(source, wanted=wanted, progress=progress), role, given)
    if isinstance(source, str | Path):
        raw = read_file(
            source, numbers=None if role in KEEP_OTHERS else _numbers_of(role, given), wanted=wanted, progress=progress
        )
        table = from_file(raw, role, given)
        return replace(table, split=card_beside(source, raw.sha256)) if role == "truth" else table
    if isinstance(source, RawFile):
        return from_file(source, role, given)
    library = type(source).__module__.split(".")[0].lstrip("_")
    if type(source).__name__ == "Series" and library == "pandas":
        if role == "items":
            source = source.to_list()
        else:
            source, given = series_as_frame(source, role, given)
    if library == "pyarrow" and hasattr(source, "scanner"):
        return _from_dataset(source, role, given, wanted)
    if library == "ranx" and hasattr(source, "to_dict"):  # Run and Qrels
        source = source.to_dict()
    if isinstance(source, pl.LazyFrame) or hasattr(source, "__arrow_c_stream__"):
        refuse_tuples(_cells_of(source), role, given)
        return from_frame(readable_columns(source, role), role, given, role, f"{library} table")
    if isinstance(source, Mapping):
        frame, layout = from_mapping(source, role)
        if names_no_columns(layout):
            return as_table(frame, role, role, layout)
        refuse_tuples(source if layout == "columns" else columns_of(chain(*source.values())), role, given)
        return from_frame(frame, role, given, role, layout)
    if role != "items" and isinstance(source, list | tuple) and rows_of(source):
        frame, layout = from_rows(source, role)
        if layout == "records":
            rows = (row if isinstance(row, Mapping) else row._asdict() for row in source)
            refuse_tuples(columns_of(rows), role, given)
            return from_frame(frame, role, given, role, layout)
        return as_table(frame, role, role, layout)
    return _from_numbers(source, role)


def _from_dataset(source: Any, role: TableRole, given: Mapping[str, str | None], wanted: Wanted | None) -> Table:
    """Return the table of a dataset of PyArrow, of which only the columns that are needed are read."""
    schema = readable_columns(source.schema.empty_table(), role).schema
    chosen = schema if wanted is None else wanted(schema)
    names = [name for name in schema if name in chosen]
    frame = readable_columns(source.scanner(columns=names).to_table(), role)
    table = from_frame(frame, role, given, role, "pyarrow dataset")
    return replace(table, unread=unread_of(table, names, [*schema]))


def _cells_of(source: Any) -> dict[Any, Any]:
    """Return the columns of a pandas frame that hold Python's objects; none of other tables."""
    if not hasattr(source, "reset_index") or not source.columns.is_unique:
        return {}
    return {name: source[name] for name, dtype in source.dtypes.items() if dtype.kind == "O"}


def _numbers_of(role: TableRole, given: Mapping[str, str | None]) -> Numbers:
    """Return what says which columns hold numbers, for a file with a table of some role."""

    def numbers(names: Sequence[str]) -> list[str]:
        with contextlib.suppress(ColumnError):  # raised again when the table is made
            found = recognise(names, role, given, "")
            return [name for column, name in found.items() if column in NUMBERS]
        return []

    return numbers


def wanted_by(role: TableRole, given: Mapping[str, str | None]) -> Wanted:
    """Return what says which columns of a file are read, for a table of some role."""

    def wanted(schema: Mapping[str, Any]) -> Collection[str]:
        names = [*schema]
        if any(isinstance(dtype, pl.List | pl.Array) for dtype in schema.values()):
            return names  # whole lists in a row, which may be called otherwise
        with contextlib.suppress(ColumnError):  # raised again when the table is made
            found = recognise(names, role, given, "")
            return {*found.values(), *could_decide(names, role, found, given)}
        return names

    return wanted


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
    layout = raw.format.name
    if layout == "trec qrels" and role in RANKED:
        raise holds_qrels(role, raw.name, raw.format.columns)
    if layout == "trec run" and role == "truth":
        raise holds_run(raw.name, raw.format.columns)
    table = from_frame(raw.frame, role, given, raw.name, str(raw.format))
    unread = unread_of(table, raw.frame.columns, raw.names) if raw.names else table.unread
    table = replace(table, sha256=raw.sha256, is_text=raw.is_text, unread=unread)
    return from_text(table, raw) if raw.is_text else table


def unread_of(table: Table, read: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a file that were not used, or not even read, in their order."""
    renamed = [name for name in table.unread if name not in names]
    return (*(name for name in names if name in table.unread or name not in read), *renamed)
