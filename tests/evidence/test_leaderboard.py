"""Ranks on boards: golden values, exactness, both samples, every input, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from golden_cases import golden_cases
from rankwise import stats
from rankwise.errors import ColumnError, FileError, InputError, MetricError, ParameterError
from tools import deep


def golden(test):
    return golden_cases("noise", lambda case: case["part"] == "B" and test(case["input"]))


def board_of(values, systems=None):
    """A mapping of systems to their values on tasks; None is left out."""
    names = systems or [f"s{at}" for at in range(len(values[0]))]
    return {
        name: {f"t{task}": row[at] for task, row in enumerate(values) if row[at] is not None}
        for at, name in enumerate(names)
    }


def plain(given):
    return "values" in given and "missing" not in given


@pytest.mark.parametrize("case", golden(plain))
def test_golden_boards(case):
    given, expected = case["input"], case["expected"]
    found = rw.leaderboard(board_of(given["values"], given["systems"]), by=given["by"])
    rows = {row["system"]: row for row in found.table.to_dicts()}
    own = [rows[name] for name in given["systems"]]
    assert [row["score"] for row in own] == pytest.approx(expected["score"])
    assert [row["rank"] for row in own] == expected["rank"]
    for name in ("rank_low", "rank_high", "group"):
        if name in expected:
            assert [row[name] for row in own] == expected[name]
    values = np.array(given["values"])
    points = stats.borda(values) if given["by"] == "borda" else values
    assert stats.rank_on_tasks(points).p_better == pytest.approx(np.array(expected["p_better"]))


@pytest.mark.parametrize("case", golden(lambda given: "missing" in given))
def test_golden_boards_with_missing_cells(case):
    given, expected = case["input"], case["expected"]
    board = board_of(given["values"], given["systems"])
    with pytest.raises(ParameterError, match="a system has no value on a task"):
        rw.leaderboard(board)
    found = rw.leaderboard(board, by=given["by"], missing=given["missing"])
    assert found.settings["tasks"] == expected["tasks"]
    assert found.table["score"].to_list() == pytest.approx(expected["score"])
    assert expected["left_out"][0] in " ".join(found.settings["notes"])


def of_users(tasks):
    """Results of two systems on several tasks."""
    return {
        name: {
            f"t{at}": rw.from_per_user(
                pl.DataFrame({"user": range(len(users)), "ndcg@10": [row[side] for row in users]})
            )
            for at, users in enumerate(tasks)
        }
        for side, name in enumerate("ab")
    }


@pytest.mark.parametrize("case", golden(lambda given: given.get("over") == "users"))
def test_golden_boards_over_users(case):
    expected = case["expected"]
    found = rw.leaderboard(of_users(case["input"]["tasks"]), over="users")
    assert found.table["score"].to_list() == pytest.approx(expected["score"])
    error = expected["error"][0][1]
    ranks = stats.rank_by_covariance(
        expected["score"], [[error**2 / 2, 0.0], [0.0, error**2 / 2]], n_resamples=2000
    )
    assert found.pairs["p_better"][0] == pytest.approx(ranks.p_better[0, 1], abs=0.04)


def test_three_systems_in_one_order_by_hand():
    """Of 2^6 signs only all alike reach the largest z: 2 of 64, as those of the reversed pair."""
    ranks = stats.rank_on_tasks(np.tile([1.0, 0.5, 0.0], (6, 1)))
    assert ranks.p_better[0, 1] == ranks.p_better[0, 2] == pytest.approx(2 / 64)
    assert ranks.p_better[1, 0] == 1.0
    assert ranks.low.tolist() == [1, 2, 3]
    few = stats.rank_on_tasks(np.tile([1.0, 0.5, 0.0], (5, 1)))
    assert few.low.tolist() == [1, 1, 1]  # six tasks are the least for anything


def test_random_signs_are_near_all_of_them():
    board = np.random.default_rng(0).normal(0, 0.1, (12, 4)) + np.array([0.1, 0.05, 0.0, 0.0])
    every = stats.rank_on_tasks(board)
    drawn = stats.rank_on_tasks(board, n_resamples=4000)
    assert np.abs(every.p_better - drawn.p_better).max() < 0.03
    again = stats.rank_on_tasks(board, n_resamples=4000)
    assert (again.p_better == drawn.p_better).all()


@given(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=2, max_size=9))
def test_ranks_are_consistent(rows):
    found = rw.leaderboard(board_of(rows), by="borda")
    table = found.table
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    assert table["score"].sum() == pytest.approx(2.0)  # of four systems half the points each
    assert table["group"].is_sorted()
    assert table.filter("may_be_best").height >= 1
    shuffled = {name: board_of(rows)[name] for name in ("s2", "s0", "s3", "s1")}
    other = rw.leaderboard(shuffled, by="borda").table
    assert {*table.select("system", "rank_low", "rank_high").iter_rows()} == {
        *other.select("system", "rank_low", "rank_high").iter_rows()
    }


@pytest.mark.slow
@pytest.mark.parametrize("by", ["mean", "borda"])
@pytest.mark.parametrize("boards", [200, *deep(1000)])
def test_equal_systems_are_rarely_separated(by, boards):
    """Nominal 0.05; of 200 boards the error is 0.015."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(boards):
        values = rng.normal(0, 0.1, (10, 6))
        points = stats.borda(values) if by == "borda" else values
        ranks = stats.rank_on_tasks(points, n_resamples=1000)
        wrong += bool((ranks.low > 1).any())
    assert wrong / boards <= 0.1


