"""``rankwise compare`` as its users meet it."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise, rankwise_here

TRUTH = {user: {user % 7, 8} for user in range(120)}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(user, item, 5) for user, items in TRUTH.items() for item in sorted(items)]
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(
        tmp_path / "truth.csv"
    )
    for name, chance in (("weak", 0.2), ("strong", 0.7)):
        lists = [
            (user, item, rank)
            for user in TRUTH
            for rank, item in enumerate([user % 7 if rng.random() < chance else 20, 21], start=1)
        ]
        table = pl.DataFrame(lists, schema=["user", "item", "rank"], orient="row")
        table.write_csv(tmp_path / f"{name}.csv")
        for output in (["--save", name], ["--per-user", f"{name}.json"]):
            done = rankwise_here(
                tmp_path,
                "evaluate",
                f"{name}.csv",
                "truth.csv",
                "-m",
                "ndcg@2",
                "-m",
                "recall@2",
                *output,
            )
            assert done.returncode == 0, done.stderr
    return tmp_path


def test_groups_of_users(folder):
    lines = [f"{user},{'ab'[user % 2]}" for user in TRUTH]
    (folder / "users.csv").write_text("\n".join(["user,team", *lines]))
    runs = ["weak.csv", "strong.csv", "--truth", "truth.csv", "--users", "users.csv"]
    for name in ("weak", "strong"):
        rankwise_here(
            folder,
            "evaluate",
            f"{name}.csv",
            "truth.csv",
            "-m",
            "ndcg@2",
            "--users",
            "users.csv",
            "--by",
            "team",
            "--save",
            f"{name}-teams",
        )
    shown = []
    for source in (runs, ["weak=weak-teams", "strong=strong-teams"]):
        done = rankwise_here(
            folder, "compare", *source, "-m", "ndcg@2", "--by", "team", "--format", "json"
        )
        assert done.returncode == 0, done.stderr
        shown.append(json.loads(done.stdout)["pairs"])
    assert [row["group"] for row in shown[0]] == ["a", "b"]
    assert shown[0] == shown[1]
    done = rankwise_here(folder, "compare", "weak", "strong", "--by", "team")
    assert done.returncode == 2
    assert "no result has groups of users by 'team'" in done.stderr


def test_all_sources_give_the_same(folder):
    expected = rw.compare(
        {name: rw.load(folder / name) for name in ("weak", "strong")}, primary="ndcg@2"
    )
    sources = [
        ["weak", "strong"],
        ["weak=weak.json", "strong=strong.json"],
        ["weak.csv", "strong.csv", "--truth", "truth.csv"],
    ]
    for source in sources:
        done = rankwise_here(
            folder, "compare", *source, "-m", "ndcg@2", "-m", "recall@2", "--format", "json"
        )
        assert done.returncode == 0, done.stderr
        pairs = json.loads(done.stdout)["pairs"]
        assert [pair["p"] for pair in pairs] == expected.table["p"].to_list()
        assert pairs[0]["verdict"] == "better"
        assert pairs[0]["system"] == "strong"


@pytest.mark.slow
def test_formats(folder):
    done = rankwise(folder, "compare", "weak", "strong", "-m", "ndcg@2", "--baseline", "weak")
    assert done.stdout.startswith("strong beats weak on ndcg@2: ")
    quiet = rankwise_here(
        folder, "compare", "weak", "strong", "-m", "ndcg@2", "--baseline", "weak", "--quiet"
    )
    assert done.stdout.startswith(quiet.stdout.strip())
    full = rankwise_here(
        folder, "compare", "weak", "strong", "-m", "ndcg@2", "--baseline", "weak", "-v"
    )
    assert "strong − weak" in full.stdout
    assert all(name in full.stdout for name in ("d_z", "wins", "detectable", "p alone"))
    done = rankwise_here(folder, "compare", "weak", "strong", "-o", "table.tex")
    assert done.returncode == 0
    assert r"\toprule" in (folder / "table.tex").read_text()


@pytest.mark.slow
def test_the_gate(folder):
    good = rankwise_here(
        folder, "compare", "strong", "--no-regression", "weak.json", "-m", "ndcg@2"
    )
    assert good.returncode == 0, good.stderr
    assert "PASS  strong is better than baseline on ndcg@2." in good.stderr
    same = ["compare", "again=weak", "--no-regression", "weak.json", "-m", "ndcg@2"]
    for more, code, said in (
        ((), 5, "OPEN  again is not shown to be better than baseline on ndcg@2."),
        (("--not-shown", "pass"), 0, "pass --margin"),
        (("--margin", "0.001"), 5, "OPEN  again is not shown to lose less than the margin"),
        (
            ("--margin", "50%"),
            0,
            "PASS  again loses less than the margin against baseline on ndcg@2.",
        ),
        (("--margin", "much"), 2, "neither a number nor a share"),
    ):
        done = rankwise_here(folder, *same, *more)
        assert (done.returncode, said in done.stderr) == (code, True), (more, done.stderr)
    bad = rankwise(  # a process, whose exit code is the gate
        folder,
        "compare",
        "weak",
        "--no-regression",
        "strong/result.json",
        "-m",
        "ndcg@2",
        "--alpha",
        "0.01",
    )
    assert bad.returncode == 1
    assert "FAIL  weak is worse than baseline on ndcg@2." in bad.stderr


@pytest.mark.slow
def test_systems_saved_beside_those_of_a_gate_do_not_compete_with_them(folder):
    pl.read_csv(folder / "weak.csv").filter(pl.col("user") > 9).write_csv(folder / "third.csv")
    rankwise_here(folder, "evaluate", "third.csv", "truth.csv", "-m", "ndcg@2", "--save", "third")
    told = rankwise_here(folder, "compare", "strong", "weak", "-m", "ndcg@2")
    assert "3 systems are saved on this test set" in " ".join(told.stdout.split())
    gate = rankwise_here(
        folder, "compare", "strong", "--no-regression", "weak", "-m", "ndcg@2", "--save", "kept"
    )
    assert gate.returncode == 0, gate.stderr
    assert "saved on this test set" not in " ".join(gate.stdout.split())
    assert rw.load(folder / "kept").design.test_set["systems"] == 3


@pytest.mark.slow
def test_a_gate_says_its_verdict_once_and_what_is_allowed(folder):
    gate = ["compare", "strong", "--no-regression", "weak", "-m", "ndcg@2", "--margin", "4%"]
    told = rankwise_here(folder, *gate, "-q")
    assert told.stdout == ""
    assert told.stderr.count("strong is better than baseline") == 1
    mean = rw.load(folder / "weak")["ndcg@2"]
    assert f"allowed 4 % ({mean * 0.04:.3g})" in told.stderr
    assert rankwise_here(folder, *gate, "-q", "--format", "json").stdout.startswith("{")


def test_lists_without_their_truth_are_told_from_values_of_users(folder):
    lists = ["weak.csv", "strong.csv"]
    for command, hint in (
        (["compare", *lists], "pass their ground truth: --truth FILE"),
        (["report", *lists], "rankwise evaluate LISTS TRUTH --save DIR"),
        (["decide", *lists, "--success", "ndcg@2"], "rankwise evaluate LISTS TRUTH --save DIR"),
    ):
        done = rankwise_here(folder, *command)
        assert (done.returncode, "these are recommendation lists" in done.stderr) == (3, True), (
            done.stderr
        )
        assert hint in done.stderr
    with pytest.raises(rw.RankwiseError, match="one row per user and item"):
        rw.from_per_user(folder / "weak.csv")


def test_values_without_those_of_users_are_told_what_to_save(folder):
    rankwise_here(folder, "evaluate", "weak.csv", "truth.csv", "-m", "ndcg@2", "-o", "values.json")
    done = rankwise_here(folder, "compare", "values.json", "strong")
    assert (done.returncode, "evaluate … --save DIR" in done.stderr) == (3, True), done.stderr


def test_the_gate_passes_nothing_that_is_better_by_t_alone(tmp_path):
    """A gain of 0.001 for 400 of 1,000 users, which one loss of 1 would undo."""
    for name, gain in (("old", 0.0), ("new", 0.001)):
        values = [0.5 + (gain if user % 5 < 2 else 0) for user in range(1000)]
        rw.from_per_user(pl.DataFrame({"user": range(1000), "recall@2": values})).save(
            tmp_path / name
        )
    gate = ["compare", "new", "--no-regression", "old", "-m", "recall@2"]
    done = rankwise_here(tmp_path, *gate)
    assert done.returncode == 5
    by_t = rankwise_here(tmp_path, *gate, "--test", "t")
    assert by_t.returncode == 5
    assert "better by paired t alone: a rare large difference that was not drawn" in by_t.stderr
    assert rankwise_here(tmp_path, *gate, "--margin", "0.01").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["weak"], 2, "needs two results"),
        (["weak", "nowhere"], 3, "no such file"),
        (["weak", "weak"], 2, "two systems are called 'weak'"),
        (["weak", "strong", "--baseline", "x"], 2, "there is no result 'x'"),
        (["weak", "strong", "-m", "ndcg@9"], 2, "was not evaluated"),
        (["weak", "--no-regression", "strong", "--baseline", "weak"], 2, "is the baseline"),
        (["weak", "strong", "-o", "table.pdf"], 2, "-o writes"),
        (["a=truth.csv", "weak"], 3, "--truth FILE"),
    ],
)
def test_what_compare_refuses(folder, arguments, code, said):
    done = rankwise_here(folder, "compare", *arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_a_gate_evaluates_the_lists_of_its_baseline_too(folder):
    gate = [
        "strong.csv",
        "--truth",
        "truth.csv",
        "-m",
        "ndcg@2",
        "--margin",
        "4%",
        "--no-regression",
    ]
    lists, saved = (
        rankwise_here(folder, "compare", *gate, baseline) for baseline in ("weak.csv", "weak")
    )
    assert (lists.returncode, saved.returncode) == (0, 0), lists.stderr + saved.stderr
    assert lists.stderr.startswith("PASS")
    done = rankwise_here(folder, "compare", "strong", "--no-regression", "weak.csv")
    assert (done.returncode, "pass their ground truth: --truth FILE" in done.stderr) == (3, True)


def test_a_gate_that_cannot_test_has_not_passed(folder):
    pl.DataFrame({"user": [1], "ndcg@2": [0.9]}).write_csv(folder / "one.csv")
    pl.DataFrame({"user": range(60), "odd": [0.1, 0.2] * 30}).write_csv(folder / "odd.csv")
    pl.DataFrame({"user": range(60), "odd": [0.3, 0.5] * 30}).write_csv(folder / "odder.csv")
    done = rankwise_here(folder, "compare", "new=one.csv", "--no-regression", "one.csv")
    assert (done.returncode, "could not be tested" in done.stderr) == (5, True)
    done = rankwise_here(folder, "compare", "odder.csv", "--no-regression", "odd.csv")
    assert (done.returncode, "neither direction" in done.stderr) == (1, True)


def test_paths_with_an_equals_sign(folder):
    (folder / "lr=0.1").mkdir()
    (folder / "weak").rename(folder / "lr=0.1" / "weak")
    done = rankwise_here(folder, "compare", "lr=0.1/weak", "strong", "-m", "ndcg@2")
    assert done.returncode == 0, done.stderr


def test_seeds_and_data_sets(folder):
    rng = np.random.default_rng(1)
    for seed in (1, 2, 10):
        frame = pl.DataFrame({"user": range(120), "ndcg@2": rng.random(120)})
        rw.from_per_user(frame).save(folder / "seeds" / f"s{seed}")
    seeds = [rw.load(folder / "seeds" / f"s{number}") for number in (1, 2, 10)]
    expected = rw.compare({"weak": rw.load(folder / "weak"), "new": seeds}, primary="ndcg@2")
    sources = [["new=seeds"], ["new=seeds/s*"], ["new=seeds/s1", "new=seeds/s2", "new=seeds/s10"]]
    for source in sources:
        done = rankwise_here(folder, "compare", "weak", *source, "-m", "ndcg@2", "--format", "json")
        assert done.returncode == 0, done.stderr
        row = json.loads(done.stdout)["pairs"][0]
        assert row["p"] == expected["new"]["p"]
        assert (row["seeds_baseline"], row["seeds_system"]) == (1, 3)
    names = ["a@x=weak", "b@x=strong", "a@y=strong", "b@y=weak"]
    done = rankwise_here(folder, "compare", *names, "-m", "ndcg@2", "--format", "json")
    pairs = json.loads(done.stdout)["pairs"]
    assert [row["group"] for row in pairs] == [None, "x", "y"]
    assert pairs[0]["difference"] == 0
    for given, said in [
        (["weak", "new=nothing*"], "no file or folder matches 'nothing*'"),
        (["a@x=weak", "a=strong", "b=weak"], "name the data set of every result"),
        (["a@x=weak", "b=strong"], "same data sets"),
        (["weak", "./weak"], "two systems are called 'weak'"),
        (["a@=weak", "b=strong"], "is not [NAME=]PATH"),
        (["weak", "new=strong", "new=./strong"], "is given twice for 'new'"),
        (["a@x=weak.csv", "b@x=strong.csv", "--truth", "truth.csv"], "--truth is for one data set"),
    ]:
        done = rankwise_here(folder, "compare", *given)
        assert done.returncode == 2
        assert said in done.stderr.replace("\n", " ")
