"""The users of an evaluation in pieces, each of whom may come in one piece alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.blocks.partial import Partial, twice_error
from rankwise.core.units import unit_keys

Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, eq=False, repr=False)
class UsersOnce:
    """The users who have come.

    Hashes are kept in sorted runs, each at least twice as long as the next, so that a piece is
    looked up in few of them and a hash is moved a few times.
    """

    runs: tuple[Hashes, ...] = ()
    pieces: tuple[pl.DataFrame, ...] = ()

    def with_users(self, partials: Iterable[Partial]) -> Self:
        """Return the users together with the users of more pieces.

        Raises
        ------
        DuplicateError
            If a user has come before.
        """
        users = self
        for partial in partials:
            units = partial.users.select(unit_keys(partial.users))
            if partial.outside is not None:
                units = pl.concat([units, partial.outside])
            users = users._with_units(units)
        return users

    def _with_units(self, units: pl.DataFrame) -> Self:
        hashes = np.sort(units.hash_rows().to_numpy())
        if any(_shares(run, hashes) for run in self.runs):
            self._confirm(units)
        runs = [*self.runs, hashes]
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            last, before = runs.pop(), runs.pop()
            runs.append(np.sort(np.concatenate([before, last]), kind="stable"))
        return type(self)(tuple(runs), (*self.pieces, units))

    def _confirm(self, units: pl.DataFrame) -> None:
        """Raise if a user is in an earlier piece, and not only another with the same hash."""
        for piece in self.pieces:
            if piece.columns != units.columns:
                continue
            again = units.join(piece, on=units.columns, how="semi", nulls_equal=True)
            if len(again):
                raise twice_error(again.row(0))


def _shares(run: Hashes, hashes: Hashes) -> bool:
    """Return whether two sorted arrays have a number in common."""
    if not len(run) or not len(hashes):
        return False
    at = np.searchsorted(run, hashes).clip(max=len(run) - 1)
    return bool((run[at] == hashes).any())
