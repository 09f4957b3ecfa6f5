"""Which system of a comparison leads, and the order in which systems stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.comparison.design import Design
from rankwise.findings.words import is_missing


def baseline_of(rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the common baseline of all pairs, or None."""
    if design.baseline is not None:
        return str(design.baseline)
    names = {row["baseline"] for row in rows}
    return names.pop() if len(names) == 1 and len({row["system"] for row in rows}) == 1 else None


def system_order(table: pl.DataFrame, design: Design) -> list[str]:
    """Return the systems, the baseline first and then the best on the primary metric first."""
    rows = table.filter(pl.col("primary")).to_dicts()
    means, up = means_by_system(rows), design.directions.get(design.primary) is not False
    worst = -math.inf if up else math.inf
    names = sorted(
        means, key=lambda name: worst if is_missing(means[name]) else means[name], reverse=up
    )
    baseline = baseline_of(rows, design) if design.by is None else None
    return sorted(names, key=lambda name: name != baseline)


def leader_of(metric: str, rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the system with the best mean of the metric of these pairs, if one is best."""
    better = design.directions.get(metric)
    if better is None:
        return None
    defined = {name: mean for name, mean in means_by_system(rows).items() if not is_missing(mean)}
    if not defined:
        return None
    best: str = (max if better else min)(defined, key=lambda name: defined[name])
    return best


def means_by_system(rows: Sequence[Mapping[str, Any]], name: str = "mean") -> dict[str, Any]:
    """Return a value that pairs have of both systems, by system."""
    values = {row["baseline"]: row[f"{name}_baseline"] for row in rows}
    return values | {row["system"]: row[f"{name}_system"] for row in rows}
