"""Scores or ready lists to `Ranked`: all that measures read of them, without a copy to the host."""

from __future__ import annotations

import torch
from torch import Tensor

from rankwise.core.arrays import sum_whole
from rankwise.torch.item_ranks import RanksAmongCandidates, RanksInLists
from rankwise.torch.ranked import Ranked, TieOrder
from rankwise.torch.top import Scored, top_of
from rankwise.torch.user_items import PAD, Rows

__all__ = ["rank_lists", "rank_scores"]

_INFINITY = float("inf")


def rank_scores(
    user: Tensor,
    scores: Tensor,
    items: Tensor | None,
    judged: Rows,
    item_sets: dict[str, Rows],
    *,
    order: TieOrder,
    depth: int | None,
    top: int,
) -> Ranked:
    """Rank candidates by score.

    Parameters
    ----------
    user : tensor of int, shape (B,)
        The users.
    scores : tensor of float, shape (B, C)
        Scores; -inf excludes an item from the candidate set.
    items : tensor of int, shape (B, C), or None
        The item of every score; None where columns are items.
    judged : Rows
        The ground truth.
    item_sets : dict of str to Rows
        Other items to be found in the lists.
    order : TieOrder
        How ties are broken.
    depth : int or None
        The length of the lists; None: all candidates are ranked.
    top : int
        How many items of every list are wanted, best first.
    """
    scored = Scored.of(scores, items, order)
    best = top_of(user, scored, top if depth is None else depth, order)
    if depth is None:
        among_all = RanksAmongCandidates(scored, order)
        length = (scored.scores > -_INFINITY).sum(1)
        ranks = among_all.find(judged)
        is_tied = ranks.last > ranks.first
        return Ranked(
            user=user,
            items=best.items,
            length=length,
            scores=best.scores,
            n_candidates=length,
            judged=ranks,
            item_sets={name: among_all.find(rows) for name, rows in item_sets.items()},
            n_tied=sum_whole(judged.row, is_tied, judged.size),
            has_ties=bool(is_tied.any()),
            is_full=best.is_full,
            n_unranked=sum_whole(judged.row, ranks.place == 0, judged.size),
        )
    is_candidate = scored.columns(judged)[1]
    in_lists = RanksInLists(best.items, best, scored, order)
    return Ranked(
        user=user,
        items=best.items,
        length=(best.items != PAD).sum(1),
        scores=best.scores,
        judged=in_lists.find(judged),
        item_sets={name: in_lists.find(rows) for name, rows in item_sets.items()},
        n_tied=in_lists.n_tied,
        has_ties=best.has_ties and order.is_open,
        limit=depth if order.is_open else None,
        is_full=best.is_full,
        cut_in_tie=best.cut_in_tie,
        n_unranked=sum_whole(judged.row, ~is_candidate, judged.size),
    )


def rank_lists(user: Tensor, items: Tensor, judged: Rows, item_sets: dict[str, Rows]) -> Ranked:
    """Read ready lists, shape (B, K), best first; -1 is padding, and what follows moves up."""
    is_pad = items == PAD
    if bool((is_pad[:, :-1] & ~is_pad[:, 1:]).any()):
        items = items.gather(1, torch.argsort(is_pad.to(torch.int8), dim=1, stable=True))
    length = (items != PAD).sum(1)
    listed = RanksInLists(items)
    is_full = bool((length == items.shape[1]).all()) if items.numel() else False
    found = {name: listed.find(rows) for name, rows in item_sets.items()}
    return Ranked(user=user, items=items, length=length, judged=listed.find(judged), item_sets=found, is_full=is_full)
