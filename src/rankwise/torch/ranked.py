"""Scores or ready lists to `Ranked`: the exact top k, and the ranks of judged items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from rankwise.core.arrays import check_none, sum_whole
from rankwise.errors import RankwiseError, ScoreError
from rankwise.options import Ties
from rankwise.torch.user_items import PAD, Rows, find, list_keys, place_of

_FACTORS = (-7046029254386353131, -4417276706812531889, 1609587929392839161)  # of hashes
_TIED_RANKS = 1 << 22  # of a part: metrics hold some ten numbers for each


@dataclass(frozen=True)
class ItemRanks:
    """Items of users (judged ones, training histories, …) and where the lists have them.

    Attributes
    ----------
    rows : Rows
        The items.
    place : tensor of int, shape (n,)
        The place of each item in the list, from 1, ties in the order that breaks them; 0 where the
        list does not have it, and one more than its length where the item ties with its last.
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

    def chosen(self, keep: Tensor, number: Tensor, size: int) -> ItemRanks:
        """Return the kept rows; ``number`` is the new position of every user."""
        rows = self.rows.chosen(keep)
        rows = replace(rows, row=number[rows.row], size=size)
        score = None if self.score is None else self.score[keep]
        return ItemRanks(rows, self.place[keep], self.first[keep], self.last[keep], score)


