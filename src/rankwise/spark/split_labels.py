"""Rules and filters on Spark: every row with the part that it belongs to.

A label is a part, or the reason why a row is in no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from rankwise.core.truth import reaches
from rankwise.errors import EmptyError, InputError
from rankwise.spark.split_rows import SparkRows, bucket_of, drawn, extent_columns, hashed, ranked
from rankwise.splits.entities import UserHoldout
from rankwise.splits.filters import Deduplicate, Filter, KCore, MinRating, MinRows, missing_ratings
from rankwise.splits.holdout import Holdout, LeaveOut
from rankwise.splits.rows import Rows
from rankwise.splits.sizes import rounded
from rankwise.splits.splitter import Splitter
from rankwise.splits.temporal import GlobalTime, best_moment
from rankwise.splits.times import Duration, Times

__all__ = ["core_of", "filtered", "label_rows"]

_LARGEST_HASH = 2**63 - 1


class Labelled(NamedTuple):
    """Rows with the column ``part``: one of ``parts`` or of ``dropped``, or ``unused``.

    ``dropped`` are notes that count rows; ``counted`` are notes that are columns of Booleans.
    """

    frame: DataFrame
    parts: tuple[str, ...] = ("train", "test")
    notes: Mapping[str, Any] = {}
    dropped: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


def label_rows(rule: Splitter, rows: SparkRows) -> Labelled:
    """Return the rows with the part into which a rule puts each."""
    if isinstance(rule, GlobalTime):
        return _label_by_time(rule, rows)
    if isinstance(rule, UserHoldout):
        return _label_by_user(rule, rows)
    if isinstance(rule, Holdout) and rule.per == "rows":
        return _label_smallest(rule, rows)
    assert isinstance(rule, Holdout | LeaveOut)
    return _label_per_user(rule, rows)


def _label_by_time(rule: GlobalTime, rows: SparkRows) -> Labelled:
    times, time = rows.time, sf.col("time")
    moment = end = _moment(rule, rows)
    notes, dropped = {"moment": times.show(moment)}, []
    if rule.gap is not None:
        end = times.earlier(moment, Duration.read("gap", rule.gap))
        notes["training_ends"] = times.show(end)
        dropped.append("rows_in_gap")
    part = sf.when(time < _tick(times, end), "train")
    part = part.when(time >= _tick(times, moment), "test").otherwise("rows_in_gap")
    if rule.until is not None:
        late = time >= _tick(times, times.moment("until", rule.until))
        part = sf.when(late, "rows_after_until").otherwise(part)
        dropped.append("rows_after_until")
    frame = rows.frame.withColumn("part", part)
    labelled = Labelled(frame, notes=notes, dropped=tuple(dropped))
    return labelled if rule.target == "all" else _label_targets(rule, rows, labelled)


def _label_targets(rule: GlobalTime, rows: SparkRows, labelled: Labelled) -> Labelled:
    """Return rows with one test row per user, and the rows before it as history."""
    frame = labelled.frame
    after = hashed(rows.with_frame(frame.filter(sf.col("part") == "test")), "key0", "rest")
    user, position = Window.partitionBy("user"), sf.col("position")
    chosen = sf.lit(1) if rule.target == "first" else sf.max(position).over(user)
    in_time = sf.row_number().over(user.orderBy(*after.in_order("time", "key0")))
    after = after.with_frame(after.frame.withColumn("position", in_time))
    if rule.target == "random":
        after, draw = drawn(after, rule.seed, position="position")
        chosen = sf.min(sf.struct(draw, "position")).over(user)["position"]
    targets = after.frame.withColumn("chosen", chosen)
    part = sf.when(position == sf.col("chosen"), "test")
    part = part.when(position < sf.col("chosen"), "history").otherwise("rows_after_target")
    targets = targets.withColumn("part", part).select(frame.columns)
    return labelled._replace(
        frame=frame.filter(sf.col("part") != "test").union(targets),
        parts=("train", "history", "test"),
        dropped=(*labelled.dropped, "rows_after_target"),
    )


def _label_per_user(rule: Holdout | LeaveOut, rows: SparkRows) -> Labelled:
    if rule.which == "last":
        rows.check_time()
        keys: tuple[str, ...] = ("time", "key0")
        rows = hashed(rows, "key0", "rest")
    else:
        rows, draw = drawn(rows, rule.seed)
        keys = (draw,)
    user, size, position = Window.partitionBy("user"), sf.col("size"), sf.col("position")
    in_order = sf.row_number().over(user.orderBy(*rows.in_order(*keys)))
    frame = rows.frame.withColumn("size", sf.count(sf.lit(1)).over(user))
    frame = frame.withColumn("position", in_order)
    short = size <= rule.n if isinstance(rule, LeaveOut) else sf.lit(False)
    if isinstance(rule, LeaveOut):
        of_short = {"test": size, "some": size - 1}.get(rule.short, sf.lit(0))
        tested = sf.when(short, of_short).otherwise(rule.n)
        note, counted = "users_too_short", short
    else:
        tested = sf.least(_rounded(rule.share, size), size - 1)
        note, counted = "users_without_test_rows", tested == 0
    frame = frame.withColumn(note, counted & (position == 1))  # one row of each such user
    if isinstance(rule, LeaveOut) and rule.short == "error":
        _refuse_short(rule, frame)
    part = sf.when(position > size - tested, "test")
    if isinstance(rule, LeaveOut) and rule.short == "drop":
        part = part.when(short, "unused")
    return Labelled(frame.withColumn("part", part.otherwise("train")), counted=(note,))


def _refuse_short(rule: LeaveOut, frame: DataFrame) -> None:
    """Raise if a user has too few rows."""
    users = frame.filter("users_too_short")
    row = users.agg(sf.min(sf.struct("user", "size")), sf.count(sf.lit(1))).collect()[0]
    if row[1]:
        raise InputError(
            f"a user has too few rows to leave {rule.n} out and keep one",
            where=f"user {row[0]['user']!r}",
            found=f"{row[0]['size']} rows ({row[1]} such users)",
            hint='choose what happens to these users: short="train" keeps their rows in training',
        )


def _label_smallest(rule: Holdout, rows: SparkRows) -> Labelled:
    """Return rows with a share of them in test: those with the smallest hashes."""
    size = rounded(rule.share, rows.extent.rows)
    rows, name = drawn(rows, rule.seed)
    frame, key, position = rows.frame, sf.col(name), sf.col("position")
    if not 0 < size < rows.extent.rows:
        return Labelled(frame.withColumn("part", sf.lit("test" if size else "train")))
    limit, below = ranked(frame, name, size - 1, 0, _LARGEST_HASH)
    in_order = sf.row_number().over(Window.partitionBy(name).orderBy(*rows.in_order()))
    equal = frame.filter(key == limit).withColumn("position", in_order)
    others = frame.filter(key != limit).withColumn("position", sf.lit(0))
    test = (key < limit) | ((key == limit) & (position <= size - below))
    part = sf.when(test, "test").otherwise("train")
    return Labelled(others.union(equal).withColumn("part", part))


def _label_by_user(rule: UserHoldout, rows: SparkRows) -> Labelled:
    name = f"user_key{rule.seed}"
    rows = hashed(rows, name)
    users = rows.frame.select("user", name).distinct().persist()
    try:
        held = rounded(rule.share, users.count())
        limit = ranked(users, name, held - 1, 0, _LARGEST_HASH)[0] if held else -1
    finally:
        users.unpersist()
    is_held, notes = sf.col(name) <= limit, {"users_held_out": held}
    if rule.fold_in is None or not held:
        part = sf.when(is_held, "test").otherwise("train")
        return Labelled(rows.frame.withColumn("part", part), notes=notes)
    inner = label_rows(rule.fold_in, rows.with_frame(rows.frame.filter(is_held)))
    known, part = "history" if rule.strong else "train", sf.col("part")
    outer = sf.when(part == "train", known).when(part == "test", part)
    frame = inner.frame.withColumn("part", outer.otherwise(sf.concat(sf.lit("fold_in_"), part)))
    frame = frame.withColumnsRenamed({name: f"fold_in_{name}" for name in inner.counted})
    others = rows.frame.filter(~is_held).withColumn("part", sf.lit("train"))
    return Labelled(
        others.unionByName(frame, allowMissingColumns=True),
        ("train", "history", "test") if rule.strong else ("train", "test"),
        notes | {f"fold_in_{name}": value for name, value in inner.notes.items()},
        tuple(f"fold_in_{name}" for name in inner.dropped),
        tuple(f"fold_in_{name}" for name in inner.counted),
    )


def _moment(rule: GlobalTime, rows: SparkRows) -> Any:
    if rule.until is not None:
        late = rows.time.moment("until", rule.until)
        if not rows.time.values[0] < late:
            rule._in_period(rows.edges)  # raises: no row is before
        rows = rows.with_frame(rows.frame.filter(sf.col("time") < _tick(rows.time, late)))
    size, *ends = rows.extent
    if rule.share is not None:
        first = size - max(1, rounded(rule.share, size))
        moment = ranked(rows.frame, "time", first, *ends)[0]
    elif isinstance(rule.at, str) and rule.at == "best":
        moment = _best_moment(rows)
    else:
        return rule._moment(rows.edges)
    return rows.time.values.dtype.type(moment)


def _best_moment(rows: SparkRows) -> Any:
    """Return the latest moment with the most users who have rows before it and from it on."""
    ends = rows.frame.groupBy("user").agg(*extent_columns()).filter("first < last")
    # Users with both at t: those whose first row is before t minus those whose last row is.
    starts = ends.select(sf.col("first").alias("time"), sf.lit(1).alias("step"))
    at_time = starts.union(ends.select("last", sf.lit(-1))).groupBy("time")
    steps = at_time.agg(sf.sum("step").alias("step"), (sf.min("step") < 0).alias("is_last"))
    steps = steps.withColumn("bucket", bucket_of(sf.col("time"), *rows.extent[1:]))
    before = (Window.unboundedPreceding, -1)
    by_bucket = steps.groupBy("bucket").agg(sf.sum("step").alias("step"))  # one sum over few rows
    outside = sf.sum("step").over(Window.orderBy("bucket").rowsBetween(*before))
    inside = sf.sum("step").over(Window.partitionBy("bucket").orderBy("time").rowsBetween(*before))
    steps = steps.withColumn("inside", sf.coalesce(inside, sf.lit(0)))
    by_bucket = by_bucket.select("bucket", sf.coalesce(outside, sf.lit(0)).alias("outside"))
    users = (sf.col("inside") + sf.col("outside")).alias("users")
    last = steps.join(by_bucket, "bucket").filter("is_last").select("time", users)
    best = last.orderBy(sf.desc("users"), sf.desc("time")).first()
    return best_moment(rows.edges) if best is None else best["time"]  # raises: no user has both


def _tick(times: Times, moment: Any) -> Column:
    """Return a moment as a literal that Spark compares with times as NumPy does."""
    if times.values.dtype.kind == "f":
        moment = times.values.dtype.type(moment)
    value = moment.item() if isinstance(moment, np.generic) else moment
    return sf.lit(min(max(value, -(2**63)), 2**63 - 1) if isinstance(value, int) else value)


@dataclass(frozen=True)
class _Whole:
    """A column of whole numbers with the operations of `rounded`: Spark has no ``//``."""

    column: Column

    def __rmul__(self, factor: int) -> _Whole:
        return _Whole(self.column * factor)

    def __add__(self, term: int) -> _Whole:
        return _Whole(self.column + term)

    def __floordiv__(self, divisor: int) -> _Whole:
        return _Whole(sf.call_function("div", self.column, sf.lit(divisor)))


