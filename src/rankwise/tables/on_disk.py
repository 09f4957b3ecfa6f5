"""Files on disk, not read as tables: their hash, their state, what kind of file they are."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["file_hash", "file_state", "is_folder", "is_parquet", "json_hash", "polars_path"]


def file_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def json_hash(values: Any) -> str:
    """Return the SHA-256 of plain values, whatever the order and layout of their JSON."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def file_state(path: Path) -> tuple[int, int, int] | None:
    """Return what differs once a file was replaced or written to; None if it is no file."""
    try:
        known = path.stat() if path.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
    return None if known is None else (known.st_ino, known.st_size, known.st_mtime_ns)


def is_folder(path: str | Path) -> bool:
    """Return whether a path is that of a folder; a name that no file can have is not."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises where a path is too long


def is_parquet(path: Path) -> bool:
    """Return whether a file says that it is Parquet, by its first bytes or by its name."""
    if path.suffix in (".parquet", ".pq"):
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"PAR1"
    except OSError:
        return False


def polars_path(path: Path) -> str | None:
    """Return a path as Polars takes it literally, ``~`` included; None if it is no UTF-8."""
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text
