"""The users of a report by id: the lists of two systems side by side, with what each user had before.

Their data are a part of the page, which needs no network, and a small script shows one user at a
time. Without scripts the page shows the users that moved most.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.messages import printable
from rankwise.reporting.chart_data import paired_users
from rankwise.reporting.report_data import Lists, ReportData

MOST = 400_000
"""The characters of users' data on a page: more make it too large to mail."""
_BEFORE = 10  # of the items that a user had before
_DIGITS = 6


@dataclass(frozen=True)
class Lookup:
    """Users that can be looked up on the page.

    ``data`` is JSON: the metric, the two systems, the items, the ids of users, and of each user
    both values, both lists, the relevant items and the last items before, as places among the
    items. ``shown`` of ``total`` users are there.
    """

    data: str
    shown: int
    total: int

    @property
    def summary(self) -> str:
        """How many users are on the page, and which."""
        if self.shown == self.total:
            return f"All {self.total:,} users of both systems are on this page."
        return (
            f"{self.shown:,} of {self.total:,} users are on this page: those that moved most, "
            "and others in the order of their ids."
        )


def make_lookup(material: ReportData, pair: tuple[str, str], *, room: int = MOST) -> Lookup:
    """Return as many users as a page has room for, those that moved most first.

    Parameters
    ----------
    material : ReportData
        The results and their lists.
    pair : tuple of str
        The names of the baseline and of the system.
    room : int, default=400_000
        The most characters that the data of users may have.
    """
    baseline, system = (material.results[name].units for name in pair)
    paired = paired_users(system, baseline, material.primary)
    moved = pl.col("difference").abs().fill_nan(0.0)
    ordered = paired.sort(moved, "user", descending=[True, False])
    parts = _parts(material.lists, pair, material.k)
    numbers = _Numbers(material.lists.titles)
    ids: list[str] = []
    users: list[list[Any]] = []
    size = 0
    for row in ordered.iter_rows(named=True):
        user = str(row["user"])
        entry = [
            *(_round(row[name]) for name in ("baseline", "value")),
            *([numbers.place_of(item) for item in part.get(user, ())] for part in parts),
        ]
        size += len(json.dumps([user, entry], separators=(",", ":")))
        if size + numbers.size > room:
            break
        ids.append(printable(user))
        users.append(entry)
    data = {
        "metric": material.primary,
        "systems": [printable(name) for name in pair],
        "items": numbers.names,
        "ids": ids,
        "users": users,
    }
    return Lookup(_as_script(data), len(users), len(ordered))


def _parts(lists: Lists, pair: tuple[str, str], k: int) -> list[Mapping[str, Sequence[str]]]:
    """Return by user the list of each system, the relevant items, and the last items before."""
    runs = [items_by_user(lists.top(name, k)) for name in pair]
    relevant = items_by_user(lists.relevant)
    try:
        before = items_by_user(lists.history.group_by("user", maintain_order=True).tail(_BEFORE))
    except RankwiseError:
        before = {}
    return [*runs, relevant, before]


def items_by_user(rows: pl.DataFrame) -> dict[str, list[str]]:
    """Return the items of each user, those of a list in its order."""
    ordered = rows.sort("user", "position") if "position" in rows.columns else rows
    return dict(ordered.group_by("user", maintain_order=True).agg("item").iter_rows())


class _Numbers:
    """The places of items in the list of their names, in the order in which they come."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        self.names: list[str | list[str]] = []
        self.size = 0
        self._titles = titles
        self._places: dict[str, int] = {}

    def place_of(self, item: str) -> int:
        """Return the place of an item."""
        place = self._places.setdefault(item, len(self.names))
        if place == len(self.names):
            title = self._titles.get(item)
            name = printable(item)
            self.names.append(name if title is None else [name, printable(title)])
            self.size += len(item) + len(title or "") + 4
        return place


def _round(value: float | None) -> float | None:
    """Return a value with as many digits as a reader may want; null for none, as JSON has it."""
    return None if value is None or value != value else float(f"{value:.{_DIGITS}g}")


def _as_script(data: Mapping[str, Any]) -> str:
    """Return JSON that no tag inside it can end, and that is one line of a script."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def names_of_systems(systems: Iterable[str]) -> str:
    """Return the names of the systems as JSON inside a script."""
    return _as_script({"systems": [printable(name) for name in systems]})
