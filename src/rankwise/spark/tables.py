"""Spark tables with standard columns, checked by their schema before any row is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructType

from rankwise.errors import ColumnError, FileError, IdError, InputError, ParameterError
from rankwise.spark.bucketed_files import BucketedFiles, open_bucketed
from rankwise.spark.sessions import words_of
from rankwise.tables.columns import ROLES, Columns, TableRole, choose, names_of, plain_name
from rankwise.tables.frames import from_frame
from rankwise.tables.read import read_table
from rankwise.tables.table import TRAINED, Table
from rankwise.tables.validation import check_finite

__all__ = [
    "SparkTable",
    "check_order",
    "collected",
    "column",
    "empty_of",
    "is_spark",
    "named",
    "read_spark",
    "send",
    "small_strings",
    "unify_ids",
]

_READERS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".json": "json",
    ".jsonl": "json",
    ".csv": "csv",
    ".tsv": "csv",
}
_NUMBERS = ("rank", "score", "relevance")
_DIGITS_OF_LONG = 18
_ID_TYPES = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.String)


@dataclass(frozen=True)
class SparkTable:
    """A Spark table with standard column names.

    Attributes
    ----------
    frame : DataFrame
        Columns ``user``, ``item``, ``rank``, …, as a `Table` has them; ids are long or string.
    empty : Table
        A table of the same columns without rows: all that can be checked before rows are read.
    files : BucketedFiles or None, default=None
        Where the same rows lie by bucket of users.
    """

    frame: DataFrame
    empty: Table
    files: BucketedFiles | None = None

    def select(self, columns: Sequence[str]) -> SparkTable:
        """Return the table with some of its columns."""
        frame = self.frame.select(*map(column, columns))
        empty = self.empty.with_frame(self.empty.frame.select(columns))
        return SparkTable(frame, empty, self.files)

    @property
    def trained(self) -> SparkTable:
        """The training rows, as `Table.trained` has them."""
        if TRAINED not in self.empty.frame.columns:
            return self
        return self.with_frame(self.frame.filter(TRAINED).drop(TRAINED))

    def with_frame(self, frame: DataFrame) -> SparkTable:
        """Return the table with other rows, or with more columns."""
        empty = self.empty.with_frame(empty_of(frame))
        return SparkTable(frame, empty)


def column(name: str) -> Column:
    """Return a column by its name, whatever signs it has."""
    return sf.col("`" + name.replace("`", "``") + "`")


def is_spark(source: object) -> bool:
    """Whether a source is a Spark DataFrame, of Spark Connect or not."""
    ours = type(source).__module__.startswith("pyspark.sql.")
    return isinstance(source, DataFrame) or (ours and hasattr(source, "mapInArrow"))


def collected(frame: DataFrame) -> pl.DataFrame:
    """Return a Spark table as a Polars table, in Arrow's form all the way."""
    return pl.DataFrame(frame.toArrow())


def read_spark(
    spark: SparkSession, source: Any, role: TableRole, columns: Columns | None, *, repeatable: bool = True
) -> SparkTable:
    """Return a source as a Spark table with standard column names.

    Parameters
    ----------
    spark : SparkSession
        Where it is read.
    source : DataFrame, path, or anything that `rankwise.evaluate` takes
        A path is read by Spark (Parquet, ORC, CSV, JSON lines), everything else here, and sent.
    role : str
        What the table is for.
    columns : mapping, optional
        Names of columns that are not recognised.
    repeatable : bool, default=True
        Whether Spark must compute the same rows each time, because it may do so more than once.

    Raises
    ------
    InputError
        If a column is missing, or of a type that cannot serve.
    """
    if isinstance(source, str | Path):
        return _at_path(spark, str(source), role, columns)
    if is_spark(source):
        if repeatable:
            _check_repeatable(source, role)
        return named(source, role, columns)
    if hasattr(source, "as_spark"):  # a split of a Spark table: a table of Connect has any attribute
        table: SparkTable = source.as_spark(role, columns)
        return table
    local = read_table(source, role, columns)
    ordered = {"rank", "score"} & set(local.frame.columns)
    if role in ("recommendations", "baseline") and not ordered:  # rows are in order here
        rank = pl.int_range(1, pl.len() + 1).over("user").alias("rank")
        local = local.with_frame(local.frame.with_columns(rank))
    frame = send(spark, local.frame)
    return SparkTable(frame, local.with_frame(empty_of(frame)))


