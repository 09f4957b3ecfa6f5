"""The values of measures for blocks: arrays by code, which become a `Partial` with ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.about import About
from rankwise.core.arrays import Array
from rankwise.core.encoded import Encoded
from rankwise.core.partial import Partial
from rankwise.core.partial_columns import ItemColumn

__all__ = ["Joined", "Measured"]


_USER = ""
"""Stands for the users among columns, none of which has this name."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What measures give for a block: arrays of the library that the block has.

    Attributes
    ----------
    user : array of int, shape (U,)
        The code of each user.
    columns : dict of str to array, shape (U,)
        Values of users, and sums that are pooled at the end.
    item_sums : dict of ItemColumn to array of int, shape (n_items,)
        Sums by item code.
    counts : dict of str to int or array
        What was counted on the way; tensors are numbers that nobody has waited for yet.
    """

    user: Array
    columns: dict[str, Array]
    item_sums: dict[ItemColumn, Array]
    counts: Mapping[str, Any]

    def to_partial(
        self,
        encoded: Encoded,
        about: About,
        *,
        protocol: str = "",
        inputs: Mapping[str, Sequence[dict[str, Any]]] | None = None,
        with_items: bool = False,
    ) -> Partial:
        """Turn codes into ids.

        Parameters
        ----------
        encoded : Encoded
            What the blocks were cut from: it knows the ids.
        about : About
            What was asked, of which tables.
        protocol : str, default=""
            Which candidate set lists were ranked from, as JSON.
        inputs : mapping of str to list of dict, optional
            The cards of the tables of this piece, by role.
        with_items : bool, default=False
            Whether items are counted: the catalogue is then every item seen.
        """
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        users = pl.DataFrame({"user": encoded.users.decode(np.asarray(self.user)), **columns})
        listed = encoded.lists.user
        outside = listed[~encoded.is_counted(listed)]
        return Partial(
            users=users,
            items=self._items(encoded) if with_items else None,
            counts=encoded.counts + Counter(self.counts),
            outside=encoded.users.decode(outside) if len(outside) else None,
            protocol=protocol,
            about=about,
            ties=(encoded.ties,) if len(listed) else (),
            inputs={role: tuple(cards) for role, cards in (inputs or {}).items()},
            reference_counts=dict(encoded.reference_counts),
        )

    def _items(self, encoded: Encoded) -> pl.DataFrame:
        seen = np.zeros(encoded.items.size, dtype=bool)
        for codes in encoded.seen_items:
            seen[codes] = True
        items = np.flatnonzero(seen)
        return pl.DataFrame(
            {
                "item": encoded.items.decode(items),
                **{
                    str(column): np.asarray(values)[items].astype(np.int64) for column, values in self.item_sums.items()
                },
            }
        )


class Joined:
    """The users of several blocks, put together as blocks come, by the threads that have them.

    A block that is copied when it comes leaves its memory to the next one.

    Parameters
    ----------
    firsts : sequence of int
        How many users come before each block, and how many there are in all.
    """

    def __init__(self, firsts: Sequence[int]) -> None:
        self._firsts, self._lock = firsts, Lock()
        self._columns: dict[str, Any] = {}
        self._wider: list[tuple[str, int, Any]] = []
        self._sums: dict[ItemColumn, Array] = {}
        self._counts: Counter[str] = Counter()

    def add(self, block: Measured, number: int) -> None:
        """Add the block with this number."""
        first = self._firsts[number]
        columns = {name: np.asarray(values) for name, values in {_USER: block.user, **block.columns}.items()}
        with self._lock:
            for name, values in columns.items():
                if name not in self._columns:
                    self._columns[name] = np.empty(self._firsts[-1], values.dtype)
            for column, values in block.item_sums.items():
                sums = self._sums
                sums[column] = sums[column] + values if column in sums else values
            self._counts.update({name: int(count) for name, count in block.counts.items()})
        for name, values in columns.items():
            whole = self._columns[name]
            if whole.dtype == values.dtype:
                whole[first : first + len(values)] = values
            else:  # no other thread may be writing when it is replaced
                self._wider.append((name, first, values))

    def measured(self) -> Measured:
        """Return all users, once the last block was added."""
        columns = self._columns
        for name, first, values in self._wider:
            columns[name] = columns[name].astype(np.result_type(columns[name], values), copy=False)
            columns[name][first : first + len(values)] = values
        self._wider.clear()
        others = {name: values for name, values in columns.items() if name != _USER}
        return Measured(user=columns[_USER], columns=others, item_sums=self._sums, counts=self._counts)
