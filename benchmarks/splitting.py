"""Every rule on 20 million rows, against a Polars sort of the same table by user and time.

    python benchmarks/splitting.py            # times: the split, and the split with its card
    python benchmarks/splitting.py --memory   # peak memory of each over that of the table alone

The issue asks for at most 3 times the sort, and 2.5 times the table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from timing import in_turns, ratio

from rankwise.splits import (
    Folds,
    GlobalTime,
    Holdout,
    ItemHoldout,
    KCore,
    KFold,
    LeaveOut,
    Split,
    Splitter,
    SuccessiveTargets,
    TimeWindows,
    TwoStage,
    UserHoldout,
)

RULES: dict[str, Splitter] = {
    "one moment, by share": GlobalTime(share=0.2),
    "one moment, the best": GlobalTime(at="best"),
    "one moment, last targets": GlobalTime(share=0.2, target="last"),
    "one moment, random targets": GlobalTime(share=0.2, target="random"),
    "each target in turn": SuccessiveTargets(last="14d"),
    "windows in time": TimeWindows("7d", n_splits=4, train="60d", gap="1d"),
    "two stages": TwoStage(last="30d"),
    "leave one out, last": LeaveOut(1),
    "leave five out, last": LeaveOut(5),
    "last share of each user": Holdout(0.2, "user", "last"),
    "leave one out, random": LeaveOut(1, "random"),
    "random share of each user": Holdout(0.2, "user"),
    "random share of all": Holdout(0.2),
    "folds of each user": KFold(5, per_user=True),
    "folds of all": KFold(5),
    "users held out": UserHoldout(0.1),
    "items held out": ItemHoldout(0.1),
    "one moment, validation last": GlobalTime(share=0.2, validation=LeaveOut(1)),
    "one moment, 5-core, unseen": GlobalTime(share=0.2, filters=[KCore(5)], seen="drop"),
}


def interactions(rows: int, *, strings: bool = False) -> pl.DataFrame:
    """Make rows in no order: 138 thousand users, 27 thousand items of unequal popularity."""
    chance = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "user": chance.integers(0, 138_000, rows),
            "item": (chance.pareto(1.1, rows) * 50).astype(np.int64) % 26_744,
            "timestamp": chance.integers(1_000_000_000, 1_400_000_000, rows),
        }
    )
    if not strings:
        return table
    return table.with_columns(pl.format("user-{}", "user"), pl.format("item-{}", "item"))


def split(rule: Splitter, table: pl.DataFrame) -> Split:
    """Split; of several folds make the last."""
    made: Split | Folds = rule.split(table)  # type: ignore[attr-defined]
    return made[-1] if isinstance(made, Folds) else made


def card(rule: Splitter, table: pl.DataFrame) -> dict[str, Any]:
    """Split, and work the card out."""
    return split(rule, table).card


def times(rows: int, turns: int, *, strings: bool) -> None:
    table = interactions(rows, strings=strings)
    for name, rule in RULES.items():
        sort, alone, carded = in_turns(
            [
                lambda: table.sort("user", "timestamp"),
                partial(split, rule, table),
                partial(card, rule, table),
            ],
            turns,
        )
        print(f"{name:30} {ratio(alone, sort):6.2f} {ratio(carded, sort):6.2f}", flush=True)


def peak(name: str, rows: int) -> None:
    """Print the peak memory of one rule, and of the table alone, in a process of their own."""
    table = interactions(rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    made = split(RULES[name], table)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _ = made.card
    carded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = table.estimated_size() / 1024
    print(json.dumps([before / size, after / size, carded / size, perf_counter() - start]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--strings", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--of", help="one rule, in a process of its own")
    asked = parser.parse_args()
    if asked.of:
        peak(asked.of, asked.rows)
    elif asked.memory:
        for name in RULES:
            command = [sys.executable, __file__, "--of", name, "--rows", str(asked.rows)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            before, after, carded, _ = json.loads(said)
            print(f"{name:30} {after:5.2f} {carded:5.2f} (made with {before:.2f})", flush=True)
    else:
        times(asked.rows, asked.turns, strings=asked.strings)


if __name__ == "__main__":
    main()
