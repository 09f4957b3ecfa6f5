"""Measure the engine of Spark: ``python benchmarks/spark.py``.

Prints Markdown tables: processor seconds of evaluating beside those of a function that does nothing
with the same rows, for one, two and four times the data, and what follows for a cluster. See
README.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
import workload
from pyspark.sql import DataFrame, SparkSession

import rankwise as rw
import rankwise.spark as rs
from rankwise.spark.engine import bucket_of
from rankwise.spark.tables import open_bucketed, read_spark

BUCKETS = 16
RUNS = 3
OVERHEAD = 1.3  # the target
ROWS, CORES, NETWORK = 1e10, 16, 1.25e9  # of the estimate: rows, cores and bytes per second each


def processor_seconds() -> float:
    """Return the seconds that this process and all below it have computed."""
    known: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended
                continue
            ticks = sum(map(int, fields[11:15]))
            known[int(folder.name)] = int(fields[1]), ticks / os.sysconf("SC_CLK_TCK")

    def is_below(pid: int) -> bool:
        while pid in known and pid != os.getpid():
            pid = known[pid][0]
        return pid == os.getpid()

    return sum(seconds for pid, (_, seconds) in known.items() if is_below(pid))


def shuffled_bytes(spark: SparkSession) -> int:
    """Return what all executors have written for shuffles so far."""
    executors: Any = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(at).totalShuffleWrite()) for at in range(executors.size()))


def measured(jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Run jobs in turns; return the least processor seconds of each, after a first round."""
    out = dict.fromkeys(jobs, float("inf"))
    for at in range(RUNS + 1):
        for name, job in jobs.items():
            start = processor_seconds()
            job()
            if at:
                out[name] = min(out[name], processor_seconds() - start)
    return out


def nothing(spark: SparkSession, lists: str, truth: str) -> object:
    """Bring the rows of both tables together as an evaluation does, and count them."""

    def in_buckets(path: str) -> Any:
        frame = spark.read.parquet(path)
        return frame.withColumn("bucket", bucket_of(sf.col("user"), BUCKETS)).groupBy("bucket")

    def rows(left: pa.Table, right: pa.Table) -> pa.Table:
        return pa.table({"rows": pa.array([left.num_rows + right.num_rows])})

    both = in_buckets(lists).cogroup(in_buckets(truth))
    return both.applyInArrow(rows, "rows long").agg(sf.sum("rows")).collect()


def nothing_with_files(spark: SparkSession, paths: dict[Any, str]) -> object:
    """Read the rows of both tables by bucket, and count them."""
    files = {role: open_bucketed(path) for role, path in paths.items()}
    empty = {r: read_spark(spark, p, r, None).empty.frame for r, p in paths.items()}

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                frames = [one.read(number, empty[role]) for role, one in files.items() if one]
                yield pa.RecordBatch.from_pydict({"rows": [sum(map(len, frames))]})

    read: DataFrame = spark.range(0, BUCKETS, 1, BUCKETS).mapInArrow(rows, "rows long")
    return read.agg(sf.sum("rows")).collect()


def times(copies: int, folder: Path, users: int) -> tuple[str, str, int]:
    """Write so many copies of the work, each with users of its own."""
    work = workload.movielens(users)
    parts = {}
    for name, frame in (("lists", work.recs), ("truth", work.truth)):
        shifted = [frame.with_columns(pl.col("user") + at * users) for at in range(copies)]
        parts[name] = pl.concat(shifted)
        parts[name].write_parquet(folder / f"{name}{copies}.parquet")
    rows = sum(map(len, parts.values()))
    return str(folder / f"lists{copies}.parquet"), str(folder / f"truth{copies}.parquet"), rows


def report(spark: SparkSession, copies: int, folder: Path, users: int) -> dict[str, float]:
    """Metric one size; return the processor seconds by job, and the rows in millions."""
    lists, truth, rows = times(copies, folder, users)
    sources: dict[Any, str] = {"recommendations": lists, "truth": truth}
    paths = {
        role: rs.bucket(path, folder / f"{role}{copies}", role=role, buckets=BUCKETS, spark=spark)
        for role, path in sources.items()
    }
    before = shuffled_bytes(spark)
    there = rs.evaluate(lists, truth, buckets=BUCKETS, spark=spark)
    shuffled = (shuffled_bytes(spark) - before) / rows
    assert there.values == rw.evaluate(lists, truth, progress=False).values
    jobs: dict[str, Callable[[], object]] = {
        "nothing": lambda: nothing(spark, lists, truth),
        "evaluate": lambda: rs.evaluate(lists, truth, buckets=BUCKETS, spark=spark),
        "nothing, files": lambda: nothing_with_files(spark, paths),
        "evaluate, files": lambda: rs.evaluate(*paths.values(), spark=spark),
        "one process": lambda: rw.evaluate(lists, truth, progress=False),
    }
    return measured(jobs) | {"rows": rows / 1e6, "shuffled": shuffled}


def print_sizes(found: dict[int, dict[str, float]]) -> None:
    """Print processor seconds and overheads by size."""
    print("| rows (million) | nothing | evaluate | overhead | files: nothing | evaluate | overhead | one process |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for one in found.values():
        general = one["evaluate"] / one["nothing"]
        files = one["evaluate, files"] / one["nothing, files"]
        cells = [
            one["rows"],
            one["nothing"],
            one["evaluate"],
            general,
            one["nothing, files"],
            one["evaluate, files"],
            files,
            one["one process"],
        ]
        print("| " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print(f"\nProcessor seconds; overhead is evaluate over nothing, target ≤ {OVERHEAD}.")


def print_estimate(found: dict[int, dict[str, float]]) -> None:
    """Print what the cost of another row says of a cluster: an estimate, not a measurement."""
    least, most = found[min(found)], found[max(found)]
    if least is most:
        return
    print(
        f"\nEstimate, not measured: {ROWS:.0e} rows on machines of {CORES} cores and "
        f"{NETWORK / 1e9:g} GB/s, from the cost of another row.\n"
    )
    print("| | µs per row | bytes shuffled per row | 4 machines | 16 machines |")
    print("|---|--:|--:|--:|--:|")
    for name, size in (("evaluate", most["shuffled"]), ("evaluate, files", 0.0)):
        row = (most[name] - least[name]) / (most["rows"] - least["rows"])
        minutes = [ROWS * (row * 1e-6 / (CORES * n) + size * (n - 1) / n / (NETWORK * n)) / 60 for n in (4, 16)]
        cells = " | ".join(f"{one:.1f} min" for one in minutes)
        print(f"| {name} | {row:.3f} | {size:.1f} | {cells} |")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the users, one size")
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    builder: Any = SparkSession.builder
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "6g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "8",
    }.items():
        builder = builder.config(name, value)
    spark = builder.master("local[2]").getOrCreate()
    users = workload.MOVIELENS_USERS // (10 if arguments.quick else 1)
    with tempfile.TemporaryDirectory() as folder:
        sizes = (1,) if arguments.quick else (1, 2, 4)
        found = {n: report(spark, n, Path(folder), users) for n in sizes}
    print_sizes(found)
    print_estimate(found)
    spark.stop()


if __name__ == "__main__":
    main()
