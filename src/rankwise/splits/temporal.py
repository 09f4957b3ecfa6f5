"""Splits in time: one date, sliding or expanding windows, and two stages (candidates, ranker)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arrays import checked_csr, is_masked
from rankwise.core.ragged import Ints
from rankwise.errors import ColumnError, EmptyError, InputError, ParameterError, nearest
from rankwise.messages import mention, parameter
from rankwise.splits.holdout import UserHoldout
from rankwise.splits.interactions import (
    Draws,
    Mask,
    Rows,
    Seed,
    Share,
    check_seed,
    check_share,
    read_rows,
    rounded,
    take_rows,
)
from rankwise.splits.splitter import FoldSplitter, Masks, SingleSplitter
from rankwise.tables.times import Align, Duration, Length, Moment, Period


def _rows_of_array(array: Any, timestamp_col: str | int) -> tuple[pl.DataFrame, str]:
    """Return the rows of an array as a table for splits in time, and the name of its timestamps.

    Users and items are all the same: what is split at one moment depends on time alone.

    >>> _rows_of_array(np.array([[7, 30], [8, 10]]), -1)[0]["-1"].to_list()
    [30, 10]
    """
    column = _column_of_array(array, timestamp_col)
    name = str(timestamp_col)
    if column.dtype.kind == "M" and column.dtype != "datetime64[ns]":
        column = column.astype("datetime64[us]")  # Polars knows no days and seconds
    try:
        times = pl.Series(name, column.tolist() if column.dtype == object else column)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ColumnError(
            "timestamps are numbers or dates",
            where=f"interactions, column {name!r}",
            found=str(column.dtype),
        ) from error
    for dtype in (pl.Int64, pl.Float64):  # one text in an array makes its numbers text
        if times.dtype == pl.String and not times.cast(dtype, strict=False).null_count():
            times = times.cast(dtype)
    same = np.zeros(len(column), dtype=np.int64)
    return pl.DataFrame({"user": same, "item": same}).with_columns(times), name


def _column_of_array(array: Any, at: Any) -> Any:
    """Return a column of a matrix by number, or of a structured array by name."""
    if is_masked(array):
        raise InputError("the array of interactions is masked, and its mask would be ignored")
    names = array.dtype.names
    if array.ndim != (2 if names is None else 1):
        raise InputError(
            "an array of interactions has one row per interaction, and its columns",
            found=f"shape {array.shape}",
        )
    if names is not None and at not in names:
        raise ColumnError(
            f"there is no column {at!r}",
            found=", ".join(map(repr, names)),
            hint=nearest(str(at), names),
        )
    if names is not None:
        return array[at]
    if isinstance(at, bool) or not isinstance(at, Integral):
        raise ParameterError(
            "the columns of an array have numbers",
            found=parameter("timestamp_col", at),
            hint=f"{parameter('timestamp_col', 2)} is the third column",
        )
    if not -array.shape[1] <= at < array.shape[1]:
        raise ColumnError(f"there is no column {at}", found=f"{array.shape[1]} columns")
    return np.asarray(array)[:, at]


def leave_one_out_cv(user_item_matrix: Any, *, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield leave-one-out splits of a matrix: one random item of one user at a time.

    Parameters
    ----------
    user_item_matrix : array or SciPy sparse matrix, shape (U, I)
        The entries of a sparse matrix are interactions, also those that are stored with the value
        0, as in every rule and table; of a dense array, the entries other than 0.
    seed : int, default=0
        Random seed; a user's item does not depend on the other users.

    Yields
    ------
    train : array or sparse matrix, shape (U, I)
        A copy of the matrix without this interaction, dense or CSR like the matrix.
    test : array or sparse matrix, shape (U, I)
        Only this interaction, with its value: ``(user,), (item,) = test.nonzero()``, unless the
        value is a stored 0, which ``test.tocoo().coords`` has. There is one pair for each user with
        at least two items, so that every user keeps training interactions.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, contains NaN, is masked or is corrupt.
    EmptyError
        If no user has two items.

    Notes
    -----
    Each copy costs the whole matrix; `LeaveOut` splits all users at once.

    Examples
    --------
    >>> matrix = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 5]])
    >>> for train, test in leave_one_out_cv(matrix):
    ...     (user,), (item,) = test.nonzero()
    ...     print(user, item, test[user, item], train.sum())
    0 1 1 8
    2 2 5 4
    """
    check_seed("seed", seed)
    sparse = hasattr(user_item_matrix, "tocsr")
    matrix = checked_csr(user_item_matrix, "the matrix") if sparse else _dense(user_item_matrix)
    if np.isnan(matrix.data if sparse else matrix).any():
        raise InputError("the matrix holds NaN", hint="write 0 where there is no interaction")
    counts = np.diff(matrix.indptr) if sparse else (matrix != 0).sum(axis=1)
    if not (counts > 1).any():
        raise EmptyError("no user has two items, so none can be left out", where="matrix")
    return _leave_out(matrix, np.flatnonzero(counts > 1), int(seed), sparse=sparse)


