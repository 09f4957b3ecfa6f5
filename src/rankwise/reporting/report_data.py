"""The data of a report's sections, and the parts of a page: text, tables, charts, provenance."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.decision import Decision
from rankwise.comparison.design import Design
from rankwise.comparison.movers import Movers, find_movers, positions
from rankwise.core.terminal import (
    Cell,
    Marked,
    TableView,
    count_of,
    format_number,
    level_text,
    percent,
)
from rankwise.errors import MetricError, RankwiseError
from rankwise.messages import Message, marked
from rankwise.metrics.base import FAMILIES, Metric
from rankwise.metrics.description import Description
from rankwise.options import Options, options_of
from rankwise.reporting.chart_data import Estimates
from rankwise.reporting.forest import Board, Forest, Stack
from rankwise.reporting.hints import ASK_FOR_AUDIT, EVALUATE_ON_SPLIT
from rankwise.reporting.read_again import SavedTables
from rankwise.results.display import moment_text
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.splits.audit import audit as make_audit
from rankwise.splits.audit_parts import Audit
from rankwise.stats.differences import Floats
from rankwise.tables.columns import Columns, columns_of
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole

if TYPE_CHECKING:
    from rankwise.reporting.charts import Chart
    from rankwise.reporting.lookup import Lookup


@dataclass(frozen=True)
class Text:
    """A paragraph; ``strong`` marks a key message."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Notes:
    """A list of remarks."""

    notes: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table; ``sortable`` lets a reader sort its rows by each column.

    On a phone its rows are cards, unless it is ``compact``.
    """

    view: TableView
    sortable: bool = False
    compact: bool = False


@dataclass(frozen=True)
class Figure:
    """A chart with its caption in words, and its data.

    ``name`` is that of its files among the assets; ``draw`` makes the chart from the data.
    """

    name: str
    caption: str
    data: pl.DataFrame
    draw: Callable[[pl.DataFrame], Chart]


@dataclass(frozen=True)
class Missing:
    """A part that could not be computed, with the reason, and how to have it computed."""

    what: str
    why: str
    hint: str = ""

    @classmethod
    def of_error(cls, what: str, error: Exception) -> Missing:
        """Return the part that an error prevented."""
        hint = error.hint if isinstance(error, RankwiseError) else None
        return cls(what, _problem(error), hint or "")

    @property
    def reason(self) -> Message:
        """The reason and the hint on one line."""
        hint = f" ({marked(self.hint)})" if self.hint else ""
        return Message(f"{marked(self.why)}{hint}")


@dataclass(frozen=True)
class Folded:
    """Details that a reader opens."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Panels:
    """Small charts side by side."""

    charts: Sequence[Figure | Forest]


Block: TypeAlias = (
    "Text | Notes | Grid | Figure | Missing | Folded | Forest | Board | Stack | Panels | Lookup"
)


@dataclass(frozen=True)
class Section:
    """A section of the page, collapsed at first if ``folded``.

    ``title`` is its topic, ``finding`` what it shows, if anything.
    """

    name: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    folded: bool = False
    finding: str = ""


def reason(error: Exception) -> str:
    """Return an error's message on one line, marked as internal unless a RankwiseError."""
    return Missing.of_error("", error).reason


def _problem(error: Exception) -> str:
    """Return an error's message on one line, without the hint."""
    if not isinstance(error, RankwiseError):
        message = str(error).strip().splitlines()[:1]
        return ": ".join(
            ["an error inside rankwise", type(error).__name__, *(line[:200] for line in message)]
        )
    found = f": {marked(error.found)}" if error.found else ""
    return Message(f"{marked(error.what)}{found}")


