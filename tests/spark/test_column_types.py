"""Types of Spark's columns in Polars are those that Polars reads from Spark's own tables."""

from __future__ import annotations

import polars as pl
import pytest
from pyspark.sql.types import StructType, YearMonthIntervalType

from rankwise.errors import ColumnError
from rankwise.spark.column_types import polars_schema

COLUMNS = {
    "text": "'a'",
    "bytes": "X'1F'",
    "yes": "true",
    "byte": "1Y",
    "short": "1S",
    "whole": "1",
    "long": "1L",
    "single": "CAST(0.5 AS FLOAT)",
    "double": "0.5D",
    "price": "CAST(12.34 AS DECIMAL(10, 2))",
    "day": "DATE'2026-11-28'",
    "time": "TIMESTAMP'2026-11-28 01:02:03'",
    "clock": "TIMESTAMP_NTZ'2026-11-28 01:02:03'",
    "wait": "INTERVAL '1 02:03:04' DAY TO SECOND",
    "nothing": "NULL",
    "items": "ARRAY(1L, 2L)",
    "pair": "NAMED_STRUCT('item', 'a', 'scores', ARRAY(0.5D))",
    "grades": "MAP('a', 2, 'b', 1)",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_type_is_the_one_that_polars_reads(spark, name):
    frame = spark.sql(f"SELECT {COLUMNS[name]} AS `{name}`")
    assert polars_schema(frame.schema) == pl.DataFrame(frame.toArrow()).schema


def test_a_type_that_polars_lacks_is_refused():
    months = StructType().add("subscribed for", YearMonthIntervalType())
    with pytest.raises(ColumnError, match="Polars does not have"):
        polars_schema(months)
