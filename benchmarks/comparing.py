"""Comparisons of 20 systems: `rw.compare`, and tests and resampling against bare products.

    python benchmarks/comparing.py            # some two minutes, 4 GiB
    python benchmarks/comparing.py --quick    # a tenth of the users

First 20 systems of six metrics over 34,623 users are compared, in the time that their evaluations
take. Then 138,493 users and 30 metrics. The units are one float64 Gram product of all 600 columns,
and 1,000 rows of float64 numbers times all columns, both with as many BLAS threads as there are
processors.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
import workload
from timing import in_turns, ratio

import rankwise as rw
from rankwise import stats


def compare_systems(users: int, turns: int) -> None:
    """Print what comparing systems costs beside evaluating them."""
    chance = np.random.default_rng(0)
    base = workload.uniform(users, 20, 20_000, 10 * users)
    runs = {}
    for at in range(20):
        moved = chance.random(len(base.recs)) < 0.02 * (1 + at)
        items = (base.recs["item"].to_numpy() + 7 * moved) % 20_000
        recs = base.recs.with_columns(item=pl.Series(items)).unique(["user", "item"])
        runs[f"system {at}"] = recs.sort("user", "rank").with_columns(
            rank=pl.int_range(1, pl.len() + 1).over("user")
        )
    results = {name: rw.evaluate(recs, base.truth) for name, recs in runs.items()}
    rows = len(rw.compare(results).table)
    below, above = in_turns(
        [
            lambda: [rw.evaluate(recs, base.truth) for recs in runs.values()],
            lambda: rw.compare(results),
        ],
        turns,
    )
    what = f"rw.compare: {rows:,} rows, over the 20 evaluations"
    print(f"| {what} | {ratio(above, below):.2f}× | {min(below):.2f} s, {min(above):.2f} s |")


def compare_everything(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """Print the seconds of a comparison of all pairs by all metrics."""
    users, metrics, _ = values.shape
    kinds = ("ndcg", "recall", "precision", "map", "mrr", "hit_rate")
    names = [f"{kinds[at % 6]}@{at // 6 + 1}" for at in range(metrics)]
    results = {
        f"system {at}": rw.from_per_user(
            pl.DataFrame({"user": np.arange(users), **dict(zip(names, table.T, strict=True))})
        )
        for at, table in enumerate(np.moveaxis(values, 2, 0))
    }
    start = time.perf_counter()
    rows = len(rw.compare(results, metrics=names, primary=names[0]).table)
    print(f"| rw.compare: {rows:,} rows, {users:,} users | {time.perf_counter() - start:.1f} s | |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    compare_systems(3_462 if asked.quick else 34_623, asked.turns)
    users, metrics, systems = 13_849 if asked.quick else 138_493, 30, 20
    chance = np.random.default_rng(0)
    values = chance.random((users, metrics, systems))
    values *= chance.random(values.shape) < 0.2
    flat = values.reshape(users, -1)
    weights = chance.random((1000, users))

    def all_t_tests() -> None:
        for at in range(metrics):
            stats.paired_t_of_all(values[:, at])

    jobs = {
        "5,700 paired t tests": (lambda: flat.T @ flat, all_t_tests),
        "1,000 bootstrap means of all columns": (
            lambda: weights @ flat,
            lambda: stats.bootstrap_means(flat, 1000),
        ),
        "1,000 sign flips of all pairs": (
            lambda: weights @ flat,
            lambda: stats.sign_flip_of_all(values, n_resamples=1000),
        ),
        "1,000 sign flips of all pairs, max-T": (
            lambda: weights @ flat,
            lambda: stats.sign_flip_of_all(values, n_resamples=1000, family=True),
        ),
    }
    compare_everything(values)
    for name, (bare, job) in jobs.items():
        below, above = in_turns([bare, job], asked.turns)
        print(f"| {name} | {ratio(above, below):.2f}× | {min(below):.2f} s, {min(above):.2f} s |")


if __name__ == "__main__":
    main()