def section(
    name: str,
    title: str,
    material: ReportData,
    builders: Mapping[str, Callable[[ReportData], Sequence[Block]]],
) -> Section:
    """Return a section of named parts, each of which may fail alone.

    A part that cannot be computed is replaced by its reason, so that no failure costs a reader the
    rest of the page.
    """
    blocks: list[Block] = []
    for what, build in builders.items():
        try:
            blocks += build(material)
        except Exception as error:  # noqa: BLE001 - the page says it; it must not be lost with it
            blocks.append(Missing.of_error(what, error))
    return Section(name, title, blocks)


_TITLES = ("title", "name", "item_name", "movie_title", "label")


@dataclass(frozen=True, eq=False)
class Lists:
    """The tables that results were evaluated from; a missing table raises the reason.

    ``tables`` has ``truth``, ``train`` and ``items`` of the caller, ``runs`` the lists by system.
    """

    results: Mapping[str, Result]
    runs: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns | None = None
    """The columns of these tables; results name those of files that are read again."""

    @property
    def threshold(self) -> float | None:
        """The minimum relevance of relevant items."""
        first = next(iter(self.results.values()))
        threshold: float | None = first.provenance["settings"].get("relevance_threshold")
        return threshold

    def top(self, system: str, k: int) -> pl.DataFrame:
        """Return the first k items of each user's list: ``user``, ``item``, ``position``."""
        if system not in self._ordered:
            table = self._table(self.results[system], "recommendations", self.runs.get(system))
            self._ordered[system] = positions(table.frame)
        return self._ordered[system].filter(pl.col("position") <= k)

    @cached_property
    def _ordered(self) -> dict[str, pl.DataFrame]:
        """The lists that were read, by system."""
        return {}

    @cached_property
    def relevant(self) -> pl.DataFrame:
        """The relevant items of each user: ``user``, ``item``."""
        return self._first("truth").relevant(self.threshold).select(_text("user"), _text("item"))

    @cached_property
    def train(self) -> pl.DataFrame:
        """The training interactions: ``user``, ``item``."""
        return self._first("train").trained.frame.select(_text("user"), _text("item"))

    @cached_property
    def history(self) -> pl.DataFrame:
        """Interactions before the ground truth, training included: ``user``, ``item``."""
        return self._first("train").frame.select(_text("user"), _text("item"))

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of items; empty if no table has any."""
        try:
            frame = self._first("items").frame
        except RankwiseError:
            return {}
        named = [name for name in frame.columns if name.lower() in _TITLES]
        if not named:
            return {}
        pairs = frame.select(_text("item"), pl.col(named[0]).cast(pl.String)).drop_nulls()
        return dict(pairs.rows())

    def exposures(
        self, systems: Sequence[str], k: int
    ) -> tuple[dict[str, Floats], dict[str, RankwiseError]]:
        """Return how often each item is in the first k, by system; and why systems have none.

        All systems have the same items: the catalogue that they were evaluated with, otherwise
        every item that is in any list, in the ground truth or in training.
        """
        counts: dict[str, pl.DataFrame] = {}
        missing: dict[str, RankwiseError] = {}
        for system in systems:
            try:
                counts[system] = self.top(system, k)["item"].value_counts()
            except RankwiseError as error:
                missing[system] = error
        sizes = [self.results[system].counts.get("catalogue_items", 0) for system in counts]
        size = max(sizes, default=0) or self._items([count["item"] for count in counts.values()])
        exposures = {}
        for system, count in counts.items():
            times = count["count"].to_numpy().astype(np.float64)
            exposures[system] = np.concatenate([times, np.zeros(max(size - len(times), 0))])
        return exposures, missing

    def _items(self, seen: list[pl.Series]) -> int:
        """Return the number of items in lists, ground truth and training, where known."""
        for role in ("relevant", "train"):
            with contextlib.suppress(RankwiseError):
                seen.append(getattr(self, role)["item"].unique())
        return pl.concat(seen).n_unique() if seen else 0

    @cached_property
    def audit(self) -> Audit:
        """The audit of the split into training interactions and ground truth."""
        train, truth = self._first("train"), self._first("truth")
        columns = columns_of(self.columns, ["interactions"])
        return make_audit(train, truth, columns=columns or None)

    def _first(self, role: TableRole) -> Table:
        """Return a table that all results share, from the first result that locates the table."""
        if role in self._shared:
            return self._shared[role]
        failed: RankwiseError | None = None
        for result in self.results.values():
            try:
                self._shared[role] = self._table(result, role, self.tables.get(role))
                return self._shared[role]
            except RankwiseError as error:
                failed = failed or error
        assert failed is not None
        raise failed

    @cached_property
    def _shared(self) -> dict[TableRole, Table]:
        """The tables that were read and that all results share."""
        return {}

    @cached_property
    def _saved(self) -> SavedTables:
        """The tables of the results' files."""
        return SavedTables()

    def _table(self, result: Result, role: TableRole, source: Any) -> Table:
        """Return a table of the caller, or read again from the file that the result names."""
        if source is None:
            return self._saved.read(result, role)
        return read_table(source, role, self.columns)


