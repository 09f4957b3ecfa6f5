"""Measure the engine of Spark: ``python benchmarks/spark.py``.

Prints Markdown tables: processor seconds of evaluating beside those of a function that does nothing
with the same rows, for one, two and four times the data with a shuffle; the same for bucketed files
of up to 500 million rows, with start-up apart; and what follows for a cluster. See README.md beside
this file.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
from rankwise.spark.tables import BUCKET, one_row, open_bucketed, read_spark, write_head

BUCKETS = 16
RUNS = 3
OVERHEAD = 1.3  # the target with a shuffle
COPIES = (
    1,
    8,
    32,
)  # of the rows, in bucketed files, each with users of its own and BUCKETS_OF_COPY buckets
BUCKETS_OF_COPY = 4
OVERHEAD_OF_FILES = 1.2  # the target beyond start-up
COUNT = pa.schema([("rows", pa.int64())])
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


def measured(jobs: dict[Any, Callable[[], object]]) -> dict[Any, float]:
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
    buckets = max(one.buckets for one in files.values() if one)

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                frames = [one.read(number, empty[role]) for role, one in files.items() if one]
                yield from one_row(COUNT, rows=sum(map(len, frames))).to_batches()

    read: DataFrame = spark.range(0, buckets, 1, buckets).mapInArrow(rows, "rows long")
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
    """Measure one size with a shuffle; return the processor seconds by job, and the rows in millions."""
    lists, truth, rows = times(copies, folder, users)
    before = shuffled_bytes(spark)
    there = rs.evaluate(lists, truth, buckets=BUCKETS, spark=spark)
    shuffled = (shuffled_bytes(spark) - before) / rows
    assert there.values == rw.evaluate(lists, truth, progress=False).values
    jobs: dict[str, Callable[[], object]] = {
        "nothing": lambda: nothing(spark, lists, truth),
        "evaluate": lambda: rs.evaluate(lists, truth, buckets=BUCKETS, spark=spark),
        "one process": lambda: rw.evaluate(lists, truth, progress=False),
    }
    return measured(jobs) | {"rows": rows / 1e6, "shuffled": shuffled}


def copied(path: str, copies: int, users: int) -> str:
    """Write the buckets of a folder so many times, each time as further buckets with users of their own."""
    folder = open_bucketed(path)
    assert folder is not None
    out, empty = (
        f"{path}_{copies}",
        pl.read_parquet(f"{path}/*/*.parquet", n_rows=0).select(folder.columns),
    )
    for number in range(folder.buckets):
        rows = folder.read(number, empty)
        for at in range(copies):
            bucket = Path(out, f"{BUCKET}={number + at * folder.buckets}")
            bucket.mkdir(parents=True)
            rows.with_columns(pl.col("user") + at * users).write_parquet(bucket / "rows.parquet")
    head = {"role": folder.role, "columns": folder.columns}
    write_head(out, head | {"buckets": folder.buckets * copies, "rows": folder.rows * copies})
    return out


def report_files(
    spark: SparkSession, sizes: Iterable[int], folder: Path, users: int
) -> list[dict[str, float]]:
    """Measure start-up, on ten users, and sizes in bucketed files, in turns; return the processor seconds by job."""
    out: list[dict[str, float]] = []
    jobs: dict[Any, Callable[[], object]] = {}
    for count, copies in ((10, 1), *((users, size) for size in sizes)):
        lists, truth, rows = times(1, folder, count)
        sources: dict[Any, str] = {"recommendations": lists, "truth": truth}
        paths = {}
        for role, path in sources.items():
            target = str(folder / f"{role}_{count}_{copies}")
            rs.bucket(path, target, role=role, buckets=BUCKETS_OF_COPY, spark=spark)
            paths[role] = copied(target, copies, count)
        values = rw.evaluate(lists, truth, progress=False).values
        assert (
            rs.evaluate(*paths.values(), spark=spark).values == values
        )  # of 2, 4, 8, … copies, to the bit
        jobs[len(out), "nothing"] = partial(nothing_with_files, spark, paths)
        jobs[len(out), "evaluate"] = partial(rs.evaluate, *paths.values(), spark=spark)
        out.append({"rows": rows * copies / 1e6})
    for (at, name), seconds in measured(jobs).items():
        out[at][name] = seconds
    return out


def print_files(found: list[dict[str, float]]) -> None:
    """Print processor seconds of bucketed files, those of ten users first, and what is beyond these."""
    names = ("nothing", "evaluate")
    heads = ["bucketed files, rows (million)", "nothing", "evaluate", "overhead"]
    print("\n| " + " | ".join([*heads, "beyond start-up: nothing", "evaluate", "overhead"]) + " |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for one in found:
        reading, evaluating = (one[name] - found[0][name] for name in names)
        cells = [
            f"{cell:.2f}"
            for cell in (
                one["rows"],
                *(one[name] for name in names),
                one["evaluate"] / one["nothing"],
            )
        ]
        cells += (
            ["–"] * 3
            if one is found[0]
            else [f"{cell:.2f}" for cell in (reading, evaluating, evaluating / reading)]
        )
        print("| " + " | ".join(cells) + " |")
    print(f"\nThe first line is start-up; target of the last column ≤ {OVERHEAD_OF_FILES}.")


def print_sizes(found: dict[int, dict[str, float]]) -> None:
    """Print processor seconds and overheads by size."""
    print("| rows (million) | nothing | evaluate | overhead | one process |")
    print("|--:|--:|--:|--:|--:|")
    for one in found.values():
        overhead = one["evaluate"] / one["nothing"]
        cells = [one["rows"], one["nothing"], one["evaluate"], overhead, one["one process"]]
        print("| " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print(f"\nProcessor seconds; overhead is evaluate over nothing, target ≤ {OVERHEAD}.")


def print_estimate(shuffled: list[dict[str, float]], files: list[dict[str, float]]) -> None:
    """Print what the cost of another row says of a cluster: an estimate, not a measurement."""
    print(
        f"\nEstimate, not measured: {ROWS:.0e} rows on machines of {CORES} cores and "
        f"{NETWORK / 1e9:g} GB/s, from the cost of another row.\n"
    )
    print("| | µs per row | bytes shuffled per row | 4 machines | 16 machines |")
    print("|---|--:|--:|--:|--:|")
    for name, sizes, size in (
        ("evaluate", shuffled, shuffled[-1]["shuffled"]),
        ("evaluate, files", files, 0.0),
    ):
        row = (sizes[-1]["evaluate"] - sizes[0]["evaluate"]) / (
            sizes[-1]["rows"] - sizes[0]["rows"]
        )
        minutes = [
            ROWS * (row * 1e-6 / (CORES * n) + size * (n - 1) / n / (NETWORK * n)) / 60
            for n in (4, 16)
        ]
        cells = " | ".join(f"{one:.1f} min" for one in minutes)
        print(f"| {name} | {row:.3f} | {size:.1f} | {cells} |")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the users, one size")
    parser.add_argument("--files", action="store_true", help="bucketed files alone")
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
        sizes = () if arguments.files else (1,) if arguments.quick else (1, 2, 4)
        shuffled = {n: report(spark, n, Path(folder), users) for n in sizes}
        files = report_files(spark, COPIES[:1] if arguments.quick else COPIES, Path(folder), users)
    if shuffled:
        print_sizes(shuffled)
    print_files(files)
    if len(shuffled) > 1:
        print_estimate(list(shuffled.values()), files[1:])
    spark.stop()


if __name__ == "__main__":
    main()
