"""Facts from tables: read once per table, then arranged by item or user code."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.core.facts import Categories, Features, Groups, Popularity, Propensity, Similarity, Source
from rankwise.core.ragged import Ints, offsets, ragged_rows
from rankwise.encoding.fact_columns import Matrix, Named
from rankwise.errors import ParameterError, ScoreError
from rankwise.tables.table import Table

__all__ = [
    "count_users",
    "place_categories",
    "place_features",
    "place_groups",
    "place_popularity",
    "place_propensity",
    "place_source",
    "popularity_frame",
    "similarity",
    "source_frame",
]

_MOST_SIMILAR = 20_000
"""The largest number of items for similarities: their matrix alone has 3.2 GB."""


def _users(*, distinct: bool) -> pl.Expr:
    """Return a count of users: of rows, where no row repeats another."""
    return (pl.len() if distinct else pl.col("user").n_unique()).alias("count")


def count_users(train: Table, *, distinct: bool) -> pl.DataFrame:
    """Return the number of distinct users of every training item: ``item``, ``count``."""
    return train.frame.group_by("item").agg(_users(distinct=distinct))


def popularity_frame(counted: pl.DataFrame) -> pl.DataFrame:
    """Return the users of every training item, most popular first, ties by id."""
    counted = counted.sort(["count", "item"], descending=[True, False])
    number = pl.col("count").cast(pl.Float64)
    return counted.with_columns(
        number,
        above=(number.cum_sum() - number),
        popularity_rank=number.rank("dense", descending=True).cast(pl.Float64),
    )


def _take(values: Any, row: Ints, missing: float) -> Any:
    """Return values by row number; -1 has the missing value."""
    return np.where(row >= 0, np.asarray(values)[row], missing)


def place_popularity(frame: pl.DataFrame, n_users: int, row: Ints) -> Popularity:
    """Return the popularity of each item code from its row in the table, -1 for none."""
    total = float(frame["count"].sum())
    return Popularity(
        count=_take(frame["count"], row, 0.0),
        above=_take(frame["above"], row, total),
        popularity_rank=_take(frame["popularity_rank"], row, float(len(frame) + 1)),
        n_users=n_users,
        n_interactions=int(total),
        most=float(frame["count"][0]),
    )


def place_groups(groups: Named, row: Ints) -> Groups:
    """Return the group of each code from its row in the table."""
    if not len(groups.code):  # a piece whose users the table does not have
        return Groups(np.full(len(row), -1), groups.names)
    return Groups(np.where(row >= 0, groups.code[row], -1), groups.names)


def place_categories(categories: Named, row: Ints) -> Categories:
    """Return the categories of each item code from its row in the table."""
    starts = categories.starts
    assert starts is not None
    lengths = np.where(row >= 0, np.diff(starts)[row], 0)
    code = categories.code[ragged_rows(starts[:-1][row], lengths)]
    signature = np.where(row >= 0, categories.signatures[row], 0)
    return Categories(offsets(lengths), code, signature, categories.names)


def place_features(matrix: Matrix, row: Ints) -> Features:
    """Return the feature vector of each item code from its row in the table."""
    known = (row >= 0) & matrix.known[row]
    return Features(np.where(known[:, None], matrix.vector[row], 0.0), known)


def place_propensity(table: Table, column: str, row: Ints) -> Propensity:
    """Return the propensity of each item code from its row in the table; NaN without a row."""
    values = table.frame[column].cast(pl.Float64, strict=False)
    bad = (values.is_null() | ~(values > 0) | (values > 1)).fill_null(value=True)
    if bad.any():
        first = int(bad.arg_true()[0])
        raise ScoreError(
            "a propensity is a probability above 0 and at most 1",
            where=f"{table.source}, column {column!r}, item {table.frame['item'][first]!r}",
            found=f"{table.frame[column][first]} ({int(bad.sum())} such items)",
        )
    return Propensity(_take(values, row, np.nan))


def source_frame(train: Table, users: pl.DataFrame, *, distinct: bool) -> pl.DataFrame:
    """Return the distinct users of every training item per ``group`` of users."""
    joined = train.frame.select("user", "item").join(users, on="user", how="inner")
    return joined.group_by("item", "group").agg(_users(distinct=distinct))


def place_source(frame: pl.DataFrame, index: Ints, names: tuple[str, ...], size: int) -> Source:
    """Return counts by item and group as a matrix; ``index`` is the item code of each row."""
    count = np.zeros((size, len(names)))
    group = frame["group"].to_numpy()
    known = (index >= 0) & (group >= 0)
    np.add.at(count, (index[known], group[known]), frame["count"].to_numpy()[known])
    return Source(count, names)


def similarity(train: Table, codes: Ints, size: int) -> Similarity:
    """Return the cosine of every two items' columns of training users; code -1 is no item."""
    from scipy.sparse import csr_array

    pairs = train.frame.select("user").with_columns(item=codes).filter(pl.col("item") >= 0).unique()
    items = pairs["item"].unique().sort().to_numpy()
    if len(items) > _MOST_SIMILAR:
        raise ParameterError(
            "similarities by co-occurrence are computed between all items at once, and there are too many items",
            found=f"{len(items):,} items, at most {_MOST_SIMILAR:,}",
            hint="use similarity=features",
        )
    row = np.full(size, len(items), dtype=np.int64)
    row[items] = np.arange(len(items))
    users = pairs["user"].rank("dense").to_numpy().astype(np.int64) - 1
    columns = row[pairs["item"].to_numpy()]
    shape = (users.max(initial=-1) + 1, len(items))
    matrix = csr_array((np.ones(len(columns)), (users, columns)), shape=shape)
    common = (matrix.T @ matrix).toarray()
    norm = np.sqrt(np.diag(common))
    cosine = np.zeros((len(items) + 1, len(items) + 1))
    # Rounded, so that sums of up to 2^14 of them are exact in any order of summation.
    cosine[:-1, :-1] = np.round(common / norm[:, None] / norm[None, :] * 2.0**38) / 2.0**38
    return Similarity(row, cosine)
