"""Files to frames; where a file cannot be read, the malformed line is located."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankwise.errors import FileError
from rankwise.tables.formats import Format, sniff

__all__ = ["RawFile", "file_hash", "malformed", "read_file"]


@dataclass(frozen=True)
class RawFile:
    """A file as it was read: all columns of a text format are still text."""

    frame: pl.DataFrame
    format: Format
    name: str
    sha256: str
    content: bytes | None = None

    @property
    def is_text(self) -> bool:
        """Whether the columns are text, even if it is written as numbers."""
        return self.format.name not in ("parquet", "json lines")

    def locate(self, bad: Callable[[list[str]], bool]) -> tuple[int, str]:
        """Return the number and the text of the first malformed line."""
        assert self.content is not None
        text = io.StringIO(self.content.decode("utf-8-sig", errors="replace"), newline="")
        if self.format.name == "csv":
            reader = csv.reader(text, delimiter=self.format.separator)
            rows = ((reader.line_num, fields) for fields in reader)
        else:
            rows = ((n, _fields(line, self.format)) for n, line in enumerate(text, start=1))
        for number, fields in rows:
            if not any(field.strip() for field in fields):
                continue
            if not (number == 1 and self.format.has_header) and bad(fields):
                return number, (self.format.separator or " ").join(fields)
        return 0, ""


def read_file(source: str | Path, layout: Format | None = None) -> RawFile:
    """Read a file, or standard input if the source is ``-``; in a given format, if any.

    Raises
    ------
    FileError
        If there is no such file, it is truncated, or a line of it is malformed.
    """
    name = "standard input" if str(source) == "-" else str(source)
    if str(source) == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(source)
        if path.is_dir() or not path.exists():
            problem = "this is a folder" if path.is_dir() else "there is no such file"
            raise FileError(problem, where=str(path))
        if path.is_file() and _is_parquet(path):
            return RawFile(_parquet(path, name), Format("parquet"), name, file_hash(path))
        data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    data = _unpack(data, name).removeprefix(b"\xef\xbb\xbf")
    if layout is None:
        layout = sniff(Path(name).name if name != "standard input" else "-", data[:65536])
    if not data.strip():
        raise FileError("the file is empty", where=name)
    if layout.name == "parquet":
        return RawFile(_parquet(io.BytesIO(data), name), layout, name, digest)
    if layout.name == "json lines":
        return RawFile(_json_lines(data, name), layout, name, digest)
    return RawFile(_text(data, layout, name), layout, name, digest, data)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1" or path.suffix in (".parquet", ".pq")


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(data: bytes, name: str) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError("the gzip file is damaged or cut short", where=name) from error


def _parquet(source: Path | io.BytesIO, name: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(source)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileError(
            "this Parquet file cannot be read: damaged or cut short",
            where=name,
            found=str(error).splitlines()[0],
            hint="write it again, or copy it again from where it came",
        ) from error


def _json_lines(data: bytes, name: str) -> pl.DataFrame:
    try:
        return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                json.loads(line or b"null")
            except ValueError:
                raise malformed("not JSON", name, number, line.decode(errors="replace")) from None
        raise FileError(
            "the lines do not have the same fields and types",
            where=name,
            found=str(error).splitlines()[0],
        ) from error


def _fields(line: str, layout: Format) -> list[str]:
    separator = layout.separator
    return line.split() if separator == "" else line.rstrip("\r\n").split(separator)


def _text(data: bytes, layout: Format, name: str) -> pl.DataFrame:
    separator, body = layout.separator, data
    if separator == "":
        body = re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data))
        separator = "\t"
    elif len(separator) > 1:
        separator, body = "\x1f", data.replace(separator.encode(), b"\x1f")
    problem = f"{len(layout.columns)} fields are expected"
    file = RawFile(pl.DataFrame(), layout, name, "", data)
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            separator=separator,
            has_header=layout.has_header,
            infer_schema=False,
            quote_char='"' if layout.name == "csv" else None,
            new_columns=None if layout.has_header else list(layout.columns),
            schema=None if layout.has_header else dict.fromkeys(layout.columns, pl.String),
        )
    except pl.exceptions.PolarsError as error:
        number, line = file.locate(lambda fields: len(fields) != len(layout.columns))
        if number:
            raise malformed(problem, name, number, line) from None
        raise FileError(
            "this text file cannot be read", where=name, found=str(error).splitlines()[0]
        ) from error
    if layout.has_header:
        frame.columns = [column.strip() for column in frame.columns]
    last = frame.columns[-1]
    # A line with too few fields leaves the last one empty, and so does an empty last field.
    if frame[last].null_count():
        number, line = file.locate(lambda fields: len(fields) != len(layout.columns))
        if number:
            raise malformed(problem, name, number, line)
    return frame


def malformed(problem: str, name: str, number: int, line: str) -> FileError:
    """Return the error of a malformed line of a file."""
    return FileError(
        f"a line is malformed: {problem}", where=f"{name}, line {number}", found=repr(line[:120])
    )
