"""Logged requests in configurations: the result of the function, alone or beside systems."""

from __future__ import annotations

import json

import pytest
import yaml

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import ConfigError, InputError
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute

LOG = rw.datasets.logged(users=200, seed=1)
TEXT = """\
off_policy:
  exposures: exposures.parquet
  outcomes: {path: clicks.csv, columns: {item: thing}}
  targets:
    new: {probabilities: new.csv}
    column: p_new
    soft: {scores: scores.csv, temperature: 0.5}
    best: {lists: new.csv, epsilon: 0.2}
    even: uniform
    same: logged
  margin: 0.1
"""


@pytest.fixture
def folder(tmp_path):
    LOG.exposures.drop("click").write_parquet(tmp_path / "exposures.parquet")
    LOG.exposures.filter(click=1).select("request", "item").rename({"item": "thing"}).write_csv(
        tmp_path / "clicks.csv"
    )
    LOG.policies.select("segment", "item", probability="p_new").write_csv(tmp_path / "new.csv")
    LOG.policies.select("segment", "item", score="p_new").write_csv(tmp_path / "scores.csv")
    return tmp_path


def run(folder, text, **options):
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return execute(read_experiment(folder / "config.yaml"), **options)


@pytest.mark.slow
def test_the_result_is_that_of_the_function(folder):
    outcome = run(folder, TEXT)
    (result,) = outcome.evidence
    probabilities = LOG.policies.select("segment", "item", probability="p_new")
    expected = rw.off_policy(
        LOG.exposures,
        targets={
            "new": rw.policies.Probabilities(probabilities),
            "column": "p_new",
            "soft": rw.policies.Scores(
                LOG.policies.select("segment", "item", score="p_new"), temperature=0.5
            ),
            "best": rw.policies.Lists(probabilities, epsilon=0.2),
            "even": rw.policies.Uniform(),
            "same": rw.policies.Logged(),
        },
        margin=0.1,
    )
    assert result.table.equals(expected.table, null_equal=True)
    assert result.differences.equals(expected.differences, null_equal=True)
    assert rw.OffPolicy.load(outcome.folder / "off_policy").table.equals(
        result.table, null_equal=True
    )
    assert (
        json.loads((outcome.folder / "off_policy.json").read_text())["table"][1]["policy"] == "new"
    )
    assert result.verdict in (outcome.folder / "report.html").read_text("utf-8")


def test_lists_without_epsilon_are_shown_without_exploration(folder):
    outcome = run(
        folder,
        "off_policy:\n"
        "  exposures: exposures.parquet\n"
        "  outcomes: {path: clicks.csv, columns: {item: thing}}\n"
        "  targets: {best: {lists: new.csv}}\n"
        "output: {report: false}\n",
    )
    lists = LOG.policies.select("segment", "item", probability="p_new")
    expected = rw.off_policy(LOG.exposures, targets={"best": rw.policies.Lists(lists)})
    assert outcome.evidence[0]["best"] == expected["best"]


@pytest.mark.slow
def test_the_resolved_configuration_gives_the_same_bits_or_names_the_file_that_changed(folder):
    first = run(folder, TEXT)
    resolved = yaml.safe_load((first.folder / "config.yaml").read_text())
    assert len(resolved["off_policy"]["targets"]["new"]["probabilities"]["sha256"]) == 64
    again = execute(read_experiment(first.folder / "config.yaml"))
    assert again.evidence[0].table.equals(first.evidence[0].table, null_equal=True)
    LOG.policies.select("segment", "item", probability="propensity").write_csv(folder / "new.csv")
    with pytest.raises(InputError, match="not the one that the configuration was resolved for"):
        execute(read_experiment(first.folder / "config.yaml"))


