"""`check` refuses what `run` would refuse after the work, with a path, and nothing that runs."""

from __future__ import annotations

import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.comparison.rule import rule_for
from rankwise.errors import ColumnError, ConfigError, ParameterError, RankwiseError
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute

TABLES = "data: {truth: split, items: items.csv, users: users.csv}\n"
ALONE = "data: {truth: split/test.csv}\n"
TWO = "systems: {popular: popular.csv, near: near.csv}\noutput: {report: false, audit: false}\n"


def mistakes(folder, text):
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_experiment(folder / "config.yaml")
    return list(caught.value.mistakes)


REFUSED = [
    # What decides and what is compared.
    (
        "metrics: [mrr@7, gini@7]",
        "decision: {success: mrr@7, guardrails: {gini@7: 2%}}",
        "decision.guardrails.gini@7: gini@7 is not a mean over users, so it needs the jackknife to decide",
    ),
    (
        "metrics: [mrr@7, rmse]",
        "decision: {success: [mrr@7, rmse]}",
        "decision.success[1]: rmse is not a mean over users",
    ),
    (
        "metrics: [mrr@7]",
        "decision: {success: mrr@7, deterioration: map@7}",
        "decision.deterioration: map@7 was not evaluated",
    ),
    (
        "metrics: [mrr@7]",
        "decision: {success: mrr@7, min_slice_size: 1}",
        "decision.min_slice_size: min_slice_size must be a whole number from 2",
    ),
    (
        "metrics: [mrr@7]",
        "decision: {success: mrr@7, baseline: near, system: near}",
        "both names are those of one",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {primary: map@7}",
        "comparison.primary: map@7 was not evaluated (mrr@7)",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {metrics: [mrr@7, mrr@9]}",
        "comparison.metrics: mrr@9 was not evaluated",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {margin: {map@7: 0.1}}",
        "comparison.margin.map@7: map@7 was not evaluated",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {largest_loss: {mrr@7: 2}}",
        "comparison.largest_loss.mrr@7: no user can lose 2 of mrr@7",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {largest_loss: -1}",
        "comparison.largest_loss: largest_loss",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {largest_cluster: 4}",
        "comparison.largest_cluster: largest_cluster is the size of a cluster",
    ),
    (
        "metrics: [mrr@7]",
        "decision: {success: mrr@7, largest_cluster: 4}",
        "decision.largest_cluster: largest_cluster is the size of a cluster",
    ),
    (
        "metrics: [mrr@7]",
        "decision: {success: mrr@7, largest_loss: {mrr@7: 2}}",
        "decision.largest_loss: no user can lose 2 of mrr@7",
    ),
    (
        "metrics: [mrr@7, gini@7]",
        "comparison: {primary: gini@7}",
        "comparison.primary: gini@7 cannot be compared: it is not a mean over users (evaluate with evaluation: {jackknife: 64})",
    ),
    (
        "metrics: [mrr@7, gini@7], jackknife: 9",
        "comparison: {primary: gini@7, by: age}",
        "groups of users are compared by means over users alone",
    ),
    ("metrics: [mrr@7, auc]", "comparison: {primary: auc}", "auc cannot be compared"),
    (
        "metrics: [mrr@7]",
        "comparison: {primary: 'mrr@7[teens]'}",
        "comparison.primary: this is not the text of a metric (mrr@7[teens])",
    ),
    (
        "metrics: [mrr@7], weights: {u00001: 2}",
        "comparison: {primary: mrr@7}",
        "mrr@7 cannot be compared",
    ),
    (
        "metrics: [mrr@7, 'stratified(of=recall,average=weights)@7']",
        "comparison: {primary: 'stratified(of=recall,average=weights)@7'}",
        "cannot be compared",
    ),
    ("metrics: [gini@7]", "", "no metric that the results have in common can be compared"),
    (
        "metrics: [MRR], top_k: 7, validation_metric: Gini@7",
        "",
        "evaluation.validation_metric: gini@7 cannot be compared",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {correction: max_t, by: age}",
        "comparison: max_t tests the pairs of the same users together",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {clusters: age, test: sign}",
        "comparison: with several seeds, clusters or noise",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: {n_resamples: 0}",
        "comparison.n_resamples: n_resamples must be a whole number from 1",
    ),
    (
        "metrics: [mrr@7]",
        "comparison: [{test: t}, {seed: -3}]",
        "comparison[1].seed: seed must be a whole number from 0",
    ),
    # Options of the evaluation.
    (
        "metrics: [mrr@7, gini@7], ranks: keep",
        "",
        "evaluation.metrics[1]: metrics that describe lists cannot count ranks",
    ),
    (
        "metrics: [gauc, mrr@7], strategy: sampled",
        "",
        "evaluation.metrics[0]: gauc counts all items",
    ),
    ("metrics: [mrr@7], jackknife: 1", "", "evaluation.jackknife: jackknife must be"),
    ("metrics: [mrr@7], batch_size: -4", "", "evaluation.batch_size: "),
]


