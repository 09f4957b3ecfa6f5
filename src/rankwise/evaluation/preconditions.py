"""Whether recommendations are enough for the measures: checked before any work is done."""

from __future__ import annotations

from collections.abc import Collection

from rankwise.core.choices import CatalogueRule
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.plan import Plan
from rankwise.tables.protocol import Protocol
from rankwise.tables.table import Recommendations, Table, Tables

__all__ = ["check_catalogue", "check_exact", "check_piece", "check_threshold"]

_WHOLE_LISTS = {"recommended", "overlap_history", "overlap_baseline"}


def check_exact(plan: Plan, tables: Collection[str]) -> None:
    """Raise if a measure looks at more than the ranks of judged items."""
    for leaf in plan.leaves:
        waived = plan.waived(leaf)
        if (leaf.reads.rows - waived) & _WHOLE_LISTS:
            raise MeasureError(
                f"{leaf} describes whole lists, and exact ranks exist only for judged items",
                hint="rank lists with rw.rank, and evaluate those",
            )
        if leaf.reads.catalogue == "whole" and not waived and "items" not in tables:
            raise MeasureError(
                f"{leaf} needs the size of the catalogue, which exact ranks do not tell",
                hint="pass items=",
            )


def check_piece(plan: Plan, recommended: Recommendations, threshold: float | None) -> None:
    """Raise unless exact ranks come where they are awaited, and nowhere else.

    Nor may a measure count the catalogue where only a sample of it was ranked.
    """
    if recommended.is_exact != plan.exact:
        raise ParameterError(
            "exact ranks go to Evaluator(exact=True), and nothing else does",
            found=recommended.format,
        )
    protocol = recommended.protocol
    check_threshold(protocol, threshold)
    for leaf in [] if plan.exact else plan.leaves:
        if protocol is not None and protocol.sampled and leaf.counts_candidates:
            raise MeasureError(
                f"{leaf} counts all items that a user has not seen, and these lists were ranked "
                "from a sample",
                found=protocol.label,
                hint="rw.rank_relevant counts over the sample itself",
            )
    if recommended.k is not None:
        _check_tail(plan, recommended, recommended.k)
    _check_scores(plan, recommended)


def check_threshold(protocol: Protocol | None, threshold: float | None) -> None:
    """Raise unless relevant is what was relevant when candidates were drawn."""
    if protocol is not None and protocol.sampled and protocol.relevance_threshold != threshold:
        raise ParameterError(
            "candidates were sampled for another threshold of relevance",
            found=f"relevance_threshold={threshold}, drawn for {protocol.relevance_threshold}",
            hint="say the same here, or draw candidates anew",
        )


def _check_tail(plan: Plan, recommended: Table, k: int) -> None:
    """Raise if a measure would take what ties with the last of a list for what follows it."""
    deep = [leaf for leaf in plan.leaves if leaf.reads_below_k]
    if deep and recommended.frame.group_by("user").len()["len"].max() > k:  # type: ignore[operator]
        raise MeasureError(
            f"{deep[0]} cannot tell what ties with the last item of a list from what follows it",
            found=f"lists of {k}, some with more items of their last score",
            hint="rw.rank_relevant counts over all candidates",
        )


def _check_scores(plan: Plan, recommended: Table) -> None:
    """Raise if a measure needs scores and these lists have none."""
    if "score" in recommended.frame.columns:
        return
    for leaf in plan.leaves:
        if "scores" in leaf.reads.rows:
            raise MeasureError(
                f"{leaf.name} needs predicted scores",
                where=recommended.source,
                found=f"columns {', '.join(recommended.frame.columns)}",
                hint="pass recommendations with a score column",
            )


def check_catalogue(plan: Plan, rule: CatalogueRule, reference: Tables) -> None:
    """Raise if a measure needs the catalogue, which is that of training, and there is none."""
    if plan.needs_catalogue and rule == "train" and reference.train is None:
        raise ParameterError(
            "the catalogue is the items of training, and there is none",
            found='catalogue="train"',
            hint='pass train=, or catalogue="items"',
        )
