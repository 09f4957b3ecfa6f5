"""How many users a comparison needs, before it is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankwise.aligned import align_users, main_measure
from rankwise.errors import MeasureError, ParameterError
from rankwise.stats.differences import Differences
from rankwise.stats.power import power_of, users_needed

if TYPE_CHECKING:
    from rankwise.measures.measure import Measure
    from rankwise.result import Result

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
    """Return the chance that a comparison over these users finds a difference of means.

    Parameters
    ----------
    result : Result
        What tells how values vary over users, and how many there are.
    measure : str or Measure, optional
        A mean of users; by default ``ndcg@10``, or the first that there is.
    difference : float
        The difference of means that is to be found.
    other : Result, optional
        Another system on the same users: the differences of both tell how differences vary.
    correlation : float
        Without ``other``: how values of both systems are correlated over users; 0, the default,
        asks for the most users.
    alpha : float
        The level of the test.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> power(result, "recall@1", difference=0.1)
    0.7342
    """
    spread, users = _spread(result, measure, other, correlation)
    return power_of(users, _effect(difference, spread), alpha)


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
    """Return how many users a comparison needs to find a difference of means with some power.

    Parameters are those of `power`.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> sample_size(result, "recall@1", difference=0.1)
    352
    """
    spread, _ = _spread(result, measure, other, correlation)
    return users_needed(_effect(difference, spread), power=power, alpha=alpha)


def _effect(difference: float, spread: float) -> float:
    if not difference or not math.isfinite(difference):
        raise ParameterError("a difference is a number other than 0", found=f"{difference!r}")
    if not spread > 0:
        raise ParameterError("values do not vary over users, so any difference is certain")
    return difference / spread


def _spread(
    result: Result, measure: str | Measure | None, other: Result | None, correlation: float
) -> tuple[float, int]:
    """Return the standard deviation of differences, and the number of users."""
    cell = main_measure(result) if measure is None else result.cell(measure)
    if not result.is_mean_of_users(cell):
        raise MeasureError(f"{cell} is no mean of users, so no number of users can be said")
    if other is not None:
        aligned = align_users({"result": result, "other": other}, cell, "common")
        own = Differences(aligned.values[:, 0], aligned.values[:, 1])
        return own.deviation, own.n
    if not -1 <= correlation < 1:
        raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")
    values = result.per_user[cell].drop_nans().to_numpy()
    if len(values) < 2:
        raise ParameterError("the spread of values needs two users", found=str(len(values)))
    return float(values.std(ddof=1)) * math.sqrt(2 * (1 - correlation)), len(values)
