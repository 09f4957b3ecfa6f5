"""Side information for metrics: how each kind is read from tables and encoded by code.

Every kind has one `Reader`; all else asks it. New side information is a type of values and its
reader: where a metric names the `Fact`, it is found in the tables, digested for comparisons, and
placed in blocks on every road.

Columns are looked up before any work and parsed once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.blocks.block import (
    Categories,
    Fact,
    Facts,
    Features,
    Groups,
    Membership,
    Popularity,
    Propensity,
    Similarity,
    Source,
)
from rankwise.blocks.lists import Lists
from rankwise.core.digests import (
    Words,
    column_words,
    digest_of_rows,
    id_words,
    number_words,
    row_digest,
    set_words,
    text_words,
)
from rankwise.core.ragged import Ints, UserItems, group, offsets, ragged_rows
from rankwise.core.units import REQUEST, unit_rows
from rankwise.core.vocabularies import lookup_rows
from rankwise.encoding.lists import IdSpace, encode_lists, later_rows, repeated_item, repeated_rows
from rankwise.encoding.side_columns import (
    ColumnMatch,
    LabelColumn,
    Matrix,
    find_columns,
    read_categories,
    read_features,
    read_groups,
)
from rankwise.errors import MetricError, ParameterError, ScoreError
from rankwise.messages import parameter
from rankwise.options import Duplicates, Ties
from rankwise.tables.columns import Columns, check_once
from rankwise.tables.table import TRAINED, Table, TableRole
from rankwise.tables.training import TrainGroups, group_names

Place: TypeAlias = Literal["item", "user", "pair", "rows"]
"""What side information is known of: each item, each user, each pair of items; or it is rows of a block."""

_NEEDED: dict[TableRole, str] = {
    "train": "training interactions",
    "users": "a table of users with their groups",
    "reference": "the lists of another system",
    "truth": "the ground truth of all users at once",
}
_HINTS: dict[TableRole, str] = {
    "truth": "rw.evaluate has it, and rw.Evaluator if truth is passed to it and not with every piece"
}
"""What to do where a table is missing that cannot be passed by itself."""
_MOST_SIMILAR = 20_000
"""The largest number of items for similarities: their matrix alone has 3.2 GB."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TrainingCounts:
    """Counts over all users, for evaluations in which no machine has all rows.

    Attributes
    ----------
    popularity : polars.DataFrame or None, default=None
        The number of distinct users of every training item: ``item``, ``count``.
    train_users : int, default=0
        The number of training users.
    sources : mapping of str to polars.DataFrame
        By column of user groups, the distinct training users of every item per group: ``item``,
        ``group`` as the number of its name, ``count``.
    groups : mapping of str to polars.Series
        By column of user groups, all groups that there are.
    train_groups : mapping of str to TrainGroups
        By name, the groups of users that training interactions define; pieces have their columns.
    digests : mapping of str to int
        Digests of tables of which pieces bring no rows.
    """

    popularity: pl.DataFrame | None = None
    train_users: int = 0
    sources: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    groups: Mapping[str, pl.Series] = field(default_factory=dict)
    train_groups: Mapping[str, TrainGroups] = field(default_factory=dict)
    digests: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """The codes or ids whose side information is computed.

    Attributes
    ----------
    rows : callable
        Takes a table, ids of it and their column, and returns the row of each code or id among
        them, -1 for none.
    distinct : bool, default=False
        Whether no training row repeats another, which makes counting users as cheap as counting
        rows.
    """

    rows: Callable[[Table, pl.Series, str], Ints]
    distinct: bool = False


READERS: dict[str, Reader] = {}
"""The reader of each kind of side information."""


