"""One evaluation on Spark: checks by schema, counts over all users, buckets, and the result."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl
import pyspark.sql.functions as sf
from pyspark import StorageLevel, cloudpickle
from pyspark.sql import DataFrame, SparkSession

from rankwise.core.partial import Partial
from rankwise.encoding.encode import ties_for
from rankwise.encoding.fact_tables import Counted
from rankwise.errors import EmptyError, FileError, ParameterError, RankwiseError
from rankwise.evaluation.doubts import swapped
from rankwise.evaluation.evaluate import check_whole, with_doubts
from rankwise.evaluation.preconditions import check_piece
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.shares import UserShare
from rankwise.evaluation.summary import Summary, catalogue, check_not_empty
from rankwise.evaluation.warm_cold import with_item_slices
from rankwise.evaluation.work import Job, finish, prepare, with_train_items
from rankwise.results.group_columns import HISTORY
from rankwise.results.result import Result
from rankwise.spark.bucket_work import RELEVANT, BucketWork, check_row, load_job, rows_of, share_of, users_of, values_of
from rankwise.spark.counting import (
    check_facts,
    count_over_users,
    dealt_users,
    groups_named,
    reference_of,
    tables_needed,
)
from rankwise.spark.run import default_buckets, files_of, merged_row, union, work_on_buckets, work_on_files
from rankwise.spark.sessions import errors_of_spark
from rankwise.spark.spark_result import SparkResult
from rankwise.spark.tables import SparkTable, check_order, unify_ids
from rankwise.tables.columns import TableRole
from rankwise.tables.table import Recommendations, Table, Tables
from rankwise.tables.train_groups import TRAIN_GROUPS, check_train_groups
from rankwise.tables.validation import empty_table

__all__ = ["Engine"]

_COLLECTED = 20_000_000  # values of users on the driver: 160 MB


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One evaluation on Spark.

    Attributes
    ----------
    spark : SparkSession
        The session.
    settings : Settings
        What is asked.
    tables : mapping of str to SparkTable
        The tables by user.
    items : Table or None
        The catalogue.
    buckets : int or None
        Number of buckets; None for as many as suit the size.
    collect : bool or None
        Whether the users' values come to the driver; None if they are few enough.
    """

    spark: SparkSession
    settings: Settings
    tables: Mapping[TableRole, SparkTable]
    items: Table | None
    buckets: int | None
    collect: bool | None
    checked: bool = False
    """Whether the tables are parts of tables that have rows."""

    def result(self) -> SparkResult:
        """Check everything that schemas tell, run, and put the result together.

        Raises
        ------
        InputError
            If the tables cannot be evaluated, or Spark fails to compute them.
        """
        with errors_of_spark():
            return self._result()

    def _result(self) -> SparkResult:
        evaluated, truth = self._evaluate(), self.tables.get("truth")
        lists = self.tables["recommendations"].empty
        result = with_doubts(evaluated.result, [] if truth is None else swapped(lists, truth.empty))
        if self.settings.warm_and_cold:
            assert truth is not None
            warm = self.tables["train"].trained.frame.select("item").distinct()
            parts = {
                group: truth.with_frame(truth.frame.join(warm, "item", how))
                for group, how in (("warm", "left_semi"), ("cold", "left_anti"))
            }
            result = with_item_slices(result, parts, self._again)
        return SparkResult.of(result, evaluated.values, evaluated.kept)

    def _again(self, truth: SparkTable) -> Result:
        """Evaluate the same lists against another ground truth, without groups of users."""
        settings = replace(self.settings, by=(), jackknife=None, warm_and_cold=False)
        tables = {**self.tables, "truth": truth}
        part = replace(self, settings=settings, tables=tables, collect=False, checked=True)
        evaluated = part._evaluate()
        if evaluated.kept is not None:
            evaluated.kept.unpersist()
        return evaluated.result

    def _prepared(self) -> _Prepared:
        """Return the job and its tables, checked by their columns alone."""
        settings, tables = self.settings, dict(self.tables)
        check_whole(settings, train=tables.get("train"), chunk_rows=None)
        unify_ids(tables)
        known = {role: table.empty for role, table in tables.items()}
        check_train_groups(settings.by, known.get("users"), known.get("train"))
        for role in ("recommendations", "baseline"):
            if role in tables:
                check_order(tables[role], settings.ties)
        if settings.warm_and_cold:
            settings = replace(settings, by=(*settings.by, HISTORY))
        if settings.jackknife is not None:
            tables["users"] = dealt_users(
                tables["recommendations"],
                tables.get("truth"),
                tables.get("users"),
                settings.jackknife,
                settings.relevance_threshold,
            )
        lists = tables["recommendations"].empty
        assert isinstance(lists, Recommendations)
        ties_for(lists, settings.ties)
        job = prepare(settings, reference_of(settings, tables, self.items), counted=Counted())
        check_piece(job.plan, lists, settings.relevance_threshold)
        check_facts(job.plan)
        return _Prepared(job, tables)

    def _evaluate(self) -> _Evaluated:
        """Count over all users, evaluate every bucket, and merge."""
        prepared = self._prepared()
        tables = prepared.tables
        job, counts = prepared.counted()
        work, output, buckets = self._output(job, prepared.tables)
        output = output.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            merged, n_users = _merged(output, buckets, job, work, counts)
            _check_rows(job, work, merged, part=self.checked)
            width = n_users * merged.users.width
            collect = width <= _COLLECTED if self.collect is None else self.collect
            read = {role: merged.counts.get(rows_of(role), 0) for role in tables}
            _check_files(tables, work, read)
            merged = replace(
                merged,
                counts={
                    name: count
                    for name, count in merged.counts.items()
                    if name not in {RELEVANT, *map(rows_of, tables)}
                },
            )
            if collect:
                evaluated = _Evaluated(_collected(job, merged, output))
                output.unpersist()
            else:
                evaluated = _in_spark(job, merged, output, work.job)
        except BaseException:
            output.unpersist()
            raise
        return replace(evaluated, result=_with_rows(evaluated.result, read))

    def _output(self, job: Job, tables: Mapping[TableRole, SparkTable]) -> tuple[BucketWork, DataFrame, int]:
        """Return the work on a bucket, what it gives back for each, and the number of buckets."""
        needed = tables_needed(job, tables)
        sources = {role: table.empty for role, table in needed.items()}
        data: bytes = cloudpickle.dumps(job)  # type: ignore[no-untyped-call]
        _check_names(job, data)
        files = files_of(needed)
        if files is not None and self.buckets is None:
            work = BucketWork(data, sources, {})
            return work, work_on_files(self.spark, files, work), files["recommendations"].buckets
        buckets = self.buckets or default_buckets(self.spark, needed.values())
        lists = needed.pop("recommendations").frame
        others, names = union(needed) if needed else (None, {})
        work = BucketWork(data, sources, names)
        return work, work_on_buckets(lists, others, work, buckets), buckets


