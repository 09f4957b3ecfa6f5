"""`compare` on Spark: paired tests from sums, so that per-user values stay on the executors."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame

from rankwise.core.arguments import check_choice
from rankwise.core.choices import Missing
from rankwise.errors import ParameterError
from rankwise.results.align_users import Aligned, align_values, some_missing
from rankwise.results.comparability import check_digests, check_questions, common_cells, different_truth, unchecked
from rankwise.results.compare import correct_rows, pairs_of
from rankwise.results.comparison import Comparison
from rankwise.results.family import check_zero, largest_difference
from rankwise.results.margins import Margin, margin_flags, margin_of, margins_by_cell, size_of
from rankwise.results.pair_rows import row_of
from rankwise.results.ranks import ranks_of_pairs
from rankwise.results.result import Result
from rankwise.results.systems import systems_of
from rankwise.spark.sessions import errors_of_spark
from rankwise.spark.spark_result import SparkResult
from rankwise.spark.tables import column
from rankwise.stats.differences import MANY, Differences
from rankwise.stats.matching_interval import matching_interval
from rankwise.stats.pair_sums import PairSums
from rankwise.stats.paired import t_test
from rankwise.stats.values import check_level

__all__ = ["compare"]

_MEANS_ONLY = "rankwise.compare takes it, if both were evaluated with jackknife="
Correction = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]


@errors_of_spark()
def compare(
    *results: SparkResult | Mapping[str, SparkResult],
    baseline: str | None = None,
    primary: str | None = None,
    measures: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    correction: Correction = "holm",
    margin: Margin = None,
    missing: Missing = "error",
    force: bool = False,
) -> Comparison:
    r"""Compare results user by user, in Spark: differences, confidence intervals and t tests.

    The per-user values of all results are joined once. For every pair and metric the driver gets
    the number of users and the exact sums of :math:`x, y, x - y, x^2, y^2, xy, (x - y)^2`, from
    which means, variances, the paired t test and its interval, lift and equivalence follow.
    Methods that need all values at once (bootstrap, sign flips, ranks, Cliff's delta, groups of
    users) are those of `rankwise.compare`, which collects the values on the driver; so are values
    that are no means over users (coverage, Gini), which it compares by their jackknife.

    Parameters
    ----------
    *results : SparkResult, or one mapping of str to SparkResult
        Two or more results of `rankwise.spark.evaluate`: as separate arguments, which are called A,
        B, … in this order, or by name.
    baseline, primary, measures, alpha, margin, missing, force
        As for `rankwise.compare`.
    correction : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}, default="holm"
        The correction of the p-values of the primary metric.

    Returns
    -------
    Comparison
        ``cliffs_delta`` is NaN. Below 1,000 users the t test is flagged.

    Raises
    ------
    ParameterError
        If candidate sets, splits, settings or ground truths differ.
    """
    systems = systems_of(results)
    named = systems.single()
    baseline = next(iter(named)) if baseline is None and systems.in_order else baseline
    if baseline is not None and baseline not in named:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(named))
    check_level("alpha", alpha)
    check_choice("correction", correction, Correction)
    check_choice("missing", missing, Missing)
    _check_in_spark(named)
    if not force:
        _check(named)
    cells, main, not_compared = common_cells(named, measures, primary, means_only=_MEANS_ONLY)
    first = next(iter(named.values()))
    margins = margins_by_cell(margin, first)
    pairs = pairs_of(list(named), baseline)
    for cell in cells:
        check_zero(cell, missing, first.direction(cell))
    sums = _summed(named, cells, pairs, missing)
    if sums.other_truth and not force:
        raise different_truth(f"{sums.other_truth} users have other numbers of relevant items")
    for cell, (users, _, dropped, _) in sums.users.items():
        if dropped and missing == "error":
            raise some_missing(cell, f"{dropped} such users of {users}")
    others = max(len(pairs) * (len(cells) - 1), 1)
    rows = [
        _row(sums, named, cell, pair, len(pairs) if cell == main else None, others, alpha, margins)
        for cell in cells
        for pair in pairs
    ]
    correct_rows(rows, correction, alpha)
    settings = {
        "not_compared": not_compared,
        "by": None,
        "baseline": baseline,
        "primary": main,
        "alpha": float(alpha),
        "test": "t",
        "correction": correction,
        "margin": margins,
        "missing": missing,
        "n_resamples": None,
        "seed": 0,
        "forced": force,
        "unchecked": unchecked(named, (lambda: _check(named)) if force else None),
        "sources": {},
        "directions": {cell: first.direction(cell) for cell in cells},
        "clusters": None,
        "data_sets": None,
        "seeds": None,
        "ranks": ranks_of_pairs([row for row in rows if row["primary"]], alpha, better=first.direction(main)),
    }
    return Comparison.make(systems, rows, settings)


def _check(results: Mapping[str, Result]) -> None:
    """Raise if results are not comparable, before the values of any user are read."""
    check_questions(results)
    check_digests(results)


def _check_in_spark(results: Mapping[str, Result]) -> None:
    for name, result in results.items():
        if not isinstance(result, SparkResult):
            raise ParameterError(
                "only results of rankwise.spark.evaluate can be compared in Spark",
                found=f"{name}: {type(result).__name__}",
                hint="pass others to rankwise.compare",
            )


@dataclass(frozen=True)
class _Sums:
    """What some users add to a comparison.

    Attributes
    ----------
    pairs : mapping of (cell, baseline, system) to PairSums
        The sums of every pair.
    users : mapping of str to tuple of int
        By cell: users of any result, those without a value in all or in some results, and missing
        values that were taken for 0.
    other_truth : int
        Users whose number of relevant items is not the same in all results.
    """

    pairs: Mapping[tuple[str, str, str], PairSums]
    users: Mapping[str, tuple[int, int, int, int]]
    other_truth: int

    def __add__(self, other: _Sums) -> _Sums:
        pairs = {key: sums + other.pairs[key] for key, sums in self.pairs.items()}
        users: dict[str, Any] = {
            cell: tuple(map(sum, zip(counts, other.users[cell], strict=True))) for cell, counts in self.users.items()
        }
        return _Sums(pairs, users, self.other_truth + other.other_truth)


def _summed(
    results: Mapping[str, Result], cells: Sequence[str], pairs: Sequence[tuple[str, str]], missing: Missing
) -> _Sums:
    """Join the users' values of all results, and sum what the comparison needs."""
    joined: DataFrame | None = None
    for at, result in enumerate(results.values()):
        assert isinstance(result, SparkResult)
        names = {"n_relevant": f"n{at}"} | {c: f"v{at}_{j}" for j, c in enumerate(cells)}
        frame = result.per_user_spark.select("user", *(column(name).alias(short) for name, short in names.items()))
        joined = frame if joined is None else joined.join(frame, "user", "full")
    assert joined is not None
    work = _Work(tuple(results), tuple(cells), tuple(pairs), missing)
    shares = joined.mapInArrow(work.sums, "sums binary").toArrow().column("sums")
    total = reduce(add, (pickle.loads(share.as_py()) for share in shares))  # noqa: S301
    assert isinstance(total, _Sums)
    return total


