r"""How far group means lie apart: intervals and comparisons of gaps, ratios and mean differences.

The highest observed mean minus the lowest is biased upwards: where all groups are alike it is still
above 0, and the jackknife does not see that. So the differences of all pairs of groups get
simultaneous intervals (max-T), and the interval of the gap follows from these: from the largest
lower to the largest upper limit of a pair. It holds whatever pair is the widest one.

Two systems are compared over the same users. Where (a, b) is a pair that may be the widest one of
the baseline, the gap changes at least by the change of :math:`m_a - m_b`; the smallest lower limit
over these pairs bounds the change from below, and the pairs that may be the widest one of the
system from above. Ratios are gaps of logarithms.

References: Westfall & Young 1993, Resampling-Based Multiple Testing; Hsu 1996, Multiple
Comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.core.arguments import GroupStatistic, check_choice, check_positive
from rankwise.errors import InputError
from rankwise.stats.data_sets import MOST_ROWS, groups_of, satterthwaite
from rankwise.stats.differences import Floats, Interval, check_level, column
from rankwise.stats.many_systems import quantile_of_draws

_METHOD = "all pairs of groups"
_FEW = 50  # users of a group below which intervals cover up to 5 % less, if there are many groups


def group_interval(
    values: Any,
    groups: Any,
    statistic: GroupStatistic = "gap",
    *,
    cluster: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Return the confidence interval of a statistic of group means.

    Parameters
    ----------
    values : array, shape (n,)
        One value per user, without NaN; several with ``cluster``.
    groups : array, shape (n,)
        The group of the user of each value.
    statistic : {"gap", "ratio", "mean_difference"}, default="gap"
        The highest minus the lowest mean, the lowest over the highest, or the mean absolute
        difference over pairs.
    cluster : array, shape (n,), optional
        The user of each value, where users have several, as one for each request: users are then
        the sample. All values of a user belong to one group.
    confidence : float, default=0.95
        The confidence level.
    n_resamples, seed : int, default=10000, 0
        Number of random draws of the largest t, and their random seed.

    Returns
    -------
    Interval
        Its limits are NaN if a group has fewer than two users, or its values do not vary; for
        ratios also if a mean is not above 0; with clusters also if one user has more than 80 % of
        the values of a group.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> interval = group_interval(rng.random(300), np.arange(300) % 3)
    >>> interval.low, 0 < interval.estimate < interval.high
    (0.0, True)
    """
    means = _GroupMeans.of([values], groups, statistic, n_resamples, seed, cluster)
    check_level("confidence", confidence)
    low, high = means.limits(means.quantile(confidence), 0)
    if statistic == "ratio":
        low, high = math.exp(-high), math.exp(-low)
    return Interval(means.estimate(0), low, high, confidence, _METHOD, means.users, means.flags)


def compare_groups(
    x: Any,
    y: Any,
    groups: Any,
    statistic: GroupStatistic = "gap",
    *,
    cluster: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Interval, float]:
    """Return the interval of the statistic of x minus the statistic of y, and its p-value.

    The p-value is the smallest level at which the interval excludes 0. Parameters are those of
    `group_interval`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups, old = np.arange(600) % 3, rng.random(600)
    >>> interval, p = compare_groups(old + (groups == 0), old, groups)
    >>> interval.low > 0.5, p < 0.001
    (True, True)
    """
    means = _GroupMeans.of([y, x], groups, statistic, n_resamples, seed, cluster)
    check_level("confidence", confidence)
    low, high = means.change(means.quantile(confidence))
    difference = means.estimate(1) - means.estimate(0)
    return Interval(difference, low, high, confidence, _METHOD, means.users, means.flags), means.p()


@dataclass(frozen=True, eq=False)
class _Sample:
    """The independent units of one group: users, or the sums of users who have several values.

    Attributes
    ----------
    rows : array, shape (units, systems)
        Distances of their values from the mean of the group.
    parts : tuple of float
        The numbers by which sums of squares are divided, one after the other.
    freedom : float
        The degrees of freedom of squared errors.
    """

    rows: Floats
    parts: tuple[float, float]
    freedom: float

    @property
    def covariance(self) -> Floats:
        """The covariance of the means of all systems."""
        return self.rows.T @ self.rows / self.parts[0] / self.parts[1]

    def square_of(self, change: Floats) -> float:
        """Return the squared error of the mean of a difference."""
        return float(change @ change / self.parts[0] / self.parts[1])