def _dense(matrix: Any) -> Any:
    if is_masked(matrix):
        raise InputError(
            "the matrix is masked, and its mask would be ignored", hint="pass matrix.filled(0)"
        )
    try:
        array = np.array(matrix)
    except ValueError as error:  # raised by NumPy for rows of different lengths
        raise InputError("the rows of the matrix have different lengths") from error
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise InputError(
            "leave-one-out needs a matrix of numbers, users by items",
            found=f"shape {array.shape}, {array.dtype}",
        )
    return array


def _leave_out(matrix: Any, users: Any, seed: int, *, sparse: bool) -> Iterator[tuple[Any, Any]]:
    for user in users.tolist():
        rng = np.random.default_rng([seed & (2**64 - 1), user])
        if sparse:
            first, last = matrix.indptr[user], matrix.indptr[user + 1]
            entry = first + int(rng.integers(last - first))
            place = ([user], matrix.indices[entry : entry + 1])
            test = type(matrix)((matrix.data[entry : entry + 1], place), shape=matrix.shape)
            ends = matrix.indptr - (np.arange(len(matrix.indptr)) > user)
            kept = (np.delete(matrix.data, entry), np.delete(matrix.indices, entry), ends)
            train = type(matrix)(kept, shape=matrix.shape)
        else:
            items = np.flatnonzero(matrix[user])
            item = int(items[rng.integers(len(items))])
            test = np.zeros_like(matrix)
            test[user, item] = matrix[user, item]
            train = matrix.copy()
            train[user, item] = 0
        yield train, test


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

    share: Share | None = None
    at: Moment | None = None
    last: Period | None = None
    gap: Length | None = None
    until: Moment | None = None
    target: Target = "all"
    seed: Seed = 0

    @property
    def has_two_parts(self) -> bool:
        """Whether no row lies between training and a single target."""
        return self.target == "all"

    def _check(self) -> None:
        if sum(value is not None for value in (self.share, self.at, self.last)) != 1:
            raise ParameterError(
                f"give exactly one of {parameter('share')}, {parameter('at')} and "
                f"{parameter('last')}",
                found=f"{parameter('share', self.share)}, {parameter('at', self.at)}, "
                f"{parameter('last', self.last)}",
            )

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
        """Return the rows before ``until``, among which the moment is sought."""
        if self.until is None:
            return rows
        time = rows.time
        until = time.moment("until", self.until)
        if not (time.values < until).any():
            raise EmptyError(
                "there are no rows before until",
                where=rows.table.source,
                found=f"{parameter('until', time.show(until))}, the first row at "
                f"{time.show(time.values.min())}",
            )
        return rows.select(time.values < until)

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
        self._single()

    def _single(self) -> GlobalTime:
        return GlobalTime(self.share, self.at, self.last, self.gap, self.until)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        single = self._single()._cut(rows)
        if not single.parts["test"].any():
            raise EmptyError("the test side of the split is empty", where=f"{single.notes}")
        position = _positions(rows, single.parts["test"])

        def cut(fold: int) -> Masks:
            test = position == fold
            users = np.zeros(rows.user.size, dtype=bool)
            users[rows.user.of_row[test]] = True
            history = (position >= 0) & (position < fold) & users[rows.user.of_row]
            return Masks(
                {"train": single.parts["train"], "history": history, "test": test},
                dict(single.notes),
            )

        return int(position.max()) + 1, cut


