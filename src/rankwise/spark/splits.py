"""Splits of Spark tables as lazy plans: each part has the same rows as in memory.

Every row gets a label. A label is a part, or the reason why a row is in no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from rankwise.core.arguments import Predicted, TimeUnit, check_choice
from rankwise.core.arrays import at_least
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.spark.split_rows import (
    Extent,
    SparkRows,
    bucket_of,
    drawn,
    extent_columns,
    hashed,
    ranked,
    read_interactions,
)
from rankwise.spark.tables import SparkTable, empty_of, errors_of_spark, named
from rankwise.splits.holdout import Holdout, LeaveOut, UserHoldout
from rankwise.splits.interactions import Rows, rounded
from rankwise.splits.split import card_of, known_rows
from rankwise.splits.splitter import (
    Deduplicate,
    Filter,
    KCore,
    MinRating,
    MinRows,
    Splitter,
    missing_ratings,
    refuse_empty,
)
from rankwise.splits.temporal import GlobalTime, best_moment
from rankwise.tables.columns import Columns, overrides_for
from rankwise.tables.table import TRAINED, Table, TableRole, one_line
from rankwise.tables.times import Duration, Times

_LARGEST_HASH = 2**63 - 1


class Labelled(NamedTuple):
    """Rows with the column ``part``: a name in ``parts`` or ``dropped``, or ``unused``.

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
    """Return rows with one test row per user, and the rows before the test row as history."""
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
        number: Any = _Whole(size)
        tested = sf.least(rounded(rule.share, number).column, size - 1)
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
            hint=f"choose what happens to these users: {parameter('short', 'train')} keeps their "
            "rows in training",
        )


