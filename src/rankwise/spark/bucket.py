"""`bucket`: write a table by buckets of users, so that it can be evaluated without a shuffle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from rankwise.core.arguments import check_choice
from rankwise.errors import ColumnError, OutputError, ParameterError
from rankwise.spark.bucketed_files import BUCKET, exists, uri_of, write_head
from rankwise.spark.run import bucket_of, check_buckets, default_buckets
from rankwise.spark.sessions import active_session, errors_of_spark, output_errors_of_spark
from rankwise.spark.tables import SparkTable, check_order, read_spark
from rankwise.tables.columns import Columns, TableRole
from rankwise.tables.validation import empty_table, null_ids, where_in

__all__ = ["bucket"]

_ORDERS = ("rank", "score")


@errors_of_spark()
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
    """Write a table by buckets of users, so that it can be evaluated without a shuffle.

    Tables that are evaluated together must have the same number of buckets;
    ``evaluate(path, truth_path, …)`` then reads each bucket directly from its files.

    Parameters
    ----------
    table : DataFrame or path
        The table, as `rankwise.spark.evaluate` takes it.
    path : str or Path
        The folder to write, under a name that driver and executors share: a shared folder, or an
        address that PyArrow supports (``s3://…``, ``gs://…``, ``hdfs://…``).
    role : {"recommendations", "truth", "train", "users", "baseline"}, default="recommendations"
        The role of the table in an evaluation.
    buckets : int, optional
        Number of buckets; by default one per 64 MiB of input, as estimated by Spark.
    columns : mapping, optional
        The column of each role, if its name is not recognised, as for `rankwise.evaluate`.
    overwrite : bool, default=False
        Replace the folder if it exists.
    spark : SparkSession, optional
        The session; by default the active one.

    Returns
    -------
    str
        The address of the folder, for `rankwise.spark.evaluate`.

    Raises
    ------
    InputError
        If the table cannot be read in this role, or an id is null.
    OutputError
        If the folder exists already, or cannot be written.
    """
    check_choice("role", role, TableRole)
    if role in ("items", "interactions"):
        raise ParameterError("only tables with users can be bucketed", found=f"role={role!r}")
    check_buckets(buckets)
    session, uri = active_session(spark), uri_of(path)
    source = read_spark(session, table, role, columns, repeatable=False)
    _check_source(source, uri, table)
    number = buckets or default_buckets(session, [source])
    if exists(uri) and not overwrite:
        raise OutputError("this folder exists already", where=str(path), hint="pass overwrite=True")
    _check_rows(source)
    names = source.empty.frame.columns
    order = [BUCKET, "user", *(name for name in _ORDERS if name in names)]
    numbered = source.frame.withColumn(BUCKET, bucket_of(sf.col("user"), number))
    files = numbered.repartition(number, BUCKET).sortWithinPartitions(*order)
    with output_errors_of_spark(uri):
        whole = files.write.mode("overwrite").option("partitionOverwriteMode", "static")
        whole.partitionBy(BUCKET).parquet(uri)
        rows = session.read.parquet(uri).count()  # of a table that is not the same twice
        write_head(uri, {"role": role, "buckets": number, "rows": rows, "columns": names})
    return uri


def _check_source(source: SparkTable, uri: str, table: Any) -> None:
    """Raise before anything is written if the table could not be evaluated from its buckets."""
    role, names = source.empty.role, source.empty.frame.columns
    if role in ("recommendations", "baseline"):
        check_order(source, None)
    if BUCKET in (name.lower() for name in names):
        raise ColumnError(f"a column is called {BUCKET!r}, as the folders are", where=role)
    if isinstance(table, str | Path) and uri_of(table) == uri:
        raise ParameterError("a folder cannot be bucketed into itself", found=uri)


def _check_rows(source: SparkTable) -> None:
    """Raise if there are no rows, or if an id is null."""
    ids = [name for name in ("user", "item") if name in source.empty.frame.columns]
    counts = [sf.count(sf.lit(1)).alias("rows"), *(sf.count(name).alias(name) for name in ids)]
    row = source.frame.agg(*counts).collect()[0]
    if not row["rows"]:
        raise empty_table(source.empty)
    for name in ids:
        if row[name] < row["rows"]:
            raise null_ids(name, where_in(source.empty, name), row["rows"] - row[name])
