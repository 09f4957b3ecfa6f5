"""`rank` and `rank_relevant`: recommendation lists and exact ranks, from scores or factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankwise.candidates import Candidates
from rankwise.core import kernels
from rankwise.core.arguments import check_choice, check_positive, described
from rankwise.core.kernels import default_threads
from rankwise.core.ragged import Ints, UserItems, counting_sort, positions, runs, sort_segments
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.ranking.pool import (
    SHARED,
    CandidateScores,
    Pool,
    TopRows,
    check_scores,
    cut_lists,
    groups_for,
    is_in,
    largest_of_groups,
    make_pool,
    map_blocks,
    pair_keys,
    top,
)
from rankwise.ranking.scores import PAD, Axis, Floats
from rankwise.tables.columns import Columns, check_columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Protocol, Recommendations, TableRole

TieRule: TypeAlias = Literal["expected", "item", "item_desc"]
_SLACK = 10_000_000  # rows that ties at the cut-off may add before an error is raised


@dataclass(frozen=True, repr=False)
class Ranking:
    """Recommendation lists from `rank`: pass them to `rankwise.evaluate`.

    Attributes
    ----------
    k : int
        The length of the lists; with ``ties="expected"``, items that tie with the k-th are added.
    ties : str
        How ties between scores were handled.
    protocol : Protocol
        How candidates were chosen; stored in results.
    counts : dict of str to int
        Irregularities, by name; stored in results.
    """

    k: int
    ties: TieRule
    protocol: Protocol
    counts: dict[str, int]
    _users: Axis = field(repr=False)
    _items: Axis = field(repr=False)
    _rows: TopRows = field(repr=False)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Columns ``user``, ``item``, ``score``, and ``rank`` where ties are broken."""
        rows = self._rows
        frame = pl.DataFrame(
            {
                "user": self._users.ids.gather(rows.user),
                "item": self._items.ids.gather(rows.item),
                "score": rows.score.astype(np.float64),
            }
        )
        if self.ties == "expected":
            return frame
        return frame.with_columns(rank=positions(runs(rows.user)) + 1)

    def __len__(self) -> int:
        return len(self._rows.user)

    def __repr__(self) -> str:
        label = self.protocol.label or self.protocol.candidates
        lists = self.counts["lists_ranked"]
        return f"<Ranking: {lists:,} lists of {self.k}, {label}, ties={self.ties}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the frame as an Arrow stream."""
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def is_labelled(self) -> bool:
        """Whether users or items have ids different from the numbers of rows and columns."""
        return not (self._users.numbered and self._items.numbered)

    def as_table(self, kind: TableRole = "recommendations") -> Recommendations:
        """Return the lists as a table for `rankwise.evaluate`."""
        columns = {name: name for name in self.frame.columns}
        k = self.k if self.ties == "expected" else None
        return Recommendations(
            self.frame,
            "recommendations",
            "ranking",
            "ranking",
            columns,
            protocol=self.protocol,
            counts=self.counts,
            k=k,
        )


