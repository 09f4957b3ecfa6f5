"""Partials: the mergeable results of some users.

A partial has one row per user, one row per item if a measure sums over items, and counts. Rows
carry ids, not codes, so partials made in any process can be merged. Floats are summed only at the
end, with users in order of id: results are bit-identical, however the work was cut and merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankwise.core.about import About
from rankwise.core.digests import added
from rankwise.core.packing import pack, unpack
from rankwise.core.sample_counts import SampleCounts
from rankwise.errors import DuplicateError, ParameterError

__all__ = ["ADDED", "Partial"]

_VERSION = 3
ADDED = ("rows", "ids_trimmed")
"""The numbers that add up over the cards of a table that came in chunks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Partial:
    """The mergeable result of some users; it can be pickled, or written in Arrow's format.

    Attributes
    ----------
    users : polars.DataFrame
        One row per evaluated user: ``user`` and the columns of the measures.
    about : About
        The settings of the evaluation and the tables that all chunks share.
    items : polars.DataFrame or None
        One row per item that was seen: ``item`` and the sums that measures need.
    counts : dict of str to int
        Counts that add up over chunks: rows read, users without ground truth, ties, ….
    outside : polars.Series or None
        Users who have a list and are not evaluated: their lists must be in one chunk as well.
    protocol : str
        The candidate set that the lists were ranked from, as JSON; empty if unknown.
    ties : tuple of str
        How equal scores were ordered.
    inputs : dict of str to tuple of dict
        Source, format, rows and hash of the tables that came in chunks, by role.
    reference_counts : dict of str to int
        Counts of the tables that all chunks share, equal in each.
    digests : dict of str to int
        Digests of the rows of tables that came in chunks (`rankwise.core.digests`), which add up.
    sample : SampleCounts
        What tells lists of sampled negatives from others, if nothing says what lists were ranked from.
    """

    users: pl.DataFrame
    about: About
    items: pl.DataFrame | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    outside: pl.Series | None = None
    protocol: str = ""
    ties: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    reference_counts: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, int] = field(default_factory=dict)
    sample: SampleCounts = field(default_factory=SampleCounts)

    def merge(self, *others: Partial) -> Partial:
        """Return the partial of all users, merged with others; their order does not matter.

        Raises
        ------
        ParameterError
            If measures, settings or shared tables differ.
        DuplicateError
            If a user is in two of them.
        """
        partials = [self, *others]
        for partial in partials:
            self.check(partial)
        users = self.users
        if others:
            users = pl.concat([partial.users for partial in partials], rechunk=True)
        if not users["user"].is_sorted():
            users = users.sort("user")
        outsiders = [partial.outside for partial in partials if partial.outside is not None]
        outside = pl.concat(outsiders).sort() if outsiders else None
        for ids in (users["user"], outside) if others else ():
            _check_once(ids)
        with_items = [partial.items for partial in partials if partial.items is not None]
        items = None
        if with_items:
            items = pl.concat(with_items)
            items = (items.group_by("item").sum() if others else items).sort("item")
        return Partial(
            users=users,
            about=self.about,
            items=items,
            counts=sum((Counter(partial.counts) for partial in partials), Counter[str]()),
            outside=outside,
            protocol=self.protocol,
            ties=tuple(sorted({rule for partial in partials for rule in partial.ties})),
            inputs=_merged_cards([partial.inputs for partial in partials]),
            reference_counts={name: count for partial in partials for name, count in partial.reference_counts.items()},
            digests={
                name: added(partial.digests.get(name, 0) for partial in partials)
                for name in sorted({name for partial in partials for name in partial.digests})
            },
            sample=SampleCounts.merged([partial.sample for partial in partials]),
        )

    def check(self, other: Partial) -> None:
        """Raise unless two partials can be merged."""
        self.about.check(other.about)
        if other.protocol != self.protocol:
            raise ParameterError(
                "chunks of one evaluation were ranked from different candidate sets",
                found=f"{other.protocol or 'unknown'} and {self.protocol or 'unknown'}",
            )
        for mine, theirs in ((self.users, other.users), (self.items, other.items)):
            if _schema(mine) != _schema(theirs):
                raise ParameterError(
                    "these partials are not of the same measures, or not of the same type of id",
                    found=f"{_schema(theirs)} beside {_schema(mine)}",
                )

    def to_bytes(self) -> bytes:
        """Write the partial in Arrow's IPC format, to be sent elsewhere and read again."""
        outside = None if self.outside is None else self.outside.to_frame("user")
        frames = {"users": self.users, "items": self.items, "outside": outside}
        frames |= {"sample_negatives": self.sample.negatives, "sample_items": self.sample.items}
        values = {
            "settings": self.about.settings,
            "digests": self.about.digests,
            "counts": dict(self.counts),
            "protocol": self.protocol,
            "ties": self.ties,
            "inputs": dict(self.inputs),
            "reference_counts": dict(self.reference_counts),
            "row_digests": dict(self.digests),
            "sample": {"relevant": self.sample.relevant, "hits": self.sample.hits},
        }
        given = {name: frame for name, frame in frames.items() if frame is not None}
        return pack("partial", _VERSION, values, given)

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        """Read a partial that `to_bytes` wrote.

        Raises
        ------
        InputError
            If it is damaged, or of another version of rankwise.
        """
        values, frames = unpack("partial", _VERSION, data)
        return cls(
            users=frames["users"],
            about=About(values["settings"], {}, values["digests"]),
            items=frames.get("items"),
            counts=values["counts"],
            outside=frames["outside"]["user"] if "outside" in frames else None,
            protocol=values["protocol"],
            ties=tuple(values["ties"]),
            inputs={role: tuple(cards) for role, cards in values["inputs"].items()},
            reference_counts=values["reference_counts"],
            digests=values["row_digests"],
            sample=SampleCounts(**values["sample"], negatives=frames["sample_negatives"], items=frames["sample_items"]),
        )


def _merged_cards(inputs: Sequence[Mapping[str, tuple[dict[str, Any], ...]]]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Merge the cards of chunks: cards that differ only in their sizes become one."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for roles in inputs:
        for role, cards in roles.items():
            for card in cards:
                key = repr({name: value for name, value in card.items() if name not in ADDED})
                known = out.setdefault(role, {}).get(key)
                sums = {name: card[name] + (known[name] if known else 0) for name in ADDED}
                out[role][key] = {**card, **sums}
    return {role: tuple(cards[key] for key in sorted(cards)) for role, cards in out.items()}


def _check_once(ids: pl.Series | None) -> None:
    """Raise if a user occurs twice among ids that are in order."""
    if ids is None:
        return
    again = ids.eq(ids.shift(1)).fill_null(value=False)
    if again.any():
        raise DuplicateError(
            "the rows of a user came in two chunks",
            where=f"user {ids.filter(again)[0]!r}",
            hint="pass all rows of a user in one chunk (sort the table by user)",
        )


def _schema(frame: pl.DataFrame | None) -> str:
    return "nothing" if frame is None else str(frame.schema)
