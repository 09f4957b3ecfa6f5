"""The limits of sound, weak and no support, and the shape of the largest weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rankwise.offpolicy.support import Diagnostics, decide_support, pareto_k

AT_THE_LIMITS = Diagnostics(
    effective_users=100.0,
    effective_rewarded=20.0,
    weighted_users=10,
    largest_share=0.05,
    largest_weight=4.0,
    mean_weight=1.0,
    mean_weight_error=0.05,
    mean_weight_z=3.0,
    unused=0.0,
    effective_requests=120.0,
    perplexity=150.0,
    pareto_k=0.2,
    mass_without_support=0.01,
    calibration_p=0.01,
)
WEAK = [
    ({"effective_users": 99.0}, "99 effective users"),
    ({"effective_rewarded": 19.0}, "19 effective users with a reward"),
    ({"largest_share": 0.06}, "one request has 6 % of all weight"),
    ({"mean_weight_z": -3.1}, "the mean weight is 1.000 (z −3.1), and should be 1"),
    ({"mean_weight_z": math.nan}, "and should be 1"),
    ({"mean_weight_error": 0.13}, "the mean weight is only known to ±0.21"),
    ({"mean_weight": 1.15}, "the mean weight is only known to ±0.23"),
    ({"mass_without_support": 0.011}, "1.1 % of the target's probability is on items"),
    ({"calibration_p": 0.0099}, "how often it was shown (p = 0.0099)"),
]
NONE = [
    ({"weighted_users": 0}, "no logged request has any weight"),
    ({"weighted_users": 9}, "9 users with any weight"),
    ({"effective_users": 9.9}, "9.9 effective users"),
    ({"largest_share": 0.51}, "one request has 51 % of all weight"),
    ({"mean_weight": 1.11, "mean_weight_z": 5.1}, "the mean weight is 1.110 (z +5.1)"),
    ({"mean_weight": 0.49, "mean_weight_z": -3.1}, "the mean weight is 0.490 (z −3.1)"),
    ({"mean_weight": 2.01, "mean_weight_z": 3.1}, "the mean weight is 2.010 (z +3.1)"),
    ({"mass_without_support": 0.11}, "11 % of the target's probability is on items"),
]
NOT_NONE = [
    {"effective_users": 10.0},
    {"largest_share": 0.5},
    {"mean_weight": 1.2, "mean_weight_z": 5.0},
    {"mean_weight": 1.05, "mean_weight_z": 9.0},
    {"mean_weight": 2.5, "mean_weight_z": 3.0},
    {"mass_without_support": 0.1},
]


def support_of(changes, **options):
    situation = {"estimated": False, "marginal": False} | options
    return decide_support(replace(AT_THE_LIMITS, **changes), 400, **situation)


def test_what_is_exactly_at_every_limit_is_sound():
    assert support_of({}) == ("sound", [])
    assert support_of({"mass_without_support": math.nan, "calibration_p": math.nan}) == (
        "sound",
        [],
    )


@pytest.mark.parametrize(("changes", "reason"), WEAK)
def test_one_step_beyond_a_limit_is_weak_for_that_reason_alone(changes, reason):
    support, reasons = support_of(changes)
    assert support == "weak"
    first, *more = reasons
    assert reason in first
    assert all(text.startswith("about ") for text in more)


@pytest.mark.parametrize(("changes", "reason"), NONE)
def test_far_beyond_a_limit_there_is_no_support(changes, reason):
    support, reasons = support_of(changes)
    assert support == "none"
    assert [reason in text for text in reasons] == [True]


@pytest.mark.parametrize("changes", NOT_NONE)
def test_what_is_exactly_at_the_limit_of_no_support_is_weak(changes):
    assert support_of(changes)[0] == "weak"


@pytest.mark.parametrize("name", ["estimated", "marginal"])
def test_what_is_not_known_of_propensities_makes_support_weak(name):
    support, reasons = support_of({}, **{name: True})
    assert (support, len(reasons)) == ("weak", 1)


def test_the_users_that_would_do_are_said_in_one_digit():
    assert support_of({"effective_users": 60.0})[1][-1] == "about 700 such users would do"
    assert support_of({"effective_rewarded": 2.0})[1][-1] == "about 4,000 such users would do"
    assert len(support_of({"effective_users": 60.0, "effective_rewarded": 0.0})[1]) == 2


def shape_by_definition(excess):
    """Return the shape of Zhang and Stephens (2009), with a prior of ten values at 0.5."""
    x, n = sorted(excess), len(excess)
    m = 30 + math.isqrt(n)
    quartile = x[math.floor(n / 4 + 0.5) - 1]
    scales = [(1 - math.sqrt(m / (j - 0.5))) / (3 * quartile) + 1 / x[-1] for j in range(1, m + 1)]

    def shape(b):
        return sum(math.log(1 - b * value) for value in x) / n

    likelihood = [n * (math.log(-b / shape(b)) - shape(b) - 1) for b in scales]
    weights = [1 / sum(math.exp(other - own) for other in likelihood) for own in likelihood]
    b = sum(one * weight for one, weight in zip(scales, weights, strict=True))
    return (n * shape(b) + 5) / (n + 10)


@pytest.mark.parametrize("n", [5, 6, 17, 40])
@pytest.mark.parametrize("power", [0.2, 0.7, 1.3])
def test_the_shape_of_the_largest_weights_is_that_of_its_definition(n, power):
    tail = 2.0 + np.array([(k / (n + 1)) ** -power - 1 for k in range(n, 0, -1)])
    tail = np.concatenate([[2.0], tail])
    expected = shape_by_definition((tail[1:] - 2.0).tolist())
    assert pareto_k(tail) == pytest.approx(expected, rel=1e-9)


def test_fewer_than_five_weights_above_the_threshold_have_no_shape():
    assert math.isnan(pareto_k(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    assert not math.isnan(pareto_k(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])))
    assert math.isnan(pareto_k(np.ones(50)))
    assert math.isnan(pareto_k(np.array([])))
