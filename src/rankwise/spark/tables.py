"""Spark sessions, tables with standard columns, and folders with a table by bucket of users.

A folder ``rankwise_bucket=7`` has the rows of one bucket in Parquet, sorted by user.
``_rankwise.json`` says how many buckets there are, and of how many rows; it is written last, so
that a folder without it is not complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from polars.selectors import unsigned_integer
from py4j.protocol import Py4JError
from pyarrow import fs
from pyspark.errors import PySparkException, PySparkImportError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StructType

from rankwise.core.saved_forms import BUCKETS
from rankwise.errors import (
    ColumnError,
    FileError,
    IdError,
    InputError,
    OutputError,
    ParameterError,
    RankwiseError,
    UsageError,
)
from rankwise.messages import call, parameter
from rankwise.spark.column_types import polars_schema
from rankwise.spark.text_files import SparkFile, quoted, read_text, with_text_keys
from rankwise.tables.columns import (
    EVENT,
    ROLES,
    Columns,
    check_finite,
    names_of,
    overrides_for,
    plain_name,
)
from rankwise.tables.frames import from_frame
from rankwise.tables.grades import check_events, graded_columns
from rankwise.tables.read import read_table
from rankwise.tables.table import TRAINED, Table, TableRole

_DEFAULT_PYTHON = "python3"  # what PySpark starts as a worker if nothing else is set
_OF_WORKERS = {
    re.compile(
        r"^(ModuleNotFoundError|ImportError): .*", re.MULTILINE
    ): "Spark's Python workers lack a package",
    re.compile(
        r"Python in worker has different version.*"
    ): "Spark's Python workers run another version of Python",
    re.compile(r"Cannot run program .*"): "Spark cannot start the Python of its workers",
}
"""What the exceptions of an installation say, and its meaning."""


def active_session(spark: SparkSession | None) -> SparkSession:
    """Return a session, by default the active one."""
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is not None and not hasattr(session, "createDataFrame"):
        raise ParameterError("spark must be a SparkSession", found=parameter("spark", spark))
    if session is None:
        raise ParameterError(
            "there is no active Spark session",
            hint=f"pass {parameter('spark')}, what SparkSession.builder.getOrCreate() returns",
        )
    _use_interpreter_of_driver(session)
    return session


def _use_interpreter_of_driver(session: SparkSession) -> None:
    """Let workers of a local master run the driver's Python, unless the user has set another.

    PySpark starts whatever ``python3`` is on the PATH. Where a program is called by its path, with
    no environment activated, that is another Python, without rankwise or with another version of
    it.
    """
    if getattr(session, "_jsc", None) is None:  # Spark Connect: the server chooses
        return
    context: Any = session.sparkContext
    named = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if context.master.startswith("local") and context.pythonExec == _DEFAULT_PYTHON and not named:
        context.pythonExec = sys.executable


def session(master: str | None = None) -> SparkSession:
    """Return the active Spark session, or start one.

    Parameters
    ----------
    master : str, optional
        Where Spark runs: ``"local[4]"``, ``"yarn"``, ``"spark://host:7077"``; by default as Spark
        is configured.

    Returns
    -------
    SparkSession

    Raises
    ------
    UsageError
        If Spark cannot be started, mostly because Java is missing.
    """
    builder: Any = SparkSession.builder
    builder = builder.appName("rankwise")
    try:
        with without_pandas_warning():
            made: SparkSession = (
                builder if master is None else builder.master(master)
            ).getOrCreate()
    except Exception as error:  # of Java, of the network, of the configuration
        raise UsageError(
            "Spark cannot be started",
            found=words_of(error),
            hint="Spark 4 needs Java 17 or newer; JAVA_HOME says where it is",
        ) from error
    _use_interpreter_of_driver(made)
    return made


def words_of(error: Exception) -> str:
    """Return the informative line of an exception of Spark."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (named or lines or [type(error).__name__])[-1 if named else 0][:300]


@contextlib.contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Suppress PySpark's warning about pandas 3, which concerns only PySpark's import of pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "PySpark does not yet fully support pandas", FutureWarning
        )
        yield


@contextlib.contextmanager
def errors_of_spark() -> Iterator[None]:
    """Raise an error of rankwise where Spark fails: of its installation, or of the tables."""
    try:
        with without_pandas_warning():
            yield
    except (PySparkException, Py4JError) as error:
        raise _installation_error(error) or InputError(
            "Spark fails to compute these tables",
            found=words_of(error),
            hint="this computes one table with all of its columns: "
            'df.write.format("noop").mode("overwrite").save()',
        ) from error


