"""Any source to one table, whole or in chunks that each have all rows of their users.

Columns are recognised by name (rules); two candidates for a role are an error, as are numbers under
an unknown name that could be the score or relevance. The result records which columns were read and
which were not. Ids of text files stay text unless each is an integer as it would be written back.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.selectors import by_name

from rankwise.core.arguments import bounded, check_count
from rankwise.core.kernels import check_not_forked
from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import ColumnError, IdError, InputError, ParameterError, ScoreError, nearest
from rankwise.messages import mention, parameter
from rankwise.tables.columns import (
    EXACT,
    POLARS_FAILURES,
    ROLES,
    Columns,
    candidate_columns,
    check_columns,
    check_exact,
    check_finite,
    check_ids,
    check_numeric,
    check_ranks,
    empty_table_error,
    may_be_missing,
    may_have_names,
    overrides_for,
    quoted_columns,
    recognise,
    shared_names,
)
from rankwise.tables.containers import has_labels, read_labelled, refuse_frame, structured_columns
from rankwise.tables.delimited import Numbers, malformed_line_error
from rankwise.tables.files import (
    Projection,
    RawFile,
    damaged_file_error,
    is_list_of_paths,
    origin_of,
    read_file,
    read_parts,
    scan_parquet,
    scan_parts,
    table_hash,
)
from rankwise.tables.formats import check_first_line, local_file
from rankwise.tables.frames import (
    KEEP_OTHERS,
    NUMBERS,
    QRELS,
    as_table,
    from_frame,
    in_one_piece,
    is_truth_values,
    parse_integers,
    readable_columns,
    series_as_frame,
    swapped_tables_error,
)
from rankwise.tables.list_rows import one_row_per_item
from rankwise.tables.memory import (
    RANKED,
    columns_of,
    from_array,
    from_mapping,
    from_mapping_of_columns,
    from_rows,
    from_sparse,
    id_series,
    refuse_tuples,
    types_of_rows,
)
from rankwise.tables.requests import check_same_units
from rankwise.tables.storage import file_state, is_folder
from rankwise.tables.table import (
    Recommendations,
    Table,
    TableRole,
    Tables,
    card_beside,
    names_no_columns,
)

IDS = ("user", "request", "item")
"""The columns that hold ids; requests of logs, in other tables, are numbers or text as they come."""
SPARSE = "sparse matrix"
"""The layout of matrices, whose rows and columns are numbered."""
_NUMBER = r"(?i)[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(inf|infinity|nan)"
"""A number as Polars reads it, which knows no ``1_0``."""
_DECIMAL_COMMA = r"^[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+$"


def _from_text(table: Table, raw: RawFile) -> Table:
    out, trimmed = table.frame, 0
    if any(out[column].null_count() for column in IDS if column in out.columns):
        out = out.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for column, name in table.columns.items():
        if out.schema[column] != pl.String:
            continue  # JSON has numbers too
        if column in IDS:
            ids, blanks = _trimmed(out[column], raw, name)
            trimmed += blanks
            out = parse_integers(out.with_columns(ids), [column])
        elif column in NUMBERS:
            out = (
                parse_integers(out, ["rank"]) if column == "rank" else out
            )  # more digits than floats have
            if out.schema[column] == pl.String:
                missing = may_be_missing(table.role, column)
                out = out.with_columns(_numbers(raw, out[column], name, missing=missing))
        elif column == "timestamp":  # a number, or a date as text, which splits can read
            for dtype in (pl.Int64, pl.Float64):
                times = out[column].cast(dtype, strict=False)
                if not times.null_count():
                    out = out.with_columns(times)
                    break
    return replace(table, frame=out, trimmed=trimmed)


def _trimmed(ids: pl.Series, raw: RawFile, name: str) -> tuple[pl.Series, int]:
    """Strip blanks around ids and count the ids changed; raise if two ids differ only in blanks."""
    plain = ids.str.strip_chars()
    empty = plain.is_null() | (plain == "").fill_null(value=True)
    if empty.any():
        raise _malformed(raw, plain, empty, name, "is empty")
    blanks = int((plain != ids).sum())
    if blanks and plain.n_unique() < ids.n_unique():
        groups = pl.DataFrame({"id": ids, "plain": plain}).unique(maintain_order=True)
        twice = groups.filter(pl.col("plain").is_duplicated())["id"]
        raise blanks_error(twice[0], twice[1], f"{raw.name}, column {name!r}")
    return plain, blanks


def blanks_error(one: str, other: str, where: str) -> IdError:
    """Return the error of two ids that differ only by blanks around them."""
    return IdError(
        "two ids differ only by blanks around them",
        where=where,
        found=f"{one!r} and {other!r}",
        hint="write them alike, or store the table as Parquet, which keeps ids as they are",
    )


def _numbers(raw: RawFile, column: pl.Series, name: str, *, missing: bool) -> pl.Series:
    """Return a column of text as numbers; empty fields become null if values may be missing."""
    text, numbers = column, column.cast(pl.Float64, strict=False)
    if numbers.null_count():
        text = column.str.strip_chars()
        if is_truth_values(text):
            return (text.str.to_lowercase() == "true").cast(pl.Float64)
        numbers = text.cast(pl.Float64, strict=False)
    bad = numbers.is_null()
    if missing:
        bad &= (text != "").fill_null(value=False)
    if bad.any():
        raise _malformed(raw, column, bad, name, "is not a number")
    if float(numbers.abs().max() or 0) >= EXACT:  # type: ignore[arg-type]
        integers = text.str.contains(WHOLE_NUMBER)
        check_exact(text.filter(integers).cast(pl.Int128), numbers.filter(integers), name, raw.name)
    return numbers


def _malformed(
    raw: RawFile, column: pl.Series, bad: pl.Series, name: str, problem: str
) -> InputError:
    """Return the error of the first bad value, with its line where rows are lines."""
    row = int(bad.arg_true()[0])
    if raw.has_lines and name in raw.frame.columns:
        index = raw.frame.columns.index(name)
        is_empty = not (
            column[row] or ""
        ).strip()  # where values may be missing, an empty field is not bad

        def is_bad(text: str) -> bool:
            text = text.strip()
            return (
                is_empty
                if not text
                else problem != "is empty" and re.fullmatch(_NUMBER, text) is None
            )

        number, line = raw.locate(lambda fields: len(fields) > index and is_bad(fields[index]))
        if number:
            hint = _hint(raw, str(column[row] or ""))
            return malformed_line_error(f"column {name!r} {problem}", raw.name, number, line, hint)
    return InputError(
        f"column {name!r} {problem}", where=f"{raw.name}, row {row + 1}", found=repr(column[row])
    )


def _hint(raw: RawFile, text: str) -> str | None:
    """Return a hint about decimal commas in numbers; None for other text."""
    if re.match(_DECIMAL_COMMA, text.strip()) is None:
        return None
    hint, separator = (
        "numbers have a decimal point: write 1234.5 for 1234,5 and for 1.234,5",
        raw.format.separator,
    )
    if "." in text or separator == ",":  # which Polars does not read
        return hint
    return (
        f"{hint}; or pass the table, polars.read_csv(path, separator={separator!r}, "
        "decimal_comma=True)"
    )


def read_table(
    source: Any, role: TableRole, columns: Columns | None = None, *, progress: bool | None = None
) -> Table:
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
    role : {"recommendations", "truth", "train", "items", "users", "reference", "interactions"}
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
    return _read(source, role, columns, overrides_for(columns, role), progress)


def _read(
    source: Any,
    role: TableRole,
    columns: Columns | None,
    overrides: Mapping[str, str | None],
    progress: bool | None,
) -> Table:
    check_not_forked()
    is_ranked = hasattr(source, "as_table") and type(source).__module__.startswith("rankwise.")
    if isinstance(source, Table) or is_ranked:
        return _checked_before(source if isinstance(source, Table) else source.as_table(role))

    table = _load(source, _Reading(role, overrides, progress))
    if table.is_positional:
        table = _without_columns(table, overrides, columns)
    table = _with_checked_ids(table)
    if table.frame.is_empty():
        raise empty_table_error(table)
    _check_numbers(table)
    return _with_whole_ranks(table) if "rank" in table.columns else table


def _checked_before(table: Table) -> Table:
    """Return a table that was checked when it was made; raise if it is empty."""
    is_exact = isinstance(table, Recommendations) and table.is_exact
    if table.frame.is_empty() and not is_exact:
        raise empty_table_error(table)
    return table


def _with_checked_ids(table: Table) -> Table:
    """Return a table whose users and items are ids."""
    for column in IDS:
        if column in table.frame.columns:
            ids = table.frame[column]
            checked = check_ids(ids, column, table)
            table = table if checked is ids else table.with_ids(column, checked)
    return table


def _check_numbers(table: Table) -> None:
    """Raise if a column of numbers has other values, or misses one that is needed."""
    for column in NUMBERS:
        if column not in table.frame.columns or column not in table.columns:
            continue  # a column that is only called so
        values = table.frame[column]
        if not may_be_missing(table.role, column):
            check_finite(values, column, table)
        elif values.dtype != pl.Null:  # splits and training need no ratings
            check_numeric(values, column, table)


def _with_whole_ranks(table: Table) -> Table:
    """Return a table whose ranks are integers, if all are whole numbers."""
    rank = table.frame["rank"]
    check_ranks(rank, table)
    if rank.dtype == pl.Int64:
        return table
    if not rank.dtype.is_integer() and not (rank == rank.round()).all():
        return table
    try:
        return table.with_frame(table.frame.with_columns(rank.cast(pl.Int64)))
    except pl.exceptions.InvalidOperationError as error:
        raise ScoreError(
            "a rank is larger than any list", where=table.source, found=str(rank.max())
        ) from error


def _without_columns(
    table: Table, overrides: Mapping[str, str | None], columns: Columns | None
) -> Table:
    """Drop the number columns to be left out from a table whose source names no columns."""
    keys = [
        key for key, name in (columns or {}).items() if name and key.startswith(f"{table.role}.")
    ]
    if keys:
        raise ParameterError(
            f"{parameter('columns')} names a column of {table.role}, but this source has no "
            "column names",
            found=f"{keys[0]!r}, {table.format}",
            hint="pass a table, or omit the name",
        )
    numbers = ("score", "relevance")
    left_out = [
        name for name in numbers if name in table.columns and overrides.get(name, name) is None
    ]
    if not left_out:
        return table
    names = {role: name for role, name in table.columns.items() if role not in left_out}
    return replace(table, frame=table.frame.drop(left_out), columns=names)


def read_tables(
    columns: Columns | None,
    *,
    required: Sequence[str] = (),
    progress: bool | None = None,
    names_checked: bool = True,
    **sources: Any,
) -> Tables:
    """Return the tables of an evaluation; a source that is None has no table.

    For a role that is ``required`` None is an error like any other source that is no table. A
    progress bar is shown, or not, by ``progress``. Unless ``names_checked``, the
    caller does `check_shared_names`. Columns are in one piece of memory each. Files are
    read at the same time.
    """
    present: dict[Any, Any] = {
        role: source for role, source in sources.items() if source is not None or role in required
    }

    def read(role: TableRole) -> Table:
        overrides = overrides_for(shared_names(columns), role)
        table = _read(present[role], role, columns, overrides, progress)
        frame = in_one_piece(table.frame)
        return table if frame is table.frame else table.with_frame(frame)

    # Only files: a pipe is read once, and a database, say, may serve one thread alone.
    files = [role for role, source in present.items() if _is_file(source)]
    with ThreadPoolExecutor(len(files) or 1) as pool:
        begun = {role: pool.submit(read, role) for role in files if len(files) > 1}
        tables = {role: begun[role].result() if role in begun else read(role) for role in present}

    check_same_units(tables.values(), columns)
    if names_checked:
        check_shared_names(columns, tables)
    if getattr(present.get("recommendations"), "is_labelled", False):
        _refuse_matrices(tables.values())
    return Tables(**tables)  # type: ignore[arg-type]


def _is_file(source: Any) -> bool:
    is_path = isinstance(source, str | Path) and str(source) != "-"
    return is_path and bool(file_state(Path(source)))


def _refuse_matrices(tables: Iterable[Table]) -> None:
    """Raise for a matrix, whose rows are numbers, beside lists that were ranked with ids."""
    matrix = next((table for table in tables if table.format == SPARSE), None)
    if matrix is not None:
        raise IdError(
            "the rows and columns of a matrix are numbers, and the lists were ranked with ids",
            where=matrix.source,
            found="a sparse matrix",
            hint="pass a table, or {user: items}, with the ids of user_ids and item_ids",
        )


def check_shared_names(columns: Columns | None, tables: Mapping[TableRole, Table]) -> None:
    """Raise if a name chosen for all tables is in no table that could have the column."""
    with_names = {role: table for role, table in tables.items() if not table.is_positional}
    for column, name in (columns or {}).items():
        could_have = [table for role, table in with_names.items() if column in ROLES[role]]
        is_there = any(table.columns.get(column) == name for table in could_have)
        if name is None or is_there or not could_have:
            continue
        if column == "request" and {*with_names} == {"truth"}:
            continue  # it holds for all requests of a user

        names = [
            other for table in could_have for other in (*table.columns.values(), *table.unread)
        ]
        raise ColumnError(
            f"there is no column {name!r} for the {column} in any table",
            found=quoted_columns([*dict.fromkeys(names)]),
            hint=nearest(name, names),
        )


@dataclass(frozen=True)
class _Reading:
    """How a source is read: for which table, under which names, with or without progress."""

    role: TableRole
    overrides: Mapping[str, str | None]
    progress: bool | None
    library: str = ""

    @property
    def projection(self) -> Projection | None:
        """The columns that are read of a file; None for all."""
        return None if self.role in KEEP_OTHERS else _projection_of(self.role, self.overrides)

    @property
    def numbers(self) -> Numbers | None:
        """The columns of a file that hold numbers, where they are known by their names."""
        return None if self.role in KEEP_OTHERS else _numbers_of(self.role, self.overrides)


def _load(source: Any, reading: _Reading) -> Table:
    """Read a source: files, or objects in memory."""
    role, overrides = reading.role, reading.overrides
    if is_list_of_paths(source, role) or (isinstance(source, str | Path) and is_folder(source)):
        parts = read_parts(source, projection=reading.projection, progress=reading.progress)
        return from_file(parts, role, overrides)
    if isinstance(source, str | Path):
        return _from_path(source, reading)
    if isinstance(source, RawFile):
        return from_file(source, role, overrides)
    return _from_memory(*_unwrap(source, reading))


def _from_path(source: str | Path, reading: _Reading) -> Table:
    """Read a file, and the split beside a file of ground truth."""
    raw = read_file(
        source,
        numbers=reading.numbers,
        projection=reading.projection,
        progress=reading.progress,
    )
    table = from_file(raw, reading.role, reading.overrides)
    if reading.role == "truth":
        table = replace(table, split=card_beside(source, raw.sha256))
    return table


def _unwrap(source: Any, reading: _Reading) -> tuple[Any, _Reading]:
    """Return objects of other libraries as tables, mappings or arrays, and how these are read."""
    library = type(source).__module__.split(".")[0].lstrip("_")
    reading = replace(reading, library=library)
    if library == "pandas" and type(source).__name__ == "Series":
        if reading.role == "items":
            return _items_of_series(source), reading
        source, overrides = series_as_frame(source, reading.role, reading.overrides)
        return source, replace(reading, overrides=overrides)
    if library == "ranx" and hasattr(source, "to_dict"):  # Run and Qrels
        return source.to_dict(), reading
    if library == "datasets" and hasattr(source, "with_format") and hasattr(source, "num_rows"):
        return source.with_format("arrow")[:], reading  # the selected rows, in their order
    return source, reading


def _from_memory(source: Any, reading: _Reading) -> Table:
    """Read a table, mapping, list of rows, array or matrix."""
    role = reading.role
    if reading.library == "pyarrow" and hasattr(source, "scanner"):
        return _from_dataset(source, reading)
    refuse_frame(source, role)
    if isinstance(source, np.ndarray) and source.dtype.names:
        source = from_mapping_of_columns(structured_columns(source, role), role)
    if isinstance(source, pl.LazyFrame) or hasattr(source, "__arrow_c_stream__"):
        return _from_frame(source, reading)
    if isinstance(source, Mapping):
        return _from_mapping(source, reading)
    if role != "items" and isinstance(source, list | tuple) and (kinds := types_of_rows(source)):
        return _from_rows(source, kinds, reading)
    return _from_numbers(source, role)


def _from_frame(source: Any, reading: _Reading) -> Table:
    """Read a table of Polars, pandas, PyArrow or another library of Arrow's interface."""
    role, overrides = reading.role, reading.overrides
    refuse_tuples(_cells_of(source), role, overrides)
    frame = readable_columns(source, role)
    return from_frame(frame, role, overrides, role, f"{reading.library} table")


