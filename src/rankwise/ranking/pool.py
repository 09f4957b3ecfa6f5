"""Who is ranked and over which items: scores, names, what is excluded and what is offered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core.facts import UserItems
from rankwise.core.parallel import default_threads, gather
from rankwise.core.segments import Ints, bucket
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.io.tables import Table, read_table
from rankwise.protocol import Protocol
from rankwise.ranking.names import Names, ids_of
from rankwise.ranking.scores import Scores, open_scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankwise.candidates import Candidates
    from rankwise.io.columns import Columns

__all__ = ["Pool", "make_pool"]


@dataclass(frozen=True)
class Pool:
    """Scores and candidates, in codes.

    Attributes
    ----------
    scores : Scores
        Of the items of ``items``.
    users, items : Names
        The ids of rows and columns.
    ranked : array of int
        Codes of the users to rank for, in order.
    excluded : UserItems or None
        Items that are no candidates of a user.
    offered : UserItems or None
        The candidates of each user; None where all items are. An item may be offered twice.
    protocol : Protocol
        How candidates were chosen, in words.
    counts : Counter
        What was out of the ordinary.
    """

    scores: Scores
    users: Names
    items: Names
    ranked: Ints
    excluded: UserItems | None
    offered: UserItems | None
    protocol: Protocol
    counts: Counter[str]

    def rows(self, table: Table) -> tuple[Ints, Ints]:
        """Return the user's and the item's code of each row of a table, -1 for none."""
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
    """Read everything that decides who is ranked over what."""
    given = open_scores(scores, users, items, bias)
    user_names = Names("user", user_ids, given.n_users)
    item_names = Names("item", item_ids, given.n_items)
    counts: Counter[str] = Counter()
    protocol = Protocol("catalogue")
    offered = None
    if candidates is not None:
        _check_candidates(candidates)
        protocol = candidates.protocol
        counts.update(candidates.counts)
        if candidates.per_user:
            offered = _per_user("candidates", candidates.table, user_names, item_names, counts)
        else:
            own = item_names.codes(candidates.table)
            counts["candidates_without_scores"] += int((own < 0).sum())
            own = np.unique(own[own >= 0])
            if not len(own):
                raise EmptyError("no candidate has a score", where="candidates",
                                 hint="do item_ids and candidates name items alike?")  # fmt: skip
            given, item_names = given.only(own), item_names.only(own)
    excluded = None
    if exclude is not None:
        _check_mask(exclude, given)
        table = read_table(exclude, "train", columns)
        excluded = _per_user("excluded", table, user_names, item_names, counts)
        protocol = replace(protocol, candidates=f"{protocol.candidates} less seen")
    return Pool(
        given,
        user_names,
        item_names,
        _ranked(only, user_names, counts),
        excluded,
        offered,
        protocol,
        counts,
    )


def _check_mask(exclude: Any, scores: Scores) -> None:
    """Raise for an array as large as the scores: it would be read as lists of items."""
    shape = getattr(exclude, "shape", None)
    if shape == (scores.n_users, scores.n_items) and not hasattr(exclude, "tocoo") and shape[1] > 2:
        raise InputError(
            "exclude= takes users and items, not a mask of the shape of the scores",
            found=f"an array of shape {shape}",
            hint="pass scipy.sparse.csr_array(mask), or set those scores to minus infinity",
        )


def _check_candidates(candidates: object) -> None:
    from rankwise.candidates import Candidates

    if not isinstance(candidates, Candidates):
        raise ParameterError(
            "candidates= takes what the functions of rw.candidates return",
            found=type(candidates).__name__,
            hint="write rw.candidates.per_user(…), .these(…), .of_truth(…) or .sampled(…)",
        )


def _per_user(
    what: str, table: Table, users: Names, items: Names, counts: Counter[str]
) -> UserItems:
    """Read a table of users and items into codes; rows that have no score are counted."""
    user, item = users.codes(table), items.codes(table)
    known = (user >= 0) & (item >= 0)
    unknown = len(known) - int(np.count_nonzero(known))
    counts[f"{what}_without_scores"] += unknown
    if unknown:
        user, item = user[known], item[known]
    starts, order = bucket(user, len(users.ids))
    return UserItems(starts, gather(item, order, default_threads()))


def _ranked(only: Iterable[Any] | Table | None, users: Names, counts: Counter[str]) -> Ints:
    if only is None:
        return np.arange(len(users.ids))
    if not isinstance(only, Table):
        ids = ids_of("user", only, "only")
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
