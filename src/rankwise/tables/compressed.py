"""Bytes of files, devices and archives, read and unpacked within bounds."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rankwise.errors import FileError

__all__ = ["fits_memory", "is_packed", "local_file", "read_bytes", "unpacked"]

_STEP = 2**24
_SMALL = 2**30
_RATIO = 200
"""What unpacks to more than 1 GiB and to 200 times its size is refused: tables of text are packed
to a tenth or a fiftieth, files made to fill the memory to a thousandth."""


def read_bytes(source: str | Path) -> bytes:
    """Return the content of a file, a pipe, or standard input (``-``), up to the machine's memory.

    Raises
    ------
    FileError
        If it cannot be read, has no end, or does not fit the memory.
    """
    name = str(source)
    if name == "-":
        return _bounded(sys.stdin.buffer, _memory(), "standard input")
    path = local_file(source)
    with _told(name), path.open("rb") as stream:
        if path.is_file() and path.stat().st_size > 0 and fits_memory(path):
            return stream.read()  # in one piece, which no piece has to be joined to
        return _bounded(stream, _memory(), name)


def local_file(source: str | Path) -> Path:
    """Return the path of a file or a pipe of this machine; addresses of networks are none.

    Raises
    ------
    FileError
        If there is no such file, or it is a folder or a device.
    """
    name = str(source)
    with _told(name):
        path = Path(source)
        if path.is_dir():
            raise FileError("this is a folder", where=name)
        if not path.exists():
            hint = None
            if "://" in name:
                hint = "addresses are not opened: pass the table, or download the file"
            raise FileError("there is no such file", where=name, hint=hint)
        if stat.S_ISCHR(path.stat().st_mode) or stat.S_ISBLK(path.stat().st_mode):
            raise FileError("this is a device, which may have no end", where=name)
    return path


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Turn what the operating system says of a path into an error of the tree."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: NUL in a path
        if isinstance(error, FileError):
            raise
        found = getattr(error, "strerror", None) or str(error)
        raise FileError("this file cannot be opened", where=name, found=found) from error


def fits_memory(path: Path) -> bool:
    """Return whether a file is no larger than the machine's memory."""
    return path.stat().st_size <= _memory()


def _memory() -> int:
    """Return the size of the machine's memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**36


def _bounded(stream: IO[bytes] | Any, limit: int, name: str, what: str = "") -> bytes:
    """Read a stream to its end, but no more than so many bytes."""
    pieces, total = [], 0
    while piece := stream.read(_STEP):
        total += len(piece)
        if total > limit:
            raise FileError(
                f"this file is too large to be read{what}",
                where=name,
                found=f"over {limit:,} bytes",
                hint="write it as Parquet, which is read in pieces with chunk_rows"
                if not what
                else "unpack it first, if it is what it should be",
            )
        pieces.append(piece)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def is_packed(head: bytes) -> bool:
    """Return whether a file that begins so is compressed."""
    return _reader(head) is not None


def _reader(head: bytes) -> Callable[[bytes, str], Any] | None:
    return next((read for magic, read in _READERS.items() if head.startswith(magic)), None)


def unpacked(data: bytes, name: str) -> bytes:
    """Return data without its compression: gzip, bzip2, xz, Zstandard, or a zip of one file.

    Raises
    ------
    FileError
        If it is damaged, holds several files, or unpacks to far more than tables do.
    """
    opened = _reader(data)
    if opened is None:
        return data
    limit = max(_SMALL, _RATIO * len(data))
    failures = (
        OSError,
        EOFError,
        ValueError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
        LookupError,
        struct.error,
    )
    try:
        with opened(data, name) as stream:
            return _bounded(stream, limit, name, ": it unpacks to far more than tables do")
    except FileError:
        raise
    except failures as error:
        raise FileError("this compressed file is damaged or cut short", where=name, found=str(error) or None) from error


def _zip(data: bytes, name: str) -> IO[bytes]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    hidden = ("__MACOSX/", ".")  # what macOS and Finder add
    files = [entry for entry in archive.infolist() if not entry.is_dir() and not entry.filename.startswith(hidden)]
    if len(files) != 1:
        raise FileError(
            "a zip archive holds one table",
            where=name,
            found=f"{len(files)} files: {', '.join(entry.filename for entry in files[:5])}",
            hint="unpack it and name the file",
        )
    return archive.open(files[0])


def _zstandard(data: bytes, name: str) -> IO[bytes]:
    for module in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            stream: IO[bytes] = importlib.import_module(module).open(io.BytesIO(data), "rb")
        except ImportError:
            continue
        return stream
    raise FileError(
        "Zstandard files are read with a library that is not installed",
        where=name,
        hint="pip install backports.zstd, or unpack the file",
    )


_READERS: dict[bytes, Callable[[bytes, str], Any]] = {
    b"\x1f\x8b": lambda data, _: gzip.GzipFile(fileobj=io.BytesIO(data)),
    b"BZh": lambda data, _: bz2.BZ2File(io.BytesIO(data)),
    b"\xfd7zXZ\x00": lambda data, _: lzma.LZMAFile(io.BytesIO(data)),  # noqa: SIM115 - the caller closes it
    b"PK\x03\x04": _zip,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
"""How a compressed file begins, and what unpacks it."""
