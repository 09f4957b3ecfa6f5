"""Files and folders to frames; where a file cannot be read, the malformed line is located.

Only the columns that the role of the table needs are read. Numbers are read a million rows at a
time into arrays that stay: the memory of one part serves the next, whereas the hundred pieces per
column that Polars hands out would have to be joined in as much new memory, whose pages cost more
than the copy.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import numpy as np
import polars as pl
from polars.selectors import by_name

from rankwise.core.arguments import check_path
from rankwise.core.hashing import json_hash
from rankwise.core.kernels import default_threads, map_threads
from rankwise.core.terminal import progress_bar
from rankwise.errors import ColumnError, FileError
from rankwise.tables.columns import POLARS_FAILURES
from rankwise.tables.delimited import (
    Numbers,
    check_utf8,
    is_plain,
    locate,
    malformed_line_error,
    read_delimited,
    read_numbers,
)
from rankwise.tables.formats import (
    Declared,
    Format,
    fits_memory,
    is_packed,
    read_bytes,
    sniff,
    unpacked,
)
from rankwise.tables.frames import from_arrow, in_one_piece, parse_numbers
from rankwise.tables.memory import from_document
from rankwise.tables.storage import file_hash, file_state, is_folder, is_parquet, polars_path
from rankwise.tables.table import CARD_FILE, Origin, TableRole

Projection: TypeAlias = Callable[[Mapping[str, Any]], Collection[str]]
"""Returns those of some columns, with their types, that are read."""

_ROWS = 1 << 20


def read_parquet(
    source: Path | io.BytesIO,
    name: str,
    projection: Projection | None = None,
    *,
    progress: bool | None = None,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a Parquet file as a table, and the names of all of its columns.

    Numbers are read a million rows at a time and put where they stay: the memory of one part
    serves the next, where all parts together would take the memory of the table twice.

    Raises
    ------
    FileError
        If the file cannot be read.
    """
    try:
        file, every = scan_parquet(source, projection)
        rows = int(file.select(pl.len()).collect().item())
        schema = file.collect_schema()
        # Without nulls these are arrays of numbers.
        numbers = [name for name, dtype in schema.items() if dtype.is_integer() or dtype.is_float()]
        numbers = [
            name for name in numbers if schema[name] not in (pl.Int128, pl.UInt128, pl.Float16)
        ]
        columns = {}
        if rows > _ROWS and numbers:
            with progress_bar(rows, "rows", shown=progress) as bar:
                columns = _numbers(file.select(by_name(numbers)), rows, bar)
        rest = file.select(by_name([column for column in schema if column not in columns]))
        columns |= {column.name: column for column in in_one_piece(rest.collect())}
    except (*POLARS_FAILURES, OSError) as error:
        raise damaged_file_error(name, error) from error
    return pl.DataFrame({column: columns[column] for column in schema}), every


def scan_parquet(
    source: Path | io.BytesIO, projection: Projection | None
) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """Return the columns of a file that a projection keeps, and the names of all columns."""
    path = polars_path(source) if isinstance(source, Path) else None
    if path is None and isinstance(source, Path):
        source = io.BytesIO(source.read_bytes())
    file = pl.scan_parquet(path or source, glob=False)
    schema = file.collect_schema()
    chosen = schema if projection is None else projection(schema)
    return file.select(by_name([name for name in schema if name in chosen])), tuple(schema)


def damaged_file_error(name: str, error: BaseException) -> FileError:
    """Return the error of a file that cannot be read."""
    return FileError(
        "this Parquet file cannot be read: damaged or cut short",
        where=name,
        found=str(error).splitlines()[0],
        hint="write it again, or copy it again from where it came",
    )


