"""Words that state their condition: the rule, its golden values, its worlds, and every road."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rankwise as rw
from golden_cases import golden_cases
from rankwise.cli.main import cli
from rankwise.errors import ParameterError
from rankwise.findings.words import verdict_words
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = {"any users": "better", "conditional": "better if", "not shown": "not shown"}


def result(values, cell="ndcg@10", **groups):
    columns = {f"group({name})": list(map(str, own)) for name, own in groups.items()}
    return rw.from_per_user(pl.DataFrame({"user": range(len(values)), cell: values} | columns))


def against_zero(d, alpha=0.05, **options):
    """The comparison of differences with zeros, in one row."""
    cell = options.pop("cell", "ndcg@10")
    return rw.compare(
        {"a": result(np.zeros(len(d)), cell), "b": result(np.asarray(d), cell)},
        alpha=alpha,
        **options,
    )["b"]


def golden(kind):
    return golden_cases("claims", lambda case: case["kind"] == kind)


@pytest.mark.parametrize("case", golden("users"))
def test_the_words_of_users_have_their_golden_values(case):
    d = eval(case["differences"], {"np": np})  # an expression of our own data
    row = against_zero(d, case["alpha"])
    assert row["verdict"] == WORDS[case["word"]]
    assert row["p"] == pytest.approx(case["p_range_two_sided"], rel=0.07)
    assert row["p_design"] == pytest.approx(case["p_t"], rel=1e-6)
    assert [row["low"], row["high"]] == pytest.approx(case["interval_range"], abs=0.004)
    assert row["loss_seen"] == pytest.approx(case["most_lost"])
    largest = case["largest_two_sided"]
    assert row["largest_loss"] == pytest.approx(
        np.nan if largest is None else largest, rel=0.02, nan_ok=True
    )


@pytest.mark.parametrize("case", golden("clusters"))
def test_the_words_of_clusters_have_their_golden_values(case):
    sizes = eval(case["sizes"], {"np": np})
    totals = eval(case["totals"], {"np": np, "m": sizes})
    home, d = np.repeat(np.arange(len(sizes)), sizes), np.repeat(totals / sizes, sizes)
    row = rw.compare(
        {"a": result(np.zeros(len(d)), home=home), "b": result(d, home=home)}, clusters="home"
    )["b"]
    words = {**WORDS, "better at a mean size": "better" if case["side"] > 0 else "worse"}
    assert row["verdict"] == words[case["word"]]
    assert row["p"] == pytest.approx(case["p_mean_size_two_sided"], rel=0.07)
    assert row["p_design"] == pytest.approx(case["p_cr2"], rel=1e-6)
    assert row["loss_possible"] == pytest.approx(case["mean_size"])
    largest = case["largest_two_sided"]
    assert row["largest_loss"] == pytest.approx(
        np.nan if largest is None else largest, rel=0.02, nan_ok=True
    )


@pytest.mark.parametrize("case", golden("family"))
def test_the_words_and_ranks_of_a_family_have_their_golden_values(case):
    values = eval(case["values"], {"np": np})
    found = rw.compare({str(at): result(own) for at, own in enumerate(values.T)})
    for pair in case["pairs"]:
        names = str(pair["system"]), str(pair["baseline"])
        rows = (row for row in found.table.to_dicts())
        row = next(row for row in rows if (row["system"], row["baseline"]) == names)
        assert row["verdict"] == WORDS[pair["word"]]
        assert row["p_adjusted"] == pytest.approx(pair["p_range_holm"], rel=0.07)
        if pair["word"] == "conditional":
            assert row["condition"] == pytest.approx(pair["largest_loss"], rel=0.02)
    ranks = {rank.system: rank for rank in found.design.ranks}
    for at in range(case["systems"]):
        own = ranks[str(at)]
        assert [own.rank_low, own.rank_high] == case["ranks_any_users"][at]
        assert [own.rank_low_if, own.rank_high_if] == case["ranks_with_conditions"][at]
        assert own.condition == pytest.approx(case["ranks_condition"], rel=0.02)


def test_there_is_no_step_at_a_thousand_users():
    """The same gains for 999 and for 1,001 users; for 999 and 1,001 households."""
    rows = [against_zero(0.01 + 0.1 * np.sin(np.arange(n))) for n in (999, 1001)]
    assert [row["verdict"] for row in rows] == ["better", "better"]
    assert [row["test"] for row in rows] == ["bounded mean"] * 2
    assert rows[0]["p"] == pytest.approx(rows[1]["p"], rel=0.1)
    assert rows[0]["lift_low"] == pytest.approx(rows[1]["lift_low"], rel=0.1, nan_ok=True)
    homes = []
    for n in (999, 1001):
        home = np.repeat(np.arange(n), 1 + np.arange(n) % 5)
        d = 0.02 + 0.1 * np.sin(np.arange(len(home)))
        pair = {"a": result(np.zeros(len(d)), home=home), "b": result(d, home=home)}
        homes.append(rw.compare(pair, clusters="home")["b"])
    assert [row["verdict"] for row in homes] == ["better", "better"]
    assert homes[0]["largest_loss"] == pytest.approx(homes[1]["largest_loss"], rel=0.02)


def of_homes(d, home, **options):
    """The comparison of differences with zeros, of users in homes, in one row."""
    pair = {"a": result(np.zeros(len(d)), home=home), "b": result(d, home=home)}
    return rw.compare(pair, clusters="home", **options)


def test_an_unseen_cluster_has_the_size_that_was_stated():
    home = np.repeat(np.arange(300), 1 + np.arange(300) % 5)
    d = 0.03 + 0.1 * np.sin(np.arange(len(home)))
    plain, *stated = (of_homes(d, home, largest_cluster=size) for size in (None, 5, 24))
    sizes = [found["b"]["loss_possible"] for found in (plain, *stated)]
    assert sizes == pytest.approx([3.0, 5.0, 24.0])
    assert plain["b"]["p"] < stated[0]["b"]["p"] < stated[1]["b"]["p"]
    assert plain["b"]["largest_loss"] == pytest.approx(stated[1]["b"]["largest_loss"])
    assert any(flag.startswith("an unseen cluster") for flag in plain["b"]["flags"])
    assert not any(flag.startswith("an unseen cluster") for flag in stated[0]["b"]["flags"])
    assert "no cluster has more than 24 users, as stated" in " ".join(str(stated[1]).split())
    assert stated[1].design.largest_cluster == 24


def test_a_cluster_that_is_larger_than_was_stated_shows_nothing():
    home = np.repeat(np.arange(300), 1 + np.arange(300) % 5)
    d = 0.03 + 0.1 * np.sin(np.arange(len(home)))
    row = of_homes(d, home, largest_cluster=4, margin=0.02)["b"]
    assert (row["verdict"], row["p"]) == ("not shown", 1.0)
    assert (row["p_non_inferior"], row["p_equivalence"]) == (1.0, 1.0)
    flag = "a cluster has 5 users, more than the 4 that were stated: nothing is shown"
    assert flag in row["flags"]
    with pytest.raises(ParameterError, match="independent"):
        against_zero(d, largest_cluster=4)
    with pytest.raises(ParameterError, match="largest_cluster"):
        of_homes(d, home, largest_cluster=0)


def test_a_broken_statement_shows_no_margin():
    """One of 3,000 users changed by 1 where 0.5 was stated: equivalence is not shown either."""
    d = np.zeros(3000)
    d[0] = 1.0
    assert against_zero(d, margin=0.1)["verdict"] == "equivalent"
    row = against_zero(d, margin=0.1, largest_loss=0.5)
    assert row["verdict"] == "not shown"
    assert (row["p_non_inferior"], row["p_equivalence"]) == (1.0, 1.0)


def test_a_stated_loss_stands_beside_every_word_that_rests_on_it():
    d = np.where(np.arange(300) % 2, 0.06, -0.02)
    systems = {"a": result(np.zeros(300)), "b": result(d)}
    found = rw.compare(systems, largest_loss=0.5)
    text = " ".join(repr(found).split())
    assert text.startswith("b beats a on ndcg@10 if no user changes by more than 0.5, as stated:")
    assert "better (stated)" in text
    assert found["b"]["verdict"] == "better"
    assert "as long as no user changes by more than 0.5" in " ".join(found.export("latex").split())
    assert "as long as no user changes by more than 0.5, as stated" in found.export("methods")
    three = rw.compare(systems | {"c": result(d * 0.5)}, baseline="a", largest_loss=0.5)
    assert "as long as no user changes by more than 0.5 (stated)." in " ".join(repr(three).split())
    page = rw.report(found).html
    assert "better (stated)" in page
    decision = rw.decide(found, success="ndcg@10")
    assert "as long as no user changes by more than 0.5 (stated)" in decision.reasons[0]
    plain = repr(rw.compare(systems))
    assert "stated" not in plain


def test_a_metric_without_a_bound_has_words_under_a_condition_alone():
    rng = np.random.default_rng(0)
    d = -0.2 + rng.normal(0, 1, 400)
    row = against_zero(d, cell="rmse")
    assert (row["verdict"], row["test"]) == ("better if", "paired t")
    assert row["condition"] >= max(row["loss_seen"], row["gain_seen"])
    assert np.isnan(row["loss_possible"])
    stated = against_zero(d, cell="rmse", largest_loss=6.0)
    assert (stated["verdict"], stated["loss_possible"], stated["loss_stated"]) == ("better", 6, 6)


@pytest.mark.parametrize(
    ("clusters", "stated", "factor"),
    [("home", None, 8.0), ("home", 6.0, 1.0), (None, 6.0, 8.0), (None, None, 8.0)],
)
def test_losses_have_the_unit_of_the_metric_and_of_clusters_with_a_range_that_of_a_user(
    clusters, stated, factor
):
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(200), 1 + np.arange(200) % 3)
    d = -0.3 + rng.normal(0, 1, len(home)).clip(-2, 2)
    rows = []
    for unit in (1.0, 8.0):
        systems = {
            "a": [result(np.zeros(len(d)), "rmse", home=home)],
            "b": [result((d + wave) * unit, "rmse", home=home) for wave in (-0.02, 0.0, 0.02)],
        }
        most = {} if stated is None else {"largest_loss": stated * unit}
        rows.append(rw.compare(systems, clusters=clusters, **most)["b"])
    one, eight = rows
    assert one["verdict"] == eight["verdict"] == ("better if" if stated is None else "better")
    assert one["p"] == pytest.approx(eight["p"])
    assert 0 < one["loss_seen"] * factor == pytest.approx(eight["loss_seen"])
    assert 0 < one["gain_seen"] * factor == pytest.approx(eight["gain_seen"])


def test_the_condition_of_the_best_system_is_the_smallest_of_its_own_pairs():
    gains = {"a": 0.0, "b": 0.02, "c": 0.045}
    found = rw.compare({name: result(np.full(100, gain)) for name, gain in gains.items()})
    conditions = found.table.sort("system", "baseline")["condition"].to_list()
    assert conditions == pytest.approx([0.4078, 0.9176, 0.5098], abs=1e-4)
    assert repr(found).startswith("c beats a and b on ndcg@10 if no user loses more than 0.50.")


def test_a_stated_loss_takes_the_place_of_the_range():
    d = np.full(100, 0.03)
    plain, stated = against_zero(d), against_zero(d, largest_loss={"ndcg@10": 0.5})
    assert (plain["verdict"], stated["verdict"]) == ("better if", "better")
    assert stated["p"] < plain["p"]
    assert plain["low"] < stated["low"] < stated["high"] < plain["high"]
    broken = against_zero(np.append(d, -0.62), largest_loss=0.5)
    assert broken["verdict"] == "not shown"
    assert "a user changed by 0.62, more than the 0.5 that was stated" in broken["flags"][-1]
    with pytest.raises(ParameterError, match=r"no user can lose 2 of ndcg@10"):
        against_zero(d, largest_loss={"ndcg@10": 2.0})
    with pytest.raises(ParameterError, match="largest_loss"):
        against_zero(d, largest_loss=0.0)


def test_equivalence_may_have_a_condition():
    rng = np.random.default_rng(0)
    base = rng.random(200) * 0.5
    pair = {"a": result(base), "b": result(np.clip(base + 0.03 * rng.normal(size=200), 0, 1))}
    row = rw.compare(pair, margin=0.01)["b"]
    assert row["verdict"] == "equivalent if"
    assert row["condition"] >= max(row["loss_seen"], row["gain_seen"], 0.2)
    assert row["p_equivalence"] > 0.05
    share = rw.compare(pair, margin="4%")["b"]
    assert share["verdict"] == "equivalent if"
    rail = rw.decide(pair, success="ndcg@10", guardrails={"ndcg@10": 0.01}).checks
    assert "passed" not in rail["outcome"].to_list()  # a condition passes no guardrail
    # Identical systems: the condition is the loss that the margin and the number of users leave.
    same = rw.compare({name: result(np.zeros(100)) for name in "ab"}, margin=0.01)["b"]
    assert same["condition"] == pytest.approx(0.01 / (1 - 0.05**0.01), rel=1e-6)


def test_other_tests_have_no_condition_and_say_what_they_do_not_exclude():
    d = np.repeat([0.1, 0.0], [30, 70])
    auto, by_t, bounded = (against_zero(d, test=test) for test in ("auto", "t", "bounded"))
    assert [row["verdict"] for row in (auto, by_t, bounded)] == ["better if", "better", "not shown"]
    assert auto["condition"] == pytest.approx(0.76428, rel=0.02)
    assert by_t["largest_loss"] == pytest.approx(auto["largest_loss"], rel=1e-6)
    assert "better by paired t alone" in by_t["flags"][-1]


def test_a_reader_sees_the_condition():
    found = rw.compare({"a": result(np.zeros(100)), "b": result(np.full(100, 0.03))})
    text = str(found)
    assert verdict_words(found["b"]) == "better if ≤ .79"
    for said in (
        "b beats a on ndcg@10 if no user loses more than 0.79",
        "nobody lost anything; 1.00 is possible",
        "better if ≤ .79",
        "if ≤ .79: shown, unless users who were not sampled lose more than 0.79",
    ):
        assert said in " ".join(text.split())
    latex = found.export("latex")
    assert r"$^{a\ddagger}$" in latex
    assert r"With $\ddagger$: if no user loses more than .79" in latex
    assert "<sup>a‡</sup>" in found.export("markdown")
    assert json.loads(found.export("json"))["pairs"][0]["verdict"] == "better if"
    assert "better if ≤ .79" in rw.report(found).html


def test_how_many_users_would_lift_the_condition_is_a_range():
    rng = np.random.default_rng(1)
    d = np.clip(0.02 + rng.normal(0, 0.08, 250), -0.5, 0.5)
    row = against_zero(d)
    assert row["verdict"] == "better if"
    assert 250 < row["users_for_any_low"] < row["users_for_any_high"]
    few = against_zero(d[:120] + 0.02)
    assert few["users_for_any_low"] is None


def test_every_road_takes_a_stated_loss(tmp_path):
    for name, gain in (("old", 0.0), ("new", 0.03)):
        result(np.full(100, 0.3 + gain)).save(tmp_path / name)
    folders = [str(tmp_path / name) for name in ("old", "new")]

    def run(*arguments):
        return CliRunner().invoke(cli, [*arguments], standalone_mode=False)

    assert "better if ≤ .79" in run("compare", *folders).output
    stated = run("compare", *folders, "--largest-loss", "ndcg@10=0.5").output
    assert "if ≤" not in stated
    assert "beats" in stated
    decide = ("decide", *folders, "--success", "ndcg@10")
    assert "better only if no user loses more than 0.79" in " ".join(run(*decide).output.split())
    assert "SHIP" in run(*decide, "--largest-loss", "0.5").output


WORLDS = {
    "rare loss": lambda n, rng: np.where(
        rng.random(n) < 0.0025, -0.8, 0.004 * (rng.random(n) < 0.5)
    ),
    "hits": lambda n, rng: rng.choice([1.0, -1.0, 0.0], n, p=[0.03, 0.03, 0.94]),
    "ndcg": lambda n, rng: _ndcg(n, rng) - _ndcg(n, rng),
}


def _ndcg(n, rng):
    return (rng.random(n) < 0.2) / np.log2(1 + rng.integers(1, 11, n))


@pytest.mark.slow
@pytest.mark.parametrize("samples", [100, *deep(600)])
@pytest.mark.parametrize("n", [100, *deep(30, 1000)])
@pytest.mark.parametrize("name", WORLDS)
def test_words_are_false_as_seldom_as_promised(name, n, samples):
    """The mean difference is 0: words for any users, and all words, with three Monte-Carlo errors."""
    rng = np.random.default_rng([len(name), n])
    words = [against_zero(WORLDS[name](n, rng))["verdict"] for _ in range(samples)]
    any_users = sum(word in ("better", "worse") for word in words) / samples
    all_words = sum(word != "not shown" for word in words) / samples
    error = 3 * np.sqrt(0.05 * 0.95 / samples)
    assert any_users <= 0.05 + error
    assert all_words <= 0.075 + error
    if name == "rare loss" and n < 1000:
        assert all_words == 0
