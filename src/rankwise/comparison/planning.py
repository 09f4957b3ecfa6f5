"""How many users a comparison needs, and its power, from a pilot."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rankwise.comparison.alignment import align_users
from rankwise.comparison.comparability import default_primary
from rankwise.comparison.family import bounds_of
from rankwise.core.arguments import check_number
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.margins import check_difference, check_margin, margin_test, size_of
from rankwise.messages import parameter
from rankwise.metrics.base import Metric
from rankwise.results.result import Result
from rankwise.stats.bounded_means import BoundedMean
from rankwise.stats.differences import Differences, Floats, check_level, fewest_for_t
from rankwise.stats.equivalence import Margin as MarginSize
from rankwise.stats.equivalence import fewest_users, power_of_t, variance_interval

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
    """

    users: int
    low: int | None
    high: int | None
    confidence: float
    flags: tuple[str, ...] = ()

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
    pilot = _pilot(result, metric, difference, margin, other, correlation, equivalence=equivalence)
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
    pilot = _pilot(result, metric, difference, margin, other, correlation, equivalence=equivalence)
    values = pilot.values
    deviations = [
        pilot.deviation,
        *map(math.sqrt, variance_interval(values, confidence=confidence)),
    ]
    users, *limits = (
        None if math.isnan(deviation) else pilot.users(deviation, alpha=alpha, power=power)
        for deviation in deviations
    )
    assert users is not None
    low, high = limits
    vague = low is None or high is None or high > _VAGUE * low
    flags = (f"a pilot of {len(values)} users is a poor estimate of the variance: plan for more",)
    return SampleSize(users, low, high, confidence, flags if vague else ())


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

    def sample(self, deviation: float) -> BoundedMean:
        """Return the bounded mean of the differences for a deviation of the pilot's values."""
        if self.values is None:
            values = np.array([-1.0, 1.0]) * deviation * self.factor
        else:
            centred = self.side * (self.values - self.values.mean())
            values = self.side * self.values.mean() + centred * (
                deviation * self.factor / self.values.std(ddof=1)
            )
        return BoundedMean.of(np.minimum(values, self.most), self.most)


@dataclass(frozen=True)
class _Pilot:
    """The users' values of a pilot, and the hypotheses to reject (all of them with a margin).

    From ``fewest`` users on, a t test of a margin is valid.
    """

    values: Floats
    hypotheses: list[_Hypothesis]
    sides: int
    fewest: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the pilot's values."""
        return float(self.values.std(ddof=1))

    def power(self, n: int, deviation: float, alpha: float) -> float:
        """Return the power with n users, if the values of the pilot have this deviation."""
        powers = []
        for one in self.hypotheses:
            if math.isfinite(one.most):
                powers.append(one.sample(deviation).power(n, one.gap, alpha=alpha / self.sides))
            else:
                powers.append(
                    power_of_t(n, one.gap / (deviation * one.factor), alpha, sides=self.sides)
                )
        return max(sum(powers) - (len(powers) - 1), 0.0)

    def users(self, deviation: float, *, alpha: float, power: float) -> int:
        """Return the number of users for a power."""
        if min(one.gap / (deviation * one.factor) for one in self.hypotheses) < _TINY:
            raise ParameterError("an effect this small needs 10**12 users or more")
        return max(fewest_users(lambda n: self.power(n, deviation, alpha), power), self.fewest)


