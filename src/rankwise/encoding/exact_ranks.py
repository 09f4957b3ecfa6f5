"""Exact ranks of judged items, encoded as lists that name these items only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl

from rankwise.core.choices import Ties
from rankwise.core.lists import Lists, RankRange
from rankwise.core.ragged import offsets
from rankwise.encoding.id_space import IdSpace
from rankwise.errors import InputError, ParameterError
from rankwise.tables.table import Recommendations, Table

__all__ = ["encode_ranks", "no_ranks"]


def encode_ranks(table: Recommendations, truth: Table, ids: IdSpace, ties: Ties, counts: Counter[str]) -> Lists:
    """Return exact ranks as lists that name judged items only.

    Raises
    ------
    InputError
        If the ground truth has rows without a rank.
    """
    assert table.lengths is not None
    if ties not in ("expected", "optimistic", "pessimistic"):
        raise ParameterError(
            "exact ranks do not break ties between scores",
            found=f"ties={ties!r}",
            hint='use "expected", "optimistic" or "pessimistic"',
        )
    frame = table.frame
    kind = {role: frame[role].dtype for role in ("user", "item")}
    lengths = table.lengths.cast({"user": kind["user"]})
    judged = truth.frame.select("user", "item").cast(kind)  # type: ignore[arg-type]
    judged = judged.join(lengths, on="user", how="semi")
    lost = judged.join(frame, on=["user", "item"], how="anti")
    if table.unranked is not None and len(lost):
        lost = lost.join(table.unranked.cast(kind), on=["user", "item"], how="anti")  # type: ignore[arg-type]
    if len(lost):
        raise InputError(
            "these ranks were computed for another ground truth",
            where=f"user {lost['user'][0]!r}, item {lost['item'][0]!r}",
            found=f"{len(lost)} ground truth rows without a rank",
            hint="pass the same ground truth to rw.rank_relevant and rw.evaluate",
        )
    counted = lengths.join(frame.group_by("user").len(), on="user", how="left", maintain_order="left")
    if not frame["user"].is_sorted():
        order = lengths.select("user").with_row_index("at")
        frame = frame.join(order, on="user", maintain_order="left").sort("at", "first", maintain_order=True)
    counts["lists"] += len(lengths)
    ranges = RankRange(frame["first"].to_numpy(), frame["last"].to_numpy(), lengths["length"].to_numpy())
    return Lists(
        user=ids.users.encode(lengths["user"]),
        starts=offsets(counted["len"].fill_null(0).cast(pl.Int64).to_numpy()),
        items=ids.items.encode(frame["item"]),
        scores=frame["score"].to_numpy(),
        has_ties=bool((ranges.last > ranges.first).any()),
        rank_range=ranges,
    )


def no_ranks() -> Lists:
    """Return no lists at all, as exact ranks."""
    none = Lists.none()
    return replace(none, rank_range=RankRange(none.items, none.items, none.items))
