"""The exact top of every list: ties at its end are settled by the tie rule, not by the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rankwise.core.arrays import refuse
from rankwise.errors import RankwiseError, ScoreError
from rankwise.torch.ranked import TieOrder
from rankwise.torch.user_items import PAD, Rows, find, list_keys

__all__ = ["Scored", "Top", "cells_of", "top_of"]

_INFINITY = float("inf")


@dataclass(frozen=True)
class Scored:
    """The scores of candidates, -inf for others.

    Attributes
    ----------
    scores : tensor of float, shape (B, C)
        The scores.
    items : tensor of int, shape (B, C), or None
        The item of every column of every user, in the order that breaks ties; None where columns
        are items.
    """

    scores: Tensor
    items: Tensor | None

    @classmethod
    def of(cls, scores: Tensor, items: Tensor | None, order: TieOrder) -> Scored:
        """Put the columns of every user in the order that breaks ties, where users have items."""
        if items is None or order.ties == "input":
            return cls(scores, items)
        by_id = torch.argsort(order.of(items), dim=1, stable=True)
        return cls(scores.gather(1, by_id), items.gather(1, by_id))

    def columns(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return the column of each item, and whether it is a candidate at all."""
        if self.items is None:
            column, known = rows.item, None
        else:
            column, known = _columns_of(rows, self._order_of_keys, self.items.shape[1])
        is_candidate = self.scores[rows.row, column] > -_INFINITY
        return column, is_candidate if known is None else is_candidate & known

    @cached_property
    def _order_of_keys(self) -> tuple[Tensor, Tensor]:
        """The keys of all candidates in order, sorted once for all sets of items."""
        assert self.items is not None
        return _order_of_keys(self.items)

    def item_of(self, columns: Tensor) -> Tensor:
        """Return the items of columns, shape (B, K)."""
        return columns if self.items is None else self.items.gather(1, columns)

    def number_of(self, columns: Tensor, order: TieOrder) -> Tensor:
        """Return numbers of columns that grow in the order that breaks ties."""
        return order.of(columns) if self.items is None else columns

    def by_id(self, order: TieOrder) -> Tensor | None:
        """Return the columns in the order that breaks ties, shape (C,); None: they are in it."""
        if self.items is not None or order.is_by_number:
            return None
        width, device = self.scores.shape[1], self.scores.device
        return torch.argsort(order.of(torch.arange(width, device=device)))


@dataclass(frozen=True)
class Top:
    """The top of every list.

    Attributes
    ----------
    items : tensor of int, shape (B, K)
        Best first; -1 after the end of a list.
    scores : tensor of float, shape (B, K)
        Their scores; -inf after the end of a list.
    has_ties : bool
        Whether some list has equal scores, up to one place after its end.
    is_full : bool
        Whether no list is shorter.
    cut_in_tie : tensor of bool, shape (B,), or None
        Which lists are cut between items of equal scores; None: none.
    cut_first, cut_last : tensor of int, shape (B,)
        The first and the last rank of the items that tie across the end of the list; 0 for a list
        that is not cut in a tie.
    cut_score : tensor of float, shape (B,)
        Their score; NaN for such a list.
    """

    items: Tensor
    scores: Tensor
    has_ties: bool
    is_full: bool
    cut_in_tie: Tensor | None
    cut_first: Tensor
    cut_last: Tensor
    cut_score: Tensor


