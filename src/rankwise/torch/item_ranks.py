"""Where lists have judged items, or those of a training history: their places and ranks."""

from __future__ import annotations

import torch
from rankwise.torch.ranked import ItemRanks, TieOrder
from rankwise.torch.top import Scored, Top
from rankwise.torch.user_items import Rows, find, key_of
from torch import Tensor

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
        self, items: Tensor, top: Top | None = None, scored: Scored | None = None,
        order: TieOrder | None = None,
    ) -> None:  # fmt: skip
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
        row = torch.arange(size, device=items.device)[:, None].expand(size, kept)
        self.keys = key_of(row, items).ravel()
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
    """Finds the ranks of items among all candidates, by counting those above."""

    def __init__(self, scored: Scored, order: TieOrder) -> None:
        self.scored, self.order = scored, order
        self.ascending: Tensor | None = None

    def find(self, rows: Rows) -> ItemRanks:
        """Return the ranks of these items among all candidates."""
        column, is_candidate = self.scored.columns(rows)
        score = self.scored.scores[rows.row, column]
        score = torch.where(is_candidate, score, torch.full_like(score, torch.nan))
        above, equal = self._count(rows, score)
        place = above + 1 + self._before(rows, column, score, equal)
        first, last = (above + 1, above + equal) if self.order.is_open else (place, place)
        zero = torch.zeros_like(above)
        place, first, last = (torch.where(is_candidate, x, zero) for x in (place, first, last))
        return ItemRanks(rows, place, first, last, score.to(torch.float64))

    def _count(self, rows: Rows, score: Tensor) -> tuple[Tensor, Tensor]:
        """Return how many scores of the same user are above each score, and how many equal it."""
        scores, n = self.scored.scores, score.shape[0]
        starts = torch.searchsorted(rows.row, rows.row)
        place = torch.arange(n, device=score.device) - starts
        most = int(place.max()) + 1 if n else 0
        matrix = torch.full((scores.shape[0], most), torch.nan, dtype=score.dtype,
                            device=score.device)  # fmt: skip
        matrix[rows.row, place] = score
        if most <= _FEW:
            above = torch.zeros_like(matrix, dtype=torch.int64)
            equal = torch.zeros_like(above)
            for at in range(most):
                above[:, at] = (scores > matrix[:, at, None]).sum(1)
                equal[:, at] = (scores == matrix[:, at, None]).sum(1)
        else:
            matrix = matrix.to(torch.promote_types(matrix.dtype, torch.float32))
            if self.ascending is None:
                self.ascending = scores.to(matrix.dtype).sort(dim=1).values
            upper = torch.searchsorted(self.ascending, matrix, right=True)
            above = scores.shape[1] - upper
            equal = upper - torch.searchsorted(self.ascending, matrix)
        return above[rows.row, place], equal[rows.row, place]

    def _before(self, rows: Rows, column: Tensor, score: Tensor, equal: Tensor) -> Tensor:
        """Return how many items of the same score come first, by the order of ids."""
        before = torch.zeros_like(equal)
        tied = (equal > 1).nonzero()[:, 0]
        scores = self.scored.scores
        columns = torch.arange(scores.shape[1], device=scores.device)
        number = self.scored.number_of(columns, self.order)
        for part in torch.split(tied, max(1, _CELLS // scores.shape[1])):
            same = scores[rows.row[part]] == score[part, None]
            before[part] = (same & (number < number[column[part], None])).sum(1)
        return before


def _scattered(values: Tensor, at: Tensor, rows: Rows, missing: float = 0) -> Tensor:
    """Write one value per place of the lists to the row that it matches; item_sets are missing."""
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
