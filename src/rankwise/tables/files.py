"""Files to frames; where a file cannot be read, the malformed line is located."""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import FileError
from rankwise.tables.compressed import fits_memory, is_packed, read_bytes, unpacked
from rankwise.tables.delimited import check_utf8, is_plain, locate, malformed, read_delimited, read_numbers
from rankwise.tables.formats import Declared, Format, sniff
from rankwise.tables.in_memory import from_document
from rankwise.tables.on_disk import file_hash, file_state, is_parquet, polars_path
from rankwise.tables.parquet import Wanted, read_parquet
from rankwise.tables.typed_columns import Numbers
from rankwise.tables.validation import POLARS_FAILURES

__all__ = ["RawFile", "read_file"]

_HEAD = 1 << 16
_DEEPEST = 64
"""The depth to which lists and objects of a line of JSON may be nested."""


@dataclass(frozen=True)
class RawFile:
    """A file as it was read: columns of a text format are text, or whole numbers if asked for."""

    frame: pl.DataFrame
    format: Format
    name: str
    sha256: str = ""
    content: bytes | Path | None = None
    names: tuple[str, ...] = ()
    """All columns of a Parquet file, also those that were not read."""

    @property
    def is_text(self) -> bool:
        """Whether the columns are text, even if it is written as numbers."""
        return self.format.name not in ("parquet", "json lines")

    @property
    def has_lines(self) -> bool:
        """Whether each row stands on a line, so that a malformed one can be located."""
        return self.format.name not in ("parquet", "json", "json lines")

    def locate(self, bad: Callable[[list[str]], bool]) -> tuple[int, str]:
        """Return the number and the text of the first malformed line."""
        assert self.content is not None
        content = self.content
        data = read_bytes(content) if isinstance(content, Path) else content
        return locate(data, self.format, bad)


def read_file(
    source: str | Path,
    layout: Format | Declared | None = None,
    *,
    numbers: Numbers | None = None,
    wanted: Wanted | None = None,
    progress: bool | None = None,
) -> RawFile:
    """Read a file, or standard input if the source is ``-``; in a given format, if any.

    If it is said which columns of text are ``numbers``, these and whole numbers are read as such.
    Of a Parquet file only the columns that are ``wanted`` are read, by default all. A progress bar
    is shown, or not, by ``progress``.

    Raises
    ------
    FileError
        If there is no such file, it is truncated, a line of it is malformed, or it changed while it
        was read.
    """
    name = "standard input" if str(source) == "-" else str(source)
    path = Path(source)
    before = None if name == "standard input" else file_state(path)
    if before is None:  # a pipe can be read once; and `read_bytes` says why there is no file
        data = read_bytes(source)
        raw = _raw(data, name, layout, numbers, wanted)
        return replace(raw, sha256=hashlib.sha256(data).hexdigest())
    failed: BaseException | None
    try:
        raw, failed = _from_path(path, name, layout, numbers, wanted, progress)
    except FileError as error:
        if file_state(path) == before:
            raise
        failed = error
    if failed is not None or file_state(path) != before:
        raise FileError(
            "this file changed while it was read",
            where=name,
            found=None if failed is None else str(failed),
            hint="read it again once it is written",
        ) from failed
    return raw


def _from_path(
    path: Path,
    name: str,
    layout: Format | Declared | None,
    numbers: Numbers | None,
    wanted: Wanted | None,
    progress: bool | None,
) -> tuple[RawFile, BaseException | None]:
    """Return what a file holds, and why it could not be hashed if it could not."""
    is_binary = not isinstance(layout, Declared) and is_parquet(path)
    found = None if is_binary or numbers is None else _plain_text_file(path, name, layout)
    if found is not None and numbers is not None:
        literal, head, format_ = found
        table = read_numbers(literal, head, format_, numbers, progress=progress)
        if table is not None:
            return RawFile(table[0], format_, name, table[1], path), None
        numbers = None  # it was tried
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(file_hash, path)  # while it is read
        if is_binary:
            frame, names = read_parquet(path, name, wanted, progress=progress)
            raw = RawFile(frame, Format("parquet"), name, names=names)
        else:
            raw = _raw(read_bytes(path), name, layout, numbers, wanted)
        failed = digest.exception()
    return (raw if failed else replace(raw, sha256=digest.result())), failed


