"""Frames with named columns, of any library, to tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rankwise.core.threads import default_threads, each
from rankwise.core.vocabulary import WHOLE_NUMBER
from rankwise.errors import ColumnError, InputError
from rankwise.tables.columns import ROLES, TableRole, could_decide, names_of, recognise, undecided
from rankwise.tables.in_memory import from_mapping_of_columns, from_rows
from rankwise.tables.table import Recommendations, Table
from rankwise.tables.validation import check_exact

__all__ = [
    "KEEP_OTHERS",
    "NUMBERS",
    "as_table",
    "from_arrow",
    "from_frame",
    "in_one_piece",
    "is_truth_values",
    "series_as_frame",
    "typed",
    "whole",
]

_GAPS = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""What programs write into columns of numbers where there is none, in lower case."""
_WORTH_THREADS = 1 << 18
NUMBERS = ("rank", "score", "relevance", "weight")
"""The columns that hold numbers."""
KEEP_OTHERS = ("users", "items", "interactions")
"""Roles of tables that keep their other columns: groups, categories, sessions, …."""


def as_table(
    frame: pl.DataFrame,
    role: TableRole,
    source: str,
    layout: str,
    columns: dict[str, str] | None = None,
    counts: Mapping[str, int] | None = None,
    unread: tuple[str, ...] = (),
) -> Table:
    """Return a frame with standard column names as the table of a role."""
    columns = {name: name for name in frame.columns} if columns is None else columns
    if role == "recommendations":
        counts = counts or {}
        return Recommendations(frame, role, source, layout, columns, unread=unread, counts=counts)
    return Table(frame, role, source, layout, columns, unread=unread)


