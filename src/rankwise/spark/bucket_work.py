"""The work of Spark's executors: all rows of a bucket of users in, their values and sums out.

A row of the output has the bytes of a `Partial` without its users, which the tree merges, and those
of the users' columns, which stay where they are until somebody asks for them. Errors of our tree
travel in a row of their own: an exception would make Spark try the bucket again, and hide the
message in a stack trace.
"""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Window
from pyspark.sql.pandas.types import from_arrow_schema

from rankwise.blocks.partial import Partial, pack, unpack
from rankwise.core import __version__
from rankwise.core.arguments import TrainGroup
from rankwise.core.arrays import at_least
from rankwise.core.digests import add_digests
from rankwise.core.saved_forms import BUCKET_USERS
from rankwise.core.texts import clean_labels
from rankwise.encoding.side_columns import read_groups
from rankwise.encoding.side_information import TrainingCounts, digest_of_interactions
from rankwise.errors import DuplicateError, MetricError, ParameterError, RankwiseError
from rankwise.evaluation.engine import Job, work
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.requests import Requests
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.slicing import with_bins
from rankwise.evaluation.summary import EvaluatedUsers, GroupedTotals
from rankwise.evaluation.user_table import JACKKNIFE, user_hash
from rankwise.messages import call, parameter
from rankwise.spark.tables import SparkTable, collected, column, one_row, small_strings
from rankwise.tables.columns import empty_table_error, null_ids_error, where_in, without_edges
from rankwise.tables.read import read_table
from rankwise.tables.requests import number_requests
from rankwise.tables.table import Table, TableRole, Tables, absent_truth, is_absent
from rankwise.tables.training import (
    TRAIN_GROUPS,
    Terciles,
    TrainGroups,
    boundaries,
    check_new_column,
    exclude_seen,
    group_names,
    groups_by_training,
    with_train_groups,
)

_OUTPUT = pa.schema(
    [
        ("bucket", pa.int32()),
        ("buckets", pa.list_(pa.int32())),
        ("n_users", pa.int64()),
        ("partial", pa.binary()),
        ("users", pa.binary()),
        ("nulls", pa.string()),
        ("error", pa.binary()),
    ]
)
_SHARE, _DIGEST = pa.schema([("share", pa.binary())]), pa.schema([("digest", pa.string())])
SCHEMA = from_arrow_schema(_OUTPUT)
"""The output of a bucket, in Spark's words."""
RELEVANT = "relevant_truth_rows"
"""The count of relevant rows of the ground truth, for the driver."""


def rows_of(role: TableRole) -> str:
    """Return the name under which the rows of a table are counted, for the driver."""
    return f"rows of {role}"


