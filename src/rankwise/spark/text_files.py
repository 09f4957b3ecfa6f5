"""Files that Spark reads by path: ids as written, numbers, and ``key=value`` folders as text.

Spark's own types would read ``01`` as 1, and keep the blanks around an id. All columns are read as
text; one pass over the file tells which of them hold numbers, as reading in memory does.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from rankwise.errors import ColumnError, FileError
from rankwise.tables.columns import ROLES, may_have_names, recognise
from rankwise.tables.formats import Format, check_first_line, sniff
from rankwise.tables.frames import NUMBERS
from rankwise.tables.read import IDS, blanks_error
from rankwise.tables.table import TableRole

_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_NUMBER = r"^(?i)([-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|[-+]?(inf|infinity|nan))$"
_AROUND = r"^\s+|\s+$"
_SAMPLE = 200  # rows that tell a header from a row


@dataclass(frozen=True, eq=False, repr=False)
class SparkFile:
    """The rows of a file, with facts on the text of its ids.

    Attributes
    ----------
    frame : DataFrame
        Its columns, under their names.
    is_text : bool, default=False
        Whether ids were text, and are integers because all are written as such.
    trimmed : int, default=0
        The number of ids with blanks around them, which were removed.
    """

    frame: DataFrame
    is_text: bool = False
    trimmed: int = 0


def quoted(name: str) -> Column:
    """Return a column by its name, which may have any characters."""
    return sf.col("`" + name.replace("`", "``") + "`")


def read_text(
    spark: SparkSession, path: str, role: TableRole, overrides: Mapping[str, str | None]
) -> SparkFile:
    """Read a text file with a header, or a folder of text files with headers.

    Raises
    ------
    FileError
        If there is no header, a line repeats it, or a number is none.
    IdError
        If two ids differ by blanks alone.
    """
    layout = _layout(spark, path)
    reader = spark.read.format("csv").options(
        header=True, sep=layout.separator, enforceSchema=False, mode="FAILFAST"
    )
    frame = with_text_keys(reader, path, reader.load(path))
    frame = frame.toDF(*(name.strip() for name in frame.columns))
    frame = frame.select([quoted(name).cast("string").alias(name) for name in frame.columns])
    _check_header(frame, layout, path, role, overrides)
    columns: dict[str, str] = {}
    with contextlib.suppress(ColumnError):  # raised again when the table is made
        columns = recognise(frame.columns, role, overrides, path)
    kinds = _Kinds.from_rows(frame, columns, path)
    ids = [name for role_, name in columns.items() if role_ in IDS]
    trimmed = sum(kinds.blanks[name] for name in ids)
    for name in ids:
        if name not in kinds.all_filled:
            raise FileError(
                f"column {name!r} is empty in some lines",
                where=path,
                hint="drop them, or fill them",
            )
        if kinds.blanks[name]:
            _check_blanks(frame, name, path)
    typed = frame.select(
        [kinds.typed(name, is_id=name in ids).alias(name) for name in frame.columns]
    )
    return SparkFile(typed, is_text=True, trimmed=trimmed)


def with_text_keys(reader: DataFrameReader, path: str, frame: DataFrame) -> DataFrame:
    """Return a table with ``key=value`` folder columns as text, unless all are whole numbers."""
    values: dict[str, set[str]] = {}
    for file in frame.inputFiles():
        for part in PurePosixPath(file).parts[:-1]:
            key, equals, value = part.partition("=")
            if equals and unquote(key) in frame.columns:
                values.setdefault(unquote(key), set()).add(unquote(value))
    text = {
        key
        for key, texts in values.items()
        if not all(re.fullmatch(_WHOLE, value) for value in texts)
    }
    if not text:
        return frame
    fields = [
        StructField(field.name, StringType()) if field.name in text else field
        for field in frame.schema.fields
    ]
    return reader.schema(StructType(fields)).load(path)


def _layout(spark: SparkSession, path: str) -> Format:
    """Return the format of a file, or of the files in a folder, by its first line."""
    first = spark.read.text(path).select("value").first()
    if first is None:
        raise FileError("the file is empty", where=path)
    name = PurePosixPath(path).name
    layout = sniff(name if "." in name else f"{name}.csv", str(first["value"]).encode())
    if layout.name not in ("csv", "recbole"):
        raise FileError(
            "on Spark, text is read by path if it has a header: CSV, TSV and RecBole's files",
            where=path,
            found=str(layout),
            hint="pass a table or DataFrame, or evaluate without Spark, which reads this format",
        )
    return layout


def _check_header(
    frame: DataFrame,
    layout: Format,
    path: str,
    role: TableRole,
    overrides: Mapping[str, str | None],
) -> None:
    """Raise if the first line, of which no name is known, may be a row."""
    names = frame.columns
    if may_have_names(names, role, ROLES[role]):
        return
    rows = frame.limit(_SAMPLE).collect()
    chosen = [name for name in overrides.values() if name in names]

    def values(name: str) -> Sequence[str]:
        return [str(row[name]).strip() for row in rows if row[name] is not None]

    check_first_line(names, chosen, values, path, layout.separator.join(names))


def _check_blanks(frame: DataFrame, name: str, path: str) -> None:
    """Raise if two ids differ by nothing but the blanks around them."""
    ids = (
        frame.select(quoted(name).alias("id"))
        .distinct()
        .groupBy(sf.regexp_replace("id", _AROUND, "").alias("plain"))
    )
    twice = ids.agg(
        sf.count("id").alias("n"), sf.min("id").alias("one"), sf.max("id").alias("other")
    )
    pair = twice.filter("n > 1").first()
    if pair is not None:
        raise blanks_error(pair["one"], pair["other"], f"{path}, column {name!r}")


@dataclass(frozen=True, eq=False, repr=False)
class _Kinds:
    """The types, blanks and empty fields of the text of each column, by name.

    Attributes
    ----------
    types : dict of str to str
        The type of Spark of all that is written in the column; ``"string"`` for text.
    blanks : dict of str to int
        How many fields have blanks around them.
    all_filled : set of str
        Columns without an empty field.
    """

    types: dict[str, str]
    blanks: dict[str, int]
    all_filled: set[str]

    @classmethod
    def from_rows(cls, frame: DataFrame, columns: Mapping[str, str], path: str) -> _Kinds:
        """Find the kinds of all columns in one pass over the rows."""
        names = frame.columns
        is_header = reduce(operator.and_, [quoted(name) == sf.lit(name) for name in names])
        counts = [sf.count(sf.lit(1)).alias("rows"), sf.count_if(is_header).alias("headers")]
        for at, name in enumerate(names):
            counts += _counts(at, name, is_time=name == columns.get("timestamp"))
        row = frame.agg(*counts).first()
        assert row is not None
        if row["headers"]:
            raise FileError(
                "a line repeats the header: files joined with their headers, or ids that are "
                "called as the columns are",
                where=path,
                found=f"{row['headers']} such lines below the first",
                hint="delete these lines; if they are rows, give the columns other names in the "
                "first line",
            )

        types = {name: _type_of(row, at) for at, name in enumerate(names)}
        numbers = {columns[role] for role in NUMBERS if role in columns}
        for at, name in enumerate(names):
            if name in numbers and row[f"filled{at}"] and types[name] == "string":
                raise FileError(
                    f"column {name!r} is not a number", where=path, found=repr(row[f"odd{at}"])
                )
        blanks = {name: row[f"blanks{at}"] for at, name in enumerate(names)}
        filled = {name for at, name in enumerate(names) if row[f"filled{at}"] == row["rows"]}
        return cls(types, blanks, filled)

    def typed(self, name: str, *, is_id: bool) -> Column:
        """Return a column in its type; ids are whole numbers or text, stripped of blanks."""
        kind, text = self.types[name], _plain(name)
        if is_id:
            return text.cast("bigint") if kind == "bigint" else text
        if kind == "string":
            return quoted(name)
        return sf.when(text != "", text).cast(kind)


def _plain(name: str) -> Column:
    """Return the text of a column, stripped of surrounding blanks."""
    return sf.regexp_replace(quoted(name), _AROUND, "")


def _counts(at: int, name: str, *, is_time: bool) -> list[Column]:
    """Return the counts over the text of one column."""
    text = _plain(name)
    is_number = text.rlike(_NUMBER)
    escaped = name.replace("`", "``")
    is_moment = sf.expr(
        f"try_cast(`{escaped}` as timestamp_ntz) is not null" if is_time else "false"
    )
    return [
        sf.count_if(text != "").alias(f"filled{at}"),
        sf.count_if(text.rlike(_WHOLE)).alias(f"bigint{at}"),
        sf.count_if(is_number).alias(f"double{at}"),
        sf.count_if(sf.lower(text).isin("true", "false")).alias(f"boolean{at}"),
        sf.count_if(is_moment).alias(f"timestamp_ntz{at}"),
        sf.count_if(text != quoted(name)).alias(f"blanks{at}"),
        sf.min(sf.when((text != "") & ~is_number, quoted(name))).alias(f"odd{at}"),
    ]


def _type_of(row: Any, at: int) -> str:
    """Return the type of Spark that all text of a column is written as."""
    kinds = ("bigint", "double", "boolean", "timestamp_ntz")
    filled = row[f"filled{at}"]
    return next((kind for kind in kinds if filled and row[f"{kind}{at}"] == filled), "string")
