"""Recommenders: data frames, four metrics one after the other, as its functions are called."""

from __future__ import annotations

from typing import Any

from program import Data, compete

FUNCTIONS = ("precision_at_k", "recall_at_k", "ndcg_at_k", "map_at_k")
NAMES = {"user": "userID", "item": "itemID", "score": "prediction"}


def load() -> Any:
    import pandas as pd
    from recommenders.evaluation import python_evaluation

    return python_evaluation, pd


def build(library: Any, data: Data) -> Any:
    recs, truth = (
        library[1].DataFrame(data.columns(table)).rename(columns=NAMES)
        for table in ("recs", "truth")
    )
    return truth.assign(rating=1), recs


def evaluate(library: Any, given: Any) -> dict[str, float]:
    return {f"{name}@10": float(getattr(library[0], name)(*given, k=10)) for name in FUNCTIONS}


if __name__ == "__main__":
    compete(load, build, evaluate)