@dataclass(frozen=True)
class _Evaluated:
    """A result, and where its users' values are if it has none of them.

    It is no `SparkResult` yet: changing one would bring the users' values to the driver.
    """

    result: Result
    values: DataFrame | None = None
    kept: DataFrame | None = None


@dataclass(frozen=True)
class _Prepared:
    """A job whose tables have been checked by their columns, and the tables."""

    job: Job
    tables: Mapping[TableRole, SparkTable]

    def counted(self) -> tuple[Job, dict[str, int]]:
        """Return the job with what is counted over all users, and counts for the result."""
        job, users = self.job, self.tables.get("users")
        names = [
            name
            for fact in job.plan.facts
            if fact.kind in ("user_group", "source")
            for name in job.facts.columns_of[fact].names
        ]
        groups = groups_named(users, names)
        train = self.tables.get("train")
        counted, counts = count_over_users(job, train, groups, users)
        return prepare(job.settings, job.reference, counted=counted), counts


def _check_names(job: Job, data: bytes) -> None:
    """Raise if a measure is called something else in another process."""
    for measure, other in zip(job.settings.measures, load_job(data).settings.measures, strict=True):
        if str(measure) != str(other):
            raise ParameterError(
                "the name of this measure differs between processes",
                found=str(measure),
                hint="pass a named function, not a partial or an object",
            )


def _merged(
    output: DataFrame, buckets: int, job: Job, work: BucketWork, counts: Mapping[str, int]
) -> tuple[Partial, int]:
    """Return the merged partial without users, and the number of users."""
    row = merged_row(output, buckets, with_items=job.plan.needs_catalogue)
    if row is None:
        raise empty_table(work.sources["recommendations"])
    check_row(row, work.sources)
    merged = Partial.from_bytes(row["partial"])
    return replace(merged, counts={**merged.counts, **counts}), int(row["n_users"])