def test_directions_and_scales():
    rng = np.random.default_rng(0)
    board = {name: {f"t{at}": float(rng.random()) for at in range(8)} for name in "abc"}
    up = rw.leaderboard(board).table["system"].to_list()
    down = rw.leaderboard(board, higher_is_better=False).table["system"].to_list()
    assert up == down[::-1]
    one = rw.leaderboard(board, higher_is_better={"t0": False})
    assert one.values["a"][0] == -board["a"]["t0"]
    with pytest.raises(ParameterError, match="no task 'x'"):
        rw.leaderboard(board, higher_is_better={"x": False})
    large = {name: own | {"wiki": 100 * own["t0"]} for name, own in board.items()}
    assert "wiki decides this mean" in " ".join(repr(rw.leaderboard(large)).split())
    assert "decides this mean" not in repr(rw.leaderboard(large, by="borda"))


def test_what_is_printed():
    values = np.random.default_rng(1).normal(0, 0.02, (9, 15)) - np.arange(15) / 100
    found = rw.leaderboard(board_of(values.tolist()), by="borda")
    text = " ".join(repr(found).split())
    assert "15 systems may be the best" in text
    assert "3 more: the table has all." in text
    assert "A group begins at the first system shown to be worse" in text
    assert "without some of them the order of others may change" in text
    assert "9 tasks: a kind of task that was not drawn is not allowed for." in text
    assert found["s0"]["rank"] == 1
    with pytest.raises(ParameterError, match="no system 'x'"):
        found["x"]
    best = rw.leaderboard(board_of(np.tile([1.0, 0.5, 0.0], (7, 1)).tolist()))
    assert best.sentences[0].startswith("s0 is the best of 3 systems")
    assert "3 tasks show nothing" in repr(rw.leaderboard(board_of([[1.0, 0.5]] * 3)))