class Reader:
    """How one kind of side information is found, read, placed by code and digested.

    A subclass registers itself: ``class Prices(Reader, kind="price")``.

    Attributes
    ----------
    tables : tuple of str
        The tables that it comes from; a column is one of the last.
    of : str
        What it is known of.
    noun : str
        What is missing where the table is.
    column : str
        The role of its column; empty if it is no column.
    several : bool
        Whether a pattern such as ``genre_*`` may name several columns.
    """

    tables: ClassVar[tuple[TableRole, ...]] = ("items",)
    of: ClassVar[Place] = "item"
    noun: ClassVar[str] = ""
    column: ClassVar[str] = ""
    several: ClassVar[bool] = False

    def __init_subclass__(cls, *, kind: str = "") -> None:
        if kind:
            READERS[kind] = cls()

    def tables_of(self, fact: Fact[Any], train_groups: Collection[str]) -> tuple[TableRole, ...]:
        """Return the tables of a fact, given the user groups that training defines."""
        return self.tables

    def find(self, side: SideTables, fact: Fact[Any], metric: str) -> ColumnMatch:
        """Return the columns of a fact; raise if there is none."""
        if not self.column:
            return ColumnMatch(())
        return find_columns(
            side.tables[self.tables[-1]],
            fact.column,
            role=self.column,
            metric=metric,
            columns=side.columns,
            several=self.several,
        )

    @abstractmethod
    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> object:
        """Return the values of a fact for the codes or ids of a target."""

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        """Return the hash words of each row beside its id, equal for every written form."""
        raise NotImplementedError

    def digest(self, side: SideTables, fact: Fact[Any]) -> int:
        """Return the digest of the ids and values of the table of a fact."""
        table = side.tables[side.tables_of(fact)[-1]]
        return row_digest([id_words(table.frame[table.role[:-1]]), *self.words(side, fact)])

    def description(self, side: SideTables, fact: Fact[Any]) -> str:
        """Return where a fact came from."""
        names = ", ".join(side.columns_of[fact].names)
        return f"column {names!r}" if names else self.tables[0]


class _ItemColumn(Reader):
    """A column of items that is parsed once."""

    @abstractmethod
    def parse(self, table: Table, columns: ColumnMatch) -> Any:
        """Return the column, row by row."""

    def column_values(self, side: SideTables, fact: Fact[Any]) -> Any:
        """Return the column, row by row, read before or now."""
        return side.read_once(fact, lambda: self.parse(side.tables["items"], side.columns_of[fact]))

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> object:
        table = side.tables["items"]
        row = target.rows(table, table.frame["item"], "item")
        return self.by_row(self.column_values(side, fact), row)

    @abstractmethod
    def by_row(self, parsed: Any, row: Ints) -> object:
        """Return the value of each code from its row in the table, -1 for none."""

    def description(self, side: SideTables, fact: Fact[Any]) -> str:
        text: str = self.column_values(side, fact).description
        return text


class _Categories(_ItemColumn, kind="categories"):
    noun = column = "categories"
    several = True

    def parse(self, table: Table, columns: ColumnMatch) -> LabelColumn:
        return read_categories(table, columns)

    def by_row(self, parsed: LabelColumn, row: Ints) -> Categories:
        starts = parsed.starts
        assert starts is not None
        lengths = np.where(row >= 0, np.diff(starts)[row], 0)
        code = parsed.code[ragged_rows(starts[:-1][row], lengths)]
        signature = np.where(row >= 0, parsed.signatures[row], 0)
        return Categories(offsets(lengths), code, signature, parsed.names)

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return [_words_of_names(self.column_values(side, fact))]


class _Features(_ItemColumn, kind="features"):
    noun, column, several = "feature vectors", "features", True

    def parse(self, table: Table, columns: ColumnMatch) -> Matrix:
        return read_features(table, columns)

    def by_row(self, parsed: Matrix, row: Ints) -> Features:
        known = (row >= 0) & parsed.known[row]
        return Features(np.where(known[:, None], parsed.vector[row], 0.0), known)

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        matrix: Matrix = self.column_values(side, fact)
        numbers = [number_words(np.ascontiguousarray(column)) for column in matrix.vector.T]
        return [*numbers, matrix.known.astype(np.uint64)]


class _ItemGroups(_ItemColumn, kind="item_group"):
    noun, column = "groups", "group"

    def parse(self, table: Table, columns: ColumnMatch) -> LabelColumn:
        return read_groups(table, columns.names[0])

    def by_row(self, parsed: LabelColumn, row: Ints) -> Groups:
        return _groups_by_row(parsed, row)

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return [_words_of_names(self.column_values(side, fact))]


