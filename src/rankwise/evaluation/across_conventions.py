"""Metrics under every convention: the spread of a value, and the conventions that give a value.

A ``Definition`` is one metric with every choice; two of them can be mixed. Metrics under the same
options share one evaluation, whichever conventions request them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Self, Unpack

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.convention.convention import conventions as known_conventions
from rankwise.core.arguments import rounded_number
from rankwise.core.terminal import TableDisplay, TableView, format_number, json_safe
from rankwise.errors import EmptyError, ParameterError, UsageError
from rankwise.evaluation.evaluate import evaluate_tables, read_inputs, without_truth
from rankwise.evaluation.input_warnings import protocol_of_lists
from rankwise.evaluation.settings import Settings, TableOptions, relevance_under, table_options
from rankwise.messages import parameter
from rankwise.metrics.base import Metric, one_by_one
from rankwise.options import Choices, choice_values
from rankwise.results.result import Result
from rankwise.tables.table import Tables

CHOICE_NAMES = tuple(choice_values("population", "relevance", "tables", "lists"))
"""The choices beside the parameters of the metric."""
_DEFAULT = Convention("default")


@dataclass(frozen=True)
class Definition:
    """One metric with every choice that decides its number.

    Attributes
    ----------
    metric : Metric
        The metric with its parameters, at one cut-off or none.
    choices : Choices
        All other choices.
    """

    metric: Metric
    choices: Choices

    @classmethod
    def from_name(
        cls, text: str, convention: Convention | None, threshold: float | None = None
    ) -> Self:
        """Return the definition of a metric that is given as text; None: rankwise's defaults.

        With a rating ``threshold``, it decides what is relevant, unless the convention says
        otherwise.

        Raises
        ------
        MetricError
            If the convention has no such metric, or the metric needs a cut-off and has none.
        """
        convention = convention or _DEFAULT
        metric = convention.parse(text)
        metric.require_cutoff()
        chosen = convention.choices_of(metric)
        chosen["ties"] = chosen["ties"] or "expected"
        chosen["relevance"] = relevance_under(chosen["relevance"], threshold)
        return cls(metric, Choices(**chosen))

    def differences(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        """Return the choices that differ, with both values.

        Metrics of different names differ in one choice, ``"metric"``, whatever their parameters.
        """
        if self.metric.name != other.metric.name:
            texts = str(self.metric @ ()), str(other.metric @ ())
            return {"metric": texts} | self._of_choices(other)
        left, right = self.metric.parameters, other.metric.parameters
        changed = {name: (left[name], right[name]) for name in left if left[name] != right[name]}
        return changed | self._of_choices(other)

    def _of_choices(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        pairs = {
            name: (getattr(self.choices, name), getattr(other.choices, name))
            for name in CHOICE_NAMES
        }
        return {name: (first, second) for name, (first, second) in pairs.items() if first != second}

    def with_choices_of(self, other: Definition, names: Collection[str]) -> Definition:
        """Return this definition with the named choices taken from the other definition."""
        metric = self.metric
        if "metric" in names:
            metric = other.metric
        elif self.metric.name == other.metric.name:
            parameters = {field.name for field in fields(metric)} - {"k"}
            taken = {name: getattr(other.metric, name) for name in parameters & set(names)}
            metric = replace(metric, **taken)
        taken = {name: getattr(other.choices, name) for name in CHOICE_NAMES if name in names}
        return Definition(metric, replace(self.choices, **taken))

    def settings(self, options: Mapping[str, Any]) -> Settings:
        """Return the settings of an evaluation of this metric alone."""
        return Settings(
            metrics=(self.metric,), ties_if_scored=True, **{**vars(self.choices), **options}
        )

    def evaluate(self, tables: Tables, options: Mapping[str, Any]) -> Result:
        """Evaluate the metric on tables that are read already."""
        return evaluate_definitions(self.settings(options), tables)


def evaluate_definitions(settings: Settings, tables: Tables) -> Result:
    """Evaluate tables that are read already, with or without a ground truth."""
    return evaluate_tables(settings if tables.truth else without_truth(settings, {}), tables)


SCHEMA: dict[str, Any] = {
    "metric": pl.String,
    "convention": pl.String,
    "value": pl.Float64,
    "users": pl.Int64,
    "definition": pl.String,
    "why": pl.String,
}


@dataclass(frozen=True, eq=False, repr=False)
class AcrossConventions(TableDisplay):
    """The result of `rankwise.across_conventions`: metrics under many conventions.

    Attributes
    ----------
    table : polars.DataFrame
        One row per metric and convention: the ``metric`` as it was requested, ``convention``,
        ``value`` (null if the convention has no such metric), the number of ``users`` averaged over
        (null for metrics that are not means), ``definition`` (the metric of rankwise with all
        parameters), and ``why``: what is not reproduced, or why there is no value. If candidates
        were sampled, also the ``label``.
    label : str, default=""
        The label of values over sampled candidates, stated or inferred; empty for others.
    warnings : tuple of str, default=()
        Warnings about the lists.
    """

    table: pl.DataFrame
    label: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def spread(self) -> pl.DataFrame:
        """The smallest and the largest value of each metric: ``metric, low, high, values``."""
        return self.table.group_by("metric", maintain_order=True).agg(
            low=pl.col("value").drop_nans().min(),
            high=pl.col("value").drop_nans().max(),
            values=pl.col("value").drop_nans().drop_nulls().round(12).n_unique(),
        )

    @property
    def views(self) -> list[TableView]:
        """One row per metric and convention."""
        rows = [
            (
                row["metric"],
                row["convention"],
                "" if row["value"] is None else format_number(row["value"]),
                "" if row["users"] is None else f"{row['users']:,}",
                row["definition"] or "",
            )
            for row in self.table.to_dicts()
        ]
        notes = [f"check: {warning}" for warning in self.warnings]
        notes += [
            f"{row['metric']}: {format_number(row['low'])} to {format_number(row['high'])}"
            for row in self.spread.to_dicts()
            if row["low"] is not None
        ]
        notes += [
            f"{row['metric']}, {row['convention']}: {row['why']}"
            for row in self.table.to_dicts()
            if row["why"]
        ]
        corner = f", {self.label}" if self.label else ""
        head = (f"metric{corner}", "convention", "value", "users", "definition")
        return [
            TableView(
                head,
                rows,
                notes=notes if rows else [*notes, "no convention gives this number"],
                left=(0, 1, 4),
                title="Conventions",
                label="rankwise-conventions",
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON."""
        data: dict[str, Any] = json_safe({"rows": self.table.to_dicts()})
        return data