@dataclass(frozen=True, kw_only=True)
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
    judged : ItemRanks
        The ground truth.
    scores : tensor of float, shape (B, K), or None
        The scores of ``items``.
    n_candidates : tensor of int, shape (B,), or None
        The number of candidates, where every one of them is ranked.
    item_sets : dict of str to ItemRanks
        Other sets of items: the ``"history"``, the ``"reference"`` lists.
    n_tied : tensor of int, shape (B,), or None
        How many items of each list tie; of a complete ranking, how many judged items. None: none.
    has_ties : bool
        Whether any of these does.
    limit : int or None
        The length at which lists were cut, if items that tie with the last are known too.
    is_full : bool
        Whether ``items`` has no padding.
    cut_in_tie : tensor of bool, shape (B,), or None
        Which lists were cut between items of equal scores; None: none.
    n_unranked : tensor of int, shape (B,), or None
        How many items of the ground truth are no candidates; None: none, or ready lists.
    n_taken_out : tensor of int, shape (B,), or None
        How many excluded items were taken out of each ready list; None: none.
    has_users : bool
        Whether it was said who the users are.
    has_candidates : bool
        Whether candidates were passed with the scores.
    """

    user: Tensor
    items: Tensor
    length: Tensor
    judged: ItemRanks
    scores: Tensor | None = None
    n_candidates: Tensor | None = None
    item_sets: dict[str, ItemRanks] = field(default_factory=dict)
    n_tied: Tensor | None = None
    has_ties: bool = False
    limit: int | None = None
    is_full: bool = False
    cut_in_tie: Tensor | None = None
    n_unranked: Tensor | None = None
    n_taken_out: Tensor | None = None
    has_users: bool = False
    has_candidates: bool = False

    @property
    def from_scores(self) -> bool:
        """Whether scores were ranked; else these are ready lists."""
        return self.scores is not None

    @cached_property
    def signature(self) -> Tensor:
        """A number for every list and its ground truth: equal for equal ones, shape (B,)."""
        place = torch.arange(1, self.items.shape[1] + 1, device=self.items.device)
        lists = _mixed(self.items * _FACTORS[0] + place)
        lists = torch.where(self.items == PAD, 0, lists).sum(1)
        judged = self.judged
        truth = _mixed(judged.rows.item * _FACTORS[1] + judged.rows.gain.view(torch.int64))
        truth = _mixed(truth + judged.first * _FACTORS[0] + judged.last)
        return lists.index_add(0, judged.rows.row, truth)

    def parts(self) -> Iterator[Ranked]:
        """Yield the lists of so many users at a time as have a bounded number of tied ranks.

        Where ties are open, a judged item takes a row for every rank that it may have: of a model
        that scores all items alike, a complete ranking takes one for every item.
        """
        if not self.has_ties or self.limit is not None:
            yield self
            return
        spread = self.judged.last - self.judged.first + 1
        ends = sum_whole(self.judged.rows.row, spread, self.length.shape[0]).cumsum(0)
        part = (ends - 1).clamp(min=0) // _TIED_RANKS
        numbers = torch.unique_consecutive(part).tolist()
        for number in numbers:
            yield self if len(numbers) == 1 else self.select((part == number).nonzero()[:, 0])

    def select(self, rows: Tensor) -> Ranked:
        """Return the lists of the given users, by ascending position."""
        number = self.user.new_full((self.user.shape[0],), -1)
        number[rows] = torch.arange(rows.shape[0], device=rows.device)

        def chosen(ranks: ItemRanks) -> ItemRanks:
            return ranks.chosen((number[ranks.rows.row] >= 0).nonzero()[:, 0], number, len(rows))

        columns: dict[str, Any] = {
            name: x[rows] for name, x in vars(self).items() if isinstance(x, Tensor)
        }
        columns.pop("signature", None)  # computed again where it is read
        item_sets = {name: chosen(ranks) for name, ranks in self.item_sets.items()}
        return replace(self, **columns, judged=chosen(self.judged), item_sets=item_sets)


def _mixed(number: Tensor) -> Tensor:
    number = (number ^ (number >> 29)) * _FACTORS[2]
    return number ^ (number >> 32)


@dataclass(frozen=True)
class TieOrder:
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

    @property
    def is_by_number(self) -> bool:
        """Whether equal items come in ascending order of their numbers."""
        return self.id_rank is None and self.ties != "item_desc"

    def of(self, items: Tensor) -> Tensor:
        """Return numbers that grow from the item that comes first among equals to the last."""
        number = items if self.id_rank is None else self.id_rank[items.clamp(min=0)]
        return -number if self.ties == "item_desc" else number


_INFINITY = float("inf")


@dataclass(frozen=True)
class Scored:
    """The scores of candidates; items outside the candidate set have -inf.

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

    def columns(self, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        """Return the column of each item, whether the item is a candidate, and its score."""
        if self.items is None:
            column, listed = rows.item, None
        else:
            column, listed = _columns_of(rows, self._order_of_keys, self.items.shape[1])
        score = self.scores[rows.row, column].to(torch.float64)
        is_candidate = score > -_INFINITY
        return column, is_candidate if listed is None else is_candidate & listed, score

    def has_candidates(self, rows: Rows) -> Tensor:
        """Whether each item is a candidate."""
        return self.columns(rows)[1]

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
        """Return the columns in tie order, shape (C,); None if already in tie order."""
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
    """Return the top of every list up to length ``kept``, ties in order; raise for NaN or inf."""
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
    return Top(
        items,
        values,
        has_ties,
        is_full,
        tied_at_cut if is_cut_in_tie else None,
        cut_first,
        cut_last,
        cut_score,
    )


def _choose_at_cut(
    scored: Scored, values: Tensor, columns: Tensor, rows: Tensor, kept: int, order: TieOrder
) -> tuple[Tensor, Tensor, Tensor]:
    """Fill the end of lists with the items tied at the cut that come first in tie order.

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


def _in_order(
    values: Tensor, columns: Tensor, scored: Scored, order: TieOrder
) -> tuple[Tensor, Tensor]:
    """Return the top of lists with items of equal scores in the order that breaks ties."""
    by_id = torch.argsort(scored.number_of(columns, order), dim=1)
    values, columns = values.gather(1, by_id), columns.gather(1, by_id)
    by_score = torch.argsort(values, dim=1, descending=True, stable=True)
    return values.gather(1, by_score), columns.gather(1, by_score)


def _order_of_keys(items: Tensor) -> tuple[Tensor, Tensor]:
    keys, order = torch.sort(list_keys(items).ravel())
    return keys, order


def _columns_of(
    rows: Rows, order_of_keys: tuple[Tensor, Tensor], width: int
) -> tuple[Tensor, Tensor]:
    """Return the column of each item (0 if absent), and whether the item is present."""
    keys, order = order_of_keys
    at = find(keys, rows.key)
    listed = at < keys.shape[0]
    return torch.where(listed, torch.cat([order, order.new_zeros(1)])[at] % width, 0), listed


def cells_of(rows: Rows, items: Tensor | None, width: int) -> tuple[Tensor, Tensor]:
    """Return row and column of each item; ``items`` maps columns to items, None if equal."""
    if items is None:
        return rows.row, rows.item.clamp(0, width - 1)
    column, listed = _columns_of(rows, _order_of_keys(items), items.shape[1])
    keep = listed.nonzero()[:, 0]
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
            hint="find out why the model gives no number; minus infinity excludes an item from the "
            "candidate set",
        )

    check_none(bad, error)


_FEW = 8  # judged items per user up to which counting is cheaper than sorting the user's scores
_CELLS = 1 << 24  # comparisons at a time where ties are put in order of item id


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
        self,
        items: Tensor,
        top: Top | None = None,
        scored: Scored | None = None,
        order: TieOrder | None = None,
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
            _, is_candidate, value = self.scored.columns(rows)
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
        column, is_candidate, score = self.scored.columns(rows)
        n_candidates = sum_whole(rows.row, is_candidate, rows.size)
        many = n_candidates[rows.row] > _FEW
        place, first, last = torch.zeros(
            (3, score.shape[0]), dtype=torch.int64, device=score.device
        )
        for here, ranks in (
            (is_candidate & ~many, self._by_counting),
            (is_candidate & many, self._by_sorting),
        ):
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
    """Write values by place in the lists to their matching rows; unmatched rows are missing."""
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


def rank_scores(
    user: Tensor,
    scored: Scored,
    judged: Rows,
    item_sets: dict[str, Rows],
    *,
    order: TieOrder,
    depth: int | None,
    top: int,
) -> Ranked:
    """Return candidates ranked by score.

    ``judged`` is the ground truth, and ``item_sets`` are other items to be found in the lists.
    Lists have the length ``depth``; None ranks all candidates, of which the best ``top`` are
    returned one by one.
    """
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
        n_unranked=sum_whole(judged.row, ~scored.has_candidates(judged), judged.size),
    )


def rank_lists(user: Tensor, items: Tensor, judged: Rows, item_sets: dict[str, Rows]) -> Ranked:
    """Read ready lists, shape (B, K), best first; items after padding, -1, move up."""
    is_pad = items == PAD
    if bool((is_pad[:, :-1] & ~is_pad[:, 1:]).any()):
        items = items.gather(1, torch.argsort(is_pad.to(torch.int8), dim=1, stable=True))
    length = (items != PAD).sum(1)
    listed = RanksInLists(items)
    is_full = bool((length == items.shape[1]).all()) if items.numel() else False
    ranks = {name: listed.find(rows) for name, rows in item_sets.items()}
    return Ranked(
        user=user,
        items=items,
        length=length,
        judged=listed.find(judged),
        item_sets=ranks,
        is_full=is_full,
    )
