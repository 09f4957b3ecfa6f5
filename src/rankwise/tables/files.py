"""Files to frames; where a file cannot be read, the malformed line is located."""

from __future__ import annotations

import codecs
import contextlib
import csv
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

from rankwise.core.threads import default_threads, each
from rankwise.errors import FileError
from rankwise.tables.compressed import read_bytes, unpacked
from rankwise.tables.formats import Declared, Format, sniff
from rankwise.tables.in_memory import from_document
from rankwise.tables.on_disk import file_hash, file_state, is_parquet
from rankwise.tables.typed_columns import Numbers, are_numbers, typed_columns

__all__ = [
    "POLARS_FAILURES", "RawFile", "malformed", "read_file",
]  # fmt: skip

POLARS_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises: a panic, which damaged files can cause, is no `Exception`."""
_DEEPEST = 64
"""The depth to which lists and objects of a line of JSON may be nested."""


@dataclass(frozen=True)
class RawFile:
    """A file as it was read: columns of a text format are text, or whole numbers if asked for."""

    frame: pl.DataFrame
    format: Format
    name: str
    sha256: str
    content: bytes | None = None

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
        text = io.StringIO(self.content.decode("utf-8-sig", errors="replace"), newline="")
        if self.format.name == "csv":
            reader = csv.reader(text, delimiter=self.format.separator)
            rows = ((reader.line_num, fields) for fields in reader)
        else:
            rows = ((n, _fields(line, self.format)) for n, line in enumerate(text, start=1))
        with contextlib.suppress(csv.Error):  # a field longer than Python's reader takes
            for number, fields in rows:
                if not any(field.strip() for field in fields) or _is_comment(fields, self.format):
                    continue
                if not (number == 1 and self.format.has_header) and bad(fields):
                    return number, (self.format.separator or " ").join(fields)
        return 0, ""


def read_file(
    source: str | Path, layout: Format | Declared | None = None, *, numbers: Numbers | None = None
) -> RawFile:
    """Read a file, or standard input if the source is ``-``; in a given format, if any.

    If it is said which columns of text are ``numbers``, these and whole numbers are read as such.

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
        return replace(_raw(data, name, layout, numbers), sha256=hashlib.sha256(data).hexdigest())
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(file_hash, path)  # while it is read
        if not isinstance(layout, Declared) and is_parquet(path):
            raw = RawFile(_parquet(path, name), Format("parquet"), name, "")
        else:
            raw = _raw(read_bytes(source), name, layout, numbers)
        failed = digest.exception()
    if failed is not None or file_state(path) != before:
        raise FileError(
            "this file changed while it was read",
            where=name,
            found=None if failed is None else str(failed),
            hint="read it again once it is written",
        ) from failed
    return replace(raw, sha256=digest.result())


def _raw(
    data: bytes, name: str, layout: Format | Declared | None, numbers: Numbers | None
) -> RawFile:
    """Return what the bytes of a file hold, in a given format, if any."""
    data = _plain_text(unpacked(data, name), name)
    plain = Path(name).name if name != "standard input" else "-"
    if isinstance(layout, Declared):
        layout = layout.resolve(plain, _head(data))
    elif layout is None:
        layout = sniff(plain, _head(data))
    if not data or data.isspace():
        raise FileError("the file is empty", where=name)
    if layout.name == "parquet":
        return RawFile(_parquet(io.BytesIO(data), name), layout, name, "")
    if layout.name == "json":
        frame, layout = _json(data, name)
        return RawFile(frame, layout, name, "")
    if layout.name == "json lines":
        return RawFile(_json_lines(data, name), layout, name, "")
    return RawFile(_text(data, layout, name, numbers), layout, name, "", data)


def _head(data: bytes) -> bytes:
    """Return the first 64 KiB of a file, and the whole first line."""
    end = data.find(b"\n", 65536)
    return data[:65536] if b"\n" in data[:65536] or end < 0 else data[:end]


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
    _check_utf8(data[: data.find(b"\n") + 1 or len(data)], name)  # Polars checks what follows
    return data


