"""One Spark session for all tests of the engine: starting one takes seconds."""

from __future__ import annotations

import os
import warnings

import pytest

pytest.importorskip("pyspark")


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"))
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark():
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.default.parallelism", "2")
            .config("spark.log.level", "ERROR")
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # short jobs
            .getOrCreate()
        )
    yield session
    session.stop()
