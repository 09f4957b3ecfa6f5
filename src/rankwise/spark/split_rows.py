"""Interactions on Spark, their hashes, and values by rank.

Moments and limits are found by counting; random draws and ties in time are decided by the hashes
of `rankwise.core.hashing`, computed on the executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rankwise.core.arguments import TimeUnit
from rankwise.core.hashing import Hashes, combine_hashes, hash_of_column
from rankwise.errors import ColumnError, IdError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.spark.tables import active_session, is_spark, read_spark
from rankwise.splits.interactions import Rows, hash_of_other_columns, numbered
from rankwise.tables.columns import (
    ROLES,
    Columns,
    check_columns,
    check_finite,
    empty_table_error,
    where_in,
)
from rankwise.tables.dates import compact_dates, mixed_dates
from rankwise.tables.frames import from_frame
from rankwise.tables.table import Table
from rankwise.tables.times import Times, odd_time, placeholder_error, placeholders, read_times

_ORDERED = (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
_BUCKETS = 1 << 14
"""Counts per step of a search for a time or a hash: two or three steps find a second in decades."""


class Extent(NamedTuple):
    """The number of rows, and their first and last time."""

    rows: int
    first: Any
    last: Any


def extent_columns() -> list[Column]:
    """Return the Spark aggregates of an extent: number of rows, first and last time."""
    rows = sf.count(sf.lit(1)).alias("rows")
    return [rows, sf.min("time").alias("first"), sf.max("time").alias("last")]


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Interactions as rules cut them.

    ``frame`` has the columns of ``table``, which has no rows, by position (``c0``, ``c1``, …), and
    after them ``user``, ``item``, ``time`` in ticks and ``relevance``. ``sources`` has for each
    column of the source its position.
    """

    frame: DataFrame
    table: Table
    sources: Mapping[str, str]
    all_times: Times | None = None

    def with_frame(self, frame: DataFrame, extent: Extent | None = None) -> SparkRows:
        """Return these rows with a new frame, and the extent of the frame if known."""
        rows = replace(self, frame=frame)
        if extent is not None:
            rows.__dict__["extent"] = extent
        return rows

    @cached_property
    def extent(self) -> Extent:
        """The size and the ends of the times of these rows; counted on first use."""
        return Extent(*self.frame.agg(*extent_columns()).collect()[0])

    @property
    def time(self) -> Times:
        """The first and the last time of these rows, with the unit of all times."""
        times = self.check_time()
        return replace(times, values=np.array(self.extent[1:], dtype=times.values.dtype))

    def check_time(self) -> Times:
        """Return the unit of the times; raise if there are none."""
        return self.all_times or read_times(self.table, None)

    @property
    def edges(self) -> Rows:
        """Two rows in memory, of two users: one at the first and one at the last time."""
        frame = pl.DataFrame({"user": [0, 1], "item": [0, 0], "timestamp": [0, 0]})
        rows = Rows(self.table.with_frame(frame))
        rows.__dict__["time"] = self.time
        return rows

    @property
    def columns(self) -> dict[str, str]:
        """The standard name of each column by position."""
        return {f"c{index}": name for index, name in enumerate(self.table.frame.columns)}

    def in_order(self, *columns: str) -> list[Column]:
        """Return the sort keys of rows: ``columns``, a hash of the rest as in memory, and the rest.

        Parts are computed one by one: they have to agree on the order of rows of equal hashes.
        """
        types = {field.name: field.dataType for field in self.frame.schema}
        ordered = [name for name in self.columns if isinstance(types[name], _ORDERED)]
        return [sf.col(name) for name in (*columns, "rest", *ordered)]

    def as_given(self) -> DataFrame:
        """Return the rows with the columns of the source."""
        return self.frame.select(*(sf.col(at).alias(name) for name, at in self.sources.items()))


