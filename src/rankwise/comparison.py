"""Is B better than A? Differences with intervals, tests, effect sizes and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.aligned import Aligned, Missing, align_users
from rankwise.arguments import check_choice, check_count, check_positive
from rankwise.comparable import check_comparable, common_cells
from rankwise.compared import Comparison, jackknife_row, make_row, verdict
from rankwise.errors import ParameterError
from rankwise.result import Result
from rankwise.stats.differences import MANY, Differences, check_level, significant_digits
from rankwise.stats.multiple import Correction, adjust
from rankwise.stats.paired import bootstrap_test, paired_t, sign, sign_flip, wilcoxon
from rankwise.stats.pairs import max_t, tukey

__all__ = ["Comparison", "Family", "Test", "compare"]

Test: TypeAlias = Literal["auto", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"]
Family: TypeAlias = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by", "max_t", "tukey"]


@dataclass(frozen=True)
class _Asked:
    """What a comparison is to do."""

    alpha: float
    test: Test
    correction: Family
    margin: float | Mapping[str, float] | None
    n_resamples: int | None
    seed: int

    def resamples(self, pairs: int) -> int:
        """Return how many to draw: by default enough for a family of so many pairs."""
        return self.n_resamples or max(10_000, math.ceil(4 * pairs / self.alpha))


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
    """Compare results user by user: how large is each difference, how sure, and is it enough.

    Parameters
    ----------
    results : mapping of str to Result
        Two results or more, by name.
    baseline : str, optional
        Compare every other result with this one; without it all pairs.
    primary : str, optional
        The measure that the question is about: its pairs are one family, corrected together. By
        default ``ndcg@10``, or the first that users have values of. All other measures are
        exploratory: corrected together by Benjamini and Hochberg, and flagged.
    measures : str or list of str, optional
        What to compare; by default all that every result has.
    alpha : float
        The level: intervals have confidence 1 − alpha, and adjusted p below it is significant.
    test : {"auto", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"}
        The test of each pair. ``"auto"``: the paired t test from 1,000 users, sign flips below.
    correction : str
        For the primary measure: ``holm`` (default), ``bonferroni``, ``hochberg``, ``bh``, ``by``,
        ``none``, or one of two that test all pairs together: ``max_t`` (sign flips) and ``tukey``
        (randomised Tukey, for all pairs).
    margin : float or mapping of measure to float, optional
        The largest difference that does not matter. Pairs that differ by less for certain (two
        one-sided tests at alpha) are equivalent.
    missing : {"error", "zero", "common"}
        What to do with users who have a value in one result and none in another. Users without a
        value in any result are left out, and counted.
    n_resamples : int, optional
        Resamples of tests that draw some; by default 10,000, or as many as the pairs need for the
        smallest p to survive its correction.
    seed : int
        Decides the draws of tests and intervals.
    force : bool
        Compare all the same what was ranked from different candidates, tested on different splits
        or truths, or evaluated with different settings.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If values are different quantities: other candidates, splits, settings or truths. Lists that
        do not say what they were ranked from stand beside all but sampled ones, and results that do
        not know their split beside all.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> first = rw.evaluate({user: [1, 3] for user in range(40)}, truth, "recall@2")
    >>> lists = {user: [1, 2] if user % 2 else [1, 3] for user in range(40)}
    >>> second = rw.evaluate(lists, truth, "recall@2")
    >>> found = rw.compare({"first": first, "second": second}, baseline="first")
    >>> found["recall@2", "second"]["verdict"], found["recall@2", "second"]["difference"]
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
    cells, first = common_cells(results, measures, primary)
    pairs = _pairs(list(results), baseline)
    first_result = next(iter(results.values()))
    if isinstance(margin, Mapping):
        margin = {first_result.cell(name): float(size) for name, size in margin.items()}
    elif margin is not None:
        margin = float(margin)
    asked = _Asked(float(alpha), test, correction, margin, n_resamples, int(seed))
    rows = []
    for cell in cells:
        rows += _rows(results, cell, pairs, asked, missing, main=cell == first)
    _adjust_others(rows, alpha)
    every = list(results.values())
    shared = [cell for cell in first_result.values if all(cell in own.values for own in every)]
    left_out = [cell for cell in shared if measures is None and cell not in cells]
    settings = {
        "not_compared": left_out, "baseline": baseline, "primary": first, "alpha": asked.alpha,
        "test": test, "correction": correction, "margin": margin, "missing": missing,
        "n_resamples": None if n_resamples is None else int(n_resamples), "seed": asked.seed,
        "forced": force, "directions": {cell: first_result.direction(cell) for cell in cells},
    }  # fmt: skip
    return Comparison.make(results, rows, settings)


def _check_results(results: object, baseline: str | None) -> None:
    if not isinstance(results, Mapping) or not results:
        raise ParameterError(
            "results to compare have names",
            found=type(results).__name__ + ("" if results else ", empty"),
            hint="pass {name: result, …}",
        )
    for name, result in results.items():
        if not isinstance(name, str) or not isinstance(result, Result):
            raise ParameterError("results to compare come as {name: result}",
                                 found=f"{name!r}: {type(result).__name__}")  # fmt: skip
    if len(results) < 2:
        raise ParameterError("a comparison needs two results", found=f"{len(results)}")
    if baseline is not None and baseline not in results:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(results))


