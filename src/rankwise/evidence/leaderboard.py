"""`leaderboard`: the ranks of many systems on many tasks, and which of them are ties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.alignment import align_units
from rankwise.comparison.comparability import (
    check_comparable,
    check_ids,
    default_primary,
    without_force,
)
from rankwise.core.arguments import check_choice, check_count, check_positive
from rankwise.core.saved_forms import LEADERBOARD
from rankwise.core.terminal import Detail, TableView, count_of, level_text, percent
from rankwise.errors import ColumnError, MetricError, ParameterError
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import listing
from rankwise.messages import parameter
from rankwise.results.result import Result
from rankwise.stats.differences import Floats, check_level
from rankwise.stats.leaderboards import borda, rank_by_covariance, rank_on_tasks
from rankwise.stats.many_systems import SystemRanks
from rankwise.tables.files import read_study_table

Score: TypeAlias = Literal["mean", "borda"]
"""How a system's values on tasks become one score: their mean, or the share of systems beaten."""
Over: TypeAlias = Literal["tasks", "users"]
"""What is the sample: tasks like these, or users like those of these tasks."""
MissingCells: TypeAlias = Literal["error", "common"]
"""What happens to tasks that a system has no value on."""
TaskValues: TypeAlias = Mapping[str, Any]
_FEW_TASKS = 20  # tasks below which a kind of task may not have been drawn
_LEAST = 6  # tasks from which anything can be shown
_DOMINATES = 0.5  # share of the variance between systems above which one task decides a mean
_SHOWN = 12  # systems in a table
_CLOSE = 4  # systems that are named


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(ResultTable):
    """The result of `rankwise.leaderboard`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system, the best first: ``system``, ``score`` (the mean of the values as they
        came, unless lower is better on some tasks alone), ``rank`` with its limits (``rank_low``,
        ``rank_high``), ``group``, the number of ``tasks``, ``wins`` (systems shown to be worse) and
        whether it ``may_be_best``.
    pairs : polars.DataFrame
        One row per ordered pair: ``system``, ``other``, the ``difference`` of their scores, and
        ``p_better``, adjusted over all pairs, of the claim that the first is better.
    values : polars.DataFrame
        One row per task, one column per system, as they were compared: of lower-is-better tasks the
        negatives, and with ``by="borda"`` the points.
    settings : dict
        The options, and notes.
    """

    table: pl.DataFrame
    pairs: pl.DataFrame
    values: pl.DataFrame
    settings: dict[str, Any]
    form = LEADERBOARD

    def __getitem__(self, system: str) -> dict[str, Any]:
        """Return the row of a system."""
        rows = self.table.filter(pl.col("system") == system).to_dicts()
        if not rows:
            raise ParameterError(
                f"there is no system {system!r}", found=listing(self.table["system"].to_list())
            )
        return rows[0]

    @property
    def sentences(self) -> list[str]:
        """Who may be the best, and how many groups the ranks are."""
        best = self.table.filter("may_be_best")["system"].to_list()
        total, groups = len(self.table), int(self.table["group"].max())  # type: ignore[arg-type]
        level = level_text(self.settings["confidence"])
        tasks = self.settings["tasks"]
        sample = (
            f"tasks like these {tasks}" if self.settings["over"] == "tasks" else "users like these"
        )
        if len(best) == 1:
            head = f"{best[0]} is the best of {total} systems: it is shown to beat all others on {sample}"
        else:
            names = f" ({listing(best, named=_CLOSE)})" if len(best) <= _CLOSE else ""
            head = (
                f"{len(best)} of {total} systems may be the best{names}: no other is shown to beat "
                f"them on {sample}"
            )
        return [f"{head} ({level}). The ranks are {count_of(groups, 'group')}."]

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences with the first systems, or with all."""
        top = len(self.table) if detail == "full" else self.settings["top"]
        return [self._lead, self._ranks(top)]

    def _ranks(self, top: int) -> TableView:
        rows = [
            (
                row["system"],
                f"{row['score']:.3f}",
                str(row["rank"]),
                f"{row['rank_low']} to {row['rank_high']}",
                str(row["group"]),
            )
            for row in self.table.head(top).to_dicts()
        ]
        by, over = self.settings["by"], self.settings["tasks"]
        corner = "Borda" if by == "borda" else "mean"
        return TableView(
            (f"{corner} over {count_of(over, 'task')}", "score", "rank", "between", "group"),
            rows,
            self._notes(top),
            title="Ranks of systems.",
            label="rankwise-leaderboard",
        )

    def _notes(self, top: int) -> list[str]:
        shown = self.pairs.filter(pl.col("p_better") < 1 - self.settings["confidence"])
        total = math.comb(len(self.table), 2)
        names = self.table["system"].to_list()
        decided = {(row["system"], row["other"]) for row in shown.to_dicts()}
        neighbours = sum(pair in decided for pair in pairwise(names))
        groups = self.table["group"].value_counts(sort=False).sort("group")
        sizes = ", ".join(
            f"{row['count']} in {row['group']}" for row in groups.head(_SHOWN).to_dicts()
        )
        more = len(self.table) - top
        notes = [f"{more} more: the table has all."] if more > 0 else []
        begins = "A group begins at the first system shown to be worse than the first of the group"
        notes.append(f"Groups: {sizes}. {begins} above.")
        separated = f"{len(decided)} of {total:,} pairs are separated"
        notes.append(f"{separated}, {neighbours} of the {len(names) - 1} neighbours.")
        if self.settings["by"] == "borda":
            notes.append(
                f"Points are the share of these {len(names)} systems that a system beats: without "
                "some of them the order of others may change."
            )
        return [*notes, *self.settings["notes"]]


def leaderboard(
    systems: Mapping[str, TaskValues] | Any,
    *,
    by: Score = "mean",
    over: Over = "tasks",
    metric: str | Mapping[str, str] | None = None,
    higher_is_better: bool | Mapping[str, bool] = True,
    missing: MissingCells = "error",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    top: int = _SHOWN,
) -> Leaderboard:
    r"""Rank many systems on many tasks, with intervals of ranks that hold together.

    The score of a system is the mean over tasks of its values, or with ``by="borda"`` of the share
    of the other systems that it beats there. A pair is tested by

    .. math:: z = \sum_t d_t / \sqrt{\sum_t d_t^2}

    against random signs of the tasks that all pairs share, step by step from the clearest pair on
    (Westfall & Young), so that all ranks hold with the probability ``confidence`` together. A
    bootstrap of ranks is not offered: of boards whose systems are all equal, 7 to 61 % show two
    systems whose bootstrap intervals of ranks do not overlap (`simulations/leaderboards.py`).

    Parameters
    ----------
    systems : mapping, table or path
        For each system its value on each task: a number, or a `Result` (several runs are averaged).
        Or a table with the columns ``system``, ``task`` and ``value``, or ``system`` and a column
        per task.
    by : {"mean", "borda"}, default="mean"
        The score: the mean of values, which need one scale, or of the shares of systems beaten.
    over : {"tasks", "users"}, default="tasks"
        Whether ranks are to hold on other tasks, or for other users of these tasks. The latter
        needs results, and ``by="mean"``.
    metric : str, or mapping of task to str, optional
        The metric of results; by default the primary one.
    higher_is_better : bool, or mapping of task to bool, default=True
        Whether large values are good; results know it.
    missing : {"error", "common"}, default="error"
        What to do with tasks that a system has no value on: raise, or leave them out for all.
        Nothing is imputed.
    confidence : float, default=0.95
        The confidence level of all ranks together.
    n_resamples : int, default=10_000
        Number of random draws; all signs of few tasks are gone through.
    seed : int, default=0
        Random seed of the draws.
    top : int, default=12
        How many systems are printed.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ParameterError
        With fewer than two systems or tasks, or with missing values.

    References
    ----------
    Westfall & Young 1993, Resampling-Based Multiple Testing, Wiley; Mogstad, Romano, Shaikh &
    Wilhelm 2024, Inference for Ranks, Review of Economic Studies 91.

    Examples
    --------
    >>> import rankwise as rw
    >>> scores = {"a": [0.9, 0.8, 0.7], "b": [0.6, 0.5, 0.6], "c": [0.1, 0.2, 0.3]}
    >>> tasks = [f"task {at}" for at in range(9)]
    >>> board = rw.leaderboard(
    ...     {name: dict(zip(tasks, values * 3)) for name, values in scores.items()}
    ... )
    >>> board.table.select("system", "rank", "rank_low", "rank_high", "group").rows()[0]
    ('a', 1, 1, 1, 1)
    """
    options: dict[str, Any] = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed}
    check_leaderboard(by=by, over=over, missing=missing, top=top, **options)
    board = _read(systems, metric, missing)
    board = _turn(board, higher_is_better)
    _check_size(board, over)
    values = borda(board.values) if by == "borda" else board.values
    if over == "users":
        ranks = rank_by_covariance(values.mean(axis=0), _covariance(board), **options)
    else:
        ranks = rank_on_tasks(values, **options)
    settings = {
        "by": by,
        "over": over,
        **options,
        "missing": missing,
        "top": top,
        "tasks": len(board.tasks),
        "notes": _notes_on(board, by, over),
    }
    return _leaderboard(board, values, ranks, settings)


def check_leaderboard(
    *,
    by: Score = "mean",
    over: Over = "tasks",
    missing: MissingCells = "error",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    top: int = _SHOWN,
) -> None:
    """Raise for options that no table can mend."""
    check_choice("by", by, Score)
    check_choice("over", over, Over)
    check_choice("missing", missing, MissingCells)
    check_level("confidence", confidence)
    check_positive(n_resamples=n_resamples, top=top)
    check_count(least=0, seed=seed)
    if over == "users" and by == "borda":
        raise ParameterError(
            "ranks within tasks are not smooth at ties, so that users do not tell their spread",
            found=f"{parameter('by', 'borda')}, {parameter('over', 'users')}",
            hint=parameter("by", "mean"),
        )


@dataclass(frozen=True, eq=False)
class _Board:
    """The values of systems on tasks, large ones good; with results also those of users."""

    systems: list[str]
    tasks: list[str]
    values: Floats
    left_out: list[str] = field(default_factory=list)
    users: list[Floats] = field(default_factory=list)
    directions: Mapping[str, bool] = field(default_factory=dict)
    turned: frozenset[str] = frozenset()
    """The tasks whose values have another sign here, because lower ones are better."""


def _read(source: Any, metric: Any, missing: MissingCells) -> _Board:
    """Return the board of a mapping, a table or a file."""
    cells = _cells_of(source)
    every = list(dict.fromkeys(task for own in cells.values() for task in own))
    gaps = _find_gaps(cells, every)
    if gaps and missing == "error":
        raise _missing_error(gaps)
    tasks = [task for task in every if task not in gaps]
    if not tasks:
        raise ParameterError("no task has values of all systems", found=f"{len(every)} tasks")

    rows: list[list[float]] = []
    users: list[Floats] = []
    directions: dict[str, bool] = {}
    for task in tasks:
        read = _read_task(task, {name: own[task] for name, own in cells.items()}, metric)
        rows.append(read.means)
        if read.users is not None:
            users.append(read.users)
        if read.is_better is not None:
            directions[task] = read.is_better
    return _Board(
        systems=list(cells),
        tasks=tasks,
        values=np.array(rows),
        left_out=list(gaps),
        users=users if len(users) == len(tasks) else [],
        directions=directions,
    )


def _cells_of(source: Any) -> dict[str, dict[str, Any]]:
    """Return the values of two systems or more by task, whose names are texts."""
    cells = dict(source) if isinstance(source, Mapping) else _cells_of_table(source)
    if len(cells) < 2:
        raise ParameterError("a leaderboard has two systems or more", found=", ".join(cells))
    wrong = [name for name, own in cells.items() if not isinstance(own, Mapping)]
    if wrong:
        raise ParameterError(
            "each system has its value on each task",
            where=str(wrong[0]),
            found=type(cells[wrong[0]]).__name__,
            hint='pass {"a": {"films": 0.31, "books": 0.28}, "b": {…}}',
        )
    named = {str(name): {str(task): v for task, v in own.items()} for name, own in cells.items()}
    if len(named) < len(cells):
        raise ParameterError(
            "two systems would have one name",
            found=", ".join(map(repr, cells)),
            hint="call the system something else",
        )
    return named


def _find_gaps(
    cells: Mapping[str, Mapping[str, Any]], tasks: Sequence[str]
) -> dict[str, list[str]]:
    """Return the tasks that some systems have no value on, with these systems."""
    gaps = {}
    for task in tasks:
        lacking = [name for name, own in cells.items() if _is_missing(own.get(task))]
        if lacking:
            gaps[task] = lacking
    return gaps


def _missing_error(gaps: Mapping[str, Sequence[str]]) -> ParameterError:
    """Return the error about systems without a value on some tasks."""
    task, lacking = next(iter(gaps.items()))
    return ParameterError(
        "a system has no value on a task",
        found=f"{lacking[0]} on {task}; {sum(map(len, gaps.values())):,} such cells in "
        f"{count_of(len(gaps), 'task')}",
        hint=f"{parameter('missing', 'common')} leaves out the tasks that some system lacks",
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _cells_of_table(source: Any) -> dict[str, dict[str, Any]]:
    """Return the cells of a table with one row per system and task, or one column per task."""
    if not (isinstance(source, str | Path) or hasattr(source, "__arrow_c_stream__")):
        raise ParameterError(
            "a leaderboard is a mapping of systems to their values, or a table",
            found=type(source).__name__,
        )
    frame, _ = read_study_table(source, "leaderboard", labels=("system", "task"))
    if "system" not in frame.columns or len(frame.columns) < 2:
        raise ColumnError(
            "a leaderboard has a column system, and task and value, or a column per task",
            found=", ".join(frame.columns),
        )
    if {"task", "value"} <= {*frame.columns}:
        long = frame.select("system", "task", "value")
    else:
        long = frame.unpivot(index="system", variable_name="task", value_name="value")
    twice = long.filter(pl.struct("system", "task").is_duplicated())
    if len(twice):
        system, task, _ = twice.row(0)
        raise ColumnError("a system has two values on a task", found=f"{system} on {task}")
    if not long.schema["value"].is_numeric():
        raise ColumnError("values are numbers", found=str(long.schema["value"]))
    cells: dict[str, dict[str, Any]] = {}
    for system, task, value in long.iter_rows():
        cells.setdefault(str(system), {})[str(task)] = value
    return cells


@dataclass(frozen=True)
class _Task:
    """The means of systems on a task, and with results the values of its users."""

    means: list[float]
    users: Floats | None = None
    is_better: bool | None = None


def _read_task(task: str, cells: Mapping[str, Any], metric: Any) -> _Task:
    """Return the values of all systems on one task."""
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells.values()):
        means = [float(cell) for cell in cells.values()]
        if not all(map(math.isfinite, means)):
            raise ParameterError("values are finite numbers", where=task)
        return _Task(means)
    runs = {
        name: [*cell] if isinstance(cell, Sequence) and not isinstance(cell, str) else [cell]
        for name, cell in cells.items()
    }
    results = {
        f"{name}, run {at}": run for name, own in runs.items() for at, run in enumerate(own, 1)
    }
    if not results or not all(isinstance(run, Result) for run in results.values()):
        kinds = dict.fromkeys(type(cell).__name__ for cell in cells.values())
        raise ParameterError(
            "a task has a number or a result of every system", where=task, found=", ".join(kinds)
        )
    return _read_results(task, runs, results, metric)


def _read_results(
    task: str, runs: Mapping[str, Sequence[Result]], results: Mapping[str, Result], metric: Any
) -> _Task:
    """Return the values of results on one task, averaged over the runs of a system."""
    first = next(iter(results.values()))
    asked = metric.get(task) if isinstance(metric, Mapping) else metric
    cell = default_primary(first, list(first.values)) if asked is None else first.cell(asked)
    check_ids(results)
    with without_force():
        check_comparable(results, [cell])
    lacking = [name for name, run in results.items() if cell not in run.values]
    if lacking:
        raise MetricError(f"{cell} was not evaluated", where=f"{task}, {lacking[0]}")
    better = first.direction(cell)
    if better is None:
        raise MetricError(f"{cell} does not order systems: neither direction of it is better")
    means = [float(np.mean([float(run.values[cell]) for run in own])) for own in runs.values()]
    if not all(run.is_mean_of_users(cell) for run in results.values()):
        return _Task(means, None, better)
    columns = iter(align_units(results, cell, "common", first.sampling_unit).unit_values.T)
    values = [np.mean([next(columns) for _ in own], axis=0) for own in runs.values()]
    return _Task(means, np.column_stack(values), better)


def _turn(board: _Board, higher_is_better: bool | Mapping[str, bool]) -> _Board:
    """Return a board whose large values are good."""
    is_high = dict.fromkeys(board.tasks, True)
    if isinstance(higher_is_better, Mapping):
        unknown = [task for task in higher_is_better if task not in (*board.tasks, *board.left_out)]
        if unknown:
            raise ParameterError(
                f"there is no task {unknown[0]!r}", found=listing(board.tasks, "tasks")
            )
        is_high |= higher_is_better
    elif not higher_is_better:
        is_high = dict.fromkeys(board.tasks, False)
    is_high |= board.directions

    turned = frozenset(task for task in board.tasks if not is_high[task])
    signs = [-1.0 if task in turned else 1.0 for task in board.tasks]
    users = [sign * own for sign, own in zip(signs, board.users, strict=False)]
    values = np.array(signs)[:, None] * board.values
    return replace(board, values=values, users=users, turned=turned)


def _check_size(board: _Board, over: Over) -> None:
    """Raise unless there are tasks, or users, to be a sample."""
    if over == "users":
        if not board.users:
            raise ParameterError(
                "ranks over users need a result of each system on each task, with its users",
                found=f"numbers of {count_of(len(board.tasks), 'task')}",
                hint=parameter("over", "tasks") if len(board.tasks) > 1 else None,
            )
        if min(map(len, board.users)) < 2:
            raise ParameterError("ranks over users need two users or more on each task")
        return
    if len(board.tasks) < 2:
        raise ParameterError(
            "ranks over tasks need several tasks",
            found=count_of(len(board.tasks), "task"),
            hint=f"{parameter('over', 'users')} is about the users of this one"
            if board.users
            else "add values on other tasks, or pass results, which have users",
        )


def _covariance(board: _Board) -> Floats:
    """Return the covariance of the systems' means over tasks, if other users had been sampled."""
    parts = [np.atleast_2d(np.cov(own, rowvar=False)) / len(own) for own in board.users]
    total: Floats = np.sum(parts, axis=0) / len(parts) ** 2
    return total


