"""A family of pairs of systems within one part, and what estimates of its pairs ask of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from rankwise.comparison.alignment import AlignedUsers, align_users
from rankwise.comparison.claims import Claim
from rankwise.comparison.noise import Noise, RunNoise
from rankwise.comparison.rows import PairFinding, make_pair_finding
from rankwise.core.arguments import CorrectionMethod, Missing, Test
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.finding import LimitsOf
from rankwise.findings.margins import Margin, margin_of, margin_test
from rankwise.messages import parameter
from rankwise.results.intervals import groups_of_users, range_of
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.differences import Differences, TestResult
from rankwise.stats.equivalence import Bounds
from rankwise.stats.equivalence import Margin as MarginSize
from rankwise.stats.paired_tests import bootstrap_test, sign, sign_flip, t_test, wilcoxon

OF_MEDIAN = {"wilcoxon": wilcoxon, "sign": sign}
"""The tests of the median, whose verdict no interval of the mean stands beside."""


@dataclass(frozen=True, kw_only=True)
class PairFamily:
    """Pairs of systems, (baseline, system), over one group of users or all of them.

    Attributes
    ----------
    results : mapping of str to Result
        The results by name.
    by, group : str or None
        The group of users, or the data set, that results are of; None for everybody.
    pairs : list of tuple of str
        The baseline and the system of each pair.
    main : str
        The primary metric; empty if these pairs are exploratory on all metrics.
    tests, exploratory_tests : int
        The numbers of findings that are corrected together, over all groups: of the primary metric
        and of all others.
    earlier : int
        The number of pairs that were compared before on the same users.
    clusters : str or None
        The column of users' groups that are not independent of each other, if there are any.
    largest_cluster : int or None
        The size that was stated of the largest cluster; None if none was.
    noise : Noise or None
        The noise between runs of systems with one run; None if it is not known.
    seeds : mapping of str to sequence of str
        The names of the results of each system, one per seed; empty if each has one result.
    paired : bool
        Whether seed i of two systems belongs together.
    alpha, test, correction, margin, largest_loss, missing, n_resamples, seed
        The options of `rankwise.compare`.
    """

    results: Mapping[str, Result]
    by: str | None = None
    group: str | None
    pairs: list[tuple[str, str]]
    main: str
    tests: int
    alpha: float
    test: Test
    correction: CorrectionMethod
    margin: Margin
    missing: Missing
    n_resamples: int | None
    seed: int
    largest_loss: Mapping[str, float] = field(default_factory=dict)
    exploratory_tests: int = 1
    clusters: str | None = None
    largest_cluster: int | None = None
    noise: Noise | None = None
    earlier: int = 0
    seeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    paired: bool = False

    @property
    def users(self) -> int:
        """The number of users, or requests, of the first result."""
        return len(self._first.per_user)

    @property
    def unit(self) -> SamplingUnit:
        """The sampling unit of the values, within ``clusters``."""
        return self._first.sampling_unit.within(self.clusters)

    @property
    def joint_alpha(self) -> float:
        """The level of claims about all pairs together, beside pairs that were compared earlier."""
        return self.alpha * len(self.pairs) / (len(self.pairs) + self.earlier)

    @property
    def resamples(self) -> int:
        """The number of resamples: by default enough for a family of so many tests."""
        return self.n_resamples or max(10_000, math.ceil(4 * self.tests / self.alpha))

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """The columns of the system and the baseline of each pair in aligned values."""
        return [
            (self.column_of(system), self.column_of(baseline)) for baseline, system in self.pairs
        ]

    def column_of(self, result: str) -> int:
        """Return the column of a result in aligned values."""
        return self._at[result]

    def names_of(self, system: str) -> Sequence[str]:
        """Return the names of the results of a system: one per seed, or its own."""
        return self.seeds.get(system, [system])

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        return self._first.direction(cell)

    def bounds(self, cell: str) -> Bounds:
        """Return the smallest and the largest value of a user that a metric allows.

        A stated largest loss takes the place of the range.
        """
        stated = self.stated_loss(cell)
        return bounds_of(self.results, cell) if math.isnan(stated) else (0.0, stated)

    def stated_loss(self, cell: str) -> float:
        """Return the largest loss of a user that was stated to be possible; NaN if none was."""
        return self.largest_loss.get(cell, math.nan)

    def knows_noise(self, cell: str) -> bool:
        """Return whether the noise between the runs of any pair is known."""
        return any(self.noise_between_runs(cell, pair) is not None for pair in self.pairs)

    def noise_between_runs(self, cell: str, pair: tuple[str, str]) -> RunNoise | None:
        """Return the noise between the runs of a pair; None where no system brings any."""
        if self.noise is None:
            return None
        baseline, system = (
            None if len(self.names_of(name)) > 1 else self.noise.noise_of(name, cell)
            for name in pair
        )
        if baseline is None and system is None:
            return None
        is_shared = len(self.noise.systems) == 1 and None not in (baseline, system)
        return RunNoise(baseline, system, is_shared)

    def margin_test(self, cell: str) -> MarginSize | None:
        """Return the margin of a metric for its tests."""
        return margin_test(margin_of(self.margin, cell))

    def n_together(self, cell: str) -> int:
        """Return the number of pairs whose intervals hold together."""
        return self.tests if cell == self.main else 1

    def n_corrected(self, cell: str) -> int:
        """Return the number of findings that are corrected together."""
        return self.tests if cell == self.main else self.exploratory_tests

    def aligned(self, cell: str) -> AlignedUsers | None:
        """Return the users' values; None if the value is not a mean over users."""
        return self._main_aligned if cell == self.main else self._align(cell)

    def choose_test(self, largest: float) -> str:
        """Return the test of a pair; ``"auto"``: that of the bound if there is one, else t."""
        if self.test in ("auto", "bounded"):
            return "bounded" if math.isfinite(largest) else "t"
        return self.test

    def is_tested_by_bound(self, pairs: Differences, largest: float) -> bool:
        """Return whether the bound tests a pair: as chosen, or because all users differ alike.

        The interval of a difference that does not vary is that of the bound, and so is its test.
        """
        is_constant = pairs.n > 1 and pairs.nonzero > 0 and not pairs.deviation
        is_chosen = self.choose_test(largest) == "bounded"
        return is_chosen or (is_constant and math.isfinite(largest))

    def test_users(self, pairs: Differences, test: str) -> TestResult:
        """Test the differences of independent users by a test that needs no bound."""
        if test == "t":
            return t_test(pairs)
        if test in OF_MEDIAN:
            return OF_MEDIAN[test](pairs.x, pairs.y)

        draw = sign_flip if test == "sign_flip" else bootstrap_test
        count = self.resamples
        tested = draw(pairs.x, pairs.y, n_resamples=count, seed=self.seed)
        if tested.resamples and self.tests / (1 + count) > self.alpha:
            few = f"{count} resamples are too few for {self.tests} pairs"
            tested = replace(tested, flags=(*tested.flags, few))
        return tested

    def make_finding(
        self,
        cell: str,
        pair: tuple[str, str],
        aligned: AlignedUsers,
        d: Differences,
        tested: TestResult,
        limits_of: LimitsOf,
        *,
        bounds: Bounds,
        delta: float,
        claim: Claim | None = None,
        difference_limits_of: LimitsOf | None = None,
        interval_flags: Sequence[str],
    ) -> PairFinding:
        """Return the finding of a pair from users' differences, in this family."""
        return make_pair_finding(
            cell,
            pair,
            d,
            tested,
            limits_of,
            alpha=self.alpha,
            margin=self.margin_test(cell),
            better=self.direction(cell),
            together=self.n_together(cell),
            tests=self.n_corrected(cell),
            dropped=(aligned.users, aligned.reasons),
            bounds=bounds,
            clusters=aligned.clusters,
            delta=delta,
            claim=claim,
            difference_limits_of=difference_limits_of,
            interval_flags=interval_flags,
        )

    @cached_property
    def _main_aligned(self) -> AlignedUsers | None:
        """The users' values of the primary metric, which rows and ranks are made from."""
        return self._align(self.main)

    def _align(self, cell: str) -> AlignedUsers | None:
        unknown = any(
            r.kinds.get(cell) == "mean" and cell not in r.per_user.columns
            for r in self.results.values()
        )
        if unknown:
            raise MetricError(
                f"{cell} describes lists, and has no value in a slice of the relevant items"
            )
        if not all(result.is_mean_of_users(cell) for result in self.results.values()):
            return None
        check_zero(cell, self.missing, self.direction(cell))
        return align_users(
            self.results, cell, self.missing, self._cluster_table, self.largest_cluster
        )

    @cached_property
    def _cluster_table(self) -> pl.DataFrame | None:
        """Every user with the cluster that the user is in."""
        if self.clusters is None:
            return None
        tables = {name: result.per_user for name, result in self.results.items()}
        return groups_of_users(tables, self.clusters)

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.results)}

    @property
    def _first(self) -> Result:
        return next(iter(self.results.values()))


def bounds_of(results: Mapping[str, Result], cell: str) -> Bounds:
    """Return the smallest and the largest value of a user that a metric allows."""
    low, high = range_of((m for r in results.values() for m in r.metrics), cell)
    return float(low), float(high)


def check_zero(cell: str, missing: Missing, better: bool | None) -> None:
    """Raise if a missing value would be taken for the best one."""
    if missing == "zero" and better is False:
        raise ParameterError(
            f"0 is the best value of {cell}, and would reward lists that are missing",
            found=parameter("missing", "zero"),
            hint=f"{parameter('missing', 'common')} compares the users who have all values",
        )
