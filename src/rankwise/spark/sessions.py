"""The Spark session, the Python of its workers, and Spark's errors as errors of rankwise."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PySparkImportError
from pyspark.sql import SparkSession

from rankwise.errors import InputError, OutputError, ParameterError, UsageError

__all__ = ["active_session", "errors_of_spark", "output_errors_of_spark", "session", "words_of"]

_DEFAULT_PYTHON = "python3"  # what PySpark starts as a worker if nothing else is set
_OF_WORKERS = {
    re.compile(r"^(ModuleNotFoundError|ImportError): .*", re.MULTILINE): "Spark's Python workers lack a package",
    re.compile(r"Python in worker has different version.*"): "Spark's Python workers run another version of Python",
    re.compile(r"Cannot run program .*"): "Spark cannot start the Python of its workers",
}
"""What the exceptions of an installation say, and its meaning."""


def active_session(spark: SparkSession | None) -> SparkSession:
    """Return a session, by default the active one."""
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is not None and not hasattr(session, "createDataFrame"):
        raise ParameterError("spark must be a SparkSession", found=f"spark={spark!r}"[:80])
    if session is None:
        raise ParameterError("there is no active Spark session", hint="pass spark=SparkSession.builder.getOrCreate()")
    _use_interpreter_of_driver(session)
    return session


def _use_interpreter_of_driver(session: SparkSession) -> None:
    """Let the workers of a local master run the driver's own Python, unless the user has set another.

    PySpark starts whatever ``python3`` is on the PATH. Where a program is called by its path, with no
    environment activated, that is another Python, without rankwise or with another version of it.
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
        made: SparkSession = (builder if master is None else builder.master(master)).getOrCreate()
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
def errors_of_spark() -> Iterator[None]:
    """Raise an error of rankwise where Spark fails: of its installation, or of the tables."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _installation_error(error) or InputError(
            "Spark fails to compute these tables",
            found=words_of(error),
            hint='this computes one table with all of its columns: df.write.format("noop").mode("overwrite").save()',
        ) from error


def _installation_error(error: Exception) -> UsageError | None:
    """Return the error for packages that are missing or differ between machines; None for others.

    They are the user's to mend, but not in the tables.
    """
    if isinstance(error, PySparkImportError):
        return UsageError("PySpark lacks a package", found=words_of(error), hint='pip install "rankwise[spark]"')
    for pattern, what in _OF_WORKERS.items():
        line = pattern.search(str(error))
        if line is not None:
            return UsageError(what, found=line[0], hint=_interpreter_hint())
    return None


def _interpreter_hint() -> str:
    """Return what makes workers find the packages of the driver."""
    session = SparkSession.getActiveSession()
    context: Any = None if session is None or getattr(session, "_jsc", None) is None else session.sparkContext
    if context is not None and context.master.startswith("local"):
        return f"set PYSPARK_PYTHON={sys.executable} before Spark starts"
    return "install rankwise there, or send an environment (--archives), and set PYSPARK_PYTHON to its Python"


@contextlib.contextmanager
def output_errors_of_spark(where: str) -> Iterator[None]:
    """Raise an `OutputError` where Spark cannot write."""
    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        raise OutputError("this cannot be written", where=where, found=words_of(error)) from error