def _notes_on(board: _Board, by: Score, over: Over) -> list[str]:
    """Return the caveats of a board."""
    notes = []
    if board.left_out:
        notes.append(
            f"Left out, because some system has no value: {listing(board.left_out, 'tasks')}."
        )
    tasks = len(board.tasks)
    notes += _direction_notes(board, by)
    if over == "tasks" and tasks < _LEAST:
        notes.append(f"{tasks} tasks show nothing: {_LEAST} are the fewest for anything.")
    if over == "tasks":
        few = f"{tasks} tasks: " if tasks < _FEW_TASKS else ""
        notes.append(f"{few}a kind of task that was not drawn is not allowed for.".capitalize())
    else:
        notes.append("The tasks are taken as they are: ranks hold for other users of these tasks.")
    if by == "mean" and over == "tasks":
        spread = board.values.var(axis=1)
        share = float(spread.max() / spread.sum()) if spread.sum() > 0 else 0.0
        if share > _DOMINATES and tasks > 2:
            task = board.tasks[int(spread.argmax())]
            notes.append(
                f"{task} decides this mean: it has {percent(share)} of the variance between "
                "systems. Ranks by Borda points give every task the same weight."
            )
    return notes


def _direction_notes(board: _Board, by: Score) -> list[str]:
    """Return the note that lower values are better, on all tasks or on some."""
    if len(board.turned) == len(board.tasks):
        return ["Lower values are better."]
    if not board.turned or by != "mean":
        return []
    names = listing([task for task in board.tasks if task in board.turned], "tasks")
    return [f"Lower is better on {names}: in the mean, values there are negative."]


