"""Decisions: each outcome for its reason, on cases made for it, and how often they are wrong."""

from __future__ import annotations

import hashlib
import json
import math
import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, t

import rankwise as rw
from command_line import rankwise_here
from rankwise import stats
from rankwise.errors import FileError, MetricError, MissingValueError, ParameterError
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")


def pair(n=2000, gain=0.0, rail=0.0, seed=0, groups=None, spread=0.1):
    """Return two results: the system gains so much in ndcg@5, and so much in the guardrail."""
    rng = np.random.default_rng(seed)
    old, guard = rng.random(n), rng.random(n)
    extra = {} if groups is None else {"group(team)": groups}
    noise = rng.normal(0, spread, (2, n))
    frames = [
        pl.DataFrame({"user": range(n), "ndcg@5": old, "recall@5": guard} | extra),
        pl.DataFrame(
            {"user": range(n), "ndcg@5": old + gain + noise[0], "recall@5": guard + rail + noise[1]}
            | extra
        ),
    ]
    return dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))


RULE = {"success": "ndcg@5", "guardrails": {"recall@5": 0.02}}


@pytest.mark.parametrize(
    ("options", "outcome", "reason"),
    [
        ({"gain": 0.05}, "ship", "better on ndcg@5"),
        ({"gain": 0.0}, "hold", "ndcg@5 is not shown to be better"),
        ({"gain": 0.05, "rail": -0.05}, "stop", "new loses 9.9 % of recall@5; 0.0200 is allowed"),
        ({"gain": -0.05}, "stop", "new is worse on ndcg@5: 0.499 → 0.450"),
        ({"gain": 0.05, "n": 60, "rail": -0.01}, "hold", "Recall@5 is not shown to hold (60 users"),
        (
            {"gain": 0.05, "rail": -0.012, "n": 20_000},
            "ship",
            "better on ndcg@5, and recall@5 holds",
        ),
    ],
)
def test_outcomes(options, outcome, reason):
    found = rw.decide(pair(**options), **RULE)
    assert found.outcome == outcome
    assert any(reason in text for text in found.reasons), found.reasons
    assert found.exit_code == {"ship": 0, "stop": 1, "hold": 5}[outcome]
    assert repr(found).startswith(f"{outcome.upper()}  {found.verdict}"[:60])
    assert f"{outcome.upper()}  {found.verdict}" in found._repr_html_()


def test_the_numbers_are_those_of_the_tests():
    results = pair(n=3000, gain=0.02, rail=-0.001)
    found = rw.decide(results, **RULE)
    values = {name: result.per_user["recall@5"].to_numpy() for name, result in results.items()}
    expected = stats.non_inferiority(values["new"], values["old"], margin=0.02, largest=1.0)
    (rail,) = found.checks.filter(pl.col("role") == "guardrail").to_dicts()
    assert rail["p"] == pytest.approx(expected.p)
    assert rail["margin"] == 0.02
    row = rw.compare(results, metrics=["ndcg@5"])["new"]
    (success,) = found.checks.filter(pl.col("role") == "success").to_dicts()
    assert (success["difference"], success["low"], success["p"]) == (
        row["difference"],
        row["low"],
        pytest.approx(row["p"]),
    )


def test_guardrails_hold_in_every_slice_that_is_large_enough():
    groups = ["a"] * 950 + ["b"] * 950 + ["c"] * 50 + ["b"] * 50
    results = pair(gain=0.05, groups=groups)
    found = rw.decide(results, **RULE, slices="team", min_slice_size=100)
    assert found.outcome == "ship"
    assert found.small_slices == ["team c"]
    assert "Too few users to be checked: team c." in repr(found)
    assert found.checks.filter(pl.col("by") == "team")["group"].to_list() == ["a", "b"]
    hurt = results["new"].per_user.with_columns(
        pl.when(pl.col("group(team)") == "b")
        .then(pl.col("recall@5") - 0.1)
        .otherwise(pl.col("recall@5") + 0.1)
        .alias("recall@5")
    )
    found = rw.decide(
        {"old": results["old"], "new": rw.from_per_user(hurt)}, **RULE, slices=["team"]
    )
    assert found.outcome == "stop"
    assert any("recall@5 for team b" in reason for reason in found.reasons)