@pytest.mark.parametrize(
    ("evaluation", "section", "mistake"), REFUSED, ids=[row[2][:40] for row in REFUSED]
)
def test_what_fails_after_the_work_is_refused_before(files, evaluation, section, mistake):
    said = mistakes(files, f"{TABLES}{TWO}evaluation: {{{evaluation}}}\n{section}\n")
    assert len(said) == 1
    assert mistake in said[0]


NEEDS = [
    ("novelty@7", "novelty@7 needs training interactions (no train); pass data: {train: …}"),
    (
        "ild@7",
        "needs a table of items with their feature vectors (no items); pass data: {items: …}",
    ),
    ("reo@7", "needs a table of items with their groups"),
    (
        "overlap@7",
        "overlap@7 needs the lists of another system (no reference); pass data: {reference: …}",
    ),
    (
        '"group_gap(metric=recall,user_group=age)@7"',
        "needs a table of users with their groups (no users)",
    ),
]


@pytest.mark.parametrize(("name", "mistake"), NEEDS)
def test_a_metric_has_the_tables_that_it_needs(files, name, mistake):
    said = mistakes(files, f"{ALONE}{TWO}evaluation:\n  metrics:\n    - mrr@7\n    - {name}\n")
    assert len(said) == 1
    assert said[0].startswith("line 7, evaluation.metrics[1]: ")
    assert mistake in said[0]


@pytest.mark.parametrize(
    ("option", "mistake"),
    [
        ("weights: age", "evaluation.weights: weights 'age' is a column of the table of users"),
        ("exclude_seen: true", "evaluation.exclude_seen: evaluation.exclude_seen needs training"),
        ("mask_seen: pair", "evaluation.mask_seen: evaluation.exclude_seen needs training"),
        ("by: history", "evaluation.by: history: these groups of users need training interactions"),
        (
            "candidates: warm",
            "evaluation.candidates: cold and warm items are told apart by training",
        ),
        (
            "strategy: sampled, negative_sampling: popularity",
            "evaluation.negative_sampling: drawing by popularity",
        ),
    ],
)
def test_an_option_has_the_tables_that_it_needs(files, option, mistake):
    one = "systems: {near: near.csv}\noutput: {report: false}\n"
    (said,) = mistakes(files, f"{ALONE}{one}evaluation: {{metrics: [mrr@7], {option}}}\n")
    assert mistake in said


def test_lists_without_a_ground_truth_are_checked(files):
    said = mistakes(
        files, f"data: {{items: items.csv}}\n{TWO}evaluation: {{metrics: [gini@7, mrr@7]}}\n"
    )
    (only,) = said
    assert only.startswith(
        "line 4, evaluation.metrics[1]: mrr@7 needs a ground truth (no truth); pass one, or ask"
    )


@pytest.mark.parametrize("where", ["split", ".", "..", "near.csv"])
def test_the_output_folder_holds_nothing_that_is_read(files, where):
    text = (
        f"data: {{truth: split}}\nsystems: near.csv\noutput:\n  report: false\n  folder: {where}\n"
    )
    (said,) = mistakes(files, text)
    assert said.startswith("line 5, output.folder: ")
    assert rankwise_here(files, "run", "config.yaml").returncode == 2
    experiment = read_experiment(files / "config.yaml", output=files / "elsewhere")
    with pytest.raises(ParameterError, match="the output folder holds the configuration"):
        execute(experiment)  # its own folder is refused here as well
    assert rankwise_here(files, "run", "config.yaml", "-o", "elsewhere").returncode == 0


FIFTEEN = """\
data: {truth: split, users: users.csv}
systems: {popular: popular.csv, near: nera.csv}
evaluation:
  top_k: [7, 0]
  metrics: [Precison, nDCG]
  jackknife: 1
  threads: 0
  ties: sideways
  exclude_seen: yes
  wieghts: age
comparison:
  baseline: popluar
  alpha: 3
  n_resamples: 0
decision:
  success: []
  guardrails: {nDCG@7: -1}
output: {folder: ., report: no, tables: [pdf]}
engin: local
data: 5
"""


