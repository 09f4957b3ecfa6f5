"""Delimited text to frames: CSV, RecBole, MovieLens, TREC; a field that cannot be read is located.

Ids are what the text says: ``007`` and ``+7`` are not 7. A column of ids is read as numbers only if
every field of it is written as numbers are. Which columns may be is seen in the first lines. Then,
while Polars reads the text, every byte of it is looked at: in most files a quick look finds nothing
that plain numbers do not have (a blank, a zero before other digits), so that whatever Polars reads
as a whole number is written as one; from where it finds something on, a look at every field tells.
Where these looks are not compiled, ids are read as text, and become numbers afterwards if all of
them are. Scores and relevances are numbers however they are written; if they turn out not to be,
the text is read again as text, in which the mistake is located.

A file with anything else (quotation marks, a byte order mark, a score that is no number) is read as
text. Another thread hashes the file meanwhile; if the file changes while it is read, that is an
error, because the hash would be that of other bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.terminal import progress_bar
from rankwise.errors import FileError
from rankwise.tables.columns import EXACT, POLARS_FAILURES
from rankwise.tables.formats import Format

Numbers: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Returns those of some columns that hold scores or relevances, whatever their text."""

_SAMPLE = 100  # lines that say which columns are worth a look
_DIGITS = 18  # of whole numbers: those with more may not fit 64 bits
_WHOLE = rf"(0|-?[1-9]\d{{0,{_DIGITS - 1}}})$"
_MOST = 60  # columns: there is a bit for each
_DECIMAL = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_BLOCK = 1 << 19  # bytes that are looked at together, while they are in the cache


def expected_types(
    head: bytes, separator: str, names: Sequence[str], numbers: Numbers, *, has_header: bool
) -> dict[str, Any]:
    r"""Return the types of the columns that are numbers in the first lines of a text.

    >>> head = b"user,item,score\n1,07,0.5\n2,08,1e3\n"
    >>> expected_types(head, ",", ["user", "item", "score"], lambda names: names[2:],
    ...                has_header=True)["score"]
    Float64
    """
    fields = _first_fields(head, separator, names, has_header=has_header)
    if not fields:
        return {}

    def all_match(at: int, pattern: str) -> bool:
        return all(re.match(pattern, line[at]) for line in fields)

    scored = {*numbers(names)}
    integers = {name for at, name in enumerate(names) if all_match(at, _WHOLE)}
    types: dict[str, Any] = {
        name: pl.Float64
        for at, name in enumerate(names)
        if name in scored and name not in integers and all_match(at, _DECIMAL)
    }
    if kernels.load() is not None:
        types |= {name: pl.Int64 for name in names if name in integers}
    return types


def _first_fields(
    head: bytes, separator: str, names: Sequence[str], *, has_header: bool
) -> list[list[str]]:
    """Return the fields of the first lines; none if they are not plain columns of these names."""
    names_differ = len({*names}) == len(names)
    if len(separator) != 1 or not names_differ or not 1 < len(names) <= _MOST or b'"' in head:
        return []

    start = head.find(b"\n") + 1 if has_header else 0
    header = head[: max(start - 1, 0)].decode(errors="replace").removesuffix("\r")
    if has_header and header.split(separator) != [*names]:
        return []

    lines = head[start:].decode(errors="replace").split("\n")[:-1][:_SAMPLE]
    fields = [line.rstrip("\r").split(separator) for line in lines]
    return fields if all(len(line) == len(names) for line in fields) else []


class _Readable(Protocol):
    """A stream of bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill a buffer with the next bytes, and return how many there are."""


def look_at(
    stream: _Readable,
    separator: str,
    names: Sequence[str],
    types: Mapping[str, Any],
    *,
    has_header: bool,
) -> set[str] | None:
    """Return which columns that are expected to hold whole numbers do, in every field.

    Or hold whatever else, which Polars then does not read as whole numbers. None if the text has
    quotation marks or NUL bytes, so that it is not read as numbers.
    """
    fields, buffer, kept = _Fields(separator, names, types), bytearray(_BLOCK), 0
    view, is_first = memoryview(buffer), has_header
    while count := stream.readinto(view[kept:]):
        filled = kept + count
        end = buffer.rfind(b"\n", 0, filled) + 1
        fields.see(buffer, buffer.find(b"\n", 0, end) + 1 if is_first else 0, end)
        is_first, kept = is_first and not end, filled - end
        if kept == _BLOCK:  # a line that is longer than a block
            fields.is_plain, kept = False, 0
        buffer[:kept] = buffer[filled - kept : filled]
    fields.see(buffer, 0, kept)
    return fields.integers


