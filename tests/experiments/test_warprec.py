"""Sections ``evaluation`` of WarpRec 1.4 and 2.2.8 run as they are pasted, with their meaning."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.convention.convention import Convention
from rankwise.errors import ConfigError
from rankwise.experiments import warprec
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute
from rankwise.experiments.warprec import ComplexMetric, Significance, complex_metric

HEAD = """\
data: {truth: split, items: items.csv}
systems: {popular: popular.csv, near: near.csv}
output: {report: false, audit: false}
"""

PASTED = """\
evaluation: {top_k: [5, 10], metrics: [Precision, nDCG], complex_metrics: [\
{name: F1, params: {metric_name_1: nDCG, metric_name_2: MAP, beta: 0.5}}, \
{name: EFD, params: {relevance: discounted}}, \
{name: ACLT, params: {pop_ratio: 0.9}}, \
{name: EucDistance, params: {metric_names: [Precision, nDCG], utopia_points: [1.0, 1.0]}}, \
{name: Hypervolume, params: {metric_names: [Precision, nDCG], nadir_points: [0.0, 0.0], \
higher_is_better: [true, true]}}]}
"""


def experiment(folder, text, head=HEAD):
    (folder / "config.yaml").write_text(head + text, encoding="utf-8")
    return read_experiment(folder / "config.yaml")


def mistakes(folder, text, head=HEAD):
    with pytest.raises(ConfigError) as caught:
        experiment(folder, text, head)
    return list(caught.value.mistakes)


def test_the_section_of_a_contract_runs_as_pasted(files):
    outcome = execute(experiment(files, PASTED))
    split, lists = rw.splits.read(files / "split"), files / "near.csv"
    expected = rw.evaluate(
        lists,
        split,
        [
            "precision@[5,10]",
            "ndcg@[5,10]",
            "f(beta=0.5,first=ndcg,second=map)@[5,10]",
            "efd(relevance=discounted)@[5,10]",
            "aclt(pop_ratio=0.9)@[5,10]",
            "euclidean_distance(metrics=[precision,ndcg],utopia=[1.0,1.0])@[5,10]",
            "hypervolume(metrics=[precision,ndcg],nadir=[0.0,0.0],directions=[true,true])@[5,10]",
        ],
        items=files / "items.csv",
    )
    assert outcome.results["near"].values == expected.values
    assert len(expected.values) == 14
    assert all(value == value for value in expected.values.values())


def test_parameters_of_both_releases_are_the_same(files):
    old = PASTED.replace("beta: 0.5", "beta: 2")
    new = old.replace("metric_name_1", "metric_1").replace("metric_name_2", "metric_2")
    assert experiment(files, old).metrics == experiment(files, new).metrics
    both = old.replace("metric_name_2: MAP", "metric_name_2: MAP, metric_2: MRR")
    (said,) = mistakes(files, both)
    assert "evaluation.complex_metrics[0]: metric_2 is another name of a parameter" in said


def test_parts_of_metrics_follow_the_convention():
    plus_one = Convention.resolve("warprec")
    f = ComplexMetric(name="F1", params={"metric_1": "nDCG", "metric_2": "MAP"})
    assert (
        str(complex_metric(f, [3], plus_one))
        == "f(first=ndcg(gain=exponential_plus_one),second=map)@3"
    )
    assert str(complex_metric(f, [3])) == "f(first=ndcg,second=map)@3"
    efd = ComplexMetric(name="EFD", params={"relevance": "discounted"})
    said = "efd(popularity=interactions,relevance=discounted_plus_one)@3"
    assert str(complex_metric(efd, [3], plus_one)) == said


GUIDE = """\
evaluation:
  top_k: [5, 10]
  metrics: [nDCG, IPSRecall, HitRate]
  validation_metric: nDCG@10
  batch_size: 64
  strategy: {strategy}
  num_negatives: 9
  negative_sampling: popularity
  neg_alpha: 0.5
  candidates: all
  mask_seen: auto
  seed: 7
  propensity: {{estimator: popularity, power: 0.3, clip: 0.2}}
  stat_significance: {{paired_t_test: true, corrections: {{fdr: true}}}}