def test_many_mistakes_are_reported_together_by_check_and_by_run(files):
    said = mistakes(files, FIFTEEN)
    paths = [line.partition(": ")[0] for line in said]
    assert paths == [
        "line 2, systems.near",
        "line 4, evaluation.top_k[1]",
        "line 5, evaluation.metrics[0]",
        "line 6, evaluation.jackknife",
        "line 7, evaluation.threads",
        "line 8, evaluation.ties",
        "line 9, evaluation.exclude_seen",
        "line 10, evaluation.wieghts",
        "line 12, comparison.baseline",
        "line 13, comparison.alpha",
        "line 14, comparison.n_resamples",
        "line 16, decision.success",
        "line 17, decision.guardrails.nDCG@7",
        "line 18, output.folder",
        "line 18, output.report",
        "line 18, output.tables[0]",
        "line 19, engin",
        "line 20, data",
    ]
    checked, ran = (rankwise_here(files, command, "config.yaml") for command in ("check", "run"))
    assert checked.returncode == ran.returncode == 2
    assert checked.stderr == ran.stderr
    assert all(line in checked.stderr for line in said)
    assert not (files / "rankwise-results").exists()


def test_a_mistake_in_a_metric_hides_no_other_and_makes_none(files):
    text = """\
data: {truth: split/test.csv, items: 5}
systems: {popular: popular.csv, near: near.csv}
evaluation: {metrics: [mapp@7, gini@7, mrr@7, novelty@7, reo@7], jackknife: x}
comparison: {primary: map@7, metrics: [mmr@7, gini@7], margin: {map@7: 1, mrr@7: 0}}
decision: {success: [map@7], guardrails: {gini@7: 1, mrr@7: 1%}}
output: {report: false}
"""
    assert [line.partition(": ")[0] for line in mistakes(files, text)] == [
        "line 1, data.items",
        "line 3, evaluation.jackknife",
        "line 3, evaluation.metrics[0]",
        "line 3, evaluation.metrics[3]",
        "line 4, comparison.margin.mrr@7",
        "line 4, comparison.metrics",
    ]


RUN = [
    "evaluation: {metrics: [mrr@7, gini@7], jackknife: 9}\ncomparison: {primary: gini@7}\n",
    "evaluation: {metrics: [gini@7], jackknife: 9}\n",
    "evaluation: {metrics: [mrr@7]}\ncomparison: {clusters: age}\n",
    "evaluation: {metrics: [mrr@7]}\ncomparison: {by: activity, primary: mrr@7}\n",
    "evaluation: {metrics: [mrr@7, 'group_gap(metric=recall,user_group=activity)@7'], by: activity}\n",
    "evaluation: {convention: warprec, metrics: [nDCG, Gini], top_k: 7}\ncomparison: {primary: nDCG@7}\n",
    "evaluation: {metrics: [mrr@7, map@7]}\ndecision: {success: mrr@7, guardrails: {map@7: 10%}, min_slice_size: 5}\n",
    "evaluation: {metrics: [mrr@7, gini@7], jackknife: 9}\ndecision: {success: mrr@7, guardrails: {gini@7: 10%}}\n",
    "evaluation: {metrics: [mrr@7], exclude_seen: true, by: [history, 'item:cold']}\n",
    "evaluation: {metrics: [mrr@7, 'reo@7'], jackknife: 9}\ncomparison: {primary: reo@7}\n",
]


@pytest.mark.parametrize("text", RUN)
def test_what_is_not_refused_runs(files, text):
    columns = TABLES.replace("items.csv", "{path: items.csv, columns: {group: studio}}")
    (files / "config.yaml").write_text(columns + TWO + text, encoding="utf-8")
    experiment = read_experiment(files / "config.yaml")
    assert len(execute(experiment).results) == 2


def test_a_decision_between_a_system_and_itself_is_refused():
    lists = {user: [1, 2] for user in range(9)}
    one = rw.evaluate(lists, {user: {2} for user in lists}, "mrr@2")
    with pytest.raises(ParameterError, match="both names are those of one"):
        rw.decide({"a": one, "b": one}, success="mrr@2", baseline="b", system="b")
    assert rule_for({"a": one, "b": one}, success="mrr@2").system == "b"


