"""The command line as its users meet it: another process, its output and its exit code."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise, rankwise_here
from rankwise.messages import HIDDEN

RUN = "user,item,score\n1,5,0.9\n1,6,0.5\n2,5,0.4\n2,7,0.1\n"
TRUTH = "user,item,rating\n1,6,4\n2,5,5\n3,5,2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run.csv").write_text(RUN)
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "users.csv").write_text("user,group\n1,a\n2,b\n3,b\n")
    return tmp_path


def test_a_warning_names_options_as_the_command_does(folder):
    (folder / "train.csv").write_text("user,item\n1,5\n1,6\n2,7\n")
    (folder / "later.csv").write_text("user,item\n1,8\n2,5\n")
    (folder / "seen.csv").write_text("user,item,score\n1,5,0.9\n2,7,0.1\n")
    done = rankwise_here(
        folder, "evaluate", "seen.csv", "later.csv", "--train", "train.csv", "-m", "mrr"
    )
    assert "--exclude-seen takes them out" in " ".join(done.stdout.split()), done.stderr


@pytest.mark.slow
def test_evaluate_agrees_with_the_library(folder):
    done = rankwise(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "ndcg@1,2",
        "-m",
        "mrr",
        "--threshold",
        "3",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said = json.loads(done.stdout)
    ours = rw.evaluate(
        folder / "run.csv", folder / "truth.csv", ["ndcg@[1,2]", "mrr"], relevance_threshold=3
    )
    assert said["values"] == ours.values
    assert said["provenance"]["inputs"]["truth"]["sha256"]


def test_every_output(folder):
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "recall@2",
        "--users",
        "users.csv",
        "--by",
        "group",
        "-o",
        "out.md",
        "--per-user",
        "each.csv",
        "--save",
        "kept",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert (folder / "out.md").read_text().startswith("| metric |")
    assert pl.read_csv(folder / "each.csv")["recall@2"].to_list() == [1.0, 1.0, 0.0]
    assert rw.load(folder / "kept").slices["recall@2"].to_list() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("format_", "start"),
    [("table", "metric"), ("csv", "metric,k,cell,value"), ("latex", r"\begin{table}")],
)
def test_formats(folder, format_, start):
    done = rankwise_here(folder, "evaluate", "run.csv", "truth.csv", "--format", format_)
    assert done.stdout.startswith(start)


@pytest.mark.slow
def test_standard_input(folder):
    done = rankwise(
        folder, "evaluate", "-", "truth.csv", "-m", "recall@2", "--format", "csv", stdin=RUN
    )
    assert done.stdout.splitlines()[1].startswith("recall,2,,0.666")


def test_gates(folder):
    held = rankwise_here(folder, "evaluate", "run.csv", "truth.csv", "--require", "recall@2 >= 0.5")
    assert held.returncode == 0, held.stderr
    failed = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "mrr",
        "--require",
        "recall@2 >= 0.9",
        "--require",
        "mrr>0",
    )
    assert failed.returncode == 1
    assert "failed: recall@2 = 0.666667, required >= 0.9" in failed.stderr
    assert "mrr" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["evaluate", "run.csv"], 2, "needs a ground truth"),
        (["evaluate", "run.csv", "truth.csv", "-m", "ndgc@2"], 2, "did you mean 'ndcg'?"),
        (["evaluate", "run.csv", "truth.csv", "--require", "ndcg"], 2, "does not read as"),
        (["evaluate", "run.csv", "truth.csv", "-o", "no/such/out.csv"], 6, "no such folder"),
        (["evaluate", "-", "-"], 2, "only one of RUN and TRUTH"),
        (["evaluate", "run.csv", "truth.csv", "--column", "user"], 2, "is not ROLE=COLUMN"),
        (
            ["evaluate", "run.csv", "truth.csv", "--engine", "spark", "--chunk-rows", "9"],
            2,
            "Spark reads whole files",
        ),
        (["evaluate", "run.csv", "none.csv"], 3, "no such file"),
        (["evaluate", "run.csv", "./thruth.csv"], 3, "did you mean 'truth.csv'?"),
        (["run", "uzers.csv"], 3, "did you mean 'users.csv'?"),
        (["evalute", "run.csv", "truth.csv"], 2, "did you mean 'evaluate'?"),
        (["evaluate", "run.csv", "truth.csv", "--threshold", "9"], 3, "lower the relevance"),
        (["evaluate", "run.csv", "truth.csv", "--column", "user=uid"], 3, "no column 'uid'"),
        (["metrics", "ndgc"], 2, "did you mean"),
        (["inspect", "none.csv"], 3, "no such file"),
        (["nonsense"], 2, "there is no command"),
        (["compare", "a", "b", "--by", "x", "--by=y"], 2, "--by is given 2 times"),
        (["evaluate", "run.csv", "truth.csv", "--by", ""], 2, "--by is empty"),
        (["evaluate", "run.csv", "truth.csv", "--weights="], 2, "--weights is empty"),
        (["evaluate", "run.csv", "truth.csv", "-m", ""], 2, "-m is empty"),
        (["evaluate", "", "truth.csv"], 2, "an argument is empty"),
        (["evaluate", "run.csv", "truth.csv", "--column", "=x"], 2, "is not ROLE=COLUMN"),
        (
            ["evaluate", "run.csv", "truth.csv", "--column", "user=a", "--column", "user=b"],
            2,
            "'user' is given twice",
        ),
        (["inspect", "run.csv", "--column", "user"], 2, "is not ROLE=COLUMN"),
        (
            ["evaluate", "run.csv", "truth.csv", "--require", "ndcg@10 >= nan"],
            2,
            "does not read as",
        ),
        (
            ["evaluate", "run.csv", "truth.csv", "--require", "ndcg@10 >= 1e999"],
            2,
            "does not read as",
        ),
        (
            ["evaluate", "run.csv", "truth.csv", "--require", "ndcg@5,10 >= 0.1"],
            2,
            "has several cut-offs",
        ),
        (["compare", "=run.csv", "truth.csv"], 2, "is not [NAME=]PATH"),
        (["compare", "a=", "truth.csv"], 2, "is not [NAME=]PATH"),
        (["demo", "--seed", "-1"], 2, "Invalid value for '--seed'"),
        (["demo", "--save", "run.csv"], 6, "File exists"),
    ],
)
def test_errors(folder, arguments, code, said):
    before = sorted(path.name for path in folder.iterdir())
    done = rankwise_here(folder, *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in folder.iterdir()) == before


def test_metrics(folder):
    listing = rankwise_here(folder, "metrics").stdout
    assert "accuracy" in listing
    assert len(listing.splitlines()) < 60
    assert " ndcg " in listing
    assert max(map(len, listing.splitlines())) <= 80
    assert "ndcg[@k] " in rankwise_here(folder, "metrics", "accuracy").stdout
    assert "DCG@k / IDCG@k" in rankwise_here(folder, "metrics", "nDCG").stdout
    known = json.loads(rankwise_here(folder, "metrics", "--format", "json").stdout)
    assert {"name", "aliases", "family", "range", "needs"} <= set(known[0])


def test_inspect(folder):
    done = rankwise_here(folder, "inspect", "run.csv")
    assert done.returncode == 0, done.stderr
    for said in ("csv (comma)", "score: column 'score', Float64", "rows: 4", "users: 2"):
        assert said in done.stdout
    facts = json.loads(rankwise_here(folder, "inspect", "run.csv", "--format", "json").stdout)
    assert facts["as recommendations"]["repeated user-item pairs"] == 0
    (folder / "hostile.csv").write_text("user,item,\x1b[2J\u202e\nann\x1b[1m,5,6\n")
    for form in ("table", "json"):
        text = rankwise_here(folder, "inspect", "hostile.csv", "--format", form).stdout
        assert not re.search(HIDDEN, text.replace("\n", ""))
    (folder / "odd.csv").write_text("a,b\n1,2\n")
    assert "there is no column for the user" in rankwise_here(folder, "inspect", "odd.csv").stdout


def test_what_rankwise_saved_is_inspected(tmp_path):
    truth = {user: {user % 3, 5} for user in range(40)}
    old = rw.evaluate({user: [4, 5] for user in truth}, truth, "recall@2")
    new = rw.evaluate({user: [user % 3, 5] for user in truth}, truth, "recall@2")
    new.save(tmp_path / "new")
    rw.decide({"old": old, "new": new}, success="recall@2").save(tmp_path / "decision.json")
    rw.compare({"old": old, "new": new}).save(tmp_path / "compared")
    rw.leaderboard({"a": {"x": 1, "y": 3}, "b": {"x": 2, "y": 1}}).save(tmp_path / "board")
    rankwise_here(tmp_path, "ship", "new", "shipped.json")
    for path, said in (
        ("new", ("folder: new", "holds: a saved result", "recall@2: 1.0")),
        ("decision.json", ("file: decision.json", "holds: a saved decision", "says:\n  SHIP")),
        ("compared", ("holds: a saved comparison", "new beats old on recall@2")),
        ("board", ("holds: a saved leaderboard", "systems")),
        ("shipped.json", ("holds: a pointer to what shipped", "  folder: new", "recall@2: 1.0")),
    ):
        done = rankwise_here(tmp_path, "inspect", path)
        assert done.returncode == 0, done.stderr
        assert all(part in done.stdout for part in said), done.stdout
    facts = json.loads(rankwise_here(tmp_path, "inspect", "board", "--format", "json").stdout)
    assert facts["holds"] == "a saved leaderboard"


@pytest.mark.parametrize(
    ("path", "said"),
    [("decision.json", "a file of the form 'decision'"), ("board", "of the form 'leaderboard'")],
)
def test_other_saved_forms_are_no_results(tmp_path, path, said):
    truth = {user: {1} for user in range(40)}
    results = {name: rw.evaluate({u: [1] for u in truth}, truth, "mrr@1") for name in "ab"}
    rw.decide(results, success="mrr@1").save(tmp_path / "decision.json")
    rw.leaderboard({"a": {"x": 1, "y": 3}, "b": {"x": 2, "y": 1}}).save(tmp_path / "board")
    results["a"].save(tmp_path / "a")
    done = rankwise_here(tmp_path, "compare", "a", path)
    assert done.returncode in (2, 3)
    assert said in done.stderr


def test_what_was_seen(folder):
    (folder / "train.csv").write_text("user,item\n1,5\n3,6\n")
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "mrr",
        "--train",
        "train.csv",
        "--exclude-seen",
        "--by",
        "history",
        "--by",
        "item:cold",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    ours = rw.evaluate(
        folder / "run.csv",
        folder / "truth.csv",
        "mrr",
        train={1: [5], 3: [6]},
        exclude_seen=True,
        by=["history", "item:cold"],
    )
    assert said["values"] == ours.values == {"mrr": pytest.approx(2 / 3)}
    assert said["counts"]["seen_items_taken_out"] == 1
    assert {row["by"] for row in said["slices"]} == {"history", "item:cold"}
    refused = rankwise_here(
        folder, "evaluate", "run.csv", "truth.csv", "-m", "mrr", "--exclude-seen"
    )
    assert refused.returncode == 2
    assert "pass --train FILE" in refused.stderr


def test_inspecting_a_folder_whose_error_has_no_hint_names_a_file_alone(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "train.csv").write_text("user,item,timestamp\nann,heat,1\n")
    (tmp_path / "parts" / "test.csv").write_text("user,item\nann,jaws\n")
    done = rankwise_here(tmp_path, "inspect", "parts")
    hint = next(line for line in done.stderr.splitlines() if "hint:" in line)
    assert (
        hint.split("hint:")[1].strip() == "to inspect one table, pass its file, as parts/test.csv"
    )
