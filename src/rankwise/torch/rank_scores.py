"""Scores or ready lists to `Ranked`: all that measures read of them, without a copy to the host."""

from __future__ import annotations

import torch
from rankwise.core.arrays import refuse
from rankwise.errors import DuplicateError, IdError, RankwiseError
from rankwise.torch.finders import AmongAll, InLists
from rankwise.torch.ranked import Order, Ranked
from rankwise.torch.top import Scored, top_of
from rankwise.torch.user_items import PAD, Rows
from torch import Tensor

__all__ = ["rank_lists", "rank_scores"]

_INFINITY = float("inf")


def rank_scores(
    user: Tensor,
    scores: Tensor,
    items: Tensor | None,
    judged: Rows,
    others: dict[str, Rows],
    *,
    order: Order,
    depth: int | None,
    top: int,
) -> Ranked:
    """Rank candidates by score.

    Parameters
    ----------
    user : tensor of int, shape (B,)
        The users.
    scores : tensor of float, shape (B, C)
        Scores; -inf marks what is no candidate.
    items : tensor of int, shape (B, C), or None
        The item of every score; None where columns are items.
    judged : Rows
        The ground truth.
    others : dict of str to Rows
        Other items to be found in the lists.
    order : Order
        How ties are broken.
    depth : int or None
        The length of the lists; None: all candidates are ranked.
    top : int
        How many items of every list are wanted, best first.
    """
    scored = Scored.of(scores, items, order)
    best = top_of(user, scored, top if depth is None else depth, order)
    if depth is None:
        among_all = AmongAll(scored, order)
        length = (scored.scores > -_INFINITY).sum(1)
        ranks = among_all.find(judged)
        n_tied = (ranks.last > ranks.first).sum()
        return Ranked(
            user, best.items, length, best.scores, length, ranks,
            {name: among_all.find(rows) for name, rows in others.items()}, n_tied, bool(n_tied),
            is_full=best.is_full,
        )  # fmt: skip
    in_lists = InLists(best.items, best, scored, order)
    return Ranked(
        user, best.items, (best.items != PAD).sum(1), best.scores, None, in_lists.find(judged),
        {name: in_lists.find(rows) for name, rows in others.items()}, in_lists.n_tied,
        best.has_ties and order.is_open, depth if order.is_open else None, best.is_full,
        best.cut_in_tie,
    )  # fmt: skip


def rank_lists(user: Tensor, items: Tensor, judged: Rows, others: dict[str, Rows],
               n_items: int | None) -> Ranked:  # fmt: skip
    """Read ready lists, shape (B, K), best first; -1 is padding, and what follows moves up."""
    is_item = items != PAD
    items = items.gather(1, torch.argsort((~is_item).to(torch.int8), dim=1, stable=True))
    most = 2**31 - 1 if n_items is None else n_items
    outside = (items >= most) | (items < PAD)

    def no_item() -> RankwiseError:
        row, place = outside.nonzero()[0].tolist()
        return IdError(
            "a list names an item outside the catalogue",
            where=f"row {row} of the batch, rank {place + 1}",
            found=f"item {int(items[row, place])} of {most}",
            hint=f"items are numbers from 0 to {most - 1}; {PAD} is padding",
        )

    refuse(outside, no_item)
    _check_repeats(user, items)
    length = (items != PAD).sum(1)
    listed = InLists(items)
    is_full = bool((length == items.shape[1]).all()) if items.numel() else False
    found = {name: listed.find(rows) for name, rows in others.items()}
    return Ranked(user, items, length, None, None, listed.find(judged), found, is_full=is_full)


def _check_repeats(user: Tensor, items: Tensor) -> None:
    """Refuse lists that have an item twice."""
    ordered = items.sort(dim=1).values
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)

    def error() -> RankwiseError:
        row, place = same.nonzero()[0].tolist()
        return DuplicateError(
            "an item stands twice in one list",
            where=f"row {row} of the batch, user {int(user[row])}",
            found=f"item {int(ordered[row, place])} more than once",
            hint="whole numbers are items, best first; pass scores as floats",
        )

    refuse(same, error)
