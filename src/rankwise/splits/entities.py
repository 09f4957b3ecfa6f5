"""Users or items held out as a whole: strong generalisation, and cold starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankwise.arguments import check_count, check_flag
from rankwise.errors import InputError, ParameterError
from rankwise.splits.hashing import combined, hash_of_column
from rankwise.splits.holdout import Holdout
from rankwise.splits.rows import spread
from rankwise.splits.sizes import check_seed, check_share, rounded
from rankwise.splits.splitter import Cut, FoldSplitter, SingleSplitter, Splitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.segments import Ints
    from rankwise.splits.rows import Codes, Mask, Rows

__all__ = ["ItemHoldout", "UserHoldout", "UserKFold"]


def _half_of_each() -> Splitter:
    return Holdout(0.5, per="user")


@dataclass(frozen=True, repr=False)
class UserHoldout(SingleSplitter):
    """Hold out users: train on the others, know some rows of the held out, predict the rest.

    Parameters
    ----------
    share : float
        The share of users held out, in (0, 1); rounded to the nearest, halves up.
    fold_in : Splitter or None
        The rule that cuts the rows of held-out users into what is known of them when they are
        predicted (part ``history``) and what is predicted. None tests all their rows: users who
        start cold.
    strong : bool
        Keep what is known of held-out users out of training (strong generalisation); otherwise
        it is trained on (LensKit's user sampling).
    seed : int
        Decides which users.

    Examples
    --------
    >>> table = {user: ["a", "b", "c", "d"] for user in range(10)}
    >>> split = UserHoldout(0.2).split(table)
    >>> len(split.train), len(split.history), len(split.test)
    (32, 4, 4)
    """

    share: float = 0.2
    fold_in: Splitter | None = field(default_factory=_half_of_each)
    strong: bool = True
    seed: int = 0

    def _check(self) -> None:
        check_share("share", self.share)
        check_seed(self.seed)
        _check_fold_in(self.fold_in)
        check_flag(strong=self.strong)

    def _cut(self, rows: Rows) -> Cut:
        held = _share_of(rows.user, self.share, self.seed)
        return _hold_out(rows, held[rows.user.of_row], self.fold_in, self.strong)


@dataclass(frozen=True, repr=False)
class UserKFold(FoldSplitter):
    """Hold out every user once: k parts of the users in turn.

    Parameters
    ----------
    k : int
        The number of folds, from 2. Sizes differ by one user at most.
    fold_in, strong, seed
        As for `UserHoldout`.

    Examples
    --------
    >>> table = {user: ["a", "b"] for user in range(6)}
    >>> [len(split.test) for split in UserKFold(3).split(table)]
    [2, 2, 2]
    """

    k: int = 5
    fold_in: Splitter | None = field(default_factory=_half_of_each)
    strong: bool = True
    seed: int = 0

    def _check(self) -> None:
        check_count(least=2, k=self.k)
        check_seed(self.seed)
        _check_fold_in(self.fold_in)
        check_flag(strong=self.strong)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        order = _at_random(rows.user, self.seed)
        if len(order) < self.k:
            raise InputError(f"{self.k} folds need as many users", found=f"{len(order)} users")
        fold = np.zeros(rows.user.size, dtype=np.int64)
        fold[order] = np.arange(len(order)) % self.k

        def cut(at: int) -> Cut:
            return _hold_out(rows, (fold == at)[rows.user.of_row], self.fold_in, self.strong)

        return self.k, cut


@dataclass(frozen=True, repr=False)
class ItemHoldout(SingleSplitter):
    """Hold out items with all their rows: items that start cold.

    Parameters
    ----------
    share : float
        The share of items held out, in (0, 1); rounded to the nearest, halves up.
    seed : int
        Decides which items.

    Examples
    --------
    >>> table = {user: ["a", "b", "c", "d"] for user in range(3)}
    >>> split = ItemHoldout(0.25).split(table)
    >>> split.test["item"].n_unique(), len(split.train)
    (1, 9)
    """

    share: float = 0.2
    seed: int = 0

    def _check(self) -> None:
        check_share("share", self.share)
        check_seed(self.seed)

    def _cut(self, rows: Rows) -> Cut:
        held = _share_of(rows.item, self.share, self.seed)
        return Cut.of_test(held[rows.item.of_row], {"items_held_out": int(held.sum())})


def _check_fold_in(rule: object) -> None:
    if rule is not None and not isinstance(rule, SingleSplitter):
        raise ParameterError("fold_in is a rule that gives one split", found=repr(rule))
    if rule is not None and rule.has_extras:
        raise ParameterError(
            "fold_in only cuts rows in two",
            found=repr(rule),
            hint="give validation and filters to the outer rule",
        )


def _at_random(codes: Codes, seed: int) -> Ints:
    """Return the codes that have rows, in an order that ids and seed decide."""
    own = np.flatnonzero(codes.count())
    key = combined([hash_of_column(codes.words.decode(own))], seed)
    return own[np.argsort(key, kind="stable")]


def _share_of(codes: Codes, share: float, seed: int) -> Mask:
    """Return which codes are among a random share of those that have rows."""
    order = _at_random(codes, seed)
    held: Mask = np.zeros(codes.size, dtype=bool)
    held[order[: rounded(share, len(order))]] = True
    return held


def _hold_out(rows: Rows, held: Mask, fold_in: Splitter | None, strong: bool) -> Cut:
    found = {"users_held_out": len(np.unique(rows.user.of_row[held]))}
    if fold_in is None or not held.any():
        return Cut({"train": ~held, "test": held}, found)
    assert isinstance(fold_in, SingleSplitter)
    inner = fold_in._cut(rows.select(held))
    known, test = (spread(held, inner.masks[name]) for name in ("train", "test"))
    found |= {f"fold_in_{name}": value for name, value in inner.found.items()}
    if strong:
        return Cut({"train": ~held, "history": known, "test": test}, found)
    return Cut({"train": ~held | known, "test": test}, found)