def _pilot(
    result: Result,
    metric: str | Metric | None,
    difference: float | str | None,
    margin: float | str | None,
    other: Result | None,
    correlation: float,
    *,
    equivalence: bool,
) -> _Pilot:
    """Return the pilot of a comparison for a difference or a margin, checked."""
    for name, value in (("result", result), ("other", other)):
        if not isinstance(value, Result | None) or result is None:
            raise ParameterError(f"{name} is one result", found=type(value).__name__)
    if difference is None and margin is None:
        raise ParameterError(
            "a comparison is planned for a difference, or for a margin",
            hint=f"pass {parameter('difference')}, the difference to detect, or "
            f"{parameter('margin')}, the largest one that "
            "does not matter",
        )
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
    better = result.direction(cell)
    if margin is not None and better is None and not equivalence:
        raise ParameterError(
            f"neither direction of {cell} is better, so no loss can be within the margin",
            found=parameter("margin", margin),
            hint=f"{parameter('equivalence', True)} plans for a difference smaller than the "
            "margin in both "
            "directions",
        )
    pairs, mean = _planned_pairs(result, cell, other, correlation)
    true = 0.0 if difference is None else size_of(check_difference(difference), mean)
    size = None if margin is None else size_of(check_margin(margin), mean)
    name, needed, number = (
        ("difference", difference, true) if margin is None else ("margin", margin, size)
    )
    if not number or true is None:
        hint = "a share of 0 is 0: pass a number" if isinstance(needed, str) else None
        raise ParameterError(
            f"a {name} is a number other than 0",
            found=f"{needed!r}, a baseline of {mean}",
            hint=hint,
        )
    bounds = bounds_of({"result": result}, cell)
    if margin is None:
        if equivalence:
            raise ParameterError("equivalence needs a margin", found=parameter("margin", None))
        tested: MarginSize | None = MarginSize(abs(true))
        sides, true = [-1], 0.0
    else:
        tested, sides = (
            margin_test(check_margin(margin)),
            [1, -1] if equivalence else [-1 if better else 1],
        )
    assert tested is not None
    hypotheses = []
    for side in sides:
        factor = tested.factor(side, mean)
        gap = tested.limit - side * (true + (1 - factor) * mean)
        if not 0 < gap < math.inf:
            what = "a loss of the margin or more is never shown to be within it"
            raise ParameterError(
                what, found=f"{parameter('difference', difference)}, {parameter('margin', margin)}"
            )
        claim = tested.claim(pairs, bounds, side)
        assert isinstance(claim.pairs, Differences)
        deviation = claim.pairs.deviation / pairs.deviation
        if other is None:  # of two systems that vary alike
            deviation = math.sqrt(1 + factor**2 - 2 * factor * correlation)
        values = None if other is None else claim.pairs.x - claim.pairs.y
        hypotheses.append(_Hypothesis(side, values, claim.most, deviation, gap))
    by_t = margin is not None and not math.isfinite(bounds[1] - bounds[0])
    shape = (1.0, 0.0) if other is None else (pairs.nonzero / pairs.n, pairs.skewness)
    return _Pilot(
        pairs.d, hypotheses, 2 if margin is None else 1, fewest_for_t(*shape) if by_t else 2
    )


def _planned_pairs(
    result: Result, cell: str, other: Result | None, correlation: float
) -> tuple[Differences, float]:
    """Return the system and the baseline, or the values of one system, and the baseline's mean."""
    check_number("correlation", correlation)
    both = {"result": result} | ({} if other is None else {"other": other})
    if any(each.has_requests for each in both.values()):
        raise ParameterError(
            "a plan is about users, and these means are over requests",
            hint=f"evaluate with {parameter('mean_over', 'users')}",
        )
    both = {name: replace(each, per_user=each.units) for name, each in both.items()}
    if other is not None:
        aligned = align_users(both, cell, "common")
        pairs = Differences(aligned.values[:, 1], aligned.values[:, 0])
        mean = pairs.means[1]
    else:
        if not -1 <= correlation < 1:
            raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")
        users = both["result"].per_user[cell].drop_nans().to_numpy()
        pairs = Differences(users, np.zeros(len(users)))
        mean = pairs.means[0]
    if pairs.n < 2:
        raise ParameterError("the spread of values needs two users", found=str(pairs.n))
    if np.isinf(pairs.d).any():
        raise ParameterError(f"{cell} is infinite for some users, so its spread is not known")
    if not pairs.deviation > 0:
        raise ParameterError("values do not vary over users, so any difference is certain")
    return pairs, mean
