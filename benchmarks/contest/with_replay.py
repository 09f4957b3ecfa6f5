"""RePlay: Polars frames, six metrics one after the other, as its classes are called."""

from __future__ import annotations

from typing import Any

from program import Data, compete

CLASSES = ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate")
NAMES = {"user": "query_id", "item": "item_id", "score": "rating"}


def load() -> Any:
    import polars as pl
    from replay import metrics

    return metrics, pl


def build(library: Any, data: Data) -> Any:
    frames = (library[1].DataFrame(data.columns(table)) for table in ("recs", "truth"))
    return [frame.rename(NAMES, strict=False) for frame in frames]


def evaluate(library: Any, given: Any) -> dict[str, float]:
    metrics = library[0]
    offline = metrics.OfflineMetrics([getattr(metrics, name)(10) for name in CLASSES])
    found = offline(*given)
    return {name: float(value) for name, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate)
