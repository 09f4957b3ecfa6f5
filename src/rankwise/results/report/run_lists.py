"""The recommendation lists behind results: given by the caller, or read again from their files."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import MeasureError, RankwiseError
from rankwise.results.report.blocks import reason
from rankwise.results.result import Result
from rankwise.stats.differences import Floats
from rankwise.tables.columns import Columns, TableRole
from rankwise.tables.parts import folder_of_list, is_table_folder, table_hash
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["Lists"]

_TITLES = ("title", "name", "item_name", "movie_title", "label")


@dataclass(frozen=True, eq=False)
class Lists:
    """Tables that results were evaluated from; what is not there raises the reason.

    ``given`` has ``truth``, ``train`` and ``items`` of the caller, ``runs`` the lists by system.
    """

    results: Mapping[str, Result]
    runs: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None
    """The columns of given tables; those of files that are read again are known."""

    @property
    def threshold(self) -> float | None:
        """The minimum relevance of relevant items."""
        first = next(iter(self.results.values()))
        threshold: float | None = first.provenance["settings"].get("relevance_threshold")
        return threshold

    def top(self, system: str, k: int) -> pl.DataFrame:
        """Return the first k items of each user's list: ``user``, ``item``, ``position``."""
        lists = self._ordered(system)
        return lists.filter(pl.col("position") <= k)

    def _ordered(self, system: str) -> pl.DataFrame:
        known: dict[str, pl.DataFrame] = self._kept
        if system not in known:
            table = self._table(self.results[system], "recommendations", self.runs.get(system))
            known[system] = _positions(table.frame)
        return known[system]

    @cached_property
    def _kept(self) -> dict[str, pl.DataFrame]:
        return {}

    @cached_property
    def relevant(self) -> pl.DataFrame:
        """The relevant items of each user: ``user``, ``item``."""
        return self._first("truth").relevant(self.threshold).select(_text("user"), _text("item"))

    @cached_property
    def train(self) -> pl.DataFrame:
        """The training interactions: ``user``, ``item``."""
        return self._first("train").trained.frame.select(_text("user"), _text("item"))

    @cached_property
    def known(self) -> pl.DataFrame:
        """The users' interactions before the ground truth, training included: ``user``, ``item``."""
        return self._first("train").frame.select(_text("user"), _text("item"))

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of items; empty if no table has any."""
        try:
            frame = self._first("items").frame
        except RankwiseError:
            return {}
        named = [name for name in frame.columns if name.lower() in _TITLES]
        if not named:
            return {}
        pairs = frame.select(_text("item"), pl.col(named[0]).cast(pl.String)).drop_nulls()
        return dict(pairs.rows())

    def exposures(self, systems: Sequence[str], k: int) -> tuple[dict[str, Floats], dict[str, str]]:
        """Return how often each item is in the first k, by system; and why systems have none.

        All systems have the same items: the catalogue that they were evaluated with, otherwise
        every item that is in any list, in the ground truth or in training.
        """
        counts, missing = {}, {}
        for system in systems:
            try:
                counts[system] = self.top(system, k)["item"].value_counts()
            except RankwiseError as error:
                missing[system] = reason(error)
        given = [self.results[system].counts.get("catalogue_items", 0) for system in counts]
        size = max(given, default=0) or self._items([count["item"] for count in counts.values()])
        exposures = {}
        for system, count in counts.items():
            times = count["count"].to_numpy().astype(np.float64)
            exposures[system] = np.concatenate([times, np.zeros(max(size - len(times), 0))])
        return exposures, missing

    def _items(self, seen: list[pl.Series]) -> int:
        """Return the number of items in lists, ground truth and training, where known."""
        for role in ("relevant", "train"):
            with contextlib.suppress(RankwiseError):
                seen.append(getattr(self, role)["item"].unique())
        return pl.concat(seen).n_unique() if seen else 0

    def _first(self, role: TableRole) -> Table:
        """Return a table that all results share, from the first that tells where it lies."""
        failed: RankwiseError | None = None
        for result in self.results.values():
            try:
                return self._table(result, role, self.given.get(role))
            except RankwiseError as error:
                failed = failed or error
        assert failed is not None
        raise failed

    def _table(self, result: Result, role: TableRole, given: Any) -> Table:
        """Return a table as it was given, or read again from the file that the result names."""
        return _read_again(result, role) if given is None else read_table(given, role, self.columns)


def _read_again(result: Result, role: TableRole) -> Table:
    card = result.provenance.get("inputs", {}).get(role)
    if card is None:
        raise MeasureError(f"the result was evaluated without {role}")
    source, digest = str(card["source"]), card.get("sha256")
    folder = folder_of_list(source)  # of which the list had all files, if the hashes agree
    path = folder or Path(source)
    ask = f"pass {role}="
    if digest is None:
        raise MeasureError(f"{role} came from memory, and a result does not keep it", hint=ask)
    if not path.exists():
        raise MeasureError(f"the file of {role} is not there any more: {path}", hint=ask)
    if folder and (not is_table_folder(folder) or table_hash(folder) != digest):
        raise MeasureError(f"{role} came from a list of paths, which a result does not keep: {source}", hint=ask)
    if table_hash(path) != digest:
        raise MeasureError(f"the file of {role} was changed since the evaluation: {path}", hint=ask)
    columns = {f"{role}.{key}": name for key, name in card["columns"].items() if key != name}
    return read_table(str(path), role, columns or None)


def _text(name: str) -> pl.Expr:
    """Return ids as text: tables of one evaluation may have them as numbers and as text."""
    return pl.col(name).cast(pl.String)


def _positions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return lists in their order: by rank, else by score, else by row."""
    ids = [_text("user"), _text("item")]
    if "rank" in frame.columns:
        ordered = frame.sort("user", "rank", maintain_order=True)
    elif "score" in frame.columns:
        ordered = frame.sort("user", "score", "item", descending=[False, True, False])
    else:
        ordered = frame
    return ordered.select(*ids, position=pl.int_range(1, pl.len() + 1).over("user"))