def _numbers(file: pl.LazyFrame, rows: int, bar: Any) -> dict[str, pl.Series]:
    """Return the columns without nulls, all of numbers, each in one piece."""
    empty = file.head(0).collect()
    out = {column.name: np.empty(rows, dtype=column.to_numpy().dtype) for column in empty}

    def read(first: int) -> set[str]:
        part = file.slice(first, _ROWS).collect()
        if len(part) != min(_ROWS, rows - first):
            raise OSError("a part has fewer rows than the file says")
        bar.update(len(part))
        for column in part:
            start = first
            for piece in column.get_chunks() if not column.null_count() else ():
                out[column.name][start : start + len(piece)] = piece.to_numpy()
                start += len(piece)
        return {column.name for column in part if column.null_count()}

    with_nulls = set().union(*map_threads(read, range(0, rows, _ROWS), default_threads()))
    return {
        name: pl.Series(name, values, empty.schema[name])
        for name, values in out.items()
        if name not in with_nulls
    }


_HEAD = 1 << 16
_DEEPEST = 64
"""The depth to which lists and objects of a line of JSON may be nested."""


@dataclass(frozen=True, eq=False, repr=False)
class RawFile:
    """The content of a file: columns of a text format are text, or numbers if requested."""

    frame: pl.DataFrame
    format: Format
    name: str
    sha256: str = ""
    content: bytes | Path | None = None
    names: tuple[str, ...] = ()
    """All columns of a Parquet file, also those that were not read."""
    origin: Origin | None = None
    """Where it can be read again; None for pipes."""

    @property
    def is_text(self) -> bool:
        """Whether the columns are text, even columns of written numbers."""
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
    projection: Projection | None = None,
    progress: bool | None = None,
) -> RawFile:
    """Read a file, or standard input if the source is ``-``; in a given format, if any.

    If it is said which columns of text are ``numbers``, these and whole numbers are read as such.
    Of a Parquet file only the columns of ``projection`` are read, by default all. A progress bar
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
        raw = _raw(data, name, layout, numbers, projection)
        return replace(raw, sha256=hashlib.sha256(data).hexdigest())
    failed: BaseException | None
    try:
        raw, failed = _from_path(path, name, layout, numbers, projection, progress)
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
    return replace(raw, origin=origin_of(path, layout))


def _from_path(
    path: Path,
    name: str,
    layout: Format | Declared | None,
    numbers: Numbers | None,
    projection: Projection | None,
    progress: bool | None,
) -> tuple[RawFile, BaseException | None]:
    """Read a file; also return the exception if the file could not be hashed, else None."""
    is_binary = not isinstance(layout, Declared) and is_parquet(path)
    plain = None if is_binary or numbers is None else _plain_text_file(path, name, layout)
    if plain is not None and numbers is not None:
        literal, head, format_ = plain
        table = read_numbers(literal, head, format_, numbers, progress=progress)
        if table is not None:
            return RawFile(table[0], format_, name, table[1], path), None
        numbers = None  # it was tried
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(file_hash, path)  # while it is read
        if is_binary:
            frame, names = read_parquet(path, name, projection, progress=progress)
            raw = RawFile(frame, Format("parquet"), name, names=names)
        else:
            raw = _raw(read_bytes(path), name, layout, numbers, projection)
        failed = digest.exception()
    return (raw if failed else replace(raw, sha256=digest.result())), failed


def _plain_text_file(
    path: Path, name: str, layout: Format | Declared | None
) -> tuple[str, bytes, Format] | None:
    """Return path, first bytes and format of a file that Polars can read in place; else None."""
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
    data: bytes,
    name: str,
    layout: Format | Declared | None,
    numbers: Numbers | None,
    projection: Projection | None,
) -> RawFile:
    """Parse the bytes of a file, in a given or recognised format."""
    data = _plain_text(unpacked(data, name), name)
    layout = _format(layout, name, _head(data))
    if not data or data.isspace():
        raise FileError("the file is empty", where=name)
    if layout.name == "parquet":
        frame, names = read_parquet(io.BytesIO(data), name, projection)
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


@dataclass(frozen=True)
class _Foreign:
    """A format of other programs: the first bytes of its files, and the call that reads them."""

    magic: bytes
    name: str
    reader: str


_FOREIGN = (
    *(
        _Foreign(
            bytes([0x80, protocol]),
            "a pickle, which may run code",
            "pandas.read_pickle(path), if you trust it",
        )
        for protocol in range(2, 6)
    ),
    _Foreign(b"\x93NUMPY", "an array of NumPy", "numpy.load(path)"),
    _Foreign(b"\x89HDF\r\n", "an HDF5 file", "pandas.read_hdf(path)"),
    _Foreign(b"ARROW1", "an Arrow or Feather file", "polars.read_ipc(path)"),
    _Foreign(b"SQLite format 3\0", "a database of SQLite", "polars.read_database_uri(query, uri)"),
    _Foreign(b"\xd0\xcf\x11\xe0", "a workbook of Excel", "polars.read_excel(path)"),
    _Foreign(b"ORC", "an ORC file", "pyarrow.orc.read_table(path)"),
    _Foreign(b"Obj\x01", "an Avro file", "polars.read_avro(path)"),
)


def _plain_text(data: bytes, name: str) -> bytes:
    """Convert text to UTF-8 with lines that end in LF; return Parquet bytes unchanged."""
    if data[:4] == b"PAR1":
        return data
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            raise FileError("not UTF-16, despite its byte order mark", where=name) from error
    foreign = next((kind for kind in _FOREIGN if data.startswith(kind.magic)), None)
    if foreign is not None:
        raise FileError(
            f"this file is {foreign.name}, which is not opened by path",
            where=name,
            hint=f"read it and pass the table: {foreign.reader}",
        )
    if b"\0" in data:
        raise FileError(
            "this file is neither text nor Parquet",
            where=name,
            found=f"a NUL byte at position {data.index(0)}",
            hint="is it UTF-16 without a byte order mark, or the format of another program?",
        )
    data = data.removeprefix(codecs.BOM_UTF8)
    data = data.replace(b"\r", b"\n") if b"\n" not in data and b"\r" in data else data
    data = _from_latin_1(data)
    check_utf8(data[: data.find(b"\n") + 1 or len(data)], name)  # Polars checks what follows
    return data


def _from_latin_1(data: bytes) -> bytes:
    """Convert Latin-1 text with ``::`` between fields (MovieLens 1M); return other data as is."""
    if b"::" not in data[: data.find(b"\n") + 1 or len(data)]:
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


def _json(data: bytes, name: str) -> tuple[pl.DataFrame, Format]:
    """Parse a JSON document; parse several documents as JSON lines."""
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
    keys = [key for key, _ in pairs]
    if len({*keys}) < len(keys):
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return dict(pairs)


def _json_lines(data: bytes, name: str) -> pl.DataFrame:
    for number, line in enumerate(data.splitlines(), start=1):
        opened = line.count(b"[") + line.count(b"{")
        if opened > _DEEPEST and _depth(line) > _DEEPEST:  # Polars would exhaust the stack
            text = line.decode(errors="replace")
            raise malformed_line_error("nested too deeply", name, number, text)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except POLARS_FAILURES as error:
        _check_lines_of_json(data, name)
        raise FileError(
            "the lines do not have the same fields and types",
            where=name,
            found=str(error).splitlines()[0],
        ) from error

    keys = [json.dumps(column, ensure_ascii=False).encode() for column in frame.columns]
    if any(data.count(key) > len(frame) for key in keys):
        _check_keys_once(data, name)  # Polars keeps only the first value
    return frame


def _check_lines_of_json(data: bytes, name: str) -> None:
    """Raise if a line is not JSON."""
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            json.loads(line or b"null", parse_constant=_no_number)
        except (ValueError, RecursionError):
            text = line.decode(errors="replace")
            raise malformed_line_error("not JSON", name, number, text) from None


def _check_keys_once(data: bytes, name: str) -> None:
    """Raise if a line has a key twice."""
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            json.loads(line or b"null", object_pairs_hook=_each_once)
        except _RepeatedKeyError as error:
            text = line.decode(errors="replace")
            problem = f"duplicate key {error.args[0]!r}"
            raise malformed_line_error(problem, name, number, text) from error


def _no_number(text: str) -> None:
    """Refuse NaN and infinity, which Python writes and JSON does not know."""
    raise ValueError(f"{text} is not a JSON number")


def _depth(line: bytes) -> int:
    """Return how deeply lists and objects are nested in a line of JSON."""
    bare = np.frombuffer(re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line), dtype=np.uint8)
    opened = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    return int(np.cumsum(opened).max(initial=0))


_Frame = TypeVar("_Frame", pl.DataFrame, pl.LazyFrame)
_SUFFIXES = (".parquet", ".pq")
_SPLIT = {"train", "validation", "valid", "val", "test"}
_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_table_folder(path: str | Path) -> bool:
    """Return whether a folder holds Parquet files, and is neither a split nor a saved result."""
    if not is_folder(path) or _other_content(Path(path)):
        return False
    content = [entry for entry in _shown(Path(path)) if entry.is_file() or "=" in entry.name]
    return any("=" in entry.name if entry.is_dir() else is_parquet(entry) for entry in content)


def is_list_of_paths(source: Any, role: TableRole) -> bool:
    """Return whether a source is a list of paths of files; text for items is their ids."""
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(path, str | Path) for path in source):
        return False
    if any(isinstance(path, Path) for path in source) or all(
        path.endswith(_SUFFIXES) for path in source
    ):
        return True
    return role != "items" and all(file_state(Path(path)) for path in source)


def read_study_table(
    source: Any, name: str, *, labels: Collection[str] = ()
) -> tuple[pl.DataFrame, str]:
    """Return a table with columns of its own, such as past launches, and what it is called.

    Of a file, text is numbers where all values of a column are, unless it is one of ``labels``.
    """
    if not isinstance(source, str | Path):
        return from_arrow(source, name), name
    raw = read_file(check_path(name, source))
    columns = [column for column in raw.frame.columns if column not in labels]
    return parse_numbers(raw.frame, columns), raw.name


def read_parts(
    source: str | Path | Sequence[str | Path],
    *,
    projection: Projection | None = None,
    progress: bool | None = None,
) -> RawFile:
    """Read the Parquet files of a folder, or of a list of paths, as one table.

    They are read in the order of their paths, so that neither rows nor hash depend on the order
    in which they are listed. Folders named ``key=value`` are columns.

    Raises
    ------
    FileError
        If there are no such files, or they are not all Parquet.
    ColumnError
        If they do not have the same columns.
    """
    name, files, folders = _named_files(source)
    keys = _keys(folders)
    raws: list[RawFile] = []
    for row, file in enumerate(files):
        raw = _read_part(file, keys[row : row + 1], projection, progress)
        if raws:
            _check_same_columns(raws[0], raw)
            raw = replace(raw, frame=raw.frame.select(raws[0].frame.columns))
        raws.append(raw)
    frame = pl.concat([raw.frame for raw in raws], rechunk=True)
    digest = _hash(folders, [raw.sha256 for raw in raws])
    return RawFile(
        frame, Format("parquet"), name, digest, names=raws[0].names, origin=origin_of(source)
    )


def scan_parts(
    source: str | Path | Sequence[str | Path], projection: Projection
) -> tuple[str, list[pl.LazyFrame], tuple[str, ...]]:
    """Scan the projected columns of files; return table name, scans and all column names.

    Files are as for `read_parts`, with the same errors.
    """
    name, files, folders = _named_files(source)
    keys = _keys(folders)
    scans: list[pl.LazyFrame] = []
    first: RawFile | None = None
    for row, file in enumerate(files):
        chosen, file_projection = _columns_of_file(keys, projection)
        scan, names = scan_parquet(file, file_projection)
        scan = _with_keys(scan, names, file, keys[row : row + 1], chosen)
        raw = RawFile(
            scan.head(0).collect(), Format("parquet"), str(file), names=(*names, *keys.columns)
        )
        first = first or raw
        _check_same_columns(first, raw)
        scans.append(scan.select(first.frame.columns))
    assert first is not None
    return name, scans, first.names


def origin_of(
    source: str | Path | Sequence[str | Path], layout: Format | Declared | None = None
) -> Origin:
    """Return where a file, a folder of Parquet files, or a list of them is read again.

    A list is read again from the folder of its files, if that has no others.
    """
    declared = layout.to_dict() if isinstance(layout, Declared) else {}
    if isinstance(source, str | Path):
        return Origin(os.path.abspath(source), declared)  # noqa: PTH100 - links stay as they are
    parents = [os.path.dirname(os.path.abspath(path)) for path in source]  # noqa: PTH100, PTH120
    return Origin(os.path.commonpath(parents), declared)


def table_hash(source: str | Path | Sequence[str | Path]) -> str:
    """Return the SHA-256 of a file, or of the Parquet files in a folder or list."""
    if isinstance(source, str | Path) and not is_table_folder(source):
        return file_hash(source)
    _, files, folders = _named_files(source)
    return _hash(folders, [file_hash(file) for file in files])


def source_hash(path: Path) -> str | None:
    """Return the SHA-256 of a table, or of all files of a split or saved result; None if none is there."""
    if path.is_file() or is_table_folder(path):
        return table_hash(path)
    if not path.is_dir():
        return None
    files = {file.relative_to(path): file for file in path.rglob("*") if file.is_file()}
    return json_hash(
        {
            name.as_posix(): file_hash(file)
            for name, file in files.items()
            if not any(map(_is_hidden, name.parts))
        }
    )


def folder_of_list(name: str) -> Path | None:
    """Return the folder of a list of files from the name of their table; None for other tables."""
    count, _, folder = name.partition(" files in ")
    return Path(folder) if count.isdecimal() and folder else None


def _hash(folders: Sequence[Mapping[str, str]], digests: Sequence[str]) -> str:
    """Return one hash of the files of a table and the values that their folders are named for."""
    return json_hash(
        [[dict(values), digest] for values, digest in zip(folders, digests, strict=True)]
    )


def _read_part(
    file: Path, keys: pl.DataFrame, projection: Projection | None, progress: bool | None
) -> RawFile:
    """Return one file with the values of its folders, a row of ``keys``, as columns."""
    chosen, file_projection = _columns_of_file(keys, projection)
    raw = read_file(file, projection=file_projection, progress=progress)
    frame = _with_keys(raw.frame, raw.names, file, keys, chosen)
    return replace(raw, frame=frame, names=(*raw.names, *keys.columns))


def _keys(folders: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    """Return the columns that folders are named for, with a row for each file."""
    return pl.DataFrame([_typed(key, [values[key] for values in folders]) for key in folders[0]])


def _columns_of_file(
    keys: pl.DataFrame, projection: Projection | None
) -> tuple[set[str], Projection]:
    """Return the folder keys kept as columns (once the file is read), and the file's projection."""
    chosen: set[str] = set(keys.columns)

    def file_projection(schema: Mapping[str, Any]) -> Collection[str]:
        if projection is None:
            return schema
        every = {*projection({**schema, **keys.schema})}
        chosen.intersection_update(every)
        return every.intersection(schema) or [*schema][:1]  # a table without columns has no rows

    return chosen, file_projection