"""


def test_every_key_of_the_evaluation_of_2_2_8(files):
    full = experiment(files, GUIDE.format(strategy="full"))
    assert full.settings.exclude_seen
    assert full.metrics == [
        "ndcg@[5,10]",
        "ips_recall(power=0.3,clip=0.2)@[5,10]",
        "hit_rate@[5,10]",
    ]
    assert list(full.notes) == [
        f"evaluation.{key} has no effect with strategy: full"
        for key in ("negative_sampling", "neg_alpha")
    ]
    outcome = execute(experiment(files, GUIDE.format(strategy="sampled")))
    split = rw.splits.read(files / "split")
    drawn = rw.candidates.sampled(
        split,
        9,
        seed=7,
        by="popularity",
        power=0.5,
        train=split.as_table("train"),
        items=files / "items.csv",
    )
    assert (
        outcome.results["near"].label
        == drawn.protocol.label
        == "sampled (m=9, seed=7, by popularity^0.5)"
    )
    again = execute(read_experiment(outcome.folder / "config.yaml"))
    assert again.results["near"].values == outcome.results["near"].values
    assert again.results["near"].protocol == outcome.results["near"].protocol


def test_a_propensity_leaves_what_a_metric_says_itself(files):
    section = "evaluation: {metrics: ['ips_recall(clip=0.3)@5', 'f(first=snips_recall,second=map)@5', 'ndcg@5'], propensity: {estimator: popularity, power: 0.9}}\n"
    assert experiment(files, section).metrics == [
        "ips_recall(power=0.9,clip=0.3)@5",
        "f(first=snips_recall(power=0.9),second=map)@5",
        "ndcg@5",
    ]
    (said,) = mistakes(
        files, "evaluation: {metrics: [SNIPSRecall], top_k: 5, propensity: {clip: 0.2}}\n"
    )
    assert "evaluation.propensity.estimator: uniform propensities correct nothing" in said
    assert experiment(files, "evaluation: {metrics: [Recall], top_k: 5, propensity: {clip: 0.2}}\n")


@pytest.mark.parametrize(
    ("given", "corrections"),
    [
        ({}, ["none"]),
        ({"bonferroni": True}, ["bonferroni"]),
        ({"holm_bonferroni": True}, ["holm"]),
        ({"fdr": True, "bonferroni": True}, ["bonferroni", "bh"]),
    ],
)
def test_only_tests_and_corrections_that_were_asked_for_are_made(given, corrections):
    asked = Significance(wilcoxon_test=True, corrections=given)
    options, refused = warprec.tests_of(asked)
    assert options == [
        {"test": "wilcoxon", "correction": correction, "alpha": 0.05} for correction in corrections
    ]
    assert refused == []


@pytest.mark.parametrize("candidates", ["cold", "warm"])
def test_candidates_are_items_with_or_without_training_interactions(files, candidates):
    split = rw.splits.read(files / "split")
    items = pl.read_csv(files / "items.csv")
    known = set(split.train["item"]) - {"f0003"}
    train = split.train.filter(pl.col("item") != "f0003")
    train.write_csv(files / "train.csv")
    split.test.write_csv(files / "test.csv")
    lists = pl.DataFrame(
        {"user": u, "item": i}
        for u in sorted(set(split.test["user"]))
        for i in ("f0003", "f0001", "f0002")
    )
    lists.write_csv(files / "lists.csv")
    head = "data: {truth: test.csv, train: train.csv, items: items.csv}\nsystems: {lists: lists.csv}\noutput: {report: false, audit: false}\n"
    section = f"evaluation: {{metrics: [HitRate, Recall], top_k: 3, candidates: {candidates}}}\n"
    assert "f0003" in set(items["item"])
    assert {"f0001", "f0002"} <= known
    outcome = execute(experiment(files, section, head))
    kept = lists.filter((pl.col("item") == "f0003") == (candidates == "cold"))
    by_hand = rw.evaluate(kept, files / "test.csv", ["hit_rate@3", "recall@3"])
    assert outcome.results["lists"].values == by_hand.values
    assert outcome.results["lists"].protocol is not None


REFUSED = [
    ("mask_seen: context", "evaluation.mask_seen: tables have no contexts here"),
    (
        "mask_seen: pair, exclude_seen: false",
        "evaluation.mask_seen: this is the same as exclude_seen: true",
    ),
    (
        "mask_seen: none, exclude_seen: true",
        "evaluation.mask_seen: this is the same as exclude_seen: false",
    ),
    ("mask_seen: some", "'some' is none of auto, context, pair, none"),
    ("neg_alpha: -1", "evaluation.neg_alpha: -1 is not greater than or equal to 0"),
    ("negative_sampling: popular", "did you mean 'popularity'?"),
    (
        "propensity: {estimator: popularity, clip: 0}",
        "evaluation.propensity.clip: 0 is not greater than 0",
    ),
    ("candidates: old", "'old' is none of all, cold, warm; did you mean 'cold'?"),
]


@pytest.mark.parametrize(("key", "mistake"), REFUSED)
def test_what_has_no_meaning_here_is_refused_with_the_reason(files, key, mistake):
    (said,) = mistakes(files, f"evaluation: {{metrics: [MRR], top_k: 3, {key}}}\n")
    assert mistake in said


def test_cold_candidates_need_the_catalogue_and_baselines_mask_what_was_seen(files):
    head = "data: {truth: split}\nsystems: {near: near.csv, popular: {model: Popularity}}\noutput: {report: false}\n"
    said = mistakes(
        files, "evaluation: {metrics: [MRR], top_k: 3, candidates: cold, mask_seen: none}\n", head
    )
    assert [line.partition("; ")[0] for line in said] == [
        "line 4, evaluation.candidates: cold items are those of the catalogue without training interactions",
        "line 4, evaluation.mask_seen: baselines never recommend items that a user has seen (popular)",
    ]


def test_keys_that_a_strategy_does_not_read_are_noted(files):
    keys = "strategy: sampled, candidates: cold, neg_alpha: 0.2"
    notes = experiment(files, f"evaluation: {{metrics: [MRR], top_k: 3, {keys}}}\n").notes
    assert list(notes) == [
        "evaluation.neg_alpha has no effect with negative_sampling: uniform",
        "evaluation.candidates has no effect with strategy: sampled",
    ]
