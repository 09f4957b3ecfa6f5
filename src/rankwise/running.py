"""Running a plan over blocks: a setting and measures in, a partial out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from rankwise.core.engine import Setting, Slab, slabs, unlisted
from rankwise.core.facts import Fact, Popularity
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
    sums: dict[str, Any]
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

    pieces, sums = [], dict[str, Any]()
    # Blocks are what runs side by side: matrix products with threads of their own would only
    # stand in each other's way, and could give another last digit.
    blas = threadpool_limits(limits=1, user_api="blas")
    with blas, Progress(len(setting.lists.user), "users", shown=progress) as bar:
        for piece in each(work, slabs(setting), threads):
            pieces.append(piece)
            _add(sums, piece.sums)
            bar.advance(len(piece.columns["user"]))
    pieces.append(_piece(plan, unlisted(setting, without_list)))
    _add(sums, pieces[-1].sums)
    columns: dict[str, Any] = {
        name: np.concatenate([piece.columns[name] for piece in pieces])
        for name in pieces[0].columns
    }
    columns["user"] = setting.users.decode(columns["user"])
    total = sum((piece.tally for piece in pieces), tally)
    items = _items(setting, seen_items, sums) if plan.needs_catalogue else None
    listed = setting.lists.user
    outside = listed[~setting.is_counted(listed)]
    others = setting.users.decode(outside) if len(outside) else None
    return Partial(pl.DataFrame(columns), items, dict(total), others)


def _add(sums: dict[str, Any], more: dict[str, Any]) -> None:
    for name, values in more.items():
        sums[name] = sums[name] + values if name in sums else values


def _piece(plan: Plan, slab: Slab) -> _Piece:
    block = slab.block
    columns = {
        "user": block.user,
        "n_relevant": block.n_relevant,
        "list_length": block.list_length,
        **plan.columns(block),
    }
    hits = len(block.hits.gain)
    tally = Counter({"tied_rows": slab.tied_rows, "relevant_rows": hits})
    if block.judged is not None and plan.compares_scores:
        tally["truth_rows_without_score"] = int(block.n_judged.sum()) - len(block.judged.user)
    popularity = block.facts.get(Fact("popularity"))
    if isinstance(popularity, Popularity) and block.listed is not None:
        tally["recommendations_of_cold_items"] = int(
            (popularity.count[block.listed.item] == 0).sum()
        )
    return _Piece(columns, plan.item_sums(block), tally)


def _items(setting: Setting, seen_items: Sequence[Ints], sums: dict[str, Any]) -> pl.DataFrame:
    seen = np.zeros(setting.items.size, dtype=bool)
    for codes in seen_items:
        seen[codes] = True
    shown = np.flatnonzero(seen)
    return pl.DataFrame(
        {
            "item": setting.items.decode(shown),
            **{name: values[shown].astype(np.int64) for name, values in sums.items()},
        }
    )