def _check_utf8(data: bytes, name: str) -> None:
    """Raise if a line is not in UTF-8."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="backslashreplace")
            raise malformed("not in UTF-8", name, number, text) from error


def _parquet(source: Path | io.BytesIO, name: str) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(source, glob=False)  # in pieces, which are costly to look at
        return frame.with_columns(each(pl.Series.rechunk, frame.get_columns(), default_threads()))
    except (*POLARS_FAILURES, OSError) as error:
        raise FileError(
            "this Parquet file cannot be read: damaged or cut short",
            where=name,
            found=str(error).splitlines()[0],
            hint="write it again, or copy it again from where it came",
        ) from error


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
        raise FileError(
            "duplicate key in an object of this JSON", where=name, found=repr(error.args[0])
        ) from error
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
            "the lines do not have the same fields and types",
            where=name,
            found=str(error).splitlines()[0],
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


def _is_comment(fields: list[str], layout: Format) -> bool:
    return layout.name.startswith("trec") and bool(fields) and fields[0].startswith("#")


def _fields(line: str, layout: Format) -> list[str]:
    separator = layout.separator
    return line.split() if separator == "" else line.rstrip("\r\n").split(separator)


def _text(data: bytes, layout: Format, name: str, numbers: Numbers | None) -> pl.DataFrame:
    separator, body = layout.separator, data
    if separator == "":  # TREC: blanks between fields; judgements may have comments
        if layout.name == "trec qrels":
            data = re.sub(rb"[ \t]#[^\r\n]*", b"", data)
        body = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)|^[ \t]*#[^\n]*\n?", b"", data)
        body = re.sub(rb"[ \t]+", b"\t", body)
        separator = "\t"
    elif len(separator) > 1:
        separator, body = "\x1f", data.replace(separator.encode(), b"\x1f")
    first_line = data[: data.find(b"\n", len(data) - len(data.lstrip())) + 1] or data
    if layout.name == "csv" and first_line.count(b'"') % 2:
        # Polars would look for its end in the rows below, and lose them.
        number, line = _stray_quote(data, layout)
        raise malformed("a quotation mark inside a field", name, number, line)
    problem = f"{len(layout.columns)} fields are expected"
    file = RawFile(pl.DataFrame(), layout, name, "", data)
    names, has_header = layout.columns, layout.has_header
    kinds = {}
    if numbers is not None:
        kinds = typed_columns(body, separator, names, numbers, has_header=has_header)
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            separator=separator,
            has_header=layout.has_header,
            infer_schema=False,
            quote_char='"' if layout.name == "csv" else None,
            new_columns=None if layout.has_header else list(layout.columns),
            schema=None if has_header else dict.fromkeys(names, pl.String) | kinds,
            schema_overrides=kinds if has_header else None,
            # A run's last field, its name, may have several words; no measure reads it.
            truncate_ragged_lines=layout.name == "trec run",
            extra_columns="ignore" if layout.name == "trec run" else "raise",
        )
    except POLARS_FAILURES as error:
        if kinds:
            return _text(data, layout, name, None)
        _check_utf8(data, name)
        number, line = file.locate(lambda fields: len(fields) != len(layout.columns))
        if number:
            raise malformed(problem, name, number, line) from None
        number, line = _stray_quote(data, layout) if layout.name == "csv" else (0, "")
        if number:
            raise malformed("a quotation mark inside a field", name, number, line) from None
        raise FileError(
            "this text file cannot be read", where=name, found=str(error).splitlines()[0]
        ) from error
    if not are_numbers(frame, kinds):
        return _text(data, layout, name, None)
    if layout.has_header:
        frame.columns = [column.strip() for column in frame.columns]
    last = frame.columns[-1]
    # A line with too few fields leaves the last one empty, and so does an empty last field.
    if frame[last].null_count():
        number, line = file.locate(lambda fields: len(fields) < len(layout.columns))
        if number:
            raise malformed(problem, name, number, line)
    return frame


def _stray_quote(data: bytes, layout: Format) -> tuple[int, str]:
    """Return the number and the text of the first line with a quote that CSV does not know."""
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
        for field in line.split(layout.separator):
            text = field.strip()
            quoted = len(text) > 1 and text[0] == text[-1] == '"'
            if '"' in (text[1:-1] if quoted else text).replace('""', ""):
                return number, line
    return 0, ""


def malformed(problem: str, name: str, number: int, line: str) -> FileError:
    """Return the error of a malformed line of a file."""
    return FileError(
        f"a line is malformed: {problem}", where=f"{name}, line {number}", found=repr(line[:120])
    )
