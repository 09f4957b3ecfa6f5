"""Gaps between group means: intervals hold also where all groups are alike, and two gaps differ only if shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise.errors import InputError
from rankwise.stats.group_means import compare_groups, group_interval
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
    values, groups = np.r_[np.zeros(50), np.random.default_rng(6).random(50)], np.repeat(["a", "b"], 50)
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
