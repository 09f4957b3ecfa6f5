"""Tables with standard column names, and all tables of one evaluation together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import polars as pl

from rankwise.core.digests import digest_of_rows
from rankwise.core.truth import reaches
from rankwise.tables.columns import TableRole
from rankwise.tables.protocol import Protocol

TRAINED = "trained"
"""The column that says which known rows of a split models are trained on; absent if all are."""

__all__ = ["TRAINED", "Recommendations", "Table", "Tables", "absent_truth", "is_absent", "names_no_columns"]


@dataclass(frozen=True)
class Table:
    """A table with standard column names.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns ``user``, ``item`` and, where they exist, ``rank``, ``score``, ``relevance``,
        ``timestamp``; tables of users and items keep the names of their other columns.
    role : str
        What the table is for: ``"truth"``, ``"train"``, ….
    source : str
        The file or object that it was read from.
    format : str
        The format or layout of the source.
    columns : dict of str to str
        The name in the source of each column.
    is_text : bool, default=False
        Whether its ids were text in a file, and are integers because all could be converted.
    sha256 : str or None, default=None
        The hash of the file; None for tables in memory.
    split : mapping or None, default=None
        The card of the split that the table is a part of, if known.
    unread : tuple of str, default=()
        Columns of the source that were not read.
    trimmed : int, default=0
        Number of ids of a text file that had blanks around them, which were removed.
    """

    frame: pl.DataFrame
    role: TableRole
    source: str
    format: str
    columns: dict[str, str]
    is_text: bool = False
    sha256: str | None = None
    split: Mapping[str, Any] | None = None
    unread: tuple[str, ...] = ()
    trimmed: int = 0

    def with_ids(self, column: str, ids: pl.Series) -> Self:
        """Return the table with other ids in one of its columns."""
        return replace(self, frame=self.frame.with_columns(ids.alias(column)))

    def with_frame(self, frame: pl.DataFrame) -> Self:
        """Return the table with other rows."""
        return replace(self, frame=frame)

    @property
    def trained(self) -> Self:
        """The training rows: those of a split without the other rows that it knows of users.

        A user's history has all known rows; items are counted in the training rows alone.
        """
        if TRAINED not in self.frame.columns:
            return self
        return self.with_frame(self.frame.filter(TRAINED).drop(TRAINED))

    @property
    def is_positional(self) -> bool:
        """Whether the source names no columns: a dict by user, tuples, arrays, matrices."""
        return names_no_columns(self.format)

    @cached_property
    def digest(self) -> int:
        """The digest of users, items and relevance, where a missing relevance is 1; computed once for all passes."""
        return digest_of_rows(self.frame, "relevance")

    def relevant(self, threshold: float | None) -> pl.DataFrame:
        """Return the relevant rows: all rows, if there is no relevance."""
        if "relevance" not in self.frame.columns:
            return self.frame
        value = pl.col("relevance")
        return self.frame.filter(value > 0 if threshold is None else reaches(value, threshold))

    @property
    def card(self) -> dict[str, Any]:
        """The table's entry in a result: source, format, rows, columns, ids and hash."""
        ids = {name: str(self.frame[name].dtype) for name in ("user", "item") if name in self.frame.columns}
        return {
            "source": self.source,
            "format": self.format,
            "rows": len(self.frame),
            "columns": self.columns,
            "unread": list(self.unread),
            "ids": ids,
            "ids_trimmed": self.trimmed,
            "sha256": self.sha256,
        }


def names_no_columns(layout: str) -> bool:
    """Whether sources of a format or layout have no columns with names."""
    return layout.startswith(("{", "[", "dense", "sparse", "list of", "weights", "ids", "tensors"))


@dataclass(frozen=True)
class Recommendations(Table):
    """Recommendation lists, or the exact ranks of judged items.

    Attributes
    ----------
    protocol : Protocol or None, default=None
        The candidate sets that the lists were ranked from; None if unknown.
    counts : mapping of str to int
        Irregularities that were counted when the lists were made.
    lengths : polars.DataFrame or None, default=None
        For exact ranks, each ``user`` and the size of its candidate set, ``length``. The rows are
        then judged items only, with the ranks ``first`` to ``last`` that each may have.
    unranked : polars.DataFrame or None, default=None
        For exact ranks, judged items outside the candidate sets: ``user``, ``item``.
    k : int or None, default=None
        For lists that were cut at k, k; they also hold the items tied with their last item.
    """

    protocol: Protocol | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    lengths: pl.DataFrame | None = None
    unranked: pl.DataFrame | None = None
    k: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether these are exact ranks of judged items, not lists."""
        return self.lengths is not None


def absent_truth(recommendations: Table) -> Table:
    """Return what stands for a ground truth that was not given, with ids of the lists' types."""
    frame = recommendations.frame.select("user", "item").clear()
    return Table(frame, "truth", "none", "none", {})


def is_absent(truth: Table) -> bool:
    """Return whether a table stands for a ground truth that was not given."""
    return truth.format == "none"


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables of an evaluation, or of a piece of one; None for absent tables.

    Attributes
    ----------
    unlisted : Table or None, default=None
        In a piece, the users who are evaluated although the piece has no list of them.
    """

    recommendations: Recommendations | None = None
    truth: Table | None = None
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None
    baseline: Table | None = None
    weights: Table | None = None
    unlisted: Table | None = None

    @property
    def by_role(self) -> dict[TableRole, Table]:
        """The tables that are present."""
        tables: dict[Any, Table | None] = {f.name: getattr(self, f.name) for f in fields(self)}
        return {role: table for role, table in tables.items() if table is not None}
