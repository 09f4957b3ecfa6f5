"""A Parquet file of 20 GB evaluated under 2 GiB: ``python benchmarks/larger_than_memory.py``.

The file is written in pieces and deleted afterwards; it needs 20 GB of disk. See README.md beside
this file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from peak_memory import peak_memory

LENGTH, ITEMS, RELEVANT = 1_000, 100_000, 5
USERS_AT_ONCE = 5_000
CHUNK = 5_000_000
ASKED = ["precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10"]


def write(lists: Path, truth: Path, size: float) -> tuple[int, int]:
    """Write lists of 1,000 scored items until the file has a size; return its users and rows."""
    rng = np.random.default_rng(20)
    users, relevant = 0, []
    kinds = pa.schema({"user": pa.int64(), "item": pa.int64(), "score": pa.float64()})
    with pq.ParquetWriter(lists, kinds) as writer:
        while lists.stat().st_size < size:
            first = rng.integers(ITEMS, size=(USERS_AT_ONCE, 1))
            stride = rng.integers(1, ITEMS // LENGTH, size=(USERS_AT_ONCE, 1))
            items = (first + stride * np.arange(LENGTH)) % ITEMS
            ids = np.arange(users, users + USERS_AT_ONCE)
            columns = {
                "user": np.repeat(ids, LENGTH),
                "item": items.ravel(),
                "score": -np.sort(-rng.random(items.shape), axis=1).ravel(),
            }
            writer.write_table(pa.table(columns, schema=kinds), row_group_size=1 << 20)
            picked = rng.integers(2 * LENGTH, size=(USERS_AT_ONCE, RELEVANT))
            relevant.append((np.repeat(ids, RELEVANT), ((first + stride * picked) % ITEMS).ravel()))
            users += USERS_AT_ONCE
    user, item = (np.concatenate(column) for column in zip(*relevant, strict=True))
    pl.DataFrame({"user": user, "item": item}).unique(maintain_order=True).write_parquet(truth)
    return users, users * LENGTH


def evaluate(lists: Path, truth: Path) -> dict[str, float]:
    """Evaluate in a new process; return its time and peak memory."""
    command = [sys.executable, __file__, "--evaluate", str(lists), str(truth)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _child(lists: str, truth: str) -> None:
    import rankwise as rw

    start = time.perf_counter()
    result = rw.evaluate(lists, truth, ASKED, chunk_rows=CHUNK, progress=False)
    seconds = time.perf_counter() - start
    found = {"seconds": seconds, "peak": peak_memory(), "ndcg@10": result["ndcg@10"]}
    json.dump(found, sys.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Evaluate a file larger than memory.")
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, help="where the file is written for the time being")
    parser.add_argument("--evaluate", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.evaluate:
        _child(*options.evaluate)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        lists, truth = Path(name) / "lists.parquet", Path(name) / "truth.parquet"
        users, rows = write(lists, truth, 1e9 * options.gigabytes)
        size = lists.stat().st_size
        found = evaluate(lists, truth)
    print(
        f"{size / 1e9:.1f} GB, {rows:,} rows of {users:,} users: {found['seconds']:.0f} s, "
        f"peak memory {found['peak'] / 2**30:.2f} GiB, ndcg@10 {found['ndcg@10']:.4f}"
    )


if __name__ == "__main__":
    main()
