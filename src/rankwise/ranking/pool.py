"""Which users are ranked over which items, in blocks of scores, and the exact top k of a block.

The top k takes little more than one pass over a block. Items are dealt into groups, and one
vectorised pass takes the largest score of every group. The k-th largest of these maxima is at most
the k-th largest score, because k groups hold a score at least as large. So only scores from there
up matter; they are in the few groups whose maximum is as large, and only those groups are read
again.

The compiled loop does this row by row, while the row is in the cache, and finds the k-th largest
bit by bit, which needs no branches. Blocks have some 300 users, because BLAS arranges the item
factors anew for every block, and rows are not a power of two apart, because they would then share
few lines of the cache. Exact ranks use the same blocks, counted or sorted.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from rankwise.candidates import Candidates
from rankwise.core.kernels import (
    check_not_forked,
    default_threads,
    gather,
    map_threads,
    one_blas_thread,
)
from rankwise.core.ragged import (
    Ints,
    UserItems,
    counting_sort,
    offsets,
    positions,
    runs,
    sort_segments,
)
from rankwise.core.terminal import progress_bar
from rankwise.errors import EmptyError, IdError, InputError, ParameterError, ScoreError
from rankwise.messages import parameter
from rankwise.ranking.scores import (
    ROWS,
    Axis,
    Floats,
    Scores,
    open_scores,
    read_factor_labels,
    read_ids,
    read_labels,
    rounded_up,
)
from rankwise.tables.columns import Columns
from rankwise.tables.read import SPARSE, read_table
from rankwise.tables.table import Protocol, Table

SHARED = {
    "scores": """\
scores : array or frame, shape (U, I), optional
    The score matrix; minus infinity excludes an item from the user's candidate set. In a Polars
    or pandas frame, columns are named by item ids, and rows are labelled by the index or by a
    column of user ids.
users, items : array or frame, shape (U, d) and (I, d), optional
    User and item factors, instead of scores; rows of frames are labelled like those of scores.
    In float32, BLAS may round equal scores differently; use float64 if exact ties matter. Half
    precision (float16; bfloat16 of PyTorch or ml_dtypes) stays as it is until a block is computed,
    in float32.
bias : array, shape (I,), optional
    Item biases, added to the scores.
user_ids, item_ids : iterable, optional
    The ids of rows and columns of scores; by default the labels of a frame, else numbers from
    0.""",
    "candidates": """\
candidates : Candidates, optional
    The candidate set, from the functions of `rankwise.candidates`; by default all items with
    a score.""",
    "running": """\
threads : int, optional
    Number of threads; by default one per processor. The result does not depend on it.