@pytest.mark.parametrize(("n", "small"), [(99, ["team b"]), (100, []), (101, [])])
def test_a_slice_of_exactly_the_size_is_checked(n, small):
    results = pair(n=1000, gain=0.05, groups=["a"] * (1000 - n) + ["b"] * n)
    assert rw.decide(results, **RULE, slices="team", min_slice_size=100).small_slices == small


def test_more_guardrails_need_more_users():
    """All of them together are shown with probability 0.8."""
    results = pair(n=60, gain=0.05, rail=-0.01, seed=4)
    results = {
        name: rw.from_per_user(result.per_user.with_columns(pl.col("recall@5").alias("recall@7")))
        for name, result in results.items()
    }
    needed = []
    for names in (["recall@5"], ["recall@5", "recall@7"]):
        checks = rw.decide(results, success="ndcg@5", guardrails=dict.fromkeys(names, 0.02)).checks
        (users,) = set(checks.filter(pl.col("role") == "guardrail")["users_needed"])
        needed.append(users)
    more = (norm.ppf(0.95) + norm.ppf(0.9)) / (norm.ppf(0.95) + norm.ppf(0.8))
    assert needed[1] == pytest.approx(needed[0] * more**2, abs=1)


def test_lower_is_better():
    rng = np.random.default_rng(1)
    old = rng.random(2000)
    frames = [
        pl.DataFrame({"user": range(2000), "rmse": v, "mae": v})
        for v in (old, old - 0.05 + rng.normal(0, 0.1, 2000))
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    stated = {"largest_loss": 1.5}
    assert rw.decide(results, success="rmse", guardrails={"mae": "1%"}, **stated).outcome == "ship"
    assert rw.decide(results, success="rmse", baseline="new", **stated).outcome == "stop"


def test_a_metric_without_a_bound_needs_a_stated_loss():
    rng = np.random.default_rng(1)
    old = rng.random(2000)
    frames = [
        pl.DataFrame({"user": range(2000), "rmse": v})
        for v in (old, old - 0.05 + rng.normal(0, 0.1, 2000))
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    better = rw.decide(results, success="rmse")
    assert better.outcome == "hold"
    assert "rmse is better only if no user loses more than" in better.verdict
    worse = rw.decide(results, success="rmse", baseline="new")
    assert worse.outcome == "hold"
    assert "mse is worse only if no user loses more than" in " ".join(worse.reasons)


def test_success_is_corrected_for_its_number_and_guardrails_are_not():
    rng = np.random.default_rng(2)
    n, names = 400, [f"ndcg@{k}" for k in range(1, 11)]
    old = {name: rng.random(n) for name in names}
    new = {name: values + rng.normal(0, 0.1, n) for name, values in old.items()}
    results = {
        "old": rw.from_per_user(pl.DataFrame({"user": range(n)} | old)),
        "new": rw.from_per_user(pl.DataFrame({"user": range(n)} | new)),
    }
    found = rw.decide(results, success=names, guardrails=dict.fromkeys(names, 0.05))
    raw = rw.compare(results, correction="none").table.sort("metric")["p"].to_numpy()
    success = found.checks.filter(pl.col("role") == "success").sort("metric")["p"].to_numpy()
    assert success == pytest.approx(stats.adjust(raw, "holm"))
    rails = found.checks.filter(pl.col("role") == "guardrail")
    assert (rails["outcome"] == "passed").all()


@pytest.mark.deep
def test_how_often_it_ships_or_stops_for_nothing():
    """No difference, two success metrics' worth of chances and one guardrail: ship and stop rarely."""
    runs, outcomes = 100, {"ship": 0, "hold": 0, "stop": 0}
    for seed in range(runs):
        outcomes[rw.decide(pair(n=1000, seed=seed), **RULE).outcome] += 1
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert outcomes["ship"] / runs <= limit
    assert outcomes["stop"] / runs <= limit


def test_the_record_is_canonical_and_checks_itself(tmp_path):
    results = pair(gain=0.05)
    found = rw.decide(results, **RULE)
    text = found.save(tmp_path / "d.json").read_text(encoding="utf-8")
    assert text == found.text == rw.decide(results, **RULE).text
    record = json.loads(text)
    digest = record.pop("sha256")
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(canonical.encode()).hexdigest() == digest
    assert record["rule"]["guardrails"] == {"recall@5": 0.02}
    assert set(record["inputs"]) == {"old", "new"}
    other = rw.decide(pair(gain=0.05, seed=9), **RULE)
    assert json.loads(other.text)["inputs"] != record["inputs"]


@pytest.mark.parametrize("value", ["0.25", "NaN", "-Infinity", '"\\ud800"'])
def test_a_decision_whose_numbers_were_changed_is_refused(tmp_path, value):
    file = rw.decide(pair(gain=0.05), **RULE).save(tmp_path / "decision.json")
    text = re.sub(r'"alpha":[^,}]+', lambda _: f'"alpha":{value}', file.read_text("utf-8"))
    file.write_text(text, "utf-8")
    for load in (rw.Decision.load, rw.load):
        with pytest.raises(FileError, match="changed after the decision was saved") as caught:
            load(file)
        assert caught.value.hint == "decide again"


def test_a_decision_with_nan_is_refused_whatever_its_digest(tmp_path):
    record = json.loads(rw.decide(pair(gain=0.05), **RULE).text)
    del record["sha256"]
    record["rule"]["alpha"] = math.nan
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    record["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    file = tmp_path / "decision.json"
    file.write_text(json.dumps(record), "utf-8")
    with pytest.raises(FileError, match="changed after the decision was saved"):
        rw.Decision.load(file)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"success": []}, ParameterError, "needs a metric of success"),
        ({"success": "map@5"}, MissingValueError, "was not evaluated"),
        ({"success": "ndcg@5", "baseline": "x"}, ParameterError, "there is no result 'x'"),
        ({"success": "ndcg@5", "slices": "team"}, ParameterError, "groups of users"),
        ({"success": "ndcg@5", "alpha": 2}, ParameterError, "alpha"),
        ({"success": "ndcg@5", "min_slice_size": 1}, ParameterError, "min_slice_size"),
        ({"success": "ndcg@5", "guardrails": {"recall@5": -1}}, ParameterError, "margin"),
    ],
)
def test_what_it_refuses(options, kind, said):
    with pytest.raises(kind, match=said):
        rw.decide(pair(n=50), **options)


