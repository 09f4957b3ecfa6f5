"""Conventions on the command line and in configuration files."""

from __future__ import annotations

import json
import re

import pytest
import yaml

import rankwise as rw
from command_line import rankwise_here
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute

RUN = "user,item,rank,score\n1,5,1,0.9\n1,6,2,0.5\n2,5,1,0.4\n2,7,2,0.4\n3,10,1,0.3\n3,9,2,0.3\n"
TRUTH = "user,item,rating\n1,6,4\n2,5,5\n3,9,2\n3,10,0\n4,5,2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run.csv").write_text(RUN)
    (tmp_path / "truth.csv").write_text(TRUTH)
    return tmp_path


def test_evaluate_under_a_convention(folder):
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "P_1,ndcg_cut_2",
        "-m",
        "recip_rank",
        "--convention",
        "trec_eval",
        "--format",
        "json",
        "--require",
        "map_cut_2 >= 0.1",
    )
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["values"]
    ours = rw.evaluate(
        folder / "run.csv",
        folder / "truth.csv",
        ["precision@1", "ndcg@2", "mrr", "map(normaliser=relevant)@2"],
        convention="trec_eval",
    )
    assert values == ours.values
    assert ours.counts["users"] == 3


def test_options_that_are_given_win_over_the_convention(folder):
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "mrr",
        "--convention",
        "trec_eval",
        "--population",
        "judged",
        "--format",
        "json",
    )
    settings = json.loads(done.stdout)["provenance"]["settings"]
    assert (settings["population"], settings["undefined"]) == ("judged", "zero")
    assert json.loads(done.stdout)["counts"]["users"] == 4


def test_all_conventions_and_whose_number_it_is(folder):
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "map@1,3",
        "--convention",
        "all",
        "--format",
        "json",
    )
    rows = json.loads(done.stdout)["rows"]
    across = rw.across_conventions(folder / "run.csv", folder / "truth.csv", ["map@1", "map@3"])
    assert rows == across.to_dict()["rows"]
    number = next(r["value"] for r in rows if (r["metric"], r["convention"]) == ("map@3", "ranx"))
    done = rankwise_here(
        folder, "evaluate", "run.csv", "truth.csv", "-m", "map", "--convention-of", f"{number:.4f}"
    )
    assert re.search(r"map@3 +ranx", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--convention", "all", "--save", "out"], "with many conventions there is only a table"),
        (["--convention-of", "0.3", "-m", "ndcg", "-m", "map"], "about one metric"),
        (["--convention-of", "much", "-m", "ndcg"], "this is not a number"),
        (
            ["--convention", "all", "--population", "both"],
            "--population cannot be used with many conventions",
        ),
        (["--convention", "nobody"], "there is no such convention"),
    ],
)
def test_mistakes(folder, arguments, message):
    done = rankwise_here(folder, "evaluate", "run.csv", "truth.csv", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_explain(folder):
    done = rankwise_here(
        folder,
        "explain",
        "run.csv",
        "truth.csv",
        "-m",
        "ndcg@2",
        "--between",
        "default",
        "trec_eval",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    ours = rw.explain(folder / "run.csv", folder / "truth.csv", "ndcg@2", "default", "trec_eval")
    assert data == ours.to_dict()
    shown = rankwise_here(
        folder,
        "explain",
        "run.csv",
        "truth.csv",
        "-m",
        "ndcg@2",
        "--between",
        "default",
        "trec_eval",
    )
    assert "users carry the difference" in shown.stdout


def test_the_list_of_conventions_and_one_in_full(folder):
    listed = rankwise_here(folder, "conventions").stdout
    assert all(name in listed for name in rw.conventions())
    one = rankwise_here(folder, "conventions", "ranx").stdout
    assert "map(normaliser=relevant)" in one
    assert "not computed here" in one
    assert "changes the values of other users" in " ".join(one.split())
    assert rankwise_here(folder, "conventions", "nobody").returncode == 2


@pytest.mark.parametrize(
    "convention",
    [
        "recommenders",
        {
            "name": "ours",
            "base": "rectools",
            "population": "both",
            "metrics": {"hits": "hit_rate", "ndcg": {"metric": "ndcg", "population": "truth"}},
        },
    ],
)
def test_configurations(folder, convention):
    metrics = ["ndcg@2", "precision@1", "ndcg(gain=exponential,ideal=relevant)@2"]
    if convention == "recommenders":
        metrics[2] = "map_at_k@2"
    config = {
        "data": {"truth": "truth.csv"},
        "systems": {"one": "run.csv"},
        "evaluation": {"metrics": metrics, "convention": convention},
        "output": {"report": False, "audit": False},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    first = execute(read_experiment(folder / "config.yaml"))
    by_hand = rw.evaluate(
        folder / "run.csv",
        folder / "truth.csv",
        metrics,
        convention=convention if isinstance(convention, str) else rw.Convention(**convention),
    )
    assert first.results["one"].values == by_hand.values
    again = execute(read_experiment(first.folder / "config.yaml"))
    assert again.results["one"].values == by_hand.values
    assert again.results["one"].provenance["convention"] == by_hand.provenance["convention"]


def test_mistakes_in_a_configuration(folder):
    text = """\
data: {truth: truth.csv}
systems: {one: run.csv}
evaluation: {metrics: ["bpref"], convention: %s}
"""
    for convention, message in (
        ("ranx", "not computed here"),
        ("recbol", "there is no such convention"),
        ("{base: recbole}", "a convention has a name"),
        ("{name: mine, popluation: both}", "a convention has no 'popluation'"),
    ):
        (folder / "config.yaml").write_text(text % convention)
        done = rankwise_here(folder, "check", "config.yaml")
        assert done.returncode == 2
        assert message in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_lines_of_trec_eval(folder):
    base = ("evaluate", "run.csv", "truth.csv", "--convention", "trec_eval", "--format", "trec")
    done = rankwise_here(folder, *base, "-m", "num_q", "-m", "P.1,2", "--per-topic", "--depth", "1")
    assert done.returncode == 0, done.stderr
    labels = [line.split("\t")[0].strip() for line in done.stdout.splitlines()]
    assert labels[-3:] == ["num_q", "P_1", "P_2"]
    assert labels[:2] == ["P_1", "P_2"]
    official = rankwise_here(folder, *base, "-o", "out.trec")
    assert official.returncode == 0, official.stderr
    assert (folder / "out.trec").read_text().startswith("runid                 \tall\trun\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--format", "trec"], "--format trec needs --convention trec_eval or trec_eval-9"),
        (
            ["--format", "trec", "--convention", "trec_eval", "--require", "map >= 0"],
            "--format trec prints lines only",
        ),
        (["--per-topic"], "--per-topic and --catalogue-size are of --format trec"),
    ],
)
def test_what_the_format_of_trec_eval_does_not_go_with(folder, options, says):
    done = rankwise_here(folder, "evaluate", "run.csv", "truth.csv", *options)
    assert done.returncode == 2
    assert says in done.stderr