progress : bool, optional
    Show a progress bar on stderr; by default on a terminal, after a second.""",
}
"""The parameters that `rankwise.rank` and `rankwise.rank_relevant` share."""


@dataclass(frozen=True)
class Pool:
    """The scores and the candidate sets of a ranking, with users and items as codes.

    ``excluded`` are each user's items that are not candidates. ``candidates`` is None where all
    items are, and may repeat items. ``counts`` are irregularities, by name.
    """

    scores: Scores
    users: Axis
    items: Axis
    ranked_users: Ints
    excluded: UserItems | None
    candidates: UserItems | None
    protocol: Protocol
    counts: Counter[str]

    def codes(self, table: Table) -> tuple[Ints, Ints]:
        """Return the user code and the item code of each table row, -1 for an unknown id."""
        return self.users.codes(table), self.items.codes(table)


def make_pool(
    scores: Any,
    users: Any,
    items: Any,
    bias: Any,
    user_ids: Iterable[Any] | None,
    item_ids: Iterable[Any] | None,
    *,
    only: Iterable[Any] | Table | None,
    exclude: Any,
    candidates: Candidates | None,
    columns: Columns | None,
) -> Pool:
    """Return the pool of `rankwise.rank` or `rankwise.rank_relevant` from their parameters."""
    check_not_forked()
    scores, user_ids, item_ids = read_labels(scores, user_ids, item_ids)
    users, user_ids = read_factor_labels(users, user_ids, "user")
    items, item_ids = read_factor_labels(items, item_ids, "item")
    source = open_scores(scores, users, items, bias)
    user_axis = Axis("user", user_ids, source.n_users)
    item_axis = Axis("item", item_ids, source.n_items)
    axes = (user_axis, item_axis)  # of all scores, before candidates are chosen
    if isinstance(only, Table) and only.format == SPARSE:
        _refuse_matrix("truth", axes)
    counts: Counter[str] = Counter()
    protocol = Protocol("catalogue")
    user_items = None
    if candidates is not None and not isinstance(candidates, Candidates):
        raise ParameterError(
            f"{parameter('candidates')} takes what the functions of rw.candidates return",
            found=type(candidates).__name__,
            hint="write rw.candidates.per_user(…), .these(…), .of_truth(…) or .sampled(…)",
        )
    if candidates is not None:
        if candidates.is_numbered:
            _refuse_matrix("candidates", axes)
        protocol = candidates.protocol
        counts.update(candidates.counts)
        if candidates.per_user:
            user_items = _user_items("candidates", candidates.table, user_axis, item_axis, counts)
        else:
            codes = item_axis.codes(candidates.table)
            counts["candidates_without_scores"] += int((codes < 0).sum())
            codes = np.unique(codes[codes >= 0])
            if not len(codes):
                raise EmptyError(
                    "no candidate has a score",
                    where="candidates",
                    hint="do item_ids and candidates name items alike?",
                )
            source, item_axis = source.subset(codes), item_axis.subset(codes)
    excluded = None
    if exclude is not None:
        _check_mask(exclude, source)
        table = _with_ids(
            read_table(exclude, "train", columns), getattr(exclude, "shape", None), axes
        )
        excluded = _user_items("excluded", table, user_axis, item_axis, counts)
        protocol = replace(protocol, candidates=f"{protocol.candidates} less seen")
    ranked_users = _ranked_users(only, user_axis, counts)
    return Pool(source, user_axis, item_axis, ranked_users, excluded, user_items, protocol, counts)


def _with_ids(table: Table, shape: tuple[int, ...] | None, axes: tuple[Axis, Axis]) -> Table:
    """Give a matrix of the scores' shape the ids of the scores; raise for a different shape."""
    if table.format != SPARSE or all(axis.numbered for axis in axes):
        return table
    if shape != tuple(len(axis.ids) for axis in axes):
        _refuse_matrix(
            "exclude",
            axes,
            f"shape {shape}, scores of {len(axes[0].ids)} users and {len(axes[1].ids)} items",
        )
    for axis in axes:
        table = table.with_ids(axis.role, axis.ids.gather(table.frame[axis.role]))
    return table


def _refuse_matrix(name: str, axes: tuple[Axis, Axis], found: str = "a sparse matrix") -> None:
    """Raise for a matrix, whose rows and columns are numbers, if the scores have ids."""
    if all(axis.numbered for axis in axes):
        return
    raise IdError(
        "the rows and columns of a matrix are numbers, and those of the scores have ids",
        where=name,
        found=found,
        hint="pass a table, or {user: items}, with the ids of user_ids and item_ids",
    )


def _check_mask(exclude: Any, scores: Scores) -> None:
    """Raise for an array of the scores' shape, which would be read as lists of items."""
    shape = getattr(exclude, "shape", None)
    if shape == (scores.n_users, scores.n_items) and not hasattr(exclude, "tocoo") and shape[1] > 2:
        raise InputError(
            f"{parameter('exclude')} takes users and items, not a mask of the shape of the scores",
            found=f"an array of shape {shape}",
            hint="pass scipy.sparse.csr_array(mask), or set those scores to minus infinity",
        )


def _user_items(
    name: str, table: Table, users: Axis, items: Axis, counts: Counter[str]
) -> UserItems:
    """Return the items of each user in a table, as codes; rows without a score are counted."""
    user, item = users.codes(table), items.codes(table)
    has_scores = (user >= 0) & (item >= 0)
    without = len(has_scores) - int(np.count_nonzero(has_scores))
    counts[f"{name}_without_scores"] += without
    if without:
        user, item = user[has_scores], item[has_scores]
    starts, order = counting_sort(user, len(users.ids))
    return UserItems(starts, gather(item, order, default_threads()))


def _ranked_users(only: Iterable[Any] | Table | None, users: Axis, counts: Counter[str]) -> Ints:
    """Return the codes of the users to rank for: all, or the users of ``only`` with scores."""
    if only is None:
        return np.arange(len(users.ids))
    if not isinstance(only, Table):
        ids = read_ids("user", only, "only")
        only = Table(ids.to_frame(), "users", "only", "ids", {})
    ids = only.frame["user"].unique(maintain_order=True)
    codes = users.codes(only.with_frame(ids.to_frame()))
    counts["users_without_scores"] += int((codes < 0).sum())
    if not (codes >= 0).any():
        raise EmptyError(
            "none of these users has scores",
            where="only",
            found=f"{len(codes)} users, such as {ids[0]!r}" if len(ids) else "no users",
            hint="do user_ids and only name users alike?",
        )
    return codes[codes >= 0]


