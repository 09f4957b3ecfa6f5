"""Rows of comparisons by section; the columns of every output derive from the fields of sections.

A new column is a field of one section and what computes it: the table, files, text for readers and
the report have it then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.terminal import Cell, Marked, Style, brief, change, decimals, level_text, signed
from rankwise.stats.bounded_means import BOUNDED, BoundedMean
from rankwise.stats.differences import MANY, Differences, PairStatistics, TestResult
from rankwise.stats.equivalence import (
    UNBOUNDED,
    Bounds,
    Margin,
    equivalence_of,
    margin_limits,
    minimum_detectable,
    non_inferiority_of,
)
from rankwise.stats.paired_tests import smallest_p

ALL_LISTS = "of all lists together"
"""The flag of values that are no means over users."""
_LEAST = 1e-4
_TYPES: dict[str, Any] = {
    "str": pl.String,
    "bool": pl.Boolean,
    "int": pl.Int64,
    "float": pl.Float64,
    "tuple[str, ...]": pl.List(pl.String),
}


@dataclass(frozen=True)
class Column:
    """A column of a table, as declared by a field.

    Attributes
    ----------
    dtype : polars data type
        Derived from the annotation of the field.
    head : str
        The head in tables of pairs for readers: text, HTML, the report; empty if the column is not
        in them.
    text : callable
        The cell of these tables, from the row.
    leaves : int
        When the column leaves a terminal that is too narrow, the largest number first; 0 stays.
    in_systems : str
        The format in the cells of tables of systems (Markdown, LaTeX), for ``name_baseline`` and
        ``name_system`` declared at the second one; empty if the column is not in them.
    """

    dtype: Any
    head: str
    text: Callable[[Mapping[str, Any]], Cell]
    leaves: int
    in_systems: str


def column(
    default: Any = None,
    head: str = "",
    text: Callable[..., Cell] | None = None,
    *,
    leaves: int = 10,
    in_systems: str = "",
) -> Any:
    """Declare a column for readers, in tables of pairs or systems; the rest are plain fields."""
    metadata = {"head": head, "text": text, "leaves": leaves, "in_systems": in_systems}
    return field(default=default, metadata=metadata)


def hidden(default: Any) -> Any:
    """Declare a field for later computations that is not a column."""
    return field(default=default, metadata={"hidden": True})


def columns_of(row: type) -> dict[str, Column]:
    """Return the columns of a dataclass of rows by name, with the columns of sections in place."""
    columns: dict[str, Column] = {}
    for entry in fields(row):
        if is_dataclass(entry.default):
            columns |= columns_of(type(entry.default))
        elif "hidden" not in entry.metadata:
            dtype = _TYPES[str(entry.type).removesuffix(" | None")]
            text = entry.metadata.get("text") or _plain_text(entry.name)
            more = entry.metadata.get
            columns[entry.name] = Column(
                dtype, more("head", ""), text, more("leaves", 10), more("in_systems", "")
            )
    return columns


def _plain_text(name: str) -> Callable[[Mapping[str, Any]], str]:
    """Return the default text of a column: numbers as `brief` writes them, counts with commas."""

    def text(row: Mapping[str, Any]) -> str:
        value = row[name]
        if value is None or isinstance(value, float):
            return brief(value)
        return f"{value:,}" if type(value) is int else str(value)

    return text


@cache
def _paths(row: Any) -> dict[str, str]:
    """Return the attributes that lead from a row to each of its columns, by name."""
    paths: dict[str, str] = {}
    for entry in fields(row):
        if is_dataclass(entry.default):
            section: Any = type(entry.default)
            paths |= {name: f"{entry.name}.{path}" for name, path in _paths(section).items()}
        elif "hidden" not in entry.metadata:
            paths[entry.name] = entry.name
    return paths


def values_of(row: Any) -> dict[str, Any]:
    """Return the value of each column of a row."""
    kind: Any = type(row)
    paths = _paths(kind)
    return dict(zip(paths, attrgetter(*paths.values())(row), strict=True))


def table_of(rows: Sequence[Any], row: type) -> pl.DataFrame:
    """Return rows of one dataclass as a table."""
    schema = {name: column.dtype for name, column in columns_of(row).items()}
    columns = {name: list(map(attrgetter(path), rows)) for name, path in _paths(row).items()}
    return pl.DataFrame(columns, schema=schema)


def is_missing(value: float | None) -> bool:
    """Return whether a number is null or NaN."""
    return value is None or math.isnan(value)


def p_value(p: float | None, alpha: float = 0.05) -> str:
    """Return a p-value with two significant digits, or more if rounding would cross alpha.

    >>> p_value(0.01234), p_value(1e-9), p_value(None), p_value(0.0499), p_value(0.0504), p_value(1.0)
    ('0.012', '<0.0001', '–', '0.0499', '0.0504', '1')
    """
    if p is None or math.isnan(p):
        return "–"
    if p < _LEAST:
        return f"<{_LEAST:.4f}"
    texts = (f"{p:.{digits}g}" for digits in range(2, 9))
    return next(
        (text for text in texts if float(text) != alpha and (float(text) < alpha) == (p < alpha)),
        f"{p:g}",
    )


def named_p(name: str, p: float, alpha: float = 0.05) -> str:
    """Return a p-value for a sentence.

    >>> named_p("p", 0.01234), named_p("adjusted p", 1e-9)
    ('p = 0.012', 'adjusted p < 0.0001')
    """
    text = p_value(p, alpha)
    return f"{name} < {text[1:]}" if text.startswith("<") else f"{name} = {text}"


def interval_text(
    row: Mapping[str, Any], text: Callable[[float | None, int | None], str] = brief
) -> str:
    """Return the interval of a difference as text, with its decimals; a dash if a limit is missing.

    >>> interval_text({"low": 0.0377, "high": 0.05341, "mean_baseline": 0.0203, "mean_system": 0.0659})
    '0.0377 to 0.0534'
    """
    if is_missing(row["low"]) or is_missing(row["high"]):
        return "–"
    return " to ".join(text(row[name], places(row)) for name in ("low", "high"))


def deciding_p(row: Mapping[str, Any]) -> float:
    """Return the adjusted p-value behind a verdict; for equivalence, from the margin's tests."""
    name = "p_equivalence_adjusted" if row["verdict"] == "equivalent" else "p_adjusted"
    return math.nan if row[name] is None else float(row[name])


