"""RecBole: its collector and evaluator, given the scores of 4,096 users at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from program import Data, compete

AT_ONCE = 4096
METRICS = ["Hit", "MRR", "MAP", "Recall", "NDCG", "Precision"]


def load() -> Any:
    import torch
    from recbole.evaluator import Collector, Evaluator

    return torch, Collector, Evaluator


def build(library: Any, data: Data) -> Any:
    torch = library[0]
    made = {}
    for table in ("train", "truth"):
        columns = data.columns(table)
        order = np.argsort(columns["user"], kind="stable")
        made[table] = {name: column[order] for name, column in columns.items()}
    config = {
        "metrics": METRICS,
        "topk": [10],
        "metric_decimal_place": 15,
        "eval_args": {"mode": "full"},
        "device": torch.device("cpu"),
        "LABEL_FIELD": "label",
    }
    return torch.from_numpy(data.users), torch.from_numpy(data.items), made, config


def evaluate(library: Any, given: Any) -> dict[str, float]:
    torch, collector_of, evaluator_of = library
    users, items, tables, config = given
    collector = collector_of(config)
    for first in range(0, len(users), AT_ONCE):
        batch = users[first : first + AT_ONCE]
        # Its item 0 is padding, which is never recommended.
        scores = torch.full((len(batch), len(items) + 1), -torch.inf)
        scores[:, 1:] = batch @ items.T
        rows = {}
        for table, columns in tables.items():
            ends = np.searchsorted(columns["user"], [first, first + len(batch)])
            part = slice(*ends)
            rows[table] = (
                torch.from_numpy(columns["user"][part] - first),
                torch.from_numpy(columns["item"][part] + 1),
            )
        scores[rows["train"]] = -torch.inf
        collector.eval_batch_collect(scores, None, *rows["truth"])
    found = evaluator_of(config).evaluate(collector.data_struct)
    return {name: float(value) for name, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate, "factors")
