"""How often the limits of `rw.rank_agreement` hold, beside those of a percentile bootstrap over users.

Prints the table of docs/simulations.md. Run as ``python simulations/rank_agreement.py`` (some six
minutes; ``--samples 20`` for a first look). Two judgments of eight systems: each user has a level
that all systems share, and values in [0, 1].
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import polars as pl

import rankwise as rw
from rankwise import stats

CELL = "ndcg@10"
EVEN = (0.50, 0.47, 0.44, 0.41, 0.38, 0.35, 0.32, 0.29)
CLOSE = (0.500, 0.498, 0.496, 0.494, 0.492, 0.490, 0.488, 0.486)
REVERSED = (0.41, 0.44, 0.47, 0.50, 0.38, 0.35, 0.32, 0.29)


@dataclass(frozen=True)
class World:
    """True means by both judgments, the number of users, and whether both judgments have the same users."""

    name: str
    first: tuple[float, ...]
    second: tuple[float, ...]
    users: int
    shared: bool

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the values by both judgments, shape (users, systems) each."""
        level = rng.normal(0, 0.08, (2, self.users, 1))
        noise = rng.normal(0, 0.15, (2, self.users, len(self.first)))
        if self.shared:
            level[1], noise[1] = level[0], 0.7 * noise[0] + 0.7 * noise[1]
        return [
            np.clip(np.array(m) + a + e, 0, 1)
            for m, a, e in zip((self.first, self.second), level, noise, strict=True)
        ]


WORLDS = [
    World(
        f"{name}, {users:,} users, {'shared' if shared else 'separate'}",
        first,
        second,
        users,
        shared,
    )
    for name, first, second in (
        ("same order, 0.03 apart", EVEN, EVEN),
        ("same order, 0.002 apart", CLOSE, CLOSE),
        ("top four reversed", EVEN, REVERSED),
    )
    for users, shared in ((200, True), (2000, True), (2000, False))
]


def percentiles(
    values: list[np.ndarray], rng: np.random.Generator, *, shared: bool
) -> tuple[float, float]:
    """Return the percentile interval of τ over 200 resamples of users."""
    n = len(values[0])
    taus = []
    for _ in range(200):
        weights = rng.multinomial(n, np.full(n, 1 / n), 1 if shared else 2)
        taus.append(stats.kendall_tau(weights[0] @ values[0], weights[-1] @ values[1]))
    low, high = np.quantile(taus, [0.025, 0.975])
    return float(low), float(high)


def results(values: np.ndarray) -> dict[str, rw.Result]:
    """Return one result per system."""
    users = range(len(values))
    return {
        f"s{at}": rw.from_per_user(pl.DataFrame({"user": users, CELL: column}))
        for at, column in enumerate(values.T)
    }


def main() -> None:
    """Print coverage and width by world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    samples = parser.parse_args().samples
    head = (
        "orders, users",
        "true τ, τ_AP",
        "mean τ",
        "τ limits hold",
        "τ_AP limits hold",
        "mean τ limits",
    )
    print(f"| {' | '.join((*head, 'a false swap', 'bootstrap of τ holds'))} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for world in WORLDS:
        rng = np.random.default_rng(5)
        tau, ap = (of(world.first, world.second) for of in (stats.kendall_tau, stats.tau_ap))
        true_signs = {
            (a, b): world.second[a] > world.second[b] for a in range(8) for b in range(8) if a != b
        }
        rows = []
        for _ in range(samples):
            values = world.draw(rng)
            agreement = rw.rank_agreement(*map(results, values), n_resamples=1000)
            low, high = percentiles(values, rng, shared=world.shared)
            swapped = (
                agreement.pairs.filter(pl.col("agreement") == "swapped")
                .select("system", "baseline")
                .rows()
            )
            false = any(
                (int(a[1:]) < int(b[1:])) == true_signs[int(a[1:]), int(b[1:])] for a, b in swapped
            )
            limits = agreement.tau, agreement.tau_ap
            held = [
                i.low - 1e-9 <= true <= i.high + 1e-9
                for i, true in zip(limits, (tau, ap), strict=True)
            ]
            rows.append(
                (limits[0].estimate, *held, *limits[0], false, low - 1e-9 <= tau <= high + 1e-9)
            )
        mean, tau_held, ap_held, low, high, false, boot = np.mean(
            np.array(rows, dtype=float), axis=0
        )
        print(
            f"| {world.name} | {tau:.2f}, {ap:.2f} | {mean:.2f} | {tau_held:.3f} | {ap_held:.3f} "
            f"| {low:.2f} to {high:.2f} | {false:.3f} | {boot:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
