"""The values of a result by name: canonical names, cells of metrics, and tidy tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, ValuesView
from typing import Any

import polars as pl

from rankwise.core.units import REQUEST
from rankwise.metrics.base import Metric, parse
from rankwise.metrics.inputs import read_label


class Values(dict[str, float]):
    """The values of a result by name; as `Result` is a mapping, ``values()`` works as well."""

    def __call__(self) -> ValuesView[float]:
        """Return the numbers alone."""
        return super().values()


def join_names(names: Sequence[str]) -> str:
    """Return the first names in one line, and how many there are."""
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")


_SCHEMA: dict[str, Any] = {
    "metric": pl.String,
    "k": pl.Int64,
    "cell": pl.String,
    "value": pl.Float64,
    "users": pl.Int64,
    "better": pl.String,
    "label": pl.String,
}
_BETTER = {True: "higher", False: "lower", None: None}


def canonical_name(name: str, names: Iterable[str], read: Callable[[str], Metric] = parse) -> str:
    """Return the canonical name of a value, such as ``"reo@10[item_group=a]"``.

    ``read`` says which metric a text names.
    """
    match = re.match(r"^(.+?)\[(\w+=.*)\]$", name, flags=re.DOTALL)
    if match is None:
        return str(read(name))
    metric, label = str(read(match[1])), read_label(match[2])
    for cell in names:
        head = f"{metric}["
        if cell.startswith(head) and read_label(cell.removeprefix(head)[:-1]) == label:
            return cell
    return f"{metric}[{match[2]}]"


def labelled_values(values: Mapping[str, float], name: str) -> list[tuple[str, float]]:
    """Return label and value of a metric at one cut-off: its own under ``""``, then its cells."""
    head, whole = f"{name}[", [("", values[name])] if name in values else []
    cells = ((cell, value) for cell, value in values.items() if cell.startswith(head))
    return whole + [(cell.removeprefix(head)[:-1], value) for cell, value in cells]


def cells_without_metric(metrics: Sequence[Metric], values: Mapping[str, float]) -> list[str]:
    """Return the values that no metric defines: columns of a table of per-user values."""
    known = {cell for metric in metrics for cell in metric.cells}
    heads = tuple(f"{cell}[" for cell in known)
    return [name for name in values if name not in known and not name.startswith(heads)]


def wide_cells(cells: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return one row per group of a metric with several values; axis ``of`` names the columns.

    >>> wide_cells([("bin=1,of=low", 0.0), ("bin=1,of=high", 0.5)]), wide_cells([("item_group=a", 0.2)])
    ([{'bin': '1', 'low': 0.0, 'high': 0.5}], [{'item_group': 'a', 'value': 0.2}])
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for label, value in cells:
        axes = read_label(label)
        column = axes.pop("of", "value")
        rows.setdefault(tuple(axes.values()), dict(axes))[column] = value
    return list(rows.values())


def tidy_values(
    metrics: Sequence[Metric], values: Mapping[str, float], per_user: pl.DataFrame, label: str
) -> pl.DataFrame:
    """Return one row per value; ``users`` counts the users with at least one defined value."""
    rows = []
    for row in _tidy(metrics, values, label):
        defined = not row["cell"] and row["name"] in per_user.columns
        users = _users_with(per_user, row["name"]) if defined else None
        rows.append(row | {"users": users})
    for name in cells_without_metric(metrics, values):
        users = _users_with(per_user, name)
        row = {"metric": name, "value": values[name], "users": users, "label": label or None}
        rows.append(dict.fromkeys(_SCHEMA) | row)
    return pl.DataFrame(rows, schema=_SCHEMA)


def _users_with(per_user: pl.DataFrame, cell: str) -> int:
    """Return the number of users who have a value."""
    defined = per_user[cell].is_not_nan()
    return (
        int(per_user["user"].filter(defined).n_unique())
        if REQUEST in per_user.columns
        else int(defined.sum())
    )


GROUP_INTERVALS: dict[str, Any] = {
    "by": pl.String,
    "group": pl.String,
    "users": pl.Int64,
    "small": pl.Boolean,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""The columns of a table of the confidence intervals of all groups."""


def tidy_groups(
    metrics: Sequence[Metric],
    slices: pl.DataFrame,
    label: str,
    intervals: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return one row per value and group of users, with interval limits if known."""
    rows = [group | row for group in slices.to_dicts() for row in _tidy(metrics, group, label)]
    schema = _SCHEMA | {"by": pl.String, "group": pl.String}
    if intervals is None:
        return pl.DataFrame(rows, schema=schema)
    keys = ["by", "group", "name"]
    table = pl.DataFrame(rows, schema=schema | {"name": pl.String})
    table = table.with_columns(name=pl.when(pl.col("cell").is_null()).then("name"))
    limits = intervals.select("by", "group", pl.col("metric").alias("name"), "low", "high")
    return table.join(limits, on=keys, how="left", nulls_equal=True, maintain_order="left").drop(
        "name"
    )


def _tidy(
    metrics: Sequence[Metric], values: Mapping[str, float], label: str
) -> list[dict[str, Any]]:
    """Return one row per value; ``name`` is the name of the metric at its cut-off."""
    return [
        {
            "name": name,
            "metric": str(metric @ ()),
            "k": k,
            "cell": cell or None,
            "value": value,
            "better": _BETTER[metric.higher_is_better],
            "label": label or None,
        }
        for metric in metrics
        for k, name in zip(metric.k or (None,), metric.cells, strict=True)
        for cell, value in labelled_values(values, name)
    ]
