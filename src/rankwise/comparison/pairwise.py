"""Families of pairs of systems that are tested together: independent users, clusters, seeds, ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.alignment import AlignedUsers, align_users
from rankwise.comparison.comparison import (
    RANKS,
    Margin,
    check_groups_left_out,
    detectable,
    jackknife_row,
    make_row,
    margin_flags,
    margin_of,
    row_of_all_lists,
    size_of,
)
from rankwise.core.arguments import Family, Missing, Test
from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.results.intervals import cluster_flags, groups_of_users, jackknife_caveats, range_of
from rankwise.results.result import Result
from rankwise.stats.data_sets import cluster_error, jackknife_error
from rankwise.stats.differences import (
    MANY,
    Differences,
    Floats,
    Interval,
    TestResult,
    paired_differences,
    significant_digits,
    t_is_valid,
)
from rankwise.stats.effect_sizes import cliffs_delta, fieller
from rankwise.stats.intervals import constant_interval, interval_of_test
from rankwise.stats.many_systems import SystemRanks, max_t, max_t_quantile, pairwise_p, rank_systems, ranks_of, tukey
from rankwise.stats.paired_tests import bootstrap_test, sign, sign_flip, smallest_p, t_test, wilcoxon
from rankwise.stats.variance_components import Variance, seed_variance, variance_of_means

__all__ = [
    "JOINT",
    "ClusteredPairwiseTests",
    "PairwiseTests",
    "check_zero",
    "joint_ranks",
    "largest_difference",
    "ranks_of_pairs",
    "set_adjusted",
]

JOINT = ("max_t", "tukey")
"""The corrections that test all pairs together, from their users' values."""
_TESTS = {"wilcoxon": wilcoxon, "sign": sign}


