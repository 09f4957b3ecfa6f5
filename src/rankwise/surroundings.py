"""Tables beside lists and truth, in codes: facts, histories, and the lists of another run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise.core.facts import UserItems
from rankwise.core.lists import Lists, group
from rankwise.core.segments import offsets, ragged_rows
from rankwise.prepare import (
    Duplicates,
    Vocabularies,
    later_rows,
    make_lists,
    repeated_rows,
    stands_twice,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.core.facts import Facts
    from rankwise.core.lists import Ties
    from rankwise.io.columns import Kind
    from rankwise.io.tables import Table
    from rankwise.knowledge import Knowledge

__all__ = ["Surroundings", "make_surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """What is known beyond lists and truth, in codes."""

    facts: Facts
    history: UserItems | None = None
    baseline: UserItems | None = None


def make_surroundings(
    knowledge: Knowledge,
    tables: Mapping[Kind, Table],
    words: Vocabularies,
    duplicates: Duplicates,
    threads: int,
) -> Surroundings:
    """Turn tables beside lists and truth into what blocks are to know of them."""
    kinds = {fact.kind for fact in knowledge.wanted}
    other = None
    if "baseline" in kinds:
        by_score = "score" in tables["baseline"].frame.columns
        ties: Ties = "item" if by_score else "input"
        tally: Counter[str] = Counter()  # of its own: these are not the lists that are evaluated
        lists = make_lists(tables["baseline"], words, ties, duplicates, tally, threads)
        knowledge.counts["baseline_duplicates_dropped"] = tally["duplicates_dropped"]
        repeated = repeated_rows(lists.items, lists.starts)
        if len(repeated):
            raise stands_twice(
                "an item stands twice in one list of the baseline",
                tables["baseline"],
                lists,
                repeated,
                words,
                hint='drop the repetition, or keep the best-ranked with duplicates="first"',
            )
        other = _user_items(lists, words.users.size)
    past, again = None, 0
    if kinds & {"history", "popularity", "similarity", "source"}:
        past, again = _history(tables["train"], words)
        knowledge.counts["train_rows_repeated"] = again
    facts = knowledge.by_code(
        words, {kind: tables[kind] for kind in knowledge.coded}, distinct=not again
    )
    return Surroundings(facts, past, other)


def _user_items(lists: Lists, size: int) -> UserItems:
    """Give lists an entry for every user code."""
    lengths = np.zeros(size, dtype=np.int64)
    lengths[lists.user] = np.diff(lists.starts)
    order = np.argsort(lists.user, kind="stable")
    rows = ragged_rows(lists.starts[:-1][order], np.diff(lists.starts)[order])
    return UserItems(offsets(lengths), lists.items[rows])


def _history(train: Table, words: Vocabularies) -> tuple[UserItems, int]:
    """Return every user's distinct training items, and how many rows said nothing new."""
    groups = group(train.frame["user"], words.users)
    items = words.items.encode(train.frame["item"])
    items = items if groups.order is None else items[groups.order]
    lists = Lists(groups.user, groups.starts, items, None, has_ties=False)
    repeated = repeated_rows(items, groups.starts)
    if len(repeated):
        lists = lists.without(later_rows(lists, repeated))
    return _user_items(lists, words.users.size), len(items) - len(lists.items)