def _rounded(share: float, size: Column) -> Column:
    whole: Any = _Whole(size)
    column: Column = rounded(share, whole).column
    return column


def filtered(filters: Iterable[Filter], rows: SparkRows, notes: dict[str, Any]) -> SparkRows:
    """Return the rows that all filters keep, and add the number of those that each drops."""
    for rule in filters:
        kept = kept_rows(rule, rows)
        name = f"rows_filtered({type(rule).__name__})"
        notes[name] = notes.get(name, 0) + rows.extent.rows - kept.extent.rows
        if not kept.extent.rows:
            raise EmptyError("the filters leave no rows", where=f"{rule!r}")
        rows = kept
    return rows


def kept_rows(rule: Filter, rows: SparkRows) -> SparkRows:
    """Return the rows that a filter keeps."""
    frame = rows.frame
    if isinstance(rule, KCore):
        frame, _ = core_of(rule, frame)
    elif isinstance(rule, MinRows):
        frame = _frequent(frame, {"user": rule.users, "item": rule.items})
    elif isinstance(rule, MinRating):
        _check_ratings(rule, rows)
        frame = frame.filter(reaches(sf.col("relevance").cast("double"), float(rule.least)))
    elif isinstance(rule, Deduplicate):
        frame = _distinct(rule, rows)
    return rows.with_frame(frame)


