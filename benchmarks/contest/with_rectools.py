"""RecTools: data frames with ranks, six metrics in one `calc_metrics`."""

from __future__ import annotations

from typing import Any

from program import Data, compete

CLASSES = ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate")


def load() -> Any:
    import pandas as pd
    from rectools import metrics

    return metrics, pd


def build(library: Any, data: Data) -> Any:
    pd = library[1]
    recs, truth = (
        pd.DataFrame(data.columns(table)).rename(columns={"user": "user_id", "item": "item_id"})
        for table in ("recs", "truth")
    )
    recs["rank"] = recs.groupby("user_id", sort=False).cumcount() + 1
    return recs, truth


def evaluate(library: Any, given: Any) -> dict[str, float]:
    metrics = library[0]
    asked = {f"{name}@10": getattr(metrics, name)(10) for name in CLASSES}
    found = metrics.calc_metrics(asked, *given)
    return {name: float(value) for name, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate)
