"""Measures under every convention: the spread of a number, and whose number it is.

Conventions that read the tables in the same way share one evaluation. Users' values are the same
then, and the mean that a convention takes of them follows from who is averaged over. Only what is
no mean of users is evaluated for each population anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import polars as pl

from rankwise.convention.convention import Convention
from rankwise.convention.known import conventions as known_conventions
from rankwise.core.arguments import rounded_number
from rankwise.core.exact_total import ExactTotal
from rankwise.core.user_rules import UserRule
from rankwise.errors import EmptyError, MeasureError, ParameterError
from rankwise.evaluation.definition import CHOICE_NAMES, Definition
from rankwise.evaluation.evaluate import evaluate_tables, without_truth
from rankwise.evaluation.option_sets import TableOptions
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.wanted import table_options
from rankwise.evaluation.work import read_inputs
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import Measure
from rankwise.measures.read import one_by_one
from rankwise.results.across_conventions import SCHEMA, AcrossConventions
from rankwise.results.result import Result
from rankwise.tables.table import Tables

__all__ = ["USUAL_CUTOFFS", "across_conventions", "convention_of"]

USUAL_CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
_OF_USERS = CHOICE_NAMES[:3]
"""The choices that say who is averaged over: they do not touch the values of users."""
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
    """Evaluate measures under many conventions, side by side.

    The spread of the values is the error bar of a number that is copied from a paper without saying
    how it was computed.

    Parameters
    ----------
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    measures : str or list of str
        The measures, as text, which each convention reads in its language.
    conventions : sequence of str or Convention, optional
        The conventions; by default all of `rankwise.conventions`.
    train, items, users, baseline : table or path, optional
        As in `rankwise.evaluate`.
    relevance_threshold, columns, threads : optional
        As in `rankwise.evaluate`, for all.

    Returns
    -------
    AcrossConventions
        With a row for every measure and every convention whose library has it. Where the library
        computes something that rankwise does not, the value is null, and the row says what.

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
    job = _Job.read(recommendations, truth, sources, options)
    return AcrossConventions(job.table(texts, _chosen(conventions)))


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
    """Find the conventions, and the cut-offs, under which a measure has a given value.

    Parameters
    ----------
    number : float or str
        The value, with as many digits as are known: ``"0.2317"`` is met by what rounds to it, and
        ``"23.17%"`` too.
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    measure : str
        The measure; with a cut-off only that one is tried.
    cutoffs : iterable of int, default=(1, 3, 5, 10, 20, 50, 100)
        The cut-offs that are tried.
    conventions, train, items, users, baseline, relevance_threshold, columns, threads : optional
        As in `across_conventions`.

    Returns
    -------
    AcrossConventions
        With the rows that give the number; none if no convention does.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": {"c", "d", "e", "f"}}
    >>> found = rw.convention_of("0.083", lists, truth, "map", conventions=["recbole", "ranx"])
    >>> found.table.select("measure", "convention").rows()[0]
    ('map@3', 'ranx')
    """
    value, half = rounded_number(number)
    texts = [measure] if "@" in measure else [f"{measure}@{k}" for k in cutoffs]
    sources = {"train": train, "items": items, "users": users, "baseline": baseline}
    job = _Job.read(recommendations, truth, sources, options)
    table = job.table(texts, _chosen(conventions))
    near = (pl.col("value") - value).abs() <= half * (1 + 1e-9)
    return AcrossConventions(table.filter(near.fill_null(value=False)))


def _chosen(conventions: _Conventions) -> dict[str, Convention | None]:
    """Return the conventions by name, rankwise's own as None."""
    given = known_conventions() if conventions is None else list(conventions)
    named = [Convention.named(one) for one in given]
    return {"default" if one is None else one.name: one for one in named}