def margin_mark(row: Mapping[str, Any]) -> str:
    """Return the mark of a p-value from the tests of the margin; empty without equivalence.

    >>> margin_mark({"verdict": "equivalent"}), margin_mark({"verdict": "better"})
    (' (margin)', '')
    """
    return " (margin)" if row["verdict"] == "equivalent" else ""


def margin_level(row: Mapping[str, Any]) -> str:
    """Return the level of an equivalence interval, in parentheses; empty without equivalence.

    >>> margin_level({"verdict": "equivalent", "confidence": 0.9}), margin_level({"verdict": "better"})
    (' (90 %)', '')
    """
    return f" ({level_text(row['confidence'])})" if row["verdict"] == "equivalent" else ""


def places(row: Mapping[str, Any]) -> int:
    """Return the decimals of differences: as for the means, or more to show that 0 is excluded.

    >>> places({"mean_baseline": 0.312, "mean_system": 0.312, "difference": 4e-4, "low": 2e-4, "high": 6e-4})
    4
    >>> places({"mean_baseline": 0.312, "mean_system": 0.312, "difference": 4e-4, "low": -2e-4, "high": 6e-4})
    3
    """
    usual = decimals(row["mean_baseline"], row["mean_system"])
    return _with_sign(usual, *(row.get(name) for name in ("difference", "low", "high")))


def _with_sign(usual: int, value: float | None, low: float | None, high: float | None) -> int:
    """Return the usual decimals, or more if rounding would hide that the limits exclude 0."""
    if value is None or low is None or high is None or not (low > 0 or high < 0):
        return usual
    least = min(abs(value), abs(low), abs(high))
    return (
        usual
        if not 0 < least < 1 or round(least, usual)
        else max(usual, min(math.ceil(-math.log10(least)), 6))
    )


def change_text(row: Mapping[str, Any]) -> str:
    """Return the relative difference, with its interval where that is known.

    >>> change_text({"lift": 2.246, "lift_low": 1.678, "lift_high": 3.081})
    '+225 % (168 to 308)'
    >>> change_text({"lift": 0.0006, "lift_low": 0.0002, "lift_high": 0.001})
    '+0.1 % (0.02 to 0.1)'
    """
    limits = [row["lift_low"], row["lift_high"]]
    if is_missing(row["lift"]) or any(map(is_missing, limits)):
        return change(row["lift"])
    tiny = _with_sign(1, *(100 * value for value in (row["lift"], *limits)))
    low, high = (change(limit, unit="", tiny=tiny) for limit in limits)
    if row["lift_low"] > 0:
        low, high = low.removeprefix("+"), high.removeprefix("+")
    return f"{change(row['lift'], tiny=tiny)} ({low} to {high})"


