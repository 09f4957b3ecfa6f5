"""Power analysis: how many users a comparison needs."""

from __future__ import annotations

import math

from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.measure import Measure
from rankwise.results.align_users import align_users, main_measure
from rankwise.results.result import Result
from rankwise.stats.differences import Differences
from rankwise.stats.power import power_of, users_needed

__all__ = ["power", "sample_size"]


def power(
    result: Result,
    measure: str | Measure | None = None,
    *,
    difference: float,
    other: Result | None = None,
    correlation: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Return the probability that a comparison over these users detects a difference of means.

    Parameters
    ----------
    result : Result
        Gives the number of users and the standard deviation of their values.
    measure : str or Measure, optional
        A mean over users; by default ``ndcg@10``, or the first such mean.
    difference : float
        The difference of means to detect.
    other : Result, optional
        Another system on the same users, to estimate the standard deviation of differences.
    correlation : float, default=0.0
        Without ``other``: the correlation of both systems' values; below 0 more users are needed.
    alpha : float, default=0.05
        The significance level of the test.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> power(result, "recall@1", difference=0.1)
    0.7342
    """
    effect_size, users = _effect_size(result, measure, difference, other, correlation)
    return power_of(users, effect_size, alpha)


def sample_size(
    result: Result,
    measure: str | Measure | None = None,
    *,
    difference: float,
    other: Result | None = None,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Return how many users a comparison needs to detect a difference of means.

    Parameters are those of `power`; ``power``, by default 0.8, is the probability to reach.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> sample_size(result, "recall@1", difference=0.1)
    352
    """
    effect_size, _ = _effect_size(result, measure, difference, other, correlation)
    return users_needed(effect_size, power=power, alpha=alpha)


def _effect_size(
    result: Result, measure: str | Measure | None, difference: float, other: Result | None,
    correlation: float,
) -> tuple[float, int]:  # fmt: skip
    """Return a difference in standard deviations of differences, and the number of users."""
    cell = main_measure(result) if measure is None else result.cell(measure)
    if not result.is_mean_of_users(cell):
        raise MeasureError(f"{cell} is no mean of users, so no number of users can be said")
    if other is not None:
        aligned = align_users({"result": result, "other": other}, cell, "common")
        differences = Differences(aligned.values[:, 0], aligned.values[:, 1])
        deviation, users = differences.deviation, differences.n
    else:
        if not -1 <= correlation < 1:
            raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")
        values = result.per_user[cell].drop_nans().to_numpy()
        if len(values) < 2:
            raise ParameterError("the spread of values needs two users", found=str(len(values)))
        deviation, users = float(values.std(ddof=1)) * math.sqrt(2 * (1 - correlation)), len(values)
    if not difference or not math.isfinite(difference):
        raise ParameterError("a difference is a number other than 0", found=f"{difference!r}")
    if not deviation > 0:
        raise ParameterError("values do not vary over users, so any difference is certain")
    return difference / deviation, users