_GROUPS = 16  # groups per top-k item: few of the top k then share a group


class TopRows(NamedTuple):
    """Rows of recommendation lists: the user's position in the block, the item, its score."""

    user: Ints
    item: Ints
    score: Floats


def groups_for(k: int, n_items: int) -> int:
    """Return the number of groups for the items: a power of two.

    >>> groups_for(10, 26_744), groups_for(500, 1000)
    (512, 1024)
    """
    least = max(512, _GROUPS * k)
    most = max(64, 1 << (n_items - 1).bit_length())
    return min(1 << (least - 1).bit_length(), most)


def largest_of_groups(scores: Floats, groups: int) -> Floats:
    """Return the largest score of every group, shape (B, groups); item i is in i mod groups."""
    largest: Floats = scores.reshape(len(scores), -1, groups).max(axis=1)
    return largest


def top(scores: Floats, largest: Floats, k: int) -> TopRows:
    """Return every row whose score is at least its user's k-th largest, and perhaps a few more.

    Rows are in order of user. ``scores`` has minus infinity for non-candidates, and its width is a
    multiple of the number of groups; ``largest`` is from `largest_of_groups`.
    """
    n, groups = largest.shape
    dealt = scores.reshape(n, -1, groups)
    if k < groups:
        least = np.partition(largest, groups - k, axis=1)[:, groups - k]
    else:
        least = np.full(n, -np.inf, dtype=scores.dtype)
    # A user with candidates in fewer than k groups keeps all candidates.
    floor = np.where(least == -np.inf, np.finfo(scores.dtype).min, least)
    user, group = np.nonzero(largest >= floor[:, None])
    kept = dealt[user, :, group]
    row, layer = np.nonzero(kept >= floor[user][:, None])
    return TopRows(user[row], layer * groups + group[row], kept[row, layer])


def cut_lists(
    rows: TopRows, k: int, id_rank: Ints | None, *, descending: bool, keep_ties: bool
) -> TopRows:
    """Sort each user's rows by descending score, and cut the list at k.

    Equal scores are ordered by ``id_rank``, None for the item's code; ``keep_ties`` keeps all items
    that tie with the k-th. Rows are in order of user.
    """
    starts = runs(rows.user)

    def breaker(index: Ints) -> Ints:
        number = rows.item[index] if id_rank is None else id_rank[rows.item[index]]
        return -number if descending else number

    item, score = sort_segments(
        starts, rows.score, [rows.item, rows.score], breaker=breaker, descending=True
    )
    keep = positions(starts) < k
    if keep_ties and len(item):
        lengths = np.diff(starts)
        kth = score[starts[:-1] + np.minimum(lengths, k) - 1]
        keep |= score == np.repeat(kth, lengths)
    return TopRows(rows.user[keep], item[keep], score[keep])


_CELLS = 1 << 23  # cells per block: BLAS arranges the items anew for every block
_APART = 16  # cells between rows: rows a power of two apart would share few lines of the caches
_BYTES = 1 << 29  # limit for all buffers together
_PAIRS = 1 << 20  # user-item pairs per block where every user has a candidate set
_T = TypeVar("_T")


@dataclass(frozen=True)
class CandidateScores:
    """Users, and the scores of the candidates of each user, user by user."""

    users: Ints
    starts: Ints
    items: Ints
    scores: Floats


def map_blocks(
    pool: Pool,
    of_all_items: Callable[[Ints, Floats], _T],
    of_candidates: Callable[[CandidateScores], _T],
    *,
    groups: int,
    threads: int,
    progress: bool | None,
) -> Iterator[_T]:
    """Yield the result for each block of users: of ``of_candidates`` if there are candidate sets.

    Else of ``of_all_items``, which takes B users and their scores, shape (B, width), with minus
    infinity for non-candidates; ``groups`` divides ``width``. It may overwrite the scores: they are
    in one buffer per thread.
    """
    if pool.candidates is None:
        work, blocks, most_threads = _dense_blocks(pool, of_all_items, groups)
        threads = min(threads, most_threads)
    else:
        work, blocks = _candidate_blocks(pool, pool.candidates, of_candidates)
    with one_blas_thread(), progress_bar(len(pool.ranked_users), "users", shown=progress) as bar:
        for users, result in zip(blocks, map_threads(work, blocks, threads), strict=True):
            bar.update(len(users))
            yield result


