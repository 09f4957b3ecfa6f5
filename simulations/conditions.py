"""How often words with and without a condition are wrong, and what they find.

Prints the rates that docs/simulations.md states: of a paired t test, of words for any users
(``better``, ``worse``) and of all words (``better if``, ``worse if`` besides), in worlds that are
made to mislead them and in worlds like rankings. Run as ``python simulations/conditions.py``; some
minutes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.comparison.claims import SHARE_OF_RANGE
from rankwise.stats.bounds_of_pairs import BoundedPairs
from rankwise.stats.differences import Differences, Floats
from rankwise.stats.paired_tests import t_test

RUNS = 1000
LEVEL = 0.05
World = Callable[[np.random.Generator, int], Floats]
"""Draws the differences of so many users."""


def changes(*sizes_and_shares: tuple[float, float]) -> World:
    """Return a world in which users change by a size with a probability, and else by nothing."""
    sizes = [size for size, _ in sizes_and_shares]
    shares = [share for _, share in sizes_and_shares]

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        return rng.choice([*sizes, 0.0], n, p=[*shares, 1 - sum(shares)])

    return drawn


def ndcg(gain: float = 0.0, alike: float = 0.0) -> World:
    """Return nDCG of one relevant item, found by a fifth of the users, or by ``gain`` more."""

    def found(rng: np.random.Generator, n: int, share: float) -> Floats:
        values: Floats = (rng.random(n) < share) / np.log2(1 + rng.integers(1, 11, n))
        return values

    def drawn(rng: np.random.Generator, n: int) -> Floats:
        d = found(rng, n, 0.2 + gain) - found(rng, n, 0.2)
        return np.where(rng.random(n) < alike, 0.0, d)

    return drawn


NULLS: dict[str, World] = {
    "+0.1 for 8 %, −0.4 for 2 %": changes((0.1, 0.08), (-0.4, 0.02)),
    "+0.004 for 50 %, −0.8 for 0.25 %": changes((0.004, 0.5), (-0.8, 0.0025)),
    "−0.005 for 99.5 %, +0.995 for 0.5 %": changes((-0.005, 0.995), (0.995, 0.005)),
    "+1 and −1 for 3 % each": changes((1.0, 0.03), (-1.0, 0.03)),
    "+0.1 for 20 %, −1 for 2 %": changes((0.1, 0.2), (-1.0, 0.02)),
    "nDCG of one item": ndcg(),
    "nDCG, six in ten users alike": ndcg(alike=0.6),
}
"""Worlds in which the mean difference is 0."""
EFFECTS: dict[int, tuple[float, float]] = {
    30: (0.325, 0.513),
    100: (0.178, 0.281),
    300: (0.103, 0.162),
    1000: (0.056, 0.089),
    3000: (0.032, 0.051),
}
"""By users, the gains that a t test finds in about two thirds of the samples."""


def rates(world: World, n: int, seed: int) -> tuple[float, float, float, float]:
    """Return the shares of samples with a word: by t, for any users, of all words, false ones.

    A word under a condition is false only if users can lose no more than it says; in these worlds
    they can lose as much as any sample shows.
    """
    rng = np.random.default_rng([seed, n])
    pairs = [Differences(world(rng, n), np.zeros(n)) for _ in range(RUNS)]
    bounded = BoundedPairs.of(pairs, 1.0)
    p_design = np.array([t_test(pair).p for pair in pairs])
    p_any = np.array(bounded.p)
    losses = bounded.largest_losses(np.full(RUNS, LEVEL / 2))
    ends = np.array([pair.limits for pair in pairs])
    gains = np.array([pair.mean > 0 for pair in pairs])
    seen = np.maximum(np.where(gains, -ends[:, 0], ends[:, 1]), 0.0)
    is_any = p_any < LEVEL
    is_if = ~is_any & (p_design < LEVEL) & (losses >= np.maximum(seen, SHARE_OF_RANGE))
    possible = max(float(-ends[:, 0].min()), float(ends[:, 1].max()))
    is_false = is_any | (is_if & (losses >= possible))
    return tuple(
        float(np.mean(each)) for each in (p_design < LEVEL, is_any, is_any | is_if, is_false)
    )  # type: ignore[return-value]


def main() -> None:
    """Print the rates of all worlds."""
    head = f"{'users':>6} {'t':>7} {'any users':>10} {'all words':>10} {'false':>7}"
    print(f"No difference in the mean\n{'':38}{head}")
    for seed, (name, world) in enumerate(NULLS.items()):
        for n in EFFECTS:
            by_t, any_users, words, false = rates(world, n, seed)
            print(f"{name:38}{n:>6,} {by_t:>7.3f} {any_users:>10.3f} {words:>10.3f} {false:>7.3f}")
    print(f"\nA difference that a t test finds in two of three samples\n{'':38}{head[:-8]}")
    for at, name in enumerate(("nDCG of one item", "nDCG, six in ten users alike")):
        for n, gains in EFFECTS.items():
            world = ndcg(gains[at], alike=0.6 * at)
            by_t, any_users, words, _ = rates(world, n, 100 + at)
            print(f"{name:38}{n:>6,} {by_t:>7.3f} {any_users:>10.3f} {words:>10.3f}")


if __name__ == "__main__":
    main()
