"""Plans: written before the results, and what runs say of them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here

USERS = range(60)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(4)
    for name in ("old", "new"):
        items = np.array([rng.permutation(6)[:3] for _ in USERS])
        frame = pl.DataFrame(
            {"user": np.repeat(USERS, 3), "item": items.ravel(), "rank": np.tile([1, 2, 3], 60)}
        )
        frame.write_csv(tmp_path / f"{name}.csv")
    pl.DataFrame({"user": USERS, "item": [user % 6 for user in USERS]}).write_csv(
        tmp_path / "truth.csv"
    )
    configure(tmp_path)
    return tmp_path


def configure(folder, comparison="primary: mrr@3, margin: 0.05", more=""):
    (folder / "c.yaml").write_text(
        "data: {truth: truth.csv}\nsystems: [old.csv, new.csv]\nevaluation: {metrics: [mrr@3, recall@3]}\n"
        f"comparison: {{{comparison}}}\noutput: {{report: false, tables: [markdown, latex]}}\n{more}"
    )


def plan(folder):
    done = rankwise_here(folder, "plan", "c.yaml")
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "c.plan.json").read_text())


def run(folder, *options, code=0):
    done = rankwise_here(folder, "run", "c.yaml", *options)
    assert done.returncode == code, done.stderr
    return done


def test_a_run_that_is_not_as_planned_does_not_ship(folder):
    better = pl.read_csv(folder / "truth.csv").with_columns(rank=pl.lit(1))
    better.write_csv(folder / "new.csv")
    configure(folder, more="decision: {success: mrr@3, guardrails: {recall@3: 5%}}\n")
    plan(folder)
    assert "SHIP" in run(folder, "--plan").stdout
    configure(folder, more="decision: {success: mrr@3}\n")
    done = run(folder, "--plan", code=7)
    assert "HOLD" in done.stdout
    assert "the run was not as planned" in " ".join(done.stdout.split())
    decision = rw.Decision.load(folder / "rankwise-results" / "decision.json")
    assert (decision.outcome, decision.record["outcome"]) == ("hold", "hold")
    systems = {
        name: rw.load(folder / "rankwise-results" / "results" / name) for name in ("old", "new")
    }
    assert rw.decide(systems, success="mrr@3").outcome == "hold"  # the results remember it


def test_a_run_that_is_not_as_planned_and_worse_still_stops(folder):
    pl.read_csv(folder / "truth.csv").with_columns(rank=pl.lit(1)).write_csv(folder / "old.csv")
    plan(folder)
    configure(folder, more="decision: {success: mrr@3}\n")
    assert "STOP" in run(folder, "--plan", code=7).stdout


def test_a_plan_names_what_decides(folder):
    written = plan(folder)
    content = written["plan"]
    assert content["comparison"][0]["primary"] == "mrr@3"
    assert content["comparison"][0]["margin"] == 0.05
    assert content["comparison"][0]["test"] == "auto"
    assert content["evaluation"]["metrics"] == ["mrr@3", "recall@3"]
    assert {*content["systems"]} == {"old", "new"}
    assert all(len(system["sha256"]) == 64 for system in content["systems"].values())
    assert (written["earlier"], written["results_existed"]) == ([], False)


def test_every_output_says_as_planned(folder):
    configure(folder, more="decision: {success: mrr@3}\n")
    digest = plan(folder)["sha256"][:12]
    done = rankwise_here(folder, "run", "c.yaml", "--plan")
    assert done.stdout.count("as planned; plan of 20") == 2  # the comparison and the decision
    assert digest in done.stderr
    out = folder / "rankwise-results"
    for file in (
        "comparison.json",
        "decision.json",
        "table.md",
        "table.tex",
        "results/old/result.json",
    ):
        text = (out / file).read_text()
        assert "as planned" in text, file
        assert "not as planned" not in text, file
    result = rw.load(out / "results" / "old")
    assert "as planned" in repr(result)
    assert "as planned" in rw.report(rw.Comparison.load(out)).html


def test_other_wording_of_the_same_is_as_planned(folder):
    plan(folder)
    configure(
        folder,
        comparison="margin: 0.05, primary: MRR@3, test: auto",
        more="engine: local\nx-note: none\n",
    )
    (folder / "old.csv").rename(folder / "renamed.csv")
    text = (
        (folder / "c.yaml")
        .read_text()
        .replace("[old.csv, new.csv]", "{old: renamed.csv, new: new.csv}")
    )
    (folder / "c.yaml").write_text(text.replace("MRR@3", "mrr@3"))
    assert "not as planned" not in run(folder, "--plan").stderr


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"comparison": "primary: recall@3, margin: 0.05"},
            "comparison[0].primary is recall@3, planned mrr@3",
        ),
        (
            {"comparison": "primary: mrr@3, margin: 0.2"},
            "comparison[0].margin is 0.2, planned 0.05",
        ),
        (
            {"comparison": "primary: mrr@3, margin: 0.05, test: wilcoxon"},
            "comparison[0].test is wilcoxon, planned auto",
        ),
        ({"more": "decision: {success: mrr@3}\n"}, "decision is {"),
    ],
)
def test_what_differs_is_said(folder, change, text):
    plan(folder)
    configure(folder, **change)
    done = run(folder, "--plan", code=7)
    assert f"not as planned: {text}" in done.stderr
    assert text in (folder / "rankwise-results" / "comparison.json").read_text()


def test_another_file_of_a_system_is_said(folder):
    before = plan(folder)["plan"]["systems"]["new"]["sha256"][:12]
    (folder / "new.csv").write_text((folder / "old.csv").read_text())
    assert f"planned {before}" in run(folder, "--plan", code=7).stderr


def test_a_configuration_asks_for_its_plan(folder):
    configure(folder, more="plan: true\n")
    missing = rankwise_here(folder, "run", "c.yaml")
    assert (missing.returncode, "there is no plan of this configuration" in missing.stderr) == (
        3,
        True,
    )
    assert not (folder / "rankwise-results").exists()
    plan(folder)
    assert "as planned" in run(folder).stderr


def test_a_run_without_a_plan_says_nothing(folder):
    run(folder)
    assert "plan of" not in (folder / "rankwise-results" / "comparison.json").read_text()


def test_a_change_of_the_plan_is_visible(folder):
    first = plan(folder)
    assert "this is the plan already" in rankwise_here(folder, "plan", "c.yaml").stdout
    configure(folder, comparison="primary: recall@3, margin: 0.05")
    run(folder)
    second = plan(folder)
    assert second["earlier"] == [
        {
            "time": first["time"],
            "sha256": first["sha256"],
            "changes": ["comparison[0].primary is recall@3, planned mrr@3"],
        }
    ]
    statement = run(folder, "--plan").stderr
    assert "as planned; plan of" in statement
    assert "changed 1 time(s) since" in statement
    assert "comparison[0].primary is recall@3, planned mrr@3" in statement
    assert "written when there were results already" in statement


def test_an_edited_plan_is_refused(folder):
    plan(folder)
    file = folder / "c.plan.json"
    file.write_text(file.read_text().replace("0.05", "0.5", 1))
    done = rankwise_here(folder, "run", "c.yaml", "--plan")
    assert (done.returncode, "edited after it was written" in done.stderr) == (3, True)


def test_a_plan_without_a_primary_metric_is_refused(folder):
    configure(folder, comparison="alpha: 0.05")
    done = rankwise_here(folder, "plan", "c.yaml")
    assert (done.returncode, "which metric decides" in done.stderr) == (2, True)
    assert not (folder / "c.plan.json").exists()


def test_a_plan_has_the_card_of_a_split(folder):
    rows = pl.DataFrame(
        {"user": np.repeat(USERS, 4), "item": np.tile(range(4), 60), "timestamp": range(240)}
    )
    split = rw.splits.LeaveOut(n=1).split(rows)
    split.save(folder / "split")
    text = (folder / "c.yaml").read_text().replace("truth.csv", "split")
    (folder / "c.yaml").write_text(text)
    assert plan(folder)["plan"]["data"]["truth"]["split"]["id"] == split.card["id"]
