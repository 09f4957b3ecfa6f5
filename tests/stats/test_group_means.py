"""Gaps between group means: intervals hold also where all groups are alike, and two gaps differ only if shown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import studentized_range, t

from rankwise.errors import InputError
from rankwise.stats.group_means import _GroupMeans, compare_groups, group_interval
from tools import deep


def recall(rng, means, groups):
    """Recall of five relevant items."""
    return rng.binomial(5, np.asarray(means)[groups]) / 5


@pytest.mark.parametrize("samples", [40, *deep(400)])
@pytest.mark.parametrize(("count", "apart"), [(2, 0.0), (4, 0.0), (12, 0.0), (4, 0.15)])
def test_intervals_hold(count, apart, samples):
    rng, groups = np.random.default_rng(7), np.repeat(np.arange(count), 40)
    means = np.where(np.arange(count) == 0, 0.3 - apart, 0.3)
    truth = {
        "gap": apart,
        "ratio": (0.3 - apart) / 0.3,
        "mean_difference": apart * 2 / count,  # count - 1 of the count * (count - 1) / 2 pairs
    }
    held = dict.fromkeys(truth, 0)
    for _ in range(samples):
        values = recall(rng, means, groups)
        for statistic, value in truth.items():
            held[statistic] += value in group_interval(values, groups, statistic, n_resamples=199)
    least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / samples)
    assert min(held.values()) / samples >= least, held


def test_two_groups_give_nearly_welch():
    rng, groups = np.random.default_rng(1), np.repeat([0, 1], [400, 600])
    values = rng.random(1000) + 0.3 * groups
    interval = group_interval(values, groups)
    a, b = values[groups == 0], values[groups == 1]
    half = 1.96 * math.sqrt(a.var(ddof=1) / 400 + b.var(ddof=1) / 600)
    gap = b.mean() - a.mean()
    assert tuple(interval) == pytest.approx((gap - half, gap + half), abs=0.003)
    assert group_interval(-values, groups).estimate == pytest.approx(gap)


def test_equal_gaps_do_not_differ_where_the_jackknife_says_so():
    """Twelve groups alike in both systems: the observed gaps are noise."""
    rng, groups = np.random.default_rng(2), np.repeat(np.arange(12), 33)
    pairs = [(recall(rng, [0.3] * 12, groups), recall(rng, [0.3] * 12, groups)) for _ in range(40)]
    assert sum(compare_groups(x, y, groups, n_resamples=199)[1] < 0.05 for x, y in pairs) <= 2


@pytest.mark.parametrize(("statistic", "sign"), [("gap", 1), ("ratio", -1), ("mean_difference", 1)])
def test_a_system_that_serves_one_group_worse_is_seen(statistic, sign):
    rng, groups = np.random.default_rng(3), np.repeat(np.arange(3), 800)
    y = recall(rng, [0.5, 0.5, 0.5], groups)
    x = recall(rng, [0.5, 0.5, 0.1], groups)
    interval, p = compare_groups(x, y, groups, statistic)
    assert p < 0.001
    assert min(sign * limit for limit in interval) > 0
    mirrored, same = compare_groups(y, x, groups, statistic)
    assert mirrored.estimate == pytest.approx(-interval.estimate)
    assert same < 0.001


def test_interval_and_p_never_contradict_each_other():
    rng, groups = np.random.default_rng(4), np.repeat(np.arange(3), 200)
    for shift in np.linspace(0.1, 0.4, 12):
        x, y = recall(rng, [0.5, 0.5, 0.5 - shift], groups), recall(rng, [0.5] * 3, groups)
        interval, p = compare_groups(x, y, groups, confidence=0.95, n_resamples=999)
        assert (p < 0.05) == (0 not in interval)


def test_a_system_against_itself():
    values, groups = np.random.default_rng(5).random(300), np.arange(300) % 4
    interval, p = compare_groups(values, values, groups)
    assert (interval.estimate, interval.low, interval.high, p) == (0, 0, 0, 1)


def test_groups_without_variance_have_no_interval():
    values, groups = (
        np.r_[np.zeros(50), np.random.default_rng(6).random(50)],
        np.repeat(["a", "b"], 50),
    )
    interval = group_interval(values, groups)
    assert math.isnan(interval.low)
    assert "not known" in interval.flags[0]
    assert math.isnan(compare_groups(values, values[::-1], groups)[1])
    few = group_interval(np.random.default_rng(6).random(30), np.arange(30) % 2)
    assert few.flags == ("a group has only 15 users",)


def test_what_it_refuses():
    for values, groups, said in (
        ([0.1, 0.2], ["a", "a"], "two groups or more"),
        ([0.1, math.nan], ["a", "b"], "two groups or more"),
        ([0.1, 0.2], ["a"], "each value has a group"),
        ([0.1, 0.2, 0.3], ["a", "b", None], "a row has no group"),
    ):
        with pytest.raises(InputError, match=said):
            group_interval(values, groups)


GROUPS = np.repeat(["a", "b", "c"], [5, 8, 6])
RNG = np.random.default_rng(11)
BEFORE = RNG.uniform(0.3, 0.9, 19)
AFTER = BEFORE + RNG.uniform(-0.2, 0.2, 19) + 0.15 * (GROUPS == "c")


def of_groups(values, logs=False):
    """Return the mean and the squared standard error of each group, of logarithms by the delta method."""
    parts = [values[name == GROUPS] for name in "abc"]
    squares = [part.var(ddof=1) / len(part) / (part.mean() ** 2 if logs else 1) for part in parts]
    return [math.log(part.mean()) if logs else part.mean() for part in parts], squares


def pair_limits(means, squares, q):
    """Return the limits of the difference of each ordered pair of groups."""
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    return {
        (a, b): [means[a] - means[b] + s * q * math.sqrt(squares[a] + squares[b]) for s in (-1, 1)]
        for a, b in pairs
    }


def combined(values, statistic):
    return float(np.mean(values) if statistic == "mean_difference" else np.max(values))


@pytest.mark.parametrize("q", [0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("statistic", ["gap", "ratio", "mean_difference"])
def test_limits_of_one_system_follow_from_those_of_all_pairs(statistic, q):
    logs = statistic == "ratio"
    limits = pair_limits(*of_groups(BEFORE, logs), q).values()
    low = combined([max(0.0, least, -most) for least, most in limits], statistic)
    high = combined([max(abs(least), abs(most)) for least, most in limits], statistic)
    means = _GroupMeans.of([BEFORE], GROUPS, statistic, 50, 0)
    assert means.limits(q, 0) == pytest.approx((low, high))
    gaps = [abs(a - b) for a in of_groups(BEFORE)[0] for b in of_groups(BEFORE)[0]]
    plain = of_groups(BEFORE)[0]
    expected = {
        "gap": max(gaps),
        "ratio": min(plain) / max(plain),
        "mean_difference": sum(gaps) / 6,
    }
    assert means.estimate(0) == pytest.approx(expected[statistic])
    interval = group_interval(BEFORE, GROUPS, statistic, confidence=0.8, n_resamples=200)
    ends = _GroupMeans.of([BEFORE], GROUPS, statistic, 200, 0)
    ends = ends.limits(ends.quantile(0.8), 0)
    assert tuple(interval) == pytest.approx(
        [math.exp(-end) for end in reversed(ends)] if logs else ends
    )
    assert (interval.n, interval.confidence, interval.method) == (19, 0.8, "all pairs of groups")


@pytest.mark.parametrize("q", [0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("statistic", ["gap", "ratio", "mean_difference"])
@pytest.mark.parametrize(("x", "y"), [(AFTER, BEFORE), (BEFORE, AFTER)])
def test_limits_of_a_change_follow_from_those_of_all_pairs(statistic, q, x, y):
    logs = statistic == "ratio"
    (before, of_before), (after, of_after) = of_groups(y, logs), of_groups(x, logs)
    if logs:
        terms = x / np.array([x[g == GROUPS].mean() for g in GROUPS]) - y / np.array(
            [y[g == GROUPS].mean() for g in GROUPS]
        )
        of_change = of_groups(terms)[1]
    else:
        of_change = of_groups(x - y)[1]
    change = pair_limits(np.subtract(after, before), of_change, q)
    old, new = pair_limits(before, of_before, q), pair_limits(after, of_after, q)
    if statistic == "mean_difference":
        low = np.mean(
            [
                min(
                    ([change[p][0]] if old[p][1] >= 0 else [])
                    + ([-change[p][1]] if old[p][0] <= 0 else [])
                )
                for p in old
            ]
        )
        high = np.mean(
            [
                max(
                    ([change[p][1]] if new[p][1] >= 0 else [])
                    + ([-change[p][0]] if new[p][0] <= 0 else [])
                )
                for p in new
            ]
        )
    else:
        first, second = (max(0.0, *(least for least, _ in side.values())) for side in (old, new))
        low = min(change[p][0] for p in old if old[p][1] >= first)
        high = max(change[p][1] for p in new if new[p][1] >= second)
    means = _GroupMeans.of([y, x], GROUPS, statistic, 50, 0)
    (low_old, high_old), (low_new, high_new) = means.limits(q, 0), means.limits(q, 1)
    low, high = max(low, low_new - high_old), min(high, high_new - low_old)
    if logs:  # of e^-g, where g is the logarithm of the ratio of means
        ends = [
            math.exp(-old) * (math.exp(-end) - 1)
            for old in (low_old, high_old)
            for end in (low, high)
        ]
        low, high = min(ends), max(ends)
    assert means.change(q) == pytest.approx((low, high))


def test_draws_of_two_groups_of_five_are_those_of_students_t():
    """Of two equal variances with four degrees of freedom each, t has eight."""
    rng, groups = np.random.default_rng(3), np.repeat([0, 1], 5)
    one = rng.random(5)
    means = _GroupMeans.of([np.r_[one, one + 0.4]], groups, "gap", 40_000, 1)
    for confidence in (0.5, 0.9, 0.95):
        assert means.quantile(confidence) == pytest.approx(t.ppf((1 + confidence) / 2, 8), rel=0.03)
    many = _GroupMeans.of([rng.normal(size=4000)], np.arange(4000) % 4, "gap", 20_000, 1)
    assert many.quantile(0.95) == pytest.approx(
        studentized_range.ppf(0.95, 4, np.inf) / math.sqrt(2), rel=0.02
    )


def test_the_quantile_is_that_of_the_draws_and_one_more():
    means = _GroupMeans.of([BEFORE], GROUPS, "gap", 99, 0)
    assert (np.diff(means.largest) >= 0).all()
    assert [means.quantile(level) for level in (0.005, 0.5, 0.95, 0.999)] == [
        means.largest[at] for at in (0, 49, 94, 98)
    ]


@pytest.mark.parametrize("statistic", ["gap", "ratio", "mean_difference"])
def test_p_is_the_smallest_level_at_which_the_interval_excludes_0(statistic):
    for shift in (0.0, 0.3):
        x = BEFORE - shift * (GROUPS == "a") * BEFORE + 0.02 * RNG.normal(size=19)
        p = compare_groups(x, BEFORE, GROUPS, statistic, n_resamples=19)[1]
        levels = (np.arange(1, 20) + 0.5) / 20  # between those that p can have
        intervals = [
            compare_groups(x, BEFORE, GROUPS, statistic, n_resamples=19, confidence=1 - at)[0]
            for at in levels
        ]
        assert [0 not in interval for interval in intervals] == (levels > p).tolist()


def test_few_users_of_a_group_are_said():
    values = np.random.default_rng(0).random(200)
    for least, flags in ((49, ("a group has only 49 users",)), (50, ())):
        assert group_interval(values, np.arange(200) >= least, n_resamples=9).flags == flags
    one = group_interval(values[:50], np.arange(50) > 0, n_resamples=9)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert "no two users" in one.flags[0]
    two = group_interval(values[:50], np.arange(50) > 1, n_resamples=9)
    assert two.flags == ("a group has only 2 users",)


def test_a_ratio_needs_means_above_0():
    groups = np.repeat([0, 1], 50)
    values = np.random.default_rng(0).random(100) - groups * 0.9
    assert math.isnan(group_interval(values, groups, "ratio", n_resamples=9).low)
    assert not math.isnan(group_interval(values, groups, "gap", n_resamples=9).low)
    assert math.isnan(compare_groups(values, values + 1, groups, "ratio", n_resamples=9)[1])


def test_the_seed_decides_the_draws_and_its_number_is_0():
    one, same, other = (_GroupMeans.of([BEFORE], GROUPS, "gap", 20, seed) for seed in (0, 0, 1))
    assert (one.drawn == same.drawn).all()
    assert (one.drawn != other.drawn).any()
    assert group_interval(BEFORE, GROUPS, n_resamples=20) == group_interval(
        BEFORE, GROUPS, n_resamples=20, seed=0
    )
