"""The lists of a model: its own, or those of the scores that it predicts; and what is odd there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.errors import EmptyError
from rankwise.io.align import align, matching
from rankwise.io.tables import Table
from rankwise.models.asking import Answers, ask
from rankwise.models.predicting import Predictions
from rankwise.progress import Progress
from rankwise.ranking.pool import make_pool
from rankwise.ranking.rank import TieRule, rank_pool
from rankwise.ranking.scores import Computed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.candidates import Candidates

__all__ = ["predicted", "recommended"]


def recommended(
    model: Any,
    who: pl.Series,
    n: int,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
    many: bool,
    batch_size: int,
    progress: bool | None,
) -> tuple[Table, dict[str, int], list[Any]]:
    """Return a model's own lists, what is odd about them, and for whom it failed."""
    seen = matching(tables["train"], "user", who) if "train" in tables else None
    more: dict[Any, int] = {}
    if exclude_seen and seen is not None:
        more = dict(seen.group_by("user").agg(pl.col("item").n_unique()).iter_rows())
    with Progress(len(who), "users", shown=progress) as bar:
        answers = ask(
            model, who.to_list(), lambda some: n + max(more.get(user, 0) for user in some),
            kind=_kind_of(tables["truth"]), many=many, batch_size=batch_size, done=bar.advance,
        )  # fmt: skip
    if not any(items for items, _ in answers.lists):
        raise _nothing(answers)
    frame, counts = _tidied(answers.frame(who), n, seen, tables, exclude_seen=exclude_seen)
    counts["users_model_failed_for"] = len(answers.failed)
    counts["users_with_too_few_items"] += sum(not items for items, _ in answers.lists)
    columns = {name: name for name in frame.columns}
    table = Table(frame, "recommendations", "model", "lists of a model", columns)
    return table, counts, list(answers.failed)


def _kind_of(truth: Table) -> type | None:
    """Return what items must be; integers that were text in a file may be either."""
    if truth.frame["item"].dtype == pl.String:
        return str
    return None if truth.is_text else int


def _nothing(answers: Answers) -> EmptyError:
    first = next(iter(answers.failed.items()), None)
    return EmptyError(
        "the model recommended nothing to anybody",
        found=f"{len(answers.failed)} of {len(answers.failed) + len(answers.users)} users failed"
        + (f", the first, {first[0]!r}, with {first[1]}" if first else ""),
    )


def _tidied(
    frame: pl.DataFrame,
    n: int,
    seen: pl.DataFrame | None,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
) -> tuple[pl.DataFrame, Counter[str]]:
    """Drop repetitions, and what was seen if that is asked for, cut at n, and count it all."""
    counts: Counter[str] = Counter()
    once = frame.filter(pl.struct("user", "item").is_first_distinct())
    counts["items_repeated"] = len(frame) - len(once)
    listed = Table(once, "recommendations", "model", "lists of a model", {})
    if seen is not None:
        past = _past(seen, listed, tables["train"])
        if exclude_seen:
            kept = once.join(past, on=["user", "item"], how="anti", maintain_order="left")
            counts["seen_items_taken_out"] = len(once) - len(kept)
            once = kept
    once = once.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    once = once.filter(pl.col("rank") <= n)
    if seen is not None and not exclude_seen:
        counts["seen_items_recommended"] = len(once.join(past, on=["user", "item"], how="semi"))
    given = [tables["items"]] if "items" in tables else [tables[k] for k in ("train", "truth")
                                                        if k in tables]  # fmt: skip
    if "items" in tables or "train" in tables:
        align([listed, *given], "item")
        known = pl.concat([t.frame["item"].cast(once["item"].dtype) for t in given]).unique()
        unknown = ~once["item"].is_in(known.implode())
        counts["items_unknown"] = int(unknown.sum())
    sizes = once.group_by("user").len()["len"]
    counts["users_with_too_few_items"] = int((sizes < n).sum())
    counts["users_with_too_few_items"] += frame["user"].n_unique() - len(sizes)
    return once, counts


def predicted(
    model: Any,
    who: pl.Series,
    n: int,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
    candidates: Candidates | None,
    ties: TieRule,
    batch_size: int,
    progress: bool | None,
) -> tuple[Table, dict[str, int], list[Any]]:
    """Rank the scores that a model predicts for every item; one call after the other."""
    names = tables["items"].frame["item"] if "items" in tables else None
    scores = Predictions(model, who.to_list(), 0 if names is None else len(names))
    pool = make_pool(
        Computed(scores.of, len(who), scores.width, batch_size), None, None, None,
        exclude=tables["train"] if exclude_seen else None, candidates=candidates,
        user_ids=who, item_ids=names, only=None, columns=None,
    )  # fmt: skip
    try:
        ranking = rank_pool(pool, n, ties, 1, progress)
    except EmptyError as error:
        if len(scores.lost) < len(who):
            raise
        raise EmptyError("the model predicted nothing for anybody",
                         found=next(iter(scores.lost.values()))) from error  # fmt: skip
    counts = Counter(ranking.counts)
    counts["users_model_failed_for"] = len(scores.lost)
    counts["users_with_nothing_to_rank"] -= len(scores.lost)
    counts["users_with_too_few_items"] = counts["users_with_nothing_to_rank"]
    counts["users_with_too_few_items"] += counts.pop("lists_shorter_than_k")
    if "train" in tables and not exclude_seen:
        past = _past(matching(tables["train"], "user", who), ranking.as_table(), tables["train"])
        seen = ranking.frame.join(past, on=["user", "item"], how="semi")
        counts["seen_items_recommended"] = len(seen)
    return replace(ranking.as_table(), counts={}), dict(counts), list(scores.lost)


def _past(seen: pl.DataFrame, listed: Table, train: Table) -> pl.DataFrame:
    """Return what users have seen, items of the kind that lists have; raise if none could meet."""
    own = align([listed, train.with_frame(seen.select("user", "item"))], "item")[1].frame
    return own.cast({"item": listed.frame["item"].dtype})
