"""Inputs of metrics: declared inputs, sums for every item, and the labels of group values.

Sums by item: whole numbers add up exactly; floats are split into whole parts
(`rankwise.core.arrays`). With ``by`` there is a sum for every group of users.

A metric lists all that it reads in `inputs`: sets of rows by name, facts, sums over users by item,
and the catalogue. Hits, list lengths and numbers of relevant items are always there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np
import polars as pl

from rankwise.blocks.block import HISTORY, REFERENCE, Block, Fact, Facts, Groups, Needs, RowSet
from rankwise.blocks.partial import ONES, GroupSums, ItemColumn
from rankwise.core.arrays import (
    EXACT_PARTS,
    Array,
    count,
    exact_sums,
    is_tensor,
    namespace,
    read_sums,
    sum_whole,
)
from rankwise.core.ragged import runs
from rankwise.core.vocabularies import lookup_rows

__all__ = [
    "WIDEST",
    "CatalogueSums",
    "GroupRows",
    "HistoryCount",
    "HitCount",
    "Input",
    "Inputs",
    "ItemSum",
    "ItemTerms",
    "RecommendationCount",
    "RelevantCount",
    "RepeatCount",
    "cells_of_items",
    "label",
    "read_label",
]


def label(**groups: str) -> str:
    """Write the label of a cell.

    >>> label(user_group="a", item_group="science fiction")
    'user_group=a,item_group=science fiction'
    >>> label(item_group="a,b")
    'item_group="a,b"'
    """
    return ",".join(f"{axis}={_quoted(name)}" for axis, name in groups.items())


def read_label(text: str) -> dict[str, str]:
    """Read a label that `label` wrote.

    >>> read_label('user_group=a,item_group="b,c"')
    {'user_group': 'a', 'item_group': 'b,c'}
    """
    matches = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]*)', text)
    return {axis: json.loads(name) if name.startswith('"') else name for axis, name in matches}


def _quoted(name: str) -> str:
    odd = any(sign in name for sign in '[]=,"\\#') or not name.isprintable() or name != name.strip()
    return json.dumps(name, ensure_ascii=False) if odd or not name else name


def cells_of_items(names: tuple[str, ...], values: Iterable[float]) -> dict[str, float]:
    """Return a cell for each group of items."""
    return {label(item_group=name): float(value) for name, value in zip(names, values, strict=True)}


_F = TypeVar("_F")


@dataclass(frozen=True, eq=False, repr=False)
class ItemTerms:
    """The terms of sums by item, one term per row.

    Attributes
    ----------
    user, item : array of int, shape (n,)
        The number of the user in the block, and the code of the item.
    term : array of float, shape (n,), or None
        The terms; None: all are 1.
    within : array of bool, shape (n,), or None
        Which rows count; None: all.
    """

    user: Array
    item: Array
    term: Array | None = None
    within: Array | None = None


@dataclass(frozen=True)
class ItemSum:
    """A sum over users that is kept for every item.

    Parameters
    ----------
    by : str, default=""
        A column of user groups, each with a sum of its own; empty for one sum over all users.
    """

    by: str = ""

    name: ClassVar[str]
    needs: ClassVar[Needs] = frozenset()
    reads_truth: ClassVar[bool] = False
    """Whether the rows depend on the ground truth."""
    whole: ClassVar[bool] = True
    """Whether every term is 1."""
    has_cutoff: ClassVar[bool] = True

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return everything that is summed."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """The name that distinguishes this sum from other sums, without the groups."""
        return self.name

    def sums(self, block: Block, k: int) -> dict[ItemColumn, Array]:
        """Sum a block's rows: an array of shape (n_items,) for each group of users and part."""
        n_items, column = block.n_items, self.column(k)
        terms = self.rows(block, k if block.limit is None else min(k, block.limit))
        if not self.by:
            parts = _parts(terms.item, terms.term, n_items, terms.within).items()
            return {replace(column, part=part): sums for part, sums in parts}
        xp = namespace(block.list_length)
        groups = block[Groups.of_users(self.by)]
        code = xp.take(groups.code, xp.take(block.user, terms.user))
        within = code >= 0 if terms.within is None else terms.within & (code >= 0)
        cells = _parts(code * n_items + terms.item, terms.term, n_items * len(groups.names), within)
        return {
            replace(column, group=name, part=part): sums[at * n_items : (at + 1) * n_items]
            for part, sums in cells.items()
            for at, name in enumerate(groups.names)
        }

    def group_sums(self, block: Block, k: int) -> GroupSums:
        """Sum a block's rows in every group of users by ``by``, where they have any."""
        terms, xp = self.rows(block, k if block.limit is None else min(k, block.limit)), block.xp
        groups = block[Groups.of_users(self.by)]
        code = xp.take(groups.code, xp.take(block.user, terms.user))
        within = code >= 0 if terms.within is None else terms.within & (code >= 0)
        term = None if terms.term is None else terms.term[within]
        index, parts = code[within] * block.n_items + terms.item[within], ONES
        if term is not None:
            index, place = np.unique(index, return_inverse=True)
            parts = _parts(place, term, len(index), None)
        return GroupSums(self.column(k), tuple(groups.names), block.n_items, index, parts)

    def parts_in(self, names: Iterable[str], k: int) -> dict[str, dict[str, str]]:
        """Return the names of the columns that hold this sum, by group of users and part."""
        out: dict[str, dict[str, str]] = {}
        target = self.column(k)
        for name in names:
            column = ItemColumn.read(name)
            if (column.key, column.k, column.by) == (target.key, target.k, target.by):
                out.setdefault(column.group, {})[column.part] = name
        return out

    def column(self, k: int) -> ItemColumn:
        """Return the name of the column that holds this sum at a cut-off."""
        return ItemColumn(self.key, k if self.has_cutoff else 0, self.by)