def test_it_is_about_one_system_and_about_metrics_with_a_direction():
    results = pair(n=50)
    with pytest.raises(ParameterError, match="about one system"):
        rw.decide(results | {"third": results["new"]}, success="ndcg@5")
    assert rw.decide(results | {"third": results["new"]}, success="ndcg@5", system="new")
    with pytest.raises(ParameterError, match="needs two results"):
        rw.decide({"old": results["old"]}, success="ndcg@5")
    odd = {
        name: rw.from_per_user(r.per_user.rename({"ndcg@5": "odd"})) for name, r in results.items()
    }
    with pytest.raises(MetricError, match="no better direction"):
        rw.decide(odd, success="odd")


def test_what_nobody_has_a_value_of_is_not_shown():
    groups = ["AT"] * 1000 + ["DE"] * 1000
    results = pair(gain=0.05, groups=groups)
    holes = {
        name: rw.from_per_user(
            r.per_user.with_columns(
                pl.when(pl.col("group(team)") == "AT")
                .then(float("nan"))
                .otherwise(pl.col("recall@5"))
                .alias("recall@5")
            )
        )
        for name, r in results.items()
    }
    found = rw.decide(holes, **RULE, slices="team")
    assert found.outcome == "hold"
    assert any("recall@5 is not checked for team AT" in reason for reason in found.reasons)
    nothing = {
        name: rw.from_per_user(r.per_user.with_columns(pl.lit(float("nan")).alias("recall@5")))
        for name, r in results.items()
    }
    found = rw.decide(nothing, success="ndcg@5", deterioration="recall@5")
    assert found.outcome == "hold"
    assert "recall@5 is not checked (0 users): fewer than two pairs" in " ".join(found.reasons)


def test_better_passes_no_guardrail_by_itself():
    """25 of 400 users gain and nobody loses: better, but one user in 400 who loses 1 would be the margin."""
    rng = np.random.default_rng(5)
    old = rng.random(400) / 2
    frames = [
        pl.DataFrame({"user": range(400), "ndcg@5": values})
        for values in (old, old + 0.5 * (np.arange(400) < 25))
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    found = rw.decide(results, success="ndcg@5", guardrails={"ndcg@5": 0.001})
    rail = found.checks.row(1, named=True)
    assert (found.outcome, rail["shown"]) == ("ship", "not worse")
    assert (
        rail["p"]
        == stats.non_inferiority(
            *(f["ndcg@5"].to_numpy() for f in frames[::-1]), margin=0.001, largest=1.0
        ).p
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "samples"), [(40, 40), *deep((40, 100), (100, 100))])
def test_a_rare_total_loss_is_not_shipped(n, samples):
    """One user in 100 loses all, 40 % gain 0.02: the true loss is the margin. Sign flips shipped a third."""
    rng, shipped = np.random.default_rng(n), 0
    for _ in range(samples):
        d = rng.choice([0.02, -1.0, 0.0], n, p=[0.4, 0.01, 0.59])
        frames = [
            pl.DataFrame({"user": range(n), "recall@5": values})
            for values in (np.ones(n) * 0.5, 0.5 + d / 2)
        ]
        results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
        shipped += (
            rw.decide(results, success="recall@5", guardrails={"recall@5": 0.001}).outcome == "ship"
        )
    assert shipped / samples <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / samples)


