"""The demo: synthetic data, a split by time, three baselines, one comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison
from rankwise.datasets import Dataset, synthetic
from rankwise.evaluation.evaluate import evaluate
from rankwise.models.recommenders import Baseline, ItemNeighbours, Popularity, Random
from rankwise.reporting.report import Report
from rankwise.results.result import Result
from rankwise.splits import GlobalTime, Split
from rankwise.splits.audit import audit
from rankwise.tables.storage import new_file, new_folder

METRICS = ("ndcg@10", "recall@10", "mrr@10", "hit_rate@10", "catalog_coverage@10", "gini@10")
"""What is compared and printed; the curves of the report are evaluated as well."""
_CURVES = ("ndcg@[5,10,20]", "recall@[5,10,20]")
_LENGTH = 20  # of the lists: the largest cut-off
_SEEDS = 5  # runs of the random baseline
_THRESHOLD = 4  # of the ratings that count as relevant


@dataclass(frozen=True)
class Outcome:
    """The data, its split, the lists and results of each model, and runs of one with other seeds."""

    data: Dataset
    split: Split
    runs: Mapping[str, pl.DataFrame]
    results: Mapping[str, Result]
    seeds: Mapping[str, Result]


def run(*, seed: int = 0, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Return the results of three baselines on synthetic interactions, split by time."""
    say("making interactions of 1,500 users with 800 films over two years …")
    data = synthetic(seed=seed)
    data = replace(data, users=data.users.with_columns(household=_households(len(data.users))))
    split = GlobalTime(share=0.2).split(data.interactions)
    say(f"split by time: {len(split.train):,} training rows, {len(split.test):,} to test on …")
    models: dict[str, Baseline] = {
        "random": Random(seed=seed),
        "popularity": Popularity(),
        "neighbours": ItemNeighbours(),
    }
    users, runs, results = split.test["user"].unique().sort(), {}, {}
    seeds = {
        f"random-{at}": evaluate(
            Random(seed=at).fit(split.train).recommend(users, _LENGTH),
            split,
            "ndcg@10",
            relevance_threshold=_THRESHOLD,
        )
        for at in range(_SEEDS)
    }
    for name, model in models.items():
        say(f"fitting and evaluating: {name} …")
        runs[name] = model.fit(split.train).recommend(users, _LENGTH)
        results[name] = _evaluate(runs[name], split, data.items, data.users)
    return Outcome(data, split, runs, results, seeds)


def _households(n_users: int) -> pl.Series:
    """Return the household of each user: 1 to 5 users in turn."""
    sizes = np.random.default_rng(3).integers(1, 6, n_users)
    return pl.Series([f"h{home:04d}" for home in np.repeat(np.arange(n_users), sizes)[:n_users]])


def _evaluate(lists: Any, split: Any, items: Any, users: Any) -> Result:
    """Return the result of a baseline, from tables or from their files."""
    return evaluate(
        lists,
        split,
        [*_CURVES, *METRICS[2:]],
        items=items,
        users=users,
        by="activity",
        relevance_threshold=_THRESHOLD,
        jackknife=32,
    )


def save(outcome: Outcome, folder: Path) -> None:
    """Write everything into a folder, as files that the command line reads.

    The results that are saved were evaluated from these files, so that a report finds the tables
    behind them. An earlier demo in the same folder is replaced, and nothing else is touched.
    """
    tables = {
        "interactions": outcome.data.interactions,
        "items": outcome.data.items,
        "users": outcome.data.users,
        **{f"runs/{name}": lists for name, lists in outcome.runs.items()},
        **other_studies(),
        **logged_requests(),
    }
    with new_folder(folder / "split") as part:
        outcome.split.save(part, format="csv")
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        new_file(path, table.write_csv)
    items, users = folder / "items.csv", folder / "users.csv"
    for name in outcome.results:
        lists = folder / "runs" / f"{name}.csv"
        _evaluate(lists, folder / "split", items, users).save(folder / "results" / name)
    for name, result in outcome.seeds.items():
        result.save(folder / "seeds" / name)