def _plain_text_file(path: Path, name: str, layout: Format | Declared | None) -> tuple[str, bytes, Format] | None:
    """Return a file's path, beginning and format, if Polars can read its text where it lies."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError:  # told when all of it is read
        return None
    literal = polars_path(path)
    if literal is None or is_packed(head) or not is_plain(head) or not fits_memory(path):
        return None
    try:
        format_ = _format(layout, name, head)
    except FileError:
        return None  # raised again, once all of the file was checked
    return (literal, head, format_) if len(format_.separator) == 1 else None


def _format(layout: Format | Declared | None, name: str, head: bytes) -> Format:
    plain = Path(name).name if name != "standard input" else "-"
    if isinstance(layout, Declared):
        return layout.resolve(plain, head)
    return sniff(plain, head) if layout is None else layout


def _raw(
    data: bytes, name: str, layout: Format | Declared | None, numbers: Numbers | None, wanted: Wanted | None
) -> RawFile:
    """Return what the bytes of a file hold, in a given format, if any."""
    data = _plain_text(unpacked(data, name), name)
    layout = _format(layout, name, _head(data))
    if not data or data.isspace():
        raise FileError("the file is empty", where=name)
    if layout.name == "parquet":
        frame, names = read_parquet(io.BytesIO(data), name, wanted)
        return RawFile(frame, layout, name, names=names)
    if layout.name == "json":
        frame, layout = _json(data, name)
        return RawFile(frame, layout, name)
    if layout.name == "json lines":
        return RawFile(_json_lines(data, name), layout, name)
    return RawFile(read_delimited(data, layout, name, numbers), layout, name, content=data)


def _head(data: bytes) -> bytes:
    """Return the first 64 KiB of a file, and the whole first line."""
    end = data.find(b"\n", _HEAD)
    return data[:_HEAD] if b"\n" in data[:_HEAD] or end < 0 else data[:end]


def _plain_text(data: bytes, name: str) -> bytes:
    """Return data in UTF-8 and with lines that end in LF, if it is text."""
    if data[:4] == b"PAR1":
        return data
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            raise FileError("not UTF-16, despite its byte order mark", where=name) from error
    if b"\0" in data:
        raise FileError(
            "this file is neither text nor Parquet",
            where=name,
            found=f"a NUL byte at position {data.index(0)}",
            hint="is it UTF-16 without a byte order mark, or the format of another program?",
        )
    data = data.removeprefix(codecs.BOM_UTF8)
    data = data.replace(b"\r", b"\n") if b"\n" not in data and b"\r" in data else data
    check_utf8(data[: data.find(b"\n") + 1 or len(data)], name)  # Polars checks what follows
    return data


def _json(data: bytes, name: str) -> tuple[pl.DataFrame, Format]:
    """Return what one JSON document holds; if there are several, they are lines."""
    try:
        document = json.loads(data, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return _json_lines(data, name), Format("json lines")
        where = f"{name}, line {error.lineno}, column {error.colno}"
        raise FileError("this is not JSON", where=where, found=error.msg) from error
    except _RepeatedKeyError as error:
        raise FileError("duplicate key in an object of this JSON", where=name, found=repr(error.args[0])) from error
    except RecursionError as error:
        raise FileError("this JSON is nested too deeply", where=name) from error
    except UnicodeDecodeError as error:
        raise FileError("this JSON is not in UTF-8", where=name, found=str(error)) from error
    return from_document(document, name), Format("json")


class _RepeatedKeyError(Exception):
    """A key that occurs twice in one JSON object, of which Python would keep the last."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return made


def _json_lines(data: bytes, name: str) -> pl.DataFrame:
    for number, line in enumerate(data.splitlines(), start=1):
        opened = line.count(b"[") + line.count(b"{")
        if opened > _DEEPEST and _depth(line) > _DEEPEST:  # Polars would exhaust the stack
            text = line.decode(errors="replace")
            raise malformed("nested too deeply", name, number, text)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except POLARS_FAILURES as error:
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                json.loads(line or b"null", parse_constant=_no_number)
            except (ValueError, RecursionError):
                raise malformed("not JSON", name, number, line.decode(errors="replace")) from None
        raise FileError(
            "the lines do not have the same fields and types", where=name, found=str(error).splitlines()[0]
        ) from error
    keys = [json.dumps(column, ensure_ascii=False).encode() for column in frame.columns]
    if any(data.count(key) > len(frame) for key in keys):  # else no line repeats a key
        _check_keys(data, name)
    return frame


def _check_keys(data: bytes, name: str) -> None:
    """Raise if an object repeats a key: Polars would keep only the first value."""
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            json.loads(line or b"null", object_pairs_hook=_each_once)
        except _RepeatedKeyError as error:
            problem = f"duplicate key {error.args[0]!r}"
            raise malformed(problem, name, number, line.decode(errors="replace")) from error


def _no_number(text: str) -> None:
    """Refuse NaN and infinity, which Python writes and JSON does not know."""
    raise ValueError(f"{text} is not a JSON number")


def _depth(line: bytes) -> int:
    """Return how deeply lists and objects are nested in a line of JSON."""
    bare = np.frombuffer(re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line), dtype=np.uint8)
    opened = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    return int(np.cumsum(opened).max(initial=0))