class _Fields:
    """The fields of a text, seen in blocks of whole lines."""

    def __init__(self, separator: str, names: Sequence[str], types: Mapping[str, Any]) -> None:
        self.separator, self.names = separator, names
        self.mask = sum(1 << at for at, name in enumerate(names) if types.get(name) == pl.Int64)
        self.is_odd = not self.mask  # then there is nothing to look for but marks
        self.is_plain = True

    def see(self, buffer: bytearray, first: int, stop: int) -> None:
        """Look at a block."""
        if not self.is_plain or first == stop:
            return
        part = memoryview(buffer)[first:stop]
        self.is_odd = self.is_odd or is_odd(part, 0, len(part), self.separator)
        if not self.is_odd:
            return
        self.is_plain = buffer.find(b'"', first, stop) < 0 and buffer.find(b"\0", first, stop) < 0
        if self.mask:
            self.mask = whole_columns(part, self.separator, len(self.names), self.mask)

    @property
    def integers(self) -> set[str] | None:
        """The columns of canonical whole numbers; None if the text is not plain."""
        if not self.is_plain:
            return None
        return {name for at, name in enumerate(self.names) if self.mask >> at & 1}


def _are_numbers(frame: pl.DataFrame, kinds: Mapping[str, Any]) -> bool:
    """Return whether columns that were read as numbers lost nothing of their text."""
    for name in kinds:
        column = frame[name]
        if column.null_count():
            return False
        if column.dtype == pl.Float64 and len(column):
            lowest, highest = cast("tuple[float, float]", (column.min(), column.max()))
            if not -EXACT < lowest <= highest < EXACT:
                return False  # a whole number may have more digits than a float
    return True


def is_odd(text: bytes | memoryview, first: int, stop: int, separator: str) -> bool:
    """Return whether part of a text has marks that plain numbers lack; True if not compiled."""
    library = kernels.load()
    return library is None or bool(
        library.rw_odd_text(
            np.frombuffer(text, dtype=np.uint8), len(text), first, stop, ord(separator)
        )
    )


def whole_columns(text: bytes | memoryview, separator: str, columns: int, mask: int) -> int:
    """Return the columns of a bit mask that hold whole numbers in every line of a text."""
    library = kernels.load()
    if library is None:
        return 0
    return int(
        library.rw_whole_columns(
            np.frombuffer(text, dtype=np.uint8), len(text), ord(separator), columns, mask
        )
    )


_MARKED = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_numbers(
    path: str, head: bytes, layout: Format, numbers: Numbers, *, progress: bool | None = None
) -> tuple[pl.DataFrame, str] | None:
    """Read a plain file with its number columns as numbers; also return its SHA-256.

    Polars reads the file while another thread looks at it and hashes it: its bytes are never all in
    memory. None if the file has to be read, or refused, as text. ``path`` is that of `polars_path`,
    ``head`` the first bytes, which are plain (`is_plain`); the format has one character between
    fields.
    """
    try:
        with (
            Path(path).open("rb", 0) as file,
            progress_bar(Path(path).stat().st_size, "bytes", shown=progress) as bar,
        ):
            stream = _Watched(file, hashlib.sha256(), bar)
            frame = _typed(path, stream, head, layout, layout.separator, numbers)
    except OSError:  # read again, which says why it cannot be
        return None
    return None if frame is None else (frame, stream.digest.hexdigest())


def is_plain(head: bytes) -> bool:
    """Return whether a text begins with a line of UTF-8, without a byte order mark."""
    line, end, _ = head.partition(b"\n")
    with contextlib.suppress(UnicodeDecodeError):
        line.decode()
        return bool(end) and b"\0" not in line and not head.startswith(_MARKED)
    return False


