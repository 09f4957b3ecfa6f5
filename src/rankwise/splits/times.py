"""Points in time and durations, from dates or numbers, in ticks of a known unit since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.core.choices import TimeUnit
from rankwise.core.vocabulary import whole_numbers
from rankwise.errors import ColumnError, ParameterError
from rankwise.splits.dates import COMPACT, check_time_format, parse_dates, read_compact, unreadable
from rankwise.tables.table import Table

__all__ = ["Align", "Duration", "Length", "Moment", "TimeUnit", "Times", "read_times"]

Align: TypeAlias = Literal["hour", "day", "week", "month", "quarter", "year"]
Moment: TypeAlias = str | float | datetime | date
Length: TypeAlias = str | float | timedelta

_PER_SECOND: dict[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MICROSECONDS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
    "w": 7 * 86400 * 10**6,
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
        wrong, found = f"{name} is a length of time", _found(name, length)
        if isinstance(length, timedelta):
            duration = cls(microseconds=length // timedelta(microseconds=1))
        elif isinstance(length, str):
            parts = _TEXT.findall(length)
            if not parts or "".join(number + unit for number, unit in parts) != length:
                hint = (
                    'write "14d", "12h", "1w", "1mo" (units us ms s m h d w mo q y), a '
                    "timedelta, or a number in the unit of the timestamps"
                )
                raise ParameterError(wrong, found=found, hint=hint)
            duration = cls(
                sum(int(number) * _MONTHS.get(unit, 0) for number, unit in parts),
                sum(int(number) * _MICROSECONDS.get(unit, 0) for number, unit in parts),
            )
        elif _is_number(length):
            duration = cls(ticks=length)
        else:
            raise ParameterError(wrong, found=found)
        if min(duration.months, duration.microseconds, duration.ticks) < 0:
            raise ParameterError(f"{name} cannot be negative", found=found)
        return duration

    def __bool__(self) -> bool:
        return bool(self.months or self.microseconds or self.ticks)

    def __mul__(self, times: int) -> Duration:
        return Duration(self.months * times, self.microseconds * times, self.ticks * times)

    def __add__(self, other: Duration) -> Duration:
        months, microseconds = self.months + other.months, self.microseconds + other.microseconds
        return Duration(months, microseconds, self.ticks + other.ticks)


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
        wrong, found = f"{name} is not a moment", _found(name, value)
        if self.time_format == COMPACT and isinstance(value, int | np.integer):  # as the column has dates
            value = str(value)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                hint = 'write "2013-09-01", "2013-09-01T12:00", a datetime, or a number in the unit of the timestamps'
                raise ParameterError(wrong, found=found, hint=hint) from None
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if isinstance(value, datetime):
            self._check_clock(f"{name} is a moment")
            try:
                value = value.replace(tzinfo=UTC) if value.tzinfo is None else value
                since = value - datetime(1970, 1, 1, tzinfo=UTC)
                return self._ticks(int(since // timedelta(microseconds=1)))
            except (TypeError, ValueError, OverflowError):  # pandas' NaT is a datetime too
                raise ParameterError(wrong, found=found) from None
        if self.is_date or not _is_number(value):
            hint = f"{self.where} holds {'dates' if self.is_date else 'numbers'}"
            raise ParameterError(wrong, found=found, hint=hint)
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
            whole = moment == int(moment) and self.values.dtype.kind != "f"
            return int(moment) if whole else float(moment)
        text = self._date(moment).dt.to_string("iso:strict")[0]
        return str(text).removesuffix(".000000")

    def _check_clock(self, parameter: str) -> None:
        """Raise where the calendar is to be applied to numbers that may be days, years or steps."""
        if self.unit_source != GUESSED or not len(self.values) or np.abs(self.values).max() >= _LEAST:
            return
        raise ParameterError(
            f"{parameter} of the calendar, and timestamps as small as these are hardly seconds since 1970",
            where=self.where,
            found=f"numbers from {self.values.min()} to {self.values.max()}",
            hint='if they are seconds all the same, time_unit="s"; if they are years, time_format="%Y"; else give '
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
        raise ColumnError(
            "there is no column for the timestamp, and this needs one",
            where=table.source,
            found=f"columns {', '.join(map(repr, table.frame.columns))}",
            hint='say which: columns={"timestamp": "…"}',
        )
    column = table.frame["timestamp"]
    if column.null_count():
        raise unreadable(where, column.is_null(), column)
    if unit is not None:
        check_choice("time_unit", unit, TimeUnit)
    check_time_format(time_format)
    written = column.cast(pl.String) if time_format is not None and column.dtype.is_integer() else column
    if written.dtype == pl.String:
        dates, time_format = parse_dates(written, where, time_format)
        return _times_of_dates(dates, where, time_format)
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        return _times_of_dates(column, where)
    if not column.dtype.is_numeric() or column.dtype.is_decimal():
        raise ColumnError("timestamps are numbers or dates", where=where, found=str(column.dtype))
    compact = read_compact(column) if unit is None else None
    return _times_of_numbers(column, where, unit) if compact is None else _times_of_dates(compact, where, COMPACT)


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


def _found(name: str, value: object) -> str:
    """Return a parameter as errors show it: Python refuses to write very long numbers."""
    try:
        return f"{name}={value!r}"[:80]
    except ValueError:
        return f"{name} is a number of thousands of digits"
