r"""The noise floor of a system: how far two of its runs differ while nothing was changed.

With the means :math:`\bar x_r` of m runs, their variance :math:`s^2` and the variance
:math:`s_u^2` of user u over runs, two further single runs differ by at most

.. math:: t_{m - 1} \, s \sqrt 2 \quad\text{(by runs)}, \qquad
    t_\nu \sqrt 2 \, \frac{1}{n} \sqrt{\sum_u s_u^2}, \quad
    \nu = (m - 1) \frac{(\sum_u s_u^2)^2}{\sum_u s_u^4} \quad\text{(by users)}

with the chosen confidence. The first assumes nothing within a run. The second is right where the
noise of users is independent, as of sampled answers, and too small where users share it, as a seed.
The floor is the larger one: by runs alone it is 0 where two means agree by chance.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.stats.differences import (
    DIGITS,
    Floats,
    check_above_zero,
    check_level,
    numbers,
    t_quantile,
)


@dataclass(frozen=True)
class NoiseFloor:
    """How far runs of one system differ, from `noise_floor`.

    Attributes
    ----------
    runs : int
        The number of runs.
    users : int
        The number of users of each run; 0 if only means are known.
    mean : float
        The mean over runs.
    deviation, deviation_low, deviation_high : float
        The standard deviation between the means of runs, and its confidence limits.
    floor, floor_runs, floor_users : float
        The largest difference of two further runs while nothing is changed: the larger one of that
        by runs and that by users, and both.
    spread : float
        The largest mean minus the smallest.
    flips, ever, moved : float
        The share of users whose value differs between two runs; whose value differs in any run;
        the mean absolute change of a user between two runs.
    flips_high : float
        If no user changed: the upper limit of the share that may change between two runs.
    shared_variance, p_shared : float
        The variance between runs that users do not explain, and the p-value of the hypothesis that
        there is none. A test over users does not allow for this part.
    variance_users : float
        The variance of the mean over users.
    share_of_runs : float
        The share of runs in the variance of the mean of one run.
    residual : float
        The variance of the mean of a run that the noise of users explains.
    confidence : float
        The confidence level.
    """

    runs: int
    users: int
    mean: float
    deviation: float
    deviation_low: float
    deviation_high: float
    floor: float
    floor_runs: float
    floor_users: float
    spread: float
    flips: float
    ever: float
    moved: float
    flips_high: float
    shared_variance: float
    p_shared: float
    variance_users: float
    share_of_runs: float
    residual: float
    confidence: float

    @property
    def is_silent(self) -> bool:
        """Whether no user changed in any run."""
        return self.users > 0 and self.ever == 0

    def floor_of_means(self, runs: int) -> float:
        """Return the noise floor of the difference of two means over so many runs each."""
        return self.floor / math.sqrt(runs)

    def runs_above(self, difference: float) -> int:
        """Return the runs of each system from which the floor of their means is below a difference.

        >>> noise_floor([0.92, 0.905, 0.905, 0.915, 0.905]).runs_above(0.01)
        8
        """
        check_above_zero("difference", difference)
        return max(1, math.ceil((self.floor / difference) ** 2))

    def runs_needed(self, difference: float, power: float = 0.8) -> RunsNeeded:
        """Return how many runs of each system find a true difference."""
        from scipy.special import ndtri

        check_above_zero("difference", difference)
        check_level("power", power)
        level = (1 + self.confidence) / 2
        freedom = self.runs - 1
        by_t = t_quantile(level, freedom) + t_quantile(power, freedom)
        by_normal = float(ndtri(level) + ndtri(power))

        def runs(quantiles: float, deviation: float) -> int:
            return max(1, math.ceil((quantiles * deviation * math.sqrt(2) / difference) ** 2))

        return RunsNeeded(
            runs(by_t, self.deviation),
            runs(by_normal, self.deviation_low),
            runs(by_normal, self.deviation_high),
        )


@dataclass(frozen=True)
class RunsNeeded:
    """The number of runs of each system that find a difference, with its confidence limits."""

    runs: int
    low: int
    high: int


def noise_floor(values: Any, *, confidence: float = 0.95) -> NoiseFloor:
    """Return how far two runs of one system differ while nothing is changed.

    Parameters
    ----------
    values : array, shape (m, n) or (m,)
        The value of each user in each run, one row per run; or the means of runs alone.
    confidence : float, default=0.95
        The confidence level of the floor, and of limits.

    Returns
    -------
    NoiseFloor
        What users tell is NaN where only means are known; of equal means the floor is NaN, too.

    Raises
    ------
    InputError
        With fewer than two runs, or values that are missing or infinite.

    Examples
    --------
    >>> one, other = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    >>> found = noise_floor([one, other])
    >>> found.floor, found.flips
    (0.6085, 0.2)
    >>> noise_floor([0.920, 0.905, 0.905, 0.915, 0.905]).floor
    0.0278
    """
    check_level("confidence", confidence)
    data = numbers("values", values)
    if data.ndim not in (1, 2) or len(data) < 2 or not data.size:
        raise InputError(
            "a noise floor needs two runs or more: one row per run", found=f"shape {data.shape}"
        )
    if not np.isfinite(data).all():
        raise InputError("values hold NaN or infinite values")

    means = data if data.ndim == 1 else data.mean(axis=1)
    freedom = len(means) - 1
    deviation = _deviation(means)
    if data.ndim == 1 and not deviation:
        return _unknown_floor(means, confidence)
    of_users = _UserNoise.of(data, deviation**2, confidence) if data.ndim == 2 else _UserNoise()
    floor_runs = t_quantile((1 + confidence) / 2, freedom) * deviation * math.sqrt(2)
    low, high = _limits_of_deviation(deviation, freedom, confidence)
    return NoiseFloor(
        runs=len(means),
        users=data.shape[1] if data.ndim == 2 else 0,
        mean=float(means.mean()),
        deviation=deviation,
        deviation_low=low,
        deviation_high=high,
        floor=float(np.fmax(floor_runs, of_users.floor_users)),
        floor_runs=floor_runs,
        spread=float(np.ptp(means)),
        confidence=confidence,
        **asdict(of_users),
    )


def _unknown_floor(means: Floats, confidence: float) -> NoiseFloor:
    """Return the floor of equal means, of which no user tells how far runs differ."""
    unknown = dict.fromkeys(
        ("deviation", "deviation_low", "deviation_high", "floor", "floor_runs"), math.nan
    )
    return NoiseFloor(
        runs=len(means),
        users=0,
        mean=float(means.mean()),
        spread=0.0,
        confidence=confidence,
        **unknown,
        **asdict(_UserNoise()),
    )


def _deviation(values: Floats) -> float:
    """Return the standard deviation (n − 1); 0 if values differ by rounding alone."""
    is_constant = float(np.ptp(values)) <= DIGITS * float(np.abs(values).max(initial=0.0))
    return 0.0 if is_constant else float(values.std(ddof=1))


def _limits_of_deviation(deviation: float, freedom: int, confidence: float) -> tuple[float, float]:
    """Return the limits of a standard deviation by the chi-squared distribution."""
    from scipy.special import chdtri

    tail = (1 - confidence) / 2
    low, high = (math.sqrt(freedom / float(chdtri(freedom, above))) for above in (tail, 1 - tail))
    return deviation * low, deviation * high


@dataclass(frozen=True)
class _UserNoise:
    """The fields of a noise floor that users tell; NaN where only means are known."""

    floor_users: float = math.nan
    flips: float = math.nan
    ever: float = math.nan
    moved: float = math.nan
    flips_high: float = math.nan
    shared_variance: float = math.nan
    p_shared: float = math.nan
    variance_users: float = math.nan
    share_of_runs: float = math.nan
    residual: float = math.nan

    @classmethod
    def of(cls, data: Floats, variance: float, confidence: float) -> _UserNoise:
        """Return the noise of users; ``variance`` is that of the means of runs."""
        m, n = data.shape
        ever = float((np.ptp(data, axis=0) > 0).mean())
        residual = _residual(data)
        variance_users = _variance_users(data, residual)
        total = variance + variance_users
        return cls(
            floor_users=_floor_by_users(data, confidence),
            flips=_over_pairs(data, lambda change: (change > 0).mean()),
            ever=ever,
            moved=_over_pairs(data, lambda change: change.mean()),
            flips_high=1 - (1 - confidence) ** (1 / n) if ever == 0 else math.nan,
            shared_variance=max(0.0, variance - residual / n),
            p_shared=_p_of_shared_noise(variance, residual, m, n),
            variance_users=variance_users,
            share_of_runs=variance / total if total > 0 else 0.0,
            residual=residual / n,
        )


def _over_pairs(data: Floats, measure: Any) -> float:
    """Return the mean over pairs of runs of a measure of users' absolute changes."""
    m = len(data)
    changes = [measure(np.abs(data[a] - data[b])) for a in range(m) for b in range(a + 1, m)]
    return float(np.mean(changes))


