"""One evaluation on Spark: checks by schema, counts over all users, buckets, and the result.

One shuffle brings the lists together with one table of all other rows, because Spark cogroups two
tables, not three (a single table of everything would shuffle columns that most rows lack). Per-user
values come to the driver if they are few, and stay in Spark else.
"""

from __future__ import annotations

import contextlib
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import StorageLevel, cloudpickle
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession

from rankwise.blocks.partial import Partial
from rankwise.core.arguments import check_count
from rankwise.core.hashing import digest_of
from rankwise.core.populations import POPULATIONS
from rankwise.core.units import REQUEST, unit_keys
from rankwise.encoding.encoder import normalise, ties_for
from rankwise.encoding.side_information import TrainingCounts
from rankwise.errors import EmptyError, FileError, ParameterError, RankwiseError
from rankwise.evaluation.engine import Job, finish, prepare, with_train_items
from rankwise.evaluation.evaluate import check_whole, with_doubts
from rankwise.evaluation.input_warnings import swapped
from rankwise.evaluation.join_results import merge_results
from rankwise.evaluation.plan import check_piece
from rankwise.evaluation.requests import Requests
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.slicing import WARM_AND_COLD, check_trained
from rankwise.evaluation.summary import GroupedTotals, Summary, catalogue_sums, check_not_empty
from rankwise.evaluation.truth_slices import (
    check_sliced,
    is_of_shown,
    row_of_slice,
    settings_of_relevant,
    settings_of_shown,
    users_of_slice,
    with_slices,
)
from rankwise.messages import call, parameter
from rankwise.options import COLD_ITEMS
from rankwise.results.result import Result
from rankwise.spark.bucket_work import (
    RELEVANT,
    SCHEMA,
    BucketWork,
    aggregate_users,
    assign_jackknife_groups,
    check_facts,
    check_row,
    collect_group_names,
    count_over_users,
    load_job,
    merge_rows,
    relevant_rows,
    rows_of,
    shared_tables,
    sum_digests,
    tables_needed,
    user_values,
    users_of,
)
from rankwise.spark.tables import (
    AGAIN,
    BucketedFiles,
    SparkTable,
    active_session,
    check_order,
    collected,
    column,
    errors_of_spark,
    output_errors_of_spark,
    send,
    unify_ids,
)
from rankwise.tables.columns import empty_table_error
from rankwise.tables.requests import (
    column_of_requests,
    has_requests,
    words_of_unread_requests,
)
from rankwise.tables.spelling import check_common_items
from rankwise.tables.table import Recommendations, Table, TableRole, Tables
from rankwise.tables.training import SEEN, SEEN_TRUTH, TRAIN_GROUPS, check_train_groups

_MOST_ITEMS = 100_000  # that are compared on the driver where lists have no hit