@dataclass(frozen=True)
class _Work:
    """What executors do with the joined values of some users."""

    names: tuple[str, ...]
    cells: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    missing: Missing

    def sums(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the sums of the users of a partition, in one row."""
        total: _Sums | None = None
        for batch in batches:
            frame = pl.DataFrame(batch)
            some = self.of(frame)
            total = some if total is None else total + some
        if total is not None:
            yield pa.RecordBatch.from_pydict({"sums": [pickle.dumps(total)]})

    def of(self, frame: pl.DataFrame) -> _Sums:
        """Return the sums of some users."""
        sums, users = {}, {}
        for j, cell in enumerate(self.cells):
            values = frame.select(f"v{at}_{j}" for at in range(len(self.names)))
            aligned = align_values(values.to_numpy().astype(np.float64), self.missing)
            users[cell] = (aligned.users, aligned.undefined, aligned.dropped, aligned.filled)
            columns = dict(zip(self.names, aligned.values.T, strict=True))
            for baseline, system in self.pairs:
                pair = Differences(columns[system], columns[baseline])
                sums[cell, baseline, system] = PairSums.of(pair)
        relevant = [pl.col(f"n{at}") for at in range(len(self.names))]
        known = frame.select(*relevant).drop_nulls()
        other = known.filter(pl.any_horizontal(one != relevant[0] for one in relevant))
        return _Sums(sums, users, len(other))


def _row(
    sums: _Sums,
    results: Mapping[str, Result],
    cell: str,
    pair: tuple[str, str],
    tests: int | None,
    others: int,
    alpha: float,
    margins: Margin,
) -> dict[str, Any]:
    """Return the row of one pair; ``tests`` are the pairs of a family, None for other measures."""
    users, undefined, dropped, filled = sums.users[cell]
    aligned = Aligned(np.empty((0, 0)), users, undefined, dropped, filled)
    first = next(iter(results.values()))
    known, margin = sums.pairs[cell, *pair], margin_of(margins, cell)
    tested = t_test(known)
    if known.n < MANY:
        few = f"t of fewer than {MANY} users"
        tested = replace(tested, flags=(*tested.flags, few))
    largest = largest_difference(results, cell)
    alone, together = (
        matching_interval(known, "t", confidence=1 - level, n_resamples=0, seed=0, largest=largest)
        for level in (alpha, alpha / (tests or 1))
    )
    row = row_of(
        cell,
        pair,
        known,
        tested,
        (alone, together),
        alpha=alpha,
        margin=size_of(margin, known.means[1]),
        better=first.direction(cell),
        tests=tests or others,
        dropped=(users, aligned.reasons),
        largest=largest,
    )
    flags = [*row["flags"], *margin_flags(margin, known.means[1]), *([] if tests else ["exploratory"])]
    return {**row, "group": None, "primary": tests is not None, "flags": flags}
