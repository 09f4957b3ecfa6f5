"""What a configuration means, and that all of its mistakes are told at once."""

from __future__ import annotations

import inspect
import json
import pickle
import re
from dataclasses import fields

import pytest

import rankwise as rw
from rankwise.errors import ConfigError
from rankwise.evaluation.settings import option_fields
from rankwise.experiments import checks
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.schema import MODELS, Config, json_schema
from rankwise.splits.reading import RULES

HEAD = """\
data: {truth: split, items: items.csv, users: users.csv}
systems: {popular: popular.csv, near: near.csv}
"""


def read(folder, text, head=HEAD):
    (folder / "config.yaml").write_text(head + text, encoding="utf-8")
    return read_experiment(folder / "config.yaml")


def mistakes(folder, text, head=HEAD):
    with pytest.raises(ConfigError) as caught:
        read(folder, text, head)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    return list(caught.value.mistakes)


def test_every_option_of_the_library_is_a_key(files):
    evaluation = Config.model_fields["evaluation"].annotation.model_fields
    assert option_fields().keys() <= evaluation.keys()
    for name, entry in option_fields().items():
        default = evaluation[name].default
        assert (tuple(default) if isinstance(default, list) else default) == entry.default
    (comparison,) = [m for m in Config.model_fields["comparison"].metadata if m]
    assert comparison is not None
    known = json_schema()["$defs"]["Comparison"]["properties"]
    parameters = inspect.signature(rw.compare).parameters.values()
    options = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert known.keys() == options | {"movers"}  # a method of a comparison, which writes a file
    assert all(known[name]["description"] for name in known)


