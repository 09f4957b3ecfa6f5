"""What goes between driver and executors, without Spark: merged rows, versions, errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest

from rankwise.encoding.side_information import TrainingCounts
from rankwise.errors import DuplicateError, IdError, ParameterError
from rankwise.evaluation.engine import prepare
from rankwise.evaluation.settings import Settings
from rankwise.tables.read import read_table
from rankwise.tables.table import Tables

bucket_work = pytest.importorskip("rankwise.spark.bucket_work")
cloudpickle = pytest.importorskip("pyspark.cloudpickle")

LISTS = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "rank": [1, 2, 1]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [6, 7]})


@pytest.fixture
def work():
    job = prepare(
        Settings.read(["recall@2", "gini@2"], {}), Tables(), training_counts=TrainingCounts()
    )
    tables = {"recommendations": LISTS, "truth": TRUTH}
    sources = {
        role: read_table(frame, role).with_frame(frame.clear()) for role, frame in tables.items()
    }
    return bucket_work.BucketWork(cloudpickle.dumps(job), sources, {})


def run(work, bucket, lists=LISTS, truth=TRUTH):
    return work.run(bucket, lambda: {"recommendations": lists, "truth": truth})


def merged(*rows):
    return bucket_work.merge_rows(pa.concat_tables(rows)).to_pylist()[0]


def test_a_bucket_that_comes_twice_is_an_error(work):
    """As if Spark had split the rows of a group, or counted a task twice."""
    some = [run(work, 3, LISTS.filter(user=1)), run(work, 4), run(work, 3, LISTS.filter(user=2))]
    row = merged(bucket_work.merge_rows(pa.concat_tables(some[:2])), some[2])
    with pytest.raises(DuplicateError, match="in two pieces") as error:
        bucket_work.check_row(row, work.sources)
    assert error.value.where == "bucket 3"


def test_another_version_on_an_executor_is_an_error(work):
    row = merged(run(replace(work, version="0.0.1"), 0))
    with pytest.raises(ParameterError, match="different versions") as error:
        bucket_work.check_row(row, work.sources)
    assert "0.0.1" in error.value.found


def test_nulls_of_all_buckets_add_up_and_come_before_other_errors(work):
    twice = pl.concat([LISTS, LISTS])
    null = LISTS.with_columns(item=pl.lit(None, pl.Int64))
    row = merged(run(work, 0, twice), run(work, 1, null), run(work, 2, null))
    with pytest.raises(IdError, match="an item id is null") as error:
        bucket_work.check_row(row, work.sources)
    assert error.value.found == "6 null ids"


def test_the_error_of_the_first_bucket_is_raised_without_a_number_of_a_row(work):
    bad = LISTS.with_columns(rank=pl.Series([1.0, float("nan"), 1.0]))
    twice = pl.concat([LISTS, LISTS])
    row = merged(run(work, 5, twice), run(work, 2, bad), run(work, 7))
    with pytest.raises(ValueError, match="NaN") as error:
        bucket_work.check_row(row, work.sources)
    assert "row" not in error.value.where
    assert "of one bucket" in error.value.found


def test_rows_of_buckets_are_made_without_pandas():
    """To import it would take each Python worker longer than its first bucket of a million rows."""
    script = """
import sys
import pyarrow as pa
import rankwise.spark.bucket_work
from rankwise.spark.tables import one_row
row = one_row(pa.schema([("partial", pa.binary()), ("buckets", pa.list_(pa.int32()))]), partial=b"1")
assert row.to_batches()[0].num_rows == 1
print("pandas" in sys.modules, row.to_pylist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split(maxsplit=1) == ["False", "[{'partial': b'1', 'buckets': None}]\n"]
