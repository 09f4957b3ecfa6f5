"""The format of a file, recognised by its suffix and first line, unpacked within bounds.

Files, pipes and archives are read up to the size of the memory, and unpacked up to 200 times their
size (or 1 GiB). Only files of this machine are opened.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import importlib
import io
import lzma
import os
import re
import stat
import struct
import sys
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from rankwise.errors import FileError, ParameterError, nearest_name
from rankwise.messages import mention

_STEP = 2**24
_NEARLY_ALL = 0.9
_PATIENCE = 10  # seconds that a pipe may be without a program that writes to it
_MOST_COLUMNS = 20_000
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
    with _told(name), _opened(path, name) as stream:
        if path.is_file() and path.stat().st_size > 0 and fits_memory(path):
            return stream.read() or b""  # in one piece, which no piece has to be joined to
        return _bounded(stream, _memory(), name)


def _opened(path: Path, name: str) -> IO[bytes] | io.RawIOBase:
    """Open a file or pipe; raise if no program writes to the pipe, as reading would never end."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    until = time.monotonic() + _PATIENCE
    first = b""
    while True:
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:  # a program will write
            break
        if first:
            break
        if time.monotonic() > until:
            os.close(descriptor)
            raise FileError(
                "nothing was written to this pipe",
                where=name,
                found=f"no program that writes to it for {_PATIENCE} seconds",
                hint="start the program that writes before the one that reads",
            )
        time.sleep(_PATIENCE / 1000)
    os.set_blocking(descriptor, True)
    stream = os.fdopen(descriptor, "rb")
    return _Joined(first, stream) if first else stream


class _Joined(io.RawIOBase):
    """A stream whose first byte was read before."""

    def __init__(self, first: bytes, stream: IO[bytes]) -> None:
        self._first, self._stream = first, stream

    def readable(self) -> bool:
        """Return True: the stream is readable."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        first, self._first = self._first, b""
        return first + self._stream.read(size)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()


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
            hint = _near_name(path)
            if "://" in name:
                hint = "addresses are not opened: pass the table, or download the file"
            raise FileError("there is no such file", where=name, hint=hint)
        if stat.S_ISCHR(path.stat().st_mode) or stat.S_ISBLK(path.stat().st_mode):
            raise FileError("this is a device, which may have no end", where=name)
    return path


def _near_name(path: Path) -> str | None:
    """Return a hint for a missing file: a file with a similar name, or the missing folder."""
    folder = path.parent
    if folder.is_dir():
        near = nearest_name(path.name, sorted(entry.name for entry in folder.iterdir()))
        return None if near is None else f"did you mean {str(folder / near)!r}?"
    return f"there is no folder {str(folder)!r} either; relative paths are those of {os.getcwd()!r}"  # noqa: PTH109


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Convert errors of the operating system about a path to `FileError`."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: NUL in a path
        if isinstance(error, FileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError("this file cannot be opened", where=name, found=reason) from error


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
                hint=f"write it as Parquet, which is read in pieces with {mention('chunk_rows')}"
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
    open_packed = _reader(data)
    if open_packed is None:
        return data
    limit = max(_SMALL, _RATIO * len(data))
    try:
        with open_packed(data, name) as stream:
            return _bounded(stream, limit, name, ": it unpacks to far more than tables do")
    except FileError:
        raise
    except _DAMAGED as error:
        raise FileError(
            "this compressed file is damaged or cut short", where=name, found=str(error) or None
        ) from error


def _zip(data: bytes, name: str) -> IO[bytes]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    hidden = ("__MACOSX/", ".")  # what macOS and Finder add
    files = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and not entry.filename.startswith(hidden)
    ]
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


_ERRORS_OF_FORMATS = (zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error)
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, LookupError, *_ERRORS_OF_FORMATS)
"""What the libraries raise for damaged files."""
_READERS: dict[bytes, Callable[[bytes, str], Any]] = {
    b"\x1f\x8b": lambda data, _: gzip.GzipFile(fileobj=io.BytesIO(data)),
    b"BZh": lambda data, _: bz2.BZ2File(io.BytesIO(data)),
    b"\xfd7zXZ\x00": lambda data, _: lzma.LZMAFile(io.BytesIO(data)),  # noqa: SIM115 - the caller closes it
    b"PK\x03\x04": _zip,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
"""How a compressed file begins, and what unpacks it."""


FormatName: TypeAlias = Literal[
    "parquet", "csv", "json", "json lines", "movielens", "recbole", "trec run", "trec qrels"
]
_TREC_COLUMNS = {
    "trec run": ("user", "q0", "item", "rank", "score", "tag"),
    "trec qrels": ("user", "iteration", "item", "relevance"),
}
_RECBOLE = r"^[^:\s]+:(token|token_seq|float|float_seq)$"


@dataclass(frozen=True)
class Format:
    """A file format and the parameters for reading.

    The separator is the text between fields, empty for any run of blanks; names of columns are
    those of the header or of the format.
    """

    name: FormatName
    separator: str = ","
    columns: tuple[str, ...] = ()
    has_header: bool = False

    def __str__(self) -> str:
        if self.name != "csv":
            return self.name
        names = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "blank"}
        return f"csv ({names.get(self.separator, self.separator)})"


@dataclass(frozen=True, eq=False, repr=False)
class Declared:
    """The format that the user declares for a file, where its name and first line do not tell.

    The separator is by default that of the format, or recognised; ``columns`` are the names of the
    columns of a file without a header.
    """

    name: FormatName
    separator: str | None = None
    columns: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the format as plain values, for JSON."""
        return {"name": self.name, "separator": self.separator, "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Declared:
        """Return the format from the values of `to_dict`."""
        return cls(saved["name"], saved["separator"], tuple(saved["columns"]))

    def resolve(self, name: str, head: bytes) -> Format:
        """Return the format of the file with this name and these first bytes.

        >>> Declared("csv", ";", ("user", "item")).resolve("u.txt", b"1;2")
        Format(name='csv', separator=';', columns=('user', 'item'), has_header=False)
        """
        if self.name in ("parquet", "json", "json lines"):
            return Format(self.name)
        if self.name in _TREC_COLUMNS:
            return Format(self.name, "", _TREC_COLUMNS[self.name])

        line = next(iter(re.split(r"\r?\n", head.decode("utf-8", errors="replace"))), "")
        if self.name == "movielens":
            separator = self.separator or "::"
            columns = self.columns or _movielens(name, len(line.split(separator)))
            return Format(self.name, separator, columns)
        self._check_separator()
        separator = self.separator or _separator_of(line)
        if self.columns:
            return Format(self.name, separator, self.columns)
        header = tuple(field.strip() for field in next(csv.reader([line], delimiter=separator), []))
        return Format(self.name, separator, header, has_header=True)

    def _check_separator(self) -> None:
        """Raise unless the separator is left open or one character of ASCII."""
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '\r\n"'):
            raise ParameterError(
                f"the separator of a {self.name} file is one ASCII character",
                found=repr(mark),
                hint='format "movielens" takes longer ones, such as "::"',
            )


