"""From a name to the slice of each row: columns of items, ground truth and users, and training.

The code of a slice is an integer, which is the identity of the slice; names are made once, for the
tables of a result. Columns of users are cut at edges here as well (`with_bins`), and crossed with
each other (`crossed_users`) or with slices.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankwise.core.units import REQUEST
from rankwise.core.vocabularies import lookup_rows
from rankwise.encoding.side_columns import category_lists, find_columns, read_categories
from rankwise.errors import ColumnError, ParameterError
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.user_table import UserTable
from rankwise.messages import parameter
from rankwise.options import COLD_ITEMS
from rankwise.results.intervals import CROSSED, in_order, is_truth_slice
from rankwise.tables.catalogue import item_column
from rankwise.tables.columns import check_once, without_edges
from rankwise.tables.table import Table, Tables
from rankwise.tables.training import (
    check_train_groups,
    groups_by_training,
    train_groups,
    with_user_column,
)
from rankwise.tables.values import as_labels, as_numbers, numbers_in_text

UNKNOWN = -1
"""The code of rows of whose slice nothing is known."""
_MANY_NUMBERS = 10  # distinct numbers from which on they are cut into bins
_BINS = 4
_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"
_BY_TRAINING = ("repeat", "item:popularity", COLD_ITEMS)
WARM_AND_COLD = ("warm", "cold")
"""The slices of items that training knows and does not know."""


def with_numbers(tables: Tables, by: Iterable[str]) -> Tables:
    """Parse the grouping and slicing columns of text files as numbers."""
    truth, items, users = tables.truth, tables.items, tables.users
    for name in by:
        if name.startswith("item:"):
            items = _with_numbers(items, name.removeprefix("item:"))
        elif name.startswith("truth:"):
            truth = _with_numbers(truth, name)
        else:
            users = _with_numbers(users, name)
    return replace(tables, truth=truth, items=items, users=users)


_T = TypeVar("_T", bound=Table)


def _with_numbers(table: Table | None, name: str) -> Table | None:
    """Return a table of a text file with the numbers of a column as numbers."""
    if table is None or not table.is_text:
        return table
    column = _column(table, name)
    numbers = numbers_in_text(table.frame[column]) if column in table.frame.columns else None
    return (
        table
        if numbers is None
        else table.with_frame(table.frame.with_columns(numbers.alias(column)))
    )


def _column(table: Table, name: str) -> str:
    """Return the column that a name stands for: the exact name, else the name without edges."""
    return name if name in table.frame.columns else without_edges(name)


Edge: TypeAlias = int | float


@dataclass(frozen=True)
class Bins:
    """Intervals of numbers, closed at the lower edge: below, between and above the edges.

    Attributes
    ----------
    edges : tuple of int or float
        In increasing order.
    all_digits : bool
        Whether names have all digits of the edges, or as many as tell these apart.
    """

    edges: tuple[Edge, ...]
    all_digits: bool = True

    @classmethod
    def read(cls, name: str) -> Self | None:
        """Return the bins in the name of a slicing; None without edges.

        >>> Bins.read("item:price[5,10]").names, Bins.read("repeat")
        (['below 5', '5 to 10', '10 and above'], None)
        """
        plain = without_edges(name)
        if plain == name:
            return None
        try:
            edges = [_edge(text) for text in name[len(plain) + 1 : -1].split(",")]
        except ValueError as error:
            raise ParameterError(
                "edges of a slice are numbers",
                found=parameter("by", name),
                hint='"item:price[5,10]"',
            ) from error
        if sorted({*edges}) != edges or not all(map(math.isfinite, edges)):
            raise ParameterError("edges of a slice increase", found=parameter("by", name))
        return cls(tuple(edges))

    @classmethod
    def at_quartiles(cls, numbers: pl.Series) -> Self | None:
        """Return bins with about as many numbers in each; None if no number is finite."""
        values = numbers.cast(pl.Float64).drop_nulls().to_numpy()
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        quartiles = np.quantile(values, np.arange(1, _BINS) / _BINS)
        return cls(tuple(sorted({float(edge) for edge in quartiles})), all_digits=False)

    @property
    def names(self) -> list[str]:
        """The names of the bins in order."""
        edges = self._edges_as_text()
        inner = [f"{low} to {high}" for low, high in pairwise(edges)]
        return [f"below {edges[0]}", *inner, f"{edges[-1]} and above"]

    def _edges_as_text(self) -> list[str]:
        """Return the edges with six digits, or with as many more as are needed to differ."""
        for digits in range(6, 18):
            texts = [_digits(edge, digits) for edge in self.edges]
            is_exact = not self.all_digits or all(
                float(text) == edge for text, edge in zip(texts, self.edges, strict=True)
            )
            if is_exact and len({*texts}) == len(texts):
                break
        return texts

    def codes(self, numbers: pl.Series) -> pl.Series:
        """Return the number of the bin that each number is in."""
        if numbers.dtype.is_integer() and numbers.dtype not in (
            pl.Int128,
            pl.UInt128,
        ):  # compared as integers, which have more digits than floats
            values, edges = (
                numbers.fill_null(0).to_numpy(),
                [math.ceil(edge) for edge in self.edges],
            )
            code = np.zeros(len(values), dtype=np.int64)
            for edge in edges:
                code += values >= edge
        else:
            values = numbers.cast(pl.Float64).fill_null(0.0).to_numpy()
            code = np.searchsorted(
                np.asarray(self.edges, dtype=np.float64), values, side="right"
            ).astype(np.int64)
        return pl.Series(np.where(numbers.is_null().to_numpy(), UNKNOWN, code))


def _edge(text: str) -> Edge:
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else float(text)


def _digits(edge: Edge, digits: int) -> str:
    """Return a number with ``digits`` digits, without an exponent if of usual size.

    >>> [_digits(edge, 6) for edge in (9.75, 1e6, 1234567.8, 1e-7)]
    ['9.75', '1000000', '1234568', '1e-07']
    """
    if isinstance(edge, int) or (edge.is_integer() and abs(edge) < 1e16):
        return str(int(edge))
    before_point = len(str(int(abs(edge)))) if abs(edge) < 1e16 else 0
    return f"{edge:.{max(digits, before_point)}g}"


@dataclass(frozen=True, eq=False, repr=False)
class Slicing:
    """One way to slice rows.

    Attributes
    ----------
    codes_of : callable
        Returns the code of the slice of each row of a table; a list of codes where rows may be in
        several slices.
    name_of : callable
        Returns the name of a code of 0 or more. Different codes have different names.
    size : int
        One more than the largest code.
    of_truth : bool, default=False
        Whether only rows of the ground truth have slices: codes are asked for of no other table.
    description : str, default=""
        How text was split into categories, if it was.
    """

    codes_of: Callable[[Table], pl.Series]
    name_of: Callable[[int], str]
    size: int
    of_truth: bool = False
    description: str = ""

    @classmethod
    def from_names(
        cls,
        codes_of: Callable[[Table], pl.Series],
        names: Sequence[str],
        *,
        of_truth: bool = False,
        description: str = "",
    ) -> Self:
        """Return a slicing whose codes count its names."""
        return cls(codes_of, names.__getitem__, len(names), of_truth, description)

    @classmethod
    def cross(cls, parts: Sequence[Slicing]) -> Self:
        """Return the slicing by the combinations of slices of several slicings.

        A code is a number whose digits are the codes of the parts. A row is unknown if one of them
        is.
        """
        sizes = [part.size for part in parts]

        def codes_of(table: Table) -> pl.Series:
            return _combine_codes([part.codes_of(table) for part in parts], sizes)

        def name_of(code: int) -> str:
            digits = np.unravel_index(code, sizes)
            return join_names(
                [part.name_of(int(digit)) for part, digit in zip(parts, digits, strict=True)]
            )

        of_truth = any(part.of_truth for part in parts)
        description = ", ".join(part.description for part in parts if part.description)
        return cls(codes_of, name_of, math.prod(sizes), of_truth, description)

    def name(self, code: int) -> str | None:
        """Return the name of a slice; None of the rows of which nothing is known."""
        return None if code == UNKNOWN else self.name_of(code)


def join_names(names: Sequence[str]) -> str:
    """Return the name of a combination, with ambiguous names in quotation marks.

    >>> join_names(["AT", "head"]), join_names(["a × b", "c"])
    ('AT × head', '"a × b" × c')
    """
    quoted = [
        json.dumps(n, ensure_ascii=False) if CROSSED in n or n.startswith('"') else n for n in names
    ]
    return CROSSED.join(quoted)


def _combine_codes(codes: Sequence[pl.Series], sizes: Sequence[int]) -> pl.Series:
    """Combine the codes of each row into one; several codes give every combination."""
    names = [f"{at}" for at in range(len(codes))]
    frame = pl.DataFrame(dict(zip(names, codes, strict=True))).with_row_index("row")
    several = [name for name in names if isinstance(frame.schema[name], pl.List)]
    for name in several:
        frame = frame.explode(name)

    strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    number = pl.sum_horizontal(
        pl.col(name) * stride for name, stride in zip(names, strides, strict=True)
    )
    is_known = pl.all_horizontal(pl.col(name) >= 0 for name in names)
    frame = frame.select("row", code=pl.when(is_known).then(number).otherwise(UNKNOWN))
    if several:
        frame = frame.group_by("row", maintain_order=True).agg(
            pl.col("code").unique(maintain_order=True)
        )
    return frame["code"]


def codes_as_in_truth(lists: Table, truth: Table, column: str) -> pl.Series:
    """Return the codes of list rows that the ground truth has, unknown for all other rows."""
    keys = [
        name
        for name in ("user", REQUEST, "item")
        if {name} <= {*lists.frame.columns} & {*truth.frame.columns}
    ]
    codes = truth.frame.select(*keys, column)
    codes = codes.explode(column) if isinstance(codes.schema[column], pl.List) else codes
    codes = codes.group_by(keys).agg(pl.col(column).unique())
    rows = lists.frame.select(keys).join(codes, on=keys, how="left", maintain_order="left")
    return _fill_codes(rows[column])


def crossed_slicing(names: Sequence[str], tables: Tables) -> Slicing:
    """Return slices that are combinations of slices, and of groups of users."""
    return Slicing.cross(
        [read_slicing(n, tables) if is_truth_slice(n) else _of_users(n, tables) for n in names]
    )


def _of_users(name: str, tables: Tables) -> Slicing:
    """Return slices that are groups of users."""
    groups_of = _groups_of(name, tables)
    present = [
        table.frame["user"] for table in (tables.truth, tables.recommendations) if table is not None
    ]
    ordered = (
        pl.concat([groups_of(ids.unique()) for ids in present])
        .drop_nulls()
        .unique()
        .sort()
        .cast(pl.String)
    )

    def codes_of(table: Table) -> pl.Series:
        groups = groups_of(table.frame["user"]).cast(pl.String)
        return pl.Series(lookup_rows(groups, ordered)).cast(pl.Int64)

    return Slicing.from_names(codes_of, ordered.to_list())


def _groups_of(name: str, tables: Tables) -> Callable[[pl.Series], pl.Series]:
    """Return the function from users to groups by a column of users or by training."""
    check_train_groups([name], tables.users, tables.train)
    made = train_groups(groups_by_training([name], tables.users), tables.train)
    table = UserTable.check(tables.users, (name,), None, made)
    return lambda ids: table.groups_of(ids.to_frame("user"), name)


def crossed_users(settings: Settings, tables: Tables) -> tuple[Settings, Tables]:
    """Combine all groupings of users into one if the settings ask for crossed groups."""
    if not settings.cross or any(map(is_truth_slice, settings.by)):
        return settings, tables
    name = CROSSED.join(settings.by)
    slicing = Slicing.cross([_of_users(one, tables) for one in settings.by])

    def combined(ids: pl.Series) -> pl.Series:
        users = Table(ids.to_frame("user"), "users", "users", "made of ids", {})
        codes = slicing.codes_of(users)
        ordered = codes.filter(codes >= 0).unique().sort()
        names = pl.Series([slicing.name_of(code) for code in ordered], dtype=pl.String)
        groups = codes.replace_strict(ordered, names, default=None, return_dtype=pl.String)
        return groups.cast(pl.Enum(names))

    present = [table for table in (tables.truth, tables.recommendations) if table is not None]
    users = with_user_column(tables.users, present, name, "cross", combined)
    return replace(settings, by=(name,), cross=False), replace(tables, users=users)


def with_bins(users: Table | None, by: Iterable[str]) -> Table | None:
    """Add a column of bins to the users for each name with edges, as ``age[30,50]``."""
    for name in by if users is not None else ():
        assert users is not None
        if (
            is_truth_slice(name)
            or name in users.frame.columns
            or without_edges(name) not in users.frame.columns
        ):
            continue
        bins = Bins.read(name)
        if bins is None:
            continue
        codes = bins.codes(_numbers(users, without_edges(name), name))
        groups = codes.replace_strict(
            range(len(bins.names)), bins.names, default=None, return_dtype=pl.String
        )
        users = users.with_frame(
            users.frame.with_columns(groups.cast(pl.Enum(bins.names)).alias(name))
        )
    return users


def _numbers(table: Table, column: str, asked: str) -> pl.Series:
    """Return a column that is cut into bins as numbers."""
    try:
        return as_numbers(table.frame[column].alias(column.removeprefix("truth:")), table.source)
    except ColumnError as error:
        kind, every = table.frame.schema[column], without_edges(asked)
        raise ColumnError(
            f"{parameter('by', asked)} cuts numbers into bins",
            where=error.where,
            found=f"a column {column.removeprefix('truth:')!r} of {kind}, {error.found}",
            hint=f"{parameter('by', every)} takes each value for a slice",
        ) from error


def read_slicing(name: str, tables: Tables) -> Slicing:
    """Return the slicing that a name stands for."""
    plain = without_edges(name)
    if plain in _BY_TRAINING:
        if plain != name:
            raise ParameterError(f"{plain} has no edges", found=parameter("by", name))
        return _training_slicing(plain, tables)
    kind, _, column = name.partition(":")
    return _of_truth(name, tables) if kind == "truth" else _of_items(name, column, tables)


def _of_truth(name: str, tables: Tables) -> Slicing:
    """Return slices by a column of the ground truth."""
    truth = tables.truth
    assert truth is not None
    column = _column(truth, name)
    _check_column(truth, column)
    codes, names, description = _codes_of_column(truth, column, name)
    return Slicing.from_names(lambda _: codes, names, of_truth=True, description=description)


def _of_items(name: str, column: str, tables: Tables) -> Slicing:
    """Return slices by a column of the items, or by flag columns, as ``item:genre_*``."""
    items = tables.items
    if items is not None and column.endswith("*") and column not in items.frame.columns:
        match = find_columns(
            items,
            column,
            role="categories",
            metric=parameter("by", name),
            columns=None,
            several=True,
        )
        flags = read_categories(items, match)
        assert flags.starts is not None
        check_once(items, "item")
        return _by_item(items, _lists_of(flags.code, flags.starts), flags.names)

    more = f'also "item:popularity" and "item:cold", with {parameter("train")}'
    chosen = column if items is None else _column(items, column)
    items, _ = item_column(items, chosen, parameter("by", name), more)
    check_once(
        items,
        "item",
        hint="keep one row per item; several categories of an item are a list in its row",
    )
    codes, names, description = _codes_of_column(items, chosen, name)
    return replace(_by_item(items, codes, names), description=description)


def _lists_of(code: Any, starts: Any) -> pl.Series:
    """Return ragged codes as a column of lists."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    lists = pl.DataFrame({"row": rows, "code": code}).group_by("row").agg("code")
    every = pl.DataFrame({"row": np.arange(len(starts) - 1)}).join(
        lists, on="row", how="left", maintain_order="left"
    )
    return _fill_codes(every["code"])


