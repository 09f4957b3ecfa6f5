"""implicit: a matrix factorisation model, three metrics in one `ranking_metrics_at_k`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from program import Data, compete

NAMES = ("precision", "map", "ndcg")
THREADS = len(os.sched_getaffinity(0))


def load() -> Any:
    import implicit.evaluation
    from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase
    from scipy.sparse import csr_matrix
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, "blas")  # as implicit asks for: its threads are its own

    class Factors(MatrixFactorizationBase):
        def fit(self, user_items: Any, show_progress: bool = True, callback: Any = None) -> None:
            pass

        def save(self, file: Any) -> None:
            pass

    return implicit.evaluation, Factors, csr_matrix


def build(library: Any, data: Data) -> Any:
    _, factors, csr_matrix = library
    model = factors()
    model.user_factors, model.item_factors = data.users, data.items
    shape = len(data.users), len(data.items)
    tables = (data.columns(table) for table in ("train", "truth"))
    return model, *(
        csr_matrix((np.ones(len(t["user"]), dtype=np.float32), (t["user"], t["item"])), shape=shape)
        for t in tables
    )


def evaluate(library: Any, given: Any) -> dict[str, float]:
    found = library[0].ranking_metrics_at_k(*given, K=10, show_progress=False, num_threads=THREADS)
    return {f"{name}@10": float(found[name]) for name in NAMES}


if __name__ == "__main__":
    compete(load, build, evaluate, "factors")
