"""What holds of every log: order, origin and scale of rewards, equal policies, and what weak logs may say."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import rankwise as rw
from rankwise.offpolicy.intervals import Estimate
from rankwise.offpolicy.off_policy import off_policy
from rankwise.stats.bounded_means import probability_above

NUMBERS = ("value", "low", "high")


@st.composite
def logs(draw):
    size = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    propensity = rng.uniform(0.05, 1.0, size)
    table = {
        "request": np.arange(size),
        "user": rng.integers(0, max(size // 2, 1), size),
        "item": rng.integers(0, 5, size),
        "propensity": propensity,
        "reward": np.round(rng.uniform(0, 2, size), 2) * rng.integers(0, 2, size),
        "p_new": rng.uniform(0, 1, size) * rng.integers(0, 2, size),
    }
    frame = pl.DataFrame(table)
    return frame if draw(st.booleans()) else frame.drop("request")


@given(logs(), st.integers(0, 10**6))
@settings(deadline=None)
def test_the_order_of_rows_changes_no_bit(log, seed):
    one, other = (
        off_policy(frame, targets={"new": "p_new"}) for frame in (log, log.sample(fraction=1, shuffle=True, seed=seed))
    )
    for name in ("table", "differences", "sensitivity", "positions", "per_user"):
        assert getattr(one, name).equals(getattr(other, name), null_equal=True), name


@given(logs())
@settings(deadline=None)
def test_the_logging_policy_as_target_is_the_observed_mean(log):
    result = off_policy(log, targets={"same": "propensity", "logged too": rw.policies.Logged()})
    mean = log["reward"].mean()
    for name in ("same", "logged too"):
        row = result.row(name)
        assert math.isnan(row["value"]) if row["support"] == "none" else row["value"] == pytest.approx(mean)
        assert row["mean_weight"] == 1.0
    shown = result.differences.filter(pl.col("verdict") != "no number")
    assert shown["difference"].abs().max() in (None, pytest.approx(0.0, abs=1e-12))
    assert not {"better", "worse"} & {*shown["verdict"]}


@given(logs(), st.floats(-2, 2))
@settings(deadline=None)
def test_the_origin_of_rewards_shifts_the_value(log, shift):
    moved = log.with_columns(pl.col("reward") + shift)
    limits = (0.0, 2.0)
    one = off_policy(log, targets={"new": "p_new"}, reward_range=limits)
    other = off_policy(moved, targets={"new": "p_new"}, reward_range=tuple(x + shift for x in (0.0, 2.0 + 1e-9)))
    assert one.table["support"].to_list()[0] == "observed"
    for name in ("value", "low", "high"):
        left, right = (result.table[name].to_numpy() for result in (one, other))
        assert left + shift == pytest.approx(right, abs=1e-6, nan_ok=True)


@given(logs())
@settings(deadline=None)
def test_no_number_is_shown_without_support(log):
    result = off_policy(log, targets={"new": "p_new"})
    if result.row("new")["support"] != "none":
        assert result.row("new")["low"] <= result["new"] <= result.row("new")["high"]
        return
    assert math.isnan(result["new"])
    assert all(math.isnan(result.row("new")[name]) for name in NUMBERS)
    assert result.differences.select("difference", "low", "high", "p").null_count().sum_horizontal()[0] == 0
    assert result.differences["difference"].is_nan().all()
    assert result.sensitivity.is_empty()
    assert result.positions.filter(pl.col("policy") == "new")["value"].is_nan().all()
    assert "nan" not in repr(result)


@given(st.integers(1, 200), st.integers(0, 200))
@settings(deadline=None)
def test_clicks_without_weights_have_the_interval_of_clopper_and_pearson(n, clicks):
    clicks = min(clicks, n)
    reward = np.repeat([1.0, 0.0], [clicks, n - clicks])
    estimate = Estimate(clicks / n, reward, np.ones(n), (1.0, 1.0), (0.0, 1.0), np.ones(n), 0.0, 1.0)
    low, high = estimate.unseen(0.05)
    exact = (
        beta.ppf(0.025, clicks, n - clicks + 1) if clicks else 0.0,
        beta.ppf(0.975, clicks + 1, n - clicks) if clicks < n else 1.0,
    )
    assert low == pytest.approx(exact[0], rel=0.05, abs=0.002)
    assert high == pytest.approx(exact[1], rel=0.05, abs=0.002)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
@settings(deadline=None)
def test_the_tail_is_that_of_exponential_sums(values):
    x = np.array(values)
    draws = np.random.default_rng(1).exponential(size=(20_000, len(x))) @ x
    assert probability_above(x)[0] == pytest.approx((draws >= 0).mean(), abs=0.035)


def test_splitting_a_user_changes_only_intervals():
    log = rw.datasets.logged(users=200, seed=3).exposures
    split = log.with_columns(user=pl.col("user") * 1000 + pl.col("request") % 2)
    one, other = (off_policy(frame, targets={"new": "p_new"}) for frame in (log, split))
    assert one["new"] == pytest.approx(other["new"], rel=1e-12)
    assert one.row("new")["low"] != other.row("new")["low"]


def test_predictions_that_are_exact_leave_no_doubt_about_a_greedy_target():
    log = rw.datasets.logged(users=500, shock=0.0, seed=5)
    truth = log.exposures.group_by("segment", "item").agg(reward=pl.lit(0.25))
    result = off_policy(
        log.exposures.with_columns(click=pl.lit(0.25)),
        targets={"new": log.policies.select("segment", "item", probability="p_new")},
        predictions=truth,
        missing="logged",
        reward_range=(0, 1),
    )
    assert result["new"] == pytest.approx(0.25)


def test_a_regressor_is_cross_fitted_by_user():
    sklearn = pytest.importorskip("sklearn.linear_model")
    log = rw.datasets.logged(users=600, seed=6)
    target = log.policies.select("segment", "item", probability="p_new")
    plain = off_policy(log.exposures, targets={"new": target})
    modelled = off_policy(log.exposures, targets={"new": target}, predictions=sklearn.Ridge())
    assert modelled.settings["estimator"] == "sndr"
    assert modelled["new"] == pytest.approx(plain["new"], abs=0.03)
    assert {"dm", "switch", "shrink"} <= {*modelled.sensitivity["method"]}


def test_groups_are_the_results_of_their_rows():
    log = rw.datasets.logged(users=900, seed=7).exposures
    result = off_policy(log, targets={"new": "p_new"}, by="segment")
    alone = off_policy(log.filter(segment=2), targets={"new": "p_new"})
    row = result.row("new", 2)
    assert row["support"] == alone.row("new")["support"]
    assert [row[n] for n in NUMBERS] == pytest.approx([alone.row("new")[n] for n in NUMBERS], nan_ok=True)
    assert result["new"] == off_policy(log, targets={"new": "p_new"})["new"]


def test_a_margin_allows_for_equivalence():
    log = rw.datasets.logged(users=3000, seed=8).exposures
    near = log.with_columns(p_near=0.9 * pl.col("propensity") + 0.1 / 20)
    result = off_policy(near, targets={"near": "p_near"}, margin=0.05)
    assert result.differences["verdict"].to_list() == ["equivalent"]


def test_saved_and_read_again(tmp_path):
    log = rw.datasets.logged(users=80, seed=9).exposures
    result = off_policy(log, targets={"new": "p_new", "greedy": rw.policies.Uniform()})
    again = rw.OffPolicy.load(result.save(tmp_path / "ope"))
    assert repr(again) == repr(result)
    for form in ("json", "csv", "markdown", "latex"):
        assert again.export(form) == result.export(form)


def test_requests_needed_grow_with_the_square():
    result = off_policy(rw.datasets.logged(users=800, seed=1).exposures, targets={"new": "p_new"})
    few, many = (result.requests_needed("new", difference=d) for d in (0.04, 0.02))
    assert many == pytest.approx(4 * few, rel=0.01)
