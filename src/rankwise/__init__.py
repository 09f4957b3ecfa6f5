"""rankwise: recommender systems evaluated so that the numbers can be trusted.

>>> import rankwise as rw
>>> result = rw.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a", "c"}}, ["ndcg@3", "recall@2"])
>>> result["recall@2"]
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise._version import __version__

if TYPE_CHECKING:
    from rankwise import functional
    from rankwise.core.partial import Partial
    from rankwise.errors import RankwiseError
    from rankwise.evaluation import evaluate
    from rankwise.evaluator import Evaluator
    from rankwise.io.chunks import read_chunks
    from rankwise.measures.accuracy import (
        AveragePrecision,
        AverageRecall,
        F,
        HitRate,
        Precision,
        Recall,
        ReciprocalRank,
        RPrecision,
    )
    from rankwise.measures.confusion import FN, FP, TN, TP
    from rankwise.measures.coverage import (
        CatalogCoverage,
        ItemCoverage,
        NumRetrieved,
        UserCoverage,
        UserCoverageAtN,
    )
    from rankwise.measures.diversity import Gini, ShannonEntropy
    from rankwise.measures.graded import CG, DCG, ERR, NDCG, RBP, NDCGBinary
    from rankwise.measures.measure import Measure
    from rankwise.measures.parsing import parse
    from rankwise.measures.rating import FCP, MAE, MSE, R2, RMSE, ExplainedVariance, LogLoss
    from rankwise.result import Result, load

_HOMES = {
    "rankwise.core.partial": ["Partial"],
    "rankwise.errors": ["RankwiseError"],
    "rankwise.evaluation": ["evaluate"],
    "rankwise.evaluator": ["Evaluator"],
    "rankwise.io.chunks": ["read_chunks"],
    "rankwise.measures.accuracy": [
        "AveragePrecision", "AverageRecall", "F", "HitRate", "Precision", "RPrecision", "Recall",
        "ReciprocalRank",
    ],
    "rankwise.measures.confusion": ["FN", "FP", "TN", "TP"],
    "rankwise.measures.coverage": [
        "CatalogCoverage", "ItemCoverage", "NumRetrieved", "UserCoverage", "UserCoverageAtN",
    ],
    "rankwise.measures.diversity": ["Gini", "ShannonEntropy"],
    "rankwise.measures.graded": ["CG", "DCG", "ERR", "NDCG", "NDCGBinary", "RBP"],
    "rankwise.measures.measure": ["Measure"],
    "rankwise.measures.parsing": ["parse"],
    "rankwise.measures.rating": [
        "FCP", "MAE", "MSE", "R2", "RMSE", "ExplainedVariance", "LogLoss",
    ],
    "rankwise.result": ["Result", "load"],
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CG",
    "DCG",
    "ERR",
    "FCP",
    "FN",
    "FP",
    "MAE",
    "MSE",
    "NDCG",
    "R2",
    "RBP",
    "RMSE",
    "TN",
    "TP",
    "AveragePrecision",
    "AverageRecall",
    "CatalogCoverage",
    "Evaluator",
    "ExplainedVariance",
    "F",
    "Gini",
    "HitRate",
    "ItemCoverage",
    "LogLoss",
    "Measure",
    "NDCGBinary",
    "NumRetrieved",
    "Partial",
    "Precision",
    "RPrecision",
    "RankwiseError",
    "Recall",
    "ReciprocalRank",
    "Result",
    "ShannonEntropy",
    "UserCoverage",
    "UserCoverageAtN",
    "__version__",
    "evaluate",
    "functional",
    "load",
    "parse",
    "read_chunks",
]


def __getattr__(name: str) -> Any:
    if name == "functional":
        return import_module("rankwise.functional")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