def _separator_of(line: str) -> str:
    return "\t" if "\t" in line else max(",;|", key=line.count)


def sniff(name: str, head: bytes) -> Format:
    """Return the format of a file, recognised by its name and its first bytes, uncompressed.

    The suffix of a compression is ignored, and ``head`` has at least one line.

    >>> str(sniff("ratings.dat", b"1::1193::5::978300760"))
    'movielens'
    >>> sniff("run.csv", b"user_id,item_id,score").columns
    ('user_id', 'item_id', 'score')
    """
    plain = re.sub(r"\.(gz|bz2|xz|zst|zip)$", "", name.lower())
    suffix = plain.rpartition(".")[2] if "." in plain else ""
    if head[:4] == b"PAR1" or suffix in ("parquet", "pq"):
        return Format("parquet")
    # Not at U+2028 and its like, at which no reader of tables ends a line.
    lines = re.split(r"\r?\n", head.decode("utf-8", errors="replace"))
    lines = [line for line in lines if line.strip()]
    line = lines[0] if lines else ""
    if suffix in ("jsonl", "ndjson"):
        return Format("json lines")
    if suffix == "json" or line.lstrip().startswith(("{", "[")):
        return Format("json")
    if "::" in line:
        return Format("movielens", "::", _movielens(name, len(line.split("::"))))
    trec = _trec(plain, suffix, lines)
    if trec is not None:
        return trec
    fields = line.split()
    if suffix == "data" and len(fields) == 4:  # MovieLens 100K's u.data
        return Format("movielens", "\t", _movielens(name, 4))
    return _separated(name, line, suffix)


def _trec(name: str, suffix: str, lines: list[str]) -> Format | None:
    """Recognise runs and relevance judgements (qrels) of TREC; return None for other text."""
    line = next((line for line in lines if not line.lstrip().startswith("#")), "")
    line = line.partition(" #")[0]
    fields = line.split()
    if len(fields) < 4 or ("," in line and fields[1].upper() not in ("0", "Q0")):
        return None
    if len(fields) >= 6 and (fields[1].upper() == "Q0" or suffix in ("run", "trec")):
        return Format("trec run", "", _TREC_COLUMNS["trec run"])
    is_unnamed = suffix not in ("csv", "tsv", "inter", "data", "dat")
    is_plain = fields[1].upper() in ("0", "Q0") and is_unnamed
    if len(fields) == 4 and (is_plain or "qrel" in name.rpartition("/")[2]):
        return Format("trec qrels", "", _TREC_COLUMNS["trec qrels"])
    return None