@dataclass(frozen=True, eq=False, repr=False)
class _Watched:
    """A file that is hashed while being read, with a progress bar."""

    file: FileIO
    digest: Any
    bar: Any

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill a buffer with the next bytes, and return how many there are."""
        count = self.file.readinto(buffer)
        self.digest.update(buffer[:count])
        self.bar.update(count)
        return count


def read_delimited(
    data: bytes, layout: Format, name: str, numbers: Numbers | None = None
) -> pl.DataFrame:
    """Parse a delimited text into columns of text, or of numbers where ``numbers`` says so.

    Raises
    ------
    FileError
        If a line is malformed.
    """
    data, body, separator = _with_one_separator(data, layout)
    first_line = data[: data.find(b"\n", len(data) - len(data.lstrip())) + 1] or data
    if layout.name == "csv" and first_line.count(b'"') % 2:
        # Polars would look for its end in the rows below, and lose them.
        number, line = _stray_quote(data, layout)
        raise malformed_line_error("a quotation mark inside a field", name, number, line)
    if numbers is not None:
        head = body[: max(1 << 16, body.find(b"\n") + 1)]
        typed = _typed(body, io.BytesIO(body), head, layout, separator, numbers)
        if typed is not None:
            return typed
    try:
        frame = _parsed(body, layout, separator, {})
    except (*POLARS_FAILURES, OSError) as error:
        raise _unreadable(data, layout, name, error) from error
    _check_header_once(frame, data, layout, name)
    # A line with too few fields leaves the last one empty, and so does an empty last field.
    if frame[frame.columns[-1]].null_count():
        number, line = locate(data, layout, lambda fields: len(fields) < len(layout.columns))
        if number:
            raise malformed_line_error(
                _expected(layout), name, number, line, _hint(data, layout, line)
            )
    return frame


def _check_header_once(frame: pl.DataFrame, data: bytes, layout: Format, name: str) -> None:
    """Raise if a line below the first repeats the header, as the line would be read as a row."""
    if not layout.has_header:
        return
    header, first = (
        frame.columns,
        frame.to_series(0).alias("first"),
    )  # no name that is a pattern to Polars
    if first.dtype != pl.String:
        return
    is_long = first.str.len_bytes() == len(header[0].encode())
    rows = frame.filter(is_long & (first.str.to_lowercase() == header[0].lower()))
    if rows.is_empty():
        return

    def repeats(fields: Iterable[object]) -> bool:
        return [str(text or "").strip().lower() for text in fields] == [
            text.strip().lower() for text in header
        ]

    repeated = [row for row in rows.iter_rows() if repeats(row)]
    if not repeated:
        return
    number, line = locate(data, layout, repeats)
    raise FileError(
        "a line repeats the header: files joined with their headers, or ids that are called as the "
        "columns are",
        where=f"{name}, line {number}",
        found=f"{line[:120]!r} ({len(repeated)} such lines below the first)",
        hint="delete these lines; if they are rows, give the columns other names in the first line",
    )


def _with_one_separator(data: bytes, layout: Format) -> tuple[bytes, bytes, str]:
    """Return a text without comments, the same with one character between fields, and that."""
    separator = layout.separator
    if len(separator) == 1:
        return data, data, separator
    if separator:
        return data, data.replace(separator.encode(), b"\x1f"), "\x1f"
    if layout.name == "trec qrels":  # blanks between fields; judgements may have comments
        data = re.sub(rb"[ \t]#[^\r\n]*", b"", data)
    body = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)|^[ \t]*#[^\n]*\n?", b"", data)
    return data, re.sub(rb"[ \t]+", b"\t", body), "\t"


def _typed(
    source: str | bytes,
    stream: _Readable,
    head: bytes,
    layout: Format,
    separator: str,
    numbers: Numbers,
) -> pl.DataFrame | None:
    """Parse a table with its number columns as numbers; return None if text is required.

    The stream has the bytes of the source.
    """
    names, has_header = layout.columns, layout.has_header
    types = expected_types(head, separator, names, numbers, has_header=has_header)
    if not types:
        return None
    with ThreadPoolExecutor(1) as pool:
        look = pool.submit(look_at, stream, separator, names, types, has_header=has_header)
        frame = _parsed_or_none(source, layout, separator, types)
        integers = look.result()
    if integers is None:
        return None
    kept = {name: kind for name, kind in types.items() if kind != pl.Int64 or name in integers}
    if kept != types:
        frame = _parsed_or_none(source, layout, separator, kept) if kept else None
    if frame is None or not _are_numbers(frame, kept) or frame[frame.columns[-1]].null_count():
        return None
    return frame


def _parsed_or_none(
    source: str | bytes, layout: Format, separator: str, types: dict[str, Any]
) -> pl.DataFrame | None:
    with contextlib.suppress(*POLARS_FAILURES, OSError):
        return _parsed(source, layout, separator, types)
    return None


def _parsed(
    source: str | bytes, layout: Format, separator: str, types: dict[str, Any]
) -> pl.DataFrame:
    """Parse a table whose columns are text, except the columns in ``types``.

    Polars takes bytes that begin like a compressed file for one: `OSError` if they are not.
    """
    names, has_header, is_run = layout.columns, layout.has_header, layout.name == "trec run"
    frame = pl.read_csv(
        source if isinstance(source, str) else io.BytesIO(source),
        separator=separator,
        has_header=has_header,
        infer_schema=False,
        quote_char='"' if layout.name == "csv" else None,
        new_columns=None if has_header else list(names),
        schema=None if has_header else dict.fromkeys(names, pl.String) | types,
        schema_overrides=types if has_header else None,
        # A run's last field, its name, may have several words; no metric reads it.
        truncate_ragged_lines=is_run,
        extra_columns="ignore" if is_run else "raise",
        glob=False,
    )
    if has_header:
        frame.columns = [column.strip() for column in frame.columns]
    return frame


def _expected(layout: Format) -> str:
    return f"{len(layout.columns)} fields are expected"


def _unreadable(data: bytes, layout: Format, name: str, error: BaseException) -> FileError:
    """Return the error for a text that Polars cannot read, with the line at fault if found."""
    check_utf8(data, name)
    number, line = locate(data, layout, lambda fields: len(fields) != len(layout.columns))
    if number:
        return malformed_line_error(
            _expected(layout), name, number, line, _hint(data, layout, line)
        )
    number, line = _stray_quote(data, layout) if layout.name == "csv" else (0, "")
    if number:
        return malformed_line_error("a quotation mark inside a field", name, number, line)
    return FileError("this text file cannot be read", where=name, found=str(error).splitlines()[0])


def check_utf8(data: bytes, name: str) -> None:
    """Raise if a line is not in UTF-8."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="backslashreplace")
            hint = (
                "read it in its own encoding and pass the table: polars.read_csv(path, "
                'encoding="latin1")'
            )
            raise malformed_line_error("not in UTF-8", name, number, text, hint) from error


