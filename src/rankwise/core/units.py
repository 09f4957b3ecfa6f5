"""Units of lists: users, or the requests of users, which are numbered as pairs.

A list belongs to a unit. Where units are users, a unit is an id of a user; where they are requests,
the pair of a user and a request, and a request may be missing: ground truth of a user without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankwise.core.vocabularies import Codes, lookup_rows, vocabulary_for

REQUEST = "request"
"""The column of the request, in lists, ground truth and per-user values."""


def unit_keys(frame: pl.DataFrame) -> list[str]:
    """Return the columns of a table that name the unit of a row.

    >>> unit_keys(pl.DataFrame({"user": [7], "request": ["a"], "item": [1]}))
    ['user', 'request']
    """
    return ["user", REQUEST] if REQUEST in frame.columns else ["user"]


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The requests of lists and ground truth, each with its place in their order as its number.

    It is a vocabulary of these numbers: `decode` names requests in words, for messages.

    Attributes
    ----------
    frame : polars.DataFrame
        The distinct pairs of ``user`` and ``request``, in order; ids are text or 64-bit integers.
    """

    frame: pl.DataFrame

    @property
    def size(self) -> int:
        """The number of units."""
        return len(self.frame)

    def encode(self, ids: pl.Series, *, threads: int = 1) -> Codes:
        """Return numbers of units as they are."""
        return ids.to_numpy()

    def decode(self, codes: Codes) -> pl.Series:
        """Return each unit in words."""
        return self.frame[codes].select(words=_words()).to_series()

    def sort_keys(self, codes: Codes) -> Codes:
        """Return the numbers, which grow with their users and requests."""
        return codes

    @property
    def users(self) -> pl.Series:
        """The user of each unit."""
        return self.frame["user"]

    def with_users(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the user of each unit, and the unit's number for its request."""
        unit = rows["user"]
        return rows.with_columns(unit.alias(REQUEST), self.users.gather(unit).alias("user"))

    def ids_of(self, units: pl.DataFrame) -> pl.Series:
        """Return the numbers of units that a table names by user and request."""
        return pl.Series("user", unit_rows(units, self.frame))


def _words() -> pl.Expr:
    """Return a user and a request in words."""
    named = pl.format("{}, request {}", pl.col("user"), pl.col(REQUEST))
    return pl.coalesce(named, pl.format("{}, request ", pl.col("user")))


def number_units(pairs: Sequence[pl.DataFrame]) -> tuple[Units, list[pl.Series]]:
    """Return the number of each pair of user and request in tables whose ids have one type.

    Returns
    -------
    Units
        The distinct pairs of all tables.
    list of Series
        The number of each row, by table.

    Examples
    --------
    >>> lists = pl.DataFrame({"user": [8, 7, 7], "request": ["a", "b", "a"]})
    >>> truth = pl.DataFrame({"user": [9], "request": [None]}, schema=lists.schema)
    >>> units, numbers = number_units([lists, truth])
    >>> [rows.to_list() for rows in numbers], units.frame.row(3)
    ([[2, 1, 0], [3]], (9, None))
    """
    together = pl.concat([frame.select("user", REQUEST) for frame in pairs], rechunk=True)
    requests = together[REQUEST]
    known = requests.drop_nulls()
    users_coded = vocabulary_for([together["user"]], dense=True)
    requests_coded = vocabulary_for([known], dense=True)

    request = requests_coded.encode(known).astype(np.int64) + 1
    if len(known) < len(requests):
        coded, request = request, np.zeros(len(requests), dtype=np.int64)  # 0 where there is none
        request[requests.is_not_null().to_numpy()] = coded
    keys = users_coded.encode(together["user"]).astype(np.int64)
    keys *= requests_coded.size + 1
    keys += request

    # Rows of one unit mostly follow one another: only the first of them are looked up.
    differs = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    starts = np.flatnonzero(differs)
    heads = together[starts].with_columns(key=keys[starts])
    distinct = heads[heads["key"].arg_unique()].sort("user", REQUEST)
    number = lookup_rows(heads["key"], distinct["key"]).astype(np.int64)
    numbers = pl.Series("user", np.repeat(number, np.diff(starts, append=len(keys))))
    units = Units(distinct.select(_of_64_bits(distinct, name) for name in ("user", REQUEST)))
    return units, list(_parts(numbers, map(len, pairs)))


def _of_64_bits(frame: pl.DataFrame, name: str) -> pl.Series:
    ids = frame[name]
    return ids.cast(pl.Int64) if ids.dtype.is_integer() else ids


def _parts(column: pl.Series, lengths: Iterable[int]) -> Iterable[pl.Series]:
    """Yield consecutive parts of a column."""
    first = 0
    for length in lengths:
        yield column[first : first + length]
        first += length


def unit_rows(units: pl.DataFrame, table: pl.DataFrame) -> Codes:
    """Return the row of each unit in a table with one row per user or request, -1 if absent.

    A table by user is looked up by the users of requests.
    """
    keys = unit_keys(table)
    if keys == ["user"]:
        return lookup_rows(units["user"], table["user"])
    of_64_bits = table.select(_of_64_bits(table, name) for name in keys)
    rows = units.select(_of_64_bits(units, name) for name in keys).join(
        of_64_bits.with_row_index("row"),
        on=keys,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )
    return rows["row"].cast(pl.Int64).fill_null(-1).to_numpy()
