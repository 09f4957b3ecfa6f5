"""Axes of a score matrix: the ids of its rows (users) and columns (items)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from rankwise.core.arguments import bounded
from rankwise.core.ragged import Ints
from rankwise.core.texts import plain_texts
from rankwise.core.vocabulary import whole_numbers
from rankwise.errors import IdError, ParameterError
from rankwise.tables.align import align
from rankwise.tables.table import Table

__all__ = ["Axis", "read_ids"]


class Axis:
    """The ids along one axis of a score matrix, in order; by default the numbers from 0.

    >>> Axis("item", ["b", "a"], 2).ids.to_list()
    ['b', 'a']
    """

    def __init__(self, role: Literal["user", "item"], ids: Iterable[Any] | None, size: int) -> None:
        self.role = role
        self.numbered = ids is None
        name = f"{role}_ids"
        self.ids = pl.Series(role, np.arange(size)) if ids is None else read_ids(role, ids, name)
        if len(self.ids) != size:
            raise ParameterError(
                f"{name} must have one id for every {role} with scores", found=f"{len(self.ids)} ids, {size} {role}s"
            )
        if self.ids.n_unique() < size:
            raise IdError(
                f"two {role}s have the same id", where=name, found=repr(self.ids.filter(self.ids.is_duplicated())[0])
            )

    def codes(self, table: Table) -> Ints:
        """Return the position on this axis of the id in each table row, -1 for an unknown id.

        A negative id where ids are numbers from 0 raises: it is padding, in most cases.
        """
        ids = table.frame[self.role]
        if self.numbered and ids.dtype.is_integer():
            codes = whole_numbers(ids).to_numpy()
            # Viewed as unsigned, negative numbers are huge: one pass checks both bounds.
            if not len(codes) or codes.view(np.uint64).max() < len(self.ids):
                return codes
            if codes.min() < 0:
                row = int(np.argmax(codes < 0))
                raise IdError(
                    f"{self.role}s are numbers from 0, and a code is negative",
                    where=f"{table.source}, row {row + 1}",
                    found=f"{codes[row]} ({int((codes < 0).sum())} such rows)",
                    hint="drop padding, or name the rows and columns with user_ids= and item_ids=",
                )
            return np.where(codes < len(self.ids), codes, -1)
        if self.numbered and not table.is_text:
            raise IdError(
                f"{self.role}s of the scores are numbered from 0, but these ids are not numbers",
                where=table.source,
                found=repr(ids[0]) if len(ids) else str(ids.dtype),
                hint=f"pass {self.role}_ids=, the ids of rows and columns in order"
                + (" (to evaluate_model: items=)" if self.role == "item" else ""),
            )
        axis = Table(self.ids.to_frame(), "items", f"{self.role}_ids", "ids", {})
        rows = align([axis, table], self.role)[1].frame.select(self.role).with_row_index("row")
        known = pl.DataFrame({self.role: self.ids, "code": np.arange(len(self.ids))})
        if self.ids.dtype != pl.String:
            rows = rows.with_columns(whole_numbers(rows[self.role]))
            known = known.with_columns(whole_numbers(known[self.role]))
        matched = rows.join(known, on=self.role, how="inner")
        codes = np.full(len(ids), -1, dtype=np.int64)
        codes[matched["row"].to_numpy()] = matched["code"].to_numpy()
        return codes

    @cached_property
    def id_rank(self) -> Ints | None:
        """The rank of each code's id among the sorted ids; None if codes are already sorted."""
        return _ranks(self.ids)

    @property
    def text_rank(self) -> Ints | None:
        """The same with ids sorted as text."""
        return _ranks(self.ids.cast(pl.String))

    def subset(self, codes: Ints) -> Axis:
        """Return the axis of the given rows or columns."""
        return Axis(self.role, self.ids.gather(codes), len(codes))


def _ranks(ids: pl.Series) -> Ints | None:
    if ids.is_sorted():
        return None
    rank = np.empty(len(ids), dtype=np.int64)
    rank[ids.arg_sort().to_numpy()] = np.arange(len(ids))
    return rank


def read_ids(role: str, ids: Iterable[Any], where: str) -> pl.Series:
    """Return ids as a series of integers or strings; raise if they are neither or mixed."""
    try:
        not_ids = isinstance(ids, str | bytes | pl.DataFrame)
        values = [None] if not_ids else ids if isinstance(ids, pl.Series) else bounded(where, ids)
        series = pl.Series(role, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        series = pl.Series(role, [None])
    if not len(series):
        series = series.cast(pl.Int64)
    series = plain_texts(series)
    if series.null_count() or not (series.dtype.is_integer() or series.dtype == pl.String):
        raise IdError("ids are integers or strings, and all of one kind", where=where, found=str(series.dtype))
    return series.alias(role)
