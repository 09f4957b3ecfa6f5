"""The rows of a comparison over several data sets, from those of each data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.results.margins import Margin, margin_of, size_of
from rankwise.results.pair_rows import blank_row
from rankwise.stats.differences import Differences, never_zero, t_is_valid
from rankwise.stats.power import minimum_detectable
from rankwise.stats.two_level import deviation_of, over_data_sets

__all__ = ["rows_over_data_sets"]


def rows_over_data_sets(
    rows: Sequence[Mapping[str, Any]], sets: int, main: str, alpha: float, margin: Margin,
    pairs: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return one row per measure and pair that all data sets have a row of.

    Those of the primary measure ``main`` are a family of ``pairs``.
    """
    by_pair: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = (row["measure"], row["baseline"], row["system"])
        by_pair.setdefault(key, []).append(row)
    measures = len({measure for measure, _, _ in by_pair})
    others = max(pairs * ((measures - 1) + sets * measures), 1)
    return [
        _row(some, alpha, margin_of(margin, measure), main=measure == main,
             tests=pairs if measure == main else others)
        for (measure, _, _), some in by_pair.items() if len(some) == sets
    ]  # fmt: skip


def _row(
    rows: Sequence[Mapping[str, Any]], alpha: float, margin: float | str | None, *, main: bool,
    tests: int,
) -> dict[str, Any]:  # fmt: skip
    differences = [row["difference"] for row in rows]
    errors = [row["_error"] for row in rows]
    known = None if any(math.isnan(error) for error in errors) else errors
    found = over_data_sets(differences, known, confidence=1 - alpha)
    together = over_data_sets(differences, confidence=1 - alpha / (tests if main else 1)).interval
    k, difference, better = len(rows), found.interval.estimate, rows[0]["_better"]
    before, after = (
        math.fsum(row[name] for row in rows) / k for name in ("mean_baseline", "mean_system")
    )
    deviation = deviation_of(np.array(differences))
    size = size_of(margin, before)
    users = [row["users"] for row in rows]
    flags = [*found.interval.flags, *([] if main else ["exploratory"])]
    told = t_is_valid(Differences(np.array(differences), np.zeros(k)))
    if size is not None and not told:  # rare losses of other data sets have not been seen
        flags.append("margin not tested over so few data sets")
        size = None
    return blank_row() | {
        "measure": rows[0]["measure"], "baseline": rows[0]["baseline"],
        "system": rows[0]["system"], "primary": main,
        "mean_baseline": before, "mean_system": after, "difference": difference,
        "low": found.interval.low, "high": found.interval.high,
        "low_together": together.low, "high_together": together.high,
        "lift": difference / before if before else math.nan,
        "test": "t over data sets", "p": found.p,
        "d_z": difference / deviation if deviation else math.nan,
        "wins": sum(d > 0 for d in differences), "ties": sum(d == 0 for d in differences),
        "losses": sum(d < 0 for d in differences), "users": sum(users),
        "users_dropped": sum(row["users_dropped"] for row in rows), "dropped_because": "",
        "minimum_detectable": minimum_detectable(k, alpha=alpha / tests) * (deviation or math.nan),
        "p_equivalence": _one_sided(size and size - abs(difference), deviation, k),
        "p_non_inferior": math.nan if better is None else _one_sided(
            size and size + (difference if better else -difference), deviation, k),
        "data_sets": k, "tau": found.tau, "flags": flags, "_better": better,
    }  # fmt: skip


def _one_sided(gap: float | None, deviation: float, k: int) -> float:
    """Return the one-sided p-value of a difference that keeps ``gap`` from a margin."""
    from scipy.stats import t

    if gap is None or not deviation > 0 or k < 2:
        return math.nan
    return never_zero(t.sf(gap / (deviation / math.sqrt(k)), k - 1))
