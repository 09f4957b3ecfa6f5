"""The commands off-policy and interleaving: the same results as the functions, and exit codes."""

from __future__ import annotations

import json

import pytest

import rankwise as rw
from command_line import rankwise_here


@pytest.fixture
def folder(tmp_path):
    log = rw.datasets.logged(users=400, seed=1)
    log.exposures.drop("click").write_parquet(tmp_path / "exposures.parquet")
    log.exposures.filter(click=1).select("request", "item").write_csv(tmp_path / "clicks.csv")
    log.policies.select("segment", "item", probability="p_new").write_csv(tmp_path / "new.csv")
    log.policies.select("segment", "item", score="p_new").write_csv(tmp_path / "scores.csv")
    return tmp_path


def run(folder, *arguments, command="off-policy"):
    done = rankwise_here(folder, command, *arguments)
    return done.returncode or 0, done.stdout, done.stderr


LOG = ("exposures.parquet", "clicks.csv")


def test_the_command_prints_the_result_of_the_function(folder):
    code, out, err = run(folder, *LOG, "--target", "new=new.csv", "--target", "column=column:p_new")
    expected = rw.off_policy(
        folder / LOG[0],
        folder / LOG[1],
        targets={"new": folder / "new.csv", "column": rw.policies.Column("p_new")},
    )
    assert (code, err) == (0, "")
    assert out == f"{expected!r}\n"


def test_options_reach_the_function(folder):
    code, out, _ = run(
        folder,
        *LOG,
        *(
            "--target",
            "soft=scores.csv",
            "--temperature",
            "soft=0.5",
            "--target",
            "best=scores.csv",
        ),
        *("--epsilon", "best=0.3", "--by", "segment", "--save", "out", "--format", "json"),
    )
    scores = folder / "scores.csv"
    targets = {
        "soft": rw.policies.Scores(scores, temperature=0.5),
        "best": rw.policies.Lists(scores, epsilon=0.3),
    }
    expected = rw.off_policy(folder / LOG[0], folder / LOG[1], targets=targets, by="segment")
    assert (code, json.loads(out)["table"]) == (0, expected.to_dict()["table"])
    assert repr(rw.OffPolicy.load(folder / "out")) == repr(expected)


@pytest.mark.parametrize(("verdict", "code"), [("better", 0), ("equivalent", 1)])
def test_a_requirement_decides_the_exit_code(folder, verdict, code):
    assert run(folder, *LOG, "--target", "new=new.csv", "--require", f"new: {verdict}")[0] == code


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--target", "new"), 2, "'new' is not NAME=VALUE"),
        (("--target", "new=new.csv", "--require", "old: better"), 2, "with the name of a target"),
        (("--target", "new=new.csv", "--epsilon", "old=0.1"), 2, "there is no target 'old'"),
        (("--target", "new=column:p_new", "--epsilon", "new=0.1"), 2, "are for lists and scores"),
        (("--target", "new=scores.csv"), 2, "three policies"),
        (("--target", "new=column:p_old"), 3, "no column 'p_old'"),
        (("--target", "new=new.csv", "--reward", "click=one"), 2, "'click=one' is not NAME=NUMBER"),
    ],
)
def test_mistakes_have_their_codes(folder, arguments, code, message):
    found, _, err = run(folder, *LOG, *arguments)
    assert found == code
    assert message in " ".join(err.split())


def test_a_target_is_a_file_or_else_a_column(folder):
    (folder / "p").write_text((folder / "new.csv").read_text())  # a file of the name of a column
    results = [
        run(folder, *LOG, "--target", f"new={text}")[1]
        for text in ("new.csv", "p", "column:propensity")
    ]
    assert results[0] == results[1] != results[2]
    assert run(folder, *LOG, "--target", "new=propensity")[1] == results[2]
    code, _, err = run(folder, *LOG, "--target", "new=nothing")
    assert (code, "have no column 'nothing'" in err) == (3, True)


def test_a_verdict_on_the_baseline_is_refused(folder):
    required = ("--baseline", "new", "--require", "new: better")
    code, _, err = run(folder, *LOG, "--target", "new=new.csv", *required)
    assert (code, "no verdict against itself" in " ".join(err.split())) == (2, True)


def test_interleaving(folder):
    (folder / "credits.csv").write_text(
        "user,credit_a,credit_b\n" + "".join(f"{u},1,0\n" for u in range(20))
    )
    code, out, _ = run(folder, "credits.csv", "--save", "out", command="interleaving")
    assert code == 0
    assert "A beats B on credit" in out
    assert rw.Interleaving.load(folder / "out").table["wins"][0] == 20


@pytest.mark.slow
def test_chunks_threads_and_a_report(folder):
    plain = run(folder, *LOG, "--target", "new=new.csv", "--format", "json")
    options = ("--target", "new=new.csv", "--format", "json", "--report", "page.html")
    (folder / "by_user.parquet").write_bytes((folder / "exposures.parquet").read_bytes())
    chunks = run(
        folder, "by_user.parquet", "clicks.csv", *options, "--chunk-rows", "100", "--threads", "1"
    )
    one, other = (json.loads(done[1]) for done in (plain, chunks))
    assert one["table"] == other["table"]
    assert "new beats logged" in (folder / "page.html").read_text("utf-8")


@pytest.mark.slow
def test_a_saved_log_is_reported(folder):
    assert run(folder, *LOG, "--target", "new=new.csv", "--save", "ope")[0] == 0
    code, out, _ = run(folder, "ope", "-o", "page.html", command="report")
    assert (code, out.strip()) == (0, "page.html")
    assert "new beats logged" in (folder / "page.html").read_text("utf-8")
