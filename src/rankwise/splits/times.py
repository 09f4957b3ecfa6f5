"""Moments and durations: of numbers or dates, in ticks, with the unit said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.arguments import check_choice
from rankwise.core.ids import whole_numbers
from rankwise.errors import ColumnError, ParameterError

if TYPE_CHECKING:
    from rankwise.io.tables import Table

__all__ = ["Align", "Duration", "Length", "Moment", "TimeUnit", "Times", "read_times"]

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
Align: TypeAlias = Literal["hour", "day", "week", "month", "quarter", "year"]
Moment: TypeAlias = "str | float | datetime | date"
Length: TypeAlias = "str | float | timedelta"

_PER_SECOND: dict[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6,
                 "d": 86400 * 10**6, "w": 7 * 86400 * 10**6}  # fmt: skip
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_TRUNCATE = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
_TEXT = re.compile(r"(\d+)(us|ms|mo|[smhdwqy])")


@dataclass(frozen=True)
class Duration:
    """A length of time: months as the calendar has them, microseconds, or ticks of the column."""

    months: int = 0
    microseconds: int = 0
    ticks: float = 0

    @classmethod
    def read(cls, name: str, length: Any) -> Duration:
        """Read ``"14d"``, ``"1w12h"``, ``"1mo"``, a `timedelta`, or a number of ticks.

        >>> Duration.read("gap", "1mo2d")
        Duration(months=1, microseconds=172800000000, ticks=0)
        """
        if isinstance(length, np.timedelta64):
            length = length.astype("timedelta64[us]").item()
        if isinstance(length, timedelta):
            found = cls(microseconds=length // timedelta(microseconds=1))
        elif isinstance(length, str):
            parts = _TEXT.findall(length)
            if not parts or "".join(number + unit for number, unit in parts) != length:
                raise ParameterError(
                    f"{name} is a length of time",
                    found=f"{name}={length!r}",
                    hint='write "14d", "12h", "1w", "1mo" (units us ms s m h d w mo q y), a '
                    "timedelta, or a number in the unit of the timestamps",
                )
            found = cls(
                sum(int(number) * _MONTHS.get(unit, 0) for number, unit in parts),
                sum(int(number) * _MICROSECONDS.get(unit, 0) for number, unit in parts),
            )
        elif _is_number(length):
            found = cls(ticks=length)
        else:
            raise ParameterError(f"{name} is a length of time", found=f"{name}={length!r}")
        if min(found.months, found.microseconds, found.ticks) < 0:
            raise ParameterError(f"{name} cannot be negative", found=f"{name}={length!r}")
        return found

    def __bool__(self) -> bool:
        return bool(self.months or self.microseconds or self.ticks)

    def __mul__(self, times: int) -> Duration:
        return Duration(self.months * times, self.microseconds * times, self.ticks * times)

    def __add__(self, other: Duration) -> Duration:
        return Duration(
            self.months + other.months,
            self.microseconds + other.microseconds,
            self.ticks + other.ticks,
        )


@dataclass(frozen=True, eq=False)
class Times:
    """The timestamps of a table as ticks since 1970, and what a tick is.

    Attributes
    ----------
    values : array, shape (n,)
        Whole numbers, or floats where the column has fractions.
    unit : {"s", "ms", "us", "ns"}
        What a tick is.
    is_date : bool
        Whether the column holds dates, so that plain numbers mean nothing.
    said : str
        How the unit is known.
    where : str
        The column, for messages.
    """

    values: Any
    unit: TimeUnit
    is_date: bool
    said: str
    where: str

    @property
    def per_second(self) -> int:
        """How many ticks a second has."""
        return _PER_SECOND[self.unit]

    def moment(self, name: str, at: Any) -> Any:
        """Return a moment in ticks."""
        if isinstance(at, np.datetime64):
            at = at.astype("datetime64[us]").item()
        if isinstance(at, str):
            try:
                at = datetime.fromisoformat(at)
            except ValueError:
                raise ParameterError(
                    f"{name} is not a moment",
                    found=f"{name}={at!r}",
                    hint='write "2013-09-01", "2013-09-01T12:00", a datetime, or a number in the '
                    "unit of the timestamps",
                ) from None
        if isinstance(at, date) and not isinstance(at, datetime):
            at = datetime(at.year, at.month, at.day)
        if isinstance(at, datetime):
            try:
                at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
                since = at - datetime(1970, 1, 1, tzinfo=UTC)
                return self._ticks(int(since // timedelta(microseconds=1)))
            except (TypeError, ValueError, OverflowError):  # pandas' NaT is a datetime too
                raise ParameterError(f"{name} is not a moment", found=f"{name}={at!r}") from None
        if self.is_date or not _is_number(at):
            raise ParameterError(
                f"{name} is not a moment",
                found=f"{name}={at!r}",
                hint=f"{self.where} holds {'dates' if self.is_date else 'numbers'}",
            )
        return at

    def shift(self, at: Any, by: Duration, sign: Literal[-1, 1]) -> Any:
        """Return a moment so much later (1) or earlier (-1)."""
        if by.ticks and self.is_date:
            raise ParameterError(
                "a length of time for dates has a unit",
                found=str(by.ticks),
                hint='write "14d", "12h", "1mo", or a timedelta',
            )
        try:
            if by.months:
                at = self._ticks(self._calendar(at, f"{'-' if sign < 0 else ''}{by.months}mo"))
            return at + sign * (self._ticks(by.microseconds) + by.ticks)
        except (OverflowError, pl.exceptions.PolarsError) as error:
            raise ParameterError("a length of time is out of range", found=f"{by}") from error

    def end_of(self, at: Any, align: Align) -> Any:
        """Return where the hour, day, week (from Monday), month, … of a moment ends."""
        check_choice("align", align, Align)
        every = _TRUNCATE[align]
        start = pl.Series([self._microseconds(at)]).cast(pl.Datetime("us")).dt.truncate(every)
        return self._ticks(start.dt.offset_by(every).to_physical()[0])

    def after(self, at: Any) -> Any:
        """Return the next moment that there is."""
        return np.nextafter(at, np.inf) if self.values.dtype.kind == "f" else at + 1

    def seconds(self, ticks: Any) -> float:
        """Return how many seconds some ticks are."""
        return float(ticks) / self.per_second

    def show(self, at: Any) -> str | int | float:
        """Write a moment: dates as ISO 8601 in UTC, numbers as they are."""
        if not self.is_date:
            return int(at) if at == int(at) and self.values.dtype.kind != "f" else float(at)
        text = (
            pl.Series([self._microseconds(at)])
            .cast(pl.Datetime("us"))
            .dt.to_string("iso:strict")[0]
        )
        return str(text).removesuffix(".000000")

    def take(self, rows: Any) -> Times:
        """Return the timestamps of some rows."""
        return Times(self.values[rows], self.unit, self.is_date, self.said, self.where)

    def _calendar(self, at: Any, by: str) -> int:
        moment = pl.Series([self._microseconds(at)]).cast(pl.Datetime("us"))
        return int(moment.dt.offset_by(by).to_physical()[0])

    def _microseconds(self, at: Any) -> int:
        at = at.item() if isinstance(at, np.generic) else at  # NumPy's whole numbers overflow
        return int(at * 10**6 // self.per_second)

    def _ticks(self, microseconds: int) -> Any:
        per_second = self.per_second
        if microseconds * per_second % 10**6 == 0:
            return microseconds * per_second // 10**6
        return microseconds * per_second / 10**6


def read_times(table: Table, unit: TimeUnit | None) -> Times:
    """Read the timestamps of a table: numbers, dates, or text that holds dates (ISO 8601)."""
    name = table.columns.get("timestamp", "timestamp")
    where = f"{table.source}, column {name!r}"
    if "timestamp" not in table.frame.columns:
        raise ColumnError(
            "there is no column for the timestamp, and this needs one",
            where=table.source,
            found=f"columns {', '.join(map(repr, table.frame.columns))}",
            hint='say which: columns={"timestamp": "…"}, or on the command line '
            "--column timestamp=…",
        )
    column = table.frame["timestamp"]
    if column.null_count():
        raise _bad(where, column.is_null(), column)
    if unit is not None:
        check_choice("time_unit", unit, TimeUnit)
    if column.dtype == pl.String:
        column = _dates(column, where)
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        return _of_dates(column, where)
    if not column.dtype.is_numeric() or column.dtype.is_decimal():
        raise ColumnError("timestamps are numbers or dates", where=where, found=str(column.dtype))
    if column.dtype in (pl.Int128, pl.UInt128):
        column = whole_numbers(column)
    values = column.to_numpy()
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise _bad(where, pl.Series(~np.isfinite(values)), column)
        if len(values) and np.abs(values).max() >= 2.0**62:
            raise ColumnError("a timestamp is out of range", where=where, found=f"{values.max()}")
        if len(values) and np.abs(values).max() < 2.0**53 and (values == np.floor(values)).all():
            values = values.astype(np.int64)
    elif len(values) and (int(values.max()) >= 2**62 or int(values.min()) <= -(2**62)):
        raise ColumnError("a timestamp is out of range", where=where, found=str(values.max()))
    else:
        values = values.astype(np.int64, copy=False)
    guessed = _guess(values) if unit is None else unit
    said = "given" if unit is not None else "guessed from the size of the numbers"
    return Times(values, guessed, is_date=False, said=said, where=where)


def _guess(values: Any) -> TimeUnit:
    """Seconds up to the year 5138; the same moments in ms, µs and ns are so much larger."""
    largest = float(np.abs(values).max()) if len(values) else 0.0
    for unit, limit in (("s", 1e11), ("ms", 1e14), ("us", 1e17)):
        if largest < limit:
            return unit  # type: ignore[return-value]
    return "ns"


def _of_dates(column: pl.Series, where: str) -> Times:
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    unit: TimeUnit = "us"
    if column.dtype == pl.Datetime("ns") and bool((column.to_physical() % 1000 != 0).any()):
        unit = "ns"
    values = column.cast(pl.Datetime(unit)).to_physical().to_numpy()  # type: ignore[arg-type]
    return Times(values, unit, is_date=True, said="dates", where=where)


def _dates(column: pl.Series, where: str) -> pl.Series:
    try:
        found = column.str.strip_chars().str.to_datetime(strict=False, time_unit="us")
    except pl.exceptions.PolarsError:  # no format was recognised at all
        found = pl.Series([None] * len(column), dtype=pl.Datetime("us"))
    if found.null_count():
        raise _bad(where, found.is_null(), column)
    return found


def _is_number(value: object) -> bool:
    """Whether a value is a number that 64 bits hold."""
    whole_or_real = isinstance(value, int | float | np.integer | np.floating)
    if not whole_or_real or isinstance(value, bool):
        return False
    try:
        return abs(float(value)) < 2.0**62  # type: ignore[arg-type]
    except OverflowError:
        return False


def _bad(where: str, bad: pl.Series, column: pl.Series) -> ColumnError:
    row = int(bad.arg_true()[0])
    return ColumnError(
        "a timestamp is neither a number nor a date",
        where=f"{where}, row {row + 1}",
        found=f"{column[row]!r} ({int(bad.sum())} such rows)",
        hint="dates are written 2013-09-01 or 2013-09-01T12:00:00; drop rows without one",
    )
