"""An example of every saved form: how it is written, read, and which numbers it holds.

``scripts/make_fixtures.py`` writes the examples to ``tests/saved/FORM/VERSION``; the tests read them again. No value
needs a logarithm, so that every machine computes the same bits from a stored job.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

import rankwise as rw
from rankwise import splits
from rankwise.blocks.partial import unpack
from rankwise.comparison.looks import record_interim_analysis
from rankwise.core.saved_forms import FORMS
from rankwise.evaluation.engine import prepare
from rankwise.evaluation.settings import Settings
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.resolved import resolved_text
from rankwise.experiments.run import execute
from rankwise.results.shipped import write_shipped
from rankwise.results.storage import open_result
from rankwise.tables.read import read_table
from rankwise.tables.table import Tables

SAVED = Path(__file__).with_name("saved")
NUMBERS = "numbers.json"
METRICS = ["recall@2", "mrr@2", "gini@2"]
USERS = [f"u{number}" for number in range(8)]
TRUTH = pl.DataFrame({"user": USERS * 2, "item": ["a"] * 8 + ["b", "c"] * 4})
LISTS = {
    "old": pl.DataFrame(
        {"user": USERS * 2, "item": ["d", "a"] * 4 + ["c"] * 8, "rank": [1] * 8 + [2] * 8}
    ),
    "new": pl.DataFrame(
        {"user": USERS * 2, "item": ["a"] * 8 + ["b", "d"] * 4, "rank": [1] * 8 + [2] * 8}
    ),
}
GROUPS = pl.DataFrame({"user": USERS, "country": ["de", "fr"] * 4})
TIMED = pl.DataFrame({"user": USERS * 3, "item": list("abcd") * 6, "timestamp": range(24)})


@dataclass(frozen=True)
class Example:
    """How an example of a saved form is written to a folder, and read to its numbers.

    Attributes
    ----------
    write : callable
        Writes to an empty folder, and returns the numbers of what is in memory.
    read : callable
        Returns the numbers of what is in a folder, to which it may write.
    file : str
        The file, in the folder, that has the version.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    file: str


def results() -> dict[str, rw.Result]:
    return {
        name: rw.evaluate(lists, TRUTH, METRICS, users=GROUPS, by="country", jackknife=4)
        for name, lists in LISTS.items()
    }


def numbers_of_result(result: rw.Result) -> dict[str, Any]:
    frames = {"per_user": result.per_user, "slices": result.slices, "replicates": result.replicates}
    return {"values": dict(result.values), **{name: rows(frame) for name, frame in frames.items()}}


def rows(frame: pl.DataFrame | None) -> list[Any]:
    return [] if frame is None else [list(row) for row in frame.iter_rows()]


def write_result(folder: Path) -> Any:
    result = results()["new"]
    result.save(folder)
    return numbers_of_result(result)


def compared() -> rw.Comparison:
    return rw.compare(results(), baseline="old", metrics=["recall@2", "mrr@2"], margin=0.25)


def numbers_of_comparison(comparison: rw.Comparison) -> dict[str, Any]:
    return {
        "pairs": comparison.table.to_dicts(),
        "values": comparison.values.to_dicts(),
        "results": {name: dict(result.values) for name, result in comparison.results.items()},
    }


def write_comparison(folder: Path) -> Any:
    comparison = compared()
    comparison.save(folder)
    return numbers_of_comparison(comparison)


def numbers_of_decision(decision: rw.Decision) -> dict[str, Any]:
    return {
        "outcome": decision.outcome,
        "reasons": decision.reasons,
        "checks": decision.checks.to_dicts(),
        "small_slices": decision.small_slices,
        "rule": decision.record["rule"],
    }


def write_decision(folder: Path) -> Any:
    decision = rw.decide(
        results(), success="mrr@2", guardrails={"recall@2": 0.25}, slices="country"
    )
    decision.save(folder / "decision.json")
    return numbers_of_decision(decision)


def write_shipped_result(folder: Path) -> Any:
    values = pl.DataFrame({"user": USERS, "recall@2": [0.5, 1.0] * 4})
    values.write_parquet(folder / "values.parquet")
    write_shipped(folder / "shipped.json", folder / "values.parquet", decision_sha256="0" * 64)
    return dict(rw.from_per_user(values).values)


