"""The side information that metrics read, found in the tables and encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.blocks.block import Fact, FactKind, Facts, Groups
from rankwise.blocks.lists import Lists
from rankwise.core.digests import (
    column_words,
    digest_of_rows,
    id_words,
    number_words,
    row_digest,
    set_words,
    text_words,
)
from rankwise.core.ragged import Ints, UserItems, group, offsets, ragged_rows
from rankwise.encoding import side_tables as build
from rankwise.encoding.lists import IdSpace, encode_lists, later_rows, repeated_item, repeated_rows
from rankwise.encoding.side_tables import Found, Matrix, Named, find, read_categories, read_features, read_groups
from rankwise.errors import ColumnError, MetricError
from rankwise.options import Duplicates, Ties
from rankwise.tables.columns import Columns
from rankwise.tables.table import TRAINED, Table, TableRole
from rankwise.tables.training import GROUP_NAMES, TrainGroups, matching

__all__ = ["Context", "Counted", "SideTables", "check_tables", "digest_of_interactions", "encode_side_information"]

RowsOf: TypeAlias = "Callable[[Table, pl.Series, str], Ints]"
"""Ids of a table and their role to the row that each target has among them, -1 for none."""

_TABLES: dict[FactKind, tuple[TableRole, ...]] = {
    "popularity": ("train",),
    "history": ("train",),
    "similarity": ("train",),
    "source": ("train", "users"),
    "reference": ("reference",),
    "categories": ("items",),
    "features": ("items",),
    "item_group": ("items",),
    "propensity": ("items",),
    "user_group": ("users",),
}
_NO_COLUMN = ("popularity", "history", "similarity", "reference")
_NEEDED: dict[TableRole, str] = {
    "train": "training interactions",
    "users": "a table of users with their groups",
    "reference": "the lists of another system",
}
_OF = {"categories": "categories", "features": "feature vectors", "item_group": "groups", "propensity": "propensities"}
_OF_ITEMS = ("popularity", "categories", "features", "item_group", "propensity", "source")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What was counted over all users, where no machine has the rows of all of them.

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


def check_tables(wanted: Mapping[Fact[Any], str], tables: Collection[TableRole], train_groups: Collection[str]) -> None:
    """Raise if a table is missing that something needs; what is in it is not read.

    Parameters
    ----------
    wanted : mapping of Fact to str
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
    for fact, metric in wanted.items():
        for kind in _roles(fact, train_groups):
            if kind not in tables:
                raise MetricError(
                    f"{metric} needs " + _NEEDED.get(kind, f"a table of items with their {_OF.get(fact.kind)}"),
                    found=f"no {kind}",
                    hint=f"pass {kind}=",
                )


def _roles(fact: Fact[Any], train_groups: Collection[str]) -> tuple[TableRole, ...]:
    """Return the tables that a fact comes from."""
    return ("train",) if fact.kind == "user_group" and fact.column in train_groups else _TABLES[fact.kind]