def _installation_error(error: Exception) -> UsageError | None:
    """Return the error for packages that are missing or differ between machines, or None.

    They are the user's to mend, but not in the tables.
    """
    if isinstance(error, PySparkImportError):
        return UsageError(
            "PySpark lacks a package", found=words_of(error), hint='pip install "rankwise[spark]"'
        )
    for pattern, what in _OF_WORKERS.items():
        line = pattern.search(str(error))
        if line is not None:
            return UsageError(what, found=line[0], hint=_interpreter_hint())
    return None


def _interpreter_hint() -> str:
    """Return the hint for letting workers find the packages of the driver."""
    session = SparkSession.getActiveSession()
    context: Any = (
        None if session is None or getattr(session, "_jsc", None) is None else session.sparkContext
    )
    if context is not None and context.master.startswith("local"):
        return f"set PYSPARK_PYTHON={sys.executable} before Spark starts"
    return (
        "install rankwise there, or send an environment (--archives), and set PYSPARK_PYTHON to "
        "its Python"
    )


@contextlib.contextmanager
def output_errors_of_spark(where: str) -> Iterator[None]:
    """Raise an `OutputError` where Spark cannot write."""
    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        raise OutputError("this cannot be written", where=where, found=words_of(error)) from error


_HEAD = "_rankwise.json"
AGAIN = f"write them again: rankwise.spark.bucket(…, {parameter('overwrite', True)})"
_LOCAL = "file://"
BUCKET = "rankwise_bucket"
"""The column by which folders are named."""


