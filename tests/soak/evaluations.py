"""Evaluations of tables with options, and every road that takes them: shared by several kinds of worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import polars as pl
from hypothesis.strategies import SearchStrategy
from kinds import HAS_SPARK, HAS_TORCH, PLAIN, SPARK, TORCH, Comparison, Kind, Values

import rankwise as rw
from rankwise.core import kernels
from rankwise.evaluation.settings import option_fields
from rankwise.options import Road
from road_worlds import World, by_chunks, by_command, by_configuration, by_pieces, comparable, said

DECLARED: dict[str, Road] = {
    "pieces": "pieces",
    "chunks": "chunks",
    "yaml": "configuration",
    SPARK: "spark",
    TORCH: "torch",
}
"""The name of each road in the declarations of options."""
ORDERED = ("recommendations", "reference")
"""Tables whose rows may have an order that means something."""


@dataclass(frozen=True)
class Evaluation:
    """Tables, metrics and options of an evaluation.

    Attributes
    ----------
    world : World
        The tables.
    metrics : tuple of str
        With their cut-offs.
    options : mapping
        Options of `rankwise.evaluate`.
    """

    world: World
    metrics: tuple[str, ...]
    options: Mapping[str, Any]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by role."""
        return dict(self.world.tables)

    @property
    def has_mapping(self) -> bool:
        """Whether an option is a mapping, for which the command line has no flag."""
        return any(isinstance(value, Mapping) for value in self.options.values())

    def evaluate(self, tables: Mapping[str, pl.DataFrame], **more: Any) -> rw.Result:
        """Evaluate tables in one thread."""
        side = dict(tables)
        lists, truth = side.pop("recommendations"), side.pop("truth")
        options = {"threads": 1, **self.options, **more}
        return rw.evaluate(lists, truth, list(self.metrics), **side, **options)

    def __str__(self) -> str:
        lines = [f"  metrics: {', '.join(self.metrics)}", f"  options: {dict(self.options)}"]
        lines += [
            f"  {role}: {table.to_dict(as_series=False)}" for role, table in self.tables.items()
        ]
        return "\n".join(lines)


class Drawn(Protocol):
    """A random world, which is one evaluation."""

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        ...


EvaluationRoad: TypeAlias = Callable[[Evaluation, Path], rw.Result | None]


def numpy(evaluation: Evaluation, _folder: Path) -> rw.Result:
    """Evaluate without compiled kernels."""
    with kernels.without_library():
        return evaluation.evaluate(evaluation.tables)


def threads(evaluation: Evaluation, _folder: Path) -> rw.Result:
    """Evaluate in three threads and blocks of two users."""
    return evaluation.evaluate(evaluation.tables, threads=3, block_size=2)


def shuffled(evaluation: Evaluation, _folder: Path) -> rw.Result | None:
    """Evaluate rows in another order; none where their order means something."""
    if evaluation.options.get("ties") == "input":
        return None
    tables = {
        role: table
        if role in ORDERED and not {"rank", "score"} & {*table.columns}
        else table.sample(fraction=1, shuffle=True, seed=7)
        for role, table in evaluation.tables.items()
    }
    return evaluation.evaluate(tables)


def pieces(evaluation: Evaluation, folder: Path) -> rw.Result:
    """Evaluate three pieces, whose partials are pickled and merged."""
    return by_pieces(evaluation, folder)


def cli_parquet(evaluation: Evaluation, folder: Path) -> rw.Result | None:
    """Evaluate Parquet files with the command line."""
    return None if evaluation.has_mapping else by_command(evaluation, folder)


def cli_csv(evaluation: Evaluation, folder: Path) -> rw.Result | None:
    """Evaluate CSV files with the command line; tables that hold lists stay Parquet."""
    return None if evaluation.has_mapping else by_command(evaluation, folder, suffix="csv")


def on_spark(evaluation: Evaluation, _folder: Path) -> rw.Result | None:
    """Evaluate three buckets of users on Spark; none where rows have an order."""
    import spark_worlds
    from roads import session

    import rankwise.spark as rs

    lists = evaluation.tables["recommendations"]
    has_order = bool({"rank", "score"} & {*lists.columns})
    if not has_order or evaluation.options.get("ties") == "input":
        return None
    tables = spark_worlds.on_spark(session(), evaluation.tables)
    lists, truth = tables.pop("recommendations"), tables.pop("truth")
    options = {"spark": session(), "buckets": 3, **tables, **evaluation.options}
    return rs.evaluate(lists, truth, list(evaluation.metrics), **options)


def refused_on_tensors(evaluation: Evaluation) -> None:
    """Make a collection for tensors, which refuses options by their declaration."""
    from rankwise.torch import Collection

    Collection(list(evaluation.metrics), **evaluation.options)


ROADS: dict[str, EvaluationRoad] = {
    "numpy": numpy,
    "threads": threads,
    "shuffled": shuffled,
    "pieces": pieces,
    "chunks": by_chunks,
    "cli_parquet": cli_parquet,
    "cli_csv": cli_csv,
    "yaml": by_configuration,
    **({SPARK: on_spark} if HAS_SPARK else {}),
}


def refuses(drawn: Drawn, road: str) -> bool:
    """Return whether an option declares that a road refuses its value."""
    if road not in DECLARED:
        return False
    name = DECLARED[road]
    for option, value in drawn.evaluation.options.items():
        declared = option_fields()[option]
        forms = [form.not_on for form in declared.metadata["forms"] if form.is_given(value)]
        is_refused = any(name in not_on for not_on in (declared.metadata["not_on"], *forms))
        if is_refused and value != declared.default:
            return True
    return False


def say(result: rw.Result) -> Values:
    """Return what a result says, bit by bit, each column by its name."""
    out: dict[str, Any] = {}
    for part, content in comparable("evaluate", said(result)).items():
        if isinstance(content, Mapping):
            out |= {f"{name} of {part}": value for name, value in content.items()}
        else:
            out[part] = content
    return out


def saying(road: EvaluationRoad) -> Callable[[Drawn, Path], Values | None]:
    """Return a road of drawn worlds that says its result."""

    def values(drawn: Drawn, folder: Path) -> Values | None:
        result = road(drawn.evaluation, folder)
        return None if result is None else say(result)

    return values


def call(drawn: Drawn) -> rw.Result:
    """Evaluate in one call."""
    return drawn.evaluation.evaluate(drawn.evaluation.tables)


def tensors_refuse(drawn: Drawn, _result: Any) -> Iterator[Comparison]:
    """Raise the refusal of tensors, where they declare one."""
    if refuses(drawn, TORCH):
        refused_on_tensors(drawn.evaluation)
    yield from ()


def kind(
    name: str,
    worlds: SearchStrategy[Any],
    plain: Callable[[Any, rw.Result], Iterator[Comparison]],
    *,
    tensors: Callable[[Any, rw.Result], Iterator[Comparison]] = tensors_refuse,
    refuses: Callable[[Any, str], bool] = refuses,
) -> Kind:
    """Return a kind of worlds that are evaluations, on all roads."""
    return Kind(
        name,
        worlds,
        call,
        say,
        {road: saying(way) for road, way in ROADS.items()},
        {PLAIN: plain, **({TORCH: tensors} if HAS_TORCH else {})},
        refuses,
    )
