"""Filters of rows: for ``filters=`` of a splitting rule, or to apply to a table."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice, check_count, check_number, check_positive
from rankwise.core.ragged import runs
from rankwise.core.truth import reaches
from rankwise.errors import ColumnError, EmptyError, ParameterError, ScoreError
from rankwise.splits.card import plain
from rankwise.splits.rows import Mask, Rows, read_rows
from rankwise.splits.source import cut_rows
from rankwise.tables.columns import Columns
from rankwise.tables.table import Table
from rankwise.tables.validation import where_in

__all__ = ["Deduplicate", "Filter", "KCore", "MinRating", "MinRows"]

Keep: TypeAlias = Literal["first", "last", "highest"]


@dataclass(frozen=True)
class Filter:
    """Base class of filters, which keep some rows of a table."""

    @abstractmethod
    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""

    def apply(self, interactions: Any, *, columns: Columns | None = None, time_format: str | None = None) -> Any:
        """Return the rows of a table that are kept, in their order.

        Parameters
        ----------
        interactions : table, path, mapping or sparse matrix
            As for `Splitter`.
        columns : mapping of str to str or None, optional
            The column of each role, if its name is not recognised: ``{"user": "uid"}``.
        time_format : str, optional
            As for `Splitter`.

        Returns
        -------
        table
            In the library of the table that was passed.

        Raises
        ------
        EmptyError
            If no row is kept.
        """
        rows = read_rows(interactions, columns, None, time_format)
        mask = self.keep(rows)
        if not mask.any():
            raise EmptyError(f"{self!r} leaves no rows", found=f"{len(rows)} rows before")
        return cut_rows(interactions, mask, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the filter as plain values."""
        parameters = {name: plain(value) for name, value in asdict(self).items()}
        return {"filter": type(self).__name__, **parameters}


@dataclass(frozen=True)
class KCore(Filter):
    """Keep the k-core: users and items with at least k rows among the kept rows.

    Rows are dropped until nothing changes. The result is unique, whatever the order of the steps.

    Parameters
    ----------
    k : int, default=5
        The minimum number of rows per user, and per item unless ``items`` is given.
    items : int, optional
        The minimum number of rows per item.

    Examples
    --------
    >>> len(KCore(2).apply({1: ["a", "b"], 2: ["a", "b"], 3: ["c"]}))
    4
    """

    k: int = 5
    items: int | None = None

    def __post_init__(self) -> None:
        check_count(k=self.k)
        check_positive(items=self.items)

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        least = ((rows.user, self.k), (rows.item, self.k if self.items is None else self.items))
        mask: Mask = np.ones(len(rows), dtype=bool)
        counts = [codes.count() for codes, _ in least]
        while True:
            few = np.zeros(len(rows), dtype=bool)
            for (codes, k), count in zip(least, counts, strict=True):
                few |= (count < k)[codes.of_row]
            dropped = np.flatnonzero(mask & few)
            if not len(dropped):
                return mask
            mask[dropped] = False
            for (codes, _), count in zip(least, counts, strict=True):
                count -= np.bincount(codes.of_row[dropped], minlength=len(count))


@dataclass(frozen=True)
class MinRows(Filter):
    """Keep users and items with a minimum number of rows in the unfiltered table, in one pass.

    Parameters
    ----------
    users, items : int, default=1
        The minimum number of rows per user and per item.

    Examples
    --------
    >>> MinRows(users=2).apply({1: ["a", "b"], 2: ["a"]})["user"].to_list()
    [1, 1]
    """

    users: int = 1
    items: int = 1

    def __post_init__(self) -> None:
        check_count(users=self.users, items=self.items)

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        many = (rows.user.count() >= self.users)[rows.user.of_row]
        mask: Mask = many & (rows.item.count() >= self.items)[rows.item.of_row]
        return mask


@dataclass(frozen=True)
class MinRating(Filter):
    """Keep rows with a minimum rating.

    Parameters
    ----------
    least : float
        The minimum rating.

    Examples
    --------
    >>> MinRating(4).apply({1: {"a": 5, "b": 3}})["item"].to_list()
    ['a']
    """

    least: float

    def __post_init__(self) -> None:
        check_number("least", self.least)
        if self.least is None:
            raise ParameterError("least must be a number", found="least=None")

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        mask: Mask = reaches(_ratings(rows), self.least)
        return mask


@dataclass(frozen=True)
class Deduplicate(Filter):
    """Keep one row per user-item pair.

    Parameters
    ----------
    keep_row : {"first", "last", "highest"}, default="first"
        Keep the earliest row, the latest, or the one with the highest rating. Ties are broken by a
        hash of the row's values, so that the order of the table has no influence.

    Examples
    --------
    >>> Deduplicate("highest").apply({1: [("a", 2.0), ("a", 5.0)]})["relevance"].to_list()
    [5.0]
    """

    keep_row: Keep = "first"

    def __post_init__(self) -> None:
        check_choice("keep_row", self.keep_row, Keep)

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        pair = rows.user.of_row.astype(np.int64) * rows.item.size + rows.item.of_row
        value = _ratings(rows) if self.keep_row == "highest" else rows.time.values
        order = rows.settled(np.lexsort((rows.key(0), value, pair)), value)
        edges = runs(pair[order])
        mask = np.zeros(len(rows), dtype=bool)
        mask[order[edges[:-1] if self.keep_row == "first" else edges[1:] - 1]] = True
        return mask


def _ratings(rows: Rows) -> Any:
    if "relevance" not in rows.table.frame.columns:
        raise ColumnError(
            "there is no column for the rating, and this filter needs one",
            where=rows.table.source,
            found=f"columns {', '.join(map(repr, rows.table.frame.columns))}",
            hint='say which: columns={"relevance": "…"}',
        )
    ratings = rows.table.frame["relevance"]
    missing = ratings.is_null() | (~ratings.is_finite() if ratings.dtype.is_float() else False)
    if missing.any():
        row = int(missing.arg_true()[0])
        raise missing_ratings(rows.table, f", user {rows.table.frame['user'][row]!r}", int(missing.sum()))
    return ratings.to_numpy()


def missing_ratings(table: Table, first: str, count: int) -> ScoreError:
    """Return the error of a filter by ratings for rows without one."""
    return ScoreError(
        "a rating is null, NaN or infinite, and this filter compares ratings",
        where=f"{where_in(table, 'relevance')}{first}",
        found=f"{count} such rows",
        hint="drop those rows, or fill in their rating",
    )