def other_studies() -> dict[str, pl.DataFrame]:
    """Return made-up past launches, and values of users by human and by model labels, by file."""
    rng = np.random.default_rng(12)
    quality, errors, values = (
        rng.normal(0.2, 1.0, 24),
        rng.uniform(0.3, 0.5, (2, 24)),
        rng.beta(1.2, 2.5, (1000, 1)),
    )
    offline, online = (
        quality + rng.normal(0, errors[0]),
        0.6 * quality + rng.normal(0, 0.2, 24) + rng.normal(0, errors[1]),
    )
    launches = pl.DataFrame(
        {"online": online, "online_se": errors[1], "ndcg@10": offline, "ndcg@10_se": errors[0]}
    )
    human = rng.random((1000, 5)) < values
    model = rng.random((1000, 5)) < np.where(human, 0.9, 0.3)
    by_human, by_model = (
        pl.DataFrame({"user": range(1000), "precision@5": labels.mean(axis=1)})
        for labels in (human, model)
    )
    sample = by_human.sample(60, seed=0)
    return {
        "launches": launches.select(pl.all().round(3)),
        "human": sample,
        "model": by_model,
        "board": board(),
    }


def board() -> pl.DataFrame:
    """Return a made-up leaderboard: the values of fifteen systems on twelve tasks."""
    rng = np.random.default_rng(11)
    tasks, strength = rng.uniform(0.2, 0.7, 12), np.linspace(0.06, -0.06, 15)
    values = tasks[:, None] + strength + rng.normal(0, 0.03, (12, 15))
    columns = {f"task {at}": np.round(row, 3) for at, row in enumerate(values, start=1)}
    return pl.DataFrame({"system": [f"model {at}" for at in range(1, 16)]} | columns)


def logged_requests() -> dict[str, pl.DataFrame]:
    """Return a synthetic log with the probabilities of a new policy, and interleaved lists."""
    rng = np.random.default_rng(7)
    n, new = 4000, np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    user, item = np.repeat(np.arange(800), 5), rng.integers(0, 5, n)
    click = rng.random(n) < np.array([0.3, 0.25, 0.1, 0.1, 0.05])[item]
    log = {"user": user, "request": range(n), "item": item, "propensity": 0.2, "p_new": new[item]}
    first = rng.random(n) < 0.5
    team = np.stack([np.where(first, "new", "old"), np.where(first, "old", "new")], axis=1).ravel()
    clicks = rng.random(2 * n) < np.where(team == "new", 0.2, 0.15)
    drafts = {
        "user": np.repeat(user, 2),
        "request": np.repeat(range(n), 2),
        "position": [1, 2] * n,
        "item": rng.integers(0, 50, 2 * n),
        "team": team,
    }
    return {
        "log": pl.DataFrame({**log, "click": click.astype(int)}),
        "drafts": pl.DataFrame({**drafts, "click": clicks.astype(int)}),
    }


def compared(outcome: Outcome) -> Comparison:
    """Return the comparison of the three baselines."""
    return compare(outcome.results, metrics=METRICS, baseline="popularity", primary="ndcg@10")


def page(outcome: Outcome, comparison: Comparison) -> Report:
    """Return the report, with the lists and tables behind the results and an audit of the split.

    Raises
    ------
    UsageError
        If the extra ``report`` is not installed.
    """
    split = outcome.split
    return comparison.report(
        title="rankwise demo: three baselines on synthetic data",
        recommendations=outcome.runs,
        truth=split,
        train=split,
        items=outcome.data.items,
        audit=audit(split),
    )


def configuration(folder: Path) -> None:
    """Write a configuration file for the files of the demo.

    Raises
    ------
    ImportError
        If the extra ``config`` is not installed.
    """
    from rankwise.experiments.starter import write_starter  # needs the extra config

    tables = {"truth": "split", "items": "items.csv", "users": "users.csv"}
    runs = [str(folder / "runs" / f"{name}.csv") for name in ("random", "popularity", "neighbours")]
    write_starter(
        folder / "config.yaml", runs, {role: str(folder / name) for role, name in tables.items()}
    )


def tables(outcome: Outcome, comparison: Comparison) -> str:
    """Return a description of the data, and the comparison, as text."""
    train, test = len(outcome.split.train), len(outcome.split.test)
    head = "1,500 synthetic users rate 800 films for two years; the last fifth is the test:"
    data = (
        f"{train:,} training and {test:,} test ratings. A rating of {_THRESHOLD} or more is "
        "relevant."
    )
    return f"{head}\n{data}\n\n{comparison!r}"