def _pairs(names: list[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is None:
        return list(combinations(names, 2))
    return [(baseline, name) for name in names if name != baseline]


def _rows(
    results: Mapping[str, Result],
    cell: str,
    pairs: list[tuple[str, str]],
    asked: _Asked,
    missing: Missing,
    *,
    main: bool,
) -> list[dict[str, Any]]:
    better = next(iter(results.values())).direction(cell)
    margin = asked.margin.get(cell) if isinstance(asked.margin, Mapping) else asked.margin
    if not all(result.is_mean_of_users(cell) for result in results.values()):
        made = [jackknife_row(results, cell, pair, asked.alpha, better) for pair in pairs]
        if margin is not None:
            made = [{**row, "flags": [*row["flags"], "margin not tested"]} for row in made]
        p = [row["p"] for row in made]
        simple: Correction = "holm" if asked.correction in ("max_t", "tukey") else asked.correction  # type: ignore[assignment]
        return _finished(made, adjust(p, simple) if main else p, main=main)
    if missing == "zero" and better is False:
        raise ParameterError(
            f"0 is the best value of {cell}, and would reward lists that are missing",
            found='missing="zero"',
            hint='missing="common" compares the users who have all values',
        )
    aligned = align_users(results, cell, missing)
    names = list(results)
    made, p = [], []
    for one, other in pairs:
        x, y = (aligned.values[:, names.index(name)] for name in (other, one))
        own = Differences(x, y)
        tested = _tested(own, asked, len(pairs))
        p.append(tested.p)
        made.append(
            make_row(
                cell, (one, other), own, tested, aligned, better=better, margin=margin,
                alpha=asked.alpha, tests=len(pairs) if main else 1, seed=asked.seed,
            )
        )  # fmt: skip
    return _finished(made, _adjusted(p, aligned, pairs, names, asked) if main else p, main=main)


def _tested(own: Differences, asked: _Asked, pairs: int) -> Any:
    test = asked.test
    if test == "auto":
        test = "t" if own.n >= MANY else "sign_flip"
    if test == "t":
        return paired_t(own.x, own.y)
    if test == "wilcoxon":
        return wilcoxon(own.x, own.y)
    if test == "sign":
        return sign(own.x, own.y)
    draw = sign_flip if test == "sign_flip" else bootstrap_test
    count = asked.resamples(pairs)
    found = draw(own.x, own.y, n_resamples=count, seed=asked.seed)
    if found.resamples and pairs / (1 + count) > asked.alpha:
        few = f"{count} resamples are too few for {pairs} pairs"
        found = replace(found, flags=(*found.flags, few))
    return found


def _adjusted(
    p: list[float], aligned: Aligned, pairs: list[tuple[str, str]], names: list[str], asked: _Asked
) -> Any:
    """Correct the pairs of the primary measure."""
    places = [(names.index(one), names.index(other)) for one, other in pairs]
    if asked.correction == "max_t":
        pairs_of = [Differences(aligned.values[:, j], aligned.values[:, i]) for i, j in places]
        d = np.stack([own.d for own in pairs_of], axis=1)
        return max_t(d, n_resamples=asked.resamples(len(pairs)), seed=asked.seed)
    if asked.correction == "tukey":
        found = tukey(significant_digits(aligned.values))
        return [found[i, j] for i, j in places]
    return adjust(p, asked.correction)


def _finished(rows: list[dict[str, Any]], adjusted: Any, *, main: bool) -> list[dict[str, Any]]:
    for row, p in zip(rows, adjusted, strict=True):
        row["primary"] = main
        row["p_adjusted"] = float(p)
        if not main:
            row["flags"] = [*row["flags"], "exploratory"]
    return rows


def _adjust_others(rows: list[dict[str, Any]], alpha: float) -> None:
    """Correct what is exploratory together, and give every pair its verdict."""
    others = [row for row in rows if not row["primary"]]
    found: Any = adjust([row["p"] for row in others], "bh")
    for row, p in zip(others, found, strict=True):
        row["p_adjusted"] = float(p)
    for row in rows:
        row["verdict"] = verdict(row, alpha)