def _from_mapping(source: Mapping[Any, Any], reading: _Reading) -> Table:
    """Read columns by name, or items by user."""
    role, overrides = reading.role, reading.overrides
    frame, layout = from_mapping(source, role)
    if names_no_columns(layout):
        table = as_table(frame, role, role, layout)
        empty = _users_without_items(source) if role == "recommendations" else []
        if not empty:
            return table
        return replace(table, empty_lists=id_series("user", empty, role).to_frame())
    columns = source if layout == "columns" else columns_of(chain(*source.values()))
    refuse_tuples(columns, role, overrides)
    return from_frame(frame, role, overrides, role, layout)


def _users_without_items(source: Mapping[Any, Any]) -> list[Any]:
    """Return the users whose list is there and empty."""
    try:
        lengths = list(map(len, source.values()))
    except TypeError:  # some items stand alone
        lengths = [len(own) if hasattr(own, "__len__") else 1 for own in source.values()]
    if 0 not in lengths:
        return []
    return [user for user, length in zip(source, lengths, strict=True) if not length]


def _from_rows(source: Sequence[Any], kinds: Any, reading: _Reading) -> Table:
    """Read a list of rows: records with names, or tuples."""
    role, overrides = reading.role, reading.overrides
    frame, layout = from_rows(source, kinds, role)
    if layout != "records":
        return as_table(frame, role, role, layout)
    refuse_tuples(columns_of(source), role, overrides)
    return from_frame(frame, role, overrides, role, layout)