def test_tables_and_files(tmp_path):
    board = board_of(np.random.default_rng(0).random((7, 3)).tolist())
    expected = rw.leaderboard(board).table
    long = pl.DataFrame(
        [
            {"system": name, "task": task, "value": value}
            for name, own in board.items()
            for task, value in own.items()
        ]
    )
    wide = pl.DataFrame([{"system": name, **own} for name, own in board.items()])
    wide.write_csv(tmp_path / "board.csv")
    wide.write_parquet(tmp_path / "board.parquet")
    files = (tmp_path / "board.csv", tmp_path / "board.parquet")
    for source in (long, wide, *files, long.to_arrow()):
        assert rw.leaderboard(source).table.equals(expected)
    numbered = wide.with_columns(system=pl.Series(["01", "2", "3"]))
    numbered.write_csv(tmp_path / "numbered.csv")
    names = rw.leaderboard(tmp_path / "numbered.csv").table["system"]
    assert sorted(names) == ["01", "2", "3"]
    with pytest.raises(FileError, match="nowhere"):
        rw.leaderboard(tmp_path / "nowhere.csv")
    done = rankwise_here(tmp_path, "leaderboard", "board.csv", "--by", "borda", "--format", "json")
    assert (
        json.loads(done.stdout)["table"][0]["system"]
        == (rw.leaderboard(board, by="borda").table["system"][0])
    )
    for table, said in (
        (pl.concat([long, long.head(1)]), "two values on a task"),
        (pl.DataFrame({"a": [1]}), "a column system"),
        (pl.DataFrame({"system": ["a"], "task": ["t"], "value": ["x"]}), "values are numbers"),
    ):
        with pytest.raises(ColumnError, match=said):
            rw.leaderboard(table)


def results(n_tasks=8, seed=0, metric="ndcg@10"):
    rng = np.random.default_rng(seed)
    board = {}
    for at, name in enumerate("abc"):
        board[name] = {
            f"t{task}": rw.from_per_user(
                pl.DataFrame(
                    {"user": range(60), metric: np.clip(rng.normal(0.5 + 0.1 * at, 0.1, 60), 0, 1)}
                )
            )
            for task in range(n_tasks)
        }
    return board


def test_results_over_tasks_and_over_users(tmp_path):
    board = results()
    tasks, users = (rw.leaderboard(board, over=over) for over in ("tasks", "users"))
    assert tasks.table["system"].to_list() == users.table["system"].to_list() == ["c", "b", "a"]
    assert users.table["rank_low"].to_list() == [1, 2, 3]
    assert "users like these" in users.sentences[0]
    one = rw.leaderboard({name: {"t0": own["t0"]} for name, own in board.items()}, over="users")
    assert one.table["rank"].to_list() == [1, 2, 3]
    lower = rw.leaderboard(results(metric="rmse"))
    assert lower.table["system"].to_list() == ["a", "b", "c"]  # results know the direction
    seeds = {name: {t: [r, r] for t, r in own.items()} for name, own in board.items()}
    assert rw.leaderboard(seeds).table.equals(tasks.table)
    for name, own in board.items():
        for task in ("t0", "t1"):
            own[task].save(tmp_path / f"{name}-{task}")
    paths = [f"{name}@{task}={name}-{task}" for name in board for task in ("t0", "t1")]
    done = rankwise_here(tmp_path, "leaderboard", *paths, "--over", "users", "-m", "ndcg@10")
    assert (done.returncode, "c is the best of 3 systems" in done.stdout) == (0, True)


def test_boards_that_are_refused():
    board = board_of(np.random.default_rng(0).random((7, 3)).tolist())
    for source, options, said in (
        ({"a": board["s0"]}, {}, "two systems or more"),
        ({"a": 0.5, "b": 0.4}, {}, "its value on each task"),
        ({1: board["s0"], "1": board["s1"]}, {}, "two systems would have one name"),
        (3, {}, "a mapping of systems"),
        ({"a": {"t": 1.0}, "b": {"t": 2.0}}, {}, "several tasks"),
        ({"a": {"t": 1.0}, "b": {"u": 2.0}}, {"missing": "common"}, "no task has values"),
        (board, {"over": "users"}, "a result of each system"),
        (board, {"over": "users", "by": "borda"}, "not smooth at ties"),
        (board, {"by": "median"}, "by must be one of"),
        (board, {"confidence": 2}, "confidence"),
        (board, {"n_resamples": 0}, "n_resamples"),
        (board, {"top": 0}, "top"),
        ({"a": {"t": "x"}, "b": {"t": 1.0}}, {}, "a number or a result"),
        ({"a": {"t": math.inf}, "b": {"t": 1.0}}, {}, "finite"),
    ):
        with pytest.raises(ParameterError, match=said):
            rw.leaderboard(source, **options)
    with pytest.raises(MetricError, match="neither direction"):
        rw.leaderboard(results(metric="overlap@5"), metric="overlap@5")
    with pytest.raises(InputError, match="two tasks or more"):
        stats.rank_on_tasks([[1.0, 2.0]])


