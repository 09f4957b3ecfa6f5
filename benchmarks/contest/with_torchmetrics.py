"""TorchMetrics: a row a recommended item, already known to be relevant or not; four metrics.

Which recommendations are relevant has to be found before: that is part of the construction. Recall
and nDCG are left out, for the rows of lists do not say what the lists lack.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from program import Data, compete

CLASSES = ("RetrievalPrecision", "RetrievalHitRate", "RetrievalMRR", "RetrievalMAP")


def load() -> Any:
    import torch
    from torchmetrics import retrieval

    return retrieval, torch


def build(library: Any, data: Data) -> Any:
    torch = library[1]
    recs, truth = data.columns("recs"), data.columns("truth")
    size = int(max(recs["item"].max(), truth["item"].max())) + 1
    relevant = np.isin(recs["user"] * size + recs["item"], truth["user"] * size + truth["item"])
    return (
        torch.from_numpy(recs["score"]),
        torch.from_numpy(relevant),
        torch.from_numpy(recs["user"]),
    )


def evaluate(library: Any, given: Any) -> dict[str, float]:
    scores, relevant, users = given
    found = {}
    for name in CLASSES:
        metric = getattr(library[0], name)(top_k=10)
        metric.update(scores, relevant, indexes=users)
        found[f"{name}@10"] = float(metric.compute())
    return found


if __name__ == "__main__":
    compete(load, build, evaluate)
