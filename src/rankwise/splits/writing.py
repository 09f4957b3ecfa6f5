"""Write splits to folders of files, in the formats of recommender libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rankwise.core.arguments import check_choice, check_path
from rankwise.errors import OutputError, ParameterError
from rankwise.splits.rows import Mask, Rows
from rankwise.splits.source import FileFormat, as_polars
from rankwise.tables.atomic_files import new_folder, write_text
from rankwise.tables.cards import CARD_FILE, card_text, read_json
from rankwise.tables.on_disk import file_hash

__all__ = ["Contents", "write"]

_PARTS = ("train", "validation", "test")
_RECBOLE = {"user": "user_id:token", "item": "item_id:token", "rating": "rating:float", "timestamp": "timestamp:float"}
_SHORT = {"recbole": "valid", "elliot": "val"}  # of validation
_WARPREC = {"user": "user_id", "item": "item_id"}


class Contents(NamedTuple):
    """What is written of a split: the table, its rows, the mask of each part, and the card."""

    source: Any
    rows: Rows
    masks: Mapping[str, Mask]
    card: dict[str, Any]


def write(
    splits: Iterable[Contents], folder: str | Path, form: FileFormat, *, folds: bool = False, overwrite: bool = False
) -> Path:
    """Write one split, or the splits of several folds, into a folder that is new or empty.

    With ``overwrite`` it may hold a split, which is removed when the new one is written.

    Raises
    ------
    OutputError
        If the folder holds other files already, or cannot be written.
    ParameterError
        If the format has no file for a part of the split.
    """
    check_choice("format", form, FileFormat)
    path = check_path("folder", folder)
    earlier = _earlier_split(path) if overwrite and path.is_dir() else []
    if path.exists() and (not path.is_dir() or (not earlier and any(path.iterdir()))):
        raise OutputError(
            "a split is written into a new or empty folder",
            where=str(path),
            hint="files of another split in it would be read as well; overwrite=True replaces a split",
        )
    if folds and form in ("recbole", "warprec"):
        raise ParameterError(f"{form} has no files for several folds", hint="write one fold after the other")
    with new_folder(path) as target:
        for number, split in enumerate(splits):
            inner = target / str(number) if folds or form == "elliot" else target
            _write_one(split, inner, path.name, form)
        for file in earlier:  # the new one is whole: it takes the place of the earlier one now
            file.rmdir() if file.is_dir() else file.unlink()
    return path


def _earlier_split(path: Path) -> list[Path]:
    """Return the files and folders of a split in a folder, innermost first.

    Raises
    ------
    OutputError
        If the folder holds anything else, which would be lost.
    """
    files: set[Path] = set()
    for file in [*path.glob(CARD_FILE), *path.glob(f"*/{CARD_FILE}")]:
        card = read_json(file)
        if isinstance(card, dict) and isinstance(card.get("files"), dict):
            files |= {file, *(file.parent / name for name in card["files"])}
    inside = sorted(path.rglob("*"), reverse=True)
    others = [file for file in inside if file not in files and (file.is_symlink() or not file.is_dir())]
    if others:
        raise OutputError(
            "the folder holds other files than those of a split",
            where=str(path),
            found=", ".join(str(file.relative_to(path)) for file in sorted(others)[:5]),
            hint="write the split into a folder of its own",
        )
    return inside


def _write_one(split: Contents, folder: Path, name: str, form: FileFormat) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for path, frame in _files(split, folder, name, form):
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            separator = "," if path.suffix == ".csv" else "\t"
            _check_text(frame, form, [split.rows.table.columns.get(r, r) for r in ("user", "item")])
            frame.write_csv(path, separator=separator, include_header=form != "elliot")
        files[str(path.relative_to(folder).as_posix())] = file_hash(path)
    write_text(folder / CARD_FILE, card_text({**split.card, "files": files}))


def _files(split: Contents, folder: Path, name: str, form: FileFormat) -> Iterator[tuple[Path, pl.DataFrame]]:
    """Yield the path and rows of each file of a split."""
    if form in ("parquet", "csv"):
        whole = as_polars(split.source, split.rows)
        for part, mask in split.masks.items():
            if mask.any():  # the card names the empty parts
                yield folder / f"{part}.{form}", whole.filter(pl.Series(mask))
        return
    unknown = [part for part in split.masks if part not in _PARTS]
    if unknown:
        raise ParameterError(
            f"{form} has no files for these parts",
            found=", ".join(unknown),
            hint='write it with format="parquet" or "csv"',
        )
    whole = _four_columns(split.rows)
    inner = folder / "0" if "validation" in split.masks else folder
    for part, mask in split.masks.items():
        frame = whole.filter(pl.Series(mask))
        short = _SHORT.get(form, part) if part == "validation" else part
        if form == "recbole":
            names = {old: new for old, new in _RECBOLE.items() if old in frame.columns}
            yield folder / f"{name}.{short}.inter", frame.rename(names)
        elif form == "warprec":
            yield folder / f"{part}.tsv", frame.rename(_WARPREC)
        else:
            yield (folder if part == "test" else inner) / f"{short}.tsv", frame


def _check_text(frame: pl.DataFrame, form: FileFormat, ids: list[str]) -> None:
    """Raise if a text file could not be read back as the same values."""
    unsafe = r"^$|^\s|\s$" if form == "csv" else r"^$|^\s|\s$|[\t\r\n\"]"
    names = ids if form == "csv" else frame.columns[:2]
    for name, dtype in frame.schema.items():
        column = frame[name]
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise OutputError(
                f"column {name!r} cannot be written as text",
                where=form,
                found=str(dtype),
                hint='write it with format="parquet"',
            )
        if dtype != pl.String or name not in names:
            continue
        bad = column.filter(column.str.contains(unsafe))
        if len(bad):
            raise OutputError(
                "an id cannot be written as text: it is empty, or holds blanks at an end, a tab, "
                "a line end or a quotation mark",
                where=f"{form}, column {name!r}",
                found=repr(bad[0]),
                hint='write it with format="parquet"',
            )


def _four_columns(rows: Rows) -> pl.DataFrame:
    """Return user, item, rating (1 without ratings) and timestamp, in seconds for dates."""
    frame = rows.table.frame
    rating: Any = frame["relevance"] if "relevance" in frame.columns else pl.lit(1.0)
    out = frame.select("user", "item").with_columns(rating.alias("rating"))
    if not rows.has_times:
        return out
    time = rows.time
    if not time.is_date:
        return out.with_columns(timestamp=pl.Series(time.values))
    whole = bool((time.values % time.per_second == 0).all())
    seconds = time.values // time.per_second if whole else time.values / time.per_second
    return out.with_columns(timestamp=pl.Series(seconds))
