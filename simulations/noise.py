"""How often the noise floor of `rw.stability` holds, and what `rw.compare` says of runs of one model.

Prints the tables of docs/simulations.md. Run as ``python simulations/noise.py`` (some two minutes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

import rankwise as rw
from rankwise import stats

SAMPLES = 1000
COMPARED = 200


@dataclass(frozen=True)
class World:
    """A system whose users have noise of their own, and a part that all users of a run share."""

    name: str
    users: int
    hits: bool
    shared: float
    bad: float = 0.0

    def draw(self, rng: np.random.Generator, base: np.ndarray, runs: int) -> np.ndarray:
        """Return the values of some runs, one row per run."""
        moved = self.shared * rng.normal(size=(runs, 1))
        moved = moved - 0.1 * (rng.random((runs, 1)) < self.bad)
        if self.hits:
            chance = np.clip(base + moved, 0, 1)
            return (rng.random((runs, self.users)) < chance).astype(float)
        return np.clip(base + moved + rng.normal(0, 0.1, (runs, self.users)), 0, 1)

    def base(self, rng: np.random.Generator) -> np.ndarray:
        """Return the values of users without noise."""
        if self.hits:
            return np.where(rng.random(self.users) < 0.8, rng.random(self.users) < 0.5, 0.5)
        return rng.beta(2, 3, self.users)


WORLDS = (
    World("hits, users' noise independent", 50, True, 0.0),
    World("hits, shared by the users of a run", 300, True, 0.03),
    World("graded, users' noise independent", 300, False, 0.0),
    World("graded, shared by the users of a run", 300, False, 0.03),
    World("graded, one run in ten is bad", 300, False, 0.0, 0.1),
)


def held(world: World, runs: int) -> dict[str, float]:
    """Return how often two new runs differ by less than several floors."""
    rng = np.random.default_rng([runs, world.users])
    rules: dict[str, Callable[[stats.NoiseFloor], float]] = {
        "floor": lambda found: found.floor,
        "by runs": lambda found: found.floor_runs,
        "by users": lambda found: found.floor_users,
        "max − min": lambda found: found.spread,
        "2 s": lambda found: 2 * found.deviation,
    }
    counts = dict.fromkeys(rules, 0)
    for _ in range(SAMPLES):
        base = world.base(rng)
        found = stats.noise_floor(world.draw(rng, base, runs))
        apart = abs(float(np.diff(world.draw(rng, base, 2).mean(axis=1))[0]))
        for name, rule in rules.items():
            counts[name] += apart < rule(found)
    return {name: count / SAMPLES for name, count in counts.items()}


def called_different(shared: float, runs: int) -> tuple[float, float]:
    """Return how often two runs of one model are called different: over users alone, and with noise."""
    rng = np.random.default_rng([runs, int(1000 * shared)])
    world = World("", 400, False, shared)
    alone = with_noise = 0
    for _ in range(COMPARED):
        values = world.draw(rng, world.base(rng), runs + 2)
        results = [
            rw.from_per_user(pl.DataFrame({"user": range(world.users), "ndcg@10": run}))
            for run in values
        ]
        pair = {"a": results[0], "b": results[1]}
        alone += rw.compare(pair, test="t")["b"]["p"] < 0.05
        with_noise += rw.compare(pair, test="t", noise=rw.stability(results[2:]))["b"]["p"] < 0.05
    return alone / COMPARED, with_noise / COMPARED


def main() -> None:
    """Print the tables of the page."""
    print("| world | runs | floor | by runs | by users | max − min | 2 s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for world in WORLDS:
        for runs in (2, 5, 10):
            row = held(world, runs)
            print(f"| {world.name}, n = {world.users} | {runs} | ", end="")
            print(" | ".join(f"{share:.3f}" for share in row.values()), "|")
    print("\n| sd that users share | runs | over users alone | with `noise=` |\n|--:|--:|--:|--:|")
    for shared in (0.0, 0.005, 0.01, 0.03):
        for runs in (2, 5):
            alone, with_noise = called_different(shared, runs)
            print(f"| {shared:g} | {runs} | {alone:.3f} | {with_noise:.3f} |")


if __name__ == "__main__":
    main()