def best_moment(rows: Rows) -> Any:
    """Return the latest moment that splits the rows of the most users into before and after."""
    # Users with both at t: those whose first row is before t minus those whose last row is.
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


def _positions(rows: Rows, mask: Mask) -> Any:
    """Return each row's position in time among its user's rows of a mask; -1 outside the mask."""
    position = np.full(len(rows), -1)
    position[mask] = rows.select(mask).in_time().positions()
    return position


def _targets(rows: Rows, masks: Masks, target: Target, seed: int) -> Masks:
    """Return the masks with one test row per user, and the rows before the test row as history."""
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
    """Split the rows in order of time: the first are training, the last are test.

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
        The first ``int(n * (1 - test_ratio))`` of n rows by time, and the others; both in order of
        time, rows of equal time in their original order, of the same type as ``interactions``.

    Raises
    ------
    ColumnError
        If the column is missing, or does not hold times.
    EmptyError
        If a part would be empty.

    See Also
    --------
    GlobalTime : Split at one moment, so that rows of equal time are on one side.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": [30, 10, 20]})
    >>> train, test = time_based_split(table, test_ratio=0.3)
    >>> train["timestamp"].to_list(), test["timestamp"].to_list()
    ([10, 20], [30])
    >>> train, test = time_based_split(table.to_numpy(), timestamp_col=2, test_ratio=0.3)
    >>> train.tolist(), test.tolist()
    ([[1, 2, 10], [2, 1, 20]], [[1, 1, 30]])
    """
    check_share("test_ratio", test_ratio)
    if isinstance(interactions, np.ndarray):
        table, name = _rows_of_array(interactions, timestamp_col)
        train, test = _by_time(read_rows(table, {"timestamp": name}, None, None), test_ratio)
        return interactions[train], interactions[test]
    if not isinstance(timestamp_col, str):
        raise ParameterError(
            "timestamp_col is the name of a column, except in a NumPy array",
            found=parameter("timestamp_col", timestamp_col),
            hint=f"name the column: {parameter('timestamp_col', 'timestamp')}; a table without "
            "names of columns can "
            "go in as an array: table.to_numpy()",
        )
    rows = read_rows(interactions, {"timestamp": timestamp_col}, None, None)
    train, test = _by_time(rows, test_ratio)
    return take_rows(interactions, train, rows), take_rows(interactions, test, rows)


def _by_time(rows: Rows, test_ratio: float) -> tuple[Ints, Ints]:
    """Return the positions of training rows and of test rows, both in order of time."""
    if not len(rows):
        raise EmptyError("there are no rows to split", where=rows.table.source)

    order = np.argsort(rows.time.values, kind="stable")
    n_train = int(len(rows) * (1 - test_ratio))
    if not n_train:
        raise EmptyError(
            "the training part would be empty",
            where=rows.table.source,
            found=f"{len(rows)} rows, {parameter('test_ratio', test_ratio)}",
            hint=f"a smaller {mention('test_ratio')} leaves rows for training",
        )

    return order[:n_train], order[n_train:]


