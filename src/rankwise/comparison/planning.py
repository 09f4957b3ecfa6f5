"""How many users a comparison needs, and its power, from a pilot."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rankwise.comparison.alignment import align_units
from rankwise.comparison.comparability import default_primary
from rankwise.comparison.design import independent_users
from rankwise.comparison.family import bounds_of
from rankwise.core.arguments import check_number, check_positive
from rankwise.core.terminal import count_of
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.margins import check_difference, check_margin, margin_test, size_of
from rankwise.messages import parameter
from rankwise.metrics.base import Metric
from rankwise.results.intervals import check_clusters, group_column, groups_of_users
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.bounded_means import BoundedMean
from rankwise.stats.differences import (
    Differences,
    Floats,
    check_level,
    differences,
    fewest_for_t,
)
from rankwise.stats.equivalence import Bounds, fewest_users, power_of_t, variance_interval
from rankwise.stats.equivalence import Margin as MarginSize

_TINY = 1e-6
"""Standard deviations from which on an effect can be planned for."""
_VAGUE = 4
"""Times that the upper limit is the lower one from which a pilot hardly tells."""


@dataclass(frozen=True)
class SampleSize:
    """The number of users that a comparison needs, with its confidence interval.

    Attributes
    ----------
    users : int
        The number of users, if the variance is that of the pilot.
    low, high : int or None
        Its confidence limits, because the variance is estimated from the pilot; plan for ``high``.
        None if the pilot has fewer than 5 users.
    confidence : float
        The confidence level.
    flags : tuple of str
        Caveats.
    clusters : int or None
        The number of clusters, whose users are expected to be ``users``; None if users are
        independent.
    requests : int or None
        The expected number of requests of these users; None if means are over users.
    """

    users: int
    low: int | None
    high: int | None
    confidence: float
    flags: tuple[str, ...] = ()
    clusters: int | None = None
    requests: int | None = None

    def __int__(self) -> int:
        return self.users


def power(
    result: Result,
    metric: str | Metric | None = None,
    *,
    difference: float | str | None = None,
    margin: float | str | None = None,
    equivalence: bool = False,
    other: Result | None = None,
    correlation: float = 0.0,
    clusters: str | None = None,
    largest_cluster: int | None = None,
    alpha: float = 0.05,
) -> float:
    """Return the power of a comparison to detect a difference, or to show non-inferiority.

    Parameters
    ----------
    result : Result
        The pilot, which is the baseline: its number of users, its mean and the standard deviation
        of the users' values are used.
    metric : str or Metric, optional
        A metric that is a per-user mean; by default ``ndcg@10``, or the first one.
    difference : float or str, optional
        The true difference of means, the system minus the baseline: a number, or a share of the
        baseline's mean, ``"5%"``. Without a margin it is the difference to detect, and its sign
        does not matter; with a margin it is 0 by default.
    margin : float or str, optional
        The largest difference that does not matter, as for `rankwise.compare`. The power is then
        that of non-inferiority: of showing that the system loses less than the margin.
    equivalence : bool, default=False
        With a margin: the power of showing that the difference is smaller than the margin in both
        directions.
    other : Result, optional
        Another system on the same users, to estimate the standard deviation of differences.
    correlation : float, default=0.0
        Without ``other``: the assumed correlation between the values of both systems. The higher
        it is, the higher the power.
    clusters : str, optional
        A column of the users table whose groups are the sampling units, as for `rankwise.compare`.
        Where means are over requests, users are.
    largest_cluster : int, optional
        The largest number of users of a cluster, or of requests of a user, that is taken to be
        possible, as for `rankwise.compare`; by default the mean number.
    alpha : float, default=0.05
        The significance level of the test.

    Returns
    -------
    float
        The power of the test that `rankwise.compare` makes: that of a bounded mean where the metric
        has a bound; else of a t test.

    See Also
    --------
    sample_size : The number of users needed for a given power.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> power(result, "recall@1", difference=0.1)
    0.7094
    >>> power(result, "recall@1", margin="30%")
    0.9022
    """
    check_level("alpha", alpha)
    pilot = _pilot(
        result,
        metric,
        difference,
        margin,
        other,
        correlation,
        equivalence=equivalence,
        clusters=clusters,
        largest_cluster=largest_cluster,
    )
    return pilot.power(len(pilot.values), pilot.deviation, alpha)


def sample_size(
    result: Result,
    metric: str | Metric | None = None,
    *,
    difference: float | str | None = None,
    margin: float | str | None = None,
    equivalence: bool = False,
    other: Result | None = None,
    correlation: float = 0.0,
    clusters: str | None = None,
    largest_cluster: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> SampleSize:
    """Return the number of users needed to detect a difference, or to show non-inferiority.

    It is proportional to the variance of the differences, of which a small pilot is a poor
    estimate. Plans for a power of 0.8 reach 0.65 on average with a pilot of 40 users of whom 10 %
    differ, 0.73 with 100, 0.77 with 300, and one in ten less than 0.17, 0.43 and 0.60. The
    confidence interval of the number is that of the variance (Bonett 2006); for 95 % it covers the
    true number in 84, 91 and 94 % of these cases, and in 94 % where half of the users differ.

    The test is that of `rankwise.compare`, as for `power`. For a metric without a bound, a margin
    needs at least the number of users of whom enough differ for its t test: 30, or more if their
    differences are skewed. Without ``other``, all users are assumed to differ, by as much.

    Parameters
    ----------
    result, metric, difference, margin, equivalence, other, correlation, alpha
        As for `power`.
    clusters, largest_cluster
        As for `power`. The sizes of clusters are those of the pilot.
    power : float, default=0.8
        The power to reach.
    confidence : float, default=0.95
        The confidence level of the interval of the number of users.

    Returns
    -------
    SampleSize
        ``users`` with ``low`` and ``high``; ``int(…)`` of it is ``users``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> size = sample_size(result, "recall@1", difference=0.1)
    >>> size.users, size.low, size.high
    (369, 343, 403)
    >>> int(sample_size(result, "recall@1", margin="30%"))
    219
    """
    check_level("power", power)
    check_level("alpha", alpha)
    pilot = _pilot(
        result,
        metric,
        difference,
        margin,
        other,
        correlation,
        equivalence=equivalence,
        clusters=clusters,
        largest_cluster=largest_cluster,
    )
    variances = variance_interval(pilot.values, confidence=confidence)
    deviations = [pilot.deviation, *map(math.sqrt, variances)]
    units = tuple(pilot.units(deviation, alpha=alpha, power=power) for deviation in deviations)
    return pilot.size(units, confidence)


@dataclass(frozen=True)
class _Sample:
    """The values of a pilot: one pair per user, or per cluster of users.

    Attributes
    ----------
    pairs : Differences
        The system and the baseline; without another system the values of one, and zeros. A cluster
        has one value, whose spread is that of the mean over its users.
    mean : float
        The mean of the baseline.
    sizes : array or None
        The sizes of clusters as shares of the mean size; None if users are independent.
    users, rows : float
        The mean number of users, and of their rows of values, in a cluster; 1 if users are
        independent.
    unseen_size : float
        The size of a cluster that was not sampled, as a share of the mean size.
    """

    pairs: Differences
    mean: float
    sizes: Floats | None
    users: float
    rows: float
    unseen_size: float


@dataclass(frozen=True)
class _Hypothesis:
    """A hypothesis to reject, with the users' differences from which the power follows.

    The true mean of ``side`` times the differences lies ``gap`` below the hypothesis. They are at
    most ``most``; their deviation is ``factor`` times that of the pilot's values. Without
    ``values`` of theirs, all are assumed to be one deviation above or below the mean.
    """

    side: int
    values: Floats | None
    most: float
    factor: float
    gap: float
    sizes: Floats | None
    unseen_size: float

    def bounded_mean(self, deviation: float) -> BoundedMean:
        """Return the bounded mean of the differences for a deviation of the pilot's values."""
        if self.values is None:
            mean, values = 0.0, np.array([-1.0, 1.0]) * deviation * self.factor
        else:
            mean = float(self.side * self.values.mean())
            scale = deviation * self.factor / self.values.std(ddof=1)
            values = mean + self.side * (self.values - self.values.mean()) * scale
        if self.sizes is None:
            return BoundedMean.of(np.minimum(values, self.most), self.most)
        hypothesis = mean + self.gap
        largest = hypothesis + self.unseen_size * (self.most - hypothesis)
        if self.values is not None:  # the gap of a cluster is that of all of its users
            values = values - self.gap * (self.sizes - 1)
        return BoundedMean.of(values, largest)

    def power(self, n: int, deviation: float, alpha: float, *, sides: int) -> float:
        """Return the power with n users or clusters."""
        effect = self.gap / (deviation * self.factor)
        if not math.isfinite(self.most):
            return power_of_t(n, effect, alpha, sides=sides)
        bounded = self.bounded_mean(deviation).power(n, self.gap, alpha=alpha / sides)
        if self.sizes is None:
            return bounded
        return min(bounded, power_of_t(n, effect, alpha / sides, sides=1))


