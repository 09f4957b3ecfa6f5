"""Running a plan over blocks: a setting and measures in, a partial out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.core.engine import Setting, Slab, slabs, unlisted
from rankwise.core.parallel import each
from rankwise.core.partial import Partial
from rankwise.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankwise.core.segments import Ints
    from rankwise.measures.plan import Plan

__all__ = ["run"]


@dataclass(frozen=True)
class _Piece:
    """What one block came to: users' columns, counts of items, tallies."""

    columns: dict[str, Any]
    counts: Any
    tally: Counter[str]


def run(
    setting: Setting,
    plan: Plan,
    *,
    without_list: Ints,
    seen_items: Sequence[Ints],
    tally: Counter[str],
    threads: int,
    progress: bool | None,
) -> Partial:
    """Work out all columns of all counted users.

    Parameters
    ----------
    setting : Setting
        Lists and truth.
    plan : Plan
        The measures.
    without_list : array of int
        Codes of counted users without a list.
    seen_items : sequence of arrays of int
        Codes of items that were seen: the catalogue where none is given.
    tally : Counter
        What has been counted so far.
    threads : int
        Threads to use.
    progress : bool or None
        Whether to show a bar.
    """

    def work(make: Callable[[], Slab]) -> _Piece:
        return _piece(plan, make())

    pieces, counts = [], None
    with Progress(len(setting.lists.user), "users", shown=progress) as bar:
        for piece in each(work, slabs(setting), threads):
            pieces.append(piece)
            if piece.counts is not None:
                counts = piece.counts if counts is None else counts + piece.counts
            bar.advance(len(piece.columns["user"]))
    pieces.append(_piece(plan, unlisted(setting, without_list)))
    columns: dict[str, Any] = {
        name: np.concatenate([piece.columns[name] for piece in pieces])
        for name in pieces[0].columns
    }
    columns["user"] = setting.users.decode(columns["user"])
    total = sum((piece.tally for piece in pieces), tally)
    items = _items(setting, plan, seen_items, counts) if plan.needs_catalogue else None
    listed = setting.lists.user
    outside = listed[~setting.is_counted(listed)]
    others = setting.users.decode(outside) if len(outside) else None
    return Partial(pl.DataFrame(columns), items, dict(total), others)


def _piece(plan: Plan, slab: Slab) -> _Piece:
    block = slab.block
    columns = {
        "user": slab.users,
        "n_relevant": block.n_relevant,
        "list_length": block.list_length,
        **plan.columns(block),
    }
    hits = len(block.hits.gain)
    tally = Counter({"tied_rows": slab.tied_rows, "relevant_rows": hits})
    if block.judged is not None:
        tally["truth_rows_without_score"] = int(block.n_judged.sum()) - len(block.judged.user)
    return _Piece(columns, plan.counts(block) if plan.catalogue_ks else None, tally)


def _items(setting: Setting, plan: Plan, seen_items: Sequence[Ints], counts: Any) -> pl.DataFrame:
    seen = np.zeros(setting.items.size, dtype=bool)
    for codes in seen_items:
        seen[codes] = True
    shown = np.flatnonzero(seen)
    names = [f"count@{k}" for k in plan.catalogue_ks]
    if counts is None:
        counts = np.zeros((len(names), setting.items.size), dtype=np.int64)
    return pl.DataFrame(
        {"item": setting.items.decode(shown), **dict(zip(names, counts[:, shown], strict=True))},
        schema_overrides=dict.fromkeys(names, pl.Int64),
    )
