"""Marks of the report that are HTML: intervals and bars whose places are per cents of an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.core.terminal import change, decimals, signed

_PAD = 0.08  # of the axis beyond the ends of intervals
_FAR = 5.0  # times as far as every other row is a row that an axis is not made for
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """A scale from ``low`` to ``high`` on which marks have places in per cent."""

    low: float
    high: float
    text: Callable[[float], str]

    @classmethod
    def of(
        cls, values: Iterable[float], text: Callable[[float], str], *, zero: bool = True
    ) -> Axis:
        """Return the axis of values, with room beyond both ends."""
        finite = [value for value in values if math.isfinite(value)] + ([0.0] if zero else [])
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        pad = _PAD * (high - low) or abs(high) * 0.1 or 1.0
        return cls(low - pad, high + pad, text)

    def at(self, value: float) -> float:
        """Return the place of a value in per cent; a value beyond an end gets the nearer end.

        >>> axis = Axis(-1.0, 3.0, str)
        >>> axis.at(0.0), axis.at(5.0)
        (25.0, 100.0)
        """
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The places and texts of at most six round values.

        >>> Axis(-0.011, 0.034, signed).ticks
        [(2.22, '−0.0100'), (24.44, '0'), (46.67, '+0.0100'), (68.89, '+0.0200'), (91.11, '+0.0300')]
        """
        raw = (self.high - self.low) / 5
        scale = 10.0 ** math.floor(math.log10(raw))
        step = next(each * scale for each in _STEPS if each * scale >= raw * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [
            (self.at(number * step), self.text(number * step)) for number in range(first, last + 1)
        ]


def fitting(rows: Iterable[Sequence[float]], least: float) -> list[float]:
    """Return the values that an axis should span, without rows far beyond all remaining rows.

    These reach beyond ``least``, and more than five times as far as every other row; the axis cuts
    their marks off.

    >>> fitting([(-0.02, 0.04), (0.1, 0.3), (150.0, 190.0)], least=1.0)
    [-0.02, 0.04, 0.1, 0.3]
    >>> fitting([(150.0, 190.0)], least=1.0)
    [150.0, 190.0]
    """
    kept = sorted((row for row in rows if any(map(math.isfinite, row))), key=_reach)
    while len(kept) > 1 and _reach(kept[-1]) > max(least, _FAR * _reach(kept[-2])):
        kept.pop()
    return [value for row in kept for value in row]


def _reach(row: Sequence[float]) -> float:
    return max(abs(value) for value in row if math.isfinite(value))


def percent_axis(values: Iterable[float]) -> Axis:
    """Return the axis of relative differences."""
    return Axis.of(values, change)


def value_axis(values: Iterable[float]) -> Axis:
    """Return the axis of differences, whose ticks have the decimals that its ends need."""
    values = [value for value in values if math.isfinite(value)]
    places = decimals(max(map(abs, values), default=0.0)) - 1
    return Axis.of(values, lambda value: signed(value, max(places, 0)))


_ENDS = ("point", "low", "high", "thin_low", "thin_high")


@dataclass(frozen=True)
class Bar:
    """An interval on an axis, in per cent: a thick part, a thin part around, and a point."""

    point: float | None
    low: float | None = None
    high: float | None = None
    thin_low: float | None = None
    thin_high: float | None = None
    cut_low: bool = False
    cut_high: bool = False

    @classmethod
    def on(
        cls,
        axis: Axis,
        point: float,
        low: float,
        high: float,
        thin: tuple[float, float] | None = None,
    ) -> Bar:
        """Return the bar of an estimate with its limits, cut off at the axis; NaN has no place."""
        ends = (point, low, high, *(thin or (math.nan, math.nan)))
        places = dict(
            zip(
                _ENDS,
                (axis.at(value) if math.isfinite(value) else None for value in ends),
                strict=True,
            )
        )
        if not axis.low <= point <= axis.high:
            places["point"] = None
        cut_low, cut_high = (
            any(value < axis.low for value in ends),
            any(value > axis.high for value in ends),
        )
        return cls(**places, cut_low=cut_low, cut_high=cut_high)

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        """The class, the left end and the width of each line."""
        lines = [("thin", self.thin_low, self.thin_high), ("bar", self.low, self.high)]
        return [
            (name, left, round(max(right - left, 0.4), 2))
            for name, left, right in lines
            if left is not None and right is not None
        ]


@dataclass(frozen=True)
class ForestRow:
    """One row of a forest plot: a name, an interval, a value and an outcome; or only a heading.

    ``note`` stands in the place of the interval. ``limit`` is the end of what is not allowed, which
    lies below it, or above it if ``limit_above``. ``size`` is the share of all users, drawn as a
    bar below the name.
    """

    name: str
    small: str = ""
    point: float = math.nan
    low: float = math.nan
    high: float = math.nan
    thin: tuple[float, float] | None = None
    value: str = ""
    value_small: str = ""
    outcome: str = ""
    outcome_small: str = ""
    tone: str = ""
    note: str = ""
    limit: float | None = None
    limit_above: bool = False
    indented: bool = False
    strong: bool = False
    heading: bool = False
    size: float | None = None

    @property
    def said(self) -> str:
        """The text that a screen reader says and a tooltip shows."""
        limits = "" if self.note else self.outcome
        return ", ".join(
            filter(
                None, (f"{self.name} {self.small}".strip(), self.value, self.value_small, limits)
            )
        )


@dataclass(frozen=True)
class Forest:
    """Rows of intervals on one axis, the ends of which are named in words.

    ``form`` is ``"wide"`` for the main chart, ``"mini"`` for panels, or empty.
    """

    rows: Sequence[ForestRow]
    axis: Axis
    heads: tuple[str, str] = ("", "")
    ends: tuple[str, str] = ("", "")
    form: str = ""
    title: str = ""
    figure: Any = None
    """The same as a chart, for files."""

    def bar(self, row: ForestRow) -> Bar:
        """Return the places of the marks of a row."""
        return Bar.on(self.axis, row.point, row.low, row.high, row.thin)

    def beyond(self, row: ForestRow) -> str:
        """Return the limits of an interval wholly beyond the axis as text, else an empty text."""
        if row.low > self.axis.high:
            return f"{self.axis.text(row.low)} to {self.axis.text(row.high)} ▶"
        return (
            f"◀ {self.axis.text(row.low)} to {self.axis.text(row.high)}"
            if row.high < self.axis.low
            else ""
        )

    def shade(self, row: ForestRow) -> tuple[float, float] | None:
        """Return the left end and the width of the range that is not allowed."""
        if row.limit is None or row.note:
            return None
        at = self.axis.at(row.limit)
        return (at, 100 - at) if row.limit_above else (0, at)

    @property
    def zero(self) -> float:
        """The place of no difference."""
        return self.axis.at(0.0)


@dataclass(frozen=True)
class BoardCell:
    """A value of a system: its text, its interval as a bar, and its verdict against a baseline."""

    metric: str
    text: str
    said: str
    bar: Bar
    tone: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Board:
    """Systems by metrics, with bars in the cells; ``rows`` are (rank, name, note, class, cells)."""

    heads: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, str, str, Sequence[BoardCell]]]


@dataclass(frozen=True)
class Stack:
    """Users who lose, have no difference, and gain, by pair of systems."""

    rows: Sequence[tuple[str, int, int, int]]

    @staticmethod
    def shares(row: tuple[str, int, int, int]) -> list[tuple[str, float, str]]:
        """Return class, width in per cent and text of each part."""
        total = max(sum(row[1:]), 1)
        return [
            (name, round(100 * count / total, 2), f"{count:,}")
            for name, count in zip(("lo", "ti", "wi"), row[1:], strict=True)
        ]