def _check_rows(job: Job, work: BucketWork, merged: Partial, *, part: bool) -> None:
    """Raise if a table has no rows, or none that can be used; the ``part`` of one may have none."""
    for role in work.sources:
        if not merged.counts.get(rows_of(role)) and not part:
            raise empty_table(work.sources[role])
    if "truth" in work.sources and job.settings.needs_relevant and not merged.counts.get(RELEVANT):
        raise EmptyError(
            "no item is relevant",
            where=work.sources["truth"].source,
            hint="lower the relevance threshold; items of relevance 0 or less are not relevant",
        )
    taken_out = merged.counts.get("seen_items_taken_out")
    if taken_out and taken_out == merged.counts[rows_of("recommendations")]:
        source = work.sources["recommendations"].source
        raise EmptyError("every recommended item was seen in training", where=source)


def _check_files(tables: Mapping[TableRole, SparkTable], work: BucketWork, read: Mapping[TableRole, int]) -> None:
    """Raise if bucketed files have other rows than when they were written."""
    for role, table in tables.items():
        counted = role in work.sources or read[role]  # training may be counted only
        if table.files is not None and counted and read[role] != table.files.rows:
            raise FileError(
                "these files have changed since they were bucketed",
                where=table.files.uri,
                found=f"{read[role]} rows, {table.files.rows} when they were written",
                hint="write them again: rankwise.spark.bucket(…, overwrite=True)",
            )


def _collected(job: Job, merged: Partial, output: DataFrame) -> Result:
    """Return the result with the users' values on the driver."""
    packed = output.select("users").where(sf.col("users").isNotNull()).toArrow()
    parts = [users_of(cell.as_py()) for cell in packed.column("users")]
    users = pl.concat([evaluated for evaluated, _ in parts], rechunk=True).sort("user")
    tables = [table for _, table in parts if table is not None]
    if tables:
        assert job.reference.users is not None
        whole = job.reference.users.with_frame(pl.concat(tables))
        job = job.for_users(Tables(users=whole))
    return finish(job, [replace(merged, users=users)])


def _in_spark(job: Job, merged: Partial, output: DataFrame, data: bytes) -> _Evaluated:
    """Return the result with the users' values in Spark."""
    merged = with_train_items(job, merged)
    items, counts = catalogue(job.settings, job.plan, job.facts, merged, 0)
    size = 0 if items is None else items.size
    packed = output.select("users").where(sf.col("users").isNotNull())
    shares = packed.mapInArrow(share_of(data, size), "share binary").toArrow()
    share = _sum([pickle.loads(cell.as_py()) for cell in shares.column("share")])  # noqa: S301
    check_not_empty(merged, share.everyone.users, share.everyone.with_list, job.settings)
    job.user_table.check_total(share.weight.value)
    if items is not None:
        items = replace(items, n_listed=share.everyone.with_list)
    values, empty = values_of(packed, data, merged.users, size)
    result = Summary(
        settings=job.settings,
        plan=job.plan,
        facts=job.facts,
        user_table=job.user_table,
        truth=None,
        merged=merged,
        share=share,
        items=items,
        catalogue_counts=counts,
    ).result(empty)
    if result.label:  # as in the columns of other results
        values = values.withColumn("label", sf.lit(result.label))
    return _Evaluated(result, values, output)


def _sum(shares: list[UserShare | RankwiseError]) -> UserShare:
    """Add shares up, or raise the first error among them."""
    total: UserShare | None = None
    for share in shares:
        if isinstance(share, RankwiseError):
            raise share
        total = share if total is None else total + share
    assert total is not None
    return total


def _with_rows(result: Result, rows: Mapping[TableRole, int]) -> Result:
    """Return a result whose cards of tables by user have the number of rows that were read.

    A table of users that has nothing but the groups of training users was not given: it has none.
    """
    inputs = {
        role: {**card, "rows": rows[role] or None}
        if role in rows and role not in ("recommendations", "truth")
        else card
        for role, card in result.provenance["inputs"].items()
        if role in rows or role != "users" or set(card["columns"]) - {"user", *TRAIN_GROUPS}
    }
    return replace(result, provenance={**result.provenance, "inputs": inputs})