def _with_keys(
    frame: _Frame, names: Sequence[str], file: Path, keys: pl.DataFrame, chosen: set[str]
) -> _Frame:
    """Return a file with the chosen values of its folders, a row of ``keys``, as columns."""
    both = [key for key in keys.columns if key in names]
    if both:
        raise ColumnError(
            "a column is in this file and in the name of its folder",
            where=str(file),
            found=f"{both[0]!r} and a folder {both[0]}=…",
            hint="rename one of them",
        )
    values = [
        pl.lit(keys[key][0], keys.schema[key]).alias(key) for key in keys.columns if key in chosen
    ]
    return frame.with_columns(values)


def _named_files(
    source: str | Path | Sequence[str | Path],
) -> tuple[str, list[Path], list[dict[str, str]]]:
    """Return the name of a table, its files in order, and the values of the folders of each."""
    if isinstance(source, str | Path):
        name, root = str(source), Path(source)
        other = _other_content(root)
        if other:
            raise FileError(
                f"this folder holds {other}, not one table",
                where=name,
                hint="pass one of its files",
            )
        files = _files_in(root)
        folders = [_values(file.relative_to(root).parts[:-1]) for file in files]
    else:
        files = sorted(map(Path, source))
        name = (
            f"{len(files)} files in "
            f"{os.path.commonpath([file.absolute().parent for file in files])}"
        )
        folders = [_values(file.parts[:-1]) for file in files]
        twice = [str(file) for file, following in pairwise(files) if file == following]
        if twice:
            raise FileError("a file is listed twice", where=name, found=twice[0])
    _check_parquet(name, files)
    for file, values in zip(files, folders, strict=True):
        if values.keys() != folders[0].keys():
            raise FileError(
                "the folders of these files are not named for the same columns",
                where=name,
                found=f"{', '.join(folders[0]) or 'none'} for {files[0]}; "
                f"{', '.join(values) or 'none'} for {file}",
            )
    return name, files, folders


