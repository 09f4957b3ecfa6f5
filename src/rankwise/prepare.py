"""Tables to lists and truth in codes: what happens before the engine starts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.engine import Confirm
from rankwise.core.facts import UserItems
from rankwise.core.ids import HashCollision, HashedStrings, Vocabulary, vocabulary_for
from rankwise.core.lists import Lists, Ties, arrange
from rankwise.core.match import match
from rankwise.core.segments import bucket, offsets, owners, ragged_rows
from rankwise.core.truth import Truth, arrange_truth
from rankwise.errors import ColumnError, DuplicateError, EmptyError, IdError
from rankwise.io.align import align

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.core.facts import Facts
    from rankwise.core.segments import Ints
    from rankwise.io.columns import Kind
    from rankwise.io.tables import Table
    from rankwise.knowledge import Knowledge

__all__ = [
    "Duplicates",
    "Surroundings",
    "Vocabularies",
    "confirmation",
    "make_lists",
    "make_surroundings",
    "make_truth",
]

Duplicates: TypeAlias = Literal["error", "first"]


class Vocabularies:
    """The users and items of some tables, in the same codes for all of them."""

    def __init__(
        self, tables: list[Table | None], *, count_items: bool, hashed: bool = False
    ) -> None:
        self._kinds: dict[str, bool] = {}
        aligned = self.align(tables)
        present = [table for table in aligned if table is not None]
        self.users = _vocabulary(present, "user", dense=True)
        self.items = _vocabulary(present, "item", dense=count_items, hashed=hashed)
        self.hashed = isinstance(self.items, HashedStrings)
        self.train_items: list[Ints] = []
        for table in present:
            if table.kind == "train" and count_items:
                self.train_items.append(self.items.encode(table.frame["item"].unique()))

    def align(self, tables: list[Table | None]) -> list[Table]:
        """Give ids the same kind in all tables, those seen before and these."""
        present = [table for table in tables if table is not None]
        for role in ("user", "item"):
            present = align(present, role)
        self._check(present)
        whole = iter(present)
        return [table if table is None else next(whole) for table in tables]  # type: ignore[misc]

    def _check(self, tables: list[Table]) -> None:
        """Hold ids against those of the pieces before: codes of one kind do not fit the other."""
        for table in tables:
            for role in set(table.frame.columns) & {"user", "item"}:
                text = table.frame[role].dtype == pl.String
                if self._kinds.setdefault(role, text) != text:
                    raise IdError(
                        f"{role} ids are of another type than in the pieces before",
                        where=table.source,
                        found="strings" if text else "integers",
                        hint="cast the column to one type in every piece",
                    )


def _vocabulary(tables: list[Table], role: str, *, dense: bool, hashed: bool = False) -> Vocabulary:
    columns = [table.frame[role] for table in tables if role in table.frame.columns]
    return vocabulary_for(columns, dense=dense, hashed=hashed)


def make_truth(
    table: Table,
    words: Vocabularies,
    threshold: float | None,
    duplicates: Duplicates,
    tally: Counter[str],
) -> Truth:
    """Group truth rows by user, with duplicates dealt with and relevance decided.

    Raises
    ------
    ColumnError
        If there is a threshold, and no relevance to hold against it.
    DuplicateError
        If an item stands twice for a user and ``duplicates`` is ``"error"``.
    EmptyError
        If nothing is relevant.
    """
    if threshold is not None and "relevance" not in table.frame.columns:
        raise ColumnError(
            "a relevance threshold needs truth with a relevance",
            where=table.source,
            found=f"columns {', '.join(table.frame.columns)}",
            hint="leave the threshold out: without a relevance every row of the truth is relevant",
        )
    truth = _arrange_truth(table, words, threshold)
    rises = truth.items[1:] > truth.items[:-1]
    rises[truth.starts[1:-1] - 1] = True
    # Items that rise for every user cannot repeat; otherwise they are matched like a list.
    repeated = truth.starts[:0] if rises.all() else _repeated(truth.items, truth.starts)
    if len(repeated):
        if duplicates == "error":
            _confirm_repeated(table, words)
            owner = owners(truth.starts, repeated[[repeated.argmin()]])
            raise DuplicateError(
                "an item stands twice for one user in the truth",
                where=f"{table.source}, user {words.users.decode(truth.user[owner])[0]!r}",
                found=f"item {words.items.decode(truth.items[[repeated.min()]])[0]!r}"
                " more than once",
                hint='drop the repetition, or keep the most relevant with duplicates="first"',
            )
        frame = table.frame
        if "relevance" in frame.columns:
            frame = frame.sort("relevance", descending=True, maintain_order=True)
        once = frame.unique(["user", "item"], keep="first", maintain_order=True)
        tally["truth_duplicates_dropped"] += len(frame) - len(once)
        truth = _arrange_truth(table.with_frame(once), words, threshold)
    tally["truth_rows"] += len(truth.items)
    tally["truth_users_without_relevant_items"] += int((truth.n_relevant == 0).sum())
    if not truth.n_relevant.any():
        assert truth.relevance is not None
        raise EmptyError(
            "no item is relevant",
            where=table.source,
            found=f"the largest relevance is {truth.relevance.max():g}"
            + ("" if threshold is None else f", the threshold {threshold:g}"),
            hint="lower the relevance threshold"
            if threshold is not None
            else "items of relevance 0 or less are not relevant; is this the right column?",
        )
    return truth


def _arrange_truth(table: Table, words: Vocabularies, threshold: float | None) -> Truth:
    frame = table.frame
    relevance = frame["relevance"].to_numpy() if "relevance" in frame.columns else None
    return arrange_truth(
        frame["user"],
        words.items.encode(frame["item"]),
        relevance,
        vocabulary=words.users,
        threshold=threshold,
    )


def make_lists(
    table: Table,
    words: Vocabularies,
    ties: Ties,
    duplicates: Duplicates,
    tally: Counter[str],
    threads: int,
) -> Lists:
    """Arrange rows as ranked lists; with ``duplicates="first"``, without repetitions.

    Otherwise repetitions are found, and raised, where lists are matched with the truth.
    """
    frame = table.frame
    codes = words.items.encode(frame["item"])
    hashed = isinstance(words.items, HashedStrings)
    score = frame["score"].to_numpy() if "score" in frame.columns else None
    lists = arrange(
        frame["user"],
        codes,
        vocabulary=words.users,
        by_row=hashed,  # hashes have to be confirmed by row
        rank=frame["rank"].to_numpy() if "rank" in frame.columns else None,
        score=score,
        ties=ties,
        item_order=words.items.ordered,
        threads=threads,
    )
    if hashed and lists.items is not codes:
        lists = replace(lists, items=codes[lists.items], origin=lists.items)
    if "rank" in frame.columns and lists.scores is not None:
        tally["lists_whose_scores_rise"] += _rising(lists)
    tally["rows"] += len(lists.items)
    tally["lists"] += len(lists.user)
    tally["lists_with_rank_gaps"] += lists.gaps
    tally["padding"] += table.padding
    if duplicates == "first":
        repeated = _later(lists, _repeated(lists.items, lists.starts))
        if len(repeated):
            tally["duplicates_dropped"] += len(repeated)
            lists = lists.without(repeated)
    return lists


def _rising(lists: Lists) -> int:
    """Count lists whose scores rise somewhere, although their ranks say best first."""
    assert lists.scores is not None
    rises = np.diff(lists.scores, append=lists.scores[-1:]) > 0
    rises[lists.starts[1:] - 1] = False
    return int(np.add.reduceat(rises, lists.starts[:-1]).astype(bool).sum())


def confirmation(
    words: Vocabularies, listed: Table, truth_table: Table, lists: Lists, truth: Truth
) -> Confirm | None:
    """Return what confirms matches of hashes; None where codes are ids."""
    if not isinstance(words.items, HashedStrings):
        return None
    return Confirm(listed.frame["item"], truth_table.frame["item"], lists.origin, truth.origin)


def _confirm_repeated(table: Table, words: Vocabularies) -> None:
    hashed = isinstance(words.items, HashedStrings)
    if hashed and not table.frame.select("user", "item").is_duplicated().any():
        raise HashCollision


def _repeated(items: Ints, starts: Ints) -> Ints:
    none = np.empty(0, dtype=np.int64)
    return match(items, starts, none, np.zeros(len(starts), dtype=np.int64)).repeated


def _later(lists: Lists, repeated: Ints) -> Ints:
    """Return all but the first row of every item in the lists that repeat some item."""
    whose = np.unique(owners(lists.starts, repeated))
    rows = [np.arange(lists.starts[owner], lists.starts[owner + 1]) for owner in whose]
    if not rows:
        return repeated
    row = np.concatenate(rows)
    owner = owners(lists.starts, row)
    frame = pl.DataFrame({"row": row, "list": owner, "item": lists.items[row]})
    return frame.filter(~pl.struct("list", "item").is_first_distinct())["row"].to_numpy()


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
    tally: Counter[str],
    threads: int,
) -> Surroundings:
    """Turn tables beside lists and truth into what blocks are to know of them."""
    kinds = {fact.kind for fact in knowledge.wanted}
    other = None
    if "baseline" in kinds:
        by_score = "score" in tables["baseline"].frame.columns
        ties: Ties = "item" if by_score else "input"
        # Counted on its own: these are not the lists that are evaluated.
        lists = make_lists(tables["baseline"], words, ties, duplicates, Counter(), threads)
        repeated = _repeated(lists.items, lists.starts)
        if len(repeated):
            owner = owners(lists.starts, repeated[[repeated.argmin()]])
            raise DuplicateError(
                "an item stands twice in one list of the baseline",
                where=f"{tables['baseline'].source}, "
                f"user {words.users.decode(lists.user[owner])[0]!r}",
                found=f"item {words.items.decode(lists.items[[repeated.min()]])[0]!r}"
                " more than once",
                hint='drop the repetition, or keep the best-ranked with duplicates="first"',
            )
        other = _user_items(lists, words.users.size)
    past = None
    if "history" in kinds:
        past, again = _history(tables["train"], words)
        tally["train_rows_repeated"] = again
    facts = knowledge.by_code(words, {kind: tables[kind] for kind in knowledge.coded})
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
    users = words.users.encode(train.frame["user"])
    items = words.items.encode(train.frame["item"])
    pairs = pl.DataFrame({"user": users, "item": items}).unique(maintain_order=True)
    size = words.users.size
    starts, order = bucket(pairs["user"].to_numpy(), size)
    return UserItems(starts, pairs["item"].to_numpy()[order]), len(users) - len(pairs)
