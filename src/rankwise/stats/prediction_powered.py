r"""Prediction-powered inference: a mean from few human labels and many labels of a model.

.. math:: \hat\theta = \lambda \bar f_{others} + \overline{y - \lambda f}_{labelled}, \qquad
    \lambda = \frac{Cov(y, f)}{(1 + n / N) \, Var(f)}

for n labelled values y, with f the model's values. It is unbiased for every fixed λ and every
model: if the model is useless, λ is about 0 and the labelled mean is left. The standard error is
that of the jackknife over labelled users, each time with the λ of the others: with a λ that is
taken for fixed, intervals of few labels are too narrow.

A t interval of rare values covers less than it says: of 30 users of whom 3 % have a hit, two in
five samples have none. Where the bounds of a value are known, and the labelled values are too few
for their skewness, limits are at least as wide as those of a bounded mean: the distances of the
limits of :math:`y - \lambda f` and of :math:`\lambda f` from their means add up as squares (Zou &
Donner 2008).

References: Angelopoulos, Duchi & Zrnic 2023, PPI++: efficient prediction-powered inference,
arXiv:2311.01453; Zou & Donner 2008, Construction of confidence limits about effect measures,
Statistics in Medicine 27.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter
from rankwise.stats.bounded_means import bounded_mean_interval
from rankwise.stats.data_sets import cluster_values, groups_of, jackknife_error, satterthwaite
from rankwise.stats.differences import (
    DIGITS,
    UNVARIED,
    Differences,
    Floats,
    Interval,
    check_level,
    column,
    t_around,
    t_quantile,
    too_skewed,
)

_FEW = 30  # labelled values, below which the interval is approximate
_RARE = "few labelled users differ, or their values are skewed: limits allow for rare values"


@dataclass(frozen=True, kw_only=True)
class PredictionPowered(Interval):
    """The interval of `prediction_powered`, with its components.

    Attributes
    ----------
    error : float
        The standard error of the estimate, including that of λ if it was chosen.
    weight : float
        λ, the weight of the model's values.
    human, human_error : float
        The mean of the labelled values alone, and its standard error.
    model : float
        The mean of the model's values alone, which may be biased.
    equivalent : float
        How many labelled values would have had this standard error without the model.
    """

    error: float
    weight: float
    human: float
    human_error: float
    model: float
    equivalent: float


def prediction_powered(
    human: Any,
    model: Any,
    others: Any,
    *,
    confidence: float = 0.95,
    weight: float | None = None,
    bounds: tuple[float, float] | None = None,
    cluster: Any = None,
    other_cluster: Any = None,
) -> PredictionPowered:
    """Return the interval of a mean that few human labels and many labels of a model estimate.

    The labelled users have to be a random sample of all users. The limits are those of Student's t
    with n − 2 degrees of freedom. Users with several values, as one for each request, are the
    sample if they are passed as clusters: each counts once, whatever number of requests the mean
    over all of them gives it.

    Parameters
    ----------
    human : array, shape (n,)
        The values of labelled users by human labels.
    model : array, shape (n,)
        The values of the same users by the model's labels.
    others : array, shape (N,)
        The values of all other users by the model's labels.
    confidence : float, default=0.95
        The confidence level.
    weight : float, optional
        λ, from 0 (human labels alone) to 1; by default the one of least variance.
    bounds : tuple of float, optional
        The smallest and the largest possible value by human labels and by the model's. With it,
        limits also hold for rare values: where the labelled users are too few for their skewness,
        they are never narrower than those of a bounded mean.
    cluster, other_cluster : array, shape (n,) and (N,), optional
        The user of each labelled value, and of each other one.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    InputError
        If a value is missing, or there are fewer than three labelled users or two others.

    Examples
    --------
    >>> human, model = [0.5, 0.25, 1.0, 0.0, 0.75], [0.75, 0.5, 1.0, 0.25, 1.0]
    >>> interval = prediction_powered(human, model, [0.75, 0.5, 1.0, 1.0, 0.25, 0.5, 0.75, 0.25] * 5)
    >>> interval.estimate, interval.human, interval.model
    (0.425, 0.5, 0.633)
    >>> hits = [1.0] + [0.0] * 59  # one of 60 labelled users, and a judge who says nothing
    >>> interval = prediction_powered(hits, [0.5] * 60, [0.5] * 1000, bounds=(0, 1))
    >>> interval.low, interval.high
    (0.0, 0.0894)
    """
    check_level("confidence", confidence)
    if bounds is not None and not bounds[0] < bounds[1]:
        raise ParameterError(
            "bounds are the smallest and the largest possible value",
            found=parameter("bounds", bounds),
        )
    y, f, rest = _check_values(human, model, others)
    of_model, freedom = float(np.concatenate([f, rest]).mean()), float(len(y) - 2)
    if cluster is not None:
        (y, f), freedom = _by_user("cluster", cluster, [y, f])
        (rest,), _ = _by_user("other_cluster", other_cluster, [rest])
    n = len(y)
    if n < 3 or len(rest) < 2:
        raise InputError(
            "at least three labelled users and two others are needed",
            found=f"{n} labelled, {len(rest)} others",
        )
    if weight is not None and not 0 <= weight <= 1:
        raise ParameterError("weight must lie between 0 and 1", found=parameter("weight", weight))

    without: float | Floats
    if weight is None:
        used, without = _best_weights(y, f, rest)
    else:
        used = without = float(weight)
    estimate = used * float(rest.mean()) + float((y - used * f).mean())
    y_without_each = (y.sum() - y) / (n - 1)
    f_without_each = (f.sum() - f) / (n - 1)
    of_labels, _ = jackknife_error(y_without_each + without * (rest.mean() - f_without_each))
    error = math.hypot(of_labels, used * float(rest.std(ddof=1)) / math.sqrt(len(rest)))
    human_error = float(y.std(ddof=1)) / math.sqrt(n)

    flags = (f"approximate: {n} labelled users, fewer than {_FEW}",) if n < _FEW else ()
    interval = t_around(
        estimate,
        error,
        freedom,
        confidence=confidence,
        method="prediction-powered",
        n=n,
        flags=flags,
    )
    if bounds is not None:
        interval = _for_rare_values(interval, y - used * f, used * rest, used, bounds)
    return PredictionPowered(
        **vars(interval),
        error=error,
        weight=used,
        human=float(y.mean()),
        human_error=human_error,
        model=of_model,
        equivalent=n * human_error**2 / error**2 if error > 0 else math.nan,
    )


def _check_values(human: Any, model: Any, others: Any) -> tuple[Floats, Floats, Floats]:
    """Return the values by human labels and by the model's, which are pairs, and the others."""
    y, f, rest = column("human", human), column("model", model), column("others", others)
    if len(y) != len(f):
        raise InputError(
            "human and model hold one value per labelled user",
            found=f"{len(y)} and {len(f)} values",
        )
    if not all(np.isfinite(values).all() for values in (y, f, rest)):
        raise InputError("human, model and others hold NaN or infinite values")
    return y, f, rest