class _Propensities(Reader, kind="propensity"):
    noun, column = "propensities", "propensity"

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Propensity:
        table, (name,) = side.tables["items"], side.columns_of[fact].names
        values = table.frame[name].cast(pl.Float64, strict=False)
        bad = (values.is_null() | ~(values > 0) | (values > 1)).fill_null(value=True)
        if bad.any():
            first = int(bad.arg_true()[0])
            raise ScoreError(
                "a propensity is a probability above 0 and at most 1",
                where=f"{table.source}, column {name!r}, item {table.frame['item'][first]!r}",
                found=f"{table.frame[name][first]} ({int(bad.sum())} such items)",
            )
        return Propensity(_take(values, target.rows(table, table.frame["item"], "item"), np.nan))

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return [column_words(side.tables["items"].frame[side.columns_of[fact].names[0]])]


class _Membership(Reader, kind="membership"):
    """The ids of the catalogue; other columns of the items are not read."""

    noun = "ids"

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Membership:
        table = side.tables["items"]
        return Membership(target.rows(table, table.frame["item"], "item") >= 0)

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return []

    def description(self, side: SideTables, fact: Fact[Any]) -> str:
        return f"{len(side.tables['items'].frame):,} items"


class _JudgedAnywhere(Reader, kind="judged_anywhere"):
    """The items of the ground truth, whoever they are judged for."""

    tables = ("truth",)

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Membership:
        items = side.read_once(fact, lambda: side.tables["truth"].frame["item"].unique())
        return Membership(target.rows(side.tables["truth"], items, "item") >= 0)

    def digest(self, side: SideTables, fact: Fact[Any]) -> int:
        """Return 0, because the ground truth has a digest of its own."""
        return 0


class _UserGroups(Reader, kind="user_group"):
    """A column of users, or terciles that training interactions define."""

    tables, of, noun, column = ("users",), "user", "groups", "group"

    def tables_of(self, fact: Fact[Any], train_groups: Collection[str]) -> tuple[TableRole, ...]:
        return ("train",) if fact.column in train_groups else self.tables

    def find(self, side: SideTables, fact: Fact[Any], metric: str) -> ColumnMatch:
        return (
            super().find(side, fact, metric)
            if side.terciles(fact) is None
            else ColumnMatch((fact.column,))
        )

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Groups:
        terciles = side.terciles(fact)
        if terciles is None:
            table = side.tables["users"]
            return _groups_by_row(
                side.groups(fact), target.rows(table, table.frame["user"], "user")
            )
        placed = _groups_by_row(
            side.groups(fact), target.rows(terciles, terciles.frame["user"], "user")
        )
        return replace(placed, code=np.where(placed.code < 0, side.unknown(fact), placed.code))

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return [_words_of_names(side.groups(fact))]

    def description(self, side: SideTables, fact: Fact[Any]) -> str:
        return side.groups(fact).description


class _Sources(Reader, kind="source"):
    """The training users of every item per group of users."""

    tables, noun, column = ("train", "users"), "groups", "group"

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Source:
        names = side.groups(Groups.of_users(fact.column)).names
        frame = side.read_once(fact, lambda: self._frame(side, fact, target))
        index, size = _targets(side, frame["item"], target)
        count = np.zeros((size, len(names)))
        groups = frame["group"].to_numpy()
        known = (index >= 0) & (groups >= 0)
        np.add.at(count, (index[known], groups[known]), frame["count"].to_numpy()[known])
        return Source(count, names)

    @staticmethod
    def _frame(side: SideTables, fact: Fact[Any], target: Target) -> pl.DataFrame:
        """Return the distinct users of every training item per ``group`` of users."""
        if side.training_counts is not None:
            return side.training_counts.sources[fact.column]
        train = side.train
        # Groups are numbered once, by all users; of these, those who can match are joined.
        groups, table = side.groups(Groups.of_users(fact.column)), side.tables["users"]
        coded = table.frame.select("user").with_columns(group=pl.Series(groups.code))
        joined = train.frame.select("user", "item").join(coded, on="user", how="inner")
        return joined.group_by("item", "group").agg(_users(distinct=target.distinct))

    def words(self, side: SideTables, fact: Fact[Any]) -> list[Words]:
        return [_words_of_names(side.groups(Groups.of_users(fact.column)))]


