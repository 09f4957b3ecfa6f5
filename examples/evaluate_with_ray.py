"""Evaluate on Ray: `prepare` once, `work` in tasks, `finish` at the end.

    pip install rankwise ray
    python examples/evaluate_with_ray.py

Shows what any engine has to do: cut the tables into whole users, send each piece to `work`, and
merge what comes back. Ids decide the piece, so a piece has all lists of its users; partials are
merged in the order in which they come, which cannot change a digit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import ray

import rankwise as rw
from rankwise.blocks.partial import Partial
from rankwise.evaluation.engine import Job, finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings

METRICS = ["ndcg@10", "recall@10", "coverage@10", "gini@10"]


def work_on(job: Job, lists: pl.DataFrame) -> Partial:
    """Evaluate a piece, wherever Ray runs this."""
    return work(job, read_inputs(job.settings, recommendations=lists))


def merged(tasks: list[ray.ObjectRef]) -> Iterator[Partial]:
    """Yield partials as they come."""
    while tasks:
        ready, tasks = ray.wait(tasks)
        yield from ray.get(ready)


def evaluate_with_ray(
    lists: pl.DataFrame, truth: pl.DataFrame, metrics: list[str], *, pieces: int
) -> rw.Result:
    """Evaluate lists against the ground truth in so many pieces."""
    settings = Settings.read(metrics, {"threads": 1, "progress": False})
    job = prepare(settings, read_inputs(settings, truth=truth))
    sent = ray.put(job)  # once for every machine, not with every piece
    number = pl.col("user").hash(seed=1) % pieces
    parts = [lists.filter(number == at) for at in range(pieces)]
    remote = ray.remote(work_on)
    tasks = [remote.remote(sent, part) for part in parts if len(part)]
    return finish(job, merged(tasks))  # which adds the users without a list


def main() -> None:
    """Compare with one process."""
    rng = np.random.default_rng(0)
    users, k, items = 2_000, 10, 500
    lists = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), k),
            "item": np.concatenate([rng.permutation(items)[:k] for _ in range(users)]),
            "rank": np.tile(np.arange(1, k + 1), users),
        }
    )
    truth = lists.sample(fraction=0.2, seed=1).select("user", "item")
    lists = lists.filter(pl.col("user") >= 100)  # some users have no list
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    there = evaluate_with_ray(lists, truth, METRICS, pieces=8)
    here = rw.evaluate(lists, truth, METRICS)
    assert there.values == here.values, "the same numbers to the last bit"
    print(there)
    ray.shutdown()


if __name__ == "__main__":
    main()
