"""One Spark session for all tests of the engine: starting one takes seconds."""

from __future__ import annotations

import os
import warnings

import pytest

from tools import installed, java

# What starts as a script, and what only tests import; without PySpark, the tests as well.
collect_ignore = ["cluster.py", "spark_worlds.py"]
collect_ignore_glob = [] if all(map(installed, ("pyspark", "pyarrow", "pandas"))) else ["test_*.py"]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups: one JVM for all processes
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "spark":
            item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"))
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.slow)  # a JVM starts for the first of them


@pytest.fixture(scope="session")
def jvm():
    """Skip what needs Java where there is none."""
    if java() is None:
        pytest.skip("Spark needs Java, and there is none")


FIXED_PLANS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings that run plans as they are: to adapt and to compile them takes longer than small tables."""


@pytest.fixture(scope="module")
def usual_plans(spark):
    """Let Spark adapt and compile plans, as it does for everybody; a deep check does so throughout."""
    before = {name: spark.conf.get(name) for name in FIXED_PLANS}
    for name in FIXED_PLANS:
        spark.conf.unset(name)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="session")
def spark(jvm, request):
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", "2g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.default.parallelism", "2")
            .config("spark.log.level", "ERROR")
            .config(
                "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn600m"
            )  # short jobs, small heaps
            .getOrCreate()
        )
    if request.config.getoption("--hypothesis-profile") != "deep":
        for name, value in FIXED_PLANS.items():
            session.conf.set(name, value)
    yield session
    session.stop()