def in_one_piece(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns are each in one piece of memory, as arrays need them.

    Readers of files leave a hundred pieces, which every look as an array would join again.
    """
    if max(frame.n_chunks("all"), default=1) == 1:
        return frame
    threads = default_threads() if len(frame) >= _WORTH_THREADS else 1
    columns = each(pl.Series.rechunk, frame.get_columns(), threads)
    return pl.DataFrame(dict(zip(frame.columns, columns, strict=True)))


def from_arrow(source: Any, name: str) -> pl.DataFrame:
    """Return a table of any library with the Arrow PyCapsule interface as a Polars table."""
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return _collected(source, name)
    if hasattr(source, "reset_index"):
        source = _with_index(source)
    try:
        return pl.DataFrame(source)
    except ImportError:  # pandas without PyArrow cannot export its text
        return _by_value(source, name)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            "a column of this table holds values of several types, or of one that cannot be read",
            where=name,
            found=str(error).splitlines()[0],
            hint="give each column one type: integers, floats or text",
        ) from error
    except (Exception, pl.exceptions.PanicException) as error:
        # A lazy relation of another library, such as DuckDB's, that fails; 256-bit numbers panic.
        raise _uncollected(name, error) from error


def _by_value(source: Any, name: str) -> pl.DataFrame:
    """Return a pandas frame column by column, gaps in text as nulls."""
    columns = {}
    for column in source:
        values = source[column].to_list()
        gaps = source[column].isna().to_list()
        kept = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
        text = any(isinstance(value, str) for value in kept)
        columns[str(column)] = kept if text else values
    return from_mapping_of_columns(columns, name)


def _with_index(source: Any) -> Any:
    """Return a pandas frame with levels of its index that are users, items or times as columns.

    Other levels are numbers of rows, or what a frame was grouped by.
    """
    if type(source.index).__name__ == "DatetimeIndex" and source.index.name is None:
        times = names_of([*map(str, source.columns)], "interactions", "timestamp")
        source = source if times else source.rename_axis("timestamp")
    levels = [n for n in source.index.names if isinstance(n, str) and n not in source.columns]
    roles = [name for role in ("user", "item", "timestamp") for name in names_of(levels, "truth", role)]
    return source.reset_index(level=roles) if roles else source


def _collected(source: pl.LazyFrame, name: str) -> pl.DataFrame:
    try:
        return source.collect()
    except (Exception, pl.exceptions.PanicException) as error:  # whatever the query runs
        raise _uncollected(name, error) from error


def _uncollected(name: str, error: BaseException) -> InputError:
    lines = str(error).splitlines()
    return InputError(
        "this query fails when it runs",
        where=name,
        found=lines[0] if lines else type(error).__name__,
        hint="collect it first, and check the result",
    )


def series_as_frame(source: Any, role: TableRole) -> pl.DataFrame | dict[Any, Any]:
    """Return a pandas Series as a frame if its index has user and item, else as a mapping."""
    if source.index.nlevels == 1 and source.index.is_unique:
        return dict(zip(source.index, source, strict=True))
    if source.index.nlevels == 1:  # one row per interaction
        rows = list(zip(source.index, source, strict=True))
        return from_rows(rows, role)[0]
    names = {"name": source.name or ("score" if role == "recommendations" else "relevance")}
    return from_arrow(source.reset_index(**names), role)


def from_frame(
    frame: pl.DataFrame, role: TableRole, given: Mapping[str, str | None], source: str, layout: str
) -> Table:
    """Return a frame with named columns as the table of a role.

    Raises
    ------
    ColumnError
        If a column is missing, ambiguous, or of an unsuitable type; or if no column orders the
        lists, or defines relevance, although a column of numbers could.
    """
    if role not in KEEP_OTHERS:
        frame = _exploded(frame, role, given, source)
    columns = recognise(frame.columns, role, given, source)
    could = could_decide(frame.columns, role, columns, given)
    could = [name for name in could if _holds_numbers(frame[name])]
    if could:
        raise undecided(role, could, source)
    chosen = {column: frame[name] for column, name in columns.items()}
    others = [name for name in frame.columns if name not in columns.values()]
    if role in KEEP_OTHERS:
        taken = next((name for name in others if name in columns), None)
        if taken is not None:
            raise ColumnError(
                f"column {columns[taken]!r} is the {taken}, and another is called {taken!r}",
                where=source,
                hint=f"rename column {taken!r}",
            )
        chosen |= {name: frame[name] for name in others}
        others = []
    out = pl.DataFrame(chosen)
    for column in NUMBERS:
        if column in columns and column != "rank" and out[column].dtype != pl.String:
            out = out.with_columns(_as_float(out[column], columns[column], source))
    return as_table(out, role, source, layout, columns, unread=tuple(others))


def _holds_numbers(column: pl.Series) -> bool:
    """Return whether a column, or its lists, have numbers; of text all, with commas and gaps.

    Text with one other word holds names, of which some are numbers, such as titles.
    """
    if isinstance(column.dtype, pl.List | pl.Array):
        column = column.explode(empty_as_null=False)
    if column.dtype != pl.String:
        return column.dtype.is_numeric() or column.dtype == pl.Boolean
    text = column.str.strip_chars()
    text = text.filter(~text.str.to_lowercase().is_in(_GAPS))
    number = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return len(text) > 0 and (is_truth_values(text) or not number.null_count())


def is_truth_values(text: pl.Series) -> bool:
    """Return whether all of a column's text is true or false, as pandas writes it to files."""
    return bool(text.str.contains("(?i)^(true|false)$").all()) and not text.null_count()


def _exploded(frame: pl.DataFrame, role: TableRole, given: Mapping[str, str | None], source: str) -> pl.DataFrame:
    """Return one row per item of a frame whose rows hold whole lists."""
    nested = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List | pl.Array)]
    if not nested:
        return frame
    singular = {name: name.removesuffix("s") for name in nested}
    roles = {column: given.get(column) for column in ROLES[role]}
    lists, renamed = [], {}
    for column, chosen in roles.items():
        found = [chosen] if chosen in nested else []
        if column not in given:
            found = names_of(nested, role, column)
            found = found or [n for n in nested if names_of([singular[n]], role, column)]
        if found and column not in ("user", "timestamp"):
            lists.append(found[0])
            if not names_of([found[0]], role, column) and column not in given:
                renamed[found[0]] = singular[found[0]]
    if not lists:
        return frame
    taken = next((new for new in renamed.values() if new in frame.columns), None)
    if taken is not None:
        raise ColumnError(f"two columns could be the {taken}", where=source, found=f"{taken!r} and {taken + 's'!r}")
    try:
        return frame.explode(lists, empty_as_null=False).rename(renamed)
    except pl.exceptions.PolarsError as error:
        raise ColumnError(
            "the lists of one row are of different lengths", where=source, found=", ".join(lists)
        ) from error


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(f"column {name!r} does not hold numbers", where=source, found=str(column.dtype))
    number = column.cast(pl.Float64)
    if column.dtype.is_integer() or column.dtype.is_decimal():
        check_exact(column, number, name, source)
    return number


def whole(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are integers, if all values are written as integers."""
    for name in names:
        if frame.schema[name] == pl.String and frame[name].str.contains(WHOLE_NUMBER).all():
            number = frame[name].cast(pl.Int64, strict=False)
            frame = frame if number.null_count() else frame.with_columns(number)
    return frame


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are numbers, if all values are numbers."""
    for name in names:
        column = frame[name]
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count():
            frame = frame.with_columns(number)
    return frame
