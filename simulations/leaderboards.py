"""How often `rw.leaderboard` separates systems that are equal.

Prints the tables of docs/simulations.md, and how often a bootstrap of ranks separates them. Run as
``python simulations/leaderboards.py`` (some three minutes).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rankwise import stats

BOARDS = 1000
BOOTSTRAPPED, DRAWS = 200, 1000  # boards, and draws of each
SHAPES = ((3, 8), (5, 10), (10, 10), (10, 20), (30, 41))


def normal(rng: np.random.Generator, tasks: int, systems: int) -> np.ndarray:
    """Return a board whose systems are equal."""
    return rng.normal(0, 1, (tasks, systems))


def heavy(rng: np.random.Generator, tasks: int, systems: int) -> np.ndarray:
    """Return a board whose systems are equal, with large values on some tasks."""
    return rng.standard_t(2, (tasks, systems))


def rare_kind(rng: np.random.Generator, tasks: int, systems: int) -> np.ndarray:
    """Return a board whose systems have equal means: half of them lose much on one task in ten."""
    loses = rng.random((tasks, 1)) < 0.1
    half = np.arange(systems) < systems / 2
    board = rng.normal(0, 0.05, (tasks, systems)) - 0.18 * (loses & half) + 0.018 * half
    return np.asarray(board)


def separated(
    draw: Callable[[np.random.Generator, int, int], np.ndarray], systems: int, tasks: int
) -> list[float]:
    """Return the share of boards with any two systems apart, by means and by Borda points."""
    rng = np.random.default_rng([systems, tasks])
    boards = BOARDS if systems < 30 else BOARDS // 5
    wrong = [0, 0]
    for _ in range(boards):
        board = draw(rng, tasks, systems)
        for at, values in enumerate((board, stats.borda(board))):
            ranks = stats.rank_on_tasks(values, n_resamples=1000, seed=int(rng.integers(2**31)))
            wrong[at] += bool((ranks.low > 1).any())
    return [count / boards for count in wrong]


def bootstrap_claims(systems: int, tasks: int) -> tuple[float, float]:
    """Return how often a bootstrap of tasks separates equal systems: by intervals, and by wins."""
    rng = np.random.default_rng([systems, tasks, 1])
    apart = won = 0
    for _ in range(BOOTSTRAPPED):
        board = normal(rng, tasks, systems)
        counts = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=DRAWS)
        means = counts @ board / tasks
        ranks = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=2)
        low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
        apart += bool(low.max() > high.min())
        wins = (means[:, :, None] > means[:, None, :]).mean(axis=0)
        won += bool(wins.max() >= 0.975)
    return apart / BOOTSTRAPPED, won / BOOTSTRAPPED


def seconds() -> float:
    """Return how long the ranks of 122 systems on 41 tasks take."""
    board = normal(np.random.default_rng(0), 41, 122)
    start = time.perf_counter()
    stats.rank_on_tasks(board)
    return time.perf_counter() - start


def main() -> None:
    """Print the tables of the page."""
    worlds = (("all equal", normal), ("all equal, heavy tails", heavy))
    print("| world | systems × tasks | mean | Borda |\n|---|---|--:|--:|")
    for name, draw in worlds:
        for systems, tasks in SHAPES:
            mean, points = separated(draw, systems, tasks)
            print(f"| {name} | {systems} × {tasks} | {mean:.3f} | {points:.3f} |", flush=True)
    mean, _ = separated(rare_kind, 10, 20)
    print(f"| equal means, half of them lose on one task in ten | 10 × 20 | {mean:.3f} | |")
    print(
        "\n| all equal | intervals of ranks apart | a pair wins in 97.5 % of draws |\n|---|--:|--:|"
    )
    for systems, tasks in SHAPES:
        apart, won = bootstrap_claims(systems, tasks)
        print(f"| {systems} × {tasks} | {apart:.2f} | {won:.2f} |", flush=True)
    print(f"\n122 systems on 41 tasks: {seconds():.1f} s")


if __name__ == "__main__":
    main()
