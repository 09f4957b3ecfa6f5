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
        off_policy(frame, targets={"new": "p_new"})
        for frame in (log, log.sample(fraction=1, shuffle=True, seed=seed))
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
        assert (
            math.isnan(row["value"])
            if row["support"] == "none"
            else row["value"] == pytest.approx(mean)
        )
        assert row["mean_weight"] == 1.0
    shown = result.differences.filter(pl.col("difference").is_not_nan())
    assert shown["difference"].abs().max() in (None, pytest.approx(0.0, abs=1e-12))
    assert not {"better", "worse"} & {*shown["verdict"]}


@given(logs(), st.floats(-2, 2))
@settings(deadline=None)
def test_the_origin_of_rewards_shifts_the_value(log, shift):
    moved = log.with_columns(pl.col("reward") + shift)
    limits = (0.0, 2.0)
    one = off_policy(log, targets={"new": "p_new"}, reward_range=limits)
    other = off_policy(
        moved, targets={"new": "p_new"}, reward_range=tuple(x + shift for x in (0.0, 2.0 + 1e-9))
    )
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
    assert (
        result.differences.select("difference", "low", "high", "p").null_count().sum_horizontal()[0]
        == 0
    )
    assert result.differences["difference"].is_nan().all()
    assert result.sensitivity.is_empty()
    assert result.positions.filter(pl.col("policy") == "new")["value"].is_nan().all()
    assert "nan" not in repr(result)


@given(st.integers(1, 200), st.integers(0, 200))
@settings(deadline=None)
def test_clicks_without_weights_have_the_interval_of_clopper_and_pearson(n, clicks):
    clicks = min(clicks, n)
    reward = np.repeat([1.0, 0.0], [clicks, n - clicks])
    estimate = Estimate(
        clicks / n, reward, np.ones(n), (1.0, 1.0), (0.0, 1.0), np.ones(n), 0.0, 1.0
    )
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


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (pl.Int8, -128),
        (pl.UInt8, 0),
        (pl.Int16, -(2**15)),
        (pl.Int64, 2**63 - 256),
        (pl.Int64, -(2**63)),
    ],
)
def test_items_at_the_limits_of_their_type_change_no_bit(kind, first):
    log = rw.datasets.logged(users=60, seed=3).exposures
    items = pl.Series("item", np.random.default_rng(1).permutation(256)[log["item"].to_numpy() % 7])
    items[0], items[1] = 0, 255
    numbered = log.with_columns(items)
    moved = log.with_columns(pl.Series("item", [first + item for item in items], dtype=kind))
    targets = {"new": "p_new", "even": rw.policies.Uniform()}
    one, other = (off_policy(frame, targets=targets) for frame in (numbered, moved))
    for name in ("table", "differences", "sensitivity", "positions", "per_user"):
        assert getattr(one, name).equals(getattr(other, name), null_equal=True), name


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


@pytest.mark.parametrize(
    ("estimator", "modelled"),
    [("snips", False), ("ips", False), ("beta_ips", False), ("sndr", True), ("dr", True)],
)
def test_a_clip_above_all_weights_gives_the_printed_value(estimator, modelled):
    log = rw.datasets.logged(users=300, seed=11)
    half = log.exposures.group_by("segment", "item").agg(reward=pl.col("click").mean() / 2)
    target = log.policies.select("segment", "item", probability="p_new")
    options = {"predictions": half, "missing": "logged"} if modelled else {}
    result = off_policy(log.exposures, targets={"new": target}, estimator=estimator, **options)
    clips = result.sensitivity.filter(method="clip")
    last, first = (
        clips.filter(parameter=end)["value"].item() for end in (clips["parameter"].max(), 1)
    )
    assert last == pytest.approx(result["new"], rel=1e-12)
    assert first != pytest.approx(result["new"], rel=1e-3)


def test_a_clipped_ips_divides_by_the_requests():
    n = 100  # of each row
    log = {
        "user": range(4 * n),
        "request": range(4 * n),
        "item": [1, 2, 1, 2] * n,
        "click": [1, 1, 0, 1] * n,
    }
    log |= {
        "propensity": [0.5] * 4 * n,
        "p_new": [0.9, 0.1, 0.9, 0.1] * n,
    }  # weights 1.8, 0.2, 1.8, 0.2
    result = off_policy(pl.DataFrame(log), targets={"new": "p_new"}, estimator="ips")
    value = result.sensitivity.filter(method="clip", parameter=1)["value"].item()
    assert value == pytest.approx((1 + 0.2 + 0 + 0.2) / 4)


