"""rankwise, asked for what an opponent computes, under the convention that gives its numbers."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from program import Data, compete

parser = argparse.ArgumentParser()
parser.add_argument("--task", choices=["lists", "factors", "search"])
parser.add_argument("--metrics", nargs="+")
parser.add_argument("--convention")
ASKED = parser.parse_known_args(sys.argv[2:])[0]
K = 10


def load() -> Any:
    import polars as pl

    import rankwise as rw

    return rw, pl


def build(library: Any, data: Data) -> Any:
    frame = library[1].DataFrame
    if ASKED.task == "lists":
        return {table: frame(data.columns(table)) for table in ("recs", "truth")}
    factors = {"users": data.users, "items": data.items}
    if ASKED.task == "search":
        return {"factors": factors}
    tables = {table: frame(data.columns(table)) for table in ("train", "truth")}
    return {"factors": factors, **tables}


def evaluate(library: Any, given: Any) -> dict[str, float]:
    rw = library[0]
    if ASKED.task == "search":
        lists = rw.rank(**given["factors"], k=K, ties="item")
        return {"mean score@10": float(lists.frame["score"].mean())}
    recs, train = given.get("recs"), given.get("train")
    if ASKED.task == "factors":
        recs = rw.rank(**given["factors"], k=K, exclude=train, ties="item")
    result = rw.evaluate(
        recs,
        given["truth"],
        ASKED.metrics,
        convention=ASKED.convention,
        train=train,
        progress=False,
    )
    return {name: float(result[name]) for name in ASKED.metrics}


if __name__ == "__main__":
    compete(load, build, evaluate, "lists" if ASKED.task == "lists" else "factors")