def _label_smallest(rule: Holdout, rows: SparkRows) -> Labelled:
    """Return rows of which the share with the smallest hashes is in test."""
    size = rounded(rule.share, rows.extent.rows)
    rows, name = drawn(rows, rule.seed)
    frame, key, position = rows.frame, sf.col(name), sf.col("position")
    if not 0 < size < rows.extent.rows:
        return Labelled(frame.withColumn("part", sf.lit("test" if size else "train")))
    limit, below = ranked(frame, name, size - 1, 0, _LARGEST_HASH)
    in_order = sf.row_number().over(Window.partitionBy(name).orderBy(*rows.in_order()))
    equal = frame.filter(key == limit).withColumn("position", in_order)
    unequal = frame.filter(key != limit).withColumn("position", sf.lit(0))
    test = (key < limit) | ((key == limit) & (position <= size - below))
    part = sf.when(test, "test").otherwise("train")
    return Labelled(unequal.union(equal).withColumn("part", part))


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
    fold_in_part, part = "history" if rule.strong else "train", sf.col("part")
    outer = sf.when(part == "train", fold_in_part).when(part == "test", part)
    frame = inner.frame.withColumn("part", outer.otherwise(sf.concat(sf.lit("fold_in_"), part)))
    frame = frame.withColumnsRenamed({name: f"fold_in_{name}" for name in inner.counted})
    not_held = rows.frame.filter(~is_held).withColumn("part", sf.lit("train"))
    return Labelled(
        not_held.unionByName(frame, allowMissingColumns=True),
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
    """Return the latest moment that splits the rows of the most users into before and after."""
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


def filtered(filters: Iterable[Filter], rows: SparkRows, notes: dict[str, Any]) -> SparkRows:
    """Filter rows, and note the number of rows that each filter drops."""
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
        frame = frame.filter(at_least(sf.col("relevance").cast("double"), float(rule.least)))
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
    """Return the rows of the k-core as a plan, and the number of user-item pairs in the core."""
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


_RULES = (GlobalTime, Holdout, LeaveOut, UserHoldout)
_FILTERS = (Deduplicate, KCore, MinRating, MinRows)


@dataclass(frozen=True, eq=False, repr=False)
class SparkSplit:
    """A split of a Spark table: its parts are lazy plans.

    Attributes
    ----------
    parts : mapping of str to DataFrame
        The rows of each part, with the columns of the table that was split.
    rule : dict
        The rule and all its parameters, as plain values.
    found : dict
        The times at which the table was cut, and counts of dropped or exceptional rows and users.
    """

    parts: Mapping[str, DataFrame]
    rule: Mapping[str, Any]
    found: Mapping[str, Any]
    _source: SparkRows
    _rows: Mapping[str, SparkRows]

    @property
    def train(self) -> DataFrame:
        """The training rows."""
        return self.parts["train"]

    @property
    def validation(self) -> DataFrame | None:
        """The validation rows, for choosing models and parameters; None without ``validation=``."""
        return self.parts.get("validation")

    @property
    def test(self) -> DataFrame:
        """The test rows, which are to be predicted."""
        return self.parts["test"]

    @property
    def history(self) -> DataFrame | None:
        """The rows of test users that are known at prediction time but not trained on; or None."""
        return self.parts.get("history")

    def known(self, part: Predicted = "test") -> DataFrame:
        """Return the rows that a user has before a part, as `rankwise.splits.Split.known`.

        Parameters
        ----------
        part : {"test", "validation"}, default="test"
            The part to be predicted.
        """
        check_choice("part", part, Predicted)
        if part not in self.parts:
            raise ParameterError(
                f"this split has no part {part!r}",
                found=", ".join(self.parts),
                hint=f"give the rule {parameter('validation')}",
            )
        return reduce(
            DataFrame.union, (self.parts[name] for name in _known_parts(self.parts, part, "user"))
        )

    def as_spark(self, role: TableRole, columns: Columns | None = None) -> SparkTable:
        """Return the rows for a role: test as ground truth, or the rows known before as training.

        ``columns`` name columns that the split itself had no need of, such as the relevance.
        """
        if role not in ("truth", "train"):
            raise ParameterError(
                f"a split of a Spark table can be passed as truth or train, not as {role}",
                hint="pass one of its parts: split.train, split.test",
            )
        if role == "truth":
            return self._truth(columns)
        frames = (
            self._rows[name].frame.select("user", "item", sf.lit(name == "train").alias(TRAINED))
            for name in _known_parts(self._rows, "test", "user")
        )
        frame, table = reduce(DataFrame.union, frames), self._source.table
        ids = {name: table.columns[name] for name in ("user", "item")}
        source = f"rows known before the test part of {table.source}"
        return SparkTable(frame, Table(empty_of(frame), role, source, table.format, ids))

    def _truth(self, columns: Columns | None) -> SparkTable:
        """Return the test part as the ground truth, with the card of this split."""
        source = self._source.table
        names = {**source.columns, **overrides_for(columns, "truth")}
        truth = named(self.test, "truth", {f"truth.{role}": name for role, name in names.items()})
        empty = replace(
            truth.empty,
            source=f"test part of {source.source}",
            format=source.format,
            split=self.card,
        )
        return replace(truth, empty=empty)

    @cached_property
    def card(self) -> dict[str, Any]:
        """The card, which describes this split by plain values; computed by one Spark job.

        Its fields are those of `rankwise.splits.Split.card`, with the same ``id`` for the same
        rows, except ``cold``, the leak index, the time from training to the targets and the share
        of users cut between equal times: each of these would join or sort two whole parts.
        """
        parts = _described(self._rows)
        source = self._source
        rows = source.extent.rows
        unused = rows - sum(part["rows"] for part in parts.values())
        card = card_of(source.table, rows, unused, self.rule, self.found, parts)
        if source.all_times is not None:
            train, test = (self._rows[part].time for part in ("train", "test"))
            (begin, end), (start, stop) = train.values, test.values
            card["time"] = {
                "unit": train.unit,
                "unit_known_as": train.unit_source,
                "gap_seconds": train.seconds(start - end),
                "test_span_seconds": train.seconds(stop - start),
                "train_span_seconds": train.seconds(end - begin),
            }
        return card

    def __repr__(self) -> str:
        lines = [one_line(self.rule)]
        lines += [f"  {name}: {part.extent.rows:,} rows" for name, part in self._rows.items()]
        return "\n".join(lines + [f"  {name}: {value}" for name, value in self.found.items()])


@errors_of_spark()
def split(
    interactions: DataFrame,
    rule: GlobalTime | Holdout | LeaveOut | UserHoldout,
    *,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
) -> SparkSplit:
    """Split a Spark table; each part has the same rows as with ``rule.split`` in memory.

    Rows are counted immediately, so that an empty part is an error and ``found`` is complete; the
    parts themselves are lazy plans. The plan of the table must give the same rows in every run.

    Parameters
    ----------
    interactions : DataFrame
        One row per interaction, with user and item; rules that depend on time need a timestamp:
        numbers, dates or timestamps.
    rule : GlobalTime, Holdout, LeaveOut or UserHoldout
        The rule, with any of its options; ``validation`` and ``fold_in`` must also be one of these
        four.
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised: ``{"user": "uid"}``.
    time_unit : {"s", "ms", "us", "ns"}, optional
        The unit of numeric timestamps; by default guessed from their magnitude.

    Returns
    -------
    SparkSplit

    Raises
    ------
    ParameterError
        If a rule or filter does not run on Spark.
    InputError
        If the table cannot be split by this rule, or a part would be empty.
    """
    _check_supported(rule, "rule")
    source = read_interactions(interactions, columns, time_unit)
    named, notes = rule.to_dict(), dict[str, Any]()
    kept = filtered(rule.filters, source, notes) if rule.filter_on == "all" else source
    parts = _cut(rule, kept, notes)
    if rule.validation is not None:
        _check_parts(parts, named, notes)
        inner_notes: dict[str, Any] = {}
        inner = _cut(rule.validation, parts.pop("train"), inner_notes)
        notes |= {f"validation_{name}": value for name, value in inner_notes.items()}
        first = {"train": inner.pop("train"), "validation": inner.pop("test")}
        parts = first | {f"validation_{name}": part for name, part in inner.items()} | parts
    if rule.filters and rule.filter_on == "train":
        _check_parts({"train": parts["train"]}, named, notes)
        parts["train"] = filtered(rule.filters, parts["train"], notes)
    for name in ("validation", "test"):
        if name in parts:
            parts[name] = _without_cold(rule, parts, name, notes)
    _check_parts(parts, named, notes)
    frames = {name: part.as_given() for name, part in parts.items()}
    return SparkSplit(frames, named, notes, source, parts)


@errors_of_spark()
def k_core(interactions: DataFrame, rule: KCore, *, columns: Columns | None = None) -> DataFrame:
    """Return the k-core of a Spark table: the same rows as with ``rule.apply`` in memory.

    Users and items with fewer than k rows are dropped until nothing changes. These rounds run
    immediately, on a checkpointed table with one row per user-item pair; the result is a lazy plan.

    Parameters
    ----------
    interactions : DataFrame
        One row per interaction, with user and item.
    rule : KCore
        The minimum numbers of rows.
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised.

    Returns
    -------
    DataFrame
        The rows that are kept, with all columns.

    Raises
    ------
    EmptyError
        If no row is kept.
    """
    if type(rule) is not KCore:
        raise ParameterError("rule is a KCore", found=repr(rule), hint="KCore(5)")
    rows = read_interactions(interactions, columns, with_times=False)
    frame, size = core_of(rule, rows.frame)
    if not size:
        raise EmptyError(f"{rule!r} leaves no rows", found=f"{rows.extent.rows} rows before")
    return rows.with_frame(frame).as_given()


def _check_supported(rule: Any, name: str) -> None:
    """Raise unless a rule, its inner rules and its filters run on Spark."""
    hint = "collect the table and split it in memory: rule.split(table.toArrow())"
    if type(rule) not in _RULES:
        names = ", ".join(kind.__name__ for kind in _RULES)
        raise ParameterError(
            f"this {name} does not run on Spark", found=f"{rule!r}; on Spark: {names}", hint=hint
        )
    if rule.sessions is not None:
        raise ParameterError(
            f"{parameter('sessions')} does not run on Spark",
            found=f"{name} with {parameter('sessions', rule.sessions)}",
            hint=hint,
        )
    for one in rule.filters:
        if type(one) not in _FILTERS:
            names = ", ".join(kind.__name__ for kind in _FILTERS)
            raise ParameterError(
                "this filter does not run on Spark", found=f"{one!r}; on Spark: {names}", hint=hint
            )
    for inner in ("validation", "fold_in"):
        if getattr(rule, inner, None) is not None:
            _check_supported(getattr(rule, inner), inner)


def _check_parts(
    parts: Mapping[str, SparkRows], rule: dict[str, Any], notes: dict[str, Any]
) -> None:
    """Raise if there are no rows for training, validation or test."""
    counts: dict[str, Any] = {name: np.array([part.extent.rows]) for name, part in parts.items()}
    refuse_empty(counts, rule, notes)


def _cut(rule: Splitter, rows: SparkRows, notes: dict[str, Any]) -> dict[str, SparkRows]:
    """Return the parts that a rule makes, all counted in one job, and add its notes."""
    labelled = label_rows(rule, rows)
    frame = labelled.frame
    counted = [sf.count_if(name).alias(name) for name in labelled.counted]
    counts = frame.groupBy("part").agg(*extent_columns(), *counted).collect()
    extents = {row["part"]: Extent(row["rows"], row["first"], row["last"]) for row in counts}
    nothing = Extent(0, None, None)
    notes |= labelled.notes
    notes |= {name: extents.get(name, nothing).rows for name in labelled.dropped}
    notes |= {name: sum(row[name] for row in counts) for name in labelled.counted}
    return {
        part: rows.with_frame(frame.filter(sf.col("part") == part), extents.get(part, nothing))
        for part in labelled.parts
    }


def _without_cold(
    rule: Splitter, parts: Mapping[str, SparkRows], part: str, notes: dict[str, Any]
) -> SparkRows:
    """Return the rows of a part that stay under ``cold_users``, ``cold_items`` and ``seen``."""
    steps: list[tuple[list[str], str, str]] = []
    for role, action in (("user", rule.cold_users), ("item", rule.cold_items)):
        if action != "keep":
            kind, dropped = ("left_semi", "cold") if action == "drop" else ("left_anti", "warm")
            steps.append(([role], kind, f"{part}_rows_of_{dropped}_{role}s_dropped"))
    if rule.seen == "drop":
        steps.append((["user", "item"], "left_anti", f"{part}_rows_seen_dropped"))
    rows = parts[part]
    for ids, kind, note in steps:
        frames = (parts[name].frame.select(ids) for name in _known_parts(parts, part, ids[0]))
        kept = rows.with_frame(rows.frame.join(reduce(DataFrame.union, frames), ids, kind))
        notes[note] = rows.extent.rows - kept.extent.rows
        rows = kept
    return rows


def _known_parts(parts: Mapping[str, Any], part: str, role: str) -> list[str]:
    """Return the names of the parts that are known of users, or of items, before another part."""
    names: Any = {name: {name} for name in parts}  # sets of names in place of masks
    history: Any = known_rows(names, part, role)
    return sorted(history)


def _described(parts: Mapping[str, SparkRows]) -> dict[str, dict[str, Any]]:
    """Return the size, density, digest and time range of each part, computed by one job."""
    train, seeds = parts["train"], ("key1", "key2")
    columns = [*train.columns, "user", "item", "time", "relevance"]
    labelled = [
        rows.frame.select(*columns, sf.lit(name).alias("part")) for name, rows in parts.items()
    ]
    rows_of_parts = hashed(train.with_frame(reduce(DataFrame.union, labelled)), *seeds).frame
    sizes = [sf.count_distinct(role).alias(role) for role in ("user", "item")]
    sizes.append(sf.count_distinct("user", "item").alias("pairs"))
    sums = [sf.sum(sf.col(seed).cast("decimal(38,0)")).alias(seed) for seed in seeds]
    by_part = {
        row["part"]: row for row in rows_of_parts.groupBy("part").agg(*sizes, *sums).collect()
    }
    return {
        name: _about(
            rows, by_part.get(name, {"user": 0, "item": 0, "pairs": 0, "key1": 0, "key2": 0})
        )
        for name, rows in parts.items()
    }


def _about(rows: SparkRows, row: Any) -> dict[str, Any]:
    """Return the description of a part in the form of `make_card`."""
    size, users, items = rows.extent.rows, row["user"], row["item"]
    digest = "".join(f"{int(row[seed]) % 2**64:016x}" for seed in ("key1", "key2"))
    density = row["pairs"] / (users * items) if size else 0.0
    part = {"rows": size, "users": users, "items": items, "density": density, "digest": digest}
    if rows.all_times is not None and size:
        part |= {
            "first": rows.time.show(rows.time.values[0]),
            "last": rows.time.show(rows.time.values[1]),
        }
    return part
