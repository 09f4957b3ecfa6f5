"""Partials: what some users add up to, in a form that merges and travels.

A partial holds three things: one row a user, one row an item (if a measure asked for counts), and
tallies. Rows carry ids, not codes, so partials made anywhere fit together. Merging keeps the rows
apart until the end, when they are put in order of user id once; no sum of floats is ever taken
over a partial, which is why cutting the work differently cannot change a digit.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce

import polars as pl

from rankwise.errors import DuplicateError, ParameterError

__all__ = ["Partial"]


@dataclass(frozen=True)
class Partial:
    """What some users add up to.

    Attributes
    ----------
    users : polars.DataFrame
        A row a counted user: ``user`` and the columns of the measures.
    items : polars.DataFrame or None
        A row an item that was seen: ``item`` and the counts that measures asked for.
    tally : dict of str to int
        Counts that add up: rows read, users without truth, ties, ….
    outside : polars.Series or None
        Users who have a list and do not count: their lists must not come in two pieces either.
    protocol : str
        Which candidates lists were ranked from, as JSON; empty where nothing says so.
    """

    users: pl.DataFrame
    items: pl.DataFrame | None = None
    tally: dict[str, int] = field(default_factory=dict)
    outside: pl.Series | None = None
    protocol: str = ""

    def merge(self, *others: Partial) -> Partial:
        """Put partials of different users together; the order does not matter.

        Raises
        ------
        DuplicateError
            If a user is in two of them.
        """
        parts = [self, *others]
        for part in parts:
            self.check_protocol(part.protocol)
            for mine, theirs in ((self.users, part.users), (self.items, part.items)):
                if (mine is None) != (theirs is None) or (
                    mine is not None and theirs is not None and mine.schema != theirs.schema
                ):
                    raise ParameterError(
                        "these partials are not of the same measures, or not of the same type of "
                        "id",
                        found=f"{_schema(theirs)} beside {_schema(mine)}",
                    )
        users = self.users
        if others:
            users = pl.concat([part.users for part in parts], rechunk=True)
        if not users["user"].is_sorted():
            users = users.sort("user")
        outsiders = [part.outside for part in parts if part.outside is not None]
        outside = pl.concat(outsiders).sort() if outsiders else None
        for ids in (users["user"], outside):
            _check_once(ids)
        with_items = [part.items for part in parts if part.items is not None]
        items = None
        if with_items:
            items = pl.concat(with_items).group_by("item").sum().sort("item")
        tally = reduce(lambda total, part: total + Counter(part.tally), parts, Counter[str]())
        return Partial(users, items, dict(tally), outside, self.protocol)

    def check_protocol(self, other: str) -> None:
        """Raise unless the same candidates were ranked."""
        if other != self.protocol:
            raise ParameterError(
                "pieces of one evaluation were ranked from candidates that were chosen differently",
                found=f"{other or 'not said'} beside {self.protocol or 'not said'}",
            )

    def to_bytes(self) -> bytes:
        """Write the partial in Arrow's IPC format, to be sent elsewhere and read again."""
        buffer = io.BytesIO()
        outside = None if self.outside is None else self.outside.to_frame("user")
        frames = {"users": self.users, "items": self.items, "outside": outside}
        there = [name for name, frame in frames.items() if frame is not None]
        said = {"tally": self.tally, "frames": there, "protocol": self.protocol}
        head = json.dumps(said).encode()
        buffer.write(len(head).to_bytes(8, "little") + head)
        for frame in frames.values():
            if frame is not None:
                body = io.BytesIO()
                frame.write_ipc(body)
                buffer.write(body.tell().to_bytes(8, "little") + body.getvalue())
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        """Read a partial that `to_bytes` wrote."""
        stream = io.BytesIO(data)

        def part() -> bytes:
            return stream.read(int.from_bytes(stream.read(8), "little"))

        head = json.loads(part())
        frames = {name: pl.read_ipc(io.BytesIO(part())) for name in head["frames"]}
        outside = frames["outside"]["user"] if "outside" in frames else None
        return cls(frames["users"], frames.get("items"), head["tally"], outside, head["protocol"])


def _check_once(ids: pl.Series | None) -> None:
    """Raise if a user stands twice in ids that are in order."""
    if ids is None:
        return
    again = ids.eq(ids.shift(1)).fill_null(value=False)
    if again.any():
        raise DuplicateError(
            "a user's list came in two pieces",
            where=f"user {ids.filter(again)[0]!r}",
            hint="hand over all rows of a user in one piece (sort the table by user)",
        )


def _schema(frame: pl.DataFrame | None) -> str:
    return "nothing" if frame is None else str(frame.schema)
