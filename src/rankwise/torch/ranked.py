"""Scores to ranked lists: the top of every list, and the ranks that judged items may have.

Everything stays on the device. What depends on the data (is there a tie at all, is a list short)
is read together, once for each block of users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from rankwise.core.arrays import refuse
from rankwise.core.choices import Ties
from rankwise.errors import DuplicateError, IdError, RankwiseError, ScoreError
from rankwise.torch.rows import PAD, Rows, find, key_of
from torch import Tensor

__all__ = ["Found", "Order", "Ranked", "cells_of", "rank_lists", "rank_scores"]

_FEW = 8  # judged items per user up to which counting is cheaper than sorting the user's scores
_CELLS = 1 << 24  # comparisons at a time where ties are put in order of item id
_INFINITY = float("inf")


@dataclass(frozen=True)
class Found:
    """Items of users (judged ones, training histories, …) and where the lists have them.

    Attributes
    ----------
    rows : Rows
        The items.
    place : tensor of int, shape (n,)
        The place of each item in the list, from 1; 0 where the list does not have it, and one more
        than the length of the list that was kept where it is further down.
    first, last : tensor of int, shape (n,)
        The first and the last rank that it may have, equal unless scores tie; 0 without a rank.
    score : tensor of float, shape (n,), or None
        The score; NaN without a rank.
    """

    rows: Rows
    place: Tensor
    first: Tensor
    last: Tensor
    score: Tensor | None = None

    def chosen(self, keep: Tensor, number: Tensor, size: int) -> Found:
        """Return some of the rows; ``number`` is the new position of every user."""
        rows = self.rows.chosen(keep)
        rows = replace(rows, row=number[rows.row], size=size)
        score = None if self.score is None else self.score[keep]
        return Found(rows, self.place[keep], self.first[keep], self.last[keep], score)


@dataclass(frozen=True)
class Ranked:
    """The ranked lists of a block of users, with the ranks of judged items.

    Attributes
    ----------
    user : tensor of int, shape (B,)
        The user of each list.
    items : tensor of int, shape (B, K)
        The top of every list, best first; -1 after its end.
    length : tensor of int, shape (B,)
        The length of the whole list.
    scores : tensor of float, shape (B, K), or None
        The scores of ``items``.
    n_candidates : tensor of int, shape (B,), or None
        The number of candidates, where every one of them is ranked.
    judged : Found
        The ground truth.
    others : dict of str to Found
        Other sets of items: the ``"history"``, the lists of a ``"baseline"``.
    n_tied : tensor of int
        How many items of these lists tie.
    has_ties : bool
        Whether any judged item ties.
    limit : int or None
        The length at which lists were cut, if items that tie with the last are known too.
    is_full : bool
        Whether ``items`` has no padding.
    cut_in_tie : tensor of bool, shape (B,), or None
        Which lists were cut between items of equal scores; None: none.
    """

    user: Tensor
    items: Tensor
    length: Tensor
    scores: Tensor | None
    n_candidates: Tensor | None
    judged: Found
    others: dict[str, Found] = field(default_factory=dict)
    n_tied: Tensor | int = 0
    has_ties: bool = False
    limit: int | None = None
    is_full: bool = False
    cut_in_tie: Tensor | None = None

    def select(self, rows: Tensor) -> Ranked:
        """Return the lists of some users, by ascending position."""
        number = self.user.new_full((self.user.shape[0],), -1)
        number[rows] = torch.arange(rows.shape[0], device=rows.device)

        def chosen(found: Found) -> Found:
            return found.chosen((number[found.rows.row] >= 0).nonzero()[:, 0], number, len(rows))

        optional = (None if x is None else x[rows] for x in (self.scores, self.n_candidates))
        scores, n_candidates = optional
        return replace(
            self, user=self.user[rows], items=self.items[rows], length=self.length[rows],
            scores=scores, n_candidates=n_candidates, judged=chosen(self.judged),
            others={name: chosen(found) for name, found in self.others.items()},
        )  # fmt: skip


@dataclass(frozen=True)
class Order:
    """In which order items of equal scores come: by id, and which way round.

    Attributes
    ----------
    ties : str
        The rule, as in `rankwise.evaluate`.
    id_rank : tensor of int, shape (n_items,), or None
        The place of every item among the sorted ids; None where items are in this order.
    """

    ties: Ties
    id_rank: Tensor | None = None

    @property
    def is_open(self) -> bool:
        """Whether ties are not broken, so that items have several ranks."""
        return self.ties in ("expected", "optimistic", "pessimistic")

    def of(self, items: Tensor) -> Tensor:
        """Return numbers that grow from the item that comes first among equals to the last."""
        number = items if self.id_rank is None else self.id_rank[items.clamp(min=0)]
        return -number if self.ties == "item_desc" else number


@dataclass(frozen=True)
class _Scored:
    """Scores of candidates, -inf for others, shape (B, C), with columns in the order of ties.

    ``items`` has the item of every column of every user; None where columns are items.
    """

    scores: Tensor
    items: Tensor | None

    def columns(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return the column of each item, and whether it is a candidate at all."""
        if self.items is None:
            column, known = rows.item, None
        else:
            column, known = _columns_of(rows, self.items)
        is_candidate = self.scores[rows.row, column] > -_INFINITY
        return column, is_candidate if known is None else is_candidate & known

    def item_of(self, columns: Tensor) -> Tensor:
        """Return the items of columns, shape (B, K)."""
        return columns if self.items is None else self.items.gather(1, columns)


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
    if items is not None:  # columns in the order that breaks ties
        by_id = torch.argsort(order.of(items), dim=1, stable=True)
        scores, items = scores.gather(1, by_id), items.gather(1, by_id)
    scored = _Scored(scores, items)
    width = scores.shape[1]
    kept = min(top if depth is None else depth, width)
    values, columns = scores.topk(min(kept + 1, width), dim=1)
    _check_scores(user, values)
    tied_at_cut = _tied_at_cut(values, kept)
    flags = [(values[:, 1:] == values[:, :-1]).logical_and(values[:, 1:] > -_INFINITY).any(),
             tied_at_cut.any(), (values[:, :kept] > -_INFINITY).all()]  # fmt: skip
    ties, cut_ties, is_full = torch.stack(flags).tolist()
    beyond = _Beyond.none(scores.shape[0], scores.device)
    if cut_ties:
        values, columns, beyond = _choose_at_cut(scored, values, columns, tied_at_cut, kept, order)
    values, columns = values[:, :kept], columns[:, :kept]
    if ties:
        values, columns = _in_order(values, columns, order, scored)
    listed = torch.where(values > -_INFINITY, scored.item_of(columns), PAD)
    if depth is None:
        length = (scores > -_INFINITY).sum(1)
        counted = _Counted(scored, order, listed)
        judged_found = counted(judged)
        n_tied = (judged_found.last > judged_found.first).sum()
        ties = bool(n_tied)
        found: Callable[[Rows], Found] = counted
    else:
        length = (values > -_INFINITY).sum(1)
        in_lists = _Listed(listed, values, beyond, scored, order, ties)
        judged_found, n_tied, found = in_lists(judged), in_lists.n_tied, in_lists
    return Ranked(
        user, listed, length, values, length if depth is None else None, judged_found,
        {name: found(rows) for name, rows in others.items()},
        n_tied if order.is_open else 0,
        ties and order.is_open, depth if order.is_open else None, is_full,
        tied_at_cut if cut_ties and depth is not None else None,
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
    listed = _Listed(items, None, None, None, Order("input"), False)
    is_full = bool((length == items.shape[1]).all()) if items.numel() else False
    found = {name: listed(rows) for name, rows in others.items()}
    return Ranked(user, items, length, None, None, listed(judged), found, is_full=is_full)


@dataclass(frozen=True)
class _Beyond:
    """What ties with the last item of a list: shapes (B,); no list ties where ``last`` is 0."""

    score: Tensor
    first: Tensor
    last: Tensor

    @classmethod
    def none(cls, size: int, device: torch.device) -> _Beyond:
        """Return that nothing ties."""
        score = torch.full((size,), torch.nan, device=device, dtype=torch.float64)
        first, last = torch.zeros((2, size), dtype=torch.int64, device=device)
        return cls(score, first, last)


def _tied_at_cut(values: Tensor, kept: int) -> Tensor:
    """Return which lists are cut between items of equal scores, shape (B,)."""
    if values.shape[1] <= kept:
        return torch.zeros(values.shape[0], dtype=torch.bool, device=values.device)
    return (values[:, kept] == values[:, kept - 1]) & (values[:, kept] > -_INFINITY)


def _choose_at_cut(
    scored: _Scored, values: Tensor, columns: Tensor, tied: Tensor, kept: int, order: Order
) -> tuple[Tensor, Tensor, _Beyond]:
    """Fill the end of lists with those of the equal items that come first, and count these."""
    rows = tied.nonzero()[:, 0]
    score = values[rows, kept - 1]
    above = (values[rows, :kept] > score[:, None]).sum(1)
    equal = scored.scores[rows] == score[:, None]
    by_id = None
    if scored.items is None and (order.id_rank is not None or order.ties == "item_desc"):
        by_id = torch.argsort(order.of(torch.arange(equal.shape[1], device=equal.device)))
        equal = equal[:, by_id]
    nth = equal.cumsum(1, dtype=torch.int32)
    row, column = (equal & (nth <= (kept - above)[:, None])).nonzero(as_tuple=True)
    place = above[row] + nth[row, column] - 1
    columns = columns.clone()
    columns[rows[row], place] = column if by_id is None else by_id[column]
    beyond = _Beyond.none(values.shape[0], values.device)
    beyond.score[rows] = score.to(torch.float64)
    beyond.first[rows] = above + 1
    beyond.last[rows] = above + nth[:, -1].to(torch.int64)
    return values, columns, beyond


def _in_order(
    values: Tensor, columns: Tensor, order: Order, scored: _Scored
) -> tuple[Tensor, Tensor]:
    """Return the top of lists with items of equal scores in order of id."""
    number = columns if scored.items is not None else order.of(columns)
    by_id = torch.argsort(number, dim=1)
    values, columns = values.gather(1, by_id), columns.gather(1, by_id)
    by_score = torch.argsort(values, dim=1, descending=True, stable=True)
    return values.gather(1, by_score), columns.gather(1, by_score)


def _columns_of(rows: Rows, items: Tensor) -> tuple[Tensor, Tensor]:
    """Return the column in which each item stands (0 where it stands in none), and if it does."""
    width = items.shape[1]
    held = torch.arange(items.shape[0], device=items.device)[:, None].expand_as(items)
    keys, order = torch.sort(key_of(held, items).ravel())
    at = find(keys, rows.key)
    known = at < keys.shape[0]
    return torch.where(known, torch.cat([order, order.new_zeros(1)])[at] % width, 0), known


def cells_of(rows: Rows, items: Tensor | None, width: int) -> tuple[Tensor, Tensor]:
    """Return row and column of each item; ``items`` has those of columns, None: the same."""
    if items is None:
        return rows.row, rows.item.clamp(0, width - 1)
    column, known = _columns_of(rows, items)
    keep = known.nonzero()[:, 0]
    return rows.row[keep], column[keep]


class _Listed:
    """Finds items in lists that were cut."""

    def __init__(
        self, items: Tensor, values: Tensor | None, beyond: _Beyond | None,
        scored: _Scored | None, order: Order, ties: bool,
    ) -> None:  # fmt: skip
        size, kept = items.shape
        self.items, self.values, self.beyond, self.scored = items, values, beyond, scored
        self.is_open = order.is_open and ties
        place = torch.arange(kept, device=items.device).expand(size, kept)
        self.place = place.ravel() + 1
        self.first = self.last = self.place
        self.n_tied = torch.zeros((), dtype=torch.int64, device=items.device)
        if self.is_open and values is not None and beyond is not None and kept:
            first, last = _tied_places(values)
            at_cut = (beyond.last > 0)[:, None] & (last == kept)
            last = torch.where(at_cut, beyond.last[:, None], last)
            self.first, self.last = first.ravel(), last.ravel()
            tied = (last > first) & (values > -_INFINITY)
            self.n_tied = tied.sum() + (beyond.last - kept).clamp(min=0).sum()
        row = torch.arange(size, device=items.device)[:, None].expand(size, kept)
        self.keys = key_of(row, items).ravel()

    def __call__(self, rows: Rows) -> Found:
        at = find(rows.key, self.keys)
        place, first, last = (_scattered(x, at, rows) for x in (self.place, self.first, self.last))
        if self.values is None:
            return Found(rows, place, first, last)
        values = self.values.ravel().to(torch.float64)
        score = _scattered(values, at, rows, missing=torch.nan)
        if self.is_open and self.scored is not None and self.beyond is not None:
            # Items that tie with the last of the list and are not in it.
            column, is_candidate = self.scored.columns(rows)
            value = self.scored.scores[rows.row, column].to(torch.float64)
            also = is_candidate & (place == 0) & (value == self.beyond.score[rows.row])
            first = torch.where(also, self.beyond.first[rows.row], first)
            last = torch.where(also, self.beyond.last[rows.row], last)
            place = torch.where(also, self.items.shape[1] + 1, place)
            score = torch.where(also, value, score)
        return Found(rows, place, first, last, score)


def _scattered(values: Tensor, at: Tensor, rows: Rows, missing: float = 0) -> Tensor:
    """Write one value per place of the lists to the row that it matches; others are missing."""
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


class _Counted:
    """Finds the ranks of items among all candidates, by counting those above."""

    def __init__(self, scored: _Scored, order: Order, listed: Tensor) -> None:
        self.scored, self.order, self.kept = scored, order, listed.shape[1]
        self.ascending: Tensor | None = None

    def __call__(self, rows: Rows) -> Found:
        column, is_candidate = self.scored.columns(rows)
        scores = self.scored.scores
        score = scores[rows.row, column]
        score = torch.where(is_candidate, score, torch.full_like(score, torch.nan))
        above, equal = self._count(rows, score)
        if not self.order.is_open:
            above, equal = above + self._before(rows, column, score, equal), torch.ones_like(equal)
        zero = torch.zeros_like(above)
        first = torch.where(is_candidate, above + 1, zero)
        last = torch.where(is_candidate, above + equal, zero)
        return Found(rows, first, first, last, score.to(torch.float64))

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
        number = torch.arange(scores.shape[1], device=scores.device)
        if self.scored.items is None:
            number = self.order.of(number)
        for part in torch.split(tied, max(1, _CELLS // scores.shape[1])):
            same = scores[rows.row[part]] == score[part, None]
            before[part] = (same & (number < number[column[part], None])).sum(1)
        return before


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
            hint="find out why the model gives no number; minus infinity marks what is no "
            "candidate",
        )

    refuse(bad, error)


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
