"""`stability`: the noise floor of one system, from several of its runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.alignment import align_units
from rankwise.comparison.comparability import (
    check_comparable,
    check_ids,
    chosen_cells,
    without_force,
)
from rankwise.core.arguments import Missing, check_choice
from rankwise.core.saved_forms import STABILITY
from rankwise.core.terminal import (
    Detail,
    TableView,
    brief,
    count_of,
    format_number,
    level_text,
    percent,
)
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import named_p
from rankwise.messages import call, parameter
from rankwise.results.result import Result
from rankwise.results.sampling_unit import Row
from rankwise.stats.differences import Floats, check_above_zero, check_level
from rankwise.stats.noise_floor import NoiseFloor, noise_floor

Runs: TypeAlias = Sequence[Result] | Sequence[float]
"""The runs of one system: results, or published means."""
MEAN = "mean"
"""The metric of published means."""
_ALONE = "system"
"""The name of a system without a name."""
_FEW = 10  # runs below which a rare bad run may not have been seen
_LEVEL = 0.05  # of the test of shared noise


@dataclass(frozen=True, eq=False, repr=False)
class Stability(ResultTable):
    """The result of `rankwise.stability`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system and metric: ``system``, ``metric``, what `rankwise.stats.noise_floor`
        tells of it, and with a ``difference`` to find the ``runs_above`` from which the floor of
        means is below it, the ``runs_needed`` to find it, with limits (``runs_low``,
        ``runs_high``).
    users : polars.DataFrame
        One row per system, metric and user (or request): the ``mean`` over runs, the ``deviation``
        between runs, the share of pairs of runs in which the value differs (``flips``), its mean
        absolute change (``moved``) and the ``values`` of all runs. Empty for published means.
    settings : dict
        The options, and notes on runs and users.
    """

    table: pl.DataFrame
    users: pl.DataFrame
    settings: dict[str, Any]
    form = STABILITY
    unlisted = frozenset({"users"})

    def __getitem__(self, key: str | tuple[str, str]) -> dict[str, Any]:
        """Return the row of a metric, or of ``(metric, system)`` where there are several systems."""
        metric, system = key if isinstance(key, tuple) else (key, None)
        rows = [
            row
            for row in self.table.to_dicts()
            if row["metric"] == metric and system in (None, row["system"])
        ]
        if len(rows) != 1:
            known = ", ".join(
                f"{row['metric']} of {row['system']}" for row in self.table.to_dicts()
            )
            raise ParameterError(
                f"there is no single row of {metric!r}",
                found=known,
                hint="name the metric, and the system if there are several: "
                'found["ndcg@10", "old"]',
            )
        return rows[0]

    @property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return self.table["system"].unique(maintain_order=True).to_list()

    def noise_of(self, system: str, metric: str) -> NoiseFloor | None:
        """Return the noise of a system on a metric; of one system, that of any; None if unknown."""
        known = self.table.filter(pl.col("metric") == metric)
        if len(self.systems) > 1:
            known = known.filter(pl.col("system") == system)
        return None if known.is_empty() else _floor_of(known.row(0, named=True))

    def is_above(self, most: float) -> bool:
        """Return whether the noise floor of any row is above a number, or not known."""
        check_above_zero("at_most", most)
        return any(not floor <= most for floor in self.table["floor"])  # nor one that is not known

    @property
    def sentences(self) -> list[str]:
        """How far two runs of each system differ with nothing changed."""
        main = self.table["metric"][0]
        rows = [row for row in self.table.to_dicts() if row["metric"] == main]
        return [_floor_sentence(row, named=len(rows) > 1) for row in rows]

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences with the table and what follows from it."""
        several = len(self.systems) > 1
        table = TableView(
            ("", "mean", "sd between runs", "noise floor", "seen"),
            [_cells(row, named=several) for row in self.table.to_dicts()],
            self._notes(detail),
            title="Noise floors.",
            label="rankwise-stability",
        )
        return [self._lead, table]

    def _notes(self, detail: Detail) -> list[str]:
        main = self.table["metric"][0]
        rows = [row for row in self.table.to_dicts() if detail == "full" or row["metric"] == main]
        several = len(rows) > 1
        notes = []
        for row in rows:
            name = f"{row['system']}, {row['metric']}: " if several else ""
            notes += [f"{name}{note}" for note in _notes_of(row, self.settings)]
        return [*dict.fromkeys(notes), *self.settings["notes"]]


