"""Which Python workers run, and what is said where Spark is not installed as an evaluation needs it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkImportError, PySparkRuntimeError
from spark_worlds import frames, on_spark

import rankwise as rw
from rankwise.errors import InputError, OutputError, UsageError
from rankwise.spark import evaluate, split
from rankwise.spark.tables import _is_repeatable, active_session, errors_of_spark
from rankwise.splits import LeaveOut


@pytest.fixture
def workers(spark, monkeypatch):
    """The Spark context, as PySpark makes it where nothing names the Python of workers."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")
    return spark.sparkContext


def test_local_workers_run_the_interpreter_of_the_driver(spark, workers):
    """Whatever ``python3`` is on the PATH."""
    tables = frames(11)
    sent = on_spark(spark, {role: tables[role] for role in ("recommendations", "truth")})
    value = evaluate(sent["recommendations"], sent["truth"], "recall@5", spark=spark)["recall@5"]
    assert workers.pythonExec == sys.executable
    assert value == rw.evaluate(tables["recommendations"], tables["truth"], "recall@5")["recall@5"]


def test_splits_use_it_too(spark, workers):
    rows = [(user, item, user + item) for user in range(3) for item in range(5)]
    split(
        spark.createDataFrame(rows, "user long, item long, timestamp long"),
        LeaveOut(1, which="last"),
    )
    assert workers.pythonExec == sys.executable


def test_a_python_that_the_user_names_stays(spark, workers, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    active_session(spark)
    assert workers.pythonExec == "python3"
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(workers, "pythonExec", "/usr/bin/python3.99")
    active_session(spark)
    assert workers.pythonExec == "/usr/bin/python3.99"


@pytest.mark.parametrize("master", ["yarn", "spark://head:7077", "k8s://https://head"])
def test_a_cluster_chooses_its_python(monkeypatch, master):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    settings = SimpleNamespace(contains=lambda name: False)
    context = SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: settings)
    active_session(SimpleNamespace(_jsc=object(), sparkContext=context, createDataFrame=None))
    assert context.pythonExec == "python3"


def test_a_split_says_it_too(spark, workers, monkeypatch):
    rows = [(user, item, user + item) for user in range(3) for item in range(5)]
    table = spark.createDataFrame(rows, "user long, item long, timestamp long")
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    monkeypatch.setattr(workers, "pythonExec", "/nowhere/python")
    with pytest.raises(UsageError, match="cannot start the Python of its workers"):
        split(table, LeaveOut(1, which="random"))


def test_workers_without_a_python(spark, workers, monkeypatch):
    """Neither the tables nor their columns are at fault."""
    sent = on_spark(spark, {role: frames(12)[role] for role in ("recommendations", "truth")})
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    monkeypatch.setattr(workers, "pythonExec", "/nowhere/python")
    with pytest.raises(UsageError, match="cannot start the Python of its workers") as error:
        evaluate(sent["recommendations"], sent["truth"], "recall@5", spark=spark)
    assert f"PYSPARK_PYTHON={sys.executable}" in error.value.hint


RAISED = {
    "no pandas": (
        PySparkImportError("[PACKAGE_NOT_INSTALLED] Pandas"),
        "lacks a package",
        'pip install "rankwise',
    ),
    "no rankwise": (
        PySparkRuntimeError("a stack trace\nModuleNotFoundError: No module named 'rankwise'\n"),
        "workers lack a package",
        "PYSPARK_PYTHON=",
    ),
    "another Python": (
        PySparkRuntimeError(
            "PySparkRuntimeError: Python in worker has different version: 3.9 than that in driver"
        ),
        "another version of Python",
        "PYSPARK_PYTHON=",
    ),
}


@pytest.mark.parametrize(("raised", "message", "hint"), RAISED.values(), ids=RAISED)
def test_faults_of_an_installation(spark, raised, message, hint):
    with pytest.raises(UsageError, match=message) as error, errors_of_spark():
        raise raised
    assert hint in error.value.hint
    assert "stack" not in error.value.found


@pytest.mark.parametrize(
    "raised", [PySparkRuntimeError("[DIVIDE_BY_ZERO] by zero"), Py4JError("by zero")]
)
def test_faults_of_tables(raised):
    with pytest.raises(InputError, match="fails to compute") as error, errors_of_spark():
        raise raised
    assert "by zero" in error.value.found
    assert not isinstance(error.value, OutputError)


def test_the_hint_finds_what_count_does_not(spark):
    """Spark leaves out of a count the columns that it does not need."""
    table = spark.range(3).selectExpr("id", "cast(concat('x', id) as double) as score")
    assert table.count() == 3
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        table.write.format("noop").mode("overwrite").save()


PLANS = {
    "Project [user#1, rand(818560735) AS score#3]": False,
    "Project [user#1, (rand(5) + cast(1 as double)) AS score#3]": False,
    "Project [user#1, uuid(Some(81)) AS item#3]": False,
    "Project [user#1, monotonically_increasing_id() AS item#3L]": False,
    "Project [user#1, rand(5) AS rand(5)#3]": False,
    "Project [user#1, rand(5)#3 AS score#4]": True,
    "Project [user#1, operand(5) AS score#3]": True,
    "Relation [user#1,item#2,score#3] parquet": True,
}


@pytest.mark.parametrize(("plan", "repeatable"), PLANS.items())
def test_plans_of_spark_connect(plan, repeatable):
    """A client has the text of a plan alone; names of columns are no calls."""
    whole = f"== Parsed Logical Plan ==\nrand(1)\n== Analyzed Logical Plan ==\n{plan}\n== Optimized Logical Plan ==\nx"
    assert _is_repeatable(SimpleNamespace(_explain_string=lambda extended: whole)) is repeatable


def test_the_text_of_a_plan_says_what_spark_says(spark):
    table = spark.range(4).selectExpr("id as user", "id + 1 as item")
    changes = [
        "rand()",
        "randn(3)",
        "uuid()",
        "monotonically_increasing_id()",
        "spark_partition_id()",
    ]
    changes += ["shuffle(array(user, 2))", "uniform(1, 5)", "round(rand() * 3)"]
    for expression in ["user * 2", "hash(user)", *changes]:
        other = table.selectExpr("*", f"{expression} as x")
        text = other._jdf.queryExecution().toString()
        assert _is_repeatable(
            SimpleNamespace(_explain_string=lambda extended, text=text: text)
        ) == _is_repeatable(other)