def _samples(centred: Floats, codes: Any, cluster: Any) -> list[_Sample]:
    """Return the independent units of every group."""
    if cluster is None:
        groups = (centred[codes == group] for group in range(codes.max() + 1))
        return [
            _Sample(rows, (max(len(rows) - 1, 1), len(rows)), max(len(rows) - 1, 1))
            for rows in groups
        ]
    _, users = groups_of("user", cluster, len(codes))
    groups_of_users = np.unique(np.stack([users, codes]), axis=1)[0]
    if len(groups_of_users) > users.max() + 1:
        raise InputError("all values of a user belong to one group", found="a user in two groups")
    return [
        _of_users(centred[codes == group], users[codes == group])
        for group in range(codes.max() + 1)
    ]


def _of_users(centred: Floats, users: Any) -> _Sample:
    """Return sums by user, with the CR2 error and degrees of freedom of `cluster_error`."""
    _, at, size = np.unique(users, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(at, values) for values in centred.T], axis=1)
    rows = float(size.sum())
    if len(size) < 2 or size.max() > MOST_ROWS * rows:
        return _Sample(np.full_like(sums, math.nan), (1.0, 1.0), 1.0)
    return _Sample(
        sums / np.sqrt(1 - size / rows)[:, None],
        (rows, rows),
        satterthwaite(size.astype(np.float64)),
    )


