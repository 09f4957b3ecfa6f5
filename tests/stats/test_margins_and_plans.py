"""Margins, power and numbers of users: formulas, smallest numbers, and the edges of what a test can show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm, t, trim_mean

from rankwise.errors import ParameterError
from rankwise.stats.bounded_means import BoundedMean, bounded_p
from rankwise.stats.clusters import UserClusters
from rankwise.stats.differences import differences, fewest_for_t, t_around, t_is_valid, too_skewed
from rankwise.stats.equivalence import (
    Margin,
    equivalence_of,
    fewest_users,
    minimum_detectable,
    non_inferiority_of,
    power_of,
    power_of_t,
    skewed_t,
    users_needed,
    users_to_show,
    variance_interval,
)

NAN = pytest.approx(math.nan, nan_ok=True)
RNG = np.random.default_rng(9)
X = np.round(RNG.uniform(0, 1, 60), 2)
Y = np.round(np.clip(X + RNG.normal(0.02, 0.1, 60), 0, 1), 2)
PAIRS = differences(X, Y)


def noncentral(limit, freedom, shift):
    """Return the probability that a noncentral t is larger, by its definition: a normal over a root of chi-squared."""
    inside = lambda s: norm.sf(limit * math.sqrt(s / freedom) - shift) * chi2.pdf(s, freedom)  # noqa: E731
    return quad(inside, 0, freedom + 40 * math.sqrt(2 * freedom) + 60, limit=200)[0]


@pytest.mark.parametrize(
    ("n", "gap", "alpha"), [(5, 0.8, 0.05), (30, 0.4, 0.05), (30, 0.1, 0.2), (80, 0.02, 0.01)]
)
def test_power_is_that_of_the_noncentral_t(n, gap, alpha):
    for sides in (1, 2):
        limit = t.ppf(1 - alpha / sides, n - 1)
        expected = noncentral(limit, n - 1, gap * math.sqrt(n))
        expected += noncentral(limit, n - 1, -gap * math.sqrt(n)) if sides == 2 else 0.0
        assert power_of_t(n, gap, alpha, sides=sides) == pytest.approx(expected, rel=1e-5)
    assert power_of(n, gap, alpha) == power_of(n, -gap, alpha) == power_of_t(n, gap, alpha, sides=2)
    for effect in (0.1, -0.1):
        ends = [power_of_t(n, gap + 0.3 + side * effect, alpha, sides=1) for side in (1, -1)]
        assert power_of(n, effect, alpha, margin=gap + 0.3) == ends[0]
        both = max(sum(ends) - 1, 0.0)
        assert power_of(n, effect, alpha, margin=gap + 0.3, equivalence=True) == pytest.approx(both)


def test_power_at_its_ends():
    assert [power_of(n, 0.5) for n in (0, 1)] == [NAN, NAN]
    assert power_of(5, math.nan) == NAN
    assert power_of(100, 5.0) == 1.0
    assert power_of(2, 0.5) == pytest.approx(power_of(2, 0.5, 0.05))
    assert power_of(4, 0.0, margin=0.1, equivalence=True) == 0
    with pytest.raises(ParameterError, match="equivalence needs a margin"):
        power_of(5, 0.5, equivalence=True)
    with pytest.raises(ParameterError, match="margin"):
        power_of(5, 0.5, margin=0.0)


@pytest.mark.parametrize("needed", [2, 3, 4, 5, 17, 64, 65])
def test_the_fewest_users_are_found(needed):
    assert fewest_users(lambda n: float(n >= needed), 0.5) == needed
    assert (
        fewest_users(lambda n: n / needed, 1.0) == needed
    )  # a power that is reached exactly is enough


@pytest.mark.parametrize(
    ("effect", "options"),
    [(0.3, {}), (-0.3, {"power": 0.9, "alpha": 0.01}), (0.1, {"margin": 0.4})],
)
def test_users_needed_are_the_fewest_with_the_power(effect, options):
    needed, power = users_needed(effect, **options), options.pop("power", 0.8)
    assert power_of(needed, effect, **options) >= power > power_of(needed - 1, effect, **options)


def test_users_that_no_number_of_makes_enough():
    for effect, options, said in (
        (0.0, {}, "an effect is a number other than 0"),
        (math.inf, {}, "an effect is a number other than 0"),
        (-0.4, {"margin": 0.4}, "a loss of the margin"),
        (math.inf, {"margin": 0.4}, "a loss of the margin"),
        (0.4, {"margin": 0.4, "equivalence": True}, "a loss of the margin"),
        (9.9e-7, {}, "users or more"),
        (0.5, {"power": 1.0}, "power must lie"),
        (0.5, {"alpha": 0.0}, "alpha must lie"),
    ):
        with pytest.raises(ParameterError, match=said):
            users_needed(effect, **options)
    assert users_needed(0.01, power=0.05) == 2
    assert users_needed(0.2, margin=0.4, equivalence=True, power=0.04) > 2
    assert users_needed(1e-6, power=0.06, alpha=0.0599) > 1e6


@pytest.mark.parametrize("n", [2, 10, 1000, 1001])
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.5, 0.2)])
def test_the_detectable_effect_is_found_with_the_power(n, power, alpha):
    assert power_of(n, minimum_detectable(n, power=power, alpha=alpha), alpha) == pytest.approx(
        power, abs=6e-3
    )
    if n > 1000:
        expected = (t.ppf(1 - alpha / 2, n - 1) + t.ppf(power, n - 1)) / math.sqrt(n)
        assert minimum_detectable(n, power=power, alpha=alpha) == pytest.approx(expected)
    assert minimum_detectable(n) == minimum_detectable(n, power=0.8, alpha=0.05)


def test_detectable_effects_at_their_ends():
    assert [minimum_detectable(n) for n in (0, 1)] == [NAN, NAN]
    assert minimum_detectable(50, power=0.05) == 0
    assert minimum_detectable(50, power=0.0501) > 0


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("n", [5, 6, 30])
def test_the_interval_of_a_variance_is_bonetts(confidence, n):
    x = X[:n]
    z = norm.ppf((1 + confidence) / 2)
    trimmed = trim_mean(x, min(0.5, 1 / (2 * math.sqrt(n - 4))))
    kurtosis = n * ((x - trimmed) ** 4).sum() / (((x - x.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    spread = math.sqrt(max(kurtosis - (n - 3) / n, 0) / (n - 1))
    expected = [c * x.var(ddof=1) * math.exp(side * z * c * spread) for side in (-1, 1)]
    assert variance_interval(x, confidence=confidence) == pytest.approx(expected)
    assert variance_interval(x) == variance_interval(x, confidence=0.95)


def test_variances_that_are_not_known():
    for values, options in ((X[:4], {}), ([0.5] * 9, {}), (X[:5], {"confidence": 1 - 1e-7})):
        assert variance_interval(values, **options) == (NAN, NAN)


def test_t_is_corrected_for_skewness_up_to_its_turning_point():
    for hypothesis in (-0.05, 0.0, 0.03):
        gap, s, skew = PAIRS.mean - hypothesis, PAIRS.deviation, PAIRS.skewness
        expected = (gap + skew * s / (6 * 60) + skew * gap**2 / (3 * s)) / (s / math.sqrt(60))
        assert skewed_t(PAIRS, hypothesis) == pytest.approx(expected)
    skewed = differences(np.r_[np.zeros(50), np.ones(10)])
    turning = 1.5 * skewed.deviation / skewed.skewness
    for beyond in (1.01, 3.0):
        gap = -beyond * turning
        assert skewed_t(skewed, skewed.mean - gap) == pytest.approx(
            (gap + 0.5 * abs(gap)) / skewed.error
        )
    before = skewed_t(skewed, skewed.mean + 0.999 * turning)
    assert before == pytest.approx(skewed_t(skewed, skewed.mean + 1.001 * turning), abs=0.5)


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_loss_within_the_margin_is_tested_on_its_side(higher_is_better, relative, bounded):
    margin, side = Margin(0.1, relative), -1 if higher_is_better else 1
    factor = 1 + side * 0.1 if relative else 1.0
    pairs, limit = differences(X, factor * Y), 0.0 if relative else 0.1
    bounds = (0.0, 1.0) if bounded else (-math.inf, math.inf)
    test = non_inferiority_of(
        PAIRS, margin=margin, alpha=0.05, bounds=bounds, higher_is_better=higher_is_better
    )
    if bounded:
        most = factor if side < 0 else 1.0
        expected = BoundedMean.of(side * pairs.d, most).p(limit)
        needed = BoundedMean.of(side * pairs.d, most).users(limit - side * pairs.mean, alpha=0.05)
    else:
        expected = t.cdf(side * skewed_t(pairs, side * limit), 59)
        needed = users_to_show(limit - side * pairs.mean, pairs.deviation, 0.05)
    assert test.p == pytest.approx(expected)
    assert test.shown == (test.p < 0.05)
    assert test.users_needed == (needed if test.shown or needed is None or needed > 60 else None)
    assert (test.difference, test.margin) == (PAIRS.mean, 0.1)


def test_sides_of_an_equivalence():
    claims = [Margin(0.05).claim(PAIRS, (0.0, 1.0), side) for side in (1, -1)]
    test = equivalence_of(PAIRS, margin=Margin(0.05), alpha=0.1, bounds=(0.0, 1.0))
    assert test.p == max(claim.p() for claim in claims)
    assert test.interval.confidence == pytest.approx(0.8)
    assert test.method == "two one-sided tests of a bounded mean"
    plain = equivalence_of(PAIRS, margin=Margin(0.05), alpha=0.1)
    assert (plain.method, plain.interval.method, plain.margin) == (
        "two one-sided t tests",
        "t",
        0.05,
    )
    assert plain.equivalent == (plain.p < 0.1)
    clusters = UserClusters(np.arange(60) // 2)
    clustered = equivalence_of(
        PAIRS, margin=Margin(0.05), alpha=0.1, bounds=(0.0, 1.0), clusters=clusters
    )
    assert clustered.p == max(bounded_p(side * PAIRS.d, 1.0, clusters, 0.05) for side in (1, -1))
    for alpha in (0.5, 0.7):
        with pytest.raises(ParameterError, match=r"below 0\.5"):
            equivalence_of(PAIRS, margin=Margin(0.05), alpha=alpha)
    assert equivalence_of(PAIRS, margin=Margin(0.05), alpha=0.49).p > 0


def test_a_share_of_a_negative_or_no_mean():
    assert Margin(0.1, relative=True).factor(1, -0.5) == pytest.approx(0.9)
    assert Margin(0.1, relative=True).factor(-1, 0.5) == pytest.approx(0.9)
    assert (Margin(0.1).factor(1, 0.5), Margin(0.1).limit, Margin(0.1, relative=True).limit) == (
        1.0,
        0.1,
        0.0,
    )
    nothing = differences(np.r_[np.zeros(30), np.ones(30)], np.zeros(60))
    test = non_inferiority_of(nothing, margin=Margin(0.1, relative=True), alpha=0.05)
    assert (test.p, test.shown, test.users_needed) == (NAN, False, None)
    assert equivalence_of(nothing, margin=Margin(0.1, relative=True), alpha=0.05).p == NAN
    claim = Margin(0.2, relative=True).claim(PAIRS, (-1.0, 1.0), 1)
    assert claim.most == pytest.approx(1.0 + 1.2)
    assert Margin(0.2, relative=True).claim(PAIRS, (-1.0, 1.0), -1).most == pytest.approx(0.8 + 1.0)


def test_what_is_based_on_too_little_is_not_shown():
    one = Margin(0.1).claim(differences([0.5], [0.4]), (0.0, 1.0), 1)
    assert one.p() == NAN
    few = differences(np.tile([0.01, -0.01], 14), np.zeros(28))
    assert Margin(0.5).claim(few, (-math.inf, math.inf), 1).p() == 1
    enough = differences(np.tile([0.01, -0.01], 30), np.zeros(60))
    assert Margin(0.5).claim(enough, (-math.inf, math.inf), 1).p() < 1e-9
    clustered = non_inferiority_of(
        PAIRS, margin=Margin(0.01), alpha=0.05, bounds=(0, 1), clusters=UserClusters(np.arange(60))
    )
    assert clustered.users_needed is None
    assert users_to_show(0.1, 0.5, 0.05) == math.ceil(((norm.ppf(0.95) + norm.ppf(0.8)) * 5) ** 2)
    assert users_to_show(0.1, 0.5, 0.05, power=0.5) == math.ceil((norm.ppf(0.95) * 5) ** 2)
    for gap, deviation in ((0.0, 0.5), (-0.1, 0.5), (0.1, 0.0), (1e-9, 1.0)):
        assert users_to_show(gap, deviation, 0.05) is None


def test_t_needs_thirty_pairs_that_differ_and_are_not_too_skewed():
    for differing, valid in ((29, False), (30, True)):
        d = np.r_[np.tile([0.1, -0.1], 15)[:differing], np.zeros(100)]
        assert t_is_valid(differences(d)) == valid
    assert not t_is_valid(differences(np.ones(60)))
    assert too_skewed(differences(np.r_[np.zeros(58), 1.0, 1.0]))
    for share, skewness in ((1.0, 0.0), (0.3, 0.0), (1.0, -2.0), (1.0, 2.0), (0.001, 5.0)):
        needed = fewest_for_t(share, skewness) / 1.4
        rules = [
            n
            for n in range(2, 60_000)
            if n * share >= 30 and n >= 25 * (abs(skewness) + 2 * math.sqrt(6 / n)) ** 2
        ]
        assert needed == pytest.approx(rules[0], abs=2)


def test_limits_by_t_need_degrees_of_freedom_and_variation():
    options = {"confidence": 0.9, "method": "m", "n": 4}
    interval = t_around(0.5, 0.1, 3, flags=("a",), **options)
    assert tuple(interval) == pytest.approx(
        (0.5 - 0.1 * t.ppf(0.95, 3), 0.5 + 0.1 * t.ppf(0.95, 3))
    )
    assert interval.flags == ("a",)
    assert tuple(t_around(0.5, 0.1, 0, **options)) == (NAN, NAN)
    for error, known in ((0.5e-12, False), (0.5001e-12, True)):
        interval = t_around(0.5, error, 3, flags=("a",), **options)
        assert math.isfinite(interval.low) == known
        assert interval.flags == (
            ("a",) if known else ("a", "no variation: the interval is not known")
        )
