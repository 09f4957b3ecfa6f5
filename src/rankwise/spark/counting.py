"""What is counted over all users before any bucket is evaluated: popularity, and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Window

from rankwise.core.digests import added
from rankwise.core.texts import labels
from rankwise.core.truth import reaches
from rankwise.encoding.fact_columns import read_groups
from rankwise.encoding.fact_tables import Counted, digest_of_interactions
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.jackknife import JACKKNIFE, user_hash
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.warm_cold import with_history
from rankwise.evaluation.work import Job
from rankwise.results.group_columns import HISTORY
from rankwise.spark.bucket_work import rows_of
from rankwise.spark.tables import SparkTable, collected, column
from rankwise.tables.columns import TableRole
from rankwise.tables.seen import check_new_column
from rankwise.tables.table import Table, Tables, absent_truth
from rankwise.tables.train_groups import GROUP_NAMES, TRAIN_GROUPS, Terciles, TrainGroups, with_train_groups
from rankwise.tables.validation import empty_table, null_ids, where_in

__all__ = ["check_facts", "count_over_users", "dealt_users", "groups_named", "reference_of", "tables_needed"]


def check_facts(plan: Plan) -> None:
    """Raise if a measure needs all users on one machine."""
    for fact, measure in plan.facts.items():
        if fact.kind == "similarity":
            raise MeasureError(
                f"{measure} needs the training interactions of all users on one machine",
                hint="take similarity=features, with items=",
            )


def needs_rows_of_train(plan: Plan, settings: Settings) -> bool:
    """Whether buckets need their users' training interactions, and not only popularity."""
    needed = plan.needs & {"history", "overlap_history"}
    history = any(fact.kind == "history" for fact in plan.facts)
    grouped = set(settings.by) & set(TRAIN_GROUPS)
    return bool(needed or history or grouped or settings.exclude_seen or settings.warm_and_cold)


def count_over_users(
    job: Job, train: SparkTable | None, groups: Mapping[str, pl.Series], users: SparkTable | None
) -> tuple[Counted, dict[str, int]]:
    """Return the popularity of items and their users by group, and what was counted on the way.

    Parameters
    ----------
    job : Job
        What is asked.
    train, users : SparkTable or None
        Training interactions, and the table of users.
    groups : mapping of str to polars.Series
        The groups of users by column, from `groups_named`.
    """
    plan, settings = job.plan, job.settings
    kinds = {fact.kind for fact in plan.facts}
    by_popularity = bool(kinds & {"popularity", "source"}) or "popularity" in settings.by
    made = {} if train is None else _train_groups(train, settings.by)
    if train is None or not (by_popularity or plan.needs_catalogue):
        return Counted(groups=groups, train_groups=made), {}
    pairs = train.trained.frame.select("user", "item")
    counted = pairs.groupBy("item").agg(
        sf.count_distinct("user").alias("count"),
        sf.count(sf.lit(1)).alias("rows"),
        sf.count_if(sf.col("user").isNull()).alias("nulls"),
    )
    frame = collected(counted)
    if frame.is_empty():
        raise empty_table(train.empty)
    nulls = {"user": frame["nulls"], "item": frame.filter(pl.col("item").is_null())["rows"]}
    for name, counts_of in nulls.items():
        if counts_of.sum():
            raise null_ids(name, where_in(train.empty, name), int(counts_of.sum()))
    n_users = pairs.select("user").distinct().count() if "popularity" in kinds else 0
    counts: dict[str, int] = {}
    digests: dict[str, int] = {}
    if not needs_rows_of_train(plan, settings):  # else buckets count and hash them
        digests["train"] = _digest_of(train)
        counts[rows_of("train")] = int(frame["rows"].sum())
        if by_popularity:
            counts["train_rows_repeated"] = int((frame["rows"] - frame["count"]).sum())
    sources = {}
    for fact in plan.facts:
        if fact.kind == "source":
            (name,) = job.facts.columns_of[fact].names
            sources[fact.column] = _by_group(pairs, users, name, groups[name])
    popularity = frame.select("item", "count")
    return Counted(
        popularity=popularity, train_users=n_users, sources=sources, groups=groups, train_groups=made, digests=digests
    ), counts


def _digest_of(train: SparkTable) -> int:
    """Return the digest of training interactions of which no bucket has the rows."""
    empty = train.empty

    def of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            digest = digest_of_interactions(empty.with_frame(pl.DataFrame(batch)))
            yield pa.RecordBatch.from_pydict({"digest": pa.array([str(digest)])})

    return added(int(digest) for digest in collected(train.frame.mapInArrow(of_batches, "digest string"))["digest"])


def _train_groups(train: SparkTable, by: Iterable[str]) -> dict[str, TrainGroups]:
    """Return the boundaries of the groups of training users, as `user_values` has the values."""
    pairs = train.frame.select("user", "item").distinct()
    made: dict[str, TrainGroups] = {}
    for name in (name for name in TRAIN_GROUPS if name in by):
        if name == "activity":
            values = pairs.groupBy("user").agg(sf.count("item").cast("double").alias("value"))
        else:
            trained = train.trained.frame.select("user", "item").distinct()
            counts = trained.groupBy("item").agg(sf.count("user").alias("count"))
            value = sf.coalesce(sf.sum("count"), sf.lit(0)) / sf.count("item")
            values = pairs.join(counts, "item", "left").groupBy("user").agg(value.alias("value"))
        found = collected(values.groupBy("value").agg(sf.count(sf.lit(1)).alias("count")))
        if found.is_empty():
            raise empty_table(train.empty)
        made[name] = TrainGroups(Terciles.of(found))
    return made


