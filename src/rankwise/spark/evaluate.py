"""`evaluate` on Spark: the arguments and the `Result` of `rankwise.evaluate`."""

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
from rankwise.spark.sessions import active_session
from rankwise.spark.spark_result import SparkResult
from rankwise.spark.splits import SparkSplit
from rankwise.spark.tables import collected, is_spark, read_spark
from rankwise.splits.split import Split
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

    Tables are partitioned into buckets of users. Each bucket is evaluated by an executor as in
    `rankwise.evaluate`, and partial results are merged in a tree. Values, per-user values and
    counts are bit-identical to those of `rankwise.evaluate`, for any number of buckets and
    executors.

    Parameters
    ----------
    recommendations : DataFrame or path
        Recommendation lists: one row per recommended item, with user, item and a ``rank`` or a
        ``score``, because rows in Spark have no order; or one row per user with an array of (item,
        rating), as ALS of Spark ML returns them, whose ratings are the scores. A path is read by
        Spark: Parquet, ORC, CSV or JSON lines; if all tables are folders that
        `rankwise.spark.bucket` wrote, buckets are read directly from their files.
    truth : DataFrame, path or SparkSplit, optional
        The ground truth: one row per held-out interaction, with user, item and optionally a
        ``relevance``. Of a `SparkSplit`, or a `rankwise.splits.Split`, the test part is the ground
        truth, the split is ``train`` unless that is given, and the result keeps the card. It is not
        needed for metrics that describe lists.
    measures : str, measure, or a list of them, default=DEFAULT_MEASURES
        The metrics, as for `rankwise.evaluate`. Metrics with ``similarity=cooccurrence`` raise an
        error, because they need all training interactions on one machine.
    train : DataFrame, path or table, optional
        Training interactions, for the popularity of items and each user's training history. Of a
        `SparkSplit`, the history is what is known before its test part.
    items : DataFrame, path or table, optional
        The catalogue, with or without item data. It is sent to every executor.
    users : DataFrame, path or table, optional
        One row per user: groups for ``by`` and for metrics of user groups, a column for
        ``weights``.
    baseline : DataFrame, path or table, optional
        The lists of another run, for metrics of the overlap of two runs.
    spark : SparkSession, optional
        The session; by default the active one.
    buckets : int, optional
        Number of buckets of users. By default one per 64 MiB of input, as estimated by Spark, and
        at least one per core. The memory of a Python worker must hold several times one bucket.
    collect : bool, optional
        Whether per-user values are collected on the driver. By default they are if there are at
        most 20 million; otherwise they stay in Spark until they are used
        (`SparkResult.per_user_spark`).
    %(options)s

    Returns
    -------
    SparkResult

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is; the message says where and what to do.
    UsageError
        If a metric or option is unknown or invalid, an input that a metric needs is missing, or
        Spark's Python workers lack a package.

    See Also
    --------
    bucket : Write tables by buckets of users, to evaluate them several times without a shuffle.
    compare : Compare results in Spark.

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
    if train is None and isinstance(truth, SparkSplit | Split):
        train = truth
    if truth is None:
        settings = without_truth(settings)
    sources: dict[Any, Any] = {
        "recommendations": recommendations,
        "truth": truth,
        "train": train,
        "users": users,
        "baseline": baseline,
    }
    tables = {
        role: read_spark(session, source, role, settings.columns)
        for role, source in sources.items()
        if source is not None or role == "recommendations"
    }
    return Engine(
        spark=session,
        settings=settings,
        tables=tables,
        items=_read_items(items, settings),
        buckets=buckets,
        collect=collect,
    ).result()


def _read_items(items: Any, settings: Settings) -> Table | None:
    """Return the catalogue, which every executor gets."""
    if items is None:
        return None
    if is_spark(items):
        items = collected(items)
    return read_table(items, "items", settings.columns)
