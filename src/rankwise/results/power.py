"""Power analysis: how many users a comparison needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.arguments import check_number
from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.measure import Measure
from rankwise.results.align_users import align_users, main_measure
from rankwise.results.margins import check_difference, check_margin, size_of
from rankwise.results.result import Result
from rankwise.stats.differences import Differences, Floats, fewest_for_t
from rankwise.stats.power import power_of, users_needed, variance_interval

__all__ = ["SampleSize", "power", "sample_size"]

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
    measure: str | Measure | None = None,
    *,
    difference: float | str | None = None,
    margin: float | str | None = None,
    equivalence: bool = False,
    other: Result | None = None,
    correlation: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Return the power of a comparison: the probability of detecting a difference, or of showing non-inferiority.

    Parameters
    ----------
    result : Result
        The pilot, which is the baseline: its number of users, its mean and the standard deviation
        of the users' values are used.
    measure : str or Measure, optional
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
        The power of a t test; with a margin, the power is lower where fewer than 30 users differ.

    See Also
    --------
    sample_size : The number of users needed for a given power.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> power(result, "recall@1", difference=0.1)
    0.7342
    >>> power(result, "recall@1", margin="30%")
    0.8272
    """
    pilot = _pilot(result, measure, difference, margin, other, correlation, equivalence=equivalence)
    return power_of(len(pilot.values), alpha=alpha, **pilot.effect(float(pilot.values.std(ddof=1))))


def sample_size(
    result: Result,
    measure: str | Measure | None = None,
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
    """Return the number of users that a comparison needs to detect a difference, or to show non-inferiority.

    It is proportional to the variance of the differences, of which a small pilot is a poor
    estimate: with a pilot of 30 users, the power is below 0.7 in four of ten cases. The confidence
    interval of the number is that of the variance (Bonett 2006); the interval for 95 % covers the
    true number in 88 to 95 % of cases if most users do not differ.

    With a margin, it is at least the number of users of whom enough differ for the t test of a
    margin: 30, or more if their differences are skewed. Without ``other``, all users are assumed to
    differ.

    Parameters
    ----------
    result, measure, difference, margin, equivalence, other, correlation, alpha
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
    >>> found = sample_size(result, "recall@1", difference=0.1)
    >>> found.users, found.low, found.high
    (352, 326, 386)
    >>> int(sample_size(result, "recall@1", margin="30%"))
    278
    """
    pilot = _pilot(result, measure, difference, margin, other, correlation, equivalence=equivalence)
    values = pilot.values
    deviations = [float(values.std(ddof=1)), *map(math.sqrt, variance_interval(values, confidence=confidence))]
    users, *limits = (
        None
        if math.isnan(deviation)
        else max(users_needed(power=power, alpha=alpha, **pilot.effect(deviation)), pilot.fewest)
        for deviation in deviations
    )
    assert users is not None
    low, high = limits
    vague = low is None or high is None or high > _VAGUE * low
    flags = (f"a pilot of {len(values)} users is a poor estimate of the variance: plan for more",)
    return SampleSize(users, low, high, confidence, flags if vague else ())


@dataclass(frozen=True)
class _Pilot:
    """What a pilot tells about the users' differences.

    ``values`` are the differences, or without another system the values, of which the deviation
    times ``factor`` is that of differences. The true ``difference`` is above 0 if the system gains.
    From ``fewest`` users on, a t test of a margin is valid.
    """

    values: Floats
    factor: float
    difference: float
    margin: float | None
    equivalence: bool
    fewest: int

    def effect(self, deviation: float) -> dict[str, Any]:
        """Return the true difference and the margin in standard deviations of differences."""
        scale = deviation * self.factor
        margin = None if self.margin is None else self.margin / scale
        return {"effect": self.difference / scale, "margin": margin, "equivalence": self.equivalence}


def _pilot(
    result: Result,
    measure: str | Measure | None,
    difference: float | str | None,
    margin: float | str | None,
    other: Result | None,
    correlation: float,
    *,
    equivalence: bool,
) -> _Pilot:
    """Return the pilot of a comparison for a difference or a margin, checked."""
    for name, given in (("result", result), ("other", other)):
        if not isinstance(given, Result | None) or result is None:
            raise ParameterError(f"{name} is one result", found=type(given).__name__)
    if difference is None and margin is None:
        raise ParameterError(
            "a comparison is planned for a difference, or for a margin",
            hint="pass difference=, the difference to detect, or margin=, the largest one that does not matter",
        )
    cell = main_measure(result) if measure is None else result.cell(measure)
    if not result.is_mean_of_users(cell):
        raise MeasureError(f"{cell} is not a mean over users, so the number of users cannot be computed")
    better = result.direction(cell)
    if margin is not None and better is None and not equivalence:
        raise ParameterError(
            f"neither direction of {cell} is better, so no loss can be within the margin",
            found=f"margin={margin!r}",
            hint="equivalence=True plans for a difference smaller than the margin in both directions",
        )
    pairs, factor, mean = _pairs(result, cell, other, correlation)
    true = 0.0 if difference is None else size_of(check_difference(difference), mean)
    size = None if margin is None else size_of(check_margin(margin), mean)
    name, needed, number = ("difference", difference, true) if margin is None else ("margin", margin, size)
    if not number or true is None:
        hint = "a share of 0 is 0: pass a number" if isinstance(needed, str) else None
        raise ParameterError(f"a {name} is a number other than 0", found=f"{needed!r}, a baseline of {mean}", hint=hint)
    side = -1 if better is False else 1
    shape = (1.0, 0.0) if other is None else (pairs.nonzero / pairs.n, pairs.skewness)
    return _Pilot(pairs.d, factor, side * true, size, equivalence, 2 if margin is None else fewest_for_t(*shape))


def _pairs(result: Result, cell: str, other: Result | None, correlation: float) -> tuple[Differences, float, float]:
    """Return values or their differences, by how much their deviation is multiplied, and the baseline's mean."""
    check_number("correlation", correlation)
    if other is not None:
        aligned = align_users({"result": result, "other": other}, cell, "common")
        pairs, factor = Differences(aligned.values[:, 0], aligned.values[:, 1]), 1.0
    else:
        if not -1 <= correlation < 1:
            raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")
        users = result.per_user[cell].drop_nans().to_numpy()
        pairs, factor = Differences(users, np.zeros(len(users))), math.sqrt(2 * (1 - correlation))
    if pairs.n < 2:
        raise ParameterError("the spread of values needs two users", found=str(pairs.n))
    if np.isinf(pairs.d).any():
        raise ParameterError(f"{cell} is infinite for some users, so its spread is not known")
    if not pairs.deviation > 0:
        raise ParameterError("values do not vary over users, so any difference is certain")
    return pairs, factor, pairs.means[0]