USUAL_CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
_Conventions = Sequence[str | Convention] | None


def across_conventions(
    recommendations: Any,
    truth: Any,
    metrics: str | Iterable[str],
    *,
    conventions: _Conventions = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    **options: Unpack[TableOptions],
) -> AcrossConventions:
    """Evaluate metrics under many conventions, side by side.

    The spread of the values shows how uncertain a published number is if the paper does not say how
    it was computed.

    Parameters
    ----------
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    metrics : str or list of str
        The metrics as text; each convention defines what their names mean.
    conventions : sequence of str or Convention, optional
        The conventions; by default all of `rankwise.conventions`.
    train, items, users, reference : table or path, optional
        As in `rankwise.evaluate`.
    relevance_threshold, columns, threads : optional
        As in `rankwise.evaluate`, under all conventions.

    Returns
    -------
    AcrossConventions
        Its ``table`` has one row per metric and convention whose library has the metric. The value
        is null, and the row says why, if rankwise does not compute what the library computes, or
        an input that the metric needs is missing.

    Raises
    ------
    UsageError
        If no convention has one of the metrics, or a convention is unknown.
    InputError
        If the tables cannot be evaluated as they are.

    See Also
    --------
    convention_of : Find the conventions that give a value.
    explain : Explain the difference between two conventions.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": {"c", "d", "e", "f"}}
    >>> across = rw.across_conventions(lists, truth, "map@3", conventions=["recbole", "ranx"])
    >>> across.table.select("convention", "value").rows()
    [('recbole', 0.11111), ('ranx', 0.08333)]
    """
    texts = one_by_one([metrics] if isinstance(metrics, str) else metrics)
    sources = {"train": train, "items": items, "users": users, "reference": reference}
    return _across(recommendations, truth, sources, options, texts, _chosen(conventions))


