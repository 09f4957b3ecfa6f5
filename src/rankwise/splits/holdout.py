"""Hold out random rows, or each user's last ones: a share, or a number of rows per user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_count
from rankwise.errors import InputError, ParameterError
from rankwise.splits.rows import Grouped, Mask, Rows
from rankwise.splits.sizes import check_share, rounded
from rankwise.splits.splitter import Masks, SingleSplitter

__all__ = ["Holdout", "LeaveOut", "Short", "Which"]

Which: TypeAlias = Literal["random", "last"]
Short: TypeAlias = Literal["train", "some", "test", "drop", "error"]


@dataclass(frozen=True, repr=False)
class Holdout(SingleSplitter):
    """Hold out a share of all rows at random, or of each user's rows, at random or the last ones.

    A share r of n rows is r·n rows, rounded half up. With ``per="user"`` every user keeps at least
    one training row; users with too few rows for that have no test rows, and are counted. With
    ``per="rows"`` a user may lose all training rows, and is then a cold-start user. Random choices
    follow from a hash of seed, user, item and time, so that the order of the table has no
    influence; each of several equal rows is drawn for itself. The last rows are last by time; rows
    of equal time are ordered by a hash of user, item and time.

    Parameters
    ----------
    share : float, default=0.2
        The share of test rows, in (0, 1).
    per : {"rows", "user"}, default="rows"
        Take the share of all rows together, or of the rows of each user.
    which : {"random", "last"}, default="random"
        The rows to test. To test the last of all rows together, use `GlobalTime`.
    seed : int, default=0
        Random seed.

    Notes
    -----
    Testing the last rows of each user leaks: some users' training rows are later than other users'
    test rows, so the model learns which items become popular later. The card of the split
    quantifies this (``leak_index``).

    See Also
    --------
    LeaveOut : Test a fixed number of rows per user.
    GlobalTime : Split at one date, without leakage.

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
        if self.per == "rows" and self.which == "last":
            raise ParameterError(
                "the last rows of all together are a split in time", hint=f"use GlobalTime(share={self.share})"
            )

    def _cut(self, rows: Rows) -> Masks:
        if self.per == "rows":
            return Masks.of_test(_smallest(rows, rounded(self.share, len(rows)), self.seed))
        by_user = grouped(rows, self.which, self.seed)
        n_test = np.minimum(rounded(self.share, by_user.lengths), by_user.lengths - 1)
        n_test = np.maximum(n_test, 0)
        without = int(((n_test == 0) & (by_user.lengths > 0)).sum())
        return Masks.of_test(by_user.tail(n_test), {"users_without_test_rows": without})


@dataclass(frozen=True, repr=False)
class LeaveOut(SingleSplitter):
    """Leave out n rows per user: leave-one-out, the last n rows, or n random rows.

    Parameters
    ----------
    n : int, default=1
        The number of test rows per user.
    which : {"last", "random"}, default="last"
        The rows to test. The last are last by time, and rows of equal time are ordered by a hash of
        user, item and time; random choices follow from a hash of seed, user, item and time, and each of
        several equal rows is drawn for itself.
    short : {"train", "some", "test", "drop", "error"}, default="train"
        What to do with users who have n rows or fewer. ``"train"``: keep their rows in training;
        ``"some"``: test all except one; ``"test"``: test all (LensKit, RecTools, RePlay);
        ``"drop"``: drop them (WarpRec); ``"error"``: raise (DataRec). These users are counted.
    seed : int, default=0
        Random seed.

    Notes
    -----
    Testing each user's last rows leaks, see `Holdout`. The test rows of some users may be years
    older than those of others.

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

    def _cut(self, rows: Rows) -> Masks:
        by_user = grouped(rows, self.which, self.seed)
        short = (by_user.lengths <= self.n) & (by_user.lengths > 0)
        notes = {"users_too_short": int(short.sum())}
        if self.short == "error" and short.any():
            user = rows.user.vocabulary.decode(np.flatnonzero(short)[:1])[0]
            raise InputError(
                f"a user has too few rows to leave {self.n} out and keep one",
                where=f"user {user!r}",
                found=f"{by_user.lengths[short][0]} rows ({short.sum()} such users)",
                hint='choose what happens to them: short="train" keeps their rows in training',
            )
        of_short = {"test": by_user.lengths, "some": by_user.lengths - 1}
        n_test = np.where(short, of_short.get(self.short, 0), self.n)
        n_test[by_user.lengths == 0] = 0
        test = by_user.tail(n_test)
        if self.short != "drop":
            return Masks.of_test(test, notes)
        return Masks({"train": ~test & ~short[rows.user.of_row], "test": test}, notes)


def grouped(rows: Rows, which: Which, seed: int) -> Grouped:
    """Return every user's rows, those to be tested first at the end."""
    return rows.in_time() if which == "last" else rows.at_random(seed)


def _smallest(rows: Rows, count: int, seed: int) -> Mask:
    """Return the mask of the rows with the smallest hashes."""
    key = rows.draw(seed)
    if not 0 < count < len(key):
        return np.full(len(key), count > 0)
    limit = np.partition(key, count - 1)[count - 1]
    mask: Mask = key < limit
    at_limit = np.flatnonzero(key == limit)
    mask[at_limit[: count - int(mask.sum())]] = True
    return mask