@dataclass(frozen=True)
class BucketWork:
    """The work on one bucket; pickled once, and sent to every executor.

    Attributes
    ----------
    job : bytes
        The pickled `Job`.
    sources : mapping of str to Table
        The tables by user, without rows: the cards of their sources.
    names : mapping of str to mapping of str to str
        For each of them, except the lists, the column of the union that has each of its columns.
        The order of the tables is that of their numbers in the column ``table`` of the union.
    version : str
        The driver's version of rankwise.
    """

    job: bytes
    sources: Mapping[TableRole, Table]
    names: Mapping[TableRole, Mapping[str, str]]
    version: str = __version__

    def run(self, bucket: int, read: Callable[[], Mapping[TableRole, pl.DataFrame]]) -> pa.Table:
        """Evaluate a bucket, whose rows ``read`` returns by table; return one row of `SCHEMA`."""
        try:
            self._check_version()
            frames = read()
            nulls = _nulls(frames)
            if nulls:
                return _row([bucket], nulls=json.dumps(nulls))
            partial, users = self.evaluate(frames)
        except RankwiseError as error:
            return _row([bucket], error=pickle.dumps(_in_a_bucket(error)))
        evaluated = partial.users
        packed = pack(BUCKET_USERS, {}, {"evaluated": evaluated} | users)
        partial = replace(partial, users=evaluated.clear())
        return _row([bucket], n_users=len(evaluated), partial=partial.to_bytes(), users=packed)

    def _check_version(self) -> None:
        if self.version != __version__:
            raise ParameterError(
                "driver and executors have different versions of rankwise",
                found=f"{self.version} on the driver, {__version__} on an executor",
                hint="install one version on all machines, or send it: spark-submit --py-files",
            )

    def frames(self, lists: pa.Table, rest: pa.Table | None) -> dict[TableRole, pl.DataFrame]:
        """Return the rows of each table, with its columns."""
        columns = self.sources["recommendations"].frame.columns
        out: dict[TableRole, pl.DataFrame] = {
            "recommendations": pl.DataFrame(lists).select(columns)
        }
        union = None if rest is None else pl.DataFrame(rest)
        for code, (role, names) in enumerate(self.names.items()):
            assert union is not None
            rows = union.filter(pl.col("table") == code) if len(self.names) > 1 else union
            out[role] = rows.select(pl.col(inside).alias(name) for name, inside in names.items())
        return out

    def evaluate(
        self, frames: Mapping[TableRole, pl.DataFrame]
    ) -> tuple[Partial, dict[str, pl.DataFrame]]:
        """Return the partial of a bucket, and the rows of its users in the table of users."""
        job = load_job(self.job)
        tables: dict[Any, Any] = {role: self._table(role, frame) for role, frame in frames.items()}
        tables.setdefault("truth", absent_truth(tables["recommendations"]))
        requests = None
        if job.shared.by_request and len(tables["recommendations"].frame):
            requests = Requests.of(job.settings, Tables(**tables))
        piece, counts = _adjusted(job, Tables(**tables))
        counts.update({rows_of(role): len(frame) for role, frame in frames.items()})
        if piece.truth is not None:
            counts[RELEVANT] = len(piece.truth.relevant(job.settings.relevance_threshold))
        if job.shared.by_request:
            requests = requests or Requests.none(tables["recommendations"])
            piece = number_requests(piece, requests.each)
        partial = work(job, piece)
        partial = replace(partial, counts=Counter(partial.counts) + counts)
        users = {} if piece.users is None else {"users": piece.users.frame}
        return partial, users

    def _table(self, role: TableRole, frame: pl.DataFrame) -> Table:
        """Return the rows of a table, checked as any source is."""
        source = self.sources[role]
        if frame.is_empty():
            return source.with_frame(frame)
        table = read_table(frame, role, {f"{role}.{name}": name for name in source.columns})
        return source.with_frame(table.frame)


@lru_cache(maxsize=1)
def load_job(data: bytes) -> Job:
    """Return the job, once per Python worker."""
    job: Job = pickle.loads(data)  # noqa: S301 - it comes from the driver of this application
    return job


def _adjusted(job: Job, piece: Tables) -> tuple[Tables, Counter[str]]:
    """Remove seen items, and add groups by training history; empty lists become None."""
    settings, counts = job.settings, Counter[str]()
    lists, train = piece.recommendations, piece.train
    assert lists is not None
    if settings.exclude_seen:
        assert train is not None
        truth = None if piece.truth is None or is_absent(piece.truth) else piece.truth
        lists = exclude_seen(lists, train, truth, required=False)
    if lists.frame.is_empty():
        counts.update(lists.counts)
        lists = None
    piece = replace(piece, recommendations=lists)
    if job.training_counts is not None:
        piece = with_train_groups(
            piece, job.training_counts.train_groups, job.training_counts.popularity
        )
    return replace(piece, users=with_bins(piece.users, settings.by)), counts


def _in_a_bucket(error: RankwiseError) -> RankwiseError:
    """Return an error without row numbers, which count within a bucket."""
    where = None if error.where is None else re.sub(r", row \d+", "", error.where)
    value = None if error.found is None else error.found.replace(" such ", " such, of one bucket, ")
    return type(error)(error.what, where=where, found=value, hint=error.hint)