@dataclass(frozen=True, repr=False)
class TwoStage(SingleSplitter):
    """Split for a candidate model and a ranker: at two dates, and between these by users.

    ========================  ====================================================================
    part                      use
    ========================  ====================================================================
    ``candidate_train``       rows before the inner date: fit the candidate model, and generate
                              candidate sets for the users of the next two parts
    ``ranker_train``          rows between the dates: labels for fitting the ranker
    ``ranker_validation``     rows between the dates, of other users: labels for early stopping
    ``train``                 all rows before the outer date: refit the candidate model, and
                              exclude these items as seen
    ``test``                  rows from the outer date on: the final evaluation
    ========================  ====================================================================

    Scoring ``test`` with the model fitted on ``candidate_train``, or excluding only its items as
    seen, is the mistake that `rankwise.audit` reports as L19.

    Parameters
    ----------
    share, at, last
        The outer date, as for `GlobalTime`.
    inner_share, inner_at, inner_last
        The inner date, among the rows before the outer one; by default ``inner_share=0.3``.
    validation_share : float, default=0.2
        The share of the users between the dates whose rows are for validation, in (0, 1).
    warm_only : bool, default=True
        Leave users without rows in ``candidate_train`` out of the ranker's parts, because they have
        no candidate set.
    seed : int, default=0
        Random seed, which decides the users for validation.

    Examples
    --------
    >>> import polars as pl
    >>> times = [1, 2, 3, 4, 5, 6]
    >>> table = pl.DataFrame({"user": [1, 2] * 3, "item": [1, 1, 2, 2, 3, 3], "timestamp": times})
    >>> split = TwoStage(at=5, inner_at=3, validation_share=0.5).split(table)
    >>> {name: int(mask.sum()) for name, mask in split.masks.items()}
    {'train': 4, 'candidate_train': 2, 'ranker_train': 1, 'ranker_validation': 1, 'test': 2}
    """

    share: float | None = None
    at: Moment | None = None
    last: Length | None = None
    inner_share: float | None = None
    inner_at: Moment | None = None
    inner_last: Length | None = None
    validation_share: Share = 0.2
    warm_only: bool = True
    seed: Seed = 0

    @property
    def has_two_parts(self) -> bool:
        """False: there are parts for both stages."""
        return False

    def _check(self) -> None:
        if (self.inner_share, self.inner_at, self.inner_last) == (None, None, None):
            object.__setattr__(self, "inner_share", 0.3)
        self._cuts()
        if self.validation is not None or self.filters:
            raise ParameterError(
                "two stages have parts of their own for validation, and take no filters",
                hint="filter the table first: KCore(5).apply(table)",
            )

    def _cuts(self) -> tuple[GlobalTime, GlobalTime]:
        outer = GlobalTime(self.share, self.at, self.last)
        return outer, GlobalTime(self.inner_share, self.inner_at, self.inner_last)

    def _cut(self, rows: Rows) -> Masks:
        outer_cut, inner_cut = self._cuts()
        outer = outer_cut._cut(rows)
        train = outer.parts["train"]
        if not train.any():
            raise EmptyError("the training side of the split is empty", where=f"{outer.notes}")
        inside = rows.select(train)
        inner = inner_cut._cut(inside)
        first, between = inner.parts["train"], inner.parts["test"]
        notes = {"moment": outer.notes["moment"], "inner_moment": inner.notes["moment"]}
        if self.warm_only:
            warm = (inside.user.count(first) > 0)[inside.user.of_row]
            notes["rows_of_cold_users_dropped"] = int((between & ~warm).sum())
            between = between & warm
        if not first.any() or not between.any():
            side = "before" if not first.any() else "from"
            raise EmptyError(
                f"there are no training rows {side} the inner moment", where=f"TwoStage ({notes})"
            )
        by_users = UserHoldout(self.validation_share, fold_in=None, seed=self.seed)
        ranker = by_users._cut(inside.select(between)).spread(between).parts
        parts = {
            "candidate_train": first,
            "ranker_train": ranker["train"],
            "ranker_validation": ranker["test"],
        }
        for name, mask in parts.items():
            if not mask.any():
                raise EmptyError(
                    f"part {name} would be empty",
                    where=f"TwoStage ({notes})",
                    hint="choose another validation_share",
                )
        inner_parts = Masks(parts).spread(train).parts
        return Masks({"train": train, **inner_parts, "test": outer.parts["test"]}, notes)


