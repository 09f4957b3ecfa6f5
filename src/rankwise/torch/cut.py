"""`Ranked` to `Block`: the rows that measures read, all of them on the device of the lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from rankwise.core.arrays import count, sum_whole
from rankwise.core.block import Block
from rankwise.core.facts import Facts
from rankwise.core.hits import Hits, expect, resolve
from rankwise.core.row_sets import Ideal, ItemRows, JudgedRows, Needs, Overlap, RecommendedRows, RowSets
from rankwise.core.truth import reaches
from rankwise.torch.ranked import ItemRanks, Ranked, TieOrder
from rankwise.torch.user_items import find, place_of

__all__ = ["cut"]

_RANK_BOUND = 2**40  # more than any rank


def cut(
    ranked: Ranked,
    *,
    code: Tensor,
    needs: Needs,
    order: TieOrder,
    facts: Facts,
    n_items: int | None,
    threshold: float | None,
) -> Block:
    """Return the block of some ranked lists.

    Parameters
    ----------
    ranked : Ranked
        The lists.
    code : tensor of int, shape (B,)
        The row of each user in user facts.
    needs : frozenset of str
        What the block must hold beyond hits.
    order : TieOrder
        How ties are broken.
    facts : mapping of Fact to object
        What is known about items and users.
    n_items : int or None
        The number of items; None where nothing is counted by item.
    threshold : float or None
        Minimum relevance of a relevant item.
    """
    judged, size = ranked.judged, ranked.user.shape[0]
    relevant = is_relevant(judged, threshold)

    def overlap(name: Literal["history", "baseline"]) -> Overlap | None:
        wanted = f"overlap_{name}" in needs
        return _overlap(ranked, ranked.item_sets[name], judged, relevant) if wanted else None

    return Block(
        list_length=ranked.length,
        n_candidates=ranked.n_candidates,
        n_relevant=sum_whole(judged.rows.row, relevant, size),
        n_judged=count(judged.rows.row, size),
        n_dropped=torch.zeros_like(ranked.length),
        user=code,
        hits=_hits(ranked, judged, relevant, order),
        n_item_codes=n_items,
        ties=order.ties,
        row_sets=RowSets(
            ideal=_ideal(judged, relevant) if "ideal" in needs else None,
            judged=_judged(ranked, relevant, order) if "judged" in needs else None,
            recommended=_recommended(ranked, relevant) if "recommended" in needs else None,
            relevant=_items(judged, relevant) if "relevant" in needs else None,
            history=_items(ranked.item_sets["history"]) if "history" in needs else None,
            overlap_history=overlap("history"),
            overlap_baseline=overlap("baseline"),
        ),
        n_tied_rows=0 if ranked.n_tied is None else ranked.n_tied.sum(),
        facts=facts,
        limit=ranked.limit,
    )


def is_relevant(judged: ItemRanks, threshold: float | None) -> Tensor:
    """Return which rows of the ground truth are relevant."""
    value = judged.rows.value
    if value is None:
        return torch.ones_like(judged.rows.row, dtype=torch.bool)
    relevant: Tensor = value > 0 if threshold is None else reaches(value, threshold)
    return relevant


def _by_rank(found: ItemRanks, rows: Tensor, order: TieOrder) -> Tensor:
    """Return rows in order of user and rank; equal ranks in the order that breaks ties."""
    if not order.is_by_number:
        rows = rows[torch.argsort(order.of(found.rows.item[rows]), stable=True)]
    key = found.rows.row[rows] * _RANK_BOUND + found.first[rows]
    return rows[torch.argsort(key, stable=True)]


def _hits(ranked: Ranked, judged: ItemRanks, relevant: Tensor, order: TieOrder) -> Hits:
    rows = _by_rank(judged, (relevant & (judged.first > 0)).nonzero()[:, 0], order)
    user, item, gain = (x[rows] for x in (judged.rows.row, judged.rows.item, judged.rows.gain))
    rank, last = judged.first[rows], judged.last[rows]
    if ranked.has_ties and order.ties == "expected":
        return expect(user, gain, item, rank, last, limit=ranked.limit)
    if ranked.has_ties:
        rank, gain, item = resolve(user, gain, item, rank, last, order.ties)
    ones = torch.ones(user.shape[0], dtype=torch.float64, device=user.device)
    return Hits(user, rank, ones, place_of(user).to(torch.float64), gain, item)


def _ideal(judged: ItemRanks, relevant: Tensor) -> Ideal | Literal["ones"]:
    if judged.rows.value is None:
        return "ones"
    rows = relevant.nonzero()[:, 0]
    rows = rows[torch.argsort(-judged.rows.value[rows], stable=True)]
    rows = rows[torch.argsort(judged.rows.row[rows], stable=True)]
    user = judged.rows.row[rows]
    return Ideal(user, place_of(user), judged.rows.value[rows])


def _judged(ranked: Ranked, relevant: Tensor, order: TieOrder) -> JudgedRows:
    judged = ranked.judged
    there = judged.place > 0
    if ranked.limit is not None:
        there = there & (judged.place <= ranked.limit)  # not what only ties with the last item
    rows = there.nonzero()[:, 0]
    # In the order of the list, which for tied scores is that of ids.
    placed = replace(judged, first=judged.place)
    rows = _by_rank(placed, rows, order)
    return JudgedRows(
        user=judged.rows.row[rows],
        rank=judged.place[rows],
        item=judged.rows.item[rows],
        truth=judged.rows.gain[rows],
        relevant=relevant[rows].to(torch.float64),
        n_negative=_negative(judged, relevant, ranked.user.shape[0]),
        score=None if judged.score is None else judged.score[rows],
        tie=judged.first[rows] if ranked.has_ties else None,
    )


def _negative(judged: ItemRanks, relevant: Tensor, size: int) -> Tensor:
    """Return how many rows of each user have a negative grade and are not relevant."""
    value = judged.rows.value
    negative = torch.zeros_like(relevant) if value is None else (value < 0) & ~relevant
    n_negative: Tensor = sum_whole(judged.rows.row, negative, size)
    return n_negative


def _recommended(ranked: Ranked, relevant: Tensor) -> RecommendedRows:
    size, kept = ranked.items.shape
    device = ranked.items.device
    user = torch.arange(size, device=device)[:, None].expand(size, kept).ravel()
    rank = torch.arange(1, kept + 1, device=device).expand(size, kept).ravel()
    item, score, label = ranked.items.ravel(), None, None
    if ranked.scores is not None:
        score = ranked.scores.ravel().to(torch.float64)
        label = _labels(ranked, relevant)
    if ranked.is_full:
        return RecommendedRows(user, rank, item, score, label)
    rows = (item >= 0).nonzero()[:, 0]
    score = None if score is None else score[rows]
    label = None if label is None else label[rows]
    return RecommendedRows(user[rows], rank[rows], item[rows], score, label)


def _labels(ranked: Ranked, relevant: Tensor) -> Tensor:
    """Return 1 for every relevant item of the lists, else 0."""
    size, kept = ranked.items.shape
    judged = ranked.judged
    here = relevant & (judged.place > 0) & (judged.place <= kept)
    cell = torch.where(here, judged.rows.row * kept + judged.place - 1, size * kept)
    label = torch.zeros(size * kept + 1, dtype=torch.float64, device=cell.device)
    return label.index_fill_(0, cell, 1.0)[:-1]


def _items(found: ItemRanks, keep: Tensor | None = None) -> ItemRows:
    rows = found.rows if keep is None else found.rows.chosen(keep.nonzero()[:, 0])
    gain = rows.gain if keep is not None else torch.ones_like(rows.row, dtype=torch.float64)
    return ItemRows(rows.row, rows.item, gain)


def _overlap(ranked: Ranked, found: ItemRanks, judged: ItemRanks, relevant: Tensor) -> Overlap:
    """Return what lists have in common with another set; its values are places in that set."""
    size = ranked.user.shape[0]
    row, listed = found.rows.row, found.place > 0
    last = _RANK_BOUND if ranked.limit is None else ranked.limit
    rows = (listed & (found.place <= last)).nonzero()[:, 0]
    rows = rows[torch.argsort(row[rows] * _RANK_BOUND + found.place[rows], stable=True)]
    keys = judged.rows.key[relevant]
    in_truth = find(keys, found.rows.key) < keys.shape[0]
    elsewhere = ~listed & ~in_truth
    place_there = found.rows.value
    assert place_there is not None
    return Overlap(
        user=row[rows],
        rank=found.place[rows],
        item=found.rows.item[rows],
        rank_there=place_there[rows].to(torch.int64),
        length=count(row, size),
        n_elsewhere=sum_whole(row, elsewhere, size),
    )
