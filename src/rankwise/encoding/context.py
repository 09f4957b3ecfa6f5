"""Extra inputs in codes: facts, training histories, and the lists of a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rankwise.core.choices import Duplicates, Ties
from rankwise.core.facts import Facts
from rankwise.core.grouping import group
from rankwise.core.lists import Lists
from rankwise.core.ragged import UserItems, offsets, ragged_rows
from rankwise.encoding.encode_lists import encode_lists, later_rows, repeated_item, repeated_rows
from rankwise.encoding.fact_tables import FactTables
from rankwise.encoding.id_space import IdSpace
from rankwise.tables.columns import TableRole
from rankwise.tables.table import Table

__all__ = ["Context", "encode_context"]


@dataclass(frozen=True)
class Context:
    """What is known beyond lists and ground truth, by code.

    Attributes
    ----------
    facts : mapping of Fact to object
        What is known about items and users.
    history, baseline : UserItems or None
        The distinct training items of every user, and the lists of another run.
    counts : dict of str to int
        What was out of the ordinary in these tables.
    """

    facts: Facts = field(default_factory=dict)
    history: UserItems | None = None
    baseline: UserItems | None = None
    counts: dict[str, int] = field(default_factory=dict)


def encode_context(
    facts: FactTables, tables: Mapping[TableRole, Table], ids: IdSpace, duplicates: Duplicates, threads: int
) -> Context:
    """Return what measures need to know beyond lists and ground truth.

    ``tables`` are those that the facts come from, with their ids aligned.
    """
    kinds = {fact.kind for fact in facts.wanted}
    counts: dict[str, int] = {}
    baseline = None
    if "baseline" in kinds:
        baseline, counts["baseline_duplicates_dropped"] = _baseline(tables["baseline"], ids, duplicates, threads)
    history, repeated = None, 0
    if kinds & {"history", "popularity", "similarity", "source"}:
        history, repeated = _history(tables["train"], ids)
        counts["train_rows_repeated"] = repeated
    by_code = facts.by_code(ids, tables, distinct=not repeated)
    return Context(by_code, history, baseline, counts)


def _baseline(table: Table, ids: IdSpace, duplicates: Duplicates, threads: int) -> tuple[UserItems, int]:
    """Return the lists of another run, and how many repeated rows were dropped."""
    if table.frame.is_empty():  # a piece whose users it does not have
        return _user_items(Lists.none(), ids.users.size), 0
    ties: Ties = "item" if "score" in table.frame.columns else "input"
    counts: Counter[str] = Counter()  # separate: these lists are not the evaluated ones
    lists = encode_lists(table, ids, ties, duplicates, counts, threads)
    repeated = repeated_rows(lists.items, lists.starts)
    if len(repeated):
        raise repeated_item(
            "duplicate item in a list of the baseline",
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
