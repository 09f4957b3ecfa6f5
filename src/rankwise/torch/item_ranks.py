"""Where lists have judged items, or those of a training history: their places and ranks."""

from __future__ import annotations

import torch
from torch import Tensor

from rankwise.core.arrays import sum_whole
from rankwise.torch.ranked import ItemRanks, TieOrder
from rankwise.torch.top import Scored, Top
from rankwise.torch.user_items import Rows, find, list_keys, place_of

__all__ = ["RanksAmongCandidates", "RanksInLists"]

_FEW = 8  # judged items per user up to which counting is cheaper than sorting the user's scores
_CELLS = 1 << 24  # comparisons at a time where ties are put in order of item id
_INFINITY = float("inf")


class RanksInLists:
    """Finds items in lists that end somewhere.

    Parameters
    ----------
    items : tensor of int, shape (B, K)
        The lists, best first, padded with -1.
    top : Top, optional
        Their scores and ties; without it these are ready lists.
    scored : Scored, optional
        The scores of all candidates, with ``top``.
    order : TieOrder, optional
        How ties are broken, with ``top``.
    """

    def __init__(
        self, items: Tensor, top: Top | None = None, scored: Scored | None = None, order: TieOrder | None = None
    ) -> None:
        size, kept = items.shape
        self.kept, self.top, self.scored = kept, top, scored
        place = torch.arange(1, kept + 1, device=items.device).expand(size, kept)
        self.place = self.first = self.last = place.ravel()
        self.n_tied = torch.zeros(size, dtype=torch.int64, device=items.device)
        self.is_open = top is not None and order is not None and order.is_open and top.has_ties
        if self.is_open and top is not None and kept:
            first, last = _tied_places(top.scores)
            at_cut = (top.cut_last > 0)[:, None] & (last == kept)
            last = torch.where(at_cut, top.cut_last[:, None], last)
            self.first, self.last = first.ravel(), last.ravel()
            tied = (last > first) & (top.scores > -_INFINITY)
            self.n_tied = tied.sum(1) + (top.cut_last - kept).clamp(min=0)
        self.keys = list_keys(items).ravel()
        self.scores = None if top is None else top.scores.ravel().to(torch.float64)

    def find(self, rows: Rows) -> ItemRanks:
        """Return where the lists have these items."""
        at = find(rows.key, self.keys)
        place, first, last = (_scattered(x, at, rows) for x in (self.place, self.first, self.last))
        if self.top is None or self.scored is None or self.scores is None:
            return ItemRanks(rows, place, first, last)
        score = _scattered(self.scores, at, rows, missing=torch.nan)
        if self.is_open and self.top.cut_in_tie is not None:
            # Items that tie with the last of the list and are not in it.
            column, is_candidate = self.scored.columns(rows)
            value = self.scored.scores[rows.row, column].to(torch.float64)
            also = is_candidate & (place == 0) & (value == self.top.cut_score[rows.row])
            first = torch.where(also, self.top.cut_first[rows.row], first)
            last = torch.where(also, self.top.cut_last[rows.row], last)
            place = torch.where(also, self.kept + 1, place)
            score = torch.where(also, value, score)
        return ItemRanks(rows, place, first, last, score)


class RanksAmongCandidates:
    """Finds the ranks of items among all candidates: by counting, or by sorting for many items."""

    def __init__(self, scored: Scored, order: TieOrder) -> None:
        self.scored, self.order = scored, order
        columns = torch.arange(scored.scores.shape[1], device=scored.scores.device)
        self.number = scored.number_of(columns, order)

    def find(self, rows: Rows) -> ItemRanks:
        """Return the ranks of these items among all candidates."""
        column, is_candidate = self.scored.columns(rows)
        score = self.scored.scores[rows.row, column].to(torch.float64)
        n_candidates = sum_whole(rows.row, is_candidate, rows.size)
        many = n_candidates[rows.row] > _FEW
        place, first, last = torch.zeros((3, score.shape[0]), dtype=torch.int64, device=score.device)
        for here, ranks in ((is_candidate & ~many, self._by_counting), (is_candidate & many, self._by_sorting)):
            at = here.nonzero()[:, 0]
            if len(at):
                place[at], first[at], last[at] = ranks(rows.row[at], column[at])
        if not self.order.is_open:
            first = last = place
        return ItemRanks(rows, place, first, last, torch.where(is_candidate, score, torch.nan))

    def _by_counting(self, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return place, first and last rank of a few items of each user."""
        scores = self.scored.scores
        score = scores[row, column]
        nth = place_of(row) - 1
        matrix = scores.new_full((scores.shape[0], int(nth.max()) + 1), torch.nan)
        matrix[row, nth] = score
        above, equal = torch.zeros((2, *matrix.shape), dtype=torch.int64, device=row.device)
        for at in range(matrix.shape[1]):
            above[:, at] = (scores > matrix[:, at, None]).sum(1)
            equal[:, at] = (scores == matrix[:, at, None]).sum(1)
        above, equal = above[row, nth], equal[row, nth]
        before = torch.zeros_like(equal)
        tied = (equal > 1).nonzero()[:, 0]
        for part in torch.split(tied, max(1, _CELLS // scores.shape[1])):
            same = scores[row[part]] == score[part, None]
            before[part] = (same & (self.number < self.number[column[part], None])).sum(1)
        return above + before + 1, above + 1, above + equal

    def _by_sorting(self, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same for many items of each user: all scores of these users are sorted."""
        scores, by_id = self.scored.scores, self.scored.by_id(self.order)
        width = scores.shape[1]
        if by_id is not None:  # where the column is in the order that breaks ties
            column = torch.argsort(by_id)[column]
        out = torch.empty((3, row.shape[0]), dtype=torch.int64, device=row.device)
        users = torch.unique_consecutive(row)
        for part in torch.split(users, max(1, _CELLS // width)):
            values = scores[part] if by_id is None else scores[part][:, by_id]
            ordered, order = values.sort(dim=1, descending=True, stable=True)
            place = torch.empty_like(order)
            numbers = torch.arange(1, width + 1, device=row.device)
            place.scatter_(1, order, numbers.expand_as(order))
            at = ((row >= part[0]) & (row <= part[-1])).nonzero()[:, 0]
            held = torch.searchsorted(part, row[at])
            places = place[held, column[at]]
            first, last = _tied_places(ordered)
            out[:, at] = torch.stack([places, first[held, places - 1], last[held, places - 1]])
        return out[0], out[1], out[2]


def _scattered(values: Tensor, at: Tensor, rows: Rows, missing: float = 0) -> Tensor:
    """Write one value per place of the lists to the row that it matches; the others are missing."""
    n = rows.row.shape[0]
    out = torch.full((n + 1,), missing, dtype=values.dtype, device=values.device)
    return out.scatter_(0, at, values)[:n]


def _tied_places(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and the last place of equal values in every row, from 1, shape (B, K)."""
    kept = values.shape[1]
    place = torch.arange(1, kept + 1, device=values.device).expand(values.shape)
    starts = torch.ones_like(values, dtype=torch.bool)
    starts[:, 1:] = values[:, 1:] != values[:, :-1]
    ends = torch.ones_like(starts)
    ends[:, :-1] = starts[:, 1:]
    first = torch.where(starts, place, 0).cummax(1).values
    last = torch.where(ends, place, kept + 1).flip(1).cummin(1).values.flip(1)
    return first, last
