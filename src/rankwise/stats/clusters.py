"""Intervals where rows are not independent users: clusters, samples of a known whole, seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.arguments import check_count
from rankwise.errors import InputError
from rankwise.stats.differences import Floats, Interval, check_level, column, numbers, t_around

__all__ = ["TwoLevel", "clustered", "finite_population", "jackknife", "two_level"]


def clustered(values: Any, cluster: Any, *, confidence: float = 0.95) -> Interval:
    r"""Return the interval of the mean of rows of which several belong to one user.

    With :math:`a_u` the sum and :math:`m_u` the number of user u's rows,
    :math:`\theta = \sum a_u / \sum m_u` has standard error

    .. math:: \sqrt{\tfrac{n}{n - 1} \textstyle\sum_u (a_u - \theta m_u)^2} / \sum_u m_u .

    Parameters
    ----------
    values : array, shape (rows,)
        A value a row.
    cluster : array, shape (rows,)
        Whose row it is.
    confidence : float
        The confidence.

    Examples
    --------
    >>> found = clustered([1.0, 1.0, 0.0, 0.0, 1.0, 0.0], [1, 1, 2, 2, 3, 3])
    >>> found.estimate, found.n
    (0.5, 3)
    """
    check_level("confidence", confidence)
    own = column("values", values)
    of = pl.Series(cluster, strict=False)
    gaps = of.null_count() + (int(of.is_nan().sum()) if of.dtype.is_float() else 0)
    if gaps:
        raise InputError("a row has no cluster", found=f"{gaps} such rows")
    names, code = np.unique(of.to_numpy(), return_inverse=True)
    if len(code) != len(own) or np.isnan(own).any():
        raise InputError("each value has a cluster, and none is NaN",
                         found=f"{len(own)} values, {len(code)} clusters")  # fmt: skip
    n = len(names)
    total, size = np.bincount(code, own, n), np.bincount(code, minlength=n)
    mean = float(total.sum() / size.sum()) if n else math.nan
    if n < 2:
        flags = ("fewer than two clusters",)
        return Interval(mean, math.nan, math.nan, confidence, "clustered t", n, flags)
    error = math.sqrt(n / (n - 1) * float(((total - mean * size) ** 2).sum())) / float(size.sum())
    return t_around(mean, error, n - 1, confidence=confidence, method="clustered t", n=n)


def finite_population(values: Any, population: int, *, confidence: float = 0.95) -> Interval:
    r"""Return the interval of the mean of a known number of users, of whom some were evaluated.

    The t interval with :math:`s / \sqrt n \cdot \sqrt{1 - n / N}`: right for *these* N users, as
    where a sample of logged users stands for all that are logged. For users of the future there is
    no such correction.

    Parameters
    ----------
    values : array, shape (n,)
        A value for each evaluated user.
    population : int
        How many users there are, N.
    """
    check_level("confidence", confidence)
    check_count(population=population)
    own = column("values", values)
    if np.isnan(own).any() or len(own) < 2 or population < len(own):
        raise InputError(
            "a population holds at least the users who were evaluated, two or more, none NaN",
            found=f"{len(own)} values, {int(np.isnan(own).sum())} NaN, population {population}",
        )
    n = len(own)
    error = float(own.std(ddof=1)) / math.sqrt(n) * math.sqrt(1 - n / population)
    return t_around(
        float(own.mean()), error, n - 1, confidence=confidence, method="finite population t", n=n,
        flags=("of these users, not of future ones",),
    )  # fmt: skip


@dataclass(frozen=True)
class TwoLevel:
    """An interval over seeds and users, and what each of them contributes.

    Attributes
    ----------
    interval : Interval
        Of the mean over seeds and users.
    variance_of_seeds, variance_of_users : float
        Their parts of the variance of the mean.
    """

    interval: Interval
    variance_of_seeds: float
    variance_of_users: float


def two_level(values: Any, *, confidence: float = 0.95) -> TwoLevel:
    r"""Return the interval of a mean over seeds (or splits) and users, both taken for samples.

    The variance of the mean is that of the means of users over seeds, :math:`s_U^2 / n`, plus that
    of the means of seeds over users, :math:`s_S^2 / m`, less the part that both count, the residual
    :math:`s_R^2 / (nm)` (the two-way crossed design; Owen 2007). Degrees of freedom after
    Satterthwaite.

    Parameters
    ----------
    values : array, shape (m, n)
        A row a seed, a column a user; no NaN.

    Examples
    --------
    >>> found = two_level([[0.1, 0.5, 0.3], [0.2, 0.6, 0.4]])
    >>> found.interval.estimate
    0.35
    """
    check_level("confidence", confidence)
    x = numbers("values", values)
    if x.ndim != 2 or min(x.shape) < 2 or not np.isfinite(x).all():
        raise InputError("values have a row a seed and a column a user, two of each or more",
                         found=f"shape {x.shape}")  # fmt: skip
    m, n = x.shape
    users, seeds, mean = x.mean(axis=0), x.mean(axis=1), float(x.mean())
    rest = x - users - seeds[:, None] + mean
    residual = float((rest**2).sum()) / ((m - 1) * (n - 1)) / (m * n)
    of_users, of_seeds = float(users.var(ddof=1)) / n, float(seeds.var(ddof=1)) / m
    variance = max(of_users + of_seeds - residual, of_users, of_seeds)
    freedom = _satterthwaite([(of_users, n - 1), (of_seeds, m - 1)])
    interval = t_around(
        mean, math.sqrt(variance), freedom, confidence=confidence, method="two-level t", n=n
    )
    return TwoLevel(interval, max(of_seeds - residual, 0.0), max(of_users - residual, 0.0))


def _satterthwaite(parts: list[tuple[float, int]]) -> float:
    total = sum(variance for variance, _ in parts)
    below = sum(variance**2 / freedom for variance, freedom in parts)
    return total**2 / below if below else float(min(freedom for _, freedom in parts))


def jackknife(estimate: float, replicates: Any, *, confidence: float = 0.95) -> Interval:
    r"""Return the interval of what was also worked out without each of G groups of users.

    .. math:: se^2 = \tfrac{G - 1}{G} \textstyle\sum_g (\theta_{(g)} - \bar\theta)^2

    with t quantiles of G − 1 degrees of freedom. It holds for what is not a mean of users, such as
    coverage or Gini, where drawing users again leaves a third of them out and is off by more than
    its own width.

    Parameters
    ----------
    estimate : float
        The value over all users.
    replicates : array, shape (G,)
        The value without each group; groups of about equal size, formed at random.

    Examples
    --------
    >>> found = jackknife(2.0, [1.9, 2.0, 2.1, 2.0])
    >>> found.high - found.estimate
    0.3898
    """
    check_level("confidence", confidence)
    own: Floats = column("replicates", replicates)
    real = own[~np.isnan(own)]
    g = len(real)
    flags: tuple[str, ...] = (
        () if g == len(own) else (f"{len(own) - g} groups without which there is no value",)
    )
    error = math.nan
    if g < 2:
        flags = (*flags, "fewer than two groups")
    else:
        error = math.sqrt((g - 1) / g * float(((real - real.mean()) ** 2).sum()))
    return t_around(
        estimate, error, g - 1, confidence=confidence, method="jackknife", n=g, flags=flags
    )
