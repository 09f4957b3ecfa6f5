"""The values of measures for blocks: arrays by code, which become a `Partial` with ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from rankwise.core.about import About
from rankwise.core.arrays import Array
from rankwise.core.encoded import Encoded
from rankwise.core.partial import Partial
from rankwise.core.partial_columns import ItemColumn

__all__ = ["Measured"]


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

    @classmethod
    def join(cls, blocks: Iterable[Measured], most: int) -> Self:
        """Put the users of several blocks together, one block after the other.

        There are at most so many users. Each block is copied when it comes: its memory then serves
        the next one, and copying takes place while other threads measure.
        """
        whole: dict[str, Any] = {}
        sums: dict[ItemColumn, Array] = {}
        counts: Counter[str] = Counter()
        start = end = 0
        for block in blocks:
            start, end = end, end + len(block.user)
            for name, values in {_USER: block.user, **block.columns}.items():
                values = np.asarray(values)
                if name not in whole:
                    whole[name] = np.empty(most, values.dtype)
                elif whole[name].dtype != values.dtype:
                    whole[name] = whole[name].astype(np.result_type(whole[name], values))
                whole[name][start:end] = values
            for column, values in block.item_sums.items():
                sums[column] = sums[column] + values if column in sums else values
            counts.update({name: int(count) for name, count in block.counts.items()})
        columns = {name: values[:end] for name, values in whole.items()}
        return cls(user=columns.pop(_USER), columns=columns, item_sums=sums, counts=counts)

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
                    str(column): np.asarray(values)[items].astype(np.int64)
                    for column, values in self.item_sums.items()
                },
            }
        )