@dataclass(frozen=True, eq=False)
class _GroupMeans:
    """Means of k groups for one system, or for two and their difference, with their squared errors.

    Attributes
    ----------
    mean, square : array, shape (k, 1) or (k, 3)
        Means, of which logarithms for ratios, and squared standard errors.
    count : array, shape (k,)
        Users of each group.
    drawn : array, shape (draws, k, 1) or (draws, k, 3)
        Means as they are drawn if all true means are 0.
    scale : array, shape (draws, k)
        Squared errors as they are drawn, in units of the observed ones.
    """

    statistic: GroupStatistic
    mean: Floats
    square: Floats
    count: Any
    drawn: Floats
    scale: Floats

    @classmethod
    def of(
        cls,
        systems: list[Any],
        groups: Any,
        statistic: GroupStatistic,
        n_resamples: int,
        seed: int,
        cluster: Any = None,
    ) -> _GroupMeans:
        """Return the means of one system, or of the baseline, the system and their difference."""
        check_choice("statistic", statistic, GroupStatistic)
        check_positive(n_resamples=n_resamples)
        check_positive(least=0, seed=seed)
        columns = [column("values", values) for values in systems]
        names, codes = groups_of("group", groups, len(columns[0]))
        if len(names) < 2 or any(
            len(values) != len(codes) or np.isnan(values).any() for values in columns
        ):
            raise InputError(
                "group means need a value of each user, and two groups or more",
                found=f"{len(codes)} users, {' and '.join(str(len(values)) for values in columns)} "
                "values, "
                f"{len(names)} groups",
            )
        x = np.stack(columns, axis=1)
        rows = np.bincount(codes)
        mean = np.stack([np.bincount(codes, values) / rows for values in columns], axis=1)
        centred = x - mean[codes]
        if statistic == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                centred, mean = centred / mean[codes], np.log(mean)
        samples = _samples(centred, codes, cluster)
        count = np.array([len(sample.rows) for sample in samples])
        freedom = np.array([sample.freedom for sample in samples])
        rng, k, s = np.random.default_rng(seed), len(names), x.shape[1]
        drawn, square = np.empty((n_resamples, k, s)), np.empty((k, s))
        scale = rng.chisquare(freedom, (n_resamples, k)) / freedom
        difference = np.empty(k)
        for group, sample in enumerate(samples):
            square[group] = np.diagonal(sample.covariance)
            change = sample.rows[:, -1] - sample.rows[:, 0]
            difference[group] = sample.square_of(change)
            variances, axes = np.linalg.eigh(np.nan_to_num(sample.covariance))
            drawn[:, group] = (
                rng.standard_normal((n_resamples, s)) @ (axes * np.sqrt(np.maximum(variances, 0))).T
            )
        if s == 2:
            difference[difference <= 1e-20 * square.sum(axis=1)] = (
                0.0  # rounding errors of equal values
            )
            mean = np.column_stack([mean, mean[:, 1] - mean[:, 0]])
            square = np.column_stack([square, difference])
            drawn = np.concatenate([drawn, drawn[:, :, 1:] - drawn[:, :, :1]], axis=2)
        return cls(statistic, mean, square, count, drawn, scale)

    @property
    def users(self) -> int:
        """Number of users of all groups."""
        return int(self.count.sum())

    @property
    def known(self) -> bool:
        """Whether the interval is known.

        Every group needs two users whose values vary, and no user with most of its values; ratios
        need means above 0.
        """
        square = self.square[:, :2]
        return bool((self.count > 1).all() and (square > 0).all() and np.isfinite(self.mean).all())

    @property
    def flags(self) -> tuple[str, ...]:
        """The caveats."""
        if not self.known:
            return (
                (
                    "a group has no two users whose values vary, or no mean above 0: the interval is "
                    "not known"
                ),
            )
        least = int(self.count.min())
        return (f"a group has only {least} users",) if least < _FEW else ()

    @cached_property
    def pairs(self) -> tuple[Any, Any]:
        """The ordered pairs of groups."""
        first, second = np.nonzero(~np.eye(len(self.count), dtype=bool))
        return first, second

    @cached_property
    def largest(self) -> Floats:
        """The largest ``|t|`` of all pairs in each draw, in ascending order."""
        largest = np.zeros(len(self.drawn))
        for a, b in zip(*self.pairs, strict=True):
            if a < b:
                square = (
                    self.scale[:, a, None] * self.square[a]
                    + self.scale[:, b, None] * self.square[b]
                )
                t = np.abs(self.drawn[:, a] - self.drawn[:, b]) / np.sqrt(
                    np.where(square > 0, square, np.inf)
                )
                np.maximum(largest, t.max(axis=1), out=largest)
        return np.sort(largest)

    def quantile(self, confidence: float) -> float:
        """Return the half-width of simultaneous intervals, in standard errors."""
        return quantile_of_draws(self.largest, confidence)

    def estimate(self, system: int) -> float:
        """Return the observed statistic of a system."""
        a, b = self.pairs
        differences = np.abs(self.mean[a, system] - self.mean[b, system])
        value = float(self._combine(differences))
        return math.exp(-value) if self.statistic == "ratio" else value

    @property
    def _combine(self) -> Callable[[Floats], Any]:
        return np.mean if self.statistic == "mean_difference" else np.max

    def _pair_limits(self, quantile: float, column: int) -> tuple[Floats, Floats]:
        """Return the simultaneous limits of the difference of each ordered pair."""
        a, b = self.pairs
        half = quantile * np.sqrt(self.square[a, column] + self.square[b, column])
        difference = self.mean[a, column] - self.mean[b, column]
        return difference - half, difference + half

    def limits(self, quantile: float, system: int) -> tuple[float, float]:
        """Return the limits of the statistic of a system, of logarithms for ratios."""
        if not self.known:
            return math.nan, math.nan
        low, high = self._pair_limits(quantile, system)
        nearest, farthest = (
            np.maximum(0.0, np.maximum(low, -high)),
            np.maximum(np.abs(low), np.abs(high)),
        )
        return float(self._combine(nearest)), float(self._combine(farthest))

    def change(self, quantile: float) -> tuple[float, float]:
        """Return the limits of the system's statistic minus the baseline's statistic."""
        if not self.known:
            return math.nan, math.nan
        (low_before, high_before), (low_after, high_after) = (
            self.limits(quantile, system) for system in (0, 1)
        )
        least, most = self._change_of_pairs(quantile)
        low, high = max(least, low_after - high_before), min(most, high_after - low_before)
        if self.statistic != "ratio":
            return low, high
        factors = [math.exp(-limit) - 1 for limit in (high, low)]
        ratios = [math.exp(-limit) for limit in (high_before, low_before)]
        return min(r * factors[0] for r in ratios), max(r * factors[1] for r in ratios)

    def _change_of_pairs(self, quantile: float) -> tuple[float, float]:
        """Return the limits of the change from the limits of the changes of all pairs."""
        before, after, (low, high) = (self._pair_limits(quantile, column) for column in range(3))
        if self.statistic != "mean_difference":
            # A pair may be the widest one where its upper limit reaches the lower limit of every
            # other.
            first, second = (limits[1] >= max(limits[0].max(), 0.0) for limits in (before, after))
            return float(low[first].min()), float(high[second].max())
        # The sign of a pair's difference is that of its limits, either one where they enclose 0.
        least = np.minimum(
            np.where(before[1] >= 0, low, np.inf), np.where(before[0] <= 0, -high, np.inf)
        )
        most = np.maximum(
            np.where(after[1] >= 0, high, -np.inf), np.where(after[0] <= 0, -low, -np.inf)
        )
        return float(least.mean()), float(most.mean())

    def p(self) -> float:
        """Return the smallest level at which the change's interval excludes 0; NaN if unknown."""
        if not self.known:
            return math.nan
        first, last = 0, len(self.largest)  # excluded below first, not from last on
        while first < last:
            middle = (first + last) // 2
            low, high = self.change(float(self.largest[middle]))
            if low > 0 or high < 0:
                first = middle + 1
            else:
                last = middle
        return (1 + len(self.largest) - first) / (1 + len(self.largest))
