"""Buckets of users through Spark: one shuffle, the work on each bucket, and partials in a tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession

from rankwise.core.arguments import check_count
from rankwise.errors import ParameterError
from rankwise.spark.bucket_work import SCHEMA, BucketWork, merge_rows
from rankwise.spark.bucketed_files import BucketedFiles
from rankwise.spark.tables import SparkTable, column
from rankwise.tables.columns import TableRole

__all__ = [
    "bucket_of",
    "check_buckets",
    "default_buckets",
    "files_of",
    "merged_row",
    "union",
    "work_on_buckets",
    "work_on_files",
]

_BYTES = 64 << 20  # of the input per bucket: far below what a Python worker may hold
_MOST = 100_000  # buckets
_FAN_IN = 8  # partials that one task merges: each may be as large as the catalogue


def bucket_of(user: Column, buckets: int) -> Column:
    """Return the bucket of a user: a hash that depends on the id alone."""
    return sf.pmod(sf.xxhash64(user), sf.lit(buckets)).cast("int")


def check_buckets(buckets: int | None) -> None:
    """Raise unless a number of buckets makes sense."""
    if buckets is not None:
        check_count(buckets=buckets)
        if buckets > _MOST:
            raise ParameterError(f"there are at most {_MOST:,} buckets", found=f"buckets={buckets}")


def default_buckets(spark: SparkSession, tables: Iterable[SparkTable]) -> int:
    """Return how many buckets suit the size that Spark estimates, at least one per core."""
    cores = getattr(spark, "_jsc", None) and spark.sparkContext.defaultParallelism
    shuffle = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    sizes = [_size(table.frame) for table in tables]
    if any(size is None for size in sizes):
        return shuffle
    total = sum(size for size in sizes if size is not None)
    return min(max(math.ceil(total / _BYTES), int(cores or 1)), _MOST)


def _size(frame: DataFrame) -> int | None:
    """Return the bytes that Spark estimates; None where it does not know."""
    query = getattr(frame, "_jdf", None)
    if query is None:
        return None
    size = int(str(query.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return size if size < 1 << 50 else None  # an unknown size is the largest number


def union(tables: Mapping[TableRole, SparkTable]) -> tuple[DataFrame, dict[TableRole, dict[str, str]]]:
    """Put tables by user into one, whose column ``table`` says where each row is from.

    Spark brings two tables together, not three. The lists, which are most of the rows, are one of
    them; all others are put into one, which for the ground truth alone is that. Columns other than
    ids belong to one table each, so that no type has to fit another.

    Returns
    -------
    DataFrame
        Columns ``table``, ``user``, ``item`` and ``c0``, ``c1``, ….
    dict of str to dict of str to str
        For each table the column of the union that has each of its columns.
    """
    names: dict[TableRole, dict[str, str]] = {}
    frames, number = [], 0
    for code, (role, table) in enumerate(tables.items()):
        names[role] = {}
        for name in table.empty.frame.columns:
            shared = name in ("user", "item")
            names[role][name] = name if shared else f"c{number}"
            number += not shared
        chosen = [column(name).alias(inside) for name, inside in names[role].items()]
        frames.append(table.frame.select(sf.lit(code).cast("byte").alias("table"), *chosen))
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame, allowMissingColumns=True)
    return whole, names


def work_on_buckets(lists: DataFrame, others: DataFrame | None, work: BucketWork, buckets: int) -> DataFrame:
    """Evaluate every bucket: the rows of the lists beside those of all other tables.

    Rows of one group are never in two calls, whatever adaptive execution does to partitions.
    """

    def evaluate(key: tuple[Any, ...], lists: pa.Table, others: pa.Table) -> pa.Table:
        return work.run(key[0].as_py(), lambda: work.frames(lists, others))

    def alone(key: tuple[Any, ...], lists: pa.Table) -> pa.Table:
        return work.run(key[0].as_py(), lambda: work.frames(lists, None))

    grouped = _in_buckets(lists, buckets)
    if others is None:
        return grouped.applyInArrow(alone, SCHEMA)
    return grouped.cogroup(_in_buckets(others, buckets)).applyInArrow(evaluate, SCHEMA)


def _in_buckets(frame: DataFrame, buckets: int) -> GroupedData:
    return frame.withColumn("bucket", bucket_of(sf.col("user"), buckets)).groupBy("bucket")


def files_of(tables: Mapping[TableRole, SparkTable]) -> dict[TableRole, BucketedFiles] | None:
    """Return where tables lie by bucket; None unless all do, in as many buckets."""
    files = {role: table.files for role, table in tables.items() if table.files is not None}
    same = len({one.buckets for one in files.values()}) == 1
    return files if same and len(files) == len(tables) else None


def work_on_files(spark: SparkSession, files: Mapping[TableRole, BucketedFiles], work: BucketWork) -> DataFrame:
    """Evaluate every bucket from the files that have its rows, one task for each."""
    buckets = next(iter(files.values())).buckets

    def read(bucket: int) -> dict[TableRole, pl.DataFrame]:
        return {role: one.read(bucket, work.sources[role].frame) for role, one in files.items()}

    def evaluate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for bucket in batch.column(0).to_pylist():
                yield from work.run(bucket, partial(read, bucket)).to_batches()

    return spark.range(0, buckets, 1, buckets).mapInArrow(evaluate, SCHEMA)


def merged_row(output: DataFrame, buckets: int, *, with_items: bool) -> dict[str, Any] | None:
    """Merge the partials of all buckets into one row; None if no bucket has rows.

    Where items are counted a partial is as large as the catalogue: a tree of tasks merges them, and
    the driver gets one. Others are small, and merged on the driver.
    """
    partials = output.drop("users").withColumn("users", sf.lit(None).cast("binary"))
    left = buckets
    while with_items and left > 1:
        left = math.ceil(left / _FAN_IN)
        group = sf.pmod(sf.col("bucket"), sf.lit(left))
        grouped = partials.withColumn("group", group).groupBy("group")
        partials = grouped.applyInArrow(_merge, SCHEMA)
    rows = partials.toArrow()
    if not rows.num_rows:
        return None
    return dict(merge_rows(rows).to_pylist()[0])


def _merge(rows: pa.Table) -> pa.Table:
    return merge_rows(rows.drop_columns(["group"]))