def test_a_failed_run_keeps_what_was_finished_with_a_note(files, monkeypatch):
    (files / "broken.csv").write_text("user,item,score\nu00001,i00001,x\n")
    text = "data: {truth: split}\nsystems: {near: near.csv, broken: broken.csv}\noutput: {report: false}\n"
    (files / "config.yaml").write_text(text)
    done = rankwise_here(files, "run", "config.yaml")
    assert done.returncode == 3
    assert "kept in" in done.stderr
    assert "the result of near; unfinished.txt has the error" in done.stderr
    out = files / "rankwise-results"
    note = (out / "unfinished.txt").read_text(encoding="utf-8")
    assert "Finished before: the result of near" in note
    assert "broken.csv" in note
    assert rw.load(out / "results" / "near")["ndcg@10"] > 0
    assert not (out / "results" / "broken").exists()
    assert (out / "config.yaml").is_file()
    (files / "broken.csv").write_text((files / "popular.csv").read_text())
    assert rankwise_here(files, "run", "config.yaml").returncode == 0
    assert not (out / "unfinished.txt").exists()
    assert {path.name for path in (out / "results").iterdir()} == {"near", "broken"}


def test_a_failed_run_names_the_studies_that_were_finished(files, monkeypatch):
    from rankwise.experiments import run as module

    def failing(*_, **__):
        raise RankwiseError("the audit fails here")

    monkeypatch.setattr(module, "_audited", failing)
    rows = ["system,one,two", *(f"s{at},0.{at},0.{9 - at}" for at in range(1, 9))]
    (files / "board.csv").write_text("\n".join(rows), "utf-8")
    text = f"{TABLES}{TWO}evaluation: {{metrics: [mrr@7]}}\nleaderboard: {{table: board.csv}}\n"
    (files / "config.yaml").write_text(text)
    with pytest.raises(RankwiseError, match="fails here"):
        execute(read_experiment(files / "config.yaml"))
    note = (files / "rankwise-results" / "unfinished.txt").read_text(encoding="utf-8")
    assert "the comparison, the leaderboard" in note


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("ranks: keep", "ranks"),
        ("duplicates: keep", "duplicates"),
        ("empty_lists: present", "empty"),
    ],
)
def test_places_that_are_kept_are_refused_for_metrics_of_lists_before_a_run(files, option, named):
    text = f"{TABLES}{TWO}evaluation: {{metrics: [mrr@7, gini@7], {option}}}\n"
    (files / "config.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_experiment(files / "config.yaml")
    (mistake,) = caught.value.mistakes
    assert "metrics that describe lists cannot count ranks without an item" in mistake
    assert named in mistake


def test_a_run_that_is_interrupted_says_so(files):
    (files / "config.yaml").write_text(TABLES + TWO)

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(read_experiment(files / "config.yaml"), evaluate=interrupted)
    note = (files / "rankwise-results" / "unfinished.txt").read_text(encoding="utf-8")
    assert "Finished before: nothing" in note
    assert "KeyboardInterrupt" in note


def test_a_comparison_that_fails_leaves_the_results(files, monkeypatch):
    from rankwise.experiments import run as module

    def failing(*_, **__):
        raise RankwiseError("the comparison fails here")

    monkeypatch.setattr(module, "decide", failing)
    text = f"{TABLES}{TWO}evaluation: {{metrics: [mrr@7]}}\ndecision: {{success: mrr@7}}\n"
    (files / "config.yaml").write_text(text)
    with pytest.raises(RankwiseError, match="fails here"):
        execute(read_experiment(files / "config.yaml"))
    out = files / "rankwise-results"
    assert rw.Comparison.load(out).results.keys() == {"popular", "near"}
    assert "the comparison\n" in (out / "unfinished.txt").read_text(encoding="utf-8")


def test_columns_of_one_run_file_are_asked_for_beside_its_path(files):
    for at, name in enumerate(("popular", "near"), start=1):
        text = (files / f"{name}.csv").read_text(encoding="utf-8")
        header, _, rows = text.partition("\n")
        named = header.replace("user", f"u{at}").replace("item", f"i{at}")
        (files / f"own{at}.csv").write_text(f"{named}\n{rows}", encoding="utf-8")
    head = (
        "data: {truth: split/test.csv}\nevaluation: {metrics: [mrr@7]}\noutput: {report: false}\n"
    )
    (files / "config.yaml").write_text(f"{head}systems: {{a: own1.csv, b: own2.csv}}\n", "utf-8")
    with pytest.raises(ColumnError) as caught:
        execute(read_experiment(files / "config.yaml"))
    hint = "{path: own1.csv, columns: {user: u1, item: i1}}"
    assert hint in caught.value.hint

    systems = f"systems: {{a: {hint}, b: {hint.replace('1', '2')}}}\n"
    (files / "config.yaml").write_text(head + systems, encoding="utf-8")
    assert execute(read_experiment(files / "config.yaml")).results.keys() == {"a", "b"}
