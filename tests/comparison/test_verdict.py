"""The verdict in words: every verdict, direction and kind of comparison."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

import rankwise as rw
from rankwise.comparison.design import Design, SystemRank
from rankwise.comparison.sentences import pair_sentence, verdict_sentences
from rankwise.comparison.system_order import system_order

DESIGN = Design(primary="ndcg@10", directions={"ndcg@10": True, "rmse": False})
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
    "flags": [],
    "why": "",
}
FELL = {
    "difference": -0.01,
    "low": -0.016,
    "high": -0.004,
    "lift": -0.031,
    "lift_low": -0.05,
    "lift_high": -0.012,
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "B beats A on ndcg@10: 0.310 against 0.300, +3.1 % (1.2 to 5.0)."),
        (
            FELL | {"verdict": "worse"},
            "B is worse than A on ndcg@10: 0.310 against 0.300, −3.1 % (−5.0 to −1.2).",
        ),
        (
            FELL | {"metric": "rmse"},
            "B beats A on rmse: 0.310 against 0.300, −3.1 % (−5.0 to −1.2).",
        ),
        (
            {"verdict": "different"},
            (
                "B and A differ on ndcg@10: 0.310 against 0.300, +3.1 % (1.2 to 5.0); "
                "neither direction of this metric is better."
            ),
        ),
        (
            {"verdict": "equivalent"},
            "B and A are equivalent on ndcg@10, within the margin: 0.310 against 0.300, +3.1 % (1.2 to 5.0).",
        ),
        (
            {"verdict": "not shown", "p_adjusted": 0.0505},
            (
                "B is not shown to differ from A on ndcg@10: +3.1 % (1.2 to 5.0), p = 0.051. "
                "A difference of 0.00800 (2.7 %) would be detected in 80 % of samples of this size."
            ),
        ),
        (
            {"verdict": "not shown", "minimum_detectable": math.inf},
            (
                "B is not shown to differ from A on ndcg@10: +3.1 % (1.2 to 5.0), p = 0.002. "
                "With so few users, no difference within the range of the metric reaches a power of 80 %."
            ),
        ),
        (
            {"verdict": "not checked", "why": "no test", "p_adjusted": math.nan},
            (
                "B is not tested against A on ndcg@10: 0.310 against 0.300, +3.1 % (1.2 to 5.0); "
                "no test."
            ),
        ),
        (
            {"lift": math.nan},
            "B beats A on ndcg@10: 0.310 against 0.300, +0.010 (+0.004 to +0.016).",
        ),
        (
            {"lift_high": math.inf},
            "B beats A on ndcg@10: 0.310 against 0.300, +0.010 (+0.004 to +0.016).",
        ),
        (
            FELL | {"lift": None, "verdict": "worse"},
            "B is worse than A on ndcg@10: 0.310 against 0.300, −0.010 (−0.016 to −0.004).",
        ),
        ({"lift": math.nan, "low": math.nan}, "B beats A on ndcg@10: 0.310 against 0.300, +0.010."),
        (
            {"seeds_system": 5, "seeds_baseline": 1},
            "B beats A on ndcg@10 (5 and 1 seeds): 0.310 against 0.300, +3.1 % (1.2 to 5.0).",
        ),
        (
            {"data_sets": 4},
            "B beats A on ndcg@10 over 4 data sets: 0.310 against 0.300, +3.1 % (1.2 to 5.0).",
        ),
    ],
)
def test_one_pair(changes, sentence):
    assert pair_sentence({**ROW, **changes}, DESIGN) == sentence


def test_a_group_is_named():
    design = replace(DESIGN, by="country")
    assert pair_sentence({**ROW, "group": "AT"}, design).startswith(
        "B beats A on ndcg@10 for country AT: "
    )


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


def said(rows, **changes):
    return verdict_sentences(rows, replace(DESIGN, **changes))


def test_one_pair_is_one_sentence():
    assert said(table({})) == [pair_sentence(ROW, DESIGN)]
    assert said(table({}).clear()) == ["Nothing was compared."]


@pytest.mark.parametrize(
    ("verdicts", "head"),
    [
        (["better", "better", "better"], "c beats a and b on ndcg@10."),
        (
            ["better", "better", "not shown"],
            "c beats a on ndcg@10; b is not shown to differ from it.",
        ),
        (
            ["better", "not shown", "not shown"],
            "1 of 3 pairs of systems are shown to differ on ndcg@10.",
        ),
        (
            ["not shown"] * 3,
            "No difference is shown on ndcg@10. A difference of 0.00800 (8.0 %) would be detected in 80 % of samples of this size.",
        ),
        (
            ["not shown", "not shown", "equivalent"],
            (
                "No difference is shown on ndcg@10. A difference of 0.00800 (8.0 %) would be detected in 80 % of samples of this size. "
                "1 of 3 pairs are equivalent within the margin."
            ),
        ),
        (["equivalent"] * 3, "All 3 pairs are equivalent on ndcg@10 within the margin."),
        (["different"] * 3, "3 of 3 pairs of systems are shown to differ on ndcg@10."),
    ],
)
def test_all_pairs(verdicts, head):
    rows = table(
        pair("b", "a", verdicts[0], 0.2, 0.1),
        pair("c", "a", verdicts[1], 0.3, 0.1),
        pair("c", "b", verdicts[2], 0.3, 0.2),
    )
    assert said(rows) == [head]


def test_which_system_is_the_best_may_be_open():
    rows = table(
        pair("b", "a", "better", 0.2, 0.1),
        pair("c", "a", "better", 0.3, 0.1),
        pair("c", "b", "not shown", 0.3, 0.2),
    )
    ranks = tuple(
        SystemRank(name, 0.2, 1, 1, 2, name != "a", 1, 2, may_be_best_if=name != "a")
        for name in "cba"
    )
    assert said(rows, ranks=ranks) == [
        "The best system is c or b on ndcg@10; which one is not shown."
    ]


def test_of_errors_the_smallest_leads():
    rows = table(
        pair("b", "a", "worse", 0.2, 0.1, metric="rmse", **FELL),
        pair("c", "a", "worse", 0.3, 0.1, metric="rmse", **FELL),
        pair("c", "b", "worse", 0.3, 0.2, metric="rmse", **FELL),
    )
    assert said(rows, primary="rmse") == ["a beats b and c on rmse."]
    assert system_order(rows, replace(DESIGN, primary="rmse")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("verdicts", "head"),
    [
        (["better", "worse"], "b beats a on ndcg@10; c is worse."),
        (["better", "better"], "b and c beat a on ndcg@10."),
        (["better", "not shown"], "b beats a on ndcg@10; c is not shown to differ."),
        (["worse", "not shown"], "No system is shown to beat a on ndcg@10; b is worse."),
        (
            ["equivalent", "not shown"],
            "No system is shown to beat a on ndcg@10; b is equivalent within the margin.",
        ),
        (["different", "different"], "b and c differ from a on ndcg@10."),
    ],
)
def test_against_a_baseline(verdicts, head):
    rows = table(pair("b", "a", verdicts[0], 0.2, 0.1), pair("c", "a", verdicts[1], 0.05, 0.1))
    assert said(rows, baseline="a") == [head]


def test_more_than_three_systems_are_a_number():
    rows = table(*(pair(f"s{n}", "a", "better", 0.2, 0.1) for n in range(10)))
    assert said(rows, baseline="a") == ["10 systems beat a on ndcg@10."]


def test_groups():
    rows = table({"group": "low"}, {"group": "high"}, {"group": None, "verdict": "not shown"})
    assert said(rows, by="activity") == [
        "B beats A on ndcg@10 for activity low and high; no difference is shown for –."
    ]
    several = table({"group": "x"}, {"group": "y", "system": "C", "verdict": "not shown"})
    assert said(several, by="g") == ["1 of 2 comparisons on ndcg@10 within g show a difference."]


def test_what_a_lead_costs_is_said():
    falls = pair(
        "b", "a", "worse", 0.19, 0.45, metric="catalog_coverage@10", primary=False, lift=-0.58
    )
    also = pair("b", "a", "worse", 0.9, 0.8, metric="gini@10", primary=False, lift=0.1)
    rows = table(
        pair("b", "a", "better", 0.2, 0.1), falls, also, pair("c", "a", "worse", 0.05, 0.1)
    )
    assert said(rows, baseline="a") == [
        "b beats a on ndcg@10; c is worse.",
        "b is worse on catalog_coverage@10: 0.450 → 0.190, and on gini@10 (exploratory).",
    ]
    turned = table(
        pair("a", "b", "worse", 0.1, 0.2), {**falls, **pair("a", "b", "better", 0.45, 0.19)}
    )
    assert said(turned)[1] == "b is worse on catalog_coverage@10: 0.450 → 0.190 (exploratory)."


def lists(users, item):
    return {user: [item, 90, 91] for user in users}


def test_a_lead_that_comes_from_users_without_a_list_is_said_so():
    """Both systems do as well for everybody whom both serve; one of them does not serve every tenth."""
    users = range(1_500)
    truth = {user: {1, 2} for user in users}
    served = [user for user in users if user % 10]
    wide = rw.evaluate(
        lists(users, 1) | {user: [8, 90, 91] for user in range(5)},
        truth,
        ["ndcg@3", "novelty@3"],
        train=truth,
    )
    part = rw.evaluate(
        lists(served, 1) | {user: [8, 90, 91] for user in range(1, 6)},
        truth,
        ["ndcg@3", "novelty@3"],
        train=truth,
    )
    comparison = rw.compare({"part": part, "wide": wide}, baseline="part")
    (pair,) = comparison.design.served_by_both
    assert (pair.users_with_one_list, pair.users, pair.decides) == (150, 1_350, True)
    both = [user for user in users if user % 10]
    means = [
        result.per_user.filter(pl.col("user").is_in(both))["ndcg@3"].mean()
        for result in (part, wide)
    ]
    assert pair.difference == pytest.approx(means[1] - means[0])
    assert pair.low < pair.difference < pair.high
    first, second, *_ = verdict_sentences(comparison.table, comparison.design)
    assert first.startswith("wide beats part on ndcg@3")
    assert second.startswith(
        "Only one of wide and part serves 150 users; among the 1,350 whom both serve, the difference is"
    )
    row = comparison["novelty@3", "wide"]  # of lists: over the users who have one from both
    assert (row["users"], row["dropped_because"]) == (
        1_350,
        "150 excluded: no value in at least one result",
    )
    same = rw.compare({"one": part, "other": part}, baseline="one")
    assert same.design.served_by_both == ()


def test_a_difference_that_all_users_share_has_no_note():
    truth = {user: {1, 2} for user in range(1_500)}
    served = [user for user in truth if user % 10]
    part = rw.evaluate(lists(served, 5), truth, "ndcg@3")
    wide = rw.evaluate(lists(truth, 1), truth, "ndcg@3")
    comparison = rw.compare({"part": part, "wide": wide}, baseline="part")
    (pair,) = comparison.design.served_by_both
    assert not pair.decides
    assert len(verdict_sentences(comparison.table, comparison.design)) == 1


def test_a_metric_over_different_users_is_an_error_where_it_was_asked_for():
    truth = {user: {1, 2} for user in range(60)}
    wide = rw.evaluate(lists(truth, 1), truth, ["ndcg@3", "novelty@3"], train=truth)
    part = rw.evaluate(lists(range(50), 1), truth, ["ndcg@3", "novelty@3"], train=truth)
    with pytest.raises(
        rw.errors.ParameterError, match="some users have a value of novelty@3 in one result"
    ):
        rw.compare(wide, part, metrics=["ndcg@3", "novelty@3"])
