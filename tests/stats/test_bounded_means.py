"""Bounded means: the tail that they rest on, against exact values, and the users that a plan asks for."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.stats.bounded_means import BoundedMean, probability_above


@given(
    below=st.lists(st.floats(0.2, 3.0), min_size=3, max_size=8),
    shift=st.sampled_from([0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4, 0.1, -0.1, 0.5]),
)
def test_the_tail_is_that_of_exponential_sums(below, shift):
    """Of one value above 0: P = Π a / (a + b_i); where the mean is 0, two terms cancel and their limit is used."""
    above = sum(below) * (1 + shift)
    exact = math.prod(above / (above + each) for each in below)
    found, _ = probability_above(np.array([above, *(-each for each in below)]))
    assert found == pytest.approx(exact, rel=0.04)
    counted, _ = probability_above(np.array([above, *(-each for each in below)]), 0.0, np.ones(len(below) + 1))
    assert counted == pytest.approx(found)


def test_the_tail_has_no_step_where_its_two_terms_cancel():
    below = np.array([-1.0, -1.0, -1.0])
    shares = [probability_above(np.array([3.0 + shift, *below]))[0] for shift in np.linspace(-3e-3, 3e-3, 41)]
    steps = np.diff(shares)
    assert steps.min() > 0
    assert steps.max() < 1.5 * steps.min()


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=30), st.floats(0.01, 1.9), st.sampled_from([0.01, 0.05]))
def test_a_plan_asks_for_the_fewest_users(values, gap, alpha):
    mean = BoundedMean.of(np.array(values), 1.0)
    users = mean.users(gap, alpha=alpha)
    if users is None:
        assert mean.detectable(1e9, alpha=alpha) > gap
        return
    assert users >= 2
    assert mean.detectable(users, alpha=alpha) <= gap
    fewer = users - max(1, users // 500)
    assert fewer < 2 or mean.detectable(fewer, alpha=alpha) > gap


def test_a_plan_asks_for_two_users_at_least():
    """One without a hit would do: of a mean of 0.99, that is 0.01."""
    mean = BoundedMean.of(np.zeros(30), 1.0)
    assert mean.detectable(1, alpha=0.05) < 0.99
    assert mean.users(0.99, alpha=0.05) == 2


def test_users_grow_with_the_square_of_ever_smaller_gaps():
    mean = BoundedMean.of(np.array([-1.0, 0.0, 1.0]), 1.0)
    products = [mean.users(gap, alpha=0.05) * gap**2 for gap in 10.0 ** -np.arange(3, 8)]
    assert products == pytest.approx([products[0]] * 5, rel=1e-3)
    assert mean.users(1e-9, alpha=0.05) is None
    assert mean.users(0.0, alpha=0.05) is None


def test_a_margin_just_above_the_loss_has_a_plan_or_none():
    """The numbers of such plans are beyond what a sum of logarithms tells apart."""
    values = np.random.default_rng(0).random((300, 2)).round(2)
    results = [rw.from_per_user(pl.DataFrame({"user": range(300), "recall@5": v})) for v in values.T]
    loss = abs(rw.compare(*results)["B"]["difference"])
    plans = [rw.compare(*results, margin=loss + 10.0**-digits) for digits in range(4, 14)]
    users = [plan["B"]["users_needed"] or math.inf for plan in plans]
    assert users == sorted(users)
