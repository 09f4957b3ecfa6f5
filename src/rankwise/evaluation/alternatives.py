"""Evidence in groups: items of the ground truth that can stand for one another.

Several passages may hold the same fact, and several sizes are the same shirt. One of them is enough:
the first of a list counts, and the others keep their places without counting.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankwise.core.units import unit_keys
from rankwise.encoding.encoder import ties_for
from rankwise.errors import MetricError, ParameterError, ScoreError
from rankwise.evaluation.settings import Settings
from rankwise.messages import parameter
from rankwise.tables.places import place_ids
from rankwise.tables.table import Recommendations, Tables


def merge_alternatives(settings: Settings, tables: Tables) -> Tables:
    """Return tables in which the items of one group of the ground truth are one item.

    Raises
    ------
    UsageError
        If a metric describes lists, in which each item stands for itself.
    ScoreError
        If two items of one group tie, so that it is open which of them comes first.
    """
    column, truth, lists = settings.alternatives, tables.truth, tables.recommendations
    if column is None or truth is None or lists is None:
        return tables
    _check(settings, lists)

    keys = [key for key in unit_keys(truth.frame) if key in lists.frame.columns]
    group = f"truth:{column}"
    relevant = truth.relevant(settings.relevance_threshold)
    named = relevant.filter(pl.col(group).is_not_null())
    worth = ["relevance"] if "relevance" in named.columns else []
    best = named.sort(*worth, descending=True, maintain_order=True) if worth else named
    first = best.group_by(*keys, group, maintain_order=True).agg(one=pl.first("item"))
    members = named.select(*keys, group, "item").unique(maintain_order=True)
    members = members.join(first, on=[*keys, group]).select(*keys, "item", "one")

    merged = truth.frame.join(members, on=[*keys, "item"], how="left", maintain_order="left")
    kept = merged.filter(pl.col("one").is_null() | (pl.col("one") == pl.col("item")))
    n_merged = len(merged) - len(kept)
    counts = {**truth.counts, "alternatives_merged": n_merged} if n_merged else truth.counts
    truth = replace(truth, frame=kept.drop("one"), counts=counts)
    return replace(
        tables, truth=truth, recommendations=_first_of_each(lists, members, keys, settings)
    )


def _check(settings: Settings, lists: Recommendations) -> None:
    """Raise if a metric or an option reads more than which evidence was found."""
    option = parameter("alternatives", settings.alternatives)
    if lists.is_exact:
        raise ParameterError(
            "exact ranks do not say which item of a group comes first", found=option
        )
    if settings.judged_only:
        raise ParameterError(
            "items without judgement are removed before it is known which item stands for which",
            found=f"{option} and {parameter('judged_only', value=True)}",
        )
    for metric in settings.metrics:
        for leaf in metric.leaves:
            if leaf.reads.rows - {"ideal"} or leaf.reads.facts or not leaf.reads_truth:
                raise MetricError(
                    f"{leaf} reads more than which relevant items were found, and items that stand "
                    "for one another are one item only there",
                    found=option,
                    hint="use recall, complete, precision, hit_rate, ndcg, map or mrr",
                )


def _first_of_each(
    lists: Recommendations, members: pl.DataFrame, keys: list[str], settings: Settings
) -> Recommendations:
    """Return lists in which the first item of each group has its name, the others names of nobody."""
    frame, of_list = lists.frame.with_row_index("row"), unit_keys(lists.frame)
    found = frame.join(members, on=[*keys, "item"], how="inner", maintain_order="left")
    by_score = "rank" not in frame.columns and "score" in frame.columns
    order, falling = ("row", False)
    if "rank" in frame.columns:
        order = "rank"
    elif by_score:
        order, falling = "score", True
    found = found.sort(order, descending=falling, maintain_order=True)
    is_first = found.select(pl.struct(*of_list, "one").is_first_distinct()).to_series()
    first, others = found.filter(is_first), found.filter(~is_first)
    if by_score:
        _check_ties(first, others, lists, settings)

    place = pl.int_range(pl.len()).over(of_list)
    name = place_ids(place, "alternative", frame.schema["item"])
    names = pl.concat(
        [first.select("row", name="one"), others.select("row", name=name)], how="vertical_relaxed"
    )
    renamed = frame.join(names, on="row", how="left", maintain_order="left")
    item = pl.coalesce("name", "item")
    counts = {**lists.counts, "alternatives_repeated": len(others)} if len(others) else lists.counts
    return replace(
        lists, frame=renamed.with_columns(item=item).select(lists.frame.columns), counts=counts
    )


def _check_ties(
    first: pl.DataFrame,
    others: pl.DataFrame,
    lists: Recommendations,
    settings: Settings,
) -> None:
    """Raise if an item ties with the first of its group, and ties may stand in any order."""
    if ties_for(lists, settings.ties, if_scored=True) not in (
        "expected",
        "optimistic",
        "pessimistic",
    ):
        return
    same = first.join(others, on=[*unit_keys(lists.frame), "one", "score"], how="inner")
    if len(same):
        raise ScoreError(
            "two items that stand for one another have the same score, so that it is open which of "
            "them comes first",
            where=f"{lists.source}, user {same['user'][0]!r}",
            found=f"items {same['item'][0]!r} and {same['item_right'][0]!r} ({len(same)} such pairs)",
            hint=f"say the order with {parameter('ties', 'input')} or {parameter('ties', 'item')}",
        )