def _check_parquet(name: str, files: Sequence[Path]) -> None:
    if not files:
        raise FileError("there are no files in this folder", where=name)
    for file in files:
        if file_state(file) is None:
            raise FileError("there is no such file", where=str(file))
    foreign = [file for file in files if not is_parquet(file)]
    if foreign:
        mixed = len(foreign) < len(files)
        raise FileError(
            "the files of one table are of several formats"
            if mixed
            else "only Parquet is read from several files",
            where=name,
            found=str(foreign[0]),
            hint="pass a list of the Parquet files alone"
            if mixed
            else "read them into one table and pass that, such as polars.read_csv('FOLDER/*.csv')",
        )


def _is_hidden(name: str) -> bool:
    """Return whether Spark and the like hide a file: _SUCCESS, .part.crc."""
    return name.startswith(("_", "."))


def _shown(folder: Path) -> list[Path]:
    """List a folder in order, without its hidden files."""
    try:
        return sorted(path for path in folder.iterdir() if not _is_hidden(path.name))
    except OSError as error:
        raise FileError(
            "this folder cannot be read", where=str(folder), found=error.strerror
        ) from error


def _files_in(folder: Path) -> list[Path]:
    """List the files of a table in a folder and its nested ``key=value`` folders."""
    files: list[Path] = []
    for path in _shown(folder):
        if path.is_dir() and "=" not in path.name:
            raise FileError(
                "a folder within that of a table is not named key=value",
                where=str(folder),
                found=path.name,
                hint="pass a list of the files, or the innermost folder",
            )
        files += _files_in(path) if path.is_dir() else [path]
    return files


