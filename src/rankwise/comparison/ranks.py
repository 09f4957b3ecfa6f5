"""The ranks of systems that tests of their pairs allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.design import SystemRank
from rankwise.comparison.family import PairFamily
from rankwise.comparison.rows import PairFinding
from rankwise.stats.bounded_means import bounded_test_of
from rankwise.stats.differences import MANY, Floats, too_skewed
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

    Below 1,000 users, where a difference has a bound ``largest``, pairs are tested as
    `PairFamily` tests one, and corrected by Holm; else by the largest t of all pairs.
    """
    if not _has_limit(aligned, largest):
        return rank_systems(
            aligned.values,
            higher_is_better=better,
            confidence=1 - alpha,
            n_resamples=n_resamples,
            seed=seed,
        )
    pairs = _all_pairs(aligned)
    tests = [(d.mean, bounded_test_of(d, largest).p) for d in aligned.differences(pairs)]
    return _ranks_by_holm(aligned.values.mean(axis=0), pairs, tests, alpha, better=better)


def _largest(family: PairFamily, cell: str) -> float:
    """Return the bound of a difference if the family's test uses the bound; else infinity."""
    low, high = family.bounds(cell)
    return high - low if family.test in ("auto", "bounded") else math.inf


def _has_limit(aligned: AlignedUsers, largest: float) -> bool:
    """Return whether ranks rest on distribution-free limits, as the tests of pairs do."""
    return (
        len(aligned.values) < MANY
        and math.isfinite(largest)
        and bool(np.isfinite(aligned.values).all())
    )


def _all_pairs(aligned: AlignedUsers) -> list[tuple[int, int]]:
    """Return the columns of all pairs of systems."""
    return list(combinations(range(aligned.values.shape[1]), 2))


def ranks_are_approximate(family: PairFamily, cell: str) -> bool:
    """Return whether joint ranks rest on t with too few users for the skewness of a pair."""
    aligned = family.aligned(cell)
    if aligned is None or _has_limit(aligned, _largest(family, cell)):
        return False
    return any(map(too_skewed, aligned.differences(_all_pairs(aligned))))


def ranks_of_pairs(
    rows: Sequence[PairFinding],
    alpha: float,
    *,
    better: bool | None,
    further: Sequence[PairFinding] = (),
) -> list[SystemRank]:
    """Return the ranks that the verdicts of pairs allow, the best first.

    A system ranks below those that are shown to be better, and above those that are shown to be
    worse. Where every pair has a common baseline, what is better than it is better than what is
    worse than it; ``further`` are the rows of the other pairs, if these were tested. Empty for
    fewer than three systems.
    """
    means = {row.baseline: row.means.mean_baseline for row in rows}
    means |= {row.system: row.means.mean_system for row in rows}
    systems, k = list(means), len(means)
    if better is None or k < _FEWEST:
        return []
    p = np.ones((k, k))
    for row in (*rows, *further):
        if row.test.verdict in ("better", "worse"):
            i, j = systems.index(row.system), systems.index(row.baseline)
            p[(i, j) if row.test.verdict == "better" else (j, i)] = 0.0
    if len(rows) < k * (k - 1) // 2:  # through the baseline
        p = np.minimum(p, np.maximum(p[:, :, None], p[None, :, :]).min(axis=1))
    side = 1 if better else -1
    ranks = ranks_of(p, side * np.array([*means.values()]), confidence=1 - alpha)
    return _ordered(systems, list(means.values()), ranks)


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


def _ordered(
    systems: Sequence[str], means: Sequence[float], ranks: SystemRanks
) -> list[SystemRank]:
    """Return the rank of each system, the best first."""
    columns = (
        ranks.rank.tolist(),
        ranks.low.tolist(),
        ranks.high.tolist(),
        ranks.may_be_best.tolist(),
    )
    return sorted(map(SystemRank, systems, means, *columns), key=lambda system: system.rank)
