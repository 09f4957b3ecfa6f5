"""Interactions as splitters use them: ids as codes, times as ticks, rows by time; part sizes.

Dates may be text, or whole numbers such as 20200914. ISO 8601 is read as it is. Other dates are
read if one format alone fits every row; where several formats fit, or a year has two digits, only
the caller can tell, and an error names the formats.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankwise.core.arguments import TimeUnit, check_choice, check_count
from rankwise.core.hashing import Hashes, combine_hashes, hash_of_column
from rankwise.core.ragged import (
    Ints,
    counting_sort,
    positions,
    ragged_rows,
    runs,
    segments_of,
    sort_segments,
)
from rankwise.core.vocabularies import Vocabulary, vocabulary_for, whole_numbers
from rankwise.errors import ColumnError, ParameterError
from rankwise.tables.columns import (
    Columns,
    check_columns,
    missing_column_error,
    names_of,
    several_columns_error,
)
from rankwise.tables.frames import from_arrow
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

COMPACT = "%Y%m%d"
"""The format of dates that are written as whole numbers."""
_NUMERIC = r"^\s*\d{1,2}[-/.]\d{1,2}[-/.]\d"
"""Text that begins with a day or a month, and so does not say which of the two comes first."""
_ORDER = re.compile(r"%([dm])([-/.])%([dm])\2%Y")
"""A format whose dates may be followed by a time of day as in ISO 8601, on all rows or on some."""
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y")
_TWO_DIGITS = ("%d{0}%m{0}%y", "%m{0}%d{0}%y", "%y{0}%m{0}%d")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_WRITTEN = ("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d/%b/%Y")
_LIKE_TIMES = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|-?[0-9]+(\.[0-9]+)?$)"
"""How times begin that are written as dates or as numbers: other text is what is wrong with a column."""
_NUMBER = r"[-+]?\d{1,18}(\.\d+)?"
_SAMPLE = 1000
_FIRST_YEAR = 1000  # an earlier one is a year of two digits that was read as one of four
_COMPACT_YEARS = (1900, 2100)


def _check_time_format(time_format: str | None) -> None:
    """Raise unless a format of dates can be read by Polars."""
    if time_format is None:
        return
    wrong = ParameterError(
        "time_format is the format of dates, with day, month and year",
        found=f"time_format={time_format!r}",
        hint='such as "%d/%m/%Y", "%m/%d/%Y %H:%M:%S" or "%Y%m%d"',
    )
    if not isinstance(time_format, str) or "%" not in time_format:
        raise wrong
    try:  # Polars reads nothing by a directive that it does not know, and raises for half a time
        text = pl.Series([datetime(2020, 9, 14, 10, 11, 12, tzinfo=UTC)]).dt.to_string(time_format)
        parsed = text.str.to_datetime(time_format, strict=False)
    except pl.exceptions.PolarsError as error:
        raise wrong from error
    if parsed.null_count():
        raise wrong


def _parse_dates(
    column: pl.Series, where: str, time_format: str | None = None
) -> tuple[pl.Series, str | None]:
    """Parse dates in text; also return the format, recognised if not passed, and None for ISO 8601.

    A row that is no date in that format raises, and so do several formats that fit all rows.
    """
    text = column.str.strip_chars()
    if time_format is None and not _is_numeric(text):
        dates = _in_iso(text)
        if not dates.null_count():
            return dates, None
    time_format = time_format or _format_of(text, where)
    # Where no other format fits either, the row that is not in ISO 8601 is named.
    dates = _in_iso(text) if time_format is None else _in_format(text, time_format)
    if dates.null_count():
        raise unreadable(where, dates.is_null(), column, time_format)
    return dates, time_format


def shared_format(columns: Iterable[pl.Series]) -> str | None:
    """Return the format of dates that several columns share; None if there is no common format.

    A column alone may not show whether the day comes first where another one does.
    """
    texts = [
        column.drop_nulls().str.strip_chars().rename("")
        for column in columns
        if column.dtype == pl.String
    ]
    numeric = [text for text in texts if _is_numeric(text)]
    with contextlib.suppress(
        ColumnError
    ):  # each column is then read by itself, and refused with its row
        return _format_of(pl.concat(numeric), "") if numeric else None
    return None


def read_compact(column: pl.Series) -> pl.Series | None:
    """Return whole numbers like 20200914 as dates; None unless every number is a date.

    >>> read_compact(pl.Series([20200914, 20210101]))[0], read_compact(pl.Series([20200914, 20201301]))
    (datetime.datetime(2020, 9, 14, 0, 0), None)
    """
    first, last = _COMPACT_YEARS
    if column.dtype.is_float() and not column.is_finite().all():
        return None
    if not len(column) or column.min() < first * 10_000 or column.max() >= (last + 1) * 10_000:  # type: ignore[operator]
        return None
    if column.dtype.is_float():
        if not bool((column == column.floor()).all()):
            return None
        column = column.cast(pl.Int64)
    for part in (column.head(_SAMPLE), column):
        dates = part.cast(pl.String).str.to_datetime(COMPACT, strict=False, time_unit="us")
        if dates.null_count():
            return None
    return dates


def unreadable(
    where: str, bad: pl.Series, column: pl.Series, time_format: str | None = None
) -> ColumnError:
    """Return the error for null or unreadable timestamps, with the first row that is unreadable."""
    # All rows are bad if no format fits one of them, or numbers are among dates.
    if time_format is None and column.dtype == pl.String:
        alike = column.str.strip_chars().str.contains(_LIKE_TIMES).fill_null(value=False)
        bad = bad & ~alike if (bad & ~alike).any() else bad
    row = int(bad.arg_true()[0])
    what = "a timestamp is neither a number nor a date"
    if time_format is not None and column[row] is not None:
        what = f"a timestamp is no date in the format {time_format}"
    return ColumnError(
        what,
        where=f"{where}, row {row + 1}",
        found=f"{column[row]!r} ({int(bad.sum())} such rows)",
        hint="write dates as 2013-09-01 or 2013-09-01T12:00:00, or say how they are written, such "
        "as "
        'time_format="%d.%m.%Y"; drop rows without one',
    )


def _is_numeric(text: pl.Series) -> bool:
    """Return whether dates begin with numbers of two digits; the first row decides."""
    return len(text) > 0 and re.match(_NUMERIC, str(text[0])) is not None


def _in_iso(text: pl.Series) -> pl.Series:
    try:
        return text.str.to_datetime(strict=False, time_unit="us")
    except pl.exceptions.PolarsError:  # Polars recognised no format at all
        return pl.Series([None] * len(text), dtype=pl.Datetime("us"))


def _in_format(text: pl.Series, time_format: str) -> pl.Series:
    """Return dates in a format; null where a row has a different format."""
    order = _ORDER.fullmatch(time_format)
    if order is not None and {order[1], order[3]} == {"d", "m"}:
        mark = re.escape(order[2])
        places = ("${3}-${2}-${1}${4}", "${3}-${1}-${2}${4}")[order[1] == "m"]
        pattern = rf"^(\d{{1,2}}){mark}(\d{{1,2}}){mark}(\d{{4}})([T ].*)?$"
        iso = text.str.replace(pattern, places)
        fits = text.str.contains(pattern)
        return _in_iso(pl.select(pl.when(fits).then(iso)).to_series())
    dates = text.str.to_datetime(time_format, strict=False, time_unit="us")
    return pl.select(pl.when(dates.dt.year() >= _FIRST_YEAR).then(dates)).to_series()


def _format_of(text: pl.Series, where: str) -> str | None:
    """Return the only format in which every row is a date; None if there is none.

    Several formats that mean different dates raise.
    """
    fitting: dict[str, pl.Series] = {}
    for time_format in _candidates(text):
        for part in (text.head(_SAMPLE), text):
            dates = _in_format(part, time_format)
            if dates.null_count():
                break
        else:
            if all(not dates.equals(other) for other in fitting.values()):
                fitting[time_format] = dates
    if len(fitting) > 1 or any("%y" in time_format for time_format in fitting):
        raise _uncertain(text, fitting, where)
    return next(iter(fitting), None)


def _candidates(text: pl.Series) -> list[str]:
    """Return formats that text may have, by its first row."""
    first = str(text[0])
    if re.fullmatch(r"\d{8}", first):
        return [COMPACT]
    if not re.match(_NUMERIC, first):
        return [written + clock for written in _WRITTEN for clock in _CLOCKS]
    mark = re.sub(r"\d", "", first)[0]
    orders = [order.format(mark) for order in _ORDERS]
    timed = [order + clock for order in orders for clock in _CLOCKS if "%p" in clock]
    short = [order.format(mark) + clock for order in _TWO_DIGITS for clock in _CLOCKS]
    return orders + timed + short


def _uncertain(text: pl.Series, fitting: dict[str, pl.Series], where: str) -> ColumnError:
    """Return the error for dates that several formats fit, with a row on which they differ."""
    first, *rest = fitting.values()
    row = int((first != rest[0]).arg_max() or 0) if rest else 0
    readings = ", ".join(f"{dates[row]:%Y-%m-%d} as {name}" for name, dates in fitting.items())
    formats = " or ".join(f'time_format="{name}"' for name in fitting)
    several = len(fitting) > 1
    return ColumnError(
        "these dates can be read in more than one way"
        if several
        else "the years of these dates have two digits",
        where=f"{where}, row {row + 1}",
        found=f"{text[row]!r} is {readings}",
        hint=f"say which: {formats}",
    )


Align: TypeAlias = Literal["hour", "day", "week", "month", "quarter", "year"]
Moment: TypeAlias = str | float | datetime | date

_PER_SECOND: dict[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECOND, _DAY = 10**6, 86400 * 10**6
_MICROSECONDS = {
    "us": 1,
    "ms": 10**3,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "d": _DAY,
    "w": 7 * _DAY,
}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
_TEXT = re.compile(r"(\d{1,18})(us|ms|mo|[smhdwqy])")
GUESSED = "guessed from the size of the numbers"
_LEAST = 10**5  # a day of seconds: smaller numbers are rather days, years or steps
_MOST_MONTHS = 12 * 100_000  # what Polars adds beyond its calendar is no error, but a panic


@dataclass(frozen=True)
class Duration:
    """A duration: calendar months, microseconds, or ticks of the timestamp column.

    Read from the duration strings of Polars. Polars adds the months; the rest is added here,
    because Polars knows no unit but dates, drops nanoseconds, and silently overflows.
    """

    months: int = 0
    microseconds: int = 0
    ticks: float = 0

    @classmethod
    def read(cls, name: str, length: Any) -> Duration:
        """Return the duration of ``"14d"``, ``"1w12h"``, ``"1mo"``, a `timedelta` or ticks.

        >>> Duration.read("gap", "1mo2d")
        Duration(months=1, microseconds=172800000000, ticks=0)
        """
        if isinstance(length, np.timedelta64):
            length = length.astype("timedelta64[us]").item()
        wrong, shown = f"{name} is a length of time", _shown(name, length)
        if isinstance(length, timedelta):
            duration = cls(microseconds=length // timedelta(microseconds=1))
        elif isinstance(length, str):
            parts = _TEXT.findall(length)
            if not parts or "".join(number + unit for number, unit in parts) != length:
                hint = (
                    'write "14d", "12h", "1w", "1mo" (units us ms s m h d w mo q y), a '
                    "timedelta, or a number in the unit of the timestamps"
                )
                raise ParameterError(wrong, found=shown, hint=hint)
            duration = cls(
                sum(int(number) * _MONTHS.get(unit, 0) for number, unit in parts),
                sum(int(number) * _MICROSECONDS.get(unit, 0) for number, unit in parts),
            )
        elif _is_number(length):
            duration = cls(ticks=length)
        else:
            raise ParameterError(wrong, found=shown)
        if min(duration.months, duration.microseconds, duration.ticks) < 0:
            raise ParameterError(f"{name} cannot be negative", found=shown)
        return duration

    def __bool__(self) -> bool:
        return bool(self.months or self.microseconds or self.ticks)

    def __mul__(self, times: int) -> Duration:
        return Duration(self.months * times, self.microseconds * times, self.ticks * times)

    def __add__(self, other: Duration) -> Duration:
        months, microseconds = self.months + other.months, self.microseconds + other.microseconds
        return Duration(months, microseconds, self.ticks + other.ticks)


def _check_period(name: str, value: Any) -> None:
    if not Duration.read(name, value):
        raise ParameterError(f"{name} must be longer than 0", found=f"{name}={value!r}")


Length: TypeAlias = Annotated[str | float | timedelta, Duration.read]
Period: TypeAlias = Annotated[str | float | timedelta, _check_period]
"""A length of time above 0."""


@dataclass(frozen=True, eq=False)
class Times:
    """The timestamps of a table as ticks since 1970, and the unit of a tick.

    Attributes
    ----------
    values : array, shape (n,)
        Whole numbers, or floats where the column has fractions.
    unit : {"s", "ms", "us", "ns"}
        The unit of a tick.
    is_date : bool
        Whether the column holds dates, so that plain numbers mean nothing.
    unit_source : str
        How the unit is known.
    where : str
        The column, for messages.
    time_format : str or None, default=None
        The format of dates that are text, but for ISO 8601, or whole numbers.
    """

    values: Any
    unit: TimeUnit
    is_date: bool
    unit_source: str
    where: str
    time_format: str | None = None

    @property
    def per_second(self) -> int:
        """Ticks per second."""
        return _PER_SECOND[self.unit]

    def moment(self, name: str, value: Any) -> Any:
        """Return the moment that a parameter names, in ticks."""
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        wrong, shown = f"{name} is not a moment", _shown(name, value)
        if self.time_format == COMPACT and isinstance(
            value, int | np.integer
        ):  # as the column has dates
            value = str(value)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                hint = (
                    'write "2013-09-01", "2013-09-01T12:00", a datetime, or a number in the '
                    "unit of the timestamps"
                )
                raise ParameterError(wrong, found=shown, hint=hint) from None
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if isinstance(value, datetime):
            self._check_clock(f"{name} is a moment")
            try:
                value = value.replace(tzinfo=UTC) if value.tzinfo is None else value
                since = value - datetime(1970, 1, 1, tzinfo=UTC)
                return self._ticks(int(since // timedelta(microseconds=1)))
            except (TypeError, ValueError, OverflowError):  # pandas' NaT is a datetime too
                raise ParameterError(wrong, found=shown) from None
        if self.is_date or not _is_number(value):
            hint = f"{self.where} holds {'dates' if self.is_date else 'numbers'}"
            raise ParameterError(wrong, found=shown, hint=hint)
        return value

    def earlier(self, moment: Any, duration: Duration) -> Any:
        """Return the moment that lies a duration before another."""
        if duration.ticks and self.is_date:
            raise ParameterError(
                "for dates a length of time needs a unit",
                found=str(duration.ticks),
                hint='write "14d", "12h", "1mo", or a timedelta',
            )
        if duration.months or duration.microseconds:
            self._check_clock("a length with a unit is one")
        try:
            if duration.months > _MOST_MONTHS:
                raise OverflowError
            if duration.months:
                moment = self._date(moment).dt.offset_by(f"-{duration.months}mo")
                moment = self._ticks(moment.to_physical()[0])
            return moment - (self._ticks(duration.microseconds) + duration.ticks)
        except (OverflowError, pl.exceptions.PolarsError) as error:
            raise ParameterError("a length of time is out of range", found=f"{duration}") from error

    def end_of(self, moment: Any, align: Align) -> Any:
        """Return the end of the hour, day, week (from Monday), month, … that holds a moment."""
        self._check_clock("align is a period")
        start = self._date(moment).dt.truncate(_UNITS[align])
        return self._ticks(start.dt.offset_by(_UNITS[align]).to_physical()[0])

    def after(self, moment: Any) -> Any:
        """Return the next moment that the data type can express."""
        return np.nextafter(moment, np.inf) if self.values.dtype.kind == "f" else moment + 1

    def seconds(self, ticks: Any) -> float:
        """Return ticks in seconds."""
        return float(ticks) / self.per_second

    def show(self, moment: Any) -> str | int | float:
        """Return a moment for the card: dates as ISO 8601 in UTC, numbers as they are."""
        if not self.is_date:
            return (
                int(moment)
                if self.values.dtype.kind != "f" and moment == int(moment)
                else float(moment)
            )
        text = self._date(moment).dt.to_string("iso:strict")[0]
        return str(text).removesuffix(".000000")

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The median and the largest size of the numbers."""
        sizes = np.abs(self.values)
        return float(np.median(sizes)), float(sizes.max())

    def _check_clock(self, parameter: str) -> None:
        """Raise where the calendar is to be applied to numbers that may be days, years or steps."""
        if self.unit_source != GUESSED or not len(self.values):
            return
        median, largest = self._sizes
        usual = _guess_unit(np.array([median]))
        if usual != self.unit:
            raise ParameterError(
                f"{parameter} of the calendar, and the unit of these timestamps is not clear, as "
                "their sizes differ",
                where=self.where,
                found=f"a median of {median:.0f}, as of {usual}, and numbers up to {largest:.0f}, "
                f"as of {self.unit}",
                hint=f'mend or drop the odd rows, or say the unit: time_unit="{usual}"',
            )
        if largest >= _LEAST:
            return
        raise ParameterError(
            f"{parameter} of the calendar, and timestamps as small as these are hardly seconds "
            "since 1970",
            where=self.where,
            found=f"numbers from {self.values.min()} to {self.values.max()}",
            hint='if they are seconds all the same, time_unit="s"; if they are years, '
            'time_format="%Y"; else give '
            "moments and lengths in their own unit, or convert them to dates",
        )

    def _date(self, moment: Any) -> pl.Series:
        """Return a moment as a column of one date, for the calendar of Polars."""
        ticks = moment.item() if isinstance(moment, np.generic) else moment  # else it may overflow
        return pl.Series([int(ticks * 10**6 // self.per_second)]).cast(pl.Datetime("us"))

    def _ticks(self, microseconds: int) -> Any:
        scaled = microseconds * self.per_second
        return scaled / 10**6 if scaled % 10**6 else scaled // 10**6


def read_times(table: Table, unit: TimeUnit | None, time_format: str | None = None) -> Times:
    """Return the timestamps of a table: of numbers, dates, or dates as text or whole numbers."""
    name = table.columns.get("timestamp", "timestamp")
    where = f"{table.source}, column {name!r}"
    if "timestamp" not in table.frame.columns:
        several = names_of(table.unread, table.role, "timestamp")
        if len(several) > 1:
            raise several_columns_error(table, "timestamp", several)
        raise missing_column_error(
            "there is no column for the timestamp, and this needs one", "timestamp", table
        )
    column = table.frame["timestamp"]
    if column.null_count():
        raise unreadable(where, column.is_null(), column)
    if unit is not None:
        check_choice("time_unit", unit, TimeUnit)
    _check_time_format(time_format)
    column = _plain_numbers(column) if time_format is None else column
    written = (
        column.cast(pl.String) if time_format is not None and column.dtype.is_integer() else column
    )
    if written.dtype == pl.String:
        dates, time_format = _parse_dates(written, where, time_format)
        times = _times_of_dates(dates, where, time_format)
    elif isinstance(column.dtype, pl.Date | pl.Datetime):
        times = _times_of_dates(column, where)
    elif not column.dtype.is_numeric():
        raise ColumnError("timestamps are numbers or dates", where=where, found=str(column.dtype))
    else:
        compact = read_compact(column) if unit is None else None
        times = (
            _times_of_numbers(column, where, unit)
            if compact is None
            else _times_of_dates(compact, where, COMPACT)
        )
    if unit is None and len(times.values):
        _check_odd_times(times)
    return times


def _plain_numbers(column: pl.Series) -> pl.Series:
    """Convert decimals and numeric text to numbers; keep dates (20200914) and non-numeric text."""
    if column.dtype == pl.String:
        first = str(column[0]).strip() if len(column) else ""
        if re.fullmatch(_NUMBER, first) is None or re.fullmatch(r"\d{8}", first):
            return column
        column = column.str.strip_chars()
        if not column.str.contains(f"^({_NUMBER})$").all():
            return column
    elif not column.dtype.is_decimal():
        return column
    whole = column.cast(pl.Int64, strict=False)
    is_whole = not whole.null_count() and bool((whole == column.cast(pl.Float64)).all())
    return whole if is_whole else column.cast(pl.Float64)


def compact_dates(values: Any) -> Any:
    """Return whether each whole number could be a date like 20200914 (year, month, day)."""
    first, last = _COMPACT_YEARS
    month_and_day, day = values % 10_000, values % 100
    in_range = (values >= first * 10_000) & (values < (last + 1) * 10_000)
    return in_range & (month_and_day > 100) & (month_and_day < 1300) & (day >= 1) & (day <= 31)


def mixed_dates(where: str, dates: int, others: int, example: Any) -> ColumnError:
    """Return the error for a column of dates as whole numbers with rows that are not dates."""
    return ColumnError(
        "most of these timestamps read as dates, such as 20200914, and some do not",
        where=where,
        found=f"{dates} dates, and {others} other numbers, such as {example}",
        hint="if they are dates, drop or mend the other rows (0, -1 or 99999999 often stands for "
        '"unknown"); if '
        'all are times since 1970, say their unit: time_unit="s"',
    )


_PLACEHOLDERS = (0, -1, 99999999, 999999999, 2**31 - 1, 9999999999, 9999999999999)
"""Numbers that stand where a time is unknown."""
_PLACEHOLDER_DATES = tuple(
    (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    for text in (
        *(
            "0001-01-01",
            "1753-01-01",
            "1899-12-30",
            "1899-12-31",
            "1900-01-01",
            "1970-01-01",
            "1970-01-02",
        ),
        *(
            "2099-12-31",
            "2100-01-01",
            "2199-12-31",
            "2999-12-31",
            "9999-12-31",
            "9999-12-31T23:59:59",
        ),
    )
)
_FAR = 10 * 365 * 86400  # seconds between a placeholder and the times beside it
_CLOCK = 10**8  # ticks: 1973 in seconds; smaller numbers may be days or steps, of which 0 is one


def placeholders(*, is_date: bool, per_second: int = 1) -> list[int]:
    """Return placeholder ticks of unknown times: of dates by their unit, of numbers in any unit."""
    if is_date:
        return [microseconds * per_second // 10**6 for microseconds in _PLACEHOLDER_DATES]
    last_day = 253402214400  # 9999-12-31
    units = (1, 10**3, 10**6)
    return [
        *_PLACEHOLDERS,
        *(second * unit for second in (last_day, last_day + 86399) for unit in units),
    ]


def odd_time(ends: Iterable[Any], inner: tuple[Any, Any], per_second: int, *, is_date: bool) -> Any:
    """Return an end of the times that is a placeholder far from all remaining times; else None."""
    earliest, latest = inner
    if not is_date and max(abs(earliest), abs(latest)) < _CLOCK:
        return None
    far = _FAR * per_second
    odd = [end for end in ends if earliest - end > far or end - latest > far]
    return odd[0] if odd else None


def placeholder_error(times: Times, odd: Any, rows: int) -> ColumnError:
    """Return the error for a time that is likely to stand for an unknown one."""
    unit = times.unit if not times.is_date or times.unit == "ns" else "us"
    return ColumnError(
        "a timestamp is more than ten years from all others, and often stands for an unknown time",
        where=times.where,
        found=f"{times.show(odd)} ({rows} such rows)",
        hint="drop these rows, or give them their time; if it is their time, say so by the unit: "
        f'time_unit="{unit}"',
    )


def _check_odd_times(times: Times) -> None:
    """Raise if most numbers are dates but not all, or if a placeholder stands among times."""
    values = times.values
    if not times.is_date:
        dates = compact_dates(values)
        count = int(dates.sum())
        if 2 * count > len(values) > count:
            raise mixed_dates(times.where, count, len(values) - count, values[~dates][0].item())
    known = placeholders(is_date=times.is_date, per_second=times.per_second)
    ends = [end for end in (values.min().item(), values.max().item()) if end in known]
    others = values[~np.isin(values, ends)] if ends else values[:0]
    if not len(others):
        return
    per_second = times.per_second if times.is_date else _PER_SECOND[_guess_unit(others)]
    inner = (others.min().item(), others.max().item())
    odd = odd_time(ends, inner, per_second, is_date=times.is_date)
    rows = 0 if odd is None else int((values == odd).sum())
    if 0 < 2 * rows < len(values):
        raise placeholder_error(times, odd, rows)


def _times_of_numbers(column: pl.Series, where: str, unit: TimeUnit | None) -> Times:
    if column.dtype in (pl.Int128, pl.UInt128):
        column = whole_numbers(column)
    values = column.to_numpy()
    fractions = values.dtype.kind == "f"
    if fractions and not np.isfinite(values).all():
        raise unreadable(where, pl.Series(~np.isfinite(values)), column)
    largest = max(-values.min().item(), values.max().item()) if len(values) else 0
    if largest >= 2**62:
        raise ColumnError("a timestamp is out of range", where=where, found=str(values.max()))
    if fractions and len(values) and largest < 2**53:
        fractions = not (values == np.floor(values)).all()
    if not fractions:
        values = values.astype(np.int64, copy=False)
    source = "given" if unit is not None else GUESSED
    return Times(values, unit or _guess_unit(values), False, source, where)


def _guess_unit(values: Any) -> TimeUnit:
    """Return the unit by magnitude: seconds up to the year 5138, then ms, µs and ns."""
    largest = float(np.abs(values).max()) if len(values) else 0.0
    limits: dict[TimeUnit, float] = {"s": 1e11, "ms": 1e14, "us": 1e17}
    return next((unit for unit, limit in limits.items() if largest < limit), "ns")


def _times_of_dates(column: pl.Series, where: str, time_format: str | None = None) -> Times:
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    unit: TimeUnit = "us"
    if column.dtype == pl.Datetime("ns") and bool((column.to_physical() % 1000 != 0).any()):
        unit = "ns"
    values = column.cast(pl.Datetime(unit)).to_physical().to_numpy()  # type: ignore[arg-type]
    source = "dates" if time_format is None else f"dates written {time_format}"
    return Times(values, unit, True, source, where, time_format)


def _is_number(value: object) -> bool:
    """Return whether a value is a number that fits 64 bits."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    try:
        return abs(float(value)) < 2.0**62
    except OverflowError:
        return False


def _shown(name: str, value: object) -> str:
    """Return a parameter for error messages; very long numbers are described, not written."""
    try:
        return f"{name}={value!r}"[:80]
    except ValueError:
        return f"{name} is a number of thousands of digits"


MAX_FOLDS = 1_000_000
"""The largest number of folds: each costs a pass over the table."""

_Size = TypeVar("_Size", int, Ints)


def check_share(name: str, share: object) -> None:
    """Raise unless a share lies between 0 and 1."""
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 < share < 1:  # type: ignore[operator]
        raise ParameterError(
            f"{name} must lie between 0 and 1",
            found=f"{name}={share!r}",
            hint="0.2 keeps a fifth of the rows for testing",
        )


def check_seed(name: str, seed: object) -> None:
    """Raise unless a seed is a whole number of at most 64 bits."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise ParameterError("a seed is a whole number", found=f"{name}={seed!r}")
    if not -(2**63) <= seed < 2**64:
        raise ParameterError("a seed has at most 64 bits", found=f"{int(seed).bit_length()} bits")


def _check_folds(name: str, value: int, *, least: int = 2) -> None:
    check_count(least=least, **{name: value})
    if value > MAX_FOLDS:
        raise ParameterError(
            f"{name} must be at most {MAX_FOLDS:,}",
            found=f"{name}={value}",
            hint="every fold is a pass over the table",
        )


Share: TypeAlias = Annotated[float, check_share]
"""A number between 0 and 1."""
Seed: TypeAlias = Annotated[int, check_seed]
Folds: TypeAlias = Annotated[int, _check_folds]
"""A number of folds, of which every row is tested in one."""
Draws: TypeAlias = Annotated[int, partial(_check_folds, least=1)]
"""A number of splits, each of which tests some rows."""


def rounded(share: float, size: _Size) -> _Size:
    """Return r·n, the share r of n rows, rounded half up.

    The share is read as the decimal that it is written as: 0.29 of 50 rows is 14.5, and hence 15,
    although the binary number nearest to 0.29 is slightly smaller.

    >>> rounded(0.2, 12), rounded(0.29, 50), rounded(1 / 3, 3)
    (2, 15, 1)
    """
    exact = Fraction(repr(float(share))).limit_denominator(10**11)
    above, below = exact.numerator, exact.denominator
    return (2 * above * size + below) // (2 * below)


_CHUNK = 1 << 22
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of ids as small integers."""

    of_row: Ints
    vocabulary: Vocabulary

    @classmethod
    def of(cls, ids: pl.Series) -> Codes:
        """Return the codes of the ids of all rows."""
        vocabulary = vocabulary_for([ids], dense=True)
        return cls(vocabulary.encode(ids), vocabulary)

    @property
    def size(self) -> int:
        """One more than the largest code; smaller codes may be unused."""
        return self.vocabulary.size

    def count(self, mask: Mask | None = None) -> Ints:
        """Return the number of rows per code, over all rows or the rows of a mask."""
        counts: Ints = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks(len(self.of_row)):  # so that no copy of a whole column is made
            codes = self.of_row[chunk] if mask is None else self.of_row[chunk][mask[chunk]]
            counts += np.bincount(codes, minlength=self.size)
        return counts

    def at_random(self, seed: int) -> Ints:
        """Return the codes that have rows in a random order, which ids and seed decide."""
        used = np.flatnonzero(self.count())
        key = combine_hashes([hash_of_column(self.vocabulary.decode(used))], seed)
        return used[np.argsort(key, kind="stable")]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Row numbers by user: the rows of user u are ``order[starts[u] : starts[u + 1]]``."""

    starts: Ints
    order: Ints

    @property
    def lengths(self) -> Ints:
        """Rows per user."""
        return np.diff(self.starts)

    def tail(self, lengths: Ints) -> Mask:
        """Return the mask of each user's last rows, as many as ``lengths`` says."""
        mask: Mask = np.zeros(len(self.order), dtype=bool)
        mask[self.order[ragged_rows(self.starts[1:] - lengths, lengths)]] = True
        return mask

    def positions(self) -> Ints:
        """Return the position of every row of the table among its user's rows, from 0."""
        out: Ints = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = positions(self.starts)
        return out


@dataclass(frozen=True, eq=False)
class Rows:
    """Interactions with their codes, times and orders, each computed on first use."""

    table: Table
    time_unit: TimeUnit | None = None
    time_format: str | None = None

    def __len__(self) -> int:
        return len(self.table.frame)

    @cached_property
    def user(self) -> Codes:
        """The user of every row."""
        return Codes.of(self.table.frame["user"])

    @cached_property
    def item(self) -> Codes:
        """The item of every row."""
        return Codes.of(self.table.frame["item"])

    @property
    def has_times(self) -> bool:
        """Whether rows have timestamps."""
        return "timestamp" in self.table.frame.columns

    @cached_property
    def time(self) -> Times:
        """The timestamp of every row."""
        return read_times(self.table, self.time_unit, self.time_format)

    def select(self, mask: Mask) -> Rows:
        """Return the rows of a mask; their timestamps keep their unit."""
        frame = pl.DataFrame([_filtered(column, mask) for column in self.table.frame])
        selected = replace(self, table=self.table.with_frame(frame))
        if "time" in self.__dict__:
            time, column = self.time, frame["timestamp"]
            same = not time.is_date and column.dtype == pl.Int64
            values = column.to_numpy() if same else time.values[mask]  # shared with the frame
            selected.__dict__["time"] = replace(time, values=values)
        return selected

    def key(self, seed: int, rows: Ints | None = None) -> Hashes:
        """Return a hash per row that depends on user, item, time and seed alone."""
        frame = self.table.frame if rows is None else self.table.frame[rows]
        columns = [hash_of_column(frame["user"]), hash_of_column(frame["item"])]
        if self.has_times:
            columns += _hash_of_times(self.time, slice(None) if rows is None else rows)
        return combine_hashes(columns, seed)

    def draw(self, seed: int) -> Hashes:
        """Return a hash per row for random draws: `key`, with repeated hashes numbered.

        Rows of equal user, item and time get a running number, in order of their other columns.
        With one hash for all of them, a draw would take them all, or none.
        """
        key = self.key(seed)
        ordered = np.sort(key)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(repeated):
            return key
        rows = np.flatnonzero(np.isin(key, np.unique(repeated)))
        rows = self.settled(rows[np.argsort(key[rows], kind="stable")], key)
        key[rows] = numbered(key[rows], positions(runs(key[rows])))
        return key

    def pairs_in(self, mask: Mask, earlier: Mask) -> Mask:
        """Return the rows of ``mask`` whose user-item pair also occurs in the rows ``earlier``."""
        distinct, inverse = np.unique(self._pairs(np.flatnonzero(mask)), return_inverse=True)
        if not len(distinct):  # the part was emptied already
            return mask
        is_repeated: Mask = np.zeros(len(distinct), dtype=bool)
        for chunk in chunks(len(self)):
            pairs = np.sort(self._pairs(chunk.start + np.flatnonzero(earlier[chunk])))
            index = np.searchsorted(distinct, pairs)
            index[index == len(distinct)] = 0
            is_repeated[index[distinct[index] == pairs]] = True
        return spread(mask, is_repeated[inverse])

    def count_pairs(self, mask: Mask) -> int:
        """Return the number of distinct user-item pairs in the rows of a mask."""
        return pl.Series(self._pairs(mask)).n_unique()

    def _pairs(self, rows: Any) -> Ints:
        users = self.user.of_row[rows].astype(np.int64)
        pair: Ints = users * self.item.size + self.item.of_row[rows]
        return pair

    def shuffled(self, seed: int) -> Ints:
        """Return all row numbers in a random order that the seed decides."""
        order: Ints = np.argsort(self.draw(seed), kind="stable")
        return order

    def in_time(self) -> Grouped:
        """Return every user's rows by time; rows of equal time by a hash of the ids."""
        return self._grouped(self.time.values, lambda rows: self.key(0, rows))

    def at_random(self, seed: int) -> Grouped:
        """Return every user's rows in a random order that the seed decides."""
        return self._grouped(self.draw(seed), None)

    def _grouped(self, key: Ints, breaker: Callable[[Ints], Hashes] | None) -> Grouped:
        starts, order = counting_sort(self.user.of_row, self.user.size)
        by_user = key[order]
        order = order.astype(np.int32 if len(order) < 2**31 else np.int64, copy=False)
        break_ties = None
        if breaker is not None:

            def break_ties(index: Ints) -> Ints:  # of rows as they are bucketed
                return breaker(order[index].ravel()).reshape(index.shape)

        sort_segments(starts, by_user, [order], breaker=break_ties, in_place=True)
        del by_user
        return Grouped(starts, self.settled(order, key, starts))

    def settled(self, order: Ints, key: Ints, starts: Ints | None = None) -> Ints:
        """Order rows of equal key and ids by their remaining columns, in place, within segments."""
        starts = np.array([0, len(order)]) if starts is None else starts
        if not _other_columns(self.table.frame) or not len(order):
            return order
        ordered = key[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        if not len(same):
            return order
        near = np.union1d(same, same + 1)
        edges = runs(segments_of(starts, near), ordered[near], self.key(0, order[near]))
        lengths = np.diff(edges)
        tied = near[ragged_rows(edges[:-1][lengths > 1], lengths[lengths > 1])]
        if not len(tied):
            return order
        rows = order[tied]
        rest = hash_of_other_columns(self.table.frame[rows])
        group = np.repeat(np.arange((lengths > 1).sum()), lengths[lengths > 1])
        order[tied] = rows[np.lexsort((rest, group))]
        return order


def _other_columns(frame: pl.DataFrame) -> list[str]:
    return sorted(name for name in frame.columns if name not in ("user", "item", "timestamp"))


def numbered(key: Hashes, number: Ints) -> Hashes:
    """Combine hashes of repeated rows with their running number; number 0 keeps the hash."""
    return np.where(number == 0, key, combine_hashes([key, number.astype(np.uint64)], 0))


def hash_of_other_columns(frame: pl.DataFrame) -> Hashes:
    """Hash each row's columns except user, item and time, to decide between equal rows."""
    hashes = [hash_of_column(frame[name], ids=False) for name in _other_columns(frame)]
    return combine_hashes(hashes, 0) if hashes else np.zeros(len(frame), dtype=np.uint64)


def chunks(size: int) -> Iterator[slice]:
    """Yield slices of about four million rows each that together cover all rows."""
    for first in range(0, size, _CHUNK):
        yield slice(first, first + _CHUNK)


def spread(kept: Mask, mask: Mask) -> Mask:
    """Return a mask of the kept rows as a mask of all rows."""
    out: Mask = np.zeros(len(kept), dtype=bool)
    out[kept] = mask
    return out


def _filtered(column: pl.Series, mask: Mask) -> pl.Series:
    """Return the rows of a mask as one chunk: Polars would leave many, and join them each time."""
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        return pl.Series(column.name, column.to_numpy()[mask])
    return column.filter(pl.Series(mask)).rechunk()


def _hash_of_times(times: Times, rows: Any) -> list[Hashes]:
    """Return the hashes of times: for dates, of microseconds and of any nanoseconds beyond them."""
    values = times.values[rows]
    nanoseconds = times.is_date and times.unit == "ns"
    parts = [values // 1000, values % 1000] if nanoseconds else [values]
    return [hash_of_column(pl.Series(part)) for part in parts]


def read_rows(
    source: Any, columns: Columns | None, time_unit: TimeUnit | None, time_format: str | None
) -> Rows:
    """Return the interactions that any source holds."""
    check_columns(columns, ["interactions"])
    return Rows(read_table(source, "interactions", columns), time_unit, time_format)


def cut_rows(source: Any, mask: Mask, rows: Rows) -> Any:
    """Return the rows of a mask as a table of the source's own library."""
    library = library_of(source)
    if library == "pandas":
        return source[mask]
    if library == "pyarrow":
        return source.filter(pl.Series(mask).to_arrow())
    return as_polars(source, rows).filter(pl.Series(mask))


def take_rows(source: Any, positions: Ints, rows: Rows) -> Any:
    """Return the rows at ``positions``, in this order, as a table of the source's own library."""
    library = library_of(source)
    if library == "pandas":
        return source.iloc[positions]
    if library == "pyarrow":
        return source.take(positions)
    return as_polars(source, rows)[positions]


def library_of(source: Any) -> Literal["polars", "pandas", "pyarrow"] | None:
    """Return the library of a table that a mask can filter; None for any other source."""
    cls = type(source)
    library: Any = cls.__module__.split(".")[0]
    tables = {("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "Table")}
    return library if (library, cls.__name__) in tables else None


def as_polars(source: Any, rows: Rows) -> pl.DataFrame:
    """Return the source as a Polars table with its original column names."""
    if isinstance(source, pl.DataFrame):
        return source
    if library_of(source) is not None:
        return from_arrow(source, "interactions")
    return rows.table.frame.rename(rows.table.columns)
