"""The ranks of the systems of a comparison on its primary measure, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankwise.results.family import Pairs
from rankwise.stats.system_ranks import SystemRanks, pairwise_p, rank_systems, ranks_of

__all__ = ["RANKS", "joint_ranks", "ranks_of_pairs"]

RANKS: dict[str, Any] = {
    "system": pl.String,
    "mean": pl.Float64,
    "rank": pl.Int64,
    "rank_low": pl.Int64,
    "rank_high": pl.Int64,
    "may_be_best": pl.Boolean,
}
_FEWEST = 3  # of two systems the pair says all


def joint_ranks(family: Pairs, cell: str) -> list[dict[str, Any]]:
    """Return the ranks of single results from their users' values, the best first."""
    better = family.better(cell)
    aligned = None if better is None else family.aligned(cell)
    if aligned is None or len(family.results) < _FEWEST or len(aligned.values) < 2:
        return []
    found = rank_systems(
        aligned.values,
        higher_is_better=bool(better),
        confidence=1 - family.alpha,
        n_resamples=family.resamples(),
        seed=family.seed,
    )
    return _rows(list(family.results), aligned.values.mean(axis=0).tolist(), found)


def ranks_of_pairs(rows: Sequence[Mapping[str, Any]], alpha: float, *, better: bool | None) -> list[dict[str, Any]]:
    """Return ranks from the p-values of all pairs, corrected by Holm, the best first.

    Empty unless every pair of systems has one row.
    """
    means = {row["baseline"]: row["mean_baseline"] for row in rows}
    means |= {row["system"]: row["mean_system"] for row in rows}
    systems, k = list(means), len(means)
    if better is None or k < _FEWEST or len(rows) != k * (k - 1) // 2:
        return []
    p, gain = np.full((k, k), math.nan), np.zeros((k, k))
    for row in rows:
        i, j = systems.index(row["system"]), systems.index(row["baseline"])
        p[i, j] = p[j, i] = row["p"]
        gain[i, j] = row["difference"] if better else -row["difference"]
        gain[j, i] = -gain[i, j]
    side = 1 if better else -1
    found = ranks_of(pairwise_p(p, gain), side * np.array(list(means.values())), confidence=1 - alpha)
    return _rows(systems, list(means.values()), found)


def _rows(systems: Sequence[str], means: Sequence[float], found: SystemRanks) -> list[dict[str, Any]]:
    rows = [
        dict(zip(RANKS, (system, mean, int(rank), int(low), int(high), bool(best)), strict=True))
        for system, mean, rank, low, high, best in zip(
            systems, means, found.rank, found.low, found.high, found.may_be_best, strict=True
        )
    ]
    return sorted(rows, key=lambda row: row["rank"])
