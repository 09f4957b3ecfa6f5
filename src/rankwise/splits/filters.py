"""What rows must satisfy to be kept: in a rule's ``filters=``, or applied to a table."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice, check_count, check_number, check_positive
from rankwise.core.segments import runs
from rankwise.errors import ColumnError, EmptyError, ParameterError
from rankwise.splits.card import plain
from rankwise.splits.rows import Mask, Rows, read_rows
from rankwise.splits.split import cut_rows

if TYPE_CHECKING:
    from rankwise.io.columns import Columns

__all__ = ["Deduplicate", "Filter", "KCore", "MinRating", "MinRows"]

Keep: TypeAlias = Literal["first", "last", "highest"]


@dataclass(frozen=True)
class Filter:
    """Which rows of a table to keep."""

    @abstractmethod
    def keep(self, rows: Rows) -> Mask:
        """Return which rows stay."""

    def apply(self, interactions: Any, *, columns: Columns | None = None) -> Any:
        """Return a table's rows that stay, in the order in which they came.

        Raises
        ------
        EmptyError
            If none is left.
        """
        rows = read_rows(interactions, columns, None)
        mask = self.keep(rows)
        if not mask.any():
            raise EmptyError(f"{self!r} leaves no rows", found=f"{len(rows)} rows before")
        return cut_rows(interactions, mask, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the filter as plain values."""
        own = {name: plain(value) for name, value in asdict(self).items()}
        return {"filter": type(self).__name__, **own}


@dataclass(frozen=True)
class KCore(Filter):
    """Keep users and items with at least k rows among what is kept, to the fixpoint.

    The largest such set is unique, so no order of steps changes it.

    Parameters
    ----------
    k : int
        The least number of rows of a user, and of an item unless ``items`` says otherwise.
    items : int, optional
        The least number of rows of an item.

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
        """Return which rows stay."""
        least = ((rows.user, self.k), (rows.item, self.k if self.items is None else self.items))
        mask: Mask = np.ones(len(rows), dtype=bool)
        counts = [codes.count() for codes, _ in least]
        while True:
            few = np.zeros(len(rows), dtype=bool)
            for (codes, k), count in zip(least, counts, strict=True):
                few |= (count < k)[codes.of_row]
            gone = np.flatnonzero(mask & few)
            if not len(gone):
                return mask
            mask[gone] = False
            for (codes, _), count in zip(least, counts, strict=True):
                count -= np.bincount(codes.of_row[gone], minlength=len(count))


@dataclass(frozen=True)
class MinRows(Filter):
    """Keep users and items with at least so many rows in the table as it is: one pass.

    Parameters
    ----------
    users, items : int
        The least number of rows.

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
        """Return which rows stay."""
        many = (rows.user.count() >= self.users)[rows.user.of_row]
        mask: Mask = many & (rows.item.count() >= self.items)[rows.item.of_row]
        return mask


@dataclass(frozen=True)
class MinRating(Filter):
    """Keep rows with at least a rating.

    Parameters
    ----------
    least : float
        The least rating that stays.

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
        """Return which rows stay."""
        mask: Mask = _ratings(rows) >= self.least
        return mask


@dataclass(frozen=True)
class Deduplicate(Filter):
    """Keep one row of each pair of user and item.

    Parameters
    ----------
    keep_row : {"first", "last", "highest"}
        The earliest, the latest, or the one with the highest rating. Rows that are equal in that
        are told apart by a hash of what they say, so the order of the table does not matter.

    Examples
    --------
    >>> Deduplicate("highest").apply({1: [("a", 2.0), ("a", 5.0)]})["relevance"].to_list()
    [5.0]
    """

    keep_row: Keep = "first"

    def __post_init__(self) -> None:
        check_choice("keep_row", self.keep_row, Keep)

    def keep(self, rows: Rows) -> Mask:
        """Return which rows stay."""
        pair = rows.user.of_row.astype(np.int64) * rows.item.size + rows.item.of_row
        value = _ratings(rows) if self.keep_row == "highest" else rows.time.values
        order = rows.settled(np.lexsort((rows.key(0), value, pair)), value)
        edges = runs(pair[order])
        chosen = order[edges[:-1] if self.keep_row == "first" else edges[1:] - 1]
        mask = np.zeros(len(rows), dtype=bool)
        mask[chosen] = True
        return mask


def _ratings(rows: Rows) -> Any:
    if "relevance" not in rows.table.frame.columns:
        raise ColumnError(
            "there is no column for the rating, and this filter needs one",
            where=rows.table.source,
            found=f"columns {', '.join(map(repr, rows.table.frame.columns))}",
            hint='say which: columns={"relevance": "…"}',
        )
    return rows.table.frame["relevance"].to_numpy()
