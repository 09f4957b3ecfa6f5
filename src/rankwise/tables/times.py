"""Times of interactions as ticks of one clock, durations, and placeholders among times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import TimeUnit, check_choice
from rankwise.core.vocabularies import whole_numbers
from rankwise.errors import ColumnError, ParameterError
from rankwise.messages import parameter
from rankwise.tables.columns import missing_column_error, names_of, several_columns_error
from rankwise.tables.dates import (
    COMPACT,
    NUMBER,
    check_time_format,
    compact_dates,
    mixed_dates,
    parse_dates,
    read_compact,
    unreadable,
)
from rankwise.tables.table import Table

Align: TypeAlias = Literal["hour", "day", "week", "month", "quarter", "year"]


Moment: TypeAlias = str | float | datetime | date


_SECOND, _DAY = 10**6, 86400 * 10**6
_PER_SECOND: dict[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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

    def _check_clock(self, name: str) -> None:
        """Raise where the calendar is to be applied to numbers that may be days, years or steps."""
        if self.unit_source != GUESSED or not len(self.values):
            return
        median, largest = self._sizes
        usual = _guess_unit(np.array([median]))
        if usual != self.unit:
            raise ParameterError(
                f"{name} of the calendar, and the unit of these timestamps is not clear, as "
                "their sizes differ",
                where=self.where,
                found=f"a median of {median:.0f}, as of {usual}, and numbers up to {largest:.0f}, "
                f"as of {self.unit}",
                hint=f"mend or drop the odd rows, or say the unit: {parameter('time_unit', usual)}",
            )
        if largest >= _LEAST:
            return
        raise ParameterError(
            f"{name} of the calendar, and timestamps as small as these are hardly seconds "
            "since 1970",
            where=self.where,
            found=f"numbers from {self.values.min()} to {self.values.max()}",
            hint=f"if they are seconds all the same, {parameter('time_unit', 's')}; if they are "
            "years, "
            f"{parameter('time_format', '%Y')}; else give "
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
        raise _no_times_error(table)
    column = table.frame["timestamp"]
    if column.null_count():
        raise unreadable(where, column.is_null(), column)
    if unit is not None:
        check_choice("time_unit", unit, TimeUnit)
    check_time_format(time_format)

    times = _times_of_column(column, where, unit, time_format)
    if unit is None and len(times.values):
        _check_odd_times(times)
    return times


def _no_times_error(table: Table) -> ColumnError:
    """Return the error for a table without timestamps, or with several columns of them."""
    several = names_of(table.unread, table.role, "timestamp")
    if len(several) > 1:
        return several_columns_error(table, "timestamp", several)
    return missing_column_error(
        "there is no column for the timestamp, and this needs one", "timestamp", table
    )


def _times_of_column(
    column: pl.Series, where: str, unit: TimeUnit | None, time_format: str | None
) -> Times:
    """Return the timestamps of a column, by its type and the format that is given."""
    if time_format is None:
        column = _plain_numbers(column)
    elif column.dtype.is_integer():
        column = column.cast(pl.String)

    if column.dtype == pl.String:
        dates, time_format = parse_dates(column, where, time_format)
        return _times_of_dates(dates, where, time_format)
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        return _times_of_dates(column, where)
    if not column.dtype.is_numeric():
        raise ColumnError("timestamps are numbers or dates", where=where, found=str(column.dtype))
    compact = read_compact(column) if unit is None else None
    if compact is None:
        return _times_of_numbers(column, where, unit)
    return _times_of_dates(compact, where, COMPACT)


def _plain_numbers(column: pl.Series) -> pl.Series:
    """Convert decimals and numeric text to numbers; keep dates (20200914) and non-numeric text."""
    if column.dtype == pl.String:
        first = str(column[0]).strip() if len(column) else ""
        if re.fullmatch(NUMBER, first) is None or re.fullmatch(r"\d{8}", first):
            return column
        column = column.str.strip_chars()
        if not column.str.contains(f"^({NUMBER})$").all():
            return column
    elif not column.dtype.is_decimal():
        return column
    whole = column.cast(pl.Int64, strict=False)
    is_whole = not whole.null_count() and bool((whole == column.cast(pl.Float64)).all())
    return whole if is_whole else column.cast(pl.Float64)


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
        f"{parameter('time_unit', unit)}",
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
