"""Which users are ranked over which items: scores, ids, excluded items and candidate sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.candidates.candidate_sets import Candidates
from rankwise.core.ragged import Ints, UserItems, bucket
from rankwise.core.threads import check_not_forked, default_threads, gather
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.ranking.axes import Axis, read_ids
from rankwise.ranking.labelled import read_factor_labels, read_labels
from rankwise.ranking.scores import Scores, open_scores
from rankwise.tables.columns import Columns
from rankwise.tables.protocol import Protocol
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["SHARED", "Pool", "make_pool"]

SHARED = {
    "scores": """\
scores : array or frame, shape (U, I), optional
    The score matrix; minus infinity excludes an item from the user's candidate set. In a Polars
    or pandas frame, columns are named by item ids, and rows are labelled by the index or by a
    column of user ids.
users, items : array or frame, shape (U, d) and (I, d), optional
    User and item factors, instead of scores; rows of frames are labelled like those of scores.
    In float32, BLAS may round equal scores differently; use float64 if exact ties matter.
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
    *,
    exclude: Any,
    candidates: Candidates | None,
    user_ids: Iterable[Any] | None,
    item_ids: Iterable[Any] | None,
    only: Iterable[Any] | Table | None,
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
    counts: Counter[str] = Counter()
    protocol = Protocol("catalogue")
    user_items = None
    if candidates is not None:
        _check_candidates(candidates)
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
                    "no candidate has a score", where="candidates", hint="do item_ids and candidates name items alike?"
                )
            source, item_axis = source.subset(codes), item_axis.subset(codes)
    excluded = None
    if exclude is not None:
        _check_mask(exclude, source)
        table = read_table(exclude, "train", columns)
        excluded = _user_items("excluded", table, user_axis, item_axis, counts)
        protocol = replace(protocol, candidates=f"{protocol.candidates} less seen")
    ranked_users = _ranked_users(only, user_axis, counts)
    return Pool(source, user_axis, item_axis, ranked_users, excluded, user_items, protocol, counts)


def _check_mask(exclude: Any, scores: Scores) -> None:
    """Raise for an array of the shape of the scores: it would be read as lists of items."""
    shape = getattr(exclude, "shape", None)
    if shape == (scores.n_users, scores.n_items) and not hasattr(exclude, "tocoo") and shape[1] > 2:
        raise InputError(
            "exclude= takes users and items, not a mask of the shape of the scores",
            found=f"an array of shape {shape}",
            hint="pass scipy.sparse.csr_array(mask), or set those scores to minus infinity",
        )


def _check_candidates(candidates: object) -> None:
    if not isinstance(candidates, Candidates):
        raise ParameterError(
            "candidates= takes what the functions of rw.candidates return",
            found=type(candidates).__name__,
            hint="write rw.candidates.per_user(…), .these(…), .of_truth(…) or .sampled(…)",
        )


def _user_items(name: str, table: Table, users: Axis, items: Axis, counts: Counter[str]) -> UserItems:
    """Return the items of each user in a table, as codes; rows without a score are counted."""
    user, item = users.codes(table), items.codes(table)
    known = (user >= 0) & (item >= 0)
    unknown = len(known) - int(np.count_nonzero(known))
    counts[f"{name}_without_scores"] += unknown
    if unknown:
        user, item = user[known], item[known]
    starts, order = bucket(user, len(users.ids))
    return UserItems(starts, gather(item, order, default_threads()))


def _ranked_users(only: Iterable[Any] | Table | None, users: Axis, counts: Counter[str]) -> Ints:
    """Return the codes of the users to rank for: all, or those of ``only`` that have scores."""
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