@dataclass(frozen=True)
class BucketedFiles:
    """A folder that `bucket` wrote.

    Attributes
    ----------
    uri : str
        The folder.
    role : str
        What the table is for.
    buckets : int
        Number of buckets.
    rows : int
        Number of rows in all of them.
    columns : tuple of str
        The columns.
    """

    uri: str
    role: str
    buckets: int
    rows: int
    columns: tuple[str, ...]

    def read(self, number: int, empty: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of one bucket, with the columns of ``empty``."""
        system, folder = _system(self.uri)
        selector = fs.FileSelector(f"{folder}/{BUCKET}={number}", allow_not_found=True)
        files = sorted(info.path for info in system.get_file_info(selector) if info.is_file)
        parts = [
            pq.ParquetFile(system.open_input_file(path)).read(columns=empty.columns)
            for path in files
            if path.endswith(".parquet")
        ]
        if not parts:
            return empty
        return pl.DataFrame(pa.concat_tables(parts)).select(empty.columns)


def exists(uri: str) -> bool:
    """Whether something is at an address.

    Raises
    ------
    OutputError
        If it is a file, or at an address that PyArrow does not know.
    """
    try:
        system, folder = _system(uri)
        kind = system.get_file_info(folder).type
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError(
            "this address is not known", where=uri, found=str(error).splitlines()[0]
        ) from error
    if kind == fs.FileType.File:
        raise OutputError("this is a file, not a folder", where=uri)
    return bool(kind != fs.FileType.NotFound)


def write_head(uri: str, values: dict[str, Any]) -> None:
    """Write the description of a bucketed folder, after all its files."""
    system, folder = _system(uri)
    with system.open_output_stream(f"{folder}/{_HEAD}") as stream:
        stream.write(json.dumps({BUCKETS.key: BUCKETS.version, **values}).encode())


def open_bucketed(path: str) -> BucketedFiles | None:
    """Open a folder written by `bucket`; None if the path holds no buckets.

    Raises
    ------
    FileError
        If it is not complete, damaged, or written by another version of rankwise.
    """
    uri = uri_of(path)
    try:
        system, folder = _system(uri)
        entries = system.get_file_info(fs.FileSelector(folder))
    except (OSError, pa.ArrowInvalid):  # a file, nothing at all, or an address for Spark alone
        return None
    if not any(entry.base_name.startswith(f"{BUCKET}=") for entry in entries):
        return None
    try:
        with system.open_input_stream(f"{folder}/{_HEAD}") as stream:
            head = json.loads(stream.read())
        version = BUCKETS.version_of(head)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _incomplete(path) from error
    BUCKETS.check(version, str(path))
    try:
        head = BUCKETS.upgrade(head, version)
        return BucketedFiles(
            uri, head["role"], int(head["buckets"]), int(head["rows"]), tuple(head["columns"])
        )
    except (ValueError, LookupError, TypeError) as error:
        raise _incomplete(path) from error


def _incomplete(path: str) -> FileError:
    return FileError(
        "these buckets are not complete", where=str(path), found=f"no readable {_HEAD}", hint=AGAIN
    )


def uri_of(path: str | Path) -> str:
    """Return the address of a folder; a path without a scheme is in the local file system.

    Nothing in it is escaped: Spark takes addresses literally.
    """
    text = str(path)
    return text if "://" in text else f"{_LOCAL}{Path(text).absolute()}"


def _system(uri: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in the file system."""
    if uri.startswith(_LOCAL):
        return fs.LocalFileSystem(), uri.removeprefix(_LOCAL)
    system, path = fs.FileSystem.from_uri(uri)
    return system, path


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
    trimmed : int, default=0
        Number of ids of a text file that had blanks around them, which were removed.
    """

    frame: DataFrame
    empty: Table
    files: BucketedFiles | None = None
    trimmed: int = 0

    def select(self, columns: Sequence[str]) -> SparkTable:
        """Return the table with the given columns only."""
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
        """Return the table with a new frame: different rows, or more columns."""
        empty = self.empty.with_frame(empty_of(frame))
        return SparkTable(frame, empty)


column = quoted
"""Return a column by its name, whatever signs it has."""


def with_grades(truth: SparkTable, grades: Mapping[str, float] | None) -> SparkTable:
    """Return a ground truth that has the relevance of its events in their place.

    Raises
    ------
    ColumnError
        If it has no events, a relevance beside them, or an event without a grade.
    """
    if grades is None:
        return truth
    columns = graded_columns(truth.empty)
    event = column(EVENT).cast("string")
    events = collected(truth.frame.groupBy(event.alias("event")).count())
    missing = events.filter(pl.col("event").is_null())["count"].sum()
    check_events(truth.empty, events["event"].drop_nulls(), grades, int(missing))
    grade_of_event = sf.create_map(*(sf.lit(value) for entry in grades.items() for value in entry))
    frame = truth.frame.withColumn("relevance", grade_of_event[event]).drop(EVENT)
    named = {role: name for role, name in columns.items() if role != EVENT}
    return SparkTable(frame, replace(truth.empty, frame=empty_of(frame), columns=named))


def is_spark(source: object) -> bool:
    """Whether a source is a Spark DataFrame, of Spark Connect or not."""
    ours = type(source).__module__.startswith("pyspark.sql.")
    return isinstance(source, DataFrame) or (ours and hasattr(source, "mapInArrow"))


def collected(frame: DataFrame) -> pl.DataFrame:
    """Return a Spark table as a Polars table, in Arrow's form all the way."""
    return pl.DataFrame(frame.toArrow())


def read_spark(
    spark: SparkSession,
    source: Any,
    role: TableRole,
    columns: Columns | None,
    *,
    repeatable: bool = True,
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
        if repeatable and not _is_repeatable(source):
            raise InputError(
                "this table may have other rows each time Spark computes it, as it does for "
                "retries",
                where=role,
                found="an expression that is not deterministic (rand, uuid, …)",
                hint="write it to files first, or df.checkpoint(), and evaluate that",
            )
        return named(source, role, columns)
    if hasattr(
        source, "as_spark"
    ):  # a split of a Spark table: a table of Connect has any attribute
        table: SparkTable = source.as_spark(role, columns)
        return table
    local = read_table(source, role, columns)
    ordered = {"rank", "score"} & set(local.frame.columns)
    if role in ("recommendations", "reference") and not ordered:  # rows are in order here
        rank = pl.int_range(1, pl.len() + 1).over("user").alias("rank")
        local = local.with_frame(local.frame.with_columns(rank))
    frame = send(spark, local.frame)
    return SparkTable(frame, local.with_frame(empty_of(frame)))


def _at_path(
    spark: SparkSession, path: str, role: TableRole, columns: Columns | None
) -> SparkTable:
    """Return the table of a path, which may be a folder that `rankwise.spark.evaluate` wrote."""
    files = open_bucketed(path)
    if files is None:
        file = _read_path(spark, path, role, overrides_for(columns, role))
        table = named(file.frame, role, columns)
        table = replace(
            table, empty=replace(table.empty, is_text=file.is_text), trimmed=file.trimmed
        )
    else:
        lists = {"recommendations", "reference"}
        if files.role != role and not {files.role, role} <= lists:
            raise ParameterError(
                "this table was bucketed for another role",
                where=path,
                found=f"{parameter('role', files.role)}, and it is passed as {role}",
                hint=f"rankwise.spark.evaluate(table, path, {parameter('role', role)})",
            )
        frame = spark.read.parquet(files.uri).select(*map(column, files.columns))
        table = named(frame, role, {f"{role}.{n}": n for n in files.columns if n in ROLES[role]})
    return replace(table, empty=replace(table.empty, source=path), files=files)


def _read_path(
    spark: SparkSession, path: str, role: TableRole, overrides: Mapping[str, str | None]
) -> SparkFile:
    """Return the table of a path; the files of a folder without a suffix tell their format."""
    form = _READERS.get(Path(path).suffix.lower()) or _READERS.get(_suffix_in(path), "parquet")
    try:
        if form == "csv":
            return read_text(spark, path, role, overrides)
        reader = spark.read.format(form)
        return SparkFile(with_text_keys(reader, path, reader.load(path)))
    except RankwiseError:
        raise
    except Exception as error:  # whatever a file system or a format says
        raise FileError(
            "Spark cannot read this",
            where=path,
            found=words_of(error),
            hint="Parquet, ORC, CSV and JSON lines are read by path; else pass a DataFrame",
        ) from error


_COMPRESSION = re.compile(r"\.(gz|bz2|zst|snappy|lz4)$")


def _suffix_in(path: str) -> str:
    """Return the suffix of a file, or of the first visible file in a folder; empty if none."""
    try:
        system, folder = _system(uri_of(path))
        entries = system.get_file_info(fs.FileSelector(folder, recursive=True))
    except (OSError, pa.ArrowInvalid):  # a file, or an address for Spark alone
        return Path(_COMPRESSION.sub("", path)).suffix.lower()
    names = sorted(
        entry.path
        for entry in entries
        if entry.is_file and not entry.base_name.startswith(("_", "."))
    )
    return Path(_COMPRESSION.sub("", names[0])).suffix.lower() if names else ""


def send(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    """Return a Polars table as a Spark table, whose integers all have a sign."""
    return spark.createDataFrame(small_strings(_signed(frame).to_arrow()))


def _signed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with unsigned integers as 64-bit integers, or as decimals where these end."""
    columns = []
    for column in frame.select(unsigned_integer()):
        largest = int(cast("int | None", column.max()) or 0)
        columns.append(column.cast(pl.Int64 if largest < 2**63 else pl.Decimal(20, 0)))
    return frame.with_columns(columns)


def small_strings(table: pa.Table) -> pa.Table:
    """Return a table whose texts have the offsets of 32 bits that Spark reads."""
    large = (pa.large_string(), pa.string_view())
    fields = [
        field.with_type(pa.string()) if field.type in large else field for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def one_row(schema: pa.Schema, **values: Any) -> pa.Table:
    """Return one row, null where there is no value.

    PyArrow's own conversions of Python values import pandas, in every Python worker.
    """
    columns = pl.Schema(schema)
    return (
        pl.DataFrame({name: [values.get(name)] for name in columns}, schema=columns)
        .to_arrow()
        .cast(schema)
    )


def empty_of(frame: DataFrame) -> pl.DataFrame:
    """Return the columns of a Spark table as Polars has them, without rows."""
    return polars_schema(frame.schema).to_frame()


def named(source: DataFrame, role: TableRole, columns: Columns | None) -> SparkTable:
    """Return a DataFrame with standard column names."""
    _check_names(source.columns, role)
    source = _one_row_per_item(source, role)
    empty = empty_of(source)
    _refuse_lists(empty, role, overrides_for(columns, role))
    table = from_frame(empty, role, overrides_for(columns, role), role, "Spark table")
    for number in _NUMBERS:
        if number in table.columns:
            check_finite(table.frame[number], number, table)
    chosen = [
        _typed(name, standard, empty.schema[name], role).alias(standard)
        for standard, name in table.columns.items()
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
    """Expand a column of (item, rating) lists, as of ALS in Spark ML, to one row per item.

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
            rest = [name for name in source.columns if name != field.name]
            _check_names([*rest, *inner], role)
            none = sf.array(sf.lit(None).cast(kind.elementType))
            rows = source.select(
                *map(column, rest), sf.explode(sf.coalesce(column(field.name), none)).alias("row")
            )
            fields = (sf.col("row").getField(name).alias(name) for name in inner)
            return rows.select(*map(column, rest), *fields)
    return source


_CHANGES = "rand|randn|randstr|uniform|uuid|shuffle|monotonically_increasing_id|spark_partition_id|input_file_name"
_CHANGES_IN_PLAN = re.compile(rf"(?<![\w.])(?:{_CHANGES})\(", re.IGNORECASE)
"""A function of a plan that may give other values each time."""
_CALLED_LIKE_IT = re.compile(r"\w+\([^()]*\)#\d+")
"""A column whose name is the text of a call, as Spark calls what has no name; a number is behind it."""


def _is_repeatable(frame: DataFrame) -> bool:
    """Return whether Spark computes the same rows each time, as far as its plan says.

    A client of Spark Connect has the plan as text only, where functions of the user look like any
    other.
    """
    query = getattr(frame, "_jdf", None)
    if query is not None:
        return bool(query.queryExecution().analyzed().deterministic())
    explain: Any = getattr(frame, "_explain_string", None)
    plan = "" if explain is None else str(explain(extended=True))
    analyzed = plan.partition("== Analyzed Logical Plan ==")[2].partition(
        "== Optimized Logical Plan =="
    )[0]
    return _CHANGES_IN_PLAN.search(_CALLED_LIKE_IT.sub("", analyzed)) is None


def _refuse_lists(empty: pl.DataFrame, role: TableRole, columns: Mapping[str, str | None]) -> None:
    """Raise if a column of ids or numbers holds whole lists."""
    if role in ("users", "items"):
        return
    nested = [name for name, dtype in empty.schema.items() if isinstance(dtype, pl.List | pl.Array)]
    user = next(iter(names_of(empty.columns, role, "user")), "user")
    for name in nested:
        singular = plain_name(name).removesuffix("s")
        is_role = any(names_of([singular], role, standard) for standard in ROLES[role])
        if is_role or name in columns.values():
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
        cast, when = (
            f'F.col("{name}").cast("long")',
            ", if all are whole numbers, and in every table",
        )
    elif (
        isinstance(dtype, pl.Decimal)
        and dtype.precision is not None
        and dtype.precision <= _DIGITS_OF_LONG
    ):
        cast = f'F.col("{name}").cast("long")'
    elif dtype.is_nested():
        cast = f'F.to_json("{name}")'
    return f'cast the column{when or ", in every table"}: df.withColumn("{name}", {cast})'


def unify_ids(tables: Mapping[TableRole, SparkTable]) -> dict[TableRole, SparkTable]:
    """Return tables whose ids have one type: ``"1"`` and ``1`` would never match.

    Integers that were text in a file become text again if another table has text.

    Raises
    ------
    IdError
        If other integers stand beside text.
    """
    unified = dict(tables)
    for name in ("user", "item"):
        types = {
            role: table.empty.frame.schema[name]
            for role, table in tables.items()
            if name in table.empty.frame.columns
        }
        text = [role for role, dtype in types.items() if dtype == pl.String]
        integers = [role for role in types if text and role not in text]
        for role in integers:
            table = unified[role]
            if not table.empty.is_text:
                raise IdError(
                    f"{name} ids are integers in one table and strings in another, so none would "
                    "match",
                    where=f"{role} has integers, {text[0]} strings",
                    hint=f'cast the {name} column to one type: F.col("{name}").cast("long")',
                )
            unified[role] = table.with_frame(
                table.frame.withColumn(name, column(name).cast("string"))
            )
    return unified


def check_order(table: Table, ties: str | None) -> None:
    """Raise unless ranks or scores order the lists: rows of Spark have no order."""
    names = table.frame.columns
    if "rank" not in names and "score" not in names:
        raise ColumnError(
            "rows of a Spark table have no order, so lists need a rank or a score",
            where=table.role,
            found=f"columns {', '.join(names)}",
            hint=f"add a rank, or name the column: {parameter('columns', {'rank': '…'})}",
        )
    if "rank" not in names and ties == "input":
        raise ParameterError(
            "rows of a Spark table have no order, so tied scores cannot be kept in it",
            found=parameter("ties", "input"),
            hint=f"take {parameter('ties', 'expected')} or {parameter('ties', 'item')}, or "
            "evaluate on one machine: "
            f"{call('evaluate')} takes it",
        )
