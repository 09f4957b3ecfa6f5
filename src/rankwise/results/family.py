"""A family of comparisons: pairs of results, in each group of users, that are tested together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.choices import Family, Missing, Test
from rankwise.errors import ParameterError
from rankwise.results.align_users import Aligned, align_users
from rankwise.results.group_columns import groups_of_users
from rankwise.results.intervals import range_of
from rankwise.results.margins import Margin, margin_flags, margin_of, size_of
from rankwise.results.pair_rows import jackknife_row, make_row
from rankwise.results.result import Result
from rankwise.stats.all_pairs import max_t, tukey
from rankwise.stats.differences import MANY, Differences, Interval, TestResult
from rankwise.stats.matching_interval import matching_interval
from rankwise.stats.moments import paired_differences
from rankwise.stats.paired import bootstrap_test, sign, sign_flip, t_test, wilcoxon
from rankwise.stats.system_ranks import max_t_quantile
from rankwise.stats.values import significant_digits

__all__ = ["JOINT", "Pairs", "check_zero", "largest_difference", "set_adjusted"]

JOINT = ("max_t", "tukey")
"""The corrections that test all pairs together, from their users' values."""
_TESTS = {"wilcoxon": wilcoxon, "sign": sign}


@dataclass(frozen=True)
class Pairs:
    """Pairs of results, (baseline, system), over one group of users or all of them.

    ``tests`` is the number of pairs that are corrected together, over all groups; ``others`` that
    of the rows of the exploratory measures, which are corrected together. ``main`` is the primary
    measure, empty if these rows are exploratory in all measures. ``clusters`` is the column of
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
        """Return the rows of one measure, adjusted if one test is of all pairs together."""
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

    def _set_by_max_t(self, rows: list[dict[str, Any]], aligned: Aligned) -> None:
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

    def _by_tukey(self, aligned: Aligned) -> list[float]:
        """Return the p-values of Tukey's test of all pairs together."""
        p, at = tukey(significant_digits(aligned.values)), self._at
        return [float(p[at[baseline], at[system]]) for baseline, system in self.pairs]

    def better(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither is."""
        return next(iter(self.results.values())).direction(cell)

    def _tests(self, cell: str) -> tuple[int, int]:
        """Return how many pairs have intervals that hold together, and are corrected together."""
        return (self.tests, self.tests) if cell == self.main else (1, self.others)

    def _rows_of_means(self, cell: str, aligned: Aligned) -> list[dict[str, Any]]:
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
            matching_interval,
            differences,
            self._test(differences),
            seed=self.seed,
            n_resamples=self.resamples(),
            largest=largest,
            p=p,
        )
        alone = make(confidence=1 - self.alpha)
        return alone, alone if tests == 1 else make(confidence=1 - self.alpha / tests)

    def aligned(self, cell: str) -> Aligned | None:
        """Return the users' values; None if the value is not a mean over users."""
        return self._main_aligned if cell == self.main else self._align(cell)

    @cached_property
    def _main_aligned(self) -> Aligned | None:
        """The users' values of the primary measure, which rows and ranks are made from."""
        return self._align(self.main)

    def _align(self, cell: str) -> Aligned | None:
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
    """Return the largest difference of two users' values that the range of a measure allows."""
    low, high = range_of((m for r in results.values() for m in r.measures), cell)
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
