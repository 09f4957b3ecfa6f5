"""Folders with a table by bucket of users, for evaluations without a shuffle.

A folder ``bucket=7`` has the rows of one bucket in Parquet, sorted by user. ``_rankwise.json`` says
how many buckets there are, and of how many rows; it is written last, so that a folder without it is
not complete.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from rankwise.errors import FileError

__all__ = ["BucketedFiles", "exists", "open_bucketed", "uri_of", "write_head"]

_HEAD = "_rankwise.json"
_VERSION = 1


@dataclass(frozen=True)
class BucketedFiles:
    """A folder that `bucket` wrote.

    Attributes
    ----------
    uri : str
        The folder.
    buckets : int
        Number of buckets.
    rows : int
        Number of rows in all of them.
    columns : tuple of str
        The columns.
    """

    uri: str
    buckets: int
    rows: int
    columns: tuple[str, ...]

    def read(self, number: int, empty: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of one bucket, with the columns of ``empty``."""
        system, folder = fs.FileSystem.from_uri(self.uri)
        selector = fs.FileSelector(f"{folder}/bucket={number}", allow_not_found=True)
        files = sorted(info.path for info in system.get_file_info(selector) if info.is_file)
        parts = [
            pq.ParquetFile(system.open_input_file(path)).read(columns=empty.columns)
            for path in files if path.endswith(".parquet")
        ]  # fmt: skip
        if not parts:
            return empty
        frame = pl.from_arrow(pa.concat_tables(parts))
        assert isinstance(frame, pl.DataFrame)
        return frame.select(empty.columns)


def exists(uri: str) -> bool:
    """Whether something is at an address."""
    system, folder = fs.FileSystem.from_uri(uri)
    return bool(system.get_file_info(folder).type != fs.FileType.NotFound)


def write_head(uri: str, values: dict[str, Any]) -> None:
    """Say of a folder what it holds, after everything else is written."""
    system, folder = fs.FileSystem.from_uri(uri)
    with system.open_output_stream(f"{folder}/{_HEAD}") as stream:
        stream.write(json.dumps({"version": _VERSION, **values}).encode())


def open_bucketed(path: str) -> BucketedFiles | None:
    """Return the folder that `bucket` wrote; None if it is another path.

    Raises
    ------
    FileError
        If another version of rankwise wrote it.
    """
    try:
        uri = uri_of(path)
        system, folder = fs.FileSystem.from_uri(uri)
        with system.open_input_stream(f"{folder}/{_HEAD}") as stream:
            head = json.loads(stream.read())
    except (OSError, ValueError):  # no such file, or an address that PyArrow does not know
        return None
    if head.get("version") != _VERSION:
        raise FileError(
            "these buckets were written by another version of rankwise", where=str(path),
            found=f"version {head.get('version')!r}, this one reads {_VERSION}",
            hint="write them again: rankwise.spark.bucket",
        )  # fmt: skip
    return BucketedFiles(uri, head["buckets"], head["rows"], tuple(head["columns"]))


def uri_of(path: str | Path) -> str:
    """Return the address of a folder: a path without a scheme is one of the file system."""
    text = str(path)
    return text if "://" in text else Path(text).absolute().as_uri()
