"""Files to frames, and the line at fault where a file cannot be read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankwise.errors import FileError
from rankwise.io.formats import Format, sniff

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RawFile", "file_hash", "read_file"]


@dataclass(frozen=True)
class RawFile:
    """A file as it was read: every column of a text format still text."""

    frame: pl.DataFrame
    format: Format
    name: str
    sha256: str
    content: bytes | None = None

    @property
    def is_text(self) -> bool:
        """Whether columns are text that only looks like numbers."""
        return self.format.kind not in ("parquet", "json lines")

    def locate(self, bad: Callable[[list[str]], bool]) -> tuple[int, str]:
        """Find the first line at fault: its number and what it says."""
        assert self.content is not None
        text = io.StringIO(self.content.decode("utf-8-sig", errors="replace"), newline="")
        if self.format.kind == "csv":
            reader = csv.reader(text, delimiter=self.format.separator)
            rows = ((reader.line_num, fields) for fields in reader)
        else:
            rows = ((at, _fields(line, self.format)) for at, line in enumerate(text, start=1))
        for number, fields in rows:
            if not any(field.strip() for field in fields):
                continue
            if not (number == 1 and self.format.has_header) and bad(fields):
                return number, (self.format.separator or " ").join(fields)
        return 0, ""


def read_file(source: str | Path, layout: Format | None = None) -> RawFile:
    """Read a file, or standard input if the source is ``-``; a text file in a layout if given.

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
            what = "this is a folder" if path.is_dir() else "there is no such file"
            raise FileError(what, where=str(path))
        if path.is_file() and _is_parquet(path):
            return RawFile(_parquet(path, name), Format("parquet"), name, file_hash(path))
        data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    data = _unpack(data, name).removeprefix(b"\xef\xbb\xbf")
    bare = Path(name).name if name != "standard input" else "-"
    form = sniff(bare, data[:65536]) if layout is None else layout
    if not data.strip():
        raise FileError("the file is empty", where=name)
    if form.kind == "parquet":
        return RawFile(_parquet(io.BytesIO(data), name), form, name, digest)
    if form.kind == "json lines":
        return RawFile(_json_lines(data, name), form, name, digest)
    return RawFile(_text(data, form, name), form, name, digest, data)


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
                raise _malformed("not JSON", name, number, line.decode(errors="replace")) from None
        raise FileError(
            "the lines do not have the same fields and types",
            where=name,
            found=str(error).splitlines()[0],
        ) from error


def _fields(line: str, form: Format) -> list[str]:
    return line.split() if form.separator == "" else line.rstrip("\r\n").split(form.separator)


def _text(data: bytes, form: Format, name: str) -> pl.DataFrame:
    separator, body = form.separator, data
    if separator == "":
        separator, body = (
            "\t",
            re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data)),
        )
    elif len(separator) > 1:
        separator, body = "\x1f", data.replace(separator.encode(), b"\x1f")
    wrong = f"{len(form.columns)} fields are expected"
    whole = RawFile(pl.DataFrame(), form, name, "", data)
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            separator=separator,
            has_header=form.has_header,
            infer_schema=False,
            quote_char='"' if form.kind == "csv" else None,
            new_columns=None if form.has_header else list(form.columns),
            schema=None if form.has_header else dict.fromkeys(form.columns, pl.String),
        )
    except pl.exceptions.PolarsError as error:
        number, line = whole.locate(lambda fields: len(fields) != len(form.columns))
        if number:
            raise _malformed(wrong, name, number, line) from None
        raise FileError(
            "this text file cannot be read", where=name, found=str(error).splitlines()[0]
        ) from error
    if form.has_header:
        frame.columns = [column.strip() for column in frame.columns]
    last = frame.columns[-1]
    # A line with too few fields leaves the last one empty, and so does an empty last field.
    if frame[last].null_count():
        number, line = whole.locate(lambda fields: len(fields) != len(form.columns))
        if number:
            raise _malformed(wrong, name, number, line)
    return frame


def _malformed(what: str, name: str, number: int, line: str) -> FileError:
    return FileError(
        f"a line is malformed: {what}", where=f"{name}, line {number}", found=repr(line[:120])
    )
