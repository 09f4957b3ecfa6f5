"""Claims that rest on an assumption, and how often they are wrong where it does not hold.

Prints the simulated shares of `docs/simulations.md` and of
docstrings: data sets of which few are unlike the others, ranks of systems of unlike skewness, plans
from small pilots, medians, seeds with rare failures, intervals of single means, and recall with
weights. Run as ``python simulations/assumptions.py``; some two minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

import rankwise as rw
from rankwise import stats
from rankwise.stats.equivalence import power_of_t, variance_interval
from rankwise.stats.variance_components import variance_of_means

RUNS = 1_000  # a share of 0.05 has a standard error of 0.007
Generator = np.random.Generator
FEW_HITS: dict[str, Callable[[Generator, int], Any]] = {
    "hits of 5 %": lambda rng, n: 1.0 * (rng.random(n) < 0.05),
    "hits of 30 %": lambda rng, n: 1.0 * (rng.random(n) < 0.3),
    "nDCG, 20 % above 0": lambda rng, n: (
        (rng.random(n) < 0.2) / np.log2(rng.integers(1, 11, n) + 1)
    ),
}
MEANS = {
    "hits of 5 %": 0.05,
    "hits of 30 %": 0.3,
    "nDCG, 20 % above 0": 0.2 * float(np.mean(1 / np.log2(np.arange(2, 12)))),
}


def data_sets(k: int) -> tuple[float, float]:
    """Return how often a system without an advantage is better over k data sets, by t and by sign flips.

    It gains 0.01 on nine of ten data sets, give or take 0.005, and loses 0.09 on the tenth.
    """
    rng, wrong = np.random.default_rng(k), np.zeros(2)
    for _ in range(RUNS):
        d = np.where(rng.random(k) < 0.1, -0.09, 0.01) + rng.normal(0, 0.005, k)
        over = stats.over_data_sets(d)
        wrong += (
            d.mean() > 0 and over.p < 0.05,
            d.mean() > 0 and stats.sign_flip(d, n_resamples=1_000).p < 0.05,
        )
    by_t, by_signs = wrong / RUNS
    return float(by_t), float(by_signs)


def ranks(n: int, runs: int = 200) -> tuple[float, float]:
    """Return how often a rank of six systems of one mean is claimed wrongly: with a bound, and by t."""
    rng, wrong = np.random.default_rng(n), np.zeros(2)
    for _ in range(runs):
        values = np.column_stack(
            [0.1 + rng.normal(0, 0.01, n)]
            + [(rng.random(n) < 0.1 / size) * size for size in (0.2, 0.4, 0.6, 0.8, 1.0)]
        )
        results = {
            str(at): rw.from_per_user(pl.DataFrame({"user": range(n), "recall@10": column}))
            for at, column in enumerate(values.T)
        }
        limited = rw.compare(results).ranks
        by_t = stats.rank_systems(values, n_resamples=999)
        claimed = (limited["rank_low"] > 1).any() or (limited["rank_high"] < 6).any()
        wrong += [float(claimed), float((by_t.p_better < 0.05).any())]
    limit, t = wrong / runs
    return float(limit), float(t)


def pilots(n: int, share: float) -> tuple[float, float, float]:
    """Return how often a plan's interval holds the true number of users, the plan's mean power, and its tenth.

    A ``share`` of the users differ, with a standard deviation of 0.2; the difference to detect is
    0.02.
    """
    rng, alpha, difference = np.random.default_rng(n), 0.05, 0.02
    deviation = math.sqrt(share * 0.2**2)
    held, powers = 0, []
    for _ in range(RUNS):
        d = rng.normal(0, 0.2, n) * (rng.random(n) < share)
        low, high = variance_interval(d)
        held += low <= deviation**2 <= high
        if d.std(ddof=1) > 0:
            planned = stats.users_needed(difference / float(d.std(ddof=1)))
            powers.append(power_of_t(planned, difference / deviation, alpha, sides=2))
        else:
            powers.append(0.0)
    return held / RUNS, float(np.mean(powers)), float(np.quantile(powers, 0.1))


def medians(n: int, runs: int = 200) -> float:
    """Return how often the jackknife's interval of the median of a metric holds the median of its distribution."""
    rng, held = np.random.default_rng(n), 0
    for _ in range(runs):
        values = rng.beta(2, 5, n)
        groups = rng.permutation(n) % 64
        left = np.array([np.median(values[groups != group]) for group in range(64)])
        held += 0.26444998 in stats.jackknife(float(np.median(values)), left)
    return held / runs


def seeds(counts: tuple[int, int]) -> float:
    """Return how often the interval of a difference covers 0: seeds of exponential effects, and 300 users."""
    rng, held = np.random.default_rng(sum(counts)), 0
    for _ in range(RUNS):
        users = rng.normal(0, 0.1, 300)
        sides = [
            0.02 * (rng.exponential(size=(c, 1)) - 1) if c > 1 else np.zeros((1, 1)) for c in counts
        ]
        sides = [side + np.zeros((1, 300)) for side in sides]
        d = users + sides[0].mean(axis=0) - sides[1].mean(axis=0)
        variance = variance_of_means(d, sides)
        held += 0.0 in variance.interval(float(d.mean()), confidence=0.95, n=300)
    return held / RUNS


