"""`rank`: recommendation lists, from a score matrix or from factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.candidates.candidate_sets import Candidates
from rankwise.core import kernels
from rankwise.core.arguments import check_choice, check_positive
from rankwise.core.described import described
from rankwise.core.ragged import Ints, positions, runs
from rankwise.core.threads import default_threads
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.ranking.axes import Axis
from rankwise.ranking.pool import SHARED, Pool, make_pool
from rankwise.ranking.score_blocks import CandidateScores, check_scores, map_blocks
from rankwise.ranking.scores import Floats
from rankwise.ranking.top import TopRows, cut_lists, groups_for, largest_of_groups, top
from rankwise.tables.columns import Columns, TableRole
from rankwise.tables.protocol import Protocol
from rankwise.tables.table import Recommendations

__all__ = ["Ranking", "TieRule", "rank"]

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
    if k is None:
        raise ParameterError("rank needs k, the length of the lists", found="no k", hint="rw.rank(scores, 10)")
    pool = make_pool(
        scores,
        users,
        items,
        bias,
        exclude=exclude,
        candidates=candidates,
        user_ids=user_ids,
        item_ids=item_ids,
        only=only,
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
    for block in _blocks(pool, k, ties, threads, progress):
        blocks.append(block)
        total += len(block.user)
        if total > 2 * k * len(pool.ranked_users) + _SLACK:
            raise InputError(
                "too many items tie with the last item of their list to keep them all",
                found=f"more than {total:,} rows for lists of {k}",
                hint='break ties by id with ties="item", or use rw.rank_relevant',
            )
    rows = TopRows(*(np.concatenate([getattr(block, name) for block in blocks]) for name in ("user", "item", "score")))
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


def _blocks(pool: Pool, k: int, ties: TieRule, threads: int, progress: bool | None) -> Iterator[TopRows]:
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
        found = kernels.top(scores[:, : pool.scores.n_items], k, groups)
        if found is not None:
            lengths, items, best = found
            return lists(TopRows(np.repeat(np.arange(len(users)), lengths), items, best), users)
        largest = largest_of_groups(scores, groups)
        check_scores(pool, users, scores, largest)
        return lists(top(scores, largest, k), users)

    return map_blocks(pool, of_all_items, of_candidates, groups=groups, threads=threads, progress=progress)