def catalogue(shift=0, jackknife=16):
    """Evaluate lists of 240 users over 600 items, some of them other ones."""
    rng = np.random.default_rng(3)
    truth = {user: {int(item)} for user, item in enumerate(rng.integers(0, 30, 240))}
    lists = {
        u: [int(i) for i in (rng.permutation(600)[:3] + (shift if u % 9 == 0 else 0)) % 600]
        for u in truth
    }
    users = {"user": list(truth), "team": ["x" if u % 2 else "y" for u in truth]}
    metrics = ["recall@3", "gini@3", "entropy@3", "catalog_coverage@3"]
    return rw.evaluate(
        lists, truth, metrics, items=range(600), users=users, by="team", jackknife=jackknife
    )


@pytest.mark.parametrize("metric", ["gini@3", "entropy@3", "catalog_coverage@3"])
def test_a_guardrail_on_a_value_that_is_no_mean_over_users(metric):
    """An unchanged system passes against itself, and the jackknife of the value decides."""
    one, other = catalogue(), catalogue(shift=1)
    rule = {"success": "recall@3", "guardrails": {metric: "5%"}, "slices": "team"}
    same = rw.decide({"old": one, "new": catalogue()}, **rule)
    (rail,) = same.checks.filter(pl.col("role") == "guardrail").to_dicts()
    assert (rail["outcome"], rail["shown"], rail["by"]) == ("passed", "not worse", None)
    assert "margin tested by the jackknife" in rail["flags"]
    assert any(
        note.endswith("all users: margin tested by the jackknife")
        for note in same.views_at("full")[0].notes
    )
    changed = rw.compare({"old": one, "new": other}, metrics=metric, margin=0.01)["new"]
    cell = one.cell(metric)
    up, (y, x) = one.direction(cell), (r.replicates[cell].to_numpy() for r in (one, other))
    error = (changed["high"] - changed["low"]) / 2 / t.ppf(0.975, 15)
    gain = changed["difference"] if up else -changed["difference"]
    assert (x != y).any()
    assert changed["p_non_inferior"] == pytest.approx(t.sf((gain + 0.01) / error, 15))


def test_a_guardrail_without_an_interval_is_refused():
    results = {"old": catalogue(jackknife=None), "new": catalogue(jackknife=None)}
    with pytest.raises(MetricError, match="needs the jackknife to decide"):
        rw.decide(results, success="recall@3", guardrails={"gini@3": 0.01})


