"""Findings over several data sets: one per metric and pair, from those on each data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.comparison.rows import DataSets, PairFinding, detectable, means_of_pair
from rankwise.comparison.scaled_difference import ScaledDifference
from rankwise.findings.finding import EffectSizes, Limits, MarginTests, TestOutcome
from rankwise.findings.margins import Margin, margin_flags, margin_of, margin_test, size_of
from rankwise.stats.differences import Floats, differences, t_is_valid
from rankwise.stats.equivalence import minimum_detectable
from rankwise.stats.variance_components import VarianceComponents, deviation_of, over_data_sets


def combine_data_sets(
    rows: Sequence[PairFinding], sets: int, main: str, alpha: float, margin: Margin, pairs: int
) -> list[PairFinding]:
    """Return one finding per metric and pair that all data sets have a finding of.

    Those of the primary metric ``main`` are a family of ``pairs``.
    """
    by_pair: dict[tuple[str, str, str], list[PairFinding]] = {}
    for row in rows:
        by_pair.setdefault((row.metric, row.baseline, row.system), []).append(row)
    metrics = len({metric for metric, _, _ in by_pair})
    exploratory = max(pairs * ((metrics - 1) + sets * metrics), 1)
    return [
        _PairOverDataSets(
            of_pair,
            alpha,
            margin_of(margin, metric),
            is_primary=metric == main,
            tests=pairs if metric == main else exploratory,
        ).finding()
        for (metric, _, _), of_pair in by_pair.items()
        if len(of_pair) == sets
    ]


@dataclass(frozen=True, eq=False)
class _PairOverDataSets:
    """The findings of one pair on each data set, in a family of ``tests``."""

    rows: Sequence[PairFinding]
    alpha: float
    margin: float | str | None
    is_primary: bool
    tests: int

    def finding(self) -> PairFinding:
        """Return the finding over all data sets."""
        first, k = self.rows[0], len(self.rows)
        errors = [row.std_error for row in self.rows]
        combined = over_data_sets(
            self.gaps,
            None if any(map(math.isnan, errors)) else errors,
            confidence=1 - self.alpha,
        )
        difference = combined.interval.estimate
        claims, flags = self._margin_tests()
        together = self.limits_of(self.alpha / (self.tests if self.is_primary else 1))
        return PairFinding(
            metric=first.metric,
            by=first.by,
            baseline=first.baseline,
            system=first.system,
            higher_is_better=first.higher_is_better,
            primary=self.is_primary,
            means=means_of_pair(
                (self.scaled.baseline, self.scaled.system),
                difference,
                self.limits_of(self.alpha),
                together,
                1 - self.alpha,
            ),
            test=TestOutcome("t over data sets", combined.p),
            effect=self._effect_sizes(difference),
            margin=claims,
            data_sets=DataSets(k, combined.tau),
            flags=(*combined.interval.flags, *flags),
            limits_of=self.limits_of,
            margin_limits_of=self.limits_of,
        )

    @cached_property
    def gaps(self) -> list[float]:
        """The difference on each data set."""
        return [row.means.difference for row in self.rows]

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of differences between data sets."""
        return deviation_of(np.array(self.gaps))

    @cached_property
    def scaled(self) -> ScaledDifference:
        """The mean difference over data sets at any factor of the baseline."""
        k = len(self.rows)
        before = math.fsum(row.means.mean_baseline for row in self.rows) / k
        after = math.fsum(row.means.mean_system for row in self.rows) / k
        error = self.deviation / math.sqrt(k) if self.deviation else math.nan

        def at(factor: float) -> tuple[float, VarianceComponents]:
            d: Floats = np.array(
                [row.means.mean_system - factor * row.means.mean_baseline for row in self.rows]
            )
            return float(d.mean()), VarianceComponents((deviation_of(d) ** 2 / k, k - 1.0))

        return ScaledDifference(before, after, error, at)

    def limits_of(self, level: float) -> Limits:
        """Return the limits of the mean difference and of its lift."""
        interval = over_data_sets(self.gaps, confidence=1 - level).interval
        return Limits(interval.low, interval.high, *self.scaled.lift_limits(level))

    def _margin_tests(self) -> tuple[MarginTests, list[str]]:
        """Return the tests of the margin, with its size, and caveats."""
        if self.margin is None:
            return MarginTests(), []
        size = size_of(self.margin, self.scaled.baseline)
        flags = margin_flags(self.margin, self.scaled.baseline)
        if not t_is_valid(differences(self.gaps)):  # rare losses elsewhere have not been seen
            return MarginTests().with_size(size), [
                *flags,
                "margin not tested over so few data sets",
            ]
        tests = self.scaled.margin_tests(
            margin_test(self.margin),
            self.rows[0].higher_is_better,
            self.limits_of(2 * self.alpha),
        )
        return tests.with_size(size), flags

    def _effect_sizes(self, difference: float) -> EffectSizes:
        """Return effect sizes over data sets, which win or lose here, and numbers of users."""
        first, deviation = self.rows[0], self.deviation
        up = -1 if first.higher_is_better is False else 1
        wide = minimum_detectable(len(self.rows), alpha=self.alpha / self.tests)
        return EffectSizes(
            difference / deviation if deviation else math.nan,
            wins=sum(up * d > 0 for d in self.gaps),
            ties=sum(d == 0 for d in self.gaps),
            losses=sum(up * d < 0 for d in self.gaps),
            users=sum(row.effect.users or 0 for row in self.rows),
            users_dropped=sum(row.effect.users_dropped or 0 for row in self.rows),
            dropped_because="",
            minimum_detectable=detectable(wide * (deviation or math.nan), first.largest),
        )
