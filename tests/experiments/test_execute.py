"""Running configurations: the same values as by hand, everything written, and the same bits again."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
import yaml

import rankwise as rw
from command_line import rankwise_here
from rankwise.core.terminal import plain
from rankwise.errors import ConfigError, EmptyError, FileError, OutputError, ParameterError
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.inputs import over_candidates
from rankwise.experiments.run import execute
from rankwise.experiments.starter import starter_text
from rankwise.tables.files import table_hash
from rankwise.tables.read import read_table

PLAIN = "output: {report: false, audit: false}\n"


def run(folder, text, **options):
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return execute(read_experiment(folder / "config.yaml"), **options)


def same(one, other):
    assert one.values == pytest.approx(other.values, rel=0, abs=0, nan_ok=True)
    assert one.per_user.equals(other.per_user, null_equal=True)
    assert one.counts == other.counts


def test_results_are_those_of_evaluate_and_compare(files):
    outcome = run(
        files,
        """\
data: {truth: split, items: items.csv, users: users.csv}
systems: {popular: popular.csv, near: near.csv}
evaluation: {metrics: ["ndcg@[5,10]", gini@10, novelty@5], relevance_threshold: 4, by: activity,
             jackknife: 8}
comparison: {baseline: popular, primary: ndcg@5, alpha: 0.1}
"""
        + PLAIN,
    )
    by_hand = {
        name: rw.evaluate(
            files / f"{name}.csv",
            files / "split",
            ["ndcg@[5,10]", "gini@10", "novelty@5"],
            items=files / "items.csv",
            users=files / "users.csv",
            relevance_threshold=4,
            by="activity",
            jackknife=8,
        )
        for name in ("popular", "near")
    }
    for name, result in by_hand.items():
        same(outcome.results[name], result)
        same(rw.load(outcome.folder / "results" / name), result)
    compared = rw.compare(by_hand, baseline="popular", primary="ndcg@5", alpha=0.1)
    assert outcome.comparisons[0].table.equals(compared.table, null_equal=True)
    saved = rw.Comparison.load(outcome.folder)
    assert saved.table.equals(compared.table, null_equal=True)


@pytest.mark.parametrize("source", ["parts", "{path: parts, format: parquet}"])
def test_lists_may_be_a_folder_of_parquet_files(files, source):
    lists = pl.read_csv(files / "near.csv")
    (files / "parts").mkdir()
    for at, rows in enumerate((slice(0, 100), slice(100, None))):
        lists[rows].write_parquet(files / "parts" / f"{at}.parquet")
    outcome = run(files, f"data: {{truth: split}}\nsystems: {{near: {source}}}\n" + PLAIN)
    same(
        outcome.results["near"],
        rw.evaluate(files / "near.csv", files / "split", outcome.results["near"].metrics),
    )
    resolved = yaml.safe_load((outcome.folder / "config.yaml").read_text(encoding="utf-8"))
    assert resolved["systems"]["near"]["sha256"] == table_hash(files / "parts")
    same(
        execute(read_experiment(outcome.folder / "config.yaml")).results["near"],
        outcome.results["near"],
    )
    lists[:5].write_parquet(files / "parts" / "2.parquet")
    with pytest.raises(FileError, match="not the one that the configuration was resolved for"):
        execute(read_experiment(outcome.folder / "config.yaml"))


RUNS = {
    "plain": "data: {truth: split}\nsystems: [popular.csv, near.csv]\n",
    "columns": "data: {truth: split, items: {path: items.csv, columns: {group: studio}}}\n"
    "systems: {a: {path: popular.csv, columns: {score: null}}, b: near.csv}\n"
    "evaluation: {metrics: [reo@5, recall@5], relevance_threshold: 3}\n",
    "split": "data: {interactions: interactions.csv, users: users.csv}\n"
    "split: {rule: GlobalTime, share: 0.25, filters: [{filter: KCore, k: 2}]}\n"
    "systems: {near: {model: ItemNeighbours, neighbours: 5}, random: {model: Random, seed: 3}}\n"
    "comparison: {by: activity}\nevaluation: {metrics: [ndcg@5]}\n",
    "sampled": "data: {truth: split}\n"
    "systems: {near: near.csv, popular: {model: Popularity}}\n"
    "evaluation: {strategy: sampled, num_negatives: 7, seed: 5, metrics: [nDCG, HitRate], top_k: 5}\n",
    "decision": "data: {truth: split, users: users.csv}\nsystems: [popular.csv, near.csv]\n"
    "evaluation: {metrics: [recall@5, hit_rate@10]}\n"
    "decision: {success: recall@5, guardrails: {hit_rate@10: 20%}, slices: activity,\n"
    "           min_slice_size: 5}\n",
    "significance": "data: {truth: split}\nsystems: [popular.csv, near.csv]\n"
    "evaluation: {stat_significance: {paired_t_test: true, wilcoxon_test: true}, metrics: [MAP],\n"
    "             top_k: [5], save_per_user: true}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_resolved_configuration_runs_again_to_the_same_bits(files, name):
    first = run(files, RUNS[name] + PLAIN)
    resolved = first.folder / "config.yaml"
    second = execute(read_experiment(resolved))
    assert second.folder == first.folder / "rerun"
    for system, result in first.results.items():
        same(second.results[system], result)
    for one, other in zip(first.comparisons, second.comparisons, strict=True):
        assert one.table.equals(other.table, null_equal=True)
        assert one.values.equals(other.values, null_equal=True)
    once, twice = (
        yaml.safe_load((f / "config.yaml").read_text()) for f in (first.folder, second.folder)
    )
    assert once["evaluation"] == twice["evaluation"]
    assert once["comparison"] == twice["comparison"]


def test_a_resolved_configuration_says_which_metrics_the_convention_does_not_have(files):
    text = "data: {truth: split}\nsystems: [popular.csv]\nevaluation: {convention: trec_eval-9, metrics: [P@5, rbp@5]}\n"
    first = run(files, text + PLAIN)
    resolved = (first.folder / "config.yaml").read_text()
    full = "rbp(p=0.8,normaliser=none,max_relevance=None,top_grade=max_relevance)@5"
    assert (
        f"# These metrics are not of convention trec_eval-9; they are rankwise's own definitions:\n#   {full}\n"
        in resolved
    )
    assert yaml.safe_load(resolved)["evaluation"]["metrics"] == ["precision@5", full]
    same(
        execute(read_experiment(first.folder / "config.yaml")).results["popular"],
        first.results["popular"],
    )


def test_another_file_than_the_resolved_one_is_refused(files):
    (files / "mine.csv").write_text((files / "near.csv").read_text())
    first = run(files, "data: {truth: split}\nsystems: mine.csv\n" + PLAIN)
    with (files / "mine.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(FileError, match="not the one that the configuration was resolved for"):
        execute(read_experiment(first.folder / "config.yaml"))


@pytest.mark.parametrize("has_card", [True, False])
def test_another_split_than_the_resolved_one_is_refused(files, has_card):
    shutil.copytree(files / "split", files / "mine")
    if not has_card:
        (files / "mine" / "split.json").unlink(missing_ok=True)
    first = run(files, "data: {truth: mine}\nsystems: near.csv\n" + PLAIN)
    again = execute(read_experiment(first.folder / "config.yaml"))
    assert again.results["near"].values == first.results["near"].values
    test = next((files / "mine").glob("test*"))
    rows = pl.read_csv(test)
    (files / "mine" / "split.json").unlink(missing_ok=True)
    rows.head(len(rows) - 1).write_csv(test)
    with pytest.raises(
        FileError, match="not the one that the configuration was resolved for"
    ) as caught:
        execute(read_experiment(first.folder / "config.yaml"))
    assert caught.value.where.endswith("mine")


def test_a_split_is_made_saved_and_carried(files):
    outcome = run(files, RUNS["split"] + PLAIN)
    split = rw.splits.read(outcome.folder / "split")
    for result in outcome.results.values():
        assert result.split["id"] == split.card["id"]
    by_hand = rw.splits.GlobalTime(share=0.25, filters=[rw.splits.KCore(2)]).split(
        files / "interactions.csv"
    )
    assert by_hand.card["id"] == split.card["id"]
    lists = pl.read_parquet(outcome.folder / "runs" / "near.parquet")
    assert set(lists["user"]) <= set(split.test["user"])
    assert outcome.comparisons[0].design.by == "activity"


def test_sampled_candidates_are_those_of_the_library(files):
    outcome = run(files, RUNS["sampled"] + PLAIN)
    split = rw.splits.read(files / "split")
    drawn = rw.candidates.sampled(split, 7, seed=5, train=split.as_table("train"))
    for result in outcome.results.values():
        assert result.label == "sampled (m=7, seed=5)"
    table = read_table(files / "near.csv", "recommendations")
    kept = over_candidates(table, drawn)
    pairs = set(drawn.frame.rows())
    expected = [
        row
        for row in table.frame.sort("user", "rank").select("user", "item").rows()
        if row in pairs
    ]
    assert kept.frame.select("user", "item").rows() == expected
    for _, ranks in kept.frame.group_by("user", maintain_order=True).agg("rank").rows():
        assert ranks == list(range(1, len(ranks) + 1))
    same(outcome.results["near"], rw.evaluate(kept, split, ["ndcg@5", "hit_rate@5"]))


def test_lists_without_any_candidate_are_an_error(files):
    drawn = rw.candidates.sampled({"ann": {"x"}}, 1, seed=1, items=["x", "y"])
    with pytest.raises(EmptyError, match="no recommended item is a candidate"):
        over_candidates(read_table({"bob": ["x"]}, "recommendations"), drawn)
    with pytest.raises(ParameterError, match="different types"):
        over_candidates(read_table({1: [2]}, "recommendations"), drawn)


def test_a_decision_has_what_the_comparison_states(files):
    text = "data: {truth: split}\nsystems: [near.csv, popular.csv]\n"
    text += "evaluation: {metrics: [recall@5]}\ndecision: {success: recall@5}\n"
    stated = "comparison: {alpha: 0.001, earlier: 7, missing: common, largest_loss: 0.9}\n"
    rule = run(files, text + stated + PLAIN).decision.record["rule"]
    assert (rule["alpha"], rule["earlier"], rule["missing"]) == (0.001, 7, "common")
    assert rule["largest_loss"] == {"recall@5": 0.9}
    usual = run(files, text + PLAIN).decision.record["rule"]
    assert (usual["alpha"], usual["earlier"], usual["missing"]) == (0.05, 0, "error")


@pytest.mark.slow
def test_a_decision_is_that_of_the_library(files):
    outcome = run(files, RUNS["decision"] + PLAIN)
    by_hand = rw.decide(
        outcome.results,
        success="recall@5",
        guardrails={"hit_rate@10": "20%"},
        slices="activity",
        min_slice_size=5,
    )
    assert outcome.decision is not None
    assert outcome.decision.text == by_hand.text
    assert (outcome.folder / "decision.json").read_text(encoding="utf-8") == by_hand.text
    done = rankwise_here(files, "run", "config.yaml")
    assert done.returncode == by_hand.exit_code
    assert f"{by_hand.outcome.upper()}  " in done.stdout

    quiet, verbose = (rankwise_here(files, "run", "config.yaml", how) for how in ("-q", "-v"))
    verdict = plain(*outcome.comparisons[0].views_at("verdict"))
    decided = plain(*by_hand.views_at("verdict"))
    assert quiet.stdout == f"{verdict}\n\n{decided}\n"
    assert plain(*outcome.comparisons[0].views_at("full")) in verbose.stdout
    both = rankwise_here(files, "run", "config.yaml", "-qv")
    assert both.returncode == 2
    assert "exclude each other" in both.stderr


def test_a_declared_format_is_read_so(files):
    rows = pl.read_csv(files / "near.csv").select("user", "item", "score")
    (files / "odd.txt").write_bytes(rows.write_csv(include_header=False, separator=";").encode())
    outcome = run(
        files,
        """\
