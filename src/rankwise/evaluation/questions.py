"""Metrics whose convention needs several readings of the lists: evaluate each, join the results.

Most conventions need one. Two are needed where tied items are ordered in one way for one measure
and in another way for the next, or where sums over items are taken over other users than the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.core.user_rules import UserRule, population_of_all
from rankwise.errors import ParameterError
from rankwise.evaluation.plan import Plan, sums_same_lists
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.summary import labelled
from rankwise.evaluation.wanted import chosen_for, requested
from rankwise.measures.kinds import Accumulated
from rankwise.measures.measure import Measure
from rankwise.measures.read import MeasureLike
from rankwise.results.group_columns import WEIGHT
from rankwise.results.named_values import Values
from rankwise.results.result import Result

__all__ = ["joined", "questions", "several_questions", "whole_settings"]

_COMMON = ("user", "n_relevant", "list_length", WEIGHT, "label")


def questions(
    measures: MeasureLike | Iterable[MeasureLike], options: Mapping[str, Any]
) -> tuple[tuple[Measure, ...], list[Settings]]:
    """Return the measures in order, and the settings of each evaluation that they need.

    Raises
    ------
    UsageError
        If a measure or an option makes no sense.
    """
    wanted, convention, given = requested(measures, options)
    return wanted, settings_of_each(wanted, convention, given)


def settings_of_each(
    wanted: tuple[Measure, ...], convention: Convention | None, given: Mapping[str, Any]
) -> list[Settings]:
    """Return the settings of each evaluation that measures need."""
    if convention is None:
        return [Settings.of(wanted, None, given)]
    groups: dict[tuple[Any, ...], list[Measure]] = {}
    for measure, population in _populations(wanted, convention, given).items():
        chosen = chosen_for(convention, measure, given)
        key = (chosen["ties"], chosen["relevance"], population)
        groups.setdefault(key, []).append(measure)
    return [
        Settings.of(tuple(some), convention, given)
        for group in groups.values()
        for some in _without_conflicts(group, convention, given)
    ]


def whole_settings(wanted: tuple[Measure, ...], convention: Convention | None, given: Mapping[str, Any]) -> Settings:
    """Return settings with all measures, whether or not one evaluation has them all."""
    first, *_ = settings_of_each(wanted, convention, given)
    return replace(first, measures=wanted)


def _without_conflicts(
    measures: Sequence[Measure], convention: Convention, given: Mapping[str, Any]
) -> list[list[Measure]]:
    """Return measures in as few groups as it takes that no part has two rules in one of them."""
    groups: list[tuple[list[Measure], dict[str, UserRule]]] = []
    for measure in measures:
        rule = UserRule.of(chosen_for(convention, measure, given))
        parts = {str(part @ ()): rule for part in Plan((measure,)).every}
        for some, rules in groups:
            if all(rules.get(part, rule) == rule for part in parts):
                some.append(measure)
                rules.update(parts)
                break
        else:
            groups.append(([measure], parts))
    return [some for some, _ in groups]


def _populations(
    measures: Sequence[Measure], convention: Convention, given: Mapping[str, Any]
) -> dict[Measure, str | None]:
    """Return the population of measures that need an evaluation over it; None for all others."""
    if "population" in given:
        return dict.fromkeys(measures)
    wanted = {measure: convention.choices_of(measure)["population"] for measure in measures}
    everyone = population_of_all(wanted.values())
    if everyone is not None and all(sums_same_lists(*one, everyone) for one in wanted.items()):
        return dict.fromkeys(measures)
    over_items = {
        measure for measure in measures if any(isinstance(leaf, Accumulated) for leaf in Plan((measure,)).leaves)
    }
    together = population_of_all(population for measure, population in wanted.items() if measure not in over_items)
    out: dict[Measure, str | None] = {}
    for measure, population in wanted.items():
        fits = together is not None and (measure not in over_items or sums_same_lists(measure, population, together))
        out[measure] = None if fits else population
    return out


def several_questions(asked: Sequence[Settings]) -> ParameterError:
    """Return the error for several evaluations where only one is possible."""
    return ParameterError(
        "under this convention these measures need several evaluations, with all lists at once",
        found="; ".join(", ".join(map(str, settings.measures)) for settings in asked),
        hint="evaluate each group in a separate call",
    )


def joined(results: Sequence[Result], order: Sequence[Measure]) -> Result:
    """Return one result of evaluations of the same tables, with its measures in this order."""
    return results[0] if len(results) == 1 else _sorted(labelled(reduce(_join, results)), order)


def _join(first: Result, second: Result) -> Result:
    per_user = _wider(first.per_user, second.per_user, "user").sort("user")
    slices = first.slices
    if slices is not None and second.slices is not None:
        slices = _wider(slices, second.slices, "by", "group")
    replicates = first.replicates
    if replicates is not None and second.replicates is not None:
        if first.provenance["settings"]["relevance"] != second.provenance["settings"]["relevance"]:
            raise ParameterError(
                "jackknife groups depend on users' relevant items, which differ between these measures",
                hint="evaluate them in two calls",
            )
        replicates = replicates.join(second.replicates, on="group")
    counts = {name: max(first.counts.get(name, 0), second.counts.get(name, 0)) for name in first.counts | second.counts}
    counts["users"] = len(per_user)
    counts["users_without_list"] = int((per_user["list_length"] == 0).sum())
    if "users_without_relevant_items" in counts:
        counts["users_without_relevant_items"] = int((per_user["n_relevant"] == 0).sum())
    return replace(
        first,
        measures=(*first.measures, *second.measures),
        values=Values(first.values | second.values),
        kinds={**first.kinds, **second.kinds},
        per_user=per_user,
        counts=counts,
        slices=slices,
        replicates=replicates,
        diagnostics=first.diagnostics | second.diagnostics,
        provenance=_provenance(first.provenance, second.provenance),
    )


def _wider(left: pl.DataFrame, right: pl.DataFrame, *on: str) -> pl.DataFrame:
    """Return the rows of both tables, each value where it is known, else NaN."""
    names = list(on)
    both = left.join(right, on=names, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
    shared = [name for name in right.columns if f"{name}_right" in both.columns]
    both = both.with_columns(
        pl.max_horizontal(name, f"{name}_right").alias(name)
        if left.schema[name].is_numeric()
        else pl.coalesce(name, f"{name}_right").alias(name)
        for name in shared
    ).drop(f"{name}_right" for name in shared)
    values = [name for name in both.columns if name not in (*names, *shared, *_COMMON)]
    return both.with_columns(pl.col(name).fill_null(float("nan")) for name in values if both.schema[name].is_float())


def _provenance(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(first["settings"])
    settings["measures"] = [*settings["measures"], *second["settings"]["measures"]]
    ties = [first["settings"]["ties"], second["settings"]["ties"]]
    settings["ties"] = "+".join(dict.fromkeys("+".join(ties).split("+")))
    dealt = dict.fromkeys([first["jackknife"], second["jackknife"]])
    return {
        **first,
        "settings": settings,
        "jackknife": None if None in dealt else "+".join(dealt),
        "candidates": first["candidates"] or second["candidates"],
        "doubts": list(dict.fromkeys([*first["doubts"], *second["doubts"]])),
        "unweighted": [*first["unweighted"], *second["unweighted"]],
        "facts": first["facts"] | second["facts"],
        "measures": first["measures"] | second["measures"],
        "own_definitions": first["own_definitions"] | second["own_definitions"],
        "rules": first["rules"] | _exceptions(first["settings"], second),
        "digests": dict(sorted((first["digests"] | second["digests"]).items())),
        "inputs": second["inputs"] | first["inputs"],
    }


def _exceptions(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rules of the second evaluation's measures that differ from the first's settings.

    Each is whole, as those inside one evaluation are; what is relevant is there if it differs.
    """
    settings = second["settings"]
    common = {name: settings[name] for name in ("population", "undefined", "without_list")}
    if settings["relevance"] != first["relevance"]:
        common["relevance"] = settings["relevance"]
    names = [text.partition("@")[0] for text in second["measures"]]
    rules = {name: common | second["rules"].get(name, {}) for name in names}
    return {name: rule for name, rule in rules.items() if any(first[choice] != value for choice, value in rule.items())}


def _sorted(result: Result, order: Sequence[Measure]) -> Result:
    """Return a result with its measures, and their values, in this order."""
    places = {str(measure): place for place, measure in enumerate(order)}
    measures = sorted(result.measures, key=lambda measure: places[str(measure)])
    names = {
        name: None
        for measure in measures
        for cell in measure.cells
        for name in result.values
        if name == cell or name.startswith(f"{cell}[")
    }
    columns = [name for name in result.per_user.columns if name not in names]
    columns += [name for name in names if name in result.per_user.columns]
    texts = [str(measure) for measure in measures]
    provenance = {
        **result.provenance,
        "settings": {**result.provenance["settings"], "measures": texts},
        "measures": {text: result.provenance["measures"][text] for text in texts},
        "own_definitions": {
            text: result.provenance["own_definitions"][text]
            for text in texts
            if text in result.provenance["own_definitions"]
        },
    }
    return replace(
        result,
        measures=tuple(measures),
        values=Values({n: result.values[n] for n in names}),
        per_user=result.per_user.select(columns),
        provenance=provenance,
    )
