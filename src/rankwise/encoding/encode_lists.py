"""Rows to recommendation lists and ground truth in codes, repetitions dealt with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from rankwise.core.choices import ANY_ROW, Duplicates, IdType, Population, Ties
from rankwise.core.encoded import Confirm
from rankwise.core.lists import Lists, arrange
from rankwise.core.match import match
from rankwise.core.ragged import Ints, owners
from rankwise.core.truth import Truth, arrange_truth
from rankwise.core.user_rules import members
from rankwise.core.vocabulary import Codes, HashCollision, HashedStrings, Vocabulary
from rankwise.encoding.id_space import IdSpace
from rankwise.errors import ColumnError, DuplicateError, EmptyError
from rankwise.tables.table import Table, is_absent
from rankwise.tables.validation import empty_table

__all__ = [
    "confirmation",
    "encode_lists",
    "encode_truth",
    "later_rows",
    "repeated_item",
    "repeated_rows",
    "users_evaluated",
    "users_of_truth",
]


def encode_truth(
    table: Table,
    ids: IdSpace,
    threshold: float | None,
    duplicates: Duplicates,
    counts: Counter[str],
    *,
    required: bool = True,
) -> Truth:
    """Return the ground truth by user, with relevance decided and repetitions dealt with.

    Relevant items are ``required`` unless users without any have a value.

    Raises
    ------
    ColumnError
        If there is a threshold, and no relevance to compare with it.
    DuplicateError
        If an item occurs twice for a user and ``duplicates`` is ``"error"``.
    EmptyError
        If nothing is relevant, and something has to be.
    """
    if is_absent(table):
        return Truth.none()
    if threshold not in (None, ANY_ROW) and "relevance" not in table.frame.columns:
        raise ColumnError(
            "a relevance threshold needs a ground truth with a relevance column",
            where=table.source,
            found=f"columns {', '.join(table.frame.columns)}",
            hint="omit the threshold: without relevances, every ground truth row is relevant",
        )
    if table.frame.is_empty():
        if required:
            raise empty_table(table)
        return Truth.none()
    truth = _arrange_truth(table, ids, threshold)
    repeated = repeated_rows(truth.items, truth.starts)
    if len(repeated):
        if duplicates == "error":
            _confirm_repeats(table, ids)
            raise repeated_item(
                "duplicate item of a user in the truth",
                table,
                truth,
                repeated,
                ids,
                hint='drop the duplicate, or keep the most relevant with duplicates="first"',
            )
        frame = table.frame
        if "relevance" in frame.columns:
            frame = frame.sort("relevance", descending=True, maintain_order=True)
        once = frame.unique(["user", "item"], keep="first", maintain_order=True)
        counts["truth_duplicates_dropped"] += len(frame) - len(once)
        truth = _arrange_truth(table.with_frame(once), ids, threshold)
    counts["truth_rows"] += len(truth.items)
    counts["truth_users_without_relevant_items"] += int((truth.n_relevant == 0).sum())
    if required and not truth.n_relevant.any():
        assert truth.relevance is not None
        raise EmptyError(
            "no item is relevant",
            where=table.source,
            found=f"the largest relevance is {truth.relevance.max():g}"
            + ("" if threshold in (None, ANY_ROW) else f", the threshold {threshold:g}"),
            hint="lower the relevance threshold"
            if threshold is not None
            else "items of relevance 0 or less are not relevant; is this the right column?",
        )
    return truth


def _arrange_truth(table: Table, ids: IdSpace, threshold: float | None) -> Truth:
    frame = table.frame
    relevance = frame["relevance"].to_numpy() if "relevance" in frame.columns else None
    return arrange_truth(
        frame["user"], ids.items.encode(frame["item"]), relevance, vocabulary=ids.users, threshold=threshold
    )


def encode_lists(
    table: Table,
    ids: IdSpace,
    ties: Ties,
    duplicates: Duplicates,
    counts: Counter[str],
    threads: int,
    *,
    id_type: IdType = "typed",
    in_order: bool = True,
) -> Lists:
    """Return rows as lists; with ``duplicates="first"``, without repetitions.

    Otherwise repeated items are an error that matching with the ground truth raises. ``id_type``
    says whether ids order tied items as they are or as text, ``in_order`` whether rows are needed
    best first, as they are to keep the first of repeated items.
    """
    frame = table.frame
    codes = ids.items.encode(frame["item"])
    hashed = isinstance(ids.items, HashedStrings)
    score = frame["score"].to_numpy() if "score" in frame.columns else None
    lists = arrange(
        frame["user"],
        codes,
        vocabulary=ids.users,
        by_row=hashed,  # hashes have to be confirmed by row
        rank=frame["rank"].to_numpy() if "rank" in frame.columns else None,
        score=score,
        ties=ties,
        item_order=ids.items.ordered if id_type == "typed" else _as_text(ids.items),
        threads=threads,
        in_order=in_order,
    )
    if hashed and lists.items is not codes:
        lists = replace(lists, items=codes[lists.items], origin=lists.items)
    if "rank" in frame.columns and lists.scores is not None:
        counts["lists_whose_scores_rise"] += _rising(lists)
    counts["rows"] += len(lists.items)
    counts["lists"] += len(lists.user)
    counts["lists_with_rank_gaps"] += lists.gaps
    if duplicates == "first":
        repeated = later_rows(lists, repeated_rows(lists.items, lists.starts))
        if len(repeated):
            counts["duplicates_dropped"] += len(repeated)
            lists = lists.without(repeated)
    return lists


def _as_text(items: Vocabulary) -> Callable[[Codes], Ints]:
    """Return what orders codes of items by the text of their ids."""

    def order(codes: Codes) -> Ints:
        least, largest = int(codes.min(initial=0)), int(codes.max(initial=0))
        if least >= 0 and largest < max(1 << 20, 4 * len(codes)):  # a place for every code
            occurs = np.zeros(largest + 1, dtype=bool)
            occurs[codes] = True
            distinct = np.flatnonzero(occurs)
            place = np.empty(largest + 1, dtype=np.int64)
            place[distinct] = _places(items.decode(distinct))
            return place[codes]
        distinct, inverse = np.unique(codes, return_inverse=True)
        return _places(items.decode(distinct))[inverse]

    return order


def _places(ids: pl.Series) -> Ints:
    """Return the place of each id in the order of their texts."""
    places = np.empty(len(ids), dtype=np.int64)
    places[ids.cast(pl.String).arg_sort().to_numpy()] = np.arange(len(ids))
    return places


def _rising(lists: Lists) -> int:
    """Count lists whose scores rise somewhere, although ranks order them best first."""
    assert lists.scores is not None
    rises = np.diff(lists.scores, append=lists.scores[-1:]) > 0
    rises[lists.starts[1:] - 1] = False
    return int(np.add.reduceat(rises, lists.starts[:-1]).astype(bool).sum())


def confirmation(ids: IdSpace, listed: Table, truth_table: Table, lists: Lists, truth: Truth) -> Confirm | None:
    """Return what compares ids where hashes are equal; None where codes are not hashes."""
    if not isinstance(ids.items, HashedStrings):
        return None
    return Confirm(
        recommended=listed.frame["item"],
        truth=truth_table.frame["item"],
        origin=lists.origin,
        truth_origin=truth.origin,
    )


def _confirm_repeats(table: Table, ids: IdSpace) -> None:
    hashed = isinstance(ids.items, HashedStrings)
    if hashed and not table.frame.select("user", "item").is_duplicated().any():
        raise HashCollision


def repeated_item(
    what: str, table: Table, rows: Truth | Lists, repeated: Ints, ids: IdSpace, *, hint: str
) -> DuplicateError:
    """Return the error for a repeated item, naming the first such user and item."""
    row = repeated[[repeated.argmin()]]
    user = ids.users.decode(rows.user[owners(rows.starts, row)])[0]
    return DuplicateError(
        what,
        where=f"{table.source}, user {user!r}",
        found=f"item {ids.items.decode(rows.items[row])[0]!r} more than once",
        hint=hint,
    )


def repeated_rows(items: Ints, starts: Ints) -> Ints:
    """Return the rows whose item occurs more than once in its list."""
    none = np.empty(0, dtype=np.int64)
    return match(items, starts, none, np.zeros(len(starts), dtype=np.int64)).repeated


def later_rows(lists: Lists, repeated: Ints) -> Ints:
    """Return, of the lists with a repeated item, all rows but the first of each item."""
    affected = np.unique(owners(lists.starts, repeated))
    rows = [np.arange(lists.starts[at], lists.starts[at + 1]) for at in affected]
    if not rows:
        return repeated
    row = np.concatenate(rows)
    owner = owners(lists.starts, row)
    frame = pl.DataFrame({"row": row, "list": owner, "item": lists.items[row]})
    return frame.filter(~pl.struct("list", "item").is_first_distinct())["row"].to_numpy()


def users_evaluated(
    population: Population, lists: Lists, truth: Truth, n_users: int, counts: Counter[str]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether each user is evaluated, and count lists without relevant items."""
    relevant = np.zeros(n_users, dtype=bool)
    has_list = relevant.copy()
    relevant[truth.user[truth.n_relevant > 0]] = True
    has_list[lists.user] = True
    counts["lists_without_relevant_items"] += int((has_list & ~relevant).sum())
    judged = relevant.copy()
    judged[users_of_truth("judged", truth)] = True
    evaluated: np.ndarray[tuple[int], np.dtype[np.bool_]] = members(population, relevant, has_list, judged)
    return evaluated


def users_of_truth(population: Population, truth: Truth) -> Codes:
    """Return the users whom the ground truth alone makes evaluated, with or without a list."""
    if population == "judged":
        return truth.user[truth.n_judged > 0]
    if population in ("truth", "all"):
        return truth.user[truth.n_relevant > 0]
    return truth.user[:0]
