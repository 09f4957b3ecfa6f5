"""What users have seen: taken out of lists, and warm beside cold users and items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.io.align import align, matching
from rankwise.io.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.result import Result

__all__ = ["HISTORY", "by_items", "take_out_seen", "with_column", "with_history"]

HISTORY = "history"
"""The column of users, and the name of their slices, that says who is warm and who is cold."""


def take_out_seen(listed: Table, train: Table, truth: Table) -> Table:
    """Take out of lists what their users have in training, and count it.

    Relevant items that a user has in training can then not be found: they are counted too.
    """
    if listed.lengths is not None:
        raise InputError(
            "exact ranks were found among candidates that were chosen already",
            hint="say what was seen to rw.rank_relevant: exclude=",
        )
    past = _aligned(train, [listed, truth])
    both = ["user", "item"]
    kind = {name: listed.frame[name].dtype for name in both}
    left = listed.frame.join(past.cast(kind), on=both, how="anti", maintain_order="left")  # type: ignore[arg-type]
    if left.is_empty():
        raise EmptyError("every recommended item was seen in training", where=listed.source)
    if "rank" in left.columns:
        left = left.with_columns(pl.col("rank").rank("ordinal").over("user").cast(pl.Int64))
    kind = {name: truth.frame[name].dtype for name in both}
    lost = truth.frame.join(past.cast(kind), on=both, how="semi")  # type: ignore[arg-type]
    counts = {
        "seen_items_taken_out": len(listed.frame) - len(left),
        "truth_rows_seen_in_training": len(lost),
    }
    protocol = listed.protocol
    if protocol is not None:
        protocol = replace(protocol, candidates=f"{protocol.candidates}, lists less seen")
    return replace(listed, frame=left, counts={**listed.counts, **counts}, protocol=protocol)


def _aligned(train: Table, others: list[Table]) -> pl.DataFrame:
    """Return distinct users and items of training, their ids of the kind that the others have."""
    own = train.with_frame(train.frame.select("user", "item").unique())
    for role in ("user", "item"):
        own = align([*others, own], role)[-1]
    return own.frame


def with_history(users: Table | None, train: Table, others: list[Table]) -> Table:
    """Return the table of users with a column that says whether each has a history."""

    def state(ids: pl.Series) -> pl.Series:
        warm = matching(train, "user", ids)["user"].unique()
        return ids.is_in(warm.implode()).replace_strict({True: "warm", False: "cold"})

    return with_column(users, others, HISTORY, "warm_and_cold", state)


def with_column(
    users: Table | None,
    others: list[Table],
    name: str,
    option: str,
    make: Callable[[pl.Series], pl.Series],
) -> Table:
    """Return a table of all users of some tables, with a column that is made of their ids."""
    if users is not None and name in users.frame.columns:
        raise ParameterError(
            f"{option} makes a column {name!r} of users, and they have one already",
            where=users.source,
            hint="call that column something else",
        )
    every = [table.frame["user"] for table in others]
    if users is not None:
        every = [*every, matching(users, "user", every[0])["user"]]
    ids = pl.concat([column.cast(every[0].dtype) for column in every]).unique(maintain_order=True)
    frame = ids.to_frame("user").with_columns(make(ids).alias(name))
    if users is None:
        return Table(frame, "users", "users", "made of ids", {"user": "user", name: name})
    known = matching(users, "user", ids)
    return users.with_frame(frame.join(known, on="user", how="left", maintain_order="left"))


def by_items(
    result: Result, truth: Table, train: Table, again: Callable[[Table], Result]
) -> Result:
    """Add to the slices the measures over warm and over cold relevant items alone.

    ``again`` evaluates the same lists against another truth.
    """
    warm = matching(train, "item", truth.frame["item"])["item"].unique()
    is_warm = truth.frame["item"].is_in(warm.implode())
    rows = [] if result.slices is None else [result.slices]
    for group, keep in (("warm", is_warm), ("cold", ~is_warm)):
        part = truth.with_frame(truth.frame.filter(keep))
        try:
            own = again(part)
        except EmptyError:  # nobody has such an item, or nobody of those a list
            users, values = 0, dict.fromkeys(result.values, float("nan"))
        else:
            users, values = len(own.per_user), own.values
        head = {"by": "relevant items", "group": group, "users": users}
        rows.append(pl.DataFrame({name: [value] for name, value in {**head, **values}.items()}))
    slices = pl.concat(rows, how="diagonal_relaxed")
    filled = pl.exclude("by", "group", "users", "label").fill_null(float("nan"))
    slices = slices.with_columns(filled)
    if result.label:
        slices = slices.with_columns(label=pl.lit(result.label))
    return replace(result, slices=slices)