def _text(name: str) -> pl.Expr:
    """Return ids as text: tables of one evaluation may have them as numbers and as text."""
    return pl.col(name).cast(pl.String)


MOVERS = 5
"""Users who gain most, and as many who lose most, that a page names."""
_DRAWN = 12  # systems in a chart of several groups or curves: more cannot be told apart


@dataclass(frozen=True, eq=False)
class ReportData:
    """Results, their comparison, and the tables behind them.

    Attributes
    ----------
    estimates : Estimates
        The values of all results with their intervals.
    primary : str
        The primary metric.
    pairs : polars.DataFrame or None
        The table of a comparison; None if there is none, for the reason in ``not_compared``.
    design : Design
        How the results were compared.
    lists : Lists
        The recommendation lists and tables, where they can be had.
    audit : polars.DataFrame, False or None
        The checks of an audit of the split; None for an audit of the tables behind the results, and
        False for no audit.
    decision : Decision or None
        The decision that the page is about.
    evidence : sequence of TableView
        Tables of other studies: past launches, human labels.
    group_differences : mapping of str to polars.DataFrame
        The differences from the reference within groups, by the column of the groups.
    groups_not_compared : mapping of str to str
        Why there are none of a column.
    show_users : bool
        Whether users are named, with their lists and histories.
    """

    estimates: Estimates
    primary: str
    pairs: pl.DataFrame | None
    not_compared: str
    design: Design
    lists: Lists
    audit: pl.DataFrame | Literal[False] | None
    decision: Decision | None = None
    evidence: Sequence[TableView] = ()
    group_differences: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    groups_not_compared: Mapping[str, str] = field(default_factory=dict)
    show_users: bool = True

    @property
    def results(self) -> Mapping[str, Result]:
        """The results by name."""
        return self.estimates.results

    @property
    def unit(self) -> SamplingUnit:
        """The sampling unit of means: users, or requests of users."""
        return next(iter(self.results.values())).sampling_unit

    @property
    def level(self) -> str:
        """The level of single values' intervals, as in the comparison if there is one."""
        return level_text(1 - self.estimates.alpha)

    @property
    def alone(self) -> bool:
        """Whether there is one result, which nothing is compared with."""
        return len(self.results) == 1

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        return next((r.direction(cell) for r in self.results.values() if cell in r.values), None)

    @cached_property
    def ranked(self) -> list[str]:
        """The systems, the best value of the primary metric first."""
        value = {name: r.values.get(self.primary, math.nan) for name, r in self.results.items()}
        undefined = [name for name in value if math.isnan(value[name])]
        defined = [name for name in value if not math.isnan(value[name])]
        up = self.direction(self.primary) is False  # without a direction the highest is first
        return sorted(defined, key=lambda name: value[name], reverse=not up) + undefined

    @cached_property
    def drawn(self) -> Estimates:
        """The estimates of the systems that charts of all systems show: the best, if many."""
        if len(self.results) <= _DRAWN:
            return self.estimates
        return self.estimates.only(self.ranked[:_DRAWN])

    @property
    def left_out(self) -> str:
        """The note of a chart without all systems; empty if all systems are drawn."""
        if len(self.results) <= _DRAWN:
            return ""
        return f" Shown are the {_DRAWN} best of {len(self.results):,} systems."

    @cached_property
    def single_cells(self) -> list[str]:
        """The values that are no cell of a metric with several, the primary metric first."""
        heads = tuple(f"{name}[" for name in self._metrics)
        cells = [cell for cell in self.estimates.cells if not cell.startswith(heads)]
        return sorted(cells, key=lambda cell: cell != self.primary)

    def metric_of(self, cell: str) -> Metric | None:
        """Return the metric whose value this is."""
        return self._metrics.get(cell)

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        pairs = (
            (cell, metric)
            for r in self.results.values()
            for metric in r.metrics
            for cell in metric.cells
        )
        metrics: dict[str, Metric] = {}
        for cell, metric in pairs:
            metrics.setdefault(cell, metric)
        return metrics

    @cached_property
    def telling_pair(self) -> tuple[str, str]:
        """The compared pair of systems that ranks highest, to show users of."""
        if self.pairs is None:
            raise MetricError(self.not_compared)
        rows = self.pairs.filter(pl.col("primary") & pl.col("wins").is_not_null())
        if rows.is_empty():
            raise MetricError(f"{self.primary} has no per-user values that were compared")
        place = {name: index for index, name in enumerate(self.ranked)}
        pairs = [(row["baseline"], row["system"]) for row in rows.iter_rows(named=True)]
        best = min(pairs, key=lambda pair: place[pair[0]] + place[pair[1]])
        return best if place[best[1]] < place[best[0]] else (best[1], best[0])

    @cached_property
    def moved(self) -> Movers:
        """The users of this pair that moved most."""
        pair, missing = self.telling_pair, self.design.missing
        return find_movers(self.results, pair, self.primary, n=MOVERS, missing=missing)

    @property
    def summaries(self) -> dict[str, str]:
        """What each value says, in a sentence."""
        return {cell: Description(type(metric)).summary for cell, metric in self._metrics.items()}

    def in_families(self, families: Sequence[str]) -> list[str]:
        """Return the values of metrics in the given families."""
        metrics = ((cell, self.metric_of(cell)) for cell in self.single_cells)
        return [
            cell for cell, metric in metrics if metric is not None and metric.family in families
        ]

    @property
    def k(self) -> int:
        """The length of the lists that exposure and examples are about."""
        metric = self.metric_of(self.primary)
        if metric is None or not metric.k:
            return 10
        return dict(zip(metric.cells, metric.k, strict=True))[self.primary]

    @property
    def descriptions(self) -> list[Description]:
        """The descriptions of the results' metrics, sorted by family."""
        classes = {type(m): None for r in self.results.values() for m in r.metrics}
        order = {family: at for at, family in enumerate(FAMILIES)}
        descriptions = map(Description, classes)
        return sorted(descriptions, key=lambda d: (order.get(d.cls.family, len(order)), d.cls.name))