@pytest.mark.slow
def test_a_section_beside_systems_is_in_their_report(folder):
    (folder / "run.csv").write_text("user,item,rank\na,1,1\na,2,2\nb,2,1\n")
    (folder / "truth.csv").write_text("user,item\na,2\nb,2\n")
    systems = "data: {truth: truth.csv}\nsystems: {one: run.csv}\nevaluation: {metrics: mrr@2}\n"
    outcome = run(folder, systems + TEXT)
    assert outcome.results["one"]["mrr@2"] == 0.75
    assert outcome.evidence[0].policies[1] == "new"
    page = (outcome.folder / "report.html").read_text("utf-8")
    assert "Policies on logged impressions" in page


@pytest.mark.slow
def test_the_command_prints_the_verdict_and_a_plan_holds(folder):
    (folder / "config.yaml").write_text(TEXT)
    assert rankwise_here(folder, "plan", "config.yaml").returncode in (0, None)
    done = rankwise_here(folder, "run", "config.yaml", "--plan")
    assert done.stdout.startswith("new beats logged on reward")
    assert "as planned" in done.stderr
    (folder / "config.yaml").write_text(TEXT.replace("0.1\n", "0.2\n"))
    done = rankwise_here(folder, "run", "config.yaml", "--plan")
    assert (done.returncode, "off_policy" in done.stderr) == (7, True)


def test_a_check_of_logged_requests_alone_names_their_policies(folder):
    (folder / "config.yaml").write_text(TEXT)
    done = rankwise_here(folder, "check", "config.yaml")
    assert "logged policies: new" in done.stdout
    assert "metrics:" not in done.stdout


DECISION = "decision: {system: new, success: reward, guardrails: {reward: 0.1}, slices: segment}\n"


@pytest.mark.slow
def test_a_decision_without_systems_is_about_policies(folder):
    text = TEXT + "  by: segment\n" + DECISION
    outcome = run(folder, text)
    options = {
        "success": "reward",
        "guardrails": {"reward": 0.1},
        "slices": "segment",
        "system": "new",
    }
    expected = rw.decide(outcome.evidence[0], **options)
    assert outcome.decision.verdict == expected.verdict
    assert outcome.decision.checks.equals(expected.checks, null_equal=True)
    assert json.loads((outcome.folder / "decision.json").read_text())["rule"]["system"] == "new"
    assert expected.verdict in (outcome.folder / "report.html").read_text("utf-8")
    done = rankwise_here(folder, "run", "config.yaml")
    assert (done.returncode or 0) == expected.exit_code
    assert done.stdout.rstrip().endswith(repr(expected).rstrip())


@pytest.mark.parametrize(
    ("decision", "mistake"),
    [
        ("{success: reward}", "a decision is about one system"),
        ("{system: old, success: reward}", "there is no system 'old'"),
        ("{system: new, success: ndcg@10}", "there is no metric 'ndcg@10' of logged requests"),
        ("{system: new, success: reward, alpha: 0.1}", "the level is that of the estimate"),
        (
            "{system: new, success: reward, guardrails: {reward: 0.2}}",
            "the margin is that of the estimate",
        ),
        ("{system: new, success: reward, slices: segment}", "there are no groups by 'segment'"),
    ],
)
def test_a_decision_that_the_estimate_does_not_carry_is_found_before_the_run(
    folder, decision, mistake
):
    with pytest.raises(ConfigError, match=mistake):
        run(folder, TEXT + f"decision: {decision}\n")


@pytest.mark.parametrize(
    ("target", "mistake"),
    [
        (
            "{probabilities: new.csv, temperature: 2}",
            "temperature is for scores, not for probabilities",
        ),
        (
            "{lists: new.csv, column: x}",
            "a policy is one of rule, column, probabilities, lists, scores",
        ),
        ("{scores: scores.csv}", "scores alone may mean three policies"),
        ("{lists: missing.csv}", "there is no file missing.csv"),
        ("{list: new.csv}", "there is no such key; did you mean 'lists'"),
    ],
)
def test_mistakes_have_their_line(folder, target, mistake):
    (folder / "config.yaml").write_text(TEXT.replace("{probabilities: new.csv}", target))
    with pytest.raises(ConfigError) as error:
        read_experiment(folder / "config.yaml")
    assert "line 5, off_policy.targets.new" in str(error.value)
    assert mistake in str(error.value)
