"""The loops over all rows that no evaluation can do without, on one thread and nothing beside them.

They bound what rankwise can reach: each takes work of `workload.py`, whose users are numbered from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core import kernels
from rankwise.core.ragged import offsets
from rankwise.core.texts import string_views
from rankwise.core.vocabularies import StringVocabulary

if TYPE_CHECKING:
    from workload import Workload

__all__ = ["grouped", "shuffled", "texts"]


def grouped(work: Workload) -> None:
    """Find the runs of users, check their ranks and match their items."""
    user, item, rank = (work.recs[name].to_numpy() for name in ("user", "item", "rank"))
    starts = _edges(kernels.changes(user, 1, len(user)), len(user))
    kernels.counts_up(rank, starts, 0, len(starts) - 1, 1)
    truth = work.truth.sort("user")
    _match(item, starts, truth["item"].to_numpy(), truth["user"].to_numpy(), user[starts[:-1]])


def shuffled(work: Workload) -> None:
    """Count the rows of users, write their items by rank and match them."""
    user, item, rank = (work.recs[name].to_numpy() for name in ("user", "item", "rank"))
    share = 0, len(user)
    counts = kernels.count(user, *share, int(user.max()) + 1)
    assert counts is not None
    starts = offsets(counts)

    listed = np.empty(len(item), dtype=np.int32)
    kernels.place(user, rank, item, share, starts, listed, 1)
    truth = work.truth.sort("user")
    users = np.arange(len(starts) - 1)
    _match(listed, starts, truth["item"].to_numpy(), truth["user"].to_numpy(), users)


def texts(work: Workload) -> None:
    """Look up the texts of items, find the runs of users, check their ranks and match their items."""
    items, users = StringVocabulary(), StringVocabulary()
    judged, judged_user = items.encode(work.truth["item"]), users.encode(work.truth["user"])
    listed, user = items.encode(work.recs["item"]), work.recs["user"]
    with string_views(user) as views:
        assert views is not None
        starts = _edges(views.changes(1, len(user)), len(user))

    kernels.counts_up(work.recs["rank"].to_numpy(), starts, 0, len(starts) - 1, 1)
    by_user = np.argsort(judged_user, kind="stable")
    judged = judged[by_user].astype(np.int64)
    _match(listed, starts, judged, judged_user[by_user], users.encode(user[starts[:-1]]))


def _edges(changes: Any, n: int) -> Any:
    return np.concatenate([[0], changes, [n]])


def _match(items: Any, starts: Any, judged: Any, judged_user: Any, users: Any) -> None:
    counts = np.bincount(judged_user, minlength=int(users.max()) + 1)
    kernels.match(items, starts, judged, offsets(counts), users.astype(np.int64))
