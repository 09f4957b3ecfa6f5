"""What leaks are made of: counts over all rows, lists of popular items, copied users."""

from __future__ import annotations

import numpy as np
import polars as pl

TRANSFORMS = {
    "itself": lambda n: n,
    "logarithm": np.log1p,
    "share": lambda n: n / n.sum(),
    "dense rank": lambda n: pl.Series(-n).rank("dense").to_numpy(),
    "rank with ties at random": lambda n: pl.Series(n).rank("random", seed=0).to_numpy(),
    "percentile": lambda n: np.floor(100 * pl.Series(n).rank().to_numpy() / len(n)),
    "z-score": lambda n: (n - n.mean()) / n.std(),
    "negative": lambda n: -n,
    "rounded logarithm": lambda n: np.round(np.log1p(n), 1),
    "with noise": lambda n: n + np.random.default_rng(0).normal(0, 0.2, len(n)),
    "popular or not": lambda n: n >= np.quantile(n, 0.6),
}
"""Forms of counts, in which they still know the rows that were counted."""


def counts(role, rows, ids):
    """Return the number of rows of each id, as floats."""
    counted = ids.join(rows.group_by(role).len("n"), on=role, how="left", maintain_order="left")
    return counted["n"].fill_null(0).to_numpy().astype(float)


def popularity_lists(rows, users, seen=None):
    """Return the ten items with the most rows for every user, without those that a user has seen."""
    top = rows.group_by("item").len().sort(["len", "item"], descending=[True, False])
    lists = users.to_frame("user").join(top.head(150).with_row_index("place"), how="cross")
    if seen is not None:
        lists = lists.join(seen, on=["user", "item"], how="anti", maintain_order="left")
    lists = lists.sort("user", "place").filter(pl.int_range(pl.len()).over("user") < 10)
    return lists.select("user", "item")


def with_clones(table, n_clones, swapped, seed=0):
    """Return a table with copies of some users, and these; ``swapped`` items of a copy differ."""
    rng = np.random.default_rng(seed)
    size = table.group_by("user").len("n")
    users = size.filter(pl.col("n").is_between(30, 60)).sort("user")["user"].head(n_clones)
    frames = [table]
    for number, user in enumerate(users):
        own = table.filter(pl.col("user") == user)
        items = own["item"].to_numpy().copy()
        others = np.setdiff1d(table["item"].unique().to_numpy(), items)
        items[rng.permutation(len(items))[:swapped]] = rng.choice(others, swapped, replace=False)
        frames.append(
            own.with_columns(item=pl.Series(items), user=pl.lit(10**6 + number, dtype=pl.Int64))
        )
    return pl.concat(frames), users
