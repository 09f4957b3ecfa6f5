"""The row of a difference between two systems, made of sections, whatever was compared.

Lists of users, logged impressions and interleaving fill the sections that they know; every table,
sentence, chart and file reads these rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from rankwise.core.terminal import Cell, Marked, signed
from rankwise.findings.columns import HIDDEN, column, hidden
from rankwise.findings.words import (
    VERDICT_STYLES,
    change_text,
    deciding_p,
    interval_text,
    is_missing,
    p_value,
    places,
    verdict_words,
)
from rankwise.stats.equivalence import UNBOUNDED, Bounds

REWARD = "reward"
"""The metric of logged impressions."""


def _verdict_text(row: Mapping[str, Any]) -> Cell:
    """Return the verdict of a row, with a note if a shown difference is within the margin."""
    verdict = verdict_words(row)
    if row["verdict"] == "not checked" and row["why"]:
        return f"{verdict} ({row['why']})"
    within = ", within" if row["verdict"] != "equivalent" and row["within_margin"] else ""
    return Marked(verdict + within, VERDICT_STYLES.get(row["verdict"], ""))


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
"""The limits of a pair at any level: one minus their confidence."""


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

    ``p_design`` is the p-value of the test of the design, such as paired t, which a conditional
    verdict needs besides; NaN where ``p`` is that p-value, or nothing is claimed under a condition.
    """

    test: str | None = column(None, "test", leaves=9)
    p: float = column(math.nan, "p alone", lambda row: p_value(row["p"]), leaves=6)
    p_adjusted: float = column(math.nan, "p", lambda row: p_value(deciding_p(row)), leaves=2)
    p_design: float = math.nan
    p_design_adjusted: float = math.nan
    verdict: str | None = column(None, "verdict", _verdict_text, leaves=0)
    error_rate: str | None = None

    __test__ = False  # pytest collects classes called Test…


@dataclass(frozen=True)
class UnseenLosses:
    """What one user who was not sampled could lose before a difference is no longer shown.

    ``largest_loss`` is that loss, in units of the metric, of clusters in users' worth; it may be
    above ``loss_possible``, the range or what was stated in its place (``loss_stated``), and then
    the verdict holds for any users, or for all as stated. ``loss_seen`` and
    ``gain_seen`` are the largest among the users who were sampled, against and with the mean
    difference. ``condition`` is the loss that a conditional verdict names. As many users in all as
    ``users_for_any_low`` to ``users_for_any_high`` would show the difference for any users.
    """

    largest_loss: float = math.nan
    loss_seen: float = math.nan
    gain_seen: float = math.nan
    loss_possible: float = math.nan
    loss_stated: float = math.nan
    condition: float = math.nan
    is_of_margin: bool = hidden(False)
    users_for_any_low: int | None = None
    users_for_any_high: int | None = None


LargestLossOf: TypeAlias = Callable[[float], float]
"""The largest loss that a difference bears, at any one-sided level; NaN if it bears none."""


