"""Errors in variables, each part against a definition that is written without the code that is tested."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigvalsh
from scipy.optimize import approx_fprime, minimize
from scipy.stats import chi2, multivariate_normal, norm, t

from rankwise import stats
from rankwise.errors import InputError, ParameterError
from rankwise.stats import errors_in_variables
from rankwise.stats.differences import Interval
from rankwise.stats.errors_in_variables import TrueEffects

SHARED = np.linspace(-0.01, 0.03, 14)
X = np.array([0.9, -0.4, 1.6, 0.3, -1.1, 0.7, 2.0, -0.2, 0.1, 1.2, -0.8, 0.4, 0.6, -0.5])
Y = 0.6 * X + np.array([0.9, -1.3, 0.5, 1.1, -0.8, 0.2, -1.0, 0.9, 0.7, -0.6, 1.2, -0.9, 0.1, 0.6])
X_ERROR, Y_ERROR = np.linspace(0.2, 0.5, 14), np.linspace(0.4, 0.2, 14)
ARRAYS = (X, Y, X_ERROR, Y_ERROR, SHARED)


def effects(mean, covariance, slope=None, evidence=4.0, confidence=0.95, n=20):
    slope = covariance[0][1] / covariance[0][0] if slope is None else slope
    return TrueEffects(
        n, mean, covariance, Interval(slope, -1, 1, confidence, "", n), None, evidence
    )


@pytest.mark.parametrize("mean", [(0.0, 0.0), (0.7, -0.4), (-1.2, -0.3)])
@pytest.mark.parametrize(
    "covariance", [((1.0, 0.5), (0.5, 0.8)), ((0.3, -0.4), (-0.4, 2.0)), ((2.0, 0.0), (0.0, 0.1))]
)
def test_signs_agree_as_often_as_in_the_bivariate_normal_distribution(mean, covariance):
    same = sum(
        multivariate_normal.cdf([0, 0], np.multiply(side, mean), covariance) for side in (-1, 1)
    )
    assert effects(mean, covariance).sign_agreement == pytest.approx(same, abs=1e-4)


def test_signs_agree_where_nothing_is_left_to_chance():
    line = effects((0.5, 0.25), ((1.0, 0.5), (0.5, 0.25)))
    assert (line.residual, line.sign_agreement) == (0.0, pytest.approx(1.0, abs=1e-6))
    shifted = effects((0.0, 0.5), ((1.0, 1.0), (1.0, 1.0)))  # the signs differ between -0.5 and 0
    assert shifted.sign_agreement == pytest.approx(1 - (norm.cdf(0) - norm.cdf(-0.5)), abs=5e-3)
    independent = effects((0.5, 1.0), ((1.0, 0.0), (0.0, 1.0)))
    same = sum(norm.cdf(side * 0.5) * norm.cdf(side) for side in (-1, 1))
    assert independent.sign_agreement == pytest.approx(same, abs=1e-6)


@pytest.mark.parametrize(
    ("covariance", "residual"),
    [
        (((2.0, 1.0), (1.0, 3.0)), 2.5),
        (((2.0, 2.0), (2.0, 1.0)), 0.0),
        (((0.0, 0.0), (0.0, 3.0)), 3.0),
    ],
)
def test_the_residual_is_what_the_first_effect_leaves(covariance, residual):
    assert effects((0, 0), covariance, slope=0.5).residual == residual


@pytest.mark.parametrize("probability", [0.5, 0.8, 0.95])
def test_beyond_the_threshold_the_second_effect_is_positive_with_the_probability(probability):
    result = effects((0.4, -0.7), ((1.5, 0.6), (0.6, 0.9)))
    at = result.threshold(probability)
    expected = -0.7 + 0.4 * (at - 0.4)
    assert norm.cdf(expected / math.sqrt(0.9 - 0.24)) == pytest.approx(probability)
    assert result.threshold() == result.threshold(0.8)
    for wrong in (0.0, 1.0):
        with pytest.raises(ParameterError, match="probability"):
            result.threshold(wrong)
        with pytest.raises(ParameterError, match="power"):
            result.pairs_needed(wrong)
    assert math.isnan(effects((0, 0), ((1, 0), (0, 1))).threshold())
    assert math.isnan(effects((0, 0), ((1, -0.1), (-0.1, 1))).threshold())


def test_pairs_grow_until_the_statistic_has_its_power():
    """The statistic has the noncentrality z² of a normal test of this level and power."""
    for evidence, confidence, power in ((4.0, 0.95, 0.8), (0.1, 0.9, 0.6), (9.0, 0.99, 0.9)):
        z = norm.ppf((1 + confidence) / 2) + norm.ppf(power)
        needed = effects(
            (0, 0), ((1, 1), (1, 1)), evidence=evidence, confidence=confidence
        ).pairs_needed(power)
        assert needed == math.ceil(20 * z**2 / evidence)
    assert effects((0, 0), ((1, 1), (1, 1))).pairs_needed() == math.ceil(20 * 7.8489 / 4)
    assert effects((0, 0), ((1, 1), (1, 1)), evidence=0.0999).pairs_needed() is None


def pairs_of(x=X, y=Y, x_error=X_ERROR, y_error=Y_ERROR, shared=SHARED):
    z = np.stack([x, y], axis=1)
    v = [
        np.array([[a * a, c], [c, b * b]]) for a, b, c in zip(x_error, y_error, shared, strict=True)
    ]
    return z, v


def likelihood(s):
    """Return the negative log-likelihood without its constant, and the mean that is best for S."""
    z, v = pairs_of()
    inverse = [np.linalg.inv(np.array([[s[0], s[1]], [s[1], s[2]]]) + part) for part in v]
    mean = np.linalg.solve(sum(inverse), sum(w @ row for w, row in zip(inverse, z, strict=True)))
    parts = [
        (row - mean) @ w @ (row - mean) - np.linalg.slogdet(w)[1]
        for w, row in zip(inverse, z, strict=True)
    ]
    return sum(parts) / 2, mean, inverse


def test_the_likelihood_has_its_derivative_and_information():
    sample, s = errors_in_variables._sample(*ARRAYS), np.array([0.7, 0.3, 0.5])
    value, by_s, information, mean = sample.at(s)
    expected, best, inverse = likelihood(s)
    assert value == pytest.approx(expected)
    assert mean == pytest.approx(best)
    assert by_s == pytest.approx(approx_fprime(s, lambda at: likelihood(at)[0], 1e-7), abs=1e-4)
    units = [np.array([[1, 0], [0, 0]]), np.array([[0, 1], [1, 0]]), np.array([[0, 0], [0, 1]])]
    fisher = [[sum(np.trace(w @ a @ w @ b) for w in inverse) / 2 for b in units] for a in units]
    assert information == pytest.approx(np.array(fisher))


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        (errors_in_variables._free, [0.6, -0.3, -1.2]),
        (lambda p: errors_in_variables._by_angle(-0.4, p), [0.2, -0.9]),
        (lambda p: errors_in_variables._by_correlation(-0.7, p), [0.4, -0.5]),
    ],
)
def test_families_are_covariance_matrices_with_their_derivatives(family, parameters):
    parameters = np.array(parameters)
    s, derivative = family(parameters)
    assert s[0] * s[2] >= s[1] ** 2
    for at in range(3):
        expected = approx_fprime(parameters, lambda p, at=at: family(p)[0][at], 1e-7)
        assert derivative[:, at] == pytest.approx(expected, abs=1e-5)
    a, b, c = errors_in_variables._by_correlation(-0.7, np.array([0.4, -0.5]))[0]
    assert (a, c, b / math.sqrt(a * c)) == pytest.approx((math.exp(0.4), math.exp(-0.5), -0.7))
    line, rest = math.exp(0.2), math.exp(-0.9)
    turned = np.array([math.cos(0.9), math.sin(0.9)])
    s = errors_in_variables._by_angle(0.9, np.array([0.2, -0.9]))[0]
    assert s == pytest.approx(
        [line * turned[0] ** 2, line * turned.prod(), line * turned[1] ** 2 + rest]
    )


def test_the_evidence_is_the_likelihood_ratio_of_no_slope():
    """Without a slope the two effects are independent, and S has two variances."""
    result = stats.true_effects(*ARRAYS)
    free = minimize(
        lambda p: likelihood([p[0] ** 2, p[0] * p[1], p[1] ** 2 + p[2] ** 2])[0],
        [0.8, 0.5, 0.3],
        tol=1e-10,
    )
    none = minimize(lambda p: likelihood([p[0] ** 2, 0.0, p[1] ** 2])[0], [0.8, 0.5], tol=1e-10)
    assert result.evidence == pytest.approx(2 * (none.fun - free.fun), rel=1e-5)
    a, b, c = free.x
    assert np.ravel(result.covariance) == pytest.approx(
        [a * a, a * b, a * b, b * b + c * c], abs=1e-4
    )
    assert result.mean == pytest.approx(likelihood([a * a, a * b, b * b + c * c])[1], abs=1e-4)
    assert result.slope.estimate == pytest.approx(b / a, abs=1e-4)
    assert result.correlation.estimate == pytest.approx(a * b / a / math.hypot(b, c), abs=1e-4)
    assert (result.n, result.slope.n, result.slope.method, result.slope.confidence) == (
        14,
        14,
        "likelihood ratio",
        0.95,
    )


def test_a_slope_of_any_sign_and_size_is_found_from_every_start():
    for factor in (-50.0, -1.0, -0.02, 0.02, 1.0, 50.0):
        result = stats.true_effects(X, factor * Y, X_ERROR, abs(factor) * Y_ERROR, factor * SHARED)
        reference = stats.true_effects(*ARRAYS)
        assert result.slope.estimate == pytest.approx(factor * reference.slope.estimate, rel=1e-5)
        limits = sorted(factor * limit for limit in reference.slope)
        assert tuple(result.slope) == pytest.approx(limits, rel=1e-4)
        swapped = stats.true_effects(factor * Y, X, abs(factor) * Y_ERROR, X_ERROR, factor * SHARED)
        assert swapped.correlation.estimate == pytest.approx(
            math.copysign(1, factor) * reference.correlation.estimate, abs=1e-5
        )


def test_two_effects_without_relation_have_no_evidence():
    x = np.array([1.0, -1.0, 1.0, -1.0, 2.0, -2.0, 2.0, -2.0])
    y = np.array([1.0, 1.0, -1.0, -1.0, 2.0, 2.0, -2.0, -2.0])
    result = stats.true_effects(x, y, [0.5] * 8, [0.5] * 8)
    assert (result.slope.estimate, result.evidence) == pytest.approx((0, 0), abs=1e-6)
    assert result.slope.low == pytest.approx(-result.slope.high, abs=1e-5)
    assert result.pairs_needed() is None


@pytest.mark.parametrize("side", [1, -1])
def test_limits_are_infinite_once_a_vertical_line_is_not_rejected(side):
    """On a vertical line the first effect does not vary: what it varies by is error."""
    x_error = 2.4 * X_ERROR
    z, v = pairs_of(side * X, Y, x_error, Y_ERROR, np.zeros(14))
    scaled = np.array([1.0, 0.0, 1.0])

    def value(s):
        inverse = [np.linalg.inv(np.array([[s[0], s[1]], [s[1], s[2]]]) + part) for part in v]
        mean = np.linalg.solve(
            sum(inverse), sum(w @ row for w, row in zip(inverse, z, strict=True))
        )
        parts = [
            (row - mean) @ w @ (row - mean) - np.linalg.slogdet(w)[1]
            for w, row in zip(inverse, z, strict=True)
        ]
        return sum(parts) / 2

    free = minimize(
        lambda p: value([p[0] ** 2, p[0] * p[1], p[1] ** 2 + p[2] ** 2]), scaled * side, tol=1e-10
    ).fun
    vertical = minimize(lambda p: value([0.0, 0.0, p[0] ** 2]), [0.5], tol=1e-10).fun
    level = chi2.cdf(2 * (vertical - free), 1)
    widths = []
    for confidence in (0.3, 0.6, level - 0.02, level - 1e-4, level + 1e-4, (1 + level) / 2):
        slope = stats.true_effects(side * X, Y, x_error, Y_ERROR, confidence=confidence).slope
        assert math.isinf(slope.low) == math.isinf(slope.high) == (confidence > level)
        widths.append(slope.high - slope.low)
    assert widths == sorted(widths)
    assert 0.5 < level < 0.999


def test_a_lower_confidence_has_narrower_limits_inside():
    wide, narrow = (stats.true_effects(*ARRAYS, confidence=level) for level in (0.95, 0.6))
    for inner, outer in ((narrow.slope, wide.slope), (narrow.correlation, wide.correlation)):
        assert outer.low < inner.low < inner.estimate < inner.high < outer.high
        assert inner.confidence == 0.6


def test_moments_are_those_of_the_definitions():
    z, v = pairs_of()
    second, error = z.T @ z / 14, np.mean(v, axis=0)
    moments = stats.method_of_moments(*ARRAYS)
    rest = second - error
    kappa = eigvalsh(second, error).min()
    assert moments.naive == pytest.approx(second[0, 1] / second[0, 0])
    assert moments.total_covariance == pytest.approx(rest[0, 1] / rest[0, 0])
    assert moments.correlation == pytest.approx(rest[0, 1] / math.sqrt(rest[0, 0] * rest[1, 1]))
    assert moments.kappa == pytest.approx(kappa)
    reduced = second - kappa * error
    assert moments.liml == pytest.approx(reduced[0, 1] / reduced[0, 0])
    assert moments.reliability == pytest.approx(rest[0, 0] / second[0, 0])


def test_a_correlation_of_moments_lies_between_minus_1_and_1_or_is_nan():
    x = np.array([1.0, -1.0, 2.0, -2.0])
    assert stats.method_of_moments(x, x, [1e-9] * 4, [1e-9] * 4).correlation == pytest.approx(
        1, abs=1e-8
    )
    assert math.isnan(stats.method_of_moments(x, x, [1.0] * 4, [1.0] * 4).correlation)  # 2.5 / 1.5
    assert math.isnan(
        stats.method_of_moments(x, x, [2.0] * 4, [0.1] * 4).correlation
    )  # x varies less than its errors
    assert math.isnan(stats.method_of_moments(x, x, [0.1] * 4, [2.0] * 4).correlation)
    assert math.isnan(stats.method_of_moments(x, x, [2.0] * 4, [2.0] * 4).correlation)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("size", [0.3, 1.0, 3.0])
def test_fiellers_set_holds_the_slopes_that_a_t_test_does_not_reject(confidence, size):
    u, v = X * Y - 0.01, X**2 - (size * X_ERROR) ** 2
    moments = stats.method_of_moments(X, Y, size * X_ERROR, Y_ERROR, 0.01, confidence=confidence)
    for slope in np.linspace(-6, 6, 121):
        z = u - slope * v
        inside = abs(z.mean()) <= t.ppf((1 + confidence) / 2, 13) * z.std(ddof=1) / math.sqrt(14)
        assert inside == any(low <= slope <= high for low, high in moments.fieller), slope


def test_one_covariance_is_that_of_every_pair():
    one, each = (
        stats.true_effects(X, Y, X_ERROR, Y_ERROR, shared) for shared in (0.05, np.full(14, 0.05))
    )
    assert one == each
    assert stats.true_effects(X, Y, X_ERROR, Y_ERROR) == stats.true_effects(
        X, Y, X_ERROR, Y_ERROR, np.zeros(14)
    )


def change(array, value, at=4):
    changed = np.array(array)
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("arrays", "found"),
    [
        ((X, Y[:13], X_ERROR, Y_ERROR), "'y': 13"),
        ((X, Y, change(X_ERROR, 0.0), Y_ERROR), "0"),
        ((X, Y, X_ERROR, change(Y_ERROR, -0.5)), "-0.5"),
        (
            (X, Y, np.ones(14), np.ones(14), change(SHARED, 1.0)),
            "pair 5|1, of standard errors 1 and 1",
        ),
        ((X, Y, np.ones(14), np.ones(14), change(change(SHARED, 1.5), -2.0, 7)), "pair 8"),
        ((X[:2], Y[:2], X_ERROR[:2], Y_ERROR[:2]), "2 pairs"),
    ],
)
def test_what_is_refused_is_said(arrays, found):
    with pytest.raises(InputError, match=found):
        stats.true_effects(*arrays)
    stats.true_effects(X[:3], Y[:3], X_ERROR[:3], Y_ERROR[:3])
    stats.true_effects(X, Y, np.ones(14), np.ones(14), change(SHARED, 0.999))


def test_a_prediction_asks_for_three_rows_more_than_columns():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    weights, share = stats.cross_validated_prediction(x, y, [0.1] * 5, np.zeros((5, 2)))
    assert weights.shape == (2,)
    assert math.isfinite(share)
    for arrays, said in (
        ((x[:4], y[:4], [0.1] * 4, np.zeros((4, 2))), "three more rows"),
        ((x, y[:4], [0.1] * 5, np.zeros((5, 2))), "one row per effect"),
        ((x, y, [0.1] * 4, np.zeros((5, 2))), "one row per effect"),
        ((x, y, [0.1] * 5, np.zeros((5, 1))), "one row per effect"),
        ((x[:, 0], y, [0.1] * 5, np.zeros(5)), "one row per effect"),
        ((x, y, [math.nan] + [0.1] * 4, np.zeros((5, 2))), "NaN"),
    ):
        with pytest.raises(InputError, match=said):
            stats.cross_validated_prediction(*arrays)
    assert math.isnan(
        stats.cross_validated_prediction(x, y, [9.0] * 5, np.zeros((5, 2)))[1]
    )  # no true effect varies
