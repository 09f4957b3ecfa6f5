"""The data of the contest: lists, ground truth, training rows, and factors of users and items.

The lists and the ground truth are those of ``workload.py``, with scores that fall down each list.
Factors are random except in the last dimension, which holds how popular an item is, so that their
rankings find relevant items about as often as models do. No training row is in the ground truth.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workload

__all__ = ["SIZES", "write_data"]

SIZES = {"small": 1_000, "ml1m": 6_040, "ml20m": workload.MOVIELENS_USERS}
"""How many users there are, with a list of 100 items each of 26,744."""
DIMENSIONS = 64
TRAIN = 10  # rows a user


def write_data(size: str, folder: Path) -> dict[str, int]:
    """Write the columns of a size as ``.npy`` files; return how many rows each table has."""
    users = SIZES[size]
    lists = workload.scored(workload.movielens(users))
    # Above 0: to TorchMetrics 1.9 no item with a score of 0 or below is relevant.
    lists = replace(lists, recs=lists.recs.with_columns(pl.col("score") + workload.LIST_LENGTH))
    # Every user has a relevant item: RecBole divides by their number.
    everybody = pl.DataFrame({"user": np.arange(users), "item": np.zeros(users, np.int64)})
    without = everybody.join(lists.truth, on="user", how="anti")
    lists = replace(lists, truth=pl.concat([lists.truth, without]))
    train = _train(users, lists.truth)
    rows = {}
    for name, frame in {"recs": lists.recs, "truth": lists.truth, "train": train}.items():
        rows[name] = len(frame)
        for column in frame:
            np.save(folder / f"{name}.{column.name}.npy", column.to_numpy())
    rng = np.random.default_rng(64)
    for name, count in (("users", users), ("items", workload.MOVIELENS_ITEMS)):
        factors = rng.normal(size=(count, DIMENSIONS)).astype(np.float32)
        factors[:, -1] = 1 if name == "users" else 4 * np.log1p(_popularity(lists.truth))
        np.save(folder / f"{name}.npy", factors)
    return rows


def _popularity(truth: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.bincount(truth["item"].to_numpy(), minlength=workload.MOVIELENS_ITEMS)


def _train(users: int, truth: pl.DataFrame) -> pl.DataFrame:
    """Draw rows that the ground truth has not, each item at least once.

    Some libraries know the items of train alone.
    """
    rng = np.random.default_rng(65)
    user = np.repeat(np.arange(users), TRAIN)
    item = rng.integers(workload.MOVIELENS_ITEMS, size=len(user))
    drawn = pl.DataFrame({"user": user, "item": item})
    every = pl.DataFrame({"item": np.arange(workload.MOVIELENS_ITEMS)})
    on = ["user", "item"]
    while True:
        drawn = drawn.unique(maintain_order=True)
        drawn = drawn.join(truth, on=on, how="anti", maintain_order="left")
        lost = every.join(drawn, on="item", how="anti")
        if lost.is_empty():
            return drawn
        more = lost.with_columns(user=rng.integers(users, size=len(lost))).select(on)
        drawn = pl.concat([drawn, more])