@dataclass(frozen=True, eq=False, repr=False)
class SparkResult(Result):
    """A `rankwise.Result` whose per-user values may stay in Spark.

    It is a `Result` in every respect. If there are too many users for the driver, their values are
    collected there at the first use of ``per_user``, as in `save` and `rankwise.compare`;
    `per_user_spark`, `write_per_user` and `rankwise.spark.evaluate` leave them in Spark.
    """

    @classmethod
    def of(
        cls, result: Result, values: DataFrame | None = None, kept: DataFrame | None = None
    ) -> SparkResult:
        """Return a result, with its per-user values in Spark if they are not on the driver.

        ``kept`` is the table that Spark caches for them, until `release`.
        """
        made = cls(**{f.name: getattr(result, f.name) for f in fields(Result)})
        made.__dict__["_kept"] = kept
        if values is not None:
            made.__dict__["_values"] = values
            del made.__dict__["per_user"]  # from now on __getattr__ brings it
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "per_user" or "_values" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__["per_user"] = collected(self.__dict__["_values"]).sort("user")
        return self.__dict__["per_user"]

    @property
    def is_collected(self) -> bool:
        """Whether the per-user values are on the driver."""
        return "per_user" in self.__dict__

    @property
    def per_user_spark(self) -> DataFrame:
        """The per-user values as a Spark table, in no particular order."""
        if "_values" not in self.__dict__:
            self.__dict__["_values"] = send(active_session(None), self.per_user)
        values: DataFrame = self.__dict__["_values"]
        return values

    def __reduce__(self) -> Any:
        # Elsewhere there may be no Spark: the result of an evaluation, with its users' values.
        return Result, tuple(getattr(self, f.name) for f in fields(Result))

    def release(self) -> None:
        """Release the cache of the per-user values; Spark recomputes them if they are used."""
        kept = self.__dict__.get("_kept")
        if kept is not None:
            kept.unpersist()

    def write_per_user(self, path: str | Path) -> None:
        """Write the per-user values as Parquet from the executors, replacing existing files.

        Raises
        ------
        OutputError
            If they cannot be written.
        """
        with output_errors_of_spark(str(path)):
            self.per_user_spark.write.mode("overwrite").parquet(str(path))


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
            raise ParameterError(
                f"there are at most {_MOST:,} buckets", found=parameter("buckets", buckets)
            )


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
    """Return the size in bytes that Spark estimates; None if the size is unknown."""
    query = getattr(frame, "_jdf", None)
    if query is None:
        return None
    size = int(str(query.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return size if size < 1 << 50 else None  # an unknown size is the largest number


def union(
    tables: Mapping[TableRole, SparkTable],
) -> tuple[DataFrame, dict[TableRole, dict[str, str]]]:
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
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames), names


def work_on_buckets(
    lists: DataFrame, rest: DataFrame | None, work: BucketWork, buckets: int
) -> DataFrame:
    """Evaluate every bucket: the rows of the lists beside the rows of all further tables.

    Rows of one group are never in two calls, whatever adaptive execution does to partitions.
    """

    def evaluate(key: tuple[Any, ...], lists: pa.Table, rest: pa.Table) -> pa.Table:
        return work.run(key[0].as_py(), lambda: work.frames(lists, rest))

    def evaluate_lists(key: tuple[Any, ...], lists: pa.Table) -> pa.Table:
        return work.run(key[0].as_py(), lambda: work.frames(lists, None))

    grouped = _in_buckets(lists, buckets)
    if rest is None:
        return grouped.applyInArrow(evaluate_lists, SCHEMA)
    return grouped.cogroup(_in_buckets(rest, buckets)).applyInArrow(evaluate, SCHEMA)


def _in_buckets(frame: DataFrame, buckets: int) -> GroupedData:
    return frame.withColumn("bucket", bucket_of(sf.col("user"), buckets)).groupBy("bucket")


def files_of(tables: Mapping[TableRole, SparkTable]) -> dict[TableRole, BucketedFiles] | None:
    """Return where tables lie by bucket; None unless all do, in as many buckets."""
    files = {role: table.files for role, table in tables.items() if table.files is not None}
    same = len({one.buckets for one in files.values()}) == 1
    return files if same and len(files) == len(tables) else None


def work_on_files(
    spark: SparkSession, files: Mapping[TableRole, BucketedFiles], work: BucketWork
) -> DataFrame:
    """Evaluate every bucket from the files that have its rows, one task for each."""
    buckets = next(iter(files.values())).buckets

    def read(bucket: int) -> dict[TableRole, pl.DataFrame]:
        return {role: one.read(bucket, work.sources[role].frame) for role, one in files.items()}

    def evaluate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for bucket in batch.column(0).to_pylist():
                yield from work.run(bucket, partial(read, bucket)).to_batches()

    return spark.range(0, buckets, 1, buckets).mapInArrow(evaluate, SCHEMA)


def merge_buckets(output: DataFrame, buckets: int, *, with_items: bool) -> dict[str, Any] | None:
    """Merge the partials of all buckets into one row; None if no bucket has rows.

    Where items are counted a partial is as large as the catalogue: a tree of tasks merges them, and
    the driver gets one. Others are small, and merged on the driver.
    """
    partials = output.drop("users").withColumn("users", sf.lit(None).cast("binary"))
    left = buckets
    while with_items and left > 1:
        left = math.ceil(left / _FAN_IN)
        group = sf.pmod(sf.col("bucket"), sf.lit(left))
        partials = partials.groupBy(group).applyInArrow(merge_rows, SCHEMA)
    rows = partials.toArrow()
    if not rows.num_rows:
        return None
    return dict(merge_rows(rows).to_pylist()[0])


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
    is_slice: bool = False
    """Whether the ground truth is a slice, of whose users none may have a list."""

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
        requests = self._requests()
        cold_items = COLD_ITEMS in self.settings.by
        if cold_items:
            self._check_cold_items()
        by = tuple(name for name in self.settings.by if name != COLD_ITEMS)
        base = replace(self, settings=replace(self.settings, by=by))
        evaluated, truth = base._evaluate(), self.tables.get("truth")
        lists = self.tables["recommendations"].empty
        warnings = [] if truth is None else swapped(lists, truth.empty)
        if truth is not None and has_requests(truth.empty) and not has_requests(lists):
            warnings.append(words_of_unread_requests(truth.empty))
        result = self._with_trimmed(with_doubts(evaluated.result, warnings))
        self._check_hits(result)
        if cold_items:
            result = base._with_cold_items(result, is_collected=evaluated.values is None)
        if requests is not None:
            result = requests.describe_requests(result)
        return SparkResult.of(result, evaluated.values, evaluated.kept)

    def _check_cold_items(self) -> None:
        """Raise if relevant items cannot be sliced by whether training knows them."""
        columns: dict[Any, Any] = {role: table.empty for role, table in self.tables.items()}
        check_sliced([COLD_ITEMS], self.settings, Tables(**columns))
        check_trained(COLD_ITEMS, self.tables.get("train"))
        kinds = {is_of_shown(metric) for metric in self.settings.metrics if metric.reads_truth}
        if self.collect is False and len(kinds) > 1:
            raise ParameterError(
                f"{parameter('by', COLD_ITEMS)} with metrics of ratings beside others is collected",
                found=parameter("collect", False),
                hint="leave collect out, or evaluate the ratings in another call",
            )

    def _with_cold_items(self, result: Result, *, is_collected: bool) -> Result:
        """Return a result with the slices of warm and of cold items."""
        truth, lists = self.tables["truth"], self.tables["recommendations"]
        warm = self.tables["train"].trained.frame.select("item").distinct()
        has_shown = any(map(is_of_shown, self.settings.metrics))
        total, rows, users = lists.frame.count(), list[pl.DataFrame](), list[pl.DataFrame]()
        for group, how in zip(WARM_AND_COLD, ("left_semi", "left_anti"), strict=True):
            judged = truth.with_frame(truth.frame.join(warm, "item", how))
            shown = lists.with_frame(lists.frame.join(warm, "item", how))
            n_judged, n_shown = judged.frame.count(), shown.frame.count()
            if not n_judged and not (has_shown and n_shown):
                continue
            parts = self._parts_of_slice(judged, shown, is_collected=is_collected)
            sliced = merge_results(parts, self.settings.metrics) if parts else None
            share = n_shown / total if total else math.nan
            rows.append(row_of_slice(COLD_ITEMS, group, result, sliced, share))
            if sliced is not None and is_collected:
                users.append(users_of_slice(COLD_ITEMS, group, sliced))
        rows = rows if result.slices is None else [result.slices, *rows]
        by = [*self.settings.by, COLD_ITEMS]
        digests = {COLD_ITEMS: self._digest_of_items(warm, has_shown=has_shown)}
        return with_slices(result, rows, users, by=by, descriptions={}, digests=digests)

    def _parts_of_slice(
        self, judged: SparkTable, shown: SparkTable, *, is_collected: bool
    ) -> list[Result]:
        """Evaluate a slice: against its ground truth, and ratings over its shown rows."""
        lists, asked = self.tables["recommendations"], []
        plain = settings_of_relevant(self.settings)
        if plain is not None:
            keys = [name for name in ("user", REQUEST) if name in judged.empty.frame.columns]
            units = judged.frame.select(keys).distinct()
            same = [name for name in keys if name in lists.empty.frame.columns]
            inside = lists.frame.join(units.select(same).distinct(), same, "left_semi")
            asked.append((plain, lists.with_frame(inside), True))
        for rule, settings in settings_of_shown(self.settings):
            rows = self._of_population(shown.frame, rule.population)
            # A part without a list is an error, which is known here.
            asked.append((settings, shown.with_frame(rows), False))

        parts = []
        for settings, part, is_slice in asked:
            tables = {**self.tables, "truth": judged, "recommendations": part}
            again = replace(
                self,
                settings=settings,
                tables=tables,
                collect=is_collected,
                checked=True,
                is_slice=is_slice,
            )
            with contextlib.suppress(EmptyError):  # no such item is relevant, or was shown
                evaluated = again._evaluate()
                if evaluated.kept is not None:
                    evaluated.kept.unpersist()
                parts.append(evaluated.result)
        return parts

    def _digest_of_items(self, warm: DataFrame, *, has_shown: bool) -> str:
        """Return the digest of rows and their slices, as evaluations in memory compute it."""
        roles: tuple[TableRole, ...] = ("truth", "recommendations") if has_shown else ("truth",)
        frames = [self.tables[role].frame for role in roles]
        shared = [set(frame.columns) for frame in frames]
        keys = [n for n in ("user", REQUEST, "item") if all(n in names for names in shared)]
        rows = [frame.select(*(sf.col(name).cast("string") for name in keys)) for frame in frames]
        every = rows[0] if len(rows) == 1 else rows[0].union(rows[1]).distinct()
        known = warm.select(
            sf.col("item").cast("string").alias("item"), sf.lit("warm").alias("slice")
        )
        named = every.join(known, "item", "left").fillna("cold", ["slice"])
        digest = sum_digests(
            named.select(*keys, "slice"), lambda frame: int(digest_of(frame.get_columns()), 16)
        )
        return f"{digest:016x}"

    def _requests(self) -> Requests | None:
        """Return the requests that lists belong to; None if they belong to users."""
        columns: dict[Any, Any] = {role: table.empty for role, table in self.tables.items()}
        tables = normalise(Tables(**columns), self.settings)
        requests = Requests.of(self.settings, tables)
        if requests is not None and self.collect is False:
            raise ParameterError(
                "values of requests are collected on the driver",
                found=parameter("collect", False),
                hint="leave collect out",
            )
        return requests

    def _with_trimmed(self, result: Result) -> Result:
        """Return the result whose cards say how many ids of text files had blanks around them."""
        inputs = {
            role: {**card, "ids_trimmed": self.tables[role].trimmed}
            if role in self.tables
            else card
            for role, card in result.provenance["inputs"].items()
        }
        return replace(result, provenance={**result.provenance, "inputs": inputs})

    def _check_hits(self, result: Result) -> None:
        """Raise if there is no hit because no item of the lists is in another table."""
        if result.counts.get("hits") != 0:
            return
        every = [
            self.tables[role]
            for role in ("recommendations", "truth", "train")
            if role in self.tables
        ]
        lists, *known = (
            table.frame.select(sf.col("item").cast("string")).distinct() for table in every
        )
        columns = [collected(frame.limit(_MOST_ITEMS)).to_series() for frame in known]
        if self.items is not None:
            columns.append(self.items.frame["item"])
        if all(lists.join(frame, "item", "left_semi").isEmpty() for frame in known):
            check_common_items(
                collected(lists.limit(_MOST_ITEMS)).to_series(), columns, every[0].empty.source
            )

    def _of_population(self, lists: DataFrame, population: str) -> DataFrame:
        """Return the rows of lists of the users of a population."""
        truth = self.tables["truth"]
        needs = POPULATIONS[population].needs_of_lists
        if not needs:
            return lists
        rows = truth.frame
        if "relevant" in needs:
            rows = relevant_rows(truth, self.settings.relevance_threshold)
        return lists.join(rows.select("user").distinct(), "user", "left_semi")

    def _prepared(self) -> tuple[Job, Mapping[TableRole, SparkTable]]:
        """Return the job and its tables, checked by their columns alone."""
        settings, tables = self.settings, dict(self.tables)
        check_whole(settings, tables.get("train"))
        tables = unify_ids(tables)
        columns: dict[Any, Any] = {role: table.empty for role, table in tables.items()}
        empty = normalise(Tables(**columns), settings).by_role
        check_train_groups(settings.by, empty.get("users"), empty.get("train"))
        by_request = has_requests(empty.get("recommendations"))
        if by_request:
            _refuse_attributes(empty)
        for role in ("recommendations", "reference"):
            if role in empty:
                check_order(empty[role], settings.ties)
        if settings.jackknife is not None:
            tables["users"] = assign_jackknife_groups(
                tables["recommendations"],
                tables.get("truth"),
                tables.get("users"),
                settings.jackknife,
                settings.relevance_threshold,
            )
        lists = empty["recommendations"]
        assert isinstance(lists, Recommendations)
        ties_for(lists, settings.ties, if_scored=settings.ties_if_scored)
        shared = shared_tables(settings, tables, self.items)
        shared = replace(shared, by_request=by_request, is_adjusted=True, is_slice=self.is_slice)
        job = prepare(settings, shared, training_counts=TrainingCounts())
        check_piece(job.plan, lists, settings.relevance_threshold)
        check_facts(job.plan)
        return job, tables

    def _evaluate(self) -> _Evaluated:
        """Count over all users, evaluate every bucket, and merge."""
        job, tables = self._prepared()
        job, counts = _counted(job, tables)
        work, output, buckets = self._output(job, tables)
        output = output.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            merged, n_users = _merged(output, buckets, job, work, counts)
            _check_rows(job, work, merged, part=self.checked)
            width = n_users * merged.users.width
            collect = (
                width <= _COLLECTED or job.shared.by_request
                if self.collect is None
                else self.collect
            )
            read = {role: merged.counts.get(rows_of(role), 0) for role in tables}
            _check_files(tables, work, read)
            of_driver = {RELEVANT, *map(rows_of, tables)}
            kept = {name: count for name, count in merged.counts.items() if name not in of_driver}
            merged = replace(merged, counts=kept | _seen_counts(job, tables, work))
            if collect:
                evaluated = _Evaluated(_collected(job, merged, output))
                output.unpersist()
            else:
                evaluated = _in_spark(job, merged, output, work.job)
        except BaseException:
            output.unpersist()
            raise
        return replace(evaluated, result=_with_rows(evaluated.result, read))

    def _output(
        self, job: Job, tables: Mapping[TableRole, SparkTable]
    ) -> tuple[BucketWork, DataFrame, int]:
        """Return the work on a bucket, the output of all buckets, and the number of buckets."""
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
        rest, names = union(needed) if needed else (None, {})
        work = BucketWork(data, sources, names)
        return work, work_on_buckets(lists, rest, work, buckets), buckets


@dataclass(frozen=True)
class _Evaluated:
    """A result, and the location of its users' values if the result lacks them.

    It is no `SparkResult` yet: changing one would bring the users' values to the driver.
    """

    result: Result
    values: DataFrame | None = None
    kept: DataFrame | None = None


def _seen_counts(
    job: Job, tables: Mapping[TableRole, SparkTable], work: BucketWork
) -> dict[str, int]:
    """Count seen items in Spark, as `seen_counts` does in memory, if buckets lack training rows."""
    settings, train = job.settings, tables.get("train")
    if train is None or "train" in work.sources or settings.exclude_seen or job.shared.is_slice:
        return {}
    pair = ["user", "item"]
    known, lists = train.frame.select(pair), tables["recommendations"].frame
    counts = {SEEN: lists.join(known, pair, "left_semi").count()}
    if "truth" in tables:
        judged = tables["truth"].frame
        unit = [name for name in ("user", REQUEST) if name in lists.columns]
        shared = [name for name in unit if name in judged.columns]
        judged = judged.select(*shared, "item")
        if settings.grades is not None:  # the events of one item are one row
            judged = judged.dropDuplicates()

        # A ground truth by user holds for each of the user's requests.
        met_again = judged.join(known, pair, "left_semi")
        counts[SEEN_TRUTH] = met_again.join(lists.select(unit).distinct(), shared, "inner").count()
    return counts


def _counted(job: Job, tables: Mapping[TableRole, SparkTable]) -> tuple[Job, dict[str, int]]:
    """Return the job with its counts over all users, and counts for the result."""
    users, by_group = (
        tables.get("users"),
        [f for f in job.plan.facts if f.kind in ("user_group", "source")],
    )
    groups = collect_group_names(
        users, [name for fact in by_group for name in job.facts.columns_of[fact].names]
    )
    training_counts, counts = count_over_users(job, tables.get("train"), groups, users)
    return prepare(job.settings, job.shared, training_counts=training_counts), counts


def _check_names(job: Job, data: bytes) -> None:
    """Raise if a metric is called something else in another process."""
    for metric, other in zip(job.settings.metrics, load_job(data).settings.metrics, strict=True):
        if str(metric) != str(other):
            raise ParameterError(
                "the name of this metric differs between processes",
                found=str(metric),
                hint="pass a named function, not a partial or an object",
            )


def _merged(
    output: DataFrame, buckets: int, job: Job, work: BucketWork, counts: Mapping[str, int]
) -> tuple[Partial, int]:
    """Return the merged partial without users, and the number of users."""
    row = merge_buckets(output, buckets, with_items=job.plan.needs_catalogue)
    if row is None:
        raise empty_table_error(work.sources["recommendations"])
    check_row(row, work.sources)
    merged = Partial.from_bytes(row["partial"])
    return replace(merged, counts={**merged.counts, **counts}), int(row["n_users"])


def _check_rows(job: Job, work: BucketWork, merged: Partial, *, part: bool) -> None:
    """Raise if a table has no rows, or none that can be used; the ``part`` of one may have none."""
    for role in work.sources:
        if not merged.counts.get(rows_of(role)) and not part:
            raise empty_table_error(work.sources[role])
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


def _check_files(
    tables: Mapping[TableRole, SparkTable], work: BucketWork, read: Mapping[TableRole, int]
) -> None:
    """Raise if bucketed files do not have the number of rows that were written."""
    for role, table in tables.items():
        counted = role in work.sources or read[role]  # training may be counted only
        if table.files is not None and counted and read[role] != table.files.rows:
            raise FileError(
                "these files have changed since they were bucketed",
                where=table.files.uri,
                found=f"{read[role]} rows, {table.files.rows} when they were written",
                hint=AGAIN,
            )


def _packed(output: DataFrame) -> DataFrame:
    """Return the users' columns of all buckets that have users."""
    return output.select("users").where(sf.col("users").isNotNull())


def _collected(job: Job, merged: Partial, output: DataFrame) -> Result:
    """Return the result with the users' values on the driver."""
    parts = [users_of(cell.as_py()) for cell in _packed(output).toArrow().column("users")]
    users = pl.concat([evaluated for evaluated, _ in parts], rechunk=True)
    users = users.sort(unit_keys(users))
    tables = [table for _, table in parts if table is not None]
    if tables:
        assert job.shared.users is not None
        job = job.for_users(Tables(users=job.shared.users.with_frame(pl.concat(tables))))
    return finish(job, [replace(merged, users=users)])


def _in_spark(job: Job, merged: Partial, output: DataFrame, data: bytes) -> _Evaluated:
    """Return the result with the users' values in Spark."""
    merged = with_train_items(job, merged)
    items, counts = catalogue_sums(job, merged, 0)
    size = 0 if items is None else items.size
    packed = _packed(output)
    shares = packed.mapInArrow(aggregate_users(data, size), "share binary").toArrow()
    share = _sum([pickle.loads(cell.as_py()) for cell in shares.column("share")])  # noqa: S301
    if not job.shared.is_slice:
        check_not_empty(merged, share.everyone.users, share.everyone.with_list, job.settings)
    job.user_table.check_total(share.weight.value)
    if items is not None:
        items = replace(items, n_listed=share.everyone.with_list)
    values, empty = user_values(packed, data, merged.users, size)
    result = Summary(
        question=job,
        merged=merged,
        share=share,
        items=items,
        catalogue_counts=counts,
    ).result(empty)
    if result.label:  # as in the columns of other results
        values = values.withColumn("label", sf.lit(result.label))
    return _Evaluated(result, values, output)


def _sum(shares: list[GroupedTotals | RankwiseError]) -> GroupedTotals:
    """Add shares up, or raise the first error among them."""
    total: GroupedTotals | None = None
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


def _refuse_attributes(tables: Mapping[TableRole, Table]) -> None:
    """Raise if the table of users has attributes of requests."""
    users, lists = tables.get("users"), tables["recommendations"]
    column = (
        None if users is None else column_of_requests(users, lists.columns.get(REQUEST, REQUEST))
    )
    if users is not None and column is not None:
        raise ParameterError(
            "rankwise.spark takes a table with one row per user, and this one has attributes of "
            "requests",
            where=users.source,
            found=f"column {column!r}",
            hint=f"{call('evaluate')} takes it: collect the tables; or evaluate the requests of "
            "each "
            "group alone",
        )