def convention_of(
    number: float | str,
    recommendations: Any,
    truth: Any,
    metric: str,
    *,
    cutoffs: Iterable[int] = USUAL_CUTOFFS,
    conventions: _Conventions = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    **options: Unpack[TableOptions],
) -> AcrossConventions:
    """Find the conventions and cut-offs under which a metric has a given value.

    Parameters
    ----------
    number : float or str
        The value, with all digits that are known: ``"0.2317"`` or ``"23.17%"``. Every value that
        rounds to it is a match.
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    metric : str
        The metric. Without a cut-off it is tried at all ``cutoffs``, and without one (the whole
        list); with cut-offs (``"recall@1,3"``), only at these.
    cutoffs : iterable of int, default=(1, 3, 5, 10, 20, 50, 100)
        The cut-offs to try.
    conventions, train, items, users, reference, relevance_threshold, columns, threads : optional
        As in `across_conventions`.

    Returns
    -------
    AcrossConventions
        Its ``table`` has one row per match, and none if no convention gives the value.

    Raises
    ------
    ParameterError
        If ``number`` is not a number.
    UsageError
        If no convention has the metric, or a convention is unknown.
    InputError
        If the tables cannot be evaluated as they are.

    See Also
    --------
    across_conventions : Evaluate metrics under many conventions.
    explain : Explain the difference between two conventions.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": {"c", "d", "e", "f"}}
    >>> found = rw.convention_of("0.083", lists, truth, "map@1,3", conventions=["recbole", "ranx"])
    >>> found.table.select("metric", "convention").rows()[0]
    ('map@3', 'ranx')
    """
    value, half = rounded_number(number)
    texts = one_by_one([metric])
    several: Any = cutoffs
    tried = [] if isinstance(several, str) or not isinstance(several, Iterable) else list(several)
    if not tried or not all(isinstance(k, int) for k in tried):
        raise ParameterError("cut-offs are whole numbers", found=parameter("cutoffs", cutoffs))
    if "@" not in texts[0]:
        texts = [*texts, *(f"{name}@{k}" for name, k in product(texts, tried))]
    sources = {"train": train, "items": items, "users": users, "reference": reference}
    chosen = _chosen(conventions)
    _check_known(texts, [*chosen.values()])
    across = _across(recommendations, truth, sources, options, texts, chosen, strict=False)
    near = (pl.col("value") - value).abs() <= half * (1 + 1e-9)
    return replace(across, table=across.table.filter(near.fill_null(value=False)))


def _chosen(conventions: _Conventions) -> dict[str, Convention | None]:
    """Return the conventions by name, rankwise's defaults as None."""
    chosen: dict[str, Convention | None] = {}
    several: Any = known_conventions() if conventions is None else conventions
    if isinstance(several, str | Convention):
        several = [several]
    if not isinstance(several, Iterable) or not (several := list(several)):
        raise ParameterError(
            "conventions are a list of names",
            found=parameter("conventions", conventions),
            hint="leave them out for all of them",
        )
    for source in several:
        convention = Convention.resolve(source)
        name = "default" if convention is None else convention.name
        if name in chosen:
            raise ParameterError(
                "two conventions have the same name", found=repr(name), hint="rename one of them"
            )
        chosen[name] = convention
    return chosen


def _check_known(texts: Sequence[str], conventions: Iterable[Convention | None]) -> None:
    """Raise if no convention knows any of these metrics: misspelled, or without a cut-off."""
    failed: UsageError | None = None
    for text, convention in product(texts, conventions):
        try:
            Definition.from_name(text, convention)
        except UsageError as error:
            failed = failed or error
        else:
            return
    if failed is not None:
        raise failed