def _nulls(frames: Mapping[TableRole, pl.DataFrame]) -> dict[str, int]:
    """Count null ids by table and column."""
    return {
        f"{role}.{name}": frame[name].null_count()
        for role, frame in frames.items()
        for name in ("user", "item")
        if name in frame.columns and frame[name].null_count()
    }


def _row(buckets: Sequence[int], **values: Any) -> pa.Table:
    """Return one output row; ``bucket`` is the first of ``buckets``, and absent values are null."""
    return one_row(_OUTPUT, **{"bucket": buckets[0], "buckets": buckets, "n_users": 0} | values)


def merge_rows(rows: pa.Table) -> pa.Table:
    """Merge the rows of buckets into one: partials, null ids and errors, without users.

    A bucket that comes twice was split, or counted twice: its users would be, too.
    """
    outputs = sorted(rows.to_pylist(), key=lambda row: row["bucket"])
    buckets = sorted(bucket for row in outputs for bucket in row["buckets"])
    errors = [row["error"] for row in outputs if row["error"] is not None]
    nulls = Counter[str]()
    for row in outputs:
        nulls.update(json.loads(row["nulls"] or "{}"))
    try:
        _check_whole(buckets)
        if errors or nulls:
            return _row(
                buckets,
                nulls=json.dumps(nulls) if nulls else None,
                error=errors[0] if errors else None,
            )
        partials = [Partial.from_bytes(row["partial"]) for row in outputs]
        merged = partials[0].merge(*partials[1:])
    except RankwiseError as error:
        return _row(buckets, error=pickle.dumps(error))
    return _row(buckets, n_users=sum(row["n_users"] for row in outputs), partial=merged.to_bytes())


def _check_whole(buckets: Sequence[int]) -> None:
    """Raise if a bucket comes twice among buckets in order."""
    for bucket, following in pairwise(buckets):
        if bucket == following:
            raise DuplicateError(
                "the rows of one bucket of users were evaluated in two pieces",
                where=f"bucket {bucket}",
                hint="report this: Spark has split a group of rows",
            )


def check_row(row: Mapping[str, Any], sources: Mapping[TableRole, Table]) -> None:
    """Raise the error that a merged row carries."""
    nulls = json.loads(row["nulls"] or "{}")
    for name, count in nulls.items():
        role, _, column = name.partition(".")
        table: Any = sources[role]
        raise null_ids_error(column, where_in(table, column), count)
    if row["error"] is not None:
        raise pickle.loads(row["error"])  # noqa: S301 - it comes from this application's executors


