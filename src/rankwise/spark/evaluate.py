"""`evaluate` on Spark: the same arguments, the same work, the same `Result`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from pyspark.sql import SparkSession

from rankwise.core.arguments import check_flag
from rankwise.evaluation.evaluate import without_truth
from rankwise.evaluation.option_sets import ListOptions
from rankwise.evaluation.settings import DEFAULT_MEASURES, Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.measures.read import MeasureLike
from rankwise.spark.engine import Engine
from rankwise.spark.run import check_buckets
from rankwise.spark.spark_result import SparkResult
from rankwise.spark.tables import active_session, collected, is_spark, read_spark
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["evaluate"]


@takes_options(ListOptions)
def evaluate(
    recommendations: Any,
    truth: Any = None,
    measures: MeasureLike | Iterable[MeasureLike] = DEFAULT_MEASURES,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
    spark: SparkSession | None = None,
    buckets: int | None = None,
    collect: bool | None = None,
    **options: Unpack[ListOptions],
) -> SparkResult:
    """Evaluate recommendation lists in Spark against the ground truth.

    All rows of a user meet in a bucket of users, where an executor evaluates them as
    `rankwise.evaluate` does; what buckets add to the result is merged in a tree. Values, users'
    values and counts have the same bits as those of `rankwise.evaluate`, whatever the number of
    buckets and executors.

    Parameters
    ----------
    recommendations : DataFrame or path
        Recommendation lists: one row per recommended item, with user, item and a ``rank`` or a
        ``score``: rows of Spark have no order. A path is read by Spark: Parquet, ORC, CSV or JSON
        lines; where all tables are folders that `rankwise.spark.bucket` wrote, buckets are read
        straight from their files.
    truth : DataFrame or path, optional
        The ground truth: one row per held-out interaction, with user, item and optionally a
        ``relevance``. None is enough for metrics that describe lists.
    measures : str, measure, or a list of them, default=DEFAULT_MEASURES
        The metrics, as for `rankwise.evaluate`. Those with ``similarity=cooccurrence`` need all of
        the training interactions on one machine, and are refused.
    train : DataFrame, path or table, optional
        Training interactions: the popularity of items, and each user's training history.
    items : DataFrame, path or table, optional
        The catalogue, and what is known about its items. It is sent to every executor.
    users : DataFrame, path or table, optional
        One row per user: groups for ``by`` and for measures of groups, a column for ``weights``.
    baseline : DataFrame, path or table, optional
        The lists of another run, for measures of the overlap of two runs.
    spark : SparkSession, optional
        The session; by default the active one.
    buckets : int, optional
        Number of buckets of users. By default one per 64 MiB of what Spark estimates to read, and
        at least one per core; a bucket must fit the memory of a Python worker several times.
    collect : bool, optional
        Whether the users' values come to the driver. By default if they are at most 20 million;
        otherwise they stay in Spark until they are asked for (`SparkResult.per_user_spark`).
    %(options)s

    Returns
    -------
    SparkResult

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is; the message says where and what to do.
    UsageError
        If a measure or parameter makes no sense.

    Examples
    --------
    >>> from rankwise.spark import evaluate  # doctest: +SKIP
    >>> lists = spark.read.parquet("s3://bucket/recommendations")  # doctest: +SKIP
    >>> result = evaluate(lists, "s3://bucket/truth", ["ndcg@10", "coverage@10"])  # doctest: +SKIP
    """
    session = active_session(spark)
    settings = Settings.read(measures, options)
    settings = replace(settings, threads=settings.threads or 1, progress=False, adjusted=True)
    check_buckets(buckets)
    if collect is not None:
        check_flag(collect=collect)
    if truth is None:
        settings = without_truth(settings)
    sources: dict[Any, Any] = {
        "recommendations": recommendations, "truth": truth, "train": train, "users": users,
        "baseline": baseline,
    }  # fmt: skip
    tables = {
        role: read_spark(session, source, role, settings.columns)
        for role, source in sources.items() if source is not None or role == "recommendations"
    }  # fmt: skip
    return Engine(
        spark=session, settings=settings, tables=tables, items=_read_items(items, settings),
        buckets=buckets, collect=collect,
    ).result()  # fmt: skip


def _read_items(items: Any, settings: Settings) -> Table | None:
    """Return the catalogue, which every executor gets."""
    if items is None:
        return None
    if is_spark(items):
        items = collected(items)
    return read_table(items, "items", settings.columns)