def _at_path(spark: SparkSession, path: str, role: TableRole, columns: Columns | None) -> SparkTable:
    """Return the table of a path, which may be a folder that `rankwise.spark.bucket` wrote."""
    files = open_bucketed(path)
    if files is None:
        table = named(_read_path(spark, path), role, columns)
    else:
        lists = {"recommendations", "baseline"}
        if files.role != role and not {files.role, role} <= lists:
            raise ParameterError(
                "this table was bucketed for another role",
                where=path,
                found=f"role={files.role!r}, and it is passed as {role}",
                hint=f"rankwise.spark.bucket(table, path, role={role!r})",
            )
        frame = _read_path(spark, files.uri).select(*map(column, files.columns))
        table = named(frame, role, {f"{role}.{n}": n for n in files.columns if n in ROLES[role]})
    return replace(table, empty=replace(table.empty, source=path), files=files)


def _read_path(spark: SparkSession, path: str) -> DataFrame:
    """Return the table of a path: a folder is taken for Parquet, as Spark writes it."""
    suffix = Path(path).suffix.lower()
    form = _READERS.get(suffix, "parquet")
    options: dict[str, Any] = {"header": True, "inferSchema": True} if form == "csv" else {}
    options |= {"sep": "\t"} if suffix == ".tsv" else {}
    try:
        return spark.read.format(form).options(**options).load(path)
    except Exception as error:  # whatever a file system or a format says
        raise FileError(
            "Spark cannot read this",
            where=path,
            found=words_of(error),
            hint="Parquet, ORC, CSV and JSON lines are read by path; else pass a DataFrame",
        ) from error


def send(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    """Return a Polars table as a Spark table."""
    return spark.createDataFrame(small_strings(frame.to_arrow()))


def small_strings(table: pa.Table) -> pa.Table:
    """Return a table whose texts have the offsets of 32 bits that Spark reads."""
    schema = pa.schema([field.with_type(pa.string()) if _is_large(field.type) else field for field in table.schema])
    return table.cast(schema)


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def empty_of(frame: DataFrame) -> pl.DataFrame:
    """Return the columns of a Spark table as Polars has them, without rows."""
    try:
        schema = to_arrow_schema(frame.schema, timezone="UTC")
    except PySparkTypeError as error:
        raise ColumnError(
            "a column has a type that Arrow does not have",
            found=str(error).splitlines()[0],
            hint="select the columns that are needed",
        ) from error
    return pl.DataFrame(schema.empty_table())


def named(source: DataFrame, role: TableRole, columns: Columns | None) -> SparkTable:
    """Return a DataFrame with standard column names."""
    _check_names(source.columns, role)
    source = _one_row_per_item(source, role)
    empty = empty_of(source)
    _refuse_lists(empty, role, choose(columns, role))
    table = from_frame(empty, role, choose(columns, role), role, "Spark table")
    for number in _NUMBERS:
        if number in table.columns:
            check_finite(table.frame[number], number, table)
    chosen = [
        _typed(name, standard, empty.schema[name], role).alias(standard) for standard, name in table.columns.items()
    ]
    chosen += [
        column(name).cast("string").alias(name) if dtype == pl.String else column(name)
        for name, dtype in table.frame.schema.items()
        if name not in table.columns
    ]  # text without collations: "a" and "A" are two groups
    frame = source.select(*chosen)
    return SparkTable(frame, table.with_frame(empty_of(frame)))


def _check_names(names: Sequence[str], role: TableRole) -> None:
    """Raise if two names are equal as Spark compares them."""
    lower = [name.lower() for name in names]
    twice = next((name for name in names if lower.count(name.lower()) > 1), None)
    if twice is not None:
        raise ColumnError(
            f"two columns are called {twice!r}, in some case",
            where=role,
            hint="drop one of them: Spark cannot tell them apart",
        )


def _one_row_per_item(source: DataFrame, role: TableRole) -> DataFrame:
    """Return a table whose column of lists of (item, rating), as of ALS in Spark ML, has a row per item.

    A list that is null gives a row whose item is null, which is refused as any other is.
    """
    if role in ("users", "items") or names_of(source.columns, role, "item"):
        return source
    for field in source.schema.fields:
        kind = field.dataType
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, StructType):
            inner = kind.elementType.names
            if not names_of(inner, role, "item"):
                continue
            others = [name for name in source.columns if name != field.name]
            _check_names([*others, *inner], role)
            none = sf.array(sf.lit(None).cast(kind.elementType))
            rows = source.select(*map(column, others), sf.explode(sf.coalesce(column(field.name), none)).alias("row"))
            fields = (sf.col("row").getField(name).alias(name) for name in inner)
            return rows.select(*map(column, others), *fields)
    return source


_CHANGES = "rand|randn|randstr|uniform|uuid|shuffle|monotonically_increasing_id|spark_partition_id|input_file_name"
_CHANGES_IN_PLAN = re.compile(rf"(?<![\w.])(?:{_CHANGES})\(", re.IGNORECASE)
"""A function of a plan that may give other values each time."""
_CALLED_LIKE_IT = re.compile(r"\w+\([^()]*\)#\d+")
"""A column whose name is the text of a call, as Spark calls what has no name; a number is behind it."""