def test_every_flag_stands_beside_its_word():
    """Amounts have no bound: what they show rests on t, and the decision says so."""
    rng = np.random.default_rng(4)
    frames = [
        pl.DataFrame(
            {
                "user": range(1500),
                "ndcg@5": np.full(1500, 0.3) + gain,
                "rmse": 1 + rng.random(1500) - gain,
            }
        )
        for gain in (0.0, 0.05)
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    found = rw.decide(results, success="ndcg@5", guardrails={"rmse": 0.1})
    flag = "margin tested by t: a rare large loss that was not drawn is not excluded"
    assert found.outcome == "ship"
    assert f"rmse: {flag}" in found.reasons[-1]
    assert flag in repr(found)
    assert flag in found.text


def test_better_by_t_alone_is_flagged_and_not_shipped():
    """A gain of 0.001 for 40 %: with one loss of 1 among the next 1,000 users it would be gone."""
    rng = np.random.default_rng(6)
    old = rng.random(1000) / 2
    frames = [
        pl.DataFrame(
            {"user": range(1000), "recall@5": old + gain * 0.001 * (rng.random(1000) < 0.4)}
        )
        for gain in (0, 1)
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    row = rw.compare(results)["new"]
    assert (row["verdict"], row["test"]) == ("not shown", "bounded mean")
    assert row["p_design"] < 0.001 < 0.5 < row["p"]
    assert row["largest_loss"] < 0.2  # of the range: no condition for a word
    by_t = rw.compare(results, test="t")
    assert (by_t["new"]["verdict"], by_t["new"]["test"]) == ("better", "paired t")
    assert (
        "better by paired t alone: a rare large difference that was not drawn is not excluded"
        in by_t["new"]["flags"]
    )
    assert rw.decide(results, success="recall@5").outcome == "hold"
    assert rw.decide(by_t, success="recall@5").outcome == "hold"


def test_a_guardrail_stands_once():
    with pytest.raises(ParameterError, match="duplicate guardrail"):
        rw.decide(pair(n=50), success="ndcg@5", guardrails={"recall@5": "1%", "Recall@5": 0.9})


def cold_and_warm(n=400):
    """Two results: the baseline has no hits among cold users, the system gains there."""
    rng, users = np.random.default_rng(2), np.arange(n)
    cold = users % 2 == 1
    old = np.where(cold, 0.0, 0.5)
    new = old + np.where(cold, 0.4 * (rng.random(n) < 0.1), 0.02)
    frames = (
        pl.DataFrame(
            {"user": users, "ndcg@5": values, "group(kind)": np.where(cold, "cold", "warm")}
        )
        for values in (old, new)
    )
    return dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))


def test_a_gain_over_a_baseline_of_0_has_no_relative_margin():
    decision = rw.decide(
        cold_and_warm(), success="ndcg@5", guardrails={"ndcg@5": "5%"}, slices="kind"
    )
    assert decision.outcome == "hold", decision.reasons
    cold = next(row for row in decision.checks.iter_rows(named=True) if row["group"] == "cold")
    assert (cold["users"], cold["margin"], cold["outcome"], cold["shown"]) == (
        200,
        0.0,
        "not shown",
        None,
    )
    assert "5% of a baseline of 0 is no margin, and nothing is shown: pass a number" in " ".join(
        decision.reasons
    )
    assert (
        rw.decide(
            cold_and_warm(), success="ndcg@5", guardrails={"ndcg@5": 0.05}, slices="kind"
        ).outcome
        == "ship"
    )


def test_0_against_0_asks_for_an_absolute_margin():
    results = cold_and_warm()
    warm_gain = results["old"].per_user.with_columns(
        pl.when(pl.col("group(kind)") == "warm").then(0.6).otherwise(0.0).alias("ndcg@5")
    )
    results["new"] = rw.from_per_user(warm_gain)
    rule = {"success": "ndcg@5", "slices": "kind"}
    decision = rw.decide(results, guardrails={"ndcg@5": "5%"}, **rule)
    assert decision.outcome == "hold"
    assert (
        "ndcg@5 is not shown to hold for kind cold (200 users; 5% of a baseline of 0 is"
        in " ".join(decision.reasons)
    )
    assert "nan" not in repr(decision)
    assert (
        rw.decide(results, guardrails={"ndcg@5": 0.05}, **rule).outcome == "ship"
    )  # as the reason says


def test_a_slice_without_any_value_has_no_difference():
    results = {
        name: rw.from_per_user(
            r.per_user.with_columns(
                pl.when(pl.col("group(kind)") == "cold")
                .then(float("nan"))
                .otherwise(pl.col("ndcg@5"))
                .alias("ndcg@5")
            )
        )
        for name, r in cold_and_warm().items()
    }
    decision = rw.decide(results, success="ndcg@5", guardrails={"ndcg@5": 0.1}, slices="kind")
    assert "ndcg@5 is not checked for kind cold (0 users): no value" in " ".join(decision.reasons)
    assert decision.outcome == "hold"
    assert "nan" not in repr(decision)


def test_a_share_of_nothing_is_no_margin():
    zero = {
        name: rw.from_per_user(r.per_user.with_columns(pl.lit(0.0).alias("recall@5")))
        for name, r in pair(n=50).items()
    }
    row = rw.compare(zero, metrics=["recall@5"], margin="1%").table.row(0, named=True)
    assert not row["within_margin"]
    assert math.isnan(row["p_non_inferior"])
    assert math.isnan(row["p_equivalence"])
    assert [flag for flag in row["flags"] if flag.startswith("1% of a baseline of 0 is no margin")]


