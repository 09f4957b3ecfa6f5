r"""The relation of two true effects measured with error, for example offline and online effects.

Launch i has an observed pair :math:`(x_i, y_i)` with a known error covariance matrix :math:`V_i`.
The true pair is :math:`(\theta_i, \eta_i) \sim N(m, S)`, so that
:math:`(x_i, y_i) \sim N(m, S + V_i)`. S is estimated by maximum likelihood, with m profiled; the
slope is :math:`S_{xy} / S_{xx}`, and its interval holds all slopes that a likelihood-ratio test
does not reject. Regressing y on x would estimate the slope of the sum of S and the mean of V:
errors in x pull it towards 0, and errors that both share, because the same users were observed,
pull it towards the slope of the errors.

References: Fuller 1987, Measurement error models, Wiley; Tripuraneni et al. 2023, Choosing a proxy
metric from past experiments, arXiv:2309.07893.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rankwise.errors import InputError
from rankwise.stats.differences import (
    Floats,
    Interval,
    check_level,
    column,
    numbers,
    root_of,
    t_quantile,
)

_SMALLEST, _LARGEST = math.log(1e-9), math.log(1e6)  # a variance, in units of that observed
_STEP = math.pi / 32  # of the search for the limits of an interval
_ITERATIONS = 200  # of a fit, at most
_LEAST = 3
_NO_EVIDENCE = 0.1  # a likelihood-ratio statistic that a slope of 0 has in a quarter of samples
_Family: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""A parametrisation: S at some parameters, as xx, xy and yy, and its derivative by each."""


@dataclass(frozen=True)
class TrueEffects:
    """The joint distribution of two true effects, from `true_effects`.

    Attributes
    ----------
    n : int
        Number of observed pairs.
    mean : tuple of float
        The means of the true effects.
    covariance : tuple of tuples of float
        The covariance matrix of the true effects.
    slope, correlation : Interval
        The slope of the second true effect on the first, and their correlation, with
        likelihood-ratio intervals. The limits of a slope are infinite if its set of values is
        unbounded.
    evidence : float
        The likelihood-ratio statistic of the hypothesis that the slope is 0.
    """

    n: int
    mean: tuple[float, float]
    covariance: tuple[tuple[float, float], tuple[float, float]]
    slope: Interval
    correlation: Interval
    evidence: float

    @property
    def residual(self) -> float:
        """The variance of the second true effect, given the first."""
        (xx, xy), (_, yy) = self.covariance
        return max(yy - xy * xy / xx, 0.0) if xx > 0 else yy

    @property
    def sign_agreement(self) -> float:
        """The probability that both true effects of a further pair have the same sign."""
        from scipy.special import ndtr, ndtri

        spread = max(math.sqrt(self.covariance[0][0]), 1e-150)
        negative = float(ndtr(-self.mean[0] / spread))
        nodes, weights = np.polynomial.legendre.leggauss(200)
        total = 0.0
        for low, high, sign in ((0.0, negative, -1.0), (negative, 1.0, 1.0)):
            shares = low + (high - low) * (nodes + 1) / 2
            expected = self.mean[1] + self.slope.estimate * spread * ndtri(shares)
            total += (
                (high - low)
                / 2
                * float(weights @ ndtr(sign * expected / max(math.sqrt(self.residual), 1e-150)))
            )
        return total

    def threshold(self, probability: float = 0.8) -> float:
        """Return the first true effect from which the second is positive with a probability.

        NaN if the estimated slope is not positive.
        """
        from scipy.special import ndtri

        check_level("probability", probability)
        if not self.slope.estimate > 0:
            return math.nan
        needed = float(ndtri(probability)) * math.sqrt(self.residual) - self.mean[1]
        return self.mean[0] + needed / self.slope.estimate

    def pairs_needed(self, power: float = 0.8) -> int | None:
        """Return how many pairs would show the estimated slope's sign; None if the slope is near 0.

        The likelihood-ratio statistic grows in proportion to the number of pairs.
        """
        from scipy.special import ndtri

        check_level("power", power)
        if self.evidence < _NO_EVIDENCE:
            return None
        tail = (1 - self.slope.confidence) / 2
        return math.ceil(self.n * float(ndtri(1 - tail) + ndtri(power)) ** 2 / self.evidence)


