"""How often `rw.nulls` calls lists personal, and how often its interval holds the truth.

Prints the table of docs/simulations.md. Run as ``python simulations/nulls.py`` (some four minutes). With
the folder of MovieTweetings it prints what is personal there, with and without what users had seen:

    python simulations/nulls.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankwise as rw
from rankwise.models import ItemNeighbours, Popularity, Random
from rankwise.splits import KCore, time_based_split
from rankwise.tables.read import read_table

SAMPLES = 100
USERS = 3000  # all users, of whom samples are drawn
ITEMS = 120
TASTES = 8
SYSTEMS = ("popularity", "drawn by popularity", "random", "neighbours")


def world(rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return training and test interactions of users who like an eighth of the items more."""
    popularity = np.arange(1, ITEMS + 1.0) ** -0.8
    rows = []
    for user in range(USERS):
        weights = popularity.copy()
        weights[user % TASTES :: TASTES] *= 6
        items = rng.choice(ITEMS, 12, replace=False, p=weights / weights.sum())
        rows += [(user, int(item), at >= 9) for at, item in enumerate(items)]
    table = pl.DataFrame(rows, schema=["user", "item", "is_test"], orient="row")
    test = table.filter("is_test").drop("is_test")
    return table.filter(~pl.col("is_test")).drop("is_test"), test


def lists_of(name: str, train: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return lists of ten items of every user."""
    users = train["user"].unique().sort()
    if name != "drawn by popularity":
        model = {"popularity": Popularity(), "random": Random(), "neighbours": ItemNeighbours()}
        return model[name].fit(train).recommend(users, 10)
    weights = np.arange(1, ITEMS + 1.0) ** -0.8
    keys = rng.exponential(size=(len(users), ITEMS)) / weights
    items = np.argsort(keys, axis=1)[:, :10]
    rows = {"user": np.repeat(users.to_numpy(), 10), "item": items.ravel()}
    return pl.DataFrame(rows).with_columns(rank=pl.Series(np.tile(np.arange(1, 11), len(users))))


def swap(
    lists: pl.DataFrame, test: pl.DataFrame, train: pl.DataFrame, others: int, seed: int
) -> dict[str, Any]:
    """Return the row of another user's list."""
    found = rw.nulls(lists, test, train=train, baselines=[], others=others, seed=seed)
    return found.table.row(0, named=True)


def print_real(folder: Path) -> None:
    """Print the nulls of real ratings, split as examples/movietweetings.py does."""
    ratings = read_table(folder / "ratings.dat", "truth").frame
    train, test = time_based_split(KCore(5).apply(ratings), test_ratio=0.2)
    users = test["user"].unique().sort()
    lists = {
        "neighbours": ItemNeighbours().fit(train).recommend(users, 10),
        "popularity": Popularity().fit(train).recommend(users, 10),
    }
    shortcuts = ("popularity", "recent", "transitions", "random")
    print(rw.nulls(lists, test, train=train, relevance_threshold=8, baselines=shortcuts))
    plain = rw.nulls(lists, test, relevance_threshold=8, baselines=())
    print("\nLists exchanged as they are, with what users had seen:")
    for row in plain.table.filter(pl.col("null") == "another user's list").to_dicts():
        limits = f"{row['share_low']:.2f} to {row['share_high']:.2f}"
        print(f"{row['system']}: {row['share']:.2f} ({limits}) {row['verdict']}")


def main() -> None:
    """Print the table of the page, or what is personal in a folder of ratings."""
    if len(sys.argv) > 1:
        print_real(Path(sys.argv[1]))
        return
    rng = np.random.default_rng(0)
    train, test = world(rng)
    print("| lists | nDCG@10 | share | personal at 50 | 100 | 300 | covered at 300 |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in SYSTEMS:
        lists = lists_of(name, train, rng)
        whole = swap(lists, test, train, 20, 0)
        called, covered = [], 0
        for n in (50, 100, 300):
            personal = 0
            for seed in range(SAMPLES):
                users = rng.choice(USERS, n, replace=False).tolist()
                own = pl.col("user").is_in(users)
                row = swap(lists.filter(own), test.filter(own), train.filter(own), 5, seed)
                personal += row["verdict"] == "personal"
                if n == 300:
                    covered += row["low"] <= whole["difference"] <= row["high"]
            called.append(personal / SAMPLES)
        cells = " | ".join(f"{share:.2f}" for share in (whole["share"], *called))
        held = f"{covered / SAMPLES:.2f}"
        print(f"| {name} | {whole['of_system']:.4f} | {cells} | {held} |", flush=True)


if __name__ == "__main__":
    main()
