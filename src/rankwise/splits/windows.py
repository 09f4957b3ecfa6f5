"""`TimeWindows`: sliding or expanding windows, each tested with the rows before as training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwise.core.arguments import check_choice
from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.rows import Rows
from rankwise.splits.sizes import check_folds
from rankwise.splits.splitter import FoldSplitter, Masks
from rankwise.splits.times import Align, Duration, Length, Moment

__all__ = ["TimeWindows"]


@dataclass(frozen=True, repr=False)
class TimeWindows(FoldSplitter):
    """Test successive time windows, each with the rows before it as training.

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

    test: Length = "7d"
    n_splits: int = 1
    train: Length | None = None
    gap: Length | None = None
    step: Length | None = None
    align: Align | None = None
    end: Moment | None = None

    def _check(self) -> None:
        check_folds(least=1, n_splits=self.n_splits)
        for name in ("test", "train", "step"):
            value = getattr(self, name)
            if value is not None and not Duration.read(name, value):
                raise ParameterError(f"{name} must be longer than 0", found=f"{name}={value!r}")
        if self.gap is not None:
            Duration.read("gap", self.gap)
        if self.align is not None:
            check_choice("align", self.align, Align)
            if self.end is not None:
                raise ParameterError("give either align= or end=, not both")

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        if not len(rows):
            raise EmptyError("there are no rows to split", where=rows.table.source)
        time, values = rows.time, rows.time.values
        gap = None if self.gap is None else Duration.read("gap", self.gap)
        self._check_reach(rows, gap)

        def cut(fold: int) -> Masks:
            first, last = self._window(rows, fold)
            end = first if gap is None else time.earlier(first, gap)
            train = values < end
            notes = {"window": [time.show(first), time.show(last)], "training_ends": time.show(end)}
            if self.train is not None:
                start = time.earlier(end, Duration.read("train", self.train))
                train &= values >= start
                notes["training_starts"] = time.show(start)
            return Masks({"train": train, "test": (values >= first) & (values < last)}, notes)

        return self.n_splits, cut

    def _check_reach(self, rows: Rows, gap: Duration | None) -> None:
        """Raise if the first window has no earlier rows: then so has every window before it."""
        time = rows.time
        first, _ = self._window(rows, 0)
        end = first if gap is None else time.earlier(first, gap)
        if end <= time.values.min():
            raise EmptyError(
                "the first window has no earlier rows to train on",
                where=repr(self),
                found=f"rows from {time.show(time.values.min())} to {time.show(time.values.max())}",
                hint="ask for fewer or shorter windows",
            )

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