def users_of(packed: bytes) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the columns of the users of a bucket, and their rows in the table of users."""
    _, frames = unpack(BUCKET_USERS, packed)
    return frames["evaluated"], frames.get("users")


def _evaluated_users(job: Job, packed: bytes, catalogue_size: int) -> EvaluatedUsers:
    """Return the users of a bucket, ready to be summed or listed."""
    evaluated, users = users_of(packed)
    if users is not None:
        assert job.shared.users is not None
        job = job.for_users(Tables(users=job.shared.users.with_frame(users)))
    return _evaluated(job, evaluated, catalogue_size)


def _evaluated(job: Job, users: pl.DataFrame, catalogue_size: int) -> EvaluatedUsers:
    return EvaluatedUsers(frame=users, question=job, catalogue_size=catalogue_size)


def aggregate_users(job: bytes, catalogue_size: int) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return a function from batches of ``users`` to the partial aggregates of these users.

    As in buckets, an error of our tree comes in place of what it prevents.
    """

    def shares(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for packed in _packed(batches):
            share: GroupedTotals | RankwiseError
            try:
                share = _evaluated_users(load_job(job), packed, catalogue_size).share()
            except RankwiseError as error:
                share = error
            yield from one_row(_SHARE, share=pickle.dumps(share)).to_batches()

    return shares


def user_values(
    packed: DataFrame, job: bytes, users: pl.DataFrame, catalogue_size: int
) -> tuple[DataFrame, pl.DataFrame]:
    """Return one row per user, as `Result.per_user` has them, and the same columns without rows.

    ``users`` has the columns of the evaluated users, and no rows.
    """
    empty = _evaluated(load_job(job), users, catalogue_size).values()
    schema = small_strings(empty.to_arrow()).schema

    def values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in _packed(batches):
            frame = _evaluated_users(load_job(job), one, catalogue_size).values()
            yield from frame.to_arrow().cast(schema).to_batches()

    return packed.mapInArrow(values, from_arrow_schema(schema)), empty


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        for packed in batch.column("users"):
            if packed.is_valid:
                yield packed.as_py()


def check_facts(plan: Plan) -> None:
    """Raise if a metric needs all users on one machine."""
    for fact, metric in plan.facts.items():
        if fact.kind == "similarity":
            raise MetricError(
                f"{metric} needs the training interactions of all users on one machine",
                hint=f"{call('evaluate')} has it; or take features instead of co-occurrence, with "
                f"{parameter('items')}",
            )


def needs_rows_of_train(plan: Plan, settings: Settings) -> bool:
    """Whether buckets need their users' training interactions, and not only popularity."""
    needed = plan.needs & {"history", "overlap_history"}
    history = any(fact.kind == "history" for fact in plan.facts)
    grouped = set(settings.by) & set(TRAIN_GROUPS)
    return bool(needed or history or grouped or settings.exclude_seen)


def count_over_users(
    job: Job, train: SparkTable | None, groups: Mapping[str, pl.Series], users: SparkTable | None
) -> tuple[TrainingCounts, dict[str, int]]:
    """Count the popularity of items, their users by group, and the rows of the training table.

    ``groups`` are those of users by column, from `collect_group_names`.
    """
    plan, settings = job.plan, job.settings
    by = groups_by_training(settings.by, None if users is None else users.empty)
    train_groups = {} if train is None else _train_groups(train, by)
    kinds = {fact.kind for fact in plan.facts}
    by_popularity = bool(kinds & {"popularity", "source"}) or "popularity" in settings.by
    if train is None or not (by_popularity or plan.needs_catalogue):
        return TrainingCounts(groups=groups, train_groups=train_groups), {}

    pairs = train.trained.frame.select("user", "item")
    by_item = _rows_by_item(train, pairs)
    counts: dict[str, int] = {}
    digests: dict[str, int] = {}
    if not needs_rows_of_train(plan, settings):  # else buckets count and hash them
        digests["train"] = _digest_of_interactions(train)
        rows, repeated = _count_rows(train, by_item)
        counts[rows_of("train")] = rows
        if by_popularity:
            counts["train_rows_repeated"] = repeated

    columns = {
        fact.column: job.facts.columns_of[fact].names[0]
        for fact in plan.facts
        if fact.kind == "source"
    }
    return TrainingCounts(
        popularity=by_item.select("item", "count"),
        train_users=pairs.select("user").distinct().count() if "popularity" in kinds else 0,
        sources={
            column: _by_group(pairs, users, name, groups[name]) for column, name in columns.items()
        },
        groups=groups,
        train_groups=train_groups,
        digests=digests,
    ), counts


def _rows_by_item(train: SparkTable, pairs: DataFrame) -> pl.DataFrame:
    """Count the users and rows of each item; raise if there are none, or ids are null."""
    frame = collected(
        pairs.groupBy("item").agg(
            sf.count_distinct("user").alias("count"),
            sf.count(sf.lit(1)).alias("rows"),
            sf.count_if(sf.col("user").isNull()).alias("nulls"),
        )
    )
    if frame.is_empty():
        raise empty_table_error(train.empty)
    nulls = {"user": frame["nulls"], "item": frame.filter(pl.col("item").is_null())["rows"]}
    for name, counts in nulls.items():
        if counts.sum():
            raise null_ids_error(name, where_in(train.empty, name), int(counts.sum()))
    return frame


def _digest_of_interactions(train: SparkTable) -> int:
    empty = train.empty
    return sum_digests(train.frame, lambda frame: digest_of_interactions(empty.with_frame(frame)))


def _count_rows(train: SparkTable, by_item: pl.DataFrame) -> tuple[int, int]:
    """Return the number of rows, and of those that repeat a pair, of all that is known of users."""
    if train.trained is train:
        repeated = by_item["rows"] - by_item["count"]
        return int(by_item["rows"].sum()), int(repeated.sum())
    pairs = train.frame.select("user", "item")
    rows = pairs.count()
    return rows, rows - pairs.distinct().count()


def sum_digests(rows: DataFrame, digest_of_frame: Callable[[pl.DataFrame], int]) -> int:
    """Return the sum of the digests of the batches of rows, modulo 2^64."""

    def of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            digest = digest_of_frame(pl.DataFrame(batch))
            yield from one_row(_DIGEST, digest=str(digest)).to_batches()

    digests = collected(rows.mapInArrow(of_batches, "digest string"))["digest"]
    return add_digests(int(digest) for digest in digests)


def _train_groups(train: SparkTable, by: Iterable[TrainGroup]) -> dict[str, TrainGroups]:
    """Return the boundaries of the groups of training users, as `user_values` has the values."""
    pairs = train.frame.select("user", "item").distinct()
    made: dict[str, TrainGroups] = {}
    for name in by:
        if name != "popularity":
            values = pairs.groupBy("user").agg(sf.count("item").cast("double").alias("value"))
        else:
            trained = train.trained.frame.select("user", "item").distinct()
            counts = trained.groupBy("item").agg(sf.count("user").alias("count"))
            value = sf.coalesce(sf.sum("count"), sf.lit(0)) / sf.count("item")
            values = pairs.join(counts, "item", "left").groupBy("user").agg(value.alias("value"))
        counts_by_value = collected(values.groupBy("value").agg(sf.count(sf.lit(1)).alias("count")))
        if counts_by_value.is_empty():
            raise empty_table_error(train.empty)
        made[name] = TrainGroups(boundaries(name, counts_by_value))
    return made


def _by_group(
    pairs: DataFrame, users: SparkTable | None, name: str, groups: pl.Series
) -> pl.DataFrame:
    """Return the distinct training users of every item per group of users."""
    assert users is not None
    group_of_user = users.frame.select("user", column(name).alias("group"))
    counted = pairs.join(group_of_user, "user").groupBy("item", "group")
    frame = collected(counted.agg(sf.count_distinct("user").alias("count")))
    code = read_groups(users.empty.with_frame(frame), "group", groups).code
    return frame.with_columns(group=pl.Series(code))


def collect_group_names(users: SparkTable | None, names: Iterable[str]) -> dict[str, pl.Series]:
    """Return all groups in the named columns of the table of users."""
    groups: dict[str, pl.Series] = {}
    for name in dict.fromkeys(names):
        if name in TRAIN_GROUPS and (users is None or name not in users.empty.frame.columns):
            groups[name] = group_names(name)
        elif (
            users is not None
            and name not in users.empty.frame.columns
            and without_edges(name) != name
        ):
            distinct = collected(users.frame.select(column(without_edges(name))).distinct())
            binned = with_bins(users.empty.with_frame(distinct), [name])
            assert binned is not None
            groups[name] = binned.frame[name].unique()
        elif users is not None:
            groups[name] = clean_labels(
                collected(users.frame.select(column(name)).distinct()).to_series()
            ).unique()
    return groups


def shared_tables(
    settings: Settings, tables: Mapping[TableRole, SparkTable], items: Table | None
) -> Tables:
    """Return the tables that a job checks: the catalogue, and the tables by user without rows."""
    empty: dict[Any, Any] = {role: table.empty for role, table in tables.items() if role != "truth"}
    lists = empty.pop("recommendations")
    truth = tables["truth"].empty if "truth" in tables else absent_truth(lists)
    made: dict[str, TrainGroups] = {
        name: TrainGroups(None if name == "history" else Terciles(0, 0, 0))
        for name in groups_by_training(settings.by, empty.get("users"))
    }
    users = with_train_groups(Tables(**empty, truth=truth), made, None).users
    empty["users"] = with_bins(users, settings.by)
    return Tables(**empty, items=items)


def assign_jackknife_groups(
    lists: SparkTable,
    truth: SparkTable | None,
    users: SparkTable | None,
    n_groups: int,
    threshold: float | None,
) -> SparkTable:
    """Return the table of users with jackknife groups, as `assign_jackknife_groups` deals them.

    All users are ordered, which Spark does in one task: their ids alone go there.
    """
    check_new_column(None if users is None else users.empty, JACKKNIFE, "jackknife")
    relevant = lists.frame if truth is None else relevant_rows(truth, threshold)
    ids = [table.frame.select("user") for table in (truth, lists, users) if table is not None]
    every = reduce(DataFrame.union, ids).distinct()
    with_relevant = relevant.select("user").distinct().withColumn("irrelevant", sf.lit(False))
    marked = every.join(with_relevant, "user", "left").fillna(True, ["irrelevant"])
    schema = f"user {marked.schema['user'].dataType.simpleString()}, irrelevant boolean, hash long"
    hashed = marked.mapInArrow(_hashes, schema)
    rank = sf.row_number().over(Window.orderBy("irrelevant", "hash"))
    dealt = hashed.select("user", sf.pmod(rank, sf.lit(n_groups)).cast("bigint").alias(JACKKNIFE))
    if users is None:
        made = Table(pl.DataFrame(), "users", "users", "made of ids", {"user": "user"})
        return SparkTable(dealt, made).with_frame(dealt)
    return users.with_frame(dealt.join(users.frame, "user", "left"))


def relevant_rows(truth: SparkTable, threshold: float | None) -> DataFrame:
    """Return the relevant rows of a ground truth: all rows, if there is no relevance."""
    if "relevance" not in truth.empty.frame.columns:
        return truth.frame
    value = sf.col("relevance")
    return truth.frame.where(
        value > 0 if threshold is None else at_least(value.cast("double"), threshold)
    )


def _hashes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        frame = pl.DataFrame(batch)
        hashed = pa.array(user_hash(frame["user"]).astype(np.int64))
        yield batch.append_column("hash", hashed)


def tables_needed(job: Job, tables: Mapping[TableRole, SparkTable]) -> dict[TableRole, SparkTable]:
    """Return the tables whose rows buckets need, of users the columns that something asks for."""
    roles = {"recommendations", "truth", "users", "reference"}
    if needs_rows_of_train(job.plan, job.settings):
        roles.add("train")
    needed = {role: table for role, table in tables.items() if role in roles}
    if "users" in needed:
        columns = _user_columns(job, needed["users"].empty.frame.columns)
        needed["users"] = needed["users"].select(columns)
        if columns == ["user"]:
            del needed["users"]
    return needed


def _user_columns(job: Job, names: Collection[str]) -> list[str]:
    """Return the required columns of the table of users, by their names in the table."""
    settings = job.settings
    named = [
        name
        for fact in job.plan.facts
        if fact.kind == "user_group"
        for name in job.facts.columns_of[fact].names
    ]
    weights = [settings.weights] if isinstance(settings.weights, str) else []
    dealt = [] if settings.jackknife is None else [JACKKNIFE]
    made = {name for name in TRAIN_GROUPS if name in settings.by and name not in names}
    asked = dict.fromkeys([*settings.by, *weights, *named, *dealt])
    columns = dict.fromkeys(
        name if name in names else without_edges(name) for name in asked if name not in made
    )
    return ["user", *columns]
