"""Pairs of systems with several seeds, or with clusters of users that are not independent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.errors import InputError, MeasureError
from rankwise.results.align_users import Aligned
from rankwise.results.family import Pairs, largest_difference
from rankwise.results.group_columns import cluster_flags
from rankwise.results.intervals import jackknife_caveats
from rankwise.results.margins import margin_of, size_of
from rankwise.results.pair_rows import check_groups_left_out, detectable, make_row, row_of_all_lists
from rankwise.stats.clusters import cluster_error, jackknife_error
from rankwise.stats.differences import Differences, Floats, Interval, TestResult, t_is_valid
from rankwise.stats.effects import cliffs_delta, fieller
from rankwise.stats.matching_interval import constant_interval
from rankwise.stats.paired import smallest_p
from rankwise.stats.two_level import Variance, seed_variance, variance_of_means

__all__ = ["DesignPairs"]

_FEW = 5
"""Seeds below which the variance between them is hardly known."""
_TEST = "two-level t"


@dataclass(frozen=True)
class DesignPairs(Pairs):
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

    def _rows_of_means(self, cell: str, aligned: Aligned) -> list[dict[str, Any]]:
        if not self.seeds and self.clusters is None:
            return super()._rows_of_means(cell, aligned)
        return [self._row(cell, pair, aligned) for pair in self.pairs]

    def _row(self, cell: str, pair: tuple[str, str], aligned: Aligned) -> dict[str, Any]:
        if not len(aligned.values):
            raise MeasureError("no user has a value in every result", found=cell)
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
        self, d: Differences, aligned: Aligned, largest: float, tests: int
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

    def _values(self, system: str, aligned: Aligned) -> Floats:
        """Return the values of a system, one row per seed and one column per user."""
        columns = [self._at[name] for name in self.seeds.get(system, [system])]
        return np.ascontiguousarray(aligned.values[:, columns].T)

    def _variance(self, users: Floats, seeds: Sequence[Floats], aligned: Aligned) -> Variance:
        """Return the variance of a mean over users and seeds."""
        if aligned.cluster is None:
            return variance_of_means(users, seeds)
        several = aligned.n_clusters > 1
        error, freedom = cluster_error(users, aligned.cluster) if several else (math.nan, 0.0)
        return variance_of_means(users, seeds, (error**2, freedom))

    def _of_clusters(self, d: Differences, aligned: Aligned, row: Mapping[str, Any]) -> dict[str, Any]:
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
        self, d: Differences, systems: tuple[Floats, Floats], variance: Variance, aligned: Aligned
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
        flags = (*jackknife_caveats(given[1][0].measures, cell), *self._ignored())
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
