"""Tables to lists and truth in codes: what happens before the engine starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.engine import Confirm
from rankwise.core.ids import HashCollision, HashedStrings, Vocabulary, vocabulary_for
from rankwise.core.lists import Lists, Ties, arrange
from rankwise.core.match import match
from rankwise.core.segments import owners
from rankwise.core.truth import Truth, arrange_truth
from rankwise.errors import ColumnError, DuplicateError, EmptyError, IdError
from rankwise.io.align import align

if TYPE_CHECKING:
    from collections import Counter

    from rankwise.arguments import Population
    from rankwise.core.segments import Ints
    from rankwise.io.tables import Table

__all__ = [
    "Duplicates",
    "Vocabularies",
    "confirmation",
    "later_rows",
    "make_lists",
    "make_truth",
    "repeated_rows",
    "stands_twice",
    "who_counts",
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
    repeated = truth.starts[:0] if rises.all() else repeated_rows(truth.items, truth.starts)
    if len(repeated):
        if duplicates == "error":
            _confirmrepeated_rows(table, words)
            raise stands_twice(
                "an item stands twice for one user in the truth",
                table,
                truth,
                repeated,
                words,
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
        repeated = later_rows(lists, repeated_rows(lists.items, lists.starts))
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


def _confirmrepeated_rows(table: Table, words: Vocabularies) -> None:
    hashed = isinstance(words.items, HashedStrings)
    if hashed and not table.frame.select("user", "item").is_duplicated().any():
        raise HashCollision


def stands_twice(
    what: str, table: Table, rows: Truth | Lists, repeated: Ints, words: Vocabularies, *, hint: str
) -> DuplicateError:
    """Name the user and the item of the first row that repeats another."""
    row = repeated[[repeated.argmin()]]
    user = words.users.decode(rows.user[owners(rows.starts, row)])[0]
    return DuplicateError(
        what,
        where=f"{table.source}, user {user!r}",
        found=f"item {words.items.decode(rows.items[row])[0]!r} more than once",
        hint=hint,
    )


def repeated_rows(items: Ints, starts: Ints) -> Ints:
    """Return the rows whose item stands elsewhere in the same list."""
    none = np.empty(0, dtype=np.int64)
    return match(items, starts, none, np.zeros(len(starts), dtype=np.int64)).repeated


def later_rows(lists: Lists, repeated: Ints) -> Ints:
    """Return all but the first row of every item in the lists that repeat some item."""
    whose = np.unique(owners(lists.starts, repeated))
    rows = [np.arange(lists.starts[owner], lists.starts[owner + 1]) for owner in whose]
    if not rows:
        return repeated
    row = np.concatenate(rows)
    owner = owners(lists.starts, row)
    frame = pl.DataFrame({"row": row, "list": owner, "item": lists.items[row]})
    return frame.filter(~pl.struct("list", "item").is_first_distinct())["row"].to_numpy()


def who_counts(
    population: Population, lists: Lists, truth: Truth, n_users: int, tally: Counter[str]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Decide who counts, and count who does not."""
    relevant = np.zeros(n_users, dtype=bool)
    has_list = relevant.copy()
    relevant[truth.user[truth.n_relevant > 0]] = True
    has_list[lists.user] = True
    tally["lists_without_relevant_items"] += int((has_list & ~relevant).sum())
    if population == "truth":
        return relevant
    if population == "both":
        return relevant & has_list
    return has_list if population == "recommended" else has_list | relevant