@dataclass(frozen=True)
class _Pilot:
    """The values of a pilot, and the hypotheses to reject (all of them with a margin).

    From ``fewest`` users or clusters on, a t test of a margin is valid.
    """

    sample: _Sample
    unit: SamplingUnit
    hypotheses: list[_Hypothesis]
    sides: int
    fewest: int

    @property
    def values(self) -> Floats:
        """One value per user, or per cluster."""
        return self.sample.pairs.d

    @property
    def deviation(self) -> float:
        """The standard deviation of the pilot's values."""
        return float(self.values.std(ddof=1))

    def power(self, n: int, deviation: float, alpha: float) -> float:
        """Return the power with n users or clusters, if the pilot's values have this deviation."""
        powers = [one.power(n, deviation, alpha, sides=self.sides) for one in self.hypotheses]
        return max(sum(powers) - (len(powers) - 1), 0.0)

    def units(self, deviation: float, *, alpha: float, power: float) -> int | None:
        """Return the number of users or clusters for a power; None if the deviation is unknown."""
        if math.isnan(deviation):
            return None
        if min(one.gap / (deviation * one.factor) for one in self.hypotheses) < _TINY:
            raise ParameterError("an effect this small needs 10**12 users or more")
        return max(fewest_users(lambda n: self.power(n, deviation, alpha), power), self.fewest)

    def size(self, units: tuple[int | None, ...], confidence: float) -> SampleSize:
        """Return a number of users or clusters with its limits as a sample size."""
        users, low, high = (None if n is None else math.ceil(n * self.sample.users) for n in units)
        vague = low is None or high is None or high > _VAGUE * low
        pilot = count_of(len(self.values), self.unit.sampled)
        flags = (f"a pilot of {pilot} is a poor estimate of the variance: plan for more",)
        assert users is not None
        assert units[0] is not None
        over_requests = self.unit.row == "request"
        return SampleSize(
            users,
            low,
            high,
            confidence,
            flags if vague else (),
            clusters=None if self.unit.sampled == "user" else units[0],
            requests=math.ceil(units[0] * self.sample.rows) if over_requests else None,
        )


