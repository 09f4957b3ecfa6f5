"""Lists with gaps between ranks: missing ranks are filled, so that items keep their ranks."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankwise.core.row_sets import Needs
from rankwise.errors import MeasureError, ParameterError, ScoreError
from rankwise.tables.table import Recommendations

__all__ = ["check_kept", "fill_gaps"]

_DESCRIBING = {"recommended", "overlap_history", "overlap_baseline"}
_LOWEST = -(2**62)
_SLACK = 1_000_000  # places that may be filled beside ten for every row


def check_kept(needs: Needs, *, numbers_items: bool) -> None:
    """Raise if a measure describes lists: a rank without an item is not part of a list."""
    if needs & _DESCRIBING or numbers_items:
        raise MeasureError(
            "measures that describe lists cannot count ranks without an item",
            found='ranks="keep"',
            hint='use ranks="close" for them, and evaluate accuracy measures separately',
        )


def fill_gaps(table: Recommendations) -> Recommendations:
    """Return lists with a placeholder item at every missing rank above the last.

    The lists with gaps are counted as ``lists_with_rank_gaps``.
    """
    frame = table.frame
    if "rank" not in frame.columns or not frame.schema["rank"].is_integer():
        raise ParameterError(
            'ranks="keep" needs a rank for every row, as whole numbers',
            where=table.source,
            found=f"columns {', '.join(frame.columns)}",
        )
    if int(frame["rank"].to_numpy().min()) < 1:
        raise ScoreError("ranks count from 1", where=table.source, found=str(frame["rank"].min()))
    last = frame.group_by("user", maintain_order=True).agg(pl.max("rank"), rows=pl.n_unique("rank"))
    last = last.filter(pl.col("rank") > pl.col("rows"))
    if last.is_empty():
        return table
    wanted = int(last["rank"].to_numpy().astype(float).sum() - last["rows"].sum())
    if wanted > 10 * len(frame) + _SLACK:
        raise ScoreError(
            "too many ranks are missing to keep a place for each of them",
            where=table.source,
            found=f"{wanted:,} missing ranks, {len(frame):,} rows",
            hint='do ranks count from 1 in every list? ranks="close" closes the gaps',
        )
    places = last.select("user", pl.int_ranges(1, pl.col("rank") + 1).alias("rank"))
    places = places.explode("rank").with_columns(pl.col("rank").cast(frame.schema["rank"]))
    missing = places.join(frame, on=["user", "rank"], how="anti", maintain_order="left")
    text = frame.schema["item"] == pl.String
    name = pl.format("\x00{}", "rank") if text else pl.col("rank").cast(pl.Int64) + _LOWEST
    filled = pl.concat([frame, missing.with_columns(item=name)], how="diagonal_relaxed")
    filled = filled.sort("user", "rank", maintain_order=True)
    counts = {**table.counts, "lists_with_rank_gaps": len(last), "places_without_item": len(missing)}
    return replace(table, frame=filled.select(frame.columns), counts=counts)
