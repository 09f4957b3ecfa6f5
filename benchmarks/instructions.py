"""Instructions of a call, counted by valgrind: a check of speed that no other load on a machine disturbs.

    python benchmarks/instructions.py            # count, and compare with the numbers on record: some four minutes
    python benchmarks/instructions.py --record   # put the numbers on record
    python benchmarks/instructions.py --only text

Each case runs in a process of its own, once and then five times; a call is a quarter of the
difference, so that imports and first calls are not in it. The first case is a new process that
evaluates one list, from its start to its end. Counts of two runs differ by about 1 %; versions of
Python, NumPy or Polars that differ from those on record are named. The check fails where a case has
a third more instructions than on record; where it has a third less, it says that the record may be
renewed. With ``RANKWISE_KERNELS=off`` all are those without kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import workload
from timing import write_bytecode

import rankwise as rw
from rankwise.core import kernels

RECORD = Path(__file__).with_suffix(".json")
MORE = 4 / 3
TURNS = 4
METRICS = [f"{name}@10" for name in ("precision", "recall", "ndcg", "map", "mrr", "hit_rate")]
USERS, LENGTH, RELEVANT, ITEMS = 4000, 20, 6, 5000


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return ranked lists of items 7 apart, and a ground truth of which a part is hit."""
    user, place = np.repeat(np.arange(USERS), LENGTH), np.tile(np.arange(LENGTH), USERS)
    recs = pl.DataFrame({"user": user, "item": (place * 7 + user * 13) % ITEMS, "rank": place + 1})
    user, place = np.repeat(np.arange(USERS), RELEVANT), np.tile(np.arange(RELEVANT), USERS)
    return recs, pl.DataFrame(
        {"user": user, "item": (place * 7 * (1 + user % 9) + user * 13) % ITEMS}
    )


def cases() -> dict[str, Callable[[], object]]:
    """Return what is counted, by name."""
    recs, truth = tables()
    evaluate = partial(rw.evaluate, metrics=METRICS, threads=1)
    order = np.random.default_rng(0).permutation(len(recs))
    shuffled = recs[order]
    scored = shuffled.select("user", "item", score=-pl.col("rank").cast(pl.Float64))
    levels = shuffled.select("user", "item", score=-(pl.col("rank") // 4).cast(pl.Float64))
    towns = pl.DataFrame({"user": np.arange(USERS), "town": np.arange(USERS) % 100})
    results = [
        evaluate(frame, truth) for frame in (recs, scored.with_columns(pl.col("item") ^ 1), levels)
    ]
    log = rw.datasets.logged(users=2000, seed=1).exposures
    text = workload.strings(workload.Workload(recs, truth))
    mappings, of_text = (
        [
            dict(table.group_by("user", maintain_order=True).agg("item").iter_rows())
            for table in pair
        ]
        for pair in ((recs, truth), (text.recs, text.truth))
    )
    frames = [table.to_pandas().astype({"user": object}) for table in (text.recs, text.truth)]
    return {
        "grouped": partial(evaluate, recs, truth),
        "shuffled-rank": partial(evaluate, shuffled, truth),
        "shuffled-score": partial(evaluate, scored, truth),
        "tied-scores": partial(evaluate, levels, truth),
        "text": partial(evaluate, text.recs, text.truth),
        "dictionaries": partial(evaluate, *mappings),
        "dictionaries-text": partial(evaluate, *of_text),
        "pandas-text": partial(evaluate, *frames),
        "tuples": partial(
            evaluate, list(recs.select("user", "item").iter_rows()), list(truth.iter_rows())
        ),
        "groups": partial(evaluate, recs, truth, users=towns, by="town"),
        "catalogue-jackknife": partial(
            rw.evaluate, recs, truth, ["coverage@10", "gini@10"], jackknife=16, threads=1
        ),
        "compare": partial(rw.compare, dict(zip("abc", results, strict=True))),
        "off-policy": partial(rw.off_policy, log, targets={"new": "p_new"}, threads=1),
    }


FIRST = 'import rankwise as rw; rw.evaluate({1: [1, 2, 3]}, {1: [2]}, "ndcg@10")'


def count(*command: str) -> int:
    """Return how many instructions a Python process executes."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    one_thread = dict.fromkeys(
        ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"
    )
    environment = {**os.environ, **one_thread, "PYTHONHASHSEED": "0"}
    ran = subprocess.run(
        [*tool, sys.executable, *command], env=environment, capture_output=True, text=True
    )
    counted = re.search(r"I\s+refs:\s+([\d,]+)", ran.stderr)
    if ran.returncode or counted is None:
        raise RuntimeError(ran.stderr[-2000:])
    return int(counted[1].replace(",", ""))


def measured(name: str) -> int:
    """Return the instructions of one call of a case."""
    if name == "first-call":
        return count("-c", FIRST)
    once, more = (count(__file__, "--run", name, "--turns", str(turns)) for turns in (1, 1 + TURNS))
    return (more - once) // TURNS


def versions_here() -> dict[str, str]:
    """Return the versions on which counts depend."""
    libraries = {library: version(library) for library in ("numpy", "pandas", "polars", "pyarrow")}
    return {"python": platform.python_version(), **libraries}


def compare(names: list[str], *, record: bool) -> int:
    """Print a table of all cases, and return the exit code."""
    road = "compiled" if kernels.implementation() == "compiled" else "numpy"
    known: dict[str, dict[str, Any]] = (
        json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    )
    before, grown, versions = known.setdefault(road, {}), [], versions_here()
    for library, recorded in known.setdefault("versions", versions).items():
        if versions[library] != recorded:
            print(
                f"{library} is {versions[library]}, and was {recorded} for the record",
                file=sys.stderr,
            )
    print(f"| {road} | million instructions | on record | ratio |\n|---|--:|--:|--:|")
    for name in names:
        now = measured(name)
        ratio = now / before[name] if name in before else float("nan")
        print(
            f"| {name} | {now / 1e6:,.1f} | {before.get(name, 0) / 1e6:,.1f} | {ratio:.2f} |",
            flush=True,
        )
        if ratio > MORE:
            grown.append(name)
        if ratio < 1 / MORE:
            print(f"{name}: a third less, so that --record may renew the record", file=sys.stderr)
        if record:
            before[name] = now
    if record:
        known["versions"] = versions
        RECORD.write_text(json.dumps(known, indent=2) + "\n", "utf-8")
        return 0
    if grown:
        print(f"a third more instructions than on record: {', '.join(grown)}", file=sys.stderr)
    return bool(grown)


def main() -> int:
    """Count, or run a case for the counter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=1, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        job: Any = cases()[asked.run]
        for _ in range(asked.turns):
            job()
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not on the PATH: apt-get install valgrind", file=sys.stderr)
        return 2
    write_bytecode()  # else the first process compiles it
    names = ["first-call", *cases()]
    unknown = {*(asked.only or [])} - {*names}
    if unknown:
        parser.error(f"there is no case {min(unknown)!r}: {', '.join(names)}")
    return compare(asked.only or names, record=asked.record)


if __name__ == "__main__":
    sys.exit(main())