def _check_ratings(rule: Filter, rows: SparkRows) -> None:
    """Raise if there are no ratings, or a row has none."""
    rule.keep(Rows(rows.table))  # raises if there is no column
    rating = sf.col("relevance")
    missing = rating.isNull() | sf.isnan(rating) | (sf.abs(rating) == float("inf"))
    count = rows.frame.filter(missing).count()
    if count:
        raise missing_ratings(rows.table, "", count)


def _frequent(frame: DataFrame, least: Mapping[str, int]) -> DataFrame:
    """Return the rows of users and items with a minimum number of rows; all counted before."""
    kept = frame
    for role, count in least.items():
        often = frame.groupBy(role).agg(sf.count(sf.lit(1)).alias("n")).filter(sf.col("n") >= count)
        kept = kept.join(often.select(role), role, "left_semi")
    return kept


def core_of(rule: KCore, frame: DataFrame) -> tuple[DataFrame, int]:
    """Return the rows of the k-core, as a plan, and how many pairs of user and item it has."""
    least = {"user": rule.k, "item": rule.k if rule.items is None else rule.items}
    pairs = frame.groupBy("user", "item").agg(sf.count(sf.lit(1)).alias("n")).localCheckpoint()
    left, before = pairs.count(), -1
    while left != before:
        for role, count in least.items():
            often = pairs.groupBy(role).agg(sf.sum("n").alias("n")).filter(sf.col("n") >= count)
            pairs = pairs.join(often.select(role), role, "left_semi")
        pairs = pairs.localCheckpoint()  # plans of many rounds would take longer than the rounds
        left, before = pairs.count(), left
    for role in least:  # a row is in the core if its user and its item are
        frame = frame.join(pairs.select(role).distinct(), role, "left_semi")
    return frame, left


def _distinct(rule: Deduplicate, rows: SparkRows) -> DataFrame:
    highest = rule.keep_row == "highest"
    _check_ratings(rule, rows) if highest else rows.check_time()
    rows = hashed(rows, "key0", "rest")
    order = rows.in_order("relevance" if highest else "time", "key0")
    order = order if rule.keep_row == "first" else [column.desc() for column in order]
    position = sf.row_number().over(Window.partitionBy("user", "item").orderBy(*order))
    return rows.frame.withColumn("position", position).filter("position = 1")
