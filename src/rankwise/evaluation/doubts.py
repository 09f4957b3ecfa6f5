"""Checks for tables that were probably mixed up: an error, or a warning in the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import InputError
from rankwise.tables.align import align
from rankwise.tables.columns import ROLES, plain_name
from rankwise.tables.table import Recommendations, Table, Tables

__all__ = ["check_dense", "doubts", "may_be_sampled", "sample_in_lists", "swapped"]

_MOST_USERS = 0.95
"""Share of the users of whom sampled lists hold every relevant item, and negatives as many as those of others."""
_FEW_NEGATIVES = 9
_FEW_USERS = 20
_SMALL_SHARE = 0.1
"""Share of the items up to which no recommender finds every relevant item of nearly every user."""
_LARGEST_SHARE = 0.5
"""Share of the items above which lists are as good as whole: a full ranking of a small catalogue."""
_EVEN = 1.25
"""How often, times the mean, the most frequent tenth of items occurs at most if items are drawn at random.

A sixth standard deviation of a binomial count is added."""

_MODEL = {*ROLES["recommendations"]["rank"], *ROLES["recommendations"]["score"]} - {"rating"}
"""Names that ranks and scores of models have, and judgements of users rarely."""
_JUDGED = {*ROLES["truth"]["relevance"], *ROLES["truth"]["timestamp"]}


def check_dense(tables: Tables) -> None:
    """Raise if whole numbers in an array may as well be the scores of all items as item ids.

    Lists are shorter than the catalogue: an array with a column for every item that is known from
    other tables is more likely a score matrix.
    """
    lists, truth = tables.recommendations, tables.truth
    if lists is None or truth is None or lists.format != "dense array":
        return
    known = [truth, tables.train, tables.items]
    items = [table.frame["item"] for table in known if table is not None and len(table.frame)]
    if not all(ids.dtype.is_integer() for ids in items):
        return
    width = int(lists.frame.group_by("user").len()["len"].to_numpy().max())
    largest = max(int(ids.to_numpy().max()) for ids in items)
    if largest >= width:
        return
    raise InputError(
        "this array of whole numbers may hold item ids, best first, or a score for every item",
        where=lists.source,
        found=f"{width} columns, and items up to {largest} in the other tables",
        hint="pass ids as {user: [items]}, or scores as rw.rank(scores, k)",
    )


def doubts(tables: Tables) -> list[str]:
    """Return warnings: tables that look swapped, and tables that are the same."""
    lists, truth, train = tables.recommendations, tables.truth, tables.train
    if lists is None or truth is None or lists.format == "ratings":
        return []
    said = swapped(lists, truth)
    exact = isinstance(lists, Recommendations) and lists.is_exact  # ranks of the relevant items
    if not exact and _same_pairs(lists, truth):
        said.append("the recommendations are the user-item pairs of the ground truth")
    if train is not None and _same_pairs(train, truth):
        said.append("the training interactions are the user-item pairs of the ground truth")
    return said


def may_be_sampled(counts: Mapping[str, int], n_relevant: pl.Series, list_length: pl.Series) -> bool:
    """Return whether lists may be samples of negatives with the relevant items, by their counts alone.

    Nearly all relevant items are in the lists, and lists have equally many other items: most tables
    are told apart by these numbers, without a look at their rows.
    """
    listed = list_length > 0
    users = int(listed.sum())
    if users < _FEW_USERS or counts.get("hits", 0) < _MOST_USERS**2 * int(n_relevant.filter(listed).sum()):
        return False
    negatives = (list_length - n_relevant).filter(listed)
    return _most_frequent(negatives)[1] >= _MOST_USERS**2 * users


def sample_in_lists(tables: Tables, threshold: float | None) -> int | None:
    """Return the number of negatives beside the relevant items in sampled lists; None for other lists.

    Lists are taken for sampled if at least 95 % of 20 users or more have all of their relevant items
    in the list, beside equally many others (9 or more), while lists are short: a tenth of the items
    at most, or half of them if the others are spread evenly over items, as no recommender does.
    """
    recommendations, truth = tables.recommendations, tables.truth
    if recommendations is None or truth is None:
        return None
    given = [table for table in (tables.train, tables.items) if table is not None]
    lists, relevant, *others = align([recommendations, truth.with_frame(truth.relevant(threshold)), *given], "item")
    lists, relevant = align([lists, relevant], "user")
    pair = ["user", "item"]
    rows, positives = lists.frame.select(pair), relevant.frame.select(pair).unique()
    hits = rows.join(positives, on=pair, how="semi").group_by("user").len("hits")
    users = rows.group_by("user").len("length").join(positives.group_by("user").len("relevant"), on="user")
    users = users.join(hits, on="user", how="left").with_columns(pl.col("hits").fill_null(0))
    negatives, alike = _most_frequent(users["length"] - users["hits"])
    whole = int((users["hits"] == users["relevant"]).sum())
    if len(users) < _FEW_USERS or negatives < _FEW_NEGATIVES or min(alike, whole) < _MOST_USERS * len(users):
        return None
    items = pl.concat([table.frame["item"] for table in (lists, relevant, *others)]).n_unique()
    share = (negatives + 1) / items
    if share > _LARGEST_SHARE or (share > _SMALL_SHARE and not _even(rows.join(positives, on=pair, how="anti"))):
        return None
    return negatives


def _most_frequent(counts: pl.Series) -> tuple[int, int]:
    """Return the most frequent of some numbers, and how often it occurs."""
    if not len(counts):
        return 0, 0
    number, often = counts.value_counts(sort=True).row(0)
    return int(number), int(often)


def _even(rows: pl.DataFrame) -> bool:
    """Return whether items occur about equally often, as items that are drawn at random."""
    often = rows.group_by("item").len()["len"].sort(descending=True).to_numpy()
    mean = float(often.mean())
    return bool(often[: max(len(often) // 10, 1)].mean() <= _EVEN * mean + 6 * mean**0.5 / 3)


def swapped(lists: Table, truth: Table) -> list[str]:
    """Return whether recommendations and ground truth look swapped, by their columns alone."""
    if not (_looks_ranked(truth) and _looks_judged(lists)):
        return []
    judged = _named(lists, _JUDGED) or "neither rank nor score"
    ranked = f"the ground truth has {_named(truth, _MODEL)}, and the recommendations {judged}"
    return [f"recommendations and ground truth may be swapped: {ranked}"]


def _names(table: Table) -> set[str]:
    return {plain_name(name) for name in (*table.columns.values(), *table.unread)}


def _named(table: Table, names: set[str]) -> str:
    sources = (*table.columns.values(), *table.unread)
    return ", ".join(repr(name) for name in sources if plain_name(name) in names)


def _looks_ranked(truth: Table) -> bool:
    """Return whether a ground truth has ranks, or scores as models give them."""
    return _is_table(truth) and bool(_names(truth) & _MODEL)


def _looks_judged(lists: Table) -> bool:
    """Return whether recommendations have neither ranks nor scores as models give them."""
    names = _names(lists)
    return _is_table(lists) and not names & _MODEL


def _is_table(table: Table) -> bool:
    """Return whether the names of columns are those of the source, and not of its layout."""
    return not table.is_positional and not table.format.startswith(("trec", "ranking", "json"))


def _same_pairs(left: Table, right: Table) -> bool:
    """Return whether two tables have the same users and items, row by row in some order."""
    if left.sha256 is not None and left.sha256 == right.sha256:
        return True
    if len(left.frame) != len(right.frame):
        return False
    pair = ["user", "item"]
    if any(_sums_differ(left.frame[column], right.frame[column]) for column in pair):
        return False
    for column in pair:
        left, right = align([left, right], column)
    return _digest(left, pair) == _digest(right, pair)


def _sums_differ(left: pl.Series, right: pl.Series) -> bool:
    """Whether two columns of whole numbers have different sums: quicker to tell than hashes."""
    if not (left.dtype.is_integer() and right.dtype.is_integer()):
        return False
    here, there = (ids.to_numpy().sum(dtype=np.int64) for ids in (left, right))
    return bool(here != there)


def _digest(table: Table, pair: list[str]) -> tuple[int, ...]:
    """Return sums of the hashes of all rows, which do not depend on their order."""
    types: dict[Any, Any] = {name: pl.String if table.frame.schema[name] == pl.String else pl.Int64 for name in pair}
    hashes = table.frame.select(pair).cast(types, strict=False).hash_rows(seed=7).to_numpy()
    return tuple(int((hashes >> shift).sum(dtype=np.uint64)) for shift in (0, 32))