data: {truth: split}
systems:
  near: {path: near.csv, columns: {rank: null}}
  odd: {path: odd.txt, format: csv, separator: ;, header: [user, item, score]}
evaluation: {metrics: [ndcg@5]}
"""
        + PLAIN,
    )
    assert outcome.results["odd"].values == outcome.results["near"].values


@pytest.mark.slow
def test_everything_is_written(files):
    outcome = run(
        files,
        """\
data: {truth: split, items: items.csv}
systems: {near: near.csv, "a/b <b>": popular.csv}
evaluation: {metrics: ["ndcg@[5,10]", catalog_coverage@5]}
output: {folder: out/deep, report: page.html, title: "My <title>", tables: [markdown, latex, csv],
         per_user: parquet}
""",
    )
    out = files / "out" / "deep"
    assert outcome.folder == out
    assert {path.name for path in out.iterdir()} >= {
        "comparison.json",
        "config.yaml",
        "page.html",
        "per_user",
        "results",
        "table.csv",
        "table.md",
        "table.tex",
    }
    page = (out / "page.html").read_text()
    assert "My &lt;title&gt;" in page
    assert "a/b &lt;b&gt;" in page
    assert "<b>" not in page.split("<h1")[1].split("</h1>")[0]
    assert outcome.audit is not None
    assert "the exposure of items" not in outcome.missing  # lists are read, and named
    assert "examples of users" not in outcome.missing
    assert sorted(path.name for path in (out / "per_user").iterdir()) == [
        "a_b_b_.parquet",
        "near.parquet",
    ]


@pytest.mark.parametrize("where", [".", "", "..", "../{name}"])
def test_a_folder_with_inputs_is_not_written_to(files, where):
    (files / "table.csv").write_text("mine")
    text = (
        f"data: {{truth: split}}\nsystems: near.csv\noutput: {{folder: '{where}', report: false}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        run(files, text.replace("{name}", files.name))
    assert "holds the configuration, or what it reads" in caught.value.mistakes[0]
    (files / "config.yaml").write_text(
        "data: {truth: split}\nsystems: near.csv\noutput: {report: false}\n"
    )
    one = read_experiment(files / "config.yaml")
    with pytest.raises(ParameterError, match="holds the configuration, or what it reads"):
        execute(one, folder=files / "split")
    assert (files / "table.csv").read_text() == "mine"
    (files / "file").write_text("mine")
    with pytest.raises(OutputError, match="a file, not a folder"):
        execute(one, folder=files / "file")


def test_a_single_system_is_evaluated_without_a_comparison(files):
    outcome = run(files, "data: {truth: split, recommendations: near.csv}\n" + PLAIN)
    assert list(outcome.comparisons) == []
    assert (
        rw.load(outcome.folder / "results" / "near")["ndcg@10"]
        == outcome.results["near"]["ndcg@10"]
    )


@pytest.mark.slow
def test_an_earlier_run_in_the_same_folder_leaves_nothing_to_mistake(files):
    run(files, RUNS["significance"] + PLAIN)
    run(files, RUNS["split"] + PLAIN)
    again = run(files, RUNS["split"] + PLAIN)  # its split and runs are written over
    assert [path.name for path in again.folder.glob("comparison*")] == ["comparison.json"]
    saved = rw.Comparison.load(again.folder)
    assert saved.table.equals(again.comparisons[0].table, null_equal=True)
    alone = run(files, "data: {truth: split, recommendations: near.csv}\n" + PLAIN)
    assert list(alone.folder.glob("comparison*")) == []


def test_a_source_names_its_column_of_events(tmp_path):
    (tmp_path / "lists.csv").write_text("user,item,rank\nida,4,1\nida,5,2\n")
    (tmp_path / "truth.csv").write_text("user,item,what\nida,4,look\nida,5,order\n")
    text = (
        "data: {truth: {path: truth.csv, columns: {event: what}}}\nsystems: lists.csv\n"
        "evaluation: {metrics: [ndcg@2], relevance: {look: 1, order: 4}}\n"
    )
    outcome = run(tmp_path, text + "output: {report: false, tables: [], audit: false}\n")
    expected = rw.evaluate(
        str(tmp_path / "lists.csv"),
        str(tmp_path / "truth.csv"),
        "ndcg@2",
        relevance={"look": 1, "order": 4},
        columns={"truth:event": "what"},
    )
    assert outcome.results["lists"]["ndcg@2"] == expected["ndcg@2"] < 1


@pytest.mark.parametrize("name", ["config.yaml", "report.html", "results", "page.html"])
def test_files_that_no_run_wrote_are_not_replaced(files, name):
    out = files / "elsewhere"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / name).write_text("mine: yes\n")
    text = "data: {truth: split}\nsystems: popular.csv\n"
    text += "output: {report: page.html, tables: [], audit: false, folder: elsewhere}\n"
    with pytest.raises(OutputError, match="no run wrote") as caught:
        run(files, text)
    assert name in caught.value.found
    assert (out / name).read_text() == "mine: yes\n"
    assert sorted(path.name for path in out.iterdir()) == sorted(["notes.txt", name])


@pytest.mark.parametrize(
    "name",
    [
        "results/tuned/result.json",
        "results/notes.txt",
        "per_user/mine.csv",
        "runs/mine.csv",
        "decision.json",
        "movers.csv",
        "table.tex",
        "table.csv",
        "report.html",
        "page.html",
    ],
)
def test_files_beside_those_of_an_earlier_run_are_not_replaced(files, name):
    text = "data: {truth: split}\nsystems: {near: near.csv, 'a.b': popular.csv}\n"
    text += "output: {report: false, tables: [markdown], per_user: csv, audit: false}\n"
    out = run(files, text).folder
    mine = out / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(OutputError, match="no run wrote") as caught:
        run(files, text.replace("report: false", "report: page.html"))
    assert caught.value.found == name.removesuffix("/result.json")
    assert mine.read_text() == "mine"
    mine.unlink()
    if name.startswith("results/tuned"):
        mine.parent.rmdir()
    run(files, text)


def test_other_files_in_the_output_folder_stay(files):
    (files / "elsewhere").mkdir()
    (files / "elsewhere" / "notes.txt").write_text("mine")
    text = "data: {truth: split}\nsystems: popular.csv\noutput: {report: false, audit: false, folder: elsewhere}\n"
    for _ in range(2):
        run(files, text)
    assert (files / "elsewhere" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["config.yaml", "results", "table.csv"])
def test_a_link_out_of_the_output_folder_is_not_followed(files, name):
    text = "data: {truth: split}\nsystems: popular.csv\noutput: {report: false, audit: false, folder: elsewhere}\n"
    outcome = run(files, text)
    place = outcome.folder / name
    behind = files / "behind"
    if place.exists():
        place.rename(behind)
    else:
        behind.write_text("precious")
    place.symlink_to(behind)
    before = behind.read_bytes() if behind.is_file() else sorted(behind.rglob("*"))
    with pytest.raises(OutputError, match="link to somewhere else"):
        run(files, text)
    assert (behind.read_bytes() if behind.is_file() else sorted(behind.rglob("*"))) == before


def test_the_command_line(files):
    init = [
        "init",
        "near.csv",
        "popular.csv",
        "--truth",
        "split",
        "--items",
        "items.csv",
        "--users",
        "users.csv",
        "-o",
        "new.yaml",
    ]
    made = rankwise_here(files, *init)
    assert made.returncode == 0, made.stderr
    text = (files / "new.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=rankwise.schema.json\n")
    assert (
        json.loads((files / "rankwise.schema.json").read_text())["title"]
        == "rankwise configuration"
    )
    assert "relevance_threshold: 4" in text
    assert rankwise_here(files, *init).returncode == 6  # it is not written over
    checked = rankwise_here(files, "check", "new.yaml")
    assert (checked.returncode, checked.stdout.splitlines()[-1]) == (0, "no mistakes found")
    with (files / "new.yaml").open("a") as file:
        file.write("\nengin: local\n")
    wrong = rankwise_here(files, "check", "new.yaml")
    assert wrong.returncode == 2
    assert "engin: there is no such key; did you mean 'engine'?" in wrong.stderr
    (files / "new.yaml").write_text(text.replace("report: true", "report: false"))
    done = rankwise_here(files, "run", "new.yaml", "-o", "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "near" in done.stdout
    assert (files / "elsewhere" / "comparison.json").exists()
    assert not (files / "rankwise-results").exists()


def test_init_from_ratings_alone(files):
    made = rankwise_here(files, "init", "--interactions", "interactions.csv", "-o", "new.yaml")
    assert made.returncode == 0, made.stderr
    experiment = read_experiment(files / "new.yaml")
    assert list(experiment.systems) == ["popularity", "random", "neighbours"]
    assert experiment.splitter == rw.splits.GlobalTime(share=0.2)


@pytest.mark.parametrize("installed", [True, False])
def test_a_starter_asks_for_what_is_installed(files, monkeypatch, installed):
    """Without the libraries of a report, what ``rankwise init`` writes does not ask for one."""
    monkeypatch.setattr(
        "rankwise.experiments.starter.find_spec", lambda name: object() if installed else None
    )
    written = starter_text(files, ["popular.csv"], {"truth": str(files / "split")})
    assert yaml.safe_load(written)["output"]["report"] is installed
    assert ('pip install "rankwise[report]"' in written) is not installed


def test_a_starter_has_the_jackknife_groups_that_errors_advise(files):
    written = starter_text(files, ["popular.csv"], {"truth": str(files / "split")})
    assert yaml.safe_load(written)["evaluation"]["jackknife"] == 64


def test_without_the_libraries_of_configurations(files, monkeypatch):
    import sys

    for name in [n for n in sys.modules if n.startswith("rankwise.experiments")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic", None)
    (files / "config.yaml").write_text("data: {}\n")
    done = rankwise_here(files, "check", "config.yaml")
    assert done.returncode == 2
    assert 'pip install "rankwise[config]"' in done.stderr


def test_init_leaves_no_file_that_cannot_run(files):
    for arguments in (["--truth", "nope"], ["--truth", "split/test.csv"]):
        runs = ["near.csv"] if arguments[1] == "nope" else []
        done = rankwise_here(files, "init", *runs, *arguments, "-o", "new.yaml")
        assert done.returncode == 2
        assert not (files / "new.yaml").exists()
    assert "baselines are fitted to training interactions" in " ".join(done.stderr.split())
    assert rankwise_here(files, "init", "near.csv", *arguments, "-o", "new.yaml").returncode == 0
    assert rankwise_here(files, "check", "new.yaml").returncode == 0
