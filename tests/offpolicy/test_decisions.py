"""Decisions about policies on logged requests: what a log does not support decides nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError

LOG = rw.datasets.logged(users=1500, seed=1)


def with_reward(column, **options):
    frame = LOG.exposures.rename({"click": "reward"}).with_columns(column.alias("reward"))
    return rw.off_policy(frame, targets={"new": "p_new"}, **options)


@pytest.fixture(scope="module")
def clicks():
    return with_reward(pl.col("reward"))


@pytest.fixture(scope="module")
def time():
    return with_reward(0.5 + 0.1 * pl.col("reward"), margin="1%", reward_range=(0, 1))


def test_a_better_policy_is_shipped(clicks):
    decision = rw.decide(clicks, success="reward")
    assert (decision.outcome, decision.exit_code) == ("ship", 0)
    assert decision.verdict.startswith("Replace logged with new: better on reward")
    row = decision.checks.row(0, named=True)
    pair = clicks.differences.row(0, named=True)
    assert [row[name] for name in ("difference", "low", "high", "p")] == [
        pair[name] for name in ("difference", "low", "high", "p")
    ]


def test_a_worse_policy_is_stopped(clicks):
    decision = rw.decide(clicks, success="reward", baseline="logged", system="new")
    frame = LOG.exposures.with_columns(click=1 - pl.col("click"))
    worse = rw.off_policy(frame, targets={"new": "p_new"})
    assert decision.outcome == "ship"
    assert rw.decide(worse, success="reward").outcome == "stop"


def test_a_guardrail_holds_within_its_margin(clicks, time):
    rule = {"success": "clicks", "guardrails": {"time": "1%"}}
    assert rw.decide({"clicks": clicks, "time": time}, **rule).outcome == "ship"
    slower = with_reward(0.5 - 0.2 * pl.col("reward"), margin="1%", reward_range=(0, 1))
    decision = rw.decide({"clicks": clicks, "time": slower}, **rule)
    assert decision.outcome == "stop"
    assert "loses" in decision.verdict
    with pytest.raises(ParameterError, match="not estimated with the margin") as error:
        rw.decide({"clicks": clicks, "time": clicks}, **rule)
    assert error.value.hint == 'rankwise.off_policy(…, margin="1%")'


def test_p_of_the_margin_agrees_with_the_verdict():
    for margin in (0.001, 0.02, 0.2):
        row = with_reward(1 - pl.col("reward"), margin=margin).differences.row(0, named=True)
        assert (row["p_non_inferior"] < 0.05) == row["within_margin"]


@pytest.mark.parametrize("users", [60, 12])
def test_weak_or_no_support_holds(users):
    few = rw.datasets.logged(users=users, sharpness=3.0, seed=1)
    result = rw.off_policy(few.exposures, targets={"new": "p_new"}, margin=0.5)
    support = result.row("new")["support"]
    assert support in ("weak", "none")
    decision = rw.decide(result, success="reward")
    assert decision.outcome == "hold"
    kind = "no" if support == "none" else support
    assert f"{kind} support of new" in decision.checks["flags"][0].to_list()
    assert (
        rw.decide({"a": result, "b": result}, success="a", guardrails={"b": 0.5}).outcome == "hold"
    )
    repr(decision)


def test_slices_are_groups_of_the_result():
    result = with_reward(pl.col("reward"), by="segment", margin=0.5)
    decision = rw.decide(
        {"clicks": result, "time": result},
        success="clicks",
        guardrails={"time": 0.5},
        slices="segment",
    )
    groups = decision.checks.filter(pl.col("by") == "segment")["group"].to_list()
    assert groups == ["0", "1", "2", "3", "4"]
    with pytest.raises(ParameterError, match="no slices by country"):
        rw.decide(result, success="reward", slices="country")


def test_a_loss_that_no_rule_guards_is_said(clicks):
    slower = with_reward(0.5 - 0.2 * pl.col("reward"), reward_range=(0, 1))
    decision = rw.decide({"clicks": clicks, "time": slower}, success="clicks")
    assert decision.outcome == "ship"
    assert decision.reasons[-1].startswith("No rule guards time, which is worse")


def test_a_decision_is_saved_and_read(clicks, tmp_path):
    decision = rw.decide(clicks, success="reward")
    again = rw.Decision.load(decision.save(tmp_path / "decision.json"))
    assert repr(again) == repr(decision)
    assert again.record["inputs"]["reward"]["per_user"] == clicks.inputs["per_user"]


def test_what_is_no_decision(clicks):
    with pytest.raises(MetricError, match="no reward 'revenue'"):
        rw.decide(clicks, success="revenue")
    with pytest.raises(ParameterError, match="users' lists or about logged requests"):
        rw.decide(
            {"clicks": clicks, "lists": rw.evaluate({1: [1]}, {1: {1}}, "mrr")}, success="clicks"
        )
    two = rw.off_policy(LOG.exposures, targets={"new": "p_new", "even": rw.policies.Uniform()})
    with pytest.raises(ParameterError, match="about one system"):
        rw.decide(two, success="reward")
    assert rw.decide(two, success="reward", system="new").outcome == "ship"
    assert rw.decide(two, success="reward", baseline="even", system="new").outcome in (
        "ship",
        "hold",
    )


def with_a_slice_that_the_log_cannot_say():
    rng, count = np.random.default_rng(0), 20_000
    user, item = np.arange(count), rng.integers(0, 2, count)
    last = user >= count - 300
    return pl.DataFrame(
        {
            "request": user,
            "user": user,
            "segment": np.where(last, "b", "a"),
            "item": item,
            "propensity": 0.5,
            "p_new": np.where(last, 0.0, np.where(item == 1, 0.9, 0.1)),
            "click": (rng.random(count) < np.where(item == 1, 0.5, 0.2)).astype(int),
        }
    )


def test_a_slice_without_support_is_no_small_slice():
    result = rw.off_policy(
        with_a_slice_that_the_log_cannot_say(), targets={"new": "p_new"}, by="segment", margin=0.2
    )
    assert result.row("new", "b")["support"] == "none"
    decision = rw.decide(result, success="reward", guardrails={"reward": 0.2}, slices="segment")
    assert (decision.outcome, decision.small_slices) == ("hold", [])
    repr(decision)


def test_every_reward_of_a_rule_has_the_slices_and_the_level(clicks):
    sliced = with_reward(pl.col("reward"), by="segment", margin=0.5)
    whole = with_reward(pl.col("reward"), margin=0.5)
    with pytest.raises(ParameterError, match="rev has no slices by segment"):
        rw.decide(
            {"clicks": sliced, "rev": whole},
            success="clicks",
            guardrails={"rev": 0.5},
            slices="segment",
        )
    with pytest.raises(ParameterError, match="not estimated at the level of the decision"):
        rw.decide(with_reward(pl.col("reward"), alpha=0.5), success="reward", alpha=0.05)
    inherited = rw.decide(with_reward(pl.col("reward"), alpha=0.5), success="reward")
    assert inherited.record["rule"]["alpha"] == 0.5


def test_a_log_is_compared_where_it_is_evaluated(clicks):
    with pytest.raises(ParameterError, match=r"see its differences, or rw\.decide"):
        rw.compare(clicks)
