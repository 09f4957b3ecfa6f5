"""Columns of items and users, in any supported layout, as arrays by row; no row is dropped."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.texts import clean_labels, plain_strings
from rankwise.core.vocabularies import lookup_rows
from rankwise.errors import ColumnError, MetricError, ScoreError, nearest
from rankwise.messages import parameter
from rankwise.tables.columns import KNOWN, Columns, check_was_read, known_column, overrides_for
from rankwise.tables.table import Table
from rankwise.tables.values import as_labels

_SEPARATORS = "|;,"
_LIST = r"""(?s)^(\[.*\]|\{.*\}|\(\s*['"].*\)|\(\)|set\(\))$"""
"""Text that looks like a list, a set or a tuple of Python, or like JSON."""
_NO_COMMA = r"""(['"])\s+(['"])"""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnMatch:
    """The columns of side information; ``several`` if there is one per category or number."""

    names: tuple[str, ...]
    several: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class LabelColumn:
    """Codes of names, row by row; ``starts`` delimits the rows, None for one name per row."""

    code: np.ndarray[tuple[int], np.dtype[np.int64]]
    names: tuple[str, ...]
    starts: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    description: str = ""

    @cached_property
    def signatures(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """A number for each distinct set of names of a row, in order; 0 for the empty set."""
        assert self.starts is not None
        n = len(self.starts) - 1
        owner = np.repeat(np.arange(n), np.diff(self.starts))
        pairs = pl.DataFrame({"row": owner, "code": self.code}).sort("row", "code")
        sets = pairs.group_by("row", maintain_order=True).agg(
            pl.col("code").cast(pl.String).str.zfill(9).str.join("|")
        )
        out = np.zeros(n, dtype=np.int64)
        out[sets["row"].to_numpy()] = sets["code"].rank("dense").to_numpy()
        return out


@dataclass(frozen=True, eq=False, repr=False)
class Matrix:
    """One vector per row; rows without one are not ``known`` and hold zeros."""

    vector: np.ndarray[tuple[int, int], np.dtype[np.float64]]
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    description: str = ""


def find_columns(
    table: Table,
    column: str,
    *,
    role: str,
    metric: object,
    columns: Columns | None,
    several: bool = False,
) -> ColumnMatch:
    """Return the columns of side information; several if each category or number has a column.

    Parameters
    ----------
    table : Table
        Items or users.
    column : str
        The column that the metric names; the role itself is the column that is recognised for it.
    role : str
        The role of the column: ``"group"``, ``"categories"``, ``"features"``, …
    metric : object
        The metric, for the error.
    columns : mapping, optional
        Columns named by the caller.
    several : bool, default=False
        Whether a pattern such as ``genre_*`` may name several columns.

    Raises
    ------
    MetricError
        If there is none.
    """
    names = [name for name in table.frame.columns if name != table.role[:-1]]
    chosen: str | None = column
    if column == role and role in KNOWN[table.role]:
        named = overrides_for(columns, table.role)
        chosen = known_column(names, table.role, role, named, table.source)
        _check_is_there(table, role, named.get(role), names)

    if several and chosen is not None and chosen.endswith("*"):
        matches = tuple(name for name in names if name.startswith(chosen[:-1]))
        if matches:
            return ColumnMatch(matches, several=True)
    if chosen in names:
        return ColumnMatch((chosen,))
    check_was_read(table, chosen)
    what = "groups" if role == "group" else role
    raise MetricError(
        f"{metric} needs the {what} of {table.role}, and there is no such column in the table of "
        f"{table.role}",
        where=table.source,
        found=_listed(table),
        hint=_how_to_name(table, column, role, columns, names),
    )


def _check_is_there(table: Table, role: str, name: str | None, names: Sequence[str]) -> None:
    """Raise if the caller named a column for a role that the table does not have."""
    if name is not None and name not in names and not name.endswith("*"):
        raise ColumnError(
            f"there is no column {name!r} for the {role}",
            where=table.source,
            found=_listed(table),
            hint=nearest(name, names),
        )


def _listed(table: Table) -> str:
    """Return the columns of a table, for an error."""
    return "columns " + ", ".join(map(repr, table.frame.columns))


def _how_to_name(
    table: Table, column: str, role: str, columns: Columns | None, names: Sequence[str]
) -> str:
    """Return a hint for a column that was not found."""
    if role == "features":
        chosen = overrides_for(columns, "items")
        categories = known_column(names, "items", "categories", chosen, table.source)
        if categories is not None:
            return (
                f"column {categories!r} holds categories, which "
                "intra_list_diversity(distance=jaccard) compares"
            )
    return (
        nearest(column, names)
        or f"say which: {parameter('columns', {f'{table.role}.{role}': '…'})}, or in the metric"
    )


def read_groups(table: Table, column: str, groups: pl.Series | None = None) -> LabelColumn:
    """Read a column of groups: one per row, -1 where the group is null.

    ``groups`` are all that there are, where the table has some of the rows only.
    """
    values = as_labels(table.frame[column], f"{table.source}, column {column!r}")
    ordered = (values if groups is None else clean_labels(groups)).drop_nulls().unique().sort()
    names = ordered.cast(pl.String)
    if not len(names):
        raise ColumnError(f"column {column!r} holds no group", where=table.source)
    codes = lookup_rows(values, ordered.cast(values.dtype))
    return LabelColumn(codes, tuple(names), description=f"column {column!r}")


def _number(table: Table, name: str) -> pl.Series:
    """Return a column of numbers, or of true and false, as floats; nulls stay."""
    column = plain_strings(table.frame[name])
    if column.dtype == pl.String:
        text = column.str.strip_chars().str.to_lowercase()
        column = text.replace({"true": "1", "false": "0", "": None})
    has_none = (
        column.dtype.is_nested()
        or column.dtype.is_temporal()
        or column.dtype in (pl.Binary, pl.Object)
    )
    number = None if has_none else column.cast(pl.Float64, strict=False)
    if number is None or number.null_count() > column.null_count():
        raise ColumnError(
            f"column {name!r} does not hold numbers, or true and false",
            where=table.source,
            found=str(table.frame.schema[name]),
        )
    return number


def read_categories(table: Table, chosen: ColumnMatch) -> LabelColumn:
    """Return categories: a column of lists, of delimited text, or one column per category."""
    columns = chosen.names
    if chosen.several:
        prefix = _common_prefix(columns)
        numbers = [_number(table, name).fill_nan(None) for name in columns]  # NaN would be above 0
        flags = [(number > 0).fill_null(value=False) for number in numbers]
        matrix = np.stack([flag.to_numpy() for flag in flags], axis=1)
        names = tuple(name.removeprefix(prefix) for name in columns)
        order = sorted(range(len(names)), key=names.__getitem__)
        row, code = np.nonzero(matrix[:, order])
        starts = np.searchsorted(row, np.arange(len(matrix) + 1))
        description = f"{len(columns)} columns {prefix}…"
        return LabelColumn(code, tuple(sorted(names)), starts, description)
    lists, description = category_lists(table, columns[0])
    starts = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())]).astype(np.int64)
    flat = lists.explode(empty_as_null=False)
    ordered = flat.unique().sort()
    if not len(ordered):
        raise ColumnError(f"column {columns[0]!r} holds no category", where=table.source)
    codes = flat.replace_strict(ordered, np.arange(len(ordered)), return_dtype=pl.Int64)
    return LabelColumn(codes.to_numpy(), tuple(ordered), starts, description)


def category_lists(table: Table, name: str) -> tuple[pl.Series, str]:
    """Return the categories of each item as a list of text, and how the column was read.

    However they are written, blanks around a category do not belong to it, and empty text is none.
    """
    values, description = plain_strings(table.frame[name]), f"column {_plain(name)!r}"
    if values.dtype == pl.String:
        filled = values.fill_null("").str.strip_chars()
        lists = _written_lists(table, name, filled)
        if lists is not None:
            description += ", lists written as text"
        else:
            separator = next(
                (s for s in _SEPARATORS if filled.str.contains(s, literal=True).any()), ""
            )
            description += f", split at {separator!r}" if separator else ""
            lists = (
                filled.str.split(separator) if separator else filled.reshape((-1, 1)).arr.to_list()
            )
    elif isinstance(values.dtype, pl.List | pl.Array):
        if values.dtype.inner.is_nested() or values.dtype.inner in (
            pl.Binary,
            pl.Object,
            pl.Duration,
        ):
            raise _no_categories(table, name, str(values.dtype))
        lists = values.cast(pl.List(values.dtype.inner)).cast(pl.List(pl.String))
    else:
        one = as_labels(values.alias(_plain(name)), f"{table.source}, column {_plain(name)!r}")
        lists = one.cast(pl.String).reshape((-1, 1)).arr.to_list()
    lists = lists.list.eval(pl.element().str.strip_chars())
    lists = lists.list.eval(pl.element().filter(pl.element() != ""))
    return lists.list.unique(maintain_order=True).fill_null([]), description


def _written_lists(table: Table, name: str, text: pl.Series) -> pl.Series | None:
    """Parse lists written as text, in JSON or Python notation; return None for other text.

    Programs that write tables as text leave a list like this, and its commas are not between
    categories alone: they may be inside one.
    """
    looks = text.str.contains(_LIST)
    if not looks.any():
        return None
    parsed = {each: _parsed_list(each) for each in text.filter(looks).unique()}
    is_list = (
        (text != "")
        & looks
        & text.replace_strict(
            {each: items is not None for each, items in parsed.items()},
            default=False,
            return_dtype=pl.Boolean,
        )
    )
    other = (text != "") & ~is_list
    if not is_list.any() and not (looks | (text == "")).all():
        return None  # text that has brackets: [REC]
    if other.any():
        raise _no_categories(table, name, repr(text[int(other.arg_max() or 0)]), other)
    return pl.Series([parsed.get(each) or [] for each in text], dtype=pl.List(pl.String))


def _parsed_list(text: str) -> list[str | None] | None:
    """Parse a list written as text; return None if the text is no list of plain values.

    >>> _parsed_list('["a, b", "c"]'), _parsed_list("['a', None]"), _parsed_list("['a' 'b']")
    (['a, b', 'c'], ['a', None], ['a', 'b'])
    """
    values: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        values = json.loads(text)
    if values is None:
        # NumPy shows an array without commas, which Python would read as one text.
        text = re.sub(_NO_COMMA, r"\1, \2", text)
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            values = set() if text == "set()" else ast.literal_eval(text)
    if isinstance(values, set | frozenset):
        values = sorted(values, key=str)
    if not isinstance(values, list | tuple) or any(
        not isinstance(value, str | int | float | None) for value in values
    ):
        return None
    return [None if value is None or value != value else str(value) for value in values]


def _no_categories(
    table: Table, name: str, found: str, bad: pl.Series | None = None
) -> ColumnError:
    """Return the error for a column that is no text and no lists of text or numbers."""
    row = "" if bad is None else f", item {table.frame['item'][int(bad.arg_max() or 0)]!r}"
    return ColumnError(
        f"column {_plain(name)!r} does not hold lists of categories",
        where=f"{table.source}{row}",
        found=found[:120] + ("" if bad is None else f" ({int(bad.sum())} such items)"),
        hint="write the names of the categories of each item as a list, or as text with | between "
        "them",
    )


def _plain(name: str) -> str:
    """Return a column as the source calls the column, without the prefix of the ground truth."""
    return name.removeprefix("truth:")


def _common_prefix(names: tuple[str, ...]) -> str:
    """Return the common prefix of names; up to the last ``_`` of a single name."""
    if len(names) == 1:
        return names[0][: names[0].rfind("_") + 1]
    low, high = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    return low[:length]


def read_features(table: Table, chosen: ColumnMatch) -> Matrix:
    """Return vectors: a column of lists or arrays of numbers, or several columns of numbers."""
    columns = chosen.names
    if chosen.several:
        numbers = pl.DataFrame({name: _number(table, name) for name in columns})
        values = numbers.select(pl.concat_list(pl.all()).alias("vector"))["vector"]
    else:
        values = table.frame[columns[0]]
    dtype = values.dtype
    if not isinstance(dtype, pl.List | pl.Array) or not (
        dtype.inner.is_numeric() or dtype.inner == pl.Boolean or dtype.inner == pl.Null
    ):
        raise ColumnError(
            f"column {columns[0]!r} does not hold vectors",
            where=table.source,
            found=str(values.dtype),
            hint="features are a column of lists or arrays of numbers, or several columns of "
            f"numbers, named by what they have in common: {parameter('features', 'f_*')}",
        )
    lists = values.cast(pl.List(pl.Float64))
    lengths = lists.list.len()
    known = lists.is_not_null().to_numpy()
    sizes = lengths.filter(pl.Series(known)).unique()
    if len(sizes) != 1 or sizes[0] == 0:
        raise ColumnError(
            "features must be vectors of one length",
            where=f"{table.source}, column {columns[0]!r}",
            found=f"lengths {', '.join(map(str, sizes.sort()[:5]))}",
        )
    vector = np.zeros((len(lists), int(sizes[0])))
    vector[known] = lists.filter(pl.Series(known)).explode().to_numpy().reshape(-1, int(sizes[0]))
    bad = ~np.isfinite(vector).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ScoreError(
            "a feature is null, NaN or infinite",
            where=f"{table.source}, column {columns[0]!r}, item {table.frame['item'][row]!r}",
            found=f"{int(bad.sum())} such items",
        )
    description = f"{len(columns)} columns" if chosen.several else f"column {columns[0]!r}"
    return Matrix(vector, known, description)