def _for_rare_values(
    interval: Interval,
    labelled: Floats,
    others: Floats,
    weight: float,
    bounds: tuple[float, float],
) -> Interval:
    """Return limits that hold for rare values as well, where labelled users are too few for t.

    ``labelled`` are the values by human labels minus the weighted values of the model, ``others``
    the weighted values of the model for all other users.
    """
    pairs = Differences(labelled, np.zeros(len(labelled)))
    varies = pairs.deviation > DIGITS * np.abs(labelled).max(initial=0.0)
    if varies and not too_skewed(pairs):
        return interval
    low, high = bounds
    confidence = interval.confidence
    of_labels = bounded_mean_interval(
        labelled, bounds=(low - weight * high, high - weight * low), confidence=confidence
    )
    error = float(others.std(ddof=1)) / math.sqrt(len(others))
    of_others = t_quantile((1 + confidence) / 2, len(others) - 1) * error
    below = math.hypot(of_labels.estimate - of_labels.low, of_others)
    above = math.hypot(of_labels.high - of_labels.estimate, of_others)
    flags = tuple(flag for flag in interval.flags if flag != UNVARIED)
    return replace(
        interval,
        low=max(float(np.fmin(interval.low, interval.estimate - below)), float(low)),
        high=min(float(np.fmax(interval.high, interval.estimate + above)), float(high)),
        flags=(*flags, _RARE),
    )


def _by_user(name: str, users: Any, columns: list[Floats]) -> tuple[list[Floats], float]:
    """Return one value per user for each column, and the degrees of freedom of unequal users."""
    distinct, codes = groups_of(name, users, len(columns[0]))
    if len(distinct) < 2:
        return [values[: len(distinct)] for values in columns], 1.0
    freedom = satterthwaite(np.bincount(codes).astype(np.float64)) - 1
    return [cluster_values(values, codes) for values in columns], max(freedom, 1.0)


def _best_weights(y: Floats, f: Floats, others: Floats) -> tuple[float, Floats]:
    """Return the λ of least variance, from 0 to 1, for all labelled users and without each user."""
    n, every = len(y), np.concatenate([f, others])
    rounding, size = (DIGITS * np.abs(every).max()) ** 2, len(every)
    squares = (every - every.mean()) ** 2
    products = (y - y.mean()) * (f - f.mean())

    def best(covariance: Any, variance: Any, ratio: float) -> Any:
        varied = variance > rounding
        return np.where(
            varied, covariance / ((1 + ratio) * np.where(varied, variance, 1.0)), 0.0
        ).clip(0.0, 1.0)

    covariances = (products.sum() - products * n / (n - 1)) / (n - 2)
    variances = (squares.sum() - squares[:n] * size / (size - 1)) / (size - 2)
    used = best(products.sum() / (n - 1), squares.sum() / (size - 1), n / len(others))
    return float(used), best(covariances, variances, (n - 1) / len(others))
