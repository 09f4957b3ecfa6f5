"""Grades: the relevance of each event of a ground truth, ``{"view": 0, "purchase": 3}``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import polars as pl

from rankwise.errors import ColumnError, ParameterError
from rankwise.messages import parameter
from rankwise.tables.columns import EVENT
from rankwise.tables.table import Table, is_absent

MERGED = "truth_rows_merged"
"""The count of rows that a ground truth lacks because another event of the same user and item has a larger grade."""


def with_grades(truth: Table | None, grades: Mapping[str, float] | None) -> Table | None:
    """Return a ground truth that has the relevance of its events.

    Raises
    ------
    ColumnError
        If it has no events, a relevance beside them, or an event without a grade.
    """
    if grades is None or truth is None or is_absent(truth):
        return truth
    columns = graded_columns(truth)
    event = truth.frame[EVENT].cast(pl.String)
    check_events(truth, event.drop_nulls().unique(), grades, event.null_count())
    relevance = event.replace_strict([*grades], [*grades.values()], return_dtype=pl.Float64)
    return replace(truth, frame=truth.frame.with_columns(relevance=relevance), columns=columns)


def graded_columns(truth: Table) -> dict[str, str]:
    """Return the columns of a ground truth, with the event column also as the relevance."""
    if EVENT not in truth.frame.columns:
        raise ColumnError(
            "there is no column of events of the ground truth, which have grades",
            where=truth.source,
            found=truth.format,
            hint="pass a table with this column; of a split, its test part: split.test",
        )
    if "relevance" in truth.frame.columns:
        raise ColumnError(
            "a ground truth has grades of its events, or a relevance",
            where=truth.source,
            found=f"column {truth.columns.get('relevance', 'relevance')!r} beside "
            f"{truth.columns[EVENT]!r}",
            hint=f"leave the relevance unused: {parameter('columns', {'truth.relevance': None})}",
        )
    return {**truth.columns, "relevance": truth.columns[EVENT]}


def check_events(truth: Table, events: pl.Series, grades: Collection[str], missing: int) -> None:
    """Raise unless each of the distinct events has a grade, and no row lacks an event."""
    unknown = events.filter(~events.is_in([*grades])).sort()
    if len(unknown) or missing:
        raise ColumnError(
            "every event needs a grade",
            where=f"{truth.source}, column {truth.columns[EVENT]!r}",
            found=", ".join(map(repr, unknown.to_list()[:6]))
            or f"{missing:,} rows without an event",
            hint="give the others a relevance of 0, or drop their rows",
        )


def no_truth_error() -> ParameterError:
    """Return the error for grades without the ground truth whose events have them."""
    return ParameterError(
        "grades are of the events of a ground truth", found="no truth", hint="pass one"
    )


def keep_largest_grade(truth: Table | None, grades: Mapping[str, float] | None) -> Table | None:
    """Keep the row with the largest grade of each user and item, and count the other rows."""
    if grades is None or truth is None or is_absent(truth):
        return truth
    ordered = truth.frame.sort("relevance", descending=True, maintain_order=True)
    frame = ordered.unique(["user", "item"], keep="first", maintain_order=True)
    merged = len(truth.frame) - len(frame)
    if not merged:
        return truth
    counts = {**truth.counts, MERGED: truth.counts.get(MERGED, 0) + merged}
    return replace(truth, frame=frame, counts=counts)
