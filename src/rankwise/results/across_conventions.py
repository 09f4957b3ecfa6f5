"""`AcrossConventions`: metrics under many conventions, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.core.view import Format, TableView, export, finite, html, number, plain

__all__ = ["SCHEMA", "AcrossConventions"]

SCHEMA: dict[str, Any] = {
    "measure": pl.String,
    "convention": pl.String,
    "value": pl.Float64,
    "users": pl.Int64,
    "definition": pl.String,
    "why": pl.String,
}


@dataclass(frozen=True, eq=False, repr=False)
class AcrossConventions:
    """The result of `rankwise.across_conventions`: metrics under many conventions.

    Attributes
    ----------
    table : polars.DataFrame
        One row per metric and convention: the ``measure`` as it was requested, ``convention``,
        ``value`` (null if the convention has no such metric), the number of ``users`` averaged
        over (null for metrics that are not means), ``definition`` (the metric of rankwise with all
        parameters), and ``why``: what is not reproduced, or why there is no value. If candidates were
        sampled, also the ``label``.
    label : str, default=""
        The label of values over sampled candidates, stated or inferred; empty for others.
    warnings : tuple of str, default=()
        Warnings about the lists.
    """

    table: pl.DataFrame
    label: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def spread(self) -> pl.DataFrame:
        """The smallest and the largest value of each metric: ``measure, low, high, values``."""
        return self.table.group_by("measure", maintain_order=True).agg(
            low=pl.col("value").drop_nans().min(),
            high=pl.col("value").drop_nans().max(),
            values=pl.col("value").drop_nans().drop_nulls().round(12).n_unique(),
        )

    def _views(self) -> list[TableView]:
        rows = [
            (
                row["measure"],
                row["convention"],
                "" if row["value"] is None else number(row["value"]),
                "" if row["users"] is None else f"{row['users']:,}",
                row["definition"] or "",
            )
            for row in self.table.to_dicts()
        ]
        notes = [f"check: {warning}" for warning in self.warnings]
        notes += [
            f"{row['measure']}: {number(row['low'])} to {number(row['high'])}"
            for row in self.spread.to_dicts()
            if row["low"] is not None
        ]
        notes += [f"{row['measure']}, {row['convention']}: {row['why']}" for row in self.table.to_dicts() if row["why"]]
        corner = f", {self.label}" if self.label else ""
        head = (f"measure{corner}", "convention", "value", "users", "definition")
        return [
            TableView(
                head,
                rows,
                notes=notes if rows else [*notes, "no convention gives this number"],
                left=(0, 1, 4),
                title="Conventions",
                label="rankwise-conventions",
            )
        ]

    def __repr__(self) -> str:
        return plain(*self._views())

    def _repr_html_(self) -> str:
        return html(*self._views())

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON."""
        data: dict[str, Any] = finite({"rows": self.table.to_dicts()})
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the table as text: ``"json"``, ``"csv"``, ``"markdown"`` or ``"latex"``."""
        return export(format, self.to_dict, lambda: self.table, self._views)