_STYLES: Mapping[str, Style] = {
    "better": "better",
    "worse": "worse",
    "different": "bold",
    "equivalent": "bold",
}


def _verdict_text(row: Mapping[str, Any]) -> Cell:
    """Return the verdict of a row, with a note if a shown difference is within the margin."""
    verdict = str(row["verdict"])
    if verdict == "not shown" and is_missing(row["p_adjusted"]):
        return "not tested"
    within = ", within" if verdict != "equivalent" and row["within_margin"] else ""
    return Marked(verdict + within, _STYLES.get(verdict, ""))


@dataclass(frozen=True)
class Limits:
    """The limits of a difference and of its lift, by one test at one level; NaN if missing."""

    low: float = math.nan
    high: float = math.nan
    lift_low: float = math.nan
    lift_high: float = math.nan

    def wider(self, other: Limits) -> Limits:
        """Return the limits of two tests that both have to reject; NaN where either has none."""
        return Limits(
            float(np.minimum(self.low, other.low)),
            float(np.maximum(self.high, other.high)),
            float(np.minimum(self.lift_low, other.lift_low)),
            float(np.maximum(self.lift_high, other.lift_high)),
        )


NO_LIMITS = Limits()
LimitsOf: TypeAlias = Callable[[float], Limits]
"""The limits of a pair at any confidence level."""


def within_sign(limits: Limits, difference: float, *, shown: bool) -> Limits:
    """Return limits that exclude 0 exactly where a difference is shown.

    A corrected test and its interval differ by rounding, by random draws, or because Bonferroni's
    interval, which holds for all pairs, is wider than the step at which Holm rejects: its limit is
    then at 0, which it excludes.
    """
    least = math.ulp(0.0)

    def limited(low: float, high: float) -> tuple[float, float]:
        if math.isnan(low) or math.isnan(high):
            return low, high
        if not shown:
            return min(low, 0.0), max(high, 0.0)
        return (max(low, least), high) if difference > 0 else (low, min(high, -least))

    return Limits(*limited(limits.low, limits.high), *limited(limits.lift_low, limits.lift_high))


@dataclass(frozen=True)
class Means:
    """Both means, their difference and lift, with intervals of the verdict's level and test.

    ``confidence`` is that level. Beside them stand the interval of the pair alone, without
    correction, and the one that holds for all pairs together.
    """

    mean_baseline: float = column(math.nan, "baseline", leaves=4)
    mean_system: float = column(math.nan, "system", leaves=4, in_systems="{}")
    difference: float = column(
        math.nan, "difference", lambda row: signed(row["difference"], places(row)), leaves=0
    )
    low: float = column(math.nan, "interval", interval_text, leaves=1)
    high: float = math.nan
    confidence: float = math.nan
    low_alone: float = math.nan
    high_alone: float = math.nan
    low_together: float = math.nan
    high_together: float = math.nan
    lift: float = column(math.nan, "change", change_text, leaves=5)
    lift_low: float = math.nan
    lift_high: float = math.nan


@dataclass(frozen=True)
class TestOutcome:
    """The test of a pair, its p-value, and the corrected verdict with the controlled error rate.

    ``p_bound`` is the p-value that holds for any distribution on the range of the metric.
    """

    test: str | None = column(None, "test", leaves=9)
    p: float = column(math.nan, "p alone", lambda row: p_value(row["p"]), leaves=6)
    p_adjusted: float = column(math.nan, "p", lambda row: p_value(deciding_p(row)), leaves=2)
    p_bound: float = math.nan
    verdict: str | None = column(None, "verdict", _verdict_text, leaves=0)
    error_rate: str | None = None

    __test__ = False  # pytest collects classes called Test…