@dataclass(frozen=True, repr=False)
class TimeWindows(FoldSplitter):
    """Test successive time windows, each with the rows before the window as training.

    Window j tests the rows in [b_j, b_j + test) and trains on rows before b_j − gap: all of them
    (expanding), or those of the last ``train`` (sliding). The last window ends with the data.

    Parameters
    ----------
    test : str, number or timedelta, default="7d"
        The length of a window: ``"7d"``, ``"1mo"``, or a number in the unit of the timestamps.
    n_splits : int, default=1
        The number of windows, the earliest first.
    train : str, number or timedelta, optional
        The length of the training period (sliding); by default it starts with the data (expanding).
    gap : str, number or timedelta, optional
        Time between training period and window; its rows are in neither part.
    step : str, number or timedelta, optional
        Time from one window to the next; by default the length of a window.
    align : {"hour", "day", "week", "month", "quarter", "year"}, optional
        End the last window at the end of the calendar hour, day, week (from Monday), … of the last
        row, in UTC, which may be after the end of the data.
    end : str, number, date or datetime, optional
        End the last window at this time (exclusive) instead.

    Examples
    --------
    >>> import polars as pl
    >>> days = pl.DataFrame({"user": [1] * 6, "item": range(6), "timestamp": range(6)})
    >>> for split in TimeWindows(test=1, n_splits=3, train=2, gap=1).split(days):
    ...     print(split.train["item"].to_list(), split.test["item"].to_list())
    [0, 1] [3]
    [1, 2] [4]
    [2, 3] [5]
    """

    test: Period = "7d"
    n_splits: Draws = 1
    train: Period | None = None
    gap: Length | None = None
    step: Period | None = None
    align: Align | None = None
    end: Moment | None = None

    def _check(self) -> None:
        if self.align is not None and self.end is not None:
            raise ParameterError(
                f"give either {parameter('align')} or {parameter('end')}, not both"
            )

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        if not len(rows):
            raise EmptyError("there are no rows to split", where=rows.table.source)
        time, values = rows.time, rows.time.values
        gap = Duration.read("gap", 0 if self.gap is None else self.gap)
        start = time.earlier(self._window(rows, 0)[0], gap)
        if start <= values.min():  # then so has every window before it
            raise EmptyError(
                "the first window has no earlier rows to train on",
                where=repr(self),
                found=f"rows from {time.show(values.min())} to {time.show(values.max())}",
                hint="ask for fewer or shorter windows",
            )

        def cut(fold: int) -> Masks:
            first, last = self._window(rows, fold)
            end = time.earlier(first, gap)
            train = values < end
            notes = {"window": [time.show(first), time.show(last)], "training_ends": time.show(end)}
            if self.train is not None:
                start = time.earlier(end, Duration.read("train", self.train))
                train &= values >= start
                notes["training_starts"] = time.show(start)
            return Masks({"train": train, "test": (values >= first) & (values < last)}, notes)

        return self.n_splits, cut

    def _window(self, rows: Rows, fold: int) -> tuple[Any, Any]:
        """Return the start and end of a window, both counted back from the end of the last."""
        time = rows.time  # counted from one end, windows of months leave no 31st out
        if self.end is not None:
            end = time.moment("end", self.end)
        elif self.align is not None:
            end = time.end_of(time.values.max(), self.align)
        else:
            end = time.after(time.values.max())
        length = Duration.read("test", self.test)
        step = length if self.step is None else Duration.read("step", self.step)
        back = step * (self.n_splits - 1 - fold)
        return time.earlier(end, back + length), time.earlier(end, back)
