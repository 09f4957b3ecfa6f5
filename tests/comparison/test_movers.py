"""The users that moved most: golden cases, both lists, noise, every road, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from golden_cases import golden_cases
from rankwise.errors import ParameterError

TRUTH = {user: {1, 2} for user in range(40)}
OLD = {user: [1, 3, 2] for user in range(40)}
NEW = {user: [1, 2, 3] if user < 3 else [4, 3, 1] if user < 5 else [1, 3, 2] for user in range(40)}


def golden():
    return golden_cases("noise", lambda case: case["part"] == "E")


def result(values, metric="ndcg@10"):
    return rw.from_per_user(pl.DataFrame({"user": list(values), metric: list(values.values())}))


def compared(metrics="mrr@3"):
    pair = {"old": rw.evaluate(OLD, TRUTH, metrics), "new": rw.evaluate(NEW, TRUTH, metrics)}
    return rw.compare(pair)


@pytest.mark.parametrize("case", golden())
def test_golden_cases(case):
    given, expected = case["input"], case["expected"]
    pair = {name: result(given[name]) for name in "ab"}
    found = rw.compare(pair, missing="common").movers("b", n=given["n"])
    assert (found.losses, found.gains) == (expected["losses"], expected["gains"])
    assert found.counts["left_out"] == expected.get("left_out", 0)


def test_both_values_counts_and_shares():
    found = compared("recall@2").movers()
    assert (found.baseline, found.system, found.metric) == ("old", "new", "recall@2")
    assert found.counts == {"lose": 2, "gain": 3, "unchanged": 35, "left_out": 0}
    assert found.losses == [3, 4]
    assert found.gains == [0, 1, 2]
    row = found.table.row(0, named=True)
    assert (row["before"], row["after"], row["difference"], row["relevant"]) == (0.5, 0.0, -0.5, 2)
    assert found.shares == {"loss": 1.0, "gain": 1.0}
    text = " ".join(repr(found).split())
    assert "2 users lose, 3 gain, 35 see no difference in recall@2 between old and new." in text
    assert "The 2 largest losses are 100 % of all that is lost." in text
    assert compared("recall@2").movers(n=1).shares["gain"] == pytest.approx(1 / 3)


def test_the_ranks_of_relevant_items_before_and_after():
    lists = {"old": OLD, "new": NEW}
    found = compared().movers("new", lists=lists, truth=TRUTH)
    rows = {row["user"]: row for row in found.table.to_dicts()}
    assert (rows[3]["ranks_before"], rows[3]["ranks_after"]) == ([1, 3], [3])
    assert "1, 3 → 3 of 2" in repr(found)
    other = compared("recall@2").movers("new", lists=lists, truth=TRUTH)
    assert other.table.filter(pl.col("user") == 0)["ranks_after"].to_list() == [[1, 2]]


def test_lower_is_better_and_any_pair():
    values = {
        "a": {0: 1.0, 1: 2.0, 2: 3.0},
        "b": {0: 2.0, 1: 2.0, 2: 1.0},
        "c": {0: 1.0, 1: 1.0, 2: 1.0},
    }
    results = {name: result(own, "rmse") for name, own in values.items()}
    found = rw.compare(results).movers("b", baseline="a")
    assert (found.losses, found.gains) == ([0], [2])
    back = rw.compare(results).movers("a", baseline="b")
    assert (back.losses, back.gains) == ([2], [0])
    against = rw.compare(results, baseline="c").movers("a")
    assert against.baseline == "c"


def test_what_noise_alone_would_move():
    rng = np.random.default_rng(0)
    base = rng.random(300)
    runs = [
        result(dict(enumerate(np.clip(base + rng.normal(0, 0.1, 300), 0, 1)))) for _ in range(5)
    ]
    noise = rw.stability(runs[2:])
    found = rw.compare({"a": runs[0], "b": runs[1]}).movers(n=20, noise=noise)
    text = " ".join(repr(found).split())
    assert "users would lose" in text
    expected = int(found.notes[0].split()[0])
    assert 8 <= expected <= 40  # of twenty users who lose as much
    with pytest.raises(ParameterError, match="what stability returns"):
        rw.compare({"a": runs[0], "b": runs[1]}).movers(noise=3)


def test_movers_that_are_refused():
    three = {name: result({0: 0.1, 1: at / 9, 2: 0.5}) for at, name in enumerate("abc")}
    found = rw.compare(three)
    for arguments, options, said in (
        ((), {}, "which two systems"),
        (("a",), {}, "which two systems"),
        (("x",), {}, "no result 'x'"),
        (("a",), {"baseline": "a"}, "which two systems"),
        (("a",), {"baseline": "b", "n": 0}, "n"),
        (("a",), {"baseline": "b", "lists": {"a": {}}}, "lists of both systems"),
        (("a",), {"baseline": "b", "truth": {}}, "lists of both systems"),
    ):
        with pytest.raises(ParameterError, match=said):
            found.movers(*arguments, **options)
    sets = {name: {"x": three[name], "y": three[name]} for name in "ab"}
    with pytest.raises(ParameterError, match="one result per system"):
        rw.compare(sets).movers("b")


def test_the_command_line(tmp_path):
    for name, lists in (("old", OLD), ("new", NEW)):
        rows = [(u, i, r) for u, own in lists.items() for r, i in enumerate(own, 1)]
        pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv(
            tmp_path / f"{name}.csv"
        )
    pairs = [(u, i) for u, own in TRUTH.items() for i in own]
    pl.DataFrame(pairs, schema=["user", "item"], orient="row").write_csv(tmp_path / "truth.csv")
    options = ("compare", "old.csv", "new.csv", "--truth", "truth.csv", "-m", "recall@2")
    done = rankwise_here(tmp_path, *options, "--movers", "3")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert "2 users lose, 3 gain" in text
    assert "1, 3 → 3 of 2" in text
    assert "recall@2, 40 users" in text  # the comparison stands above
    rows = rankwise_here(tmp_path, *options, "--movers", "3", "--format", "csv").stdout
    assert rows.splitlines()[0].startswith("user,side,before,after,difference,relevant")
    exported = json.loads(
        rankwise_here(tmp_path, *options, "--movers", "3", "--format", "json").stdout
    )
    assert exported["counts"]["gain"] == 3
    refused = rankwise_here(tmp_path, *options, "--movers", "3", "--no-regression", "old.csv")
    assert refused.returncode == 2


def test_a_user_without_a_list_is_told_from_a_list_without_hits():
    truth = {user: {1} for user in "abc"}
    old = rw.evaluate({user: [1] for user in truth}, truth, "mrr")
    new = rw.evaluate({"a": [2], "c": [1]}, truth, "mrr")
    moved = rw.compare({"old": old, "new": new}, baseline="old").movers("new")
    lengths = {row["user"]: row["list_after"] for row in moved.table.to_dicts()}
    assert lengths == {"a": 1, "b": 0}
    values = {row[0]: row[2] for row in moved.views[-1].rows}
    assert values == {"a": "0", "b": "0 (no list)"}
