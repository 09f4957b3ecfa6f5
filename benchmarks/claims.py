"""How often intervals, plans, detectable differences, ranks, looks and gaps between groups are right.

Prints the simulated shares that docs/significance.md and docstrings of `rankwise.stats` state.
Run as ``python benchmarks/claims.py``; some two minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import groups
import looks
import numpy as np
from scipy.stats import t

from rankwise import stats
from rankwise.stats.differences import Differences, Floats, fewest_for_t
from rankwise.stats.many_systems import rank_systems
from rankwise.stats.variance_components import VarianceComponents

SAMPLES = 20_000  # a share of 0.95 has a standard error of 0.0015
USERS = 300
SHARES = (0.0, 0.1, 0.35, 0.5, 0.7, 0.9, 0.99)
"""Shares of the seeds in the variance of a difference."""


def drawn(rng: np.random.Generator, counts: Sequence[int], parts: Sequence[float]) -> tuple[Floats, Floats, Floats]:
    """Return estimates of parts of the variance and their degrees of freedom, and estimates."""
    freedom = np.array([USERS - 1.0, *(count - 1.0 for count in counts)])
    seen = [part * rng.chisquare(f, SAMPLES) / f for part, f in zip(parts, freedom, strict=True)]
    return np.array(seen), freedom, rng.normal(0, math.sqrt(sum(parts)), SAMPLES)


def over_seeds(counts: Sequence[int]) -> list[tuple[float, float]]:
    """Return the smallest and largest coverage: weighted quantiles, Satterthwaite's degrees."""
    rng = np.random.default_rng(0)
    covered: tuple[list[float], list[float]] = ([], [])
    splits = [(1.0,)] if len(counts) == 1 else [(0.05, 0.95), (0.5, 0.5), (0.95, 0.05)]
    for share, split in product(SHARES, splits):
        parts = [1 - share, *(share * part for part in split)]
        seen, freedom, estimate = drawn(rng, counts, parts)
        total = seen.sum(axis=0)
        weighted = (seen * t.ppf(0.975, freedom[:, None])).sum(axis=0) / total
        one = t.ppf(0.975, total**2 / (seen**2 / freedom[:, None]).sum(axis=0))
        for shares, quantile in zip(covered, (weighted, one), strict=True):
            shares.append(float((np.abs(estimate) <= quantile * np.sqrt(total)).mean()))
    return [(min(shares), max(shares)) for shares in covered]