def stability(
    runs: Runs | Mapping[str, Runs],
    *,
    metrics: str | Sequence[str] | None = None,
    difference: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    missing: Missing = "error",
    force: bool = False,
) -> Stability:
    r"""Tell how far the same system moves from run to run while nothing is changed.

    Two single runs of the system differ by up to the *noise floor*: a smaller difference between
    two runs says nothing. It is the larger one of

    .. math:: t_{m - 1} \, s \sqrt 2 \quad\text{and}\quad
        t_\nu \sqrt 2 \, \frac{1}{n} \sqrt{\sum_u s_u^2}

    with s the standard deviation of the means of m runs, and :math:`s_u` that of user u over runs.
    The second is right where users' noise is independent, and a lower bound where a seed, an index
    or a day moves all of them together.

    A test over users allows for the noise of users' answers, which is in their differences, and not
    for that which users share: `rankwise.compare` takes it as ``noise=``.

    Parameters
    ----------
    runs : list of Result or of float, or mapping of str to these
        Two or more runs of a system on the same ground truth, or its published means; of several
        systems by name.
    metrics : str or list of str, optional
        The metrics, the main one first; by default all of the results. Of values that are not means
        over users the floor is that by runs alone.
    difference : float, optional
        A true difference to find: how many runs of each system find it.
    power : float, default=0.8
        The probability with which it is found.
    confidence : float, default=0.95
        The confidence level of floors and limits.
    missing : {"error", "zero", "common"}, default="error"
        What to do with users who have a value in some runs only, as for `rankwise.compare`.
    force : bool, default=False
        Read runs with different ground truths or settings as runs of one system.

    Returns
    -------
    Stability

    Raises
    ------
    ParameterError
        With fewer than two runs, or runs that are not of the same ground truth and settings.

    See Also
    --------
    rankwise.compare : Differences between systems; ``noise=`` allows for the noise of runs.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {0} for user in range(200)}
    >>> runs = [
    ...     rw.evaluate({user: [int(user % 10 == run)] for user in truth}, truth, "recall@1")
    ...     for run in range(3)
    ... ]
    >>> found = rw.stability(runs, difference=0.05)
    >>> found["recall@1"]["floor"], found["recall@1"]["runs_above"]
    (0.0626, 2)
    >>> rw.stability([0.920, 0.905, 0.905, 0.915, 0.905])["mean"]["floor"]
    0.0278
    """
    options: dict[str, Any] = {
        "difference": difference,
        "power": power,
        "confidence": confidence,
        "missing": missing,
    }
    systems = check_stability(runs, metrics=metrics, **options)
    read = [
        _read_runs(name, of_system, metrics, missing, force=force) for name, of_system in systems
    ]
    rows, users, notes = [], [], []
    for one in read:
        notes += one.notes
        for metric, values, ids in one.values:
            found = noise_floor(values, confidence=confidence)
            rows.append(_row(one.system, metric, found, options))
            users += [] if ids is None else [_users_of(one.system, metric, ids, values)]
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(_COUNTS, pl.Int64))
    of_users = pl.concat(users) if users else pl.DataFrame(schema=_USERS)
    unit = read[0].unit
    return Stability(
        table, of_users, {**options, "unit": unit, "notes": list(dict.fromkeys(notes))}
    )


def check_stability(
    runs: Runs | Mapping[str, Runs],
    *,
    metrics: str | Sequence[str] | None = None,
    difference: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    missing: Missing = "error",
) -> list[tuple[str, list[Any]]]:
    """Return the runs of each system by name; raise for options that no values can mend."""
    check_level("power", power)
    check_level("confidence", confidence)
    check_choice("missing", missing, Missing)
    if difference is not None:
        check_above_zero("difference", difference)
    systems = _systems_of(runs)
    for _, of_system in systems:
        if all(isinstance(run, Result) for run in of_system):
            _cells_of(_by_run(of_system), metrics)
    return systems


_COUNTS = ("runs_above", "runs_needed", "runs_low", "runs_high")
_USERS: dict[str, Any] = {
    "system": pl.String,
    "metric": pl.String,
    "user": pl.String,
    "mean": pl.Float64,
    "deviation": pl.Float64,
    "flips": pl.Float64,
    "moved": pl.Float64,
    "values": pl.List(pl.Float64),
}


@dataclass(frozen=True)
class _Read:
    """The values of each metric in the runs of a system: one row per run, one column per user."""

    system: str
    values: list[tuple[str, Floats, pl.Series | None]]
    unit: str
    notes: list[str]