def look(folder: Path) -> Any:
    return [
        vars(analysis) for analysis in record_interim_analysis(compared(), folder / "looks.json")
    ]


def write_looks(folder: Path) -> Any:
    look(folder)
    first = (folder / "looks.json").read_bytes()
    second = look(folder)
    (folder / "looks.json").write_bytes(first)
    return second


def evaluator() -> rw.Evaluator:
    return rw.Evaluator(METRICS, truth=TRUTH, users=GROUPS, by="country")


def write_partial(folder: Path) -> Any:
    partial = evaluator()
    partial.update(LISTS["new"])
    (folder / "partial.arrow").write_bytes(partial.partial().to_bytes())
    return numbers_of_result(partial.result())


def read_partial(folder: Path) -> Any:
    partial = rw.Partial.from_bytes((folder / "partial.arrow").read_bytes())
    return numbers_of_result(evaluator().merge(partial).result())


def numbers_of_split(split: splits.Split) -> Any:
    return {
        "id": split.card["id"],
        "parts": {name: sorted(rows(split.part(name))) for name in split.masks},
    }


def write_split(folder: Path) -> Any:
    split = splits.LeaveOut(1, validation=splits.LeaveOut(1)).split(TIMED)
    split.save(folder)
    return numbers_of_split(split)


def numbers_of_run(path: Path) -> Any:
    outcome = execute(read_experiment(path))
    return {name: dict(result.values) for name, result in outcome.results.items()}


def write_configuration(folder: Path) -> Any:
    TRUTH.write_parquet(folder / "truth.parquet")
    for name, lists in LISTS.items():
        lists.write_parquet(folder / f"{name}.parquet")
    systems = {name: f"{name}.parquet" for name in LISTS}
    values: dict[str, Any] = {
        "data": {"truth": "truth.parquet"},
        "systems": systems,
        "evaluation": {"metrics": METRICS},
        "output": {"folder": "out", "report": False},
    }
    (folder / "given.yaml").write_text(yaml.safe_dump(values))
    experiment = read_experiment(folder / "given.yaml")
    (folder / "given.yaml").unlink()
    (folder / "run").mkdir()
    path = folder / "run" / "config.yaml"
    path.write_text(resolved_text(experiment, path.parent), encoding="utf-8")
    return {name: dict(rw.evaluate(lists, TRUTH, METRICS).values) for name, lists in LISTS.items()}


def write_state_dict(folder: Path) -> Any:
    import torch

    metrics = collection()
    metrics.update(torch.tensor([[0.9, 0.1, 0.5, 0.2], [0.2, 0.8, 0.4, 0.1]]), torch.tensor([2, 1]))
    torch.save(metrics.state_dict(), folder / "state_dict.pt")
    return tensors(metrics.compute())


def collection() -> Any:
    from rankwise.torch import Collection

    return Collection(METRICS, n_items=4)


def read_state_dict(folder: Path) -> Any:
    import torch

    metrics = collection()
    metrics.load_state_dict(torch.load(folder / "state_dict.pt", weights_only=True))
    return tensors(metrics.compute())


def tensors(values: dict[str, Any]) -> dict[str, float]:
    return {name: value.item() for name, value in values.items()}