@dataclass(frozen=True)
class PairwiseTests:
    """Pairs of results, (baseline, system), over one group of users or all of them.

    ``tests`` is the number of pairs that are corrected together, over all groups; ``others`` that
    of the rows of the exploratory metrics, which are corrected together. ``main`` is the primary
    metric, empty if these rows are exploratory in all metrics. ``clusters`` is the column of
    users' groups that are not independent of each other, if there are any.
    """

    results: Mapping[str, Result]
    group: str | None
    pairs: list[tuple[str, str]]
    main: str
    tests: int
    alpha: float
    test: Test
    correction: Family
    margin: Margin
    missing: Missing
    n_resamples: int | None
    seed: int
    others: int = 1
    clusters: str | None = None

    def rows(self, cell: str) -> list[dict[str, Any]]:
        """Return the rows of one metric, adjusted if one test is of all pairs together."""
        main, aligned = cell == self.main, self.aligned(cell)
        if aligned is None:
            rows = [self._row_of_all_lists(cell, pair) for pair in self.pairs]
        else:
            rows = self._rows_of_means(cell, aligned)
        margin = margin_of(self.margin, cell)
        exploratory = [] if main else ["exploratory"]
        for row in rows:
            if aligned is not None:
                caveats = margin_flags(margin, row["mean_baseline"])
            else:
                caveats = [] if margin is None else ["margin not tested"]
            row |= {"group": self.group, "primary": main, "flags": [*row["flags"], *caveats, *exploratory]}
        if main and aligned is not None and self.correction == "tukey":
            set_adjusted(rows, self._by_tukey(aligned))
        elif main and aligned is not None and self.correction == "max_t":
            self._set_by_max_t(rows, aligned)
        return rows

    def _set_by_max_t(self, rows: list[dict[str, Any]], aligned: AlignedUsers) -> None:
        """Give rows p-values and intervals by the largest t of all pairs."""
        values = aligned.values.T
        d = np.stack([paired_differences(values[x], values[y]) for x, y in self._columns], axis=1)
        set_adjusted(rows, max_t(d, n_resamples=self.resamples(), seed=self.seed))
        if len(d) < 2:
            return
        wide = max_t_quantile(d, confidence=1 - self.alpha, n_resamples=self.resamples(), seed=self.seed)
        for row in rows:
            if row["_error"] > 0:  # else no user differs: the interval is that of unseen ones
                half = wide * row["_error"]
                row |= {
                    "low_together": min(row["difference"] - half, row["low"]),
                    "high_together": max(row["difference"] + half, row["high"]),
                }

    def _by_tukey(self, aligned: AlignedUsers) -> list[float]:
        """Return the p-values of Tukey's test of all pairs together."""
        p, at = tukey(significant_digits(aligned.values)), self._at
        return [float(p[at[baseline], at[system]]) for baseline, system in self.pairs]

    def better(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        return next(iter(self.results.values())).direction(cell)

    def _tests(self, cell: str) -> tuple[int, int]:
        """Return how many pairs have intervals that hold together, and are corrected together."""
        return (self.tests, self.tests) if cell == self.main else (1, self.others)

    def _rows_of_means(self, cell: str, aligned: AlignedUsers) -> list[dict[str, Any]]:
        """Return the rows of all pairs of means over users."""
        together, corrected = self._tests(cell)
        largest = largest_difference(self.results, cell)
        margin, better = margin_of(self.margin, cell), self.better(cell)
        rows = []
        for pair, d, delta in zip(
            self.pairs, aligned.differences(self._columns), aligned.deltas(self._columns), strict=True
        ):
            tested = self._tested(d)
            rows.append(
                make_row(
                    cell,
                    pair,
                    d,
                    tested,
                    aligned,
                    self._intervals(d, tested.p, largest, together),
                    margin=size_of(margin, d.means[1]),
                    better=better,
                    alpha=self.alpha,
                    largest=largest,
                    tests=corrected,
                    delta=delta,
                )
            )
        return rows

    def _row_of_all_lists(self, cell: str, pair: tuple[str, str]) -> dict[str, Any]:
        """Return the row of one pair of values that are not means over users."""
        return jackknife_row(self.results, cell, pair, self.alpha, self.better(cell))

    def _intervals(self, differences: Differences, p: float, largest: float, tests: int) -> tuple[Interval, Interval]:
        """Return the interval of a pair, and that of all pairs of the family together."""
        make = partial(
            interval_of_test,
            differences,
            self._test(differences),
            seed=self.seed,
            n_resamples=self.resamples(),
            largest=largest,
            p=p,
        )
        alone = make(confidence=1 - self.alpha)
        return alone, alone if tests == 1 else make(confidence=1 - self.alpha / tests)

    def aligned(self, cell: str) -> AlignedUsers | None:
        """Return the users' values; None if the value is not a mean over users."""
        return self._main_aligned if cell == self.main else self._align(cell)

    @cached_property
    def _main_aligned(self) -> AlignedUsers | None:
        """The users' values of the primary metric, which rows and ranks are made from."""
        return self._align(self.main)

    def _align(self, cell: str) -> AlignedUsers | None:
        if not all(result.is_mean_of_users(cell) for result in self.results.values()):
            return None
        check_zero(cell, self.missing, self.better(cell))
        return align_users(self.results, cell, self.missing, self._clusters)

    @cached_property
    def _clusters(self) -> pl.DataFrame | None:
        if self.clusters is None:
            return None
        tables = {name: result.per_user for name, result in self.results.items()}
        return groups_of_users(tables, self.clusters)

    @cached_property
    def _at(self) -> dict[str, int]:
        """The column of each result in aligned values."""
        return {name: at for at, name in enumerate(self.results)}

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The columns of the system and the baseline of each pair in aligned values."""
        return [(self._at[system], self._at[baseline]) for baseline, system in self.pairs]

    def resamples(self) -> int:
        """Return the number of resamples: by default enough for a family of so many tests."""
        return self.n_resamples or max(10_000, math.ceil(4 * self.tests / self.alpha))

    def _test(self, differences: Differences) -> str:
        """Return the test of a pair: with ``"auto"`` t from 1,000 users, sign flips below."""
        if self.test != "auto":
            return self.test
        return "t" if differences.n >= MANY else "sign_flip"

    def _tested(self, differences: Differences) -> TestResult:
        test = self._test(differences)
        if test == "t":
            return t_test(differences)
        if test in _TESTS:
            return _TESTS[test](differences.x, differences.y)
        draw = sign_flip if test == "sign_flip" else bootstrap_test
        count = self.resamples()
        tested = draw(differences.x, differences.y, n_resamples=count, seed=self.seed)
        if tested.resamples and self.tests / (1 + count) > self.alpha:
            few = f"{count} resamples are too few for {self.tests} pairs"
            tested = replace(tested, flags=(*tested.flags, few))
        return tested


def largest_difference(results: Mapping[str, Result], cell: str) -> float:
    """Return the largest difference of two users' values that the range of a metric allows."""
    low, high = range_of((m for r in results.values() for m in r.metrics), cell)
    return float(high - low)


def check_zero(cell: str, missing: Missing, better: bool | None) -> None:
    """Raise if a missing value would be taken for the best one."""
    if missing == "zero" and better is False:
        raise ParameterError(
            f"0 is the best value of {cell}, and would reward lists that are missing",
            found='missing="zero"',
            hint='missing="common" compares the users who have all values',
        )


def set_adjusted(rows: list[dict[str, Any]], adjusted: Any) -> None:
    """Give rows their adjusted p-values."""
    for row, p in zip(rows, adjusted, strict=True):
        row["p_adjusted"] = float(p)


_FEW = 5
"""Seeds below which the variance between them is hardly known."""
_TEST = "two-level t"


@dataclass(frozen=True)
class ClusteredPairwiseTests(PairwiseTests):
    """Pairs of systems with several seeds each, over users that may come in clusters.

    Attributes
    ----------
    seeds : mapping of str to sequence of str
        The names of the results of each system, one per seed; empty if each has one result.
    paired : bool
        Whether seed i of two systems belongs together.
    """

    seeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    paired: bool = False

    def _rows_of_means(self, cell: str, aligned: AlignedUsers) -> list[dict[str, Any]]:
        if not self.seeds and self.clusters is None:
            return super()._rows_of_means(cell, aligned)
        return [self._row(cell, pair, aligned) for pair in self.pairs]

    def _row(self, cell: str, pair: tuple[str, str], aligned: AlignedUsers) -> dict[str, Any]:
        if not len(aligned.values):
            raise MetricError("no user has a value in every result", found=cell)
        if np.isinf(aligned.values).any():
            raise InputError(f"{cell} is infinite for some users", found=" and ".join(pair))
        y, x = (self._values(side, aligned) for side in pair)
        d = Differences(x.mean(axis=0), y.mean(axis=0))
        variance = self._variance(d.d, [x - y] if self.paired else [x, y], aligned)
        (tests, corrected), largest = self._tests(cell), largest_difference(self.results, cell)
        margin = size_of(margin_of(self.margin, cell), d.means[1])
        if variance.total != 0:  # NaN for a single user or cluster: nothing is shown then
            name = _TEST if self.seeds else "clustered t"
            tested = TestResult(name, d.mean, d.mean / variance.error, variance.p(d.mean), d.n, d.flags)
            alone, together = (
                variance.interval(d.mean, confidence=1 - self.alpha / count, n=d.n) for count in (1, tests)
            )
        else:  # all users, or all clusters, differ alike, whatever the seed
            tested, alone, together = self._constant(d, aligned, largest, tests)
        row = make_row(
            cell,
            pair,
            d,
            tested,
            aligned,
            (alone, together),
            margin=margin,
            better=self.better(cell),
            alpha=self.alpha,
            largest=largest,
            tests=corrected,
            delta=cliffs_delta(d.x, d.y),
        )
        if self.seeds:
            row |= self._of_seeds(pair, variance, [y.mean(axis=1), x.mean(axis=1)], row["flags"])
        if self.clusters is not None:
            row |= self._of_clusters(d, aligned, row)
        if variance.total != 0:
            row |= self._by_variance(row, variance, margin, largest, self.alpha / corrected)
            row |= self._lift(d, (x, y), variance, aligned)
        return row

    def _constant(
        self, d: Differences, aligned: AlignedUsers, largest: float, tests: int
    ) -> tuple[TestResult, Interval, Interval]:
        """Return the test and the intervals of a difference without variance: by its signs."""
        if aligned.cluster is None:
            tested = self._tested(d)
            return tested, *self._intervals(d, tested.p, largest, tests)
        count = aligned.n_clusters
        p = smallest_p(count) if d.mean else 1.0
        alone, together = (
            constant_interval(d.mean, count, -largest, largest, confidence=1 - self.alpha / n) for n in (1, tests)
        )
        flags = (*d.flags, "clusters do not vary") if d.nonzero else d.flags
        return TestResult("sign-flip of clusters", d.mean, math.nan, p, d.n, flags), alone, together

    def _values(self, system: str, aligned: AlignedUsers) -> Floats:
        """Return the values of a system, one row per seed and one column per user."""
        columns = [self._at[name] for name in self.seeds.get(system, [system])]
        return np.ascontiguousarray(aligned.values[:, columns].T)

    def _variance(self, users: Floats, seeds: Sequence[Floats], aligned: AlignedUsers) -> Variance:
        """Return the variance of a mean over users and seeds."""
        if aligned.cluster is None:
            return variance_of_means(users, seeds)
        several = aligned.n_clusters > 1
        error, freedom = cluster_error(users, aligned.cluster) if several else (math.nan, 0.0)
        return variance_of_means(users, seeds, (error**2, freedom))

    def _of_clusters(self, d: Differences, aligned: AlignedUsers, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a row about clusters."""
        count = aligned.n_clusters
        flags = [*row["flags"], *cluster_flags(count, str(self.clusters))]
        found: dict[str, Any] = {"clusters": count, "flags": flags}
        x, y = (np.bincount(aligned.cluster, side).astype(np.float64) for side in (d.x, d.y))
        if not t_is_valid(Differences(x, y)):  # users that differ are no independent ones
            found |= {name: 1.0 for name in ("p_equivalence", "p_non_inferior") if not math.isnan(row[name])}
        return found

    def _by_variance(
        self, row: Mapping[str, Any], variance: Variance, margin: float | None, largest: float, level: float
    ) -> dict[str, Any]:
        """Return columns over seeds and clusters: no claim is stronger than that over users."""
        wide = (variance.quantile(level / 2) + variance.quantile(0.2)) * variance.error
        # Of fewer seeds the variance is known too badly to say what would be found.
        unknown = any(freedom < _FEW - 1 for _, freedom in variance.seeds)
        found: dict[str, Any] = {
            "minimum_detectable": math.nan if unknown else detectable(wide, largest),
            "users_needed": None,
            "_error": variance.error,
        }
        if margin is not None:
            difference, better = row["difference"], row["_better"]
            within = variance.p_within(difference, margin)
            found["p_equivalence"] = float(np.maximum(row["p_equivalence"], within))
            if better is not None:
                no_worse = variance.p_no_worse(difference, margin, higher_is_better=better)
                found["p_non_inferior"] = float(np.maximum(row["p_non_inferior"], no_worse))
        return found

    def _of_seeds(
        self, pair: tuple[str, str], variance: Variance, means: Sequence[Floats], flags: Sequence[str]
    ) -> dict[str, Any]:
        """Return the columns of a row about seeds; ``means`` has the seeds of both systems."""
        total, notes = variance.total, []
        share = variance.of_seeds / total if total > 0 else math.nan
        more = variance.seeds_to_halve(1 - self.alpha) if total > 0 else None
        for system, values in zip(pair, means, strict=True):
            count = len(values)
            if count == 1:
                notes.append(f"one seed of {system}: treated as a system without seeds")
            elif not np.ptp(values):
                notes.append(f"all {count} seeds of {system} have the same mean")
            elif len(np.unique(values)) < count:
                notes.append(f"some of {count} seeds of {system} have the same mean: given twice?")
            elif count < _FEW:
                notes.append(f"{count} seeds of {system} tell little about the variance of seeds")
        if share > 0.5:
            halve = (
                f"{more} more of each system halve the interval" if more else ("no number of them halves the interval")
            )
            notes.append(f"seeds make up {share:.0%} of the variance: {halve}")
        counts = [len(values) for values in means]
        spreads = [float(v.std(ddof=1)) if len(v) > 1 else math.nan for v in means]
        return {
            "seeds_baseline": counts[0],
            "seeds_system": counts[1],
            "deviation_baseline": spreads[0],
            "deviation_system": spreads[1],
            "share_of_seeds": share,
            "seeds_to_halve": more,
            "flags": [*flags, *notes],
        }

    def _lift(
        self, d: Differences, systems: tuple[Floats, Floats], variance: Variance, aligned: AlignedUsers
    ) -> dict[str, float]:
        """Return the relative lift and its interval, from the variances of both means."""
        of_x, of_y = (
            self._variance(mean, [values], aligned).total for mean, values in zip((d.x, d.y), systems, strict=True)
        )
        both = (of_x + of_y - variance.total) / 2  # of a difference: var x + var y − 2 cov
        lift = fieller(
            d.means, d.means[0] - d.means[1], np.array([[of_x, both], [both, of_y]]), variance.quantile(self.alpha / 2)
        )
        return dict(zip(("lift", "lift_low", "lift_high"), lift, strict=True))

    def _row_of_all_lists(self, cell: str, pair: tuple[str, str]) -> dict[str, Any]:
        """Return the row of values that are not means over users: the jackknife is over users."""
        if not self.seeds:
            row = super()._row_of_all_lists(cell, pair)
            return row | {"flags": [*row["flags"], *self._ignored()]}
        given = [[self.results[name] for name in self.seeds[side]] for side in pair]
        check_groups_left_out(cell, {n: self.results[n] for side in pair for n in self.seeds[side]})
        y, x = (np.array([result.values[cell] for result in results]) for results in given)
        replicates = [
            np.mean([result.replicates[cell].to_numpy() for result in results], axis=0)  # type: ignore[index]
            for results in given
        ]
        error, groups = jackknife_error(replicates[1] - replicates[0])
        seeds = [x - y] if self.paired else [x, y]
        parts = (part for part, _ in (seed_variance(v[:, None]) for v in seeds) if part is not None)
        variance = Variance((error**2, float(groups - 1)), tuple(parts))
        difference = float(x.mean() - y.mean())
        p = 1.0 if variance.total == difference == 0 else variance.p(difference)
        flags = (*jackknife_caveats(given[1][0].metrics, cell), *self._ignored())
        tested = TestResult(f"jackknife {_TEST}", difference, math.nan, p, groups, flags)
        row = row_of_all_lists(
            cell,
            pair,
            (float(y.mean()), float(x.mean())),
            len(given[0][0].per_user),
            tested,
            variance.interval(difference, confidence=1 - self.alpha, n=groups),
            error=variance.error if variance.total > 0 else math.nan,
            better=self.better(cell),
        )
        return row | self._of_seeds(pair, variance, [y, x], row["flags"])

    def _ignored(self) -> list[str]:
        if self.clusters is None:
            return []
        return [f"the jackknife treats users as independent, without clusters by {self.clusters}"]


_FEWEST = 3  # of two systems the pair says all


def joint_ranks(family: PairwiseTests, cell: str) -> list[dict[str, Any]]:
    """Return the ranks of single results from their users' values, the best first."""
    better = family.better(cell)
    aligned = None if better is None else family.aligned(cell)
    if aligned is None or len(family.results) < _FEWEST or len(aligned.values) < 2:
        return []
    found = rank_systems(
        aligned.values,
        higher_is_better=bool(better),
        confidence=1 - family.alpha,
        n_resamples=family.resamples(),
        seed=family.seed,
    )
    return _rows(list(family.results), aligned.values.mean(axis=0).tolist(), found)


def ranks_of_pairs(rows: Sequence[Mapping[str, Any]], alpha: float, *, better: bool | None) -> list[dict[str, Any]]:
    """Return ranks from the p-values of all pairs, corrected by Holm, the best first.

    Empty unless every pair of systems has one row.
    """
    means = {row["baseline"]: row["mean_baseline"] for row in rows}
    means |= {row["system"]: row["mean_system"] for row in rows}
    systems, k = list(means), len(means)
    if better is None or k < _FEWEST or len(rows) != k * (k - 1) // 2:
        return []
    p, gain = np.full((k, k), math.nan), np.zeros((k, k))
    for row in rows:
        i, j = systems.index(row["system"]), systems.index(row["baseline"])
        p[i, j] = p[j, i] = row["p"]
        gain[i, j] = row["difference"] if better else -row["difference"]
        gain[j, i] = -gain[i, j]
    side = 1 if better else -1
    found = ranks_of(pairwise_p(p, gain), side * np.array(list(means.values())), confidence=1 - alpha)
    return _rows(systems, list(means.values()), found)


def _rows(systems: Sequence[str], means: Sequence[float], found: SystemRanks) -> list[dict[str, Any]]:
    rows = [
        dict(zip(RANKS, (system, mean, int(rank), int(low), int(high), bool(best)), strict=True))
        for system, mean, rank, low, high, best in zip(
            systems, means, found.rank, found.low, found.high, found.may_be_best, strict=True
        )
    ]
    return sorted(rows, key=lambda row: row["rank"])