def locate(data: bytes, layout: Format, bad: Callable[[list[str]], bool]) -> tuple[int, str]:
    """Return the number and the text of the first malformed line; 0 if there is none."""
    text = io.StringIO(data.decode("utf-8-sig", errors="replace"), newline="")
    if layout.name == "csv":
        reader = csv.reader(text, delimiter=layout.separator)
        rows = ((reader.line_num, fields) for fields in reader)
    else:
        separator = layout.separator or None  # None: any run of blanks
        rows = ((n, line.rstrip("\r\n").split(separator)) for n, line in enumerate(text, start=1))
    with contextlib.suppress(csv.Error):  # a field longer than Python's reader takes
        for number, fields in rows:
            if not any(field.strip() for field in fields):
                continue
            is_comment = layout.name.startswith("trec") and fields[0].startswith("#")
            if not is_comment and not (number == 1 and layout.has_header) and bad(fields):
                return number, (layout.separator or " ").join(fields)
    return 0, ""


def _stray_quote(data: bytes, layout: Format) -> tuple[int, str]:
    """Return the number and the text of the first line with a quote that CSV does not know."""
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
        for field in line.split(layout.separator):
            text = field.strip()
            quoted = len(text) > 1 and text[0] == text[-1] == '"'
            if '"' in (text[1:-1] if quoted else text).replace('""', ""):
                return number, line
    return 0, ""


def malformed_line_error(
    problem: str, name: str, number: int, line: str, hint: str | None = None
) -> FileError:
    """Return the error of a malformed line of a file."""
    where = f"{name}, line {number}"
    return FileError(
        f"a line is malformed: {problem}", where=where, found=repr(line[:120]), hint=hint
    )


def _hint(data: bytes, layout: Format, line: str) -> str | None:
    """Return a hint about a line with a wrong number of fields; None if there is no hint."""
    if layout.name not in ("csv", "recbole"):
        return None
    first = data.lstrip()[:120].partition(b"\n")[0].decode("utf-8", errors="replace")
    if line.lstrip().startswith("#") or first.startswith("#"):
        return "delete the lines of comments, which begin with #: the first line names the columns"
    separator = layout.separator
    if separator == "," and line.count(separator) >= len(layout.columns):
        return (
            "a field with a comma, such as a number with a decimal comma, stands in quotation marks"
        )
    return None