def write_buckets(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    from rankwise.spark import bucket

    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    lists = session.createDataFrame(LISTS["new"].rows(), LISTS["new"].columns)
    bucket(lists, folder / "buckets", buckets=2, spark=session)
    return read_buckets(folder)


def read_buckets(folder: Path) -> Any:
    from rankwise.spark.tables import open_bucketed

    files = open_bucketed(str(folder / "buckets"))
    assert files is not None
    return {
        "rows": files.rows,
        "buckets": [rows(files.read(n, LISTS["new"][:0])) for n in range(files.buckets)],
    }


def write_bucket_users(folder: Path) -> Any:
    from rankwise.spark.bucket_work import BucketWork

    frames = {"recommendations": LISTS["new"], "truth": TRUTH, "users": GROUPS}
    tables = {role: read_table(frame, role) for role, frame in frames.items()}
    job = prepare(Settings.read(METRICS, {}), Tables())
    sources = {role: table.with_frame(table.frame.clear()) for role, table in tables.items()}
    (row,) = BucketWork(pickle.dumps(job), sources, {}).run(0, lambda: frames).to_pylist()
    (folder / "users.arrow").write_bytes(row["users"])
    return read_bucket_users(folder)


def read_bucket_users(folder: Path) -> Any:
    from rankwise.spark.bucket_work import users_of

    return [rows(frame) for frame in users_of((folder / "users.arrow").read_bytes())]


def structure(folder: Path) -> dict[str, Any]:
    """Return the keys, columns and types of every file in a folder of an example."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != NUMBERS)
    return {
        stampless(path.relative_to(folder)): shape(content(path))
        for path in files
        if path.name[0] not in "._"
    }


def stampless(path: Path) -> str:
    """Return a path without the stamps and numbers that differ between two writers of the same."""
    return re.sub(r"-[0-9a-f]{12}(?=\.)|part-.*(?=\.parquet)", "", path.as_posix())


def content(path: Path) -> Any:
    """Return what a file holds, read without rankwise where another library reads it."""
    if path.suffix == ".pt":
        import torch

        state = torch.load(path, weights_only=True)
        return {
            "metadata": dict(state._metadata),
            **{name: str(value.dtype) for name, value in state.items()},
        }
    if path.suffix == ".arrow":
        values, frames = unpack(
            next(form for form in FORMS.values() if EXAMPLES[form.name].file == path.name),
            path.read_bytes(),
        )
        return {"values": values, **frames}
    readers: dict[str, Callable[[Path], Any]] = {
        ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
        ".yaml": lambda path: yaml.safe_load(path.read_text(encoding="utf-8")),
        ".parquet": pl.read_parquet,
    }
    return readers[path.suffix](path)


def shape(value: Any) -> Any:
    """Return the keys, columns and types of a value; of a list, those of its elements.

    >>> shape({"users": 3, "rows": [{"a": 1.5}, {"a": None}]})
    {'users': 'int', 'rows': [{'a': 'NoneType'}, {'a': 'float'}]}
    """
    if isinstance(value, pl.DataFrame):
        return {name: str(dtype) for name, dtype in value.schema.items()}
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        shapes = {json.dumps(shape(inner), sort_keys=True) for inner in value}
        return [json.loads(text) for text in sorted(shapes)]
    return type(value).__name__


def as_text(numbers: Any) -> str:
    """Return numbers as JSON that has every digit."""
    return json.dumps(numbers, indent=1, sort_keys=True) + "\n"


def write_off_policy(folder: Path) -> Any:
    log = {
        "user": [1, 1, 2, 3],
        "item": [1, 2, 1, 2],
        "propensity": [0.5, 0.5, 0.25, 0.75],
        "click": [1, 0, 1, 0],
    }
    rw.off_policy({**log, "p_new": [0.75, 0.25, 0.75, 0.25]}, targets={"new": "p_new"}).save(folder)
    return read_off_policy(folder)


def read_off_policy(folder: Path) -> Any:
    return rw.OffPolicy.load(folder).to_dict()


def write_interleaving(folder: Path) -> Any:
    log = {
        "user": [1, 2, 3, 4],
        "request": [1, 2, 3, 4],
        "item": [1, 2, 1, 2],
        "team": ["a", "b", "a", "a"],
    }
    rw.interleaving({**log, "click": [1, 1, 0, 1]}).save(folder)
    return read_interleaving(folder)


def read_interleaving(folder: Path) -> Any:
    return rw.Interleaving.load(folder).to_dict()


def judged() -> Any:
    lists = {user: ["a", "b"] for user in range(40)}
    labels = {user: {"a": user % 3 > 0, "b": user % 5 == 0} for user in lists}
    options = {
        "metrics": "precision@2",
        "threshold": 1,
        "population": "judged",
        "undefined": "zero",
    }
    human = rw.evaluate(lists, {user: labels[user] for user in range(0, 40, 3)}, **options)
    judge = rw.evaluate(lists, {user: {"a": 1, "b": user % 2} for user in lists}, **options)
    return rw.judged(human=human, judge=judge, sampled="random")


def launches() -> Any:
    effects = np.arange(10) / 100
    table = pl.DataFrame(
        {
            "ndcg": effects,
            "ndcg_se": [0.01] * 10,
            "online": effects * 2 + 0.01,
            "online_se": [0.02] * 10,
        }
    )
    return rw.validate_metrics(table, same_users=False)


def agreement() -> Any:
    truth = {user: {0, user % 7} for user in range(60)}
    systems = {"a": [0, 1, 2], "b": [1, 0, 2], "c": [5, 6, 0], "d": [8, 9, 5]}
    results = {
        name: rw.evaluate(dict.fromkeys(truth, items), truth, ["ndcg@3", "recall@3"])
        for name, items in systems.items()
    }
    return rw.rank_agreement(results, metrics=["ndcg@3", "recall@3"])


def stability() -> Any:
    rng = np.random.default_rng(0)
    base = rng.random(12)
    runs = [
        rw.from_per_user(pl.DataFrame({"user": range(12), "ndcg@5": base + 0.01 * rng.random(12)}))
        for _ in range(3)
    ]
    return rw.stability(runs, difference=0.02)


def study(make: Callable[[], Any]) -> Example:
    """Return how a study is written and read, whose numbers are its plain values."""

    def write(folder: Path) -> Any:
        make().save(folder)
        return rw.load(folder).to_dict()

    return Example(write, lambda folder: rw.load(folder).to_dict(), "result.json")


EXAMPLES = {
    "judged result": study(judged),
    "validation of metrics": study(launches),
    "rank agreement": study(agreement),
    "stability": study(stability),
    "leaderboard": study(
        lambda: rw.leaderboard(
            {name: {f"t{at}": at / 9 + gain for at in range(7)} for gain, name in enumerate("ab")}
        )
    ),
    "nulls": study(
        lambda: rw.nulls(
            {user: [user % 5, (user + 1) % 5] for user in range(40)},
            {user: {user % 5} for user in range(40)},
            "ndcg@2",
            baselines=[],
        )
    ),
    "stages": study(
        lambda: rw.stages(
            {"near": {user: [user % 5, 7] for user in range(9)}},
            {user: {user % 5, 7 + user % 2} for user in range(9)},
            "recall@1",
            ranked={user: [7, user % 5] for user in range(9)},
        )
    ),
    "claim": study(lambda: rw.claim("0.31", users=943, metric="ndcg@10", baseline="0.29")),
    "off-policy result": Example(write_off_policy, read_off_policy, "result.json"),
    "interleaving result": Example(write_interleaving, read_interleaving, "result.json"),
    "result": Example(
        write_result, lambda folder: numbers_of_result(rw.load(folder)), "result.json"
    ),
    "comparison": Example(
        write_comparison,
        lambda folder: numbers_of_comparison(rw.Comparison.load(folder)),
        "comparison.json",
    ),
    "decision": Example(
        write_decision,
        lambda folder: numbers_of_decision(rw.Decision.load(folder / "decision.json")),
        "decision.json",
    ),
    "pointer to what shipped": Example(
        write_shipped_result,
        lambda folder: dict(open_result(folder / "shipped.json").values),
        "shipped.json",
    ),
    "record of looks": Example(write_looks, look, "looks.json"),
    "partial": Example(write_partial, read_partial, "partial.arrow"),
    "split": Example(
        write_split, lambda folder: numbers_of_split(splits.read(folder)), "split.json"
    ),
    "configuration": Example(
        write_configuration,
        lambda folder: numbers_of_run(folder / "run" / "config.yaml"),
        "run/config.yaml",
    ),
    "users of a bucket": Example(write_bucket_users, read_bucket_users, "users.arrow"),
    "state dict": Example(write_state_dict, read_state_dict, "state_dict.pt"),
    "table by bucket": Example(write_buckets, read_buckets, "buckets/_rankwise.json"),
}