def _other_content(folder: Path) -> str | None:
    """Describe the content of a folder that is not one table; return None for files of a table."""
    if (folder / "result.json").exists():
        return "a saved result"
    if (folder / "_delta_log").exists():
        return "a Delta table, some of whose files may be deleted rows"
    inner = _shown(folder)
    is_split = (folder / CARD_FILE).exists() or any(
        path.name.isdecimal() and path.is_dir() for path in inner
    )
    named = any(path.name.split(".")[0] in _SPLIT and path.is_file() for path in inner)
    return "a split" if is_split or named else None


def _values(folders: Sequence[str]) -> dict[str, str]:
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return {unquote(key): unquote(value) for key, value in pairs}


def _typed(key: str, texts: Sequence[str]) -> pl.Series:
    """Convert folder values to integers if all are written as integers, else to text."""
    values = pl.Series(key, [None if text == _NULL else text for text in texts], pl.String)
    are_integers = values.drop_nulls().str.contains(
        r"^(0|-?[1-9][0-9]{0,17})$"
    )  # which fit 64 bits
    return values.cast(pl.Int64) if len(are_integers) and are_integers.all() else values


def _check_same_columns(first: RawFile, raw: RawFile) -> None:
    """Raise if the columns of a file, or their types, differ from the columns of the first file."""
    differing = [*sorted({*raw.names} ^ {*first.names})]
    if differing:
        lacking = raw if differing[0] in first.names else first
        raise ColumnError(
            "the files of one table do not have the same columns",
            where=lacking.name,
            found=f"no column {differing[0]!r}",
        )
    for column, dtype in first.frame.schema.items():
        if raw.frame.schema.get(column) != dtype:
            raise ColumnError(
                "the files of one table have columns of different types",
                where=raw.name,
                found=f"{column!r} is {raw.frame.schema.get(column)}, and {dtype} in {first.name}",
            )
