"""Values with their confidence intervals, each computed once for all charts and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rankwise.core.view import number
from rankwise.errors import UsageError
from rankwise.results.result import Result

__all__ = ["Estimate", "Estimates"]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % confidence interval; ``missing`` says why there is no interval."""

    value: float
    low: float = math.nan
    high: float = math.nan
    users: int | None = None
    missing: str = ""

    def __str__(self) -> str:
        if math.isnan(self.low):
            return number(self.value)
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"


class Estimates:
    """The estimates of several results, kept after the first time they are asked for."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = results
        self._known: dict[tuple[object, ...], Estimate] = {}
        self._slices: dict[str, dict[tuple[object, object], dict[str, Any]]] = {}

    def only(self, systems: Iterable[str]) -> Estimates:
        """Return the estimates of some systems; what one of the two knows, the other knows."""
        some = Estimates({name: self.results[name] for name in systems})
        some._known, some._slices = self._known, self._slices
        return some

    @property
    def systems(self) -> list[str]:
        """The names of the results."""
        return list(self.results)

    @property
    def cells(self) -> list[str]:
        """Every value that any result has."""
        return list(dict.fromkeys(cell for r in self.results.values() for cell in r.values))

    def of(self, system: str, cell: str, by: str | None = None, group: str | None = None) -> Estimate:
        """Return the value of a system, over all users or those of one group."""
        key = (system, cell, by, group)
        if key not in self._known:
            self._known[key] = self._estimate(system, cell, by, group)
        return self._known[key]

    def _estimate(self, system: str, cell: str, by: str | None, group: str | None) -> Estimate:
        result = self.results[system]
        if cell not in result.values:
            return Estimate(math.nan, missing="not evaluated")
        value = result.values[cell] if by is None else self._of_group(system, cell, by, group)
        try:
            interval = result.interval(cell, by=by, group=group)
        except UsageError as error:
            return Estimate(value, missing=error.what)
        if math.isnan(interval.low):
            why = "; ".join(interval.flags) or "too few users for an interval"
            return Estimate(value, users=interval.n, missing=why)
        return Estimate(value, interval.low, interval.high, interval.n)

    def _of_group(self, system: str, cell: str, by: str, group: str | None) -> float:
        """Return the value of a group of users or items, as the table of slices has it."""
        if system not in self._slices:
            slices = self.results[system].slices
            rows = [] if slices is None else slices.to_dicts()
            self._slices[system] = {(row["by"], row["group"]): row for row in rows}
        value = self._slices[system].get((by, group), {}).get(cell)
        return math.nan if value is None else float(value)