def test_a_report_is_about_the_systems_of_its_decision():
    results = pair(n=200)
    decision = rw.decide(results, success="ndcg@5")
    with pytest.raises(ParameterError, match="the decision is about 'new'"):
        rw.report({"old": results["old"], "other": results["new"]}, decision=decision)
    assert "old" in repr(decision)


def test_the_command_line(tmp_path):
    for name, result in pair(gain=0.05).items():
        result.save(tmp_path / name)
    ask = ["decide", "old", "new", "--success", "ndcg@5"]
    done = rankwise_here(tmp_path, *ask, "--guardrail", "recall@5=5%", "--record", "d.json")
    assert done.returncode == 0, done.stderr
    assert "SHIP  Replace old with new: better on ndcg@5, and recall@5 holds." in done.stdout
    brief = rankwise_here(tmp_path, *ask, "--guardrail", "recall@5=5%", "-q")
    assert brief.stdout == "SHIP  Replace old with new: better on ndcg@5, and recall@5 holds.\n"
    full = rankwise_here(tmp_path, *ask, "--guardrail", "recall@5=5%", "-v")
    assert len(full.stdout) > len(done.stdout)
    assert rankwise_here(tmp_path, *ask, "-v", "-q").returncode == 2
    assert json.loads((tmp_path / "d.json").read_text())["outcome"] == "ship"
    assert rankwise_here(tmp_path, *ask, "--guardrail", "recall@5=0.0001").returncode == 5
    assert rankwise_here(tmp_path, "decide", "new", "old", "--success", "ndcg@5").returncode == 1
    for wrong in (["recall@5"], ["recall@5=x"], ["=1%"], ["recall@5=1", "recall@5=2"]):
        rails = [part for text in wrong for part in ("--guardrail", text)]
        done = rankwise_here(tmp_path, *ask, *rails)
        assert (done.returncode, "Usage" in done.stderr) == (2, True), wrong


def test_a_report_shows_the_decision():
    results = pair(gain=0.05)
    decision = rw.decide(results, **RULE)
    page = rw.report(results, decision=decision)
    assert [section.name for section in page.sections][:2] == ["decision", "systems"]
    assert page.head.verdict == decision.verdict
    assert decision.verdict in page.html
    with pytest.raises(ParameterError, match=r"what rankwise\.decide returns"):
        rw.report(results, decision="ship")


@pytest.mark.parametrize("gains", [5, 6, 14])
def test_the_interval_of_success_is_that_of_the_test_that_decides(gains):
    """Few users gain: t excludes 0 with five, the bound of the metric does not, and decides."""
    truth = {user: {0} for user in range(1100)}
    lists = {
        "old": {user: [1] for user in truth},
        "new": {user: [int(user >= gains)] for user in truth},
    }
    results = {name: rw.evaluate(own, truth, "hit_rate@1") for name, own in lists.items()}
    pair = rw.compare(results).table.row(0, named=True)
    check = rw.decide(results, success="hit_rate@1").checks.row(0, named=True)
    assert check["p"] == pair["p"]
    assert (check["low"] > 0) == (check["p"] < 0.05) == (check["outcome"] == "passed")
    by_t = rw.compare(results, test="t")
    assert by_t.table["low"][0] > 0
    assert rw.decide(by_t, success="hit_rate@1").checks["p"][0] >= pair["p"] - 1e-12


@pytest.mark.parametrize("format_", ["json", "csv", "markdown", "latex"])
def test_a_decision_is_exported(format_):
    found = rw.decide(pair(n=300), **RULE)
    text = found.export(format_)
    assert "ndcg@5" in text
    if format_ == "json":
        assert json.loads(text)["outcome"] == found.outcome
    if format_ == "csv":
        assert len(text.splitlines()) == 1 + len(found.checks)


def test_a_loss_that_its_guardrail_allows_is_worse_and_passes():
    results = pair(gain=0.05, rail=-0.01, spread=0.02)
    rule = {"success": "ndcg@5", "guardrails": {"recall@5": 0.03}, "deterioration": "recall@5"}
    made = rw.decide(results, **rule)
    assert made.outcome == "ship"
    (row,) = made.checks.filter(role="deterioration").to_dicts()
    assert (row["outcome"], row["shown"]) == ("passed", "worse")
    assert row["high"] < 0
    assert "no loss shown" not in repr(made)
    stopped = rw.decide(results, **rule | {"guardrails": {}})
    assert stopped.outcome == "stop"