def read_interactions(
    interactions: DataFrame,
    columns: Columns | None,
    time_unit: TimeUnit | None = None,
    *,
    with_times: bool = True,
) -> SparkRows:
    """Return the interactions of a Spark table; one job counts rows and missing values."""
    if not is_spark(interactions):
        raise ParameterError(
            "interactions must be a Spark DataFrame",
            found=type(interactions).__name__,
            hint="rule.split(table) splits all other tables",
        )
    check_columns(columns, ["interactions"])
    source = read_spark(
        active_session(interactions.sparkSession), interactions, "interactions", columns
    )
    table = source.empty
    names, standard = table.frame.columns, {name: role for role, name in table.columns.items()}
    sources = {name: f"c{names.index(standard.get(name, name))}" for name in interactions.columns}
    rows = SparkRows(source.frame.toDF(*(f"c{at}" for at in range(len(names)))), table, sources)
    timed = with_times and "timestamp" in names
    roles = {
        "user": sf.col(f"c{names.index('user')}"),
        "item": sf.col(f"c{names.index('item')}"),
        "time": _ticks(rows) if timed else sf.lit(None).cast("long"),
        "relevance": _ratings(rows),
    }
    frame = rows.frame.select("*", *(column.alias(role) for role, column in roles.items()))
    return _check_rows(rows.with_frame(frame), time_unit, timed=timed)


def _ratings(rows: SparkRows) -> Column:
    """Return the ratings as floats; nulls where there are none."""
    frame = rows.table.frame
    dtype = frame.schema.get("relevance", pl.Null())
    if dtype == pl.String and "relevance" in rows.table.columns:
        check_finite(frame["relevance"], "relevance", rows.table)  # raises: not a number
    is_numeric = dtype.is_numeric() or dtype == pl.Boolean
    column = sf.col(f"c{frame.columns.index('relevance')}") if is_numeric else sf.lit(None)
    return column.cast("double")


def _ticks(rows: SparkRows) -> Column:
    """Return the timestamps as ticks since 1970, as `read_times` returns them."""
    name = f"c{rows.table.frame.columns.index('timestamp')}"
    column, dtype = sf.col(name), rows.frame.schema[name].dataType
    if isinstance(dtype, StringType):
        raise ColumnError(
            "on Spark, timestamps are numbers, dates or timestamps",
            found="string",
            where=where_in(rows.table, "timestamp"),
            hint='convert them: to_timestamp(column, "yyyy-MM-dd HH:mm:ss"), or as they are '
            "written",
        )
    if not read_times(rows.table, None).is_date:
        return column.cast("long" if isinstance(dtype, IntegralType) else "double")
    if isinstance(dtype, TimestampType):
        return sf.unix_micros(column)
    days = sf.unix_date(column.cast("date")).cast("long")
    if isinstance(dtype, DateType):
        return days * 86_400_000_000
    minutes = days * 1_440 + sf.hour(column) * 60 + sf.minute(column)  # without a time zone
    seconds = sf.extract(sf.lit("SECOND"), column)
    return minutes * 60_000_000 + (seconds * 1_000_000).cast("long")


def _check_rows(rows: SparkRows, time_unit: TimeUnit | None, *, timed: bool) -> SparkRows:
    """Return the rows with their extent and times; raise if values are missing."""
    missing = {role: sf.col(role).isNull() for role in ("user", "item")}
    if timed:
        missing["time"] = _is_no_time(sf.col("time"))
    counts = [sf.count_if(column).alias(role) for role, column in missing.items()]
    fraction = sf.min(sf.when(sf.col("time") != sf.rint("time"), sf.col("time")))
    odd = _columns_of_odd_times(rows) if timed and time_unit is None else []

    row = rows.frame.agg(*extent_columns(), *counts, fraction.alias("fraction"), *odd).collect()[0]
    if not row["rows"]:
        raise empty_table_error(rows.table)
    for role in missing:
        if row[role]:
            raise _missing(rows, role, row[role])
    extent = Extent(row["rows"], row["first"], row["last"])
    if not timed:
        return rows.with_frame(rows.frame, extent)

    times = _times_between(rows, row, time_unit)
    if odd:
        _check_odd_times(times, row)
    if times.values.dtype.kind == "i" and isinstance(row["first"], float):  # without fractions
        rows = rows.with_frame(rows.frame.withColumn("time", sf.col("time").cast("long")))
        extent = Extent(row["rows"], int(row["first"]), int(row["last"]))
    return replace(rows, all_times=times).with_frame(rows.frame, extent)


