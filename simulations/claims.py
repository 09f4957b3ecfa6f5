"""How often words, intervals, plans, detectable differences, ranks, looks and gaps between groups are right.

Prints the simulated shares that docs/simulations.md and docstrings of `rankwise.stats` state.
Run as ``python simulations/claims.py``; some two minutes. ``python simulations/claims.py words``
prints the words alone: how often each is wrong, and what it costs in power.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import groups
import looks
import numpy as np
import polars as pl
from scipy.stats import t

import rankwise as rw
from rankwise import stats
from rankwise.stats.bounded_means import BoundedMean, bounded_p
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import Differences, Floats, differences, fewest_for_t, t_is_valid
from rankwise.stats.equivalence import Margin, non_inferiority_of, skewed_t
from rankwise.stats.many_systems import rank_systems
from rankwise.stats.variance_components import VarianceComponents

SAMPLES = 20_000  # a share of 0.95 has a standard error of 0.0015
USERS = 300
SHARES = (0.0, 0.1, 0.35, 0.5, 0.7, 0.9, 0.99)
"""Shares of the seeds in the variance of a difference."""


def drawn(
    rng: np.random.Generator, counts: Sequence[int], parts: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
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
                mean, values = (
                    0.25,
                    1.0 * (rng.random(len(home)) < rng.beta(total / 4, total * 3 / 4, count)[home]),
                )
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
        least, size = (
            fewest_for_t(pilot.nonzero / pilot.n, pilot.skewness),
            margin / pilot.deviation,
        )
        n, both = (
            max(stats.users_needed(0.0, margin=size, equivalence=two), least)
            for two in (False, True)
        )
        shown = np.mean(
            [stats.non_inferiority(draw(n), np.zeros(n), margin=margin).shown for _ in range(1000)]
        )
        equal = np.mean(
            [
                stats.equivalence(draw(both), np.zeros(both), margin=margin).equivalent
                for _ in range(1000)
            ]
        )
        found[name] = (n, float(shown), both, float(equal))
    return found


RUNS = 1_000  # samples of each cell of the words: a rate of 0.05 has a standard error of 0.007
LOSSES = {
    # A gain and its share of the users, a loss and its share; the true loss is the margin.
    "+0.005 for 30 %, -1 for 0.2 %": (0.005, 0.3, 1.0, 0.002),
    "+0.02 for 40 %, -1 for 1 %": (0.02, 0.4, 1.0, 0.01),
    "+0.01 for 10 %, -0.5 for 0.3 %": (0.01, 0.1, 0.5, 0.003),
}
Cell = tuple[str, str, int, float, float]
"""A word, a world, the number of users, the nominal rate, and the rate of samples in which the word is wrong."""


def gains_and_losses(
    rng: np.random.Generator, n: int, world: tuple[float, float, float, float]
) -> Floats:
    """Return differences of n users: a gain for some, a loss for a few, nothing for the rest."""
    gain, often, loss, seldom = world
    drawn = rng.random(n)
    return np.where(drawn < often, gain, np.where(drawn > 1 - seldom, -loss, 0.0))


def rate(wrong: Callable[[np.random.Generator], bool], seed: int, runs: int = RUNS) -> float:
    """Return the share of samples in which a claim is wrong."""
    rng = np.random.default_rng(seed)
    return sum(bool(wrong(rng)) for _ in range(runs)) / runs


def false_margins() -> Iterator[Cell]:
    """Yield how often a loss of the margin is called smaller: of users, of clusters, of a share of the baseline."""
    for name, world in LOSSES.items():
        margin = world[2] * world[3] - world[0] * world[1]
        for n in (100, 300, 1_000):

            def shown(
                rng: np.random.Generator, n: int = n, world: Any = world, margin: float = margin
            ) -> bool:
                return stats.non_inferiority(
                    gains_and_losses(rng, n, world), margin=margin, largest=1.0
                ).shown

            yield "not worse", name, n, 0.05, rate(shown, n)

    def equivalent(rng: np.random.Generator) -> bool:
        return stats.equivalence(
            (rng.random(300) < 0.02) * 1.0, margin=0.02, largest=1.0
        ).equivalent

    yield "equivalent", "+1 for 2 %, margin 0.02", 300, 0.05, rate(equivalent, 1)

    def of_clusters(rng: np.random.Generator) -> bool:
        sizes = rng.integers(1, 7, 100)
        home = np.repeat(np.arange(100), sizes)
        d = np.where(rng.random(100) < 0.01, -1.0, 0.02 * (rng.random(100) < 0.4))[home]
        return bounded_p(-d, 1.0, UserClusters(home), 0.01 - 0.02 * 0.4 * 0.99) < 0.05

    yield "not worse", "the second, households of 1 to 6", 100, 0.05, rate(of_clusters, 2)
    for share, spread in ((0.1, 0.005), (0.05, 0.01)):

        def of_share(
            rng: np.random.Generator, share: float = share, spread: float = spread
        ) -> bool:
            y = (rng.random(2_000) < 0.05) * rng.random(2_000)
            pairs = differences(y - share * 0.025 + rng.normal(0, spread, 2_000), y)
            return non_inferiority_of(pairs, margin=Margin(share, relative=True), alpha=0.05).shown

        yield (
            "not worse",
            f"a loss of {share:.0%}, the margin; no bound",
            2_000,
            0.05,
            rate(of_share, 3),
        )


def false_differences() -> Iterator[Cell]:
    """Yield how often a system of the same mean is better, and how often an interval misses the mean."""
    for n in (200, 900):

        def better(rng: np.random.Generator, n: int = n) -> bool:
            d = gains_and_losses(rng, n, (2 / (0.3 * n), 0.3, 1.0, 2 / n))
            return stats.bounded_test(d, largest=1.0).p < 0.05 and d.mean() > 0

        yield "better", "no difference, -1 for 2 users on average", n, 0.025, rate(better, n)
    for name, world in (
        ("+0.1 for 20 %, -1 for 2 %", (0.1, 0.2, 1, 0.02)),
        ("+0.1 for 30 %, -1 for 1 %", (0.1, 0.3, 1, 0.01)),
    ):
        for n in (30, 60, 150):

            def missed(rng: np.random.Generator, n: int = n, world: Any = world) -> bool:
                interval = stats.bounded_interval(gains_and_losses(rng, n, world), largest=1.0)
                return world[0] * world[1] - world[3] not in interval

            yield "interval", name, n, 0.05, rate(missed, n)


def false_ships() -> Iterator[Cell]:
    """Yield how often `rankwise.decide` ships a loss of 3.5 margins in its guardrail, under a real gain elsewhere."""
    for n in (40, 100):

        def shipped(rng: np.random.Generator, n: int = n) -> bool:
            d = gains_and_losses(rng, n, (0.02, 0.4, 1.0, 0.015))
            frames = [
                pl.DataFrame(
                    {
                        "user": range(n),
                        "ndcg@10": 0.3 + gain + 0.05 * rng.random(n),
                        "recall@10": values,
                    }
                )
                for gain, values in ((0.0, np.full(n, 0.5)), (0.4, 0.5 + d / 2))
            ]
            results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
            return (
                rw.decide(results, success="ndcg@10", guardrails={"recall@10": 0.001}).outcome
                == "ship"
            )

        yield "ship", "a loss of 3.5 margins, mostly not drawn", n, 0.05, rate(shipped, n)


def by_t(d: Floats, margin: float) -> bool:
    """Return whether a t test, corrected for skewness, shows that the loss is below a margin."""
    pairs = differences(d)
    return t_is_valid(pairs) and bool(t.sf(skewed_t(pairs, -margin), pairs.n - 1) < 0.05)


def cost() -> Iterator[tuple[int, float, float, float, float, float, float]]:
    """Yield, by number of users, the margin that t shows of a harmless system in nine of ten samples.

    Then how often t and the limit show it, by how much the margin has to be larger for the limit to
    show it as often, and how much a gain of 2.8 standard errors is worth by t and by the limit.
    """
    for n in (100, 300, 1_000, 3_000, 10_000):
        rng, deviation = np.random.default_rng(n), math.sqrt(0.3 * 0.15**2)
        shown, margin = np.zeros(2), 3 * deviation / math.sqrt(n)
        gains, gain = np.zeros(2), 2.8 * deviation / math.sqrt(n)
        for _ in range(RUNS):
            d = rng.normal(0, 0.15, n) * (rng.random(n) < 0.3)
            shown += by_t(d, margin), BoundedMean.of(-d, 1.0).p(margin) < 0.05
            gains += (
                stats.paired_t(d + gain).p < 0.05,
                stats.bounded_test(d + gain, largest=1.0).p < 0.05,
            )
        planned = BoundedMean.of(rng.normal(0, 0.15, 100_000) * (rng.random(100_000) < 0.3), 1.0)
        larger = planned.detectable(n, alpha=0.05, power=0.9) / margin
        yield n, margin, shown[0] / RUNS, shown[1] / RUNS, larger, gains[0] / RUNS, gains[1] / RUNS


def words() -> None:
    """Print how often each word is wrong, and what the limit of bounded means costs in power."""
    print(f"{'word':10}  {'world':42}  {'users':>6}  nominal   rate ± error")
    for part in (false_margins, false_differences, false_ships):
        for word, world, n, nominal, wrong in part():
            error = math.sqrt(max(wrong * (1 - wrong), 1 / RUNS) / RUNS)
            print(f"{word:10}  {world:42}  {n:6,}  {nominal:7.3f}  {wrong:.3f} ± {error:.3f}")
    print("\nharmless systems: 30 % of the users differ, with a standard deviation of 0.15")
    print("           loss below the margin        margin for   a gain of 2.8 standard errors")
    print(" users   margin   by t   by the limit  the same      by t   by the limit")
    for n, margin, shown_by_t, shown, larger, by_t_test, found in cost():
        print(
            f"{n:6,}  {margin:7.4f}  {shown_by_t:5.2f}  {shown:13.2f}  {larger:7.2f} ×  "
            f"{by_t_test:8.2f}  {found:13.2f}"
        )


def main() -> None:
    """Print every share."""
    words()
    if sys.argv[1:] == ["words"]:
        return
    print("coverage of 95 % intervals over users and seeds (weighted quantiles; Satterthwaite)")
    for counts in [(2,), (2, 2), (2, 10), (3,), (3, 3), (5,), (5, 5), (10,), (10, 10)]:
        (low, high), (least, most) = over_seeds(counts)
        named = " and ".join(map(str, counts)) if len(counts) > 1 else f"{counts[0]} and none"
        print(f"  {named:10}  {low:.2f} to {high:.2f}   {least:.2f} to {most:.2f}")
    (low, high), (least, most) = over_sets()
    print(
        f"over data sets: equal weights {low:.2f} to {high:.2f}, by precision {least:.2f} to "
        f"{most:.2f}"
    )
    print("coverage of 95 % intervals of a mean: clusters as the sample; users as independent")
    for count in (10, 30, 100):
        (low, high), (least, most) = over_clusters(count)
        print(f"  {count} clusters  {low:.2f} to {high:.2f}   {least:.2f} to {most:.2f}")
    for name, (n, shown, both, equal) in planned().items():
        print(
            f"planned for a margin, {name}: no loss {shown:.2f} ({n:,} users), equivalence "
            f"{equal:.2f} ({both:,})"
        )
    for count in (2, 3, 5):
        print(f"detectable difference with {count} seeds: found in {detected(count):.2f}")
    for n in (30, 60, 100, 300):
        print(f"ranks claimed wrongly, {n} users, one skewed system: {wrong_ranks(n):.3f}")
    looks.main()
    groups.main()


if __name__ == "__main__":
    main()