@dataclass(frozen=True)
class _Job:
    """Tables that are read once, and evaluations of them that several conventions share."""

    tables: Tables
    options: dict[str, Any]

    @classmethod
    def read(
        cls, recommendations: Any, truth: Any, sources: Mapping[str, Any], options: Any
    ) -> _Job:
        """Read the tables."""
        given = table_options(options)
        settings = Settings(measures=(), **given)
        tables = read_inputs(
            settings, recommendations=recommendations, truth=truth,
            required=("recommendations",), **sources,
        )  # fmt: skip
        return cls(tables, given)

    def table(
        self, texts: Sequence[str], conventions: Mapping[str, Convention | None]
    ) -> pl.DataFrame:
        """Return one row per measure and convention."""
        rows: list[dict[str, Any]] = []
        wanted: dict[int, Definition] = {}
        for text in texts:
            for name, convention in conventions.items():
                row: dict[str, Any] = {"measure": text, "convention": name}
                if convention is not None and not convention.offers(text):
                    continue
                try:
                    definition = Definition.under(text, convention)
                    wanted[len(rows)] = definition
                    row |= {"definition": _in_full(definition.measure),
                            "why": _note(definition, convention)}  # fmt: skip
                except MeasureError as error:
                    found = f": {error.found}" if error.found else ""
                    row |= {"definition": None, "why": f"{error.what}{found}"}
                rows.append(row)
        for place, outcome in self._values(wanted).items():
            rows[place] |= outcome
        return pl.DataFrame(rows, schema=SCHEMA)

    def _values(self, wanted: Mapping[int, Definition]) -> dict[int, dict[str, Any]]:
        """Return value and number of users of every definition."""
        readings: dict[tuple[Any, ...], dict[int, Definition]] = {}
        for place, definition in wanted.items():
            readings.setdefault(self._reading(definition), {})[place] = definition
        out: dict[int, dict[str, Any]] = {}
        for some in readings.values():
            of_users = {place: one for place, one in some.items() if _is_mean(one)}
            out |= self._means(of_users) if of_users else {}
            others = some.keys() - of_users.keys()
            out |= self._others({place: some[place] for place in others})
        return out

    def _reading(self, definition: Definition) -> tuple[Any, ...]:
        """Return what of a definition changes users' values here: conventions share the rest."""
        chosen = dict(zip(CHOICE_NAMES, definition.choices, strict=True))
        for name in _OF_USERS:
            del chosen[name]
        if not self._graded_zero or self.options.get("relevance_threshold") is not None:
            chosen["relevance"] = "positive"
        if not self._scores_matter:
            chosen |= {"order_by": "rank", "score_precision": "float64", "ties": None}
        if chosen["ties"] not in ("item", "item_desc") or not self._scores_matter:
            chosen["ids"] = "typed"
        return tuple(chosen.values())

    @cached_property
    def _graded_zero(self) -> bool:
        """Whether some row of the ground truth is not relevant by its sign."""
        truth = self.tables.truth
        if truth is None or "relevance" not in truth.frame.columns:
            return False
        return bool((truth.frame["relevance"] <= 0).any())

    @cached_property
    def _scores_matter(self) -> bool:
        """Whether scores tie, also in 32 bits, or order lists in another way than ranks."""
        assert self.tables.recommendations is not None
        frame = self.tables.recommendations.frame
        if "score" not in frame.columns:
            return False
        pairs = frame.select("user", pl.col("score").cast(pl.Float32))
        if pairs.n_unique() < len(pairs):
            return True
        if "rank" not in frame.columns:
            return False
        by_rank = frame.select("user", "rank", "score").sort("user", "rank")
        rises = (pl.col("score").diff() > 0) & (pl.col("user") == pl.col("user").shift())
        return bool(by_rank.select(rises.any()).item())

    def _means(self, wanted: Mapping[int, Definition]) -> dict[int, dict[str, Any]]:
        """Return means of users' values that are computed once for everybody."""
        measures = {str(one.measure): one.measure for one in wanted.values()}
        first = next(iter(wanted.values()))
        raw = replace(
            first, choices=("all", "nan", "skip", *first.choices[len(_OF_USERS) :])
        ).settings(self.options)
        result = self._evaluated(replace(raw, measures=tuple(measures.values())))
        ids = result.per_user["user"].cast(pl.String)
        judged = ids.is_in(self._judged.implode()).to_numpy()
        alone = len(self._judged) - int(judged.sum())
        return {place: _mean(result, one, judged, alone) for place, one in wanted.items()}

    @cached_property
    def _judged(self) -> pl.Series:
        """The users who have rows in the ground truth."""
        if self.tables.truth is None:
            return pl.Series(dtype=pl.String)
        return self.tables.truth.frame["user"].unique().cast(pl.String)

    def _others(self, wanted: Mapping[int, Definition]) -> dict[int, dict[str, Any]]:
        """Return what is no plain mean of users: one evaluation for each rule."""
        rules: dict[tuple[Any, ...], dict[int, Definition]] = {}
        for place, one in wanted.items():
            rules.setdefault(one.choices[: len(_OF_USERS)], {})[place] = one
        out: dict[int, dict[str, Any]] = {}
        for some in rules.values():
            measures = {str(one.measure): one.measure for one in some.values()}
            first = next(iter(some.values()))
            settings = replace(first.settings(self.options), measures=tuple(measures.values()))
            try:
                result = self._evaluated(settings)
            except (MeasureError, ParameterError, EmptyError) as error:
                out |= {place: {"why": error.what} for place in some}
                continue
            for place, one in some.items():
                cell = one.measure.cells[0]
                users = None
                if cell in result.per_user.columns:
                    users = int(result.per_user[cell].is_not_nan().sum())
                out[place] = {"value": result.values.get(cell), "users": users}
        return out

    def _evaluated(self, settings: Settings) -> Result:
        has_truth = self.tables.truth is not None
        return evaluate_tables(settings if has_truth else without_truth(settings), self.tables)


