"""Splits from files of rankwise and other libraries, and splitting rules from plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from rankwise.core.arguments import TimeUnit
from rankwise.core.hashing import json_hash
from rankwise.errors import FileError, ParameterError, nearest
from rankwise.splits.holdout import (
    Holdout,
    ItemHoldout,
    KFold,
    LeaveOut,
    LeavePOut,
    StratifiedKFold,
    UserHoldout,
    UserKFold,
)
from rankwise.splits.interactions import Mask, Rows
from rankwise.splits.split import Folds, Split
from rankwise.splits.splitter import Deduplicate, Filter, KCore, MinRating, MinRows, Splitter
from rankwise.splits.temporal import GlobalTime, SuccessiveTargets, TimeWindows, TwoStage
from rankwise.tables.columns import ROLES, Columns, check_columns, plain_name
from rankwise.tables.dates import COMPACT, read_compact
from rankwise.tables.files import is_table_folder, origin_of, read_file
from rankwise.tables.formats import Format
from rankwise.tables.ids import align
from rankwise.tables.read import read_table
from rankwise.tables.storage import file_hash, is_folder
from rankwise.tables.table import CARD_FILE, Origin, Table, is_deep, read_card

_EXAMPLE = 'write {"rule": "LeaveOut", "n": 1, "filters": [{"filter": "KCore", "k": 5}]}'

RULES: dict[str, type[Splitter]] = {
    rule.__name__: rule
    for rule in (
        GlobalTime,
        Holdout,
        ItemHoldout,
        KFold,
        LeaveOut,
        LeavePOut,
        StratifiedKFold,
        SuccessiveTargets,
        TimeWindows,
        TwoStage,
        UserHoldout,
        UserKFold,
    )
}
FILTERS: dict[str, type[Filter]] = {
    rule.__name__: rule for rule in (Deduplicate, KCore, MinRating, MinRows)
}


def from_dict(rule: Mapping[str, Any]) -> Splitter:
    """Return a splitting rule from plain values: the inverse of `Splitter.to_dict`.

    Parameters
    ----------
    rule : mapping
        The name of the rule under ``"rule"``, and its parameters; the ``"rule"`` of a card.

    Returns
    -------
    Splitter

    Raises
    ------
    ParameterError
        If there is no such rule or parameter.

    Examples
    --------
    >>> from_dict({"rule": "GlobalTime", "share": 0.2, "validation": {"rule": "LeaveOut"}}).share
    0.2
    >>> from_dict(KFold(3).to_dict()) == KFold(3)
    True
    """
    if not isinstance(rule, Mapping):
        raise ParameterError("a rule is written as a mapping", found=repr(rule), hint=_EXAMPLE)
    if is_deep(rule):
        raise ParameterError(
            "a rule is nested too deeply",
            hint="a rule may hold one for validation, and that one for fold_in",
        )
    values = dict(rule)
    for name in ("validation", "fold_in"):
        if isinstance(values.get(name), dict):
            values[name] = from_dict(values[name])
    if "filters" in values:
        filters = values["filters"]
        if not isinstance(filters, list | tuple):
            raise ParameterError("filters is a list", found=repr(filters), hint=_EXAMPLE)
        values["filters"] = [_construct(FILTERS, "filter", value) for value in filters]
    return cast("Splitter", _construct(RULES, "rule", values))


def _construct(classes: Mapping[str, type[Any]], key: str, values: Mapping[str, Any]) -> Any:
    """Construct the class named by ``values[key]`` from the remaining values."""
    if not isinstance(values, Mapping):
        raise ParameterError(f"a {key} is written as a mapping", found=repr(values), hint=_EXAMPLE)
    parameters = dict(values)
    name = parameters.pop(key, None)
    if not isinstance(name, str) or name not in classes:
        raise ParameterError(
            f"there is no {key} {name!r}",
            found=", ".join(sorted(classes)),
            hint=nearest(str(name), classes),
        )
    try:
        return classes[name](**parameters)
    except TypeError as error:  # a required parameter is missing, or one has the wrong type
        raise ParameterError(
            f"{name} cannot be made of this", found=f"{values}: {error}"
        ) from error


_NAMES = dict.fromkeys(("validation", "valid", "val", "dev"), "validation") | {
    "train": "train",
    "test": "test",
}
_HEADER = 1 << 16  # bytes of the first line: a file without lines is not read as a whole
_INNERMOST = 2  # levels of folders of folds, as Elliot has them: a link may make a circle
_FILE = re.compile(
    r"^(?:.+\.)?(?P<part>[A-Za-z_]+)\.(parquet|pq|csv|tsv|inter|jsonl|ndjson|dat|txt)(\.gz)?$"
)


def read(
    folder: str | Path,
    *,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
    time_format: str | None = None,
) -> Split | Folds:
    """Read a split from files: one for training, one for test, optionally one for validation.

    Parameters
    ----------
    folder : str or Path
        A folder that `Split.save` wrote, or one with files of these names: RecBole's
        ``name.train.inter``, ``name.valid.inter`` and ``name.test.inter``; WarpRec's and Elliot's
        ``train.tsv``, ``validation.tsv`` or ``val.tsv``, and ``test.tsv``, with a header, or
        without one and with columns user, item, rating and timestamp; the same names as CSV,
        Parquet or JSON lines. Subfolders 0, 1, 2, … are folds; a file beside them is part of every
        fold.
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised.
    time_unit : {"s", "ms", "us", "ns"}, optional
        As for `Splitter.split`.
    time_format : str, optional
        As for `Splitter.split`.

    Returns
    -------
    Split or Folds
        With the card that was saved beside the files, if there is one.

    Raises
    ------
    FileError
        If there is no training or test file, a file differs from what the card says, or one cannot
        be read.

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
    check_columns(columns, ["interactions"])
    path = Path(folder)
    try:
        if not path.is_dir():
            raise FileError("there is no such folder", where=str(path))
        folds = _find_files(path)
    except OSError as error:
        raise FileError(
            "this folder cannot be read", where=str(error.filename or path), found=error.strerror
        ) from error
    root = path if len(folds) == 1 else None
    read_fold = partial(_read_fold, folds, columns, time_unit, time_format, root)
    return read_fold(0) if len(folds) == 1 else Folds(len(folds), read_fold)


