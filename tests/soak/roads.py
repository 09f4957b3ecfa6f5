"""The roads that give the same bits: without kernels, threads, pieces, chunks, PyTorch, Spark, the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
from kinds import HAS_SPARK, HAS_TORCH, PLAIN, TORCH, Comparison, Kind, Values, numbers_of
from plain_values import plain_differences
from random_worlds import Case, cases

import rankwise as rw
from command_line import rankwise_here
from rankwise.core import kernels

Road: TypeAlias = Callable[[Case, Path], rw.Result | None]

WHOLE_ONLY = {"exclude_seen", "jackknife"}
"""Options that need all lists at once."""


def around(case: Case) -> dict[str, pl.DataFrame]:
    """Return the tables beside lists and ground truth."""
    return {
        role: table
        for role, table in case.tables.items()
        if role not in ("recommendations", "truth")
    }


def base(case: Case) -> rw.Result:
    """Evaluate in one thread with kernels: what the other roads are compared with."""
    return case.evaluate(case.tables)


def numpy(case: Case, _folder: Path) -> rw.Result:
    """Evaluate without compiled kernels."""
    with kernels.without_library():
        return base(case)


def threads(case: Case, _folder: Path) -> rw.Result:
    """Evaluate in three threads and blocks of two users."""
    return case.evaluate(case.tables, threads=3, block_size=2)


def shuffled(case: Case, _folder: Path) -> rw.Result | None:
    """Evaluate rows in another order; none where their order means something."""
    ordered = case.order == "rows" or case.repeats or "input" in _ties(case)
    kept = ("reference", *(["recommendations"] if ordered else []))
    tables = {
        role: table if role in kept else table.sample(fraction=1, shuffle=True, seed=7)
        for role, table in case.tables.items()
    }
    return case.evaluate(tables)


def _ties(case: Case) -> set[str | None]:
    """Return the orders of ties of the case, of its convention, and of metrics of the convention."""
    named = case.options.get("convention")
    convention = rw.conventions()[named] if named else None
    metrics = convention.metrics.values() if convention else ()
    return {
        case.options.get("ties"),
        convention.ties if convention else None,
        *(entry.choices.get("ties") for entry in metrics),
    }


def pieces(case: Case, _folder: Path) -> rw.Result | None:
    """Evaluate three pieces whose partials are pickled and merged in another order."""
    if WHOLE_ONLY & set(case.options):
        return None
    lists, truth = case.tables["recommendations"], case.tables["truth"]
    users = lists["user"].unique().sort()
    evaluators = []
    for part in range(min(3, len(users))):
        evaluator = rw.Evaluator(list(case.usable), truth=truth, **around(case), **case.options)
        rows = pl.col("user").is_in(users.gather_every(3, part).implode())
        evaluators.append(evaluator.update(lists.filter(rows)))
    first, *rest = evaluators[::-1]
    return first.merge(*(pickle.loads(pickle.dumps(one.partial())) for one in rest)).result()


def chunks(case: Case, folder: Path) -> rw.Result | None:
    """Evaluate chunks of a Parquet file."""
    if WHOLE_ONLY & set(case.options) or case.repeats:
        return None
    path = folder / "lists.parquet"
    case.tables["recommendations"].write_parquet(path, row_group_size=3)
    return case.evaluate({**case.tables, "recommendations": path}, chunk_rows=4)


def cli_parquet(case: Case, folder: Path) -> rw.Result:
    """Evaluate Parquet files with the command line, and load the result that it saves."""
    return _command(case, folder, "parquet")


def cli_csv(case: Case, folder: Path) -> rw.Result:
    """Evaluate CSV files with the command line; the catalogue, which holds lists, stays Parquet."""
    return _command(case, folder, "csv")


def _command(case: Case, folder: Path, suffix: str) -> rw.Result:
    names = {role: f"{role}.{'parquet' if role == 'items' else suffix}" for role in case.tables}
    for role, table in case.tables.items():
        write = table.write_parquet if names[role].endswith("parquet") else table.write_csv
        write(folder / names[role])
    arguments = [names["recommendations"], names["truth"], "--save", "saved"]
    for role in around(case):
        arguments += [f"--{role}", names[role]]
    for metric in case.usable:
        arguments += ["-m", metric]
    for name, value in case.options.items():
        flag = "--" + {"relevance_threshold": "threshold"}.get(name, name).replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            arguments += [flag] if one is True else [flag, str(one)]
    done = rankwise_here(folder, "evaluate", *arguments)
    if done.returncode:
        raise rw.RankwiseError(done.stderr)
    return rw.load(folder / "saved")


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


def spark(case: Case, _folder: Path) -> rw.Result | None:
    """Evaluate three buckets of users on Spark."""
    from spark_worlds import on_spark

    import rankwise.spark as rs

    if case.order == "rows" or case.repeats or "input" in _ties(case):
        return None  # rows have no order in Spark
    tables = on_spark(session(), case.tables)
    lists, truth = tables.pop("recommendations"), tables.pop("truth")
    return rs.evaluate(
        lists, truth, list(case.usable), spark=session(), buckets=3, **tables, **case.options
    )


def saying(road: Road) -> Callable[[Case, Path], Values | None]:
    """Return a road that says its result."""

    def say(case: Case, folder: Path) -> Values | None:
        result = road(case, folder)
        return None if result is None else numbers_of(result)

    return say


def torch_values(case: Case, _result: rw.Result) -> Iterator[Comparison]:
    """Yield each value on tensors beside that of tables."""
    from torch_road import torch_values as values

    return values(case, case.usable)


def plain_values(case: Case, result: rw.Result) -> Iterator[Comparison]:
    """Yield each value beside its plain definition."""
    return plain_differences(case, case.usable, result)


ROADS: dict[str, Road] = {
    "numpy": numpy,
    "threads": threads,
    "shuffled": shuffled,
    "pieces": pieces,
    "chunks": chunks,
    "cli_parquet": cli_parquet,
    "cli_csv": cli_csv,
    **({"spark": spark} if HAS_SPARK else {}),
}
KIND = Kind(
    "lists",
    cases(),
    base,
    numbers_of,
    {name: saying(road) for name, road in ROADS.items()},
    {PLAIN: plain_values, **({TORCH: torch_values} if HAS_TORCH else {})},
)
