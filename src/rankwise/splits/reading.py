"""Splits from folders of files: ours, RecBole's, Elliot's, WarpRec's, plain CSV and Parquet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.errors import FileError
from rankwise.io.align import align
from rankwise.io.cards import CARD_FILE, read_card
from rankwise.io.columns import ROLES, plain_name
from rankwise.io.files import file_hash, read_file
from rankwise.io.formats import Format
from rankwise.io.tables import Table, read_table
from rankwise.splits.rows import Mask, Rows
from rankwise.splits.split import Folds, Split

if TYPE_CHECKING:
    from rankwise.io.columns import Columns
    from rankwise.splits.times import TimeUnit

__all__ = ["read"]

_NAMES = {"train": "train", "validation": "validation", "valid": "validation", "val": "validation",
          "dev": "validation", "test": "test"}  # fmt: skip
_FILE = re.compile(
    r"^(?:.+\.)?(?P<part>[A-Za-z_]+)\.(parquet|pq|csv|tsv|inter|jsonl|ndjson|dat|txt)(\.gz)?$"
)


def read(
    folder: str | Path, *, columns: Columns | None = None, time_unit: TimeUnit | None = None
) -> Split | Folds:
    """Read a split that lies in files: one for training, one for test, perhaps validation.

    Parameters
    ----------
    folder : str or Path
        What `Split.save` wrote; RecBole's ``name.train.inter``, ``name.valid.inter`` and
        ``name.test.inter``; WarpRec's and Elliot's ``train.tsv``, ``validation.tsv`` or
        ``val.tsv``, and ``test.tsv``, with a header or, as user, item, rating and timestamp,
        without one; the same names as CSV, Parquet or JSON lines. Folders 0, 1, 2, … inside it
        are folds, and a file that stands above them is part of each.
    columns : mapping of str to str or None, optional
        Which column has which role, where the names do not say so.
    time_unit : {"s", "ms", "us", "ns"}, optional
        As for `Splitter.split`.

    Returns
    -------
    Split or Folds
        With the card that was saved beside the files, if there is one.

    Raises
    ------
    FileError
        If there is no training or test file, a file is not what the card says, or one cannot be
        read.

    Examples
    --------
    >>> import tempfile
    >>> from rankwise.splits import LeaveOut, read
    >>> split = LeaveOut(1, which="random").split({1: ["a", "b"], 2: ["a", "c"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read(split.save(folder + "/split", format="recbole"))
    >>> again.test.equals(split.test) or len(again.test)
    2
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileError("there is no such folder", where=str(path))
    found = _find_parts(path)
    if len(found) == 1:
        return _read_one(found[0], columns, time_unit)
    return Folds(len(found), partial(_read_fold, found, columns, time_unit))


@dataclass(frozen=True)
class _Found:
    """The files of one split: the folder that has the last of them, part to file, and the card."""

    folder: Path
    files: dict[str, Path]
    card: dict[str, Any] | None = None


def _find_parts(folder: Path, above: dict[str, Path] | None = None) -> list[_Found]:
    """Return the files of each fold."""
    card = read_card(folder)
    if card is not None:
        return [_Found(folder, {**(above or {}), **_parts_of(folder, card)}, card)]
    own = {**(above or {}), **_parts_in(folder)}
    inner = sorted((each for each in folder.iterdir() if each.name.isdigit() and each.is_dir()),
                   key=lambda each: int(each.name))  # fmt: skip
    if inner:
        return [found for each in inner for found in _find_parts(each, own)]
    missing = [part for part in ("train", "test") if part not in own]
    if missing:
        raise FileError(
            f"there is no file of the {' and the '.join(missing)} part",
            where=str(folder),
            found=", ".join(sorted(each.name for each in folder.iterdir())) or "an empty folder",
            hint="parts are called train, validation (valid, val) and test, with a suffix such as "
            ".parquet, .csv, .tsv or .inter",
        )
    return [_Found(folder, own)]


def _parts_of(folder: Path, card: dict[str, Any]) -> dict[str, Path]:
    """Return the files that a card speaks of, which may be of parts with names of their own."""
    for name, digest in card["files"].items():
        path = folder / name
        if not path.is_file() or file_hash(path) != digest:
            raise FileError(
                "a file of this split is not the one that its card speaks of",
                where=str(path),
                found="another SHA-256" if path.is_file() else "no such file",
                hint=f"split again, or delete {CARD_FILE} if the files are as they should be",
            )
    return {_part(Path(name).name) or "": folder / name for name in card["files"]}


def _parts_in(folder: Path) -> dict[str, Path]:
    out: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        part = _NAMES.get(_part(file.name) or "")
        if part is None or not file.is_file():
            continue
        if part in out:
            raise FileError(
                f"two files could be the {part} part", where=str(folder),
                found=f"{out[part].name}, {file.name}",
            )  # fmt: skip
        out[part] = file
    return out


def _part(name: str) -> str | None:
    found = _FILE.match(name)
    return None if found is None else _NAMES.get(found["part"], found["part"])


def _read_fold(
    found: list[_Found], columns: Columns | None, unit: TimeUnit | None, at: int
) -> Split:
    return _read_one(found[at], columns, unit)


def _read_one(found: _Found, columns: Columns | None, unit: TimeUnit | None) -> Split:
    folder, files, card = found.folder, found.files, found.card
    parts = [_read_part(file, columns or _as_saved(file, card)) for file in files.values()]
    for role in ("user", "item"):
        parts = align(parts, role)
    schema = {name: dtype for part in parts for name, dtype in part.frame.schema.items()}
    common = [name for name in schema if all(name in part.frame.columns for part in parts)]
    roles = [name for name in schema if name in ROLES["interactions"] and name not in common]
    if roles:
        raise FileError(
            f"not every part has a {roles[0]}", where=str(folder),
            found="; ".join(f"{f.name}: {', '.join(p.frame.columns)}"
                            for f, p in zip(files.values(), parts, strict=True)),
        )  # fmt: skip
    _check_clocks(folder, files, parts)
    try:
        frame = pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise FileError(
            "a column holds other things in one part than in another",
            where=str(folder),
            found=str(error).splitlines()[0],
        ) from error
    table = Table(frame, "interactions", str(folder), parts[0].form, parts[0].columns)
    if unit is None and card is not None and "time" in card:
        unit = card["time"]["unit"]
    rows = Rows(table, unit)
    rule = {"rule": "read", "files": [str(file.name) for file in files.values()]}
    masks = _masks(files, parts)
    if card is not None:
        empty = [name for name in card["parts"] if name not in masks]
        masks |= {name: np.zeros(len(frame), dtype=bool) for name in empty}
        masks = {name: masks[name] for name in card["parts"]}
    split = Split(
        table, rows, masks,
        rule if card is None else card["rule"], {} if card is None else card["found"],
    )  # fmt: skip
    if card is not None:
        split.__dict__["card"] = {name: value for name, value in card.items() if name != "files"}
    return split


def _check_clocks(folder: Path, files: dict[str, Path], parts: list[Table]) -> None:
    """Raise if some parts have dates, and others numbers or text."""
    kinds = {}
    for name, part in zip(files, parts, strict=True):
        if "timestamp" in part.frame.columns:
            kind = part.frame.schema["timestamp"]
            word = "numbers" if kind.is_numeric() else str(kind).lower()
            kinds[name] = "dates" if kind.is_temporal() else word
    if len(set(kinds.values())) > 1:
        raise FileError(
            "the parts measure time in different ways",
            where=str(folder),
            found="; ".join(f"{name}: {kind}" for name, kind in kinds.items()),
            hint="give all parts timestamps of one kind",
        )


def _masks(files: dict[str, Path], parts: list[Table]) -> dict[str, Mask]:
    owner = np.repeat(np.arange(len(parts)), [len(part.frame) for part in parts])
    return {name: owner == at for at, name in enumerate(files)}


def _as_saved(file: Path, card: dict[str, Any] | None) -> Columns | None:
    """Return the columns that a card names, where its files are called as the table was."""
    if card is None or file.suffix not in (".parquet", ".csv"):
        return None
    columns: Columns = card["input"]["columns"]
    return columns


def _read_part(file: Path, columns: Columns | None) -> Table:
    return read_table(read_file(file, _without_header(file)), "interactions", columns)


def _without_header(file: Path) -> Format | None:
    """Return the layout of a file of tabs whose first line names no user and item: Elliot's."""
    if file.suffix != ".tsv":
        return None
    with file.open("rb") as stream:
        line = stream.readline().decode("utf-8-sig", errors="replace").rstrip("\r\n")
    fields = line.split("\t")
    roles = ROLES["interactions"]
    named = {role for role in ("user", "item") for f in fields if plain_name(f) in roles[role]}
    if len(named) == 2 or not 2 <= len(fields) <= 4:
        return None
    return Format("csv", "\t", ("user", "item", "rating", "timestamp")[: len(fields)])