def _items_of_series(source: Any) -> Any:
    """Return the items of a pandas Series: ids, or a column whose labels are the ids."""
    if not has_labels(source):
        return source.to_list()
    found = read_labelled(source, "items", "items")
    if isinstance(found, list):
        return found
    name = "value" if source.name is None else str(source.name)
    return {"item": [*found], name: [*found.values()]}


def _from_dataset(source: Any, reading: _Reading) -> Table:
    """Read the required columns of a PyArrow dataset as a table."""
    role, overrides, projection = reading.role, reading.overrides, reading.projection
    schema = readable_columns(source.schema.empty_table(), role).schema
    chosen = schema if projection is None else projection(schema)
    names = [name for name in schema if name in chosen]
    frame = readable_columns(source.scanner(columns=names).to_table(), role)
    table = from_frame(frame, role, overrides, role, "pyarrow dataset")
    return replace(table, unread=_unread_of(table, names, [*schema]))


def _cells_of(source: Any) -> dict[Any, Any]:
    """Return the object columns of a pandas frame; an empty dict for any other table."""
    if not hasattr(source, "reset_index") or not source.columns.is_unique:
        return {}
    return {name: source[name] for name, dtype in source.dtypes.items() if dtype.kind == "O"}


def _numbers_of(role: TableRole, overrides: Mapping[str, str | None]) -> Numbers:
    """Return a function that lists the number columns of a file, for a table of the given role."""

    def numbers(names: Sequence[str]) -> list[str]:
        with contextlib.suppress(ColumnError):  # raised again when the table is made
            return [
                name
                for column, name in recognise(names, role, overrides, "").items()
                if column in NUMBERS
            ]
        return []

    return numbers


