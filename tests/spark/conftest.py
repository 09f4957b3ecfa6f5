"""One Spark session for all tests of the engine: starting one takes seconds."""

from __future__ import annotations

import os
import shutil
import warnings

import pytest

pytest.importorskip("pyspark")


NO_JAVA = shutil.which("java") is None and "JAVA_HOME" not in os.environ


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "spark":
            item.add_marker(pytest.mark.skipif(NO_JAVA, reason="Spark needs Java, and there is none"))
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
