"""recometrics: from factors to metrics of every user in one pass, in C++."""

from __future__ import annotations

from typing import Any

import numpy as np
from program import Data, compete

NAMES = {
    "p@10": "precision@10",
    "r@10": "recall@10",
    "tap@10": "map@10",
    "ndcg@10": "ndcg@10",
    "hit@10": "hit_rate@10",
    "rr@10": "mrr@10",
}


def load() -> Any:
    import recometrics
    from scipy.sparse import csr_matrix

    return recometrics, csr_matrix


def build(library: Any, data: Data) -> Any:
    shape = len(data.users), len(data.items)
    made = []
    for table in ("train", "truth"):
        columns = data.columns(table)
        ones = np.ones(len(columns["user"]), dtype=np.float32)
        made.append(library[1]((ones, (columns["user"], columns["item"])), shape=shape))
        made[-1].sort_indices()
    return *made, data.users, data.items


def evaluate(library: Any, given: Any) -> dict[str, float]:
    found = library[0].calc_reco_metrics(
        *given,
        k=10,
        precision=True,
        recall=True,
        trunc_average_precision=True,
        ndcg=True,
        hit=True,
        rr=True,
        nthreads=-1,
        consider_cold_start=True,
    )
    means = {name.lower(): float(mean) for name, mean in found.mean().items()}
    return {NAMES[name]: mean for name, mean in means.items() if name in NAMES}


if __name__ == "__main__":
    compete(load, build, evaluate, "factors")