def check_lists_of_users(material: ReportData, *, value_from_means: bool = False) -> None:
    """Raise if lists belong to requests, whose users are not in the tables that are drawn.

    ``value_from_means``: values alone are drawn, which users have if means are over users first.
    """
    results = material.results.values()
    if any(
        result.has_requests if value_from_means else "requests" in result.provenance
        for result in results
    ):
        raise MetricError("lists belong to requests of users; this is drawn for one list per user")


def data(material: ReportData) -> list[Block]:
    """Return the counts of users, rows and irregularities of every system."""
    names = dict.fromkeys(name for r in material.results.values() for name in sorted(r.counts))
    rows = [
        [
            name.replace("_", " "),
            *(
                "–" if (count := result.counts.get(name)) is None else f"{count:,}"
                for result in material.results.values()
            ),
        ]
        for name in names
    ]
    return [Grid(TableView(["counts", *material.estimates.systems], rows))]


def split(material: ReportData) -> list[Block]:
    """Return the card of the split."""
    cards = [result.split for result in material.results.values() if result.split is not None]
    if not cards:
        raise MetricError(
            "the results have no split metadata",
            hint=EVALUATE_ON_SPLIT,
        )
    card, tested = cards[0], next(r.tested_on for r in material.results.values() if r.split)
    head = ["part", "rows", "users", "items"]
    rows = [
        [
            name,
            *(
                f"{part[column]:,}" if isinstance(part.get(column), int) else "–"
                for column in ("rows", "users", "items")
            ),
        ]
        for name, part in card["parts"].items()
    ]
    time = card.get("time") or {}
    notes = [
        f"{name.replace('_', ' ')}: {moment_text(value, time) if name == 'moment' else value}"
        for name, value in card["found"].items()
    ]
    leak = time.get("leak_index", {}).get("mean")
    if leak is not None:
        notes.append(f"mean share of training that is later than a test row: {percent(leak, 2)}")
    cold = (card.get("cold") or {}).get("test") or {}
    if "share_of_users" in cold:
        notes.append(
            f"test users without training rows: {percent(cold['share_of_users'], 2)}; test items: "
            f"{percent(cold['share_of_items'], 2)}"
        )
    return [Text(tested), Grid(TableView(head, rows)), Notes(notes)]


