"""Everything that the sections of a report draw on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from rankwise.core.view import TableView
from rankwise.measures.describe import FAMILIES, Description
from rankwise.measures.measure import Measure
from rankwise.results.plots.estimates import Estimates
from rankwise.results.report.run_lists import Lists
from rankwise.results.result import Result

__all__ = ["Material"]

_DRAWN = 12  # systems in a chart of several groups or curves: more cannot be told apart


@dataclass(frozen=True, eq=False)
class Material:
    """Results, their comparison, and the tables behind them.

    Attributes
    ----------
    estimates : Estimates
        The values of all results with their intervals.
    primary : str
        The primary measure.
    pairs : polars.DataFrame or None
        The table of a comparison; None if there is none, for the reason in ``not_compared``.
    settings : mapping
        The settings of the comparison.
    lists : Lists
        The recommendation lists and tables, where they can be had.
    audit : polars.DataFrame or None
        The checks of an audit of the split.
    decision : TableView or None
        The checks of a decision, under its outcome.
    """

    estimates: Estimates
    primary: str
    pairs: pl.DataFrame | None
    not_compared: str
    settings: Mapping[str, Any]
    lists: Lists
    audit: pl.DataFrame | None
    decision: TableView | None = None

    @property
    def results(self) -> Mapping[str, Result]:
        """The results by name."""
        return self.estimates.results

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        having = (result for result in self.results.values() if cell in result.values)
        first = next(having, None)
        return None if first is None else first.direction(cell)

    @cached_property
    def ranked(self) -> list[str]:
        """The systems, the best value of the primary measure first."""
        value = {name: r.values.get(self.primary, math.nan) for name, r in self.results.items()}
        undefined = [name for name in value if math.isnan(value[name])]
        defined = [name for name in value if not math.isnan(value[name])]
        up = self.direction(self.primary) is False  # without a direction the highest is first
        return sorted(defined, key=lambda name: value[name], reverse=not up) + undefined

    @cached_property
    def drawn(self) -> Estimates:
        """The estimates of the systems that charts of all systems show: the best, if many."""
        if len(self.results) <= _DRAWN:
            return self.estimates
        return self.estimates.only(self.ranked[:_DRAWN])

    @property
    def left_out(self) -> str:
        """What a reader should know of a chart without all systems; empty if it has all."""
        if len(self.results) <= _DRAWN:
            return ""
        return f" Shown are the {_DRAWN} best of {len(self.results):,} systems."

    @cached_property
    def whole_cells(self) -> list[str]:
        """The values that are no cell of a measure with several, the primary measure first."""
        heads = tuple(f"{name}[" for name in self._measures)
        cells = [cell for cell in self.estimates.cells if not cell.startswith(heads)]
        return sorted(cells, key=lambda cell: cell != self.primary)

    def measure_of(self, cell: str) -> Measure | None:
        """Return the measure whose value this is."""
        return self._measures.get(cell)

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        known: dict[str, Measure] = {}
        for result in self.results.values():
            for measure in result.measures:
                for cell in measure.cells:
                    known.setdefault(cell, measure)
        return known

    def in_families(self, families: Sequence[str]) -> list[str]:
        """Return the values of measures of some families."""
        found = ((cell, self.measure_of(cell)) for cell in self.whole_cells)
        return [cell for cell, m in found if m is not None and m.family in families]

    @property
    def k(self) -> int:
        """The length of the lists that exposure and examples are about."""
        measure = self.measure_of(self.primary)
        if measure is None or not measure.k:
            return 10
        return dict(zip(measure.cells, measure.k, strict=True))[self.primary]

    @property
    def descriptions(self) -> list[Description]:
        """What is known about every measure of the results, family by family."""
        classes = {type(m): None for r in self.results.values() for m in r.measures}
        order = list(FAMILIES)
        found = [Description(cls) for cls in classes]
        return sorted(
            found, key=lambda d: (order.index(d.cls.family) if d.cls.family in order else len(order), d.cls.name)
        )
