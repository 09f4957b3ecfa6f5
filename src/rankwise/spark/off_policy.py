"""`off_policy` on Spark: executors work on buckets of users; results are bit-identical."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from inspect import signature
from typing import Any

import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from rankwise.errors import ParameterError, RankwiseError
from rankwise.messages import parameter
from rankwise.offpolicy.job import Job
from rankwise.offpolicy.merge import finish
from rankwise.offpolicy.off_policy import Target
from rankwise.offpolicy.off_policy import off_policy as in_memory
from rankwise.offpolicy.options import Options
from rankwise.offpolicy.pieces import work
from rankwise.offpolicy.policies import item_series
from rankwise.offpolicy.result import OffPolicy
from rankwise.spark.engine import bucket_of, check_buckets, default_buckets
from rankwise.spark.tables import (
    SparkTable,
    active_session,
    collected,
    column,
    errors_of_spark,
    is_spark,
    one_row,
    read_spark,
)
from rankwise.tables.columns import Columns, empty_table_error

_OUTPUT = pa.schema([("partial", pa.binary()), ("error", pa.binary())])


def off_policy(
    exposures: Any,
    outcomes: Any = None,
    *,
    targets: Mapping[str, Target],
    items: Any = None,
    columns: Columns | None = None,
    spark: SparkSession | None = None,
    buckets: int | None = None,
    **options: Any,
) -> OffPolicy:
    """Estimate in Spark the values of target policies from logged requests.

    Exposures are partitioned into buckets of users (or of requests, where there are no users). The
    result is that of `rankwise.off_policy` to the bit, for any number of buckets and executors.

    Parameters
    ----------
    exposures : DataFrame or path
        One row per item that was shown, as for `rankwise.off_policy`.
    outcomes : DataFrame, path or table, optional
        One row per outcome. They are collected, and sent to every executor: where they are many,
        join them before, and pass a column for the reward.
    targets : mapping of str to target
        Policies by name, as for `rankwise.off_policy`. Their tables are read on the driver, and
        sent to every executor; a policy with a probability for every request is best a column of
        the exposures.
    items : iterable, optional
        All items that can be shown; by default those of the log.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised.
    spark : SparkSession, optional
        The session; by default the active one.
    buckets : int, optional
        Number of buckets of users; by default one per 64 MiB of exposures, and at least one per
        core.
    **options
        All other options of `rankwise.off_policy`, except ``threads``, ``chunk_rows``,
        ``propensity="shares"`` and a regressor for ``predictions``.

    Returns
    -------
    OffPolicy

    Raises
    ------
    InputError
        As `rankwise.off_policy`, with rows counted within a bucket.

    Examples
    --------
    >>> from rankwise.spark import off_policy  # doctest: +SKIP
    >>> off_policy("exposures.parquet", targets={"new": "p_new"})["new"]  # doctest: +SKIP
    0.2659
    """
    session = active_session(spark)
    check_buckets(buckets)
    with errors_of_spark():
        log = read_spark(session, exposures, "exposures", columns)
        clicks = collected(outcomes) if is_spark(outcomes) else outcomes
        names = {f"exposures.{name}": name for name in log.empty.columns}
        job = _job(clicks, targets=targets, columns={**(columns or {}), **names}, **options)
        job = _ahead(job, log, items)
        partials = _worked(job, log, buckets or default_buckets(session, [log]))
    card = {**log.empty.card, "rows": job.rows}
    return finish(job, partials, card)


def _job(outcomes: Any, **options: Any) -> Job:
    """Return the job of a call with these arguments, and the defaults of `rankwise.off_policy`."""
    call = signature(in_memory).bind(None, outcomes, **options)
    call.apply_defaults()
    arguments = call.arguments
    local = [name for name in ("threads", "chunk_rows", "progress") if arguments[name] is not None]
    if local:
        raise ParameterError(
            f"{local[0]} is for one process",
            found=f"{local[0]}={arguments[local[0]]}",
            hint=parameter("buckets"),
        )
    chosen = Options(**{each.name: arguments[each.name] for each in fields(Options)})
    names = ("targets", "propensity", "predictions", "outcomes", "columns", "reward", "window")
    return Job.of(chosen, *(arguments[name] for name in names))


def _ahead(job: Job, log: SparkTable, items: Any) -> Job:
    """Return the job with the catalogue, the row count and the first position of all exposures."""
    names = log.empty.frame.columns
    first = sf.min("position") if "position" in names else sf.lit(0)
    rows, position = log.frame.agg(sf.count("*"), first).collect()[0]
    if not rows:
        raise empty_table_error(log.empty)
    catalogue = None
    if items is not None:
        catalogue = item_series(items, log.empty)
    elif job.needs_items:
        catalogue = collected(log.frame.select("item").distinct())["item"].sort()
    return job.knowing_ahead(catalogue, int(rows), int(position or 0))


def _worked(job: Job, log: SparkTable, buckets: int) -> list[Any]:
    """Return the partial of each bucket; raise the error of one that cannot be worked on."""
    data: bytes = cloudpickle.dumps(job)  # type: ignore[no-untyped-call]

    def work_on_bucket(rows: pa.Table) -> pa.Table:
        partial, error = None, None
        try:
            here = _load(data)
            partial = pickle.dumps(work(here, here.read(pl.DataFrame(rows).drop("bucket"), 1)))
        except RankwiseError as raised:
            error = pickle.dumps(raised)
        return one_row(_OUTPUT, partial=partial, error=error)

    made = (
        _in_buckets(log, buckets)
        .groupBy("bucket")
        .applyInArrow(work_on_bucket, from_arrow_schema(_OUTPUT))
        .toArrow()
    )
    for error in made.column("error").to_pylist():
        if error is not None:
            raise pickle.loads(error)  # noqa: S301 - it comes from an executor of this application
    return [pickle.loads(partial) for partial in made.column("partial").to_pylist()]  # noqa: S301


def _in_buckets(log: SparkTable, buckets: int) -> DataFrame:
    """Return the exposures with the bucket of their user, request or item, the first present."""
    names = log.empty.frame.columns
    key = next((name for name in ("user", "request") if name in names), None)
    chosen = bucket_of(column("item" if key is None else key), buckets)
    return log.frame.withColumn("bucket", chosen)


@lru_cache(maxsize=1)
def _load(data: bytes) -> Job:
    """Return the job, once per Python worker."""
    job: Job = pickle.loads(data)  # noqa: S301 - it comes from the driver of this application
    return job
