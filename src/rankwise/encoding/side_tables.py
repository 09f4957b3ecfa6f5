"""Columns of the tables of items and users, in any supported layout, as arrays by code.

All results are in the order of the table's rows; no row is dropped.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.blocks.block import Categories, Fact, Features, Groups, Popularity, Propensity, Similarity, Source
from rankwise.core.ids import labels, plain_strings
from rankwise.core.ragged import Ints, offsets, ragged_rows
from rankwise.errors import ColumnError, MetricError, ParameterError, ScoreError, nearest
from rankwise.tables.columns import KNOWN, Columns, check_was_read, choose, known_column
from rankwise.tables.table import Table, TableRole

__all__ = [
    "Found",
    "Matrix",
    "Named",
    "count_users",
    "find",
    "place_categories",
    "place_features",
    "place_groups",
    "place_popularity",
    "place_propensity",
    "place_source",
    "popularity_frame",
    "read_categories",
    "read_features",
    "read_groups",
    "similarity",
    "source_frame",
]

_SEPARATORS = "|;,"
_LIST = r"""(?s)^(\[.*\]|\{.*\}|\(\s*['"].*\)|\(\)|set\(\))$"""
"""Text that looks like a list, a set or a tuple of Python, or like JSON."""
_NO_COMMA = re.compile(r"""(['"])\s+(['"])""")
_COLUMN_OF = {"item_group": "group", "user_group": "group"}


@dataclass(frozen=True)
class Found:
    """The columns of a fact; ``several`` if there is one per category or number."""

    names: tuple[str, ...]
    several: bool = False


@dataclass(frozen=True)
class Named:
    """Numbers of names, row by row; ``starts`` where each row starts, None if it has one name."""

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
        sets = pairs.group_by("row", maintain_order=True).agg(pl.col("code").cast(pl.String).str.zfill(9).str.join("|"))
        out = np.zeros(n, dtype=np.int64)
        out[sets["row"].to_numpy()] = sets["code"].rank("dense").to_numpy()
        return out


@dataclass(frozen=True)
class Matrix:
    """One vector per row; rows without one are not ``known`` and hold zeros."""

    vector: np.ndarray[tuple[int, int], np.dtype[np.float64]]
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    description: str = ""


def find(table: Table, fact: Fact[Any], metric: object, columns: Columns | None) -> Found:
    """Return the columns of a fact; several where each category or number has its own column.

    Raises
    ------
    MetricError
        If there is none.
    """
    role: TableRole = "users" if fact.kind == "user_group" else "items"
    column = _COLUMN_OF.get(fact.kind, fact.kind)
    names = [name for name in table.frame.columns if name != role[:-1]]
    listed = "columns " + ", ".join(map(repr, table.frame.columns))
    chosen: str | None = fact.column
    if chosen == column and column in KNOWN[role]:
        given = choose(columns, role)
        chosen = known_column(names, role, column, given, table.source)
        name = given.get(column)
        if name is not None and name not in names and not name.endswith("*"):
            raise ColumnError(
                f"there is no column {name!r} for the {column}",
                where=table.source,
                found=listed,
                hint=nearest(name, names),
            )
    if chosen is not None and chosen.endswith("*") and fact.kind in ("categories", "features"):
        several = [name for name in names if name.startswith(chosen[:-1])]
        if several:
            return Found(tuple(several), several=True)
    if chosen in names:
        return Found((chosen,))
    check_was_read(table, chosen)
    hint = nearest(fact.column, names) or f'say which: columns={{"{role}.{column}": "…"}}, or in the metric'
    if fact.kind == "features":
        named = known_column(names, "items", "categories", choose(columns, "items"), table.source)
        if named is not None:
            hint = f"column {named!r} holds categories, which intra_list_diversity(distance=jaccard) compares"
    groups = {"item_group": "groups of items", "user_group": "groups of users"}
    raise MetricError(
        f"{metric} needs the {groups.get(fact.kind, f'{fact.kind} of items')}, and there is no "
        f"such column in the table of {role}",
        where=table.source,
        found=listed,
        hint=hint,
    )


def read_groups(table: Table, column: str, groups: pl.Series | None = None) -> Named:
    """Return a column of groups: one per row, -1 where it is null.

    ``groups`` are all that there are, where the table has some of the rows only.
    """
    values = table.frame[column]
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise ColumnError(
            f"column {column!r} does not hold one group per row", where=table.source, found=str(values.dtype)
        )
    values = labels(values)
    ordered = (values if groups is None else labels(groups)).drop_nulls().unique().sort()
    names = ordered.cast(pl.String)
    if not len(names):
        raise ColumnError(f"column {column!r} holds no group", where=table.source)
    codes = values.replace_strict(
        ordered.cast(values.dtype), np.arange(len(ordered)), default=-1, return_dtype=pl.Int64
    )
    return Named(codes.fill_null(-1).to_numpy(), tuple(names), description=f"column {column!r}")


def _number(table: Table, name: str) -> pl.Series:
    """Return a column of numbers, or of true and false, as floats; nulls stay."""
    column = table.frame[name]
    if column.dtype == pl.String:
        text = column.str.strip_chars().str.to_lowercase()
        column = text.replace({"true": "1", "false": "0", "": None})
    number = None if column.dtype.is_nested() else column.cast(pl.Float64, strict=False)
    if number is None or number.null_count() > column.null_count():
        raise ColumnError(
            f"column {name!r} does not hold numbers, or true and false",
            where=table.source,
            found=str(table.frame.schema[name]),
        )
    return number


def read_categories(table: Table, chosen: Found) -> Named:
    """Return categories: a column of lists, of delimited text, or one column per category."""
    columns = chosen.names
    if chosen.several:
        prefix = _common_prefix(columns)
        flags = [(_number(table, name) > 0).fill_null(value=False) for name in columns]
        matrix = np.stack([flag.to_numpy() for flag in flags], axis=1)
        names = tuple(name.removeprefix(prefix) for name in columns)
        order = sorted(range(len(names)), key=names.__getitem__)
        row, code = np.nonzero(matrix[:, order])
        starts = np.searchsorted(row, np.arange(len(matrix) + 1))
        description = f"{len(columns)} columns {prefix}…"
        return Named(code, tuple(sorted(names)), starts, description)
    lists, description = _lists_of_categories(table, columns[0])
    starts = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())]).astype(np.int64)
    flat = lists.explode(empty_as_null=False)
    ordered = flat.unique().sort()
    if not len(ordered):
        raise ColumnError(f"column {columns[0]!r} holds no category", where=table.source)
    codes = flat.replace_strict(ordered, np.arange(len(ordered)), return_dtype=pl.Int64)
    return Named(codes.to_numpy(), tuple(ordered), starts, description)


