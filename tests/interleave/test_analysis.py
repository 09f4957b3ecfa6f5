"""Drafts and tests of interleaving: golden drafts, fairness, clusters of users, and logs that cannot be judged."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ColumnError, InputError, ParameterError, RankwiseError
from rankwise.interleave.drafts import allowed_lists, unbiased_probabilities

pytestmark = pytest.mark.usefixtures("one_thread")
GOLDEN = Path(__file__).parents[1] / "offpolicy" / "golden"
VALUES = json.loads((GOLDEN / "values.json").read_text())["interleaving"]
DRAFTS = VALUES["team draft abcd bcda"]
MANY = range(4000)


def drafts(function, k=4, **options):
    """Return the drafts of many users with the lists of the golden example, as (list, last column)."""
    lists = [dict.fromkeys(MANY, DRAFTS[name]) for name in "AB"]
    frame = function(*lists, k, seed=3, **options)
    last = next(name for name in ("team", "first") if name in frame.columns)
    groups = frame.group_by("user", maintain_order=True).agg("item", last)
    return Counter(
        ("".join(items), "".join(map(str, rest)) if last == "team" else rest[0])
        for _, items, rest in groups.rows()
    )


@pytest.mark.slow
def test_team_draft_has_the_golden_drafts_in_their_shares():
    counts = drafts(rw.interleave.team_draft)
    expected = {("".join(d["list"]), d["teams"]): Fraction(d["p"]) for d in DRAFTS["team_draft"]}
    assert counts.keys() == expected.keys()
    for draft, share in expected.items():
        assert counts[draft] / len(MANY) == pytest.approx(float(share), abs=0.035)


def test_balanced_has_the_golden_lists():
    lists = Counter(key[0] for key in drafts(rw.interleave.balanced).elements())
    assert lists.keys() == {"".join(d["list"]) for d in DRAFTS["balanced"]}
    assert lists["abcd"] / len(MANY) == pytest.approx(0.5, abs=0.035)


def test_a_random_click_on_a_team_draft_prefers_nobody():
    lists = [dict.fromkeys(MANY, DRAFTS[name]) for name in "AB"]
    frame = rw.interleave.team_draft(*lists, 4, seed=1)
    sign = frame.with_columns(credit=pl.when(pl.col("team") == "A").then(1).otherwise(-1))
    by_rank = sign.group_by("rank").agg(pl.col("credit").mean())
    assert by_rank["credit"].abs().max() < 0.06


def test_optimised_has_the_golden_probabilities():
    golden = VALUES["optimised inverse abc bca"]
    lists, of_clicks = allowed_lists(golden["A"], golden["B"], golden["length"], golden["credit"])
    assert ["".join(items) for items in lists] == golden["lists"]
    assert [[float(c) for c in row] for row in of_clicks] == [
        pytest.approx(row) for row in golden["credit_difference"]
    ]
    p = unbiased_probabilities(of_clicks, "", "inverse")
    assert p.tolist() == pytest.approx(golden["p"], abs=1e-11)


def test_infeasible_credits_are_refused():
    with pytest.raises(ParameterError, match="no probabilities of these lists are without bias"):
        rw.interleave.optimised({1: ["a", "b", "c"]}, {1: ["b", "c", "a"]}, 3, credit="binary")


@given(st.permutations(range(5)), st.permutations(range(5)), st.integers(1, 5))
def test_optimised_lists_have_no_bias_at_any_depth(a, b, k):
    _, of_clicks = allowed_lists(a, b, k, "inverse")
    try:
        p = unbiased_probabilities(of_clicks, "", "inverse")
    except ParameterError:
        return
    expected = p @ np.cumsum(np.array(of_clicks, dtype=float), axis=1)
    assert p.sum() == pytest.approx(1.0)
    assert expected == pytest.approx(np.zeros(k), abs=1e-9)


def test_a_draft_does_not_depend_on_other_users():
    lists = [dict.fromkeys(range(30), DRAFTS[name]) for name in "AB"]
    alone = [{7: DRAFTS[name]} for name in "AB"]
    together = rw.interleave.team_draft(*lists, 4, seed=5).filter(user=7)
    assert together.equals(rw.interleave.team_draft(*alone, 4, seed=5))


def test_multileaving_gives_every_team_its_turn():
    lists = {
        name: dict.fromkeys(MANY, list("abc") if name != "z" else list("xyz"))
        for name in ("p", "q", "z")
    }
    frame = rw.interleave.multileave(lists, 3, seed=2)
    assert frame.group_by("user").agg(pl.col("team").n_unique())["team"].unique().to_list() == [3]
    assert frame["differs"].all()


@pytest.fixture(scope="module")
def credits_log():
    return pl.read_parquet(GOLDEN / "interleaving_log.parquet")


def test_golden_statistics(credits_log):
    golden = VALUES["statistics"]
    row = rw.interleaving(credits_log).table.row(0, named=True)
    assert [row["wins"], row["losses"], row["ties"]] == golden["users: wins of A, wins of B, ties"]
    assert row["difference"] == pytest.approx(golden["mean credit difference per user"], rel=1e-12)
    assert row["std_error"] == pytest.approx(golden["its se"], rel=1e-10)
    assert row["share"] == pytest.approx(
        golden["share of all credit to A (ratio of sums)"], rel=1e-12
    )


def test_golden_credit():
    example = VALUES["credit_example"]
    shown = pl.DataFrame(
        {"request": [1] * 4, "user": [1] * 4, "position": range(4), "item": example["list"]}
    )
    shown = shown.with_columns(team=pl.Series(list(example["teams"])))
    clicks = pl.DataFrame(
        {"request": [1] * 3, "item": [example["list"][at] for at in example["clicks"]]}
    )
    result = rw.interleaving(shown, clicks)
    assert result.per_user.select("A", "B").row(0) == (example["count"]["A"], example["count"]["B"])
    winner = rw.interleaving(shown, clicks, credit="winner")
    assert winner.per_user.select("A", "B").row(0) == (0.0, 1.0)


@pytest.mark.parametrize("order", [1, -1])
def test_three_rewards_of_a_tenth_are_as_much_as_one_of_three_tenths(order):
    items = {"item": [5, 6], "team": ["A", "B"], "position": [1, 2]}
    shown = pl.concat(
        pl.DataFrame({"request": [at] * 2, "user": [at] * 2, **items}) for at in range(12)
    )
    own = {"item": [5, 5, 5, 6], "kind": ["click", "click", "click", "buy"]}
    outcomes = pl.concat(pl.DataFrame({"request": [at] * 4, **own}) for at in range(12))
    given = shown, outcomes[::order]
    for reward in ({"click": 0.1, "buy": 0.3}, {"click": 0.2, "buy": 0.6}):
        best = rw.interleaving(*given, reward=reward, credit="winner")
        assert best.per_user["A"].sum() == best.per_user["B"].sum() == 0
        row = rw.interleaving(*given, reward=reward).table.row(0, named=True)
        assert (row["wins"], row["ties"], row["losses"]) == (0, 12, 0)
        assert (row["difference"], row["p"]) == (0, 1)


def test_any_word_is_the_name_of_a_winner():
    frame = experiment(0.2, users=40).with_columns(pl.col("team").replace({"A": "self"}))
    one, two = (
        rw.interleaving(each, credit="winner") for each in (experiment(0.2, users=40), frame)
    )
    assert one.per_user["A"].to_list() == two.per_user["self"].to_list()


def experiment(gain, users=300, seed=0, fair=True):
    """Return a log of drafts of two rankers, of which A gets ``gain`` more clicks."""
    rng = np.random.default_rng(seed)
    lists = [dict.fromkeys(range(users), DRAFTS[name]) for name in "AB"]
    frame = rw.interleave.team_draft(*lists, 4, seed=seed)
    if not fair:
        frame = frame.with_columns(
            team=pl.when(pl.col("rank") == 1).then(pl.lit("A")).otherwise("team")
        )
    p = 0.2 + gain * (frame["team"] == "A").to_numpy()
    return frame.with_columns(
        request=pl.col("user"), click=pl.Series(rng.random(len(frame)) < p).cast(pl.Int64)
    )


def test_a_better_ranker_is_preferred_and_the_draft_is_fair():
    result = rw.interleaving(experiment(0.2))
    assert result.table["verdict"].to_list() == ["better"]
    assert result.draft["fair"].all()
    assert result.draft["position"].to_list() == [1, 3]


def test_an_unfair_draft_has_no_verdict():
    result = rw.interleaving(experiment(0.2, fair=False))
    assert result.table.select("verdict", "why").row(0) == ("not checked", "the draft was not fair")
    assert "the draft was not fair" in repr(result)


@pytest.mark.slow
@pytest.mark.parametrize("credit", ["sum", "winner"])
def test_equal_rankers_are_seldom_told_apart(credit):
    wrong = sum(
        rw.interleaving(experiment(0.0, users=80, seed=s), credit=credit).table["p"][0] < 0.05
        for s in range(30)
    )
    assert wrong <= 5


def test_requests_with_equal_lists_are_left_out():
    frame = experiment(0.1, users=40).with_columns(differs=pl.col("user") >= 10)
    result = rw.interleaving(frame)
    assert len(result.per_user) == 30
    assert result.counts["requests for which all rankers had the same list, left out"] == 10


def test_several_teams_are_corrected_together():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"user": range(200)}
        | {f"credit_{n}": rng.poisson(2 if n == "new" else 1, 200) for n in ("old", "new", "odd")}
    )
    sorted_teams = rw.interleaving(frame).table.select("system", "baseline").rows()
    assert sorted_teams == [("new", "odd"), ("new", "old"), ("odd", "old")]
    table = rw.interleaving(frame, teams=["old", "new", "odd"]).table
    assert table.select("system", "baseline", "verdict").rows() == [
        ("old", "new", "worse"),
        ("old", "odd", "not shown"),
        ("new", "odd", "better"),
    ]
    assert (table["p_adjusted"] >= table["p"] - 1e-3).all()


def test_the_order_of_rows_changes_no_bit(credits_log):
    one, other = (
        rw.interleaving(f)
        for f in (credits_log, credits_log.sample(fraction=1, shuffle=True, seed=3))
    )
    assert one.table.equals(other.table)
    assert one.per_user.equals(other.per_user)


def test_saved_and_read_again(credits_log, tmp_path):
    result = rw.interleaving(credits_log)
    again = rw.Interleaving.load(result.save(tmp_path / "out"))
    assert repr(again) == repr(result)
    for form in ("json", "csv", "markdown", "latex"):
        assert again.export(form) == result.export(form)


def test_bad_logs():
    with pytest.raises(ColumnError, match="no column for the team"):
        rw.interleaving({"user": [1], "item": [2], "click": [1]})
    with pytest.raises(ParameterError, match="two teams or more"):
        rw.interleaving({"user": [1], "item": [2], "click": [1], "team": ["A"]})
    with pytest.raises(InputError, match="a credit is missing"):
        rw.interleaving({"user": [1, 2], "credit_a": [1, None], "credit_b": [0, 1]})
    with pytest.raises(InputError, match="no user has a list of every ranker"):
        rw.interleave.team_draft({1: [1]}, {2: [1]}, 1)
    with pytest.raises(ParameterError, match="needs two rankers"):
        rw.interleave.multileave({"a": {1: [1]}}, 1)


CREDITS = {"user": [1, 2, 3], "credit_a": [1, 0, 1], "credit_b": [0, 1, 0]}


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({}, {"teams": ["a", "b"]}, "an experiment has two teams or more, all of them named"),
        ({}, {"teams": ["A", "B", "C"]}, "a team has no column of credits"),
        ({}, {"window": "1d"}, "window cannot be used here"),
        (
            {},
            {"outcomes": {"user": [1], "item": [5], "timestamp": [3]}},
            "outcomes cannot be used here",
        ),
        ({"credit_b": ["0", "x", "1"]}, {}, "column 'credit_b' does not hold numbers"),
        ({"credit_b": [0, float("inf"), 1]}, {}, "a credit is infinite"),
        ({"credit_b": [0, None, 1]}, {}, "a credit is missing"),
    ],
)
def test_credits_are_numbers_of_the_teams_and_come_alone(changed, options, message):
    with pytest.raises(RankwiseError, match=message):
        rw.interleaving(CREDITS | changed, **options)


def test_the_order_of_teams_is_that_of_the_pairs():
    one, other = (
        rw.interleaving(CREDITS, teams=teams).table.row(0, named=True)
        for teams in (["A", "B"], ["B", "A"])
    )
    assert (one["system"], other["system"]) == ("A", "B")
    assert one["difference"] == -other["difference"]


def test_credit_below_0_has_a_change_and_no_share():
    rng = np.random.default_rng(3)
    by_team = {
        "credit_a": rng.integers(-2, 1, 80) * 1.0,
        "credit_b": rng.integers(-4, -1, 80) * 1.0,
    }
    found = rw.interleaving({"user": range(80)} | by_team)
    row = found.table.row(0, named=True)
    assert row["lift"] == pytest.approx(row["difference"] / abs(row["mean_baseline"]))
    assert row["lift"] > 0
    assert math.isnan(row["share"])
    assert "of the credit of both" not in str(found)


def test_intervals_of_several_teams_have_one_level():
    rng = np.random.default_rng(4)
    shares = {"a": 0.6, "b": 0.4, "c": 0.4}
    by_team = {f"credit_{team}": (rng.random(80) < p) * 1.0 for team, p in shares.items()}
    text = " ".join(str(rw.interleaving({"user": range(80)} | by_team)).split())
    assert "98.33 % interval" in text
    assert "Intervals: 98.33 %." in text