def _projection_of(role: TableRole, overrides: Mapping[str, str | None]) -> Projection:
    """Return a function that lists the columns to read of a file, for a table of the given role."""

    def projection(schema: Mapping[str, Any]) -> Collection[str]:
        names = [*schema]
        if any(isinstance(dtype, pl.List | pl.Array) for dtype in schema.values()):
            return names  # whole lists in a row, which may be called otherwise
        with contextlib.suppress(ColumnError):  # raised again when the table is made
            columns = recognise(names, role, overrides, "")
            return {*columns.values(), *candidate_columns(names, role, columns, overrides)}
        return names

    return projection


def _from_numbers(source: Any, role: TableRole) -> Table:
    """Return the table of an array, a sparse matrix, or the ids of a catalogue."""
    if role == "items" and hasattr(source, "toarray"):
        source = source.toarray()  # a sparse matrix of features
    if hasattr(source, "tocoo"):
        return as_table(from_sparse(source, role), role, role, SPARSE)
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
        try:
            ids = pl.DataFrame({"item": pl.Series(bounded("items", source))})
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise IdError("items are integers or strings, not both", where="items") from error
        return Table(ids, role, role, "ids", {"item": "item"})
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


def from_file(raw: RawFile, role: TableRole, overrides: Mapping[str, str | None]) -> Table:
    """Return the table with one role that a file holds."""
    layout = raw.format.name
    if layout == "trec qrels" and role in RANKED:
        raise swapped_tables_error(QRELS, role, raw.name, raw.format.columns)
    if layout == "trec run" and role == "truth":
        raise swapped_tables_error("ranked lists (a run)", role, raw.name, raw.format.columns)
    _check_header(raw, role, overrides)
    table = from_frame(raw.frame, role, overrides, raw.name, str(raw.format))
    unread = _unread_of(table, raw.frame.columns, raw.names) if raw.names else table.unread
    table = replace(table, sha256=raw.sha256, is_text=raw.is_text, unread=unread, origin=raw.origin)
    return _from_text(table, raw) if raw.is_text else table