@dataclass(frozen=True)
class SideTables:
    """The tables beside recommendations and ground truth, and what metrics need of them.

    Parameters
    ----------
    wanted : mapping of Fact to str
        What is needed, and the metric that needs it.
    tables : mapping of str to Table
        Those of train, items, users and reference that were given.
    columns : mapping, optional
        Columns named by the caller.
    counted : Counted, optional
        What was counted over all users, where tables by user have the rows of some of them only.
    train_groups : mapping of str to TrainGroups
        By name, the groups of users that training interactions define.

    Raises
    ------
    MetricError
        If a table or a column is missing: before any work is done.
    """

    wanted: Mapping[Fact[Any], str]
    tables: Mapping[TableRole, Table]
    columns: Columns | None = None
    counted: Counted | None = None
    train_groups: Mapping[str, TrainGroups] = field(default_factory=dict)
    _parsed: dict[tuple[Fact[Any], bool], Any] = field(default_factory=dict, repr=False, compare=False)
    """Columns that are parsed already."""
    _user_groups: dict[Fact[Any], Named] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_tables(
            self.wanted, self.tables, {name for name, made in self.train_groups.items() if made.table is not None}
        )
        _ = self.columns_of  # raises if a column is missing
        if "items" in self.coded:
            _check_once(self.tables["items"], "item")

    @cached_property
    def columns_of(self) -> dict[Fact[Any], Found]:
        """The columns of every fact that is a column."""
        return {
            fact: Found(()) if fact.kind in _NO_COLUMN else self._find(fact, metric)
            for fact, metric in self.wanted.items()
        }

    def _find(self, fact: Fact[Any], metric: str) -> Found:
        if self._made(fact) is not None:
            return Found((fact.column,))
        table = self.tables[_TABLES[fact.kind][-1]]
        column = Fact("user_group", fact.column) if fact.kind == "source" else fact
        return find(table, column, metric, self.columns)

    def _made(self, fact: Fact[Any]) -> Table | None:
        """Return the table of groups that training interactions define; None for other facts."""
        known = self.train_groups.get(fact.column) if fact.kind == "user_group" else None
        return None if known is None else known.table

    def tables_of(self, fact: Fact[Any]) -> tuple[TableRole, ...]:
        """Return the tables that a fact comes from."""
        return _roles(fact, () if self._made(fact) is None else (fact.column,))

    def for_users(self, tables: Mapping[TableRole, Table]) -> SideTables:
        """Return the facts of a piece with these rows of the tables by user.

        What was read of items, and counted over all users, is kept.
        """
        return replace(self, tables={**self.tables, **tables}, _user_groups={})

    @property
    def coded(self) -> list[TableRole]:
        """The tables whose ids must be in the vocabularies."""
        kinds = {kind for fact in self.wanted for kind in self.tables_of(fact)}
        return sorted(kinds)

    def by_code(self, ids: IdSpace, tables: Mapping[TableRole, Table], *, distinct: bool) -> dict[Fact[Any], object]:
        """Return the facts of every code.

        ``tables`` are those of `coded`, aligned; ``distinct`` says that no training row repeats
        another, which makes counting users as cheap as counting rows.
        """
        for kind, table in tables.items():  # codes of train are given already; arrays come after
            for role, vocabulary in (("user", ids.users), ("item", ids.items)):
                if role in table.frame.columns and kind not in ("train", "reference"):
                    vocabulary.encode(table.frame[role].unique())
        if any(self._made(fact) is not None for fact in self.wanted):
            ids.users.encode(tables["train"].frame["user"].unique())
        of_items = any(fact.kind in (*_OF_ITEMS, "similarity") for fact in self.wanted)
        sizes = {"user": ids.users.size, "item": ids.items.size if of_items else 0}

        def rows(table: Table, values: pl.Series, role: str) -> Ints:
            if self.counted is not None and table.role == "train":  # most items are not here
                known = ids.items.decode(np.arange(sizes[role]))
                return _rows_among(table, values, role, known)
            row = np.full(sizes[role], -1, dtype=np.int64)
            row[getattr(ids, f"{role}s").encode(values)] = np.arange(len(values))
            return row

        wanted = [fact for fact in self.wanted if fact.kind not in ("history", "reference")]
        return self._arrays(tables, rows, wanted, distinct=distinct)

    def of_items(self, ids: pl.Series, *, similarities: bool = False) -> dict[Fact[Any], object]:
        """Return the facts of these items, in their order; similarities only where asked for."""
        kinds = (*_OF_ITEMS, "similarity") if similarities else _OF_ITEMS
        wanted = [fact for fact in self.wanted if fact.kind in kinds]
        return self._arrays(self.tables, partial(_rows_among, wanted=ids), wanted)

    def of_users(self, ids: pl.Series) -> dict[str, Groups]:
        """Return the groups of these users, in their order, by column."""
        wanted = [fact for fact in self.wanted if fact.kind == "user_group"]
        arrays = self._arrays(self.tables, partial(_rows_among, wanted=ids), wanted)
        return {fact.column: of for fact, of in arrays.items() if isinstance(of, Groups)}

    def group_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the groups of users in order, by column."""
        wanted = [fact for fact in self.wanted if fact.kind == "user_group"]
        return {fact.column: self._groups(fact).names for fact in wanted}

    def digest(self, fact: Fact[Any]) -> int:
        """Return the digest of what a fact is made of, beside training: the ids and values of its table.

        Categories, groups and vectors count as they are read, in whatever form they are written.
        """
        if fact.kind == "reference":
            return _digest_of_lists(self.tables["reference"])
        role = "item" if fact.kind in _OF else "user"
        table = self.tables[self.tables_of(fact)[-1]]
        if fact.kind == "features":
            matrix: Matrix = self._item_column(fact, table)
            words = [number_words(np.ascontiguousarray(column)) for column in matrix.vector.T]
            return row_digest([id_words(table.frame[role]), *words, matrix.known.astype(np.uint64)])
        if fact.kind == "propensity":
            values = column_words(table.frame[self.columns_of[fact].names[0]])
        else:
            group = fact if fact.kind != "source" else Fact("user_group", fact.column)
            named: Named = self._item_column(fact, table) if fact.kind == "categories" else self._groups(group)
            values = set_words(named.code, text_words(named.names), named.starts)
        return row_digest([id_words(table.frame[role]), values])

    def descriptions(self) -> dict[str, str]:
        """Return where each fact came from."""
        return {str(fact): self._description(fact) for fact in sorted(self.wanted)}

    def _description(self, fact: Fact[Any]) -> str:
        if fact.kind in ("item_group", "user_group"):
            return self._groups(fact).description
        if fact.kind in ("categories", "features"):
            column: Named | Matrix = self._item_column(fact, self.tables["items"])
            return column.description
        names = ", ".join(self.columns_of[fact].names)
        return f"column {names!r}" if names else _TABLES[fact.kind][0]

    def _arrays(
        self, tables: Mapping[TableRole, Table], rows: RowsOf, wanted: list[Fact[Any]], *, distinct: bool = False
    ) -> dict[Fact[Any], object]:
        arrays: dict[Fact[Any], object] = {}
        for fact in wanted:
            if fact.kind in ("popularity", "similarity", "source"):
                arrays[fact] = self._from_train(fact, tables["train"].trained, rows, distinct=distinct)
            elif fact.kind == "user_group":
                arrays[fact] = self._user_groups_of(fact, tables, rows)
            else:
                arrays[fact] = self._from_items(fact, tables["items"], rows)
        return arrays

    def _user_groups_of(self, fact: Fact[Any], tables: Mapping[TableRole, Table], rows: RowsOf) -> Groups:
        made = self._made(fact)
        if made is None:
            table = tables["users"]
            return build.place_groups(self._groups(fact), rows(table, table.frame["user"], "user"))
        ids = made.frame["user"].cast(tables["train"].frame["user"].dtype)
        placed = build.place_groups(self._groups(fact), rows(made, ids, "user"))
        return replace(placed, code=np.where(placed.code < 0, self.unknown(fact), placed.code))

    def unknown(self, fact: Fact[Any]) -> int:
        """Return the code of users of whom no group is known: -1, or that of a group of them."""
        return -1 if self._made(fact) is None else len(GROUP_NAMES) - 1

    def _from_train(self, fact: Fact[Any], train: Table, rows: RowsOf, *, distinct: bool) -> object:
        text = train.frame["item"].dtype == pl.String
        if fact.kind == "popularity":
            frame, n_users = self._read(fact, lambda: self._popularity(train, distinct=distinct), text=text)
            return build.place_popularity(frame, n_users, rows(train, frame["item"], "item"))
        if fact.kind == "similarity":
            target, size = _targets(train, train.frame["item"], rows)
            return build.similarity(train, target, size)
        names = self._groups(Fact("user_group", fact.column)).names
        frame = self._read(fact, lambda: self._source(fact, train, distinct=distinct), text=text)
        target, size = _targets(train, frame["item"], rows)
        return build.place_source(frame, target, names, size)

    def _popularity(self, train: Table, *, distinct: bool) -> tuple[pl.DataFrame, int]:
        """Return the popularity of items, and the number of training users."""
        if self.counted is not None:
            assert self.counted.popularity is not None
            return build.popularity_frame(self.counted.popularity), self.counted.train_users
        frame = build.popularity_frame(build.count_users(train, distinct=distinct))
        return frame, train.frame["user"].n_unique()

    def _source(self, fact: Fact[Any], train: Table, *, distinct: bool) -> pl.DataFrame:
        """Return the training users of items per group of users."""
        if self.counted is not None:
            return self.counted.sources[fact.column]
        # Groups are numbered once, by all users; of these, those who can match are joined.
        groups, table = self._groups(Fact("user_group", fact.column)), self.tables["users"]
        coded = table.frame.select("user").with_columns(group=pl.Series(groups.code))
        users = matching(table.with_frame(coded), "user", train.frame["user"])
        return build.source_frame(train, users, distinct=distinct)

    def _from_items(self, fact: Fact[Any], table: Table, rows: RowsOf) -> object:
        row = rows(table, table.frame["item"], "item")
        if fact.kind == "propensity":
            return build.place_propensity(table, self.columns_of[fact].names[0], row)
        if fact.kind == "features":
            return build.place_features(self._item_column(fact, table), row)
        if fact.kind == "categories":
            return build.place_categories(self._item_column(fact, table), row)
        return build.place_groups(self._groups(fact), row)

    def _item_column(self, fact: Fact[Any], table: Table) -> Any:
        read = read_features if fact.kind == "features" else read_categories
        return self._read(fact, lambda: read(table, self.columns_of[fact]))

    def _groups(self, fact: Fact[Any]) -> Named:
        column = self.columns_of[fact].names[0]
        if fact.kind == "user_group":
            if fact not in self._user_groups:
                self._user_groups[fact] = self._read_user_groups(fact, column)
            return self._user_groups[fact]
        named: Named = self._read(fact, lambda: read_groups(self.tables["items"], column))
        return named

    def _read_user_groups(self, fact: Fact[Any], column: str) -> Named:
        if column in self.train_groups:
            table = self._made(fact) or self.tables["users"]
            named = read_groups(table, column, GROUP_NAMES)
            return replace(named, description="terciles of training users")
        known = None if self.counted is None else self.counted.groups[column]
        return read_groups(self.tables["users"], column, known)

    def _read(self, fact: Fact[Any], make: Callable[[], Any], *, text: bool = False) -> Any:
        """Parse a column once; where the ids matter, once for integers and once for strings."""
        if (fact, text) not in self._parsed:
            self._parsed[fact, text] = make()
        return self._parsed[fact, text]


def digest_of_interactions(table: Table) -> int:
    """Return the digest of the users and items of a table, and of which rows models are trained on."""
    return digest_of_rows(table.frame, TRAINED)


def _digest_of_lists(table: Table) -> int:
    """Return the digest of lists and of what orders them: ranks, scores, or the rows themselves."""
    ids = [id_words(table.frame[name]) for name in ("user", "item")]
    for name in ("rank", "score"):
        if name in table.frame.columns:
            return row_digest([*ids, number_words(table.frame[name].to_numpy())])
    place = pl.int_range(pl.len()).over("user")
    return row_digest([*ids, id_words(table.frame.select(place).to_series())])


def _targets(table: Table, ids: pl.Series, rows: RowsOf) -> tuple[Ints, int]:
    """Return the target of each item, -1 for none, and the number of targets."""
    items = ids.unique(maintain_order=True)
    row = rows(table, items, "item")
    target = np.full(len(items), -1, dtype=np.int64)
    target[row[row >= 0]] = np.flatnonzero(row >= 0)
    number = ids.replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64)
    return target[number.to_numpy().astype(np.int64)], len(row)


def _rows_among(table: Table, ids: pl.Series, role: str, wanted: pl.Series) -> Ints:
    """Return the row of each wanted id among the ids of a table, -1 where it is not there."""
    numbered = pl.DataFrame({role: ids, "row": np.arange(len(ids))})
    right = matching(table.with_frame(numbered), role, wanted).unique(role, keep="first")
    left = pl.DataFrame({role: wanted})
    row = left.join(right, on=role, how="left", maintain_order="left")["row"]
    return row.fill_null(-1).to_numpy()


def _check_once(table: Table, role: str) -> None:
    ids = table.frame[role]
    if ids.n_unique() < len(ids):
        raise ColumnError(
            f"duplicate {role} in the table of {table.role}",
            where=table.source,
            found=f"{role} {ids.filter(ids.is_duplicated())[0]!r}",
            hint=f"keep one row per {role}",
        )


@dataclass(frozen=True)
class Context:
    """What is known beyond lists and ground truth, by code.

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


