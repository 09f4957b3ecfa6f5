"""The pointer to the result that shipped last: it begins, moves on ship alone, and refuses changes."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import FileError, OutputError
from rankwise.results.shipped import is_shipped, read_shipped, write_shipped
from rankwise.results.storage import open_result

TRUTH = {user: {1, 2} for user in range(120)}
SHARES = {"old": 0, "better": 80, "worse": -80, "same": 1}


def lists_of(share):
    moved = [1, 2] if share > 0 else [3, 4]
    return {user: moved if user < abs(share) else [1, 3] for user in TRUTH}


@pytest.fixture
def folder(tmp_path):
    for name, share in SHARES.items():
        rw.evaluate(lists_of(share), TRUTH, "recall@2").save(tmp_path / "results" / name)
    write_shipped(tmp_path / "shipped.json", tmp_path / "results" / "old")
    return tmp_path


def decide(folder, system, *more, baseline="shipped.json"):
    command = ["decide", baseline, f"results/{system}", "--success", "recall@2", *more]
    return rankwise_here(folder, *command)


def named(folder, pointer="shipped.json"):
    return read_shipped(folder / pointer).result.resolve().name


def test_a_pointer_stands_for_the_result_that_it_names(folder):
    direct = decide(folder, "better", baseline="shipped=results/old")
    done = decide(folder, "better")
    assert (done.returncode, done.stdout) == (0, direct.stdout)
    assert "Replace shipped with better" in " ".join(done.stdout.split())
    assert rw.load(folder / "shipped.json")["recall@2"] == 0.5
    assert open_result(folder / "shipped.json")["recall@2"] == 0.5


@pytest.mark.parametrize("name", ["users.csv", "results/old/result.json", "decision.json"])
def test_a_pointer_replaces_pointers_alone(folder, name):
    (folder / "users.csv").write_text("user,town\n1,Graz\n")
    decide(folder, "worse", "--record", "decision.json")
    before = (folder / name).read_bytes()
    done = rankwise_here(folder, "ship", "results/better", name)
    assert done.returncode == 6
    assert "is not a pointer to what shipped, and would be replaced" in done.stderr
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize("name", ["results/better/result.json", "shipped.json", "users.csv"])
def test_a_recorded_decision_replaces_decisions_alone(folder, name):
    (folder / "users.csv").write_text("user,town\n1,Graz\n")
    before = (folder / name).read_bytes()
    done = decide(folder, "better", "--record", name)
    assert done.returncode == 6
    assert "is not a decision, and would be replaced" in done.stderr
    assert (folder / name).read_bytes() == before
    (folder / "empty.json").touch()
    for _ in range(2):
        assert decide(folder, "better", "--record", "empty.json").returncode in {0, 5}
    assert rw.Decision.load(folder / "empty.json").outcome in {"ship", "hold"}


def test_a_recorded_ship_moves_the_pointer_and_names_its_decision(folder):
    done = decide(folder, "better", "--record", "decision.json")
    assert done.returncode == 0
    assert "shipped.json now names" in done.stderr
    assert named(folder) == "better"
    decision = rw.Decision.load(folder / "decision.json")
    assert read_shipped(folder / "shipped.json").decision_sha256 == decision.sha256
    content = json.loads((folder / "shipped.json").read_text())
    assert content["result"] == "results/better"


@pytest.mark.parametrize(("system", "code"), [("worse", 1), ("same", 5)])
def test_stop_and_hold_leave_the_pointer(folder, system, code):
    before = (folder / "shipped.json").read_bytes()
    assert decide(folder, system, "--record", "decision.json").returncode == code
    assert (folder / "shipped.json").read_bytes() == before


def test_a_ship_that_is_not_recorded_leaves_the_pointer(folder):
    assert decide(folder, "better").returncode == 0
    assert named(folder) == "old"


def test_a_ship_against_a_result_writes_no_pointer(folder):
    before = sorted(folder.rglob("*"))
    done = decide(folder, "better", "--record", "d.json", baseline="results/old")
    assert done.returncode == 0
    assert sorted(folder.rglob("*")) == sorted([*before, folder / "d.json"])


def test_nothing_ships_where_the_summary_cannot_be_written(folder):
    more = ["--record", "decision.json", "--summary", "nowhere/summary.md"]
    assert decide(folder, "better", *more).returncode == 6
    assert named(folder) == "old"


def test_the_pointer_may_have_a_name_of_its_own(folder):
    more = ["--record", "decision.json"]
    done = decide(folder, "better", *more, baseline="production=shipped.json")
    assert done.returncode == 0
    assert "Replace production with better" in " ".join(done.stdout.split())
    assert named(folder) == "better"


def test_a_missing_pointer_says_how_to_begin(folder):
    done = decide(folder, "better", baseline="never.json")
    assert done.returncode == 3
    assert "rankwise ship RESULT never.json" in done.stderr


def test_the_command_begins_a_pointer_and_moves_it_back(folder):
    done = rankwise_here(folder, "ship", "results/worse", "begun.json")
    assert (done.returncode, named(folder, "begun.json")) == (0, "worse")
    assert "begun.json names" in done.stdout
    assert rankwise_here(folder, "ship", "results/old", "begun.json").returncode == 0
    assert named(folder, "begun.json") == "old"
    assert read_shipped(folder / "begun.json").decision_sha256 is None


def test_only_a_result_can_ship(folder):
    pl.DataFrame({"user": [1, 1], "item": [2, 3]}).write_csv(folder / "lists.csv")
    before = (folder / "shipped.json").read_bytes()
    for wrong in ("lists.csv", "nothing", "results"):
        assert rankwise_here(folder, "ship", wrong, "shipped.json").returncode == 3, wrong
    assert (folder / "shipped.json").read_bytes() == before
    assert rankwise_here(folder, "ship", "results/old", "nowhere/shipped.json").returncode == 6


def test_a_result_that_was_changed_after_it_shipped_is_refused(folder):
    rw.evaluate(lists_of(5), TRUTH, "recall@2").save(folder / "results" / "old")
    done = decide(folder, "better")
    assert done.returncode == 3
    assert "this result was changed after it had shipped" in done.stderr
    assert "rankwise ship RESULT FILE" in done.stderr
    assert rankwise_here(folder, "ship", "results/old", "shipped.json").returncode == 0
    assert decide(folder, "better").returncode == 0


def test_a_result_that_is_gone_is_refused(folder):
    shutil.rmtree(folder / "results" / "old")
    with pytest.raises(FileError, match="the result that shipped last is gone"):
        open_result(folder / "shipped.json")


def test_a_pointer_moves_with_its_results(folder):
    moved = shutil.move(folder, folder.with_name("moved"))
    assert open_result(f"{moved}/shipped.json")["recall@2"] == 0.5


def test_a_pointer_names_results_of_other_folders(folder):
    (folder / "ci").mkdir()
    write_shipped(folder / "ci" / "shipped.json", folder / "results" / "old" / "result.json")
    assert json.loads((folder / "ci" / "shipped.json").read_text())["result"] == "../results/old"
    assert decide(folder, "better", baseline="ci/shipped.json").returncode == 0


def test_a_pointer_to_a_pointer_names_its_result(folder):
    write_shipped(folder / "second.json", folder / "shipped.json")
    assert named(folder, "second.json") == "old"


def test_tables_of_per_user_values_ship_as_well(folder):
    for name in ("old", "better"):
        table = rw.load(folder / "results" / name).per_user.select("user", "recall@2")
        table.write_json(folder / f"{name}.json")
    assert not is_shipped(folder / "old.json")
    assert rankwise_here(folder, "ship", "old.json", "tables.json").returncode == 0
    more = ["--success", "recall@2", "--record", "d.json"]
    done = rankwise_here(folder, "decide", "tables.json", "better.json", *more)
    assert (done.returncode, named(folder, "tables.json")) == (0, "better.json"), done.stderr


def test_a_gate_takes_a_pointer(folder):
    gate = ["compare", "results/worse", "--no-regression", "shipped.json", "-m", "recall@2"]
    done = rankwise_here(folder, *gate)
    assert done.returncode == 1
    assert "worse is worse than baseline on recall@2." in done.stderr


@pytest.mark.parametrize("name", ["result", "result_sha256", "decision_sha256"])
def test_a_pointer_without_a_part_is_refused(folder, name):
    content = json.loads((folder / "shipped.json").read_text())
    del content[name]
    (folder / "shipped.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match="lacks a part"):
        open_result(folder / "shipped.json")


@pytest.mark.parametrize("content", [3, None, ["a"]])
def test_a_pointer_to_nothing_that_is_a_path_is_refused(folder, content):
    changed = json.loads((folder / "shipped.json").read_text()) | {"result": content}
    (folder / "shipped.json").write_text(json.dumps(changed))
    with pytest.raises(FileError, match="lacks a part"):
        open_result(folder / "shipped.json")


def test_a_pointer_that_cannot_be_written_is_an_error_of_output(folder):
    with pytest.raises(OutputError):
        write_shipped(folder / "nowhere" / "shipped.json", folder / "results" / "old")