def _by_group(pairs: DataFrame, users: SparkTable | None, name: str, groups: pl.Series) -> pl.DataFrame:
    """Return the distinct training users of every item per group of users."""
    assert users is not None
    known = users.frame.select("user", column(name).alias("group"))
    counted = pairs.join(known, "user").groupBy("item", "group")
    frame = collected(counted.agg(sf.count_distinct("user").alias("count")))
    code = read_groups(users.empty.with_frame(frame), "group", groups).code
    return frame.with_columns(group=pl.Series(code))


def groups_named(users: SparkTable | None, names: Iterable[str]) -> dict[str, pl.Series]:
    """Return all groups of some columns of the table of users."""
    groups = {}
    for name in dict.fromkeys(names):
        if name == HISTORY:  # made in each bucket
            groups[name] = pl.Series(["cold", "warm"])
        elif name in TRAIN_GROUPS and (users is None or name not in users.empty.frame.columns):
            groups[name] = GROUP_NAMES
        elif users is not None:
            groups[name] = labels(collected(users.frame.select(column(name)).distinct()).to_series()).unique()
    return groups


def reference_of(settings: Settings, tables: Mapping[TableRole, SparkTable], items: Table | None) -> Tables:
    """Return the tables that a job checks: the catalogue, and those by user without rows."""
    empty: dict[Any, Any] = {role: table.empty for role, table in tables.items() if role != "truth"}
    lists = empty.pop("recommendations")
    truth = tables["truth"].empty if "truth" in tables else absent_truth(lists)
    made: dict[str, TrainGroups] = {
        name: TrainGroups(Terciles(0, 0, 0)) for name in settings.by if name in TRAIN_GROUPS
    }
    if HISTORY in settings.by:
        if "truth" not in tables:
            raise ParameterError("warm_and_cold needs a ground truth", found="no truth")
        empty["users"] = with_history(Tables(**empty, recommendations=lists, truth=truth)).users
    empty["users"] = with_train_groups(Tables(**empty, truth=truth), made, None).users
    return Tables(**empty, items=items)


def dealt_users(
    lists: SparkTable, truth: SparkTable | None, users: SparkTable | None, n_groups: int, threshold: float | None
) -> SparkTable:
    """Return the table of users with the jackknife group of each, as `deal_groups` deals them.

    All users are ordered, which Spark does in one task: their ids alone go there.
    """
    check_new_column(None if users is None else users.empty, JACKKNIFE, "jackknife")
    relevant = lists.frame
    if truth is not None:
        relevant = truth.frame
        if "relevance" in truth.empty.frame.columns:
            value = sf.col("relevance")
            relevant = relevant.where(value > 0 if threshold is None else reaches(value.cast("double"), threshold))
    ids = [table.frame.select("user") for table in (truth, lists, users) if table is not None]
    every = ids[0]
    for other in ids[1:]:
        every = every.union(other)
    every = every.distinct()
    known = relevant.select("user").distinct().withColumn("irrelevant", sf.lit(False))
    marked = every.join(known, "user", "left").fillna(True, ["irrelevant"])
    schema = f"user {marked.schema['user'].dataType.simpleString()}, irrelevant boolean, hash long"
    hashed = marked.mapInArrow(_hashes, schema)
    rank = sf.row_number().over(Window.orderBy("irrelevant", "hash"))
    dealt = hashed.select("user", sf.pmod(rank, sf.lit(n_groups)).cast("string").alias(JACKKNIFE))
    if users is None:
        made = Table(pl.DataFrame(), "users", "users", "made of ids", {"user": "user"})
        return SparkTable(dealt, made).with_frame(dealt)
    return users.with_frame(dealt.join(users.frame, "user", "left"))


def _hashes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        frame = pl.DataFrame(batch)
        hashed = pa.array(user_hash(frame["user"]).astype(np.int64))
        yield batch.append_column("hash", hashed)


def tables_needed(job: Job, tables: Mapping[TableRole, SparkTable]) -> dict[TableRole, SparkTable]:
    """Return the tables whose rows buckets need, of users the columns that something asks for."""
    roles = {"recommendations", "truth", "users", "baseline"}
    if needs_rows_of_train(job.plan, job.settings):
        roles.add("train")
    needed = {role: table for role, table in tables.items() if role in roles}
    if "users" in needed:
        asked = _user_columns(job)
        needed["users"] = needed["users"].select(asked)
        if asked == ["user"]:
            del needed["users"]
    return needed


def _user_columns(job: Job) -> list[str]:
    """Return the columns of the table of users that something asks for."""
    settings = job.settings
    named = [name for fact in job.plan.facts if fact.kind == "user_group" for name in job.facts.columns_of[fact].names]
    weights = [settings.weights] if isinstance(settings.weights, str) else []
    dealt = [] if settings.jackknife is None else [JACKKNIFE]
    asked = [*settings.by, *weights, *named, *dealt]
    made = {HISTORY, *(name for name in settings.by if name in TRAIN_GROUPS)}
    return ["user", *(name for name in dict.fromkeys(asked) if name not in made)]
