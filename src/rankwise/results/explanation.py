"""`Explanation`: the effect of each choice on the difference between two conventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.core.view import Format, TableView, export, finite, html, number, plain

__all__ = ["SCHEMA", "Explanation"]

SCHEMA: dict[str, Any] = {
    "choice": pl.String,
    "first": pl.String,
    "second": pl.String,
    "effect": pl.Float64,
    "value": pl.Float64,
    "users": pl.Int64,
}
_BAR = 20
"""The characters of the longest bar."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The result of `rankwise.explain`: why a metric differs between two conventions.

    Attributes
    ----------
    measure : str
        The metric as it was requested.
    conventions : tuple of str
        The names of both conventions.
    definitions : tuple of str
        The definition of the metric under each convention, as a metric of rankwise.
    first, second : float
        The values under both conventions.
    choices : polars.DataFrame
        One row per choice that differs, the largest effect first: ``choice``, its value under the
        ``first`` and the ``second`` convention, the ``effect`` of switching it (its Shapley value;
        effects add up to the difference), the ``value`` after this and all choices above it are
        switched, and the number of ``users`` whose value changes when only this choice is switched,
        in either convention (null for metrics without per-user values).
    users : polars.DataFrame
        One row per user: ``user``, the value under ``first`` and ``second`` (null if the user is
        not evaluated), and the ``contribution`` to the difference, the largest first. Contributions
        add up to the difference of means and sums over users; for other values they are null.
        Empty for metrics without per-user values.
    remarks : tuple of str, default=()
        Behaviour of the libraries that their conventions do not reproduce.
    """

    measure: str
    conventions: tuple[str, str]
    definitions: tuple[str, str]
    first: float
    second: float
    choices: pl.DataFrame
    users: pl.DataFrame
    remarks: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """The second value minus the first."""
        return self.second - self.first

    def _views(self) -> list[TableView]:
        first, second = self.conventions
        head = ("choice", first, second, "effect", "value", "users", "")
        largest = max((abs(effect) for effect in self.choices["effect"]), default=0.0)
        rows = [(f"under {first}", "", "", "", number(self.first), "", "")]
        rows += [
            (
                row["choice"],
                row["first"],
                row["second"],
                f"{row['effect']:+.4f}",
                number(row["value"]),
                "" if row["users"] is None else f"{row['users']:,}",
                _bar(row["effect"], largest),
            )
            for row in self.choices.to_dicts()
            if row["effect"] or row["users"]
        ]
        rows.append((f"under {second}", "", "", "", number(self.second), "", ""))
        idle = [row["choice"] for row in self.choices.to_dicts() if not (row["effect"] or row["users"])]
        notes = [f"{first}: {self.definitions[0]}; {second}: {self.definitions[1]}"]
        if idle:
            notes.append(f"differ, and move nothing here: {', '.join(idle)}")
        notes += [*self._carriers(), *(f"not reproduced: {one}" for one in self.remarks)]
        return [TableView(head, rows, notes=notes, left=(0, 1, 2, 6), title=self.measure, label="rankwise-explanation")]

    def _carriers(self) -> list[str]:
        """Return which users carry the difference."""
        if self.users.is_empty() or "contribution" not in self.users.columns:
            return []
        moved = self.users.filter(pl.col("contribution").abs() > 0)
        if moved.is_empty():
            return []
        named = [
            f"{row['user']} ({_value(row['first'])} to {_value(row['second'])})" for row in moved.head(3).to_dicts()
        ]
        who = "1 user carries" if len(moved) == 1 else f"{len(moved):,} users carry"
        return [f"{who} the difference; most of it: {', '.join(named)}"]

    def __repr__(self) -> str:
        return plain(*self._views())

    def _repr_html_(self) -> str:
        return html(*self._views())

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the table of users as plain values, ready for JSON."""
        data: dict[str, Any] = finite(
            {
                "measure": self.measure,
                "conventions": list(self.conventions),
                "definitions": list(self.definitions),
                "first": self.first,
                "second": self.second,
                "choices": self.choices.to_dicts(),
                "remarks": list(self.remarks),
            }
        )
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the table as text: ``"json"``, ``"csv"``, ``"markdown"`` or ``"latex"``."""
        return export(format, self.to_dict, lambda: self.choices, self._views)


def _bar(effect: float, largest: float) -> str:
    """Return a bar as long as an effect is large, with its sign."""
    if not largest:
        return ""
    return ("+" if effect > 0 else "-") * max(1, round(_BAR * abs(effect) / largest))


def _value(value: float | None) -> str:
    return "not averaged" if value is None else number(value)
