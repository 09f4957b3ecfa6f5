"""Hold out users or items with all their rows: strong generalisation and cold start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rankwise.errors import InputError, ParameterError
from rankwise.splits.holdout import Holdout
from rankwise.splits.rows import Codes, Mask, Rows
from rankwise.splits.sizes import check_folds, check_share, rounded
from rankwise.splits.splitter import FoldSplitter, Masks, SingleSplitter, Splitter

__all__ = ["ItemHoldout", "UserHoldout", "UserKFold"]


def _half_per_user() -> Splitter:
    return Holdout(0.5, per="user")


@dataclass(frozen=True, repr=False)
class UserHoldout(SingleSplitter):
    """Hold out users: train on the others; some rows of held-out users are known, the rest tested.

    Parameters
    ----------
    share : float, default=0.2
        The share of users that are held out, in (0, 1); their number is rounded half up.
    fold_in : Splitter or None, default=Holdout(0.5, per="user")
        The rule that splits the rows of held-out users into those known at prediction time (part
        ``history``) and the test rows. None tests all their rows: cold-start users.
    strong : bool, default=True
        Keep the known rows of held-out users out of training (strong generalisation); otherwise
        they are training rows (LensKit's user sampling).
    seed : int, default=0
        Random seed, which decides the held-out users.

    Examples
    --------
    >>> table = {user: ["a", "b", "c", "d"] for user in range(10)}
    >>> split = UserHoldout(0.2).split(table)
    >>> len(split.train), len(split.history), len(split.test)
    (32, 4, 4)
    """

    share: float = 0.2
    fold_in: Splitter | None = field(default_factory=_half_per_user)
    strong: bool = True
    seed: int = 0

    @property
    def has_two_parts(self) -> bool:
        """Whether there is no part for known rows."""
        return self.fold_in is None

    def _check(self) -> None:
        check_share("share", self.share)
        _check_fold_in(self.fold_in)

    def _cut(self, rows: Rows) -> Masks:
        held_out = _random_share(rows.user, self.share, self.seed)
        return _hold_out(rows, held_out[rows.user.of_row], self.fold_in, self.strong)


@dataclass(frozen=True, repr=False)
class UserKFold(FoldSplitter):
    """Hold out every user once, in k folds of users.

    Folds have equal numbers of users; those of scikit-learn's ``GroupKFold`` have about equal
    numbers of rows.

    Parameters
    ----------
    k : int, default=5
        The number of folds, at least 2. Their sizes differ by at most one user.
    fold_in, strong, seed
        As for `UserHoldout`.

    Examples
    --------
    >>> table = {user: ["a", "b"] for user in range(6)}
    >>> [len(split.test) for split in UserKFold(3).split(table)]
    [2, 2, 2]
    """

    k: int = 5
    fold_in: Splitter | None = field(default_factory=_half_per_user)
    strong: bool = True
    seed: int = 0

    def _check(self) -> None:
        check_folds(k=self.k)
        _check_fold_in(self.fold_in)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        order = rows.user.at_random(self.seed)
        if len(order) < self.k:
            raise InputError(f"{self.k} folds need as many users", found=f"{len(order)} users")
        fold_of_user = np.zeros(rows.user.size, dtype=np.int64)
        fold_of_user[order] = np.arange(len(order)) % self.k

        def cut(fold: int) -> Masks:
            held_out = (fold_of_user == fold)[rows.user.of_row]
            return _hold_out(rows, held_out, self.fold_in, self.strong)

        return self.k, cut


@dataclass(frozen=True, repr=False)
class ItemHoldout(SingleSplitter):
    """Hold out items with all their rows: cold-start items.

    Parameters
    ----------
    share : float, default=0.2
        The share of items that are held out, in (0, 1); their number is rounded half up.
    seed : int, default=0
        Random seed, which decides the held-out items.

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

    def _cut(self, rows: Rows) -> Masks:
        held_out = _random_share(rows.item, self.share, self.seed)
        return Masks.of_test(held_out[rows.item.of_row], {"items_held_out": int(held_out.sum())})


def _check_fold_in(rule: object) -> None:
    if rule is not None and not isinstance(rule, SingleSplitter):
        raise ParameterError("fold_in is a rule that gives one split", found=repr(rule))
    if rule is not None and (rule.has_extras or not rule.has_two_parts):
        raise ParameterError(
            "fold_in only cuts rows in two",
            found=repr(rule),
            hint="give validation and filters to the outer rule, and take a rule with two parts, "
            "such as Holdout or LeaveOut",
        )


def _random_share(codes: Codes, share: float, seed: int) -> Mask:
    """Return the mask of a random share of the codes that have rows."""
    order = codes.at_random(seed)
    chosen: Mask = np.zeros(codes.size, dtype=bool)
    chosen[order[: rounded(share, len(order))]] = True
    return chosen


def _hold_out(rows: Rows, held_out: Mask, fold_in: Splitter | None, strong: bool) -> Masks:
    """Return the masks of training, history and test for the held-out rows."""
    notes = {"users_held_out": len(np.unique(rows.user.of_row[held_out]))}
    if fold_in is None or not held_out.any():
        return Masks.of_test(held_out, notes)
    assert isinstance(fold_in, SingleSplitter)
    inner = fold_in._cut(rows.select(held_out)).spread(held_out)
    known, test = inner.parts["train"], inner.parts["test"]
    notes |= {f"fold_in_{name}": value for name, value in inner.notes.items()}
    if strong:
        return Masks({"train": ~held_out, "history": known, "test": test}, notes)
    return Masks({"train": ~held_out | known, "test": test}, notes)
