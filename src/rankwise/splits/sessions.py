"""Sessions (baskets, visits) that a split keeps whole: a rule cuts them in place of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwise.core.hashing import hash_of_column
from rankwise.core.ragged import Ints, runs
from rankwise.errors import ColumnError, IdError, nearest
from rankwise.messages import parameter
from rankwise.splits.interactions import Mask, Rows


@dataclass(frozen=True, eq=False)
class Sessions:
    """The sessions of rows: a session is all rows of one user with one session id.

    Attributes
    ----------
    rows : Rows
        The first row of each session by time: its time is that at which the session begins.
    of_row : array of int
        The session of each row, as a row of ``rows``.
    """

    rows: Rows
    of_row: Ints

    @classmethod
    def of(cls, rows: Rows, column: str) -> Self:
        """Return the sessions that a column numbers, for each user or for all together.

        Raises
        ------
        ColumnError
            If there is no such column, or if it is that of the user.
        IdError
            If a row has no session.
        """
        ids = rows.table.frame[_column_of(rows, column)]
        if ids.null_count():
            raise IdError(
                "a row has no session",
                where=f"{rows.table.source}, column {column!r}, row "
                f"{int(ids.is_null().arg_true()[0]) + 1}",
                found=f"{ids.null_count():,} such rows",
                hint="drop those rows, or give each of them a session of its own",
            )

        hashes = np.unique(hash_of_column(ids), return_inverse=True)[1]
        pairs = rows.user.of_row.astype(np.int64) * len(ids) + hashes
        session = np.unique(pairs, return_inverse=True)[1]
        first = _first_rows(rows, session)

        mask: Mask = np.zeros(len(ids), dtype=bool)
        mask[first] = True
        place = np.cumsum(mask) - 1  # of each row among the first rows, which stay in order
        return cls(rows.select(mask), place[first][session])

    @property
    def notes(self) -> dict[str, Any]:
        """The notes on sessions for the card of a split."""
        return {"sessions": len(self.rows)}

    def spread(self, mask: Mask) -> Mask:
        """Return a mask of sessions as a mask of all their rows."""
        rows: Mask = mask[self.of_row]
        return rows


def _first_rows(rows: Rows, session: Ints) -> Ints:
    """Return the first row of each session by time; rows of equal time by a hash of their ids."""
    time = rows.time.values if rows.has_times else np.zeros(len(session), dtype=np.int64)
    order = rows.settled(np.lexsort((rows.key(0), time, session)), time)
    first: Ints = order[runs(session[order])[:-1]]
    return first


def _column_of(rows: Rows, column: str) -> str:
    """Return the name in the table of rows of a column of the source."""
    frame = rows.table.frame
    roles = {name: role for role, name in rows.table.columns.items()}
    name = roles.get(column, column)
    if name == "user":
        raise ColumnError(
            f"column {column!r} is the user, so that sessions are the users already",
            where=rows.table.source,
            found=parameter("sessions", column),
            hint="hold out whole users with UserHoldout, or name the column of the user: "
            f"{parameter('columns', {'user': '…'})}",
        )
    if name not in frame.columns:
        raise ColumnError(
            f"there is no column {column!r} of sessions",
            where=rows.table.source,
            found=", ".join(map(repr, frame.columns)),
            hint=nearest(column, frame.columns),
        )
    if frame.schema[name].is_nested():
        raise ColumnError(
            f"column {column!r} does not hold one session per row",
            where=rows.table.source,
            found=str(frame.schema[name]),
        )
    return name
