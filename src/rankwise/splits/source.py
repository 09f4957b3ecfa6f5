"""The table that was split, in its own library: rows of a mask, and the whole in Polars."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from rankwise.core.choices import FileFormat
from rankwise.splits.rows import Mask, Rows
from rankwise.tables.frames import from_arrow

__all__ = ["FileFormat", "as_polars", "cut_rows", "library_of"]


def cut_rows(source: Any, mask: Mask, rows: Rows) -> Any:
    """Return the rows of a mask as a table of the source's own library."""
    library = library_of(source)
    if library == "pandas":
        return source[mask]
    if library == "pyarrow":
        return source.filter(pl.Series(mask).to_arrow())
    return as_polars(source, rows).filter(pl.Series(mask))


def library_of(source: Any) -> Literal["polars", "pandas", "pyarrow"] | None:
    """Return the library of a table that a mask can filter; None for any other source."""
    cls = type(source)
    library: Any = cls.__module__.split(".")[0]
    tables = {("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "Table")}
    return library if (library, cls.__name__) in tables else None


def as_polars(source: Any, rows: Rows) -> pl.DataFrame:
    """Return the source as a Polars table with its original column names."""
    if isinstance(source, pl.DataFrame):
        return source
    if library_of(source) is not None:
        return from_arrow(source, "interactions")
    return rows.table.frame.rename(rows.table.columns)
