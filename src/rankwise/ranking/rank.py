"""`rank`: scores, or factors, to ranked lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.arguments import check_choice, check_positive
from rankwise.core.parallel import default_threads
from rankwise.core.segments import positions, runs
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.io.tables import Table
from rankwise.ranking.blocks import Offered, check_scores, dense_blocks, offered_blocks
from rankwise.ranking.pool import Pool, make_pool
from rankwise.ranking.top import Rows, cut, groups_for, largest_of_groups, top

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankwise.candidates import Candidates
    from rankwise.core.segments import Ints
    from rankwise.io.columns import Columns, Kind
    from rankwise.protocol import Protocol
    from rankwise.ranking.names import Names
    from rankwise.ranking.scores import Floats

__all__ = ["Ranking", "TieRule", "rank"]

TieRule: TypeAlias = Literal["expected", "item", "item_desc"]
_SLACK = 10_000_000  # rows that ties at the cut-off may add before it is an error


@dataclass(frozen=True, repr=False)
class Ranking:
    """Ranked lists that `rank` made: goes to `rankwise.evaluate` as it is.

    Attributes
    ----------
    k : int
        The length of the lists; those of ``ties="expected"`` also hold what ties with their last.
    ties : str
        How equal scores were dealt with.
    protocol : Protocol
        How candidates were chosen; results carry it.
    counts : dict of str to int
        What was out of the ordinary; results carry it.
    """

    k: int
    ties: TieRule
    protocol: Protocol
    counts: dict[str, int]
    _users: Names = field(repr=False)
    _items: Names = field(repr=False)
    _rows: Rows = field(repr=False)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Columns ``user``, ``item``, ``score``, and ``rank`` where ties are decided."""
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
        words = self.protocol.label or self.protocol.candidates
        lists = self.counts["lists_ranked"]
        return f"<Ranking: {lists:,} lists of {self.k}, {words}, ties={self.ties}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table to whoever reads Arrow."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def as_table(self, kind: Kind = "recommendations") -> Table:
        """Return the lists as what `rankwise.evaluate` reads."""
        columns = {name: name for name in self.frame.columns}
        k = self.k if self.ties == "expected" else None
        return Table(self.frame, "recommendations", "ranking", "ranking", columns,
                     protocol=self.protocol, counts=self.counts, k=k)  # fmt: skip


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
    r"""Rank items for every user: the exact top k, from scores or from factors.

    With factors the score is :math:`p_u \cdot q_i + b_i`. It is worked out for a block of users at
    a time: users times items is never held. Scores keep the precision that they come in. Cut-offs
    above k, and none, end where the lists end: at k.

    Parameters
    ----------
    scores : array, shape (U, I), optional
        A score for every user and item; minus infinity marks what is no candidate.
    k : int
        The length of the lists; it must be given. A user with fewer candidates gets a shorter
        one, and is counted.
    users, items : array, shape (U, d) and (I, d), optional
        Factors, in the place of scores. BLAS may give float32 products that are equal another last
        bit, by place and by thread: pass float64 where exact ties between factors matter.
    bias : array, shape (I,), optional
        What is added to the scores of each item.
    exclude : table, path, mapping or sparse matrix, optional
        Users and items that are not to be ranked: what users have seen, as a rule the training
        interactions.
    candidates : Candidates, optional
        What to rank, from the functions of `rankwise.candidates`; by default everything that has
        a score.
    ties : {"expected", "item", "item_desc"}
        What becomes of equal scores. ``"expected"`` leaves them open, and keeps all items that
        tie with the k-th: measures are then the mean over all orders. Else by item id.
    user_ids, item_ids : iterable, optional
        The ids of rows and columns; by default numbers from 0.
    only : iterable, optional
        Ids of the users to rank for; by default all.
    columns : mapping, optional
        Which column of ``exclude`` has which role.
    threads : int, optional
        Threads to use; by default one a processor. The lists do not depend on it.
    progress : bool, optional
        Show a progress bar on stderr; by default on a terminal, after a second.

    Returns
    -------
    Ranking

    Raises
    ------
    InputError
        If a score is NaN, shapes do not fit, nobody has anything left to rank, or more ties with
        the last items of lists than can be kept.
    ParameterError
        If the question makes no sense, or candidates were drawn with replacement, which make no
        list.

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
        raise ParameterError("lists have a length", found="no k", hint="rw.rank(scores, 10)")
    pool = make_pool(
        scores, users, items, bias, exclude=exclude, candidates=candidates, user_ids=user_ids,
        item_ids=item_ids, only=only, columns=columns,
    )  # fmt: skip
    return rank_pool(pool, int(k), ties, threads or default_threads(), progress)


def rank_pool(pool: Pool, k: int, ties: TieRule, threads: int, progress: bool | None) -> Ranking:
    """Rank what a pool holds."""
    if pool.protocol.replacement:
        raise ParameterError(
            "candidates drawn with replacement do not make a list: an item would stand there twice",
            hint="rw.rank_relevant counts over them, or draw without replacement",
        )
    parts: list[Rows] = []
    total = 0
    for part in _parts(pool, k, ties, threads, progress):
        parts.append(part)
        total += len(part.user)
        if total > 2 * k * len(pool.ranked) + _SLACK:
            raise InputError(
                "too many items tie with the last of their list for all to be kept",
                found=f"more than {total:,} rows for lists of {k}",
                hint='order ties by id with ties="item", or count over them with rw.rank_relevant',
            )
    rows = Rows(*(np.concatenate([getattr(p, name) for p in parts]) for name in
                  ("user", "item", "score")))  # fmt: skip
    lengths = np.bincount(rows.user, minlength=len(pool.users.ids))[pool.ranked]
    counts = Counter(pool.counts)
    counts["lists_ranked"] = int((lengths > 0).sum())
    counts["users_with_nothing_to_rank"] = int((lengths == 0).sum())
    counts["lists_shorter_than_k"] = int(((lengths > 0) & (lengths < k)).sum())
    if not len(rows.user):
        raise nothing_left(pool)
    return Ranking(k, ties, pool.protocol, dict(counts), pool.users, pool.items, rows)


def nothing_left(pool: Pool) -> EmptyError:
    """Say that nobody has a candidate."""
    return EmptyError(
        "no user has anything left to rank",
        found=f"{len(pool.ranked)} users, candidates: {pool.protocol.candidates}",
        hint="is everything excluded? do candidates and item_ids name items alike?",
    )


def _parts(
    pool: Pool, k: int, ties: TieRule, threads: int, progress: bool | None
) -> Iterator[Rows]:
    order, falling, keep = pool.items.order, ties == "item_desc", ties == "expected"
    wide = np.int32 if max(len(pool.users.ids), len(pool.items.ids)) < 2**31 else np.int64

    def finish(rows: Rows, users: Ints) -> Rows:
        best = cut(rows, k, order, falling=falling, keep_ties=keep)
        return Rows(users[best.user].astype(wide), best.item.astype(wide), best.score)

    if pool.offered is not None:

        def offered(block: Offered) -> Rows:
            owner = np.repeat(np.arange(len(block.users)), np.diff(block.starts))
            return finish(Rows(owner, block.items, block.scores), block.users)

        yield from offered_blocks(pool, offered, threads=threads, progress=progress)
        return
    groups = groups_for(k, pool.scores.n_items)

    def dense(users: Ints, scores: Floats) -> Rows:
        largest = largest_of_groups(scores, groups)
        check_scores(pool, users, scores, largest)
        return finish(top(scores, largest, k), users)

    yield from dense_blocks(pool, dense, groups=groups, threads=threads, progress=progress)
