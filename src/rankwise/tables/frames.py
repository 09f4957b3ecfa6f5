"""Frames of any library as tables."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.kernels import default_threads, map_threads
from rankwise.core.texts import WHOLE_NUMBER
from rankwise.core.units import unit_keys
from rankwise.errors import ColumnError, InputError
from rankwise.messages import parameter
from rankwise.tables.columns import (
    EVENT,
    LOG_ROLES,
    ROLES,
    candidate_columns,
    check_exact,
    names_of,
    object_column_error,
    recognise,
    undecided_column_error,
)
from rankwise.tables.containers import (
    list_in_text,
    with_distinct_levels,
    with_levels,
)
from rankwise.tables.list_rows import one_row_per_item
from rankwise.tables.memory import (
    NESTED,
    are_records,
    first_of,
    from_rows,
    number_column,
    series_from_values,
)
from rankwise.tables.table import Recommendations, Table, TableRole
from rankwise.tables.values import as_labels

QRELS = "relevance judgements (qrels)"
_GAPS = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""What programs write into columns of numbers where there is none, in lower case."""
_WORTH_THREADS = 1 << 18
NUMBERS = (
    "rank",
    "score",
    "relevance",
    "weight",
    "position",
    "propensity",
    "probability",
    "reward",
)
"""The columns that hold numbers."""
KEEP_OTHERS = ("users", "items", "interactions", *LOG_ROLES)
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
        return Recommendations(
            frame, role, source, layout, columns, unread=unread, counts=counts or {}
        )
    return Table(frame, role, source, layout, columns, unread=unread)


