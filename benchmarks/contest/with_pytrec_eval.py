"""pytrec_eval: dictionaries of dictionaries, six metrics of trec_eval in C."""

from __future__ import annotations

from typing import Any

from program import Data, compete

NAMES = {
    "P_10": "P@10",
    "recall_10": "recall@10",
    "ndcg_cut_10": "ndcg_cut@10",
    "map_cut_10": "map_cut@10",
    "recip_rank": "recip_rank",
    "success_10": "success@10",
}
ASKED = {"P.10", "recall.10", "ndcg_cut.10", "map_cut.10", "recip_rank", "success.10"}


def load() -> Any:
    import pytrec_eval

    return pytrec_eval


def build(library: Any, data: Data) -> Any:
    truth, recs = data.nested("truth"), data.nested("recs", "score")
    return library.RelevanceEvaluator(truth, ASKED), recs


def evaluate(library: Any, given: Any) -> dict[str, float]:
    evaluator, recs = given
    users = evaluator.evaluate(recs)
    return {
        name: sum(values[key] for values in users.values()) / len(users)
        for key, name in NAMES.items()
    }


if __name__ == "__main__":
    compete(load, build, evaluate)
