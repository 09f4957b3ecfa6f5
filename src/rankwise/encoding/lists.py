"""Rows to recommendation lists and ground truth in the codes of one id space.

Ranks without an item are filled with items of nobody, so that all others keep their ranks; only for
metrics that read hits.

Lists name only judged items, with the ranks that each may have and the size of the candidate set.
Hits are the same as from whole lists; metrics that need more are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from rankwise.blocks.block import Needs
from rankwise.blocks.lists import Lists, RankRange, Truth, arrange_truth, group_lists
from rankwise.blocks.matching import match
from rankwise.core.populations import POPULATIONS, PopulationName
from rankwise.core.ragged import Ints, offsets, segments_of
from rankwise.core.units import Units
from rankwise.core.vocabularies import Codes, Vocabulary, ascending_ranks, vocabulary_for
from rankwise.errors import (
    ColumnError,
    DuplicateError,
    EmptyError,
    InputError,
    MetricError,
    ParameterError,
    ScoreError,
)
from rankwise.messages import call, parameter
from rankwise.options import ANY_ROW, Choices, Duplicates, IdType, Ties
from rankwise.tables.columns import empty_table_error
from rankwise.tables.places import place_ids
from rankwise.tables.table import Recommendations, Table, is_absent


class IdSpace:
    """The users and items of several tables with settled ids, and the same codes in all of them.

    ``owners`` are the codes of whom lists belong to: the users, or the requests that are numbered.
    Codes are private to the process: nothing that leaves it carries them.

    Parameters
    ----------
    rows : iterable of Table
        Lists and ground truth, whose users are owners of lists.
    others : iterable of Table
        The tables that are known of users and items.
    count_items : bool
        Whether something is counted by item.
    units : Units, optional
        The requests whose numbers stand for users in ``rows``.
    """

    def __init__(
        self,
        rows: Iterable[Table],
        others: Iterable[Table],
        *,
        count_items: bool,
        units: Units | None = None,
    ) -> None:
        rows, others = list(rows), list(others)
        self.units = units
        of_users = others if units is not None else [*rows, *others]
        users = [table.frame["user"] for table in of_users if self.has_users(table)]
        if units is not None:
            users.append(units.users)
        of_items = [table for table in (*rows, *others) if "item" in table.frame.columns]
        items = [table.frame["item"] for table in of_items]
        self.users = vocabulary_for(users, dense=True)
        self.items = vocabulary_for(items, dense=count_items)
        self.owners: Vocabulary = self.users if units is None else units
        self.train_items: list[Ints] = []
        for table in others:
            if table.role == "train" and count_items:
                self.train_items.append(self.items.encode(table.trained.frame["item"].unique()))

    def has_users(self, table: Table) -> bool:
        """Whether a table has ids of users; numbers of requests stand there in lists and truth."""
        is_numbered = self.units is not None and table.role in ("recommendations", "truth")
        return "user" in table.frame.columns and not is_numbered


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
            found=f"columns {', '.join(table.names)}",
            hint="omit the threshold: without relevances, every ground truth row is relevant",
        )
    if table.frame.is_empty():
        if required:
            raise empty_table_error(table)
        return Truth.none()
    truth = _arrange_truth(table, ids, threshold)
    repeated = repeated_rows(truth.items, truth.starts)
    if len(repeated):
        if duplicates == "error":
            raise repeated_item(
                "duplicate item of a user in the truth",
                table,
                truth,
                repeated,
                ids.owners,
                ids.items,
                hint=f"drop the duplicate, or keep the most relevant with "
                f"{parameter('duplicates', 'first')}",
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
        frame["user"],
        ids.items.encode(frame["item"]),
        relevance,
        vocabulary=ids.owners,
        threshold=threshold,
    )


def encode_lists(
    table: Table,
    ids: IdSpace,
    owners: Vocabulary,
    ties: Ties,
    duplicates: Duplicates,
    counts: Counter[str],
    threads: int,
    *,
    id_type: IdType = "typed",
    in_order: bool = True,
) -> Lists:
    """Return rows as lists of their owners; with ``duplicates="first"``, without repetitions.

    With ``duplicates="keep"`` placeholders that nobody likes stand for repetitions. Otherwise
    repeated items are an error that matching with the ground truth raises. ``id_type``
    says whether ids order tied items as they are or as text, ``in_order`` whether rows are needed
    best first, as they are to keep the first of repeated items.
    """
    frame = table.frame
    codes = ids.items.encode(frame["item"], threads=threads)
    score = frame["score"].to_numpy() if "score" in frame.columns else None
    lists = group_lists(
        frame["user"],
        codes,
        vocabulary=owners,
        rank=frame["rank"].to_numpy() if "rank" in frame.columns else None,
        score=score,
        ties=ties,
        item_order=ids.items.sort_keys if id_type == "typed" else _as_text(ids.items),
        threads=threads,
        in_order=in_order,
    )
    if "rank" in frame.columns and lists.scores is not None:
        counts["lists_whose_scores_rise"] += _rising(lists)
    counts["rows"] += len(lists.items)
    counts["lists"] += len(lists.user)
    counts["lists_with_rank_gaps"] += lists.gaps
    if duplicates == "error":
        return lists

    repeated = later_rows(lists, repeated_rows(lists.items, lists.starts))
    if not len(repeated):
        return lists
    if duplicates == "first":
        counts["duplicates_dropped"] += len(repeated)
        return lists.without(repeated)
    counts["duplicates_kept"] += len(repeated)
    return _blank(lists, repeated, ids.items, frame.schema["item"])


def _blank(lists: Lists, rows: Ints, vocabulary: Vocabulary, kind: pl.DataType) -> Lists:
    """Return lists in which these rows hold placeholder items, distinct within each list."""
    owner = segments_of(lists.starts, rows)
    number = np.arange(len(rows)) - np.searchsorted(owner, owner)
    numbers = pl.select(pl.int_range(int(number.max()) + 1).alias("number"))
    names = numbers.select(place_ids(pl.col("number"), "repeated", kind)).to_series()
    places = vocabulary.encode(names)
    items = lists.items.astype(np.int64)  # narrow codes have no room for those of placeholders
    items[rows] = places[number]
    return replace(lists, items=items)


def _as_text(items: Vocabulary) -> Callable[[Codes], Ints]:
    """Return a function that ranks codes of items by the text of their ids."""

    def order(codes: Codes) -> Ints:
        least, largest = int(codes.min(initial=0)), int(codes.max(initial=0))
        if least >= 0 and largest < max(1 << 20, 4 * len(codes)):  # a place for every code
            occurs = np.zeros(largest + 1, dtype=bool)
            occurs[codes] = True
            distinct = np.flatnonzero(occurs)
            place = np.empty(largest + 1, dtype=np.int64)
            place[distinct] = ascending_ranks(items.decode(distinct).cast(pl.String))
            return place[codes]
        distinct, inverse = np.unique(codes, return_inverse=True)
        return ascending_ranks(items.decode(distinct).cast(pl.String))[inverse]

    return order


def _rising(lists: Lists) -> int:
    """Count lists whose scores rise somewhere, although ranks order them best first."""
    assert lists.scores is not None
    rises = np.diff(lists.scores, append=lists.scores[-1:]) > 0
    rises[lists.starts[1:] - 1] = False
    return int(np.add.reduceat(rises, lists.starts[:-1]).astype(bool).sum())


def repeated_item(
    what: str,
    table: Table,
    rows: Truth | Lists,
    repeated: Ints,
    owners_known: Vocabulary,
    items: Vocabulary,
    *,
    hint: str,
) -> DuplicateError:
    """Return the error for a repeated item, naming the first user and item."""
    row = repeated[[repeated.argmin()]]
    user = owners_known.decode(rows.user[segments_of(rows.starts, row)])[0]
    return DuplicateError(
        what,
        where=f"{table.source}, user {user!r}",
        found=f"item {items.decode(rows.items[row])[0]!r} more than once",
        hint=hint,
    )


def repeated_rows(items: Ints, starts: Ints) -> Ints:
    """Return the rows whose item occurs more than once in its list."""
    none = np.empty(0, dtype=np.int64)
    return match(items, starts, none, np.zeros(len(starts), dtype=np.int64)).repeated


def later_rows(lists: Lists, repeated: Ints) -> Ints:
    """Return, of the lists with a repeated item, all rows but the first of each item."""
    affected = np.unique(segments_of(lists.starts, repeated))
    rows = [np.arange(lists.starts[at], lists.starts[at + 1]) for at in affected]
    if not rows:
        return repeated
    row = np.concatenate(rows)
    owner = segments_of(lists.starts, row)
    frame = pl.DataFrame({"row": row, "list": owner, "item": lists.items[row]})
    return frame.filter(~pl.struct("list", "item").is_first_distinct())["row"].to_numpy()


def users_evaluated(
    population: PopulationName, lists: Lists, truth: Truth, n_users: int, counts: Counter[str]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether each user is evaluated, and count lists without relevant items."""
    relevant = np.zeros(n_users, dtype=bool)
    has_list = relevant.copy()
    relevant[truth.user[truth.n_relevant > 0]] = True
    has_list[lists.user] = True
    counts["lists_without_relevant_items"] += int((has_list & ~relevant).sum())
    judged = relevant.copy()
    judged[users_of_truth("judged", truth)] = True
    evaluated: np.ndarray[tuple[int], np.dtype[np.bool_]] = POPULATIONS[population].includes(
        relevant=relevant, listed=has_list, judged=judged
    )
    return evaluated


