"""`evaluate`, `compare` and `bucket` on Spark, with the arguments and results of `rankwise`."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession

from rankwise.comparison.alignment import AlignedUsers, align_values, infinite_value, some_missing
from rankwise.comparison.claims import Claim, claim_of_users
from rankwise.comparison.comparability import (
    check_choices,
    check_digests,
    common_cells,
    different_truth,
    unchecked,
)
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.design import Design
from rankwise.comparison.family import bounds_of, check_zero
from rankwise.comparison.plan import list_pairs
from rankwise.comparison.ranks import ranks_of_pairs
from rankwise.comparison.rows import PairFinding, conclude_pairs, make_pair_finding, with_margin
from rankwise.comparison.systems import systems_of
from rankwise.core.arguments import Missing, check_choice, check_flag
from rankwise.errors import ColumnError, OutputError, ParameterError
from rankwise.evaluation.evaluate import without_truth
from rankwise.evaluation.settings import (
    DEFAULT_METRICS,
    ListOptions,
    Settings,
    check_taken,
    takes_options,
)
from rankwise.evaluation.truth_slices import columns_of_truth
from rankwise.findings.columns import table_of
from rankwise.findings.finding import Limits
from rankwise.findings.margins import Margin, margin_of, margin_test, margins_by_cell
from rankwise.messages import call, parameter
from rankwise.metrics.base import MetricLike
from rankwise.results.result import Result
from rankwise.spark.engine import Engine, SparkResult, bucket_of, check_buckets, default_buckets
from rankwise.spark.splits import SparkSplit
from rankwise.spark.tables import (
    BUCKET,
    SparkTable,
    active_session,
    check_order,
    collected,
    column,
    errors_of_spark,
    exists,
    is_spark,
    one_row,
    output_errors_of_spark,
    read_spark,
    uri_of,
    with_grades,
    write_head,
)
from rankwise.splits.split import Split
from rankwise.stats.bounded_means import BOUNDED
from rankwise.stats.bounds_of_pairs import BoundedPairs, Histogram
from rankwise.stats.differences import Differences, TestResult, check_level
from rankwise.stats.effect_sizes import lift_by_quantile
from rankwise.stats.intervals import interval_of_test, lift_of_test
from rankwise.stats.paired_tests import t_test
from rankwise.stats.variance_components import PairSums
from rankwise.tables.columns import (
    Columns,
    check_columns,
    empty_table_error,
    null_ids_error,
    shared_names,
    where_in,
)
from rankwise.tables.read import check_shared_names, read_table
from rankwise.tables.requests import check_same_units
from rankwise.tables.table import Table, TableRole

_SUMS = pa.schema([("sums", pa.binary())])
_MEANS_ONLY = f"rankwise.compare takes it, if both were evaluated with {parameter('jackknife')}"
Correction = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]


@errors_of_spark()
def compare(
    *results: SparkResult | Mapping[str, SparkResult],
    baseline: str | None = None,
    primary: str | None = None,
    metrics: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    correction: Correction = "holm",
    margin: Margin = None,
    missing: Missing = "error",
    force: bool = False,
) -> Comparison:
    r"""Compare results user by user, in Spark: differences, confidence intervals and tests.

    The per-user values of all results are joined once. For every pair and metric the driver gets
    the number of users and the exact sums of :math:`x, y, x - y, x^2, y^2, xy, (x - y)^2`, from
    which means, variances, the paired t test, lift and equivalence follow, and of metrics with a
    range a histogram of 1,024 bins of the differences, from which the test of `rankwise.compare`
    for any users follows.
    Methods that need all values at once (bootstrap, sign flips, ranks, Cliff's delta, groups of
    users) are those of `rankwise.compare`, which collects the values on the driver; so are values
    that are no means over users (coverage, Gini), which it compares by their jackknife.

    Parameters
    ----------
    *results : SparkResult, or one mapping of str to SparkResult
        Two or more results of `rankwise.spark.evaluate`: as separate arguments, which are called A,
        B, … in this order, or by name.
    baseline, primary, metrics, alpha, margin, missing, force
        As for `rankwise.compare`.
    correction : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}, default="holm"
        The correction of the p-values of the primary metric.

    Returns
    -------
    Comparison
        ``cliffs_delta`` is NaN, and margins are tested by t.

    Raises
    ------
    ParameterError
        If candidate sets, splits, settings or ground truths differ.
    """
    systems = systems_of(results)
    named = systems.single()
    first = next(iter(named.values()))
    if baseline is None and systems.in_order:
        baseline = next(iter(named))
    if baseline is not None and baseline not in named:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(named))
    check_level("alpha", alpha)
    check_choice("correction", correction, Correction)
    check_choice("missing", missing, Missing)
    _check_in_spark(named)
    if not force:
        _check(named)

    cells, main, not_compared = common_cells(named, metrics, primary, means_only=_MEANS_ONLY)
    margins = margins_by_cell(margin, first, cells)
    directions = {cell: first.direction(cell) for cell in cells}
    for cell, better in directions.items():
        check_zero(cell, missing, better)

    pairs = list_pairs(list(named), baseline)
    sums = _summed(named, cells, pairs, missing)
    _check_sums(sums, missing, force=force)
    n_exploratory = max(len(pairs) * (len(cells) - 1), 1)
    rows = [
        _row(
            sums,
            named,
            cell,
            pair,
            len(pairs) if cell == main else None,
            n_exploratory,
            alpha,
            margins,
        )
        for cell in cells
        for pair in pairs
    ]
    rows = conclude_pairs(rows, correction, alpha)

    ranks = ranks_of_pairs([row for row in rows if row.primary], better=directions[main])
    design = Design(
        baseline=baseline,
        primary=main,
        alpha=float(alpha),
        test="auto",
        correction=correction,
        margin=margins,
        missing=missing,
        forced=force,
        directions=directions,
        labels=systems.labels,
        not_compared=not_compared,
        unchecked=tuple(unchecked(named, partial(_check, named) if force else None)),
        ranks=tuple(ranks),
    )
    return Comparison(table_of(rows, PairFinding), systems.values(), design, dict(named))


def _check(results: Mapping[str, Result]) -> None:
    """Raise if results are not comparable, before the values of any user are read."""
    check_choices(results)
    check_digests(results)


def _check_in_spark(results: Mapping[str, Result]) -> None:
    for name, result in results.items():
        if not isinstance(result, SparkResult):
            raise ParameterError(
                "only results of rankwise.spark.evaluate can be compared in Spark",
                found=f"{name}: {type(result).__name__}",
                hint=f"pass others to {call('compare')}",
            )
        if "requests" in result.provenance:
            raise ParameterError(
                "Spark compares values of users, and these are of requests",
                found=name,
                hint=f"{call('compare')} takes users as clusters of requests",
            )


def _check_sums(sums: _Sums, missing: Missing, *, force: bool) -> None:
    """Raise if ground truths differ, unless forced, or a value is infinite, or missing without leave."""
    if sums.other_truth and not force:
        raise different_truth(f"{sums.other_truth} users have other numbers of relevant items")
    for cell, count in sums.infinite.items():
        if count:
            raise infinite_value(cell, None, f"{count} such users")
    if missing != "error":
        return
    for cell, (users, _, dropped, _) in sums.users.items():
        if dropped:
            raise some_missing(cell, f"{dropped} such users of {users}")


@dataclass(frozen=True)
class _Sums:
    """The sums of a set of users in a comparison.

    Attributes
    ----------
    pairs : mapping of (cell, baseline, system) to PairSums
        The sums of every pair.
    histograms : mapping of (cell, baseline, system) to Histogram
        The distribution of the differences of every pair, of metrics with a bound.
    users : mapping of str to tuple of int
        By cell: users of any result, those without a value in all or in some results, and missing
        values that were taken for 0.
    other_truth : int
        Users whose number of relevant items is not the same in all results.
    infinite : mapping of str to int
        By cell: users with an infinite value in some result.
    """

    pairs: Mapping[tuple[str, str, str], PairSums]
    histograms: Mapping[tuple[str, str, str], Histogram]
    users: Mapping[str, tuple[int, int, int, int]]
    other_truth: int
    infinite: Mapping[str, int]

    def __add__(self, other: _Sums) -> _Sums:
        pairs = {key: sums + other.pairs[key] for key, sums in self.pairs.items()}
        histograms = {key: own + other.histograms[key] for key, own in self.histograms.items()}
        users: dict[str, Any] = {
            cell: tuple(map(sum, zip(counts, other.users[cell], strict=True)))
            for cell, counts in self.users.items()
        }
        infinite = {cell: count + other.infinite[cell] for cell, count in self.infinite.items()}
        other_truth = self.other_truth + other.other_truth
        return _Sums(pairs, histograms, users, other_truth, infinite)


def _summed(
    results: Mapping[str, Result],
    cells: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    missing: Missing,
) -> _Sums:
    """Join the users' values of all results, and sum them for the comparison."""
    joined: DataFrame | None = None
    for at, result in enumerate(results.values()):
        assert isinstance(result, SparkResult)
        names = {"n_relevant": f"n{at}"} | {c: f"v{at}_{j}" for j, c in enumerate(cells)}
        frame = result.per_user_spark.select(
            "user", *(column(name).alias(short) for name, short in names.items())
        )
        joined = frame if joined is None else joined.join(frame, "user", "full")
    assert joined is not None
    ranges = {cell: bounds_of(results, cell) for cell in cells}
    largest = {
        cell: high - low for cell, (low, high) in ranges.items() if math.isfinite(high - low)
    }
    work = _Work(tuple(results), tuple(cells), tuple(pairs), missing, largest)
    shares = joined.mapInArrow(work.sums, "sums binary").toArrow().column("sums")
    total = reduce(add, (pickle.loads(share.as_py()) for share in shares))  # noqa: S301
    assert isinstance(total, _Sums)
    return total


