"""Training interactions and lists: seen items are removed, users get columns made from ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.tables.align import align, matching
from rankwise.tables.table import TRAINED, Recommendations, Table

__all__ = ["check_new_column", "take_out_seen", "with_column"]


def take_out_seen(
    recommendations: Recommendations, train: Table, truth: Table | None, *, required: bool = True
) -> Recommendations:
    """Return lists without their users' training interactions, which are counted.

    Ground truth rows that are training interactions can then no longer be hits; they are counted
    as well. If ``required``, at least one item and one such row must remain; a chunk of
    the users may have none.
    """
    if recommendations.is_exact:
        raise InputError(
            "training interactions cannot be removed from exact ranks",
            hint="pass them to rw.rank_relevant: exclude=train",
        )
    seen = _seen_pairs(train, [recommendations, *([] if truth is None else [truth])])
    pair = ["user", "item"]
    lists = recommendations.frame
    kept = lists.join(seen.cast(_types(lists)), on=pair, how="anti", maintain_order="left")
    if kept.is_empty() and required:
        source = recommendations.source
        raise EmptyError("every recommended item was seen in training", where=source)
    if "rank" in kept.columns:
        kept = kept.with_columns(pl.col("rank").rank("ordinal").over("user").cast(pl.Int64))
    counts = {**recommendations.counts, "seen_items_taken_out": len(lists) - len(kept)}
    if truth is not None:
        known = truth.frame.join(seen.cast(_types(truth.frame)), on=pair, how="semi")
        counts["truth_rows_seen_in_training"] = len(known)
        if required and 0 < len(truth.frame) == len(known):
            raise InputError(
                "every ground truth row is a training interaction, so exclude_seen leaves no hit",
                where=train.source,
                found=f"{len(known):,} such rows",
                hint='for a validation part pass what is known before it: train=split.known("validation")'
                if TRAINED in train.frame.columns
                else "pass as train what was known before the ground truth",
            )
    protocol = recommendations.protocol
    if protocol is not None:
        protocol = replace(protocol, candidates=f"{protocol.candidates}, lists less seen")
    return replace(recommendations, frame=kept, counts=counts, protocol=protocol)


def _seen_pairs(train: Table, others: list[Table]) -> pl.DataFrame:
    """Return distinct (user, item) pairs of training, with ids of the type of other tables."""
    pairs = train.with_frame(train.frame.select("user", "item").unique())
    for column in ("user", "item"):
        pairs = align([*others, pairs], column)[-1]
    return pairs.frame


def _types(frame: pl.DataFrame) -> dict[Any, pl.DataType]:
    return {name: frame[name].dtype for name in ("user", "item")}


def check_new_column(users: Table | None, name: str, option: str) -> None:
    """Raise if users already have the column that an option adds."""
    if users is not None and name in users.frame.columns:
        raise ParameterError(
            f"{option} adds a column {name!r} to users, which already have one",
            where=users.source,
            hint="rename that column",
        )


def with_column(
    users: Table | None, others: list[Table], name: str, option: str, make: Callable[[pl.Series], pl.Series]
) -> Table:
    """Return the users of several tables, one row per user, with a column made from their ids."""
    check_new_column(users, name, option)
    columns = [table.frame["user"] for table in others]
    if users is not None:
        columns.append(matching(users, "user", columns[0])["user"])
    ids = pl.concat([column.cast(columns[0].dtype) for column in columns])
    ids = ids.unique(maintain_order=True)
    frame = ids.to_frame("user").with_columns(make(ids).alias(name))
    if users is None:
        return Table(frame, "users", "users", "made of ids", {"user": "user", name: name})
    known = matching(users, "user", ids)
    return users.with_frame(frame.join(known, on="user", how="left", maintain_order="left"))
