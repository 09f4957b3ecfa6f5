"""What a study would refuse, whatever its tables hold, is told before the run."""

from __future__ import annotations

import pytest

from rankwise.errors import ConfigError, ParameterError
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.keys import spelling_keys
from rankwise.messages import parameter

HEAD = """\
data: {truth: split/test.csv, items: items.csv}
systems: {popular: popular.csv, near: near.csv}
evaluation: {metrics: [ndcg@10, recall@10, "gini@10"]}
"""
STAGES = "sources: {all: near.csv}, ranked: popular.csv"
LOG = "exposures: near.csv, targets: {even: uniform}"


def read(folder, text):
    (folder / "config.yaml").write_text(HEAD + text, encoding="utf-8")
    return read_experiment(folder / "config.yaml")


WRONG = {
    "nulls: {}": "nulls.baselines: shortcuts are fitted to training interactions",
    "nulls: {baselines: [], systems: [nearr]}": "nulls.systems[0]: there is no system 'nearr'; did",
    "nulls: {baselines: [], others: 0}": "nulls.others: others must be a whole number from 1",
    "nulls: {baselines: [], seed: -1}": "nulls.seed: seed must be a whole number from 0",
    "nulls: {baselines: [], window: soon}": "nulls.window: window is a length of time",
    "nulls: {baselines: [], metric: novelty@5}": "nulls.metric: nulls compare lists with the ground",
    "nulls: {baselines: [], metric: gini@5}": "nulls.metric: gini@5 is not a mean over users",
    "nulls: {baselines: [], metric: fallout@5}": "nulls.metric: nulls are of a metric in which hi",
    f"stages: {{{STAGES}, metrics: [foo@3]}}": "stages.metrics: there is no metric called 'foo'",
    f"stages: {{{STAGES}, metrics: [epc@3]}}": "stages.metrics[0]: epc@3 needs training",
    f"stages: {{{STAGES}, by: [age]}}": "stages.by: groups of users need the table of users",
    f"stages: {{{STAGES}, confidence: 2}}": "stages.confidence: confidence must lie between",
    "stages: {sources: {all: near.csv}}": "stages: candidates alone have one stage",
    "agreement: {}": "agreement: nothing says what the second order is (agreement: {metrics: null}",
    "agreement: {metrics: [ndcg@10]}": "agreement.metrics: nothing says what the second order is",
    "agreement: {metrics: [ndcg@10, map@5]}": "agreement.metrics: map@5 was not evaluated",
    "agreement: {truth: split/test.csv, n_resamples: 0}": "agreement.n_resamples: n_resamples must",
    "stability: {runs: [near.csv]}": "stability.runs: a noise floor needs two runs or more",
    "stability: {runs: [near.csv, near.csv], power: 1}": "stability.power: power must lie between",
    "stability: {runs: [near.csv, near.csv], metrics: map@5}": "stability.metrics: map@5 was not",
    "judged: {human: split/test.csv}": "judged.sampled: nothing says how the users with human",
    "judged: {human: split/test.csv, sampled: random, confidence: 1}": "judged.confidence: conf",
    "launches: {table: near.csv, confidence: 0}": "launches.confidence: confidence must lie",
    "leaderboard: {table: near.csv, top: 0}": "leaderboard.top: top must be a whole number from 1",
    f"off_policy: {{{LOG}, alpha: 1}}": "off_policy.alpha: alpha must lie between",
    f"off_policy: {{{LOG}, baseline: old}}": "off_policy: there is no policy 'old'",
    f"off_policy: {{{LOG}, reward: {{click: 1}}}}": "off_policy: there are no outcomes",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_a_study_would_refuse(files, text):
    with pytest.raises(ConfigError) as caught:
        read(files, text)
    (mistake,) = caught.value.mistakes
    assert WRONG[text] in mistake


@pytest.mark.parametrize(
    "text",
    [
        "nulls: {baselines: [], metric: mcc@5}",
        f"stages: {{{STAGES}, by: ['item:category'], metrics: [map@3]}}",
        "agreement: {metrics: [ndcg@10, recall@10]}",
        "agreement: {truth: split/test.csv}",
        "stability: {runs: [near.csv, popular.csv], metrics: gini@10}",
        "judged: {human: split/test.csv, sampled: random}",
        f"off_policy: {{{LOG}, margin: 0.01, by: place}}",
    ],
)
def test_what_a_study_takes(files, text):
    assert read(files, text).config is not None


def test_ground_truth_is_asked_for(files):
    text = "systems: {near: near.csv}\nevaluation: {metrics: [gini@10]}\n"
    text += f"nulls: {{baselines: []}}\nstages: {{{STAGES}}}\n"
    (files / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_experiment(files / "config.yaml")
    places = [line.split(": ")[0].split(", ")[1] for line in caught.value.mistakes]
    assert places == ["nulls", "stages"]
    assert all("there is no ground truth" in line for line in caught.value.mistakes)


def test_wrong_metrics_are_told_where_they_stand_only(files):
    text = HEAD.replace("recall@10", "recal@10")
    text += "agreement: {metrics: [ndcg@10, recall@10]}\n"
    text += "stability: {runs: [near.csv, popular.csv], metrics: recall@10}\n"
    (files / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_experiment(files / "config.yaml")
    (mistake,) = caught.value.mistakes
    assert "evaluation.metrics" in mistake


def test_errors_of_a_section_name_its_own_keys():
    with pytest.raises(ParameterError) as caught, spelling_keys("launches"):
        raise ParameterError("wrong", hint=f"say {parameter('same_users', False)}")
    assert caught.value.hint == "say launches: {same_users: false}"
