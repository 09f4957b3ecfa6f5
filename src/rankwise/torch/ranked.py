"""Ranked lists, as values between the stages: made of scores or of ready lists, cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from rankwise.core.arrays import sum_whole
from rankwise.core.choices import Ties
from rankwise.torch.user_items import Rows

__all__ = ["ItemRanks", "Ranked", "TieOrder"]

_TIED_RANKS = 1 << 22  # of a part: measures hold some ten numbers for each


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
        """Return some of the rows; ``number`` is the new position of every user."""
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
        Other sets of items: the ``"history"``, the lists of a ``"baseline"``.
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
        """Return the lists of some users, by ascending position."""
        number = self.user.new_full((self.user.shape[0],), -1)
        number[rows] = torch.arange(rows.shape[0], device=rows.device)

        def chosen(found: ItemRanks) -> ItemRanks:
            return found.chosen((number[found.rows.row] >= 0).nonzero()[:, 0], number, len(rows))

        names = (
            "user",
            "items",
            "length",
            "scores",
            "n_candidates",
            "n_tied",
            "cut_in_tie",
            "n_unranked",
            "n_taken_out",
        )
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        columns = {name: None if x is None else x[rows] for name, x in columns.items()}
        return replace(
            self,
            **columns,
            judged=chosen(self.judged),
            item_sets={name: chosen(found) for name, found in self.item_sets.items()},
        )


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
