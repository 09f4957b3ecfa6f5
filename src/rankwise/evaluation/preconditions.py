"""Checks, before any computation, that recommendations have what the metrics need."""

from __future__ import annotations

from collections.abc import Collection

from rankwise.core.choices import CatalogueRule
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.plan import Plan
from rankwise.tables.protocol import Protocol
from rankwise.tables.table import Recommendations, Table

__all__ = ["check_catalogue", "check_exact", "check_piece", "check_sampled", "check_threshold"]

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
                f"{leaf} needs the size of the catalogue, which exact ranks do not contain", hint="pass items="
            )


def check_piece(plan: Plan, recommended: Recommendations, threshold: float | None) -> None:
    """Raise unless exact ranks are passed exactly where they are expected.

    Nor may a measure count the catalogue where only a sample of it was ranked.
    """
    if recommended.is_exact != plan.exact:
        raise ParameterError(
            "Evaluator(exact=True) takes exact ranks, and no other evaluator does", found=recommended.format
        )
    protocol = recommended.protocol
    check_threshold(protocol, threshold)
    if protocol is not None and protocol.sampled:
        check_sampled(plan, protocol.label)
    if recommended.k is not None:
        _check_tail(plan, recommended, recommended.k)
    _check_scores(plan, recommended)


def check_sampled(plan: Plan, label: str) -> None:
    """Raise if a measure counts the catalogue where only a sample of it was ranked, as ``label`` says."""
    for leaf in [] if plan.exact else plan.leaves:
        if leaf.counts_candidates:
            raise MeasureError(
                f"{leaf} counts all items that a user has not seen, but these lists were ranked from a sample",
                found=label,
                hint="rw.rank_relevant computes it over the sample",
            )


def check_threshold(protocol: Protocol | None, threshold: float | None) -> None:
    """Raise if the rating threshold differs from the one with which candidates were drawn."""
    if protocol is not None and protocol.sampled and protocol.relevance_threshold != threshold:
        raise ParameterError(
            "candidates were sampled for another rating threshold",
            found=f"relevance_threshold={threshold}, drawn for {protocol.relevance_threshold}",
            hint="pass the same threshold here, or draw new candidates",
        )


def _check_tail(plan: Plan, recommended: Table, k: int) -> None:
    """Raise if a measure cannot handle items that tie with the last item of a list."""
    deep = [leaf for leaf in plan.leaves if leaf.reads_below_k]
    if deep and recommended.frame.group_by("user").len()["len"].max() > k:  # type: ignore[operator]
        raise MeasureError(
            f"{deep[0]} needs to know which items tie with the last item of a list",
            found=f"lists of {k}, some with more items that tie with their last item",
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


def check_catalogue(plan: Plan, rule: CatalogueRule, tables: Collection[str]) -> None:
    """Raise if a measure needs the catalogue, which is that of training, and there is none."""
    if plan.needs_catalogue and rule == "train" and "train" not in tables:
        raise ParameterError(
            'catalogue="train" needs training interactions', found="no train", hint='pass train=, or catalogue="items"'
        )
