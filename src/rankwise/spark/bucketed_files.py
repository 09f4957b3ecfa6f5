"""Folders with a table by bucket of users, for evaluations without a shuffle.

A folder ``rankwise_bucket=7`` has the rows of one bucket in Parquet, sorted by user.
``_rankwise.json`` says how many buckets there are, and of how many rows; it is written last, so
that a folder without it is not complete.
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

from rankwise.errors import FileError, OutputError

__all__ = ["BUCKET", "BucketedFiles", "exists", "open_bucketed", "uri_of", "write_head"]

_HEAD = "_rankwise.json"
_VERSION = 1
_LOCAL = "file://"
BUCKET = "rankwise_bucket"
"""The column by which folders are named."""


@dataclass(frozen=True)
class BucketedFiles:
    """A folder that `bucket` wrote.

    Attributes
    ----------
    uri : str
        The folder.
    role : str
        What the table is for.
    buckets : int
        Number of buckets.
    rows : int
        Number of rows in all of them.
    columns : tuple of str
        The columns.
    """

    uri: str
    role: str
    buckets: int
    rows: int
    columns: tuple[str, ...]

    def read(self, number: int, empty: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of one bucket, with the columns of ``empty``."""
        system, folder = _system(self.uri)
        selector = fs.FileSelector(f"{folder}/{BUCKET}={number}", allow_not_found=True)
        files = sorted(info.path for info in system.get_file_info(selector) if info.is_file)
        parts = [
            pq.ParquetFile(system.open_input_file(path)).read(columns=empty.columns)
            for path in files
            if path.endswith(".parquet")
        ]
        if not parts:
            return empty
        frame = pl.DataFrame(pa.concat_tables(parts))
        return frame.select(empty.columns)


def exists(uri: str) -> bool:
    """Whether something is at an address.

    Raises
    ------
    OutputError
        If it is a file, or at an address that PyArrow does not know.
    """
    try:
        system, folder = _system(uri)
        kind = system.get_file_info(folder).type
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError("this address is not known", where=uri, found=str(error).splitlines()[0]) from error
    if kind == fs.FileType.File:
        raise OutputError("this is a file, not a folder", where=uri)
    return bool(kind != fs.FileType.NotFound)


def write_head(uri: str, values: dict[str, Any]) -> None:
    """Say of a folder what it holds, after everything else is written."""
    system, folder = _system(uri)
    with system.open_output_stream(f"{folder}/{_HEAD}") as stream:
        stream.write(json.dumps({"version": _VERSION, **values}).encode())


def open_bucketed(path: str) -> BucketedFiles | None:
    """Return the folder that `bucket` wrote; None if it is another path.

    Raises
    ------
    FileError
        If it is not complete, damaged, or written by another version of rankwise.
    """
    uri = uri_of(path)
    try:
        system, folder = _system(uri)
        entries = system.get_file_info(fs.FileSelector(folder))
    except (OSError, pa.ArrowInvalid):  # a file, nothing at all, or an address for Spark alone
        return None
    if not any(entry.base_name.startswith(f"{BUCKET}=") for entry in entries):
        return None
    try:
        with system.open_input_stream(f"{folder}/{_HEAD}") as stream:
            head = json.loads(stream.read())
        version = head["version"]
        files = BucketedFiles(uri, head["role"], int(head["buckets"]), int(head["rows"]), tuple(head["columns"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise FileError(
            "these buckets are not complete",
            where=str(path),
            found=f"no readable {_HEAD}",
            hint="write them again: rankwise.spark.bucket(…, overwrite=True)",
        ) from error
    if version != _VERSION:
        raise FileError(
            "these buckets were written by another version of rankwise",
            where=str(path),
            found=f"version {version!r}, this one reads {_VERSION}",
            hint="write them again: rankwise.spark.bucket(…, overwrite=True)",
        )
    return files


def uri_of(path: str | Path) -> str:
    """Return the address of a folder: a path without a scheme is one of the file system.

    Nothing in it is escaped: Spark takes addresses literally.
    """
    text = str(path)
    return text if "://" in text else f"{_LOCAL}{Path(text).absolute()}"


def _system(uri: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    if uri.startswith(_LOCAL):
        return fs.LocalFileSystem(), uri.removeprefix(_LOCAL)
    system, path = fs.FileSystem.from_uri(uri)
    return system, path
