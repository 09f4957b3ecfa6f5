"""Columns of text to ids and numbers; a bad value is located in its file."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl

from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import IdError, InputError
from rankwise.tables.delimited import malformed
from rankwise.tables.files import RawFile
from rankwise.tables.frames import NUMBERS, is_truth_values, whole
from rankwise.tables.table import Table
from rankwise.tables.validation import EXACT, check_exact, may_be_missing

__all__ = ["IDS", "from_text"]

IDS = ("user", "item")
"""The columns that hold ids."""
_DECIMAL_COMMA = r"^[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+$"


def from_text(table: Table, raw: RawFile) -> Table:
    """Return the table of a file in which ids and numbers are text."""
    out, trimmed = table.frame, 0
    if any(out[column].null_count() for column in IDS if column in out.columns):
        out = out.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for column, name in table.columns.items():
        if out.schema[column] != pl.String:
            continue  # JSON has numbers too
        if column in IDS:
            ids, blanks = _trimmed(out[column], raw, name)
            trimmed += blanks
            out = whole(out.with_columns(ids), [column])
        elif column in NUMBERS:
            out = whole(out, ["rank"]) if column == "rank" else out  # more digits than floats have
            if out.schema[column] == pl.String:
                missing = may_be_missing(table.role, column)
                out = out.with_columns(_numbers(raw, out[column], name, missing=missing))
        elif column == "timestamp":  # a number, or a date as text, which splits can read
            for dtype in (pl.Int64, pl.Float64):
                times = out[column].cast(dtype, strict=False)
                if not times.null_count():
                    out = out.with_columns(times)
                    break
    return replace(table, frame=out, trimmed=trimmed)


def _trimmed(ids: pl.Series, raw: RawFile, name: str) -> tuple[pl.Series, int]:
    """Return ids without the blanks around them, and how many had some.

    Raises
    ------
    IdError
        If two ids differ by nothing else.
    """
    plain = ids.str.strip_chars()
    _no_nulls(raw, plain, name)
    blanks = int((plain != ids).sum())
    if blanks and plain.n_unique() < ids.n_unique():
        groups = pl.DataFrame({"id": ids, "plain": plain}).unique(maintain_order=True)
        twice = groups.filter(pl.col("plain").is_duplicated())["id"]
        raise IdError(
            "two ids differ only by blanks around them",
            where=f"{raw.name}, column {name!r}",
            found=f"{twice[0]!r} and {twice[1]!r}",
            hint="write them alike, or store the table as Parquet, which keeps ids as they are",
        )
    return plain, blanks


def _numbers(raw: RawFile, column: pl.Series, name: str, *, missing: bool) -> pl.Series:
    """Return a column of text as numbers; empty fields become null if values may be missing."""
    text, numbers = column, column.cast(pl.Float64, strict=False)
    if numbers.null_count():
        text = column.str.strip_chars()
        if is_truth_values(text):
            return (text.str.to_lowercase() == "true").cast(pl.Float64)
        numbers = text.cast(pl.Float64, strict=False)
    bad = numbers.is_null()
    if missing:
        bad &= (text != "").fill_null(value=False)
    if bad.any():
        raise _malformed(raw, column, bad, name, "is not a number")
    largest = float(numbers.abs().max() or 0)  # type: ignore[arg-type]
    if largest >= EXACT:
        whole_ones = text.str.contains(WHOLE_NUMBER)
        exact = text.filter(whole_ones).cast(pl.Int128)
        check_exact(exact, numbers.filter(whole_ones), name, raw.name)
    return numbers


def _no_nulls(raw: RawFile, column: pl.Series, name: str) -> None:
    empty = column.is_null() | (column == "").fill_null(value=True)
    if empty.any():
        raise _malformed(raw, column, empty, name, "is empty")


def _malformed(raw: RawFile, column: pl.Series, bad: pl.Series, name: str, problem: str) -> InputError:
    """Return the error of the first bad value, with its line where rows are lines."""
    if raw.has_lines and name in raw.frame.columns:
        index = raw.frame.columns.index(name)
        first = column[int(bad.arg_true()[0])]  # where values may be missing, an empty field is not bad
        is_wrong = _is_empty if problem == "is empty" else _is_no_number
        text_only = not _is_empty(first or "")

        def is_bad(text: str) -> bool:
            return is_wrong(text) and not (text_only and _is_empty(text))

        number, line = raw.locate(lambda fields: len(fields) > index and is_bad(fields[index]))
        if number:
            hint = _hint(raw, str(column[int(bad.arg_true()[0])] or ""))
            return malformed(f"column {name!r} {problem}", raw.name, number, line, hint)
    row = int(bad.arg_true()[0])
    return InputError(f"column {name!r} {problem}", where=f"{raw.name}, row {row + 1}", found=repr(column[row]))


def _hint(raw: RawFile, text: str) -> str | None:
    """Return how to read a file whose numbers have a decimal comma; None for other text."""
    if re.match(_DECIMAL_COMMA, text.strip()) is None:
        return None
    hint, separator = "numbers have a decimal point: write 1234.5 for 1234,5 and for 1.234,5", raw.format.separator
    if "." in text or separator == ",":  # which Polars does not read
        return hint
    return f"{hint}; or pass the table, polars.read_csv(path, separator={separator!r}, decimal_comma=True)"


def _is_empty(text: str) -> bool:
    return not text.strip()


def _is_no_number(text: str) -> bool:
    """Return whether text is no number as Polars reads it, which knows no ``1_0``."""
    return (
        re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)", text.strip(), re.IGNORECASE)
        is None
    )