def _by_item(
    items: Table, codes: pl.Series, names: Sequence[str], unknown: int = UNKNOWN
) -> Slicing:
    """Return slices in which items are, ``unknown`` for items that the table lacks."""
    coded = items.frame.select("item").with_columns(codes.alias("code"))

    def codes_of(table: Table) -> pl.Series:
        ids = table.frame.select("item")
        rows = ids.join(coded, "item", "left", maintain_order="left")
        return _fill_codes(rows["code"], unknown)

    return Slicing.from_names(codes_of, names)


def _fill_codes(codes: pl.Series, unknown: int = UNKNOWN) -> pl.Series:
    """Return codes, or lists of them, with ``unknown`` where there is none."""
    if isinstance(codes.dtype, pl.List):
        lists = codes.cast(pl.List(pl.Int64))
        is_missing = lists.is_null() | (lists.list.len() == 0)
        nothing = pl.lit(pl.Series([[unknown]], dtype=pl.List(pl.Int64)))
        return pl.select(pl.when(is_missing).then(nothing).otherwise(lists)).to_series()
    return codes.cast(pl.Int64).fill_null(unknown)


def _codes_of_column(table: Table, column: str, asked: str) -> tuple[pl.Series, list[str], str]:
    """Return the code of each value, the names of the codes, and how text was split.

    Names are those of bins, days, categories or single values.

    Numbers are cut at the edges that ``asked`` names, or at quartiles if there are many of them.
    """
    values = table.frame[column]
    bins = None if asked.endswith(column) else Bins.read(asked)
    if bins is not None:
        return bins.codes(_numbers(table, column, asked)), bins.names, ""
    if values.dtype.is_numeric():
        numbers = as_numbers(values, table.source)
        bins = Bins.at_quartiles(numbers) if values.n_unique() > _MANY_NUMBERS else None
        if bins is not None:
            return bins.codes(numbers), bins.names, ""

    texts, description = _texts(table, column)
    flat = texts.explode(empty_as_null=False) if isinstance(texts.dtype, pl.List) else texts
    names = in_order(flat.drop_nulls().unique().to_list())
    numbers = pl.Series(range(len(names)), dtype=pl.Int64)
    if not isinstance(texts.dtype, pl.List):
        return (
            _fill_codes(texts.replace_strict(names, numbers, default=None, return_dtype=pl.Int64)),
            names,
            description,
        )
    number = pl.element().replace_strict(names, numbers, default=None, return_dtype=pl.Int64)
    return _fill_codes(texts.list.eval(number.drop_nulls())), names, description