def split_hash(folder: str | Path) -> str:
    """Return one hash of the files of all parts of the split in a folder.

    Raises
    ------
    FileError
        If there is no single split, or a file of it differs from what its card says.
    """
    path = Path(folder)
    folds = _find_files(path)
    if len(folds) > 1:
        raise FileError("this folder holds several folds", where=str(path))
    return _hash_of_files(path, {file: file_hash(file) for file in folds[0].files.values()})


def _hash_of_files(folder: Path, digests: Mapping[Path, str]) -> str:
    """Return one hash of the files of a split: their paths in its folder, and their content."""
    return json_hash({file.relative_to(folder).as_posix(): each for file, each in digests.items()})


def truth_and_train(truth: Any, train: Any, columns: Columns | None = None) -> tuple[Any, Any]:
    """Return ground truth and training interactions; a split passed as truth gives both.

    Either may be the folder of a split, or its card. ``columns`` are those of the evaluation; in a
    split they may name the relevance.
    """
    truth, train = _of_folder(truth), _of_folder(train)
    if isinstance(truth, Split):
        train = truth.as_table("train") if train is None else train
        truth = truth.as_table("truth", columns)
    return truth, train.as_table("train") if isinstance(train, Split) else train


def _of_folder(source: Any) -> Any:
    """Return the split in a folder, or the source unchanged; raise for several folds."""
    if is_card_file(source):
        source = Path(source).parent
    if isinstance(source, str | Path) and is_folder(source) and not is_table_folder(source):
        source = read(source)
    if isinstance(source, Folds):
        raise ParameterError(
            "several folds are evaluated one after the other",
            found=repr(source),
            hint="evaluate each: for split in folds: …; the folder DIR/0 is the first fold",
        )
    return source


def is_card_file(source: object) -> bool:
    """Return whether a source is the path of the card of a split."""
    return isinstance(source, str | Path) and Path(source).name == CARD_FILE


class _SplitFiles(NamedTuple):
    """The file of each part of one split, the innermost folder that holds one, and the card."""

    folder: Path
    files: dict[str, Path]
    card: dict[str, Any] | None = None


