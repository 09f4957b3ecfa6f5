"""The interface of a result for plots, reports and trackers, so that `Result` can import these.

`Result` has methods that draw, report and log it; the modules behind those methods would import
`Result` in a circle. They take anything with these attributes instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from rankwise.measures.measure import Measure, ValueKind

if TYPE_CHECKING:
    from rankwise.stats.differences import Interval

__all__ = ["ShownResult"]


class ShownResult(Protocol):
    """The attributes of `rankwise.Result` that displays read."""

    @property
    def measures(self) -> tuple[Measure, ...]: ...
    @property
    def values(self) -> Mapping[str, float]: ...
    @property
    def per_user(self) -> pl.DataFrame: ...
    @property
    def counts(self) -> dict[str, int]: ...
    @property
    def slices(self) -> pl.DataFrame | None: ...
    @property
    def provenance(self) -> dict[str, Any]: ...
    @property
    def kinds(self) -> Mapping[str, ValueKind]: ...
    @property
    def split(self) -> dict[str, Any] | None: ...
    @property
    def tested_on(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    def cell(self, measure: str | Measure) -> str: ...
    def direction(self, cell: str) -> bool | None: ...
    def is_mean_of_users(self, cell: str) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save(self, folder: str | Path) -> Path: ...
    def interval(self, measure: str | Measure, *, by: str | None = None,
                 group: object = None) -> Interval: ...  # fmt: skip
