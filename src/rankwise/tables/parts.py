"""Tables of several Parquet files: a folder as Spark or Hive writes it, and lists of paths."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import polars as pl

from rankwise.errors import ColumnError, FileError
from rankwise.tables.cards import CARD_FILE
from rankwise.tables.columns import TableRole
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.formats import Format
from rankwise.tables.on_disk import file_hash, file_state, is_folder, is_parquet, json_hash
from rankwise.tables.parquet import Wanted, scan_parquet

__all__ = ["folder_of_list", "is_list_of_paths", "is_table_folder", "read_parts", "scan_parts", "table_hash"]

_Frame = TypeVar("_Frame", pl.DataFrame, pl.LazyFrame)
_SUFFIXES = (".parquet", ".pq")
_SPLIT = {"train", "validation", "valid", "val", "test"}
_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_table_folder(path: str | Path) -> bool:
    """Return whether a folder holds Parquet files, and is neither a split nor a saved result."""
    if not is_folder(path) or _other_content(Path(path)):
        return False
    inner = [one for one in _shown(Path(path)) if one.is_file() or "=" in one.name]
    return any("=" in one.name if one.is_dir() else is_parquet(one) for one in inner)


def is_list_of_paths(source: Any, role: TableRole) -> bool:
    """Return whether a source is a list of paths of files; text for items is their ids."""
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(path, str | Path) for path in source):
        return False
    if any(isinstance(path, Path) for path in source) or all(path.endswith(_SUFFIXES) for path in source):
        return True
    return role != "items" and all(file_state(Path(path)) for path in source)


def read_parts(
    source: str | Path | Sequence[str | Path], *, wanted: Wanted | None = None, progress: bool | None = None
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
        raw = _read_part(file, keys[row : row + 1], wanted, progress)
        if raws:
            _check_same_columns(raws[0], raw)
            raw = replace(raw, frame=raw.frame.select(raws[0].frame.columns))
        raws.append(raw)
    frame = pl.concat([raw.frame for raw in raws], rechunk=True)
    digest = _hash(folders, [raw.sha256 for raw in raws])
    return RawFile(frame, Format("parquet"), name, digest, names=raws[0].names)


def scan_parts(
    source: str | Path | Sequence[str | Path], wanted: Wanted
) -> tuple[str, list[pl.LazyFrame], tuple[str, ...]]:
    """Return the name of a table, the columns of each file that are wanted, and the names of all columns.

    Files are as for `read_parts`, with the same errors.
    """
    name, files, folders = _named_files(source)
    keys = _keys(folders)
    scans: list[pl.LazyFrame] = []
    first: RawFile | None = None
    for row, file in enumerate(files):
        chosen, wanted_of_file = _columns_of_file(keys, wanted)
        scan, names = scan_parquet(file, wanted_of_file)
        scan = _with_keys(scan, names, file, keys[row : row + 1], chosen)
        raw = RawFile(scan.head(0).collect(), Format("parquet"), str(file), names=(*names, *keys.columns))
        first = first or raw
        _check_same_columns(first, raw)
        scans.append(scan.select(first.frame.columns))
    assert first is not None
    return name, scans, first.names


def table_hash(source: str | Path | Sequence[str | Path]) -> str:
    """Return the SHA-256 of a file, or of the Parquet files in a folder or list."""
    if isinstance(source, str | Path) and not is_table_folder(source):
        return file_hash(source)
    _, files, folders = _named_files(source)
    return _hash(folders, [file_hash(file) for file in files])


def folder_of_list(name: str) -> Path | None:
    """Return the folder that all files of a list are in, from the name of their table; None of other tables."""
    count, _, folder = name.partition(" files in ")
    return Path(folder) if count.isdecimal() and folder else None


def _hash(folders: Sequence[Mapping[str, str]], digests: Sequence[str]) -> str:
    """Return one hash of the files of a table and the values that their folders are named for."""
    return json_hash([[dict(values), digest] for values, digest in zip(folders, digests, strict=True)])


def _read_part(file: Path, keys: pl.DataFrame, wanted: Wanted | None, progress: bool | None) -> RawFile:
    """Return one file with the values of its folders, a row of ``keys``, as columns."""
    chosen, wanted_of_file = _columns_of_file(keys, wanted)
    raw = read_file(file, wanted=wanted_of_file, progress=progress)
    frame = _with_keys(raw.frame, raw.names, file, keys, chosen)
    return replace(raw, frame=frame, names=(*raw.names, *keys.columns))


def _keys(folders: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    """Return the columns that folders are named for, with a row for each file."""
    return pl.DataFrame([_typed(key, [values[key] for values in folders]) for key in folders[0]])


def _columns_of_file(keys: pl.DataFrame, wanted: Wanted | None) -> tuple[set[str], Wanted]:
    """Return the names of folders that are columns of the table, once the file is read; and what is read of it."""
    chosen: set[str] = set(keys.columns)

    def wanted_of_file(schema: Mapping[str, Any]) -> Collection[str]:
        if wanted is None:
            return schema
        every = {*wanted({**schema, **keys.schema})}
        chosen.intersection_update(every)
        return every.intersection(schema) or [*schema][:1]  # a table without columns has no rows

    return chosen, wanted_of_file


def _with_keys(frame: _Frame, names: Sequence[str], file: Path, keys: pl.DataFrame, chosen: set[str]) -> _Frame:
    """Return a file with the chosen values of its folders, a row of ``keys``, as columns."""
    both = [key for key in keys.columns if key in names]
    if both:
        raise ColumnError(
            "a column is in this file and in the name of its folder",
            where=str(file),
            found=f"{both[0]!r} and a folder {both[0]}=…",
            hint="rename one of them",
        )
    values = [pl.lit(keys[key][0], keys.schema[key]).alias(key) for key in keys.columns if key in chosen]
    return frame.with_columns(values)


def _named_files(source: str | Path | Sequence[str | Path]) -> tuple[str, list[Path], list[dict[str, str]]]:
    """Return the name of a table, its files in order, and the values of the folders of each."""
    if isinstance(source, str | Path):
        name, root = str(source), Path(source)
        other = _other_content(root)
        if other:
            raise FileError(f"this folder holds {other}, not one table", where=name, hint="pass one of its files")
        files = _files_in(root)
        folders = [_values(file.relative_to(root).parts[:-1]) for file in files]
    else:
        files = sorted(map(Path, source))
        name = f"{len(files)} files in {os.path.commonpath([file.absolute().parent for file in files])}"
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
                found=f"{', '.join(folders[0]) or 'none'} for {files[0]}; {', '.join(values) or 'none'} for {file}",
            )
    return name, files, folders


def _check_parquet(name: str, files: Sequence[Path]) -> None:
    if not files:
        raise FileError("there are no files in this folder", where=name)
    for file in files:
        if file_state(file) is None:
            raise FileError("there is no such file", where=str(file))
    others = [file for file in files if not is_parquet(file)]
    if others:
        mixed = len(others) < len(files)
        raise FileError(
            "the files of one table are of several formats" if mixed else "only Parquet is read from several files",
            where=name,
            found=str(others[0]),
            hint="pass a list of the Parquet files alone"
            if mixed
            else "read them into one table and pass that, such as polars.read_csv('FOLDER/*.csv')",
        )


def _shown(folder: Path) -> list[Path]:
    """Return what is in a folder, in order, without what Spark and others hide: _SUCCESS, .part.crc."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
    except OSError as error:
        raise FileError("this folder cannot be read", where=str(folder), found=error.strerror) from error


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a table in a folder and in folders named ``key=value`` within it."""
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
    """Return what a folder holds if it is not the files of one table."""
    if (folder / "result.json").exists():
        return "a saved result"
    if (folder / "_delta_log").exists():
        return "a Delta table, some of whose files may be deleted rows"
    inner = _shown(folder)
    is_split = (folder / CARD_FILE).exists() or any(path.name.isdecimal() and path.is_dir() for path in inner)
    named = any(path.name.split(".")[0] in _SPLIT and path.is_file() for path in inner)
    return "a split" if is_split or named else None


def _values(folders: Sequence[str]) -> dict[str, str]:
    """Return the columns and values that folders are named for."""
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return {unquote(key): unquote(value) for key, value in pairs}


def _typed(key: str, texts: Sequence[str]) -> pl.Series:
    """Return the values of folders: whole numbers if all are written as such, else text."""
    values = [None if text == _NULL else text for text in texts]
    numbers = [
        int(text) if text.removeprefix("-").isdecimal() and len(text) < 19 else None
        for text in values
        if text is not None
    ]
    if numbers and [str(number) for number in numbers] == [text for text in values if text is not None]:
        return pl.Series(key, [None if text is None else int(text) for text in values], pl.Int64)
    return pl.Series(key, values, pl.String)


def _check_same_columns(first: RawFile, raw: RawFile) -> None:
    """Raise if a file does not have the columns of the first, or those that are read of another type."""
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