@dataclass(frozen=True)
class _Sample:
    """Observed pairs with their error covariances; symmetric matrices are xx, xy and yy."""

    x: Floats
    y: Floats
    xx: Floats
    xy: Floats
    yy: Floats

    def scaled(self) -> tuple[_Sample, float, float]:
        """Return it in units in which a slope is of the order of 1, and the units of x and y."""
        wide, high = float(self.x.std()), float(self.y.std())
        scaled = _Sample(
            self.x / wide,
            self.y / high,
            self.xx / wide**2,
            self.xy / (wide * high),
            self.yy / high**2,
        )
        return scaled, wide, high

    def without(self, pair: int) -> _Sample:
        """Return it without a pair."""
        parts = (self.x, self.y, self.xx, self.xy, self.yy)
        return _Sample(*(np.delete(part, pair) for part in parts))

    def maximum(self, gain: float) -> tuple[float, Floats]:
        """Return the smallest negative log-likelihood and its parameters, from several starts."""
        angles = (0.6, -0.6, 0.1, 1.3)
        starts = [np.array([angle, math.log(0.5), math.log(0.3)]) for angle in angles]
        coarse = (self.fitted(_free, start, 1e-6) for start in starts)
        _, best = min(coarse, key=lambda fit: fit[0])
        return self.fitted(_free, best, gain)

    def at(self, s: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return negative log-likelihood, derivative and information at S, and the profiled m."""
        a, b, c = self.xx + s[0], self.xy + s[1], self.yy + s[2]
        determinant = a * c - b * b
        p, q, r = c / determinant, -b / determinant, a / determinant
        weights = np.array([[p.sum(), q.sum()], [q.sum(), r.sum()]])
        m = np.linalg.solve(weights, np.array([p @ self.x + q @ self.y, q @ self.x + r @ self.y]))
        dx, dy = self.x - m[0], self.y - m[1]
        u, v = p * dx + q * dy, q * dx + r * dy
        value = 0.5 * float(dx @ u + dy @ v + np.log(determinant).sum())
        by_s = np.array([0.5 * (p.sum() - u @ u), q.sum() - u @ v, 0.5 * (r.sum() - v @ v)])
        pq, qq, qr = 2 * (p @ q), q @ q, 2 * (q @ r)
        information = 0.5 * np.array([[p @ p, pq, qq], [pq, 2 * (qq + p @ r), qr], [qq, qr, r @ r]])
        return value, by_s, information, m

    def fitted(self, family: _Family, start: Floats, gain: float = 1e-11) -> tuple[float, Floats]:
        """Return a family's smallest negative log-likelihood and its parameters, the last two logs.

        Fisher scoring, damped as by Levenberg and Marquardt, until a step would gain no more than
        ``gain``.
        """
        parameters, damping = start, 1e-3
        s, jacobian = family(parameters)
        value, by_s, information, _ = self.at(s)
        for _ in range(_ITERATIONS):
            slope, curvature = jacobian @ by_s, jacobian @ information @ jacobian.T
            curvature = curvature + np.diag(damping * np.diag(curvature) + 1e-12)
            moved = parameters - np.linalg.solve(curvature, slope)
            moved[-2:] = moved[-2:].clip(_SMALLEST, _LARGEST)
            if slope @ (parameters - moved) <= gain:
                break
            s, new_jacobian = family(moved)
            new_value, *rest = self.at(s)
            if new_value <= value:
                parameters, value, jacobian, (by_s, information, _) = (
                    moved,
                    new_value,
                    new_jacobian,
                    rest,
                )
                damping /= 5
            else:
                damping *= 8
        return value, parameters


def _by_angle(angle: float, parameters: Floats) -> tuple[Floats, Floats]:
    """Return S of a line at an angle plus a residual, and its derivatives by both log variances."""
    line, rest = np.exp(parameters)
    cos, sin = math.cos(angle), math.sin(angle)
    parts = np.array([[line * cos * cos, line * cos * sin, line * sin * sin], [0.0, 0.0, rest]])
    return parts.sum(axis=0), parts


def _free(parameters: Floats) -> tuple[Floats, Floats]:
    """Return S of an angle and two variances, and its derivatives."""
    s, parts = _by_angle(parameters[0], parameters[1:])
    cos, sin = math.cos(2 * parameters[0]), math.sin(2 * parameters[0])
    return s, np.vstack([math.exp(parameters[1]) * np.array([-sin, cos, sin]), parts])


def _by_correlation(correlation: float, parameters: Floats) -> tuple[Floats, Floats]:
    """Return S of a correlation and two variances, and its derivatives by the logs of both."""
    a, c = np.exp(parameters)
    b = correlation * math.sqrt(a * c)
    return np.array([a, b, c]), np.array([[a, b / 2, 0.0], [0.0, b / 2, c]])


def _sample(x: Any, y: Any, x_error: Any, y_error: Any, covariance: Any) -> _Sample:
    """Return checked pairs."""
    columns = {"x": column("x", x), "y": column("y", y)}
    columns |= {"x_error": column("x_error", x_error), "y_error": column("y_error", y_error)}
    shared = numbers("covariance", covariance)
    columns["covariance"] = (
        np.full(len(columns["x"]), shared) if shared.ndim == 0 else column("covariance", shared)
    )
    lengths = {name: len(part) for name, part in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("there is one value and one standard error per pair", found=str(lengths))
    for name, part in columns.items():
        if not np.isfinite(part).all():
            raise InputError(f"{name} holds NaN or infinite values")
    x, y, sx, sy, shared = columns.values()
    if not ((sx > 0) & (sy > 0)).all():
        raise InputError("standard errors are above 0", found=f"{min(sx.min(), sy.min()):g}")
    if not (np.abs(shared) < sx * sy).all():
        worst = int(np.argmax(np.abs(shared) / (sx * sy)))
        raise InputError(
            "the covariance of two errors is smaller than the product of their standard errors",
            where=f"pair {worst + 1}",
            found=f"{shared[worst]:g}, of standard errors {sx[worst]:g} and {sy[worst]:g}",
            hint="pass the covariance, not the correlation",
        )
    if len(x) < _LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(
            f"at least {_LEAST} pairs are needed, and they have to differ", found=f"{len(x)} pairs"
        )
    return _Sample(x, y, sx**2, shared, sy**2)


def true_effects(
    x: Any, y: Any, x_error: Any, y_error: Any, covariance: Any = 0.0, *, confidence: float = 0.95
) -> TrueEffects:
    """Return the relation of two true effects, corrected for the errors of both.

    Parameters
    ----------
    x, y : array, shape (n,)
        The observed effects, one pair per launch.
    x_error, y_error : array, shape (n,)
        Their standard errors.
    covariance : array, shape (n,), default=0.0
        The covariances of both errors; 0 if they come from different users.
    confidence : float, default=0.95
        The confidence level of the intervals.

    Returns
    -------
    TrueEffects

    Raises
    ------
    InputError
        With fewer than three pairs, or standard errors and covariances that cannot be.

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0, -1.0, 0.5, -2.0], [0.5, 1.1, 1.4, -0.4, 0.2, -1.1]
    >>> effects = true_effects(x, y, [0.2] * 6, [0.1] * 6)
    >>> effects.slope.estimate, effects.slope.low, effects.slope.high
    (0.51, 0.43, 0.58)
    """
    check_level("confidence", confidence)
    sample, wide, high = _sample(x, y, x_error, y_error, covariance).scaled()
    least, best = sample.maximum(1e-18)
    s = _free(best)[0]
    m = sample.at(s)[-1]
    from scipy.special import chdtri

    limit = least + float(chdtri(1, 1 - confidence)) / 2
    slope = _slope_interval(sample, best, limit, high / wide, confidence)
    at_zero = sample.fitted(lambda p: _by_angle(0.0, p), best[1:])[0]
    xx, xy, yy = (s * np.array([wide**2, wide * high, high**2])).tolist()
    return TrueEffects(
        len(sample.x),
        (float(m[0] * wide), float(m[1] * high)),
        ((xx, xy), (xy, yy)),
        slope,
        _correlation_interval(sample, s, limit, confidence),
        max(2 * (at_zero - least), 0.0),
    )


def slopes_without_each(
    x: Any, y: Any, x_error: Any, y_error: Any, covariance: Any = 0.0
) -> Floats:
    """Return the slope of true effects without each pair in turn.

    A pair without which the slope is far from that of all of them dominates the estimate.

    Parameters
    ----------
    x, y, x_error, y_error : array, shape (n,)
        The observed effects and their standard errors, as in `true_effects`.
    covariance : array, shape (n,), default=0.0
        The covariances of both errors; 0 if they come from different users.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The maximum-likelihood slopes; NaN where the effects of the others do not differ.

    Raises
    ------
    InputError
        With fewer than four pairs, or standard errors and covariances that cannot be.

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0, -1.0, 0.5, 9.0], [0.5, 1.1, 1.4, -0.4, 0.2, -9.0]
    >>> slopes_without_each(x, y, [0.2] * 6, [0.1] * 6).round(2)
    array([-0.96, -0.95, -1.  , -1.19, -0.99,  0.47])
    """
    sample = _sample(x, y, x_error, y_error, covariance)
    if len(sample.x) <= _LEAST:
        raise InputError(
            f"at least {_LEAST + 1} pairs are needed, so that one can be left out",
            found=f"{len(sample.x)} pairs",
        )

    def slope_without(pair: int) -> float:
        rest = sample.without(pair)
        if np.ptp(rest.x) == 0 or np.ptp(rest.y) == 0:
            return math.nan
        scaled, wide, high = rest.scaled()
        _, best = scaled.maximum(1e-11)
        return math.tan(best[0]) * high / wide

    return np.array([slope_without(pair) for pair in range(len(sample.x))])


def _limit(inside: float, outside: float, excess: Callable[[float], float]) -> float:
    """Return where an excess that is at most 0 inside and positive outside crosses 0."""
    return root_of(excess, inside, outside, 1e-7) if excess(inside) < 0 else inside


def _slope_interval(
    sample: _Sample, best: Floats, limit: float, unit: float, confidence: float
) -> Interval:
    """Return the likelihood-ratio interval of the slope; infinite if vertical lines pass."""
    centre = math.remainder(float(best[0]), math.pi)

    def excess(angle: float) -> float:
        return sample.fitted(lambda p: _by_angle(angle, p), best[1:])[0] - limit

    limits = []
    for side in (-1.0, 1.0):
        end, inside = side * math.pi / 2, centre
        outside = inside + side * _STEP
        while side * outside < side * end and excess(outside) <= 0:
            inside, outside = outside, outside + side * _STEP
        outside = min(outside, end) if side > 0 else max(outside, end)
        if excess(outside) <= 0:  # a vertical line is the end on either side
            limits = [-math.inf, math.inf]
            break
        limits.append(unit * math.tan(_limit(inside, outside, excess)))
    return Interval(
        unit * math.tan(centre), limits[0], limits[1], confidence, "likelihood ratio", len(sample.x)
    )


def _correlation_interval(sample: _Sample, s: Floats, limit: float, confidence: float) -> Interval:
    """Return the correlations that the likelihood-ratio test does not reject."""
    start = np.log(s[[0, 2]]).clip(_SMALLEST, _LARGEST)
    centre = float(np.clip(s[1] / math.sqrt(s[0] * s[2]), -1, 1))

    def excess(correlation: float) -> float:
        return sample.fitted(lambda p: _by_correlation(correlation, p), start)[0] - limit

    limits = [end if excess(end) <= 0 else _limit(centre, end, excess) for end in (-1.0, 1.0)]
    return Interval(centre, limits[0], limits[1], confidence, "likelihood ratio", len(sample.x))


@dataclass(frozen=True)
class MethodOfMoments:
    """Estimates of a slope from second moments about 0, from `method_of_moments`.

    Attributes
    ----------
    naive : float
        The slope of the observed effects, attenuated by errors in x and biased by shared errors.
    total_covariance : float
        The slope after the mean error covariance is subtracted.
    fieller : tuple of tuples of float
        The confidence set of this slope: one interval; two rays, if the set is unbounded with a
        gap; or one interval with infinite limits, if it holds every slope.
    correlation : float
        The correlation after subtraction; NaN if it is not between −1 and 1.
    liml : float
        The limited-information maximum-likelihood slope.
    kappa : float
        The smallest κ at which T − κΩ is singular, for moments T and mean error covariance Ω.
    reliability : float
        The share of the second moment of x that is not error.
    """

    naive: float
    total_covariance: float
    fieller: tuple[tuple[float, float], ...]
    correlation: float
    liml: float
    kappa: float
    reliability: float


def method_of_moments(
    x: Any, y: Any, x_error: Any, y_error: Any, covariance: Any = 0.0, *, confidence: float = 0.95
) -> MethodOfMoments:
    """Return slopes from second moments minus error moments; arguments as for `true_effects`.

    Returns
    -------
    MethodOfMoments

    Examples
    --------
    >>> moments = method_of_moments([1.0, 2.0, -1.5], [0.5, 1.2, -0.6], [0.5] * 3, [0.1] * 3)
    >>> moments.naive, moments.total_covariance
    (0.52, 0.58)
    """
    check_level("confidence", confidence)
    pairs = _sample(x, y, x_error, y_error, covariance)
    stacked = np.stack([pairs.x, pairs.y])
    t = stacked @ stacked.T / len(pairs.x)
    omega = np.array([[pairs.xx.mean(), pairs.xy.mean()], [pairs.xy.mean(), pairs.yy.mean()]])
    rest = t - omega
    kappa = float(np.linalg.eigvals(np.linalg.solve(omega, t)).real.min())
    product = rest[0, 0] * rest[1, 1]
    correlation = (
        float(rest[0, 1] / math.sqrt(product)) if rest[0, 0] > 0 and rest[1, 1] > 0 else math.nan
    )
    return MethodOfMoments(
        naive=float(t[0, 1] / t[0, 0]),
        total_covariance=float(rest[0, 1] / rest[0, 0]),
        fieller=_fieller(pairs.x * pairs.y - pairs.xy, pairs.x**2 - pairs.xx, confidence),
        correlation=correlation if abs(correlation) <= 1 else math.nan,
        liml=float((t[0, 1] - kappa * omega[0, 1]) / (t[0, 0] - kappa * omega[0, 0])),
        kappa=kappa,
        reliability=float(rest[0, 0] / t[0, 0]),
    )


def _fieller(
    numerator: Floats, denominator: Floats, confidence: float
) -> tuple[tuple[float, float], ...]:
    """Return Fieller's set of a ratio of means: all slopes b for which u − b v may have mean 0."""
    n, means = len(numerator), np.array([numerator.mean(), denominator.mean()])
    spread = np.cov(numerator, denominator) / n
    (uu, uv), (_, vv) = (
        np.outer(means, means) - t_quantile((1 + confidence) / 2, n - 1) ** 2 * spread
    )
    roots = uv * uv - uu * vv  # of vv b² − 2 uv b + uu ≤ 0
    if vv <= 0 and roots < 0:
        return ((-math.inf, math.inf),)
    low, high = sorted((uv + side * math.sqrt(max(roots, 0.0))) / vv for side in (-1, 1))
    return ((low, high),) if vv > 0 else ((-math.inf, low), (high, math.inf))


