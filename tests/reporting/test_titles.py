"""Titles of sections say what their rows show, and no more."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.reporting.report_titles import finding_of

N = 400


def results_of(chances, metrics=("hit_rate@1", "coverage@1"), groups=None):
    """Evaluate systems that hit each user with a chance, or with the chances of the user's group."""
    rng = np.random.default_rng(3)
    truth = {user: {user % 7} for user in range(N)}
    users = pl.DataFrame({"user": range(N), "tier": ["free", "paid"] * (N // 2)})
    results = {}
    for name, chance in chances.items():
        hits = rng.random(N) < np.array([chance[user % 2] for user in range(N)])
        lists = {user: [user % 7 if hit else 7 + user % 40] for user, hit in enumerate(hits)}
        results[name] = rw.evaluate(lists, truth, list(metrics), users=users, by=groups or ())
    return results


def titles(report):
    return {part.name: part.finding for part in report.sections}


def test_a_system_is_first_only_if_its_rank_is_its_own():
    clear = rw.report(results_of({"a1": (0.9, 0.9), "b1": (0.5, 0.5), "c1": (0.1, 0.1)}))
    assert titles(clear)["systems"] == "a1 is first of 3 on hit_rate@1"
    close = rw.report(results_of({"a1": (0.5, 0.5), "b1": (0.5, 0.5), "c1": (0.1, 0.1)}))
    assert titles(close)["systems"] == "2 of 3 systems may be first on hit_rate@1"


def test_differences_are_counted_by_their_verdicts():
    made = results_of({"old": (0.5, 0.5), "new": (0.9, 0.9), "bad": (0.1, 0.1), "same": (0.5, 0.5)})
    found = titles(rw.report(made, baseline="old"))
    assert found["differences"] == "Against old: 1 better, 1 not shown to differ and 1 worse"


def test_one_difference_has_its_size():
    found = titles(rw.report(results_of({"old": (0.2, 0.2), "new": (0.9, 0.9)}), baseline="old"))
    assert found["differences"].startswith("new − old: +0.")
    assert found["differences"].endswith(", better")


def test_groups_that_differ_from_all_users_come_first():
    made = results_of({"old": (0.5, 0.5), "new": (0.2, 0.99)}, groups="tier")
    found = titles(rw.report(made, baseline="old"))["for-whom"]
    assert found == "new is worse for free, better for paid (tier)"
    same = results_of({"old": (0.2, 0.2), "new": (0.9, 0.9)}, groups="tier")
    assert titles(rw.report(same, baseline="old"))["for-whom"] == (
        "new is better for free and paid (tier)"
    )


def test_the_users_that_moved_most_are_named():
    made = rw.compare(results_of({"old": (0.2, 0.2), "new": (0.9, 0.9)}), baseline="old")
    moved = made.movers("new", n=1)
    found = titles(made.report())["examples"]
    assert found == f"With new, {moved.losses[0]} loses most and {moved.gains[0]} gains most"


def test_a_result_alone_has_topics():
    (result,) = results_of({"only": (0.5, 0.5)}).values()
    assert set(titles(rw.report(result)).values()) == {""}


def test_a_decision_says_what_failed():
    made = results_of({"old": (0.9, 0.9), "new": (0.1, 0.1)})
    decision = rw.decide(made, success="hit_rate@1")
    found = titles(rw.report(made, decision=decision))["decision"]
    assert found == "hit_rate@1 failed"


class _Material:
    """The rows that a title is made of."""

    def __init__(self, rows):
        columns = {"metric": "ndcg@10", "baseline": "old", "group": None, "primary": True}
        columns |= {"difference": 0.1, "wins": 1, "losses": 2, "ties": 3, "condition": 0.2}
        self.pairs = pl.DataFrame([{**columns, **row} for row in rows])
        self.design = rw.comparison.design.Design(baseline="old", primary="ndcg@10")
        self.ranked = ["old", *(row["system"] for row in rows)]


VERDICTS = ["better", "worse", "not shown", "equivalent", "better if", "worse if"]


@given(st.lists(st.sampled_from(VERDICTS), min_size=2, max_size=6))
def test_no_title_counts_a_verdict_that_no_row_has(verdicts):
    rows = [
        {"system": f"s{at}", "verdict": verdict, "mean_baseline": 0.1, "mean_system": 0.2}
        for at, verdict in enumerate(verdicts)
    ]
    found = finding_of("differences", _Material(rows))
    counts = {
        "better": verdicts.count("better"),
        "worse": verdicts.count("worse"),
        "equivalent": verdicts.count("equivalent"),
        "better under a condition": verdicts.count("better if"),
        "worse under a condition": verdicts.count("worse if"),
        "not shown to differ": verdicts.count("not shown"),
    }
    said = found.removeprefix("Against old: ").replace(" and ", ", ").split(", ")
    assert sorted(said) == sorted(f"{n} {word}" for word, n in counts.items() if n)