def encode_side_information(
    facts: SideTables, tables: Mapping[TableRole, Table], ids: IdSpace, duplicates: Duplicates, threads: int
) -> Context:
    """Return what metrics need to know beyond lists and ground truth.

    ``tables`` are those that the facts come from, with their ids aligned.
    """
    kinds = {fact.kind for fact in facts.wanted}
    counts: dict[str, int] = {}
    reference = None
    if "reference" in kinds:
        reference, counts["reference_duplicates_dropped"] = _reference(tables["reference"], ids, duplicates, threads)
    history, repeated = None, 0
    if kinds & {"history", "popularity", "similarity", "source"}:
        history, repeated = _history(tables["train"], ids)
        counts["train_rows_repeated"] = repeated
    by_code = facts.by_code(ids, tables, distinct=not repeated)
    return Context(by_code, history, reference, counts)


def _reference(table: Table, ids: IdSpace, duplicates: Duplicates, threads: int) -> tuple[UserItems, int]:
    """Return the reference lists, and how many repeated rows were dropped."""
    if table.frame.is_empty():  # a piece whose users it does not have
        return _user_items(Lists.none(), ids.users.size), 0
    ties: Ties = "item" if "score" in table.frame.columns else "input"
    counts: Counter[str] = Counter()  # separate: these lists are not the evaluated ones
    lists = encode_lists(table, ids, ties, duplicates, counts, threads)
    repeated = repeated_rows(lists.items, lists.starts)
    if len(repeated):
        raise repeated_item(
            "duplicate item in a reference list",
            table,
            lists,
            repeated,
            ids,
            hint='drop the duplicate, or keep the best-ranked with duplicates="first"',
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
