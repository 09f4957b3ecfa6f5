"""The inputs that measures declare, sorted by who provides them.

A measure lists all that it reads in `inputs`: sets of rows by name, facts, sums over users by item,
and the catalogue. Hits, list lengths and numbers of relevant items are always there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from rankwise.core.facts import BASELINE, HISTORY, Fact
from rankwise.core.row_sets import Needs, RowSet
from rankwise.measures.item_sums import ItemSum

__all__ = ["Input", "Inputs"]

Input: TypeAlias = RowSet | Literal["scores", "catalogue", "whole_catalogue"] | Fact[Any] | ItemSum
"""What a measure may declare. ``"catalogue"`` is the number of items that something is counted for;
``"whole_catalogue"`` must also hold every item that occurs anywhere. ``"scores"`` are those of the
rows that it reads."""

_NAMES = (*get_args(RowSet), "scores")
_IMPLIED = {"history": HISTORY, "overlap_history": HISTORY, "overlap_baseline": BASELINE}


@dataclass(frozen=True)
class Inputs:
    """Declared inputs, with what follows from them.

    Attributes
    ----------
    rows : frozenset of str
        What blocks must hold, for item sums as well.
    facts : tuple of Fact
        What must be known about items and users, the tables of row sets included.
    item_sums : tuple of ItemSum
        What is summed over users for every item.
    catalogue : {"", "counted", "whole"}
        Whether the catalogue is counted, and whether it must hold every item that occurs.
    """

    rows: Needs
    facts: tuple[Fact[Any], ...]
    item_sums: tuple[ItemSum, ...]
    catalogue: Literal["", "counted", "whole"]

    @classmethod
    def of(cls, declared: Iterable[Input]) -> Inputs:
        """Sort the declared inputs of a measure."""
        inputs = tuple(dict.fromkeys(declared))
        sums = tuple(one for one in inputs if isinstance(one, ItemSum))
        rows: Needs = frozenset(one for one in inputs if one in _NAMES)  # type: ignore[misc]
        rows = rows.union(*(item_sum.needs for item_sum in sums))
        known = [one for one in inputs if isinstance(one, Fact)]
        implied = {_IMPLIED[name] for name in rows if name in _IMPLIED}
        counted = bool(sums) or "catalogue" in inputs
        return cls(
            rows=rows,
            facts=(*known, *sorted(implied)),
            item_sums=sums,
            catalogue="whole" if "whole_catalogue" in inputs else "counted" if counted else "",
        )