@dataclass(frozen=True)
class _Work:
    """The executors' work on the joined values of a set of users."""

    names: tuple[str, ...]
    cells: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    missing: Missing
    largest: Mapping[str, float]

    def sums(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the sums of the users of a partition, in one row."""
        sums = [self.of(pl.DataFrame(batch)) for batch in batches]
        if sums:
            yield from one_row(_SUMS, sums=pickle.dumps(reduce(add, sums))).to_batches()

    def of(self, frame: pl.DataFrame) -> _Sums:
        """Return the sums of the users in a table."""
        sums, histograms, users, infinite = {}, {}, {}, {}
        for j, cell in enumerate(self.cells):
            values = frame.select(f"v{at}_{j}" for at in range(len(self.names)))
            aligned = align_values(values.to_numpy().astype(np.float64), self.missing)
            users[cell] = (aligned.users, aligned.undefined, aligned.dropped, aligned.filled)
            infinite[cell] = int(np.isinf(aligned.values).any(axis=1).sum())
            columns = dict(zip(self.names, aligned.values.T, strict=True))
            for baseline, system in self.pairs:
                pair = Differences(columns[system], columns[baseline])
                sums[cell, baseline, system] = PairSums.of(pair)
                if cell in self.largest:
                    histograms[cell, baseline, system] = Histogram.of(pair, self.largest[cell])
        relevant = [pl.col(f"n{at}") for at in range(len(self.names))]
        complete = frame.select(*relevant).drop_nulls()
        other = complete.filter(pl.any_horizontal(one != relevant[0] for one in relevant))
        return _Sums(sums, histograms, users, len(other), infinite)


def _row(
    sums: _Sums,
    results: Mapping[str, Result],
    cell: str,
    pair: tuple[str, str],
    tests: int | None,
    n_exploratory: int,
    alpha: float,
    margins: Margin,
) -> PairFinding:
    """Return the row of one pair; ``tests`` is the size of its family, None if exploratory."""
    users, undefined, dropped, filled = sums.users[cell]
    aligned = AlignedUsers(np.empty((0, 0)), users, undefined, dropped, filled)
    pair_sums, margin = sums.pairs[cell, *pair], margin_of(margins, cell)
    tested = t_test(pair_sums)
    bounds = bounds_of(results, cell)
    largest = bounds[1] - bounds[0]
    options: dict[str, Any] = {"n_resamples": 0, "seed": 0}
    histogram = sums.histograms.get((cell, *pair))
    bounded = None if histogram is None else histogram.pairs()
    claim = Claim()
    if histogram is not None and bounded is not None and pair_sums.n > 1:
        claim = _claim(pair_sums, histogram, bounded)
        difference, flags = pair_sums.mean, pair_sums.sample_flags
        tested = TestResult(BOUNDED, difference, difference, claim.p_any, pair_sums.n, flags)

    def limits_of(level: float) -> Limits:
        if bounded is not None and pair_sums.n > 1 and pair_sums.deviation:
            return _limits_by_bound(pair_sums, bounded, level)
        interval = interval_of_test(
            pair_sums, "t", confidence=1 - level, largest=largest, **options
        )
        _, *lift = lift_of_test(pair_sums, "t", interval, bounds, **options)
        return Limits(interval.low, interval.high, *lift)

    row = make_pair_finding(
        cell,
        pair,
        pair_sums,
        tested,
        limits_of,
        alpha=alpha,
        margin=margin_test(margin),
        better=next(iter(results.values())).direction(cell),
        together=tests or 1,
        tests=tests or n_exploratory,
        dropped=(users, aligned.reasons),
        bounds=bounds,
        claim=claim,
        interval_flags=interval_of_test(
            pair_sums, "t", confidence=1 - alpha, largest=largest, **options
        ).flags,
    )
    return with_margin(replace(row, primary=tests is not None), margin, bounded=False)


def _claim(sums: PairSums, histogram: Histogram, bounded: BoundedPairs) -> Claim:
    """Return what a pair says of users who were not sampled."""

    def largest_loss_of(level: float) -> float:
        return float(bounded.largest_losses(np.full(1, level))[0])

    return claim_of_users(
        (histogram.least, histogram.most),
        sums.mean,
        histogram.largest,
        p_any=bounded.p[0],
        p_design=t_test(sums).p,
        largest_loss_of=largest_loss_of,
    )


def _limits_by_bound(sums: PairSums, bounded: BoundedPairs, level: float) -> Limits:
    """Return the limits of a difference, and those of the lift as many standard errors away."""
    low, high = (float(limits[0]) for limits in bounded.limits(level))
    _, lift_low, _ = lift_by_quantile(sums, (sums.mean - low) / sums.error)
    _, _, lift_high = lift_by_quantile(sums, (high - sums.mean) / sums.error)
    return Limits(low, high, lift_low, lift_high)


@takes_options(ListOptions)
def evaluate(
    recommendations: Any,
    truth: Any = None,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
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
        `rankwise.spark.evaluate` wrote, buckets are read directly from their files.
    truth : DataFrame, path or SparkSplit, optional
        The ground truth: one row per held-out interaction, with user, item and optionally a
        ``relevance``. Of a `SparkSplit`, or a `rankwise.splits.Split`, the test part is the ground
        truth, the split is ``train`` unless that is given, and the result keeps the card. It is not
        needed for metrics that describe lists.
    metrics : str, metric, or a list of them, default=DEFAULT_METRICS
        The metrics, as for `rankwise.evaluate`. Metrics with ``similarity=cooccurrence`` or
        ``distance=cooccurrence`` raise an error, because they need all training interactions on one
        machine.
    train : DataFrame, path or table, optional
        Training interactions, for the popularity of items and each user's training history. Of a
        `SparkSplit`, the history is what is known before its test part.
    items : DataFrame, path or table, optional
        The catalogue, with or without item data. It is sent to every executor.
    users : DataFrame, path or table, optional
        One row per user: groups for ``by`` and for metrics of user groups, a column for
        ``weights``.
    reference : DataFrame, path or table, optional
        The recommendation lists of another system, for metrics of the overlap of two systems' lists
        and of unexpectedness.
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
    check_taken("spark", options)
    settings = Settings.read(metrics, options)
    settings = replace(settings, threads=settings.threads or 1, progress=False)
    check_buckets(buckets)
    if collect is not None:
        check_flag(collect=collect)
    if train is None and isinstance(truth, SparkSplit | Split):
        train = truth
    if truth is None:
        settings = without_truth(settings, options)
    tables, item_table = _read_tables(
        session,
        settings,
        {
            "recommendations": recommendations,
            "truth": truth,
            "train": train,
            "users": users,
            "reference": reference,
        },
        items,
    )
    return Engine(
        spark=session,
        settings=settings,
        tables=tables,
        items=item_table,
        buckets=buckets,
        collect=collect,
    ).result()


def _read_tables(
    session: SparkSession, settings: Settings, sources: Mapping[TableRole, Any], items: Any
) -> tuple[dict[TableRole, SparkTable], Table | None]:
    """Read the tables of an evaluation as Spark's, and the catalogue on the driver."""
    present = {role: source for role, source in sources.items() if source is not None}
    roles: list[TableRole] = [*present]
    if items is not None:
        roles.append("items")
    check_columns(settings.columns, roles, ("train", "items", "users", "reference"))
    columns = {**columns_of_truth(settings), **(settings.columns or {})}
    names = shared_names(columns)

    tables = {role: read_spark(session, source, role, names) for role, source in present.items()}
    catalogue = collected(items) if is_spark(items) else items
    item_table = None if items is None else read_table(catalogue, "items", names)
    empty_tables = {role: table.empty for role, table in tables.items()}
    check_same_units(empty_tables.values(), settings.columns)
    if item_table is not None:
        empty_tables["items"] = item_table
    check_shared_names(columns, empty_tables)
    if "truth" in tables:
        tables["truth"] = with_grades(tables["truth"], settings.grades)
    return tables, item_table


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
    """Write a table by buckets of users, for evaluation without a shuffle.

    Tables that are evaluated together must have the same number of buckets;
    ``evaluate(path, truth_path, …)`` then reads each bucket directly from its files.

    Parameters
    ----------
    table : DataFrame or path
        The table, as `rankwise.spark.evaluate` takes it.
    path : str or Path
        The folder to write, under a name that driver and executors share: a shared folder, or an
        address that PyArrow supports (``s3://…``, ``gs://…``, ``hdfs://…``).
    role : {"recommendations", "truth", "train", "users", "reference"}, default="recommendations"
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
        raise ParameterError(
            "only tables with users can be bucketed", found=parameter("role", role)
        )
    check_buckets(buckets)
    check_columns(columns, [role])
    session, uri = active_session(spark), uri_of(path)
    source = read_spark(session, table, role, columns, repeatable=False)
    _check_source(source, uri, table)
    number = buckets or default_buckets(session, [source])
    if exists(uri) and not overwrite:
        raise OutputError(
            "this folder exists already",
            where=str(path),
            hint=f"pass {parameter('overwrite', True)}",
        )
    _check_rows(source)
    names = source.empty.frame.columns
    order = [BUCKET, "user", *(name for name in _ORDERS if name in names)]
    numbered = source.frame.withColumn(BUCKET, bucket_of(sf.col("user"), number))
    files = numbered.repartition(number, BUCKET).sortWithinPartitions(*order)
    with output_errors_of_spark(uri):
        writer = files.write.mode("overwrite").option("partitionOverwriteMode", "static")
        writer.partitionBy(BUCKET).parquet(uri)
        rows = session.read.parquet(uri).count()  # of a table that is not the same twice
        write_head(uri, {"role": role, "buckets": number, "rows": rows, "columns": names})
    return uri


def _check_source(source: SparkTable, uri: str, table: Any) -> None:
    """Raise before anything is written if the table could not be evaluated from its buckets."""
    role, names = source.empty.role, source.empty.frame.columns
    if role in ("recommendations", "reference"):
        check_order(source.empty, None)
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
        raise empty_table_error(source.empty)
    for name in ids:
        if row[name] < row["rows"]:
            raise null_ids_error(name, where_in(source.empty, name), row["rows"] - row[name])
