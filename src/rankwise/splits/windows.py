"""Windows in time: train on what lies before each, sliding or expanding, with a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankwise.arguments import check_choice, check_count
from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.splitter import Cut, FoldSplitter
from rankwise.splits.times import Align, Duration, Length, Moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.splits.rows import Rows

__all__ = ["TimeWindows"]


@dataclass(frozen=True, repr=False)
class TimeWindows(FoldSplitter):
    """Test in windows of time, one after the other, each with what came before to learn from.

    Window j tests rows in [b_j, b_j + test) and trains on rows before b_j − gap: all of them
    (expanding), or those of the last ``train`` (sliding). The last window ends with the data.

    Parameters
    ----------
    test : str, number or timedelta
        How long a window is: ``"7d"``, ``"1mo"``, or a number in the unit of the timestamps.
    n_splits : int
        How many windows, the earliest first.
    train : str, number or timedelta, optional
        How far back training reaches (sliding); without it, to the start (expanding).
    gap : str, number or timedelta, optional
        Time between training and window; its rows are in neither part.
    step : str, number or timedelta, optional
        From one window to the next; by default as long as a window.
    align : {"hour", "day", "week", "month", "quarter", "year"}, optional
        Let the last window end where the calendar's hour, day, week (from Monday), … of the last
        row ends, in UTC; that last unit may hold less than all of its rows.
    end : str, number, date or datetime, optional
        Let the last window end here instead (exclusive).

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
        check_count(n_splits=self.n_splits)
        for name in ("test", "train", "step"):
            value = getattr(self, name)
            if value is not None and not Duration.read(name, value):
                raise ParameterError(
                    f"{name} must be longer than nothing", found=f"{name}={value!r}"
                )
        if self.gap is not None:
            Duration.read("gap", self.gap)
        if self.align is not None:
            check_choice("align", self.align, Align)
            if self.end is not None:
                raise ParameterError("the end is said in one way: align= or end=")

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        if not len(rows):
            raise EmptyError("there are no rows to split", where=rows.table.source)
        time, values = rows.time, rows.time.values
        windows = [self._window(rows, at) for at in range(self.n_splits)]

        def cut(at: int) -> Cut:
            first, last = windows[at]
            end = first
            if self.gap is not None:
                end = time.shift(first, Duration.read("gap", self.gap), -1)
            train = values < end
            found = {"window": [time.show(first), time.show(last)], "training_ends": time.show(end)}
            if self.train is not None:
                start = time.shift(end, Duration.read("train", self.train), -1)
                train &= values >= start
                found["training_starts"] = time.show(start)
            return Cut({"train": train, "test": (values >= first) & (values < last)}, found)

        return self.n_splits, cut

    def _window(self, rows: Rows, at: int) -> tuple[Any, Any]:
        """Return where a window starts and ends, both counted back from the end of the last.

        Counting from the end alone leaves no day out between windows of months, of which some
        have no 31st.
        """
        time = rows.time
        if self.end is not None:
            end = time.moment("end", self.end)
        elif self.align is not None:
            end = time.end_of(time.values.max(), self.align)
        else:
            end = time.after(time.values.max())
        length = Duration.read("test", self.test)
        step = length if self.step is None else Duration.read("step", self.step)
        back = step * (self.n_splits - 1 - at)
        return time.shift(end, back + length, -1), time.shift(end, back, -1)
