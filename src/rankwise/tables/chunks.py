"""A Parquet file in chunks, each with all rows of its users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_count
from rankwise.core.threads import check_not_forked
from rankwise.errors import FileError, ParameterError
from rankwise.tables.columns import Columns, choose, recognise
from rankwise.tables.compressed import local_file
from rankwise.tables.files import POLARS_FAILURES
from rankwise.tables.on_disk import file_hash
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["Chunks", "read_chunks"]


def read_chunks(path: Any, rows: int, *, columns: Columns | None = None) -> Iterator[Table]:
    """Yield the recommendations of a Parquet file in chunks of about ``rows`` rows.

    All rows of a user are in one chunk: the last user of a chunk is carried over to the next. The
    file must be grouped by user, which `rankwise.Evaluator` checks.

    Parameters
    ----------
    path : str or Path
        A Parquet file.
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
        If ``rows`` is not positive or the source is not a Parquet file.
    FileError
        If the file cannot be read.
    """
    chunks = Chunks(path, rows, columns)
    digest = file_hash(chunks.file)
    for table in chunks:
        yield replace(table, sha256=digest)


class Chunks:
    """The chunks that `read_chunks` yields, without the hash, and the total number of rows.

    Parameters
    ----------
    path, rows, columns
        As for `read_chunks`, with the same errors.

    Attributes
    ----------
    file : Path
        The file.
    total : int
        Its number of rows.
    """

    def __init__(self, path: Any, rows: int, columns: Columns | None) -> None:
        if not isinstance(path, str | Path) or Path(path).suffix not in (".parquet", ".pq"):
            raise ParameterError(
                "only a Parquet file can be read in chunks",
                found=str(path)[:80] if isinstance(path, str | Path) else type(path).__name__,
                hint="leave chunk_rows out, or write the recommendations to Parquet first",
            )
        check_count(chunk_rows=rows)
        check_not_forked()
        self.file = local_file(path)
        self._source, self._rows, self._columns = str(path), rows, columns
        try:
            self._lazy = pl.scan_parquet(self.file, glob=False)
            names = self._lazy.collect_schema().names()
            self.total = int(self._lazy.select(pl.len()).collect().item())
        except (*POLARS_FAILURES, OSError) as error:
            raise FileError(
                "this Parquet file cannot be read",
                where=self._source,
                found=str(error).splitlines()[0],
            ) from error
        given = choose(columns, "recommendations")
        self._user = recognise(names, "recommendations", given, self._source)["user"]

    def __iter__(self) -> Iterator[Table]:
        last_user: pl.DataFrame | None = None
        for start in range(0, self.total, self._rows):
            piece = self._lazy.slice(start, self._rows).collect()
            if last_user is not None:
                piece = pl.concat([last_user, piece])
            last_user = None
            if start + self._rows < self.total:
                others = piece[self._user].ne_missing(piece[self._user][-1]).arg_true()
                end = int(others[-1]) + 1 if len(others) else 0
                last_user, piece = piece[end:], piece[:end]
            if len(piece):
                table = read_table(piece, "recommendations", self._columns)
                yield replace(table, source=self._source, format="parquet")
        if not self.total:
            read_table(self._lazy.collect(), "recommendations", self._columns)  # raises: no rows