def _is_no_time(time: Column) -> Column:
    """Return whether each time is null, NaN or infinite."""
    number = time.cast("double")
    return time.isNull() | sf.isnan(number) | (sf.abs(number) == float("inf"))


def _times_between(rows: SparkRows, row: Row, time_unit: TimeUnit | None) -> Times:
    """Return the unit of times, read from the first, the last and one with a fraction."""
    ends = [value for value in (row["first"], row["last"], row["fraction"]) if value is not None]
    dtype = rows.table.frame.schema["timestamp"]
    column = pl.Series("timestamp", ends, dtype=pl.Datetime("us") if dtype.is_temporal() else dtype)
    times = read_times(rows.table.with_frame(column.to_frame()), time_unit)
    if times.is_date and not dtype.is_temporal():
        raise ColumnError(
            "these whole numbers look like dates, such as 20200914",
            where=where_in(rows.table, "timestamp"),
            found=f"{ends[0]} to {ends[1]}",
            hint='convert them: to_date(cast(column as string), "yyyyMMdd"); or '
            f"{parameter('time_unit', 's')} if they are seconds",
        )
    return times


def _columns_of_odd_times(rows: SparkRows) -> list[Column]:
    """Return aggregates on odd times: counts of dates and placeholders, ends of the rest."""
    time, is_date = sf.col("time"), rows.table.frame.schema["timestamp"].is_temporal()
    is_placeholder = time.isin(placeholders(is_date=is_date, per_second=10**6))
    others = sf.when(~is_placeholder, time)
    return [
        sf.count_if(sf.expr("false") if is_date else compact_dates(time)).alias("dates"),
        sf.count_if(is_placeholder).alias("placeholders"),
        sf.min(others).alias("first_other"),
        sf.max(others).alias("last_other"),
    ]


def _check_odd_times(times: Times, row: Row) -> None:
    """Raise where `read_times` does that sees all rows."""
    rows, dates, ends = row["rows"], row["dates"], (row["first"], row["last"])
    if 2 * dates > rows > dates:
        example = next((end for end in ends if not compact_dates(end)), "one between them")
        raise mixed_dates(times.where, dates, rows - dates, example)
    if 0 < 2 * row["placeholders"] < rows:
        inner = (row["first_other"], row["last_other"])
        odd = odd_time(ends, inner, times.per_second, is_date=times.is_date)
        if odd is not None:
            raise placeholder_error(times, odd, row["placeholders"])


def _missing(rows: SparkRows, role: str, count: int) -> InputError:
    errors: dict[str, tuple[type[InputError], str, str]] = {
        "user": (IdError, "user", "a user id is null"),
        "item": (IdError, "item", "an item id is null"),
        "time": (ColumnError, "timestamp", "a timestamp is null, NaN or infinite"),
    }
    error, name, message = errors[role]
    where, hint = where_in(rows.table, name), "drop those rows, or fill them"
    return error(message, where=where, found=f"{count} such rows", hint=hint)


def hashed(rows: SparkRows, *names: str) -> SparkRows:
    """Return the rows with columns of hashes.

    ``key3`` is that of the row for seed 3 (`Rows.key`), ``user_key3`` that of the user, and
    ``rest`` that of all columns but user, item and time, as `Rows.settled` computes it.
    """
    frame = rows.frame
    new = [name for name in dict.fromkeys(names) if name not in frame.columns]
    if not new:
        return rows
    schema = StructType([*frame.schema.fields, *(StructField(name, LongType()) for name in new)])
    roles = {role: role if role in rows.table.columns else None for role in ROLES["interactions"]}
    add = partial(_add_hashes, source=rows.columns, roles=roles, new=new)
    return rows.with_frame(frame.mapInArrow(add, schema), rows.__dict__.get("extent"))


