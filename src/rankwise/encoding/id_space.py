"""The codes of users and items, shared by all tables of an evaluation."""

from __future__ import annotations

import polars as pl

from rankwise.core.ragged import Ints
from rankwise.core.vocabulary import HashedStrings, vocabulary_for
from rankwise.errors import IdError
from rankwise.tables.align import align
from rankwise.tables.table import Table

__all__ = ["IdSpace"]


class IdSpace:
    """Users and items of some tables, with the same codes in all of them.

    Codes are private to the process: nothing that leaves it carries them.
    """

    def __init__(
        self, tables: list[Table | None], *, count_items: bool, hashed: bool = False, threads: int = 1
    ) -> None:
        self._text: dict[str, bool] = {}
        aligned = self.align(tables)
        present = [table for table in aligned if table is not None]
        columns = {
            role: [table.frame[role] for table in present if role in table.frame.columns] for role in ("user", "item")
        }
        self.users = vocabulary_for(columns["user"], dense=True)
        self.items = vocabulary_for(columns["item"], dense=count_items, hashed=hashed, threads=threads)
        self.hashed = isinstance(self.items, HashedStrings)
        self.train_items: list[Ints] = []
        for table in present:
            if table.role == "train" and count_items:
                self.train_items.append(self.items.encode(table.trained.frame["item"].unique()))

    def align(self, tables: list[Table | None]) -> list[Table]:
        """Return tables with ids of one type: that of the tables before, if there were any."""
        present = [table for table in tables if table is not None]
        for column in ("user", "item"):
            present = [self._fit(table, column) for table in align(present, column)]
        aligned = iter(present)
        return [table if table is None else next(aligned) for table in tables]  # type: ignore[misc]

    def _fit(self, table: Table, column: str) -> Table:
        """Return the table with ids of the type that codes were made of before."""
        if column not in table.frame.columns:
            return table
        text = table.frame[column].dtype == pl.String
        if self._text.setdefault(column, text) == text:
            return table
        if table.is_text and not text:  # integers that were text in a file
            return table.with_ids(column, table.frame[column].cast(pl.String))
        raise IdError(
            f"{column} ids are of another type than in earlier chunks",
            where=table.source,
            found="strings" if text else "integers",
            hint="cast the column to one type in every chunk",
        )
