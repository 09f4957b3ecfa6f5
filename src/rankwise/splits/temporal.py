"""Splits at one date for all users: rows before it are training, rows after it are test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.matrix import rows_of_array
from rankwise.splits.rows import Mask, Rows
from rankwise.splits.sizes import check_share, rounded
from rankwise.splits.splitter import FoldSplitter, Masks, SingleSplitter
from rankwise.splits.times import Duration, Length, Moment

__all__ = ["GlobalTime", "SuccessiveTargets", "Target", "best_moment", "time_based_split"]

Target: TypeAlias = Literal["all", "first", "last", "random"]


@dataclass(frozen=True, repr=False)
class GlobalTime(SingleSplitter):
    """Split at one point in time T for all users: rows before T are training, from T on test.

    All rows at T itself are test rows, so that rows of equal time are never separated, and no
    training row is later than a test row. Give exactly one of ``share``, ``at`` and ``last``.

    Parameters
    ----------
    share : float, optional
        The share of test rows, in (0, 1): T is the time of the first of the last r·n rows in order
        of time, rounded half up. If T has several rows, test holds more than the share.
    at : str, number, date, datetime or "best", optional
        T itself; text is ISO 8601, in UTC unless it names a time zone. ``"best"`` is the time with
        the most users on both sides, and the latest such time (Anelli et al. 2019).
    last : str, number or timedelta, optional
        The length of the test period: ``"14d"``, ``"12h"``, ``"1mo"``, or a number in the unit of
        the timestamps. The last row is within the period: T = last row + one tick − length.
    gap : str, number or timedelta, optional
        Rows within this time before T are in neither part, like those that a model lacks if it is
        trained some days before it is used.
    until : str, number, date or datetime, optional
        Rows from this time on are in neither part, and do not count for ``share``, ``last`` and
        ``at="best"``.
    target : {"all", "first", "last", "random"}, default="all"
        The rows of each user after T that are to be predicted. Rows between T and the target are
        part ``history``, known at prediction time but not used for training; rows after it are in
        no part. `SuccessiveTargets` predicts each row in turn.
    seed : int, default=0
        Random seed of ``target="random"``.

    Notes
    -----
    With ``validation=`` these are the schemes of Gusak et al. (2025): another `GlobalTime` for a
    second date within training, ``LeaveOut(1)`` for the last training item, `UserHoldout` for
    held-out users.

    See Also
    --------
    TimeWindows : Several successive test periods.
    time_based_split : The same in one line, for tables and arrays.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "timestamp": [1, 3, 2, 4]}
    >>> table = pl.DataFrame(rows)
    >>> split = GlobalTime(share=0.5).split(table)
    >>> split.train["timestamp"].to_list(), split.test["timestamp"].to_list()
    ([1, 2], [3, 4])
    >>> GlobalTime(at="best").split(table).found["moment"]
    3
    """

    share: float | None = None
    at: Moment | None = None
    last: Length | None = None
    gap: Length | None = None
    until: Moment | None = None
    target: Target = "all"
    seed: int = 0

    @property
    def has_two_parts(self) -> bool:
        """Whether no row lies between training and a single target."""
        return self.target == "all"

    def _check(self) -> None:
        if sum(value is not None for value in (self.share, self.at, self.last)) != 1:
            raise ParameterError(
                "give exactly one of share=, at= and last=",
                found=f"share={self.share!r}, at={self.at!r}, last={self.last!r}",
            )
        if self.share is not None:
            check_share("share", self.share)
        if self.last is not None and not Duration.read("last", self.last):
            raise ParameterError("last must be longer than 0", found=f"last={self.last!r}")
        if self.gap is not None:
            Duration.read("gap", self.gap)

    def _cut(self, rows: Rows) -> Masks:
        time = rows.time
        if not len(rows):
            raise EmptyError("there are no rows to split", where=rows.table.source)
        moment = end_of_train = self._moment(self._in_period(rows))
        notes: dict[str, Any] = {"moment": time.show(moment)}
        if self.gap is not None:
            end_of_train = time.earlier(moment, Duration.read("gap", self.gap))
        train, test = time.values < end_of_train, time.values >= moment
        if self.gap is not None:
            notes["training_ends"] = time.show(end_of_train)
            notes["rows_in_gap"] = int((~train & ~test).sum())
        if self.until is not None:
            late = time.values >= time.moment("until", self.until)
            notes["rows_after_until"] = int(late.sum())
            train, test = train & ~late, test & ~late
        masks = Masks({"train": train, "test": test}, notes)
        return masks if self.target == "all" else _targets(rows, masks, self.target, self.seed)

    def _in_period(self, rows: Rows) -> Rows:
        """Return the rows among which the moment is sought: those before ``until``."""
        if self.until is None:
            return rows
        kept = rows.time.values < rows.time.moment("until", self.until)
        if not kept.any():
            raise EmptyError(
                "there are no rows before until",
                where=rows.table.source,
                found=f"until={rows.time.show(rows.time.moment('until', self.until))}, "
                f"the first row at {rows.time.show(rows.time.values.min())}",
            )
        return rows.select(kept)

    def _moment(self, rows: Rows) -> Any:
        time = rows.time
        if self.share is not None:
            first = len(rows) - max(1, rounded(self.share, len(rows)))
            return np.partition(time.values, first)[first]
        if self.last is not None:
            return time.earlier(time.after(time.values.max()), Duration.read("last", self.last))
        best = isinstance(self.at, str) and self.at == "best"
        return best_moment(rows) if best else time.moment("at", self.at)


@dataclass(frozen=True, repr=False)
class SuccessiveTargets(FoldSplitter):
    """Split at one point in time, and predict each user's later rows in turn.

    Fold j tests the j-th row after this time of every user who has one. The user's earlier rows are
    training rows, or part ``history`` if they are after this time.

    Parameters
    ----------
    share, at, last, gap, until
        As for `GlobalTime`.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "timestamp": [1, 3, 4, 3]}
    >>> table = pl.DataFrame(rows)
    >>> for split in SuccessiveTargets(at=3).split(table):
    ...     print(split.history["timestamp"].to_list(), split.test["timestamp"].to_list())
    [] [3, 3]
    [3] [4]
    """

    share: float | None = None
    at: Moment | None = None
    last: Length | None = None
    gap: Length | None = None
    until: Moment | None = None

    def _check(self) -> None:
        self._whole()

    def _whole(self) -> GlobalTime:
        return GlobalTime(self.share, self.at, self.last, self.gap, self.until)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        whole = self._whole()._cut(rows)
        if not whole.parts["test"].any():
            raise EmptyError("the test side of the split is empty", where=f"{whole.notes}")
        position = _positions(rows, whole.parts["test"])

        def cut(fold: int) -> Masks:
            test = position == fold
            users = np.zeros(rows.user.size, dtype=bool)
            users[rows.user.of_row[test]] = True
            history = (position >= 0) & (position < fold) & users[rows.user.of_row]
            parts = {"train": whole.parts["train"], "history": history, "test": test}
            return Masks(parts, dict(whole.notes))

        return int(position.max()) + 1, cut


def best_moment(rows: Rows) -> Any:
    """Return the latest moment with the most users who have rows before it and from it on."""
    # Users with both at t: those whose first row is before t minus those whose last row is.
    time, codes = rows.time.values, rows.user.of_row
    least, most = time.min(), time.max()
    first, last = np.full(rows.user.size, most), np.full(rows.user.size, least)
    np.minimum.at(first, codes, time)
    np.maximum.at(last, codes, time)
    both = (rows.user.count() > 0) & (first < last)
    if not both.any():
        raise EmptyError(
            "no user has rows at two different times, so no moment has a user on both sides", where=rows.table.source
        )
    first, last = np.sort(first[both]), np.sort(last[both])
    users = np.searchsorted(first, last, side="left") - np.searchsorted(last, last, side="left")
    return last[np.flatnonzero(users == users.max())[-1]]


def _positions(rows: Rows, mask: Mask) -> Any:
    """Return each row's position in time among its user's rows of a mask; -1 outside the mask."""
    position = np.full(len(rows), -1)
    position[mask] = rows.select(mask).in_time().positions()
    return position


def _targets(rows: Rows, masks: Masks, target: Target, seed: int) -> Masks:
    """Return the masks with one test row per user, and the rows before it as history."""
    after = masks.parts["test"]
    if not after.any():
        return masks
    position = _positions(rows, after)
    codes = rows.user.of_row
    count = rows.user.count(after)
    if target == "random":
        first = rows.select(after).at_random(seed).positions() == 0
        chosen = np.zeros(rows.user.size, dtype=np.int64)
        chosen[codes[after][first]] = position[after][first]
    else:
        chosen = np.maximum(count - 1, 0) if target == "last" else np.zeros_like(count)
    test = after & (position == chosen[codes])
    history = after & (position < chosen[codes])
    dropped = int(after.sum() - test.sum() - history.sum())
    notes = {**masks.notes, "rows_after_target": dropped}
    return Masks({"train": masks.parts["train"], "history": history, "test": test}, notes)


def time_based_split(
    interactions: Any, timestamp_col: str | int = "timestamp", test_ratio: float = 0.2
) -> tuple[Any, Any]:
    """Split at one point in time for all users: `GlobalTime` in one line.

    Parameters
    ----------
    interactions : table or array
        One row per interaction. The columns of a NumPy array need no names.
    timestamp_col : str or int, default="timestamp"
        A column of numbers or dates, without nulls: its name, or in an array its position, which
        may be negative.
    test_ratio : float, default=0.2
        The share of test rows, in (0, 1).

    Returns
    -------
    train, test : table or array
        Rows in their original order, of the same type as ``interactions``.

    Raises
    ------
    ColumnError
        If the column is missing, or does not hold times.
    EmptyError
        If a part would be empty.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": [30, 10, 20]})
    >>> train, test = time_based_split(table, test_ratio=0.4)
    >>> train["timestamp"].to_list(), test["timestamp"].to_list()
    ([10, 20], [30])
    >>> train, test = time_based_split(table.to_numpy(), timestamp_col=2, test_ratio=0.4)
    >>> train.tolist(), test.tolist()
    ([[1, 2, 10], [2, 1, 20]], [[1, 1, 30]])
    """
    check_share("test_ratio", test_ratio)
    rule = GlobalTime(share=test_ratio)
    if isinstance(interactions, np.ndarray):
        rows, name = rows_of_array(interactions, timestamp_col)
        masks = rule.split(rows, columns={"timestamp": name}).masks
        return interactions[masks["train"]], interactions[masks["test"]]
    if not isinstance(timestamp_col, str):
        raise ParameterError(
            "timestamp_col is the name of a column, except in a NumPy array",
            found=f"timestamp_col={timestamp_col!r}",
            hint='name the column: timestamp_col="timestamp"; a table without names of columns can '
            "go in as an array: table.to_numpy()",
        )
    split = rule.split(interactions, columns={"timestamp": timestamp_col})
    return split.train, split.test
