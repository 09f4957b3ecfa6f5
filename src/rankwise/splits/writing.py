"""Splits to folders of files, in the layouts that libraries of the field read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.arguments import check_choice
from rankwise.errors import OutputError, ParameterError
from rankwise.io.cards import CARD_FILE
from rankwise.io.files import file_hash
from rankwise.io.writing import new_folder, write_text
from rankwise.splits.card import card_text
from rankwise.splits.split import FileFormat, Folds, Split, as_polars

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["write"]

_KNOWN = ("train", "validation", "test")
_RECBOLE = {"user": "user_id:token", "item": "item_id:token", "rating": "rating:float",
            "timestamp": "timestamp:float"}  # fmt: skip
_WARPREC = {"user": "user_id", "item": "item_id"}


def write(split: Split | Folds, folder: str | Path, form: FileFormat = "parquet") -> Path:
    """Write a split, or several, into a folder that is new or empty.

    Raises
    ------
    OutputError
        If the folder holds something already, or cannot be written.
    ParameterError
        If the split has parts that the format does not know.
    """
    check_choice("format", form, FileFormat)
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise OutputError(
            "a split is written into a folder that is new or empty",
            where=str(path),
            hint="files of another split beside it would be read with it",
        )
    if isinstance(split, Folds) and form in ("recbole", "warprec"):
        raise ParameterError(
            f"{form} has no files for several folds", hint="write one fold after the other"
        )
    with new_folder(path) as part:
        if isinstance(split, Folds):
            for at, fold in enumerate(split):
                _write_one(fold, part / str(at), path.name, form)
        else:
            inner = part / "0" if form == "elliot" else part
            _write_one(split, inner, path.name, form)
    return path


def _write_one(split: Split, folder: Path, name: str, form: FileFormat) -> None:
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


def _files(
    split: Split, folder: Path, name: str, form: FileFormat
) -> Iterator[tuple[Path, pl.DataFrame]]:
    if form in ("parquet", "csv"):
        whole = as_polars(split.source, split.rows)
        for part, mask in split.masks.items():
            if mask.any():  # the card says that the others are empty
                yield folder / f"{part}.{form}", whole.filter(pl.Series(mask))
        return
    other = [part for part in split.masks if part not in _KNOWN]
    if other:
        raise ParameterError(
            f"{form} has no files for these parts",
            found=", ".join(other),
            hint='write it with format="parquet" or "csv"',
        )
    whole = _four_columns(split)
    inner = folder / "0" if "validation" in split.masks else folder
    for part, mask in split.masks.items():
        frame = whole.filter(pl.Series(mask))
        if form == "recbole":
            short = "valid" if part == "validation" else part
            names = {old: new for old, new in _RECBOLE.items() if old in frame.columns}
            yield folder / f"{name}.{short}.inter", frame.rename(names)
        elif form == "warprec":
            yield folder / f"{part}.tsv", frame.rename(_WARPREC)
        else:
            short = "val" if part == "validation" else part
            yield (folder if part == "test" else inner) / f"{short}.tsv", frame


def _check_text(frame: pl.DataFrame, form: FileFormat, ids: list[str]) -> None:
    """Raise if a file of text would not give back what it was given."""
    odd_id = r"^$|^\s|\s$" if form == "csv" else r"^$|^\s|\s$|[\t\r\n\"]"
    names = ids if form == "csv" else frame.columns[:2]
    for name, kind in frame.schema.items():
        column = frame[name]
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise OutputError(
                f"column {name!r} cannot be written as text", where=form, found=str(kind),
                hint='write it with format="parquet"',
            )  # fmt: skip
        if kind != pl.String or name not in names:
            continue
        odd = column.filter(column.str.contains(odd_id))
        if len(odd):
            raise OutputError(
                "an id cannot be written as text: it is empty, or holds blanks at an end, a tab, "
                "a line end or a quotation mark",
                where=f"{form}, column {name!r}", found=repr(odd[0]),
                hint='write it with format="parquet"',
            )  # fmt: skip


def _four_columns(split: Split) -> pl.DataFrame:
    """Return user, item, rating (1 where there is none) and timestamp, in seconds if dates."""
    rows = split.rows
    frame = rows.table.frame
    rating: Any = pl.lit(1.0)
    if "relevance" in frame.columns:
        rating = frame["relevance"]
    out = frame.select("user", "item").with_columns(rating.alias("rating"))
    if not rows.has_times:
        return out
    time = rows.time
    if not time.is_date:
        return out.with_columns(timestamp=pl.Series(time.values))
    whole = bool((time.values % time.per_second == 0).all())
    seconds = time.values // time.per_second if whole else time.values / time.per_second
    return out.with_columns(timestamp=pl.Series(seconds))