def single_means(n: int, runs: int = 500) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield how often intervals of a mean hold it: BCa, studentised, t, and the limit of a bounded mean."""
    for name, draw in FEW_HITS.items():
        rng, held = np.random.default_rng(n), np.zeros(4)
        for _ in range(runs):
            x = draw(rng, n)
            intervals = (
                stats.bootstrap(x, method="bca", n_resamples=2_000),
                stats.bootstrap(x, method="studentised", n_resamples=2_000),
                stats.t_interval(x),
                stats.bounded_interval(x, np.zeros(n), largest=1.0),
            )
            held += [MEANS[name] in interval for interval in intervals]
        bca, studentised, t, limit = held / runs
        yield name, float(bca), float(studentised), float(t), float(limit)


def observed_recall(relevant: int) -> dict[str, float]:
    """Return recall at 20 of complete data, and what is estimated from observed items with known propensities."""
    rng, n_users, n_items = np.random.default_rng(relevant), 3_000, 400
    propensity = 1 / np.arange(1, n_items + 1) ** 0.5
    scores = rng.normal(0, 1, (n_users, n_items)) + 2 * propensity
    lists, complete, observed = {}, {}, {}
    for user in range(n_users):
        best = np.argsort(-scores[user], kind="stable")
        lists[user] = best[:20].tolist()
        items = rng.choice(
            best,
            relevant,
            replace=False,
            p=np.arange(n_items, 0, -1) / (n_items * (n_items + 1) / 2),
        )
        complete[user] = set(items.tolist())
        observed[user] = {int(item) for item in items if rng.random() < propensity[item]}
    observed = {user: items for user, items in observed.items() if items}
    facts = {"item": list(range(n_items)), "propensity": propensity.tolist()}
    of = "of=recall,propensity=given,clip=0.01"
    names = {
        "recall": "recall@20",
        "ips": f"ips({of})@20",
        "snips": f"snips({of})@20",
        "snips, average=weights": f"snips({of},average=weights)@20",
    }
    result = rw.evaluate(
        {u: lists[u] for u in observed}, observed, list(names.values()), items=facts
    )
    true = {
        "true": rw.evaluate(lists, complete, "recall@20")["recall@20"]
    }  # all users have equally many items
    return true | {name: result[cell] for name, cell in names.items()}


def candidates(n: int, candidates: int = 20, runs: int = 300) -> tuple[float, float, float]:
    """Return how often some candidate that is not better is called better than the baseline.

    Of as many candidates as calls, of calls that are told of earlier ones, and of one call.
    """
    rng, wrong = np.random.default_rng(n), np.zeros(3)
    for _ in range(runs):
        base = rng.beta(2, 5, n)
        values = {"old": base} | {
            str(at): np.clip(base + rng.normal(0, 0.05, n) * (rng.random(n) < 0.3), 0, 1)
            for at in range(candidates)
        }
        results = {
            name: rw.from_per_user(pl.DataFrame({"user": range(n), "ndcg@10": x}))
            for name, x in values.items()
        }
        for column, told in enumerate((False, True)):
            pairs = ({"old": results["old"], "new": results[str(at)]} for at in range(candidates))
            wrong[column] += any(
                rw.compare(pair, baseline="old", earlier=at * told)["new"]["verdict"] == "better"
                for at, pair in enumerate(pairs)
            )
        wrong[2] += "better" in rw.compare(results, baseline="old").table["verdict"].to_list()
    separate, with_earlier, together = (float(share) for share in wrong / runs)
    return separate, with_earlier, together


def main() -> None:
    """Print every share."""
    print("better over data sets, one of ten bad, true mean 0: by t, and by sign flips")
    for k in (5, 8, 12, 20, 30):
        print("  {} data sets  {:.3f}  {:.3f}".format(k, *data_sets(k)))
    print(
        "a rank of six systems of one mean and unlike skewness is claimed: with a bound, and by t"
    )
    for n in (30, 100, 300):
        print("  {} users  {:.3f}  {:.3f}".format(n, *ranks(n)))
    print(
        "the interval of a planned number of users holds the true one; mean power of plans for "
        "0.8; lowest tenth"
    )
    for n, share in ((40, 0.1), (40, 0.5), (100, 0.1), (100, 0.5), (300, 0.1), (1_000, 0.1)):
        print(
            "  a pilot of {} users of whom {:.0%} differ  {:.3f}  {:.2f}  {:.2f}".format(
                n, share, *pilots(n, share)
            )
        )
    print("the jackknife's interval of a median holds it")
    for n in (300, 1_000, 3_000):
        print(f"  {n} users  {medians(n):.3f}")
    print("the interval of a difference holds it: seeds of exponential effects")
    for counts in ((2, 1), (2, 2), (3, 1), (3, 3), (5, 1), (5, 5), (10, 1)):
        print(f"  {counts[0]} and {counts[1]} seeds  {seeds(counts):.3f}")
    print("the interval of one system's mean holds it: BCa, studentised, t, bounded")
    for n in (30, 60, 150, 500):
        for name, *shares in single_means(n):
            print(f"  {n:3} users, {name:20}" + "".join(f"  {share:.3f}" for share in shares))
    print("recall at 20, relevant items observed with known propensities")
    for relevant in (5, 20, 60):
        print(
            f"  {relevant} relevant items: "
            + ", ".join(f"{k} {v:.3f}" for k, v in observed_recall(relevant).items())
        )

    print("some of 20 candidates is better: in 20 calls, with earlier=, in one call")
    for n in (300, 2_000):
        print("  {} users  {:.3f}  {:.3f}  {:.3f}".format(n, *candidates(n)))


if __name__ == "__main__":
    main()
