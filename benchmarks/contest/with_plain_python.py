"""Plain Python: a dictionary of lists, a dictionary of sets, and a loop; no library at all."""

from __future__ import annotations

from math import log2
from typing import Any

from program import Data, compete

K = 10


def build(library: Any, data: Data) -> Any:
    lists: dict[int, list[int]] = {}
    truth: dict[int, set[int]] = {}
    recs, relevant = data.columns("recs"), data.columns("truth")
    for user, item in zip(recs["user"].tolist(), recs["item"].tolist(), strict=True):
        lists.setdefault(user, []).append(item)
    for user, item in zip(relevant["user"].tolist(), relevant["item"].tolist(), strict=True):
        truth.setdefault(user, set()).add(item)
    return lists, truth


def evaluate(library: Any, given: Any) -> dict[str, float]:
    lists, truth = given
    totals = dict.fromkeys(("precision", "recall", "ndcg", "map", "mrr", "hit_rate"), 0.0)
    for user, relevant in truth.items():
        hits, gain, precisions, first = 0, 0.0, 0.0, 0
        for rank, item in enumerate(lists.get(user, ())[:K], start=1):
            if item in relevant:
                hits += 1
                gain += 1 / log2(rank + 1)
                precisions += hits / rank
                first = first or rank
        best = min(K, len(relevant))
        totals["precision"] += hits / K
        totals["recall"] += hits / len(relevant)
        totals["ndcg"] += gain / sum(1 / log2(rank + 1) for rank in range(1, best + 1))
        totals["map"] += precisions / best
        totals["mrr"] += 1 / first if first else 0.0
        totals["hit_rate"] += hits > 0
    return {f"{name}@{K}": total / len(truth) for name, total in totals.items()}


if __name__ == "__main__":
    compete(lambda: None, build, evaluate)
