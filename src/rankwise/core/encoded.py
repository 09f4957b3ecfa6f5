"""Recommendation lists and ground truth in codes: what blocks are cut from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from rankwise.core.choices import Ties
from rankwise.core.facts import Categories, Facts
from rankwise.core.lists import Lists
from rankwise.core.ragged import Ints, UserItems
from rankwise.core.row_sets import WHOLE_LISTS, Needs
from rankwise.core.truth import Truth
from rankwise.core.vocabulary import HashCollision, Vocabulary

__all__ = ["Confirm", "Encoded"]

_CELLS = 1 << 24  # users times categories of a block: measures hold a few such matrices
_ROWS = 1 << 23  # rows of a block: large enough to keep Python idle, small beside the input


@dataclass(frozen=True, kw_only=True)
class Confirm:
    """Item ids beside their hashes, to confirm what equal hashes suggest.

    Raises `HashCollision` where two ids have one hash.
    """

    recommended: pl.Series
    truth: pl.Series
    origin: Ints | None
    truth_origin: Ints | None

    def matches(self, rows: Ints, judged: Ints) -> None:
        """Confirm that rows of the lists and of the ground truth name the same items."""
        left = _gather(self.recommended, self.origin, rows)
        right = _gather(self.truth, self.truth_origin, judged)
        if (left != right).any():
            raise HashCollision

    def repeated(self, row: int, rows: Ints) -> None:
        """Confirm that the item of a row occurs twice among some rows."""
        ids = _gather(self.recommended, self.origin, rows)
        if (ids == _gather(self.recommended, self.origin, np.array([row]))[0]).sum() < 2:
            raise HashCollision


def _gather(ids: pl.Series, origin: Ints | None, rows: Ints) -> pl.Series:
    return ids.gather(rows if origin is None else origin[rows])


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Everything that blocks are cut from: lists, ground truth, facts, and who is evaluated.

    Codes are private to the process; ``users`` and ``items`` turn them back into ids.

    Attributes
    ----------
    counted : array of bool
        Whether each user code is evaluated.
    unlisted : array of int
        Codes of evaluated users without a list.
    numbers_items : bool
        Whether item codes are numbers from 0 that something is counted by; else items are only
        compared.
    confirm : Confirm or None
        Compares the ids themselves, where codes are hashes.
    facts, history, baseline
        What is known beyond lists and ground truth, by code.
    seen_items : tuple of arrays of int
        Codes of the items that occur in some table: the catalogue where none is given.
    counts : Counter
        What was counted in this piece.
    reference_counts : dict of str to int
        What was counted in the tables that all pieces share.
    """

    lists: Lists
    truth: Truth
    counted: np.ndarray[tuple[int], np.dtype[np.bool_]]
    unlisted: Ints
    ties: Ties
    needs: Needs
    users: Vocabulary
    items: Vocabulary
    numbers_items: bool = False
    confirm: Confirm | None = None
    facts: Facts = field(default_factory=dict)
    history: UserItems | None = None
    baseline: UserItems | None = None
    seen_items: tuple[Ints, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    reference_counts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def n_items(self) -> int | None:
        """The number of item codes; None where items are only compared."""
        return self.items.size if self.numbers_items else None

    @cached_property
    def most_users(self) -> int:
        """The largest number of users in a block, whatever the length of their lists."""
        sizes = [len(f.names) for f in self.facts.values() if isinstance(f, Categories)]
        return max(1, _CELLS // max(sizes)) if sizes else 1 << 62

    @property
    def most_rows(self) -> int:
        """The largest number of rows in a block: fewer if it holds all of them, not only hits."""
        return _ROWS // 2 if WHOLE_LISTS & self.needs else _ROWS

    def is_counted(self, codes: Ints) -> Ints:
        """Return whether each of these users is evaluated."""
        return self.counted.take(codes, mode="clip") & (codes < len(self.counted))
