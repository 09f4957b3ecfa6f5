"""The verdict in words: every verdict, direction and kind of comparison."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankwise as rw
from rankwise.comparison.view import leader_first, pair_sentence, verdict_sentences

SETTINGS = {
    "correction": "holm",
    "by": None,
    "alpha": 0.05,
    "baseline": None,
    "ranks": [],
    "directions": {"ndcg@10": True, "rmse": False},
}
ROW = {
    "system": "B",
    "baseline": "A",
    "metric": "ndcg@10",
    "group": None,
    "difference": 0.01,
    "low": 0.004,
    "high": 0.016,
    "lift": 0.031,
    "lift_low": 0.012,
    "lift_high": 0.05,
    "p_adjusted": 0.002,
    "users": 943,
    "verdict": "better",
    "minimum_detectable": 0.008,
    "primary": True,
    "mean_baseline": 0.3,
    "mean_system": 0.31,
    "data_sets": None,
    "seeds_system": None,
}
FELL = {"difference": -0.01, "low": -0.016, "high": -0.004, "lift": -0.031, "lift_low": -0.05, "lift_high": -0.012}
EVIDENCE = "Holm-adjusted p = 0.0020, 943 users"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, f"B beats A on ndcg@10 by 3.1 % [1.2, 5.0], {EVIDENCE}."),
        (FELL | {"verdict": "worse"}, f"B is worse than A on ndcg@10 by 3.1 % [1.2, 5.0], {EVIDENCE}."),
        (FELL | {"metric": "rmse"}, f"B beats A on rmse by 3.1 % [1.2, 5.0], {EVIDENCE}."),
        (
            {"verdict": "different"},
            (
                "B and A differ on ndcg@10 by +3.1 % [+1.2, +5.0], "
                f"{EVIDENCE}; neither direction of this metric is better."
            ),
        ),
        (
            {"verdict": "equivalent"},
            (f"B and A are equivalent on ndcg@10 within the margin: difference +3.1 % [+1.2, +5.0], {EVIDENCE}."),
        ),
        (
            {"verdict": "undecided"},
            (
                "Nothing can be claimed between B and A on ndcg@10: difference "
                f"+3.1 % [+1.2, +5.0], {EVIDENCE}. A difference of 0.0080 or more would be found with a "
                "probability of 80 %."
            ),
        ),
        (
            {"verdict": "undecided", "minimum_detectable": math.nan, "p_adjusted": math.nan},
            (
                "Nothing can be claimed between B and A on ndcg@10: difference +3.1 % [+1.2, +5.0], not "
                "testable, 943 users."
            ),
        ),
        ({"lift": math.nan}, f"B beats A on ndcg@10 by 0.0100 [0.0040, 0.0160], {EVIDENCE}."),
        ({"lift_high": math.inf}, f"B beats A on ndcg@10 by 0.0100 [0.0040, 0.0160], {EVIDENCE}."),
        (
            FELL | {"lift": None, "verdict": "worse"},
            f"B is worse than A on ndcg@10 by 0.0100 [0.0040, 0.0160], {EVIDENCE}.",
        ),
        (
            {"lift": math.nan, "verdict": "different"},
            (
                "B and A differ on ndcg@10 by +0.0100 [+0.0040, "
                f"+0.0160], {EVIDENCE}; neither direction of this metric is better."
            ),
        ),
        ({"p_adjusted": 1e-9}, ("B beats A on ndcg@10 by 3.1 % [1.2, 5.0], Holm-adjusted p < 0.0001, 943 users.")),
        (
            {"seeds_system": 5, "seeds_baseline": 1},
            f"B beats A on ndcg@10 by 3.1 % [1.2, 5.0], {EVIDENCE}, 5 and 1 seeds.",
        ),
        ({"data_sets": 4}, f"B beats A on ndcg@10 by 3.1 % [1.2, 5.0], {EVIDENCE} on 4 data sets."),
        ({"primary": False}, "B beats A on ndcg@10 by 3.1 % [1.2, 5.0], adjusted p = 0.0020, 943 users."),
    ],
)
def test_one_pair(changes, sentence):
    assert pair_sentence({**ROW, **changes}, SETTINGS) == sentence


def test_a_group_is_named():
    settings = {**SETTINGS, "by": "country"}
    assert pair_sentence({**ROW, "group": "AT"}, settings).endswith("943 users (country = AT).")


def table(*rows):
    return pl.DataFrame([{**ROW, **row} for row in rows])


def pair(system, baseline, verdict, mean_system, mean_baseline, **more):
    return {
        "system": system,
        "baseline": baseline,
        "verdict": verdict,
        "mean_system": mean_system,
        "mean_baseline": mean_baseline,
        **more,
    }


def test_one_pair_is_one_sentence():
    assert verdict_sentences(table({}), SETTINGS) == [pair_sentence(ROW, SETTINGS)]
    assert verdict_sentences(table({}).clear(), SETTINGS) == ["Nothing was compared."]


@pytest.mark.parametrize(
    ("verdicts", "head"),
    [
        (["better", "better", "better"], "c beats every other system on ndcg@10."),
        (
            ["better", "better", "undecided"],
            "c is ahead on ndcg@10: it beats 1 of 2 others; against b nothing can be claimed.",
        ),
        (["better", "undecided", "undecided"], "On ndcg@10, 1 of 3 pairs of systems differ significantly."),
        (
            ["undecided"] * 3,
            (
                "Nothing can be claimed on ndcg@10: none of 3 comparisons shows a difference."
                " A difference of 0.0080 or more would be found with a probability of 80 %."
            ),
        ),
        (
            ["undecided", "undecided", "equivalent"],
            (
                "Nothing can be claimed on ndcg@10: none of 3 "
                "comparisons shows a difference, and 1 are equivalent within the margin. A difference of 0.0080 "
                "or more would be found with a probability of 80 %."
            ),
        ),
        (["equivalent"] * 3, "All 3 pairs are equivalent on ndcg@10 within the margin."),
        (["different"] * 3, "On ndcg@10, 3 of 3 pairs of systems differ significantly."),
    ],
)
def test_all_pairs(verdicts, head):
    rows = table(
        pair("b", "a", verdicts[0], 0.2, 0.1),
        pair("c", "a", verdicts[1], 0.3, 0.1),
        pair("c", "b", verdicts[2], 0.3, 0.2),
    )
    said = verdict_sentences(rows, SETTINGS)
    assert said[0] == head
    assert [" c " in f" {text}" for text in said[1:]] == [True, True, False]  # the leader's first


def test_of_errors_the_smallest_leads():
    rows = table(
        pair("b", "a", "worse", 0.2, 0.1, metric="rmse", **FELL),
        pair("c", "a", "worse", 0.3, 0.1, metric="rmse", **FELL),
        pair("c", "b", "worse", 0.3, 0.2, metric="rmse", **FELL),
    )
    assert verdict_sentences(rows, SETTINGS)[0] == "a beats every other system on rmse."
    assert leader_first(rows, SETTINGS)["baseline"].to_list() == ["a", "a", "b"]


def test_against_a_baseline():
    rows = table(pair("b", "a", "better", 0.2, 0.1), pair("c", "a", "worse", 0.05, 0.1))
    settings = {**SETTINGS, "baseline": "a"}
    assert verdict_sentences(rows, settings)[0] == "1 of 2 systems beat a on ndcg@10, worse: 1."


def test_groups():
    rows = table({"group": "x"}, {"group": "y", "verdict": "undecided"})
    said = verdict_sentences(rows, {**SETTINGS, "by": "g"})
    assert said[0] == "On ndcg@10, 1 of 2 comparisons within g are decided."


def test_of_many_pairs_some_are_told():
    rows = table(*(pair(f"s{n}", "a", "better", 0.2, 0.1) for n in range(10)))
    said = verdict_sentences(rows, SETTINGS)
    assert len(said) == 8
    assert said[-1] == "4 more pairs are in the table below."


def test_a_real_comparison():
    truth = {user: {1, 2} for user in range(60)}
    low = rw.evaluate({user: [1, 3] if user % 3 else [4, 3] for user in truth}, truth, "recall@2")
    high = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
    comparison = rw.compare({"low": low, "high": high})
    row = comparison["high"]
    (said,) = verdict_sentences(comparison.table, comparison.settings)
    percents = [f"{100 * row[name]:.1f}" for name in ("lift", "lift_low", "lift_high")]
    assert said.startswith(f"high beats low on recall@2 by {percents[0]} % [{percents[1]}, {percents[2]}]")