def _texts(table: Table, column: str) -> tuple[pl.Series, str]:
    """Return the slice names of each row, as lists for categories, and how text was split."""
    values = table.frame[column]
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.date().cast(pl.String), ""
    if not isinstance(values.dtype, pl.List | pl.Array):
        labels = as_labels(values.alias(column.removeprefix("truth:")), table.source).cast(
            pl.String
        )
        written = labels.drop_nulls()
        if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
            return labels, ""
        if len(written) and written.str.contains(_TIME).all():
            return labels.str.slice(0, 10), ""
    lists, description = category_lists(table, column)
    return lists, description.partition("', ")[2]


def _check_column(truth: Table, column: str) -> None:
    """Raise if a ground truth that has no columns, or is the part of a split, lacks one."""
    if column not in truth.frame.columns:
        raise ColumnError(
            f"there is no column {column.removeprefix('truth:')!r} of the ground truth",
            where=truth.source,
            found=truth.format,
            hint="pass a table with this column; of a split, its test part: split.test",
        )


def check_trained(name: str, train: object) -> None:
    """Raise if slices by training have no training interactions."""
    if train is None:
        raise ParameterError(
            f"{parameter('by', name)} slices by training interactions",
            found="no train",
            hint=f"pass {parameter('train')}",
        )