def _systems_of(runs: Any) -> list[tuple[str, list[Any]]]:
    """Return the runs of each system by name, two or more each."""
    named = runs if isinstance(runs, Mapping) else {_ALONE: runs}
    systems = []
    for name, of_system in named.items():
        if isinstance(of_system, Result | str) or not isinstance(of_system, Sequence):
            raise ParameterError(
                "stability takes a list of runs, or one for each system by name",
                where=str(name) if isinstance(runs, Mapping) else None,
                found=type(of_system).__name__,
                hint=f"pass {call('stability')} a list: [first run, second run]",
            )
        if len(of_system) < 2:
            raise ParameterError(
                "a noise floor needs two runs or more",
                where=None if name == _ALONE else str(name),
                found=count_of(len(of_system), "run"),
                hint="run the system again, with nothing changed",
            )
        systems.append((str(name), list(of_system)))
    if not systems:
        raise ParameterError("stability needs the runs of a system", found="none")
    return systems


def _read_runs(
    system: str, runs: list[Any], metrics: Any, missing: Missing, *, force: bool
) -> _Read:
    """Return the values of a system's runs, checked to be of the same truth and settings."""
    if all(isinstance(run, int | float) and not isinstance(run, bool) for run in runs):
        if metrics is not None:
            raise ParameterError(
                "published means are of one metric, without a name",
                found=parameter("metrics", metrics),
            )
        means = np.asarray(runs, dtype=np.float64)
        if not np.isfinite(means).all():
            raise ParameterError("a mean is missing or infinite", found=str(runs)[:80])
        return _Read(system, [(MEAN, means, None)], "user", [])
    wrong = [type(run).__name__ for run in runs if not isinstance(run, Result)]
    if wrong:
        raise ParameterError(
            "runs are results, or means of all of them", found=", ".join(dict.fromkeys(wrong))
        )
    results = _by_run(runs)
    first = results["run 1"]
    cells = _cells_of(results, metrics)
    _check_runs(results, cells, force=force)
    values = [_values_of(results, cell, missing) for cell in cells]
    unit = first.sampling_unit
    whose: Row = "user" if unit.clusters == "user" else unit.row  # values are of each sample
    return _Read(system, values, whose, _notes_on_runs(results))


def _by_run(runs: Sequence[Result]) -> dict[str, Result]:
    """Return results by the names that messages call runs."""
    return {f"run {at}": run for at, run in enumerate(runs, start=1)}


def _cells_of(results: Mapping[str, Result], metrics: Any) -> list[str]:
    """Return the values that all runs have, or those that were asked for."""
    first = next(iter(results.values()))
    asked = [*first.values] if metrics is None else chosen_cells(first, metrics, None)
    shared = [cell for cell in asked if all(cell in run.values for run in results.values())]
    absent = [cell for cell in asked if cell not in shared]
    if not shared or (metrics is not None and absent):
        raise MetricError(
            "a noise floor is of a metric that all runs have", found=", ".join(absent) or "none"
        )
    return list(dict.fromkeys(shared))


def _check_runs(results: Mapping[str, Result], cells: Sequence[str], *, force: bool) -> None:
    """Raise unless runs are of the same ground truth and settings."""
    if force:
        check_ids(results)
        return
    try:
        with without_force():
            check_comparable(results, cells)
    except ParameterError as error:
        raise ParameterError(
            f"these are not runs of one system on one test set: {error.what}",
            found=error.found,
            hint="runs with a random split each are seeds: "
            f"{call('compare', seeds='paired')}; {parameter('force', True)} reads them anyway",
        ) from error


def _values_of(
    results: Mapping[str, Result], cell: str, missing: Missing
) -> tuple[str, Floats, pl.Series | None]:
    """Return a metric, its values (one row per run) and the ids of users; means alone if not of users."""
    if not all(result.is_mean_of_users(cell) for result in results.values()):
        return cell, np.array([float(result.values[cell]) for result in results.values()]), None
    unit = next(iter(results.values())).sampling_unit
    aligned = align_units(results, cell, missing, unit, with_ids=True)
    ids = aligned.ids if aligned.clusters is None else None
    return cell, np.ascontiguousarray(aligned.unit_values.T), ids


def _notes_on_runs(results: Mapping[str, Result]) -> list[str]:
    """Return that runs are of the same file, bit for bit."""
    digests = {
        name: result.provenance.get("inputs", {}).get("recommendations", {}).get("sha256")
        for name, result in results.items()
    }
    counts = Counter(digest for digest in digests.values() if digest)
    return [
        f"{' and '.join(name for name, own in digests.items() if own == digest)} are of the same "
        "file, bit for bit: a run that failed?"
        for digest, count in counts.items()
        if count > 1
    ]