@described(**SHARED)
def rank(
    scores: Any = None,
    k: int | None = None,
    *,
    users: Any = None,
    items: Any = None,
    bias: Any = None,
    exclude: Any = None,
    candidates: Candidates | None = None,
    ties: TieRule = "expected",
    user_ids: Iterable[Any] | None = None,
    item_ids: Iterable[Any] | None = None,
    only: Iterable[Any] | None = None,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Ranking:
    r"""Rank items for every user: the exact top k, from a score matrix or from factors.

    With factors the score is :math:`p_u \cdot q_i + b_i`, computed for blocks of users: the full
    user-item score matrix is never materialised. Scores keep their precision. Metrics with a
    cut-off above k, or without one, are computed on the lists of k items.

    Parameters
    ----------
    %(scores)s
    k : int, optional
        The length of the lists; required. Users with fewer candidates get shorter lists and
        are counted.
    exclude : table, path, mapping or sparse matrix, optional
        User-item pairs that are not ranked: usually the training interactions; of a
        `rankwise.splits.Split` the rows that are known before its test part. For its validation
        part pass ``split.known("validation")``.
    %(candidates)s
    ties : {"expected", "item", "item_desc"}, default="expected"
        How to handle ties between scores. ``"expected"`` leaves them unbroken and keeps all items
        that tie with the k-th: metrics are then averaged over all orders. The others break ties
        by item id, ascending or descending.
    only : iterable, optional
        Ids of the users to rank for; by default all.
    columns : mapping, optional
        The column of ``exclude`` for each role, e.g. ``{"user": "uid"}``.
    %(running)s

    Returns
    -------
    Ranking
        The recommendation lists, to pass to `rankwise.evaluate`.

    Raises
    ------
    InputError
        If a score is NaN, shapes do not match, no user has a candidate, or more items tie with the
        k-th than can be kept.
    ParameterError
        If parameters contradict each other, or candidates were drawn with replacement: a list
        cannot repeat items.

    See Also
    --------
    rankwise.rank_relevant : The exact ranks of ground truth items, without a cut-off.
    rankwise.evaluate_model : Rank and evaluate a model with ``recommend`` or ``predict``.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> scores = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]])
    >>> lists = rw.rank(scores, 2, exclude={0: [0]})
    >>> lists.frame.rows()
    [(0, 2, 0.5), (0, 1, 0.1), (1, 1, 0.8), (1, 2, 0.4)]
    >>> rw.evaluate(lists, {0: {2}, 1: {2}}, "mrr@2")["mrr@2"]
    0.75
    """
    check_choice("ties", ties, TieRule)
    check_positive(threads=threads, k=k)
    check_columns(columns, [] if exclude is None else ["train"])
    if k is None:
        raise ParameterError(
            "rank needs k, the length of the lists", found="no k", hint="rw.rank(scores, 10)"
        )
    pool = make_pool(
        scores,
        users,
        items,
        bias,
        user_ids,
        item_ids,
        only=only,
        exclude=exclude,
        candidates=candidates,
        columns=columns,
    )
    return rank_pool(pool, int(k), ties, threads or default_threads(), progress)


def rank_pool(pool: Pool, k: int, ties: TieRule, threads: int, progress: bool | None) -> Ranking:
    """Return the top k of a pool's candidates for each of its users."""
    if pool.protocol.replacement:
        raise ParameterError(
            "candidates drawn with replacement do not make a list: an item could be in it twice",
            hint="use rw.rank_relevant, or draw without replacement",
        )
    blocks: list[TopRows] = []
    total = 0
    for block in _list_blocks(pool, k, ties, threads, progress):
        blocks.append(block)
        total += len(block.user)
        if total > 2 * k * len(pool.ranked_users) + _SLACK:
            raise InputError(
                "too many items tie with the last item of their list to keep them all",
                found=f"more than {total:,} rows for lists of {k}",
                hint=f"break ties by id with {parameter('ties', 'item')}, or use rw.rank_relevant",
            )
    rows = TopRows(*map(np.concatenate, zip(*blocks, strict=True)))
    lengths = np.bincount(rows.user, minlength=len(pool.users.ids))[pool.ranked_users]
    counts = Counter(pool.counts)
    counts["lists_ranked"] = int((lengths > 0).sum())
    counts["users_with_nothing_to_rank"] = int((lengths == 0).sum())
    counts["lists_shorter_than_k"] = int(((lengths > 0) & (lengths < k)).sum())
    if not len(rows.user):
        raise no_candidates(pool)
    return Ranking(k, ties, pool.protocol, dict(counts), pool.users, pool.items, rows)


def no_candidates(pool: Pool) -> EmptyError:
    """Return the error for a pool in which no user has a candidate."""
    return EmptyError(
        "no user has a candidate left to rank",
        found=f"{len(pool.ranked_users)} users, candidates: {pool.protocol.candidates}",
        hint="is everything excluded? do candidates and item_ids name items alike?",
    )


def _list_blocks(
    pool: Pool, k: int, ties: TieRule, threads: int, progress: bool | None
) -> Iterator[TopRows]:
    """Yield the lists of a block of users at a time, with users and items as codes."""
    groups = groups_for(k, pool.scores.n_items)
    id_rank, descending, keep_ties = pool.items.id_rank, ties == "item_desc", ties == "expected"
    code_type = np.int32 if max(len(pool.users.ids), len(pool.items.ids)) < 2**31 else np.int64

    def lists(rows: TopRows, users: Ints) -> TopRows:
        best = cut_lists(rows, k, id_rank, descending=descending, keep_ties=keep_ties)
        return TopRows(users[best.user].astype(code_type), best.item.astype(code_type), best.score)

    def of_candidates(block: CandidateScores) -> TopRows:
        user = np.repeat(np.arange(len(block.users)), np.diff(block.starts))
        return lists(TopRows(user, block.items, block.scores), block.users)

    def of_all_items(users: Ints, scores: Floats) -> TopRows:
        compiled = kernels.top(scores[:, : pool.scores.n_items], k, groups)
        if compiled is not None:
            lengths, items, best = compiled
            return lists(TopRows(np.repeat(np.arange(len(users)), lengths), items, best), users)
        largest = largest_of_groups(scores, groups)
        check_scores(pool, users, scores, largest)
        return lists(top(scores, largest, k), users)

    return map_blocks(
        pool, of_all_items, of_candidates, groups=groups, threads=threads, progress=progress
    )


_FEW = 8  # judged items per user up to which counting is cheaper than sorting the user's scores


@dataclass(frozen=True, repr=False)
class Ranks:
    """Exact ranks of judged items from `rank_relevant`: pass them to `rankwise.evaluate`.

    Attributes
    ----------
    frame : polars.DataFrame
        One row per judged item that was ranked: ``user``, ``item``, ``score``, and its possible
        ranks ``first`` to ``last``, which differ if scores tie.
    lengths : polars.DataFrame
        One row per user: ``user``, and the number of ranked candidates, ``length``.
    unranked : polars.DataFrame
        Judged items of these users outside the candidate set: ``user``, ``item``. They stay in the
        ground truth, as items that are never recommended.
    protocol : Protocol
        How candidates were chosen; stored in results.
    counts : dict of str to int
        Irregularities, by name; stored in results.
    eligible : polars.DataFrame or None
        For sampled candidates: the number of items from which each user's negatives were drawn.
    """

    frame: pl.DataFrame
    lengths: pl.DataFrame
    unranked: pl.DataFrame
    protocol: Protocol
    counts: dict[str, int]
    eligible: pl.DataFrame | None = None

    def __repr__(self) -> str:
        label = self.protocol.label or self.protocol.candidates
        return f"<Ranks: {len(self.frame):,} items of {len(self.lengths):,} users, {label}>"

    def as_table(self, kind: TableRole = "recommendations") -> Recommendations:
        """Return the ranks as a table for `rankwise.evaluate`."""
        return Recommendations(
            self.frame,
            "recommendations",
            "ranks",
            "exact ranks",
            {name: name for name in self.frame.columns},
            protocol=self.protocol,
            counts=self.counts,
            lengths=self.lengths,
            unranked=self.unranked,
        )


@described(**SHARED)
def rank_relevant(
    scores: Any = None,
    *,
    truth: Any,
    users: Any = None,
    items: Any = None,
    bias: Any = None,
    exclude: Any = None,
    candidates: Candidates | None = None,
    user_ids: Iterable[Any] | None = None,
    item_ids: Iterable[Any] | None = None,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Ranks:
    r"""Compute the exact rank of every ground truth item among all candidates.

    The rank of item i is :math:`1 + |\{j : s_{uj} > s_{ui}\}|`; if t candidates share its score, it
    is any of the t ranks from there on, with equal probability. Every metric that is a function of
    these ranks (auc, gauc, mrr, ndcg, recall, map, …) then has its exact value at any cut-off, ties
    included: ``rw.evaluate(ranks, truth, "auc")``.

    Parameters
    ----------
    %(scores)s
    truth : table, path, mapping or sparse matrix
        The ground truth, as for `rankwise.evaluate`; all its rows are ranked, relevant or not.
    exclude : table, path, mapping or sparse matrix, optional
        User-item pairs that are not ranked; of a `rankwise.splits.Split` the rows that are known
        before its test part. Ground truth rows among them are counted and stay in
        the ground truth, as items that are never recommended.
    %(candidates)s
    columns : mapping, optional
        The column of ``exclude`` and ``truth`` for each role, e.g. ``{"user": "uid"}``.
    %(running)s

    Returns
    -------
    Ranks
        The ranks, to pass to `rankwise.evaluate` with the same ground truth.

    Raises
    ------
    InputError
        If a score is NaN, shapes do not match, or no user has a candidate.
    ParameterError
        If parameters contradict each other.

    See Also
    --------
    rankwise.rank : Recommendation lists of k items, also for metrics that describe whole lists.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> scores = np.array([[0.9, 0.1, 0.5, 0.5], [0.2, 0.8, 0.4, 0.0]])
    >>> truth = {0: {2}, 1: {1, 3}}
    >>> ranks = rw.rank_relevant(scores, truth=truth)
    >>> ranks.frame.select("user", "item", "first", "last").rows()
    [(0, 2, 2, 3), (1, 1, 1, 1), (1, 3, 4, 4)]
    >>> rw.evaluate(ranks, truth, "gauc")["gauc"]
    0.5
    """
    check_positive(threads=threads)
    check_columns(columns, ["truth"] if exclude is None else ["truth", "train"])
    table = read_table(truth, "truth", columns)
    table = table.with_frame(table.frame.select("user", "item").unique(maintain_order=True))
    pool = make_pool(
        scores,
        users,
        items,
        bias,
        user_ids,
        item_ids,
        only=table,
        exclude=exclude,
        candidates=candidates,
        columns=columns,
    )
    user, item = pool.codes(table)
    has_scores = (user >= 0) & (item >= 0)
    starts, order = counting_sort(user[has_scores], len(pool.users.ids))
    judged = UserItems(starts, item[has_scores][order])
    blocks = _rank_blocks(pool, judged, threads or default_threads(), progress)
    rows = _RankRows(*map(np.concatenate, zip(*blocks, strict=True)))
    if not rows.length.any():
        raise no_candidates(pool)
    frame = pl.DataFrame(
        {
            "user": pool.users.ids.gather(rows.user),
            "item": pool.items.ids.gather(rows.item),
            "score": rows.score.astype(np.float64),
            "first": rows.first,
            "last": rows.last,
        }
    )
    ranked_ids = pool.users.ids.gather(pool.ranked_users)
    lengths = pl.DataFrame({"user": ranked_ids, "length": rows.length})
    lengths = lengths.filter(pl.col("length") > 0)
    counts = Counter(pool.counts)
    counts["users_with_nothing_to_rank"] = int((rows.length == 0).sum())
    width = len(pool.items.ids)
    missing = ~is_in(user * width + item, rows.user * width + rows.item) | (item < 0)
    has_candidates = np.zeros(len(pool.users.ids), dtype=bool)
    has_candidates[pool.ranked_users[rows.length > 0]] = True
    missing &= (user >= 0) & has_candidates[user]
    unranked = pl.DataFrame(
        {
            "user": pool.users.ids.gather(user[missing]),
            "item": table.frame["item"].filter(missing).cast(frame["item"].dtype),
        }
    )
    counts["truth_rows_that_are_no_candidates"] = len(unranked)
    ranks = Ranks(frame, lengths, unranked, pool.protocol, dict(counts))
    return ranks if candidates is None else replace(ranks, eligible=candidates.eligible)


class _RankRows(NamedTuple):
    """Ranks of judged items in order of user and rank, and every user's number of candidates."""

    user: Ints
    item: Ints
    score: Floats
    first: Ints
    last: Ints
    length: Ints


def _rank_blocks(
    pool: Pool, judged: UserItems, threads: int, progress: bool | None
) -> Iterator[_RankRows]:
    """Yield the ranks of the judged items of a block of users at a time."""

    def of_candidates(block: CandidateScores) -> _RankRows:
        return _among_candidates(block, judged)

    def of_all_items(users: Ints, scores: Floats) -> _RankRows:
        return _among_all_items(pool, users, scores, judged)

    return map_blocks(
        pool, of_all_items, of_candidates, groups=PAD, threads=threads, progress=progress
    )


def _among_all_items(pool: Pool, users: Ints, scores: Floats, judged: UserItems) -> _RankRows:
    """Return the ranks of judged items in a block of scores, which is overwritten."""
    rows, starts = judged.rows_of(users)
    item = judged.items[rows]
    score = scores[np.repeat(np.arange(len(users)), np.diff(starts)), item]
    counts = kernels.count_above(scores, score, starts)
    if counts is None:
        check_scores(pool, users, scores, scores.max(axis=1, keepdims=True))
        counts = _count_above(scores, score, starts)
    length, above, equal = counts
    user, kept = np.repeat(users, np.diff(starts)), score > -np.inf
    return _sorted(user[kept], item[kept], score[kept], above[kept], equal[kept], length)


def _count_above(scores: Floats, score: Floats, starts: Ints) -> tuple[Ints, Ints, Ints]:
    """Count the scores of each row, and its scores above and equal to each judged score.

    Rows with many judged scores are sorted in place.
    """
    length = np.count_nonzero(scores > -np.inf, axis=1)
    above, equal = np.empty(len(score), dtype=np.int64), np.empty(len(score), dtype=np.int64)
    for row, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        all_scores, judged_scores = scores[row], score[a:b]
        if b - a <= _FEW:
            above[a:b] = [np.count_nonzero(all_scores > value) for value in judged_scores]
            equal[a:b] = [np.count_nonzero(all_scores == value) for value in judged_scores]
        else:
            all_scores.sort()
            upper = all_scores.searchsorted(judged_scores, side="right")
            above[a:b] = len(all_scores) - upper
            equal[a:b] = upper - all_scores.searchsorted(judged_scores, side="left")
    return length, above, equal


def _among_candidates(block: CandidateScores, judged: UserItems) -> _RankRows:
    """Return the ranks of judged items among the candidates of their user."""
    owner = np.repeat(np.arange(len(block.users)), np.diff(block.starts))
    score, item = sort_segments(
        block.starts, block.scores, [block.scores, block.items], descending=True
    )
    tie_starts = runs(owner, score)
    tie_sizes = np.diff(tie_starts)
    above = np.repeat(tie_starts[:-1], tie_sizes) - block.starts[owner]
    width = max(int(item.max(initial=0)), int(judged.items.max(initial=0))) + 1
    pairs = owner * width + item
    is_judged = is_in(pairs, pair_keys(judged, block.users, width))
    _, first = np.unique(pairs[is_judged], return_index=True)  # candidates may be repeated
    rows = np.flatnonzero(is_judged)[first]
    equal = np.repeat(tie_sizes, tie_sizes)[rows]
    user, length = block.users[owner[rows]], np.diff(block.starts)
    return _sorted(user, item[rows], score[rows], above[rows], equal, length)


def _sorted(
    user: Ints, item: Ints, score: Floats, above: Ints, equal: Ints, length: Ints
) -> _RankRows:
    """Return the rows sorted by rank within each user; users keep their order."""
    item, score, above, equal = sort_segments(
        runs(user), above, [item, score, above, equal], breaker=lambda rows: item[rows]
    )
    return _RankRows(user, item, score, above + 1, above + equal, length)