def users_of_truth(population: PopulationName, truth: Truth) -> Codes:
    """Return the users whom the ground truth alone makes evaluated, with or without a list."""
    if POPULATIONS[population].needs_list:
        return truth.user[:0]
    is_judged = "judged" in POPULATIONS[population].needs
    return truth.user[(truth.n_judged if is_judged else truth.n_relevant) > 0]


_DESCRIBING = {"recommended", "overlap_history", "overlap_reference"}
_SLACK = 1_000_000  # places that may be filled beside ten for every row


def check_kept(needs: Needs, options: Choices, *, numbers_items: bool) -> None:
    """Raise if places without an item are kept and a metric describes lists: they are no items."""
    if not (needs & _DESCRIBING or numbers_items):
        return
    kept = [
        ("ranks", "keep", "close"),
        ("duplicates", "keep", "first"),
        ("empty_lists", "present", "absent"),
    ]
    for name, value, instead in kept:
        if getattr(options, name) == value:
            raise MetricError(
                "metrics that describe lists cannot count ranks without an item",
                found=parameter(name, value),
                hint=f"use {parameter(name, instead)} for them, and evaluate accuracy metrics "
                "separately",
            )


def fill_rank_gaps(table: Recommendations) -> Recommendations:
    """Return lists with a placeholder item at every missing rank above the last.

    The lists with gaps are counted as ``lists_with_rank_gaps``.
    """
    frame = table.frame
    if "rank" not in frame.columns or not frame.schema["rank"].is_integer():
        raise ParameterError(
            f"{parameter('ranks', 'keep')} needs a rank for every row, as whole numbers",
            where=table.source,
            found=f"columns {', '.join(table.names)}",
        )
    if int(frame["rank"].to_numpy().min()) < 1:
        raise ScoreError("ranks count from 1", where=table.source, found=str(frame["rank"].min()))
    last = frame.group_by("user", maintain_order=True).agg(pl.max("rank"), rows=pl.n_unique("rank"))
    last = last.filter(pl.col("rank") > pl.col("rows"))
    if last.is_empty():
        return table
    size = int(last["rank"].to_numpy().astype(float).sum() - last["rows"].sum())
    if size > 10 * len(frame) + _SLACK:
        raise ScoreError(
            "too many ranks are missing to keep a place for each of them",
            where=table.source,
            found=f"{size:,} missing ranks, {len(frame):,} rows",
            hint=f"do ranks count from 1 in every list? {parameter('ranks', 'close')} closes the "
            "gaps",
        )
    places = last.select("user", pl.int_ranges(1, pl.col("rank") + 1).alias("rank"))
    places = places.explode("rank").with_columns(pl.col("rank").cast(frame.schema["rank"]))
    missing = places.join(frame, on=["user", "rank"], how="anti", maintain_order="left")
    name = place_ids(pl.col("rank"), "missing", frame.schema["item"])
    filled = pl.concat([frame, missing.with_columns(item=name)], how="diagonal_relaxed")
    filled = filled.sort("user", "rank", maintain_order=True)
    counts = {**table.counts, "lists_with_rank_gaps": len(last), "ranks_without_item": len(missing)}
    return replace(table, frame=filled.select(frame.columns), counts=counts)


