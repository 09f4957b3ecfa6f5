"""LensKit: item list collections, five metrics in one `RunAnalysis`."""

from __future__ import annotations

from typing import Any

from program import Data, compete

CLASSES = ("Precision", "Recall", "NDCG", "RecipRank", "Hit")
NAMES = {"user": "user_id", "item": "item_id"}


def load() -> Any:
    import lenskit.metrics
    import pandas as pd
    from lenskit.data import ItemListCollection

    return lenskit.metrics, pd, ItemListCollection


def build(library: Any, data: Data) -> Any:
    _, pd, collection = library
    recs, truth = (
        pd.DataFrame(data.columns(table)).rename(columns=NAMES) for table in ("recs", "truth")
    )
    recs["rank"] = recs.groupby("user_id", sort=False).cumcount() + 1
    return [collection.from_df(frame, ["user_id"]) for frame in (recs, truth)]


def evaluate(library: Any, given: Any) -> dict[str, float]:
    metrics = library[0]
    analysis = metrics.RunAnalysis()
    for name in CLASSES:
        analysis.add_metric(getattr(metrics, name)(10), f"{name}@10")
    means = analysis.measure(*given).list_summary()["mean"]
    return {name: float(value) for name, value in means.items()}


if __name__ == "__main__":
    compete(load, build, evaluate)
