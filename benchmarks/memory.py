"""Peak memory of an evaluation beyond its input, measured in processes of their own.

Two processes load the same columns; one of them evaluates them too. What its peak is higher by
is what the evaluation needed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from peak_memory import peak_memory
from workload import Workload

import rankwise as rw
from peers import CUTOFFS, METRICS

__all__ = ["measure"]


def measure(work: Workload) -> tuple[float, str]:
    """Return the peak of input and evaluation over the input alone, and its parts as text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table, frame in (("recs", work.recs), ("truth", work.truth)):
            for column in frame:
                np.save(folder / f"{table}.{column.name}.npy", column.to_numpy())
        loaded, evaluated = _child("load", folder), _child("evaluate", folder)
    size = sum(column.to_numpy().nbytes for f in (work.recs, work.truth) for column in f)
    extra = evaluated - loaded
    mib = 1 << 20
    return (size + extra) / size, f"input {size / mib:.0f} MiB, beyond it {extra / mib:.0f} MiB"


def _child(task: str, folder: Path) -> int:
    done = subprocess.run(
        [sys.executable, __file__, task, str(folder)], check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def _load(folder: Path, table: str) -> pl.DataFrame:
    """Read columns; Polars takes the arrays as they are, so that none is there twice."""
    names = ("user", "item", "rank", "score")
    paths = {name: folder / f"{table}.{name}.npy" for name in names}
    return pl.DataFrame({name: np.load(path) for name, path in paths.items() if path.exists()})


def main(task: str, folder: str) -> None:
    work = Workload(_load(Path(folder), "recs"), _load(Path(folder), "truth"))
    if task == "evaluate":
        asked = [metric @ CUTOFFS for metric in map(rw.parse, METRICS)]
        rw.evaluate(work.recs, work.truth, asked, progress=False)
    print(peak_memory())


if __name__ == "__main__":
    main(*sys.argv[1:])
