"""Assertions for test suites pass and fail as the gate and the decision do, and say the same."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import FileError, ParameterError, RankwiseError
from rankwise.results.shipped import write_shipped
from rankwise.testing import assert_better, assert_not_worse, assert_ships

TRUTH = {user: {1, 2} for user in range(300)}
USERS = pl.DataFrame({"user": list(TRUTH), "half": ["a", "b"] * 150})


def evaluated(hits):
    """Return a result in which the first users have both items, or none if the number is negative."""
    moved = [1, 2] if hits > 0 else [3, 4]
    lists = {user: moved if user < abs(hits) else [1, 3] for user in TRUTH}
    return rw.evaluate(lists, TRUTH, ["recall@2", "mrr@2"], users=USERS, by="half")


@pytest.fixture(scope="module")
def results():
    return {name: evaluated(hits) for name, hits in SHARES.items()}


SHARES = {"old": 0, "better": 200, "worse": -200, "open": -3}


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, result in results.items():
        result.save(folder / name)
    results["old"].per_user.write_csv(folder / "old.csv")
    write_shipped(folder / "shipped.json", folder / "old")
    return folder


def test_a_system_that_is_better_passes(results):
    assert_not_worse(results["better"], results["old"], "recall@2", margin="1%")
    assert_better(results["better"], results["old"], "recall@2")
    assert_ships(results["better"], results["old"], success="recall@2", guardrails={"mrr@2": 0.05})


@pytest.mark.parametrize(("system", "word"), [("worse", "FAIL"), ("open", "OPEN")])
def test_a_failure_says_what_the_gate_prints(results, folder, system, word):
    with pytest.raises(AssertionError) as caught:
        assert_not_worse(results[system], results["old"], "recall@2", margin="1%")
    gate = ["compare", f"new={system}", "--no-regression", "old", "-m", "recall@2"]
    done = rankwise_here(folder, *gate, "--margin", "1%", "-q")
    assert str(caught.value) == done.stderr.rstrip("\n").replace("baseline", "old")
    assert str(caught.value).startswith(f"{word}  new is ")


@pytest.mark.parametrize(("system", "word"), [("worse", "STOP"), ("open", "HOLD")])
def test_a_failure_says_what_the_decision_prints(results, folder, system, word):
    with pytest.raises(AssertionError) as caught:
        assert_ships(results[system], results["old"], success="recall@2")
    done = rankwise_here(folder, "decide", "old=old", f"new={system}", "--success", "recall@2")
    assert str(caught.value) == done.stdout.rstrip("\n")
    assert str(caught.value).startswith(word)


def test_what_is_not_shown_fails_unless_it_may_pass(results):
    pair = (results["open"], results["old"])
    assert_not_worse(*pair, "recall@2", margin="1%", not_shown="pass")
    assert_ships(*pair, success="recall@2", not_shown="pass")
    worse = (results["worse"], results["old"])
    with pytest.raises(AssertionError, match="FAIL"):
        assert_not_worse(*worse, "recall@2", margin="1%", not_shown="pass")
    with pytest.raises(AssertionError, match="STOP"):
        assert_ships(*worse, success="recall@2", not_shown="pass")
    for refused in (
        lambda: assert_not_worse(*pair, "recall@2", margin="1%", not_shown="maybe"),
        lambda: assert_ships(*pair, success="recall@2", not_shown="maybe"),
    ):
        with pytest.raises(ParameterError, match="not_shown"):
            refused()


def test_no_system_is_better_than_itself_and_no_margin_is_asked_for(results):
    with pytest.raises(AssertionError, match="new is not shown to be better than old") as caught:
        assert_better(results["old"], results["old"], "recall@2")
    assert "margin" not in str(caught.value)


def test_paths_tables_and_pointers_are_opened(folder):
    for old in (folder / "old", str(folder / "old"), folder / "old.csv", folder / "shipped.json"):
        assert_not_worse(folder / "better", old, "recall@2", margin=0.01)
        assert_ships(str(folder / "better"), old, success="recall@2")
        with pytest.raises(AssertionError):
            assert_better(folder / "worse", old, "recall@2")
    with pytest.raises(FileError):
        assert_better(folder / "nothing", folder / "old", "recall@2")


def test_seeds_and_data_sets_are_opened_as_well(folder, results):
    new, old = [folder / "better", evaluated(190)], [folder / "old", evaluated(2)]
    assert_not_worse(new, old, "recall@2", margin=0.3)
    with pytest.raises(ParameterError, match="one result is given for two seeds"):
        assert_better([results["old"]] * 2, results["better"], "recall@2")
    with pytest.raises(RankwiseError, match="data set"):
        assert_better({"x": folder / "worse"}, {"y": results["old"]}, "recall@2")


def test_options_are_those_of_compare_and_decide(results):
    pair = (results["better"], results["old"])
    with pytest.raises(AssertionError) as caught:
        assert_not_worse(*reversed(pair), "recall@2", margin=0.01, by="half")
    text = str(caught.value)
    assert text.count("FAIL") == 2
    assert "for half a" in text
    with pytest.raises(AssertionError, match="90 % interval"):
        assert_better(*reversed(pair), "recall@2", alpha=0.1)
    assert_ships(*pair, success="recall@2", slices="half", min_slice_size=20)


def test_the_gravest_group_comes_first():
    values = {"a": [0.5] * 150, "b": [0.2] * 150}
    users = [*range(300)]
    tables = {
        "old": {"user": users, "group(half)": ["a"] * 150 + ["b"] * 150, "recall@2": [0.5] * 300},
        "new": {
            "user": users,
            "group(half)": ["a"] * 150 + ["b"] * 150,
            "recall@2": values["a"] + values["b"],
        },
    }
    old, new = (rw.from_per_user(pl.DataFrame(tables[name])) for name in ("old", "new"))
    with pytest.raises(AssertionError) as caught:
        assert_not_worse(new, old, "recall@2", margin=0.1, by="half")
    first = str(caught.value).splitlines()[0]
    assert first == "FAIL  new is worse than old on recall@2 for half b."


def test_no_test_framework_is_imported():
    code = "import sys, rankwise.testing; print(*sorted({'pytest', 'unittest'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pytest" not in done.stdout


def test_a_failing_test_shows_the_lines_of_the_gate(folder, tmp_path):
    """The traceback ends in the test, not inside rankwise."""
    (tmp_path / "test_it.py").write_text(
        "from rankwise.testing import assert_not_worse\n\n\n"
        "def test_it():\n"
        f"    assert_not_worse({str(folder / 'worse')!r}, {str(folder / 'old')!r}, 'recall@2', margin='1%')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError: FAIL  new is worse than old on recall@2." in done.stdout
    assert "testing.py" not in done.stdout.replace("test_it.py", "")
