"""What a decision takes from the comparison it is about, and margins that cannot be meant."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError

pytestmark = pytest.mark.usefixtures("one_thread")


def pair(n=400, gain=0.03, seed=3):
    rng = np.random.default_rng(seed)
    old = rng.random(n) * 0.6
    new = np.clip(old + gain + rng.normal(0, 0.1, n), 0, 1)
    frames = [pl.DataFrame({"user": range(n), "recall@3": x, "mrr@3": x[::-1]}) for x in (old, new)]
    return dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))


def test_a_decision_has_the_level_and_the_earlier_pairs_of_its_comparison():
    results = pair(n=200, gain=0.035)
    plain = rw.decide(results, success="recall@3")
    row = rw.compare(results)["recall@3", "new"]
    assert row["p"] < 0.05 / 2
    strict = rw.compare(results, baseline="old", alpha=row["p"] / 2)
    assert strict["recall@3", "new"]["verdict"] == "better if"
    assert rw.decide(strict, success="recall@3").outcome == "hold"
    assert rw.decide(strict, success="recall@3", alpha=0.05).outcome == plain.outcome
    many = rw.compare(results, baseline="old", earlier=math.ceil(0.05 / row["p"]))
    assert many["recall@3", "new"]["verdict"] == "better if"
    decided = rw.decide(many, success="recall@3")
    assert decided.outcome == "hold"
    assert decided.checks["p"][0] == pytest.approx(many["recall@3", "new"]["p_adjusted"])
    assert decided.record["rule"]["earlier"] == many.design.earlier


def test_a_decision_has_the_missing_values_and_the_test_of_its_comparison():
    results = pair()
    fewer = {**results, "new": rw.from_per_user(results["new"].per_user[:390])}
    found = rw.compare(fewer, baseline="old", missing="common", test="sign_flip", n_resamples=499)
    decided = rw.decide(found, success="recall@3")
    assert decided.checks["users"][0] == 390
    assert decided.record["rule"]["test"] == "sign_flip"
    with pytest.raises(ParameterError, match="in one result, and none in another"):
        rw.decide(found, success="recall@3", missing="error")


@pytest.mark.parametrize("gain", [0.03, 0.15, 0.6])
def test_the_change_of_a_decision_is_that_of_the_comparison(gain):
    """Its limits are not those of the difference over a mean that is estimated, too."""
    results = pair(n=1500, gain=gain)
    row = rw.compare(results, metrics="recall@3")["new"]
    check = rw.decide(results, success="recall@3").checks.row(0, named=True)
    names = {
        "change": "lift",
        "change_low": "lift_low",
        "change_high": "lift_high",
        "low": "low",
        "high": "high",
    }
    assert {name: check[name] for name in names} == {
        name: pytest.approx(row[column], rel=1e-9) for name, column in names.items()
    }
    wrong = check["high"] / check["mean_baseline"]
    assert abs(check["change_high"] - wrong) > 1e-4


def test_a_guardrail_has_the_interval_of_its_own_test():
    """One-sided at 5 %, so that the interval has 90 %: the limit is within the margin where the guardrail holds."""
    results = pair(n=3000, gain=-0.004)
    for margin, size in (("4%", 0.04), (0.02, None), ("1%", 0.01)):
        made = rw.decide(results, success="mrr@3", guardrails={"recall@3": margin})
        (rail,) = made.checks.filter(pl.col("role") == "guardrail").to_dicts()
        limit, allowed = (rail["low"], margin) if size is None else (rail["change_low"], size)
        assert rail["confidence"] == 0.9
        assert (-limit < allowed) == (rail["outcome"] == "passed")
    text = "\n".join(str(view.rows) for view in made.views_at("full"))
    assert "(one-sided)" in text
    assert "90 %" in text


@pytest.mark.parametrize("margin", [1, 1.0, 2.5, "100%", "250%"])
def test_a_margin_that_allows_every_loss_is_refused(margin):
    """A guardrail of 1 was meant as 1 %."""
    results = pair()
    for call in (
        lambda: rw.compare(results, margin=margin),
        lambda: rw.compare(results, margin={"recall@3": margin}),
        lambda: rw.decide(results, success="mrr@3", guardrails={"recall@3": margin}),
    ):
        with pytest.raises(ParameterError, match="allows every loss of recall@3") as caught:
            call()
        assert "'1%'" in caught.value.hint
    rw.compare(results, margin=0.99)
    rw.decide(results, success="mrr@3", guardrails={"recall@3": "99%"})


def test_a_margin_beyond_1_is_one_of_a_metric_without_a_bound():
    frames = [pl.DataFrame({"user": range(50), "rmse": [5.0 + at] * 50}) for at in range(2)]
    assert rw.compare(*map(rw.from_per_user, frames), margin=1.5).design.margin == 1.5


def test_no_metric_is_no_question():
    with pytest.raises(MetricError, match="names no metric"):
        rw.compare(pair(), metrics=[])


def test_a_median_on_the_other_side_than_the_mean_makes_no_system_better():
    """Nine of ten lose a little, one gains much: Wilcoxon shows the nine, the mean the one."""
    old = pl.DataFrame({"user": range(300), "recall@3": [0.5] * 300})
    new = old.with_columns(pl.Series("recall@3", ([0.49] * 9 + [0.99]) * 30))
    row = rw.compare(rw.from_per_user(old), rw.from_per_user(new), test="wilcoxon")["B"]
    assert row["difference"] > 0
    assert row["p"] < 0.001
    assert row["verdict"] == "different"
    assert math.isnan(row["low"])
    assert not math.isnan(row["low_alone"])


def test_a_caveat_of_slices_says_of_which():
    chosen = {
        (user, view): (user * 7 + view * 5) % 9
        for user in range(150)
        for view in range(1 + user % 7)
    }
    rng = np.random.default_rng(0)
    results = {}
    for name, share in (("a", 0.2), ("b", 0.6)):
        rows = [
            (*request, item if rng.random() < share else (item + 1) % 9, 1)
            for request, item in chosen.items()
        ]
        lists = pl.DataFrame(rows, schema=["user", "request", "item", "rank"], orient="row")
        truth = lists.select("user", "request", item=pl.Series(list(chosen.values())))
        items = {"item": list(range(9)), "kind": ["x", "y", "z"] * 3}
        results[name] = rw.evaluate(lists, truth, ["recall@1"], items=items, by="item:kind")
    decision = rw.decide(
        results,
        success="recall@1",
        guardrails={"recall@1": "60%"},
        slices="item:kind",
        min_slice_size=30,
    )
    caveats = [reason for reason in decision.reasons if "an unseen user is taken" in reason]
    assert caveats[0] == (
        "recall@1: an unseen user is taken to have 4.0 requests, the mean; the largest here has 7."
    )
    assert len(caveats) >= 2
    assert all(caveat.startswith("recall@1 for item:kind ") for caveat in caveats[1:])
