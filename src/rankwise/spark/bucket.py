"""`bucket`: a table is written by bucket of users, and can then be evaluated without a shuffle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from rankwise.core.arguments import check_choice, check_count
from rankwise.errors import IdError, OutputError, ParameterError
from rankwise.spark.bucketed_files import exists, uri_of, write_head
from rankwise.spark.run import bucket_of, default_buckets
from rankwise.spark.tables import SparkTable, active_session, read_spark
from rankwise.tables.columns import Columns, TableRole

__all__ = ["bucket"]

_ORDERS = ("rank", "score")


def bucket(
    table: Any,
    path: str | Path,
    *,
    role: TableRole = "recommendations",
    buckets: int | None = None,
    columns: Columns | None = None,
    overwrite: bool = False,
    spark: SparkSession | None = None,
) -> str:
    """Write a table by bucket of users, so that evaluating it needs no shuffle.

    Tables that are evaluated together need the same number of buckets. Evaluating them,
    ``evaluate(path, truth_path, …)``, reads each bucket straight from its files.

    Parameters
    ----------
    table : DataFrame or path
        The table, as `rankwise.spark.evaluate` takes it.
    path : str or Path
        The folder to write, which executors and driver reach under this name: a shared folder, or
        an address that PyArrow knows (``s3://…``, ``gs://…``, ``hdfs://…``).
    role : {"recommendations", "truth", "train", "users", "baseline"}, default="recommendations"
        What the table is for.
    buckets : int, optional
        Number of buckets; by default one per 64 MiB of what Spark estimates to read.
    columns : mapping, optional
        Names of columns that are not recognised, as for `rankwise.evaluate`.
    overwrite : bool, default=False
        Whether a folder that is there already is replaced.
    spark : SparkSession, optional
        The session; by default the active one.

    Returns
    -------
    str
        The address of the folder, for `rankwise.spark.evaluate`.

    Raises
    ------
    InputError
        If the table cannot be read as what it is for, or an id is null.
    OutputError
        If the folder is there already.
    """
    check_choice("role", role, TableRole)
    if role in ("items", "interactions"):
        raise ParameterError("tables by user have buckets", found=f"role={role!r}")
    if buckets is not None:
        check_count(buckets=buckets)
    session = active_session(spark)
    source = read_spark(session, table, role, columns, repeatable=False)
    number = buckets or default_buckets(session, [source])
    uri = uri_of(path)
    if exists(uri) and not overwrite:
        raise OutputError(
            "this folder is there already", where=str(path), hint="pass overwrite=True"
        )
    names = source.empty.frame.columns
    order = ["bucket", "user", *(name for name in _ORDERS if name in names)]
    numbered = source.frame.withColumn("bucket", bucket_of(sf.col("user"), number))
    files = numbered.repartition(number, "bucket").sortWithinPartitions(*order)
    files.write.mode("overwrite").partitionBy("bucket").parquet(uri)
    write_head(uri, _described(session, uri, source, number))
    return uri


def _described(spark: SparkSession, uri: str, source: SparkTable, buckets: int) -> dict[str, Any]:
    """Return what the folder says of itself; raise if an id is null."""
    role, names = source.empty.role, source.empty.frame.columns
    ids = [name for name in ("user", "item") if name in names]
    counts = [sf.count(sf.lit(1)).alias("rows"), *(sf.count(name).alias(name) for name in ids)]
    row = spark.read.parquet(uri).agg(*counts).collect()[0]
    for name in ids:
        if row[name] < row["rows"]:
            raise IdError(
                f"{'an' if name == 'item' else 'a'} {name} id is null",
                where=f"{role}, column {source.empty.columns.get(name, name)!r}",
                found=f"{row['rows'] - row[name]} null ids",
                hint="drop those rows or give them an id",
            )
    return {"role": role, "buckets": buckets, "rows": row["rows"], "columns": names}
