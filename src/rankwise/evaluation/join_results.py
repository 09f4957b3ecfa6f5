"""One result of several passes over the same tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import polars as pl

from rankwise.core.units import REQUEST
from rankwise.errors import ParameterError
from rankwise.evaluation.summary import add_sample_label
from rankwise.metrics.base import Metric
from rankwise.options import choice_values
from rankwise.results.intervals import WEIGHT
from rankwise.results.result import Result
from rankwise.results.values import Values
from rankwise.tables.requests import counts_of_requests

_COMMON = ("user", REQUEST, "n_relevant", "list_length", WEIGHT, "label")


def merge_results(results: Sequence[Result], order: Sequence[Metric]) -> Result:
    """Return one result of evaluations of the same tables, with its metrics in this order."""
    return (
        results[0]
        if len(results) == 1
        else _with_metrics_in_order(add_sample_label(reduce(_join, results)), order)
    )


def _join(first: Result, second: Result) -> Result:
    keys = [name for name in ("user", REQUEST) if name in first.per_user.columns]
    per_user = _outer_join(first.per_user, second.per_user, *keys).sort(keys)
    slices = first.slices
    if slices is not None and second.slices is not None:
        slices = _outer_join(slices, second.slices, "by", "group")
    replicates = first.replicates
    if replicates is not None and second.replicates is not None:
        if first.provenance["settings"]["relevance"] != second.provenance["settings"]["relevance"]:
            raise ParameterError(
                "jackknife groups depend on users' relevant items, which differ between these "
                "metrics",
                hint="evaluate them in two calls",
            )
        replicates = replicates.join(second.replicates, on="group")
    sliced = first.sliced
    if sliced is not None and second.sliced is not None:
        sliced = _outer_join(sliced, second.sliced, "by", "group", *keys)
    counts = {
        name: max(first.counts.get(name, 0), second.counts.get(name, 0))
        for name in first.counts | second.counts
    }
    counts |= counts_of_requests(per_user) or {"users": len(per_user)}
    counts["users_without_list"] = int((per_user["list_length"] == 0).sum())
    if "users_without_relevant_items" in counts:
        counts["users_without_relevant_items"] = int((per_user["n_relevant"] == 0).sum())
    return replace(
        first,
        metrics=(*first.metrics, *second.metrics),
        values=Values(first.values | second.values),
        kinds={**first.kinds, **second.kinds},
        per_user=per_user,
        counts=counts,
        slices=slices,
        sliced=sliced,
        replicates=replicates,
        diagnostics=first.diagnostics | second.diagnostics,
        provenance=_provenance(first.provenance, second.provenance),
    )


def _outer_join(left: pl.DataFrame, right: pl.DataFrame, *on: str) -> pl.DataFrame:
    """Join the rows of two tables, with NaN for values that are missing in both."""
    names = list(on)
    both = left.join(
        right, on=names, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right"
    )
    shared = [name for name in right.columns if f"{name}_right" in both.columns]
    both = both.with_columns(
        pl.max_horizontal(name, f"{name}_right").alias(name)
        if left.schema[name].is_numeric()
        else pl.coalesce(name, f"{name}_right").alias(name)
        for name in shared
    ).drop(f"{name}_right" for name in shared)
    values = [name for name in both.columns if name not in (*names, *shared, *_COMMON)]
    return both.with_columns(
        pl.col(name).fill_null(float("nan")) for name in values if both.schema[name].is_float()
    )


def _provenance(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(first["settings"])
    settings["metrics"] = [*settings["metrics"], *second["settings"]["metrics"]]
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
        "metrics": first["metrics"] | second["metrics"],
        "own_definitions": first["own_definitions"] | second["own_definitions"],
        "rules": first["rules"] | _exceptions(first["settings"], second),
        "digests": dict(sorted((first["digests"] | second["digests"]).items())),
        "inputs": second["inputs"] | first["inputs"],
    }


def _exceptions(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rules of the second evaluation's metrics that differ from the first's settings.

    Each is whole, as those inside one evaluation are; what is relevant is there if it differs.
    """
    settings = second["settings"]
    common = {name: settings[name] for name in choice_values("population")}
    common |= {
        name: settings[name] for name in choice_values("relevance") if settings[name] != first[name]
    }
    names = [text.partition("@")[0] for text in second["metrics"]]
    rules = {name: common | second["rules"].get(name, {}) for name in names}
    return {
        name: rule
        for name, rule in rules.items()
        if any(first[choice] != value for choice, value in rule.items())
    }


def _with_metrics_in_order(result: Result, order: Sequence[Metric]) -> Result:
    """Return a result with its metrics, and their values, in this order."""
    places = {str(metric): place for place, metric in enumerate(order)}
    metrics = sorted(result.metrics, key=lambda metric: places[str(metric)])
    names = list(dict.fromkeys(name for metric in metrics for name in _value_names(metric, result)))
    columns = [name for name in result.per_user.columns if name not in names]
    columns += [name for name in names if name in result.per_user.columns]

    provenance = dict(result.provenance)
    texts = [str(metric) for metric in metrics]
    provenance["settings"] = {**provenance["settings"], "metrics": texts}
    for record in ("metrics", "own_definitions"):
        entries = provenance[record]
        provenance[record] = {text: entries[text] for text in texts if text in entries}
    return replace(
        result,
        metrics=tuple(metrics),
        values=Values({name: result.values[name] for name in names}),
        per_user=result.per_user.select(columns),
        provenance=provenance,
    )


def _value_names(metric: Metric, result: Result) -> list[str]:
    """Return the names of a metric's values, with those of labels."""
    return [
        name
        for cell in metric.cells
        for name in result.values
        if name == cell or name.startswith(f"{cell}[")
    ]
