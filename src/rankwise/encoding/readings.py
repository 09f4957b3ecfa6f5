"""How ids and scores are read: as they are, or as other libraries read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankwise.core.choices import IdType, OrderBy, ScorePrecision
from rankwise.tables.table import Table, Tables

__all__ = ["AS_THEY_ARE", "Readings"]

_LISTS = ("recommendations", "baseline")


@dataclass(frozen=True)
class Readings:
    """What is done to tables before anything is matched.

    Attributes
    ----------
    order_by : str, default="rank"
        ``"score"``: ranks of lists that have scores are not read.
    ids : str, default="typed"
        ``"text"``: ids of any type match what is written alike, and are ordered as text.
    score_precision : str, default="float64"
        ``"float32"``: scores are rounded to 32 bits before they order lists.
    """

    order_by: OrderBy = "rank"
    ids: IdType = "typed"
    score_precision: ScorePrecision = "float64"

    def of(self, tables: Tables) -> Tables:
        """Return the tables as they are to be taken."""
        if self == AS_THEY_ARE:
            return tables
        changed: dict[Any, Any] = {role: self._of_table(table) for role, table in tables.by_role.items()}
        return replace(tables, **changed)

    def _of_table(self, table: Table) -> Table:
        frame = table.frame
        if table.role in _LISTS and "score" in frame.columns:
            if self.order_by == "score" and "rank" in frame.columns:
                frame = frame.drop("rank")
            if self.score_precision == "float32":
                frame = frame.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64))
        # Integers are as good as the text that they are written as: they match text elsewhere.
        is_text = table.is_text or self.ids == "text"
        if frame is table.frame and is_text == table.is_text:  # the same table, whose digest may be computed already
            return table
        return replace(table, frame=frame, is_text=is_text)


AS_THEY_ARE = Readings()
