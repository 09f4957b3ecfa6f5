"""The demo: synthetic data, a split by time, three baselines, one comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from rankwise.datasets import synthetic
from rankwise.evaluation.evaluate import evaluate
from rankwise.models.baselines import Baseline, ItemNeighbours, Popularity, Random
from rankwise.results.compare import compare
from rankwise.results.display.view import TableView, plain
from rankwise.results.result import Result
from rankwise.splits import time_based_split

__all__ = ["MEASURES", "Outcome", "comparison", "evaluate_baselines", "run"]

MEASURES = ("ndcg@10", "recall@10", "mrr@10", "hit_rate@10", "catalog_coverage@10", "gini@10")


@dataclass(frozen=True)
class Outcome:
    """The results of the demo by model, and a sentence on the data."""

    results: Mapping[str, Result]
    facts: str


def run(*, seed: int = 0, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Return the results of three baselines on synthetic interactions, split by time."""
    say("making interactions of 1,500 users with 800 films over two years …")
    data = synthetic(seed=seed)
    train, test = time_based_split(data.interactions, test_ratio=0.2)
    relevant = test.rename({"rating": "relevance"})
    say(f"split by time: {len(train):,} rows to learn from, {len(test):,} to test on …")
    results = evaluate_baselines(
        train, relevant, relevance_threshold=4, items=data.items, users=data.users, by="activity",
        seed=seed, say=say,
    )  # fmt: skip
    facts = f"{len(train):,} training and {len(test):,} test interactions, split at one moment"
    return Outcome(results, f"{facts}; relevant: rated 4 or 5")


def evaluate_baselines(
    train: pl.DataFrame,
    test: pl.DataFrame,
    *,
    relevance_threshold: float,
    items: pl.DataFrame | None = None,
    users: pl.DataFrame | None = None,
    by: str | tuple[str, ...] = (),
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Result]:
    """Return the results of random, popularity and item neighbours, fitted on ``train``."""
    models: dict[str, Baseline] = {
        "random": Random(seed=seed),
        "popularity": Popularity(),
        "neighbours": ItemNeighbours(),
    }
    user_ids = test["user"].unique().sort()
    results = {}
    for name, model in models.items():
        say(f"fitting and evaluating: {name} …")
        results[name] = evaluate(
            model.fit(train).recommend(user_ids, 10), test, MEASURES, train=train, items=items,
            users=users, by=by, relevance_threshold=relevance_threshold, jackknife=32,
        )  # fmt: skip
    return results


def comparison(outcome: Outcome) -> str:
    """Return the comparison: one row per model, means with the half-width of a 95 % interval."""
    first = next(iter(outcome.results.values()))
    rows = [
        [name, *(_cell(result, measure) for measure in MEASURES)]
        for name, result in outcome.results.items()
    ]
    notes = [
        f"{first.counts['users']:,} users. {outcome.facts}.",
        "± is the half-width of a 95 % interval over users.",
    ]
    texts = [
        plain(TableView(["model", *MEASURES], rows, notes)),
        repr(compare(outcome.results, baseline="popularity", primary="ndcg@10")),
    ]
    if first.slices is not None:
        groups = first.slices.to_dicts()
        head = ["ndcg@10", *(f"{group['group']} ({group['users']})" for group in groups)]
        rows = [
            [name, *(f"{value:.4f}" for value in result.slices["ndcg@10"])]
            for name, result in outcome.results.items()
            if result.slices is not None
        ]
        texts.append(plain(TableView(head, rows, caption=f"By {groups[0]['by']} (users):")))
    return "\n\n".join(texts)


def _cell(result: Result, measure: str) -> str:
    interval = result.interval(measure)
    return f"{interval.estimate:.4f} ±{(interval.high - interval.low) / 2:.4f}"