def _in_full(measure: Measure) -> str:
    """Write a measure with what it is made of, where that is its default."""
    parts = [value for value in measure.parameters.values() if isinstance(value, Measure)]
    if measure.changed or not parts:
        return str(measure)
    made_of = ",".join(map(str, parts))
    return str(measure).replace(measure.name, f"{measure.name}({made_of})", 1)


def _is_mean(definition: Definition) -> bool:
    measure = definition.measure
    is_mean = isinstance(measure, PerUser) and measure.aggregate == "mean"
    return is_mean and getattr(measure, "defined_for", "user") != "user"


def _note(definition: Definition, convention: Convention | None) -> str | None:
    """Return what the library does that is not reproduced."""
    return None if convention is None else convention.entry(definition.measure).note or None


def _mean(result: Result, definition: Definition, judged: Any, alone: int) -> dict[str, Any]:
    """Return the mean of users' values, and their number, by the rule of a definition.

    ``judged`` says which users have rows in the ground truth; those who have rows, nothing relevant
    and no list are no users of the result: there are so many ``alone``.
    """
    measure = definition.measure
    assert isinstance(measure, PerUser)
    rule = UserRule(*definition.choices[: len(_OF_USERS)])
    users = result.per_user
    n_relevant, length = users["n_relevant"].to_numpy(), users["list_length"].to_numpy()
    values = users[measure.cells[0]].to_numpy()
    if measure.defined_for == "relevance" and rule.undefined == "zero":
        values = np.where(n_relevant == 0, 0.0, values)
    elif measure.defined_for == "list" and rule.without_list == "zero":
        values = np.where(length == 0, 0.0, values)
    inside = {
        "truth": n_relevant > 0, "both": (n_relevant > 0) & (length > 0),
        "recommended": length > 0, "judged": judged, "judged_both": judged & (length > 0),
        "all": (n_relevant > 0) | (length > 0),
    }[rule.population]  # fmt: skip
    values = values[inside & ~np.isnan(values)]
    filled = rule.undefined if measure.defined_for == "relevance" else rule.without_list
    n = len(values) + (alone if rule.population == "judged" and filled == "zero" else 0)
    return {"value": ExactTotal.of(values).value / n if n else math.nan, "users": n}
