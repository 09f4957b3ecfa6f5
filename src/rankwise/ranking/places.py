"""`rank_relevant`: the exact rank of every judged item among all candidates, without a top k."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.arguments import check_positive
from rankwise.core.facts import UserItems
from rankwise.core.parallel import default_threads
from rankwise.core.segments import Ints, bucket, runs
from rankwise.io.tables import Table, read_table
from rankwise.ranking.blocks import Offered, check_scores, dense_blocks, offered_blocks
from rankwise.ranking.pool import Pool, make_pool
from rankwise.ranking.rank import nothing_left
from rankwise.ranking.scores import PAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankwise.candidates import Candidates
    from rankwise.io.columns import Columns, Kind
    from rankwise.protocol import Protocol
    from rankwise.ranking.scores import Floats

__all__ = ["Ranks", "rank_relevant"]

_FEW = 8  # judged items of a user up to which counting is cheaper than sorting its scores


@dataclass(frozen=True, repr=False)
class Ranks:
    """Exact ranks that `rank_relevant` found: goes to `rankwise.evaluate` as it is.

    Attributes
    ----------
    frame : polars.DataFrame
        A row a judged item that was ranked: ``user``, ``item``, ``score``, and the ranks ``first``
        to ``last`` that it may have, which differ where scores tie.
    lengths : polars.DataFrame
        A row a user: ``user``, and how many candidates were ranked, ``length``.
    unranked : polars.DataFrame
        Judged items of these users that are no candidates: ``user``, ``item``. They count as
        relevant, and are never found.
    protocol : Protocol
        How candidates were chosen; results carry it.
    counts : dict of str to int
        What was out of the ordinary; results carry it.
    eligible : polars.DataFrame or None
        For sampled candidates, from how many items each user's negatives were drawn.
    """

    frame: pl.DataFrame
    lengths: pl.DataFrame
    unranked: pl.DataFrame
    protocol: Protocol
    counts: dict[str, int]
    eligible: pl.DataFrame | None = None

    def __repr__(self) -> str:
        words = self.protocol.label or self.protocol.candidates
        return f"<Ranks: {len(self.frame):,} items of {len(self.lengths):,} users, {words}>"

    def as_table(self, kind: Kind = "recommendations") -> Table:
        """Return the ranks as what `rankwise.evaluate` reads."""
        return Table(
            self.frame, "recommendations", "ranks", "exact ranks",
            {name: name for name in self.frame.columns}, protocol=self.protocol,
            counts=self.counts, lengths=self.lengths, unranked=self.unranked,
        )  # fmt: skip


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
    r"""Find the exact rank of every item of the truth among all candidates.

    The rank of item i is :math:`1 + |\{j : s_{uj} > s_{ui}\}|`, and where t candidates have its
    score, any of the t ranks from there. Every measure that is a function of these ranks (auc,
    gauc, mrr, ndcg, recall, map, …) then has its exact value at any cut-off, ties included:
    ``rw.evaluate(ranks, truth, "auc")``.

    Parameters
    ----------
    scores : array, shape (U, I), optional
        A score for every user and item; minus infinity marks what is no candidate.
    truth : table, path, mapping or sparse matrix
        The truth, as `rankwise.evaluate` takes it; all its rows are ranked, relevant or not.
    users, items : array, shape (U, d) and (I, d), optional
        Factors, in the place of scores. BLAS may give float32 products that are equal another last
        bit, by place and by thread: pass float64 where exact ties between factors matter.
    bias : array, shape (I,), optional
        What is added to the scores of each item.
    exclude : table, path, mapping or sparse matrix, optional
        Users and items that are no candidates. A truth row among them is counted: it stays
        relevant, and is never found.
    candidates : Candidates, optional
        What to rank, from the functions of `rankwise.candidates`.
    user_ids, item_ids : iterable, optional
        The ids of rows and columns; by default numbers from 0.
    columns : mapping, optional
        Which column of ``exclude`` and ``truth`` has which role.
    threads : int, optional
        Threads to use; by default one a processor.
    progress : bool, optional
        Show a progress bar on stderr; by default on a terminal, after a second.

    Returns
    -------
    Ranks

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
    table = read_table(truth, "truth", columns)
    table = table.with_frame(table.frame.select("user", "item").unique(maintain_order=True))
    pool = make_pool(
        scores, users, items, bias, exclude=exclude, candidates=candidates, user_ids=user_ids,
        item_ids=item_ids, only=table, columns=columns,
    )  # fmt: skip
    user, item = pool.rows(table)
    known = (user >= 0) & (item >= 0)
    starts, order = bucket(user[known], len(pool.users.ids))
    wanted = UserItems(starts, item[known][order])
    found = _join(list(_parts(pool, wanted, threads or default_threads(), progress)))
    if not found.length.any():
        raise nothing_left(pool)
    frame = pl.DataFrame(
        {
            "user": pool.users.ids.gather(found.user),
            "item": pool.items.ids.gather(found.item),
            "score": found.score.astype(np.float64),
            "first": found.first,
            "last": found.last,
        }
    )
    lengths = pl.DataFrame({"user": pool.users.ids.gather(pool.ranked), "length": found.length})
    counts = Counter(pool.counts)
    counts["users_with_nothing_to_rank"] = int((found.length == 0).sum())
    lengths = lengths.filter(pl.col("length") > 0)
    width = len(pool.items.ids)
    missed = ~np.isin(user * width + item, found.user * width + found.item) | (item < 0)
    served = np.zeros(len(pool.users.ids), dtype=bool)
    served[pool.ranked[found.length > 0]] = True
    missed &= (user >= 0) & served[user]
    unranked = pl.DataFrame(
        {
            "user": pool.users.ids.gather(user[missed]),
            "item": table.frame["item"].filter(missed).cast(frame["item"].dtype),
        }
    )
    counts["truth_rows_that_are_no_candidates"] = len(unranked)
    ranks = Ranks(frame, lengths, unranked, pool.protocol, dict(counts))
    return ranks if candidates is None else replace(ranks, eligible=candidates.eligible)