def _find_files(
    folder: Path, outer: dict[str, Path] | None = None, level: int = 0
) -> list[_SplitFiles]:
    """Return the files of each fold; files of outer folders belong to every fold."""
    card = read_card(folder)
    if card is not None:
        return [_SplitFiles(folder, {**(outer or {}), **_files_of_card(folder, card)}, card)]
    files = {**(outer or {}), **_files_by_name(folder)}
    inner = folder.iterdir() if level < _INNERMOST else ()
    folds = sorted(
        (path for path in inner if path.name.isdecimal() and path.is_dir()),
        key=lambda path: int(path.name),
    )
    if folds:
        return [split for fold in folds for split in _find_files(fold, files, level + 1)]
    missing = [part for part in ("train", "test") if part not in files]
    if missing:
        raise FileError(
            f"there is no file of the {' and the '.join(missing)} part",
            where=str(folder),
            found=", ".join(sorted(path.name for path in folder.iterdir())) or "an empty folder",
            hint="parts are called train, validation (valid, val) and test, with a suffix such as "
            ".parquet, .csv, .tsv or .inter",
        )
    return [_SplitFiles(folder, files)]


def _files_of_card(folder: Path, card: dict[str, Any]) -> dict[str, Path]:
    """Return the files that a card lists, whose parts may have any name."""
    files: dict[str, Path] = {}
    for name, digest in card["files"].items():
        path = folder / name
        if not _is_inside(path, folder):
            raise FileError(
                "the card of this split names a file outside its folder",
                where=str(folder / CARD_FILE),
                found=repr(name)[:80],
            )
        if not path.is_file() or file_hash(path) != digest:
            raise FileError(
                "a file of this split differs from its card",
                where=str(path),
                found="another SHA-256" if path.is_file() else "no such file",
                hint=f"split again, or delete {CARD_FILE} if the files are as they should be",
            )
        files[_part_of(path.name) or path.name] = path
    filled = {part for part, about in card["parts"].items() if about["rows"]}
    if len(files) < len(card["files"]) or not filled <= files.keys() <= card["parts"].keys():
        raise FileError(
            "the card of this split names other files than those of its parts",
            where=str(folder / CARD_FILE),
            found=f"files: {', '.join(card['files'])}; parts: {', '.join(filled)}",
        )
    return files


def _is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path leads into a folder, links followed; nothing is opened."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # too long, not a name, or a circle of links
        return False


