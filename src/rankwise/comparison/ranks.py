"""The ranks of systems that tests of their pairs allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.design import SystemRank
from rankwise.comparison.rows import PairFinding
from rankwise.findings.words import CONDITIONAL
from rankwise.stats.bounds_of_pairs import BoundedPairs
from rankwise.stats.differences import Floats
from rankwise.stats.many_systems import SystemRanks, pairwise_p, rank_systems, ranks_of

_FEWEST = 3  # of two systems the pair says all


def ranks_of_users(
    aligned: AlignedUsers,
    largest: float,
    *,
    better: bool,
    alpha: float,
    n_resamples: int,
    seed: int,
) -> SystemRanks:
    """Return the ranks of systems from their values for the same users, all pairs tested together.

    Where a difference has a bound ``largest``, pairs are tested by it, as a comparison tests them,
    and corrected by Holm; else by the largest t of all pairs.
    """
    is_finite = bool(np.isfinite(aligned.values).all())
    if not math.isfinite(largest) or not is_finite:
        return rank_systems(
            aligned.values,
            higher_is_better=better,
            confidence=1 - alpha,
            n_resamples=n_resamples,
            seed=seed,
        )
    pairs = list(combinations(range(aligned.values.shape[1]), 2))
    differences = aligned.differences(pairs)
    p = BoundedPairs.of(differences, largest).p
    tests = [(d.mean, each) for d, each in zip(differences, p, strict=True)]
    return _ranks_by_holm(aligned.values.mean(axis=0), pairs, tests, alpha, better=better)


def ranks_of_pairs(
    rows: Sequence[PairFinding],
    *,
    better: bool | None,
    further: Sequence[PairFinding] = (),
) -> list[SystemRank]:
    """Return the ranks that the verdicts of pairs allow, the best first.

    A system ranks below those that are shown to be better, and above those that are shown to be
    worse; what is better than a second system is better than all that are worse than that one.
    ``further`` are the rows of other pairs, if these were tested. Beside the ranks by verdicts for
    any users stand those by all verdicts, which hold under the smallest condition among them.
    Empty for fewer than three systems.
    """
    means = {row.baseline: row.means.mean_baseline for row in rows}
    means |= {row.system: row.means.mean_system for row in rows}
    systems, k = list(means), len(means)
    if better is None or k < _FEWEST:
        return []

    beats, beats_if = np.zeros((k, k), dtype=bool), np.zeros((k, k), dtype=bool)
    conditions = []
    for row in (*rows, *further):
        verdict = row.test.verdict or ""
        if verdict.removesuffix(" if") not in ("better", "worse"):
            continue
        pair = systems.index(row.system), systems.index(row.baseline)
        first, second = pair if verdict.startswith("better") else pair[::-1]
        beats_if[first, second] = True
        if verdict in CONDITIONAL:
            conditions.append(row.unseen.condition)
        else:
            beats[first, second] = True

    condition = min(conditions, default=None)
    values = (1 if better else -1) * np.array([*means.values()])
    ranks, ranks_if = (_ranks_by_wins(won, values) for won in (beats, beats_if))
    columns = (
        ranks.rank.tolist(),
        ranks.low.tolist(),
        ranks.high.tolist(),
        ranks.may_be_best.tolist(),
        ranks_if.low.tolist(),
        ranks_if.high.tolist(),
        ranks_if.may_be_best.tolist(),
        [condition] * k,
    )
    return sorted(map(SystemRank, systems, means.values(), *columns), key=lambda each: each.rank)


def _ranks_by_wins(beats: Any, values: Floats) -> SystemRanks:
    """Return ranks by counting who beats whom, also by way of others."""
    through = beats.copy()
    for middle in range(len(through)):
        through |= through[:, middle, None] & through[None, middle, :]
    return ranks_of(np.where(through, 0.0, 1.0), values, confidence=0.95)


def _ranks_by_holm(
    means: Floats,
    pairs: Sequence[tuple[int, int]],
    tests: Sequence[tuple[float, float]],
    alpha: float,
    *,
    better: bool,
) -> SystemRanks:
    """Return ranks from each pair's difference (first minus second) and two-sided p-value."""
    side, k = 1 if better else -1, len(means)
    p, gain = np.full((k, k), math.nan), np.zeros((k, k))
    for (i, j), (difference, two_sided) in zip(pairs, tests, strict=True):
        p[i, j] = p[j, i] = two_sided
        gain[i, j] = side * difference
        gain[j, i] = -gain[i, j]
    return ranks_of(pairwise_p(p, gain), side * means, confidence=1 - alpha)
