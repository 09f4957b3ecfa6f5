"""Pairs of systems that were trained with several seeds: users and seeds are both samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.results.align_users import Aligned
from rankwise.results.family import Pairs, largest_difference
from rankwise.results.intervals import jackknife_caveats
from rankwise.results.margins import margin_of, size_of
from rankwise.results.pair_rows import blank_row, check_groups_left_out, make_row
from rankwise.stats.clusters import jackknife_error
from rankwise.stats.differences import Differences, Floats, TestResult
from rankwise.stats.effects import fieller
from rankwise.stats.two_level import Variance, seed_variance, variance_of_means

__all__ = ["SeedPairs"]

_FEW = 5
"""Seeds below which the variance between them is hardly known."""
_TEST = "two-level t"


@dataclass(frozen=True)
class SeedPairs(Pairs):
    """Pairs of systems, each with the names of its results, one per seed.

    Without ``seeds`` every system has one result. ``paired`` says whether seed i of two systems
    belongs together.
    """

    seeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    paired: bool = False

    def _row(
        self, cell: str, pair: tuple[str, str], aligned: Aligned, *, main: bool
    ) -> dict[str, Any]:
        if not self.seeds:
            return super()._row(cell, pair, aligned, main=main)
        column = {name: at for at, name in enumerate(self.results)}
        y, x = (
            np.ascontiguousarray(aligned.values[:, [column[name] for name in self.seeds[side]]].T)
            for side in pair
        )
        d = Differences(x.mean(axis=0), y.mean(axis=0))
        variance = variance_of_means(d.d, [x - y] if self.paired else [x, y])
        tests, largest = (self.tests if main else 1), largest_difference(self.results, cell)
        margin = size_of(margin_of(self.margin, cell), d.means[1])
        if variance.total > 0:
            tested = TestResult(_TEST, d.mean, d.mean / variance.error, variance.p(d.mean), d.n,
                                d.flags)  # fmt: skip
            intervals = tuple(
                variance.interval(d.mean, confidence=1 - self.alpha / count, n=d.n)
                for count in (1, tests)
            )
        else:  # all users differ alike, whatever the seed
            tested = self._tested(d)
            intervals = self._intervals(d, tested.p, largest, tests)
        row = make_row(
            cell, pair, d, tested, aligned, (intervals[0], intervals[1]), margin=margin,
            better=self.better(cell), alpha=self.alpha, largest=largest,
            tests=self.tests if main else self.others,
        )  # fmt: skip
        row |= self._of_seeds(pair, variance, [y.mean(axis=1), x.mean(axis=1)], row["flags"])
        if variance.total > 0:
            row |= {
                **self._with_seeds(row, variance, margin, main=main),
                **self._lift(x, y, variance),
            }
        return row

    def _with_seeds(
        self, row: Mapping[str, Any], variance: Variance, margin: float | None, *, main: bool
    ) -> dict[str, Any]:
        """Return what seeds change in a row: all claims about users hold over seeds as well."""
        level = self.alpha / (self.tests if main else self.others)
        found = {
            "minimum_detectable": (variance.quantile(level / 2) + variance.quantile(0.2))
            * variance.error,
            "users_needed": None, "_error": variance.error,
        }  # fmt: skip
        if margin is not None:
            difference = row["difference"]
            within = variance.p_above(margin - abs(difference))
            found["p_equivalence"] = max(row["p_equivalence"], within)
            if row["_better"] is not None:
                gain = difference if row["_better"] else -difference
                found["p_non_inferior"] = max(
                    row["p_non_inferior"], variance.p_above(gain + margin)
                )
        return found

    def _of_seeds(
        self, pair: tuple[str, str], variance: Variance, means: Sequence[Floats],
        flags: Sequence[str],
    ) -> dict[str, Any]:  # fmt: skip
        """Return what a row says of seeds; ``means`` are those of the seeds of both systems."""
        total, notes = variance.total, []
        share = variance.of_seeds / total if total > 0 else math.nan
        more = variance.seeds_to_halve(1 - self.alpha) if total > 0 else None
        for system, values in zip(pair, means, strict=True):
            count = len(values)
            if count == 1:
                notes.append(f"one seed of {system}: taken for a system that has no seeds")
            elif not np.ptp(values):
                notes.append(f"all {count} seeds of {system} have the same mean")
            elif count < _FEW:
                notes.append(f"{count} seeds of {system} hardly tell how its seeds vary")
        if share > 0.5:
            halve = f"{more} more of each system halve the interval" if more else (
                "no number of them halves the interval")  # fmt: skip
            notes.append(f"seeds make up {share:.0%} of the variance: {halve}")
        counts = [len(values) for values in means]
        spreads = [float(v.std(ddof=1)) if len(v) > 1 else math.nan for v in means]
        return {
            "seeds_baseline": counts[0], "seeds_system": counts[1],
            "deviation_baseline": spreads[0], "deviation_system": spreads[1],
            "share_of_seeds": share, "seeds_to_halve": more, "flags": [*flags, *notes],
        }  # fmt: skip

    def _lift(self, x: Floats, y: Floats, variance: Variance) -> dict[str, float]:
        """Return the relative lift and its interval, from the variances of both means."""
        users = [values.mean(axis=0) for values in (x, y)]
        of_x, of_y = (variance_of_means(mean, [values]).total
                      for mean, values in zip(users, (x, y), strict=True))  # fmt: skip
        both = (of_x + of_y - variance.total) / 2  # of a difference: var x + var y − 2 cov
        means = float(users[0].mean()), float(users[1].mean())
        lift = fieller(means, means[0] - means[1], np.array([[of_x, both], [both, of_y]]),
                       variance.quantile(self.alpha / 2))  # fmt: skip
        return dict(zip(("lift", "lift_low", "lift_high"), lift, strict=True))

    def _row_of_all_lists(
        self, cell: str, pair: tuple[str, str], better: bool | None
    ) -> dict[str, Any]:
        """Return the row of values that are no means of users: the jackknife is over users."""
        if not self.seeds:
            return super()._row_of_all_lists(cell, pair, better)
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
        difference, baseline = float(x.mean() - y.mean()), float(y.mean())
        interval = variance.interval(difference, confidence=1 - self.alpha, n=groups)
        row = blank_row() | {
            "measure": cell, "baseline": pair[0], "system": pair[1],
            "mean_baseline": baseline, "mean_system": float(x.mean()), "difference": difference,
            "low": interval.low, "high": interval.high,
            "lift": difference / baseline if baseline else math.nan,
            "test": f"jackknife {_TEST}", "p": variance.p(difference),
            "users": len(given[0][0].per_user), "users_dropped": 0, "dropped_because": "",
            "_better": better, "_error": variance.error if variance.total > 0 else math.nan,
        }  # fmt: skip
        return row | self._of_seeds(pair, variance, [y, x],
                                    [*jackknife_caveats(given[1][0].measures, cell),
                                     "of all lists together"])  # fmt: skip
