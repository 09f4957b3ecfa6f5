"""Rows held out at random or as each user's last: a share, or a number of every user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice, check_count
from rankwise.errors import InputError, ParameterError
from rankwise.splits.sizes import check_seed, check_share, rounded
from rankwise.splits.splitter import Cut, SingleSplitter

if TYPE_CHECKING:
    from rankwise.core.segments import Ints
    from rankwise.splits.rows import Grouped, Mask, Rows

__all__ = ["Holdout", "LeaveOut", "Short", "Which"]

Which: TypeAlias = Literal["random", "last"]
Short: TypeAlias = Literal["train", "some", "test", "drop", "error"]


@dataclass(frozen=True, repr=False)
class Holdout(SingleSplitter):
    """Hold out a share: of all rows at random, or of each user's rows, random or last.

    A share r of n rows is the whole number nearest to r·n, and of two equally near the larger. A
    user keeps at least one row in training; who has too few rows to give one has no test rows, and
    is counted. At random is decided by a hash of seed, user, item and time, so the order of the
    table does not matter; last is by time, equal times in order of a hash of user, item and time.

    Parameters
    ----------
    share : float
        The share for testing, in (0, 1).
    per : {"rows", "user"}
        Of all rows together, or of the rows of every user.
    which : {"random", "last"}
        Which rows; for all rows together, last is `GlobalTime`.
    seed : int
        Decides what is random.

    Notes
    -----
    Last rows per user leak: the training rows of others lie after the test rows of some, and the
    model learns what is popular later. The card says how much (``leak_index``).

    Examples
    --------
    >>> table = {1: ["a", "b", "c", "d"], 2: ["a", "b"]}
    >>> Holdout(0.5, per="user").split(table).test["user"].to_list()
    [1, 1, 2]
    """

    share: float = 0.2
    per: Literal["rows", "user"] = "rows"
    which: Which = "random"
    seed: int = 0

    def _check(self) -> None:
        check_share("share", self.share)
        check_choice("per", self.per, Literal["rows", "user"])
        check_choice("which", self.which, Which)
        check_seed(self.seed)
        if self.per == "rows" and self.which == "last":
            raise ParameterError(
                "the last rows of all together are a split in time",
                hint=f"use GlobalTime(share={self.share})",
            )

    def _cut(self, rows: Rows) -> Cut:
        if self.per == "rows":
            return Cut.of_test(_smallest(rows, rounded(self.share, len(rows)), self.seed))
        own = grouped(rows, self.which, self.seed)
        asked = np.minimum(rounded(self.share, own.lengths), own.lengths - 1)
        asked = np.maximum(asked, 0)
        without = int(((asked == 0) & (own.lengths > 0)).sum())
        return Cut.of_test(own.tail(asked), {"users_without_test_rows": without})


@dataclass(frozen=True, repr=False)
class LeaveOut(SingleSplitter):
    """Leave out n rows of every user: leave-one-out, leave-last-n, n at random.

    Parameters
    ----------
    n : int
        Rows of every user for testing.
    which : {"last", "random"}
        Which rows. Last is by time, equal times in order of a hash of user, item and time; at
        random is decided by a hash of seed, user, item and time.
    short : {"train", "some", "test", "drop", "error"}
        What happens to a user with n rows or fewer. They stay in training; or all but one are
        tested; or all are tested (LensKit, RecTools, RePlay); or they are left out of both sides
        (WarpRec); or they are an error (DataRec). Such users are counted.
    seed : int
        Decides what is random.

    Notes
    -----
    A user's last row leaks as `Holdout` says, and lies for some users years before that of others.

    Examples
    --------
    >>> table = {1: ["a", "b", "c"], 2: ["a"]}
    >>> split = LeaveOut(1, which="random").split(table)
    >>> split.test["user"].to_list(), split.found
    ([1], {'users_too_short': 1})
    """

    n: int = 1
    which: Which = "last"
    short: Short = "train"
    seed: int = 0

    def _check(self) -> None:
        check_count(n=self.n)
        check_choice("which", self.which, Which)
        check_choice("short", self.short, Short)
        check_seed(self.seed)

    def _cut(self, rows: Rows) -> Cut:
        own = grouped(rows, self.which, self.seed)
        short = (own.lengths <= self.n) & (own.lengths > 0)
        found = {"users_too_short": int(short.sum())}
        if self.short == "error" and short.any():
            user = rows.user.words.decode(np.flatnonzero(short)[:1])[0]
            raise InputError(
                f"a user has too few rows to leave {self.n} out and keep one",
                where=f"user {user!r}",
                found=f"{own.lengths[short][0]} rows ({short.sum()} such users)",
                hint='say what happens to such users: short="train" keeps their rows in training',
            )
        asked = np.where(short, self._of_short(own.lengths), self.n)
        asked[own.lengths == 0] = 0
        test = own.tail(asked)
        if self.short != "drop":
            return Cut.of_test(test, found)
        return Cut({"train": ~test & ~short[rows.user.of_row], "test": test}, found)

    def _of_short(self, lengths: Ints) -> Ints:
        if self.short == "test":
            return lengths
        return lengths - 1 if self.short == "some" else np.zeros_like(lengths)


def grouped(rows: Rows, which: Which, seed: int) -> Grouped:
    """Return every user's rows, those to be tested first at the end."""
    return rows.in_time() if which == "last" else rows.at_random(seed)


def _smallest(rows: Rows, count: int, seed: int) -> Mask:
    """Return the rows with the smallest hashes."""
    key = rows.key(seed)
    if not 0 < count < len(key):
        return np.full(len(key), count > 0)
    limit = np.partition(key, count - 1)[count - 1]
    mask: Mask = key < limit
    at_limit = np.flatnonzero(key == limit)
    mask[rows.settled(at_limit, key)[: count - int(mask.sum())]] = True
    return mask