def _add_hashes(
    batches: Iterable[Any], source: dict[str, str], roles: dict[str, str | None], new: list[str]
) -> Iterator[Any]:
    """Yield Arrow batches with columns of hashes, on an executor."""
    for batch in batches:
        frame = pl.DataFrame(batch.select(list(source))).rename(source)
        rows = Rows(from_frame(frame, "interactions", roles, "interactions", "batch"))
        for name in new:
            hashes = pl.Series(_hashes(rows, name).view(np.int64))
            batch = batch.append_column(name, hashes.to_arrow())
        yield batch


def drawn(rows: SparkRows, seed: int, *, position: str | None = None) -> tuple[SparkRows, str]:
    """Return the rows with a column that decides random draws, as `Rows.draw`, and its name.

    ``position`` is a column that numbers each user's rows so that equal ones follow one another;
    by default they are numbered here.
    """
    key, name = f"key{seed}", f"draw{seed}"
    rows = hashed(rows, key, "rest")
    equal = Window.partitionBy("user", key)
    if position is None:
        number = sf.row_number().over(equal.orderBy(*rows.in_order())) - 1
    else:
        number = sf.col(position) - sf.min(position).over(equal)
    frame = rows.frame.drop(name).withColumn("number", number)  # an outer rule drew from other rows
    schema = StructType([*frame.schema.fields, StructField(name, LongType())])
    frame = frame.mapInArrow(partial(_add_draws, key=key), schema)
    return rows.with_frame(frame, rows.__dict__.get("extent")), name


def _add_draws(batches: Iterable[Any], key: str) -> Iterator[Any]:
    """Yield Arrow batches with the hashes of repeated rows numbered, on an executor."""
    for batch in batches:
        frame = pl.DataFrame(batch.select([key, "number"]))
        draws = numbered(frame[key].to_numpy().view(np.uint64), frame["number"].to_numpy())
        yield batch.append_column(
            f"draw{key.removeprefix('key')}", pl.Series(draws.view(np.int64)).to_arrow()
        )


def _hashes(rows: Rows, name: str) -> Hashes:
    frame = rows.table.frame
    if name == "rest":
        return hash_of_other_columns(frame)
    if name.startswith("user_key"):
        return combine_hashes([hash_of_column(frame["user"])], int(name.removeprefix("user_key")))
    return rows.key(int(name.removeprefix("key")))


def ranked(frame: DataFrame, name: str, rank: int, least: Any, most: Any) -> tuple[Any, int]:
    """Return the value of a rank from 0 in ascending order, and how many values are smaller.

    Values are counted in buckets between two bounds, and again in the bucket that has the rank.
    """
    values, value, smaller = frame.select(name).persist(), sf.col(name), 0
    try:
        while least < most:
            inside = values.filter((value >= sf.lit(least)) & (value <= sf.lit(most)))
            buckets = inside.groupBy(bucket_of(value, least, most).alias("bucket"))
            counts = buckets.agg(sf.count(sf.lit(1)), sf.min(name), sf.max(name))
            for _, count, *bounds in sorted(counts.collect()):
                if smaller + count > rank:
                    least, most = bounds
                    break
                smaller += count
            else:
                raise InputError(
                    "the plan of this table gives different rows each time it runs",
                    where="interactions",
                    hint="write it first, or checkpoint it",
                )
    finally:
        values.unpersist()
    return least, smaller


def bucket_of(value: Column, least: Any, most: Any) -> Column:
    """Return a number up to `_BUCKETS` that grows with a value from least to most."""
    if isinstance(least, float) or isinstance(most, float):
        return sf.floor((value - least) / max((most - least) / _BUCKETS, 5e-324))
    return sf.call_function("div", value - sf.lit(least), sf.lit((most - least) // _BUCKETS + 1))