def _across(
    recommendations: Any,
    truth: Any,
    sources: Mapping[str, Any],
    options: Any,
    texts: Sequence[str],
    conventions: Mapping[str, Convention | None],
    *,
    strict: bool = True,
) -> AcrossConventions:
    """Return one row per metric and convention; if ``strict``, raise for unknown metrics."""
    columns = table_options(options)
    tables = read_inputs(
        Settings(metrics=(), **columns),
        recommendations=recommendations,
        truth=truth,
        required=("recommendations",),
        **sources,
    )
    for text in texts if strict else ():
        _check_known([text], conventions.values())
    rows: list[dict[str, Any]] = []
    settings: dict[int, Settings] = {}
    for text, (name, convention) in product(texts, conventions.items()):
        row: dict[str, Any] = {"metric": text, "convention": name}
        if convention is not None and not convention.offers(text):
            continue
        try:
            definition = Definition.from_name(text, convention, columns.get("relevance_threshold"))
            settings[len(rows)] = definition.settings(columns)
            row |= {"definition": _in_full(definition.metric), "why": _note(definition, convention)}
        except UsageError as error:
            if not strict:
                continue
            detail = f": {error.found}" if error.found else ""
            row |= {"definition": None, "why": f"{error.what}{detail}"}
        rows.append(row)
    values = _values_under_options(settings.values(), tables)
    for place, one in settings.items():
        rows[place] |= values[one]
    table = pl.DataFrame(rows, schema=SCHEMA)
    protocol, warnings = protocol_of_lists(tables, columns.get("relevance_threshold"))
    if protocol is None or not protocol.sampled:
        return AcrossConventions(table)
    return AcrossConventions(
        table.with_columns(label=pl.lit(protocol.label)), protocol.label, tuple(warnings)
    )


def _values_under_options(
    requests: Iterable[Settings], tables: Tables
) -> dict[Settings, dict[str, Any]]:
    """Evaluate each metric under its options, with one evaluation per distinct set of options."""
    groups: dict[Settings, dict[Metric, Settings]] = {}
    for settings in requests:
        groups.setdefault(replace(settings, metrics=()), {})[settings.metrics[0]] = settings
    return {
        group[metric]: value
        for options, group in groups.items()
        for metric, value in _values(replace(options, metrics=tuple(group)), tables).items()
    }


def _values(settings: Settings, tables: Tables) -> dict[Metric, dict[str, Any]]:
    """Return the value and the number of users of each metric, or why the metric has no value."""
    metrics = settings.metrics
    try:
        result = evaluate_definitions(settings, tables)
    except (UsageError, EmptyError) as error:
        if len(metrics) == 1:
            return {metrics[0]: {"why": error.what}}
        # One metric that lacks an input does not stop the rest: halving singles it out in few
        # evaluations.
        halves = metrics[: len(metrics) // 2], metrics[len(metrics) // 2 :]
        first, second = (_values(replace(settings, metrics=half), tables) for half in halves)
        return first | second
    return {metric: _value(result, metric.cells[0]) for metric in metrics}


def _value(result: Result, cell: str) -> dict[str, Any]:
    """Return a value and its number of users, which is null without per-user values."""
    defined = result.per_user[cell].is_not_nan() if cell in result.per_user.columns else None
    return {"value": result.values.get(cell), "users": None if defined is None else defined.sum()}


def _in_full(metric: Metric) -> str:
    """Write a metric, with its component metrics if all its parameters are at their defaults."""
    parts = [value for value in metric.parameters.values() if isinstance(value, Metric)]
    if metric.non_default_parameters or not parts:
        return str(metric)
    made_of = ",".join(map(str, parts))
    return str(metric).replace(metric.name, f"{metric.name}({made_of})", 1)


def _note(definition: Definition, convention: Convention | None) -> str | None:
    """Return the behaviour of the library that is not reproduced."""
    return None if convention is None else convention.entry(definition.metric).note or None
