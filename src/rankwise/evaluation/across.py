"""Metrics under every convention: the spread of a value, and the conventions that give a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Unpack

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.convention.convention import conventions as known_conventions
from rankwise.core.arguments import rounded_number
from rankwise.errors import EmptyError, ParameterError, UsageError
from rankwise.evaluation.definition import Definition, evaluated
from rankwise.evaluation.doubts import protocol_of_lists
from rankwise.evaluation.option_sets import TableOptions
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.wanted import table_options
from rankwise.measures.measure import Measure
from rankwise.measures.read import one_by_one
from rankwise.results.across_conventions import SCHEMA, AcrossConventions
from rankwise.results.result import Result
from rankwise.tables.table import Tables

__all__ = ["USUAL_CUTOFFS", "across_conventions", "convention_of"]

USUAL_CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
_Conventions = Sequence[str | Convention] | None


def across_conventions(
    recommendations: Any,
    truth: Any,
    measures: str | Iterable[str],
    *,
    conventions: _Conventions = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
    **options: Unpack[TableOptions],
) -> AcrossConventions:
    """Evaluate metrics under many conventions, side by side.

    The spread of the values shows how uncertain a published number is if the paper does not say how
    it was computed.

    Parameters
    ----------
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    measures : str or list of str
        The metrics as text; each convention defines what their names mean.
    conventions : sequence of str or Convention, optional
        The conventions; by default all of `rankwise.conventions`.
    train, items, users, baseline : table or path, optional
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
    texts = one_by_one([measures] if isinstance(measures, str) else measures)
    sources = {"train": train, "items": items, "users": users, "baseline": baseline}
    return _across(recommendations, truth, sources, options, texts, _chosen(conventions))


def convention_of(
    number: float | str,
    recommendations: Any,
    truth: Any,
    measure: str,
    *,
    cutoffs: Iterable[int] = USUAL_CUTOFFS,
    conventions: _Conventions = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
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
    measure : str
        The metric. Without a cut-off it is tried at all ``cutoffs``, and without one (the whole
        list); with cut-offs (``"recall@1,3"``), only at these.
    cutoffs : iterable of int, default=(1, 3, 5, 10, 20, 50, 100)
        The cut-offs to try.
    conventions, train, items, users, baseline, relevance_threshold, columns, threads : optional
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
    >>> found.table.select("measure", "convention").rows()[0]
    ('map@3', 'ranx')
    """
    value, half = rounded_number(number)
    texts = one_by_one([measure])
    several: Any = cutoffs
    tried = [] if isinstance(several, str) or not isinstance(several, Iterable) else list(several)
    if not tried or not all(isinstance(k, int) for k in tried):
        raise ParameterError("cut-offs are whole numbers", found=f"cutoffs={cutoffs!r}"[:80])
    if "@" not in texts[0]:
        texts = [*texts, *(f"{name}@{k}" for name, k in product(texts, tried))]
    sources = {"train": train, "items": items, "users": users, "baseline": baseline}
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
            found=f"conventions={conventions!r}"[:80],
            hint="leave them out for all of them",
        )
    for given in several:
        convention = Convention.named(given)
        name = "default" if convention is None else convention.name
        if name in chosen:
            raise ParameterError("two conventions have the same name", found=repr(name), hint="rename one of them")
        chosen[name] = convention
    return chosen


def _check_known(texts: Sequence[str], conventions: Iterable[Convention | None]) -> None:
    """Raise if no convention knows any of these measures: misspelled, or without a cut-off."""
    failed: UsageError | None = None
    for text, convention in product(texts, conventions):
        try:
            Definition.under(text, convention)
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
    """Return one row per measure and convention; ``strict``: some convention knows each measure."""
    given = table_options(options)
    tables = read_inputs(
        Settings(measures=(), **given),
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
        row: dict[str, Any] = {"measure": text, "convention": name}
        if convention is not None and not convention.offers(text):
            continue
        try:
            definition = Definition.under(text, convention)
            settings[len(rows)] = definition.settings(given)
            row |= {"definition": _in_full(definition.measure), "why": _note(definition, convention)}
        except UsageError as error:
            if not strict:
                continue
            found = f": {error.found}" if error.found else ""
            row |= {"definition": None, "why": f"{error.what}{found}"}
        rows.append(row)
    values = _values_under_options(settings.values(), tables)
    for place, one in settings.items():
        rows[place] |= values[one]
    table = pl.DataFrame(rows, schema=SCHEMA)
    protocol, warnings = protocol_of_lists(tables, given.get("relevance_threshold"))
    if protocol is None or not protocol.sampled:
        return AcrossConventions(table)
    return AcrossConventions(table.with_columns(label=pl.lit(protocol.label)), protocol.label, tuple(warnings))


def _values_under_options(requests: Iterable[Settings], tables: Tables) -> dict[Settings, dict[str, Any]]:
    """Return the value of each metric under its options, from one evaluation per distinct set of options."""
    groups: dict[Settings, dict[Measure, Settings]] = {}
    for settings in requests:
        groups.setdefault(replace(settings, measures=()), {})[settings.measures[0]] = settings
    return {
        group[measure]: value
        for options, group in groups.items()
        for measure, value in _values(replace(options, measures=tuple(group)), tables).items()
    }


def _values(settings: Settings, tables: Tables) -> dict[Measure, dict[str, Any]]:
    """Return the value of each metric and the number of users averaged over, or why there is none."""
    measures = settings.measures
    try:
        result = evaluated(settings, tables)
    except (UsageError, EmptyError) as error:
        if len(measures) == 1:
            return {measures[0]: {"why": error.what}}
        # One metric that lacks an input does not stop the rest: halving singles it out in few evaluations.
        halves = measures[: len(measures) // 2], measures[len(measures) // 2 :]
        first, second = (_values(replace(settings, measures=half), tables) for half in halves)
        return first | second
    return {measure: _value(result, measure.cells[0]) for measure in measures}


def _value(result: Result, cell: str) -> dict[str, Any]:
    """Return a value and the number of users averaged over, null where there are no values of users."""
    defined = result.per_user[cell].is_not_nan() if cell in result.per_user.columns else None
    return {"value": result.values.get(cell), "users": None if defined is None else defined.sum()}


def _in_full(measure: Measure) -> str:
    """Write a measure with what it is made of, where that is its default."""
    parts = [value for value in measure.parameters.values() if isinstance(value, Measure)]
    if measure.changed or not parts:
        return str(measure)
    made_of = ",".join(map(str, parts))
    return str(measure).replace(measure.name, f"{measure.name}({made_of})", 1)


def _note(definition: Definition, convention: Convention | None) -> str | None:
    """Return the behaviour of the library that is not reproduced."""
    return None if convention is None else convention.entry(definition.measure).note or None