def test_the_clips_are_round_numbers_up_to_a_million():
    log = rw.datasets.logged(users=300, seed=11)
    table = off_policy(log.exposures, targets={"new": "p_new"}).sensitivity
    clips = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70]
    clips += [100, 200, 500, 1000, 10_000, 1_000_000]
    assert table.filter(method="clip")["parameter"].to_list() == clips


def test_groups_are_the_results_of_their_rows():
    log = rw.datasets.logged(users=900, seed=7).exposures
    result = off_policy(log, targets={"new": "p_new"}, by="segment")
    alone = off_policy(log.filter(segment=2), targets={"new": "p_new"})
    row = result.row("new", 2)
    assert row["support"] == alone.row("new")["support"]
    assert [row[n] for n in NUMBERS] == pytest.approx(
        [alone.row("new")[n] for n in NUMBERS], nan_ok=True
    )
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


def users_with(count, **columns):
    """Return a log of users with one request each."""
    rng = np.random.default_rng(0)
    item = rng.integers(0, 2, count)
    base = {
        "request": np.arange(count),
        "user": np.arange(count),
        "item": item,
        "propensity": np.full(count, 0.5),
    }
    return pl.DataFrame(base | {"click": (rng.random(count) < 0.5).astype(int)} | columns)


@pytest.mark.parametrize("missing", ["logged", "drop"])
def test_where_a_target_says_nothing_predictions_change_nothing(missing):
    frame = users_with(2000).with_columns(
        segment=pl.when(pl.col("user") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    table = {"segment": ["a", "a"], "item": [0, 1], "probability": [0.5, 0.5]}
    predictions = pl.DataFrame({"item": [0, 1], "reward": [0.5, 0.5]})
    options = {"targets": {"new": rw.policies.Probabilities(table)}, "missing": missing}
    plain, modelled = (off_policy(frame, predictions=p, **options) for p in (None, predictions))
    assert plain["new"] == pytest.approx(plain["logged"])
    assert modelled["new"] == pytest.approx(plain["new"])
    assert modelled.differences["verdict"].to_list() == ["not shown"]


def test_a_context_in_which_a_target_shows_nothing_adds_nothing():
    segment = pl.when(pl.col("user") % 10 == 0).then(pl.lit("b")).otherwise(pl.lit("a"))
    frame = users_with(2000).with_columns(segment=segment)
    target = pl.DataFrame(
        {"segment": [*"aabb"], "item": [0, 1] * 2, "probability": [0.5, 0.5, 0.0, 0.0]}
    )
    predictions = pl.DataFrame({"item": [0, 1], "reward": [0.5, 0.5]})
    result = off_policy(frame, targets={"new": target}, predictions=predictions, estimator="dr")
    assert result["new"] == pytest.approx(frame.filter(segment="a")["click"].sum() / 2000)


def test_a_context_may_be_null():
    frame = users_with(400, click=np.ones(400)).with_columns(
        segment=pl.when(pl.col("user") % 2 == 0).then(pl.lit("a"))
    )
    table = pl.DataFrame(
        {"segment": ["a", "a", None, None], "item": [0, 1] * 2, "probability": [0.5] * 4}
    )
    predictions = pl.DataFrame({"item": [0, 1], "reward": [1.0, 1.0]})
    assert off_policy(frame, targets={"new": table}, predictions=predictions)[
        "new"
    ] == pytest.approx(1.0)
    even = pl.DataFrame({"item": [0, 1], "probability": [0.5, 0.5]})
    row = off_policy(frame, targets={"new": even}, propensity=table).row("new")
    assert (row["mass_without_support"], row["support"]) == (0.0, "sound")


def test_groups_may_be_null_empty_or_called_none():
    frame = users_with(400).with_columns(
        country=pl.Series(["None", None, "", "at"] * 100),
        rate=pl.Series([float("nan"), None, 1.0, 2.0] * 100),
    )
    result = off_policy(frame, targets={"new": "propensity"}, by="country")
    assert sorted(result.table.filter(policy="new")["group"].drop_nulls()) == [
        "",
        "None",
        "at",
        "–",
    ]
    assert "[country=]" in repr(result)
    assert result.row("new", "None")["n"] == 100
    assert off_policy(frame, targets={"new": "propensity"}, by="rate").row("new", "–")["n"] == 200


def test_a_request_without_users_joins_a_table_of_users_by_the_context():
    frame = users_with(400).drop("user").with_columns(segment=pl.lit("a"))
    table = pl.DataFrame(
        {"user": ["x", "x"], "segment": ["a", "a"], "item": [0, 1], "probability": [0.7, 0.3]}
    )
    assert off_policy(frame, targets={"new": table}).row("new")["support"] == "sound"


def test_categories_are_text():
    frame = users_with(400).with_columns(segment=pl.lit("a").cast(pl.Categorical))
    table = pl.DataFrame({"segment": ["a", "a"], "item": [0, 1], "probability": [0.7, 0.3]})
    assert off_policy(frame, targets={"new": table}).row("new")["support"] == "sound"


def test_exploration_is_of_items_that_can_be_shown():
    frame = pl.DataFrame({"item": [1, 2, 9], "propensity": [0.5] * 3, "click": [1, 0, 1]})
    scores = rw.policies.Scores({"item": [1, 2], "score": [1.0, 0.0]}, temperature=1.0, epsilon=0.5)
    weights = (
        off_policy(frame, targets={"new": scores}, items=[1, 2]).per_user["weight(new)"].to_list()
    )
    assert weights[2] == 0.0
    assert sum(weights) == pytest.approx(2.0)


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=10)
def test_outcomes_join_the_same_rows_for_every_order(seed):
    shown = {
        "request": [1, 1],
        "user": [1, 1],
        "position": [1, 2],
        "item": [7, 7],
        "propensity": [0.5, 0.5],
    }
    frame = pl.DataFrame({**shown, "p_new": [0.9, 0.2]})
    clicks = pl.DataFrame({"request": [1], "item": [7]})
    timed = pl.DataFrame(
        {
            "user": [1, 1],
            "item": [7, 7],
            "timestamp": [10, 10],
            "propensity": [0.5] * 2,
            "p_new": [0.9, 0.4],
        }
    )
    done = pl.DataFrame({"user": [1], "item": [7], "timestamp": [11]})
    for exposures, outcomes, options in (
        (frame, clicks, {"propensities": "conditional"}),
        (timed, done, {}),
    ):
        orders = (exposures, exposures.sample(fraction=1, shuffle=True, seed=seed))
        one, other = (
            off_policy(each, outcomes, targets={"new": "p_new"}, **options) for each in orders
        )
        assert one.per_user["weight(new)"].to_list() == other.per_user["weight(new)"].to_list()
        assert one.positions.equals(other.positions, null_equal=True)
        assert one.counts == other.counts


def test_the_baseline_may_lack_support():
    log = rw.datasets.logged(users=400, seed=1)
    best = log.policies.sort("p_new", descending=True).unique(
        "segment", keep="first", maintain_order=True
    )
    weak = rw.policies.Lists(best.select("segment", "item"))
    result = off_policy(log.exposures, targets={"weak": weak, "new": "p_new"}, baseline="weak")
    assert "No verdict on weak" in repr(result)
    empty = log.exposures.with_columns(p_never=pl.lit(0.0))
    without = off_policy(empty, targets={"never": "p_never", "new": "p_new"}, baseline="never")
    assert "The log cannot say what never would have earned" in repr(without)
    with pytest.raises(rw.RankwiseError, match="no difference from the baseline"):
        without.requests_needed("new", difference=0.1)


def test_a_regressor_deals_rows_without_users_once():
    sklearn = pytest.importorskip("sklearn.linear_model")
    from rankwise.offpolicy import off_policy as entry

    log = rw.datasets.logged(users=200, seed=6)
    frame, target = (
        log.exposures.drop("user", "request"),
        log.policies.select("segment", "item", probability="p_new"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_ROWS_OF_A_THREAD", 1)
        one, other = (
            off_policy(frame, targets={"new": target}, predictions=sklearn.Ridge(), threads=n)
            for n in (1, 3)
        )
    assert one.table.equals(other.table, null_equal=True)