class _Training(Reader):
    tables: ClassVar[tuple[TableRole, ...]] = ("train",)


class _Popularity(_Training, kind="popularity"):
    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Popularity:
        train = side.train
        frame, n_users = side.read_once(fact, lambda: self._frame(side, target))
        row = target.rows(train, frame["item"], "item")
        total = float(frame["count"].sum())
        return Popularity(
            count=_take(frame["count"], row, 0.0),
            above=_take(frame["above"], row, total),
            popularity_rank=_take(frame["popularity_rank"], row, float(len(frame) + 1)),
            n_users=n_users,
            n_interactions=int(total),
            most=float(frame["count"][0]),
        )

    @staticmethod
    def _frame(side: SideTables, target: Target) -> tuple[pl.DataFrame, int]:
        """Return training items by falling number of users, ties by id; and the number of users."""
        if side.training_counts is None:
            counts = side.train.frame.group_by("item").agg(_users(distinct=target.distinct))
            n_users = side.train.frame["user"].n_unique()
        else:
            assert side.training_counts.popularity is not None
            counts, n_users = side.training_counts.popularity, side.training_counts.train_users
        number = pl.col("count").cast(pl.Float64)
        return counts.sort(["count", "item"], descending=[True, False]).with_columns(
            number,
            above=(number.cum_sum() - number),
            popularity_rank=number.rank("dense", descending=True).cast(pl.Float64),
        ), n_users


class _Similarities(_Training, kind="similarity"):
    of = "pair"

    def compute(self, side: SideTables, fact: Fact[Any], target: Target) -> Similarity:
        train = side.train
        codes, size = _targets(side, train.frame["item"], target)
        return _cosines(train.frame.select("user").with_columns(item=codes), size)


class _History(_Training, kind="history"):
    of = "rows"


class _ReferenceLists(Reader, kind="reference"):
    tables, of = ("reference",), "rows"

    def digest(self, side: SideTables, fact: Fact[Any]) -> int:
        """Return the digest of lists and their order: ranks, scores, or row numbers."""
        frame = side.tables["reference"].frame
        ids = [id_words(frame[name]) for name in ("user", "item")]
        for name in ("rank", "score"):
            if name in frame.columns:
                return row_digest([*ids, number_words(frame[name].to_numpy())])
        return row_digest(
            [*ids, id_words(frame.select(pl.int_range(pl.len()).over("user")).to_series())]
        )


def _words_of_names(named: LabelColumn) -> Words:
    return set_words(named.code, text_words(named.names), named.starts)


def _users(*, distinct: bool) -> pl.Expr:
    """Return a count of users: of rows, where no row repeats another."""
    return (pl.len() if distinct else pl.col("user").n_unique()).alias("count")


def _take(values: Any, row: Ints, missing: float) -> Any:
    """Return values by row number; -1 has the missing value."""
    return np.where(row >= 0, np.asarray(values)[row], missing)


def _groups_by_row(groups: LabelColumn, row: Ints) -> Groups:
    """Return the group of each code from its row in the table."""
    if not len(groups.code):  # a piece whose users the table does not have
        return Groups(np.full(len(row), -1), groups.names)
    return Groups(np.where(row >= 0, groups.code[row], -1), groups.names)


