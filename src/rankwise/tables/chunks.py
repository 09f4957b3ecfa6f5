"""A Parquet file, or several, in chunks, each with all rows of its users."""

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
from rankwise.tables.on_disk import is_folder
from rankwise.tables.parquet import damaged, scan_parquet
from rankwise.tables.parts import is_list_of_paths, scan_parts, table_hash
from rankwise.tables.read import read_table, unread_of, wanted_by
from rankwise.tables.table import Table
from rankwise.tables.validation import POLARS_FAILURES

__all__ = ["Chunks", "read_chunks"]

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

    Attributes
    ----------
    path : str, Path or list of them
        The file, the folder, or the files.
    total : int
        Its number of rows.
    """

    def __init__(self, path: Any, rows: int, columns: Columns | None) -> None:
        is_several = is_list_of_paths(path, _ROLE) or (isinstance(path, str | Path) and is_folder(path))
        if not is_several and (not isinstance(path, str | Path) or Path(path).suffix not in (".parquet", ".pq")):
            raise ParameterError(
                "only Parquet can be read in chunks",
                found=str(path)[:80] if isinstance(path, str | Path) else type(path).__name__,
                hint="leave chunk_rows out, or write the recommendations to Parquet first",
            )
        check_count(chunk_rows=rows)
        check_not_forked()
        self.path, self._source = path, str(path)
        self._rows, self._columns = rows, columns
        given = choose(columns, _ROLE)
        wanted = wanted_by(_ROLE, given)
        try:
            if is_several:
                self._source, self._files, self._names = scan_parts(path, wanted)
            else:
                file, self._names = scan_parquet(local_file(path), wanted)
                self._files = [file]
            empty = self._files[0].head(0).collect()
            self._totals = [int(file.select(pl.len()).collect().item()) for file in self._files]
        except (*POLARS_FAILURES, OSError) as error:
            raise damaged(self._source, error) from error
        self.total = sum(self._totals)
        empty, _ = one_row_per_item(empty, _ROLE, given, self._source)
        self._user = recognise(empty.columns, _ROLE, given, self._source)["user"]

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
            if left:
                others = chunk[self._user].ne_missing(chunk[self._user][-1]).arg_true()
                end = int(others[-1]) + 1 if len(others) else 0
                kept, chunk = chunk[end:], chunk[:end]
            if len(chunk):
                table = read_table(chunk, _ROLE, self._columns)
                unread = unread_of(table, chunk.columns, self._names)
                yield replace(table, source=self._source, format="parquet", unread=unread)
        if not self.total:
            read_table(self._files[0].collect(), _ROLE, self._columns)  # raises: no rows

    def _pieces(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of all files, as many at once as are read."""
        for file, total in zip(self._files, self._totals, strict=True):
            for start in range(0, total, self._rows):
                yield file.slice(start, self._rows).collect()
