"""ir_measures: data frames of text ids, six metrics by the providers that it chooses."""

from __future__ import annotations

from typing import Any

from program import Data, compete

METRICS = ["P@10", "R@10", "nDCG@10", "AP@10", "RR@10", "Success@10"]


def load() -> Any:
    import ir_measures
    import pandas as pd

    return ir_measures, pd


def build(library: Any, data: Data) -> Any:
    ir_measures, pd = library
    frames = []
    for table in ("truth", "recs"):
        frame = pd.DataFrame(data.columns(table))
        frame["user"], frame["item"] = frame["user"].astype(str), frame["item"].astype(str)
        frames.append(frame.rename(columns={"user": "query_id", "item": "doc_id"}))
    frames[0]["relevance"] = 1
    return [ir_measures.parse_measure(name) for name in METRICS], *frames


def evaluate(library: Any, given: Any) -> dict[str, float]:
    found = library[0].calc_aggregate(*given)
    return {str(metric): float(value) for metric, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate)