def test_a_configuration_with_a_board(tmp_path):
    board = board_of(np.random.default_rng(0).random((7, 3)).tolist())
    pl.DataFrame([{"system": name, **own} for name, own in board.items()]).write_csv(
        tmp_path / "board.csv"
    )
    pl.DataFrame({"user": [1, 2], "item": [1, 2]}).write_csv(tmp_path / "truth.csv")
    pl.DataFrame({"user": [1, 2], "item": [1, 1], "rank": [1, 1]}).write_csv(tmp_path / "run.csv")
    text = "data: {truth: truth.csv}\nsystems: {a: run.csv}\nevaluation: {metrics: recall@1}\n"
    text += "leaderboard: {table: board.csv, by: borda}\noutput: {report: false}\n"
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    done = rankwise_here(tmp_path, "run", "config.yaml")
    assert done.returncode == 0, done.stderr
    saved = json.loads((tmp_path / "rankwise-results" / "leaderboard.json").read_text())
    expected = rw.leaderboard(board, by="borda").table["system"].to_list()
    assert [row["system"] for row in saved["table"]] == expected
    again = rankwise_here(tmp_path, "run", "rankwise-results/config.yaml", "-o", "again")
    assert again.returncode == 0, again.stderr


def test_saved_and_exported(tmp_path):
    found = rw.leaderboard(board_of(np.random.default_rng(0).random((7, 3)).tolist()))
    back = rw.load(found.save(tmp_path / "board"))
    assert back.to_dict() == found.to_dict()
    for form in ("json", "csv", "markdown", "latex"):
        assert "s0" in found.export(form)


ERRORS = {
    "a": {"x": 0.3, "y": 0.5, "z": 0.4, "w": 0.3},
    "b": {"x": 0.6, "y": 0.9, "z": 0.8, "w": 0.7},
}


def test_a_mean_of_errors_has_their_sign():
    board = rw.leaderboard(ERRORS, higher_is_better=False)
    assert board.table["system"].to_list() == ["a", "b"]
    assert board.table["score"].to_list() == pytest.approx([0.375, 0.75])
    assert board.pairs["difference"].to_list() == pytest.approx([-0.375, 0.375])
    assert "Lower values are better." in board.settings["notes"]


def test_a_mean_over_tasks_of_both_directions_says_which_are_negative():
    board = rw.leaderboard(ERRORS, higher_is_better={"x": False})
    assert board.table["score"].to_list() == pytest.approx([0.45, 0.225])
    note = "Lower is better on x: in the mean, values there are negative."
    assert note in board.settings["notes"]


def test_systems_that_may_be_the_best_are_named():
    values = {name: dict.fromkeys("wxyz", at / 1000) for at, name in enumerate("abcd")}
    assert "4 of 4 systems may be the best (d, c, b and a)" in rw.leaderboard(values).sentences[0]


def test_tasks_are_counted_as_tasks():
    values = {name: dict.fromkeys("uvwxyz", at) for at, name in enumerate("ab")}
    with pytest.raises(ParameterError, match="there is no task 'q'") as caught:
        rw.leaderboard(values, higher_is_better={"q": False})
    assert caught.value.found == "6 tasks"