def cross_validated_prediction(
    x: Any, y: Any, y_error: Any, covariance: Any
) -> tuple[Floats, float]:
    """Predict a true effect by a linear combination of observed effects, cross-validated.

    Weights are least squares after the mean covariance of the errors is subtracted. Each row is
    predicted with weights of the others; what errors add to the squared deviations is subtracted.

    Parameters
    ----------
    x : array, shape (n, k)
        Observed effects, such as differences in k offline metrics.
    y, y_error : array, shape (n,)
        The other effect and its standard error.
    covariance : array, shape (n, k)
        The covariance of the error of each x with that of y.

    Returns
    -------
    weights : array, shape (k,)
        The weights, from all rows.
    share : float
        The share of the variance of the true effect that is predicted in rows that were left out;
        negative if the mean effect predicts better.

    Examples
    --------
    >>> x, y = [[1.0], [2.0], [3.0], [-1.0], [0.0]], [0.5, 1.1, 1.4, -0.5, 0.1]
    >>> cross_validated_prediction(x, y, [0.1] * 5, [[0.0]] * 5)[1]
    1.0
    """
    columns, effect, shared = numbers("x", x), column("y", y), numbers("covariance", covariance)
    variance = column("y_error", y_error) ** 2
    if (
        columns.ndim != 2
        or columns.shape != shared.shape
        or not len(columns) == len(effect) == len(variance)
    ):
        raise InputError(
            "x and covariance have one row per effect", found=f"{columns.shape} and {shared.shape}"
        )
    if not all(np.isfinite(part).all() for part in (columns, effect, variance, shared)):
        raise InputError("x, y, y_error and covariance hold NaN or infinite values")
    if len(columns) < columns.shape[1] + 3:
        raise InputError("three more rows than columns are needed", found=f"{columns.shape}")

    around_line = around_mean = 0.0
    for row in range(len(effect)):
        rest, targets, parts = (
            np.delete(values, row, axis=0) for values in (columns, effect, shared)
        )
        best, mean = _weights(rest, targets, parts), float(targets.mean())
        around_mean += (effect[row] - mean) ** 2 - variance[row]
        deviation = effect[row] - mean - (columns[row] - rest.mean(axis=0)) @ best
        around_line += deviation**2 - variance[row] + 2 * shared[row] @ best
    share = 1 - around_line / around_mean if around_mean > 0 else math.nan
    return _weights(columns, effect, shared), float(share)


def _weights(x: Floats, y: Floats, shared: Floats) -> Floats:
    """Return the least-squares weights of y on x, corrected for their shared errors."""
    centred = x - x.mean(axis=0)
    right = centred.T @ (y - y.mean()) - shared.sum(axis=0) * (1 - 1 / len(x))
    return np.asarray(np.linalg.lstsq(centred.T @ centred, right, rcond=None)[0])
