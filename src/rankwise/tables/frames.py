"""Frames with named columns, of any library, to tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rankwise.core.texts import WHOLE_NUMBER
from rankwise.core.threads import default_threads, each
from rankwise.errors import ColumnError, InputError
from rankwise.tables.by_position import number_column
from rankwise.tables.columns import ROLES, TableRole, could_decide, names_of, recognise, undecided
from rankwise.tables.in_memory import from_rows, holds_records, series_of
from rankwise.tables.list_columns import one_row_per_item
from rankwise.tables.table import Recommendations, Table
from rankwise.tables.validation import check_exact, unreadable

__all__ = [
    "KEEP_OTHERS",
    "NUMBERS",
    "as_table",
    "from_arrow",
    "from_frame",
    "holds_qrels",
    "holds_run",
    "in_one_piece",
    "is_truth_values",
    "readable_columns",
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
    if isinstance(source, pl.DataFrame):  # as its owner made it
        return source
    frame = readable_columns(source, name)
    column = next((column for column in frame if column.dtype == pl.Object), None)
    if column is not None:
        raise unreadable(column, name)
    return frame


def readable_columns(source: Any, name: str) -> pl.DataFrame:
    """Return a table as `from_arrow` does, with columns of pandas that Polars cannot read as objects.

    Whoever does not need such a column can do without it.
    """
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return _collected(source, name)
    if hasattr(source, "reset_index"):
        return _of_pandas(source, name)
    try:
        return pl.DataFrame(source)
    except (Exception, pl.exceptions.PanicException) as error:
        if hasattr(source, "column_names") and hasattr(source, "to_pydict"):  # a table of PyArrow
            return pl.DataFrame([_column(source.select([one]), one) for one in source.column_names])
        if isinstance(error, TypeError | ValueError | pl.exceptions.PolarsError):
            raise InputError(
                "a column of this table is of a type that cannot be read",
                where=name,
                found=str(error).splitlines()[0],
                hint="select the columns that are needed, or cast it to integers, floats or text",
            ) from error
        # A lazy relation of another library, such as DuckDB's, that fails; 256-bit numbers panic.
        raise _uncollected(name, error) from error


def _of_pandas(source: Any, name: str) -> pl.DataFrame:
    """Return a pandas frame, column by column if some column cannot be read."""
    if not source.columns.is_unique:
        twice = source.columns[source.columns.duplicated()][0]
        raise ColumnError(f"two columns are called {twice!r}", where=name, hint="rename or drop one of them")
    source = _dense(_with_index(source, name))
    records = [column for column, dtype in source.dtypes.items() if dtype.kind == "O" and holds_records(source[column])]
    # Whatever other libraries raise of their types; ImportError of pandas' text, without PyArrow.
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not records:
            return pl.DataFrame(source)
    return pl.DataFrame([_column(source[[column]], column) for column in source])


def _column(source: Any, name: Any) -> pl.Series:
    """Return the only column of a table, gaps in text as nulls; objects where values differ in type."""
    column = source[name]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not holds_records(values):
            return pl.DataFrame(source).to_series()
    if hasattr(column, "isna") and any(isinstance(value, str) for value in values):
        values = [None if gap else value for value, gap in zip(values, column.isna().to_list(), strict=True)]
    return series_of(str(name), values, str(name))


def _dense(source: Any) -> Any:
    """Return a pandas frame whose sparse columns, which Arrow does not have, hold all of their values."""
    sparse = [column for column, dtype in source.dtypes.items() if hasattr(dtype, "fill_value")]
    return source.assign(**{column: source[column].sparse.to_dense() for column in sparse}) if sparse else source


def _with_index(source: Any, where: str) -> Any:
    """Return a pandas frame whose index is columns, except levels without a name: the numbers of rows.

    An index of times needs no name where no column holds the times.
    """
    if type(source.index).__name__ == "DatetimeIndex" and source.index.name is None:
        times = names_of([*map(str, source.columns)], "interactions", "timestamp")
        source = source if times else source.rename_axis("timestamp")
    names = [name for name in source.index.names if isinstance(name, str)]
    twice = [name for name in names if name in source.columns]
    for name in twice:
        if not (source.index.get_level_values(name).to_numpy() == source[name].to_numpy()).all():
            raise ColumnError(
                f"the index and a column are both called {name!r}, and differ",
                where=where,
                hint="rename one of them, or drop the index: df.reset_index(drop=True)",
            )
    levels = [name for name in names if name not in twice]
    return source.reset_index(level=levels) if levels else source


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


def series_as_frame(
    source: Any, role: TableRole, given: Mapping[str, str | None]
) -> tuple[pl.DataFrame | dict[Any, Any], Mapping[str, str | None]]:
    """Return a pandas Series as a mapping by user, or as a frame if its index has several levels.

    Also the names of columns that the caller has chosen, with that of the values: a Series has one
    column of values, which needs no usual name to be the score or the relevance.
    """
    if source.index.nlevels == 1:
        _check_users(source.index, role)
        if source.index.is_unique:
            return dict(zip(source.index, source, strict=True)), given
        return from_rows(list(zip(source.index, source, strict=True)), role)[0], given  # one row per interaction
    number = number_column(role)
    name = number if source.name is None else str(source.name)
    frame = readable_columns(source.reset_index(name=name), role)
    _check_level_names([*source.index.names], frame.columns, role, given)
    is_known = any(names_of([name], role, column) for column in ROLES[role]) or name in given.values()
    if is_known or number in given or number not in ROLES[role]:
        return frame, given
    return frame, {**given, number: name}


def _check_level_names(levels: list[Any], columns: list[str], role: TableRole, given: Mapping[str, str | None]) -> None:
    """Raise if levels of the index of a Series have no names, and there is no user or item but in them."""
    missing = [one for one in ("user", "item") if one not in given and not names_of(columns, role, one)]
    if not missing or levels.count(None) < len(missing):
        return
    names = iter(missing)
    named = [next(names, f"level_{at}") if level is None else level for at, level in enumerate(levels)]
    raise ColumnError(
        "levels of the index of a Series have no names, and one of them should be the " + " and one the ".join(missing),
        where=role,
        found=f"levels {levels}",
        hint=f"name them, in their order: series.rename_axis({named})",
    )


def _check_users(index: Any, role: TableRole) -> None:
    """Raise if the only level of the index of a Series has a name that users do not have."""
    name = index.name
    others = [column for column in ROLES[role] if column not in ("user", "timestamp")]
    if not isinstance(name, str) or names_of([name], role, "user"):
        return
    column = next((column for column in others if names_of([name], role, column)), None)
    if column is not None:
        raise ColumnError(
            f"the index of a Series holds users, and this one is called {name!r}, as the {column} is",
            where=role,
            hint="pass a frame: series.reset_index(), with a column for the user; or rename it: "
            'series.rename_axis("user")',
        )


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
    asks = frame.columns
    if role not in KEEP_OTHERS:
        frame, asks = one_row_per_item(frame, role, given, source)
    columns = recognise(frame.columns, role, given, source)
    could = could_decide(asks, role, columns, given)
    could = [name for name in could if _holds_numbers(frame[name])]
    if role != "truth" and any(name.lower() in ("iteration", "iter") for name in could):
        raise holds_qrels(role, source, frame.columns)
    if could:
        raise undecided(role, could, source)
    chosen = {column: frame[name] for column, name in columns.items()}
    wrong = next((column for column in chosen.values() if column.dtype == pl.Object), None)
    if wrong is not None:
        raise unreadable(wrong, source)
    others = [name for name in frame.columns if name not in columns.values()]
    if role in KEEP_OTHERS:
        taken = next((name for name in others if name in columns), None)
        if taken is not None:
            raise ColumnError(
                f"column {columns[taken]!r} is the {taken}, and another is called {taken!r}",
                where=source,
                hint=f"rename column {taken!r}",
            )
        chosen |= {name: frame[name] for name in others if frame.schema[name] != pl.Object}
        others = [name for name in others if name not in chosen]
    out = pl.DataFrame(chosen)
    for column in NUMBERS:
        if column not in columns or out[column].dtype == pl.String:
            continue
        if column != "rank" or out[column].dtype.is_decimal():
            out = out.with_columns(_as_float(out[column], columns[column], source))
    return as_table(out, role, source, layout, columns, unread=tuple(others))


def holds_qrels(role: TableRole, source: str, names: Iterable[str]) -> InputError:
    """Return the error for relevance judgements, as TREC writes them, in the place of ranked lists."""
    return _swapped("relevance judgements (qrels)", role, source, names)


def holds_run(source: str, names: Iterable[str]) -> InputError:
    """Return the error for ranked lists, as TREC writes them, in the place of the ground truth."""
    return _swapped("ranked lists (a run)", "truth", source, names)


def _swapped(holds: str, role: TableRole, source: str, names: Iterable[str]) -> InputError:
    return InputError(
        f"this table holds {holds}, and is passed as the {role}",
        where=source,
        found=f"columns {', '.join(names)}",
        hint="are the recommendations and the ground truth swapped?",
    )


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


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(f"column {name!r} does not hold numbers", where=source, found=str(column.dtype))
    number = column.cast(pl.Float64)
    if column.dtype == pl.Float16:  # has three digits: the decimal number that they write is what was stored
        halves = column.unique().drop_nulls()
        decimals = [float(str(value)) for value in halves.to_numpy()]
        number = column.replace_strict(halves, decimals, default=None, return_dtype=pl.Float64)
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