def _dense_blocks(
    pool: Pool, of_all_items: Callable[[Ints, Floats], _T], groups: int
) -> tuple[Callable[[Ints], _T], list[Ints], int]:
    """Return the work on a block of users, the blocks, and the largest number of threads."""
    scores, width = pool.scores, rounded_up(pool.scores.n_items, groups)
    stride = width + _APART
    rows = max(ROWS, _CELLS // stride // ROWS * ROWS)
    rows = min(rows, rounded_up(len(pool.ranked_users), ROWS))
    while rows > 1 and rows * stride * scores.dtype.itemsize > _BYTES // 2:
        rows //= 2
    buffers = threading.local()

    def work(users: Ints) -> _T:
        if not hasattr(buffers, "scores"):
            buffers.scores = np.empty((rows, stride), dtype=scores.dtype)
        cells, buffer = buffers.scores.ravel(), buffers.scores[:, :width]
        scores.fill(users, buffer)
        buffer[:, scores.n_items :] = -np.inf
        if pool.excluded is not None:
            cells[pair_keys(pool.excluded, users, stride)] = -np.inf
        return of_all_items(users, buffer[: len(users)])

    starts = range(0, len(pool.ranked_users), rows)
    blocks = [pool.ranked_users[first : first + rows] for first in starts]
    return work, blocks, max(1, _BYTES // (rows * stride * scores.dtype.itemsize))


def pair_keys(items: UserItems, users: Ints, width: int) -> Ints:
    """Return the key of each user-item pair: the user's position in ``users`` * width + item."""
    rows, starts = items.rows_of(users)
    out: Ints = np.repeat(np.arange(len(users)) * width, np.diff(starts))
    out += items.items[rows]
    return out


def is_in(keys: Ints, values: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which keys are among values: by hashing, in a tenth of the time of `numpy.isin`."""
    return pl.Series(keys).is_in(pl.Series(values).implode()).to_numpy()


def _candidate_blocks(
    pool: Pool, candidates: UserItems, of_candidates: Callable[[CandidateScores], _T]
) -> tuple[Callable[[Ints], _T], list[Ints]]:
    """Return the work on a block of users, and the blocks."""

    def work(users: Ints) -> _T:
        rows, starts = candidates.rows_of(users)
        items = candidates.items[rows]
        if pool.excluded is not None:
            starts, items = _without(starts, items, pool.excluded, users)
        scores = pool.scores.pairs(np.repeat(users, np.diff(starts)), items)
        bad = np.isnan(scores) | (scores == np.inf)
        if bad.any():
            row = int(np.argmax(bad))
            user = int(users[int(np.searchsorted(starts, row, side="right")) - 1])
            raise _bad_score(pool, user, int(items[row]), scores[row])
        kept = scores > -np.inf
        if not kept.all():
            starts, items, scores = offsets(kept)[starts], items[kept], scores[kept]
        return of_candidates(CandidateScores(users, starts, items, scores))

    ends = offsets(np.diff(candidates.starts)[pool.ranked_users])
    blocks, first = [], 0
    while first < len(pool.ranked_users):
        stop = int(np.searchsorted(ends, ends[first] + _PAIRS, side="right")) - 1
        stop = min(max(stop, first + 1), len(pool.ranked_users))
        blocks.append(pool.ranked_users[first:stop])
        first = stop
    return work, blocks


def _without(starts: Ints, items: Ints, excluded: UserItems, users: Ints) -> tuple[Ints, Ints]:
    """Return candidates without the excluded items; a candidate may be repeated."""
    width = max(int(items.max(initial=0)), int(excluded.items.max(initial=0))) + 1
    pairs = np.repeat(np.arange(len(users)), np.diff(starts)) * width + items
    keep = ~is_in(pairs, pair_keys(excluded, users, width))
    return offsets(keep)[starts], items[keep]


def check_scores(pool: Pool, users: Ints, scores: Floats, largest: Floats) -> None:
    """Raise if a score is NaN or infinity: a maximum over part of its row then is, too.

    ``scores`` has shape (B, I), ``largest`` shape (B, n): the maxima of parts of its rows.
    """
    bad = (np.isnan(largest) | (largest == np.inf)).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        item = int(np.argmax(np.isnan(scores[row]) | (scores[row] == np.inf)))
        raise _bad_score(pool, int(users[row]), item, scores[row, item])


def _bad_score(pool: Pool, user: int, item: int, value: Any) -> ScoreError:
    """Return the error that names the user and the item of a NaN or infinite score."""
    return ScoreError(
        "a score is NaN or infinite",
        where=f"scores, user {pool.users.ids[user]!r}, item {pool.items.ids[item]!r}",
        found=str(value),
        hint="find out why the model gives no number; minus infinity excludes an item from the "
        "candidate set",
    )
