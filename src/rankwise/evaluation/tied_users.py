"""The users whose values depend on the order of tied items, or on ranks against scores."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["users_with_ties"]


def users_with_ties(lists: pl.DataFrame) -> pl.Series:
    """Return the users with equal scores, also in 32 bits, or whose scores and ranks disagree."""
    if "score" not in lists.columns or lists.is_empty():
        return lists["user"].clear()
    score = lists["score"].cast(pl.Float32).to_numpy()
    user = lists["user"]
    ids = user.to_numpy() if user.dtype.is_integer() else None
    same = (user == user.shift(1)).fill_null(value=False).to_numpy()[1:] if ids is None else ids[1:] == ids[:-1]
    equal, rises = score[1:] == score[:-1], score[1:] > score[:-1]
    if "rank" in lists.columns:
        rank = lists["rank"].to_numpy()
        rises |= rank[1:] < rank[:-1]
    tied = user.gather(np.flatnonzero(same & equal)).unique()
    in_doubt = user.gather(np.flatnonzero(same & rises)).unique()  # rows in another order
    heads = user.gather(np.concatenate([[0], np.flatnonzero(~same) + 1]))
    if heads.n_unique() < len(heads):  # rows of some users stand apart
        in_doubt = pl.concat([in_doubt, heads.filter(heads.is_duplicated())]).unique()
    if in_doubt.is_empty():
        return tied
    rows = lists.filter(pl.col("user").is_in(in_doubt.implode()))
    rows = rows.with_columns(pl.col("score").cast(pl.Float32))
    found = [tied, rows.filter(pl.struct("user", "score").is_duplicated())["user"]]
    if "rank" in rows.columns:
        ordered = rows.sort("user", "rank")
        above = pl.col("user") == pl.col("user").shift()
        found.append(ordered.filter(above & (pl.col("score") > pl.col("score").shift()))["user"])
    return pl.concat(found).unique()
