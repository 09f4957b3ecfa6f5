"""Evidence in groups: one of several items of the ground truth is enough."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import MetricError, ParameterError, ScoreError
from strategies import ids

TRUTH = pl.DataFrame(
    {
        "user": ["ann"] * 5 + ["bob"],
        "item": [1, 2, 3, 4, 5, 9],
        "fact": ["born", "born", "died", "died", None, "born"],
        "relevance": [1, 3, 1, 1, 2, 1],
    }
)
LISTS = {"ann": [2, 1, 7, 3, 5], "bob": [9]}
METRICS = ["recall@4", "complete@5", "precision@4", "mrr", "ndcg@4", "map@4", "hit_rate@1"]


def by_hand(lists, groups, relevance):
    """Return the list and the ground truth in which the first item of a group is the group."""
    seen, out = set(), []
    for place, item in enumerate(lists):
        group = groups.get(item, item)
        out.append(
            (group if group not in seen else ("again", place)) if group in relevance else item
        )
        seen.add(group)
    return out


def test_one_item_of_a_group_is_enough():
    result = rw.evaluate(LISTS, TRUTH, METRICS, alternatives="fact")
    # ann needs three pieces: born (3), died (1) and item 5 (2); 1 is born again, and counts nothing.
    ours = {row["user"]: row for row in result.per_user.to_dicts()}["ann"]
    assert ours["n_relevant"] == 3
    assert ours["recall@4"] == pytest.approx(2 / 3)
    assert ours["complete@5"] == 1.0
    assert ours["precision@4"] == 2 / 4
    assert ours["mrr"] == 1.0
    assert ours["map@4"] == pytest.approx((1 + 2 / 4) / 3)
    assert ours["ndcg@4"] == pytest.approx((3 + 1 / 2.32193) / (3 + 2 / 1.58496 + 1 / 2), abs=1e-5)
    assert result.counts["alternatives_merged"] == 2
    assert result.counts["alternatives_repeated"] == 1
    assert result.per_user["list_length"].to_list() == [5, 1]


def test_text_ids_and_graded_groups():
    truth = TRUTH.with_columns(pl.col("item").cast(pl.String))
    lists = {user: [str(item) for item in items] for user, items in LISTS.items()}
    text = rw.evaluate(lists, truth, METRICS, alternatives="fact")
    assert text.values == rw.evaluate(LISTS, TRUTH, METRICS, alternatives="fact").values


@given(
    st.permutations(range(8)),
    st.dictionaries(st.integers(0, 9), st.sampled_from("abc"), min_size=1, max_size=8),
    ids(10),
)
def test_groups_are_items_whose_repetitions_keep_their_places(items, facts, names):
    items = [names[item] for item in items]
    facts = {names[item]: fact for item, fact in facts.items()}
    truth = pl.DataFrame({"user": 0, "item": [*facts], "fact": [*facts.values()]})
    ours = rw.evaluate({0: items}, truth, METRICS, alternatives="fact")
    groups = {item: f"group {fact}" for item, fact in facts.items()}
    renamed = [groups.get(item, f"item {item}") for item in items]
    theirs = rw.evaluate({0: renamed}, {0: set(groups.values())}, METRICS, duplicates="keep")
    assert dict(ours.values) == pytest.approx(dict(theirs.values))


def test_a_threshold_in_single_precision_is_reached_by_members_of_a_group():
    truth = pl.DataFrame(
        {"user": "ann", "item": [1, 2], "fact": "born", "relevance": [0.7, 0.7]}
    ).cast({"relevance": pl.Float32})
    result = rw.evaluate(
        {"ann": [1, 2]}, truth, "recall@1", alternatives="fact", relevance_threshold=0.7
    )
    assert result["recall@1"] == 1.0


def test_ties_within_a_group_are_refused_unless_their_order_is_said():
    tied = pl.DataFrame({"user": "ann", "item": [7, 1, 2], "score": [0.9, 0.5, 0.5]})
    with pytest.raises(ScoreError, match="stand for one another have the same score"):
        rw.evaluate(tied, TRUTH, "recall@3", alternatives="fact")
    result = rw.evaluate(tied, TRUTH, "map@3", alternatives="fact", ties="input", population="both")
    assert result.per_user["map@3"].to_list() == [(1 / 2) / 3]
    apart = tied.with_columns(score=pl.Series([0.5, 0.5, 0.4]))  # with an item of no group
    assert rw.evaluate(apart, TRUTH, "recall@3", alternatives="fact").counts["tied_rows"] == 2


@pytest.mark.parametrize("metric", ["coverage@3", "bpref", "judged@3", "gauc"])
def test_metrics_of_items_are_refused(metric):
    with pytest.raises(MetricError, match="stand for one another"):
        rw.evaluate(LISTS, TRUTH, metric, alternatives="fact", items=range(10), train=TRUTH)


def test_options_that_remove_items_are_refused():
    with pytest.raises(ParameterError, match="judged_only"):
        rw.evaluate(LISTS, TRUTH, "recall@3", alternatives="fact", judged_only=True)


def test_requests_have_groups_of_their_own():
    truth = TRUTH.with_columns(request=pl.Series(["x"] * 3 + ["y"] * 3))
    lists = pl.DataFrame(
        {"user": ["ann"] * 3, "request": ["x", "x", "y"], "item": [1, 3, 4], "rank": [1, 2, 1]}
    )
    result = rw.evaluate(lists, truth, "complete", alternatives="fact", population="both")
    assert result.per_user.select("request", "complete").sort("request").rows() == [
        ("x", 1.0),
        ("y", 0.0),
    ]


def test_the_command_line_takes_a_column(tmp_path):
    TRUTH.write_csv(tmp_path / "truth.csv")
    rows = [(u, i, r) for u, own in LISTS.items() for r, i in enumerate(own, 1)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv(
        tmp_path / "run.csv"
    )
    done = rankwise_here(
        tmp_path,
        *("evaluate", "run.csv", "truth.csv", "-m", "recall@4", "--alternatives", "fact"),
    )
    assert done.returncode == 0, done.stderr
    assert "0.8333" in done.stdout


def test_each_request_of_a_user_finds_the_evidence():
    lists = pl.DataFrame(
        {
            "user": ["ann"] * 4,
            "request_id": [1, 1, 2, 2],
            "item": ["a", "x", "b", "x"],
            "rank": [1, 2, 1, 2],
        }
    )
    truth = pl.DataFrame({"user": ["ann", "ann"], "item": ["a", "b"], "evidence": ["e", "e"]})
    found = rw.evaluate(lists, truth, "recall@2", alternatives="evidence")
    assert found.per_user["recall@2"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_seen_items_are_taken_out_under_their_own_names(order):
    truth = pl.DataFrame({"user": ["u", "u", "v"], "item": [*order, "z"], "g": ["e", "e", None]})
    found = rw.evaluate(
        {"u": ["b", "c"], "v": ["z"]},
        truth,
        "hit_rate@2",
        alternatives="g",
        train={"u": ["a"], "v": ["y"]},
        exclude_seen=True,
    )
    assert found["hit_rate@2"] == 1.0
    assert "seen_items_taken_out" not in found.counts
