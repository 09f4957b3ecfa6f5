"""The types that columns of Spark have in Polars.

PySpark's own conversion of a schema to Arrow is private, and its arguments changed between 4.0 and 4.3.
"""

from __future__ import annotations

import polars as pl
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
)

from rankwise.errors import ColumnError

_PLAIN: dict[type[DataType], pl.DataType] = {
    StringType: pl.String(),
    BinaryType: pl.Binary(),
    BooleanType: pl.Boolean(),
    ByteType: pl.Int8(),
    ShortType: pl.Int16(),
    IntegerType: pl.Int32(),
    LongType: pl.Int64(),
    FloatType: pl.Float32(),
    DoubleType: pl.Float64(),
    DateType: pl.Date(),
    TimestampType: pl.Datetime("us", "UTC"),
    TimestampNTZType: pl.Datetime("us"),
    DayTimeIntervalType: pl.Duration("us"),
    NullType: pl.Null(),
}


def polars_schema(schema: StructType) -> pl.Schema:
    """Return the types of a Spark table's columns as Polars has them; raise if it has none.

    >>> from pyspark.sql.types import ArrayType, LongType, StructField
    >>> polars_schema(StructType([StructField("items", ArrayType(LongType()))]))["items"]
    List(Int64)
    """
    return pl.Schema({field.name: _polars_type(field.dataType) for field in schema})


def _polars_type(kind: DataType) -> pl.DataType:
    if isinstance(kind, ArrayType):
        return pl.List(_polars_type(kind.elementType))
    if isinstance(kind, StructType):
        return pl.Struct({field.name: _polars_type(field.dataType) for field in kind})
    if isinstance(kind, MapType):
        return pl.Map(_polars_type(kind.keyType), _polars_type(kind.valueType))
    if isinstance(kind, DecimalType):
        return pl.Decimal(kind.precision, kind.scale)
    if isinstance(kind, UserDefinedType):
        return _polars_type(kind.sqlType())

    plain = next((_PLAIN[each] for each in type(kind).__mro__ if each in _PLAIN), None)
    if plain is None:
        raise ColumnError(
            "a column has a type that Polars does not have",
            found=kind.simpleString(),
            hint="select the columns that are needed",
        )
    return plain
