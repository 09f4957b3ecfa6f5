"""A Parquet file piece by piece, each piece with whole users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.errors import FileError, ParameterError
from rankwise.io.columns import Columns, choose, recognise
from rankwise.io.files import file_hash
from rankwise.io.tables import Table, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_chunks"]


def read_chunks(path: Any, rows: int, *, columns: Columns | None = None) -> Iterator[Table]:
    """Read recommendations from a Parquet file about ``rows`` rows at a time.

    A user's rows are never torn apart: the last user of a piece is carried over to the next, so
    the file has to be grouped by user, which `rankwise.Evaluator` checks.

    Parameters
    ----------
    path : str or Path
        A Parquet file.
    rows : int
        Rows a piece; whole row groups are read anyway, so smaller pieces save nothing.
    columns : mapping of str to str or None, optional
        As for `rankwise.evaluate`.

    Yields
    ------
    Table
        For `rankwise.Evaluator.update`.

    Raises
    ------
    ParameterError
        If ``rows`` is not positive or the source is not a Parquet file.
    FileError
        If the file cannot be read.
    """
    if not isinstance(path, str | Path) or Path(path).suffix not in (".parquet", ".pq"):
        raise ParameterError(
            "only a Parquet file can be read in pieces",
            found=str(path)[:80] if isinstance(path, str | Path) else type(path).__name__,
            hint="leave chunk_rows out, or write the recommendations to Parquet first",
        )
    if rows < 1:
        raise ParameterError("chunk_rows must be positive", found=str(rows))
    try:
        lazy = pl.scan_parquet(path)
        names = lazy.collect_schema().names()
        total = lazy.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileError(
            "this Parquet file cannot be read", where=str(path), found=str(error).splitlines()[0]
        ) from error
    user = recognise(names, "recommendations", choose(columns, "recommendations"), str(path))[
        "user"
    ]
    digest, kept = file_hash(Path(path)), None
    for start in range(0, total, rows):
        piece = lazy.slice(start, rows).collect()
        if kept is not None:
            piece = pl.concat([kept, piece])
        kept = None
        if start + rows < total:
            last = piece[user].ne_missing(piece[user][-1]).arg_true()
            cut = int(last[-1]) + 1 if len(last) else 0
            kept, piece = piece[cut:], piece[:cut]
        if len(piece):
            table = read_table(piece, "recommendations", columns)
            yield Table(table.frame, table.kind, str(path), "parquet", table.columns, sha256=digest)
    if not total:
        read_table(lazy.collect(), "recommendations", columns)  # raises: nothing to evaluate