def _row(system: str, metric: str, found: NoiseFloor, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a system and metric, with the runs that a difference needs."""
    difference = options["difference"]
    row = {"system": system, "metric": metric, **asdict(found)}
    if difference is None or math.isnan(found.floor):
        return row | dict.fromkeys(_COUNTS)
    needed = found.runs_needed(difference, options["power"])
    return row | {
        "runs_above": found.runs_above(difference),
        "runs_needed": needed.runs,
        "runs_low": needed.low,
        "runs_high": needed.high,
    }


def _floor_of(row: Mapping[str, Any]) -> NoiseFloor:
    """Return the noise floor that a row is of."""
    return NoiseFloor(**{entry.name: row[entry.name] for entry in fields(NoiseFloor)})


def _users_of(system: str, metric: str, ids: pl.Series, values: Floats) -> pl.DataFrame:
    """Return one row per user with the noise of the values."""
    m = len(values)
    changes = [np.abs(values[a] - values[b]) for a in range(m) for b in range(a + 1, m)]
    return pl.DataFrame(
        {
            "system": [system] * len(ids),
            "metric": [metric] * len(ids),
            "user": ids.cast(pl.String),
            "mean": values.mean(axis=0),
            "deviation": values.std(axis=0, ddof=1),
            "flips": np.mean([change > 0 for change in changes], axis=0),
            "moved": np.mean(changes, axis=0),
            "values": values.T.tolist(),
        }
    )


def _floor_sentence(row: Mapping[str, Any], *, named: bool) -> str:
    """Return how far two single runs differ."""
    of = row["system"] if named else "this system"
    level = level_text(row["confidence"])
    if row["floor"] == 0 and row["users"]:
        return (
            f"None of {count_of(row['users'], 'user')} changed in {row['runs']} runs of {of} on "
            f"{row['metric']}; up to {percent(row['flips_high'], 1)} may change between two runs "
            f"({level})."
        )
    metric = "" if row["metric"] == MEAN else f" on {row['metric']}"
    if math.isnan(row["floor"]):
        return (
            f"{row['runs']} runs of {of} have the same value{metric}: how far two runs differ is "
            "not known."
        )
    return (
        f"Two single runs of {of} differ by up to {brief(row['floor'])}{metric} with nothing "
        f"changed ({level}): a smaller difference between two runs says nothing."
    )


def _cells(row: Mapping[str, Any], *, named: bool) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    users = f", {count_of(row['users'], 'user')}" if row["users"] else ""
    name = f"{row['system']}, {row['metric']}" if named else row["metric"]
    return (
        f"{name}, {count_of(row['runs'], 'run')}{users}",
        *(format_number(row[key]) for key in ("mean", "deviation", "floor", "spread")),
    )


def _notes_of(row: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what follows from the noise of a system on a metric."""
    runs, users = row["runs"], row["users"]
    if users and row["ever"] > 0:
        yield (
            f"{row['flips'] * users:.1f} of {count_of(users, settings['unit'])} differ between "
            f"two runs on average; {round(row['ever'] * users):,} changed in some run."
        )
        if not math.isnan(row["p_shared"]):
            yield _shared_note(row)
    found = _floor_of(row)
    if found.floor > 0:
        yield f"Means of {runs} runs on each side: {brief(found.floor_of_means(runs))}."
    if row["runs_needed"] is not None and found.floor > 0:
        yield _needed_note(row, settings)
    if users and found.floor > 0:
        yield _worth_note(row, settings["unit"])
    if runs == 2:
        yield "Two runs: the deviation between runs is known within a factor of 70."
    elif runs < _FEW:
        yield f"{runs} runs: a rare bad run may not have been seen."


def _shared_note(row: Mapping[str, Any]) -> str:
    """Return whether runs share noise, which a test over users does not allow for."""
    p = named_p("p", row["p_shared"], _LEVEL)
    if row["p_shared"] < _LEVEL:
        return (
            f"Runs share a part of their noise ({p}), which a comparison over users does not allow "
            "for, unless it is given this noise floor (noise)."
        )
    return (
        f"No noise that runs share is shown ({p}): a comparison over users allows for that of their "
        "answers."
    )


def _needed_note(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return how many runs find the difference that was asked for."""
    few = ": few runs tell little" if row["runs"] < _FEW else ""
    times = "4 times in 5" if settings["power"] == 0.8 else f"with power {settings['power']:g}"
    return (
        f"A true difference of {settings['difference']:g} is found {times} with "
        f"{count_of(row['runs_needed'], 'run')} of each system ({row['runs_low']:,} to "
        f"{row['runs_high']:,}{few})."
    )


def _worth_note(row: Mapping[str, Any], unit: str) -> str:
    """Return whether more runs or more users help more."""
    share = row["share_of_runs"]
    more, fewer = ("runs", f"{unit}s") if share > 0.5 else (f"{unit}s", "runs")
    return (
        f"More {more} help more than more {fewer}: runs are {percent(share)} of the variance of one "
        "run."
    )
