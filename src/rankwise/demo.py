"""The demonstration: synthetic data, a split by time, three baselines, one comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.comparison import compare
from rankwise.datasets import synthetic
from rankwise.evaluation import evaluate
from rankwise.models.baselines import Baseline, ItemNeighbours, Popularity, Random
from rankwise.report.tables import aligned
from rankwise.splits import time_based_split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from rankwise.result import Result

__all__ = ["MEASURES", "Outcome", "comparison", "evaluate_baselines", "run"]

MEASURES = ("ndcg@10", "recall@10", "mrr@10", "hit_rate@10", "catalog_coverage@10", "gini@10")


@dataclass(frozen=True)
class Outcome:
    """What the demonstration found."""

    results: Mapping[str, Result]
    facts: str


def run(*, seed: int = 0, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Make the data, split it, and evaluate the baselines."""
    say("making interactions of 1,500 users with 800 films over two years …")
    data = synthetic(seed=seed)
    train, test = time_based_split(data.interactions, test_ratio=0.2)
    relevant = test.rename({"rating": "relevance"})
    say(f"split by time: {len(train):,} rows to learn from, {len(test):,} to test on …")
    results = evaluate_baselines(
        train, relevant, relevance_threshold=4, items=data.items, users=data.users, by="activity",
        seed=seed, say=say,
    )  # fmt: skip
    facts = (
        f"{len(train):,} training and {len(test):,} test interactions, split at one moment; "
        "relevant: rated 4 or 5"
    )
    return Outcome(results, facts)


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
    """Fit random, popularity and item neighbours on ``train``, evaluate them on ``test``."""
    models: dict[str, Baseline] = {
        "random": Random(seed=seed),
        "popularity": Popularity(),
        "neighbours": ItemNeighbours(),
    }
    asked = test["user"].unique().sort()
    results = {}
    for name, model in models.items():
        say(f"fitting and evaluating: {name} …")
        results[name] = evaluate(
            model.fit(train).recommend(asked, 10),
            test,
            MEASURES,
            train=train,
            items=items,
            users=users,
            by=by,
            relevance_threshold=relevance_threshold,
            jackknife=32,
        )
    return results


def comparison(outcome: Outcome) -> str:
    """Write the comparison: a row a model, means with the half-width of a 95 % interval."""
    head = ["model", *MEASURES]
    body = [
        [name, *(_cell(result, measure) for measure in MEASURES)]
        for name, result in outcome.results.items()
    ]
    first = next(iter(outcome.results.values()))
    groups = first.slices
    lines = aligned([head, *body])
    lines += ["", f"{first.counts['users']:,} users. {outcome.facts}.",
              "± is the half-width of a 95 % interval over users.", "",
              repr(compare(outcome.results, baseline="popularity", primary="ndcg@10"))]  # fmt: skip
    if groups is not None:
        table = [["ndcg@10", *(f"{row['group']} ({row['users']})" for row in groups.to_dicts())]]
        for name, result in outcome.results.items():
            assert result.slices is not None
            table.append([name, *(f"{value:.4f}" for value in result.slices["ndcg@10"])])
        lines += ["", f"By {groups['by'][0]} (users):", *aligned(table)]
    return "\n".join(lines)


def _cell(result: Result, measure: str) -> str:
    own = result.interval(measure)
    return f"{own.estimate:.4f} ±{(own.high - own.low) / 2:.4f}"