def _parts(index: Array, term: Array | None, size: int, within: Array | None) -> dict[str, Array]:
    """Return the sums of the rows that are within, by part; `exact_sums` has parts."""
    if within is not None and not is_tensor(index):
        index, term = index[within], None if term is None else term[within]
    elif within is not None:  # a selection would wait for its size: what is left out adds 0
        xp = namespace(index)
        index = xp.where(within, index, xp.zeros_like(index))
        if term is None:
            return {"": sum_whole(index, within, size)}
        term = xp.where(within, term, xp.zeros_like(term))
    return {"": count(index, size)} if term is None else exact_sums(index, term, size)


class RecommendationCount(ItemSum):
    """How often each item is in the top k."""

    name: ClassVar[str] = "recommended"
    needs: ClassVar[Needs] = frozenset({"recommended"})

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the rows of the lists."""
        listed = block.recommended
        return ItemTerms(listed.user, listed.item, within=listed.rank <= k)


class HitCount(ItemSum):
    """How often each item is in the top k and relevant to the user.

    Where scores tie, an item counts with the probability that it is in the top k.
    """

    reads_truth: ClassVar[bool] = True
    name: ClassVar[str] = "hits"
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the relevant items of the lists."""
        hits = block.hits
        xp = namespace(hits.rank)
        near = hits.to_items(xp.astype(hits.rank <= k, xp.float64))
        return ItemTerms(hits.owner, hits.item, near)