def _cosines(pairs: pl.DataFrame, size: int) -> Similarity:
    """Return the cosine of every two items' columns of training users; item -1 is none."""
    from scipy.sparse import csr_array

    pairs = pairs.filter(pl.col("item") >= 0).unique()
    items = pairs["item"].unique().sort().to_numpy()
    if len(items) > _MOST_SIMILAR:
        raise ParameterError(
            "similarities by co-occurrence are computed between all items at once, and there are "
            "too many items",
            found=f"{len(items):,} items, at most {_MOST_SIMILAR:,}",
            hint=f"use features instead of co-occurrence, with {parameter('items')}",
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


def check_tables(
    facts: Mapping[Fact[Any], str], tables: Collection[TableRole], train_groups: Collection[str]
) -> None:
    """Raise if a table that a metric needs is missing; the content of tables is not read.

    Parameters
    ----------
    facts : mapping of Fact to str
        What is needed, and the metric that needs it.
    tables : collection of str
        The tables that there are.
    train_groups : collection of str
        The groups of users that training interactions define.

    Raises
    ------
    MetricError
        With the first missing table.
    """
    for fact, metric in facts.items():
        reader = READERS[fact.kind]
        for role in reader.tables_of(fact, train_groups):
            if role not in tables:
                raise MetricError(
                    f"{metric} needs "
                    + _NEEDED.get(role, f"a table of items with their {reader.noun}"),
                    found=f"no {role}",
                    hint=_HINTS.get(role, f"pass {parameter(role)}"),
                )


@dataclass(frozen=True, eq=False, repr=False)
class SideTables:
    """The tables beside recommendations and ground truth, and the facts that metrics need.

    Parameters
    ----------
    facts : mapping of Fact to str
        What is needed, and the metric that needs it.
    tables : mapping of str to Table
        The tables of train, items, users and reference that there are.
    columns : mapping, optional
        Columns named by the caller.
    training_counts : TrainingCounts, optional
        What was counted over all users, where tables by user have the rows of some of them only.
    train_groups : mapping of str to TrainGroups
        By name, the groups of users that training interactions define.

    Raises
    ------
    MetricError
        If a table or a column is missing: before any work is done.
    """

    facts: Mapping[Fact[Any], str]
    tables: Mapping[TableRole, Table]
    columns: Columns | None = None
    training_counts: TrainingCounts | None = None
    train_groups: Mapping[str, TrainGroups] = field(default_factory=dict)
    _parsed: dict[Fact[Any], Any] = field(default_factory=dict, repr=False, compare=False)
    """What was read already."""
    _user_groups: dict[Fact[Any], LabelColumn] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        terciles = {name for name, groups in self.train_groups.items() if groups.table is not None}
        check_tables(self.facts, self.tables, terciles)
        _ = self.columns_of  # raises if a column is missing
        if "items" in self.roles_with_ids:
            check_once(self.tables["items"], "item")

    @cached_property
    def columns_of(self) -> dict[Fact[Any], ColumnMatch]:
        """The columns of every fact; none of facts that are no column."""
        return {
            fact: READERS[fact.kind].find(self, fact, metric) for fact, metric in self.facts.items()
        }

    def terciles(self, fact: Fact[Any]) -> Table | None:
        """Return the table of groups that training defines; None for any other fact."""
        groups = self.train_groups.get(fact.column) if READERS[fact.kind].of == "user" else None
        return None if groups is None else groups.table

    def tables_of(self, fact: Fact[Any]) -> tuple[TableRole, ...]:
        """Return the tables that a fact comes from."""
        return READERS[fact.kind].tables_of(
            fact, () if self.terciles(fact) is None else (fact.column,)
        )

    def for_users(self, tables: Mapping[TableRole, Table]) -> SideTables:
        """Return the facts of a piece with these rows of the tables by user.

        What was read of items, and counted over all users, is kept.
        """
        return replace(self, tables={**self.tables, **tables}, _user_groups={})

    @property
    def roles_with_ids(self) -> list[TableRole]:
        """The tables whose ids must be in the vocabularies."""
        return sorted({role for fact in self.facts for role in self.tables_of(fact)})

    @property
    def train(self) -> Table:
        """The interactions that models are trained on."""
        return self.tables["train"].trained

    def by_code(self, ids: IdSpace, *, distinct: bool) -> dict[Fact[Any], object]:
        """Return the facts of every code."""
        for role in self.roles_with_ids:  # codes of train are there already; arrays come after
            table = self.tables[role]
            if role in ("train", "reference"):
                continue
            if ids.has_users(table):
                ids.users.encode(table.frame["user"].unique())
            if "item" in table.frame.columns:
                ids.items.encode(table.frame["item"].unique())
        if any(self.terciles(fact) is not None for fact in self.facts):
            ids.users.encode(self.tables["train"].frame["user"].unique())
        of_items = any(READERS[fact.kind].of in ("item", "pair") for fact in self.facts)
        sizes = {"user": ids.users.size, "item": ids.items.size if of_items else 0}

        def rows(table: Table, values: pl.Series, column: str) -> Ints:
            if ids.units is not None and REQUEST in table.frame.columns:
                return unit_rows(ids.units.frame, table.frame)
            if (
                self.training_counts is not None and table.role == "train"
            ):  # most items are not here
                return lookup_rows(ids.items.decode(np.arange(sizes[column])), values)
            row = np.full(sizes[column], -1, dtype=np.int64)
            row[getattr(ids, f"{column}s").encode(values)] = np.arange(len(values))
            return row

        return self._placed(Target(rows, distinct), "item", "pair", "user")

    def of_items(self, ids: pl.Series, *, similarities: bool = False) -> dict[Fact[Any], object]:
        """Return the facts of these items, in their order; similarities only where asked for."""
        places: tuple[Place, ...] = ("item", "pair") if similarities else ("item",)
        return self._placed(_among(ids), *places)

    def of_units(self, units: pl.DataFrame) -> dict[str, Groups]:
        """Return the groups of users, or of users and requests, in their order, by column."""
        target = Target(lambda table, _known, _column: unit_rows(units, table.frame))
        placed = self._placed(target, "user")
        return {
            fact.column: groups for fact, groups in placed.items() if isinstance(groups, Groups)
        }

    def _placed(self, target: Target, *places: Place) -> dict[Fact[Any], object]:
        readers = {fact: READERS[fact.kind] for fact in self.facts}
        return {
            fact: reader.compute(self, fact, target)
            for fact, reader in readers.items()
            if reader.of in places
        }

    def group_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the groups of users in order, by column."""
        return {
            fact.column: self.groups(fact).names for fact in self.facts if fact.kind == "user_group"
        }

    def digest(self, fact: Fact[Any]) -> int:
        """Return the digest of a fact without training: the ids and values of its table."""
        return READERS[fact.kind].digest(self, fact)

    def descriptions(self) -> dict[str, str]:
        """Return where each fact came from."""
        return {
            str(fact): READERS[fact.kind].description(self, fact) for fact in sorted(self.facts)
        }

    def unknown(self, fact: Fact[Any]) -> int:
        """Return the code of users without a known group: -1, or the code of a group for them."""
        return -1 if self.terciles(fact) is None else len(group_names(fact.column)) - 1

    def groups(self, fact: Fact[Any]) -> LabelColumn:
        """Return the groups of users of a column, read once for each piece."""
        if fact not in self._user_groups:
            self._user_groups[fact] = self._read_user_groups(fact, self.columns_of[fact].names[0])
        return self._user_groups[fact]

    def _read_user_groups(self, fact: Fact[Any], column: str) -> LabelColumn:
        if column in self.train_groups:
            table = self.terciles(fact) or self.tables["users"]
            return replace(
                read_groups(table, column, group_names(column)),
                description="groups of training users",
            )
        all_groups = None if self.training_counts is None else self.training_counts.groups[column]
        return read_groups(self.tables["users"], column, all_groups)

    def read_once(self, fact: Fact[Any], read: Callable[[], Any]) -> Any:
        """Return the source of a fact, read at its first use."""
        if fact not in self._parsed:
            self._parsed[fact] = read()
        return self._parsed[fact]


def digest_of_interactions(table: Table) -> int:
    """Return the digest of users, items and training marks of a table of interactions."""
    return digest_of_rows(table.frame, TRAINED)


def _among(ids: pl.Series) -> Target:
    """Return the target of these ids, in their order."""
    return Target(lambda _table, known, _column: lookup_rows(ids, known))


def _targets(side: SideTables, ids: pl.Series, target: Target) -> tuple[Ints, int]:
    """Return the code of each training item, -1 for none, and the number of codes."""
    items = ids.unique(maintain_order=True)
    row = target.rows(side.train, items, "item")
    codes = np.full(len(items), -1, dtype=np.int64)
    codes[row[row >= 0]] = np.flatnonzero(row >= 0)
    number = ids.replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64)
    return codes[number.to_numpy().astype(np.int64)], len(row)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedSideInformation:
    """Side information beyond lists and ground truth, by code.

    Attributes
    ----------
    facts : mapping of Fact to object
        What is known about items and users.
    history, reference : UserItems or None
        The distinct training items of every user, and the reference lists.
    counts : dict of str to int
        What was out of the ordinary in these tables.
    """

    facts: Facts = field(default_factory=dict)
    history: UserItems | None = None
    reference: UserItems | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def of_requests(self, users: Ints, attributes: Collection[str] = ()) -> EncodedSideInformation:
        """Return the side information of requests; ``users`` has the user code of each request.

        ``attributes`` are the columns whose groups are of requests already.
        """
        placed = {
            fact: replace(known, code=known.code[users])
            if isinstance(known, Groups)
            and READERS[fact.kind].of == "user"
            and fact.column not in attributes
            else known
            for fact, known in self.facts.items()
        }
        history, reference = (
            None if part is None else part.of(users) for part in (self.history, self.reference)
        )
        return replace(self, facts=placed, history=history, reference=reference)


def encode_side_information(
    facts: SideTables, ids: IdSpace, duplicates: Duplicates, threads: int
) -> EncodedSideInformation:
    """Encode the side information that metrics need beyond lists and ground truth."""
    kinds = {fact.kind for fact in facts.facts}
    counts: dict[str, int] = {}
    reference = None
    if "reference" in kinds:
        reference, counts["reference_duplicates_dropped"] = _reference(
            facts.tables["reference"], ids, duplicates, threads
        )
    history, repeated = None, 0
    if kinds & {"history", "popularity", "similarity", "source"}:
        history, repeated = _history(facts.tables["train"], ids)
        counts["train_rows_repeated"] = repeated
    by_code = facts.by_code(ids, distinct=not repeated)
    return EncodedSideInformation(by_code, history, reference, counts)


def _reference(
    table: Table, ids: IdSpace, duplicates: Duplicates, threads: int
) -> tuple[UserItems, int]:
    """Return the reference lists, and how many repeated rows were dropped."""
    if table.frame.is_empty():  # a piece whose users it does not have
        return _user_items(Lists.none(), ids.users.size), 0
    ties: Ties = "item" if "score" in table.frame.columns else "input"
    counts: Counter[str] = Counter()  # separate: these lists are not the evaluated ones
    lists = encode_lists(table, ids, ids.users, ties, duplicates, counts, threads)
    repeated = repeated_rows(lists.items, lists.starts)
    if len(repeated):
        raise repeated_item(
            "duplicate item in a reference list",
            table,
            lists,
            repeated,
            ids.users,
            ids.items,
            hint=f"drop the duplicate, or keep the best-ranked with "
            f"{parameter('duplicates', 'first')}",
        )
    return _user_items(lists, ids.users.size), counts["duplicates_dropped"]


def _user_items(lists: Lists, size: int) -> UserItems:
    """Return lists by user code, with an empty one for users without a list."""
    lengths = np.zeros(size, dtype=np.int64)
    lengths[lists.user] = np.diff(lists.starts)
    order = np.argsort(lists.user, kind="stable")
    rows = ragged_rows(lists.starts[:-1][order], np.diff(lists.starts)[order])
    return UserItems(offsets(lengths), lists.items[rows])


def _history(train: Table, ids: IdSpace) -> tuple[UserItems, int]:
    """Return every user's distinct training items, and the number of repeated rows."""
    groups = group(train.frame["user"], ids.users)
    items = ids.items.encode(train.frame["item"])
    items = items if groups.order is None else items[groups.order]
    lists = Lists(groups.user, groups.starts, items, None, has_ties=False)
    repeated = repeated_rows(items, groups.starts)
    if len(repeated):
        lists = lists.without(later_rows(lists, repeated))
    return _user_items(lists, ids.users.size), len(items) - len(lists.items)