def _floor_by_users(data: Floats, confidence: float) -> float:
    """Return the noise floor if the noise of users is independent."""
    variances = data.var(axis=0, ddof=1)
    total = float(variances.sum())
    if not total > 0:
        return 0.0
    freedom = (len(data) - 1) * total**2 / float((variances**2).sum())
    error = math.sqrt(2 * total) / data.shape[1]
    return float(t_quantile((1 + confidence) / 2, freedom) * error)


def _residual(data: Floats) -> float:
    """Return the mean square of what neither runs nor users explain."""
    m, n = data.shape
    if n < 2:
        return 0.0
    rest = data - data.mean(axis=0) - data.mean(axis=1)[:, None] + data.mean()
    mean_square = float((rest**2).sum()) / ((m - 1) * (n - 1))
    return mean_square if mean_square > (DIGITS * float(np.abs(data).max())) ** 2 else 0.0


def _variance_users(data: Floats, residual: float) -> float:
    """Return the variance of the mean over users, without the noise of their answers."""
    m, n = data.shape
    if n < 2:
        return 0.0
    return float(max(0.0, float(data.mean(axis=0).var(ddof=1)) - residual / m) / n)


def _p_of_shared_noise(variance: float, residual: float, m: int, n: int) -> float:
    """Return p of the hypothesis that runs differ by the noise of users alone; NaN without any."""
    from scipy.special import fdtrc

    if n < 2 or not max(variance, residual) > 0:
        return math.nan
    if not residual > 0:
        return 0.0  # all users move alike
    return float(fdtrc(m - 1, (m - 1) * (n - 1), n * variance / residual))