def paule_mandel(d: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Return the precision-weighted mean of each row, and Hartung and Knapp's error."""
    k, low, high = d.shape[1], np.zeros(len(d)), np.full(len(d), 50 * d.var(axis=1).max())

    def weighted(tau: Floats) -> tuple[Floats, Floats, Floats]:
        w = 1 / (squares + tau[:, None])
        mean = (w * d).sum(axis=1) / w.sum(axis=1)
        return w, mean, (w * (d - mean[:, None]) ** 2).sum(axis=1)

    for _ in range(60):
        middle = (low + high) / 2
        large = weighted(middle)[2] > k - 1
        low, high = np.where(large, middle, low), np.where(large, high, middle)
    w, mean, q = weighted(low)
    return mean, np.sqrt(q / (k - 1) / w.sum(axis=1))


def over_sets() -> list[tuple[float, float]]:
    """Return the coverage over data sets of unequal errors: equal and precision weights."""
    rng = np.random.default_rng(1)
    found: tuple[list[float], list[float]] = ([], [])
    for k in (2, 3, 5, 10):
        error = np.array([0.2, 3.0] * 5)[:k]
        for tau in (0.5, 1.0, 3.0):
            d = rng.normal(0, tau, (SAMPLES, k)) + rng.normal(0, error, (SAMPLES, k))
            equal = d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(k)
            for shares, (mean, se) in zip(found, (equal, paule_mandel(d, error**2)), strict=True):
                shares.append(float((np.abs(mean) <= t.ppf(0.975, k - 1) * se).mean()))
    return [(min(shares), max(shares)) for shares in found]


def detected(count: int) -> float:
    """Return how often the median detectable difference of two systems with seeds is found."""
    rng, freedom = np.random.default_rng(2), float(count - 1)
    parts = (0.2, 0.4, 0.4)
    seen = [
        VarianceComponents((a, USERS - 1.0), ((b, freedom), (c, freedom)))
        for a, b, c in drawn(rng, (count, count), parts)[0][:, :1000].T
    ]
    size = float(np.median([(v.quantile(0.025) + v.quantile(0.2)) * v.error for v in seen]))
    estimates = size + rng.normal(0, 1, len(seen))
    return float(np.mean([v.p(d) < 0.05 for v, d in zip(seen, estimates, strict=True)]))


def wrong_ranks(n: int) -> float:
    """Return how often a rank is claimed wrongly: one very skewed system among narrow ones."""
    rng, wrong = np.random.default_rng(n), 0
    for _ in range(1000):
        x = 0.1 + rng.normal(0, 0.01, (n, 3))
        x[:, 2] = rng.random(n) < 0.1
        wrong += bool((rank_systems(x, n_resamples=999).p_better < 0.05).any())
    return wrong / 1000


def over_clusters(count: int) -> list[tuple[float, float]]:
    """Return the smallest and largest coverage of a mean: clusters as the sample, and users as independent."""
    rng, samples = np.random.default_rng(count), 1000
    covered: tuple[list[float], list[float]] = ([], [])
    for hits, equal, within in product((False, True), (False, True), (0.05, 0.3, 0.7)):
        held = [0, 0]
        for _ in range(samples):
            sizes = np.full(count, 5) if equal else rng.geometric(0.2, count)
            home = np.repeat(np.arange(count), sizes)
            if hits:
                total = 1 / within - 1
                mean, values = 0.25, 1.0 * (rng.random(len(home)) < rng.beta(total / 4, total * 3 / 4, count)[home])
            else:
                shared, alone = rng.normal(0, math.sqrt(within), count), rng.normal(size=len(home))
                mean, values = 0.0, shared[home] + alone * math.sqrt(1 - within)
            held[0] += mean in stats.clustered(values, home)
            held[1] += mean in stats.t_interval(values)
        for shares, number in zip(covered, held, strict=True):
            shares.append(number / samples)
    return [(min(shares), max(shares)) for shares in covered]


def planned() -> dict[str, tuple[int, float, int, float]]:
    """Return, by world, the users planned for a margin and how often they show it: no loss, and equivalence."""
    rng, margin = np.random.default_rng(4), 0.01
    worlds: dict[str, Callable[[int], Floats]] = {
        "normal": lambda n: rng.normal(0, 0.1, n),
        "zero-inflated, 5 %": lambda n: rng.normal(0, 0.4, n) * (rng.random(n) < 0.05),
        "zero-inflated, 10 %": lambda n: rng.normal(0, 0.3, n) * (rng.random(n) < 0.1),
        "hits": lambda n: 1.0 * (rng.random(n) < 0.02) - 1.0 * (rng.random(n) < 0.02),
    }
    found = {}
    for name, draw in worlds.items():
        pilot = Differences(draw(1_000_000), np.zeros(1_000_000))
        least, size = fewest_for_t(pilot.nonzero / pilot.n, pilot.skewness), margin / pilot.deviation
        n, both = (max(stats.users_needed(0.0, margin=size, equivalence=two), least) for two in (False, True))
        shown = np.mean([stats.non_inferiority(draw(n), np.zeros(n), margin=margin).shown for _ in range(1000)])
        equal = np.mean([stats.equivalence(draw(both), np.zeros(both), margin=margin).equivalent for _ in range(1000)])
        found[name] = (n, float(shown), both, float(equal))
    return found


def main() -> None:
    """Print every share."""
    print("coverage of 95 % intervals over users and seeds (weighted quantiles; Satterthwaite)")
    for counts in [(2,), (2, 2), (2, 10), (3,), (3, 3), (5,), (5, 5), (10,), (10, 10)]:
        (low, high), (least, most) = over_seeds(counts)
        named = " and ".join(map(str, counts)) if len(counts) > 1 else f"{counts[0]} and none"
        print(f"  {named:10}  {low:.2f} to {high:.2f}   {least:.2f} to {most:.2f}")
    (low, high), (least, most) = over_sets()
    print(f"over data sets: equal weights {low:.2f} to {high:.2f}, by precision {least:.2f} to {most:.2f}")
    print("coverage of 95 % intervals of a mean: clusters as the sample; users as independent")
    for count in (10, 30, 100):
        (low, high), (least, most) = over_clusters(count)
        print(f"  {count} clusters  {low:.2f} to {high:.2f}   {least:.2f} to {most:.2f}")
    for name, (n, shown, both, equal) in planned().items():
        print(f"planned for a margin, {name}: no loss {shown:.2f} ({n:,} users), equivalence {equal:.2f} ({both:,})")
    for count in (2, 3, 5):
        print(f"detectable difference with {count} seeds: found in {detected(count):.2f}")
    for n in (30, 60, 100, 300):
        print(f"ranks claimed wrongly, {n} users, one skewed system: {wrong_ranks(n):.3f}")
    looks.main()
    groups.main()


if __name__ == "__main__":
    main()
