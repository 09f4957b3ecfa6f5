"""Parquet files to frames: only columns that are needed, and each in one piece of memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from polars.selectors import by_name

from rankwise.core.progress import progress_bar
from rankwise.core.threads import default_threads, each
from rankwise.errors import FileError
from rankwise.tables.frames import in_one_piece
from rankwise.tables.on_disk import polars_path
from rankwise.tables.validation import POLARS_FAILURES

__all__ = ["Wanted", "damaged", "read_parquet", "scan_parquet"]

Wanted: TypeAlias = Callable[[Mapping[str, Any]], Collection[str]]
"""Returns those of some columns, with their types, that are read."""

_ROWS = 1 << 20


def read_parquet(
    source: Path | io.BytesIO, name: str, wanted: Wanted | None = None, *, progress: bool | None = None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a Parquet file as a table, and the names of all of its columns.

    Numbers are read a million rows at a time and put where they stay: the memory of one part
    serves the next, where all parts together would take the memory of the table twice.

    Raises
    ------
    FileError
        If the file cannot be read.
    """
    try:
        file, every = scan_parquet(source, wanted)
        rows = int(file.select(pl.len()).collect().item())
        schema = file.collect_schema()
        numbers = [column for column, dtype in schema.items() if _is_array(dtype)]
        columns = {}
        if rows > _ROWS and numbers:
            with progress_bar(rows, "rows", shown=progress) as bar:
                columns = _numbers(file.select(by_name(numbers)), rows, bar)
        others = file.select(by_name([column for column in schema if column not in columns]))
        columns |= {column.name: column for column in in_one_piece(others.collect())}
    except (*POLARS_FAILURES, OSError) as error:
        raise damaged(name, error) from error
    return pl.DataFrame({column: columns[column] for column in schema}), every


def scan_parquet(source: Path | io.BytesIO, wanted: Wanted | None) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """Return the columns of a file that are wanted, and the names of all columns."""
    path = polars_path(source) if isinstance(source, Path) else None
    if path is None and isinstance(source, Path):
        source = io.BytesIO(source.read_bytes())
    file = pl.scan_parquet(path or source, glob=False)
    schema = file.collect_schema()
    chosen = schema if wanted is None else wanted(schema)
    return file.select(by_name([name for name in schema if name in chosen])), tuple(schema)


def damaged(name: str, error: BaseException) -> FileError:
    """Return the error of a file that cannot be read."""
    return FileError(
        "this Parquet file cannot be read: damaged or cut short",
        where=name,
        found=str(error).splitlines()[0],
        hint="write it again, or copy it again from where it came",
    )


def _numbers(file: pl.LazyFrame, rows: int, bar: Any) -> dict[str, pl.Series]:
    """Return the columns without nulls, all of numbers, each in one piece."""
    empty = file.head(0).collect()
    out = {column.name: np.empty(rows, dtype=column.to_numpy().dtype) for column in empty}

    def read(first: int) -> set[str]:
        part = file.slice(first, _ROWS).collect()
        if len(part) != min(_ROWS, rows - first):
            raise OSError("a part has fewer rows than the file says")
        bar.update(len(part))
        for column in part:
            if not column.null_count():
                _place(column, out[column.name][first : first + len(column)])
        return {column.name for column in part if column.null_count()}

    with_nulls = set().union(*each(read, range(0, rows, _ROWS), default_threads()))
    return {name: pl.Series(name, values, empty.schema[name]) for name, values in out.items() if name not in with_nulls}


def _is_array(dtype: Any) -> bool:
    """Return whether a column of this type is an array of numbers, if it has no nulls."""
    widest = dtype in (pl.Int128, pl.UInt128, pl.Float16)
    return bool(dtype.is_integer() or dtype.is_float()) and not widest


def _place(column: pl.Series, out: np.ndarray[Any, Any]) -> None:
    """Write numbers without nulls to an array, piece by piece."""
    first = 0
    for piece in column.get_chunks():
        out[first : first + len(piece)] = piece.to_numpy()
        first += len(piece)
