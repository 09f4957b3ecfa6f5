"""Facts from tables: each built once for the rows of a table, then placed by code or by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.core.facts import (
    Categories,
    Features,
    Groups,
    Popularity,
    Propensity,
    Similarity,
    Source,
)
from rankwise.core.segments import offsets, ragged_rows
from rankwise.errors import ParameterError, ScoreError

if TYPE_CHECKING:
    from rankwise.core.segments import Ints
    from rankwise.io.tables import Table
    from rankwise.knowledge.columns import Matrix, Named

__all__ = [
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
"""Items that similarities are worked out between; their matrix has 3.2 GB, work on it more."""


def _users(*, distinct: bool) -> pl.Expr:
    """Count users: rows will do where none repeats another."""
    return (pl.len() if distinct else pl.col("user").n_unique()).alias("count")


def popularity_frame(train: Table, *, distinct: bool) -> pl.DataFrame:
    """Count the distinct users of every training item, most popular first, ties by id."""
    counted = train.frame.group_by("item").agg(_users(distinct=distinct))
    counted = counted.sort(["count", "item"], descending=[True, False])
    number = pl.col("count").cast(pl.Float64)
    return counted.with_columns(
        number,
        above=(number.cum_sum() - number),
        place=number.rank("dense", descending=True).cast(pl.Float64),
    )


def _take(values: Any, where: Ints, missing: float) -> Any:
    """Take rows by place; -1 has the missing value."""
    return np.where(where >= 0, np.asarray(values)[where], missing)


def place_popularity(frame: pl.DataFrame, n_users: int, where: Ints) -> Popularity:
    """Give each row of ``where`` its popularity."""
    total = float(frame["count"].sum())
    return Popularity(
        count=_take(frame["count"], where, 0.0),
        above=_take(frame["above"], where, total),
        place=_take(frame["place"], where, float(len(frame) + 1)),
        n_users=n_users,
        n_interactions=int(total),
        most=float(frame["count"][0]),
    )


def place_groups(groups: Named, where: Ints) -> Groups:
    """Give each row of ``where`` its group."""
    return Groups(np.where(where >= 0, groups.code[where], -1), groups.names)


def place_categories(named: Named, where: Ints) -> Categories:
    """Give each row of ``where`` its categories."""
    assert named.starts is not None
    lengths = np.where(where >= 0, np.diff(named.starts)[where], 0)
    code = named.code[ragged_rows(named.starts[:-1][where], lengths)]
    signature = np.where(where >= 0, named.signatures[where], 0)
    return Categories(offsets(lengths), code, signature, named.names)


def place_features(matrix: Matrix, where: Ints) -> Features:
    """Give each row of ``where`` its vector."""
    known = (where >= 0) & matrix.known[where]
    return Features(np.where(known[:, None], matrix.vector[where], 0.0), known)


def place_propensity(table: Table, column: str, where: Ints) -> Propensity:
    """Give each row of ``where`` its propensity, NaN where there is none."""
    values = table.frame[column].cast(pl.Float64, strict=False)
    bad = (values.is_null() | ~(values > 0) | (values > 1)).fill_null(value=True)
    if bad.any():
        row = int(bad.arg_true()[0])
        raise ScoreError(
            "a propensity is a chance above 0 and at most 1",
            where=f"{table.source}, column {column!r}, item {table.frame['item'][row]!r}",
            found=f"{table.frame[column][row]} ({int(bad.sum())} such items)",
        )
    return Propensity(_take(values, where, np.nan))


def source_frame(train: Table, users: pl.DataFrame, *, distinct: bool) -> pl.DataFrame:
    """Count the distinct users of every training item in every group; users have ``group``."""
    joined = train.frame.select("user", "item").join(users, on="user", how="inner")
    return joined.group_by("item", "group").agg(_users(distinct=distinct))


def place_source(frame: pl.DataFrame, index: Ints, names: tuple[str, ...], size: int) -> Source:
    """Put counts by item and group in a matrix; ``index`` is each row's item."""
    count = np.zeros((size, len(names)))
    here = (index >= 0) & (frame["group"].to_numpy() >= 0)
    np.add.at(
        count, (index[here], frame["group"].to_numpy()[here]), frame["count"].to_numpy()[here]
    )
    return Source(count, names)


def similarity(train: Table, codes: Ints, size: int) -> Similarity:
    """Work out the cosine of every two items' columns of training users."""
    from scipy.sparse import csr_array

    pairs = train.frame.select("user").with_columns(item=codes).unique()
    items = pairs["item"].unique().sort().to_numpy()
    if len(items) > _MOST_SIMILAR:
        raise ParameterError(
            "similarities by co-occurrence are worked out between all items at once, and here are "
            "too many",
            found=f"{len(items):,} items, at most {_MOST_SIMILAR:,}",
            hint="take similarity=features",
        )
    place = np.full(size, len(items), dtype=np.int64)
    place[items] = np.arange(len(items))
    users = pairs["user"].rank("dense").to_numpy().astype(np.int64) - 1
    of = place[pairs["item"].to_numpy()]
    matrix = csr_array((np.ones(len(of)), (users, of)), shape=(users.max() + 1, len(items)))
    together = (matrix.T @ matrix).toarray()
    norm = np.sqrt(np.diag(together))
    cosine = np.zeros((len(items) + 1, len(items) + 1))
    # Rounded so that sums of up to 2^14 of them are exact, whatever order a product takes them in.
    cosine[:-1, :-1] = np.round(together / norm[:, None] / norm[None, :] * 2.0**38) / 2.0**38
    return Similarity(place, cosine)
