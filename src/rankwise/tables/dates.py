"""Dates as splitters read them: text in one format that fits every row, or whole numbers.

ISO 8601 is read as it is, and whole numbers such as 20200914 as dates. Other dates are read if one
format alone fits every row; where several formats fit, or a year has two digits, only the caller
can tell, and an error names the formats.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import polars as pl

from rankwise.errors import ColumnError, ParameterError
from rankwise.messages import mention, parameter

COMPACT = "%Y%m%d"
"""The format of dates that are written as whole numbers."""


_NUMERIC = r"^\s*\d{1,2}[-/.]\d{1,2}[-/.]\d"
"""Text that begins with a day or a month, and so does not say which of the two comes first."""


_ORDER = re.compile(r"%([dm])([-/.])%([dm])\2%Y")
"""A format whose dates may be followed by a time of day as in ISO 8601, on all rows or on some."""


_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y")


_TWO_DIGITS = ("%d{0}%m{0}%y", "%m{0}%d{0}%y", "%y{0}%m{0}%d")


_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


_WRITTEN = (
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d/%b/%Y"),
    *("%d %B %Y", "%B %d, %Y", "%B %d %Y"),
)


_LIKE_TIMES = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|-?[0-9]+(\.[0-9]+)?$)"
"""How times begin that are written as dates or as numbers: other text is what is wrong with a column."""


NUMBER = r"[-+]?\d{1,18}(\.\d+)?"


_SAMPLE = 1000


_FIRST_YEAR = 1000  # an earlier one is a year of two digits that was read as one of four


_COMPACT_YEARS = (1900, 2100)


def check_time_format(time_format: str | None) -> None:
    """Raise unless a format of dates can be read by Polars."""
    if time_format is None:
        return
    wrong = ParameterError(
        f"{mention('time_format')} is the format of dates, with day, month and year",
        found=parameter("time_format", time_format),
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


def parse_dates(
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


def dates_in(column: pl.Series, time_format: str | None = None) -> pl.Series:
    """Return a column of text as dates if every text is one; any other column unchanged.

    >>> dates_in(pl.Series(["17.03.2021", None]))[0], dates_in(pl.Series(["heat", "1995"]))[0]
    (datetime.datetime(2021, 3, 17, 0, 0), 'heat')
    """
    text = column.drop_nulls()
    with contextlib.suppress(ColumnError):
        for part in (text.head(_SAMPLE), text):
            dates, _ = parse_dates(part, "", time_format)
        if len(text):
            parsed = pl.DataFrame({"text": text, "date": dates}).unique("text")
            joined = column.to_frame("text").join(
                parsed, on="text", how="left", maintain_order="left"
            )
            return joined["date"].alias(column.name)
    return column


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
        f"{parameter('time_format', '%d.%m.%Y')}; drop rows without one",
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
    formats = " or ".join(parameter("time_format", name) for name in fitting)
    several = len(fitting) > 1
    return ColumnError(
        "these dates can be read in more than one way"
        if several
        else "the years of these dates have two digits",
        where=f"{where}, row {row + 1}",
        found=f"{text[row]!r} is {readings}",
        hint=f"say which: {formats}",
    )


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
        f"all are times since 1970, say their unit: {parameter('time_unit', 's')}",
    )