@dataclass(frozen=True)
class EffectSizes:
    """Effect sizes, numbers of users (gaining, losing, compared, excluded), detectable difference.

    Users win where the system is better for them: where its value is lower, if lower is better.
    """

    d_z: float = column(math.nan, "d_z", leaves=8)
    cliffs_delta: float = math.nan
    wins: int | None = column(None, "wins", leaves=7)
    ties: int | None = column(None, "ties", leaves=7)
    losses: int | None = column(None, "losses", leaves=7)
    users: int | None = column(None, "users", leaves=3)
    users_dropped: int | None = None
    dropped_because: str | None = None
    users_not_zero: int | None = None
    minimum_detectable: float = column(math.nan, "detectable", leaves=6)


@dataclass(frozen=True)
class MarginTests:
    """Equivalence and non-inferiority with a margin.

    ``margin_low`` to ``margin_high`` are one-sided limits of the difference, each at level alpha
    (of confidence 1 − 2 alpha together), and ``margin_lift_low`` to ``margin_lift_high`` those of
    the lift: a system loses less than the margin, at alpha, exactly where the limit on the side of
    the loss does.
    """

    p_equivalence: float = math.nan
    p_equivalence_adjusted: float = math.nan
    within_margin: bool | None = None
    p_non_inferior: float = math.nan
    users_needed: int | None = None
    margin_low: float = math.nan
    margin_high: float = math.nan
    margin_lift_low: float = math.nan
    margin_lift_high: float = math.nan


@dataclass(frozen=True)
class Seeds:
    """Seeds: their numbers, standard deviations, and share in the variance of the difference."""

    seeds_baseline: int | None = None
    seeds_system: int | None = None
    deviation_baseline: float = math.nan
    deviation_system: float = column(math.nan, in_systems=" ± {}")
    share_of_seeds: float = math.nan
    seeds_to_halve: int | None = None


@dataclass(frozen=True)
class Clusters:
    """The number of clusters of users."""

    clusters: int | None = None


@dataclass(frozen=True)
class DataSets:
    """The number of data sets, and the standard deviation of true differences between them."""

    data_sets: int | None = None
    tau: float = math.nan


@dataclass(frozen=True)
class PairRow:
    """One pair of systems on one metric, over a group of users, all of them, or all data sets.

    Attributes
    ----------
    metric, group, baseline, system, primary, flags
        Columns that belong to no section.
    means, test, effect, equivalence, seeds, clusters, data_sets
        Sections, each with the columns of one subject; without a value these are NaN or null.
    better : bool or None
        Whether a higher value is better; None if neither is. It is no column, as what follows.
    error : float
        The standard error of the difference.
    bounds : tuple of float
        The smallest and the largest value of a user.
    limits_of, margin_limits_of : callable or None
        The limits of the test, and of the tests of a margin, at any level of confidence.
    joint : Limits or None
        The limits of a test of all pairs together, which takes the place of ``limits_of``.
    side : float
        The side that a test of the median shows; NaN for tests of the mean.
    """

    metric: str
    group: str | None
    baseline: str
    system: str
    primary: bool | None = None
    means: Means = Means()
    test: TestOutcome = TestOutcome()
    effect: EffectSizes = EffectSizes()
    equivalence: MarginTests = MarginTests()
    seeds: Seeds = Seeds()
    clusters: Clusters = Clusters()
    data_sets: DataSets = DataSets()
    flags: tuple[str, ...] = ()
    better: bool | None = hidden(None)
    error: float = hidden(math.nan)
    bounds: Bounds = field(default=UNBOUNDED, metadata={"hidden": True})
    limits_of: LimitsOf | None = field(default=None, metadata={"hidden": True})
    margin_limits_of: LimitsOf | None = field(default=None, metadata={"hidden": True})
    joint: Limits | None = field(default=None, metadata={"hidden": True})
    joint_confidence: float = field(default=math.nan, metadata={"hidden": True})
    side: float = field(default=math.nan, metadata={"hidden": True})

    @property
    def largest(self) -> float:
        """The largest difference that the range of the metric allows."""
        return self.bounds[1] - self.bounds[0]


_DECLARED = columns_of(PairRow)
COLUMNS: dict[str, Any] = {name: column.dtype for name, column in _DECLARED.items()}
"""The data type of each column of a comparison."""
IN_PAIR_TABLE = sorted(
    (c for c in _DECLARED.values() if c.head), key=lambda column: column.head == "verdict"
)
"""The columns of pairs for readers, the verdict last: it concludes from the others."""
IN_SYSTEM_TABLE = {
    name.removesuffix("_system"): column.in_systems
    for name, column in _DECLARED.items()
    if column.in_systems
}
"""The formats of values of each system, by the name without its side."""


