"""Conventions of libraries of models: Cornac, implicit, Surprise.

Every line was found by running the library, and is held against it by ``tests/peers``. Names are
the library's; where a name is also one of rankwise's, it means the library's measure.
"""

from __future__ import annotations

from rankwise.convention.convention import Convention
from rankwise.convention.entry import as_here

__all__ = ["MODEL_LIBRARIES"]

CORNAC = Convention(
    "cornac",
    library="Cornac 3.0.1",
    ties="pessimistic",
    note="tied items are in the order of NumPy's argpartition: only MAP and AUC are defined",
    measures={
        **as_here("precision recall f mrr ncrr hit_rate"),
        "FMeasure": "f",
        "HitRatio": "hit_rate",
        "ndcg": "ndcg(gain=binary)",
        "map": {"measure": "lrap", "ties": "expected"},
        "auc": "gauc",
        **{
            name: {"refused": "the error of predictions clipped to the range of training ratings"}
            for name in ("mae", "mse", "rmse")
        },
    },
)

IMPLICIT = Convention(
    "implicit",
    library="implicit 0.7.3",
    relevance="any",
    measures={
        **as_here("map"),
        "precision": "micro(of=recall(denominator=capped))",
        "precision_at_k": "micro(of=recall(denominator=capped))",
        "mean_average_precision_at_k": "map",
        "ndcg": "ndcg(gain=binary)",
        "ndcg_at_k": "ndcg(gain=binary)",
        "auc": {
            "measure": "gauc(seen=included)",
            "note": "the library cuts lists at k, and fills short ones with misses",
        },
    },
)

SURPRISE = Convention(
    "surprise",
    library="scikit-surprise 1.1.5",
    population="judged",
    measures={
        **as_here("rmse mse mae"),
        "fcp": {
            "refused": "concordant pairs averaged over users who have one, discordant pairs over users who have one"
        },
    },
)

MODEL_LIBRARIES = (CORNAC, IMPLICIT, SURPRISE)