@dataclass(frozen=True)
class _Found:
    """Ranks of judged items in order of user and rank, and the candidates of every user."""

    user: Ints
    item: Ints
    score: Floats
    first: Ints
    last: Ints
    length: Ints


def _join(parts: list[_Found]) -> _Found:
    names = ("user", "item", "score", "first", "last", "length")
    whole = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return _Found(*whole)


def _parts(pool: Pool, wanted: UserItems, threads: int, progress: bool | None) -> Iterator[_Found]:
    if pool.offered is not None:

        def offered(block: Offered) -> _Found:
            return _of_lists(block, wanted)

        yield from offered_blocks(pool, offered, threads=threads, progress=progress)
        return

    def dense(users: Ints, scores: Floats) -> _Found:
        check_scores(pool, users, scores, scores.max(axis=1, keepdims=True))
        return _of_scores(users, scores, wanted)

    yield from dense_blocks(pool, dense, groups=PAD, threads=threads, progress=progress)


def _of_scores(users: Ints, scores: Floats, wanted: UserItems) -> _Found:
    """Rank judged items in a block of scores, which is used up."""
    rows, starts = wanted.rows_of(users)
    item = wanted.items[rows]
    own = scores[np.repeat(np.arange(len(users)), np.diff(starts)), item]
    length = np.count_nonzero(scores > -np.inf, axis=1)
    above, equal = np.empty(len(item), dtype=np.int64), np.empty(len(item), dtype=np.int64)
    for row, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        line, at = scores[row], own[a:b]
        if b - a <= _FEW:
            above[a:b] = [np.count_nonzero(line > one) for one in at]
            equal[a:b] = [np.count_nonzero(line == one) for one in at]
        else:
            line.sort()
            upper = line.searchsorted(at, side="right")
            above[a:b] = len(line) - upper
            equal[a:b] = upper - line.searchsorted(at, side="left")
    owner = np.repeat(users, np.diff(starts))
    return _ordered(owner, item, own, above, equal, length, own > -np.inf)


def _of_lists(block: Offered, wanted: UserItems) -> _Found:
    """Rank judged items among each user's own candidates."""
    owner = np.repeat(np.arange(len(block.users)), np.diff(block.starts))
    by = np.lexsort((-block.scores, owner))
    score, item = block.scores[by], block.items[by]
    bounds = runs(owner, score)
    size = np.diff(bounds)
    above = np.repeat(bounds[:-1], size) - block.starts[owner]
    rows, starts = wanted.rows_of(block.users)
    width = max(int(item.max(initial=0)), int(wanted.items.max(initial=0))) + 1
    asked = np.repeat(np.arange(len(block.users)), np.diff(starts)) * width + wanted.items[rows]
    keys = owner * width + item
    judged = np.isin(keys, asked)
    _, first = np.unique(keys[judged], return_index=True)  # a candidate may stand there twice
    at = np.flatnonzero(judged)[first]
    equal = np.repeat(size, size)[at]
    length, good = np.diff(block.starts), np.ones(len(at), dtype=bool)
    user = block.users[owner[at]]
    return _ordered(user, item[at], score[at], above[at], equal, length, good)


def _ordered(
    user: Ints, item: Ints, score: Floats, above: Ints, equal: Ints, length: Ints, good: Ints
) -> _Found:
    """Put what is a candidate in order of user, as they came, and of rank."""
    edges = runs(user)
    group = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    by = np.lexsort((item, above, group))
    by = by[good[by]]
    first = above[by] + 1
    return _Found(user[by], item[by], score[by], first, first + equal[by] - 1, length)