def row_of(
    cell: str,
    pair: tuple[str, str],
    pairs: PairStatistics,
    tested: TestResult,
    limits_of: LimitsOf,
    *,
    alpha: float,
    margin: Margin | None,
    better: bool | None,
    together: int,
    tests: int,
    dropped: tuple[int, str],
    bounds: Bounds,
    cluster: Any = None,
    delta: float = math.nan,
    p_bound: float = math.nan,
    interval_flags: Sequence[str] = (),
) -> PairRow:
    """Return the row of a pair in a family of ``tests``; x is the system, y the baseline.

    ``limits_of`` has the limits at any level, which is first that of the pair alone, and that of
    all ``together`` pairs of the family. ``dropped`` has the number of users that any result has,
    and why some were left out; ``delta`` is Cliff's and ``p_bound`` that of a bounded mean, which
    sums do not tell; ``bounds`` are those of a user's value, ``cluster`` the clusters of users.
    """
    n, (after, before), largest = pairs.n, pairs.means, bounds[1] - bounds[0]
    by_bound = tested.test == BOUNDED and isinstance(pairs, Differences)
    alone = limits_of(1 - alpha)
    wide = alone if together == 1 else limits_of(1 - alpha / together)
    wins, losses = (pairs.losses, pairs.wins) if better is False else (pairs.wins, pairs.losses)

    def margin_limits_of(confidence: float) -> Limits:
        return Limits(*margin_limits(pairs, bounds, confidence=confidence, cluster=cluster))

    return PairRow(
        cell,
        None,
        *pair,
        means=means_of_pair((before, after), pairs.mean, alone, wide, 1 - alpha),
        test=TestOutcome(tested.test, tested.p, p_bound=p_bound),
        effect=EffectSizes(
            pairs.d_z,
            delta,
            wins=wins,
            ties=n - pairs.nonzero,
            losses=losses,
            users=n,
            users_dropped=dropped[0] - n,
            dropped_because=dropped[1],
            users_not_zero=pairs.not_zero,
            minimum_detectable=_detectable(pairs, alpha / tests, largest, by_bound=by_bound),
        ),
        equivalence=_margin_tests(pairs, margin, alpha, bounds, better, cluster, margin_limits_of),
        flags=tuple(dict.fromkeys((*tested.flags, *interval_flags))),
        better=better,
        error=pairs.error,
        bounds=bounds,
        limits_of=cache(limits_of),
        margin_limits_of=margin_limits_of,
    )


def means_of_pair(
    means: tuple[float, float],
    difference: float,
    alone: Limits,
    together: Limits,
    confidence: float,
) -> Means:
    """Return the means of a pair, the baseline first, with their difference, lift and limits."""
    before, after = means
    return Means(
        before,
        after,
        difference,
        low=alone.low,
        high=alone.high,
        confidence=confidence,
        low_alone=alone.low,
        high_alone=alone.high,
        low_together=together.low,
        high_together=together.high,
        lift=difference / abs(before) if before else math.nan,
        lift_low=alone.lift_low,
        lift_high=alone.lift_high,
    )


def _margin_tests(
    pairs: PairStatistics,
    margin: Margin | None,
    alpha: float,
    bounds: Bounds,
    better: bool | None,
    cluster: Any,
    limits_of: LimitsOf,
) -> MarginTests:
    """Return the tests of a margin from the users' values."""
    if margin is None:
        return MarginTests()
    same = equivalence_of(pairs, margin=margin, alpha=alpha, bounds=bounds, cluster=cluster)
    tests = with_margin_limits(MarginTests(same.p), limits_of(1 - 2 * alpha))
    if better is None:
        return tests
    no_worse = non_inferiority_of(
        pairs, margin=margin, alpha=alpha, bounds=bounds, higher_is_better=better, cluster=cluster
    )
    return replace(tests, p_non_inferior=no_worse.p, users_needed=no_worse.users_needed)


def with_margin_limits(tests: MarginTests, limits: Limits) -> MarginTests:
    """Return tests of a margin with their limits."""
    return replace(
        tests,
        margin_low=limits.low,
        margin_high=limits.high,
        margin_lift_low=limits.lift_low,
        margin_lift_high=limits.lift_high,
    )


