"""One moment for everybody: what came before is training, what came after is test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice
from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.sizes import check_seed, check_share, rounded
from rankwise.splits.splitter import Cut, FoldSplitter, SingleSplitter
from rankwise.splits.times import Duration, Length, Moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.splits.rows import Mask, Rows

__all__ = ["GlobalTime", "SuccessiveTargets", "Target", "best_moment", "time_based_split"]

Target: TypeAlias = Literal["all", "first", "last", "random"]


@dataclass(frozen=True, repr=False)
class GlobalTime(SingleSplitter):
    """Split at one moment T for all users: rows before T are training, rows from T on are test.

    Rows of the moment T itself are all test rows, so rows of equal time are never torn apart, and
    nothing in training is later than anything in test. T is said in exactly one way.

    Parameters
    ----------
    share : float, optional
        T is the time of the first of the last ``share`` of all rows in order of time, in (0, 1).
        Test holds more than the share where T has several rows.
    at : str, number, date, datetime or "best", optional
        T itself; text is ISO 8601, without a zone UTC. ``"best"`` is the latest moment with the
        most users on both sides (Anelli et al. 2019).
    last : str, number or timedelta, optional
        T lies so long before the last row: ``"14d"``, ``"12h"``, ``"1mo"``, or a number in the
        unit of the timestamps. The last row is within the span: T = last row + one tick − span.
    gap : str, number or timedelta, optional
        Rows this long before T are in neither part, as a model trained some days before it is
        used would not have them.
    until : str, number, date or datetime, optional
        Rows from here on are in neither part.
    target : {"all", "first", "last", "random"}
        Which of a user's rows after T are to be predicted. Those before a last or random one are
        part ``history``, known at prediction but not trained on; those after it are in no part.
        `SuccessiveTargets` takes each in turn.
    seed : int
        Decides random targets.

    Notes
    -----
    With ``validation=`` these are the rules of Gusak et al. (2025): another `GlobalTime` for a
    second moment inside training, ``LeaveOut(1)`` for the last training item, `UserHoldout` for
    held-out users.

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

    def _check(self) -> None:
        check_moment(self.share, self.at, self.last)
        if self.gap is not None:
            Duration.read("gap", self.gap)
        check_choice("target", self.target, Target)
        check_seed(self.seed)

    def _cut(self, rows: Rows) -> Cut:
        cut = cut_at_moment(rows, self.share, self.at, self.last, self.gap, self.until)
        return cut if self.target == "all" else _targets(rows, cut, self.target, self.seed)