def _is_repeatable(frame: DataFrame) -> bool:
    """Return whether Spark computes the same rows each time, as far as its plan says.

    A client of Spark Connect has the plan as text only, where functions of the user look like any other.
    """
    query = getattr(frame, "_jdf", None)
    if query is not None:
        return bool(query.queryExecution().analyzed().deterministic())
    explain: Any = getattr(frame, "_explain_string", None)
    plan = "" if explain is None else str(explain(extended=True))
    analyzed = plan.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]
    return _CHANGES_IN_PLAN.search(_CALLED_LIKE_IT.sub("", analyzed)) is None


def _check_repeatable(frame: DataFrame, role: TableRole) -> None:
    """Raise if Spark says that it may compute other rows the next time."""
    if not _is_repeatable(frame):
        raise InputError(
            "this table may have other rows each time Spark computes it, as it does for retries",
            where=role,
            found="an expression that is not deterministic (rand, uuid, …)",
            hint="write it to files first, or df.checkpoint(), and evaluate that",
        )


def _refuse_lists(empty: pl.DataFrame, role: TableRole, given: Mapping[str, str | None]) -> None:
    """Raise if a column of ids or numbers holds whole lists."""
    if role in ("users", "items"):
        return
    nested = [name for name, dtype in empty.schema.items() if isinstance(dtype, pl.List | pl.Array)]
    user = next(iter(names_of(empty.columns, role, "user")), "user")
    for name in nested:
        singular = plain_name(name).removesuffix("s")
        known = any(names_of([singular], role, standard) for standard in ROLES[role])
        if known or name in given.values():
            raise ColumnError(
                "a Spark table has one row per item, and this column holds lists",
                where=f"{role}, column {name!r}",
                found=str(empty.schema[name]),
                hint=f'df.select("{user}", F.posexplode("{name}").alias("rank", "item"))',
            )


def _typed(name: str, standard: str, dtype: pl.DataType, role: TableRole) -> Column:
    """Return an id as long or plain string, by which users of all tables have one hash."""
    if standard not in ("user", "item"):
        return column(name).cast("double") if dtype == pl.Boolean else column(name)
    if dtype not in _ID_TYPES:
        raise IdError(
            "ids are integers or strings",
            where=f"{role}, column {name!r}",
            found=str(dtype),
            hint=_cast_hint(name, dtype),
        )
    return column(name).cast("string" if dtype == pl.String else "long")


def _cast_hint(name: str, dtype: pl.DataType) -> str:
    """Return how to make ids integers or strings, one for each value that the column has."""
    cast, when = f'F.col("{name}").cast("string")', ""
    if dtype == pl.Binary:
        cast = f'F.hex("{name}")'
    elif dtype.is_float() or (isinstance(dtype, pl.Decimal) and dtype.scale):
        cast, when = f'F.col("{name}").cast("long")', ", if all are whole numbers, and in every table"
    elif isinstance(dtype, pl.Decimal) and dtype.precision is not None and dtype.precision <= _DIGITS_OF_LONG:
        cast = f'F.col("{name}").cast("long")'
    elif dtype.is_nested():
        cast = f'F.to_json("{name}")'
    return f'cast the column{when or ", in every table"}: df.withColumn("{name}", {cast})'


def unify_ids(tables: Mapping[TableRole, SparkTable]) -> None:
    """Raise unless ids have one type in all tables: ``"1"`` and ``1`` would never match."""
    for name in ("user", "item"):
        types = {
            role: table.empty.frame.schema[name] for role, table in tables.items() if name in table.empty.frame.columns
        }
        text = [role for role, dtype in types.items() if dtype == pl.String]
        if text and len(text) < len(types):
            other = next(role for role in types if role not in text)
            raise IdError(
                f"{name} ids are integers in one table and strings in another, so none would match",
                where=f"{other} has integers, {text[0]} strings",
                hint=f'cast the {name} column to one type: F.col("{name}").cast("long")',
            )


def check_order(table: SparkTable, ties: str | None) -> None:
    """Raise unless ranks or scores order the lists: rows of Spark have no order."""
    names = table.empty.frame.columns
    if "rank" not in names and "score" not in names:
        raise ColumnError(
            "rows of a Spark table have no order, so lists need a rank or a score",
            where=table.empty.role,
            found=f"columns {', '.join(names)}",
            hint='add a rank, or name the column: columns={"rank": "…"}',
        )
    if "rank" not in names and ties == "input":
        raise ParameterError(
            "rows of a Spark table have no order, so tied scores cannot be kept in it",
            found='ties="input"',
            hint='take ties="expected" or ties="item"',
        )