def _detectable(pairs: PairStatistics, alpha: float, largest: float, *, by_bound: bool) -> float:
    """Return the difference found with power 0.8; NaN if differences do not vary.

    It is infinite if nothing can be detected: too few pairs differ for any outcome to be
    significant, or the difference is larger than the range of the values allows.
    """
    if not pairs.deviation > 0:
        return math.nan
    if by_bound and isinstance(pairs, Differences):
        sides = (BoundedMean.of_pairs(pairs, largest, side) for side in (1, -1))
        return detectable(max(side.detectable(pairs.n, alpha=alpha / 2) for side in sides), largest)
    if pairs.n < MANY and smallest_p(pairs.nonzero) >= alpha:
        return math.inf
    return detectable(minimum_detectable(pairs.n, alpha=alpha) * pairs.deviation, largest)


def detectable(difference: float, largest: float) -> float:
    """Return a minimum detectable difference; infinite if larger than the values allow."""
    return math.inf if difference > largest else difference


def row_of_all_lists(
    cell: str,
    pair: tuple[str, str],
    values: tuple[float, float],
    users: int,
    tested: TestResult,
    limits_of: LimitsOf,
    *,
    alpha: float,
    error: float,
    better: bool | None,
) -> PairRow:
    """Return the row of a pair of ``values`` that are not means over users, the baseline first."""
    alone = limits_of(1 - alpha)
    means = means_of_pair(values, tested.difference, alone, NO_LIMITS, 1 - alpha)
    return PairRow(
        cell,
        None,
        *pair,
        means=means,
        test=TestOutcome(tested.test, tested.p),
        effect=EffectSizes(users=users, users_dropped=0, dropped_because=""),
        flags=(*tested.flags, ALL_LISTS),
        better=better,
        error=error,
        limits_of=cache(limits_of),
        margin_limits_of=limits_of,
    )


def with_joint_p(rows: Sequence[PairRow], joint: Sequence[float]) -> list[PairRow]:
    """Return rows with joint p-values, never below the p-value of a bounded test."""
    own = [row.test.p if row.test.test == BOUNDED else 0.0 for row in rows]
    adjusted = [max(p, float(other)) for p, other in zip(own, joint, strict=True)]
    return [
        replace(row, test=replace(row.test, p_adjusted=p))
        for row, p in zip(rows, adjusted, strict=True)
    ]


@dataclass(frozen=True)
class Corrected:
    """The correction of one test: the adjusted p-value, and the level of the matching interval.

    ``family_wise`` says whether the correction controls the family-wise error rate over several
    tests.
    """

    p: float
    level: float
    p_equivalence: float
    equivalence_level: float
    error_rate: str
    family_wise: bool = False


def with_verdict(row: PairRow, corrected: Corrected, alpha: float) -> PairRow:
    """Return a row with its adjusted p-values, verdict, error rate and adjusted intervals."""
    p, p_equivalence = corrected.p, corrected.p_equivalence
    verdict = _verdict(row, p, p_equivalence, alpha)
    row = replace(
        row,
        test=replace(row.test, p_adjusted=p, error_rate=corrected.error_rate, verdict=verdict),
        equivalence=replace(
            row.equivalence,
            p_equivalence_adjusted=p_equivalence,
            within_margin=p_equivalence < alpha,
        ),
        flags=(
            *row.flags,
            *_unbounded_flags(row.test, verdict, alpha),
            *_opposite_flags(row, p, alpha),
        ),
    )
    return replace(row, means=_decided(row, corrected, verdict, shown=p < alpha))


def _decided(row: PairRow, corrected: Corrected, verdict: str, *, shown: bool) -> Means:
    """Return the means of a row with the intervals of the test and the level of its verdict."""
    means = row.means
    if row.limits_of is None:
        return means
    confidence = 1 - corrected.level
    if row.joint is not None:
        confidence, limits = row.joint_confidence, row.joint
    else:
        limits = row.limits_of(confidence)
    limits = within_sign(limits, means.difference, shown=shown)
    together = Limits(means.low_together, means.high_together)
    together = (
        within_sign(together, means.difference, shown=shown) if corrected.family_wise else limits
    )
    if row.joint is not None or math.isnan(means.low_together):
        together = limits
    if verdict == "equivalent" and row.margin_limits_of is not None:
        confidence = 1 - 2 * corrected.equivalence_level
        limits = row.margin_limits_of(confidence)
    return replace(
        means,
        low=limits.low,
        high=limits.high,
        confidence=confidence,
        low_together=together.low,
        high_together=together.high,
        lift_low=limits.lift_low,
        lift_high=limits.lift_high,
    )


