"""The roads that give the same bits: without kernels, threads, pieces, chunks, PyTorch, Spark, the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from random_worlds import Case

import rankwise as rw
from command_line import rankwise_here
from rankwise.core import kernels
from tools import installed, java

Tables: TypeAlias = Mapping[str, pl.DataFrame]
Road: TypeAlias = Callable[[Case, Tables, tuple[str, ...]], rw.Result | None]

WHOLE_ONLY = {"exclude_seen", "jackknife"}
"""Options that need all lists at once."""


def around(tables: Tables) -> dict[str, pl.DataFrame]:
    """Return the tables beside lists and ground truth."""
    return {
        role: table for role, table in tables.items() if role not in ("recommendations", "truth")
    }


def base(case: Case, tables: Tables, metrics: tuple[str, ...], **more: Any) -> rw.Result:
    """Evaluate in one thread with kernels: what the other roads are compared with."""
    options = {"threads": 1, **case.options, **more}
    return rw.evaluate(
        tables["recommendations"], tables["truth"], list(metrics), **around(tables), **options
    )


def numpy(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result:
    """Evaluate without compiled kernels."""
    with kernels.without_library():
        return base(case, tables, metrics)


def threads(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result:
    """Evaluate in three threads and blocks of two users."""
    return base(case, tables, metrics, threads=3, block_size=2)


def shuffled(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result | None:
    """Evaluate rows in another order; none where their order means something."""
    ordered = (
        case.order == "rows" or case.repeats or "input" in (case.options.get("ties"), _ties(case))
    )
    kept = ("reference", *(["recommendations"] if ordered else []))
    return base(
        case,
        {
            r: t if r in kept else t.sample(fraction=1, shuffle=True, seed=7)
            for r, t in tables.items()
        },
        metrics,
    )


def _ties(case: Case) -> str | None:
    convention = case.options.get("convention")
    return rw.conventions()[convention].ties if convention else None


def pieces(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result | None:
    """Evaluate three pieces whose partials are pickled and merged in another order."""
    if WHOLE_ONLY & set(case.options):
        return None
    users = tables["recommendations"]["user"].unique().sort()
    evaluators = []
    for part in range(min(3, len(users))):
        evaluator = rw.Evaluator(
            list(metrics), truth=tables["truth"], **around(tables), **case.options
        )
        own = pl.col("user").is_in(users.gather_every(3, part).implode())
        evaluators.append(evaluator.update(tables["recommendations"].filter(own)))
    first, *rest = evaluators[::-1]
    return first.merge(*(pickle.loads(pickle.dumps(one.partial())) for one in rest)).result()


def chunks(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result | None:
    """Evaluate chunks of a Parquet file."""
    if WHOLE_ONLY & set(case.options) or case.repeats:
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lists.parquet"
        lists = tables["recommendations"]
        lists.write_parquet(path, row_group_size=3)
        return base(case, {**tables, "recommendations": path}, metrics, chunk_rows=4)


def cli_parquet(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result:
    """Evaluate Parquet files with the command line, and load the result that it saves."""
    return _command(case, tables, metrics, "parquet")


def cli_csv(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result:
    """Evaluate CSV files with the command line; the catalogue, which holds lists, stays Parquet."""
    return _command(case, tables, metrics, "csv")


def _command(case: Case, tables: Tables, metrics: tuple[str, ...], suffix: str) -> rw.Result:
    with TemporaryDirectory() as folder:
        names = {role: f"{role}.{'parquet' if role == 'items' else suffix}" for role in tables}
        for role, table in tables.items():
            write = table.write_parquet if names[role].endswith("parquet") else table.write_csv
            write(Path(folder) / names[role])
        arguments = [names["recommendations"], names["truth"], "--save", "saved"]
        for role in around(tables):
            arguments += [f"--{role}", names[role]]
        for metric in metrics:
            arguments += ["-m", metric]
        for name, value in case.options.items():
            flag = "--" + {"relevance_threshold": "threshold"}.get(name, name).replace("_", "-")
            for one in value if isinstance(value, list) else [value]:
                arguments += [flag] if one is True else [flag, str(one)]
        done = rankwise_here(folder, "evaluate", *arguments)
        if done.returncode:
            raise RuntimeError(f"rankwise evaluate {' '.join(arguments)}: {done.stderr}")
        return rw.load(Path(folder) / "saved")


@cache
def session() -> Any:
    """Start one Spark session."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()


def spark(case: Case, tables: Tables, metrics: tuple[str, ...]) -> rw.Result | None:
    """Evaluate three buckets of users on Spark."""
    from spark_worlds import on_spark

    import rankwise.spark as rs

    if case.order == "rows" or case.repeats or "input" in (case.options.get("ties"), _ties(case)):
        return None  # rows have no order in Spark
    sent = on_spark(session(), tables)
    lists, truth = sent["recommendations"], sent["truth"]
    return rs.evaluate(
        lists, truth, list(metrics), spark=session(), buckets=3, **around(sent), **case.options
    )


FAST: dict[str, Road] = {
    "numpy": numpy,
    "threads": threads,
    "shuffled": shuffled,
    "pieces": pieces,
    "chunks": chunks,
}
COMMANDS: dict[str, Road] = {"cli_parquet": cli_parquet, "cli_csv": cli_csv}
SPARK: dict[str, Road] = {"spark": spark} if installed("pyspark") and java() else {}
ROADS = {**FAST, **COMMANDS, **SPARK}


def compared(ours: rw.Result, theirs: rw.Result) -> Iterator[tuple[str, Any, Any]]:
    """Yield everything numeric of two results: name, value here, value there."""
    for name in {**ours.values, **theirs.values}:
        yield name, ours.values.get(name, "none"), theirs.values.get(name, "none")
    yield "counts", ours.counts, theirs.counts
    for what in ("per_user", "slices", "replicates"):
        tables = [getattr(result, what) for result in (ours, theirs)]
        if None in [None if table is None else 0 for table in tables]:
            yield what, *(table is None for table in tables)
            continue
        columns = [[f"{name} of {what}" for name in table.columns] for table in tables]
        yield f"columns of {what}", *columns
        for name in tables[0].columns if columns[0] == columns[1] else []:
            yield f"{name} of {what}", *(table[name].to_list() for table in tables)


def is_same(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Return whether two values are equal, or near enough."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            is_same(a, b, tolerance) for a, b in zip(ours, theirs, strict=True)
        )
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return bool(np.isclose(ours, theirs, rtol=tolerance, atol=tolerance / 10, equal_nan=True))
    return bool(ours == theirs)