def _separated(name: str, line: str, suffix: str) -> Format:
    """Return the format of a file whose first line names columns between separators."""
    tab = suffix in ("tsv", "inter") or "\t" in line
    separator = "\t" if tab else max(",;|", key=line.count)
    names = _fields_of(name, line, separator)
    _check_distinct(name, line, names)

    if all(re.match(_RECBOLE, field) for field in names):
        return Format("recbole", separator, names, has_header=True)
    if len(names) < 2 and suffix not in ("csv", "tsv"):
        raise FileError(
            "the format of this file was not recognised",
            where=name,
            found=repr(line[:80]),
            hint="rankwise reads Parquet, CSV/TSV with a header, JSON, JSON lines, MovieLens '::', "
            "RecBole .inter, TREC run and qrels; also compressed: gz, bz2, xz, zst, zip",
        )
    if all(map(_is_number, names)):
        raise FileError(
            "the first line holds numbers where column names are expected",
            where=name,
            found=repr(line[:80]),
            hint=_ADD_HEADER,
        )
    return Format("csv", separator, names, has_header=True)


def _fields_of(name: str, line: str, separator: str) -> tuple[str, ...]:
    """Return the fields of a header.

    Raises
    ------
    FileError
        If the line is no header, or has more fields than a table with a row per user and item.
    """
    if re.fullmatch(r"\ufeff?\"?sep=.\"?", line.strip(" \r")):
        raise FileError(
            "the first line says how fields are separated, for Excel, and names no columns",
            where=name,
            found=repr(line),
            hint="delete the first line: the separator is recognised",
        )
    try:
        header = next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise FileError("the first line is no header", where=name, found=str(error)) from error
    if len(header) > _MOST_COLUMNS:
        raise FileError(
            "this file has too many columns for a table with a row per user and item",
            where=name,
            found=f"{len(header):,} columns, of at most {_MOST_COLUMNS:,}",
            hint="pass a matrix of users and items as an array or a sparse matrix",
        )
    return tuple(field.strip() for field in header)


def _check_distinct(name: str, line: str, names: tuple[str, ...]) -> None:
    """Raise if two fields of a header are equal, unless all are numbers and it is none."""
    counts = Counter(names)
    twice = next((field for field in names if field and counts[field] > 1), None)
    if twice is None or all(map(_is_number, names)):
        return
    if any(map(_is_value, names)):
        raise no_header(name, line)
    raise FileError(
        "two columns of this file have the same name",
        where=name,
        found=repr(twice),
        hint="give every column a name of its own",
    )


_ADD_HEADER = (
    "add a first line with the names of the columns, such as user,item,score; or read the file yourself and pass the "
    'table: polars.read_csv(path, has_header=False, new_columns=["user", "item"])'
)


def no_header(name: str, line: str) -> FileError:
    """Return the error of a file of text whose first line reads like a row."""
    return FileError(
        "this file seems to have no header: its first line reads like a row",
        where=name,
        found=repr(line[:80]),
        hint=f"{_ADD_HEADER}; if the line does name the columns, give them names that do not look like values",
    )


def _is_number(field: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", field) is not None


def _is_value(field: str) -> bool:
    """Return whether a field is a number, a date or a time, which no column is called."""
    return (
        _is_number(field)
        or re.fullmatch(r"\d{1,4}[-/.]\w{1,3}[-/.]\d{1,4}([T ]\S*)?", field) is not None
    )


def reads_like_row(names: Sequence[str], values: Callable[[str], Sequence[str]]) -> bool:
    """Return whether each name could be a value of its own column.

    That is, it is one, or it has a digit and is written as nearly all of them are.

    >>> rows = {"A1": ["A2", "A13"], "item": ["B7", "B8"]}
    >>> reads_like_row(["A1"], rows.__getitem__), reads_like_row(["A1", "item"], rows.__getitem__)
    (True, False)
    """
    return bool(names) and all(_is_like(name, values(name)) for name in names)


def check_first_line(
    names: Sequence[str],
    chosen: Sequence[str],
    values: Callable[[str], Sequence[str]],
    where: str,
    line: str,
) -> None:
    """Raise if a first line without known names may be a row, which would be lost as a header.

    ``chosen`` are the names that the caller gave, and ``values`` has those of each column below the
    line.
    """
    if reads_like_row(chosen, values) or (
        not chosen and any(reads_like_row([name], values) for name in names)
    ):
        raise no_header(where, line)


def _is_like(name: str, values: Sequence[str]) -> bool:
    if name in values:
        return True
    shape = _shape(name)
    alike = sum(_shape(value) == shape for value in values)
    return "9" in shape and len(values) > 0 and alike >= _NEARLY_ALL * len(values)


def _shape(text: str) -> str:
    """Replace each run of letters in a text by one letter, and each run of digits by one digit."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text.strip()))


def _movielens(name: str, fields: int) -> tuple[str, ...]:
    columns = {
        3: ("item", "title", "genres"),
        4: ("user", "item", "rating", "timestamp"),
        5: ("user", "gender", "age", "occupation", "zip"),
    }
    if fields not in columns:
        raise FileError(
            "a MovieLens file has 3, 4 or 5 fields", where=name, found=f"{fields} fields"
        )
    return columns[fields]


def plain_stem(path: str) -> str:
    """Return the name of a file without its folders and suffixes; the path where none is left.

    >>> plain_stem("runs/bpr.csv.gz"), plain_stem(".")
    ('bpr', '.')
    """
    return Path(path).name.split(".")[0] or path