def _verdict(row: PairRow, p: float, p_equivalence: float, alpha: float) -> str:
    """Return the verdict of a row: better, worse, different, equivalent or not shown.

    A significant difference is never hidden: within the margin it is still better or worse. Where
    the median is on the other side of 0 than the mean, neither system is called better.
    """
    if not p < alpha:
        return "equivalent" if p_equivalence < alpha else "not shown"
    if row.better is None or _is_opposite(row):
        return "different"
    return "better" if (row.means.difference > 0) == row.better else "worse"


def _is_opposite(row: PairRow) -> bool:
    """Return whether a test of the median and the mean difference disagree in sign."""
    return not math.isnan(row.side) and not row.side * row.means.difference > 0


def _opposite_flags(row: PairRow, p: float, alpha: float) -> tuple[str, ...]:
    if not p < alpha or not _is_opposite(row):
        return ()
    return (f"{row.test.test}: most differences are on the other side of 0 than their mean",)


def _unbounded_flags(test: TestOutcome, verdict: str, alpha: float) -> tuple[str, ...]:
    """Return the caveat of a significant difference that the range of the metric does not carry."""
    if verdict not in ("better", "worse", "different") or not test.p_bound >= alpha:
        return ()
    return (
        (
            f"{verdict} by {test.test} alone: a rare large difference that was not drawn is not "
            "excluded"
        ),
    )


_SWAPPED = (
    *(("baseline", "system"), ("mean_baseline", "mean_system"), ("wins", "losses")),
    *(("seeds_baseline", "seeds_system"), ("deviation_baseline", "deviation_system")),
)
_NEGATED = ("difference", "d_z", "cliffs_delta")
_LIMITS = (
    ("low", "high"),
    ("low_alone", "high_alone"),
    ("low_together", "high_together"),
    ("margin_low", "margin_high"),
)
_LIFTS = (("lift_low", "lift_high"), ("margin_lift_low", "margin_lift_high"))
_UNKNOWN = {"p_non_inferior": math.nan, "users_needed": None}
"""Columns about a loss of the system, which say nothing of a loss of the baseline."""
_OPPOSITE = {"better": "worse", "worse": "better"}


def oriented(row: Mapping[str, Any], baseline: str) -> dict[str, Any]:
    """Return a row of a comparison with ``baseline`` as the baseline; every column is converted.

    >>> row = values_of(PairRow("mrr", None, "b", "a", means=Means(0.4, 0.5, 0.1, low=0.05, high=0.3, lift=0.25),
    ...                         test=TestOutcome(verdict="better"), effect=EffectSizes(0.2, wins=3, losses=1)))
    >>> turned = oriented(row, "a")
    >>> turned["system"], turned["difference"], turned["low"], turned["verdict"], turned["lift"], turned["wins"]
    ('b', -0.1, -0.3, 'worse', -0.2, 1)
    """
    if row["baseline"] == baseline:
        return dict(row)
    turned = dict(row)
    for one, other in _SWAPPED:
        turned |= {one: row[other], other: row[one]}
    turned |= {name: _negative(row[name]) for name in _NEGATED}
    for low, high in _LIMITS:
        turned |= {low: _negative(row[high]), high: _negative(row[low])}
    mean = turned["mean_baseline"]
    lift = math.nan if not mean or is_missing(mean) else round(turned["difference"] / abs(mean), 12)
    turned |= {"lift": lift, **_UNKNOWN, "verdict": _OPPOSITE.get(row["verdict"], row["verdict"])}
    for low, high in _LIFTS:
        ends = (row[low], row[high])
        known = (
            not any(map(is_missing, ends)) and ends[0] > -1 and not is_missing(mean) and mean > 0
        )
        turned |= (
            {low: _inverse(ends[1]), high: _inverse(ends[0])}
            if known
            else {low: math.nan, high: math.nan}
        )
    return turned


def _inverse(lift: float) -> float:
    """Convert a lift over the baseline to the lift of the baseline over the system."""
    return 1 / (1 + lift) - 1


def _negative(value: float | None) -> float | None:
    """Return minus a number, with 0 unsigned; None stays None."""
    return None if value is None else 0.0 - value
