"""Prediction-powered means against their formulas, the weight of least variance, and edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import t

from rankwise import stats
from rankwise.errors import InputError, ParameterError

RNG = np.random.default_rng(8)
HUMAN = RNG.random(12)
MODEL = 0.6 * HUMAN + 0.4 * RNG.random(12)
OTHERS = 0.2 + 0.7 * RNG.random(40)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_estimate_error_and_limits_are_those_of_the_formulas(weight, confidence):
    interval = stats.prediction_powered(HUMAN, MODEL, OTHERS, weight=weight, confidence=confidence)
    estimate = weight * OTHERS.mean() + (HUMAN - weight * MODEL).mean()
    error = math.sqrt(
        (HUMAN - weight * MODEL).var(ddof=1) / 12 + weight**2 * OTHERS.var(ddof=1) / 40
    )
    half = t.ppf((1 + confidence) / 2, 10) * error
    assert (interval.estimate, interval.error) == pytest.approx((estimate, error))
    assert tuple(interval) == pytest.approx((estimate - half, estimate + half))
    assert interval.human == pytest.approx(HUMAN.mean())
    assert interval.human_error == pytest.approx(HUMAN.std(ddof=1) / math.sqrt(12))
    assert interval.model == pytest.approx(np.r_[MODEL, OTHERS].mean())
    assert interval.equivalent == pytest.approx(HUMAN.var(ddof=1) / error**2)
    assert (interval.weight, interval.n, interval.confidence) == (weight, 12, confidence)
    assert interval.method == "prediction-powered"


def test_the_weight_has_the_least_variance_where_all_values_of_the_model_have_one_variance():
    def variance(weight):
        of_model = np.r_[MODEL, OTHERS].var(ddof=1)
        covariance = np.cov(HUMAN, MODEL)[0, 1]
        return (weight**2 * of_model - 2 * weight * covariance) / 12 + weight**2 * of_model / 40

    best = minimize_scalar(variance, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
    assert stats.prediction_powered(HUMAN, MODEL, OTHERS).weight == pytest.approx(best, abs=1e-6)
    small = stats.prediction_powered(HUMAN, 0.1 * MODEL, 0.1 * OTHERS)
    assert small.weight == 1.0  # more than the model's values themselves is never added


def test_the_error_includes_that_of_the_weight():
    """By the jackknife: the estimate of all labelled users but one, each time with its own weight."""
    rest = [
        stats.prediction_powered(np.delete(HUMAN, at), np.delete(MODEL, at), OTHERS).estimate
        for at in range(12)
    ]
    interval = stats.prediction_powered(HUMAN, MODEL, OTHERS)
    of_labels = (11 / 12) * ((rest - np.mean(rest)) ** 2).sum()
    error = math.sqrt(of_labels + interval.weight**2 * OTHERS.var(ddof=1) / 40)
    assert interval.error == pytest.approx(error)
    fixed = stats.prediction_powered(HUMAN, MODEL, OTHERS, weight=interval.weight)
    assert interval.error > fixed.error


def test_fewer_than_thirty_labels_are_approximate():
    for n, flags in ((29, ("approximate: 29 labelled users, fewer than 30",)), (30, ())):
        assert stats.prediction_powered(np.arange(n), np.arange(n), OTHERS).flags == flags


def test_values_that_do_not_vary_leave_no_interval():
    interval = stats.prediction_powered([0.5] * 3, [0.5] * 3, [0.5] * 2)
    assert (interval.estimate, interval.error, interval.weight) == (0.5, 0.0, 0.0)
    assert math.isnan(interval.equivalent)
    assert math.isnan(interval.low)


def test_what_is_refused_is_counted():
    for arrays, said in (
        (([0.1, 0.2], [0.1, 0.2], [0.1, 0.2]), "2 labelled, 2 others"),
        (([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1]), "3 labelled, 1 others"),
        (([0.1, 0.2, 0.3], [0.1, 0.2], [0.1, 0.2]), "3 and 2 values"),
        (([0.1, 0.2, math.nan], [0.1, 0.2, 0.3], [0.1, 0.2]), "NaN"),
        (([0.1, 0.2, 0.3], [0.1, math.nan, 0.3], [0.1, 0.2]), "NaN"),
    ):
        with pytest.raises(InputError, match=said):
            stats.prediction_powered(*arrays)
    for weight in (-0.01, 1.01, math.nan):
        with pytest.raises(ParameterError, match="weight"):
            stats.prediction_powered(HUMAN, MODEL, OTHERS, weight=weight)
