"""Rows and columns of a score matrix, and the ids that they stand for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankwise.core.ids import whole_numbers
from rankwise.errors import IdError, ParameterError
from rankwise.io.align import align
from rankwise.io.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankwise.core.segments import Ints

__all__ = ["Names", "ids_of"]


class Names:
    """The ids of the rows (users) or columns (items) of a score matrix.

    Parameters
    ----------
    role : {"user", "item"}
        What they are.
    ids : iterable or None
        The ids in order; None numbers them from 0.
    size : int
        How many there must be.

    Examples
    --------
    >>> Names("item", ["b", "a"], 2).ids.to_list()
    ['b', 'a']
    """

    def __init__(self, role: Literal["user", "item"], ids: Iterable[Any] | None, size: int) -> None:
        self.role = role
        self.numbered = ids is None
        given = f"{role}_ids"
        self.ids = pl.Series(role, np.arange(size)) if ids is None else ids_of(role, ids, given)
        if len(self.ids) != size:
            raise ParameterError(
                f"{role}_ids has an id for every {role} that has scores",
                found=f"{len(self.ids)} ids, {size} {role}s",
            )
        if self.ids.n_unique() < size:
            raise IdError(
                f"two {role}s have the same id",
                where=f"{role}_ids",
                found=repr(self.ids.filter(self.ids.is_duplicated())[0]),
            )

    def codes(self, table: Table) -> Ints:
        """Return the row of the matrix that each row of a table speaks of, -1 for none.

        Raises
        ------
        IdError
            If a number below 0 stands where ids are numbers from 0: padding, in most cases.
        """
        own = table.frame[self.role]
        if self.numbered and own.dtype.is_integer():
            codes = whole_numbers(own).to_numpy()
            # Seen as unsigned, negative numbers are huge: one pass tells whether all are known.
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
                f"{self.role}s of the scores are numbers from 0, and these have names",
                where=table.source,
                found=repr(own[0]) if len(own) else str(own.dtype),
                hint=f"pass {self.role}_ids=, the ids of rows and columns in order"
                + (" (to evaluate_model: items=)" if self.role == "item" else ""),
            )
        mine = Table(self.ids.to_frame(), "items", f"{self.role}_ids", "ids", {})
        wanted = align([mine, table], self.role)[1].frame.select(self.role).with_row_index("row")
        numbers = pl.DataFrame({self.role: self.ids, "code": np.arange(len(self.ids))})
        if self.ids.dtype != pl.String:
            wanted = wanted.with_columns(whole_numbers(wanted[self.role]))
            numbers = numbers.with_columns(whole_numbers(numbers[self.role]))
        rows = wanted.join(numbers, on=self.role, how="inner")
        codes = np.full(len(own), -1, dtype=np.int64)
        codes[rows["row"].to_numpy()] = rows["code"].to_numpy()
        return codes

    @cached_property
    def order(self) -> Ints | None:
        """A number for every code that grows with its id; None where codes do so themselves."""
        if self.ids.is_sorted():
            return None
        places = np.empty(len(self.ids), dtype=np.int64)
        places[self.ids.arg_sort().to_numpy()] = np.arange(len(self.ids))
        return places

    def only(self, codes: Ints) -> Names:
        """Return the names of some rows or columns."""
        return Names(self.role, self.ids.gather(codes), len(codes))


def ids_of(role: str, ids: Iterable[Any], where: str) -> pl.Series:
    """Read ids that were given one after the other."""
    try:
        whole = isinstance(ids, str | bytes | pl.DataFrame)
        listed = [None] if whole else ids if isinstance(ids, pl.Series) else list(ids)
        out = pl.Series(role, listed, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        out = pl.Series(role, [None])
    if not len(out):
        out = out.cast(pl.Int64)
    out = out.cast(pl.String) if isinstance(out.dtype, pl.Categorical | pl.Enum) else out
    if out.null_count() or not (out.dtype.is_integer() or out.dtype == pl.String):
        raise IdError("ids are integers or strings, and all of one kind", where=where,
                      found=str(out.dtype))  # fmt: skip
    return out.alias(role)
