"""ranx: dictionaries of dictionaries, six metrics compiled by Numba."""

from __future__ import annotations

from typing import Any

from program import Data, compete

METRICS = ["precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10"]


def load() -> Any:
    import ranx

    return ranx


def build(library: Any, data: Data) -> Any:
    truth, recs = data.nested("truth"), data.nested("recs", "score")
    return library.Qrels.from_dict(truth), library.Run.from_dict(recs)


def evaluate(library: Any, given: Any) -> dict[str, float]:
    found = library.evaluate(*given, METRICS, make_comparable=True)
    return {name: float(value) for name, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate)