def in_one_piece(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns are each in one piece of memory, as arrays need them.

    Readers of files leave a hundred pieces, which every look as an array would join again.
    """
    if max(frame.n_chunks("all"), default=1) == 1:
        return frame
    threads = default_threads() if len(frame) >= _WORTH_THREADS else 1
    columns = map_threads(pl.Series.rechunk, frame.get_columns(), threads)
    return pl.DataFrame(dict(zip(frame.columns, columns, strict=True)))


def from_arrow(source: Any, name: str) -> pl.DataFrame:
    """Return a table of any library with the Arrow PyCapsule interface as a Polars table."""
    if isinstance(source, pl.DataFrame):  # as its owner made it
        return source
    frame = readable_columns(source, name)
    column = next((column for column in frame if column.dtype == pl.Object), None)
    if column is not None:
        raise object_column_error(column, name)
    return frame


def readable_columns(source: Any, name: str) -> pl.DataFrame:
    """Convert a table as `from_arrow` does; columns that Polars cannot read become objects.

    Whoever does not need such a column can do without it.
    """
    if isinstance(source, pl.DataFrame):
        return source
    if hasattr(source, "reset_index"):
        return _of_pandas(source, name)
    try:
        return source.collect() if isinstance(source, pl.LazyFrame) else pl.DataFrame(source)
    except (Exception, pl.exceptions.PanicException) as error:
        if hasattr(source, "column_names") and hasattr(source, "to_pydict"):  # a table of PyArrow
            _refuse_repeated(source.column_names, name)
            return pl.DataFrame([_column(source.select([one]), one) for one in source.column_names])
        is_lazy = isinstance(source, pl.LazyFrame)
        if not is_lazy and isinstance(error, TypeError | ValueError | pl.exceptions.PolarsError):
            raise InputError(
                "a column of this table is of a type that cannot be read",
                where=name,
                found=str(error).splitlines()[0],
                hint="select the columns that are needed, or cast it to integers, floats or text",
            ) from error
        # A lazy relation of another library, such as DuckDB's, that fails; 256-bit numbers panic.
        lines = str(error).splitlines()
        raise InputError(
            "this query fails when it runs",
            where=name,
            found=lines[0] if lines else type(error).__name__,
            hint="collect it first, and check the result",
        ) from error


def _of_pandas(source: Any, name: str) -> pl.DataFrame:
    """Convert a pandas frame, column by column if a column cannot be read."""
    _refuse_repeated(source.columns, name)
    source = _in_words(_dense(_with_index(source, name)))
    objects = [
        column
        for column, dtype in source.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind == "O"
    ]
    nested = [
        column for column in objects if isinstance(first_of(source[column].to_numpy()), NESTED)
    ]
    records = [column for column in nested if are_records(source[column].to_numpy())]
    # Whatever other libraries raise of their types; ImportError of pandas' text, without PyArrow.
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not records:
            texts = {
                column: text for column in objects if (text := _text(source[column])) is not None
            }
            rest = pl.DataFrame(source.drop(columns=[*texts]))
            return rest.with_columns(texts.values()).select(map(str, source.columns))
    return pl.DataFrame([_column(source[[column]], column) for column in source])


def _in_words(source: Any) -> Any:
    """Convert intervals and periods of a pandas frame, as `pandas.cut` makes them, to their text."""
    texts = {}
    for column, dtype in source.dtypes.items():
        categories = getattr(dtype, "categories", None)
        if _is_range(dtype):
            values = source[column]
            texts[column] = values.astype(str).astype(object).where(values.notna(), None)
        elif categories is not None and _is_range(categories.dtype):
            names = categories.astype(str)  # in their order, which is kept
            texts[column] = source[column].cat.rename_categories(names)
    return _with_columns(source, texts)


def _is_range(dtype: Any) -> bool:
    """Return whether a type of pandas is of intervals or periods, which Polars has not."""
    name = str(getattr(dtype, "name", ""))
    return name == "interval" or name.startswith("period[")


def _refuse_repeated(columns: Iterable[Any], name: str) -> None:
    """Raise if two columns have one name."""
    for column, count in Counter(columns).items():
        if count > 1:
            raise ColumnError(
                f"two columns are called {column!r}", where=name, hint="rename or drop one of them"
            )


def _text(column: Any) -> pl.Series | None:
    """Return an object column of text without pandas' slow gap search; None if not all text."""
    with contextlib.suppress(TypeError):
        values = column.to_numpy()
        text = pl.Series(str(column.name), values) if isinstance(first_of(values), str) else None
        return (
            text if text is not None and text.dtype == pl.String else None
        )  # objects where None comes first
    return None


def _column(source: Any, name: Any) -> pl.Series:
    """Return the only column of a table, gaps in text as nulls; mixed types become objects."""
    column = source[name]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not are_records(values):
            return pl.DataFrame(source).to_series()
    if hasattr(column, "isna") and any(isinstance(value, str) for value in values):
        values = [
            None if gap else value
            for value, gap in zip(values, column.isna().to_list(), strict=True)
        ]
    return series_from_values(str(name), values, str(name))


def _dense(source: Any) -> Any:
    """Convert sparse columns of a pandas frame to dense columns, as Arrow has no sparse type."""
    sparse = [column for column, dtype in source.dtypes.items() if hasattr(dtype, "fill_value")]
    return _with_columns(source, {column: source[column].sparse.to_dense() for column in sparse})


def _with_columns(source: Any, columns: Mapping[Any, Any]) -> Any:
    """Return a pandas frame with other columns; their names may be any, and the source stays."""
    if not columns:
        return source
    changed = source.copy(deep=False)
    for name, column in columns.items():
        changed[name] = column
    return changed


def _with_index(source: Any, where: str) -> Any:
    """Convert named index levels of a pandas frame to columns; unnamed levels are row numbers.

    An index of times needs no name where no column holds the times.
    """
    source = with_distinct_levels(source, where)
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


def series_as_frame(
    source: Any, role: TableRole, overrides: Mapping[str, str | None]
) -> tuple[pl.DataFrame | dict[Any, Any], Mapping[str, str | None]]:
    """Return a pandas Series as a mapping by user, or as a frame if its index has several levels.

    Also the names of columns that the caller has chosen, with that of the values: a Series has one
    column of values, which needs no usual name to be the score or the relevance.
    """
    if source.index.nlevels == 1:
        _check_user_level(source.index, role)
        if source.index.is_unique:
            return dict(zip(source.index, source, strict=True)), overrides
        rows = list(zip(source.index, source, strict=True))  # one row per interaction
        return from_rows(rows, [tuple], role)[0], overrides
    number = number_column(role)
    name = number if source.name is None else str(source.name)
    frame = readable_columns(with_levels(source, name, role), role)
    _check_level_names([*source.index.names], frame.columns, role, overrides)
    is_known = (
        any(names_of([name], role, column) for column in ROLES[role]) or name in overrides.values()
    )
    if is_known or number in overrides or number not in ROLES[role]:
        return frame, overrides
    return frame, {**overrides, number: name}


def _check_level_names(
    levels: list[Any], columns: list[str], role: TableRole, overrides: Mapping[str, str | None]
) -> None:
    """Raise if unnamed index levels of a Series may hold the users or items."""
    missing = [
        one for one in ("user", "item") if one not in overrides and not names_of(columns, role, one)
    ]
    if not missing or levels.count(None) < len(missing):
        return
    names = iter(missing)
    named = [
        next(names, f"level_{at}") if level is None else level for at, level in enumerate(levels)
    ]
    raise ColumnError(
        "levels of the index of a Series have no names, and one of them should be the "
        + " and one the ".join(missing),
        where=role,
        found=f"levels {levels}",
        hint=f"name them, in their order: series.rename_axis({named})",
    )


def _check_user_level(index: Any, role: TableRole) -> None:
    """Raise if the only level of the index of a Series has a name that users do not have."""
    name = index.name
    if not isinstance(name, str) or names_of([name], role, "user"):
        return
    columns = [column for column in ROLES[role] if column not in ("user", "timestamp")]
    column = next((column for column in columns if names_of([name], role, column)), None)
    if column is not None:
        raise ColumnError(
            f"the index of a Series holds users, and this one is called {name!r}, as the {column} "
            "is",
            where=role,
            hint="pass a frame: series.reset_index(), with a column for the user; or rename it: "
            'series.rename_axis("user")',
        )


def from_frame(
    frame: pl.DataFrame,
    role: TableRole,
    overrides: Mapping[str, str | None],
    source: str,
    layout: str,
) -> Table:
    """Return a frame with named columns as the table of a role.

    Raises
    ------
    ColumnError
        If a column is missing, ambiguous, or of an unsuitable type; or if no column orders the
        lists, or defines relevance, although a column of numbers could.
    """
    names, whole = frame.columns, frame
    if role not in KEEP_OTHERS:
        frame, names = one_row_per_item(frame, role, overrides, source)
    _refuse_lists_in_text(frame, role, overrides, source)

    columns = recognise(frame.columns, role, overrides, source)
    _check_decided(frame, role, columns, candidate_columns(names, role, columns, overrides), source)

    kept, unread = _columns_kept(frame, role, columns, source)
    out = _with_floats(pl.DataFrame(kept), columns, source)
    table = as_table(out, role, source, layout, columns, unread=tuple(unread))
    if whole is frame or role != "recommendations":
        return table
    keys = unit_keys(out)
    owners = whole.select(pl.col(columns[name]).alias(name) for name in keys)
    return replace(table, empty_lists=owners.join(out, on=keys, how="anti", maintain_order="left"))


def _refuse_lists_in_text(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> None:
    """Raise if a column holds lists of items that are written as text."""
    text = list_in_text(frame, role, overrides)
    if text is not None:
        raise ColumnError(
            f"column {text!r} holds lists that are written as text",
            where=source,
            found=repr(frame[text].drop_nulls()[0])[:80],
            hint=f"{parameter('columns', {'item': text})} reads lists in square brackets; write "
            "ids without brackets",
        )


def _check_decided(
    frame: pl.DataFrame,
    role: TableRole,
    columns: Mapping[str, str],
    candidates: Iterable[str],
    source: str,
) -> None:
    """Raise if a column of numbers could order the lists, or define relevance, and none does.

    ``candidates`` are the columns whose names do not tell.
    """
    deciding = [name for name in candidates if _holds_numbers(frame[name])]
    if not deciding:
        return
    if role != "truth" and any(name.lower() in ("iteration", "iter") for name in deciding):
        raise swapped_tables_error(QRELS, role, source, frame.columns)
    ranks: list[str] = []
    if "rank" in ROLES[role]:
        ranks = [name for name in deciding if _counts_up(frame, columns["user"], name)]
    raise undecided_column_error(role, deciding, source, ranks)


def _columns_kept(
    frame: pl.DataFrame, role: TableRole, columns: Mapping[str, str], source: str
) -> tuple[dict[str, pl.Series], list[str]]:
    """Return the columns of a table by their names here, and the names of those not read."""
    kept = {column: frame[name] for column, name in columns.items()}
    if EVENT in kept:
        kept[EVENT] = as_labels(kept[EVENT], source)
    for column in kept.values():
        if column.dtype == pl.Object:
            raise object_column_error(column, source)

    unread = [name for name in frame.columns if name not in columns.values()]
    if role not in KEEP_OTHERS:
        return kept, unread
    free = [name for name in unread if name not in columns]  # not called as a column in its place
    kept |= {name: frame[name] for name in free if frame.schema[name] != pl.Object}
    return kept, [name for name in unread if name in columns or name not in kept]


def _with_floats(frame: pl.DataFrame, columns: Mapping[str, str], source: str) -> pl.DataFrame:
    """Return a frame whose columns of numbers are floats, except whole ranks, and text as it is."""
    for column in NUMBERS:
        if column not in columns or frame[column].dtype == pl.String:
            continue
        if column != "rank" or frame[column].dtype.is_decimal():
            frame = frame.with_columns(_as_float(frame[column], columns[column], source))
    return frame


def swapped_tables_error(
    content: str, role: TableRole, source: str, names: Iterable[str]
) -> InputError:
    """Return the error for ranked lists in the place of the ground truth, or for the reverse."""
    return InputError(
        f"this table holds {content}, and is passed as the {role}",
        where=source,
        found=f"columns {', '.join(names)}",
        hint="are the recommendations and the ground truth swapped?",
    )


def _counts_up(frame: pl.DataFrame, user: str, name: str) -> bool:
    """Return whether a column has the numbers 1 to n, or 0 to n - 1, in the list of each user."""
    if frame.schema[name].is_nested():
        return False
    numbers = frame[name].cast(pl.Float64, strict=False)
    lists = pl.DataFrame({"user": frame[user], "rank": numbers}).group_by("user")
    ends = lists.agg(
        first=pl.min("rank"), last=pl.max("rank"), rows=pl.len(), distinct=pl.n_unique("rank")
    )
    counted = (pl.col("last") - pl.col("first") + 1 == pl.col("rows")) & (
        pl.col("distinct") == pl.col("rows")
    )
    starts = ends["first"].unique().to_list()
    return (
        not numbers.null_count()
        and starts in ([0.0], [1.0])
        and bool(ends.select(counted.all()).item())
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
    """Return whether all values of a text column are true or false, as pandas writes booleans."""
    return bool(text.str.contains("(?i)^(true|false)$").all()) and not text.null_count()


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(
            f"column {name!r} does not hold numbers", where=source, found=str(column.dtype)
        )
    number = column.cast(pl.Float64)
    if (
        column.dtype == pl.Float16
    ):  # has three digits: the decimal number that they write is what was stored
        halves = column.unique().drop_nulls()
        decimals = [float(str(value)) for value in halves.to_numpy()]
        number = column.replace_strict(halves, decimals, default=None, return_dtype=pl.Float64)
    if column.dtype.is_integer() or column.dtype.is_decimal():
        check_exact(column, number, name, source)
    return number


def parse_integers(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are integers, if all values are written as integers."""
    for name in names:
        if frame.schema[name] == pl.String and frame[name].str.contains(WHOLE_NUMBER).all():
            number = frame[name].cast(pl.Int64, strict=False)
            frame = frame if number.null_count() else frame.with_columns(number)
    return frame


def parse_numbers(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are numbers, if all values are numbers."""
    for name in names:
        column = frame[name]
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count():
            frame = frame.with_columns(number)
    return frame
