"""The recommendation lists of a model: its own lists, or the top k of its predicted scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.candidates.candidate_sets import Candidates
from rankwise.core.progress import progress_bar
from rankwise.errors import EmptyError
from rankwise.models.predict import Predictions
from rankwise.models.recommend import ModelLists, request_lists
from rankwise.ranking.pool import make_pool
from rankwise.ranking.rank import TieRule, rank_pool
from rankwise.ranking.scores import Computed
from rankwise.tables.align import align, matching
from rankwise.tables.table import Recommendations, Table

__all__ = ["predicted", "recommended"]


def recommended(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
    many: bool,
    batch_size: int,
    progress: bool | None,
) -> tuple[Recommendations, dict[str, int], list[Any]]:
    """Return the lists from ``model.recommend``, counts of irregularities, and the failed users."""
    seen = matching(tables["train"], "user", users) if "train" in tables else None
    n_seen: dict[Any, int] = {}
    if exclude_seen and seen is not None:
        n_seen = dict(seen.group_by("user").agg(pl.col("item").n_unique()).iter_rows())
    with progress_bar(len(users), "users", shown=progress) as bar:
        lists = request_lists(
            model,
            users.to_list(),
            lambda batch: n + max(n_seen.get(user, 0) for user in batch),
            item_type=_item_type(tables["truth"]),
            many=many,
            batch_size=batch_size,
            advance=bar.update,
        )
    if not any(items for items, _ in lists.lists):
        raise _no_lists(lists)
    frame, counts = _clean(lists.frame(users), n, seen, tables, exclude_seen=exclude_seen)
    counts["users_model_failed_for"] = len(lists.failed)
    counts["users_with_too_few_items"] += sum(not items for items, _ in lists.lists)
    counts["users_with_too_many_items"] = lists.too_long
    columns = {name: name for name in frame.columns}
    table = Recommendations(frame, "recommendations", "model", "lists of a model", columns)
    return table, counts, list(lists.failed)


def _item_type(truth: Table) -> type | None:
    """Return the required type of items; None, for either, if integers were text in a file."""
    if truth.frame["item"].dtype == pl.String:
        return str
    return None if truth.is_text else int


def _no_lists(lists: ModelLists) -> EmptyError:
    first = next(iter(lists.failed.items()), None)
    return EmptyError(
        "the model returned no recommendations for any user",
        found=f"{len(lists.failed)} of {len(lists.failed) + len(lists.users)} users failed"
        + (f", the first, {first[0]!r}, with {first[1]}" if first else ""),
    )


def _clean(
    frame: pl.DataFrame, n: int, seen: pl.DataFrame | None, tables: Mapping[str, Table], *, exclude_seen: bool
) -> tuple[pl.DataFrame, Counter[str]]:
    """Drop duplicates, and seen items if excluded; cut lists at n; count irregularities."""
    counts: Counter[str] = Counter()
    kept = frame.filter(pl.struct("user", "item").is_first_distinct())
    counts["items_repeated"] = len(frame) - len(kept)
    lists = Recommendations(kept, "recommendations", "model", "lists of a model", {})
    if seen is not None:
        seen = _seen_pairs(seen, lists, tables["train"])
        if exclude_seen:
            unseen = kept.join(seen, on=["user", "item"], how="anti", maintain_order="left")
            counts["seen_items_taken_out"] = len(kept) - len(unseen)
            kept = unseen
            if kept.is_empty():
                raise EmptyError("every recommended item was seen in training", where="model")
    kept = kept.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    kept = kept.filter(pl.col("rank") <= n)
    if seen is not None and not exclude_seen:
        counts["seen_items_recommended"] = len(kept.join(seen, on=["user", "item"], how="semi"))
    catalogue = [tables[role] for role in (["items"] if "items" in tables else ["train", "truth"]) if role in tables]
    if "items" in tables or "train" in tables:
        align([lists, *catalogue], "item")
        item_type = kept["item"].dtype
        known = pl.concat([table.frame["item"].cast(item_type) for table in catalogue]).unique()
        counts["items_unknown"] = int((~kept["item"].is_in(known.implode())).sum())
    lengths = kept.group_by("user").len()["len"].cast(pl.Int64)  # n may not fit 32 bits
    counts["users_with_too_few_items"] = int((lengths < n).sum())
    counts["users_with_too_few_items"] += frame["user"].n_unique() - len(lengths)
    return kept, counts


def predicted(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
    candidates: Candidates | None,
    ties: TieRule,
    batch_size: int,
    progress: bool | None,
) -> tuple[Recommendations, dict[str, int], list[Any]]:
    """Return the lists from the scores of ``model.predict``, irregularities, and failed users."""
    item_ids = tables["items"].frame["item"] if "items" in tables else None
    predictions = Predictions(model, users.to_list(), 0 if item_ids is None else len(item_ids))
    pool = make_pool(
        Computed(predictions.scores, len(users), predictions.width, batch_size),
        None,
        None,
        None,
        exclude=tables["train"] if exclude_seen else None,
        candidates=candidates,
        user_ids=users,
        item_ids=item_ids,
        only=None,
        columns=None,
    )
    try:
        ranking = rank_pool(pool, n, ties, 1, progress)
    except EmptyError as error:
        if len(predictions.failed) < len(users):
            raise
        raise predictions.no_scores() from error
    counts = Counter(ranking.counts)
    counts["users_model_failed_for"] = len(predictions.failed)
    counts["users_with_nothing_to_rank"] -= len(predictions.failed)
    counts["users_with_too_few_items"] = counts["users_with_nothing_to_rank"]
    counts["users_with_too_few_items"] += counts.pop("lists_shorter_than_k")
    if "train" in tables and not exclude_seen:
        train = matching(tables["train"], "user", users)
        seen = _seen_pairs(train, ranking.as_table(), tables["train"])
        recommended_again = ranking.frame.join(seen, on=["user", "item"], how="semi")
        counts["seen_items_recommended"] = len(recommended_again)
    return replace(ranking.as_table(), counts={}), dict(counts), list(predictions.failed)


def _seen_pairs(seen: pl.DataFrame, lists: Table, train: Table) -> pl.DataFrame:
    """Return the seen user-item pairs, items typed as in the lists; raise if none can match."""
    pairs = align([lists, train.with_frame(seen.select("user", "item"))], "item")[1].frame
    return pairs.cast({"item": lists.frame["item"].dtype})