def _lists_of_categories(table: Table, name: str) -> tuple[pl.Series, str]:
    """Return the categories of each item as a list of text, and how the column was read.

    However they are written, blanks around a category do not belong to it, and empty text is none.
    """
    values, description = plain_strings(table.frame[name]), f"column {name!r}"
    if values.dtype == pl.String:
        filled = values.fill_null("").str.strip_chars()
        lists = _written_lists(table, name, filled)
        if lists is not None:
            description += ", lists written as text"
        else:
            separator = next((s for s in _SEPARATORS if filled.str.contains(s, literal=True).any()), "")
            description += f", split at {separator!r}" if separator else ""
            lists = filled.str.split(separator) if separator else filled.reshape((-1, 1)).arr.to_list()
    elif isinstance(values.dtype, pl.List | pl.Array):
        if values.dtype.inner.is_nested():
            raise _no_categories(table, name, str(values.dtype))
        lists = values.cast(pl.List(pl.String))
    else:
        lists = values.cast(pl.String).reshape((-1, 1)).arr.to_list()
    lists = lists.list.eval(pl.element().str.strip_chars())
    lists = lists.list.eval(pl.element().filter(pl.element() != ""))
    return lists.list.unique(maintain_order=True).fill_null([]), description


def _written_lists(table: Table, name: str, text: pl.Series) -> pl.Series | None:
    """Return lists that are written as text, in JSON or as Python shows them; None for other text.

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
            {each: items is not None for each, items in parsed.items()}, default=False, return_dtype=pl.Boolean
        )
    )
    other = (text != "") & ~is_list
    if not is_list.any() and not (looks | (text == "")).all():
        return None  # text that has brackets: [REC]
    if other.any():
        raise _no_categories(table, name, repr(text[int(other.arg_max() or 0)]), other)
    return pl.Series([parsed.get(each) or [] for each in text], dtype=pl.List(pl.String))


def _parsed_list(text: str) -> list[str | None] | None:
    """Return the values of a list that is written as text; None if it is no list of plain values.

    >>> _parsed_list('["a, b", "c"]'), _parsed_list("['a', None]"), _parsed_list("['a' 'b']")
    (['a, b', 'c'], ['a', None], ['a', 'b'])
    """
    values: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        values = json.loads(text)
    if values is None:
        # NumPy shows an array without commas, which Python would read as one text.
        text = _NO_COMMA.sub(r"\1, \2", text)
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            values = set() if text == "set()" else ast.literal_eval(text)
    if isinstance(values, set | frozenset):
        values = sorted(values, key=str)
    if not isinstance(values, list | tuple) or any(not isinstance(value, str | int | float | None) for value in values):
        return None
    return [None if value is None or value != value else str(value) for value in values]


def _no_categories(table: Table, name: str, found: str, bad: pl.Series | None = None) -> ColumnError:
    """Return the error for a column that is no text and no lists of text or numbers."""
    row = "" if bad is None else f", item {table.frame['item'][int(bad.arg_max() or 0)]!r}"
    return ColumnError(
        f"column {name!r} does not hold lists of categories",
        where=f"{table.source}{row}",
        found=found[:120] + ("" if bad is None else f" ({int(bad.sum())} such items)"),
        hint="write the names of the categories of each item as a list, or as text with | between them",
    )


def _common_prefix(names: tuple[str, ...]) -> str:
    """Return the common prefix of names; up to the last ``_`` of a single name."""
    if len(names) == 1:
        return names[0][: names[0].rfind("_") + 1]
    low, high = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    return low[:length]


def read_features(table: Table, chosen: Found) -> Matrix:
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
            "numbers, named by what they have in common: features='f_*'",
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


_MOST_SIMILAR = 20_000
"""The largest number of items for similarities: their matrix alone has 3.2 GB."""


def _users(*, distinct: bool) -> pl.Expr:
    """Return a count of users: of rows, where no row repeats another."""
    return (pl.len() if distinct else pl.col("user").n_unique()).alias("count")


def count_users(train: Table, *, distinct: bool) -> pl.DataFrame:
    """Return the number of distinct users of every training item: ``item``, ``count``."""
    return train.frame.group_by("item").agg(_users(distinct=distinct))


def popularity_frame(counted: pl.DataFrame) -> pl.DataFrame:
    """Return the users of every training item, most popular first, ties by id."""
    counted = counted.sort(["count", "item"], descending=[True, False])
    number = pl.col("count").cast(pl.Float64)
    return counted.with_columns(
        number,
        above=(number.cum_sum() - number),
        popularity_rank=number.rank("dense", descending=True).cast(pl.Float64),
    )


def _take(values: Any, row: Ints, missing: float) -> Any:
    """Return values by row number; -1 has the missing value."""
    return np.where(row >= 0, np.asarray(values)[row], missing)


def place_popularity(frame: pl.DataFrame, n_users: int, row: Ints) -> Popularity:
    """Return the popularity of each item code from its row in the table, -1 for none."""
    total = float(frame["count"].sum())
    return Popularity(
        count=_take(frame["count"], row, 0.0),
        above=_take(frame["above"], row, total),
        popularity_rank=_take(frame["popularity_rank"], row, float(len(frame) + 1)),
        n_users=n_users,
        n_interactions=int(total),
        most=float(frame["count"][0]),
    )


def place_groups(groups: Named, row: Ints) -> Groups:
    """Return the group of each code from its row in the table."""
    if not len(groups.code):  # a piece whose users the table does not have
        return Groups(np.full(len(row), -1), groups.names)
    return Groups(np.where(row >= 0, groups.code[row], -1), groups.names)


def place_categories(categories: Named, row: Ints) -> Categories:
    """Return the categories of each item code from its row in the table."""
    starts = categories.starts
    assert starts is not None
    lengths = np.where(row >= 0, np.diff(starts)[row], 0)
    code = categories.code[ragged_rows(starts[:-1][row], lengths)]
    signature = np.where(row >= 0, categories.signatures[row], 0)
    return Categories(offsets(lengths), code, signature, categories.names)


def place_features(matrix: Matrix, row: Ints) -> Features:
    """Return the feature vector of each item code from its row in the table."""
    known = (row >= 0) & matrix.known[row]
    return Features(np.where(known[:, None], matrix.vector[row], 0.0), known)


def place_propensity(table: Table, column: str, row: Ints) -> Propensity:
    """Return the propensity of each item code from its row in the table; NaN without a row."""
    values = table.frame[column].cast(pl.Float64, strict=False)
    bad = (values.is_null() | ~(values > 0) | (values > 1)).fill_null(value=True)
    if bad.any():
        first = int(bad.arg_true()[0])
        raise ScoreError(
            "a propensity is a probability above 0 and at most 1",
            where=f"{table.source}, column {column!r}, item {table.frame['item'][first]!r}",
            found=f"{table.frame[column][first]} ({int(bad.sum())} such items)",
        )
    return Propensity(_take(values, row, np.nan))


def source_frame(train: Table, users: pl.DataFrame, *, distinct: bool) -> pl.DataFrame:
    """Return the distinct users of every training item per ``group`` of users."""
    joined = train.frame.select("user", "item").join(users, on="user", how="inner")
    return joined.group_by("item", "group").agg(_users(distinct=distinct))


def place_source(frame: pl.DataFrame, index: Ints, names: tuple[str, ...], size: int) -> Source:
    """Return counts by item and group as a matrix; ``index`` is the item code of each row."""
    count = np.zeros((size, len(names)))
    group = frame["group"].to_numpy()
    known = (index >= 0) & (group >= 0)
    np.add.at(count, (index[known], group[known]), frame["count"].to_numpy()[known])
    return Source(count, names)


def similarity(train: Table, codes: Ints, size: int) -> Similarity:
    """Return the cosine of every two items' columns of training users; code -1 is no item."""
    from scipy.sparse import csr_array

    pairs = train.frame.select("user").with_columns(item=codes).filter(pl.col("item") >= 0).unique()
    items = pairs["item"].unique().sort().to_numpy()
    if len(items) > _MOST_SIMILAR:
        raise ParameterError(
            "similarities by co-occurrence are computed between all items at once, and there are too many items",
            found=f"{len(items):,} items, at most {_MOST_SIMILAR:,}",
            hint="use similarity=features",
        )
    row = np.full(size, len(items), dtype=np.int64)
    row[items] = np.arange(len(items))
    users = pairs["user"].rank("dense").to_numpy().astype(np.int64) - 1
    columns = row[pairs["item"].to_numpy()]
    shape = (users.max(initial=-1) + 1, len(items))
    matrix = csr_array((np.ones(len(columns)), (users, columns)), shape=shape)
    common = (matrix.T @ matrix).toarray()
    norm = np.sqrt(np.diag(common))
    cosine = np.zeros((len(items) + 1, len(items) + 1))
    # Rounded, so that sums of up to 2^14 of them are exact in any order of summation.
    cosine[:-1, :-1] = np.round(common / norm[:, None] / norm[None, :] * 2.0**38) / 2.0**38
    return Similarity(row, cosine)