def _leaderboard(
    board: _Board, values: Floats, ranks: SystemRanks, settings: dict[str, Any]
) -> Leaderboard:
    """Return the tables of ranked systems."""
    scores = values.mean(axis=0)
    if settings["by"] == "mean" and len(board.turned) == len(board.tasks):
        scores = -scores  # the mean as it came: of errors it is no negative number
    shown = ranks.p_better < 1 - settings["confidence"]
    order = np.lexsort((np.arange(len(scores)), ranks.rank))
    groups = _groups(order, shown)
    table = pl.DataFrame(
        {
            "system": [board.systems[at] for at in order],
            "score": scores[order],
            "rank": ranks.rank[order],
            "rank_low": ranks.low[order],
            "rank_high": ranks.high[order],
            "group": groups,
            "tasks": [len(board.tasks)] * len(order),
            "wins": shown.sum(axis=1)[order],
            "may_be_best": ranks.may_be_best[order],
        },
        schema_overrides={"group": pl.Int64, "tasks": pl.Int64, "wins": pl.Int64},
    )
    rows, columns = np.nonzero(~np.eye(len(scores), dtype=bool))
    pairs = pl.DataFrame(
        {
            "system": [board.systems[at] for at in rows],
            "other": [board.systems[at] for at in columns],
            "difference": scores[rows] - scores[columns],
            "p_better": ranks.p_better[rows, columns],
        }
    )
    named = {system: values[:, at] for at, system in enumerate(board.systems)}
    return Leaderboard(table, pairs, pl.DataFrame({"task": board.tasks} | named), settings)


def _groups(order: Any, shown: Any) -> list[int]:
    """Return the group of each system, the best first.

    A group begins at the first system that is shown to be worse than the first of the group above.
    """
    groups, leader = [1], order[0]
    for at in order[1:]:
        begins = bool(shown[leader, at])
        groups.append(groups[-1] + begins)
        leader = at if begins else leader
    return groups