@dataclass(frozen=True, repr=False)
class SuccessiveTargets(FoldSplitter):
    """Split at one moment, and predict each user's later rows in turn, each from all before it.

    Fold j tests the j-th row after the moment of every user who has so many; the rows before it
    are training, or part ``history`` where they lie after the moment.

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
        check_moment(self.share, self.at, self.last)
        if self.gap is not None:
            Duration.read("gap", self.gap)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        whole = cut_at_moment(rows, self.share, self.at, self.last, self.gap, self.until)
        if not whole.masks["test"].any():
            raise EmptyError("the test side of the split is empty", where=f"{whole.found}")
        place = _places(rows, whole.masks["test"])

        def cut(at: int) -> Cut:
            test = place == at
            users = np.zeros(rows.user.size, dtype=bool)
            users[rows.user.of_row[test]] = True
            history = (place >= 0) & (place < at) & users[rows.user.of_row]
            masks = {"train": whole.masks["train"], "history": history, "test": test}
            return Cut(masks, dict(whole.found))

        return int(place.max()) + 1, cut


def check_moment(share: object, at: object, last: object) -> None:
    """Raise unless the moment is said in exactly one way, and one that can be."""
    if sum(value is not None for value in (share, at, last)) != 1:
        raise ParameterError(
            "the moment is said in one way: share=, at= or last=",
            found=f"share={share!r}, at={at!r}, last={last!r}",
        )
    if share is not None:
        check_share("share", share)
    if last is not None and not Duration.read("last", last):
        raise ParameterError("last must be longer than nothing", found=f"last={last!r}")


def cut_at_moment(
    rows: Rows,
    share: float | None,
    at: Moment | None,
    last: Length | None,
    gap: Length | None = None,
    until: Moment | None = None,
) -> Cut:
    """Cut rows at one moment."""
    time = rows.time
    if not len(rows):
        raise EmptyError("there are no rows to split", where=rows.table.source)
    moment = _moment(rows, share, at, last)
    end_of_train = moment if gap is None else time.shift(moment, Duration.read("gap", gap), -1)
    train, test = time.values < end_of_train, time.values >= moment
    found: dict[str, Any] = {"moment": time.show(moment)}
    if gap is not None:
        found["training_ends"] = time.show(end_of_train)
        found["rows_in_gap"] = int((~train & ~test).sum())
    if until is not None:
        late = time.values >= time.moment("until", until)
        found["rows_after_until"] = int(late.sum())
        train, test = train & ~late, test & ~late
    return Cut({"train": train, "test": test}, found)


def _moment(rows: Rows, share: float | None, at: Moment | None, last: Length | None) -> Any:
    time = rows.time
    if share is not None:
        first = len(rows) - max(1, rounded(share, len(rows)))
        return np.partition(time.values, first)[first]
    if last is not None:
        return time.shift(time.after(time.values.max()), Duration.read("last", last), -1)
    if isinstance(at, str) and at == "best":
        return best_moment(rows)
    assert at is not None
    return time.moment("at", at)


def best_moment(rows: Rows) -> Any:
    """Return the latest moment with the most users who have rows before it and from it on.

    A user has both for every moment after the first row and up to the last one, so the number
    of such users at t is that of first rows before t less that of last rows before t.
    """
    time, codes = rows.time.values, rows.user.of_row
    least, most = time.min(), time.max()
    first, last = np.full(rows.user.size, most), np.full(rows.user.size, least)
    np.minimum.at(first, codes, time)
    np.maximum.at(last, codes, time)
    both = (rows.user.count() > 0) & (first < last)
    if not both.any():
        raise EmptyError(
            "no user has rows at two different times, so no moment has a user on both sides",
            where=rows.table.source,
        )
    first, last = np.sort(first[both]), np.sort(last[both])
    users = np.searchsorted(first, last, side="left") - np.searchsorted(last, last, side="left")
    return last[np.flatnonzero(users == users.max())[-1]]


def _places(rows: Rows, within: Mask) -> Any:
    """Return each row's place in time among its user's rows within a mask; -1 outside it."""
    place = np.full(len(rows), -1)
    place[within] = rows.select(within).in_time().places()
    return place


def _targets(rows: Rows, cut: Cut, target: Target, seed: int) -> Cut:
    """Keep one row after the moment of each user to be predicted."""
    after = cut.masks["test"]
    if not after.any():
        return cut
    place = _places(rows, after)
    codes = rows.user.of_row
    count = rows.user.count(after)
    if target == "random":
        own = rows.select(after)
        first = own.at_random(seed).places() == 0
        chosen = np.zeros(rows.user.size, dtype=np.int64)
        chosen[codes[after][first]] = place[after][first]
    else:
        chosen = np.maximum(count - 1, 0) if target == "last" else np.zeros_like(count)
    test = after & (place == chosen[codes])
    history = after & (place < chosen[codes])
    found = {**cut.found, "rows_after_target": int(after.sum() - test.sum() - history.sum())}
    return Cut({"train": cut.masks["train"], "history": history, "test": test}, found)


def time_based_split(
    interactions: Any, timestamp_col: str = "timestamp", test_ratio: float = 0.2
) -> tuple[Any, Any]:
    """Split at one moment for everybody: `GlobalTime` in one line.

    Parameters
    ----------
    interactions : table
        One row an interaction.
    timestamp_col : str
        A column of numbers or dates, without nulls.
    test_ratio : float
        The share of the rows for testing, in (0, 1).

    Returns
    -------
    train, test : table
        Rows in the order in which they came, in the table's own library.

    Raises
    ------
    ColumnError
        If the column is missing, or cannot be ordered in time.
    EmptyError
        If one side would be empty.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": [30, 10, 20]})
    >>> train, test = time_based_split(table, test_ratio=0.4)
    >>> train["timestamp"].to_list(), test["timestamp"].to_list()
    ([10, 20], [30])
    """
    check_share("test_ratio", test_ratio)
    if not isinstance(timestamp_col, str):
        raise ParameterError(
            "timestamp_col is the name of a column", found=f"timestamp_col={timestamp_col!r}"
        )
    split = GlobalTime(share=test_ratio).split(interactions, columns={"timestamp": timestamp_col})
    return split.train, split.test
