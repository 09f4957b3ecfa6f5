"""The values of a result as tidy tables, one row per value; and the names of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.measures.cell_labels import read_label
from rankwise.measures.measure import Measure
from rankwise.measures.read import parse

__all__ = ["canonical_name", "labelled_values", "tidy_groups", "tidy_values"]

_SCHEMA: dict[str, Any] = {
    "measure": pl.String,
    "k": pl.Int64,
    "cell": pl.String,
    "value": pl.Float64,
    "users": pl.Int64,
    "better": pl.String,
    "label": pl.String,
}
_BETTER = {True: "higher", False: "lower", None: None}


def canonical_name(name: str, known: Iterable[str], read: Callable[[str], Measure] = parse) -> str:
    """Return the canonical name of a value, such as ``"reo@10[item_group=a]"``.

    ``read`` says which measure a text names.
    """
    match = re.match(r"^(.+?)\[(\w+=.*)\]$", name, flags=re.DOTALL)
    if match is None:
        return str(read(name))
    measure, label = str(read(match[1])), read_label(match[2])
    for cell in known:
        head = f"{measure}["
        if cell.startswith(head) and read_label(cell.removeprefix(head)[:-1]) == label:
            return cell
    return f"{measure}[{match[2]}]"


def labelled_values(values: Mapping[str, float], name: str) -> list[tuple[str, float]]:
    """Return label and value of a measure at one cut-off: its own under ``""``, then its cells."""
    head, whole = f"{name}[", [("", values[name])] if name in values else []
    cells = ((cell, value) for cell, value in values.items() if cell.startswith(head))
    return whole + [(cell.removeprefix(head)[:-1], value) for cell, value in cells]


def tidy_values(
    measures: Sequence[Measure], values: Mapping[str, float], per_user: pl.DataFrame, label: str
) -> pl.DataFrame:
    """Return one row per value; ``users`` is the number of users who have one."""
    rows = []
    for row in _tidy(measures, values, label):
        defined = not row["cell"] and row["name"] in per_user.columns
        users = int(per_user[row["name"]].is_not_nan().sum()) if defined else None
        rows.append(row | {"users": users})
    return pl.DataFrame(rows, schema=_SCHEMA)


def tidy_groups(measures: Sequence[Measure], slices: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return one row per value and group of users."""
    rows = [group | row for group in slices.to_dicts() for row in _tidy(measures, group, label)]
    return pl.DataFrame(rows, schema=_SCHEMA | {"by": pl.String, "group": pl.String})


def _tidy(measures: Sequence[Measure], values: Mapping[str, float], label: str) -> list[dict[str, Any]]:
    """Return one row per value; ``name`` is that of its measure at its cut-off."""
    return [
        {
            "name": name,
            "measure": str(measure @ ()),
            "k": k,
            "cell": cell or None,
            "value": value,
            "better": _BETTER[measure.higher_is_better],
            "label": label or None,
        }
        for measure in measures
        for k, name in zip(measure.k or (None,), measure.cells, strict=True)
        for cell, value in labelled_values(values, name)
    ]
