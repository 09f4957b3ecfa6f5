"""The rows of a comparison over several data sets, from those of each data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.results.margins import Margin, margin_flags, margin_of, size_of
from rankwise.results.pair_rows import blank_row, detectable
from rankwise.stats.differences import differences, t_is_valid
from rankwise.stats.power import minimum_detectable
from rankwise.stats.two_level import Variance, deviation_of, over_data_sets

__all__ = ["rows_over_data_sets"]


def rows_over_data_sets(
    rows: Sequence[Mapping[str, Any]], sets: int, main: str, alpha: float, margin: Margin, pairs: int
) -> list[dict[str, Any]]:
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
        _row(some, alpha, margin_of(margin, measure), main=measure == main, tests=pairs if measure == main else others)
        for (measure, _, _), some in by_pair.items()
        if len(some) == sets
    ]


def _row(
    rows: Sequence[Mapping[str, Any]], alpha: float, margin: float | str | None, *, main: bool, tests: int
) -> dict[str, Any]:
    gaps = [row["difference"] for row in rows]
    errors = [row["_error"] for row in rows]
    known = None if any(math.isnan(error) for error in errors) else errors
    found = over_data_sets(gaps, known, confidence=1 - alpha)
    together = over_data_sets(gaps, confidence=1 - alpha / (tests if main else 1)).interval
    k, difference, better = len(rows), found.interval.estimate, rows[0]["_better"]
    before, after = (math.fsum(row[name] for row in rows) / k for name in ("mean_baseline", "mean_system"))
    deviation = deviation_of(np.array(gaps))
    size = size_of(margin, before)
    users = [row["users"] for row in rows]
    flags = [*found.interval.flags, *margin_flags(margin, before), *([] if main else ["exploratory"])]
    if size is not None and not t_is_valid(differences(gaps)):
        # Rare losses on other data sets have not been seen.
        flags.append("margin not tested over so few data sets")
        size = None
    claims = {} if size is None else _claims(difference, size, deviation, k, better)
    return blank_row() | {
        "measure": rows[0]["measure"],
        "baseline": rows[0]["baseline"],
        "system": rows[0]["system"],
        "primary": main,
        "mean_baseline": before,
        "mean_system": after,
        "difference": difference,
        "low": found.interval.low,
        "high": found.interval.high,
        "low_together": together.low,
        "high_together": together.high,
        "lift": difference / before if before else math.nan,
        "test": "t over data sets",
        "p": found.p,
        "d_z": difference / deviation if deviation else math.nan,
        "wins": sum(d > 0 for d in gaps),
        "ties": sum(d == 0 for d in gaps),
        "losses": sum(d < 0 for d in gaps),
        "users": sum(users),
        "users_dropped": sum(row["users_dropped"] for row in rows),
        "dropped_because": "",
        "minimum_detectable": detectable(
            minimum_detectable(k, alpha=alpha / tests) * (deviation or math.nan), rows[0].get("_largest", math.inf)
        ),
        "data_sets": k,
        "tau": found.tau,
        "flags": flags,
        "_better": better,
        **claims,
    }


def _claims(difference: float, margin: float, deviation: float, k: int, better: bool | None) -> dict[str, float]:
    """Return the p-values of what a margin is about, over k data sets."""
    variance = Variance((deviation**2 / k, k - 1.0))
    found = {"p_equivalence": variance.p_within(difference, margin)}
    if better is not None:
        found["p_non_inferior"] = variance.p_no_worse(difference, margin, higher_is_better=better)
    return found
