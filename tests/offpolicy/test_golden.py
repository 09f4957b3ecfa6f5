"""Golden values: estimators, diagnostics, intervals and differences on the logs in ``golden/``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import rankwise as rw
from rankwise.offpolicy import estimators as e
from rankwise.offpolicy.intervals import Estimate
from rankwise.offpolicy.support import pareto_k

GOLDEN = Path(__file__).with_name("golden")
VALUES = json.loads((GOLDEN / "values.json").read_text())
HALF = VALUES["bandit"]["half"]
REAL = Path(__file__).parents[3] / "shared" / "data" / "open-bandit"


def near(value, digits=1e-10):
    return pytest.approx(value, rel=digits, abs=1e-14)


@pytest.fixture(scope="module")
def log():
    return pl.read_parquet(GOLDEN / "bandit_log.parquet")


@pytest.fixture(scope="module")
def policies():
    return pl.read_parquet(GOLDEN / "bandit_policies.parquet").sort("segment", "item_id")


@pytest.fixture(scope="module")
def arrays(log, policies):
    segment, item = log["segment"].to_numpy(), log["item_id"].to_numpy()
    p, pi, q = (
        policies[name].to_numpy().reshape(5, 20) for name in ("propensity", "target_half", "q_hat")
    )
    category = policies["category"].to_numpy()[:20]
    groups = [
        np.stack([(x * (category == c)).sum(1) for c in range(category.max() + 1)], 1)
        for x in (pi, p)
    ]
    return {
        "w": (log["target_half"] / log["propensity"]).to_numpy(),
        "r": log["reward"].to_numpy().astype(float),
        "q": q[segment, item],
        "dm": (pi * q).sum(1)[segment],
        "rest": (pi * q * (pi / p > 2)).sum(1)[segment],
        "mips": [group[segment, category[item]] for group in groups],
        "user": log["user_id"].to_numpy(),
    }


def test_every_estimator(arrays):
    w, r, q, dm = (arrays[name] for name in ("w", "r", "q", "dm"))
    values = {
        "ips": e.ips(w, r),
        "clipped_ips(5)": e.ips(np.minimum(w, 5), r),
        "snips": e.snips(w, r),
        "clipped_snips(5)": e.snips(np.minimum(w, 5), r),
        "beta_ips(covariance)": e.beta_ips(w, r),
        "dm": float(dm.mean()),
        "dr": e.dr(w, r, q, dm),
        "clipped_dr(5)": e.dr(np.minimum(w, 5), r, q, dm),
        "sndr": e.sndr(w, r, q, dm),
        "switch_dr(2)": e.switch_dr(w, r, q, dm, 2),
        "switch_ips_dm(2)": e.switch_dr(w, r, np.zeros_like(w), arrays["rest"], 2),
        "dr_os(10)": e.shrinkage_dr(w, r, q, dm, 10),
        "sub_gaussian_ips(0.1)": e.ips(w / (0.9 + 0.1 * w), r),
        "mips(category)": e.ips(np.divide(*arrays["mips"]), r),
    }
    assert values == {name: near(HALF[name]) for name in values}
    assert HALF.keys() - values.keys() == {
        "beta_ips(moments)"
    }  # β by moments instead of regression is not offered


def test_replay(log):
    uniform = log.with_columns(
        propensity=pl.lit(0.05)
    )  # replay is the self-normalised value under a uniform log
    weight = (uniform["target_greedy"] / uniform["propensity"]).to_numpy()
    value = e.snips(weight, uniform["reward"].to_numpy().astype(float))
    assert value == near(VALUES["bandit"]["replay of greedy"])
    result = rw.off_policy(uniform, targets={"greedy": "target_greedy"})
    assert result.per_user["weight(greedy)"].sum() == near(weight.sum())
    assert (
        result.per_user["weighted_reward(greedy)"].is_nan().all()
    )  # without support there is no number


@pytest.fixture(scope="module")
def half(log):
    return rw.off_policy(log, targets={"half": "target_half"})


def test_the_value_its_interval_and_support(half):
    row = half.row("half")
    assert row["value"] == near(HALF["snips"])
    assert [row["low"], row["high"]] == near(VALUES["bandit"]["half interval"]["interval"], 1e-9)
    assert [row["support"], row["reasons"]] == VALUES["bandit"]["half support"]
    assert half["logged"] == near(VALUES["bandit"]["logged_mean"])


def test_both_intervals(arrays):
    w, r, user = arrays["w"], arrays["r"], arrays["user"]
    a, b = np.bincount(user, w * r), np.bincount(user, w)
    estimate = Estimate(e.snips(w, r), a, b, (w.max(), w.max()), (0.0, w.max()), b, 0.0, 1.0)
    golden = VALUES["bandit"]["half interval"]
    assert list(estimate.unseen(0.05)) == near(golden["unseen"], 1e-9)
    assert list(estimate.student(0.05)) == near(golden["cr2"])
    linear = VALUES["bandit"]["half intervals by linearisation"]["snips"]
    assert estimate.error == near(linear["se_by_user"])
    half = t.ppf(0.975, 399) * estimate.error
    assert [estimate.value - half, estimate.value + half] == near(linear["t_by_user"])


def test_the_paired_difference(half):
    row, golden = half.differences.row(0, named=True), VALUES["bandit"]["half - logged"]
    assert [row[name] for name in ("difference", "low", "high")] == near(
        [golden[name] for name in ("difference", "low", "high")], 1e-9
    )
    assert row["p"] == pytest.approx(golden["p"], rel=1e-6)
    assert row["verdict"] == golden["verdict"]


def test_diagnostics(half, log, arrays):
    row, golden = half.row("half"), VALUES["bandit"]["half diagnostics"]
    names = {
        "effective_requests": "ess",
        "effective_users": "ess_of_users",
        "largest_weight": "max_weight",
        "mean_weight": "mean_weight",
        "largest_share": "largest_share_of_weight",
        "unused": "share_with_zero_weight",
        "perplexity": "perplexity",
        "pareto_k": "pareto_k_with_prior",
    }
    assert {name: row[name] for name in names} == {
        name: near(golden[key]) for name, key in names.items()
    }
    rows = rw.off_policy(log.drop("user_id"), targets={"half": "target_half"}).row("half")
    assert rows["mean_weight_z"] == near(
        golden["mean_weight_z"]
    )  # the golden one takes rows as independent
    tail = np.sort(arrays["w"])[-135 - 1 :]
    assert (pareto_k(tail) * 138 - 5) / 128 == near(golden["pareto_k_raw"])


@pytest.mark.parametrize(("estimator", "golden"), [("dr", "dr"), ("sndr", "sndr")])
def test_values_with_predictions(log, policies, estimator, golden):
    table = policies.select("segment", "item_id", probability="target_half")
    predictions = policies.select("segment", "item_id", "q_hat")
    result = rw.off_policy(
        log,
        targets={"half": table},
        predictions=predictions,
        estimator=estimator,
        columns={"predictions.reward": "q_hat"},
    )
    assert result["half"] == near(HALF[golden])
    methods = result.sensitivity.filter(
        pl.col("parameter").is_in([2.0, 10.0]) | pl.col("method").is_in(["dm", "ips"])
    )
    shown = {
        (row["method"], row["parameter"]): row["value"] for row in methods.iter_rows(named=True)
    }
    assert shown["switch", 2.0] == near(HALF["switch_dr(2)"])
    assert shown["shrink", 10.0] == near(HALF["dr_os(10)"])
    if estimator == "dr":
        linear = VALUES["bandit"]["half intervals by linearisation"]["dr"]
        assert result.interval("half").low <= linear["t_by_user"][0] + 1e-3


@pytest.mark.parametrize(
    ("estimator", "golden"), [("ips", "ips"), ("beta_ips", "beta_ips(covariance)")]
)
def test_values_on_request(log, estimator, golden):
    rows = log.drop("user_id")  # β is of user sums: here each request is a user
    assert rw.off_policy(rows, targets={"half": "target_half"}, estimator=estimator)[
        "half"
    ] == near(HALF[golden])


def test_the_clip_curve_has_the_clipped_value(half):
    clip = half.sensitivity.filter((pl.col("method") == "clip") & (pl.col("parameter") == 5))
    assert clip["value"].to_list() == near([HALF["clipped_snips(5)"]])


SLATE = VALUES["slate_product"]


def slates(kind, column, target, **options):
    log = pl.read_parquet(GOLDEN / "slate_product_log.parquet")
    columns = {"exposures.propensity": column}
    return rw.off_policy(
        log, targets={"new": target}, propensities=kind, columns=columns, **options
    )


def test_slates_by_prefix():
    result = slates("prefix", "pscore_cascade", "target_pscore_cascade")
    assert result["new"] == near(SLATE["sn_rips (by position)"])
    golden = SLATE["interval of sn_rips"]["interval"]
    assert (
        list(result.interval("new")) == near(golden, 1e-9) or result.row("new")["support"] == "none"
    )
    at = result.positions.filter(pl.col("policy") == "new")
    assert at["value"].sum() == near(SLATE["sn_rips (by position)"])
    ips = slates("prefix", "pscore_cascade", "target_pscore_cascade", estimator="ips")
    assert ips["new"] == near(SLATE["rips"])


def test_slates_by_conditional_propensities_are_the_same():
    log = pl.read_parquet(GOLDEN / "slate_product_log.parquet")
    columns = {"exposures.propensity": "pscore_item_position"}
    result = rw.off_policy(
        log,
        targets={"new": "target_pscore_item_position"},
        propensities="conditional",
        columns=columns,
    )
    assert result["new"] == near(SLATE["sn_rips (by position)"])


def test_slates_with_independent_positions():
    result = slates("marginal", "pscore_item_position", "target_pscore_item_position")
    assert result["new"] == near(SLATE["sn_iips (by position)"])
    assert "only propensities of items at a position are known" in result.row("new")["reasons"]
    ips = slates("marginal", "pscore_item_position", "target_pscore_item_position", estimator="ips")
    assert ips["new"] == near(SLATE["iips"])


def test_slates_agree_with_the_plain_definitions():
    rng = np.random.default_rng(1)
    shown = rng.integers(0, 2, (400, 2))  # of each position one of two items
    clicks = (rng.random((400, 2)) < np.array([0.1, 0.2]) + 0.4 * shown).astype(float)
    log = pl.DataFrame(
        {
            "request": np.repeat(np.arange(400), 2),
            "position": np.tile([1, 2], 400),
            "item": (2 * np.arange(2) + shown).ravel(),
            "propensity": 0.5,
            "reward": clicks.ravel(),
        }
    )
    items = {"position": [1, 1, 2, 2], "item": [0, 1, 2, 3]}
    probability, predicted = np.array([[0.1, 0.9], [0.3, 0.7]]), np.array([[0.1, 0.6], [0.3, 0.5]])
    targets = {"new": pl.DataFrame({**items, "probability": probability.ravel()})}
    predictions = pl.DataFrame({**items, "reward": predicted.ravel()})
    w, q = (table[[0, 1], shown] for table in (probability / 0.5, predicted))
    dm = np.broadcast_to((probability * predicted).sum(1), (400, 2))

    result = rw.off_policy(log, targets=targets, propensities="conditional")
    assert result["new"] == near(e.interaction(w, clicks))
    standard = result.sensitivity.filter(method="standard")
    assert standard["value"].item() == near(e.standard(w, clicks))
    cascade = rw.off_policy(
        log, targets=targets, propensities="conditional", predictions=predictions
    )
    assert cascade["new"] == near(e.cascade_dr(w, clicks, q, dm))
    marginal = rw.off_policy(log, targets=targets, propensities="marginal")
    assert marginal["new"] == near(e.independent(w, clicks))


def test_predictions_by_segment_are_weighted_by_the_list_above():
    rng = np.random.default_rng(2)
    shown, segment = rng.integers(0, 2, (300, 3)), rng.integers(0, 2, 300)
    clicks = (rng.random((300, 3)) < 0.2 + 0.4 * shown).astype(float)
    log = pl.DataFrame(
        {
            "request": np.repeat(np.arange(300), 3),
            "segment": np.repeat(segment, 3),
            "position": np.tile([1, 2, 3], 300),
            "item": shown.ravel(),
            "propensity": 0.5,
            "reward": clicks.ravel(),
        }
    )
    probability = np.array([[0.2, 0.8], [0.4, 0.6], [0.3, 0.7]])
    items = {"position": [1, 1, 2, 2, 3, 3], "item": [0, 1] * 3}
    target = pl.DataFrame({**items, "probability": probability.ravel()})
    predicted = rng.uniform(0.1, 0.9, (2, 3, 2))  # by segment, position and item
    predictions = pl.concat(
        pl.DataFrame({"segment": [at] * 6, **items, "reward": predicted[at].ravel()})
        for at in (0, 1)
    )
    result = rw.off_policy(
        log, targets={"new": target}, propensities="conditional", predictions=predictions
    )
    w, q = probability[range(3), shown] / 0.5, predicted[segment[:, None], range(3), shown]
    dm = (probability * predicted).sum(2)[segment]
    assert result["new"] == near(e.cascade_dr(w, clicks, q, dm))


@pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not here")
@pytest.mark.parametrize("question", ["men: bts log, target uniform", "men: random log"])
def test_real_logs(question):
    random, bts = (pl.read_parquet(REAL / f"{name}_men.parquet") for name in ("random", "bts"))
    if question.startswith("men: bts"):
        golden = VALUES["open bandit, men"][question]
        result = rw.off_policy(bts, targets={"new": rw.policies.Uniform()})
    else:
        golden = VALUES["open bandit, men"][
            f"{question}, target item shares of the bts log by position"
        ]
        at = pl.col("len") / pl.col("len").sum().over("position")
        shares = (
            bts.group_by("position", "item_id").len().select("position", "item_id", probability=at)
        )
        result = rw.off_policy(random, propensity="uniform", targets={"new": shares})
    row, difference = result.row("new"), result.differences.row(0, named=True)
    assert row["value"] == near(golden["snips"])
    assert [row["low"], row["high"]] == near(golden["interval"], 1e-8)
    assert row["support"] == golden["support"]
    assert set(golden["reasons"]) <= set(row["reasons"])
    for name in ("difference", "low", "high"):
        assert difference[name] == near(golden["difference"][name], 1e-8)
    assert difference["p"] == near(golden["difference"]["p"], 1e-8)
    assert difference["verdict"] == golden["difference"]["verdict"]
    names = ("mean_weight", "mean_weight_z", "largest_share", "largest_weight")
    assert {n: row[n] for n in names} == {n: near(golden["diagnostics"][n]) for n in names}
    assert row["mean_weight_error"] == near(golden["diagnostics"]["mean_weight_se"])
    assert row["effective_rewarded"] == near(golden["diagnostics"]["ess_rewarded"])