class RelevantCount(ItemSum):
    """To how many users each item is relevant."""

    reads_truth: ClassVar[bool] = True
    name: ClassVar[str] = "relevant"
    needs: ClassVar[Needs] = frozenset({"relevant"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the relevant items."""
        rows = block.relevant
        return ItemTerms(rows.user, rows.item)


class HistoryCount(ItemSum):
    """How many users with a list have each item in their training history, listed or not."""

    name: ClassVar[str] = "seen"
    needs: ClassVar[Needs] = frozenset({"history"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the items of the histories."""
        rows = block.history
        has_list = namespace(rows.user).take(block.list_length, rows.user) > 0
        return ItemTerms(rows.user, rows.item, within=has_list)


class RepeatCount(ItemSum):
    """How many users have each item both in their list and in their training history."""

    name: ClassVar[str] = "repeated"
    needs: ClassVar[Needs] = frozenset({"overlap_history"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the common items of lists and histories."""
        overlap = block.overlap_history
        return ItemTerms(overlap.user, overlap.item)


WIDEST = 8
"""Columns of a histogram for each item, up to which it is quicker than to look at the items."""
_NO_ROWS = np.empty(0, dtype=np.int64)


class GroupRows:
    """Sums by item in groups of users: the rows of the catalogue with a sum, and the sums.

    Parameters
    ----------
    frame : polars.DataFrame
        ``sum``, ``group``, ``item``, ``value``, as in a partial.
    items : polars.Series
        The items of the catalogue, in order.
    """

    def __init__(self, frame: pl.DataFrame, items: pl.Series) -> None:
        row = lookup_rows(frame["item"], items)
        if (row < 0).any():
            frame, row = frame.filter(row >= 0), row[row >= 0]
        value, heads = frame["value"].to_numpy(), frame.select("sum", "group")
        starts = runs(*(heads[name].to_physical().to_numpy() for name in heads.columns)).tolist()
        self._rows: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._groups: dict[str, dict[str, None]] = {}
        self._known: dict[tuple[ItemSum, int, str], dict[str, str]] = {}
        names = heads.select(pl.all().gather(starts[:-1]).cast(pl.String))
        for name, group, (first, end) in zip(*names, pairwise(starts), strict=True):
            self._rows[name, group] = row[first:end], value[first:end]
            self._groups.setdefault(name, {})[group] = None

    def of(self, item_sum: ItemSum, k: int, by: str, group: str) -> tuple[Any, Any]:
        """Return the rows of the items with the given sum, shape (n,), and the sums."""
        names = self._names(item_sum, k, by)
        if item_sum.whole:
            return self._rows.get((names[""], group), (_NO_ROWS, _NO_ROWS))
        parts = {part: self._rows.get((name, group)) for part, name in names.items()}
        present = {part: rows for part, rows in parts.items() if rows is not None}
        if not present:
            return _NO_ROWS, np.empty(0)
        order = {part: np.argsort(rows[0]) for part, rows in present.items()}
        row = next(rows[0][order[part]] for part, rows in present.items())
        return row, read_sums({part: rows[1][order[part]] for part, rows in present.items()})

    def groups(self, item_sum: ItemSum, k: int, by: str) -> list[str]:
        """Return the groups in which any item has the given sum, in order."""
        names = self._names(item_sum, k, by).values()
        return sorted({group for name in names for group in self._groups.get(name, {})})

    def _names(self, item_sum: ItemSum, k: int, by: str) -> dict[str, str]:
        """Return the name of each part of a sum."""
        key = (item_sum, k, by)
        if key not in self._known:
            column = replace(item_sum, by=by).column(k)
            parts = ("",) if item_sum.whole else EXACT_PARTS
            self._known[key] = {part: str(replace(column, part=part)) for part in parts}
        return self._known[key]


@dataclass(frozen=True, eq=False, repr=False)
class CatalogueSums:
    """The sums of every item of the catalogue, with the facts about these items.

    Attributes
    ----------
    frame : polars.DataFrame
        One row per item, one column per part of a sum.
    facts : mapping of Fact to object
        What is known about these items, in the same order.
    n_listed : int
        The number of counted users with a list.
    by_users : GroupRows or None
        The sums in groups of users.
    within : tuple of str and (str or None), optional
        A column of user groups and the group that is summed over, None for users without a group;
        None for all users.
    without : tuple of str, optional
        A column of user groups and the group that is left out.
    """

    frame: pl.DataFrame
    facts: Facts
    n_listed: int
    by_users: GroupRows | None = None
    within: tuple[str, str | None] | None = None
    without: tuple[str, str] | None = None
    _histograms: dict[tuple[ItemSum, int, str], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def is_part(self) -> bool:
        """Whether these are the sums of only a part of the users."""
        return self.within is not None or self.without is not None

    @property
    def size(self) -> int:
        """The size of the catalogue."""
        return len(self.frame)

    def sum(self, item_sum: ItemSum, k: int) -> Any:
        """Return the sum of every item."""
        if self.within is not None and self.within[1] is not None:
            rows, values = self._of_group(item_sum, k, self.within[0], self.within[1])
            sums = np.zeros(self.size, dtype=values.dtype)
            sums[rows] = values
            return sums
        everyone = self.by_group(item_sum, k)[""]
        if not self.is_part:
            return everyone
        others = np.zeros_like(everyone)
        for by, group in self._left_out(item_sum, k):
            rows, values = self._of_group(item_sum, k, by, group)
            others[rows] += values
        return everyone - others

    def _left_out(self, item_sum: ItemSum, k: int) -> list[tuple[str, str]]:
        """Return the groups to subtract: the one left out, or all for users without a group."""
        if self.without is not None:
            return [self.without]
        assert self.within is not None
        assert self.by_users is not None
        return [
            (self.within[0], group) for group in self.by_users.groups(item_sum, k, self.within[0])
        ]

    def _of_group(self, item_sum: ItemSum, k: int, by: str, group: str) -> tuple[Any, Any]:
        assert self.by_users is not None
        return self.by_users.of(item_sum, k, by, group)

    def positive(self, item_sum: ItemSum, k: int) -> Any:
        """Return at least all positive sums, in any order, (n,); faster for a group than `sum`."""
        if self.within is not None and self.within[1] is not None:
            return self._of_group(item_sum, k, self.within[0], self.within[1])[1]
        return self.sum(item_sum, k)

    def in_groups(
        self, item_sum: ItemSum, k: int, by: str, groups: Sequence[str | None]
    ) -> list[Any]:
        """Return the positive sums of items in each of the given groups of users."""
        sums = [self._of_group(item_sum, k, by, group)[1] for group in groups if group is not None]
        if None in groups:  # the last
            without = replace(self, within=(by, None)).sum(item_sum, k)
            sums.append(without[without > 0])
        return sums

    def histograms(self, item_sum: ItemSum, k: int, by: str, groups: Sequence[str | None]) -> Any:
        """Count the items with each positive sum per group, shape (G, sums); None for many sums.

        There are no items in column 0.
        """
        key = item_sum, k, by
        if key not in self._histograms:
            sums = self.in_groups(item_sum, k, by, groups)
            every = np.concatenate([_NO_ROWS, *sums])
            shape, histograms = (len(sums), int(every.max(initial=0)) + 1), None
            if math.prod(shape) <= WIDEST * len(every):
                every += np.repeat(np.arange(shape[0]) * shape[1], [*map(len, sums)])
                histograms = np.bincount(every, minlength=math.prod(shape)).reshape(shape)
            self._histograms[key] = histograms
        return self._histograms[key]

    def histograms_without(
        self, item_sum: ItemSum, k: int, by: str, groups: Sequence[str]
    ) -> list[Any] | None:
        """Count the items with each sum without each group, shape (1, sums); None for many sums."""
        everyone = self.by_group(item_sum, k)[""]
        items = np.bincount(everyone)
        if len(items) > WIDEST * self.size:
            return None
        without = []
        for group in groups:
            rows, sums = self._of_group(item_sum, k, by, group)
            before = everyone[rows]
            moved = (
                np.bincount(counts, minlength=len(items)) for counts in (before - sums, before)
            )
            without.append((items + next(moved) - next(moved))[None])
        return without

    def by_group(self, item_sum: ItemSum, k: int) -> dict[str, Any]:
        """Return the sum of every item in every group of users of ``item_sum.by``."""
        names = (name for name in self.frame.columns if name != "item")
        return {
            group: self.frame[parts[""]].to_numpy()
            if item_sum.whole
            else read_sums({part: self.frame[name].to_numpy() for part, name in parts.items()})
            for group, parts in item_sum.parts_in(names, k).items()
        }

    def __getitem__(self, fact: Fact[_F]) -> _F:
        """Return a fact about these items."""
        return cast("_F", self.facts[fact])


Input: TypeAlias = RowSet | Literal["scores", "catalogue", "whole_catalogue"] | Fact[Any] | ItemSum
"""What a metric may declare. ``"catalogue"`` is the number of items that something is counted for;
``"whole_catalogue"`` must also hold every item that occurs anywhere. ``"scores"`` are those of the
rows that it reads."""

_NAMES = (*get_args(RowSet), "scores")
_IMPLIED = {"history": HISTORY, "overlap_history": HISTORY, "overlap_reference": REFERENCE}


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """Declared inputs, with the requirements that follow from them.

    Attributes
    ----------
    rows : frozenset of str
        What blocks must hold, for item sums as well.
    facts : tuple of Fact
        What must be known about items and users, the tables of row sets included.
    item_sums : tuple of ItemSum
        What is summed over users for every item.
    catalogue : {"", "counted", "whole"}
        Whether the catalogue is counted, and whether it must hold every item that occurs.
    """

    rows: Needs
    facts: tuple[Fact[Any], ...]
    item_sums: tuple[ItemSum, ...]
    catalogue: Literal["", "counted", "whole"]

    @classmethod
    def of(cls, declared: Iterable[Input]) -> Inputs:
        """Sort the declared inputs of a metric."""
        inputs = tuple(dict.fromkeys(declared))
        sums = tuple(one for one in inputs if isinstance(one, ItemSum))
        rows: Needs = frozenset(one for one in inputs if one in _NAMES)  # type: ignore[misc]
        rows = rows.union(*(item_sum.needs for item_sum in sums))
        facts = [one for one in inputs if isinstance(one, Fact)]
        implied = {_IMPLIED[name] for name in rows if name in _IMPLIED}
        counted = bool(sums) or "catalogue" in inputs
        return cls(
            rows=rows,
            facts=(*facts, *sorted(implied)),
            item_sums=sums,
            catalogue="whole" if "whole_catalogue" in inputs else "counted" if counted else "",
        )