def audit(material: ReportData) -> list[Block]:
    """Return the checks of the audit: as passed, or of the tables behind the results."""
    if material.audit is False:
        raise MetricError("the split was not audited", hint=ASK_FOR_AUDIT)
    checks = material.lists.audit.table if material.audit is None else material.audit
    rows = [
        [
            f"{row['code']} {row['name']}",
            Marked(row["status"], "bold" if row["status"] in ("fail", "warn") else ""),
            format_number(row["value"]),
            row["said"],
        ]
        for row in checks.iter_rows(named=True)
    ]
    statuses = checks["status"].to_list()
    words = (("fail", "failed"), ("warn", "warned"), ("pass", "passed"), ("not run", "not run"))
    counts = [f"{statuses.count(status)} {word}" for status, word in words if status in statuses]
    bad = "fail" in statuses or "warn" in statuses
    view = TableView(["check", "verdict", "number", "what was found"], rows, left=(0, 1, 3))
    text = f"{len(rows)} checks for leakage: {', '.join(counts)}."
    return [Text(text, strong=bad), Grid(view, sortable=True)]


def conventions(material: ReportData) -> list[Block]:
    """Return every setting of the evaluation, and the parameters of every metric."""
    return [*_settings(material), *_parameters_of_metrics(material)]


def _settings(material: ReportData) -> list[Block]:
    """Return the settings: those that were changed, and folded those at the default."""
    settings = _settings_by_system(material.results)
    keys = dict.fromkeys(key for options in settings.values() for key in options)
    changed: list[list[Cell]] = []
    kept: list[list[Cell]] = []
    for key in keys:
        texts = [_setting_text(options.get(key)) for options in settings.values()]
        row: list[Cell] = [key.replace("_", " "), *texts]
        is_default = all(_is_default(key, options) for options in settings.values())
        (kept if is_default else changed).append(row)

    columns = ["setting", *settings]
    grids = [Grid(TableView(columns, rows, left=range(len(columns)))) for rows in (changed, kept)]
    blocks: list[Block] = [grids[0]] if changed else []
    if kept:
        blocks.append(Folded(count_of(len(kept), "setting") + " at the default", [grids[1]]))
    return blocks