def _pilot(
    result: Result,
    metric: str | Metric | None,
    difference: float | str | None,
    margin: float | str | None,
    other: Result | None,
    correlation: float,
    *,
    equivalence: bool,
    clusters: str | None,
    largest_cluster: int | None,
) -> _Pilot:
    """Return the pilot of a comparison for a difference or a margin, checked."""
    _check_question(result, other, difference, margin, equivalence=equivalence)
    unit = _unit_of(result, other, clusters, largest_cluster)
    cell = _planned_cell(result, metric, margin, equivalence=equivalence)
    sample = _sample(result, cell, other, correlation, unit, largest_cluster)

    true = 0.0 if difference is None else size_of(check_difference(difference), sample.mean)
    _check_size(difference, margin, true, sample.mean)
    assert true is not None
    if margin is None:
        tested, sides, true = MarginSize(abs(true)), [-1], 0.0
    else:
        claimed = margin_test(check_margin(margin))
        assert claimed is not None
        tested = claimed
        sides = [1, -1] if equivalence else [-1 if result.direction(cell) else 1]

    bounds = bounds_of({"result": result}, cell)
    hypotheses = [
        _hypothesis(sample, tested, side, true, bounds, other=other, correlation=correlation)
        for side in sides
    ]
    if any(not 0 < hypothesis.gap < math.inf for hypothesis in hypotheses):
        raise ParameterError(
            "a loss of the margin or more is never shown to be within it",
            found=f"{parameter('difference', difference)}, {parameter('margin', margin)}",
        )

    by_t = margin is not None and not math.isfinite(bounds[1] - bounds[0])
    pairs = sample.pairs
    shape = (1.0, 0.0) if other is None else (pairs.nonzero / pairs.n, pairs.skewness)
    fewest = fewest_for_t(*shape) if by_t else 2
    return _Pilot(sample, unit, hypotheses, 2 if margin is None else 1, fewest)


def _check_question(
    result: Result,
    other: Result | None,
    difference: float | str | None,
    margin: float | str | None,
    *,
    equivalence: bool,
) -> None:
    """Raise unless there is a pilot, and something to plan for."""
    for name, value in (("result", result), ("other", other)):
        if not isinstance(value, Result | None) or result is None:
            raise ParameterError(f"{name} is one result", found=type(value).__name__)
    if difference is None and margin is None:
        raise ParameterError(
            "a comparison is planned for a difference, or for a margin",
            hint=f"pass {parameter('difference')}, the difference to detect, or "
            f"{parameter('margin')}, the largest one that does not matter",
        )
    if equivalence and margin is None:
        raise ParameterError("equivalence needs a margin", found=parameter("margin", None))


