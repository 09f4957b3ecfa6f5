"""Words of reports, exports and gates that must be those of the record."""

from __future__ import annotations

import html
import re

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.words import loss_in_cells


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def of(values, metric="ndcg@10", users=None):
    users = range(len(values)) if users is None else users
    return rw.from_per_user(pl.DataFrame({"user": users, metric: values}))


def words(page):
    bare = re.sub(r"<(script|style)[\s\S]*?</\1>", "", page.html)
    return re.sub(r"\s*\|[|\s]*", " | ", html.unescape(re.sub("<[^>]+>", "|", bare)))


def test_a_decision_about_other_values_is_no_verdict_of_a_page(rng):
    y = rng.random(200) / 2
    old, new, worse = of(y), of(y + 0.1), of(y - 0.1)
    decision = rw.decide({"A": old, "B": new}, success="ndcg@10")
    assert rw.report({"A": old, "B": new}, decision=decision).html
    with pytest.raises(ParameterError, match="made from other values") as caught:
        rw.report({"A": old, "B": worse}, decision=decision)
    assert caught.value.where == "B"


def test_a_decision_about_another_log_is_no_verdict_of_a_page():
    one, other = (rw.datasets.logged(users=300, seed=seed) for seed in (1, 2))
    logs = [rw.off_policy(log.exposures, targets={"new": "p_new"}) for log in (one, other)]
    decision = rw.decide(logs[0], success="reward")
    assert rw.report(logs[0], decision=decision).html
    with pytest.raises(ParameterError, match="made from other values"):
        rw.report(logs[1], decision=decision)


def test_values_in_per_cent_are_refused():
    with pytest.raises(MetricError, match="on another scale than the metric, 0 to 1") as caught:
        of([0.2, 31.5, 40.0])
    assert caught.value.found == "31.5 (2 such rows)"
    assert of([0.2, 31.5], "my score")["my score"] == pytest.approx(15.85)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_where_most_users_lose_a_mean_gain_does_not_ship(test, rng):
    x = rng.random(400) * 0.4 + 0.02
    systems = {"A": of(x), "B": of(x + np.where(np.arange(400) < 80, 0.5, -0.02))}
    compared = rw.compare(systems, test=test)
    assert compared["B"]["verdict"] == "different"
    assert "most differences are on the other side of 0 than their mean" in str(compared)
    assert rw.decide(compared, success="ndcg@10").outcome == "hold"


def test_movers_are_of_requests_where_values_are(rng):
    users, y = np.repeat(np.arange(20), 5), rng.random(100) / 2
    requests = [f"r{at}" for at in range(100)]
    systems = {
        name: rw.from_per_user(pl.DataFrame({"user": users, "request": requests, "ndcg@10": v}))
        for name, v in (("A", y), ("B", y + 0.3))
    }
    found = rw.compare(systems).movers("B", n=1)
    assert found.sentence.startswith("0 requests lose, 100 gain")
    assert found.views[-1].head[:2] == ("request", "user")


def test_movers_count_what_the_comparison_counts(rng):
    y = rng.random(50)
    systems = {"A": of(y, users=range(50)), "B": of(y, users=range(30, 80))}
    for missing, moved in (("zero", 80), ("common", 20)):
        compared = rw.compare(systems, missing=missing)
        counts = compared.movers("B").counts
        assert (counts["gain"], counts["lose"]) == (compared["B"]["wins"], compared["B"]["losses"])
        assert sum(counts[side] for side in ("lose", "gain", "unchanged")) == moved


def test_without_a_direction_nobody_gains(rng):
    y = rng.random(60)
    systems = {"A": of(y, "arp@10"), "B": of(y + 0.1, "arp@10")}
    found = rw.compare(systems).movers("B")
    assert found.sentence.startswith("0 users have a lower value, 60 a higher one")
    page = words(rw.report(systems))
    assert "100 higher, 0 lower" in page
    assert "gain" not in page.split("For whom")[1].split("How sure")[0]


def test_how_sure_a_page_is(rng):
    x = rng.gamma(3, 1, 400)
    unbounded = words(rw.compare({"A": of(x, "rmse"), "B": of(x * 0.95, "rmse")}).report())
    assert "Without a bound, nothing holds for any users." in unbounded
    y = rng.random(400) / 2 + 0.2
    many = {name: of(y + shift) for name, shift in zip("ABCD", (0, 0.03, 0.031, 0.02), strict=True)}
    two = {name: many[name] for name in "AB"}
    decided = rw.decide(rw.compare(two, earlier=19), success="ndcg@10")
    page = words(rw.report(rw.compare(two, earlier=19), decision=decided))
    assert "corrected over 1 planned test and 19 of earlier pairs (Holm)" in page
    noise = rw.stability([many["A"], many["D"]])
    assert "trained once" not in words(rw.compare(two, noise=noise).report())
    assert "trained once" in words(rw.compare(two).report())


def test_methods_name_the_compared_sample(rng):
    y = rng.random(50)
    systems = {"A": of(y, users=range(50)), "B": of(y, users=range(30, 80))}
    common = rw.compare(systems, missing="common").export("methods")
    assert "Means are over the 20 users" in common
    assert "60 users with a value in one result are left out" in common
    zero = rw.compare(systems, missing="zero").export("methods")
    assert "Means are over the 80 users" in zero
    assert "a user without a value in one result counts 0 there" in zero


def test_methods_say_that_a_statement_was_broken(rng):
    y = rng.random(300) * 0.4 + 0.2
    found = rw.compare(
        {"a": of(y), "b": of(y + 0.05 + rng.normal(0, 0.03, 300))}, largest_loss=0.05
    )
    assert np.isnan(found["b"]["minimum_detectable"])
    assert "which a user of these did not keep" in found.export("methods")
    kept = rw.compare({"a": of(y), "b": of(y + 0.04)}, largest_loss=0.05).export("methods")
    assert "did not keep" not in kept


def test_captions_name_the_condition_and_the_tests_of_their_cells(rng):
    y, r = rng.random(300) * 0.4 + 0.2, rng.gamma(3, 1, 300)

    def system(value, error):
        columns = {"user": range(300), "ndcg@10": value, "rmse": error, "arp@10": value * 10}
        return rw.from_per_user(pl.DataFrame(columns))

    systems = {"a": system(y, r), "b": system(y + 0.1, r * 0.9), "c": system(y + 0.0001, r)}
    found = rw.compare(systems, baseline="a", earlier=19)
    rows = {(row["system"], row["metric"]): row for row in found.table.to_dicts()}
    assert rows["b", "rmse"]["verdict"] == "better if"
    assert rows["c", "arp@10"]["condition"] < rows["b", "rmse"]["condition"]
    caption = found.export("markdown")
    told = loss_in_cells(rows["b", "rmse"]["condition"])
    assert f"no user loses more than {told}" in caption
    assert "Benjamini–Hochberg over 42" in caption
    assert "Benjamini–Hochberg over 42" in " ".join(str(found).split())
    assert "42 pairs, Benjamini–Hochberg" in found.export("methods")


def test_a_better_policy_is_not_worse(tmp_path):
    rw.datasets.logged(users=300, seed=1).exposures.write_csv(tmp_path / "log.csv")
    base = ["off-policy", "log.csv", "--target", "new=column:p_new", "--margin", "0.01", "-q"]
    for asked, code in (("better", 0), ("not worse", 0), ("equivalent", 1)):
        done = rankwise_here(tmp_path, *base, "--require", f"new: {asked}")
        assert done.returncode == code, done.stderr
    assert "required: new is equivalent; found: better" in done.stderr