UsersForAnyOf: TypeAlias = Callable[[float], tuple[int | None, int | None]]
"""How many users would show a difference for any users, at a one-sided level: a range."""


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
    """Equivalence and non-inferiority with a margin, which is a number here.

    ``p_design`` is the p-value of equivalence by t, and ``largest_loss_of`` has the largest change
    of an unseen user that it bears; they are no columns, as they serve a conditional verdict alone.

    ``margin_low`` to ``margin_high`` are one-sided limits of the difference, each at level alpha
    (of confidence 1 − 2 alpha together), and ``margin_lift_low`` to ``margin_lift_high`` those of
    the lift: a system loses less than the margin, at alpha, exactly where the limit on the side of
    the loss does.
    """

    margin: float = math.nan
    p_equivalence: float = math.nan
    p_equivalence_adjusted: float = math.nan
    within_margin: bool | None = None
    p_non_inferior: float = math.nan
    p_non_inferior_adjusted: float = math.nan
    users_needed: int | None = None
    margin_low: float = math.nan
    margin_high: float = math.nan
    margin_lift_low: float = math.nan
    margin_lift_high: float = math.nan
    p_design: float = hidden(math.nan)
    largest_loss_of: LargestLossOf | None = field(default=None, metadata=HIDDEN)

    def with_size(self, size: float | None) -> MarginTests:
        """Return these tests with the margin as a number; None if there is none."""
        return self if size is None else replace(self, margin=size)

    def with_limits(self, limits: Limits) -> MarginTests:
        """Return these tests with their one-sided limits."""
        return replace(
            self,
            margin_low=limits.low,
            margin_high=limits.high,
            margin_lift_low=limits.lift_low,
            margin_lift_high=limits.lift_high,
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The difference of two systems on one metric, over everybody or within one group.

    Attributes
    ----------
    metric, by, group, baseline, system : str
        Which difference: ``group`` of the grouping ``by``, both None for everybody.
    higher_is_better : bool or None
        Whether a higher value is better; None if neither is.
    primary : bool or None
        Whether the row is of the primary metric; else it is exploratory.
    means, test, unseen, effect, margin
        Sections, each with the columns of one subject; without a value these are NaN or null.
    why : str
        Why nothing was concluded; empty unless the verdict is ``"not checked"``.
    flags : tuple of str
        Caveats for readers.
    std_error : float
        The standard error of the difference; NaN if the test has none.
    bounds : tuple of float
        The smallest and the largest value of a user. It is no column, as all that follows.
    limits_of, margin_limits_of : callable or None
        The limits of the test, and of the tests of a margin, at any level.
    largest_loss_of : callable or None
        The largest loss of an unseen user that the difference bears, at any one-sided level.
    least_condition : float
        The smallest loss that a conditional verdict may name.
    users_for_any_of : callable or None
        How many users would show the difference for any users.
    joint : Limits or None
        The limits of a test of all pairs together, which takes the place of ``limits_of``.
    joint_level : float
        The level of one pair that this test leaves to it; 1 without such a test.
    is_conditional : bool
        Whether nothing can be shown for any users, because the metric has no bound.
    p_any : float
        The two-sided p-value that holds for any users; NaN without a bound.
    side : float
        The side that a test of the median shows; NaN for tests of the mean.
    """

    metric: str
    by: str | None = None
    group: str | None = None
    baseline: str
    system: str
    higher_is_better: bool | None = None
    primary: bool | None = None
    means: Means = Means()
    test: TestOutcome = TestOutcome()
    unseen: UnseenLosses = UnseenLosses()
    effect: EffectSizes = EffectSizes()
    margin: MarginTests = MarginTests()
    why: str = ""
    flags: tuple[str, ...] = ()
    std_error: float = math.nan
    bounds: Bounds = field(default=UNBOUNDED, metadata=HIDDEN)
    limits_of: LimitsOf | None = field(default=None, metadata=HIDDEN)
    margin_limits_of: LimitsOf | None = field(default=None, metadata=HIDDEN)
    largest_loss_of: LargestLossOf | None = field(default=None, metadata=HIDDEN)
    least_condition: float = hidden(math.nan)
    users_for_any_of: UsersForAnyOf | None = field(default=None, metadata=HIDDEN)
    joint: Limits | None = field(default=None, metadata=HIDDEN)
    joint_confidence: float = hidden(math.nan)
    joint_level: float = hidden(1.0)
    is_conditional: bool = hidden(False)
    p_any: float = hidden(math.nan)
    side: float = hidden(math.nan)

    @property
    def largest(self) -> float:
        """The largest difference that the range of the metric allows."""
        return self.bounds[1] - self.bounds[0]

    @property
    def is_opposed(self) -> bool:
        """Whether a test of the median and the mean difference disagree in sign."""
        return not math.isnan(self.side) and not self.side * self.means.difference > 0

    @property
    def is_gain(self) -> bool:
        """Whether the difference is one for the better; a metric without a direction has none."""
        return self.higher_is_better is not None and (
            (self.means.difference > 0) == self.higher_is_better
        )


_NEGATED = ("difference", "d_z", "cliffs_delta")
_LIMITS = (
    ("low", "high"),
    ("low_alone", "high_alone"),
    ("low_together", "high_together"),
    ("margin_low", "margin_high"),
)
_LIFTS = (("lift_low", "lift_high"), ("margin_lift_low", "margin_lift_high"))
_UNKNOWN = {"p_non_inferior": math.nan, "p_non_inferior_adjusted": math.nan, "users_needed": None}
"""Columns about a loss of the system, which say nothing of a loss of the baseline."""
OPPOSITE = {
    "better": "worse",
    "worse": "better",
    "better if": "worse if",
    "worse if": "better if",
    "not worse": "not shown",
}
"""The verdict with both systems in the other order."""


def oriented(row: Mapping[str, Any], baseline: str) -> dict[str, Any]:
    """Return a row of findings with ``baseline`` as the baseline; every column is converted.

    >>> from rankwise.findings.columns import values_of
    >>> finding = Finding(
    ...     metric="mrr", baseline="b", system="a", means=Means(0.4, 0.5, 0.1, low=0.05, high=0.3, lift=0.25),
    ...     test=TestOutcome(verdict="better"), effect=EffectSizes(0.2, wins=3, losses=1),
    ... )
    >>> turned = oriented(values_of(finding), "a")
    >>> turned["system"], turned["difference"], turned["low"], turned["verdict"], turned["lift"], turned["wins"]
    ('b', -0.1, -0.3, 'worse', -0.2, 1)
    """
    if row["baseline"] == baseline:
        return dict(row)
    turned = dict(row) | {"baseline": row["system"], "system": row["baseline"]}
    turned |= {"wins": row["losses"], "losses": row["wins"]}
    for name in [name for name in row if name.endswith("_baseline")]:
        other = name.removesuffix("_baseline") + "_system"
        turned |= {name: row[other], other: row[name]}
    turned |= {name: _negative(row[name]) for name in _NEGATED}
    for low, high in _LIMITS:
        turned |= {low: _negative(row[high]), high: _negative(row[low])}

    mean = turned["mean_baseline"]
    lift = math.nan if not mean or is_missing(mean) else round(turned["difference"] / abs(mean), 12)
    turned |= {"lift": lift, **_UNKNOWN, "verdict": OPPOSITE.get(row["verdict"], row["verdict"])}
    for low, high in _LIFTS:
        ends = (row[low], row[high])
        is_known = not any(map(is_missing, ends)) and ends[0] > -1
        turned |= {low: math.nan, high: math.nan}
        if is_known and not is_missing(mean) and mean > 0:
            turned |= {low: _inverse(ends[1]), high: _inverse(ends[0])}
    return turned


def _inverse(lift: float) -> float:
    """Convert a lift over the baseline to the lift of the baseline over the system."""
    return 1 / (1 + lift) - 1


def _negative(value: float | None) -> float | None:
    """Return minus a number, with 0 unsigned; None stays None."""
    return None if value is None else 0.0 - value