def _files_by_name(folder: Path) -> dict[str, Path]:
    """Return the files named as the training, validation and test parts."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        part = _NAMES.get(_part_of(path.name) or "")
        if part is None or not path.is_file():
            continue
        if part in files:
            raise FileError(
                f"two files could be the {part} part",
                where=str(folder),
                found=f"{files[part].name}, {path.name}",
            )
        files[part] = path
    return files


def _part_of(file_name: str) -> str | None:
    match = _FILE.match(file_name)
    return None if match is None else _NAMES.get(match["part"], match["part"])


def _read_fold(
    folds: list[_SplitFiles],
    columns: Columns | None,
    unit: TimeUnit | None,
    time_format: str | None,
    root: Path | None,
    fold: int,
) -> Split:
    """Read the parts of a fold, and join them to the split that they are of."""
    folder, files, card = folds[fold]
    parts = [_read_part(path, columns, card) for path in files.values()]
    origin, digest = _origin_of(root or folder, files, parts)
    for role in ("user", "item"):
        parts = align(parts, role)
    _check_roles(folder, files, parts)
    _check_time_types(folder, files, parts)

    table = Table(
        _concat_frames(folder, parts),
        "interactions",
        str(folder),
        parts[0].format,
        parts[0].columns,
        is_text=all(part.is_text for part in parts),
        sha256=digest,
        origin=origin,
    )
    if unit is None and time_format is None and card is not None and "time" in card:
        unit, time_format = _saved_clock(card["time"], table)
    rows = Rows(table, unit, time_format)

    part_of_row = np.repeat(np.arange(len(parts)), [len(part.frame) for part in parts])
    masks: dict[str, Mask] = {name: part_of_row == n for n, name in enumerate(files)}
    if card is None:
        rule = {"rule": "read", "files": [path.name for path in files.values()]}
        return Split(table, rows, masks, rule)
    empty = np.zeros(len(part_of_row), dtype=bool)
    masks = {name: masks.get(name, empty) for name in card["parts"]}
    split = Split(table, rows, masks, card["rule"], card["found"])
    split.__dict__["card"] = {name: value for name, value in card.items() if name != "files"}
    return split


def _read_part(path: Path, columns: Columns | None, card: dict[str, Any] | None) -> Table:
    """Read the file of a part, by the columns that its card names unless others are passed."""
    file = read_file(path, _without_header(path))
    return read_table(file, "interactions", columns or _saved_columns(path, card))


def _check_roles(folder: Path, files: Mapping[str, Path], parts: list[Table]) -> None:
    """Raise if a column with a role is missing in some parts."""
    present = [part.frame.columns for part in parts]
    names = dict.fromkeys(name for columns in present for name in columns)
    incomplete = [name for name in names if not all(name in columns for columns in present)]
    roles = [name for name in incomplete if name in ROLES["interactions"]]
    if roles:
        raise FileError(
            f"not every part has a {roles[0]}",
            where=str(folder),
            found="; ".join(
                f"{path.name}: {', '.join(columns)}"
                for path, columns in zip(files.values(), present, strict=True)
            ),
        )


def _concat_frames(folder: Path, parts: list[Table]) -> pl.DataFrame:
    """Join the rows of all parts; raise if a column has types that do not go together."""
    try:
        return pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise FileError(
            "a column has different types in different parts",
            where=str(folder),
            found=str(error).splitlines()[0],
        ) from error


def _origin_of(
    folder: Path, files: Mapping[str, Path], parts: list[Table]
) -> tuple[Origin | None, str | None]:
    """Return where a split is read again, and its hash; nothing if a file lies elsewhere."""
    digests = {path: str(part.sha256) for path, part in zip(files.values(), parts, strict=True)}
    if not all(path.is_relative_to(folder) for path in digests):
        return None, None  # a fold that shares a file with others
    return replace(origin_of(folder), is_split=True), _hash_of_files(folder, digests)


def given_clock(card: Mapping[str, Any]) -> tuple[TimeUnit | None, str | None]:
    """Return the unit of timestamps, or the format of dates, that a card's split was given.

    What was not given is recognised again.

    >>> given_clock({"time": {"unit": "ms", "unit_known_as": "given"}})
    ('ms', None)
    """
    time = card.get("time") or {}
    if time.get("unit_known_as") == "given":
        return time["unit"], None
    return None, time.get("format")


def _saved_clock(time: dict[str, Any], table: Table) -> tuple[TimeUnit | None, str | None]:
    """Return the unit of timestamps, or the format of dates, as recorded by a card.

    Formats of other libraries hold dates as numbers of seconds.
    """
    was_date, unit = str(time["unit_known_as"]).startswith("dates"), time["unit"]
    dtype = table.frame.schema.get("timestamp")
    if not was_date or dtype is None or dtype.is_temporal():
        return unit, None
    time_format = time.get("format")
    is_whole = (
        time_format == COMPACT
        and dtype.is_integer()
        and read_compact(table.frame["timestamp"]) is not None
    )
    return (None, time_format) if dtype == pl.String or is_whole else ("s", None)


def _check_time_types(folder: Path, files: dict[str, Path], parts: list[Table]) -> None:
    """Raise if timestamps have different kinds in different parts: dates, numbers or text."""
    types = {}
    for name, part in zip(files, parts, strict=True):
        if "timestamp" in part.frame.columns:
            dtype = part.frame.schema["timestamp"]
            other = "numbers" if dtype.is_numeric() else str(dtype).lower()
            types[name] = "dates" if dtype.is_temporal() else other
    if len(set(types.values())) > 1:
        raise FileError(
            "the parts measure time in different ways",
            where=str(folder),
            found="; ".join(f"{name}: {type_}" for name, type_ in types.items()),
            hint="give all parts timestamps of one kind",
        )


def _saved_columns(path: Path, card: dict[str, Any] | None) -> Columns | None:
    """Return the columns that a card names, for formats that keep the names of the table."""
    if card is None or path.suffix not in (".parquet", ".csv"):
        return None
    return cast("Columns", card["input"]["columns"])


def _without_header(path: Path) -> Format | None:
    """Return Elliot's format for a TSV file whose first line does not name user and item."""
    if path.suffix != ".tsv":
        return None
    try:
        with path.open("rb") as stream:
            line = stream.readline(_HEADER).decode("utf-8-sig", errors="replace").rstrip("\r\n")
    except OSError:
        return None  # whoever reads the whole file says why it cannot be read
    fields = line.split("\t")
    roles = ROLES["interactions"]
    named = {role for role in ("user", "item") for f in fields if plain_name(f) in roles[role]}
    if len(named) == 2 or not 2 <= len(fields) <= 4:
        return None
    return Format("csv", "\t", ("user", "item", "rating", "timestamp")[: len(fields)])