def top_of(user: Tensor, scored: Scored, kept: int, order: TieOrder) -> Top:
    """Return the top of every list, with its ties in order; refuse scores that are no numbers.

    Parameters
    ----------
    user : tensor of int, shape (B,)
        The users, for messages.
    scored : Scored
        The scores.
    kept : int
        The length of the lists.
    order : TieOrder
        How ties are broken.
    """
    size, width = scored.scores.shape
    kept = min(kept, width)
    values, columns = scored.scores.topk(min(kept + 1, width), dim=1)
    _check_scores(user, values)
    tied_at_cut = torch.zeros(size, dtype=torch.bool, device=values.device)
    if values.shape[1] > kept:
        at_cut = values[:, kept - 1 : kept + 1]
        tied_at_cut = (at_cut[:, 0] == at_cut[:, 1]) & (at_cut[:, 1] > -_INFINITY)
    tied = (values[:, 1:] == values[:, :-1]) & (values[:, 1:] > -_INFINITY)
    flags = [tied.any(), tied_at_cut.any(), (values[:, :kept] > -_INFINITY).all()]
    has_ties, is_cut_in_tie, is_full = torch.stack(flags).tolist()  # read together, once
    cut_first, cut_last = torch.zeros((2, size), dtype=torch.int64, device=values.device)
    cut_score = torch.full((size,), torch.nan, dtype=torch.float64, device=values.device)
    if is_cut_in_tie:
        rows = tied_at_cut.nonzero()[:, 0]
        columns, first, last = _choose_at_cut(scored, values, columns, rows, kept, order)
        cut_first[rows], cut_last[rows] = first, last
        cut_score[rows] = values[rows, kept - 1].to(torch.float64)
    values, columns = values[:, :kept], columns[:, :kept]
    if has_ties:
        values, columns = _in_order(values, columns, scored, order)
    items = torch.where(values > -_INFINITY, scored.item_of(columns), PAD)
    return Top(items, values, has_ties, is_full, tied_at_cut if is_cut_in_tie else None, cut_first, cut_last, cut_score)


def _choose_at_cut(
    scored: Scored, values: Tensor, columns: Tensor, rows: Tensor, kept: int, order: TieOrder
) -> tuple[Tensor, Tensor, Tensor]:
    """Fill the end of some lists with those of the equal items that come first.

    Returns the columns of all lists, and the first and last rank of the equal items of these.
    """
    score = values[rows, kept - 1, None]
    above = (values[rows, :kept] > score).sum(1)
    equal = scored.scores[rows] == score
    by_id = scored.by_id(order)
    equal = equal if by_id is None else equal[:, by_id]
    nth = equal.cumsum(1, dtype=torch.int32)
    row, column = (equal & (nth <= (kept - above)[:, None])).nonzero(as_tuple=True)
    place = above[row] + nth[row, column] - 1
    columns = columns.clone()
    columns[rows[row], place] = column if by_id is None else by_id[column]
    return columns, above + 1, above + nth[:, -1]


def _in_order(values: Tensor, columns: Tensor, scored: Scored, order: TieOrder) -> tuple[Tensor, Tensor]:
    """Return the top of lists with items of equal scores in the order that breaks ties."""
    by_id = torch.argsort(scored.number_of(columns, order), dim=1)
    values, columns = values.gather(1, by_id), columns.gather(1, by_id)
    by_score = torch.argsort(values, dim=1, descending=True, stable=True)
    return values.gather(1, by_score), columns.gather(1, by_score)


def _order_of_keys(items: Tensor) -> tuple[Tensor, Tensor]:
    keys, order = torch.sort(list_keys(items).ravel())
    return keys, order


def _columns_of(rows: Rows, order_of_keys: tuple[Tensor, Tensor], width: int) -> tuple[Tensor, Tensor]:
    """Return the column in which each item stands (0 where it stands in none), and if it does."""
    keys, order = order_of_keys
    at = find(keys, rows.key)
    known = at < keys.shape[0]
    return torch.where(known, torch.cat([order, order.new_zeros(1)])[at] % width, 0), known


def cells_of(rows: Rows, items: Tensor | None, width: int) -> tuple[Tensor, Tensor]:
    """Return row and column of each item; ``items`` has those of columns, None: the same."""
    if items is None:
        return rows.row, rows.item.clamp(0, width - 1)
    column, known = _columns_of(rows, _order_of_keys(items), items.shape[1])
    keep = known.nonzero()[:, 0]
    return rows.row[keep], column[keep]


def _check_scores(user: Tensor, values: Tensor) -> None:
    """Refuse NaN and infinity: they are sorted first, so the first value of a list shows them."""
    if not values.shape[1]:
        return
    bad = torch.isnan(values[:, 0]) | (values[:, 0] == _INFINITY)

    def error() -> RankwiseError:
        row = int(bad.nonzero()[0, 0])
        return ScoreError(
            "a score is NaN or infinite",
            where=f"scores, row {row} of the batch, user {int(user[row])}",
            found=str(float(values[row, 0])),
            hint="find out why the model gives no number; minus infinity excludes an item from the candidate set",
        )

    refuse(bad, error)
