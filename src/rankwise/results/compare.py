"""Paired comparisons of results: differences, intervals, tests, effect sizes and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from rankwise.core.arguments import check_choice, check_count, check_positive
from rankwise.core.choices import Family, Missing, Test
from rankwise.errors import ParameterError
from rankwise.results.align_users import Aligned, align_users
from rankwise.results.comparability import check_comparable, common_cells
from rankwise.results.comparison import Comparison, jackknife_row, make_row, verdict
from rankwise.results.result import Result
from rankwise.stats.all_pairs import max_t, tukey
from rankwise.stats.differences import (
    MANY,
    Differences,
    TestResult,
    check_level,
    significant_digits,
)
from rankwise.stats.multiple import adjust
from rankwise.stats.paired import bootstrap_test, paired_t, sign, sign_flip, wilcoxon

__all__ = ["Comparison", "Family", "Test", "compare"]

_TESTS = {"t": paired_t, "wilcoxon": wilcoxon, "sign": sign}


def compare(
    results: Mapping[str, Result],
    *,
    baseline: str | None = None,
    primary: str | None = None,
    measures: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    test: Test = "auto",
    correction: Family = "holm",
    margin: float | Mapping[str, float] | None = None,
    missing: Missing = "error",
    n_resamples: int | None = None,
    seed: int = 0,
    force: bool = False,
) -> Comparison:
    """Compare results user by user: differences, confidence intervals, p-values and verdicts.

    Parameters
    ----------
    results : mapping of str to Result
        Two results or more, by name.
    baseline : str, optional
        Compare every other result with this one; by default all pairs.
    primary : str, optional
        The primary measure: its pairs are one family, corrected together. By default ``ndcg@10``,
        or the first measure with per-user values. All other measures are exploratory: corrected
        together by Benjamini and Hochberg, and flagged.
    measures : str or list of str, optional
        The measures to compare; by default all that every result has.
    alpha : float, default=0.05
        The significance level of adjusted p-values; intervals have confidence 1 − alpha.
    test : {"auto", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"}, default="auto"
        The test of each pair. ``"auto"``: the paired t test from 1,000 users, sign flips below.
    correction : str, default="holm"
        For the primary measure: ``holm``, ``bonferroni``, ``hochberg``, ``bh``, ``by``, ``none``,
        or one of two that test all pairs together: ``max_t`` (sign flips) and ``tukey``
        (randomised Tukey, for all pairs).
    margin : float or mapping of measure to float, optional
        The largest difference that does not matter. Pairs whose difference is significantly
        smaller (two one-sided tests at alpha) are equivalent.
    missing : {"error", "zero", "common"}, default="error"
        What to do with users who have a value in one result and none in another. Users without a
        value in any result are left out, and counted.
    n_resamples : int, optional
        Number of resamples of resampling tests; by default 10,000, or as many as the pairs need
        for the smallest p-value to survive its correction.
    seed : int, default=0
        Seed of tests and intervals.
    force : bool, default=False
        Compare despite different candidate sets, splits, ground truths or settings.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If candidate sets, splits, settings or ground truths differ. Results with unknown candidate
        sets can be compared with all but sampled ones, results without split metadata with any.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> first = rw.evaluate({user: [1, 3] for user in range(40)}, truth, "recall@2")
    >>> lists = {user: [1, 2] if user % 2 else [1, 3] for user in range(40)}
    >>> second = rw.evaluate(lists, truth, "recall@2")
    >>> comparison = rw.compare({"first": first, "second": second}, baseline="first")
    >>> row = comparison["recall@2", "second"]
    >>> row["verdict"], row["difference"]
    ('better', 0.25)
    """
    _check_results(results, baseline)
    check_level("alpha", alpha)
    check_choice("test", test, Test)
    check_choice("correction", correction, Family)
    check_choice("missing", missing, Missing)
    check_positive(n_resamples=n_resamples)
    check_count(least=0, seed=seed)
    if not force:
        check_comparable(results)
    cells, main = common_cells(results, measures, primary)
    first = next(iter(results.values()))
    if isinstance(margin, Mapping):
        margin = {first.cell(name): float(size) for name, size in margin.items()}
    elif margin is not None:
        margin = float(margin)
    pairs = list(combinations(results, 2))
    if baseline is not None:
        pairs = [(baseline, name) for name in results if name != baseline]
    family = _Family(
        results, pairs, float(alpha), test, correction, margin, missing, n_resamples, int(seed)
    )
    rows = [row for cell in cells for row in family.rows(cell, main=cell == main)]
    exploratory = [row for row in rows if not row["primary"]]
    _set_adjusted(exploratory, adjust([row["p"] for row in exploratory], "bh"))
    for row in rows:
        row["verdict"] = verdict(row, alpha)
    shared = [c for c in first.values if all(c in result.values for result in results.values())]
    settings = {
        "not_compared": [c for c in shared if measures is None and c not in cells],
        "baseline": baseline, "primary": main, "alpha": family.alpha,
        "test": test, "correction": correction, "margin": margin, "missing": missing,
        "n_resamples": None if n_resamples is None else int(n_resamples), "seed": family.seed,
        "forced": force, "directions": {cell: first.direction(cell) for cell in cells},
    }  # fmt: skip
    return Comparison.make(results, rows, settings)


def _check_results(results: object, baseline: str | None) -> None:
    if not isinstance(results, Mapping) or not results:
        found = type(results).__name__ + ("" if results else ", empty")
        raise ParameterError("results to compare have names", found=found,
                             hint="pass {name: result, …}")  # fmt: skip
    for name, result in results.items():
        if not isinstance(name, str) or not isinstance(result, Result):
            raise ParameterError("results to compare come as {name: result}",
                                 found=f"{name!r}: {type(result).__name__}")  # fmt: skip
    if len(results) < 2:
        raise ParameterError("a comparison needs two results", found=f"{len(results)}")
    if baseline is not None and baseline not in results:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(results))


@dataclass(frozen=True)
class _Family:
    """Pairs of results, (baseline, system), that are tested together, and how."""

    results: Mapping[str, Result]
    pairs: list[tuple[str, str]]
    alpha: float
    test: Test
    correction: Family
    margin: float | Mapping[str, float] | None
    missing: Missing
    n_resamples: int | None
    seed: int

    def rows(self, cell: str, *, main: bool) -> list[dict[str, Any]]:
        """Return the rows of one measure, adjusted if it is the primary one."""
        better = next(iter(self.results.values())).direction(cell)
        margin = self.margin.get(cell) if isinstance(self.margin, Mapping) else self.margin
        aligned = None
        if all(result.is_mean_of_users(cell) for result in self.results.values()):
            if self.missing == "zero" and better is False:
                raise ParameterError(
                    f"0 is the best value of {cell}, and would reward lists that are missing",
                    found='missing="zero"',
                    hint='missing="common" compares the users who have all values',
                )
            aligned = align_users(self.results, cell, self.missing)
            tests = len(self.pairs) if main else 1
            rows = [
                make_row(cell, pair, d, self._tested(d), aligned, margin=margin, better=better,
                         alpha=self.alpha, tests=tests, seed=self.seed)
                for pair, d in zip(self.pairs, self._differences(aligned), strict=True)
            ]  # fmt: skip
        else:
            rows = [jackknife_row(self.results, cell, p, self.alpha, better) for p in self.pairs]
        flags = ["margin not tested"] if aligned is None and margin is not None else []
        flags += [] if main else ["exploratory"]
        for row in rows:
            row["primary"] = main
            row["flags"] += flags
        if main:
            _set_adjusted(rows, self._adjusted(rows, aligned))
        return rows

    def _differences(self, aligned: Aligned) -> Iterator[Differences]:
        values = dict(zip(self.results, aligned.values.T, strict=True))
        return (Differences(values[system], values[baseline]) for baseline, system in self.pairs)

    def _resamples(self) -> int:
        """Return the number of resamples: by default enough for a family of so many pairs."""
        return self.n_resamples or max(10_000, math.ceil(4 * len(self.pairs) / self.alpha))

    def _tested(self, differences: Differences) -> TestResult:
        test = self.test
        if test == "auto":
            test = "t" if differences.n >= MANY else "sign_flip"
        if test in _TESTS:
            return _TESTS[test](differences.x, differences.y)
        draw = sign_flip if test == "sign_flip" else bootstrap_test
        count, pairs = self._resamples(), len(self.pairs)
        tested = draw(differences.x, differences.y, n_resamples=count, seed=self.seed)
        if tested.resamples and pairs / (1 + count) > self.alpha:
            few = f"{count} resamples are too few for {pairs} pairs"
            tested = replace(tested, flags=(*tested.flags, few))
        return tested

    def _adjusted(self, rows: list[dict[str, Any]], aligned: Aligned | None) -> Any:
        """Return the adjusted p-values of the pairs of the primary measure.

        Holm stands in for tests of all pairs together where there are no per-user values.
        """
        if self.correction in ("max_t", "tukey") and aligned is not None:
            if self.correction == "max_t":
                d = np.stack([pair.d for pair in self._differences(aligned)], axis=1)
                return max_t(d, n_resamples=self._resamples(), seed=self.seed)
            column = {name: index for index, name in enumerate(self.results)}
            p = tukey(significant_digits(aligned.values))
            return [p[column[baseline], column[system]] for baseline, system in self.pairs]
        method: Any = "holm" if self.correction in ("max_t", "tukey") else self.correction
        return adjust([row["p"] for row in rows], method)


def _set_adjusted(rows: list[dict[str, Any]], adjusted: Any) -> None:
    for row, p in zip(rows, adjusted, strict=True):
        row["p_adjusted"] = float(p)
