"""Exact ranks as lists: what measures they are enough for, and what truth they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankwise.core.lists import Lists, Places
from rankwise.core.segments import offsets
from rankwise.errors import InputError, MeasureError, ParameterError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection

    from rankwise.core.lists import Ties
    from rankwise.io.tables import Table
    from rankwise.measures.plan import Plan
    from rankwise.prepare import Vocabularies
    from rankwise.protocol import Protocol

__all__ = ["check_exact", "check_pieces", "check_threshold", "lists_of_ranks", "no_ranks"]

_WHOLE = {"listed", "repeats", "baseline"}


def check_exact(plan: Plan, tables: Collection[str]) -> None:
    """Raise if a measure looks at more than the ranks of judged items."""
    for leaf in plan.leaves:
        waived = plan.waived(leaf)
        if (leaf.requires - waived) & _WHOLE:
            raise MeasureError(
                f"{leaf} describes whole lists, and exact ranks are those of judged items alone",
                hint="rank lists with rw.rank, and evaluate those",
            )
        if leaf.needs_catalogue == "whole" and not waived and "items" not in tables:
            raise MeasureError(
                f"{leaf} needs the size of the catalogue, which exact ranks do not tell",
                hint="pass items=",
            )


def check_pieces(plan: Plan, listed: Table, threshold: float | None) -> None:
    """Raise unless exact ranks come where they are awaited, and nowhere else.

    Nor may a measure count the catalogue where only a sample of it was ranked.
    """
    if (listed.lengths is not None) != plan.exact:
        raise ParameterError(
            "exact ranks go to Evaluator(exact=True), and nothing else does", found=listed.form
        )
    protocol = listed.protocol
    check_threshold(protocol, threshold)
    for leaf in [] if plan.exact else plan.leaves:
        if protocol is not None and protocol.sampled and leaf.ranks_candidates:
            raise MeasureError(
                f"{leaf} counts all items that a user has not seen, and these lists were ranked "
                "from a sample",
                found=protocol.label,
                hint="rw.rank_relevant counts over the sample itself",
            )
    if listed.k is not None:
        _check_tail(plan, listed, listed.k)


def check_threshold(protocol: Protocol | None, threshold: float | None) -> None:
    """Raise unless relevant is what was relevant when candidates were drawn."""
    if protocol is not None and protocol.sampled and protocol.relevance_threshold != threshold:
        raise ParameterError(
            "candidates were sampled for another threshold of relevance",
            found=f"relevance_threshold={threshold}, drawn for {protocol.relevance_threshold}",
            hint="say the same here, or draw candidates anew",
        )


def _check_tail(plan: Plan, listed: Table, k: int) -> None:
    """Raise if a measure would take what ties with the last of a list for what follows it."""
    deep = [leaf for leaf in plan.leaves if leaf.beyond_cut]
    if deep and listed.frame.group_by("user").len()["len"].max() > k:  # type: ignore[operator]
        raise MeasureError(
            f"{deep[0]} cannot tell what ties with the last item of a list from what follows it",
            found=f"lists of {k}, some with more items of their last score",
            hint="rw.rank_relevant counts over all candidates",
        )


def lists_of_ranks(
    table: Table, truth: Table, words: Vocabularies, ties: Ties, tally: Counter[str]
) -> Lists:
    """Turn exact ranks into lists that name only judged items.

    Raises
    ------
    InputError
        If the truth has rows that these ranks do not know of.
    """
    assert table.lengths is not None
    if ties not in ("expected", "optimistic", "pessimistic"):
        raise ParameterError(
            "exact ranks leave ties open",
            found=f"ties={ties!r}",
            hint='take "expected", "optimistic" or "pessimistic"',
        )
    frame = table.frame
    kind = {role: frame[role].dtype for role in ("user", "item")}
    lengths = table.lengths.cast({"user": kind["user"]})
    asked = truth.frame.select("user", "item").cast(kind)  # type: ignore[arg-type]
    asked = asked.join(lengths, on="user", how="semi")
    lost = asked.join(frame, on=["user", "item"], how="anti")
    if table.unranked is not None and len(lost):
        lost = lost.join(table.unranked.cast(kind), on=["user", "item"], how="anti")  # type: ignore[arg-type]
    if len(lost):
        raise InputError(
            "these ranks were found for another truth",
            where=f"user {lost['user'][0]!r}, item {lost['item'][0]!r}",
            found=f"{len(lost)} rows of the truth without a rank",
            hint="pass rw.rank_relevant and rw.evaluate the same truth",
        )
    counted = lengths.join(
        frame.group_by("user").len(), on="user", how="left", maintain_order="left"
    )
    if not frame["user"].is_sorted():
        order = lengths.select("user").with_row_index("at")
        frame = frame.join(order, on="user", maintain_order="left").sort(
            "at", "first", maintain_order=True
        )
    tally["lists"] += len(lengths)
    places = Places(
        frame["first"].to_numpy(), frame["last"].to_numpy(), lengths["length"].to_numpy()
    )
    return Lists(
        user=words.users.encode(lengths["user"]),
        starts=offsets(counted["len"].fill_null(0).cast(pl.Int64).to_numpy()),
        items=words.items.encode(frame["item"]),
        scores=frame["score"].to_numpy(),
        has_ties=bool((places.last > places.first).any()),
        places=places,
    )


def no_ranks() -> Lists:
    """Return no lists at all, of the kind that exact ranks are."""
    none = Lists.none()
    return replace(none, places=Places(none.items, none.items, none.items))
