"""Running a plan over blocks: a setting and measures in, a partial out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.core.engine import Setting, Slab, slabs, unlisted
from rankwise.core.facts import Categories, Features, Popularity
from rankwise.core.parallel import each, one_blas_thread
from rankwise.core.partial import Partial
from rankwise.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankwise.core.block import Block
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
    with one_blas_thread(), Progress(len(setting.lists.user), "users", shown=progress) as bar:
        for piece in each(work, slabs(setting), threads):
            _add(sums, piece.sums)
            pieces.append(replace(piece, sums={}))  # a whole catalogue each
            bar.advance(len(piece.columns["user"]))
    step = min(setting.most_users, max(len(without_list), 1))
    for first in range(0, max(len(without_list), 1), step):
        pieces.append(_piece(plan, unlisted(setting, without_list[first : first + step])))
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
    tally.update(_unknown(block))
    return _Piece(columns, plan.item_sums(block), tally)


def _unknown(block: Block) -> dict[str, int]:
    """Count what measures would have liked to know."""
    out: dict[str, int] = {}
    for fact, found in block.facts.items():
        if block.listed is None:
            continue
        items = block.listed.item
        if isinstance(found, Popularity):
            out["recommendations_of_cold_items"] = int((found.count[items] == 0).sum())
        elif isinstance(found, Features):
            out[f"recommendations_without_{fact}"] = int((~found.known[items]).sum())
        elif isinstance(found, Categories):
            out[f"recommendations_without_{fact}"] = int((found.signature[items] == 0).sum())
    if block.profile is not None or block.repeats is not None:
        held = (
            block.repeats.length
            if block.repeats is not None
            else block.count_rows(block.rows("profile"))
        )
        out["users_without_history"] = int((held == 0).sum())
    if block.baseline is not None:
        out["users_without_baseline"] = int((block.baseline.length == 0).sum())
    return out


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
