"""A round of a ranker's metric beside LightGBM's own: ``python benchmarks/rankers.py``.

LightGBM has to be installed: the environment of ``scripts/check-libraries lightgbm`` has it. Both compute
nDCG@10 and AP@10 of the same million rows, in turns; the ratio of the fastest rounds is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np

from rankwise.rankers import RankerTruth

ROWS = 1_000_000
ROUNDS = 9
OURS = {"ndcg": "ndcg@10", "map": "map@10"}
SHARES = [0.55, 0.2, 0.13, 0.08, 0.04]


def booster(labels: Any, scores: Any, sizes: Any, metric: str) -> Any:
    """Return a booster without trees, whose scores of a validation set are those given."""
    features = np.arange(len(labels), dtype=np.float32)[:, None]
    sets = [
        lgb.Dataset(features, label=labels, group=sizes, init_score=scores, params={"verbose": -1})
        for _ in range(2)
    ]
    parameters = {"objective": "lambdarank", "metric": metric, "eval_at": [10], "verbose": -1}
    own = lgb.Booster(parameters | {"num_threads": 2}, sets[0].construct())
    sets[1].set_reference(sets[0])
    own.add_valid(sets[1].construct(), "rows")
    return own


def fastest(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the fastest time of each function, called in turns."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: min(own) for name, own in times.items()}


def main() -> None:
    """Print the ratios."""
    rng = np.random.default_rng(0)
    print("rows per query  metric  LightGBM      ours  ratio")
    for size in (20, 100, 500):
        labels = rng.choice(5, size=ROWS, p=SHARES).astype(float)
        scores = rng.normal(size=ROWS) + 0.3 * labels
        sizes = np.full(ROWS // size, size)
        truth = RankerTruth(labels, group=sizes)
        for metric, name in OURS.items():
            own = booster(labels, scores, sizes, metric)
            options: dict[str, Any] = {"convention": "lightgbm", "threads": 2}
            times = fastest(
                {
                    "LightGBM": own.eval_valid,
                    "ours": partial(truth.values, scores, name, **options),
                }
            )
            (value,) = truth.values(scores, name, **options).values()
            assert abs(own.eval_valid()[0][2] - value) < 1e-9
            theirs, ours = times["LightGBM"] * 1e3, times["ours"] * 1e3
            print(f"{size:14}  {metric:6} {theirs:6.1f} ms {ours:6.1f} ms  {ours / theirs:5.2f}")


if __name__ == "__main__":
    main()