def encode_exact_ranks(
    table: Recommendations, truth: Table, ids: IdSpace, ties: Ties, counts: Counter[str]
) -> Lists:
    """Return exact ranks as lists that name judged items only.

    Raises
    ------
    InputError
        If the ground truth has rows without a rank.
    """
    assert table.lengths is not None
    if ties not in ("expected", "optimistic", "pessimistic"):
        raise ParameterError(
            "exact ranks do not break ties between scores",
            found=parameter("ties", ties),
            hint='use "expected", "optimistic" or "pessimistic"',
        )
    frame = table.frame
    kind = {role: frame[role].dtype for role in ("user", "item")}
    lengths = table.lengths.cast({"user": kind["user"]})
    judged = truth.frame.select("user", "item").join(lengths, on="user", how="semi")
    lost = judged.join(frame, on=["user", "item"], how="anti")
    if table.unranked is not None and len(lost):
        lost = lost.join(table.unranked.cast(kind), on=["user", "item"], how="anti")  # type: ignore[arg-type]
    if len(lost):
        raise InputError(
            "these ranks were computed for another ground truth",
            where=f"user {lost['user'][0]!r}, item {lost['item'][0]!r}",
            found=f"{len(lost)} ground truth rows without a rank",
            hint=f"pass the same ground truth to rw.rank_relevant and {call('evaluate')}",
        )
    counted = lengths.join(
        frame.group_by("user").len(), on="user", how="left", maintain_order="left"
    )
    if not frame["user"].is_sorted():
        order = lengths.select("user").with_row_index("at")
        frame = frame.join(order, on="user", maintain_order="left").sort(
            "at", "first", maintain_order=True
        )
    counts["lists"] += len(lengths)
    ranges = RankRange(
        frame["first"].to_numpy(), frame["last"].to_numpy(), lengths["length"].to_numpy()
    )
    return Lists(
        user=ids.users.encode(lengths["user"]),
        starts=offsets(counted["len"].fill_null(0).cast(pl.Int64).to_numpy()),
        items=ids.items.encode(frame["item"]),
        scores=frame["score"].to_numpy(),
        has_ties=bool((ranges.last > ranges.first).any()),
        rank_range=ranges,
    )


def no_ranks() -> Lists:
    """Return no lists at all, as exact ranks."""
    none = Lists.none()
    return replace(none, rank_range=RankRange(none.items, none.items, none.items))
