"""What conventions cost: one of them, and all of them, as ratios to one evaluation.

``python benchmarks/conventions.py [--users 138000]`` evaluates lists of 50 items of as many users,
with distinct scores and with twenty different ones, in alternation, and prints medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

import rankwise as rw
from rankwise.evaluation.settings import DEFAULT_METRICS

LENGTH, ITEMS, RELEVANT, RUNS = 50, 20_000, 5, 5
STEP = 397
"""The distance of the items of a list: prime to the catalogue, so that none repeats."""


def tables(users: int, *, tied: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make lists by decreasing score, and a ground truth with grades 0 to 3."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, ITEMS, (users, 1))
    scores = np.sort(rng.random((users, LENGTH)), axis=1)[:, ::-1]
    scores = np.round(scores * 20) / 20 if tied else scores
    lists = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), LENGTH),
            "item": ((first + np.arange(LENGTH) * STEP) % ITEMS).ravel(),
            "score": scores.ravel(),
        }
    )
    chosen = rng.integers(0, 4 * LENGTH, (users, RELEVANT))
    truth = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), RELEVANT),
            "item": ((first + chosen * STEP) % ITEMS).ravel(),
            "relevance": np.tile([0, 1, 2, 3, 1], users),
        }
    ).unique(["user", "item"], maintain_order=True)
    return lists, truth


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def works_on(lists: pl.DataFrame, truth: pl.DataFrame) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    metrics = list(DEFAULT_METRICS)
    named = {
        name: partial(rw.evaluate, lists, truth, metrics, convention=name)
        for name in ("default", "recbole", "rectools", "recommenders", "lenskit", "trec_eval")
    }
    return {**named, "all": partial(rw.across_conventions, lists, truth, metrics)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--users", type=int, default=138_000)
    users = parser.parse_args().users
    for tied in (False, True):
        works = works_on(*tables(users, tied=tied))
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(RUNS):
            for name, work in works.items():
                times[name].append(seconds(work))
        one = statistics.median(times["default"])
        kind = "scores tie" if tied else "distinct scores"
        sys.stdout.write(f"{users:,} users, {kind}: six metrics {one:.2f} s\n")
        for name, some in times.items():
            sys.stdout.write(f"  {name}: {statistics.median(some) / one:.2f}\n")


if __name__ == "__main__":
    main()