def _training_slicing(name: str, tables: Tables) -> Slicing:
    """Return slices by training: repeats of the user, cold items, popularity."""
    check_trained(name, tables.train)
    train = tables.train
    assert train is not None
    if name == "repeat":
        return _repeats(train)
    items = train.trained.frame.select("user", "item").unique().group_by("item").len("count")
    if name == COLD_ITEMS:
        codes, names = pl.Series(np.zeros(len(items), dtype=np.int64)), list(WARM_AND_COLD)
    else:
        codes, names = _thirds(items["count"]), ["head", "middle", "tail"]
    return _by_item(train.with_frame(items), codes, names, unknown=len(names) - 1)


def _repeats(train: Table) -> Slicing:
    """Return the slices of items that the user had in training, and of new ones."""
    pair = ["user", "item"]
    known = train.frame.select(pair).unique().with_columns(code=pl.lit(0, pl.Int64))

    def codes_of(table: Table) -> pl.Series:
        pairs = table.frame.select(pair)
        return _fill_codes(
            pairs.join(known, pair, "left", maintain_order="left")["code"], unknown=1
        )

    return Slicing.from_names(codes_of, ["repeat", "new"])


def _thirds(counts: pl.Series) -> pl.Series:
    """Return the third of training interactions that each item is in, 0 for the most popular items.

    Items of one count are in one slice: that in which the more popular items leave room.
    """
    frame = counts.to_frame("count")
    by_count = (
        frame.group_by("count").agg(total=pl.col("count").sum()).sort("count", descending=True)
    )
    before = by_count["total"].cum_sum() - by_count["total"]
    third = float(by_count["total"].sum()) / 3
    head = by_count.filter(before < third)["count"].min()
    middle = by_count.filter(before < 2 * third)["count"].min()
    code = (
        pl.when(pl.col("count") >= head)
        .then(0)
        .when(pl.col("count") >= middle)
        .then(1)
        .otherwise(2)
    )
    return frame.select(code.cast(pl.Int64)).to_series()