def test_every_option_of_decisions_is_a_key():
    known = json_schema()["$defs"]["Decision"]["properties"]
    parameters = inspect.signature(rw.decide).parameters.values()
    assert known.keys() == {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_every_baseline_and_its_parameters_are_keys():
    known = json_schema()["$defs"]["Baseline"]["properties"]
    for model in MODELS.values():
        assert {entry.name for entry in fields(model) if entry.init} <= known.keys()


def test_every_rule_is_in_the_schema():
    rules = json_schema()["$defs"]["Split"]["properties"]
    assert set(rules["rule"]["enum"]) == RULES.keys()
    assert "share" in rules


def test_options_reach_the_settings(files):
    experiment = read(
        files,
        """\
evaluation:
  metrics: ["ndcg@[5,10]", novelty@5]
  relevance_threshold: 4
  population: both
  without_list: zero
  by: activity
  jackknife: 8
  columns: {users.group: age}
  weights: {u00001: 2, u00002: 0.5}
  threads: 1
""",
    )
    settings = experiment.settings
    assert [str(m) for m in settings.metrics] == ["ndcg@[5,10]", "novelty@5"]
    assert (settings.relevance_threshold, settings.population) == (4.0, "both")
    assert settings.without_list == "zero"
    assert (settings.by, settings.jackknife, settings.threads) == (("activity",), 8, 1)
    assert settings.weights == {"u00001": 2, "u00002": 0.5}


def test_shorthands_are_those_of_evaluate(files):
    settings = read(files, "evaluation: {metrics: [ndcg, gini@3], k: [5, 10], threshold: 3}\n")
    assert [str(m) for m in settings.settings.metrics] == ["ndcg@[5,10]", "gini@3"]
    assert settings.settings.relevance_threshold == 3


def test_what_warprec_users_write(files):
    experiment = read(
        files,
        """\
evaluation:
  top_k: [10, 20, 50]
  metrics: [Precision, nDCG, HitRate, RMSE, "recall@3"]
  complex_metrics:
    - {name: F1, params: {metric_name_1: nDCG, metric_name_2: MAP, beta: 0.5}}
    - {name: EFD, params: {relevance: discounted}}
    - {name: ACLT, params: {pop_ratio: 0.9}}
    - {name: EucDistance, params: {metric_names: [Precision, nDCG], utopia_points: [1, 1]}}
    - name: Hypervolume
      params: {metric_names: [Precision, nDCG], nadir_points: [0, 0], higher_is_better: [true, true]}
  validation_metric: nDCG@10
  batch_size: 1024
  strategy: full
  num_negatives: 99
  seed: 42
  stat_significance:
    paired_t_test: true
    wilcoxon_test: true
    corrections: {bonferroni: true, holm_bonferroni: false, fdr: true, alpha: 0.01}
  full_evaluation_on_report: false
  max_metric_per_row: 4
  save_evaluation: true
  save_per_user: true
""",
    )
    assert [str(metric) for metric in experiment.settings.metrics] == [
        "precision@[10,20,50]",
        "ndcg@[10,20,50]",
        "hit_rate@[10,20,50]",
        "rmse",
        "recall@3",
        "f(beta=0.5,first=ndcg,second=map)@[10,20,50]",
        "efd(relevance=discounted)@[10,20,50]",
        "aclt(pop_ratio=0.9)@[10,20,50]",
        "euclidean_distance(metrics=[precision,ndcg],utopia=[1,1])@[10,20,50]",
        "hypervolume(metrics=[precision,ndcg],nadir=[0,0],directions=[true,true])@[10,20,50]",
    ]
    assert experiment.settings.block_size == 1024
    assert not experiment.sampled
    assert [
        (c["test"], c["correction"], c["alpha"], c["primary"]) for c in experiment.comparisons
    ] == [
        (test, correction, 0.01, "nDCG@10")
        for test in ("t", "wilcoxon")
        for correction in ("bonferroni", "bh")
    ]
    assert len(experiment.notes) == 3
    assert "max_metric_per_row has no effect" in " ".join(experiment.notes)


def test_all_mistakes_are_told_at_once_with_line_path_and_what_was_meant(files):
    found = mistakes(
        files,
        head="",
        text="""\
dat: 1
data:
  trth: split
  truth: splt
  items: {path: items.csv, format: cvs}
systems:
  popular: popullar.csv
  r: {model: Rndom}
  s: {model: Random, neighbours: 3}
evaluation:
  metrics: [nDGC, Precision]
  top_k: [10, "a"]
  undefined: skp
  relevance_threshold: four
  complex_metrics:
    - {name: F1, params: {metric_name_1: nDCG, metric_nam_2: MAP}}
  weights: [1]
comparison:
  tst: t
  baseline: populr
output: {report: 3}
engine: sprk
""",
    )
    expected = [
        "line 1, dat: there is no such key; did you mean 'data'?",
        "line 3, data.trth: there is no such key; did you mean 'truth'?",
        "line 4, data.truth: there is no file splt; did you mean 'split'?",
        (
            "line 5, data.items.format: 'cvs' is none of parquet, csv, json, json lines, movielens, "
            "recbole, trec run, trec qrels; did you mean 'csv'?"
        ),
        "line 7, systems.popular: there is no file popullar.csv; did you mean 'popular.csv'?",
        (
            "line 8, systems.r.model: 'Rndom' is none of Random, Popularity, Transitions, ItemNeighbours; did you mean 'Random'?"
        ),
        "line 9, systems.s.neighbours: Random has no parameter 'neighbours'",
        "line 11, evaluation.metrics[0]: there is no metric called 'nDGC'; did you mean 'ndcg'?",
        "line 12, evaluation.top_k[1]: 'a' is not a valid integer",
        "line 13, evaluation.undefined: 'skp' is none of skip, zero, nan; did you mean 'skip'?",
        "line 14, evaluation.relevance_threshold: 'four' is not a valid number",
        (
            "line 16, evaluation.complex_metrics[0]: f has no parameter 'metric_nam_2' (beta, of, first, second)"
        ),
        "line 17, evaluation.weights: [1] is not a valid string or a valid dictionary",
        "line 19, comparison.tst: there is no such key; did you mean 'test'?",
        "line 20, comparison.baseline: there is no system 'populr'; did you mean 'popular'?",
        "line 21, output.report: 3 is not a valid boolean or a valid string",
        "line 22, engine: 'sprk' is none of local, spark; did you mean 'spark'?",
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("evaluation: {metrics: [precision]}\n", "precision needs a cut-off"),
        ("evaluation: {k: 5, top_k: [10]}\n", "top_k: this is the same as k"),
        ("evaluation: {threshold: 3, relevance_threshold: 4}\n", "same option"),
        ("evaluation: {by: nowhere}\ndata: 3\n", "duplicate key"),
        (
            "evaluation: {k: [3, 0, 7, 3], metrics: [recall]}\n",
            "line 3, evaluation.k[1]: a cut-off is a whole number",
        ),
        (
            "evaluation: {top_k: [3, 7, 3], metrics: [Recall]}\n",
            "line 3, evaluation.top_k[2]: duplicate cut-off (3)",
        ),
        (
            "evaluation: {top_k: -2}\n",
            "line 3, evaluation.top_k: a cut-off is a whole number from 1",
        ),
        (
            "output: {report: no}\n",
            "output.report: 'no' is text, not a boolean; write report: false",
        ),
        ("output: {report: Yes}\n", "write report: true"),
        ("output: {audit: off}\n", "output.audit: 'off' is text, not a boolean; write false"),
        (
            "evaluation: {metrics: [mrr, 'a'], exclude_seen: on}\n",
            "evaluation.exclude_seen: 'on' is text",
        ),
        ("evaluation: {metrics: [rbp(p=0.5, mrr]}\n", "put the metric in quotation marks"),
        ("evaluation: {stat_significance: {kruskal_test: true}}\n", "unrelated"),
        (
            "evaluation: {stat_significance: {paired_t_test: true}}\ncomparison: {alpha: 0.1}\n",
            "the section comparison is given too",
        ),
        ("evaluation: {jackknife: 1}\n", "jackknife must be a whole number from 2"),
        ("evaluation: {validation_metric: ndgc@10}\n", "did you mean 'ndcg'?"),
        ("comparison: {primary: 'ndcg@@'}\n", "comparison.primary"),
        ("decision: {success: ndcg@5, system: nere}\n", "did you mean 'near'?"),
        ("decision: {guardrails: {ndcg@5: 1}}\n", "decision.success: this key is missing"),
        ("decision: {success: []}\n", "needs a metric of success"),
        ("decision: {success: ndcg@5, guardrails: {recall@5: -1}}\n", "margin must be above 0"),
        ("decision: {success: ndcg@5, guardrails: {recall@5: abc}}\n", "or a share such as '1%'"),
        ("decision: {success: ndcg@5, alpha: 3}\n", "alpha must lie between 0 and 1"),
        ("comparison: {margin: -3}\n", "margin must be above 0"),
        ("output: {report: ../c.yaml}\n", "no name of a file in the output folder"),
        ("decision: {success: ndgc@5}\n", "did you mean 'ndcg'?"),
        ("split: {rule: GlobalTime, share: 0.2}\n", "there are no interactions to split"),
        ("engine: {master: 'local[2]'}\n", "need the engine spark"),
        (
            "engine: {name: spark}\nevaluation: {strategy: sampled}\n",
            "sampling needs the engine local",
        ),
        ("output: {tables: [excel]}\n", "'excel' is none of markdown, latex, csv"),
    ],
)
def test_single_mistakes(files, text, mistake):
    assert mistake in " ".join(mistakes(files, text))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("data: {truth: split}\n", "there is nothing to evaluate"),
        ("data: {truth: split}\nsystems: {a: {}}\n", "systems.a.path: this key is missing"),
        ("data: {interactions: interactions.csv}\nsystems: near.csv\n", "split"),
        (
            "data: {truth: split/test.csv}\nsystems: {r: {model: Random}}\n",
            "needs training interactions",
        ),
        ("data: {truth: split, recommendations: near.csv}\nsystems: near.csv\n", "already"),
        (
            (
                "data: {interactions: interactions.csv, train: split/train.csv}\nsystems: near.csv\n"
                "split: {rule: GlobalTime, share: 0.2}\n"
            ),
            "split makes it",
        ),
        (
            (
                "data: {interactions: interactions.csv}\nsystems: near.csv\nsplit: {rule: GlobalTime, shre: 0.2}\n"
            ),
            "no parameter 'shre'",
        ),
        (
            "data: {interactions: interactions.csv}\nsystems: near.csv\nsplit: {rule: KFold, k: 2}\n",
            "makes several splits",
        ),
        (
            "data: {interactions: interactions.csv}\nsystems: near.csv\nsplit: {rule: GlobalTme}\n",
            "did you mean 'GlobalTime'?",
        ),
        ("data: {truth: split}\nsystems: near.csv\nevaluation: {by: age}\n", "table of users"),
        (
            "data: {truth: split/test.csv}\nsystems: near.csv\nevaluation: {by: [activity]}\n",
            "activity: these groups of users need training interactions",
        ),
        ("data: {truth: {path: split, separator: ';'}}\nsystems: near.csv\n", "format: csv"),
        ("data: {truth: split}\nsystems: split\n", "is a folder, and not of Parquet files"),
        (
            "data: {truth: {path: split, format: csv}}\nsystems: near.csv\n",
            "the files of a folder tell their format",
        ),
    ],
)
def test_mistakes_about_tables(files, text, mistake):
    assert mistake in " ".join(mistakes(files, text, head=""))


def test_systems_in_every_form(files):
    for text in ("near.csv", "[near.csv]", "{near: near.csv}", "{near: {path: near.csv}}"):
        assert list(read(files, f"data: {{truth: split}}\nsystems: {text}\n", "").systems) == [
            "near"
        ]
    alone = read(files, "data: {truth: split, recommendations: near.csv}\n", "")
    assert list(alone.systems) == ["near"]


def test_a_report_without_its_libraries_is_a_mistake_before_any_work(files, monkeypatch):
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    assert 'pip install "rankwise[report]"' in " ".join(mistakes(files, ""))
    read(files, "output: {report: false}\n")


def test_the_schema_is_published_as_it_is(pytestconfig):
    published = (pytestconfig.rootpath / "docs" / "config.schema.json").read_text()
    assert json.loads(published) == json_schema(), (
        "rankwise check --schema > docs/config.schema.json"
    )


def test_descriptions_have_no_markup_of_docstrings():
    texts = re.findall(
        r'"description": "([^"]*)"', json.dumps(json_schema()["$defs"]["Evaluation"])
    )
    assert len(texts) > 20
    assert not [text for text in texts if "``" in text or not text]