def _unit_of(
    result: Result, other: Result | None, clusters: str | None, largest_cluster: int | None
) -> SamplingUnit:
    """Return what is sampled: users, clusters of users, or users with their requests."""
    check_clusters(clusters)
    check_positive(largest_cluster=largest_cluster)
    unit = result.sampling_unit.within(clusters)
    if other is not None and other.sampling_unit != result.sampling_unit:
        raise ParameterError(
            "means over requests and over users cannot be planned together",
            found=f"{result.sampling_unit.rows} and {other.sampling_unit.rows}",
            hint=f"evaluate both with {parameter('mean_over', 'users')}",
        )
    if largest_cluster is not None and unit.clusters is None:
        raise independent_users(largest_cluster)
    return unit


def _planned_cell(
    result: Result,
    metric: str | Metric | None,
    margin: float | str | None,
    *,
    equivalence: bool,
) -> str:
    """Return the key of the planned metric, which is a mean of users."""
    means = [cell for cell in result.values if result.is_mean_of_users(cell)]
    if metric is None and not means:
        raise MetricError(
            "the result has no metric that is a mean of users", found=", ".join(result.values)
        )
    cell = default_primary(result, means) if metric is None else result.cell(metric)
    if not result.is_mean_of_users(cell):
        raise MetricError(
            f"{cell} is not a mean over users, so the number of users cannot be computed"
        )
    if margin is not None and result.direction(cell) is None and not equivalence:
        raise ParameterError(
            f"neither direction of {cell} is better, so no loss can be within the margin",
            found=parameter("margin", margin),
            hint=f"{parameter('equivalence', True)} plans for a difference smaller than the "
            "margin in both directions",
        )
    return cell


def _check_size(
    difference: float | str | None, margin: float | str | None, true: float | None, mean: float
) -> None:
    """Raise unless the difference, or the margin, is a number other than 0."""
    size = None if margin is None else size_of(check_margin(margin), mean)
    name, asked, number = (
        ("difference", difference, true) if margin is None else ("margin", margin, size)
    )
    if not number or true is None:
        raise ParameterError(
            f"a {name} is a number other than 0",
            found=f"{asked!r}, a baseline of {mean}",
            hint="a share of 0 is 0: pass a number" if isinstance(asked, str) else None,
        )


def _hypothesis(
    sample: _Sample,
    tested: MarginSize,
    side: int,
    true: float,
    bounds: Bounds,
    *,
    other: Result | None,
    correlation: float,
) -> _Hypothesis:
    """Return the hypothesis to reject on one side."""
    factor = tested.factor(side, sample.mean)
    claim = tested.claim(sample.pairs, bounds, side)
    assert isinstance(claim.pairs, Differences)
    deviation = claim.pairs.deviation / sample.pairs.deviation
    if other is None:  # of two systems that vary alike
        deviation = math.sqrt(1 + factor**2 - 2 * factor * correlation)
    return _Hypothesis(
        side,
        None if other is None else claim.pairs.x - claim.pairs.y,
        claim.most,
        deviation,
        tested.limit - side * (true + (1 - factor) * sample.mean),
        sample.sizes,
        sample.unseen_size,
    )


def _sample(
    result: Result,
    cell: str,
    other: Result | None,
    correlation: float,
    unit: SamplingUnit,
    largest_cluster: int | None,
) -> _Sample:
    """Return the values of both systems, or of one, by user or by cluster."""
    check_number("correlation", correlation)
    if other is None and not -1 <= correlation < 1:
        raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")

    both = {"result": result} | ({} if other is None else {"other": other})
    units = {name: each.units for name, each in both.items()}
    both = {name: replace(each, per_user=units[name]) for name, each in both.items()}
    aligned = align_units(both, cell, "common", unit, largest_cluster=largest_cluster)
    columns = [np.ascontiguousarray(column) for column in aligned.unit_values.T]
    pairs = Differences(columns[1], columns[0]) if len(columns) > 1 else differences(columns[0])
    _check_spread(pairs, cell, unit)
    mean = pairs.means[1] if len(columns) > 1 else pairs.means[0]
    clusters = aligned.clusters
    if clusters is None:
        return _Sample(pairs, mean, sizes=None, users=1.0, rows=1.0, unseen_size=1.0)
    rows = users = len(aligned.values) / clusters.count
    if unit.row == "request":
        people = groups_of_users(units, "user")[group_column("user")]
        users = 1.0 if unit.is_of_requests else people.n_unique() / clusters.count
    return _Sample(pairs, mean, clusters.sizes / rows, users, rows, clusters.unseen_size / rows)


def _check_spread(pairs: Differences, cell: str, unit: SamplingUnit) -> None:
    """Raise unless the spread of the values is known."""
    if pairs.n < 2:
        raise ParameterError(f"the spread of values needs two {unit.sampled}s", found=str(pairs.n))
    if np.isinf(pairs.d).any():
        raise ParameterError(f"{cell} is infinite for some users, so its spread is not known")
    if not pairs.deviation > 0:
        raise ParameterError(
            f"values do not vary over {unit.sampled}s, so any difference is certain"
        )
