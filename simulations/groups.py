"""How often intervals of gaps between groups of users hold: by the jackknife, and by all pairs of groups.

``python simulations/claims.py`` prints the table of which docs/simulations.md has a part; alone about a
minute.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from rankwise import stats
from rankwise.core.arguments import GroupStatistic
from rankwise.stats.differences import Floats
from rankwise.stats.group_means import compare_groups, group_interval

SAMPLES = 200  # a share of 0.95 has a standard error of 0.015
RESAMPLES = 499
LEFT_OUT = 64
OF_MEANS: dict[GroupStatistic, Callable[[Floats], Any]] = {
    "gap": lambda means: means.max(axis=-1) - means.min(axis=-1),
    "ratio": lambda means: means.min(axis=-1) / means.max(axis=-1),
    "mean_difference": lambda means: (
        np.abs(means[..., :, None] - means[..., None, :]).sum(axis=(-1, -2))
        / (means.shape[-1] * (means.shape[-1] - 1))
    ),
}


def drawn(rng: np.random.Generator, means: Floats, groups: Any) -> Any:
    """Return recall of five relevant items, found with a probability that users differ in."""
    return rng.binomial(5, rng.beta(2 * means[groups], 2 - 2 * means[groups])) / 5


def left_out(values: Floats, groups: Any, part: Any, count: int) -> Floats:
    """Return the group means without each of the parts of users, shape (parts, groups)."""
    cells = part * count + groups
    size = LEFT_OUT * count
    sums, users = (
        np.bincount(cells, w, size).reshape(LEFT_OUT, count) for w in (values, np.ones(len(values)))
    )
    means: Floats = (sums.sum(axis=0) - sums) / (users.sum(axis=0) - users)
    return means


def by_jackknife(
    values: Floats, groups: Any, count: int, statistic: GroupStatistic, part: Any
) -> tuple[float, Floats]:
    """Return the statistic, and its values without each part of the users."""
    means, of = np.bincount(groups, values) / np.bincount(groups), OF_MEANS[statistic]
    return float(of(means)), of(left_out(values, groups, part, count))


def coverage(count: int, users: int, apart: float) -> dict[str, tuple[float, float]]:
    """Return how often both intervals hold the truth, and how often two equal systems differ in their gap."""
    rng, groups = np.random.default_rng(count + users), np.repeat(np.arange(count), users)
    means = np.where(np.arange(count) == 0, 0.3 - apart, 0.3)
    held = {name: np.zeros(2) for name in (*OF_MEANS, "false difference")}
    for _ in range(SAMPLES):
        x, y = (drawn(rng, means, groups) for _ in range(2))
        part = rng.permutation(len(x)) % LEFT_OUT
        for statistic, of in OF_MEANS.items():
            value, replicates = by_jackknife(x, groups, count, statistic, part)
            pairs = group_interval(x, groups, statistic, n_resamples=RESAMPLES)
            held[statistic] += [of(means) in stats.jackknife(value, replicates), of(means) in pairs]
        (one, first), (two, second) = (by_jackknife(v, groups, count, "gap", part) for v in (x, y))
        p = compare_groups(x, y, groups, n_resamples=RESAMPLES)[1]
        held["false difference"] += [0 not in stats.jackknife(one - two, first - second), p < 0.05]
    return {name: tuple(number / SAMPLES) for name, number in held.items()}


def power(count: int, users: int, apart: float) -> float:
    """Return how often a system that serves one group worse is shown to have the larger gap."""
    rng, groups, shown = np.random.default_rng(0), np.repeat(np.arange(count), users), 0
    means = np.where(np.arange(count) == 0, 0.3 - apart, 0.3)
    for _ in range(SAMPLES // 2):
        x, y = drawn(rng, means, groups), drawn(rng, np.full(count, 0.3), groups)
        shown += compare_groups(x, y, groups, n_resamples=RESAMPLES)[1] < 0.05
    return shown / (SAMPLES // 2)


def main() -> None:
    """Print the table."""
    print(
        "coverage of 95 % intervals, and false differences of two gaps at 5 %: jackknife, all "
        "pairs of groups"
    )
    for count, users, apart in product((2, 4, 12), (33, 300, 1000), (0.0, 0.15)):
        shares = (
            f"{name} {before:.2f} {after:.2f}"
            for name, (before, after) in coverage(count, users, apart).items()
        )
        print(
            f"  {count:2} groups of {users:5,}, {'one apart' if apart else 'all alike'}:  "
            f"{'   '.join(shares)}"
        )
    for count, users in ((2, 300), (4, 300), (12, 300), (4, 1000)):
        print(
            f"  a gap of 0.15 against 0, {count} groups of {users:,}: shown in "
            f"{power(count, users, 0.15):.2f}"
        )


if __name__ == "__main__":
    main()