def _settings_by_system(results: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """Return the settings of each system besides its metrics; once if all have the same."""
    settings = {name: dict(r.provenance.get("settings", {})) for name, r in results.items()}
    for options in settings.values():
        options.pop("metrics", None)
    first, *rest = settings.values()
    if rest and all(other == first for other in rest):
        return {"all systems": first}
    return settings


def _parameters_of_metrics(material: ReportData) -> list[Block]:
    """Return the parameters of every metric in full, each definition once."""
    rows = []
    for result in material.results.values():
        definitions = result.provenance.get("own_definitions", {})
        convention = result.provenance.get("settings", {}).get("convention", "default")
        for metric, options in result.provenance.get("metrics", {}).items():
            parameters = ", ".join(
                f"{key}={_setting_text(value)}" for key, value in options.items()
            )
            whose = "rankwise" if metric in definitions or convention == "default" else convention
            rows.append([metric, parameters or "none", whose])
    if not rows:
        return []

    listed = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    head = ["metric", "parameters in full", "definition of"]
    return [Folded("Parameters of every metric", [Grid(TableView(head, listed, left=(0, 1, 2)))])]


def _is_default(key: str, settings: Mapping[str, Any]) -> bool:
    """Return whether a setting is what it is if nobody chooses; the order of ties follows the lists."""
    if key == "ties":
        return not settings.get("ties_given")
    declared = options_of(Options).get(key)
    default = False if declared is None else declared.default
    value = settings.get(key)
    return (value or None) == (default or None)


def _setting_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def inputs(material: ReportData) -> list[Block]:
    """Return where every table came from, with its hash, and the versions of software."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for system, result in material.results.items():
        for role, card in result.provenance.get("inputs", {}).items():
            shared.setdefault((role, *_card(card)), []).append(system)
    every = len(material.results)
    rows = [
        ["all" if len(systems) == every > 1 else ", ".join(systems), *row]
        for row, systems in shared.items()
    ]
    head = ["system", "table", "source", "format", "rows", "columns", "sha256"]
    versions = {
        ", ".join(f"{key} {value}" for key, value in versions.items()): None
        for r in material.results.values()
        if (versions := r.provenance.get("versions"))
    }
    dates = {
        f"{name}: {r.provenance['date']}": None
        for name, r in material.results.items()
        if "date" in r.provenance
    }
    return [
        Grid(TableView(head, rows, left=(0, 1, 2, 3, 5, 6))),
        Notes([*versions, *(f"evaluated {date}" for date in dates)]),
    ]


def _card(card: Mapping[str, Any]) -> list[str]:
    columns = card.get("columns")
    named = columns.items() if isinstance(columns, Mapping) else ()
    rows = card.get("rows")
    return [
        str(card.get("source", "–")),
        str(card.get("format", "–")),
        f"{rows:,}" if isinstance(rows, int) else "–",
        ", ".join(role if role == name else f"{role}={name}" for role, name in named),
        (card.get("sha256") or "no file")[:12],
    ]


def remarks(material: ReportData) -> list[Block]:
    """Return the notes of the results, those of all systems once."""
    notes = {name: result.notes for name, result in material.results.items()}
    first = next(iter(notes.values()))
    shared = [note for note in first if all(note in own for own in notes.values())]
    if len(notes) == 1:
        return [Notes(shared)] if shared else []
    own = {name: [note for note in said if note not in shared] for name, said in notes.items()}
    folded = {"all systems": shared, **own}
    return [Folded(f"Notes of {name}", [Notes(said)]) for name, said in folded.items() if said]


def glossary(material: ReportData) -> list[Block]:
    """Return the definition of each metric, from its docstring."""
    rows = [
        [
            each.cls.name,
            FAMILIES.get(each.cls.family, each.cls.family),
            each.summary,
            each.range,
            each.better,
        ]
        for each in material.descriptions
    ]
    if not rows:
        raise MetricError("the values are not named after metrics of rankwise")
    head = ["metric", "family", "what it says", "range", "better"]
    return [Grid(TableView(head, rows, left=(0, 1, 2, 3, 4)))]