_ROWS_OF_SAMPLE = 1000


def _check_header(raw: RawFile, role: TableRole, overrides: Mapping[str, str | None]) -> None:
    """Raise if a first line without known names may be a row, which would be lost as a header."""
    names = raw.frame.columns
    if not raw.format.has_header or may_have_names(names, role, ROLES[role]):
        return
    chosen = [name for name in overrides.values() if name in names]
    rows = raw.frame.head(_ROWS_OF_SAMPLE)

    def values(name: str) -> list[str]:
        return [str(value).strip() for value in rows[name] if value is not None]

    check_first_line(names, chosen, values, raw.name, (raw.format.separator or " ").join(names))


def _unread_of(table: Table, read: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a file that were not used, or not even read, in their order."""
    renamed = [name for name in table.unread if name not in names]
    return (*(name for name in names if name in table.unread or name not in read), *renamed)


_ROLE: TableRole = "recommendations"


def read_chunks(path: Any, rows: int, *, columns: Columns | None = None) -> Iterator[Table]:
    """Yield the recommendations of a Parquet file in chunks of about ``rows`` rows.

    All rows of a user are in one chunk: the last user of a chunk is carried over to the next. The
    file must be grouped by user, which `rankwise.Evaluator` checks; so must several files, in the
    order of their paths.

    Parameters
    ----------
    path : str, Path or list of them
        A Parquet file, a folder of Parquet files, or a list of their paths.
    rows : int
        Rows per chunk; chunks smaller than a row group of the file save no memory.
    columns : mapping of str to str or None, optional
        The column for each role, as for `rankwise.evaluate`; by default recognised by name.

    Yields
    ------
    Table
        One chunk, to pass to `rankwise.Evaluator.update`.

    Raises
    ------
    ParameterError
        If ``rows`` is not positive or the source is not Parquet.
    FileError
        If the file cannot be read.
    """
    check_columns(columns, ["recommendations"])
    chunks = Chunks(path, rows, columns)
    digest = table_hash(chunks.path)
    for table in chunks:
        yield replace(table, sha256=digest)


class Chunks:
    """The chunks that `read_chunks` yields, without the hash, and the total number of rows.

    Parameters
    ----------
    path, rows, columns
        As for `read_chunks`, with the same errors.
    role : str, default="recommendations"
        Recommendations, or exposures: these need no user, and rows of a request stay together where
        there is none.

    Attributes
    ----------
    path : str, Path or list of them
        The file, the folder, or the files.
    total : int
        Its number of rows.
    """

    def __init__(
        self, path: Any, rows: int, columns: Columns | None, role: TableRole = _ROLE
    ) -> None:
        is_several = is_list_of_paths(path, role) or (
            isinstance(path, str | Path) and is_folder(path)
        )
        if not is_several and (
            not isinstance(path, str | Path) or Path(path).suffix not in (".parquet", ".pq")
        ):
            raise ParameterError(
                "only Parquet can be read in chunks",
                found=str(path)[:80] if isinstance(path, str | Path) else type(path).__name__,
                hint=f"leave {mention('chunk_rows')} out, or write the {role} to Parquet first",
            )
        check_count(chunk_rows=rows)
        check_not_forked()
        self.path, self._source = path, str(path)
        self._rows, self._columns, self._role = rows, columns, role
        overrides = overrides_for(columns, role)
        projection = list if role in KEEP_OTHERS else _projection_of(role, overrides)
        try:
            if is_several:
                self._source, self._files, self._names = scan_parts(path, projection)
            else:
                file, self._names = scan_parquet(local_file(path), projection)
                self._files = [file]
            empty = self._files[0].head(0).collect()
            self._totals = [int(file.select(pl.len()).collect().item()) for file in self._files]
        except (*POLARS_FAILURES, OSError) as error:
            raise damaged_file_error(self._source, error) from error
        self.total = sum(self._totals)
        if role not in KEEP_OTHERS:
            empty, _ = one_row_per_item(empty, role, overrides, self._source)
        self._recognised = recognise(empty.columns, role, overrides, self._source)
        self._key = self._recognised.get("user", self._recognised.get("request"))

    def __iter__(self) -> Iterator[Table]:
        kept: pl.DataFrame | None = None
        left = self.total
        for piece in self._pieces():
            left -= len(piece)
            chunk = piece if kept is None else pl.concat([kept, piece])
            kept = None
            if left and len(chunk) < self._rows:  # a small file
                kept = chunk
                continue
            if left and self._key is not None:
                earlier = chunk[self._key].ne_missing(chunk[self._key][-1]).arg_true()
                end = int(earlier[-1]) + 1 if len(earlier) else 0
                kept, chunk = chunk[end:], chunk[:end]
            if len(chunk):
                table = read_table(chunk, self._role, self._columns)
                unread = _unread_of(table, chunk.columns, self._names)
                yield replace(
                    table,
                    source=self._source,
                    format="parquet",
                    unread=unread,
                    origin=origin_of(self.path),
                )
        if not self.total:
            read_table(self._files[0].collect(), self._role, self._columns)  # raises: no rows

    def aggregate(self, column: str, of: Callable[[pl.Expr], pl.Expr]) -> pl.Series | None:
        """Aggregate a column, by name or role, over all rows; return None without the column."""
        name = self._recognised.get(column)
        if name is None:
            return None
        files = pl.concat([file.select(by_name(name).alias(column)) for file in self._files])
        return files.select(of(pl.col(column))).collect(engine="streaming")[column]

    def _pieces(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of all files, as many at once as are read."""
        for file, total in zip(self._files, self._totals, strict=True):
            for start in range(0, total, self._rows):
                yield file.slice(start, self._rows).collect()
