"""A Parquet file in chunks, each with all rows of its users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_count
from rankwise.core.threads import check_not_forked
from rankwise.errors import ParameterError
from rankwise.tables.columns import Columns, TableRole, choose, recognise
from rankwise.tables.compressed import local_file
from rankwise.tables.list_columns import one_row_per_item
from rankwise.tables.on_disk import file_hash
from rankwise.tables.parquet import damaged, scan_parquet
from rankwise.tables.read import read_table, unread_of, wanted_by
from rankwise.tables.table import Table
from rankwise.tables.validation import POLARS_FAILURES

__all__ = ["Chunks", "read_chunks"]

_ROLE: TableRole = "recommendations"


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
        given = choose(columns, _ROLE)
        try:
            self._lazy, self._names = scan_parquet(self.file, wanted_by(_ROLE, given))
            empty = self._lazy.head(0).collect()
            self.total = int(self._lazy.select(pl.len()).collect().item())
        except (*POLARS_FAILURES, OSError) as error:
            raise damaged(self._source, error) from error
        empty, _ = one_row_per_item(empty, _ROLE, given, self._source)
        self._user = recognise(empty.columns, _ROLE, given, self._source)["user"]

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
                table = read_table(piece, _ROLE, self._columns)
                unread = unread_of(table, piece.columns, self._names)
                yield replace(table, source=self._source, format="parquet", unread=unread)
        if not self.total:
            read_table(self._lazy.collect(), _ROLE, self._columns)  # raises: no rows
