"""Policies as weights: tables, lists, scores and rules, against probabilities worked out by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.offpolicy.exposures import read_log
from rankwise.offpolicy.policies import Situation

ITEMS = (1, 2, 3)


def probabilities(policy, frame, kind="conditional", items=ITEMS):
    log = read_log(frame, None, None)
    return policy.probabilities(
        Situation(log, None, pl.Series("item", items), "new"), kind
    ).tolist()


def rows(**columns):
    size = len(next(iter(columns.values())))
    return pl.DataFrame(columns | {"click": [0] * size, "propensity": [0.5] * size})


def lists_of_two():
    """Return every list of two of three items, each a request."""
    lists = list(permutations(ITEMS, 2))
    request = np.repeat(np.arange(len(lists)), 2).tolist()
    return rows(
        request=request,
        user=["a"] * len(request),
        item=[i for pair in lists for i in pair],
        position=[1, 2] * len(lists),
    )


SCORES = pl.DataFrame({"user": ["a"] * 3, "item": ITEMS, "score": [2.0, 1.0, 0.0]})
RANKED = {"a": [1, 2, 3]}


@pytest.mark.parametrize(
    "policy",
    [
        rw.policies.Uniform(),
        rw.policies.Scores(SCORES, temperature=0.7),
        rw.policies.Scores(SCORES, epsilon=0.3),
        rw.policies.Lists(RANKED, epsilon=0.2),
        rw.policies.Lists(RANKED),
    ],
)
def test_the_probabilities_of_all_lists_add_up_to_1(policy):
    frame = lists_of_two()
    of_lists = probabilities(policy, frame, "list")
    assert sum(of_lists[::2]) == pytest.approx(1.0)
    prefix = np.reshape(probabilities(policy, frame, "prefix"), (-1, 2))
    conditional = np.reshape(probabilities(policy, frame), (-1, 2))
    assert prefix[:, 1].tolist() == pytest.approx(of_lists[::2])
    assert prefix.tolist() == pytest.approx(np.cumprod(conditional, axis=1))


def test_the_list_of_a_ranker_goes_on_after_exploration():
    frame = rows(request=[1, 1], user=["a", "a"], item=[2, 1], position=[1, 2])
    # Item 2 is explored (0.2 of three items); then the best item that is left is 1, or it is explored (two items).
    assert probabilities(rw.policies.Lists(RANKED, epsilon=0.2), frame) == pytest.approx(
        [0.2 / 3, 0.8 + 0.2 / 2]
    )


def test_plackett_luce():
    frame = rows(request=[1, 1], user=["a", "a"], item=[2, 1], position=[1, 2])
    weights = np.exp([2.0, 1.0, 0.0])
    expected = [weights[1] / weights.sum(), weights[0] / (weights[0] + weights[2])]
    assert probabilities(rw.policies.Scores(SCORES, temperature=1.0), frame) == pytest.approx(
        expected
    )


def test_a_single_row_per_request_shows_the_item_of_its_position():
    frame = rows(user=["a", "a", "a"], item=[1, 2, 1], position=[1, 2, 2])
    assert sorted(probabilities(rw.policies.Lists(RANKED), frame)) == [0.0, 1.0, 1.0]


def test_tables_join_by_request_then_user_then_context():
    frame = rows(request=[1, 2], user=["a", "a"], item=[1, 1], device=["tv", "web"])
    by_request = pl.DataFrame(
        {"request": [1, 2], "user": ["a", "a"], "item": [1, 1], "probability": [0.1, 0.2]}
    )
    by_user = by_request.drop("request")[:1]
    by_context = pl.DataFrame({"device": ["tv", "web"], "item": [1, 1], "probability": [0.3, 0.4]})
    for table, expected in (
        (by_request, [0.1, 0.2]),
        (by_user, [0.1, 0.1]),
        (by_context, [0.3, 0.4]),
    ):
        assert probabilities(rw.policies.Probabilities(table), frame) == expected


def test_a_table_without_context_is_of_all_requests():
    table = pl.DataFrame({"item": [1, 2], "probability": [0.25, 0.75]})
    assert probabilities(rw.policies.Probabilities(table), rows(item=[1, 2, 3])) == [
        0.25,
        0.75,
        0.0,
    ]


def test_the_log_may_be_declared():
    frame = (
        rows(user=["a", "b"], item=[1, 2]).drop("propensity").with_columns(p=pl.Series([1.0, 0.0]))
    )
    uniform = rw.off_policy(frame, propensity="uniform", items=ITEMS, targets={"new": "p"})
    assert uniform.table["mean_weight"].to_list() == [1.0, 1.5]
    table = pl.DataFrame({"item": [1, 2], "probability": [0.8, 0.2]})
    declared = rw.off_policy(frame, propensity=table, targets={"new": "p"})
    assert declared.per_user["weight(new)"].to_list() == [1.25, 0.0]


def test_estimated_shares_are_weak_at_best():
    log = rw.datasets.logged(users=2000, requests=8, seed=4)
    known = rw.off_policy(log.exposures, targets={"new": "p_new"})
    frame = log.exposures.drop("propensity")
    shares = rw.off_policy(frame, propensity="shares", within=["segment"], targets={"new": "p_new"})
    assert shares["new"] == pytest.approx(known["new"], abs=0.02)
    assert (known.row("new")["support"], shares.row("new")["support"]) == ("sound", "weak")
    assert shares.row("new")["reasons"][0] == "propensities are estimated from the log"


def test_mass_that_the_log_cannot_show():
    frame = rows(user=[f"u{i}" for i in range(200)], item=[1, 2] * 100).drop("propensity")
    logging = pl.DataFrame({"item": [1, 2], "probability": [0.5, 0.5]})
    target = pl.DataFrame({"item": [1, 2, 3], "probability": [0.4, 0.4, 0.2]})
    row = rw.off_policy(frame, propensity=logging, targets={"new": target}).row("new")
    assert (row["mass_without_support"], row["support"]) == (pytest.approx(0.2), "none")
    assert "20 % of the target's probability is on items the log cannot show" in row["reasons"]


def test_files_are_read_like_tables(tmp_path):
    log = rw.datasets.logged(users=60, seed=2)
    expected = rw.off_policy(
        log.exposures,
        targets={"new": log.policies.drop("propensity")},
        columns={"probability": "p_new"},
    )
    log.exposures.write_csv(tmp_path / "exposures.csv")
    log.policies.drop("propensity").write_csv(tmp_path / "new.csv")
    found = rw.off_policy(
        tmp_path / "exposures.csv",
        targets={"new": str(tmp_path / "new.csv")},
        columns={"probability": "p_new"},
    )
    assert found.table.equals(expected.table)
    assert found.sources["exposures"]["sha256"]


def test_probabilities_of_other_policies_join_nothing():
    log = rw.datasets.logged(users=100, seed=3)
    exposures = log.exposures.with_columns(other=pl.col("p_new") / 2)
    table = log.policies.rename({"p_new": "probability", "propensity": "other"})
    plain = rw.off_policy(exposures, targets={"new": table.drop("other")})
    assert rw.off_policy(exposures, targets={"new": table}).table.equals(plain.table)


def test_requests_as_text_stay_text(tmp_path):
    (tmp_path / "log.csv").write_text(
        "request,item,propensity,click,p_new\nr1,1,0.5,1,0.5\nr2,2,0.5,0,0.25\n"
    )
    result = rw.off_policy(tmp_path / "log.csv", targets={"new": "p_new"})
    assert result.per_user.select("user", "weight(new)").rows() == [("r1", 1.0), ("r2", 0.5)]
